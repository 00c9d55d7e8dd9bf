"""All numbered notebooks, in order, headless: parameters checked first, a failure named, everything kept."""

import ast
import json
import os
import time

import nbformat
import pandas as pd
import papermill
from nbclient.exceptions import DeadKernelError
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from papermill.exceptions import PapermillExecutionError

from pinnlib.bundle.html import page
from pinnlib.bundle.staleness import relative
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.progress import HEADLESS
from pinnlib.registry import UserError, validate

# Profile → parameters for every notebook that has them. "paper" is the notebooks' own defaults.
PROFILES = {
    "paper": {},
    "smoke": {
        "output": "build/smoke",
        "seeds": 2,
        "steps": 20,
        "train_missing": True,
        "network_k": [20],
        "rounds": 1,
        "evaluations": 2,
    },
}
CHAOS = """
Trained on another kind of processor than the records of the repository, these runs have other last bits, and training turns them into other
digits: at k = 20 other seeds end on the wrong trajectory, which moves means, shares and ratios of the linear gate.
data/statistics_beside_published.csv has the same table for the records.
"""
KERNEL = [
    "--log-level=50",
    "--IPKernelApp.capture_fd_output=False",  # its own stderr is ours: there its bars go
    "--IPKernelApp.exec_lines=__import__('logging').getLogger('asyncio').disabled = True",  # it would tell, there too, what a kernel left undone that is stopped
]
FRESH = {"output": "build/fresh", "train_missing": True}


class PipelineError(UserError):
    """A notebook failed or was given parameters that it does not have."""


def numbered(only=()):
    """The numbered notebooks, in order; `only` picks some by number."""
    found = {path.name[:2]: path for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))}
    for number in only:
        validate("only", number, number in found, f"one of {', '.join(found)}")
    return [path for number, path in found.items() if not only or number in only]


def own_parameters(notebook):
    """Name → default of a notebook's parameters."""
    return {
        name: ast.literal_eval(told["default"])
        for name, told in papermill.inspect_notebook(str(notebook)).items()
    }


def check_parameters(notebook, given):
    """Refuse a name that the notebook does not have, or a value of another type than its default's."""
    own = own_parameters(notebook)
    for name, value in given.items():
        validate(
            name, value, name in own, f"a parameter of {notebook.stem}, which has {', '.join(own)}"
        )
        default, number = own[name], (int, float)
        same = (
            type(value) is type(default)
            or default is None
            or (type(default) is float and isinstance(value, number))
        )
        validate(name, value, same, f"of the type of its default {default!r} in {notebook.stem}")


def plan(profile="paper", only=(), fresh=False, study=None, **options):
    """[(notebook, parameters)] for a call of ./run_all.sh, checked; an option must mean something to at least one notebook."""
    validate("profile", profile, profile in PROFILES, f"one of {', '.join(PROFILES)}")
    shared = PROFILES[profile] | (FRESH if fresh else {})
    trains = shared.get("train_missing", False)
    asked = {name: value for name, value in options.items() if value is not None} | (
        {"studies": [study]} if study and trains else {}
    )
    of_study = (
        ("02", "03") if trains else ("03",)
    )  # of the committed records, only the statistics: the rest would lose the other studies
    steps = []
    for notebook in numbered(only or (of_study if study else ())):
        own = own_parameters(notebook)
        given = {name: value for name, value in (shared | asked).items() if name in own}
        check_parameters(notebook, given)
        steps.append((notebook, given))
    for name, value in asked.items():
        validate(
            name,
            value,
            any(name in given for _, given in steps),
            f"a parameter of one of {', '.join(n.stem for n, _ in steps)}",
        )
    return steps


def place_of(parameters, profile="paper"):
    """Where executed notebooks and their renderings go."""
    return ROOT / (parameters.get("output") or f"build/{profile}") / "notebooks"


