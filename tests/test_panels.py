"""The panels of the paper: named as the paper names them, and honest about missing runs."""

import numpy as np
import pytest

from pinnlib.analysis.samples import summary_table
from pinnlib.bundle.output import Output
from pinnlib.report.panels import (
    PANELS,
    describe_incomplete,
    panel_table,
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


def container(figure, label):
    return next(c for c in figure.axes[0].containers if c.get_label() == label)


def curve(figure, label):
    """{k rounded to tens: mean} of a curve."""
    k, mean = container(figure, label).lines[0].get_data()
    return {round(float(at), -1): float(value) for at, value in zip(k, mean, strict=True)}


@pytest.fixture
def runs():
    """Every run of the main study, finished, with errors between 0.01 and 1."""
    frame = runs_of(specs_of("main"), {})
    values = np.random.default_rng(0).lognormal(-2, 0.3, size=(2, len(frame)))
    return frame.assign(status="ok", rel_l2_u=values[0], max_ae_u=values[1], rel_l2_theta=values[1])


def test_the_declared_panels_are_those_of_the_paper():
    assert list(PANELS) == IN_THE_PAPER


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_shows_what_its_name_says(name):
    panel = PANELS[name]
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
    assert [c.get_label() for c in figure.axes[0].containers] == drawn


def test_points_are_the_means_of_all_seeds_with_their_interval(runs):
    figure = plot_error_vs_k(runs, "rel_l2_u")
    cell = runs.query("model == 'fixed' and gate == 'linear' and k == 30")["rel_l2_u"]
    assert curve(figure, "fixed, linear")[30] == pytest.approx(cell.mean())
    low, high = container(figure, "fixed, linear").lines[2][0].get_segments()[2][:, 1]
    assert (high - low) / 2 == pytest.approx(2.2621571628 * cell.std() / np.sqrt(10))  # t(0.975; 9)
    assert "Incomplete" not in texts(figure)


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


def test_the_seeds_of_every_point_are_counted_below_the_panel(runs):
    figure = plot_error_vs_k(lose(runs, "fixed", "exp", 30, [0], "failed"), "rel_l2_u")
    below = figure.axes[1]
    rows = ["n adaptive", "n fixed exp", "n fixed linear", "n baseline"]
    assert [label.get_text() for label in below.get_yticklabels()] == rows
    assert [text.get_text() for text in below.texts[6:12]] == ["10", "10", "–", "10", "10", "10"]
    assert below.get_xlim() == figure.axes[0].get_xlim()


def test_a_gate_that_no_run_has_is_refused(runs):
    with pytest.raises(ValueError, match="^gates="):
        plot_error_vs_k(runs, "rel_l2_u", gates=["exp", "exp(alpha=2)"])


def test_curves_stand_side_by_side_close_to_their_k(runs):
    figure = plot_error_vs_k(runs[runs["k"].isin([20, 60])], "rel_l2_u")
    places = np.array([c.lines[0].get_xdata() for c in figure.axes[0].containers])  # (curves, k)
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


def test_the_table_says_what_the_panel_shows(runs):
    runs = lose(runs, "fixed", "exp", 30, [0], "failed")
    table = panel_table(PANELS[IN_THE_PAPER[0]], runs)
    cell = runs.query("model == 'fixed' and gate == 'exp' and k == 40")["rel_l2_u"]
    half = 2.2621571628 * cell.std() / np.sqrt(10)
    assert table.loc["30", ("fixed", "exp")] == "– (9/10)"
    assert table.loc["40", ("fixed", "exp")] == f"{cell.mean():.4f} ± {half:.4f} (10)"
    assert ("baseline", "linear") not in table


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
    axes, below = figure.axes
    labels = [axes.xaxis.label, axes.yaxis.label, *below.get_yticklabels(), *below.texts]
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
