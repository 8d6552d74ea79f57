"""Functions of `scipy.linalg` on stacks of matrices."""

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from tests.default_slice import one_in

RNG = np.random.default_rng(3)
A = 2 * np.eye(3) + 0.3 * RNG.normal(size=(2, 3, 3))
B = np.eye(3) + 0.3 * RNG.normal(size=(3, 3))
S = A @ np.swapaxes(A, 1, 2)
BAND = np.stack([np.full((2, 4), 0.3), 3 + RNG.random((2, 4))], axis=1)
LINE = 2 + RNG.random((2, 4))
CALLS = {
    "cho_solve of a vector": lambda t: scipy.linalg.cho_solve(
        scipy.linalg.cho_factor(S + t * np.eye(3)), B[0]
    ),
    "cho_solve_banded": lambda t: scipy.linalg.cho_solve_banded(
        (scipy.linalg.cholesky_banded(t * BAND), False), LINE[..., None]
    ),
    "solve_banded": lambda t: scipy.linalg.solve_banded((0, 1), t * t * BAND, t * LINE[..., None]),
    "solve_banded of a vector": lambda t: scipy.linalg.solve_banded((1, 0), t * BAND, LINE[0]),
    "cholesky_banded": lambda t: scipy.linalg.cholesky_banded(t * BAND),
    "eigh_tridiagonal": lambda t: scipy.linalg.eigh_tridiagonal(t * LINE, LINE[:, :3])[0],
    "eigvals_banded": lambda t: scipy.linalg.eigvals_banded(t * BAND),
    "eigvals, homogeneous": lambda t: np.real(
        scipy.linalg.eigvals(S + t * t * np.eye(3), homogeneous_eigvals=True)
    ),
    "fractional_matrix_power": lambda t: scipy.linalg.fractional_matrix_power(S * t, 0.3),
    "funm": lambda t: scipy.linalg.funm(A * t, np.sin),
    "hessenberg": lambda t: scipy.linalg.hessenberg(A + t * t * S),
    "ldl": lambda t: scipy.linalg.ldl(S + t * t * np.eye(3))[1],
    "logm": lambda t: scipy.linalg.logm(S + t * np.eye(3)),
    "lstsq": lambda t: scipy.linalg.lstsq(A + t * S, B)[0],
    "lstsq by pivots": lambda t: scipy.linalg.lstsq(A + t * S, B, lapack_driver="gelsy")[0],
    "lu": lambda t: scipy.linalg.lu(A + t * S)[2],
    "lu of a stack of stacks": lambda t: scipy.linalg.lu((A + t * S)[None], permute_l=True)[0],
    "lu_factor": lambda t: scipy.linalg.lu_factor(A + t * S)[0],
    "matrix_balance": lambda t: scipy.linalg.matrix_balance(A * t)[0],
    "null_space": lambda t: np.square(scipy.linalg.null_space((A + t * S)[:, :2])),
    "polar": lambda t: scipy.linalg.polar(A + t * S)[0],
    "qr_delete": lambda t: scipy.linalg.qr_delete(*scipy.linalg.qr(A + t * S), 1, which="col")[1],
    "qr_insert": lambda t: scipy.linalg.qr_insert(*scipy.linalg.qr(A + t * S), t * LINE[0, :3], 1)[
        1
    ],
    "qr_update": lambda t: scipy.linalg.qr_update(*scipy.linalg.qr(A + t * S), B[0], t * B[1])[0],
    "qr_multiply": lambda t: scipy.linalg.qr_multiply(A + t * S, B)[0],
    "qz": lambda t: scipy.linalg.qz(S + t * A, B)[0],
    "rq": lambda t: scipy.linalg.rq(A + t * S)[0],
    "schur": lambda t: scipy.linalg.schur(S + t * t * np.eye(3))[0],
    "sqrtm": lambda t: scipy.linalg.sqrtm(S + t * np.eye(3)),
    "solve_sylvester": lambda t: scipy.linalg.solve_sylvester(A * t, S, B),
    "solve_continuous_lyapunov": lambda t: scipy.linalg.solve_continuous_lyapunov(A, S * t + B),
    "solve_continuous_are": lambda t: scipy.linalg.solve_continuous_are(A, B, S, t * np.eye(3)),
    "a Riccati equation with a number": lambda t: scipy.linalg.solve_continuous_are(
        B[:2, :2], B[:2, :1], S[0, :2, :2], t
    ),
    "polar of a wide matrix": lambda t: np.concatenate(
        [scipy.linalg.polar((A[0] + t * S[0])[:2])[0], scipy.linalg.polar(A[0, :2] * t * t)[1]]
    ),
    "polar of a wide matrix, left": lambda t: scipy.linalg.polar((A[0] + t * S[0])[:2], "left")[1],
    "poly of equal eigenvalues": lambda t: np.poly(t * np.array([[-2.0, -t], [t, 0.0]])),
    "poly": lambda t: np.poly(A[0] + t * S[0]),
}


@pytest.mark.parametrize("name", one_in(2, CALLS))
def test_stacks(name):
    f, h = CALLS[name], 1e-5
    value, tangent = fg.jvp(f, (1.1,), (1.0,))
    np.testing.assert_allclose(value, f(1.1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tangent, (f(1.1 + h) - f(1.1 - h)) / (2 * h), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fg.jacobian(f)(1.1), tangent, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(fg.jit(f)(1.1), value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fg.vmap(f)(np.array([1.1, 1.2]))[0], value, rtol=1e-11, atol=1e-12)


def test_poly_of_a_matrix_of_equal_eigenvalues_to_second_order():
    entry = lambda t: np.poly(t * np.eye(2))[2]  # noqa: E731
    assert fg.grad(entry)(1.5) == pytest.approx(3.0)
    assert fg.hessian(entry)(1.5) == pytest.approx(2.0)
