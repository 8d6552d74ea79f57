"""Bounds hold: at points of the box, mpmath's value of the program lies inside."""

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.algebras import Interval, bounds, precise
from funcgrad.algebras.interval import has_interval
from funcgrad.ops.numpy.dispatch import all_ops
from tests.default_slice import examples, one_in
from tests.ops.samples import REAL_SAMPLES

x, y = fg.var("x"), fg.var("y")
INF = math.inf


def entries(value):
    return [v if hasattr(v, "_mpf_") else mpmath.mpf(float(v)) for v in np.asarray(value).flat]


def holds(interval, exact):
    """Whether an interval holds a value of mpmath's; what is undefined is held by any."""
    lo, hi = np.asarray(interval.lo), np.asarray(interval.hi)
    values = entries(exact)
    assert lo.size == hi.size == len(values)
    return all(
        mpmath.isnan(v) or mpmath.mpf(float(a)) <= v <= mpmath.mpf(float(b))
        for a, v, b in zip(lo.flat, values, hi.flat, strict=True)
    )


# -- each operation ------------------------------------------------------------------------------
def is_real(sample):
    return all(np.asarray(arg).dtype.kind != "c" for arg in sample.args) and (
        np.dtype(sample.params.get("dtype", float)).kind != "c"
    )


CASES = [
    pytest.param(name, sample, id=f"{name}-{i}")
    for name, samples in REAL_SAMPLES.items()
    for i, sample in enumerate(samples)
    if is_real(sample) and name != "leaf"
]


WIDTHS = [0.0, 1e-9, 0.3, 4.0]


@pytest.mark.parametrize(
    ("name", "sample", "width"),
    one_in(35, [pytest.param(*c.values, w, id=f"{c.id}-{w}") for c in CASES for w in WIDTHS]),
)
def test_bounds_of_an_operation_hold_its_values(name, sample, width):
    op = all_ops()[name]
    rng = np.random.default_rng(3)
    floats = [np.asarray(arg).dtype.kind == "f" for arg in sample.args]
    args = [np.asarray(arg) for arg in sample.args]

    def f(*varied):
        rest = iter(varied)
        return op(
            *[next(rest) if known else fg.const(arg) for arg, known in zip(args, floats, strict=True)],
            **sample.params,
        )  # fmt: skip

    if not has_interval(op) and op.columns.decompose is None:
        with pytest.raises(TypeError, match=f"'{name}' has none"):
            bounds(lambda *v: op(*v, **sample.params), *args)
        return
    if not any(floats):
        value = np.asarray(op.run(*args, **sample.params))
        found = bounds(f)
        assert np.array_equal(found.lo, value)
        assert np.array_equal(found.hi, value)
        return
    below = [rng.uniform(0, width, a.shape) for a in args]
    above = [rng.uniform(0, width, a.shape) for a in args]
    boxes = [
        Interval(a - b, a + c) for a, b, c, k in zip(args, below, above, floats, strict=True) if k
    ]
    if np.iscomplexobj(op.run(*args, **sample.params)):  # complex values have no order
        with pytest.raises(TypeError, match="bounds: expected real numbers"):
            bounds(f, *boxes)
        return
    found = bounds(f, *boxes)
    for _ in range(4):
        t = [rng.uniform(0, 1, np.shape(box.lo)) for box in boxes]
        points = [
            np.clip(b.lo + s * (b.hi - b.lo), b.lo, b.hi) for b, s in zip(boxes, t, strict=True)
        ]
        assert holds(found, precise(f, *points, digits=25)), (found, points)


# -- programs and their gradients ----------------------------------------------------------------
UNARY = [
    np.sin,
    np.cos,
    np.exp,
    np.tanh,
    np.arctan,
    np.square,
    np.absolute,
    fg.sigmoid,
    fg.softplus,
]
BINARY = [
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.maximum,
    np.hypot,
    np.arctan2,
    np.logaddexp,
]


