"""A rebuild against the committed tables, number by number."""

import subprocess

import pytest

from pinnlib.bundle.committed import compare_with_committed, first_difference

CSV = "gate,error\nexp,0.5\nlinear,\n"


@pytest.mark.parametrize(
    "rebuilt, why",
    [
        (CSV, ""),
        (CSV.replace("0.5", "5.0000000001e-1"), ""),
        (CSV.replace("0.5", "0.50001"), "column error, 0.50001 against 0.5"),
        (CSV.replace("linear,", "linear,0.1"), "column error, 0.1 against "),
        (CSV.replace("exp", "tanh"), "column gate, tanh against exp"),
        (CSV + "tanh,0.1\n", "other rows or columns"),
        (CSV.replace("error", "rel_l2_u"), "other rows or columns"),
    ],
)
def test_the_first_difference_of_a_table(rebuilt, why):
    assert first_difference(rebuilt, CSV, ".csv") == why


def test_the_first_difference_of_numbers():
    committed = '{"a": 1.5, "b": "open"}'
    assert first_difference('{"a": 1.5000000001, "b": "open"}', committed, ".json") == ""
    assert first_difference('{"a": 1.5, "b": 2}', committed, ".json") == "column b, 2 against open"
    assert first_difference('{"a": 1.5}', committed, ".json") == "other rows or columns"


def git(root, *arguments):
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *name, *arguments], cwd=root, check=True, capture_output=True)


def test_the_message_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "data" / "numbers").mkdir(parents=True)
    (tmp_path / "data" / "x.csv").write_text(CSV)
    (tmp_path / "data" / "numbers" / "03.json").write_text('{"a": 1.5}')
    assert compare_with_committed(tmp_path) == ""  # not a repository
    git(tmp_path, "init", "-q")
    assert compare_with_committed(tmp_path) == ""  # nothing committed
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    agree = "2 tables agree with the committed ones (relative 1e-06)"
    assert compare_with_committed(tmp_path) == agree
    (tmp_path / "data" / "x.csv").write_text(CSV.replace("0.5", "0.6"))
    (tmp_path / "data" / "new.csv").write_text(CSV)
    assert compare_with_committed(tmp_path) == (
        "2 of 3 tables differ from the committed ones: "
        "data/new.csv (not committed), data/x.csv (column error, 0.6 against 0.5)"
    )


def test_without_git_there_is_no_message(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compare_with_committed(tmp_path) == ""
