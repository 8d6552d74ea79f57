"""erfinv, ndtri, erfcx, log_ndtr, and erf of single precision, in loops over entries of machine code."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg

pytest.importorskip("scipy")
pytest.importorskip("llvmlite")

from scipy import special

from funcgrad.compiler.native.llvm_writer import LLVMWriter, real
from funcgrad.compiler.native.scalar_instructions import template_value

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 5e-324, 1e-310, -1e-310, np.nextafter(1, 0), 27.0]
EDGES += [-27.0, 1e154, -1e154, np.finfo(float).max, np.inf, -np.inf, np.nan]
NAMES = ["erfinv", "ndtri", "erfcx", "log_ndtr"]


def compiled(name):
    function = getattr(special, name)
    return fg.jit(lambda x: function(x) * 1, native=True)


def inverse_erfc(c):
    """By Newton's method on the logarithm."""
    if c > 0.5:
        return mp.erfinv(1 - c)
    y, step = mp.sqrt(-mp.log(c)), mp.inf
    while abs(step) > mp.mpf(10) ** -34 * y:
        tail = mp.erfc(y)
        step = mp.log(tail / c) * tail * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
    return y


def exact_ndtri(p):
    size = mp.sqrt(2) * inverse_erfc(2 * min(p, 1 - p))
    return size if p > 0.5 else -size


def exact_log_ndtr(x):
    tail = mp.erfc(abs(x) / mp.sqrt(2)) / 2
    return mp.log1p(-tail) if x > 0 else mp.log(tail)


RNG = np.random.default_rng(0)
NEAR_ONE = 1 - 10.0 ** -RNG.uniform(0, 15.9, 150)
# The exact functions, arguments, and the errors in units in the last place: x**2 is rounded before its
# exponential is taken in the tail of erfc, and left of 0 in erfcx.
CASES = {
    "erfinv": (
        lambda x: mp.erfinv(x) if abs(x) < 0.5 else mp.sign(x) * inverse_erfc(1 - abs(x)),
        np.concatenate([RNG.uniform(-1, 1, 150), NEAR_ONE, 10.0 ** -RNG.uniform(0, 300, 50)]),
        lambda x: 6,
    ),
    "ndtri": (
        exact_ndtri,
        np.concatenate([RNG.uniform(0, 1, 150), NEAR_ONE, 10.0 ** -RNG.uniform(0, 320, 150)]),
        lambda x: 6,
    ),
    "erfcx": (
        lambda x: mp.exp(x * x) * mp.erfc(x),
        np.concatenate([RNG.uniform(-3, 10, 250), 10.0 ** RNG.uniform(-10, 3, 100)]),
        lambda x: 7 + 2 * x * x * (x < 0),
    ),
    "log_ndtr": (
        exact_log_ndtr,
        np.concatenate([RNG.uniform(-10, 6, 250), -(10.0 ** RNG.uniform(-3, 2, 100))]),
        lambda x: 8 + 2 * x * x * (x > 0),
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_errors(name):
    exact, x, most = CASES[name]
    found = compiled(name)(x)
    with mp.workdps(40):
        for at, value in zip(x.tolist(), found.tolist(), strict=True):
            want = exact(mp.mpf(at))
            unit = float(np.spacing(abs(float(want))))
            assert abs(mp.mpf(value) - want) <= most(at) * unit, at


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_edges(name, dtype):
    with np.errstate(over="ignore"):
        x = np.resize(EDGES, 8 * len(EDGES)).astype(dtype)
    found, want = compiled(name)(x), getattr(special, name)(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, want, rtol=4e-15 if dtype == np.float64 else 1e-6)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(want)[known])


@pytest.mark.parametrize("name", NAMES)
def test_entries_of_arrays_call_no_function_of_scipys(name):
    def calls(length):
        w = LLVMWriter()
        with w.loops((length,)) as (at,):
            x = template_value(w, f"{name}({{0}})", [real(0.5)])
            w.store(x, "%y", "float64", at)
        return [line for line in w.lines if "call double @special" in line]

    assert not calls(64)
    assert len(calls(1)) == 1


def test_erf_of_single_precision():
    tiny = 10.0 ** RNG.uniform(-44, 0, 5000)
    x = np.concatenate([RNG.uniform(-4.5, 4.5, 50000), tiny]).astype(np.float32)
    found, want = compiled("erf")(x), special.erf(x.astype(np.float64))
    assert found.dtype == np.float32
    unit = np.spacing(np.abs(want.astype(np.float32))).astype(np.float64)
    assert np.max(np.abs(found - want) / unit) <= 1.3
    with np.errstate(over="ignore"):
        x = np.resize(EDGES, 8 * len(EDGES)).astype(np.float32)
    found, want = compiled("erf")(x), special.erf(x)
    np.testing.assert_allclose(found, want, rtol=2e-7)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(want))


def test_gradients():
    x = np.linspace(-3, 3, 40)

    def loss(x):
        p = special.ndtr(x)
        return np.sum(special.log_ndtr(x) + special.ndtri(p) ** 2 + special.erfinv(2 * p - 1))

    native = fg.jit(fg.grad(loss), native=True)(x)
    np.testing.assert_allclose(native, fg.grad(loss)(x), rtol=1e-10)
