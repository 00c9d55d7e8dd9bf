"""A result's bits depend on its spec alone, not on its batch, its order or its process."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import pinnlib
from pinnlib import RunSpec
from pinnlib.training import train_batch

IN_ANOTHER_PROCESS = """
import pickle
import sys
from pathlib import Path
from pinnlib import train
specs = pickle.loads(Path(sys.argv[1]).read_bytes())
Path(sys.argv[2]).write_bytes(pickle.dumps(train(specs)))
"""


def assert_same(a, b):
    assert np.array_equal(a.parameters, b.parameters)
    assert a.metrics == b.metrics
    assert a.history.equals(b.history)


@pytest.mark.parametrize("loss", ["balanced", "mse"])
@pytest.mark.parametrize("points", [pytest.param(2000, marks=pytest.mark.slow), 37])
@pytest.mark.parametrize(
    "model, gate, runs",
    [
        ("adaptive", "exp", 17),
        ("adaptive", "linear", 17),
        ("fixed", "linear", 9),
        ("baseline", "exp", 3),
    ],
)
def test_alone_in_a_batch_and_in_another_order(model, gate, runs, points, loss):
    kind = {"model": model, "gate": gate, "loss": loss, "points": points, "steps": 12}
    specs = [RunSpec(k=10 + 7 * i, seed=i % 3, **kind) for i in range(runs)]
    alone = {spec: train_batch([spec])[0] for spec in specs}
    for batch in (specs, specs[::-1], specs[1 : runs // 2 + 1]):
        for result in train_batch(batch):
            assert_same(result, alone[result.spec])


@pytest.mark.slow
def test_in_another_process(tmp_path):
    specs = []
    for model in ("adaptive", "fixed", "baseline"):
        specs += [RunSpec(model=model, gate=gate, steps=12) for gate in ("exp", "linear")]
    (tmp_path / "specs").write_bytes(pickle.dumps(specs))
    paths = [tmp_path / "specs", tmp_path / "results"]
    subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS, *paths], check=True)
    there = pickle.loads((tmp_path / "results").read_bytes())
    for a, b in zip(there, pinnlib.train(specs), strict=True):
        assert_same(a, b)


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
