"""Text, numbers and tables as LaTeX; files that name the notebook that made them."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pinnlib.registry import validate
from pinnlib.style.labels import METRIC_NAMES

IN_MATH = {  # symbol → its form in mathematics
    "λ": r"\lambda_{\mathrm{IC}}",
    "θ": r"\theta",
    "α": r"\alpha",
    "ρ0": r"\rho_0",
    "ρ": r"\rho",
    "σ": r"\sigma",
    "μ": r"\mu",
    "η": r"\eta",
    "ω": r"\omega",
    "±": r"\pm",
    "×": r"\times",
    "≤": r"\le",
    "≥": r"\ge",
    "−": "-",
    "²": "^2",
    "<": "<",
    ">": ">",
}
IN_TEXT = {symbol: f"${form}$" for symbol, form in IN_MATH.items()} | {
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
MATH = re.compile(r"(\$[^$]+\$)")
MATH_SYMBOL = re.compile("|".join(IN_MATH))
METRIC = re.compile(rf"\b(?:{'|'.join(METRIC_NAMES)})\b")
POWER = re.compile(r"\d(?:\.\d+)?e[-+]\d+")
TEXT_PIECE = re.compile("|".join([METRIC.pattern, POWER.pattern, *map(re.escape, IN_TEXT)]))


def escape(text: Any) -> str:
    """Text as LaTeX; mathematics between dollars stays, apart from its Unicode symbols.

    In the rest 7.6e-06 becomes a power of ten, and a metric gets its name.
    """
    parts = MATH.split(str(text))  # text, mathematics, text, …
    parts[::2] = [TEXT_PIECE.sub(_text_piece, part) for part in parts[::2]]
    parts[1::2] = [MATH_SYMBOL.sub(_math_symbol, part) for part in parts[1::2]]
    return "".join(parts)


def _text_piece(found: re.Match) -> str:
    piece = found[0]
    if piece in METRIC_NAMES:
        return METRIC_NAMES[piece]
    if piece in IN_TEXT:
        return IN_TEXT[piece]
    return power(piece)


def _math_symbol(found: re.Match) -> str:
    return IN_MATH[found[0]] + " "  # in "θt" a letter follows


def power(text: str) -> str:
    """ "7.6e-06" as 7.6·10⁻⁶."""
    digits, exponent = text.split("e")
    factor = "" if float(digits) == 1 else rf"{digits}\times"
    return rf"${factor}10^{{{int(exponent)}}}$"


def number(value: float | str, digits: int = 3) -> str:
    """A number with this many digits or as a power of ten; whole numbers in full, text escaped."""
    if isinstance(value, str):
        return escape(value)
    if float(value).is_integer():
        return f"{int(value):,}".replace(",", "{,}")
    validate("value", value, math.isfinite(value), "finite; write words for an unknown value")
    if not 1e-3 <= abs(value) < 1e4:
        return power(f"{value:.{digits - 2}e}")
    text = f"{value:.{digits}g}" if abs(value) < 10**digits - 0.5 else f"{value:.0f}"
    return text if value > 0 else f"${text}$"


def probability(p: float, bound: bool = False) -> str:
    """A p-value with four decimals, below 1e-3 as a power of ten or "< 1e-4"; -- for NaN."""
    if math.isnan(p):
        return "--"
    if bound or p < 1e-4:
        return "$<10^{-4}$"
    return f"{p:.4f}" if p >= 1e-3 else power(f"{p:.1e}")


def macro_name(key: str) -> str:
    """ "same_winner" → "SameWinner", letters only."""
    name = "".join(word[:1].upper() + word[1:] for word in key.split("_"))
    allowed = "words of letters joined by underscores, since a LaTeX macro has letters only"
    validate("key", key, re.fullmatch("[A-Za-z]+", name) is not None, allowed)
    return name


def macros(values: Mapping[str, float | str]) -> str:
    r"""One \newcommand per value; two keys must not give the same name."""
    names = [macro_name(key) for key in values]
    repeated = sorted({name for name in names if names.count(name) > 1})
    validate("values", repeated, not repeated, "free of keys that give the same macro")
    texts = map(number, values.values())
    lines = [rf"\newcommand{{\{name}}}{{{text}}}" for name, text in zip(names, texts, strict=True)]
    return "\n".join(lines)


def tabular(frame: pd.DataFrame, columns: str, groups: Sequence | None = None) -> str:
    """A booktabs tabular of LaTeX cells, with the column names as heads.

    `groups`, one value per row, puts a rule before each row whose value differs from the last.
    """
    lines = _styler_lines(frame, columns)
    if groups is None:
        return "\n".join(lines)
    head, body, end = lines[:4], lines[4:-2], lines[-2:]
    for row in reversed(range(1, len(body))):
        if groups[row] != groups[row - 1]:
            body.insert(row, r"\midrule")
    return "\n".join([*head, *body, *end])


def _styler_lines(frame: pd.DataFrame, columns: str) -> list[str]:
    r"""Lines: \begin, \toprule, head, \midrule, one per row, \bottomrule, \end."""
    table = frame.reset_index(drop=True).style.hide(axis="index")
    return table.to_latex(hrules=True, column_format=columns).splitlines()


def longtable(frame: pd.DataFrame, widths: Sequence[float], caption: str, label: str) -> str:
    """A table over several pages, with columns of text of these fractions of the line width."""
    column = r">{{\raggedright\arraybackslash}}p{{{}\linewidth}}".format
    columns = "@{}" + "".join(map(column, widths)) + "@{}"
    lines = _styler_lines(frame, columns)
    head = "\n".join(lines[1:4])
    body = " \\addlinespace\n".join(lines[4:-2])
    return rf"""\begin{{longtable}}{{{columns}}}\caption{{{caption}}}\label{{{label}}}\\
{head}
\endfirsthead
\caption[]{{(continued)}}\\
{head}
\endhead
\bottomrule
\endfoot
{body}
\end{{longtable}}"""
