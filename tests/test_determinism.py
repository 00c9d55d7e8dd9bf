"""On one machine a result's bits depend on its spec alone."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import pinnlib
from pinnlib import RunSpec
from pinnlib.training import train_batch


def same(a, b):
    return (
        np.array_equal(a.parameters, b.parameters)
        and a.metrics == b.metrics
        and a.history.equals(b.history)
    )


@pytest.mark.parametrize("loss", ["balanced", "mse"])
@pytest.mark.parametrize("points", [2000, 37])
@pytest.mark.parametrize(
    "model, gate, runs",
    [
        ("adaptive", "exp", 17),
        ("adaptive", "linear", 17),
        ("fixed", "linear", 9),
        ("baseline", "exp", 3),
    ],
)
def test_alone_in_company_and_in_another_order(model, gate, runs, points, loss):
    specs = [
        RunSpec(
            model=model, gate=gate, loss=loss, points=points, k=10 + 7 * i, seed=i % 3, steps=12
        )
        for i in range(runs)
    ]
    alone = {spec: train_batch([spec])[0] for spec in specs}
    for company in (specs, specs[::-1], specs[1 : runs // 2 + 1]):
        assert all(same(result, alone[result.spec]) for result in train_batch(company))


def test_in_another_process(tmp_path):
    specs = [
        RunSpec(model=m, gate=g, steps=12)
        for m in ("adaptive", "fixed", "baseline")
        for g in ("exp", "linear")
    ]
    code = "import pickle, sys, pinnlib; pickle.dump(pinnlib.train(pickle.load(open(sys.argv[1], 'rb'))), open(sys.argv[2], 'wb'))"
    (tmp_path / "specs").write_bytes(pickle.dumps(specs))
    subprocess.run(
        [sys.executable, "-c", code, tmp_path / "specs", tmp_path / "results"], check=True
    )
    there, here = pickle.loads((tmp_path / "results").read_bytes()), pinnlib.train(specs)
    assert all(same(a, b) for a, b in zip(there, here, strict=True))


def test_snapshots_do_not_change_the_run():
    spec = RunSpec(steps=30)
    (plain,), (watched,) = pinnlib.train(spec), pinnlib.train(spec, snapshots=(0, 10, 30))
    assert same(plain, watched)
    assert set(watched.snapshots) == {0, 10, 30}
    assert np.array_equal(watched.snapshots[30], plain.parameters)
    assert np.array_equal(watched.snapshots[10], pinnlib.train(RunSpec(steps=10))[0].parameters)


def test_a_diverged_run_says_so_and_harms_nobody():
    wild = RunSpec(
        lambda_ic=3e38, initial_velocity=(0.0, 20.0), steps=8, loss="mse"
    )  # its gradients overflow
    calm = [RunSpec(k=k, steps=8, loss="mse") for k in (20, 30)]
    results = pinnlib.train([calm[0], wild, calm[1]])
    assert [r.status for r in results] == ["ok", "diverged", "ok"]
    assert np.isnan(list(results[1].metrics.values())).all()
    assert all(same(results[i], pinnlib.train(spec)[0]) for i, spec in ((0, calm[0]), (2, calm[1])))


def test_one_torch_thread():
    import torch

    assert torch.get_num_threads() == 1
