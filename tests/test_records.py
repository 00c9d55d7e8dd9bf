"""Studies, records, store, tables, time estimates and audit: what `pinnlib.runs` keeps of runs."""

import base64
import dataclasses
import errno
import fcntl
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import pinnlib
from pinnlib import GATES, MODELS, AdaptiveFourier, Linear, RunSpec, training
from pinnlib.analysis import samples
from pinnlib.bundle import cli, commands
from pinnlib.paths import RECORDS, ROOT, RUNS_CSV
from pinnlib.runs import executors, provenance
from pinnlib.runs import sweep as sweep_module
from pinnlib.runs.audit import COMPARED, audit, compare_records
from pinnlib.runs.files import FileError, replacing
from pinnlib.runs.progress import TimeEstimate
from pinnlib.runs.record import (
    HISTORY_ROWS,
    SettingsCheck,
    failure_of,
    full_settings,
    history_of,
    record_of,
    result_of,
)
from pinnlib.runs.store import Store, decode, encode
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.sweep import sweep
from pinnlib.runs.table import export, missing, mixed_versions, runs_of, runs_table, specs_of
from pinnlib.spec import key_of

TINY = {"steps": 12, "points": 40}
SPECS = [
    RunSpec(model=model, gate=gate, k=k, seed=seed, **TINY)
    for model in ("adaptive", "fixed")
    for gate in ("exp", "linear")
    for k in (20, 60)
    for seed in (0, 1)
]
FIRST = SPECS[0]


def essence(records):
    """What of a record depends on its spec alone."""
    return {key: [record[field] for field in COMPARED] for key, record in records.items()}


def write(folder, *records):
    with Store(folder).writing() as writer:
        writer.append(records)


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


SIZES = {
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
    "sgd_tuning": 84,
    "rates_tuning": 2640,
    "rates_published": 1320,
    "rates": 1320,
    "rates_no_penalty_tuning": 320,
    "rates_no_penalty_published": 160,
    "rates_no_penalty": 160,
    "decay": 120,
    "decay_own": 120,
    "weights": 1200,
    "no_gate_tuning": 640,
    "no_gate": 320,
    "recipe_tuning": 576,
    "recipe": 220,
    "lbfgs": 80,
    "henon_heiles_tuning": 640,
    "quartic_tuning": 640,
    "van_der_pol_tuning": 640,
    "henon_heiles": 320,
    "quartic": 320,
    "van_der_pol": 320,
    "henon_heiles_own": 320,
    "quartic_own": 320,
    "van_der_pol_own": 320,
}


def test_the_studies_have_the_sizes_of_the_contract():
    assert {name: len(specs_of(name)) for name in STUDIES} == SIZES


def test_tuning_and_test_seeds_are_never_mixed():
    for name in STUDIES:
        tuning = "tuning" in name
        assert all((spec.seed >= 20) == tuning for spec in specs_of(name)), name


def test_the_published_studies_share_no_run():
    published = specs_of("main", "no_penalty", "expanded")
    keys = {spec.key for spec in published}
    assert len(published) == 1260
    assert len(keys) == 1260
    assert set(specs_of("table")) <= set(published)


@pytest.mark.parametrize("study, steps", [("early", {500}), ("stages", {100, 500, 1000})])
def test_studies_of_short_runs(study, steps):
    assert {spec.steps for spec in specs_of(study)} == steps


def test_every_run_comes_with_its_other_gate():
    specs = specs_of("main", "no_penalty", "expanded", "as_written", "early", "stages")
    settings = ("model", "k", "lambda_ic", "loss", "seed", "steps")
    pairs = Counter(tuple(spec.select(*settings).values()) for spec in specs)
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
    specs = [spec for spec in specs_of(study) if spec.model == model]
    found = {spec.seed for spec in specs if spec.k == k}
    assert found == set(range(seeds))


def test_a_smoke_test_shrinks_every_cell():
    specs = specs_of("main", seeds=2, steps=7)
    assert {s.seed for s in specs} == {0, 1}
    assert {s.steps for s in specs} == {7}
    assert len(specs) == 3 * 6 * 2 * 2


