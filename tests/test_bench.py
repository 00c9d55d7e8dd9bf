"""The benchmark runs and reports what it measured."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from speed import solver_rows

MODELS = {"adaptive", "fixed", "baseline"}


@pytest.mark.slow
def test_quick_benchmark(tmp_path):
    path = tmp_path / "benchmark.json"
    bench = Path(__file__).with_name("bench.py")
    subprocess.run([sys.executable, bench, "--quick", "--output", path], check=True)
    report = json.loads(path.read_text())
    assert report["points"] == 2000
    assert report["machine"]["torch_threads"] == 1
    for table in ("milliseconds", "ratios", "peak_memory_mb", "kernel", "portability_cost"):
        assert set(report[table]) == MODELS
    for model in MODELS:
        times = report["milliseconds"][model]
        assert times["oracle"] > 0
        assert times["engine"] > 0
        assert report["ratios"][model] == pytest.approx(times["oracle"] / times["engine"], rel=0.05)
        assert 0 < report["peak_memory_mb"][model] < 2000
        assert report["kernel"][model]["seconds"] > 0
        assert 0 < report["kernel"][model]["peak_memory_mb"] < 2000
    times = report["levenberg_marquardt"]["seconds_per_evaluation"]
    assert min(times["exp"], times["linear"]) > 0


def test_dop853_is_timed_with_the_error_that_it_reaches():
    rows = solver_rows(repeats=1)
    assert [row["k"] for row in rows] == [20] * 8 + [60] * 8
    assert all(row["seconds"] > 0 for row in rows)
    for coarse, fine in itertools.pairwise(rows[:8]):
        assert fine["rtol"] < coarse["rtol"]
        assert fine["rel_l2_u"] < coarse["rel_l2_u"]
