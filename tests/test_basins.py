"""Where seeds end, by hand."""

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec, train
from pinnlib.analysis import paired
from pinnlib.report import basins
from pinnlib.runs.record import record_of

CELL = {"lambda_ic": 50, "loss": "balanced", "model": "adaptive", "k": 20}


def runs(gate, errors, **more):
    return pd.DataFrame(
        {
            "seed": range(len(errors)),
            "gate": gate,
            "rel_l2_u": errors,
            "status": "ok",
            "residual_mean": 0.1,
            "velocity0_theta": 0.0,
        }
        | CELL
        | more
    )


CASE = basins.sorted_into(
    pd.concat(
        [runs("exp", [0.02, 0.04]), runs("linear", [0.05, 0.25, 0.3, 0.9])], ignore_index=True
    )
)


def test_a_seed_is_near_wrong_or_lost():
    assert CASE["basin"].tolist() == ["near", "near", "near", "wrong", "wrong", "lost"]
    table = basins.basins(CASE)
    assert table.loc[("linear", "wrong"), ["n", "least", "most"]].tolist() == [2, 0.25, 0.3]
    assert table["n"].sum() == 6
    assert basins.sorted_into(runs("exp", [0.02, 0.04]).assign(status=["ok", "diverged"]))[
        "seed"
    ].tolist() == [0]


def test_an_empty_basin_is_counted_and_an_incomplete_cell_is_not():
    told = basins.quoted(CASE)
    assert (
        told["basin_linear_wrong_n"],
        told["basin_exp_lost_n"],
        told["basin_linear_near_residual"],
    ) == (2, 0, 0.1)
    assert np.isnan(told["basin_exp_lost_residual"])
    lacking = CASE.assign(status=["missing", *["ok"] * 5])
    assert all(np.isnan(value) for value in basins.quoted(lacking).values())
    assert all(np.isnan(value) for value in basins.quoted(CASE[:0]).values())


def test_the_gap_of_the_means_over_all_seeds_and_near_the_reference():
    assert basins.gaps(CASE) == pytest.approx(
        {"all": (0.05 + 0.25 + 0.3 + 0.9) / 4 - 0.03, "near": 0.05 - 0.03}
    )
    assert np.isnan(basins.gaps(CASE[CASE["gate"] == "exp"])["all"])


def test_the_spread_is_of_logarithms_and_of_complete_cells_only():
    whole, lacking = (
        runs("exp", [0.1, 0.1 * np.e**2]),
        runs("linear", [0.1, 0.2]).assign(status=["ok", "missing"]),
    )
    frame = pd.concat([whole, lacking], ignore_index=True)
    table = basins.spreads(frame, paired.summary_table(frame, "rel_l2_u")).reset_index()
    assert table["gate"].tolist() == ["exp"]
    assert table["n"].tolist() == [2]
    assert table["spread"].tolist() == pytest.approx([np.sqrt(2)])


def test_how_far_curves_are_from_each_other_and_from_the_reference():
    curves = pd.DataFrame({"a": [1.0, 1.0], "b": [3.0, 3.0]})
    assert basins.apart_and_away(curves, np.array([2.0, 5.0])) == pytest.approx((1, np.sqrt(9 / 2)))
    assert np.isnan(basins.apart_and_away(curves[[]], np.array([2.0, 5.0]))).all()


def test_the_angle_of_a_record_is_that_of_its_run():
    (result,) = train(RunSpec(steps=5, points=20))
    record = record_of(result, {})
    curves = basins.angles(
        pd.DataFrame({"key": [record["key"]]}), {record["key"]: record}, np.array([0.0, 2.0])
    )
    assert list(curves.index) == [0, 2]
    assert curves[record["key"]].tolist() == result.predict([0, 2])["theta"].tolist()


def test_standing_still_by_hand():
    spec = RunSpec(k=20)
    (r, theta), still = spec.reference.q, basins.standing_still(20)
    assert still == pytest.approx(
        np.sqrt(((r - r.mean()) ** 2 + theta**2).sum() / (r**2 + theta**2).sum())
    )
    assert 0 < still < 1


def test_a_network_that_lacks_a_run_has_no_outcome():
    there = runs("exp", [0.2, 0.4], model="baseline", max_ae_theta=[0.1, 3.1])
    lacking = runs("linear", [0.2, np.nan], model="baseline", max_ae_theta=[3.1, np.nan]).assign(
        status=["ok", "missing"]
    )
    table = basins.networks(pd.concat([there, lacking], ignore_index=True))
    assert table.loc[(50, 20, "exp"), ["n", "needed", "error", "turned"]].tolist() == [
        2,
        2,
        pytest.approx(0.3),
        1,
    ]
    assert table.loc[(50, 20, "linear"), ["n", "needed"]].tolist() == [1, 2]
    assert table.loc[(50, 20, "linear"), ["error", "turned"]].isna().all()
