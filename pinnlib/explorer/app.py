"""Explorer: a run chosen with sliders and menus, shown from its record or trained on request."""

import base64
import contextlib
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

from pinnlib.ansatz import FORMS
from pinnlib.explorer.portrait import plot_portrait, run_label
from pinnlib.explorer.runs import RunLibrary
from pinnlib.explorer.scatter import Scatter
from pinnlib.gates import GATES
from pinnlib.losses import LOSSES
from pinnlib.models import MODELS
from pinnlib.optimisers import SCHEDULES
from pinnlib.paths import RECORDS
from pinnlib.reference import NotOnFileWarning, reference_solution
from pinnlib.registry import is_number, lookup, real_fields, validate
from pinnlib.spec import PRECISIONS, START, RunSpec
from pinnlib.style.figures import SPARE_GATES, SPARE_MODELS
from pinnlib.systems import SYSTEMS
from pinnlib.training import HEADLESS, train_batch

STIFFNESSES = {"spring_pendulum": [float(k) for k in range(5, 155, 5)]}  # by system
FEW_STIFFNESSES = [1.0, 2.0, 4.0, 8.0]  # of a system without runs on record
USUAL = {  # setting → what its control offers; these controls are always in sight
    "model": MODELS,
    "k": (),  # see STIFFNESSES
    "lambda_ic": (0.0, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0),
    "loss": LOSSES,
    "seed": range(20),
}
MORE = {  # the same for the controls under "More settings"
    "system": SYSTEMS,
    "form": FORMS,
    "lr": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
    "schedule": SCHEDULES,
    "lbfgs": (0, 200, 1000),
    "precision": PRECISIONS,
}
OFFERS = USUAL | MORE
SLIDERS = ("k", "lambda_ic", "seed")
RECORDED = ("loss", *MORE)  # these controls also offer what is on record
WITHIN = {"k": ("system",), "loss": ("system",), "lr": ("optimiser",)}  # on record with the same
FACTORS = (0.1, 0.25, 0.5, 1, 2, 4, 10)  # a gate's slider offers these multiples of the default
SYMBOLS = {"alpha": "α", "lambda_ic": "λ_IC", "lr": "learning rate", "lbfgs": "L-BFGS"}
NO_GATE = "nothing"
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
        self._opened: list[RunSpec] = []  # the controls offer their settings too
        self._initial_state: dict[str, tuple] = {}  # of the chosen system
        self.controls = {name: _control(name) for name in OFFERS}
        second_gates = _distinct([NO_GATE, *GATES, beside])
        self.controls["beside"] = widgets.Dropdown(options=second_gates, value=beside)
        self.controls["gate"] = widgets.Dropdown(options=list(GATES))
        self._followers = {
            "gate": lambda name: self._offer_numbers(GATES[name]()),
            "system": self._follow_system,
            "form": self._follow_form,
            "lbfgs": self._follow_lbfgs,
            "precision": self._follow_precision,
        }
        self.numbers = {}  # the fields of the chosen gate
        self._compose()
        self._offer_numbers(GATES[RunSpec.gate]())
        self.select(self.start)
        if not all(getattr(self.start, name) == getattr(RunSpec, name) for name in MORE):
            self.more.selected_index = 0

    def _compose(self):
        """Create the other widgets, connect all of them and lay them out."""
        for name, control in self.controls.items():
            self._connect(control, name)
        more = [self.controls[name] for name in MORE]
        for control in more:
            control.style = {"description_width": "90px"}
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
        grid = widgets.GridBox(more, layout=widgets.Layout(grid_template_columns=columns))
        self.more = widgets.Accordion([grid], titles=["More settings"])
        line = widgets.HBox([self.train, self.cancel, self.progress, self.status])
        self.box = widgets.VBox([self.panel, self.more, line, self.tabs])

    def _connect(self, control, name):
        control.description = SYMBOLS.get(name, name)
        control.layout = widgets.Layout(width="280px")
        control.observe(lambda change: self._changed(change, name), "value")

    @property
    def spec(self) -> RunSpec:
        """The run that the controls name; a ValueError if it is not allowed."""
        numbers = {name: slider.value for name, slider in self.numbers.items()}
        gate = dataclasses.replace(self._gate, **numbers)
        settings = {name: self.controls[name].value for name in OFFERS}
        settings |= self._initial_state
        return dataclasses.replace(self.start, gate=str(gate), **settings)

    @property
    def shown(self) -> list[RunSpec]:
        """The run that the controls name and, if `beside` is a gate, the same run under it."""
        specs = [self.spec]
        beside = self.controls["beside"].value
        if beside != NO_GATE:
            specs.append(dataclasses.replace(specs[0], gate=beside))
        return _distinct(specs)  # one if it has the same gate, or none

    @property
    def training(self) -> bool:
        """True while a run is being trained."""
        return self.thread is not None and self.thread.is_alive()

    def select(self, spec: RunSpec) -> None:
        """Set all controls to a run and show it."""
        validate("spec", spec, isinstance(spec, RunSpec), "a RunSpec")
        self.start = spec
        self._opened.append(spec)
        self._initial_state = spec.select(*START)
        with self._setting_controls():
            for name in ("system", *OFFERS):  # what others offer depends on the system
                self._fill(name, getattr(spec, name))
            if spec.form == "gated":
                self.controls["gate"].value = spec.gate_object.name
                self._offer_numbers(spec.gate_object)
            self._follow_form(spec.form)
        self.show()

    @contextlib.contextmanager
    def _setting_controls(self):
        """While the program sets the controls, their changes have no consequences."""
        self._updating = True
        try:
            yield
        finally:
            self._updating = False

    def _fill(self, name, value):
        """Offer the values of a setting, and choose one, or its default if it is not offered."""
        offers = self._offers(name)
        control = self.controls[name]
        control.options = _choices(offers)
        preferred = (value, getattr(RunSpec, name), offers[0])
        control.value = next(choice for choice in preferred if choice in offers)

    def _offers(self, name):
        """The usual values of a setting, those on record and those of the runs opened here."""
        system = lookup("system", SYSTEMS, self.controls["system"].value)
        chosen = {"system": str(system), "optimiser": self.start.optimiser}
        same = {other: chosen[other] for other in WITHIN.get(name, ())}
        recorded = self.runs.values(name, **same)
        values = list(OFFERS[name])
        if name == "k":
            values = STIFFNESSES.get(system.name) or recorded or FEW_STIFFNESSES
        elif name in RECORDED:
            values += recorded
        opened = [spec for spec in self._opened if spec.select(*same) == same]
        values = _distinct([*values, *(getattr(spec, name) for spec in opened)])
        if name == "loss":
            values = [loss for loss in values if _suits(loss, system)]
        return values

    def _follow_system(self, system):
        """Take the usual start of a system, or the one with which it was opened here."""
        self._initial_state = dict.fromkeys(START, ())
        for spec in self._opened:
            if spec.system == system:
                self._initial_state = spec.select(*START)
        for name in WITHIN:
            self._fill(name, self.controls[name].value)

    def _follow_form(self, form):
        for control in (self.controls["gate"], self.controls["beside"], *self.numbers.values()):
            control.disabled = form != "gated"

    def _follow_lbfgs(self, iterations):
        if iterations:
            self.controls["precision"].value = "float64"

    def _follow_precision(self, precision):
        if precision != "float64":
            self.controls["lbfgs"].value = 0

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
        in_sight = [self.controls[name] for name in (*USUAL, "beside", "gate")]
        self.panel.children = (*in_sight, *self.numbers.values())

    def _changed(self, change, name=""):
        if self._updating:
            return
        if not self.training:
            self._message = ""
        if name in self._followers:
            with self._setting_controls():
                self._followers[name](change["new"])
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
        models = _distinct([specs[0].model, *MODELS])[: len(SPARE_MODELS)]
        chosen_gates = [spec.gate for spec in specs]
        gates = _distinct([*chosen_gates, *GATES])[: len(SPARE_GATES)]
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


def _control(name):
    """The control of a setting, to be filled by `_fill`."""
    if name in SLIDERS:
        return _slider([0])
    return widgets.Dropdown(options=list(OFFERS[name]))


def _slider(values):
    return widgets.SelectionSlider(options=_choices(values), continuous_update=False)


def _choices(values):
    """(label, value) of each option: numbers sorted, text in its order."""
    if all(is_number(value) for value in values):
        return [(f"{value:g}", value) for value in sorted(set(values))]
    return [(value, value) for value in values]


def _suits(loss, system):
    """False for a loss with weights of other components."""
    try:
        lookup("loss", LOSSES, loss).validate_components(system.components)
    except ValueError:
        return False
    return True


def _distinct(values):
    """The values in their order, each once."""
    return list(dict.fromkeys(values))
