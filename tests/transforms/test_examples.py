"""Examples of a batch that answer Python's questions: `vmap` of functions that depend on values."""

import functools
import math
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import funcgrad as fg
from tests.default_slice import with_slow

XS = np.array([-1.2, 0.3, 0.7, 2.5, 0.3])


def halved(x):
    n = 0
    while abs(x) > 0.2:
        x, n = x / 2, n + 1
    return x * n


def newton_root(x):
    y = 1.0
    for _ in range(100):
        step = (y * y - abs(x)) / (2 * y)
        y = y - step
        if abs(step) < 1e-12:
            break
    return y * x


def by_whole_part(x):
    total = x * x
    for k in range(int(abs(x) * 2)):
        total = total + x**k
    return total


def masked(x):
    a = np.array([x, x - 0.5, -x, 1.0])
    return np.sum(a[a > 0] ** 2) * np.count_nonzero(a > 0)


def of_a_masked_number(x):
    a = np.asarray(x * 1.0)
    w = np.zeros_like(a)
    small = a < 0.5
    if np.any(small):
        w[small] = np.sin(a[small])
    if np.any(~small):
        w[~small] = a[~small] ** 2
    return np.sum(w)


def of_a_mask_of_one_entry(x):
    a = np.array([x])
    return np.sum(a[a < 0.5] ** 2) + np.sum(a[a >= 0.5].T)


FUNCTIONS = {
    "a loop with an end": halved,
    "a loop with a break": newton_root,
    "whole numbers": by_whole_part,
    "masks": masked,
    "a mask of a number": of_a_masked_number,
    "a mask of one entry": of_a_mask_of_one_entry,
    "an order": lambda x: sum([k * x**i for k, i in enumerate(np.argsort([x, 0.5, x * x]))]),
    "a root": lambda x: scipy.optimize.brentq(lambda t: t**3 + t - x, -5.0, 5.0) * x,
    "many branches": lambda x: sum([x**2 * k if x > k / 8 else -x for k in range(-16, 16)]),
    "an index": lambda x: [x, x**2, math.sin(x)][int(x > 0) + int(x > 0.5)] * x,
    "text": lambda x: len(f"{x:.1f}") * x,
}
EXPENSIVE = ("a loop with a break", "many branches")
QUICK = with_slow([(name, name not in EXPENSIVE) for name in FUNCTIONS])


@pytest.mark.parametrize("name", QUICK)
def test_a_function_that_depends_on_values_is_mapped(name):
    f = FUNCTIONS[name]
    values = [f(float(x)) for x in XS]
    slopes = [fg.grad(f)(float(x)) for x in XS]
    second = [fg.grad(fg.grad(f))(float(x)) for x in XS]
    close = {"rtol": 1e-10, "atol": 1e-13}
    np.testing.assert_allclose(fg.vmap(f)(XS), values, **close)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(XS), slopes, **close)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.vmap(f)(x)))(XS), slopes, **close)
    np.testing.assert_allclose(fg.jvp(fg.vmap(f), (XS,), (np.ones(5),))[1], slopes, **close)
    np.testing.assert_allclose(fg.vmap(fg.grad(fg.grad(f)))(XS), second, **close)
    grid = fg.vmap(fg.vmap(f))(np.stack([XS, XS[::-1]]))
    np.testing.assert_allclose(grid, [values, values[::-1]], **close)
    slopes_of_grid = fg.vmap(fg.vmap(fg.grad(f)))(np.stack([XS, XS[::-1]]))
    np.testing.assert_allclose(slopes_of_grid, [slopes, slopes[::-1]], **close)


