"""Figures of notebook 06: every mark stands where its table says, in its colour and fill."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from pinnlib.report import gate_figures, gate_forest
from pinnlib.report.gate_optimisers import NEWTON
from pinnlib.report.standing_still import still_errors
from pinnlib.style.figures import BLUE, PURPLE, RED, shades


@pytest.fixture(autouse=True)
def tidy():
    """No picture stays open after its test."""
    yield
    plt.close("all")


def runs(errors, k=(20, 60)):
    """gate → errors by seed, the same at every k but for a factor; those of the angle double."""
    rows = [
        {"gate": gate, "k": at, "seed": seed, "status": "ok", "rel_l2_u": at * e}
        for gate, es in errors.items()
        for at in k
        for seed, e in enumerate(es)
    ]
    return pd.DataFrame(rows).assign(rel_l2_theta=lambda table: 2 * table["rel_l2_u"])


def marks(axis, marker):
    return [
        (line.get_xdata().tolist(), line.get_ydata().tolist(), line.get_color())
        for line in axis.lines
        if line.get_marker() == marker
    ]


def test_ten_gates_has_a_stroke_per_finished_run_and_the_median_of_those():
    table = runs({"linear": [1, 2, 30], "exp(scale=10.0)": [4, 5, 6], "exp": [7, 8, 9]})
    table.loc[(table["gate"] == "linear") & (table["seed"] == 2), "status"] = "diverged"
    figure = gate_figures.plot_ten_gates(table, ["exp", "linear", "exp(scale=10.0)"])
    state, at_60, angle, _ = figure.axes
    assert [axis.get_title() for axis in (state, at_60)] == ["$k=20$", "$k=60$"]
    assert marks(state, "|") == [
        ([140, 160, 180], [0, 0, 0], BLUE),
        ([20, 40], [1, 1], RED),
        ([80, 100, 120], [2, 2, 2], PURPLE),
    ]
    assert [(x, y) for x, y, _ in marks(at_60, "o")] == [
        ([480], [0]),
        ([90], [1]),
        ([300], [2]),
    ]
    assert marks(angle, "|")[1] == ([40, 80], [1, 1], RED)
    assert angle.get_xlabel() == "relative $L^2$ error of $θ$"
    assert state.lines[-1].get_xdata() == [still_errors(20)["rel_l2_u"]] * 2
    assert [label.get_text() for label in state.get_yticklabels()] == [
        "$1-e^{-t}$",
        "$t$",
        "$10(1-e^{-t})$",
    ]
    assert state.yaxis_inverted()
    assert "(n = 3)" in figure.get_supxlabel()


def test_alpha_curves_are_medians_with_their_seeds_and_a_label():
    table = runs({"exp(alpha=0.5)": [1, 2, 3, 4, 5], "exp": [2, 4, 6, 8, 10]})
    alphas = table["gate"].map({"exp(alpha=0.5)": 0.5, "exp": 1.0})
    state, angle = gate_figures.plot_alphas(table.assign(alpha=alphas)).axes
    medians = [bars.lines[0] for bars in state.containers]
    assert [line.get_ydata().tolist() for line in medians] == [[60, 120], [180, 360]]
    assert [line.get_color() for line in medians] == list(shades((20, 60)).values())
    seeds = state.lines[0].get_ydata().tolist()
    assert sorted(seeds) == [20, 40, 40, 60, 80, 80, 100, 120, 160, 200]
    assert angle.containers[1].lines[0].get_ydata().tolist() == [360, 720]
    assert [text.get_text().strip() for text in state.texts] == ["$k=20$", "$k=60$"]
    low, high = state.containers[0].lines[2][0].get_segments()[0][:, 1]
    assert 20 <= low < 60 < high <= 100


def gaps(model, ratios):
    ratio = pd.Series(ratios)
    columns = {"model": model, "k": [20, 60], "ratio": ratio, "low": ratio / 2, "high": ratio * 2}
    angle = {f"angle_{name}": 10 * columns[name] for name in ("ratio", "low", "high")}
    return pd.DataFrame(columns | angle)


def test_gaps_stand_in_the_panel_of_their_trunk_and_are_hollow_without_convergence():
    tables = {
        "Adam": pd.concat([gaps("adaptive", [2.0, 0.5]), gaps("fixed", [0.3, 0.7])]),
        NEWTON: pd.concat([gaps("adaptive", [1.5, 0.9]), gaps("fixed", [0.2, 1.1])]),
        "SGD": gaps("adaptive", [3.0, 4.0]),
    }
    parts = [table.assign(method=method, seed=0) for method, table in tables.items()]
    index = pd.MultiIndex.from_tuples([("adaptive", 6), ("fixed", 6)])
    counts = pd.DataFrame({"converged": [0, 80], "of": [80, 80]}, index)
    figure = gate_figures.plot_gap_by_optimiser(tables, pd.concat(parts), counts, 6)
    state, fixed, angle, _ = figure.axes
    drawn = [bars.lines[0] for bars in state.containers]
    assert [line.get_ydata().tolist() for line in drawn] == [[2, 0.5], [1.5, 0.9], [3, 4]]
    faces = [line.get_markerfacecolor() for line in drawn]
    assert faces == ["0.15", "white", PURPLE]
    assert [bars.lines[0].get_markerfacecolor() for bars in fixed.containers].count("white") == 0
    assert angle.containers[0].lines[0].get_ydata().tolist() == [20, 5]
    segments = state.containers[0].lines[2][0].get_segments()
    assert segments[0][:, 1].tolist() == [1, 4]
    names = [text.get_text() for text in state.texts]
    assert names == ["Adam", "Levenberg–\nMarquardt\n(0 of 80\nconverged)", "SGD"]


def contrasts():
    rows = [
        ("hard, penalty", 60, "exp", 2.0, 0.01),
        ("hard, penalty", 20, "linear", 0.5, 0.2),
        ("hard, penalty", 20, "exp", 3.0, 0.05),
        ("exp, linear: hard velocity", 60, None, 7.0, 0.01),
        ("alpha", 20, None, 9.0, 0.01),
    ]
    table = pd.DataFrame(rows, columns=["question", "k", "gate", "ratio", "p_holm"])
    table = table.assign(first="exp", second="linear", angle_ratio=2 * table["ratio"])
    return table.assign(low=table["ratio"] / 2, high=table["ratio"] * 2)


def test_the_forest_has_a_labelled_row_per_contrast_filled_where_significant():
    (axis,) = gate_forest.plot_contrasts(contrasts()).axes
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels == [
        "$1-e^{-t}$,  $k=20$",
        "$1-e^{-t}$,  $k=60$",
        "$t$,  $k=20$",
        "$1-e^{-t}$ and $t$,  $k=60$",
    ]
    circles = [line for line in axis.lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in circles] == [3, 2, 0.5, 7]
    assert [line.get_ydata()[0] for line in circles] == axis.get_yticks().tolist()
    hollow = [line.get_markerfacecolor() == "white" for line in circles]
    assert hollow == [True, False, True, False]
    diamonds = [line.get_xdata()[0] for line in axis.lines if line.get_marker() == "D"]
    assert diamonds == [6, 4, 1, 14]
    bars = [list(line.get_xdata()) for line in axis.lines if line.get_linestyle() == "-"]
    assert bars[:2] == [[1.5, 6], [1, 4]]


def test_the_forest_says_in_words_what_is_better_on_either_side():
    (axis,) = gate_forest.plot_contrasts(contrasts()).axes
    words = [text.get_text() for text in axis.texts]
    assert words[:3] == ["Hard velocity or penalty", "← penalty better", "hard velocity better →"]
    assert words[4:] == ["← linear better", "exponential better →"]
