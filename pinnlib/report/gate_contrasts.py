"""The contrasts of notebook 06: which runs each question compares.

Questions are decided by the error of the state; the angle's ratios stand beside (`angle_…`).
"""

import itertools
from collections.abc import Mapping, Sequence

import pandas as pd

from pinnlib.analysis.contrasts import (
    contrasts,
    each_under_its_own,
    family,
    preferred,
)
from pinnlib.analysis.samples import summary_table
from pinnlib.registry import UserError
from pinnlib.report.phrases import join_words
from pinnlib.report.published import PAPER_GATES
from pinnlib.report.standing_still import ANGLE
from pinnlib.runs.record import Records
from pinnlib.runs.studies import FOUR_K, TEN_GATES
from pinnlib.runs.table import runs_of
from pinnlib.spec import RunSpec

Runs = Mapping[str, pd.DataFrame]  # study → its runs
ESTIMATE = ("ratio", "low", "high")
STATE_AND_ANGLE = ("rel_l2_u", ANGLE)
AMPLITUDE = [("exp", "exp(scale=10.0)"), ("linear", "linear(scale=0.1)")]
SHAPE = [("linear", "exp(scale=10.0)"), ("linear(scale=0.1)", "exp")]
OPTIMISER_SEEDS = 10


def runs_by_study(
    specs: Mapping[str, Sequence[RunSpec]], records: Records
) -> dict[str, pd.DataFrame]:
    """Study → its runs; of `expanded` the stiffnesses and seeds that the other optimisers have."""
    runs = {}
    for study, part in specs.items():
        runs[study] = runs_of(part, records).astype({"k": int})
    expanded = runs["expanded"]
    shared = expanded["k"].isin(FOUR_K) & (expanded["seed"] < OPTIMISER_SEEDS)
    return runs | {"expanded": expanded[shared]}


def validate_studies(specs: Mapping[str, Sequence[RunSpec]], records: Records, steps: int) -> None:
    """Stop where a study has no run on record: the notebook has nothing to compare then."""
    absent = []
    for study, part in specs.items():
        if not any(spec.key in records for spec in part):
            absent.append(study)
    if absent:
        needed = {spec.key for part in specs.values() for spec in part}
        found = len(needed & set(records))
        raise UserError(
            f"steps = {steps}: {found:,} of the {len(needed):,} runs that are needed are on record,"
            f" and none of the studies {join_words(absent)}; train_missing = True trains them"
        )


def distinct_runs(runs: Runs) -> pd.DataFrame:
    """The runs of all studies, each once."""
    return pd.concat(runs.values(), ignore_index=True).drop_duplicates("key")


def run_numbers(runs: Runs) -> dict[str, int]:
    """How many runs there are, and how many seeds."""
    return {
        "gate_runs": len(distinct_runs(runs)),
        "gate_seeds": runs["gates"]["seed"].nunique(),
    }


def state_and_angle(
    runs: pd.DataFrame,
    pairs: Sequence[tuple],
    column: str = "gate",
    by: Sequence[str] = ("k",),
    metrics: tuple[str, str] = STATE_AND_ANGLE,
) -> pd.DataFrame:
    """`contrasts` of the first metric, with ratio and interval of the second as `angle_…`."""
    state, angle = (contrasts(runs, pairs, column, by, metric) for metric in metrics)
    return state.join(angle[[*ESTIMATE]].add_prefix("angle_"))


def factor_contrasts(gates: pd.DataFrame) -> pd.DataFrame:
    """Gates that differ in amplitude or in shape, as `factor` says; one family."""
    table = state_and_angle(gates, AMPLITUDE + SHAPE)
    pairs = zip(table["first"], table["second"], strict=True)
    table["factor"] = ["amplitude" if pair in AMPLITUDE else "shape" for pair in pairs]
    return table


def alphas() -> dict[str, float]:
    """Gate → α, for the gates 1 − exp(−αt) of the study."""
    unscaled = [gate for gate in TEN_GATES if gate.startswith("exp") and "scale" not in gate]
    return {gate: RunSpec(gate=gate).gate_object.alpha for gate in unscaled}


def runs_by_alpha(gates: pd.DataFrame) -> pd.DataFrame:
    """The runs of the gates 1 − exp(−αt), with `alpha`."""
    return gates.assign(alpha=gates["gate"].map(alphas())).dropna(subset="alpha")


