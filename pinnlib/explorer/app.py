"""A run behind sliders and menus: seen at once where it is on record, trained on the spot where it is not."""

import base64
import contextvars
import dataclasses
import html
import os
import threading
from pathlib import Path

import ipywidgets as widgets
import pandas as pd

from pinnlib.explorer.portrait import label, portrait
from pinnlib.explorer.runs import RunLibrary
from pinnlib.explorer.scatter import Scatter
from pinnlib.gates import GATES
from pinnlib.losses import LOSSES
from pinnlib.models import MODELS
from pinnlib.paths import RECORDS
from pinnlib.progress import HEADLESS
from pinnlib.registry import is_number, lookup, real_fields, validate
from pinnlib.spec import RunSpec
from pinnlib.style.figures import SPARE_GATES, SPARE_MODELS
from pinnlib.training import train_batch

SETTINGS = (
    "model",
    "k",
    "lambda_ic",
    "loss",
    "seed",
)  # fields of a RunSpec with a control of their own, besides the gate
STIFFNESSES = tuple(float(k) for k in range(5, 155, 5))
PENALTIES = (0.0, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0)
FACTORS = (
    0.1,
    0.25,
    0.5,
    1,
    2,
    4,
    10,
)  # a gate's numbers are offered at these multiples of their defaults
NAMES = {"alpha": "α", "lambda_ic": "λ_IC"}
ALONE = "nothing"
VIEW = "application/vnd.jupyter.widget-view+json"


class Cancelled(Exception):
    """Cancel was pressed."""


