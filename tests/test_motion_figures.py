"""Figures of the motion and of the accuracy of its reference: they draw what the tables say."""

import numpy as np
import pytest
from pytest import approx

from pinnlib import RunSpec
from pinnlib.report import motion_figures, reference_solutions

SPECS = {20: RunSpec(k=20), 60: RunSpec(k=60)}


def test_the_path_starts_at_length_one_about_the_stretched_equilibrium():
    soft, stiff = motion_figures.plot_paths(SPECS).axes
    _, start, equilibrium = stiff.lines
    (x,) = start.get_xdata()
    (y,) = start.get_ydata()
    (depth,) = equilibrium.get_ydata()
    assert soft.get_title() == "$k=20$"
    assert stiff.get_title() == "$k=60$"
    assert np.hypot(x, y) == approx(1)
    assert depth == approx(-1 - 9.81 / 60)


@pytest.mark.parametrize(
    "plot", [motion_figures.plot_trajectories, motion_figures.plot_phase_portraits]
)
def test_every_stiffness_has_a_panel_per_coordinate(plot):
    assert len(plot(SPECS).axes) == 4


def test_the_tolerance_that_is_used_is_thick():
    table = reference_solutions.accuracy_table(SPECS, [1e-8, 1e-10, 1e-12])
    figure = motion_figures.plot_accuracy(table, 29.4)
    widths = {line.get_label(): line.get_linewidth() for line in figure.axes[1].lines}
    assert widths.pop("rtol 1e-10") == 2
    assert 2 not in widths.values()
