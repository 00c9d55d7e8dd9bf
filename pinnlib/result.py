"""A finished run: its motion at any time, and its metrics."""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pinnlib.gates import Jet
from pinnlib.metrics import Metrics, error_metrics, residual_metrics
from pinnlib.registry import validate
from pinnlib.spec import RunSpec


@dataclass(frozen=True)
class Result:
    """A finished run: `status` is "ok" or "diverged" (then its metrics are NaN)."""

    spec: RunSpec
    status: str
    metrics: Metrics
    history: pd.DataFrame = field(repr=False)  # update; loss terms and rms_<component> before it
    parameters: np.ndarray = field(repr=False)  # flat, in the order of `spec.trunk.shapes`
    seconds: float  # this run's share of its batch
    snapshots: dict[int, np.ndarray] = field(default_factory=dict, repr=False)  # after an update
    nodes: int | None = None  # Chebyshev points of a network at the end of training

    def predict(self, times: ArrayLike) -> pd.DataFrame:
        """State, its two time derivatives and the residual at any times, in float64."""
        return predict(self.spec, self.parameters, times)

    @property
    def frequencies(self) -> np.ndarray | None:
        """The trunk's angular frequencies after training, or None if it has none."""
        theta = _row(self.spec, self.parameters)
        blocks = self.spec.trunk.blocks(theta, len(self.spec.system_object.components))
        omega = self.spec.trunk.frequencies(blocks)
        return None if omega is None else omega[0].numpy()


def predict(spec: RunSpec, parameters: np.ndarray, times: ArrayLike) -> pd.DataFrame:
    """Columns t, then <component>, <component>_t, <component>_tt, residual_<component>."""
    t = torch.from_numpy(np.array(times, dtype=float, ndmin=1))
    ok = t.ndim == 1 and t.isfinite().all()
    validate("times", times, ok, "a number or a list of finite numbers")
    if ((t < 0) | (t > spec.horizon)).any():
        message = f"times outside [0, {spec.horizon:g}], the interval of training: an extrapolation"
        warnings.warn(message, stacklevel=3)
    jets, residual = _motion(spec, parameters, t)
    columns = {"t": t.numpy()}
    for name, jet, r in zip(spec.system_object.components, jets, residual, strict=True):
        columns[name] = jet.value[0].numpy()
        columns[f"{name}_t"] = jet.first[0].numpy()
        columns[f"{name}_tt"] = jet.second[0].numpy()
        columns[f"residual_{name}"] = r[0].numpy()
    return pd.DataFrame(columns)


def _motion(spec: RunSpec, parameters: np.ndarray, t: Tensor) -> tuple[list[Jet], tuple]:
    """The jets and the residuals of the components at the times t, each (1, points), in float64."""
    ansatz = spec.ansatz()
    with torch.no_grad():
        jets = ansatz.jets(_row(spec, parameters), t[None])
        return jets, ansatz.residual(jets)


def evaluate(spec: RunSpec, parameters: np.ndarray) -> Metrics:
    """All metrics of a run on the reference grid."""
    jets, residuals = _motion(spec, parameters, torch.from_numpy(spec.reference.t))
    q = torch.cat([jet.value for jet in jets]).numpy()
    velocity = torch.cat([jet.first for jet in jets]).numpy()
    residual = torch.cat(residuals).numpy()
    errors = error_metrics(spec.system_object, q, spec.reference.q)
    return errors | residual_metrics(spec.system_object, residual, velocity)


def _row(spec: RunSpec, parameters: np.ndarray | None) -> Tensor:
    """The parameters in float64, (1, size); a ValueError if they are not those of such a run."""
    size = spec.trunk.size(len(spec.system_object.components))
    why = "a record keeps none of a network or of a diverged run, and train(spec) makes them again"
    shape = np.shape(parameters) if parameters is not None else None
    validate("parameters of shape", shape, shape == (size,), f"{(size,)}: {why}")
    return torch.as_tensor(np.asarray(parameters)[None], dtype=torch.float64)
