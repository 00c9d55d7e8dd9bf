"""Specifications: bad input raises an error that names the field, good input has one form."""

import dataclasses
import functools
import math
import re
import sys
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import pinnlib
from pinnlib import (
    GATES,
    MODELS,
    SYSTEMS,
    Exponential,
    Gate,
    Linear,
    RunSpec,
    SpringPendulum,
    training,
)
from pinnlib.ansatz import FORMS
from pinnlib.gates import Jet, validate_gate
from pinnlib.losses import LOSSES, Balanced, Weighted
from pinnlib.optimisers import Cosine
from pinnlib.runs.progress import Lines, notebook_tqdm, progress_bar
from pinnlib.runs.store import Store
from pinnlib.spec import key_of
from pinnlib.training import HEADLESS, TrainingError, batches

BAD = [  # field, value, a part of what the message says is allowed
    ("model", "transformer", "baseline"),
    ("gate", "sigmoid", "exp, linear"),
    ("gate", "exp(beta=1)", "alpha"),
    ("gate", "exp(1)", "exp, linear"),
    ("gate", "exp(alpha=2, alpha=3)", "exp, linear"),
    ("gate", "__import__('os')", "exp, linear"),
    ("gate", None, "exp, linear"),
    ("loss", "mae", "balanced, mse"),
    ("precision", "float16", "float32, float64"),
    ("system", "double_pendulum", "spring_pendulum"),
    ("system", "spring_pendulum(k=5.0)", "field of its own"),
    ("k", -1, "from 1e-"),
    ("k", 0, "from 1e-"),
    ("k", 1e30, "to 1e+06"),
    ("k", 10**400, "finite"),
    ("system", "spring_pendulum(k=20.0)", "field of its own"),
    ("k", math.nan, "finite"),
    ("k", "20", "finite number"),
    ("k", True, "finite number"),
    ("lambda_ic", -50, "from 0 to"),
    ("lambda_phys", math.inf, "from 0 to"),
    ("lr", 0, "from 1e-"),
    ("lr", "1e-3", "from 1e-"),
    ("horizon", -10, "from 0.001"),
    ("seed", -1, "from 0 to"),
    ("seed", 0.5, "whole number"),
    ("steps", 0, "from 1 to"),
    ("steps", math.nan, "whole number"),
    ("points", 0, "from 1 to"),
    ("initial_position", (1e-4, 0.2), "r > 0.0001"),
    ("initial_position", (1.0,), "r, theta"),
    ("initial_position", (1.0, math.nan), "finite"),
    ("initial_velocity", 0.0, "r, theta"),
    ("gate", "none", "exp, linear"),
    ("loss", "weighted(power=2)", "weights"),
    ("form", "hard", "gated, shifted, soft"),
    ("form", None, "gated, shifted, soft"),
    ("form", ["soft"], "gated, shifted, soft"),
    ("schedule", "linear", "constant, cosine"),
    ("schedule", "cosine(warmup=5)", "none"),
    ("schedule", 0.5, "constant, cosine"),
    ("lbfgs", -1, "from 0 to"),
    ("lbfgs", 0.5, "whole number"),
    ("lbfgs", True, "whole number"),
    ("lbfgs", "10", "whole number"),
    ("system", "van_der_pol(k=2.0)", "field of its own"),
    ("system", "quartic(m=2.0)", "quartic with arguments"),
    ("horizon", 1e-9, "from 0.001 to 10000"),
    ("horizon", 1e300, "from 0.001 to 10000"),
    ("k", 1e-300, "from 1e-06"),
    ("points", 10**9, "from 1 to 100000"),
    ("steps", 10**15, "from 1 to 100000000"),
    ("lbfgs", 10**15, "from 0 to 1000000"),
    ("seed", 2**65, "from 0 to"),
    ("model", "baseline(hidden=10000)", "10000000 parameters"),
    ("model", "baseline(hidden=9999, depth=100)", "10000000 parameters"),
    ("gate", "exp(alpha=1e-06, scale=1e-06)", "not 1e-12 and 1e-11"),
    ("gate", "linear(scale=500000000.0)", "from 1e-09 to 1e+09"),
    ("gate", "exp(alpha={[]: 1})", "exp, linear"),
    ("gate", "exp(alpha=" + "(" * 150 + "1" + ")" * 150 + ",)" * 3, "exp, linear"),
    ("gate", "exp(alpha=" + "-" * 400 + "1)", "exp, linear"),
    ("gate", "exp\0", "exp, linear"),
    ("gate", "\ud800", "exp, linear"),
]
BAD_TOGETHER = [  # settings, the field that the message names, its value, what is allowed
    (
        {"lbfgs": 5},
        "precision",
        "float32",
        "float64",
    ),
    (
        {"loss": "weighted(weights=(1.0,))"},
        "weights",
        (1.0,),
        "r, theta",
    ),
    (
        {"loss": "weighted", "system": "quartic"},
        "weights",
        (1.0, 1.0),
        "each of x",
    ),
    (
        {"form": "shifted", "hard_velocity": True},
        "hard_velocity",
        True,
        "shifted",
    ),
    (
        {"form": "soft", "hard_velocity": True},
        "hard_velocity",
        True,
        "soft",
    ),
    (
        {"system": "quartic", "initial_position": (1, 0.2)},
        "initial_position",
        (1, 0.2),
        "of x",
    ),
    (
        {"system": "henon_heiles", "initial_velocity": (0,)},
        "initial_velocity",
        (0,),
        "x, y",
    ),
]
BAD_ARGUMENTS = [  # field, name of the object, argument, its value, a part of what is allowed
    ("gate", "exp", "alpha", 0.0, "from 1e-09"),
    ("gate", "exp", "alpha", -1.0, "from 1e-09"),
    ("system", "spring_pendulum", "c_r", -1.0, "from 0 to"),
    ("model", "baseline", "hidden", True, "whole number from 1"),
    ("model", "adaptive", "bands", (1, 2), "low, high, count"),
    ("model", "adaptive", "bands", ((1, 2, 1.5),), "low, high, count"),
    ("model", "fixed", "bands", (1, 2, 3), "low, high, count"),
    ("model", "fixed", "bands", (0.5, 5.0, 16), "low, high, count"),  # the outer tuple forgotten
    ("model", "fixed", "bands", (("1", "2", "3"),), "low, high, count"),
    ("model", "fixed", "bands", ((True, 2.0, 3),), "low, high, count"),
    ("gate", "exp", "alpha", 1e-60, "from 1e-09 to 1e+09"),
    ("gate", "linear", "scale", 1e60, "from 1e-09 to 1e+09"),
    ("system", "spring_pendulum", "m", 1e-12, "from 0.001 to 1000"),
    ("system", "spring_pendulum", "g", 1e9, "from 0 to 1000"),
    ("model", "baseline", "hidden", 10**9, "from 1 to 10000"),
    ("model", "baseline", "depth", 10**9, "from 1 to 100"),
    ("model", "adaptive", "bands", ((0.5, 5.0, 10**9),), "low, high, count"),
    ("loss", "weighted", "weights", (1.0, 0.0), "> 0"),
    ("loss", "weighted", "weights", (1.0, -2.0), "> 0"),
    ("loss", "weighted", "weights", (), "> 0"),
    ("loss", "weighted", "weights", "12", "> 0"),
    ("loss", "weighted", "weights", ("1", "2"), "> 0"),
    ("loss", "weighted", "weights", (1.0, True), "> 0"),
    ("loss", "weighted", "weights", 2.0, "> 0"),
    ("loss", "balanced", "frozen", 1, "True or False"),
    ("loss", "balanced", "frozen", "yes", "True or False"),
]


