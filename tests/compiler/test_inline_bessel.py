"""i0, i1 and their scaled forms in machine code: SciPy's values, to the bit."""

import numpy as np
import pytest

import funcgrad as fg

pytest.importorskip("scipy")
pytest.importorskip("llvmlite")

from scipy import special

from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native.llvm_writer import LLVMWriter, real
from funcgrad.compiler.native.scalar_instructions import template_value
from funcgrad.compiler.native.time_estimate import estimate

EDGES = [0.0, -0.0, 5e-324, -1e-310, 1e-9, 8.0, -8.0, np.nextafter(8, 9), 709.0, -1e300]
EDGES += [np.finfo(float).max, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["i0e", "i1e", "i0", "i1"])
@pytest.mark.parametrize("size", [1, 7, 1003])
def test_values(name, dtype, size):
    function = getattr(special, name)
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        x = np.concatenate([np.array(EDGES), rng.normal(size=1003) * 8])[-size:].astype(dtype)
    found = fg.jit(lambda x: function(x) * 1, native=True)(x)
    np.testing.assert_array_equal(found, function(x))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(function(x)))


@pytest.mark.parametrize("name", ["i0e", "i1e", "i0", "i1"])
def test_edges(name):
    function = getattr(special, name)
    x = np.resize(EDGES, 8 * len(EDGES))
    found = fg.jit(lambda x: function(x) * 1, native=True)(x)
    np.testing.assert_array_equal(found, function(x))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(function(x)))


@pytest.mark.parametrize("name", ["i0e", "i1e", "i0", "i1"])
def test_entries_of_arrays_call_no_function(name):
    def calls(length):
        w = LLVMWriter()
        with w.loops((length,)) as (at,):
            x = template_value(w, f"{name}({{0}})", [real(1.0)])
            w.store(x, "%y", "float64", at)
        return [line for line in w.lines if "call double @special" in line]

    assert not calls(64)
    assert len(calls(1)) == 1


def test_programs_of_them_are_machine_code():
    x = fg.var("x", 1000)
    found = estimate(flatten_program([np.sum(special.i0e(x) + special.i1e(x))], [x]))
    assert found.native < 0.3 * found.numpy
