"""L-BFGS after Adam and the cost of every method: tables and sentences, by hand."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec, train
from pinnlib.paths import ROOT
from pinnlib.report import optimiser_answers
from pinnlib.report.optimiser_answers import ADAM, NEWTON, REFINED, SOLVER
from pinnlib.runs.record import record_of

KS = (20, 30, 60, 100)
BENCHMARK = {
    "dop853": [
        {
            "k": 60,
            "rtol": 1e-3,
            "seconds": 0.01,
            "rel_l2_u": 5e-4,
            "rel_l2_theta": 1e-3,
        },
        {
            "k": 60,
            "rtol": 1e-9,
            "seconds": 0.05,
            "rel_l2_u": 5e-10,
            "rel_l2_theta": 1e-9,
        },
        {
            "k": 60,
            "rtol": 1e-10,
            "seconds": 0.06,
            "rel_l2_u": 1e-15,
            "rel_l2_theta": 1e-15,
        },
    ],
    "levenberg_marquardt": {"seconds_per_evaluation": {"exp": 0.01, "linear": 0.02}},
}


def runs(exp, linear, seconds=1.0, seeds=10):
    """The same errors at every k, but for a per mille per seed."""
    errors = {"exp": exp, "linear": linear}
    rows = []
    for k, gate, seed in itertools.product(KS, errors, range(seeds)):
        error = errors[gate] * (1 + 0.001 * seed)
        row = {
            "k": float(k),
            "gate": gate,
            "seed": seed,
            "status": "ok",
            "seconds": seconds,
            "rel_l2_u": error,
            "rel_l2_r": error,
            "rel_l2_theta": 5 * error,
        }
        rows.append(row)
    return pd.DataFrame(rows)


BEFORE = runs(0.1, 0.4)
AFTER = runs(0.05, 0.1, seconds=20.0)
METHODS = {ADAM: BEFORE, REFINED: AFTER, NEWTON: runs(0.07, 0.07).assign(evaluations=360)}


def test_contrasts_of_the_question_are_one_family():
    helped, adam, refined = optimiser_answers.refinement_contrasts(BEFORE, AFTER)
    assert len(helped) + len(adam) + len(refined) == 16
    by_gate = helped.groupby("gate")["ratio"].first()
    assert by_gate.to_dict() == pytest.approx({"exp": 2, "linear": 4})
    assert adam["ratio"].to_numpy() == pytest.approx(4)
    assert refined["ratio"].to_numpy() == pytest.approx(2)
    for table in (helped, adam, refined):
        assert table["p_holm"].to_numpy() == pytest.approx(16 * 2.0**-9)


def test_ratios_in_one_row_per_stiffness():
    helped, *gates = optimiser_answers.refinement_contrasts(BEFORE, AFTER)
    wide = optimiser_answers.ratio_wide(helped, gates)
    assert wide.loc[60].to_dict() == {
        "Adam over L-BFGS, exp": "2.00 [2.00, 2.00]*",
        "Adam over L-BFGS, linear": "4.00 [4.00, 4.00]*",
        "linear over exp, Adam": "4.00 [4.00, 4.00]*",
        "linear over exp, Adam + L-BFGS": "2.00 [2.00, 2.00]*",
    }


def test_the_share_of_the_gap_that_is_left():
    assert optimiser_answers.gap_left(BEFORE, AFTER) == pytest.approx((0.5, 0.5, 0.5))
    noisy = AFTER.copy()
    rng = np.random.default_rng(0)
    noisy["rel_l2_u"] *= np.exp(0.3 * rng.normal(size=len(noisy)))
    share, low, high = optimiser_answers.gap_left(BEFORE, noisy)
    assert low < share < high
    broken = AFTER.copy()
    broken.loc[0, "status"] = "diverged"
    assert np.isnan(optimiser_answers.gap_left(BEFORE, broken)).all()
    assert np.isnan(optimiser_answers.gap_left(broken, AFTER)).all()


def test_iterations_of_lbfgs_are_read_from_the_history():
    settings = {"steps": 3, "points": 50, "precision": "float64"}
    specs = [RunSpec(lbfgs=2, seed=seed, **settings) for seed in range(3)]
    results = train(specs[:2])
    records = {result.spec.key: record_of(result, {}) for result in results}
    stops = optimiser_answers.lbfgs_iterations(specs, records)
    assert list(stops["seed"]) == [0, 1]
    assert list(stops["iterations"]) == [2, 2]
    assert not stops["stopped"].any()
    records[specs[0].key]["history"]["update"][-1] = 4
    stops = optimiser_answers.lbfgs_iterations(specs, records)
    assert list(stops["stopped"]) == [True, False]


def test_sentence_on_where_methods_stopped():
    stops = pd.DataFrame({"stopped": [True, False]})
    newton = pd.DataFrame({"evaluations": [360, 360, 100]})
    assert optimiser_answers.stop_sentence(stops, newton, 360) == (
        "1 of 2 L-BFGS runs stopped before the last allowed iteration. Levenberg–Marquardt used"
        " every allowed evaluation, unconverged, in 2 of 3 runs."
    )
    assert optimiser_answers.stop_sentence(stops, newton[:0], 360).endswith("run is on file.")
    none = optimiser_answers.stop_sentence(stops[1:].assign(stopped=False), newton, 360)
    assert none.startswith("None of 1 L-BFGS run stopped")


def test_runs_that_are_not_on_record_have_their_columns():
    specs = [RunSpec(gate="exp"), RunSpec(gate="linear")]
    found = optimiser_answers.trained_runs(specs, {})
    assert set(found["status"]) == {"missing"}
    assert found["rel_l2_r"].isna().all()
    errors = optimiser_answers.method_errors({ADAM: found})
    assert errors["rel_l2_theta"].isna().all()


def test_newton_runs_are_those_of_the_adaptive_trunk(tmp_path):
    found = optimiser_answers.newton_runs(ROOT / "data" / "gate_second_order.csv", 20, 6)
    assert set(found["model"]) == {"adaptive"}
    assert set(found["rounds"]) == {6}
    assert len(found) == 80
    assert optimiser_answers.newton_runs(tmp_path / "none.csv", 20, 6).empty


def test_errors_beside_standing_still():
    errors = optimiser_answers.method_errors(METHODS)
    assert len(errors) == 24
    still = pd.DataFrame({"k": map(float, KS), "rel_l2_u": 0.2, "rel_l2_theta": 1.0})
    wide = optimiser_answers.method_overview(errors, still)
    row = wide.loc[(60, "linear")]
    assert row["rel_l2_u", ADAM] == pytest.approx(0.4018)
    assert row["rel_l2_theta", "standing still"] == 1
    broken = BEFORE.copy()
    broken.loc[0, "status"] = "diverged"
    errors = optimiser_answers.method_errors({ADAM: broken})
    assert errors["rel_l2_u"].isna().sum() == 1


def test_costs_have_the_seconds_of_runs_evaluations_and_solver():
    points = optimiser_answers.cost_points(METHODS, BENCHMARK)
    newton = points[points["method"] == NEWTON]
    by_gate = newton.groupby("gate")["seconds"].first()
    assert by_gate.to_dict() == pytest.approx({"exp": 3.6, "linear": 7.2})
    solver = points[points["method"] == SOLVER]
    assert list(solver["rtol"]) == [1e-3, 1e-9]  # not the reference itself
    medians = optimiser_answers.median_costs(points)
    assert len(medians) == 24
    table = optimiser_answers.cost_table(points, 60)
    assert table.loc[(REFINED, "exp"), "seconds"] == "20"
    assert table.loc[(SOLVER, "rtol 1e-03"), "rel_l2_u"] == "0.0005"


def test_without_a_benchmark_only_trained_runs_have_seconds(tmp_path):
    assert optimiser_answers.read_benchmark(tmp_path / "none.json") == {}
    points = optimiser_answers.cost_points(METHODS, {})
    newton = points[points["method"] == NEWTON]
    assert newton["seconds"].isna().all()
    assert len(optimiser_answers.median_costs(points)) == 16
    text = optimiser_answers.solver_sentence(points, 60)
    assert text.startswith("./run_all.sh bench measures")


def test_the_solver_is_compared_in_factors_that_machines_share():
    points = optimiser_answers.cost_points(METHODS, BENCHMARK)
    expected = (
        "At $k = 60$ DOP853 is more than a hundred times faster and more than a hundred times more"
        " accurate than the best trained network."
    )
    assert optimiser_answers.solver_sentence(points, 60) == expected
    slower = points.assign(seconds=points["seconds"].where(points["method"] != SOLVER, 0.1))
    assert optimiser_answers.solver_sentence(slower, 60) == expected
    equal = points.assign(seconds=1.0)
    text = optimiser_answers.solver_sentence(equal, 60)
    assert text.startswith("At $k = 60$ DOP853 is more than a hundred times more accurate than")
    missing = BEFORE.assign(status="missing")
    none = optimiser_answers.cost_points({ADAM: missing}, {})
    assert optimiser_answers.solver_sentence(none, 60).endswith("is open: runs are missing.")


def help_table(*ratios):
    frame = pd.DataFrame({"ratio": ratios}, dtype=float)
    significant = frame["ratio"] != 1.1
    return frame.assign(low=0.5, high=4.0, p_holm=np.where(significant, 0.01, 0.5))


def gates():
    """The gates after Adam and after L-BFGS."""
    ks = [20, 60]
    return [pd.DataFrame({"k": ks, "ratio": ratios}) for ratios in ([2.0, 0.7], [1.2, 0.5])]


@pytest.mark.parametrize(
    "answer, ratios, clause",
    [
        ("helps", [2, 2], "helps"),
        ("hurts", [0.5, 0.5], "hurts"),
        ("mixed", [2, 0.5], "helps in some cases and hurts in others"),
        ("mixed", [2, 1.1], "helps in some cases and hurts in none"),
        ("mixed", [0.5, 1.1], "hurts in some cases and helps in none"),
        ("mixed", [1.1, 1.1], "makes no significant difference"),
    ],
)
@pytest.mark.parametrize("closes", optimiser_answers.GAP_CLAUSES)
def test_practice_is_an_answer_for_every_verdict(answer, ratios, clause, closes):
    points = optimiser_answers.cost_points(METHODS, BENCHMARK)
    table = help_table(*ratios)
    left = (0.5, 0.4, 0.61)
    text = optimiser_answers.practice_answer((answer, closes), table, gates(), left, points)
    assert text.startswith(f"L-BFGS after Adam {clause}: it lowers the error significantly in ")
    assert f"). It {optimiser_answers.GAP_CLAUSES[closes]} (50% [40%, 61%] of the median" in text
    assert "gap is left), but widens it at $k = 60$ (linear/exp 0.70 to 0.50). At $k" in text
    largest = max(ratios)
    assert f"(Adam/L-BFGS at most {largest:.2f} [0.50, 4.00], $p = " in text


def test_practice_is_open_without_all_runs():
    points = optimiser_answers.cost_points(METHODS, BENCHMARK)
    unknown = (np.nan, np.nan, np.nan)
    text = optimiser_answers.practice_answer(
        ("open", "open"), help_table(2), gates(), unknown, points
    )
    assert text.startswith("Open: runs are missing. At $k = 60$ DOP853 is")


def test_the_cheapest_solution_is_the_fastest_that_is_good_enough():
    points = optimiser_answers.cost_points({}, BENCHMARK)
    coarse = optimiser_answers.cheapest_solution(points, 60, 1e-3)
    assert coarse["rtol"] == 1e-3
    fine = optimiser_answers.cheapest_solution(points, 60, 1e-5)
    assert fine["rtol"] == 1e-9
    assert optimiser_answers.cheapest_solution(points, 60, 1e-12) is None


def test_the_committed_benchmark_has_the_solver():
    benchmark = json.loads((ROOT / "data" / "benchmark.json").read_text())
    assert {row["k"] for row in benchmark["dop853"]} == {20, 60}
    assert set(benchmark["levenberg_marquardt"]["seconds_per_evaluation"]) == {"exp", "linear"}
