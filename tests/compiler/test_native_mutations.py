"""Machine code whose instructions are changed gives other values than NumPy: the tests see each change."""

import math
from itertools import product

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from funcgrad.compiler.native.llvm_writer import LLVMWriter
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import LoopSpec, reference_loop
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType

HIGH = 2**63 - 1
FLOATS = np.array([0.0, -0.0, 1.0, -1.5, 0.3, 7.0, 1e308, 5e-324, math.inf, -math.inf, math.nan])
INTEGERS = np.array([0, 1, -1, 2, 3, -3, 7, 10**10, HIGH, -HIGH, -HIGH - 1])

CHANGES = [
    ("binary", "fadd", "fsub"),
    ("binary", "fsub", "fadd"),
    ("binary", "fmul", "fdiv"),
    ("binary", "fdiv", "fmul"),
    ("binary", "fadd", "fadd reassoc nsz"),
    ("binary", "add", "add nsw"),
    ("binary", "and", "or"),
    ("binary", "xor", "or"),
    ("binary", "sdiv", "udiv"),
    ("binary", "srem", "urem"),
    ("compare", "olt", "ult"),
    ("compare", "olt", "ole"),
    ("compare", "oge", "ogt"),
    ("compare", "une", "one"),
    ("compare", "oeq", "ueq"),
    ("compare", "uno", "ord"),
    ("compare", "slt", "ult"),
    ("compare", "sle", "slt"),
    ("compare", "sge", "sgt"),
    ("cast", "sitofp", "uitofp"),
    ("cast", "uitofp", "sitofp"),
    ("cast", "zext", "sext"),
    ("emit", "fneg double ", "fsub double 0.0, "),
    ("emit", "fneg double ", "fadd double -0.0, "),
]


def agree(divide):
    """Whether machine code of many operations gives the bits that NumPy gives, NaN apart."""
    (x, y), (i, j) = [np.array(list(product(v, v)), v.dtype).T.copy() for v in (FLOATS, INTEGERS)]
    a, b, m, n = given = [
        symbol(name, ArrayType((), v.dtype)) for name, v in zip("abmn", (x, y, i, j), strict=True)
    ]
    floats = [a + b, a - b, a * b, a / b, -a, (a + b) - b, (b - a) + a, a * b - a * b]
    integers = [m + n, m - n, m * n, m ^ n, m & n, m + 1, m.astype(float), (m > n) + 0]
    if divide:  # where a test is changed, a processor that divides by zero ends the process
        integers += [m // n, m % n]
    tests = [
        a < b,
        a <= b,
        a >= b,
        a == b,
        a != b,
        np.isnan(a),
        m < n,
        m <= n,
        m >= n,
        m == n,
        m + 1 > m,
    ]
    outputs = [
        *floats,
        *integers,
        *tests,
        np.logical_and(a < b, m < n),
        np.logical_xor(a < b, m < n),
    ]
    outputs += [(a < b).astype(float), (a < b).astype(int), np.where(a < b, a, b)]
    body, spec = body_of(given, outputs), LoopSpec(0, 4, len(x))
    run = NativeLoop(flat_of(body), None, spec, at_once=True).function()
    assert run is not None
    with np.errstate(all="ignore"):
        want = reference_loop([x, y, i, j], body, None, spec)[1]
    got = run([x, y, i, j], len(x))[1]
    return all([same(one, other) for one, other in zip(got, want, strict=True)])


def same(one, other):
    """Whether two arrays are equal, signs of zeros included."""
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    number = ~np.isnan(other)
    signs = np.array_equal(np.signbit(one[number]), np.signbit(other[number]))
    return signs and np.array_equal(one, other, equal_nan=True)


def test_the_instructions_as_they_are():
    assert agree(divide=True)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "old", "new"), CHANGES)
def test_a_changed_instruction_is_seen(monkeypatch, method, old, new):
    plain = getattr(LLVMWriter, method)

    def changed(self, first, *rest):
        if method == "emit":
            return plain(self, first, rest[0].replace(old, new))
        return plain(self, new if first == old else first, *rest)

    monkeypatch.setattr(LLVMWriter, method, changed)
    assert not agree(divide=old in ("sdiv", "srem"))
