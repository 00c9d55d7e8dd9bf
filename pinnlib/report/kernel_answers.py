"""The answer of notebook 05 in sentences, the numbers that the paper quotes, and small tables."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pinnlib.report.phrases import count_noun
from pinnlib.report.published import PAPER_GATES

SATURATED = 1.25  # growth in time up to which a norm is called saturated
PREDICTS = {  # answer of the rule → a sentence without its stop
    "yes": "The kernel predicts the winner",
    "no": "The kernel does not predict the winner",
    "unclear": "Whether the kernel explains the winner stays undecided",
}


def growth_numbers(growth: pd.DataFrame) -> dict[str, float]:
    """Growth of the Jacobian in time at the start and k = 20, from `jacobian_profiles.growth`."""
    return {f"kernel_growth_{gate}": growth.loc[(gate, 20, 0), "all"] for gate in PAPER_GATES}


def cell_medians(measured: pd.DataFrame) -> pd.DataFrame:
    """Medians over seeds of two scalars of the kernel, per model, k, gate and update."""
    cells = measured.groupby(["model", "k", "gate", "update"])
    return cells[["effective_rank", "late_over_early"]].median()


def trunk_overview(cells: pd.DataFrame) -> pd.DataFrame:
    """Per model and gate: the range of the effective rank over k and updates, and the median over
    k of late over early at the start; `cells` as of `cell_medians`."""
    by_trunk = ["model", "gate"]
    ranks = cells["effective_rank"].groupby(by_trunk)
    late = cells["late_over_early"].xs(0, level="update").groupby(by_trunk)
    return pd.DataFrame(
        {
            "effective rank, smallest": ranks.min(),
            "effective rank, largest": ranks.max(),
            "late over early, at the start": late.median(),
        }
    )


def decay_overview(early_first: pd.DataFrame, late_first: pd.DataFrame) -> pd.DataFrame:
    """Per gate: in how many runs the early half of the horizon is ahead after some updates, in how
    many the kernel at the start predicts the late half ahead, and by which ratio of rates."""
    rows = {}
    for gate in PAPER_GATES:
        row = {}
        for update, (ahead, runs) in early_first.loc[gate].iterrows():
            row[f"early half ahead, {update:,} updates"] = f"{ahead} of {runs}"
        counts = late_first.loc[gate, "late half predicted ahead"]
        predicted = f"{counts['rate_late_over_early']:.0f} of {counts['of']:.0f}"
        row["late half predicted ahead"] = predicted
        ratios = late_first.loc[gate].xs("rate_late_over_early", level=1)
        ends = ratios[["ratio of rates, smallest", "ratio of rates, largest"]]
        row["rate of the late half over that of the early"] = "{:.2f} to {:.2f}".format(*ends)
        rows[gate] = row
    return pd.DataFrame(rows)


def decay_numbers(overview: pd.DataFrame, update: int) -> dict[str, str]:
    """The counts of `decay_overview` on which the paper's text rests, after `update` updates."""
    numbers = {}
    for gate in PAPER_GATES:
        column = overview[gate]
        numbers[f"early_first_{gate}"] = column[f"early half ahead, {update:,} updates"]
        numbers[f"late_predicted_{gate}"] = column["late half predicted ahead"]
    return numbers


def jacobian_sentence(numbers: Mapping[str, Any]) -> str:
    """How the norm of the residual Jacobian changes along the horizon, under either gate."""
    linear, exp = numbers["kernel_growth_linear"], numbers["kernel_growth_exp"]
    if exp <= SATURATED < linear:
        return (
            "From the second to the last fifth of the horizon the residual Jacobian grows by a"
            f" factor {linear:.1f} under the linear gate; under the exponential gate it saturates"
            f" ({exp:.2f})."
        )
    return (
        "From the second to the last fifth of the horizon the residual Jacobian changes by a"
        f" factor {linear:.2f} under the linear gate and {exp:.2f} under the exponential one."
    )


def predictor_sentences(numbers: Mapping[str, Any]) -> str:
    """How many kernel quantities correlate with the winner, and what the rule says."""
    answer = numbers["kernel_predicts"]
    if answer == "open":
        return "Whether the kernel predicts the winner is open, since runs are missing."
    clear, within = numbers["kernel_clear"], numbers["kernel_clear_within_k"]
    link = "but only" if within < clear else "and"
    quantities = numbers["kernel_quantities"]
    moments = count_noun(numbers["kernel_asked"] // quantities, "moment")
    return (
        f"Of {numbers['kernel_asked']} kernel predictors ({quantities} quantities at {moments})"
        f" {clear} correlate with the winning gate across stiffnesses, {link} {within} within one"
        f" stiffness. {PREDICTS[answer]}."
    )


def pair_sentence(numbers: Mapping[str, Any]) -> str:
    """Who wins the pairs, what k alone knows of it, and whether the angle agrees."""
    return (
        f"The exponential gate wins {numbers['kernel_exp_wins']} of {numbers['kernel_pairs']}"
        f" pairs; $k$ alone is right in {numbers['kernel_by_k_alone']:.0%} of them and wrong in"
        f" {numbers['kernel_minority']}; the error of the angle has the same winner in"
        f" {numbers['kernel_angle_same_winner']}."
    )


def floor_details(numbers: Mapping[str, Any]) -> str:
    """The extremes of floors and errors, and how often floors agree with the outcome."""
    return (
        f"Largest floor {numbers['floor_largest']:.4f}, smallest error reached"
        f" {numbers['reached_smallest']:.4f}. The gate with the lower floor wins in"
        f" {numbers['floor_agrees']} pairs; the best head has the smaller mean residual in"
        f" {numbers['floor_preferred']} runs."
    )


def floor_sentences(floors: pd.DataFrame) -> str:
    """How much of the error is left with the best head for the learned frequencies."""
    share = (floors["floor_learned"] / floors["reached"]).median()
    share_theta = (floors["floor_learned_theta"] / floors["reached_theta"]).median()
    much = "far better" if share < 0.1 else "better"
    if share >= 1:
        return "With neither gate could the ansatz represent the motion better than training does."
    return (
        f"With either gate the ansatz could represent the motion {much} than training finds it."
        " The best head (least-squares output weights) for the learned frequencies has, in the"
        f" median, {share:.1%} of the error that training reached ({share_theta:.1%} for the"
        " angle)."
    )


def kernel_answer(numbers: Mapping[str, Any], floors: pd.DataFrame) -> str:
    """The answer of notebook 05, from its numbers and `error_floors.floors`."""
    sentences = [jacobian_sentence(numbers), predictor_sentences(numbers), floor_sentences(floors)]
    return " ".join(sentences)
