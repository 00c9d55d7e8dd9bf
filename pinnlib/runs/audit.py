"""Compare runs that were trained twice, to the bit: a random sample, or two folders of records."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pinnlib.paths import RECORDS
from pinnlib.registry import is_whole, validate
from pinnlib.runs.progress import train_with_progress
from pinnlib.runs.provenance import NUMERICS, origin
from pinnlib.runs.record import Record, full_settings, record_of
from pinnlib.runs.store import Store
from pinnlib.spec import RunSpec

IDENTITY = ("model", "gate", "k", "lambda_ic", "loss", "steps", "seed")
COMPARED = ("status", "metrics", "nodes", "history", "parameters", "parameters_sha256")


def has_fixed_bits(record: Record) -> bool:
    """False for a failed run and for L-BFGS, whose bits depend on the processor (SciPy's sums)."""
    return record["status"] != "failed" and full_settings(record)["lbfgs"] == 0


def is_identical(record: Record, again: Record) -> bool:
    """Whether two records of a run are the same, but for where and how fast it was trained."""
    return all(record[part] == again[part] for part in COMPARED)


def compare_records(folder: Path | str, committed: Path | str = RECORDS) -> str:
    """How many records of a folder are identical to the committed ones of the same runs, in a line.

    "" if they have no run in common whose bits are fixed.
    """
    ours, theirs = Store(folder).load(), Store(committed).load()
    common = []
    for key in ours.keys() & theirs.keys():
        pair = (ours[key], theirs[key])
        same_numerics = ours[key]["numerics"] == theirs[key]["numerics"]
        if same_numerics and all(has_fixed_bits(record) for record in pair):
            common.append(key)
    if not common:
        return ""
    wrong = sorted(key for key in common if not is_identical(ours[key], theirs[key]))
    text = (
        f"{len(common) - len(wrong):,} of {len(common):,} records are identical to the committed"
        " ones, to the bit"
    )
    return f"{text}; MISMATCH: {', '.join(wrong)}" if wrong else text


def audit(
    sample: int = 5,
    models: Sequence[str] | None = None,
    seed: int = 0,
    folder: Path | str = RECORDS,
) -> pd.DataFrame:
    """Retrain `sample` random records; one row each, with the verdict "identical" or "MISMATCH".

    `models` limits the sample to these models. Records of older numerics are left out, and so are
    runs with L-BFGS.
    """
    validate("sample", sample, is_whole(sample, 1), "a whole number >= 1")
    records = Store(folder).load()
    finished = [record for _, record in sorted(records.items()) if has_fixed_bits(record)]
    allowed = "a folder with records of finished runs without L-BFGS"
    validate("records", str(folder), finished, allowed)
    versions = sorted({record["numerics"] for record in finished})
    pool = [record for record in finished if record["numerics"] == NUMERICS]
    validate("numerics", versions, pool, f"{NUMERICS} in some record; others are not comparable")
    if models is not None:
        model_of = {record["key"]: full_settings(record)["model"] for record in pool}
        on_record = sorted(set(model_of.values()))
        for model in models:
            validate("model", model, model in on_record, f"on record: {', '.join(on_record)}")
        pool = [record for record in pool if model_of[record["key"]] in models]
    order = np.random.default_rng(seed).permutation(len(pool))
    chosen = [pool[i] for i in order[: int(sample)]]
    specs = [RunSpec(**record["spec"]) for record in chosen]
    rows = []
    for record, result in zip(chosen, train_with_progress(specs), strict=True):
        again = record_of(result, origin())
        row = {"key": record["key"]} | result.spec.select(*IDENTITY)
        row["recorded"] = record["metrics"]["rel_l2_u"]
        row["retrained"] = again["metrics"]["rel_l2_u"]
        row["verdict"] = "identical" if is_identical(record, again) else "MISMATCH"
        rows.append(row)
    return pd.DataFrame(rows)
