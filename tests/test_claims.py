"""The ledger of claims: exact ones hold here and now, the others are decided by their rule and never from fewer runs than they need."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec
from pinnlib.analysis import paired
from pinnlib.paths import ROOT
from pinnlib.report import claims, disagreements, evidence, findings, paper_tables, published
from pinnlib.runs.table import runs_of, specs_of
from pinnlib.style import latex

EXACT = [claim for claim in claims.CLAIMS if claim.kind in ("exact", "semi-quantitative")]
FROM_RUNS = [claim for claim in claims.CLAIMS if claim not in EXACT]
NAMES = {claim.id: claim for claim in claims.CLAIMS}


class Made(evidence.Evidence):
    """Runs made up for the test: `error(row)` gives both metrics; baseline runs can be left out."""

    def __init__(self, error, seeds=20, without=()):
        super().__init__({}, seeds)
        self.error, self.without = error, without

    def runs(self, *studies):
        frame = runs_of(self.specs(*studies), {})
        values = [self.error(row) for row in frame.itertuples()]
        frame = frame.assign(rel_l2_u=values, max_ae_u=3 * np.array(values), status="ok")
        absent = frame["model"].isin(self.without)
        return frame.assign(status=frame["status"].mask(absent, "missing")).assign(
            **{m: frame[m].mask(absent) for m in paired.METRICS}
        )


def as_published(row):
    """exp better below k = 50, linear from there; the advantage varies over seeds and shrinks in between."""
    ratio = np.interp(row.k, [10, 20, 60, 130], [3.0, 2.4, 0.5, 0.5]) * (
        1 + (row.seed % 5) * 1.5 * (row.k <= 20)
    )
    return 0.05 * (ratio if row.gate == "linear" else 1) * (1 + 0.001 * row.seed)


@pytest.fixture(scope="module")
def good():
    return Made(as_published)


KERNEL = {
    "kernel_predicts": "yes",
    "kernel_clear": 3,
    "kernel_asked": 26,
    "kernel_strong": 1,
    "kernel_clear_within_k": 1,
    "kernel_by_k_alone": 0.9,
}
KERNEL |= {"kernel_pairs": 240, "kernel_pairs_needed": 240, "kernel_fewest_seeds": 10}


@pytest.mark.parametrize(
    "answer, verdict", [("yes", "reproduced"), ("unclear", "undecided"), ("no", "not reproduced")]
)
def test_the_claim_of_an_explanation_follows_notebook_05(answer, verdict):
    (claim,) = (claim for claim in claims.CLAIMS if claim.id == "explains")
    assert (
        claim.check(evidence.Evidence({}, numbers=KERNEL | {"kernel_predicts": answer})).verdict
        == verdict
    )
    with pytest.raises(evidence.NotTestable, match="05"):
        claim.check(evidence.Evidence({}))
    for lacking in ({"kernel_predicts": "open"}, {"kernel_pairs": 239}, {"kernel_fewest_seeds": 2}):
        with pytest.raises(evidence.NotTestable, match="pairs of runs"):
            claim.check(evidence.Evidence({}, numbers=KERNEL | lacking))


def test_every_claim_has_an_identity_a_kind_a_place_and_a_rule():
    ids = [claim.id for claim in claims.CLAIMS]
    assert len(set(ids)) == len(ids)
    assert len(FROM_RUNS) >= 15
    for claim in claims.CLAIMS:
        assert claim.kind in ("exact", "semi-quantitative", "statistical", "qualitative")
        assert claim.wording
        assert claim.where
        assert len(claim.rule) > 10
    assert sum(claim.kind == "statistical" for claim in claims.CLAIMS) == len(published.published())


@pytest.mark.parametrize("claim", EXACT, ids=lambda claim: claim.id)
def test_what_needs_no_training_is_decided_by_computation(claim):
    assert claim.check(evidence.Evidence({}, numbers=KERNEL)).verdict == (
        "not reproduced" if claim.id == "function-class" else "reproduced"
    )


@pytest.mark.parametrize("claim", FROM_RUNS, ids=lambda claim: claim.id)
def test_without_records_nothing_is_decided(claim):
    with pytest.raises(evidence.NotTestable, match="0 of"):
        claim.check(evidence.Evidence({}))


def test_two_seeds_are_too_few_and_said_to_be():
    with pytest.raises(evidence.NotTestable, match="too few seeds"):
        NAMES["every-seed"].check(Made(as_published, seeds=2))


def test_runs_as_published_reproduce_the_table_and_the_trends(good):
    table = claims.evaluate_claims(good, FROM_RUNS).set_index("id")
    rows = table[table["kind"] == "statistical"]
    assert (rows["verdict"] == "reproduced").all()
    assert rows["interval"].ne("").all()
    verdicts = table["verdict"]
    for name in ("reversal", "every-seed", "often-exp", "transitional", "no-penalty"):
        assert verdicts[name] == "reproduced", name
    assert verdicts["crossovers"] == "not reproduced"  # made without any
    assert verdicts["baseline"] == "not reproduced"  # made alike


def test_the_other_gate_is_not_a_reproduction():
    reversed_ = Made(
        lambda row: (
            0.05 * (2 if (row.gate == "linear") == (row.k > 25) else 1) * (1 + 0.01 * row.seed)
        )
    )
    table = claims.evaluate_claims(reversed_, FROM_RUNS).set_index("id")
    assert (
        table.loc[table["kind"] == "statistical", "verdict"] == "partly"
    ).all()  # significant, but the other winner
    assert (
        table.loc["reversal", "verdict"] == "not reproduced" == table.loc["every-seed", "verdict"]
    )


def test_one_lacking_baseline_leaves_only_its_claim_open():
    table = claims.evaluate_claims(Made(as_published, without=["baseline"]), FROM_RUNS).set_index(
        "id"
    )
    assert list(table.index[table["verdict"] == "not testable"]) == ["baseline"]
    assert table.loc["baseline", "reason"] == "0 of 60 pairs of baseline runs are complete"


def test_changes_of_winner_are_counted():
    zigzag = Made(
        lambda row: (
            0.05
            * (2 if (row.gate == "linear") == (row.k // 10 % 2 == 0) else 1)
            * (1 + 0.01 * row.seed)
        )
    )
    found = NAMES["crossovers"].check(zigzag)
    assert found.verdict == "reproduced"
    assert "adaptive by median 7 in max_ae_u, 7 in rel_l2_u; adaptive by mean 7" in found.ours
    assert "fixed by median 7 in max_ae_u" in found.ours


def test_losses_are_compared_where_both_are_complete(good):
    flipped = Made(lambda row: 1 / as_published(row) if row.loss == "mse" else as_published(row))
    same, other = disagreements.losses(good), disagreements.losses(flipped)
    assert same["same"].dropna().all()
    assert not other["same"].dropna().any()
    assert same["same"].isna().sum() == 14  # without penalty the balanced loss stops at k = 60
    assert disagreements.winners(other, "mse", 50) == "exp at k = 50 to 130; linear at k = 10 to 40"
    assert (
        disagreements._stretches([10, 20, 40, 50, 60, 80], {k: k // 10 for k in range(10, 90, 10)})
        == "10, 20, 40 to 60, 80"
    )
    consequences = disagreements.disagreements(flipped).set_index("id")["consequence"]
    assert "another gate wins by median in 38 of 38" in consequences["loss"]
    assert (
        "open"
        in disagreements.disagreements(evidence.Evidence({})).set_index("id")["consequence"]["loss"]
    )


def test_losses_that_differ_are_counted_and_clearly_only_with_two_stars():
    table = pd.DataFrame({"same": pd.array([True, False, False, None], dtype="boolean")})
    table = table.assign(
        text_balanced=["exp 2.00*", "exp 2.00*", "exp 2.00*", None],
        text_mse=["exp 3.00*", "linear 0.50*", "linear 0.90", "12/20"],
    )
    assert disagreements.count_differences(table) == {
        "losses_compared": 3,
        "losses_differ": 2,
        "losses_differ_clearly": 1,
    }


def test_published_rows_come_out_again_under_the_loss_of_the_text_or_not(good):
    same = disagreements.as_written(good)
    assert len(same) == 8
    assert same.all()
    other = disagreements.as_written(
        Made(lambda row: 1 / as_published(row))
    )  # as significant, but the other winner
    assert len(other) == 8
    assert not other.any()
    assert disagreements.as_written(evidence.Evidence({})).empty


def test_published_means_are_inside_outside_or_not_compared():
    means = pd.DataFrame(
        {
            "lambda_ic": [0, 50],
            "k": [20, 60],
            "metric": "rel_l2_u",
            "mean_exp_inside": [True, None],
            "mean_linear_inside": [False, None],
        }
    )
    means = means.assign(
        mean_exp_published=0.1,
        mean_linear_published=0.2,
        mean_exp_low=0.05,
        mean_exp_high=0.15,
        mean_linear_low=0.3,
        mean_linear_high=0.4,
    )
    assert list(
        findings.inside(
            means.astype({"mean_exp_inside": "boolean", "mean_linear_inside": "boolean"})
        )
    ) == [True, False]
    assert (
        findings.outside(means)
        == "linear at λ = 0, k = 20 in rel_l2_u (0.200, ours 0.300 to 0.400)"
    )


def test_effects_of_a_gate_twice_as_bad_in_every_seed():
    found = Made(
        lambda row: 0.05 * (1 + 0.01 * row.seed) * (2 if row.gate == "linear" else 1)
    ).effects
    assert len(found) == 8
    assert (found["note"] == "").all()
    assert np.allclose(found[["ratio", "ratio_low", "ratio_high"]], 2)
    assert (found["rank_biserial"] == 1).all()
    assert (
        found["seeds_to_lose"] == 15
    ).all()  # five pairs are left, and p = 2^(1 − 5) is above the level
    assert np.allclose(
        found["p_holm_worst"], 4 * 2.0**-18
    )  # nineteen pairs, four tests in a setting
    lacking = evidence.Evidence({}).effects
    assert (lacking["note"] == "incomplete: 0 of 20 pairs").all()
    assert lacking["ratio"].isna().all()


def test_extremes_are_over_all_tests_and_whichever_gate_is_ahead():
    frame = pd.DataFrame(
        {
            "median_log_ratio": np.log([0.25, 2, 3]),
            "p_holm_worst": [0.01, 0.03, 0.02],
            "seeds_to_lose": pd.array([7, 5, 9], dtype="Int64"),
            "note": "",
        }
    )
    found = findings.extremes(frame)
    assert found == pytest.approx(
        {
            "single_seed_worst_p": 0.03,
            "fewest_seeds_to_lose": 5,
            "smallest_factor": 2,
            "largest_factor": 4,
        }
    )
    assert findings.extremes(frame.assign(note=["", "incomplete", ""])) == dict.fromkeys(
        found, "open"
    )


LEDGER = pd.DataFrame(
    [
        {
            "id": "one-k",
            "kind": "exact",
            "where": "Methods",
            "wording": "A & B",
            "rule": "equal",
            "published": "1",
            "ours": "1",
            "verdict": "reproduced",
            "reason": "",
        },
        {
            "id": "row-1",
            "kind": "statistical",
            "where": "Table",
            "wording": "first",
            "rule": "same",
            "published": "2",
            "ours": "2",
            "verdict": "reproduced",
            "reason": "",
        },
        {
            "id": "row-2",
            "kind": "statistical",
            "where": "Table",
            "wording": "second",
            "rule": "same",
            "published": "3",
            "ours": "",
            "verdict": "not testable",
            "reason": "1 of 2 pairs",
        },
        {
            "id": "trend",
            "kind": "qualitative",
            "where": "Results",
            "wording": "often",
            "rule": "half",
            "published": "",
            "ours": "40%",
            "verdict": "partly",
            "reason": "why",
        },
        {
            "id": "last",
            "kind": "semi-quantitative",
            "where": "Results",
            "wording": "grows",
            "rule": "above 2",
            "published": "",
            "ours": "",
            "verdict": "not testable",
            "reason": "no run",
        },
    ]
)


def test_verdicts_are_counted_over_all_claims_by_kind_and_over_the_rows():
    every = {
        "claims_total": 5,
        "claims_reproduced": 2,
        "claims_partly": 1,
        "claims_not_reproduced": 0,
        "claims_undecided": 0,
        "claims_not_testable": 2,
    }
    assert claims.verdict_counts(LEDGER) == every | {
        "claims_exact": "1 of 1",
        "claims_other": "0 of 2",
        "rows_total": 2,
        "rows_reproduced": 1,
    }


def test_outcomes_are_quoted_for_all_but_the_rows():
    found = {
        "claim_one_k_verdict": "reproduced",
        "claim_one_k_ours": "1",
        "claim_trend_verdict": "partly reproduced",
        "claim_trend_ours": "40%",
    }
    assert claims.claim_numbers(LEDGER) == found | {
        "claim_last_verdict": "not testable",
        "claim_last_ours": "no run",
    }


def test_ledger_on_file_is_the_ledger_of_the_code():
    filed = pd.read_csv(ROOT / "data" / "claims.csv", keep_default_na=False)
    assert list(filed["id"]) == [claim.id for claim in claims.CLAIMS]
    assert list(filed["rule"]) == [claim.rule for claim in claims.CLAIMS]
    assert set(filed["verdict"]) <= set(evidence.VERDICTS)
    open_ = filed["verdict"] == "not testable"
    assert filed.loc[open_, "reason"].ne("").all()
    assert filed.loc[~open_, "ours"].ne("").all()


# LaTeX


def test_numbers_and_text_become_latex():
    assert latex.number(0.12345) == "0.123"
    assert latex.number(5000) == "5{,}000"
    assert latex.number(7.6e-6) == r"$7.6\times10^{-6}$"
    assert latex.number(1e-4) == "$10^{-4}$"
    assert latex.number(-0.5) == "$-0.5$"
    assert latex.number("50% & more") == r"50\% \& more"
    assert latex.escape("k = 20, p 1e-12") == r"$k=20$, $p$ $10^{-12}$"
    assert latex.escape("λ = 50 at t = 2.5.") == r"$\lambda_{\mathrm{IC}}=50$ at $t=2.5$."
    assert latex.number(999.7) == "1000"
    assert latex.probability(float("nan")) == "--"
    assert (
        latex.escape("exp(alpha=2.0), linear(scale=0.1) and exp") == "$1-e^{-2t}$, $t/10$ and exp"
    )
    assert latex.escape("r_min of gate's r") == r"$r_{\min}$ of gate's $r$"
    assert latex.escape("g, g' and g'' in t's") == "$g$, $g'$ and $g''$ in $t$'s"
    assert latex.escape("0.1 in rel_l2_u, max_ae_u") == "0.1 in ReL2E, MaxAE"
    assert "ReL2E" not in latex.escape("own_rel_l2_u")
    assert latex.escape("e.g. 't' at k = 1,000") == "e.g. 't' at $k$ = 1,000"
    assert latex.escape("θ = 0.2, D = 64") == r"$\theta=0.2$, $D=64$"
    assert latex.probability(0.0012) == "0.0012"
    assert latex.probability(6e-4) == r"$6.0\times10^{-4}$"
    assert latex.probability(9e-5) == "$<10^{-4}$"
    with pytest.raises(ValueError, match="finite"):
        latex.number(float("nan"))


def test_macro_names_have_letters_only_and_occur_once():
    assert latex.macro_name("mean_exp_inside") == "MeanExpInside"
    for bad in ("mean_2", "rate-a", "", "köln"):
        with pytest.raises(ValueError, match="letters"):
            latex.macro_name(bad)
    with pytest.raises(ValueError, match="same macro"):
        latex.macros({"a_b": 1, "aB": 2})


def test_an_open_row_of_the_table_says_so():
    frame = paired.gate_tests(runs_of(specs_of("table"), {}))
    assert paper_tables.gate_table({"ours": frame}).count("incomplete: 0 of 20 pairs") == 8
    assert (
        paper_tables.gate_table({"ours": frame, "as published": published.published()}).count(
            r"\downarrow"
        )
        == 8
    )


def body(table):
    """The rows of a table between its last head and its end, as lists of cells."""
    lines = re.split(r"\\endfoot\n|\\midrule\n", table, maxsplit=0 if r"\endfoot" in table else 1)[
        -1
    ].splitlines()
    return [re.sub(r" \\\\.*", "", line).split(" & ") for line in lines if " & " in line]


def test_the_ledger_as_tables_has_reasons_for_values_and_one_line_for_the_rows():
    assert body(paper_tables.claim_table(LEDGER))[::2] == [
        [r"A \& B", "1", "1", "reproduced"],
        ["second", "3", "1 of 2 pairs", "not testable"],
        ["grows", "", "no run", "not testable"],
    ]
    rules = body(paper_tables.rule_table(LEDGER))
    assert len(rules) == 4
    assert rules[:2] == [
        [r"A \& B", "Methods", "equal"],
        ["The rows of the table of tests", "Table", "same"],
    ]


def test_what_did_not_come_out_is_listed_tested_claims_first():
    items = [
        r"\textbf{partly}: often. Ours: 40\%.",
        r"\textbf{not testable}: second (1 of 2 pairs).",
        r"\textbf{not testable}: grows (no run).",
    ]
    assert re.findall(r"\\item (.*)", paper_tables.differences(LEDGER)) == items
    assert paper_tables.differences(LEDGER[:2]) == "Every claim was reproduced."


def test_disagreements_and_losses_as_tables():
    row = {
        "id": "norm",
        "kind": "unsaid",
        "text": "a",
        "code": "50%",
        "ours": "b",
        "consequence": "none",
    }
    assert body(paper_tables.disagreement_table(pd.DataFrame([row]))) == [
        ["norm", "a", r"50\%", "b", "none"]
    ]
    index = pd.MultiIndex.from_tuples(
        [("max_ae_u", 20.0), ("max_ae_u", 60.0), ("rel_l2_u", 20.0)], names=["metric", "k"]
    )
    columns = pd.MultiIndex.from_product(
        [["text_balanced", "text_mse"], [0.0, 50.0]], names=[None, "lambda_ic"]
    )
    told = paper_tables.loss_table(
        pd.DataFrame(
            [["a", "b", "c", "d"], ["x", "f", "50%", ""], ["m", "n", "o", "q"]], index, columns
        )
    )
    assert body(told) == [
        ["MaxAE", "20", "a", "c", "b", "d"],
        ["", "60", "x", r"50\%", "f", ""],
        ["ReL2E", "20", "m", "o", "n", "q"],
    ]
    assert re.findall(r"=(\d+)\$, (\w+)", told) == [
        ("0", "balanced"),
        ("0", "mse"),
        ("50", "balanced"),
        ("50", "mse"),
    ]
    assert told.count(r"\midrule") == 2  # under the heads and before the second metric


def test_effects_as_a_table_are_open_where_a_run_is_lacking():
    frame = pd.DataFrame(
        {
            "lambda_ic": [0.0, 50.0],
            "k": 20.0,
            "metric": "rel_l2_u",
            "ratio": [2.0, np.nan],
            "ratio_low": [1.5, np.nan],
            "ratio_high": [3.0, np.nan],
        }
    )
    frame = frame.assign(
        hodges_lehmann=[-0.25, np.nan],
        rank_biserial=[1.0, np.nan],
        seeds_to_lose=pd.array([15, None], dtype="Int64"),
        note=["", "incomplete"],
    )
    assert body(paper_tables.effect_table(frame)) == [
        ["0", "20", "ReL2E", "2.00 [1.50, 3.00]", "$-0.250$", "$1.00$", "15"],
        ["50", "20", "ReL2E", *["open"] * 4],
    ]


def test_settings_are_those_of_the_original():
    told = paper_tables.setting_numbers(RunSpec(steps=7, initial_position=(1.5, 0.1)))
    assert {
        name: told[f"setting_{name}"]
        for name in ("updates", "points", "r_start", "theta_start", "decay", "layers", "width")
    } == {
        "updates": 7,
        "points": 2000,
        "r_start": 1.5,
        "theta_start": 0.1,
        "decay": 0.99,
        "layers": 3,
        "width": 128,
    }
    assert [told[f"setting_{name}_parameters"] for name in ("baseline", "fixed", "adaptive")] == [
        33_538,
        130,
        162,
    ]
    assert told["setting_bands"] == "16 from 0.5 to 5 rad/s and 16 from 5 to 15 rad/s"
    assert json.loads(json.dumps(told)) == told