def run(steps, profile="paper", say=print):
    """Execute the steps; returns [(notebook, executed copy, parameters, seconds)]."""
    os.environ.setdefault(HEADLESS, "yes")
    done = []
    for i, (notebook, parameters) in enumerate(steps, 1):
        folder = place_of(parameters, profile)
        folder.mkdir(parents=True, exist_ok=True)
        executed, began = folder / notebook.name, time.monotonic()
        say(
            f"[{i}/{len(steps)}] {notebook.stem}  {', '.join(f'{name}={value}' for name, value in parameters.items())}".rstrip()
        )
        try:
            options = {
                "kernel_name": "python3",
                "progress_bar": False,
                "cwd": str(ROOT),
                "extra_arguments": KERNEL,
            }
            papermill.execute_notebook(str(notebook), str(executed), parameters, **options)
        except PapermillExecutionError as error:
            where = f"{notebook.stem}, cell {error.cell_index + 1} (In [{error.exec_count}])"
            raise PipelineError(
                f"{where}: {error.ename}: {error.evalue}\nthe executed notebook is kept: {relative(executed)}"
            ) from None
        except DeadKernelError:
            reached = sum(
                cell.get("execution_count") is not None
                for cell in nbformat.read(executed, as_version=4).cells
            )
            told = f"{notebook.stem}: its kernel died after In [{reached}] (out of memory?)"
            raise PipelineError(
                f"{told}\nthe executed notebook is kept: {relative(executed)}"
            ) from None
        executed.with_suffix(".html").write_text(page(executed), encoding="utf-8")
        done.append((notebook, executed, parameters, time.monotonic() - began))
    return done


def save_back(done):
    """Replace committed notebooks by their executions, without what would differ next time."""
    for notebook, executed, *_ in done:
        book = nbformat.read(executed, as_version=4)
        if any("injected-parameters" in cell.metadata.get("tags", []) for cell in book.cells):
            raise PipelineError(
                f"{notebook.stem} was run with other parameters than its own: not saved"
            )
        book.metadata = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        book, _ = CoalesceStreamsPreprocessor().preprocess(
            book, {}
        )  # in how many pieces a print arrives is chance
        for cell in book.cells:
            cell.metadata = {"tags": cell.metadata.tags} if cell.metadata.get("tags") else {}
        nbformat.write(book, f"{notebook}.new")
        os.replace(f"{notebook}.new", notebook)


def published_comparison(done):
    """The published tests beside ours, as text, if the notebook of statistics is among those done: those that are complete, if none, under the loss of the text."""
    for notebook, _, parameters, _ in done:
        if notebook.stem == "03_statistics":
            data = ROOT / parameters.get("output", "") / "data"
            both = [
                pd.read_csv(data / f"statistics_beside_published{loss}.csv").dropna(subset="p_holm")
                for loss in ("", "_as_written")
            ]
            table, loss = both[0], ""
            if table.empty:
                table, loss = both[1], " under the loss of the paper's text"
            shown = table[["lambda_ic", "k", "metric"]].copy()
            for name, digits in {
                "winner": "",
                "mean_exp": ".3f",
                "mean_linear": ".3f",
                "frac_win": ".2f",
                "p_holm": ".1e",
            }.items():
                shown[name] = table[name].map(f"{{:{digits}}}".format)
                shown[f"{name} (paper)"] = table[f"{name}_published"].map(f"{{:{digits}}}".format)
            shown["p_holm (paper)"] = (
                table["p_holm_is_bound"].map({True: "<", False: ""}) + shown["p_holm (paper)"]
            )
            tiny, trained = (
                "steps" in parameters,
                any((data / "records").glob("*.jsonl")) and data != ROOT / "data",
            )
            said, note = (
                " (of tiny runs, which mean nothing)" * tiny,
                CHAOS * (trained and not tiny),
            )
            return f"\nPaired tests of the two gates{loss}, ours{said} beside the paper's:\n{shown.to_string(index=False)}\n{note}"
    return ""


def summary(done, pdf):
    """What was made, where, and how long it took."""
    lines = []
    for notebook, executed, parameters, seconds in done:
        manifest = (
            ROOT / parameters.get("output", "") / "data" / "provenance" / f"{notebook.stem}.json"
        )
        written = json.loads(manifest.read_text())["written"]
        lines.append(
            f"{notebook.stem:<24} {seconds:6.1f} s   {len(written):3d} files   {relative(executed.with_suffix('.html'))}"
        )
    return "\n".join(
        [
            published_comparison(done),
            *lines,
            f"PDF: {pdf}",
            f"total {sum(seconds for *_, seconds in done):.0f} s",
        ]
    )
