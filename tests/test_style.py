"""Drawing options, axes, and numbers, text and tables as LaTeX."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from pinnlib.style import latex
from pinnlib.style.figures import (
    BLUE,
    COLUMN,
    GATE_COLOURS,
    ORANGE,
    add_note,
    draw_ratio,
    filled,
    label_ends,
    log_axis,
    panels,
    plot_intervals,
    shades,
    shift_tone,
    spread,
    styles,
    text_colour,
)

# --- figures ---


def test_curves_differ_in_more_than_colour():
    looks = styles(("baseline", "fixed", "adaptive"), ("exp", "linear", "exp(alpha=0.5)")).values()
    assert len({(str(look["linestyle"]), look["marker"]) for look in looks}) == 9


def test_a_curve_looks_the_same_in_any_company():
    alone = styles(("fixed",), ("linear",))["fixed", "linear"]
    assert alone == styles(("adaptive", "fixed"), ("exp", "linear"))["fixed", "linear"]


def test_a_gate_has_its_colour_and_a_model_a_tone_of_it():
    looks = styles(("adaptive", "fixed"), ("exp", "linear"))
    assert looks["adaptive", "linear"]["color"] == GATE_COLOURS["linear"]
    assert looks["fixed", "linear"]["color"] == shift_tone(GATE_COLOURS["linear"], 0.4)


def test_a_tone_is_mixed_with_white_or_black():
    assert shift_tone("#ff0000", 0.0) == "#ff0000"
    assert shift_tone("#ff0000", 0.6) == "#ff9999"
    assert shift_tone("#ff0000", -0.6) == "#660000"


@pytest.mark.parametrize("field", ["models", "gates"])
def test_more_names_than_styles_are_refused(field):
    names = {"models": ["fixed"], "gates": ["exp"]} | {field: list("abcdef")}
    with pytest.raises(ValueError, match=f"^{field}="):
        styles(**names)


def test_markers_are_filled_in_part():
    assert filled("red", "full") == {"markerfacecolor": "red"}
    assert filled("red", "none") == {"markerfacecolor": "white"}
    assert filled("red", "left")["fillstyle"] == "left"


@pytest.mark.parametrize(
    "background, text", [("white", "black"), ("black", "white"), (BLUE, "white"), (ORANGE, "black")]
)
def test_text_is_readable_on_its_background(background, text):
    assert text_colour(background) == text


def test_a_ratio_is_hollow_unless_it_is_significant():
    row = pd.Series({"ratio": 2.0, "low": 1.0, "high": 4.0})
    _, ((axis,),) = panels()
    draw_ratio(axis, 3, row, "red", filled=True)
    draw_ratio(axis, 3, row, "red", filled=False, marker="s", sideways=True)
    upright, sideways = [bars.lines[0] for bars in axis.containers]
    assert upright.get_xydata().tolist() == [[3, 2]]
    assert sideways.get_xydata().tolist() == [[2, 3]]
    assert upright.get_markerfacecolor() == "red"
    assert sideways.get_markerfacecolor() == "white"
    spans = [bars.lines[2][0].get_segments()[0].tolist() for bars in axis.containers]
    assert spans == [[[3, 1], [3, 4]], [[1, 3], [4, 3]]]


def test_notes_wrap_to_the_width_of_their_figure():
    figure, _ = panels(width=COLUMN)
    add_note(figure, "first line\n" + "word " * 20 + "$1-e^{-t}$")
    first, *others = figure.get_supxlabel().splitlines()
    assert first == "first line"
    assert len(others) == 3
    assert max(map(len, others)) <= 17 * COLUMN
    assert others[-1].endswith("$1-e^{-t}$")


def test_shades_go_from_dark_to_light():
    colours = shades(range(4))
    assert list(colours) == [0, 1, 2, 3]
    brightness = [sum(plt.matplotlib.colors.to_rgb(colour)) for colour in colours.values()]
    assert brightness == sorted(brightness)


def test_a_log_axis_holds_what_is_drawn():
    figure, axes = panels(1, 2)
    assert axes.shape == (1, 2)
    log_axis(axes[0, 0], np.array([0.02, 0.5, np.nan, -1.0, 0.0]))
    low, high = axes[0, 0].get_ylim()
    assert 0.01 < low < 0.02
    assert 0.5 < high < 1
    log_axis(axes[0, 1], np.array([np.nan]))
    assert axes[0, 1].get_ylim() == (0.01, 1)
    figure.draw_without_rendering()
    ticks = [label.get_text() for label in axes[0, 0].get_yticklabels()]
    assert "0.05" in ticks
    plt.close(figure)


def test_an_interval_below_the_axis_ends_in_an_arrow_at_its_floor():
    figure, ((axis,),) = panels()
    log_axis(axis, np.array([0.1, 1.0]))
    plot_intervals(axis, [1, 2], [0.5, -3.0], [0.6, 0.5], [0.7, 0.9], "red")
    floor, _ = axis.get_ylim()
    (arrow,) = [line for line in axis.lines if line.get_label() == "_arrow"]
    (bars,) = axis.collections
    whole, cut = (segment[:, 1] for segment in bars.get_segments())
    assert arrow.get_xdata() == [2]
    assert arrow.get_ydata() == [floor]
    assert whole == pytest.approx([0.5, 0.7])
    assert cut == pytest.approx([floor, 0.9])
    plt.close(figure)


@pytest.mark.parametrize(
    "values, expected",
    [
        ([0.5, 0.1], [0.5, 0.1]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.6, 0.5, 0.52], [0.64, 0.44, 0.54]),
        ([0.0, 0.05, 0.13], [-0.04, 0.06, 0.16]),  # the third is pushed by the first two
    ],
)
def test_labels_are_spread_in_their_order(values, expected):
    assert spread(values, 0.1) == pytest.approx(expected)


def test_curves_are_named_at_their_ends():
    figure, ((axis,),) = panels()
    axis.set_ylim(0, 10)
    label_ends(axis, [("upper", 8, "red"), ("lower", 2, "blue")], gap=0.1)
    upper, lower = axis.texts
    assert upper.xy == pytest.approx((1, 0.8))
    assert lower.get_text() == "lower"
    assert lower.get_color() == "blue"
    plt.close(figure)


# --- text ---


@pytest.mark.parametrize(
    "text, expected",
    [
        ("50% & more_of #1", r"50\% \& more\_\allowbreak{}of \#1"),
        ("mathematics $k = 20$ & $p_1$ stays", r"mathematics $k = 20$ \& $p_1$ stays"),
        ("$θ = 0.2$ at $σ(ρ_0)$", r"$\theta  = 0.2$ at $\sigma (\rho _0)$"),
        ("k = 20 of g at t", "k = 20 of g at t"),  # nothing is guessed
        ("a single $ is text", r"a single \$ is text"),
        ("λ, θ, α, ρ0, σ", r"$\lambda_{\mathrm{IC}}$, $\theta$, $\alpha$, $\rho_0$, $\sigma$"),
        ("1 ± 2, r², < 3 – …", r"1 $\pm$ 2, r$^2$, $<$ 3 -- \ldots{}"),
        ("0.1 in rel_l2_u, max_ae_u", "0.1 in ReL2E, MaxAE"),
        ("own_rel_l2_u", r"own\_\allowbreak{}rel\_\allowbreak{}l2\_\allowbreak{}u"),
        ("p 7.6e-06, 1e-12", r"p $7.6\times10^{-6}$, $10^{-12}$"),
        ("\\ { } ^ ~", r"\textbackslash{} \{ \} \^{} \~{}"),
    ],
)
def test_text_is_escaped(text, expected):
    assert latex.escape(text) == expected


# --- numbers ---


@pytest.mark.parametrize(
    "value, expected",
    [
        (0.12345, "0.123"),
        (5000, "5{,}000"),
        (5000.0, "5{,}000"),
        (999.7, "1000"),
        (7.6e-6, r"$7.6\times10^{-6}$"),
        (1e-4, "$10^{-4}$"),
        (-0.5, "$-0.5$"),
        ("50%", r"50\%"),
    ],
)
def test_numbers(value, expected):
    assert latex.number(value) == expected


def test_an_unknown_number_is_refused():
    with pytest.raises(ValueError, match="^value="):
        latex.number(float("nan"))


def test_probabilities():
    assert latex.probability(0.0012) == "0.0012"
    assert latex.probability(6e-4) == r"$6.0\times10^{-4}$"
    assert latex.probability(9e-5) == "$<10^{-4}$"
    assert latex.probability(1e-3, bound=True) == "$<10^{-4}$"
    assert latex.probability(float("nan")) == "--"


def test_macros():
    text = latex.macros({"mean_exp": 0.12345, "winner": "exp & linear"})
    assert text == "\\newcommand{\\MeanExp}{0.123}\n\\newcommand{\\Winner}{exp \\& linear}"


@pytest.mark.parametrize("key", ["mean_2", "rate-a", "", "köln"])
def test_macro_names_have_letters_only(key):
    with pytest.raises(ValueError, match="^key="):
        latex.macro_name(key)


def test_two_keys_of_the_same_macro_are_refused():
    with pytest.raises(ValueError, match="^values="):
        latex.macros({"a_b": 1, "aB": 2})


# --- tables ---

FRAME = pd.DataFrame({"$k$": ["20", "60", "90"], "error [m]": ["0.1", "$<1$", ""]}, index=[5, 5, 7])


def test_tabular_rules_its_groups():
    assert latex.tabular(FRAME, "ll", ["a", "a", "b"]).splitlines() == [
        r"\begin{tabular}{ll}",
        r"\toprule",
        r"$k$ & error [m] \\",
        r"\midrule",
        r"20 & 0.1 \\",
        r"60 & $<1$ \\",
        r"\midrule",
        r"90 &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert latex.tabular(FRAME, "ll").count(r"\midrule") == 1


def test_longtable_repeats_its_head():
    text = latex.longtable(FRAME, [0.3, 0.6], "Errors.", "tab:errors")
    assert text.startswith(r"\begin{longtable}{@{}>{\raggedright\arraybackslash}p{0.3\linewidth}")
    assert text.count(r"$k$ & error [m] \\") == 2
    assert text.count(r"\caption{Errors.}\label{tab:errors}\\") == 1
    assert text.count(r"\addlinespace") == 2  # not after the last row
    assert text.endswith("90 &  \\\\\n\\end{longtable}")
