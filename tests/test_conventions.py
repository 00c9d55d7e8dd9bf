"""Files that other people's tools read: CODECHECK, pre-commit, GitHub, citation."""

import json
import re
import subprocess

import pytest
import yaml
from test_paper import digits

from pinnlib import __version__
from pinnlib.bundle.codecheck import codecheck_text
from pinnlib.bundle.committed import compare_with_committed
from pinnlib.paths import ROOT
from pinnlib.registry import UserError

ENVIRONMENT = (ROOT / "environment.yml").read_text()
CODECHECK = yaml.safe_load((ROOT / "codecheck.yml").read_text())
CLI = (ROOT / "pinnlib" / "bundle" / "cli.py").read_text()
AUTHORS = [{"name": "The pinn-gates contributors"}]


# CODECHECK


def test_the_codecheck_manifest_is_that_of_the_provenance():
    """If it is not: any ./run_all.sh without --output writes it anew."""
    assert (ROOT / "codecheck.yml").read_text() == codecheck_text(ROOT)


def test_the_codecheck_manifest_has_what_the_specification_asks():
    assert CODECHECK["version"].endswith("/spec/config/1.0/")
    assert CODECHECK["paper"]["authors"] == AUTHORS
    assert CODECHECK["paper"]["title"].startswith("Which gate?")
    for entry in CODECHECK["manifest"]:
        assert set(entry) == {"file", "comment"}


def test_every_file_of_the_codecheck_manifest_is_made_by_the_notebook_named():
    for entry in CODECHECK["manifest"]:
        assert (ROOT / entry["file"]).exists(), entry["file"]
        maker = re.search(r"\((\S+)\)$", entry["comment"])[1]
        assert (ROOT / maker).exists(), maker
        name = re.sub(r"^paper/main$|^notebooks/", "", maker.rpartition(".")[0]) or "paper"
        provenance = json.loads((ROOT / "data" / "provenance" / f"{name}.json").read_text())
        assert entry["file"] in provenance["written"]


# Like the records: read, or made by a command (python tests/screenshot.py).
MEASURED = {
    "data/gate_second_order.csv",
    "data/kernel_baseline.csv",
    "figures/explorer/interface.png",
}


@pytest.mark.parametrize("pattern", ["figures/**/*.png", "data/*.csv", "paper/generated/*.tex"])
def test_every_figure_and_table_is_in_the_codecheck_manifest(pattern):
    names = {str(path.relative_to(ROOT)) for path in ROOT.glob(pattern)}
    assert names
    assert names - MEASURED <= {entry["file"] for entry in CODECHECK["manifest"]}


# pre-commit and GitHub


def test_pre_commit_has_the_ruff_of_the_environment():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert f"- ruff=={repository['rev'].removeprefix('v')}\n" in ENVIRONMENT
    assert {hook["id"] for hook in repository["hooks"]} == {"ruff-check", "ruff-format"}
    assert all("jupyter" in hook["types_or"] for hook in repository["hooks"])


WORKFLOW = (ROOT / ".github" / "workflows" / "tests.yml").read_text()


def test_the_workflow_tests_and_rebuilds_on_both_architectures():
    job = yaml.safe_load(WORKFLOW)["jobs"]["tests"]
    assert job["strategy"]["matrix"]["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    commands = [step["run"].splitlines()[0] for step in job["steps"] if "run" in step]
    for command in ("test --fast", "test", "--no-pdf | tee rebuild.log"):
        assert f"./run_all.sh {command}" in commands
    assert re.search(r"python=([\d.]+)", ENVIRONMENT)[1] in WORKFLOW


def test_the_workflow_fails_if_a_table_differs(tmp_path):
    """It looks for the line that a rebuild prints if all tables agree."""
    expected = re.search("grep -q '(.*)' rebuild.log", WORKFLOW)[1]
    table = tmp_path / "data" / "table.csv"
    table.parent.mkdir()
    table.write_text("k\n20\n")
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert expected in compare_with_committed(tmp_path)
    table.write_text("k\n60\n")
    assert expected not in compare_with_committed(tmp_path)


# The pages of the supplement


@pytest.fixture(params=["checklist", "mlrc"])
def page(request):
    """A page as LaTeX, without comments."""
    text = (ROOT / "paper" / f"{request.param}.tex").read_text(encoding="utf-8")
    return re.sub(r"(?<!\\)%.*", "", text)


def test_no_result_is_typed_in_the_pages(page):
    assert digits(page) == []


def test_every_macro_of_the_pages_is_defined(page):
    macros = (ROOT / "paper" / "generated" / "macros.tex").read_text(encoding="utf-8")
    for name in re.findall(r"\\([A-Z][A-Za-z]+)", page):
        assert f"\\newcommand{{\\{name}}}" in macros


def test_every_place_in_the_checklist_is_there():
    page = (ROOT / "paper" / "checklist.tex").read_text(encoding="utf-8").replace("{-}", "-")
    places = [code.replace("\\", "") for code in re.findall(r"\\code\{(.*?)\}", page)]
    assert "data/claims.csv" in places
    for place in places:
        if place.startswith("./run_all.sh"):
            verb = place.split()[-1]
            assert verb in (ROOT / "run_all.sh").read_text() + CLI, place
        else:
            report = ROOT / "pinnlib" / "report" / place  # a rule's file, named with its folder
            assert (ROOT / place).exists() or report.exists(), place


# Citation


def test_the_citation_names_authors_version_and_the_original():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["authors"] == AUTHORS
    assert citation["version"] == __version__
    assert citation["license"] == "MIT"
    (original,) = citation["references"]
    assert original["identifiers"][0]["value"] == "arXiv:2605.04502"


def test_a_damaged_manifest_is_named(tmp_path):
    folder = tmp_path / "data" / "provenance"
    folder.mkdir(parents=True)
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "main.tex").write_text("")
    (folder / "03_statistics.json").write_text('{"notebook": "03')
    with pytest.raises(UserError, match=r"03_statistics\.json is damaged: .* --only 03"):
        codecheck_text(tmp_path)
