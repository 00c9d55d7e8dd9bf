"""A table that grows run by run and survives an interruption."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from pinnlib.spec import RunSpec


class ResumableTable:
    """A table with several rows per run, saved whenever rows are added.

    columns  the settings that identify a run in the table
    known    the table of an earlier session, whose rows stay first
    save     called with the whole table after every addition
    """

    def __init__(
        self,
        columns: Sequence[str],
        known: pd.DataFrame | None = None,
        save: Callable[[pd.DataFrame], object] | None = None,
    ) -> None:
        self.columns = list(columns)
        self.frame = pd.DataFrame(columns=self.columns) if known is None else known
        self.save = save

    def rows_of(self, spec: RunSpec) -> pd.DataFrame:
        """The rows of a run; empty if it is not in the table."""
        identity = pd.Series(spec.select(*self.columns))
        return self.frame[(self.frame[self.columns] == identity).all(axis=1)]

    def values_of(self, spec: RunSpec, column: str) -> set:
        """The values of a column in the rows of a run; empty if the table has no such rows."""
        return set(self.rows_of(spec).get(column, default=[]))

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Append rows and save the table."""
        new = pd.DataFrame(rows)
        if not self.frame.empty:
            new = pd.concat([self.frame, new], ignore_index=True)
        self.frame = new
        if self.save is not None:
            self.save(self.frame)
