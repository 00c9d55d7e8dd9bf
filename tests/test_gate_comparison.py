"""Figures of one gate against the other: they draw what the tables say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from pytest import approx

from pinnlib import RunSpec
from pinnlib.analysis import paired, samples
from pinnlib.report import basins, gate_comparison, gate_statistics
from pinnlib.report.published import TESTED_K
from pinnlib.style.figures import GATE_COLOURS, GREEN, PURPLE

SETTING = {
    "lambda_ic": 50,
    "loss": "balanced",
    "model": "adaptive",
    "k": 20,
    "status": "ok",
}
SEEDS = np.linspace(0.01, 0.02, 12)


def runs(exp, linear, **columns):
    """Errors by seed under both gates, as a table of runs."""
    errors = np.concatenate([exp, linear])
    table = {
        "gate": ["exp"] * len(exp) + ["linear"] * len(linear),
        "seed": [*range(len(exp)), *range(len(linear))],
        "rel_l2_u": errors,
        "max_ae_u": 2 * errors,
    }
    return pd.DataFrame(table | SETTING | columns)


def together(*frames):
    return pd.concat(frames, ignore_index=True)


BOTH = together(
    runs(SEEDS, 3 * SEEDS),
    runs(3 * SEEDS, SEEDS, k=60),
)
MISSING = (BOTH["k"] == 60) & (BOTH["seed"] == 0)
LACKING = BOTH.assign(status=np.where(MISSING, "missing", "ok"))


def forest(frame):
    effects = paired.effect_sizes(frame, TESTED_K)
    tests = paired.gate_tests(frame, TESTED_K)
    return gate_comparison.plot_forest(effects, tests)


def labels(axis):
    return {line.get_label() for line in axis.lines}


@pytest.mark.parametrize(
    "number, gate, ratio, places",
    [
        (0, "exp", 3, [0, 1]),
        (1, "linear", 1 / 3, [2, 3]),
    ],
)
def test_the_forest_is_in_the_colour_of_the_winner(number, gate, ratio, places):
    bars = forest(BOTH).axes[0].containers[number]
    points = bars.lines[0]
    assert to_hex(points.get_color()) == GATE_COLOURS[gate]
    assert points.get_xdata() == approx([ratio, ratio])
    assert list(points.get_ydata()) == places


def test_the_forest_names_what_is_incomplete():
    assert "n = 12 pairs in every test" in forest(BOTH).get_supxlabel()
    assert "incomplete: 11 of 12 pairs" in forest(LACKING).get_supxlabel()


def test_a_mean_over_fewer_seeds_is_never_drawn_seed_by_seed():
    pairs = gate_statistics.pair_table(LACKING)
    pairs = pairs[pairs["metric"] == "rel_l2_u"]
    figure = gate_comparison.plot_seed_by_seed(pairs, 12)
    soft, stiff, *_ = figure.axes
    assert {"median", "mean"} <= labels(soft)
    assert not {"median", "mean"} & labels(stiff)
    assert soft.get_title().endswith("n = 12 of 12")
    assert stiff.get_title().endswith("n = 11 of 12")


@pytest.fixture(scope="module")
def every_k_axis():
    """Two significant k, one without a difference and one without runs."""
    equal = runs(SEEDS, SEEDS[::-1], k=40)
    missing = runs(SEEDS, SEEDS, k=80, status="missing")
    table = paired.tests_at_every_k(together(BOTH, equal, missing))
    return gate_comparison.plot_every_k(table).axes[4]  # λ = 50, adaptive


def test_every_k_fills_what_is_significant(every_k_axis):
    lines = {line.get_label(): line for line in every_k_axis.lines}
    filled = lines["ReL2E, p (Holm) < 0.05"].get_xdata()
    assert len(filled) == 2
    assert filled == approx([20, 60], abs=2)


def test_every_k_crosses_what_is_missing(every_k_axis):
    (cross,) = (line for line in every_k_axis.lines if line.get_marker() == "x")
    assert list(cross.get_xdata()) == [80]
    assert every_k_axis.get_title().endswith("3 of 4 k, n = 12")


def test_both_losses_stand_in_one_panel():
    frame = together(BOTH, runs(3 * SEEDS, SEEDS, loss="mse"))
    tests = paired.tests_at_every_k(frame)
    tests = tests[tests["metric"] == "rel_l2_u"]
    means = samples.summary_table(frame, "rel_l2_u")
    figure = gate_comparison.plot_both_losses(tests, means)
    _, ratios, _, errors = figure.axes
    balanced, mse = ratios.containers
    assert balanced.lines[0].get_ydata() == approx([3, 1 / 3])
    assert mse.lines[0].get_ydata() == approx([1 / 3])
    assert labels(errors) == {
        "balanced, exp",
        "balanced, linear",
        "mse, exp",
        "mse, linear",
    }


def test_seeds_are_drawn_in_the_colour_of_their_basin():
    spec = RunSpec(k=20)
    frame = runs([0.02], [0.02, 0.3], key=["a", "b", "c"], residual_mean=0.1)
    curves = pd.DataFrame(
        {"b": [0.2, 0.1], "c": [0.2, 0.0]},
        index=spec.reference.t[[0, 10]],
    )
    figure = gate_comparison.plot_basins(basins.assign_basins(frame), curves, spec)
    left, right = figure.axes
    colours = {line.get_label(): to_hex(line.get_color()) for line in left.lines}
    assert colours == {"near": GREEN, "wrong": PURPLE, "reference": "#000000"}
    assert [line.get_label() for line in right.lines] == ["exp", "linear"]
    assert left.lines[-1].get_ydata()[0] == approx(0.2)
