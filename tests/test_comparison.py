"""Pictures of one gate against the other: what is drawn is what the tables say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from pinnlib import RunSpec
from pinnlib.analysis import paired
from pinnlib.report import basins, gate_comparison, motion
from pinnlib.style.figures import GATE_COLOURS, GREEN, PURPLE


def runs(exp, linear, **columns):
    rows = [
        {"gate": gate, "seed": seed, "rel_l2_u": error, "max_ae_u": 2 * error}
        for gate, errors in (("exp", exp), ("linear", linear))
        for seed, error in enumerate(errors)
    ]
    return pd.DataFrame(rows).assign(
        **{"lambda_ic": 50, "loss": "balanced", "model": "adaptive", "k": 20, "status": "ok"}
        | columns
    )


SEEDS = np.linspace(0.01, 0.02, 12)
BOTH = pd.concat([runs(SEEDS, 3 * SEEDS), runs(3 * SEEDS, SEEDS, k=60)], ignore_index=True)


def colours(axis):
    return [
        to_hex(line.get_color())
        for line in axis.lines
        if line.get_marker() in ("o", "s") and len(line.get_xdata())
    ]


def test_the_forest_is_in_the_colour_of_the_winner_and_names_what_is_open():
    effects, tests = paired.effect_sizes(BOTH), paired.gate_tests(BOTH)
    figure = gate_comparison.forest(effects, tests)
    assert colours(figure.axes[0]) == [
        GATE_COLOURS[gate] for gate in ("exp", "exp", "linear", "linear")
    ]
    assert [
        line.get_xdata()[0]
        for line in figure.axes[0].lines
        if line.get_marker() in ("o", "s") and len(line.get_xdata())
    ] == pytest.approx([3, 3, 1 / 3, 1 / 3])
    assert "n = 12 pairs in every test" in figure.get_supxlabel()
    lacking = BOTH.assign(status=np.where((BOTH["k"] == 60) & (BOTH["seed"] == 0), "missing", "ok"))
    assert (
        "incomplete: 11 of 12 pairs"
        in gate_comparison.forest(
            paired.effect_sizes(lacking), paired.gate_tests(lacking)
        ).get_supxlabel()
    )


def test_a_mean_over_fewer_seeds_is_never_drawn_seed_by_seed():
    pairs = paired.paired(
        BOTH.assign(status=np.where((BOTH["k"] == 60) & (BOTH["seed"] == 0), "missing", "ok")),
        "rel_l2_u",
    )
    soft, stiff, *_ = gate_comparison.seed_by_seed(pairs, 12).axes
    assert {"median", "mean"} <= {line.get_label() for line in soft.lines}
    assert not {
        "median",
        "mean",
    } & {line.get_label() for line in stiff.lines}
    assert soft.get_title().endswith("n = 12 of 12")
    assert stiff.get_title().endswith("n = 11 of 12")


def test_every_k_fills_what_is_significant_and_crosses_what_is_missing():
    table = paired.tests_at_every_k(
        pd.concat(
            [BOTH, runs(SEEDS, SEEDS[::-1], k=40), runs(SEEDS, SEEDS, k=80, status="missing")],
            ignore_index=True,
        )
    )
    axis = gate_comparison.plot_every_k(table).axes[4]  # λ = 50, adaptive
    filled = {
        line.get_label(): line.get_xdata() for line in axis.lines if "p (Holm)" in line.get_label()
    }
    assert filled["ReL2E, p (Holm) < 0.05"].tolist() == [21.5, 61.5]
    (cross,) = (line for line in axis.lines if line.get_marker() == "x")
    assert list(cross.get_xdata()) == [80]
    assert axis.get_title().endswith("3 of 4 k, n = 12")


def test_seeds_are_drawn_in_the_colour_of_their_basin():
    case = basins.sorted_into(
        runs([0.02], [0.02, 0.3]).assign(key=["a", "b", "c"], residual_mean=0.1)
    )
    spec = RunSpec(k=20)
    left, right = gate_comparison.where_seeds_end(
        case,
        pd.DataFrame({"b": [0.2, 0.1], "c": [0.2, 0.0]}, index=spec.reference.t[[0, 10]]),
        spec,
    ).axes
    assert {line.get_label(): to_hex(line.get_color()) for line in left.lines} == {
        "near": GREEN,
        "wrong": PURPLE,
        "reference": "#000000",
    }
    assert [line.get_label() for line in right.lines] == ["exp", "linear"]
    assert left.lines[-1].get_ydata()[0] == pytest.approx(0.2)


def test_the_motion_is_drawn_for_every_stiffness_and_at_the_tolerance_that_is_used():
    specs = {k: RunSpec(k=k) for k in (20, 60)}
    assert [axis.get_title() for axis in motion.plane(specs).axes] == ["$k=20$", "$k=60$"]
    start, centre = motion.plane(specs).axes[1].lines[1:]
    assert np.hypot(start.get_xdata()[0], start.get_ydata()[0]) == pytest.approx(1)
    assert centre.get_ydata()[0] == pytest.approx(-1 - 9.81 / 60)
    assert len(motion.trajectories(specs).axes) == len(motion.phase_portraits(specs).axes) == 4
    thick = [
        line.get_label()
        for line in motion.tolerances(motion.accuracy(specs, [1e-8, 1e-10, 1e-12]), 29.4)
        .axes[1]
        .lines
        if line.get_linewidth() == 2
    ]
    assert thick == ["rtol 1e-10"]
