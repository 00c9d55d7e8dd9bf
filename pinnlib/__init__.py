"""Gated physics-informed networks for a spring–pendulum: models, gates, training, metrics.

The core is the files of this folder; README.md beside them is a map of it and of the rooms.
The names below are loaded on first use, so that `python -m pinnlib --help` does not wait for torch.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "gates": ["GATES", "Exponential", "Gate", "Jet", "Linear", "Rational", "Tanh"],
    "models": ["MLP", "MODELS", "AdaptiveFourier", "FixedFourier", "Trunk"],
    "reference": ["Problem", "reference_solution"],
    "result": ["Result", "predict"],
    "spec": ["RunSpec"],
    "systems": ["SYSTEMS", "SpringPendulum", "System"],
    "training": ["TrainingError", "train"],
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