@pytest.mark.parametrize(
    "field, study, options",
    [
        ("steps", "main", {"steps": 0}),
        ("seeds", "main", {"seeds": 0}),
        ("study", "tables", {}),
    ],
)
def test_impossible_studies_are_refused(field, study, options):
    with pytest.raises(ValueError, match=f"^{field}=.* is not allowed"):
        specs_of(study, **options)


def test_a_folder_is_not_taken_for_records(tmp_path):
    with pytest.raises(ValueError, match="^records='PosixPath' is not allowed"):
        runs_of([RunSpec()], tmp_path)


# Records


def test_a_record_is_a_run(trained):
    records = Store(trained).load()
    assert set(records) == {spec.key for spec in SPECS}
    for result in pinnlib.train(SPECS[:3]):
        record = records[result.spec.key]
        again = result_of(record)
        assert again.spec == result.spec
        assert again.metrics == result.metrics
        assert again.status == "ok"
        assert np.array_equal(again.parameters, result.parameters)
        assert again.parameters.dtype == np.float32
        assert again.predict([0.5, 3]).equals(result.predict([0.5, 3]))
        assert np.array_equal(again.frequencies, result.frequencies)
        assert list(again.history) == list(result.history)
        assert_allclose(again.history, result.history, rtol=6e-4)


def test_a_record_names_the_settings_that_differ_from_the_defaults(trained):
    record = Store(trained).load()[FIRST.key]
    assert record["spec"] == TINY
    assert RunSpec(**full_settings(record)) == FIRST


OTHER_KINDS = [  # settings, and the file of their record
    (
        {"form": "shifted"},
        "adaptive_none_balanced.jsonl",
    ),
    (
        {"form": "soft", "loss": "mse"},
        "adaptive_none_mse.jsonl",
    ),
    (
        {"loss": "weighted(weights=(1.0, 0.1))"},
        "adaptive_exp_weighted.jsonl",
    ),
    (
        {
            "system": "henon_heiles",
            "k": 4.0,
            "form": "soft",
            "lambda_phys": 0.5,
        },
        "henon_heiles_adaptive_none_balanced.jsonl",
    ),
    (
        {
            "system": "quartic",
            "k": 2.0,
            "precision": "float64",
            "lbfgs": 3,
        },
        "quartic_adaptive_exp_balanced.jsonl",
    ),
    (
        {
            "system": "van_der_pol",
            "k": 1.0,
            "initial_position": (0.5,),
            "schedule": "cosine",
        },
        "van_der_pol_adaptive_exp_balanced.jsonl",
    ),
]


@pytest.mark.parametrize("settings, file", OTHER_KINDS)
def test_a_record_of_another_kind_is_a_run_too(tmp_path, settings, file):
    (result,) = pinnlib.train(RunSpec(**settings, **TINY))
    write(tmp_path, record_of(result, {}))
    assert [path.name for path in tmp_path.glob("*.jsonl")] == [file]
    (record,) = Store(tmp_path).load().values()
    again = result_of(record)
    assert again.spec == result.spec
    assert again.status == "ok"
    assert again.metrics == result.metrics
    assert np.array_equal(again.parameters, result.parameters)
    assert again.predict([0, 3]).equals(result.predict([0, 3]))
    assert list(again.history) == list(result.history)
    assert again.history["update"].tolist() == result.history["update"].tolist()
    assert_allclose(again.history, result.history, rtol=1e-3)
    assert RunSpec(**full_settings(record)) == result.spec


def test_the_total_of_a_record_has_the_penalty_on_the_position():
    (result,) = pinnlib.train(RunSpec(form="soft", lambda_ic=7.0, lambda_phys=0.5, **TINY))
    history = history_of(record_of(result, {}))
    penalties = history["velocity"] + history["position"]
    assert_allclose(history["total"], 0.5 * history["physics"] + 7 * penalties, rtol=1e-12)
    assert_allclose(history["total"], result.history["total"], rtol=1e-3)
    assert (history["position"] > 0).all()


def test_the_table_has_every_kind_of_run(tmp_path):
    specs = [RunSpec(**settings, **TINY) for settings, _ in OTHER_KINDS]
    frame = runs_of(specs, {}).set_index("key")
    for spec in specs:
        row = frame.loc[spec.key]
        for name in ("form", "system", "loss", "schedule", "lbfgs", "gate"):
            assert row[name] == getattr(spec, name)
        assert row["initial_position"] == str(spec.initial_position)


