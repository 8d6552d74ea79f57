"""Linear operators whose products depend on traced values: solutions of their systems."""

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as solvers

import funcgrad as fg
from funcgrad.scipy.sparse import linalg
from tests.default_slice import one_in

METHODS = ["bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"]


def by_products(name):
    def f(x):
        def product(v):
            return np.array([(2 + x) * v[0] + x * v[1], x * v[0] + 3 * v[1], 4 * x * v[2]])

        operator = solvers.LinearOperator((3, 3), matvec=product, rmatvec=product)
        found, info = getattr(solvers, name)(operator, np.array([1.0, 2.0 * x, 1.0]), rtol=1e-13)
        assert info == 0
        return found @ np.array([1.0, 2.0, 3.0])

    return f


def of_sums(x):
    scaled = solvers.LinearOperator((3, 3), matvec=lambda v: x * v)
    whole = 2 * scaled + solvers.aslinearoperator(np.diag([1.0, 2.0, 3.0]))
    return solvers.gmres(whole, np.ones(3), rtol=1e-13)[0].sum()


def of_matrices(x):
    a = solvers.aslinearoperator(np.array([[x, 1.0], [0.2, 3.0]]))
    b = solvers.aslinearoperator(sparse.csr_matrix(np.diag([x, 2.0])))
    solved = solvers.gmres(a + b * 2.0, np.ones(2), rtol=1e-13)[0].sum()
    return solved + (a @ np.ones(2)).sum() + a.rmatvec(np.array([1.0, x]))[1]


class Stencil(solvers.LinearOperator):
    def __init__(self, x):
        self.x = x
        super().__init__(float, (2, 2))

    def _matvec(self, v):
        return np.array([v[0] * self.x + v[1], v[1] * 3])


def of_a_class(x):
    return solvers.gmres(Stencil(x), np.ones(2), rtol=1e-13)[0].sum()


def of_numbers(x):
    operator = solvers.LinearOperator((2, 2), lambda v: 2.0 * v, lambda v: 2.0 * v)
    return solvers.gmres(operator, np.array([x, x * x]), rtol=1e-13)[0].sum()


class Product:
    """An operator of another package's: an object that has `shape` and the two products."""

    shape, dtype = (3, 3), np.dtype(float)

    def __init__(self, x):
        self.matrix = np.array([[2.0, 0.3, 0.2], [0.3, 1.7, 0.4], [0.2, 0.4, 1.3]]) + x * np.eye(3)

    def matvec(self, v):
        return self.matrix @ v

    def rmatvec(self, v):
        return self.matrix.T @ v


def of_an_object(x):
    return solvers.cg(Product(x), x * np.ones(3), rtol=1e-13)[0].sum()


def of_a_shift(x):
    a = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])
    known = solvers.minres(sparse.csr_array(a), np.ones(3), rtol=1e-14, shift=x)[0]
    return known[0] + solvers.minres(a * x, known, rtol=1e-14, shift=-x * x)[0].sum()


def of_a_preconditioner(x):
    a = np.array([[4.0, x], [x, 3.0]])
    return solvers.cg(a, np.ones(2), rtol=1e-14, M=np.diag([0.2 * x, 0.3]))[0].sum()


PROGRAMS = {**{name: by_products(name) for name in METHODS}}
PROGRAMS |= {f.__name__: f for f in (of_sums, of_matrices, of_a_class, of_an_object, of_numbers)}
PROGRAMS |= {f.__name__: f for f in (of_a_shift, of_a_preconditioner)}


@pytest.mark.parametrize("name", one_in(2, PROGRAMS))
def test_solutions_have_derivatives_in_what_the_products_depend_on(name):
    f, x, step = PROGRAMS[name], 0.7, 1e-5
    slope = (f(x + step) - f(x - step)) / (2 * step)
    value, gradient = fg.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-10)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7)
    np.testing.assert_allclose(fg.jvp(f, (x,), (1.0,))[1], slope, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), slope, rtol=1e-7)
    further = (fg.grad(f)(x + step) - fg.grad(f)(x - step)) / (2 * step)
    np.testing.assert_allclose(fg.grad(fg.grad(f))(x), further, rtol=1e-6)
    mapped = fg.vmap(fg.grad(f))(np.array([x, 0.9]))
    np.testing.assert_allclose(mapped, [fg.grad(f)(x), fg.grad(f)(0.9)], rtol=1e-7)


