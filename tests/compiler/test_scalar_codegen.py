"""Compiled scalar programs give what NumPy gives, at singular points too."""

import itertools
import math
import traceback

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.autodiff.accumulate import gradients
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.python import scalar_codegen as scalar
from funcgrad.compiler.python.scalar_codegen import compile_flat, scalar_source
from funcgrad.compiler.python.scalar_ops import BOUND, literal
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.rewrite.simplify import simplify_all
from tests.default_slice import examples, one_in

HUGE, EPS = np.finfo(float).max, np.finfo(float).eps
POINTS = [0.0, 0.1, 0.5, 1.0, 2.0, 2.5, 3.0, 1e-160, 1e-310, 5e-324, 709.5, 710.0, 745.2, 1e18]
POINTS += [1e200, HUGE, math.inf]
POINTS += [-point for point in POINTS] + [math.nan]
INTEGERS = [0, 1, -1, 2, 3, -3, 7, 10**10, -(2**63), 2**63 - 1]
PARTS = [0.0, -0.0, 1.0, -2.5, 710.0, -HUGE, math.inf, math.nan]
COMPLEX = [complex(re, im) for re in PARTS for im in PARTS]
VALUES = {"f": POINTS, "i": INTEGERS, "b": [False, True], "c": COMPLEX}
DTYPES = {"f": "float64", "i": "int64", "b": "bool", "c": "complex128"}
ARITIES = {name: len(op.edges) for name, op in all_ops().items() if isinstance(op, Elementwise)}


def same(got, want, ulps):
    """Whether two numbers are of one type and equal, or so near; zeros have one sign.

    Complex numbers are as near as a distance; of those not finite, libraries differ in the part that is.
    """
    if type(got) is not type(want):
        return False
    if isinstance(got, complex):
        if not (np.isfinite(want) and np.isfinite(got)):
            return not np.isfinite(got) and not np.isfinite(want)
        parts = [(got.real, want.real), (got.imag, want.imag)]
        zeros = all([str(x) == str(y) for x, y in parts if x == y == 0])
        near = got == want or np.hypot(*[x - y for x, y in parts]) <= ulps * EPS * np.abs(want)
        return bool(zeros and near)
    if not isinstance(got, float):
        return got == want
    if math.isnan(want) or want == 0 or math.isinf(want):
        return np.isnan(got) if math.isnan(want) else (str(got) == str(want))
    return abs(got - want) <= ulps * math.ulp(want)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what infer gives for bools of arithmetic
@pytest.mark.parametrize(("kind", "name"), one_in(2, itertools.product("fibc", ARITIES)))
def test_every_operation_at_every_point(name, kind):
    if name == "make_complex" and kind == "c":
        pytest.skip("of two real numbers")
    op = all_ops()[name]
    kinds = {"where": "b" + kind * 2, "mask": "b" + kind}.get(name, kind * ARITIES[name])
    inputs = [fg.var(f"x{i}", (), DTYPES[k]) for i, k in enumerate(kinds)]
    try:
        output = op(*inputs)
    except TypeError:
        pytest.skip("NumPy has no loop for this")
    run = compile_flat(flatten_program([output], inputs))
    if run is None:
        assert name in ("gammaln", "imag", "make_complex", "numpy_i0", "sinc") or kind != "f"
        pytest.skip("left to NumPy")
    flat = flatten_program([output], inputs)
    for values in itertools.product(*[VALUES[k] for k in kinds]):
        (got,) = run(*values)
        arrays = [np.asarray(v, DTYPES[k])[()] for v, k in zip(values, kinds, strict=True)]
        (want,) = interpret(flat, arrays)
        if want == 0 and name in ("maximum", "minimum", "fmax", "fmin"):
            want, got = abs(want), abs(got)  # NumPy leaves open which of 0 and -0 is larger
        if any(np.isnan(values)) and isinstance(want, complex):
            want, got = want + 0, got + 0  # C leaves open the sign of a zero beside NaN
        assert same(got, want, 4), f"{name}{values}: {got!r}, but NumPy has {want!r}"


@pytest.mark.parametrize(("have", "want"), list(itertools.product("fibc", repeat=2)))
def test_casts(have, want):
    x = fg.var("x", (), DTYPES[have])
    output = all_ops()["astype"](x, dtype=np.dtype(DTYPES[want]))
    run = compile_flat(flatten_program([output], [x]))
    for value in VALUES[have]:
        with np.errstate(invalid="ignore"):
            given = np.asarray(value, DTYPES[have])
            if have == "c" and want in "fi":
                given = given.real  # without NumPy's warning
            expected = given.astype(DTYPES[want]).item()
        assert same(run(value)[0], expected, 0)


