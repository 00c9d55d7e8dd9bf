"""Tables in a notebook: words to the left, numbers to the right, the same text every time."""

import re
from types import SimpleNamespace

import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter

from pinnlib.bundle import tables
from pinnlib.bundle.output import Output

FRAME = pd.DataFrame(
    {"n": [1, 2], "word": ["a", "<td>"], "told": ["1.5", "2e-3"], "either": ["", "3/4"]},
    index=pd.Index(["x", "y"], name="id"),
)


def alignments(html):
    """Row by row: which cells are to the left."""
    return [
        "".join("l" if "left" in cell else "." for cell in re.findall(r"<t[hd]\b[^>]*>", row))
        for row in re.findall("<tr.*?</tr>", html, re.S)
    ]


def test_words_are_to_the_left_and_numbers_are_not_even_if_written_out():
    assert alignments(tables.html(FRAME)) == ["l.l.l"] * 4  # header, name of the index, two rows
    assert (
        tables.html(FRAME).replace(tables.LEFT, "").replace(' style="white-space: nowrap;"', "")
        == FRAME._repr_html_()
    )
    assert tables.html(FRAME) == tables.html(FRAME.copy())


def test_long_heads_break_after_an_underscore_and_values_do_not():
    told = tables.html(pd.DataFrame({"p_one_sided": ["rel_l2_u"]}, index=["max_ae_u"])).replace(
        tables.LEFT, ""
    )
    assert "<th>p_<wbr>one_<wbr>sided</th>" in told
    assert "rel_l2_u</td>" in told
    assert "<th>max_ae_u</th>" in told


def test_whole_numbers_have_no_point_and_powers_do_not_break():
    frame = pd.DataFrame(
        {("a", 10.0): [1.0, 2.0], ("a", 20.0): [0.5, float("nan")]},
        index=pd.MultiIndex.from_tuples([(20.0, "x"), (60.0, "y")], names=["k", None]),
    )
    told = tables.html(frame)
    assert re.findall(r">([\d.]+|NaN)<", told) == ["10", "20", "20", "1", "0.5", "60", "2", "NaN"]
    assert told.count(tables.CENTRE) == 1
    assert frame.columns[0] == ("a", 10.0)
    assert frame.iloc[0, 0] == 1.0
    assert frame.dtypes.iloc[0] == float
    assert '<td style="white-space: nowrap;">2.7e-05</td>' in tables.html(
        pd.DataFrame({"p": ["2.7e-05", "-0.1"]})
    )
    assert "nowrap" not in tables.html(
        pd.DataFrame({"rule": ["relative difference below 1e-10 in double precision"]})
    )
    assert '<td style="text-align: left;white-space: nowrap;">&lt;1.0e-04</td>' in tables.html(
        pd.DataFrame({"p": ["<1.0e-04"]})
    )


@pytest.mark.parametrize("values", [[1e20, 1.0], [0.5, 1.0], [float("inf"), 1.0]])
def test_other_numbers_stay_as_they_are(values):
    frame = pd.DataFrame({"x": values, "y": pd.array([None, 1.0], dtype="Float64")})
    assert tables.html(frame) == frame._repr_html_()


def test_groups_of_words_have_their_head_in_the_middle():
    told = tables.html(
        pd.DataFrame([["a", "b"]], columns=pd.MultiIndex.from_product([["group"], ["x", "y"]]))
    )
    assert f'<th colspan="2"{tables.CENTRE}>group</th>' in told
    assert told.count(tables.LEFT) == 4


def test_an_index_of_several_levels_is_written_once():
    frame = FRAME.assign(group="g").set_index(["group", "n"])
    assert alignments(tables.html(frame))[2:] == [
        "l.l.l",
        ".l.l",
    ]  # the second row has no cell for its group


@pytest.mark.parametrize(
    "frame",
    [
        FRAME[["n"]].reset_index(drop=True),
        pd.DataFrame(),
        pd.DataFrame({f"c{i}": ["word"] for i in range(50)}),
    ],
    ids=["numbers", "empty", "wide"],
)
def test_what_has_no_words_or_is_cut_stays_as_it_is(frame):
    with pd.option_context("display.max_columns", 20):
        assert tables.html(frame) == frame._repr_html_()


def test_a_numbered_notebook_shows_its_tables_so(tmp_path, monkeypatch):
    formatter = DisplayFormatter()
    monkeypatch.setattr(
        tables,
        "Shell",
        SimpleNamespace(
            initialized=lambda: True, instance=lambda: SimpleNamespace(display_formatter=formatter)
        ),
    )
    Output("00_any", {}, str(tmp_path))
    assert formatter.format(FRAME)[0] == {
        "text/html": tables.html(FRAME),
        "text/plain": repr(FRAME),
    }
