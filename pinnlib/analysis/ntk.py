"""The residual Jacobian J_R(t) = ∂R(t)/∂θ and the kernel K = J_R J_Rᵀ, under which residuals move in training: e ← e − ηKe."""

import numpy as np
import torch

from pinnlib.registry import validate

SINGLE = float(
    np.finfo(np.float32).eps
)  # a direction weaker than this share of the strongest is lost in single-precision training
GRID = np.linspace(0.1, 10, 100)  # times at which kernels are compared


def linearised(spec, parameters, times, of="residual"):
    """(J_R (components, points, parameters), e = R(t) (components, points)) in float64; of="velocity": the same of q'(t).

    One row of parameters per time, so that one backward pass serves all times.
    """
    t = torch.from_numpy(np.array(times, dtype=float, ndmin=1))
    validate(
        "times",
        times,
        t.ndim == 1 and bool(torch.isfinite(t).all()),
        "a number or a list of finite numbers",
    )
    theta = torch.as_tensor(parameters).double().repeat(len(t), 1).requires_grad_()
    ansatz = spec.ansatz()
    jets = ansatz.jets(theta, t[:, None])
    values = {"residual": ansatz.residual(jets), "velocity": [jet.first for jet in jets]}[of]
    J = [torch.autograd.grad(value.sum(), theta, retain_graph=True)[0].numpy() for value in values]
    return np.stack(J), np.stack([value.detach().numpy()[:, 0] for value in values])


def jacobian(spec, parameters, times):
    """J_R alone."""
    return linearised(spec, parameters, times)[0]


def balanced(J, e):
    """J and e under the weights of the balanced loss: each component over the root mean square of its residual."""
    size = np.sqrt(np.square(e).mean(axis=1, keepdims=True))
    return J / size[:, :, None], e / size


def _rows(J):
    return J.reshape(-1, J.shape[-1])  # one per (component, time)


def residual_kernel(J):
    """K = J Jᵀ over all (component, time) pairs."""
    return _rows(J) @ _rows(J).T


def profile(J):
    """‖J_R(t)‖, the root of the trace of K(t, t): one number per time."""
    return np.sqrt(np.square(J).sum(axis=(0, 2)))


def eigenvalues(J):
    """Eigenvalues of K that can differ from zero, largest first: squared singular values of J, which keep twice the digits of K."""
    rows = torch.from_numpy(_rows(J))
    tall = rows.T if rows.shape[1] > rows.shape[0] else rows
    return torch.linalg.svdvals(torch.linalg.qr(tall, mode="r").R).numpy() ** 2


def effective_rank(eigenvalues):
    """exp of the entropy of the eigenvalues as shares of their sum: n if n are equal and the rest zero."""
    share = eigenvalues[eigenvalues > 0] / eigenvalues.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def kernel_summary(J, e, t):
    """Scalars of K on the times t, of residuals e.

    trace (per row); rank, over singular values above single precision, and condition number over it; effective rank; late_over_early, the
    root-mean-square norm of J_R in the later half of the times over that in the earlier; alignment eᵀKe/(λ₁ eᵀe), 1 if e is the leading
    mode; rate_late_over_early, the ratio between the halves of the rate eᵀKe/eᵀe at which K makes their residuals fall.
    """
    values, norm = eigenvalues(J), profile(J)
    rank = int((values > values[0] * SINGLE**2).sum())
    early = t <= (t[0] + t[-1]) / 2
    return {
        "trace": float(values.sum() / e.size),
        "rank": rank,
        "condition": float(values[0] / values[rank - 1]),
        "effective_rank": effective_rank(values),
        "late_over_early": float(np.sqrt(np.mean(norm[~early] ** 2) / np.mean(norm[early] ** 2))),
        "alignment": float(
            np.square(e.ravel() @ _rows(J)).sum() / (values[0] * np.square(e).sum())
        ),
        "rate_late_over_early": _rate(J, e, ~early) / _rate(J, e, early),
    }


def _rate(J, e, part):
    """eᵀKe/eᵀe over some of the times, K e taken over all of them."""
    moved = (_rows(J) @ (e.ravel() @ _rows(J))).reshape(e.shape)
    return float((e * moved)[:, part].sum() / np.square(e[:, part]).sum())


def measure(spec, parameters, times=GRID):
    """The scalars of K, those of the balanced kernel (`balanced_…`), and the share of every block of parameters in the trace (`share_…`)."""
    J, e = linearised(spec, parameters, times)
    weighted = {
        f"balanced_{name}": value for name, value in kernel_summary(*balanced(J, e), times).items()
    }
    return (
        kernel_summary(J, e, times)
        | weighted
        | {f"share_{name}": value for name, value in shares(spec, J).items()}
    )


def shares(spec, J):
    """Block of parameters → its share of the trace of K (1 in sum); the frequencies of an adaptive trunk are `raw`."""
    squares = torch.from_numpy(np.square(_rows(J)).sum(axis=0) / np.square(J).sum())
    return {
        name: float(block.sum()) for name, block in spec.trunk.blocks(squares[None], len(J)).items()
    }
