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
        z.append(slope * z[-1] + start)
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
