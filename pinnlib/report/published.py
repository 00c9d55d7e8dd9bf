"""The published table of tests, and our tests beside it (notebooks 03 and 10)."""

import pandas as pd

from pinnlib.analysis.estimates import MEANS
from pinnlib.analysis.samples import TEST
from pinnlib.analysis.significance import LEVEL
from pinnlib.paths import PUBLISHED
from pinnlib.registry import validate
from pinnlib.style.labels import METRIC_NAMES

PAPER_GATES = ("exp", "linear")  # what is registered besides is no part of the original
TESTED_K = (20, 60)  # the stiffnesses of the published tests
COMPARED = {  # column → its format
    "winner": "",
    "mean_exp": ".3f",
    "mean_linear": ".3f",
    "frac_win": ".2f",
    "p_holm": ".1e",
}
CHECKS = ["same_winner", "same_significance", "mean_exp_inside", "mean_linear_inside"]


def published() -> pd.DataFrame:
    """The published table of tests; a p printed only as "<1e-4" has `…_is_bound` True."""
    return pd.read_csv(PUBLISHED / "table.csv")


def beside_published(tests: pd.DataFrame) -> pd.DataFrame:
    """Our tests of the adaptive model beside all eight published rows.

    The CHECKS are <NA> where our test has no p-value.
    """
    needed = {*TEST, "winner", "p_holm", "mean_exp_low"}
    validate("tests", list(tests), needed <= {*tests}, "what gate_tests gives")
    models = sorted(set(tests["model"]))
    allowed = "adaptive alone, as in the published table"
    validate("model", models, models == ["adaptive"], allowed)

    keys = ["lambda_ic", "k", "metric"]
    both = tests.merge(published(), on=keys, how="right", suffixes=("", "_published"))
    for mean in MEANS:
        low, high = both[f"{mean}_low"], both[f"{mean}_high"]
        both[f"{mean}_inside"] = both[f"{mean}_published"].between(low, high)
    both["same_winner"] = both["winner"] == both["winner_published"]
    significant = both["p_holm"] < LEVEL
    both["same_significance"] = significant == (both["p_holm_published"] < LEVEL)
    both[CHECKS] = both[CHECKS].astype("boolean").where(both["p_holm"].notna())
    return both


def agreement(beside: pd.DataFrame) -> pd.DataFrame:
    """Per check: tests that agree with the published table, that differ, and that are open."""
    checks = beside[CHECKS]
    counts = {
        "agree": checks.sum(),
        "differ": (~checks).sum(),
        "open": checks.isna().sum(),
    }
    return pd.DataFrame(counts).astype(int)


def published_view(beside: pd.DataFrame) -> pd.DataFrame:
    """Our tests beside the published ones as text, a row per test, published values in brackets.

    Means have our bootstrap 95% interval; a test that is not complete has its note instead.
    """
    rows = {}
    for test in beside.fillna({"winner": "", "note": "no runs"}).itertuples():
        winner = f"{test.winner or '…'} ({test.winner_published})"
        bound = "<" if test.p_holm_is_bound else ""
        p = f"{test.p_holm:.1e} ({bound}{test.p_holm_published:.1e})"
        row = {"winner": winner, "p after Holm": p}
        for gate in PAPER_GATES:
            mean, low, high, paper = _mean(test, gate)
            row[f"mean error, {gate}"] = f"{mean:.3f} [{low:.3f}, {high:.3f}] ({paper:.3f})"
        if pd.isna(test.p_holm):
            row = {"winner": winner, "p after Holm": test.note}
        cell = (f"λ = {test.lambda_ic:g}", f"k = {test.k:g}", METRIC_NAMES[test.metric])
        rows[cell] = row
    return pd.DataFrame.from_dict(rows, orient="index").fillna("")


def _mean(test, gate):
    """Our mean of a gate, the ends of its interval, and the published mean."""
    names = (f"mean_{gate}{end}" for end in ("", "_low", "_high", "_published"))
    return [getattr(test, name) for name in names]


def comparison_text(beside: pd.DataFrame, as_written: pd.DataFrame, tiny: bool) -> str:
    """The published tests beside ours, as text: those that are complete, if none is, as written.

    `tiny`: of a smoke test.
    """
    table = beside.dropna(subset="p_holm")
    loss = ""
    if table.empty:
        table = as_written.dropna(subset="p_holm")
        loss = " under the loss of the paper's text"
    shown = table[["lambda_ic", "k", "metric"]].copy()
    for name, digits in COMPARED.items():
        shown[name] = table[name].map(f"{{:{digits}}}".format)
        shown[f"{name} (paper)"] = table[f"{name}_published"].map(f"{{:{digits}}}".format)
    bound = table["p_holm_is_bound"].map({True: "<", False: ""})
    shown["p_holm (paper)"] = bound + shown["p_holm (paper)"]
    ours = "ours (of tiny runs, which mean nothing)" if tiny else "ours"
    title = f"Paired tests of the two gates{loss}, {ours} beside the paper's:"
    rows = shown.to_string(index=False, float_format="{:g}".format)
    return f"\n{title}\n{rows}\n"
