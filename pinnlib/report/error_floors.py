"""The errors that the ansatz could represent (notebook 05): the floor of every run.

It is the error with the head that fits the reference best, at the frequencies of the run.
"""

import dataclasses

import numpy as np
import pandas as pd
import torch

from pinnlib.analysis import ntk
from pinnlib.ansatz import to_latent
from pinnlib.report.kernel_measurements import Specs, stages_on_record
from pinnlib.report.standing_still import ANGLE
from pinnlib.runs.record import Records
from pinnlib.spec import RunSpec
from pinnlib.training import evaluate, initial_parameters


def best_head(spec: RunSpec, parameters: np.ndarray) -> np.ndarray:
    """The parameters with the head of a Fourier trunk replaced by the one that fits the reference.

    The fit is least squares in the latent variables, without directions below single precision.
    """
    trunk = spec.trunk
    system = spec.system_object
    theta = torch.as_tensor(parameters).double()
    times = torch.tensor(spec.reference.t[::4])[None]
    features = 2 * len(trunk.initial_frequencies)
    unit = torch.eye(features + 1, dtype=torch.double)[None]
    blocks = trunk.blocks(theta[None], len(system.components))
    blocks["weight"] = unit[:, :, :features]  # an output per feature,
    blocks["bias"] = unit[:, -1]  # and a constant one
    outputs = trunk.jet(blocks, times)
    ansatz = spec.ansatz()
    factor, gate = ansatz.factor_and_gate(times)
    offset = ansatz.latent_start[0] + ansatz.drift[0] * gate.value
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

    `floor_start` has the frequencies at the start, the columns `…_learned` have those at the end;
    the columns `…_theta` are errors of the angle, the others of the state.
    """
    rows = []
    at_start = {}  # all seeds of a problem start with the same frequencies
    steps = {spec.steps for spec in specs}
    for row, spec, parameters in stages_on_record(specs, steps, records):
        problem = dataclasses.replace(spec, seed=0)
        if problem not in at_start:
            initial = initial_parameters(spec).numpy()
            at_start[problem] = evaluate(spec, best_head(spec, initial))
        reached = records[spec.key]["metrics"]
        best = evaluate(spec, best_head(spec, parameters))
        stages = {"reached": reached, "floor_start": at_start[problem], "floor_learned": best}
        for name, errors in stages.items():
            row[name] = errors["rel_l2_u"]
            row[f"{name}_theta"] = errors[ANGLE]
        row["residual_reached"] = reached["residual_mean"]
        row["residual_learned"] = best["residual_mean"]
        rows.append(row)
    return pd.DataFrame(rows)


def floor_numbers(floors: pd.DataFrame) -> dict[str, float | str]:
    """The numbers that paper and notebook quote of a table of `floors`."""
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
