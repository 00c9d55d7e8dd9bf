"""Answers of notebook 08: a sentence for every verdict, values and LaTeX, from small tables."""

import re

import numpy as np
import pandas as pd
import pytest

from pinnlib.report import rate_answers, rate_rules
from pinnlib.runs.studies import FOUR_K, RATE_K, TABLE_K, THREE_K

RECIPE = {"gate": "exp(alpha=2.0)", "loss": "mse", "schedule": "cosine", "lr": 0.003}
SENTENCE = re.compile(r"[A-Z].*[.]")


def table(cells, ratio=2.0, p=0.01):
    """A row per cell, all with the same ratio."""
    frame = pd.DataFrame(cells)
    frame["ratio"] = ratio
    frame["low"] = frame["ratio"] / 2
    frame["high"] = frame["ratio"] * 2
    return frame.assign(p_holm=p)


def product(**columns):
    names = list(columns)
    index = pd.MultiIndex.from_product(columns.values(), names=names)
    return index.to_frame(index=False)


@pytest.fixture
def tables():
    losses = ["balanced", "mse"]
    rates = ["own", "published"]
    pair = ["exp", "linear"]
    schedules = ["constant", "cosine"]
    return {
        "gap": table(product(rate=rates, loss=losses, k=RATE_K)),
        "free": table(product(rate=rates, loss=losses, k=TABLE_K)),
        "gain": table(product(gate=pair, loss=losses, k=RATE_K)),
        "decay": table(product(rate=rates, gate=pair, k=THREE_K)),
        "decay_gap": table(product(schedule=schedules, rate=rates, k=THREE_K)),
        "factor": table(product(loss=losses, k=FOUR_K, second=pair)),
        "start": table(product(loss=losses, k=FOUR_K)),
        "recipe": table(product(k=RATE_K, second=pair)),
        "tuned": table(product(k=RATE_K, second=pair)),
    }


@pytest.fixture
def tuning():
    runs = product(gate=["exp", "linear"], k=RATE_K, lr=[0.001, 0.01])
    return runs.assign(rel_l2_u=runs["lr"], loss="balanced", status="ok")


def test_every_rule_has_a_verdict_and_a_sentence(tables, tuning):
    found = rate_answers.verdicts(tables, tuning)
    texts = rate_answers.sentences(found, tables, tuning, RECIPE)
    assert list(found) == list(rate_rules.RULES)
    assert list(texts) == list(rate_rules.RULES)
    assert "open" not in found.values()
    for text in texts.values():
        assert SENTENCE.fullmatch(text)
        assert text.count("$") % 2 == 0


def test_without_runs_every_sentence_is_the_open_question(tables, tuning):
    for part in tables.values():
        part.loc[:, "ratio"] = np.nan
    tuning["status"] = "missing"
    found = rate_answers.verdicts(tables, tuning)
    texts = rate_answers.sentences(found, tables, tuning, RECIPE)
    assert set(found.values()) == {"open"}
    for name, text in texts.items():
        assert text.startswith(rate_rules.RULES[name]["question"])
        assert "open" in text
    assert "open" in rate_answers.gain_text(tables["gain"])


@pytest.mark.parametrize("name", rate_answers.LEADS)
def test_every_lead_belongs_to_a_rule(name):
    assert name in rate_rules.RULES
    for lead in rate_answers.LEADS[name].values():
        assert lead[0].isupper()
        assert lead[-1] not in ".:"


@pytest.mark.parametrize(
    "ratios, verdict, says",
    [
        ([2.0, 0.5], "yes", ["survives when", "exponential gate is better (", "linear gate"]),
        ([2.0, 2.0], "partly", ["only in part", "at $k = 60$ the exponential gate is better"]),
        ([1.0, 1.0], "no", ["does not survive", "at $k = 20$ neither gate"]),
    ],
)
@pytest.mark.parametrize("name", ["reversal_survives", "reversal_without_penalty"])
def test_reversal(name, ratios, verdict, says):
    own = table({"k": [20, 60]}, ratios)
    text = rate_answers.reversal_text(name, verdict, own)
    for words in says:
        assert words in text
    assert f"(linear/exp {ratios[0]:.2f} [{ratios[0] / 2:.2f}," in text
    assert "$p = 0.01$)" in text


@pytest.mark.parametrize("verdict", ["rate", "gate", "both"])
def test_share_of_the_gap(verdict):
    cells = {"k": [20, 30, 60, 100]}
    published = table(cells, 4.0)
    own = table(cells, [1.0, 0.5, 4.0, 4.0])
    text = rate_answers.share_text(verdict, published, own)
    assert text.startswith(rate_answers.LEADS["rate_or_gate"][verdict])
    assert "of 4 significant gaps" in text
    assert "removes more than half in 2." in text
    assert text.endswith("these are 2 of 4 wins of the exponential gate.")


