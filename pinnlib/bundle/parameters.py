"""Parameters of a notebook: their defaults, and whether given values suit them.

Imports nothing that is slow: a notebook checks here what papermill wrote into it.
"""

import ast
import sys
from typing import Any

from pinnlib.registry import validate

Parameters = dict[str, Any]
INJECTED = "# Parameters"  # first line of the cell that papermill adds after the defaults
OPTIONAL = {"workers": int, "scheduler": str}  # types of the parameters whose default is None


def assignments(source: str) -> Parameters:
    """Name → value of the assignments in a cell; the text of a value that is no literal."""
    found = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                value = ast.literal_eval(statement.value)
            except ValueError:
                value = ast.unparse(statement.value)
            found[statement.targets[0].id] = value
    return found


def validate_parameter(name: str, value: Any, defaults: Parameters, notebook: str) -> None:
    """Raise a ValueError unless a notebook with these defaults takes this parameter and value."""
    known = f"one of {', '.join(defaults)}"
    validate("parameter", name, name in defaults, f"{known}, which {notebook} has")
    default = defaults[name]
    if default is None:
        kinds = [type(None), OPTIONAL.get(name, str)]
    else:
        kinds = [int, float] if type(default) is float else [type(default)]
    types = " or ".join(kind.__name__ for kind in kinds)
    allowed = f"of type {types}, as its default {default!r} in {notebook}"
    validate(name, value, type(value) in kinds, allowed)


def validate_injected(notebook: str) -> None:
    """Check what papermill wrote into the notebook that runs here; elsewhere do nothing."""
    ipython = sys.modules.get("IPython")  # loaded in every notebook, and not needed elsewhere
    shell = ipython.get_ipython() if ipython else None
    cells = shell.user_ns["In"] if shell else []
    for default_cell, cell in zip(cells, cells[1:], strict=False):
        if cell.startswith(INJECTED):
            defaults = assignments(default_cell)
            for name, value in assignments(cell).items():
                validate_parameter(name, value, defaults, notebook)
            return
