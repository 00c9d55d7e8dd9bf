"""The command line behind ./run_all.sh.

Options are parsed and checked before torch is loaded, so help and errors come at once.
"""

import argparse
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from pinnlib.bundle.staleness import report
from pinnlib.paths import NOTEBOOKS, RECORDS, ROOT
from pinnlib.runs.streams import Unblocking, unfailing_output
from pinnlib.runs.studies import STUDIES

VERBS = {
    "reproduce": "Run all notebooks on the records: figures, tables, numbers, PDF.",
    "sweep": "Train the runs that are not on record yet; resumes when started again.",
    "verify": "Check every record without training: checksum, settings, metrics to the bit.",
    "audit": "Retrain a random sample of the records and compare to the bit; fails on a mismatch.",
    "status": "List outputs that are older than their inputs; fails if there are any.",
}
NUMBERS = sorted(path.name[:2] for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
STATISTICS_STUDIES = ("table", "main", "no_penalty", "expanded", "as_written")  # of notebook 03
NEED_RECORDS = {"03", "04", "10"}  # the others need none, or train what they need
MODELS = list(dict.fromkeys(model for study in STUDIES.values() for model in study.seeds))
GRACE = 10  # seconds after a Ctrl-C in which another one is ignored
AFTER_STOP = {
    "sweep": "; the same command goes on from here",
    "reproduce": "; started again, notebooks begin anew and training goes on from the runs kept",
    "audit": "",
    "verify": "",
}


# Types of options


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds > 0")
    return value


def positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 1")
    return int(text)


def scheduler_address(text: str) -> str:
    if not re.fullmatch(r"\w+://.+:\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an address like tcp://host:8786")
    return text


def folder(text: str) -> Path:
    """A folder, which need not exist yet."""
    path = ROOT / text
    if any(part.is_file() for part in (path, *path.parents)):
        raise argparse.ArgumentTypeError(f"{text!r} is, or lies in, a file and not a folder")
    return Path(text)


# Options


def add_training_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--workers", type=positive_int, metavar="N", help="local processes (default: one per core)")
    text = "a running Dask scheduler, tcp://host:port (default: DASK_SCHEDULER_ADDRESS)"
    add("--scheduler", type=scheduler_address, metavar="ADDRESS", help=text)


def add_records_option(parser: argparse.ArgumentParser) -> None:
    text = "folder of the records (default: data/records)"
    parser.add_argument("--records", type=folder, default=RECORDS, metavar="FOLDER", help=text)


def add_reproduce_options(parser: argparse.ArgumentParser) -> None:
    parser.prog = "./run_all.sh"  # without a verb
    parser.set_defaults(check=check_reproduce)
    add = parser.add_argument
    text = "paper (default), or smoke: all notebooks with tiny runs, in build/smoke (2-3 minutes)"
    add("--profile", choices=("paper", "smoke"), default="paper", help=text)
    text = "ignore the records and train from nothing, in build/fresh; resumes when started again"
    add("--fresh", action="store_true", help=text)
    text = (
        f"with --fresh or --profile smoke: train one of {', '.join(STATISTICS_STUDIES)}, then the "
        "statistics; without: only table, which prints the published tests beside ours"
    )
    add("--study", choices=STATISTICS_STUDIES, metavar="STUDY", help=text)
    text = (
        "folder for results and newly trained records, whose own records are read if it has any "
        "(default: the repository itself, build/smoke or build/fresh)"
    )
    add("--output", type=folder, metavar="FOLDER", help=text)
    text = "only this notebook; may be repeated"
    only = add("--only", action="append", choices=NUMBERS, default=[], metavar="NN", help=text)
    only.type = lambda number: number.zfill(2)  # 3 is 03
    add_training_options(parser)
    add("--no-pdf", action="store_true", help="do not build the PDF")
    add("--save", action="store_true", help="write the executed notebooks back to notebooks/")


def add_scheduler_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    text = "with --scheduler: stop after so long without answer or worker (default: 300)"
    add("--patience", type=seconds, default=300.0, metavar="SECONDS", help=text)
    text = (
        "with --scheduler tls://host:port: %s. Whoever reaches a scheduler or a worker without TLS "
        "runs code as its user: use TLS, or a network of your own, beyond one machine"
    )
    add("--tls-ca", metavar="FILE", help=text % "certificate authority of the cluster")
    add("--tls-cert", metavar="FILE", help="certificate of this client, with --tls-ca")
    add("--tls-key", metavar="FILE", help="key of that certificate, with --tls-ca")


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(check=check_sweep)
    add = parser.add_argument
    text = "may be repeated (default: all of them; --dry-run lists them)"
    add("--study", action="append", choices=STUDIES, metavar="STUDY", help=text)
    text = f"only these of {', '.join(MODELS)}; may be repeated (default: all)"
    add("--model", action="append", choices=MODELS, metavar="MODEL", help=text)
    add_training_options(parser)
    add_scheduler_options(parser)
    add("--older", action="store_true", help="also retrain records of older numerics versions")
    text = "only print how many runs are missing and how long they would take"
    add("--dry-run", action="store_true", help=text)
    add_records_option(parser)


def add_audit_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(check=check_records)
    add = parser.add_argument
    add("--sample", type=positive_int, default=5, metavar="N", help="how many records (default: 5)")
    add("--seed", type=int, default=0, metavar="S", help="which sample (default: 0)")
    text = "only these; may be repeated (default: all on record)"
    add("--model", action="append", metavar="MODEL", help=text)
    add_records_option(parser)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a call; exits with code 2 if they are invalid, alone or together."""
    parser = argparse.ArgumentParser(prog="./run_all.sh")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    parsers = {}
    for verb, text in VERBS.items():
        parsers[verb] = verbs.add_parser(verb, help=text, description=text)
        parsers[verb].set_defaults(error=parsers[verb].error, check=None)
    add_reproduce_options(parsers["reproduce"])
    add_sweep_options(parsers["sweep"])
    add_audit_options(parsers["audit"])
    parsers["verify"].set_defaults(check=check_records)
    add_records_option(parsers["verify"])
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.check:
        options.check(options)
    return options


# Checks of options that depend on each other; `options.error` prints the text and exits


def check_reproduce(options: argparse.Namespace) -> None:
    trains = options.fresh or options.profile == "smoke"
    for name in ("workers", "scheduler"):
        if getattr(options, name) is not None and not trains:
            options.error(f"argument --{name}: only with --fresh, --profile smoke or sweep")
    if options.output and ROOT.is_relative_to((ROOT / options.output).resolve()):
        options.error(f"argument --output: {str(options.output)!r} holds the repository itself")
    if options.fresh and options.profile == "smoke":
        options.error("argument --fresh: not with --profile smoke, which trains its own tiny runs")
    if trains:
        check_only(options)
    check_study(options, trains)
    if options.save and (trains or options.output or options.study):
        options.error("argument --save: only with the repository's own records and all studies")


def check_only(options: argparse.Namespace) -> None:
    """Notebooks that read new records need some in the folder, or notebook 02 to train them."""
    numbers = set(options.only or NUMBERS)
    readers = ", ".join(sorted(numbers & NEED_RECORDS))
    default = "build/smoke" if options.profile == "smoke" else "build/fresh"
    records = Path(options.output or default, "data", "records")
    if readers and "02" not in numbers and not any((ROOT / records).glob("*.jsonl")):
        problem = f"there are no records in {records} for {readers} to read"
        options.error(f"argument --only: {problem}: add --only 02, which trains them")


def check_study(options: argparse.Namespace, trains: bool) -> None:
    if options.study not in (None, "table") and not trains:
        problem = f"{options.study!r} needs --fresh or --profile smoke; without them, only table"
        options.error(f"argument --study: {problem}")
    if options.study and options.only:
        options.error("argument --study: not with --only: it chooses the notebooks itself")


def check_sweep(options: argparse.Namespace) -> None:
    files = {
        "--tls-ca": options.tls_ca,
        "--tls-cert": options.tls_cert,
        "--tls-key": options.tls_key,
    }
    given = [name for name, file in files.items() if file is not None]
    address = options.scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS", "")
    if given and not address.startswith("tls://"):
        problem = "only with a scheduler at tls://host:port (--scheduler, DASK_SCHEDULER_ADDRESS)"
        options.error(f"argument {given[0]}: {problem}")
    for name, file in files.items():
        if given and not (file and Path(file).is_file()):
            options.error(f"argument {name}: {file!r} is not a file; all three are needed")


def check_records(options: argparse.Namespace) -> None:
    if not any(options.records.glob("*.jsonl")):
        options.error(f"argument --records: there are no records in {options.records}")


# Running a verb


class Interrupt:
    """Handler of Ctrl-C and SIGTERM: raises KeyboardInterrupt.

    Notebooks and workers need some seconds to shut down; another signal in that time is ignored.
    """

    def __init__(self) -> None:
        self.last = -float("inf")

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() - self.last >= GRACE:
            self.last = time.monotonic()
            print("\nstopping …", file=Unblocking(sys.stderr), flush=True)
            raise KeyboardInterrupt

    def install(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            # A process that a script starts in the background ignores Ctrl-C; leave it so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self)


def main(arguments: Sequence[str]) -> int:
    """Parse the arguments, run the verb and return the exit code."""
    options = parse(arguments)
    if options.verb == "status":
        return report()
    if options.verb == "sweep" and not options.dry_run:
        with unfailing_output():
            return _carry_out(options)
    return _carry_out(options)


def _carry_out(options: argparse.Namespace) -> int:
    Interrupt().install()
    try:
        # The one late import: it loads torch, pandas and Jupyter, which takes seconds.
        from pinnlib.bundle import commands

        return commands.run(options)
    except KeyboardInterrupt:
        # asyncio would print pages about the interrupted cell.
        logging.getLogger("asyncio").disabled = True
        print(f"run_all.sh: stopped{AFTER_STOP[options.verb]}", file=sys.stderr)
        return 130
