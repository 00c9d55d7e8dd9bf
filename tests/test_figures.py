"""The panels of the paper: declared as the paper names them, honest about what is lacking, the same bytes at every save."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pinnlib.analysis.paired import summary_table
from pinnlib.bundle.output import Output
from pinnlib.paths import RECORDS, ROOT
from pinnlib.registry import UserError
from pinnlib.report.panels import PANELS, draw, error_vs_k, incomplete, numbers
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.table import runs_of, specs_of

IN_THE_PAPER = {  # folder → names, as the paper's \LamICPlot asks for them
    "lamIC50": [
        "rel_l2_u_vs_k_all_models__zoom_noBaselineLinear",
        "max_ae_u_vs_k_all_models__zoom_noBaselineLinear",
        "rel_l2_u_vs_k_all_models",
    ],
    "lamIC0": [
        "rel_l2_u_vs_k_all_models__zoom_noBaselineLinear",
        "max_ae_u_vs_k_all_models__zoom_noBaselineLinear",
    ],
    "expanded_adaptive": [
        "rel_l2_u_vs_k_all_models__zoom_spectralOnly",
        "max_ae_u_vs_k_all_models__zoom_spectralOnly",
    ],
}


def lose(frame, model, gate, k, seeds, status):
    """The same runs, but some not finished."""
    lost = (
        (frame["model"] == model)
        & (frame["gate"] == gate)
        & (frame["k"] == k)
        & frame["seed"].isin(seeds)
    )
    frame = frame.assign(status=frame["status"].mask(lost, status))
    return frame.assign(**{metric: frame[metric].mask(lost) for metric in ("rel_l2_u", "max_ae_u")})


def texts(figure):
    figure.draw_without_rendering()
    return " ".join(
        text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))
    ).replace("\n", " ")


def curve(figure, label):
    """(k rounded to tens, mean) of a curve."""
    bars = next(c for c in figure.axes[0].containers if c.get_label() == label)
    k, mean = bars.lines[0].get_data()
    return {round(float(at), -1): float(value) for at, value in zip(k, mean)}


@pytest.fixture
def runs():
    """Every run of the main study, finished, with errors between 0.01 and 1."""
    frame = runs_of(specs_of("main"), {})
    values = np.random.default_rng(0).lognormal(-2, 0.3, size=(2, len(frame)))
    return frame.assign(status="ok", rel_l2_u=values[0], max_ae_u=values[1])


def test_the_declared_panels_are_those_of_the_paper():
    assert sorted(PANELS) == sorted(
        f"{folder}/{name}" for folder, names in IN_THE_PAPER.items() for name in names
    )
    for name, panel in PANELS.items():
        folder, _, file = name.partition("/")
        assert (
            panel.study
            == {"lamIC50": "main", "lamIC0": "no_penalty", "expanded_adaptive": "expanded"}[folder]
        )
        assert file.startswith(panel.metric)
        assert panel.omit == ((("baseline", "linear"),) if "noBaselineLinear" in file else ())
        assert set(panel.models) == set(STUDIES[panel.study].seeds) - (
            {"baseline"} if "spectralOnly" in file else set()
        )


def test_every_curve_of_a_panel_is_drawn_and_no_other(runs):
    figure = draw(PANELS["lamIC50/rel_l2_u_vs_k_all_models__zoom_noBaselineLinear"], runs)
    drawn = ["adaptive, exp", "fixed, exp", "baseline, exp", "adaptive, linear", "fixed, linear"]
    assert [c.get_label() for c in figure.axes[0].containers] == drawn


def test_points_are_the_means_of_all_seeds_with_their_interval(runs):
    figure = error_vs_k(runs, "rel_l2_u")
    cell = runs.query("model == 'fixed' and gate == 'linear' and k == 30")["rel_l2_u"]
    assert curve(figure, "fixed, linear")[30] == pytest.approx(cell.mean())
    bars = next(c for c in figure.axes[0].containers if c.get_label() == "fixed, linear")
    low, high = bars.lines[2][0].get_segments()[2][:, 1]
    assert (high - low) / 2 == pytest.approx(2.2621571628 * cell.std() / np.sqrt(10))  # t(0.975; 9)
    assert "Incomplete" not in texts(figure)


@pytest.mark.parametrize(
    "status, told",
    [("missing", "baseline exp k=20 (8/10)"), ("diverged", "baseline exp k=20 (8/10, 2 diverged)")],
)
def test_a_cell_that_lacks_a_run_has_no_mean_and_is_named(runs, status, told):
    figure = error_vs_k(lose(runs, "baseline", "exp", 20, (3, 7), status), "max_ae_u")
    means = curve(figure, "baseline, exp")
    assert np.isnan(means[20])
    assert np.isfinite([mean for k, mean in means.items() if k != 20]).all()
    assert "Incomplete" in texts(figure)
    assert told in texts(figure)


def test_a_gate_that_no_run_has_is_refused_and_curves_stay_close_to_their_k(runs):
    with pytest.raises(
        ValueError,
        match="gates=.*exp\\(alpha=2\\).*out of those of the runs, written as there: exp, linear",
    ):
        error_vs_k(runs, "rel_l2_u", gates=["exp", "exp(alpha=2)"])
    two = error_vs_k(runs[runs["k"].isin([20, 60])], "rel_l2_u", models=["adaptive"])
    assert [line.get_xdata().tolist() for line in (c.lines[0] for c in two.axes[0].containers)] == [
        [18, 58],
        [22, 62],
    ]


def test_many_incomplete_cells_are_told_briefly(runs):
    for i, k in enumerate(range(10, 70, 10)):
        runs = lose(runs, "adaptive", "linear", k, range(i + 1), "missing")
    assert (
        incomplete(summary_table(runs, "rel_l2_u"))
        == "adaptive linear k=10–60 (79/100 over 6 cells)"
    )


def test_a_panel_without_any_finished_run_says_so():
    figure = error_vs_k(runs_of(specs_of("main", seeds=2, steps=60), {}), "rel_l2_u")
    assert "k=10–60 (0/2 each)" in texts(figure)


@pytest.mark.parametrize("seeds", [1, 2])
def test_too_few_seeds_are_said_plainly(runs, seeds):
    assert "Too few seeds" in texts(error_vs_k(runs[runs["seed"] < seeds], "rel_l2_u"))
    assert "Too few seeds" not in texts(error_vs_k(runs, "rel_l2_u"))


def test_the_table_says_what_the_panel_shows(runs):
    panel = PANELS["lamIC50/rel_l2_u_vs_k_all_models__zoom_noBaselineLinear"]
    table = numbers(panel, lose(runs, "fixed", "exp", 30, [0], "failed"))
    assert table.loc["30", ("fixed", "exp")] == "– (9/10)"
    cell = runs.query("model == 'fixed' and gate == 'exp' and k == 40")["rel_l2_u"]
    assert (
        table.loc["40", ("fixed", "exp")]
        == f"{cell.mean():.4f} ± {2.2621571628 * cell.std() / np.sqrt(10):.4f} (10)"
    )
    assert ("baseline", "linear") not in table


def test_settings_are_never_pooled(runs):
    with pytest.raises(ValueError, match="lambda_ic"):
        error_vs_k(runs.assign(lambda_ic=np.where(runs["seed"] == 0, 0.0, 50.0)), "rel_l2_u")


def test_nothing_leaves_the_picture(runs):
    for frame in (
        runs,
        lose(
            lose(runs, "adaptive", "linear", 50, [1], "diverged"),
            "baseline",
            "exp",
            10,
            range(9),
            "missing",
        ),
    ):
        figure = error_vs_k(frame, "max_ae_u")
        figure.canvas.draw()
        for part in (
            *figure.texts,
            *figure.axes[0].texts,
            *figure.legends,
            figure.axes[0].yaxis.label,
        ):
            assert figure.bbox.contains(*part.get_window_extent().min) and figure.bbox.contains(
                *part.get_window_extent().max
            ), part


def test_two_saves_give_the_same_bytes(runs, tmp_path):
    for folder in ("a", "b"):
        Output("04_figures", {}, tmp_path / folder).figure(error_vs_k(runs, "rel_l2_u"), "panel")
    for suffix in ("png", "pdf"):
        first, second = (
            (tmp_path / folder / "figures" / f"panel.{suffix}").read_bytes()
            for folder in ("a", "b")
        )
        assert first == second


def test_a_stop_while_a_figure_is_saved_leaves_the_old_one_whole(tmp_path, runs):
    class Stopped:
        def savefig(self, path, **_):
            Path(path).write_text("half a")
            raise KeyboardInterrupt

    out = Output("04_figures", {}, tmp_path)
    out.figure(error_vs_k(runs, "rel_l2_u"), "panel")
    whole = (tmp_path / "figures" / "panel.png").read_bytes()
    with contextlib.suppress(KeyboardInterrupt):
        out.figure(Stopped(), "panel")
    assert (tmp_path / "figures" / "panel.png").read_bytes() == whole
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "panel.pdf",
        "panel.png",
    ]


def test_an_output_without_records_of_its_own_reads_those_of_the_repository(tmp_path):
    assert Output("04_figures", {}, tmp_path).records == RECORDS == Output("04_figures", {}).records
    assert Output("04_figures", {}, tmp_path).source("claims.csv") == ROOT / "data" / "claims.csv"
    assert (
        Output("05_gradient_scaling", {"train_missing": True}, tmp_path).records
        == tmp_path / "data" / "records"
    )
    (tmp_path / "data" / "records").mkdir(parents=True)
    (tmp_path / "data" / "records" / "a.jsonl").touch()
    own = Output("04_figures", {}, tmp_path)
    assert own.records == tmp_path / "data" / "records"
    assert own.source("claims.csv") == tmp_path / "data" / "claims.csv"


def test_a_notebook_whose_runs_are_all_missing_says_so(tmp_path):
    with pytest.raises(
        UserError,
        match="none of the 2 runs .* is on record in data/records: other seeds, steps or studies have to be trained first",
    ):
        Output("04_figures", {}, tmp_path).load(specs_of("main", seeds=1, steps=1234)[:2])


def test_numbers_for_the_text_are_plain_and_what_is_not_known_is_open(tmp_path):
    values = {
        "a": np.float64(1 / 3),
        "b": np.int64(7),
        "c": np.nan,
        "d": pd.NA,
        "e": "",
        "f": "exp",
        "g": 2,
    }
    Output("04_figures", {}, tmp_path).numbers(values)
    told = json.loads((tmp_path / "data" / "numbers" / "04_figures.json").read_text())
    assert told == {
        "a": 0.3333333333,
        "b": 7,
        "c": "open",
        "d": "open",
        "e": "open",
        "f": "exp",
        "g": 2,
    }
