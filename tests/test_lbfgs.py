"""L-BFGS after the updates: known minima, the loss of a run, its history and its seconds."""

import dataclasses
import types

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from pinnlib import RunSpec, train, training
from pinnlib.optimisers import lbfgs
from pinnlib.training import Objective, train_batch

FLOAT = torch.float64
SHORT = {"precision": "float64", "steps": 20, "points": 60}


# Known minima


CENTRE = torch.linspace(-2, 3, 6, dtype=FLOAT)
STIFFNESS = 10.0 ** torch.arange(6, dtype=FLOAT)


def valley(theta):
    """½ Σ c_i (θ_i − m_i)², with c from 1 to 10⁵; (runs,)."""
    return (STIFFNESS * (theta - CENTRE) ** 2).sum(dim=1) / 2


def test_the_minimum_of_a_quadratic_function():
    start = torch.zeros(1, 6, dtype=FLOAT)
    found, iterations = lbfgs(valley, start, 500)
    assert found.shape == (1, 6)
    assert_allclose(found[0], CENTRE, rtol=1e-7)
    assert 6 <= iterations <= 500
    assert not start.any()


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_iterations_than_asked(limit):
    start = torch.zeros(1, 6, dtype=FLOAT)
    found, iterations = lbfgs(valley, start, limit)
    assert iterations == limit
    assert valley(found) < valley(start)


# Runs


def fixed_times(spec):
    """T/n, 2T/n, …, T, and 0 at the end."""
    inner = np.arange(1, spec.points + 1) * spec.horizon / spec.points
    return torch.tensor([[*inner, 0.0]])


def refined_and_plain(spec, iterations):
    """The results with and without L-BFGS."""
    (plain,) = train(spec)
    (refined,) = train(dataclasses.replace(spec, lbfgs=iterations))
    return refined, plain


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "adaptive", "loss": "balanced"},
        {"model": "fixed", "form": "soft", "loss": "mse"},
        {"model": "baseline(hidden=16)", "form": "shifted", "loss": "balanced"},
        {"system": "quartic", "k": 2.0, "loss": "weighted(weights=(2.0,))"},
    ],
)
def test_lbfgs_lowers_the_loss_at_fixed_times(settings):
    refined, plain = refined_and_plain(RunSpec(**settings, **SHORT), 8)
    *before, last = refined.history.to_dict("records")
    assert before == plain.history.to_dict("records")
    assert last["update"] == 28
    assert refined.status == "ok"

    objective = Objective([refined.spec], fixed=True)  # its scales: before L-BFGS
    times = fixed_times(refined.spec)
    terms = []
    for parameters in (plain.parameters, refined.parameters):
        theta = torch.from_numpy(parameters)[None]
        objective.resolve(theta)
        terms.append(objective.terms(theta, times))
    first, expected = terms
    assert last["total"] < 0.9 * first["total"].item()
    assert last.keys() - {"update"} == expected.keys()
    for name, value in expected.items():
        assert last[name] == pytest.approx(value.item(), rel=1e-9)


def test_lbfgs_is_the_same_alone_and_in_a_batch():
    specs = [RunSpec(k=k, seed=seed, lbfgs=5, **SHORT) for k, seed in ((20, 0), (60, 1))]
    for result in train_batch(specs):
        (alone,) = train_batch([result.spec])
        assert np.array_equal(alone.parameters, result.parameters)
        assert alone.history.equals(result.history)


def test_snapshots_are_those_before_lbfgs():
    spec = RunSpec(lbfgs=5, **SHORT)
    (result,) = train(spec, snapshots=(20,))
    (plain,) = train(dataclasses.replace(spec, lbfgs=0))
    assert np.array_equal(result.snapshots[20], plain.parameters)
    assert not np.array_equal(result.parameters, plain.parameters)


def test_a_run_takes_its_share_of_the_updates_and_its_own_lbfgs(monkeypatch):
    """By a clock that only L-BFGS moves: 5 seconds for the first run, 10 for the second."""
    calls = []

    def slow(function, theta, iterations):
        calls.append(iterations)
        return theta, iterations - 1

    clock = types.SimpleNamespace(perf_counter=lambda: 5.0 * len(calls) * (len(calls) + 1) / 2)
    monkeypatch.setattr(training, "lbfgs", slow)
    monkeypatch.setattr(training, "time", clock)
    specs = [RunSpec(k=k, lbfgs=7, **SHORT) for k in (20, 60)]
    results = train_batch(specs)
    assert [result.seconds for result in results] == [5, 10]
    assert [result.history["update"].iloc[-1] for result in results] == [26, 26]
    assert calls == [7, 7]


def test_lbfgs_after_a_divergence_is_a_divergence():
    (result,) = train(RunSpec(lr=1e300, lbfgs=5, **SHORT))
    assert result.status == "diverged"
    assert np.isnan(list(result.metrics.values())).all()
