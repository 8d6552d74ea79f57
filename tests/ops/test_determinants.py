"""Determinants and their cofactors: as polynomials, at singular matrices, and at extremes."""

import itertools
from functools import reduce

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

RNG = np.random.default_rng(3)
A = RNG.normal(size=(4, 4))
ROTATION = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
LA = np.linalg


def polynomial(a):
    """det(a) by the sum over permutations: differentiable everywhere, to every order."""
    n = a.shape[0]
    total = 0.0
    for order in itertools.permutations(range(n)):
        sign = LA.det(np.eye(n)[list(order)])
        term = round(sign)
        for i, j in enumerate(order):
            term = term * a[i, j]
        total = total + term
    return total


def along(f, a, order, directions):
    """The mixed derivative of f along directions."""

    def step(g, v):
        return lambda x: fg.jvp(g, (x,), (v,))[1]

    return reduce(step, directions[:order], f)(a)


@pytest.mark.parametrize(("n", "rank"), one_in(7, itertools.product([1, 2, 3, 4, 5], range(6))))
def test_det_is_a_polynomial_at_matrices_of_any_rank(n, rank):
    if rank > n:
        pytest.skip("no such matrix")
    rng = np.random.default_rng(n * 10 + rank)
    a = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
    vs = rng.normal(size=(3, n, n))
    # From four rows on the third derivative needs singular values that differ.
    orders = 3 if n <= 3 or rank >= n - 1 else 2
    for order in range(1, orders + 1):
        found, wanted = along(LA.det, a, order, vs), along(polynomial, a, order, vs)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(fg.grad(LA.det)(a), fg.grad(polynomial)(a), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        fg.hessian(LA.det)(a), fg.hessian(polynomial)(a), rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize("a", [np.eye(4), 2 * ROTATION, np.diag([1.0, 1.0, 3.0, 3.0])])
def test_det_where_singular_values_are_repeated(a):
    vs = np.random.default_rng(1).normal(size=(4, 4, 4))
    for order in (1, 2, 3, 4):
        np.testing.assert_allclose(
            along(LA.det, a, order, vs), along(polynomial, a, order, vs), rtol=1e-9
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_det_in_a_stack_of_matrices_near_to_singular_and_far_from_it(dtype):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 6, 6)).astype(dtype)
    a[0, 1] = a[0, 0]  # singular
    a[1, :, 2] = a[1, :, 3] * (1 + 1e-9)  # all but singular
    a[2] *= dtype(1e-6)  # small, and far from singular
    found = fg.grad(lambda a: np.sum(np.real(np.linalg.det(a))))(a)
    for one, slope in zip(a, found, strict=True):
        minors = np.array(
            [
                [np.delete(np.delete(one.astype(np.complex128), i, 0), j, 1) for j in range(6)]
                for i in range(6)
            ]
        )
        want = np.linalg.det(minors) * (-1.0) ** np.add.outer(np.arange(6), np.arange(6))
        want = want if np.iscomplexobj(a) else want.real
        size = 1e-5 if dtype == np.float32 else 1e-11
        np.testing.assert_allclose(slope, want, rtol=0, atol=size * np.max(abs(want)))


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
def test_cofactors_where_the_determinant_overflows_or_underflows(dtype, singular):
    """Those that are finite are right, whatever the determinant and the other cofactors are."""
    rng, limits = np.random.default_rng(3), np.finfo(dtype)
    b = rng.normal(size=(5, 5))
    b = (b + 1j * rng.normal(size=(5, 5)) if limits.dtype != dtype else b).astype(dtype)
    if singular:
        b[1] = 2 * b[0]
    minors = [[np.delete(np.delete(b, i, 0), j, 1) for j in range(5)] for i in range(5)]
    usual = np.linalg.det(np.array(minors).astype(np.result_type(dtype, np.float64)))
    usual = usual * (-1.0) ** np.add.outer(np.arange(5), np.arange(5))
    for sign in (1, -1):
        exponents = np.array([0.95, 0.7, -0.5, 0.1, 0.3]) * sign * limits.maxexp
        exponents = np.trunc(exponents).astype(int)
        others = np.sum(exponents) - exponents
        want = usual * np.ldexp(np.ones(5, np.longdouble), others)[:, None]
        a = (b * np.ldexp(1.0, exponents)[:, None]).astype(dtype)
        with np.errstate(over="ignore", under="ignore"):
            value = np.linalg.det(a)
        assert singular or value == 0 or not np.isfinite(value)
        found = fg.grad(lambda a: np.real(np.linalg.det(a)))(a)
        assert found.dtype == dtype
        rows = slice(2) if singular else slice(5)  # Others vanish, but for rounding.
        for one, other in zip(found[rows], want[rows], strict=True):
            size = np.max(abs(other))
            if size > np.longdouble(limits.max) * 10:
                assert not np.all(np.isfinite(one))
            elif size < limits.max / 10:
                assert (
                    np.max(abs(one - other)) <= 100 * limits.eps * size + limits.smallest_subnormal
                )


