"""Answers of notebook 07: sentences from the gap between the gates under every loss.

Gap and cell as in loss_measurements.py, tables as in loss_tables.py. Mathematics in the texts
stands between dollars.
"""

import numpy as np
import pandas as pd

from pinnlib.report import loss_rules
from pinnlib.report.gate_rules import incomplete, significant_sides
from pinnlib.report.loss_measurements import CELL, ERRORS
from pinnlib.report.loss_tables import (
    TOO_FEW,
    component_turns,
    decided_cause,
    largest_turn,
    smallest_corrected_p,
    turning_texts,
)
from pinnlib.report.phrases import (
    OPEN,
    both_p_phrase,
    count_noun,
    interval_phrase,
    join_words,
    share_phrase,
)

CAUSES = {  # cause → the answer, and what is found in the turned cells
    "weights": (
        "What turns the winner is the weights between the components",
        "some fixed weights give the winner of the balanced loss",
    ),
    "initial scales": (
        "What turns the winner is the scales of the first update",
        "frozen scales give the winner of the balanced loss, and no fixed weights do",
    ),
    "moving scales": (
        "By elimination, the winner turns because the scales move during training; this also"
        " weights the components differently under the two gates, and changes the size of the"
        " residual beside the penalty",
        "no fixed weight common to both gates and no frozen scale gives the winner of the balanced"
        " loss significantly",
    ),
}
OPPOSITE = "the mean-square and the balanced loss have opposite significant winners"


def where(row: pd.Series) -> str:
    """A cell in words."""
    return f"$k = {row['k']:g}$, $λ = {row['lambda_ic']:g}$"


def _largest_turn_phrase(table: pd.DataFrame) -> str:
    """ "$k = 60$, $λ = 50$: linear/exp 2.20 [2.16, 2.42] and 0.62 [0.60, 0.64], both $p < …$"."""
    mse, balanced = largest_turn(table)
    p = both_p_phrase(mse["p_holm"], balanced["p_holm"])
    both = f"{interval_phrase(mse)} and {interval_phrase(balanced)}"
    return f"{where(mse)}: linear/exp {both}, {p}"


def _in_these(count: int, total: int) -> str:
    """In how many of the turned cells."""
    if count < total:
        return f"in {count} of these"
    return "there" if total == 1 else "in all of these"


def balancing_answer(table: pd.DataFrame) -> str:
    """What in the balancing turns the winner: the verdict, and the cells it rests on.

    `table` has the gaps by the error of the state.
    """
    answer = decided_cause(table)
    if answer == "open":
        return OPEN
    if answer == TOO_FEW:
        return (
            f"Too few seeds: among {len(table)} contrasts of {table['n'].min()} seeds no $p$"
            f" can be below {smallest_corrected_p(table):.2g} after Holm's correction."
        )
    cells = len(table[CELL].drop_duplicates())
    largest = _largest_turn_phrase(table)
    if answer == "nothing turns":
        none = share_phrase(0, cells, "cell")
        return f"Nothing turns it: in {none} {OPPOSITE}. They differ most at {largest}."
    counts = loss_rules.causes(table).value_counts()
    turned = f"In {share_phrase(counts.sum(), cells, 'cell')} {OPPOSITE}"
    such = "" if counts.sum() == 1 else "such as "
    evidence = f"{turned} ({such}{largest})"
    if answer == "undecided":
        found = join_words([f"{cause} in {count}" for cause, count in counts.items()])
        return (
            f"This is undecided. {evidence}, and no cause holds for three quarters of these"
            f" ({found})."
        )
    lead, finding = CAUSES[answer]
    return f"{lead}. {evidence}; {_in_these(counts[answer], counts.sum())} {finding}."


