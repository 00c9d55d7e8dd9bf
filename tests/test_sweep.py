"""Sweeps that are killed, interrupted, or spread over processes and schedulers.

Their records are those of an undisturbed sweep.
"""

import contextlib
import dataclasses
import gc
import json
import os
import pickle
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import termios
import threading
import time

import psutil
import pytest
import torch
from distributed import Client, LocalCluster, Security
from test_records import essence

import pinnlib
from pinnlib import GATES, MLP, MODELS, Gate, RunSpec, training
from pinnlib.explorer.runs import RunLibrary
from pinnlib.gates import Jet
from pinnlib.paths import ROOT
from pinnlib.runs import cluster, executors, provenance
from pinnlib.runs.cluster import Scheduler
from pinnlib.runs.executors import GUARD
from pinnlib.runs.files import locked
from pinnlib.runs.progress import TimeEstimate, WorkBar
from pinnlib.runs.store import Store
from pinnlib.runs.sweep import FIRST, SweepError, open_executor, order_batches, sweep
from pinnlib.training import batches

SPECS = [
    RunSpec(model=m, gate=g, k=10 + 3 * k, seed=s, steps=150)
    for m in ("adaptive", "fixed")
    for g in ("exp", "linear")
    for k in range(6)
    for s in range(3)
]
# A sweep in a process of its own, in which SIGTERM is a Ctrl-C, as on our command line.
SCRIPT = """
import pickle, signal, sys
from pathlib import Path
from pinnlib.runs.sweep import sweep
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder, workers, progress = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "True"
    specs = pickle.loads((folder / "specs.pickle").read_bytes())
    try:
        sweep(specs, folder / "records", workers=workers, progress=progress or None)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    sweep(SPECS, folder, workers=1)
    return essence(Store(folder).load())


@contextlib.contextmanager
def start_sweep(tmp_path, workers, progress=False):
    """A sweep of SPECS into tmp_path/records, in a process group of its own."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    (tmp_path / "specs.pickle").write_bytes(pickle.dumps(SPECS))
    process = subprocess.Popen(
        [sys.executable, script, tmp_path, str(workers), str(progress)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        kill_group(process)


def kill_group(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(0.01)


def wait_for_records(folder, process):
    """Wait until the sweep has stored a run."""

    def some_records():
        assert process.poll() is None, "the sweep ended before it could be disturbed"
        return any(b"\n" in path.read_bytes() for path in folder.glob("*.jsonl"))

    wait_until(some_records)


def wait_for_workers(process):
    """Wait until the sweep has started a worker process, which has yet to load its modules."""

    def some_workers():
        assert process.poll() is None, "the sweep ended before it could be disturbed"
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(process.pid).children(recursive=True)
            return any("spawn_main" in " ".join(child.cmdline()) for child in children)

    wait_until(some_workers)


def group_is_gone(process):
    """True if no process of the group of this ended process is alive."""
    for other in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getpgid(other.pid) == process.pid and other.status() != psutil.STATUS_ZOMBIE:
                return False
    return True


@pytest.mark.cluster
@pytest.mark.parametrize("workers", [1, 2])
def test_kill_minus_nine_and_resume(tmp_path, undisturbed, workers):
    folder = tmp_path / "records"
    with start_sweep(tmp_path, workers) as process:
        wait_for_records(folder, process)
        kill_group(process)
    kept = len(Store(folder).scan()[0])
    assert 0 < kept < len(SPECS)
    report = sweep(SPECS, folder, workers=workers)
    assert report.trained == len(SPECS) - kept  # what was on disk is not trained again
    assert essence(Store(folder).load()) == undisturbed


@pytest.mark.cluster
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path, undisturbed):
    folder = tmp_path / "records"
    with start_sweep(tmp_path, 2) as process:
        wait_for_records(folder, process)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 130
        assert "the same command goes on from here" in errors
        wait_until(lambda: group_is_gone(process), 30)
    records = essence(Store(folder).load())
    assert records
    assert records.items() <= undisturbed.items()


@pytest.mark.cluster
@pytest.mark.parametrize(
    "number, delay", [(signal.SIGINT, 0), (signal.SIGINT, 0.3), (signal.SIGTERM, 0)]
)
def test_a_stop_while_workers_start_is_as_clean(tmp_path, number, delay):
    with start_sweep(tmp_path, 2) as process:
        wait_for_workers(process)
        time.sleep(delay)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            os.kill(process.pid, number)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 130
        assert "Traceback" not in errors
        wait_until(lambda: group_is_gone(process), 30)


@pytest.mark.cluster
def test_a_real_scheduler_with_a_worker_killed_in_the_middle(tmp_path, undisturbed):
    address_file = tmp_path / "scheduler.json"
    folder = tmp_path / "records"
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    processes = []

    def start(program, *options):
        command = [sys.executable, "-m", f"distributed.cli.{program}", *local, *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes.append(subprocess.Popen(command, start_new_session=True, cwd=ROOT, **quiet))

    def kill_a_worker_after_the_first_record():
        wait_until(lambda: list(folder.glob("*.jsonl")))
        os.killpg(processes[1].pid, signal.SIGKILL)

    try:
        start("dask_scheduler", "--port", "0", "--scheduler-file", address_file)
        wait_until(lambda: address_file.exists() and address_file.stat().st_size)
        address = json.loads(address_file.read_text())["address"]
        start("dask_worker", address, "--nthreads", "1")
        start("dask_worker", address, "--nthreads", "1")
        killer = threading.Thread(target=kill_a_worker_after_the_first_record)
        killer.start()
        report = sweep(SPECS, folder, scheduler=address)
        killer.join(timeout=120)
    finally:
        for process in processes:
            kill_group(process)
    assert report.trained == len(SPECS)
    assert essence(Store(folder).load()) == undisturbed


def serve_until_seed_one(pipe):
    """The work of a worker that dies of the run with seed 1."""
    train = training.train_batch

    def deadly(specs, *options):
        if any(spec.seed == 1 for spec in specs):
            os._exit(1)
        return train(specs, *options)

    training.train_batch = deadly
    executors.serve_batches(pipe)


@pytest.mark.cluster
def test_a_batch_whose_worker_dies_is_trained_run_by_run(monkeypatch):
    monkeypatch.setattr(executors.Worker, "work", staticmethod(serve_until_seed_one))
    part = [RunSpec(seed=s, steps=12, points=40) for s in range(3)]
    reports = []
    with open_executor(3, 2, None) as executor:
        finished = list(executor.run([part], lambda *report: reports.append(report)))
    records = {batch[0].seed: records[0] for batch, records in finished}
    assert {s: records[s]["status"] for s in range(3)} == {0: "ok", 1: "failed", 2: "ok"}
    assert "exit code 1" in records[1]["error"]
    assert (part, 0) in reports  # the progress of the lost batch is taken back


@pytest.mark.cluster
def test_a_killed_worker_is_replaced(tmp_path, undisturbed):
    with start_sweep(tmp_path, 2) as process:
        wait_for_records(tmp_path / "records", process)
        for child in psutil.Process(process.pid).children():
            if "spawn_main" in " ".join(child.cmdline()):
                child.kill()
        process.wait(timeout=120)
    assert process.returncode == 0
    assert essence(Store(tmp_path / "records").load()) == undisturbed


@pytest.mark.cluster
def test_workers_end_when_the_sweep_is_killed(tmp_path):
    with start_sweep(tmp_path, 2) as process:
        wait_for_records(tmp_path / "records", process)
        process.kill()
        process.wait()
        wait_until(lambda: group_is_gone(process), 30)


@pytest.mark.parametrize("workers", [0, 0.5, -1, "two"])
def test_bad_workers_are_refused(workers, tmp_path):
    with pytest.raises(ValueError, match="^workers="):
        sweep(SPECS, tmp_path, workers=workers)


@pytest.mark.cluster
def test_workers_open_no_port(tmp_path):
    with start_sweep(tmp_path, 2) as process:
        wait_for_records(tmp_path / "records", process)
        sweeper = psutil.Process(process.pid)
        family = [sweeper, *sweeper.children(recursive=True)]
        assert len(family) >= 3
        assert not any(member.net_connections("inet") for member in family)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(cluster, "NOTICE", 1)
    monkeypatch.setattr(cluster, "LOOK", 0.1)


@pytest.mark.usefixtures("impatient")
def test_an_address_without_a_scheduler_is_named(tmp_path):
    with pytest.raises(SweepError, match="tcp://127.0.0.1:1"):
        sweep(SPECS[:1], tmp_path, scheduler="tcp://127.0.0.1:1")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, b"\xff" * 64])
@pytest.mark.usefixtures("impatient")
def test_something_that_is_not_dask_is_named(tmp_path, answer):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.sendall(answer)
            self.request.recv(1)  # and keeps the line open
            time.sleep(2)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        with pytest.raises(SweepError, match=f"no Dask scheduler answers at {address}"):
            sweep(SPECS[:1], tmp_path, scheduler=address)
        server.shutdown()
    # An open client would block another one if it was collected while that one starts.
    clients = [item for item in gc.get_objects() if issubclass(type(item), Client)]
    assert {client.status for client in clients} <= {"closed"}


# As on our command line: the error is one line, and the exit code is 2.
IMPATIENT = """
import sys
from pinnlib import RunSpec
from pinnlib.bundle import cli, commands
from pinnlib.runs import cluster
commands.specs_of = lambda study: [RunSpec(steps=2, points=5)]
cluster.NOTICE = 1
sys.exit(cli.main(["sweep", "--study", "main", *sys.argv[1:]]))
"""


@pytest.mark.cluster
def test_a_scheduler_that_stays_silent_is_waited_for_so_long(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        options = ["--scheduler", address, "--patience", "5", "--records", tmp_path]
        command = [sys.executable, "-c", IMPATIENT, *options]
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    notice, error = done.stderr.strip().splitlines()
    assert notice == f"no answer from {address}: waiting for one, up to 5 s (--patience)"
    assert error == f"run_all.sh: no Dask scheduler answers at {address}: silence for 5 s"
    assert done.returncode == 2
    with locked(tmp_path, "test"):
        pass


@pytest.mark.cluster
@pytest.mark.usefixtures("impatient")
def test_a_scheduler_without_workers_is_waited_for_so_long(tmp_path, capsys):
    with LocalCluster(n_workers=0, dashboard_address=None, protocol="tcp") as scheduler:
        patient = Scheduler(scheduler.scheduler_address, patience=3)
        with pytest.raises(SweepError, match="no worker at tcp://.* for [3-6] s; the same command"):
            sweep(SPECS[:1], tmp_path, scheduler=patient)
    errors = capsys.readouterr().err
    assert "waiting for one, up to 3 s" in errors
    assert "0 runs trained now, 0 on record, 1 left" in errors


@pytest.mark.cluster
@pytest.mark.usefixtures("impatient")
def test_workers_with_another_version_are_refused_by_name(tmp_path, monkeypatch, capsys):
    """The workers are threads of this process: what differs is the hash that comes with a batch."""
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
    monkeypatch.setattr(cluster, "CORE", "of the workers")
    submit = Client.submit

    def submit_other(self, function, part, core, **options):
        return submit(self, function, part, "another", **options)

    monkeypatch.setattr(Client, "submit", submit_other)
    with LocalCluster(n_workers=1, **options) as two:
        address = two.scheduler_address
        (worker,) = two.scheduler_info["workers"]
        with pytest.raises(SweepError, match=f"another version of the library: {worker}"):
            sweep(SPECS[:1], tmp_path, scheduler=address)
    assert f"worker {worker} gets no runs" in capsys.readouterr().err
    assert Store(tmp_path).load() == {}


def serve_as_another_version(pipe):
    executors.CORE = "another"
    executors.serve_batches(pipe)


@pytest.mark.cluster
def test_a_local_worker_with_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(executors.Worker, "work", staticmethod(serve_as_another_version))
    with pytest.raises(SweepError, match=r"worker \d+ has another version"):
        sweep(SPECS[:2], tmp_path, workers=2)


def test_the_hash_of_the_core_changes_with_its_source(tmp_path, monkeypatch):
    copy = tmp_path / "pinnlib"
    shutil.copytree(ROOT / "pinnlib", copy)
    monkeypatch.setattr(pinnlib, "__file__", str(copy / "__init__.py"))
    assert provenance.hash_of_core() == provenance.CORE
    (copy / "runs" / "sweep.py").write_text("")  # decides no bit of a run
    assert provenance.hash_of_core() == provenance.CORE
    for name in ("gates.py", "compiled/fourier.py"):
        before = provenance.hash_of_core()
        (copy / name).write_text("# changed")
        assert provenance.hash_of_core() != before


def serve_and_die(pipe):
    """The work of a worker that is killed whenever it has got a batch."""
    pipe.send(executors.CORE)
    pipe.recv()
    os._exit(9)


@pytest.mark.cluster
def test_workers_that_die_again_and_again_end_the_sweep(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(executors.Worker, "work", staticmethod(serve_and_die))
    monkeypatch.setattr(executors, "MOST_DEATHS", 2)
    with pytest.raises(SweepError, match="2 workers in a row were lost.*exit code 9"):
        sweep(SPECS, tmp_path, workers=2)
    assert "the same command goes on from here" in capsys.readouterr().err


@pytest.fixture
def certificate(tmp_path):
    """A certificate that vouches for itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    files = {"tls_ca": tmp_path / "cert.pem", "tls_key": tmp_path / "key.pem"}
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=pinnlib"]
    out = ["-keyout", files["tls_key"], "-out", files["tls_ca"]]
    subprocess.run([*make, *out], check=True, capture_output=True)
    return {name: str(path) for name, path in (files | {"tls_cert": files["tls_ca"]}).items()}


@pytest.mark.cluster
@pytest.mark.usefixtures("impatient")
def test_a_scheduler_with_tls_wants_our_certificate(tmp_path, certificate):
    ours, key = certificate["tls_ca"], certificate["tls_key"]
    sides = {f"tls_{side}_cert": ours for side in ("scheduler", "client", "worker")}
    sides |= {f"tls_{side}_key": key for side in ("scheduler", "client", "worker")}
    security = Security(tls_ca_file=ours, require_encryption=True, **sides)
    options = {"n_workers": 0, "dashboard_address": None, "protocol": "tls://"}
    with LocalCluster(security=security, **options) as locked_up:
        address = locked_up.scheduler_address
        with pytest.raises(SweepError, match="no worker at tls://"):  # it is let in
            sweep(SPECS[:1], tmp_path, scheduler=Scheduler(address, patience=2, **certificate))
        with pytest.raises(SweepError, match="no Dask scheduler answers at tls://"):
            sweep(SPECS[:1], tmp_path, scheduler=Scheduler(address, patience=2))


@pytest.mark.parametrize(
    "options, field",
    [
        ({"patience": 0}, "patience"),
        ({"patience": "long"}, "patience"),
        ({"tls_ca": "nowhere.pem"}, "tls_ca"),
        ({"tls_ca": __file__, "tls_key": __file__}, "tls_cert"),
        ({"tls_ca": __file__, "tls_key": __file__, "tls_cert": __file__}, "scheduler"),
    ],
)
def test_bad_options_of_a_scheduler_are_refused_by_name(options, field):
    with pytest.raises(ValueError, match=f"^{field}="):
        Scheduler("tcp://host:8786", **options)


UNGUARDED = """
from pathlib import Path
from pinnlib import RunSpec
from pinnlib.runs.sweep import sweep
specs = [RunSpec(steps=2, points=5, seed=s) for s in (0, 1)]
sweep(specs, Path(__file__).parent / "mine", workers=2)
"""


@pytest.mark.cluster
def test_a_script_without_a_guard_learns_what_it_lacks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, script]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.stderr.strip().endswith(GUARD)


def full_pipe():
    """Both ends of a pipe into which nothing fits any more."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x")
    os.set_blocking(writer, True)
    return reader, writer


def paused_terminal():
    """Both ends of a terminal in which somebody has pressed Ctrl-S."""
    screen, terminal = os.openpty()
    termios.tcflow(terminal, termios.TCOOFF)
    return screen, terminal


@pytest.mark.parametrize("stop_reading", [full_pipe, paused_terminal])
def test_a_bar_that_nobody_reads_does_not_hold_up_the_sweep(stop_reading, tmp_path, monkeypatch):
    reader, writer = stop_reading()
    specs = [RunSpec(steps=2, points=5, seed=s) for s in range(2)]
    options = {"workers": 1, "progress": True}
    with contextlib.suppress(OSError), os.fdopen(writer, "w") as file:
        monkeypatch.setattr(sys, "stderr", file)
        work = threading.Thread(target=sweep, args=(specs, tmp_path), kwargs=options, daemon=True)
        work.start()
        work.join(timeout=30)
        held_up = work.is_alive()
        os.close(reader)  # a writer that waits gets an error
        work.join()
        monkeypatch.undo()
    assert not held_up
    assert len(Store(tmp_path).load()) == 2


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


def test_the_time_left_starts_at_the_pace_of_the_records_and_then_is_that_of_the_sweep():
    todo = [RunSpec(seed=seed) for seed in range(6)]
    spec = {"model": "adaptive", "steps": 5000, "points": 2000}
    pace = TimeEstimate({"0": {"spec": spec, "seconds": 3600.0}})
    work = WorkBar(todo, pace, processes=2)
    with work.show(True):
        assert work.state == [0, 6, "about 3.0 hours"]
        work.bar.start_t -= 7200  # two hours have passed, in which the work of one was done
        work.reach(todo[:2], 1)
        left = 2 * (7200 + 300) / (3600 + 300)
        assert work.state == [2, 6, f"about {left:.1f} hours"]
        assert work.bar.n == 7200
        work.reach(todo[2:4], 0.5)
        assert work.state[0] == 2
        assert work.bar.n == 10800
        work.reach(todo[2:4], 0)  # its worker died
        assert work.state[0] == 2
        assert work.bar.n == 7200


@pytest.mark.cluster
def test_workers_report_their_progress():
    parts = [[RunSpec(steps=300, points=20, seed=s)] for s in range(2)]
    shares = {0: [], 1: []}
    with open_executor(2, 2, None) as executor:
        finished = list(executor.run(parts, lambda part, x: shares[part[0].seed].append(x)))
    assert len(finished) == 2
    for reported in shares.values():
        assert 0 < reported[0] < 1
        assert reported[-1] == 1


def train_own_gate(monkeypatch, folder, factor, seed=0):
    """Sweep a run of the gate `own`, g(t) = factor · t."""

    def jet(self, t):
        return Jet(factor * t, factor * torch.ones_like(t), torch.zeros_like(t))

    members = {"jet": jet, "name": "own"}
    own = dataclasses.make_dataclass("Own", [], bases=(Gate,), namespace=members, frozen=True)
    monkeypatch.setitem(GATES, "own", own)
    spec = RunSpec(gate="own", steps=5, points=20, seed=seed)
    return sweep(spec, folder, workers=1).trained


def test_runs_of_a_gate_whose_formula_was_changed_are_not_taken_for_its_own(tmp_path, monkeypatch):
    assert train_own_gate(monkeypatch, tmp_path, 3.0) == 1
    assert train_own_gate(monkeypatch, tmp_path, 3.0) == 0
    with pytest.raises(SweepError, match="gate own"):
        train_own_gate(monkeypatch, tmp_path, 2.0)
    with pytest.raises(SweepError, match="gate own"):  # other runs would mix with those
        train_own_gate(monkeypatch, tmp_path, 2.0, seed=1)
    assert RunLibrary(tmp_path).find(RunSpec(gate="own", steps=5, points=20)) is None
    # A change of the library that is announced by a new version of the numerics.
    monkeypatch.setattr("pinnlib.runs.sweep.NUMERICS", 1000)
    assert train_own_gate(monkeypatch, tmp_path, 2.0) == 0


def test_runs_of_a_network_that_begins_otherwise_now_are_not_taken_for_its_own(
    tmp_path, monkeypatch
):
    class Own(MLP):
        name, factor = "own", 1.0

        def initial(self, components, generator):
            blocks = super().initial(components, generator)
            return {name: self.factor * block for name, block in blocks.items()}

    monkeypatch.setitem(MODELS, "own", Own)
    spec = RunSpec(model="own", steps=5, points=20)
    assert sweep(spec, tmp_path, workers=1).trained == 1
    assert sweep(spec, tmp_path, workers=1).trained == 0
    Own.factor = 1.1
    with pytest.raises(SweepError, match="model own"):
        sweep(spec, tmp_path, workers=1)


def test_the_first_batches_are_short_and_all_runs_are_in_some_batch():
    networks = [RunSpec(model="baseline", seed=seed) for seed in range(16)]
    spectral = [RunSpec(seed=seed, k=k) for seed in range(20) for k in range(10, 90, 10)]
    parts = order_batches(batches([*networks, *spectral], 2), TimeEstimate({}), 2)
    lengths = [FIRST, FIRST, 160 - 128 - FIRST, 64 - FIRST, 64, 8, 8]
    assert [len(part) for part in parts] == lengths
    assert parts[-2:] == [networks[:8], networks[8:]]
    keys = sorted(spec.key for spec in [*networks, *spectral])
    assert sorted(spec.key for part in parts for spec in part) == keys


def test_a_run_asked_for_twice_is_trained_once(tmp_path):
    spec = RunSpec(steps=5, points=20)
    report = sweep([spec, spec], tmp_path, workers=1)
    assert report.requested == 1
    assert report.trained == 1


def test_nothing_to_do_starts_no_workers(tmp_path):
    spec = RunSpec(steps=5, points=20)
    sweep([spec], tmp_path, workers=1)
    report = sweep([spec], tmp_path, scheduler="tcp://127.0.0.1:1")  # nobody listens there
    assert report.trained == 0
    assert len(report.records) == 1


@pytest.mark.cluster
@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_whose_terminal_is_gone_goes_on(tmp_path, undisturbed, workers):
    with start_sweep(tmp_path, workers, progress=True) as process:
        process.stderr.read(1)
        process.stderr.close()  # as `2>&1 | head -n 1` does
        process.wait(timeout=240)
    assert process.returncode == 0
    assert essence(Store(tmp_path / "records").load()) == undisturbed
