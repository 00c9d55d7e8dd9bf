"""Figures of the motion and of the accuracy of its reference: they draw what the tables say."""

import numpy as np
import pandas as pd
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


def test_every_stiffness_has_a_panel_per_coordinate():
    figure = motion_figures.plot_trajectories(SPECS)
    assert len(figure.axes) == 4
    assert figure.get_suptitle() == "The swing is largest at $k=20$: 0.56 rad"


def test_the_tolerance_that_is_used_is_thick():
    table = reference_solutions.accuracy_table(SPECS, [1e-8, 1e-10, 1e-12])
    difference, drift = motion_figures.plot_accuracy(table).axes
    assert [line.get_linewidth() for line in drift.lines] == [0.9, 2, 0.9]
    assert [text.get_text() for text in drift.texts] == ["rtol 1e-08", "rtol 1e-10", "rtol 1e-12"]
    assert [text.get_text() for text in difference.texts] == ["rtol 1e-08", "rtol 1e-10"]


def test_the_largest_share_of_power_is_in_the_title():
    shares = {"above_r": 1e-6, "above_theta": 1e-5, "above_r_tt": 1e-4, "above_theta_tt": 0.02}
    table = pd.DataFrame({"k": [20, 60], **shares})
    (axis,) = motion_figures.plot_power_above(table, 15, 29.4).axes
    assert axis.get_title(loc="left") == "At most 2.0% of the power lies above 15 rad/s"
    assert axis.texts[-1].get_text() == r"$\ddot\theta$"
