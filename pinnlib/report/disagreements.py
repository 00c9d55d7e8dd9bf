"""Where the paper's text and the released code disagree, or the text is silent, and what that was measured to change."""

import itertools
from typing import Callable, NamedTuple

import numpy as np
import pandas as pd
import torch

from pinnlib.analysis import paired
from pinnlib.metrics import state_error
from pinnlib.report import published
from pinnlib.report.findings import inside
from pinnlib.report.identities import SPECS, _random, frequencies
from pinnlib.runs.record import result_of


def losses(evidence):
    """Adaptive model, per λ, metric and k: winner under both losses, and "exp 2.16*" (median ratio linear/exp) or "12/20" (pairs)."""
    rows = evidence.every.query("model == 'adaptive'")
    star = np.where(rows["p_holm"] < paired.LEVEL, "*", "")
    value = rows["winner"] + np.exp(rows["median_log_ratio"]).map(" {:.2f}".format) + star
    pairs = rows["n"].astype(str) + "/" + rows["needed"].astype(str)
    rows = rows.assign(
        winner=rows["winner"].where(rows["note"] == ""),
        text=value.where(rows["winner"] != "", pairs),
    )
    wide = rows.pivot(index=["lambda_ic", "metric", "k"], columns="loss", values=["winner", "text"])
    wide.columns = [f"{name}_{loss}" for name, loss in wide.columns]
    decided = wide["winner_balanced"].notna() & wide["winner_mse"].notna()
    return wide.assign(
        same=(wide["winner_balanced"] == wide["winner_mse"]).astype("boolean").where(decided)
    ).reset_index()


def count_differences(table):
    """From `losses`: comparisons complete under both losses, those with another winner, and those of them with a star under both."""
    known = table["same"].dropna()
    starred = table["text_balanced"].str.endswith("*", na=False) & table["text_mse"].str.endswith(
        "*", na=False
    )
    return {
        "losses_compared": len(known),
        "losses_differ": int((~known).sum()),
        "losses_differ_clearly": int((~known & starred[known.index]).sum()),
    }


def as_written(evidence):
    """Per published row with a verdict under the loss of the text: whether winner and significance come out again."""
    rows = published.beside_published(paired.gate_tests(evidence.runs("as_written")))
    return rows[["same_winner", "same_significance"]].dropna().all(axis=1)


def winners(table, loss, lambda_ic, metric="rel_l2_u"):
    """Which gate wins where, in words, from `losses`: "exp at k = 10, 20; linear at k = 30 to 60; open at k = 70"."""
    part = table.query("lambda_ic == @lambda_ic and metric == @metric").dropna(
        subset=f"text_{loss}"
    )
    groups = part.groupby(part[f"winner_{loss}"].fillna("open"))["k"]
    place = {k: i for i, k in enumerate(sorted(part["k"]))}
    return "; ".join(f"{gate} at k = {_stretches(sorted(ks), place)}" for gate, ks in groups)


def _stretches(ks, place):
    """ "10, 20, 40 to 130": three or more neighbours as one."""
    runs = [list(run) for _, run in itertools.groupby(ks, key=lambda k: place[k] - ks.index(k))]
    return ", ".join(
        f"{run[0]:g} to {run[-1]:g}" if len(run) > 2 else ", ".join(map("{:g}".format, run))
        for run in runs
    )


def _loss_matters(evidence):
    table = losses(evidence)
    found = count_differences(table)
    if not found["losses_compared"]:
        return f"open: of {table['text_balanced'].count()} comparisons none is complete under both losses"
    told = f"another gate wins by median in {found['losses_differ']} of {found['losses_compared']} comparisons (λ, k, metric) complete under both losses"
    written = as_written(evidence)
    return f"{told}; of the published rows {written.sum()} of {len(written)} come out again under the loss of the text"


def _seeding(evidence):
    means = inside(evidence.table)
    return f"not separable from chance; {means.sum()} of {len(means)} published means lie inside our 95% intervals"


