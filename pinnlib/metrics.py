"""How far a trained run is from the reference, on the reference grid, in float64.

The same bits on every machine: IEEE 754 fixes + − × ÷ √ and rint, and `fsum` rounds a sum once.
"""

import math

import numpy as np

from pinnlib.systems import System

Metrics = dict[str, float]
TURN = 2 * math.pi
quiet = np.errstate(over="ignore", invalid="ignore")  # metrics of a diverged run are inf or NaN


@quiet
def state_error(system: System, q: np.ndarray, q_ref: np.ndarray) -> np.ndarray:
    """e(t) = q − q_ref, angles wrapped to [−π, π]; (components, points)."""
    e = np.asarray(q) - q_ref
    angular = list(system.angular)
    e[angular] -= TURN * np.rint(e[angular] / TURN)
    return e


@quiet
def error_metrics(system: System, q: np.ndarray, q_ref: np.ndarray) -> Metrics:
    """Relative L² error (discrete norm on the grid) and largest error, of u and each component."""
    e = state_error(system, q, q_ref)
    parts = {"u": (e, q_ref)}
    for i, name in enumerate(system.components):
        parts[name] = (e[i : i + 1], q_ref[i : i + 1])
    metrics = {}
    for name, (error, ref) in parts.items():
        scale = _norm(ref)
        # A component that stays at zero has no relative error.
        metrics[f"rel_l2_{name}"] = _norm(error) / scale if scale else math.nan
        metrics[f"max_ae_{name}"] = float(_lengths(error).max())
    return metrics


def standing_still_metrics(system: System, q_ref: np.ndarray) -> Metrics:
    """`error_metrics` of a motion that stands still: at its mean over time, angles at zero."""
    still = np.zeros_like(q_ref)
    for i, angular in enumerate(system.angular):
        if not angular:
            still[i] = _mean(q_ref[i])
    return error_metrics(system, still, q_ref)


@quiet
def residual_metrics(system: System, residual: np.ndarray, velocity: np.ndarray) -> Metrics:
    """Mean, 95th percentile and maximum of |R(t)| on the grid, and the velocity at t = 0."""
    size = _lengths(residual)
    metrics = {"residual_mean": _mean(size)}
    metrics["residual_p95"] = np.quantile(size, 0.95)  # interpolates elementwise
    metrics["residual_max"] = size.max()
    for name, v in zip(system.components, velocity, strict=True):
        metrics[f"velocity0_{name}"] = v[0]
    return {name: float(value) for name, value in metrics.items()}


def _lengths(x: np.ndarray) -> np.ndarray:
    """Length of each column."""
    return np.sqrt(sum(row * row for row in x))


def _norm(x: np.ndarray) -> float:
    return math.sqrt(_sum(x * x))


def _mean(x: np.ndarray) -> float:
    return _sum(x) / x.size


def _sum(x: np.ndarray) -> float:
    """Sum of an array, rounded once; inf where it overflows."""
    try:
        return math.fsum(x.ravel().tolist())
    except OverflowError:
        return math.inf
