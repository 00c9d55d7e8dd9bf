"""The command line behind ./run_all.sh: without a verb, reproduce the paper from the records."""

import argparse
import signal
import sys
from pathlib import Path

from .grids import DEFAULT, STUDIES
from .models import MODELS
from .paths import RECORDS, ROOT, RUNS_CSV


def parser():
    main = argparse.ArgumentParser(prog="./run_all.sh", description=__doc__)
    verbs = main.add_subparsers(dest="verb", required=True)

    add = verbs.add_parser("reproduce", help="(the default) run all notebooks: figures, tables, numbers").add_argument
    add("--profile", default="paper", help="paper (default), or smoke: the whole pipeline with tiny runs, in build/smoke")
    add("--fresh", action="store_true", help="ignore the records and train from nothing, in build/fresh; resumes when started again")
    add("--study", choices=STUDIES, help="only this study (with --fresh: trained) and the statistics; the published tests are printed beside ours")
    add("--output", metavar="FOLDER", help="where results go, from the repository root (default: the repository itself, build/smoke or build/fresh)")
    add("--only", action="append", default=[], metavar="NN", help="only this notebook; may be repeated")
    add("--workers", type=int, help="local processes for training (default: one per core)")
    add("--scheduler", metavar="ADDRESS", help="a running Dask scheduler, tcp://host:port")
    add("--no-pdf", action="store_true", help="do not build the PDF")
    add("--save", action="store_true", help="write the executed notebooks back to notebooks/ (for those who commit them)")

    add = verbs.add_parser("sweep", help="train the runs of some studies that are not on record yet").add_argument
    add("--study", action="append", choices=STUDIES, metavar="STUDY", help=f"may be repeated (default: {', '.join(DEFAULT)}; --dry-run lists all)")
    add("--model", action="append", choices=MODELS, help="only these; may be repeated (default: all)")
    add("--workers", type=int, help="local processes (default: one per core)")
    add("--scheduler", metavar="ADDRESS", help="a running Dask scheduler, tcp://host:port (default: DASK_SCHEDULER_ADDRESS)")
    add("--older", action="store_true", help="also retrain what an older version of the numerics made")
    add("--dry-run", action="store_true", help="only say how many runs are missing, study by study")
    add("--records", type=Path, default=RECORDS, help="folder of the journal (default: data/records)")

    add = verbs.add_parser("audit", help="retrain a random sample of the records and compare; fails on a mismatch").add_argument
    add("--sample", type=int, default=5, help="how many records (default: 5)")
    add("--seed", type=int, default=0, help="which sample (default: 0)")
    add("--model", action="append", choices=MODELS, help="only these; may be repeated (default: all)")
    add("--records", type=Path, default=RECORDS, help="folder of the journal (default: data/records)")
    return main


def reproduce(options):
    from . import pipeline
    from .pdf import build_pdf

    asked = {name: getattr(options, name) for name in ("output", "workers", "scheduler")}
    steps = pipeline.plan(options.profile, options.only, options.fresh, options.study, **asked)
    done = pipeline.run(steps, options.profile)
    if options.save:
        pipeline.save_back(done)
    pdf = "not asked for" if options.no_pdf else build_pdf(options.profile, options.fresh or bool(options.output))
    print(pipeline.summary(done, pdf))
    return 0


def run_sweep(options):
    from .grids import specs_of
    from .journal import Journal, mixed_versions
    from .sweep import export, missing, sweep

    wanted = {study: [s for s in specs_of(study) if not options.model or s.model in options.model] for study in STUDIES}
    asked = options.study or DEFAULT
    specs = list(dict.fromkeys(spec for study in asked for spec in wanted[study]))
    if options.dry_run:
        records = Journal(options.records).load()
        for study, part in wanted.items():
            print(f"{study:<14} {len(missing(part, records, options.older)):5d} of {len(part):5d}   {STUDIES[study].title}")
        print(f"{len(missing(specs, records, options.older))} of {len(specs)} runs to train in {', '.join(asked)}")
        return 0
    report = sweep(specs, options.records, options.workers, options.scheduler, options.older)
    print(report)
    table = export(options.records, RUNS_CSV if options.records == RECORDS else options.records / "runs.csv")
    print(mixed_versions(table), end="\n" * bool(mixed_versions(table)))
    return int(any(record["status"] == "failed" for record in report.records.values()))


def run_audit(options):
    from .audit import audit

    found = audit(options.sample, options.model, options.seed, options.records)
    print(found.to_string(index=False))
    print(f"{len(found)} records retrained: " + ", ".join(f"{n} {verdict}" for verdict, n in found["verdict"].value_counts().items()))
    return int((found["verdict"] == "MISMATCH").any())


def main():
    from .journal import JournalError
    from .pdf import PdfError
    from .pipeline import PipelineError
    from .sweep import SweepError

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended as by Ctrl-C: kernels and workers are shut down
    options = parser().parse_args()
    try:
        return {"reproduce": reproduce, "sweep": run_sweep, "audit": run_audit}[options.verb](options)
    except (JournalError, PdfError, PipelineError, SweepError, ValueError) as error:
        print(f"run_all.sh: {str(error).replace(f'{ROOT}/', '')}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("run_all.sh: stopped; the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
