"""The benchmark runs, and the engine is far ahead of the oracle: ratios within one run, with room for a busy machine."""

import json
import subprocess
import sys
from pathlib import Path


def test_quick_benchmark(tmp_path):
    path = tmp_path / "benchmark.json"
    subprocess.run(
        [sys.executable, Path(__file__).with_name("bench.py"), "--quick", "--output", path],
        check=True,
        capture_output=True,
    )
    report = json.loads(path.read_text())
    assert set(report) == {
        "machine",
        "versions",
        "points",
        "milliseconds",
        "ratios",
        "peak_memory_mb",
        "kernel",
    }
    assert report["points"] == 2000
    assert report["machine"]["torch_threads"] == 1
    assert all({"oracle", "engine"} == set(t) for t in report["milliseconds"].values())
    floors = {
        "adaptive": 15,
        "fixed": 15,
        "baseline": 2,
    }  # the aim is 25, 25 and 3.5 on an idle machine
    assert all(report["ratios"][model] >= floor for model, floor in floors.items()), report[
        "ratios"
    ]
    assert max(report["peak_memory_mb"].values()) < 2000
    assert set(report["kernel"]) == set(floors)
    assert all(k["seconds"] > 0 and k["peak_memory_mb"] < 2000 for k in report["kernel"].values())
