"""Contrasts between any two variants over common seeds."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pinnlib.analysis import contrasts, paired


def runs(**errors):
    """A table of runs: gate → {k: errors by seed}."""
    rows = [
        {"gate": gate, "k": k, "seed": seed, "status": "ok", "rel_l2_u": e}
        for gate, cells in errors.items()
        for k, values in cells.items()
        for seed, e in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_a_contrast_by_hand():
    a = {10: [1, 1, 1, 1, 1, 1.0], 20: [1, 2, 3, 4, 5, 6.0]}
    b = {10: [2, 2, 2, 4, 4, 4.0], 20: [1.1, 1.8, 3.3, 3.6, 5.5, 5.4]}
    table = contrasts.contrasts(runs(a=a, b=b), [("a", "b")]).set_index("k")
    assert table.loc[10, "ratio"] == pytest.approx(np.sqrt(8))
    assert table.loc[10, "first_wins"] == 1
    assert table.loc[20, "first_wins"] == 0.5
    assert table.loc[10, "low"] >= 2 - 1e-9
    assert table.loc[10, "high"] <= 4 + 1e-9
    assert table.loc[10, "p_raw"] == stats.wilcoxon([1, 1, 1, 3, 3, 3.0]).pvalue
    np.testing.assert_allclose(table["p_holm"], paired.holm(table["p_raw"]))


def test_a_missing_run_leaves_no_number_and_still_counts_in_holm():
    frame = runs(
        a={10: [1, 1, 1, 1, 1, 1.0], 20: [1, 1, 1, 1, 1, 1.0]},
        b={10: [2, 2, 2, 3, 3, 3.0], 20: [2, 2, 2, 3, 3, 3.0]},
    )
    lost = (frame["gate"] == "b") & (frame["k"] == 20) & (frame["seed"] == 3)
    frame.loc[lost, "status"] = "diverged"
    table = contrasts.contrasts(frame, [("a", "b")]).set_index("k")
    assert np.isnan(table.loc[20, "ratio"])
    assert table.loc[20, "n"] == 5
    assert np.isnan(table.loc[20, "p_holm"])
    assert table.loc[10, "p_holm"] == pytest.approx(2 * table.loc[10, "p_raw"])


def test_a_variant_that_a_cell_lacks_altogether_still_counts_in_holm():
    frame = runs(
        a={10: [1, 1, 1, 1, 1, 1.0], 20: [1, 1, 1, 1, 1, 1.0]}, b={10: [2, 2, 2, 3, 3, 3.0]}
    )
    table = contrasts.contrasts(frame, [("a", "b")]).set_index("k")
    assert np.isnan(table.loc[20, "ratio"])
    assert table.loc[10, "p_holm"] == pytest.approx(2 * table.loc[10, "p_raw"])


def test_lost_counts_the_contrasts_that_a_variant_loses_for_sure():
    table = pd.DataFrame(
        {
            "first": ["a", "a", "b", "c"],
            "second": ["b", "c", "c", "d"],
            "ratio": [2.0, 0.5, 0.9, 1.0],
            "p_holm": [0.01, 0.04, 0.2, 0.01],
        }
    )
    # nobody loses a tie
    assert contrasts.lost(table).to_dict() == {"a": 1, "b": 1, "c": 0, "d": 0}


def test_each_gate_under_the_loss_that_prefers_it():
    one, two, most = [1.0] * 6, [2.0] * 6, [8.0] * 6
    tables = {
        "balanced": runs(a={10: one, 20: one}, b={10: two, 20: two}, c={10: most, 20: most}),
        "mse": runs(a={10: most, 20: one}, b={10: two, 20: two}, c={10: most, 20: most}),
    }
    under = {
        loss: table.assign(lambda_ic=50.0, loss=loss, model="adaptive")
        for loss, table in tables.items()
    }
    best = contrasts.preferred(under)
    assert best.loc[10].to_dict() == {"balanced": "a", "mse": "b"}
    assert best.loc[20].to_dict() == {"balanced": "a", "mse": "a"}
    found = contrasts.each_under_its_own(under, best)
    assert found[["k", "loss", "first", "second"]].values.tolist() == [
        [10, "balanced", "a", "b"],
        [10, "mse", "b", "a"],
    ]
    assert list(found["ratio"]) == pytest.approx([2, 4])
    assert list(found["p_raw"]) == [1 / 32] * 2
    assert list(found["p_holm"]) == [4 / 32] * 2  # of four that were planned, two for each k
    same = contrasts.each_under_its_own(under, best.assign(mse="a"))
    assert same.empty
    assert list(same) == list(found)


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="^pairs="):
        contrasts.contrasts(runs(a={10: [1.0]}), [("a", "c")])


def test_the_preferred_gate_is_open_where_a_run_is_missing():
    rows = [
        {
            "gate": gate,
            "k": k,
            "seed": 0,
            "rel_l2_u": error,
            "status": "ok",
            "lambda_ic": 50,
            "loss": "mse",
            "model": "adaptive",
        }
        for gate, k, error in (("a", 1, 0.2), ("b", 1, 0.1), ("a", 2, 0.1), ("b", 2, 0.3))
    ]
    frame = pd.DataFrame(rows)
    assert contrasts.preferred({"mse": frame})["mse"].to_dict() == {1: "b", 2: "a"}
    lacking = frame.assign(status=frame["status"].where(frame["k"] == 1, "missing"))
    assert contrasts.preferred({"mse": lacking})["mse"].to_dict() == {1: "b", 2: None}


def test_a_ratio_as_text_has_a_star_if_it_is_significant():
    table = pd.DataFrame({"ratio": [1.52, 0.5], "low": [1.4, 0.4], "high": [1.6, 0.6]})
    table["p_holm"] = [0.01, np.nan]
    assert contrasts.ratio_texts(table) == ["1.52 [1.40, 1.60]*", "0.50 [0.40, 0.60]"]
