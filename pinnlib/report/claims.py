"""Every checkable claim of the paper: texts in claims.toml, a function here for each rule."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from pinnlib.report import findings, identities
from pinnlib.report.evidence import VERDICTS, Evidence, Finding, NotTestableError
from pinnlib.report.published import published

TEXTS = Path(__file__).with_name("claims.toml")
COLUMNS = ["id", "kind", "where", "wording", "rule", "published"]
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
}


@dataclass(frozen=True)
class Claim:
    """One claim; `check` takes the Evidence and returns a Finding, or raises NotTestableError."""

    id: str
    kind: str  # exact, semi-quantitative, statistical, qualitative
    where: str  # in the paper
    wording: str
    rule: str
    check: Callable[[Evidence], Finding]
    published: str = ""
    quoted: Sequence[str] = ()  # "verdict", "ours": what the text of the report quotes


def read_claims(path: Path = TEXTS) -> tuple[Claim, ...]:
    """The claims of the file in its order; the statistical one stands for every published test."""
    claims = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]:
        if entry["kind"] == "statistical":
            claims += [_test_claim(entry, test) for test in published().to_dict("records")]
        else:
            claims.append(Claim(**entry, check=CHECKS[entry["id"]]))
    return tuple(claims)


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
    return pd.DataFrame(rows)[[*COLUMNS, "ours", "interval", "verdict", "reason"]]


def verdict_counts(ledger: pd.DataFrame) -> dict[str, int | str]:
    """Claims by verdict, and how many of the exact, statistical and other ones are reproduced."""
    counts: dict[str, int | str] = {"claims_total": len(ledger)}
    for verdict in VERDICTS:
        name = verdict.replace(" ", "_")
        counts[f"claims_{name}"] = int((ledger["verdict"] == verdict).sum())
    kind = ledger["kind"].where(ledger["kind"].isin(["exact", "statistical"]), "other")
    reproduced = (ledger["verdict"] == "reproduced").groupby(kind)
    held, asked = reproduced.sum(), reproduced.size()
    for name in ("exact", "other"):
        counts[f"claims_{name}"] = f"{held[name]} of {asked[name]}"
    counts["rows_total"] = int(asked["statistical"])
    counts["rows_reproduced"] = int(held["statistical"])
    return counts


def claim_numbers(ledger: pd.DataFrame, claims: Sequence[Claim] = CLAIMS) -> dict[str, str]:
    """claim_<id>_verdict and claim_<id>_ours (without a value: the reason) where quoted."""
    numbers = {}
    rows = ledger.set_index("id")
    for claim in claims:
        key, row = claim.id.replace("-", "_"), rows.loc[claim.id]
        if "verdict" in claim.quoted:
            verdict = row["verdict"].replace("partly", "partly reproduced")
            numbers[f"claim_{key}_verdict"] = verdict
        if "ours" in claim.quoted:
            numbers[f"claim_{key}_ours"] = row["ours"] or row["reason"]
    return numbers
