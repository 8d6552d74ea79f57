"""gammaln, digamma and polygamma(1, x) in loops over entries of machine code."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg

pytest.importorskip("scipy")
pytest.importorskip("llvmlite")

from scipy import special

from funcgrad.compiler.native.llvm_writer import LLVMWriter, real
from funcgrad.compiler.native.scalar_instructions import template_value

FUNCTIONS = {
    "gammaln": (special.gammaln, lambda x: mp.re(mp.loggamma(x))),
    "psi": (special.digamma, mp.digamma),
    "trigamma": (lambda x: special.polygamma(1, x), lambda x: mp.psi(1, x)),
}
# (SciPy's gammaln is infinite at 5e-324, and has no digit next to its zeros.)
EDGES = [0.0, -0.0, 1.0, 2.0, 2.5, np.nextafter(2.5, 3), -1.0, -2.0, -0.5]
EDGES += [1e-300, -1e-300, 1e17, -1e17, 1e308, -1e308, 3e305, np.inf, -np.inf, np.nan]
RNG = np.random.default_rng(0)
BESIDE = RNG.normal(size=40) * 10.0 ** RNG.uniform(-12, -1, 40)
RIGHT = np.concatenate(
    [
        *[RNG.uniform(a, b, 60) for a, b in [(0, 1), (1, 2.5), (2.5, 12)]],
        10.0 ** RNG.uniform(-300, 300, 60),
        *[zero + BESIDE for zero in (1.0, 2.0, 1.4616321449683622)],
    ]
)
LEFT = -np.concatenate(
    [RNG.uniform(0, 4, 80), RNG.uniform(4, 40, 80), 10.0 ** RNG.uniform(-300, 0, 40)]
)


def compiled(name):
    function, _ = FUNCTIONS[name]
    return fg.jit(lambda x: function(x) * 1, native=True)


def unit(size):
    return mp.mpf(float(np.spacing(abs(float(size)))))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_right_of_zero(name):
    _, exact = FUNCTIONS[name]
    with mp.workdps(40):
        for at, value in zip(RIGHT.tolist(), compiled(name)(RIGHT).tolist(), strict=True):
            want = exact(mp.mpf(at))
            if abs(want) < np.finfo(float).max:
                assert abs(value - want) <= 6 * unit(want), at
            else:
                assert value == np.inf


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_left_of_zero(name):
    _, exact = FUNCTIONS[name]
    with mp.workdps(40):
        for at, value in zip(LEFT.tolist(), compiled(name)(LEFT).tolist(), strict=True):
            want, turned = exact(mp.mpf(at)), exact(1 - mp.mpf(at))
            if abs(want) < np.finfo(float).max:
                assert abs(value - want) <= 6 * unit(abs(want) + abs(turned)), at
            else:
                assert abs(value) == np.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges(name, dtype):
    with np.errstate(over="ignore"):
        x = np.resize(EDGES, 8 * len(EDGES)).astype(dtype)
    function, _ = FUNCTIONS[name]
    found, want = compiled(name)(x), function(x)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=1e-14 if dtype == np.float64 else 1e-6)
    np.testing.assert_array_equal(np.signbit(found[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_entries_of_arrays_call_no_function_of_scipys(name):
    def calls(length):
        w = LLVMWriter()
        with w.loops((length,)) as (at,):
            x = template_value(w, f"{name}({{0}})", [real(1.5)])
            w.store(x, "%y", "float64", at)
        return [line for line in w.lines if "call double @special" in line]

    assert not calls(64)
    assert len(calls(1)) == (name != "trigamma")


@pytest.mark.parametrize("size", [1, 500])
def test_gradients(size):
    x = RNG.uniform(0.1, 20, size)
    slope = fg.jit(fg.grad(lambda x: np.sum(special.gammaln(x))), native=True)
    np.testing.assert_allclose(slope(x), special.digamma(x), rtol=1e-14)
    second = fg.jit(fg.grad(lambda x: np.sum(special.digamma(x))), native=True)
    np.testing.assert_allclose(second(x), special.polygamma(1, x), rtol=1e-14)