def check_refusal(kind, arguments, field, value, allowed):
    with pytest.raises(ValueError, match=" is not allowed: ") as caught:
        kind(**arguments)
    given, _, reason = str(caught.value).partition(" is not allowed: ")
    assert given == f"{field}={value!r}"
    assert allowed in reason


@pytest.mark.parametrize("field, value, allowed", BAD)
def test_bad_input_is_refused_by_name(field, value, allowed):
    check_refusal(RunSpec, {field: value}, field, value, allowed)


@pytest.mark.parametrize("field, name, argument, value, allowed", BAD_ARGUMENTS)
def test_a_bad_argument_is_refused_by_name(field, name, argument, value, allowed):
    text = f"{name}({argument}={value!r})"
    check_refusal(RunSpec, {field: text}, argument, value, allowed)
    registries = {"gate": GATES, "model": MODELS, "system": SYSTEMS, "loss": LOSSES}
    kind = registries[field][name]
    check_refusal(kind, {argument: value}, argument, value, allowed)


@pytest.mark.parametrize("settings, field, value, allowed", BAD_TOGETHER)
def test_settings_that_do_not_go_together_are_refused_by_name(settings, field, value, allowed):
    check_refusal(RunSpec, settings, field, value, allowed)


@pytest.mark.parametrize(
    "text",
    [
        "exp(alpha=" + "9" * 10**6 + ")",
        "(" * 10**6,
        "-" * 10**6 + "1",
        "exp(alpha=" + "[" * 10**5 + "]" * 10**5 + ")",
    ],
)
def test_a_text_that_breaks_the_parser_is_refused_in_a_short_message(text):
    with pytest.raises(ValueError, match="^gate=.*… is not allowed") as caught:
        RunSpec(gate=text)
    assert len(str(caught.value)) < 1000


