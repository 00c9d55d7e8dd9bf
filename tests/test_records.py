"""The journal and the grids: nothing lost, nothing doubled, nothing wrong ever loaded."""

import dataclasses
import json
import os
import re
import resource
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
from pinnlib.runs import provenance
from pinnlib.runs.audit import VERDICTS, audit
from pinnlib.runs.record import is_valid_record, record_of, result_of
from pinnlib.runs.store import Store, StoreError, decode, encode
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.sweep import missing, sweep
from pinnlib.runs.table import export, mixed_versions, runs_of, runs_table, specs_of
from pinnlib.runs.timing import TimeEstimate

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


# Grids


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
    assert len(published) == 1260 == len(set(published)) == len({spec.key for spec in published})
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


def test_a_study_of_no_updates_and_records_that_are_a_folder_are_refused(tmp_path):
    with pytest.raises(
        ValueError, match="steps=0 is not allowed: steps must be a whole number >= 1"
    ):
        specs_of("main", steps=0)
    with pytest.raises(ValueError, match="records='PosixPath'.*Store"):
        runs_of([RunSpec()], tmp_path)


def test_an_unknown_study_is_refused():
    with pytest.raises(ValueError, match="study='tables'.*main"):
        specs_of("tables")


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
    wanted = {
        "model",
        "gate",
        "k",
        "lambda_ic",
        "loss",
        "seed",
        "steps",
        "status",
        "rel_l2_u",
        "max_ae_u",
        "numerics",
    }
    assert len(frame) == len(SPECS)
    assert wanted <= set(frame.columns)
    assert set(frame["gate"]) == {"exp", "linear"}
    assert runs_table({}).columns.isin(frame.columns).all()
    assert runs_table({}).empty


def test_a_network_keeps_a_hash_of_its_parameters():
    (result,) = pinnlib.train(RunSpec(model="baseline", steps=2, points=10))
    record = record_of(result, {})
    assert record["parameters"] is None
    assert len(record["parameters_sha256"]) == 16
    assert record["frequencies"] is None
    with pytest.raises(ValueError, match="holds no parameters"):
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
    with pytest.warns(
        UserWarning, match="settings that this version does not know, left alone: .*:1"
    ):
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
    assert (
        (tmp_path / "set-aside" / "lines.txt")
        .read_text()
        .startswith("fixed_linear_balanced.jsonl:4: {")
    )
    assert essence(Store(tmp_path).load()) == essence(Store(trained).load())


def test_two_writers_at_once_are_refused(trained):
    with (
        Store(trained).writing(),
        pytest.raises(StoreError, match=f"another sweep, process {os.getpid()}, is writing"),
    ):
        sweep(SPECS, trained, workers=1)


