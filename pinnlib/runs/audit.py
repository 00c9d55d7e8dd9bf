"""Do the records hold? Retrain a random sample of them and compare."""

import numpy as np
import pandas as pd

from pinnlib.paths import RECORDS
from pinnlib.registry import is_whole, validate
from pinnlib.runs.provenance import NUMERICS, fingerprint, origin
from pinnlib.runs.record import full_settings, record_of
from pinnlib.runs.store import Store
from pinnlib.spec import RunSpec
from pinnlib.training import train

FEWEST = 5  # seeds needed to speak of a distribution
VERDICTS = {
    "identical": "the same bits",
    "consistent": "other machine or numerics, other bits, within the recorded distribution over seeds",
    "not judged": "other machine or numerics, other bits, and fewer than five other seeds on record to compare with",
    "MISMATCH": "not what the record says: other bits on the same machine, or out of the distribution on another",
}


def audit(sample=5, models=None, seed=0, folder=RECORDS, here=False, progress=None):
    """Retrain `sample` random records (of the given models; `here`: made on this kind of processor) and return one row each, with its verdict (see VERDICTS)."""
    validate("sample", sample, is_whole(sample, 1), "a whole number >= 1")
    records = Store(folder).load()
    pool = [record for _, record in sorted(records.items()) if record["status"] != "failed"]
    validate(
        "records", str(folder), pool, "a folder with records of finished runs: there are none in it"
    )
    on_record = sorted({record["spec"]["model"] for record in pool})
    for model in models or ():
        validate(
            "model", model, model in on_record, f"one that is on record: {', '.join(on_record)}"
        )
    pool = [record for record in pool if models is None or record["spec"]["model"] in models]
    pool = [record for record in pool if not here or record["made"]["fingerprint"] == fingerprint()]
    validate("here", here, pool, "left out: no such record was made on this kind of processor")
    chosen = [pool[i] for i in np.random.default_rng(seed).permutation(len(pool))[: int(sample)]]
    results = train([RunSpec(**record["spec"]) for record in chosen], progress=progress)
    rows = []
    for record, result in zip(chosen, results):
        again = record_of(result, origin())
        told = {"key": record["key"]} | {
            name: record["spec"][name]
            for name in ("model", "gate", "k", "lambda_ic", "loss", "steps", "seed")
        }
        errors = {
            "recorded": record["metrics"]["rel_l2_u"],
            "retrained": again["metrics"]["rel_l2_u"],
        }
        rows.append(told | errors | {"verdict": _verdict(record, again, records)})
    return pd.DataFrame(rows)


def _verdict(record, again, records):
    if all(
        record[part] == again[part]
        for part in (
            "status",
            "metrics",
            "history",
            "frequencies",
            "parameters",
            "parameters_sha256",
        )
    ):
        return "identical"
    if record["made"]["fingerprint"] == fingerprint() and record["numerics"] == NUMERICS:
        return "MISMATCH"
    alike, kin = (
        full_settings(record) | {"seed": None},
        [r for r in records.values() if r["status"] != "failed" and r["key"] != record["key"]],
    )
    siblings = [r for r in kin if full_settings(r) | {"seed": None} == alike]
    if len(siblings) < FEWEST:
        return "not judged"
    if again["status"] != "ok":
        return "consistent" if any(r["status"] == again["status"] for r in siblings) else "MISMATCH"
    logs = np.log([r["metrics"]["rel_l2_u"] for r in siblings if r["status"] == "ok"])
    if not len(logs):
        return "MISMATCH"
    centre, value = np.median(logs), np.log(again["metrics"]["rel_l2_u"])
    spread = 1.4826 * np.median(np.abs(logs - centre))
    return (
        "consistent"
        if logs.min() <= value <= logs.max() or abs(value - centre) <= 4 * spread
        else "MISMATCH"
    )
