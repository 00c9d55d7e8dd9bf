"""What the kernel says about the gates: measured along training, set against the winners, and beside what the ansatz could represent."""

import dataclasses

import numpy as np
import pandas as pd
import torch

from pinnlib.analysis import ntk
from pinnlib.analysis.association import auc, permutation_p, rank_correlation
from pinnlib.analysis.paired import LEVEL
from pinnlib.metrics import state_error
from pinnlib.models import to_latent
from pinnlib.registry import validate
from pinnlib.runs.record import result_of
from pinnlib.training import batches, evaluate, initial_parameters, predict, train

RUN = ["model", "gate", "k", "seed"]
QUANTITIES = (
    [  # of the kernel, each also under the weights of the balanced loss; larger or smaller may be better, so both directions count
        f"{weights}{name}"
        for weights in ("", "balanced_")
        for name in ("trace", "rank", "condition", "effective_rank", "late_over_early", "alignment")
    ]
    + ["share_raw"]
)


def parameters_at(spec, update, records):
    """The parameters of a run after so many updates: drawn (0), or from the record of the run that stops there; None if there is none."""
    if update == 0:
        return initial_parameters(spec).numpy()
    record = records.get(dataclasses.replace(spec, steps=update).key)
    return (
        None if record is None or record.get("parameters") is None else result_of(record).parameters
    )


def _stages(specs, updates, records):
    """(told, spec, parameters) of every run and update for which there are parameters."""
    for spec in specs:
        for update in updates:
            parameters = parameters_at(spec, update, records)
            if parameters is not None:
                yield (
                    {name: getattr(spec, name) for name in RUN} | {"update": update},
                    spec,
                    parameters,
                )


def _joined(rows):
    validate(
        "records",
        "no run of them",
        rows,
        "there for notebook 05: ./run_all.sh sweep --study expanded --study early --study stages",
    )
    return pd.concat(rows, ignore_index=True)


def kernels(specs, updates, records):
    """One row per run and update: the scalars of `ntk.measure`."""
    return pd.DataFrame(
        [
            told | ntk.measure(spec, parameters)
            for told, spec, parameters in _stages(specs, updates, records)
        ]
    )


def trained_kernels(specs, updates, known=None, keep=lambda table: None):
    """The same for runs whose parameters are not kept on record: they are trained here, but for those that `known`, such a table, has at all updates.

    The specs differ in RUN only. `keep` is given the table after every batch, so that nothing is lost on the way.
    """
    table = pd.DataFrame(columns=[*RUN, "update"]) if known is None else known
    done = {run for run, part in table.groupby(RUN) if set(updates) <= set(part["update"])}
    told = {spec: {name: getattr(spec, name) for name in RUN} for spec in specs}
    for batch in batches(spec for spec in specs if tuple(told[spec].values()) not in done):
        rows = [
            told[result.spec] | {"update": u} | ntk.measure(result.spec, theta)
            for result in train(batch, snapshots=updates)
            for u, theta in result.snapshots.items()
        ]
        table = (
            pd.DataFrame(rows)
            if table.empty
            else pd.concat([table, pd.DataFrame(rows)], ignore_index=True)
        )
        table = table.drop_duplicates([*RUN, "update"], keep="last").sort_values(
            [*RUN, "update"], ignore_index=True
        )
        keep(table)
    return table


def gate_of(spec, times=ntk.GRID):
    """g(t)."""
    return spec.gate_object.jet(torch.from_numpy(times)).value.numpy()


def envelope(spec, times=ntk.GRID):
    """c·√Σᵢ((g'' − ωᵢ²g)² + (2ωᵢg')²): the norm over the head of the second derivatives of g sin ωt and g cos ωt, the leading part of J_R.

    c² sums the squares of dr/dρ = σ(ρ₀) and dθ/dθ = 1.
    """
    g, slope, bend = (
        order.numpy()[:, None] for order in spec.gate_object.jet(torch.from_numpy(times))
    )
    slopes = [
        torch.sigmoid(start).item() if positive else 1
        for start, positive in zip(spec.ansatz().start.flatten(), spec.system_object.positive)
    ]
    omega = spec.trunk.start
    return np.linalg.norm(slopes) * np.sqrt(
        ((bend - omega**2 * g) ** 2 + (2 * omega * slope) ** 2).sum(axis=1)
    )