def test_a_full_disk_gives_a_clear_error_and_a_valid_journal(trained, tmp_path):
    """A real limit of the kernel: the second record does not fit."""
    line = len(encode(next(iter(Store(trained).load().values()))))

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (line * 3 // 2, line * 3 // 2))

    code = "import sys; from pathlib import Path; from pinnlib import RunSpec; from pinnlib.runs.sweep import sweep\nsweep([RunSpec(seed=s, steps=12, points=40) for s in range(3)], Path(sys.argv[1]), workers=1)"
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "records"],
        preexec_fn=limited,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "StoreError: cannot write to" in done.stderr
    assert "intact" in done.stderr
    records, damaged, _ = Store(tmp_path / "records").scan()
    assert len(records) == 1
    assert not damaged
    kept = subprocess.run(
        [sys.executable, "-c", code.replace("range(3)", "range(1)"), tmp_path / "records"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert kept.returncode == 0  # what needs no room is done without any


def test_a_read_only_folder_gives_a_clear_error(tmp_path, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)  # root may write anywhere, so the refusal is played
    with pytest.raises(StoreError, match="cannot write to .*Read-only file system"):
        sweep(SPECS, tmp_path / "records", workers=1)


def test_a_failing_run_is_recorded_reported_and_tried_again(tmp_path, monkeypatch):
    from pinnlib.runs import executors as module

    real = module.train_batch

    def flaky(specs, **options):
        if any(spec.seed == 1 for spec in specs):
            raise MemoryError("no room")
        return real(specs, **options)

    specs = [RunSpec(seed=s, **TINY) for s in range(3)]
    monkeypatch.setattr(module, "train_batch", flaky)
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


def test_older_numerics_are_told_and_retrained_on_demand(trained, tmp_path):
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
    """On a machine whose fingerprint is on file, other bits need a new NUMERICS (and a new line in data/machines.json)."""
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
    made = (
        (1000, 2.0),
        (1000, 12.0),
        (1000, 120.0),
        (100, 300.0),
    )  # updates, seconds; the last is too short to tell the pace
    pace = TimeEstimate(
        {
            str(i): {"spec": {"model": "fixed", "steps": steps, "points": 2000}, "seconds": seconds}
            for i, (steps, seconds) in enumerate(made)
        }
    )
    todo = [RunSpec(model="fixed", steps=5000, seed=seed) for seed in range(2 * os.cpu_count())]
    assert pace.seconds(todo[:3]) == pytest.approx(180)
    assert pace.seconds([RunSpec(model="fixed", steps=5000, points=1000)]) == pytest.approx(30)
    assert pace.told(todo).startswith("about 2 minutes with ")
    assert pace.told(todo * 100).startswith("about 3.3 hours with ")
    assert pace.told(todo, 100).startswith(f"less than two minutes with {len(todo)} ")
    assert pace.told([]) == "nothing to train"
    runs = pd.read_csv(RUNS_CSV).query(
        "model == 'adaptive' and steps * points >= 1e6"
    )  # of a model that the records lack: the repository's
    assert pace.seconds([RunSpec()]) == pytest.approx(
        (runs["seconds"] / runs["steps"] / runs["points"]).median() * 5000 * 2000
    )


def test_a_variant_of_a_model_takes_as_long_as_the_model_and_a_damaged_table_spoils_nothing(
    tmp_path, monkeypatch
):
    assert (
        TimeEstimate({}).seconds([RunSpec(model="baseline(hidden=33)")])
        == TimeEstimate({}).seconds([RunSpec(model="baseline")])
        > 10 * TimeEstimate({}).seconds([RunSpec()])
    )
    assert (
        TimeEstimate({})
        .told([RunSpec(model="baseline")], 2)
        .endswith("with 1 local process, at the pace of the records")
    )
    for text in ("", "model,steps", "<<<<<<< ours\n"):
        (tmp_path / "runs.csv").write_text(text)
        monkeypatch.setattr("pinnlib.runs.timing.RUNS_CSV", tmp_path / "runs.csv")
        assert TimeEstimate({}).known == {}


def test_how_long_a_model_takes_that_was_never_trained_is_not_known(monkeypatch):
    monkeypatch.setitem(
        MODELS,
        "other",
        dataclasses.make_dataclass(
            "Other", [], bases=(AdaptiveFourier,), namespace={"name": "other"}, frozen=True
        ),
    )
    assert (
        TimeEstimate({}).told([RunSpec(model="other")])
        == "how long that takes is not known: no run of other is on record"
    )
    assert TimeEstimate({}).seconds([RunSpec(model="other")]) > 0  # its share of a bar


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
    with pytest.raises(ValueError, match="not those that were trained"):
        result_of(Store(tmp_path / "parameters").load()[SPECS[0].key])
    command = [sys.executable, ROOT / "pinnlib", "audit", "--sample", "1", "--records", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "1 MISMATCH" in done.stdout
    assert f"MISMATCH: {VERDICTS['MISMATCH']}" in done.stdout
    assert "identical:" not in done.stdout


def test_audit_names_what_is_not_on_record(trained, tmp_path):
    with pytest.raises(
        ValueError, match=re.escape(f"records='{tmp_path}'") + ".*there are none in it"
    ):
        audit(1, folder=tmp_path)
    with pytest.raises(ValueError, match="model='baseline'.*on record: adaptive, fixed"):
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
    assert set(audit(3, folder=tmp_path / "there")["verdict"]) == {
        "identical"
    }  # the bits are the same, whoever made them
    with pytest.raises(ValueError, match="no such record was made on this kind of processor"):
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