def test_a_number_of_too_many_digits_is_refused_by_name():
    with pytest.raises(ValueError, match="^k=<int> is not allowed"):
        RunSpec(k=10**5000)


@pytest.mark.parametrize("specs", [[], "adaptive", 5, [RunSpec(), "x"], [None]])
def test_train_wants_specs(specs):
    with pytest.raises(ValueError, match=f"^specs={re.escape(repr(specs))} "):
        pinnlib.train(specs)


UNBOUND = {"system": "henon_heiles", "initial_position": (0, 9)}  # it escapes to infinity


def test_a_run_that_fails_leaves_the_results_of_the_others():
    good, bad = RunSpec(steps=3, points=9), RunSpec(steps=3, points=9, **UNBOUND)
    with pytest.raises(TrainingError, match="1 of 2 runs failed") as caught:
        pinnlib.train([good, bad])
    (kept,) = caught.value.results
    (alone,) = pinnlib.train(good)
    assert kept.spec == good
    assert np.array_equal(kept.parameters, alone.parameters)
    assert str(bad) in str(caught.value)
    assert "no reference solution" in str(caught.value)


def test_a_run_of_a_batch_that_fails_leaves_the_results_of_the_batch(monkeypatch):
    outside = {"initial_position": (1.0, 0.0), "initial_velocity": (-99.0, 0.0)}
    specs = [RunSpec(steps=3, points=9), RunSpec(steps=3, points=9, **outside)]
    assert len(list(batches(specs))) == 1
    with pytest.raises(TrainingError, match="r stays > 0.0001") as caught:
        pinnlib.train(specs)
    assert [result.spec for result in caught.value.results] == specs[:1]


def test_the_error_of_a_single_run_is_raised_before_it_is_trained(monkeypatch):
    monkeypatch.setattr(training, "begin_training", None)
    with pytest.raises(ValueError, match="^problem=.*no reference solution"):
        pinnlib.train(RunSpec(**UNBOUND))


def test_a_result_without_parameters_says_why_it_cannot_predict():
    spec = RunSpec(model="baseline", steps=1, points=5)
    (result,) = pinnlib.train(spec)
    bare = dataclasses.replace(result, parameters=None)
    for use in (lambda: bare.predict([0.0]), lambda: bare.frequencies):
        with pytest.raises(ValueError, match="^parameters.*a record keeps none of a network"):
            use()
    with pytest.raises(ValueError, match=r"^parameters of shape=\(3,\).*33538"):
        pinnlib.predict(spec, np.zeros(3), [0.0])


@pytest.mark.parametrize("snapshots", [(-1,), (6,), (1.5,), (True,)])
def test_train_wants_reachable_snapshots(snapshots):
    with pytest.raises(ValueError, match="^snapshots="):
        pinnlib.train(RunSpec(steps=5), snapshots=snapshots)


def test_snapshots_may_be_numpys_or_drawn_one_by_one():
    (result,) = pinnlib.train(RunSpec(steps=3, points=5), snapshots=(u for u in np.array([0, 2])))
    assert list(result.snapshots) == [0, 2]


def test_predict_wants_finite_times():
    with pytest.raises(ValueError, match="^times="):
        pinnlib.train(RunSpec(steps=1))[0].predict([0.0, math.inf])


@pytest.fixture
def shows_bar(monkeypatch, capsys):
    """A function: does `train` show a bar under these circumstances?"""

    def try_it(progress=None, terminal=False, notebook=False, headless=False):
        monkeypatch.delenv(HEADLESS, raising=False)
        monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # nbval may have loaded it
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
        if notebook:
            monkeypatch.setitem(sys.modules, "ipykernel", None)
        if headless:
            monkeypatch.setenv(HEADLESS, "quiet")
        pinnlib.train(RunSpec(steps=2, points=5), progress=progress)
        return "training 1 run" in capsys.readouterr().err

    return try_it


