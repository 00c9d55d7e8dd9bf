"""Answers of notebook 07: tables and sentences, from small tables by hand."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from pinnlib.report import loss_answers
from pinnlib.report.loss_measurements import ERRORS
from pinnlib.report.loss_rules import FROZEN

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
        ([WEIGHTS, SAME], "weights", "The weights between the components turn the winner: the two"),
        ([INITIAL], "initial scales", "The scales of the first update turn the winner"),
        ([MOVING], "moving scales", "The motion of the scales turns the winner"),
        ([WEIGHTS, MOVING], "undecided", "Undecided: the two losses have"),
        ([SAME], "nothing turns", "Nothing turns: in none of the 1 cell"),
    ],
)
def test_every_cause_is_a_sentence(kinds, answer, start):
    table = gaps(*kinds)
    text = loss_answers.cause_sentence(table)
    assert loss_answers.decided_cause(table) == answer
    assert text.startswith(start)
    assert is_sentence(text)


def test_a_cause_comes_with_its_largest_effect():
    text = loss_answers.cause_sentence(gaps(SAME, WEIGHTS))
    assert "in 1 of 2 cells, and there some fixed weights give" in text
    assert (
        "linear over exponential is 0.50 [0.25, 1.00] ($p$ 0.01) under the mean-square loss and"
        " 2.00 [1.00, 4.00] ($p$ 0.01) under the balanced loss at $k = 20$, $λ = 50$"
    ) in text


def test_a_cause_tells_in_how_many_of_the_turned_cells_it_holds():
    assert "and in all of these" in loss_answers.cause_sentence(gaps(WEIGHTS, WEIGHTS))
    three = loss_answers.cause_sentence(gaps(WEIGHTS, WEIGHTS, WEIGHTS, MOVING))
    assert "in 4 of 4 cells, and in 3 of these" in three


def test_an_undecided_cause_tells_what_was_found():
    text = loss_answers.cause_sentence(gaps(WEIGHTS, MOVING, SAME))
    assert "weights in 1 and moving scales in 1" in text


def test_missing_runs_leave_the_cause_open():
    table = gaps(WEIGHTS)
    table.loc[0, "ratio"] = np.nan
    assert loss_answers.decided_cause(table) == "open"
    assert is_sentence(loss_answers.cause_sentence(table))


@pytest.mark.parametrize("n, smallest", [(10, 42 * 2 / 2**10), (20, 42 * 2 / 2**20), (2, 1)])
def test_the_smallest_p_that_so_many_seeds_can_give(n, smallest):
    table = pd.DataFrame({"n": [n] * 42})
    assert loss_answers.smallest_corrected_p(table) == pytest.approx(smallest)


def test_too_few_seeds_decide_nothing():
    table = gaps(SAME, n=5)
    assert loss_answers.decided_cause(table) == loss_answers.TOO_FEW
    text = loss_answers.cause_sentence(table)
    assert text.startswith("Too few seeds: among 4 contrasts of 5 seeds")
    assert is_sentence(text)


def test_turned_cells_name_the_losses_that_turn_them():
    table = loss_answers.turned_cells(gaps(SAME, WEIGHTS, MOVING))
    assert table[["k", "lambda_ic", "cause", "turned_by"]].to_numpy().tolist() == [
        [20, 50, "weights", "weight 0.1, frozen"],
        [60, 0, "moving scales", "none"],
    ]
    assert table["mse"][0] == "0.50 [0.25, 1.00]*"
    assert loss_answers.turned_cells(gaps(SAME)).empty


def test_gaps_as_text_are_in_the_order_of_the_losses():
    table = loss_answers.gap_overview(every_error(WEIGHTS), "rel_l2_theta")
    assert table.index.tolist() == [
        ("angle", name) for name in ("weight 0.1", "mse", "frozen", "balanced")
    ]
    assert table.iloc[1].tolist() == ["0.50 [0.25, 1.00]*"]


def test_components_are_counted_one_by_one():
    table = pd.concat(
        [
            gaps(SAME, SAME),
            gaps(SAME, WEIGHTS, metric="rel_l2_r"),
            gaps(WEIGHTS, (EXP, LINEAR, EXP, NEITHER), metric="rel_l2_theta"),
        ]
    )
    assert loss_answers.component_turns(table).loc["angle"].tolist() == [2, 2, 1]
    text = loss_answers.component_sentence(table)
    assert "in 1 of 2 cells (significantly in 1)" in text
    assert "by that of the angle alone in 2 (significantly in 1)" in text
    assert is_sentence(text)
    assert loss_answers.component_sentence(table.assign(ratio=np.nan)) == loss_answers.OPEN


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


def test_turning_weights_as_text():
    texts = loss_answers.turning_texts(turning(0, 1, 2, np.nan))
    assert texts == ["no change", "0.32 [0.16, 0.64]", "2 changes", "open"]
    overview = loss_answers.turning_overview(turning(0, 1))
    assert overview.loc["state"].tolist() == ["no change", "0.32 [0.16, 0.64]"]


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
        ([1, np.nan], loss_answers.OPEN),
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
    assert "8 to 16 for the exponential gate and 0.9 to 1.2 for the linear gate" in text
    assert "Of 2 cells, these fixed weights have the winner of the balanced loss in 2" in text
    assert text.endswith("within the interval of the balanced one in 1.")
    assert is_sentence(text)
    missing = loss_answers.balancing_sentence(compared([None, None], [None, None]))
    assert missing.endswith("runs with fixed weights are missing.")
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
    assert "0.50 [0.25, 1.00]* (mean square)" in yes  # the turned k, not the most different one
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
    overview = loss_answers.control_overview(table, runs, still)
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
    overview = loss_answers.error_overview(medians(), still)
    assert overview.shape == (2 * len(LOSSES) + 1, 4)
    assert overview.iloc[0].tolist() == [0.1] * 4
    assert overview.iloc[-1].tolist() == [1.0] * 4
    text = loss_answers.still_sentence(medians(), still)
    assert text.startswith("Of 8 combinations")
    assert "in 4 by the error of the state and in 4 by the error of the angle" in text
    assert is_sentence(text)


def test_the_answer_and_the_numbers():
    table, controls = every_error(WEIGHTS), control([EXP, EXP], [EXP, EXP])
    answer = loss_answers.loss_answer(table, turning(1), controls)
    assert is_sentence(answer)
    numbers = loss_answers.loss_numbers(
        table, turning(1), compared([True, True], [True, True]), controls
    )
    assert numbers["loss_tests"] == 4
    assert numbers["loss_answer"] == "weights"
    for name, text in numbers.items():
        if name.startswith("loss_text"):
            assert is_sentence(text), name


def test_the_answer_is_open_without_all_runs():
    table = every_error(WEIGHTS)
    table.loc[0, "ratio"] = np.nan
    answer = loss_answers.loss_answer(table, turning(np.nan), control([EXP, EXP], [EXP, EXP]))
    assert answer.startswith(loss_answers.OPEN)
    assert is_sentence(answer)


def test_the_rules_are_printed_with_their_questions():
    text = loss_answers.loss_rules_text()
    assert text.count("**") == 4
    assert "**What in the balancing turns the winner?** A cell" in text


@pytest.mark.parametrize(
    "words, text", [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ([*"abc"], "a, b and c")]
)
def test_words_are_joined(words, text):
    assert loss_answers.join_words(words) == text
