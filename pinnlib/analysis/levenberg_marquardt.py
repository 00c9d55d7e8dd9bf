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
        return 1 / np.sqrt(np.square(e).mean(axis=1, keepdims=True))
    return np.full((len(e), 1), 1 / np.sqrt(len(e)))


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
        return self._evaluate(np.asarray(parameters))[1].copy()  # MINPACK overwrites the array

    def jacobian(self, parameters: ArrayLike) -> np.ndarray:
        """(residuals, parameters)."""
        return self._evaluate(np.asarray(parameters))[2].copy()

    def _evaluate(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(parameters, values, Jacobian)."""
        if self._last is None or not np.array_equal(self._last[0], parameters):
            J, e = ntk.linearise(self.spec, parameters, self.times)
            V, v = ntk.linearise(self.spec, parameters, [0.0], "velocity")
            start = np.sqrt(self.spec.lambda_ic / len(v))
            velocity = start * (v[:, 0] - self.spec.initial_velocity)
            values = np.concatenate([(self.weights * e).ravel(), velocity])
            inner = (self.weights[:, :, None] * J).reshape(-1, J.shape[-1])
            self._last = parameters.copy(), values, np.concatenate([inner, start * V[:, 0]])
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
        e = ntk.linearise(spec, theta, times)[1]
        residuals = Residuals(spec, times, weights(spec, e))
        options = {"method": "lm", "x_scale": "jac", "max_nfev": evaluations}
        solution = least_squares(residuals.values, theta, residuals.jacobian, **options)
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
                    row = spec.select(*RUN) | {"status": "ok"}
                    row |= {"rounds": number, "evaluations": used}
                    rows.append(row | evaluate(spec, theta))
                bar.update()
            table.add(rows)
    return table.frame
