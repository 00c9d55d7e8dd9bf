"""Tables of runs with errors by hand, for the tests of the statistics."""

import numpy as np
import pandas as pd

BOTH_K = (20, 60)  # the stiffnesses of `both_k`
NOT_OK = ["missing", "diverged", "failed"]
SETTING = {
    "lambda_ic": 50.0,
    "loss": "balanced",
    "model": "adaptive",
    "k": 20.0,
    "status": "ok",
}


def runs(exp, linear, **columns):
    """A table of runs as `runs_of` gives it: the errors of seed 0, 1, … under both gates."""
    errors = np.concatenate([exp, linear])
    table = {
        "gate": ["exp"] * len(exp) + ["linear"] * len(linear),
        "seed": [*range(len(exp)), *range(len(linear))],
        "max_ae_u": errors,
        "rel_l2_theta": errors,
        "rel_l2_u": errors / 3,
    }
    return pd.DataFrame(table | SETTING | columns)


def together(*frames):
    return pd.concat(frames, ignore_index=True)


def both_k(n=8):
    """k = 20 where the exponential gate wins every seed, k = 60 where it loses every seed."""
    good = 0.1 + 0.01 * np.arange(n)
    bad = 0.5 + 0.03 * np.arange(n)
    return together(runs(good, bad), runs(bad, good, k=60.0))


def without_one_run(frame, status):
    """The same runs, but that of seed 3 under the exponential gate at k = 20 is not ok."""
    cell = (frame["k"] == 20) & (frame["gate"] == "exp")
    lost = cell & (frame["seed"] == 3)
    frame = frame.assign(status=frame["status"].mask(lost, status))
    frame["max_ae_u"] = frame["max_ae_u"].mask(lost)
    frame["rel_l2_u"] = frame["rel_l2_u"].mask(lost)
    return frame
