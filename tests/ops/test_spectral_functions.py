"""Second derivatives of functions of hermitian matrices, where eigenvalues are equal, near and apart."""

import itertools

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(4, 4))


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def spectrum(*values, dtype=float):
    z = RNG.normal(size=(4, 4))
    q = np.linalg.qr(z + 1j * RNG.normal(size=(4, 4)) if dtype is complex else z)[0]
    return (q * np.array(values)) @ adjoint(q)


POINTS = {
    "identity": np.eye(4),
    "diagonal": np.diag([2.0, 1.0, 2.0, 3.0]),
    "two of a kind": spectrum(1.0, 1.0, 2.0, 3.0),
    "three of a kind": spectrum(1.0, 2.0, 2.0, 2.0),
    "two pairs": spectrum(1.0, 1.0, 2.0, 2.0),
    "nearly equal": spectrum(1.0, 1.0 + 1e-13, 2.0, 2.0 + 1e-7),
    "close": spectrum(1.0, 1.0 + 3e-5, 2.0, 2.0 + 3e-4),
    "apart": spectrum(0.5, 1.0, 2.0, 3.0),
    "complex": spectrum(1.0, 1.0, 2.0, 3.0, dtype=complex),
}
FUNCTIONS = {
    "sqrt": (np.sqrt, mp.sqrtm),
    "log": (np.log, mp.logm),
    "exp": (lambda w: np.exp(0.5 * w), lambda a: mp.expm(a / 2)),
    "power": (lambda w: 1.0 / w**1.5, lambda a: mp.inverse(mp.sqrtm(a)) * mp.inverse(a)),
}


def by_eigenvalues(f):
    def function(a):
        w, v = np.linalg.eigh(a)
        return np.sum(WEIGHTS * np.real((v * f(w)) @ adjoint(v)))

    return function


def directions(a, count):
    rng = np.random.default_rng(5)
    found = [rng.normal(size=(4, 4)) for _ in range(count)]
    if a.dtype.kind == "c":
        found = [e + 1j * rng.normal(size=(4, 4)) for e in found]
    return [e + adjoint(e) for e in found]


def along(f, e, mode):
    if mode == "forward":
        return lambda a: fg.jvp(f, (a,), (e,))[1]
    return lambda a: np.real(np.sum(fg.grad(f)(a) * e))


def exact_second(function, a, e, d):
    """By differences with 60 digits."""
    with mp.workdps(60):
        h = mp.mpf(10) ** -15
        a, e, d = (mp.matrix(x.tolist()) for x in (a, e, d))
        values = [
            function(a + i * h * e + j * h * d) for i, j in ((1, 1), (1, -1), (-1, 1), (-1, -1))
        ]
        found = (values[0] - values[1] - values[2] + values[3]) / (4 * h * h)
        return sum([WEIGHTS[i, j] * float(mp.re(found[i, j])) for i in range(4) for j in range(4)])


@pytest.mark.parametrize(("point", "name"), one_in(5, itertools.product(POINTS, FUNCTIONS)))
def test_second_derivatives_are_those_of_mpmath(name, point):
    f, exact = FUNCTIONS[name]
    function, a = by_eigenvalues(f), POINTS[point]
    e, d = directions(a, 2)
    wanted = exact_second(exact, a, e, d)
    near = {"rtol": 1e-6 if point == "close" else 1e-7}
    for modes in itertools.product(("forward", "reverse"), repeat=2):
        found = along(along(function, e, modes[0]), d, modes[1])(a)
        np.testing.assert_allclose(found, wanted, **near)
    g = along(along(function, e, "reverse"), d, "forward")
    np.testing.assert_allclose(fg.jit(g)(a), wanted, **near)
    np.testing.assert_allclose(fg.vmap(g)(np.stack([a, a]))[1], wanted, **near)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_third_derivatives_where_eigenvalues_are_apart(name):
    function, a = by_eigenvalues(FUNCTIONS[name][0]), POINTS["apart"]
    e, d, c = directions(a, 3)
    g = along(along(function, e, "reverse"), d, "reverse")
    h = 1e-3
    wanted = (8 * (g(a + h * c) - g(a - h * c)) - (g(a + 2 * h * c) - g(a - 2 * h * c))) / (12 * h)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(along(g, c, mode)(a), wanted, rtol=1e-6)
    assert np.isnan(along(g, c, "forward")(POINTS["two of a kind"]))


