"""Explorer: a run chosen with sliders and menus, shown from its record or trained on request."""

import base64
import contextvars
import dataclasses
import html
import os
import threading
import warnings
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from pinnlib.explorer.portrait import plot_portrait, run_label
from pinnlib.explorer.runs import RunLibrary
from pinnlib.explorer.scatter import Scatter
from pinnlib.gates import GATES
from pinnlib.losses import LOSSES
from pinnlib.models import MODELS
from pinnlib.paths import RECORDS
from pinnlib.reference import NotOnFileWarning
from pinnlib.registry import is_number, lookup, real_fields, validate
from pinnlib.spec import RunSpec
from pinnlib.style.figures import SPARE_GATES, SPARE_MODELS
from pinnlib.training import HEADLESS, train_batch

SETTINGS = ("model", "k", "lambda_ic", "loss", "seed")  # have a control each, besides the gate
STIFFNESSES = [float(k) for k in range(5, 155, 5)]
PENALTIES = [0.0, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0]
FACTORS = (0.1, 0.25, 0.5, 1, 2, 4, 10)  # a gate's slider offers these multiples of the default
SYMBOLS = {"alpha": "α", "lambda_ic": "λ_IC"}
NO_GATE = "nothing"
VIEW = "application/vnd.jupyter.widget-view+json"


class Explorer:
    """Controls, the portrait of the run that they name, and all runs of its setting against k.

    `settings` are those of a RunSpec: the controls start there, and settings without a control
    (steps, system, …) keep their value. `folder` holds the records, for example of your own sweep.
    `beside` is a second gate, such as "exp(alpha=2)", under which the same run is drawn too.
    Without widgets, as in a saved notebook, the explorer is the picture of its run.
    """

    def __init__(self, folder: str | Path = RECORDS, beside: str = NO_GATE, **settings: Any):
        # A slider passes many problems that are not on file; a picture needs no last digits.
        warnings.filterwarnings("ignore", category=NotOnFileWarning)
        has_records = any(Path(folder).glob("*.jsonl"))
        validate("folder", str(folder), has_records, "a folder with records of runs")
        if beside != NO_GATE:
            beside = str(lookup("beside", GATES, beside))
        self.start = RunSpec(**settings)
        self.runs = RunLibrary(folder)
        self.thread: threading.Thread | None = None
        self._todo = []  # what the thread trains
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self._message = ""
        self._updating = False  # True while the program, not the user, sets the controls
        second_gates = _distinct([NO_GATE, *GATES, beside])
        self.controls = {
            "model": widgets.Dropdown(options=list(MODELS)),
            "k": _slider(STIFFNESSES),
            "lambda_ic": _slider(PENALTIES),
            "loss": widgets.Dropdown(options=list(LOSSES)),
            "seed": _slider(range(20)),
            "beside": widgets.Dropdown(options=second_gates, value=beside),
            "gate": widgets.Dropdown(options=list(GATES)),  # last: its own sliders follow it
        }
        self.numbers = {}  # the fields of the chosen gate
        self._compose()
        self.select(self.start)

    def _compose(self):
        """Create the other widgets, connect all of them and lay them out."""
        for name, control in self.controls.items():
            self._connect(control, name)
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
        self.tabs.observe(self._changed, "selected_index")
        columns = "repeat(auto-fill, 285px)"
        self.panel = widgets.GridBox(layout=widgets.Layout(grid_template_columns=columns))
        line = widgets.HBox([self.train, self.cancel, self.progress, self.status])
        self.box = widgets.VBox([self.panel, line, self.tabs])

    def _connect(self, control, name):
        control.description = SYMBOLS.get(name, name)
        control.layout = widgets.Layout(width="280px")
        control.observe(self._changed, "value")

    @property
    def spec(self) -> RunSpec:
        """The run that the controls name; a ValueError if it is not allowed."""
        numbers = {name: slider.value for name, slider in self.numbers.items()}
        gate = dataclasses.replace(self._gate, **numbers)
        settings = {name: self.controls[name].value for name in SETTINGS}
        return dataclasses.replace(self.start, gate=str(gate), **settings)

    @property
    def shown(self) -> list[RunSpec]:
        """The run that the controls name and, if `beside` is a gate, the same run under it."""
        specs = [self.spec]
        beside = self.controls["beside"].value
        if beside not in (NO_GATE, specs[0].gate):
            specs.append(dataclasses.replace(specs[0], gate=beside))
        return specs

    @property
    def training(self) -> bool:
        """True while a run is being trained."""
        return self.thread is not None and self.thread.is_alive()

    def select(self, spec: RunSpec) -> None:
        """Set all controls to a run and show it."""
        validate("spec", spec, isinstance(spec, RunSpec), "a RunSpec")
        self._updating = True
        self.start = spec
        for name in SETTINGS:
            control, value = self.controls[name], getattr(spec, name)
            if isinstance(control, widgets.SelectionSlider):
                control.options = _choices([choice for _, choice in control.options] + [value])
            elif value not in control.options:
                control.options = (*control.options, value)
            control.value = value
        self.controls["gate"].value = spec.gate_object.name
        self._offer_numbers(spec.gate_object)
        self._updating = False
        self.show()

    def _offer_numbers(self, gate):
        """Replace the sliders of the last gate by one for each number of this gate."""
        self._gate = gate
        self.numbers = {}
        for field in real_fields(gate):
            if not is_number(field.default):
                continue
            value = getattr(gate, field.name)
            multiples = [float(f"{(field.default or 1) * factor:.6g}") for factor in FACTORS]
            slider = _slider([field.default, *multiples, value])
            slider.value = value
            self._connect(slider, field.name)
            self.numbers[field.name] = slider
        self.panel.children = (*self.controls.values(), *self.numbers.values())

    def _changed(self, change):
        if self._updating:
            return
        if not self.training:
            self._message = ""
        if change["owner"] is self.controls["gate"]:
            self._offer_numbers(GATES[change["new"]]())
        self.show()

    def _open(self, spec):
        self.select(spec)
        self.tabs.selected_index = 0

    def show(self) -> None:
        """Draw what the controls name, and say where it comes from."""
        with self._lock:
            try:
                specs = self.shown
            except ValueError as error:  # these settings are not allowed
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
        models = _distinct([specs[0].model, *MODELS])[: len(SPARE_MODELS)]
        chosen_gates = [spec.gate for spec in specs]
        gates = _distinct([*chosen_gates, *GATES])[: len(SPARE_GATES)]
        table = self.runs.similar(specs[0], models, gates)
        self.scatter.draw(table, [spec.key for spec in specs])

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
        text = self.runs.describe(self.spec)
        run = self.runs.find(self.spec)
        if run is not None:
            text += "\n" + pd.Series(run.metrics).astype(float).round(4).to_string()
        image = base64.b64encode(self.picture.value).decode()
        bundle = {"text/plain": text, "image/png": image}
        if HEADLESS not in os.environ:
            bundle[VIEW] = self.box._repr_mimebundle_()[VIEW]
        return bundle


def _slider(values):
    return widgets.SelectionSlider(options=_choices(values), continuous_update=False)


def _choices(values):
    """(label, value) of each option of a slider."""
    return [(f"{value:g}", value) for value in sorted(set(values))]


def _distinct(names):
    """The names in their order, each once."""
    return list(dict.fromkeys(names))
