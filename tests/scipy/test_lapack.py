"""Functions of `scipy.linalg.lapack` on traced values: values and slopes are those on numbers."""

import numpy as np
import pytest
import scipy.linalg
from scipy.linalg import get_lapack_funcs, lapack
from scipy.linalg.lapack import dpotrf, dtrtrs

import funcgrad as fg

WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]])


def matrix(x):
    return np.array([[2.0 + x, 0.5], [0.3, 1.0 + x * x]])


def right(x):
    return np.array([x, 1.0])


def potri(x, lower, clean):
    c, _ = lapack.dpotrf(matrix(x), lower=lower, clean=clean)
    return np.sum(lapack.dpotri(c, lower=lower)[0] * WEIGHTS)


def posv(x):
    c, s, info = lapack.dposv(matrix(x), right(x))
    return np.sum(c * WEIGHTS) * s[0] + info


def gesv(x):
    lu, pivots, s, info = lapack.dgesv(matrix(x)[::-1], right(x))
    return np.sum(lu * WEIGHTS) * s[0] + pivots[0] + info


def getrs(x):
    lu, pivots, _ = lapack.dgetrf(matrix(x)[::-1], overwrite_a=False)
    return lapack.dgetrs(lu, pivots, right(x), trans=1)[0][1] * x


def trtrs(x):
    s, _ = dtrtrs(matrix(x), right(x), lower=1)
    t, _ = dtrtrs(matrix(x), s[:, None], trans=1, unitdiag=1)
    return np.sum(t**2)


def by_names(x):
    a = matrix(x)
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (a,))
    factor, _ = potrf(a, lower=True, overwrite_a=False)
    one = scipy.linalg.get_lapack_funcs("potrf", (a,))
    return potrs(factor, right(x), lower=True)[0][1] * one(a)[0][0, 1]


def with_jitter(x):
    a = matrix(x) - 2.5 * np.eye(2)
    for k in range(6):
        factor, info = lapack.dpotrf(a, lower=1)
        if info == 0:
            break
        a = a + 10.0 ** (k - 2) * x * np.eye(2)
    return factor[1, 1] + k


def stored_into(x):
    factor, _ = lapack.dpotrf(WEIGHTS[::-1, ::-1])
    factor[0, 0] = x
    return np.sum(factor) * x


@fg.adopt
def determinant(x):
    a = np.array([[x, 2.0 * x], [2.0, 4.0]])
    lu, pivots, info = lapack.dgetrf(a)
    return np.prod(np.diag(lu)) * (-1) ** np.sum(pivots != np.arange(2)) + info * x


@fg.adopt
def solved_if_possible(x):
    lu, _, s, info = lapack.dgesv(np.array([[x, 2.0 * x], [2.0, 4.0]]), right(x))
    return np.sum(lu * WEIGHTS) + s[0] + info


def singular(x):
    _, info = dtrtrs(np.array([[x, 1.0], [0.0, 0.0]]), right(x))
    return info * x


@pytest.mark.filterwarnings("ignore:Diagonal number 2 is exactly zero")
@pytest.mark.parametrize(
    "f",
    [
        *[
            lambda x, a=lower, b=clean: np.sum(dpotrf(matrix(x), a, clean=b)[0] * WEIGHTS)
            for lower in (0, 1)
            for clean in (0, 1)
        ],
        *[lambda x, a=lower, b=clean: potri(x, a, b) for lower in (0, 1) for clean in (0, 1)],
        *(posv, gesv, getrs, trtrs, by_names, with_jitter, stored_into, singular, determinant),
        solved_if_possible,
    ],
)
def test_values_and_slopes(f):
    h = 1e-6
    slope = (f(0.7 + h) - f(0.7 - h)) / (2 * h)
    value, found = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-12)
    assert found == pytest.approx(slope, rel=1e-6)
    jitted = fg.jit(fg.grad(f))
    jitted(0.9)
    assert jitted(0.7) == pytest.approx(slope, rel=1e-6)
    assert fg.vmap(fg.grad(f))(np.array([0.9, 0.7]))[1] == pytest.approx(slope, rel=1e-6)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-6)


def test_a_matrix_without_a_cholesky_factor_has_none_of_numbers():
    def factored(a):
        factor, info = lapack.dpotrf(a)
        found, solution, _ = lapack.dposv(a, np.ones(2))
        return factor + found, solution, info

    both, solution, info = fg.jit(factored)(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert np.isnan(both).all()
    assert info == 2
    np.testing.assert_array_equal(solution, 1.0)


def test_complex_matrices_are_refused():
    a = np.array([[4.0, 1j], [-1j, 3.0]])
    with pytest.raises(TypeError, match="dpotrf: expected real arrays, but got complex"):
        fg.jit(lambda a: dpotrf(a)[0])(a)
    with pytest.raises(TypeError, match="get_lapack_funcs: expected real arrays"):
        fg.jit(lambda a: get_lapack_funcs(("potrf",), (a,))[0](a)[0])(a)


def test_what_has_no_values_is_refused_with_advice():
    def step(i, x):
        return dpotrf(matrix(x))[0][0, 0]

    with pytest.raises(TypeError, match="dpotrf: expected a number"):
        fg.grad(lambda x: fg.fori_loop(0, 2, step, x))(0.7)
    with pytest.raises(TypeError, match=r"get_lapack_funcs: expected names .* 'geev'; write"):
        fg.grad(lambda x: get_lapack_funcs("geev", (matrix(x),))(matrix(x))[0][0])(0.7)
