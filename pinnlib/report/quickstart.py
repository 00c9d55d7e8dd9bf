"""What a gate does, in the words of two trained runs (notebook 00)."""

import torch

from pinnlib.training import Result


def quickstart_answer(first: Result, second: Result) -> str:
    """What a gated network is and what its gate does, for two runs that differ in the gate."""
    horizon = first.spec.horizon
    values, errors, angles = [], [], []
    for run in (first, second):
        gate = f"`{run.spec.gate}`"
        end = run.spec.gate_object.jet(torch.tensor([horizon])).value.item()
        values.append(f"{end:.2g} under {gate}")
        errors.append(f"{run.metrics['rel_l2_u']:.2f} under {gate}")
        angles.append(f"{run.metrics['rel_l2_theta']:.2f}")
    return (
        "A gated network is a trainable function of time that is multiplied by a gate $g(t)$ with "
        "$g(0)=0$ and added to the initial position. So it starts exactly where the motion starts, "
        "trained or not. The gate also scales, in time, the network and every step of its "
        f"training: at $t$ = {horizon:g} s the factor is {' and '.join(values)}. "
        f"Trained for {first.spec.steps:,} updates from the same random numbers, the two networks "
        f"have a relative error of {' and '.join(errors)} "
        f"(in the angle alone {' and '.join(angles)}). "
        "One seed does not decide which gate is better."
    )
