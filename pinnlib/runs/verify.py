"""Check every record without training: whatever follows from its parameters must follow to the bit.

The store checks a line's checksum, fields, settings and key when it reads it. Here the metrics are
computed again from the parameters and the reference on file. Of a run whose parameters are not
kept, the residuals before the first update are computed again, and relations among its numbers are
checked. What no computation can prove (`made`, `seconds`, the history after the first update) is
compared with the last commit, if git has one.

What was found is kept beside the folder, in verification.json; notebooks say whether the records
that they read are those that passed.
"""

import hashlib
import json
import math
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from pinnlib.paths import RECORDS
from pinnlib.registry import is_whole, validate
from pinnlib.runs.files import replacing
from pinnlib.runs.progress import progress_bar
from pinnlib.runs.provenance import NUMERICS, origin
from pinnlib.runs.record import (
    LARGEST_KEPT,
    Record,
    Records,
    expected_metrics,
    metrics_of,
    parameters_of,
    same_formulas,
)
from pinnlib.runs.store import Store, decode
from pinnlib.spec import RunSpec
from pinnlib.training import evaluate

ROUNDING = 1e-12  # relative, of relations that hold up to rounding
STAMP = "verification.json"


@dataclass
class Verification:
    """How many records passed, by what could be checked, and one line per failure."""

    recomputed: int = 0  # metrics equal, to the bit, those of the parameters
    without_parameters: int = 0  # networks and diverged runs: relations among the numbers only
    failed_runs: int = 0  # runs that raised an error: there is nothing to check
    failures: list[str] = field(default_factory=list)
    compared: str = ""  # with which commit, or why with none

    def __str__(self) -> str:
        counts = (
            f"{self.recomputed} records verified from their parameters, "
            f"{self.without_parameters} without parameters checked for consistency"
        )
        if self.failed_runs:
            counts += f", {self.failed_runs} records of runs that raised an error"
        last = f"{counts}, {len(self.failures)} failures; {self.compared}"
        return "\n".join([*self.failures, last])


def verify(
    folder: Path | str = RECORDS, progress: bool | None = None, every: int = 1
) -> Verification:
    """Check the records of a folder; `progress` as for a sweep.

    Every line is read and compared with the last commit; `every` = 10 recomputes a tenth of them.
    """
    validate("every", every, is_whole(every, 1), "a whole number >= 1")
    records, damaged, foreign = Store(folder).scan()
    found = Verification()
    for line in damaged:
        found.failures.append(f"{line.path.name}:{line.number}: damaged: checksum or fields")
    for line in foreign:
        found.failures.append(f"{line.path.name}:{line.number}: settings or key are not valid")
    validate("records", str(folder), records or found.failures, "a folder with records")
    changes, found.compared = _changes_since_commit(Path(folder), records)
    found.failures += changes
    sample = list(records.items())[:: int(every)]
    with progress_bar(len(sample), progress, unit="record") as bar:
        for key, record in sample:
            fault = _fault(record)
            if fault:
                found.failures.append(f"{key}: {fault}")
            elif record["status"] == "failed":
                found.failed_runs += 1
            elif record["parameters"] is None:
                found.without_parameters += 1
            else:
                found.recomputed += 1
            bar.update()
    return found


def _fault(record: Record) -> str:
    """What is wrong with a record, or ""."""
    if record["numerics"] != NUMERICS:
        return f"numerics {record['numerics']}, not {NUMERICS}: train it again"
    if record["status"] == "failed":
        return ""
    try:
        spec = RunSpec(**record["spec"])
    except (TypeError, ValueError) as error:
        return str(error)
    if json.loads(json.dumps(spec.overrides)) != record["spec"]:  # as JSON has it
        return "settings that are not in their usual form"
    made = record["made"]
    if made.keys() != origin().keys() or not all(isinstance(text, str) for text in made.values()):
        return f"made must hold a text for each of {', '.join(origin())}"
    return _wrong_result(spec, record)


def _wrong_result(spec: RunSpec, record: Record) -> str:
    """What is wrong with the result of a finished run, or ""."""
    last = record["history"]["update"][-1]
    if not spec.steps <= last <= spec.steps + spec.lbfgs:
        return f"history ends at update {last}, not {spec.steps}"
    wrong = expected_metrics(spec) ^ record["metrics"].keys()
    if wrong:
        return f"metrics that are missing, or no metrics: {', '.join(sorted(wrong))}"
    if (record["nodes"] is None) != (spec.trunk.nodes is None):
        return f"nodes {record['nodes']} with the trunk {spec.model}"
    size = spec.trunk.size(len(spec.system_object.components))
    if record["parameters"] is None:
        if record["status"] == "ok" and size <= LARGEST_KEPT:
            return "no parameters, although such a run keeps them"
        return _inconsistency(spec, record)
    try:
        parameters = parameters_of(record)
    except ValueError as error:
        return str(error)
    if len(parameters) != size:
        return f"{len(parameters)} parameters, not {size}"
    metrics, recorded = evaluate(spec, parameters), record["metrics"]
    names = metrics.keys() | recorded.keys()
    altered = sorted(name for name in names if metrics.get(name) != recorded.get(name))
    return f"metrics do not follow from the parameters: {', '.join(altered)}" if altered else ""


