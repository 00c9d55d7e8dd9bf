"""L-BFGS after Adam, and what each method costs (notebook 09): tables and their words.

Mathematics in the texts stands between dollars.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import contrasts, family, ratio_texts
from pinnlib.analysis.estimates import BOOTSTRAP
from pinnlib.reference import RTOL
from pinnlib.report import gate_rules
from pinnlib.report.phrases import OPEN, effect_phrase, factor_phrase, join_words, share_phrase
from pinnlib.report.second_order import read_minimised_runs
from pinnlib.runs.record import Records, history_of
from pinnlib.runs.table import runs_of
from pinnlib.spec import RunSpec

ADAM = "Adam"
REFINED = "Adam + L-BFGS"
NEWTON = "Levenberg–Marquardt"
SOLVER = "DOP853"
RUN = ["k", "gate", "seed"]
ERRORS = ["rel_l2_u", "rel_l2_r", "rel_l2_theta"]
POINT = ["method", *RUN, "rtol", "seconds", "rel_l2_u", "rel_l2_theta"]
Methods = Mapping[str, pd.DataFrame]  # method → its runs
HELP_CLAUSES = {
    "helps": "L-BFGS after Adam helps",
    "hurts": "L-BFGS after Adam hurts",
    "mixed": "L-BFGS after Adam helps in some cases and hurts in others",
    "better only": "L-BFGS after Adam helps in some cases and hurts in none",
    "worse only": "L-BFGS after Adam hurts in some cases and helps in none",
    "no difference": "L-BFGS after Adam makes no significant difference",
}
GAP_CLAUSES = {
    "yes": "closes the gap between the gates",
    "partly": "closes part of the gap between the gates",
    "no": "does not close the gap between the gates",
}


def trained_runs(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """The runs of the specs, with all errors of the spring-pendulum even if none is on record."""
    runs = runs_of(specs, records)
    return runs.reindex(columns=list(dict.fromkeys([*runs, *ERRORS])))


def newton_runs(path: Path, seeds: int, rounds: int) -> pd.DataFrame:
    """The Levenberg–Marquardt runs of the adaptive trunk on file; no row if there is no file."""
    if not path.exists():
        return pd.DataFrame(columns=[*RUN, "status", "evaluations", *ERRORS])
    table = read_minimised_runs(path, min(seeds, 10), rounds)
    return table[(table["model"] == "adaptive") & (table["rounds"] == rounds)]


def read_benchmark(path: Path) -> dict[str, Any]:
    """The benchmark, or {} if there is no file."""
    return json.loads(path.read_text()) if path.exists() else {}


def refinement_contrasts(adam: pd.DataFrame, refined: pd.DataFrame) -> list[pd.DataFrame]:
    """[L-BFGS against Adam per gate and k, the gates after Adam, after L-BFGS]; one family."""
    parts = [adam.assign(method=ADAM), refined.assign(method=REFINED)]
    both = pd.concat(parts, ignore_index=True)
    against_adam = contrasts(both, [(REFINED, ADAM)], "method", ("k", "gate"))
    gates = [contrasts(part, [("exp", "linear")]) for part in parts]
    return family(against_adam, *gates)


def _log_ratios(runs: pd.DataFrame) -> np.ndarray:
    """Log of error linear over exp, (seeds, k); NaN where a run is not ok."""
    error = runs["rel_l2_u"].where(runs["status"] == "ok").astype(float)
    wide = runs.assign(error=error).pivot(index="seed", columns=["gate", "k"], values="error")
    return np.log(wide["linear"] / wide["exp"]).to_numpy()


def gap_left(adam: pd.DataFrame, refined: pd.DataFrame) -> tuple[float, float, float]:
    """Share of Adam's median gap that L-BFGS leaves, with its bootstrap 95% interval over seeds."""
    logs = [_log_ratios(adam), _log_ratios(refined)]
    if not all(np.isfinite(log).all() for log in logs):
        return np.nan, np.nan, np.nan
    seeds = len(logs[0])
    draws = np.random.default_rng(0).integers(seeds, size=(BOOTSTRAP["n_resamples"], seeds))
    draws = np.vstack([np.arange(seeds), draws])  # the first is the sample itself
    gaps = []
    for log in logs:
        medians = np.median(log[draws], axis=1)  # (samples, k)
        gaps.append(np.median(np.abs(medians), axis=1))
    shares = gaps[1] / gaps[0]
    low, high = np.quantile(shares[1:], [0.025, 0.975])
    return float(shares[0]), float(low), float(high)