def test_a_solution_that_is_not_found_is_an_error():
    def f(x):
        operator = solvers.LinearOperator((2, 2), lambda v: np.array([x * v[1], -x * v[0]]))
        return solvers.cg(operator, np.ones(2), maxiter=1)[0].sum()

    with pytest.raises(RuntimeError, match="cg: expected convergence"):
        fg.grad(f)(1.0)


@pytest.mark.parametrize("name", ["cg", "gmres", "bicgstab"])
def test_the_products_alone_as_in_jax_are_no_operator(name):
    solve, told = (
        getattr(linalg, name),
        r"LinearOperator\(\(n, n\), matvec=f\), and rtol for JAX's tol",
    )
    with pytest.raises(TypeError, match=told):
        solve(lambda v: 2.0 * v, np.ones(2))
    with pytest.raises(TypeError, match=told):
        fg.grad(lambda x: solve(lambda v: x * v, np.ones(2))[0].sum())(1.0)


def test_products_with_the_adjoint_of_a_complex_matrix():
    def f(x, make):
        a = make([x * (1 + 2j), 3.0], ([0, 0], [0, 1]))
        return solvers.aslinearoperator(a).rmatvec(np.array([1j, 2.0]))

    def as_traced(values, places):
        return sparse.csr_array((np.array(values), places), shape=(2, 2))

    value, slope = fg.jvp(lambda x: f(x, as_traced), (0.7,), (1.0,))
    np.testing.assert_allclose(value, f(0.7, as_traced), rtol=1e-14)
    np.testing.assert_allclose(slope, [1j + 2, 0], rtol=1e-14)


def test_operators_of_plain_matrices_are_scipys():
    made = linalg.aslinearoperator(np.eye(2))
    assert isinstance(made, solvers.LinearOperator)
    np.testing.assert_array_equal(made.matvec([1.0, 2.0]), [1.0, 2.0])


@pytest.mark.parametrize("solve", [solvers.lsqr, solvers.lsmr, solvers.cg])
def test_objects_with_products_are_operators(solve):
    def f(x):
        return np.sum(solve(Product(0.5), np.array([1.0, x, x * x]))[0] ** 2)

    slope = (f(0.7 + 1e-4) - f(0.7 - 1e-4)) / 2e-4
    value, gradient = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-9)
    assert gradient == pytest.approx(slope, rel=1e-3)
    exact = fg.grad(
        lambda x: np.sum(np.linalg.solve(Product(0.5).matrix, np.array([1.0, x, x * x])) ** 2)
    )(0.7)
    assert gradient == pytest.approx(exact, rel=1e-4)


SYMMETRIC = np.diag(np.arange(1.0, 7.0)) + 0.1 * np.cos(np.add.outer(np.arange(6), np.arange(6)))
SPECTRA = {
    "eigsh": lambda a: solvers.eigsh(a, 2, return_eigenvectors=False),
    "svds": lambda a: solvers.svds(a, 2)[1],
}


@pytest.mark.parametrize("name", SPECTRA)
def test_spectra_of_operators_whose_products_are_traced(name):
    def found(t):
        def product(v):
            return t * (SYMMETRIC @ v) + v / t

        operator = solvers.LinearOperator((6, 6), matvec=product, rmatvec=product)
        return np.sort(SPECTRA[name](operator))

    def exact(t):
        return np.linalg.eigvalsh(t * SYMMETRIC + np.eye(6) / t)[-2:]

    value, slope = fg.jvp(found, (1.3,), (1.0,))
    np.testing.assert_allclose(value, exact(1.3), rtol=1e-12)
    np.testing.assert_allclose(slope, (exact(1.3 + 1e-5) - exact(1.3 - 1e-5)) / 2e-5, rtol=1e-8)


def _shifted(t):
    """A matrix without symmetry, whose eigenvalues move with t."""
    return SYMMETRIC + t * np.triu(SYMMETRIC) + np.diag(np.arange(6.0))


