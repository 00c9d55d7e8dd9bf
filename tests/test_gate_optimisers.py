"""The gap between the gates under three optimisers, from small tables by hand."""

import itertools

import pandas as pd
import pytest

from pinnlib.report import gate_optimisers
from pinnlib.report.gate_contrasts import optimiser_contrasts


def runs(model="adaptive", linear=2.0, ks=(20, 60), seeds=8, **columns):
    """Both gates; the linear one has that many times the error, and three times in the angle."""
    rows = []
    for gate, k, seed in itertools.product(("exp", "linear"), ks, range(seeds)):
        error = linear if gate == "linear" else 1.0
        row = {"model": model, "gate": gate, "k": k, "seed": seed, "status": "ok"}
        row |= {"rel_l2_u": error, "rel_l2_theta": error**2, "residual_mean": error * k}
        rows.append(row)
    return pd.DataFrame(rows).assign(**columns)


def newton(**options):
    """Two rounds of at most ten evaluations; two seeds of the adaptive trunk go on to eight."""
    fixed = runs("fixed", rounds=2, evaluations=7, **options)
    first = runs("adaptive", rounds=2, evaluations=20, **options)
    last = runs("adaptive", seeds=2, linear=3.0, rounds=8, evaluations=80)
    return pd.concat([fixed, first, last], ignore_index=True)


def test_optimisers_share_one_correction_and_have_the_angle_beside():
    found = optimiser_contrasts({"Adam": runs(), "SGD": runs()})
    for table in found.values():
        assert list(table["ratio"]) == [2, 2]
        assert list(table["angle_ratio"]) == pytest.approx([4, 4])
        assert list(table["p_holm"]) == pytest.approx(4 * table["p_raw"])


def test_a_run_that_used_every_evaluation_did_not_converge():
    counts = gate_optimisers.convergence(newton(), 10)
    assert counts.loc[("fixed", 2)].tolist() == [32, 32]
    assert counts.loc[("adaptive", 2)].tolist() == [0, 32]
    assert counts.loc[("adaptive", 8)].tolist() == [0, 8]


@pytest.mark.parametrize(
    "converged, text",
    [
        (0, "none of its 5 runs converged"),
        (2, "only 2 of its 5 runs converged"),
        (5, "all of its 5 runs converged"),
    ],
)
def test_convergence_in_words(converged, text):
    index = pd.MultiIndex.from_tuples([("fixed", 6)])
    counts = pd.DataFrame({"converged": [converged], "of": [5]}, index)
    assert gate_optimisers.convergence_text(counts, "fixed", 6) == text


def tables():
    methods = {"Adam": runs(), gate_optimisers.NEWTON: newton().query("rounds == 2")}
    return optimiser_contrasts(methods)


def test_ratios_have_the_converged_runs_and_those_that_went_on():
    ratios = gate_optimisers.optimiser_ratios(tables(), newton(), 2, 10)
    assert list(ratios.columns) == ["method", "model", "converged", 20, 60]
    assert ratios[["method", "model", "converged"]].values.tolist() == [
        ["Adam", "adaptive", ""],
        ["Levenberg–Marquardt", "adaptive", "0 of 32"],
        ["Levenberg–Marquardt", "fixed", "32 of 32"],
        ["L–M, 2 seeds, 2 rounds", "adaptive", "0 of 8"],
        ["L–M, 2 seeds, 8 rounds", "adaptive", "0 of 8"],
    ]
    assert ratios.loc[0, 20].startswith("2.00 [2.00, 2.00]")
    assert ratios.loc[4, 60] == "3.00"
    lines = gate_optimisers.latex_optimisers(ratios).splitlines()
    assert lines[2] == r"Method & Trunk & Converged & $k=20$ & $k=60$ \\"
    assert lines[5].startswith("L--M & adaptive & 0 of 32 & 2.00")
    assert lines[7] == r"\midrule"
    assert lines[9] == r"L--M, 2 seeds, 8 rounds & adaptive & 0 of 8 & 3.00 & 3.00 \\"


def test_numbers_of_the_gap():
    numbers = gate_optimisers.newton_numbers(tables(), 2, 10)
    assert numbers["gap_adam"] == pytest.approx(2)
    assert numbers["gap_newton"] == pytest.approx(2)
    assert numbers["gap_newton_asked"] == 4
    assert numbers["newton_rounds"] == 2
    assert numbers["newton_evaluations"] == 10


def test_gaps_of_single_seeds_are_missing_where_a_run_is_not_ok():
    part = runs()
    part.loc[(part["gate"] == "exp") & (part["seed"] == 3), "status"] = "diverged"
    gaps = gate_optimisers.optimiser_seed_gaps({"Adam": part}).set_index(["k", "seed"])
    assert gaps.loc[(20, 2), "ratio"] == 2
    assert gaps.loc[(20, 2), "angle_ratio"] == 4
    assert gaps["ratio"].isna().sum() == 2


def test_medians_of_state_and_angle():
    found = gate_optimisers.optimiser_medians({"Adam": runs(), "SGD": runs(linear=5.0)})
    row = found.loc[("adaptive", 20, "linear")]
    assert row["state", "SGD"] == 5
    assert row["angle", "Adam"] == 4
