"""Answers of notebook 06: their evidence in words, and its tables for LaTeX.

Mathematics in the texts stands between dollars.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import contrasts, family, lost, ratio_texts, smallest
from pinnlib.report import gate_rules
from pinnlib.report.published import PAPER_GATES
from pinnlib.style import latex
from pinnlib.style.labels import gate_formula

Answers = Mapping[str, tuple[str, str]]  # rule → (answer, evidence)
Contrasts = Mapping[str, pd.DataFrame]  # optimiser → linear against exp per model and k


def _range(values: pd.Series) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


def factor_evidence(table: pd.DataFrame) -> str:
    """The size of either factor's effects, and how many of them are significant."""
    texts = []
    for factor, row in gate_rules.factor_sizes(table).iterrows():
        size = np.exp(row["size"])
        texts.append(f"{factor}: median factor {size:.2f}, {row['clear']:.0f} of 8 significant")
    return "; ".join(texts)


def best_alphas(medians: pd.DataFrame) -> str:
    """The α (index) with the smallest median error at each k (columns)."""
    best = smallest(medians).dropna()
    return ", ".join(f"{alpha:g} at $k = {k}$" for k, alpha in best.items()) or "open"


def alpha_evidence(table: pd.DataFrame, medians: pd.DataFrame) -> str:
    """The best α at each k, and how many contrasts each loses; `table` has α in place of gates."""
    losses = ", ".join(f"{count} ($α = {alpha}$)" for alpha, count in lost(table).items())
    return f"best $α$: {best_alphas(medians)}; significant losses, of 16: {losses}"


def loss_evidence(favourites: pd.DataFrame, answer: str) -> str:
    """At how many k the two losses prefer different gates."""
    differ = (favourites["balanced"] != favourites["mse"]).sum()
    return (
        "best of ten gates over ten seeds: not the same under both losses at"
        f" {differ} of {len(favourites)} $k$; each significantly better under its own {answer}"
    )


def budget_evidence(table: pd.DataFrame) -> str:
    """Every ratio with its p."""
    texts = []
    for row, ratio in zip(table.itertuples(), ratio_texts(table), strict=True):
        texts.append(f"{ratio} at $k = {row.k}$ after {row.steps:,} updates, $p$ {row.p_holm:.1g}")
    return f"ten seeds, linear/exp {'; '.join(texts)}"


def velocity_evidence(against_penalty: pd.DataFrame, gates: pd.DataFrame) -> str:
    """How often a hard velocity is better or worse, and at how many k the gates then differ."""
    better, worse = gate_rules.score(against_penalty)
    return (
        f"better in {better}, worse in {worse} of {len(against_penalty)}"
        f" (penalty/hard {_range(against_penalty['ratio'])});"
        f" with it the gates differ at {sum(gate_rules.score(gates))} of {len(gates)} $k$"
    )


def trajectory_evidence(table: pd.DataFrame) -> str:
    """The range of the ratios, and how many are large and significant."""
    return (
        "error against the reference over that against the run's own trajectory"
        f" {_range(table['ratio'])}; above 1.5 and significant in"
        f" {gate_rules.count_nearer(table)} of {len(table)}"
    )


def gap_evidence(tables: Contrasts) -> str:
    """The gap between the gates under every optimiser, and where it is not narrowed."""
    gaps = {method: np.exp(gate_rules.gap(table)) for method, table in tables.items()}
    factors = ", ".join(f"{gap:.2f} ({method})" for method, gap in gaps.items())
    rows = gate_rules.gaps_not_narrowed(tables["Levenberg–Marquardt"], tables["Adam"])
    kept = " and ".join(f"{row.model} at $k = {row.k}$" for row in rows.itertuples())
    return (
        f"ten seeds, median gap between the gates over trunks and $k$: a factor {factors};"
        " SGD: adaptive trunk only;"
        f" Levenberg–Marquardt does not narrow it for {kept or 'none'}"
    )


