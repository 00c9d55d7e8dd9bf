"""Small frozen objects that have a name: `exp(alpha=0.5)` is text in a notebook, a record or a CSV, and an object in code."""

import ast
import dataclasses
import math


def check(field, value, ok, allowed):
    """Raise a ValueError that names the field, the value and what is allowed, unless `ok`."""
    if not ok:
        raise ValueError(f"{field}={value!r} is not allowed: {field} must be {allowed}")


def is_number(value):
    """True for a finite real number that is not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


class Named:
    """Mixin of frozen dataclasses: `str(x)` is `name`, or `name(field=value)` for the fields that differ from their default."""

    name: str

    def __str__(self):
        told = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if getattr(self, f.name) != f.default]
        return self.name + (f"({', '.join(told)})" if told else "")


def lookup(field, registry, value):
    """The object that `value` stands for: itself if it is one already, else `registry[name](**arguments)` for the text `name(…)`."""
    if isinstance(value, Named):
        check(field, value, type(value) in registry.values(), f"one of {', '.join(registry)}")
        return value
    known = f"one of {', '.join(registry)} (arguments as in 'name(field=value)')"
    check(field, value, isinstance(value, str), known)
    try:
        tree = ast.parse(value, mode="eval").body
        call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
        arguments = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        readable = isinstance(call.func, ast.Name) and not call.args and None not in arguments
    except (SyntaxError, ValueError):
        readable = False
    check(field, value, readable and call.func.id in registry, known)
    kind = registry[call.func.id]
    fields = [f.name for f in dataclasses.fields(kind)]
    for argument in arguments:
        check(field, value, argument in fields, f"{call.func.id} with arguments out of: {', '.join(fields) or 'none'}")
    return kind(**arguments)
