"""Measurements of notebook 07, from runs whose errors are known."""

import itertools

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec
from pinnlib.report import loss_measurements
from pinnlib.report.loss_rules import FROZEN

WEIGHTED = {weight: f"weighted(weights=(1.0, {weight}))" for weight in (0.01, 0.1, 10.0, 100.0)}
LOSSES = [*WEIGHTED.values(), "mse", FROZEN, "balanced"]


def runs(gap, seeds=4, losses=LOSSES):
    """Errors of exp are 0.1, those of linear gap(loss, seed) times as large; one cell."""
    rows = []
    for loss, seed, gate in itertools.product(losses, range(seeds), ("exp", "linear")):
        error = 0.1 * (gap(loss, seed) if gate == "linear" else 1)
        row = {
            "k": 20,
            "lambda_ic": 50,
            "loss": loss,
            "gate": gate,
            "seed": seed,
            "status": "ok",
        }
        errors = {
            "rel_l2_u": error,
            "rel_l2_r": error,
            "rel_l2_theta": error**2,
        }
        rows.append(row | errors)
    return pd.DataFrame(rows)


def falling(loss, seed):
    """Passes 1 at a weight of 2; balancing losses have 3."""
    weight = loss_measurements.theta_weight(loss)
    return 3.0 if np.isnan(weight) else (weight / 2) ** -0.5


def test_the_weight_of_an_angle_and_the_name_of_a_loss():
    names = [loss_measurements.loss_label(loss) for loss in LOSSES]
    weights = [f"weight {weight:g}" for weight in WEIGHTED]
    assert names == [*weights, "mse", "frozen", "balanced"]
    assert loss_measurements.theta_weight("weighted(weights=(2.0, 1.0))") == 0.5
    assert loss_measurements.theta_weight("mse") == 1
    assert np.isnan(loss_measurements.theta_weight(FROZEN))


def test_losses_come_by_weight_and_the_balanced_one_last():
    ordered = loss_measurements.in_order(sorted(LOSSES))
    assert ordered == [WEIGHTED[0.01], WEIGHTED[0.1], "mse", *LOSSES[2:4], FROZEN, "balanced"]


def test_gaps_have_a_family_of_tests_for_every_error():
    gaps = loss_measurements.loss_gaps(runs(falling, seeds=8))
    assert len(gaps) == 3 * len(LOSSES)
    state = gaps[gaps["metric"] == "rel_l2_u"].set_index("loss")
    angle = gaps[gaps["metric"] == "rel_l2_theta"].set_index("loss")
    assert state.loc["balanced", "ratio"] == pytest.approx(3)
    assert angle.loc["balanced", "ratio"] == pytest.approx(9)
    assert state["p_holm"].min() == pytest.approx(len(LOSSES) * 2 / 2**8)


def test_gaps_by_seed_are_unknown_where_a_run_is_not_ok():
    table = runs(lambda loss, seed: seed + 1.0, seeds=2, losses=["mse"])
    table.loc[0, "status"] = "diverged"
    found = loss_measurements.seed_gaps(table)
    assert found["ratio"].isna().tolist() == [True, False]
    assert found["ratio"][1] == pytest.approx(2)


def test_medians_have_intervals_unless_a_run_is_missing():
    table = runs(lambda loss, seed: seed + 1.0, seeds=5, losses=["mse"])
    found = loss_measurements.loss_medians(table).set_index(["gate", "metric"])
    linear = found.loc[("linear", "rel_l2_u")]
    assert linear["median"] == pytest.approx(0.3)
    assert linear["low"] < linear["median"] < linear["high"]
    table.loc[table["gate"] == "linear", "status"] = "missing"
    found = loss_measurements.loss_medians(table).set_index(["gate", "metric"])
    assert np.isnan(found.loc[("linear", "rel_l2_u"), "median"])
    assert found.loc[("exp", "rel_l2_u"), "median"] == pytest.approx(0.1)


def test_a_pendulum_that_stands_still_misses_all_of_its_angle():
    found = loss_measurements.errors_of_standing_still([RunSpec(k=60), RunSpec(k=20)])
    assert found.index.tolist() == [20, 60]
    assert found["rel_l2_theta"].tolist() == pytest.approx([1, 1])
    assert (found["rel_l2_r"] < found["rel_l2_u"]).all()


def test_the_weight_at_which_the_winner_changes_is_interpolated_on_logarithmic_scales():
    found = loss_measurements.turning_weights(runs(falling)).set_index("metric")
    state = found.loc["rel_l2_u"]
    assert state["changes"] == 1
    assert state["weight"] == pytest.approx(2)
    assert [state["low"], state["high"]] == pytest.approx([2, 2])  # all seeds are alike
    assert state["one_in"] == 1