def still_sentence(errors: pd.DataFrame, still: pd.DataFrame) -> str:
    """In how many cells and losses the better gate has a smaller error than standing still."""
    parts = []
    for metric in ("rel_l2_u", "rel_l2_theta"):
        table = errors[errors["metric"] == metric].dropna(subset="median")
        better = table.groupby([*CELL, "loss"])["median"].min().reset_index()
        below = better["median"] < better["k"].map(still[metric])
        parts.append(f"in {below.sum() or 'none'} by the error of the {ERRORS[metric]}")
    return (
        f"Of {count_noun(len(better), 'combination')} of cell and loss, the better gate beats"
        f" standing still {join_words(parts)}."
    )


def component_sentence(gaps: pd.DataFrame) -> str:
    """In how many cells radius and angle alone have another winner under the balanced loss."""
    turns = component_turns(gaps)
    if turns["cells"].min() == 0:
        return OPEN
    parts = []
    for name in ("radius", "angle"):
        turn = turns.loc[name]
        share = share_phrase(turn["turned"], turn["cells"], "cell")
        parts.append(f"in {share} by the error of the {name} alone (significantly in {turn.clear})")
    return f"The winner differs between the two losses {join_words(parts)}."


def turning_sentence(turning: pd.DataFrame) -> str:
    """Where the winner by the error of the state changes along the fixed weights."""
    table = turning[turning["metric"] == "rel_l2_u"]
    if table["changes"].isna().any():
        return OPEN
    once = table[table["changes"] == 1]
    several = (table["changes"] > 1).sum()
    never = (table["changes"] == 0).sum()
    texts = zip(turning_texts(once), once.iterrows(), strict=True)
    places = [f"{text} ({where(row)})" for text, (_, row) in texts]
    parts = []
    if places:
        parts.append(f"changes at a weight of $θ$ of {join_words(places)}")
    if several:
        parts.append(f"changes more than once in {count_noun(several, 'cell')}")
    if never:
        parts.append(f"stays the same in {count_noun(never, 'cell')}")
    return f"Along the fixed weights the winner {'; it '.join(parts)}."


def _range_text(numbers: pd.Series) -> str:
    """The smallest and the largest, with at least two digits and without an exponent."""
    digits = [_digits(number) for number in (numbers.min(), numbers.max())]
    return " to ".join(digits)


def _digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.2g}"


def balancing_sentence(compared: pd.DataFrame) -> str:
    """The weights that balancing amounts to, and how often fixed weights do the same."""
    table = compared[compared["loss"] == "balanced"]
    known = table.dropna(subset=["inside", "same_winner"])
    ranges = []
    for gate, name in (("exp", "exponential"), ("linear", "linear")):
        weight = table[f"weight_{gate}"]
        ranges.append(f"{_range_text(weight)} under the {name} gate")
    start = f"Balancing gives $θ$, where $r$ has 1, a weight of {join_words(ranges)} (medians by"
    start = f"{start} cell)."
    if known.empty:
        return f"{start} Runs with fixed weights are missing."
    same = share_phrase(known["same_winner"].sum(), len(known), "cell")
    inside = share_phrase(known["inside"].sum(), len(known), "cell")
    return (
        f"{start} Fixed weights of this size, interpolated for each gate, give the winner of the"
        f" balanced loss in {same} within their range, and a gap within its interval in {inside}."
    )


def caveat_sentence(gaps: pd.DataFrame, compared: pd.DataFrame) -> str:
    """What the fixed weights of either gate, interpolated, give in the most turned cell."""
    table = gaps[gaps["metric"] == "rel_l2_u"]
    if incomplete(table):
        return OPEN
    mse, balanced = largest_turn(table)
    cell = compared[(compared[CELL] == mse[CELL]).all(axis=1)]
    row = cell[cell["loss"] == "balanced"].iloc[0]
    weights = (
        f"Under the balanced loss the weight of $θ$ differs between the gates: at {where(mse)} it"
        f" is {_digits(row['weight_exp'])} for the exponential and {_digits(row['weight_linear'])}"
        " for the linear gate, while every fixed weight was the same for both."
    )
    if np.isnan(row["fixed"]):
        return f"{weights} These weights lie outside the fixed ones that were trained."
    found = f"Interpolated, these two fixed weights give linear/exp {row['fixed']:.2f}"
    if (row["fixed"] < 1) == (balanced["ratio"] < 1):
        return f"{weights} {found}: this difference can be part of the cause."
    return f"{weights} {found}: this difference is not the cause."