@pytest.mark.parametrize("which", ["LM", "SM", "LR", "SR", "sigma", "with M", "an operator"])
def test_eigenvalues_of_a_general_matrix(which):
    options = {"sigma": 0.7} if which == "sigma" else {"M": np.diag(np.arange(1.0, 7.0))}
    options = options if which in ("sigma", "with M") else {"which": which}

    def found(t):
        matrix = _shifted(t) if which in ("LM", "sigma") else sparse.csc_array(_shifted(t))
        if which == "an operator":
            product = lambda v: _shifted(t) @ v  # noqa: E731
            return np.sort(solvers.eigs(solvers.LinearOperator((6, 6), matvec=product), 3)[0])
        return np.sort(solvers.eigs(matrix, 3, **options)[0])

    value, slope = fg.jvp(found, (1.3,), (1.0,))
    np.testing.assert_allclose(value, found(1.3), rtol=1e-10)
    expected = (found(1.3 + 1e-5) - found(1.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
    np.testing.assert_allclose(fg.jacrev(lambda t: np.real(found(t)))(1.3), slope.real, rtol=1e-10)


def test_eigenvectors_of_a_general_matrix():
    def kept(t):
        values, vectors = solvers.eigs(_shifted(t), 2)
        order = np.argsort(np.real(values))
        values, vectors = values[order], vectors[:, order]
        np.testing.assert_allclose(np.sum(np.abs(vectors) ** 2, axis=0), 1.0, rtol=1e-13)
        return np.abs(vectors[0]) * np.abs(values)

    slope = (kept(1.3 + 1e-5) - kept(1.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(fg.jacobian(kept)(1.3), slope, rtol=1e-6)
    alone = fg.jit(lambda t: solvers.eigs(_shifted(t), 2, return_eigenvectors=False))(1.3)
    largest = sorted(np.linalg.eigvals(_shifted(1.3)), key=np.abs)[:-3:-1]
    np.testing.assert_allclose(alone, largest, rtol=1e-12)


def test_settings_of_iterations_are_plain():
    with pytest.raises(TypeError, match="eigs: expected traced A and M and a plain sigma"):
        fg.grad(lambda t: np.abs(solvers.eigs(SYMMETRIC, 2, sigma=t)[0]).sum())(0.3)
    with pytest.raises(TypeError, match="lobpcg: expected traced A and B and plain first vectors"):
        fg.grad(lambda t: solvers.lobpcg(SYMMETRIC * t, np.ones((6, 1)) * t)[0].sum())(0.3)


@pytest.mark.parametrize("largest", [True, False])
def test_pairs_of_lobpcg_are_the_exact_ones(largest):
    start = np.random.default_rng(0).normal(size=(12, 2))
    form = np.diag(np.arange(1.0, 13.0))
    change = np.random.default_rng(1).normal(size=(12, 12))
    change += change.T

    def found(t):
        matrix = sparse.csr_array(np.diag(np.arange(12.0)) + t * change)
        values, vectors = solvers.lobpcg(
            matrix, start, form * t, tol=1e-11, maxiter=300, largest=largest
        )
        return np.concatenate([values, np.abs(vectors[3])])

    value, slope = fg.jvp(found, (0.9,), (1.0,))
    np.testing.assert_allclose(value, found(0.9), rtol=1e-9)
    expected = (found(0.9 + 1e-4) - found(0.9 - 1e-4)) / 2e-4
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(fg.jit(fg.jacrev(found))(0.9), slope, rtol=1e-9)


def test_lobpcg_of_a_function():
    matrix = np.diag(np.arange(1.0, 13.0))
    start = np.random.default_rng(0).normal(size=(12, 2))

    def largest(scale):
        def product(x):
            return scale * (matrix @ x)

        return np.sum(solvers.lobpcg(product, start, tol=1e-9, maxiter=99)[0])

    assert fg.grad(lambda t: t * largest(1.0))(2.0) == pytest.approx(23.0, rel=1e-6)
    with pytest.raises(
        TypeError, match="lobpcg: expected a function or an operator whose products are"
    ):
        fg.grad(largest)(2.0)
