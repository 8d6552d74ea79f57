"""Paths that an example does not take: their values and derivatives may be NaN, and reach no gradient."""

import itertools
import math
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import funcgrad as fg
from tests.default_slice import one_in


def with_a_path_of_nans(x):
    v, s = np.cumsum(x), x[0]
    if v[2] > -0.5:
        v[0] = np.sum(v) * 1.5
        s = s + np.sum(np.arcsin(v[v < s]))
    else:
        v[v < s] = s
    v = np.where(np.abs(v) < 1, 1 / v, v * s)
    return np.sum(v) + s


def with_masked_stores_after_a_path(x):
    v, s = x.copy(), x[0]
    if np.max(v) < 0.5:
        s = s + np.sum(np.log1p(v) ** 0.5)
    m = v > 0.1
    v[m] = v[m] * s
    v = np.cumsum(v)
    if v[0] > 0:
        v = np.log(x)
    return np.sum(v[v > 0]) * s


def with_sorted_paths(x):
    v, s = x.copy(), x[0] ** 2
    if np.max(v) < 3.0:
        v = np.sort(v)
        v[1] = np.exp(x[0])
    elif np.any(v < 0):
        v[0] = np.arcsin(x[0] - 3.0)
    if x[1] > -0.5:
        v = np.cumsum(v)
    return np.sum(v) + s


def with_branches(x):
    def angles(v):
        return np.cumsum(np.arcsin(np.where(v < v[0], v, 0.5) / 2))

    v = np.cumsum(x)
    v = fg.cond(v[2] > -0.5, angles, lambda v: v * v, v)
    v = fg.cond(v[0] > 0, lambda v: np.log(v) ** 2, lambda v: np.where(v < x[0], x[0], v), v)
    v = np.where(np.abs(v) < 1, 1 / v, v * x[0])
    return np.sum(v)


def with_a_loop_that_ends(x):
    def step(state):
        v, k = state
        root = np.sqrt(v - 0.3)  # NaN after the end
        return np.where(v > 1.0, root * v[0], np.cumsum(root)) / 3, k + 1

    v, _ = fg.while_loop(lambda s: (np.min(s[0]) > 0.3) & (s[1] < 5), step, (x * x, 0))
    return np.sum(np.sort(v) * np.log(v))


FUNCTIONS = [with_a_path_of_nans, with_masked_stores_after_a_path, with_sorted_paths]
FUNCTIONS += [with_branches, with_a_loop_that_ends]


def total(f):
    return lambda xs: np.sum(fg.vmap(f)(xs))


def in_a_loop(f):
    return lambda xs: fg.scan(lambda sum, x: (sum + f(x), None), 0.0, xs)[0]


GRADIENTS = {
    "grad of vmap": lambda f: fg.grad(total(f)),
    "jit of grad of vmap": lambda f: fg.jit(fg.grad(total(f))),
    "vmap of grad": lambda f: fg.vmap(fg.grad(f)),
    "grad of scan": lambda f: fg.grad(in_a_loop(f)),
    "grad of grad": lambda f: lambda xs: fg.jvp(fg.grad(total(f)), (xs,), (np.ones_like(xs),))[1],
    "forward mode": lambda f: lambda xs: fg.jvp(total(f), (xs,), (np.ones_like(xs),))[1],
}


@pytest.mark.parametrize(("name", "f"), one_in(7, itertools.product(GRADIENTS, FUNCTIONS)))
def test_a_path_that_is_not_taken_reaches_no_gradient(f, name):
    xs = np.random.default_rng(7).normal(size=(40, 3)) * 2
    with np.errstate(all="ignore"):
        xs = xs[np.isfinite([f(x) for x in xs])]
    expected = np.stack([fg.grad(f)(x) for x in xs])
    finite = np.isfinite(expected).all(axis=1)
    xs, expected = xs[finite], expected[finite]
    assert len(xs) > 10
    if name == "forward mode":
        expected = np.sum(expected)
    if name == "grad of grad":
        expected = np.stack([fg.hvp(f, (x,), (np.ones(3),)) for x in xs])
    np.testing.assert_allclose(GRADIENTS[name](f)(xs), expected, rtol=1e-8, atol=1e-10)


