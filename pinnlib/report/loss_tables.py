"""Tables of notebook 07: the gap between the gates under every loss, beside errors and rules.

Gap and cell as in loss_measurements.py.
"""

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import ratio_texts
from pinnlib.analysis.significance import LEVEL
from pinnlib.report import loss_rules
from pinnlib.report.gate_rules import significant_sides
from pinnlib.report.loss_measurements import CELL, ERRORS, in_order, loss_label

TOO_FEW = "too few seeds"


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


def _both_losses(table: pd.DataFrame) -> pd.DataFrame:
    """The gaps of the mean-square and the balanced loss side by side, a row per cell."""
    mse = table[table["loss"] == "mse"]
    balanced = table[table["loss"] == "balanced"]
    return mse.merge(balanced, on=CELL, suffixes=("_mse", "_balanced"))


def largest_turn(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The gaps under the mean-square and the balanced loss in the cell where they differ most.

    Only turned cells count if there is one.
    """
    cells = _both_losses(table)
    turned = turned_cells(table)[CELL]
    if len(turned):
        cells = cells.merge(turned, on=CELL)
    distance = np.log(cells["ratio_balanced"] / cells["ratio_mse"]).abs()
    cell = cells.loc[distance.idxmax(), CELL]
    rows = table[(table[CELL] == cell).all(axis=1)].set_index("loss")
    return rows.loc["mse"], rows.loc["balanced"]


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
