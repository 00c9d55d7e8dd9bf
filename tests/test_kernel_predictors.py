"""Predictors of the winning gate and the rule of notebook 05, on made-up kernels."""

import functools

import numpy as np
import pandas as pd
import pytest
from run_tables import runs, together, without_one_run

from pinnlib.report import kernel_predictors


@functools.cache
def measured_with(effect, level):
    """Predictors from kernels of 6 stiffnesses and 12 seeds.

    The trace under the linear gate depends on the final ratio (`effect`) or on k (`level`).
    """
    draw = np.random.default_rng(1)
    rows, pairs = [], []
    for k in range(6):
        for seed in range(12):
            ratio = draw.standard_normal() + (k - 2.5) * level
            pairs.append({"k": k, "seed": seed, "log_ratio": ratio})
            for gate in ("exp", "linear"):
                row = {
                    name: float(np.exp(draw.standard_normal()))
                    for name in kernel_predictors.QUANTITIES
                }
                row["trace"] = 1.0
                if gate == "linear":
                    row["trace"] = float(np.exp(effect * ratio + level * k))
                rows.append({"k": k, "seed": seed, "gate": gate, "update": 0} | row)
    return kernel_predictors.predictors(pd.DataFrame(rows), pd.DataFrame(pairs), [0])


@pytest.mark.parametrize(
    "effect, level, answer", [(1.0, 0.0, "yes"), (0.0, 0.0, "no"), (0.0, 1.0, "unclear")]
)
def test_the_rule_says_yes_no_and_unclear(effect, level, answer):
    found, rows = kernel_predictors.verdict(measured_with(effect, level))
    assert found == answer
    assert ("trace" in set(rows["quantity"])) == (answer != "no")


def test_where_nothing_can_be_compared_the_question_stays_open():
    found = measured_with(0.0, 30.0)  # every seed goes with its k
    assert found["auc_within_k"].isna().all()
    assert kernel_predictors.verdict(found)[0] == "open"


def test_on_opposite_sides_is_unclear():
    found = measured_with(1.0, 0.0)
    turned = found.assign(
        auc_all=1 - found["auc_all"], low_all=1 - found["high_all"], high_all=1 - found["low_all"]
    )
    assert kernel_predictors.verdict(found)[0] == "yes"
    assert kernel_predictors.verdict(turned)[0] == "unclear"


def test_what_is_quoted_of_the_verdict():
    found = measured_with(1.0, 0.0)
    numbers = kernel_predictors.verdict_numbers(found)
    assert numbers["kernel_predicts"] == "yes"
    assert numbers["kernel_asked"] == len(kernel_predictors.QUANTITIES)
    assert numbers["kernel_strong"] == 1
    assert numbers["kernel_quantities"] == len(kernel_predictors.QUANTITIES)
    assert numbers["kernel_clear"] >= 1
    assert numbers["kernel_clear_within_k"] >= 1


def test_pairs_are_counted_with_what_k_knows_and_the_winner_by_the_angle():
    # exp wins at k = 20 but for the last seed; linear at k = 60; one run is missing.
    soft = runs([1, 1, 1, 9], [2, 2, 2, 2])
    stiff = runs([5, 5, 5, 5], [2, 2, 2, 2], k=60.0)
    table = without_one_run(together(soft, stiff), "missing")
    table.loc[table["seed"] == 0, "rel_l2_theta"] = [1, 2, 1, 2]  # exp wins both
    numbers = kernel_predictors.pair_numbers(table)
    assert numbers == {
        "kernel_pairs": 7,
        "kernel_pairs_needed": 8,
        "kernel_fewest_seeds": 4,
        "kernel_exp_wins": 3,
        "kernel_angle_same_winner": "6 of 7",
        "kernel_by_k_alone": 1,
        "kernel_minority": 0,
    }