def test_a_removed_gap_names_its_winner_and_mixed_ones_name_none():
    cells = {"k": [20, 60]}
    one = rate_answers.share_text("gate", table(cells, 0.25), table(cells, [0.25, 1.0]))
    assert one.endswith("Seen afterwards, these are 1 of 2 wins of the linear gate.")
    both = rate_answers.share_text("rate", table(cells, [0.25, 4.0]), table(cells, 1.0))
    assert both.endswith("removes more than half in 2.")
    none = rate_answers.share_text("gate", table(cells), table(cells))
    assert "more than half in none." in none


def test_without_a_significant_gap_there_is_nothing_to_share():
    gaps = table({"k": [20, 60]}, p=0.5)
    assert rate_answers.share_text("both", gaps, gaps).startswith("No gap")


@pytest.mark.parametrize("verdict", ["yes", "no", "for one gate only"])
def test_one_rate_names_the_best_single_rates(verdict, tuning):
    worse = (tuning["gate"] == "linear") & (tuning["k"] == 20) & (tuning["lr"] == 0.001)
    tuning.loc[worse, "rel_l2_u"] = 0.02
    text = rate_answers.one_rate_text(verdict, tuning)
    assert text.startswith(rate_answers.LEADS["one_rate"][verdict])
    assert "0.001 for the exponential gate (at most a factor 1.00)" in text
    assert "0.001 for the linear gate (at most a factor 2.00)" in text


@pytest.mark.parametrize("verdict", ["helps", "hurts", "mixed"])
def test_decay_and_start_count_their_contrasts(verdict):
    contrasts = table({"k": [20, 60, 100]}, [2.0, 0.5, 0.4])
    counts = "significantly better in 1 of 3 comparisons and worse in 2"
    decay = rate_answers.decay_text(verdict, contrasts)
    assert decay.endswith(f": it is {counts} (constant/cosine 0.40 to 2.00).")
    start = rate_answers.start_text(verdict, contrasts)
    assert start.endswith(
        f": compared with the soft ansatz, the shifted one is {counts} (soft/shifted 0.40 to 2.00)."
    )


def test_turned_winners_are_named(tables):
    gaps = tables["decay_gap"]
    assert rate_answers.turn_text("no", gaps).startswith("Cosine decay reverses no")
    turned = (gaps["schedule"] == "cosine") & (gaps["k"] == 60)
    gaps.loc[turned, "ratio"] = 0.5
    text = rate_answers.turn_text("yes", gaps)
    assert text.endswith("winner at $k = 60$ (own rate) and $k = 60$ (published rate).")


@pytest.mark.parametrize("verdict", ["needed", "not needed", "undecided"])
def test_the_factor_counts_its_cells(verdict, tables):
    factor = tables["factor"]
    factor.loc[factor["k"] == 20, "ratio"] = 0.5
    factor.loc[(factor["k"] == 30) & (factor["second"] == "exp"), "ratio"] = 0.5
    text = rate_answers.factor_text(verdict, factor)
    assert text.startswith(rate_answers.LEADS["gate_or_constraint"][verdict])
    assert "worse than neither published gate in 4 of 8 cells, and worse than both in 2 (" in text


def test_the_recipe_in_words(tables):
    text = rate_answers.recipe_text("better", tables["recipe"], RECIPE)
    words = "the gate $1-e^{-2t}$ with the plain mean-square loss and cosine decay from 0.003"
    assert rate_answers.recipe_words(RECIPE) == words
    assert words in text
    assert "better in all 22 comparisons and worse in none (published/recipe 2.00 to 2.00)" in text
    constant = RECIPE | {"schedule": "constant", "loss": "balanced"}
    assert "balanced loss and a constant rate of" in rate_answers.recipe_words(constant)


def test_gains_are_medians_per_gate(tables):
    text = rate_answers.gain_text(tables["gain"])
    assert "$1-e^{-t}$ by a factor 2.00 (significantly in all 22 cells) and $t$ by" in text


def test_the_table_of_answers(tables, tuning):
    found = rate_answers.verdicts(tables, tuning)
    texts = rate_answers.sentences(found, tables, tuning, RECIPE)
    rows = rate_answers.answer_rows(found, texts, found).set_index("Question")
    assert len(rows) == len(rate_rules.RULES)
    assert rows.loc["Is there one rate for all $k$?", "For the angle"] == ""
    assert rows.loc["Does cosine decay help?", "For the angle"] == "helps"
    assert r"\label{tab:raterules}" in rate_answers.latex_rate_rules(rows.reset_index())


def test_the_rules_are_a_list_with_their_questions():
    lines = rate_answers.rate_rules_text().splitlines()
    assert len(lines) == len(rate_rules.RULES)
    assert lines[0].startswith("- **Does the reversal survive when every gate has its own rate?**")


def test_the_report_quotes_every_sentence(tables, tuning):
    found = rate_answers.verdicts(tables, tuning)
    texts = rate_answers.sentences(found, tables, tuning, RECIPE)
    values = rate_answers.answer_values(texts)
    assert values["rate_text_recipe"] == texts["recipe"]
    assert len(values) == len(texts)
