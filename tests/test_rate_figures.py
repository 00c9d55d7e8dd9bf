"""Figures of notebook 08: every mark stands where its table says."""

import numpy as np
import pandas as pd
import pytest

from pinnlib.report import rate_figures
from pinnlib.style.figures import GATE_COLOURS, draw_seeds, panels

GATES = ["exp", "exp(alpha=2.0)", "linear"]


def product(**columns):
    names = list(columns)
    index = pd.MultiIndex.from_product(
        columns.values(),
        names=names,
    )
    return index.to_frame(index=False)


def contrasts(p=0.01, **columns):
    cells = product(**columns)
    return cells.assign(
        ratio=2.0,
        low=1.0,
        high=4.0,
        p_holm=p,
    )


def marks(axis, marker):
    """The lines of an axis with this marker that have points."""
    found = []
    for line in axis.lines:
        empty = len(line.get_xdata()) == 0
        if line.get_marker() == marker and not empty:
            found.append(line)
    return found


def dots(axis, size):
    """The circles of this size."""
    circles = marks(axis, "o")
    return [line for line in circles if line.get_markersize() == size]


def labels(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("sideways", [False, True])
def test_seeds_are_dots_under_their_median_and_interval(sideways):
    _, ((axis,),) = panels()
    draw_seeds(axis, 2, [0.1, 0.2, 0.6], (0.1, 0.2, 0.6), "red", "s", sideways)
    points, interval, median = [line.get_xydata() for line in axis.lines]
    if sideways:
        points, interval, median = (xy[:, ::-1] for xy in (points, interval, median))
    assert points.tolist() == [[2, 0.1], [2, 0.2], [2, 0.6]]
    assert interval.tolist() == [[2, 0.1], [2, 0.6]]
    assert median.tolist() == [[2, 0.2]]
    assert axis.lines[-1].get_marker() == "s"


def test_tuning_has_a_curve_per_gate_and_a_ring_at_the_choice():
    table = product(
        loss=["balanced", "mse"],
        k=[10, 20, 30, 40],
        gate=GATES,
        lr=[1e-3, 1e-2],
    )
    table["rel_l2_u"] = table["lr"] * table["k"]
    table["chosen"] = table["lr"] == 1e-3
    table.loc[0, "rel_l2_u"] = np.inf
    figure = rate_figures.plot_tuning(table)
    assert len(figure.axes) == 8
    assert figure.axes[3].get_title() == "$k=40$"
    assert figure.axes[4].get_title() == "$k=10$"
    assert [axis.get_ylabel() for axis in figure.axes[::2]] == ["balanced"] * 2 + ["mse"] * 2
    names = ["published rate", "$1-e^{-t}$", "$1-e^{-2t}$", "$t$", "chosen rate"]
    assert labels(figure) == names
    published = figure.axes[1].lines[0]
    assert published.get_xdata() == [1e-3, 1e-3]
    (squares,) = marks(figure.axes[1], "s")
    assert squares.get_ydata().tolist() == pytest.approx([0.02, 0.2])
    assert squares.get_color() == GATE_COLOURS["linear"]
    rings = dots(figure.axes[1], 7)
    places = [ring.get_xdata().tolist() for ring in rings]
    assert places == [[1e-3]] * 3


def test_tuning_has_no_empty_panels():
    ks = [*range(10, 110, 10), 130]
    table = product(loss=["balanced", "mse"], k=ks, gate=GATES, lr=[1e-3, 1e-2])
    figure = rate_figures.plot_tuning(table.assign(rel_l2_u=0.1, chosen=False))
    titles = [f"$k={k}$" for k in ks]
    assert [axis.get_title() for axis in figure.axes] == titles * 2
    above_the_gap = figure.axes[5].xaxis.get_tick_params()
    assert above_the_gap["labelbottom"]


def test_gaps_have_a_row_per_error_and_box_the_published_k():
    gap = contrasts(
        rate=["own", "published"],
        loss=["balanced", "mse"],
        k=[10, 20, 60],
    )
    gap.loc[gap["k"] == 20, "p_holm"] = 0.5
    figure = rate_figures.plot_gaps({"rel_l2_u": gap, "rel_l2_theta": gap})
    assert len(figure.axes) == 4
    assert labels(figure) == ["both gates at the published rate", "each gate at its own rate"]
    axis = figure.axes[0]
    assert [box.get_x() for box in axis.patches] == pytest.approx([0.62, 1.62])
    diamonds = marks(axis, "D")
    assert [line.get_xdata()[0] for line in diamonds] == pytest.approx([0.14, 1.14, 2.14])
    faces = [line.get_markerfacecolor() for line in diamonds]
    assert faces == ["black", "white", "black"]
    ticks = figure.axes[-1].get_xticklabels()
    assert [text.get_text() for text in ticks] == ["10", "20", "60"]


def test_decay_is_a_forest_with_a_row_per_rate_gate_and_k():
    table = contrasts(
        rate=["own", "published"],
        gate=["exp", "linear"],
        k=[20, 60],
    )
    table.loc[table["k"] == 60, "p_holm"] = 0.5
    figure = rate_figures.plot_decay({"rel_l2_u": table, "rel_l2_theta": table})
    state, angle = figure.axes
    rows = [text.get_text() for text in state.get_yticklabels()]
    assert rows[:4] == ["$1-e^{-t}$, $k=20$", "$1-e^{-t}$, $k=60$", "$t$, $k=20$", "$t$, $k=60$"]
    assert rows[4:] == rows[:4]
    for axis in (state, angle):
        squares = marks(axis, "s")
        faces = [square.get_markerfacecolor() for square in squares]
        assert faces == [GATE_COLOURS["linear"], "white"] * 2
        places = [square.get_ydata()[0] for square in squares]
        assert places == pytest.approx([2, 3, 6.8, 7.8])
    words = [text.get_text() for text in angle.texts]
    assert words[-2:] == ["from the published rate", "from its own rate"]


STILL = pd.DataFrame(
    {"rel_l2_u": [0.3, 0.2], "rel_l2_theta": [1.0, 1.0]},
    index=[20, 60],
)


def seeds(**columns):
    runs = product(
        **columns,
        seed=range(5),
    )
    errors = (1 + runs["seed"]) / 100
    return runs.assign(
        status="ok",
        rel_l2_u=errors,
        rel_l2_theta=2 * errors,
    )


def test_forms_have_a_labelled_row_per_variant():
    variants = ["exp", "linear", "shifted", "soft"]
    runs = seeds(
        loss=["balanced", "mse"],
        k=[20, 60],
        variant=variants,
    )
    runs.loc[0, "status"] = "diverged"
    figure = rate_figures.plot_forms(runs, variants, STILL)
    axis = figure.axes[0]
    names = [text.get_text() for text in axis.get_yticklabels()]
    assert names == ["$1-e^{-t}$", "$t$", "shifted", "soft"]
    assert len(figure.axes) == 8
    assert [axis.get_ylabel() for axis in figure.axes[::2]] == ["balanced loss", "mse loss"] * 2
    shared = [block.get_supxlabel() for block in figure.subfigs]
    assert shared == list(rate_figures.FORM_ERRORS.values())
    first, *_, last = marks(axis, ".")
    assert first.get_xdata().tolist() == [0.02, 0.03, 0.04, 0.05]
    assert last.get_ydata().tolist() == [3] * 5
    median = dots(axis, 5.5)[0]
    assert median.get_xdata() == pytest.approx([0.035])
    still = axis.lines[-1]
    assert still.get_xdata() == [0.3, 0.3]


def test_the_recipe_stands_beside_standing_still_for_both_errors():
    settings = ["exp", "linear", "recipe"]
    runs = seeds(
        k=[20, 60],
        setting=settings,
    )
    figure = rate_figures.plot_recipe(runs, settings, STILL)
    assert labels(figure) == [
        "published, $1-e^{-t}$",
        "published, $t$",
        "recipe",
        "standing still",
    ]
    angle = figure.axes[1]
    assert angle.lines[-1].get_ydata().tolist() == [1, 1]
    medians = [line.get_ydata()[0] for line in dots(angle, 4)]
    assert medians == pytest.approx([0.06] * 6)


def test_figures_can_be_drawn_without_runs(tmp_path):
    settings = ["exp", "linear", "recipe"]
    runs = seeds(k=[20, 60], setting=settings).assign(
        status="missing",
    )
    gap = contrasts(
        rate=["own", "published"],
        loss=["balanced", "mse"],
        k=[20, 60],
    )
    gap[["ratio", "low", "high", "p_holm"]] = np.nan
    recipe = rate_figures.plot_recipe(runs, settings, STILL)
    recipe.savefig(tmp_path / "recipe.png")
    gaps = rate_figures.plot_gaps({"rel_l2_u": gap})
    gaps.savefig(tmp_path / "gap.png")
