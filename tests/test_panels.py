"""The panels of the paper: named as the paper names them, and honest about missing runs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pinnlib.analysis.samples import summary_table
from pinnlib.bundle.output import Output
from pinnlib.report.panels import (
    ANGLE_PANELS,
    PANELS,
    describe_incomplete,
    plot_error_vs_k,
    plot_panel,
    tidy_table,
)
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.table import runs_of, specs_of

ZOOM = "vs_k_all_models__zoom_noBaselineLinear"
SPECTRAL = "vs_k_all_models__zoom_spectralOnly"
STUDY_OF = {"lamIC50": "main", "lamIC0": "no_penalty", "expanded_adaptive": "expanded"}
IN_THE_PAPER = [  # as the paper's \LamICPlot asks for them
    f"lamIC50/rel_l2_u_{ZOOM}",
    f"lamIC50/max_ae_u_{ZOOM}",
    "lamIC50/rel_l2_u_vs_k_all_models",
    f"lamIC0/rel_l2_u_{ZOOM}",
    f"lamIC0/max_ae_u_{ZOOM}",
    f"expanded_adaptive/rel_l2_u_{SPECTRAL}",
    f"expanded_adaptive/max_ae_u_{SPECTRAL}",
]


def lose(frame, model, gate, k, seeds, status):
    """The same runs, but some not finished."""
    cell = (frame["model"] == model) & (frame["gate"] == gate) & (frame["k"] == k)
    lost = cell & frame["seed"].isin(seeds)
    frame = frame.assign(status=frame["status"].mask(lost, status))
    return frame.assign(**{metric: frame[metric].mask(lost) for metric in ("rel_l2_u", "max_ae_u")})


def texts(figure):
    figure.draw_without_rendering()
    parts = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    return " ".join(part.get_text() for part in parts).replace("\n", " ")


def line(figure, label):
    """The line of the panel with this label."""
    return next(part for part in figure.axes[0].lines if part.get_label() == label)


def curve(figure, label):
    """{k rounded to tens: mean} of a curve."""
    k, mean = line(figure, label).get_data()
    return {round(float(at), -1): float(value) for at, value in zip(k, mean, strict=True)}


def intervals(figure, number):
    """The ends of the error bars of a curve, by its number: (k, 2)."""
    bars = figure.axes[0].containers[number].lines[2][0].get_segments()
    return np.array([bar[:, 1] for bar in bars])


def arrows(figure):
    return [part for part in figure.axes[0].lines if part.get_label() == "_arrow"]


def in_one_cell(runs, values, gate="exp", k=20):
    """The runs with these errors of the adaptive model, repeated over the seeds of a cell."""
    cell = (runs["model"] == "adaptive") & (runs["gate"] == gate) & (runs["k"] == k)
    errors = runs["rel_l2_u"].copy()
    errors[cell] = np.resize(values, cell.sum())
    return runs.assign(rel_l2_u=errors)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def runs():
    """Every run of the main study, finished, with errors between 0.01 and 1."""
    frame = runs_of(specs_of("main"), {})
    values = np.random.default_rng(0).lognormal(-2, 0.3, size=(2, len(frame)))
    return frame.assign(status="ok", rel_l2_u=values[0], max_ae_u=values[1], rel_l2_theta=values[1])


def test_the_declared_panels_are_those_of_the_paper():
    assert list(PANELS) == IN_THE_PAPER


@pytest.mark.parametrize("name", PANELS | ANGLE_PANELS)
def test_a_panel_shows_what_its_name_says(name):
    panel = (PANELS | ANGLE_PANELS)[name]
    folder, _, file = name.partition("/")
    left_out = {("baseline", "linear")} if "noBaselineLinear" in file else set()
    models = set(STUDIES[panel.study].seeds)
    if "spectralOnly" in file:
        models.discard("baseline")
    assert panel.study == STUDY_OF[folder]
    assert file.startswith(panel.metric)
    assert set(panel.omit) == left_out
    assert set(panel.models) == models


def test_every_curve_of_a_panel_is_drawn_and_no_other(runs):
    figure = plot_panel(PANELS[IN_THE_PAPER[0]], runs)
    drawn = ["adaptive, exp", "fixed, exp", "baseline, exp", "adaptive, linear", "fixed, linear"]
    labels = [part.get_label() for part in figure.axes[0].lines]
    assert [label for label in labels if ", " in label] == drawn


def test_points_are_the_means_of_all_seeds_with_their_interval(runs):
    figure = plot_error_vs_k(runs, "rel_l2_u")
    cell = runs.query("model == 'fixed' and gate == 'linear' and k == 30")["rel_l2_u"]
    assert curve(figure, "fixed, linear")[30] == pytest.approx(cell.mean())
    low, high = intervals(figure, 4)[2]
    assert (high - low) / 2 == pytest.approx(2.2621571628 * cell.std() / np.sqrt(10))  # t(0.975; 9)
    assert "Incomplete" not in texts(figure)


def test_an_interval_that_reaches_zero_ends_in_an_arrow_at_the_floor(runs):
    assert arrows(plot_error_vs_k(runs, "rel_l2_u")) == []
    figure = plot_error_vs_k(in_one_cell(runs, [0.1] * 19 + [9.0]), "rel_l2_u")
    (arrow,) = arrows(figure)
    floor, _ = figure.axes[0].get_ylim()
    low, _ = intervals(figure, 0)[1]
    assert arrow.get_ydata() == [floor]
    assert low == pytest.approx(floor)
    assert floor > 0.01


def test_every_seed_is_a_dot(runs):
    figure = plot_error_vs_k(runs, "rel_l2_u")
    dots = [part.get_ydata() for part in figure.axes[0].lines if part.get_label() == "_seeds"]
    assert sorted(np.concatenate(dots)) == sorted(runs["rel_l2_u"])


def test_the_published_means_are_over_ours(runs):
    figure = plot_error_vs_k(runs, "rel_l2_u")
    published, ours = line(figure, "published mean"), line(figure, "adaptive, exp")
    assert published.get_ydata().tolist() == [0.026, 0.14, 0.073, 0.046]
    assert published.get_xdata()[0] == ours.get_xdata()[1]  # k = 20
    (key,) = figure.legends
    labels = [text.get_text() for text in key.get_texts()]
    assert labels == ["exponential gate", "linear gate", "published mean"]


def test_what_was_not_published_has_no_mark(runs):
    figure = plot_error_vs_k(runs, "rel_l2_theta")
    assert len(line(figure, "published mean").get_xdata()) == 0
    assert "published" not in texts(figure)


def test_the_error_of_standing_still_is_a_labelled_line(runs):
    figure = plot_error_vs_k(runs, "rel_l2_theta")
    assert line(figure, "_standing still").get_ydata() == pytest.approx(np.ones(6))
    assert texts(figure).count("standing still") == 1


def test_every_curve_is_named_at_its_end_in_its_colour(runs):
    figure = plot_error_vs_k(runs, "rel_l2_u", models=("adaptive", "fixed"))
    labels = [part for part in figure.axes[0].texts if part.get_text() != "standing still"]
    assert [part.get_text() for part in labels] == ["adaptive", "fixed"] * 2
    assert labels[2].get_color() == line(figure, "adaptive, linear").get_color()


def test_the_title_says_which_gate_is_better_where(runs):
    runs = in_one_cell(runs[runs["k"].isin([20, 60])], [9.0], "exp", 20)
    runs = in_one_cell(runs, [9.0], "linear", 60)
    assert "linear at $k=20$, exponential at 60" in texts(plot_error_vs_k(runs, "rel_l2_u"))


@pytest.mark.parametrize(
    "status, note",
    [("missing", "baseline exp k=20 (8/10)"), ("diverged", "baseline exp k=20 (8/10, 2 diverged)")],
)
def test_a_cell_that_lacks_a_run_has_no_mean_and_is_named(runs, status, note):
    figure = plot_error_vs_k(lose(runs, "baseline", "exp", 20, (3, 7), status), "max_ae_u")
    means = curve(figure, "baseline, exp")
    assert np.isnan(means.pop(20))
    assert np.isfinite(list(means.values())).all()
    assert note in texts(figure)


def test_the_number_of_seeds_is_given_below(runs):
    figure = plot_error_vs_k(runs, "rel_l2_u")
    assert "seeds (adaptive 10–20, fixed 10, baseline 10)" in texts(figure)


def test_a_gate_that_no_run_has_is_refused(runs):
    with pytest.raises(ValueError, match="^gates="):
        plot_error_vs_k(runs, "rel_l2_u", gates=["exp", "exp(alpha=2)"])


def test_curves_stand_side_by_side_close_to_their_k(runs):
    figure = plot_error_vs_k(runs[runs["k"].isin([20, 60])], "rel_l2_u")
    lines = [part for part in figure.axes[0].lines if ", " in part.get_label()]
    places = np.array([part.get_xdata() for part in lines])  # (curves, k)
    assert (np.abs(places - [20, 60]) < 20).all()
    assert len(np.unique(places)) == places.size


def test_many_incomplete_cells_are_summed(runs):
    for i, k in enumerate(range(10, 70, 10)):
        runs = lose(runs, "adaptive", "linear", k, range(i + 1), "missing")
    table = summary_table(runs, "rel_l2_u")
    assert describe_incomplete(table) == "adaptive linear k=10–60 (79/100 over 6 cells)"


def test_equal_neighbours_and_equal_curves_are_named_once(runs):
    for gate in ("exp", "linear"):
        for k in (20, 30, 60):
            runs = lose(runs, "fixed", gate, k, [0], "missing")
    table = summary_table(runs, "rel_l2_u")
    assert describe_incomplete(table) == "fixed exp & fixed linear k=20–30 (9/10 each), 60 (9/10)"


def test_a_panel_without_any_finished_run_says_so():
    figure = plot_error_vs_k(runs_of(specs_of("main", seeds=2, steps=60), {}), "rel_l2_u")
    assert "k=10–60 (0/2 each)" in texts(figure)


@pytest.mark.parametrize("seeds, warned", [(1, True), (2, True), (10, False)])
def test_too_few_seeds_are_noted(runs, seeds, warned):
    figure = plot_error_vs_k(runs[runs["seed"] < seeds], "rel_l2_u")
    assert ("Too few seeds" in texts(figure)) is warned


def test_the_tidy_table_has_every_study_and_metric(runs):
    table = tidy_table({"main": runs, "half": runs[runs["k"] < 40]})
    assert table.groupby(["study", "metric"]).size().to_dict() == {
        ("half", "max_ae_u"): 18,
        ("half", "rel_l2_theta"): 18,
        ("half", "rel_l2_u"): 18,
        ("main", "max_ae_u"): 36,
        ("main", "rel_l2_theta"): 36,
        ("main", "rel_l2_u"): 36,
    }
    angle = table[table["metric"] == "rel_l2_theta"]
    assert set(angle["standing_still"]) == {1}


def test_settings_are_never_pooled(runs):
    with pytest.raises(ValueError, match="^lambda_ic="):
        plot_error_vs_k(runs.assign(lambda_ic=np.where(runs["seed"] == 0, 0.0, 50.0)), "rel_l2_u")


@pytest.mark.parametrize("complete", [True, False])
def test_nothing_leaves_the_picture(runs, complete):
    if not complete:
        runs = lose(runs, "adaptive", "linear", 50, [1], "diverged")
        runs = lose(runs, "baseline", "exp", 10, range(9), "missing")
    figure = plot_error_vs_k(runs, "max_ae_u")
    figure.canvas.draw()
    (axes,) = figure.axes
    labels = [axes.xaxis.label, axes.yaxis.label, *axes.texts]
    for part in (*figure.texts, *figure.legends, *labels):
        box = part.get_window_extent()
        assert figure.bbox.contains(*box.min), part
        assert figure.bbox.contains(*box.max), part


def test_two_saves_give_the_same_bytes(runs, tmp_path):
    for folder in ("a", "b"):
        out = Output("04_figures", {}, tmp_path / folder)
        out.figure(plot_error_vs_k(runs, "rel_l2_u"), "panel")
    for suffix in ("png", "pdf"):
        first, second = (tmp_path / folder / "figures" / f"panel.{suffix}" for folder in "ab")
        assert first.read_bytes() == second.read_bytes()