@st.composite
def programs(draw):
    """A formula in x and y of a few operations."""
    parts = [x, y, fg.const(0.1), x * y]
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            parts.append(draw(st.sampled_from(UNARY))(draw(st.sampled_from(parts))))
        else:
            a, b = draw(st.sampled_from(parts)), draw(st.sampled_from(parts))
            parts.append(draw(st.sampled_from(BINARY))(a, b))
    return parts[-1]


ENDS = st.tuples(st.floats(-6, 6), st.floats(0, 3)).map(lambda p: (p[0], p[0] + p[1]))
SHARES = st.tuples(st.floats(0, 1), st.floats(0, 1))


@settings(max_examples=examples(60), derandomize=True)
@given(programs(), ENDS, ENDS, SHARES)
def test_bounds_of_random_programs_and_gradients_hold(program, a, b, shares):
    s, t = shares
    point = {"x": min(a[0] + s * (a[1] - a[0]), a[1]), "y": min(b[0] + t * (b[1] - b[0]), b[1])}
    both = {"x": a, "y": b}
    for expr in (program, *fg.gradient(program).values()):
        names = [str(v) for v in (x, y) if v.key in expr.graph]
        box = {name: both[name] for name in names}
        here = {name: point[name] for name in names}
        assert holds(bounds(expr, **box), precise(expr, **here, digits=30))


# -- each law ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expr", "box", "lo", "hi"),
    [
        (fg.sin(x), (0, 3), 0.0, 1.0),
        (fg.sin(x), (-3, 10), -1.0, 1.0),
        (fg.sin(x), (0.1, 0.2), math.sin(0.1), math.sin(0.2)),
        (fg.cos(x), (3, 4), -1.0, math.cos(4)),
        (fg.cos(x), (-1, 1), math.cos(1), 1.0),
        (fg.sin(x), (-INF, INF), -1.0, 1.0),
        (fg.tan(x), (1, 2), -INF, INF),
        (fg.tan(x), (2, 4), math.tan(2), math.tan(4)),
        (x**2, (-1, 2), 0.0, 4.0),
        (x * x, (-1, 2), 0.0, 4.0),
        (np.square(x), (-3, 2), 0.0, 9.0),
        (x**3, (-1, 2), -1.0, 8.0),
        (x**-1, (-1, 2), -INF, INF),
        (x**-1, (0, 2), 0.5, INF),
        (x**-2, (-1, 2), 0.25, INF),
        (x**0.5, (-1, 4), 0.0, 2.0),
        (x**0, (-1, 4), 1.0, 1.0),
        (2.0**x, (-1, 3), 0.5, 8.0),
        (np.absolute(x), (-3, 2), 0.0, 3.0),
        (1 / x, (-1, 1), -INF, INF),
        (1 / x, (0, 2), 0.5, INF),
        (1 / x, (-2, 0), -INF, -0.5),
        (1 / x, (1, INF), 0.0, 1.0),
        (fg.sqrt(x), (-1, 4), 0.0, 2.0),
        (fg.log(x), (0, 1), -INF, 0.0),
        (fg.exp(x), (-INF, 0), 0.0, 1.0),
        (np.where(x > 0, fg.log(x), 1.0), (1, 2), 0.0, math.log(2)),
        (np.where(x > 0, fg.log(x), 1.0), (-2, -1), 1.0, 1.0),
        (np.where(x > 0, x, 5.0), (-2, 2), -2.0, 5.0),
        (np.where(x > 0, 5.0, x), (-2, -1), -2.0, -1.0),
        (np.where(x, 5.0, 3.0), (-1, 0), 3.0, 5.0),
        (np.logical_not(x), (-1, 0), 0.0, 1.0),
        (np.logical_not(x), (0, 0), 1.0, 1.0),
        (np.arctan2(x, -1.0), (0, 1), 0.75 * math.pi, math.pi),
        (np.arctan2(x, -1.0), (-1, 0), -math.pi, math.pi),
        (np.arctan2(x, -1.0), (-0.0, 1), -math.pi, math.pi),
        (np.i0(x), (-INF, 0), 1.0, INF),
        (np.remainder(x, 3.0), (0, 10), 0.0, 3.0),
        (np.floor(x), (0.5, 2.5), 0.0, 2.0),
        (np.copysign(x, -1.0), (-2, 3), -3.0, 0.0),
    ],
)
def test_bounds_are_those_of_the_textbook(expr, box, lo, hi):
    found = bounds(expr, x=box)
    assert found.lo <= lo <= hi <= found.hi or (found.lo <= lo and hi <= found.hi)
    for computed, known in ((found.lo, lo), (found.hi, hi)):
        assert computed == known or computed == pytest.approx(known, rel=1e-14, abs=1e-14)


