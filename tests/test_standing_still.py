"""The error of standing still, beside the errors of runs."""

import numpy as np
import pandas as pd
import pytest

from pinnlib import RunSpec
from pinnlib.report.standing_still import add_still_errors, still_errors


def test_the_angle_at_rest_is_wholly_wrong():
    assert still_errors(20)["rel_l2_theta"] == 1


def test_the_length_at_rest_misses_its_oscillation():
    r = RunSpec(k=20).reference.q[0]
    expected = np.std(r) / np.sqrt(np.mean(r**2))
    assert still_errors(20)["rel_l2_r"] == pytest.approx(expected)


def test_other_systems_stand_at_their_mean():
    x = RunSpec(system="quartic", k=2).reference.q[0]
    expected = np.std(x) / np.sqrt(np.mean(x**2))
    assert still_errors(2, "quartic")["rel_l2_x"] == pytest.approx(expected)


def test_every_row_of_a_table_gets_the_error_of_its_stiffness_and_metric():
    table = pd.DataFrame({"k": [20, 60, 20], "metric": ["rel_l2_u", "rel_l2_u", "max_ae_u"]})
    found = add_still_errors(table)["standing_still"]
    assert list(found) == [
        still_errors(20)["rel_l2_u"],
        still_errors(60)["rel_l2_u"],
        still_errors(20)["max_ae_u"],
    ]
