"""exp, expm1, tanh and what is made of them in machine code, in loops over entries."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.elementwise.exponential import softplus, xlogx
from funcgrad.ops.elementwise.trigonometric import sech_squared

pytest.importorskip("llvmlite")

from funcgrad.compiler.native.llvm_writer import LLVMWriter, real
from funcgrad.compiler.native.scalar_instructions import template_value

SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e-8, 0.625, -0.625, 20.0, 400.0, -800.0]
SPECIAL += [np.nextafter(0.625, 0), np.finfo(float).max, np.inf, -np.inf, np.nan]


def points():
    rng = np.random.default_rng(0)
    parts = [rng.uniform(-1, 1, 600), rng.uniform(-20, 20, 400), 10.0 ** rng.uniform(-30, 0, 100)]
    return np.concatenate(parts)


def ulps(found, exact, x, dtype):
    """The largest distance from the exact values, in units in their last place."""
    most = 0.0
    with mp.workdps(40):
        for value, at in zip(found, x.tolist(), strict=True):
            want = exact(mp.mpf(at))
            unit = float(np.spacing(np.abs(dtype(float(want)))))
            most = max(most, float(abs(mp.mpf(float(value)) - want) / unit))
    return most


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_errors(dtype):
    x = points().astype(dtype)
    found, slope = fg.jit(lambda x: (np.tanh(x), sech_squared(x)), native=True)(x)
    assert found.dtype == slope.dtype == dtype
    assert ulps(found, mp.tanh, x, dtype) <= 3
    assert ulps(slope, lambda x: mp.sech(x) ** 2, x, dtype) <= 8
    alone = fg.jit(np.tanh, native=True)(x)
    assert ulps(alone, mp.tanh, x, dtype) <= 3


@pytest.mark.parametrize("size", [1, len(SPECIAL), 8 * len(SPECIAL)])
def test_special_values(size):
    x = np.resize(SPECIAL, size)
    found = fg.jit(np.tanh, native=True)(x)
    np.testing.assert_array_max_ulp(found[np.isfinite(x)], np.tanh(x)[np.isfinite(x)], 4)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(x))
    np.testing.assert_array_equal(found[np.isinf(x)], np.sign(x[np.isinf(x)]))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(x))


def test_the_slope_is_not_lost_far_out():
    x = np.array([0.1, 1.0, 25.0, 300.0, -25.0])
    found = fg.jit(fg.grad(lambda x: np.sum(np.tanh(x))), native=True)(x)
    np.testing.assert_allclose(found, sech_squared.run(x), rtol=1e-14)


EDGES = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-310,
    1e-17,
    -1e-17,
    0.5,
    1.0,
    -1.0,
    22.0,
    -22.0,
    np.inf,
    -np.inf,
]
EDGES += [np.nan, 709.78, 709.79, 710.0, 711.0, -708.4, -720.0, -745.13, -745.14, -746.0, -747.0]
EDGES += [1.79e308, -1.79e308, 0.3465735902799726, -0.3465735902799727, 0.34657359027997264]


@pytest.mark.parametrize(("name", "most"), [("exp", 1.1), ("expm1", 2.3)])
@pytest.mark.parametrize(("dtype", "ends"), [(np.float64, (-708, 709)), (np.float32, (-87, 88))])
def test_exponentials_are_as_exact_as_they_say(name, most, dtype, ends):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(*ends, 800), points()]).astype(dtype)
    found = fg.jit(getattr(np, name), native=True)(x)
    assert found.dtype == dtype
    assert ulps(found, getattr(mp, name), x, dtype) <= most


@pytest.mark.parametrize(
    ("dtype", "ends"), [(np.float64, (-745.2, -708.0)), (np.float32, (-104.0, -87.3))]
)
def test_subnormal_results_are_rounded_once(dtype, ends):
    x = np.linspace(*ends, 400, dtype=dtype)
    found = fg.jit(np.exp, native=True)(x)
    with mp.workdps(40):
        apart = [
            abs(mp.mpf(y) - mp.exp(mp.mpf(at)))
            for y, at in zip(found.tolist(), x.tolist(), strict=True)
        ]
    unit = np.spacing(np.exp(x.astype(float)).astype(dtype))
    assert float(max(a / mp.mpf(u) for a, u in zip(apart, unit.tolist(), strict=True))) <= 1.1


@pytest.mark.parametrize("name", ["exp", "expm1"])
@pytest.mark.parametrize("size", [len(EDGES), 64 * len(EDGES)])
def test_special_values_of_exponentials(name, size):
    x = np.resize(EDGES, size)
    with np.errstate(all="ignore"):
        found, want = fg.jit(getattr(np, name), native=True)(x), getattr(np, name)(x)
    finite = np.isfinite(want)
    np.testing.assert_array_max_ulp(found[finite], want[finite], 3)
    np.testing.assert_array_equal(found[~finite], want[~finite])
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(x)]), np.signbit(want[~np.isnan(x)]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_entries_have_the_same_bits(dtype):
    """Also those that fill no vector."""
    for size in (5, 31, 67, 250):
        found = fg.jit(np.exp, native=True)(np.full(size, 0.7071, dtype))
        assert np.unique(found).size == 1


@pytest.mark.parametrize("size", [1, 3, 8, 100, 517])
def test_numbers_and_short_arrays(size):
    x = np.resize(EDGES, size)
    with np.errstate(all="ignore"):
        for f in (np.exp, np.expm1, np.tanh):
            np.testing.assert_allclose(fg.jit(f, native=True)(x), f(x), rtol=1e-15)


OF_SCIPY = {
    "expit": lambda x: mp.mpf(1) / (1 + mp.exp(-x)),
    "logit": lambda x: mp.log(x / (1 - x)),
    "entr": lambda x: -x * mp.log(x),
    "log_expit": lambda x: -mp.log1p(mp.exp(-x)),
}


@pytest.mark.parametrize("name", sorted(OF_SCIPY))
def test_functions_made_of_them(name):
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(2)
    near = 0.5 + rng.uniform(-1, 1, 100) * 10.0 ** rng.uniform(-14, -1, 100)
    x = np.concatenate([rng.uniform(0, 1, 200), near, 10.0 ** rng.uniform(-300, -1, 100)])
    if "expit" in name:
        x = np.concatenate([x, rng.uniform(-700, 700, 200)])
    found = fg.jit(getattr(special, name), native=True)(x)
    kept = np.abs(x - 0.5) > 1e-15 if name == "logit" else np.ones(x.size, bool)
    assert ulps(found[kept], OF_SCIPY[name], x[kept], np.float64) <= 5
    edges = np.resize(EDGES, 4 * len(EDGES))
    with np.errstate(all="ignore"):
        got, want = (
            fg.jit(getattr(special, name), native=True)(edges),
            getattr(special, name)(edges),
        )
    np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-307)  # (expit is 0 early in SciPy.)


PAIRS = ["xlogy", "xlog1py"]


@pytest.mark.parametrize("name", PAIRS)
def test_products_with_logarithms(name):
    special = pytest.importorskip("scipy.special")
    x, y = [part.ravel() for part in np.meshgrid(EDGES, EDGES)]
    with np.errstate(all="ignore"):
        found, want = (
            fg.jit(getattr(special, name), native=True)(x, y),
            getattr(special, name)(x, y),
        )
    np.testing.assert_allclose(found, want, rtol=1e-14)


@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_sums_of_exponentials(f):
    rng = np.random.default_rng(3)
    x, y = [part.ravel() for part in np.meshgrid(EDGES, EDGES)]
    x, y = np.append(x, rng.uniform(-30, 30, 500)), np.append(y, rng.uniform(-30, 30, 500))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(fg.jit(f, native=True)(x, y), f(x, y), rtol=1e-14, atol=3e-16)


@pytest.mark.parametrize("f", [softplus, xlogx])
def test_functions_of_one_number(f):
    x = np.append(np.resize(EDGES, 4 * len(EDGES)), np.linspace(0, 40, 300))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(fg.jit(f, native=True)(x), f.run(x), rtol=1e-14)


def test_loops_bound_by_latency_are_interleaved_if_few_entries_remain():
    def hints(length, kind="double"):
        w = LLVMWriter()
        with w.loops((length,)) as (at,):
            x = template_value(w, "exp({0})", [real(1.0, kind)])
            w.store(x, "%y", "float64" if kind == "double" else "float32", at)
        return [text for text in w.defined.values() if "interleave" in text]

    assert "i32 4" in hints(1024)[0]
    assert "i32 4" in hints(64)[0]
    assert "i32 2" in hints(16)[0]
    assert "i32 2" in hints(48)[0]
    assert not hints(8)
    assert not hints(95)
    assert "i32 2" in hints(32, "float")[0]
    assert not hints(16, "float")
