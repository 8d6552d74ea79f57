"""What is printed, read as NumPy code, has the value, the shape and the dtype of the program."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.ops.elementwise.magnitude import make_complex
from tests.default_slice import marked_slow
from tests.fuzz.programs import Program
from tests.fuzz.slices import CHECKS
from tests.fuzz.strategies import programs
from tests.fuzz.values import generic_arguments
from tests.show.reading_back import check_read_back, check_source

FAMILIES = ["elementwise", "arrays", "dtypes", "complex"]
V, W, N = fg.var("v", (3,)), fg.var("w", (2,)), fg.var("n", (3,), int)
S, F = fg.var("s"), fg.var("f", (3,), "float32")
C, Z = fg.var("c", (2,), complex), fg.var("z", (), complex)
VALUES = {
    "v": np.array([0.3, -1.5, 2.0]),
    "w": np.array([0.7, 1.1]),
    "n": np.array([3, -1, 2]),
    "s": np.float64(0.4),
    "f": np.array([0.1, 0.2, -3.0], np.float32),
    "c": np.array([complex(-0.0, np.inf), 1 - 2j]),
    "z": np.complex128(complex(-0.0, np.inf)),
}


def is_abbreviated(expr: fg.Expr) -> bool:
    return re.search(r"<\w+\[", repr(expr)) is not None


def check_program(program: Program, seed: int) -> None:
    """The results of a program, and the gradients of those that are real."""
    inputs = [fg.var(item.name, item.shape, item.dtype) for item in program.inputs]
    values = dict(
        zip([item.name for item in program.inputs], generic_arguments(program, seed), strict=True)
    )
    try:
        results = [fg.const(out) for out in program.traced(*inputs)]
    except TypeError as error:  # a sum of truth values is refused: Python's is another than NumPy's
        assume("two truth values" not in str(error))
        raise
    for result in results:
        slopes = fg.gradient(np.sum(result)).values() if result.dtype.kind == "f" else ()
        for expr in (result, *slopes):
            if not is_abbreviated(expr):
                check_read_back(expr, values)
            check_source(expr, values)


def fuzzed(family, examples, **options):
    @settings(max_examples=examples, suppress_health_check=CHECKS, **options)
    @given(programs(family), st.integers(0, 99))
    def run(program, seed):
        check_program(program, seed)

    run()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_formula_reads_as_the_program(family):
    fuzzed(family, 20, derandomize=True, database=None, phases=[Phase.generate])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_formulas_read_as_their_programs(family):
    fuzzed(family, 300, derandomize=True, database=None)


PRINTED = {
    "sum(broadcast_to(w, (3, 2)), axis=1)": lambda: np.sum(np.broadcast_to(W, (3, 2)), axis=1),
    "full(3, 1/3)": lambda: fg.gradient(np.mean(V), "v"),
    "array([3.0, 2.0, 1.0])": lambda: fg.gradient(np.sum(np.cumsum(V)), "v"),
    "v*s + 2": lambda: V * S + 2.0,
    "2.0*n": lambda: 2.0 * N,
    "n/2": lambda: N / 2,
    "f*0.1": lambda: F * np.float32(0.1),
    "f*float64(0.1)": lambda: F * np.float64(0.1),
    "v + f": lambda: V + F,
    "v*0.10000000149011612": lambda: V * np.float32(0.1),
    "n.astype(float64)": lambda: N.astype(float),
    "v.astype(int64)/2": lambda: V.astype(int) / 2,
    "cos(s.astype(int64))": lambda: np.cos(S.astype(int)),
    "v.astype(float32)*v": lambda: V.astype(np.float32).astype(float) * V,
    "s.astype(bool)*v": lambda: S.astype(bool).astype(float) * V,
    "where(n > 0, 1.0, 0.0)": lambda: np.where(N > 0, 1.0, 0.0),
    "where(n > 0, v, 0)": lambda: np.where(N > 0, V, 0.0),
    "v*[1.0, 2.0, -0.0]": lambda: V * np.array([1.0, 2.0, -0.0]),
    "array([1.0, 2.0])": lambda: fg.const(np.array([1.0, 2.0])),
    "array([1.0, 2.0, 3.0])**2": lambda: fg.const(np.array([1.0, 2.0, 3.0])) ** 2,
    "3.0": lambda: fg.const(3.0),
    "s - 0.0": lambda: S + -0.0,
    "float64(1)/0": lambda: fg.const(1.0) / fg.const(0.0),
    "v*(1/3)": lambda: V * (1 / 3),
    "array([f[0], 0, 0], float32)": lambda: fg.gradient(F[0] ** 2 / 2, "f"),
    "complex128(rint(real(z)), rint(imag(z)))": lambda: np.round(Z),
    "stack([rint(real(c)), rint(imag(c))], axis=-1).view(complex128)[..., 0]": lambda: np.round(C),
    "real(c) + 1j*imag(c)": lambda: fg.simplify(make_complex(np.real(C), np.imag(C))),
    "stack([v, full(3, s)], axis=-1).view(complex128)[..., 0]": lambda: make_complex(V, S),
    "v + 1j*s": lambda: fg.simplify(make_complex(V, S)),
    "fft(c, axis=0)": lambda: np.fft.fft(C),
    "ifft(c, axis=0, norm='forward')": lambda: np.fft.ifft(C, norm="forward"),
    "z*(1+2j)": lambda: Z * (1 + 2j),
    "z*2j": lambda: Z * 2j,
    "z*(-2j)": lambda: Z * -2j,
    "z*(0-2j)": lambda: Z * complex(0, -2),
    "z*complex(-0.0, 2)": lambda: Z * complex(-0.0, 2),
    "z*complex(1, -0.0)": lambda: Z * complex(1, -0.0),
    "z*complex(inf, nan)": lambda: Z * complex(np.inf, np.nan),
    "c*[2j, complex(-0.0, 1)]": lambda: C * np.array([2j, complex(-0.0, 1)]),
    "array([-2j, (1+1j)])": lambda: fg.const(np.array([-2j, 1 + 1j])),
    "complex64((1+2j))": lambda: fg.const(np.complex64(1 + 2j)),
}


@pytest.mark.parametrize("text", PRINTED)
def test_what_is_left_out_is_what_numpy_does(text):
    expr = PRINTED[text]()
    assert repr(expr) == text
    check_read_back(expr, VALUES)
    check_source(expr, VALUES)


def test_different_constants_are_printed_differently():
    x = fg.var("x", (50,))
    assert repr(x[0] * (1 / 3) + x[0] * 0.333333).endswith("*(1/3) + a*0.333333")
    a, b = np.arange(50.0), np.arange(50.0) + 1
    assert repr(x * a + x * b + a) == "x*<float64[50]> + x*<float64[50] #2> + <float64[50]>"
    values = [0.1 + 0.2, 0.3, 1e16, 1e15 + 1, 2 / 3, 0.6666667, np.nextafter(1, 2), 1.0, -0.0, 0.0]
    shown = [repr(S * value) for value in values]
    assert len(set(shown)) == len(values)


SOURCE = """
import numpy as np, funcgrad as fg
x, y, v = fg.var("x"), fg.var("y"), fg.var("v", (3,))
e = np.sum(np.tanh(v * x) * y) + np.sum(v) ** 2
g = fg.gradient(e)
print(e, g, fg.backprop(e), fg.to_latex(g["v"]), fg.to_python(g["v"]), fg.to_dot(g["v"]))
print(fg.table(x * y + y, x=2.0, y=3.0), fg.explain(x * y, x=1.0, y=2.0), fg.simplify(e))
print(fg.to_json(e))
"""


@pytest.mark.parametrize("other", ["1", marked_slow("77")])
def test_what_is_printed_is_the_same_in_every_process(other):
    shown = set()
    for seed in ("0", other):
        run = subprocess.run(
            [sys.executable, "-c", SOURCE],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        shown.add(run.stdout)
    assert len(shown) == 1
