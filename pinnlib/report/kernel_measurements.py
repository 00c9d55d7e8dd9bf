"""Measurements of notebook 05: the residual kernel along training, its association with the winning
gate, and the errors that the ansatz could represent."""

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import pandas as pd
import torch

from pinnlib.analysis import ntk
from pinnlib.analysis.association import auc, permutation_p, rank_correlation
from pinnlib.analysis.paired import LEVEL
from pinnlib.analysis.resumable import ResumableTable
from pinnlib.ansatz import to_latent
from pinnlib.metrics import state_error
from pinnlib.registry import UserError
from pinnlib.runs.progress import train_with_progress
from pinnlib.runs.record import Records, result_of
from pinnlib.spec import RunSpec
from pinnlib.training import batches, evaluate, initial_parameters, predict

Specs = Sequence[RunSpec]
Updates = Collection[int]

RUN = ["model", "gate", "k", "seed"]
_SCALARS = ["trace", "rank", "condition", "effective_rank", "late_over_early", "alignment"]
QUANTITIES = [*_SCALARS, *(f"balanced_{name}" for name in _SCALARS), "share_raw"]
STRONG = 0.25  # distance of an AUC from 0.5 that the rule of notebook 05 asks for


def parameters_at(spec: RunSpec, update: int, records: Records) -> np.ndarray | None:
    """The parameters of a run after `update` updates; None without a record of a run that long."""
    if update == 0:
        return initial_parameters(spec).numpy()
    shorter = dataclasses.replace(spec, steps=update)
    record = records.get(shorter.key)
    if record is None or record.get("parameters") is None:
        return None
    return result_of(record).parameters


