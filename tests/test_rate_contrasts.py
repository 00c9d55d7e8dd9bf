"""Tables of notebook 08, from errors that are known by construction."""

import numpy as np
import pandas as pd
import pytest

from pinnlib.analysis import contrasts
from pinnlib.metrics import standing_still_metrics
from pinnlib.report import rate_contrasts, rate_rules
from pinnlib.runs.studies import FOUR_K, RATE_K, RATES, TABLE_K, THREE_K
from pinnlib.runs.table import runs_of, specs_of
from pinnlib.spec import RunSpec

ERRORS = {"exp": 1.0, "linear": 2.0, "exp(alpha=2.0)": 3.0, "none": 4.0}
FORMS = {"gated": 1.0, "shifted": 1.0, "soft": 1.5}
FACTORS = {
    "rates_published": 5.0,
    "rates": 1.0,
    "rates_no_penalty_published": 5.0,
    "rates_no_penalty": 1.0,
    "decay": 10.0,
    "decay_own": 0.5,
    "no_gate": 1.0,
    "recipe": 0.25,
}


def study(name, factor):
    """Six seeds, whose errors depend on the gate, the form and the study."""
    specs = specs_of(name, seeds=6)
    runs = runs_of(specs, {})
    error = runs["gate"].map(ERRORS) * runs["form"].map(FORMS)
    error = error * factor * (1 + runs["seed"] / 100)
    runs = runs.astype({"k": int})
    return runs.assign(
        status="ok",
        rel_l2_u=error,
        rel_l2_theta=2 * error,
    )


@pytest.fixture(scope="module", autouse=True)
def few_resamples():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(contrasts.BOOTSTRAP, "n_resamples", 99)
        yield


@pytest.fixture(scope="module")
def runs():
    return {name: study(name, factor) for name, factor in FACTORS.items()}


@pytest.fixture(scope="module")
def tables(runs):
    return rate_contrasts.comparisons(runs)


@pytest.mark.parametrize(
    "name, size, ratios",
    [
        ("gap", 2 * 2 * len(RATE_K), {2.0}),
        ("free", 2 * 2 * len(TABLE_K), {2.0}),
        ("gain", 3 * 2 * len(RATE_K), {5.0}),
        ("decay", 2 * 2 * len(THREE_K), {0.5, 2.0}),
        ("decay_gap", 2 * 2 * len(THREE_K), {2.0}),
        ("factor", 2 * 2 * len(FOUR_K), {0.25, 0.5}),
        ("start", 2 * len(FOUR_K), {1.5}),
    ],
)
def test_every_comparison_has_its_cells_and_ratios(tables, name, size, ratios):
    found = tables[name]
    assert len(found) == size
    assert set(found["ratio"].round(9)) == ratios
    assert (found["n"] == 6).all()


@pytest.mark.parametrize("name, factor", [("recipe", 5), ("tuned", 1)])
def test_the_recipe_meets_both_gates_at_either_rate(tables, runs, name, factor):
    found = tables[name].set_index(["k", "second"])["ratio"]
    recipe = ERRORS[runs["recipe"]["gate"].iloc[0]] * FACTORS["recipe"]
    for k in RATE_K:
        assert found[k, "exp"] == pytest.approx(factor / recipe)
        assert found[k, "linear"] == pytest.approx(2 * factor / recipe)


def test_each_comparison_is_one_family(tables):
    smallest = tables["gap"]["p_raw"].min()
    assert tables["gap"]["p_holm"].min() == pytest.approx(min(1, 4 * len(RATE_K) * smallest))


def test_another_metric_and_a_missing_run(runs):
    changed = {name: part.copy() for name, part in runs.items()}
    linear = changed["rates"]["gate"] == "linear"
    changed["rates"].loc[linear, "rel_l2_theta"] *= 3
    shifted = changed["no_gate"]["form"] == "shifted"
    changed["no_gate"].loc[shifted.idxmax(), "status"] = "missing"
    found = rate_contrasts.comparisons(changed, "rel_l2_theta")
    published, own = rate_contrasts.published_and_own(found["gap"])
    assert set(published["ratio"].round(9)) == {2.0}
    assert set(own["ratio"].round(9)) == {6.0}
    for name in ("loss", "k"):
        assert published[name].tolist() == own[name].tolist()
    lacking = {}
    for name, part in found.items():
        absent = part["ratio"].isna()
        lacking[name] = absent.sum()
    assert lacking == {
        "gap": 0,
        "free": 0,
        "gain": 0,
        "decay": 0,
        "decay_gap": 0,
        "factor": 2,
        "start": 1,
        "recipe": 0,
        "tuned": 0,
    }


