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
from pinnlib.report.phrases import count_noun, join_words
from pinnlib.runs.studies import FOUR_K
from pinnlib.style import latex

Answers = Mapping[str, tuple[str, str]]  # rule → (answer, evidence)
FACTOR_CLAUSES = {  # answer of the rule → the beginning of a sentence
    "both": "Amplitude matters about as much as shape",
    "amplitude": "Amplitude matters more than shape",
    "shape": "Shape matters more than amplitude",
    "undecided": "Whether amplitude or shape matters more is undecided",
}
MISSING = "open, since runs are missing"
ONE_SEED = "open, since one seed gives no interval"


def _range(values: pd.Series) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


def _why_open(table: pd.DataFrame) -> str:
    """Why a question is open that rests on significant contrasts; "" if it is not."""
    if gate_rules.too_few_seeds(table):
        return f"open: with {_seeds(table)} none of {len(table)} contrasts can be significant"
    return MISSING if gate_rules.incomplete(table) else ""


def _seeds(table: pd.DataFrame) -> str:
    """How many seeds the contrasts have: "10 seeds"."""
    return count_noun(table["n"].max(), "seed")


def factor_evidence(table: pd.DataFrame) -> str:
    """The size of either factor's effects, and how many of them are significant."""
    texts = []
    for factor, row in gate_rules.factor_sizes(table).iterrows():
        size = np.exp(row["size"])
        clear = f"{row['clear']:.0f} of {row['of']:.0f} significant"
        texts.append(f"{factor}: median factor {size:.2f}, {clear}")
    return "; ".join(texts)


def best_alphas(medians: pd.DataFrame) -> str:
    """The α (index) with the smallest median error at each k (columns)."""
    best = smallest(medians).dropna()
    return ", ".join(f"{alpha:g} at $k = {k}$" for k, alpha in best.items()) or "open"


def alpha_evidence(table: pd.DataFrame, medians: pd.DataFrame) -> str:
    """The best α at each k, and how many contrasts each loses; `table` has α in place of gates."""
    counts = lost(table)
    losses = ", ".join(f"{count} ($α = {alpha}$)" for alpha, count in counts.items())
    each = 2 * len(table) // len(counts)  # every contrast has two values of α
    return f"best $α$: {best_alphas(medians)}; significant losses, of {each}: {losses}"


def loss_evidence(favourites: pd.DataFrame, runs: pd.DataFrame, answer: str) -> str:
    """At how many k the two losses prefer different gates; `runs` are those of one loss."""
    differ = (favourites["balanced"] != favourites["mse"]).sum()
    seeds = count_noun(runs["seed"].nunique(), "seed")
    text = (
        f"best of {runs['gate'].nunique()} gates over {seeds}: not the same under both losses at"
        f" {differ} of {len(favourites)} $k$"
    )
    if answer.startswith("open"):
        return text
    return f"{text}; each significantly better under its own {answer}"


def budget_evidence(table: pd.DataFrame) -> str:
    """Every ratio with its p."""
    texts = []
    for row, ratio in zip(table.itertuples(), ratio_texts(table), strict=True):
        texts.append(f"{ratio} at $k = {row.k}$ after {row.steps:,} updates, $p$ {row.p_holm:.1g}")
    return f"{_seeds(table)}, linear/exp {'; '.join(texts)}"


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


def _not_narrowed(tables: Contrasts) -> str:
    """Where Levenberg–Marquardt does not narrow the gap: "the fixed trunk at $k = 20$", or ""."""
    rows = gate_rules.gaps_not_narrowed(tables[NEWTON], tables["Adam"])
    return join_words([f"the {row.model} trunk at $k = {row.k}$" for row in rows.itertuples()])


