"""Figures of optimisers and costs: series, medians and labels."""

import pandas as pd
import pytest
from matplotlib import pyplot as plt
from test_optimiser_answers import BENCHMARK, KS, METHODS

from pinnlib.report import optimiser_figures
from pinnlib.report.optimiser_answers import ADAM, NEWTON, REFINED, cost_points

STILL = pd.DataFrame({"k": map(float, KS), "rel_l2_u": 0.2, "rel_l2_theta": 1.0})


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def counts(axis):
    """Points of every line."""
    return [len(line.get_xdata()) for line in axis.lines]


def texts(axis):
    return [text.get_text() for text in axis.texts]


def drawn(axis, marker):
    """Heights of the medians with this marker."""
    lines = [line for line in axis.lines if line.get_marker() == marker]
    return [line.get_ydata()[0] for line in lines if len(line.get_xdata())]


def test_refinement_has_seeds_and_medians_of_every_method_and_gate():
    figure = optimiser_figures.plot_refinement(METHODS, STILL)
    for axis, factor in zip(figure.axes, (1, 5), strict=True):
        assert counts(axis).count(10) == 24  # seeds of three methods, two gates and four k
        medians = drawn(axis, "o")
        assert medians == pytest.approx([factor * e * 1.0045 for e in [0.1] * 4 + [0.4] * 4])
    (legend,) = figure.legends
    assert len(legend.texts) == 6


def test_refinement_without_newton_runs():
    methods = METHODS | {NEWTON: METHODS[NEWTON][:0]}
    figure = optimiser_figures.plot_refinement(methods, STILL)
    assert drawn(figure.axes[0], "^") == []
    assert len(drawn(figure.axes[0], "s")) == 8


def test_costs_name_every_method_and_the_tolerances():
    points = cost_points(METHODS, BENCHMARK)
    figure = optimiser_figures.plot_costs(points, STILL, (20, 60))
    assert figure.axes[2].get_ylabel() == "relative $L^2$ error\nof the angle"
    first, second, *_ = figure.axes
    named = [ADAM, REFINED, NEWTON]
    assert texts(first) == [*named, "standing still", "exp gate", "linear gate"]
    solver = ["DOP853, rtol $10^{-3}$", "rtol $10^{-9}$"]
    assert texts(second) == [*named, *solver, "standing still"]
    (curve,) = [line for line in second.lines if line.get_marker() == "D"]
    assert list(curve.get_xdata()) == [0.01, 0.05]
    assert second.get_xscale() == second.get_yscale() == "log"
    left, right = second.get_xlim()
    assert left < 0.01
    assert right > 20


def test_costs_without_a_benchmark_show_what_was_trained():
    points = cost_points(METHODS, {})
    figure = optimiser_figures.plot_costs(points, STILL, (20, 60))
    assert texts(figure.axes[1]) == [ADAM, REFINED, "standing still"]
    points_of = counts(figure.axes[1])
    assert points_of[:8] == [10, 1] * 4  # seeds and median
    assert points_of[8:12] == [0, 0] * 2


@pytest.mark.filterwarnings("error::RuntimeWarning", "error::UserWarning")
def test_without_any_run_only_standing_still_is_drawn():
    nothing = {name: runs.assign(status="missing") for name, runs in METHODS.items()}
    optimiser_figures.plot_refinement(nothing, STILL).draw_without_rendering()
    points = cost_points(nothing, {})
    figure = optimiser_figures.plot_costs(points, STILL, (20, 60))
    figure.draw_without_rendering()
    assert texts(figure.axes[1]) == ["standing still"]
