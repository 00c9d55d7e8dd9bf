"""Answers of notebook 06: evidence in words, and LaTeX tables, from small tables by hand."""

import pandas as pd
import pytest

from pinnlib.report import gate_answers, gate_choice
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
    text = gate_answers.gap_evidence(optimisers(), "none of its 80 runs converged")
    assert "a factor 4.00 (Adam), 2.83 (Levenberg–Marquardt);" in text
    assert "with trained frequencies none of its 80 runs converged;" in text
    assert text.endswith("does not narrow the gap for fixed at $k = 60$")


def compared(amplitude, shape, p=0.01):
    """The contrasts of both factors, eight of each."""
    return {
        "amplitude: original, changed": contrasts([amplitude] * 8, p, factor="amplitude"),
        "shape: straight, saturating": contrasts([shape] * 8, p, factor="shape"),
    }


@pytest.mark.parametrize(
    "amplitude, shape, p, beginning",
    [
        (3.0, 1 / 3, 0.01, "Amplitude matters about as much as shape"),
        (3.0, 1.1, 0.01, "Amplitude matters more than shape"),
        (1.1, 3.0, 0.01, "Shape matters more than amplitude"),
        (3.0, 3.0, 0.5, "Whether amplitude or shape matters more is undecided"),
    ],
)
def test_which_factor_matters_more(amplitude, shape, p, beginning):
    text = gate_answers.factor_clause(compared(amplitude, shape, p))
    assert text.startswith(f"{beginning}: a tenfold amplitude")
    size = max(shape, 1 / shape)
    assert text.endswith(f"another shape by {size:.2f}")


def test_a_factor_without_all_runs_is_open():
    text = gate_answers.factor_clause(compared(3.0, float("nan")))
    assert text == "Whether amplitude or shape matters more is open, since runs are missing"


@pytest.mark.parametrize(
    "ratio, p, ending",
    [
        (2.0, 0.01, "significantly better than $1-e^{-t}$ at any $k$"),
        (2.0, 0.2, "significantly better than $1-e^{-t}$ or $1-e^{-2t}$ at any $k$"),
        ([2.0, 0.5], 0.01, "significantly worse than another at some $k$"),
        (float("nan"), 0.01, "is open, since runs are missing"),
    ],
)
def test_which_alpha_is_never_beaten(ratio, p, ending):
    table = contrasts([1.0, 1.0], p, first="exp", second="exp(alpha=2.0)").assign(ratio=ratio)
    assert gate_answers.alpha_clause({"alpha": table}).endswith(ending)


@pytest.mark.parametrize(
    "left, beginning",
    [
        ([1.1, 0.9], "The optimiser matters: Levenberg–Marquardt narrows the median gap"),
        ([4.0, 0.25], "Levenberg–Marquardt does not narrow the median gap"),
        ([4.0, None], "Whether another optimiser closes the gap"),
    ],
)
def test_the_sentence_on_the_optimiser(left, beginning):
    tables = optimisers() | {"Levenberg–Marquardt": contrasts(left)}
    text = gate_answers.optimiser_sentence(tables, "none of its 80 runs converged")
    assert text.startswith(beginning)
    if None not in left:
        assert text.endswith(", but with trained frequencies none of its 80 runs converged.")
        text = gate_answers.optimiser_sentence(tables, "all of its 2 runs converged")
        assert text.endswith(", and with trained frequencies all of its 2 runs converged.")


def test_whether_adam_alone_turns():
    cells = {"model": "adaptive", "k": [20, 60]}
    turns, stays = contrasts([2.0, 0.5], **cells), contrasts([2.0, 1.5], **cells)
    text = gate_answers.reversal_sentence({"Adam": turns, "SGD": stays})
    assert text.startswith("Of the three optimisers only Adam has the exponential gate ahead")
    for tables in ({"Adam": turns, "SGD": turns}, {"Adam": stays, "SGD": stays}):
        assert gate_answers.reversal_sentence(tables).startswith("It does not hold here")


def choice_of(*rows):
    columns = ["gate", "regret_20", "regret_worst", "low", "high", "best_in", "angle_worst"]
    return pd.DataFrame(rows, columns=columns).set_index("gate")


def test_the_choice_in_words_and_numbers():
    choice = choice_of(
        ("exp(alpha=2.0)", 1.0, 1.5, 1.2, 2.0, 0.72, 3.0),
        ("exp", 2.0, 2.0, 1.8, 3.0, 0.28, 2.5),
        ("linear", 4.0, 9.0, 8.0, 9.5, 0.0, 8.0),
    )
    text = gate_choice.choice_sentence(choice)
    assert "has $1-e^{-2t}$: its median error is at most 1.50 times" in text
    assert "$1-e^{-t}$ has the best worst case by the error of the angle (2.50)" in text
    assert "The same gate has" in gate_choice.choice_sentence(choice.assign(angle_worst=[1, 2, 3]))
    missing = gate_choice.choice_sentence(choice.assign(regret_worst=float("nan")))
    assert missing.endswith("is open, since runs are missing.")
    numbers = gate_choice.choice_numbers(choice)
    assert numbers["gate_best"] == "$1-e^{-2t}$"
    assert numbers["gate_second_share"] == "28%"
    assert numbers["gate_last"] == "$t$"
    assert numbers["gate_regret_exp"] == 2
    assert numbers["gate_best_angle_regret"] == 3


def test_preferred_gates_stand_beside_their_contrasts():
    favourites = pd.DataFrame({"balanced": ["a", "b"], "mse": ["a", "c"]}, index=[20, 60])
    found = gate_answers.loss_overview(favourites, contrasts([2.0, 3.0], k=[60, 60]))
    assert found["each_over_the_other"].tolist() == ["", "2.00 [1.00, 4.00]*, 3.00 [1.50, 6.00]*"]


def test_every_rule_is_in_the_text():
    text = gate_answers.gate_rules_text()
    assert text.count("\n- **") == len(RULES) - 1
    assert "**Does a hard velocity help?** Helps, if" in text


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
    choice = choice_of(("linear", 1.0, 1.5, 1.2, 2.0, 0.72, 3.0))
    lines = gate_choice.latex_choice(choice).splitlines()
    heads = r"Gate $g(t)$ & $k=20$ & worst & 95\% interval & best in & worst, $\theta$ \\"
    assert lines[2] == heads
    assert lines[4] == r"$t$ & 1.00 & 1.50 & 1.20 to 2.00 & 72\% & 3.00 \\"
