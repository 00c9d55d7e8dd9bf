"""The accuracy of the reference solutions, and the files that notebook 01 adds."""

import json

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