def test_a_progress_bar_where_somebody_watches(shows_bar):
    assert shows_bar(terminal=True)
    assert shows_bar(notebook=True)


def test_no_progress_bar_where_nobody_watches(shows_bar):
    assert not shows_bar()
    assert not shows_bar(terminal=True, headless=True)
    assert not shows_bar(notebook=True, headless=True)


def test_a_progress_bar_as_asked(shows_bar):
    assert shows_bar(progress=True)
    assert shows_bar(progress=True, headless=True)
    assert not shows_bar(progress=False, terminal=True)
    assert not shows_bar(progress=False, notebook=True)


def test_in_a_file_the_bar_is_one_line_after_the_other(tmp_path, monkeypatch):
    monkeypatch.delenv(HEADLESS)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # nbval may have loaded it
    with progress_bar(2) as bar:
        assert type(bar) is Lines
        assert not bar.disable
        assert bar.mininterval == 60
        assert bar.delay == 60
    path = tmp_path / "log"
    with path.open("w") as file, Lines(total=2, file=file, mininterval=0) as bar:
        bar.update(1)
    lines = [line.partition("|")[0] for line in path.read_text().splitlines()]
    assert [line for line in lines if line] == ["  0%", " 50%", " 50%"]


def test_in_a_live_notebook_the_bar_is_tqdms_own(monkeypatch):
    monkeypatch.delenv(HEADLESS)
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    with progress_bar(2) as bar:
        assert isinstance(bar, notebook_tqdm)


def test_predictions_outside_the_interval_of_training_warn():
    (result,) = pinnlib.train(RunSpec(steps=1, points=5))
    with pytest.warns(UserWarning, match=r"times outside \[0, 10\]"):
        result.predict([0, 10.1])
    with warnings.catch_warnings(action="error"):
        result.predict([0, 10])


def test_a_result_prints_its_metrics_without_its_arrays():
    (result,) = pinnlib.train(RunSpec(steps=1, points=5))
    assert "rel_l2_u" in repr(result)
    assert "array" not in repr(result)


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="stiffness"):
        RunSpec(stiffness=20)


def test_defaults_are_the_papers():
    spec = RunSpec()
    assert spec.steps == 5000
    assert spec.lr == 1e-3
    assert spec.points == 2000
    assert spec.horizon == 10.0
    assert spec.lambda_phys == 1.0
    assert spec.loss == "balanced"
    assert spec.initial_position == (1.0, 0.2)
    assert spec.initial_velocity == (0.0, 0.0)
    assert spec.precision == "float32"
    assert spec.form == "gated"
    assert spec.schedule == "constant"
    assert spec.lbfgs == 0
    assert spec.system_object == SpringPendulum(k=20.0, g=9.81, m=1.0, L0=1.0, c_r=0.0, c_theta=0.0)


def test_equal_settings_are_equal_specs_however_they_are_written():
    a = RunSpec(gate="exp", k=20, initial_position=[1, 0.2], seed=1.0)
    b = RunSpec(gate=Exponential(alpha=1.0), k=20.0, initial_position=(1.0, 0.2), seed=1)
    assert a == b
    assert a.key == b.key
    assert a.gate == "exp"
    assert RunSpec(gate="exp(alpha=2)").key == RunSpec(gate="exp(alpha=2.0)").key
    assert RunSpec(gate="exp(alpha=2)").key == RunSpec(gate=Exponential(2)).key
    assert RunSpec(lambda_ic=-0.0).key == RunSpec(lambda_ic=0).key
    assert RunSpec(k=np.int64(30), seed=np.int32(2)) == RunSpec(k=30, seed=2)
    assert RunSpec(gate=Exponential(0.5)).gate == "exp(alpha=0.5)"
    assert RunSpec(gate="exp(alpha=0.5)").gate_object == Exponential(0.5)


