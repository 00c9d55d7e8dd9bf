"""Time and memory of engine and oracle, one thread each, interleaved, best of several."""

import dataclasses
import importlib
import multiprocessing
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba
import numpy as np
import torch

import pinnlib
from pinnlib import RunSpec, compiled, optimisers
from pinnlib.analysis import ntk
from pinnlib.analysis.levenberg_marquardt import levenberg_marquardt
from pinnlib.compiled import autograd
from pinnlib.metrics import error_metrics
from pinnlib.reference import solve
from pinnlib.runs.provenance import cpu
from pinnlib.runs.store import Store
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.sweep import sweep
from pinnlib.runs.table import missing, specs_of
from pinnlib.training import initial_parameters, train_batch

UPDATES = {"adaptive": (6, 40), "fixed": (6, 40), "baseline": (3, 10)}  # of oracle and engine
LOOPS = {  # what calls the loops → their modules
    autograd: ("ansatz_jet", "chebyshev", "elementary", "fourier", "products", "tanh_layer"),
    optimisers: ("adam",),
}
SOLVER_K = (20, 60)
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)  # of DOP853; the last: reference
FIND_MISSING = """
from pinnlib.runs.store import Store
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.table import missing, specs_of
missing(specs_of(*STUDIES), Store().load())
"""


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


def engine_milliseconds(model, updates):
    """Per run and update of the engine: one whole batch, as the sweep trains it."""
    runs = range(RunSpec(model=model).trunk.batch)
    specs = [RunSpec(model=model, k=10 + 10 * (i % 13), seed=i, steps=updates) for i in runs]
    return train_batch(specs)[0].seconds * 1e3 / updates


def fastmath_copy(folder):
    """Make the package `fastmath`, a copy of pinnlib.compiled with fastmath, and importable.

    LLVM may then reorder + − × ÷; explicit fma stay as they are.
    """
    package = Path(folder) / "fastmath"
    package.mkdir()
    for path in Path(compiled.__file__).parent.glob("*.py"):
        source = path.read_text().replace("pinnlib.compiled", "fastmath")
        (package / path.name).write_text(source.replace("cache=True", "fastmath=True"))
    sys.path.insert(0, folder)


def use_loops_of(package):
    """Train with the loops of a package; the elementary functions of gates stay as they are."""
    for user, names in LOOPS.items():
        for name in names:
            assert hasattr(user, name), f"{user.__name__} does not use {name}"
            setattr(user, name, importlib.import_module(f"{package}.{name}"))


def portability_costs(repeats):
    """Time of an update over its time with fastmath loops, minus one."""
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        fastmath_copy(folder)
        for model, (_, updates) in UPDATES.items():
            times = {"pinnlib.compiled": [], "fastmath": []}
            for _ in range(repeats + 1):  # the first time compiles
                for package, found in times.items():
                    use_loops_of(package)
                    found.append(engine_milliseconds(model, updates))
            strict, fast = (min(found[1:]) for found in times.values())
            costs[model] = round(strict / fast - 1, 3)
    return costs