def test_cofactors_of_a_large_matrix_whose_determinant_overflows():
    a = np.random.default_rng(0).normal(size=(200, 200)) * 10
    slope = fg.grad(lambda a: np.linalg.det(a) * 1e-300)(np.diag(np.full(200, 1e3)))
    assert np.all(np.diag(slope) == np.inf)
    scaled = fg.grad(np.linalg.det)(a / 15)
    np.testing.assert_allclose(scaled, np.linalg.det(a / 15) * np.linalg.inv(a / 15).T, rtol=1e-9)
    found = fg.grad(np.linalg.det)(np.diag([1e200, 1e100, 1e10, 1.0]))
    np.testing.assert_allclose(np.diag(found), [1e110, 1e210, 1e300, np.inf])


def test_slogdet_at_a_singular_matrix():
    a = np.ones((2, 2))
    assert fg.evaluate(LA.slogdet(fg.var("a", (2, 2))).logabsdet, {"a": a}) == -np.inf
    with pytest.raises(LA.LinAlgError, match="Singular"):
        fg.grad(lambda a: LA.slogdet(a)[1])(a)


@pytest.mark.filterwarnings("ignore:.*by steps alone")
def test_a_real_sign_is_flat():
    value, slope = fg.jvp(lambda a: LA.slogdet(a)[0] * a[0, 0], (-np.eye(3),), (np.ones((3, 3)),))
    assert (value, slope) == (1.0, -1.0)
    assert not fg.grad(lambda a: LA.slogdet(a)[0])(A).any()


def test_log_det_against_mpmath():
    mp = pytest.importorskip("mpmath")

    def hilbert(t):
        i = np.arange(6)
        return LA.slogdet(1 / (i[:, None] + i + 1.0) + t * np.eye(6))[1]

    def exact(t):
        h = mp.matrix(6, 6)
        for i, j in itertools.product(range(6), range(6)):
            h[i, j] = mp.mpf(1) / (i + j + 1) + (t if i == j else 0)
        return mp.log(mp.det(h))

    f = hilbert
    with mp.workdps(60):
        for order in (1, 2, 3):
            f = fg.grad(f)
            np.testing.assert_allclose(
                f(0.1), float(mp.diff(exact, mp.mpf("0.1"), order)), rtol=1e-10
            )


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_determinants_of_what_is_no_number_have_no_slope_and_leave_others_theirs(entry, dtype):
    plain = np.random.default_rng(5).normal(size=(4, 4)).astype(dtype)
    singular, broken = plain.copy(), plain.copy()
    singular[1], broken[2, 1] = singular[0], entry
    slope = fg.grad(lambda a: np.sum(np.linalg.det(a).real))
    found = slope(np.stack([plain, broken, singular]))
    assert found.dtype == dtype
    assert np.all(np.isnan(found[1]))
    np.testing.assert_allclose(found[0], slope(plain), rtol=1e-5)
    np.testing.assert_allclose(found[2], slope(singular), rtol=1e-4, atol=1e-5)
    assert np.all(np.isnan(slope(broken)))
