"""The rules of notebook 06, each on tables that must be answered differently."""

import re

import numpy as np
import pandas as pd
import pytest

from pinnlib.analysis import contrasts, significance
from pinnlib.bundle.output import Output
from pinnlib.paths import RUNS_CSV
from pinnlib.report import gate_rules
from pinnlib.runs.studies import STUDIES


def table(ratios, p=0.01, **columns):
    return pd.DataFrame({"ratio": ratios, "p_holm": p, "first": "a", "second": "b"} | columns)


MISSING = table([2.0, np.nan], factor=["amplitude", "shape"], k=[20, 60], steps=[1, 5])


@pytest.mark.parametrize(
    "rule",
    [
        gate_rules.amplitude_or_shape,
        gate_rules.never_beaten,
        gate_rules.budget_decides,
        gate_rules.helps,
        gate_rules.elsewhere,
    ],
)
def test_nothing_is_answered_from_runs_that_are_not_there(rule):
    assert rule(MISSING) == "open"
    assert gate_rules.changes(MISSING, (20, 60)) == "open"
    assert gate_rules.conditioning(MISSING, MISSING) == "open"


@pytest.mark.parametrize("name", gate_rules.RULES)
def test_mathematics_of_rules_is_between_dollars(name):
    rule = gate_rules.RULES[name]
    for text in (rule["question"], rule["rule"]):
        assert text.count("$") % 2 == 0
        words = re.sub(r"\$[^$]+\$", "", text)
        assert not re.search(r"\bk\b|[αλ]", words)


@pytest.mark.parametrize("name", gate_rules.RULES)
def test_every_rule_in_words_has_its_check(name):
    assert callable(getattr(gate_rules, name))
    assert set(gate_rules.RULES[name]) >= {"question", "rule"}


def factors(amplitude, shape, **options):
    return table(
        [*amplitude, *shape],
        factor=["amplitude"] * len(amplitude) + ["shape"] * len(shape),
        **options,
    )


SMALL = [1.1, 1 / 1.1] * 4
LARGE = [3.0, 1 / 3] * 4


@pytest.mark.parametrize(
    "amplitude, shape, p, answer",
    [
        (LARGE, SMALL, 0.01, "amplitude"),
        (SMALL, LARGE, 0.01, "shape"),
        (LARGE, LARGE, 0.01, "both"),
        (LARGE, SMALL, 0.2, "undecided"),
        (LARGE, [2.5] * 8, [0.01] * 8 + [0.2] * 8, "undecided"),  # near, but unsure
    ],
)
def test_amplitude_or_shape(amplitude, shape, p, answer):
    assert gate_rules.amplitude_or_shape(factors(amplitude, shape, p=p)) == answer


def test_never_beaten():
    pairs = pd.DataFrame(
        {
            "first": ["a", "a", "b"],
            "second": ["b", "c", "c"],
            "ratio": [2.0, 0.5, 0.9],
            "p_holm": [0.01, 0.04, 0.2],
        }
    )
    assert gate_rules.never_beaten(pairs) == "c"
    assert gate_rules.never_beaten(pairs.assign(p_holm=0.2)) == "a, b, c"
    assert gate_rules.never_beaten(pairs.assign(ratio=[2.0, 0.5, 1.5], p_holm=0.01)) == "none"


@pytest.mark.parametrize(
    "ratios, p",
    [
        ([2.0, 2.0, 2.0, 0.9], 0.01),  # one side lost
        ([2.0, 2.0, 2.0, 2.0], [0.01, 0.06, 0.01, 0.01]),  # one side unsure
    ],
)
def test_changes_with_the_loss_needs_both_sides(ratios, p):
    contrasts = table(ratios, p, k=[20, 20, 60, 60])
    assert gate_rules.changes(contrasts, (20, 30, 60)) == "at 1 of 3 $k$"


@pytest.mark.parametrize(
    "ratios, p, answer",
    [
        ([2.0, 3.0, 0.5, 0.4], 0.01, "no"),
        ([2.0, 0.5, 0.5, 0.4], 0.01, "yes"),  # another winner at one k
        ([2.0, 3.0, 0.5, 0.4], [0.01, 0.01, 0.01, 0.3], "yes"),  # no longer significant
        ([2.0, 3.0, 0.5, 0.4], [0.3, 0.01, 0.01, 0.01], "no"),  # more significant than before
        ([2.0, 3.0, 0.5, 0.4], [0.3, 0.3, 0.01, 0.01], "no"),  # as unsure as before
        ([2.0, 3.0, 0.5, 0.4], 0.3, "undecided"),  # nothing to lose
        ([2.0, 0.5, 0.5, 0.4], [0.3, 0.01, 0.3, 0.01], "undecided"),
    ],
)
def test_budget(ratios, p, answer):
    contrasts = table(ratios, p, k=[20, 20, 60, 60], steps=[5000, 25000, 5000, 25000])
    assert gate_rules.budget_decides(contrasts) == answer


@pytest.mark.parametrize(
    "seeds, tests, planned, answer",
    [
        (20, 40, 0, False),
        (11, 40, 0, False),  # 40/1024 is below 0.05
        (10, 40, 0, True),
        (5, 1, 0, True),
        (6, 1, 0, False),
        (6, 1, 8, True),
        (0, 1, 0, False),  # no run: that is another answer
    ],
)
def test_too_few_seeds_for_any_significant_contrast(seeds, tests, planned, answer):
    contrasts = table([2.0] * tests, n=seeds)
    assert gate_rules.too_few_seeds(contrasts, planned) == answer
    assert not gate_rules.too_few_seeds(contrasts[:0], planned)