def test_what_examples_share_is_not_repeated_for_each():
    weights = np.random.default_rng(0).normal(size=(20, 20))

    def f(x, w):
        return np.sum(np.tanh(w @ x)) if x[0] > 0 else np.sum(w @ x)

    xs = np.random.default_rng(1).normal(size=(30, 20))
    loss = fg.jit(fg.grad(lambda w: np.sum(fg.vmap(f, (0, None))(xs, w))))
    expected = sum(fg.grad(lambda w, x=x: f(x, w))(weights) for x in xs)
    np.testing.assert_allclose(loss(weights), expected, rtol=1e-12)
    shapes = [node.type.shape for node in fg.trace(loss, weights).graph.values()]
    assert (30, 20, 20) not in shapes


def test_formulas_do_not_show_where_derivatives_are_cut():
    def f(x):
        return np.log(x) if x > 0 else x * x

    xs = np.array([1.0, -1.0])
    shown = str(fg.jit(fg.vmap(f)).lower(xs))
    assert "where(a, log(x), x**2)" in shown
    assert "stop_gradient" not in shown
    assert "where(a, 1/xs, 2*xs)" in str(fg.jit(fg.grad(total(f))).lower(xs))
    looped = fg.trace(in_a_loop(f), xs)
    assert "stop_gradient" not in str(looped) + fg.to_python(looped)
    assert fg.from_json(fg.to_json(looped)).key == looped.key


# -- operations that raise errors ----------------------------------------------------------------
def _root(x):
    if np.any(np.asarray(x) < 0):
        raise ValueError("expected no negative number")
    return np.sqrt(x)


root = fg.primitive(_root, [lambda x: 0.5 / root(x)])
math_root = fg.primitive(np.vectorize(math.sqrt), [lambda x: 0.5 / np.sqrt(x)])
of_differences = fg.primitive(_root, "finite-difference")
whole = fg.primitive(_root, out=lambda t: t)
ruled = fg.custom_jvp(whole)
ruled.defjvp(lambda p, t: (whole(p[0]), t[0] / (2 * ruled(p[0]))))


@pytest.mark.parametrize("f", [root, math_root, of_differences, ruled])
def test_a_primitive_is_not_called_on_a_path_that_is_not_taken(f):
    def with_cond(x, w):
        return fg.cond(x > 0, lambda x, w: f(x * w) ** 2 * w, lambda x, w: x * w, x, w)

    def expected(x, w):
        return x * w**2 if x > 0 else x * w

    def total(g):
        return lambda xs, w: np.sum(fg.vmap(g, (0, None))(xs, w))

    xs, w = np.array([4.0, -1.0, 2.25]), 1.5
    of_each = fg.vmap(fg.grad(with_cond, (0, 1)), (0, None))
    for run in (of_each, fg.jit(of_each), fg.grad(total(with_cond), (0, 1))):
        slopes = run(xs, w)
        wanted = [fg.grad(expected, (0, 1))(x, w) for x in xs]
        np.testing.assert_allclose(slopes[0], [x for x, _ in wanted], rtol=1e-6)
        np.testing.assert_allclose(np.sum(slopes[1]), sum(w for _, w in wanted), rtol=1e-6)
    second = fg.grad(lambda w: fg.grad(total(with_cond), 1)(xs, w))(w)
    assert second == pytest.approx(2 * (4.0 + 2.25), rel=1e-4)
    np.testing.assert_allclose(fg.jit(fg.vmap(lambda x: f(x) if x > 0 else x))(xs), [2, -1, 1.5])


def test_a_primitive_is_not_called_after_a_loop_has_ended():
    def f(x):
        return fg.while_loop(lambda x: x > 0, lambda x: root(x) - 1.1, x)

    def expected(x):
        while x > 0:
            x = np.sqrt(x) - 1.1
        return x

    xs = np.array([4.0, -1.0, 2.25])
    np.testing.assert_allclose(fg.vmap(f)(xs), [expected(x) for x in xs])
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(xs), [fg.grad(expected)(x) for x in xs])
    np.testing.assert_allclose(fg.vmap(fg.hessian(f))(xs), [fg.hessian(expected)(x) for x in xs])


