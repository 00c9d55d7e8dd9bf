"""The gates in other systems (notebook 09): errors, contrasts, verdicts and their words.

Mathematics in the texts stands between dollars.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from pinnlib.analysis.contrasts import contrasts, ratio_texts
from pinnlib.analysis.estimates import BOOTSTRAP
from pinnlib.metrics import standing_still_metrics
from pinnlib.report.gate_rules import score
from pinnlib.report.system_rules import RULES, is_solved, reverses
from pinnlib.runs.record import Records
from pinnlib.runs.table import runs_of
from pinnlib.spec import RunSpec

CASE = ["system", "rate", "loss"]  # one verdict
CELL = [*CASE, "k"]  # one contrast of the gates
SYSTEM_NAMES = {
    "henon_heiles": "Hénon–Heiles",
    "quartic": "the quartic oscillator",
    "van_der_pol": "van der Pol",
}
STIFFNESS_SYMBOLS = {"henon_heiles": "k", "quartic": "k", "van_der_pol": r"\mu"}
RATE_NAMES = {"published": "the published rate", "own": "each gate's own rate"}
LOSS_NAMES = {"balanced": "balanced loss", "mse": "plain loss"}
# Answer of the rule → the clause before the cases that have it.
CLAUSES = {
    "reverses": "the winner changes with the stiffness in",
    "exp throughout": "only the exponential gate is ever significantly better in",
    "linear throughout": "only the linear gate is ever significantly better in",
    "no difference": "the gates do not differ significantly in",
    "nothing solved": "no stiffness is solved in",
    "open": "runs are missing in",
}


def rule_list() -> str:
    """The questions of notebook 09 and their rules, as a list in Markdown."""
    return "\n".join(f"- **{rule['question']}** {rule['rule'].strip()}" for rule in RULES.values())


def system_runs(specs: Mapping[str, Sequence[RunSpec]], records: Records) -> pd.DataFrame:
    """The runs of all studies of `specs`, with the `rate`: "own" if the study's name says so."""
    parts = []
    for study, part in specs.items():
        rate = "own" if study.endswith("_own") else "published"
        parts.append(runs_of(part, records).assign(rate=rate))
    return pd.concat(parts, ignore_index=True)


