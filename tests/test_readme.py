"""What the README shows is what happens."""

import ast
import contextlib
import dataclasses
import fnmatch
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
import torch

from pinnlib import GATES, MODELS, SYSTEMS, RunSpec, train
from pinnlib.paths import ROOT
from pinnlib.report.evidence import plain
from pinnlib.runs.progress import TimeEstimate
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.table import specs_of

ANSWERS = {
    "03_statistics": ["headline_published", "headline_text_loss", "basin_answer"],
    "05_gradient_scaling": ["kernel_answer"],
    "06_gate_study": ["gate_answer"],
    "07_loss": ["balancing_answer"],
    "08_rate": ["headline_own_rate", "rate_answer", "constraint_answer", "recipe_answer"],
    "09_systems_and_optimisers": ["systems_answer", "practice_answer"],
}
README = (ROOT / "README.md").read_text()
YOURS = (ROOT / "pinnlib" / "README.md").read_text().partition("## Make it yours\n")[2]
ORIGINAL = ["main", "no_penalty", "expanded", "as_written", "table"]
BLOCKS = re.findall(r"```python\n(.*?)```", YOURS, re.S)


@pytest.mark.slow
def test_the_five_lines_print_what_the_readme_says():
    code = re.search(r"## Five lines\n+```python\n(.*?)```", README, re.S)[1]
    shown = re.search(r"```text\n(.*?)```", README, re.S)[1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == shown


def test_the_readme_opens_with_the_two_commands():
    assert re.search(r"^./run_all.sh +#.*\n./run_all.sh test", README[:600], re.M)


def test_the_readme_names_every_notebook():
    section = re.search(r"\| notebook \|(.*?)\| folder \|", README, re.S)[1]
    notebooks = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    rows = re.findall(r"^\| \[`(\w+)`\]\(notebooks/(\w+)\.ipynb\)", section, re.M)
    assert rows == [(name, name) for name in notebooks]


def test_it_can_be_read_in_three_minutes():
    assert len(README.splitlines()) <= 250


@pytest.mark.parametrize("path", ["README.md", "pinnlib/README.md", "CONTRIBUTING.md"])
def test_links_to_files_are_not_dead(path):
    text = (ROOT / path).read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]*)", text)
    folder = (ROOT / path).parent
    assert [link for link in links if not (folder / link).exists()] == []


def test_links_within_it_lead_to_headings():
    for path, anchor in re.findall(r"\]\((pinnlib/README\.md)?#([\w-]+)\)", README):
        text = (ROOT / path).read_text() if path else README
        headings = re.findall(r"^#+ (.*)$", text, re.M)
        assert anchor in [heading.lower().replace(" ", "-") for heading in headings]


def test_the_map_of_the_library_names_every_core_file_and_every_room():
    text = (ROOT / "pinnlib" / "README.md").read_text()
    core = [path.name for path in (ROOT / "pinnlib").glob("[a-z]*.py")]
    rooms = [f"{path.parent.name}/" for path in (ROOT / "pinnlib").glob("*/__init__.py")]
    assert [name for name in core + rooms if name not in text] == []


@pytest.mark.parametrize("path", ["README.md", "data/README.md", "pinnlib/README.md"])
def test_files_named_in_a_readme_exist(path):
    text = (ROOT / path).read_text()
    named = re.findall(r"`((?:tests|pinnlib|notebooks|data|paper)/[\w./]+\.\w+)`", text)
    if path == "pinnlib/README.md":
        names = "compiled|runs|analysis|style|report|explorer|bundle"
        rooms = re.findall(rf"`((?:{names})/[\w./]+)`", text)
        named += [f"pinnlib/{name}" for name in rooms]
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("notebook", "key"), [(name, key) for name, keys in ANSWERS.items() for key in keys]
)
def test_its_answers_are_those_of_the_notebooks(notebook, key):
    numbers = json.loads((ROOT / "data" / "numbers" / f"{notebook}.json").read_text())
    assert plain(numbers[key]) in README


def test_its_other_numbers_are_those_of_the_records():
    benchmark = json.loads((ROOT / "data" / "benchmark.json").read_text())
    ratios = benchmark["ratios"]
    costs = benchmark["portability_cost"].values()
    assert f"costs at most {max(costs):.1%} of the time" in README
    assert f"a spectral run is {min(ratios['adaptive'], ratios['fixed']):.0f} times" in README
    assert f"a plain network {ratios['baseline']:.1f} times" in README
    assert f"are {len(specs_of(*STUDIES)):,} runs" in README
    assert f"alone ({len(specs_of(*ORIGINAL)):,} runs)" in README


def test_what_it_says_of_the_defaults_is_true():
    """What the README says of the defaults of a RunSpec."""
    spec = RunSpec()
    assert spec.model == "adaptive"
    assert spec.loss == "balanced"
    assert (spec.steps, spec.points, spec.lambda_ic) == (5000, 2000, 50)


