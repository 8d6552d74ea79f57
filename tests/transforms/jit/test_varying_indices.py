"""Arrays of other code that are indexed by integers which vary: a gather, not a trace for each value."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.trace.known_code import AS_IT_IS, LEAST_LEVEL, WRITABLE

TABLE = np.random.default_rng(0).standard_normal((12, 12))
ROW = TABLE[0].copy()
PLACES = np.random.default_rng(1).uniform(0, 10, 50)


def cells(x):
    return np.floor(np.clip(PLACES * x[0], 0, 10)).astype(int)


def by_name(x):
    return np.sum(ROW[cells(x)] * x[1])


def by_two(x):
    i = cells(x)
    w = PLACES * x[0] - i
    return np.sum(TABLE[i, i + 1] * (1 - w) + TABLE[i + 1, i] * w)


def by_one_number(x):
    return ROW[np.floor(10 * x[0]).astype(int)] * x[1]


def in_a_closure():
    own = ROW + 1
    return lambda x: np.sum(own[cells(x)] * x[1])


def by_argument(x, table=TABLE):
    return np.sum(table[cells(x)] * x[1])


class Model:
    def __init__(self):
        self.row, self.rows, self.named = ROW.copy(), [ROW + 2], {"a": ROW + 3}

    def of_attribute(self, x):
        return np.sum(self.row[cells(x)] * x[1])

    def of_containers(self, x):
        return np.sum(self.rows[0][cells(x)] * x[1] + self.named["a"][cells(x)])


FUNCTIONS = [
    by_name,
    by_two,
    by_one_number,
    in_a_closure(),
    by_argument,
    Model().of_attribute,
    Model().of_containers,
]
ARGUMENTS = [np.array([0.9 - 0.07 * k, 0.5 - 0.3 * k]) for k in range(8)]


def traces(f):
    return len(f.explain_misses().splitlines())


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("transform", [lambda f: f, fg.value_and_grad, fg.hessian])
def test_a_gather_after_the_second_value(f, transform):
    plain, jitted = transform(f), fg.jit(transform(f))
    for x in ARGUMENTS:
        for found, expected in zip(
            np.atleast_1d(*_parts(jitted(x))), np.atleast_1d(*_parts(plain(x))), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert traces(jitted) <= 3
    assert "has varied: it is part of the program from now on" in jitted.explain_misses()
    assert "guards" not in repr(jitted.lower(ARGUMENTS[0]))


def _parts(value):
    return value if isinstance(value, tuple) else (value, value)


def test_indices_that_stay_are_constants():
    at = np.array([3, 1, 4])
    jitted = fg.jit(lambda x, k: np.sum(ROW[k] * x))
    for x in (1.0, 2.0, 3.0):
        assert jitted(x, at) == pytest.approx(np.sum(ROW[at]) * x)
    assert traces(jitted) == 1
    assert "guards" in repr(jitted.lower(1.0, at))


def test_a_changed_table_is_seen():
    table = ROW.copy()
    jitted = fg.jit(lambda x: np.sum(table[cells(x)] * x[1]))
    for x in ARGUMENTS[:3]:
        jitted(x)
    table[...] = 1.0
    assert jitted(ARGUMENTS[3]) == pytest.approx(50 * ARGUMENTS[3][1])


def test_out_of_bounds_and_negative_indices():
    def f(x):
        return ROW[np.floor(x).astype(int)] * x

    jitted = fg.jit(f)
    for x in (1.5, 2.5, 3.5, -0.5, -11.5):
        assert jitted(x) == f(x)
    for x in (12.5, -13.0):
        with pytest.raises(IndexError, match="out of bounds"):
            jitted(x)


@pytest.mark.parametrize("transform", [lambda f: f, fg.grad])
def test_errors_of_indices_that_the_function_handles(transform):
    def f(x):
        try:
            return ROW[np.floor(x).astype(int)] * x
        except IndexError:
            return -2.0 * x

    plain, jitted = transform(f), fg.jit(transform(f))
    for x in (1.5, 2.5, 12.5, 3.5, 13.5, 12.5, 2.5):
        assert jitted(x) == plain(x)


def test_an_error_that_the_function_does_not_handle_keeps_the_gather():
    def f(x):
        return ROW[np.floor(x).astype(int)] * x

    jitted = fg.jit(f)
    for x in (1.5, 2.5):
        jitted(x)
    with pytest.raises(IndexError, match="out of bounds"):
        jitted(12.5)
    for x in (3.5, 4.5, 5.5):
        assert jitted(x) == f(x)
    assert traces(jitted) == 2


def test_a_function_that_fails_when_it_is_adopted_runs_as_before():
    levels = []

    def f(x):
        levels.append(LEAST_LEVEL.get())
        if levels[-1] > AS_IT_IS:
            raise RuntimeError("adopted")
        return np.sum(ROW[np.floor(x).astype(int)] * x)

    jitted = fg.jit(f)
    for x in (np.array([1.5, 2.5]), np.array([3.5, 2.5]), np.array([4.5, 2.5])):
        assert jitted(x) == pytest.approx(np.sum(ROW[np.floor(x).astype(int)] * x))
    assert sorted(levels) == [AS_IT_IS] * 3 + [WRITABLE]


def test_code_that_is_not_to_be_adopted_is_traced_for_each_value():
    jitted = fg.jit(fg.adopt(by_name, False))
    for x in ARGUMENTS[:4]:
        assert jitted(x) == pytest.approx(by_name(x))
    assert traces(jitted) == 4


def test_lists_are_still_traced_for_each_value():
    values = [1.0, 2.0, 3.0]
    jitted = fg.jit(lambda x: values[np.floor(x[0]).astype(int)] * x[1])
    for k in range(3):
        assert jitted(np.array([k + 0.5, 2.0])) == 2 * values[k]
