"""Second derivatives at 0 of functions of a norm that are smooth there."""

import math

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.rewrite.evaluate import variables


def _matern(d):
    return (1 + np.sqrt(5) * d + 5 * d**2 / 3) * np.exp(-np.sqrt(5) * d)


PROFILES = {
    "cos": (np.cos, -1.0),
    "cosh": (np.cosh, 1.0),
    "sin squared": (lambda r: np.sin(r) ** 2, 2.0),
    "sinc": (np.sinc, -(np.pi**2) / 3),
    "Bessel": (scipy.special.j0, -0.5),
    "log cosh": (lambda r: np.log(np.cosh(2 * r)), 4.0),
    "product": (lambda r: r * np.sin(r), 2.0),
    "quotient": (lambda r: 1 / (1 + r * np.tanh(r)), -2.0),
    "Matern 3/2": (lambda r: (1 + r) * np.exp(-r), -1.0),
    "Matern 5/2": (_matern, -5 / 3),
    "Morse": (lambda r: (1 - np.exp(-r)) ** 2, 2.0),
    "flat": (lambda r: r**3 - r**4, 0.0),
    "Gaussian": (lambda r: np.exp(-(r**2)), -2.0),
}
NORMS = {
    "norm": np.linalg.norm,
    "root of a sum": lambda x: np.sqrt(np.sum(x**2)),
    "root of a product": lambda x: np.sqrt(x @ x),
    "hypot": lambda x: np.hypot(x[0], x[1]),
    "two squares": lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2),
    "three squares": lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2 + (0.5 * x[0] - 0.5 * x[1]) ** 2),
    "a power of Python's sum": lambda x: sum([v * v for v in (*x, 0.5 * (x[0] - x[1]))]) ** 0.5,
    "scaled": lambda x: np.linalg.norm(2 * x),
    "negative": lambda x: np.linalg.norm(-x / 0.5),
    "hypot of three": lambda x: math.hypot(x[0], x[1], 0.5 * x[0] - 0.5 * x[1]),
    "weights": lambda x: np.sqrt(np.sum(np.array([2.0, 3.0]) * x**2)),
    "two weights": lambda x: np.sqrt(2 * x[0] ** 2 + x[1] ** 2 * 3),
    "rows": lambda x: np.linalg.norm(np.stack([x, x + 1]), axis=1)[0],
    "pairs": lambda x: np.linalg.norm(np.stack([x, 0 * x])[:, None] - np.zeros((3, 2)), axis=2)[
        0, 1
    ],
}
_OF_THREE = ("three squares", "a power of Python's sum")
METRIC_OF_THREE = np.array([[1.25, -0.25], [-0.25, 1.25]])
_WEIGHTED = ("weights", "two weights")
METRIC = dict.fromkeys((*_OF_THREE, "hypot of three"), METRIC_OF_THREE)
METRIC |= dict.fromkeys(["scaled", "negative"], 4 * np.eye(2))
METRIC |= dict.fromkeys(_WEIGHTED, np.diag([2.0, 3.0]))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("profile", PROFILES)
def test_the_hessian_at_zero_is_the_second_derivative_of_the_profile(profile, norm):
    (f, curvature), r = PROFILES[profile], NORMS[norm]
    whole = lambda x: f(r(x))  # noqa: E731
    expected = curvature * METRIC.get(norm, np.eye(2))
    zero, near = np.zeros(2), np.array([1e-6, -2e-6])
    for hessian in (fg.hessian(whole), fg.jit(fg.hessian(whole)), fg.jacobian(fg.grad(whole))):
        np.testing.assert_allclose(hessian(zero), expected, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(hessian(near), expected, rtol=2e-4, atol=2e-4)
    v = np.array([0.3, -1.7])
    np.testing.assert_allclose(
        fg.grad(lambda x: fg.grad(whole)(x) @ v)(zero), expected @ v, rtol=1e-13
    )
    np.testing.assert_array_equal(fg.grad(whole)(zero), [0.0, 0.0])


@pytest.mark.parametrize("profile", ["cos", "sinc", "Matern 3/2", "Morse"])
def test_the_second_derivative_along_directions_is_that_of_the_hessian(profile):
    f, curvature = PROFILES[profile]
    whole = lambda x: f(np.linalg.norm(x))  # noqa: E731
    v, w = np.array([0.3, -1.7]), np.array([2.0, 0.5])
    along = lambda x: fg.jvp(whole, (x,), (v,))[1]  # noqa: E731
    zero = np.zeros(2)
    assert fg.jvp(along, (zero,), (w,))[1] == pytest.approx(curvature * v @ w, rel=1e-13)
    np.testing.assert_allclose(fg.grad(along)(zero), curvature * v, rtol=1e-13)


@pytest.mark.parametrize("norm", ["norm", "hypot"])
def test_every_pair_of_modes_has_the_hessian(norm):
    f, r = lambda x: np.cos(NORMS[norm](x)), NORMS[norm]
    both = lambda x: np.stack([f(x), 2 * np.cos(r(x))])  # noqa: E731
    v = np.array([1.0, 2.0])
    np.testing.assert_array_equal(
        fg.jvp(lambda x: fg.vjp(f, x)[1](1.0)[0], (np.zeros(2),), (v,))[1], -v
    )
    for outer in (fg.jacfwd, fg.jacrev):
        for inner in (fg.jacfwd, fg.jacrev):
            np.testing.assert_array_equal(outer(inner(f))(np.zeros(2)), -np.eye(2))
            expected = np.stack([-np.eye(2), -2 * np.eye(2)])
            np.testing.assert_array_equal(outer(inner(both))(np.zeros(2)), expected)


def test_a_parameter_in_the_profile_is_differentiated():
    f = lambda x, k: np.cos(k * np.linalg.norm(x))  # noqa: E731
    trace = lambda k: np.trace(fg.hessian(f)(np.zeros(3), k))  # noqa: E731
    assert trace(2.0) == -12.0
    assert fg.grad(trace)(2.0) == -12.0
    assert fg.jit(fg.grad(trace))(2.0) == -12.0


BENT = {
    "a choice": lambda r: np.where(r > 0, np.sin(r), 0.0),
    "a maximum": lambda r: np.maximum(r, 0.0),
    "a clip": lambda r: np.clip(r, 0.0, 1.0),
    "a size": lambda r: np.abs(np.sin(r)),
    "a factor": lambda r: np.sign(r) * r,
}


@pytest.mark.parametrize("name", BENT)
def test_a_factor_with_a_kink_has_its_slope_on_the_side_of_sizes(name):
    f = lambda x: np.linalg.norm(x) * BENT[name](np.linalg.norm(x)) - np.cos(np.linalg.norm(x))  # noqa: E731
    for hessian in (fg.hessian(f), fg.jit(fg.hessian(f))):
        np.testing.assert_allclose(hessian(np.zeros(2)), 3 * np.eye(2), rtol=1e-13)


def test_x_is_zero_only_in_the_places_of_a_size_of_zero():
    x, y = fg.var("x", shape=(3, 3)), fg.var("y", shape=(3, 3))
    r = np.hypot(x, x.T)
    total = np.sum(np.where(r != 0, y * x[:, ::-1] * np.sin(r) / r, 0.0))
    point = np.array([[0.0, 0.5, 0.7], [0.0, 0.3, 0.0], [0.2, 0.0, 0.0]])
    size = np.hypot(point, point.T)
    expected = point[:, ::-1] * np.sinc(size / np.pi) * (size != 0)
    found = fg.gradient(total, y)(x=point, y=point)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_terms_with_parameters_are_added_and_subtracted():
    f = lambda x, k: k * np.cosh(np.linalg.norm(x)) + np.cos(np.linalg.norm(x))  # noqa: E731
    np.testing.assert_array_equal(fg.hessian(f)(np.zeros(2), 3.0), 2 * np.eye(2))


def test_another_root_in_the_product_is_a_factor():
    def f(x):
        return np.cos(np.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)) * np.sqrt(4 + x[0])

    expected = -2 * np.eye(3)
    expected[0, 0] -= 1 / 32
    np.testing.assert_allclose(fg.hessian(f)(np.zeros(3)), expected, rtol=1e-14)


