"""The kernel along training: snapshots as short runs, spectra, and kernels of runs trained here."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from kernel_tables import short_run

from pinnlib import RunSpec, train
from pinnlib.report import kernel_measurements
from pinnlib.runs.record import record_of


def test_a_spectrum_falls_from_the_largest_eigenvalue():
    spec, _, records = short_run()
    shares = kernel_measurements.kernel_spectra([spec], [0], records)["share"]
    assert shares.iloc[0] == 1
    assert shares.is_monotonic_decreasing


def test_a_short_run_has_the_parameters_of_the_whole_run_at_that_moment():
    spec = RunSpec(steps=30, points=50)
    others = [dataclasses.replace(spec, seed=seed, k=35) for seed in (1, 2)]
    *_, whole = train([*others, spec], snapshots=[0, 10])
    short = dataclasses.replace(spec, steps=10)
    records = {short.key: record_of(train([short])[0], {})}  # alone, the other in company
    np.testing.assert_array_equal(
        kernel_measurements.parameters_at(spec, 10, records), whole.snapshots[10]
    )
    np.testing.assert_array_equal(
        kernel_measurements.parameters_at(spec, 0, {}), whole.snapshots[0]
    )
    assert kernel_measurements.parameters_at(spec, 20, records) is None


@pytest.fixture(scope="module")
def trained():
    """(specs, kernels of the first at updates 0 and 4): two short runs of the fixed trunk."""
    specs = [RunSpec(model="fixed", gate=gate, steps=4, points=50) for gate in ("exp", "linear")]
    return specs, kernel_measurements.trained_kernels(specs[:1], [0, 4])


def test_trained_kernels_are_added_to_the_known_ones(trained):
    specs, first = trained
    tables = []
    whole = kernel_measurements.trained_kernels(
        specs, [0, 4], first.assign(trace=7.0), tables.append
    )
    assert whole[["gate", "update"]].values.tolist() == [
        ["exp", 0],
        ["exp", 4],
        ["linear", 0],
        ["linear", 4],
    ]
    assert (whole["trace"][:2] == 7.0).all()  # the known run is not trained again
    (table,) = tables
    pd.testing.assert_frame_equal(table.reset_index(drop=True), whole)


def test_a_run_that_lacks_an_update_is_trained_again(trained):
    specs, first = trained
    again = kernel_measurements.trained_kernels(specs[:1], [0, 2, 4], first.assign(trace=7.0))
    assert list(again["update"]) == [0, 2, 4]
    assert (again["trace"] != 7.0).all()


def test_trained_kernels_are_those_of_the_records(trained):
    specs, first = trained
    (result,) = train(specs[:1])
    records = {result.spec.key: record_of(result, {})}
    expected = kernel_measurements.kernels(specs[:1], [0, 4], records)
    pd.testing.assert_frame_equal(first, expected, check_dtype=False)


def test_moments_are_shares_of_the_updates_and_never_the_start_twice():
    assert kernel_measurements.moments(5000) == [0, 100, 500, 1000, 5000]
    assert kernel_measurements.moments(20) == [0, 1, 2, 4, 20]


def test_one_network_in_ten_seeds_is_measured():
    specs = kernel_measurements.network_specs([10, 60], seeds=20, steps=7)
    assert {spec.seed for spec in specs} == {0, 1}
    assert {(spec.gate, spec.k) for spec in specs} == {
        (gate, k) for gate in ("exp", "linear") for k in (10, 60)
    }
    assert {(spec.model, spec.steps) for spec in specs} == {("baseline", 7)}
    assert {spec.seed for spec in kernel_measurements.network_specs([10], 2, 7)} == {0}
