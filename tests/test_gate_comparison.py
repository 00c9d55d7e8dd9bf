"""Figures of one gate against the other: they draw what the tables say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from pytest import approx

from pinnlib import RunSpec
from pinnlib.report import basins, gate_comparison, gate_statistics
from pinnlib.report.standing_still import SUMMARISED
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
        "rel_l2_theta": 3 * errors,
        "max_ae_theta": 4 * errors,
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
    tests = gate_statistics.tests_of_both(frame)
    pairs = gate_statistics.pair_table(frame, SUMMARISED)
    return gate_comparison.plot_forest(tests, pairs).axes


def texts(axis):
    return [text.get_text() for text in axis.texts]


@pytest.fixture(scope="module")
def complete():
    return forest(BOTH)


@pytest.mark.parametrize("number, gate, ratio", [(0, "exp", 3), (3, "linear", 1 / 3)])
def test_the_forest_is_in_the_colour_of_the_winner(complete, number, gate, ratio):
    median = complete[0].containers[number].lines[0]
    assert to_hex(median.get_markerfacecolor()) == GATE_COLOURS[gate]
    assert median.get_xdata() == approx([ratio])


def test_the_forest_has_every_seed_and_three_errors_per_cell(complete):
    axis, beside = complete
    seeds = [line for line in axis.lines if line.get_marker() == "."]
    assert sum(len(line.get_xdata()) for line in seeds) == 2 * 3 * 12
    labels = [label.get_text().split(", ")[-1] for label in axis.get_yticklabels()]
    assert labels == ["MaxAE", "ReL2E", "angle $θ$"] * 2
    assert texts(beside).count("exp (12 of 12)") == 3


def test_the_forest_has_no_median_of_an_incomplete_test():
    axis, beside = forest(LACKING)
    assert len(axis.containers) == 3
    assert texts(beside).count("incomplete: 11 of 12 pairs") == 3


@pytest.fixture(scope="module")
def heatmap():
    """Two significant k, one without a difference and one without runs."""
    equal = runs(SEEDS, SEEDS[::-1], k=40)
    missing = runs(SEEDS, SEEDS, k=80, status="missing")
    tests = gate_statistics.tests_of_both(together(BOTH, equal, missing))
    return gate_comparison.plot_every_k(tests).axes


def test_the_heatmap_has_the_ratio_of_every_k(heatmap):
    assert texts(heatmap[0]) == ["3.0*", "1.0", "0.33*", "…"]
    assert [text.get_fontweight() for text in heatmap[0].texts] == [
        "bold",
        "normal",
        "bold",
        "normal",
    ]
    assert texts(heatmap[1]) == ["3.0*", "1.0", "0.33*", "…"]


def test_text_on_a_dark_cell_is_white():
    logs = {"median_log_ratio": np.log(8), "p_holm": 0.001}
    tests = pd.DataFrame([SETTING | logs | {"metric": metric} for metric in SUMMARISED])
    axis = gate_comparison.plot_every_k(tests).axes[0]
    assert [text.get_color() for text in axis.texts] == ["white"]


def test_the_heatmap_is_hatched_where_no_runs_are_asked_for(heatmap):
    values = heatmap[0].collections[0].get_array().reshape(8, 4)
    first = values[0].filled(np.nan)  # adaptive, balanced, λ = 50
    assert first[:3] == approx([np.log(3), 0, -np.log(3)], abs=0.3)
    assert np.ma.getmaskarray(values)[1:].all()
    assert heatmap[0].patch.get_hatch()


@pytest.mark.parametrize("ratio, text", [(0.623, "0.62"), (1.04, "1.0"), (9.96, "10"), (25, "25")])
def test_ratios_are_short(ratio, text):
    logs = {"median_log_ratio": np.log(ratio), "p_holm": 1.0}
    tests = pd.DataFrame([SETTING | logs | {"metric": metric} for metric in SUMMARISED])
    assert texts(gate_comparison.plot_every_k(tests).axes[0]) == [text]


def basin(**counts):
    table = {"basin": [name for name, n in counts.items() for _ in range(n)]}
    return gate_comparison.basin_title(pd.DataFrame(table), RunSpec(k=20))


def test_the_title_of_the_basins_fits_every_count():
    assert basin(near=2, wrong=8).endswith(
        "8 of 10 seeds of the linear gate are on one and the same wrong trajectory"
    )
    assert basin(near=2, wrong=1).endswith(
        "1 of 3 seeds of the linear gate is on a wrong trajectory"
    )
    assert basin(near=2).endswith("no seed of the linear gate is on a wrong trajectory")


def test_seeds_are_drawn_in_the_colour_of_their_basin():
    spec = RunSpec(k=20)
    frame = runs([0.02], [0.02, 0.3], key=["a", "b", "c"], residual_mean=0.1)
    curves = pd.DataFrame(
        {"b": [0.2, 0.1], "c": [0.2, 0.0]},
        index=spec.reference.t[[0, 10]],
    )
    figure = gate_comparison.plot_basins(basins.assign_basins(frame), curves, spec)
    above, below, left = figure.axes
    colours = {line.get_label(): to_hex(line.get_color()) for line in left.lines}
    assert colours == {"near": GREEN, "wrong": PURPLE, "reference": "#000000"}
    assert [line.get_ydata().tolist() for line in above.lines] == [[0.02], [0.02, 0.3]]
    assert below.lines[1].get_ydata() == approx([0.06, 0.9])
    assert "— 1 seed on a wrong trajectory" in texts(left)
    assert left.lines[-1].get_ydata()[0] == approx(0.2)
