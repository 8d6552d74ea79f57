"""Factors and triangular systems in machine code, and their factors outside of loops."""

import itertools

import numpy as np
import pytest

pytest.importorskip("llvmlite")
pytest.importorskip("scipy")

from scipy import linalg

import funcgrad as fg
from funcgrad.compiler.native import lapack_forms
from funcgrad.ops.factored_solves import lu_factors_op, solve_by_factors_op
from tests.compiler.test_matrix_forms import compiled
from tests.default_slice import one_in

RNG = np.random.default_rng(0)


def matrix(n, dtype):
    a = RNG.standard_normal((n, n)) + 2 * np.eye(n)
    return (a + (1j * RNG.standard_normal((n, n)) if dtype.startswith("c") else 0)).astype(dtype)


def native_and_plain(f, *arrays):
    return fg.jit(f, native=True)(*arrays), f(*arrays)


SYSTEMS = itertools.product(
    ["float64", "float32", "complex128", "complex64"], [33, 100], [1, 3, 8], [False, True]
)


@pytest.mark.parametrize(("dtype", "n", "columns", "turned"), one_in(5, SYSTEMS))
def test_a_system_and_its_slopes(dtype, n, columns, turned):
    a, b = matrix(n, dtype), RNG.standard_normal((n, columns)).astype(dtype)
    eps = float(np.finfo(dtype).eps) * np.linalg.cond(a)

    def solve(a, b):
        return np.linalg.solve(a.T if turned else a, b)

    found, expected = native_and_plain(solve, a, b)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=n * eps, atol=n * eps)

    def loss(a, b):
        return np.sum(np.abs(solve(a, b)) ** 2)

    size = np.abs(expected).max() ** 2 * np.linalg.norm(np.linalg.inv(a), 2)
    for one, other in zip(*native_and_plain(fg.grad(loss, (0, 1)), a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=n * eps, atol=10 * n * eps * (1 + size))


@pytest.mark.parametrize("n", [3, 7, 16, 17, 40])
@pytest.mark.parametrize("turned", [False, True])
def test_a_matrix_that_stays_is_factored_before_the_loop(n, turned):
    a, b = matrix(n, "float64") + n * np.eye(n), RNG.standard_normal(n)

    def walk(a, b):
        def step(x, _):
            return np.tanh(np.linalg.solve(a.T if turned else a, x)) + 0.1, None

        return np.sum(fg.scan(step, b, None, length=12)[0] ** 2)

    slope = fg.value_and_grad(walk, (0, 1))
    run = fg.jit(slope, native=True)
    for one, other in zip(
        (run(a, b)[0], *run(a, b)[1]), (walk(a, b), *fg.grad(walk, (0, 1))(a, b)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-15)
    (text,) = [str(run.lower(a, b)).partition("steps on")[2]]
    (before, *bodies) = text.partition("steps of machine code")[0].split("body1(")
    assert before.count("lu_factors") == 1
    assert not any("lu_factors" in body for body in bodies)


def test_a_singular_matrix_before_a_loop_raises():
    def walk(a, b):
        return fg.scan(lambda x, _: (np.linalg.solve(a, x), None), b, None, length=5)[0]

    a, b = matrix(5, "float64"), np.ones(5)
    for native in (None, True):
        run = fg.jit(walk, native=native) if native else fg.jit(walk)
        np.testing.assert_allclose(run(a, b), walk(a, b), rtol=1e-12)
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            run(np.ones((5, 5)), b)


@pytest.mark.parametrize("special", [np.nan, np.inf])
@pytest.mark.parametrize("at", [0, 2, 4])
def test_special_right_sides_in_a_loop(special, at):
    a, b = matrix(5, "float64"), np.ones(5)
    b[at] = special

    def walk(a, b):
        return fg.scan(lambda x, _: (np.linalg.solve(a, x), None), b, None, length=4)[0]

    with np.errstate(all="ignore"):
        found, expected = native_and_plain(walk, a, b)
    assert np.isnan(expected).all()
    assert np.isnan(found).all()


@pytest.mark.parametrize("structure", ["lower", "upper", "banded"])
def test_matrices_with_structure(structure):
    full = matrix(120, "float64") + 120 * np.eye(120)
    a = {
        "lower": np.tril(full),
        "upper": np.triu(full),
        "banded": np.triu(np.tril(full, 1), -1),
    }[structure]
    b = RNG.standard_normal(120)
    found, expected = native_and_plain(
        lambda a, b: np.linalg.solve(a, b) + np.linalg.solve(a.T, b), a, b
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("columns", [1, 3, 8])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("lower", [True, False])
def test_a_triangle(dtype, columns, trans, lower):
    a, b = (
        matrix(40, dtype) + 40 * np.eye(40, dtype=dtype),
        RNG.standard_normal((40, columns)).astype(dtype),
    )

    def solve(a, b):
        return linalg.solve_triangular(a, b, lower=lower, trans=trans)

    eps = float(np.finfo(dtype).eps)
    found, expected = native_and_plain(solve, a, b)
    np.testing.assert_allclose(found, expected, rtol=200 * eps, atol=10 * eps)
    a[7, 7] = 0
    with pytest.raises(np.linalg.LinAlgError):
        fg.jit(solve, native=True)(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize(("stack", "n"), [((), 5), ((7,), 1), ((7,), 4), ((2, 3), 8), ((4,), 20)])
def test_stacks_of_triangles(stack, n, dtype):
    """Substituted in machine code; NumPy solves them as all others."""
    a = RNG.standard_normal((*stack, n, n)).astype(dtype)
    a = a @ np.swapaxes(a, -1, -2) + n * np.eye(n, dtype=dtype)
    b = RNG.standard_normal((*stack, n, 3)).astype(dtype)

    def solve(a, b):
        factor = np.linalg.cholesky(a)
        turned = np.swapaxes(factor, -1, -2)
        return (
            np.linalg.solve(factor, b),
            np.linalg.solve(turned, b),
            np.linalg.solve(factor, turned),
        )

    assert "substitute" in str(fg.jit(solve).lower(a, b))
    eps = float(np.finfo(dtype).eps)
    plain = [solve(a, b), fg.jit(solve)(a, b)]
    for one, other in zip(*plain, strict=True):
        np.testing.assert_array_equal(one, other)
    if dtype != "complex128":  # factors of which are NumPy's
        for one, other in zip(fg.jit(solve, native=True)(a, b), plain[0], strict=True):
            np.testing.assert_allclose(one, other, rtol=100 * n * eps, atol=10 * n * eps)


def test_a_small_triangle_with_a_zero_on_the_diagonal():
    def solve(a, b):
        return linalg.solve_triangular(a, b, lower=True)

    a, b = np.tril(matrix(6, "float64")) + 6 * np.eye(6), np.ones((6, 2))
    run = fg.jit(solve, native=True)
    np.testing.assert_allclose(run(a, b), solve(a, b), rtol=1e-13)
    a[5, 5] = 0
    with pytest.raises(np.linalg.LinAlgError):
        run(a, b)


@pytest.mark.parametrize("n", [17, 50])
def test_a_likelihood_with_a_cholesky_factor(n):
    a = matrix(n, "float64")
    a, b = a @ a.T + np.eye(n), RNG.standard_normal(n)

    def loss(a, b):
        factor = np.linalg.cholesky(a)
        z = linalg.solve_triangular(factor, b, lower=True)
        return z @ z + 2 * np.sum(np.log(np.diagonal(factor))) + np.linalg.slogdet(a)[1]

    (value, slope), (one, other) = native_and_plain(fg.value_and_grad(loss), a, b)
    np.testing.assert_allclose(value, one, rtol=1e-12)
    np.testing.assert_allclose(slope, other, rtol=1e-9, atol=1e-10)


def test_triangles_by_loops_are_those_by_blas(monkeypatch):
    a, b = matrix(30, "float64") + 30 * np.eye(30), RNG.standard_normal((30, 6))
    by_loops = compiled(lambda a, b: [np.linalg.solve(a, b)], a, b)
    monkeypatch.setattr(lapack_forms, "_ROWS", {"f": 16})
    solve = compiled(lambda a, b: [np.linalg.solve(a, b)], a, b)
    np.testing.assert_allclose(by_loops(a, b)[0], solve(a, b)[0], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(solve(a, b)[0], np.linalg.solve(a, b), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("n", [3, 5, 40])
def test_numpy_says_whether_a_matrix_that_stays_is_singular(n):
    """SciPy's LAPACK may be another one than NumPy's, and round pivots in another way."""

    def walk(a, b):
        return fg.scan(lambda x, _: (np.linalg.solve(a, x) * 0 + 1, None), b, None, length=4)[0]

    run, b = fg.jit(walk), np.ones(n, "float32")
    for _ in range(40):
        a = (RNG.standard_normal((n, n)) + 3 * n * np.eye(n)).astype("float32")
        a[-1] = a[0]  # (small pivots before the last would enlarge what rounding makes of it)
        for matrix in (a, np.outer(a[0], a[1])):
            with np.errstate(all="ignore"):
                try:
                    np.linalg.solve(matrix, b)
                except np.linalg.LinAlgError:
                    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
                        run(matrix, b)
                else:
                    assert run(matrix, b).shape == (n,)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("pivot", [-1.0, np.nan, 1e30, 256.0])
def test_factors_of_numpys_trade_no_rows_outside_of_the_matrix(dtype, transposed, pivot):
    """NumPy runs the program if the last row is no pivots; memory beside the matrix stays as it is."""
    b = RNG.standard_normal((256, 2)).astype(dtype)
    factors = lu_factors_op.run(np.tril(matrix(256, dtype)) + 50 * np.eye(256), structured=True)
    assert np.all(factors[-1] == -1)
    factors[-1] = pivot
    f = fg.jit(
        lambda a, b: solve_by_factors_op(a, b, transposed=transposed, structured=False), native=True
    )
    found = f(factors, b)
    if pivot == -1.0:
        expected = np.linalg.solve(factors[:-1].T if transposed else factors[:-1], b)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_system_by_a_choleskys_factor_of_many_rows():
    x = RNG.standard_normal((256, 256)) + 256 * np.eye(256)
    gradient = fg.grad(lambda x: np.sum(linalg.cho_solve(linalg.cho_factor(x @ x.T), x) ** 2))
    found = fg.jit(gradient, native=True)(x)
    np.testing.assert_allclose(found, gradient(x), rtol=1e-8, atol=1e-12)
