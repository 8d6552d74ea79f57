"""log10 and cbrt in loops over entries of machine code."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg

pytest.importorskip("llvmlite")

RNG = np.random.default_rng(0)
POSITIVE = np.concatenate(
    [
        10.0 ** RNG.uniform(-320, 308, 300),
        RNG.uniform(0.5, 2, 200),
        1 + RNG.normal(size=200) * 10.0 ** RNG.uniform(-15, -1, 200),
    ]
)
EDGES = [0.0, -0.0, 1.0, -1.0, 8.0, 27.0, 5e-324, 1e-310, 2.2e-308, 1.7e308, np.inf, -np.inf]
EDGES += [np.nan]
# The functions, the exact ones, the arguments, and the errors in units in the last place.
CASES = {
    "log10": (np.log10, mp.log10, POSITIVE, 0.6),
    "cbrt": (
        np.cbrt,
        lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        np.concatenate([POSITIVE, -POSITIVE]),
        1.3,
    ),
}


def compiled(name):
    function = CASES[name][0]
    return fg.jit(lambda x: function(x) * 1, native=True)


@pytest.mark.parametrize("name", CASES)
def test_errors(name):
    _, exact, x, most = CASES[name]
    with mp.workdps(40):
        for at, value in zip(x.tolist(), compiled(name)(x).tolist(), strict=True):
            want = exact(mp.mpf(at))
            assert abs(value - want) <= most * float(np.spacing(abs(float(want)))), at


@pytest.mark.parametrize("name", CASES)
def test_single_precision(name):
    function, _, x, _ = CASES[name]
    x = x[(np.abs(x) > 1e-37) & (np.abs(x) < 1e38)].astype(np.float32)
    found = compiled(name)(x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, function(x.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [1, 8 * len(EDGES)])
def test_edges(name, size):
    x = np.resize(EDGES, size)
    with np.errstate(all="ignore"):
        found, want = compiled(name)(x), CASES[name][0](x)
    np.testing.assert_array_max_ulp(found[np.isfinite(want)], want[np.isfinite(want)], 2)
    np.testing.assert_array_equal(found[~np.isfinite(want)], want[~np.isfinite(want)])
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(want)[known])


def test_whole_results_are_exact():
    powers = np.arange(-300.0, 308.0)
    np.testing.assert_array_equal(compiled("log10")(10.0**powers), powers)
    whole = np.arange(-20000.0, 20000.0)
    np.testing.assert_array_equal(compiled("cbrt")(whole**3), whole)