class Explorer:
    """Controls, the portrait of the run they name, and all runs of its setting against k.

    `settings` are those of a RunSpec: the controls start there, and what has no control (steps, system, …) stays there.
    `folder`: the journal whose runs are shown, such as that of a sweep of your own. `beside`: a gate, such as "exp(alpha=2)", under which the same run is drawn too.
    In a live notebook it can be played with; where there are no widgets it is the picture of its run.
    """

    def __init__(self, folder=RECORDS, beside=ALONE, **settings):
        validate(
            "folder",
            str(folder),
            any(Path(folder).glob("*.jsonl")),
            "a folder with records of runs",
        )
        beside = beside if beside == ALONE else str(lookup("beside", GATES, beside))
        self.start, self.runs, self.thread, self._todo = (
            RunSpec(**settings),
            RunLibrary(folder),
            None,
            [],
        )
        self._stop, self._lock, self._said, self._quiet = (
            threading.Event(),
            threading.RLock(),
            "",
            False,
        )
        self.controls = {
            "model": widgets.Dropdown(options=[*MODELS]),
            "k": widgets.SelectionSlider(options=_choices(STIFFNESSES), continuous_update=False),
            "lambda_ic": widgets.SelectionSlider(
                options=_choices(PENALTIES), continuous_update=False
            ),
            "loss": widgets.Dropdown(options=[*LOSSES]),
            "seed": widgets.SelectionSlider(options=_choices(range(20)), continuous_update=False),
            "beside": widgets.Dropdown(
                options=[*dict.fromkeys([ALONE, *GATES, beside])], value=beside
            ),
            "gate": widgets.Dropdown(
                options=[*GATES]
            ),  # the last: its sliders come and go after it
        }
        self.numbers = {}  # the chosen gate's own fields → their sliders
        self.picture, self.status = widgets.Image(format="png", width="100%"), widgets.HTML()
        self.train = widgets.Button(
            description="Train",
            button_style="primary",
            tooltip="train the run that the controls name",
        )
        self.cancel = widgets.Button(description="Cancel", disabled=True)
        self.progress = widgets.IntProgress(
            max=self.start.steps, layout=widgets.Layout(width="160px")
        )
        self.scatter = Scatter(self._open, self._changed)
        self._compose()
        self.select(self.start)

    def _compose(self):
        """Lay the widgets out and wire them."""
        for name, control in self.controls.items():
            control.description, control.layout = (
                NAMES.get(name, name),
                widgets.Layout(width="280px"),
            )
            control.observe(self._changed, "value")
        self.train.on_click(lambda _: self.train_now())
        self.cancel.on_click(lambda _: self._stop.set())
        self.panel = widgets.GridBox(
            layout=widgets.Layout(grid_template_columns="repeat(auto-fill, 285px)")
        )
        self.tabs = widgets.Tab(
            [self.picture, self.scatter.box], titles=("this run", "all runs against k")
        )
        self.tabs.observe(self._changed, "selected_index")
        self.box = widgets.VBox(
            [
                self.panel,
                widgets.HBox([self.train, self.cancel, self.progress, self.status]),
                self.tabs,
            ]
        )

    @property
    def spec(self):
        """The run that the controls name; a ValueError if there can be no such run."""
        gate = dataclasses.replace(
            self._gate, **{name: slider.value for name, slider in self.numbers.items()}
        )
        return dataclasses.replace(
            self.start, gate=str(gate), **{name: self.controls[name].value for name in SETTINGS}
        )

    @property
    def training(self):
        """True while a run is being trained."""
        return self.thread is not None and self.thread.is_alive()

    def select(self, spec):
        """Set all controls to a run and show it."""
        validate("spec", spec, isinstance(spec, RunSpec), "a RunSpec")
        self._quiet, self.start = True, spec
        for name in SETTINGS:
            control, value = self.controls[name], getattr(spec, name)
            if isinstance(control, widgets.SelectionSlider):
                control.options = _choices([x for _, x in control.options], value)
            elif value not in control.options:
                control.options = (*control.options, value)
            control.value = value
        self.controls["gate"].value = spec.gate_object.name
        self._offer(spec.gate_object)
        self._quiet = False
        self.show()

    def _offer(self, gate):
        """Sliders for the numbers of a gate, none if it has none."""
        self._gate, self.numbers = gate, {}
        for field in (field for field in real_fields(gate) if is_number(field.default)):
            value, usual = (
                getattr(gate, field.name),
                [float(f"{(field.default or 1) * factor:.6g}") for factor in FACTORS],
            )
            slider = widgets.SelectionSlider(
                options=_choices((field.default, *usual), value),
                value=value,
                continuous_update=False,
            )
            slider.description, slider.layout = (
                NAMES.get(field.name, field.name),
                self.controls["gate"].layout,
            )
            slider.observe(self._changed, "value")
            self.numbers[field.name] = slider
        self.panel.children = (*self.controls.values(), *self.numbers.values())

    def _changed(self, change):
        if not self._quiet:
            self._said = self._said if self.training else ""
            if change["owner"] is self.controls["gate"]:
                self._offer(GATES[change["new"]]())
            self.show()

    @property
    def shown(self):
        """The run that the controls name and, if asked for, the same under another gate."""
        spec, beside = self.spec, self.controls["beside"].value
        return (
            [spec]
            if beside == ALONE
            else [*dict.fromkeys([spec, dataclasses.replace(spec, gate=beside)])]
        )

    def show(self):
        """Draw what the controls name, and say where it comes from."""
        with self._lock:
            try:
                specs = self.shown
            except (
                ValueError
            ) as error:  # what the controls name is refused: say so, as the library does
                self.train.disabled, self.status.value = True, f"<b>{html.escape(str(error))}</b>"
                return
            if self.tabs.selected_index == 1:
                models, gates = (
                    [*dict.fromkeys(names)]
                    for names in ((specs[0].model, *MODELS), (*(s.gate for s in specs), *GATES))
                )
                self.scatter.draw(
                    self.runs.like(
                        specs[0], models[: len(SPARE_MODELS)], gates[: len(SPARE_GATES)]
                    ),
                    [s.key for s in specs],
                )
            else:
                runs = [run for run in map(self.runs.find, specs) if run is not None]
                self.picture.value = portrait(runs, specs[0])._repr_png_()
            self.train.disabled, self.cancel.disabled = (
                self.training or all(map(self.runs.whole, specs)),
                not self.training,
            )
            self.progress.layout.display = "flex" if self.training else "none"
            told = [
                "Being trained." if self.training and s in self._todo else self.runs.told(s)
                for s in specs
            ]
            told = (
                [f"{html.escape(s.gate)}: {line}" for s, line in zip(specs, told)]
                if len(specs) > 1
                else told
            )
            self.status.value = "<br>".join([html.escape(self._said)] * bool(self._said) + told)

    def train_now(self):
        """Train what is shown and not there yet, in a thread of its own; one training at a time."""
        todo = [spec for spec in self.shown if not self.runs.whole(spec)]
        if todo and not self.training:
            self._todo = todo
            self._stop.clear()
            self.progress.value, self.progress.max = 0, sum(spec.steps for spec in todo)
            self._said = (
                "Training "
                + " and ".join(f"{label(spec)}, k = {spec.k:g}, seed {spec.seed}" for spec in todo)
                + "."
            )
            self.thread = threading.Thread(
                target=contextvars.copy_context().run, args=(self._work, todo), daemon=True
            )
            self.thread.start()
            self.show()

    def _work(self, todo):
        try:
            for spec in todo:
                (self.runs.live[spec],) = train_batch([spec], advance=self._advance)
            said = self._said.replace("Training", "Finished:")
        except Cancelled:
            said = "Cancelled."
        except (
            Exception
        ) as error:  # a thread has nobody above it: the person at the controls is told
            said = f"Training failed: {type(error).__name__}: {error}"
        with self._lock:
            self.thread, self._said = None, said
        self.show()

    def _advance(self, updates):
        if self._stop.is_set():
            raise Cancelled
        self.progress.value += updates

    def _open(self, spec):
        self.select(spec)
        self.tabs.selected_index = 0

    def _repr_mimebundle_(self, **_):
        run = self.runs.find(self.spec)
        numbers = (
            "" if run is None else "\n" + pd.Series(run.metrics).astype(float).round(4).to_string()
        )
        still = {
            "text/plain": self.runs.told(self.spec) + numbers,
            "image/png": base64.b64encode(self.picture.value).decode(),
        }
        return (
            still if HEADLESS in os.environ else still | {VIEW: self.box._repr_mimebundle_()[VIEW]}
        )


def _choices(usual, *more):
    return [(f"{x:g}", x) for x in sorted({*usual, *more})]
