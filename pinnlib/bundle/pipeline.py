"""Run the numbered notebooks in order, headless.

Parameters are checked before anything runs, a failure is named, executed notebooks are kept.
"""

import ast
import json
import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from papermill.exceptions import PapermillExecutionError

from pinnlib.bundle.html import write_page
from pinnlib.bundle.parameters import Parameters, validate_parameter
from pinnlib.bundle.staleness import Manifest, relative
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.registry import UserError, validate
from pinnlib.runs.files import replacing
from pinnlib.training import HEADLESS

Step = tuple[Path, Parameters]  # a notebook and what is injected into it

# Profile → parameters of every notebook that has them.
PROFILES: dict[str, Parameters] = {
    "paper": {"output": ""},  # the committed folders; a notebook's own default is build/lab
    "fresh": {"output": "build/fresh", "train_missing": True, "all_studies": True},
    "smoke": {"output": "build/smoke", "train_missing": True, "all_studies": True}
    | {"seeds": 2, "steps": 20, "network_k": [20], "rounds": 1, "evaluations": 2, "iterations": 3},
}
JUPYTER_KERNEL_OPTIONS = [
    "--log-level=50",
    "--IPKernelApp.capture_fd_output=False",  # progress bars go to its stderr, which is ours
    # asyncio would print there what a stopped notebook left unfinished
    "--IPKernelApp.exec_lines=__import__('logging').getLogger('asyncio').disabled = True",
]
INJECTED = "injected-parameters"  # papermill's tag


class PipelineError(UserError):
    """A notebook failed or was given parameters that it does not have."""


@dataclass(frozen=True)
class Execution:
    """A notebook that was run: its file, the executed copy, the parameters injected."""

    notebook: Path
    executed: Path
    parameters: Parameters
    seconds: float

    def manifest(self) -> Manifest:
        data = ROOT / self.parameters.get("output", "") / "data"
        path = data / "provenance" / f"{self.notebook.stem}.json"
        return json.loads(path.read_text())


def numbered(only: Collection[str] = ()) -> list[Path]:
    """The numbered notebooks, in order; `only` picks some by number."""
    paths = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
    return [path for path in paths if not only or path.name[:2] in only]


def default_parameters(notebook: Path) -> Parameters:
    """Name → default of a notebook's parameters."""
    inspected = papermill.inspect_notebook(str(notebook))
    return {name: ast.literal_eval(found["default"]) for name, found in inspected.items()}


def own_parameters(notebook: Path, given: Parameters) -> Parameters:
    """Those of the given parameters that the notebook has, of the type of their default."""
    own = {}
    defaults = default_parameters(notebook)
    for name in defaults:
        if name in given:
            validate_parameter(name, given[name], defaults, notebook.stem)
            own[name] = given[name]
    return own


def plan(
    profile: str = "paper",
    only: Collection[str] = (),
    study: str | None = None,
    **options: Any,
) -> list[Step]:
    """The steps of a call of ./run_all.sh; some notebook must have each option that is not None."""
    shared = PROFILES[profile]
    requested = {name: value for name, value in options.items() if value is not None}
    if study:
        only = ["03"]  # the committed records have all studies: show the statistics only
        if shared.get("train_missing"):
            only = ["02", "03"]
            requested |= {"studies": [study], "all_studies": False}
    notebooks = numbered(only)
    steps = [(notebook, own_parameters(notebook, shared | requested)) for notebook in notebooks]
    names = ", ".join(notebook.stem for notebook in notebooks)
    for name, value in requested.items():
        used = any(name in own for _, own in steps)
        validate(name, value, used, f"a parameter of one of {names}")
    return steps


def execute(steps: Sequence[Step], profile: str = "paper") -> list[Execution]:
    """Execute the notebooks; the copies and their HTML go to build/<profile>, or to the output."""
    os.environ.setdefault(HEADLESS, "yes")
    executions = []
    for number, (notebook, parameters) in enumerate(steps, 1):
        folder = ROOT / (parameters.get("output") or f"build/{profile}") / "notebooks"
        folder.mkdir(parents=True, exist_ok=True)
        executed = folder / notebook.name
        settings = ", ".join(f"{name}={value}" for name, value in parameters.items() if value != "")
        print(f"[{number}/{len(steps)}] {notebook.stem}  {settings}".rstrip(), flush=True)
        began = time.monotonic()
        _execute_one(notebook, executed, parameters)
        write_page(executed, folder)
        seconds = time.monotonic() - began
        executions.append(Execution(notebook, executed, parameters, seconds))
    return executions


def _execute_one(notebook: Path, executed: Path, parameters: Parameters) -> None:
    try:
        papermill.execute_notebook(
            str(notebook),
            str(executed),
            parameters,
            kernel_name="python3",
            progress_bar=False,
            cwd=str(ROOT),
            extra_arguments=JUPYTER_KERNEL_OPTIONS,
        )
    except PapermillExecutionError as error:
        cell = f"cell {error.cell_index + 1} (In [{error.exec_count}])"
        problem = f"{notebook.stem}, {cell}: {error.ename}: {error.evalue}"
    except DeadKernelError:
        cells = nbformat.read(executed, as_version=4).cells
        reached = max(cell.get("execution_count") or 0 for cell in cells)
        problem = f"{notebook.stem}: its Jupyter kernel died after In [{reached}] (out of memory?)"
    else:
        return
    raise PipelineError(f"{problem}\nthe executed notebook is kept: {relative(executed)}")


def save_back(executions: Sequence[Execution]) -> None:
    """Replace the committed notebooks by their executions, without the injected cell."""
    for execution in executions:
        if not execution.parameters.items() <= PROFILES["paper"].items():
            raise PipelineError(f"{execution.notebook.stem}: other parameters than its own")
        book = nbformat.read(execution.executed, as_version=4)
        # A print may arrive in several pieces.
        book, _ = CoalesceStreamsPreprocessor().preprocess(book, {})
        book.metadata = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        book.cells = [cell for cell in book.cells if INJECTED not in cell.metadata.get("tags", [])]
        count = 0
        for cell in book.cells:
            cell.metadata = {"tags": cell.metadata.tags} if cell.metadata.get("tags") else {}
            if cell.get("execution_count"):
                count += 1
                cell.execution_count = count
                for result in cell.outputs:
                    if result.output_type == "execute_result":
                        result.execution_count = count
        with replacing(execution.notebook) as temporary:
            nbformat.write(book, temporary)


def summary(executions: Sequence[Execution]) -> str:
    """Messages of the notebooks, what was made, where, and how long it took."""
    messages, lines = [], []
    for execution in executions:
        manifest = execution.manifest()
        if "message" in manifest:
            messages.append(manifest["message"])
        html = relative(execution.executed.with_suffix(".html"))
        count = len(manifest["written"])
        lines.append(
            f"{execution.notebook.stem:<24} {execution.seconds:6.1f} s   {count:3d} files   {html}"
        )
    total = sum(execution.seconds for execution in executions)
    return "\n".join([*messages, *lines, f"total {total:.0f} s"])
