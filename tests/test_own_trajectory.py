"""Runs against the solution that starts with their own initial velocity."""

import numpy as np
import pytest

from pinnlib import RunSpec, train
from pinnlib.report.own_trajectory import own_trajectory, with_own_trajectory
from pinnlib.runs.record import record_of

SOFT = RunSpec(lambda_ic=0, steps=30, points=200)
HARD = RunSpec(lambda_ic=0, steps=30, points=200, hard_velocity=True)


def test_the_speed_is_that_of_the_run_at_the_start():
    (result,) = train([SOFT])
    found = own_trajectory(SOFT, record_of(result, {}))
    start = result.predict([0.0]).iloc[0]
    speed = np.hypot(start["r_t"], start["theta_t"])
    assert found["speed"] == pytest.approx(speed)


def test_the_own_trajectory_of_a_run_that_starts_at_rest_is_the_reference():
    (result,) = train([HARD])
    record = record_of(result, {})
    found = own_trajectory(HARD, record)
    assert found["speed"] < 1e-12
    for name in ("rel_l2_u", "rel_l2_theta"):
        assert found[f"own_{name}"] == pytest.approx(result.metrics[name])
    table = with_own_trajectory([SOFT, HARD], {HARD.key: record})
    assert table["status"].tolist() == ["missing", "ok"]
    assert table["own_rel_l2_theta"].isna().tolist() == [True, False]
    assert table["rel_l2_theta"].iloc[1] == result.metrics["rel_l2_theta"]
