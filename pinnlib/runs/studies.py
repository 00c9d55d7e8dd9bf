"""The runs that each study needs, as data.

Imports the standard library only: the command line lists the studies without loading torch.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SIX_K = (10, 20, 30, 40, 50, 60)
THIRTEEN_K = tuple(range(10, 140, 10))
FOUR_K = (20, 30, 60, 100)  # of the gate study
TEN_GATES = (
    "linear",
    "linear(scale=0.1)",
    "exp(alpha=0.25)",
    "exp(alpha=0.5)",
    "exp",
    "exp(alpha=2.0)",
    "exp(alpha=4.0)",
    "exp(scale=10.0)",
    "tanh",
    "rational",
)
SGD_RATES = (3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4)
Seeds = dict[str, tuple[int, dict[float, int]]]


@dataclass(frozen=True)
class Study:
    """All `gates` at every k and λ, for the models and seeds of `seeds`.

    `seeds` maps a model to its usual number of seeds and the exceptions by k:
    {"adaptive": (20, {10: 5})} are the seeds 0 to 19, but 0 to 4 at k = 10.
    """

    title: str
    k: tuple[float, ...]
    seeds: Seeds = field(default_factory=lambda: {"adaptive": (20, {})})
    lambda_ic: tuple[float, ...] = (50,)
    loss: str = "balanced"
    gates: tuple[str, ...] = ("exp", "linear")
    # Shares of the updates of a whole run. A run that stops early has the same parameters
    # as the whole run has at that update.
    stages: tuple[float, ...] = (1,)
    changes: dict[str, Any] = field(default_factory=dict)  # further settings of every run
    first_seed: int = 0

    def settings(self, steps: int, seeds: int | None = None) -> Iterator[dict[str, Any]]:
        """The RunSpec settings of every run.

        `steps` is the number of updates of a whole run, `seeds` the largest number of seeds.
        """
        cells = itertools.product(self.stages, self.seeds, self.lambda_ic, self.k)
        for stage, model, lambda_ic, k in cells:
            usual, exceptions = self.seeds[model]
            count = exceptions.get(k, usual)
            if seeds is not None:
                count = min(count, seeds)
            for seed, gate in itertools.product(range(count), self.gates):
                yield {
                    "model": model,
                    "gate": gate,
                    "k": k,
                    "seed": self.first_seed + seed,
                    "steps": max(1, round(stage * steps)),
                    "lambda_ic": lambda_ic,
                    "loss": self.loss,
                    **self.changes,
                }


STUDIES = {
    "main": Study(
        "velocity penalty 50 (figure 1 and the full-scale figure)",
        k=SIX_K,
        seeds={"baseline": (10, {}), "fixed": (10, {}), "adaptive": (20, {10: 10, 40: 10})},
    ),
    "no_penalty": Study(
        "no velocity penalty",
        k=SIX_K,
        seeds={"baseline": (10, {}), "fixed": (10, {}), "adaptive": (10, {20: 20, 60: 20})},
        lambda_ic=(0,),
    ),
    "expanded": Study(
        "spectral models up to k = 130",
        k=THIRTEEN_K,
        seeds={"fixed": (10, {}), "adaptive": (20, {10: 10, 40: 10})},
    ),
    "as_written": Study(
        "the plain mean-square loss of the paper's text",
        k=THIRTEEN_K,
        lambda_ic=(0, 50),
        loss="mse",
    ),
    "early": Study(
        "the first tenth of the adaptive runs of the expanded study, for the kernel",
        k=THIRTEEN_K,
        seeds={"adaptive": (20, {10: 10, 40: 10})},
        stages=(0.1,),
    ),
    "stages": Study(
        "spectral runs on their way, for the kernel",
        k=THIRTEEN_K,
        seeds={"fixed": (0, dict.fromkeys(SIX_K, 3)), "adaptive": (5, {})},
        stages=(0.02, 0.1, 0.2),
    ),
    "gates": Study("ten gates", k=FOUR_K, gates=TEN_GATES),
    "gates_mse": Study(
        "ten gates under the plain mean-square loss",
        k=FOUR_K,
        seeds={"adaptive": (10, {})},
        loss="mse",
        gates=TEN_GATES,
    ),
    "budget": Study(
        "five times the updates", k=(20, 60), seeds={"adaptive": (10, {})}, stages=(5,)
    ),
    "hard_velocity": Study(
        "an ansatz that holds the initial velocity too", k=FOUR_K, changes={"hard_velocity": True}
    ),
    "free_velocity": Study(
        "no velocity penalty, at the stiffnesses of the gate study", k=FOUR_K, lambda_ic=(0,)
    ),
    **{
        f"sgd_tuning_{i}": Study(
            f"SGD at rate {lr:.0e}, on seeds of its own",
            k=(20, 60),
            seeds={"adaptive": (3, {})},
            changes={"optimiser": "sgd", "lr": lr},
            first_seed=20,
        )
        for i, lr in enumerate(SGD_RATES)
    },
    **{
        f"sgd_{gate}": Study(
            "SGD at the rate so found",
            k=FOUR_K,
            seeds={"adaptive": (10, {})},
            gates=(gate,),
            changes={"optimiser": "sgd", "lr": lr},
        )
        for gate, lr in (("exp", 1e-5), ("linear", 1e-6))
    },
    "table": Study("the runs behind the published table of tests", k=(20, 60), lambda_ic=(0, 50)),
}
