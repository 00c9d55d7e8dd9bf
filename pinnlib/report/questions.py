"""Our six questions and what the original concludes beyond its runs, decided from the tables of
notebooks 06 to 09 by the rules that were committed before their results.

Every contrast is a ratio of errors, second over first: above 1 the first is better.
"""

import numpy as np
import pandas as pd

from pinnlib.analysis.significance import LEVEL
from pinnlib.report import loss_rules, rate_answers, rate_rules, system_rules
from pinnlib.report.disagreements import as_written
from pinnlib.report.evidence import Evidence, Finding, NotTestableError, grade
from pinnlib.report.gate_rules import gap, score
from pinnlib.report.published import PAPER_GATES
from pinnlib.report.rate_contrasts import published_and_own
from pinnlib.report.system_answers import STIFFNESS_SYMBOLS, SYSTEM_NAMES
from pinnlib.runs.studies import RECIPE
from pinnlib.style.labels import gate_formula

STATE, ANGLE = "rel_l2_u", "rel_l2_theta"
PLACES = {  # column → how its value is named, where it varies
    "lambda_ic": "$λ = {:g}$",
    "loss": "{} loss",
    "gate": "{} gate",
    "rate": "{} rate",
    "second": "against {}",
}
# Question of notebook 08 → what its ratio is, and its rows of rate_contrasts.csv
RATE_ROWS = {
    "reversal_survives": ("linear/exp", {"comparison": "gap", "rate": "own", "loss": "balanced"}),
    "reversal_without_penalty": (
        "linear/exp",
        {"comparison": "free", "rate": "own", "loss": "balanced"},
    ),
    "rate_or_gate": ("linear/exp", {"comparison": "gap", "rate": "own"}),
    "decay_helps": ("constant/cosine", {"comparison": "decay"}),
    "decay_turns": ("linear/exp with decay", {"comparison": "decay_gap", "schedule": "cosine"}),
    "gate_or_constraint": ("gate/shifted", {"comparison": "factor"}),
    "exact_start": ("soft/shifted", {"comparison": "start"}),
    "recipe": ("published/recipe", {"comparison": "recipe"}),
}
YES_PARTLY_NO = {"yes": "reproduced", "partly": "partly", "no": "not reproduced"}
GATE_BOTH_RATE = {"gate": "reproduced", "both": "partly", "rate": "not reproduced"}


def how_many(number: int, total: int) -> str:
    """ "none of the 8", "3 of the 8" or "all 8"."""
    if number == total:
        return f"all {total}"
    return f"{number or 'none'} of the {total}"


def ratio_summary(table: pd.DataFrame, ratio: str) -> str:
    """Contrasts in words: both of two, else their range, the significant ones and the largest."""
    if len(table) <= 2:
        effects = [_effect_text(row, table) for _, row in table.iterrows()]
        return f"{ratio} is {' and '.join(effects)}"
    table = table.dropna(subset="ratio")
    if table.empty:
        return f"{ratio}: no contrast has all of its runs"
    above, below = score(table)
    largest = table.loc[np.log(table["ratio"]).abs().idxmax()]
    return (
        f"{ratio} is {table['ratio'].min():.2f} to {table['ratio'].max():.2f} in {len(table)}"
        f" contrasts, significantly above 1 in {above or 'none'} and below 1 in {below or 'none'};"
        f" the largest effect is {_effect_text(largest, table)}"
    )


def _effect_text(row, table):
    """ "2.58 [1.75, 11.81] at $k = 20$ ($p$ = 6e-05)"."""
    symbol, system = "k", ""
    if "system" in table:
        symbol = STIFFNESS_SYMBOLS[row["system"]]
        system = f" in {SYSTEM_NAMES[row['system']]}"
    places = [f"${symbol} = {row['k']:g}$"]
    for column, words in PLACES.items():
        if column in table and table[column].nunique() > 1:
            places.append(words.format(row[column]))
    interval = f"{row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    return f"{interval}{system} at {', '.join(places)} ($p$ = {row['p_holm']:.1g})"


def _known(answer):
    """The answer of a rule; NotTestableError if it is open."""
    if answer == "open":
        raise NotTestableError("a run is missing or diverged")
    return answer