def alpha_medians(gates: pd.DataFrame) -> pd.DataFrame:
    """α × k → median error of the state, NaN where a run is not ok."""
    cells = summary_table(runs_by_alpha(gates), "rel_l2_u")
    cells["alpha"] = cells["gate"].map(alphas())
    return cells.pivot(index="alpha", columns="k", values="median")


def losses_compared(runs: Runs) -> dict[str, pd.DataFrame]:
    """Loss → runs of the ten gates, over the seeds that both losses have."""
    common = runs["gates"]["seed"].isin(runs["gates_mse"]["seed"])
    return {"balanced": runs["gates"][common], "mse": runs["gates_mse"]}


def budget_runs(runs: Runs) -> pd.DataFrame:
    """The published gates after the usual and after more updates, at the same k and seeds."""
    longer = runs["budget"]
    usual = _published(runs["gates"])
    shared = usual["k"].isin(longer["k"]) & usual["seed"].isin(longer["seed"])
    return pd.concat([usual[shared], longer], ignore_index=True)


def velocity_contrasts(runs: Runs) -> list[pd.DataFrame]:
    """[hard velocity against penalty per k and gate, the gates with a hard velocity]; a family."""
    hard = runs["hard_velocity"].assign(velocity="hard")
    penalty = _published(runs["gates"]).assign(velocity="penalty")
    both = pd.concat([penalty, hard], ignore_index=True)
    against_penalty = state_and_angle(both, [("hard", "penalty")], "velocity", ("k", "gate"))
    return family(against_penalty, state_and_angle(hard, [PAPER_GATES]))


def trajectory_contrasts(own: pd.DataFrame) -> pd.DataFrame:
    """A run against the solution with its own initial velocity and against the reference."""
    parts = []
    for against, prefix in (("own", "own_"), ("reference", "")):
        errors = {f"error_{name}": own[f"{prefix}{name}"] for name in STATE_AND_ANGLE}
        parts.append(own.assign(against=against, **errors))
    both = pd.concat(parts, ignore_index=True)
    metrics = (f"error_{STATE_AND_ANGLE[0]}", f"error_{STATE_AND_ANGLE[1]}")
    return state_and_angle(both, [("own", "reference")], "against", ("k", "gate"), metrics)


def optimiser_contrasts(methods: Runs) -> dict[str, pd.DataFrame]:
    """Optimiser → contrasts of the published gates per model and k; all are one family."""
    tables = [state_and_angle(part, [PAPER_GATES], by=("model", "k")) for part in methods.values()]
    return dict(zip(methods, family(*tables), strict=True))


def compare(runs: Runs, own: pd.DataFrame, methods: Runs) -> dict[str, pd.DataFrame]:
    """Question → its contrasts; `own` as of `with_own_trajectory`, `methods` by optimiser."""
    factors = factor_contrasts(runs["gates"])
    against_penalty, hard_gates = velocity_contrasts(runs)
    under = losses_compared(runs)
    by_method = optimiser_contrasts(methods)
    return {
        "amplitude: original, changed": factors[factors["factor"] == "amplitude"],
        "shape: straight, saturating": factors[factors["factor"] == "shape"],
        "exp, linear: updates": state_and_angle(
            budget_runs(runs), [PAPER_GATES], by=("k", "steps")
        ),
        "hard, penalty": against_penalty,
        "exp, linear: hard velocity": hard_gates,
        "own, reference trajectory": trajectory_contrasts(own),
        "exp, linear: Lev.–Marquardt": by_method["Levenberg–Marquardt"],
        "alpha": state_and_angle(
            runs_by_alpha(runs["gates"]), list(itertools.combinations(alphas(), 2))
        ),
        "loss": each_under_its_own(under, preferred(under)),
        "exp, linear: Adam": by_method["Adam"],
        "exp, linear: SGD": by_method["SGD"],
    }


def contrast_table(compared: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All contrasts as one table, with a column `question`."""
    table = pd.concat(compared, names=["question", None])
    return table.reset_index("question")


def _published(gates: pd.DataFrame) -> pd.DataFrame:
    return gates[gates["gate"].isin(PAPER_GATES)]
