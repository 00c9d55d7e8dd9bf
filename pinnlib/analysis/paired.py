"""The exponential against the linear gate over common seeds: tables of tests and of effect sizes.

A row is a test: a setting, a k and a metric. Holm's correction is over the tests of a setting.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from pinnlib.analysis.estimates import EFFECTS, MEANS, bootstrap_interval
from pinnlib.analysis.samples import METRICS, SETTING, TEST, Ks, pairs_at
from pinnlib.analysis.significance import (
    LEVEL,
    complete_pairs,
    holm,
    seeds_to_lose,
    wilcoxon_row,
)
from pinnlib.registry import validate


def _test_table(pairs: pd.DataFrame, partial: bool = False) -> pd.DataFrame:
    """The tests of all pairs, Holm within each setting."""
    rows = []
    for label, group in pairs.groupby(TEST):
        row = dict(zip(TEST, label, strict=True))
        row |= wilcoxon_row(group["exp"], group["linear"], partial)
        rows.append(row)
    table = pd.DataFrame(rows)
    p_holm = table.groupby(SETTING)["p_raw"].transform(holm)
    after_raw = table.columns.get_loc("p_raw") + 1
    table.insert(after_raw, "p_holm", p_holm)
    return table


def _estimate_table(
    pairs: pd.DataFrame, statistics: Mapping[str, Callable], partial: bool = False
) -> pd.DataFrame:
    """Per test: each statistic and its bootstrap 95% interval `_low` to `_high`, over seeds."""
    rows = []
    for label, group in pairs.groupby(TEST):
        exp, linear, n, needed = complete_pairs(group["exp"], group["linear"], partial)
        row = dict(zip(TEST, label, strict=True))
        row["n"] = n
        row["needed"] = needed
        for name, statistic in statistics.items():
            value, low, high = bootstrap_interval(statistic, exp, linear)
            row[name] = value
            row[f"{name}_low"] = low
            row[f"{name}_high"] = high
        rows.append(row)
    return pd.DataFrame(rows)


def gate_tests(
    frame: pd.DataFrame,
    ks: Ks,
    partial: bool = False,
    metrics: Sequence[str] = METRICS,
) -> pd.DataFrame:
    """Per setting, k and metric: the test, Holm over the setting, bootstrap intervals of means."""
    pairs = pairs_at(frame, ks, metrics)
    tests = _test_table(pairs, partial)
    means = _estimate_table(pairs, MEANS, partial)
    intervals = means.drop(columns=[*MEANS, "n", "needed"])
    return tests.merge(intervals, on=TEST, validate="1:1")


def effect_sizes(
    frame: pd.DataFrame,
    ks: Ks,
    effects: Sequence[str] = tuple(EFFECTS),
    metrics: Sequence[str] = METRICS,
) -> pd.DataFrame:
    """Per test: effect sizes with bootstrap 95% intervals; positive: exp is better."""
    unknown = set(effects) - set(EFFECTS)
    validate("effects", effects, not unknown, f"out of {', '.join(EFFECTS)}")
    statistics = {name: EFFECTS[name] for name in effects}
    return _estimate_table(pairs_at(frame, ks, metrics), statistics)


def tests_at_every_k(frame: pd.DataFrame, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """`gate_tests` at every k with the median log-ratio; Holm over all k and metrics."""
    tests = gate_tests(frame, ks=None, metrics=metrics)
    sizes = effect_sizes(frame, ks=None, effects=["median_log_ratio"], metrics=metrics)
    sizes = sizes.drop(columns=["n", "needed"])
    return tests.merge(sizes, on=TEST, validate="1:1")


def count_crossovers(tests: pd.DataFrame) -> pd.DataFrame:
    """Per setting and metric: k, k with a winner, and changes of winner between neighbours."""
    by = [*SETTING, "metric"]
    table = tests[[*by, "k"]].copy()
    known = tests["winner"].isin(["exp", "linear"])
    table["winner"] = tests["winner"].where(known)
    before = table.groupby(by)["winner"].shift()
    table["decided"] = known
    table["crossover"] = known & before.notna() & (table["winner"] != before)
    return table.groupby(by).agg(
        k_needed=("k", "size"),
        k_decided=("decided", "sum"),
        crossovers=("crossover", "sum"),
    )


def leave_one_out(frame: pd.DataFrame, ks: Ks) -> pd.DataFrame:
    """Per test: how many single seeds change the winner or the significance when left out.

    A seed is left out of the whole setting. `p_holm_worst` is the largest p that results.
    """
    pairs = pairs_at(frame, ks)
    whole = _test_table(pairs).set_index(TEST)
    tested = whole["p_holm"].notna()
    significant = whole["p_holm"] < LEVEL
    table = whole[["winner", "p_holm", "n", "needed", "note"]].assign(
        winner_changes=0,
        significance_changes=0,
        p_holm_worst=np.nan,
    )
    for seed in sorted(set(pairs["seed"])):
        others = pairs["seed"] != seed
        rest = pairs.assign(exp=pairs["exp"].where(others))
        without = _test_table(rest, partial=True).set_index(TEST)
        p_raw = without["p_raw"].where(tested)
        p_holm = p_raw.groupby(SETTING).transform(holm)
        table["winner_changes"] += without["winner"] != whole["winner"]
        table["significance_changes"] += (p_holm < LEVEL) != significant
        table["p_holm_worst"] = np.fmax(table["p_holm_worst"], p_holm)
    fewest = []
    for _, group in pairs.groupby(TEST):
        fewest.append(seeds_to_lose(group["exp"], group["linear"]))
    table["seeds_to_lose"] = fewest
    for count in ("winner_changes", "significance_changes", "seeds_to_lose"):
        table[count] = table[count].where(tested).astype("Int64")
    table["p_holm_worst"] = table["p_holm_worst"].where(tested)
    return table.reset_index()
