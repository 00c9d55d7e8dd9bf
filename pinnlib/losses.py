"""The physics term of the loss, from the mean square of each residual component."""

import torch


class Balanced:
    """Σ_c mean(R_c²) / (s_c + ε)², s_c a moving average of the RMS of R_c through which no gradient flows."""

    decay, epsilon = 0.99, 1e-12

    def __init__(self):
        self.scale = None

    def __call__(self, mean_square):  # (runs, components) → (runs,)
        now = torch.sqrt(mean_square.detach() + self.epsilon)
        self.scale = now if self.scale is None else self.decay * self.scale + (1 - self.decay) * now
        return (mean_square / (self.scale + self.epsilon) ** 2).sum(dim=1)


class MeanSquare:
    """mean over points and components of R²."""

    def __call__(self, mean_square):
        return mean_square.mean(dim=1)


LOSSES = {"balanced": Balanced, "mse": MeanSquare}