def test_a_formula_says_where_a_primitive_is_called():
    mapped = fg.vmap(lambda x: fg.cond(x > 0, whole, np.sin, x))
    assert "where(a == 0, sin(xs), f(xs, where=a == 1))" in str(
        fg.trace(lambda xs: mapped(xs), np.ones(2))
    )


def test_a_negative_power_of_integers_on_a_path_that_is_not_taken():
    base = np.array([2, 3])

    def f(n):
        return fg.cond(n > 0, lambda n: np.sum(base**n), lambda n: 0 * n, n)

    np.testing.assert_array_equal(fg.vmap(f)(np.array([2, -1])), [13, 0])


SOLVERS = {
    "logm": lambda a: scipy.linalg.logm(a),
    "sqrtm": lambda a: scipy.linalg.sqrtm(a),
    "schur": lambda a: scipy.linalg.schur(a)[0],
    "lu": lambda a: scipy.linalg.lu(a)[2],
    "solve_banded": lambda a: scipy.linalg.solve_banded((0, 0), a[:1], np.ones(2)),
    "solveh_banded": lambda a: scipy.linalg.solveh_banded(a, np.ones(2)),
    "sylvester": lambda a: scipy.linalg.solve_sylvester(a, a, np.eye(2)),
    "qr": lambda a: np.linalg.qr(a)[1],
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "brentq": lambda a: scipy.optimize.brentq(lambda x: x * x - a[0, 0], 0.0, 10.0),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_raise_nothing_on_a_path_that_is_not_taken(name):
    solve = SOLVERS[name]

    def f(a, w):
        return fg.cond(a[0, 0] > 0.5, lambda a, w: np.sum(solve(a)) * w, lambda a, w: 0.0, a, w)

    good = np.array([[4.0, 1.0], [1.0, 3.0]])
    batch = np.stack([good, np.full((2, 2), -np.nan), np.zeros((2, 2)), -good])
    value = np.sum(solve(good))
    slope = fg.grad(lambda a: np.sum(solve(a)))(good)

    def total(batch, w):
        return np.sum(fg.vmap(f, (0, None))(batch, w))

    np.testing.assert_allclose(fg.vmap(f, (0, None))(batch, 2.0), [2 * value, 0, 0, 0])
    of_each = fg.vmap(fg.grad(f, (0, 1)), (0, None))(batch, 2.0)
    of_all = fg.grad(total, (0, 1))(batch, 2.0)
    for slopes in (of_each[0], of_all[0]):
        np.testing.assert_allclose(slopes[0], 2 * slope, rtol=1e-9)
        np.testing.assert_array_equal(slopes[1:], 0)
    np.testing.assert_allclose([np.sum(of_each[1]), of_all[1]], value)


def test_a_reverse_loop_reads_nothing_after_an_example_has_ended():
    def f(v, n):
        def step(state):
            product, i = state
            return product * v[i] ** 2, np.where(i + 1 < n, i + 1, 100)

        return fg.while_loop(lambda s: s[1] < n, step, (1.0, 0))[0]

    def expected(v, n):
        return np.prod(v[:n] ** 2)

    vs, ns = np.random.default_rng(0).normal(size=(3, 3)), np.array([1, 3, 2])
    for derivative in (fg.grad, fg.hessian):
        wanted = [derivative(expected)(v, n) for v, n in zip(vs, ns, strict=True)]
        for run in (fg.vmap(derivative(f)), fg.jit(fg.vmap(derivative(f)))):
            np.testing.assert_allclose(run(vs, ns), wanted, rtol=1e-12, atol=1e-15)
    loop = fg.grad(lambda v: f(v, 2)).expr(vs[0])
    assert fg.from_json(fg.to_json(loop)).key == loop.key


# -- what examples share -------------------------------------------------------------------------
ROWS = np.random.default_rng(5).normal(size=(4, 3))
ROWS[1, 2], ROWS[3] = np.nan, np.inf
WITH_WEIGHTS = {
    "product": lambda r, w: w @ r @ r,
    "two products": lambda r, w: np.sum(np.tanh(w @ np.tanh(w @ r))),
    "sums": lambda r, w: np.sum(np.cumsum(w * r) ** 2),
    "scan": lambda r, w: fg.scan(lambda c, v: (np.tanh(c + v @ r), None), 0.0, w)[0],
    "checkpoint": lambda r, w: fg.checkpoint(lambda r, w: np.sum(np.sin(w @ r)))(r, w),
    "transform": lambda r, w: np.sum(np.abs(np.fft.fft(r * w[0])) ** 2),
    "logarithm": lambda r, w: np.sum(np.log(r**2) @ w),
    "singular values": lambda r, w: np.linalg.norm(w * r, 2),
}


def by_cond(f):
    return lambda r, w: fg.cond(np.all(np.isfinite(r)), f, lambda r, w: 0.0, r, w)


def by_if(f):
    return lambda r, w: f(r, w) if np.all(np.isfinite(r)) else 0.0


@pytest.mark.parametrize("chosen", [by_cond, by_if])
@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_rows_that_are_not_finite_do_not_reach_the_gradient_of_what_examples_share(name, chosen):
    f, w = WITH_WEIGHTS[name], np.random.default_rng(6).normal(size=(3, 3))

    def total(w, rows):
        return np.sum(fg.vmap(chosen(f), (0, None))(rows, w))

    def expected(w, rows):
        return sum(f(r, w) for r in rows if np.isfinite(r).all())

    for rows in (ROWS, ROWS[:1], ROWS[1::2]):
        slope = fg.grad(expected)(w, rows) if np.isfinite(rows).all(axis=1).any() else 0 * w
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the output does not depend")
            np.testing.assert_allclose(fg.grad(total)(w, rows), slope, rtol=1e-10, atol=1e-13)
            jitted = fg.jit(fg.grad(total))(w, rows)
            np.testing.assert_allclose(jitted, slope, rtol=1e-10, atol=1e-13)
    curvature = fg.hvp(lambda w: total(w, ROWS), (w,), (w,))
    np.testing.assert_allclose(
        curvature, fg.hvp(lambda w: expected(w, ROWS), (w,), (w,)), rtol=1e-8
    )


MIXED = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [0.2, 0.1, 0.7]])


