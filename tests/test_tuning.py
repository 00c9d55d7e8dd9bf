"""The choices on the tuning seeds: what is written, and that the committed file has it."""

import json
import math

import pytest

from pinnlib.paths import RECORDS
from pinnlib.report import tuning
from pinnlib.runs.store import Store
from pinnlib.runs.studies import FOUR_K, RATES, TUNED, TUNED_FILE
from pinnlib.runs.table import missing, runs_of, specs_of


def error(spec):
    """Grows with the distance of the rate from 1e-3, or with decay from 1e-2; more at large k."""
    best = 1e-2 if spec.schedule == "cosine" else 1e-3
    distance = abs(math.log(spec.lr / best))
    penalty = 0.2 if spec.schedule == "cosine" else 0.1
    return penalty + distance * (1 + spec.k / 100)


def record(spec, status="ok"):
    metrics = {"rel_l2_u": error(spec)} if status == "ok" else {}
    known = {"key": spec.key, "spec": spec.overrides, "status": status}
    return known | {"numerics": 1, "metrics": metrics}


@pytest.fixture(scope="module")
def by_study():
    return {study: specs_of(study) for study in tuning.TUNING}


@pytest.fixture(autouse=True)
def made_once(monkeypatch, by_study):
    """The same specs again, since it takes seconds to make them."""

    def known_specs(*studies):
        return [spec for study in studies for spec in by_study[study]]

    monkeypatch.setattr(tuning, "specs_of", known_specs)


@pytest.fixture(scope="module")
def specs(by_study):
    return [spec for part in by_study.values() for spec in part]


@pytest.fixture(scope="module")
def records(specs):
    return {spec.key: record(spec) for spec in specs}


@pytest.fixture
def pendulum(by_study, records):
    """The table of the tuning runs of the pendulum."""
    specs = [spec for study in tuning.PENDULUM for spec in by_study[study]]
    return runs_of(specs, records)


def test_the_choices_have_every_setting_of_the_file(records):
    rates = tuning.choices(tuning.tuning_runs(records))["rates"]
    assert len(rates) == 6 + 4 + 4 + 3 * 4
    assert list(rates["spring_pendulum gated exp mse lambda_ic=0"]) == ["20", "60"]
    assert list(rates["van_der_pol gated exp balanced"]) == ["0.5", "1", "2", "5"]
    assert set(rates["quartic gated linear mse"].values()) == {1e-3}
    assert set(rates["spring_pendulum gated exp(alpha=2.0) mse"].values()) == {1e-3}
    assert list(rates["spring_pendulum soft none mse"]) == [str(k) for k in FOUR_K]


def test_the_recipe_is_chosen_among_both_schedules(pendulum):
    assert set(tuning.recipe_runs(pendulum)["k"]) == set(FOUR_K)
    assert set(tuning.recipe_runs(pendulum)["lambda_ic"]) == {50}
    assert set(tuning.recipe_runs(pendulum)["schedule"]) == {"constant", "cosine"}
    recipe = tuning.choices(pendulum)["recipe"]
    assert recipe["schedule"] == "constant"
    assert recipe["lr"] == 1e-3
    better = pendulum["schedule"] == "cosine"
    pendulum.loc[better, "rel_l2_u"] /= 10
    recipe = tuning.choices(pendulum)["recipe"]
    assert recipe["schedule"] == "cosine"
    assert recipe["lr"] == 1e-2


def test_a_missing_run_is_an_error(records):
    fewer = dict(list(records.items())[1:])
    with pytest.raises(ValueError, match="records"):
        tuning.tuning_runs(fewer)


def test_a_rate_that_diverges_is_not_chosen(pendulum):
    usual = pendulum["lr"] == 1e-3
    pendulum.loc[usual, "status"] = "diverged"
    rates = tuning.choices(pendulum)["rates"]
    assert 1e-3 not in rates["spring_pendulum gated exp mse"].values()


def test_the_file_is_json_in_a_stable_order(monkeypatch, tmp_path, records):
    texts = []
    for some in (records, dict(reversed(records.items()))):
        monkeypatch.setattr(Store, "load", lambda _, some=some: some)
        path = tmp_path / "tuned.json"
        chosen = tuning.save_choices(tmp_path, path)
        texts.append(path.read_text())
        assert json.loads(texts[-1]) == chosen
    assert texts[0] == texts[1]
    assert texts[0].startswith('{\n "rates": {\n  "henon_heiles gated exp balanced": {\n   "1":')


def test_runs_that_are_not_all_are_not_compared(pendulum):
    assert tuning.compare_with_file(pendulum[1:]).startswith("Not compared")
    pendulum.loc[0, "status"] = "missing"
    assert tuning.compare_with_file(pendulum).startswith("Not compared")


def test_the_file_is_compared_setting_by_setting(monkeypatch, pendulum):
    chosen = tuning.choices(pendulum)
    monkeypatch.setattr(tuning, "TUNED", chosen)
    assert "is what the rules choose" in tuning.compare_with_file(pendulum)
    name = "spring_pendulum gated exp mse"
    other = chosen["rates"] | {name: {"20": RATES[0]}}
    monkeypatch.setattr(tuning, "TUNED", {"rates": other, "recipe": {}})
    assert tuning.compare_with_file(pendulum).endswith(f"choose: {name}, recipe.")


def test_the_committed_file_is_what_the_rules_choose(specs):
    records = Store(RECORDS).load()
    if missing(specs, records):
        pytest.skip("some tuning runs are not on record")
    assert tuning.choices(tuning.tuning_runs(records)) == TUNED
    assert json.loads(TUNED_FILE.read_text()) == TUNED
