"""Engine against oracle, one thread each, interleaved, best of several; writes data/benchmark.json."""

import argparse
import json
import multiprocessing
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OUT = Path(__file__).parents[1] / "data" / "benchmark.json"

if __name__ == "__main__":  # understood before anything heavy is loaded
    parser = argparse.ArgumentParser(prog="./run_all.sh bench", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer repetitions and no sweeps: under 45 seconds (whole: 15 minutes)",
    )
    parser.add_argument(
        "--output", type=Path, default=OUT, help="where to write (default: data/benchmark.json)"
    )
    arguments = parser.parse_args()

import numba
import numpy as np
import torch

import pinnlib
from pinnlib import RunSpec
from pinnlib.analysis import ntk
from pinnlib.runs.provenance import cpu
from pinnlib.runs.store import Store
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.sweep import sweep
from pinnlib.runs.table import specs_of
from pinnlib.training import initial_parameters, train_batch


class Oracle:
    """The oracle in a process of its own: plain torch, without this library's settings."""

    def __init__(self):
        path = Path(__file__).with_name("oracle.py")
        self.process = subprocess.Popen(
            [sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def milliseconds(self, model, updates):
        """Per run and update, at the paper's size, float32."""
        self.process.stdin.write(f"{model} {updates}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def engine_ms(model, updates):
    """Per run and update of the engine: one whole batch, as the sweep trains it."""
    width = RunSpec(model=model).trunk.batch
    results = train_batch(
        [RunSpec(model=model, k=10.0 + i, seed=i // 2, steps=updates) for i in range(width)]
    )
    return results[0].seconds * 1e3 / updates


def in_its_own_process(function, *arguments):
    """(what the function gives, largest resident size in MB) of a process that does nothing else."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_with_peak, (function, *arguments))


def _with_peak(function, *arguments):
    return function(*arguments), round(
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    )  # kilobytes on Linux


def kernel_seconds(model):
    """J_R of both components at 200 times for all parameters, best of three."""
    spec = RunSpec(model=model)
    parameters, times = initial_parameters(spec).numpy(), np.linspace(0.05, 10, 200)
    return round(min(seconds(ntk.jacobian, spec, parameters, times) for _ in range(3)), 3)


def seconds(function, *arguments, **options):
    began = time.perf_counter()
    function(*arguments, **options)
    return time.perf_counter() - began


def sweep_ratios():
    """What the sweep costs over the engine, what a second worker gains, and how long a sweep with nothing to do takes."""
    specs = [s for s in specs_of("expanded") if (s.model, s.gate) == ("adaptive", "exp")][
        : 4 * RunSpec().trunk.batch
    ]
    batch = specs[: RunSpec().trunk.batch]
    for spec in batch:
        spec.reference  # in either case before the clock starts
    alone, journalled = [], []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(3):  # interleaved
            alone.append(seconds(train_batch, batch))
            journalled.append(seconds(sweep, batch, Path(folder) / f"batch{i}", workers=1))
        one, two = (
            seconds(sweep, specs, Path(folder) / str(workers), workers=workers)
            for workers in (1, 2)
        )
    print(
        "seconds:",
        {"engine": alone, "sweep": journalled, "one worker": one, "two": two},
        flush=True,
    )
    every = specs_of(*STUDIES)
    code = "from pinnlib.runs.studies import STUDIES; from pinnlib.runs.table import specs_of; from pinnlib.runs.sweep import missing; from pinnlib.runs.store import Store; missing(specs_of(*STUDIES), Store().load())"
    start = seconds(subprocess.run, [sys.executable, "-c", code], check=True)
    return {
        "overhead_over_engine": round(min(journalled) / min(alone) - 1, 3),
        "two_workers_over_one": round(one / two, 2),
        "seconds_to_start": round(start, 2),
        "records": len(Store().load()),
        "runs_asked_for": len(every),
    }


def main(arguments):
    repeats = 3 if arguments.quick else 12
    report = {
        "machine": {
            "cpu": cpu(),
            "system": platform.platform(),
            "torch_threads": torch.get_num_threads(),
        },
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numba": numba.__version__,
            "pinnlib": pinnlib.__version__,
        },
        "points": RunSpec().points,
        "milliseconds": {},
        "ratios": {},
        "peak_memory_mb": {},
        "kernel": {},
    }
    oracle = Oracle()
    print("milliseconds per run and update (best of %d, interleaved, one thread)" % repeats)
    for model, (slow, fast) in {"adaptive": (6, 40), "fixed": (6, 40), "baseline": (3, 10)}.items():
        oracle.milliseconds(model, 1), engine_ms(model, 3)  # compiled and warm
        timings = [
            (oracle.milliseconds(model, slow), engine_ms(model, fast)) for _ in range(repeats)
        ]
        oracle_best, engine_best = (min(column) for column in zip(*timings))
        report["milliseconds"][model] = {
            "oracle": round(oracle_best, 3),
            "engine": round(engine_best, 3),
        }
        report["ratios"][model] = round(oracle_best / engine_best, 2)
        report["peak_memory_mb"][model] = in_its_own_process(engine_ms, model, 20)[1]
        print(
            f"{model:>9}: oracle {oracle_best:7.2f}   engine {engine_best:7.3f}   ratio {oracle_best / engine_best:5.1f}   peak {report['peak_memory_mb'][model]} MB"
        )
    oracle.close()
    for model in report["ratios"]:
        took, peak = in_its_own_process(kernel_seconds, model)
        report["kernel"][model] = {"seconds": took, "peak_memory_mb": peak}
        print(f"{model:>9}: residual Jacobian at 200 times in {took} s, peak {peak} MB")
    if not arguments.quick:
        report["sweep"] = sweep_ratios()
        print("sweep:", ", ".join(f"{name} {value}" for name, value in report["sweep"].items()))
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written: {arguments.output}")


if __name__ == "__main__":
    main(arguments)
