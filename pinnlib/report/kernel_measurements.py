"""The residual kernel along training (notebook 05), from runs on record or trained here.

A stage is a run after some of its updates.
"""

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import pandas as pd

from pinnlib.analysis import ntk
from pinnlib.analysis.resumable import ResumableTable
from pinnlib.registry import UserError
from pinnlib.report.published import PAPER_GATES
from pinnlib.runs.progress import train_with_progress
from pinnlib.runs.record import Records, result_of
from pinnlib.spec import RunSpec
from pinnlib.training import batches, initial_parameters

Specs = Sequence[RunSpec]
Updates = Collection[int]

RUN = ["model", "gate", "k", "seed"]


def moments(steps: int) -> list[int]:
    """The updates at which kernels are measured: the start, 2, 10, 20 and 100% of `steps`."""
    return [0, *(max(1, round(share * steps)) for share in (0.02, 0.1, 0.2, 1))]


def network_specs(ks: Sequence[float], seeds: int, steps: int) -> list[RunSpec]:
    """The plain networks whose kernels are measured: one seed in ten, at least one."""
    few = range(max(1, seeds // 10))
    return [
        RunSpec(model="baseline", gate=gate, k=k, seed=seed, steps=steps)
        for gate, k, seed in itertools.product(PAPER_GATES, ks, few)
    ]


def parameters_at(spec: RunSpec, update: int, records: Records) -> np.ndarray | None:
    """The parameters of a run after `update` updates; None without a record of a run that long."""
    if update == 0:
        return initial_parameters(spec).numpy()
    shorter = dataclasses.replace(spec, steps=update)
    record = records.get(shorter.key)
    if record is None or record.get("parameters") is None:
        return None
    return result_of(record).parameters


def stages_on_record(
    specs: Specs, updates: Updates, records: Records
) -> Iterator[tuple[dict, RunSpec, np.ndarray]]:
    """(identity in a row, spec, parameters) of every run and update with parameters on record."""
    for spec in specs:
        for update in updates:
            parameters = parameters_at(spec, update, records)
            if parameters is not None:
                yield _row_start(spec, update), spec, parameters


def _row_start(spec: RunSpec, update: int) -> dict:
    """The identity of a run and update in a row."""
    return spec.select(*RUN) | {"update": update}


def concatenate_stages(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The tables of stages as one; without any, an error that says which studies have them."""
    if not frames:
        studies = "--study expanded --study early --study stages"
        raise UserError(f"none of the runs is on record: ./run_all.sh sweep {studies}")
    return pd.concat(frames, ignore_index=True)


def kernels(specs: Specs, updates: Updates, records: Records) -> pd.DataFrame:
    """One row per run and update: the scalars of `ntk.measure`."""
    rows = []
    for row, spec, parameters in stages_on_record(specs, updates, records):
        rows.append(row | ntk.measure(spec, parameters))
    return pd.DataFrame(rows)


def kernel_spectra(specs: Specs, updates: Updates, records: Records) -> pd.DataFrame:
    """One row per run, update and eigenvalue of K, largest first: its `share` of the largest."""
    frames = []
    for row, spec, parameters in stages_on_record(specs, updates, records):
        J = ntk.jacobian(spec, parameters, ntk.GRID)
        values = ntk.eigenvalues(J)
        row["number"] = np.arange(1, len(values) + 1)
        row["share"] = values / values[0]
        frames.append(pd.DataFrame(row))
    return concatenate_stages(frames)


def trained_kernels(
    specs: Specs,
    updates: Updates,
    known: pd.DataFrame | None = None,
    keep: Callable[[pd.DataFrame], object] = lambda table: None,
) -> pd.DataFrame:
    """`kernels` of runs whose parameters are not on record: they are trained here.

    The specs differ in RUN only. Runs that `known`, such a table, has at all updates are left out.
    `keep` is called with the table after every batch, so that an interruption loses little.
    """
    order = [*RUN, "update"]
    table = ResumableTable(RUN, known, lambda rows: keep(rows.sort_values(order)))
    missing = []
    for spec in specs:
        if not table.values_of(spec, "update").issuperset(updates):
            missing.append(spec)
    for batch in batches(missing):
        rows = []
        for result in train_with_progress(batch, updates):
            incomplete = table.rows_of(result.spec).index
            table.frame = table.frame.drop(incomplete)
            for update, parameters in result.snapshots.items():
                row = _row_start(result.spec, update)
                row |= ntk.measure(result.spec, parameters)
                rows.append(row)
        table.add(rows)
    return table.frame.sort_values(order, ignore_index=True)
