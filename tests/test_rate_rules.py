"""The rules of notebook 08, each on tables that must be answered differently."""

import re

import numpy as np
import pandas as pd
import pytest

from pinnlib.report import rate_rules

CELLS = [("balanced", 20), ("balanced", 30), ("balanced", 60), ("balanced", 100)]
CELLS += [("mse", k) for _, k in CELLS]


def table(ratios, p=0.01, **columns):
    return pd.DataFrame({"ratio": ratios, "p_holm": p} | columns)


@pytest.mark.parametrize("name", rate_rules.RULES)
def test_every_rule_in_words_has_its_check(name):
    assert callable(getattr(rate_rules, name))
    assert set(rate_rules.RULES[name]) == {"question", "rule"}


@pytest.mark.parametrize("name", rate_rules.RULES)
def test_mathematics_of_rules_is_between_dollars(name):
    for text in rate_rules.RULES[name].values():
        assert text.count("$") % 2 == 0
        words = re.sub(r"\$[^$]+\$", "", text)
        assert not re.search(r"\bk\b|[αλ]", words)


@pytest.mark.parametrize(
    "name",
    ["reversal_survives", "decay_helps", "gate_or_constraint", "exact_start", "recipe"],
)
def test_nothing_is_answered_from_runs_that_are_not_there(name):
    missing = table([2.0, np.nan], k=[20, 60], loss="mse")
    rule = getattr(rate_rules, name)
    assert rule(missing) == "open"


@pytest.mark.parametrize("rule", [rate_rules.rate_or_gate, rate_rules.decay_turns])
def test_both_tables_must_be_complete(rule):
    missing = table([2.0, np.nan])
    complete = table([2.0, 2.0])
    assert rule(missing, complete) == "open"
    assert rule(complete, missing) == "open"


@pytest.mark.parametrize(
    "ratios, p, answer",
    [
        ([2.0, 0.5], 0.01, "yes"),
        ([2.0, 2.0], 0.01, "partly"),
        ([0.5, 0.5], 0.01, "partly"),
        ([0.5, 2.0], 0.01, "no"),
        ([2.0, 0.5], 0.06, "no"),
    ],
)
def test_reversal(ratios, p, answer):
    own = table(ratios, p, k=[20, 60])
    assert rate_rules.reversal_survives(own) == answer


@pytest.mark.parametrize(
    "left, answer",
    [
        ([1.9, 1.9, 0.9, 4.0], "rate"),
        ([2.1, 2.1, 3.9, 1.0], "gate"),
        ([1.1, 1.1, 3.9, 3.9], "both"),
    ],
)
def test_rate_or_gate(left, answer):
    published = table([4.0, 4.0, 4.0, 4.0])
    assert rate_rules.rate_or_gate(published, table(left)) == answer


def test_only_significant_gaps_count():
    published = table([4.0, 4.0, 0.25], [0.01, 0.5, 0.01])
    shares = rate_rules.removed_shares(published, table([2.0, 1.0, 1.0]))
    assert shares.tolist() == pytest.approx([0.5, 1.0])


def tuning(errors):
    """gate → k → errors by rate, one seed each."""
    rows = []
    for gate, by_k in errors.items():
        for k, values in by_k.items():
            for lr, error in zip((0.001, 0.01), values, strict=True):
                rows.append({"gate": gate, "k": k, "lr": lr, "rel_l2_u": error})
    runs = pd.DataFrame(rows)
    return runs.assign(
        system="spring_pendulum",
        form="gated",
        loss="balanced",
        lambda_ic=50,
        schedule="constant",
        status="ok",
    )


ONE = {20: (1.0, 2.0), 60: (1.0, 2.0)}
TWO = {20: (1.0, 2.0), 60: (2.0, 1.0)}


@pytest.mark.parametrize(
    "exp, linear, answer",
    [
        (ONE, ONE, "yes"),
        (ONE, TWO, "for one gate only"),
        (TWO, TWO, "no"),
    ],
)
def test_one_rate(exp, linear, answer):
    runs = tuning({"exp": exp, "linear": linear})
    assert rate_rules.one_rate(runs) == answer
    runs.loc[0, "status"] = "missing"
    assert rate_rules.one_rate(runs) == "open"


def test_a_rate_is_chosen_by_the_smallest_median():
    runs = tuning({"exp": TWO})
    chosen = rate_rules.choose_rates(runs)
    assert chosen.tolist() == [0.001, 0.01]
    runs.loc[0, "status"] = "diverged"
    assert rate_rules.choose_rates(runs).tolist() == [0.01, 0.01]


def test_of_equal_rates_the_lower_is_chosen():
    runs = tuning({"exp": {20: (1.0, 1.0)}})
    assert rate_rules.choose_rates(runs).tolist() == [0.001]


def test_the_recipe_has_the_smallest_worst_case():
    runs = tuning(
        {
            "exp": {20: (1.0, 1.2), 60: (4.0, 1.2)},
            "linear": {20: (9.0, 9.0), 60: (1.0, 9.0)},
        }
    )
    assert rate_rules.choose_recipe(runs) == {
        "gate": "exp",
        "loss": "balanced",
        "schedule": "constant",
        "lr": 0.01,
    }


@pytest.mark.parametrize(
    "rule, size, most",
    [
        (rate_rules.decay_helps, 12, 9),
        (rate_rules.exact_start, 8, 6),
    ],
)
def test_helps_and_hurts(rule, size, most):
    enough = [2.0] * most + [1.0] * (size - most)
    assert rule(table(enough)) == "helps"
    assert rule(table(1 / np.array(enough))) == "hurts"
    assert rule(table([1.0, *enough[1:]])) == "mixed"
    assert rule(table([*enough[:-1], 0.5])) == "mixed"


def test_decay_turns_a_winner_only_if_both_are_significant():
    constant = table([2.0, 2.0])
    assert rate_rules.decay_turns(constant, table([2.0, 0.5])) == "yes"
    assert rate_rules.decay_turns(constant, table([2.0, 1.0])) == "no"
    assert rate_rules.decay_turns(constant, table([2.0, 0.5], [0.01, 0.5])) == "no"


def against_gates(exp, linear):
    """Ratios of the eight cells, gate/shifted, for either gate."""
    losses, ks = zip(*CELLS, strict=True)
    return table([*exp, *linear], loss=losses * 2, k=ks * 2)


@pytest.mark.parametrize(
    "exp, linear, answer",
    [
        ([0.5] * 6 + [2.0] * 2, [0.5] * 8, "needed"),
        ([0.5] * 5 + [2.0] * 3, [0.5] * 8, "undecided"),
        ([2.0] * 8, [2.0] * 6 + [0.5] * 2, "not needed"),
        ([2.0] * 8, [2.0] * 5 + [0.5] * 3, "undecided"),
    ],
)
def test_gate_or_constraint(exp, linear, answer):
    assert rate_rules.gate_or_constraint(against_gates(exp, linear)) == answer


def test_the_recipe_is_judged_by_counting():
    answer = rate_rules.recipe(table([2.0, 2.0, 0.5, 1.0]))
    assert answer == "better in 2, worse in 1 of 4 contrasts"
