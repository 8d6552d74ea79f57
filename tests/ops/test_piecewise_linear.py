"""Interpolation between knots: NumPy's bits, the ends, knots that fall together, infinities, stacks."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.native.llvm_jit import llvm_available
from funcgrad.ops.piecewise_linear import interp_op

INF, NAN = np.inf, np.nan
KNOTS = np.array([-1.0, 0.0, 0.5, 2.0, 2.5])
LEVELS = np.array([1.0, -2.0, 3.0, 0.5, 4.0])
INSIDE = np.array([-0.7, 0.2, 0.4, 1.0, 2.2])
PLACES = np.array([*INSIDE, *KNOTS, -3.0, 7.0, -INF, INF, NAN, -0.0])


def interp(x, xp, fp):
    return np.interp(x, xp, fp)


@pytest.mark.parametrize(
    ("knots", "levels"),
    [
        (KNOTS, LEVELS),
        (KNOTS[:2], LEVELS[:2]),
        ([0.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0]),
        ([0.0, 0.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]),
        (KNOTS, [1.0, INF, -INF, INF, INF]),
        (KNOTS, [NAN, 1.0, 2.0, NAN, 3.0]),
        ([0.0, 1.0, INF], [1.0, 2.0, 3.0]),
        ([-INF, 1.0, 2.0], [1.0, 2.0, 3.0]),
        ([0.0, 1e-308, 1.0], [-1e308, 1e308, 0.0]),
    ],
)
def test_the_decomposition_is_numpys_function(knots, levels):
    knots, levels = np.array(knots, float), np.array(levels, float)
    want = np.interp(PLACES, knots, levels)
    found = fg.jit(interp)(PLACES, knots, levels)
    np.testing.assert_array_equal(found, want)
    natively = fg.jit(interp, native=llvm_available())
    np.testing.assert_array_equal(natively(PLACES, knots, levels), want)
    simple = interp_op.columns.decompose(*map(fg.const, (PLACES, knots, levels)))
    np.testing.assert_array_equal(fg.evaluate(simple), want)


def test_derivatives_to_second_order():
    for places in (INSIDE, INSIDE[0], np.array([[-5.0, 0.3], [9.0, 1.0]])):
        fg.check_grads(lambda *args: np.sin(interp(*args)), (places, KNOTS, LEVELS), order=2)


def test_slopes_at_the_knots_and_beyond_the_ends():
    slope = fg.vmap(fg.grad(interp), (0, None, None))
    between = np.diff(LEVELS) / np.diff(KNOTS)
    np.testing.assert_allclose(slope(KNOTS, KNOTS, LEVELS), [*between, between[-1]])
    np.testing.assert_array_equal(slope(np.array([-3.0, 7.0, -INF, INF]), KNOTS, LEVELS), 0)
    first, last = np.eye(5)[0], np.eye(5)[-1]
    by_level = fg.jacobian(interp, 2)
    np.testing.assert_array_equal(
        by_level(np.array([-3.0, -INF, -1.0, 2.5, INF]), KNOTS, LEVELS),
        [first, first, first, last, last],
    )
    by_knot = fg.jacobian(interp, 1)
    np.testing.assert_array_equal(by_knot(np.array([-3.0, 7.0, INF]), KNOTS, LEVELS), 0)
    np.testing.assert_allclose(by_knot(-1.0, KNOTS, LEVELS), -between[0] * first)


def test_mixed_second_derivatives_at_the_knots_are_those_of_the_slope():
    mixed = fg.jacobian(fg.grad(interp, 0), 2)
    for place, i in ((-1.0, 0), (0.0, 1), (2.5, 3)):
        width = KNOTS[i + 1] - KNOTS[i]
        want = (np.eye(5)[i + 1] - np.eye(5)[i]) / width
        np.testing.assert_allclose(mixed(place, KNOTS, LEVELS), want)
    turned = fg.jacobian(lambda x, xp, fp: fg.grad(interp, 2)(x, xp, fp), 0)
    np.testing.assert_allclose(
        turned(2.5, KNOTS, LEVELS), (np.eye(5)[4] - np.eye(5)[3]) / (KNOTS[4] - KNOTS[3])
    )


def test_levels_have_finite_slopes_beside_infinite_ones():
    levels = np.array([1.0, INF, 2.0])
    found = fg.grad(interp, 2)(0.25, np.arange(3.0), levels)
    np.testing.assert_array_equal(found, [0.75, 0.25, 0.0])
    together = fg.grad(interp, 2)(1.0, np.array([0.0, 1.0, 1.0, 2.0]), np.arange(4.0))
    np.testing.assert_array_equal(together, [0.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, None), (None, None, 0), (0, 0, 0)])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_batches_are_loops(axes, shape):
    rng = np.random.default_rng(0)

    def batch(axis, *shape):
        return rng.normal(size=shape if axis is None else (4, *shape))

    args = (
        batch(axes[0], *shape),
        np.sort(batch(axes[1], 5), axis=-1),
        batch(axes[2], 5),
    )
    slopes = fg.grad(lambda *args: np.sum(np.sin(interp(*args))), (0, 1, 2))
    for f in (interp, slopes):
        rows = [
            f(*[x if axis is None else x[k] for x, axis in zip(args, axes, strict=True)])
            for k in range(4)
        ]
        mapped = fg.vmap(f, axes)
        for map_ in (mapped, fg.jit(mapped), fg.jit(mapped, native=llvm_available())):
            found = map_(*args)
            found = found if isinstance(found, tuple) else (found,)
            rows = [row if isinstance(row, tuple) else (row,) for row in rows]
            for part, wanted in zip(found, zip(*rows, strict=True), strict=True):
                np.testing.assert_allclose(part, np.stack(wanted), rtol=1e-12, atol=1e-14)


def test_a_formula_is_read_by_its_name():
    assert repr(fg.trace(lambda x: np.interp(x, [0.0, 1.0], [2.0, 3.0]), 0.5)) == (
        "interp(x, [0.0, 1.0], [2.0, 3.0])"
    )


def test_knots_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="expected places and vectors of two knots or more"):
        interp_op(fg.const(1.0), fg.const(np.ones(1)), fg.const(np.ones(1)))


@pytest.mark.parametrize("width", [0.0, 1e-3, 0.4, 3.0])
def test_bounds_hold_the_values(width):
    rng = np.random.default_rng(0)
    expr = fg.trace(lambda x: interp(x, KNOTS, LEVELS), 0.0)
    for start in rng.uniform(-2, 3, 50):
        found = fg.bounds(expr, x=(start, start + width))
        values = interp(
            np.array([start, *np.linspace(start, start + width, 301)[1:]]), KNOTS, LEVELS
        )
        assert np.all((found.lo <= values) & (values <= found.hi))
        inner = np.concatenate([values, LEVELS[(start < KNOTS) & (start + width > KNOTS)]])
        np.testing.assert_allclose([found.lo, found.hi], [inner.min(), inner.max()], atol=0.1)


def test_beyond_the_ends_no_infinite_slope_of_the_place_arrives():
    f = lambda x: np.interp(1.0 / x, [0.0, 1.0, 2.0], [0.0, 1.0, 4.0])  # noqa: E731
    for x in (0.0, -0.0):
        assert fg.grad(f)(x) == fg.jit(fg.grad(f))(x) == fg.jvp(f, (x,), (1.0,))[1] == 0.0
        assert fg.hessian(f)(x) == 0.0
    batch = np.array([0.0, 0.8, -0.0])
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(batch), [0.0, -3.0 / 0.64, 0.0])