def errors_at_rest(stiffnesses: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """One row per system and k: the metrics of standing still."""
    rows = []
    for system, ks in stiffnesses.items():
        for k in ks:
            spec = RunSpec(system=system, k=k)
            row = {"system": system, "k": spec.k}
            row |= standing_still_metrics(spec.system_object, spec.reference.q)
            rows.append(row)
    return pd.DataFrame(rows)


def median_interval(values: pd.Series) -> tuple[float, float, float]:
    """(median, low, high) with the bootstrap 95% interval; NaN if a value is missing."""
    if values.isna().any() or len(values) < 2:
        return np.nan, np.nan, np.nan
    sample = stats.bootstrap((values.to_numpy(),), np.median, rng=0, **BOOTSTRAP)
    low, high = sample.confidence_interval
    return float(values.median()), float(low), float(high)


def system_errors(runs: pd.DataFrame, still: pd.DataFrame) -> pd.DataFrame:
    """Per cell and gate: runs that are ok, median errors with interval, and standing still.

    A median is NaN unless all runs are ok.
    """
    metrics = [name for name in still if name.startswith("rel_l2_")]
    runs = runs.reindex(columns=list(dict.fromkeys([*runs, *metrics])))
    ok = runs["status"] == "ok"
    rows = []
    for cell, part in runs.groupby([*CELL, "gate"]):
        row = dict(zip([*CELL, "gate"], cell, strict=True))
        row |= {"lr": part["lr"].iloc[0], "needed": len(part), "ok": int(ok[part.index].sum())}
        errors = part[metrics].where(ok[part.index])
        row["rel_l2_u"], row["low"], row["high"] = median_interval(errors["rel_l2_u"])
        for name in metrics[1:]:
            row[name] = errors[name].median(skipna=False)
        rows.append(row)
    at_rest = still[["system", "k", *metrics]]
    at_rest = at_rest.rename(columns={name: f"still_{name}" for name in metrics})
    return pd.DataFrame(rows).merge(at_rest, on=["system", "k"], validate="m:1")


def system_contrasts(runs: pd.DataFrame, errors: pd.DataFrame) -> pd.DataFrame:
    """Linear over exp in every cell, Holm over all, and `solved`: "yes", "no" or "open".

    "open" means that a run is not ok: the cell stays, so that its verdict is open too.
    """
    table = contrasts(runs, [("exp", "linear")], by=CELL)
    medians = errors.pivot(index=CELL, columns="gate", values="rel_l2_u")
    still = errors.groupby(CELL)["still_rel_l2_u"].first()
    solved = is_solved(medians, still).map({True: "yes", False: "no"})
    solved = solved.mask(medians.isna().any(axis=1), "open")
    cells = pd.DataFrame({"solved": solved, "still": still}).reset_index()
    return table.merge(cells, on=CELL, validate="1:1")


def compared_cells(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `system_contrasts` that count: all but the unsolved ones."""
    return table[table["solved"] != "no"]


def widest_gap(table: pd.DataFrame) -> pd.Series | None:
    """The row with the largest gap between the gates at a solved stiffness; None without one."""
    compared = compared_cells(table)
    sizes = np.log(compared["ratio"]).abs().dropna()
    return None if sizes.empty else compared.loc[sizes.idxmax()]


def system_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Per system, rate and loss: answer, solved stiffnesses, wins of either gate, widest gap."""
    rows = []
    for case, part in table.groupby(CASE):
        compared = compared_cells(part)
        row = dict(zip(CASE, case, strict=True))
        row["answer"] = reverses(compared)
        row["solved"] = int((part["solved"] == "yes").sum())
        row["asked"] = len(part)
        row["exp_better"], row["linear_better"] = score(compared)
        widest = widest_gap(part)
        for name in ("k", "ratio", "low", "high", "p_holm"):
            row[name] = np.nan if widest is None else widest[name]
        rows.append(row)
    return pd.DataFrame(rows)


def verdict_overview(verdicts: pd.DataFrame) -> pd.DataFrame:
    """A row per system and loss, a column per rate: the answer and how much is solved."""
    texts = [f"{row.answer} ({row.solved} of {row.asked} solved)" for row in verdicts.itertuples()]
    wide = verdicts.assign(text=texts).pivot(index=["system", "loss"], columns="rate")["text"]
    wide = wide[[rate for rate in RATE_NAMES if rate in wide]]
    return wide.rename(columns=RATE_NAMES).rename_axis(columns=None)


def ratio_overview(table: pd.DataFrame) -> pd.DataFrame:
    """A row per system, loss and rate: ratio with interval at the four stiffnesses, in order.

    A cell that is not solved is in brackets.
    """
    texts = []
    for ratio, solved in zip(ratio_texts(table), table["solved"], strict=True):
        texts.append(f"({ratio})" if solved == "no" else ratio)
    order = table.groupby(CASE)["k"].rank(method="dense").astype(int)
    rows = table.assign(text=texts, place=order.map("k{}".format))
    wide = rows.pivot(index=["system", "loss", "rate"], columns="place", values="text")
    return wide.rename_axis(columns=None)


def rate_overview(errors: pd.DataFrame) -> pd.DataFrame:
    """A row per system and loss, a column per gate: its own rates at the stiffnesses, in order."""
    own = errors[errors["rate"] == "own"].sort_values("k")
    rates = own.groupby(["system", "loss", "gate"])["lr"].agg(
        lambda values: ", ".join(map("{:g}".format, values))
    )
    return rates.unstack("gate").rename_axis(columns=None)


def component_overview(errors: pd.DataFrame, system: str) -> pd.DataFrame:
    """Median errors of each component by loss, k, rate and gate, and of standing still."""
    names = RunSpec(system=system).system_object.components
    columns = [f"rel_l2_{name}" for name in names]
    part = errors[errors["system"] == system]
    wide = part.pivot(index=["loss", "k"], columns=["rate", "gate"], values=columns)
    still = part.groupby(["loss", "k"])[[f"still_{name}" for name in columns]].first()
    still.columns = pd.MultiIndex.from_product([columns, ["standing still"], [""]])
    return pd.concat([wide, still], axis=1).sort_index(axis=1).round(3)


def _cases(part: pd.DataFrame) -> str:
    """ "Hénon–Heiles (both losses) and van der Pol (plain loss)"."""
    texts = []
    for system, losses in part.groupby("system")["loss"]:
        loss = "both losses" if len(losses) > 1 else LOSS_NAMES[losses.iloc[0]]
        texts.append(f"{SYSTEM_NAMES[system]} ({loss})")
    if len(texts) == len(SYSTEM_NAMES) and len(part) == 2 * len(texts):
        return "all three systems under both losses"
    if len(texts) > 2:
        return f"{', '.join(texts[:-1])} and {texts[-1]}"
    return " and ".join(texts)


def verdict_sentence(verdicts: pd.DataFrame, rate: str) -> str:
    """What each system and loss shows at one rate."""
    at_rate = verdicts[verdicts["rate"] == rate]
    clauses = []
    for answer, clause in CLAUSES.items():
        part = at_rate[at_rate["answer"] == answer]
        if not part.empty:
            clauses.append(f"{clause} {_cases(part)}")
    return f"At {RATE_NAMES[rate]}, {'; '.join(clauses)}."


def count_sentence(verdicts: pd.DataFrame) -> str:
    """In how many combinations of system and loss the winner changes, at either rate."""
    texts = []
    for rate, name in RATE_NAMES.items():
        answers = verdicts.loc[verdicts["rate"] == rate, "answer"]
        text = f"in {(answers == 'reverses').sum()} of {len(answers)} at {name}"
        missing = (answers == "open").sum()
        texts.append(f"{text} ({missing} open)" if missing else text)
    return (
        "Of the combinations of system and loss, the winner changes with the stiffness"
        f" {' and '.join(texts)}."
    )


def widest_sentence(table: pd.DataFrame) -> str:
    """How many cells are solved, and the widest gap among them."""
    solved = (table["solved"] == "yes").sum()
    text = f"In {solved} of {len(table)} cells at least one gate beats standing still"
    row = widest_gap(table)
    if row is None:
        return f"{text}, so there is nothing to compare." if solved == 0 else f"{text}."
    winner = "exponential" if row["ratio"] > 1 else "linear"
    ends = np.array([row["low"], row["ratio"], row["high"]])
    if row["ratio"] < 1:
        ends = 1 / ends[::-1]
    low, factor, high = ends
    stiffness = f"${STIFFNESS_SYMBOLS[row['system']]} = {row['k']:g}$"
    where = f"{SYSTEM_NAMES[row['system']]}, {LOSS_NAMES[row['loss']]}, {stiffness}"
    return (
        f"{text}; the widest gap among these is a factor {factor:.2f} [{low:.2f}, {high:.2f}] in"
        f" favour of the {winner} gate ({where}, {RATE_NAMES[row['rate']]};"
        f" corrected $p$ {row['p_holm']:.1g})."
    )


def system_numbers(verdicts: pd.DataFrame, table: pd.DataFrame) -> dict[str, object]:
    """What the paper quotes of the other systems."""
    numbers: dict[str, object] = {
        "system_cells": len(table),
        "system_solved": (table["solved"] == "yes").sum(),
        "system_answer_widest": widest_sentence(table),
    }
    for rate in RATE_NAMES:
        answers = verdicts.loc[verdicts["rate"] == rate, "answer"]
        numbers[f"system_reversals_{rate}"] = (answers == "reverses").sum()
        numbers[f"system_answer_{rate}"] = verdict_sentence(verdicts, rate)
    return numbers
