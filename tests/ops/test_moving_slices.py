"""Slices whose bounds vary from one iteration of a loop to the next, and whose length stays."""

import numpy as np
import pytest

import funcgrad as fg

VECTOR = np.random.default_rng(0).standard_normal(7)
TABLE = np.random.default_rng(1).standard_normal((4, 5))


def window(x, i):
    return np.sum(x[i : i + 3] ** 2 * VECTOR[i + 1 : i + 4])


def strided(x, i):
    return np.sum(x[2 * i : 2 * (i + 1) : 2] ** 2) * VECTOR[i]


def of_columns(x, i):
    table = np.outer(x, x)
    return np.sum(table[i, i : i + 2] * table[..., i : i + 2, i + 1 : i + 3] ** 2)


def of_tables(x, i):
    return np.sum(TABLE[i, i : i + 2] * x[:2]) * np.sum(x[None, i : i + 1])


def empty(x, i):
    return x[i] ** 3 + np.sum(x[i:i])


@pytest.mark.parametrize("term", [window, strided, of_columns, of_tables, empty])
def test_loops_have_slices_of_a_length_that_stays(term):
    def rolled(x):
        return fg.fori_loop(0, 3, lambda i, total: total + term(x, i), 0.0)

    def written_out(x):
        return sum(term(x, i) for i in range(3))

    x = VECTOR[::-1].copy()
    want = fg.grad(written_out)(x)
    assert rolled(x) == pytest.approx(written_out(x), rel=1e-14)
    np.testing.assert_allclose(fg.grad(rolled)(x), want, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(fg.grad(rolled))(x), want, rtol=1e-13)
    np.testing.assert_allclose(fg.jacfwd(rolled)(x), want, rtol=1e-13)
    batch = np.stack([x, 2 * x])
    np.testing.assert_allclose(fg.vmap(fg.grad(rolled))(batch)[0], want, rtol=1e-13)
    hessian = fg.hessian(written_out)(x)
    np.testing.assert_allclose(fg.hessian(rolled)(x), hessian, rtol=1e-12, atol=1e-13)


def moved(a, i, x):
    return a.at[i : i + 2].set(x * a[i + 1 : i + 3])


def stored(a, i, x):
    a = a.copy()
    a[i : i + 2] += x * a[i + 1 : i + 3]
    return a


def scaled(a, i, x):
    return (x * np.outer(a, a)).at[i, i : i + 2].multiply(a[i : i + 2])[0]


@pytest.mark.parametrize("step", [moved, stored, scaled])
def test_loops_store_into_slices_of_a_length_that_stays(step):
    def rolled(x):
        a = fg.fori_loop(0, 3, lambda i, a: step(a, i, x), x + VECTOR)
        return np.sum(a * VECTOR)

    @fg.adopt
    def written_out(x):
        a = x + VECTOR
        for i in range(3):
            a = step(a, i, x)
        return np.sum(a * VECTOR)

    want = fg.grad(written_out)(0.7)
    assert fg.grad(rolled)(0.7) == pytest.approx(want, rel=1e-13)
    assert fg.jit(fg.grad(rolled))(0.7) == pytest.approx(want, rel=1e-13)
    assert fg.jvp(rolled, (0.7,), (1.0,))[1] == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("first", [-1, 3])
@pytest.mark.parametrize("wrap", [fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_slices_that_numpy_would_cut_are_refused(wrap, first):
    """NumPy counts -1 from the end, and a[3:6] of five entries has two."""

    def f(x):
        return fg.fori_loop(
            first, first + 1, lambda i, total: total + np.sum(x[i : i + 3] ** 2), 0.0
        )

    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        wrap(f)(np.arange(5.0))


@pytest.mark.parametrize(
    "part", [lambda x, i: x[:i], lambda x, i: x[i:], lambda x, i: x[i : 2 * i]]
)
def test_slices_whose_length_varies_are_refused(part):
    def f(x):
        return fg.fori_loop(1, 3, lambda i, total: total + np.sum(part(x, i)), 0.0)

    with pytest.raises(
        TypeError, match=r"np\.where\(np\.arange\(len\(a\)\) < i, a, 0\) for a\[:i\]"
    ):
        fg.grad(f)(VECTOR)


def test_mapped_slices_are_cut_as_numpy_cuts_them():
    def f(x, i):
        return np.sum(x[i : i + 3])

    x, starts = np.stack([VECTOR, VECTOR**2]), np.array([2, 6])
    want = [f(row, i) for row, i in zip(x, starts, strict=True)]
    np.testing.assert_allclose(fg.vmap(f)(x, starts), want, rtol=1e-14)
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(x, starts), want, rtol=1e-14)
