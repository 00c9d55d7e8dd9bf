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
    assert "after 700 updates" in end.get_title()
    np.testing.assert_allclose(lines(end)["exp, $k=60$"][1], 240 * ntk.GRID)
    assert "median of 3 seeds" in figure.get_supxlabel()


def test_scalars_are_medians_in_their_own_digits_and_only_those_that_there_are():
    table = pd.DataFrame(
        {
            "gate": ["exp", "exp", "exp", "linear"],
            "rank": [3, 9, 4, 7],
            "condition": [1e3, 2e13, 1e20, 5.0],
            "trace": 1.0,
        }
    )
    found = kernel_figures.scalars(table, ["gate"])
    assert found.to_dict("index") == {
        "exp": {"condition": "2e+13", "rank": "4"},
        "linear": {"condition": "5e+00", "rank": "7"},
    }
    found = kernel_figures.scalars(table.assign(share_raw=0.12345), ["gate"])
    assert found["share_raw"].tolist() == ["0.123", "0.123"]


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
    assert lines(ranks)["exp, $k=100$"][1].tolist() == [101, 108, 141]
    assert lines(balanced)["exp, $k=20$"][1].tolist() == [-20, -27, -60]
    assert [label.get_text() for label in ranks.get_xticklabels()] == ["0", "7", "40"]
    assert eigenvalues.get_legend().get_title().get_text() == "$k=60$"


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
        "exp, $k=20$",
        "linear, $k=20$",
        "exp, $k=60$",
        "linear, $k=60$",
    ]
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
    figure = kernel_figures.plot_predictors(found_areas(), 240)
    all_pairs, within = figure.axes
    for axis, level in ((all_pairs, 0.2), (within, 0.5)):
        first, later = axis.containers
        assert first.get_label() == "after 0 updates"
        assert later.get_label() == "after 500 updates"
        middle = later.lines[0].get_xdata(orig=False)
        np.testing.assert_allclose(middle, level + 0.13 + np.arange(13) / 100)
        ends = np.array(later.lines[2][0].get_segments())[:, :, 0]
        np.testing.assert_allclose(ends - middle[:, None], np.tile([-0.1, 0.15], (13, 1)))
    names = [label.get_text() for label in all_pairs.get_yticklabels()]
    assert names[0] == "trace"
    assert names[3] == "effective rank"
    assert names[-1] == "share of frequencies"
    assert len(names) == 13
    assert figure.get_supxlabel().startswith("240 pairs.")
    assert "all 26 quantities" in figure.get_supxlabel()


def test_areas_in_words():
    texts = kernel_figures.predictor_texts(
        found_areas().assign(rho_within_k=-0.5, rho_low_within_k=-0.75)
    )
    assert texts.loc[10].to_dict() == {
        "update": 0,
        "quantity": "balanced_late_over_early",
        "auc_all": "0.30 [0.20, 0.45]",
        "auc_within_k": "0.60 [0.50, 0.75]",
        "rho_all": "0.30 [0.20, 0.45]",
        "rho_within_k": "-0.50 [-0.75, 0.75]",
        "p_within_k": "0.1",
    }


def test_floors_are_drawn_as_medians_against_k():
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
    drawn = lines(kernel_figures.plot_floors(floors).axes[0])
    np.testing.assert_allclose(drawn["linear: reached by training"], ([20, 60], [22, 62]))
    np.testing.assert_allclose(drawn["exp: floor, starting frequencies"][1], [2.1, 6.1])
    np.testing.assert_allclose(drawn["exp: floor, learned frequencies"][1], [0.21, 0.61])
    assert len(drawn) == 6
