"""Figures of notebook 07: every mark stands where its table says, in its colour and fill."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color

from pinnlib.report import loss_figures
from pinnlib.report.loss_measurements import ERRORS, theta_weight
from pinnlib.report.loss_rules import FROZEN
from pinnlib.style.figures import GATE_COLOURS

LIGHT, HEAVY = "weighted(weights=(1.0, 0.1))", "weighted(weights=(1.0, 10.0))"
LOSSES = (LIGHT, "mse", HEAVY, FROZEN, "balanced")
LAMBDAS = (0, 50)
KS = (20, 60)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def gaps():
    rows = []
    for metric, lambda_ic, k, loss in itertools.product(ERRORS, LAMBDAS, KS, LOSSES):
        row = {
            "metric": metric,
            "lambda_ic": lambda_ic,
            "k": k,
            "loss": loss,
        }
        row |= {
            "weight": theta_weight(loss),
            "ratio": 2.0,
            "low": 1.0,
            "high": 3.0,
        }
        rows.append(row | {"p_holm": 0.01 if loss == "mse" else 0.5})
    return pd.DataFrame(rows)


def seeds():
    rows = itertools.product(
        LAMBDAS,
        KS,
        LOSSES,
        range(3),
    )
    return pd.DataFrame(rows, columns=["lambda_ic", "k", "loss", "seed"]).assign(ratio=1.5)


def compared():
    rows = itertools.product(
        LAMBDAS,
        KS,
        [FROZEN, "balanced"],
    )
    ends = {
        "weight_exp_low": 1.0,
        "weight_exp_high": 10.0,
    }
    ends |= {
        "weight_linear_low": 0.1,
        "weight_linear_high": 1.0,
    }
    return pd.DataFrame(rows, columns=["lambda_ic", "k", "loss"]).assign(**ends)


def errorbars(axis):
    """(x, y, colour of the face) of every point with an interval."""
    points = [bars.lines[0] for bars in axis.containers]
    return [
        (point.get_xdata()[0], point.get_ydata()[0], point.get_markerfacecolor())
        for point in points
    ]


def test_gaps_have_a_panel_per_cell_with_three_errors_under_every_loss():
    figure = loss_figures.plot_loss_gaps(gaps(), seeds(), compared())
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[:2] == ["$k=20$, $λ=50$", "$k=60$, $λ=50$"]
    assert titles[2:] == ["$k=20$, $λ=0$", "$k=60$, $λ=0$"]
    for axis in figure.axes:
        points = errorbars(axis)
        assert len(points) == len(ERRORS) * len(LOSSES)
        assert sum(face != "white" for *_, face in points) == len(ERRORS)  # those of mse
        (dots,) = [line for line in axis.lines if line.get_marker() == "."]
        assert len(dots.get_xdata()) == 3 * len(LOSSES)


def test_lines_join_fixed_weights_only():
    axis = loss_figures.plot_loss_gaps(gaps(), seeds(), compared()).axes[0]
    lines = [line for line in axis.lines if len(line.get_xdata()) == 3 and line.get_linewidth()]
    state = lines[-1].get_xdata()
    assert state.tolist() == [0, 1, 2]


def test_bands_show_the_weights_of_the_balanced_loss_in_the_colours_of_the_gates():
    axis = loss_figures.plot_loss_gaps(gaps(), seeds(), compared()).axes[0]
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axis.patches]
    assert spans == [(1, 2), (0, 1)]
    colours = [patch.get_facecolor()[:3] for patch in axis.patches]
    for colour, gate in zip(colours, ("exp", "linear"), strict=True):
        assert same_color(colour, GATE_COLOURS[gate])


def test_the_axis_names_the_weights_and_sets_the_balancing_losses_apart():
    axis = loss_figures.plot_loss_gaps(gaps(), seeds(), compared()).axes[2]
    labels = [label.get_text() for label in axis.get_xticklabels()]
    assert labels == ["0.1", "1\nmse", "10", "frozen", "\nbalanced"]
    places = axis.get_xticks()
    assert places[3] - places[2] > places[2] - places[1]


def test_gaps_that_are_unknown_are_not_drawn():
    nothing = gaps().assign(
        ratio=np.nan,
        low=np.nan,
        high=np.nan,
    )
    figure = loss_figures.plot_loss_gaps(nothing, seeds().assign(ratio=np.nan), compared()[:0])
    figure.canvas.draw()
    assert not figure.axes[0].patches


def runs():
    rows = itertools.product(
        LAMBDAS,
        KS,
        LOSSES,
        GATE_COLOURS,
        range(3),
    )
    table = pd.DataFrame(
        rows,
        columns=["lambda_ic", "k", "loss", "gate", "seed"],
    )
    errors = dict.fromkeys(ERRORS, 0.1)
    table = table.assign(status="ok", **errors)
    table.loc[0, "status"] = "diverged"
    return table


def test_errors_are_those_of_one_penalty_with_standing_still_beside_them():
    rows = itertools.product(
        LAMBDAS,
        KS,
        LOSSES,
        GATE_COLOURS,
        ERRORS,
    )
    medians = pd.DataFrame(
        rows,
        columns=["lambda_ic", "k", "loss", "gate", "metric"],
    )
    medians = medians.assign(
        median=0.2 + medians["lambda_ic"],
        low=0.1,
        high=60.0,
    )
    still = pd.DataFrame({"rel_l2_r": 0.3, "rel_l2_theta": 1.0}, index=KS)
    figure = loss_figures.plot_loss_errors(runs(), medians, still, 0)
    assert len(figure.axes) == 4
    for axis, error in zip(figure.axes, (0.3, 0.3, 1, 1), strict=True):
        drawn = [line for line in axis.lines if line.get_marker() == "o" and len(line.get_xdata())]
        assert len(drawn) == 2 * len(LOSSES)
        assert all(line.get_ydata() == [0.2] for line in drawn)
        colours = [line.get_color() for line in drawn]
        assert set(colours) == set(GATE_COLOURS.values())
        (level,) = [line for line in axis.lines if line.get_linestyle() == ":"]
        assert set(level.get_ydata()) == {error}
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "."]
    counts = [len(line.get_xdata()) for line in dots]
    assert sorted(counts) == [2] + [3] * (2 * len(LOSSES) - 1)


def test_effective_weights_have_a_line_per_gate_and_one_for_frozen_scales():
    rows = itertools.product(
        LAMBDAS,
        KS,
        [FROZEN, "balanced"],
        GATE_COLOURS,
        (1, 500),
    )
    bands = pd.DataFrame(
        rows,
        columns=["lambda_ic", "k", "loss", "gate", "update"],
    )
    bands = bands.assign(
        weight=2.0,
        low=1.0,
        high=3.0,
    )
    figure = loss_figures.plot_effective_weights(bands)
    assert len(figure.axes) == 4
    figure.draw_without_rendering()
    ticks = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert "1" in ticks
    for axis in figure.axes:
        colours = [line.get_color() for line in axis.lines]
        assert colours == [*GATE_COLOURS.values(), "0.3"]
        assert len(axis.collections) == 2


def test_the_control_has_a_point_per_stiffness_and_loss():
    rows = itertools.product(
        (1.0, 2.0),
        ("mse", "balanced"),
    )
    table = pd.DataFrame(
        rows,
        columns=["k", "loss"],
    )
    table = table.assign(
        ratio=[2.0, 0.5, 3.0, 1.0],
        low=0.1,
        high=4.0,
        p_holm=[0.01, 0.5] * 2,
    )
    cells = itertools.product(
        (1.0, 2.0),
        ("mse", "balanced"),
        GATE_COLOURS,
        range(3),
    )
    each = pd.DataFrame(cells, columns=["k", "loss", "gate", "seed"])
    (axis,) = loss_figures.plot_loss_control(table, each.assign(status="ok", rel_l2_u=0.1)).axes
    points = errorbars(axis)
    assert [y for _, y, _ in points] == [2, 3, 0.5, 1]
    assert [round(x) for x, *_ in points] == [0, 1, 0, 1]
    assert [face == "white" for *_, face in points] == [False, False, True, True]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "2"]
