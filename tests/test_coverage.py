"""What notebook 02 shows of the records."""

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec, train
from pinnlib.report import coverage
from pinnlib.runs.record import record_of, result_of
from pinnlib.runs.table import specs_of

SPECS = [
    RunSpec(gate="exp", steps=5, points=20),
    RunSpec(gate="linear", steps=5, points=20),
]


@pytest.fixture(scope="module")
def records():
    """Two gates of the adaptive model, five updates each."""
    made = [record_of(result, {}) for result in train(SPECS)]
    return {record["key"]: record for record in made}


MAIN = specs_of("main", seeds=1)
CELL = {"model": "fixed", "gate": "exp", "k": 20}


@pytest.fixture(scope="module")
def one_of_main():
    """The runs of the main study with one seed, of which one diverged and no other was made."""
    spec = next(spec for spec in MAIN if spec.select(*CELL) == CELL)
    record = {
        "key": spec.key,
        "spec": spec.overrides,
        "status": "diverged",
        "numerics": 1,
    }
    return coverage.study_runs(["main"], {spec.key: record}, 1, spec.steps)


def test_runs_are_counted_by_status(one_of_main):
    counts = coverage.status_counts(one_of_main)
    assert counts.loc["main"].to_dict() == {
        "ok": 0,
        "diverged": 1,
        "failed": 0,
        "missing": len(MAIN) - 1,
        "needed": len(MAIN),
    }


def test_runs_are_counted_as_done_of_needed(one_of_main):
    table = coverage.coverage_table(one_of_main)
    cell = table.loc[("main", 50, "fixed"), "20"]
    assert cell["exp"] == "1/1"
    assert cell["linear"] == "0/1"


def test_the_picture_has_a_cell_per_model_and_stiffness(one_of_main):
    (axis,) = coverage.plot_coverage(one_of_main).axes
    cells = {text.get_position(): text for text in axis.texts}
    rows = [label.get_text().split(",")[0] for label in axis.get_yticklabels()]
    cell = cells[1, rows.index("main: fixed")]
    assert len(cells) == 3 * 6
    assert cell.get_text() == "1/2"
    assert axis.get_title(loc="left") == f"{len(MAIN) - 1} runs are missing"


def test_a_complete_study_says_so(one_of_main):
    complete = {"main": one_of_main["main"].assign(status="ok")}
    (axis,) = coverage.plot_coverage(complete).axes
    assert {text.get_text() for text in axis.texts} == {"2"}
    assert axis.get_title(loc="left") == "Every run is on record"


@pytest.mark.parametrize(
    "status, words",
    [
        ("missing", f"and {len(MAIN)} of them are not on record."),
        ("ok", "and all of them are on record. No run diverged and none failed among the"),
        ("diverged", f"{len(MAIN)} diverged and 0 failed among the {len(MAIN)} runs"),
    ],
)
def test_the_answer_counts_the_runs(one_of_main, status, words):
    runs = one_of_main["main"].assign(status=status)
    text = coverage.coverage_answer({"main": runs, "again": runs}, runs, runs[:0])
    assert f"The 2 studies need {len(MAIN)} distinct runs" in text
    assert words in text


@pytest.mark.parametrize(
    "verdicts, words",
    [
        (["identical", "identical"], "2 drawn at random and trained again here came out as"),
        (["identical", "MISMATCH"], "did not all come out as recorded (1 did not)"),
    ],
)
def test_the_answer_has_the_audit(one_of_main, verdicts, words):
    checked = pd.DataFrame({"verdict": verdicts})
    runs = one_of_main["main"]
    assert words in coverage.coverage_answer(one_of_main, runs, checked)


def test_the_early_fall_is_that_of_the_slowest_residual():
    history = pd.DataFrame({"update": [1, 10, 100], "rms_r": [100.0, 10.0, 1.0], "rms_theta": 1.0})
    history["rms_theta"] = [100.0, 1.0, 1.0]
    sentence = coverage.early_fall_sentence(history.assign(k=20, gate="exp"))
    assert sentence.startswith("At least 50% of the fall")


def test_without_records_all_runs_are_missing():
    totals = coverage.totals(["main"], {}, 1)
    assert totals.loc["main", "missing"] == len(MAIN)


def test_histories_are_those_of_the_records(records):
    history = coverage.training_histories(SPECS, records)
    assert set(history) == set(coverage.HISTORY)
    assert history["update"].max() == 5


def test_frequencies_are_those_of_the_records(records):
    _, linear = SPECS
    table = coverage.learned_frequencies(SPECS, records)
    of_linear = table[table["gate"] == "linear"]
    assert list(table) == coverage.FREQUENCY
    assert of_linear["learned"].tolist() == result_of(records[linear.key]).frequencies.tolist()
    assert of_linear["start"].tolist() == linear.trunk.initial_frequencies.tolist()


def test_runs_without_a_record_give_empty_tables():
    assert list(coverage.training_histories(SPECS, {})) == coverage.HISTORY
    assert list(coverage.learned_frequencies(SPECS, {})) == coverage.FREQUENCY


def test_learning_curves_are_medians_over_seeds():
    history = pd.DataFrame(
        {
            "model": "adaptive",
            "gate": "exp",
            "k": 20,
            "seed": [0, 1, 2],
            "update": 1,
            "rms_r": [1.0, 2.0, 9.0],
            "rms_theta": 1.0,
        }
    )
    with_runs, without, *_ = coverage.plot_learning_curves(history, (20, 60)).axes
    (line,) = with_runs.lines
    (note,) = without.texts
    assert line.get_ydata().tolist() == [2]
    assert [text.get_text() for text in with_runs.texts] == ["exponential gate (3 seeds)"]
    assert note.get_text() == "no runs on record"


def test_the_shift_is_learned_minus_initial():
    table = pd.DataFrame(
        {
            "gate": "exp",
            "k": 20,
            "seed": [0, 1, 2],
            "number": 0,
            "start": 4.0,
            "learned": [5.0, 6.0, 9.0],
        }
    )
    with_runs, without = coverage.plot_frequency_shift(table, (20, 60)).axes
    dots, median, spring = with_runs.lines
    *_, note = without.texts
    assert dots.get_ydata().tolist() == [1, 2, 5]
    assert median.get_ydata().tolist() == [2]
    assert spring.get_xdata()[0] == pytest.approx(np.sqrt(20))
    assert note.get_text() == "no runs on record"
