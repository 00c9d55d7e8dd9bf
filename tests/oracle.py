"""The oracle: one network at a time, time derivatives by autograd applied twice. Slow and plain.

It reads the settings of a run (`Settings` below, or a RunSpec) and nothing else of the library.
"""

import math
import sys
import time
from dataclasses import dataclass

import torch
from torch import nn

G, M, L0, R_MIN, BETA, EPS = 9.81, 1.0, 1.0, 1e-4, 0.99, 1e-12


@dataclass
class Settings:
    """Of a run, by the names that RunSpec has for them."""

    model: str = "adaptive"
    gate: str = "exp"
    form: str = "gated"
    system: str = "spring_pendulum"
    k: float = 20.0
    initial_position: tuple = (1.0, 0.2)
    initial_velocity: tuple = (0.0, 0.0)
    loss: str = "balanced"
    lambda_phys: float = 1.0
    lambda_ic: float = 50.0


# Networks


def starting_frequencies():
    low = [0.5 * (5.0 / 0.5) ** (i / 15) for i in range(16)]
    high = [5.0 * (15.0 / 5.0) ** (i / 15) for i in range(16)]
    return torch.tensor(low + high, dtype=torch.float64)


class Baseline(nn.Module):
    def __init__(self, components=2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, 128),
            nn.Tanh(),
            nn.Linear(128, 128),
            nn.Tanh(),
            nn.Linear(128, 128),
            nn.Tanh(),
            nn.Linear(128, components),
        )

    def forward(self, t):  # (points, 1) → (points, components)
        return self.net(t)


class Fixed(nn.Module):
    def __init__(self, components=2):
        super().__init__()
        self.head = nn.Linear(64, components)
        self.register_buffer("fixed_omega", starting_frequencies())

    def omega(self):
        return self.fixed_omega

    def forward(self, t):
        phase = t * self.omega()
        return self.head(torch.cat([torch.sin(phase), torch.cos(phase)], dim=1))


class Adaptive(Fixed):
    def __init__(self, components=2):
        super().__init__(components)
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


def build(run, flat, dtype):
    """The network with the engine's flat parameters: same order of blocks, frequencies last."""
    trunk = TRUNKS[run.model](len(run.initial_position)).to(dtype)
    nn.utils.vector_to_parameters(flat.to(dtype), trunk.parameters())
    return trunk


# Systems: the residual of each component, from [(q, q', q''), …]


def spring_pendulum(k, jets):
    (r, r_t, r_tt), (theta, theta_t, theta_tt) = jets
    residual_r = r_tt - (r * theta_t**2 - k / M * (r - L0) + G * torch.cos(theta))
    residual_theta = theta_tt - (-2 * r_t * theta_t / r - G / r * torch.sin(theta))
    return [residual_r, residual_theta]


def henon_heiles(k, jets):
    (x, _, x_tt), (y, _, y_tt) = jets
    return [x_tt + k * (x + 2 * x * y), y_tt + k * (y + x**2 - y**2)]


def quartic(k, jets):
    ((x, _, x_tt),) = jets
    return [x_tt + x + k * x**3]


def van_der_pol(k, jets):
    ((x, x_t, x_tt),) = jets
    return [x_tt - k * (1 - x**2) * x_t + x]


SYSTEMS = {
    "spring_pendulum": spring_pendulum,
    "henon_heiles": henon_heiles,
    "quartic": quartic,
    "van_der_pol": van_der_pol,
}


# The ansatz


def latent_start(run):
    """The initial position, with ρ0 instead of r0: r = r_min + softplus(ρ)."""
    start = list(run.initial_position)
    if run.system == "spring_pendulum":
        start[0] = math.log(math.expm1(start[0] - R_MIN))
    return start


def state(run, trunk, t):
    """The components of the state at the times t, each (points, 1)."""
    u = trunk(t)
    start = torch.tensor(latent_start(run), dtype=t.dtype)
    if run.form == "gated":
        u = start + GATES[run.gate](t) * u
    elif run.form == "shifted":
        u = start + u - trunk(torch.zeros(1, 1, dtype=t.dtype))
    elif run.form != "soft":
        raise ValueError(f"the oracle has no form {run.form!r}")
    components = list(u.split(1, dim=1))
    if run.system == "spring_pendulum":
        components[0] = R_MIN + nn.functional.softplus(components[0])
    return components


def ddt(y, t):
    return torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]


def derivatives(run, trunk, t):
    """[(r, r', r''), (θ, θ', θ'')], or (x, x', x'') and so on, each (points, 1)."""
    t = t.reshape(-1, 1).requires_grad_()
    jets = []
    for y in state(run, trunk, t):
        y_t = ddt(y, t)
        jets.append((y, y_t, ddt(y_t, t)))
    return jets


