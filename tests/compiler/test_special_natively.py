"""Functions of `scipy.special` in machine code are those that SciPy's ufuncs call."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.native import scipy_exports
from funcgrad.compiler.native.llvm_jit import llvm_available
from funcgrad.expr import operation_table
from tests.default_slice import one_in
from tests.ops.special_points import POINTS

OPS = operation_table.ops
special = pytest.importorskip("scipy.special")
pytestmark = pytest.mark.skipif(not llvm_available(), reason="llvmlite is not installed")


def has_symbol(name):
    row = (OPS[name].columns.native or {}).get("f") if name in OPS else None
    if not isinstance(row, str) or not row.startswith("special_"):
        return False
    own = row.removeprefix("special_").partition("(")[0]
    return scipy_exports.special_symbol(own, row.count("{")) is not None


NAMES = [name for name in POINTS if has_symbol(name)]


def test_most_functions_are_exported():
    assert len(NAMES) > 85


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", one_in(2, NAMES))
def test_values_are_scipys(name):
    op = OPS[name]
    points = [*POINTS[name], *[(x,) * len(op.edges) for x in (0.0, 1.0, -1.5, np.inf, np.nan)]]
    operands = [np.array(x) for x in zip(*points, strict=True)]
    got = fg.jit(lambda *x: op(*x), native=True)(*operands)
    np.testing.assert_array_equal(got, op.run(*operands))


@pytest.mark.parametrize("order", range(4))
def test_sinc_and_its_derivatives(order):
    x = np.array([0.0, 1e-300, 1e-9, 0.3, 0.32, 0.63, 0.64, 1.0, -2.5, 30.3, np.nan])
    sinc = OPS["sinc"]
    got = fg.jit(lambda x: sinc(x, order=order), native=True)(x)
    np.testing.assert_allclose(got, sinc.run(x, order=order), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda s: special.erf(s) + 0.1 * special.ndtr(s),
        lambda s: special.gammaln(s + 2.0) + 0.3 * special.j0(s),
        lambda s: 0.5 * special.expi(s + 0.1) + 0.2 * np.sinc(s),
    ],
)
def test_loops_and_their_gradients(f):
    def loss(x):
        state, _ = fg.scan(lambda s, _: (f(s), None), x * np.ones(3), None, length=20)
        return np.sum(state)

    native = fg.jit(fg.value_and_grad(loss), native=True)(0.7)
    np.testing.assert_allclose(native, fg.value_and_grad(loss)(0.7), rtol=1e-12)


def test_what_is_not_exported_is_left_to_scipy(monkeypatch):
    monkeypatch.setattr(scipy_exports, "scipy_export", lambda module, name: None)
    assert scipy_exports.special_symbol("gammaln", 1) is None
    assert scipy_exports.special_address("special.gammaln") == 0
    x = np.array([0.2, 1.1])
    with pytest.raises(TypeError, match="gammaln of 1 numbers, which SciPy does not export"):
        fg.jit(lambda x: special.gammaln(x), native=True)(x)
    np.testing.assert_array_equal(fg.jit(lambda x: special.gammaln(x))(x), special.gammaln(x))


# The exact functions, and the errors in units in the last place. `ndtr` rounds its argument twice.
ERRORS = {
    "erf": (mp.erf, lambda x: 4),
    "erfc": (mp.erfc, lambda x: 4),
    "ndtr": (mp.ncdf, lambda x: 4 + 2 * x * x),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ERRORS)
def test_error_functions_are_those_of_c_in_vectors(name, dtype):
    """They are more exact than SciPy's, which are off by 25 units at 6 and by 500 in the tail."""
    exact, most = ERRORS[name]
    rng = np.random.default_rng(0)
    wide = 8 if dtype is np.float32 else 26
    x = [rng.uniform(-3, 3, 150), rng.uniform(-wide, wide, 150), 10.0 ** rng.uniform(-30, 0, 60)]
    x = np.concatenate(x).astype(dtype)
    got = fg.jit(lambda x: getattr(special, name)(x), native=True)(x)
    assert got.dtype == dtype
    with mp.workdps(40):
        for value, found in zip(x.tolist(), got, strict=True):
            want = exact(mp.mpf(value))
            unit = float(np.spacing(np.abs(dtype(float(want)))))
            assert abs(mp.mpf(float(found)) - want) <= most(value) * unit, (value, found, want)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 5e-324] * 2).astype(dtype)
    got = fg.jit(lambda x: getattr(special, name)(x), native=True)(ends)
    want = getattr(special, name)(ends)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("shape", [(1,), (7,), (40,), (3, 5), (4, 2, 6)])
def test_sorting_is_stable_and_puts_nan_last(shape):
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, shape).astype(float)
    x.flat[:: max(x.size // 4, 1)] = np.nan

    def sorted_along(x, axis):
        return (
            np.argsort(x, axis=axis, kind="stable"),
            np.sort(x, axis=axis),
            np.quantile(x, [0.2, 0.7], axis=axis),
            np.median(x, axis=axis),
        )

    for axis in range(x.ndim):
        jitted = fg.jit(lambda x, axis=axis: sorted_along(x, axis), native=True)
        for y in (x, np.nan_to_num(x), -np.zeros(shape)):
            for got, want in zip(jitted(y), sorted_along(y, axis), strict=True):
                np.testing.assert_array_equal(got, want)


def test_long_rows_are_left_to_numpy():
    with pytest.raises(TypeError, match="sorting 65 entries"):
        fg.jit(np.sort, native=True)(np.arange(65.0))
