"""The answer of the quickstart."""

from dataclasses import replace

from pinnlib import RunSpec, train
from pinnlib.report.quickstart import quickstart_answer


def test_the_answer_has_the_gates_at_the_end_and_the_errors_of_both_runs():
    spec = RunSpec(steps=3, points=20)
    exp, linear = train([spec, replace(spec, gate="linear(scale=0.5)")])
    answer = quickstart_answer(exp, linear)
    error, angle = linear.metrics["rel_l2_u"], linear.metrics["rel_l2_theta"]
    assert "at $t$ = 10 s the factor is 1 under `exp` and 5 under `linear(scale=0.5)`" in answer
    assert "Trained for 3 updates" in answer
    assert f"and {error:.2f} under `linear(scale=0.5)`" in answer
    assert f"and {angle:.2f})" in answer
