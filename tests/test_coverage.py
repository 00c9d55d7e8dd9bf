"""What notebook 02 shows of the records."""

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec, train
from pinnlib.report import coverage
from pinnlib.runs.record import record_of
from pinnlib.runs.table import specs_of


@pytest.fixture(scope="module")
def trained():
    """Two gates of the adaptive model, five updates each: (specs, records)."""
    specs = [RunSpec(gate=gate, steps=5, points=20) for gate in ("exp", "linear")]
    records = [record_of(result, {}) for result in train(specs)]
    return specs, {record["key"]: record for record in records}


def test_runs_are_counted_by_status_and_as_done_of_needed():
    specs = specs_of("main", seeds=1)
    spec = next(s for s in specs if s.model == "fixed" and s.gate == "exp" and s.k == 20)
    record = {"key": spec.key, "spec": {}, "status": "diverged", "numerics": 1}
    record["spec"] = {name: getattr(spec, name) for name in spec.__dataclass_fields__}
    runs = coverage.study_runs(["main"], {spec.key: record}, 1, spec.steps)
    counts = coverage.status_counts(runs).loc["main"]
    table = coverage.coverage_table(runs).loc[("main", 50, "fixed")]
    expected = {"ok": 0, "diverged": 1, "failed": 0, "missing": len(specs) - 1}
    assert counts.to_dict() == expected | {"needed": len(specs)}
    assert table.loc["exp", "20"] == "1/1"
    assert table.loc["linear", "20"] == "0/1"
    assert coverage.totals(["main"], {}, 1).loc["main", "missing"] == len(specs)


def test_histories_and_frequencies_are_those_of_the_records(trained):
    specs, records = trained
    history = coverage.training_histories(specs, records)
    frequencies = coverage.learned_frequencies(specs, records)
    record = records[specs[1].key]
    of_linear = frequencies[frequencies["gate"] == "linear"]
    assert set(coverage.HISTORY) == set(history)
    assert history["update"].max() == 5
    assert list(frequencies) == coverage.FREQUENCY
    assert of_linear["learned"].tolist() == record["frequencies"]
    assert of_linear["start"].tolist() == specs[1].trunk.start.tolist()


def test_runs_without_a_record_give_empty_tables(trained):
    specs, _ = trained
    assert list(coverage.training_histories(specs, {})) == coverage.HISTORY
    assert list(coverage.learned_frequencies(specs, {})) == coverage.FREQUENCY


def test_learning_curves_are_medians_over_seeds():
    rows = {"model": "adaptive", "gate": "exp", "k": 20, "seed": [0, 1, 2], "update": 1}
    history = pd.DataFrame(rows | {"rms_r": [1.0, 2.0, 9.0], "rms_theta": 1.0})
    with_runs, without, *_ = coverage.plot_learning_curves(history, (20, 60)).axes
    (line,) = with_runs.lines
    assert line.get_ydata().tolist() == [2]
    assert line.get_label() == "adaptive, exp (n=3)"
    assert [text.get_text() for text in without.texts] == ["no runs on record"]


def test_the_shift_is_learned_minus_initial():
    rows = {"gate": "exp", "k": 20, "seed": [0, 1, 2], "number": 0, "start": 4.0}
    table = pd.DataFrame(rows | {"learned": [5.0, 6.0, 9.0]})
    axis, without = coverage.plot_frequency_shift(table, (20, 60)).axes
    dots, median, own = axis.lines
    assert dots.get_ydata().tolist() == [1, 2, 5]
    assert median.get_ydata().tolist() == [2]
    assert own.get_xdata()[0] == pytest.approx(np.sqrt(20))
    assert [text.get_text() for text in without.texts] == ["no runs on record"]
