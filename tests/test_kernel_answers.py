"""The answer of notebook 05 in sentences, and its small tables, by hand."""

import itertools

import pandas as pd
import pytest

from pinnlib.report import kernel_answers

NUMBERS = {
    "kernel_growth_exp": 1.06,
    "kernel_growth_linear": 3.9,
    "kernel_predicts": "unclear",
    "kernel_asked": 26,
    "kernel_quantities": 13,
    "kernel_clear": 15,
    "kernel_clear_within_k": 2,
}


def test_growth_is_quoted_at_the_start_and_k_20():
    index = pd.MultiIndex.from_product([("exp", "linear"), (20.0, 60.0), (0, 500)])
    growth = pd.DataFrame({"all": range(8)}, index)
    assert kernel_answers.growth_numbers(growth) == {
        "kernel_growth_exp": 0,
        "kernel_growth_linear": 4,
    }


def cells():
    """Medians of three seeds whose second has the values that count."""
    rows = []
    cell = itertools.product(
        ("baseline", "fixed"), (20, 60), ("exp", "linear"), (0, 500), (0, 1, 2)
    )
    for model, k, gate, update, seed in cell:
        rank = k + update / 100 + (model == "fixed") + [-9, 0, 90][seed]
        late = k / 10 + update + (gate == "linear") + [-9, 0, 90][seed]
        row = {"model": model, "k": k, "gate": gate, "update": update, "seed": seed}
        rows.append(row | {"effective_rank": rank, "late_over_early": late})
    return kernel_answers.cell_medians(pd.DataFrame(rows))


def test_trunks_have_the_range_of_their_rank_and_late_over_early_at_the_start():
    found = kernel_answers.trunk_overview(cells())
    assert found.loc[("baseline", "exp")].tolist() == [20, 65, 4]  # the median of 2 and 6
    assert found.loc[("fixed", "linear")].tolist() == [21, 66, 5]


def test_decay_measured_and_predicted():
    gates = pd.Index(["exp", "linear"], name="gate")
    index = pd.MultiIndex.from_product([gates, (100, 5000)], names=["gate", "update"])
    early = pd.DataFrame({"early half ahead": [0, 1, 2, 3], "of": 65}, index)
    rate, balanced = "rate_late_over_early", "balanced_rate_late_over_early"
    late = pd.DataFrame(
        {
            ("late half predicted ahead", rate): [65, 64],
            ("late half predicted ahead", balanced): [1, 2],
            ("late half predicted ahead", "of"): [65, 65],
            ("ratio of rates, smallest", rate): [1.1, 1.5],
            ("ratio of rates, smallest", balanced): [9.0, 9.0],
            ("ratio of rates, largest", rate): [1.7, 3.4],
            ("ratio of rates, largest", balanced): [9.0, 9.0],
        },
        gates,
    )
    overview = kernel_answers.decay_overview(early, late)
    assert overview["linear"].tolist() == ["2 of 65", "3 of 65", "64 of 65", "1.50 to 3.40"]
    numbers = kernel_answers.decay_numbers(overview, 5000)
    assert numbers["early_first_exp"] == "1 of 65"
    assert numbers["late_predicted_linear"] == "64 of 65"


def test_the_jacobian_saturates_only_if_it_does():
    text = kernel_answers.jacobian_sentence(NUMBERS)
    assert "grows by a factor 3.9 under the linear gate" in text
    assert text.endswith("it saturates (1.06).")
    text = kernel_answers.jacobian_sentence(NUMBERS | {"kernel_growth_exp": 2.0})
    assert "saturates" not in text
    assert "a factor 3.90 under the linear gate and 2.00" in text


@pytest.mark.parametrize(
    "changes, ending",
    [
        ({}, "but only 2 within one stiffness. Whether the kernel explains the winner stays"),
        ({}, "Of 26 kernel predictors (13 quantities at 2 moments) 15 correlate"),
        ({"kernel_predicts": "yes"}, "within one stiffness. The kernel predicts the winner."),
        ({"kernel_predicts": "no"}, "The kernel does not predict the winner."),
        ({"kernel_predicts": "open"}, "is open, since runs are missing"),
        (
            {"kernel_clear": 0, "kernel_clear_within_k": 0},
            ", and 0 within one stiffness. Whether the kernel",
        ),
    ],
)
def test_what_the_kernel_predicts(changes, ending):
    assert ending in kernel_answers.predictor_sentences(NUMBERS | changes)


def floors(learned):
    return pd.DataFrame(
        {
            "reached": 1.0,
            "floor_learned": learned,
            "reached_theta": 2.0,
            "floor_learned_theta": 0.1,
        },
        range(3),
    )


@pytest.mark.parametrize(
    "learned, words",
    [
        (0.02, "could represent the motion far better than training finds it"),
        (0.5, "could represent the motion better than training finds it"),
        (1.0, "With neither gate could the ansatz represent the motion better"),
    ],
)
def test_representation_or_training(learned, words):
    assert words in kernel_answers.floor_sentences(floors(learned))


def test_the_answer_has_five_sentences():
    text = kernel_answers.kernel_answer(NUMBERS, floors(0.02))
    assert text.count(". ") == 4
    assert text.endswith("2.0% of the error that training reached (5.0% for the angle).")


def test_pairs_and_floors_in_words():
    numbers = {"kernel_exp_wins": 3, "kernel_pairs": 5, "kernel_by_k_alone": 0.8}
    numbers |= {"kernel_minority": 1, "kernel_angle_same_winner": "4 of 5"}
    text = kernel_answers.pair_sentence(numbers)
    assert text.startswith("The exponential gate wins 3 of 5 pairs; $k$ alone is right in 80%")
    assert text.endswith("has the same winner in 4 of 5.")
    numbers = {"floor_largest": 0.004, "reached_smallest": 0.01}
    numbers |= {"floor_agrees": "3 of 5", "floor_preferred": "1 of 10"}
    text = kernel_answers.floor_details(numbers)
    assert "Largest floor 0.0040, smallest error reached 0.0100." in text
    assert text.endswith("smaller mean residual in 1 of 10 runs.")
