"""What notebook 05 rests on: AUC, rank correlation, the rule, snapshots as short runs, and the least-squares floor."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, spearmanr

from pinnlib import RunSpec, train
from pinnlib.analysis import association
from pinnlib.models import to_latent
from pinnlib.report import kernel_measurements
from pinnlib.runs.record import record_of
from pinnlib.training import evaluate, initial_parameters

ONE = np.zeros


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30).filter(
        lambda rows: len({won for _, won in rows}) == 2
    )
)
def test_auc_is_the_statistic_of_mann_and_whitney(rows):
    x, wins = (np.array(column) for column in zip(*rows))
    found, low, high = association.auc(x.astype(float), wins, np.arange(len(x)), ONE(len(x)))
    assert found == pytest.approx(
        mannwhitneyu(x[wins], x[~wins]).statistic / (wins.sum() * (~wins).sum())
    )
    assert 0 <= low <= high <= 1


def test_auc_within_groups_ignores_what_the_group_knows():
    k, wins, seed = (
        np.repeat([10, 20], 4),
        np.array([1, 1, 1, 0, 0, 0, 0, 1], dtype=bool),
        np.tile(np.arange(4), 2),
    )
    assert association.auc(-k, wins, seed, ONE(8))[0] > 0.5
    assert association.auc(-k, wins, seed, k)[0] == 0.5  # the same k, the same x
    assert association.auc(wins.astype(float), wins, seed, k)[0] == 1
    assert np.isnan(association.auc(k, np.ones(8, dtype=bool), seed, k)).all()


def test_rank_correlation_is_spearmans_and_within_groups_removes_their_level():
    x, y = np.random.default_rng(0).standard_normal((2, 40))
    seed, group = np.tile(np.arange(20), 2), np.repeat([0, 100], 20)
    found, low, high = association.rank_correlation(x, y, seed, ONE(40))
    assert found == pytest.approx(spearmanr(x, y).statistic)
    assert low < found < high
    assert association.rank_correlation(x + group, y + group, seed, group) == pytest.approx(
        association.rank_correlation(x, y, seed, group)
    )
    assert association.rank_correlation(x, 2 * x, seed, group) == pytest.approx((1, 1, 1))
    assert np.isnan(association.rank_correlation(group, y, seed, group)).all()


def measured_with(effect, level):
    """Kernels of 6 stiffnesses and 12 seeds in which the trace of the linear gate knows the final ratio (`effect`) or its k (`level`)."""
    draw, rows, pairs = np.random.default_rng(1), [], []
    for k in range(6):
        for seed in range(12):
            ratio = draw.standard_normal() + (k - 2.5) * level
            pairs.append({"k": k, "seed": seed, "log_ratio": ratio})
            for gate in ("exp", "linear"):
                row = {
                    name: float(np.exp(draw.standard_normal()))
                    for name in kernel_measurements.QUANTITIES
                }
                row["trace"] = (
                    float(np.exp(effect * ratio + level * k)) if gate == "linear" else 1.0
                )
                rows.append({"k": k, "seed": seed, "gate": gate, "update": 0} | row)
    return kernel_measurements.predictors(pd.DataFrame(rows), pd.DataFrame(pairs), [0])


@pytest.mark.parametrize(
    "effect, level, answer", [(1.0, 0.0, "yes"), (0.0, 0.0, "no"), (0.0, 1.0, "unclear")]
)
def test_the_rule_says_yes_no_and_unclear(effect, level, answer):
    found, rows = kernel_measurements.verdict(measured_with(effect, level))
    assert found == answer
    assert ("trace" in set(rows["quantity"])) == (answer != "no")


def test_where_nothing_can_be_compared_the_question_stays_open():
    found = measured_with(0.0, 30.0)  # every seed goes with its k
    assert found["auc_within_k"].isna().all()
    assert kernel_measurements.verdict(found)[0] == "open"


def test_on_opposite_sides_is_unclear():
    found = measured_with(1.0, 0.0)
    turned = found.assign(
        auc_all=1 - found["auc_all"], low_all=1 - found["high_all"], high_all=1 - found["low_all"]
    )
    assert kernel_measurements.verdict(found)[0] == "yes"
    assert kernel_measurements.verdict(turned)[0] == "unclear"


def test_shuffling_within_groups_finds_what_is_there_and_nothing_else():
    draw, group = np.random.default_rng(2), np.repeat([0, 1, 2], 15)
    x, noise = draw.standard_normal((2, 45))
    assert association.permutation_p(x, x + 0.5 * noise, group) < 0.01
    assert (
        association.permutation_p(group.astype(float), group + 0.01 * noise, group) > 0.99
    )  # it only knows the group
    assert 0.01 < association.permutation_p(x, noise, group) <= 1


def test_floors_of_a_run_can_be_held_in_single_precision():
    spec = RunSpec(steps=300)
    (result,) = train([spec])
    records = {spec.key: record_of(result, {})}
    (row,) = kernel_measurements.floors([spec], records).to_dict("records")
    best = kernel_measurements.best_head(spec, result.parameters)
    rounded = evaluate(spec, best.astype(np.float32))["rel_l2_u"]
    assert (
        row["floor_learned"]
        == pytest.approx(evaluate(spec, best)["rel_l2_u"])
        == pytest.approx(rounded, rel=0.1)
    )
    assert row["reached"] == result.metrics["rel_l2_u"]
    assert row["floor_learned"] < row["reached"]
    timed = kernel_measurements.in_time([spec], [300], records, windows=2)
    whole = np.sqrt(np.square(timed["residual"]).mean())
    assert timed["window"].tolist() == ["0–5", "5–10"]
    assert whole == pytest.approx(
        np.sqrt(
            np.square(result.predict(spec.reference.t[::10])[["residual_r", "residual_theta"]])
            .sum(axis=1)
            .mean()
        )
    )
    shares = kernel_measurements.kernel_spectra([spec], [0], records)["share"]
    assert shares.iloc[0] == 1
    assert shares.is_monotonic_decreasing
    norms = kernel_measurements.profiles([spec], [300], records)
    np.testing.assert_allclose(norms["all"] ** 2, norms["head"] ** 2 + norms["frequencies"] ** 2)


def test_the_half_that_has_lost_more_is_ahead():
    # What is left, early and late: exp, seed 0: 10/10 and 2/4, then 4/10 and 2/4; seed 1: 1/2 and 1/1, then 1/2 and 1/2, which is no lead;
    # linear: 5/5 and 9/10, then 4/5 and 9/10.
    residuals = {
        ("exp", 0): [(10, 4), (10, 2), (4, 2)],
        ("exp", 1): [(2, 1), (1, 1), (1, 0.5)],
        ("linear", 0): [(5, 10), (5, 9), (4, 9)],
    }
    rows = [
        {
            "gate": gate,
            "k": 20,
            "seed": seed,
            "update": update,
            "window": window,
            "residual": residual,
        }
        for (gate, seed), moments in residuals.items()
        for update, halves in zip((0, 10, 20), moments)
        for window, residual in zip(("0–5", "5–10"), halves)
    ]
    found = kernel_measurements.early_first(pd.DataFrame(rows))
    assert found.to_dict("index") == {
        ("exp", 10): {"early half ahead": 1, "of": 2},
        ("exp", 20): {"early half ahead": 1, "of": 2},
        ("linear", 10): {"early half ahead": 0, "of": 1},
        ("linear", 20): {"early half ahead": 1, "of": 1},
    }


def test_the_half_that_the_kernel_has_ahead_is_counted_for_either_weights():
    rates = {
        "rate_late_over_early": [0.5, 3, 2, 4],
        "balanced_rate_late_over_early": [1, 0.1, 0.2, 8],
    }
    found = kernel_measurements.late_first(
        pd.DataFrame({"gate": ["exp", "linear", "exp", "exp"]} | rates)
    )
    assert found["late half predicted ahead"].to_numpy().tolist() == [
        [2, 1, 3],
        [1, 0, 1],
    ]  # K, balanced K, of; a ratio of 1 is not ahead
    assert found.loc["exp"].drop("late half predicted ahead").tolist() == [
        0.5,
        0.2,
        2,
        1,
        4,
        8,
    ]  # smallest, median, largest, each of both
    assert set(found.loc["linear"].drop("late half predicted ahead")) == {3, 0.1}


def test_without_records_the_study_to_train_is_named():
    with pytest.raises(ValueError, match="sweep --study expanded"):
        kernel_measurements.profiles([RunSpec()], [5000], {})


def test_a_short_run_has_the_parameters_of_the_whole_run_at_that_moment():
    spec = RunSpec(steps=30, points=50)
    others = [dataclasses.replace(spec, seed=seed, k=35) for seed in (1, 2)]
    *_, whole = train([*others, spec], snapshots=[0, 10])
    short = dataclasses.replace(spec, steps=10)
    records = {short.key: record_of(train([short])[0], {})}  # alone, the other in company
    np.testing.assert_array_equal(
        kernel_measurements.parameters_at(spec, 10, records), whole.snapshots[10]
    )
    np.testing.assert_array_equal(
        kernel_measurements.parameters_at(spec, 0, {}), whole.snapshots[0]
    )
    assert kernel_measurements.parameters_at(spec, 20, records) is None


@pytest.mark.parametrize("model", ["fixed", "adaptive"])
@pytest.mark.parametrize("gate", ["exp", "linear"])
def test_no_head_fits_the_reference_better_than_the_best(model, gate):
    spec = RunSpec(model=model, gate=gate, k=30)
    ref, theta = spec.reference, initial_parameters(spec).double().numpy()
    best, wanted = (
        kernel_measurements.best_head(spec, theta),
        to_latent(spec.system_object, ref.q)[:, ::4],
    )

    def off(parameters):
        latent = (
            spec.ansatz()
            .latent(torch.tensor(parameters)[None], torch.tensor(ref.t[::4])[None])
            .value[0]
            .numpy()
        )
        return np.square(latent - wanted).sum()

    draw = np.random.default_rng(0)
    for _ in range(20):
        assert off(best) < off(
            best + 1e-3 * draw.standard_normal(len(best)) * (np.arange(len(best)) < 130)
        )
    assert off(best) < 1e-3 * off(theta)
    np.testing.assert_array_equal(best[130:], theta[130:])  # the frequencies stay


def test_the_closed_form_is_the_second_derivative_of_the_features():
    spec, times = RunSpec(gate="exp(alpha=0.5)"), np.array([0.3, 4.0])
    t = torch.tensor(times, requires_grad=True)
    total = 0
    for omega in spec.trunk.start:
        for wave in (torch.sin, torch.cos):
            y = (1 - torch.exp(-0.5 * t)) * wave(omega * t)
            (slope,) = torch.autograd.grad(y.sum(), t, create_graph=True)
            total = total + torch.autograd.grad(slope.sum(), t)[0] ** 2
    factor = np.sqrt(1 + torch.sigmoid(spec.ansatz().start[0, 0, 0]).item() ** 2)
    np.testing.assert_allclose(
        kernel_measurements.envelope(spec, times), factor * total.sqrt().numpy(), rtol=1e-10
    )


def test_kernels_of_runs_trained_on_the_spot_are_those_of_their_parameters_and_are_not_made_twice():
    specs = [RunSpec(model="fixed", gate=gate, steps=4, points=50) for gate in ("exp", "linear")]
    kept = []
    first = kernel_measurements.trained_kernels(specs[:1], [0, 4])
    whole = kernel_measurements.trained_kernels(
        specs, [0, 4], first.assign(trace=7.0), kept.append
    )  # would be put right if that run were trained again
    assert len(kept) == 1
    assert kept[0] is whole
    again = kernel_measurements.trained_kernels(
        specs[:1], [0, 2, 4], first.assign(trace=7.0)
    )  # an update is lacking: the run is trained
    assert list(again["update"]) == [0, 2, 4]
    assert (again["trace"] != 7.0).all()
    assert list(whole["gate"]) == ["exp", "exp", "linear", "linear"]
    assert list(whole["update"]) == [
        0,
        4,
        0,
        4,
    ]
    assert (whole["trace"][:2] == 7.0).all()
    (result,) = train(specs[1:])
    records = {result.spec.key: record_of(result, {})}
    expected = kernel_measurements.kernels(specs[1:], [0, 4], records)
    pd.testing.assert_frame_equal(whole[2:].reset_index(drop=True), expected, check_dtype=False)
