"""The error of standing still, beside which every error is read: r at its mean over time, θ = 0."""

from functools import cache

import pandas as pd

from pinnlib.metrics import Metrics, standing_still_metrics
from pinnlib.spec import RunSpec

ANGLE = "rel_l2_theta"  # the published metric hides it: θ has 0.1 to 3% of the squared norm
SUMMARISED = ("max_ae_u", "rel_l2_u", ANGLE)


@cache
def still_errors(k: float, system: str = RunSpec.system) -> Metrics:
    """The metrics of a motion that stands still, at one stiffness."""
    spec = RunSpec(k=k, system=system)
    return standing_still_metrics(spec.system_object, spec.reference.q)


def add_still_errors(table: pd.DataFrame) -> pd.DataFrame:
    """A table with columns `k` and `metric`, and the error of standing still as a last column."""
    cells = zip(table["k"], table["metric"], strict=True)
    return table.assign(standing_still=[still_errors(k)[metric] for k, metric in cells])
