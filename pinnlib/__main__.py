"""The command line behind ./run_all.sh: sweep and audit."""

import argparse
import sys
from pathlib import Path

from .audit import audit
from .grids import STUDIES, specs_of
from .journal import Journal, JournalError, mixed_versions
from .models import MODELS
from .paths import RECORDS, RUNS_CSV
from .sweep import export, missing, sweep


def parser():
    main = argparse.ArgumentParser(prog="./run_all.sh", description=__doc__)
    verbs = main.add_subparsers(dest="verb", required=True)

    one = verbs.add_parser("sweep", help="train the runs of some studies that are not on record yet")
    one.add_argument("--study", action="append", choices=STUDIES, help="may be repeated (default: all)")
    one.add_argument("--workers", type=int, help="local processes (default: one per core)")
    one.add_argument("--scheduler", metavar="ADDRESS", help="a running Dask scheduler, tcp://host:port (default: DASK_SCHEDULER_ADDRESS)")
    one.add_argument("--older", action="store_true", help="also retrain what an older version of the numerics made")
    one.add_argument("--dry-run", action="store_true", help="only say how many runs are missing")

    two = verbs.add_parser("audit", help="retrain a random sample of the records and compare; fails on a mismatch")
    two.add_argument("--sample", type=int, default=5, help="how many records (default: 5)")
    two.add_argument("--seed", type=int, default=0, help="which sample (default: 0)")
    for verb in (one, two):
        verb.add_argument("--model", action="append", choices=MODELS, help="only these; may be repeated (default: all)")
        verb.add_argument("--records", type=Path, default=RECORDS, help="folder of the journal (default: data/records)")
    return main


def run_sweep(options):
    specs = [s for s in specs_of(*options.study or STUDIES) if not options.model or s.model in options.model]
    if options.dry_run:
        print(f"{len(missing(specs, Journal(options.records).load(), options.older))} of {len(specs)} runs to train")
        return 0
    report = sweep(specs, options.records, options.workers, options.scheduler, options.older)
    print(report)
    table = export(options.records, RUNS_CSV if options.records == RECORDS else options.records / "runs.csv")
    print(mixed_versions(table), end="\n" * bool(mixed_versions(table)))
    return int(any(record["status"] == "failed" for record in report.records.values()))


def run_audit(options):
    found = audit(options.sample, options.model, options.seed, options.records)
    print(found.to_string(index=False))
    wrong = (found["verdict"] == "MISMATCH").sum()
    print(f"{len(found)} records retrained: " + ", ".join(f"{n} {verdict}" for verdict, n in found["verdict"].value_counts().items()))
    return int(wrong > 0)


def main():
    options = parser().parse_args()
    try:
        return {"sweep": run_sweep, "audit": run_audit}[options.verb](options)
    except (JournalError, ValueError) as error:
        print(f"run_all.sh {options.verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
