"""The choices on the tuning seeds, as pinnlib/runs/tuned_rates.json has them.

Once all tuning runs are on record, this writes the file:

    python -c "from pinnlib.report import tuning; tuning.save_choices()"
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pinnlib.paths import RECORDS
from pinnlib.registry import validate
from pinnlib.report.rate_rules import choose_rates, choose_recipe
from pinnlib.runs.files import replacing
from pinnlib.runs.record import Records
from pinnlib.runs.store import Store
from pinnlib.runs.studies import FOUR_K, SYSTEM_K, TUNED, TUNED_FILE, setting_name
from pinnlib.runs.table import runs_of, specs_of

PENDULUM = ("rates_tuning", "rates_no_penalty_tuning", "no_gate_tuning", "recipe_tuning")
TUNING = (*PENDULUM, *(f"{system}_tuning" for system in SYSTEM_K))
Choices = dict[str, dict[str, Any]]


def recipe_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs among which the recipe is chosen: three gates, both schedules, four k."""
    gated = runs[(runs["system"] == "spring_pendulum") & (runs["form"] == "gated")]
    return gated[gated["k"].isin(FOUR_K) & (gated["lambda_ic"] == 50)]


def choices(runs: pd.DataFrame) -> Choices:
    """The chosen "rates", by setting and k, and the "recipe", from a table of tuning runs."""
    constant = runs[runs["schedule"] == "constant"]
    rates: dict[str, dict[str, float]] = {}
    for (*setting, k), lr in choose_rates(constant).items():
        rates.setdefault(setting_name(*setting), {})[f"{k:g}"] = lr
    return {"rates": rates, "recipe": choose_recipe(recipe_runs(runs))}


def tuning_runs(records: Records, studies: Sequence[str] = TUNING) -> pd.DataFrame:
    """The runs of the tuning studies as a table; all must be on record."""
    runs = runs_of(specs_of(*studies), records)
    absent = int((runs["status"] == "missing").sum())
    validate("records", f"{absent} tuning runs missing", absent == 0, "every tuning run")
    return runs


def compare_with_file(runs: pd.DataFrame) -> str:
    """A sentence: whether the file has what the rules choose from these runs of the pendulum.

    They are compared only if they are all its tuning runs, with the full settings.
    """
    every = {spec.key for spec in specs_of(*PENDULUM)}
    on_record = runs.loc[runs["status"] != "missing", "key"]
    if set(runs["key"]) != every or set(on_record) != every:
        return f"Not compared with {TUNED_FILE.name}: these are not all tuning runs in full length."
    chosen = choices(runs)
    differ = [name for name, rates in chosen["rates"].items() if rates != TUNED["rates"].get(name)]
    if chosen["recipe"] != TUNED["recipe"]:
        differ.append("recipe")
    if differ:
        return f"{TUNED_FILE.name} DIFFERS from what the rules choose: {', '.join(differ)}."
    return f"{TUNED_FILE.name} is what the rules choose from these {len(runs):,} runs."


def save_choices(folder: Path | str = RECORDS, path: Path = TUNED_FILE) -> Choices:
    """Write the choices from all tuning runs in `folder`, and return them."""
    chosen = choices(tuning_runs(Store(folder).load()))
    with replacing(Path(path)) as temporary:
        temporary.write_text(json.dumps(chosen, indent=1) + "\n")
    return chosen
