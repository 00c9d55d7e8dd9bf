"""Pieces of sentences: grammatical and true for every number."""

import pandas as pd
import pytest

from pinnlib.report import phrases


@pytest.mark.parametrize(
    "words, text", [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ([*"abc"], "a, b and c")]
)
def test_words_are_joined(words, text):
    assert phrases.join_words(words) == text


@pytest.mark.parametrize(
    "number, total, text",
    [
        (0, 8, "none of 8 cells"),
        (1, 8, "1 of 8 cells"),
        (8, 8, "all 8 cells"),
        (1, 1, "the one cell"),
        (0, 1, "none of 1 cell"),
    ],
)
def test_shares(number, total, text):
    assert phrases.share_phrase(number, total, "cell") == text


@pytest.mark.parametrize(
    "p, text",
    [
        (6e-5, "$p < 0.001$"),
        (0.0012, "$p = 0.0012$"),
        (0.0443, "$p = 0.044$"),
        (0.04996, "$p = 0.04996$"),  # 0.05 would not be significant
        (0.0504, "$p = 0.05$"),
        (0.527, "$p = 0.5$"),
        (1.0, "$p = 1$"),
    ],
)
def test_p_keeps_its_side_of_the_level(p, text):
    assert phrases.p_phrase(p) == text


def test_effects_have_interval_and_p():
    row = pd.Series({"ratio": 1.231, "low": 1.186, "high": 1.365, "p_holm": 0.527})
    assert phrases.effect_phrase(row) == "1.23 [1.19, 1.36], $p = 0.5$"
    assert phrases.both_p_phrase(1e-5, 1e-6) == "both $p < 0.001$"
    assert phrases.both_p_phrase(1e-5, 0.5) == "$p < 0.001$ and $p = 0.5$"


@pytest.mark.parametrize(
    "factor, text",
    [
        (1.9, ""),
        (2, "more than two times"),
        (58, "more than ten times"),
        (101, "more than a hundred times"),
        (9999, "more than a hundred times"),
        (20_000, "more than ten thousand times"),
    ],
)
def test_factors_are_rounded_down_to_wide_steps(factor, text):
    assert phrases.factor_phrase(factor) == text
