"""Our questions and the original's conclusions: the ledger follows the rules of notebooks 06 to 09,
and never decides without their tables."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from pinnlib.paths import ROOT
from pinnlib.report import claim_figures, claims, evidence, questions

DATA = ROOT / "data"
TABLES = evidence.read_contrasts({name: DATA / f"{name}.csv" for name in evidence.CONTRASTS})
NUMBERS = evidence.read_numbers(sorted((DATA / "numbers").glob("0*.json")))
FACTS = evidence.Evidence({}, {}, numbers=NUMBERS, contrasts=TABLES)
LEDGER = {claim.id: claim for claim in claims.CLAIMS}
ASKED = [claim for claim in claims.CLAIMS if claim.kind == claims.OURS]
FROM_TABLES = [*ASKED, *(LEDGER[name] for name in ("own-rate", "design-choice"))]
by_id = pytest.mark.parametrize("claim", FROM_TABLES, ids=lambda claim: claim.id)


def contrast_rows(ratios, p=0.001):
    table = pd.DataFrame({"k": [20, 60, 100][: len(ratios)], "ratio": ratios, "p_holm": p})
    return table.assign(low=table["ratio"] / 2, high=table["ratio"] * 2)


def changed(name, **columns):
    """The evidence with some columns of one table replaced."""
    table = TABLES[name].assign(**columns)
    return evidence.Evidence({}, {}, numbers=NUMBERS, contrasts={**TABLES, name: table})


@by_id
def test_without_tables_nothing_is_decided(claim):
    with pytest.raises(evidence.NotTestableError, match="csv is missing"):
        claim.check(evidence.Evidence({}, {}, numbers=NUMBERS))


@by_id
def test_a_missing_run_leaves_the_question_open(claim):
    tables = {}
    for name, table in TABLES.items():
        without = {"ratio": np.nan, "answer": "open"}
        tables[name] = table.assign(**{key: without[key] for key in without if key in table})
    facts = evidence.Evidence({}, {}, contrasts=tables)
    if claim.id == "one-rate":
        assert claim.check(facts).verdict == "answered"  # it rests on the tuning seeds
    else:
        with pytest.raises(evidence.NotTestableError, match="missing or diverged"):
            claim.check(facts)


@pytest.mark.parametrize("claim", ASKED, ids=lambda claim: claim.id)
def test_every_answer_has_its_evidence(claim):
    found = claim.check(FACTS)
    assert found.verdict in ("answered", "undecided")
    assert found.answer
    if claim.id != "one-rate":  # medians on the tuning seeds: no contrast
        assert "($p$ = " in found.ours
        assert "[" in found.ours


def test_answers_are_those_of_the_notebooks():
    assert LEDGER["cause"].check(FACTS).answer == NUMBERS["loss_answer"]
    of_published = TABLES["system_verdicts"].query("rate == 'published'")
    number = (of_published["answer"] == "reverses").sum()
    assert LEDGER["reverses-published"].check(FACTS).answer == f"in {number} of the 6 cases"


def test_an_undecided_rule_is_not_an_answer():
    side = np.where(TABLES["rate_contrasts"]["loss"] == "mse", 0.5, 2.0)
    found = LEDGER["gate-or-constraint"].check(changed("rate_contrasts", ratio=side, p_holm=0.001))
    assert found.verdict == found.answer == "undecided"


# What the original concludes


@pytest.mark.parametrize(
    "exp_better_at, p, verdict",
    [((20,), 0.001, "reproduced"), ((20, 60), 0.001, "partly"), ((60,), 0.001, "not reproduced")],
)
def test_the_reversal_is_due_to_the_gate_if_it_survives(exp_better_at, p, verdict):
    ratio = np.where(TABLES["rate_contrasts"]["k"].isin(exp_better_at), 2.0, 0.5)
    facts = changed("rate_contrasts", ratio=ratio, p_holm=p)
    assert LEDGER["own-rate"].check(facts).verdict == verdict


@pytest.mark.parametrize("left, verdict", [(2.0, "reproduced"), (1.01, "not reproduced")])
def test_the_gate_matters_if_its_own_rate_leaves_the_gap(left, verdict):
    ratio = np.where(TABLES["rate_contrasts"]["rate"] == "own", left, 2.0)
    found = LEDGER["design-choice"].check(changed("rate_contrasts", ratio=ratio, p_holm=0.001))
    assert found.verdict == verdict
    assert found.ours.endswith("with these rates all 22 comparisons are significant")


@pytest.mark.parametrize(
    "answer, used, verdict",
    [
        ("optimisation", 0, "reproduced"),
        ("optimisation", 360, "partly"),
        ("partly", 0, "partly"),
        ("not conditioning", 0, "not reproduced"),
    ],
)
def test_conditioning_needs_a_solver_that_converged(answer, used, verdict):
    numbers = NUMBERS | {"gate_answer_seven": answer, "newton_rounds": 6, "newton_evaluations": 60}
    runs = pd.DataFrame({"rounds": 6, "evaluations": [100, used]})
    facts = evidence.Evidence({}, {}, numbers=numbers, contrasts={"gate_second_order": runs})
    found = LEDGER["conditioning"].check(facts)
    assert found.verdict == verdict
    assert found.reason == f"of 2 Levenberg–Marquardt runs {used // 360} did not converge"


def test_conditioning_needs_notebook_06():
    with pytest.raises(evidence.NotTestableError, match="06"):
        LEDGER["conditioning"].check(evidence.Evidence({}, {}))


@pytest.mark.parametrize(
    "winner, significance, verdict",
    [
        ([True, True], [True, True], "reproduced"),
        ([True, False], [True, True], "partly"),
        ([False, False], [True, True], "not reproduced"),
    ],
)
def test_the_loss_of_the_text_is_judged_by_the_published_tests(winner, significance, verdict):
    rows = pd.DataFrame({"same_winner": winner, "same_significance": significance})
    rows = rows.astype("boolean").assign(p_holm=[0.001, 0.5])
    facts = evidence.Evidence({}, {"beside_published_as_written": rows})
    found = LEDGER["loss-of-text"].check(facts)
    assert found.verdict == verdict
    ahead = "none" if winner[0] else "1"
    assert found.ours.endswith(f"significantly ahead in {ahead} of the 2")


# Words


def test_shares_are_words():
    assert questions.how_many(0, 8) == "none of the 8"
    assert questions.how_many(3, 8) == "3 of the 8"
    assert questions.how_many(8, 8) == "all 8"


def test_two_contrasts_are_both_named_and_more_by_their_range():
    two = questions.ratio_summary(contrast_rows([2.0, 0.5]), "a/b")
    first = "2.00 [1.00, 4.00] at $k = 20$ ($p$ = 0.001)"
    assert two == f"a/b is {first} and 0.50 [0.25, 1.00] at $k = 60$ ($p$ = 0.001)"
    three = questions.ratio_summary(contrast_rows([2.0, 0.1, 1.2]), "a/b")
    assert three.startswith("a/b is 0.10 to 2.00 in 3 contrasts, significantly above 1 in 2 and")
    assert "below 1 in 1; the largest effect is 0.10 [0.05, 0.20] at $k = 60$" in three


def test_a_contrast_names_what_varies():
    table = contrast_rows([2.0, 3.0]).assign(loss=["mse", "balanced"], gate="exp")
    assert "at $k = 20$, mse loss ($p$" in questions.ratio_summary(table, "a/b")
    table = contrast_rows([2.0]).assign(system="van_der_pol")
    assert r"in van der Pol at $\mu = 20$" in questions.ratio_summary(table, "a/b")


# The figure


def test_every_claim_has_a_tile_and_every_verdict_a_look():
    assert set(claim_figures.LOOKS) == set(evidence.VERDICTS)
    filed = pd.read_csv(DATA / "claims.csv", keep_default_na=False)
    figure = claim_figures.plot_ledger(filed)
    assert len(figure.axes[0].patches) == len(filed)
    texts = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
    assert "parameter counts" in texts
    assert set(filed.loc[filed["kind"] == claims.OURS, "answer"]) <= set(texts)
    counts = json.loads((DATA / "numbers" / "10_claims.json").read_text())
    assert f"{counts['claims_reproduced']} reproduced" in figure.get_suptitle()


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.id)
def test_labels_fit_into_a_tile(claim):
    """On two lines, without primes: their font makes the PDF backend print a warning."""
    assert "'" not in re.sub(r"[^$]*(\$[^$]+\$)?", r"\1", claim.label)
    if claim.kind == claims.OURS:
        assert len(claim.label) <= 32
    else:
        assert claim_figures._wrapped(claim.label, 18).count("\n") <= 1


def test_labels_break_between_words_and_not_within_mathematics():
    label = claim_figures._wrapped("often $k = 20$ in max_ae_u", 12)
    assert label == "often $k=20$\nin MaxAE"
