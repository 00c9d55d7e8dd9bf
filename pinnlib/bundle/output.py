"""What a notebook writes, each file tied to the code, parameters and records that made it."""

import json
import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pinnlib.bundle.staleness import digest, relative
from pinnlib.bundle.tables import show, words_left
from pinnlib.paths import NOTEBOOKS, RECORDS, ROOT
from pinnlib.registry import UserError, is_number, validate
from pinnlib.runs.provenance import commit
from pinnlib.runs.store import Store

DIGITS = "%.10g"  # the last of sixteen depend on the vector units of the processor


class Output:
    """The files of one notebook, under `output` (a folder; empty: the repository itself), and the manifest that goes with them.

    Records are read from there too if it has any, or if the notebook trains (`train_missing`); else those of the repository are.
    """

    def __init__(self, notebook, parameters, output=""):
        self.notebook, self.parameters = notebook, {"output": output} | parameters
        self.root = ROOT / output
        self.data, self.figures, self.records = (
            self.root / "data",
            self.root / "figures",
            self.root / "data" / "records",
        )
        if not parameters.get("train_missing") and not any(self.records.glob("*.jsonl")):
            self.records = RECORDS
        self._written, self._read = {}, {}
        words_left()

    def source(self, name):
        """data/<name> of this output, or of the repository where its records are read and this output has none."""
        own = self.data / name
        return ROOT / "data" / name if self.records == RECORDS and not own.exists() else own

    def load(self, specs):
        """The records, declared as read; at least one of the specs must be among them."""
        self.reads(self.records)
        records = Store(self.records).load()
        if not any(spec.key in records for spec in specs):
            raise UserError(
                f"none of the {len(specs)} runs that this notebook asks for is on record in {relative(self.records)}: other seeds, steps or studies have to be trained first"
            )
        return records

    def reads(self, *paths):
        """Declare inputs other than the library and the notebook: files, or folders such as that of the records."""
        self._read |= {relative(path): digest(path) for path in paths}

    def figure(self, figure, name):
        """Save figures/<name>.png (for screens) and .pdf (for the paper), the same bytes for the same picture; a notebook shows it here."""
        source = f"notebooks/{self.notebook}.ipynb"
        self._save(
            self.figures / f"{name}.png",
            lambda path: figure.savefig(path, metadata={"Source": source}),
        )
        figure.set_layout_engine(
            "none"
        )  # it stands where it has just been put: no need to solve for it again
        self._save(
            self.figures / f"{name}.pdf",
            lambda path: figure.savefig(path, metadata={"CreationDate": None, "Subject": source}),
        )
        if figure.canvas.manager is not None:
            show(figure)

    def table(self, frame, name, **options):
        """Save data/<name>.csv; from the same records, other machines agree on the digits kept."""
        options = {"index": False, "lineterminator": "\n", "float_format": DIGITS} | options
        self._save(self.data / f"{name}.csv", lambda path: frame.to_csv(path, **options))

    def numbers(self, values):
        """Save data/numbers/<notebook>.json: the values that the paper's text quotes; "open" stands for what is not known."""
        text = (
            json.dumps(
                {name: _quoted(value) for name, value in values.items()}, indent=1, sort_keys=True
            )
            + "\n"
        )
        self._save(
            self.data / "numbers" / f"{self.notebook}.json", lambda path: path.write_text(text)
        )

    def wrote(self, path):
        """Declare a file that was written by other means."""
        self._written[relative(path)] = digest(path)

    def _save(self, path, write):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"new-{path.name}")
        try:
            write(new)
            os.replace(new, path)  # so that a stop in the middle leaves the old file whole
        finally:
            new.unlink(missing_ok=True)
        self.wrote(path)

    def close(self):
        """Write data/provenance/<notebook>.json, close the pictures and return the list of files written."""
        plt.close("all")
        library = {
            Path(m.__file__).resolve()
            for name, m in sys.modules.items()
            if name.split(".")[0] == "pinnlib" and m.__file__
        }
        code = {
            relative(path): digest(path)
            for path in sorted(library | {NOTEBOOKS / f"{self.notebook}.ipynb"})
            if path.exists()
        }
        manifest = {
            "notebook": self.notebook,
            "parameters": self.parameters,
            "commit": commit(),
            "code": code,
            "read": dict(sorted(self._read.items())),
            "written": dict(sorted(self._written.items())),
        }
        path = self.data / "provenance" / f"{self.notebook}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(manifest, indent=1) + "\n")
        return sorted(self._written)


def _quoted(value):
    if pd.isna(value) or value == "":
        return "open"
    value = value.item() if isinstance(value, np.generic) else value
    validate("value", value, isinstance(value, str) or is_number(value), "text or a finite number")
    return float(DIGITS % value) if isinstance(value, float) else value