def test_second_derivatives_of_a_projector():
    a = POINTS["two of a kind"]
    e, d = directions(a, 2)

    def function(a):
        _, v = np.linalg.eigh(a)
        return np.sum(WEIGHTS * ((v * np.array([1.0, 1.0, 0.0, 0.0])) @ v.T))

    h = 1e-3
    slope = along(function, e, "reverse")
    wanted = (
        8 * (slope(a + h * d) - slope(a - h * d)) - (slope(a + 2 * h * d) - slope(a - 2 * h * d))
    ) / (12 * h)
    for modes in itertools.product(("forward", "reverse"), repeat=2):
        found = along(along(function, e, modes[0]), d, modes[1])(a)
        np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_weights_of_vectors_have_derivatives_beside_those_of_the_matrix():
    a, x = POINTS["apart"], np.array([1.0, 2.0, 0.5, -1.0])
    f = lambda a, x: np.sum(WEIGHTS * ((lambda v: (v * x) @ v.T)(np.linalg.eigh(a)[1])))  # noqa: E731
    fg.check_grads(f, (a, x), order=3)
    g = lambda a, x: np.sum(WEIGHTS * ((lambda w, v: (v * x * w) @ v.T)(*np.linalg.eigh(a))))  # noqa: E731
    fg.check_grads(g, (a, x), order=3)


def test_values_that_split_equal_eigenvalues_have_no_derivative():
    a = POINTS["diagonal"]
    e, d = directions(a, 2)
    for values in (lambda w: np.arange(4.0), lambda w: w * np.arange(4.0)):
        function = by_eigenvalues(values)
        assert np.isnan(along(function, e, "reverse")(a))
        for mode in ("forward", "reverse"):
            assert np.isnan(along(along(function, e, mode), d, "forward")(a))


def test_values_that_share_a_number_keep_its_derivatives():
    """Of the least eigenvalue, which is single; in reverse mode, as before."""
    a = POINTS["three of a kind"]
    e, d = directions(a, 2)
    function = lambda a: np.sum(np.log(np.linalg.eigvalsh(a))) * np.linalg.eigvalsh(a)[0]  # noqa: E731
    h = 1e-3
    slope = along(function, e, "reverse")
    wanted = (
        8 * (slope(a + h * d) - slope(a - h * d)) - (slope(a + 2 * h * d) - slope(a - 2 * h * d))
    ) / (12 * h)
    np.testing.assert_allclose(along(slope, d, "forward")(a), wanted, rtol=1e-7)
    np.testing.assert_allclose(along(slope, d, "reverse")(a), wanted, rtol=1e-7)


def test_single_precision_beside_nearly_equal_eigenvalues():
    for values in ((1.0, 1.0, 2.0, 3.0), (1.0, 1.000001, 2.0, 2.0001), (1.0, 1.001, 2.0, 3.0)):
        a = spectrum(*values)
        e, d = directions(a, 2)
        function = by_eigenvalues(np.sqrt)
        wide = along(along(function, e, "reverse"), d, "forward")(a)
        a, e, d = (x.astype(np.float32) for x in (a, e, d))
        narrow = along(along(function, e, "reverse"), d, "forward")(a)
        np.testing.assert_allclose(narrow, wide, rtol=1e-4)


