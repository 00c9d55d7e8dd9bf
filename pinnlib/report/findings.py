"""The statistical and qualitative claims, from the runs."""

import numpy as np
import pandas as pd

from pinnlib.analysis import paired
from pinnlib.report.evidence import Finding, NotTestable, graded
from pinnlib.runs.studies import SIX_K


def table_row(evidence, lambda_ic, k, metric):
    row = evidence.table.set_index(["lambda_ic", "k", "metric"]).loc[(lambda_ic, k, metric)]
    if row["note"]:
        raise NotTestable(row["note"])
    inside = ", ".join(
        f"{gate} {'yes' if row[f'mean_{gate}_inside'] else 'no'}" for gate in ("exp", "linear")
    )
    interval = ", ".join(
        f"{gate} {row[f'mean_{gate}_low']:.3f} to {row[f'mean_{gate}_high']:.3f}"
        for gate in ("exp", "linear")
    )
    reason = f"published mean inside our interval: {inside}"
    return graded(
        (row["same_winner"], row["same_significance"]),
        told_row(row),
        interval=interval,
        reason=reason,
    )


def inside(table):
    """Whether each published mean lies inside our bootstrap interval, where there is one."""
    return table[["mean_exp_inside", "mean_linear_inside"]].stack().dropna()


def outside(table):
    """Which published means lie outside our bootstrap intervals, in words."""
    gates = [(row, gate) for row in table.to_dict("records") for gate in ("exp", "linear")]
    said = "GATE at λ = {lambda_ic:g}, k = {k:g} in {metric} ({mean_GATE_published:.3f}, ours {mean_GATE_low:.3f} to {mean_GATE_high:.3f})"
    return (
        "; ".join(
            said.replace("GATE", gate).format(**row)
            for row, gate in gates
            if row[f"mean_{gate}_inside"] is False
        )
        or "none"
    )


def extremes(effects):
    """Over the tests: largest p with one seed left out, fewest seeds to lose, smallest and largest factor; each "open" if a test is incomplete."""
    if effects["note"].ne("").any():
        return dict.fromkeys(
            ("single_seed_worst_p", "fewest_seeds_to_lose", "smallest_factor", "largest_factor"),
            "open",
        )
    seeds = {
        "single_seed_worst_p": effects["p_holm_worst"].max(),
        "fewest_seeds_to_lose": int(effects["seeds_to_lose"].min()),
    }
    factor = np.exp(effects["median_log_ratio"].abs())
    return seeds | {"smallest_factor": factor.min(), "largest_factor": factor.max()}


def told_row(row, bound=False):
    """A row of the table of tests in one line; `bound`: its p is printed as an upper bound only."""
    sizes = f"{row['mean_exp']:.3f} against {row['mean_linear']:.3f}; share {row['frac_win']:.2f}"
    return f"{row['winner']} wins, {sizes}; p {'< ' * bound}{row['p_holm']:.1e}"


def span(values, digits):
    """The smallest and the largest of the values in words, or the one that both are."""
    ends = dict.fromkeys(f"{value:.{digits}f}" for value in (values.min(), values.max()))
    return " to ".join(ends)


def reversal(evidence):
    rows = evidence.cells((20, 60), (0, 50))
    right = rows["winner"] == rows["k"].map({20: "exp", 60: "linear"})
    return graded(right, f"{right.sum()} of {len(rows)} tests")


def every_seed_at_60(evidence):
    rows = evidence.cells((60,), (0, 50))
    share = rows["frac_win"].where(rows["winner"] == "linear", 1 - rows["frac_win"])
    return graded(share == 1, f"linear wins in {span(100 * share, 0)}% of the seeds")


def often_at_20(evidence):
    rows = evidence.cells((20,), (0, 50))
    share = rows["frac_win"].where(rows["winner"] == "exp", 1 - rows["frac_win"])
    pairs = pd.concat(
        [
            paired.paired(evidence.runs("table").query("k == 20"), metric)
            for metric in paired.METRICS
        ]
    )
    quartiles = pairs.groupby(["lambda_ic", "metric"])["log_ratio"].quantile([0.25, 0.75]).unstack()
    spread = np.exp(quartiles[0.75] - quartiles[0.25])
    told = f"exp wins in {span(100 * share, 0)}% of the seeds; the quartiles of the ratio are apart by a factor {span(spread, 1)}"
    return graded(((share > 0.5).all(), (spread > 2).all()), told)


