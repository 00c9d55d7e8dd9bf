"""Short answers of notebook 08: a grammatical sentence for every outcome, from small tables."""

import re

import numpy as np
import pandas as pd
import pytest
from test_rate_answers import RECIPE, product, table

from pinnlib.report import rate_summaries
from pinnlib.report.phrases import OPEN
from pinnlib.runs.studies import FOUR_K, RATE_K, TABLE_K

CELLS = product(rate=["published", "own"], loss=["balanced", "mse"], k=RATE_K)
SHORT = 110  # words


def gap(published=2.0, own=2.0):
    """Ratios at either rate, all significant but those of 1."""
    ratios = np.where(CELLS["rate"] == "own", own, published)
    return table(CELLS, ratios, np.where(ratios == 1, 0.5, 0.0001)).assign(p_raw=0.1)


def words(text):
    """How many words; a formula or an interval counts as one."""
    text = re.sub(r"\$[^$]*\$|\[[^]]*\]", "x", text)
    return len(text.split())


def assert_sentences(text):
    assert re.fullmatch(r"[A-Z].*[.]", text)
    assert not re.search(r"\bnan\b|  |\.\.|\b0 of\b", text)
    assert text.count("$") % 2 == 0
    assert words(text) <= SHORT


TUNING = pd.DataFrame(
    {
        "gate": ["exp", "exp", "exp", "linear", "linear", "none"],
        "lr": [3e-3, 1e-3, 1e-2, 1e-3, 1e-3, 1e-3],
        "chosen": [True, True, False, True, True, True],
    }
)
FREE = table(product(rate=["published", "own"], loss=["balanced", "mse"], k=TABLE_K))


def test_how_often_the_published_rate_is_the_best():
    text = rate_summaries.chosen_rates(TUNING)
    assert "linear gate's best in 2 of 2 settings and the exponential gate's in 1; the" in text
    assert text.endswith("wants a higher one in 1.")


@pytest.mark.parametrize("published", [2.0, 1.0, 0.5])
@pytest.mark.parametrize("own", [2.0, 1.0, 0.5])
def test_the_rate_has_a_short_answer_whatever_is_found(published, own):
    found = gap(published, own)
    answer = rate_summaries.rate_answer("gate", found, TUNING)
    headline = rate_summaries.own_rate_headline(found, FREE)
    total = 2 * len(RATE_K)
    count = f"all {total} comparisons" if own == 0.5 else f"none of {total} comparisons"
    assert f"at $k = 60$ from {published:.2f} to {own:.2f} [" in answer
    assert f"linear/exp moves from {published:.2f} at the published rate to {own:.2f} (" in headline
    assert "in none of 4 comparisons, the exponential gate in 4." in headline
    for text in (answer, headline):
        assert f"the linear gate is significantly better in {count}" in text
        assert_sentences(text)


def test_missing_runs_leave_every_short_answer_open():
    missing = gap().assign(ratio=np.nan)
    factor = table(product(loss=["mse"], k=FOUR_K, second=["exp", "linear"]))
    assert rate_summaries.rate_answer("open", missing, TUNING) == OPEN
    assert rate_summaries.own_rate_headline(missing, FREE) == OPEN
    assert rate_summaries.own_rate_headline(gap(), FREE.assign(ratio=np.nan)) == OPEN
    assert rate_summaries.interval_note(missing, pd.DataFrame()) == ""
    assert rate_summaries.constraint_answer("open", "helps", factor, factor) == OPEN
    open_table = factor.assign(ratio=np.nan)
    assert rate_summaries.recipe_answer(open_table, factor, RECIPE) == OPEN
    assert rate_summaries.recipe_answer(factor, open_table, RECIPE) == OPEN


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
    assert (
        "in none of 16 comparisons (smallest gate/shifted 2.00 [1.00, 4.00], $p = 0.01$, $k" in none
    )
    assert "in all 8 comparisons (largest soft/shifted 2.00" in none
    factor.loc[0, "ratio"] = 0.5
    one = rate_summaries.constraint_answer(verdict, start, factor, soft)
    assert "in 1 of 16 comparisons (smallest gate/shifted 0.50 [" in one
    factor.loc[0, "p_holm"] = 0.5
    unclear = rate_summaries.constraint_answer(verdict, start, factor, soft)
    assert "comparisons (smallest, though not significant: gate/shifted 0.50 [" in unclear
    assert one.startswith(rate_summaries.FACTOR[verdict])
    for text in (none, one):
        assert_sentences(text)


def test_the_recipe_is_recommended_only_if_it_is_better():
    cells = product(k=RATE_K, second=["exp", "linear"])
    tuned = table(cells, 1.2)
    good = rate_summaries.recipe_answer(table(cells), tuned, RECIPE)
    assert good.startswith("For this pendulum, use the gate $1-e^{-2t}$ with")
    assert "in all 22 comparisons and worse in none; published/recipe ranges from 2.00" in good
    assert "has 1.20 to 1.20 times the error of the recipe (significantly worse in 11 of 11" in good
    bad = rate_summaries.recipe_answer(table(cells, 0.5), tuned, RECIPE)
    assert bad.startswith("Nothing is clearly better than the published settings; the best")
    assert "in none of 22 comparisons and worse in 22;" in bad
    for text in (good, bad):
        assert_sentences(text)


def test_the_quoted_keys():
    tables = {
        "gap": gap(),
        "free": FREE,
        "factor": table(product(loss=["mse"], k=FOUR_K, second=["exp", "linear"])),
        "start": table(product(loss=["mse"], k=FOUR_K)),
        "recipe": table(product(k=RATE_K, second=["exp", "linear"])),
        "tuned": table(product(k=RATE_K, second=["exp", "linear"])),
    }
    verdicts = {"rate_or_gate": "gate", "gate_or_constraint": "not needed", "exact_start": "helps"}
    found = rate_summaries.rate_headlines(tables, verdicts, pd.DataFrame(), TUNING, RECIPE)
    assert list(found) == [
        "headline_own_rate",
        "rate_answer",
        "rate_interval_note",
        "constraint_answer",
        "recipe_answer",
    ]
