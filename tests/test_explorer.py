"""The explorer without a browser: what is on record, what is not, training and cancelling, gates of one's own, bad input."""

import dataclasses

import numpy as np
import pytest
import torch

from pinnlib import GATES, MODELS, AdaptiveFourier, Gate, RunSpec, train
from pinnlib.explorer.app import VIEW, Explorer, app
from pinnlib.explorer.portrait import before_training, portrait
from pinnlib.jets import Jet
from pinnlib.progress import HEADLESS
from pinnlib.report import identities
from pinnlib.runs.record import record_of
from pinnlib.runs.store import Store
from pinnlib.runs.sweep import sweep

TINY = {"steps": 20, "points": 50}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A journal of small runs: both gates at two k, and one run that kept no parameters."""
    folder = tmp_path_factory.mktemp("records")
    sweep(
        [RunSpec(gate=gate, k=k, **TINY) for gate in ("exp", "linear") for k in (20, 60)],
        folder,
        workers=1,
    )
    (bare,) = train(RunSpec(model="baseline", **TINY))
    with Store(folder).writing() as journal:
        journal.append([record_of(bare, {})])
    return folder


@pytest.fixture
def view(folder):
    return Explorer(folder, **TINY)


def finish(view):
    """Wait for the training that goes on."""
    thread = view.thread
    thread and thread.join(60)
    assert not view.training


def test_a_run_on_record_is_shown_at_once_with_its_parameters(view, folder):
    record = Store(folder).load()[view.spec.key]
    assert f"On record: relative L² error {record['metrics']['rel_l2_u']:.4f}" in view.status.value
    assert view.train.disabled
    assert view.cancel.disabled
    assert view.spec == RunSpec(**TINY)
    assert view.picture.value == portrait(view.runs.find(view.spec))._repr_png_()


def test_every_control_leads_to_the_run_it_names(view):
    for name, value in {
        "model": "fixed",
        "k": 60.0,
        "lambda_ic": 0.0,
        "loss": "mse",
        "seed": 3,
        "gate": "linear",
    }.items():
        before = view.picture.value
        view.controls[name].value = value
        assert getattr(view.spec, name) == value
        assert view.picture.value != before or name in ("model", "gate")
    view.controls["gate"].value = "exp"
    view.numbers["alpha"].value = 0.5
    assert view.spec.gate == "exp(alpha=0.5)"


def test_a_run_that_is_not_on_record_is_trained_and_then_shown(view):
    view.controls["seed"].value = 1
    assert "Not on record" in view.status.value
    assert not view.train.disabled
    untrained = view.picture.value
    view.train.click()
    finish(view)
    (expected,) = train(view.spec)
    assert np.array_equal(view.runs.find(view.spec).parameters, expected.parameters)
    assert f"Trained here in {view.runs.find(view.spec).seconds:.1f} s" in view.status.value
    assert view.train.disabled
    assert view.picture.value != untrained
    assert view.progress.value == view.progress.max == TINY["steps"]


def test_the_same_run_under_another_gate_is_drawn_and_trained_too(view):
    view.controls["beside"].value = "linear"
    assert view.status.value.count("On record") == 2
    view.controls["k"].value = 30.0
    view.train.click()
    finish(view)
    assert {spec.gate for spec in view.runs.live} == {"exp", "linear"}
    assert view.status.value.count("Trained here") == 2


def test_what_is_beside_may_have_numbers_of_its_own(folder):
    view = Explorer(folder, beside="exp(alpha=2)", **TINY)
    assert [spec.gate for spec in view.shown] == [
        "exp",
        "exp(alpha=2.0)",
    ]
    assert "exp(alpha=2.0): Not on record" in view.status.value


def test_training_can_be_cancelled_and_meanwhile_other_runs_looked_at(folder):
    view = Explorer(folder, steps=10**7, points=50)
    view.train.click()
    assert view.training
    assert view.train.disabled
    assert not view.cancel.disabled
    assert "Training adaptive, exp" in view.status.value
    assert "Being trained." in view.status.value
    assert "Not on record" not in view.status.value
    view.controls["gate"].value = "linear"
    assert "Training adaptive, exp" in view.status.value
    assert "Not on record" in view.status.value
    view.cancel.click()
    finish(view)
    assert "Cancelled" in view.status.value
    assert not view.runs.live
    assert not view.train.disabled
    assert view.cancel.disabled


def test_a_training_that_fails_says_so(view, monkeypatch):
    def broken(specs, advance):
        raise ArithmeticError("no gradient")

    monkeypatch.setattr(app, "train_batch", broken)
    view.controls["seed"].value = 2
    view.train.click()
    finish(view)
    assert "Training failed: ArithmeticError: no gradient" in view.status.value
    assert not view.train.disabled


def test_a_record_without_parameters_shows_its_errors_and_can_be_trained(view):
    view.controls["model"].value = "baseline"
    run = view.runs.find(view.spec)
    assert run.parameters is None
    assert "Its parameters are not kept" in view.status.value
    assert not view.train.disabled
    axes = portrait(run).axes
    assert len(axes[-1].lines) == 1
    assert "not on record" in axes[3].texts[0].get_text()


def test_a_click_opens_the_nearest_run_and_one_beside_all_points_nothing(view):
    view.tabs.selected_index = 1
    cloud = view.scatter
    assert len(cloud.frame) == 5
    cloud.click(0, 0)
    assert view.tabs.selected_index == 1
    row = cloud.frame[(cloud.frame["gate"] == "linear") & (cloud.frame["k"] == 60)].iloc[0]
    cloud.click(*cloud.canvas.figure.axes[0].transData.transform((row["x"], row["rel_l2_u"])) + 3)
    assert view.spec == row["spec"]
    assert view.tabs.selected_index == 0


def test_it_is_a_picture_where_there_are_no_widgets(view, monkeypatch):
    monkeypatch.setenv(HEADLESS, "quiet")
    assert set(view._repr_mimebundle_()) == {"text/plain", "image/png"}
    assert "rel_l2_u" in view._repr_mimebundle_()["text/plain"]
    monkeypatch.delenv(HEADLESS)
    assert view._repr_mimebundle_()[VIEW]["model_id"] == view.box.model_id


@pytest.mark.parametrize(
    "settings, why",
    [
        ({"gate": "sigmoid"}, "gate='sigmoid'.*one of exp, linear"),
        ({"beside": "x"}, "beside='x'.*exp"),
        ({"k": -1}, "k=-1"),
        ({"folder": "nowhere"}, "folder='nowhere'.*a folder with records"),
    ],
)
def test_bad_settings_are_refused(folder, settings, why):
    with pytest.raises(ValueError, match=why):
        Explorer(**{"folder": folder} | settings)


def test_any_setting_that_a_run_may_have_can_be_shown(folder):
    view = Explorer(
        folder,
        model="adaptive(bands=((1.0, 9.0, 8),))",
        gate="exp(alpha=0.37)",
        k=29.4,
        lambda_ic=7,
        seed=123,
        **TINY,
    )
    assert view.spec == view.start
    with pytest.raises(ValueError, match="spec='exp'.*RunSpec"):
        view.select("exp")
    asked = RunSpec(
        steps=33, points=40, hard_velocity=True
    )  # what has no control is shown as asked, too
    view.select(asked)
    assert view.spec == asked


@dataclasses.dataclass(frozen=True)
class Wave(Gate):
    """g = sin ωt: a gate as long as ωT < π."""

    omega: float = 0.2
    name = "wave"

    def jet(self, t):
        return Jet(
            torch.sin(self.omega * t),
            self.omega * torch.cos(self.omega * t),
            -(self.omega**2) * torch.sin(self.omega * t),
        )


def test_a_gate_of_ones_own_has_menus_sliders_and_training_and_an_impossible_one_says_why(
    folder, monkeypatch
):
    monkeypatch.setitem(GATES, "wave", Wave)
    view = Explorer(folder, gate="wave", beside="exp", **TINY)
    view.train.click()
    finish(view)
    assert "wave: Trained here" in view.status.value
    assert [*view.numbers] == ["omega"]
    assert view.numbers["omega"].value == 0.2
    assert {value for _, value in view.numbers["omega"].options} >= {0.02, 0.05, 0.1, 0.4, 0.8, 2}
    view.tabs.selected_index = 1
    assert set(view.scatter.frame["gate"]) == {"wave", "exp", "linear"}
    view.numbers["omega"].value = 0.8
    assert "free of zeros on (0, 10.0]" in view.status.value
    assert view.train.disabled


@pytest.mark.parametrize("default", [{}, {"default": None}, {"default": 1}])
def test_a_gate_has_sliders_for_the_numbers_that_have_a_default(folder, monkeypatch, default):
    kind = dataclasses.make_dataclass(
        "Slow", [("tau", float, dataclasses.field(**default))], bases=(Gate,), frozen=True
    )
    kind.name, kind.jet = (
        "slow",
        lambda self, t: Jet(t / self.tau, torch.ones_like(t) / self.tau, torch.zeros_like(t)),
    )
    monkeypatch.setitem(GATES, "slow", kind)
    assert [*Explorer(folder, gate="slow(tau=2)", **TINY).numbers] == ["tau"] * (
        default.get("default") == 1
    )


def test_what_is_registered_besides_is_no_part_of_the_papers_claims(monkeypatch):
    monkeypatch.setitem(GATES, "wave", Wave)
    monkeypatch.setitem(MODELS, "extra", AdaptiveFourier)
    told = [identities.parameter_counts(None), identities.admissible(None)]
    assert [finding.verdict for finding in told] == ["reproduced"] * 2
    assert not any("wave" in f.ours or "extra" in f.ours for f in told)


def test_a_portrait_draws_what_the_run_predicts(view):
    run = view.runs.find(view.spec)
    path, r, theta, error, residual, *_ = portrait(run).axes
    table, ref = run.predict(run.spec.reference.t), run.spec.reference
    assert np.array_equal(r.lines[0].get_ydata(), ref.q[0])
    assert np.array_equal(r.lines[1].get_ydata(), table["r"])
    assert np.array_equal(theta.lines[1].get_ydata(), table["theta"])
    x, y = path.lines[2].get_data()
    assert np.allclose(np.hypot(x, y), table["r"])
    assert np.allclose(np.arctan2(x, -y), table["theta"])
    assert np.isclose(error.lines[0].get_ydata().max(), run.metrics["max_ae_u"])
    assert np.isclose(residual.lines[0].get_ydata().mean(), run.metrics["residual_mean"])


def test_untrained_networks_all_start_where_they_must():
    *_, exp, linear = before_training(RunSpec(), ("exp", "linear"), seeds=3).axes
    assert [line.get_ydata()[0] for axis in (exp, linear) for line in axis.lines] == pytest.approx(
        [0.2] * 8
    )
    assert not np.array_equal(exp.lines[0].get_ydata(), exp.lines[1].get_ydata())


def test_a_run_keeps_its_colour_whether_the_other_is_there_or_not(view):
    one, other = (
        view.runs.find(view.spec),
        view.runs.find(dataclasses.replace(view.spec, gate="linear")),
    )
    drawn = [
        {line.get_label(): line.get_color() for line in portrait(runs, one.spec).axes[0].lines}
        for runs in ([one, other], [other])
    ]
    assert drawn[0]["adaptive, linear"] == drawn[1]["adaptive, linear"] != drawn[0]["adaptive, exp"]