def in_its_own_process(function, *arguments):
    """(result of the function, largest resident size in MB) of a process that does nothing else."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_with_peak, (function, *arguments))


def _with_peak(function, *arguments):
    result = function(*arguments)
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # on Linux
    return result, round(kilobytes / 1024)


def kernel_seconds(model):
    """J_R of both components at 200 times for all parameters, best of three."""
    spec = RunSpec(model=model)
    parameters = initial_parameters(spec).numpy()
    times = np.linspace(0.05, 10, 200)
    return round(min(seconds(ntk.jacobian, spec, parameters, times) for _ in range(3)), 3)


def seconds(function, *arguments, **options):
    began = time.perf_counter()
    function(*arguments, **options)
    return time.perf_counter() - began


def solver_rows(repeats):
    """DOP853 at every k and tolerance: seconds, best of several, and errors of its solution."""
    rows = []
    for k in SOLVER_K:
        spec = RunSpec(k=k)
        for rtol in TOLERANCES:
            solution = solve(spec.problem, rtol=rtol)
            errors = error_metrics(spec.system_object, solution.q, spec.reference.q)
            times = [seconds(solve, spec.problem, rtol=rtol) for _ in range(repeats)]
            row = {"k": k, "rtol": rtol, "seconds": round(min(times), 5)}
            row |= {name: float(f"{errors[name]:.4g}") for name in ("rel_l2_u", "rel_l2_theta")}
            rows.append(row)
    return rows


def evaluation_seconds(repeats, evaluations=60):
    """Gate → seconds per evaluation of Levenberg–Marquardt, in the first round of a run."""
    found = {}
    for gate in ("exp", "linear"):
        spec = RunSpec(gate=gate, k=60)
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            _, used = next(levenberg_marquardt(spec, 1, evaluations))
            times.append((time.perf_counter() - began) / used)
        found[gate] = round(min(times), 5)
    return found


def find_missing():
    """Read all records and find the runs of all studies that have none."""
    return missing(specs_of(*STUDIES), Store().load())


def sweep_ratios():
    """Cost of the sweep over the engine, gain of a second worker, time of a sweep without work."""
    width = RunSpec().trunk.batch
    chosen = specs_of("expanded")
    specs = [spec for spec in chosen if (spec.model, spec.gate) == ("adaptive", "exp")]
    specs = specs[: 2 * width]
    batch = [dataclasses.replace(spec, steps=1000) for spec in specs[:width]]
    for spec in specs:
        _ = spec.reference  # read and cached before the clock starts
    engine, recorded = [], []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(3):  # interleaved
            engine.append(seconds(train_batch, batch))
            recorded.append(seconds(sweep, batch, Path(folder) / f"batch{i}", workers=1))
        one_worker = seconds(sweep, specs, Path(folder) / "1", workers=1)
        two_workers = seconds(sweep, specs, Path(folder) / "2", workers=2)
    print(f"seconds: engine {engine}, sweep {recorded}, workers {one_worker}, {two_workers}")
    finding = min(seconds(find_missing) for _ in range(3))
    start = seconds(subprocess.run, [sys.executable, "-c", FIND_MISSING], check=True)
    return {
        "overhead_over_engine": round(min(recorded) / min(engine) - 1, 3),
        "two_workers_over_one": round(one_worker / two_workers, 2),
        "seconds_to_find_missing": round(finding, 2),
        "seconds_to_start": round(start, 2),  # the same with the imports of a new process
        "records": len(Store().load()),
        "runs_asked_for": len(specs_of(*STUDIES)),
    }


def versions():
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numba": numba.__version__,
        "pinnlib": pinnlib.__version__,
    }


def measure(repeats):
    """The tables of the report by model: time per update, memory, residual Jacobian."""
    tables = {"milliseconds": {}, "ratios": {}, "peak_memory_mb": {}, "kernel": {}}
    print(f"milliseconds per run and update (best of {repeats}, interleaved, one thread)")
    oracle = Oracle()
    for model, (slow, fast) in UPDATES.items():
        oracle.milliseconds(model, 1)  # warm
        engine_milliseconds(model, 3)  # compiled
        theirs, ours = [], []
        for _ in range(repeats):
            theirs.append(oracle.milliseconds(model, slow))
            ours.append(engine_milliseconds(model, fast))
        ratio = min(theirs) / min(ours)
        _, peak = in_its_own_process(engine_milliseconds, model, 20)
        tables["milliseconds"][model] = {
            "oracle": round(min(theirs), 3),
            "engine": round(min(ours), 3),
        }
        tables["ratios"][model] = round(ratio, 2)
        tables["peak_memory_mb"][model] = peak
        times = f"oracle {min(theirs):7.2f}   engine {min(ours):7.3f}   ratio {ratio:5.1f}"
        print(f"{model:>9}: {times}   peak {peak} MB")
    oracle.close()
    costs, _ = in_its_own_process(portability_costs, min(repeats, 5))
    tables["portability_cost"] = costs
    for model, cost in costs.items():
        print(f"{model:>9}: portable bits cost {cost:+.1%} of the time of loops with fastmath")
    for model in UPDATES:
        took, peak = in_its_own_process(kernel_seconds, model)
        tables["kernel"][model] = {"seconds": took, "peak_memory_mb": peak}
        print(f"{model:>9}: residual Jacobian at 200 times in {took} s, peak {peak} MB")
    return tables


def report(quick):
    """All tables, the machine and the versions; a quick report has no sweeps."""
    found = {
        "machine": {
            "cpu": cpu(),
            "system": platform.platform(),
            "torch_threads": torch.get_num_threads(),
        },
        "versions": versions(),
        "points": RunSpec().points,
    }
    found |= measure(repeats=3 if quick else 12)
    found["dop853"] = solver_rows(repeats=5)
    for row in found["dop853"]:
        print("DOP853: k = {k}, rtol {rtol:g}, {seconds} s, ReL2E {rel_l2_u:.1e}".format(**row))
    found["levenberg_marquardt"] = {"seconds_per_evaluation": evaluation_seconds(repeats=3)}
    print("Levenberg–Marquardt:", found["levenberg_marquardt"])
    if not quick:
        found["sweep"] = sweep_ratios()
        print("sweep:", found["sweep"])
    return found