def residuals(run, jets):
    """R of each component, (points, 1)."""
    return SYSTEMS[run.system](run.k, jets)


def residual_jacobian(run, flat, t):
    """dR/d(parameters), (components, points, parameters): one backward pass per residual."""
    trunk = build(run, flat, t.dtype)
    rows = []
    for residual in residuals(run, derivatives(run, trunk, t)):
        for value in residual.flatten():
            parameters = list(trunk.parameters())
            parts = torch.autograd.grad(
                value, parameters, retain_graph=True, materialize_grads=True
            )
            rows.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(rows).reshape(len(run.initial_position), len(t), -1)


# Losses and training

WEIGHTS = {  # of the mean squares of the residual components
    "weighted(weights=(1.0, 0.1))": (1.0, 0.1),
    "weighted(weights=(3.0,))": (3.0,),
}
LOSSES = ("balanced", "mse", "balanced(frozen=True)", *WEIGHTS)


class Loss:
    """L = λ_phys L_phys + λ_IC L_IC, with the scales of `balanced` kept between calls."""

    def __init__(self, run):
        self.run = run
        self.scales = None

    def __call__(self, trunk, t):
        R = residuals(self.run, derivatives(self.run, trunk, t))
        terms = {"physics": self.physics(R)} | self.initial_state(trunk, t.dtype)
        initial = terms["velocity"] + terms.get("position", 0)
        total = self.run.lambda_phys * terms["physics"] + self.run.lambda_ic * initial
        return {"total": total} | terms

    def physics(self, R):
        loss = self.run.loss
        if loss == "mse":
            return torch.mean(torch.cat(R) ** 2)
        if loss in WEIGHTS:
            pairs = list(zip(WEIGHTS[loss], R, strict=True))
            return sum(w * torch.mean(r**2) for w, r in pairs) / sum(w for w, _ in pairs)
        if loss in ("balanced", "balanced(frozen=True)"):
            self.update_scales([r.detach() for r in R])
            pairs = zip(R, self.scales, strict=True)
            return sum(torch.mean(r**2) / (scale + EPS) ** 2 for r, scale in pairs)
        raise ValueError(f"the oracle has no loss {loss!r}")

    def update_scales(self, R):
        """The moving averages of the RMS of each residual component; frozen: the first RMS."""
        rms = [torch.sqrt(torch.mean(r**2) + EPS) for r in R]
        if self.scales is None:
            self.scales = rms
        elif self.run.loss == "balanced":
            pairs = zip(self.scales, rms, strict=True)
            self.scales = [BETA * scale + (1 - BETA) * now for scale, now in pairs]

    def initial_state(self, trunk, dtype):
        """Mean squares of velocity − target at t = 0, and of position − target if soft."""
        jets = derivatives(self.run, trunk, torch.zeros(1, dtype=dtype))
        q = torch.cat([value for value, _, _ in jets]).flatten()
        v = torch.cat([first for _, first, _ in jets]).flatten()
        terms = {"velocity": torch.mean((v - v.new_tensor(self.run.initial_velocity)) ** 2)}
        if self.run.form == "soft":
            terms["position"] = torch.mean((q - q.new_tensor(self.run.initial_position)) ** 2)
        return terms


def cosine_rates(lr, updates):
    """lr (1 + cos πs)/2, where s is the share of the updates that came before."""
    return [lr * (1 + math.cos(math.pi * i / updates)) / 2 for i in range(updates)]


def train(run, flat, points, rates, dtype=torch.float64):
    """Adam over batches of points, each with its learning rate: the network, and the loss terms."""
    trunk = build(run, flat, dtype)
    objective = Loss(run)
    history = []
    optimiser = torch.optim.Adam(trunk.parameters())
    for t, rate in zip(points, rates, strict=True):
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        terms = objective(trunk, t)
        terms["total"].backward()
        optimiser.step()
        history.append({name: value.item() for name, value in terms.items()})
    return trunk, history


def serve_benchmark():
    """Lines "model updates" in, milliseconds per update out: plain torch on one thread."""
    torch.set_num_threads(1)
    for line in sys.stdin:
        model, updates = line.split()
        run = Settings(model=model)
        batches = [torch.rand(2000) * 10 + 1e-6 for _ in range(int(updates))]
        flat = nn.utils.parameters_to_vector(TRUNKS[model]().parameters()).detach()
        began = time.perf_counter()
        train(run, flat, batches, [1e-3] * int(updates), dtype=torch.float32)
        print((time.perf_counter() - began) * 1e3 / int(updates), flush=True)


if __name__ == "__main__":
    serve_benchmark()
