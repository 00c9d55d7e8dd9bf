"""The norm of the residual Jacobian in time: growth and closed forms, by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from kernel_tables import GATES, norms, short_run

from pinnlib import RunSpec
from pinnlib.analysis import ntk
from pinnlib.registry import UserError
from pinnlib.report import jacobian_profiles


def test_the_parts_of_the_norm_add_up_to_the_whole():
    spec, _, records = short_run()
    norms_of_run = jacobian_profiles.profiles([spec], [300], records)
    parts = norms_of_run["head"] ** 2 + norms_of_run["frequencies"] ** 2
    np.testing.assert_allclose(norms_of_run["all"] ** 2, parts)


def test_without_records_there_is_nothing_to_measure():
    with pytest.raises(UserError, match="--study expanded"):
        jacobian_profiles.profiles([RunSpec()], [5000], {})


def test_the_closed_form_is_the_second_derivative_of_the_features():
    spec, times = RunSpec(gate="exp(alpha=0.5)"), np.array([0.3, 4.0])
    t = torch.tensor(times, requires_grad=True)
    total = 0
    for omega in spec.trunk.initial_frequencies:
        for wave in (torch.sin, torch.cos):
            y = (1 - torch.exp(-0.5 * t)) * wave(omega * t)
            (slope,) = torch.autograd.grad(y.sum(), t, create_graph=True)
            total = total + torch.autograd.grad(slope.sum(), t)[0] ** 2
    factor = np.sqrt(1 + torch.sigmoid(spec.ansatz().latent_start[0, 0, 0]).item() ** 2)
    np.testing.assert_allclose(
        jacobian_profiles.envelope(spec, times), factor * total.sqrt().numpy(), rtol=1e-10
    )


def test_growth_is_that_from_the_second_fifth_to_the_last():
    # Means of t over (8, 10] and (2, 4], twenty times each, 0.1 apart: 9.05 and 3.05. A step at
    # t = 8 is not in the last fifth.
    found = jacobian_profiles.growth(
        norms(lambda t: t, lambda t: np.where(t <= 8.01, 1.0, 7.0), seeds=2)
    )
    assert list(found.index) == [(gate, k, 0) for gate in GATES for k in (20, 60)]
    assert found["head"].to_numpy() == pytest.approx(9.05 / 3.05)
    assert found["all"].to_numpy() == pytest.approx(9.05 / 3.05)
    assert found["frequencies"].to_numpy() == pytest.approx(7)


def test_closed_forms_are_those_of_the_gates():
    profile = pd.concat(
        [
            norms(np.ones_like, lambda t: 3 * t**2, seeds=3),
            norms(np.zeros_like, np.zeros_like, update=5),
        ]
    )
    found = jacobian_profiles.closed_forms(profile, k=60)
    t = ntk.GRID
    np.testing.assert_array_equal(found.loc["exp", "head"], 2)  # the median of 1, 2 and 5 times 1
    np.testing.assert_allclose(
        found.loc["linear", "frequencies_closed"], 6 * t**2
    )  # t·g(t) of the linear gate is what was put in
    np.testing.assert_allclose(
        found.loc["exp", "frequencies_closed"],
        600 * t * (1 - np.exp(-t)) / (10 * (1 - np.exp(-10))),
    )
    # g sin ωt and g cos ωt have the size g'' − ω²g and 2ωg': at late times g is 1 under the
    # exponential gate and t under the linear one.
    np.testing.assert_allclose(
        found.loc["linear", "head_closed"].iloc[-1] / found.loc["exp", "head_closed"].iloc[-1],
        10,
        rtol=1e-2,
    )

    errors = jacobian_profiles.closed_form_errors(found.assign(head_closed=[2.1, 1.6] * 100))
    assert errors == {"exp": "15%", "linear": "15%"}  # the median of 2/2.1 and 2/1.6, off by 5, 25%
