"""Functions of a matrix times a vector, where SciPy's sums end early: against those of dense matrices."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg as solvers

import funcgrad as fg

A = np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.3], [-0.2, 0.6, 1.7]])
POINTS = {
    "a vector of zeros": (A, np.zeros(3)),
    "a matrix of zeros": (0 * A, np.array([1.0, 2.0, -1.0])),
    "a nilpotent matrix": (np.triu(A, 1), np.array([0.0, 0.0, 1.0])),
    "an invariant subspace": (
        np.array([[1.0, 0, 0], [0, 2, 1], [0, 1, 3]]),
        np.array([0.0, 1.0, 1.0]),
    ),
    "an eigenvector": (np.diag([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.0])),
    "any": (A, np.array([0.3, -1.0, 2.0])),
}
ACTIONS = {
    "expm_multiply": solvers.expm_multiply,
    "expm_multiply of a sparse matrix": lambda a, b: solvers.expm_multiply(
        scipy.sparse.csr_array(a), b
    ),
}
if hasattr(solvers, "funm_multiply_krylov"):
    ACTIONS["funm_multiply_krylov"] = lambda a, b: solvers.funm_multiply_krylov(
        scipy.linalg.expm, a, b
    )
WEIGHTS = np.cos(np.arange(3.0))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", ACTIONS)
def test_derivatives_where_the_value_is_exact_early(name, point):
    if name.endswith("sparse matrix") and point != "any":
        a, b = A, POINTS[point][1]  # whose pattern has all entries
    else:
        a, b = POINTS[point]
    action = lambda a, b: WEIGHTS @ ACTIONS[name](a, b)  # noqa: E731
    dense = lambda a, b: WEIGHTS @ (scipy.linalg.expm(a) @ b)  # noqa: E731
    for found, expected in zip(
        fg.grad(action, (0, 1))(a, b), fg.grad(dense, (0, 1))(a, b), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_second_derivative_in_a_time_of_0():
    b = np.ones(3)
    moved = lambda t: np.sum(solvers.expm_multiply(t * scipy.sparse.csr_array(A), b))  # noqa: E731
    assert fg.grad(moved)(0.0) == pytest.approx(np.sum(A), rel=1e-13)
    assert fg.grad(fg.grad(moved))(0.0) == pytest.approx(np.sum(A @ A), rel=1e-13)
    assert fg.jit(fg.grad(moved))(0.0) == pytest.approx(np.sum(A), rel=1e-13)


@pytest.mark.parametrize("endpoint", [None, False])
def test_several_times(endpoint):
    def at_times(a, b):
        return np.sum(
            solvers.expm_multiply(a, b, start=0.5, stop=1.5, num=3, endpoint=endpoint)[1:]
        )

    times = np.linspace(0.5, 1.5, 3, endpoint=endpoint is None)[1:]
    dense = lambda a, b: sum(np.sum(scipy.linalg.expm(t * a) @ b) for t in times)  # noqa: E731
    for b in (np.zeros(3), np.array([0.3, -1.0, 2.0])):
        assert at_times(A, b) == pytest.approx(dense(A, b), rel=1e-12)
        for found, expected in zip(
            fg.grad(at_times, (0, 1))(A, b), fg.grad(dense, (0, 1))(A, b), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
