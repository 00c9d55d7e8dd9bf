"""Specifications of studies, those without a record, and records as rows of a table."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from pinnlib.paths import RECORDS, RUNS_CSV
from pinnlib.registry import is_whole, validate
from pinnlib.runs.files import replacing
from pinnlib.runs.provenance import NUMERICS
from pinnlib.runs.record import Records, full_settings
from pinnlib.runs.store import Store
from pinnlib.runs.studies import STUDIES
from pinnlib.spec import RunSpec

ORDER = ["loss", "lambda_ic", "model", "k", "seed", "gate", "key"]
SOME_COLUMNS = [  # a table without records has at least these
    *("key", "model", "gate", "k", "lambda_ic", "loss", "seed", "steps", "status"),
    *("rel_l2_u", "rel_l2_theta", "max_ae_u", "max_ae_theta", "residual_mean"),
    *("velocity0_theta", "numerics"),
]


def specs_of(*studies: str, seeds: int | None = None, steps: int | None = None) -> list[RunSpec]:
    """The distinct runs that the named studies need, in order.

    `seeds` limits the number of seeds, `steps` replaces the updates of a whole run (smoke tests).
    """
    for field, value in (("seeds", seeds), ("steps", steps)):
        ok = value is None or is_whole(value, 1)
        validate(field, value, ok, "a whole number >= 1, or None for that of the study")
    for study in studies:
        validate("study", study, study in STUDIES, f"one of {', '.join(STUDIES)}")
    updates = RunSpec.steps if steps is None else int(steps)
    specs: dict[RunSpec, None] = {}  # an ordered set
    for study in studies:
        for settings in STUDIES[study].settings(updates, seeds):
            specs[RunSpec(**settings)] = None
    return list(specs)


def missing(specs: Iterable[RunSpec], records: Records, older: bool = False) -> list[RunSpec]:
    """The specs never trained or failed; with `older`, also those made by older numerics."""
    on_record = set()
    for key, record in records.items():
        outdated = older and record["numerics"] < NUMERICS
        if record["status"] != "failed" and not outdated:
            on_record.add(key)
    return [spec for spec in dict.fromkeys(specs) if spec.key not in on_record]


def runs_of(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """The `runs_table` of the specs; a run without a record is a row with status "missing"."""
    by_key = "records by key, such as Store(folder).load() or sweep(…).records"
    validate("records", type(records).__name__, isinstance(records, dict), by_key)
    rows = {spec.key: records[spec.key] for spec in specs if spec.key in records}
    for spec in specs:
        if spec.key not in rows:
            absent = {"key": spec.key, "spec": spec.overrides, "status": "missing"}
            rows[spec.key] = absent | {"numerics": None}
    return runs_table(rows)


def runs_table(records: Records) -> pd.DataFrame:
    """One row per record, in a fixed order: settings, status, metrics, nodes, seconds, numerics."""
    rows = []
    for record in records.values():
        row = {"key": record["key"]}
        for name, value in full_settings(record).items():
            row[name] = str(value) if isinstance(value, (list, tuple)) else value
        row["status"] = record["status"]
        for name, value in record.get("metrics", {}).items():
            row[name] = math.nan if value is None else value
        row["nodes"] = record.get("nodes")
        row["seconds"] = record.get("seconds")
        row["numerics"] = record["numerics"]
        rows.append(row)
    frame = pd.DataFrame(rows)
    columns = dict.fromkeys([*frame.columns, *SOME_COLUMNS])
    return frame.reindex(columns=list(columns)).sort_values(ORDER, ignore_index=True)


def mixed_versions(frame: pd.DataFrame) -> str:
    """A sentence if some rows were made by another version of the numerics, else ""."""
    counts = frame["numerics"].value_counts().sort_index()
    if set(counts.index) <= {NUMERICS}:
        return ""
    versions = ", ".join(f"{n} by version {version:g}" for version, n in counts.items())
    return (
        f"Mixed numerics: {versions} (now: {NUMERICS}). "
        "'./run_all.sh sweep --older' trains the older ones again."
    )


def studies_by_key() -> dict[str, str]:
    """Key of a run → names of the studies that need it, separated by spaces."""
    names: dict[str, str] = {}
    for study in STUDIES:
        for spec in specs_of(study):
            names[spec.key] = f"{names.get(spec.key, '')} {study}".strip()
    return names


def export(folder: Path = RECORDS, path: Path = RUNS_CSV) -> pd.DataFrame:
    """Write the table of all records as CSV, with the studies of each run, and return it."""
    frame = runs_table(Store(folder).load())
    frame.insert(1, "studies", frame["key"].map(studies_by_key()).fillna(""))
    with replacing(Path(path)) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    return frame
