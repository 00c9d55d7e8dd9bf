"""Numbers and tables on their way into LaTeX: validated macro names, escaped text, files that name their notebook."""

import math
import re

import pandas as pd

from .gates import GATES
from .losses import LOSSES
from .models import MODELS
from .named import check, lookup

NAMES = {"rel_l2_u": "ReL2E", "max_ae_u": "MaxAE"}
SYMBOLS = {
    "r_min": r"$r_{\min}$",
    "-K e": "$-Ke$",
    "λ": r"$\lambda_{\mathrm{IC}}$",
    "θ": r"$\theta$",
    "α": r"$\alpha$",
    "ρ0": r"$\rho_0$",
    "σ": r"$\sigma$",
    "±": r"$\pm$",
    "²": "$^2$",
    "<": "$<$",
    ">": "$>$",
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_\allowbreak{}",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "^": r"\^{}",
    "~": r"\~{}",
    "…": r"\ldots{}",
    "–": "--",
}
LONE = r"(?<![\w\\'])(?<!\w\.)[krtgTDKep]'*(?!\w|\.\w)"  # a letter that stands alone is a quantity, with its primes
EQUATION = (
    r"(?<!\w)[krtDαλθ] = \d+(?:\.\d+)?(?![\w,.]*\w)"  # in one piece, so that no line breaks in it
)
METRIC = rf"(?<!\w)(?:{'|'.join(NAMES)})(?!\w)"
GATE = (
    rf"(?<!\w)(?:{'|'.join(GATES)})\(\w+=[^()]+\)"  # a gate with arguments is told by its formula
)
PATTERN = re.compile(
    "|".join(
        [METRIC, GATE, EQUATION, *map(re.escape, sorted(SYMBOLS, key=len, reverse=True)), LONE]
    )
)


def _symbol(found):
    if found[0].endswith(")"):
        return f"${lookup('gate', GATES, found[0]).formula}$"
    name, *value = found[0].split(" = ")
    symbol = (NAMES | SYMBOLS).get(name, f"${name}$")
    return f"{symbol[:-1]}={value[0]}$" if value else symbol


def escape(text):
    """Plain text as LaTeX; 7.6e-06 becomes a power of ten."""
    parts = re.split(r"(\d(?:\.\d+)?e[-+]\d+)", str(text))
    return "".join(
        power(part) if i % 2 else PATTERN.sub(_symbol, part) for i, part in enumerate(parts)
    )


def power(text):
    """ "7.6e-06" as 7.6·10⁻⁶."""
    digits, exponent = text.split("e")
    factor = "" if float(digits) == 1 else rf"{digits}\times"
    return rf"${factor}10^{{{int(exponent)}}}$"


def number(value, digits=3):
    """A number with so many significant digits; very small or large ones as a power of ten, whole ones as they are."""
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}".replace(",", "{,}")
    check("value", value, math.isfinite(value), "finite: what is not known is said in words")
    if not 1e-3 <= abs(value) < 1e4:
        return power(f"{value:.{digits - 2}e}")
    text = f"{value:.{digits}g}" if abs(value) < 10**digits - 0.5 else f"{value:.0f}"
    return text if value > 0 else f"${text}$"


def probability(p, bound=False):
    """A p-value as the paper prints it: four decimals, below 1e-3 as a power of ten, below 1e-4 as "< 1e-4"; a dash where a tie has none."""
    if p != p:
        return "--"
    if bound or p < 1e-4:
        return "$<10^{-4}$"
    return f"{p:.4f}" if p >= 1e-3 else power(f"{p:.1e}")


def macro_name(key):
    """ "same_winner" → "SameWinner", letters only."""
    name = "".join(word[:1].upper() + word[1:] for word in key.split("_"))
    allowed = "words of letters joined by underscores, since a LaTeX macro has letters only"
    check("key", key, re.fullmatch("[A-Za-z]+", name) is not None, allowed)
    return name


def macros(values):
    r"""One \newcommand per value; two keys must not give the same name."""
    names = [macro_name(key) for key in values]
    twice = sorted({name for name in names if names.count(name) > 1})
    check("values", twice, not twice, "free of keys that give the same macro")
    return "\n".join(
        rf"\newcommand{{\{name}}}{{{number(value)}}}" for name, value in zip(names, values.values())
    )


def rows(frame, end=r" \\"):
    """The body of a table: cells joined by &, a line per row; cells are LaTeX already."""
    return "\n".join(" & ".join(map(str, row)) + end for row in frame.itertuples(index=False))


def tabular(frame, columns, groups=None):
    """A booktabs tabular with the frame's column names as heads; `groups` (one entry per row) puts a line before each new group."""
    return _ruled(columns, _head(frame), rows(frame).split("\n"), groups)


def _ruled(columns, head, lines, groups=None):
    groups = groups or [None] * len(lines)
    ruled = [
        line if i == 0 or groups[i] == groups[i - 1] else r"\midrule" + "\n" + line
        for i, line in enumerate(lines)
    ]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *ruled,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def longtable(frame, widths, caption, label):
    """The same over several pages, with columns of flowing text of these shares of the line."""
    columns = (
        "@{}"
        + "".join(rf">{{\raggedright\arraybackslash}}p{{{width}\linewidth}}" for width in widths)
        + "@{}"
    )
    head = "\n".join([r"\toprule", _head(frame), r"\midrule"])
    start = rf"\begin{{longtable}}{{{columns}}}\caption{{{caption}}}\label{{{label}}}\\"
    repeated = [
        head,
        r"\endfirsthead",
        r"\caption[]{(continued)}\\",
        head,
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
    ]
    body = rows(frame, r" \\ \addlinespace").removesuffix(
        r" \addlinespace"
    )  # after the last row it could need a page of its own
    return "\n".join([start, *repeated, body, r"\end{longtable}"])


def _head(frame):
    return " & ".join(frame.columns) + r" \\"


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


def settings(spec):
    """setting_<name> → value: what the report says of a run, its system and start, the models, the grid of the reference and the balanced loss."""
    system, network = spec.dynamics, MODELS["baseline"]()
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


def save(out, name, body):
    """paper/generated/<name>.tex of a notebook's Output, opening with a comment that names the notebook."""
    path = out.root / "paper" / "generated" / f"{name}.tex"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"% Made by notebooks/{out.notebook}.ipynb; changes are overwritten.\n{body}\n",
        encoding="utf-8",
    )
    out.wrote(path)
