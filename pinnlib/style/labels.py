"""Names of metrics, gates as formulas, and the axes in which a motion is drawn."""

import numpy as np

from pinnlib.gates import GATES, Exponential, Gate, Linear, Rational, Tanh
from pinnlib.registry import lookup
from pinnlib.systems import SpringPendulum, System

METRIC_NAMES = {"rel_l2_u": "ReL2E", "max_ae_u": "MaxAE"}  # as the paper abbreviates them
METRIC_LABELS = {  # of an axis
    "rel_l2_u": "relative $L^2$ error",
    "max_ae_u": "maximum absolute error [m, rad]",
}
ANGLE_LABEL = "relative $L^2$ error of the angle"
GATE_WORDS = {"exp": "exponential", "linear": "linear"}


def gate_formula(gate: str) -> str:
    """g(t) in LaTeX with its dollars; a gate of one's own may have a `formula`, without dollars."""
    match lookup("gate", GATES, gate):
        case Gate(formula=formula):
            return f"${formula}$"
        case Exponential(alpha, scale):
            rate = "" if alpha == 1 else f"{alpha:g}"
            shape = f"1-e^{{-{rate}t}}"
            return f"${shape}$" if scale == 1 else f"${scale:g}({shape})$"
        case Linear(scale):
            return f"${_multiple(scale)}$"
        case Tanh():
            return r"$\tanh t$"
        case Rational():
            return "$t/(1+t)$"
    return rf"$\mathrm{{{gate.replace('_', ' ')}}}$"


def path_axes(system: System, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """{label: values} of the plane in which a motion is drawn.

    That is x and y of the pendulum, else the first two of the coordinates and velocities. A system
    of one's own may choose other axes: `path(q, v)`.
    """
    if hasattr(system, "path"):
        return system.path(q, v)
    if isinstance(system, SpringPendulum):
        r, theta = q
        return {"$x$ [m]": r * np.sin(theta), "$y$ [m]": -r * np.cos(theta)}
    velocities = [f"{name}_t" for name in system.components]
    axes = [*zip(system.components, q, strict=True), *zip(velocities, v, strict=True)]
    return dict(axes[:2])


def _multiple(scale: float) -> str:
    """t, t/10 or 7t."""
    divisor = round(1 / scale)
    if scale == 1:
        return "t"
    if scale < 1 and abs(divisor * scale - 1) < 1e-12:
        return f"t/{divisor}"
    return f"{scale:g}t"
