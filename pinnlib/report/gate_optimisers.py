"""The gap between the gates under three optimisers (notebook 06, question 7)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pinnlib.analysis import levenberg_marquardt
from pinnlib.analysis.contrasts import contrasts, ratio_texts
from pinnlib.report import gate_rules
from pinnlib.report.gate_contrasts import Runs
from pinnlib.report.phrases import count_noun
from pinnlib.report.published import PAPER_GATES
from pinnlib.report.standing_still import ANGLE
from pinnlib.style import latex

NEWTON = "Levenberg–Marquardt"
Contrasts = Mapping[str, pd.DataFrame]  # optimiser → linear against exp per model and k


def optimiser_runs(runs: Runs, newton: pd.DataFrame, rounds: int) -> dict[str, pd.DataFrame]:
    """Optimiser → its runs; those of Levenberg–Marquardt after `rounds` rounds."""
    sgd = pd.concat([runs["sgd_exp"], runs["sgd_linear"]], ignore_index=True)
    return {"Adam": runs["expanded"], NEWTON: newton[newton["rounds"] == rounds], "SGD": sgd}


def by_optimiser(compared: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The part of `gate_contrasts.compare` that compares the gates under each optimiser."""
    return {
        "Adam": compared["exp, linear: Adam"],
        NEWTON: compared["exp, linear: Lev.–Marquardt"],
        "SGD": compared["exp, linear: SGD"],
    }


def convergence(newton: pd.DataFrame, evaluations: int) -> pd.DataFrame:
    """Per model and number of rounds: how many runs `converged`, and how many there are (`of`).

    A run converged if it did not use every evaluation that it was allowed in its rounds.
    """
    stopped = newton["evaluations"] < newton["rounds"] * evaluations
    by_stage = stopped.groupby([newton["model"], newton["rounds"]])
    return pd.DataFrame({"converged": by_stage.sum(), "of": by_stage.size()})


def convergence_text(counts: pd.DataFrame, model: str, rounds: int) -> str:
    """Such as "none of its 80 runs converged"."""
    converged, runs = counts.loc[(model, rounds)]
    if converged == runs:
        return f"all of its {runs} runs converged"
    if converged == 0:
        return f"none of its {runs} runs converged"
    return f"only {converged} of its {runs} runs converged"


def longer_runs(newton: pd.DataFrame, rounds: int) -> pd.DataFrame:
    """All stages of those Levenberg–Marquardt runs that went on after `rounds` rounds."""
    went_on = newton.loc[newton["rounds"] > rounds, "seed"]
    return newton[(newton["model"] == "adaptive") & newton["seed"].isin(went_on)]


def optimiser_ratios(
    tables: Contrasts, newton: pd.DataFrame, rounds: int, evaluations: int
) -> pd.DataFrame:
    """A row per optimiser and model: how many runs converged, and per k the ratio as text.

    The last rows are the Levenberg–Marquardt runs that went on, without intervals.
    """
    counts = convergence(newton, evaluations)
    rows = []
    for method, table in tables.items():
        for model, part in table.groupby("model"):
            ended = ""
            if method == NEWTON:
                ended = _converged_of(counts.loc[(model, rounds)])
            row = {"method": method, "model": model, "converged": ended}
            rows.append(row | dict(zip(part["k"], ratio_texts(part), strict=True)))
    longer = longer_runs(newton, rounds)
    counts = convergence(longer, evaluations)
    for stage in (rounds, 4 * rounds):
        part = longer[longer["rounds"] == stage]
        if part.empty:
            continue
        method = f"L–M, {count_noun(part['seed'].nunique(), 'seed')}, {stage} rounds"
        ended = _converged_of(counts.loc[("adaptive", stage)])
        row = {"method": method, "model": "adaptive", "converged": ended}
        ratios = contrasts(part, [PAPER_GATES]).set_index("k")["ratio"]
        rows.append(row | ratios.map("{:.2f}".format).to_dict())
    return pd.DataFrame(rows).fillna("")


def _converged_of(counts: pd.Series) -> str:
    """Such as "0 of 80"."""
    return f"{counts['converged']} of {counts['of']}"


def optimiser_medians(methods: Runs) -> pd.DataFrame:
    """Per model, k and gate: the median errors of state and angle under each optimiser."""
    parts = [part.assign(method=method) for method, part in methods.items()]
    cells = pd.concat(parts, ignore_index=True).groupby(["model", "k", "gate", "method"])
    errors = cells[["rel_l2_u", ANGLE]].median().unstack("method")
    return errors.rename(columns={"rel_l2_u": "state", ANGLE: "angle"})


def optimiser_seed_gaps(methods: Runs) -> pd.DataFrame:
    """Per optimiser (`method`), model, k and seed: the ratio of errors linear/exp of the state and
    of the angle (`angle_ratio`); NaN where a run is not ok."""
    parts = [part.assign(method=method) for method, part in methods.items()]
    runs = pd.concat(parts, ignore_index=True)
    errors = runs[["rel_l2_u", ANGLE]].where(runs["status"] == "ok")
    cells = [runs[name] for name in ("gate", "method", "model", "k", "seed")]
    by_gate = errors.set_index(cells)
    ratios = by_gate.loc["linear"] / by_gate.loc["exp"]
    ratios.columns = ["ratio", "angle_ratio"]
    return ratios.reset_index()


def only_adam_turns(tables: Contrasts) -> bool:
    """Whether of all optimisers only Adam has exp ahead at k = 20 and linear at k = 60, with the
    adaptive trunk."""
    turns = {}
    for method, table in tables.items():
        adaptive = table[table["model"] == "adaptive"].set_index("k")["ratio"]
        turns[method] = adaptive[20] > 1 > adaptive[60]
    return turns.pop("Adam") and not any(turns.values())


def newton_numbers(tables: Contrasts, rounds: int, evaluations: int) -> dict[str, float | int]:
    """The numbers that the paper quotes: the gap between the gates under Adam and under
    Levenberg–Marquardt, and how long the latter went on."""
    return {
        "newton_rounds": rounds,
        "newton_evaluations": evaluations,
        "newton_times": levenberg_marquardt.QUADRATURE,
        "gap_newton_asked": len(tables[NEWTON]),
        "gap_newton": np.exp(gate_rules.gap(tables[NEWTON])),
        "gap_adam": np.exp(gate_rules.gap(tables["Adam"])),
    }


def latex_optimisers(ratios: pd.DataFrame) -> str:
    """`optimiser_ratios` as LaTeX, with a line before the runs that went on."""
    heads = [f"$k={k}$" for k in ratios.columns[3:]]
    cells = ratios.map(latex.escape)
    cells.columns = ["Method", "Trunk", "Converged", *heads]
    cells["Method"] = cells["Method"].str.replace("Levenberg--Marquardt", "L--M")
    longer = ratios["method"].str.startswith("L–M,").tolist()
    return latex.tabular(cells, "lllrrrr", longer)
