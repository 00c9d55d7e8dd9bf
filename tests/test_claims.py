"""The ledger of claims: exact ones hold here and now, the others follow their rule and are never
decided from fewer runs than they need."""

import json
import re
import tomllib
from functools import cache

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec
from pinnlib.analysis import estimates, paired, samples
from pinnlib.bundle.output import DIGITS
from pinnlib.paths import ROOT
from pinnlib.registry import UserError
from pinnlib.report import claims, disagreements, evidence, findings, paper_tables, published
from pinnlib.runs.table import runs_of, specs_of

KINDS = ("exact", "semi-quantitative", "statistical", "qualitative", "interpretation", "ours")
COMPUTED = [claim for claim in claims.CLAIMS if claim.kind in KINDS[:2]]
FROM_RUNS = [claim for claim in claims.CLAIMS if claim.kind in KINDS[2:4]]
CLAIMS = {claim.id: claim for claim in claims.CLAIMS}
TEXTS = tomllib.loads(claims.TEXTS.read_text(encoding="utf-8"))
CLAIM_TEXTS = TEXTS["claim"]
DISAGREEMENT_TEXTS = tomllib.loads(disagreements.TEXTS.read_text(encoding="utf-8"))["disagreement"]
NOTHING = evidence.Evidence({}, {})
MODELS = ("adaptive", "fixed")
FOR_CLAIMS = ("beside_published", "every_k", "paired_differences")  # not for exact ones


def log_ratios(runs):
    """log(linear/exp) per setting, k, seed and metric."""
    tables = []
    for metric in samples.METRICS:
        wide = runs.pivot(index=["lambda_ic", "k", "seed"], columns="gate", values=metric)
        ratio = np.log(wide["linear"] / wide["exp"]).rename("log_ratio")
        tables.append(ratio.reset_index().assign(metric=metric))
    return pd.concat(tables)


@cache
def missing_runs(studies, seeds):
    return runs_of(specs_of(*studies, seeds=seeds), {})


