"""Sums of scattered slices as sums of slices of a padded array."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.compiler.passes.scatter_to_gather import scatter_to_gather
from funcgrad.expr import by_key
from funcgrad.ops.indexing import scatter_op
from funcgrad.ops.stores import index_add_op

LENGTHS = {1: (40,), 2: (7, 9), 3: (5, 3, 4)}


def scattered(terms, box, shape, window=None):
    """The sum of arrays at boxes of the same lengths, given by their first indices."""
    total = None
    for x, start in terms:
        spec = tuple([("slice", s, s + n, None) for s, n in zip(start, box, strict=True)])
        if total is None:
            total = scatter_op(x, spec=spec, shape=shape)
        else:
            total = index_add_op(total, x, spec=spec)
    return total if window is None else total[window]


def ops(*roots):
    return [expr.op.name for expr in by_key(*roots).values()]


@st.composite
def sums(draw):
    """Shape, box lengths, starts and factors of the terms, and a window of the sum."""
    shape = LENGTHS[draw(st.integers(1, 3))]
    box = tuple([draw(st.integers(1, n)) for n in shape])
    count = draw(st.integers(2, 5))
    starts = [
        tuple([draw(st.integers(0, n - k)) for n, k in zip(shape, box, strict=True)])
        for _ in range(count)
    ]
    factors = [draw(st.sampled_from([None, None, 2.0, -0.5])) for _ in range(count)]
    window = None
    if draw(st.booleans()):
        ends = [sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in shape]
        window = tuple([slice(a, b) for a, b in ends])
    return shape, box, starts, factors, window


@pytest.mark.filterwarnings("ignore:invalid value")
@given(
    sums(),
    st.integers(1, 2),
    st.sampled_from([float, complex, np.float32]),
    st.sampled_from([1.5, -0.0, np.inf, np.nan]),
)
def test_values_are_the_same(drawn, arrays, dtype, special):
    shape, box, starts, factors, window = drawn
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(box).astype(dtype) for _ in range(arrays)]
    for value in values:  # which must not reach other places
        value.flat[:: value.size // 3 + 2] = special
    given = [fg.var(f"g{k}", box, dtype) for k in range(arrays)]
    terms = []
    for k, (start, factor) in enumerate(zip(starts, factors, strict=True)):
        g = given[k % arrays]
        terms.append((g if factor is None else g * factor, start))
    root = scattered(terms, box, shape, window)
    (found,) = scatter_to_gather([root])
    assert found.type == root.type
    at = {f"g{k}": value for k, value in enumerate(values)}
    np.testing.assert_array_equal(fg.evaluate(found, at), fg.evaluate(root, at))


@pytest.mark.parametrize("window", [None, (slice(1, 39),)])
def test_three_terms_of_one_array_are_slices(window):
    g = fg.var("g", 38)
    root = scattered([(g, (2,)), (-2.0 * g, (1,)), (g, (0,))], (38,), (40,), window)
    (found,) = scatter_to_gather([root])
    assert "index_add" not in ops(found)
    assert ops(found).count("scatter_add") == 1


def test_terms_of_other_arrays_are_left():
    g = [fg.var(f"g{k}", 38) for k in range(3)]
    root = scattered([(x, (k,)) for k, x in enumerate(g)], (38,), (40,))
    assert scatter_to_gather([root])[0] is root


def test_a_factor_that_is_not_finite_stays_in_the_array():
    g = fg.var("g", 38)
    root = scattered([(g * np.inf, (2,)), (g * 3.0, (1,)), (g, (0,))], (38,), (40,))
    assert scatter_to_gather([root])[0] is root


def test_a_part_of_a_sum_that_is_read_elsewhere_stays():
    g = fg.var("g", 38)
    part = scattered([(g, (2,)), (g, (1,))], (38,), (40,))
    root = index_add_op(part, g, spec=(("slice", 0, 38, None),))
    found = scatter_to_gather([root, np.sum(part)])
    assert ops(*found) == ops(root, np.sum(part))


def test_the_slope_of_a_stencil_in_a_loop():
    def loss(u):
        def step(u, _):
            v = np.pad(u, 1)
            return u + 0.1 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * u), None

        return np.sum(fg.scan(step, u, None, length=5)[0] ** 2)

    u = np.random.default_rng(0).standard_normal((8, 9))
    slope = fg.trace(fg.grad(loss), u)
    (found,) = scatter_to_gather([slope])
    bodies = [dict(e.params)["body"] for e in by_key(found).values() if "body" in dict(e.params)]
    assert bodies
    assert all("index_add" not in ops(*body.outputs) for body in bodies)
    want = fg.grad(loss)(u)
    np.testing.assert_allclose(fg.jit(fg.grad(loss), native=True)(u), want, rtol=1e-14)


def test_simpsons_rule():
    pytest.importorskip("llvmlite")
    integrate = pytest.importorskip("scipy.integrate")
    gradient = fg.grad(lambda x: integrate.simpson(x) ** 2)
    x = np.linspace(0.5, 1.5, 10_000)
    np.testing.assert_allclose(fg.jit(gradient, native=True)(x), gradient(x), rtol=1e-12)