def test_parameters_are_little_endian_bytes_in_base64(trained):
    (result,) = pinnlib.train(FIRST)
    record = Store(trained).load()[FIRST.key]
    raw = base64.b64decode(record["parameters"])
    parameters = np.frombuffer(raw, "<f4")
    assert np.array_equal(parameters, result.parameters)


def test_parameters_in_double_precision_come_back_to_the_bit():
    (result,) = pinnlib.train(RunSpec(precision="float64", **TINY))
    line = encode(record_of(result, {}))
    again = result_of(decode(line))
    assert again.parameters.dtype == np.float64
    assert np.array_equal(again.parameters, result.parameters)


def test_the_sign_of_a_nan_does_not_matter():
    (result,) = pinnlib.train(FIRST)
    hashes = set()
    for nan in (np.nan, -np.nan):
        parameters = np.full_like(result.parameters, nan)
        diverged = dataclasses.replace(result, status="diverged", parameters=parameters)
        hashes.add(record_of(diverged, {})["parameters_sha256"])
    assert len(hashes) == 1


def long_result(steps):
    """A run of default size whose numbers take as many characters as numbers of runs do."""
    (result,) = pinnlib.train(RunSpec(seed=19, k=100.0, gate="exp(alpha=0.5)", **TINY))
    spec = dataclasses.replace(result.spec, steps=steps, points=RunSpec.points)
    history = pd.DataFrame(1.234567e-5, range(steps // 100 + 1), result.history.columns)
    history["update"] = [1, *range(100, steps + 1, 100)]
    return dataclasses.replace(
        result,
        spec=spec,
        history=history,
        metrics=dict.fromkeys(result.metrics, -0.012345678901234567),
        seconds=12.345,
    )


@pytest.mark.parametrize(
    "steps, updates",
    [
        (100, [1, 100]),
        (700, [1, 100, 200, 300, 400, 500, 600, 700]),
        (5000, [1, *range(500, 5001, 500)]),
        (25_000, [1, *range(2500, 25_001, 2500)]),
    ],
)
def test_a_history_has_a_row_per_tenth_of_the_run(steps, updates):
    history = record_of(long_result(steps), {})["history"]
    assert history["update"] == updates
    assert len(updates) <= HISTORY_ROWS
    assert set(history["physics"]) == {1.235e-5}


def test_a_record_is_small():
    made = provenance.origin()
    made = made | {"cpu": "Intel(R) Xeon(R) CPU @ 2.80GHz"}
    record = record_of(long_result(5000), made)
    assert len(encode(record)) <= 2200


def test_a_record_says_where_it_was_made(trained):
    for record in Store(trained).load().values():
        assert set(record["made"]) == {"pinnlib", "torch", "numba", "cpu", "commit"}
        assert record["numerics"] == provenance.NUMERICS
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
    assert frame["studies"].isna().all()  # too short for any study
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
    assert samples.summary_table(alone, "rel_l2_u")["diverged"].tolist() == [1]
    assert sweep([wild], tmp_path, workers=1).trained == 0  # it would diverge again


def test_a_folder_may_be_named_by_text(trained):
    assert Store(str(trained)).load() == Store(trained).load()


def test_a_missing_run_is_a_row(trained):
    other = RunSpec(seed=77, **TINY)
    frame = runs_of([SPECS[0], other], Store(trained).load()).set_index("seed")
    assert list(frame["status"]) == ["ok", "missing"]
    assert np.isnan(frame.loc[77, "rel_l2_u"])


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 13},
        {"points": 41},
        {"lr": 2e-3},
        {"lambda_ic": 0},
        {"initial_position": (1.1, 0.2)},
        {"gate": "exp(alpha=2)"},
        {"precision": "float64"},
    ],
)
def test_other_settings_are_other_records(trained, change):
    spec = dataclasses.replace(FIRST, **change)
    assert missing([FIRST, spec], Store(trained).load()) == [spec]


def test_a_record_that_lies_about_its_spec_is_not_loaded(trained):
    record = Store(trained).load()[FIRST.key]
    assert SettingsCheck()(record)
    record["spec"]["k"] = 21.0
    assert decode(encode(record)) == record
    assert not SettingsCheck()(record)


