"""The published table of tests, and our tests beside it."""

import re

import pytest
from run_tables import both_k

from pinnlib.analysis import paired
from pinnlib.paths import PUBLISHED
from pinnlib.report import published

SPEC = """
| 0 | 20 | max_ae_u | A | 0.139 | 0.519 | 0.85 | 0.0012 | 0.0020 | 6.0e-4 |
| 0 | 20 | rel_l2_u | A | 0.049 | 0.163 | 0.85 | 0.0010 | 0.0020 | 5.1e-4 |
| 0 | 60 | max_ae_u | B | 0.180 | 0.088 | 1.00 | <1e-4 | <1e-4 | <1e-4 |
| 0 | 60 | rel_l2_u | B | 0.082 | 0.045 | 1.00 | <1e-4 | <1e-4 | <1e-4 |
| 50 | 20 | max_ae_u | A | 0.079 | 0.448 | 0.85 | <1e-4 | <1e-4 | <1e-4 |
| 50 | 20 | rel_l2_u | A | 0.026 | 0.140 | 1.00 | <1e-4 | <1e-4 | <1e-4 |
| 50 | 60 | max_ae_u | B | 0.171 | 0.099 | 1.00 | <1e-4 | <1e-4 | <1e-4 |
| 50 | 60 | rel_l2_u | B | 0.073 | 0.046 | 1.00 | <1e-4 | <1e-4 | <1e-4 |
"""


def test_the_published_csv_is_the_table_of_the_contract():
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in SPEC.strip().splitlines()]
    table = published.published()
    columns = "lambda_ic k metric winner mean_exp mean_linear frac_win p_raw p_holm p_one_sided n"
    assert table.columns[:11].tolist() == columns.split()
    assert len(table) == len(rows) == 8
    assert (table["n"] == 20).all()
    assert not table.isna().any(axis=None)
    for ours, (lambda_ic, k, metric, winner, *numbers) in zip(
        table.to_dict("records"), rows, strict=True
    ):
        assert (ours["lambda_ic"], ours["k"], ours["metric"]) == (int(lambda_ic), int(k), metric)
        assert ours["winner"] == {"A": "exp", "B": "linear"}[winner]
        for name, text in zip(
            ("mean_exp", "mean_linear", "frac_win", "p_raw", "p_holm", "p_one_sided"),
            numbers,
            strict=True,
        ):
            assert ours[name] == float(text.removeprefix("<")), (ours, name)
            assert ours.get(f"{name}_is_bound", False) == text.startswith("<"), (ours, name)
    assert table.filter(like="_is_bound").dtypes.tolist() == [bool] * 3
    assert (PUBLISHED / "README.md").exists()


def test_beside_published():
    table = published.beside_published(paired.gate_tests(both_k(), published.TESTED_K))
    assert len(table) == 8
    assert table["same_winner"].isna().tolist() == [True] * 4 + [False] * 4
    ours = table[table.lambda_ic == 50]
    assert ours["same_winner"].tolist() == [True] * 4
    assert ours["same_significance"].tolist() == [True] * 4
    assert (
        ours["mean_exp_inside"].tolist() == [False] * 4
    )  # 0.135 ± 0.02 and 0.605 ± 0.05 against 0.079 and 0.171
    assert ours["mean_linear_inside"].tolist() == [
        False,
        False,
        False,
        True,
    ]  # 0.135/3 ± 0.005 holds 0.046
    swapped = published.beside_published(
        paired.gate_tests(both_k().assign(k=lambda t: 80 - t.k), published.TESTED_K)
    ).query("lambda_ic == 50")
    assert swapped["same_winner"].tolist() == [False] * 4


def test_tests_of_other_models_are_refused():
    with pytest.raises(ValueError, match="^model="):
        published.beside_published(
            paired.gate_tests(both_k().assign(model="fixed"), published.TESTED_K)
        )


def test_the_view_has_ours_and_the_published_value_in_brackets():
    beside = published.beside_published(paired.gate_tests(both_k(), published.TESTED_K))
    view = published.published_view(beside)
    row = view.loc[("λ = 50", "k = 60", "ReL2E")]
    assert row["winner"] == "linear (linear)"
    assert row["mean error, linear"].startswith("0.045 [")
    assert row["mean error, linear"].endswith("(0.046)")
    assert row["p after Holm"].endswith("(<1.0e-04)")
    missing = view.loc[("λ = 0", "k = 60", "ReL2E")]
    assert missing["winner"] == "… (linear)"
    assert missing["mean error, exp"] == ""


# What ./run_all.sh prints


def comparison(tiny=False, runs=both_k):
    beside = published.beside_published(paired.gate_tests(runs(), published.TESTED_K))
    written = published.beside_published(paired.gate_tests(both_k(), published.TESTED_K))
    return published.comparison_text(beside, written, tiny)


def no_run():
    return both_k().assign(status="missing")


def test_the_complete_tests_are_printed_beside_the_published_ones():
    title, heads, *rows = comparison().strip().splitlines()
    assert title == "Paired tests of the two gates, ours beside the paper's:"
    assert heads.split()[:5] == ["lambda_ic", "k", "metric", "winner", "winner"]
    assert len(rows) == 4  # none of the four with λ = 0
    assert rows[0].split()[:5] == ["50", "20", "max_ae_u", "exp", "exp"]
    assert rows[0].split()[-1] == "<1.0e-04"


def test_without_a_complete_test_those_of_the_loss_of_the_text_are_printed():
    text = comparison(runs=no_run)
    assert "under the loss of the paper's text" in text
    assert len(text.strip().splitlines()) == 6


def test_tiny_runs_are_named():
    assert "tiny runs" in comparison(tiny=True)
    assert "tiny runs" not in comparison()
