"""codecheck.yml: figures and tables and the command that makes each, for a CODECHECK certificate.

It is made from the manifests of data/provenance; ./run_all.sh writes it at its end.
"""

import re
from pathlib import Path

from pinnlib.bundle import staleness
from pinnlib.registry import UserError

SPECIFICATION = "https://codecheck.org.uk/spec/config/1.0/"
AUTHORS = "The pinn-gates contributors"
KINDS = {".png": "figure", ".csv": "table", ".tex": "LaTeX"}  # a figure's PDF is beside its PNG


def codecheck_text(root: Path) -> str:
    """The content of codecheck.yml for the repository at `root`."""
    title = re.search(r"pdftitle=\{(.*?)\}", (root / "paper" / "main.tex").read_text("utf-8"))
    lines = [
        "---",
        "# Written by ./run_all.sh from data/provenance; changes are overwritten.",
        f"version: {SPECIFICATION}",
        "paper:",
        f'  title: "{title[1] if title else "untitled"}"',
        "  authors:",
        f"    - name: {AUTHORS}",
        "manifest:",
    ]
    for path in sorted((root / "data" / "provenance").glob("*.json")):
        manifest = staleness.read_manifest(path)
        if manifest is None:
            name = staleness.relative(path)
            raise UserError(
                f"{name} is damaged: ./run_all.sh --only {path.name[:2]} makes it again"
            )
        for name in manifest["written"]:
            comment = _comment(manifest["notebook"], Path(name).suffix)
            if comment:
                lines += [f"  - file: {name}", f'    comment: "{comment}"']
    return "\n".join(lines) + "\n"


def _comment(notebook: str, suffix: str) -> str:
    """What kind of file it is and what makes it, or "" if it is no figure or table."""
    if notebook == staleness.PAPER:
        return "report: ./run_all.sh (paper/main.tex)"
    if suffix not in KINDS:
        return ""
    return f"{KINDS[suffix]}: ./run_all.sh --only {notebook[:2]} (notebooks/{notebook}.ipynb)"
