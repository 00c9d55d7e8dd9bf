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
from pinnlib.analysis.contrasts import lost
from pinnlib.paths import ROOT
from pinnlib.report.evidence import plain
from pinnlib.runs.progress import TimeEstimate
from pinnlib.runs.studies import STUDIES
from pinnlib.runs.table import specs_of

ANSWERS = [
    "rate_text_reversal_survives",
    "rate_text_rate_or_gate",
    "rate_text_one_rate",
    "rate_text_decay_helps",
    "loss_text_cause",
    "loss_text_components",
    "loss_text_control",
    "rate_text_gate_or_constraint",
    "rate_text_exact_start",
    "system_answer_published",
    "system_answer_own",
    "system_answer_practice",
    "rate_text_recipe",
]
README = (ROOT / "README.md").read_text()
YOURS = (ROOT / "pinnlib" / "README.md").read_text().partition("## Make it yours\n")[2]
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
    assert re.findall(r"^\| `(\w+)`", section, re.M) == notebooks


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


def test_the_table_of_gates_is_that_of_the_records():
    row = r"^\| `([^`]+)`: [^|]+((?:\| [\d.]+ )+)\| ([\d.]+) to ([\d.]+) \|$"
    rows = re.findall(row, README, re.M)
    gates = [gate for gate, *_ in rows]
    choice = pd.read_csv(ROOT / "data" / "gate_choice.csv", index_col="gate")
    assert gates == [gate for gate in choice.index if gate in gates]  # in this order
    assert gates[:3] == list(choice.index[:3])
    assert {"exp", "linear", choice.index[-1]} <= set(gates)
    for gate, numbers, low, high in rows:
        regrets = choice.filter(like="regret_").loc[gate]
        assert re.findall(r"[\d.]+", numbers) == [f"{value:.2f}" for value in regrets], gate
        interval = choice.loc[gate, ["low", "high"]]
        assert [low, high] == [f"{value:.2f}" for value in interval], gate


def test_what_the_readme_says_of_the_gates_is_significant():
    contrasts = pd.read_csv(ROOT / "data" / "gate_contrasts.csv")
    hard = contrasts[contrasts["question"] == "hard, penalty"]
    assert len(hard) == 8
    assert (hard["ratio"] < 1).all()
    assert (hard["p_holm"] < 0.05).all()
    losses = lost(contrasts[contrasts["question"] == "alpha"])
    assert set(losses[losses == 0].index) == {"exp(alpha=2.0)", "exp(alpha=4.0)"}


def test_its_other_numbers_are_those_of_the_records():
    section = re.search(r"## What came out\n(.*?)\n## ", README, re.S)[1]
    numbers = json.loads((ROOT / "data" / "numbers" / "03_statistics.json").read_text())
    claims = json.loads((ROOT / "data" / "numbers" / "10_claims.json").read_text())
    assert claims["rows_total"] == 8
    assert claims["rows_reproduced"] == 8
    assert f"{claims['means_inside']} of its {claims['means_decided']} means" in section
    assert f"{numbers['basin_gap_share']:.0%} of the gap" in section
    ended = [numbers[f"basin_linear_{basin}_n"] for basin in ("near", "wrong", "lost")]
    assert "(eight of twenty seeds), or lost (one" in section
    assert ended == [11, 8, 1]
    assert numbers["baseline_exp_over_still_low"] > 0.75  # "hardly better than standing still"
    turned, networks = map(int, numbers["baseline_linear_turned"].split(" of "))
    assert turned > networks / 2
    assert numbers["baseline_exp_turned"].startswith("0 of ")
    benchmark = json.loads((ROOT / "data" / "benchmark.json").read_text())
    ratios = benchmark["ratios"]
    costs = benchmark["portability_cost"].values()
    assert f"costs at most {max(costs):.0%} of the time" in README
    assert f"a spectral run is {min(ratios['adaptive'], ratios['fixed']):.0f} times" in README
    assert f"a plain network {ratios['baseline']:.1f} times" in README
    every = specs_of(*STUDIES)
    assert f"{len(every):,} runs" in README
    assert f"the {sum(spec.model == 'baseline' for spec in every)} plain networks" in README


@pytest.mark.parametrize("name", ["07_loss", "08_rate", "09_systems_and_optimisers"])
def test_its_answers_are_those_of_the_notebooks(name):
    """Every sentence that the README takes over from a notebook is the present one."""
    numbers = json.loads((ROOT / "data" / "numbers" / f"{name}.json").read_text())
    quoted = [key for key in ANSWERS if key in numbers]
    assert quoted
    for key in quoted:
        assert plain(numbers[key]) in README, key


def test_its_counts_of_winners_at_own_rates():
    tables = {}
    for name in ("rate_contrasts", "system_contrasts"):
        table = pd.read_csv(ROOT / "data" / f"{name}.csv")
        tables[name] = table[table["rate"] == "own"]
    gaps = tables["rate_contrasts"]
    gaps = gaps[(gaps["comparison"] == "gap") & (gaps["metric"] == "rel_l2_u")]
    counts = []
    for table in (gaps, tables["system_contrasts"]):
        better = table[table["p_holm"] < 0.05]["ratio"] > 1
        assert better.all()  # "in none"
        counts += [len(table), len(better)]
    assert counts == [16, 13, 24, 19]
    assert "in none of 16 comparisons on the pendulum and in none of 24" in README
    assert "the exponential gate is in 13 and 19" in README


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
        (r"`--study main` takes some (\d+) minutes", ["main"]),
        (r"at the pace of the records, some (\d+) minutes", list(STUDIES)),
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
    assert [*explorer.numbers] == ["tau"]
    assert "exp: On record" in explorer.status.value
    with pytest.raises(ValueError, match="tau"):
        RunSpec(gate="log(width=1)")


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
