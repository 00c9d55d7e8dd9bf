"""The norm of the residual Jacobian along the horizon (notebook 05), and its closed forms."""

import numpy as np
import pandas as pd
import torch

from pinnlib.analysis import ntk
from pinnlib.report.kernel_measurements import (
    Specs,
    Updates,
    concatenate_stages,
    stages_on_record,
)
from pinnlib.runs.record import Records
from pinnlib.spec import RunSpec


def profiles(specs: Specs, updates: Updates, records: Records) -> pd.DataFrame:
    """One row per run, update and time: ‖J_R(t)‖ over all parameters, the head, the frequencies."""
    frames = []
    for row, spec, parameters in stages_on_record(specs, updates, records):
        J = ntk.jacobian(spec, parameters, ntk.GRID)
        head = len(parameters)
        if spec.trunk.trainable:
            head -= len(spec.trunk.initial_frequencies)
        row["t"] = ntk.GRID
        row["all"] = ntk.profile(J)
        row["head"] = ntk.profile(J[:, :, :head])
        row["frequencies"] = ntk.profile(J[:, :, head:])
        frames.append(pd.DataFrame(row))
    return concatenate_stages(frames)


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


def envelope(spec: RunSpec, times: np.ndarray) -> np.ndarray:
    """c·√Σᵢ((g'' − ωᵢ²g)² + (2ωᵢg')²), the leading part of the norm of J_R over the head's weights.

    The sum is over the second derivatives of g sin ωᵢt and g cos ωᵢt; c² sums the squares of
    dr/dρ = σ(ρ₀) and dθ/dθ = 1.
    """
    jet = spec.gate_object.jet(torch.from_numpy(times[:, None]))
    g, slope, bend = (order.numpy() for order in jet)  # (times, 1)
    start = spec.ansatz().latent_start.flatten()
    slopes = torch.ones_like(start)
    positive = list(spec.system_object.positive)
    slopes[positive] = torch.sigmoid(start[positive])
    omega = spec.trunk.initial_frequencies
    first = bend - omega**2 * g
    second = 2 * omega * slope
    squares = first**2 + second**2
    norm = np.sqrt(squares.sum(axis=1))
    return slopes.norm().item() * norm


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