def gap_evidence(tables: Contrasts, converged: str) -> str:
    """The gap between the gates under every optimiser, where it is not narrowed, and how many runs
    of Levenberg–Marquardt with trained frequencies `converged`, in words."""
    gaps = {method: np.exp(gate_rules.gap(table)) for method, table in tables.items()}
    factors = ", ".join(f"{gap:.2f} ({method})" for method, gap in gaps.items())
    kept = _not_narrowed(tables)
    ending = f"; it does not narrow the gap for {kept}" if kept else ""
    return (
        f"{_seeds(tables['Adam'])}, median gap between the gates over trunks and $k$: a factor"
        f" {factors}; SGD: adaptive trunk only; {NEWTON}: with trained frequencies"
        f" {converged}{ending}"
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
    found |= dict.fromkeys(_unanswerable(compared), gate_rules.TOO_FEW)
    evidence = {
        "amplitude_or_shape": factor_evidence(factors),
        "never_beaten": alpha_evidence(by_alpha, gate_contrasts.alpha_medians(runs["gates"])),
        "changes": loss_evidence(preferred(under), under["mse"], found["changes"]),
        "budget_decides": budget_evidence(budget),
        "helps": velocity_evidence(hard, hard_gates),
        "elsewhere": trajectory_evidence(own),
        "conditioning": gap_evidence(methods, converged),
    }
    return {rule: (answer, evidence[rule]) for rule, answer in found.items()}


def _unanswerable(compared: Mapping[str, pd.DataFrame]) -> list[str]:
    """The rules that ask for significance where the seeds are too few for it."""
    tests = {  # rule → its contrasts, and of how many tests they are part
        "amplitude_or_shape": (both_factors(compared), 0),
        "never_beaten": (compared["alpha"], 0),
        "changes": (compared["loss"], 2 * len(FOUR_K)),
        "budget_decides": (compared["exp, linear: updates"], 0),
        "helps": (
            compared["hard, penalty"],
            len(compared["hard, penalty"]) + len(compared["exp, linear: hard velocity"]),
        ),
        "elsewhere": (compared["own, reference trajectory"], 0),
    }
    return [rule for rule, test in tests.items() if gate_rules.too_few_seeds(*test)]


def factor_clause(compared: Mapping[str, pd.DataFrame]) -> str:
    """Whether amplitude or shape matters more, with the sizes of both."""
    factors = both_factors(compared)
    why_open = _why_open(factors)
    if why_open:
        return f"Whether amplitude or shape matters more is {why_open}"
    answer = gate_rules.amplitude_or_shape(factors)
    sizes = np.exp(gate_rules.factor_sizes(factors)["size"])
    return (
        f"{FACTOR_CLAUSES[answer]}: a tenfold amplitude changes the error up or down by a median"
        f" factor {sizes['amplitude']:.2f}, another shape by {sizes['shape']:.2f} (all gates at the"
        " published learning rate, so amplitude is partly a rate)"
    )


def alpha_clause(compared: Mapping[str, pd.DataFrame]) -> str:
    """Which values of α in 1 − exp(−αt) never lose significantly to another."""
    by_alpha = contrasts_by_alpha(compared)
    why_open = _why_open(by_alpha)
    if why_open:
        return f"Which $α$ in $1-e^{{-αt}}$ is never beaten is {why_open}"
    tried = list(lost(by_alpha).index)
    values = f"values of $α$ tried in $1-e^{{-αt}}$ ({join_words(tried)})"
    answer = gate_rules.never_beaten(by_alpha)
    if answer == "none":
        return f"Each of the {values} is significantly beaten by another at some $k$"
    best = answer.split(", ")
    if best == tried:
        return f"None of the {values} is significantly beaten by another at any $k$"
    verb = "is" if len(best) == 1 else "are"
    return f"Of the {values} only {join_words(best)} {verb} never significantly beaten at any $k$"


def _why_no_ratio(table: pd.DataFrame) -> str:
    """Why contrasts have no ratio."""
    return ONE_SEED if table["n"].max() == 1 else MISSING


def optimiser_sentence(tables: Contrasts, converged: str) -> str:
    """How much of Adam's gap Levenberg–Marquardt leaves; `converged` as in `gap_evidence`."""
    answer = gate_rules.conditioning(tables[NEWTON], tables["Adam"])
    if answer == "open":
        why_open = _why_no_ratio(tables["Adam"])
        return f"Whether another optimiser closes the gap between the gates is {why_open}."
    before, after = (np.exp(gate_rules.gap(tables[method])) for method in ("Adam", NEWTON))
    ended = f"with trained frequencies {converged}"
    link = "and" if converged.startswith("all") else "but"
    if answer == "not conditioning":
        return (
            f"{NEWTON} does not narrow the median gap between the gates (a factor {after:.2f},"
            f" Adam {before:.2f}), {link} {ended}."
        )
    kept = _not_narrowed(tables)
    exceptions = f"but not the gap for {kept}, and {ended}" if kept else f"{link} {ended}"
    return (
        f"The optimiser matters: {NEWTON} narrows the median gap between the gates from a factor"
        f" {before:.2f} (Adam) to {after:.2f}, {exceptions}."
    )


def gate_answer(compared: Mapping[str, pd.DataFrame], converged: str) -> str:
    """The answer of notebook 06 in three sentences; `converged` as in `gap_evidence`."""
    optimisers = optimiser_sentence(by_optimiser(compared), converged)
    return f"{factor_clause(compared)}. {alpha_clause(compared)}. {optimisers}"


def reversal_sentence(tables: Contrasts) -> str:
    """Whether Adam alone has the published winners."""
    winners = "the exponential gate ahead at $k = 20$ and the linear one at $k = 60$"
    if any(gate_rules.incomplete(table) for table in tables.values()):
        return f"Which gate wins under each optimiser is {_why_no_ratio(tables['Adam'])}."
    if only_adam_turns(tables):
        return f"Of the three optimisers only Adam has {winners} (adaptive trunk)."
    return f"It does not hold here that of the three optimisers only Adam has {winners}."


def answer_numbers(
    compared: Mapping[str, pd.DataFrame], answers: Answers
) -> dict[str, float | str]:
    """The numbers that the paper and the claims quote: questions 1 and 7."""
    numbers = {"gate_answer_seven": answers["conditioning"][0]}
    for factor, size in gate_rules.factor_sizes(both_factors(compared))["size"].items():
        numbers[f"gate_{factor}_factor"] = np.exp(size)
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