class Laboratory:
    """Makes up runs, writes the tables that notebook 03 would write, and reads them back."""

    def __init__(self, folder):
        self.folder = folder

    def evidence(self, error=None, seeds=20, without=(), tables=evidence.STATISTICS):
        """`error(row)` is both metrics of a run; without it, and for models left out, no run."""
        self.error = error
        self.seeds = seeds
        self.without = without
        paths = {}
        for name in tables:
            paths[name] = self.folder / f"{name}.csv"
            table = getattr(self, name)()
            table.to_csv(paths[name], index=False, float_format=DIGITS)
        statistics = evidence.read_statistics(paths)
        return evidence.Evidence({}, statistics, seeds)

    def runs(self, *studies):
        runs = missing_runs(studies, self.seeds).copy()
        if self.error:
            there = ~runs["model"].isin(self.without)
            values = np.array([self.error(row) for row in runs.itertuples()])
            runs["rel_l2_u"] = np.where(there, values, np.nan)
            runs["max_ae_u"] = 3 * runs["rel_l2_u"]
            runs["status"] = np.where(there, "ok", "missing")
        return runs

    def beside_published(self):
        return published.beside_published(paired.gate_tests(self.runs("table"), published.TESTED_K))

    def beside_published_as_written(self):
        return published.beside_published(
            paired.gate_tests(self.runs("as_written"), published.TESTED_K)
        )

    def effect_sizes(self):
        return paired.effect_sizes(self.runs("table"), published.TESTED_K)

    def every_k(self):
        return paired.tests_at_every_k(self.runs("main", "no_penalty", "expanded", "as_written"))

    def leave_one_out(self):
        return paired.leave_one_out(self.runs("table"), published.TESTED_K)

    def paired_differences(self):
        return log_ratios(self.runs("table"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The made-up runs, with few bootstrap samples: verdicts do not depend on the intervals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(estimates.BOOTSTRAP, "n_resamples", 99)
        yield Laboratory(tmp_path_factory.mktemp("statistics"))


def as_published(row):
    """exp better below k = 50, linear from there; the ratio varies over seeds."""
    error = 0.05 * (1 + 0.001 * row.seed)
    if row.gate == "exp":
        return error
    ratio = np.interp(row.k, [10, 20, 60, 130], [3.0, 2.4, 0.5, 0.5])
    if row.k <= 20:
        ratio *= 1 + 1.5 * (row.seed % 5)
    return error * ratio


def linear_worse_where(condition):
    """Errors twice as large for the linear gate where the condition holds, else for exp."""

    def error(row):
        worse = "linear" if condition(row) else "exp"
        return 0.05 * (2 if row.gate == worse else 1) * (1 + 0.01 * row.seed)

    return error


@pytest.fixture(scope="module")
def good(lab):
    return lab.evidence(as_published)


@pytest.fixture(scope="module")
def empty(lab):
    """No run on record."""
    return lab.evidence()


KERNEL = {
    "kernel_predicts": "yes",
    "kernel_clear": 3,
    "kernel_asked": 26,
    "kernel_strong": 1,
    "kernel_clear_within_k": 1,
    "kernel_by_k_alone": 0.9,
    "kernel_pairs": 240,
    "kernel_pairs_needed": 240,
    "kernel_fewest_seeds": 10,
}


def explains(**numbers):
    return CLAIMS["explains"].check(evidence.Evidence({}, {}, numbers=KERNEL | numbers))


@pytest.mark.parametrize(
    "answer, verdict", [("yes", "reproduced"), ("unclear", "undecided"), ("no", "not reproduced")]
)
def test_the_claim_of_an_explanation_follows_notebook_05(answer, verdict):
    assert explains(kernel_predicts=answer).verdict == verdict


@pytest.mark.parametrize(
    "number", [{"kernel_predicts": "open"}, {"kernel_pairs": 239}, {"kernel_fewest_seeds": 2}]
)
def test_an_explanation_is_not_tested_with_too_few_runs(number):
    with pytest.raises(evidence.NotTestableError, match="of 240 pairs"):
        explains(**number)


def test_an_explanation_needs_notebook_05():
    with pytest.raises(evidence.NotTestableError, match="05"):
        CLAIMS["explains"].check(NOTHING)


# The texts


def test_every_claim_has_a_check_and_every_check_a_claim():
    ids = [text["id"] for text in CLAIM_TEXTS if text["kind"] != "statistical"]
    assert sorted(ids) == sorted(claims.CHECKS)


def test_every_question_has_a_check_and_the_words_of_its_rule_file():
    ids = [text["id"] for text in TEXTS["question"]]
    assert sorted(ids) == sorted(claims.ANSWERS)
    named = {(text["file"], text["name"]) for text in TEXTS["question"]}
    assert named == {(file, name) for file, rules in claims.RULES.items() for name in rules}
    own = CLAIMS["reverses-own"]
    assert own.wording.endswith("in other systems, at each gate's own learning rate?")
    assert own.rule == claims.RULES["system_rules.toml"]["reverses"]["rule"].strip()


def test_every_claim_has_an_identity_a_kind_a_label_a_place_and_a_rule():
    assert len(CLAIMS) == len(claims.CLAIMS)
    for claim in claims.CLAIMS:
        assert claim.kind in KINDS
        assert claim.wording
        assert claim.where
        assert claim.rule
        assert claim.label


def test_every_published_test_is_a_claim():
    rows = [claim for claim in claims.CLAIMS if claim.kind == "statistical"]
    assert len(rows) == len(published.published()) == 8
    assert rows[0].id == "row-0-20-max"
    assert rows[0].wording == "$λ = 0$, $k = 20$, max_ae_u: exp wins significantly"


def test_every_disagreement_has_a_measurement_or_says_that_there_is_none():
    measured = [text["id"] for text in DISAGREEMENT_TEXTS if "consequence" not in text]
    assert sorted(measured) == sorted(disagreements.MEASUREMENTS)


@pytest.mark.parametrize("text", CLAIM_TEXTS + DISAGREEMENT_TEXTS, ids=lambda text: text["id"])
def test_mathematics_is_closed(text):
    for value in text.values():
        assert str(value).count("$") % 2 == 0


def test_plain_text_has_no_marks_of_mathematics():
    assert evidence.plain(r"$r$ above $r_{\min}$ at $λ = 50$") == "r above r_min at λ = 50"
    assert evidence.plain("$σ(ρ_0)$ in max_ae_u") == "σ(ρ0) in max_ae_u"
    assert evidence.plain(0.5) == 0.5


# The tables of notebook 03


@pytest.mark.parametrize("name", ["beside_published", "leave_one_out", "paired_differences"])
def test_tables_keep_their_types_on_the_way_through_a_file(name, lab, good):
    lab.error, lab.without = as_published, ()
    before = getattr(lab, name)()
    after = good.statistics[name]
    pd.testing.assert_frame_equal(
        before.reset_index(drop=True), after, check_dtype=False, rtol=1e-8
    )
    nullable = before.columns[before.dtypes.isin([pd.BooleanDtype(), pd.Int64Dtype()])]
    needed = nullable.intersection(list(evidence.COLUMN_TYPES))
    assert (after[needed].dtypes == before[needed].dtypes).all()


def test_an_incomplete_table_keeps_its_notes_and_gaps(empty):
    for name in ("beside_published", "every_k"):
        table = empty.statistics[name]
        assert table["note"].str.startswith("incomplete: 0 of").all()
        assert table["winner"].eq("").all()
    assert empty.table["same_winner"].isna().all()
    assert empty.effects["ratio"].isna().all()
    assert empty.effects["seeds_to_lose"].isna().all()


def test_tables_must_be_there_and_of_the_same_parameters(tmp_path):
    manifest = tmp_path / "03_statistics.json"
    with pytest.raises(UserError, match="03_statistics"):
        evidence.validate_parameters(manifest, seeds=20)
    manifest.write_text(json.dumps({"parameters": {"seeds": 20, "steps": 5000}}))
    evidence.validate_parameters(manifest, seeds=20, steps=5000)
    with pytest.raises(ValueError, match="^steps=20"):
        evidence.validate_parameters(manifest, seeds=20, steps=20)


# The verdicts


@pytest.mark.parametrize("claim", COMPUTED, ids=lambda claim: claim.id)
def test_what_needs_no_training_is_decided_by_computation(claim):
    found = claim.check(evidence.Evidence({}, {}, numbers=KERNEL))
    expected = "partly" if claim.id == "function-class" else "reproduced"
    assert found.verdict == expected


@pytest.mark.parametrize("claim", FROM_RUNS, ids=lambda claim: claim.id)
def test_without_records_nothing_is_decided(claim, empty):
    with pytest.raises(evidence.NotTestableError, match="0 of"):
        claim.check(empty)


def test_two_seeds_are_too_few(lab):
    two = lab.evidence(as_published, seeds=2, tables=["every_k"])
    with pytest.raises(evidence.NotTestableError, match="too few seeds"):
        CLAIMS["every-seed"].check(two)


def test_runs_as_published_reproduce_the_table_and_the_trends(good):
    ledger = claims.evaluate_claims(good, FROM_RUNS).set_index("id")
    rows = ledger[ledger["kind"] == "statistical"]
    assert (rows["verdict"] == "reproduced").all()
    assert rows["interval"].ne("").all()
    verdicts = ledger["verdict"]
    for name in ("reversal", "every-seed", "often-exp", "transitional", "no-penalty"):
        assert verdicts[name] == "reproduced", name
    assert verdicts["crossovers"] == "not reproduced"  # made without any
    assert verdicts["baseline"] == "not reproduced"  # made alike


def test_the_other_gate_is_not_a_reproduction(lab):
    other = lab.evidence(linear_worse_where(lambda row: row.k > 25), tables=FOR_CLAIMS)
    ledger = claims.evaluate_claims(other, FROM_RUNS).set_index("id")
    rows = ledger[ledger["kind"] == "statistical"]
    assert (rows["verdict"] == "partly").all()  # significant, but the other winner
    assert ledger.loc["reversal", "verdict"] == "not reproduced"
    assert ledger.loc["every-seed", "verdict"] == "not reproduced"


def test_missing_baselines_leave_only_their_claim_open(lab):
    without = lab.evidence(as_published, without=["baseline"], tables=FOR_CLAIMS)
    ledger = claims.evaluate_claims(without, FROM_RUNS)
    open_ = ledger[ledger["verdict"] == "not testable"]
    assert list(open_["id"]) == ["baseline"]
    assert list(open_["reason"]) == ["0 of 60 pairs of baseline runs are complete"]


def test_changes_of_winner_are_counted(lab):
    zigzag = lab.evidence(linear_worse_where(lambda row: row.k // 10 % 2 == 0), tables=["every_k"])
    found = CLAIMS["crossovers"].check(zigzag)
    assert found.verdict == "reproduced"
    adaptive, fixed = (f"7 times in both metrics for the {name} model" for name in MODELS)
    expected = f"the winner by median changes {adaptive}, {fixed}; by mean the same"
    assert found.ours.endswith(expected)


# Text and code


@pytest.fixture(scope="module")
def flipped(lab):
    """With the loss of the text the other gate wins everywhere."""

    def error(row):
        return 1 / as_published(row) if row.loss == "mse" else as_published(row)

    return lab.evidence(error, tables=[*FOR_CLAIMS, "beside_published_as_written"])


def consequence(point, facts):
    return disagreements.disagreements(facts).set_index("id")["consequence"][point]


def test_losses_are_compared_where_both_are_complete(good, flipped):
    same = disagreements.losses(good)["same"]
    assert same.dropna().all()
    assert same.isna().sum() == 14  # without penalty the balanced loss stops at k = 60
    other = disagreements.losses(flipped)
    assert not other["same"].dropna().any()
    winners = disagreements.winners(other, "mse", 50)
    assert winners == "exp at $k = 50$ to $130$; linear at $k = 10$ to $40$"


def test_the_loss_matters_as_far_as_it_is_known(empty, flipped):
    assert "another gate wins by median in 38 of 38" in consequence("loss", flipped)
    assert consequence("loss", empty).startswith("open")


def test_neighbouring_stiffnesses_are_one_stretch():
    grid = list(range(10, 90, 10))
    text = disagreements.stretches([10, 20, 40, 50, 60, 80], grid)
    assert text == "$k = 10$, $20$, $40$ to $60$, $80$"


def test_losses_that_differ_are_counted_and_clearly_only_with_two_stars():
    table = pd.DataFrame({"same": pd.array([True, False, False, None], dtype="boolean")})
    table["text_balanced"] = ["exp 2.00*", "exp 2.00*", "exp 2.00*", None]
    table["text_mse"] = ["exp 3.00*", "linear 0.50*", "linear 0.90", "12/20"]
    counts = disagreements.count_differences(table)
    assert counts == {"losses_compared": 3, "losses_differ": 2, "losses_differ_clearly": 1}


def test_published_rows_come_out_again_under_the_loss_of_the_text_or_not(good, flipped, empty):
    assert list(disagreements.as_written(good)) == [True] * 8
    assert list(disagreements.as_written(flipped)) == [False] * 8  # the other winner
    assert disagreements.as_written(empty).empty


# Numbers


def test_published_means_are_inside_outside_or_not_compared():
    means = pd.DataFrame({"lambda_ic": [0, 50], "k": [20, 60], "metric": "rel_l2_u"})
    means["mean_exp_inside"] = pd.array([True, None], dtype="boolean")
    means["mean_linear_inside"] = pd.array([False, None], dtype="boolean")
    means["mean_linear_published"] = 0.2
    means["mean_linear_low"] = 0.3
    means["mean_linear_high"] = 0.4
    assert list(findings.inside(means)) == [True, False]
    expected = "linear at $λ = 0$, $k = 20$ in rel_l2_u (0.200, ours 0.300 to 0.400)"
    assert findings.outside(means) == expected


def test_effects_of_a_gate_twice_as_bad_in_every_seed(lab):
    always = linear_worse_where(lambda row: True)
    effects = lab.evidence(always, tables=["effect_sizes", "leave_one_out"]).effects
    assert len(effects) == 8
    assert (effects["note"] == "").all()
    assert np.allclose(effects[["ratio", "ratio_low", "ratio_high"]], 2)
    assert (effects["rank_biserial"] == 1).all()
    assert (effects["seeds_to_lose"] == 15).all()  # five pairs are left, and 2^(1 − 5) > 0.05
    assert np.allclose(effects["p_holm_worst"], 4 * 2.0**-18)  # 19 pairs, 4 tests in a setting


def test_extremes_are_over_all_tests_and_whichever_gate_is_ahead():
    effects = pd.DataFrame({"median_log_ratio": np.log([0.25, 2, 3]), "note": ""})
    effects["p_holm_worst"] = [0.01, 0.03, 0.02]
    effects["seeds_to_lose"] = pd.array([7, 5, 9], dtype="Int64")
    extremes = findings.extremes(effects)
    assert list(extremes.values()) == pytest.approx([0.03, 5, 2, 4])
    effects.loc[1, "note"] = "incomplete"
    assert findings.extremes(effects) == dict.fromkeys(extremes, "open")


def ledger_row(name, kind, wording, rule, published, ours, verdict, reason="", answer=""):
    texts = {"id": name, "kind": kind, "label": wording, "where": "Methods", "wording": wording}
    texts |= {"rule": rule, "note": "", "published": published, "ours": ours}
    return texts | {"verdict": verdict, "reason": reason, "answer": answer}


LEDGER = pd.DataFrame(
    [
        ledger_row("one-k", "exact", "A & B", "equal", "1", "1", "reproduced"),
        ledger_row("row-1", "statistical", "first", "same", "2", "2", "reproduced"),
        ledger_row("row-2", "statistical", "second", "same", "3", "", "not testable", "1 of 2"),
        ledger_row("trend", "qualitative", "often", "half", "", "40%", "partly", "why"),
        ledger_row("last", "semi-quantitative", "grows", "by 2", "", "", "not testable", "no run"),
        ledger_row("question", "ours", "why?", "most", "", "2.0", "answered", "angle: no", "yes"),
    ]
)


def test_verdicts_are_counted_over_all_claims_by_kind_and_over_the_rows():
    assert claims.verdict_counts(LEDGER) == {
        "claims_total": 5,
        "claims_reproduced": 2,
        "claims_partly": 1,
        "claims_not_reproduced": 0,
        "claims_undecided": 0,
        "claims_not_testable": 2,
        "claims_exact": "1 of 1",
        "claims_other": "0 of 2",
        "rows_total": 2,
        "rows_reproduced": 1,
    }


def test_the_report_may_quote_verdict_and_value_of_a_claim():
    assert claims.claim_numbers(LEDGER) == {
        "claim_one_k_verdict": "reproduced",
        "claim_one_k_ours": "1",
        "claim_trend_verdict": "partly reproduced",
        "claim_trend_ours": "40%",
        "claim_last_verdict": "not testable",
        "claim_last_ours": "no run",
        "claim_question_verdict": "yes",
        "claim_question_ours": "2.0",
    }


def test_the_answer_names_what_does_not_hold_and_why():
    expected = (
        "Of 5 checkable claims of the original, 2 are reproduced in full: all 1 identities and"
        " counts, 1 of the 2 published tests and none of the 2 other statements. Reproduced in"
        " part: often. Left open: second; grows."
    )
    assert claims.claims_answer(LEDGER) == expected
    failed = LEDGER.assign(verdict=LEDGER["verdict"].replace("partly", "not reproduced"))
    assert " Not reproduced: “often” (40%). Left open" in claims.claims_answer(failed)


def test_the_answer_of_a_full_reproduction_ends_there():
    answer = claims.claims_answer(LEDGER[:2])
    assert answer.endswith("all 1 published tests and all 0 other statements.")


def test_ledger_on_file_is_the_ledger_of_the_code():
    filed = pd.read_csv(ROOT / "data" / "claims.csv", keep_default_na=False)
    rules = [evidence.plain(claim.rule) for claim in claims.CLAIMS]
    assert list(filed["id"]) == list(CLAIMS)
    assert list(filed["rule"]) == rules
    assert set(filed["verdict"]) <= set(evidence.VERDICTS)
    open_ = filed["verdict"] == "not testable"
    assert filed.loc[open_, "reason"].ne("").all()
    assert filed.loc[~open_, "ours"].ne("").all()
    ours = filed["kind"] == claims.OURS
    assert (filed["verdict"].isin(["answered", "undecided"]) | ~ours).all()
    assert filed.loc[ours, "answer"].ne("").all()
    assert filed.loc[~ours, "answer"].eq("").all()


# LaTeX


def test_an_open_row_of_the_table_says_so():
    tests = paired.gate_tests(runs_of(specs_of("table"), {}), published.TESTED_K)
    table = paper_tables.gate_table({"ours": tests, "as published": published.published()})
    assert table.count("incomplete: 0 of 20 pairs") == 8
    assert table.count(r"\downarrow") == 8


def body(table):
    """The rows of a table between its last head and its end, as lists of cells."""
    last_head = r"\endfoot" if r"\endfoot" in table else r"\midrule"
    _, _, text = table.partition(last_head)
    rows = []
    for line in text.splitlines():
        if " & " in line:
            cells, _, _ = line.partition(r" \\")
            rows.append(cells.split(" & "))
    return rows


def test_the_ledger_as_a_table_has_reasons_in_place_of_values():
    original, questions = paper_tables.claim_table(LEDGER).split("\n\n")
    assert body(original)[::2] == [
        [r"A \& B", "1", "1", "reproduced"],
        ["second", "3", "1 of 2", "not testable"],
        ["grows", "", "no run", "not testable"],
    ]
    assert body(original)[3] == ["often", "", r"40\%; why", "partly"]
    assert body(questions) == [["why?", "yes", "2.0; angle: no"]]


def test_the_caption_of_the_ledger_defines_every_verdict_that_a_claim_can_have():
    table = paper_tables.claim_table(LEDGER)
    for word, meaning in evidence.VERDICTS.items():
        assert (rf"\emph{{{word}}}: {meaning}" in table) == (word != "answered"), word


def test_the_rules_as_a_table_have_one_line_for_the_published_tests():
    changed = LEDGER.assign(note=LEDGER["id"].map({"trend": "50% before"}).fillna(""))
    rules = body(paper_tables.rule_table(changed))
    assert len(rules) == 4  # and none of ours
    assert rules[0] == [r"A \& B", "Methods", "equal."]
    assert rules[1] == ["The rows of the table of tests", "Methods", "same."]
    assert rules[2][2] == r"half. \emph{Afterwards:} 50\% before."


def test_what_did_not_come_out_is_listed_tested_claims_first():
    assert re.findall(r"\\item (.*)", paper_tables.differences(LEDGER)) == [
        r"\emph{often}: \textbf{partly reproduced}; 40\%; why.",
        r"\emph{second}: \textbf{not testable}; 1 of 2.",
        r"\emph{grows}: \textbf{not testable}; no run.",
    ]
    assert paper_tables.differences(LEDGER[:2]) == "Every claim was reproduced."


def test_disagreements_as_a_table():
    names = ["id", "text", "code", "ours", "consequence"]
    points = pd.DataFrame([["norm", "a", "50%", "b", "none"]], columns=names)
    table = paper_tables.disagreement_table(points)
    assert body(table) == [["norm", "a", r"50\%", "b", "none"]]


def test_losses_as_a_table():
    cells = [("max_ae_u", 20.0), ("max_ae_u", 60.0), ("rel_l2_u", 20.0)]
    index = pd.MultiIndex.from_tuples(cells, names=["metric", "k"])
    columns = pd.MultiIndex.from_product([["text_balanced", "text_mse"], [0.0, 50.0]])
    texts = [["a", "b", "c", "d"], ["x", "f", "50%", ""], ["m", "n", "o", "q"]]
    table = paper_tables.loss_table(pd.DataFrame(texts, index, columns))
    assert body(table) == [
        ["MaxAE", "20", "a", "c", "b", "d"],
        ["", "60", "x", r"50\%", "f", ""],
        ["ReL2E", "20", "m", "o", "n", "q"],
    ]
    heads = [("0", "balanced"), ("0", "mse"), ("50", "balanced"), ("50", "mse")]
    assert re.findall(r"=(\d+)\$, (\w+)", table) == heads
    assert table.count(r"\midrule") == 2  # under the heads and before the second metric


def test_effects_as_a_table_are_open_where_a_run_is_missing():
    effects = pd.DataFrame({"lambda_ic": [0.0, 50.0], "k": 20.0, "metric": "rel_l2_u"})
    effects["ratio"] = [2.0, np.nan]
    effects["ratio_low"] = [1.5, np.nan]
    effects["ratio_high"] = [3.0, np.nan]
    effects["hodges_lehmann"] = [-0.25, np.nan]
    effects["rank_biserial"] = [1.0, np.nan]
    effects["seeds_to_lose"] = pd.array([15, None], dtype="Int64")
    effects["note"] = ["", "incomplete"]
    assert body(paper_tables.effect_table(effects)) == [
        ["0", "20", "ReL2E", "2.00 [1.50, 3.00]", "$-0.250$", "$1.00$", "15"],
        ["50", "20", "ReL2E", "open", "open", "open", "open"],
    ]


def test_settings_are_those_of_the_run_and_of_the_models():
    numbers = paper_tables.setting_numbers(RunSpec(steps=7, initial_position=(1.5, 0.1)))
    expected = {"updates": 7, "points": 2000, "r_start": 1.5, "theta_start": 0.1, "decay": 0.99}
    bands = "16 from 0.5 to 5 rad/s and 16 from 5 to 15 rad/s"
    expected |= {"layers": 3, "width": 128, "nodes": 256, "resolution": 1e-6, "bands": bands}
    expected |= {"baseline_parameters": 33_538, "fixed_parameters": 130, "adaptive_parameters": 162}
    for name, value in expected.items():
        assert numbers[f"setting_{name}"] == value, name


def test_mathematics_of_the_ledger_stays_in_latex():
    row = ledger_row("a", "exact", "at $k = 20$", "same", "", "$p$ 1e-12, 5%", "reproduced")
    table = paper_tables.claim_table(pd.DataFrame([row]))
    assert body(table) == [["at $k = 20$", "", r"$p$ $10^{-12}$, 5\%", "reproduced"]]
    macro = paper_tables.quoted_macros({"gate": "$t/10$"}, r"the gate \Gate{} wins")
    assert macro == r"\newcommand{\Gate}{$t/10$}"


def test_only_what_the_text_quotes_becomes_a_macro():
    numbers = {"kernel_pairs": 240, "kernel": 1, "old": 2}
    text = r"of \KernelPairs{} pairs, 5\% \Kernel % not \Old"
    assert set(paper_tables.quoted_numbers(numbers, text)) == {"kernel_pairs", "kernel"}
    only = paper_tables.quoted_macros(numbers, r"\KernelPairs")
    assert only == r"\newcommand{\KernelPairs}{240}"


def test_a_text_with_special_characters_is_valid_latex():
    value = "58% [40%, 87%] of α_1 & “λ” – $p$ = 6e-05, #1"
    macro = paper_tables.quoted_macros({"gap": value}, r"\Gap")
    expected = r"58\% [40\%, 87\%] of $\alpha$\_\allowbreak{}1 \& “$\lambda_{\mathrm{IC}}$” --"
    assert macro == rf"\newcommand{{\Gap}}{{{expected} $p$ = $6\times10^{{-5}}$, \#1}}"


def test_symbols_of_the_texts_are_mathematics_in_latex():
    text = paper_tables.quoted_macros({"place": "μ ≥ 2 × η, −1 in $μ = 5$"}, r"\Place")
    expected = r"$\mu$ $\ge$ 2 $\times$ $\eta$, $-$1 in $\mu  = 5$"
    assert text == rf"\newcommand{{\Place}}{{{expected}}}"
