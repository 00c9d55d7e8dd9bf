"""Contrasts between any two variants over common seeds."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx
from scipy import stats

from pinnlib.analysis import contrasts, significance


def cell(gate, k, errors, **columns):
    """The runs of a gate at a stiffness, seed by seed."""
    table = {
        "gate": gate,
        "k": k,
        "seed": range(len(errors)),
        "status": "ok",
        "rel_l2_u": errors,
    }
    return pd.DataFrame(table | columns)


def together(*cells):
    return pd.concat(cells, ignore_index=True)


ONE = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
LARGER = [2.0, 2.0, 2.0, 4.0, 4.0, 4.0]


def test_a_contrast_by_hand():
    frame = together(
        cell("a", 10, ONE),
        cell("b", 10, LARGER),
        cell("a", 20, [1, 2, 3, 4, 5, 6.0]),
        cell("b", 20, [1.1, 1.8, 3.3, 3.6, 5.5, 5.4]),
    )
    table = contrasts.contrasts(frame, [("a", "b")]).set_index("k")
    clear = table.loc[10]
    assert clear["ratio"] == approx(np.sqrt(8))
    assert clear["first_wins"] == 1
    assert clear["low"] >= 2 - 1e-9
    assert clear["high"] <= 4 + 1e-9
    assert clear["p_raw"] == stats.wilcoxon([1, 1, 1, 3, 3, 3.0]).pvalue
    assert table.loc[20, "first_wins"] == 0.5
    np.testing.assert_allclose(table["p_holm"], significance.holm(table["p_raw"]))


@pytest.mark.parametrize(
    "lacking, n",
    [
        (cell("b", 20, LARGER, status=["ok", "ok", "ok", "diverged", "ok", "ok"]), 5),
        (cell("b", 20, []), 0),
    ],
)
def test_a_missing_run_leaves_no_number_and_still_counts_in_holm(lacking, n):
    frame = together(
        cell("a", 10, ONE),
        cell("b", 10, LARGER),
        cell("a", 20, ONE),
        lacking,
    )
    table = contrasts.contrasts(frame, [("a", "b")]).set_index("k")
    complete = table.loc[10]
    assert table.loc[20, "n"] == n
    assert np.isnan(table.loc[20, "ratio"])
    assert np.isnan(table.loc[20, "p_holm"])
    assert complete["p_holm"] == approx(2 * complete["p_raw"])


def test_lost_counts_the_contrasts_that_a_variant_loses_for_sure():
    rows = [
        ("a", "b", 2.0, 0.01),
        ("a", "c", 0.5, 0.04),
        ("b", "c", 0.9, 0.2),
        ("c", "d", 1.0, 0.01),  # nobody loses a tie
    ]
    table = pd.DataFrame(rows, columns=["first", "second", "ratio", "p_holm"])
    assert contrasts.lost(table).to_dict() == {"a": 1, "b": 1, "c": 0, "d": 0}


def under(loss, *rows):
    """The runs of six seeds with equal errors under a loss, from (gate, k, error)."""
    cells = [cell(gate, k, [error] * 6) for gate, k, error in rows]
    return together(*cells).assign(loss=loss, lambda_ic=50.0, model="adaptive")


LOSSES = {
    "balanced": under(
        "balanced",
        ("a", 10, 1.0),
        ("b", 10, 2.0),
        ("c", 10, 8.0),
        ("a", 20, 1.0),
        ("b", 20, 2.0),
        ("c", 20, 8.0),
    ),
    "mse": under(
        "mse",
        ("a", 10, 8.0),
        ("b", 10, 2.0),
        ("c", 10, 8.0),
        ("a", 20, 1.0),
        ("b", 20, 2.0),
        ("c", 20, 8.0),
    ),
}


def test_the_preferred_gate_has_the_smallest_mean():
    best = contrasts.preferred(LOSSES)
    assert best["balanced"].to_dict() == {10: "a", 20: "a"}
    assert best["mse"].to_dict() == {10: "b", 20: "a"}


def test_the_preferred_gate_is_open_where_a_run_is_missing():
    frame = LOSSES["mse"]
    status = frame["status"].where(frame["k"] == 10, "missing")
    best = contrasts.preferred({"mse": frame.assign(status=status)})
    assert best["mse"].to_dict() == {10: "b", 20: None}


def test_each_gate_under_the_loss_that_prefers_it():
    best = contrasts.preferred(LOSSES)
    found = contrasts.each_under_its_own(LOSSES, best)
    assert found["k"].tolist() == [10, 10]
    assert found["loss"].tolist() == ["balanced", "mse"]
    assert found["first"].tolist() == ["a", "b"]
    assert found["second"].tolist() == ["b", "a"]
    assert found["ratio"].tolist() == approx([2, 4])
    assert found["p_raw"].tolist() == [1 / 32] * 2
    assert found["p_holm"].tolist() == [4 / 32] * 2  # of four that were planned, two for each k


def test_one_gate_under_both_losses_is_no_contrast():
    best = contrasts.preferred(LOSSES)
    found = contrasts.each_under_its_own(LOSSES, best)
    same = contrasts.each_under_its_own(LOSSES, best.assign(mse="a"))
    assert same.empty
    assert list(same) == list(found)


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="^pairs="):
        contrasts.contrasts(cell("a", 10, [1.0]), [("a", "c")])


def test_a_ratio_as_text_has_a_star_if_it_is_significant():
    rows = [(1.52, 1.4, 1.6, 0.01), (0.5, 0.4, 0.6, np.nan)]
    table = pd.DataFrame(rows, columns=["ratio", "low", "high", "p_holm"])
    significant, other = contrasts.ratio_texts(table)
    assert significant == "1.52 [1.40, 1.60]*"
    assert other == "0.50 [0.40, 0.60]"
