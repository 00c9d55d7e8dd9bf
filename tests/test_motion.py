"""The motion without a network: frequencies, accuracy and figures, by hand."""

import numpy as np
import pytest

from pinnlib import RunSpec, SpringPendulum
from pinnlib.reference import Reference
from pinnlib.report import motion

SPECS = {k: RunSpec(k=k) for k in (20, 60)}


def test_spectrum_finds_the_frequency_and_its_share():
    t = np.arange(0, 100, 0.01)
    omega, share = motion.power_spectrum(3 + np.sin(20 * t) + 2 * np.cos(4 * t), 0.01)
    assert omega[share.argmax()] == pytest.approx(4, abs=0.05)
    assert share[omega > 15].sum() == pytest.approx(1 / 5, abs=1e-3)


def test_the_resonance_is_where_the_spring_beats_twice_as_fast_as_the_pendulum():
    k = motion.resonance(SpringPendulum())
    table = motion.small_motions({k: RunSpec(k=k), 20.0: RunSpec(k=20)})
    assert k == pytest.approx(29.43)
    assert table["ratio"].tolist() == pytest.approx([2, np.sqrt(20 * (1 + 9.81 / 20) / 9.81)])


def test_shares_of_power_beyond_a_frequency_by_hand():
    """Amplitude 3 at 20 rad/s has 9/13 of the power, beside amplitude 2 at 4 rad/s."""
    t = np.arange(0, 200, 0.01)
    tones = 2 * np.sin(4 * t) + 3 * np.sin(20 * t)
    q = np.array([5 + tones, 0.1 * np.sin(3 * t)])
    made = Reference(t, q, np.zeros_like(q), 0.0)
    row = motion.motion_frequencies({20.0: RunSpec(k=20)}, {20.0: made}, 0.01, top=15).iloc[0]
    assert row["above_r"] == pytest.approx(9 / 13, abs=1e-3)
    assert row["above_theta"] < 1e-6
    assert row["peak_r"] == pytest.approx(20, abs=0.05)
    assert row["peak_theta"] == pytest.approx(3, abs=0.05)
    assert row["omega_r"] == pytest.approx(np.sqrt(20))


def test_a_tighter_tolerance_is_more_accurate():
    table = motion.accuracy_table({20.0: RunSpec(k=20)}, [1e-6, 1e-8, 1e-12]).set_index("rtol")
    assert table["difference"].is_monotonic_decreasing
    assert table["difference"].iloc[-1] == 0
    assert 0 < table["difference"].iloc[1] < 1e-6
    assert table["energy_drift"].is_monotonic_decreasing


def test_largest_values_are_those_of_the_reference():
    table = motion.largest_values(SPECS)
    r, theta = SPECS[60].reference.q
    assert list(table.columns) == [20, 60]
    assert table.loc["largest |theta| [rad]", 60] == np.abs(theta).max()
    assert table.loc["width of the path [m]", 60] == np.ptp(r * np.sin(theta))


def test_the_trajectory_table_keeps_every_nth_point():
    table = motion.trajectory_table(SPECS, every=10)
    last = table[table["k"] == 60].iloc[-1]
    reference = SPECS[60].reference
    assert len(table) == 2 * 200
    assert last["t"] == reference.t[1990]
    assert last["theta_t"] == reference.v[1, 1990]


def test_the_path_starts_at_length_one_about_the_stretched_equilibrium():
    axes = motion.plot_paths(SPECS).axes
    start, equilibrium = axes[1].lines[1:]
    assert [axis.get_title() for axis in axes] == ["$k=20$", "$k=60$"]
    assert np.hypot(start.get_xdata()[0], start.get_ydata()[0]) == pytest.approx(1)
    assert equilibrium.get_ydata()[0] == pytest.approx(-1 - 9.81 / 60)


@pytest.mark.parametrize("plot", [motion.plot_trajectories, motion.plot_phase_portraits])
def test_every_stiffness_has_a_panel_per_coordinate(plot):
    assert len(plot(SPECS).axes) == 4


def test_the_tolerance_that_is_used_is_thick():
    table = motion.accuracy_table(SPECS, [1e-8, 1e-10, 1e-12])
    lines = motion.plot_accuracy(table, 29.4).axes[1].lines
    assert [line.get_label() for line in lines if line.get_linewidth() == 2] == ["rtol 1e-10"]