def test_equal_losses_and_schedules_are_equal_specs_however_they_are_written():
    weighted = RunSpec(loss=Weighted((1, 0.1)))
    assert weighted == RunSpec(loss="weighted(weights=[1, 0.1])")
    assert weighted.loss == "weighted(weights=(1.0, 0.1))"
    assert weighted.loss_object == Weighted((1.0, 0.1))
    assert RunSpec(loss=Weighted()).loss == "weighted"
    assert RunSpec(loss=Balanced(frozen=False)) == RunSpec()
    assert RunSpec(loss=Balanced(frozen=True)).loss == "balanced(frozen=True)"
    assert RunSpec(schedule=Cosine()).schedule == "cosine"
    assert RunSpec(lbfgs=5.0, precision="float64") == RunSpec(lbfgs=5, precision="float64")


@pytest.mark.parametrize("form", ["shifted", "soft"])
def test_a_form_without_a_gate_has_the_gate_none(form):
    spec = RunSpec(form=form)
    assert spec.gate == "none"
    assert spec.gate_object.jet(torch.ones(3)).value.tolist() == [1, 1, 1]
    assert RunSpec(form=form, gate="linear") == spec
    assert RunSpec(form=form, gate="linear").key == spec.key
    assert RunSpec(form=form, gate="none") == spec
    assert dataclasses.replace(RunSpec(gate="tanh"), form=form) == spec
    assert dataclasses.replace(spec, k=30.0) == RunSpec(form=form, k=30.0)
    assert dataclasses.replace(spec, form="gated", gate="exp") == RunSpec()
    change = functools.partial(dataclasses.replace, spec)
    check_refusal(change, {"form": "gated"}, "gate", "none", "exp")


@pytest.mark.parametrize(
    "system, position, velocity",
    [
        ("spring_pendulum", (1.0, 0.2), (0.0, 0.0)),
        ("henon_heiles", (0.0, 0.1), (0.35, 0.0)),
        ("quartic", (1.0,), (0.0,)),
        ("van_der_pol", (2.0,), (0.0,)),
    ],
)
def test_a_system_has_a_usual_start(system, position, velocity):
    spec = RunSpec(system=system)
    assert spec.initial_position == position
    assert spec.initial_velocity == velocity
    assert spec == RunSpec(system=system, initial_position=position, initial_velocity=velocity)
    assert not {"initial_position", "initial_velocity"} & spec.overrides.keys()
    elsewhere = [x + 0.5 for x in position]
    other = dataclasses.replace(spec, initial_position=elsewhere)
    assert other.overrides["initial_position"] == tuple(elsewhere)
    assert other.key != spec.key


def test_another_system_needs_another_start():
    """`replace` keeps the start; an empty one is the usual start of the new system."""
    change = functools.partial(dataclasses.replace, RunSpec(), system="quartic")
    check_refusal(change, {}, "initial_position", (1.0, 0.2), "of x")
    assert change(initial_position=(), initial_velocity=()) == RunSpec(system="quartic")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"k": 60.0},
        {"gate": "linear", "initial_velocity": (0.1, 0.0)},
        {"system": "quartic"},
        {"form": "soft", "gate": "none"},
        {"lbfgs": 5, "precision": "float64"},
    ],
)
def test_the_key_of_a_run_holds_what_differs_from_the_defaults(settings):
    assert RunSpec(**settings).overrides == settings
    assert RunSpec(**settings).key == key_of(settings)


def test_every_committed_record_has_the_key_of_its_spec():
    for key, record in Store().load().items():
        spec = RunSpec(**record["spec"])
        assert spec.key == key
        assert spec.overrides.keys() == record["spec"].keys()


TWO_COMPONENTS = ["spring_pendulum", "henon_heiles"]
EVERY_LOSS = [
    "balanced",
    "mse",
    Balanced(frozen=True),
    Weighted((1, 0.1)),
]


@given(
    st.builds(
        RunSpec,
        model=st.sampled_from(["baseline", "fixed", "adaptive"]),
        gate=st.one_of(st.just("linear"), st.floats(0.01, 10).map(Exponential)),
        k=st.floats(1, 200),
        lambda_ic=st.sampled_from([0, 50]),
        loss=st.sampled_from(EVERY_LOSS),
        seed=st.integers(0, 2**40),
        system=st.sampled_from(TWO_COMPONENTS),
        form=st.sampled_from(FORMS),
        schedule=st.sampled_from(["constant", "cosine"]),
        precision=st.just("float64"),
        lbfgs=st.integers(0, 99),
    )
)
def test_a_spec_survives_its_dictionary_and_its_key_tells_it_apart(spec):
    again = RunSpec(**dataclasses.asdict(spec))
    assert again == spec
    assert again.key == spec.key
    for change in (
        {"seed": spec.seed + 1},
        {"k": spec.k * 1.5},
        {"steps": 17},
        {"lambda_ic": 7.0},
        {"lbfgs": spec.lbfgs + 1},
        {"loss": "weighted"},
    ):
        assert dataclasses.replace(spec, **change).key != spec.key