X, Y, K = fg.var("x", shape=(2, 2)), fg.var("y", shape=(2, 2)), fg.var("k")
NO_LIMITS = {
    "infinite": lambda r: K * r * np.log(r),
    "a quotient of zeros": lambda r: K * r / np.sin(r),
    "an infinite factor first": lambda r: np.log(r) * (K * r),
    "of other rows": lambda r: np.sin(r).T,
    "a choice by r": lambda r: np.where(np.sin(r) > 0, K * r, 2 * K * r),
}


@pytest.mark.parametrize("name", NO_LIMITS)
def test_a_factor_without_a_limit_leaves_what_is_masked_zero(name):
    r = np.broadcast_to(np.linalg.norm(X, axis=1, keepdims=True), (2, 2))
    total = np.sum(np.where(r != 0, Y * X * NO_LIMITS[name](r) / r, 0.0))
    x = np.array([[0.0, 0.0], [0.3, 0.4]])
    given = {"x": x, "y": x + 1, "k": 3.0}
    slope = fg.gradient(total, Y)
    used = lambda e: {n: v for n, v in given.items() if n in variables(e)}  # noqa: E731
    np.testing.assert_array_equal(slope(**used(slope))[0], [0.0, 0.0])
    both = fg.gradient(np.sum(slope[0]), X)
    np.testing.assert_array_equal(both(**used(both))[0], [0.0, 0.0])


