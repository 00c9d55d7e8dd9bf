"""The explorer without a browser: runs on record and new ones, menus, training, portraits."""

import dataclasses
import time
import warnings

import numpy as np
import pytest
import torch

from pinnlib import GATES, MODELS, SYSTEMS, AdaptiveFourier, Gate, Jet, RunSpec, System, train
from pinnlib.ansatz import FORMS
from pinnlib.explorer.app import VIEW, Explorer
from pinnlib.explorer.portrait import Picture, plot_portrait, plot_untrained
from pinnlib.reference import NotOnFileWarning, reference_solution
from pinnlib.report import identities
from pinnlib.runs.record import record_of
from pinnlib.runs.store import Store
from pinnlib.training import HEADLESS

TINY = {"steps": 20, "points": 50}
LEAST = {"steps": 2, "points": 20}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Records of small runs: both gates at two k, and a network without stored parameters."""
    folder = tmp_path_factory.mktemp("records")
    specs = [RunSpec(gate=gate, k=k, **TINY) for gate in ("exp", "linear") for k in (20, 60)]
    specs.append(RunSpec(model="baseline", **TINY))
    with Store(folder).writing() as writer:
        writer.append([record_of(result, {}) for result in train(specs)])
    return folder


@pytest.fixture(scope="module")
def varied_folder(tmp_path_factory):
    """Records of runs with settings that are not usual."""
    folder = tmp_path_factory.mktemp("varied")
    changes = [
        {},
        {"loss": "weighted(weights=(1.0, 0.1))"},
        {"lr": 0.002},
        {"form": "soft"},
        {"form": "soft", "k": 60},
        {"optimiser": "sgd", "lr": 1e-6},
        {"system": "quartic", "k": 3},
        {"system": "quartic", "k": 6, "seed": 1},
    ]
    specs = [RunSpec(**LEAST, **change) for change in changes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotOnFileWarning)
        results = train(specs)
    with Store(folder).writing() as writer:
        writer.append([record_of(result, {}) for result in results])
    return folder


@pytest.fixture
def varied_view(varied_folder, blank_portraits):
    return Explorer(varied_folder, **LEAST)


@pytest.fixture
def blank_portraits(monkeypatch):
    """For tests of other things than portraits: most of the time goes into drawing them."""
    monkeypatch.setattr("pinnlib.explorer.app.plot_portrait", lambda *_: Picture(figsize=(1, 1)))


@pytest.fixture
def view(folder, blank_portraits):
    return Explorer(folder, **TINY)


@pytest.fixture(scope="module")
def run():
    (result,) = train(RunSpec(**TINY))
    return result


def finish(view):
    """Wait for the training to end."""
    thread = view.thread
    if thread is not None:
        thread.join(60)
    assert not view.training


def test_a_slider_warns_of_no_reference_that_is_not_on_file(folder):
    reference_solution.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        view = Explorer(folder, k=25, **TINY)
        reference = view.spec.reference
    assert not reference.on_file
    assert NotOnFileWarning not in [warning.category for warning in caught]


def test_a_recorded_run_is_shown_at_once(folder):
    view = Explorer(folder, **TINY)
    record = Store(folder).load()[view.spec.key]
    assert view.spec == RunSpec(**TINY)
    assert "On record" in view.status.value
    assert f"{record['metrics']['rel_l2_u']:.4f}" in view.status.value
    assert view.train.disabled
    assert view.cancel.disabled
    assert view.picture.value == plot_portrait(view.runs.find(view.spec))._repr_png_()


def test_the_picture_follows_the_controls_and_the_training(folder):
    view = Explorer(folder, **TINY)
    recorded = view.picture.value
    view.menus.controls["seed"].value = 3
    untrained = view.picture.value
    assert untrained != recorded
    view.train.click()
    finish(view)
    assert view.picture.value != untrained


SETTINGS = {
    "model": "fixed",
    "gate": "linear",
    "k": 60.0,
    "lambda_ic": 0.0,
    "loss": "mse",
    "seed": 3,
    "form": "soft",
    "lr": 0.01,
    "schedule": "cosine",
    "precision": "float64",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_control_changes_its_setting_only(view, name):
    view.menus.controls[name].value = SETTINGS[name]
    assert view.spec == RunSpec(**TINY, **{name: SETTINGS[name]})


def offers(view, name):
    return [value for _, value in view.menus.controls[name].options]


def test_the_controls_of_the_default_run():
    view = Explorer()
    in_sight = {control.description: control for control in view.menus.panel.children}
    labels = {name: list(control._options_labels) for name, control in in_sight.items()}
    multiples = ["0.1", "0.25", "0.5", "1", "2", "4", "10"]
    assert labels == {
        "model": ["baseline", "fixed", "adaptive"],
        "k": [f"{k}" for k in range(5, 155, 5)],
        "λ_IC": ["0", "1", "5", "10", "50", "100", "500"],
        "loss": labels["loss"],  # and variants on record
        "seed": [f"{seed}" for seed in range(20)],
        "beside": ["nothing", *GATES],
        "gate": list(GATES),
        "α": multiples,
        "scale": multiples,
    }
    assert labels["loss"][:2] == ["balanced", "mse"]
    assert not any(control.disabled for control in in_sight.values())
    assert view.menus.more.selected_index is None
    assert view.spec == RunSpec()
    assert view.status.value.startswith("On record: relative L² error")


def test_unusual_settings_open_the_menus_that_show_them(folder, blank_portraits):
    assert Explorer(folder, lr=0.01, **TINY).menus.more.selected_index == 0


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != RunSpec.system])
def test_another_system_has_its_start_and_its_stiffnesses(view, system):
    pendulum, stiffnesses = view.spec, offers(view, "k")
    view.menus.controls["system"].value = system
    assert view.spec == RunSpec(system=system, k=1, **TINY)
    assert offers(view, "k") == [1, 2, 4, 8]
    view.menus.controls["system"].value = RunSpec.system
    assert view.spec == pendulum
    assert offers(view, "k") == stiffnesses


def test_the_stiffnesses_of_a_system_are_those_on_record(varied_view):
    varied_view.menus.controls["system"].value = "quartic"
    assert offers(varied_view, "k") == [3, 6]
    assert "On record" in varied_view.status.value


def test_runs_trained_here_do_not_narrow_the_stiffnesses(view):
    view.menus.controls["system"].value = "henon_heiles"
    view.train.click()
    finish(view)
    view.menus.controls["system"].value = "quartic"
    view.menus.controls["system"].value = "henon_heiles"
    assert offers(view, "k") == [1, 2, 4, 8]


def test_a_system_keeps_the_start_with_which_it_was_opened(folder, blank_portraits):
    view = Explorer(folder, initial_position=(1.5, 0.1), k=33, **TINY)
    opened = view.spec
    view.menus.controls["system"].value = "quartic"
    assert view.spec.initial_position == (1.0,)
    view.menus.controls["system"].value = RunSpec.system
    view.menus.controls["k"].value = 33.0
    assert view.spec == opened


def test_losses_and_learning_rates_on_record_are_offered_where_they_apply(varied_view):
    weighted = "weighted(weights=(1.0, 0.1))"
    assert offers(varied_view, "loss") == ["balanced", "mse", "weighted", weighted]
    assert 0.002 in offers(varied_view, "lr")
    assert 1e-6 not in offers(varied_view, "lr")  # of another optimiser
    varied_view.menus.controls["loss"].value = weighted
    assert varied_view.spec == RunSpec(loss=weighted, **LEAST)
    varied_view.menus.controls["system"].value = "henon_heiles"
    assert offers(varied_view, "loss") == ["balanced", "mse", "weighted"]
    varied_view.menus.controls["loss"].value = "weighted"
    varied_view.menus.controls["system"].value = "quartic"  # one component
    assert offers(varied_view, "loss") == ["balanced", "mse"]
    assert varied_view.spec.loss == "balanced"


@pytest.mark.parametrize("form", ["shifted", "soft"])
def test_a_form_without_a_gate_disables_the_gates(folder, blank_portraits, form):
    view = Explorer(folder, beside="linear", **TINY)
    gates = [
        view.menus.controls["gate"],
        view.menus.controls["beside"],
        *view.menus.numbers.values(),
    ]
    view.menus.controls["form"].value = form
    assert all(control.disabled for control in gates)
    assert view.shown == [RunSpec(form=form, **TINY)]
    view.menus.controls["form"].value = "gated"
    assert not any(control.disabled for control in gates)
    assert [spec.gate for spec in view.shown] == ["exp", "linear"]


def test_a_run_without_a_gate_can_be_selected(view):
    spec = RunSpec(form="soft", **TINY)
    view.select(spec)
    assert view.spec == spec
    assert view.menus.controls["gate"].disabled
    view.select(RunSpec(gate="linear", **TINY))
    assert not view.menus.controls["gate"].disabled
    assert view.spec.gate == "linear"


def test_lbfgs_comes_with_double_precision(view):
    view.menus.controls["lbfgs"].value = 200
    assert view.spec == RunSpec(lbfgs=200, precision="float64", **TINY)
    view.menus.controls["precision"].value = "float32"
    assert view.spec == RunSpec(**TINY)


def assert_message(view, field):
    """One line that names the field, and nothing to train."""
    assert f"<b>{field}=" in view.status.value
    assert "\n" not in view.status.value
    assert view.train.disabled
    assert view._repr_mimebundle_()["text/plain"].startswith(f"{field}=")


def test_an_ansatz_that_holds_the_velocity_has_a_gate(folder, blank_portraits):
    view = Explorer(folder, hard_velocity=True, **TINY)
    view.menus.controls["form"].value = "soft"
    assert_message(view, "hard_velocity")


def test_a_system_without_a_usual_start_needs_one(folder, blank_portraits, monkeypatch):
    members = {"name": "bare", "components": ("x",), "positive": (False,), "angular": (False,)}
    members["acceleration"] = lambda self, q, v: (-self.k * q[0],)
    bare = dataclasses.dataclass(frozen=True)(type("Bare", (System,), members))
    monkeypatch.setitem(SYSTEMS, "bare", bare)
    view = Explorer(folder, **TINY)
    view.menus.controls["system"].value = "bare"
    assert_message(view, "initial_position")
    view.menus.controls["system"].value = "quartic"
    assert "Not on record" in view.status.value


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_problem_without_a_solution_gives_a_message(folder, blank_portraits):
    view = Explorer(folder, system="henon_heiles", initial_position=(0, 9), **TINY)
    assert "no reference solution" in view.status.value
    assert view.train.disabled


def test_the_slider_of_a_gate_changes_its_parameter(view):
    view.menus.numbers["alpha"].value = 0.5
    assert view.spec.gate == "exp(alpha=0.5)"


def test_a_new_run_is_trained_and_then_shown(view):
    view.menus.controls["seed"].value = 1
    assert "Not on record" in view.status.value
    assert not view.train.disabled
    view.train.click()
    finish(view)
    (expected,) = train(view.spec)
    assert np.array_equal(view.runs.find(view.spec).parameters, expected.parameters)
    assert "Trained here" in view.status.value
    assert view.train.disabled
    assert view.progress.value == TINY["steps"]
    assert view.progress.max == TINY["steps"]


def test_the_same_run_under_another_gate_is_drawn_and_trained_too(view):
    view.menus.controls["beside"].value = "linear"
    assert view.status.value.count("On record") == 2
    view.menus.controls["k"].value = 30.0
    view.train.click()
    finish(view)
    assert {spec.gate for spec in view.runs.live} == {"exp", "linear"}
    assert view.status.value.count("Trained here") == 2


def test_the_second_gate_may_have_parameters(folder, blank_portraits):
    view = Explorer(folder, beside="exp(alpha=2)", **TINY)
    assert [spec.gate for spec in view.shown] == ["exp", "exp(alpha=2.0)"]
    assert "exp(alpha=2.0): Not on record" in view.status.value


def test_during_training_other_runs_can_be_viewed_and_cancel_stops_it(folder, blank_portraits):
    view = Explorer(folder, steps=10**6, points=50)
    view.train.click()
    assert view.training
    assert view.train.disabled
    assert not view.cancel.disabled
    assert "Being trained" in view.status.value
    assert "Not on record" not in view.status.value
    view.menus.controls["gate"].value = "linear"
    assert "Training adaptive, exp" in view.status.value
    assert "Being trained" not in view.status.value
    assert "Not on record" in view.status.value
    view.cancel.click()
    finish(view)
    assert "Cancelled" in view.status.value
    assert not view.runs.live
    assert not view.train.disabled
    assert view.cancel.disabled


def test_cancel_stops_lbfgs(folder, blank_portraits):
    view = Explorer(folder, steps=1, points=50, lbfgs=10**6, precision="float64")
    view.train.click()
    deadline = time.monotonic() + 60
    while view.progress.value < 1:  # the updates before it
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert view.training
    view.cancel.click()
    finish(view)
    assert "Cancelled" in view.status.value
    assert not view.runs.live


def test_a_failed_training_shows_its_error(view, monkeypatch):
    def broken(specs, advance):
        raise ArithmeticError("no gradient")

    monkeypatch.setattr("pinnlib.explorer.app.train_batch", broken)
    view.menus.controls["seed"].value = 2
    view.train.click()
    finish(view)
    assert "ArithmeticError: no gradient" in view.status.value
    assert not view.train.disabled


def test_a_record_without_parameters_shows_its_learning_curve_and_can_be_trained(view):
    view.menus.controls["model"].value = "baseline"
    run = view.runs.find(view.spec)
    assert run.parameters is None
    assert "On record" in view.status.value
    assert not view.train.disabled
    *_, error, residual, sensitivity, frequencies, learning = plot_portrait(run).axes
    assert len(learning.lines) == 1
    for axis in (error, residual, sensitivity, frequencies):
        assert not axis.lines
        assert len(axis.texts) == 1  # the reason


def test_a_click_on_a_point_opens_its_run(view):
    view.tabs.selected_index = 1
    table = view.scatter.table
    assert len(table) == 5
    row = table[(table["gate"] == "linear") & (table["k"] == 60)].iloc[0]
    axis = view.scatter.canvas.figure.axes[0]
    x, y = axis.transData.transform((row["x"], row["rel_l2_u"]))
    view.scatter.click(x + 3, y + 3)
    assert view.spec == row["spec"]
    assert view.tabs.selected_index == 0


def test_a_click_far_from_all_points_opens_nothing(view):
    view.tabs.selected_index = 1
    view.scatter.click(0, 0)
    assert view.tabs.selected_index == 1


@pytest.mark.parametrize("name, value", [("lambda_ic", 0.0), ("system", "van_der_pol")])
def test_a_setting_without_runs_has_empty_axes_and_a_sentence(view, name, value):
    view.tabs.selected_index = 1
    view.menus.controls[name].value = value
    assert view.scatter.table.empty
    (axis,) = view.scatter.canvas.figure.axes
    assert axis.axison
    assert not axis.lines
    assert f"No finished run of {view.spec.system} " in axis.texts[0].get_text()
    view.scatter.click(100, 100)
    assert view.tabs.selected_index == 1


FILTERS = [
    ({}, [20]),
    ({"loss": "weighted(weights=(1.0, 0.1))"}, [20]),
    ({"lr": 0.002}, [20]),
    ({"form": "soft"}, [20, 60]),
    ({"system": "quartic"}, [3, 6]),
    ({"schedule": "cosine"}, []),
    ({"lbfgs": 200}, []),
]


@pytest.mark.parametrize("settings, stiffnesses", FILTERS)
def test_the_scatter_shows_the_runs_of_the_chosen_settings(varied_view, settings, stiffnesses):
    varied_view.tabs.selected_index = 1
    for name, value in settings.items():
        varied_view.menus.controls[name].value = value
    table = varied_view.scatter.table
    assert list(table["k"]) == stiffnesses
    for spec in table["spec"]:
        assert spec.select(*settings) == settings


def test_the_scatter_of_another_system_has_no_units_of_the_pendulum(varied_view):
    varied_view.tabs.selected_index = 1
    varied_view.scatter.metric.value = "max_ae_u"
    (axis,) = varied_view.scatter.canvas.figure.axes
    assert "[N/m]" in axis.get_xlabel()
    assert "[m, rad]" in axis.get_ylabel()
    varied_view.menus.controls["system"].value = "quartic"
    (axis,) = varied_view.scatter.canvas.figure.axes
    assert axis.get_xlabel() == "$k$"
    assert axis.get_ylabel() == "maximum absolute error"


def test_a_click_opens_a_run_of_another_system_without_a_gate(folder, blank_portraits):
    view = Explorer(folder, system="quartic", k=2, form="soft", **LEAST)
    view.train.click()
    finish(view)
    trained = view.spec
    view.tabs.selected_index = 1
    view.menus.controls["k"].value = 8.0
    (row,) = view.scatter.table.itertuples()
    axis = view.scatter.canvas.figure.axes[0]
    view.scatter.click(*axis.transData.transform((row.x, row.rel_l2_u)))
    assert view.spec == trained
    assert view.tabs.selected_index == 0


def test_it_is_a_picture_where_there_are_no_widgets(view, monkeypatch):
    monkeypatch.setenv(HEADLESS, "quiet")
    assert set(view._repr_mimebundle_()) == {"text/plain", "image/png"}
    assert "rel_l2_u" in view._repr_mimebundle_()["text/plain"]
    monkeypatch.delenv(HEADLESS)
    assert view._repr_mimebundle_()[VIEW]["model_id"] == view.box.model_id


@pytest.mark.parametrize(
    "name, value", [("gate", "sigmoid"), ("beside", "x"), ("k", -1), ("folder", "nowhere")]
)
def test_invalid_settings_raise(folder, name, value):
    with pytest.raises(ValueError, match=f"^{name}="):
        Explorer(**{"folder": folder, name: value})


def test_any_valid_setting_can_be_shown(folder, blank_portraits):
    view = Explorer(
        folder,
        model="adaptive(bands=((1.0, 9.0, 8),))",
        gate="exp(alpha=0.37)",
        k=29.4,
        lambda_ic=7,
        seed=123,
        **TINY,
    )
    assert view.spec == view.menus.initial_spec


def test_select_keeps_settings_without_a_control(view):
    spec = RunSpec(steps=33, points=40, hard_velocity=True)
    view.select(spec)
    assert view.spec == spec


def test_select_accepts_a_runspec_only(view):
    with pytest.raises(ValueError, match="^spec="):
        view.select("exp")


@dataclasses.dataclass(frozen=True)
class Wave(Gate):
    """g = sin ωt: a gate as long as ωT < π."""

    omega: float = 0.2
    name = "wave"

    def jet(self, t):
        sin, cos = torch.sin(self.omega * t), torch.cos(self.omega * t)
        return Jet(sin, self.omega * cos, -(self.omega**2) * sin)


@pytest.fixture
def wave_view(folder, monkeypatch, blank_portraits):
    monkeypatch.setitem(GATES, "wave", Wave)
    return Explorer(folder, gate="wave", beside="exp", **TINY)


def test_a_custom_gate_has_sliders(wave_view):
    assert [*wave_view.menus.numbers] == ["omega"]
    slider = wave_view.menus.numbers["omega"]
    assert slider.value == 0.2
    assert {value for _, value in slider.options} >= {0.02, 0.05, 0.1, 0.4, 0.8, 2}


def test_a_custom_gate_is_trained_and_drawn_against_k(wave_view):
    wave_view.train.click()
    finish(wave_view)
    assert "wave: Trained here" in wave_view.status.value
    wave_view.tabs.selected_index = 1
    assert set(wave_view.scatter.table["gate"]) == {"wave", "exp", "linear"}


def test_an_invalid_gate_shows_the_error_and_cannot_be_trained(wave_view):
    wave_view.menus.numbers["omega"].value = 0.8
    assert "is not allowed" in wave_view.status.value
    assert wave_view.train.disabled


@pytest.mark.parametrize(
    "default, sliders", [({}, []), ({"default": None}, []), ({"default": 1}, ["tau"])]
)
def test_a_gate_has_sliders_for_numbers_with_a_default(
    folder, monkeypatch, blank_portraits, default, sliders
):
    def jet(self, t):
        return Jet(t / self.tau, torch.ones_like(t) / self.tau, torch.zeros_like(t))

    fields = [("tau", float, dataclasses.field(**default))]
    kind = dataclasses.make_dataclass("Slow", fields, bases=(Gate,), frozen=True)
    kind.name, kind.jet = "slow", jet
    monkeypatch.setitem(GATES, "slow", kind)
    view = Explorer(folder, gate="slow(tau=2)", **TINY)
    assert [*view.menus.numbers] == sliders


def test_registered_gates_and_models_do_not_change_the_claims(monkeypatch):
    monkeypatch.setitem(GATES, "wave", Wave)
    monkeypatch.setitem(MODELS, "extra", AdaptiveFourier)
    for finding in (identities.parameter_counts(None), identities.admissible(None)):
        assert finding.verdict == "reproduced"
        assert "wave" not in finding.ours
        assert "extra" not in finding.ours


def test_a_portrait_draws_what_the_run_predicts(run):
    path, r, theta, error, residual, *_ = plot_portrait(run).axes
    table, ref = run.predict(run.spec.reference.t), run.spec.reference
    assert np.array_equal(r.lines[0].get_ydata(), ref.q[0])
    assert np.array_equal(r.lines[1].get_ydata(), table["r"])
    assert np.array_equal(theta.lines[1].get_ydata(), table["theta"])
    x, y = path.lines[2].get_data()
    assert np.allclose(np.hypot(x, y), table["r"])
    assert np.allclose(np.arctan2(x, -y), table["theta"])
    assert np.isclose(error.lines[0].get_ydata().max(), run.metrics["max_ae_u"])
    assert np.isclose(residual.lines[0].get_ydata().mean(), run.metrics["residual_mean"])


NAMES = {  # labels of the path and of the components
    "spring_pendulum": ["$x$ [m]", "$y$ [m]", "length $r$ [m]", r"angle $\theta$ [rad]"],
    "henon_heiles": ["x", "y", "x", "y"],
    "quartic": ["x", "x_t", "x"],
    "van_der_pol": ["x", "x_t", "x"],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_portrait_draws_every_system_and_form(system, form):
    spec = RunSpec(system=system, form=form, k=2, **LEAST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotOnFileWarning)
        reference = spec.reference
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        untrained = plot_portrait([], spec)
        assert untrained._repr_png_()
        trained = plot_portrait(train(spec))
        assert trained._repr_png_()
    for figure, curves in ((untrained, 1), (trained, 2)):
        path, *states = figure.axes[: 1 + len(reference.q)]
        labels = [path.get_xlabel(), path.get_ylabel()]
        assert labels + [axis.get_ylabel() for axis in states] == NAMES[system]
        assert [len(axis.lines) for axis in states] == [curves] * len(states)
        motion, dot = path.lines[:2]
        assert dot.get_marker() == "o"
        assert dot.get_xydata()[0] == pytest.approx(motion.get_xydata()[0])
    (legend,) = trained.legends
    assert legend.get_texts()[1].get_text() == f"adaptive, {'exp' if form == 'gated' else form}"


def test_the_heading_names_unusual_settings_only():
    changes = {"lr": 0.01, "schedule": "cosine", "lbfgs": 200, "precision": "float64"}
    texts = ["learning rate 0.01", "cosine schedule", "200 iterations of L-BFGS", "float64"]
    (usual,) = plot_portrait([], RunSpec()).legends
    (unusual,) = plot_portrait([], RunSpec(**changes)).legends
    heading = usual.get_title().get_text()
    assert unusual.get_title().get_text() == ", ".join([heading, *texts])


def test_runs_that_differ_in_an_unusual_setting_are_labelled_with_it(run):
    (other,) = train(dataclasses.replace(run.spec, lr=0.01))
    (legend,) = plot_portrait([run, other]).legends
    labels = [text.get_text() for text in legend.get_texts()[1:]]
    assert labels == ["adaptive, exp, learning rate 0.001", "adaptive, exp, learning rate 0.01"]


def test_untrained_networks_start_at_the_initial_position():
    *_, exp, linear = plot_untrained(RunSpec(), ("exp", "linear")).axes
    for axis in (exp, linear):
        starts = [line.get_ydata()[0] for line in axis.lines]
        assert starts == pytest.approx([0.2] * 6)  # five networks and the dot
    assert not np.array_equal(exp.lines[0].get_ydata(), exp.lines[1].get_ydata())


def test_a_run_keeps_its_colour_with_or_without_another_beside_it(run):
    (other,) = train(dataclasses.replace(run.spec, gate="linear"))

    def colours(runs):
        (legend,) = plot_portrait(runs, run.spec).legends
        labels = [text.get_text() for text in legend.get_texts()]
        lines = [line.get_color() for line in legend.get_lines()]
        return dict(zip(labels, lines, strict=True))

    both, alone = colours([run, other]), colours([other])
    assert both["adaptive, linear"] == alone["adaptive, linear"]
    assert both["adaptive, linear"] != both["adaptive, exp"]
