"""Short answers of notebook 08: a grammatical sentence for every outcome, from small tables."""

import re

import numpy as np
import pandas as pd
import pytest
from test_rate_answers import RECIPE, product, table

from pinnlib.report import rate_summaries
from pinnlib.report.phrases import OPEN
from pinnlib.report.rate_summaries import Wins
from pinnlib.runs.studies import FOUR_K, RATE_K

CELLS = product(rate=["published", "own"], loss=["balanced", "mse"], k=RATE_K)
SHORT = 65  # words


def gap(published=2.0, own=2.0):
    """Ratios at either rate, all significant but those of 1."""
    ratios = np.where(CELLS["rate"] == "own", own, published)
    return table(CELLS, ratios, np.where(ratios == 1, 0.5, 0.0001)).assign(p_raw=0.1)


def words(text):
    """How many words; a formula or an interval counts as one."""
    text = re.sub(r"\$[^$]*\$|\[[^]]*\]", "x", text)
    return len(text.split())


def assert_short(text):
    assert re.fullmatch(r"[A-Z].*[.]", text)
    assert not re.search(r"\bnan\b|  |\.\.|\b0 of\b", text)
    assert text.count("$") % 2 == 0
    assert words(text) <= SHORT


@pytest.mark.parametrize(
    "published, own, start",
    [
        ((9, 3), (13, 0), "The wins of the linear gate are a matter of the learning rate; those"),
        ((3, 9), (0, 13), "The wins of the exponential gate are a matter of the learning rate;"),
        ((9, 3), (0, 0), "The wins of either gate are"),
        ((0, 0), (0, 0), "No: neither gate ever wins"),
        ((9, 3), (9, 1), "It is not the learning rate alone: each gate keeps wins"),
        ((9, 0), (9, 0), "It is not the learning rate: only the exponential gate wins"),
        ((0, 9), (0, 9), "It is not the learning rate: only the linear gate wins"),
    ],
)
def test_whose_wins_are_a_matter_of_the_rate(published, own, start):
    assert rate_summaries.rate_lead(Wins(*published), Wins(*own)).startswith(start)


@pytest.mark.parametrize("published", [2.0, 1.0, 0.5])
@pytest.mark.parametrize("own", [2.0, 1.0, 0.5])
def test_the_rate_has_a_short_answer_whatever_is_found(published, own):
    found = gap(published, own)
    answer = rate_summaries.rate_answer(found)
    headline = rate_summaries.own_rate_headline(found)
    count = "all 16 comparisons" if own == 0.5 else "none of 16 comparisons"
    assert f"the linear gate is significantly better in {count}" in answer
    assert f"at $k = 60$ from {published:.2f} to {own:.2f} [" in answer
    assert ("the published win of the linear gate" in headline) == (published == 0.5)
    for text in (answer, headline):
        assert_short(text)


def test_missing_runs_leave_every_short_answer_open():
    missing = gap().assign(ratio=np.nan)
    factor = table(product(loss=["mse"], k=FOUR_K, second=["exp", "linear"]))
    assert rate_summaries.rate_answer(missing) == OPEN
    assert rate_summaries.own_rate_headline(missing) == OPEN
    assert rate_summaries.interval_note(missing, pd.DataFrame()) == ""
    assert rate_summaries.constraint_answer("open", "helps", factor, factor) == OPEN
    assert rate_summaries.recipe_answer(factor.assign(ratio=np.nan), RECIPE) == OPEN


def seeds(wins, losses):
    """Runs at k = 60 in which linear − exp has these values."""
    gains = [*wins, *losses]
    rows = []
    for seed, gain in enumerate(gains):
        for gate, error in (("exp", 0.04), ("linear", 0.04 + gain)):
            row = {"seed": seed, "gate": gate, "rel_l2_u": error}
            rows.append(row | {"loss": "balanced", "k": 60})
    return pd.DataFrame(rows)


def test_an_interval_that_disagrees_with_p_is_explained():
    found = gap(own=2.0)
    note = rate_summaries.interval_note
    runs = seeds([0.01] * 16, [-0.02] * 4)
    assert note(found, runs) == ""  # significant
    found["p_holm"] = 0.5
    found["low"] = 1.5
    text = note(found, runs)
    assert "the interval leaves out 1 although $p = 0.5$ (0.1 before Holm's correction)" in text
    assert "16 of 20 seeds favour the exponential gate but the other 4 favour the linear" in text
    assert text.endswith("gate by more (median difference 0.02 against 0.01).")
    small = note(found, seeds([0.01] * 16, [-0.005] * 4))
    assert small.endswith("gate too (median difference 0.005 against 0.01).")
    found["low"] = 0.9
    assert note(found, runs) == ""  # the interval holds 1


@pytest.mark.parametrize("verdict", rate_summaries.FACTOR)
@pytest.mark.parametrize("start", rate_summaries.START)
def test_gate_or_constraint_is_short_for_every_verdict(verdict, start):
    factor = table(product(loss=["balanced", "mse"], k=FOUR_K, second=["exp", "linear"]))
    soft = table(product(loss=["balanced", "mse"], k=FOUR_K))
    none = rate_summaries.constraint_answer(verdict, start, factor, soft)
    assert "in none of 16 comparisons (gate/shifted at most 2.00 [1.00, 4.00], $p = 0.01$)" in none
    assert "in all 8 comparisons (soft/shifted up to 2.00" in none
    factor.loc[0, "ratio"] = 0.5
    one = rate_summaries.constraint_answer(verdict, start, factor, soft)
    assert "in 1 of 16 comparisons (gate/shifted 0.50 [" in one
    assert one.startswith(rate_summaries.FACTOR[verdict])
    for text in (none, one):
        assert_short(text)


def test_the_recipe_is_recommended_only_if_it_is_better():
    cells = product(k=RATE_K, second=["exp", "linear"])
    good = rate_summaries.recipe_answer(table(cells), RECIPE)
    assert good.startswith("For this pendulum, use the gate $1-e^{-2t}$ with")
    assert "in all 16 comparisons and worse in none; published/recipe ranges from 2.00" in good
    bad = rate_summaries.recipe_answer(table(cells, 0.5), RECIPE)
    assert bad.startswith("Nothing is clearly better than the published settings; the best")
    assert "in none of 16 comparisons and worse in 16;" in bad
    for text in (good, bad):
        assert_short(text)


def test_the_quoted_keys():
    tables = {
        "gap": gap(),
        "factor": table(product(loss=["mse"], k=FOUR_K, second=["exp", "linear"])),
        "start": table(product(loss=["mse"], k=FOUR_K)),
        "recipe": table(product(k=RATE_K, second=["exp", "linear"])),
    }
    verdicts = {"gate_or_constraint": "not needed", "exact_start": "helps"}
    found = rate_summaries.rate_headlines(tables, verdicts, pd.DataFrame(), RECIPE)
    assert list(found) == [
        "headline_own_rate",
        "rate_answer",
        "rate_interval_note",
        "constraint_answer",
        "recipe_answer",
    ]
