"""The headline figure draws its table; the sentences fit every outcome of the published tests."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from pytest import approx

from pinnlib.report import headline
from pinnlib.report.evidence import plain
from pinnlib.report.published import published

POINT = {"n": 20, "low": 0.4, "high": 40.0, "p_holm": 0.001}


def points(rate, loss, ratios, **columns):
    """A point per ratio at k = 20, 60, …, for both errors."""
    table = pd.DataFrame({"k": [20, 60, 100][: len(ratios)], "ratio": ratios})
    table = table.assign(rate=rate, loss=loss, **POINT | columns)
    both = [table.assign(metric=metric) for metric in headline.ERRORS]
    return pd.concat(both, ignore_index=True)


def drawn(axis):
    """(fill, ratio) of every marker of a panel."""
    found = []
    for line in axis.lines:
        if line.get_marker() in ("o", "D"):
            fill = to_hex(line.get_markerfacecolor())
            found += [(fill, ratio) for ratio in line.get_ydata()]
    return found


def axes_of(table):
    return np.reshape(headline.plot_headline(table).axes, (2, 2))


def words(axis):
    return {text.get_text().replace("\n", " ") for text in axis.texts}


def test_significant_points_are_filled_and_others_hollow():
    table = points("published", "balanced", [2.0, 0.5], p_holm=[0.01, 0.06])
    left = axes_of(table)[0, 0]
    assert drawn(left) == [(to_hex("0.1"), 2.0), ("#ffffff", 0.5)]


def test_each_rate_has_its_panel_and_each_error_its_row():
    table = pd.concat([points("published", "mse", [2.0]), points("own", "mse", [3.0])])
    angle = table["metric"] == "rel_l2_theta"
    table["ratio"] = table["ratio"].mask(angle, table["ratio"] * 10)
    ratios = [[ratio for _, ratio in drawn(axis)] for axis in axes_of(table).flat]
    assert ratios == [[2.0], [3.0], [20.0], [30.0]]


def test_the_series_are_named_at_their_ends_and_do_not_overlap():
    table = pd.concat([points("own", "balanced", [2.0]), points("own", "mse", [2.1])])
    axis = axes_of(table)[0, 1]
    labels = {text.get_text().replace("\n", " "): text.get_position()[1] for text in axis.texts}
    code = labels["loss of the released code (balanced)"]
    text = labels["loss of the text (mean square)"]
    assert text - code == approx(headline.LABEL_HEIGHT)


def places(axis):
    """The places of all points, of the balanced loss first."""
    return [line.get_xdata()[0] for line in axis.lines if line.get_marker() in ("o", "D")]


def test_points_stand_on_their_k_unless_their_intervals_come_close():
    wide = points("published", "balanced", [2.0, 0.5])
    wide.loc[wide["k"] == 60, "high"] = 0.6
    other = points("published", "mse", [2.0, 2.0])
    other.loc[other["k"] == 60, "low"] = 1.5
    left = axes_of(pd.concat([wide, other]))[0, 0]
    assert places(left) == approx([18.9, 60, 21.1, 60])
    alone = axes_of(wide)[0, 0]
    assert places(alone) == [20, 60]


def test_lines_join_neighbours_of_the_grid_only():
    left = points("published", "balanced", [2.0, 3.0, 4.0])
    right = points("own", "balanced", [2.0, 3.0, 4.0]).query("k != 60")
    axis = axes_of(pd.concat([left, right]))[0, 1]
    line = axis.lines[0]
    assert line.get_ydata() == approx([2.0, np.nan, 4.0], nan_ok=True)


def test_the_note_names_the_points_with_other_numbers_of_seeds():
    table = points("published", "balanced", [2.0, 3.0, 4.0], n=[10, 20, 10])
    table = pd.concat([table, points("own", "mse", [2.0, 3.0])])
    note = headline.plot_headline(table).get_supxlabel()
    assert "20 seeds per point; 10 at k = 20 and 100 (left, balanced)." in note


def test_the_half_planes_are_named():
    assert {"exponential better", "linear better"} <= words(
        axes_of(points("own", "mse", [2]))[0, 0]
    )


def test_the_published_stiffnesses_are_boxed():
    for axis in axes_of(points("own", "mse", [2.0])).flat:
        boxes = [patch for patch in axis.patches if not patch.get_fill()]
        assert [box.get_x() + box.get_width() / 2 for box in boxes] == approx([20, 60])


def test_points_without_runs_are_left_out():
    table = points("published", "balanced", [2.0, np.nan, 0.5])
    assert [ratio for _, ratio in drawn(axes_of(table)[0, 0])] == [2.0, 0.5]
    nothing = points("published", "balanced", [np.nan])
    figure = headline.plot_headline(nothing)
    assert drawn(figure.axes[0]) == []
    assert "No runs on record" in figure.get_supxlabel()


def test_the_table_joins_tests_at_the_published_rate_and_gaps_at_own_rates():
    row = {"model": "adaptive", "lambda_ic": 50, "loss": "balanced", "k": 20, "n": 20}
    row |= {"median_log_ratio": np.log(2), "p_holm": 0.01}
    row |= {"median_log_ratio_low": np.log(1.5), "median_log_ratio_high": np.log(4)}
    metrics = ["rel_l2_u", "max_ae_u", "rel_l2_theta"]
    tests = pd.DataFrame([row | {"metric": metric} for metric in metrics])
    others = tests.assign(model="fixed")
    gap = points("own", "mse", [3.0]).query("metric == 'rel_l2_u'").drop(columns="metric")
    gap = pd.concat([gap, gap.assign(rate="published")])
    table = headline.headline_table(pd.concat([tests, others]), {"rel_l2_u": gap})
    assert table["rate"].tolist() == ["published", "published", "own"]
    assert table["metric"].tolist() == ["rel_l2_u", "rel_l2_theta", "rel_l2_u"]
    assert table["ratio"].tolist() == approx([2, 2, 3])
    assert table["low"].tolist() == approx([1.5, 1.5, 0.4])


# The sentences

OTHER = {"exp": "linear", "linear": "exp"}


def outcome(kept=(), lost=(), turned=(), inside=True):
    """The eight published tests; those at the numbers given kept, lost or turned, others open."""
    table = published().add_suffix("_published")
    names = ["lambda_ic", "k", "metric"]
    table = table.rename(columns={f"{name}_published": name for name in names})
    table = table.assign(winner="", p_holm=np.nan)
    for rows, p in ((kept, 0.001), (lost, 0.2), (turned, 0.03)):
        table.loc[list(rows), "p_holm"] = p
        table.loc[list(rows), "winner"] = table["winner_published"]
    table.loc[list(turned), "winner"] = table["winner_published"].map(OTHER)
    known = table["p_holm"].notna()
    for name in ("mean_exp_inside", "mean_linear_inside", "same_winner", "same_significance"):
        table[name] = pd.Series(inside, index=table.index, dtype="boolean").where(known)
    return table


EVERY = range(8)
K20, K60 = (0, 1, 4, 5), (2, 3, 6, 7)


@pytest.mark.parametrize(
    "tests, begins, holds",
    [
        (outcome(kept=EVERY), "The published table reproduces: ", "all 8 tests have"),
        (outcome(kept=K20, lost=K60), "The published table reproduces in part: ", "4 of 8 tests"),
        (outcome(turned=EVERY), "The published table does not reproduce: ", "none of 8 tests has"),
        (outcome(kept=K20), "The published table reproduces as far as", "(4 of 8 tests)"),
        (outcome(), "Whether the published table reproduces is open", "no test has"),
    ],
)
def test_the_published_table_in_a_sentence(tests, begins, holds):
    text = headline.headline_published(tests)
    assert text.startswith(begins)
    assert holds in text
    assert text.endswith(".")


@pytest.mark.parametrize("inside, means", [(True, "16 of 16"), (False, "0 of 16")])
def test_the_means_inside_our_intervals_are_counted(inside, means):
    text = headline.headline_published(outcome(kept=EVERY, inside=inside))
    assert f"{means} published means lie in our 95% intervals" in text


LEAD = "Under the loss that the text describes"


@pytest.mark.parametrize(
    "tests, text",
    [
        (
            outcome(lost=K20, turned=K60),
            f"{LEAD}, no test keeps its winner and significance: at k = 60 all four reverse"
            " significantly (largest p: 0.03, after Holm over four tests), at k = 20 none of the"
            " four is significant any more.",
        ),
        (outcome(kept=EVERY), f"{LEAD}, every test keeps its winner and significance."),
        (
            outcome(kept=[0, *K60], lost=[1, 4], turned=[5]),
            f"{LEAD}, 5 of 8 tests keep their winner and significance: at k = 20 one of four"
            " reverses significantly (largest p: 0.03, after Holm over four tests) and two of four"
            " are no longer significant and one of four keeps winner and significance, at k = 60"
            " all four keep winner and significance.",
        ),
        (
            outcome(kept=[0], lost=[2]),
            f"{LEAD} (2 of 8 tests are complete), 1 of 2 tests keeps its winner and significance:"
            " at k = 20 the one complete test keeps winner and significance, at k = 60 the one"
            " complete test is no longer significant.",
        ),
        (outcome(), f"What happens u{LEAD[1:]} is open: runs are missing."),
    ],
)
def test_the_loss_of_the_text_in_a_sentence(tests, text):
    assert plain(headline.headline_text_loss(tests)) == text
