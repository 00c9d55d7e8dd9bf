"""Named objects: `exp(alpha=0.5)` is text in a notebook or a record, and an object in code."""

import ast
import dataclasses
import math
import numbers
from collections.abc import Mapping
from functools import cache
from typing import Any

Registry = dict[str, Any]  # name → class of Named objects
TABLES = {"loss": "LOSSES", "beside": "GATES"}  # registries whose name is not the field's plural
LONGEST_TEXT = 1000  # characters of a name with its arguments
LONGEST_SHOWN = 500  # characters of a value in a message


class UserError(RuntimeError):
    """An error that its message explains; the command line prints it without a traceback."""


def validate(field: str, value: object, ok: object, allowed: str) -> None:
    """Raise a ValueError that names the field, the value and what is allowed, unless `ok`."""
    if not ok:
        raise ValueError(f"{field}={_show(value)} is not allowed: {field} must be {allowed}")


def _show(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of too many digits, or too deep a nest
        text = f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def is_number(value: Any) -> bool:
    """True for a finite real number, including NumPy's, that is not a bool."""
    real = isinstance(value, (float, int, numbers.Real)) and not isinstance(value, bool)
    try:
        return real and math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def is_whole(value: Any, least: int, most: float = math.inf) -> bool:
    """True for a whole number from `least` to `most`."""
    return is_number(value) and value == int(value) and least <= value <= most


def set_numbers(thing: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Check that fields are finite numbers within {field: (smallest, largest)}; store floats."""
    for name, (low, high) in ranges.items():
        value = getattr(thing, name)
        ok = is_number(value) and low <= value <= high
        validate(name, value, ok, f"a finite number from {low:g} to {high:g}")
        object.__setattr__(thing, name, float(value) + 0.0)  # no negative zero


def real_fields(thing: Any) -> list[dataclasses.Field]:
    """The fields of a dataclass that are real numbers, by their annotation or their default."""
    return [
        field
        for field in dataclasses.fields(thing)
        if field.type in (float, "float") or isinstance(field.default, float)
    ]


def overrides(thing: Any) -> dict[str, Any]:
    """{name: value} of the fields of a dataclass that differ from their default."""
    values = {field: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    return {field.name: value for field, value in values.items() if value != field.default}


class Named:
    """Mixin of frozen dataclasses: `str(x)` is `name`, or `name(field=value)` with other fields."""

    name: str

    def __post_init__(self) -> None:
        for field in real_fields(self):  # alpha=2 and alpha=2.0 are the same object and text
            value = getattr(self, field.name)
            if is_number(value):
                object.__setattr__(self, field.name, float(value) + 0.0)

    def __str__(self) -> str:
        arguments = [f"{name}={value!r}" for name, value in overrides(self).items()]
        return f"{self.name}({', '.join(arguments)})" if arguments else self.name


def lookup(field: str, registry: Registry, value: object) -> Any:
    """The object that `value` stands for: itself, or `registry[name](**arguments)` for text."""
    known = f"one of {', '.join(registry)}"
    table = TABLES.get(field, f"{field.upper()}S")
    if isinstance(value, Named):
        validate(field, value, hasattr(value, "name"), "of a class with a `name`")
        own = (
            f"a class of your own is listed first: {table}[{value.name!r}] = {type(value).__name__}"
        )
        validate(field, value, registry.get(value.name) is type(value), f"{known}; {own}")
        return value
    name = _parse(value)[0] if isinstance(value, str) else ""
    known += (
        f" (arguments as in 'name(field=value)'); a class of your own is listed in {table} first"
    )
    validate(field, value, name in registry, known)
    return _build(field, registry[name], value)


@cache
def _build(field: str, kind: type, text: str) -> Any:
    """The object of a class that `text` stands for; it is frozen and can be shared."""
    name, arguments = _parse(text)
    own_name = getattr(kind, "name", None)
    validate(field, text, own_name == name, f"{kind.__name__}.name, which is {own_name!r}")
    fields = [field.name for field in dataclasses.fields(kind)]
    known = f"{name} with arguments out of: {', '.join(fields) or 'none'}"
    validate(field, text, set(arguments) <= set(fields), known)
    return kind(**arguments)


@cache
def _parse(text: str) -> tuple[str, dict[str, Any]]:
    """("exp", {"alpha": 2}) for "exp(alpha=2)", and ("", {}) for what has another form."""
    if len(text) > LONGEST_TEXT:
        return "", {}
    try:
        match ast.parse(text, mode="eval").body:
            case ast.Name(id=name):
                return name, {}
            case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
                arguments = {str(word.arg): ast.literal_eval(word.value) for word in keywords}
                if len(arguments) == len(keywords):  # no argument is given twice
                    return name, arguments
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass  # the last two: the parser gives up on deep nests
    return "", {}
