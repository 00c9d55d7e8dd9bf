"""The motion without a network: frequencies and sizes, by hand."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from pinnlib import RunSpec, SpringPendulum
from pinnlib.reference import Reference
from pinnlib.report import motion

SOFT = RunSpec(k=20)
STIFF = RunSpec(k=60)
SPECS = {20: SOFT, 60: STIFF}


def test_spectrum_finds_the_frequency_and_its_share():
    t = np.arange(0, 100, 0.01)
    tones = np.sin(20 * t) + 2 * np.cos(4 * t)
    omega, share = motion.power_spectrum(3 + tones, 0.01)
    assert omega[share.argmax()] == approx(4, abs=0.05)
    assert share[omega > 15].sum() == approx(1 / 5, abs=1e-3)


@pytest.mark.filterwarnings("ignore::pinnlib.reference.NotOnFileWarning")
def test_the_resonance_is_where_the_spring_beats_twice_as_fast_as_the_pendulum():
    k = motion.resonance(SpringPendulum())
    table = motion.small_motions({k: RunSpec(k=k), 20.0: SOFT})
    resonant, soft = table["ratio"]
    assert k == approx(29.43)
    assert resonant == approx(2)
    assert soft == approx(np.sqrt(20 * (1 + 9.81 / 20) / 9.81))


def test_shares_of_power_beyond_a_frequency_by_hand():
    """Amplitude 3 at 20 rad/s has 9/13 of the power, beside amplitude 2 at 4 rad/s."""
    t = np.arange(0, 200, 0.01)
    r = 5 + 2 * np.sin(4 * t) + 3 * np.sin(20 * t)
    theta = 0.1 * np.sin(3 * t)
    q = np.array([r, theta])
    made = Reference(t, q, np.zeros_like(q), on_file=False)
    table = motion.motion_frequencies({20.0: SOFT}, {20.0: made}, 0.01, top=15)
    row = table.iloc[0]
    assert row["above_r"] == approx(9 / 13, abs=1e-3)
    assert row["above_theta"] < 1e-6
    assert row["peak_r"] == approx(20, abs=0.05)
    assert row["peak_theta"] == approx(3, abs=0.05)
    assert row["omega_r"] == approx(np.sqrt(20))


@pytest.mark.parametrize(
    "change, beyond",
    [({}, []), ({"omega_r": 15.1}, [20.0]), ({"above_theta": 0.01}, [20.0])],
)
def test_a_stiffness_needs_more_than_the_trunk_by_frequency_or_by_power(change, beyond):
    row = {"k": 20.0, "omega_r": 4.5, "above_r": 1e-5, "above_theta": 1e-5} | change
    assert motion.beyond_trunk(pd.DataFrame([row]), top=15) == beyond


def test_the_trajectory_table_keeps_every_nth_point():
    table = motion.trajectory_table(SPECS, every=10)
    last = table.iloc[-1]
    assert len(table) == 2 * 200
    assert last["k"] == 60
    assert last["t"] == STIFF.reference.t[1990]
    assert last["theta_t"] == STIFF.reference.v[1, 1990]
