"""Paired statistics: values by hand, properties for any errors, and no run dropped silently."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pinnlib.analysis import paired

ERRORS = st.floats(1e-3, 10)
PAIRS = st.lists(st.tuples(ERRORS, ERRORS), min_size=1, max_size=20)
P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(np.nan)), min_size=1, max_size=8)


def runs(exp, linear, **columns):
    """A table of runs as `grids.runs_of` gives it: the errors of seed 0, 1, … under both gates."""
    settings = {
        "lambda_ic": 50.0,
        "loss": "balanced",
        "model": "adaptive",
        "k": 20.0,
        "status": "ok",
    } | columns
    errors = {"exp": exp, "linear": linear}
    rows = [
        {"gate": gate, "seed": s, "max_ae_u": e, "rel_l2_u": e / 3}
        for gate in errors
        for s, e in enumerate(errors[gate])
    ]
    return pd.DataFrame(rows).assign(**settings)


def both_k(n=8):
    """k = 20 where the exponential gate wins every seed, k = 60 where it loses every seed."""
    good, bad = 0.1 + 0.01 * np.arange(n), 0.5 + 0.03 * np.arange(n)
    return pd.concat([runs(good, bad), runs(bad, good, k=60.0)], ignore_index=True)


# --- by hand ---


def row_of(differences, base=5.0):
    return paired.wilcoxon_row(np.full(len(differences), base), base + np.array(differences))


def test_wilcoxon_by_hand():
    # d = 1, 2, 3, 4, −5: ranks 1…5, W⁻ = 5. Of the 32 subsets of {1…5} those with sum ≤ 5 are
    # ∅ | 1 | 2 | 3, 12 | 4, 13 | 5, 14, 23 = 10. One-sided 10/32, two-sided 20/32.
    # The median is 2, so the exponential gate wins, 4 of 5.
    row = row_of([1, 2, 3, 4, -5])
    assert (row["winner"], row["frac_win"], row["n"]) == ("exp", 0.8, 5)
    assert row["p_raw"] == pytest.approx(20 / 32)
    assert row["p_one_sided"] == pytest.approx(10 / 32)


def test_wilcoxon_by_hand_with_a_zero_and_a_tie():
    # d = 1, 1, −2, 3, 0: the zero goes, |d| = 1, 1, 2, 3 has ranks 1.5, 1.5, 3, 4, W⁻ = 3.
    # Of the 16 subsets those with sum ≤ 3 are ∅, 1.5, 1.5, 1.5 + 1.5, 3 = 5.
    # One-sided 5/16, two-sided 10/16. Nobody wins the seed with the zero: 3 of 5.
    row = row_of([1, 1, -2, 3, 0])
    assert (row["winner"], row["frac_win"], row["n"]) == ("exp", 0.6, 5)
    assert row["p_raw"] == pytest.approx(10 / 16)
    assert row["p_one_sided"] == pytest.approx(5 / 16)


def test_wilcoxon_of_twenty_seeds_that_agree():
    # W⁻ = 0 for one of 2^20 signs: the p behind the published "<1e-4" with frac(win) = 1.
    row = row_of(-np.arange(1.0, 21), base=30.0)
    assert (row["winner"], row["frac_win"], row["note"]) == ("linear", 1.0, "")
    assert row["p_raw"] == pytest.approx(2 * 2.0**-20)
    assert row["p_one_sided"] == pytest.approx(2.0**-20)


def test_no_difference_is_a_tie():
    row = row_of([0.0] * 8)
    assert (row["winner"], row["p_raw"]) == ("tie", 1.0)
    assert np.isnan([row["frac_win"], row["p_one_sided"]]).all()


def test_few_seeds_are_noted():
    assert row_of([1, 2, 3, 4, 5])["note"] == "too few seeds: n < 6"
    assert row_of([1, 2, 3, 4, 5])["p_raw"] > 0.05
    assert row_of([1, 2, 3, 4, 5, 6])["note"] == ""
    assert row_of([1, 2, 3, 4, 5, 6])["p_raw"] < 0.05
    empty = paired.wilcoxon_row([], [])
    assert (empty["winner"], empty["n"]) == ("", 0)
    assert np.isnan(empty["p_raw"])


def test_holm_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04 → running maximum
    assert paired.holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert paired.holm([0.6, 0.5]) == pytest.approx([1.0, 1.0])
    assert paired.holm([]).size == 0
    # the published λ = 0 rows: two below 1e-4, then 0.0010·2 and max(0.0020, 0.0012·1)
    assert paired.holm([0.0012, 0.0010, 2e-6, 2e-6]) == pytest.approx([0.0020, 0.0020, 8e-6, 8e-6])


def test_holm_counts_a_test_that_is_still_missing():
    assert paired.holm([0.01, np.nan, 0.02]) == pytest.approx([0.03, np.nan, 0.04], nan_ok=True)


def test_t_interval_by_hand():
    # 1, 2, 3, 4: mean 2.5, s² = 5/3, s/√n = 0.645497, t(0.975; 3) = 3.182446
    assert paired.t_interval([1, 2, 3, 4]) == pytest.approx((2.5, 3.182446 * 0.645497, 4), rel=1e-6)
    assert paired.t_interval([7]) == pytest.approx((7, np.nan, 1), nan_ok=True)
    assert paired.t_interval([]) == pytest.approx((np.nan, np.nan, 0), nan_ok=True)
    assert np.isnan(paired.t_interval([1, np.nan, 3])[:2]).all()


def test_effect_sizes_by_hand():
    # exp 1, 1, 2, 8 and linear 2, 3, 2, 4: d = 1, 2, 0, −4.
    # The (d_i + d_j)/2 are −4, −2, −1.5, −1, 0, 0.5, 1, 1, 1.5, 2: median 0.25.
    # Without the zero |d| has ranks 1, 2, 3: (3 − 3)/6 = 0.
    # log(linear/exp) = log 2, log 3, 0, −log 2: median log(2)/2.
    exp, linear = [1.0, 1, 2, 8], [2.0, 3, 2, 4]
    row = paired.effect_sizes(runs(exp, linear), ks=None).iloc[0]
    assert row["metric"] == "max_ae_u"
    assert list(paired.EFFECTS) == [
        "median_difference",
        "hodges_lehmann",
        "rank_biserial",
        "median_log_ratio",
    ]
    assert row[list(paired.EFFECTS)].tolist() == pytest.approx([0.5, 0.25, 0, np.log(2) / 2])
    assert all(row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] for name in paired.EFFECTS)


def test_what_k_alone_knows_by_hand():
    # k = 20: exp wins three of four; the others of an exp seed are 2 : 1 for exp, those of the
    # linear seed 3 : 0, which is wrong. k = 60: one each, so the only other seed is wrong for both.
    # k = 90: linear wins two of three; the others of a linear seed are a draw, which counts for
    # linear, and those of the exp seed 0 : 2.
    pairs = pd.DataFrame(
        {
            "k": [20, 60, 20, 20, 20, 60, 90, 90, 90],
            "log_ratio": [0.1, 2, 3, -1, 0.2, -2, -1, 1, -3],
        }
    )
    known = [True, False, True, False, True, False, True, False, True]
    assert paired.known_by_k(pairs).tolist() == known
    # a seed without others: nothing is known, which counts for linear
    assert paired.known_by_k(pairs[:2]).tolist() == [False, False]


def test_bootstrap_is_the_same_every_time():
    frame = both_k()
    pd.testing.assert_frame_equal(
        paired.effect_sizes(frame), paired.effect_sizes(frame.sample(frac=1, random_state=1))
    )


# --- for any errors ---


@settings(deadline=None)
@given(P_VALUES, st.randoms())
def test_holm_properties(p, random):
    p, adjusted = np.array(p), paired.holm(p)
    known = ~np.isnan(p)
    assert np.array_equal(np.isnan(adjusted), ~known)
    assert (adjusted[known] >= p[known]).all()
    assert (adjusted[known] <= 1).all()
    assert (np.diff(adjusted[known][np.argsort(p[known])]) >= 0).all()
    order = random.sample(range(len(p)), len(p))
    assert np.array_equal(paired.holm(p[order]), adjusted[order], equal_nan=True)


@pytest.mark.slow  # the exact p of ties
@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_exchange_of_the_gates(pairs):
    exp, linear = np.array(pairs).T
    one, other = paired.wilcoxon_row(exp, linear), paired.wilcoxon_row(linear, exp)
    assert other["winner"] == {"exp": "linear", "linear": "exp", "tie": "tie"}[one["winner"]]
    assert (one["mean_exp"], one["mean_linear"]) == (other["mean_linear"], other["mean_exp"])
    for name in ("p_raw", "p_one_sided", "frac_win"):
        assert one[name] == pytest.approx(other[name], nan_ok=True)
    for effect in paired.EFFECTS.values():
        assert effect(exp, linear) == pytest.approx(-effect(linear, exp))


@settings(deadline=None)
@given(PAIRS, st.floats(0.1, 10))
def test_scale_free(pairs, factor):
    exp, linear = np.round(np.array(pairs).T, 2) + 0.01
    for name in ("rank_biserial", "median_log_ratio"):
        assert paired.EFFECTS[name](exp, linear) == pytest.approx(
            paired.EFFECTS[name](exp * 4, linear * 4)
        )
    hodges_lehmann = paired.EFFECTS["hodges_lehmann"]
    larger = hodges_lehmann(exp * factor, linear * factor)
    assert larger == pytest.approx(factor * hodges_lehmann(exp, linear))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(-2, 12), min_size=6, max_size=8, unique_by=abs).filter(
        lambda d: 0 not in d
    )
)
def test_no_adversary_needs_fewer_seeds(d):
    exp, linear = np.full(len(d), 20.0), 20.0 + np.array(d)
    whole = paired.wilcoxon_row(exp, linear)
    assume(whole["p_raw"] < 0.05)
    fewest = paired.seeds_to_lose(exp, linear)
    for gone in range(1, fewest):
        for kept in itertools.combinations(range(len(d)), len(d) - gone):
            row = paired.wilcoxon_row(exp[list(kept)], linear[list(kept)])
            assert row["p_raw"] < 0.05
            assert row["winner"] == whole["winner"]


# --- the table of tests ---


def test_gate_tests_over_two_stiffnesses():
    tests = paired.gate_tests(both_k())
    assert tests[["k", "metric", "winner", "n", "note"]].values.tolist() == [
        [20, "max_ae_u", "exp", 8, ""],
        [20, "rel_l2_u", "exp", 8, ""],
        [60, "max_ae_u", "linear", 8, ""],
        [60, "rel_l2_u", "linear", 8, ""],
    ]
    assert tests["p_raw"].tolist() == pytest.approx([2 * 2.0**-8] * 4)
    assert tests["p_holm"].tolist() == pytest.approx([8 * 2.0**-8] * 4)
    assert (tests["mean_exp_low"] < tests["mean_exp"]).all()
    assert (tests["mean_exp"] < tests["mean_exp_high"]).all()


def test_holm_stays_within_a_setting():
    two = pd.concat(
        [both_k(), both_k().assign(lambda_ic=0.0), both_k().assign(loss="mse")], ignore_index=True
    )
    assert paired.gate_tests(two)["p_holm"].tolist() == pytest.approx([8 * 2.0**-8] * 12)


def test_leave_one_out():
    # Eight seeds that agree: without one p_raw = 2/2^7, Holm 8/2^7 = 0.0625.
    # Raw p reaches 0.05 with five seeds left.
    table = paired.leave_one_out(both_k())
    assert table["winner_changes"].tolist() == [0] * 4
    assert table["significance_changes"].tolist() == [8] * 4
    assert table["p_holm_worst"].tolist() == pytest.approx([0.0625] * 4)
    assert table["seeds_to_lose"].tolist() == [3] * 4


def test_leave_one_out_gives_no_p_to_a_test_that_has_none():
    # k = 60: differences of ranks 1…8, the third against the others. Without one of ranks 4…8
    # W = 3 of seven: five subsets of 2^7, p_raw = 10/2^7. Holm counts the two tests at k = 20,
    # which lack a run, as the least significant: 4·10/2^7.
    frame = pd.concat(
        [
            both_k().query("k == 20"),
            runs(1 + np.array([1, 2, -3, 4, 5, 6, 7, 8]) / 10, np.ones(8), k=60.0),
        ],
        ignore_index=True,
    )
    frame.loc[(frame.k == 20) & (frame.gate == "exp") & (frame.seed == 3), "status"] = "missing"
    table = paired.leave_one_out(frame)
    assert table["p_holm_worst"].tolist() == pytest.approx(
        [np.nan, np.nan, 40 / 2**7, 40 / 2**7], nan_ok=True
    )


def test_another_gate_does_not_disturb():
    frame = both_k()
    more = pd.concat(
        [frame, frame[frame.gate == "exp"].assign(gate="exp(alpha=0.5)")], ignore_index=True
    )
    pd.testing.assert_frame_equal(paired.gate_tests(frame), paired.gate_tests(more))


# --- no run vanishes ---


@pytest.mark.parametrize("status", ["missing", "diverged", "failed"])
def test_a_run_that_is_not_ok_never_vanishes(status):
    frame = both_k()
    lost = (frame.k == 20) & (frame.gate == "exp") & (frame.seed == 3)
    frame.loc[lost, ["status", "max_ae_u", "rel_l2_u"]] = [status, np.nan, np.nan]
    cells = paired.summary_table(frame, "max_ae_u").set_index(["k", "gate"])
    assert cells["complete"].tolist() == [False, True, True, True]
    hurt = cells.loc[(20, "exp")]
    assert np.isnan([hurt["mean"], hurt["half_width"], hurt["median"]]).all()
    assert hurt[["needed", "ok", status]].tolist() == [8, 7, 1]
    asked = (
        paired.summary_table(frame, "max_ae_u", partial=True)
        .set_index(["k", "gate"])
        .loc[(20, "exp")]
    )
    assert asked["mean"] == pytest.approx(np.mean([0.1, 0.11, 0.12, 0.14, 0.15, 0.16, 0.17]))
    assert (asked["ok"], asked["complete"]) == (7, False)

    tests = paired.gate_tests(frame)
    assert tests["note"].tolist() == ["incomplete: 7 of 8 pairs"] * 2 + [""] * 2
    assert tests["winner"].tolist() == ["", "", "linear", "linear"]
    numbers = tests[["p_raw", "p_holm", "mean_exp", "mean_linear_low"]]
    assert numbers.isna().all(axis=1).tolist() == [True, True, False, False]
    assert paired.gate_tests(frame, partial=True)["n"].tolist() == [7, 7, 8, 8]
    open_tests = [True, True, False, False]
    assert paired.effect_sizes(frame)["hodges_lehmann"].isna().tolist() == open_tests
    assert paired.leave_one_out(frame)["seeds_to_lose"].isna().tolist() == open_tests
    pairs = paired.pair_runs(frame, "max_ae_u").query("k == 20 and seed == 3")
    assert pairs["difference"].isna().all()


def test_a_number_left_in_a_diverged_run_is_not_used():
    frame = both_k()
    frame.loc[0, "status"] = "diverged"
    assert np.isnan(paired.pair_runs(frame, "max_ae_u")["exp"][0])


def test_a_gate_without_runs_leaves_the_test_open():
    tests = paired.gate_tests(runs([0.1] * 8, []), ks=[20])
    assert tests["note"].tolist() == ["incomplete: 0 of 8 pairs"] * 2


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_seeds_do_not_crash(n):
    frame = both_k(n)
    assert (paired.gate_tests(frame)["note"] == "too few seeds: n < 6").all()
    assert len(paired.effect_sizes(frame)) == len(paired.leave_one_out(frame)) == 4


# --- invalid input ---


@pytest.mark.parametrize(
    "field, call",
    [
        ("metric", lambda: paired.summary_table(both_k(), "accuracy")),
        ("metric", lambda: paired.summary_table(both_k(), "seed")),
        ("metric", lambda: paired.summary_table(both_k().assign(lr=1e-3), "lr")),
        ("frame", lambda: paired.pair_runs(both_k().drop(columns="gate"), "max_ae_u")),
        ("frame", lambda: paired.summary_table(pd.concat([both_k(), both_k()]), "max_ae_u")),
        ("status", lambda: paired.summary_table(both_k().assign(status="done"), "max_ae_u")),
        ("max_ae_u", lambda: paired.summary_table(both_k().assign(max_ae_u=np.nan), "max_ae_u")),
        ("ks", lambda: paired.gate_tests(both_k(), ks=(20, 61))),
        ("effects", lambda: paired.effect_sizes(both_k(), effects=["cohen_d"])),
        ("exp, linear", lambda: paired.wilcoxon_row([1, 2], [1])),
        ("p_values", lambda: paired.holm([0.1, 1.2])),
    ],
)
def test_invalid_input_is_refused(field, call):
    with pytest.raises(ValueError, match=f"^{field}="):
        call()


def test_a_crossover_is_a_change_between_decided_neighbours():
    # only the first and the last change are between two that have a winner
    winners = ["exp", "linear", "", "exp", "exp", "tie", "linear", "exp"]
    tests = pd.DataFrame(
        {
            "lambda_ic": 0,
            "loss": "mse",
            "model": "adaptive",
            "metric": "rel_l2_u",
            "k": range(8),
            "winner": winners,
        }
    )
    row = paired.count_crossovers(tests).iloc[0]
    assert row.tolist() == [8, 6, 2]
    both = pd.concat([tests, tests.assign(metric="max_ae_u", winner="linear")])
    other = paired.count_crossovers(both)  # does not count from one metric to the next
    assert other["crossovers"].tolist() == [0, 2]
