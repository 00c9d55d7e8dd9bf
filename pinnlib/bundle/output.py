"""The files that a notebook writes, each tied to the code, parameters and records that made it."""

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.bundle.parameters import validate_injected
from pinnlib.bundle.staleness import Manifest, digest, relative
from pinnlib.paths import NOTEBOOKS, RECORDS, ROOT
from pinnlib.registry import UserError, is_number, validate
from pinnlib.runs.files import replacing
from pinnlib.runs.provenance import commit
from pinnlib.runs.record import Records
from pinnlib.runs.store import Store
from pinnlib.runs.verify import verification_note
from pinnlib.spec import RunSpec

LAB = "build/lab"  # where a notebook writes that somebody runs by hand
DIGITS = "%.10g"  # the last of sixteen depend on the machine's BLAS and LAPACK


class Output:
    """The files of one notebook in a folder, from the repository root, and their manifest.

    In build/lab a notebook reads the committed results; only what it writes lies there. In another
    folder it reads the files of that folder first. A notebook that trains (`train_missing`) reads
    only what lies in its folder. The folder "" is the repository itself: only ./run_all.sh uses it.
    `message` is text that ./run_all.sh prints at its end.
    """

    def __init__(self, notebook: str, parameters: dict[str, Any], output: str | Path = LAB) -> None:
        validate_injected(notebook)
        self.notebook = notebook
        self.parameters = {"output": str(output), **parameters}
        self.message = ""
        self.root = ROOT / output
        self.data = self.root / "data"
        self.records = self.data / "records"
        self._in_lab = self.root == ROOT / LAB
        self._checked = ""  # how the records that were read were checked
        self._read: dict[str, str] = {}
        self._written: dict[Path, str] = {}
        has_records = any(self.records.glob("*.jsonl")) and not self._in_lab
        if not parameters.get("train_missing") and not has_records:
            self.records = RECORDS

    def source(self, name: str) -> Path:
        """The file data/<name> to read: of this folder or of the repository (see the class)."""
        own = self.data / name
        if self.records == RECORDS and (self._in_lab or not own.exists()):
            return ROOT / "data" / name
        return own

    def load(self, specs: Sequence[RunSpec]) -> Records:
        """The records, declared as read; at least one of the specs must be among them.

        Prints whether they are those that passed `./run_all.sh verify`.
        """
        self.reads(self.records)
        records = Store(self.records).load()
        self._checked = verification_note(self.records)
        if not any(spec.key in records for spec in specs):
            raise UserError(
                f"none of the {len(specs)} runs that this notebook asks for is on record in "
                f"{relative(self.records)}: other seeds, steps or studies have to be trained first"
                " (train_missing = True)"
            )
        print(self._checked)
        return records

    def reads(self, *paths: Path) -> None:
        """Declare inputs other than the library and the notebook: files or folders."""
        for path in paths:
            self._read[relative(path)] = digest(path)

    def figure(self, figure: Figure, name: str) -> None:
        """Save figures/<name>.png and .pdf; a notebook shows a figure of pyplot at once."""
        source = f"notebooks/{self.notebook}.ipynb"
        path = self.root / "figures" / name
        with self._writing(path.with_name(f"{path.name}.png")) as png:
            figure.savefig(png, metadata={"Source": source})
        figure.set_layout_engine("none")  # the layout is final: do not solve for it again
        with self._writing(path.with_name(f"{path.name}.pdf")) as pdf:
            figure.savefig(pdf, metadata={"CreationDate": None, "Subject": source})
        if figure.canvas.manager is not None:
            _show(figure)

    def table(self, frame: pd.DataFrame, name: str, **options: Any) -> None:
        """Save data/<name>.csv; `options` are those of `DataFrame.to_csv`."""
        options = {"index": False, "lineterminator": "\n", "float_format": DIGITS} | options
        with self._writing(self.data / f"{name}.csv") as path:
            frame.to_csv(path, **options)

    def numbers(self, values: Mapping[str, Any]) -> None:
        """Save data/numbers/<notebook>.json, the values that the paper quotes ("open": unknown)."""
        plain = {name: _plain(value) for name, value in values.items()}
        text = json.dumps(plain, indent=1, sort_keys=True)
        with self._writing(self.data / "numbers" / f"{self.notebook}.json") as path:
            path.write_text(f"{text}\n")

    def latex(self, name: str, body: str) -> None:
        """Save paper/generated/<name>.tex, with a comment that names the notebook."""
        comment = f"% Made by notebooks/{self.notebook}.ipynb; changes are overwritten."
        with self._writing(self.root / "paper" / "generated" / f"{name}.tex") as path:
            path.write_text(f"{comment}\n{body}\n", encoding="utf-8")

    def wrote(self, path: Path) -> None:
        """Declare a file of this folder that was written by other means."""
        self._written[path] = digest(path)

    @contextlib.contextmanager
    def _writing(self, path: Path) -> Iterator[Path]:
        with replacing(path) as temporary:
            yield temporary
        self.wrote(path)

    def close(self) -> list[str]:
        """Write the manifest, close all figures and return the files written, from `root`."""
        plt.close("all")
        manifest = {"notebook": self.notebook, "parameters": self.parameters, "commit": commit()}
        manifest["code"] = _code(NOTEBOOKS / f"{self.notebook}.ipynb")
        manifest["read"] = dict(sorted(self._read.items()))
        manifest["written"] = {
            relative(path): self._written[path] for path in sorted(self._written)
        }
        if self._checked:
            manifest["records"] = self._checked
        if self.message:
            manifest["message"] = self.message
        save_manifest(manifest, self.data / "provenance" / f"{self.notebook}.json")
        return sorted(str(path.relative_to(self.root)) for path in self._written)


def save_manifest(manifest: Manifest, path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(manifest, indent=1) + "\n")


def _code(notebook: Path) -> dict[str, str]:
    """Digests of the notebook and of every module of the library that is loaded."""
    paths = {notebook}
    for name, module in sys.modules.items():
        if name.split(".")[0] == "pinnlib" and module.__file__:
            paths.add(Path(module.__file__).resolve())
    return {relative(path): digest(path) for path in sorted(paths) if path.exists()}


def _show(figure: Figure) -> None:
    """Show a figure at this place of a notebook and close it; elsewhere do nothing."""
    ipython = sys.modules.get("IPython")  # loaded in every notebook, and not needed elsewhere
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(figure)
        plt.close(figure)


def _plain(value: Any) -> str | int | float:
    """A value as JSON has it: text, or a number with the digits that machines agree on."""
    if pd.isna(value) or value == "":
        return "open"
    if isinstance(value, np.generic):
        value = value.item()
    validate("value", value, isinstance(value, str) or is_number(value), "text or a finite number")
    return float(DIGITS % value) if isinstance(value, float) else value
