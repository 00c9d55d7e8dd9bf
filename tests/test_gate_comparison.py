"""Figures of one gate against the other: they draw what the tables say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from pinnlib import RunSpec
from pinnlib.analysis import paired
from pinnlib.report import basins, gate_comparison, gate_statistics
from pinnlib.style.figures import GATE_COLOURS, GREEN, PURPLE

SETTING = {"lambda_ic": 50, "loss": "balanced", "model": "adaptive", "k": 20, "status": "ok"}
SEEDS = np.linspace(0.01, 0.02, 12)


def runs(exp, linear, **columns):
    frames = []
    for gate, errors in (("exp", exp), ("linear", linear)):
        errors = np.array(errors)
        frame = {"gate": gate, "seed": range(len(errors))}
        frames.append(pd.DataFrame(frame | {"rel_l2_u": errors, "max_ae_u": 2 * errors}))
    return pd.concat(frames, ignore_index=True).assign(**SETTING | columns)


BOTH = pd.concat([runs(SEEDS, 3 * SEEDS), runs(3 * SEEDS, SEEDS, k=60)], ignore_index=True)
MISSING = (BOTH["k"] == 60) & (BOTH["seed"] == 0)
LACKING = BOTH.assign(status=np.where(MISSING, "missing", "ok"))


def forest(frame):
    return gate_comparison.plot_forest(paired.effect_sizes(frame), paired.gate_tests(frame))


def labels(axis):
    return {line.get_label() for line in axis.lines}


def test_the_forest_is_in_the_colour_of_the_winner():
    exp, linear = forest(BOTH).axes[0].containers
    for bars, gate, ratio in ((exp, "exp", 3), (linear, "linear", 1 / 3)):
        points = bars.lines[0]
        assert to_hex(points.get_color()) == GATE_COLOURS[gate]
        assert points.get_xdata() == pytest.approx([ratio, ratio])
    assert list(exp.lines[0].get_ydata()) == [0, 1]
    assert list(linear.lines[0].get_ydata()) == [2, 3]


def test_the_forest_names_what_is_incomplete():
    assert "n = 12 pairs in every test" in forest(BOTH).get_supxlabel()
    assert "incomplete: 11 of 12 pairs" in forest(LACKING).get_supxlabel()


def test_a_mean_over_fewer_seeds_is_never_drawn_seed_by_seed():
    pairs = gate_statistics.pair_table(LACKING)
    pairs = pairs[pairs["metric"] == "rel_l2_u"]
    soft, stiff, *_ = gate_comparison.plot_seed_by_seed(pairs, 12).axes
    assert {"median", "mean"} <= labels(soft)
    assert not {"median", "mean"} & labels(stiff)
    assert soft.get_title().endswith("n = 12 of 12")
    assert stiff.get_title().endswith("n = 11 of 12")


def test_every_k_fills_what_is_significant_and_crosses_what_is_missing():
    equal = runs(SEEDS, SEEDS[::-1], k=40)
    missing = runs(SEEDS, SEEDS, k=80, status="missing")
    table = paired.tests_at_every_k(pd.concat([BOTH, equal, missing], ignore_index=True))
    axis = gate_comparison.plot_every_k(table).axes[4]  # λ = 50, adaptive
    lines = {line.get_label(): line for line in axis.lines}
    filled = lines["ReL2E, p (Holm) < 0.05"].get_xdata()
    (cross,) = (line for line in axis.lines if line.get_marker() == "x")
    assert len(filled) == 2
    assert filled == pytest.approx([20, 60], abs=2)
    assert list(cross.get_xdata()) == [80]
    assert axis.get_title().endswith("3 of 4 k, n = 12")


def test_both_losses_stand_in_one_panel():
    frame = pd.concat([BOTH, runs(3 * SEEDS, SEEDS, loss="mse")], ignore_index=True)
    tests = paired.tests_at_every_k(frame).query("metric == 'rel_l2_u'")
    means = paired.summary_table(frame, "rel_l2_u")
    _, ratios, _, errors = gate_comparison.plot_both_losses(tests, means).axes
    balanced, mse = ratios.containers
    assert balanced.lines[0].get_ydata() == pytest.approx([3, 1 / 3])
    assert mse.lines[0].get_ydata() == pytest.approx([1 / 3])
    assert labels(errors) == {f"{a}, {b}" for a in ("balanced", "mse") for b in ("exp", "linear")}


def test_seeds_are_drawn_in_the_colour_of_their_basin():
    frame = runs([0.02], [0.02, 0.3]).assign(key=["a", "b", "c"], residual_mean=0.1)
    spec = RunSpec(k=20)
    curves = {"b": [0.2, 0.1], "c": [0.2, 0.0]}
    curves = pd.DataFrame(curves, index=spec.reference.t[[0, 10]])
    left, right = gate_comparison.plot_basins(basins.assign_basins(frame), curves, spec).axes
    colours = {line.get_label(): to_hex(line.get_color()) for line in left.lines}
    assert colours == {"near": GREEN, "wrong": PURPLE, "reference": "#000000"}
    assert [line.get_label() for line in right.lines] == ["exp", "linear"]
    assert left.lines[-1].get_ydata()[0] == pytest.approx(0.2)
