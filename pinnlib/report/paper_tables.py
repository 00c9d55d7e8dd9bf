"""The tables, lists and macros of the report as LaTeX."""

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import pandas as pd

from pinnlib.losses import LOSSES
from pinnlib.models import MODELS
from pinnlib.report.claims import of_ours, of_the_original
from pinnlib.report.evidence import VERDICTS
from pinnlib.spec import RunSpec
from pinnlib.style.latex import escape, longtable, macro_name, macros, probability, tabular
from pinnlib.training import RESOLUTION

LAMBDA = r"$\lambda_{\mathrm{IC}}$"
WINNERS = {"exp": r"$A\downarrow$", "linear": r"$B\downarrow$", "tie": "tie"}
TEST_HEADS = [LAMBDA, "$k$", "Metric", "Winner", "$n$", "mean($A$)", "mean($B$)", "frac(win)"]
TEST_HEADS += [rf"$p_{{\mathrm{{{name}}}}}$" for name in ("raw", "Holm", "1s")]
CLAIM_HEADS = {
    "wording": "Claim",
    "where": "Where in the original",
    "rule": "Rule",
    "published": "Published",
    "ours": "Ours",
    "verdict": "Verdict",
}


def quoted_numbers(numbers: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The numbers whose macro is in the LaTeX text, comments apart."""
    text = re.sub(r"(?<!\\)%.*", "", text)
    quoted = set(re.findall(r"\\([A-Z][A-Za-z]+)", text))
    return {key: value for key, value in numbers.items() if macro_name(key) in quoted}


def quoted_macros(numbers: Mapping[str, Any], text: str) -> str:
    """A macro for every number that the LaTeX text quotes."""
    return macros(quoted_numbers(numbers, text))


def gate_table(tables: Mapping[str, pd.DataFrame]) -> str:
    """Paired tests, title → frame, in the layout of the original: A is exp, B is linear."""
    rows, groups = [], []
    for title, frame in tables.items():
        rows.append([rf"\rlap{{\emph{{{title}}}}}", *[""] * 10])
        rows += [_test_cells(test) for test in frame.to_dict("records")]
        weights = list(frame["lambda_ic"])
        groups += [(title, weight) for weight in weights[:1] + weights]  # the title, the tests
    return tabular(pd.DataFrame(rows, columns=TEST_HEADS), "l c l c c c c c c c c", groups)


def _test_cells(test):
    cells = [f"{test['lambda_ic']:g}", f"{test['k']:g}", escape(test["metric"])]
    if test.get("note"):
        return [*cells, rf"\rlap{{{escape(test['note'])}}}", *[""] * 7]
    cells += [WINNERS[test["winner"]], f"{test['n']}"]
    cells += [f"{test['mean_exp']:.3f}", f"{test['mean_linear']:.3f}", f"{test['frac_win']:.2f}"]
    for p in ("p_raw", "p_holm", "p_one_sided"):
        cells.append(probability(test[p], test.get(f"{p}_is_bound", False)))
    return cells


def question_table(rules: Mapping[str, Mapping[str, str]]) -> str:
    """Questions and the rules that answer them, as their TOML files have them."""
    caption = (
        "Our questions on the loss, other systems and L-BFGS, each with the rule that answers it. "
        "The rules were committed before the results; "
        r"Table~\ref{tab:questions} has the answers."
    )
    columns = {"question": "Question", "rule": "Rule"}
    table = pd.DataFrame(list(rules.values()))[list(columns)].rename(columns=columns)
    texts = table.map(lambda text: escape(text.strip()))
    return longtable(texts, [0.3, 0.65], caption, "tab:whyrules")


def claim_table(ledger: pd.DataFrame) -> str:
    """Claims of the original with their verdicts, then our questions with their answers.

    Without a value of ours the reason stands in its place.
    """
    meanings = [f"\\emph{{{word}}}: {meaning}" for word, meaning in VERDICTS.items()]
    caption = (
        "The claims of the original, its value, ours, and the verdict. The words of the last "
        f"column mean: {'; '.join(meanings[:-1])}. "
        r"The rules are in Table~\ref{tab:rules}."
    )
    table = _claims(of_the_original(ledger))
    table["Ours"] += _reasons(table)
    columns = ["Claim", "Published", "Ours", "Verdict"]
    tables = [longtable(table[columns], [0.27, 0.18, 0.35, 0.11], caption, "tab:claims")]
    ours = _claims(of_ours(ledger))
    if len(ours):
        tables.append(_answer_table(ours))
    return "\n\n".join(tables)


def _answer_table(ours):
    caption = (
        "Our questions beyond the original, the answers that their rules give, and the contrasts "
        r"behind them: median ratios of errors with bootstrap 95\% intervals and $p$ after Holm's "
        "correction. Where it was measured, the answer by the error of the angle alone is added."
    )
    table = ours.rename(columns={"Claim": "Question", "answer": "Answer"})
    table["Answer"] = table["Answer"].mask(table["Answer"] == "", table["Verdict"])
    table["Rests on"] = table["Ours"] + _reasons(table)
    columns = ["Question", "Answer", "Rests on"]
    return longtable(table[columns], [0.25, 0.15, 0.54], caption, "tab:questions")


def rule_table(ledger: pd.DataFrame) -> str:
    """Place and rule of each claim; the tests of the published table share a rule and a row."""
    caption = (
        "The rule that decides each claim, with the changes that were made after its result; "
        r"Section~\ref{sec:claims} says what was known when the rules were written."
    )
    table = _claims(of_the_original(ledger))
    table.loc[table["kind"] == "statistical", "Claim"] = "The rows of the table of tests"
    notes = r" \emph{Afterwards:} " + table["note"] + "."
    table["Rule"] = table["Rule"] + "." + notes.where(table["note"] != "", "")
    table = table.drop_duplicates("Rule")[["Claim", "Where in the original", "Rule"]]
    return longtable(table, [0.3, 0.15, 0.48], caption, "tab:rules")


def differences(ledger: pd.DataFrame) -> str:
    """A list of what was not reproduced: claims that were tested, then those not testable."""
    table = _claims(of_the_original(ledger))
    table["Ours"] += _reasons(table)
    tested, untested = [], []
    for row in table[table["Verdict"] != "reproduced"].itertuples():
        verdict = row.Verdict.replace("partly", "partly reproduced")
        items = untested if verdict == "not testable" else tested
        items.append(rf"\item \emph{{{row.Claim}}}: \textbf{{{verdict}}}; {row.Ours}.")
    if not tested + untested:
        return "Every claim was reproduced."
    return "\n".join([r"\begin{itemize}", *tested, *untested, r"\end{itemize}"])


def _claims(ledger):
    """The ledger as LaTeX under the heads of the report."""
    table = ledger.map(escape).rename(columns=CLAIM_HEADS)
    table["Ours"] = table["Ours"].mask(table["Ours"] == "", table["reason"])
    return table


def _reasons(table):
    """What follows our value: "; reason". Of a published test the intervals are left out."""
    reasons = "; " + table["reason"]
    shown = (table["reason"] != "") & (table["kind"] != "statistical")
    return reasons.where(shown & (table["Verdict"] != "not testable"), "")


def disagreement_table(disagreements: pd.DataFrame) -> str:
    """Text against released code, what is done here, and what that was measured to change."""
    caption = (
        "Where the paper's text differs from the released code or is silent, "
        "and what that was measured to change."
    )
    table = disagreements[["id", "text", "code", "ours", "consequence"]].map(escape)
    table.columns = ["Point", "The text", "The released code", "Here", "Measured consequence"]
    return longtable(table, [0.12, 0.15, 0.2, 0.18, 0.23], caption, "tab:disagreements")


def loss_table(both: pd.DataFrame) -> str:
    """The gates under either loss, a row per metric and k; columns are pairs (text_<loss>, λ)."""
    rows = both.index.to_frame(index=False)
    metrics = rows["metric"].map(escape)
    table = pd.DataFrame()
    table["Metric"] = metrics.mask(metrics.duplicated(), "")
    table["$k$"] = rows["k"].map("{:g}".format)
    for text, weight in sorted(both.columns, key=itemgetter(1, 0)):
        head = rf"{LAMBDA[:-1]}={weight:g}$, {text.removeprefix('text_')}"
        table[head] = both[text, weight].map(escape).to_numpy()
    return tabular(table, "l r l l l l", list(metrics))


def effect_table(effects: pd.DataFrame) -> str:
    """Size of the difference at each test and the seeds an adversary must remove; "open" where
    runs are missing. A is exp, B is linear."""
    ratios = []
    for row in effects.itertuples():
        ratios.append(f"{row.ratio:.2f} [{row.ratio_low:.2f}, {row.ratio_high:.2f}]")
    table = pd.DataFrame(
        {
            LAMBDA: effects["lambda_ic"].map("{:g}".format),
            "$k$": effects["k"].map("{:g}".format),
            "Metric": effects["metric"].map(escape),
            "ratio $B/A$": ratios,
            "difference $B-A$": effects["hodges_lehmann"].map("${:.3f}$".format),
            "rank-biserial": effects["rank_biserial"].map("${:.2f}$".format),
            "seeds to lose": effects["seeds_to_lose"].astype(str),
        }
    )
    table.loc[effects["note"] != "", table.columns[3:]] = "open"
    return tabular(table, "l l l l r r r", list(effects["lambda_ic"]))


def setting_numbers(spec: RunSpec) -> dict[str, Any]:
    """setting_<name> → value: what the report says of a run, its system, the models, the loss."""
    system = spec.system_object
    network = MODELS["baseline"]()
    bands = [f"{count} from {low:g} to {high:g} rad/s" for low, high, count in spec.trunk.bands]
    values = {
        "updates": spec.steps,
        "points": spec.points,
        "rate": spec.lr,
        "horizon": spec.horizon,
        "grid": len(spec.reference.t),
        "bands": " and ".join(bands),
        "g": system.g,
        "m": system.m,
        "length": system.L0,
        "floor": system.floor,
        "layers": network.depth,
        "width": network.hidden,
        "nodes": network.nodes,
        "resolution": RESOLUTION[spec.precision],
        "decay": LOSSES["balanced"].decay,
    }
    for name, start in zip(system.components, spec.initial_position, strict=True):
        values[f"{name}_start"] = start
    for name, model in MODELS.items():
        values[f"{name}_parameters"] = model().size(len(system.components))
    return {f"setting_{name}": value for name, value in values.items()}
