"""Motion: spectra, resonance, shares of power, accuracy of the reference."""

import numpy as np
import pytest

from pinnlib import RunSpec, SpringPendulum
from pinnlib.reference import Reference
from pinnlib.report import motion


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
    """Of two tones, amplitude 3 at 20 rad/s and 2 at 4 rad/s, the first has 9/13 of the power."""
    t = np.arange(0, 200, 0.01)
    tones = 2 * np.sin(4 * t) + 3 * np.sin(20 * t)
    made = reference_of(t, np.array([5 + tones, 0.1 * np.sin(3 * t)]))
    row = motion.motion_frequencies({20.0: RunSpec(k=20)}, {20.0: made}, 0.01, top=15).iloc[0]
    assert row["above_r"] == pytest.approx(9 / 13, abs=1e-3)
    assert row["above_theta"] < 1e-6
    assert (row["peak_r"], row["peak_theta"]) == pytest.approx((20, 3), abs=0.05)
    assert row["omega_r"] == pytest.approx(np.sqrt(20))


def reference_of(t, q):
    return Reference(t, q, np.zeros_like(q), 0.0)


def test_a_tighter_tolerance_is_more_accurate():
    table = motion.accuracy({20.0: RunSpec(k=20)}, [1e-6, 1e-8, 1e-12]).set_index("rtol")
    assert table["difference"].is_monotonic_decreasing
    assert table["difference"].iloc[-1] == 0
    assert 0 < table["difference"].iloc[1] < 1e-6
    assert table["energy_drift"].is_monotonic_decreasing
