"""The choice of a gate (notebook 06): the regrets of ten gates, in words and LaTeX."""

import pandas as pd

from pinnlib.analysis.contrasts import regrets
from pinnlib.report.standing_still import ANGLE
from pinnlib.style import latex
from pinnlib.style.labels import gate_formula


def gate_choice(gates: pd.DataFrame) -> pd.DataFrame:
    """`regrets` of every gate by the state; `angle_<k>` is the median error of the angle,
    `angle_worst` with `angle_low` and `angle_high` its regret at the worst k."""
    by_angle = regrets(gates, ANGLE)
    medians = by_angle.filter(like="median_")
    medians.columns = medians.columns.str.replace("median", "angle")
    worst = by_angle[["regret_worst", "low", "high"]]
    worst.columns = ["angle_worst", "angle_low", "angle_high"]
    return regrets(gates).join(medians).join(worst)


def choice_sentence(choice: pd.DataFrame) -> str:
    """The gate with the best worst case, by state and angle."""
    if choice["regret_worst"].isna().any():
        return "Which gate has the best worst case is open, since runs are missing."
    best = choice.index[0]
    by_angle = choice["angle_worst"].idxmin()
    same = "The same gate" if by_angle == best else gate_formula(by_angle)
    return (
        f"Of the {len(choice)} gates {gate_formula(best)} has the best worst case: its median error"
        f" is at most {choice.loc[best, 'regret_worst']:.2f} times that of the best gate at the"
        f" same $k$. {same} has the best worst case by the error of the angle"
        f" ({choice.loc[by_angle, 'angle_worst']:.2f})."
    )


def latex_choice(choice: pd.DataFrame) -> str:
    """The regrets of every gate by the state, and the worst one by the angle, as LaTeX."""
    regrets = choice.filter(like="regret_").map("{:.2f}".format)
    cells = regrets.rename(columns=lambda name: f"$k={name.removeprefix('regret_')}$")
    cells = cells.rename(columns={"$k=worst$": "worst"})
    cells.insert(0, "Gate $g(t)$", [gate_formula(gate) for gate in choice.index])
    ends = zip(choice["low"], choice["high"], strict=True)
    cells["95\\% interval"] = [f"{low:.2f} to {high:.2f}" for low, high in ends]
    cells["best in"] = [f"{100 * share:.0f}\\%" for share in choice["best_in"]]
    cells["worst, $\\theta$"] = choice["angle_worst"].map("{:.2f}".format)
    return latex.tabular(cells, "lrrrrrrrr")