def optimiser_contrasts(runs: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Optimiser → contrasts of the published gates per model and k; all are one family."""
    tables = [contrasts(part, [PAPER_GATES], by=("model", "k")) for part in runs.values()]
    return dict(zip(runs, family(*tables), strict=True))


def optimiser_ratios(tables: Contrasts) -> pd.DataFrame:
    """A row per optimiser and model, a column per k: the ratios with their intervals, as text."""
    texts = [
        table.assign(method=method, ratio=ratio_texts(table)) for method, table in tables.items()
    ]
    wide = pd.concat(texts).pivot(index=["method", "model"], columns="k", values="ratio")
    return wide.rename_axis(columns=None).reset_index().fillna("")


def longer_ratios(ratios: pd.DataFrame, seeds: int) -> pd.DataFrame:
    """Ratios by k and number of rounds (columns), as further rows of `optimiser_ratios`."""
    rows = ratios.map("{:.2f}".format).T.rename_axis(columns=None)
    methods = [f"L–M, {seeds} seeds, {rounds} rounds" for rounds in rows.index]
    rows = rows.reset_index(drop=True)
    rows.insert(0, "method", methods)
    rows.insert(1, "model", "adaptive")
    return rows


def answer_table(answers: Answers) -> pd.DataFrame:
    """Question, Answer, Rests on and Rule of every answer."""
    rows = []
    for name, (answer, evidence) in answers.items():
        rule = gate_rules.RULES[name]
        long_answer = rule.get("answers", {}).get(answer, answer)
        rows.append((rule["question"], long_answer, evidence, rule["rule"]))
    return pd.DataFrame(rows, columns=["Question", "Answer", "Rests on", "Rule"])


def answer_numbers(answers: Answers) -> dict[str, str]:
    """gate_answer_one, …: the short answers."""
    return {f"gate_answer_{gate_rules.RULES[name]['number']}": answers[name][0] for name in answers}


def latex_answers(table: pd.DataFrame) -> str:
    """The answers of `answer_table` as LaTeX."""
    caption = (
        "Seven questions on gates and their answers by rules written beforehand;"
        " adaptive model, $\\lambda_{\\mathrm{IC}}=50$ unless said otherwise."
    )
    columns = table[["Question", "Answer", "Rests on"]].map(latex.escape)
    return latex.longtable(columns, [0.22, 0.16, 0.53], caption, "tab:gates")


def latex_rules(table: pd.DataFrame) -> str:
    """The rules of `answer_table` as LaTeX."""
    caption = (
        "The rules of Section~\\ref{sec:gates}; a contrast compares two variants over common seeds"
        " at one stiffness, Holm's correction runs over all contrasts of a question."
    )
    columns = table[["Question", "Rule"]].map(latex.escape)
    return latex.longtable(columns, [0.3, 0.65], caption, "tab:gaterules")


def latex_optimisers(ratios: pd.DataFrame) -> str:
    """`optimiser_ratios` as LaTeX, with a line before the rows of `longer_ratios`."""
    heads = [f"$k={k}$" for k in ratios.columns[2:]]
    cells = ratios.map(latex.escape).set_axis(["Method", "Trunk", *heads], axis=1)
    cells["Method"] = cells["Method"].str.replace("Levenberg--Marquardt", "L--M")
    longer = ["seeds" in method for method in ratios["method"]]
    return latex.tabular(cells, "llrrrr", longer)


def latex_choice(choice: pd.DataFrame) -> str:
    """The regrets of every gate as LaTeX."""
    regrets = choice.filter(like="regret_").map("{:.2f}".format)
    cells = regrets.rename(columns=lambda name: f"$k={name.removeprefix('regret_')}$")
    cells = cells.rename(columns={"$k=worst$": "worst"})
    cells.insert(0, "Gate $g(t)$", [gate_formula(gate) for gate in choice.index])
    ends = zip(choice["low"], choice["high"], strict=True)
    cells["95\\% interval"] = [f"{low:.2f} to {high:.2f}" for low, high in ends]
    cells["best in"] = [f"{100 * share:.0f}\\%" for share in choice["best_in"]]
    return latex.tabular(cells, "lrrrrrrr")
