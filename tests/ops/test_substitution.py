"""`solve` of triangular matrices, by substitution as SciPy's `solve_triangular`, and of banded ones."""

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad.ops import solve as solves

RNG = np.random.default_rng(0)
N = 40


def triangle(dtype, lower=True):
    parts = RNG.normal(size=(2, N, N))
    full = parts[0] + (1j * parts[1] if np.dtype(dtype).kind == "c" else 0) + 9 * np.eye(N)
    return (np.tril if lower else np.triu)(full).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_it_has_the_bits_of_scipy(dtype, lower, order):
    a, b = np.asarray(triangle(dtype, lower), order=order), RNG.normal(size=(N, 3)).astype(dtype)
    found = fg.jit(lambda a, b: scipy.linalg.solve_triangular(a, b, lower=lower))(a, b)
    np.testing.assert_array_equal(found, scipy.linalg.solve_triangular(a, b, lower=lower))
    assert (found.dtype, found.flags.c_contiguous) == (b.dtype, True)


@pytest.mark.parametrize("make", [np.asarray, np.transpose, lambda a: np.diag(np.diag(a))])
def test_it_is_the_solution_by_lu(make):
    a, b = make(triangle(float)), RNG.normal(size=(N, 2))
    np.testing.assert_allclose(fg.jit(np.linalg.solve)(a, b), np.linalg.solve(a, b), rtol=1e-12)
    fg.check_grads(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (a, b), order=1)


def test_a_singular_triangle_is_an_error():
    a = triangle(float)
    a[3, 3] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        fg.jit(np.linalg.solve)(a, np.ones(N))


def test_a_zero_in_a_corner_makes_no_triangle():
    a = RNG.normal(size=(N, N))
    a[0, -1] = 0.0
    np.testing.assert_array_equal(
        fg.jit(np.linalg.solve)(a, np.eye(N)), np.linalg.solve(a, np.eye(N))
    )


def test_without_scipy_it_is_by_lu(monkeypatch):
    monkeypatch.setattr(solves, "_lapack", dict)
    a = triangle(float)
    np.testing.assert_array_equal(
        fg.jit(np.linalg.solve)(a, np.eye(N)), np.linalg.solve(a, np.eye(N))
    )


@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
@pytest.mark.parametrize(("below", "above"), [(1, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_banded_matrix_is_solved_by_its_bands(dtype, below, above, order):
    n = 100
    parts = RNG.normal(size=(2, n, n))
    full = parts[0] + (1j * parts[1] if np.dtype(dtype).kind == "c" else 0)
    a = np.asarray(
        np.tril(np.triu(full, -below), above).astype(dtype), order=order
    )  # of no dominance
    b = RNG.normal(size=(n, 2)).astype(dtype)
    found = fg.jit(np.linalg.solve)(a, b)
    close = {"rtol": 1e-9} if dtype == np.float64 else {"rtol": 0.01}
    np.testing.assert_allclose(found, np.linalg.solve(a, b), **close)
    assert (found.dtype, found.flags.c_contiguous) == (b.dtype, True)


def test_a_singular_banded_matrix_is_an_error():
    a = np.eye(60) + np.eye(60, k=1) + np.eye(60, k=-1)
    a[:, 5] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        fg.jit(np.linalg.solve)(a, np.ones(60))


def test_the_slopes_of_a_banded_system():
    a = 3 * np.eye(60) + np.eye(60, k=1) - np.eye(60, k=-1)
    b = RNG.normal(size=60)
    fg.check_grads(lambda d, b: np.sum(np.linalg.solve(a + np.diag(d), b) ** 3), (b, b), order=2)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["matrix", "right side"])
def test_what_is_not_finite_is_left_to_numpy(value, place):
    a, b = np.tril(np.ones((30, 30))) + np.eye(30), np.ones((30, 2))
    if place == "matrix":
        a[4, 2] = value
    else:
        b[4, 0] = value
    try:
        want = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            fg.jit(np.linalg.solve)(a, b)
    else:
        np.testing.assert_array_equal(fg.jit(np.linalg.solve)(a, b), want)
