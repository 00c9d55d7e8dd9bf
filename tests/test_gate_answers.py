"""Answers of notebook 06: evidence in words, and LaTeX tables, from small tables by hand."""

import pandas as pd
import pytest

from pinnlib.report import gate_answers
from pinnlib.report.gate_rules import RULES


def contrasts(ratios, p=0.01, **columns):
    ratio = pd.Series(ratios)
    return pd.DataFrame(
        {"ratio": ratio, "low": ratio / 2, "high": ratio * 2, "p_holm": p} | columns
    )


def test_evidence_for_either_factor():
    table = contrasts([4.0, 0.25, 1.0], [0.01, 0.2, 1], factor=["shape", "shape", "amplitude"])
    assert gate_answers.factor_evidence(table) == (
        "amplitude: median factor 1.00, 0 of 8 significant;"
        " shape: median factor 4.00, 1 of 8 significant"
    )


def test_evidence_for_alpha():
    medians = pd.DataFrame({20: [0.3, 0.2], 60: [0.1, None]}, index=[0.5, 1.0])
    table = contrasts([2.0, 0.5], [0.01, 0.2], first="0.5", second="1")
    assert gate_answers.alpha_evidence(table, medians) == (
        "best $α$: 1 at $k = 20$; significant losses, of 16: 0 ($α = 0.5$), 1 ($α = 1$)"
    )
    assert gate_answers.best_alphas(medians[[60]]) == "open"


def test_evidence_for_the_loss():
    favourites = pd.DataFrame({"balanced": ["a", "b"], "mse": ["a", "c"]}, index=[20, 60])
    text = gate_answers.loss_evidence(favourites, "at 0 of 2 $k$")
    assert "losses at 1 of 2 $k$;" in text
    assert text.endswith("under its own at 0 of 2 $k$")


def test_evidence_for_the_budget():
    table = contrasts([2.0], k=[20], steps=[25000])
    assert gate_answers.budget_evidence(table) == (
        "ten seeds, linear/exp 2.00 [1.00, 4.00]* at $k = 20$ after 25,000 updates, $p$ 0.01"
    )


def test_evidence_for_velocity_and_trajectories():
    table = contrasts([2.0, 0.5, 1.2], [0.01, 0.01, 0.5])
    assert gate_answers.velocity_evidence(table, table[:2]) == (
        "better in 1, worse in 1 of 3 (penalty/hard 0.50 to 2.00);"
        " with it the gates differ at 2 of 2 $k$"
    )
    assert gate_answers.trajectory_evidence(table).endswith(
        "0.50 to 2.00; above 1.5 and significant in 1 of 3"
    )


def optimisers():
    cells = {"model": ["adaptive", "fixed"], "k": [20, 60]}
    return {
        "Adam": contrasts([4.0, 0.25], **cells),
        "Levenberg–Marquardt": contrasts([2.0, 0.25], **cells),
    }


def test_evidence_for_conditioning():
    text = gate_answers.gap_evidence(optimisers())
    assert "a factor 4.00 (Adam), 2.83 (Levenberg–Marquardt);" in text
    assert text.endswith("does not narrow it for fixed at $k = 60$")


def test_optimisers_share_one_correction():
    errors = {"exp": 1.0, "linear": 2.0}
    rows = [
        {"model": "fixed", "k": 20, "gate": gate, "seed": seed, "status": "ok", "rel_l2_u": error}
        for gate, error in errors.items()
        for seed in range(8)
    ]
    runs = pd.DataFrame(rows)
    found = gate_answers.optimiser_contrasts({"Adam": runs, "SGD": runs})
    for table in found.values():
        assert list(table["ratio"]) == [2]
        assert list(table["p_holm"]) == pytest.approx(2 * table["p_raw"])


def test_ratios_of_the_optimisers_and_of_longer_runs():
    ratios = gate_answers.optimiser_ratios(optimisers())
    assert list(ratios.columns) == ["method", "model", 20, 60]
    assert ratios.loc[0].tolist() == ["Adam", "adaptive", "4.00 [2.00, 8.00]*", ""]
    by_rounds = pd.DataFrame({6: [1.5, 2.0], 24: [1.0, 3.0]}, index=[20, 60])
    longer = gate_answers.longer_ratios(by_rounds, seeds=3)
    assert longer.values.tolist() == [
        ["L–M, 3 seeds, 6 rounds", "adaptive", "1.50", "2.00"],
        ["L–M, 3 seeds, 24 rounds", "adaptive", "1.00", "3.00"],
    ]
    lines = gate_answers.latex_optimisers(pd.concat([ratios, longer])).splitlines()
    assert lines[2] == r"Method & Trunk & $k=20$ & $k=60$ \\"
    assert lines[6] == r"L--M & adaptive & 2.00 [1.00, 4.00]* &  \\"
    assert lines[8] == r"\midrule"
    assert lines[9] == r"L--M, 3 seeds, 6 rounds & adaptive & 1.50 & 2.00 \\"


def test_answers_with_question_evidence_and_rule():
    answers = {
        "conditioning": ("optimisation", "$k = 20$ to 5%"),
        "helps": ("mixed", "half & half"),
    }
    table = gate_answers.answer_table(answers)
    assert list(table["Answer"]) == ["yes: optimisation", "mixed"]
    assert list(table["Rule"]) == [RULES["conditioning"]["rule"], RULES["helps"]["rule"]]
    assert gate_answers.answer_numbers(answers) == {
        "gate_answer_seven": "optimisation",
        "gate_answer_five": "mixed",
    }
    text = gate_answers.latex_answers(table)
    assert r"yes: optimisation & $k = 20$ to 5\%" in text
    assert r"Does a hard velocity help? & mixed & half \& half" in text
    assert "help? & Helps, if significantly better" in gate_answers.latex_rules(table)


def test_the_choice_of_a_gate_as_latex():
    choice = pd.DataFrame(
        {"regret_20": 1.0, "regret_worst": 1.5, "low": 1.2, "high": 2.0, "best_in": 0.72},
        index=["linear"],
    )
    lines = gate_answers.latex_choice(choice).splitlines()
    assert lines[2] == r"Gate $g(t)$ & $k=20$ & worst & 95\% interval & best in \\"
    assert lines[4] == r"$t$ & 1.00 & 1.50 & 1.20 to 2.00 & 72\% \\"