_WITHOUT_BOUNDS = ("make_complex", "rfft", "has_cholesky")  # complex numbers, and eigenvalues
MONOTONE = {
    "erf": (-INF, -6.0, -0.3, 0.0, 1e-9, 2.0, INF),
    "erfc": (-INF, -2.0, 0.3, 5.0, 26.0, INF),
    "erfcx": (-20.0, -0.3, 0.0, 1e-3, 30.0, INF),
    "erfi": (-INF, -3.0, 0.0, 1e-9, 2.0),
    "erfinv": (-1.0, -0.999, -1e-9, 0.5, 1.0),
    "ndtr": (-INF, -37.0, -0.3, 0.0, 2.0, 40.0),
    "log_ndtr": (-INF, -1e3, -0.3, 2.0, 16.0, 40.0),
    "ndtri": (0.0, 1e-300, 0.3, 0.5, 0.999, 1.0),
    "logit": (0.0, 1e-300, 0.3, 0.5, 0.999, 1.0),
    "log_expit": (-INF, -1e3, -0.3, 0.0, 30.0, 1e3),
    "entr": (0.0, 1e-300, 0.1, 0.4, 1.0, 9.0, INF),
}
"""Numbers, rising, to each function: its bounds hold the values between any two."""


@pytest.mark.parametrize("name", MONOTONE)
def test_bounds_of_special_functions_hold_and_are_narrow(name):
    function = getattr(pytest.importorskip("scipy.special"), name)
    ends = MONOTONE[name]
    exact = functools.cache(lambda point: precise(function, point, digits=30))
    for lo, hi in itertools.combinations_with_replacement(ends, 2):
        found = bounds(function, (lo, hi))
        inside = [np.clip(t, lo, hi) for t in (*ends, 0.9 * lo + 0.1 * hi, 0.4 * lo + 0.6 * hi)]
        for point in inside:
            if np.isfinite(point) and np.isfinite(function(point)):
                assert holds(found, exact(float(point))), (lo, hi, point)
        if lo == hi and 0 < abs(function(lo)) < INF:
            assert found.width <= 1e-11 * abs(function(lo)) + 1e-307
    assert math.isnan(bounds(function, (-INF, -5.0)).lo) == (ends[0] in (0.0, -1.0))


def test_bounds_of_a_slope_of_the_error_function():
    special = pytest.importorskip("scipy.special")
    slope = bounds(fg.grad(special.ndtr), (-1.0, 1.0))
    assert slope.hi == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-12)


_WIDE = ("remainder", "fmod")  # whose bounds hold all from 0 to the divisor


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        case
        for case in CASES
        if (has_interval(all_ops()[case.values[0]]) or all_ops()[case.values[0]].columns.decompose)
        and case.values[0] not in _WITHOUT_BOUNDS + _WIDE
        and any(np.asarray(arg).dtype.kind == "f" for arg in case.values[1].args)
    ],
)
def test_bounds_at_a_point_are_narrow(name, sample):
    args = [np.asarray(arg) for arg in sample.args]

    def f(*floats):
        rest = iter(floats)
        operands = [next(rest) if arg.dtype.kind == "f" else arg for arg in args]
        return all_ops()[name](*operands, **sample.params)

    found = bounds(f, *[arg for arg in args if arg.dtype.kind == "f"])
    lo, hi = np.asarray(found.lo, float), np.asarray(found.hi, float)
    np.testing.assert_allclose(lo, hi, rtol=1e-10, atol=1e-10)


