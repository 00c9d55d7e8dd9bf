"""The tables and numbers of notebook 03, and our tests beside the published ones, by hand."""

import numpy as np
import pandas as pd
import pytest

from pinnlib.analysis import paired
from pinnlib.report import gate_statistics, published

SETTING = {"lambda_ic": 50, "loss": "balanced", "model": "adaptive", "status": "ok"}
SEEDS = np.linspace(0.01, 0.02, 12)


def runs(k, factor, **columns):
    """Twelve seeds; the linear gate has `factor` times the error of the exponential one."""
    frames = []
    for gate, errors in (("exp", SEEDS), ("linear", factor * SEEDS)):
        frame = {"k": k, "gate": gate, "seed": range(12), "rel_l2_u": errors}
        frames.append(pd.DataFrame(frame | {"max_ae_u": 2 * errors, "rel_l2_theta": 3 * errors}))
    return pd.concat(frames, ignore_index=True).assign(**SETTING | columns)


BOTH = pd.concat([runs(20, 3), runs(60, 1 / 3)], ignore_index=True)
MISSING = (BOTH["k"] == 60) & (BOTH["seed"] == 0)
LACKING = BOTH.assign(status=np.where(MISSING, "missing", "ok"))


def test_numbers_become_text_and_nan_nothing():
    table = pd.DataFrame({"p_raw": [1e-5, np.nan], "k": [20, 60]})
    view = gate_statistics.format_columns(table)
    assert view["p_raw"].tolist() == ["1.0e-05", ""]
    assert view["k"].tolist() == [20, 60]


def test_a_cell_that_lacks_a_run_shows_its_runs_only():
    means = gate_statistics.mean_table(LACKING)
    view = gate_statistics.mean_overview(means).loc[("balanced", 50, "adaptive")]
    assert view.loc[60, ("rel_l2_u", "exp")] == "11 of 12 runs"
    assert view.loc[20, ("rel_l2_u", "exp")].startswith("0.015 ± 0.0021; 0.015")
    lacking = gate_statistics.incomplete_cells(means).loc[(50, "balanced", "adaptive")]
    assert lacking["k"].to_dict() == {"exp": "60", "linear": "60"}
    assert lacking["missing"].to_dict() == {"exp": 1, "linear": 1}


def test_effect_sizes_are_shown_with_their_interval():
    view = gate_statistics.effect_overview(paired.effect_sizes(BOTH, published.TESTED_K))
    assert view["rank_biserial"].iloc[0] == "1.000 (1.000 to 1.000)"


def test_the_seeds_in_which_exp_is_better_are_counted():
    table = gate_statistics.difference_quartiles(gate_statistics.pair_table(BOTH))
    assert table["exp_better"].tolist() == [12, 12, 0, 0]
    assert table["count"].tolist() == [12, 12, 12, 12]


@pytest.fixture(scope="module")
def every_k():
    return paired.tests_at_every_k(LACKING)


def test_winners_have_a_star_if_significant_and_dots_if_open(every_k):
    view = gate_statistics.winner_overview(every_k)
    assert view["20"].tolist() == ["exp*", "exp*"]
    assert view["60"].tolist() == ["…", "…"]


def test_the_smallest_p_is_that_of_equal_signs_times_the_tests(every_k):
    (row,) = gate_statistics.smallest_p(every_k).to_dict("records")
    assert row == {"tests": 4, "most_seeds": 12, "smallest_p_holm": f"{4 * 2.0**-11:.2g}"}


def test_the_sensitivity_is_that_of_complete_k(every_k):
    table = gate_statistics.gate_sensitivity(every_k)
    assert table["k_needed"].tolist() == [2, 2]
    assert table["k_there"].tolist() == [1, 1]
    assert table["median"].tolist() == [f"{np.log(3):.3f}"] * 2


def test_agreement_counts_what_agrees_differs_and_is_open():
    tests = paired.gate_tests(BOTH, published.TESTED_K)  # none of the four with λ = 0
    beside = published.beside_published(tests)
    counts = published.agreement(beside).loc["same_winner"]
    assert counts.to_dict() == {"agree": 4, "differ": 0, "open": 4}
    assert "4 of 4 complete tests" in published.agreement_sentence("the code", beside)