SLICES = {
    "projector": lambda w, v: v[:, :2] @ adjoint(v[:, :2]),
    "of the last": lambda w, v: v[..., 2:] @ adjoint(v)[2:],
    "columns": lambda w, v: (v[:, :2] * np.sqrt(w[:2])) @ adjoint(v[:, :2]),
    "rows": lambda w, v: v[:, 2:] @ (np.exp(w)[2:, None] * adjoint(v[:, 2:])),
    "diagonal": lambda w, v: v[:, -2:] @ np.diag(w[-2:] ** 2) @ adjoint(v[:, -2:]),
    "numbers of their own": lambda w, v: (v[:, :2] * np.array([2.0, 2.0])) @ adjoint(v[:, :2]),
    "a shared number": lambda w, v: (v[:, :2] * (w[:2] / np.sum(w[2:]))) @ adjoint(v[:, :2]),
}


def slope_of(f, a, d, h=1e-3):
    return (8 * (f(a + h * d) - f(a - h * d)) - (f(a + 2 * h * d) - f(a - 2 * h * d))) / (12 * h)


@pytest.mark.parametrize("point", ["two of a kind", "two pairs", "complex"])
@pytest.mark.parametrize("name", SLICES)
def test_slices_of_vectors_that_hold_all_of_equal_eigenvalues(name, point):
    product, a = SLICES[name], POINTS[point]
    e, d = directions(a, 2)
    function = lambda a: np.sum(WEIGHTS * np.real(product(*np.linalg.eigh(a))))  # noqa: E731
    np.testing.assert_array_equal(fg.jit(function)(a), function(a))
    for mode in ("forward", "reverse"):
        found = along(function, e, mode)
        np.testing.assert_allclose(found(a), slope_of(function, a, e), rtol=1e-7)
        if name != "a shared number":
            wanted = slope_of(along(function, e, "reverse"), a, d)
            for second in ("forward", "reverse"):
                np.testing.assert_allclose(along(found, d, second)(a), wanted, rtol=1e-7)


@pytest.mark.parametrize("name", SLICES)
def test_a_slice_that_splits_equal_eigenvalues_has_no_derivative(name):
    a = np.diag([1.0, 2.0, 2.0, 3.0])
    e, d = directions(a, 2)
    function = lambda a: np.sum(WEIGHTS * SLICES[name](*np.linalg.eigh(a)))  # noqa: E731
    for mode in ("forward", "reverse"):
        assert np.isnan(along(function, e, mode)(a))
        assert np.isnan(along(along(function, e, mode), d, "forward")(a))


def test_slices_that_are_not_those_of_the_values_are_read_as_they_stand():
    a = POINTS["apart"]
    for product in (
        lambda w, v: (v[:, :2] * w[1:3]) @ v[:, :2].T,
        lambda w, v: (v[:, :2] * w[:2]) @ v[:, 1:3].T,
        lambda w, v: v[:2] @ v[:2].T,
        lambda w, v: v[:, ::2] @ v[:, ::2].T,
        lambda w, v: (v[:, :2] * np.cumsum(w)[:2]) @ v[:, :2].T,
        lambda w, v: v[:2, :2] @ v[:2, :2].T,
    ):
        function = lambda a, product=product: np.sum(np.sin(product(*np.linalg.eigh(a))) ** 2)  # noqa: E731
        fg.check_grads(function, (a,), order=2)


@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4, 5)])
def test_the_part_of_the_largest_singular_values(shape):
    u, _, vh = np.linalg.svd(RNG.normal(size=shape), full_matrices=False)
    a, weights = (u * np.array([2.0, 2.0, 1.0, 0.5])) @ vh, RNG.normal(size=shape)
    e = RNG.normal(size=shape)

    def function(a, k=2):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(weights * ((u[:, :k] * s[:k]) @ vh[:k]))

    def projector(a):
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(weights * (u[:, :2] @ vh[:2])) + np.sum(weights.T * (vh.T[:, :2] @ u.T[:2]))

    for f in (function, projector):
        for mode in ("forward", "reverse"):
            np.testing.assert_allclose(along(f, e, mode)(a), slope_of(f, a, e), rtol=1e-7)
    apart = (u * np.array([3.0, 2.0, 1.0, 0.5])) @ vh
    fg.check_grads(function, (apart,), order=2)
