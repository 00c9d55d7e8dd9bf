"""The objective of a run minimised by Levenberg–Marquardt, a method that undoes conditioning."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from pinnlib.analysis import ntk
from pinnlib.analysis.resumable import ResumableTable
from pinnlib.registry import validate
from pinnlib.runs.progress import progress_bar
from pinnlib.spec import RunSpec
from pinnlib.training import evaluate, initial_parameters

RUN = ["model", "gate", "k", "lambda_ic", "loss", "seed"]
QUADRATURE = 400  # fixed times, midpoints of equal cells of (0, T]


def weights(spec: RunSpec, e: np.ndarray) -> np.ndarray:
    """Weights of the residuals e (components, times) in the loss of the run; (components, 1)."""
    if spec.loss == "balanced":
        return 1 / ntk.root_mean_square(e)
    components = len(e)
    return np.full((components, 1), 1 / np.sqrt(components))


class Residuals:
    """The weighted residuals of a run at fixed times: the loss is the sum of their squares.

    SciPy asks for values and Jacobian in turn: both are kept for the last parameters.
    """

    def __init__(self, spec: RunSpec, times: np.ndarray, component_weights: np.ndarray) -> None:
        self.spec = spec
        self.times = times
        self.weights = np.sqrt(spec.lambda_phys / len(times)) * component_weights
        self._last: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def values(self, parameters: ArrayLike) -> np.ndarray:
        """(residuals,): those of all components and times, then those of the initial velocity."""
        _, values, _ = self._evaluate(np.asarray(parameters))
        return values.copy()  # MINPACK overwrites the array

    def jacobian(self, parameters: ArrayLike) -> np.ndarray:
        """(residuals, parameters)."""
        _, _, jacobian = self._evaluate(np.asarray(parameters))
        return jacobian.copy()

    def _evaluate(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(parameters, values, Jacobian)."""
        if self._last is not None and np.array_equal(self._last[0], parameters):
            return self._last
        J, e = ntk.linearise(self.spec, parameters, self.times)
        V, v = ntk.linearise(self.spec, parameters, [0.0], "velocity")
        start_weight = np.sqrt(self.spec.lambda_ic / len(v))
        inner = self.weights * e
        start = start_weight * (v[:, 0] - self.spec.initial_velocity)
        inner_rows = (self.weights[:, :, None] * J).reshape(-1, J.shape[-1])
        start_rows = start_weight * V[:, 0]
        values = np.concatenate([inner.ravel(), start])
        jacobian = np.concatenate([inner_rows, start_rows])
        self._last = parameters.copy(), values, jacobian
        return self._last


def levenberg_marquardt(
    spec: RunSpec, rounds: int = 6, evaluations: int = 60
) -> Iterator[tuple[np.ndarray, int]]:
    """(parameters, evaluations used) after every round, from the run's initial weights, in float64.

    Minimises λ_phys Σ_c mean((w_c R_c)²) + λ_IC mean((v(0) − v0)²) at fixed times. The weights w_c
    of the balanced loss are updated between rounds.
    """
    times = (np.arange(QUADRATURE) + 0.5) * spec.horizon / QUADRATURE
    theta = initial_parameters(spec).double().numpy()
    used = 0
    most = len(spec.system_object.components) * QUADRATURE
    validate("model", spec.model, len(theta) <= most, f"one with at most {most} parameters")
    for _ in range(rounds):
        _, e = ntk.linearise(spec, theta, times)
        residuals = Residuals(spec, times, weights(spec, e))
        solution = least_squares(
            residuals.values,
            theta,
            residuals.jacobian,
            method="lm",
            x_scale="jac",
            max_nfev=evaluations,
        )
        theta = solution.x
        used += solution.nfev
        yield theta, used


def minimised_runs(
    specs: Sequence[RunSpec],
    rounds: Sequence[int] = (6,),
    evaluations: int = 60,
    known: pd.DataFrame | None = None,
    keep: Callable[[pd.DataFrame], object] | None = None,
) -> pd.DataFrame:
    """One row per run and number of rounds: the metrics of its Levenberg–Marquardt solution.

    Rows are added to `known`, an earlier such table; runs that reached the largest number of rounds
    there are skipped. `keep` is called with the table after every run.
    """
    last = max(rounds)
    table = ResumableTable(RUN, known, keep)
    missing = [spec for spec in specs if last not in table.values_of(spec, "rounds")]
    with progress_bar(len(missing) * last, unit="round") as bar:
        for spec in missing:
            rows = []
            solutions = levenberg_marquardt(spec, last, evaluations)
            for number, (theta, used) in enumerate(solutions, start=1):
                if number in rounds:
                    row = spec.select(*RUN)
                    row["status"] = "ok"
                    row["rounds"] = number
                    row["evaluations"] = used
                    row |= evaluate(spec, theta)
                    rows.append(row)
                bar.update()
            table.add(rows)
    return table.frame
