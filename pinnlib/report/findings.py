"""The statistical and qualitative claims, decided from the runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pinnlib.report.evidence import Evidence, Finding, NotTestableError, grade
from pinnlib.report.published import PAPER_GATES
from pinnlib.runs.studies import SIX_K

TIMES = {0: "never", 1: "once", 2: "twice"}


def table_row(evidence: Evidence, lambda_ic: float, k: float, metric: str) -> Finding:
    """Winner and significance of one published test."""
    rows = evidence.table.set_index(["lambda_ic", "k", "metric"])
    row = rows.loc[(lambda_ic, k, metric)]
    if row["note"]:
        raise NotTestableError(row["note"])
    intervals, answers = [], []
    for gate in PAPER_GATES:
        low, high = row[f"mean_{gate}_low"], row[f"mean_{gate}_high"]
        intervals.append(f"{gate} {low:.3f} to {high:.3f}")
        answers.append(f"{gate} yes" if row[f"mean_{gate}_inside"] else f"{gate} no")
    return grade(
        [row["same_winner"], row["same_significance"]],
        row_text(row),
        interval=", ".join(intervals),
        reason=f"published mean inside our interval: {', '.join(answers)}",
    )


def row_text(row: Mapping[str, Any], bound: bool = False) -> str:
    """A test in one line; `bound`: its p is an upper bound."""
    sign = "< " if bound else ""
    means = f"{row['mean_exp']:.3f} against {row['mean_linear']:.3f}"
    share = f"share {row['frac_win']:.2f}"
    return f"{row['winner']} wins, {means}; {share}; $p$ {sign}{row['p_holm']:.1e}"


def inside(table: pd.DataFrame) -> pd.Series:
    """Whether each published mean lies inside our bootstrap interval, where there is one."""
    return table[["mean_exp_inside", "mean_linear_inside"]].stack().dropna()


def outside(table: pd.DataFrame) -> str:
    """The published means outside our bootstrap intervals, in words."""
    means = []
    for row in table.to_dict("records"):
        for gate in PAPER_GATES:
            if row[f"mean_{gate}_inside"] is False:
                place = f"$λ = {row['lambda_ic']:g}$, $k = {row['k']:g}$ in {row['metric']}"
                low, high = row[f"mean_{gate}_low"], row[f"mean_{gate}_high"]
                value = f"{row[f'mean_{gate}_published']:.3f}, ours {low:.3f} to {high:.3f}"
                means.append(f"{gate} at {place} ({value})")
    return "; ".join(means) or "none"


def extremes(effects: pd.DataFrame) -> dict[str, float | str]:
    """Over the tests: largest p with one seed left out, fewest seeds to lose, smallest and largest
    factor between the gates; each "open" if a test is incomplete."""
    factor = np.exp(effects["median_log_ratio"].abs())
    values = {
        "single_seed_worst_p": effects["p_holm_worst"].max(),
        "fewest_seeds_to_lose": effects["seeds_to_lose"].min(),
        "smallest_factor": factor.min(),
        "largest_factor": factor.max(),
    }
    if effects["note"].ne("").any():
        return dict.fromkeys(values, "open")
    return values


def span(values: pd.Series, digits: int) -> str:
    """ "low to high", or one number if both are the same after rounding."""
    low, high = f"{values.min():.{digits}f}", f"{values.max():.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _by_metric(values):
    """ "0.12 in max_ae_u and 0.34 in rel_l2_u"."""
    return " and ".join(f"{value:.2f} in {metric}" for metric, value in values.items())


def _share(rows, gate):
    """The share of seeds that the gate wins, per test."""
    return rows["frac_win"].where(rows["winner"] == gate, 1 - rows["frac_win"])


def reversal(evidence: Evidence) -> Finding:
    rows = evidence.cells((20, 60), (0, 50))
    right = rows["winner"] == rows["k"].map({20: "exp", 60: "linear"})
    return grade(right, f"the winner is as stated in {right.sum()} of {len(rows)} tests")


def every_seed_at_60(evidence: Evidence) -> Finding:
    share = _share(evidence.cells((60,), (0, 50)), "linear")
    return grade(share == 1, f"the linear gate wins in {span(100 * share, 0)}% of the seeds")


def often_at_20(evidence: Evidence) -> Finding:
    share = _share(evidence.cells((20,), (0, 50)), "exp")
    pairs = evidence.statistics["paired_differences"].query("k == 20")
    log_ratio = pairs.groupby(["lambda_ic", "metric"])["log_ratio"]
    spread = np.exp(log_ratio.quantile(0.75) - log_ratio.quantile(0.25))
    ours = (
        f"the exponential gate wins in {span(100 * share, 0)}% of the seeds; "
        f"the quartiles of the ratio differ by a factor of {span(spread, 1)}"
    )
    return grade([(share > 0.5).all(), (spread > 2).all()], ours)


def transitional(evidence: Evidence) -> Finding:
    rows = evidence.cells((20, 30, 50, 60))
    ratios = np.exp(rows.pivot(index="metric", columns="k", values="median_log_ratio"))
    low = ratios[[20, 60]].min(axis=1)
    high = ratios[[20, 60]].max(axis=1)
    between = [ratios[k].gt(low) & ratios[k].lt(high) for k in (30, 50)]
    parts = []
    for metric, row in ratios.iterrows():
        values = ", ".join(f"{ratio:.2f}" for ratio in row)
        parts.append(f"{values} in {metric}")
    ours = f"the median ratio linear/exp at $k = 20$, 30, 50, 60 is {' and '.join(parts)}"
    return grade(pd.concat(between), ours)


def crossovers(evidence: Evidence) -> Finding:
    """The adaptive model by median decides; the other counts are for comparison."""
    by_median, medians, means = {}, [], []
    for model in ("adaptive", "fixed"):
        rows = evidence.cells(range(60, 140, 10), model=model).sort_values("k")
        winner = np.where(rows["mean_linear"] < rows["mean_exp"], "linear", "exp")
        by_mean = _changes(rows.assign(winner=winner))
        by_median[model] = _changes(rows)
        medians.append(f"{_times(by_median[model])} for the {model} model")
        means.append(f"{_times(by_mean)} for the {model} model")
    also = "the same" if means == medians else ", ".join(means)
    ours = f"from $k = 60$ to 130 the winner by median changes {', '.join(medians)}; by mean {also}"
    return grade(by_median["adaptive"] >= 2, ours)


def _times(counts):
    """ "once in both metrics", or "once in max_ae_u, 4 times in rel_l2_u"."""
    words = {metric: TIMES.get(count, f"{count} times") for metric, count in counts.items()}
    if len(set(words.values())) == 1:
        return f"{words.popitem()[1]} in both metrics"
    return ", ".join(f"{text} in {metric}" for metric, text in words.items())


def _changes(rows):
    """How often the winner changes from one row to the next, per metric."""
    before = rows.groupby("metric")["winner"].shift()
    changed = before.notna() & (before != rows["winner"])
    return changed.groupby(rows["metric"]).sum()


def same_without_penalty(evidence: Evidence) -> Finding:
    rows = evidence.cells(SIX_K, (0, 50))
    wide = rows.pivot(index=["k", "metric"], columns="lambda_ic", values="winner")
    same = wide[0] == wide[50]
    verdict = "not reproduced"
    if same.all():
        verdict = "reproduced"
    elif same.mean() > 0.5:
        verdict = "partly"
    return Finding(verdict, f"the winner is the same in {same.sum()} of {len(same)} comparisons")


def baseline_sensitivity(evidence: Evidence) -> Finding:
    sizes = {}
    for model in ("baseline", "adaptive"):
        rows = evidence.cells(SIX_K, model=model)
        sizes[model] = rows["median_log_ratio"].abs().groupby(rows["metric"]).median()
    parts = [f"{_by_metric(np.exp(size))} for the {model}" for model, size in sizes.items()]
    ours = f"the typical factor between the gates is {', '.join(parts)} model"
    return grade(sizes["baseline"] > sizes["adaptive"], ours)


def kernel_predicts(evidence: Evidence) -> Finding:
    """The verdict of notebook 05."""
    found = evidence.numbers
    if "kernel_predicts" not in found:
        raise NotTestableError("notebook 05 has not been run")
    answer, seeds = found["kernel_predicts"], found["kernel_fewest_seeds"]
    pairs, needed = found["kernel_pairs"], found["kernel_pairs_needed"]
    if answer == "open" or pairs < needed or seeds < 10:
        raise NotTestableError(f"{pairs} of {needed} pairs of runs, {seeds} seeds per $k$ at least")
    ours = (
        f"of {found['kernel_asked']} quantities and moments {found['kernel_clear']} correlate with "
        f"the winner over all $k$, {found['kernel_strong']} as strongly as the rule asks, and "
        f"{found['kernel_clear_within_k']} within one $k$; $k$ alone predicts the winner in "
        f"{100 * found['kernel_by_k_alone']:.0f}% of {pairs} pairs"
    )
    verdicts = {"yes": "reproduced", "unclear": "undecided", "no": "not reproduced"}
    return Finding(verdicts[answer], ours)


def coverage_sentence(runs: pd.DataFrame) -> str:
    """How many of the runs are on record, as the subject of a sentence."""
    done = (runs["status"] != "missing").sum()
    if done == len(runs):
        return f"all {done:,} distinct runs"
    return f"only {done:,} of the {len(runs):,} distinct runs"
