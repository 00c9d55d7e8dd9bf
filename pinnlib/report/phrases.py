"""Pieces of the sentences of notebooks 07 to 09: counts, effects with interval and p, lists.

Mathematics in the texts stands between dollars.
"""

from collections.abc import Sequence

import pandas as pd

from pinnlib.analysis.significance import LEVEL

OPEN = "Open: runs are missing."
# A factor of at least → in words; steps so wide that another machine seldom changes them
FACTORS = {
    10_000: "more than ten thousand times",
    100: "more than a hundred times",
    10: "more than ten times",
    2: "more than two times",
}


def join_words(texts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def count_noun(number: int, noun: str) -> str:
    """ "1 cell", "2 cells"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def share_phrase(number: int, total: int, noun: str) -> str:
    """ "none of 8 cells", "3 of 8 cells" or "all 8 cells"."""
    if number == 0:
        return f"none of {count_noun(total, noun)}"
    if number == total:
        return f"the one {noun}" if total == 1 else f"all {total} {noun}s"
    return f"{number} of {total} {noun}s"


def p_phrase(p: float) -> str:
    """ "$p < 0.001$", "$p = 0.034$" or "$p = 0.5$"; a p below 0.05 is never rounded up to it."""
    if p < 0.001:
        return "$p < 0.001$"
    if p >= 0.1:
        return f"$p = {p:.1g}$"
    digits = 2
    while p < LEVEL <= float(f"{p:.{digits}g}"):
        digits += 1
    return f"$p = {p:.{digits}g}$"


def both_p_phrase(first: float, second: float) -> str:
    """The p of two effects: "both $p < 0.001$" or "$p = 0.5$ and $p < 0.001$"."""
    texts = [p_phrase(first), p_phrase(second)]
    return f"both {texts[0]}" if texts[0] == texts[1] else " and ".join(texts)


def interval_phrase(row: pd.Series) -> str:
    """The ratio of a contrast with its interval: "1.23 [1.19, 1.37]"."""
    return f"{row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"


def effect_phrase(row: pd.Series) -> str:
    """The ratio of a contrast with interval and corrected p: "1.23 [1.19, 1.37], $p = 0.5$"."""
    return f"{interval_phrase(row)}, {p_phrase(row['p_holm'])}"


def factor_phrase(factor: float) -> str:
    """The largest step of FACTORS that the factor reaches, in words; "" below the smallest."""
    for least, words in FACTORS.items():
        if factor >= least:
            return words
    return ""
