"""The rules of notebook 06: tables of contrasts in, answers out; "open" where a run is missing."""

import numpy as np

from pinnlib.analysis.contrasts import lost
from pinnlib.analysis.paired import LEVEL


def _whole(*tables):
    return all(table["ratio"].notna().all() for table in tables)


def sure(table):
    """1 where the first is significantly better, −1 where the second is, else 0."""
    return np.sign(np.log(table["ratio"])).where(table["p_holm"] < LEVEL, 0)


def score(table):
    """How often the first is significantly better, and how often the second."""
    return tuple(int((sure(table) == side).sum()) for side in (1, -1))


def sizes(table):
    """Per `factor`: the median size of its effects on a logarithmic scale, and how many are significant."""
    return (
        table.assign(size=np.log(table["ratio"]).abs(), clear=sure(table) != 0)
        .groupby("factor")
        .agg({"size": "median", "clear": "sum"})
    )


def amplitude_or_shape(table):
    """The one with the larger median effect, if larger by more than a factor 1.5 and significant in at least five of its eight contrasts; both, if neither
    is larger by that much and both have five; else undecided."""
    if not _whole(table):
        return "open"
    by = sizes(table).sort_values("size", ascending=False)
    apart = by["size"].iloc[0] > 1.5 * by["size"].iloc[1]
    if apart and by["clear"].iloc[0] >= 5:
        return by.index[0]
    return "both" if not apart and by["clear"].min() >= 5 else "undecided"


def never_beaten(table):
    """Those that lose none of their contrasts with the others significantly."""
    return (
        "open"
        if not _whole(table)
        else ", ".join(lost(table).loc[lambda count: count == 0].index) or "none"
    )


def changes(table, ks):
    """At how many k the gates with the smallest median error under either loss differ and each is significantly better under its own."""
    both = (sure(table) == 1).groupby(table["k"]).all()
    return "open" if not _whole(table) else f"at {int(both.sum())} of {len(ks)} k"


def budget_decides(table):
    """Yes, if with more updates another gate wins at some k, or the winner is no longer significant; else no."""
    if not _whole(table):
        return "open"
    ordered = table.assign(winner=np.sign(np.log(table["ratio"]))).sort_values("steps").groupby("k")
    other = ordered["winner"].nunique() > 1
    unsure = ordered["p_holm"].last() >= LEVEL
    return "yes" if (other | unsure).any() else "no"


def helps(table):
    """Helps, if significantly better than the penalty in at least six of eight contrasts and worse in none; hurts likewise; else mixed."""
    if not _whole(table):
        return "open"
    better, worse = score(table)
    return (
        "helps" if better >= 6 and not worse else "hurts" if worse >= 6 and not better else "mixed"
    )


def nearer(table):
    """How often the first is better by more than a factor 1.5, significantly."""
    return int(((sure(table) == 1) & (table["ratio"] > 1.5)).sum())


def elsewhere(table):
    """Yes, if the error against the run's own trajectory is smaller than that against the reference by more than a factor 1.5, significantly, in at
    least four of eight contrasts; else no."""
    return "open" if not _whole(table) else "yes" if nearer(table) >= 4 else "no"


def gap(table):
    """The median size of the gap between two variants, on a logarithmic scale."""
    return float(np.log(table["ratio"]).abs().median())


def kept(undone, usual):
    """The rows of `usual` in which the gap is at least as large in the same row of `undone`."""
    left, before = (np.log(table["ratio"]).abs().to_numpy() for table in (undone, usual))
    return usual[left >= before]


def conditioning(undone, usual):
    """Optimisation, if undoing conditioning leaves less than half of the median gap between the gates (on a logarithmic scale); not conditioning, if it
    leaves all of it; else partly."""
    if not _whole(undone, usual):
        return "open"
    left = gap(undone) / gap(usual)
    return "optimisation" if left < 0.5 else "not conditioning" if left >= 1 else "partly"
