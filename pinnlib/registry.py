"""Small frozen objects that have a name: `exp(alpha=0.5)` is text in a notebook, a record or a CSV, and an object in code."""

import ast
import dataclasses
import math
import numbers


class UserError(RuntimeError):
    """What cannot go on, in words that are all a user needs: the command line prints them without a traceback."""


def validate(field, value, ok, allowed):
    """Raise a ValueError that names the field, the value and what is allowed, unless `ok`."""
    if not ok:
        raise ValueError(f"{field}={value!r} is not allowed: {field} must be {allowed}")


def is_number(value):
    """True for a finite real number, NumPy's included, that is not a bool."""
    try:
        return (
            (type(value) is float or isinstance(value, numbers.Real))
            and value is not True
            and value is not False
            and math.isfinite(value)
        )
    except OverflowError:  # a whole number beyond any float
        return False


def is_whole(value, least):
    """True for a whole number of at least `least`."""
    return is_number(value) and value == int(value) and value >= least


def real_fields(thing):
    """The fields of a dataclass that are real numbers, by their annotation or their default."""
    return [
        f
        for f in dataclasses.fields(thing)
        if f.type in (float, "float") or isinstance(f.default, float)
    ]


class Named:
    """Mixin of frozen dataclasses: `str(x)` is `name`, or `name(field=value)` for the fields that differ from their default."""

    name: str

    def __post_init__(self):
        for f in real_fields(
            self
        ):  # one form for equal numbers: alpha=2 and alpha=2.0 are the same object and the same text
            if is_number(getattr(self, f.name)):
                object.__setattr__(self, f.name, float(getattr(self, f.name)) + 0.0)

    def __str__(self):
        told = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in dataclasses.fields(self)
            if getattr(self, f.name) != f.default
        ]
        return self.name + (f"({', '.join(told)})" if told else "")


def lookup(field, registry, value):
    """The object that `value` stands for: itself if it is one already, else `registry[name](**arguments)` for the text `name(…)`."""
    if isinstance(value, Named):
        validate(field, value, type(value) in registry.values(), f"one of {', '.join(registry)}")
        return value
    known = f"one of {', '.join(registry)} (arguments as in 'name(field=value)')"
    validate(field, value, isinstance(value, str), known)
    try:
        tree = ast.parse(value, mode="eval").body
        call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
        arguments = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        readable = (
            isinstance(call.func, ast.Name)
            and not call.args
            and None not in arguments
            and len(arguments) == len(call.keywords)
        )
    except (SyntaxError, ValueError):
        readable = False
    validate(field, value, readable and call.func.id in registry, known)
    kind = registry[call.func.id]
    name = getattr(kind, "name", None)
    validate(
        field,
        value,
        name == call.func.id,
        f"registered under its own name, {name!r}"
        if name
        else f"a class with a name: {kind.__name__} lacks `name = ...`",
    )
    fields = [f.name for f in dataclasses.fields(kind)]
    for argument in arguments:
        validate(
            field,
            value,
            argument in fields,
            f"{call.func.id} with arguments out of: {', '.join(fields) or 'none'}",
        )
    return kind(**arguments)
