"""A result's bits depend on its spec alone, not on its batch or on what is watched.

tests/test_bits.py compares them with hashes on file, also in other processes.
"""

import numpy as np
import pytest
import torch

import pinnlib
from pinnlib import RunSpec
from pinnlib.training import train_batch

STIFFNESS = range(10, 140, 10)  # the references on file


def assert_same(a, b):
    assert np.array_equal(a.parameters, b.parameters)
    assert a.metrics == b.metrics
    assert a.history.equals(b.history)


def runs_of(model, points, count):
    """Runs that train together: stiffness and seed differ."""
    specs = []
    for i in range(count):
        spec = RunSpec(
            model=model,
            gate="linear",
            points=points,
            steps=12,
            k=STIFFNESS[i % len(STIFFNESS)],
            seed=i % 3,
        )
        specs.append(spec)
    return specs


@pytest.mark.parametrize("points", [pytest.param(2000, marks=pytest.mark.slow), 37])
@pytest.mark.parametrize(
    "model, count",
    [
        ("adaptive", 17),
        ("fixed", 9),
        ("baseline", 3),
    ],
)
def test_alone_in_a_batch_and_in_another_order(model, points, count):
    specs = runs_of(model, points, count)
    alone = {}
    for spec in specs:
        (alone[spec],) = train_batch([spec])
    half = specs[1 : count // 2 + 1]
    for batch in (specs, specs[::-1], half):
        for result in train_batch(batch):
            assert_same(result, alone[result.spec])


@pytest.mark.parametrize("form", ["gated", "shifted", "soft"])
@pytest.mark.parametrize("system", ["henon_heiles", "quartic"])
def test_other_forms_and_systems_alone_and_in_a_batch(form, system):
    common = {"form": form, "system": system, "points": 37, "steps": 12, "schedule": "cosine"}
    specs = [RunSpec(k=2.0 + i % 2, seed=i % 3, lambda_ic=10.0 * i, **common) for i in range(5)]
    usual = specs[0].initial_position
    elsewhere = [x + 0.1 for x in usual]
    specs.append(RunSpec(initial_position=elsewhere, **common))
    together = train_batch(specs)
    for result in together:
        (alone,) = train_batch([result.spec])
        assert_same(alone, result)
    assert len({result.parameters.tobytes() for result in together}) == len(specs)


def test_snapshots_do_not_change_the_run():
    spec = RunSpec(steps=30)
    (plain,) = pinnlib.train(spec)
    (watched,) = pinnlib.train(spec, snapshots=(0, 10, 30))
    assert_same(plain, watched)
    assert set(watched.snapshots) == {0, 10, 30}
    assert np.array_equal(watched.snapshots[30], plain.parameters)
    assert np.array_equal(watched.snapshots[10], pinnlib.train(RunSpec(steps=10))[0].parameters)


def test_a_diverged_run_says_so_and_harms_nobody():
    overflow = {"lambda_ic": 3e38, "initial_velocity": (0.0, 20.0)}  # of the gradients
    wild = RunSpec(steps=8, loss="mse", **overflow)
    calm = [RunSpec(k=k, steps=8, loss="mse") for k in (20, 30)]
    results = pinnlib.train([calm[0], wild, calm[1]])
    assert [r.status for r in results] == ["ok", "diverged", "ok"]
    assert np.isnan(list(results[1].metrics.values())).all()
    assert_same(results[0], pinnlib.train(calm[0])[0])
    assert_same(results[2], pinnlib.train(calm[1])[0])


def test_one_torch_thread():
    assert torch.get_num_threads() == 1
