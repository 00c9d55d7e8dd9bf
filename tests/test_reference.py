"""The reference solutions: known answers, and the files that hold them."""

import dataclasses
import json
import warnings

import numpy as np
import pytest

from pinnlib import Problem, RunSpec, SpringPendulum, reference, reference_solution
from pinnlib.paths import REFERENCES
from pinnlib.reference import INDEX, NotOnFileWarning, read_reference, solve
from pinnlib.registry import UserError
from pinnlib.report import reference_solutions
from pinnlib.systems import HenonHeiles

START = ((1.0, 0.2), (0.0, 0.0))
SHORT = Problem(SpringPendulum(k=41.5), *START, horizon=1.0)  # not on file
STUDIED = reference_solutions.studied_problems()
each_studied = pytest.mark.parametrize("problem", STUDIED, ids=lambda problem: problem.file)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one file, from which the library reads."""
    reference_solutions.save_reference(SHORT, tmp_path)
    monkeypatch.setattr(read_reference, "__defaults__", (tmp_path,))
    reference_solution.cache_clear()
    yield tmp_path
    reference_solution.cache_clear()


def as_array(solution):
    return np.concatenate([solution.q, solution.v])


# Known answers


@pytest.mark.parametrize("k", [10.0, 20.0, 30.0, 60.0, 130.0])
def test_the_reference_conserves_energy(k):
    spec = RunSpec(k=k)
    solution = spec.reference
    assert reference_solutions.energy_drift(spec.system_object, solution) < 1e-8
    assert solution.q.shape == (2, 2000)
    assert solution.q[:, 0].tolist() == [1.0, 0.2]
    assert not solution.v[:, 0].any()


def test_a_vertical_pendulum_is_a_linear_oscillator_in_closed_form():
    """θ = 0 for ever: r'' = −k/m (r − L0) + g."""
    k = 37.0
    solution = solve(Problem(SpringPendulum(k=k), (1.1, 0.0), (0.3, 0.0)))
    omega = np.sqrt(k)
    centre = 1 + 9.81 / k
    cosine = (1.1 - centre) * np.cos(omega * solution.t)
    sine = 0.3 / omega * np.sin(omega * solution.t)
    r, theta = solution.q
    assert np.abs(r - centre - cosine - sine).max() < 1e-8
    assert not theta.any()


def test_the_grid_is_equally_spaced():
    t = RunSpec(k=20).reference.t
    assert t.tolist() == [i * (10 / 1999) for i in range(1999)] + [10.0]


@pytest.mark.parametrize(
    "problem, field, reason",
    [
        (Problem(HenonHeiles(k=1.0), (0.0, 9.0), (0.0, 0.0)), "problem", "no reference solution"),
        (Problem(SpringPendulum(), (1.0, 0.0), (-99.0, 0.0)), "initial_position", "r stays > 0"),
        (Problem(SpringPendulum(k=1e6), *START, 1e4), "problem", "30000 evaluations .* reach t = "),
    ],
)
def test_a_problem_without_a_usable_solution_is_refused_soon(monkeypatch, problem, field, reason):
    monkeypatch.setattr(reference, "MOST_EVALUATIONS", 30000)
    with pytest.raises(ValueError, match=f"(?s)^{field}=.*{reason}"):
        solve(problem)


def test_the_cost_of_a_reference_is_bounded(monkeypatch):
    calls = []
    acceleration = SpringPendulum.acceleration

    def count(self, q, v):
        calls.append(q)
        return acceleration(self, q, v)

    monkeypatch.setattr(SpringPendulum, "acceleration", count)
    monkeypatch.setattr(reference, "MOST_EVALUATIONS", 500)
    with pytest.raises(ValueError, match="^problem=.*500 evaluations"):
        solve(Problem(SpringPendulum(k=1e6), *START))
    assert len(calls) == 500


# The files


@each_studied
def test_every_problem_of_every_study_is_on_file(problem):
    with warnings.catch_warnings(action="error"):
        assert reference_solution(problem).on_file


@each_studied
def test_the_files_agree_with_a_new_solution(problem):
    kept = as_array(read_reference(problem))
    new = as_array(solve(problem))
    scale = np.abs(kept).max(axis=1, keepdims=True)
    assert (np.abs(new - kept) / scale).max() < 1e-9


def test_the_index_names_the_files_and_nothing_else():
    index = json.loads((REFERENCES / INDEX).read_text())
    assert sorted(index) == sorted(path.name for path in REFERENCES.glob("*.npy"))
    assert index[RunSpec(k=20).problem.file]["problem"] == str(RunSpec(k=20).problem)


def test_a_problem_that_is_not_on_file_is_computed_and_warns_once(folder):
    other = SHORT._replace(horizon=2.0)
    with pytest.warns(NotOnFileWarning, match="k=41.5.* t = 2.0") as caught:
        computed = reference_solution(other)
        again = reference_solution(other)
    assert len(caught) == 1
    assert again is computed
    assert not computed.on_file
    assert np.array_equal(as_array(computed), as_array(solve(other)))


def test_what_is_saved_is_what_is_read(folder):
    kept = reference_solution(SHORT)
    assert kept.on_file
    assert np.array_equal(as_array(kept), as_array(solve(SHORT)))
    assert kept.t.tolist() == np.linspace(0, 1, 2000).tolist()
    with pytest.raises(ValueError, match="read-only"):
        kept.q[0, 0] = 0


def test_a_damaged_file_is_named_with_its_repair(folder):
    path = folder / SHORT.file
    data = bytearray(path.read_bytes())
    data[-1] ^= 1  # one bit of the last number
    path.write_bytes(data)
    with pytest.raises(UserError, match=f"{SHORT.file}.*git checkout.*delete"):
        reference_solution(SHORT)
    path.unlink()
    assert read_reference(SHORT) is None
    reference_solutions.save_reference(SHORT, folder)
    assert read_reference(SHORT).on_file


def test_a_file_without_its_checksum_is_not_trusted(folder):
    (folder / INDEX).write_text("{}")
    with pytest.raises(UserError, match=SHORT.file):
        reference_solution(SHORT)


@dataclasses.dataclass(frozen=True)
class Twin(SpringPendulum):
    """Another system that bears the name of ours."""


Twin.__qualname__ = "SpringPendulum"


@pytest.mark.parametrize(
    "other",
    [
        SHORT._replace(system=SpringPendulum(k=41.5, g=9.8)),
        SHORT._replace(system=Twin(k=41.5)),
        SHORT._replace(position=(1.0, 0.2000000001)),
        SHORT._replace(velocity=(0.1, 0.0)),
        SHORT._replace(horizon=1.0000000001),
    ],
)
def test_another_problem_has_another_file(other):
    assert other.file != SHORT.file


def test_equal_problems_have_one_file():
    numbers = (np.float64(1.0), np.float64(0.2))
    assert Problem(SpringPendulum(k=41.5), numbers, (0, 0), 1).file == SHORT.file


@pytest.mark.parametrize("name", ["POINTS", "RTOL"])
def test_other_tolerances_have_other_files(name, monkeypatch):
    file = SHORT.file
    monkeypatch.setattr(reference, name, 7)
    assert SHORT.file != file