@pytest.mark.parametrize(
    "setting",
    [
        {"momentum": 0.9},
        {"gate": "cubic"},
        {"gate": ["exp"]},
    ],
)
def test_a_record_of_settings_from_the_future_is_named_and_left_alone(trained, tmp_path, setting):
    known = Store(trained).load()[FIRST.key]
    settings = known["spec"] | setting
    record = known | {"spec": settings, "key": key_of(settings)}
    path = tmp_path / "adaptive_exp_balanced.jsonl"
    path.write_text(encode(known) + encode(record))
    with pytest.warns(UserWarning, match=f"{path.name}:2$"):
        assert Store(tmp_path).load() == {FIRST.key: known}
    with Store(tmp_path).writing() as writer:
        assert not writer.damaged
    _, _, foreign = Store(tmp_path).scan()
    assert len(foreign) == 1


def test_a_gate_is_known_once_it_is_registered(trained, tmp_path, monkeypatch):
    settings = TINY | {"gate": "cubic"}
    record = Store(trained).load()[FIRST.key]
    record["spec"] = settings
    record["key"] = key_of(settings)
    write(tmp_path, record)
    records, _, _ = Store(tmp_path).scan()
    assert not records

    class Cubic(Linear):
        name = "cubic"

    monkeypatch.setitem(GATES, "cubic", Cubic)
    assert set(Store(tmp_path).load()) == {RunSpec(gate="cubic", **TINY).key}


def test_lines_that_are_no_records_count_as_damaged(tmp_path):
    lines = [
        encode({"key": "0"}),
        encode({"key": "0", "spec": 1}),
    ]
    (tmp_path / "other.jsonl").write_text("".join(lines))
    records, damaged, foreign = Store(tmp_path).scan()
    assert not records
    assert not foreign
    assert len(damaged) == 2


def test_a_warning_names_the_first_of_many_lines(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text("torn\n" * 100)
    with pytest.warns(UserWarning, match="other.jsonl:20, 80 more;"):
        Store(tmp_path).load()


def test_a_component_at_rest_has_no_relative_error_and_is_no_divergence():
    (result,) = pinnlib.train(RunSpec(initial_position=(1.0, 0.0), **TINY))
    record = record_of(result, {})
    assert result.status == "ok"
    assert record["metrics"]["rel_l2_theta"] is None
    assert record["metrics"]["rel_l2_u"] > 0


# Damage


@st.composite
def damages(draw, lines):
    """The lines of a file in another order, perhaps twice, with some bytes flipped, cut off."""
    copies = draw(st.integers(1, 2))
    blob = bytearray(b"".join(draw(st.permutations(lines * copies))))
    last = len(blob) - 1
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, last))
        blob[place] ^= draw(st.integers(1, 255))
    if draw(st.booleans()):
        del blob[draw(st.integers(0, last)) :]
    return bytes(blob)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_whatever_happens_to_the_file_nothing_wrong_is_loaded(trained, tmp_path_factory, data):
    name = "adaptive_exp_balanced.jsonl"
    lines = (trained / name).read_bytes().splitlines(keepends=True)
    blob = data.draw(damages(lines))
    folder = tmp_path_factory.mktemp("damaged")
    (folder / name).write_bytes(blob)
    loaded, damaged, _ = Store(folder).scan()
    assert loaded.items() <= Store(trained).load().items()
    *whole, _ = blob.split(b"\n")
    untouched = {line + b"\n" for line in whole} & set(lines)
    assert len(loaded) == len(untouched)  # and nothing good is refused because of its neighbours
    with Store(folder).writing() as writer:
        assert writer.damaged.count(":") == len(damaged)
    assert Store(folder).scan() == (loaded, [], [])


