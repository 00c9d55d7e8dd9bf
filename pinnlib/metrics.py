"""How far a trained run is from the reference, on the reference grid, in float64."""

import numpy as np
from numpy.linalg import norm

from pinnlib.systems import System

Metrics = dict[str, float]


def state_error(system: System, q: np.ndarray, q_ref: np.ndarray) -> np.ndarray:
    """e(t) = q − q_ref, angles wrapped to (−π, π]; (components, points)."""
    e = np.asarray(q) - q_ref
    angular = list(system.angular)
    e[angular] = np.arctan2(np.sin(e[angular]), np.cos(e[angular]))
    return e


def error_metrics(system: System, q: np.ndarray, q_ref: np.ndarray) -> Metrics:
    """Relative L² error (discrete norm on the grid) and largest error, of u and each component."""
    e = state_error(system, q, q_ref)
    metrics = {"rel_l2_u": norm(e) / norm(q_ref), "max_ae_u": norm(e, axis=0).max()}
    for name, error, ref in zip(system.components, e, q_ref, strict=True):
        at_rest = not ref.any()  # then the relative error is undefined
        metrics[f"rel_l2_{name}"] = np.nan if at_rest else norm(error) / norm(ref)
        metrics[f"max_ae_{name}"] = np.abs(error).max()
    return {name: float(value) for name, value in metrics.items()}


def residual_metrics(system: System, residual: np.ndarray, velocity: np.ndarray) -> Metrics:
    """Mean, 95th percentile and maximum of |R(t)| on the grid, and the velocity at t = 0."""
    size = norm(residual, axis=0)
    metrics = {"residual_mean": size.mean(), "residual_p95": np.quantile(size, 0.95)}
    metrics["residual_max"] = size.max()
    for name, v in zip(system.components, velocity, strict=True):
        metrics[f"velocity0_{name}"] = v[0]
    return {name: float(value) for name, value in metrics.items()}