def transitional(evidence):
    wide = np.exp(
        evidence.cells((20, 30, 50, 60)).pivot(
            index="metric", columns="k", values="median_log_ratio"
        )
    )
    low, high = wide[[20, 60]].min(axis=1), wide[[20, 60]].max(axis=1)
    between = [low[m] < wide.loc[m, k] < high[m] for m in wide.index for k in (30, 50)]
    told = "; ".join(
        f"in {m} " + ", ".join(f"{ratio:.2f} at k = {k:g}" for k, ratio in row.items())
        for m, row in wide.iterrows()
    )
    return graded(between, f"the median ratio linear/exp is {told}")


def crossovers(evidence):
    count = {}
    for model in (
        "adaptive",
        "fixed",
    ):  # the adaptive model by median decides, the rest is told beside
        rows = evidence.cells(tuple(range(60, 140, 10)), model=model).sort_values("k")
        by_mean = pd.Series(
            np.where(rows["mean_linear"] < rows["mean_exp"], "linear", "exp"), rows.index
        )
        count |= {
            f"{model} by {by}": _changes(winner, rows["metric"])
            for by, winner in (("median", rows["winner"]), ("mean", by_mean))
        }
    told = "; ".join(
        f"{case} " + ", ".join(f"{n} in {metric}" for metric, n in found.items())
        for case, found in count.items()
    )
    return graded(count["adaptive by median"] >= 2, f"number of changes from k = 60 to 130: {told}")


def _changes(winners, metrics):
    """How often the winner changes along k, per metric."""
    return winners.groupby(metrics).agg(lambda w: sum(a != b for a, b in zip(w, w[1:])))


def same_without_penalty(evidence):
    wide = evidence.cells(SIX_K, (0, 50)).pivot(
        index=["k", "metric"], columns="lambda_ic", values="winner"
    )
    same = wide[0] == wide[50]
    verdict = "reproduced" if same.all() else "partly" if same.mean() > 0.5 else "not reproduced"
    return Finding(verdict, f"same winner in {same.sum()} of {len(same)} comparisons")


def baseline_sensitivity(evidence):
    size = {}
    for model in ("baseline", "adaptive"):
        size[model] = (
            evidence.cells(SIX_K, model=model)["median_log_ratio"]
            .abs()
            .groupby(evidence.every["metric"])
            .median()
        )
    told = "; ".join(
        f"{model} " + ", ".join(f"{np.exp(v):.2f} in {metric}" for metric, v in sizes.items())
        for model, sizes in size.items()
    )
    return graded(size["baseline"] > size["adaptive"], f"typical factor between the gates: {told}")


def kernel_predicts(evidence):
    """The verdict of notebook 05."""
    found = evidence.numbers
    if "kernel_predicts" not in found:
        raise NotTestable("notebook 05 has not been run")
    if (
        found["kernel_predicts"] == "open"
        or found["kernel_pairs"] < found["kernel_pairs_needed"]
        or found["kernel_fewest_seeds"] < 10
    ):
        raise NotTestable(
            f"{found['kernel_pairs']} of {found['kernel_pairs_needed']} pairs of runs, {found['kernel_fewest_seeds']} seeds per k at least"
        )
    told = f"{found['kernel_clear']} of {found['kernel_asked']} quantities and moments go with the winner over all k, {found['kernel_strong']} as strongly as the rule asks, "
    told += f"{found['kernel_clear_within_k']} within k; k alone is right in {100 * found['kernel_by_k_alone']:.0f}% of {found['kernel_pairs']} pairs"
    verdict = {"yes": "reproduced", "unclear": "undecided", "no": "not reproduced"}[
        found["kernel_predicts"]
    ]
    return Finding(verdict, told)


def coverage_sentence(runs):
    """How many of the runs are there, as the subject of a sentence."""
    done = (runs["status"] != "missing").sum()
    return (
        f"all {done:,} distinct runs"
        if done == len(runs)
        else f"only {done:,} of the {len(runs):,} distinct runs"
    )
