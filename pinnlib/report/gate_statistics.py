"""Tables of the paired statistics (notebook 03), and what they say as sentences.

Mathematics in the sentences stands between dollars.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pinnlib.analysis.paired import count_crossovers, tests_at_every_k
from pinnlib.analysis.samples import METRICS, SETTING, pair_runs, summary_table
from pinnlib.analysis.significance import LEVEL
from pinnlib.report.phrases import join_words
from pinnlib.report.standing_still import ANGLE, SUMMARISED, add_still_errors

OF_ANGLE = ("max_ae_theta", ANGLE)  # beside METRICS, the errors of the whole state
MODELS = {"adaptive": "adaptive model", "fixed": "fixed model", "baseline": "plain network"}
TIMES = {0: "never", 1: "once", 2: "twice"}
LOSSES = {"balanced": "balanced loss", "mse": "mean-square loss"}


def tests_of_both(runs: pd.DataFrame) -> pd.DataFrame:
    """`tests_at_every_k` of the errors of the state and of the angle; Holm within either."""
    tables = [tests_at_every_k(runs, metrics) for metrics in (METRICS, OF_ANGLE)]
    return pd.concat(tables, ignore_index=True)


def mean_table(runs: pd.DataFrame) -> pd.DataFrame:
    """`summary_table` of both metrics and of the angle, beside standing still."""
    tables = [summary_table(runs, metric) for metric in SUMMARISED]
    return add_still_errors(pd.concat(tables, ignore_index=True))


def pair_table(runs: pd.DataFrame, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """The paired differences of the metrics."""
    tables = [pair_runs(runs, metric) for metric in metrics]
    return pd.concat(tables, ignore_index=True)


def setting_table(tests: pd.DataFrame) -> pd.DataFrame:
    """Per setting and metric: crossovers, sizes of the ratio over k, and the smallest p in reach.

    `median_factor` and `largest_factor` are of the larger error over the smaller, whichever gate
    has it. With n seeds no two-sided p is below 2^(1 − n), and Holm multiplies the smallest by the
    number of tests, which are all k and both metrics of the setting.
    """
    by = [*SETTING, "metric"]
    table = count_crossovers(tests)
    sizes = tests.assign(factor=np.exp(tests["median_log_ratio"].abs()))
    factors = sizes.groupby(by)["factor"]
    table["median_factor"] = factors.median()
    table["largest_factor"] = factors.max()
    seeds = tests.groupby(by)["needed"].max()
    in_family = 2 * table["k_needed"]
    table["smallest_p_holm"] = (in_family * 2.0 ** (1 - seeds)).clip(upper=1)
    return table.reset_index()


def coverage_text(means: pd.DataFrame) -> str:
    """Whether all cells of a `mean_table` have all their runs."""
    cells = means[means["metric"] == METRICS[0]]
    lacking = int((~cells["complete"]).sum())
    if lacking == 0:
        return f"All {len(cells)} cells (setting, $k$ and gate) are complete."
    needed, ok = cells["needed"].sum(), cells["ok"].sum()
    verb = "lacks" if lacking == 1 else "lack"
    return f"{lacking} of {len(cells)} cells {verb} runs: {ok} of {needed} runs are ok."


def effect_text(tests: pd.DataFrame) -> str:
    """How large the gap is in the published tests; `tests` are their `tests_of_both`."""
    factors = tests.assign(factor=np.exp(tests["median_log_ratio"].abs()))
    state = factors[factors["metric"].isin(METRICS)]["factor"]
    angle = factors[factors["metric"] == ANGLE]["factor"]
    if factors["factor"].isna().any():
        return "How large the gap is remains open: a test lacks runs."
    return (
        "In the median seed the error of the better gate is smaller by a factor of"
        f" {state.min():.2f} to {state.max():.2f}"
        f" (angle alone: {angle.min():.2f} to {angle.max():.2f})."
    )


def single_seed_text(sensitivity: pd.DataFrame) -> str:
    """How much hangs on single seeds; `sensitivity` is `paired.leave_one_out`."""
    changed = sensitivity["winner_changes"] + sensitivity["significance_changes"] > 0
    if changed.isna().any():
        return "How much hangs on single seeds remains open: a test lacks runs."
    count = int(changed.sum())
    verdicts = f"{count} of {len(changed)} verdicts"
    if count == 0:
        verdicts = f"none of the {len(changed)} verdicts"
    fewest = sensitivity["seeds_to_lose"].min()
    text = f"Leaving out a single seed changes {verdicts}"
    if fewest == 0:
        return f"{text}; a test has an uncorrected $p$ above {LEVEL} with all its seeds."
    seeds = "1 seed" if fewest == 1 else f"{fewest} seeds"
    return (
        f"{text}. An adversary must remove at least {seeds} from a test before its uncorrected"
        f" $p$ reaches {LEVEL} or its winner changes."
    )


def crossover_text(settings: pd.DataFrame) -> str:
    """How often the winner changes along k; `settings` is a `setting_table`."""
    rows = settings.query("model == 'adaptive' and metric == 'rel_l2_u'")
    rows = rows[rows["k_decided"] == rows["k_needed"]]
    if rows.empty:
        return "How often the winner changes along $k$ remains open: runs are missing."
    parts = []
    for row in rows.sort_values("lambda_ic", ascending=False).itertuples():
        times = TIMES.get(row.crossovers, f"{row.crossovers} times")
        parts.append(f"{times} under the {LOSSES[row.loss]} with $λ = {row.lambda_ic:g}$")
    changes = join_words(parts)
    return f"Along $k$ the winner by ReL2E changes {changes} (adaptive model)."


def sensitivity_text(settings: pd.DataFrame) -> str:
    """How much each model depends on its gate, largest first; `settings` is a `setting_table`."""
    rows = settings.query("loss == 'balanced' and lambda_ic == 50")
    rows = rows[rows["k_decided"] == rows["k_needed"]]
    factors = rows.pivot(index="model", columns="metric", values="median_factor")
    factors = factors.reindex(columns=["rel_l2_u", ANGLE]).dropna()
    if factors.empty:
        return "How much a model depends on its gate remains open: runs are missing."
    parts = []
    for model, row in factors.sort_values("rel_l2_u", ascending=False).iterrows():
        text = f"{row['rel_l2_u']:.1f} for the {MODELS[model]} (angle: {row[ANGLE]:.1f})"
        parts.append(text)
    listed = parts[-1]
    if len(parts) > 1:
        listed = f"{', '.join(parts[:-1])} and {listed}"
    return (
        "With the balanced loss and $λ = 50$ the errors (ReL2E) under the two gates differ, in the"
        f" median over $k$, by a factor of {listed}."
    )


def reach_text(settings: pd.DataFrame) -> str:
    """The settings in which no test can be significant; `settings` is a `setting_table`."""
    beyond = settings.query("smallest_p_holm >= @LEVEL and metric == 'rel_l2_u'")
    if beyond.empty:
        return ""
    parts = []
    for row in beyond.itertuples():
        part = f"the {MODELS[row.model]} with the {LOSSES[row.loss]} and $λ = {row.lambda_ic:g}$"
        parts.append(part)
    return (
        "No star is possible, with so few seeds and so many tests, for "
        f"{'; '.join(parts)}: read the ratios there."
    )
