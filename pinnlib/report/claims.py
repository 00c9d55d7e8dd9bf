"""The ledger: the checkable claims of the original, and our own questions beyond them.

The texts are in claims.toml; CHECKS and ANSWERS have the function that applies each rule.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from pinnlib.report import findings, identities, loss_rules, questions, rate_rules, system_rules
from pinnlib.report.evidence import VERDICTS, Evidence, Finding, NotTestableError
from pinnlib.report.published import published

TEXTS = Path(__file__).with_name("claims.toml")
COLUMNS = ["id", "kind", "label", "where", "wording", "rule", "note", "published"]
OURS = "ours"  # the kind of a question
RULES = {module.WORDING.name: module.RULES for module in (loss_rules, rate_rules, system_rules)}
CHECKS: dict[str, Callable[..., Finding]] = {
    "parameters": identities.parameter_counts,
    "frequencies": identities.frequencies,
    "gates": identities.admissible,
    "initial-state": identities.initial_state,
    "velocities": identities.velocities,
    "sensitivity": identities.sensitivity,
    "product-rule": identities.product_rule,
    "kernel": identities.kernel_properties,
    "dynamics": identities.residual_dynamics,
    "function-class": identities.function_class,
    "growth": identities.jacobian_growth,
    "explains": findings.kernel_predicts,
    "reversal": findings.reversal,
    "every-seed": findings.every_seed_at_60,
    "often-exp": findings.often_at_20,
    "transitional": findings.transitional,
    "crossovers": findings.crossovers,
    "no-penalty": findings.same_without_penalty,
    "baseline": findings.baseline_sensitivity,
    "loss-of-text": questions.loss_of_the_text,
    "own-rate": questions.reversal_at_own_rates,
    "design-choice": questions.gate_matters,
    "conditioning": questions.gate_acts_by_conditioning,
}
ANSWERS: dict[str, Callable[..., Finding]] = {
    "one-rate": questions.single_rate,
    "cause": questions.balancing_cause,
    "control": questions.balancing_control,
    "reverses-published": partial(questions.reversals_elsewhere, rate="published"),
    "reverses-own": partial(questions.reversals_elsewhere, rate="own"),
    "lbfgs-helps": questions.after_lbfgs,
    "gap-closes": questions.gap_after_lbfgs,
}
for name in questions.RATE_ROWS:
    ANSWERS[name.replace("_", "-")] = partial(questions.rate_question, name=name)


@dataclass(frozen=True)
class Claim:
    """An entry of the ledger; `check` takes the Evidence and returns a Finding, or raises
    NotTestableError."""

    id: str
    kind: str  # exact, semi-quantitative, statistical, qualitative, interpretation; or OURS
    label: str  # in the figure
    where: str  # in the original; of a question of ours, the file of its rule
    wording: str
    rule: str
    check: Callable[[Evidence], Finding]
    note: str = ""  # what was changed after the result
    published: str = ""


def read_claims(path: Path = TEXTS) -> tuple[Claim, ...]:
    """The claims of the file in its order, one for every published test, and then the questions."""
    texts = tomllib.loads(path.read_text(encoding="utf-8"))
    claims = []
    for entry in texts["claim"]:
        if entry["kind"] == "statistical":
            claims += [_test_claim(entry, test) for test in published().to_dict("records")]
        else:
            claims.append(Claim(**entry, check=CHECKS[entry["id"]]))
    claims += [_question(entry) for entry in texts["question"]]
    return tuple(claims)


def _question(entry):
    """A question of ours, in the words of its rule file."""
    words = RULES[entry["file"]][entry["name"]]
    wording = words["question"]
    if "case" in entry:
        wording = f"{wording.rstrip('?')}, {entry['case']}?"
    return Claim(
        id=entry["id"],
        kind=OURS,
        label=entry["label"],
        where=entry["file"],
        wording=wording,
        rule=words["rule"].strip(),
        check=ANSWERS[entry["id"]],
    )


def _test_claim(entry, test):
    """The claim that one test of the published table makes."""
    texts = {name: text.format(**test) for name, text in entry.items()}
    cell = {name: test[name] for name in ("lambda_ic", "k", "metric")}
    value = findings.row_text(test, bound=test["p_holm_is_bound"])
    return Claim(**texts, check=partial(findings.table_row, **cell), published=value)


CLAIMS = read_claims()


def evaluate_claims(evidence: Evidence, claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
    """The ledger: one row per claim with its texts, our value, interval, verdict and reason."""
    rows = []
    for claim in claims:
        try:
            found = claim.check(evidence)
        except NotTestableError as why:
            found = Finding("not testable", "", reason=str(why))
        texts = {name: getattr(claim, name) for name in COLUMNS}
        rows.append(texts | found._asdict())
    return pd.DataFrame(rows)[[*COLUMNS, "ours", "interval", "verdict", "answer", "reason"]]


def of_the_original(ledger: pd.DataFrame) -> pd.DataFrame:
    """The rows of the ledger that are claims of the original."""
    return ledger[ledger["kind"] != OURS]


def of_ours(ledger: pd.DataFrame) -> pd.DataFrame:
    """The rows of the ledger that are questions of ours."""
    return ledger[ledger["kind"] == OURS]


def verdict_counts(ledger: pd.DataFrame) -> dict[str, int | str]:
    """Claims of the original by verdict, and how many of each kind are reproduced."""
    ledger = of_the_original(ledger)
    counts: dict[str, int | str] = {"claims_total": len(ledger)}
    for verdict in VERDICTS:
        name = verdict.replace(" ", "_")
        counts[f"claims_{name}"] = int((ledger["verdict"] == verdict).sum())
    del counts["claims_answered"]  # the verdict of a question of ours
    kind = ledger["kind"].where(ledger["kind"].isin(["exact", "statistical"]), "other")
    reproduced = (ledger["verdict"] == "reproduced").groupby(kind)
    held, asked = reproduced.sum(), reproduced.size()
    for name in ("exact", "other"):
        counts[f"claims_{name}"] = f"{held[name]} of {asked[name]}"
    counts["rows_total"] = int(asked["statistical"])
    counts["rows_reproduced"] = int(held["statistical"])
    return counts


def claims_answer(ledger: pd.DataFrame) -> str:
    """How many claims of the original hold, which do not, and why; mathematics between dollars."""
    claims = of_the_original(ledger)
    reproduced = claims["verdict"] == "reproduced"
    group = claims["kind"].map({"exact": "exact", "statistical": "tests"}).fillna("others")
    held = reproduced.groupby(group).sum().reindex(["exact", "tests", "others"], fill_value=0)
    total = group.value_counts()
    shares = {name: questions.how_many(held[name], total.get(name, 0)) for name in held.index}
    sentences = [
        f"Of {len(claims)} checkable claims of the original, {reproduced.sum()} are reproduced in"
        f" full: {shares['exact']} identities and counts, {shares['tests']} published tests and"
        f" {shares['others']} other statements."
    ]
    failed = claims[claims["verdict"] == "not reproduced"]
    if len(failed):
        reasons = [f"“{row.wording}” ({row.ours})" for row in failed.itertuples()]
        sentences.append(f"Not reproduced: {'; '.join(reasons)}.")
    partial_ones = claims.loc[claims["verdict"] == "partly", "label"]
    if len(partial_ones):
        sentences.append(f"Reproduced in part: {'; '.join(partial_ones)}.")
    left = claims.loc[claims["verdict"].isin(["undecided", "not testable"]), "label"]
    if len(left):
        sentences.append(f"Left open: {'; '.join(left)}.")
    return " ".join(sentences)


def claim_numbers(ledger: pd.DataFrame) -> dict[str, str]:
    """claim_<id>_verdict and claim_<id>_ours (without a value: the reason), except of tests."""
    numbers = {}
    for row in ledger[ledger["kind"] != "statistical"].itertuples():
        key = row.id.replace("-", "_")
        verdict = row.answer or row.verdict.replace("partly", "partly reproduced")
        numbers[f"claim_{key}_verdict"] = verdict
        numbers[f"claim_{key}_ours"] = row.ours or row.reason
    return numbers