def test_ratios_stand_with_k_across(tables):
    rows = rate_contrasts.ratio_rows(tables["decay_gap"], ["rate", "schedule"])
    assert rows.shape == (4, 3)
    assert rows.loc[("own", "cosine"), 20].startswith("2.00 [2.00, 2.00]")


def test_standing_still_is_that_of_the_reference():
    table = rate_contrasts.still_table(pd.Series([60, 20, 20]))
    spec = RunSpec(k=20)
    expected = standing_still_metrics(spec.system_object, spec.reference.q)
    assert table.index.tolist() == [20, 60]
    assert table["rel_l2_u"][20] == expected["rel_l2_u"]
    assert table["rel_l2_theta"][20] == pytest.approx(1)


def test_errors_of_every_variant_stand_beside_standing_still(runs):
    errors = rate_contrasts.error_table(runs)
    cells = errors.set_index(["study", "loss", "form", "gate", "k"])
    soft = cells.loc[("no_gate", "mse", "soft", "none", 20)]
    assert soft["rel_l2_u"] == pytest.approx(6 * 1.025)
    assert soft["rel_l2_theta"] == pytest.approx(12 * 1.025)
    assert soft["still_theta"] == pytest.approx(1)
    assert set(errors["study"]) == set(rate_contrasts.TEST_STUDIES)
    assert (errors["needed"] == 6).all()


def test_a_median_needs_every_run(runs):
    fewer = {name: part.copy() for name, part in runs.items()}
    fewer["decay"].loc[0, "status"] = "diverged"
    errors = rate_contrasts.error_table(fewer)
    open_cells = errors[errors["rel_l2_u"].isna()]
    assert open_cells["study"].tolist() == ["decay"]
    assert open_cells["ok"].tolist() == [5]


def test_errors_as_text_end_with_standing_still(runs):
    errors = rate_contrasts.error_table(runs)
    texts = rate_contrasts.error_texts(errors)
    soft = texts.loc[("no_gate", "mse", "constant", "soft", "none")]
    assert texts.columns.tolist() == list(RATE_K)
    assert texts.index[0][0] == "rates_published"
    assert texts.index[-1][0] == "standing still"
    assert soft[20] == "6.150 / 12.30"
    assert soft[10] == ""
    assert texts.iloc[-1][20].endswith(" / 1.00")


@pytest.fixture
def tuned():
    parts = []
    for name in ("rates_tuning", "recipe_tuning"):
        specs = specs_of(name, seeds=1)
        runs = runs_of(specs, {})
        runs = runs.astype({"k": int})
        ratio = runs["lr"] / 3e-3
        distance = np.log(ratio).abs()
        known = runs.assign(
            status="ok",
            rel_l2_u=distance,
            rel_l2_theta=distance,
        )
        parts.append(known)
    return pd.concat(parts, ignore_index=True)


def chosen_rates(tuned):
    constant = tuned[tuned["schedule"] == "constant"]
    return rate_rules.choose_rates(constant)


def test_one_constant_rate_of_every_cell_is_chosen(tuned):
    rates = chosen_rates(tuned)
    table = rate_contrasts.tuning_table(tuned, rates)
    chosen = table[table["chosen"]]
    assert len(table) == len(tuned)
    assert len(chosen) == 3 * 2 * len(RATE_K)
    assert set(chosen["lr"]) == {3e-3}
    assert set(chosen["schedule"]) == {"constant"}


def test_a_diverged_run_counts_as_infinite(tuned):
    best = tuned["lr"] == 3e-3
    tuned.loc[best, "status"] = "diverged"
    rates = chosen_rates(tuned)
    table = rate_contrasts.tuning_table(tuned, rates)
    diverged = table[table["lr"] == 3e-3]
    assert np.isinf(diverged["rel_l2_u"]).all()
    chosen = table[table["chosen"]]
    assert set(chosen["lr"]) == {1e-3}


def test_a_star_marks_an_end_of_the_grid(tuned):
    largest = (tuned["k"] == 20) & (tuned["lr"] == 1e-2)
    tuned.loc[largest, "rel_l2_u"] = -1.0
    rates = chosen_rates(tuned)
    texts = rate_contrasts.rate_texts(rates, RATES)
    assert texts.shape == (6, len(RATE_K))
    assert set(texts[20]) == {"0.01*"}
    assert set(texts[60]) == {"0.003"}
