"""Explorer: a run chosen with sliders and menus, shown from its record or trained on request."""

import base64
import contextvars
import html
import os
import threading
import warnings
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from pinnlib.explorer.menus import NO_GATE, Menus, distinct
from pinnlib.explorer.portrait import plot_portrait, run_label
from pinnlib.explorer.runs import RunLibrary
from pinnlib.explorer.scatter import Scatter
from pinnlib.gates import GATES
from pinnlib.models import MODELS
from pinnlib.paths import RECORDS
from pinnlib.reference import NotOnFileWarning, reference_solution
from pinnlib.registry import lookup, validate
from pinnlib.spec import RunSpec
from pinnlib.style.figures import SPARE_GATES, SPARE_MODELS
from pinnlib.training import HEADLESS, train_batch

VIEW = "application/vnd.jupyter.widget-view+json"


class Explorer:
    """Controls, the portrait of the run that they name, and all runs of its setting against k.

    `settings` are those of a RunSpec: the controls start there, and settings without a control
    (steps, optimiser, …) keep their value. Another system comes with its usual start and with
    stiffnesses of its own; a form without a gate disables the menus of gates.
    `folder` holds the records, for example of your own sweep.
    `beside` is a second gate, such as "exp(alpha=2)", under which the same run is drawn too.
    Without widgets, as in a saved notebook, the explorer is the picture of its run.
    """

    def __init__(self, folder: str | Path = RECORDS, beside: str = NO_GATE, **settings: Any):
        # A slider passes many problems that are not on file; a picture needs no last digits.
        warnings.filterwarnings("ignore", category=NotOnFileWarning)
        exists = Path(folder).is_dir()
        validate("folder", str(folder), exists, f"an existing folder, not {Path(folder).resolve()}")
        has_records = any(Path(folder).glob("*.jsonl"))
        validate("folder", str(folder), has_records, "a folder with records, files named *.jsonl")
        if beside != NO_GATE:
            beside = str(lookup("beside", GATES, beside))
        start = RunSpec(**settings)
        self.runs = RunLibrary(folder)
        self.thread: threading.Thread | None = None
        self._todo = []  # what the thread trains
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self._message = ""
        self.menus = Menus(start, beside, self.runs, self._changed)
        self._compose()
        self.show()

    def _compose(self):
        """Create the other widgets and lay them out."""
        tooltip = "train the run that the controls name"
        self.train = widgets.Button(description="Train", button_style="primary", tooltip=tooltip)
        self.train.on_click(lambda _: self.train_now())
        self.cancel = widgets.Button(description="Cancel", disabled=True)
        self.cancel.on_click(lambda _: self._stop.set())
        self.progress = widgets.IntProgress(layout=widgets.Layout(width="160px"))
        self.status = widgets.HTML()
        self.picture = widgets.Image(format="png", width="100%")
        self.scatter = Scatter(self._open, self._changed)
        titles = ("this run", "all runs against k")
        self.tabs = widgets.Tab([self.picture, self.scatter.box], titles=titles)
        self.tabs.observe(lambda _: self._changed(), "selected_index")
        line = widgets.HBox([self.train, self.cancel, self.progress, self.status])
        self.box = widgets.VBox([self.menus.box, line, self.tabs])

    @property
    def spec(self) -> RunSpec:
        """The run that the controls name; a ValueError if it is not allowed."""
        return self.menus.spec

    @property
    def shown(self) -> list[RunSpec]:
        """The run that the controls name and, if `beside` is a gate, the same run under it."""
        return self.menus.shown

    def select(self, spec: RunSpec) -> None:
        """Set all controls to a run and show it."""
        self.menus.select(spec)
        self.show()

    @property
    def training(self) -> bool:
        """True while a run is being trained."""
        return self.thread is not None and self.thread.is_alive()

    def _changed(self):
        if not self.training:
            self._message = ""
        self.show()

    def _open(self, spec):
        self.select(spec)
        self.tabs.selected_index = 0

    def show(self) -> None:
        """Draw what the controls name, and say where it comes from."""
        with self._lock:
            try:
                specs = self.shown
                reference_solution(specs[0].problem)
            except (ValueError, RuntimeError) as error:  # not allowed, or without a solution
                self.train.disabled = True
                self.status.value = f"<b>{html.escape(str(error))}</b>"
                return
            if self.tabs.selected_index == 1:
                self._draw_scatter(specs)
            else:
                found = [self.runs.find(spec) for spec in specs]
                runs = [run for run in found if run is not None]
                self.picture.value = plot_portrait(runs, specs[0])._repr_png_()
            self.train.disabled = self.training or all(map(self.runs.has_parameters, specs))
            self.cancel.disabled = not self.training
            self.progress.layout.display = "flex" if self.training else "none"
            self.status.value = self._status(specs)

    def _draw_scatter(self, specs):
        """All runs of the setting: the chosen models and gates first, as many as have a style."""
        models = distinct([specs[0].model, *MODELS])[: len(SPARE_MODELS)]
        chosen_gates = [spec.gate for spec in specs]
        gates = distinct([*chosen_gates, *GATES])[: len(SPARE_GATES)]
        table = self.runs.similar(specs[0], models, gates)
        self.scatter.draw(table, specs)

    def _status(self, specs):
        lines = [html.escape(self._message)] if self._message else []
        for spec in specs:
            in_training = self.training and spec in self._todo
            text = "Being trained." if in_training else self.runs.describe(spec)
            if len(specs) > 1:
                text = f"{html.escape(spec.gate)}: {text}"
            lines.append(text)
        return "<br>".join(lines)

    def train_now(self) -> None:
        """Train the runs shown that are not available, in a thread; one training at a time."""
        todo = [spec for spec in self.shown if not self.runs.has_parameters(spec)]
        if not todo or self.training:
            return
        self._todo = todo
        self._stop.clear()
        self.progress.value = 0
        self.progress.max = sum(spec.steps for spec in todo)
        names = [f"{run_label(spec)}, k = {spec.k:g}, seed {spec.seed}" for spec in todo]
        self._message = f"Training {' and '.join(names)}."
        context = contextvars.copy_context()  # Jupyter finds the cell of an output by its context
        work = (self._work, todo, f"Finished: {' and '.join(names)}.")
        self.thread = threading.Thread(target=context.run, args=work, daemon=True)
        self.thread.start()
        self.show()

    def _work(self, todo, message):
        """Train in the thread; `message` is shown at the end if all goes well."""
        try:
            for spec in todo:
                (self.runs.live[spec],) = train_batch([spec], advance=self._advance)
        except CancelledError:
            message = "Cancelled."
        except Exception as error:  # nobody above a thread would report it
            message = f"Training failed: {type(error).__name__}: {error}"
        with self._lock:
            self.thread = None
            self._message = message
        self.show()

    def _advance(self, updates):
        if self._stop.is_set():
            raise CancelledError
        self.progress.value += updates

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """The picture and the metrics of the run, and the widgets if a reader can use them."""
        try:
            text = self._description()
        except ValueError as error:  # these settings are not allowed
            text = str(error)
        image = base64.b64encode(self.picture.value).decode()
        bundle = {"text/plain": text, "image/png": image}
        if HEADLESS not in os.environ:
            bundle[VIEW] = self.box._repr_mimebundle_()[VIEW]
        return bundle

    def _description(self):
        text = self.runs.describe(self.spec)
        run = self.runs.find(self.spec)
        if run is not None:
            text += "\n" + pd.Series(run.metrics).astype(float).round(4).to_string()
        return text