def test_the_interval_of_that_weight_comes_from_the_seeds():
    spread = [0.5, 0.9, 1.1, 2.0]
    table = runs(lambda loss, seed: falling(loss, seed) * spread[seed])
    row = loss_measurements.turning_weights(table).iloc[0]
    assert row["low"] < row["weight"] < row["high"]


def test_no_change_two_changes_and_missing_runs():
    always = loss_measurements.turning_weights(runs(lambda loss, seed: 2.0)).iloc[0]
    assert always["changes"] == 0
    assert np.isnan(always["weight"])
    dip = runs(lambda loss, seed: 0.5 if loss == "mse" else 2.0)
    twice = loss_measurements.turning_weights(dip).iloc[0]
    assert twice["changes"] == 2
    assert np.isnan(twice["weight"])
    dip.loc[dip["loss"] == "mse", "status"] = "missing"
    assert np.isnan(loss_measurements.turning_weights(dip).iloc[0]["changes"])


def record(spec, rms_r, rms_theta):
    history = {
        "update": [1, 500],
        "physics": [2.0, 1.0],
        "velocity": [0.0, 0.0],
    }
    history |= {
        "rms_r": rms_r,
        "rms_theta": rms_theta,
    }
    return {"key": spec.key, "spec": spec.overrides, "status": "ok", "history": history}


def weights_of_two_runs():
    moving, frozen = RunSpec(), RunSpec(loss=FROZEN)
    missing, fixed = RunSpec(seed=1), RunSpec(loss="mse")
    records = {spec.key: record(spec, [4.0, 3.0], [2.0, 1.0]) for spec in (moving, frozen, fixed)}
    return loss_measurements.effective_weights([moving, frozen, missing, fixed], records)


def test_effective_weights_are_ratios_of_squares_and_frozen_ones_stay():
    table = weights_of_two_runs()
    by_loss = table.groupby("loss")
    assert by_loss["weight"].apply(list).to_dict() == {"balanced": [4, 9], FROZEN: [4, 4]}
    assert table.loc[table["loss"] == "balanced", "sum"].tolist() == [5 / 16, 10 / 9]
    assert set(table["seed"]) == {0}


def test_bands_go_from_the_smallest_to_the_largest():
    one = weights_of_two_runs()
    two = one.assign(
        seed=1,
        weight=3 * one["weight"],
    )
    bands = loss_measurements.weight_bands(pd.concat([one, two], ignore_index=True))
    row = bands[(bands["loss"] == "balanced") & (bands["update"] == 500)].iloc[0]
    assert row["runs"] == 2
    assert row[["low", "weight", "high"]].tolist() == [9, 18, 27]


def effective(exp, linear):
    rows = [("exp", exp), ("linear", linear)]
    table = pd.DataFrame(
        rows,
        columns=["gate", "weight"],
    )
    return table.assign(
        lambda_ic=50,
        k=20,
        loss="balanced",
        seed=0,
        update=1,
        sum=1.0,
    )


def rising(loss, seed):
    """The gap is the weight itself; under balancing 5, with some spread."""
    weight = loss_measurements.theta_weight(loss)
    return (0.9, 1.0, 1.0, 1.1)[seed] * (5.0 if np.isnan(weight) else weight)


@pytest.mark.parametrize(
    "linear, fixed, inside, same",
    [(5.0, 5, True, True), (50.0, 50, False, True), (0.05, 0.05, False, False)],
)
def test_a_balancing_loss_beside_the_fixed_weights_of_either_gate(linear, fixed, inside, same):
    table = runs(rising)
    gaps = loss_measurements.loss_gaps(table)
    # Errors of exp do not depend on the weight, so its own makes no difference.
    row = loss_measurements.beside_fixed(table, gaps, effective(0.02, linear)).iloc[0]
    assert row["fixed"] == pytest.approx(fixed)
    assert row["ratio"] == pytest.approx(5)
    assert row["inside"] == inside
    assert row["same_winner"] == same
    assert row["weight_linear"] == linear


@pytest.mark.parametrize("exp, status", [(1e4, "ok"), (1.0, "missing")])
def test_outside_the_fixed_weights_or_without_runs_nothing_is_said(exp, status):
    table = runs(rising)
    table.loc[table["loss"] == "mse", "status"] = status
    gaps = loss_measurements.loss_gaps(table)
    row = loss_measurements.beside_fixed(table, gaps, effective(exp, 5.0)).iloc[0]
    assert np.isnan(row["fixed"])
    assert row[["inside", "same_winner"]].isna().all()


def test_the_control_is_one_family():
    table = runs(rising, losses=["mse", "balanced"]).assign(k=1.0)
    found = loss_measurements.control_gaps(table).set_index("loss")
    assert found["ratio"].to_dict() == pytest.approx({"mse": 1.0, "balanced": 5.0})
    assert found.loc["balanced", "p_holm"] == pytest.approx(2 * 2 / 2**4)
