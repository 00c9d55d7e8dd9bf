"""The benchmark runs and reports what it measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
