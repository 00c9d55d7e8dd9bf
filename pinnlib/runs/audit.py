"""Retrain a random sample of the records and compare."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pinnlib.paths import RECORDS
from pinnlib.registry import is_whole, validate
from pinnlib.runs.progress import train_with_progress
from pinnlib.runs.provenance import NUMERICS, fingerprint, origin
from pinnlib.runs.record import Record, Records, full_settings, record_of
from pinnlib.runs.store import Store
from pinnlib.spec import RunSpec

FEWEST = 5  # seeds needed to speak of a distribution
IDENTITY = ("model", "gate", "k", "lambda_ic", "loss", "steps", "seed")
COMPARED = ("status", "metrics", "history", "frequencies", "parameters", "parameters_sha256")
VERDICTS = {
    "identical": "the same bits",
    "consistent": "other machine or numerics, other bits, within the recorded distribution "
    "over seeds",
    "not judged": "other machine or numerics, other bits, and fewer than five other seeds on "
    "record to compare with",
    "MISMATCH": "not what the record says: other bits on the same machine, or out of the "
    "distribution on another",
}


def audit(
    sample: int = 5,
    models: Sequence[str] | None = None,
    seed: int = 0,
    folder: Path | str = RECORDS,
    here: bool = False,
) -> pd.DataFrame:
    """Retrain `sample` random records; one row each, with its verdict (see VERDICTS).

    `models` limits the sample to these models, `here` to records of this kind of processor.
    """
    validate("sample", sample, is_whole(sample, 1), "a whole number >= 1")
    records = Store(folder).load()
    pool = [record for _, record in sorted(records.items()) if record["status"] != "failed"]
    validate("records", str(folder), pool, "a folder with records of finished runs")
    if models is not None:
        on_record = sorted({record["spec"]["model"] for record in pool})
        for model in models:
            validate("model", model, model in on_record, f"on record: {', '.join(on_record)}")
        pool = [record for record in pool if record["spec"]["model"] in models]
    if here:
        pool = [record for record in pool if record["made"]["fingerprint"] == fingerprint()]
        validate("here", here, pool, "False: no such record was made on this kind of processor")
    order = np.random.default_rng(seed).permutation(len(pool))
    chosen = [pool[i] for i in order[: int(sample)]]
    specs = [RunSpec(**record["spec"]) for record in chosen]
    rows = []
    for record, result in zip(chosen, train_with_progress(specs), strict=True):
        again = record_of(result, origin())
        row = {"key": record["key"]} | result.spec.select(*IDENTITY)
        row["recorded"] = record["metrics"]["rel_l2_u"]
        row["retrained"] = again["metrics"]["rel_l2_u"]
        row["verdict"] = _verdict(record, again, records)
        rows.append(row)
    return pd.DataFrame(rows)


def _verdict(record: Record, again: Record, records: Records) -> str:
    if all(record[part] == again[part] for part in COMPARED):
        return "identical"
    if record["made"]["fingerprint"] == fingerprint() and record["numerics"] == NUMERICS:
        return "MISMATCH"
    siblings = _other_seeds(record, records)
    if len(siblings) < FEWEST:
        return "not judged"
    if again["status"] == "ok":
        consistent = _within_distribution(again, siblings)
    else:
        consistent = any(sibling["status"] == again["status"] for sibling in siblings)
    return "consistent" if consistent else "MISMATCH"


def _other_seeds(record: Record, records: Records) -> list[Record]:
    """The finished runs that differ from `record` in their seed only."""
    settings = full_settings(record)
    return [
        other
        for other in records.values()
        if other["status"] != "failed"
        and other["key"] != record["key"]
        and full_settings(other) | {"seed": settings["seed"]} == settings
    ]


def _within_distribution(again: Record, siblings: Sequence[Record]) -> bool:
    logs = np.log([r["metrics"]["rel_l2_u"] for r in siblings if r["status"] == "ok"])
    if len(logs) == 0:
        return False
    value = np.log(again["metrics"]["rel_l2_u"])
    centre = np.median(logs)
    spread = 1.4826 * np.median(np.abs(logs - centre))
    return logs.min() <= value <= logs.max() or abs(value - centre) <= 4 * spread
