"""A short run and profiles by hand, for the tests of the residual kernel."""

import functools
import itertools

import pandas as pd

from pinnlib import RunSpec, train
from pinnlib.analysis import ntk
from pinnlib.runs.record import record_of

GATES = ("exp", "linear")


@functools.cache
def short_run():
    """(spec, result, records) of a run of 300 updates."""
    spec = RunSpec(steps=300)
    (result,) = train([spec])
    return spec, result, {spec.key: record_of(result, {})}


def norms(head, frequencies, update=0, seeds=1):
    """A profile at k = 20 and 60 under both gates, from functions of the time.

    Seed s has 1 + s² times the norm, so that median and mean differ.
    """
    rows = []
    for gate, k, seed in itertools.product(GATES, (20, 60), range(seeds)):
        parts = {
            name: (1 + seed**2) * part(ntk.GRID)
            for name, part in (("head", head), ("frequencies", frequencies))
        }
        rows.append(
            pd.DataFrame(
                {
                    "gate": gate,
                    "k": k,
                    "seed": seed,
                    "update": update,
                    "t": ntk.GRID,
                    "all": k * parts["head"],
                }
                | parts
            )
        )
    return pd.concat(rows, ignore_index=True)
