"""The Levenberg–Marquardt runs of the gate study: which are made, kept and read."""

import pandas as pd
import pytest

from pinnlib.report import second_order


def test_three_of_ten_seeds_continue(monkeypatch):
    calls = []

    def minimised_runs(specs, *rest):
        calls.append((specs, *rest))
        return len(calls)

    monkeypatch.setattr(second_order, "minimised_runs", minimised_runs)
    assert second_order.minimise_gate_study(20, 6, 60, "known", print) == 2
    (longer, *first), (others, *second) = calls
    assert first == [(6, 12, 24), 60, "known", print]
    assert second == [(6,), 60, 1, print]
    assert {spec.model for spec in longer} == {"adaptive"}
    assert {spec.seed for spec in longer} == {0, 1, 2}
    assert len(longer) == 3 * 2 * 4
    assert len({*longer, *others}) == len(longer) + len(others)
    assert len(longer) + len(others) == 2 * 2 * 4 * 10
    assert {spec.seed for spec in others if spec.model == "fixed"} == {*range(10)}


def test_with_two_seeds_all_of_the_adaptive_trunk_continue(monkeypatch):
    calls = []
    monkeypatch.setattr(second_order, "minimised_runs", lambda specs, *_: calls.append(specs))
    second_order.minimise_gate_study(2, 6, 60)
    longer, others = calls
    assert {spec.model for spec in others} == {"fixed"}
    assert len(longer) == 2 * 2 * 4
    assert len(others) == 2 * 2 * 4


def test_minimised_runs_are_read_for_the_seeds_and_rounds_asked_for(tmp_path):
    path = tmp_path / "table.csv"
    table = pd.DataFrame({"k": 20.0, "seed": [0, 1, 5], "rounds": 6})
    table.to_csv(path, index=False)
    assert second_order.read_minimised_runs(path, 5, 6)["seed"].tolist() == [0, 1]
    with pytest.raises(ValueError, match="^rounds=3"):
        second_order.read_minimised_runs(path, 5, 3)