@pytest.mark.parametrize("exponent", [-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
def test_constant_powers(exponent):
    x = fg.var("x")
    output = np.power(x, exponent)
    run = compile_flat(flatten_program([output], [x]))
    for value in POINTS:
        assert same(run(value)[0], interpret(flatten_program([output], [x]), [value])[0], 4)


UNARY = ["sin", "exp", "log", "sqrt", "tanh", "negative", "absolute", "reciprocal", "sigmoid"]
UNARY += ["floor", "softplus", "xlogx", "square", "sign", "arctan"]
BINARY = ["add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "arctan2"]
BINARY += ["remainder", "hypot", "logaddexp", "copysign"]
numbers = st.floats(-5, 5) | st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 800.0])


@st.composite
def expressions(draw):
    """Expressions of x and y, each of which may use those before it."""
    made = [fg.var("x"), fg.var("y"), fg.const(draw(numbers))]
    pick = st.integers(0, 100).map(lambda i: made[i % len(made)])
    for _ in range(draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(["unary", "binary", "binary", "where"]))
        if kind == "where":
            made.append(np.where(draw(pick) > draw(pick), draw(pick), draw(pick)))
        else:
            name = draw(st.sampled_from(UNARY if kind == "unary" else BINARY))
            made.append(all_ops()[name](*[draw(pick) for _ in range(ARITIES[name])]))
    return made[-3:]


@settings(max_examples=examples(300), derandomize=True)
@given(expressions(), numbers, numbers)
def test_random_programs(roots, x, y):
    inputs = [fg.var("x"), fg.var("y")]
    check(roots, inputs, (x, y))
    check(simplify_all([*roots, *gradients(simplify_all(roots)[-1], inputs)]), inputs, (x, y))


def check(roots, inputs, values):
    """The compiled program agrees with NumPy, as far as errors of a last place in each step may grow."""
    flat = flatten_program(roots, inputs)
    got = compile_flat(flatten_program(roots, inputs))(*values)
    want = interpret(flat, values)
    assert [type(a) for a in got] == [type(b) for b in want]
    spread = _moved(flat, values)
    for a, b, moved in zip(got, want, spread, strict=True):
        if math.isfinite(b) and math.isfinite(a):
            assert not abs(a - b) > 1e-13 * abs(b) + moved  # nan where a move leads to an inf
        elif moved == 0:
            assert str(a) == str(b)


def _moved(flat, values):
    """How far results move where values move by two last places, to and fro, and NaNs change their signs.

    No standard tells the sign of a NaN that an operation makes; `copysign` reads it.
    """
    bounds = []
    for direction in itertools.product((-2, 0, 2), repeat=2):
        known = [np.float64(v) for v in values]
        with np.errstate(all="ignore"):
            for i, step in enumerate(flat.steps[flat.inputs :]):
                constant = step.op.name == "constant"
                value = step.constant if constant else step.run(*[known[k] for k in step.operands])
                if not constant and np.asarray(value).dtype.kind == "f" and np.isfinite(value):
                    value = value + direction[i % 2] * np.spacing(value)
                elif not constant and np.isnan(value):
                    value = np.copysign(value, direction[i % 2])
                known.append(value)
            bounds.append([np.float64(known[i]) for i in flat.results])
    with np.errstate(all="ignore"):
        spread = 4 * np.ptp(np.array(bounds), axis=0)
    same_sign = np.signbit(bounds) == np.signbit(bounds[0])
    unmoved = np.all((np.array(bounds) == bounds[0]) & same_sign | np.isnan(bounds), axis=0)
    return np.where(unmoved, 0.0, np.fmax(spread, np.finfo(np.float64).tiny))


def test_an_error_in_what_is_not_selected_does_no_harm():
    x = fg.var("x")
    outputs = [np.where(x > 0, np.log(x), -x), np.log(x) * np.where(x > 0, np.log(x), 0.0)]
    run = compile_flat(flatten_program(outputs[:1], [x]))
    assert run(-2.0) == (2.0,)
    shared = compile_flat(flatten_program([outputs[0], np.log(x)], [x]))
    value, log = shared(-2.0)
    assert value == 2.0
    assert math.isnan(log)


def test_results_of_singular_points_come_without_warnings():
    x = fg.var("x")
    run = compile_flat(flatten_program([1 / x, np.log(x), np.exp(1 / x), x], [x]))
    assert run(0.0) == (math.inf, -math.inf, math.inf, 0.0)


def test_values_of_other_types_are_taken():
    x, n, p = fg.var("x"), fg.var("n", (), int), fg.var("p", (), bool)
    run = compile_flat(flatten_program([x * n, n + 1, np.where(p, x, -x)], [x, n, p]))
    results = run(np.float64(2.5), np.int64(2), np.bool_(False))
    assert (results, [type(r) for r in results]) == ((5.0, 3, -2.5), [float, int, float])
    assert run(2, np.array(2), 1)[0] == 4.0


def test_constants_are_written_exactly():
    values = [0.1, -0.0, math.inf, -math.inf, 1e-320, -2.5, math.pi]
    run = compile_flat(flatten_program([fg.const(v) for v in [*values, True, -7]], []))
    assert [str(v) for v in run()] == [str(v) for v in [*values, True, -7]]
    for nan in (math.nan, -math.nan):
        (got,) = compile_flat(flatten_program([fg.const(nan)], []))()
        assert (math.isnan(got), math.copysign(1, got)) == (True, math.copysign(1, nan))


@pytest.mark.parametrize(
    "output",
    [fg.var("a", 2) * 2, np.sinc(fg.var("x")), fg.var("x") * np.float32(1), fg.var("x") * 1j],
    ids=str,
)
def test_what_is_not_of_plain_numbers_is_declined(output):
    inputs = [e for e in fg.expr.subexpressions(output) if e.op.name == "input"]
    cast = output if output.dtype == float else output.astype("complex64")
    assert compile_flat(flatten_program([cast], inputs)) is None


def test_equal_work_is_done_once_and_no_more_than_it_must():
    x = fg.var("x")
    text = scalar_source(
        flatten_program([np.sin(x * x) + np.cos(x * x), fg.var("x") * fg.var("x")], [x])
    )
    assert text.count("x0 * x0") == 1
    assert "return ((sin(a0) + cos(a0)), a0,)" in text


def test_names_are_reused():
    x = y = fg.var("x")
    for _ in range(300):
        y = np.sin(y) * y
    text = scalar_source(flatten_program([y], [x]))
    assert "a1" not in text


@pytest.mark.parametrize("whole", [0, 10**9])
def test_long_programs(monkeypatch, whole):
    monkeypatch.setattr(scalar, "_WHOLE", whole)
    monkeypatch.setattr(scalar, "_PART", 50)
    rng = np.random.default_rng(0)
    inputs = [fg.var(f"x{i}") for i in range(5)]
    made = list(inputs)
    for kind in rng.integers(0, 4, 1000):
        p, q = (made[i] for i in rng.integers(max(0, len(made) - 100), len(made), 2))
        made.append([p + q, p * q * 0.5, np.sin(p), p - np.tanh(q)][kind])
    roots = [made[-1], made[500], made[0], *gradients(made[-1], inputs)]
    values = [0.1, -0.2, 0.3, 0.4, -0.5]
    got = compile_flat(flatten_program(roots, inputs))(*values)
    np.testing.assert_allclose(
        got, interpret(flatten_program(roots, inputs), values), rtol=1e-9, atol=1e-9
    )


def test_deep_chains_are_walked_without_recursion():
    x = y = fg.var("x")
    for _ in range(20000):
        y = np.sin(y)
    (got,) = compile_flat(flatten_program([y], [x]))(1.0)
    want = 1.0
    for _ in range(20000):
        want = math.sin(want)
    assert got == want


def test_tracebacks_show_the_line():
    x = fg.var("x")
    run = compile_flat(flatten_program([x * x], [x]))
    with pytest.raises(ValueError, match="could not convert") as caught:
        run("one")
    assert "x0 = float(x0)" in "".join(traceback.format_exception(caught.value))


def test_literals_of_complex_numbers_keep_their_signs():
    parts = [*PARTS, 0.1, -1e-300, -math.inf]
    for re, im in itertools.product(parts, parts):
        value = complex(re, im)
        found = eval(literal(value), dict(BOUND))
        assert (str(found.real), str(found.imag)) == (str(value.real), str(value.imag))
