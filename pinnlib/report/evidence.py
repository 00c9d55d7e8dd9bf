"""What a claim is, what it is checked against, and what is found."""

from dataclasses import dataclass
from functools import cached_property
from typing import Callable, NamedTuple

import numpy as np

from pinnlib.analysis import paired
from pinnlib.report import published
from pinnlib.runs.table import runs_of, specs_of

VERDICTS = ("reproduced", "partly", "not reproduced", "undecided", "not testable")


class NotTestable(Exception):
    """Why a claim cannot be decided from what there is."""


class Finding(NamedTuple):
    verdict: str
    ours: str
    interval: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim; `check` takes the Evidence and gives a Finding, or raises NotTestable."""

    id: str
    kind: str  # exact, semi-quantitative, statistical, qualitative
    where: str  # in the paper
    wording: str
    rule: str
    check: Callable
    published: str = ""


class Evidence:
    """What claims are checked against: the runs of the studies, at most `seeds` seeds of `steps` updates each, and other notebooks' numbers."""

    def __init__(self, records, seeds=20, steps=5000, numbers=None):
        self.records, self._size, self.numbers = (
            records,
            {"seeds": seeds, "steps": steps},
            numbers or {},
        )

    def specs(self, *studies):
        return specs_of(*studies, **self._size)

    def runs(self, *studies):
        return runs_of(self.specs(*studies), self.records)

    @cached_property
    def table(self):
        """Our eight tests beside the published ones."""
        return published.beside_published(paired.gate_tests(self.runs("table")))

    @cached_property
    def every(self):
        """The test and the median log-ratio at every k of every study."""
        return paired.tests_at_every_k(self.runs("main", "no_penalty", "expanded", "as_written"))

    @cached_property
    def effects(self):
        """How large the differences of the eight tests are (ratio: linear/exp), and how much of each hangs on single seeds."""
        runs = self.runs("table")
        sizes = paired.effect_sizes(
            runs, effects=["median_log_ratio", "hodges_lehmann", "rank_biserial"]
        )
        single = paired.leave_one_out(runs)[[*paired.TEST, "p_holm_worst", "seeds_to_lose", "note"]]
        ratios = {
            f"ratio{end}": np.exp(sizes[f"median_log_ratio{end}"]) for end in ("", "_low", "_high")
        }
        return sizes.assign(**ratios).merge(single, on=paired.TEST, validate="1:1")

    def cells(self, ks, lambda_ic=(50,), model="adaptive", loss="balanced", metrics=paired.METRICS):
        """The rows of `every` for these cells, all of them complete; else NotTestable, with the counts."""
        rows = self.every.query(
            "k in @ks and lambda_ic in @lambda_ic and model == @model and loss == @loss and metric in @metrics"
        )
        if (rows["note"] != "").any():
            pairs = rows[rows["metric"] == metrics[0]]
            scope = (
                f"{pairs['n'].sum()} of {pairs['needed'].sum()} pairs of {model} runs are complete"
            )
            raise NotTestable(
                scope
                if (pairs["n"] < pairs["needed"]).any()
                else f"{scope}, but {rows['note'].max()}"
            )
        return rows


def graded(holds, ours, **more):
    """Reproduced if all parts hold, not reproduced if none does, else partly."""
    holds = list(holds)
    return Finding(
        "reproduced" if all(holds) else "partly" if any(holds) else "not reproduced", ours, **more
    )


def exact(holds, ours):
    return Finding("reproduced" if holds else "not reproduced", ours)