def profiles(specs, updates, records, times=ntk.GRID):
    """One row per run, update and time: ‖J_R(t)‖ of all parameters, and of `head` and `frequencies` alone."""
    rows = []
    for told, spec, parameters in _stages(specs, updates, records):
        J = ntk.jacobian(spec, parameters, times)
        head = len(parameters) - (len(spec.trunk.start) if spec.trunk.trainable else 0)
        parts = {"all": J, "head": J[:, :, :head], "frequencies": J[:, :, head:]}
        rows.append(
            pd.DataFrame(
                told | {"t": times} | {name: ntk.profile(part) for name, part in parts.items()}
            )
        )
    return _joined(rows)


def kernel_spectra(specs, updates, records, times=ntk.GRID):
    """One row per run, update and eigenvalue of K, largest first: its share of the largest."""
    rows = []
    for told, spec, parameters in _stages(specs, updates, records):
        values = ntk.eigenvalues(ntk.jacobian(spec, parameters, times))
        rows.append(
            pd.DataFrame(
                told | {"number": np.arange(1, len(values) + 1), "share": values / values[0]}
            )
        )
    return _joined(rows)


def in_time(specs, updates, records, windows=4):
    """One row per run, update and window of the horizon: root mean square of the error of the state and of the residual in it."""
    rows = []
    for told, spec, parameters in _stages(specs, updates, records):
        ref, names = spec.reference, list(spec.system_object.components)
        table = predict(spec, parameters, ref.t[::10])
        error = state_error(spec.system_object, table[names].to_numpy().T, ref.q[:, ::10])
        sizes = {
            "error": error,
            "residual": table[[f"residual_{name}" for name in names]].to_numpy().T,
        }
        parts = {
            name: [
                np.sqrt(np.square(part).sum(axis=0).mean())
                for part in np.array_split(x, windows, axis=1)
            ]
            for name, x in sizes.items()
        }
        ends = np.linspace(0, spec.horizon, windows + 1)
        rows.append(
            pd.DataFrame(
                told | {"window": [f"{a:g}–{b:g}" for a, b in zip(ends, ends[1:])]} | parts
            )
        )
    return _joined(rows)


def early_first(timed):
    """Of `in_time` with two windows, per gate and update: the runs in which the early one has the smaller share of its first residual left."""
    halves = timed.pivot(index=["gate", "k", "seed", "update"], columns="window", values="residual")
    left = (
        halves / halves.xs(0, level="update").reindex(halves.index.droplevel("update")).to_numpy()
    )
    ahead = (
        (left.iloc[:, 0] < left.iloc[:, 1])
        .drop(0, level="update")
        .groupby(["gate", "update"])
        .agg(["sum", "size"])
    )
    return ahead.set_axis(["early half ahead", "of"], axis=1)


def late_first(measured):
    """Per gate: the runs in which the kernel makes the late half's residual fall faster, and the smallest, median and largest ratio of the rates."""
    rates = measured.groupby("gate")[["rate_late_over_early", "balanced_rate_late_over_early"]]
    ahead = rates.agg(lambda ratio: (ratio > 1).sum()).assign(of=rates.size())
    ends = {
        f"ratio of rates, {name}": rates.agg(how)
        for name, how in (("smallest", "min"), ("median", "median"), ("largest", "max"))
    }
    return pd.concat({"late half predicted ahead": ahead} | ends, axis=1)


