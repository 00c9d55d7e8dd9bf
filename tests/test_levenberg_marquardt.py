"""Levenberg–Marquardt on the objective of a run, and the table of its solutions."""

import numpy as np
import pandas as pd
import pytest
import torch

from pinnlib import RunSpec, train
from pinnlib.analysis import levenberg_marquardt, ntk
from pinnlib.analysis.levenberg_marquardt import Residuals, minimised_runs, weights
from pinnlib.paths import ROOT
from pinnlib.training import Objective, initial_parameters


def residuals_at(spec, theta, times):
    """The residuals of a run, weighted as at these parameters."""
    return Residuals(spec, times, weights(spec, ntk.linearise(spec, theta, times)[1]))


@pytest.mark.parametrize("loss", ["balanced", "mse"])
def test_the_sum_of_squares_is_the_loss_that_training_minimises(loss):
    spec = RunSpec(loss=loss, precision="float64", points=63)
    theta = initial_parameters(spec)
    t = torch.linspace(0.1, 10, 63, dtype=torch.float64)
    drawn = torch.cat([t, torch.zeros(1, dtype=torch.float64)])[None]  # as Collocation gives it
    terms = Objective([spec]).terms(torch.nn.functional.pad(theta, (0, 30))[None], drawn)
    values = residuals_at(spec, theta, t.numpy()).values(theta)
    assert np.square(values).sum() == pytest.approx(terms["total"].item(), rel=1e-9)


def test_the_jacobian_is_that_of_the_values():
    spec = RunSpec(gate="linear")
    theta = initial_parameters(spec).double().numpy()
    residuals = Residuals(spec, np.linspace(0.5, 10, 7), np.array([[0.3], [2.0]]))
    J = residuals.jacobian(theta)
    for i in (0, 70, 129, 150):
        step = 1e-6 * np.eye(len(theta))[i]
        slope = (residuals.values(theta + step) - residuals.values(theta - step)) / 2e-6
        np.testing.assert_allclose(J[:, i], slope, rtol=1e-5, atol=1e-6 * np.abs(J).max())


def test_values_and_jacobian_at_one_point_are_computed_once(monkeypatch):
    calls = []
    linearise = ntk.linearise
    monkeypatch.setattr(ntk, "linearise", lambda *args: calls.append(args) or linearise(*args))
    spec = RunSpec(model="fixed")
    theta = initial_parameters(spec).double().numpy()
    residuals = Residuals(spec, np.linspace(1, 10, 3), np.ones((2, 1)))
    first = residuals.values(theta)
    first[:] = 0  # as MINPACK does
    residuals.jacobian(theta)
    assert len(calls) == 2  # residual and initial velocity
    assert np.any(residuals.values(theta) != 0)
    theta += 1  # the same array with other numbers
    residuals.values(theta)
    assert len(calls) == 4


@pytest.mark.slow
def test_the_solution_is_stationary_and_has_a_smaller_loss_than_adam():
    spec = RunSpec(model="fixed", loss="mse", steps=1500)
    (adam,) = train([spec])
    ((theta, used),) = levenberg_marquardt.levenberg_marquardt(spec, rounds=1, evaluations=200)
    assert used <= 200
    residuals = residuals_at(spec, theta, (np.arange(400) + 0.5) / 40)
    values = residuals.values(theta)
    theirs = residuals.values(adam.parameters)
    assert np.square(values).sum() < 0.9 * np.square(theirs).sum()
    J = residuals.jacobian(theta)
    lengths = np.linalg.norm(J, axis=0).clip(1e-12) * np.linalg.norm(values)
    cosines = np.abs(J.T @ values) / lengths
    assert cosines.max() < 0.05


def test_the_table_has_the_columns_of_the_committed_one():
    committed = pd.read_csv(ROOT / "data" / "gate_second_order.csv")
    table = minimised_runs([RunSpec(model="fixed", gate="linear")], rounds=(1,), evaluations=3)
    assert list(table) == list(committed)


def test_a_network_with_more_parameters_than_residuals_is_refused():
    with pytest.raises(ValueError, match="^model="):
        next(levenberg_marquardt.levenberg_marquardt(RunSpec(model="baseline")))
