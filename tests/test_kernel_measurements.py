"""Measurements of notebook 05: predictors and their rule, snapshots as short runs, floors."""

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest
import torch

from pinnlib import RunSpec, train
from pinnlib.ansatz import to_latent
from pinnlib.registry import UserError
from pinnlib.report import kernel_measurements
from pinnlib.runs.record import record_of
from pinnlib.training import evaluate, initial_parameters


@functools.cache
def measured_with(effect, level):
    """Predictors from kernels of 6 stiffnesses and 12 seeds.

    The trace under the linear gate depends on the final ratio (`effect`) or on k (`level`).
    """
    draw = np.random.default_rng(1)
    rows, pairs = [], []
    for k in range(6):
        for seed in range(12):
            ratio = draw.standard_normal() + (k - 2.5) * level
            pairs.append({"k": k, "seed": seed, "log_ratio": ratio})
            for gate in ("exp", "linear"):
                row = {
                    name: float(np.exp(draw.standard_normal()))
                    for name in kernel_measurements.QUANTITIES
                }
                row["trace"] = 1.0
                if gate == "linear":
                    row["trace"] = float(np.exp(effect * ratio + level * k))
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


def test_what_is_quoted_of_the_verdict():
    found = measured_with(1.0, 0.0)
    numbers = kernel_measurements.verdict_numbers(found)
    assert numbers["kernel_predicts"] == "yes"
    assert numbers["kernel_asked"] == len(kernel_measurements.QUANTITIES)
    assert numbers["kernel_strong"] == 1
    assert numbers["kernel_strong_in_time"] == 0
    assert numbers["kernel_clear"] >= 1
    assert numbers["kernel_clear_within_k"] >= 1


def test_notable_rows_are_the_strongest_over_all_and_within_k():
    found = pd.DataFrame(
        {
            "quantity": ["share_raw", "effective_rank", "trace"],
            "auc_all": [0.1, 0.8, np.nan],
            "p_within_k": [np.nan, 0.01, 0.5],
        }
    )
    rows = kernel_measurements.notable_rows(found)
    assert rows["quantity"].to_dict() == {
        "best": "share of the frequencies in the trace",
        "within": "effective rank",
    }
    assert rows["p_corrected"]["within"] == pytest.approx(0.03)
    certain = kernel_measurements.notable_rows(found.assign(p_within_k=0.9))
    assert list(certain["p_corrected"]) == [1, 1]


def test_what_is_quoted_of_the_floors():
    floors = pd.DataFrame(
        {
            "k": 20,
            "seed": [0, 0, 1, 1],
            "gate": ["exp", "linear"] * 2,
            "reached": [1.0, 2.0, 4.0, 2.0],
            "floor_start": [0.3, 0.1, 0.1, 0.1],
            "floor_learned": [0.1, 0.2, 0.1, 0.2],
            "residual_reached": [1.0, 1.0, 1.0, 1.0],
            "residual_learned": [2.0, 0.5, 2.0, 1.0],
        }
    )
    assert kernel_measurements.floor_numbers(floors) == {
        "floor_over_reached": "10.0%",  # the median of 10, 10, 2.5 and 10%
        "floor_largest": 0.3,
        "reached_smallest": 1,
        "floor_agrees": "1 of 2",  # the exponential gate has both lower floors and wins once
        "floor_preferred": "1 of 4",
    }


@pytest.fixture(scope="module")
def short_run():
    """(spec, result, records) of a run of 300 updates."""
    spec = RunSpec(steps=300)
    (result,) = train([spec])
    return spec, result, {spec.key: record_of(result, {})}


def test_floors_of_a_run_can_be_held_in_single_precision(short_run):
    spec, result, records = short_run
    (row,) = kernel_measurements.floors([spec], records).to_dict("records")
    best = kernel_measurements.best_head(spec, result.parameters)
    rounded = evaluate(spec, best.astype(np.float32))["rel_l2_u"]
    assert row["floor_learned"] == pytest.approx(evaluate(spec, best)["rel_l2_u"])
    assert row["floor_learned"] == pytest.approx(rounded, rel=0.1)
    assert row["reached"] == result.metrics["rel_l2_u"]
    assert row["floor_learned"] < row["reached"]