@pytest.fixture
def registries():
    """The registries, put back afterwards as they were."""
    before = [(registry, dict(registry)) for registry in (GATES, MODELS, SYSTEMS)]
    yield
    for registry, kinds in before:
        registry.clear()
        registry.update(kinds)


@pytest.mark.parametrize(
    ("pattern", "studies"),
    [
        (r"at the pace of the records, some (\d+) minutes", list(STUDIES)),
        (r"alone \([\d,]+ runs\) take some (\d+)", ORIGINAL),
    ],
)
def test_its_minutes_are_those_of_the_records(pattern, studies):
    seconds = TimeEstimate({}).seconds(specs_of(*studies))
    two_cores = seconds / 2 / 60
    assert two_cores == pytest.approx(float(re.search(pattern, README)[1]), rel=0.15)


def run_block(block):
    """The names that a block of code defines, and the value of its last line."""
    names = {"__name__": "readme"}
    *lines, last = ast.parse(block).body
    exec(compile(ast.Module(lines, []), "README.md", "exec"), names)
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module([last], []), "README.md", "exec"), names)
        return names, None
    return names, eval(compile(ast.Expression(last.value), "README.md", "eval"), names)


@pytest.mark.slow
def test_a_gate_of_ones_own_is_in_the_explorer(registries):
    _, explorer = run_block(BLOCKS[0])
    assert explorer.spec.gate == "log"
    assert [*explorer.menus.numbers] == ["tau"]
    assert "exp: On record" in explorer.status.value
    with pytest.raises(ValueError, match="tau"):
        RunSpec(gate="log(width=1)")
    (script,) = re.findall(r"`(\(result,\) = train\(.*?\))`", YOURS)
    names = {"train": train, "RunSpec": RunSpec}
    exec(script, names)
    assert names["result"].spec == RunSpec(gate="log", steps=200)
    assert names["result"].status == "ok"


@pytest.mark.slow
def test_a_sweep_of_ones_own_gives_contrasts_and_a_figure(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, _ = run_block(BLOCKS[1])
    records = names["report"].records.values()
    assert len(records) == 12
    assert all(record["status"] == "ok" for record in records)
    assert "p_holm" in capsys.readouterr().out
    assert names["figure"].axes


@pytest.mark.slow
def test_a_trunk_of_ones_own_trains(registries):
    _, explorer = run_block(BLOCKS[2])
    assert explorer.spec.model == "bumps"
    assert train(dataclasses.replace(explorer.spec, steps=20))[0].status == "ok"


@pytest.mark.slow
def test_a_system_of_ones_own_trains_in_the_explorer(registries):
    _, explorer = run_block(BLOCKS[3])
    explorer.train.click()
    explorer.thread.join(60)
    assert "Trained here" in explorer.status.value
    assert explorer.runs.find(explorer.spec).metrics["rel_l2_u"] < 0.3


def test_the_derivatives_of_the_classes_of_ones_own_are_right(registries):
    """Their jets against automatic differentiation, so that nobody copies a wrong one."""
    names = {"__name__": "readme"}
    for block in (block for block in BLOCKS if "@dataclass" in block):
        exec(block.partition("\nExplorer(")[0], names)
    t = torch.linspace(0.1, 9.9, 50, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(1, 1, 60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    bumps = names["Bumps"]().jet({"weight": weight}, t[None])
    for jet in (names["Log"](2.0).jet(t), names["Jet"](*(x[0, 0] for x in bumps))):
        (first,) = torch.autograd.grad(jet.value.sum(), t, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), t, create_graph=True)
        assert torch.allclose(jet.first, first)
        assert torch.allclose(jet.second, second)
    x, x_t = np.array([0.3, -1.0]), np.array([0.5, 2.0])
    duffing = names["Duffing"]()
    (force,) = duffing.acceleration((x,), (x_t,))
    slope = (duffing.energy((x + 1e-6,), (x_t,)) - duffing.energy((x - 1e-6,), (x_t,))) / 2e-6
    assert np.allclose(slope, -force)


TABLES = sorted((ROOT / "data").rglob("*.csv"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_table_and_each_of_its_columns_is_described(path):
    """The list at the top of data/README.md names the file; its section, or that of the columns
    that many files share, names the columns. A sub-folder has a README of its own."""
    about = (ROOT / "data" / "README.md").read_text()
    opening, shared, *sections = re.split(r"^## ", about, flags=re.M)
    files = " ".join(re.findall(r"^\| (.*?) \|", opening, re.M))  # the first column of the list
    assert str(path.relative_to(ROOT / "data")) in re.findall(r"`(.+?)`", files)
    if path.parent.name == "data":
        (section,) = (text for text in sections if f"`{path.name}`" in text.partition("\n")[0])
    else:
        section = (path.parent / "README.md").read_text()
    described = [name.replace("…", "*") for name in re.findall(r"`([^`\n]+)`", shared + section)]
    columns = pd.read_csv(path, nrows=0).columns
    missing = [
        column
        for column in columns
        if not any(fnmatch.fnmatchcase(column, name) for name in described)
    ]
    assert missing == []