def _twenty_points(_):
    spec = SPECS["exp"]
    first = (
        spec.ansatz()
        .jets(_random(spec.trunk.size(2), 0), torch.zeros(1, 20, dtype=torch.float64))[1]
        .first[0]
    )
    return f"none: the twenty values differ by {np.ptp(first.numpy()):g}, so that their mean is the value at one point"


def _discrete_norm(evidence):
    """‖e‖/‖u‖ over the grid against the same with the trapezoidal rule, for the runs of seed 0 behind the table."""
    off = []
    for spec in (
        s
        for s in evidence.specs("table")
        if s.seed == 0 and evidence.records.get(s.key, {}).get("status") == "ok"
    ):
        state, truth = (
            result_of(evidence.records[spec.key]).predict(spec.reference.t),
            spec.reference.q,
        )
        square = np.array(
            [
                np.square(e).sum(axis=0)
                for e in (
                    state_error(spec.system_object, state[["r", "theta"]].to_numpy().T, truth),
                    truth,
                )
            ]
        )
        (error, size), (error_t, size_t) = (
            square.sum(axis=1),
            np.trapezoid(square, spec.reference.t, axis=1),
        )
        off.append(abs(np.sqrt(error * size_t / size / error_t) - 1))
    return (
        f"at most {100 * max(off):.2g}% of the error in {len(off)} runs"
        if off
        else "open: no run of the table with seed 0 is on record"
    )


def _our_choice(evidence):
    ok = evidence.runs("main", "no_penalty", "expanded").query("status == 'ok'")
    return f"{ok['k'].isin((10, 40)).sum()} of the {len(ok):,} runs with the balanced loss are at k = 10 or 40, which no caption names"


class Disagreement(NamedTuple):
    id: str
    kind: str  # contradiction: text and code differ; unsaid: the text is silent
    text: str
    code: str
    ours: str
    consequence: Callable


DISAGREEMENTS = (
    Disagreement(
        "loss",
        "contradiction",
        "mean-square residual",
        "each residual divided by a moving average of its own RMS (balanced)",
        "both: balanced everywhere, mse as a study of its own",
        _loss_matters,
    ),
    Disagreement(
        "seeding",
        "contradiction",
        "gates share random seeds",
        "the seed is set after the network is built",
        "seed first: one stream for weights, one for points, the same for both gates",
        _seeding,
    ),
    Disagreement(
        "norm",
        "contradiction",
        "integral over time",
        "discrete norm over the 2000 points",
        "discrete norm",
        _discrete_norm,
    ),
    Disagreement(
        "ic-points",
        "unsaid",
        "20 initial-condition points",
        "all of them are t = 0",
        "one point t = 0",
        _twenty_points,
    ),
    Disagreement(
        "initial-state",
        "unsaid",
        "not given",
        "r = 1, θ = 0.2, at rest",
        "the same",
        lambda _: "none measured: other starts were not trained",
    ),
    Disagreement(
        "initialisation",
        "unsaid",
        "not given",
        "head N(0, 0.01²), bias 0; frequencies as softplus of a free parameter",
        "the same",
        lambda _: "none measured: other initialisations were not trained",
    ),
    Disagreement(
        "frequencies",
        "unsaid",
        "16 + 16 frequencies",
        "both bands contain 5.0",
        "the same",
        lambda _: frequencies(_).ours,
    ),
    Disagreement(
        "kept",
        "unsaid",
        "not given",
        "final parameters, not the best",
        "the same",
        lambda _: "none measured: only final parameters are recorded",
    ),
    Disagreement(
        "stiffness",
        "unsaid",
        "k elsewhere not listed",
        "not in the settings that we know",
        "k = 10, 20, ..., 130",
        _our_choice,
    ),
)


def disagreements(evidence):
    """One row per disagreement, with what it was measured to change."""
    return pd.DataFrame(
        [d._asdict() | {"consequence": d.consequence(evidence)} for d in DISAGREEMENTS]
    )
