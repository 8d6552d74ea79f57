"""Derivatives of u*f(s) @ v^H to third order, where singular values are equal, near and apart."""

import itertools

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in
from tests.ops.test_spectral_functions import adjoint, along

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(5, 5))


def matrix(m, n, *values, dtype=float):
    def factor(size):
        z = RNG.normal(size=(size, len(values)))
        return np.linalg.qr(z + 1j * RNG.normal(size=z.shape) if dtype is complex else z)[0]

    return (factor(m) * np.array(values)) @ adjoint(factor(n))


POINTS = {
    "identity": np.eye(3),
    "two of a kind": matrix(3, 3, 1.0, 2.0, 2.0),
    "nearly equal": matrix(3, 3, 1.0, 1.0 + 1e-13, 2.0),
    "apart": matrix(3, 3, 0.5, 1.0, 2.0),
    "tall": matrix(5, 3, 2.0, 2.0, 1.0),
    "tall, apart": matrix(5, 3, 3.0, 2.0, 1.0),
    "wide": matrix(2, 4, 1.5, 1.5),
    "one column more": matrix(2, 3, 1.5, 1.5),
    "complex": matrix(3, 3, 2.0, 2.0, 1.0, dtype=complex),
    "complex, tall": matrix(4, 2, 2.0, 2.0, dtype=complex),
}


def by_gram(f):
    """a*f(a^H a), or f(a a^H)*a for a wide matrix."""

    def function(a):
        if a.rows < a.cols:
            return f(a * a.H) * a
        return a * f(a.H * a)

    return function


FUNCTIONS = {
    "polar": (np.ones_like, by_gram(lambda g: mp.inverse(mp.sqrtm(g)))),
    "cube": (lambda s: s**3, by_gram(lambda g: g)),
    "pseudoinverse": (lambda s: 1 / s, by_gram(mp.inverse)),
    "square": (lambda s: s * s, by_gram(mp.sqrtm)),
}


def by_values(f, is_adjoint=False):
    def function(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        found = adjoint((adjoint(vh) * f(s)) @ adjoint(u)) if is_adjoint else (u * f(s)) @ vh
        return np.sum(WEIGHTS[: a.shape[0], : a.shape[1]] * np.real(found))

    return function


def directions(a, count):
    rng = np.random.default_rng(5)
    found = [rng.normal(size=a.shape) for _ in range(count)]
    return [e + 1j * rng.normal(size=a.shape) for e in found] if a.dtype.kind == "c" else found


def exact(function, a, *along):
    """By differences with 80 digits."""
    with mp.workdps(80):
        h = mp.mpf(10) ** -15
        a, *along = (mp.matrix(x.tolist()) for x in (a, *along))
        total = mp.mpf(0)
        for signs in itertools.product((1, -1), repeat=len(along)):
            shifted = a
            for sign, e in zip(signs, along, strict=True):
                shifted = shifted + sign * h * e
            found = function(shifted)
            value = mp.mpf(0)
            for i, j in itertools.product(range(a.rows), range(a.cols)):
                value += mp.mpf(WEIGHTS[i, j]) * mp.re(found[i, j])
            total += int(np.prod(signs)) * value
        return float(total / (2 * h) ** len(along))


@pytest.mark.parametrize(("point", "name"), one_in(5, itertools.product(POINTS, FUNCTIONS)))
def test_derivatives_are_those_of_mpmath(name, point):
    f, by_mpmath = FUNCTIONS[name]
    function, a = by_values(f), POINTS[point]
    e, d = directions(a, 2)
    first, second = exact(by_mpmath, a, e), exact(by_mpmath, a, e, d)
    near = {"rtol": 1e-7, "atol": 1e-9}
    np.testing.assert_array_equal(fg.jit(function)(a), function(a))
    for modes in itertools.product(("forward", "reverse"), repeat=2):
        np.testing.assert_allclose(along(function, e, modes[0])(a), first, **near)
        found = along(along(function, e, modes[0]), d, modes[1])(a)
        np.testing.assert_allclose(found, second, **near)
    g = along(along(by_values(f, is_adjoint=True), e, "reverse"), d, "forward")
    np.testing.assert_allclose(fg.jit(g)(a), second, **near)
    np.testing.assert_allclose(fg.vmap(g)(np.stack([a, a]))[1], second, **near)


@pytest.mark.parametrize(
    ("point", "name"), one_in(2, itertools.product(["apart", "tall, apart"], FUNCTIONS))
)
def test_third_derivatives_where_values_are_apart(name, point):
    f, by_mpmath = FUNCTIONS[name]
    function, a = by_values(f), POINTS[point]
    e, d, c = directions(a, 3)
    wanted = exact(by_mpmath, a, e, d, c)
    for modes in (("reverse", "forward", "reverse"), ("forward", "reverse", "forward")):
        g = function
        for mode, change in zip(modes, (e, d, c), strict=True):
            g = along(g, change, mode)
        np.testing.assert_allclose(g(a), wanted, rtol=1e-7)


def test_complex_functions():
    """u*exp(i s) @ v^H and its adjoint, by differences."""
    a = POINTS["complex, tall"]
    e, d = directions(a, 2)

    def function(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        found = (u * np.exp(1j * s)) @ vh + ((adjoint(vh) * np.exp(2j * s)) @ adjoint(u)).T
        return np.sum(WEIGHTS[:4, :2] * np.imag(found))

    def by_differences(g, a, e, h=1e-4):
        return (g(a + h * e) - g(a - h * e)) / (2 * h)

    near = a + 1e-3 * e  # where values are apart, for the value's own differences
    for mode in ("forward", "reverse"):
        slope = along(function, e, mode)
        np.testing.assert_allclose(slope(near), by_differences(function, near, e), rtol=1e-6)
        for other in ("forward", "reverse"):
            found = along(slope, d, other)(a)
            np.testing.assert_allclose(found, by_differences(slope, a, d), rtol=1e-6)


def test_a_smooth_function_at_a_value_of_0():
    for a in (np.diag([2.0, 2.0, 0.0]), np.eye(4, 3) * np.array([1.0, 1.0, 0.0])):
        e, d = directions(a, 2)
        wanted = exact(FUNCTIONS["cube"][1], a, e, d)
        for modes in itertools.product(("forward", "reverse"), repeat=2):
            found = along(along(by_values(FUNCTIONS["cube"][0]), e, modes[0]), d, modes[1])(a)
            np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1), (1, 3)])
