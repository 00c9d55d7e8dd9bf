"""Check every record without training: whatever follows from its parameters must follow to the bit.

The store checks a line's checksum, fields, settings and key when it reads it. Here the metrics are
computed again from the parameters and the reference on file. Of a run whose parameters are not
kept, the residuals before the first update are computed again, and relations among its numbers are
checked. What no computation can prove (`made`, `seconds`, the history after the first update) is
compared with the last commit, if git has one.
"""

import math
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from pinnlib.paths import RECORDS
from pinnlib.registry import is_whole, validate
from pinnlib.runs.progress import progress_bar
from pinnlib.runs.provenance import NUMERICS, origin
from pinnlib.runs.record import Record, Records, metrics_of, parameters_of, same_formulas
from pinnlib.runs.store import Store, decode
from pinnlib.spec import RunSpec
from pinnlib.training import evaluate

ROUNDING = 1e-12  # relative, of relations that hold up to rounding


@dataclass
class Verification:
    """How many records passed, by what could be checked, and one line per failure."""

    recomputed: int = 0  # metrics equal, to the bit, those of the parameters
    without_parameters: int = 0  # networks and diverged runs: relations among the numbers only
    failed_runs: int = 0  # runs that raised an error: there is nothing to check
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = (
            f"{self.recomputed} records verified from their parameters, "
            f"{self.without_parameters} without parameters checked for consistency"
        )
        if self.failed_runs:
            counts += f", {self.failed_runs} records of runs that raised an error"
        return "\n".join([*self.failures, f"{counts}, {len(self.failures)} failures"])


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
    found.failures += _changes_since_commit(Path(folder), records)
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
    made = record["made"]
    if made.keys() != origin().keys() or not all(isinstance(text, str) for text in made.values()):
        return f"made must hold a text for each of {', '.join(origin())}"
    spec = RunSpec(**record["spec"])
    last = record["history"]["update"][-1]
    if not spec.steps <= last <= spec.steps + spec.lbfgs:
        return f"history ends at update {last}, not {spec.steps}"
    if record["parameters"] is None:
        return _inconsistency(spec, record)
    try:
        parameters = parameters_of(record)
    except ValueError as error:
        return str(error)
    size = spec.trunk.size(len(spec.system_object.components))
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
        return f"diverged, yet with {', '.join(finite)}" if finite else ""
    if not all(map(math.isfinite, metrics.values())):
        return "ok, yet with metrics that are not finite"
    reference = spec.reference.q
    parts = []
    for name, q in zip(spec.system_object.components, reference, strict=True):
        parts.append((metrics[f"rel_l2_{name}"] * math.sqrt(math.fsum(q * q))) ** 2)
    whole = metrics["rel_l2_u"] ** 2 * math.fsum((reference * reference).ravel())
    if not math.isclose(whole, math.fsum(parts), rel_tol=ROUNDING):
        return "rel_l2_u does not follow from the errors of the components"
    if not metrics["residual_mean"] <= metrics["residual_max"] >= metrics["residual_p95"]:
        return "the largest residual is not the largest"
    return ""


def _changes_since_commit(folder: Path, records: Records) -> list[str]:
    """A line for each record that the last commit has with other fields; none without git."""
    command = ["git", "diff", "--text", "--no-color", "--no-ext-diff", "-U0", "HEAD", "--", "."]
    try:
        diff = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
    except OSError:  # no git
        return []
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
    return changes