def best_head(spec, parameters):
    """The parameters with the head of a Fourier trunk replaced by that which fits the reference best: least squares in the latent variables."""
    ref, n = spec.reference, 2 * len(spec.trunk.start)
    t, blocks = (
        torch.tensor(ref.t[::4])[None],
        spec.trunk.blocks(
            torch.as_tensor(parameters).double()[None], len(spec.system_object.components)
        ),
    )
    unit = {
        "weight": torch.eye(n + 1, n).double()[None],
        "bias": torch.eye(n + 1).double()[None, -1],
    }  # one component per feature
    factor, added = (part.value[0] for part in spec.ansatz().frame(t))
    basis = (factor * spec.trunk.jet(blocks | unit, t).value[0]).T
    wanted = torch.tensor(to_latent(spec.system_object, ref.q[:, ::4])) - added
    head = torch.linalg.lstsq(
        basis, wanted.T, rcond=ntk.SINGLE, driver="gelsd"
    ).solution  # no weights that single precision could not hold
    rest = np.asarray(parameters, dtype=float)[head.numel() :]
    return np.concatenate([head[:n].T.flatten().numpy(), head[n].numpy(), rest])


def floors(specs, records):
    """One row per run: the error that training reached, that of the best head with the frequencies at the start and at the end, residuals."""
    rows, at_start = [], {}  # the frequencies at the start are those of every seed
    for told, spec, parameters in _stages(specs, {spec.steps for spec in specs}, records):
        problem = dataclasses.replace(spec, seed=0)
        if problem not in at_start:
            at_start[problem] = _floor(spec, initial_parameters(spec).numpy())
        reached, best = records[spec.key]["metrics"], _floor(spec, parameters)
        errors = {
            "reached": reached["rel_l2_u"],
            "floor_start": at_start[problem]["rel_l2_u"],
            "floor_learned": best["rel_l2_u"],
        }
        rows.append(
            told
            | errors
            | {
                "residual_reached": reached["residual_mean"],
                "residual_learned": best["residual_mean"],
            }
        )
    return pd.DataFrame(rows)


def _floor(spec, parameters):
    return evaluate(spec, best_head(spec, parameters))


def predictors(measured, pairs, updates, level=LEVEL):
    """Does log(linear/exp) of a quantity after some updates tell in which (k, seed) the exponential gate wins in the end?

    `measured` as from `kernels`, `pairs` as from `stats.paired`. AUC and rank correlation with log(error linear/error exp), over all pairs and
    within k; intervals at a level shared by all quantities and updates (Bonferroni); `p_within_k` is not corrected.
    """
    rows, asked = [], level / (len(QUANTITIES) * len(updates))
    for update in updates:
        now = measured[measured["update"] == update].set_index(["k", "seed"])
        ratio = np.log(
            now.loc[now["gate"] == "linear", QUANTITIES] / now.loc[now["gate"] == "exp", QUANTITIES]
        )
        both = pairs.set_index(["k", "seed"])[["log_ratio"]].join(ratio, how="inner").dropna()
        y, (k, seed) = (
            both["log_ratio"],
            (both.index.get_level_values(name) for name in ("k", "seed")),
        )
        for quantity in QUANTITIES:
            x, row = both[quantity], {"update": update, "quantity": quantity, "n": len(both)}
            for scope, group in (("all", np.zeros(len(both))), ("within_k", k)):
                row |= dict(
                    zip(
                        (f"auc_{scope}", f"low_{scope}", f"high_{scope}"),
                        auc(x, y > 0, seed, group, asked),
                    )
                )
                row |= dict(
                    zip(
                        (f"rho_{scope}", f"rho_low_{scope}", f"rho_high_{scope}"),
                        rank_correlation(x, y, seed, group, asked),
                    )
                )
            rows.append(row | {"p_within_k": permutation_p(x, y, k)})
    return pd.DataFrame(rows)


def verdict(found, strong=0.75):
    """The rule of notebook 05: "yes", "no" or "unclear", and the rows that decide it; "open" if there is nothing to compare."""
    if found[["auc_all", "auc_within_k"]].isna().any(axis=None):
        return "open", found[:0]
    known = {
        scope: np.where(
            found[f"low_{scope}"] > 0.5, 1, np.where(found[f"high_{scope}"] < 0.5, -1, 0)
        )
        for scope in ("all", "within_k")
    }
    clear = (known["all"] != 0) & ((found["auc_all"] - 0.5).abs() >= strong - 0.5)
    same = clear & (known["all"] == known["within_k"])
    answer = "yes" if same.any() else "unclear" if clear.any() or known["within_k"].any() else "no"
    return answer, found[same if same.any() else clear | (known["within_k"] != 0)]
