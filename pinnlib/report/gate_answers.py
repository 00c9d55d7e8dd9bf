"""Answers of notebook 06: their evidence in words, the sentences of its summary, and its tables
for LaTeX.

Mathematics in the texts stands between dollars.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import lost, preferred, ratio_texts, smallest
from pinnlib.report import gate_contrasts, gate_rules
from pinnlib.report.gate_contrasts import Runs
from pinnlib.report.gate_optimisers import NEWTON, Contrasts, by_optimiser, only_adam_turns
from pinnlib.runs.studies import FOUR_K
from pinnlib.style import latex
from pinnlib.style.labels import gate_formula

Answers = Mapping[str, tuple[str, str]]  # rule → (answer, evidence)
FACTOR_CLAUSES = {  # answer of the rule → the beginning of a sentence
    "both": "Amplitude matters about as much as shape",
    "amplitude": "Amplitude matters more than shape",
    "shape": "Shape matters more than amplitude",
    "undecided": "Whether amplitude or shape matters more is undecided",
}
MISSING = "open, since runs are missing"


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


def gap_evidence(tables: Contrasts, converged: str) -> str:
    """The gap between the gates under every optimiser, where it is not narrowed, and how many runs
    of Levenberg–Marquardt with trained frequencies `converged`, in words."""
    gaps = {method: np.exp(gate_rules.gap(table)) for method, table in tables.items()}
    factors = ", ".join(f"{gap:.2f} ({method})" for method, gap in gaps.items())
    rows = gate_rules.gaps_not_narrowed(tables[NEWTON], tables["Adam"])
    kept = " and ".join(f"{row.model} at $k = {row.k}$" for row in rows.itertuples())
    return (
        f"ten seeds, median gap between the gates over trunks and $k$: a factor {factors};"
        f" SGD: adaptive trunk only; {NEWTON}: with trained frequencies {converged};"
        f" it does not narrow the gap for {kept or 'none'}"
    )


def both_factors(compared: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The contrasts of amplitude and of shape."""
    parts = [compared["amplitude: original, changed"], compared["shape: straight, saturating"]]
    return pd.concat(parts, ignore_index=True)


