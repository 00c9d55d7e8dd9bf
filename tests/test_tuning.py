"""The choices on the tuning seeds: what is written, and that the committed file has it."""

import json
import math

import pytest

from pinnlib.paths import RECORDS
from pinnlib.report import tuning
from pinnlib.runs.store import Store
from pinnlib.runs.studies import FOUR_K, RATES, TUNED, TUNED_FILE
from pinnlib.runs.table import missing, specs_of


def error(spec):
    """Grows with the distance of log rate from −7 (with cosine −5), less at small k."""
    best = -5 if spec.schedule == "cosine" else -7
    return 0.1 + abs(math.log(spec.lr) - best) * (1 + spec.k / 100)


def record(spec, status="ok"):
    metrics = {"rel_l2_u": error(spec) if status == "ok" else None}
    known = {"key": spec.key, "spec": spec.overrides, "status": status, "numerics": 1}
    return known | {"metrics": metrics}


@pytest.fixture(scope="module")
def specs():
    return specs_of(*tuning.TUNING)


@pytest.fixture(scope="module")
def records(specs):
    return {spec.key: record(spec) for spec in specs}


def test_the_choices_have_every_setting_of_the_file(records):
    chosen = tuning.choices(tuning.tuning_runs(records))
    assert set(chosen["rates"]) >= {"spring_pendulum soft none mse", "quartic gated linear mse"}
    assert list(chosen["rates"]["van_der_pol gated exp balanced"]) == ["0.5", "1", "2", "5"]
    assert set(chosen["rates"]["spring_pendulum gated exp mse"].values()) == {1e-3}
    assert set(chosen["rates"]["spring_pendulum shifted none mse"]) == {f"{k:g}" for k in FOUR_K}


def test_the_recipe_compares_both_schedules(records):
    recipe = tuning.choices(tuning.tuning_runs(records))["recipe"]
    assert recipe["schedule"] == "constant"
    assert recipe["lr"] == pytest.approx(1e-3)
    assert list(recipe) == ["gate", "loss", "schedule", "lr"]


def test_a_missing_run_is_an_error(records):
    fewer = dict(list(records.items())[1:])
    with pytest.raises(ValueError, match="1 tuning runs missing"):
        tuning.tuning_runs(fewer)


def test_a_diverged_cell_is_not_chosen(specs):
    bad = {spec.key: record(spec, "diverged" if spec.lr == RATES[2] else "ok") for spec in specs}
    chosen = tuning.choices(tuning.tuning_runs(bad))
    assert RATES[2] not in set(chosen["rates"]["spring_pendulum gated exp mse"].values())


def test_the_file_is_written_as_json_in_a_stable_order(monkeypatch, tmp_path, records):
    written = []
    for number, some in enumerate((records, dict(reversed(records.items())))):
        monkeypatch.setattr(Store, "load", lambda _, some=some: some)
        path = tmp_path / f"{number}.json"
        chosen = tuning.save_choices(tmp_path, path)
        assert json.loads(path.read_text()) == chosen
        written.append(path.read_text())
    assert written[0] == written[1]
    assert written[0].startswith('{\n "rates": {\n  "henon_heiles gated exp balanced": {\n   "1":')


def test_the_committed_file_is_what_the_rule_chooses(specs):
    records = Store(RECORDS).load()
    if missing(specs, records):
        pytest.skip("some tuning runs are not on record")
    assert tuning.choices(tuning.tuning_runs(records)) == TUNED
    assert json.loads(TUNED_FILE.read_text()) == TUNED
