"""Answers of notebook 07: sentences, from small tables by hand."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from pinnlib.report import loss_answers, loss_tables
from pinnlib.report.loss_measurements import ERRORS
from pinnlib.report.loss_rules import FROZEN
from pinnlib.report.phrases import OPEN

LIGHT = "weighted(weights=(1.0, 0.1))"
LOSSES = (LIGHT, "mse", FROZEN, "balanced")
EXP, LINEAR, NEITHER = 2.0, 0.5, 1.1
WEIGHTS = (EXP, LINEAR, EXP, EXP)
INITIAL = (NEITHER, LINEAR, EXP, EXP)
MOVING = (NEITHER, LINEAR, NEITHER, EXP)
SAME = (EXP, EXP, EXP, EXP)


def gaps(*kinds, metric="rel_l2_u", n=20):
    """The gaps of one or more cells; those at NEITHER are not significant."""
    rows = []
    for kind, (k, lambda_ic) in zip(kinds, itertools.product((20, 60), (0, 50)), strict=False):
        for loss, ratio in zip(LOSSES, kind, strict=True):
            row = {
                "metric": metric,
                "lambda_ic": lambda_ic,
                "k": k,
                "loss": loss,
                "n": n,
            }
            row |= {
                "ratio": ratio,
                "low": ratio / 2,
                "high": ratio * 2,
            }
            rows.append(row | {"p_holm": 0.5 if ratio == NEITHER else 0.01})
    return pd.DataFrame(rows)


def every_error(*kinds):
    return pd.concat([gaps(*kinds, metric=metric) for metric in ERRORS], ignore_index=True)


def is_sentence(text):
    """Sentences with their mathematics between dollars, and no number that is not one."""
    return (
        bool(re.match(r"[A-Z].*\.$", text))
        and text.count("$") % 2 == 0
        and not re.search(r"\bnan\b|\binf\b|  |\.\.|[λθ]", re.sub(r"\$[^$]+\$", "x", text))
    )


@pytest.mark.parametrize(
    "kinds, answer, start",
    [
        ([WEIGHTS, SAME], "weights", "What turns the winner is the weights between"),
        ([INITIAL], "initial scales", "What turns the winner is the scales of the first update."),
        ([MOVING], "moving scales", "By elimination, the winner turns because the scales"),
        ([WEIGHTS, MOVING], "undecided", "This is undecided. In all 2 cells the mean-square"),
        ([SAME], "nothing turns", "Nothing turns it: in none of 1 cell the mean-square"),
    ],
)
def test_every_cause_is_an_answer(kinds, answer, start):
    table = gaps(*kinds)
    text = loss_answers.balancing_answer(table)
    assert loss_tables.decided_cause(table) == answer
    assert text.startswith(start)
    assert is_sentence(text)


def test_an_answer_comes_with_effect_interval_and_p():
    text = loss_answers.balancing_answer(gaps(SAME, WEIGHTS))
    assert text.endswith(
        "In 1 of 2 cells the mean-square and the balanced loss have opposite significant winners"
        " ($k = 20$, $λ = 50$: linear/exp 0.50 [0.25, 1.00] and 2.00 [1.00, 4.00], both"
        " $p = 0.01$); there some fixed weights give the winner of the balanced loss."
    )


def test_an_answer_counts_the_turned_cells_in_which_its_cause_holds():
    both = loss_answers.balancing_answer(gaps(WEIGHTS, WEIGHTS))
    assert "(such as $k = " in both
    assert "; in all of these some fixed weights" in both
    three = loss_answers.balancing_answer(gaps(WEIGHTS, WEIGHTS, WEIGHTS, MOVING))
    assert "; in 3 of these some fixed weights" in three


def test_an_undecided_cause_comes_with_what_was_found():
    text = loss_answers.balancing_answer(gaps(WEIGHTS, MOVING, SAME))
    assert text.endswith("(weights in 1 and moving scales in 1).")


def test_missing_runs_leave_the_answer_open():
    table = every_error(WEIGHTS)
    table.loc[0, "ratio"] = np.nan
    state = table[table["metric"] == "rel_l2_u"]
    assert loss_tables.decided_cause(state) == "open"
    assert loss_answers.balancing_answer(state) == OPEN
    assert loss_answers.caveat_sentence(table, compared([True] * 2, [True] * 2)) == OPEN


def test_too_few_seeds_decide_nothing():
    table = gaps(SAME, n=5)
    assert loss_tables.decided_cause(table) == loss_tables.TOO_FEW
    text = loss_answers.balancing_answer(table)
    assert text.startswith("Too few seeds: among 4 contrasts of 5 seeds")
    assert is_sentence(text)


@pytest.mark.parametrize(
    "fixed, end",
    [
        (3.0, "give linear/exp 3.00: this difference can be part of the cause."),
        (0.9, "give linear/exp 0.90: this difference is not the cause."),
        (np.nan, "These weights lie outside the fixed ones that were trained."),
    ],
)
def test_the_weights_of_either_gate_are_a_caveat(fixed, end):
    beside = compared([True, True], [True, True]).assign(k=20, fixed=fixed)
    text = loss_answers.caveat_sentence(gaps(SAME, WEIGHTS), beside)
    assert "at $k = 20$, $λ = 50$ it is 8 for the exponential and 0.9 for the linear gate" in text
    assert text.endswith(end)
    assert is_sentence(text)


def test_components_are_counted_one_by_one():
    table = pd.concat(
        [
            gaps(SAME, SAME),
            gaps(SAME, WEIGHTS, metric="rel_l2_r"),
            gaps(WEIGHTS, (EXP, LINEAR, EXP, NEITHER), metric="rel_l2_theta"),
        ]
    )
    assert loss_tables.component_turns(table).loc["angle"].tolist() == [2, 2, 1]
    text = loss_answers.component_sentence(table)
    assert "in 1 of 2 cells by the error of the radius alone (significantly in 1)" in text
    assert "in all 2 cells by the error of the angle alone (significantly in 1)" in text
    assert is_sentence(text)
    assert loss_answers.component_sentence(table.assign(ratio=np.nan)) == OPEN


def turning(*changes):
    rows = []
    for count, (k, lambda_ic) in zip(changes, itertools.product((20, 60), (0, 50)), strict=False):
        weight = 0.32 if count == 1 else np.nan
        row = {
            "metric": "rel_l2_u",
            "k": k,
            "lambda_ic": lambda_ic,
            "changes": count,
        }
        rows.append(row | {"weight": weight, "low": weight / 2, "high": weight * 2})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    "changes, text",
    [
        ([0, 0], "Along the fixed weights the winner stays the same in 2 cells."),
        ([2], "Along the fixed weights the winner changes more than once in 1 cell."),
        (
            [1, 1, 0],
            "Along the fixed weights the winner changes at a weight of $θ$ of 0.32 [0.16, 0.64]"
            " ($k = 20$, $λ = 0$) and 0.32 [0.16, 0.64] ($k = 20$, $λ = 50$); it stays the same"
            " in 1 cell.",
        ),
        ([1, np.nan], OPEN),
    ],
)
def test_where_the_winner_changes_is_a_sentence(changes, text):
    assert loss_answers.turning_sentence(turning(*changes)) == text


def compared(inside, same):
    table = pd.DataFrame({"inside": inside, "same_winner": same}, dtype="boolean")
    table = table.assign(
        loss="balanced",
        lambda_ic=[50, 0],
        sum=[0.04, 0.05],
    )
    return table.assign(
        weight_exp=[8.0, 16.0],
        weight_linear=[0.9, 1.2],
    )


def test_balancing_is_a_sentence():
    text = loss_answers.balancing_sentence(compared([True, False], [True, True]))
    assert "8 to 16 under the exponential gate and 0.9 to 1.2 under the linear gate" in text
    assert "give the winner of the balanced loss in all 2 cells within their range" in text
    assert text.endswith("and a gap within its interval in 1 of 2 cells.")
    assert is_sentence(text)
    missing = loss_answers.balancing_sentence(compared([None, None], [None, None]))
    assert missing.endswith("Runs with fixed weights are missing.")
    assert is_sentence(missing)


def test_the_penalty_is_a_sentence():
    text = loss_answers.penalty_sentence(compared([True, True], [True, True]))
    assert "add up to 0.04 to 0.04" in text
    assert is_sentence(text)


def control(mse, balanced):
    rows = []
    for k, *ratios in zip((1.0, 2.0), mse, balanced, strict=True):
        for loss, ratio in zip(("mse", "balanced"), ratios, strict=True):
            row = {
                "k": k,
                "loss": loss,
                "ratio": ratio,
                "low": ratio / 2,
                "high": ratio * 2,
            }
            rows.append(row | {"p_holm": 0.5 if ratio == NEITHER else 0.01})
    return pd.DataFrame(rows)


def test_the_control_is_a_sentence():
    yes = loss_answers.control_sentence(control([9.0, LINEAR], [NEITHER, EXP]))
    assert "opposite significant winners at 1 of 2 $k$" in yes
    assert "0.50 [0.25, 1.00] under the mean square" in yes  # the turned k, not the widest
    no = loss_answers.control_sentence(control([EXP, LINEAR], [EXP, NEITHER]))
    assert "at no $k$" in no
    assert "at $k = 2$" in no
    missing = loss_answers.control_sentence(control([EXP, np.nan], [EXP, EXP]))
    assert "open" in missing
    for text in (yes, no, missing):
        assert is_sentence(text)


def runs_with_errors(errors, losses=("mse", "balanced")):
    """k → error of exp; that of linear is twice as large."""
    rows = []
    for (k, error), loss, seed in itertools.product(errors.items(), losses, range(3)):
        for gate, factor in (("exp", 1), ("linear", 2)):
            row = {
                "k": k,
                "loss": loss,
                "gate": gate,
                "seed": seed,
                "status": "ok",
            }
            rows.append(row | {"lambda_ic": 50, "rel_l2_u": factor * error})
    return pd.DataFrame(rows)


def test_the_control_beside_standing_still():
    still = pd.DataFrame({"rel_l2_u": {1.0: 1.0, 2.0: 1.0}})
    runs = runs_with_errors({1.0: 0.1, 2.0: 1.3})
    table = control([EXP, EXP], [EXP, EXP])
    overview = loss_tables.control_overview(table, runs, still)
    assert overview["better gate, mse"].tolist() == [0.1, 1.3]
    text = loss_answers.control_still_sentence(overview)
    assert text.startswith("At $k = 2$ neither gate")
    assert is_sentence(text)
    fine = loss_answers.control_still_sentence(overview[:1])
    assert fine.startswith("At every $k$")
    assert is_sentence(fine)


def medians():
    rows = []
    cells = itertools.product(
        (0, 50),
        LOSSES,
        ("exp", "linear"),
        ERRORS,
    )
    for lambda_ic, loss, gate, metric in cells:
        row = {
            "lambda_ic": lambda_ic,
            "k": 20,
            "loss": loss,
            "gate": gate,
            "metric": metric,
        }
        rows.append(row | {"median": 0.1 if lambda_ic else 2.0})
    return pd.DataFrame(rows)


def test_errors_stand_above_those_of_standing_still():
    still = pd.DataFrame(dict.fromkeys(ERRORS, 1.0), index=[20])
    overview = loss_tables.error_overview(medians(), still)
    assert overview.shape == (2 * len(LOSSES) + 1, 4)
    assert overview.iloc[0].tolist() == [0.1] * 4
    assert overview.iloc[-1].tolist() == [1.0] * 4
    text = loss_answers.still_sentence(medians(), still)
    assert text.startswith("Of 8 combinations")
    assert "in 4 by the error of the state and in 4 by the error of the angle" in text
    assert is_sentence(text)


def test_every_number_that_is_a_text_is_a_sentence():
    beside = compared([True, True], [True, True]).assign(k=20, fixed=2.0, lambda_ic=[0, 50])
    parts = every_error(WEIGHTS), turning(1), beside, control([EXP, EXP], [EXP, EXP])
    numbers = loss_answers.loss_numbers(*parts)
    assert numbers["loss_tests"] == 4
    assert numbers["loss_answer"] == "weights"
    for name, text in numbers.items():
        if name.startswith("loss_text") or name == "balancing_answer":
            assert is_sentence(text), name


def test_the_rules_are_printed_with_their_questions():
    text = loss_answers.loss_rules_text()
    assert text.count("**") == 4
    assert "**What in the balancing turns the winner?** A cell" in text