def _stages(
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


def _concatenate(frames: list[pd.DataFrame]) -> pd.DataFrame:
    if not frames:
        studies = "--study expanded --study early --study stages"
        raise UserError(f"none of the runs is on record: ./run_all.sh sweep {studies}")
    return pd.concat(frames, ignore_index=True)


def kernels(specs: Specs, updates: Updates, records: Records) -> pd.DataFrame:
    """One row per run and update: the scalars of `ntk.measure`."""
    rows = []
    for row, spec, parameters in _stages(specs, updates, records):
        rows.append(row | ntk.measure(spec, parameters))
    return pd.DataFrame(rows)


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


def envelope(spec: RunSpec, times: np.ndarray) -> np.ndarray:
    """c·√Σᵢ((g'' − ωᵢ²g)² + (2ωᵢg')²), the leading part of the norm of J_R over the head's weights.

    The sum is over the second derivatives of g sin ωᵢt and g cos ωᵢt; c² sums the squares of
    dr/dρ = σ(ρ₀) and dθ/dθ = 1.
    """
    jet = spec.gate_object.jet(torch.from_numpy(times[:, None]))
    g, slope, bend = (order.numpy() for order in jet)  # (times, 1)
    start = spec.ansatz().start.flatten()
    slopes = torch.ones_like(start)
    positive = list(spec.system_object.positive)
    slopes[positive] = torch.sigmoid(start[positive])
    omega = spec.trunk.start
    first = bend - omega**2 * g
    second = 2 * omega * slope
    squares = first**2 + second**2
    norm = np.sqrt(squares.sum(axis=1))
    return slopes.norm().item() * norm


def profiles(specs: Specs, updates: Updates, records: Records) -> pd.DataFrame:
    """One row per run, update and time: ‖J_R(t)‖ over all parameters, the head, the frequencies."""
    frames = []
    for row, spec, parameters in _stages(specs, updates, records):
        J = ntk.jacobian(spec, parameters, ntk.GRID)
        head = len(parameters)
        if spec.trunk.trainable:
            head -= len(spec.trunk.start)
        row["t"] = ntk.GRID
        row["all"] = ntk.profile(J)
        row["head"] = ntk.profile(J[:, :, :head])
        row["frequencies"] = ntk.profile(J[:, :, head:])
        frames.append(pd.DataFrame(row))
    return _concatenate(frames)


def growth(profile: pd.DataFrame) -> pd.DataFrame:
    """Per gate, k and update: the mean norm of J_R in the last fifth of the horizon over that in
    the second fifth, for all parameters, the head and the frequencies."""
    t = profile["t"]
    fifth = np.ceil(5 * t / t.max())
    cells = ["gate", "k", "update"]
    norms = profile[[*cells, "all", "head", "frequencies"]]
    late = norms[fifth == 5]
    early = norms[fifth == 2]
    return late.groupby(cells).mean() / early.groupby(cells).mean()


def closed_forms(profile: pd.DataFrame, k: float) -> pd.DataFrame:
    """Per gate and time, at one k and the start: median norms of `head` and `frequencies`, and
    their closed forms (`…_closed`).

    These are `envelope` for the head, and t·g(t), scaled to the last time, for the frequencies.
    """
    start = profile.query("update == 0 and k == @k")
    norms = start.groupby(["gate", "t"])[["head", "frequencies"]].median()
    forms = []
    for gate, part in norms.groupby("gate"):
        spec = RunSpec(gate=gate, k=k)
        times = np.array(part.index.get_level_values("t"))
        g = spec.gate_object.jet(torch.from_numpy(times)).value
        shape = times * g.numpy()
        scale = part["frequencies"].iloc[-1] / shape[-1]
        form = part.assign(
            head_closed=envelope(spec, times),
            frequencies_closed=scale * shape,
        )
        forms.append(form)
    return pd.concat(forms)


def closed_form_errors(closed: pd.DataFrame) -> dict[str, str]:
    """Gate → median relative difference of the head's norm from its closed form, in per cent."""
    difference = closed["head"] / closed["head_closed"] - 1
    off = difference.abs().groupby("gate").median()
    return off.map("{:.0%}".format).to_dict()


def kernel_spectra(specs: Specs, updates: Updates, records: Records) -> pd.DataFrame:
    """One row per run, update and eigenvalue of K, largest first: its `share` of the largest."""
    frames = []
    for row, spec, parameters in _stages(specs, updates, records):
        J = ntk.jacobian(spec, parameters, ntk.GRID)
        values = ntk.eigenvalues(J)
        row["number"] = np.arange(1, len(values) + 1)
        row["share"] = values / values[0]
        frames.append(pd.DataFrame(row))
    return _concatenate(frames)


def in_time(specs: Specs, updates: Updates, records: Records, windows: int = 4) -> pd.DataFrame:
    """One row per run, update and window of the horizon: RMS of the state's error and residual."""
    frames = []
    for row, spec, parameters in _stages(specs, updates, records):
        system = spec.system_object
        reference = spec.reference
        names = list(system.components)
        state = predict(spec, parameters, reference.t[::10])
        error = state_error(system, state[names].to_numpy().T, reference.q[:, ::10])
        residual = state[[f"residual_{name}" for name in names]]
        ends = np.linspace(0, spec.horizon, windows + 1)
        pairs = itertools.pairwise(ends)
        row["window"] = [f"{start:g}–{end:g}" for start, end in pairs]
        row["error"] = _window_rms(error, windows)
        row["residual"] = _window_rms(residual.to_numpy().T, windows)
        frames.append(pd.DataFrame(row))
    return _concatenate(frames)


def _window_rms(values: np.ndarray, windows: int) -> list[float]:
    """Root mean square over time of the norm of `values` (components, times), window by window."""
    squares = np.square(values).sum(axis=0)
    sizes = []
    for part in np.array_split(squares, windows):
        sizes.append(np.sqrt(part.mean()))
    return sizes


def early_first(timed: pd.DataFrame) -> pd.DataFrame:
    """Per gate and update: in how many runs the early half has less of its first residual left.

    `timed` is a table of `in_time` with two windows.
    """
    run = ["gate", "k", "seed"]
    halves = timed.pivot(
        index=[*run, "update"],
        columns="window",
        values="residual",
    )
    first = halves.groupby(run).transform("first")  # update 0 comes first
    left = halves / first
    early, late = left.columns
    ahead = left[early] < left[late]
    later = ahead.drop(0, level="update")
    by_moment = later.groupby(["gate", "update"])
    columns = {"early half ahead": by_moment.sum(), "of": by_moment.size()}
    return pd.DataFrame(columns)


def late_first(measured: pd.DataFrame) -> pd.DataFrame:
    """Per gate: in how many runs the kernel makes the late half's residual fall faster.

    Beside it the smallest, median and largest ratio of the rates.
    """
    names = ["rate_late_over_early", "balanced_rate_late_over_early"]
    gates = measured["gate"]
    rates = measured[names].groupby(gates)
    ahead = (measured[names] > 1).groupby(gates).sum()
    columns = {
        "late half predicted ahead": ahead.assign(of=rates.size()),
        "ratio of rates, smallest": rates.min(),
        "ratio of rates, median": rates.median(),
        "ratio of rates, largest": rates.max(),
    }
    return pd.concat(columns, axis=1)


def best_head(spec: RunSpec, parameters: np.ndarray) -> np.ndarray:
    """The parameters with the head of a Fourier trunk replaced by the one that fits the reference.

    The fit is least squares in the latent variables, without directions below single precision.
    """
    trunk = spec.trunk
    system = spec.system_object
    theta = torch.as_tensor(parameters).double()
    times = torch.tensor(spec.reference.t[::4])[None]
    features = 2 * len(trunk.start)
    unit = torch.eye(features + 1, dtype=torch.double)[None]
    blocks = trunk.blocks(theta[None], len(system.components))
    blocks["weight"] = unit[:, :, :features]  # an output per feature,
    blocks["bias"] = unit[:, -1]  # and a constant one
    outputs = trunk.jet(blocks, times)
    ansatz = spec.ansatz()
    factor, gate = ansatz.frame(times)
    offset = ansatz.start[0] + ansatz.drift[0] * gate.value
    basis = factor.value * outputs.value[0]  # (features + 1, times)
    latent = to_latent(system, spec.reference.q[:, ::4])
    target = torch.tensor(latent) - offset
    fit = torch.linalg.lstsq(
        basis.T,
        target.T,
        rcond=ntk.SINGLE,
        driver="gelsd",
    )
    head = fit.solution  # (features + 1, components)
    weight = head[:features].T.flatten()
    rest = theta[head.numel() :]
    return torch.cat([weight, head[features], rest]).numpy()


def floors(specs: Specs, records: Records) -> pd.DataFrame:
    """One row per run: its error and residual, and those of the best head.

    `floor_start` has the frequencies at the start, the columns `…_learned` have those at the end.
    """
    rows = []
    at_start = {}  # all seeds of a problem start with the same frequencies
    steps = {spec.steps for spec in specs}
    for row, spec, parameters in _stages(specs, steps, records):
        problem = dataclasses.replace(spec, seed=0)
        if problem not in at_start:
            initial = initial_parameters(spec).numpy()
            found = evaluate(spec, best_head(spec, initial))
            at_start[problem] = found["rel_l2_u"]
        reached = records[spec.key]["metrics"]
        best = evaluate(spec, best_head(spec, parameters))
        row["reached"] = reached["rel_l2_u"]
        row["floor_start"] = at_start[problem]
        row["floor_learned"] = best["rel_l2_u"]
        row["residual_reached"] = reached["residual_mean"]
        row["residual_learned"] = best["residual_mean"]
        rows.append(row)
    return pd.DataFrame(rows)


def floor_numbers(floors: pd.DataFrame) -> dict[str, float | str]:
    """The numbers that the paper quotes of a table of `floors`."""
    share = floors["floor_learned"] / floors["reached"]
    both = floors[["floor_start", "floor_learned"]]
    by_gate = floors.set_index(["gate", "k", "seed"])[["reached", "floor_learned"]]
    exp, linear = by_gate.loc["exp"].align(by_gate.loc["linear"])
    exp_lower = exp < linear
    agrees = exp_lower["floor_learned"] == exp_lower["reached"]
    preferred = floors["residual_learned"] < floors["residual_reached"]
    return {
        "floor_over_reached": f"{100 * share.median():.1f}%",
        "floor_largest": both.max().max(),
        "reached_smallest": floors["reached"].min(),
        "floor_agrees": f"{agrees.sum()} of {len(agrees)}",
        "floor_preferred": f"{preferred.sum()} of {len(floors)}",
    }


def predictors(measured: pd.DataFrame, pairs: pd.DataFrame, updates: Updates) -> pd.DataFrame:
    """Does log(linear/exp) of a quantity predict in which (k, seed) the exponential gate wins?

    `measured` is a table of `kernels`, `pairs` one of `paired.pair_runs`. AUC, and rank correlation
    with log(error linear/error exp), over all pairs and within k; their intervals share one level
    over all quantities and updates (Bonferroni), `p_within_k` is not corrected.
    """
    level = LEVEL / (len(QUANTITIES) * len(updates))
    outcome = pairs.set_index(["k", "seed"])[["log_ratio"]]
    rows = []
    by_update = measured.set_index(["update", "gate", "k", "seed"])[QUANTITIES]
    for update in updates:
        now = by_update.loc[update]
        ratios = np.log(now.loc["linear"] / now.loc["exp"])
        both = outcome.join(ratios, how="inner").dropna()
        for quantity in QUANTITIES:
            row = {"update": update, "quantity": quantity}
            row["n"] = len(both)
            row |= _association(both[quantity], both["log_ratio"], level)
            rows.append(row)
    return pd.DataFrame(rows)


def _association(x: pd.Series, outcome: pd.Series, level: float) -> dict[str, float]:
    """AUC and rank correlation of two series by (k, seed), over all pairs and within k."""
    k = x.index.get_level_values("k")
    seed = x.index.get_level_values("seed")
    groups = {"all": np.zeros(len(x)), "within_k": k}
    row = {}
    for scope, group in groups.items():
        area, low, high = auc(x, outcome > 0, seed, group, level)
        row[f"auc_{scope}"] = area
        row[f"low_{scope}"] = low
        row[f"high_{scope}"] = high
        rho, low, high = rank_correlation(x, outcome, seed, group, level)
        row[f"rho_{scope}"] = rho
        row[f"rho_low_{scope}"] = low
        row[f"rho_high_{scope}"] = high
    row["p_within_k"] = permutation_p(x, outcome, k)
    return row


def clear_sides(found: pd.DataFrame, scope: str) -> pd.Series:
    """1 where the interval of the AUC lies above 0.5, −1 where it lies below, else 0."""
    above = found[f"low_{scope}"] > 0.5
    below = found[f"high_{scope}"] < 0.5
    return above.astype(int) - below.astype(int)


def verdict(found: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The rule of notebook 05: "yes", "no" or "unclear", and the rows of `predictors` behind it.

    "open" if there is nothing to compare.
    """
    if found[["auc_all", "auc_within_k"]].isna().any(axis=None):
        return "open", found[:0]
    over_all = clear_sides(found, "all")
    within = clear_sides(found, "within_k")
    distance = (found["auc_all"] - 0.5).abs()
    strong = (over_all != 0) & (distance >= STRONG)
    confirmed = strong & (over_all == within)
    if confirmed.any():
        return "yes", found[confirmed]
    partial = strong | (within != 0)
    answer = "unclear" if partial.any() else "no"
    return answer, found[partial]


def verdict_numbers(found: pd.DataFrame) -> dict[str, int | str]:
    """The numbers that the paper and the claims quote of `verdict`."""
    answer, deciding = verdict(found)
    in_time = deciding["quantity"].str.endswith("late_over_early")
    clear = clear_sides(found, "all") != 0
    clear_within_k = clear_sides(found, "within_k") != 0
    return {
        "kernel_predicts": answer,
        "kernel_asked": len(found),
        "kernel_strong": len(deciding),
        "kernel_strong_in_time": in_time.sum(),
        "kernel_clear": clear.sum(),
        "kernel_clear_within_k": clear_within_k.sum(),
    }


def notable_rows(found: pd.DataFrame) -> pd.DataFrame:
    """The row with the AUC over all pairs farthest from 0.5 (`best`) and the one with the smallest
    p within k (`within`); `p_corrected` is that p times the number of rows."""
    distance = (found["auc_all"] - 0.5).abs()
    farthest = distance.fillna(-1).idxmax()
    clearest = found["p_within_k"].fillna(1).idxmin()
    rows = found.loc[[farthest, clearest]].set_axis(["best", "within"])
    names = rows["quantity"].replace("share_raw", "share of the frequencies in the trace")
    rows["quantity"] = names.str.replace("_", " ")
    corrected = rows["p_within_k"] * len(found)
    rows["p_corrected"] = corrected.clip(upper=1.0)
    return rows
