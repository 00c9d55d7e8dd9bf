"""Tables of notebook 07, from small tables by hand."""

import numpy as np
import pandas as pd
import pytest
from test_loss_answers import MOVING, SAME, WEIGHTS, every_error, gaps, turning

from pinnlib.report import loss_tables


@pytest.mark.parametrize("n, smallest", [(10, 42 * 2 / 2**10), (20, 42 * 2 / 2**20), (2, 1)])
def test_the_smallest_p_that_so_many_seeds_can_give(n, smallest):
    table = pd.DataFrame({"n": [n] * 42})
    assert loss_tables.smallest_corrected_p(table) == pytest.approx(smallest)


def test_turned_cells_name_the_losses_that_turn_them():
    table = loss_tables.turned_cells(gaps(SAME, WEIGHTS, MOVING))
    assert table[["k", "lambda_ic", "cause", "turned_by"]].to_numpy().tolist() == [
        [20, 50, "weights", "weight 0.1, frozen"],
        [60, 0, "moving scales", "none"],
    ]
    assert table["mse"][0] == "0.50 [0.25, 1.00]*"
    assert loss_tables.turned_cells(gaps(SAME)).empty


def test_gaps_as_text_are_in_the_order_of_the_losses():
    table = loss_tables.gap_overview(every_error(WEIGHTS), "rel_l2_theta")
    assert table.index.tolist() == [
        ("angle", name) for name in ("weight 0.1", "mse", "frozen", "balanced")
    ]
    assert table.iloc[1].tolist() == ["0.50 [0.25, 1.00]*"]


def test_turning_weights_as_text():
    texts = loss_tables.turning_texts(turning(0, 1, 2, np.nan))
    assert texts == ["no change", "0.32 [0.16, 0.64]", "2 changes", "open"]
    overview = loss_tables.turning_overview(turning(0, 1))
    assert overview.loc["state"].tolist() == ["no change", "0.32 [0.16, 0.64]"]


def test_the_largest_turn_is_that_of_a_turned_cell():
    table = gaps(SAME, WEIGHTS)
    table.loc[(table["lambda_ic"] == 0) & (table["loss"] == "mse"), "ratio"] = 50.0
    mse, balanced = loss_tables.largest_turn(table)
    assert mse["lambda_ic"] == 50
    assert (mse["ratio"], balanced["ratio"]) == (0.5, 2.0)
    untouched = loss_tables.largest_turn(table[table["lambda_ic"] == 0])
    assert untouched[0]["ratio"] == 50