@pytest.mark.parametrize(
    "f",
    [
        lambda r, w: np.sum(MIXED @ root(w)),
        lambda r, w: np.sum(MIXED @ (root(w) * r)),
        lambda r, w: np.sum(MIXED @ np.log(of_differences(w))),
        lambda r, w: np.sum(MIXED @ np.log(ruled(w * r**2))),
        lambda r, w: np.sum(MIXED @ np.log(scipy.linalg.solve_banded((0, 0), w[None], r**2))),
    ],
)
def test_what_is_computed_from_a_primitive_that_is_not_called_reaches_no_gradient(f):
    rows, w = np.random.default_rng(3).normal(size=(3, 3)), np.array([0.7, 0.8, 0.6])
    rows[1, 0] = -1.0
    rows[[0, 2], 0] = 1.0

    def total(w, rows):
        chosen = fg.vmap(lambda r, w: fg.cond(r[0] > 0, f, lambda r, w: 0.0, r, w), (0, None))
        return np.sum(chosen(rows, w))

    def expected(w, rows):
        return sum(f(r, w) for r in rows if r[0] > 0)

    for derivative in (fg.grad, lambda f: fg.jit(fg.grad(f)), fg.hessian):
        got, wanted = derivative(total)(w, rows), derivative(expected)(w, rows)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(fg.grad(total)(w, rows[1:2]), 0)  # which none takes


@pytest.mark.parametrize("name", [name for name in WITH_WEIGHTS if name != "singular values"])
def test_what_is_computed_before_a_branch_and_asked_for_in_another(name):
    """Its slope is cut off where only the question of another path depends on it."""
    f, w = WITH_WEIGHTS[name], np.random.default_rng(6).normal(size=(3, 3))

    def chosen(r, w):
        value = f(r, w)
        if np.all(np.isfinite(r)):
            return value
        if np.isfinite(value):
            return 2 * w[0, 0]
        return np.sum(w**3)

    def total(w):
        return np.sum(fg.vmap(chosen, (0, None))(ROWS, w))

    expected = sum(fg.grad(chosen, 1)(r, w) for r in ROWS)
    assert np.all(np.isfinite(expected))
    for derivative in (fg.grad(total), fg.jit(fg.grad(total)), fg.jacfwd(total)):
        np.testing.assert_allclose(derivative(w), expected, rtol=1e-9, atol=1e-12)
