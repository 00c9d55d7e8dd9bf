"""Cells and pairs of runs: by hand, no run dropped silently, invalid tables refused."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx
from run_tables import NOT_OK, both_k, together, without_one_run

from pinnlib.analysis import samples


def test_what_k_alone_knows_by_hand():
    # k = 20: exp wins three of four; the others of an exp seed are 2 : 1 for exp, those of the
    # linear seed 3 : 0, which is wrong. k = 60: one each, so the only other seed is wrong for both.
    # k = 90: linear wins two of three; the others of a linear seed are a draw, which counts for
    # linear, and those of the exp seed 0 : 2.
    rows = [
        (20, 0.1, True),
        (60, 2, False),
        (20, 3, True),
        (20, -1, False),
        (20, 0.2, True),
        (60, -2, False),
        (90, -1, True),
        (90, 1, False),
        (90, -3, True),
    ]
    pairs = pd.DataFrame(rows, columns=["k", "log_ratio", "known"])
    assert samples.known_by_k(pairs).tolist() == pairs["known"].tolist()
    # a seed without others: nothing is known, which counts for linear
    assert samples.known_by_k(pairs[:2]).tolist() == [False, False]


@pytest.mark.parametrize("status", NOT_OK)
def test_a_cell_that_lacks_a_run_has_no_mean(status):
    frame = without_one_run(both_k(), status)
    cells = samples.summary_table(frame, "max_ae_u")
    assert cells["complete"].tolist() == [False, True, True, True]
    cell = cells.iloc[0]
    assert cell["needed"] == 8
    assert cell["ok"] == 7
    assert cell[status] == 1
    assert cell[["mean", "half_width", "median"]].isna().all()


@pytest.mark.parametrize("status", NOT_OK)
def test_the_mean_over_fewer_runs_is_given_only_on_request(status):
    frame = without_one_run(both_k(), status)
    cells = samples.summary_table(frame, "max_ae_u", partial=True)
    cell = cells.iloc[0]
    assert cell["mean"] == approx(np.mean([0.1, 0.11, 0.12, 0.14, 0.15, 0.16, 0.17]))
    assert cell["ok"] == 7
    assert not cell["complete"]


def test_a_number_left_in_a_diverged_run_is_not_used():
    frame = both_k()
    frame.loc[0, "status"] = "diverged"
    pairs = samples.pair_runs(frame, "max_ae_u")
    assert np.isnan(pairs["exp"][0])


@pytest.mark.parametrize(
    "field, metric, frame",
    [
        ("metric", "accuracy", both_k()),
        ("metric", "seed", both_k()),
        ("metric", "lr", both_k().assign(lr=1e-3)),
        ("frame", "max_ae_u", both_k().drop(columns="gate")),
        ("frame", "max_ae_u", together(both_k(), both_k())),
        ("status", "max_ae_u", both_k().assign(status="done")),
        ("max_ae_u", "max_ae_u", both_k().assign(max_ae_u=np.nan)),
    ],
)
def test_an_invalid_table_is_refused(field, metric, frame):
    with pytest.raises(ValueError, match=f"^{field}="):
        samples.summary_table(frame, metric)
