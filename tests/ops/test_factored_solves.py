"""Systems of one matrix share its factors in compiled programs."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.expr import subexpressions, var
from funcgrad.ops import factored_solves

linalg = pytest.importorskip("scipy.linalg")

N = 41  # a size of no other test: a program that is machine code in this process has other last bits
RNG = np.random.default_rng(0)
A = RNG.standard_normal((N, N)) + N * np.eye(N)


def ops_of(roots, inputs):
    return [step.op.name for step in flatten_program(roots, inputs).steps[len(inputs) :]]


def test_a_solution_and_its_slope_share_factors():
    a, b = var("a", (N, N)), var("b", N)
    x = np.linalg.solve(a, b)
    slope = fg.gradient(np.sum(x**2), a)
    assert [e.op.name for e in subexpressions(slope)].count("solve") == 2
    ops = ops_of([x, slope], [a, b])
    assert ops.count("lu_factors") == 1
    assert ops.count("solve_by_factors") == 2


def test_small_matrices_and_stacks_are_left():
    for shape in ((8, 8), (3, N, N)):
        a = var("a", shape)
        assert ops_of([np.linalg.solve(a, a)], [a]) == ["solve"]


def test_without_scipy_numpy_solves(monkeypatch):
    monkeypatch.setattr(factored_solves, "has_scipy", lambda: False)
    a = var("a", (N, N))
    assert ops_of([np.linalg.solve(a, a)], [a]) == ["solve"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("columns", [(), (1,), (5,)])
def test_values_and_slopes(dtype, columns):
    a, b = A.astype(dtype), RNG.standard_normal((N, *columns)).astype(dtype)
    if dtype.startswith("c"):
        a = a + 1j * RNG.standard_normal((N, N)).astype(dtype)
    eps = np.finfo(dtype).eps
    found = fg.jit(np.linalg.solve)(a, b)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=100 * eps, atol=10 * eps)

    def loss(a, b):
        return np.sum(np.abs(np.linalg.solve(a, b)) ** 2)

    x = np.linalg.solve(a, b)
    back = np.linalg.solve(a.T, np.conj(2 * x))
    slopes = fg.jit(fg.grad(loss, (0, 1)))(a, b)
    np.testing.assert_allclose(slopes[1], back, rtol=1e3 * eps, atol=1e3 * eps)
    full = -np.outer(back, x) if not columns else -back @ x.T
    np.testing.assert_allclose(slopes[0], full, rtol=1e3 * eps, atol=1e3 * eps)


@pytest.mark.parametrize(
    "a", [np.tril(A), np.triu(A), np.triu(np.tril(A, 1), -1)], ids=["lower", "upper", "banded"]
)
def test_matrices_with_structure(a):
    b = RNG.standard_normal(N)

    def loss(a):
        return np.sum(np.linalg.solve(a, b) ** 2)

    value, slope = fg.jit(fg.value_and_grad(loss))(a)
    x = np.linalg.solve(a, b)
    np.testing.assert_allclose(value, np.sum(x**2), rtol=1e-13)
    expected = -np.outer(np.linalg.solve(a.T, 2 * x), x)
    np.testing.assert_allclose(slope, expected, rtol=1e-10, atol=1e-16)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_triangle_is_solved_by_substitution(dtype, columns, trans, lower, order):
    a, b = A.astype(dtype, order=order), RNG.standard_normal((N, columns)).astype(dtype)
    if dtype.startswith("c"):
        a = (a + 1j * RNG.standard_normal((N, N))).astype(dtype, order=order)

    def solve(a, b):
        return linalg.solve_triangular(a, b, lower=lower, trans=trans)

    traced = var("a", (N, N), dtype), var("b", (N, columns), dtype)
    assert "substitute" in ops_of([fg.trace(solve, *traced)], traced)
    eps = np.finfo(dtype).eps
    found, expected = fg.jit(solve)(a, b), solve(a, b)
    assert (found.dtype, found.flags.c_contiguous) == (expected.dtype, True)
    if columns < 16:
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, expected, rtol=100 * eps, atol=10 * eps)
    slopes = fg.jit(fg.grad(lambda a, b: np.sum(np.abs(solve(a, b)) ** 2), (0, 1)))
    plain = fg.grad(lambda a, b: np.sum(np.abs(solve(a, b)) ** 2), (0, 1))
    for one, other in zip(slopes(a, b), plain(a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e3 * eps, atol=100 * eps)


@pytest.mark.parametrize("special", [np.nan, np.inf])
@pytest.mark.parametrize("at", [(5, 2), (5, 5), (2, 5)])
@pytest.mark.parametrize("columns", [0, 3])
def test_infinities_and_nan_go_as_far_as_scipys(special, at, columns):
    a, b = A.copy(), RNG.standard_normal((N, columns))
    a[at] = special

    def solve(a, b):
        return linalg.solve_triangular(a, b, lower=True, check_finite=False)

    np.testing.assert_array_equal(fg.jit(solve)(a, b), solve(a, b))


@pytest.mark.parametrize("turned", [False, True])
def test_a_cholesky_factor_is_a_triangle(turned):
    a, b = A @ A.T, RNG.standard_normal((N, N))

    def solve(a):
        factor = np.linalg.cholesky(a)
        return np.linalg.solve(factor.T if turned else factor, b)

    traced = var("a", (N, N))
    assert {"cholesky", "substitute"} <= set(ops_of([fg.trace(solve, traced)], [traced]))
    np.testing.assert_allclose(fg.jit(solve)(a), solve(a), rtol=1e-12)
    slope = fg.grad(lambda a: np.sum(solve(a) ** 2))
    np.testing.assert_allclose(fg.jit(slope)(a), slope(a), rtol=1e-10, atol=1e-16)


def test_a_condition_that_is_no_triangle_is_solved_by_lu():
    a = var("a", (N, N))
    keeps = np.tri(N, k=1, dtype=bool)
    assert "lu_factors" in ops_of([np.linalg.solve(np.where(keeps, a, 0.0), np.eye(N))], [a])


@pytest.mark.parametrize("columns", [1, 40])
def test_a_singular_triangle_is_an_error(columns):
    a = np.tril(A)
    a[7, 7] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular matrix"):
        fg.jit(lambda a, b: linalg.solve_triangular(a, b, lower=True))(a, np.ones((N, columns)))


def test_a_singular_matrix_is_an_error():
    a = A.copy()
    a[:, 3] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        fg.jit(np.linalg.solve)(a, np.ones(N))


def test_numbers_that_are_none_stay():
    a = A.copy()
    a[2, 5] = np.nan
    assert np.isnan(fg.jit(np.linalg.solve)(a, np.ones(N))).all()
    assert np.isnan(np.linalg.solve(a, np.ones(N))).all()


def test_inputs_are_not_written():
    a, b = A.copy(), np.ones((N, 2))
    fg.jit(lambda a, b: np.linalg.solve(a, b) + np.linalg.solve(a.T, b))(a, b)
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(b, 1)


def test_newtons_iteration_in_a_loop():
    b = RNG.standard_normal(N)

    def solve(b):
        def step(x, _):
            gap = A @ x + np.sin(x) - b
            return x - np.linalg.solve(A + np.diag(np.cos(x)), gap), None

        return np.sum(fg.scan(step, np.zeros(N), None, length=4)[0] ** 2)

    found = fg.jit(fg.value_and_grad(solve))(b)
    step = 1e-6 * np.ones(N)
    expected = (solve(b + step) - solve(b - step)) / 2e-6
    np.testing.assert_allclose(np.sum(found[1]), expected, rtol=1e-6)
    np.testing.assert_allclose(found[0], solve(b), rtol=1e-12)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_other_libraries_solve_by_themselves(library):
    module = pytest.importorskip(library)
    if library == "jax":
        module.config.update("jax_enable_x64", True)
    b = RNG.standard_normal(N)
    solve = getattr(fg, f"to_{library}")(fg.grad(lambda a: np.sum(np.linalg.solve(a, b) ** 2)))
    found = solve(A if library == "jax" else module.tensor(A))
    x = np.linalg.solve(A, b)
    expected = -np.outer(np.linalg.solve(A.T, 2 * x), x)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("n", [40, 300])
def test_triangles_of_any_size_are_substituted(n):
    linalg = pytest.importorskip("scipy.linalg")
    x = np.eye(n) + np.random.default_rng(0).uniform(-0.5, 0.5, (n, n)) / n
    gradient = fg.grad(lambda x: np.sum(linalg.solve_triangular(x, x) ** 2))
    jitted = fg.jit(gradient)
    np.testing.assert_allclose(jitted(x), gradient(x), rtol=1e-10, atol=1e-12)
    text = str(jitted.lower(x))
    assert "substitute" in text
    assert "lu_factors" not in text
