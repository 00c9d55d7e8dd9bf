"""Every checkable claim of the paper: our wording, where it stands, the rule written before looking, and the function that applies it."""

from functools import partial

import pandas as pd

from pinnlib.report import published
from pinnlib.report.evidence import VERDICTS, Claim, Finding, NotTestable
from pinnlib.report.findings import (
    baseline_sensitivity,
    crossovers,
    every_seed_at_60,
    kernel_predicts,
    often_at_20,
    reversal,
    same_without_penalty,
    table_row,
    told_row,
    transitional,
)
from pinnlib.report.identities import (
    admissible,
    frequencies,
    function_class,
    initial_state,
    jacobian_growth,
    kernel_properties,
    parameter_counts,
    product_rule,
    residual_dynamics,
    sensitivity,
    velocities,
)


def _published_rows():
    rule = "reproduced: same winner by median and same significance after Holm at 0.05 (means are told beside); partly: one of the two"
    for row in published.published().itertuples(index=False):
        where, name = (
            "Appendix A.1, table",
            f"row-{row.lambda_ic}-{row.k}-{row.metric.split('_')[0]}",
        )
        wording = f"λ = {row.lambda_ic}, k = {row.k}, {row.metric}: {row.winner} wins significantly"
        check = partial(table_row, lambda_ic=row.lambda_ic, k=row.k, metric=row.metric)
        yield Claim(
            name,
            "statistical",
            where,
            wording,
            rule,
            check,
            told_row(row._asdict(), row.p_holm_is_bound),
        )


BOTH = "in all four tests (two λ, two metrics); partly: in some"
IDENTITY = "relative difference below 1e-10 in double precision"
CLAIMS = (
    Claim(
        "parameters",
        "exact",
        "Methods",
        "The three models have as many trainable parameters as stated",
        "all three counts equal",
        parameter_counts,
        "33,538 baseline, 130 fixed, 162 adaptive",
    ),
    Claim(
        "frequencies",
        "exact",
        "Methods",
        "32 frequencies, log-spaced in two bands of 16, give 64 features",
        "counts, ends of the bands and equal ratios within them",
        frequencies,
        "32 frequencies; D = 64",
    ),
    Claim(
        "gates",
        "exact",
        "Methods",
        "Both gates are admissible",
        "g(0) = 0, non-zero slope there, no zero on a grid of 10,000 points of (0, T]",
        admissible,
        "both",
    ),
    Claim(
        "initial-state",
        "exact",
        "Methods",
        "The start is met exactly and r stays above r_min, whatever the parameters",
        "for 5 random draws per model and gate: deviation at 0 below 1e-10, softplus above 0 at 101 times",
        initial_state,
        "any parameters",
    ),
    Claim(
        "velocities",
        "exact",
        "Methods",
        "The free output at t = 0 is the initial angular velocity; times σ(ρ0) the radial one",
        f"{IDENTITY}, derivative by automatic differentiation, random parameters",
        velocities,
        "identity",
    ),
    Claim(
        "sensitivity",
        "exact",
        "Section 2.1",
        "Parameter sensitivities of the gated latent output are those of the free output times g(t)",
        f"{IDENTITY}, latent variables, all models, initial parameters",
        sensitivity,
        "identity",
    ),
    Claim(
        "product-rule",
        "exact",
        "Section 2.1",
        "The second derivative brings in g, g' and g''",
        f"{IDENTITY}, against automatic differentiation, random parameters",
        product_rule,
        "identity",
    ),
    Claim(
        "kernel",
        "exact",
        "Section 2.1",
        "The residual kernel is symmetric, positive semidefinite and of no higher rank than there are parameters",
        "symmetric to 1e-10, eigenvalues above -1e-12 of the largest, rank counted at 1e-10; 120 times, k = 20, seed 0",
        kernel_properties,
        "by construction",
    ),
    Claim(
        "dynamics",
        "exact",
        "Section 2.1",
        "Under a small gradient step residuals e change by -K e",
        "relative difference below 1e-3 for a step of 1e-6 over the largest eigenvalue",
        residual_dynamics,
        "first order",
    ),
    Claim(
        "function-class",
        "exact",
        "Sections 1, 2.1, 4",
        "The gate does not change the class of functions that meet the initial condition",
        "with the trunk of 32 fixed frequencies, the least-squares fit of either gate's random ansatz (20 draws, median) "
        "by the other gate's leaves less than 1e-6 of its norm",
        function_class,
        "same class",
    ),
    Claim(
        "growth",
        "semi-quantitative",
        "Section 2.1",
        "The residual's Jacobian grows with time under the linear gate and saturates under the exponential",
        "norm after t = 8 over norm in (2, 4], initial parameters, k = 20 and 60, three seeds: above 2 (linear), "
        "within 0.75 to 1.25 (exp); partly: one of the two",
        jacobian_growth,
        "grows; saturates",
    ),
    Claim(
        "explains",
        "semi-quantitative",
        "Section 2.1, Conclusion",
        "How the gate reweights the kernel in time explains which gate wins",
        "some quantity of the kernel, at the start or after a tenth of the updates, has for the winner an AUC of at least 0.75 or at most 0.25 over all "
        "pairs (k, seed), its interval clear of 0.5, and its interval within k is clear of 0.5 on the same side; not reproduced: none has either; "
        "else undecided",
        kernel_predicts,
        "consistent with it; not measured",
    ),
    *_published_rows(),
    Claim(
        "reversal",
        "qualitative",
        "Abstract, Results",
        "The better gate is exponential at k = 20 and linear at k = 60, in both metrics",
        "winner by median as stated in all eight tests; partly: in some",
        reversal,
        "8 of 8 tests",
    ),
    Claim(
        "every-seed",
        "qualitative",
        "Results",
        "At k = 60 the linear gate is better in every seed",
        f"share of seeds won by linear equals 1 {BOTH}",
        every_seed_at_60,
        "100% of the seeds",
    ),
    Claim(
        "often-exp",
        "qualitative",
        "Abstract, Results",
        "At k = 20 the exponential gate is often better, but seeds are heterogeneous",
        "often: more than half of the seeds in all four tests; heterogeneous: upper and lower quartile of the ratio linear/exp "
        "apart by more than a factor 2 in all four; partly: one of the two",
        often_at_20,
        "85 to 100% of the seeds",
    ),
    Claim(
        "transitional",
        "qualitative",
        "Results",
        "k = 30 and 50 are transitional",
        "λ = 50: the median ratio linear/exp lies strictly between those at k = 20 and 60, for both k and metrics; partly: for some",
        transitional,
        "no number",
    ),
    Claim(
        "crossovers",
        "qualitative",
        "Results, Appendix A.2",
        "Several further crossovers between k = 70 and 130",
        "adaptive model, λ = 50: the winner by median changes at least twice from k = 60 to 130 in both metrics; partly: in one",
        crossovers,
        "multiple",
    ),
    Claim(
        "no-penalty",
        "qualitative",
        "Results",
        "Without velocity penalty the trends are similar",
        "adaptive model, k = 10 to 60, both metrics: the winner by median is that of λ = 50 everywhere; partly: in more than half",
        same_without_penalty,
        "no number",
    ),
    Claim(
        "baseline",
        "qualitative",
        "Results, Conclusion",
        "The baseline is more sensitive to the gate than the adaptive model",
        "λ = 50, k = 10 to 60: the median over k of the absolute median log-ratio is larger for the baseline in both metrics; "
        "partly: in one",
        baseline_sensitivity,
        "no number",
    ),
)