def test_enough_seeds_are_those_that_can_reach_significance():
    together = contrasts.contrast(range(1, 12), range(2, 13))
    p = significance.holm([together["p_raw"]] + [1.0] * 39)
    assert p.min() < significance.LEVEL
    assert not gate_rules.too_few_seeds(pd.DataFrame({"n": [11] * 40}))


SIX_SURE = [0.01] * 6 + [0.5] * 2
FIVE_SURE = [0.01] * 5 + [0.5] * 3


@pytest.mark.parametrize(
    "ratios, p, answer",
    [
        ([2.0] * 6 + [1.1] * 2, SIX_SURE, "helps"),
        ([0.5] * 8, 0.01, "hurts"),
        ([2.0] * 7 + [0.5], 0.01, "mixed"),
        ([2.0] * 5 + [1.1] * 3, FIVE_SURE, "mixed"),
    ],
)
def test_helps_hurts_or_mixed(ratios, p, answer):
    assert gate_rules.helps(table(ratios, p)) == answer


def test_what_the_answers_rest_on_is_counted():
    p = [0.01, 0.01, 0.01, 0.01, 0.01, 0.2, np.nan]
    mixed = table([2.0, 1.6, 1.4, 0.5, 1.0, 3.0, np.nan], p)
    assert gate_rules.score(mixed) == (3, 1)
    assert gate_rules.count_nearer(mixed) == 2


def test_gaps_that_are_not_narrowed_are_those_of_the_same_row():
    usual = table([4.0, 0.5, 2.0], k=[20, 30, 60])
    undone = table([0.2, 1.5, 0.5], k=[20, 30, 60])
    kept = gate_rules.gaps_not_narrowed(undone, usual)
    assert list(kept["k"]) == [20, 60]
    kept = gate_rules.gaps_not_narrowed(usual, undone)
    assert list(kept["k"]) == [30, 60]


@pytest.mark.parametrize(
    "ratios, p, answer",
    [
        ([1.6] * 4 + [1.0] * 4, 0.01, "yes"),
        ([1.4] * 8, 0.01, "no"),
        ([1.6] * 8, 0.2, "no"),
    ],
)
def test_elsewhere(ratios, p, answer):
    assert gate_rules.elsewhere(table(ratios, p)) == answer


@pytest.mark.parametrize(
    "left, answer",
    [
        ([1.1, 0.9], "optimisation"),
        ([2.5, 0.4], "partly"),
        ([4.0, 0.25], "not conditioning"),
    ],
)
def test_conditioning(left, answer):
    wide = table([4.0, 0.25])
    assert gate_rules.conditioning(table(left), wide) == answer


def test_a_family_shares_holms_correction_and_counts_what_was_planned():
    one = pd.DataFrame({"p_raw": [0.01, 0.02]})
    two = pd.DataFrame({"p_raw": [0.001]})
    first, second = contrasts.family(one, two)
    np.testing.assert_allclose(
        [*first["p_holm"], *second["p_holm"]], significance.holm([0.01, 0.02, 0.001])
    )
    (alone,) = contrasts.family(one, planned=4)
    assert list(alone["p_holm"]) == pytest.approx([0.04, 0.06])


def test_regrets_by_hand():
    errors = {("a", 20): 1.0, ("a", 60): 4.0, ("b", 20): 2.0, ("b", 60): 1.0}
    errors |= {("c", 20): 9.0, ("c", 60): 9.0}
    rows = []
    for (gate, k), error in errors.items():
        for seed in range(3):
            row = {"gate": gate, "k": k, "seed": seed}
            rows.append(row | {"status": "ok", "rel_l2_u": error})
    found = contrasts.regrets(pd.DataFrame(rows))
    assert list(found.index) == ["b", "a", "c"]
    assert list(found["best_in"]) == [1, 0, 0]
    best = found.loc["b"]
    assert list(best[["regret_20", "regret_60", "regret_worst"]]) == [2, 1, 2]
    assert list(best[["low", "high"]]) == [2, 2]
    assert best["median_20"] == 2
    by_angle = pd.DataFrame(rows).assign(rel_l2_theta=lambda table: 1 / table["rel_l2_u"])
    assert contrasts.regrets(by_angle, "rel_l2_theta").index[0] == "c"
    rows[0]["status"] = "diverged"
    found = contrasts.regrets(pd.DataFrame(rows))
    assert np.isnan(found.loc["a", "regret_20"])


def test_tables_and_numbers_keep_ten_digits(tmp_path):
    out = Output("06_gate_study", {}, str(tmp_path))
    out.table(pd.DataFrame({"x": [1 / 3], "k": [20.0], "seed": [7]}), "table")
    out.numbers({"third": 1 / 3, "count": 3, "told": "0.123456789012345", "small": 1e-12 / 3})
    assert (out.data / "table.csv").read_text() == "x,k,seed\n0.3333333333,20,7\n"
    text = (out.data / "numbers" / "06_gate_study.json").read_text()
    assert '"third": 0.3333333333,' in text
    assert '"count": 3,' in text
    assert '"0.123456789012345"' in text
    assert "3.333333333e-13" in text


def test_sgd_has_the_rates_that_its_tuning_found():
    runs = pd.read_csv(RUNS_CSV)
    tuning = runs[(runs["optimiser"] == "sgd") & (runs["seed"] >= 20)]
    best = tuning.groupby(["gate", "lr"])["rel_l2_u"].median().groupby("gate").idxmin()
    for gate in ("exp", "linear"):
        study = STUDIES[f"sgd_{gate}"]
        assert study.rates == (best[gate][1],)
        assert not set(tuning["seed"]) & set(range(study.seeds["adaptive"][0]))
