"""What a notebook writes, each file tied to the code, parameters and records that made it."""

import hashlib
import json
import sys

import matplotlib.pyplot as plt
import nbformat

from .paths import NOTEBOOKS, ROOT
from .sweep import commit


def digest(path):
    """Short content hash of a file; of a notebook, of its code alone, since outputs are not inputs."""
    data = path.read_bytes()
    if path.suffix == ".ipynb":
        cells = nbformat.reads(data.decode(), as_version=4).cells
        data = "\0".join(cell.source for cell in cells if cell.cell_type == "code").encode()
    return hashlib.sha256(data).hexdigest()[:16]


def relative(path):
    """A path as it is told in manifests: from the repository root where it lies inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


class Output:
    """The files of one notebook, under `output` (a folder; empty: the repository itself), and the manifest that goes with them."""

    def __init__(self, notebook, parameters, output=""):
        self.notebook, self.parameters = notebook, parameters
        self.root = ROOT / output
        self.data, self.figures, self.records = self.root / "data", self.root / "figures", self.root / "data" / "records"
        self._written, self._read = {}, {}

    def reads(self, *paths):
        """Declare input files other than the library and the notebook, such as records; a folder stands for the files in it."""
        for path in paths:
            for file in sorted(path.glob("*.*")) if path.is_dir() else [path]:
                if file.is_file() and not file.name.startswith("."):
                    self._read[relative(file)] = digest(file)

    def figure(self, figure, name):
        """Save figures/<name>.png (for screens) and .pdf (for the paper), the same bytes for the same picture."""
        source = f"notebooks/{self.notebook}.ipynb"
        self._save(self.figures / f"{name}.png", lambda path: figure.savefig(path, metadata={"Source": source}))
        self._save(self.figures / f"{name}.pdf", lambda path: figure.savefig(path, metadata={"CreationDate": None, "Subject": source}))
        plt.close(figure) if not plt.isinteractive() else None

    def table(self, frame, name, **options):
        """Save data/<name>.csv."""
        options = {"index": False, "lineterminator": "\n"} | options
        self._save(self.data / f"{name}.csv", lambda path: frame.to_csv(path, **options))

    def numbers(self, values):
        """Save data/numbers/<notebook>.json: the values that the paper's text quotes."""
        text = json.dumps(values, indent=1, sort_keys=True) + "\n"
        self._save(self.data / "numbers" / f"{self.notebook}.json", lambda path: path.write_text(text))

    def _save(self, path, write):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
        self._written[relative(path)] = digest(path)

    def close(self):
        """Write data/provenance/<notebook>.json and return the list of files written."""
        modules = {name: module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "pinnlib" and getattr(module, "__file__", None)}
        code = {relative(path): digest(path) for path in (NOTEBOOKS / f"{self.notebook}.ipynb", *(ROOT / "pinnlib" / f"{n.partition('.')[2] or '__init__'}.py" for n in modules)) if path.exists()}
        manifest = {
            "notebook": self.notebook,
            "parameters": self.parameters,
            "commit": commit(),
            "code": dict(sorted(code.items())),
            "read": dict(sorted(self._read.items())),
            "written": dict(sorted(self._written.items())),
        }
        path = self.data / "provenance" / f"{self.notebook}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(manifest, indent=1) + "\n")
        return sorted(self._written)
