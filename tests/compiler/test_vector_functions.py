"""C's vector functions in loops of machine code: as exact as they say, and C's at special values."""

import math
import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from funcgrad.compiler.native import llvm_jit
from funcgrad.compiler.native.loop_function import loop_function_text, program_text
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.native.vector_functions import vector_functions
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import LoopSpec
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType

FUNCTIONS = ["exp", "exp2", "expm1", "log", "log2", "log1p", "pow", "hypot"]
FUNCTIONS += ["sin", "cos", "tan", "asin", "acos", "atan", "atan2"]
FUNCTIONS += ["sinh", "cosh", "tanh", "asinh", "acosh", "atanh"]
NUMPYS = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2}
NUMPYS |= {"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power}
OF_TWO = ("atan2", "hypot", "pow")
ULPS = 4
"""How far a result may be from the exact one, in units in the last place."""


def numpys(name):
    return NUMPYS.get(name) or getattr(np, name)


def applied(name, *operands):
    return numpys(name)(*operands[: 2 if name in OF_TWO else 1])


def program(names, size, dtype=float):
    """The functions, each of two inputs of its own."""
    kind = ArrayType((size,), np.dtype(dtype))
    inputs = [symbol(f"i{k}", kind) for k in range(2 * len(names))]
    outputs = [applied(name, *inputs[2 * k : 2 * k + 2]) for k, name in enumerate(names)]
    return flat_of(body_of(inputs, outputs)), LoopSpec(0, len(inputs), 1)


def run(names, operands):
    """The functions of pairs of arrays, as machine code."""
    flat, spec = program(names, operands[0][0].size, operands[0][0].dtype)
    found = NativeLoop(flat, None, spec, at_once=True).function()
    return [x[0] for x in found([x[None] for pair in operands for x in pair], 1)[1]]


def domain(name, size, dtype=float):
    rng = np.random.default_rng(len(name))
    most = 300 if dtype is float else 80
    wide = np.exp(rng.uniform(-most, most, size // 3))
    small, middle = rng.uniform(-1, 1, size // 3), rng.uniform(-40, 40, size - 2 * (size // 3))
    x = np.concatenate([wide, small, middle]).astype(dtype)
    if name in ("asin", "acos", "atanh"):
        return np.tanh(x * dtype(0.99))
    return 1 + np.abs(x) if name == "acosh" else np.abs(x) if name[:3] in ("log", "pow") else x


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="NumPy has no wider type here")
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_all_functions_are_as_exact_as_they_say(dtype):
    """Against NumPy's own in a wider type."""
    names, rng = FUNCTIONS, np.random.default_rng(5)
    points = [domain(name, 1501, dtype) for name in names]
    pairs = [(x, rng.permutation(np.clip(x, -20, 20))) for x in points]
    for name, (x, y), got in zip(names, pairs, run(names, pairs), strict=True):
        with np.errstate(all="ignore"):
            exact = applied(name, x.astype(np.longdouble), y.astype(np.longdouble))
            want = exact.astype(dtype)
            kept = np.isfinite(want) & (np.abs(want) > np.finfo(dtype).tiny)
            apart = np.abs(got - exact) / np.spacing(np.abs(want))
        assert kept.mean() > 0.5, name
        assert np.max(apart[kept]) <= ULPS, name
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))


SPECIAL = [0.0, 1.0, 0.5, 2.0, math.inf, 5e-324, 1e-310, 709.79, 745.2, 1e308, 1e22]
SPECIAL += [1e-45, 1e-40, 88.73, 103.98, 3e38]
SPECIAL = np.array([*SPECIAL, *[-x for x in SPECIAL], math.nan])


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_special_values_in_every_lane(dtype):
    """The same results and signs as NumPy's, wherever in a vector a value stands."""
    names = FUNCTIONS
    with np.errstate(over="ignore"):
        x, y = [np.ravel(g) for g in np.meshgrid(*[SPECIAL.astype(dtype)] * 2)]
    with np.errstate(all="ignore"):
        for name, got in zip(names, run(names, [(x, y)] * len(names)), strict=True):
            want = applied(name, x, y)
            close = np.abs(got - want) <= (ULPS + 1) * np.spacing(np.abs(want))
            same = (got == want) & (np.signbit(got) == np.signbit(want))
            same |= np.isnan(got) & np.isnan(want)
            special = ~np.isfinite(want) | (want == 0)
            assert np.all(np.where(special, same, close)), name


def test_where_c_is_exact():
    whole, two = np.arange(-32.0, 32.0), np.full(64, 2.0)
    bases, powers = np.repeat(np.arange(1.0, 9.0), 8), np.tile(np.arange(8.0), 8)
    pairs = {"exp2": (whole, two), "log2": (np.exp2(whole), two), "pow": (bases, powers)}
    pairs["log10"] = (10 ** (np.abs(whole) % 16), two)
    for name, got in zip(pairs, run(list(pairs), list(pairs.values())), strict=True):
        np.testing.assert_array_equal(got, applied(name, *pairs[name]))


@pytest.mark.skipif(not vector_functions("exp", 1), reason="C has no vector functions here")
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_loops_call_them(dtype):
    from llvmlite.binding import parse_assembly

    flat, spec = program(["sin", "atan2"], 64, dtype)
    module = parse_assembly(loop_function_text(flat, None, spec)[0])
    llvm_jit.optimize(module, llvm_jit.target_machine())
    called = set(re.findall(r"call [^@]*@(\w+)", str(module)))
    kind = "double" if dtype is float else "float"
    wanted = [vector_functions(*function, kind)[-1] for function in (("sin", 1), ("atan2", 2))]
    assert {function.name for function in wanted} <= called


@pytest.mark.skipif(not vector_functions("log", 1), reason="C has no vector functions here")
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_logarithms_of_positive_numbers_call_them(dtype):
    """LLVM would call C's function of one number, through an intrinsic of its own."""
    from llvmlite.binding import parse_assembly

    x = symbol("x", ArrayType((1000,), np.dtype(dtype)))
    total = np.sum(np.log(np.clip(x, dtype(1e-6), dtype(1))))
    module = parse_assembly(program_text(flat_of(body_of([x], [total])))[0])
    llvm_jit.optimize(module, llvm_jit.target_machine())
    called = set(re.findall(r"call [^@]*@([\w.]+)", str(module)))
    wanted = vector_functions("log", 1, "double" if dtype is float else "float")
    assert called & {function.name for function in wanted}
    assert not [name for name in called if name.startswith("llvm.log")]


def test_other_functions_have_none():
    assert vector_functions("lgamma", 1) == ()
