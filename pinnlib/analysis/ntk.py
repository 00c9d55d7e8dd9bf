"""The residual Jacobian J = ∂R(t)/∂θ and the residual kernel K = J Jᵀ.

A small gradient step η moves the residuals by e ← e − ηKe. J has the shape (components, times,
parameters), e (components, times); K is over all (component, time) pairs.
"""

import numpy as np
import torch
from numpy.typing import ArrayLike

from pinnlib.registry import validate
from pinnlib.spec import RunSpec

# A direction weaker than this fraction of the strongest is lost in single-precision training.
SINGLE = float(np.finfo(np.float32).eps)
GRID = np.linspace(0.1, 10, 100)  # times at which kernels are compared


def linearise(
    spec: RunSpec, parameters: ArrayLike, times: ArrayLike, of: str = "residual"
) -> tuple[np.ndarray, np.ndarray]:
    """(J, e) in float64, e being the residual R(t) or, with of="velocity", q'(t)."""
    t = torch.from_numpy(np.array(times, dtype=float, ndmin=1))
    valid = t.ndim == 1 and bool(torch.isfinite(t).all())
    validate("times", times, valid, "a number or a list of finite numbers")
    # One row of parameters per time, so that one backward pass gives the Jacobian at all times.
    theta = torch.as_tensor(parameters).double().repeat(len(t), 1).requires_grad_()
    ansatz = spec.ansatz()
    jets = ansatz.jets(theta, t[:, None])
    values = {"residual": ansatz.residual(jets), "velocity": [jet.first for jet in jets]}[of]
    J = [torch.autograd.grad(value.sum(), theta, retain_graph=True)[0].numpy() for value in values]
    return np.stack(J), np.stack([value.detach().numpy()[:, 0] for value in values])


def jacobian(spec: RunSpec, parameters: ArrayLike, times: ArrayLike) -> np.ndarray:
    """J of the residual alone."""
    return linearise(spec, parameters, times)[0]


def balance(J: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J and e as the balanced loss weights them: over the root mean square of each component."""
    size = np.sqrt(np.square(e).mean(axis=1, keepdims=True))
    return J / size[:, :, None], e / size


def _rows(J: np.ndarray) -> np.ndarray:
    """J with one row per (component, time)."""
    return J.reshape(-1, J.shape[-1])


def residual_kernel(J: np.ndarray) -> np.ndarray:
    """K = J Jᵀ."""
    return _rows(J) @ _rows(J).T


def profile(J: np.ndarray) -> np.ndarray:
    """‖J(t)‖, the root of the trace of K(t, t); (times,)."""
    return np.sqrt(np.square(J).sum(axis=(0, 2)))


def eigenvalues(J: np.ndarray) -> np.ndarray:
    """Non-zero eigenvalues of K, largest first, from J, which keeps twice the digits of K."""
    rows = torch.from_numpy(_rows(J))
    tall = rows.T if rows.shape[1] > rows.shape[0] else rows
    return torch.linalg.svdvals(torch.linalg.qr(tall, mode="r").R).numpy() ** 2


def effective_rank(eigenvalues: np.ndarray) -> float:
    """exp of the entropy of the normalised eigenvalues: n if n are equal and the rest zero."""
    share = eigenvalues[eigenvalues > 0] / eigenvalues.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def kernel_summary(J: np.ndarray, e: np.ndarray, times: np.ndarray) -> dict[str, float]:
    """Scalars of K and the residuals e.

    trace                 per row of K
    rank, condition       over the singular values of J above single precision
    effective_rank        of all eigenvalues
    late_over_early       root-mean-square norm of J(t) in the later half of the times over that in
                          the earlier half
    alignment             eᵀKe/(λ₁ eᵀe), 1 if e is the leading mode
    rate_late_over_early  the ratio of the halves' rates eᵀKe/eᵀe, at which their residuals fall
    """
    values = eigenvalues(J)
    squares = profile(J) ** 2
    rank = int((values > values[0] * SINGLE**2).sum())
    early = times <= (times[0] + times[-1]) / 2
    energy = np.square(e.ravel() @ _rows(J)).sum()  # eᵀKe
    return {
        "trace": float(values.sum() / e.size),
        "rank": rank,
        "condition": float(values[0] / values[rank - 1]),
        "effective_rank": effective_rank(values),
        "late_over_early": float(np.sqrt(np.mean(squares[~early]) / np.mean(squares[early]))),
        "alignment": float(energy / (values[0] * np.square(e).sum())),
        "rate_late_over_early": _rate(J, e, ~early) / _rate(J, e, early),
    }


def _rate(J: np.ndarray, e: np.ndarray, part: np.ndarray) -> float:
    """eᵀKe/eᵀe over some of the times, with Ke over all of them."""
    change = (_rows(J) @ (e.ravel() @ _rows(J))).reshape(e.shape)
    return float((e * change)[:, part].sum() / np.square(e[:, part]).sum())


def measure(spec: RunSpec, parameters: ArrayLike, times: np.ndarray = GRID) -> dict[str, float]:
    """The scalars of K, those of the balanced kernel (`balanced_…`), and `shares` (`share_…`)."""
    J, e = linearise(spec, parameters, times)
    row = kernel_summary(J, e, times)
    for name, value in kernel_summary(*balance(J, e), times).items():
        row[f"balanced_{name}"] = value
    for name, value in shares(spec, J).items():
        row[f"share_{name}"] = value
    return row


def shares(spec: RunSpec, J: np.ndarray) -> dict[str, float]:
    """Block of parameters → its share of the trace of K; the frequencies are the block `raw`."""
    squares = torch.from_numpy(np.square(_rows(J)).sum(axis=0) / np.square(J).sum())
    blocks = spec.trunk.blocks(squares[None], len(J))
    return {name: float(block.sum()) for name, block in blocks.items()}