def _inconsistency(spec: RunSpec, record: Record) -> str:
    """A relation that the metrics of a run without parameters violate, or ""."""
    if not same_formulas(record):
        return "its history does not begin with the residuals of these settings"
    metrics = metrics_of(record)
    if record["status"] == "diverged":
        finite = [name for name, value in metrics.items() if math.isfinite(value)]
        if finite:
            return f"diverged, yet with {', '.join(finite)}"
        lost = any(column[-1] is None for column in record["history"].values())
        return "" if lost else "diverged, yet its history stays finite"
    if not all(map(math.isfinite, metrics.values())):
        return "ok, yet with metrics that are not finite"
    reference = spec.reference.q
    parts = []
    for name, q in zip(spec.system_object.components, reference, strict=True):
        parts.append((metrics[f"rel_l2_{name}"] * math.sqrt(math.fsum(q * q))) ** 2)
    whole = metrics["rel_l2_u"] ** 2 * math.fsum((reference * reference).ravel())
    if not math.isclose(whole, math.fsum(parts), rel_tol=ROUNDING):
        return "rel_l2_u does not follow from the errors of the components"
    for name, q in zip(spec.system_object.components, reference, strict=True):
        length = metrics[f"rel_l2_{name}"] * math.sqrt(math.fsum(q * q))  # of the error on the grid
        least, most = length / math.sqrt(q.size), length
        if not least * (1 - ROUNDING) <= metrics[f"max_ae_{name}"] <= most * (1 + ROUNDING):
            return f"max_ae_{name} does not go with rel_l2_{name}"
        if metrics["max_ae_u"] * (1 + ROUNDING) < metrics[f"max_ae_{name}"]:
            return f"max_ae_u is below max_ae_{name}"
    if not metrics["residual_mean"] <= metrics["residual_max"] >= metrics["residual_p95"]:
        return "the largest residual is not the largest"
    return ""


def _changes_since_commit(folder: Path, records: Records) -> tuple[list[str], str]:
    """A line for each record that the last commit has with other fields, and what was compared."""
    options = ["--text", "--no-color", "--no-ext-diff", "-U0"]
    try:
        commit = _git(folder, "rev-parse", "--short", "HEAD").strip()
        diff = _git(folder, "diff", *options, "HEAD", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return [], "not compared with a commit: git has none of this folder"
    changes = []
    for line in diff.splitlines(keepends=True):
        committed = decode(line[1:]) if line.startswith("-{") else None
        if committed is None:
            continue
        now = records.get(committed["key"], {})
        names = sorted(name for name in committed if now.get(name) != committed[name])
        if not now:
            changes.append(f"{committed['key']}: in the last commit, and gone now")
        elif names and now["numerics"] == committed["numerics"]:
            changes.append(f"{committed['key']}: not as in the last commit: {', '.join(names)}")
    return changes, f"compared with commit {commit}"


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def _digest(folder: Path) -> str:
    """A hash over all files of a store."""
    digest = hashlib.sha256()
    for path in Store(folder).files():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def save_verification(found: Verification, folder: Path) -> None:
    """Keep that all records of a folder passed, beside it."""
    stamp = {
        "sha256": _digest(folder),
        "recomputed": found.recomputed,
        "without_parameters": found.without_parameters,
    }
    with replacing(folder.parent / STAMP) as temporary:
        temporary.write_text(json.dumps(stamp, indent=1) + "\n")


def verification_note(folder: Path) -> str:
    """Whether the records of a folder are those that passed `verify`, in a sentence."""
    path = folder.parent / STAMP
    stamp = json.loads(path.read_text()) if path.exists() else {}
    if stamp.get("sha256") != _digest(folder):
        return "Records: checksums and fields checked; not verified by ./run_all.sh verify so far."
    return (
        f"Records: all passed ./run_all.sh verify ({stamp['recomputed']:,} recomputed from their"
        f" parameters, {stamp['without_parameters']:,} without parameters checked for consistency)."
    )
