"""Small integer powers as products: nearly as exact as `numpy.power`, with its special values."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, source_text
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays, run_step_passes
from funcgrad.compiler.pass_options import PassOptions
from funcgrad.compiler.passes.integer_powers import integer_powers

BY_NUMPY = PassOptions(frozenset({"whole_program"}), verify=True)
EXPONENTS = (-2, 3, 4)
HUGE = {"float64": 300, "float32": 37}


def names(root, *inputs):
    flat = integer_powers(flatten_program([root], inputs))
    return [step.op.name for step in flat.steps if step.op.name not in ("input", "constant")]


def points(dtype, exponent):
    """Numbers of both signs whose powers cover the range of a dtype, to its denormal numbers."""
    rng = np.random.default_rng(0)
    most = HUGE[dtype] / abs(exponent)
    sizes = 10.0 ** np.concatenate([rng.uniform(-most, most, 1500), rng.uniform(-1, 1, 500)])
    return (sizes * rng.choice([-1, 1], sizes.size)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_have_two_units_in_the_last_place(dtype, exponent):
    value = points(dtype, exponent)
    x = fg.var("x", value.shape, dtype)
    run = compile_arrays([x**exponent], [x], BY_NUMPY)
    assert "power" not in source_text(run)
    (got,) = run(value)
    assert got.dtype == dtype
    with mp.workprec(200):
        exact = [mp.mpf(v) ** exponent for v in value.tolist()]
        units = np.spacing(np.abs(got)).tolist()
        worst = max(
            float(abs(mp.mpf(a) - b) / unit)
            for a, b, unit in zip(got.tolist(), exact, units, strict=True)
        )
    assert worst <= 2.1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_have_the_special_values_of_numpy(dtype, exponent):
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, 10.0 ** (HUGE[dtype] // 2), 1.0]
    value = np.array([0.0, np.inf, np.nan, *ends, 1e-8, 1e8, 3.0], dtype)
    value = np.concatenate([value, -value])
    x = fg.var("x", value.shape, dtype)
    (got,) = compile_arrays([x**exponent], [x], BY_NUMPY)(value)
    with np.errstate(all="ignore"):
        want = np.power(value, value.dtype.type(exponent))
    np.testing.assert_allclose(got, want, rtol=4 * limits.eps, atol=2 * limits.smallest_subnormal)
    np.testing.assert_array_equal(
        np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)]
    )


def test_a_square_that_the_program_has_is_used():
    x = fg.var("x", 20)
    assert names(x**2 + x**3 + x**4, x).count("square") == 2


def test_other_powers_stay():
    x, y, k = fg.var("x", 20), fg.var("y", 20), fg.var("k", 20, int)
    z, few = fg.var("z", 20, complex), fg.var("few", 3)
    for root in (x**2.5, x**5, x**-3, x**y, k**3, z**3, few**3, 3.0**x):
        assert "power" in names(root, x, y, k, z, few)
        flat = flatten_program([root], [x, y, k, z, few])
        assert integer_powers(flat) is flat
    flat = flatten_program([x**3], [x])
    assert run_step_passes(flat, native=True) == flat


def test_a_derivative_of_squares_takes_no_powers_of_numpy():
    x = fg.var("x", 4096)
    slope = fg.grad(lambda x: np.sum(((x - 1.0) ** 2) ** 2)).expr(x)
    assert "power" not in source_text(compile_arrays([slope], [x], BY_NUMPY))
