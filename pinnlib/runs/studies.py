"""The runs that each study needs, as data.

Imports the standard library only: the command line lists the studies without loading torch.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
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
# Of the rate study; 50, 70 and 90 were added after the results of the other eight were known.
RATE_K = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 130)
TABLE_K = (20, 60)  # of the published table
THREE_K = (20, 60, 100)  # of the studies of decay and weights
THREE_GATES = ("exp", "linear", "exp(alpha=2.0)")
BOTH_LOSSES = ("balanced", "mse")
SGD_RATES = (3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4)
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
PUBLISHED_RATE = 1e-3
WEIGHTS = (0.01, 0.1, 10.0, 100.0)  # of θ, where r has 1; equal weights are the loss mse
SYSTEM_K = {
    "henon_heiles": (1, 4, 9, 16),
    "quartic": (1, 2, 4, 8),
    "van_der_pol": (0.5, 1, 2, 5),
}
FIRST_TUNING_SEED = 20  # tuning seeds are 20 to 27, test seeds 0 to 19
Seeds = dict[str, tuple[int, dict[float, int]]]
TUNING_SEEDS: Seeds = {"adaptive": (8, {})}
TUNED_FILE = Path(__file__).with_name("tuned_rates.json")


# What report/rate_rules.py chooses on the tuning seeds: "rates", by setting and k, and "recipe".
TUNED = json.loads(TUNED_FILE.read_text())
RECIPE = TUNED["recipe"]


def setting_name(system: str, form: str, gate: str, loss: str, lambda_ic: float) -> str:
    """The name under which the rates of a setting are on file; usually λ is 50."""
    name = f"{system} {form} {gate} {loss}"
    return name if lambda_ic == 50 else f"{name} lambda_ic={lambda_ic:g}"


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
    losses: tuple[str, ...] = ("balanced",)
    gates: tuple[str, ...] = ("exp", "linear")
    forms: tuple[str, ...] = ("gated",)  # "shifted" and "soft" have the gate "none"
    rates: tuple[float, ...] | None = (PUBLISHED_RATE,)  # None: the tuned rate of each setting
    system: str = "spring_pendulum"
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
            variants = itertools.product(range(count), self.losses, self.forms, self.gates)
            for seed, loss, form, gate in variants:
                name = setting_name(self.system, form, gate, loss, lambda_ic)
                for lr in self.rates or [TUNED["rates"][name][f"{k:g}"]]:
                    yield {
                        "model": model,
                        "gate": gate,
                        "k": k,
                        "seed": self.first_seed + seed,
                        "steps": max(1, round(stage * steps)),
                        "lambda_ic": lambda_ic,
                        "loss": loss,
                        "lr": lr,
                        "form": form,
                        "system": self.system,
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
        losses=("mse",),
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
        losses=("mse",),
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
    "sgd_tuning": Study(
        "SGD at seven rates, on seeds of its own",
        k=(20, 60),
        seeds={"adaptive": (3, {})},
        rates=SGD_RATES,
        changes={"optimiser": "sgd"},
        first_seed=FIRST_TUNING_SEED,
    ),
    **{
        f"sgd_{gate}": Study(
            "SGD at the rate so found",
            k=FOUR_K,
            seeds={"adaptive": (10, {})},
            gates=(gate,),
            rates=(lr,),
            changes={"optimiser": "sgd"},
        )
        for gate, lr in (("exp", 1e-5), ("linear", 1e-6))
    },
    "rates_tuning": Study(
        "five learning rates, on the tuning seeds",
        k=RATE_K,
        seeds=TUNING_SEEDS,
        losses=BOTH_LOSSES,
        gates=THREE_GATES,
        rates=RATES,
        first_seed=FIRST_TUNING_SEED,
    ),
    "rates_published": Study(
        "the published rate, on the test seeds",
        k=RATE_K,
        losses=BOTH_LOSSES,
        gates=THREE_GATES,
    ),
    "rates": Study(
        "every gate, loss and k at its own rate, on the test seeds",
        k=RATE_K,
        losses=BOTH_LOSSES,
        gates=THREE_GATES,
        rates=None,
    ),
    "rates_no_penalty_tuning": Study(
        "five learning rates without velocity penalty, on the tuning seeds",
        k=TABLE_K,
        seeds=TUNING_SEEDS,
        lambda_ic=(0,),
        losses=BOTH_LOSSES,
        rates=RATES,
        first_seed=FIRST_TUNING_SEED,
    ),
    "rates_no_penalty_published": Study(
        "the published rate without velocity penalty, on the test seeds",
        k=TABLE_K,
        lambda_ic=(0,),
        losses=BOTH_LOSSES,
    ),
    "rates_no_penalty": Study(
        "every gate, loss and k at its own rate, without velocity penalty, on the test seeds",
        k=TABLE_K,
        lambda_ic=(0,),
        losses=BOTH_LOSSES,
        rates=None,
    ),
    "decay": Study(
        "cosine decay from the published rate", k=THREE_K, changes={"schedule": "cosine"}
    ),
    "decay_own": Study(
        "cosine decay from each gate's own rate",
        k=THREE_K,
        rates=None,
        changes={"schedule": "cosine"},
    ),
    "weights": Study(
        "fixed weights of the two components, and balancing with frozen scales",
        k=THREE_K,
        lambda_ic=(0, 50),
        losses=(
            *(f"weighted(weights=(1.0, {weight}))" for weight in WEIGHTS),
            "balanced(frozen=True)",
        ),
    ),
    "no_gate_tuning": Study(
        "an ansatz without a gate at five learning rates, on the tuning seeds",
        k=FOUR_K,
        seeds=TUNING_SEEDS,
        losses=BOTH_LOSSES,
        gates=("none",),
        forms=("shifted", "soft"),
        rates=RATES,
        first_seed=FIRST_TUNING_SEED,
    ),
    "no_gate": Study(
        "an ansatz without a gate at its own rate, on the test seeds",
        k=FOUR_K,
        losses=BOTH_LOSSES,
        gates=("none",),
        forms=("shifted", "soft"),
        rates=None,
    ),
    "recipe_tuning": Study(
        "cosine decay from three learning rates, on the tuning seeds",
        k=FOUR_K,
        seeds=TUNING_SEEDS,
        losses=BOTH_LOSSES,
        gates=THREE_GATES,
        rates=(1e-3, 3e-3, 1e-2),
        changes={"schedule": "cosine"},
        first_seed=FIRST_TUNING_SEED,
    ),
    "recipe": Study(
        "the recipe so chosen, on the test seeds",
        k=RATE_K,
        losses=(RECIPE["loss"],),
        gates=(RECIPE["gate"],),
        rates=(RECIPE["lr"],),
        changes={"schedule": RECIPE["schedule"]},
    ),
    "lbfgs": Study(
        "Adam in float64, then 2,000 iterations of L-BFGS",
        k=FOUR_K,
        seeds={"adaptive": (10, {})},
        changes={"precision": "float64", "lbfgs": 2000},
    ),
    **{
        f"{system}_tuning": Study(
            f"{system} at five learning rates, on the tuning seeds",
            k=ks,
            seeds=TUNING_SEEDS,
            losses=BOTH_LOSSES,
            rates=RATES,
            system=system,
            first_seed=FIRST_TUNING_SEED,
        )
        for system, ks in SYSTEM_K.items()
    },
    **{
        system: Study(
            f"{system} at the published rate, on the test seeds",
            k=ks,
            losses=BOTH_LOSSES,
            system=system,
        )
        for system, ks in SYSTEM_K.items()
    },
    **{
        f"{system}_own": Study(
            f"{system} at each gate's own rate, on the test seeds",
            k=ks,
            losses=BOTH_LOSSES,
            rates=None,
            system=system,
        )
        for system, ks in SYSTEM_K.items()
    },
    "table": Study("the runs behind the published table of tests", k=TABLE_K, lambda_ic=(0, 50)),
}
