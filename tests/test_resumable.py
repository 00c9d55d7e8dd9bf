"""A table that grows run by run."""

import pandas as pd

from pinnlib import RunSpec
from pinnlib.analysis.resumable import ResumableTable

COLUMNS = ["gate", "k", "seed"]
FIRST, SECOND = RunSpec(seed=0), RunSpec(seed=1)


def rows(spec, *rounds):
    return [spec.select(*COLUMNS) | {"rounds": number} for number in rounds]


def test_a_new_table_has_no_rows():
    table = ResumableTable(COLUMNS)
    assert table.rows_of(FIRST).empty
    assert table.values_of(FIRST, "rounds") == set()


def test_rows_are_appended_and_found_by_run():
    table = ResumableTable(COLUMNS)
    table.add(rows(FIRST, 6, 12))
    table.add(rows(SECOND, 6))
    assert table.frame["seed"].tolist() == [0, 0, 1]
    assert table.frame.index.tolist() == [0, 1, 2]
    assert table.rows_of(FIRST)["rounds"].tolist() == [6, 12]
    assert table.values_of(SECOND, "rounds") == {6}
    assert table.rows_of(RunSpec(gate="linear")).empty


def test_a_table_read_from_a_file_goes_on(tmp_path):
    path = tmp_path / "table.csv"
    first = ResumableTable(COLUMNS, save=lambda frame: frame.to_csv(path, index=False))
    first.add(rows(FIRST, 6))
    second = ResumableTable(COLUMNS, known=pd.read_csv(path).astype({"k": int}))
    assert second.values_of(FIRST, "rounds") == {6}
    second.add(rows(SECOND, 6))
    assert second.frame["seed"].tolist() == [0, 1]


def test_every_addition_is_saved():
    lengths = []
    table = ResumableTable(COLUMNS, save=lambda frame: lengths.append(len(frame)))
    table.add(rows(FIRST, 6, 12))
    table.add(rows(SECOND, 6))
    assert lengths == [2, 3]
