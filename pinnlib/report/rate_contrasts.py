"""Tables of notebook 08: what is compared on the test seeds, and the errors of every variant.

`Runs` maps the name of a study to its runs.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import contrasts, ratio_texts
from pinnlib.metrics import standing_still_metrics
from pinnlib.runs.studies import FOUR_K
from pinnlib.spec import RunSpec

Runs = Mapping[str, pd.DataFrame]
NO_PENALTY_STUDIES = ("rates_no_penalty_published", "rates_no_penalty")
TEST_STUDIES = ("rates_published", "rates", *NO_PENALTY_STUDIES)
TEST_STUDIES += ("decay", "decay_own", "no_gate", "recipe")
# Rate → the studies of the constant rate and of the decay from it
DECAYS = {"published": ("rates_published", "decay"), "own": ("rates", "decay_own")}
VARIANT = ["study", "loss", "schedule", "form", "gate"]


def by_rate(runs: Runs, studies: Sequence[str] = ("rates_published", "rates")) -> pd.DataFrame:
    """The runs at the published and at own rates, told apart by the column `rate`."""
    published, own = (runs[study] for study in studies)
    both = [published.assign(rate="published"), own.assign(rate="own")]
    return pd.concat(both, ignore_index=True)


def by_schedule(runs: Runs) -> pd.DataFrame:
    """The runs with decay and those of the same cells without, by the column `schedule`."""
    parts = []
    for rate, (constant, cosine) in DECAYS.items():
        decayed = runs[cosine]
        usual = runs[constant]
        for name in ("loss", "gate", "k"):
            usual = usual[usual[name].isin(decayed[name])]
        both = pd.concat([usual, decayed])
        parts.append(both.assign(rate=rate))
    return pd.concat(parts, ignore_index=True)


def by_variant(runs: Runs) -> pd.DataFrame:
    """The gates and the two forms without a gate at their own rates, by the column `variant`."""
    gated = runs["rates"]
    gated = gated[gated["k"].isin(FOUR_K)]
    free = runs["no_gate"]
    gated = gated.assign(variant=gated["gate"])
    free = free.assign(variant=free["form"])
    return pd.concat([gated, free], ignore_index=True)


def by_setting(runs: Runs, study: str = "rates_published") -> pd.DataFrame:
    """The recipe and the two published gates with the rates of `study`, by `setting`."""
    usual = runs[study]
    balanced = usual["loss"] == "balanced"
    usual = usual[balanced & usual["gate"].isin(["exp", "linear"])]
    usual = usual.assign(setting=usual["gate"])
    recipe = runs["recipe"].assign(setting="recipe")
    return pd.concat([usual, recipe], ignore_index=True)


def gate_gaps(runs: Runs, metric: str = "rel_l2_u") -> pd.DataFrame:
    """exp against linear at the published and at own rates, one family of tests."""
    return contrasts(by_rate(runs), [("exp", "linear")], "gate", ("rate", "loss", "k"), metric)


def comparisons(runs: Runs, metric: str = "rel_l2_u") -> dict[str, pd.DataFrame]:
    """Name → contrasts, each one family of tests.

    gap        exp against linear at the published and at own rates
    free       the same without velocity penalty
    gain       own against published rate of every gate
    decay      cosine against constant rate
    decay_gap  exp against linear under either schedule
    factor     the shifted ansatz against both published gates
    start      the shifted ansatz against the soft one
    recipe     the recipe against both published settings
    tuned      the recipe against both published gates at own rates
    """
    rates = by_rate(runs)
    schedules = by_schedule(runs)
    variants = by_variant(runs)
    exp = _against("exp", "linear")
    own = _against("own", "published")
    cosine = _against("cosine", "constant")
    shifted = _against("shifted", "exp", "linear")
    exact = _against("shifted", "soft")
    recipe = _against("recipe", "exp", "linear")
    plans = {  # name → runs, pairs, their column, cells
        "free": (by_rate(runs, NO_PENALTY_STUDIES), exp, "gate", ("rate", "loss", "k")),
        "gain": (rates, own, "rate", ("gate", "loss", "k")),
        "decay": (schedules, cosine, "schedule", ("rate", "gate", "k")),
        "decay_gap": (schedules, exp, "gate", ("schedule", "rate", "k")),
        "factor": (variants, shifted, "variant", ("loss", "k")),
        "start": (variants, exact, "variant", ("loss", "k")),
        "recipe": (by_setting(runs), recipe, "setting", ("k",)),
        "tuned": (by_setting(runs, "rates"), recipe, "setting", ("k",)),
    }
    tables = {"gap": gate_gaps(runs, metric)}
    for name, (part, pairs, column, cell) in plans.items():
        tables[name] = contrasts(part, pairs, column, cell, metric)
    return tables


def _against(first: str, *others: str) -> list[tuple[str, str]]:
    return [(first, other) for other in others]


def ratio_rows(table: pd.DataFrame, rows: list[str]) -> pd.DataFrame:
    """The ratios with their intervals as text: a row per value of the columns `rows`, k across."""
    texts = table.assign(text=ratio_texts(table))
    return texts.pivot(index=rows, columns="k", values="text").fillna("")


def published_and_own(gap: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of `gap` at the published rate and at own rates, cell by cell."""
    return gap[gap["rate"] == "published"], gap[gap["rate"] == "own"]


