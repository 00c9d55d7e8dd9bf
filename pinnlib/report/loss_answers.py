"""Answers of notebook 07: tables and sentences from the gap between the gates under every loss.

Gap and cell as in loss_measurements.py. Mathematics in the texts stands between dollars.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import ratio_texts
from pinnlib.analysis.significance import LEVEL
from pinnlib.report import loss_rules
from pinnlib.report.gate_rules import incomplete, significant_sides
from pinnlib.report.loss_measurements import CELL, ERRORS, in_order, loss_label

TOO_FEW = "too few seeds"
OPEN = "Open: runs are missing."
CAUSES = {  # cause → what turns the winner, and what is found in the turned cells
    "weights": (
        "The weights between the components turn",
        "some fixed weights give the winner of the balanced loss",
    ),
    "initial scales": (
        "The scales of the first update turn",
        "frozen scales give the winner of the balanced loss, but none of the fixed weights do",
    ),
    "moving scales": (
        "The motion of the scales turns",
        "neither fixed weights nor frozen scales give the winner of the balanced loss",
    ),
}


def error_overview(errors: pd.DataFrame, still: pd.DataFrame) -> pd.DataFrame:
    """Medians of state and angle, a row per λ and loss, a column per error, k and gate."""
    some = errors[errors["metric"] != "rel_l2_r"]
    named = some.assign(error=some["metric"].map(ERRORS))
    columns = ["error", "k", "gate"]
    wide = named.pivot(index=["lambda_ic", "loss"], columns=columns, values="median")
    wide = wide[["state", "angle"]]
    rows = [(50, loss) for loss in in_order(errors["loss"])]
    rows += [(0, loss) for loss in in_order(errors["loss"])]
    wide = wide.reindex(rows).rename(index=loss_label, level="loss")
    names = {label: metric for metric, label in ERRORS.items()}
    last = [still.loc[k, names[error]] for error, k, _ in wide.columns]
    wide.loc[("any", "standing still"), :] = last
    return wide


def still_sentence(errors: pd.DataFrame, still: pd.DataFrame) -> str:
    """In how many cells and losses the better gate has a smaller error than standing still."""
    parts = []
    for metric in ("rel_l2_u", "rel_l2_theta"):
        table = errors[errors["metric"] == metric].dropna(subset="median")
        better = table.groupby([*CELL, "loss"])["median"].min().reset_index()
        below = better["median"] < better["k"].map(still[metric])
        parts.append(f"in {below.sum()} by the error of the {ERRORS[metric]}")
    return (
        f"Of {len(better)} combinations of cell and loss, the better gate does better than"
        f" standing still {join_words(parts)}."
    )


def gap_overview(gaps: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """The gaps of these errors as text, a row per error and loss, a column per λ and k."""
    table = gaps[gaps["metric"].isin(metrics)]
    texts = table.assign(text=ratio_texts(table), error=table["metric"].map(ERRORS))
    wide = texts.pivot(index=["error", "loss"], columns=CELL, values="text")
    losses = in_order(gaps["loss"])
    rows = [(ERRORS[metric], loss) for metric in metrics for loss in losses]
    return wide.reindex(rows).rename(index=loss_label, level="loss")


def smallest_corrected_p(table: pd.DataFrame) -> float:
    """The smallest p that a contrast can have after Holm: all seeds on one side, alone."""
    alone = 2.0 ** (1 - table["n"].min())
    return min(len(table) * alone, 1.0)


def decided_cause(table: pd.DataFrame) -> str:
    """`loss_rules.cause`, or "too few seeds" where no contrast could be significant."""
    answer = loss_rules.cause(table)
    if answer != "open" and smallest_corrected_p(table) >= LEVEL:
        return TOO_FEW
    return answer


def turned_cells(table: pd.DataFrame) -> pd.DataFrame:
    """A row per turned cell: its cause, the gap under either loss, and the losses that turn it."""
    sides = loss_rules.sides_by_loss(table)
    texts = table.assign(text=ratio_texts(table))
    texts = texts.pivot(index=["k", "lambda_ic"], columns="loss", values="text")
    others = [loss for loss in in_order(table["loss"]) if loss not in ("mse", "balanced")]
    rows = []
    for (k, lambda_ic), cause in loss_rules.causes(table).items():
        cell = sides.loc[(k, lambda_ic)]
        turning = [loss_label(loss) for loss in others if cell[loss] == cell["balanced"]]
        row = {"lambda_ic": lambda_ic, "k": k, "cause": cause}
        row |= texts.loc[(k, lambda_ic), ["mse", "balanced"]]
        rows.append(row | {"turned_by": ", ".join(turning) or "none"})
    columns = ["lambda_ic", "k", "cause", "mse", "balanced", "turned_by"]
    return pd.DataFrame(rows, columns=columns)


def where(row: pd.Series) -> str:
    """A cell in words."""
    return f"$k = {row['k']:g}$, $λ = {row['lambda_ic']:g}$"


def join_words(texts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _both_losses(table: pd.DataFrame) -> pd.DataFrame:
    """The gaps of the mean-square and the balanced loss side by side, a row per cell."""
    mse = table[table["loss"] == "mse"]
    balanced = table[table["loss"] == "balanced"]
    return mse.merge(balanced, on=CELL, suffixes=("_mse", "_balanced"))


def largest_turn(table: pd.DataFrame) -> str:
    """The cell, turned if there is one, in which the two losses differ most, with both gaps."""
    cells = _both_losses(table)
    turned = turned_cells(table)[CELL]
    if len(turned):
        cells = cells.merge(turned, on=CELL)
    distance = np.log(cells["ratio_balanced"] / cells["ratio_mse"]).abs()
    row = cells.loc[distance.idxmax()]
    parts = []
    for loss, name in (("mse", "mean-square"), ("balanced", "balanced")):
        low, ratio, high = (row[f"{end}_{loss}"] for end in ("low", "ratio", "high"))
        p = f"$p$ {row[f'p_holm_{loss}']:.2g}"
        parts.append(f"{ratio:.2f} [{low:.2f}, {high:.2f}] ({p}) under the {name} loss")
    return f"linear over exponential is {' and '.join(parts)} at {where(row)}"


def _share(count: int, total: int) -> str:
    """How many of the cells just named."""
    if count < total:
        return f"in {count} of these"
    return "there" if total == 1 else "in all of these"


def cause_sentence(table: pd.DataFrame) -> str:
    """The answer of rule `cause` with the cells it rests on and the largest effect."""
    answer = decided_cause(table)
    if answer == "open":
        return OPEN
    if answer == TOO_FEW:
        return (
            f"Too few seeds: among {len(table)} contrasts of {table['n'].min()} seeds no $p$"
            f" can be below {smallest_corrected_p(table):.2g} after Holm's correction."
        )
    cells = len(_both_losses(table))
    if answer == "nothing turns":
        return (
            f"Nothing turns: in none of the {cells} cells do the mean-square and the balanced loss"
            f" have opposite significant winners. They differ most where {largest_turn(table)}."
        )
    counts = loss_rules.causes(table).value_counts()
    turned = f"the two losses have opposite significant winners in {counts.sum()} of {cells} cells"
    if answer == "undecided":
        found = join_words([f"{cause} in {count}" for cause, count in counts.items()])
        text = f"Undecided: {turned}, and no cause holds for three quarters of these ({found})."
    else:
        share = _share(counts[answer], counts.sum())
        subject, finding = CAUSES[answer]
        text = f"{subject} the winner: {turned}, and {share} {finding}."
    return f"{text} The largest effect: {largest_turn(table)}."


def component_turns(gaps: pd.DataFrame) -> pd.DataFrame:
    """Per error: cells, those whose median gap changes side between the losses, and clear ones.

    A change is clear if both gaps are significant, after Holm within the error.
    """
    rows = []
    for metric, name in ERRORS.items():
        table = gaps[gaps["metric"] == metric]
        both = _both_losses(table.assign(side=significant_sides(table)))
        logs = np.log(both["ratio_mse"]) * np.log(both["ratio_balanced"])
        clear = both["side_mse"] * both["side_balanced"] == -1
        rows.append((name, logs.notna().sum(), (logs < 0).sum(), clear.sum()))
    return pd.DataFrame(rows, columns=["error", "cells", "turned", "clear"]).set_index("error")


def component_sentence(gaps: pd.DataFrame) -> str:
    """In how many cells radius and angle alone have another winner under the balanced loss."""
    turns = component_turns(gaps)
    if turns["cells"].min() == 0:
        return OPEN
    radius, angle = turns.loc["radius"], turns.loc["angle"]
    return (
        "By the error of the radius alone the winner differs between the two losses in"
        f" {radius['turned']} of {_count(radius['cells'], 'cell')} (significantly in"
        f" {radius['clear']}), by that of the angle alone in {angle['turned']} (significantly in"
        f" {angle['clear']})."
    )


def turning_texts(table: pd.DataFrame) -> list[str]:
    """Each row as "0.32 [0.1, 0.7]", "no change", "2 changes" or "open"."""
    texts = []
    for row in table.itertuples():
        if np.isnan(row.changes):
            texts.append("open")
        elif row.changes == 0:
            texts.append("no change")
        elif row.changes > 1:
            texts.append(f"{row.changes:.0f} changes")
        else:
            texts.append(f"{row.weight:.2g} [{row.low:.2g}, {row.high:.2g}]")
    return texts


def turning_overview(turning: pd.DataFrame) -> pd.DataFrame:
    """The weights at which the winner changes, as text, a row per error, a column per λ and k."""
    texts = turning.assign(text=turning_texts(turning), error=turning["metric"].map(ERRORS))
    return texts.pivot(index="error", columns=CELL, values="text").reindex(ERRORS.values())


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
        parts.append(f"changes more than once in {_count(several, 'cell')}")
    if never:
        parts.append(f"stays the same in {_count(never, 'cell')}")
    return f"Along the fixed weights the winner {'; it '.join(parts)}."


def _range_text(numbers: pd.Series) -> str:
    """The smallest and the largest, with at least two digits and without an exponent."""
    digits = [f"{x:.0f}" if x >= 100 else f"{x:.2g}" for x in (numbers.min(), numbers.max())]
    return " to ".join(digits)


def balancing_sentence(compared: pd.DataFrame) -> str:
    """The weights that balancing amounts to, and how often fixed weights do the same."""
    table = compared[compared["loss"] == "balanced"]
    known = table.dropna(subset=["inside", "same_winner"])
    ranges = []
    for gate, name in (("exp", "exponential"), ("linear", "linear")):
        weight = table[f"weight_{gate}"]
        ranges.append(f"{_range_text(weight)} for the {name} gate")
    start = f"Balancing amounts to a weight of $θ$ of {join_words(ranges)}"
    if known.empty:
        return f"{start}; runs with fixed weights are missing."
    return (
        f"{start} (median over runs and updates, by cell). Of {_count(len(known), 'cell')}, these"
        f" fixed weights have the winner of the balanced loss in {known['same_winner'].sum()} and"
        f" a gap within the interval of the balanced one in {known['inside'].sum()}."
    )


def penalty_sentence(compared: pd.DataFrame) -> str:
    """How much the residuals weigh against the velocity penalty when they are balanced."""
    table = compared[(compared["loss"] == "balanced") & (compared["lambda_ic"] > 0)]
    sums = _range_text(table["sum"])
    return (
        f"Balancing also changes the size of the residual term: its weights add up to {sums}"
        " (median, by $k$), the fixed ones to 1. With a velocity penalty this shifts the balance"
        " between residuals and penalty; without one it is a factor that Adam does not see."
    )


def control_overview(table: pd.DataFrame, runs: pd.DataFrame, still: pd.DataFrame) -> pd.DataFrame:
    """Per k: the gap under either loss, the smaller median error, and that of standing still."""
    texts = table.assign(text=ratio_texts(table))
    wide = texts.pivot(index="k", columns="loss", values="text")
    wide.columns = [f"linear / exp, {loss}" for loss in wide]
    errors = runs[runs["status"] == "ok"].groupby(["k", "loss", "gate"])["rel_l2_u"].median()
    better = errors.groupby(["k", "loss"]).min().unstack("loss")
    for loss in better:
        wide[f"better gate, {loss}"] = better[loss]
    wide["standing still"] = still["rel_l2_u"]
    return wide


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
    texts = table.assign(text=ratio_texts(table)).set_index(["k", "loss"])["text"]
    gaps = f"{texts[k, 'mse']} (mean square) and {texts[k, 'balanced']} (balanced) at $k = {k:g}$"
    start = "In the control, the quartic oscillator with its one component,"
    if answer == "yes":
        found = f"the two losses have opposite significant winners at {turned.sum()} of {len(wide)}"
        return f"{start} {found} $k$, such as {gaps}: weights of components cannot be all of it."
    return (
        f"{start} the two losses have opposite significant winners at no $k$;"
        f" they differ most with {gaps}."
    )


def loss_rules_text() -> str:
    """Questions and rules, as Markdown."""
    texts = [f"**{rule['question']}** {rule['rule'].strip()}" for rule in loss_rules.RULES.values()]
    return "\n\n".join(texts)


def loss_answer(
    gaps: pd.DataFrame,
    turning: pd.DataFrame,
    control: pd.DataFrame,
) -> str:
    """The answer of the notebook: cause, where, radius and angle, control."""
    table = gaps[gaps["metric"] == "rel_l2_u"]
    if incomplete(table):
        sentences = [OPEN, control_sentence(control)]
    else:
        sentences = [cause_sentence(table), turning_sentence(turning)]
        sentences += [component_sentence(gaps), control_sentence(control)]
    return " ".join(sentences)


def loss_numbers(
    gaps: pd.DataFrame,
    turning: pd.DataFrame,
    compared: pd.DataFrame,
    control: pd.DataFrame,
) -> dict[str, str | int]:
    """What the report quotes: the short answers and the sentences."""
    table = gaps[gaps["metric"] == "rel_l2_u"]
    return {
        "loss_tests": len(table),
        "loss_answer": decided_cause(table),
        "loss_text_cause": cause_sentence(table),
        "loss_text_turning": turning_sentence(turning),
        "loss_text_components": component_sentence(gaps),
        "loss_text_balancing": balancing_sentence(compared),
        "loss_text_penalty": penalty_sentence(compared),
        "loss_text_control": control_sentence(control),
    }
