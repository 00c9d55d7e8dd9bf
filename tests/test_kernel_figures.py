"""The figures of notebook 05 draw what their tables say; tables beside them, by hand."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from kernel_tables import GATES, norms

from pinnlib.analysis import ntk
from pinnlib.report import jacobian_profiles, kernel_figures, kernel_predictors


@pytest.fixture(autouse=True)
def tidy():
    """No picture stays open after its test."""
    yield
    plt.close("all")


def lines(axis):
    """Label → (x, y) of the lines that the legend names."""
    return {
        line.get_label(): line.get_data()
        for line in axis.lines
        if not line.get_label().startswith("_")
    }


def dots(axis):
    """The y of the lines that it does not name."""
    return [line.get_ydata() for line in axis.lines if line.get_label().startswith("_")]


def test_the_norms_are_drawn_with_their_closed_forms_and_at_the_end():
    profile = pd.concat(
        [
            norms(lambda t: 1 + t, lambda t: t**2, seeds=3),
            norms(lambda t: 2 * t, np.zeros_like, update=700, seeds=3),
        ]
    )
    figure = kernel_figures.plot_jacobian_in_time(profile)
    closed = jacobian_profiles.closed_forms(profile, 20)
    head, frequencies, end = figure.axes
    np.testing.assert_allclose(lines(head)["linear"], (ntk.GRID, 2 + 2 * ntk.GRID))
    np.testing.assert_allclose(lines(frequencies)["exp"], (ntk.GRID, 2 * ntk.GRID**2))
    for axis, part in ((head, "head_closed"), (frequencies, "frequencies_closed")):
        np.testing.assert_allclose(dots(axis), [closed[part][gate][::6] for gate in GATES])
    assert set(lines(end)) == {f"{gate}, $k={k}$" for gate in GATES for k in (20, 60)}
    assert "700 updates" in end.get_title()
    np.testing.assert_allclose(lines(end)["exp, $k=60$"][1], 240 * ntk.GRID)
    assert "median of 3 seeds" in figure.get_supxlabel()


def test_spectra_and_ranks_are_drawn_as_medians_along_training():
    cells = list(
        itertools.product(GATES, (20, 60, 100), (0, 1, 2), (40, 0, 7))
    )  # gate, k, seed, update
    measured = pd.DataFrame(cells, columns=["gate", "k", "seed", "update"])
    measured["effective_rank"] = measured["k"] + measured["update"] + measured["seed"] ** 2
    measured["balanced_effective_rank"] = -measured["effective_rank"] + (measured["gate"] == "exp")
    values = [
        (gate, 60, seed, update, n, (1 + seed**2) / n)
        for gate, k, seed, update in cells
        if k == 60 and update != 7
        for n in (1, 2, 3)
    ]
    spectra = pd.DataFrame(values, columns=["gate", "k", "seed", "update", "number", "share"])
    figure = kernel_figures.plot_kernel_in_training(spectra, measured)
    eigenvalues, ranks, balanced = figure.axes
    assert set(lines(eigenvalues)) == {
        f"{gate}, {update} updates" for gate in GATES for update in (0, 40)
    }
    np.testing.assert_allclose(lines(eigenvalues)["linear, 40 updates"], ([1, 2, 3], [2, 1, 2 / 3]))
    assert lines(ranks)["exp"][1].tolist() == [61, 68, 101]  # the median of three k
    assert lines(balanced)["exp"][1].tolist() == [-60, -67, -100]
    assert [curve.tolist() for curve in dots(ranks)[:3]] == [
        [k + 1, k + 8, k + 41] for k in (20, 60, 100)
    ]
    assert [label.get_text() for label in ranks.get_xticklabels()] == ["0", "7", "40"]
    assert eigenvalues.get_title() == "spectrum, $k=60$"


def test_sizes_stand_in_the_column_of_their_k_and_gate():
    cells = list(itertools.product((20.0, 60.0), GATES, (0, 50), ("0–5", "5–10"), (0, 1, 2)))
    timed = pd.DataFrame(cells, columns=["k", "gate", "update", "window", "seed"])
    timed["residual"] = (
        timed["k"]
        + timed["update"]
        + (timed["gate"] == "linear")
        + 5 * (timed["window"] == "5–10")
        + timed["seed"] ** 2
    )
    axes = np.reshape(
        kernel_figures.plot_sizes_in_time(timed.assign(error=timed["residual"] / 100)).axes, (2, 4)
    )
    assert [axis.get_title() for axis in axes[0]] == [
        "exponential, $k=20$",
        "linear, $k=20$",
        "exponential, $k=60$",
        "linear, $k=60$",
    ]
    assert lines(axes[0, 3])["50 updates"][0].tolist() == [2.5, 7.5]
    assert lines(axes[0, 3])["50 updates"][1].tolist() == [112, 117]
    np.testing.assert_allclose(lines(axes[1, 0])["0 updates"][1], [0.21, 0.26])


def found_areas():
    """A table as of `kernel_predictors.predictors` at two moments; numbers identify rows."""
    table = pd.DataFrame(
        [
            {"update": update, "quantity": name}
            for update in (0, 500)
            for name in kernel_predictors.QUANTITIES
        ]
    )
    place = np.arange(len(table)) / 100
    columns = {
        f"{kind}_{scope}": place + shift
        for scope, shift in (("all", 0.2), ("within_k", 0.5))
        for kind in ("auc", "rho")
    }
    for name, scope, (end, add) in itertools.product(
        ("", "rho_"), ("all", "within_k"), (("low", -0.1), ("high", 0.15))
    ):
        columns[f"{name}{end}_{scope}"] = columns[f"auc_{scope}"] + add
    return table.assign(**columns, p_within_k=0.04 + place)


def test_areas_stand_at_their_quantity_with_their_interval():
    table = found_areas()
    table.loc[[0, 13], ["low_all", "high_all"]] = [(0.1, 0.35), (0.23, 0.48)]  # clear of 0.5
    table.loc[1:12, "high_all"] = table.loc[14:, "high_all"] = 0.7
    figure = kernel_figures.plot_predictors(table, 240)
    all_pairs, within = figure.axes
    for axis, level in ((all_pairs, 0.2), (within, 0.5)):
        first, later = axis.containers
        assert first.get_label() == "after 0 updates"
        assert later.get_label() == "after 500 updates"
        middle = later.lines[0].get_xdata(orig=False)
        np.testing.assert_allclose(middle, level + 0.13 + np.arange(13) / 100)
        ends = np.array(later.lines[2][0].get_segments())[:, 0, 0]
        np.testing.assert_allclose(ends - middle, -0.1)
    assert all_pairs.get_title() == "across stiffnesses: 2 of 26 clear of 0.5"
    solid = [line for line in all_pairs.lines if line.get_markerfacecolor() != "white"]
    filled = [line.get_xdata().tolist() for line in solid if line.get_marker() in "os"]
    np.testing.assert_allclose(filled, [[0.2], [0.33]])
    names = [label.get_text() for label in all_pairs.get_yticklabels()]
    assert names[0] == "trace"
    assert names[3] == "effective rank"
    assert names[-1] == "share of frequencies"
    assert len(names) == 13
    assert figure.get_supxlabel().startswith("240 pairs of runs.")
    assert "all 26 quantities" in figure.get_supxlabel()


def test_floors_of_state_and_angle_are_drawn_as_medians_against_k():
    rows = [
        {"gate": gate, "k": k, "reached": k + seed**2 + (gate == "linear")}
        for gate in GATES
        for k in (60, 20)
        for seed in range(3)
    ]
    floors = pd.DataFrame(rows).assign(
        floor_start=lambda table: table["reached"] / 10,
        floor_learned=lambda table: table["reached"] / 100,
    )
    for name in ("reached", "floor_start", "floor_learned"):
        floors[f"{name}_theta"] = 5 * floors[name]
    state, angle = kernel_figures.plot_floors(floors).axes
    drawn = lines(state)
    np.testing.assert_allclose(drawn["linear: reached"], ([20, 60], [22, 62]))
    np.testing.assert_allclose(drawn["exp: floor_start"][1], [2.1, 6.1])
    np.testing.assert_allclose(drawn["exp: floor_learned"][1], [0.21, 0.61])
    assert len(drawn) == 6
    np.testing.assert_allclose(lines(angle)["exp: floor_start"][1], [10.5, 30.5])
    assert [text.get_text() for text in state.texts] == [
        "trained",
        "best head,\nat the start",
        "best head,\nlearned",
    ]
