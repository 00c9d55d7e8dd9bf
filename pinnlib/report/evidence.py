"""What claims are checked against, and what a check finds."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pinnlib.analysis.samples import METRICS, TEST
from pinnlib.registry import UserError, validate
from pinnlib.runs.record import Records
from pinnlib.runs.table import runs_of, specs_of
from pinnlib.spec import RunSpec

VERDICTS = {  # word → the one thing that it means
    "reproduced": "the claim holds in full by its rule",
    "partly": "some of what the rule asks for holds, but not all of it",
    "not reproduced": "the claim fails by its rule",
    "undecided": "every run is on record, and the rule decides neither way",
    "not testable": "a run that the rule needs is missing",
    "answered": "the rule of a question of ours gives an answer",
}
CONTRASTS = (  # the tables of notebooks 06 to 09 that are read: data/<name>.csv
    "gate_second_order",
    "rate_contrasts",
    "rate_tuning",
    "loss_contrasts",
    "loss_control",
    "system_verdicts",
    "optimiser_contrasts",
)
STATISTICS = (  # the tables of notebook 03 that are read: data/statistics_<name>.csv
    "beside_published",
    "beside_published_as_written",
    "effect_sizes",
    "every_k",
    "leave_one_out",
    "paired_differences",
)
COLUMN_TYPES = {
    "winner": str,
    "note": str,
    "seeds_to_lose": "Int64",
    "mean_exp_inside": "boolean",
    "mean_linear_inside": "boolean",
    "same_winner": "boolean",
    "same_significance": "boolean",
}


class NotTestableError(Exception):
    """Why a claim cannot be decided from the runs on record."""


class Finding(NamedTuple):
    """The outcome of a check; mathematics in the texts stands between dollars."""

    verdict: str
    ours: str
    interval: str = ""
    reason: str = ""
    answer: str = ""  # of a question of ours, in a few words


def grade(holds: Iterable[bool], ours: str, **more: str) -> Finding:
    """Reproduced if all parts hold, not reproduced if none does, else partly."""
    holds = list(holds)
    verdict = "partly"
    if all(holds):
        verdict = "reproduced"
    elif not any(holds):
        verdict = "not reproduced"
    return Finding(verdict, ours, **more)


def plain(text: Any) -> Any:
    r"""Text without the marks of mathematics: "$r_{\min}$" → "r_min"; numbers stay as they are."""
    if not isinstance(text, str):
        return text
    return re.sub(r"[${}\\]", "", text).replace("ρ_0", "ρ0")


def validate_parameters(manifest: Path, **parameters: int) -> None:
    """Refuse tables that another notebook made with other parameters than these."""
    if not manifest.exists():
        raise UserError(f"{manifest} does not exist: run notebook {manifest.stem} first")
    before = json.loads(manifest.read_text())["parameters"]
    for name, value in parameters.items():
        validate(name, value, value == before[name], f"{before[name]} as in {manifest.stem}")


def read_statistics(paths: Mapping[str, Path]) -> dict[str, pd.DataFrame]:
    """The tables of notebook 03, with the types that they had before they were written."""
    tables = {}
    for name, path in paths.items():
        table = pd.read_csv(path, dtype=COLUMN_TYPES)
        text = table.columns.intersection(["winner", "note"])
        tables[name] = table.fillna(dict.fromkeys(text, ""))
    return tables


def read_contrasts(paths: Mapping[str, Path]) -> dict[str, pd.DataFrame]:
    """The tables of notebooks 06 to 09, as far as these have been run."""
    return {name: pd.read_csv(path) for name, path in paths.items() if path.exists()}


def read_numbers(paths: Iterable[Path]) -> dict[str, Any]:
    """The numbers that notebooks wrote, all together."""
    numbers: dict[str, Any] = {}
    for path in paths:
        numbers |= json.loads(path.read_text())
    return numbers


@dataclass(frozen=True)
class Evidence:
    """What claims are checked against."""

    records: Records
    statistics: Mapping[str, pd.DataFrame]  # as read_statistics returns them
    seeds: int = 20  # at most, per cell
    steps: int = 5000  # updates per run
    numbers: Mapping[str, Any] = field(default_factory=dict)  # of the other notebooks
    contrasts: Mapping[str, pd.DataFrame] = field(
        default_factory=dict
    )  # as read_contrasts has them

    def specs(self, *studies: str) -> list[RunSpec]:
        return specs_of(*studies, seeds=self.seeds, steps=self.steps)

    def runs(self, *studies: str) -> pd.DataFrame:
        return runs_of(self.specs(*studies), self.records)

    @property
    def table(self) -> pd.DataFrame:
        """Our eight tests beside the published ones."""
        return self.statistics["beside_published"]

    def contrast(self, name: str, **values: Any) -> pd.DataFrame:
        """The rows of a table of `contrasts` with these values; NotTestableError without it."""
        if name not in self.contrasts:
            raise NotTestableError(f"data/{name}.csv is missing")
        rows = self.contrasts[name]
        for column, value in values.items():
            rows = rows[rows[column] == value]
        return rows.reset_index(drop=True)

    @property
    def effects(self) -> pd.DataFrame:
        """Sizes of the eight effects (ratio: linear/exp), and how they depend on single seeds."""
        sizes = self.statistics["effect_sizes"].copy()
        for end in ("", "_low", "_high"):
            sizes[f"ratio{end}"] = np.exp(sizes[f"median_log_ratio{end}"])
        single = self.statistics["leave_one_out"]
        single = single[[*TEST, "p_holm_worst", "seeds_to_lose", "note"]]
        return sizes.merge(single, on=TEST, validate="1:1")

    def cells(
        self, ks: Sequence[int], lambda_ic: Sequence[int] = (50,), model: str = "adaptive"
    ) -> pd.DataFrame:
        """Tests with the balanced loss at these k; NotTestableError if one is incomplete."""
        rows = self.statistics["every_k"].query(
            "k in @ks and lambda_ic in @lambda_ic and model == @model and loss == 'balanced'"
            " and metric in @METRICS"
        )
        if rows.empty:
            raise NotTestableError(f"no test of {model} runs at these k")
        if rows["note"].eq("").all():
            return rows
        pairs = rows[rows["metric"] == METRICS[0]]
        done, needed = pairs["n"].sum(), pairs["needed"].sum()
        reason = f"{done} of {needed} pairs of {model} runs are complete"
        if done == needed:
            reason += f", but {rows['note'].max()}"
        raise NotTestableError(reason)
