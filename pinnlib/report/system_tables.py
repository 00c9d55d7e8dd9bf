"""The gates in other systems (notebook 09): errors, contrasts and verdicts as tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import contrasts, ratio_texts
from pinnlib.analysis.estimates import median_interval
from pinnlib.metrics import standing_still_metrics
from pinnlib.report.gate_rules import score
from pinnlib.report.system_rules import is_solved, reverses
from pinnlib.runs.record import Records
from pinnlib.runs.table import runs_of
from pinnlib.spec import RunSpec

CASE = ["system", "rate", "loss"]  # one verdict
CELL = [*CASE, "k"]  # one contrast of the gates
RATE_NAMES = {"published": "the published rate", "own": "each gate's own rate"}


def system_runs(specs: Mapping[str, Sequence[RunSpec]], records: Records) -> pd.DataFrame:
    """The runs of all studies of `specs`, with the `rate`: "own" if the study's name says so."""
    parts = []
    for study, part in specs.items():
        rate = "own" if study.endswith("_own") else "published"
        parts.append(runs_of(part, records).assign(rate=rate))
    return pd.concat(parts, ignore_index=True)


def errors_at_rest(stiffnesses: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """One row per system and k: the metrics of standing still."""
    rows = []
    for system, ks in stiffnesses.items():
        for k in ks:
            spec = RunSpec(system=system, k=k)
            row = {"system": system, "k": spec.k}
            row |= standing_still_metrics(spec.system_object, spec.reference.q)
            rows.append(row)
    return pd.DataFrame(rows)


def system_errors(runs: pd.DataFrame, still: pd.DataFrame) -> pd.DataFrame:
    """Per cell and gate: runs that are ok, median errors with interval, and standing still.

    A median is NaN unless all runs are ok.
    """
    metrics = [name for name in still if name.startswith("rel_l2_")]
    runs = runs.reindex(columns=list(dict.fromkeys([*runs, *metrics])))
    ok = runs["status"] == "ok"
    rows = []
    for cell, part in runs.groupby([*CELL, "gate"]):
        row = dict(zip([*CELL, "gate"], cell, strict=True))
        row |= {"lr": part["lr"].iloc[0], "needed": len(part), "ok": int(ok[part.index].sum())}
        errors = part[metrics].where(ok[part.index])
        low, median, high = median_interval(errors["rel_l2_u"])
        row |= {"rel_l2_u": median, "low": low, "high": high}
        for name in metrics[1:]:
            row[name] = errors[name].median(skipna=False)
        rows.append(row)
    at_rest = still[["system", "k", *metrics]]
    at_rest = at_rest.rename(columns={name: f"still_{name}" for name in metrics})
    return pd.DataFrame(rows).merge(at_rest, on=["system", "k"], validate="m:1")


def system_contrasts(runs: pd.DataFrame, errors: pd.DataFrame) -> pd.DataFrame:
    """Linear over exp in every cell, Holm over all, and `solved`: "yes", "no" or "open".

    "open" means that a run is not ok: the cell stays, so that its verdict is open too.
    """
    table = contrasts(runs, [("exp", "linear")], by=CELL)
    medians = errors.pivot(index=CELL, columns="gate", values="rel_l2_u")
    still = errors.groupby(CELL)["still_rel_l2_u"].first()
    solved = is_solved(medians, still).map({True: "yes", False: "no"})
    solved = solved.mask(medians.isna().any(axis=1), "open")
    cells = pd.DataFrame({"solved": solved, "still": still}).reset_index()
    return table.merge(cells, on=CELL, validate="1:1")


def compared_cells(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `system_contrasts` that count: all but the unsolved ones."""
    return table[table["solved"] != "no"]


def widest_gap(table: pd.DataFrame) -> pd.Series | None:
    """The row with the largest gap between the gates at a solved stiffness; None without one."""
    compared = compared_cells(table)
    sizes = np.log(compared["ratio"]).abs().dropna()
    return None if sizes.empty else compared.loc[sizes.idxmax()]


def system_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Per system, rate and loss: answer, solved stiffnesses, wins of either gate, widest gap."""
    rows = []
    for case, part in table.groupby(CASE):
        compared = compared_cells(part)
        row = dict(zip(CASE, case, strict=True))
        row["answer"] = reverses(compared)
        row["solved"] = int((part["solved"] == "yes").sum())
        row["asked"] = len(part)
        row["exp_better"], row["linear_better"] = score(compared)
        widest = widest_gap(part)
        for name in ("k", "ratio", "low", "high", "p_holm"):
            row[name] = np.nan if widest is None else widest[name]
        rows.append(row)
    return pd.DataFrame(rows)


def verdict_overview(verdicts: pd.DataFrame) -> pd.DataFrame:
    """A row per system and loss, a column per rate: the answer and how much is solved."""
    texts = [f"{row.answer} ({row.solved} of {row.asked} solved)" for row in verdicts.itertuples()]
    wide = verdicts.assign(text=texts).pivot(index=["system", "loss"], columns="rate")["text"]
    wide = wide[[rate for rate in RATE_NAMES if rate in wide]]
    return wide.rename(columns=RATE_NAMES).rename_axis(columns=None)


def ratio_overview(table: pd.DataFrame) -> pd.DataFrame:
    """A row per system, loss and rate: ratio with interval at the four stiffnesses, in order.

    A cell that is not solved is in brackets.
    """
    texts = []
    for ratio, solved in zip(ratio_texts(table), table["solved"], strict=True):
        texts.append(f"({ratio})" if solved == "no" else ratio)
    order = table.groupby(CASE)["k"].rank(method="dense").astype(int)
    rows = table.assign(text=texts, place=order.map("k{}".format))
    wide = rows.pivot(index=["system", "loss", "rate"], columns="place", values="text")
    return wide.rename_axis(columns=None)


def rate_overview(errors: pd.DataFrame) -> pd.DataFrame:
    """A row per system and loss, a column per gate: its own rates at the stiffnesses, in order."""
    own = errors[errors["rate"] == "own"].sort_values("k")
    rates = own.groupby(["system", "loss", "gate"])["lr"].agg(
        lambda values: ", ".join(map("{:g}".format, values))
    )
    return rates.unstack("gate").rename_axis(columns=None)


def component_overview(errors: pd.DataFrame, system: str) -> pd.DataFrame:
    """Median errors of each component by loss, k, rate and gate, and of standing still."""
    names = RunSpec(system=system).system_object.components
    columns = [f"rel_l2_{name}" for name in names]
    part = errors[errors["system"] == system]
    wide = part.pivot(index=["loss", "k"], columns=["rate", "gate"], values=columns)
    still = part.groupby(["loss", "k"])[[f"still_{name}" for name in columns]].first()
    still.columns = pd.MultiIndex.from_product([columns, ["standing still"], [""]])
    return pd.concat([wide, still], axis=1).sort_index(axis=1).round(3)
