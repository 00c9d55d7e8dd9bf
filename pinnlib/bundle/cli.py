"""The command line behind ./run_all.sh.

Run as a folder (`python pinnlib …`): what is asked is understood before the library, and with it torch, is loaded.
"""

import argparse
import json
import logging
import os
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from pinnlib.bundle.staleness import report
from pinnlib.paths import NOTEBOOKS, RECORDS, ROOT, RUNS_CSV
from pinnlib.runs.studies import STUDIES

NUMBERS = sorted(path.name[:2] for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
OF_THE_STATISTICS = (
    "table",
    "main",
    "no_penalty",
    "expanded",
    "as_written",
)  # what notebook 03 reads
TRAINERS = {"02", "05", "06"}  # notebooks that train what they lack, where training is asked for
GRACE = 10  # seconds after a Ctrl-C in which another is ignored
MODELS = list(dict.fromkeys(model for study in STUDIES.values() for model in study.seeds))


def whole(text):
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 1")
    return int(text)


def address(text):
    """Where a Dask scheduler listens."""
    if not re.fullmatch(r"\w+://.+:\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an address like tcp://host:8786")
    return text


def folder(text):
    """A folder, which need not be there yet."""
    if any(path.is_file() for path in (ROOT / text, *(ROOT / text).parents)):
        raise argparse.ArgumentTypeError(f"{text!r} is, or lies in, a file and not a folder")
    return text


def parsers():
    """Verb → what it understands."""
    found = {}

    def verb(name, does, called=None):
        found[name] = argparse.ArgumentParser(
            prog=called or f"./run_all.sh {name}", description=does
        )
        return found[name].add_argument

    add = verb(
        "reproduce",
        "Run all notebooks on the records: figures, tables, numbers, PDF. Other verbs: ./run_all.sh --help",
        "./run_all.sh",
    )
    add(
        "--profile",
        choices=("paper", "smoke"),
        default="paper",
        help="paper (default), or smoke: the whole pipeline with tiny runs, in build/smoke, in two or three minutes",
    )
    add(
        "--fresh",
        action="store_true",
        help="ignore the records and train from nothing, in build/fresh; resumes when started again (delete that folder to begin anew)",
    )
    add(
        "--study",
        choices=OF_THE_STATISTICS,
        metavar="STUDY",
        help=f"with --fresh or --profile smoke: train only this one of {', '.join(OF_THE_STATISTICS)}, then the statistics; without: only table, to print the published tests beside ours",
    )
    add(
        "--output",
        type=folder,
        metavar="FOLDER",
        help="another home for the results, from the repository root, and for the records that are trained or that it has already in FOLDER/data/records (default: the repository itself, build/smoke or build/fresh)",
    )
    add(
        "--only",
        action="append",
        type=lambda text: text.zfill(2),
        choices=NUMBERS,
        default=[],
        metavar="NN",
        help="only this notebook; may be repeated",
    )
    add(
        "--workers",
        type=whole,
        metavar="N",
        help="local processes for training (default: one per core)",
    )
    add(
        "--scheduler",
        type=address,
        metavar="ADDRESS",
        help="a running Dask scheduler, tcp://host:port",
    )
    add("--no-pdf", action="store_true", help="do not build the PDF")
    add(
        "--save",
        action="store_true",
        help="write the executed notebooks back to notebooks/ (for those who commit them)",
    )

    add = verb(
        "sweep",
        "Train the runs of some studies that are not on record yet; stopped at any time, the same command goes on from there.",
    )
    add(
        "--study",
        action="append",
        choices=STUDIES,
        metavar="STUDY",
        help="may be repeated (default: all of them; --dry-run lists them)",
    )
    add(
        "--model",
        action="append",
        choices=MODELS,
        metavar="MODEL",
        help=f"only these of {', '.join(MODELS)}; may be repeated (default: all)",
    )
    add("--workers", type=whole, metavar="N", help="local processes (default: one per core)")
    add(
        "--scheduler",
        type=address,
        metavar="ADDRESS",
        help="a running Dask scheduler, tcp://host:port (default: DASK_SCHEDULER_ADDRESS)",
    )
    add(
        "--older",
        action="store_true",
        help="also retrain what an older version of the numerics made",
    )
    add(
        "--dry-run",
        action="store_true",
        help="only say how many runs are missing, study by study, and how long they would take",
    )
    add(
        "--records",
        type=lambda text: Path(folder(text)),
        default=RECORDS,
        metavar="FOLDER",
        help="folder of the journal (default: data/records)",
    )

    add = verb("audit", "Retrain a random sample of the records and compare; fails on a mismatch.")
    add("--sample", type=whole, default=5, metavar="N", help="how many records (default: 5)")
    add("--seed", type=int, default=0, metavar="S", help="which sample (default: 0)")
    add(
        "--model",
        action="append",
        metavar="MODEL",
        help="only these; may be repeated (default: all on record)",
    )
    add(
        "--here",
        action="store_true",
        help="only records that this kind of processor made: they must come out to the bit",
    )
    add(
        "--records",
        type=lambda text: Path(folder(text)),
        default=RECORDS,
        metavar="FOLDER",
        help="folder of the journal (default: data/records)",
    )

    verb(
        "status",
        "Tell which outputs are older than what they were made from, and why; fails if there are any.",
    )
    return found


def understood(verb, arguments):
    """The options, once they make sense together."""
    parser = parsers()[verb]
    options = parser.parse_args(arguments)
    if verb == "audit" and not any(options.records.glob("*.jsonl")):
        parser.error(f"argument --records: there are no records in {options.records}")
    if verb == "reproduce":
        trains = options.fresh or options.profile == "smoke"
        for name in ("workers", "scheduler"):
            if getattr(options, name) is not None and not trains:
                parser.error(
                    f"argument --{name}: nothing is trained here; it means something with --fresh, with --profile smoke, and to ./run_all.sh sweep"
                )
        if options.output and ROOT.is_relative_to((ROOT / options.output).resolve()):
            parser.error(
                f"argument --output: {options.output!r} holds the repository itself; name a folder such as build/mine"
            )
        home = Path(
            options.output
            or (
                "build/smoke"
                if options.profile == "smoke"
                else "build/fresh"
                if options.fresh
                else ""
            ),
            "data",
            "records",
        )
        asked = set(options.only or NUMBERS)
        reads = asked - {"00", "01"} - TRAINERS
        if trains and reads and "02" not in asked and not any((ROOT / home).glob("*.jsonl")):
            parser.error(
                f"argument --only: there are no records in {home} for {', '.join(sorted(reads))} to read: add --only 02, which trains them"
            )
        if options.fresh and options.profile == "smoke":
            parser.error(
                "argument --fresh: not with --profile smoke, which trains its own tiny runs"
            )
        if options.study not in (None, "table") and not trains:
            parser.error(
                f"argument --study: {options.study!r} needs --fresh or --profile smoke, since all studies of the records are shown together; without them it may be table"
            )
        if options.save and (trains or options.output or options.study):
            parser.error(
                "argument --save: only with the repository's own records and all that they hold, since these notebooks are committed"
            )
        if options.study and options.only:
            parser.error("argument --study: not with --only: it chooses the notebooks itself")
    return options


def reproduce(options):
    from pinnlib.bundle import pipeline
    from pinnlib.bundle.pdf import build_pdf
    from pinnlib.bundle.staleness import SAVED, committed
    from pinnlib.runs.provenance import machine

    asked = {name: getattr(options, name) for name in ("output", "workers", "scheduler")}
    steps = pipeline.plan(options.profile, options.only, options.fresh, options.study, **asked)
    done = pipeline.run(steps, options.profile)
    if options.save:
        pipeline.save_back(
            done if options.only else done + pipeline.run([(NOTEBOOKS / "explorer.ipynb", {})])
        )
        if not options.only:
            (ROOT / SAVED).write_text(json.dumps({"machine": machine()}, indent=1) + "\n")
    pdf = (
        "not asked for"
        if options.no_pdf
        else build_pdf(options.profile, options.fresh or bool(options.output))
    )
    print(pipeline.summary(done, pdf))
    if not (options.fresh or options.output or options.profile == "smoke"):
        print(committed(machine()))
    return 0


def run_sweep(options):
    from pinnlib.runs.store import Store
    from pinnlib.runs.sweep import missing, sweep
    from pinnlib.runs.table import export, mixed_versions, specs_of
    from pinnlib.runs.timing import TimeEstimate

    wanted = {
        study: [s for s in specs_of(study) if not options.model or s.model in options.model]
        for study in STUDIES
    }
    asked = options.study or STUDIES
    specs = list(dict.fromkeys(spec for study in asked for spec in wanted[study]))
    records = Store(options.records).load()
    todo = missing(specs, records, options.older)
    elsewhere = bool(options.scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS"))
    told = f"{len(todo)} of {len(specs)} distinct runs to train: {TimeEstimate(records).told(todo, options.workers, elsewhere)}"
    if options.dry_run:
        print(f"{'study':<14} missing of needed")
        for study, part in wanted.items():
            if part and study in asked:
                print(
                    f"{study:<14} {len(missing(part, records, options.older)):7d} of {len(part):6d}   {STUDIES[study].title}"
                )
        print(f"{told} (a run that several studies need counts once)")
        return 0
    print(told, flush=True)
    done = sweep(specs, options.records, options.workers, options.scheduler, options.older)
    print(done)
    table = export(
        options.records,
        RUNS_CSV
        if options.records.resolve() == RECORDS.resolve()
        else options.records / "runs.csv",
    )
    print(mixed_versions(table), end="\n" * bool(mixed_versions(table)))
    return int(any(record["status"] == "failed" for record in done.records.values()))


def run_audit(options):
    from pinnlib.runs.audit import VERDICTS, audit
    from pinnlib.runs.provenance import fingerprint, kinds, machine
    from pinnlib.runs.store import Store

    found = audit(options.sample, options.model, options.seed, options.records, options.here)
    made = Counter(
        record["made"]["fingerprint"] for record in Store(options.records).load().values()
    )
    for kind, count in made.most_common():
        print(
            f"{count} of {made.total()} records were made on {kinds().get(kind, 'an unknown kind of machine')} ({kind})"
        )
    print(f"This machine is {machine()} ({fingerprint()}).")
    print(found.to_string(index=False))
    for verdict in dict.fromkeys(found["verdict"]):
        print(f"{verdict}: {VERDICTS[verdict]}")
    print(
        f"{len(found)} records retrained (recorded and retrained: rel_l2_u): "
        + ", ".join(f"{n} {verdict}" for verdict, n in found["verdict"].value_counts().items())
    )
    return int((found["verdict"] == "MISMATCH").any())


def do(verb, options):
    """The exit code of a verb that needs the library."""
    from pinnlib.registry import UserError

    try:
        return {"reproduce": reproduce, "sweep": run_sweep, "audit": run_audit}[verb](options)
    except (UserError, ValueError) as error:
        print(f"run_all.sh: {str(error).replace(f'{ROOT}/', '')}", file=sys.stderr)
        return 2


def stop(*_, since=[-GRACE]):
    """Ctrl-C and SIGTERM alike: kernels and workers are shut down, which takes seconds in which an impatient second Ctrl-C must not disturb."""
    if time.monotonic() - since[0] >= GRACE:
        since[0] = time.monotonic()
        print("\nstopping …", file=sys.stderr, flush=True)
        raise KeyboardInterrupt


def main(verb, *arguments):
    options = understood(verb, arguments)
    for name in (signal.SIGINT, signal.SIGTERM):
        if (
            signal.getsignal(name) is not signal.SIG_IGN
        ):  # as it is for what a script starts in the background
            signal.signal(name, stop)
    try:
        return report() if verb == "status" else do(verb, options)
    except KeyboardInterrupt:
        logging.getLogger(
            "asyncio"
        ).disabled = True  # it would print how the notebook's cell was interrupted, pages of it
        then = {
            "sweep": "; the same command goes on from here",
            "reproduce": "; started again, the notebooks begin anew and training goes on from the runs kept",
        }
        print(f"run_all.sh: stopped{then.get(verb, '')}", file=sys.stderr)
        return 130
