"""How far a trained run is from the reference, on the reference grid, in float64."""

import numpy as np


def state_error(system, q, q_ref):
    """e(t) = q − q_ref, angles wrapped to (−π, π]; (components, points)."""
    e = np.asarray(q) - q_ref
    angular = list(system.angular)
    e[angular] = np.arctan2(np.sin(e[angular]), np.cos(e[angular]))
    return e


def error_metrics(system, q, q_ref):
    """Relative L² error (discrete norm over the grid) and largest error, of the state u and of each component."""
    e = state_error(system, q, q_ref)
    size, norm = np.linalg.norm(e, axis=0), np.linalg.norm
    metrics = {"rel_l2_u": norm(e) / norm(q_ref), "max_ae_u": size.max()}
    for name, error, ref in zip(system.components, e, q_ref):
        relative = (
            norm(error) / norm(ref) if ref.any() else np.nan
        )  # undefined for a component that rests at zero
        metrics |= {f"rel_l2_{name}": relative, f"max_ae_{name}": np.abs(error).max()}
    return {name: float(value) for name, value in metrics.items()}


def residual_metrics(system, residual, velocity):
    """Mean, 95th percentile and maximum of |R(t)| on the grid, and the velocity at t = 0."""
    size = np.linalg.norm(residual, axis=0)
    metrics = {
        "residual_mean": size.mean(),
        "residual_p95": np.quantile(size, 0.95),
        "residual_max": size.max(),
    }
    metrics |= {f"velocity0_{name}": v[0] for name, v in zip(system.components, velocity)}
    return {name: float(value) for name, value in metrics.items()}
