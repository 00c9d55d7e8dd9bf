"""The tables and sentences of notebook 03, by hand."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from pinnlib.analysis import paired, samples
from pinnlib.report import gate_statistics, published

SETTING = {"lambda_ic": 50, "loss": "balanced", "model": "adaptive", "status": "ok"}
SEEDS = np.linspace(0.01, 0.02, 12)


def runs(k, factor, **columns):
    """Twelve seeds; the linear gate has `factor` times the error of the exponential one."""
    frames = []
    for gate, errors in (("exp", SEEDS), ("linear", factor * SEEDS)):
        frame = {"k": k, "gate": gate, "seed": range(12), "rel_l2_u": errors}
        frame |= {"max_ae_u": 2 * errors, "rel_l2_theta": 3 * errors, "max_ae_theta": 4 * errors}
        frames.append(pd.DataFrame(frame))
    return pd.concat(frames, ignore_index=True).assign(**SETTING | columns)


BOTH = pd.concat([runs(20, 3), runs(60, 1 / 3)], ignore_index=True)
MISSING = (BOTH["k"] == 60) & (BOTH["seed"] == 0)
LACKING = BOTH.assign(status=np.where(MISSING, "missing", "ok"))


def both(frame):
    return paired.gate_tests(frame, published.TESTED_K)


@pytest.fixture(scope="module")
def complete():
    return gate_statistics.tests_of_both(BOTH)


@pytest.fixture(scope="module")
def lacking():
    return gate_statistics.tests_of_both(LACKING)


def test_state_and_angle_are_families_of_their_own(complete):
    assert complete["metric"].nunique() == 4
    state = complete[complete["metric"].isin(samples.METRICS)]
    angle = complete[~complete["metric"].isin(samples.METRICS)]
    single = 2.0**-11  # twelve seeds of one sign
    assert state["p_holm"].tolist() == approx([4 * single] * 4)
    assert angle["p_holm"].tolist() == approx([4 * single] * 4)


def test_settings_have_crossovers_factors_and_the_smallest_p(complete):
    table = gate_statistics.setting_table(complete)
    row = table[table["metric"] == "rel_l2_u"].iloc[0]
    assert row["crossovers"] == 1
    assert row["median_factor"] == approx(3)
    assert row["largest_factor"] == approx(3)
    assert row["smallest_p_holm"] == approx(4 * 2.0**-11)


def test_factors_are_those_of_complete_k(lacking):
    row = gate_statistics.setting_table(lacking).iloc[0]
    assert row["k_needed"] == 2
    assert row["k_decided"] == 1
    assert row["largest_factor"] == approx(3)


def test_cells_that_lack_runs_are_counted():
    assert "All 4 cells" in gate_statistics.coverage_text(gate_statistics.mean_table(BOTH))
    text = gate_statistics.coverage_text(gate_statistics.mean_table(LACKING))
    assert text == "2 of 4 cells lack runs: 46 of 48 runs are ok."


def test_the_size_of_the_gap_in_a_sentence(complete, lacking):
    text = gate_statistics.effect_text(complete)
    assert "a factor of 3.00 to 3.00 (angle alone: 3.00 to 3.00)" in text
    assert "remains open" in gate_statistics.effect_text(lacking)


def sensitivity(winner_changes, seeds_to_lose):
    table = {"winner_changes": winner_changes, "seeds_to_lose": seeds_to_lose}
    return pd.DataFrame(table, dtype="Int64").assign(significance_changes=0)


@pytest.mark.parametrize(
    "changes, fewest, holds",
    [
        ([0, 0], [8, 9], "changes none of the 2 verdicts. An adversary must remove at least 8 "),
        ([0, 1], [1, 9], "changes 1 of 2 verdicts. An adversary must remove at least 1 seed from"),
        ([0, 3], [0, 9], "changes 1 of 2 verdicts; a test has an uncorrected $p$ above 0.05"),
        ([0, None], [8, None], "remains open"),
    ],
)
def test_single_seeds_in_a_sentence(changes, fewest, holds):
    assert holds in gate_statistics.single_seed_text(sensitivity(changes, fewest))


def settings(*rows):
    names = ["model", "loss", "metric", "crossovers", "median_factor", "smallest_p_holm"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(lambda_ic=50, k_needed=6, k_decided=6)


SETTINGS = settings(
    ("adaptive", "balanced", "rel_l2_u", 2, 1.6, 0.01),
    ("adaptive", "balanced", "rel_l2_theta", 4, 1.5, 0.01),
    ("adaptive", "mse", "rel_l2_u", 3, 1.7, 0.01),
    ("baseline", "balanced", "rel_l2_u", 0, 6.3, 0.051),
    ("baseline", "balanced", "rel_l2_theta", 0, 7.3, 0.051),
)


def test_crossovers_in_a_sentence():
    text = gate_statistics.crossover_text(SETTINGS)
    assert "twice under the balanced loss with $λ = 50$ and 3 times under the mean-square" in text
    assert "remains open" in gate_statistics.crossover_text(SETTINGS.assign(k_decided=5))


def test_the_model_that_depends_most_on_its_gate_comes_first():
    text = gate_statistics.sensitivity_text(SETTINGS)
    order = "6.3 for the plain network (angle: 7.3) and 1.6 for the adaptive model (angle: 1.5)."
    assert text.endswith(order)
    assert "remains open" in gate_statistics.sensitivity_text(SETTINGS.assign(k_decided=5))


def test_a_setting_in_which_no_test_can_be_significant_is_named_once():
    text = gate_statistics.reach_text(SETTINGS)
    assert text.count("plain network") == 1
    assert "adaptive" not in text
    assert gate_statistics.reach_text(SETTINGS.assign(smallest_p_holm=0.01)) == ""


def test_agreement_counts_what_agrees_differs_and_is_open():
    beside = published.beside_published(both(BOTH))  # none of the four with λ = 0
    counts = published.agreement(beside).loc["same_winner"]
    assert counts.to_dict() == {"agree": 4, "differ": 0, "open": 4}
