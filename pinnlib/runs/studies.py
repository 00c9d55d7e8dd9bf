"""Which runs each study needs: data, from which the list of specifications follows.

Imports the standard library only: the command line knows the studies before torch is loaded.
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


@dataclass(frozen=True)
class Study:
    """All `gates` at every k and λ, for every model of `seeds`: {"adaptive": (20, {10: 5})} is twenty seeds, 0 to 19, and five at k = 10."""

    title: str
    k: tuple
    lambda_ic: tuple
    seeds: dict  # model → (usual number of seeds, {k: another number there})
    loss: str = "balanced"
    gates: tuple = ("exp", "linear")
    stages: tuple = (
        1,
    )  # shares of the updates; a run that stops early has the parameters that the whole run has then
    changes: dict = field(default_factory=dict)  # further settings of every run
    first_seed: int = 0

    def settings(self, steps: int, seeds: int | None = None) -> Iterator[dict[str, Any]]:
        """The settings of every run, as of a RunSpec: `steps` updates in a whole run, at most `seeds` seeds."""
        for stage, (model, (usual, exceptions)), lambda_ic, k in itertools.product(
            self.stages, self.seeds.items(), self.lambda_ic, self.k
        ):
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
        SIX_K,
        (50,),
        {"baseline": (10, {}), "fixed": (10, {}), "adaptive": (20, {10: 10, 40: 10})},
    ),
    "no_penalty": Study(
        "no velocity penalty",
        SIX_K,
        (0,),
        {"baseline": (10, {}), "fixed": (10, {}), "adaptive": (10, {20: 20, 60: 20})},
    ),
    "expanded": Study(
        "spectral models up to k = 130",
        THIRTEEN_K,
        (50,),
        {"fixed": (10, {}), "adaptive": (20, {10: 10, 40: 10})},
    ),
    "as_written": Study(
        "the plain mean-square loss of the paper's text",
        THIRTEEN_K,
        (0, 50),
        {"adaptive": (20, {})},
        loss="mse",
    ),
    "early": Study(
        "the first tenth of the adaptive runs of the expanded study, for the kernel",
        THIRTEEN_K,
        (50,),
        {"adaptive": (20, {10: 10, 40: 10})},
        stages=(0.1,),
    ),
    "stages": Study(
        "spectral runs on their way, for the kernel",
        THIRTEEN_K,
        (50,),
        {"fixed": (0, dict.fromkeys(SIX_K, 3)), "adaptive": (5, {})},
        stages=(0.02, 0.1, 0.2),
    ),
    "gates": Study("ten gates", FOUR_K, (50,), {"adaptive": (20, {})}, gates=TEN_GATES),
    "gates_mse": Study(
        "ten gates under the plain mean-square loss",
        FOUR_K,
        (50,),
        {"adaptive": (10, {})},
        "mse",
        TEN_GATES,
    ),
    "budget": Study("five times the updates", (20, 60), (50,), {"adaptive": (10, {})}, stages=(5,)),
    "hard_velocity": Study(
        "an ansatz that holds the initial velocity too",
        FOUR_K,
        (50,),
        {"adaptive": (20, {})},
        changes={"hard_velocity": True},
    ),
    "free_velocity": Study(
        "no velocity penalty, at the stiffnesses of the gate study",
        FOUR_K,
        (0,),
        {"adaptive": (20, {})},
    ),
    **{
        f"sgd_tuning_{i}": Study(
            f"SGD at rate {lr:.0e}, on seeds of its own",
            (20, 60),
            (50,),
            {"adaptive": (3, {})},
            changes={"optimiser": "sgd", "lr": lr},
            first_seed=20,
        )
        for i, lr in enumerate(SGD_RATES)
    },
    **{
        f"sgd_{gate}": Study(
            "SGD at the rate so found",
            FOUR_K,
            (50,),
            {"adaptive": (10, {})},
            gates=(gate,),
            changes={"optimiser": "sgd", "lr": lr},
        )
        for gate, lr in (("exp", 1e-5), ("linear", 1e-6))
    },
    "table": Study(
        "the runs behind the published table of tests",
        (20, 60),
        (0, 50),
        {"adaptive": (20, {})},
    ),
}
