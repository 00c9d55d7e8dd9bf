"""Figures of notebook 06: every mark stands where its table says, in its colour and fill."""

import numpy as np
import pandas as pd
import pytest

from pinnlib.report import gate_figures
from pinnlib.runs.studies import FOUR_K
from pinnlib.style.figures import BLUE, PURPLE, RED, shades


def runs(errors, k=(20, 60)):
    """gate → errors by seed, the same at every k but for a factor."""
    rows = [
        {"gate": gate, "k": at, "seed": seed, "status": "ok", "rel_l2_u": at * e}
        for gate, es in errors.items()
        for at in k
        for seed, e in enumerate(es)
    ]
    return pd.DataFrame(rows)


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
    assert [axis.get_title() for axis in figure.axes] == ["$k=20$", "$k=60$"]
    assert marks(figure.axes[0], "|") == [
        ([140, 160, 180], [0, 0, 0], BLUE),
        ([20, 40], [1, 1], RED),
        ([80, 100, 120], [2, 2, 2], PURPLE),
    ]
    assert [(x, y) for x, y, _ in marks(figure.axes[1], "o")] == [
        ([480], [0]),
        ([90], [1]),
        ([300], [2]),
    ]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "$1-e^{-t}$",
        "$t$",
        "$10(1-e^{-t})$",
    ]
    assert figure.axes[0].yaxis_inverted()
    assert "(n = 3)" in figure.get_supxlabel()


def test_alpha_curves_are_medians_with_the_middle_half_of_the_seeds():
    table = runs({"exp(alpha=0.5)": [1, 2, 3, 4, 5], "exp": [2, 4, 6, 8, 10]})
    (axis,) = gate_figures.plot_alphas(
        table.assign(alpha=table["gate"].map({"exp(alpha=0.5)": 0.5, "exp": 1.0}))
    ).axes
    assert marks(axis, "o") == [
        ([0.5, 1], [60, 120], shades((20, 60))[20]),
        ([0.5, 1], [180, 360], shades((20, 60))[60]),
    ]
    assert set(axis.collections[0].get_paths()[0].vertices[:, 1]) == {
        40,
        80,
        160,
    }  # the quartiles 2 and 4, 4 and 8, times k
    assert [text.get_text() for text in axis.get_legend().texts] == ["$k=20$", "$k=60$"]


def test_optimiser_errors_has_each_gate_in_a_panel_of_its_own():
    index = pd.MultiIndex.from_product([(20, 60), ("exp", "linear")], names=["k", "gate"])
    figure = gate_figures.plot_optimisers(
        pd.DataFrame(
            {name: np.arange(1.0, 5) * 10**i for i, name in enumerate(gate_figures.MARKERS)},
            index,
        )
    )
    for axis, (first, second) in zip(figure.axes, ((1, 3), (2, 4)), strict=True):
        drawn = [line.get_ydata().tolist() for line in axis.lines if len(line.get_xdata())]
        assert drawn == [[first * 10**i, second * 10**i] for i in range(4)]
    assert [axis.get_title() for axis in figure.axes] == [
        "exp gate, $1-e^{-t}$",
        "linear gate, $t$",
    ]
    assert [text.get_text() for text in figure.axes[1].get_legend().texts] == [
        "SGD",
        "Adam",
        "Levenberg–Marquardt",
        "best head",
    ]


def test_all_contrasts_are_filled_where_they_are_significant_and_others_are_not_drawn():
    rows = [
        ("hard, penalty", 60, 2.0, 0.01),
        ("hard, penalty", 20, 0.5, 0.2),
        ("hard, penalty", 60, 3.0, 0.05),
        ("alpha", 20, 9.0, 0.01),
    ]
    table = pd.DataFrame(rows, columns=["question", "k", "ratio", "p_holm"]).assign(
        low=lambda t: t["ratio"] / 2, high=lambda t: t["ratio"] * 2
    )
    (axis,) = gate_figures.plot_contrasts(table).axes
    points = [bars.lines[0] for bars in axis.containers]
    place = list(gate_figures.QUESTIONS).index("hard, penalty")
    assert [point.get_ydata()[0] for point in points] == [0.5, 2, 3]
    assert [point.get_marker() for point in points] == ["o", "o", "s"]
    assert [point.get_xdata()[0] for point in points] == pytest.approx(
        [place - 0.35, place, place + 0.35]
    )
    assert [point.get_markerfacecolor() for point in points] == [
        "white",
        shades(FOUR_K)[60],
        "white",
    ]
    assert [bars.lines[2][0].get_segments()[0][:, 1].tolist() for bars in axis.containers] == [
        [0.25, 1],
        [1, 4],
        [1.5, 6],
    ]
    assert axis.get_xticklabels()[place].get_text() == "hard, penalty\n\n○ exp  □ linear"


@pytest.mark.parametrize("question", gate_figures.QUESTIONS)
def test_a_question_reads_the_same_in_two_lines(question):
    lines, _ = gate_figures.QUESTIONS[question]
    assert lines.count("\n") == 1
    assert lines.replace("\n", " ").strip() == question
