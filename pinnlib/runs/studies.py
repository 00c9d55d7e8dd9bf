"""Which runs each study needs: data, from which the list of specifications follows.

Imports the standard library only, until specifications are asked for: the command line knows the studies from here before torch is loaded.
"""

from dataclasses import asdict, dataclass, field

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


MOST = 1000  # seeds of a cell
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

    def specs(self, seeds=None, steps=None):
        """Every run of the study, once; `seeds` caps the number of seeds, `steps` are the updates of a whole run (few in a smoke test)."""
        from .spec import RunSpec

        steps = RunSpec.steps if steps is None else steps
        return [
            RunSpec(
                model=model,
                gate=gate,
                k=k,
                seed=seed,
                steps=max(1, round(stage * steps)),
                lambda_ic=lambda_ic,
                loss=self.loss,
                **self.changes,
            )
            for stage in self.stages
            for model, (usual, exceptions) in self.seeds.items()
            for lambda_ic in self.lambda_ic
            for k in self.k
            for seed in range(
                self.first_seed,
                self.first_seed + min(exceptions.get(k, usual), MOST if seeds is None else seeds),
            )
            for gate in self.gates
        ]


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


def specs_of(*studies, seeds=None, steps=None):
    """The distinct runs that the named studies need, in order; options as for `Study.specs`."""
    from .named import check, is_whole

    check(
        "seeds", seeds, seeds is None or is_whole(seeds, 1), "a whole number >= 1, or None for all"
    )
    check(
        "steps",
        steps,
        steps is None or is_whole(steps, 1),
        "a whole number >= 1, or None for those of the study",
    )
    for study in studies:
        check("study", study, study in STUDIES, f"one of {', '.join(STUDIES)}")
    return list(
        dict.fromkeys(spec for study in studies for spec in STUDIES[study].specs(seeds, steps))
    )


def runs_of(specs, records):
    """One row per spec, as `record.table` gives it; a run without a record is there too, with status "missing"."""
    from .named import check
    from .record import table

    check(
        "records",
        type(records).__name__,
        isinstance(records, dict),
        "records by key, as Journal(folder).load() and sweep(…).records are",
    )
    found = {spec.key: records[spec.key] for spec in specs if spec.key in records}
    absent = {
        s.key: {"key": s.key, "spec": asdict(s), "status": "missing", "numerics": None}
        for s in specs
        if s.key not in records
    }
    return table(found | absent)
