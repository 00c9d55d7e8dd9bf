"""Numbers and tables on their way into LaTeX: validated macro names, escaped text, files that name their notebook."""

import math
import re

from pinnlib.gates import GATES
from pinnlib.registry import lookup, validate

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
    validate("value", value, math.isfinite(value), "finite: what is not known is said in words")
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
    validate("key", key, re.fullmatch("[A-Za-z]+", name) is not None, allowed)
    return name


def macros(values):
    r"""One \newcommand per value; two keys must not give the same name."""
    names = [macro_name(key) for key in values]
    twice = sorted({name for name in names if names.count(name) > 1})
    validate("values", twice, not twice, "free of keys that give the same macro")
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


def save(out, name, body):
    """paper/generated/<name>.tex of a notebook's Output, opening with a comment that names the notebook."""
    path = out.root / "paper" / "generated" / f"{name}.tex"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"% Made by notebooks/{out.notebook}.ipynb; changes are overwritten.\n{body}\n",
        encoding="utf-8",
    )
    out.wrote(path)
