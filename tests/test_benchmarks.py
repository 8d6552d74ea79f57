"""What the benchmarks rest upon: results are told apart, and every row of the table can be measured."""

import numpy as np
import pytest

from benchmarks import goals, measure, page, why
from benchmarks.work import FAMILIES


def test_digests_agree_on_the_same_arrays_only():
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(30, 20)), rng.normal(size=20)
    found = measure.digest((1.5, {"w": w, "b": b}))
    assert measure.agree(found, measure.digest([1.5, {"b": b, "w": w + 1e-12}]), 1e-9)
    for other in (
        (1.5 + 1e-7, {"w": w, "b": b}),
        (1.5, {"w": w[::-1], "b": b}),
        (1.5, {"w": w * (1 + 1e-7), "b": b}),
        (1.5, {"w": w, "b": -b}),
        (1.5, {"w": w}),
    ):
        assert not measure.agree(found, measure.digest(other), 1e-9)


@pytest.mark.parametrize("result", [np.zeros(3), np.array([1.0, np.nan])])
def test_a_result_that_says_nothing_is_refused(result):
    with pytest.raises(SystemExit, match="is zero, or not finite"):
        measure.digest(result)


def test_rows_say_what_they_reach():
    def reached(kind, measured, reach, beyond):
        return goals.Row("work", "peer", kind, measured, reach, beyond).reached

    assert reached("time", 1.2, 1.5, 1.1) == "yes"
    assert reached("time", 1.1, 1.5, 1.1) == "beyond"
    assert reached("time", 1.6, 1.5, 1.1) == "**no**"
    assert reached("speed", 0.9, 1.0, 2.0) == "**no**"
    assert reached("speed", 5.0, 1.0, None) == "yes"
    assert reached("speed", None, 1.0, 2.0) == "not measured"
    assert reached("time", 1.01, None, 1.0) == "not beyond"


def test_every_goal_is_measured_on_work_that_there_is():
    for goal in goals.GOALS:
        family = FAMILIES[goal.family]
        assert goal.size in family.SIZES
        assert {"funcgrad", goal.peer} <= set(family.PEERS)


def test_the_ratio_is_taken_round_by_round():
    slow, quick = {"steady": 4.0}, {"steady": 1.0}
    rounds = [
        {"funcgrad": quick, "jax": slow, "torch": slow},
        {"funcgrad": {"steady": 2.0}, "jax": {"steady": 16.0}},
    ]
    assert goals.ratio_of(rounds, "jax") == 6.0
    assert goals.ratio_of(rounds, "torch") == 4.0
    assert goals.ratio_of([{"funcgrad": quick, "jax": {"absent": "not installed"}}], "jax") is None


def test_reasons_are_given_for_rows_that_there_are():
    names = {goal.work for goal in goals.GOALS} | goals.OTHER_ROWS
    assert {name for name, _ in why.WHY} <= names


def test_numbers_are_short():
    shown = [page.number(x) for x in (12345.6, 123.4, 12.34, 1.234, 0.1234, 0.0001234, 0.00001234)]
    assert shown == ["12,346", "123", "12.3", "1.23", "0.12", "0.00012", "0.00001"]
