"""The rules of notebook 07, each on tables that must be answered differently."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from pinnlib.report import loss_rules
from pinnlib.report.loss_rules import FROZEN
from pinnlib.runs.studies import STUDIES, THREE_K

LIGHT = "weighted(weights=(1.0, 0.01))"
HEAVY = "weighted(weights=(1.0, 100.0))"
LOSSES = ("mse", LIGHT, HEAVY, FROZEN, "balanced")
EXP, LINEAR, NEITHER = 2.0, 0.5, 1.1


def cell(mse, light, heavy, frozen, balanced, k=20, lambda_ic=50):
    """The gaps of one cell; those at NEITHER are not significant."""
    ratio = [mse, light, heavy, frozen, balanced]
    p = [0.5 if value == NEITHER else 0.01 for value in ratio]
    columns = {
        "loss": LOSSES,
        "ratio": ratio,
        "p_holm": p,
        "k": k,
        "lambda_ic": lambda_ic,
    }
    return pd.DataFrame(columns)


WEIGHTS = (LINEAR, EXP, LINEAR, EXP, EXP)
INITIAL = (LINEAR, NEITHER, LINEAR, EXP, EXP)
MOVING = (LINEAR, NEITHER, LINEAR, NEITHER, EXP)
SAME = (EXP, EXP, LINEAR, LINEAR, EXP)
UNSURE = (NEITHER, EXP, EXP, EXP, EXP)


def cells(*kinds):
    places = itertools.product(THREE_K, (0, 50))
    tables = [cell(*kind, *place) for kind, place in zip(kinds, places, strict=False)]
    return pd.concat(tables, ignore_index=True)


@pytest.mark.parametrize(
    "kinds, answer",
    [
        ([WEIGHTS, WEIGHTS, SAME, UNSURE], "weights"),
        ([WEIGHTS, WEIGHTS, WEIGHTS, MOVING], "weights"),  # exactly three quarters
        ([INITIAL, SAME], "initial scales"),
        ([MOVING], "moving scales"),
        ([WEIGHTS, WEIGHTS, MOVING], "undecided"),
        ([SAME, UNSURE], "nothing turns"),
    ],
)
def test_cause(kinds, answer):
    assert loss_rules.cause(cells(*kinds)) == answer


def test_causes_name_the_turned_cells():
    found = loss_rules.causes(cells(SAME, INITIAL, MOVING))
    assert found.to_dict() == {(20, 50): "initial scales", (60, 0): "moving scales"}


def test_the_winner_can_turn_either_way():
    back = [1 / ratio for ratio in WEIGHTS]
    assert loss_rules.causes(cell(*back)).tolist() == ["weights"]


def test_nothing_is_answered_from_runs_that_are_not_there():
    table = cells(WEIGHTS, WEIGHTS)
    table.loc[0, ["ratio", "p_holm"]] = np.nan
    assert loss_rules.cause(table) == "open"
    assert loss_rules.control(table) == "open"


@pytest.mark.parametrize(
    "mse, balanced, answer",
    [
        ([EXP, LINEAR], [EXP, EXP], "yes"),
        ([EXP, LINEAR], [EXP, LINEAR], "no"),
        ([EXP, LINEAR], [EXP, NEITHER], "no"),
    ],
)
def test_control(mse, balanced, answer):
    parts = []
    for k, *ratios in zip((1, 2), mse, balanced, strict=True):
        p = [0.5 if value == NEITHER else 0.01 for value in ratios]
        part = {
            "k": k,
            "loss": ["mse", "balanced"],
            "ratio": ratios,
            "p_holm": p,
        }
        parts.append(pd.DataFrame(part))
    assert loss_rules.control(pd.concat(parts)) == answer


@pytest.mark.parametrize("name", loss_rules.RULES)
def test_every_rule_in_words_has_its_check(name):
    assert callable(getattr(loss_rules, name))
    assert set(loss_rules.RULES[name]) == {"question", "rule"}


@pytest.mark.parametrize("name", loss_rules.RULES)
def test_mathematics_of_rules_is_between_dollars(name):
    for text in loss_rules.RULES[name].values():
        assert text.count("$") % 2 == 0
        assert not re.search(r"\bk\b|[λθ]", re.sub(r"\$[^$]+\$", "", text))


def test_the_study_of_weights_has_the_losses_of_the_rule():
    losses = STUDIES["weights"].losses
    assert FROZEN in losses
    assert all(loss.startswith("weighted") for loss in losses if loss != FROZEN)
