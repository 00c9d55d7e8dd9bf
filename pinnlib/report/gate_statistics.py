"""Tables and numbers of the paired statistics (notebook 03), beside those of `basins`."""

import numpy as np
import pandas as pd

from pinnlib.analysis.estimates import EFFECTS
from pinnlib.analysis.samples import METRICS, SETTING, STATUSES, pair_runs, summary_table
from pinnlib.analysis.significance import LEVEL
from pinnlib.report.standing_still import SUMMARISED, add_still_errors

FORMATS = {"mean_exp": "{:.3f}", "mean_linear": "{:.3f}", "frac_win": "{:.2f}"}
P_VALUES = ["p_raw", "p_holm", "p_holm_published", "p_holm_worst", "p_one_sided"]
FORMATS |= dict.fromkeys(P_VALUES, "{:.1e}")


def format_columns(table: pd.DataFrame, formats: dict[str, str] = FORMATS) -> pd.DataFrame:
    """A copy with the columns named in `formats` as text, empty where a number is NaN."""
    table = table.copy()
    for name, text in formats.items():
        if name in table:
            column = table[name].map(text.format, na_action="ignore")
            table[name] = column.fillna("")
    return table


def mean_table(runs: pd.DataFrame) -> pd.DataFrame:
    """`summary_table` of both metrics and of the angle, beside standing still."""
    tables = [summary_table(runs, metric) for metric in SUMMARISED]
    return add_still_errors(pd.concat(tables, ignore_index=True))


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