def _answered(answer, ours, angle=""):
    verdict = "undecided" if answer == "undecided" else "answered"
    reason = f"by the error of the angle alone: {angle}" if angle else ""
    return Finding(verdict, ours, reason=reason, answer=answer)


# 1, 3 and 6: the learning rate, the constraint, the recipe


def _tuning(evidence):
    """The medians on the tuning seeds, in the columns of a table of runs."""
    constant = {"form": "gated", "schedule": "constant", "lambda_ic": 50}
    table = evidence.contrast("rate_tuning", **constant)
    return table.assign(status="ok")  # a run that diverged counts as infinite there


def _rate_verdicts(evidence, metric=STATE):
    rows = evidence.contrast("rate_contrasts", metric=metric)
    tables = {str(name): part for name, part in rows.groupby("comparison")}
    return rate_answers.verdicts(tables, _tuning(evidence))


def _rate_summary(evidence, name):
    ratio, values = RATE_ROWS[name]
    rows = evidence.contrast("rate_contrasts", metric=STATE, **values)
    if name == "reversal_survives":
        rows = rows[rows["k"].isin(rate_rules.WINNERS)]
    return ratio_summary(rows, ratio)


def rate_question(evidence: Evidence, name: str) -> Finding:
    """A question of notebook 08 that its contrasts answer."""
    answer = _known(_rate_verdicts(evidence)[name])
    angle = _rate_verdicts(evidence, ANGLE)[name]
    if name == "recipe":
        gate = gate_formula(RECIPE["gate"])
        schedule = {"constant": "rate", "cosine": "decay from"}[RECIPE["schedule"]]
        answer = f"{gate}, {RECIPE['loss']}, {schedule} {RECIPE['lr']:g}"
    ours = _rate_summary(evidence, name)
    if name == "rate_or_gate":
        ours = f"{_removed_gaps(evidence)}; {ours}"
    return _answered(answer, ours, angle)


def _removed_gaps(evidence):
    """In how many significant gaps the best learning rate of each gate removes more than half."""
    gaps = evidence.contrast("rate_contrasts", metric=STATE, comparison="gap")
    published, own = published_and_own(gaps)
    shares = rate_rules.removed_shares(published, own)
    number = how_many(int((shares > 0.5).sum()), len(shares))
    return (
        "the best learning rate of each gate removes more than half of the gap in"
        f" {number} comparisons that are significant at the published one"
    )


def single_rate(evidence: Evidence) -> Finding:
    """Whether one rate serves all k, on the tuning seeds."""
    answer = _known(_rate_verdicts(evidence)["one_rate"])
    texts = []
    for gate in PAPER_GATES:
        medians = _tuning(evidence).query("gate == @gate and loss == 'balanced'")
        cases = rate_rules.worst_cases(medians, ["lr"])
        texts.append(f"{cases.idxmin():g} for {gate} costs at most a factor {cases.min():.2f}")
    return _answered(answer, f"against the best rate at each $k$, {' and '.join(texts)}")


# 2: the loss


def balancing_cause(evidence: Evidence) -> Finding:
    """What in the balancing turns the winner; the contrasts are those of the turned cells."""
    table = evidence.contrast("loss_contrasts", metric=STATE)
    answer = _known(loss_rules.cause(table))
    angle = loss_rules.cause(evidence.contrast("loss_contrasts", metric=ANGLE))
    both = table[table["loss"].isin(["mse", "balanced"])]
    turned = loss_rules.causes(table).index
    cells = pd.MultiIndex.from_frame(both[["k", "lambda_ic"]])
    shown = both[cells.isin(turned)] if len(turned) else both
    return _answered(answer, ratio_summary(shown, "linear/exp"), angle)


def balancing_control(evidence: Evidence) -> Finding:
    """Whether the winner depends on the loss where there is one component."""
    table = evidence.contrast("loss_control")
    answer = _known(loss_rules.control(table))
    return _answered(answer, ratio_summary(table, "linear/exp"))


# 4 and 5: other systems, L-BFGS


