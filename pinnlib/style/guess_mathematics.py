r"""Dollars around what looks like mathematics in plain text, such as "k = 20".

For texts that are plain in CSV and JSON files; new texts write $k = 20$ themselves.
"""

import re
from typing import Any

from pinnlib.gates import GATES
from pinnlib.registry import lookup
from pinnlib.style.latex import MATH, POWER, escape

FORMS = {"r_min": r"$r_{\min}$", "-K e": "$-Ke$"}
GATE = rf"(?<!\w)(?:{'|'.join(GATES)})\(\w+=[^()]+\)"  # becomes its formula
EQUATION = r"(?<!\w)[krtDαλθ] = \d+(?:\.\d+)?(?![\w,.]*\w)"
LETTER = r"(?<![\w\\'])(?<!\w\.)[krtgTDKep]'*(?!\w|\.\w)"  # a quantity, with its primes
SKIP = rf"{MATH.pattern}|{POWER.pattern}"
PATTERN = re.compile("|".join([SKIP, GATE, EQUATION, *FORMS, LETTER]))


def mark_mathematics(text: Any) -> str:
    """The text with dollars around equations, single letters and gates with arguments."""
    return PATTERN.sub(_mark, str(text))


def _mark(found: re.Match) -> str:
    piece = found[0]
    if re.fullmatch(SKIP, piece):
        return piece
    if piece.endswith(")"):
        return f"${lookup('gate', GATES, piece).formula}$"
    return FORMS.get(piece, f"${piece}$")


def escape_guessing(text: Any) -> str:
    """`escape` after `mark_mathematics`."""
    return escape(mark_mathematics(text))
