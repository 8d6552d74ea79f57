"""Sums of scatters at index arrays are added up in one array."""

from functools import reduce

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.native import llvm_jit
from funcgrad.compiler.passes.scatter_accumulation import accumulate_scatters
from funcgrad.compiler.verify.verify_pipeline import verify_rewrite
from funcgrad.control.loop import is_loop
from funcgrad.expr import by_key, subexpressions
from funcgrad.rewrite.simplify import simplify_all
from tests.test_scale import calls

RNG = np.random.default_rng(0)
PLACES = {"i": RNG.integers(-8, 8, 20), "j": RNG.integers(0, 8, 20), "k": RNG.integers(0, 8, 20)}
SPECIAL = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324, -1.0], 20)


def count(name, *roots):
    return [expr.op.name for expr in by_key(*roots).values()].count(name)


def accumulated(f, *shapes):
    """The gradient of a sum over entries at the indices, after the pass, which must be what it was."""
    names = [fg.var(f"x{n}", shape) for n, shape in enumerate(shapes)]
    places = [fg.var(name, 20, int) for name in PLACES]
    roots = simplify_all(fg.gradient(f(*names, *places), names))
    found = accumulate_scatters(roots)
    verify_rewrite(roots, found, [*names, *places], "scatter_accumulation")
    values = {x.name: RNG.normal(size=x.shape) for x in names} | PLACES
    for new, old in zip(found, roots, strict=True):
        assert new.type == old.type
        want = fg.evaluate(old, values)
        np.testing.assert_allclose(fg.evaluate(new, values), want, rtol=1e-13, atol=1e-14)
    return found


def test_all_terms_of_a_sum_are_stores_into_one_array():
    found = accumulated(lambda x, i, j, k: np.sum(x[i] * x[j] * np.sin(x[k])), (8,))
    assert (count("scatter_add", *found), count("index_add", *found)) == (1, 2)


def test_axes_without_indices_and_other_terms():
    found = accumulated(
        lambda x, i, j, k: np.sum(x[i] * x[:, j].T * np.sin(x[k, i])[:, None]) + np.sum(x * x),
        (8, 8),
    )
    # One adds an axis and no entries.
    assert (count("scatter_add", *found), count("index_add", *found)) == (2, 2)


def test_sums_of_sums():
    x, y = fg.var("x", 20), fg.var("y", 20)
    i, j = fg.var("i", 20, int), fg.var("j", 20, int)

    def scattered(v, at):
        return fg.gradient(np.sum(v * fg.var("u", 8)[at]), fg.var("u", 8))

    pairs = [(x, i), (y, j), (x * y, j), (x - y, i)]
    a, b, c, d = (scattered(v, at) for v, at in pairs)
    (found,) = accumulate_scatters([(a + b) + (c + d)])
    assert (count("scatter_add", found), count("index_add", found)) == (1, 3)
    values = {"x": RNG.normal(size=20), "y": RNG.normal(size=20)} | PLACES
    want = fg.evaluate((a + b) + (c + d), values)
    np.testing.assert_allclose(fg.evaluate(found, values), want, rtol=1e-13)
    values["x"] = SPECIAL
    with np.errstate(all="ignore"):
        want = fg.evaluate((a + b) + (c + d), values)
        np.testing.assert_array_equal(fg.evaluate(found, values), want)


def test_what_is_left_as_it_is():
    x, u, i = fg.var("x", 20), fg.var("u", 8), fg.var("i", 20, int)
    a, b = fg.gradient(np.sum(x * u[i]), u), fg.gradient(np.sum(x * u[i + 1]), u)
    left = [[a + b, a], [a + a], [a - b], [a + u], [(a + u) * b], [a * 2 + b]]
    for roots in left:
        assert [z.key for z in accumulate_scatters(roots)] == [z.key for z in roots]


def test_terms_between_scatters():
    x, u, i = fg.var("x", 20), fg.var("u", 8), fg.var("i", 20, int)
    a, b, c = (fg.gradient(np.sum(x * u[i + n]), u) for n in (0, 1, -1))
    values = {"x": RNG.normal(size=20), "u": RNG.normal(size=8), "i": RNG.integers(1, 7, 20)}
    for z in (a + u + b, u + a + u * u + b, (u + a) + (b + u * u) + c, (u + a + b) + (u * u + c)):
        (found,) = accumulate_scatters([z])
        assert count("scatter_add", found) == 1
        np.testing.assert_allclose(
            fg.evaluate(found, values), fg.evaluate(z, values), rtol=1e-13, atol=1e-14
        )


def moved(x, at):
    """A field that is read at four corners of a place that moves, in a loop."""

    def step(x, _):
        i = np.floor(x + at).astype(int) % 8
        j = (i + 1) % 8
        return np.sin(x[i, j] * x[j, j] + x[i, i] / 3), None

    return np.sum(fg.scan(step, x, None, length=4)[0])


def test_bodies_of_loops():
    x, at = fg.var("x", (8, 8)), fg.var("at", (8, 8))
    roots = simplify_all([fg.gradient(moved(x, at), x)])
    found = accumulate_scatters(roots)
    bodies = [dict(e.params)["body"] for e in subexpressions(*found) if is_loop(e)]
    assert max([count("index_add", *body.outputs) for body in bodies]) == 2
    values = {"x": RNG.normal(size=(8, 8)), "at": 9 * RNG.normal(size=(8, 8))}
    want = fg.evaluate(roots[0], values)
    np.testing.assert_allclose(fg.evaluate(found[0], values), want, rtol=1e-12, atol=1e-14)


@pytest.mark.skipif(not llvm_jit.llvm_available(), reason="llvmlite is not installed")
def test_machine_code():
    x, at = RNG.normal(size=(8, 8)), 9 * RNG.normal(size=(8, 8))
    slope = fg.jit(fg.grad(moved), native=True)
    np.testing.assert_allclose(slope(x, at), fg.grad(moved)(x, at), rtol=1e-12, atol=1e-14)


@pytest.mark.skipif(not llvm_jit.llvm_available(), reason="llvmlite is not installed")
def test_it_runs_before_machine_code_is_written():
    slope = fg.jit(fg.grad(lambda x, i, j: np.sum(x[i] * x[j])), native=True)
    at = np.array([1, -1, 1])
    np.testing.assert_array_equal(slope(np.arange(3.0), at, at - 1), [2.0, 2.0, 1.0])
    steps = str(slope.lower(np.arange(3.0), at, at - 1).native[0])
    assert (steps.count("scatter_add"), steps.count("index_add")) == (1, 1)


def nested(number, order):
    """A sum of scatters, added up from the left or from the right."""
    u = fg.var("u", 8)
    terms = []
    for k in range(number):
        i = fg.var(f"i{k}", 2, int)
        terms.append(fg.gradient((u[i] * fg.var(f"y{k}", 2)).sum(), u))
    if order == "left":
        return reduce(np.add, terms)
    return reduce(lambda right, term: np.add(term, right), terms[::-1])


@pytest.mark.parametrize("order", ["left", "right"])
def test_long_sums_take_linear_time(order):
    few, many = (
        calls(lambda root: accumulate_scatters([root]), nested(n, order)) for n in (50, 100)
    )
    assert many <= 2.1 * few
    (found,) = accumulate_scatters([nested(50, order)])
    assert count("index_add", found) == 49
