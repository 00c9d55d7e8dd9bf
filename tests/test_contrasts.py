"""Contrasts between any two variants, runs against their own trajectories, and Levenberg–Marquardt on a run's objective."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats as scipy_stats

from pinnlib import RunSpec, train
from pinnlib.analysis import contrasts, levenberg_marquardt, ntk, paired
from pinnlib.report import gate_rules, own_trajectory
from pinnlib.runs.record import record_of
from pinnlib.training import Objective, initial_parameters


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
    a, b = (
        {10: [1, 1, 1, 1, 1, 1.0], 20: [1, 2, 3, 4, 5, 6.0]},
        {10: [2, 2, 2, 4, 4, 4.0], 20: [1.1, 1.8, 3.3, 3.6, 5.5, 5.4]},
    )
    table = contrasts.contrasts(runs(a=a, b=b), [("a", "b")]).set_index("k")
    assert table.loc[10, "ratio"] == pytest.approx(np.sqrt(8))
    assert table.loc[10, "first_wins"] == 1
    assert table.loc[20, "first_wins"] == 0.5
    assert table.loc[10, "low"] >= 2 - 1e-9
    assert table.loc[10, "high"] <= 4 + 1e-9
    assert table.loc[10, "p_raw"] == scipy_stats.wilcoxon([1, 1, 1, 3, 3, 3.0]).pvalue
    np.testing.assert_allclose(table["p_holm"], paired.holm(table["p_raw"]))


def test_a_missing_run_leaves_no_number_and_still_counts_in_holm():
    frame = runs(
        a={10: [1, 1, 1, 1, 1, 1.0], 20: [1, 1, 1, 1, 1, 1.0]},
        b={10: [2, 2, 2, 3, 3, 3.0], 20: [2, 2, 2, 3, 3, 3.0]},
    )
    frame.loc[(frame["gate"] == "b") & (frame["k"] == 20) & (frame["seed"] == 3), "status"] = (
        "diverged"
    )
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
    assert contrasts.lost(table).to_dict() == {
        "a": 1,
        "b": 1,
        "c": 0,
        "d": 0,
    }  # a tie is lost by nobody


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
    assert best.loc[20].to_dict() == {
        "balanced": "a",
        "mse": "a",
    }
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
    assert {*same} == {*found}
    assert gate_rules.changes(same, (10, 20)) == "at 0 of 2 k"


def test_an_unknown_variant_is_named():
    with pytest.raises(ValueError, match="pairs=.*out of a"):
        contrasts.contrasts(runs(a={10: [1.0]}), [("a", "c")])


def test_a_run_is_compared_with_the_solution_from_its_own_velocity():
    spec = RunSpec(lambda_ic=0, steps=300, points=200)
    (result,) = train([spec])
    found = own_trajectory.own_trajectory(spec, record_of(result, {}))
    state = result.predict([0.0])
    assert found["speed"] == pytest.approx(np.hypot(state["r_t"][0], state["theta_t"][0]))
    hard = RunSpec(
        lambda_ic=0, steps=300, points=200, hard_velocity=True
    )  # starts at rest: its own trajectory is the reference
    (result,) = train([hard])
    found = own_trajectory.own_trajectory(hard, record_of(result, {}))
    assert found["speed"] < 1e-12
    assert found["own_rel_l2_u"] == pytest.approx(result.metrics["rel_l2_u"])
    table = own_trajectory.with_own_trajectory([spec, hard], {hard.key: record_of(result, {})})
    assert list(table["status"]) == ["missing", "ok"]
    assert list(table["own_rel_l2_u"].isna()) == [
        True,
        False,
    ]


@pytest.mark.parametrize("loss", ["balanced", "mse"])
def test_the_sum_of_squares_is_the_loss_that_training_minimises(loss):
    spec = RunSpec(loss=loss, precision="float64", points=63)
    theta = initial_parameters(spec)
    t = torch.linspace(0.1, 10, 63, dtype=torch.float64)
    drawn = torch.cat([t, torch.zeros(1, dtype=torch.float64)])[None]  # as Collocation gives it
    terms = Objective([spec]).terms(torch.nn.functional.pad(theta, (0, 30))[None], drawn)
    w = levenberg_marquardt.weights(spec, ntk.linearised(spec, theta, t.numpy())[1])
    values = levenberg_marquardt.parts(spec, theta, t.numpy(), w)[1]
    assert np.square(values).sum() == pytest.approx(terms["total"].item(), rel=1e-9)


def test_its_slopes_are_those_of_its_values():
    spec, t = RunSpec(gate="linear"), np.linspace(0.5, 10, 7)
    theta, w = initial_parameters(spec).double().numpy(), np.array([[0.3], [2.0]])
    J = levenberg_marquardt.parts(spec, theta, t, w)[0]
    for i in (0, 70, 129, 150):
        step = 1e-6 * np.eye(len(theta))[i]
        slope = (
            levenberg_marquardt.parts(spec, theta + step, t, w)[1]
            - levenberg_marquardt.parts(spec, theta - step, t, w)[1]
        ) / 2e-6
        np.testing.assert_allclose(J[:, i], slope, rtol=1e-5, atol=1e-6 * np.abs(J).max())


def test_levenberg_marquardt_ends_where_the_loss_is_flat_and_below_what_adam_finds():
    spec = RunSpec(model="fixed", loss="mse", steps=1500)
    (adam,) = train([spec])
    ((theta, used),) = levenberg_marquardt.levenberg_marquardt(spec, rounds=1, evaluations=200)
    t = (np.arange(400) + 0.5) / 40
    w = levenberg_marquardt.weights(spec, ntk.linearised(spec, theta, t)[1])
    (J, values), (_, theirs) = (
        levenberg_marquardt.parts(spec, theta, t, w),
        levenberg_marquardt.parts(spec, adam.parameters, t, w),
    )
    assert np.square(values).sum() < 0.9 * np.square(theirs).sum()
    assert used <= 200
    flat = (
        np.abs(J.T @ values) / np.linalg.norm(J, axis=0).clip(1e-12) / np.linalg.norm(values)
    )  # cosines
    assert flat.max() < 0.05


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
