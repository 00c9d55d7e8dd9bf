"""The rules of notebook 06: tables of contrasts in, answers out; "open" where a run is missing."""

import numpy as np

from .contrasts import lost
from .stats import LEVEL


def _whole(*tables):
    return all(table["ratio"].notna().all() for table in tables)


def sure(table):
    """1 where the first is significantly better, −1 where the second is, else 0."""
    return np.sign(np.log(table["ratio"])).where(table["p_holm"] < LEVEL, 0)


def sizes(table):
    """Per `factor`: the median size of its effects on a logarithmic scale, and how many are significant."""
    return table.assign(size=np.log(table["ratio"]).abs(), clear=sure(table) != 0).groupby("factor").agg({"size": "median", "clear": "sum"})


def amplitude_or_shape(table):
    """The factor with the larger effect by more than 1.5 times, with at least five clear contrasts; both if both have those; else undecided."""
    if not _whole(table):
        return "open"
    by = sizes(table).sort_values("size", ascending=False)
    apart = by["size"].iloc[0] > 1.5 * by["size"].iloc[1]
    if apart and by["clear"].iloc[0] >= 5:
        return by.index[0]
    return "both" if not apart and by["clear"].min() >= 5 else "undecided"


def never_beaten(table):
    """The variants that lose no contrast significantly."""
    return "open" if not _whole(table) else ", ".join(lost(table).loc[lambda count: count == 0].index) or "none"


def changes(table, ks):
    """At how many of the k each of two preferred variants is significantly better under its own loss."""
    both = (sure(table) == 1).groupby(table["k"]).all()
    return "open" if not _whole(table) else f"at {int(both.sum())} of {len(ks)} k"


def budget_decides(table):
    """Yes if with more steps, at some k, another variant wins or the winner is no longer significant."""
    if not _whole(table):
        return "open"
    ordered = table.assign(winner=np.sign(np.log(table["ratio"]))).sort_values("steps").groupby("k")
    other = ordered["winner"].nunique() > 1
    unsure = ordered["p_holm"].last() >= LEVEL
    return "yes" if (other | unsure).any() else "no"


def helps(table, least=6):
    """Helps if the first is better in at least so many contrasts and worse in none; hurts likewise; else mixed."""
    if not _whole(table):
        return "open"
    better, worse = (int((sure(table) == side).sum()) for side in (1, -1))
    return "helps" if better >= least and not worse else "hurts" if worse >= least and not better else "mixed"


def elsewhere(table, factor=1.5, least=4):
    """Yes if the first is better by more than the factor, significantly, in at least so many contrasts."""
    return "open" if not _whole(table) else "yes" if ((sure(table) == 1) & (table["ratio"] > factor)).sum() >= least else "no"


def gap(table):
    """The median size of the gap between two variants, on a logarithmic scale."""
    return float(np.log(table["ratio"]).abs().median())


def conditioning(undone, usual):
    """Optimisation if undoing conditioning leaves less than half of the usual gap, not conditioning if it leaves all of it; else partly."""
    if not _whole(undone, usual):
        return "open"
    left = gap(undone) / gap(usual)
    return "optimisation" if left < 0.5 else "not conditioning" if left >= 1 else "partly"