def reversals_elsewhere(evidence: Evidence, rate: str) -> Finding:
    """In how many cases (system and loss) the winner changes with the stiffness."""
    cases = evidence.contrast("system_verdicts", rate=rate)
    if cases["answer"].eq("open").any():
        raise NotTestableError("a run is missing or diverged")
    texts = []
    for system, answers in cases.groupby("system")["answer"]:
        texts.append(f"{SYSTEM_NAMES[system]}: {' or '.join(answers.unique())}")
    number = int(cases["answer"].eq("reverses").sum())
    ours = f"{'; '.join(texts)}; {ratio_summary(cases, 'the widest gap of a case, linear/exp,')}"
    return _answered(f"in {how_many(number, len(cases))} cases", ours)


def after_lbfgs(evidence: Evidence) -> Finding:
    """Whether L-BFGS after Adam helps."""
    table = evidence.contrast("optimiser_contrasts", question="L-BFGS, Adam")
    answer = _known(system_rules.lbfgs_helps(table))
    return _answered(answer, ratio_summary(table, "Adam/L-BFGS"))


def gap_after_lbfgs(evidence: Evidence) -> Finding:
    """Whether L-BFGS closes the gap between the gates."""
    adam = evidence.contrast("optimiser_contrasts", question="gates: Adam")
    refined = evidence.contrast("optimiser_contrasts", question="gates: L-BFGS")
    answer = _known(system_rules.gap_closes(adam, refined))
    left = gap(refined) / gap(adam)
    text = f"{left:.0%} of Adam's median gap is left on a logarithmic scale"
    return _answered(answer, f"{text}; {ratio_summary(refined, 'linear/exp after L-BFGS')}")


# What the original concludes


def loss_of_the_text(evidence: Evidence) -> Finding:
    """The published tests under the loss that the text describes."""
    kept = as_written(evidence)
    if kept.empty:
        raise NotTestableError("no published test is complete under the loss of the text")
    rows = evidence.statistics["beside_published_as_written"].loc[kept.index]
    opposite = int((~rows["same_winner"] & (rows["p_holm"] < LEVEL)).sum())
    ours = (
        f"winner and significance are kept in {how_many(int(kept.sum()), len(kept))} published"
        f" tests, and the other gate is significantly ahead in {how_many(opposite, len(kept))}"
    )
    return grade(kept, ours)


def reversal_at_own_rates(evidence: Evidence) -> Finding:
    answer = _known(_rate_verdicts(evidence)["reversal_survives"])
    effects = _rate_summary(evidence, "reversal_survives")
    ours = f"with the best learning rate of each gate, {effects}"
    return Finding(YES_PARTLY_NO[answer], ours)


def gate_matters(evidence: Evidence) -> Finding:
    """Gaps that are left when each gate has its own learning rate."""
    answer = _known(_rate_verdicts(evidence)["rate_or_gate"])
    own = evidence.contrast("rate_contrasts", metric=STATE, comparison="gap", rate="own")
    clear = how_many(sum(score(own)), len(own))
    ours = f"{_removed_gaps(evidence)}; with these rates {clear} comparisons are significant"
    return Finding(GATE_BOTH_RATE[answer], ours)


def gate_acts_by_conditioning(evidence: Evidence) -> Finding:
    """The gap that Levenberg–Marquardt leaves, and how many of its runs did not converge."""
    numbers = evidence.numbers
    if "gate_answer_seven" not in numbers:
        raise NotTestableError("notebook 06 has not been run")
    answer = _known(numbers["gate_answer_seven"])
    rounds, allowed = numbers["newton_rounds"], numbers["newton_evaluations"]
    runs = evidence.contrast("gate_second_order", rounds=rounds)
    used = int((runs["evaluations"] >= rounds * allowed).sum())
    ours = (
        f"the median factor between the gates is {numbers['gap_newton']:.2f} with"
        f" Levenberg–Marquardt, which undoes conditioning, and {numbers['gap_adam']:.2f} with Adam"
    )
    verdict = "partly"
    if answer == "not conditioning":
        verdict = "not reproduced"
    elif answer == "optimisation" and used == 0:
        verdict = "reproduced"
    reason = f"of {len(runs)} Levenberg–Marquardt runs {used} did not converge"
    return Finding(verdict, ours, reason=reason)
