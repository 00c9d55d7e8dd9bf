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
    spec: RunSpec,
    parameters: ArrayLike,
    times: ArrayLike,
    of: str = "residual",
) -> tuple[np.ndarray, np.ndarray]:
    """(J, e) in float64, e being the residual R(t) or, with of="velocity", q'(t)."""
    array = np.array(times, dtype=float, ndmin=1)
    t = torch.from_numpy(array)
    valid = t.ndim == 1 and bool(t.isfinite().all())
    validate("times", times, valid, "a number or a list of finite numbers")
    # One row of parameters per time, so that one backward pass gives the Jacobian at all times.
    theta = torch.as_tensor(parameters).double()
    theta = theta.repeat(len(t), 1).requires_grad_()
    ansatz = spec.ansatz()
    jets = ansatz.jets(theta, t[:, None])
    values = ansatz.residual(jets)
    if of == "velocity":
        values = [jet.first for jet in jets]
    J = []
    e = []
    for value in values:
        total = value.sum()
        (gradient,) = torch.autograd.grad(total, theta, retain_graph=True)
        J.append(gradient.numpy())
        column = value.detach().numpy()
        e.append(column[:, 0])
    return np.stack(J), np.stack(e)


def jacobian(spec: RunSpec, parameters: ArrayLike, times: ArrayLike) -> np.ndarray:
    """J of the residual alone."""
    J, _ = linearise(spec, parameters, times)
    return J


def root_mean_square(e: np.ndarray) -> np.ndarray:
    """That of each component of e over its times; (components, 1)."""
    squares = np.square(e)
    return np.sqrt(squares.mean(axis=1, keepdims=True))


def balance(J: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J and e as the balanced loss weights them: over the root mean square of each component."""
    size = root_mean_square(e)
    return J / size[:, :, None], e / size


def _rows(J: np.ndarray) -> np.ndarray:
    """J with one row per (component, time)."""
    return J.reshape(-1, J.shape[-1])


def residual_kernel(J: np.ndarray) -> np.ndarray:
    """K = J Jᵀ."""
    rows = _rows(J)
    return rows @ rows.T


def profile(J: np.ndarray) -> np.ndarray:
    """‖J(t)‖, the root of the trace of K(t, t); (times,)."""
    squares = np.square(J)
    return np.sqrt(squares.sum(axis=(0, 2)))


def eigenvalues(J: np.ndarray) -> np.ndarray:
    """Non-zero eigenvalues of K, largest first, from J, which keeps twice the digits of K."""
    tall = torch.from_numpy(_rows(J))
    rows, columns = tall.shape
    if columns > rows:
        tall = tall.T
    triangle = torch.linalg.qr(tall, mode="r").R
    singular = torch.linalg.svdvals(triangle)
    return singular.numpy() ** 2


def effective_rank(eigenvalues: np.ndarray) -> float:
    """exp of the entropy of the normalised eigenvalues: n if n are equal and the rest zero."""
    positive = eigenvalues[eigenvalues > 0]
    share = positive / eigenvalues.sum()
    terms = share * np.log(share)
    entropy = -terms.sum()
    return float(np.exp(entropy))


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
    largest = values[0]
    rank = int((values > largest * SINGLE**2).sum())
    middle = (times[0] + times[-1]) / 2
    early = times <= middle
    late = ~early
    squares = profile(J) ** 2
    late_mean = np.mean(squares[late])
    early_mean = np.mean(squares[early])
    rows = _rows(J)
    gradient = e.ravel() @ rows
    energy = np.square(gradient).sum()  # eᵀKe
    size = np.square(e)
    kernel_e = rows @ gradient
    change = e * kernel_e.reshape(e.shape)  # its sum is eᵀKe, too
    late_rate = change[:, late].sum() / size[:, late].sum()
    early_rate = change[:, early].sum() / size[:, early].sum()
    return {
        "trace": float(values.sum() / e.size),
        "rank": rank,
        "condition": float(largest / values[rank - 1]),
        "effective_rank": effective_rank(values),
        "late_over_early": float(np.sqrt(late_mean / early_mean)),
        "alignment": float(energy / (largest * size.sum())),
        "rate_late_over_early": float(late_rate / early_rate),
    }


def measure(spec: RunSpec, parameters: ArrayLike) -> dict[str, float]:
    """The scalars of K, those of the balanced kernel (`balanced_…`), and `shares` (`share_…`)."""
    J, e = linearise(spec, parameters, GRID)
    row = kernel_summary(J, e, GRID)
    J_balanced, e_balanced = balance(J, e)
    balanced = kernel_summary(J_balanced, e_balanced, GRID)
    for name, value in balanced.items():
        row[f"balanced_{name}"] = value
    for name, value in shares(spec, J).items():
        row[f"share_{name}"] = value
    return row


def shares(spec: RunSpec, J: np.ndarray) -> dict[str, float]:
    """Block of parameters → its share of the trace of K; the frequencies are the block `raw`."""
    squares = np.square(_rows(J))
    trace = np.square(J).sum()
    parts = squares.sum(axis=0) / trace
    one_run = torch.from_numpy(parts)[None]
    blocks = spec.trunk.blocks(one_run, len(J))
    found = {}
    for name, block in blocks.items():
        found[name] = float(block.sum())
    return found
