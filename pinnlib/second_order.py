"""The objective of a run minimised by Levenberg–Marquardt: what is left of a gate's effect when conditioning is undone."""

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from . import ntk
from .progress import progress_bar
from .training import evaluate, initial_parameters

QUADRATURE = 400  # fixed times, midpoints of equal cells of (0, T]


def weights(spec, e):
    """1/s per component, (components, 1): the balanced loss divides by the size of its residual, the plain one averages over components."""
    if spec.loss == "balanced":
        return 1 / np.sqrt(np.square(e).mean(axis=1, keepdims=True))
    return np.full((len(e), 1), 1 / np.sqrt(len(e)))


def levenberg_marquardt(spec, rounds=6, evaluations=60):
    """Parameters and a history of the loss terms, from the run's own initial weights, in float64.

    Minimises λ_phys Σ_c mean(w_c R_c)² + λ_IC mean(v(0) − v0)² at fixed times. The weights are held for a round and then taken anew, as the
    moving average of the balanced loss does; the plain loss has the same weights in every round.
    """
    t = (np.arange(QUADRATURE) + 0.5) * spec.horizon / QUADRATURE
    theta, history = initial_parameters(spec).double().numpy(), []
    for done in range(rounds):
        w = weights(spec, ntk.linearised(spec, theta, t)[1])

        def parts(parameters):
            """(J, values) of all residuals, weighted so that the loss is the sum of their squares."""
            J, e = ntk.linearised(spec, parameters, t)
            V, v = ntk.linearised(spec, parameters, [0.0], "velocity")
            inner, start = np.sqrt(spec.lambda_phys / QUADRATURE) * w, np.sqrt(spec.lambda_ic / len(v))
            rows = [(inner[:, :, None] * J).reshape(-1, J.shape[-1]), start * V[:, 0]]
            return np.concatenate(rows), np.concatenate([(inner * e).ravel(), start * (v[:, 0] - spec.initial_velocity)])

        found = least_squares(lambda x: parts(x)[1], theta, lambda x: parts(x)[0], method="lm", x_scale="jac", max_nfev=evaluations)
        theta = found.x
        rms = np.sqrt(np.square(ntk.linearised(spec, theta, t)[1]).mean(axis=1))
        history.append({"round": done + 1, "evaluations": found.nfev} | dict(zip((f"rms_{name}" for name in spec.dynamics.components), rms)))
    return theta, history


def outcomes(specs, progress=None, **options):
    """One row per run: the metrics of the solution that Levenberg–Marquardt finds for it."""
    rows = []
    with progress_bar(len(specs), progress, unit="run") as bar:
        for spec in specs:
            theta, history = levenberg_marquardt(spec, **options)
            told = {name: getattr(spec, name) for name in ("model", "gate", "k", "lambda_ic", "loss", "seed")}
            evaluations = sum(row["evaluations"] for row in history)
            rows.append(told | {"status": "ok", "evaluations": evaluations} | evaluate(spec, theta))
            bar.update()
    return pd.DataFrame(rows)