def test_whole_numbers_that_float64_holds_are_exact():
    chosen = bounds(np.where(x > 0, 200, 300), x=(1, 2))
    assert (chosen.lo, chosen.hi) == (200.0, 200.0)
    large = bounds(np.where(x > 0, 2**53 + 1, 0), x=(1, 2))
    assert large.lo < 2**53 + 1 < large.hi


def test_rounding_is_outward():
    third = bounds(x / 3, x=1.0)
    assert third.lo < third.hi
    assert holds(third, mpmath.mpf(1) / 3)
    tenths = bounds(lambda v: np.sum(v), np.full(1000, 0.1))
    assert holds(tenths, 1000 * mpmath.mpf(0.1))
    assert tenths.width < 1e-9


@pytest.mark.parametrize(
    ("expr", "at"),
    [
        (fg.exp(x), -800.0),
        (fg.exp(x), 800.0),
        (fg.sigmoid(x), -720.0),
        (fg.softplus(x), -750.0),
        (x * x, 1e-200),
        (x**3, 1e-150),
        (x**-3, 1e-150),
        (x * 1e300, 1e300),
        (np.logaddexp(x, x), -math.log(2)),
        (np.cosh(x), 900.0),
    ],
)
def test_underflow_overflow_and_cancellation_are_enclosed(expr, at):
    assert holds(bounds(expr, x=at), precise(expr, x=at, digits=30))


def test_infinite_bounds_of_an_overflow_hold_a_finite_number():
    found = bounds(fg.exp(x), x=800.0)
    assert np.isfinite(found.lo)
    assert found.hi == INF


def test_structures_and_functions():
    found = bounds(
        lambda p: {"s": p["a"] + p["b"], "d": p["a"] - p["b"]}, {"a": Interval(0, 1), "b": 2.0}
    )
    assert found["s"].lo <= 2 <= 3 <= found["s"].hi
    assert found["d"].hi >= -1
    slope = bounds(fg.grad(lambda v: np.sum(v**3)), Interval([-1.0, 1.0], [2.0, 3.0]))
    assert np.all(np.abs(slope.lo - [0.0, 3.0]) < 1e-14)
    assert np.all(np.abs(slope.hi - [12.0, 27.0]) < 1e-13)


def test_matrix_products_are_enclosed():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    found = bounds(lambda a, b: a @ b, (a - 0.1, a + 0.1), b)
    for _ in range(10):
        inner = a + rng.uniform(-0.1, 0.1, a.shape)
        assert holds(found, precise(lambda a, b: a @ b, inner, b, digits=25))


def test_mistakes():
    with pytest.raises(TypeError, match="bounds: expected values for x, but got y"):
        bounds(x + 1, y=(0, 1))
    with pytest.raises(
        TypeError,
        match=r"by name or in a dict, but got 1 without names; write bounds\(expr, x=\(0, 1\)\)",
    ):
        bounds(x + 1, (0, 1))
    with pytest.raises(TypeError, match="by position, but got x by name"):
        bounds(lambda x: x, x=(0, 1))
    with pytest.raises(
        ValueError, match=r"^interval: expected lo <= hi, but got 2 and 1\n  at test_interval.py:"
    ):
        Interval(2, 1)
    with pytest.raises(TypeError, match=r"expected an interval, a pair .* but got str"):
        bounds(x, x="ab")
    with pytest.raises(TypeError, match=r"real numbers, but .* complex128"):
        bounds(np.exp(fg.var("z", (), complex)), z=1.0)
    with pytest.raises(TypeError, match=r"bool\(\): expected a number"):
        bounds(lambda v: v if v > 0 else -v, (-1, 1))
    with pytest.raises(TypeError, match="depends on a variable"):
        bounds(lambda v: np.sort(v), (np.array([0.0, 1.0]), np.array([1.0, 2.0])))


def test_an_operation_without_a_rule_is_named():
    from funcgrad.ops.base.op import elementwise

    gamma = elementwise("gamma", lambda v: v, None, like=np.exp)
    with pytest.raises(TypeError, match="'gamma' has none; bound its operands"):
        bounds(gamma(x), x=(0, 1))