def contrasts_by_alpha(compared: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The contrasts of α, with α as text in place of the gates."""
    names = {gate: f"{alpha:g}" for gate, alpha in gate_contrasts.alphas().items()}
    return compared["alpha"].replace(names)


def gate_study_answers(
    compared: Mapping[str, pd.DataFrame], runs: Runs, converged: str
) -> dict[str, tuple[str, str]]:
    """Rule → (answer, evidence), from `gate_contrasts.compare`; `converged` as in
    `gap_evidence`."""
    factors = both_factors(compared)
    by_alpha = contrasts_by_alpha(compared)
    under = gate_contrasts.losses_compared(runs)
    complete = all((part["status"] == "ok").all() for part in under.values())
    changed = gate_rules.changes(compared["loss"], FOUR_K) if complete else "open"
    budget = compared["exp, linear: updates"]
    hard, hard_gates = compared["hard, penalty"], compared["exp, linear: hard velocity"]
    own = compared["own, reference trajectory"]
    methods = by_optimiser(compared)
    found = {
        "amplitude_or_shape": gate_rules.amplitude_or_shape(factors),
        "never_beaten": gate_rules.never_beaten(by_alpha),
        "changes": changed,
        "budget_decides": gate_rules.budget_decides(budget),
        "helps": gate_rules.helps(hard),
        "elsewhere": gate_rules.elsewhere(own),
        "conditioning": gate_rules.conditioning(methods[NEWTON], methods["Adam"]),
    }
    evidence = {
        "amplitude_or_shape": factor_evidence(factors),
        "never_beaten": alpha_evidence(by_alpha, gate_contrasts.alpha_medians(runs["gates"])),
        "changes": loss_evidence(preferred(under), changed),
        "budget_decides": budget_evidence(budget),
        "helps": velocity_evidence(hard, hard_gates),
        "elsewhere": trajectory_evidence(own),
        "conditioning": gap_evidence(methods, converged),
    }
    return {rule: (answer, evidence[rule]) for rule, answer in found.items()}


def factor_clause(compared: Mapping[str, pd.DataFrame]) -> str:
    """Whether amplitude or shape matters more, with the sizes of both."""
    factors = both_factors(compared)
    answer = gate_rules.amplitude_or_shape(factors)
    if answer == "open":
        return f"Whether amplitude or shape matters more is {MISSING}"
    sizes = np.exp(gate_rules.factor_sizes(factors)["size"])
    return (
        f"{FACTOR_CLAUSES[answer]}: a tenfold amplitude changes the error by a median factor"
        f" {sizes['amplitude']:.2f}, another shape by {sizes['shape']:.2f}"
    )


def alpha_clause(compared: Mapping[str, pd.DataFrame]) -> str:
    """Which gates of the exponential family never lose significantly."""
    answer = gate_rules.never_beaten(contrasts_by_alpha(compared))
    if answer == "open":
        return f"which gate $1-e^{{-αt}}$ is never beaten is {MISSING}"
    if answer == "none":
        return "each gate $1-e^{-αt}$ is significantly worse than another at some $k$"
    gates = " or ".join(gate_formula(f"exp(alpha={alpha})") for alpha in answer.split(", "))
    return f"no other $α$ makes $1-e^{{-αt}}$ significantly better than {gates} at any $k$"


def optimiser_sentence(tables: Contrasts, converged: str) -> str:
    """How much of Adam's gap Levenberg–Marquardt leaves; `converged` as in `gap_evidence`."""
    answer = gate_rules.conditioning(tables[NEWTON], tables["Adam"])
    if answer == "open":
        return f"Whether another optimiser closes the gap between the gates is {MISSING}."
    before, after = (np.exp(gate_rules.gap(tables[method])) for method in ("Adam", NEWTON))
    link = "and" if converged.startswith("all") else "but"
    ending = f"{link} with trained frequencies {converged}"
    if answer == "not conditioning":
        return (
            f"{NEWTON} does not narrow the median gap between the gates (a factor {after:.2f},"
            f" Adam {before:.2f}), {ending}."
        )
    return (
        f"The optimiser matters: {NEWTON} narrows the median gap between the gates from a factor"
        f" {before:.2f} (Adam) to {after:.2f}, {ending}."
    )


def gate_answer(compared: Mapping[str, pd.DataFrame], converged: str) -> str:
    """The answer of notebook 06 in two sentences; `converged` as in `gap_evidence`."""
    optimisers = optimiser_sentence(by_optimiser(compared), converged)
    return f"{factor_clause(compared)}; {alpha_clause(compared)}. {optimisers}"


def reversal_sentence(tables: Contrasts) -> str:
    """Whether Adam alone has the published winners."""
    winners = "the exponential gate ahead at $k = 20$ and the linear one at $k = 60$"
    if any(gate_rules.incomplete(table) for table in tables.values()):
        return f"Which gate wins under each optimiser is {MISSING}."
    if only_adam_turns(tables):
        return f"Of the three optimisers only Adam has {winners} (adaptive trunk)."
    return f"It does not hold here that of the three optimisers only Adam has {winners}."


def contrast_numbers(compared: Mapping[str, pd.DataFrame], runs: Runs) -> dict[str, float | str]:
    """The numbers that the paper quotes of questions 1, 2, 5 and 6."""
    numbers = {"gate_best_alphas": best_alphas(gate_contrasts.alpha_medians(runs["gates"]))}
    for factor, size in gate_rules.factor_sizes(both_factors(compared))["size"].items():
        numbers[f"gate_{factor}_factor"] = np.exp(size)
    hard = compared["hard, penalty"]
    _, worse = gate_rules.score(hard)
    numbers |= {"gate_hard_worse": worse, "gate_hard_asked": len(hard)}
    for gate, ratio in hard.groupby("gate")["ratio"]:
        numbers[f"gate_hard_{gate}_low"] = 1 / ratio.max()
        numbers[f"gate_hard_{gate}_high"] = 1 / ratio.min()
    own = compared["own, reference trajectory"]
    farthest = own.sort_values("ratio", ascending=False).iloc[0]
    numbers["gate_other_largest"] = farthest["ratio"]
    numbers["gate_other_where"] = f"{farthest['gate']} gate at $k = {farthest['k']:g}$"
    return numbers


def loss_overview(favourites: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Per k: the preferred gate under either loss, and each against the other under its own."""
    ratios = []
    for k in favourites.index:
        ratios.append(", ".join(ratio_texts(table[table["k"] == k])))
    return favourites.assign(each_over_the_other=ratios).rename_axis("k")


def gate_rules_text() -> str:
    """Questions and rules as Markdown."""
    rules = gate_rules.RULES.values()
    return "\n".join(f"- **{rule['question']}** {rule['rule'].strip()}" for rule in rules)


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
