"""The residual in windows of time, and the half of the horizon that is ahead, by hand."""

import numpy as np
import pandas as pd
import pytest
from kernel_tables import short_run

from pinnlib.report import residual_decay


def test_windows_of_the_horizon_share_the_residual():
    spec, result, records = short_run()
    timed = residual_decay.in_time([spec], [300], records, windows=2)
    assert timed["window"].tolist() == ["0–5", "5–10"]
    state = result.predict(spec.reference.t[::10])
    squares = np.square(state[["residual_r", "residual_theta"]]).sum(axis=1)
    assert np.square(timed["residual"]).mean() == pytest.approx(squares.mean())


def test_the_half_that_has_lost_more_is_ahead():
    # Shares left, early and late: exp, seed 0: 10/10 and 2/4, then 4/10 and 2/4; seed 1: 1/2 and
    # 1/1, then 1/2 and 1/2, which is no lead; linear: 5/5 and 9/10, then 4/5 and 9/10.
    residuals = {
        ("exp", 0): [(10, 4), (10, 2), (4, 2)],
        ("exp", 1): [(2, 1), (1, 1), (1, 0.5)],
        ("linear", 0): [(5, 10), (5, 9), (4, 9)],
    }
    rows = [
        {
            "gate": gate,
            "k": 20,
            "seed": seed,
            "update": update,
            "window": window,
            "residual": residual,
        }
        for (gate, seed), moments in residuals.items()
        for update, halves in zip((0, 10, 20), moments, strict=True)
        for window, residual in zip(("0–5", "5–10"), halves, strict=True)
    ]
    found = residual_decay.early_first(pd.DataFrame(rows))
    assert found.to_dict("index") == {
        ("exp", 10): {"early half ahead": 1, "of": 2},
        ("exp", 20): {"early half ahead": 1, "of": 2},
        ("linear", 10): {"early half ahead": 0, "of": 1},
        ("linear", 20): {"early half ahead": 1, "of": 1},
    }


def test_the_half_that_the_kernel_has_ahead_is_counted_for_either_weights():
    rates = {
        "rate_late_over_early": [0.5, 3, 2, 4],
        "balanced_rate_late_over_early": [1, 0.1, 0.2, 8],
    }
    found = residual_decay.late_first(
        pd.DataFrame({"gate": ["exp", "linear", "exp", "exp"]} | rates)
    )
    counts = found["late half predicted ahead"]
    assert counts.to_numpy().tolist() == [[2, 1, 3], [1, 0, 1]]  # K, balanced K, of; 1 is not ahead
    ratios = found.loc["exp"].drop("late half predicted ahead").tolist()
    assert ratios == [0.5, 0.2, 2, 1, 4, 8]  # smallest, median, largest, each of both
    assert set(found.loc["linear"].drop("late half predicted ahead")) == {3, 0.1}
