"""Tables of paired tests and effect sizes: by hand, and open where a run is not ok."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from pytest import approx
from run_tables import BOTH_K, NOT_OK, both_k, runs, together, without_one_run

from pinnlib.analysis import estimates, paired, samples

OPEN = [True, True, False, False]  # which of the four tests lack a run


# --- effect sizes ---


def test_effect_sizes_by_hand():
    # exp 1, 1, 2, 8 and linear 2, 3, 2, 4: d = 1, 2, 0, −4.
    # The (d_i + d_j)/2 are −4, −2, −1.5, −1, 0, 0.5, 1, 1, 1.5, 2: median 0.25.
    # Without the zero |d| has ranks 1, 2, 3: (3 − 3)/6 = 0.
    # log(linear/exp) = log 2, log 3, 0, −log 2: median log(2)/2.
    expected = {
        "median_difference": 0.5,
        "hodges_lehmann": 0.25,
        "rank_biserial": 0,
        "median_log_ratio": np.log(2) / 2,
    }
    table = paired.effect_sizes(runs([1, 1, 2, 8], [2, 3, 2, 4]), ks=None)
    row = table.iloc[0]
    assert row["metric"] == "max_ae_u"
    assert set(estimates.EFFECTS) == set(expected)
    for name, value in expected.items():
        assert row[name] == approx(value)
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]


def test_bootstrap_is_the_same_every_time():
    frame = both_k()
    shuffled = frame.sample(frac=1, random_state=1)
    assert_frame_equal(paired.effect_sizes(frame, BOTH_K), paired.effect_sizes(shuffled, BOTH_K))


# --- the table of tests ---


def test_gate_tests_over_two_stiffnesses():
    tests = paired.gate_tests(both_k(), BOTH_K)
    assert tests["k"].tolist() == [20, 20, 60, 60]
    assert tests["metric"].tolist() == ["max_ae_u", "rel_l2_u"] * 2
    assert tests["winner"].tolist() == ["exp", "exp", "linear", "linear"]
    assert tests["n"].tolist() == [8] * 4
    assert tests["note"].tolist() == [""] * 4
    assert tests["p_raw"].tolist() == approx([2 * 2.0**-8] * 4)
    assert tests["p_holm"].tolist() == approx([8 * 2.0**-8] * 4)
    assert (tests["mean_exp_low"] < tests["mean_exp"]).all()
    assert (tests["mean_exp"] < tests["mean_exp_high"]).all()


def test_holm_stays_within_a_setting():
    frame = both_k()
    without_penalty = frame.assign(lambda_ic=0.0)
    other_loss = frame.assign(loss="mse")
    tests = paired.gate_tests(together(frame, without_penalty, other_loss), BOTH_K)
    assert tests["p_holm"].tolist() == approx([8 * 2.0**-8] * 12)


def test_leave_one_out():
    # Eight seeds that agree: without one p_raw = 2/2^7, Holm 8/2^7 = 0.0625.
    # Raw p reaches 0.05 with five seeds left.
    table = paired.leave_one_out(both_k(), BOTH_K)
    assert table["winner_changes"].tolist() == [0] * 4
    assert table["significance_changes"].tolist() == [8] * 4
    assert table["p_holm_worst"].tolist() == approx([0.0625] * 4)
    assert table["seeds_to_lose"].tolist() == [3] * 4


def test_leave_one_out_gives_no_p_to_a_test_that_has_none():
    # k = 60: differences of ranks 1…8, the third against the others. Without one of ranks 4…8
    # W = 3 of seven: five subsets of 2^7, p_raw = 10/2^7. Holm counts the two tests at k = 20,
    # which lack a run, as the least significant: 4·10/2^7.
    soft = both_k().query("k == 20")
    differences = np.array([1, 2, -3, 4, 5, 6, 7, 8]) / 10
    stiff = runs(1 + differences, np.ones(8), k=60.0)
    frame = without_one_run(together(soft, stiff), "missing")
    worst = paired.leave_one_out(frame, BOTH_K)["p_holm_worst"].tolist()
    assert worst == approx([np.nan, np.nan, 40 / 2**7, 40 / 2**7], nan_ok=True)


def test_another_gate_does_not_disturb():
    frame = both_k()
    other = frame[frame["gate"] == "exp"].assign(gate="exp(alpha=0.5)")
    more = together(frame, other)
    assert_frame_equal(paired.gate_tests(frame, BOTH_K), paired.gate_tests(more, BOTH_K))


# --- no run vanishes ---


@pytest.mark.parametrize("status", NOT_OK)
def test_a_test_that_lacks_a_run_is_open(status):
    frame = without_one_run(both_k(), status)
    tests = paired.gate_tests(frame, BOTH_K)
    note = "incomplete: 7 of 8 pairs"
    assert tests["note"].tolist() == [note, note, "", ""]
    assert tests["winner"].tolist() == ["", "", "linear", "linear"]
    for number in ("p_raw", "p_holm", "mean_exp", "mean_linear_low"):
        assert tests[number].isna().tolist() == OPEN
    assert paired.effect_sizes(frame, BOTH_K)["hodges_lehmann"].isna().tolist() == OPEN
    assert paired.leave_one_out(frame, BOTH_K)["seeds_to_lose"].isna().tolist() == OPEN
    pairs = samples.pair_runs(frame, "max_ae_u")
    lost = pairs.query("k == 20 and seed == 3")
    assert lost["difference"].isna().all()


@pytest.mark.parametrize("status", NOT_OK)
def test_a_test_over_fewer_seeds_is_given_only_on_request(status):
    frame = without_one_run(both_k(), status)
    assert paired.gate_tests(frame, BOTH_K, partial=True)["n"].tolist() == [7, 7, 8, 8]


def test_a_gate_without_runs_leaves_the_test_open():
    tests = paired.gate_tests(runs([0.1] * 8, []), ks=[20])
    assert tests["note"].tolist() == ["incomplete: 0 of 8 pairs"] * 2


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_seeds_do_not_crash(n):
    frame = both_k(n)
    assert set(paired.gate_tests(frame, BOTH_K)["note"]) == {"too few seeds: n < 6"}
    assert len(paired.effect_sizes(frame, BOTH_K)) == 4
    assert len(paired.leave_one_out(frame, BOTH_K)) == 4


# --- invalid input ---


@pytest.mark.parametrize(
    "field, function, arguments",
    [
        ("ks", paired.gate_tests, {"ks": (20, 61)}),
        ("effects", paired.effect_sizes, {"ks": BOTH_K, "effects": ["cohen_d"]}),
    ],
)
def test_invalid_input_is_refused(field, function, arguments):
    with pytest.raises(ValueError, match=f"^{field}="):
        function(both_k(), **arguments)


# --- crossovers ---


def winners(metric, names):
    table = {
        "lambda_ic": 0,
        "loss": "mse",
        "model": "adaptive",
        "metric": metric,
        "k": range(len(names)),
        "winner": names,
    }
    return pd.DataFrame(table)


# Only the first and the last change are between two that have a winner.
CHANGING = winners("rel_l2_u", ["exp", "linear", "", "exp", "exp", "tie", "linear", "exp"])


def test_a_crossover_is_a_change_between_decided_neighbours():
    row = paired.count_crossovers(CHANGING).iloc[0]
    assert row.tolist() == [8, 6, 2]


def test_crossovers_are_counted_within_a_metric():
    constant = winners("max_ae_u", ["linear"] * 8)
    counts = paired.count_crossovers(together(CHANGING, constant))
    assert counts["crossovers"].tolist() == [0, 2]
