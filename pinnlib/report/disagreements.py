"""Where the paper's text and the released code disagree, and what that was measured to change."""

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from pinnlib.analysis.samples import METRICS
from pinnlib.analysis.significance import LEVEL
from pinnlib.metrics import state_error
from pinnlib.report.evidence import Evidence
from pinnlib.report.findings import inside
from pinnlib.report.identities import SPECS, frequencies, random_parameters
from pinnlib.runs.record import result_of

TEXTS = Path(__file__).with_name("disagreements.toml")
COLUMNS = ["id", "kind", "text", "code", "ours", "consequence"]


def losses(evidence: Evidence) -> pd.DataFrame:
    """Adaptive model, per λ, metric and k: winner and text under either loss, and whether it is the
    same. The text is "exp 2.16*" (median ratio linear/exp) or, if incomplete, "12/20" (pairs)."""
    every = evidence.statistics["every_k"]
    adaptive = (every["model"] == "adaptive") & every["metric"].isin(METRICS)
    rows = every[adaptive].copy()
    rows["text"] = [_comparison_text(test) for test in rows.to_dict("records")]
    rows["winner"] = rows["winner"].where(rows["note"] == "")
    wide = rows.pivot(index=["lambda_ic", "metric", "k"], columns="loss", values=["winner", "text"])
    wide.columns = [f"{name}_{loss}" for name, loss in wide.columns]
    balanced, mse = wide["winner_balanced"], wide["winner_mse"]
    same = (balanced == mse).astype("boolean")
    wide["same"] = same.where(balanced.notna() & mse.notna())
    return wide.reset_index()


def _comparison_text(test):
    if not test["winner"]:
        return f"{test['n']}/{test['needed']}"
    star = "*" if test["p_holm"] < LEVEL else ""
    return f"{test['winner']} {np.exp(test['median_log_ratio']):.2f}{star}"


def count_differences(table: pd.DataFrame) -> dict[str, int]:
    """From `losses`: comparisons complete under both losses, those with another winner, and those
    of them with a star under both."""
    known = table[table["same"].notna()]
    differ = known[known["same"].eq(False)]
    starred = differ["text_balanced"].str.endswith("*") & differ["text_mse"].str.endswith("*")
    return {
        "losses_compared": len(known),
        "losses_differ": len(differ),
        "losses_differ_clearly": int(starred.sum()),
    }


def as_written(evidence: Evidence) -> pd.Series:
    """Per published test that is complete under the loss of the text: whether winner and
    significance are reproduced."""
    rows = evidence.statistics["beside_published_as_written"]
    return rows[["same_winner", "same_significance"]].dropna().all(axis=1)


def winners(table: pd.DataFrame, loss: str, lambda_ic: float, metric: str = "rel_l2_u") -> str:
    """From `losses`: "exp at $k = 10$, $20$; linear at $k = 30$ to $60$; open at $k = 70$"."""
    part = table.query("lambda_ic == @lambda_ic and metric == @metric")
    part = part.dropna(subset=f"text_{loss}")
    grid = sorted(part["k"])
    places = []
    for gate, ks in part.groupby(part[f"winner_{loss}"].fillna("open"))["k"]:
        places.append(f"{gate} at {stretches(sorted(ks), grid)}")
    return "; ".join(places)


def stretches(ks: Sequence[float], grid: Sequence[float]) -> str:
    """ "$k = 10$, $20$, $40$ to $60$": three or more neighbours on the grid as one stretch."""
    texts = {k: f"${k:g}$" for k in ks}
    texts[ks[0]] = f"$k = {ks[0]:g}$"
    gaps = np.diff(np.searchsorted(grid, ks)) > 1
    words = []
    for run in np.split(ks, np.flatnonzero(gaps) + 1):
        if len(run) > 2:
            words.append(f"{texts[run[0]]} to {texts[run[-1]]}")
        else:
            words += [texts[k] for k in run]
    return ", ".join(words)


def _loss_matters(evidence: Evidence) -> str:
    table = losses(evidence)
    counts = count_differences(table)
    compared, differ = counts["losses_compared"], counts["losses_differ"]
    if not compared:
        asked = table["text_balanced"].count()
        return f"open: of {asked} comparisons none is complete under both losses"
    written = as_written(evidence)
    return (
        f"another gate wins by median in {differ} of {compared} comparisons ($λ$, $k$, metric) "
        f"complete under both losses; of the published rows {written.sum()} of {len(written)} "
        "come out again under the loss of the text"
    )


def _seeding(evidence: Evidence) -> str:
    means = inside(evidence.table)
    counts = f"{means.sum()} of {len(means)} published means"
    return f"not separable from chance; {counts} lie inside our 95% intervals"


def _twenty_points(_: Evidence) -> str:
    spec = SPECS["exp"]
    theta = random_parameters(spec, 0)
    _, angle = spec.ansatz().jets(theta, torch.zeros(1, 20, dtype=torch.float64))
    spread = np.ptp(angle.first[0].numpy())
    return (
        f"none: the twenty values differ by {spread:g}, "
        "so that their mean is the value at one point"
    )


def _discrete_norm(evidence: Evidence) -> str:
    """‖e‖/‖u‖ as sums against the trapezoidal rule, for the runs of seed 0 behind the table."""
    deviations = []
    for spec in evidence.specs("table"):
        record = evidence.records.get(spec.key, {"status": "missing"})
        if spec.seed > 0 or record["status"] != "ok":
            continue
        t, truth = spec.reference.t, spec.reference.q
        state = result_of(record).predict(t)[["r", "theta"]].to_numpy().T
        error_square = np.square(state_error(spec.system_object, state, truth)).sum(axis=0)
        truth_square = np.square(truth).sum(axis=0)
        discrete = error_square.sum() / truth_square.sum()
        integral = np.trapezoid(error_square, t) / np.trapezoid(truth_square, t)
        deviations.append(abs(np.sqrt(discrete / integral) - 1))
    if not deviations:
        return "open: no run of the table with seed 0 is on record"
    return f"at most {100 * max(deviations):.2g}% of the error in {len(deviations)} runs"


def _our_choice(evidence: Evidence) -> str:
    ok = evidence.runs("main", "no_penalty", "expanded").query("status == 'ok'")
    chosen = ok["k"].isin((10, 40)).sum()
    return (
        f"{chosen} of the {len(ok):,} runs with the balanced loss are at $k = 10$ or 40, "
        "which no caption names"
    )


MEASUREMENTS: dict[str, Callable[[Evidence], str]] = {
    "loss": _loss_matters,
    "seeding": _seeding,
    "norm": _discrete_norm,
    "ic-points": _twenty_points,
    "frequencies": lambda evidence: frequencies(evidence).ours,
    "stiffness": _our_choice,
}


def disagreements(evidence: Evidence) -> pd.DataFrame:
    """One row per disagreement of disagreements.toml, with what it was measured to change."""
    rows = tomllib.loads(TEXTS.read_text(encoding="utf-8"))["disagreement"]
    for row in rows:
        if "consequence" not in row:
            row["consequence"] = MEASUREMENTS[row["id"]](evidence)
    return pd.DataFrame(rows)[COLUMNS]