def test_the_covariance_of_slopes_of_a_process_between_all_points():
    x = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 3.0]])

    def kernel(a, b):
        d = np.sqrt(np.sum((a[:, None] - b[None]) ** 2, axis=-1))
        return (1 + d) * np.exp(-d)

    both = fg.jacobian(fg.jacobian(kernel, 0), 1)(x, x)
    for i, j in np.ndindex(3, 3):
        one = lambda a, b: kernel(a[None], b[None])[0, 0]  # noqa: E731
        expected = fg.jacobian(fg.grad(one), 1)(x[i], x[j])
        np.testing.assert_allclose(both[i, j, i, :, j], expected, rtol=1e-12, atol=1e-15)
        if i == j:
            np.testing.assert_allclose(expected, np.eye(2), rtol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.where(np.linalg.norm(x) > 0, np.cos(np.linalg.norm(x)), 1.0),
        lambda x: 0.0 * np.linalg.norm(x) + np.maximum(np.linalg.norm(x) - 1, 0.0),
        lambda x: np.linalg.norm(x),
        lambda x: np.sin(np.linalg.norm(x)) * np.log(np.linalg.norm(x)),
    ],
)
def test_the_gradient_at_zero_stays_zero(f):
    np.testing.assert_array_equal(fg.grad(f)(np.zeros(2)), [0.0, 0.0])


def test_entries_beside_zero_keep_their_derivatives():
    x = np.array([[0.0, 0.0], [0.3, -0.4], [0.0, 0.0]])
    f = lambda x: np.sum(np.cos(np.linalg.norm(x, axis=1)))  # noqa: E731
    whole = fg.hessian(f)(x)
    alone = fg.hessian(lambda y: np.cos(np.linalg.norm(y)))(x[1])
    np.testing.assert_allclose(whole[1, :, 1], alone, rtol=1e-14)
    np.testing.assert_allclose(whole[0, :, 0], -np.eye(2), rtol=1e-14)
    np.testing.assert_array_equal(whole[0, :, 1], np.zeros((2, 2)))
    batch = fg.vmap(fg.hessian(lambda y: np.cos(np.linalg.norm(y))))(x)
    np.testing.assert_allclose(batch, [-np.eye(2), alone, -np.eye(2)], rtol=1e-14)


def test_the_square_of_a_distance_on_the_sphere_has_its_hessian_where_it_is_zero():
    def distance(x):
        a = np.sin((x[0] - 0.5) / 2) ** 2
        a = a + np.cos(0.5) * np.cos(x[0]) * np.sin((x[1] - 0.2) / 2) ** 2
        return 2 * np.arcsin(np.sqrt(a))

    x, metric = np.array([0.5, 0.2]), np.diag([1.0, np.cos(0.5) ** 2])
    np.testing.assert_allclose(fg.hessian(lambda x: distance(x) ** 2)(x), 2 * metric, rtol=1e-13)
    np.testing.assert_allclose(fg.hessian(lambda x: np.cos(distance(x)))(x), -metric, rtol=1e-13)


def test_rows_with_weights_have_their_hessians_at_zero():
    w, x = np.array([[2.0, 3.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [0.3, -0.4]])
    f = lambda x, w: np.cos(np.sqrt(np.sum(x * x * w, axis=-1)))  # noqa: E731
    whole = fg.hessian(lambda x: np.sum(f(x, w)))(x)
    np.testing.assert_allclose(whole[0, :, 0], -np.diag([2.0, 3.0]), rtol=1e-14)
    np.testing.assert_allclose(whole[1, :, 1], fg.hessian(f)(x[1], w[1]), rtol=1e-14)