def test_empty_and_single(shape):
    a = np.full(shape, 0.7)
    function = by_values(FUNCTIONS["cube"][0])
    e, d = directions(a, 2)
    for modes in itertools.product(("forward", "reverse"), repeat=2):
        found = along(along(function, e, modes[0]), d, modes[1])(a)
        wanted = exact(FUNCTIONS["cube"][1], a, e, d) if a.size else 0.0
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_values_that_are_arguments():
    """u*d @ v^H in a and d, and the best approximation of rank 2, where the first two values are equal."""
    e, d = directions(POINTS["apart"], 2)

    def scaled(t, y, a=POINTS["apart"]):
        u, _, vh = np.linalg.svd(a + t * e)
        return np.sum(WEIGHTS[:3, :3] * ((u * y) @ vh))

    y, h = np.array([2.0, -1.0, 0.5]), 1e-4
    wanted = (fg.grad(scaled, 1)(h, y) - fg.grad(scaled, 1)(-h, y)) / (2 * h)
    for mixed in (fg.jacobian(fg.grad(scaled, 1)), fg.grad(fg.grad(scaled), 1)):
        np.testing.assert_allclose(mixed(0.0, y), wanted, rtol=1e-6)

    def low_rank(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum(WEIGHTS[:3, :3] * ((u[:, :2] * s[:2]) @ vh[:2]))

    a = np.diag([2.0, 2.0, 1.0])
    g = along(low_rank, e, "reverse")
    wanted = (g(a + h * d) - g(a - h * d)) / (2 * h)
    np.testing.assert_allclose(along(g, d, "forward")(a), wanted, rtol=1e-6)


@pytest.mark.parametrize("least", [1e-3, 1e-8, 1e-12, 1e-17, 0.0])
def test_second_derivatives_of_smooth_functions_hold_beside_singular_values_of_zero(least):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(3, 3))
    left, right = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2)]
    a = left @ np.diag([2.0, 1.0, least]) @ right

    def cubed(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum((u * s**3) @ vh * weights)

    expected = fg.hessian(lambda a: np.sum(a @ a.T @ a * weights))(a)
    np.testing.assert_allclose(fg.hessian(cubed)(a), expected, rtol=0.0, atol=1e-12)
    reverse = fg.jacobian(fg.grad(cubed))(a)
    np.testing.assert_allclose(reverse, expected, rtol=0.0, atol=1e-12)


def test_second_derivatives_of_the_polar_factor_of_a_singular_matrix_are_nan():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(3, 2)) @ rng.normal(size=(2, 3))

    def polar(a):
        u, _, vh = np.linalg.svd(a)
        return np.sum(u @ vh * np.arange(9.0).reshape(3, 3))

    assert np.isnan(fg.hessian(polar)(a)).all()
    assert np.isnan(fg.jacobian(fg.grad(polar))(a)).all()
    assert np.isfinite(fg.hessian(polar)(a + 0.1 * np.eye(3))).all()