@pytest.mark.parametrize("name", QUICK)
def test_the_answers_of_examples_are_guards_under_jit(name):
    f = FUNCTIONS[name]
    slope, jitted = fg.grad(f), fg.jit(fg.vmap(fg.grad(f)))
    for seed in range(6):
        xs = np.round(np.random.default_rng(seed // 2).normal(size=4), 1)
        np.testing.assert_allclose(
            jitted(xs), [slope(float(x)) for x in xs], rtol=1e-10, atol=1e-13
        )


def test_only_the_paths_run_that_an_example_takes():
    taken = []

    def f(x):
        if x < 0:
            taken.append("below")
            return math.sqrt(-x)
        taken.append("above")
        return x * x

    np.testing.assert_array_equal(fg.vmap(fg.grad(f))(np.array([1.0, 2.0])), [2.0, 4.0])
    assert taken == ["above"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xs = np.array([[0.3, 0.7, 1.1], [3.0, 1.0, 1.5]])
        zscores = fg.vmap(scipy.stats.zscore)(xs)
    np.testing.assert_allclose(zscores, [scipy.stats.zscore(x) for x in xs], rtol=1e-13)


def test_questions_about_values_around_the_mapped_function():
    def f(scale, x):
        return x * scale if x * scale > 1 else x + scale

    scales = np.array([0.5, 2.0, 4.0])
    inner = lambda s: fg.vmap(functools.partial(f, s))(XS)  # noqa: E731
    wanted = [[f(s, x) for x in XS] for s in scales]
    np.testing.assert_allclose(fg.vmap(inner)(scales), wanted, rtol=1e-14)
    np.testing.assert_allclose(fg.jit(fg.vmap(inner))(scales), wanted, rtol=1e-14)
    jitted = fg.jit(inner)
    for s, row in zip(scales, wanted, strict=True):
        np.testing.assert_allclose(jitted(s), row, rtol=1e-14)
    slopes = [[fg.grad(f)(s, x) for x in XS] for s in scales.tolist()]
    np.testing.assert_allclose(fg.vmap(fg.jacobian(inner))(scales), slopes, rtol=1e-14)

    def of_rows(row):  # one question to all examples of the inner batch, and one to the outer one
        n = 0
        while np.sum(row) > 1:
            row, n = fg.vmap(lambda x: x / 2 if x > 0.5 else x / 3)(row), n + 1
        return np.sum(row) * n

    rows = np.random.default_rng(0).uniform(0, 2, (4, 3))
    np.testing.assert_allclose(fg.vmap(of_rows)(rows), [of_rows(r) for r in rows], rtol=1e-13)
    np.testing.assert_allclose(
        fg.vmap(fg.grad(of_rows))(rows), [fg.grad(of_rows)(r) for r in rows], rtol=1e-13
    )


def test_branches_under_jit_are_one_program():
    traces = []

    def f(x, scale):
        traces.append(1)
        return x * x * scale if x > scale else x

    jitted = fg.jit(lambda xs, s: fg.vmap(f, (0, None))(xs, s))
    for s in (0.0, 0.5, -3.0):
        np.testing.assert_allclose(jitted(XS, s), [f(x, s) for x in XS], rtol=1e-14)
    of_constants = fg.jit(lambda s: fg.vmap(lambda x: f(x, s))(XS))
    before = len(traces)
    for s in (0.0, 0.5, -3.0):
        np.testing.assert_allclose(of_constants(s), [f(x, s) for x in XS], rtol=1e-14)
    assert len(traces) - before <= 3 + 3 * len(XS)  # traced once, and called by the test


def test_results_that_do_not_go_together_are_named():
    def of_nothing(x):
        return x if x > 0 else None

    def of_shapes(x):
        return np.array([x, x]) if x > 0 else x

    def of_counts(x):
        return (x, 1) if x > 0 else (x, 1, 2)

    def of_texts(x):
        return (x, "above") if x > 0 else (x, "below")

    def of_kinds(x):
        if x < 0:
            raise ValueError
        return 1, x

    told = {
        of_nothing: "one structure whichever way it branches, but got float64 and None",
        of_shapes: r"one shape whichever way it branches, but got \(2,\) and \(\)",
        of_counts: r"got \(float64, int\) and \(float64, int, int\); return arrays of one shape",
        of_texts: "'above' and 'below'",
        of_kinds: "int64 and ValueError",
    }
    for f, message in told.items():
        for mapped in (fg.vmap(f), fg.jit(fg.vmap(f))):
            with pytest.raises(TypeError, match=message):
                mapped(XS)
        above = fg.vmap(f)(XS[1:])
        assert above is not None
    with pytest.raises(TypeError, match="one structure whichever way it branches"):
        fg.scan(lambda c, x: (c, of_nothing(x)), 0.0, XS)


def test_more_paths_than_are_run():
    xs = np.linspace(0.01, 1.0, 100)
    with pytest.raises(TypeError, match="at most 64 paths through f"):
        fg.vmap(lambda x: len(f"{x:.6f}") * x + int(1000 * x))(xs)
    np.testing.assert_allclose(fg.vmap(lambda x: x * int(60 * x))(xs), xs * (60 * xs).astype(int))


def test_a_function_that_asks_of_no_examples():
    assert fg.vmap(lambda x: x if x > 0 else -x)(np.zeros(0)).shape == (0,)


def test_an_answer_that_would_carry_a_derivative_is_refused():
    plain = fg.adopt(lambda x: x * float(x), False)
    for mapped in (fg.vmap(plain), fg.vmap(fg.grad(plain)), fg.jit(fg.vmap(plain))):
        with pytest.raises(TypeError, match=r"float\(fg.stop_gradient\(x\)\)"):
            mapped(XS)
    stopped = lambda x: x * float(fg.stop_gradient(x))  # noqa: E731
    np.testing.assert_allclose(fg.vmap(fg.grad(stopped))(XS), XS, rtol=1e-14)


def test_what_other_examples_store_does_not_reach_a_gradient():
    def height(x):
        return math.exp(-x * x) if x < 1 else math.log(x)

    def f(x):
        s = height(x)
        v = np.array([s, x, x * s])
        v[0] = v[1] * s
        v[2] = v[0] * s
        return np.sum(v * v)

    xs = np.array([-0.5, 0.3, 1.7])  # the logarithm of the first is NaN
    slopes = [fg.grad(f)(float(x)) for x in xs]
    total = fg.grad(lambda xs: np.sum(fg.vmap(f)(xs)))
    for gradient in (total, fg.jit(total), fg.vmap(fg.grad(f))):
        np.testing.assert_allclose(gradient(xs), slopes, rtol=1e-12)


def test_results_of_groups_keep_their_types():
    def f(x, shared):
        if x > 0:
            return {"a": x * shared, "b": 0.0, "c": shared, "d": 1}
        return {"a": x, "b": x, "c": np.zeros(2, np.float32), "d": 2}

    xs, shared = XS.astype(np.float32), np.ones(2, np.float32)
    mapped = fg.vmap(lambda x, shared: {**f(x, shared), "a": np.sum(f(x, shared)["a"])}, (0, None))
    found = mapped(xs, shared)
    assert [found[name].dtype.name for name in "abc"] == ["float32", "float32", "float32"]
    np.testing.assert_array_equal(found["a"], np.where(xs > 0, 2 * xs, xs))
    np.testing.assert_array_equal(found["b"], np.where(xs > 0, 0, xs))
    np.testing.assert_array_equal(found["c"], np.where(xs > 0, 1, 0)[:, None] * np.ones((1, 2)))
    np.testing.assert_array_equal(found["d"], np.where(xs > 0, 1, 2))


def test_paths_that_need_different_parts_of_one_result():
    def of_a_loop(x):
        a, b = fg.fori_loop(0, 3, lambda _, s: (np.sin(s[0]) + x, s[1] * s[0]), (x, x * 2))
        if x > 0:
            return a * 2
        return a - b if x > -1 else b

    def of_a_decomposition(x):
        u, s, v = np.linalg.svd(np.outer(x, x) + np.diag(x))
        return np.sum(s) if x[0] > 0 else np.sum(np.abs(u[:, 0] * v[0]))

    rows = np.random.default_rng(0).normal(size=(5, 3))
    for f, xs in ((of_a_loop, np.array([-2.0, -0.5, 0.3, 1.0])), (of_a_decomposition, rows)):
        np.testing.assert_allclose(fg.vmap(f)(xs), [f(x) for x in xs], rtol=1e-10)
        slopes = [fg.grad(f)(x) for x in xs]
        total = fg.grad(lambda xs, f=f: np.sum(fg.vmap(f)(xs)))
        for gradient in (total, fg.jit(total), fg.vmap(fg.grad(f))):
            np.testing.assert_allclose(gradient(xs), slopes, rtol=1e-8, atol=1e-10)


def test_an_example_of_another_path_may_be_out_of_range_there():
    table = np.array([2.0, 3.0, 5.0])

    def f(x):
        if x > 3.0:
            return x
        entry = table[(x * 1.0).astype(int)]  # of 7.5, there is none
        return entry * x if entry > 2.5 else x - entry

    xs = np.array([0.5, 7.5, 2.5])
    histograms = np.stack([xs / 3, xs, xs[::-1]])
    for g, values in ((f, xs), (lambda x: np.histogram(x, 3, (0, 4), weights=x)[0], histograms)):
        expected = [g(x) for x in values]
        for mapped in (fg.vmap(g), fg.jit(fg.vmap(g))):
            np.testing.assert_allclose(mapped(values), expected, rtol=1e-14)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(xs), [1.0, 1.0, 5.0])
