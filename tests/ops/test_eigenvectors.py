"""Eigenvalues and eigenvectors of general matrices, with LAPACK's scaling."""

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

REAL = np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.3], [-0.2, 0.6, 1.7]])
TURNING = np.array([[0.3, 1.2, -0.4], [-0.9, 0.1, 0.3], [-0.2, 0.6, 1.7]])


def parts(w, v):
    return np.concatenate([np.ravel(part(x)) for x in (w, v) for part in (np.real, np.imag)])


def of_real(a):
    return parts(*np.linalg.eig(a))


def of_complex(a, b):
    return parts(*np.linalg.eig(a + 1j * b))


PROGRAMS = {
    "real": (of_real, (REAL,)),
    "with complex values": (of_real, (TURNING,)),
    "complex": (of_complex, (REAL, TURNING)),
    "a stack": (of_real, (np.stack([REAL, TURNING]),)),
}


@pytest.mark.parametrize("name", one_in(2, PROGRAMS))
def test_values_are_numpys_and_derivatives_hold(name):
    f, args = PROGRAMS[name]
    np.testing.assert_array_equal(fg.jit(f)(*args), f(*args))
    fg.check_grads(f, args, order=2)


def test_dtypes_are_numpys():
    for a in (REAL, TURNING, REAL.astype(np.float32), TURNING.astype(np.complex64)):
        w, v = fg.jit(np.linalg.eig)(a)
        expected = np.linalg.eig(a)
        assert (w.dtype, v.dtype) == (expected[0].dtype, expected[1].dtype)
        assert fg.jit(np.linalg.eigvals)(a).dtype == np.linalg.eigvals(a).dtype


def test_mapped_results_are_complex():
    stack = np.stack([REAL, TURNING])
    np.testing.assert_array_equal(fg.vmap(np.linalg.eigvals)(stack), np.linalg.eig(stack)[0])


def test_roots_of_a_polynomial():
    # The sum of squares is (b/a)**2 - 2*c/a.
    slope = fg.grad(lambda p: np.sum(np.roots(p) ** 2))(np.array([1.0, -3.0, 2.0]))
    np.testing.assert_allclose(slope, [-14.0, -6.0, -2.0], rtol=1e-12)
    f = fg.adopt(lambda c: np.polynomial.chebyshev.chebroots(c))
    fg.check_grads(f, (np.array([-0.3, 0.2, 1.0]),), order=1)


# The second has two equal eigenvalues, up to rounding errors.
EQUAL = {"exactly": np.eye(3), "nearly": REAL @ np.diag([2.0, 2.0, 0.7]) @ np.linalg.inv(REAL)}


@pytest.mark.parametrize("name", EQUAL)
def test_vectors_of_equal_eigenvalues_have_no_derivative(name):
    a = EQUAL[name]

    def of_vectors(a):
        return np.sum(np.real(np.linalg.eig(a)[1]) * np.arange(9.0).reshape(3, 3))

    def of_one(a):
        return np.max(np.real(np.linalg.eigvals(a)[[0, -1]])) ** 2

    turn = np.arange(9.0).reshape(3, 3)
    assert np.isnan(fg.grad(of_vectors)(a)).all()
    assert np.isnan(fg.jvp(of_vectors, (a,), (turn,))[1])
    assert np.isnan(fg.hvp(of_one, (a,), (turn,))).any()


def test_sums_over_equal_eigenvalues_have_first_derivatives():
    trace = fg.grad(lambda a: np.sum(np.linalg.eigvals(a)).real)(np.eye(3))
    np.testing.assert_allclose(trace, np.eye(3), atol=1e-15)


@pytest.mark.oracle
def test_as_jax():
    jax = pytest.importorskip("jax")

    def f(m, a):
        w = m.linalg.eigvals(a)
        return m.sum(m.real(w**3)) + m.sum(m.abs(m.imag(w)))

    with jax.enable_x64(True):
        wanted = jax.grad(lambda a: f(jax.numpy, a))(TURNING)
    np.testing.assert_allclose(fg.grad(lambda a: f(np, a))(TURNING), wanted, rtol=1e-9)


@pytest.mark.parametrize(
    "a", [np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[2.0, 1.0], [0.0, 2.0]]), np.eye(3, k=1)]
)
def test_a_defective_matrix_has_no_derivative(a):
    size = np.arange(1.0, len(a) + 1)
    for f in (
        lambda x: np.sum(np.real(np.linalg.eigvals(x)) * size),
        lambda x: np.sum(np.abs(np.linalg.eig(x)[1]) ** 2 * size),
    ):
        assert np.isnan(fg.grad(f)(a)).all()
        assert np.isnan(fg.jvp(f, (a,), (np.ones_like(a),))[1])
        assert np.isnan(fg.jit(fg.grad(f))(a)).all()
