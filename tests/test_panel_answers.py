"""What the panels show, in sentences that fit every outcome."""

import itertools

import pandas as pd
import pytest

from pinnlib.report import panel_answers
from pinnlib.report.panel_answers import Lead

KS = {"main": (20, 60), "no_penalty": (20, 60), "expanded": (20, 60, 90, 100)}


@pytest.fixture
def cells():
    """Published means where there are any, else 1; by the angle exp leads at 20, linear at 60."""
    rows = []
    metrics = ("rel_l2_u", "max_ae_u", "rel_l2_theta")
    for (study, ks), metric, gate in itertools.product(KS.items(), metrics, ("exp", "linear")):
        for k in ks:
            row = {"study": study, "metric": metric, "gate": gate, "k": k, "model": "adaptive"}
            rows.append(row | {"lambda_ic": 0 if study == "no_penalty" else 50})
    table = pd.DataFrame(rows).merge(panel_answers.published_means(), how="left")
    table["mean"] = table.pop("published").fillna(1.0)
    table = set_mean(table, 2.0, metric="rel_l2_theta", k=20, gate="linear")
    table = set_mean(table, 2.0, metric="rel_l2_theta", k=60, gate="exp")
    return table.assign(half_width=0.001)


def set_mean(cells, value, **where):
    chosen = pd.Series(True, cells.index)
    for name, wanted in where.items():
        chosen &= cells[name] == wanted
    return cells.assign(mean=cells["mean"].mask(chosen, value))


def test_there_are_sixteen_published_means():
    means = panel_answers.published_means()
    exp = means.query("lambda_ic == 50 and k == 20 and metric == 'rel_l2_u' and gate == 'exp'")
    assert len(means) == 16
    assert exp["published"].tolist() == [0.026]


def test_a_published_mean_is_inside_or_outside_our_interval(cells):
    moved = set_mean(cells, 0.028, lambda_ic=50, k=20, metric="rel_l2_u", gate="exp")
    beside = panel_answers.means_beside_published(moved)
    (outside,) = beside[~beside["inside"]].itertuples()
    assert len(beside) == 16
    assert (outside.k, outside.gate, outside.published) == (20, "exp", 0.026)
    assert outside.low == pytest.approx(0.027)


def test_the_overview_marks_what_is_outside(cells):
    moved = set_mean(cells, 0.028, lambda_ic=50, k=20, metric="rel_l2_u", gate="exp")
    beside = panel_answers.means_beside_published(moved)
    table = panel_answers.beside_overview(beside)
    row = table.loc[(50, 20, "ReL2E")]
    assert len(table) == 8
    assert row["exp", "published"] == "0.026*"
    assert row["exp", "ours"] == "0.028 [0.027, 0.029]"
    assert row["linear", "published"] == "0.140"


def test_an_incomplete_cell_is_not_compared(cells):
    lacking = cells.assign(half_width=cells["half_width"].mask(cells["lambda_ic"] == 0))
    assert len(panel_answers.means_beside_published(lacking)) == 8
    nothing = cells.assign(half_width=float("nan"))
    assert "nothing can be compared" in panel_answers.panels_answer(nothing)


def test_neighbouring_stiffnesses_make_one_lead():
    better = pd.Series({10: "exp", 20: "exp", 30: "linear", 40: "exp"})
    leads = panel_answers.gate_leads(better)
    text = "exponential at $k=10$–20, linear at 30, exponential at 40"
    assert leads == [Lead("exp", 10, 20), Lead("linear", 30, 30), Lead("exp", 40, 40)]
    assert panel_answers.leads_text(leads) == text


def test_many_leads_are_counted():
    better = pd.Series(["exp", "linear"] * 3)
    text = panel_answers.leads_text(panel_answers.gate_leads(better))
    assert text == "the better gate changes 5 times"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"gate": "no other"}, "agree with it: all 16 published means"),
        ({"gate": "exp"}, "agree in part with it: 8 of 16"),
        ({"model": "adaptive"}, "disagree with it: none of 16"),
    ],
)
def test_the_answer_counts_the_published_means(cells, change, words):
    assert words in panel_answers.panels_answer(set_mean(cells, 5.0, **change))


def test_the_answer_says_which_gate_is_better_where(cells):
    text = "the exponential gate is better at $k=20$ and the linear gate at 60"
    answer = panel_answers.panels_answer(cells)
    assert f"with the velocity penalty, {text}; without it, {text}." in answer
    everywhere = set_mean(cells, 0.01, gate="exp", study="main")
    alone = "with the velocity penalty, the exponential gate is better at $k=20$–60;"
    assert alone in panel_answers.panels_answer(everywhere)


@pytest.mark.parametrize(
    "linear_at_100, words",
    [(0.5, "does not change again;"), (2.0, "changes once more (between $k$ = 90 and 100);")],
)
def test_the_answer_says_how_often_the_gate_changes_at_large_k(cells, linear_at_100, words):
    large = set_mean(cells, 0.5, k=90, gate="linear")
    large = set_mean(large, linear_at_100, k=100, gate="linear")
    assert words in panel_answers.panels_answer(large)


def test_the_answer_compares_with_the_angle(cells):
    same = cells[cells["k"].isin([20, 60])]
    swapped = set_mean(same, 0.0, k=20, gate="linear", metric="rel_l2_theta")
    assert "is the same in every panel" in panel_answers.panels_answer(same)
    assert "another in 3 of 6 cells" in panel_answers.panels_answer(swapped)
