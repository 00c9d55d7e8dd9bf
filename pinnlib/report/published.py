"""The published table of tests, and ours beside it."""

import pandas as pd

from pinnlib.analysis.paired import LEVEL, MEANS, TEST
from pinnlib.paths import PUBLISHED
from pinnlib.registry import validate


def published():
    """The published table of tests; a p that is printed only as "<1e-4" has `…_is_bound` True."""
    return pd.read_csv(PUBLISHED / "table.csv")


def beside_published(tests):
    """Our tests of the adaptive model beside all eight published rows; <NA> where ours has no verdict."""
    validate(
        "tests",
        list(tests),
        {*TEST, "winner", "p_holm", "mean_exp_low"} <= {*tests},
        "what gate_tests gives",
    )
    validate(
        "model",
        sorted(set(tests["model"])),
        set(tests["model"]) == {"adaptive"},
        "adaptive alone, as in the published table",
    )
    both = tests.merge(
        published(), on=["lambda_ic", "k", "metric"], how="right", suffixes=("", "_published")
    )
    same = {
        f"{m}_inside": both[f"{m}_published"].between(both[f"{m}_low"], both[f"{m}_high"])
        for m in MEANS
    }
    same["same_winner"] = both.winner == both.winner_published
    same["same_significance"] = (both.p_holm < LEVEL) == (both.p_holm_published < LEVEL)
    return both.assign(
        **{
            name: column.astype("boolean").where(both.p_holm.notna())
            for name, column in same.items()
        }
    )
