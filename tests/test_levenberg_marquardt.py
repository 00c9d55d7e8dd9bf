"""Levenberg–Marquardt on the objective of a run, and the table of its solutions."""

from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import pad

from pinnlib import RunSpec, train
from pinnlib.analysis import ntk
from pinnlib.analysis.levenberg_marquardt import (
    Residuals,
    evaluate,
    levenberg_marquardt,
    minimised_runs,
    weights,
)
from pinnlib.paths import ROOT
from pinnlib.training import Objective, initial_parameters

MINIMISER = "pinnlib.analysis.levenberg_marquardt.levenberg_marquardt"
FIXED = RunSpec(model="fixed", gate="linear")


def residuals_at(spec, theta, times):
    """The residuals of a run, weighted as at these parameters."""
    _, e = ntk.linearise(spec, theta, times)
    return Residuals(spec, times, weights(spec, e))


@pytest.mark.parametrize("loss", ["balanced", "mse"])
def test_the_sum_of_squares_is_the_loss_that_training_minimises(loss):
    spec = RunSpec(loss=loss, precision="float64", points=63)
    theta = initial_parameters(spec)
    t = torch.linspace(0.1, 10, 63, dtype=torch.float64)
    drawn = pad(t, (0, 1))[None]  # as Collocation gives it
    row = theta[None]
    terms = Objective([spec]).terms(row, drawn)
    residuals = residuals_at(spec, theta, t.numpy())
    squares = np.square(residuals.values(theta))
    assert squares.sum() == pytest.approx(terms["total"].item(), rel=1e-9)


def test_the_jacobian_is_that_of_the_values():
    spec = RunSpec(gate="linear")
    theta = initial_parameters(spec).double().numpy()
    times = np.linspace(0.5, 10, 7)
    residuals = Residuals(spec, times, np.array([[0.3], [2.0]]))
    J = residuals.jacobian(theta)
    largest = np.abs(J).max()
    for i in (0, 70, 129, 150):
        step = np.zeros_like(theta)
        step[i] = 1e-6
        ahead = residuals.values(theta + step)
        behind = residuals.values(theta - step)
        slope = (ahead - behind) / 2e-6
        np.testing.assert_allclose(J[:, i], slope, rtol=1e-5, atol=1e-6 * largest)


def test_values_and_jacobian_at_one_point_are_computed_once(monkeypatch):
    calls = Mock(wraps=ntk.linearise)
    monkeypatch.setattr(ntk, "linearise", calls)
    spec = RunSpec(model="fixed")
    theta = initial_parameters(spec).double().numpy()
    residuals = Residuals(spec, np.linspace(1, 10, 3), np.ones((2, 1)))
    first = residuals.values(theta)
    first[:] = 0  # as MINPACK does
    residuals.jacobian(theta)
    assert calls.call_count == 2  # residual and initial velocity
    assert np.any(residuals.values(theta) != 0)
    theta += 1  # the same array with other numbers
    residuals.values(theta)
    assert calls.call_count == 4


@pytest.mark.slow
def test_the_solution_is_stationary_and_has_a_smaller_loss_than_adam():
    spec = RunSpec(model="fixed", loss="mse", steps=1500)
    (adam,) = train([spec])
    (solution,) = levenberg_marquardt(spec, rounds=1, evaluations=200)
    theta, used = solution
    assert used <= 200
    times = (np.arange(400) + 0.5) / 40
    residuals = residuals_at(spec, theta, times)
    values = residuals.values(theta)
    theirs = residuals.values(adam.parameters)
    length = np.linalg.norm(values)
    assert length**2 < 0.9 * np.linalg.norm(theirs) ** 2
    J = residuals.jacobian(theta)
    columns = np.linalg.norm(J, axis=0).clip(1e-12)
    cosines = np.abs(values @ J) / (columns * length)
    assert cosines.max() < 0.05


def test_the_table_has_the_columns_of_the_committed_one():
    committed = pd.read_csv(ROOT / "data" / "gate_second_order.csv")
    table = minimised_runs([FIXED], rounds=(1,), evaluations=3)
    assert list(table) == list(committed)


def test_a_network_with_more_parameters_than_residuals_is_refused():
    with pytest.raises(ValueError, match="^model="):
        next(levenberg_marquardt(RunSpec(model="baseline")))


@pytest.fixture(scope="module")
def three_rounds():
    """Parameters after each round: made once, MINPACK's steps do not repeat to the bit."""
    return list(levenberg_marquardt(FIXED, rounds=3, evaluations=20))


def test_outcomes_after_each_number_of_rounds_that_is_asked_for(three_rounds, monkeypatch):
    minimise = Mock(return_value=three_rounds)
    monkeypatch.setattr(MINIMISER, minimise)
    table = minimised_runs([FIXED], rounds=(1, 3), evaluations=20)
    minimise.assert_called_once_with(FIXED, 3, 20)
    assert table["rounds"].tolist() == [1, 3]
    first, _, third = three_rounds  # MINPACK may stop before the last evaluation
    assert table["evaluations"].tolist() == [first[1], third[1]]
    assert table["rel_l2_u"].nunique() == 2
    for row, (theta, _) in zip(table.to_dict("records"), (first, third), strict=True):
        assert row.items() >= evaluate(FIXED, theta).items()


def test_runs_that_are_known_are_not_minimised_again(three_rounds, monkeypatch):
    minimise = Mock(return_value=three_rounds)
    monkeypatch.setattr(MINIMISER, minimise)
    known = minimised_runs([FIXED], (1, 3), 20)
    other = RunSpec(model="fixed", gate="linear", seed=1)
    keep = Mock()
    table = minimised_runs([FIXED, other], (1, 3), 20, known=known, keep=keep)
    assert minimise.call_count == 2
    minimise.assert_called_with(other, 3, 20)
    assert table["seed"].tolist() == [0, 0, 1, 1]
    keep.assert_called_once()
    assert keep.call_args.args[0].equals(table)