def test_a_torn_record_is_named_set_aside_and_trained_again(trained, tmp_path):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "fixed_linear_balanced.jsonl"
    path.write_bytes(path.read_bytes()[:-100])
    torn = f"{path.name}:4"
    with pytest.warns(UserWarning, match=torn):
        assert len(Store(tmp_path).load()) == len(SPECS) - 1
    report = sweep(SPECS, tmp_path, workers=1)
    assert report.trained == 1
    assert report.set_aside == torn
    assert torn in str(report)
    aside = tmp_path / "set-aside" / "lines.txt"
    assert aside.read_text().startswith(f"{torn}: {{")
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
    with Store(trained).writing(), pytest.raises(FileError, match=f"process {os.getpid()},"):
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
def test_a_full_disk_gives_a_clear_error_and_a_valid_store(trained, tmp_path):
    line = encode(Store(trained).load()[FIRST.key])
    full = sweep_with_limit(tmp_path, 3, len(line) * 3 // 2)  # the second does not fit
    assert full.returncode != 0
    assert "FileError: cannot write to" in full.stderr
    records, damaged, _ = Store(tmp_path).scan()
    assert len(records) == 1
    assert not damaged
    kept = sweep_with_limit(tmp_path, 1, 0)  # nothing to train needs no room
    assert kept.returncode == 0


def test_a_read_only_folder_gives_a_clear_error(tmp_path, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)  # root may write anywhere, so the refusal is played
    with pytest.raises(FileError, match="Read-only file system"):
        sweep(SPECS, tmp_path / "records", workers=1)


def test_a_file_system_without_locks_gives_a_clear_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(FileError, match="cannot lock .*: No locks available"):
        sweep(SPECS, tmp_path, workers=1)


def test_a_full_disk_at_the_table_is_one_line(tmp_path, monkeypatch, capsys):
    def fill(self, path, **_):
        Path(path).write_text("half a")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cli.Interrupt, "install", lambda self: None)
    monkeypatch.setattr(commands, "specs_of", lambda study: [RunSpec(**TINY)])
    monkeypatch.setattr(pd.DataFrame, "to_csv", fill)
    assert (
        cli.main(["sweep", "--study", "table", "--workers", "1", "--records", str(tmp_path)]) == 2
    )
    (message,) = capsys.readouterr().err.splitlines()
    assert message.endswith("runs.csv: No space left on device")
    assert not list(tmp_path.glob("*runs.csv"))
    assert len(Store(tmp_path).load()) == 1


@pytest.mark.parametrize("alter", [Path.unlink, lambda path: path.write_text("")])
def test_records_deleted_under_a_sweep_are_named_at_its_end(tmp_path, monkeypatch, alter):
    first, second = specs = [RunSpec(**TINY), RunSpec(gate="linear", **TINY)]
    train = executors.train_outcomes

    def disturb(part, **options):
        if part == [second]:
            alter(tmp_path / "adaptive_exp_balanced.jsonl")
        return train(part, **options)

    monkeypatch.setattr(executors, "train_outcomes", disturb)
    monkeypatch.setattr(sweep_module, "order_batches", lambda parts, *_: [[first], [second]])
    report = sweep(specs, tmp_path, workers=1)
    assert list(report.records) == [second.key]
    assert report.lost == [first.key]
    assert "1 of 2 runs on record" in str(report)
    assert first.key in str(report)


def test_a_record_replaced_under_a_sweep_is_named_at_its_end(tmp_path, monkeypatch):
    first, second = specs = [RunSpec(**TINY), RunSpec(gate="linear", **TINY)]
    train = executors.train_outcomes

    def disturb(part, **options):
        if part == [second]:
            path = tmp_path / "adaptive_exp_balanced.jsonl"
            path.write_text(encode(decode(path.read_text()) | {"seconds": 9.0}))
        return train(part, **options)

    monkeypatch.setattr(executors, "train_outcomes", disturb)
    monkeypatch.setattr(sweep_module, "order_batches", lambda parts, *_: [[first], [second]])
    report = sweep(specs, tmp_path, workers=1)
    assert len(report.records) == 2
    assert report.lost == [first.key]


def test_a_failing_run_is_recorded_reported_and_tried_again(tmp_path, monkeypatch):
    real = training.train_batch

    def flaky(specs, *options):
        if any(spec.seed == 1 for spec in specs):
            raise MemoryError("no room")
        return real(specs, *options)

    specs = [RunSpec(seed=s, **TINY) for s in range(3)]
    monkeypatch.setattr(training, "train_batch", flaky)
    report = sweep(specs, tmp_path, workers=1)
    assert runs_of(specs, report.records)["status"].tolist() == ["ok", "failed", "ok"]
    assert "failed: 1" in str(report)
    assert "MemoryError: no room" in str(report)
    monkeypatch.undo()
    report = sweep(specs, tmp_path, workers=1)
    assert report.trained == 1
    assert runs_of(specs, report.records)["status"].tolist() == ["ok", "ok", "ok"]


