"""The tables of the report as LaTeX."""

import pandas as pd

from pinnlib.losses import LOSSES
from pinnlib.models import MODELS
from pinnlib.style.latex import _ruled, escape, longtable, probability, tabular


def gate_table(tables):
    """Tables of paired tests, title → frame, in the layout of the original: A is the exponential gate, B the linear one."""
    heads = [
        r"$\lambda_{\mathrm{IC}}$",
        "$k$",
        "Metric",
        "Winner",
        "$n$",
        "mean($A$)",
        "mean($B$)",
        "frac(win)",
    ]
    heads += [rf"$p_{{\mathrm{{{name}}}}}$" for name in ("raw", "Holm", "1s")]
    lines, groups = [], []
    for title, frame in tables.items():
        rows = frame.to_dict("records")
        lines += [
            rf"\multicolumn{{{len(heads)}}}{{l}}{{\emph{{{title}}}}} \\",
            *(" & ".join(_tested(row)) + r" \\" for row in rows),
        ]
        groups += [
            (title, row["lambda_ic"]) for row in rows[:1] + rows
        ]  # the title stands with the first row
    return _ruled("l c l c c c c c c c c", " & ".join(heads) + r" \\", lines, groups)


def _tested(row):
    """The cells of one test."""
    cells = [f"{row['lambda_ic']:g}", f"{row['k']:g}", escape(row["metric"])]
    if row.get("note"):
        return [*cells, rf"\multicolumn{{8}}{{l}}{{{escape(row['note'])}}}"]
    cells += [
        {"exp": r"$A\downarrow$", "linear": r"$B\downarrow$"}.get(row["winner"], "tie"),
        f"{row['n']}",
    ]
    cells += [f"{row['mean_exp']:.3f}", f"{row['mean_linear']:.3f}", f"{row['frac_win']:.2f}"]
    return cells + [
        probability(row[p], row.get(f"{p}_is_bound", False))
        for p in ("p_raw", "p_holm", "p_one_sided")
    ]


def claim_table(ledger):
    """Every claim of the ledger and its verdict; where we have no value, the reason stands in its place."""
    caption = "Every claim and its verdict; for a claim that is not testable the third column says why. The rules are in Table~\\ref{tab:rules}."
    return longtable(
        _claims(ledger)[["Claim", "Published", "Ours", "Verdict"]],
        [0.28, 0.19, 0.33, 0.11],
        caption,
        "tab:claims",
    )


def rule_table(ledger):
    """Where the original makes each claim and what decides it; the rows of the table of tests have one rule and stand once."""
    told = _claims(ledger)
    told["Claim"] = told["Claim"].mask(
        ledger["kind"] == "statistical", "The rows of the table of tests"
    )
    caption = "What decides each claim; Section~\\ref{sec:claims} tells what was known when the rules were written."
    return longtable(
        told.drop_duplicates("Rule")[["Claim", "Where in the original", "Rule"]],
        [0.3, 0.16, 0.47],
        caption,
        "tab:rules",
    )


def differences(ledger):
    """What did not come out as a list: first the claims that were tested, with our value, then those not testable, with the reason."""
    told = _claims(ledger)
    differ, untested = (
        told[ledger["verdict"].isin(verdicts)]
        for verdicts in (["partly", "not reproduced", "undecided"], ["not testable"])
    )
    items = [
        rf"\item \textbf{{{row.Verdict}}}: {row.Claim}. Ours: {row.Ours}."
        for row in differ.itertuples()
    ]
    items += [
        rf"\item \textbf{{{row.Verdict}}}: {row.Claim} ({row.reason})."
        for row in untested.itertuples()
    ]
    return (
        "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])
        if items
        else "Every claim was reproduced."
    )


def _claims(ledger):
    """The ledger as LaTeX under the heads of the report."""
    told = ledger.map(escape)
    told["ours"] = told["ours"].where(ledger["ours"] != "", told["reason"])
    heads = {
        "wording": "Claim",
        "where": "Where in the original",
        "rule": "Rule",
        "published": "Published",
        "ours": "Ours",
        "verdict": "Verdict",
    }
    return told.rename(columns=heads)


def disagreement_table(disagreements):
    """Text against released code, what is done here, and what that was measured to change."""
    told = disagreements[["id", "text", "code", "ours", "consequence"]].map(escape)
    told.columns = ["Point", "The text", "The released code", "Here", "Measured consequence"]
    caption = "Where the paper's text differs from the released code or is silent, and what that was measured to change."
    return longtable(told, [0.12, 0.15, 0.2, 0.18, 0.23], caption, "tab:disagreements")


def loss_table(both):
    """The gates under either loss, a row per metric and k; `both` has a column per pair ("text_<loss>", λ)."""
    told = both.map(escape)
    told.columns = [
        rf"$\lambda_{{\mathrm{{IC}}}}={weight:g}$, {text.removeprefix('text_')}"
        for text, weight in both.columns
    ]
    told = told[sorted(told.columns)].reset_index()
    metrics = told.pop("metric").map(escape)
    told.insert(0, "Metric", metrics.mask(metrics.duplicated(), ""))
    told.insert(1, "$k$", told.pop("k").map("{:g}".format))
    return tabular(told, "l r l l l l", list(metrics))


def effect_table(effects):
    """How large the difference is at each test, how many seeds an adversary must remove; "open" where a run is lacking. A is exp, B is linear."""
    told = pd.DataFrame(
        {
            r"$\lambda_{\mathrm{IC}}$": effects["lambda_ic"].map("{:g}".format),
            "$k$": effects["k"].map("{:g}".format),
        }
    )
    told["Metric"] = effects["metric"].map(escape)
    told["ratio $B/A$"] = [
        "{:.2f} [{:.2f}, {:.2f}]".format(*row)
        for row in effects[["ratio", "ratio_low", "ratio_high"]].values
    ]
    told["difference $B-A$"] = effects["hodges_lehmann"].map("${:.3f}$".format)
    told["rank-biserial"] = effects["rank_biserial"].map("${:.2f}$".format)
    told["seeds to lose"] = effects["seeds_to_lose"].astype(str)
    told.iloc[effects["note"].ne("").to_numpy(), 3:] = "open"
    return tabular(told, "l l l l r r r", list(effects["lambda_ic"]))


def setting_numbers(spec):
    """setting_<name> → value: what the report says of a run, its system and start, the models, the grid of the reference and the balanced loss."""
    system, network = spec.system_object, MODELS["baseline"]()
    told = {
        "updates": spec.steps,
        "points": spec.points,
        "horizon": spec.horizon,
        "rate": spec.lr,
        "physics_weight": spec.lambda_phys,
    }
    told |= {"g": system.g, "m": system.m, "length": system.L0, "floor": system.floor}
    told |= {
        f"{name}_start": value for name, value in zip(system.components, spec.initial_position)
    }
    told |= {
        f"{name}_parameters": kind().size(len(system.components)) for name, kind in MODELS.items()
    }
    told |= {
        "grid": len(spec.reference.t),
        "decay": LOSSES["balanced"].decay,
        "layers": network.depth,
        "width": network.hidden,
    }
    told["bands"] = " and ".join(
        f"{count} from {low:g} to {high:g} rad/s" for low, high, count in spec.trunk.bands
    )
    return {f"setting_{name}": value for name, value in told.items()}
