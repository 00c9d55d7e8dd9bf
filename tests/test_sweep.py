"""Sweeps that are killed, interrupted, spread over processes and schedulers: the records are those of an undisturbed one."""

import contextlib
import dataclasses
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
import torch
from test_records import essence
from tqdm import tqdm

from pinnlib import GATES, MLP, MODELS, Gate, RunSpec
from pinnlib.explorer.runs import RunLibrary
from pinnlib.jets import Jet
from pinnlib.paths import ROOT
from pinnlib.runs.executors import cluster, on_cluster
from pinnlib.runs.store import Store
from pinnlib.runs.sweep import FIRST, SweepError, _bar, _in_order, sweep
from pinnlib.runs.timing import TimeEstimate
from pinnlib.training import batches

SPECS = [
    RunSpec(model=m, gate=g, k=10 + 3 * k, seed=s, steps=150)
    for m in ("adaptive", "fixed")
    for g in ("exp", "linear")
    for k in range(6)
    for s in range(3)
]
CODE = """
import sys; from pathlib import Path; from test_sweep import SPECS; from pinnlib.runs.sweep import sweep
if __name__ == "__main__":
    print(sweep(SPECS, Path(sys.argv[1]), workers=int(sys.argv[2])))
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    sweep(SPECS, folder, workers=1)
    return essence(Store(folder).load())


@contextlib.contextmanager
def started(tmp_path, folder, workers):
    script = tmp_path / "script.py"
    script.write_text(CODE)
    env = os.environ | {"PYTHONPATH": os.path.dirname(__file__)}
    process = subprocess.Popen(
        [sys.executable, script, folder, str(workers)],
        env=env,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for_records(folder, process, least=1):
    """Until some batches are on disk, but not all."""
    deadline = time.monotonic() + 120
    while sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl")) < least:
        assert process.poll() is None and time.monotonic() < deadline, (
            "the sweep ended before it could be disturbed"
        )
        time.sleep(0.01)


def survivors(process_group):
    return [
        p.pid
        for p in psutil.process_iter(["status"])
        if p.info["status"] != psutil.STATUS_ZOMBIE and _group(p.pid) == process_group
    ]


def nobody_is_left(process_group):
    """Within ten seconds."""
    deadline = time.monotonic() + 10
    while survivors(process_group) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not survivors(process_group)


def _group(pid):
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(pid)


@pytest.mark.parametrize("workers", [1, 2])
def test_kill_minus_nine_and_resume(tmp_path, undisturbed, workers):
    folder = tmp_path / "records"
    with started(tmp_path, folder, workers) as process:
        wait_for_records(folder, process)
        os.killpg(process.pid, signal.SIGKILL)
    kept = len(Store(folder).scan()[0])
    assert 0 < kept < len(SPECS)
    report = sweep(SPECS, folder, workers=workers)
    assert report.trained == len(SPECS) - kept  # what was on disk is not trained again
    assert essence(Store(folder).load()) == undisturbed


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path, undisturbed):
    folder = tmp_path / "records"
    with started(tmp_path, folder, 2) as process:
        wait_for_records(folder, process)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode != 0
        assert "the same command goes on from here" in errors
        assert nobody_is_left(process.pid)
    records = Store(folder).load()
    assert records
    assert all(undisturbed[key] == value for key, value in essence(records).items())


@pytest.mark.parametrize(
    "send, later",
    [
        (lambda pid: os.killpg(pid, signal.SIGINT), 0.1),
        (lambda pid: os.killpg(pid, signal.SIGINT), 0.3),
        (lambda pid: os.kill(pid, signal.SIGTERM), 0),
    ],
    ids=["Ctrl-C", "Ctrl-C later", "SIGTERM"],
)
def test_a_stop_while_workers_start_is_as_clean(tmp_path, send, later):
    command = [
        sys.executable,
        ROOT / "pinnlib",
        "sweep",
        "--study",
        "table",
        "--workers",
        "2",
        "--records",
        tmp_path / "records",
    ]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while (
        len(psutil.Process(process.pid).children()) < 3 and time.monotonic() < deadline
    ):  # two workers, and multiprocessing's own helper
        time.sleep(0.01)
    assert len(psutil.Process(process.pid).children()) >= 3
    time.sleep(later)
    send(process.pid)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.endswith("stopped; the same command goes on from here\n")
    assert "Error" not in errors
    assert "Traceback" not in errors
    assert nobody_is_left(process.pid)


def test_a_real_scheduler_with_a_worker_killed_in_the_middle(tmp_path, undisturbed):
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    address_file, folder = tmp_path / "scheduler.json", tmp_path / "records"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    processes = [
        subprocess.Popen(
            [
                *dask,
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                address_file,
            ],
            **quiet,
        )
    ]
    try:
        deadline = time.monotonic() + 60
        while not address_file.exists() or not address_file.stat().st_size:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        import json

        address = json.loads(address_file.read_text())["address"]
        assert "127.0.0.1" in address
        worker = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            address,
            "--nthreads",
            "1",
            "--host",
            "127.0.0.1",
            "--no-dashboard",
        ]
        processes += [subprocess.Popen(worker, **quiet) for _ in range(2)]

        def kill_one():
            with contextlib.suppress(Exception):
                while not list(folder.glob("*.jsonl")):
                    time.sleep(0.05)
            os.killpg(processes[1].pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        report = sweep(SPECS, folder, scheduler=address)
        killer.join(timeout=60)
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert report.trained == len(SPECS)
    assert essence(Store(folder).load()) == undisturbed


@pytest.mark.parametrize("workers", [0, 0.5, -1, "two"])
def test_bad_workers_are_refused(workers, tmp_path):
    with pytest.raises(ValueError, match="workers="):
        sweep(SPECS, tmp_path, workers=workers)


def test_our_scheduler_and_workers_listen_on_loopback_only():
    with cluster(SPECS, 2, None) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        listening = [
            c.laddr.ip
            for p in family
            for c in p.net_connections("inet")
            if c.status == psutil.CONN_LISTEN
        ]
    assert listening
    assert set(listening) <= {"127.0.0.1", "::1"}


def test_a_closed_lid_does_not_count_as_the_death_of_workers():
    with cluster(SPECS, 2, None) as client:
        assert client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.worker_ttl) is None


def test_nobody_at_the_scheduler_is_said_plainly(tmp_path, monkeypatch):
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(SweepError, match="no Dask scheduler answers at tcp://127.0.0.1:1"),
    ):
        sweep(SPECS[:1], tmp_path, scheduler="tcp://127.0.0.1:1")


def test_a_script_without_a_guard_is_told_what_it_lacks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom pinnlib import RunSpec\nfrom pinnlib.runs.sweep import sweep\nsweep([RunSpec(steps=2, points=5, seed=s) for s in (0, 1)], Path(__file__).parent / 'mine', workers=2)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stderr.strip().endswith('put the call under `if __name__ == "__main__":`')


def test_a_second_ctrl_c_does_not_disturb_the_first_but_a_lost_one_can_be_repeated(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "pinnlib")
    main = runpy.run_path(ROOT / "pinnlib" / "__main__.py", run_name="not main")
    with pytest.raises(KeyboardInterrupt):
        main["stop"]()
    try:
        main["stop"]()
    except KeyboardInterrupt:
        pytest.fail("disturbed")
    later = time.monotonic() + main["GRACE"]
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(KeyboardInterrupt):
        main["stop"]()


def test_the_bar_counts_work_and_runs(tmp_path, capsys):
    specs = [RunSpec(steps=5, points=20, seed=s) for s in range(3)]
    sweep(specs[:1], tmp_path, workers=1)
    sweep(specs, tmp_path, workers=1, progress=True)
    first, *_, last = re.findall("[^\r]+", capsys.readouterr().err.strip())
    assert first.startswith("0% of the work")
    assert "0 of 2 missing runs trained, 00:00 so far, less than two minutes left" in first
    assert "100% of the work" in last
    assert "2 of 2 missing runs trained" in last
    assert last.endswith("nothing left")


def test_the_time_left_starts_at_the_pace_of_the_records_and_then_is_that_of_the_sweep(monkeypatch):
    todo = [RunSpec(seed=seed) for seed in range(6)]
    pace = TimeEstimate(
        {"0": {"spec": {"model": "adaptive", "steps": 5000, "points": 2000}, "seconds": 3600.0}}
    )
    with _bar(todo, pace, 2, True) as reached:
        bar = next(iter(tqdm._instances))
        assert bar.postfix == [0, 6, "about 3.0 hours"]
        monkeypatch.setattr(
            bar, "start_t", bar.start_t - 7200
        )  # two hours went by: the work of one
        reached(todo[:2], 1)
        assert bar.postfix[0] == 2
        assert bar.postfix[2] == f"about {2 * (7200 + 300) / (3600 + 300):.1f} hours"
        assert bar.n == 7200
        reached(todo[2:4], 0.5)
        assert bar.postfix[0] == 2
        assert bar.n == 10800
        reached(todo[2:4], 0)  # its worker died
        assert bar.postfix[0] == 2
        assert bar.n == 7200


def test_workers_tell_how_far_they_are():
    parts, told = [[RunSpec(steps=300, points=20, seed=s)] for s in range(2)], []
    with cluster([part[0] for part in parts], 2, None) as client:
        assert (
            len(
                list(
                    on_cluster(
                        client,
                        parts,
                        lambda part, share: told.append((part[0].seed, share)),
                        elsewhere=False,
                    )
                )
            )
            == 2
        )
    assert {(seed, share) for seed in (0, 1) for share in (1 / 300, 1 / 3, 2 / 3, 1)} <= set(told)


def test_runs_of_a_gate_whose_formula_was_changed_are_not_taken_for_its_own(tmp_path, monkeypatch):
    def trained(factor):
        jet = {
            "jet": lambda self, t: Jet(
                factor * t, factor * torch.ones_like(t), torch.zeros_like(t)
            ),
            "name": "own",
        }
        monkeypatch.setitem(
            GATES,
            "own",
            dataclasses.make_dataclass("Own", [], bases=(Gate,), namespace=jet, frozen=True),
        )
        return sweep(RunSpec(gate="own", steps=5, points=20), tmp_path, workers=1).trained

    assert (trained(3.0), trained(3.0)) == (1, 0)
    with pytest.raises(
        SweepError,
        match="gate own, system spring_pendulum were made by another formula of one of these names",
    ):
        trained(2.0)
    with pytest.raises(
        SweepError, match="another formula"
    ):  # other runs of it would mix with those
        sweep(RunSpec(gate="own", steps=5, points=20, seed=1), tmp_path, workers=1)
    shelf, spec = RunLibrary(tmp_path), RunSpec(gate="own", steps=5, points=20)
    assert shelf.find(spec) is None
    assert shelf.describe(spec).startswith("Not on record with this formula: Train takes")
    monkeypatch.setattr(
        "pinnlib.runs.sweep.NUMERICS", 1000
    )  # a change of the library that is announced as such
    assert trained(2.0) == 0


def test_so_is_it_with_a_network_that_begins_otherwise_now(tmp_path, monkeypatch):
    class Own(MLP):
        name, factor = "own", 1.0

        def initial(self, components, generator):
            return {
                name: self.factor * block
                for name, block in super().initial(components, generator).items()
            }

    monkeypatch.setitem(MODELS, "own", Own)
    spec = RunSpec(model="own", steps=5, points=20)
    assert [sweep(spec, tmp_path, workers=1).trained for _ in range(2)] == [1, 0]
    Own.factor = 1.1
    with pytest.raises(SweepError, match="model own.*another formula"):
        sweep(spec, tmp_path, workers=1)


def test_the_first_batches_are_short_and_all_runs_are_in_some_batch():
    networks = [RunSpec(model="baseline", seed=seed) for seed in range(4)]
    specs = [*networks, *(RunSpec(seed=seed, k=k) for seed in range(20) for k in (20, 30, 60, 100))]
    parts = _in_order(batches(specs, 2), TimeEstimate({}), 2)
    assert [len(part) for part in parts] == [
        FIRST,
        FIRST,
        32 - FIRST - 16,
        32 - FIRST,
        32,
        2,
        2,
    ]
    assert parts[-2:] == [networks[:2], networks[2:]]
    assert sorted(spec.key for part in parts for spec in part) == sorted(spec.key for spec in specs)


def test_a_run_asked_for_twice_is_trained_once(tmp_path):
    spec = RunSpec(steps=5, points=20)
    report = sweep([spec, spec], tmp_path, workers=1)
    assert (report.requested, report.trained) == (1, 1)


def test_nothing_to_do_starts_no_workers(tmp_path):
    spec = RunSpec(steps=5, points=20)
    sweep([spec], tmp_path, workers=1)
    report = sweep(
        [spec], tmp_path, scheduler="tcp://127.0.0.1:1"
    )  # nobody listens there, and nobody is asked
    assert (report.trained, len(report.records)) == (0, 1)
