"""Which solution a seed converges to, by hand."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from pinnlib import RunSpec, train
from pinnlib.analysis import samples
from pinnlib.report import basins
from pinnlib.report.standing_still import still_errors
from pinnlib.runs.record import record_of

RUN = {
    "lambda_ic": 50,
    "loss": "balanced",
    "model": "adaptive",
    "k": 20,
    "status": "ok",
    "residual_mean": 0.1,
    "velocity0_theta": 0.0,
}


def runs(gate, errors, **more):
    row = {"seed": range(len(errors)), "gate": gate, "rel_l2_u": errors, "rel_l2_theta": errors}
    return pd.DataFrame(row | RUN | more)


def together(*frames):
    return pd.concat(frames, ignore_index=True)


EXP = runs("exp", [0.02, 0.04])
LINEAR = runs("linear", [0.05, 0.25, 0.3, 0.9])
CASE = basins.assign_basins(together(EXP, LINEAR))


def test_a_seed_is_near_wrong_or_lost():
    assert CASE["basin"].tolist() == ["near", "near", "near", "wrong", "wrong", "lost"]


def test_the_table_has_the_range_of_every_basin():
    table = basins.basin_table(CASE)
    wrong = table.loc["linear", "wrong"]
    assert wrong["n"] == 2
    assert wrong["least"] == 0.25
    assert wrong["most"] == 0.3
    assert table["n"].sum() == 6


def test_a_run_that_diverged_is_in_no_basin():
    diverged = EXP.assign(status=["ok", "diverged"])
    assert basins.assign_basins(diverged)["seed"].tolist() == [0]


def test_an_empty_basin_is_counted():
    numbers = basins.basin_numbers(CASE[CASE["basin"] != "wrong"])
    assert numbers["basin_linear_lost_n"] == 1
    assert numbers["basin_linear_wrong_n"] == 0
    assert numbers["basin_linear_near_residual"] == 0.1
    assert np.isnan(numbers["basin_linear_wrong_residual"])


@pytest.mark.parametrize(
    "cell",
    [
        CASE.assign(status=["missing", "ok", "ok", "ok", "ok", "ok"]),
        CASE[:0],
    ],
)
def test_an_incomplete_cell_has_no_numbers(cell):
    numbers = basins.basin_numbers(cell)
    assert len(numbers) == 5
    assert np.isnan(list(numbers.values())).all()


def test_the_gap_of_the_means_over_all_seeds_and_near_the_reference():
    gaps = basins.mean_gaps(CASE)
    assert gaps["all"] == approx((0.05 + 0.25 + 0.3 + 0.9) / 4 - 0.03)
    assert gaps["near"] == approx(0.05 - 0.03)


def test_the_share_of_the_gap_that_is_the_basin():
    numbers = basins.gap_numbers(CASE)
    assert numbers["basin_gap_share"] == approx(1 - 0.02 / (1.5 / 4 - 0.03))


def test_basins_in_a_sentence():
    far = {"wrong_apart": 0.006, "wrong_away": 0.23}
    numbers = basins.basin_numbers(CASE) | basins.gap_numbers(CASE) | far
    text = basins.basin_text(numbers)
    assert "1 of 4 seeds lie near the reference and 2 on a wrong trajectory" in text
    assert text.endswith("the basin accounts for 94% of the gap.")
    near = numbers | {"basin_linear_wrong_n": 0, "basin_linear_lost_n": 0}
    assert basins.basin_text(near).endswith("1 of 1 seeds lie near the reference.")
    missing = dict.fromkeys(numbers, np.nan)
    assert "remains open" in basins.basin_text(missing)


def test_one_gate_alone_has_no_gap():
    one_gate = CASE[CASE["gate"] == "exp"]
    assert np.isnan(basins.mean_gaps(one_gate)["all"])


def test_the_spread_is_of_logarithms_and_of_complete_cells_only():
    complete = runs("exp", [0.1, 0.1 * np.e**2])
    lacking = runs("linear", [0.1, 0.2], status=["ok", "missing"])
    frame = together(complete, lacking)
    means = samples.summary_table(frame, "rel_l2_u")
    table = basins.error_spreads(frame, means).reset_index()
    assert table["gate"].tolist() == ["exp"]
    assert table["n"].tolist() == [2]
    assert table["spread"].tolist() == approx([np.sqrt(2)])


def test_odd_cells_are_counted_and_said():
    frame = together(runs("exp", [0.1, 0.11]), runs("linear", [0.1, 0.9], k=60))
    spreads = basins.error_spreads(frame, samples.summary_table(frame, "rel_l2_u"))
    numbers = basins.odd_numbers(spreads)
    assert numbers == {"odd_cells": 1, "all_cells": 2, "odd_linear": 1, "odd_soft": 0}
    assert basins.odd_text(numbers).startswith("In 1 of 2 cells the errors scatter")
    assert basins.odd_text(numbers | {"odd_cells": 0}).startswith("In none of 2 cells")


CURVES = pd.DataFrame({"a": [1.0, 1.0], "b": [3.0, 3.0]})
REFERENCE = np.array([2.0, 5.0])


def test_how_far_curves_are_from_each_other_and_from_the_reference():
    spread, offset = basins.spread_and_offset(CURVES, REFERENCE)
    assert spread == approx(1)
    assert offset == approx(np.sqrt(9 / 2))


def test_no_curves_have_no_spread():
    spread, offset = basins.spread_and_offset(CURVES[[]], REFERENCE)
    assert np.isnan(spread)
    assert np.isnan(offset)


def test_only_wrong_runs_are_measured():
    linear = pd.DataFrame({"key": ["a", "b"], "basin": ["near", "wrong"]})
    numbers = basins.wrong_numbers(linear, CURVES, REFERENCE)
    assert numbers["wrong_apart"] == approx(0)
    assert numbers["wrong_away"] == approx(np.sqrt((1 + 4) / 2))


def test_the_angle_of_a_record_is_that_of_its_run():
    (result,) = train(RunSpec(steps=5, points=20))
    record = record_of(result, {})
    key = record["key"]
    table = pd.DataFrame({"key": [key]})
    curves = basins.angles(table, {key: record}, np.array([0.0, 2.0]))
    expected = result.predict([0, 2])["theta"]
    assert list(curves.index) == [0, 2]
    assert curves[key].tolist() == expected.tolist()


def test_standing_still_by_hand():
    r, theta = RunSpec(k=20).reference.q
    squared_error = (r - r.mean()) ** 2 + theta**2
    squared_size = r**2 + theta**2
    share = squared_error.sum() / squared_size.sum()
    assert still_errors(20)["rel_l2_u"] == approx(np.sqrt(share))


COMPLETE = runs(
    "exp",
    [0.2, 0.4],
    model="baseline",
    max_ae_theta=[0.1, 3.1],
)
OPEN = runs(
    "linear",
    [0.2, np.nan],
    model="baseline",
    max_ae_theta=[3.1, np.nan],
    status=["ok", "missing"],
)
NETWORKS = basins.plain_networks(together(COMPLETE, OPEN))


def test_a_network_that_lacks_a_run_has_no_outcome():
    table = NETWORKS.loc[(50, 20)]
    complete = table.loc["exp"]
    lacking = table.loc["linear"]
    assert complete[["n", "needed", "turned"]].tolist() == [2, 2, 1]
    assert complete["error"] == approx(0.3)
    assert lacking[["n", "needed"]].tolist() == [1, 2]
    assert lacking[["error", "angle_error", "turned"]].isna().all()


def test_networks_are_measured_against_standing_still():
    numbers = basins.network_numbers(NETWORKS)
    share = 0.3 / still_errors(20)["rel_l2_u"]
    assert numbers["baseline_exp_over_still_low"] == approx(share)
    assert numbers["baseline_exp_turned"] == "1 of 2"
    assert numbers["baseline_linear_turned"] == "open"


def test_networks_in_a_sentence():
    assert "remains open" in basins.network_text(NETWORKS)
    linear = runs("linear", [0.2, 0.4], model="baseline", max_ae_theta=[3.1, 3.2])
    text = basins.network_text(basins.plain_networks(together(COMPLETE, linear)))
    assert "(of the angle alone 30% to 30%)" in text
    assert "turns over in 1 of 2 runs; with the linear gate it turns over in 2 of 2." in text


def test_without_networks_nothing_is_said_of_them():
    assert "remains open" in basins.network_text(NETWORKS[:0])
