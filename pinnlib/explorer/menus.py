"""The settings of the explorer and their menus: what each offers, and how they depend on others."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets as widgets

from pinnlib.ansatz import FORMS
from pinnlib.explorer.runs import RunLibrary
from pinnlib.gates import GATES
from pinnlib.losses import LOSSES
from pinnlib.models import MODELS
from pinnlib.optimisers import SCHEDULES
from pinnlib.registry import is_number, lookup, real_fields, validate
from pinnlib.spec import PRECISIONS, START, RunSpec
from pinnlib.systems import SYSTEMS

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
COLUMNS = "repeat(auto-fill, 285px)"


class Menus:
    """The widget `box`: menus and sliders that name a run.

    They start at `start`; settings without a control keep its value. `on_change` is called after
    the user has changed a setting.
    """

    def __init__(self, spec: RunSpec, beside: str, runs: RunLibrary, on_change: Callable):
        self.initial_spec = spec
        self.runs = runs
        self.on_change = on_change
        self._updating = False  # True while the program, not the user, sets the controls
        self._opened: list[RunSpec] = []  # the controls offer their settings too
        self._initial_state: dict[str, Any] = {}  # of the chosen system
        self.controls = {name: _control(name) for name in OFFERS}
        second_gates = distinct([NO_GATE, *GATES, beside])
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
        for name, control in self.controls.items():
            self._connect(control, name)
        more = [self.controls[name] for name in MORE]
        for control in more:
            control.style = {"description_width": "90px"}
        self.panel = widgets.GridBox(layout=widgets.Layout(grid_template_columns=COLUMNS))
        grid = widgets.GridBox(more, layout=widgets.Layout(grid_template_columns=COLUMNS))
        self.more = widgets.Accordion([grid], titles=["More settings"])
        self.box = widgets.VBox([self.panel, self.more])
        self._offer_numbers(GATES[RunSpec.gate]())
        self.select(spec)
        if not all(getattr(spec, name) == getattr(RunSpec, name) for name in MORE):
            self.more.selected_index = 0

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
        return dataclasses.replace(self.initial_spec, gate=str(gate), **settings)

    @property
    def shown(self) -> list[RunSpec]:
        """The run that the controls name and, if `beside` is a gate, the same run under it."""
        specs = [self.spec]
        beside = self.controls["beside"].value
        if beside != NO_GATE:
            specs.append(dataclasses.replace(specs[0], gate=beside))
        return distinct(specs)  # one if it has the same gate, or none

    def select(self, spec: RunSpec) -> None:
        """Set all controls to a run; `on_change` is not called."""
        validate("spec", spec, isinstance(spec, RunSpec), "a RunSpec")
        self.initial_spec = spec
        self._opened.append(spec)
        self._initial_state = spec.select(*START)
        with self._setting_controls():
            for name in ("system", *OFFERS):  # what others offer depends on the system
                self._fill(name, getattr(spec, name))
            if spec.form == "gated":
                self.controls["gate"].value = spec.gate_object.name
                self._offer_numbers(spec.gate_object)
            self._follow_form(spec.form)

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
        chosen = {"system": str(system), "optimiser": self.initial_spec.optimiser}
        same = {other: chosen[other] for other in WITHIN.get(name, ())}
        recorded = self.runs.values(name, **same)
        values = list(OFFERS[name])
        if name == "k":
            values = STIFFNESSES.get(system.name) or recorded or FEW_STIFFNESSES
        elif name in RECORDED:
            values += recorded
        opened = [spec for spec in self._opened if spec.select(*same) == same]
        values = distinct([*values, *(getattr(spec, name) for spec in opened)])
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

    def _changed(self, change, name):
        if self._updating:
            return
        if name in self._followers:
            with self._setting_controls():
                self._followers[name](change["new"])
        self.on_change()


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


def distinct(values: Iterable[Any]) -> list[Any]:
    """The values in their order, each once."""
    return list(dict.fromkeys(values))