def lbfgs_iterations(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """Per run on record: the iterations of L-BFGS, and whether it stopped before the limit."""
    rows = []
    for spec in specs:
        record = records.get(spec.key, {})
        if "history" in record:
            last = history_of(record)["update"].iloc[-1]
            taken = int(last) - spec.steps
            row = spec.select(*RUN)
            rows.append(row | {"iterations": taken, "stopped": taken < spec.lbfgs})
    return pd.DataFrame(rows, columns=[*RUN, "iterations", "stopped"])


def method_errors(methods: Methods) -> pd.DataFrame:
    """Per method, k and gate: runs, median errors of state and components; NaN if one is not ok."""
    rows = []
    for method, runs in methods.items():
        ok = runs["status"] == "ok"
        for (k, gate), part in runs.groupby(["k", "gate"]):
            row = {"method": method, "k": k, "gate": gate, "runs": len(part)}
            errors = part[ERRORS].where(ok[part.index])
            rows.append(row | errors.median(skipna=False).to_dict())
    return pd.DataFrame(rows)


def method_overview(errors: pd.DataFrame, still: pd.DataFrame) -> pd.DataFrame:
    """The `method_errors` of state and angle, a row per k and gate, and those of standing still."""
    metrics = ["rel_l2_u", "rel_l2_theta"]
    at_rest = still.set_index("k")[metrics]
    wide = errors.pivot(index=["k", "gate"], columns="method", values=metrics)
    for metric in metrics:
        wide[metric, "standing still"] = at_rest[metric].reindex(wide.index, level="k")
    return wide.sort_index(axis=1).round(4)


def ratio_wide(against_adam: pd.DataFrame, gates: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """A row per k: Adam over L-BFGS for each gate, and linear over exp after either method."""
    texts = against_adam.assign(text=ratio_texts(against_adam))
    wide = texts.pivot(index="k", columns="gate", values="text")
    wide = wide.rename(columns="Adam over L-BFGS, {}".format).rename_axis(columns=None)
    for method, table in zip((ADAM, REFINED), gates, strict=True):
        wide[f"linear over exp, {method}"] = ratio_texts(table)
    return wide


def cost_points(methods: Methods, benchmark: Mapping[str, Any]) -> pd.DataFrame:
    """Seconds and errors: a row per run that is ok, and one per tolerance of DOP853.

    Seconds of Levenberg–Marquardt are its evaluations times the seconds of one in the benchmark.
    Without a benchmark it has none, and DOP853 no row.
    """
    parts = []
    for method, runs in methods.items():
        part = runs[runs["status"] == "ok"].assign(method=method, rtol=np.nan)
        if method == NEWTON:
            of_one = benchmark.get("levenberg_marquardt", {}).get("seconds_per_evaluation", {})
            part["seconds"] = part["evaluations"] * part["gate"].map(of_one).astype(float)
        parts.append(part.to_dict("records"))
    for row in benchmark.get("dop853", []):
        if row["rtol"] > RTOL:  # at RTOL it is the reference itself
            parts.append([row | {"method": SOLVER}])
    rows = [row for part in parts for row in part]
    return pd.DataFrame(rows, columns=POINT)


def median_costs(points: pd.DataFrame) -> pd.DataFrame:
    """Median seconds and errors per trained method, gate and k."""
    trained = points[(points["method"] != SOLVER) & points["seconds"].notna()]
    columns = ["seconds", "rel_l2_u", "rel_l2_theta"]
    medians = trained.groupby(["method", "gate", "k"], as_index=False)[columns].median()
    return medians.astype(dict.fromkeys(columns, float))


def cost_table(points: pd.DataFrame, k: float) -> pd.DataFrame:
    """The `median_costs` at k, then DOP853 by tolerance, with two digits."""
    medians = median_costs(points)
    medians = medians[medians["k"] == k].rename(columns={"gate": "variant"})
    solver = points[(points["method"] == SOLVER) & (points["k"] == k)]
    solver = solver.assign(variant=solver["rtol"].map("rtol {:.0e}".format))
    rows = [*medians.to_dict("records"), *solver.to_dict("records")]
    columns = ["seconds", "rel_l2_u", "rel_l2_theta"]
    table = pd.DataFrame(rows, columns=["method", "variant", *columns])
    return table.set_index(["method", "variant"]).map("{:.2g}".format)


def help_clause(answer: str, table: pd.DataFrame) -> str:
    """The verdict in words; where it is mixed, whether L-BFGS is ever better, or ever worse."""
    if answer == "mixed":
        better, worse = gate_rules.score(table)
        if not better and not worse:
            answer = "no difference"
        elif not worse:
            answer = "better only"
        elif not better:
            answer = "worse only"
    return HELP_CLAUSES[answer]


def help_evidence(table: pd.DataFrame) -> str:
    """In how many comparisons L-BFGS lowers the error, and its largest gain."""
    better, _ = gate_rules.score(table)
    largest = table.loc[table["ratio"].idxmax()]
    return (
        f"it lowers the error significantly in {share_phrase(better, len(table), 'comparison')}"
        f" (Adam/L-BFGS at most {effect_phrase(largest)})"
    )


def gap_clause(answer: str, left: tuple[float, float, float]) -> str:
    """Whether L-BFGS closes the gap, with the share that is left on a logarithmic scale."""
    share, low, high = left
    return f"{GAP_CLAUSES[answer]} ({share:.0%} [{low:.0%}, {high:.0%}] of the median gap is left)"


def widened_clause(gates: Sequence[pd.DataFrame]) -> str:
    """Where L-BFGS makes the gap between the gates wider; `gates` are those after either method."""
    after_adam, refined = (table.set_index("k")["ratio"] for table in gates)
    wider = np.log(refined).abs() > np.log(after_adam).abs()
    places = []
    for k in wider.index[wider]:
        places.append(f"$k = {k:g}$ (linear/exp {after_adam[k]:.2f} to {refined[k]:.2f})")
    return f", but widens it at {join_words(places)}" if places else ""


def practice_answer(
    answers: tuple[str, str],
    table: pd.DataFrame,
    gates: Sequence[pd.DataFrame],
    left: tuple[float, float, float],
    points: pd.DataFrame,
    k: float = 60,
) -> str:
    """What do people do in practice? L-BFGS after Adam, then the cost beside DOP853 at k.

    `answers` are those of the rules `lbfgs_helps` and `gap_closes`; `gates` compares the gates
    after either method.
    """
    helps, closes = answers
    cost = solver_sentence(points, k)
    if "open" in answers:
        return f"{OPEN} {cost}"
    return (
        f"{help_clause(helps, table)}: {help_evidence(table)}. It"
        f" {gap_clause(closes, left)}{widened_clause(gates)}. {cost}"
    )


def cheapest_solution(points: pd.DataFrame, k: float, error: float) -> pd.Series | None:
    """The fastest DOP853 solution at k with at most this error, or None."""
    solver = points[(points["method"] == SOLVER) & (points["k"] == k)]
    enough = solver[solver["rel_l2_u"] <= error]
    return None if enough.empty else enough.loc[enough["seconds"].idxmin()]


def solver_sentence(points: pd.DataFrame, k: float) -> str:
    """DOP853 beside the best trained network at k, in factors rounded so that machines agree."""
    medians = median_costs(points)
    medians = medians[medians["k"] == k]
    if medians.empty:
        return f"What training costs at $k = {k:g}$ is open: runs are missing."
    best = medians.loc[medians["rel_l2_u"].idxmin()]
    solved = cheapest_solution(points, k, best["rel_l2_u"])
    if solved is None:
        return "./run_all.sh bench measures what DOP853 takes beside it."
    faster = factor_phrase(best["seconds"] / solved["seconds"])
    better = factor_phrase(best["rel_l2_u"] / solved["rel_l2_u"])
    parts = []
    if faster:
        parts.append(f"{faster} faster")
    if better:
        parts.append(f"{better} more accurate")
    compared = " and ".join(parts) or "not clearly faster or more accurate"
    return f"At $k = {k:g}$ DOP853 is {compared} than the best trained network."


def stop_sentence(stops: pd.DataFrame, newton: pd.DataFrame, most: int) -> str:
    """How many L-BFGS runs stopped early, and how many of Levenberg–Marquardt not at all."""
    early = share_phrase(stops["stopped"].sum(), len(stops), "L-BFGS run")
    text = f"{early[0].upper()}{early[1:]} stopped before the last allowed iteration"
    if newton.empty:
        return f"{text}; no Levenberg–Marquardt run is on file."
    used_up = share_phrase((newton["evaluations"] >= most).sum(), len(newton), "run")
    return f"{text}. Levenberg–Marquardt used every allowed evaluation, unconverged, in {used_up}."
