"""Which solution a seed converges to, by hand."""

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec, train
from pinnlib.analysis import paired
from pinnlib.report import basins
from pinnlib.runs.record import record_of

CELL = {"lambda_ic": 50, "loss": "balanced", "model": "adaptive", "k": 20}
RUN = CELL | {"status": "ok", "residual_mean": 0.1, "velocity0_theta": 0.0}


def runs(gate, errors, **more):
    row = {"seed": range(len(errors)), "gate": gate, "rel_l2_u": errors}
    return pd.DataFrame(row | RUN | more)


FRAMES = [runs("exp", [0.02, 0.04]), runs("linear", [0.05, 0.25, 0.3, 0.9])]
CASE = basins.assign_basins(pd.concat(FRAMES, ignore_index=True))


def test_a_seed_is_near_wrong_or_lost():
    assert CASE["basin"].tolist() == ["near", "near", "near", "wrong", "wrong", "lost"]
    table = basins.basin_table(CASE)
    assert table.loc[("linear", "wrong"), ["n", "least", "most"]].tolist() == [2, 0.25, 0.3]
    assert table["n"].sum() == 6


def test_a_run_that_diverged_is_in_no_basin():
    diverged = runs("exp", [0.02, 0.04], status=["ok", "diverged"])
    assert basins.assign_basins(diverged)["seed"].tolist() == [0]


def test_an_empty_basin_is_counted():
    numbers = basins.basin_numbers(CASE[CASE["basin"] != "wrong"])
    assert numbers["basin_linear_lost_n"] == 1
    assert numbers["basin_linear_wrong_n"] == 0
    assert numbers["basin_linear_near_residual"] == 0.1
    assert np.isnan(numbers["basin_linear_wrong_residual"])


@pytest.mark.parametrize("cell", [CASE.assign(status=["missing", *["ok"] * 5]), CASE[:0]])
def test_an_incomplete_cell_has_no_numbers(cell):
    numbers = basins.basin_numbers(cell)
    assert len(numbers) == 5
    assert np.isnan(list(numbers.values())).all()


def test_the_gap_of_the_means_over_all_seeds_and_near_the_reference():
    gaps = basins.mean_gaps(CASE)
    assert gaps["all"] == pytest.approx((0.05 + 0.25 + 0.3 + 0.9) / 4 - 0.03)
    assert gaps["near"] == pytest.approx(0.05 - 0.03)
    assert np.isnan(basins.mean_gaps(CASE[CASE["gate"] == "exp"])["all"])


def test_the_spread_is_of_logarithms_and_of_complete_cells_only():
    complete = runs("exp", [0.1, 0.1 * np.e**2])
    lacking = runs("linear", [0.1, 0.2], status=["ok", "missing"])
    frame = pd.concat([complete, lacking], ignore_index=True)
    table = basins.error_spreads(frame, paired.summary_table(frame, "rel_l2_u")).reset_index()
    assert table["gate"].tolist() == ["exp"]
    assert table["n"].tolist() == [2]
    assert table["spread"].tolist() == pytest.approx([np.sqrt(2)])


def test_how_far_curves_are_from_each_other_and_from_the_reference():
    curves = pd.DataFrame({"a": [1.0, 1.0], "b": [3.0, 3.0]})
    reference = np.array([2.0, 5.0])
    assert basins.spread_and_offset(curves, reference) == pytest.approx((1, np.sqrt(9 / 2)))
    assert np.isnan(basins.spread_and_offset(curves[[]], reference)).all()


def test_the_angle_of_a_record_is_that_of_its_run():
    (result,) = train(RunSpec(steps=5, points=20))
    record = record_of(result, {})
    key = record["key"]
    curves = basins.angles(pd.DataFrame({"key": [key]}), {key: record}, np.array([0.0, 2.0]))
    assert list(curves.index) == [0, 2]
    assert curves[key].tolist() == result.predict([0, 2])["theta"].tolist()


def test_standing_still_by_hand():
    r, theta = RunSpec(k=20).reference.q
    error = np.sqrt(((r - r.mean()) ** 2 + theta**2).sum() / (r**2 + theta**2).sum())
    assert basins.standing_still_error(20) == pytest.approx(error)


COMPLETE = runs("exp", [0.2, 0.4], model="baseline", max_ae_theta=[0.1, 3.1])
OPEN = runs("linear", [0.2, np.nan], model="baseline", max_ae_theta=[3.1, np.nan])
NETWORKS = pd.concat([COMPLETE, OPEN.assign(status=["ok", "missing"])], ignore_index=True)


def test_a_network_that_lacks_a_run_has_no_outcome():
    table = basins.plain_networks(NETWORKS).loc[(50, 20)]
    assert table.loc["exp", ["n", "needed", "turned"]].tolist() == [2, 2, 1]
    assert table.loc["exp", "error"] == pytest.approx(0.3)
    assert table.loc["linear", ["n", "needed"]].tolist() == [1, 2]
    assert table.loc["linear", ["error", "turned"]].isna().all()


def test_networks_are_measured_against_standing_still():
    numbers = basins.network_numbers(basins.plain_networks(NETWORKS))
    share = 0.3 / basins.standing_still_error(20)
    assert numbers["baseline_exp_over_still_low"] == pytest.approx(share)
    assert numbers["baseline_exp_turned"] == "1 of 2"
    assert numbers["baseline_linear_turned"] == "open"
