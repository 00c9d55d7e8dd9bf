"""The house rules: direction of imports, plain code, type hints; read from the source."""

import ast
import collections
import io
import re
import subprocess
import sys
import tokenize

import pytest

from pinnlib.paths import ROOT

LIBRARY = ROOT / "pinnlib"
ROOMS = {  # room → the rooms it may import, besides itself
    "compiled": set(),
    "core": {"compiled"},
    "runs": {"core"},
    "analysis": {"core", "runs"},
    "style": {"core"},
    "report": {"core", "runs", "analysis", "style"},
    "explorer": {"core", "runs", "analysis", "style"},
    "bundle": {"core", "runs"},
}
HEAVY = {"matplotlib", "seaborn", "dask", "distributed", "IPython", "ipykernel", "ipywidgets"}
LATE = {  # imports inside a function: module → what it imports late, and why
    "pinnlib.bundle.cli": "pinnlib.bundle.commands",  # options are checked before torch is loaded
}
CORE_LINES = 2000  # read in two hours; room for a gate or two
NUMBA = {"compiled", "inlined", "ufunc", "intrinsic"}  # decorators
TOKENS_PER_LINE = 10
LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.COMMENT,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(LIBRARY.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


def room_of(name):
    """The room of a module of pinnlib; `__main__` is the door, and belongs to bundle."""
    if name == "pinnlib.__main__":
        return "bundle"
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else "core"


def imports_of(tree):
    """(module, name or None) of every import below a node."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.module, alias.name


def public_functions(tree):
    """Public functions of a module and public methods of its public classes.

    Without those that Numba compiles, which finds their types itself.
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            decorators = {getattr(decorator, "id", None) for decorator in node.decorator_list}
            if not decorators & NUMBA:
                yield node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    yield method


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_one_way(name):
    allowed = ROOMS[room_of(name)] | {room_of(name)}
    for module, imported in imports_of(TREES[name]):
        if module.split(".")[0] != "pinnlib":
            continue
        full = f"{module}.{imported}" if f"{module}.{imported}" in MODULES else module
        assert room_of(full) in allowed, f"{name} imports {full}"


@pytest.mark.parametrize("name", [name for name in MODULES if room_of(name) == "core"])
def test_the_core_is_light(name):
    loaded = {module.split(".")[0] for module, _ in imports_of(TREES[name])}
    assert not loaded & HEAVY


@pytest.mark.parametrize("name", MODULES)
def test_no_private_name_crosses_a_module(name):
    for module, imported in imports_of(TREES[name]):
        if module.split(".")[0] == "pinnlib" and imported is not None:
            assert not imported.startswith("_"), f"{name} imports {imported} from {module}"
    modules = {
        alias.asname or alias.name
        for node in TREES[name].body
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "pinnlib"
        for alias in node.names
        if f"{node.module}.{alias.name}" in MODULES
    }
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            crosses = node.value.id in modules and node.attr.startswith("_")
            assert not crosses, f"{name} uses {node.value.id}.{node.attr}"


@pytest.mark.parametrize("name", MODULES)
def test_no_import_hides_in_a_function(name):
    for function in ast.walk(TREES[name]):
        if isinstance(function, ast.FunctionDef):
            for module, imported in imports_of(function):
                full = f"{module}.{imported}"
                assert full == LATE.get(name), f"{name}.{function.name} imports {full}"


@pytest.mark.parametrize("name", MODULES)
def test_no_module_is_imported_under_two_names(name):
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "pinnlib":
            for alias in node.names:
                if f"{node.module}.{alias.name}" in MODULES:
                    assert alias.asname is None, f"{name} renames {alias.name}"


def test_a_public_function_name_stands_in_one_module():
    homes = collections.defaultdict(list)
    for name, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


@pytest.mark.parametrize("name", MODULES)
def test_public_functions_have_type_hints(name):
    for function in public_functions(TREES[name]):
        every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        bare = [a.arg for a in every if a.annotation is None and a.arg not in ("self", "cls")]
        assert bare == [], f"{name}.{function.name}"
        assert function.returns is not None, f"{name}.{function.name} has no return type"


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "core"])
def test_every_room_says_what_lives_in_it(room):
    """Its docstring is a list: perhaps the number of a notebook, a module, two spaces, text."""
    doc = ast.get_docstring(TREES[f"pinnlib.{room}"])
    listed = re.findall(r"^ *(?:\d\d +)?([a-z_]+)  +\S", doc, re.M)
    homes = [path.stem for path in (LIBRARY / room).glob("[a-z]*.py")]
    assert sorted(listed) == sorted(homes)


def test_the_core_is_thin():
    core = [path for name, path in MODULES.items() if room_of(name) == "core"]
    lines = sum(len(path.read_text().splitlines()) for path in core)
    assert lines <= CORE_LINES
    (told,) = re.findall(r"about ([\d,]+) lines", (LIBRARY / "README.md").read_text())
    assert abs(lines - int(told.replace(",", ""))) <= 50


def docstring_lines(tree):
    """The numbers of the lines that docstrings take."""
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            lines |= set(range(first.lineno, first.end_lineno + 1))
    return lines


@pytest.mark.parametrize("folder", ["pinnlib", "tests"])
def test_the_code_is_not_dense(folder):
    """Tokens per line of code, without docstrings and comments."""
    tokens, lines = 0, set()
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text()
        skipped = docstring_lines(ast.parse(text))
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in LAYOUT and token.start[0] not in skipped:
                tokens += 1
                lines.add((path, token.start[0]))
    assert tokens / len(lines) <= TOKENS_PER_LINE


@pytest.mark.parametrize("command", [("format", "--check"), ("check",)])
def test_ruff_has_no_complaint(command):
    folders = ["pinnlib", "tests", "notebooks", "conftest.py"]
    ruff = [sys.executable, "-m", "ruff", *command, "-q", *folders]
    done = subprocess.run(ruff, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_mypy_has_no_complaint_about_the_core():
    mypy = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", "build/mypy"]
    done = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
