"""The oracle: one network at a time, time derivatives by autograd applied twice. Slow and plain."""

import math
import sys
import time

import torch
from torch import nn

G, M, L0, R_MIN, BETA, EPS = 9.81, 1.0, 1.0, 1e-4, 0.99, 1e-12


def starting_frequencies():
    low = [0.5 * (5.0 / 0.5) ** (i / 15) for i in range(16)]
    high = [5.0 * (15.0 / 5.0) ** (i / 15) for i in range(16)]
    return torch.tensor(low + high, dtype=torch.float64)


class Baseline(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, 128),
            nn.Tanh(),
            nn.Linear(128, 128),
            nn.Tanh(),
            nn.Linear(128, 128),
            nn.Tanh(),
            nn.Linear(128, 2),
        )

    def forward(self, t):  # (points, 1) → (points, 2)
        return self.net(t)


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(64, 2)
        self.register_buffer("fixed_omega", starting_frequencies())

    def omega(self):
        return self.fixed_omega

    def forward(self, t):
        phase = t * self.omega()
        return self.head(torch.cat([torch.sin(phase), torch.cos(phase)], dim=1))


class Adaptive(Fixed):
    def __init__(self):
        super().__init__()
        raw = torch.log(torch.expm1(starting_frequencies()))
        self.raw = nn.ParameterList([raw])  # a list, so that it comes after the head

    def omega(self):
        return nn.functional.softplus(self.raw[0])


TRUNKS = {"baseline": Baseline, "fixed": Fixed, "adaptive": Adaptive}
GATES = {
    "exp": lambda t: 1 - torch.exp(-t),
    "exp(alpha=0.5)": lambda t: 1 - torch.exp(-0.5 * t),
    "exp(scale=10.0)": lambda t: 10 * (1 - torch.exp(-t)),
    "linear": lambda t: t,
    "linear(scale=0.1)": lambda t: t / 10,
    "tanh": torch.tanh,
    "rational": lambda t: t / (1 + t),
}


def build(model, flat, dtype):
    """The network with the engine's flat parameters: same order of blocks, frequencies last."""
    trunk = TRUNKS[model]().to(dtype)
    nn.utils.vector_to_parameters(flat.to(dtype), trunk.parameters())
    return trunk


def state(trunk, gate, t, r0=1.0, theta0=0.2):
    """(r, θ) at the times t, (points, 1)."""
    u = trunk(t)
    g = GATES[gate](t)
    rho0 = math.log(math.expm1(r0 - R_MIN))
    r = R_MIN + nn.functional.softplus(rho0 + g * u[:, :1])
    theta = theta0 + g * u[:, 1:]
    return r, theta


def ddt(y, t):
    return torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]


def derivatives(trunk, gate, t):
    """[(r, r', r''), (θ, θ', θ'')], each (points, 1)."""
    t = t.reshape(-1, 1).requires_grad_()
    jets = []
    for y in state(trunk, gate, t):
        y_t = ddt(y, t)
        jets.append((y, y_t, ddt(y_t, t)))
    return jets


def residuals(jets, k):
    (r, r_t, r_tt), (theta, theta_t, theta_tt) = jets
    residual_r = r_tt - (r * theta_t**2 - k / M * (r - L0) + G * torch.cos(theta))
    residual_theta = theta_tt - (-2 * r_t * theta_t / r - G / r * torch.sin(theta))
    return residual_r, residual_theta


def residual_jacobian(model, gate, k, flat, t):
    """dR/d(parameters), (components, points, parameters): one backward pass per residual."""
    trunk = build(model, flat, t.dtype)
    rows = []
    for residual in residuals(derivatives(trunk, gate, t), k):
        for value in residual.flatten():
            parameters = list(trunk.parameters())
            parts = torch.autograd.grad(
                value, parameters, retain_graph=True, materialize_grads=True
            )
            rows.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(rows).reshape(2, len(t), -1)


class Loss:
    """L = L_phys + λ_IC L_IC,vel, with the moving averages of `balanced` kept between calls."""

    def __init__(self, kind, lambda_ic):
        self.kind = kind
        self.lambda_ic = lambda_ic
        self.scales = None

    def __call__(self, trunk, gate, t, k):
        R_r, R_theta = residuals(derivatives(trunk, gate, t), k)
        if self.kind == "mse":
            physics = torch.mean(torch.cat([R_r, R_theta]) ** 2)
        elif self.kind == "balanced":
            s_r, s_theta = self.update_scales(R_r.detach(), R_theta.detach())
            physics = torch.mean(R_r**2) / (s_r + EPS) ** 2
            physics = physics + torch.mean(R_theta**2) / (s_theta + EPS) ** 2
        else:
            raise ValueError(f"the oracle has no loss {self.kind!r}")
        (_, r_t, _), (_, theta_t, _) = derivatives(trunk, gate, torch.zeros(1, dtype=t.dtype))
        velocity = torch.mean(torch.cat([r_t, theta_t]) ** 2)
        total = physics + self.lambda_ic * velocity
        return {"total": total, "physics": physics, "velocity": velocity}

    def update_scales(self, *R):
        """The moving averages of the RMS of each residual component."""
        rms = [torch.sqrt(torch.mean(r**2) + EPS) for r in R]
        if self.scales is None:
            self.scales = rms
        else:
            pairs = zip(self.scales, rms, strict=True)
            self.scales = [BETA * scale + (1 - BETA) * now for scale, now in pairs]
        return self.scales


def train(model, gate, k, lambda_ic, loss, flat, points, lr=1e-3, dtype=torch.float64):
    """Adam over batches of collocation points: the network, and the loss terms of every update."""
    trunk = build(model, flat, dtype)
    objective = Loss(loss, lambda_ic)
    history = []
    optimiser = torch.optim.Adam(trunk.parameters(), lr=lr)
    for t in points:
        optimiser.zero_grad()
        terms = objective(trunk, gate, t, k)
        terms["total"].backward()
        optimiser.step()
        history.append({name: value.item() for name, value in terms.items()})
    return trunk, history


def serve_benchmark():
    """Lines "model updates" in, milliseconds per update out: plain torch on one thread."""
    torch.set_num_threads(1)
    for line in sys.stdin:
        model, updates = line.split()
        batches = [torch.rand(2000) * 10 + 1e-6 for _ in range(int(updates))]
        flat = nn.utils.parameters_to_vector(TRUNKS[model]().parameters()).detach()
        began = time.perf_counter()
        train(model, "exp", 20.0, 50.0, "balanced", flat, batches, dtype=torch.float32)
        print((time.perf_counter() - began) * 1e3 / int(updates), flush=True)


if __name__ == "__main__":
    serve_benchmark()