def test_windows_of_the_horizon_share_the_residual(short_run):
    spec, result, records = short_run
    timed = kernel_measurements.in_time([spec], [300], records, windows=2)
    assert timed["window"].tolist() == ["0–5", "5–10"]
    state = result.predict(spec.reference.t[::10])
    squares = np.square(state[["residual_r", "residual_theta"]]).sum(axis=1)
    assert np.square(timed["residual"]).mean() == pytest.approx(squares.mean())


def test_spectra_and_profiles_of_a_run(short_run):
    spec, _, records = short_run
    shares = kernel_measurements.kernel_spectra([spec], [0], records)["share"]
    assert shares.iloc[0] == 1
    assert shares.is_monotonic_decreasing
    norms = kernel_measurements.profiles([spec], [300], records)
    np.testing.assert_allclose(norms["all"] ** 2, norms["head"] ** 2 + norms["frequencies"] ** 2)


def test_the_half_that_has_lost_more_is_ahead():
    # Shares left, early and late: exp, seed 0: 10/10 and 2/4, then 4/10 and 2/4; seed 1: 1/2 and
    # 1/1, then 1/2 and 1/2, which is no lead; linear: 5/5 and 9/10, then 4/5 and 9/10.
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
        for update, halves in zip((0, 10, 20), moments, strict=True)
        for window, residual in zip(("0–5", "5–10"), halves, strict=True)
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
    counts = found["late half predicted ahead"]
    assert counts.to_numpy().tolist() == [[2, 1, 3], [1, 0, 1]]  # K, balanced K, of; 1 is not ahead
    ratios = found.loc["exp"].drop("late half predicted ahead").tolist()
    assert ratios == [0.5, 0.2, 2, 1, 4, 8]  # smallest, median, largest, each of both
    assert set(found.loc["linear"].drop("late half predicted ahead")) == {3, 0.1}


def test_without_records_there_is_nothing_to_measure():
    with pytest.raises(UserError, match="--study expanded"):
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
    theta = initial_parameters(spec).double().numpy()
    best = kernel_measurements.best_head(spec, theta)
    times = torch.tensor(spec.reference.t[::4])[None]
    target = to_latent(spec.system_object, spec.reference.q)[:, ::4]

    def off(parameters):
        latent = spec.ansatz().latent(torch.tensor(parameters)[None], times)
        return np.square(latent.value[0].numpy() - target).sum()

    draw = np.random.default_rng(0)
    for _ in range(20):
        change = np.zeros(len(best))
        change[:130] = 1e-3 * draw.standard_normal(130)
        assert off(best) < off(best + change)
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


@pytest.fixture(scope="module")
def trained():
    """(specs, kernels of the first at updates 0 and 4): two short runs of the fixed trunk."""
    specs = [RunSpec(model="fixed", gate=gate, steps=4, points=50) for gate in ("exp", "linear")]
    return specs, kernel_measurements.trained_kernels(specs[:1], [0, 4])


def test_trained_kernels_are_added_to_the_known_ones(trained):
    specs, first = trained
    tables = []
    whole = kernel_measurements.trained_kernels(
        specs, [0, 4], first.assign(trace=7.0), tables.append
    )
    assert whole[["gate", "update"]].values.tolist() == [
        ["exp", 0],
        ["exp", 4],
        ["linear", 0],
        ["linear", 4],
    ]
    assert (whole["trace"][:2] == 7.0).all()  # the known run is not trained again
    (table,) = tables
    pd.testing.assert_frame_equal(table.reset_index(drop=True), whole)


def test_a_run_that_lacks_an_update_is_trained_again(trained):
    specs, first = trained
    again = kernel_measurements.trained_kernels(specs[:1], [0, 2, 4], first.assign(trace=7.0))
    assert list(again["update"]) == [0, 2, 4]
    assert (again["trace"] != 7.0).all()


def test_trained_kernels_are_those_of_the_records(trained):
    specs, first = trained
    (result,) = train(specs[:1])
    records = {result.spec.key: record_of(result, {})}
    expected = kernel_measurements.kernels(specs[:1], [0, 4], records)
    pd.testing.assert_frame_equal(first, expected, check_dtype=False)
