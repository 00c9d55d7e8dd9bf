"""How long runs take, at the pace of those on record."""

import contextlib
import os

import pandas as pd

from pinnlib.paths import RUNS_CSV

UNKNOWN = 3e-7  # seconds per update and point of a model that was never trained: as a spectral one
LONG = 1e6  # updates × points from which a run tells the pace: a shorter one is mostly start-up
COLUMNS = ["model", "steps", "points", "seconds"]


class TimeEstimate:
    """Median seconds per update and point of a run, by model: of these records or, for a model that they lack, of the repository's own."""

    def __init__(self, records):
        own = pd.DataFrame(
            [record["spec"] | {"seconds": record.get("seconds")} for record in records.values()],
            columns=COLUMNS,
        )
        self.known = _by_model(own)
        with contextlib.suppress(
            OSError, ValueError
        ):  # that table is derived: without it less is known, and nothing is lost
            self.known = _by_model(pd.read_csv(RUNS_CSV, usecols=COLUMNS)) | self.known

    def seconds(self, specs):
        """What the runs would take one process."""
        return sum(
            self.known.get(spec.model, self.known.get(spec.trunk.name, UNKNOWN))
            * spec.steps
            * spec.points
            for spec in specs
        )

    def told(self, specs, workers=None, elsewhere=False):
        """In words, for so many local processes, or for workers elsewhere, whose number is not known."""
        unknown = sorted({spec.trunk.name for spec in specs} - set(self.known))
        if not specs or unknown:
            return (
                f"how long that takes is not known: no run of {', '.join(unknown)} is on record"
                if specs
                else "nothing to train"
            )
        workers = 1 if elsewhere else min(workers or os.cpu_count(), len(specs))
        by = (
            "of one process's work"
            if elsewhere
            else f"with {workers} local process{'es' * (workers > 1)}"
        )
        return f"{in_words(self.seconds(specs) / workers)} {by}, at the pace of the records"


def _by_model(frame):
    work = (frame["steps"] * frame["points"]).astype(float)
    return (
        (frame["seconds"].astype(float) / work)[work >= LONG]
        .groupby(frame["model"])
        .median()
        .dropna()
        .to_dict()
    )


def in_words(seconds):
    """A duration as a person would say it, in the unit that suits it."""
    minutes = seconds / 60
    return (
        "less than two minutes"
        if minutes < 2
        else f"about {minutes:.0f} minutes"
        if minutes < 100
        else f"about {minutes / 60:.1f} hours"
    )
