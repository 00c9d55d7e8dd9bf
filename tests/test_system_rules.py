"""The rules of notebook 09, each on tables that must be answered differently."""

import re

import numpy as np
import pandas as pd
import pytest

from pinnlib.report import system_rules


def table(ratios, p=0.01):
    return pd.DataFrame({"ratio": ratios, "p_holm": p}, dtype=float)


@pytest.mark.parametrize("name", system_rules.RULES)
def test_every_rule_in_words_has_its_check_and_mathematics_between_dollars(name):
    assert callable(getattr(system_rules, name))
    rule = system_rules.RULES[name]
    for text in (rule["question"], rule["rule"]):
        assert text.count("$") % 2 == 0
        assert not re.search(r"\bk\b|[μλ]", re.sub(r"\$[^$]+\$", "", text))


def test_a_cell_is_solved_if_one_gate_beats_standing_still():
    medians = pd.DataFrame({"exp": [0.5, 1.2, 1.0], "linear": [2.0, 1.1, 1.5]})
    still = pd.Series([1.0, 1.0, 1.0])
    assert list(system_rules.is_solved(medians, still)) == [True, False, False]


@pytest.mark.parametrize(
    "ratios, p, answer",
    [
        ([2.0, 1.0, 0.5], 0.01, "reverses"),
        ([2.0, 0.5], [0.01, 0.2], "exp throughout"),
        ([2.0, 0.5], [0.2, 0.01], "linear throughout"),
        ([2.0, 0.5], 0.05, "no difference"),
        ([], [], "nothing solved"),
        ([2.0, np.nan], 0.01, "open"),
    ],
)
def test_reverses(ratios, p, answer):
    assert system_rules.reverses(table(ratios, p)) == answer


@pytest.mark.parametrize(
    "ratios, answer",
    [
        ([2.0] * 8, "helps"),
        ([0.5] * 8, "hurts"),
        ([2.0] * 7 + [0.5], "mixed"),
        ([2.0] * 7 + [np.nan], "open"),
    ],
)
def test_lbfgs_helps(ratios, answer):
    assert system_rules.lbfgs_helps(table(ratios)) == answer


@pytest.mark.parametrize(
    "left, answer",
    [
        ([1.1, 0.9], "yes"),
        ([3.0, 1 / 3], "partly"),
        ([4.0, 0.25], "no"),
        ([4.0, np.nan], "open"),
    ],
)
def test_gap_closes(left, answer):
    assert system_rules.gap_closes(table([4.0, 0.25]), table(left)) == answer
    if answer == "open":
        assert system_rules.gap_closes(table(left), table([4.0, 0.25])) == answer