def evaluate_claims(evidence, claims=CLAIMS):
    """One row per claim: id, kind, where, wording, rule, published, ours, interval, verdict, reason."""
    rows = []
    for claim in claims:
        try:
            found = claim.check(evidence)
        except NotTestable as why:
            found = Finding("not testable", "", reason=str(why))
        rows.append(
            {
                name: getattr(claim, name)
                for name in ("id", "kind", "where", "wording", "rule", "published")
            }
            | found._asdict()
        )
    columns = [
        "id",
        "kind",
        "where",
        "wording",
        "rule",
        "published",
        "ours",
        "interval",
        "verdict",
        "reason",
    ]
    return pd.DataFrame(rows, columns=columns)


def verdict_counts(ledger):
    """Name → how many claims have each verdict, how many exact and other ones are reproduced, and how many rows of the table of tests."""
    reproduced, exact, row = (
        ledger["verdict"] == "reproduced",
        ledger["kind"] == "exact",
        ledger["kind"] == "statistical",
    )
    found = {"claims_total": len(ledger)} | {
        f"claims_{verdict.replace(' ', '_')}": int((ledger["verdict"] == verdict).sum())
        for verdict in VERDICTS
    }
    found |= {
        f"claims_{name}": f"{reproduced[part].sum()} of {part.sum()}"
        for name, part in (("exact", exact), ("other", ~exact & ~row))
    }
    return found | {"rows_total": int(row.sum()), "rows_reproduced": int(reproduced[row].sum())}


def claim_numbers(ledger):
    """claim_<id>_verdict and claim_<id>_ours (or why there is none), of every claim but the rows of the table of tests."""
    found = {}
    for row in ledger[ledger["kind"] != "statistical"].itertuples():
        key, verdict = (
            row.id.replace("-", "_"),
            "partly reproduced" if row.verdict == "partly" else row.verdict,
        )
        found |= {f"claim_{key}_verdict": verdict, f"claim_{key}_ours": row.ours or row.reason}
    return found