def penalty_sentence(compared: pd.DataFrame) -> str:
    """How much the residuals weigh against the velocity penalty when they are balanced."""
    table = compared[(compared["loss"] == "balanced") & (compared["lambda_ic"] > 0)]
    sums = _range_text(table["sum"])
    return (
        f"Balancing also changes the size of the residual term: its weights add up to {sums}"
        " (medians by $k$), the fixed ones to 1. With a velocity penalty this shifts the balance"
        " between residuals and penalty; without one it is a factor that Adam does not see."
    )


def control_still_sentence(overview: pd.DataFrame) -> str:
    """Where the control has nothing to compare: neither gate is better than standing still."""
    still = overview["standing still"]
    better = overview.filter(like="better gate")
    above = better.ge(still, axis=0).any(axis=1)
    if not above.any():
        return "At every $k$ the better gate is better than standing still under both losses."
    ks = join_words([f"$k = {k:g}$" for k in overview.index[above]])
    return (
        f"At {ks} neither gate is better than standing still under at least one of the"
        " losses: there is nothing to compare there."
    )


def control_sentence(table: pd.DataFrame) -> str:
    """The answer of rule `control`, with the gaps of the most different k."""
    answer = loss_rules.control(table)
    if answer == "open":
        return "The control is open: runs of the quartic oscillator are missing."
    wide = table.assign(side=significant_sides(table)).pivot(index="k", columns="loss")
    logs = np.log(wide["ratio"])
    turned = wide["side", "mse"] * wide["side", "balanced"] == -1
    distance = (logs["balanced"] - logs["mse"]).abs()
    k = distance.where(turned | ~turned.any()).idxmax()
    rows = table[table["k"] == k].set_index("loss")
    mse, balanced = rows.loc["mse"], rows.loc["balanced"]
    both = f"linear/exp {interval_phrase(mse)} under the mean square and"
    both = f"{both} {interval_phrase(balanced)} under the balanced loss"
    gaps = f"{both} at $k = {k:g}$ ({both_p_phrase(mse['p_holm'], balanced['p_holm'])})"
    start = "In the control, the quartic oscillator with its one component,"
    if answer == "yes":
        found = f"the two losses have opposite significant winners at {turned.sum()} of {len(wide)}"
        return f"{start} {found} $k$, such as {gaps}: weights of components cannot be all of it."
    return (
        f"{start} the two losses have opposite significant winners at no $k$; they differ most with"
        f" {gaps}."
    )


def loss_rules_text() -> str:
    """Questions and rules, as Markdown."""
    texts = [f"**{rule['question']}** {rule['rule'].strip()}" for rule in loss_rules.RULES.values()]
    return "\n\n".join(texts)


def loss_numbers(
    gaps: pd.DataFrame,
    turning: pd.DataFrame,
    compared: pd.DataFrame,
    control: pd.DataFrame,
) -> dict[str, str | int]:
    """What the report quotes: the short answers and the sentences."""
    table = gaps[gaps["metric"] == "rel_l2_u"]
    return {
        "balancing_answer": balancing_answer(table),
        "loss_tests": len(table),
        "loss_answer": decided_cause(table),
        "loss_text_caveat": caveat_sentence(gaps, compared),
        "loss_text_turning": turning_sentence(turning),
        "loss_text_components": component_sentence(gaps),
        "loss_text_balancing": balancing_sentence(compared),
        "loss_text_penalty": penalty_sentence(compared),
        "loss_text_control": control_sentence(control),
    }
