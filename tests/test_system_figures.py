"""Figures of other systems: every mark stands where its table says."""

import pytest
from matplotlib import pyplot as plt
from test_system_answers import CELLS, ERRORS, RUNS, SEEDS, STILL, VERDICTS

from pinnlib.report import system_figures
from pinnlib.runs.studies import SYSTEM_K
from pinnlib.style.figures import GATE_COLOURS, PURPLE


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_every_solution_has_its_panel_and_the_error_of_standing_still():
    figure = system_figures.plot_solutions(SYSTEM_K, STILL)
    assert len(figure.axes) == 12
    assert [len(axis.lines) for axis in figure.axes[:3]] == [2, 1, 1]
    assert figure.axes[0].get_title("right") == "$k=1$, still 0.93"
    assert figure.axes[5].get_title("right") == r"$\mu=1$, still 1.00"
    assert [axis.get_title("left") for axis in figure.axes[:3]] == [
        "Hénon–Heiles",
        "quartic oscillator",
        "van der Pol",
    ]


def test_gaps_are_filled_where_significant_and_grey_where_unsolved():
    cells = CELLS.copy()
    unsure = (cells["system"] == "henon_heiles") & (cells["k"] == 4)
    cells.loc[unsure, "p_holm"] = 0.2
    figure = system_figures.plot_system_gaps(cells, VERDICTS, SYSTEM_K)
    axis = figure.axes[0]
    points = [bars.lines[0] for bars in axis.containers]
    heights = [point.get_ydata()[0] for point in points]
    assert heights == pytest.approx([3, 3, 1 / 3, 1] * 2)
    markers = "".join(point.get_marker() for point in points)
    assert markers == "oooxDDDx"
    faces = [point.get_markerfacecolor() for point in points]
    assert faces[:3] == ["black", "white", "black"]
    assert faces[4:7] == [PURPLE, "white", PURPLE]
    assert points[3].get_color() == system_figures.UNSOLVED


def test_gaps_say_verdicts_and_what_a_cross_is():
    figure = system_figures.plot_system_gaps(CELLS, VERDICTS, SYSTEM_K)
    assert len(figure.axes) == 6
    lines = ["balanced loss: reverses", "plain loss: reverses"]
    assert texts(figure.axes[0]) == [*lines, "× no better than standing still"]
    assert figure.axes[5].get_title() == "van der Pol, its own rate"
    assert figure.axes[5].get_xlabel() == r"$\mu$"
    solved = CELLS.assign(solved="yes")
    figure = system_figures.plot_system_gaps(solved, VERDICTS, SYSTEM_K)
    assert texts(figure.axes[0]) == lines


@pytest.mark.filterwarnings("error::RuntimeWarning", "error::UserWarning")
def test_gaps_of_missing_runs_are_not_drawn():
    nothing = {name: float("nan") for name in ("ratio", "low", "high", "p_holm")}
    cells = CELLS.assign(solved="open", **nothing)
    figure = system_figures.plot_system_gaps(cells, VERDICTS, SYSTEM_K)
    figure.draw_without_rendering()  # must not warn
    low, high = figure.axes[0].get_ylim()
    assert low < 1 < high


@pytest.mark.filterwarnings("error::RuntimeWarning", "error::UserWarning")
def test_errors_of_missing_runs_leave_standing_still():
    errors = ERRORS.assign(rel_l2_u=float("nan"), low=float("nan"), high=float("nan"))
    runs = RUNS.assign(status="missing")
    figure = system_figures.plot_system_errors(runs, errors, "own", SYSTEM_K)
    figure.draw_without_rendering()
    assert all(texts(axis) == ["standing still"] for axis in figure.axes)


def test_errors_show_every_seed_that_is_ok_the_medians_and_standing_still():
    runs = RUNS.copy()
    one = "system == 'henon_heiles' and loss == 'balanced' and gate == 'exp' and k == 1"
    lost = runs.query(f"{one} and rate == 'published' and seed == 0").index
    runs.loc[lost, "status"] = "diverged"
    figure = system_figures.plot_system_errors(runs, ERRORS, "published", SYSTEM_K)
    assert len(figure.axes) == 6
    axis = figure.axes[0]
    dots = [line for line in axis.lines if line.get_marker() == "."]
    assert dots[0].get_color() == GATE_COLOURS["exp"]
    assert [len(line.get_xdata()) for line in dots] == [SEEDS - 1] + [SEEDS] * 7
    circles = [line for line in axis.lines if line.get_marker() == "o" and len(line.get_xdata())]
    medians = [line.get_ydata()[0] for line in circles]
    assert medians[0] == pytest.approx(0.10055)
    assert medians[4] == pytest.approx(0.30165)
    assert texts(axis) == ["standing still"]
    low, high = axis.get_ylim()
    drawn = runs.loc[runs["system"] == "henon_heiles", "rel_l2_u"]
    assert low < drawn.min()
    assert high > drawn.max()
    assert "At the published rate." in figure.get_supxlabel()