def still_table(ks: pd.Series) -> pd.DataFrame:
    """k → the errors of a pendulum that stands still: r at its mean over time, θ = 0."""
    rows = {}
    for k in sorted(set(ks)):
        spec = RunSpec(k=k)
        rows[k] = standing_still_metrics(spec.system_object, spec.reference.q)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("k")


def error_table(runs: Runs) -> pd.DataFrame:
    """Per variant and k on the test seeds: its rate, runs that are ok, median errors.

    Beside them the errors of standing still. A median is NaN if a run is not ok.
    """
    every = pd.concat({study: runs[study] for study in TEST_STUDIES}, names=["study", None])
    every = every.reset_index("study")
    every["study"] = pd.Categorical(every["study"], TEST_STUDIES)
    every["ok"] = every["status"] == "ok"
    cells = every.groupby([*VARIANT, "k", "lr"], observed=True)
    table = cells.agg(
        needed=("ok", "size"),
        ok=("ok", "sum"),
        rel_l2_u=("rel_l2_u", "median"),
        rel_l2_theta=("rel_l2_theta", "median"),
    )
    table = table.reset_index().astype({"study": str})
    medians = ["rel_l2_u", "rel_l2_theta"]
    table[medians] = table[medians].where(table["ok"] == table["needed"])
    still = still_table(table["k"])
    table["still_u"] = table["k"].map(still["rel_l2_u"])
    table["still_theta"] = table["k"].map(still["rel_l2_theta"])
    return table


def error_texts(errors: pd.DataFrame) -> pd.DataFrame:
    """A row per variant, a column per k: "0.021 / 0.18", the median errors of state and angle.

    The last row is that of standing still.
    """
    texts = errors.assign(text=_both(errors["rel_l2_u"], errors["rel_l2_theta"]))
    table = texts.pivot(index=VARIANT, columns="k", values="text")
    order = errors[VARIANT].drop_duplicates()
    table = table.reindex(pd.MultiIndex.from_frame(order))
    still = errors.drop_duplicates("k")
    still = still.sort_values("k")
    last = ("standing still", "", "", "", "")
    table.loc[last, :] = _both(still["still_u"], still["still_theta"])
    return table.fillna("")


def _both(state: pd.Series, angle: pd.Series) -> list[str]:
    return [f"{u:.3f} / {theta:.2f}" for u, theta in zip(state, angle, strict=True)]


def tuning_table(runs: pd.DataFrame, rates: pd.Series) -> pd.DataFrame:
    """Per setting, k and rate on the tuning seeds: median errors, and whether it is `chosen`.

    `rates` are those of `rate_rules.choose_rates`. A run that diverged counts as infinite.
    """
    setting = ["form", "gate", "loss", "lambda_ic", "k"]
    ok = runs["status"] == "ok"
    known = runs.assign(ok=ok)
    for metric in ("rel_l2_u", "rel_l2_theta"):
        known[metric] = runs[metric].where(ok, np.inf)
    cells = known.groupby([*setting, "schedule", "lr"])
    table = cells.agg(
        {
            "ok": "sum",
            "rel_l2_u": "median",
            "rel_l2_theta": "median",
        }
    )
    table = table.reset_index()
    own = rates.rename("own").reset_index()
    own = own.drop(columns="system")
    table = table.merge(own, on=setting)
    constant = table["schedule"] == "constant"
    is_own = table["lr"] == table.pop("own")
    return table.assign(chosen=constant & is_own)


def rate_texts(rates: pd.Series, grid: tuple[float, ...]) -> pd.DataFrame:
    """A row per form, gate and loss, a column per k: the rate; a star marks an end of the grid."""
    texts = rates.map("{:g}".format)
    ends = rates.isin([min(grid), max(grid)])
    texts = texts.where(~ends, texts + "*")
    return texts.droplevel("system").unstack("k").fillna("")
