"""How an Output saves figures and numbers, and what it reads."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from pinnlib.bundle.output import Output
from pinnlib.paths import RECORDS, ROOT
from pinnlib.registry import UserError
from pinnlib.runs.table import specs_of


def test_a_stop_while_a_figure_is_saved_leaves_the_old_one_whole(tmp_path):
    class Stopped:
        def savefig(self, path, **_):
            Path(path).write_text("half a")
            raise KeyboardInterrupt

    out = Output("04_figures", {}, tmp_path)
    out.figure(Figure(), "panel")
    whole = (tmp_path / "figures" / "panel.png").read_bytes()
    with contextlib.suppress(KeyboardInterrupt):
        out.figure(Stopped(), "panel")
    assert (tmp_path / "figures" / "panel.png").read_bytes() == whole
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "panel.pdf",
        "panel.png",
    ]


def test_an_output_without_records_of_its_own_reads_those_of_the_repository(tmp_path):
    assert Output("04_figures", {}, tmp_path).records == RECORDS == Output("04_figures", {}).records
    assert Output("04_figures", {}, tmp_path).source("claims.csv") == ROOT / "data" / "claims.csv"
    assert (
        Output("05_gradient_scaling", {"train_missing": True}, tmp_path).records
        == tmp_path / "data" / "records"
    )
    (tmp_path / "data" / "records").mkdir(parents=True)
    (tmp_path / "data" / "records" / "a.jsonl").touch()
    own = Output("04_figures", {}, tmp_path)
    assert own.records == tmp_path / "data" / "records"
    assert own.source("claims.csv") == tmp_path / "data" / "claims.csv"


def test_a_notebook_whose_runs_are_all_missing_says_so(tmp_path):
    with pytest.raises(UserError, match="2 runs"):
        Output("04_figures", {}, tmp_path).load(specs_of("main", seeds=1, steps=1234)[:2])


def test_numbers_for_the_text_are_plain_and_what_is_not_known_is_open(tmp_path):
    values = {
        "a": np.float64(1 / 3),
        "b": np.int64(7),
        "c": np.nan,
        "d": pd.NA,
        "e": "",
        "f": "exp",
        "g": 2,
    }
    Output("04_figures", {}, tmp_path).numbers(values)
    told = json.loads((tmp_path / "data" / "numbers" / "04_figures.json").read_text())
    assert told == {
        "a": 0.3333333333,
        "b": 7,
        "c": "open",
        "d": "open",
        "e": "open",
        "f": "exp",
        "g": 2,
    }
