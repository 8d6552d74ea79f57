"""Running products and linear recurrences: values, and derivatives where entries are 0 or infinite."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.recurrences import recurrence_op

SPECIAL = np.array([1.0, -0.0, np.inf, 2.0, np.nan, -np.inf, 0.0, 5e-324])


def others_multiplied(x):
    """The derivative of each running product by each entry: the product of the others."""
    n = len(x)
    table = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            table[i, j] = np.prod([x[k] for k in range(i + 1) if k != j])
    return table


def row_by_row(a, b):
    z = [b[0]]
    for slope, start in zip(a[1:], b[1:], strict=True):
        z.append(slope * (z[-1] if slope else 0) + start)
    return np.array(z)


@pytest.mark.parametrize("x", [[2.0, 3.0, 0.0, 4.0, 5.0], [0.0, 2.0, 0.0, 3.0], [7.0], []])
def test_running_products_divide_by_nothing(x):
    x = np.array(x)
    for jacobian in (fg.jacfwd, fg.jacrev):
        np.testing.assert_array_equal(jacobian(np.cumprod)(x), others_multiplied(x))


def test_running_products_are_numpys_own():
    x = np.random.default_rng(0).normal(size=(3, 9))
    for dtype in (np.float64, np.float32, np.complex128, np.int8, np.bool_):
        given = x.astype(dtype)
        for axis in (0, 1, None):
            found, wanted = (
                fg.jit(lambda x, axis=axis: np.cumprod(x, axis))(given),
                np.cumprod(given, axis),
            )
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def test_running_products_read_as_they_are_written():
    x = fg.var("x", (2, 3))
    assert str(np.cumprod(x, axis=1)) == "cumprod(x, axis=1)"


def test_derivatives_next_to_infinities_are_those_of_the_other_factors():
    # By doubling, the slopes' product would overflow and meet a zero.
    x = np.array([1e200, 0.0, 1e200, 1e200, 1e-300])
    assert fg.grad(lambda x: np.cumprod(x)[-1])(x)[1] == 1e300
    assert np.isnan(fg.grad(lambda x: np.cumprod(x)[-1])(np.array([np.inf, 0.0, 3.0]))[2])
    assert fg.grad(lambda x: np.cumprod(x)[-1])(np.array([np.inf, 0.0, 3.0]))[0] == 0.0


@pytest.mark.parametrize("width", [1, 40])
def test_recurrences_go_step_by_step(width):
    rng = np.random.default_rng(1)
    for a, b in [*rng.normal(size=(3, 2, 8)), (SPECIAL, SPECIAL[::-1]), (SPECIAL[::-1], SPECIAL)]:
        with np.errstate(all="ignore"):
            wanted = row_by_row(a, b)
            found = recurrence_op(*np.repeat([[a], [b]], width, axis=1), axis=1)
        for row in found:
            np.testing.assert_array_equal(row, wanted)
            number = ~np.isnan(wanted)
            np.testing.assert_array_equal(np.signbit(row[number]), np.signbit(wanted[number]))


@pytest.mark.parametrize("batched", [(True, True), (True, False), (False, True)])
def test_recurrences_of_a_batch(batched):
    a, b = np.random.default_rng(2).normal(size=(2, 3, 4))
    given = [x if many else x[0] for x, many in zip((a, b), batched, strict=True)]
    axes = tuple(0 if many else None for many in batched)

    def f(a, b):
        return fg.grad(lambda a: np.sum(recurrence_op(a, b, axis=0) ** 2))(a)

    found = fg.vmap(f, axes)(*given)
    for i in range(3):
        one = [x[i] if many else x for x, many in zip(given, batched, strict=True)]
        np.testing.assert_allclose(found[i], f(*one), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_long_recurrences_go_step_by_step(dtype):
    # Longer than two blocks of equations, with what BLAS would take otherwise at the ends of blocks.
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1, 1, (2, 9001)).astype(dtype)
    a[[4095, 4096, 8191]], b[4096], b[5000] = 0, np.inf, 0
    a[5000], a[5001], b[8500], a[8600] = 0, np.inf, np.nan, 0
    with np.errstate(all="ignore"):
        wanted = row_by_row(a, b)
        found = recurrence_op(a, b, axis=0)
        stacked = recurrence_op(np.stack([a, a], axis=1), np.stack([b, b], axis=1), axis=0)
    assert found.dtype == dtype
    assert np.isnan(wanted[5001]) == np.isnan(found[5001])
    assert np.isfinite(found[-1])
    np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=0)
    np.testing.assert_array_equal(stacked, np.stack([found, found], axis=1))


def test_what_a_zero_multiplies_leaves_no_trace():
    a, b = np.array([1.0, 0.0, 2.0]), np.array([np.inf, 3.0, 4.0])
    for f in (
        lambda a, b: recurrence_op(a, b, axis=0),
        fg.jit(lambda a, b: recurrence_op(a, b, axis=0)),
    ):
        np.testing.assert_array_equal(f(a, b), [np.inf, 3.0, 10.0])


# -- running extremes ------------------------------------------------------------------------------
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
def test_entries_that_tie_share_the_derivative_of_a_running_extreme(ufunc):
    sign = 1.0 if ufunc is np.maximum else -1.0
    x = sign * np.array([1.0, 0.0, 1.0, 1.0, 2.0, 1.0, 2.0])
    wanted = np.zeros((7, 7))
    for i, tied in enumerate([[0], [0], [0, 2], [0, 2, 3], [4], [4], [4, 6]]):
        wanted[i, tied] = 1 / len(tied)
    for jacobian in (fg.jacfwd, fg.jacrev, lambda f: fg.jit(fg.jacrev(f))):
        np.testing.assert_allclose(jacobian(ufunc.accumulate)(x), wanted, rtol=1e-15)
        batch = fg.vmap(jacobian(ufunc.accumulate))(np.stack([x, x]))
        np.testing.assert_allclose(batch, [wanted, wanted], rtol=1e-15)


def test_running_extremes_are_numpys_own():
    x = np.random.default_rng(4).integers(-3, 4, (3, 9))
    for dtype in (np.float64, np.float32, np.complex128, np.int8, np.uint8, np.bool_):
        given = x.astype(dtype)
        if np.dtype(dtype).kind == "f":
            given[1, 4], given[2, 5] = np.nan, -0.0
        for ufunc in (np.maximum, np.minimum):
            for axis in (0, 1):
                found = fg.jit(lambda x, f=ufunc, axis=axis: f.accumulate(x, axis))(given)
                assert found.dtype == dtype
                np.testing.assert_array_equal(found, ufunc.accumulate(given, axis))


def test_second_derivatives_through_running_extremes():
    x = np.random.default_rng(5).normal(size=(4, 6))
    for axis in (0, 1):
        fg.check_grads(lambda x, axis=axis: np.maximum.accumulate(x, axis) ** 3, (x,), order=2)
    assert fg.grad(lambda x: np.sum(np.minimum.accumulate(x)))(np.zeros(0)).shape == (0,)
    slopes = fg.grad(lambda x: np.sum(np.maximum.accumulate(x)))(x[0].astype(np.float32))
    assert slopes.dtype == np.float32


def test_infinite_tangents_end_where_a_running_maximum_is_exceeded():
    _, tangent = fg.jvp(
        lambda y: np.maximum.accumulate(np.sqrt(y)),
        (np.array([0.0, 1.0, 0.0, 4.0]),),
        (np.ones(4),),
    )
    np.testing.assert_array_equal(tangent, [np.inf, 0.5, 0.5, 0.25])
