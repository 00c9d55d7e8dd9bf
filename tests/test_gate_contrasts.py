"""Which runs each question of notebook 06 compares, from small tables by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest

from pinnlib.registry import UserError
from pinnlib.report import gate_answers, gate_choice, gate_contrasts
from pinnlib.report.gate_rules import TOO_FEW
from pinnlib.runs.studies import TEN_GATES
from pinnlib.runs.table import specs_of


def runs(errors, k=(20, 60), seeds=8, **columns):
    """gate → error of the state; that of the angle is its square; seeds differ a little."""
    rows = []
    for (gate, error), at, seed in itertools.product(errors.items(), k, range(seeds)):
        size = error * (1 + seed / 100)
        row = {"key": f"{gate}{at}{seed}", "gate": gate, "k": at, "seed": seed, "status": "ok"}
        rows.append(row | {"rel_l2_u": size, "rel_l2_theta": size**2})
    settings = {"model": "adaptive", "loss": "balanced", "lambda_ic": 50.0, "steps": 5000}
    return pd.DataFrame(rows).assign(**settings | columns)


TEN = {gate: 1.0 + place for place, gate in enumerate(TEN_GATES)}
PUBLISHED = {"exp": 1.0, "linear": 2.0}


def test_the_angle_stands_beside_the_state():
    found = gate_contrasts.state_and_angle(runs(PUBLISHED), [("exp", "linear")])
    assert found["ratio"].tolist() == pytest.approx([2, 2])
    assert found["angle_ratio"].tolist() == pytest.approx([4, 4])
    assert found["angle_high"].tolist() == pytest.approx([4, 4])


def test_the_choice_has_medians_and_worst_case_of_the_angle():
    found = gate_choice.gate_choice(runs({"exp": 1.0, "linear": 3.0}))
    assert list(found.index) == ["exp", "linear"]
    assert found.loc["linear", "regret_worst"] == pytest.approx(3)
    assert found.loc["linear", "angle_worst"] == pytest.approx(9)
    median = 3 * 1.035
    assert found.loc["linear", "median_20"] == pytest.approx(median)
    assert found.loc["linear", "angle_60"] == pytest.approx(median**2, rel=1e-3)


def test_factors_keep_shape_or_amplitude():
    found = gate_contrasts.factor_contrasts(runs(TEN, k=(20,)))
    factor = dict(
        zip(zip(found["first"], found["second"], strict=True), found["factor"], strict=True)
    )
    assert factor == {
        ("exp", "exp(scale=10.0)"): "amplitude",
        ("linear", "linear(scale=0.1)"): "amplitude",
        ("linear", "exp(scale=10.0)"): "shape",
        ("linear(scale=0.1)", "exp"): "shape",
    }


def test_alphas_are_those_of_the_unscaled_exponential_gates():
    assert sorted(gate_contrasts.alphas().values()) == [0.25, 0.5, 1, 2, 4]
    assert set(gate_contrasts.runs_by_alpha(runs(TEN))["alpha"]) == {0.25, 0.5, 1, 2, 4}
    medians = gate_contrasts.alpha_medians(runs({"exp": 1.0, "exp(alpha=2.0)": 5.0}))
    assert medians.loc[2, 60] == pytest.approx(5 * 1.035)


def test_losses_are_compared_over_common_seeds():
    under = gate_contrasts.losses_compared({"gates": runs(TEN), "gates_mse": runs(TEN, seeds=3)})
    assert set(under["balanced"]["seed"]) == {0, 1, 2}


def test_the_budget_compares_the_same_seeds_and_stiffnesses():
    longer = runs(PUBLISHED, k=(60,), seeds=3, steps=25000)
    both = gate_contrasts.budget_runs({"gates": runs(TEN), "budget": longer})
    assert set(both["gate"]) == {"exp", "linear"}
    assert set(both["k"]) == {60}
    assert both.groupby("steps").size().tolist() == [6, 6]


def test_hard_velocity_and_its_gates_are_one_family():
    hard = runs({"exp": 4.0, "linear": 4.0})
    against, gates = gate_contrasts.velocity_contrasts({"gates": runs(TEN), "hard_velocity": hard})
    of_exp = against[against["gate"] == "exp"]
    assert of_exp["ratio"].tolist() == pytest.approx([TEN["exp"] / 4] * 2)
    assert gates["ratio"].tolist() == pytest.approx([1, 1])
    smallest = against["p_raw"].min()
    assert against["p_holm"].min() == pytest.approx(6 * smallest)


def test_runs_are_compared_with_their_own_trajectory():
    own = runs(PUBLISHED).assign(own_rel_l2_u=0.5, own_rel_l2_theta=0.25)
    found = gate_contrasts.trajectory_contrasts(own).set_index(["k", "gate"])
    assert found.loc[(20, "linear"), "ratio"] == pytest.approx(4 * 1.035, rel=1e-3)
    assert found.loc[(20, "exp"), "angle_ratio"] == pytest.approx(4 * 1.035**2, rel=1e-3)


def test_every_question_is_in_the_table():
    studies = {
        "gates": runs(TEN),
        "gates_mse": runs(TEN),
        "budget": runs(PUBLISHED, steps=25000),
        "hard_velocity": runs(PUBLISHED),
    }
    own = runs(PUBLISHED).assign(own_rel_l2_u=0.5, own_rel_l2_theta=0.25)
    methods = dict.fromkeys(("Adam", "Levenberg–Marquardt", "SGD"), runs(PUBLISHED))
    compared = gate_contrasts.compare(studies, own, methods)
    table = gate_contrasts.contrast_table(compared)
    counts = table["question"].value_counts()
    assert counts["alpha"] == 2 * 10
    assert counts["amplitude: original, changed"] == 2 * 2
    assert counts["exp, linear: updates"] == 2 * 2
    assert counts["own, reference trajectory"] == 2 * 2
    assert set(compared) - set(counts.index) == {"loss"}  # both losses prefer the same gate here


def test_questions_of_significance_are_open_with_three_seeds():
    turned = dict(zip(TEN, reversed(TEN.values()), strict=True))
    studies = {
        "gates": runs(TEN, seeds=3),
        "gates_mse": runs(turned, seeds=3),
        "budget": runs(PUBLISHED, seeds=3, steps=25000),
        "hard_velocity": runs(PUBLISHED, seeds=3),
    }
    own = runs(PUBLISHED, seeds=3).assign(own_rel_l2_u=0.5, own_rel_l2_theta=0.25)
    part = runs(PUBLISHED, seeds=3)
    methods = dict.fromkeys(("Adam", "Levenberg–Marquardt", "SGD"), part)
    compared = gate_contrasts.compare(studies, own, methods)
    found = gate_answers.gate_study_answers(compared, studies, "none of its 6 runs converged")
    answers = {rule: answer for rule, (answer, _) in found.items()}
    assert answers.pop("conditioning") == "not conditioning"
    assert set(answers.values()) == {TOO_FEW}


def test_runs_are_counted_once():
    table = runs(PUBLISHED, seeds=3)
    numbers = gate_contrasts.run_numbers({"gates": table, "budget": table})
    assert numbers == {"gate_runs": 12, "gate_seeds": 3}


def test_studies_without_any_run_are_named():
    specs = {study: specs_of(study, seeds=1, steps=70) for study in ("budget", "hard_velocity")}
    records = {specs["budget"][0].key: {}}
    with pytest.raises(UserError) as caught:
        gate_contrasts.validate_studies(specs, records, 70)
    for words in ("steps = 70: 1 of the 12 runs", "studies hard_velocity;", "train_missing = True"):
        assert words in str(caught.value)
    gate_contrasts.validate_studies({"budget": specs["budget"]}, records, 70)


def test_the_expanded_study_is_cut_to_what_other_optimisers_have():
    specs = specs_of("expanded")
    found = gate_contrasts.runs_by_study({"expanded": specs}, {})["expanded"]
    assert set(found["k"]) == {20, 30, 60, 100}
    assert found["seed"].max() == 9
    assert np.issubdtype(found["k"].dtype, np.integer)
