"""Answers of notebook 06: evidence in words, and LaTeX tables, from small tables by hand."""

import pandas as pd
import pytest

from pinnlib.report import gate_answers, gate_choice
from pinnlib.report.gate_rules import RULES, TOO_FEW


def contrasts(ratios, p=0.01, **columns):
    ratio = pd.Series(ratios)
    table = {"ratio": ratio, "low": ratio / 2, "high": ratio * 2, "p_holm": p, "n": 20}
    return pd.DataFrame(table | columns)


def test_evidence_for_either_factor():
    table = contrasts([4.0, 0.25, 1.0], [0.01, 0.2, 1], factor=["shape", "shape", "amplitude"])
    assert gate_answers.factor_evidence(table) == (
        "amplitude: median factor 1.00, 0 of 1 significant;"
        " shape: median factor 4.00, 1 of 2 significant"
    )


def test_evidence_for_alpha():
    medians = pd.DataFrame({20: [0.3, 0.2], 60: [0.1, None]}, index=[0.5, 1.0])
    table = contrasts([2.0, 0.5], [0.01, 0.2], first="0.5", second="1")
    assert gate_answers.alpha_evidence(table, medians) == (
        "best $α$: 1 at $k = 20$; significant losses, of 2: 0 ($α = 0.5$), 1 ($α = 1$)"
    )
    assert gate_answers.best_alphas(medians[[60]]) == "open"


def test_evidence_for_the_loss():
    favourites = pd.DataFrame({"balanced": ["a", "b"], "mse": ["a", "c"]}, index=[20, 60])
    runs = pd.DataFrame({"gate": ["a", "a", "b", "c"], "seed": [0, 1, 0, 0]})
    text = gate_answers.loss_evidence(favourites, runs, "at 0 of 2 $k$")
    assert text.startswith("best of 3 gates over 2 seeds: ")
    assert "losses at 1 of 2 $k$;" in text
    assert text.endswith("under its own at 0 of 2 $k$")
    text = gate_answers.loss_evidence(favourites, runs, TOO_FEW)
    assert text.endswith("losses at 1 of 2 $k$")


def test_evidence_for_the_budget():
    table = contrasts([2.0], k=[20], steps=[25000], n=10)
    assert gate_answers.budget_evidence(table) == (
        "10 seeds, linear/exp 2.00 [1.00, 4.00]* at $k = 20$ after 25,000 updates, $p$ 0.01"
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
    assert text.startswith("20 seeds, median gap")
    assert "with trained frequencies none of its 80 runs converged;" in text
    assert text.endswith("does not narrow the gap for the fixed trunk at $k = 60$")
    narrowed = optimisers() | {"Levenberg–Marquardt": contrasts([2.0, 0.5])}
    assert gate_answers.gap_evidence(narrowed, "all converged").endswith("all converged")


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
    assert f"another shape by {size:.2f} (all gates at the published learning rate" in text


def test_a_factor_without_all_runs_is_open():
    text = gate_answers.factor_clause(compared(3.0, float("nan")))
    assert text == "Whether amplitude or shape matters more is open, since runs are missing"


def test_a_factor_is_open_where_the_seeds_are_too_few():
    tables = compared(3.0, 3.0, p=0.5)
    few = {name: table.assign(n=9) for name, table in tables.items()}
    assert gate_answers.factor_clause(few) == (
        "Whether amplitude or shape matters more is open:"
        " with 9 seeds none of 16 contrasts can be significant"
    )


@pytest.mark.parametrize(
    "ratio, p, n, text",
    [
        (2.0, 0.01, 20, "Of the {} only 1 is never significantly beaten at any $k$"),
        (2.0, 0.2, 20, "None of the {} is significantly beaten by another at any $k$"),
        ([2.0, 0.5], 0.01, 20, "Each of the {} is significantly beaten by another at some $k$"),
        (float("nan"), 0.01, 20, "Which $α$ in $1-e^{{-αt}}$ is never beaten is {open}"),
        (2.0, 0.2, 5, "Which $α$ in $1-e^{{-αt}}$ is never beaten is open: with 5 seeds {few}"),
    ],
)
def test_which_alpha_is_never_beaten(ratio, p, n, text):
    table = contrasts([1.0, 1.0], p, first="exp", second="exp(alpha=2.0)", n=n)
    expected = text.format(
        "values of $α$ tried in $1-e^{-αt}$ (1 and 2)",
        open="open, since runs are missing",
        few="none of 2 contrasts can be significant",
    )
    assert gate_answers.alpha_clause({"alpha": table.assign(ratio=ratio)}) == expected


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


def test_one_seed_answers_nothing_about_optimisers():
    tables = {name: table.assign(ratio=None, n=1) for name, table in optimisers().items()}
    for text in (
        gate_answers.optimiser_sentence(tables, "none of its 2 runs converged"),
        gate_answers.reversal_sentence(tables),
    ):
        assert text.endswith("open, since one seed gives no interval.")


def test_exceptions_stand_in_the_sentence_on_the_optimiser():
    text = gate_answers.optimiser_sentence(optimisers(), "none of its 80 runs converged")
    assert text.endswith(
        ", but not the gap for the fixed trunk at $k = 60$, and with trained frequencies none of"
        " its 80 runs converged."
    )


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


def test_the_choice_in_words():
    choice = choice_of(
        ("exp(alpha=2.0)", 1.0, 1.5, 1.2, 2.0, 0.72, 3.0),
        ("exp", 2.0, 2.0, 1.8, 3.0, 0.28, 2.5),
        ("linear", 4.0, 9.0, 8.0, 9.5, 0.0, 8.0),
    )
    text = gate_choice.choice_sentence(choice)
    assert text.startswith("Of the 3 gates $1-e^{-2t}$ has the best worst case: its median error")
    assert "is at most 1.50 times" in text
    assert "$1-e^{-t}$ has the best worst case by the error of the angle (2.50)" in text
    assert "The same gate has" in gate_choice.choice_sentence(choice.assign(angle_worst=[1, 2, 3]))
    missing = gate_choice.choice_sentence(choice.assign(regret_worst=float("nan")))
    assert missing.endswith("is open, since runs are missing.")


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
    long_answer = "the median gap shrinks by more than half: optimisation"
    assert list(table["Answer"]) == [long_answer, "mixed"]
    assert list(table["Rule"]) == [RULES["conditioning"]["rule"], RULES["helps"]["rule"]]
    numbers = gate_answers.answer_numbers(compared(3.0, 0.25), answers)
    assert numbers == {
        "gate_answer_seven": "optimisation",
        "gate_amplitude_factor": pytest.approx(3),
        "gate_shape_factor": pytest.approx(4),
    }
    text = gate_answers.latex_answers(table)
    assert r"half: optimisation & $k = 20$ to 5\%" in text
    assert r"Does a hard velocity help? & mixed & half \& half" in text
    assert "help? & Helps, if significantly better" in gate_answers.latex_rules(table)


def test_the_choice_of_a_gate_as_latex():
    choice = choice_of(("linear", 1.0, 1.5, 1.2, 2.0, 0.72, 3.0))
    lines = gate_choice.latex_choice(choice).splitlines()
    heads = r"Gate $g(t)$ & $k=20$ & worst & 95\% interval & best in & worst, $\theta$ \\"
    assert lines[2] == heads
    assert lines[4] == r"$t$ & 1.00 & 1.50 & 1.20 to 2.00 & 72\% & 3.00 \\"
