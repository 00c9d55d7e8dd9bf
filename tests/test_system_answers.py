"""Other systems in notebook 09: from runs to verdicts and sentences, on small tables by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.linalg import norm

from pinnlib import RunSpec
from pinnlib.report import system_answers, system_tables
from pinnlib.report.phrases import OPEN
from pinnlib.runs.studies import SYSTEM_K

STILL = system_tables.errors_at_rest(SYSTEM_K)
SEEDS = 12  # enough for p below 0.05 after Holm over 48 cells


def error_of(system, k, gate):
    """exp is three times better at the first stiffnesses, linear at the last but one; the last
    stiffness is not solved."""
    place = SYSTEM_K[system].index(k)
    if place == 3:
        return 2.0
    wins = (gate == "exp") == (place < 2)
    return 0.1 if wins else 0.3


def make_runs():
    rows = []
    cases = itertools.product(SYSTEM_K, system_tables.RATE_NAMES, ("balanced", "mse"))
    for system, rate, loss in cases:
        for k, gate, seed in itertools.product(SYSTEM_K[system], ("exp", "linear"), range(SEEDS)):
            error = error_of(system, k, gate) * (1 + 0.001 * seed)
            row = {
                "system": system,
                "rate": rate,
                "loss": loss,
                "k": float(k),
                "gate": gate,
                "seed": seed,
                "status": "ok",
                "lr": 0.003,
                "rel_l2_u": error,
                "rel_l2_x": 2 * error,
                "rel_l2_y": 3 * error,
            }
            rows.append(row)
    return pd.DataFrame(rows)


def tables(runs):
    errors = system_tables.system_errors(runs, STILL)
    cells = system_tables.system_contrasts(runs, errors)
    return errors, cells, system_tables.system_verdicts(cells)


RUNS = make_runs()
ERRORS, CELLS, VERDICTS = tables(RUNS)


def test_standing_still_is_at_the_mean_of_every_component():
    assert len(STILL) == 12
    q = RunSpec(system="henon_heiles", k=4).reference.q
    away = q - q.mean(axis=1, keepdims=True)
    row = STILL.set_index(["system", "k"]).loc[("henon_heiles", 4)]
    assert row["rel_l2_u"] == pytest.approx(norm(away) / norm(q))
    assert row["rel_l2_y"] == pytest.approx(norm(away[1]) / norm(q[1]))
    quartic = STILL[STILL["system"] == "quartic"]
    assert quartic["rel_l2_y"].isna().all()


def test_runs_of_a_study_know_whose_rate_they_have():
    spec = RunSpec(system="quartic", k=1)
    found = system_tables.system_runs({"quartic": [spec], "quartic_own": [spec]}, {})
    assert list(found["rate"]) == ["published", "own"]
    assert set(found["status"]) == {"missing"}


def test_errors_are_medians_with_intervals_beside_standing_still():
    cell = "system == 'henon_heiles' and rate == 'own' and loss == 'mse' and k == 1"
    first = ERRORS.query(f"{cell} and gate == 'exp'").iloc[0]
    assert first["rel_l2_u"] == pytest.approx(0.1 * 1.0055)
    assert 0.1 <= first["low"] < first["rel_l2_u"] < first["high"] <= 0.1011
    assert first["rel_l2_y"] == pytest.approx(3 * first["rel_l2_u"])
    assert first["still_rel_l2_u"] == STILL["rel_l2_u"].iloc[0]
    assert first["needed"] == SEEDS
    assert first["ok"] == SEEDS


def test_the_last_stiffness_is_not_solved_and_decides_nothing():
    assert (CELLS["solved"] == "no").sum() == 12
    unsolved = CELLS[CELLS["solved"] == "no"]
    assert set(unsolved["k"]) == {16, 8, 5}
    assert set(VERDICTS["answer"]) == {"reverses"}
    assert set(VERDICTS["solved"]) == {3}
    first = VERDICTS.iloc[0]
    assert first["exp_better"] == 2
    assert first["linear_better"] == 1
    assert first["asked"] == 4
    assert first["ratio"] == pytest.approx(3)


def test_all_cells_share_one_correction():
    smallest = 2.0 ** (1 - SEEDS)
    assert len(CELLS) == 48
    solved = CELLS[CELLS["solved"] == "yes"]
    assert solved["p_raw"].to_numpy() == pytest.approx(smallest)
    assert solved["p_holm"].max() == pytest.approx(48 * smallest)


@pytest.mark.parametrize("status", ["missing", "diverged"])
def test_a_run_that_is_not_ok_opens_its_verdict_even_if_its_cell_looks_unsolved(status):
    for k in (4, 8):  # solved and unsolved without it
        runs = RUNS.copy()
        one = "system == 'quartic' and rate == 'own' and loss == 'mse' and seed == 3"
        runs.loc[runs.query(f"{one} and k == {k}").index, "status"] = status
        _, cells, verdicts = tables(runs)
        assert (cells["solved"] == "open").sum() == 1
        opened = verdicts[verdicts["answer"] == "open"]
        assert opened[["system", "rate", "loss"]].values.tolist() == [["quartic", "own", "mse"]]
        text = system_answers.verdict_sentence(verdicts, "own")
        assert text.endswith("runs are missing in the quartic oscillator (plain loss).")
        assert system_answers.systems_answer(verdicts, cells) == OPEN


def verdicts_of(*answers):
    """One rate; the answers of the three systems under the balanced loss, then the plain one."""
    cases = itertools.product(("balanced", "mse"), SYSTEM_K)
    rows = [{"system": system, "loss": loss} for loss, system in cases]
    return pd.DataFrame(rows).assign(rate="published", answer=answers)


def test_sentences_of_verdicts():
    found = system_answers.verdict_sentence(VERDICTS, "own")
    assert found == (
        "At each gate's own rate, the winner changes with the stiffness in all three systems under"
        " both losses."
    )
    several = verdicts_of("reverses", "reverses", "open", "reverses", "no difference", "open")
    assert system_answers.verdict_sentence(several, "published") == (
        "At the published rate, the winner changes with the stiffness in Hénon–Heiles (both losses)"
        " and the quartic oscillator (balanced loss); the gates do not differ significantly in the"
        " quartic oscillator (plain loss); runs are missing in van der Pol (both losses)."
    )
    rest = ["exp throughout", "linear throughout", "nothing solved"]
    text = system_answers.verdict_sentence(verdicts_of(*rest, *rest), "published")
    assert "only the exponential gate is ever significantly better in Hénon–Heiles" in text
    assert "only the linear gate is ever significantly better in the quartic" in text
    assert text.endswith("no stiffness is solved in van der Pol (both losses).")
    halves = verdicts_of(*["reverses"] * 3, *["open"] * 3)
    assert system_answers.verdict_sentence(halves, "published").endswith(
        "missing in Hénon–Heiles (plain loss), the quartic oscillator (plain loss)"
        " and van der Pol (plain loss)."
    )


@pytest.mark.parametrize("answer", system_answers.CLAUSES)
def test_every_verdict_is_a_sentence(answer):
    text = system_answers.verdict_sentence(verdicts_of(*[answer] * 6), "published")
    assert text.startswith("At the published rate, ")
    assert text.endswith("in all three systems under both losses.")


def test_the_widest_gap_is_told_as_a_factor_above_one():
    text = system_answers.widest_sentence(CELLS)
    assert text.startswith("At least one gate beats standing still in 36 of 48 cells; the widest")
    assert "a factor 3.00 [3.00, 3.00] in favour of the" in text
    linear = CELLS[(CELLS["system"] == "van_der_pol") & (CELLS["k"] == 2)]
    text = system_answers.widest_sentence(linear)
    assert "a factor 3.00 [3.00, 3.00] in favour of the linear gate (van der Pol, " in text
    assert r"$\mu = 2$" in text


def test_without_a_solved_cell_there_is_no_widest_gap():
    unsolved = CELLS[CELLS["solved"] == "no"]
    assert system_tables.widest_gap(unsolved) is None
    assert system_answers.widest_sentence(unsolved) == (
        "No gate beats standing still in any of 12 cells: nothing is compared."
    )
    unknown = CELLS[:1].assign(ratio=np.nan)
    assert system_answers.widest_sentence(unknown).endswith("beats standing still in the one cell.")


def changed(**ratios):
    """CELLS with these ratios (by rate) at the last solved stiffness, and their verdicts."""
    cells = CELLS.copy()
    third = cells.groupby(["system", "rate", "loss"])["k"].rank() == 3
    for rate, ratio in ratios.items():
        cells.loc[third & (cells["rate"] == rate), ["low", "ratio", "high"]] = ratio
    return system_tables.system_verdicts(cells), cells


def test_the_answer_when_only_the_common_rate_turns_the_winner():
    verdicts, cells = changed(published=0.5, own=2.0)
    assert system_answers.systems_answer(verdicts, cells) == (
        "Of three other systems, the winner changes with the stiffness in all at the published"
        " learning rate, in none with its own rate for each gate. Then only the exponential gate is"
        " significantly better (all 18 solved cells); the widest linear win moves from 0.50 [0.50,"
        " 0.50] to 2.00 [2.00, 2.00] (linear/exp, Hénon–Heiles, balanced loss, $k = 9$, both"
        " $p = 0.023$)."
    )


def test_the_answer_names_the_systems_that_change_and_counts_both_gates():
    verdicts, cells = changed(published=2.0, own=0.5)
    text = system_answers.systems_answer(verdicts, cells)
    assert "in none at the published learning rate, in all with its own rate" in text
    assert "the exponential gate is significantly better in 12 and the linear gate in 6 of" in text
    assert text.endswith("(Hénon–Heiles, balanced loss, $k = 1$).")
    one = verdicts["system"] != "quartic"
    verdicts.loc[one & (verdicts["rate"] == "own"), "answer"] = "exp throughout"
    text = system_answers.systems_answer(verdicts, cells)
    assert "in the quartic oscillator with its own rate" in text


def test_the_answer_without_a_significant_or_solved_cell():
    unsure = CELLS.assign(p_holm=0.5)
    text = system_answers.systems_answer(system_tables.system_verdicts(unsure), unsure)
    assert "Then neither gate is significantly better in any of 18 solved cells" in text
    unsolved = CELLS.assign(solved="no")
    text = system_answers.systems_answer(system_tables.system_verdicts(unsolved), unsolved)
    assert text == "Nothing can be compared: no gate beats standing still."


def test_a_linear_win_that_is_not_solved_at_the_own_rate_still_has_its_ratio():
    verdicts, cells = changed(published=0.5, own=2.0)
    lost = (cells["rate"] == "own") & (cells["k"] == 9)
    cells.loc[lost, "solved"] = "no"
    assert "from 0.50 [0.50, 0.50] to 2.00 [" in system_answers.systems_answer(verdicts, cells)


def test_the_size_of_linear_wins_is_given_by_system():
    text = system_answers.linear_wins_sentence(CELLS)
    assert "at most 67% smaller in Hénon–Heiles, at most 67% smaller in the quartic" in text
    _, cells = changed(published=2.0)
    assert system_answers.linear_wins_sentence(cells).endswith("wins in no solved cell.")


def test_overviews():
    verdicts = system_tables.verdict_overview(VERDICTS)
    assert verdicts.shape == (6, 2)
    assert verdicts.loc[("quartic", "mse"), "the published rate"] == "reverses (3 of 4 solved)"
    ratios = system_tables.ratio_overview(CELLS)
    assert list(ratios) == ["k1", "k2", "k3", "k4"]
    row = ratios.loc["quartic", "mse", "own"]
    assert row["k1"] == "3.00 [3.00, 3.00]*"
    assert row["k4"] == "(1.00 [1.00, 1.00])"
    rates = system_tables.rate_overview(ERRORS)
    assert rates.loc[("quartic", "mse"), "exp"] == "0.003, 0.003, 0.003, 0.003"
    parts = system_tables.component_overview(ERRORS, "henon_heiles")
    row = parts.loc[("mse", 1)]
    assert row["rel_l2_y", "own", "exp"] == pytest.approx(0.302)
    assert row["rel_l2_x", "standing still", ""] == pytest.approx(0.926)


def test_rules_as_a_list():
    lines = system_answers.rule_list().splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("- **Does L-BFGS after Adam help?** Helps, if")


def test_numbers():
    numbers = system_answers.system_numbers(VERDICTS, CELLS)
    assert numbers["system_solved"] == 36
    assert numbers["systems_answer"] == system_answers.systems_answer(VERDICTS, CELLS)
    assert all(name.startswith("system") for name in numbers)