# Versions of the numerics


def test_older_numerics_are_reported_and_retrained_on_demand(trained, tmp_path):
    newer = [record_of(result, {}) for result in pinnlib.train(SPECS[3:4])]
    records = Store(trained).load()
    old = [records[spec.key] | {"numerics": 0} for spec in SPECS[:3]]
    write(tmp_path, *old, *newer)
    frame = runs_table(Store(tmp_path).load())
    note = mixed_versions(frame)
    assert note.startswith("Mixed numerics: 3 by version 0")
    assert "--older" in note
    assert "3 by version 0 (now" in mixed_versions(frame[frame["numerics"] == 0])
    assert sweep(SPECS[:4], tmp_path, workers=1).trained == 0
    assert sweep(SPECS[:4], tmp_path, workers=1, older=True).trained == 3
    assert sweep(SPECS[:4], tmp_path, workers=1, older=True).trained == 0
    assert mixed_versions(runs_table(Store(tmp_path).load())) == ""


def test_the_version_of_the_numerics_changes_with_the_bits(tmp_path):
    """Short runs on record come out the same; other bits need a new NUMERICS and new records."""
    records = Store().load()
    short = [record for record in records.values() if full_settings(record)["steps"] <= 100]
    write(tmp_path, *short[::20])
    assert verdicts(6, tmp_path) == {"identical"}


def fixed_record(steps, seconds):
    spec = {"model": "fixed", "steps": steps, "points": 2000}
    return {"spec": spec, "seconds": seconds}


PACE = TimeEstimate(
    {
        "a": fixed_record(1000, 2.0),
        "b": fixed_record(1000, 12.0),
        "c": fixed_record(1000, 120.0),
        "d": fixed_record(100, 300.0),  # too short to show the pace
    }
)


def test_how_many_seconds_the_missing_runs_would_take():
    three = [RunSpec(model="fixed", steps=5000, seed=seed) for seed in range(3)]
    half = RunSpec(model="fixed", steps=5000, points=1000)
    assert PACE.seconds(three) == pytest.approx(180)
    assert PACE.seconds([half]) == pytest.approx(30)


def test_how_long_the_missing_runs_would_take_in_words():
    todo = [RunSpec(model="fixed", steps=5000, seed=seed) for seed in range(2 * os.cpu_count())]
    assert PACE.describe(todo).startswith("about 2 minutes with ")
    assert PACE.describe(todo * 100).startswith("about 3.3 hours with ")
    assert PACE.describe(todo, 100).startswith(f"less than two minutes with {len(todo)} ")
    assert PACE.describe([]) == "nothing to train"


def test_a_model_without_records_has_the_pace_of_the_repositorys_records():
    runs = pd.read_csv(RUNS_CSV).query("model == 'adaptive' and steps * points >= 1e6")
    pace = runs["seconds"] / (runs["steps"] * runs["points"])
    assert PACE.seconds([RunSpec()]) == pytest.approx(pace.median() * 5000 * 2000)


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


def verdicts(sample, folder):
    return set(audit(sample, folder=folder)["verdict"])


def test_audit_confirms_good_records(trained):
    found = audit(4, folder=trained)
    assert set(found["verdict"]) == {"identical"}
    assert set(found["key"]) <= set(Store(trained).load())


@pytest.fixture
def forged(trained, tmp_path):
    """A folder with one record, of which the error was altered."""
    record = Store(trained).load()[FIRST.key]
    record["metrics"]["rel_l2_u"] *= 0.9
    write(tmp_path / "forged", record)
    return tmp_path / "forged"


def test_audit_finds_a_forged_error(forged):
    assert verdicts(1, forged) == {"MISMATCH"}


@pytest.mark.parametrize(
    "part, value",
    [
        ("status", "diverged"),
        ("nodes", 7),
        ("history", {"update": [5], "physics": [2.0], "velocity": [0.1]}),
        ("parameters", "AAAA"),
        ("parameters_sha256", "0" * 16),
    ],
)
def test_audit_compares_every_part(trained, tmp_path, part, value):
    record = Store(trained).load()[FIRST.key]
    write(tmp_path, record | {part: value})
    assert verdicts(1, tmp_path) == {"MISMATCH"}


