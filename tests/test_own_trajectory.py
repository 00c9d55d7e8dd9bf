"""Runs against the solution that starts with their own initial velocity."""

import numpy as np
import pytest

from pinnlib import RunSpec, train
from pinnlib.report import own_trajectory
from pinnlib.runs.record import record_of


@pytest.mark.slow
def test_a_run_is_compared_with_the_solution_from_its_own_velocity():
    spec = RunSpec(lambda_ic=0, steps=300, points=200)
    (result,) = train([spec])
    found = own_trajectory.own_trajectory(spec, record_of(result, {}))
    state = result.predict([0.0])
    assert found["speed"] == pytest.approx(np.hypot(state["r_t"][0], state["theta_t"][0]))
    # starts at rest: its own trajectory is the reference
    hard = RunSpec(lambda_ic=0, steps=300, points=200, hard_velocity=True)
    (result,) = train([hard])
    found = own_trajectory.own_trajectory(hard, record_of(result, {}))
    assert found["speed"] < 1e-12
    assert found["own_rel_l2_u"] == pytest.approx(result.metrics["rel_l2_u"])
    table = own_trajectory.with_own_trajectory([spec, hard], {hard.key: record_of(result, {})})
    assert list(table["status"]) == ["missing", "ok"]
    assert list(table["own_rel_l2_u"].isna()) == [True, False]
