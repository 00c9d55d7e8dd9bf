"""The errors that the ansatz could represent: the best head, and what is quoted of the floors."""

import numpy as np
import pandas as pd
import pytest
import torch
from kernel_tables import short_run

from pinnlib import RunSpec
from pinnlib.ansatz import to_latent
from pinnlib.report import error_floors
from pinnlib.training import evaluate, initial_parameters


def test_what_is_quoted_of_the_floors():
    floors = pd.DataFrame(
        {
            "k": 20,
            "seed": [0, 0, 1, 1],
            "gate": ["exp", "linear"] * 2,
            "reached": [1.0, 2.0, 4.0, 2.0],
            "floor_start": [0.3, 0.1, 0.1, 0.1],
            "floor_learned": [0.1, 0.2, 0.1, 0.2],
            "reached_theta": 2.0,
            "floor_learned_theta": [0.1, 0.1, 0.2, 0.1],
            "residual_reached": [1.0, 1.0, 1.0, 1.0],
            "residual_learned": [2.0, 0.5, 2.0, 1.0],
        }
    )
    assert error_floors.floor_numbers(floors) == {
        "floor_over_reached": "10.0%",  # the median of 10, 10, 2.5 and 10%
        "floor_largest": 0.3,
        "reached_smallest": 1,
        "floor_agrees": "1 of 2",  # the exponential gate has both lower floors and wins once
        "floor_preferred": "1 of 4",
    }


def test_floors_of_a_run_can_be_held_in_single_precision():
    spec, result, records = short_run()
    (row,) = error_floors.floors([spec], records).to_dict("records")
    best = error_floors.best_head(spec, result.parameters)
    rounded = evaluate(spec, best.astype(np.float32))["rel_l2_u"]
    assert row["floor_learned"] == pytest.approx(evaluate(spec, best)["rel_l2_u"])
    assert row["floor_learned"] == pytest.approx(rounded, rel=0.1)
    assert row["reached"] == result.metrics["rel_l2_u"]
    assert row["reached_theta"] == result.metrics["rel_l2_theta"]
    best_theta = evaluate(spec, best)["rel_l2_theta"]
    assert row["floor_learned_theta"] == pytest.approx(best_theta)
    assert row["floor_learned"] < row["reached"]


@pytest.mark.parametrize("model", ["fixed", "adaptive"])
@pytest.mark.parametrize("gate", ["exp", "linear"])
def test_no_head_fits_the_reference_better_than_the_best(model, gate):
    spec = RunSpec(model=model, gate=gate, k=30)
    theta = initial_parameters(spec).double().numpy()
    best = error_floors.best_head(spec, theta)
    times = torch.tensor(spec.reference.t[::4])[None]
    target = to_latent(spec.system_object, spec.reference.q)[:, ::4]

    def off(parameters):
        latent = spec.ansatz().latent(torch.tensor(parameters)[None], times)
        return np.square(latent.value[0].numpy() - target).sum()

    draw = np.random.default_rng(0)
    for _ in range(20):
        change = np.zeros(len(best))
        change[:130] = 1e-3 * draw.standard_normal(130)
        assert off(best) < off(best + change)
    assert off(best) < 1e-3 * off(theta)
    np.testing.assert_array_equal(best[130:], theta[130:])  # the frequencies stay
