"""Tables and numbers of the paired statistics (notebook 03), beside those of `basins`."""

import numpy as np
import pandas as pd

from pinnlib.analysis.paired import (
    EFFECTS,
    LEVEL,
    METRICS,
    SETTING,
    STATUSES,
    TEST,
    pair_runs,
    summary_table,
)

WORDS = {0: "zero", 20: "twenty", 50: "fifty", 60: "sixty"}  # a LaTeX macro has letters only
WORDS |= {"max_ae_u": "max_ae", "rel_l2_u": "rel_ltwo"}
VERDICT = [
    "winner",
    "n",
    "mean_exp",
    "mean_linear",
    "frac_win",
    "p_raw",
    "p_holm",
    "p_one_sided",
    "hodges_lehmann",
    "rank_biserial",
    "median_ratio",
    "seeds_to_lose",
]
FORMATS = {
    "mean_exp": "{:.3f}",
    "mean_linear": "{:.3f}",
    "frac_win": "{:.2f}",
    "p_raw": "{:.1e}",
    "p_holm": "{:.1e}",
    "p_holm_published": "{:.1e}",
    "p_holm_worst": "{:.1e}",
    "p_one_sided": "{:.1e}",
}


def format_columns(table: pd.DataFrame, formats: dict[str, str] = FORMATS) -> pd.DataFrame:
    """A copy with the columns named in `formats` as text, empty where a number is NaN."""
    table = table.copy()
    for name, text in formats.items():
        if name in table:
            column = table[name].map(text.format, na_action="ignore")
            table[name] = column.fillna("")
    return table


def mean_table(runs: pd.DataFrame) -> pd.DataFrame:
    """`summary_table` of both metrics."""
    tables = [summary_table(runs, metric) for metric in METRICS]
    return pd.concat(tables, ignore_index=True)


def pair_table(runs: pd.DataFrame) -> pd.DataFrame:
    """The paired differences of both metrics."""
    tables = [pair_runs(runs, metric) for metric in METRICS]
    return pd.concat(tables, ignore_index=True)


def mean_overview(means: pd.DataFrame) -> pd.DataFrame:
    """Cells of a `mean_table` as text: "mean ± half-width; median", or the runs there are."""
    texts = []
    for cell in means.itertuples():
        text = f"{cell.ok} of {cell.needed} runs"
        if cell.complete:
            text = f"{cell.mean:.3g} ± {cell.half_width:.2g}; {cell.median:.3g}"
        texts.append(text)
    return means.assign(text=texts).pivot(
        index=["loss", "lambda_ic", "model", "k"],
        columns=["metric", "gate"],
        values="text",
    )


def incomplete_cells(means: pd.DataFrame) -> pd.DataFrame:
    """Per setting and gate: the k of the incomplete cells, and how their runs ended."""
    cells = means.query("not complete and metric == @METRICS[0]")
    cells = cells.assign(k=cells["k"].map("{:g}".format))
    rules = {"k": ", ".join, "needed": "sum"}
    for status in STATUSES:
        rules[status] = "sum"
    return cells.groupby([*SETTING, "gate"]).agg(rules)


def effect_overview(effects: pd.DataFrame) -> pd.DataFrame:
    """Each effect size with its interval as text."""
    view = effects[["lambda_ic", "k", "metric", "n"]].copy()
    for name in EFFECTS:
        low = effects[f"{name}_low"]
        high = effects[f"{name}_high"]
        text = "{:.3f} ({:.3f} to {:.3f})".format
        view[name] = list(map(text, effects[name], low, high))
    return view


def difference_quartiles(pairs: pd.DataFrame) -> pd.DataFrame:
    """Per test: distribution of the paired differences, and seeds in which exp is better."""
    better = pairs.assign(exp_better=pairs["difference"] > 0)
    groups = better.groupby(["lambda_ic", "k", "metric"])
    table = groups["difference"].describe().round(4)
    table["count"] = table["count"].astype(int)
    table["exp_better"] = groups["exp_better"].sum()
    return table


def winner_overview(every_k: pd.DataFrame) -> pd.DataFrame:
    """The winner of each test, k in columns: a star if significant, "…" if not complete."""
    stars = np.where(every_k["p_holm"] < LEVEL, "*", "")
    winner = every_k["winner"].replace("", "…")
    texts = every_k.assign(text=winner + stars)
    wide = texts.pivot(
        index=[*SETTING, "metric"],
        columns="k",
        values="text",
    )
    return wide.rename(columns="{:g}".format).fillna("")


def smallest_p(every_k: pd.DataFrame) -> pd.DataFrame:
    """Per setting: tests, seeds, and the smallest p after Holm that they can reach."""
    table = every_k.groupby(SETTING).agg(
        tests=("k", "size"),
        most_seeds=("needed", "max"),
    )
    single = 2.0 ** (1 - table["most_seeds"])
    corrected = (table["tests"] * single).clip(upper=1)
    table["smallest_p_holm"] = corrected.map("{:.2g}".format)
    return table


def gate_sensitivity(every_k: pd.DataFrame) -> pd.DataFrame:
    """Per setting and metric: median and maximum over k of the size of the median log-ratio."""
    sizes = every_k.assign(size=every_k["median_log_ratio"].abs())
    groups = sizes.groupby([*SETTING, "metric"])["size"]
    table = groups.agg(
        k_needed="size",
        k_there="count",
        median="median",
        max="max",
    )
    return format_columns(table, {"median": "{:.3f}", "max": "{:.3f}"})


def crossover_numbers(crossovers: pd.DataFrame) -> dict[str, int]:
    """Crossovers of the adaptive model for the text; NaN where not every k has a winner."""
    decided = crossovers["k_decided"] == crossovers["k_needed"]
    counts = crossovers["crossovers"].where(decided)
    adaptive = counts.xs("adaptive", level="model")
    numbers = {}
    for (weight, loss, metric), count in adaptive.items():
        name = f"crossovers_{loss}_lambda_{WORDS[weight]}_{WORDS[metric]}"
        numbers[name] = count
    return numbers


def verdict_numbers(
    tests: pd.DataFrame, effects: pd.DataFrame, sensitivity: pd.DataFrame
) -> dict[str, float | str]:
    """The tests, value by value, for the text: "lambda_fifty_k_twenty_max_ae_p_holm" and so on."""
    sizes = effects.drop(columns=["n", "needed"])
    table = tests.merge(sizes, on=TEST)
    table = table.merge(sensitivity[[*TEST, "seeds_to_lose"]], on=TEST)
    table["median_ratio"] = np.exp(table["median_log_ratio"])
    numbers = {}
    for row in table.to_dict("records"):
        weight = WORDS[row["lambda_ic"]]
        k = WORDS[row["k"]]
        metric = WORDS[row["metric"]]
        for name in VERDICT:
            numbers[f"lambda_{weight}_k_{k}_{metric}_{name}"] = row[name]
    return numbers
