"""The accuracy of the reference solutions, and the files that notebook 01 adds."""

import json

import pandas as pd
import pytest

from pinnlib import Problem, RunSpec, SpringPendulum
from pinnlib.reference import INDEX, read_reference, solve
from pinnlib.report import reference_solutions

START = ((1.0, 0.2), (0.0, 0.0))
SHORT = Problem(SpringPendulum(k=41.5), *START, horizon=1.0)  # not on file
STUDIED = reference_solutions.studied_problems()


@pytest.fixture
def folder(tmp_path):
    """A folder with one file."""
    reference_solutions.save_reference(SHORT, tmp_path)
    return tmp_path


def test_energy_drift_notices_damping():
    system = SpringPendulum(k=20.0, c_r=0.1, c_theta=0.1)
    damped = solve(Problem(system, *START))
    assert reference_solutions.energy_drift(system, damped) > 1e-3


def test_a_tighter_tolerance_is_more_accurate():
    table = reference_solutions.accuracy_table({20.0: RunSpec(k=20)}, [1e-6, 1e-8, 1e-12])
    loose, middle, tight = table.sort_values("rtol", ascending=False)["difference"]
    assert loose > middle
    assert 0 < middle < 1e-6
    assert tight == 0
    assert table["energy_drift"].is_monotonic_decreasing


def test_every_stiffness_of_the_paper_is_studied():
    assert {problem.system.k for problem in STUDIED} >= set(range(10, 140, 10))


def test_a_file_is_never_computed_again(folder):
    path = folder / SHORT.file
    before = path.stat().st_mtime_ns
    reference_solutions.save_reference(SHORT, folder)
    assert path.stat().st_mtime_ns == before
    assert [*json.loads((folder / INDEX).read_text())] == [SHORT.file]


def test_a_second_problem_joins_the_first(folder):
    other = SHORT._replace(velocity=(0.0, 0.5))
    reference_solutions.save_reference(other, folder)
    assert read_reference(other, folder).on_file
    assert read_reference(SHORT, folder).on_file
    index = json.loads((folder / INDEX).read_text())
    assert [*index] == [SHORT.file, other.file]
    assert index[other.file]["problem"] == str(other)
    assert index[other.file]["solver"] == "DOP853, rtol 1e-10, atol 1e-12, 2000 points"


def test_notebook_01_keeps_what_is_on_file_and_adds_what_is_not(tmp_path):
    table = reference_solutions.keep_references([STUDIED[0], SHORT], tmp_path)
    assert table["file"].tolist() == [STUDIED[0].file, SHORT.file]
    assert (table["difference"] < reference_solutions.NEGLIGIBLE).all()
    assert [path.name for path in tmp_path.glob("*.npy")] == [SHORT.file]


def test_a_file_that_differs_from_a_new_solution_is_noticed(tmp_path, monkeypatch):
    wrong = solve(SHORT._replace(position=(1.0, 0.2001)))
    monkeypatch.setattr(reference_solutions, "read_reference", lambda problem: wrong)
    (difference,) = reference_solutions.keep_references([SHORT], tmp_path)["difference"]
    assert difference > reference_solutions.NEGLIGIBLE


SMALL = pd.DataFrame({"k": [10, 20, 130], "theta_max": [0.2, 0.557, 0.208]})
POWER = pd.DataFrame(
    {
        "k": [20, 60],
        "omega_r": [4.5, 7.7],
        "above_r": [1e-6, 2e-6],
        "above_theta": [1e-7, 8.46e-6],
        "above_r_tt": [1e-4, 1e-4],
        "above_theta_tt": [0.002, 0.006],
    }
)
ACCURACY = pd.DataFrame(
    {
        "rtol": [1e-8, 1e-10, 1e-10],
        "energy_drift": [1.0, 1.2e-9, 1e-10],
        "difference": [1.0, 1e-10, 1e-9],
    }
)
FILES = pd.DataFrame({"file": ["a", "b"], "difference": [0.0, 1e-12]})


def test_the_numbers_are_the_largest_at_the_tolerance_used():
    assert reference_solutions.reference_numbers(29.43, POWER, ACCURACY) == {
        "resonance_k": 29.43,
        "largest_share_above_trunk": 8.5e-6,
        "largest_acceleration_share_above_trunk": 0.006,
        "largest_reference_energy_drift": 1.2e-9,
        "largest_reference_difference": 1e-9,
    }


@pytest.mark.parametrize(
    "top, difference, words",
    [
        (15, 0.0, "reaches 0.56 rad at $k$ = 20"),
        (15, 0.0, "every file in `data/reference/` agrees"),
        (15, 1.0, "only 1 of 2 files in `data/reference/`"),
        (15, 0.0, "reach the motion at every $k$: at most 8.5e-06"),
        (7, 0.0, "do not reach the motion at $k$ = 60"),
    ],
)
def test_the_answer_fits_every_outcome(top, difference, words):
    numbers = reference_solutions.reference_numbers(29.43, POWER, ACCURACY)
    files = FILES.assign(difference=[0.0, difference])
    assert words in reference_solutions.reference_answer(SMALL, POWER, files, numbers, top)