def test_a_spec_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunSpec().k = 3


@dataclasses.dataclass(frozen=True)
class Wrong(Gate):
    kind: str = "shifted"
    name = "wrong"

    def jet(self, t):
        value, slope = {
            "shifted": (t + 1, 1),
            "flat": (t**2, 2 * t),
            "crossing": (t * (5 - t), 5 - 2 * t),
            "blows_up": (t / (5 - t), 1 + t),
            "steep": (t**0.5, t**-0.5),
            "bent": (t + t**2, 1),
            "careless": (t + t**2, 1 + 2 * t),
        }[self.kind]
        return Jet(value, slope * torch.ones_like(t), torch.zeros_like(t))


@pytest.mark.parametrize(
    "kind, why",
    [
        ("shifted", "zero at t=0"),
        ("flat", "slope"),
        ("crossing", "zeros"),
        ("blows_up", "finite"),
        ("steep", "derivative"),
        ("bent", "first derivative"),
        ("careless", "second derivative"),
    ],
)
def test_an_inadmissible_gate_is_refused(kind, why):
    with pytest.raises(ValueError, match=f"^gate=.*{why}"):
        validate_gate(Wrong(kind), 10.0)


def test_the_published_gates_are_admissible():
    for gate in (Exponential(), Linear()):
        validate_gate(gate, 10.0)
    assert set(GATES) >= {"exp", "linear"}


def test_a_class_stands_in_its_registry_under_its_own_name(monkeypatch):
    monkeypatch.setitem(GATES, "ramp", Linear)
    with pytest.raises(ValueError, match="^gate='ramp'"):
        RunSpec(gate="ramp")
    bare = dataclasses.make_dataclass("Bare", [], bases=(Gate,), frozen=True)
    monkeypatch.setitem(GATES, "bare", bare)
    with pytest.raises(ValueError, match="^gate='bare'.*Bare"):
        RunSpec(gate="bare")


@dataclasses.dataclass(frozen=True)
class Jetless(Gate):
    name = "jetless"


def test_an_object_of_a_class_that_is_not_listed_says_how_to_list_it(monkeypatch):
    with pytest.raises(ValueError, match=r"^gate=.*GATES\['jetless'\] = Jetless"):
        RunSpec(gate=Jetless())
    nameless = dataclasses.make_dataclass("Nameless", [], bases=(Gate,), frozen=True)
    monkeypatch.setitem(GATES, "nameless", nameless)
    with pytest.raises(ValueError, match="^gate=Nameless.* a class with a `name`"):
        RunSpec(gate=nameless())


def test_a_gate_without_a_jet_or_with_one_for_arrays_only_is_refused(monkeypatch):
    monkeypatch.setitem(GATES, "jetless", Jetless)
    with pytest.raises(ValueError, match="^gate='jetless'.* no method jet"):
        RunSpec(gate="jetless")
    monkeypatch.setattr(Jetless, "jet", lambda self, t: Jet(np.log1p(t), t, t))
    with pytest.raises(ValueError, match="^gate='jetless'.* torch tensors"):
        RunSpec(gate="jetless")


def test_a_jet_of_plain_numbers_is_refused_with_the_reason(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Bare(Gate):
        name = "bare"

        def jet(self, t):
            return Jet(t, 1, 0)

    monkeypatch.setitem(GATES, "bare", Bare)
    with pytest.raises(ValueError, match="^gate='bare'.*torch tensors"):
        RunSpec(gate="bare")


def test_a_real_number_is_written_as_one_also_if_its_default_is_whole(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Slow(Gate):
        tau: float = 1
        name = "slow"

        def jet(self, t):
            return Jet(t / self.tau, torch.ones_like(t) / self.tau, torch.zeros_like(t))

    monkeypatch.setitem(GATES, "slow", Slow)
    assert RunSpec(gate="slow(tau=2)") == RunSpec(gate=Slow(2.0))
    assert RunSpec(gate="slow(tau=2)").gate == "slow(tau=2.0)"
    assert RunSpec(gate="slow(tau=1.0)").gate == "slow"
