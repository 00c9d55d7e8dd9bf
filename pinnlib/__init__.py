"""Gated physics-informed networks for a spring–pendulum: models, gates, training, metrics.

The core is the files of this folder; README.md beside them is a map of it and of the rooms.
The names below are loaded on first use, so that `python -m pinnlib --help` does not wait for torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinnlib.gates import GATES, Exponential, Gate, Linear, Rational, Tanh
    from pinnlib.jets import Jet
    from pinnlib.models import MLP, MODELS, AdaptiveFourier, FixedFourier, Trunk
    from pinnlib.reference import reference_solution
    from pinnlib.spec import RunSpec
    from pinnlib.systems import SYSTEMS, SpringPendulum, System
    from pinnlib.training import Result, predict, train

__version__ = "0.1.0"
__all__ = [
    "GATES",
    "MLP",
    "MODELS",
    "SYSTEMS",
    "AdaptiveFourier",
    "Exponential",
    "FixedFourier",
    "Gate",
    "Jet",
    "Linear",
    "Rational",
    "Result",
    "RunSpec",
    "SpringPendulum",
    "System",
    "Tanh",
    "Trunk",
    "predict",
    "reference_solution",
    "train",
]
_HOMES = ("gates", "jets", "models", "reference", "spec", "systems", "training")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = importlib.import_module(f"{__name__}.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
