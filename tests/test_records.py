"""Studies, records, store, tables, time estimates and audit: what `pinnlib.runs` keeps of runs."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pinnlib
from pinnlib import MODELS, AdaptiveFourier, RunSpec
from pinnlib.analysis import paired
from pinnlib.paths import MACHINES, RECORDS, ROOT, RUNS_CSV
from pinnlib.runs import executors, provenance
from pinnlib.runs.audit import VERDICTS, audit
from pinnlib.runs.files import replacing
from pinnlib.runs.progress import TimeEstimate
from pinnlib.runs.record import is_valid_record, record_of, result_of
from pinnlib.runs.store import Store, StoreError, decode, encode
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.sweep import missing, sweep
from pinnlib.runs.table import export, mixed_versions, runs_of, runs_table, specs_of

TINY = {"steps": 12, "points": 40}
SPECS = [
    RunSpec(model=m, gate=g, k=k, seed=s, **TINY)
    for m in ("adaptive", "fixed")
    for g in ("exp", "linear")
    for k in (20, 60)
    for s in (0, 1)
]


def essence(records):
    """What of a record depends on its spec alone."""
    return {
        key: (r["status"], r["metrics"], r["history"], r["parameters"], r["parameters_sha256"])
        for key, r in records.items()
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    sweep(SPECS, folder, workers=1)
    return folder


# Studies


def test_the_studies_are_known_without_torch_or_pandas():
    code = "import sys, pinnlib.runs.studies; print({'torch', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_the_studies_have_the_sizes_of_the_contract():
    assert {name: len(specs_of(name)) for name in STUDIES} == {
        "main": 440,
        "no_penalty": 400,
        "expanded": 740,
        "as_written": 1040,
        "table": 160,
        "early": 480,
        "stages": 498,
        "gates": 800,
        "gates_mse": 400,
        "budget": 40,
        "hard_velocity": 160,
        "free_velocity": 160,
        "sgd_exp": 40,
        "sgd_linear": 40,
        **{f"sgd_tuning_{i}": 12 for i in range(7)},
    }
    published = specs_of("main", "no_penalty", "expanded")
    assert len(published) == 1260
    assert len({spec.key for spec in published}) == 1260
    assert len({spec.key for spec in specs_of(*STUDIES)}) == 1260 + 1040 + 848 + 1220 + 84 + 80
    assert set(specs_of("table")) <= set(published)
    assert {spec.steps for spec in specs_of("early")} == {500}
    assert {spec.steps for spec in specs_of("stages")} == {100, 500, 1000}


def test_every_run_comes_with_its_other_gate():
    pairs = Counter(
        (s.model, s.k, s.lambda_ic, s.loss, s.seed, s.steps)
        for s in specs_of("main", "no_penalty", "expanded", "as_written", "early", "stages")
    )
    assert set(pairs.values()) == {2}


@pytest.mark.parametrize(
    "study, model, k, seeds",
    [
        ("main", "adaptive", 20, 20),
        ("main", "adaptive", 40, 10),
        ("main", "baseline", 60, 10),
        ("no_penalty", "adaptive", 30, 10),
        ("no_penalty", "adaptive", 60, 20),
        ("expanded", "adaptive", 130, 20),
        ("expanded", "adaptive", 10, 10),
        ("expanded", "fixed", 130, 10),
        ("as_written", "adaptive", 10, 20),
    ],
)
def test_seeds_per_cell(study, model, k, seeds):
    found = {s.seed for s in specs_of(study) if s.model == model and s.k == k}
    assert found == set(range(seeds))


def test_a_smoke_test_shrinks_every_cell():
    specs = specs_of("main", seeds=2, steps=7)
    assert {s.seed for s in specs} == {0, 1}
    assert {s.steps for s in specs} == {7}
    assert len(specs) == 3 * 6 * 2 * 2


def test_impossible_studies_are_refused():
    with pytest.raises(ValueError, match="^steps=0 is not allowed"):
        specs_of("main", steps=0)
    with pytest.raises(ValueError, match="^seeds=0 is not allowed"):
        specs_of("main", seeds=0)
    with pytest.raises(ValueError, match="^study='tables' is not allowed"):
        specs_of("tables")


def test_a_folder_is_not_taken_for_records(tmp_path):
    with pytest.raises(ValueError, match="^records='PosixPath' is not allowed"):
        runs_of([RunSpec()], tmp_path)


# Records


def test_a_record_is_a_run(trained):
    records = Store(trained).load()
    assert set(records) == {spec.key for spec in SPECS}
    for result in pinnlib.train(SPECS[:3]):
        again = result_of(records[result.spec.key])
        assert again.spec == result.spec
        assert again.metrics == result.metrics
        assert again.status == "ok"
        assert np.array_equal(again.parameters, result.parameters)
        assert again.parameters.dtype == np.float32
        assert again.predict([0.5, 3]).equals(result.predict([0.5, 3]))
        np.testing.assert_allclose(
            records[result.spec.key]["frequencies"], result.frequencies, rtol=1e-6
        )
        np.testing.assert_allclose(again.history, result.history, rtol=1e-4)


def test_a_record_says_where_it_was_made(trained):
    for record in Store(trained).load().values():
        assert set(record["made"]) == {"pinnlib", "torch", "numba", "cpu", "fingerprint", "commit"}
        assert record["numerics"] == provenance.NUMERICS
        assert record["made"]["fingerprint"] == provenance.fingerprint()
        assert record["seconds"] >= 0


def test_pandas_reads_it_in_one_line(trained):
    frame = pd.read_json(trained / "adaptive_exp_balanced.jsonl", lines=True)
    assert len(frame) == 4
    assert {"key", "spec", "metrics", "history", "parameters"} <= set(frame.columns)


def test_the_tidy_table(trained, tmp_path):
    export(trained, tmp_path / "runs.csv")
    frame = pd.read_csv(tmp_path / "runs.csv")
    assert len(frame) == len(SPECS)
    assert {"model", "gate", "k", "lambda_ic", "loss", "seed", "steps"} <= set(frame.columns)
    assert {"status", "rel_l2_u", "max_ae_u", "numerics"} <= set(frame.columns)
    assert set(frame["gate"]) == {"exp", "linear"}
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_a_table_without_records_has_its_columns(trained):
    empty = runs_table({})
    assert empty.empty
    assert set(empty.columns) <= set(runs_table(Store(trained).load()).columns)


def test_a_network_keeps_a_hash_of_its_parameters():
    (result,) = pinnlib.train(RunSpec(model="baseline", steps=2, points=10))
    record = record_of(result, {})
    assert record["parameters"] is None
    assert len(record["parameters_sha256"]) == 16
    assert record["frequencies"] is None
    with pytest.raises(ValueError, match=record["key"]):
        result_of(record)


def test_a_diverged_run_is_recorded_as_such(tmp_path):
    wild = RunSpec(lambda_ic=3e38, initial_velocity=(0.0, 20.0), loss="mse", **TINY)
    report = sweep([wild, SPECS[0]], tmp_path, workers=1)
    assert report.records[wild.key]["status"] == "diverged"
    assert wild.key in str(report)
    assert "diverged: 1" in str(report)
    alone = runs_of([wild], report.records)
    assert alone["rel_l2_u"].isna().all()
    assert paired.summary_table(alone, "rel_l2_u")["diverged"].tolist() == [1]
    assert sweep([wild], tmp_path, workers=1).trained == 0  # it would diverge again


def test_a_folder_may_be_named_by_text(trained):
    assert Store(str(trained)).load() == Store(trained).load()


def test_a_missing_run_is_a_row(trained):
    other = RunSpec(seed=77, **TINY)
    frame = runs_of([SPECS[0], other], Store(trained).load()).set_index("seed")
    assert list(frame["status"]) == ["ok", "missing"]
    assert np.isnan(frame.loc[77, "rel_l2_u"])


def test_other_settings_are_other_records(trained):
    records = Store(trained).load()
    for change in (
        {"steps": 13},
        {"points": 41},
        {"lr": 2e-3},
        {"lambda_ic": 0},
        {"initial_position": (1.1, 0.2)},
        {"gate": "exp(alpha=2)"},
        {"precision": "float64"},
    ):
        spec = RunSpec(**({"model": "adaptive", "gate": "exp", "k": 20, "seed": 0} | TINY | change))
        assert missing([spec], records) == [spec]


def test_a_record_that_lies_about_its_spec_is_not_loaded(trained):
    record = next(iter(Store(trained).load().values()))
    record["spec"]["k"] += 1
    assert decode(encode(record)) == record
    assert not is_valid_record(record)


def test_a_record_of_settings_from_the_future_is_named_and_left_alone(trained, tmp_path):
    record = next(iter(Store(trained).load().values()))
    record["spec"]["momentum"] = 0.9
    with Store(tmp_path).writing() as writer:
        writer.append([record])
    with pytest.warns(UserWarning, match="adaptive_exp_balanced.jsonl:1"):
        assert Store(tmp_path).load() == {}
    with Store(tmp_path).writing() as writer:
        assert not writer.damaged
    assert len(Store(tmp_path).scan()[2]) == 1


def test_a_component_at_rest_has_no_relative_error_and_is_no_divergence():
    (result,) = pinnlib.train(RunSpec(initial_position=(1.0, 0.0), **TINY))
    record = record_of(result, {})
    assert result.status == "ok"
    assert record["metrics"]["rel_l2_theta"] is None
    assert record["metrics"]["rel_l2_u"] > 0


# Damage


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_whatever_happens_to_the_file_nothing_wrong_is_loaded(trained, tmp_path_factory, data):
    good = Store(trained).load()
    lines = (trained / "adaptive_exp_balanced.jsonl").read_bytes().splitlines(keepends=True)
    lines = data.draw(st.permutations(lines * data.draw(st.integers(1, 2))))
    blob = bytearray(b"".join(lines))
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(blob) - 1))
        blob[place] ^= data.draw(st.integers(1, 255))
    blob = blob[: data.draw(st.one_of(st.just(len(blob)), st.integers(0, len(blob))))]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "adaptive_exp_balanced.jsonl").write_bytes(blob)
    loaded, damaged, _ = Store(folder).scan()
    assert all(good[key] == record for key, record in loaded.items())
    untouched = {line + b"\n" for line in bytes(blob).split(b"\n")[:-1]} & set(lines)
    assert len(loaded) == len(untouched)  # and nothing good is refused because of its neighbours
    with Store(folder).writing() as writer:
        assert writer.damaged.count(":") == len(damaged)
    assert Store(folder).scan() == (loaded, [], [])


def test_a_torn_record_is_named_set_aside_and_trained_again(trained, tmp_path):
    for path in trained.glob("*.jsonl"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "fixed_linear_balanced.jsonl"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(UserWarning, match="fixed_linear_balanced.jsonl:4"):
        assert len(Store(tmp_path).load()) == len(SPECS) - 1
    report = sweep(SPECS, tmp_path, workers=1)
    assert report.trained == 1
    assert report.set_aside == "fixed_linear_balanced.jsonl:4"
    assert "fixed_linear_balanced.jsonl:4" in str(report)
    aside = (tmp_path / "set-aside" / "lines.txt").read_text()
    assert aside.startswith("fixed_linear_balanced.jsonl:4: {")
    assert essence(Store(tmp_path).load()) == essence(Store(trained).load())


def test_a_temporary_file_is_no_part_of_the_store(trained, tmp_path):
    lines = (trained / "adaptive_exp_balanced.jsonl").read_bytes()
    (tmp_path / ".new-1-adaptive_exp_balanced.jsonl").write_bytes(lines)
    assert Store(tmp_path).load() == {}


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file.txt"
    with replacing(path) as temporary:
        temporary.write_text("old")
        assert not path.exists()
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text("half of the n")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_at_once_are_refused(trained):
    with Store(trained).writing(), pytest.raises(StoreError, match=f"process {os.getpid()},"):
        sweep(SPECS, trained, workers=1)


FULL_DISK = """
import resource, sys
from pathlib import Path
from pinnlib import RunSpec
from pinnlib.runs.sweep import sweep
folder, runs, limit = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sweep([RunSpec(seed=s, steps=12, points=40) for s in range(runs)], folder, workers=1)
"""


def sweep_with_limit(folder, runs, limit):
    """A sweep in a process whose files may have at most `limit` bytes."""
    command = [sys.executable, "-c", FULL_DISK, folder, str(runs), str(limit)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_a_full_disk_gives_a_clear_error_and_a_valid_journal(trained, tmp_path):
    line = len(encode(next(iter(Store(trained).load().values()))))
    full = sweep_with_limit(tmp_path / "records", 3, line * 3 // 2)  # the second does not fit
    assert full.returncode != 0
    assert "StoreError: cannot write to" in full.stderr
    records, damaged, _ = Store(tmp_path / "records").scan()
    assert len(records) == 1
    assert not damaged
    kept = sweep_with_limit(tmp_path / "records", 1, 0)  # nothing to train needs no room
    assert kept.returncode == 0


def test_a_read_only_folder_gives_a_clear_error(tmp_path, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)  # root may write anywhere, so the refusal is played
    with pytest.raises(StoreError, match="Read-only file system"):
        sweep(SPECS, tmp_path / "records", workers=1)


def test_a_failing_run_is_recorded_reported_and_tried_again(tmp_path, monkeypatch):
    real = executors.train_batch

    def flaky(specs, **options):
        if any(spec.seed == 1 for spec in specs):
            raise MemoryError("no room")
        return real(specs, **options)

    specs = [RunSpec(seed=s, **TINY) for s in range(3)]
    monkeypatch.setattr(executors, "train_batch", flaky)
    report = sweep(specs, tmp_path, workers=1)
    assert Counter(r["status"] for r in report.records.values()) == {"ok": 2, "failed": 1}
    assert "failed: 1" in str(report)
    assert "MemoryError: no room" in str(report)
    assert runs_of(specs, report.records)["status"].tolist().count("failed") == 1
    monkeypatch.undo()
    report = sweep(specs, tmp_path, workers=1)
    assert report.trained == 1
    assert all(r["status"] == "ok" for r in report.records.values())


# Versions of the numerics


def test_older_numerics_are_reported_and_retrained_on_demand(trained, tmp_path):
    old = [dict(r, numerics=0) for r in Store(trained).load().values()]
    with Store(tmp_path).writing() as writer:
        writer.append(old[:3])
    assert sweep(SPECS[:4], tmp_path, workers=1).trained in range(1, 5)
    frame = runs_table(Store(tmp_path).load())
    assert mixed_versions(frame).startswith("Mixed numerics: 3 by version 0")
    assert "--older" in mixed_versions(frame)
    specs = [RunSpec(**r["spec"]) for r in old[:3]]
    assert sweep(specs, tmp_path, workers=1).trained == 0
    assert "3 by version 0 (now" in mixed_versions(frame[frame["numerics"] == 0])
    assert sweep(specs, tmp_path, workers=1, older=True).trained == 3
    assert sweep(specs, tmp_path, workers=1, older=True).trained == 0
    assert mixed_versions(runs_table(Store(tmp_path).load())) == ""


def test_the_version_of_the_numerics_changes_with_the_bits():
    """On a machine that is on file, other bits need a new NUMERICS and a line in machines.json."""
    expected = {
        line["fingerprint"]: line["numerics"]
        for line in json.loads(MACHINES.read_text())
        if line["machine"] == provenance.machine()
    }
    if not expected:
        pytest.skip(
            f"no fingerprint on file for {provenance.machine()}; to add: {provenance.fingerprint()}"
        )
    assert expected.get(provenance.fingerprint()) == provenance.NUMERICS


def test_how_long_the_missing_runs_would_take():
    records = {}
    # Updates and seconds; the last run is too short to show the pace.
    for steps, seconds in ((1000, 2.0), (1000, 12.0), (1000, 120.0), (100, 300.0)):
        spec = {"model": "fixed", "steps": steps, "points": 2000}
        records[str(len(records))] = {"spec": spec, "seconds": seconds}
    pace = TimeEstimate(records)
    todo = [RunSpec(model="fixed", steps=5000, seed=seed) for seed in range(2 * os.cpu_count())]
    assert pace.seconds(todo[:3]) == pytest.approx(180)
    assert pace.seconds([RunSpec(model="fixed", steps=5000, points=1000)]) == pytest.approx(30)
    assert pace.describe(todo).startswith("about 2 minutes with ")
    assert pace.describe(todo * 100).startswith("about 3.3 hours with ")
    assert pace.describe(todo, 100).startswith(f"less than two minutes with {len(todo)} ")
    assert pace.describe([]) == "nothing to train"
    # A model that these records lack has the pace of the repository's records.
    runs = pd.read_csv(RUNS_CSV).query("model == 'adaptive' and steps * points >= 1e6")
    median = (runs["seconds"] / runs["steps"] / runs["points"]).median()
    assert pace.seconds([RunSpec()]) == pytest.approx(median * 5000 * 2000)


def test_a_variant_of_a_model_takes_as_long_as_the_model():
    pace = TimeEstimate({})
    network = pace.seconds([RunSpec(model="baseline")])
    assert pace.seconds([RunSpec(model="baseline(hidden=33)")]) == network
    assert network > 10 * pace.seconds([RunSpec()])
    assert "with 1 local process," in pace.describe([RunSpec(model="baseline")], workers=2)


@pytest.mark.parametrize("text", ["", "model,steps", "<<<<<<< ours\n"])
def test_a_damaged_table_only_leaves_the_pace_unknown(tmp_path, monkeypatch, text):
    (tmp_path / "runs.csv").write_text(text)
    monkeypatch.setattr("pinnlib.runs.progress.RUNS_CSV", tmp_path / "runs.csv")
    assert TimeEstimate({}).known == {}


def test_how_long_a_model_takes_that_was_never_trained_is_not_known(monkeypatch):
    class Other(AdaptiveFourier):
        name = "other"

    monkeypatch.setitem(MODELS, "other", Other)
    assert "not known: no run of other" in TimeEstimate({}).describe([RunSpec(model="other")])
    assert TimeEstimate({}).seconds([RunSpec(model="other")]) > 0  # its share of a bar


def test_a_dry_run_lists_the_studies_and_trains_nothing(tmp_path):
    options = ["--dry-run", "--study", "table", "--study", "budget", "--records", tmp_path]
    command = [sys.executable, "-m", "pinnlib", "sweep", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    rows = [line.split()[:4] for line in done.stdout.splitlines()]
    assert ["table", "160", "of", "160"] in rows
    assert ["budget", "40", "of", "40"] in rows
    assert not list(tmp_path.iterdir())


# Provenance


def git(folder, *arguments):
    identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    command = ["git", "-C", folder, *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_commit_is_the_last_that_touched_the_library(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.commit() == "unknown"  # not a repository
    (tmp_path / "pinnlib").mkdir()
    (tmp_path / "pinnlib" / "code.py").write_text("one = 1\n")
    (tmp_path / "notes.txt").write_text("one\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "pinnlib")
    git(tmp_path, "commit", "--quiet", "--message", "library")
    head = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert provenance.commit() == head
    git(tmp_path, "add", "notes.txt")
    git(tmp_path, "commit", "--quiet", "--message", "notes")
    assert provenance.commit() == head
    (tmp_path / "pinnlib" / "code.py").write_text("one = 2\n")
    assert provenance.commit() == f"{head}+"


# Audit


def test_audit_confirms_good_records_and_finds_a_forged_one(trained, tmp_path):
    found = audit(4, folder=trained, here=True)
    assert set(found["verdict"]) == {"identical"}
    assert set(found["key"]) <= set(Store(trained).load())
    forged = Store(trained).load()[SPECS[0].key]
    forged["metrics"]["rel_l2_u"] *= 0.9
    with Store(tmp_path).writing() as writer:
        writer.append([forged])
    assert audit(1, folder=tmp_path)["verdict"].tolist() == ["MISMATCH"]
    for part in ("parameters", "frequencies"):
        altered = Store(trained).load()[SPECS[0].key]
        altered[part][0] += 1
        with Store(tmp_path / part).writing() as writer:
            writer.append([altered])
        assert audit(1, folder=tmp_path / part)["verdict"].tolist() == ["MISMATCH"]
    with pytest.raises(ValueError, match=f"^record {SPECS[0].key}"):
        result_of(Store(tmp_path / "parameters").load()[SPECS[0].key])
    options = ["--sample", "1", "--records", tmp_path]
    command = [sys.executable, "-m", "pinnlib", "audit", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert VERDICTS["MISMATCH"] in done.stdout
    assert VERDICTS["identical"] not in done.stdout


def test_audit_names_what_is_not_on_record(trained, tmp_path):
    with pytest.raises(ValueError, match="^records="):
        audit(1, folder=tmp_path)
    with pytest.raises(ValueError, match="^model='baseline' is not allowed"):
        audit(1, ["baseline"], folder=trained)


def test_audit_of_another_machines_records_compares_distributions(tmp_path):
    specs = [RunSpec(seed=s, **TINY) for s in range(8)]
    sweep(specs, tmp_path / "here", workers=1)
    records = [
        r | {"made": r["made"] | {"fingerprint": "elsewhere"}}
        for r in Store(tmp_path / "here").load().values()
    ]
    with Store(tmp_path / "there").writing() as writer:
        writer.append(records)
    # The bits are the same, whoever made them.
    assert set(audit(3, folder=tmp_path / "there")["verdict"]) == {"identical"}
    with pytest.raises(ValueError, match="^here=True is not allowed"):
        audit(3, folder=tmp_path / "there", here=True)
    for record in records:
        record["seconds"], record["parameters_sha256"] = 0, "0" * 16
    with Store(tmp_path / "other-bits").writing() as writer:
        writer.append(records)
    assert set(audit(3, folder=tmp_path / "other-bits")["verdict"]) == {"consistent"}
    for record in records:
        record["metrics"]["rel_l2_u"] *= 1e-3
    with Store(tmp_path / "wrong").writing() as writer:
        writer.append(records)
    assert set(audit(3, folder=tmp_path / "wrong")["verdict"]) == {"MISMATCH"}
    with Store(tmp_path / "few").writing() as writer:
        writer.append(records[:3])
    assert set(audit(1, folder=tmp_path / "few")["verdict"]) == {"not judged"}


def test_the_committed_records_are_sound_and_small():
    records, damaged, foreign = Store().scan()
    assert records
    assert not damaged
    assert not foreign
    assert sum(path.stat().st_size for path in RECORDS.glob("*.jsonl")) < 25e6
    asked = {spec.key for spec in specs_of(*STUDIES)}
    assert set(records) <= asked
    assert len(records) > 100
