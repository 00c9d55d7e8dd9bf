"""Gated physics-informed networks for a spring–pendulum: models, gates, training, metrics."""

import ctypes
import sys

import torch

torch.set_num_threads(1)  # one thread a process: runs, not operations, are what is done in parallel
if sys.platform == "linux":
    # Keep the arrays of an update in the process instead of returning them to the kernel: a third of an MLP's time otherwise.
    for option, value in ((-3, 1 << 25), (-1, 1 << 30)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
        getattr(ctypes.CDLL(None), "mallopt", lambda *_: None)(option, value)

from .gates import GATES, Exponential, Gate, Linear, Rational, Tanh
from .models import MODELS, MLP, AdaptiveFourier, FixedFourier, Trunk
from .reference import reference
from .spec import RunSpec
from .systems import SYSTEMS, SpringPendulum, System
from .training import Result, predict, train

__version__ = "0.1.0"
__all__ = [
    "GATES",
    "MODELS",
    "SYSTEMS",
    "AdaptiveFourier",
    "Exponential",
    "FixedFourier",
    "Gate",
    "Linear",
    "MLP",
    "Rational",
    "Result",
    "RunSpec",
    "SpringPendulum",
    "System",
    "Tanh",
    "Trunk",
    "predict",
    "reference",
    "train",
]
