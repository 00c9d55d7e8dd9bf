"""Paired statistics: values by hand, properties for any errors, and no run dropped silently."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from pytest import approx

from pinnlib.analysis import paired

ERRORS = st.floats(1e-3, 10)
PAIRS = st.lists(st.tuples(ERRORS, ERRORS), min_size=1, max_size=20)
P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(np.nan)), min_size=1, max_size=8)
SETTING = {
    "lambda_ic": 50.0,
    "loss": "balanced",
    "model": "adaptive",
    "k": 20.0,
    "status": "ok",
}


def runs(exp, linear, **columns):
    """A table of runs as `runs_of` gives it: the errors of seed 0, 1, … under both gates."""
    errors = np.concatenate([exp, linear])
    table = {
        "gate": ["exp"] * len(exp) + ["linear"] * len(linear),
        "seed": [*range(len(exp)), *range(len(linear))],
        "max_ae_u": errors,
        "rel_l2_u": errors / 3,
    }
    return pd.DataFrame(table | SETTING | columns)


def together(*frames):
    return pd.concat(frames, ignore_index=True)


def both_k(n=8):
    """k = 20 where the exponential gate wins every seed, k = 60 where it loses every seed."""
    good = 0.1 + 0.01 * np.arange(n)
    bad = 0.5 + 0.03 * np.arange(n)
    return together(runs(good, bad), runs(bad, good, k=60.0))


def without_one_run(frame, status):
    """The same runs, but that of seed 3 under the exponential gate at k = 20 is not ok."""
    cell = (frame["k"] == 20) & (frame["gate"] == "exp")
    lost = cell & (frame["seed"] == 3)
    frame = frame.assign(status=frame["status"].mask(lost, status))
    frame["max_ae_u"] = frame["max_ae_u"].mask(lost)
    frame["rel_l2_u"] = frame["rel_l2_u"].mask(lost)
    return frame


# --- by hand ---


def row_of(*differences):
    """The test of errors 30 under the exponential gate, and 30 + differences under the linear."""
    exp = np.full(len(differences), 30.0)
    return paired.wilcoxon_row(exp, exp + differences)


def test_wilcoxon_by_hand():
    # d = 1, 2, 3, 4, −5: ranks 1…5, W⁻ = 5. Of the 32 subsets of {1…5} those with sum ≤ 5 are
    # ∅ | 1 | 2 | 3, 12 | 4, 13 | 5, 14, 23 = 10. One-sided 10/32, two-sided 20/32.
    # The median is 2, so the exponential gate wins, 4 of 5.
    row = row_of(1, 2, 3, 4, -5)
    assert row["winner"] == "exp"
    assert row["frac_win"] == 0.8
    assert row["n"] == 5
    assert row["p_raw"] == approx(20 / 32)
    assert row["p_one_sided"] == approx(10 / 32)


def test_wilcoxon_by_hand_with_a_zero_and_a_tie():
    # d = 1, 1, −2, 3, 0: the zero goes, |d| = 1, 1, 2, 3 has ranks 1.5, 1.5, 3, 4, W⁻ = 3.
    # Of the 16 subsets those with sum ≤ 3 are ∅, 1.5, 1.5, 1.5 + 1.5, 3 = 5.
    # One-sided 5/16, two-sided 10/16. Nobody wins the seed with the zero: 3 of 5.
    row = row_of(1, 1, -2, 3, 0)
    assert row["winner"] == "exp"
    assert row["frac_win"] == 0.6
    assert row["n"] == 5
    assert row["p_raw"] == approx(10 / 16)
    assert row["p_one_sided"] == approx(5 / 16)


def test_wilcoxon_of_twenty_seeds_that_agree():
    # W⁻ = 0 for one of 2^20 signs: the p behind the published "<1e-4" with frac(win) = 1.
    row = row_of(*range(-20, 0))
    assert row["winner"] == "linear"
    assert row["frac_win"] == 1
    assert row["note"] == ""
    assert row["p_raw"] == approx(2 * 2.0**-20)
    assert row["p_one_sided"] == approx(2.0**-20)


def test_no_difference_is_a_tie():
    row = row_of(0, 0, 0, 0, 0, 0, 0, 0)
    assert row["winner"] == "tie"
    assert row["p_raw"] == 1
    assert np.isnan(row["frac_win"])
    assert np.isnan(row["p_one_sided"])


def test_few_seeds_are_noted():
    five = row_of(1, 2, 3, 4, 5)
    six = row_of(1, 2, 3, 4, 5, 6)
    assert five["note"] == "too few seeds: n < 6"
    assert five["p_raw"] > 0.05
    assert six["note"] == ""
    assert six["p_raw"] < 0.05


def test_without_seeds_nobody_wins():
    row = paired.wilcoxon_row([], [])
    assert row["winner"] == ""
    assert row["n"] == 0
    assert np.isnan(row["p_raw"])


@pytest.mark.parametrize(
    "p, adjusted",
    [
        # sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04 → running maximum
        ([0.03, 0.01, 0.04, 0.02], [0.06, 0.04, 0.06, 0.06]),
        ([0.6, 0.5], [1.0, 1.0]),
        ([], []),
        # the published λ = 0 rows: two below 1e-4, then 0.0010·2 and max(0.0020, 0.0012·1)
        ([0.0012, 0.0010, 2e-6, 2e-6], [0.0020, 0.0020, 8e-6, 8e-6]),
        # a test that is still missing counts
        ([0.01, np.nan, 0.02], [0.03, np.nan, 0.04]),
    ],
)
def test_holm_by_hand(p, adjusted):
    assert paired.holm(p).tolist() == approx(adjusted, nan_ok=True)


@pytest.mark.parametrize(
    "values, interval",
    [
        # mean 2.5, s² = 5/3, s/√n = 0.645497, t(0.975; 3) = 3.182446
        ([1, 2, 3, 4], (2.5, 3.182446 * 0.645497, 4)),
        ([7], (7, np.nan, 1)),
        ([], (np.nan, np.nan, 0)),
    ],
)
def test_t_interval_by_hand(values, interval):
    assert paired.t_interval(values) == approx(interval, rel=1e-6, nan_ok=True)


def test_a_missing_value_leaves_no_interval():
    mean, half_width, _ = paired.t_interval([1, np.nan, 3])
    assert np.isnan(mean)
    assert np.isnan(half_width)


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
    assert set(paired.EFFECTS) == set(expected)
    for name, value in expected.items():
        assert row[name] == approx(value)
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]


def test_what_k_alone_knows_by_hand():
    # k = 20: exp wins three of four; the others of an exp seed are 2 : 1 for exp, those of the
    # linear seed 3 : 0, which is wrong. k = 60: one each, so the only other seed is wrong for both.
    # k = 90: linear wins two of three; the others of a linear seed are a draw, which counts for
    # linear, and those of the exp seed 0 : 2.
    rows = [
        (20, 0.1, True),
        (60, 2, False),
        (20, 3, True),
        (20, -1, False),
        (20, 0.2, True),
        (60, -2, False),
        (90, -1, True),
        (90, 1, False),
        (90, -3, True),
    ]
    pairs = pd.DataFrame(rows, columns=["k", "log_ratio", "known"])
    assert paired.known_by_k(pairs).tolist() == pairs["known"].tolist()
    # a seed without others: nothing is known, which counts for linear
    assert paired.known_by_k(pairs[:2]).tolist() == [False, False]


def test_bootstrap_is_the_same_every_time():
    frame = both_k()
    shuffled = frame.sample(frac=1, random_state=1)
    assert_frame_equal(paired.effect_sizes(frame), paired.effect_sizes(shuffled))


# --- for any errors ---


@settings(deadline=None)
@given(P_VALUES, st.randoms())
def test_holm_properties(p, random):
    p = np.array(p)
    adjusted = paired.holm(p)
    known = ~np.isnan(p)
    assert np.array_equal(np.isnan(adjusted), ~known)
    assert (adjusted[known] >= p[known]).all()
    assert (adjusted[known] <= 1).all()
    ascending = np.argsort(p[known])
    assert (np.diff(adjusted[known][ascending]) >= 0).all()
    order = random.sample(range(len(p)), len(p))
    assert np.array_equal(paired.holm(p[order]), adjusted[order], equal_nan=True)


@pytest.mark.slow  # the exact p of ties
@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_exchange_of_the_gates(pairs):
    exp, linear = np.array(pairs).T
    one = paired.wilcoxon_row(exp, linear)
    other = paired.wilcoxon_row(linear, exp)
    exchanged = {"exp": "linear", "linear": "exp", "tie": "tie"}
    assert other["winner"] == exchanged[one["winner"]]
    assert one["mean_exp"] == other["mean_linear"]
    assert one["mean_linear"] == other["mean_exp"]
    for name in ("p_raw", "p_one_sided", "frac_win"):
        assert one[name] == approx(other[name], nan_ok=True)
    for effect in paired.EFFECTS.values():
        assert effect(exp, linear) == approx(-effect(linear, exp))


@settings(deadline=None)
@given(PAIRS, st.floats(0.1, 10))
def test_scale_free(pairs, factor):
    exp, linear = np.round(np.array(pairs).T, 2) + 0.01
    for name in ("rank_biserial", "median_log_ratio"):
        effect = paired.EFFECTS[name]
        assert effect(exp, linear) == approx(effect(exp * 4, linear * 4))
    hodges_lehmann = paired.EFFECTS["hodges_lehmann"]
    larger = hodges_lehmann(exp * factor, linear * factor)
    assert larger == approx(factor * hodges_lehmann(exp, linear))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-2, 12), min_size=6, max_size=8, unique_by=abs))
def test_no_adversary_needs_fewer_seeds(differences):
    assume(0 not in differences)
    exp = np.full(len(differences), 20.0)
    linear = exp + differences
    whole = paired.wilcoxon_row(exp, linear)
    assume(whole["p_raw"] < 0.05)
    fewest = paired.seeds_to_lose(exp, linear)
    for lost in range(1, fewest):
        for kept in itertools.combinations(range(len(exp)), len(exp) - lost):
            row = paired.wilcoxon_row(exp[[*kept]], linear[[*kept]])
            assert row["p_raw"] < 0.05
            assert row["winner"] == whole["winner"]


# --- the table of tests ---


def test_gate_tests_over_two_stiffnesses():
    tests = paired.gate_tests(both_k())
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
    tests = paired.gate_tests(together(frame, without_penalty, other_loss))
    assert tests["p_holm"].tolist() == approx([8 * 2.0**-8] * 12)


def test_leave_one_out():
    # Eight seeds that agree: without one p_raw = 2/2^7, Holm 8/2^7 = 0.0625.
    # Raw p reaches 0.05 with five seeds left.
    table = paired.leave_one_out(both_k())
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
    worst = paired.leave_one_out(frame)["p_holm_worst"].tolist()
    assert worst == approx([np.nan, np.nan, 40 / 2**7, 40 / 2**7], nan_ok=True)


def test_another_gate_does_not_disturb():
    frame = both_k()
    other = frame[frame["gate"] == "exp"].assign(gate="exp(alpha=0.5)")
    more = together(frame, other)
    assert_frame_equal(paired.gate_tests(frame), paired.gate_tests(more))


# --- no run vanishes ---

STATUSES = ["missing", "diverged", "failed"]
OPEN = [True, True, False, False]  # which of the four tests lack a run


@pytest.mark.parametrize("status", STATUSES)
def test_a_cell_that_lacks_a_run_has_no_mean(status):
    frame = without_one_run(both_k(), status)
    cells = paired.summary_table(frame, "max_ae_u")
    assert cells["complete"].tolist() == [False, True, True, True]
    cell = cells.iloc[0]
    assert cell["needed"] == 8
    assert cell["ok"] == 7
    assert cell[status] == 1
    assert cell[["mean", "half_width", "median"]].isna().all()


@pytest.mark.parametrize("status", STATUSES)
def test_the_mean_over_fewer_runs_is_given_only_on_request(status):
    frame = without_one_run(both_k(), status)
    cells = paired.summary_table(frame, "max_ae_u", partial=True)
    cell = cells.iloc[0]
    assert cell["mean"] == approx(np.mean([0.1, 0.11, 0.12, 0.14, 0.15, 0.16, 0.17]))
    assert cell["ok"] == 7
    assert not cell["complete"]
    assert paired.gate_tests(frame, partial=True)["n"].tolist() == [7, 7, 8, 8]


@pytest.mark.parametrize("status", STATUSES)
def test_a_test_that_lacks_a_run_is_open(status):
    frame = without_one_run(both_k(), status)
    tests = paired.gate_tests(frame)
    note = "incomplete: 7 of 8 pairs"
    assert tests["note"].tolist() == [note, note, "", ""]
    assert tests["winner"].tolist() == ["", "", "linear", "linear"]
    for number in ("p_raw", "p_holm", "mean_exp", "mean_linear_low"):
        assert tests[number].isna().tolist() == OPEN
    assert paired.effect_sizes(frame)["hodges_lehmann"].isna().tolist() == OPEN
    assert paired.leave_one_out(frame)["seeds_to_lose"].isna().tolist() == OPEN
    pairs = paired.pair_runs(frame, "max_ae_u")
    lost = pairs.query("k == 20 and seed == 3")
    assert lost["difference"].isna().all()


def test_a_number_left_in_a_diverged_run_is_not_used():
    frame = both_k()
    frame.loc[0, "status"] = "diverged"
    pairs = paired.pair_runs(frame, "max_ae_u")
    assert np.isnan(pairs["exp"][0])


def test_a_gate_without_runs_leaves_the_test_open():
    tests = paired.gate_tests(runs([0.1] * 8, []), ks=[20])
    assert tests["note"].tolist() == ["incomplete: 0 of 8 pairs"] * 2


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_seeds_do_not_crash(n):
    frame = both_k(n)
    assert set(paired.gate_tests(frame)["note"]) == {"too few seeds: n < 6"}
    assert len(paired.effect_sizes(frame)) == 4
    assert len(paired.leave_one_out(frame)) == 4


# --- invalid input ---


@pytest.mark.parametrize(
    "field, metric, frame",
    [
        ("metric", "accuracy", both_k()),
        ("metric", "seed", both_k()),
        ("metric", "lr", both_k().assign(lr=1e-3)),
        ("frame", "max_ae_u", both_k().drop(columns="gate")),
        ("frame", "max_ae_u", together(both_k(), both_k())),
        ("status", "max_ae_u", both_k().assign(status="done")),
        ("max_ae_u", "max_ae_u", both_k().assign(max_ae_u=np.nan)),
    ],
)
def test_an_invalid_table_is_refused(field, metric, frame):
    with pytest.raises(ValueError, match=f"^{field}="):
        paired.summary_table(frame, metric)


@pytest.mark.parametrize(
    "field, function, arguments",
    [
        ("ks", paired.gate_tests, {"frame": both_k(), "ks": (20, 61)}),
        ("effects", paired.effect_sizes, {"frame": both_k(), "effects": ["cohen_d"]}),
        ("exp, linear", paired.wilcoxon_row, {"exp": [1, 2], "linear": [1]}),
        ("p_values", paired.holm, {"p_values": [0.1, 1.2]}),
    ],
)
def test_invalid_input_is_refused(field, function, arguments):
    with pytest.raises(ValueError, match=f"^{field}="):
        function(**arguments)


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
