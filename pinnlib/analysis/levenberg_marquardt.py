"""The objective of a run minimised by Levenberg–Marquardt: what is left of a gate's effect when conditioning is undone."""

from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from pinnlib.analysis import ntk
from pinnlib.progress import progress_bar
from pinnlib.registry import validate
from pinnlib.training import evaluate, initial_parameters

RUN = ["model", "gate", "k", "lambda_ic", "loss", "seed"]
QUADRATURE = 400  # fixed times, midpoints of equal cells of (0, T]


def weights(spec, e):
    """1/s per component, (components, 1): the balanced loss divides by the size of its residual, the plain one averages over components."""
    if spec.loss == "balanced":
        return 1 / np.sqrt(np.square(e).mean(axis=1, keepdims=True))
    return np.full((len(e), 1), 1 / np.sqrt(len(e)))


def parts(spec, parameters, t, w):
    """(J, values) of all residuals at the times t, weighted so that the loss is the sum of the squares of the values."""
    J, e = ntk.linearised(spec, parameters, t)
    V, v = ntk.linearised(spec, parameters, [0.0], "velocity")
    inner, start = np.sqrt(spec.lambda_phys / len(t)) * w, np.sqrt(spec.lambda_ic / len(v))
    rows = (inner[:, :, None] * J).reshape(-1, J.shape[-1]), start * V[:, 0]
    return np.concatenate(rows), np.concatenate(
        [(inner * e).ravel(), start * (v[:, 0] - spec.initial_velocity)]
    )


def levenberg_marquardt(spec, rounds=6, evaluations=60):
    """(parameters, evaluations used) after every round, from the run's own initial weights, in float64.

    Minimises λ_phys Σ_c mean((w_c R_c)²) + λ_IC mean((v(0) − v0)²) at fixed times. The weights are held for a round and then taken anew, as the
    moving average of the balanced loss does; the plain loss has the same weights in every round.
    """
    t = (np.arange(QUADRATURE) + 0.5) * spec.horizon / QUADRATURE
    theta, used = initial_parameters(spec).double().numpy(), 0
    most = len(spec.system_object.components) * QUADRATURE
    validate("model", spec.model, len(theta) <= most, f"one with at most {most} parameters")
    for _ in range(rounds):
        w = weights(spec, ntk.linearised(spec, theta, t)[1])
        at = lru_cache(maxsize=1)(
            lambda raw, w=w: parts(spec, np.frombuffer(raw).copy(), t, w)
        )  # values and slopes are asked for in turn
        values, slopes = (
            lambda x, i=i, at=at: at(x.tobytes())[i].copy() for i in (1, 0)
        )  # MINPACK writes into what it is given
        found = least_squares(
            values, theta, slopes, method="lm", x_scale="jac", max_nfev=evaluations
        )
        theta, used = found.x, used + found.nfev
        yield theta, used


def minimised_runs(
    specs, rounds=(6,), evaluations=60, known=None, keep=lambda table: None, progress=None
):
    """One row per run and number of rounds: the metrics of what Levenberg–Marquardt has found for the run by then, added to `known`, such a table.

    Runs that are in it after as many rounds are not minimised again. `keep` is given the table after every run, so that nothing is lost on the way.
    """
    table = pd.DataFrame(columns=[*RUN, "rounds"]) if known is None else known
    done = set(table.loc[table["rounds"] == max(rounds), RUN].itertuples(index=False, name=None))
    told = {spec: {name: getattr(spec, name) for name in RUN} for spec in specs}
    todo = [spec for spec in specs if tuple(told[spec].values()) not in done]
    with progress_bar(len(todo) * max(rounds), progress, unit="round") as bar:
        for spec in todo:
            rows = []
            for number, (theta, used) in enumerate(
                levenberg_marquardt(spec, max(rounds), evaluations), 1
            ):
                if number in rounds:
                    rows.append(
                        told[spec]
                        | {"status": "ok", "rounds": number, "evaluations": used}
                        | evaluate(spec, theta)
                    )
                bar.update()
            table = (
                pd.DataFrame(rows)
                if table.empty
                else pd.concat([table, pd.DataFrame(rows)], ignore_index=True)
            )
            keep(table)
    return table
