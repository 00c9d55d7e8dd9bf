"""A table that grows run by run and survives an interruption."""

from collections.abc import Callable, Sequence

import pandas as pd

from pinnlib.spec import RunSpec


class ResumableTable:
    """Rows of several runs; `save` is called with the whole table whenever rows are added.

    `columns` are the fields of a RunSpec that identify a run in it.
    """

    def __init__(
        self,
        columns: Sequence[str],
        known: pd.DataFrame | None = None,
        save: Callable[[pd.DataFrame], object] | None = None,
    ) -> None:
        self.columns = list(columns)
        self.frame = pd.DataFrame(columns=self.columns) if known is None else known
        self._save = save

    def rows_of(self, spec: RunSpec) -> pd.DataFrame:
        """The rows of a run, none if it is not in the table."""
        same = pd.Series(True, self.frame.index)
        for name in self.columns:
            same &= self.frame[name] == getattr(spec, name)
        return self.frame[same]

    def add(self, rows: list[dict]) -> None:
        """Append rows and save the table."""
        new = pd.DataFrame(rows)
        if self.frame.empty:
            self.frame = new
        else:
            self.frame = pd.concat([self.frame, new], ignore_index=True)
        if self._save is not None:
            self._save(self.frame)
