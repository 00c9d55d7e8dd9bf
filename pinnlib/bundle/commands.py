"""What the verbs of the command line do."""

import os
import sys
from argparse import Namespace
from pathlib import Path

from pinnlib.bundle import pipeline
from pinnlib.bundle.cli import MODELS
from pinnlib.bundle.codecheck import codecheck_text
from pinnlib.bundle.committed import compare_with_committed
from pinnlib.bundle.html import write_page
from pinnlib.bundle.index import write_index
from pinnlib.bundle.pdf import build_pdf
from pinnlib.bundle.staleness import relative
from pinnlib.paths import NOTEBOOKS, RECORDS, ROOT, RUNS_CSV
from pinnlib.registry import UserError
from pinnlib.runs.audit import audit, compare_records
from pinnlib.runs.cluster import Scheduler
from pinnlib.runs.files import locked, replacing
from pinnlib.runs.progress import TimeEstimate
from pinnlib.runs.store import Store
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.sweep import sweep
from pinnlib.runs.table import export, missing, mixed_versions, specs_of
from pinnlib.runs.verify import save_verification, verify


def run(options: Namespace) -> int:
    """Carry out `options.verb` and return the exit code; a user's error is one line and code 2."""
    verbs = {
        "reproduce": reproduce,
        "sweep": train_missing,
        "verify": verify_records,
        "audit": audit_records,
    }
    try:
        return verbs[options.verb](options)
    except (UserError, ValueError, OSError) as error:
        print(f"run_all.sh: {str(error).replace(f'{ROOT}/', '')}", file=sys.stderr)
        return 2


def reproduce(options: Namespace) -> int:
    """Run the notebooks, build the PDF and the index page, and print a summary."""
    profile = "fresh" if options.fresh else options.profile
    in_repository = profile == "paper" and not options.output
    changes = {"workers": options.workers, "scheduler": options.scheduler}
    if options.output:
        changes["output"] = str(options.output)
    steps = pipeline.plan(profile, options.only, options.study, **changes)
    place = ROOT / (options.output or f"build/{profile}")
    with locked(place, "rebuild"):
        executions = pipeline.execute(steps, profile)
        if options.save:
            others = [] if options.only else [NOTEBOOKS / "explorer.ipynb"]
            pipeline.save_back(executions + pipeline.execute([(path, {}) for path in others]))
        build = in_repository and not options.no_pdf
        print(pipeline.summary(executions))
        print(f"PDF: {build_pdf() if build else 'not built'}")
        if in_repository:
            write_page(NOTEBOOKS / "explorer.ipynb", place / "notebooks")
            with replacing(ROOT / "codecheck.yml") as temporary:
                temporary.write_text(codecheck_text(ROOT), encoding="utf-8")
            print(compare_with_committed(ROOT))
        else:
            print_comparison(place / "data" / "records")
        index = write_index(place, ROOT if in_repository else place)
        print(f"open in a browser: {relative(index)}")
    return 0


def print_comparison(records: Path) -> None:
    """Say whether records of one's own are identical to the committed ones, where both exist."""
    line = compare_records(records)
    if line:
        print(line)


def train_missing(options: Namespace) -> int:
    """Train what is not on record; 1 if a run failed or its record is gone."""
    models = options.model or MODELS
    needed = {}
    for study in options.study or STUDIES:
        needed[study] = [spec for spec in specs_of(study) if spec.model in models]
    specs = list(dict.fromkeys(spec for part in needed.values() for spec in part))
    records = Store(options.records).load()
    todo = missing(specs, records, options.older)
    address = options.scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
    estimate = TimeEstimate(records).describe(todo, options.workers, bool(address))
    total = f"{len(todo)} of {len(specs)} distinct runs to train: {estimate}"
    if options.dry_run:
        print(f"{'study':<14} missing of needed")
        for study, part in needed.items():
            if part:
                absent = len(missing(part, records, options.older))
                print(f"{study:<14} {absent:7d} of {len(part):6d}   {STUDIES[study].title}")
        print(f"{total} (a run that several studies need counts once)")
        return 0
    print(total, flush=True)
    scheduler = None
    if address:
        files = (options.tls_ca, options.tls_cert, options.tls_key)
        scheduler = Scheduler(address, options.patience, *files)
    done = sweep(specs, options.records, options.workers, scheduler, options.older)
    print(done)
    own = options.records.resolve() != RECORDS.resolve()
    table = export(options.records, options.records / "runs.csv" if own else RUNS_CSV)
    if own:
        print_comparison(options.records)
    warning = mixed_versions(table)
    if warning:
        print(warning)
    failed = any(record["status"] == "failed" for record in done.records.values())
    return int(failed or bool(done.lost))


def verify_records(options: Namespace) -> int:
    """Check every record and print what is wrong; 1 if anything is."""
    found = verify(options.records)
    print(found)
    if not found.failures:
        save_verification(found, options.records)
    return int(bool(found.failures))


def audit_records(options: Namespace) -> int:
    """Retrain some records and print the verdicts; 1 if one of them is a mismatch."""
    table = audit(options.sample, options.model, options.seed, options.records)
    print(table.to_string(index=False))
    counts = table["verdict"].value_counts()
    totals = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print(f"{len(table)} records retrained (recorded and retrained: rel_l2_u): {totals}")
    return int("MISMATCH" in counts)