def test_where_and_how_fast_a_record_was_made_does_not_matter(trained, tmp_path):
    record = Store(trained).load()[FIRST.key]
    write(tmp_path, record | {"made": {"cpu": "another"}, "seconds": 1e3})
    assert verdicts(1, tmp_path) == {"identical"}


def test_records_of_older_numerics_are_not_audited(trained, tmp_path):
    first, second, *_ = Store(trained).load().values()
    write(tmp_path, first | {"numerics": 1})
    with pytest.raises(ValueError, match=r"^numerics=\[1\] is not allowed"):
        audit(1, folder=tmp_path)
    write(tmp_path, second)
    assert audit(2, folder=tmp_path)["key"].tolist() == [second["key"]]


def test_runs_with_lbfgs_are_not_audited(trained, tmp_path):
    (result,) = pinnlib.train(RunSpec(precision="float64", lbfgs=2, **TINY))
    write(tmp_path, record_of(result, {}))
    with pytest.raises(ValueError, match="^records=.* without L-BFGS"):
        audit(1, folder=tmp_path)
    other = Store(trained).load()[FIRST.key]
    write(tmp_path, other)
    assert audit(2, folder=tmp_path)["key"].tolist() == [FIRST.key]


ELSEWHERE = {"made": {"cpu": "another"}, "seconds": 1e3}


def test_equal_folders_of_records_agree(trained, tmp_path):
    for record in Store(trained).load().values():
        write(tmp_path, record | ELSEWHERE)
    total = f"{len(SPECS)} of {len(SPECS)}"
    line = compare_records(tmp_path, trained)
    assert line == f"{total} records are identical to the committed ones, to the bit"


def test_a_difference_between_folders_is_named(trained, tmp_path):
    first, second, *_ = Store(trained).load().values()
    write(tmp_path, first, second | {"parameters_sha256": "0" * 16})
    line = compare_records(tmp_path, trained)
    assert line.startswith("1 of 2 records are identical")
    assert line.endswith(f"; MISMATCH: {second['key']}")


def test_only_runs_with_fixed_bits_are_compared(trained, tmp_path):
    first, second, *_ = Store(trained).load().values()
    (result,) = pinnlib.train(RunSpec(precision="float64", lbfgs=2, **TINY))
    refined = record_of(result, {})
    failed = failure_of(RunSpec(**second["spec"]), RuntimeError("no"), {})
    write(tmp_path / "committed", first, second, refined)
    write(tmp_path / "own", first | {"numerics": 1}, failed, refined)
    assert compare_records(tmp_path / "own", tmp_path / "committed") == ""


def test_a_record_with_altered_parameters_is_refused(trained):
    record = Store(trained).load()[FIRST.key]
    record["parameters"] = record["parameters"].swapcase()
    with pytest.raises(ValueError, match=f"^record {FIRST.key}"):
        result_of(record)


@pytest.mark.slow
def test_the_command_fails_if_a_record_is_forged(forged, trained):
    write(forged, *Store(trained).load().values())  # the forged record stays
    command = [sys.executable, "-m", "pinnlib", "audit", "--sample", "99", "--records", forged]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    _, *lines, summary = done.stdout.splitlines()
    wrong = [line for line in lines if line.endswith(" MISMATCH")]
    assert len(lines) == len(SPECS)
    assert len(wrong) == 1
    assert wrong[0].startswith(FIRST.key)
    assert summary.endswith(f": {len(SPECS) - 1} identical, 1 MISMATCH")


def test_audit_names_what_is_not_on_record(trained, tmp_path):
    with pytest.raises(ValueError, match="^records="):
        audit(1, folder=tmp_path)
    with pytest.raises(ValueError, match="^model='baseline' is not allowed"):
        audit(1, ["baseline"], folder=trained)


def test_the_committed_records_are_sound_and_small():
    records, damaged, foreign = Store().scan()
    assert records
    assert not damaged
    assert not foreign
    assert sum(path.stat().st_size for path in RECORDS.glob("*.jsonl")) < 30e6
    asked = {spec.key for spec in specs_of(*STUDIES)}
    assert set(records) <= asked
    assert len(records) > 100
