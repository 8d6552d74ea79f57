"""Source that is run gives what the program gives, to the bit with NumPy."""

import ast
import itertools
import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings

import funcgrad as fg
from funcgrad.expr import subexpressions
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.elementwise.arithmetic import determined_quotient
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.python.to_python import to_python
from tests.default_slice import examples, one_in
from tests.ops.samples import SAMPLES
from tests.show.programs import ALL, PROGRAMS, SOLVERS, any_variable, nested_calls, values_of
from tests.show.test_dot import NASTY
from tests.show.test_json import CASES, programs, sample_expr

X, Y = fg.var("x"), fg.var("y")


def run(expr, *values, name="f", by_name=None, **options):
    source = to_python(expr, name, **options)
    assert to_python(expr, name, **options) == source
    space = {}
    exec(compile(source, "<test>", "exec"), space)
    return space[name](*values, **(by_name or {}))


def same(a, b):
    assert np.shape(a) == np.shape(b)
    assert np.asarray(a).dtype == np.asarray(b).dtype
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("name", "i"), one_in(3, CASES, start=1))
def test_every_operation_gives_the_same(name, i):
    expr, (args, _) = sample_expr(name, i), SAMPLES[name][i]
    result = run(expr, *args)
    expected = fg.evaluate(expr, {f"x{k}": a for k, a in enumerate(args)})
    if name in ("sinc", "einsum", "matmul", "cofactors"):  # written out by another algorithm
        np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)
    else:
        same(result, expected)
    assert not any(np.shares_memory(result, a) for a in args if np.ndim(result))


@pytest.mark.parametrize(("name", "i"), CASES)
def test_operands_that_are_sums_are_in_parentheses(name, i):
    expr, (args, _) = sample_expr(name, i), SAMPLES[name][i]
    halves, doubled = {}, {}
    for k, arg in enumerate(map(np.asarray, args)):
        by_halves = arg.dtype.kind in "fc"  # which two make exactly
        halves[f"x{k}"] = (arg * arg.dtype.type(0.5))[()] if by_halves else arg
        x = fg.var(f"x{k}", arg.shape, arg.dtype)
        if by_halves:
            doubled[f"x{k}"] = x + x
    expr = fg.substitute(expr, doubled)
    given = {key: halves[key] for key in variables(expr)}
    np.testing.assert_allclose(
        run(expr, by_name=given), fg.evaluate(expr, given), rtol=1e-13, atol=1e-13
    )


@given(programs())
@settings(max_examples=examples(150))
def test_random_programs_give_the_same(expr):
    values = {"x": 0.7, "y": -1.3, "w": np.linspace(-2, 2, 6).reshape(2, 3), "c": 0.3 - 2j}
    given_ = {key: values[key] for key in variables(expr)}
    result, expected = run(expr, *given_.values()), expr(**given_)
    if expr.dtype.kind == "c":
        # NumPy multiplies complex scalars and arrays by other instructions, which overflow differently.
        finite = np.isfinite(result) & np.isfinite(expected)
        np.testing.assert_allclose(
            np.where(finite, result, 0), np.where(finite, expected, 0), 1e-12
        )
        assert np.array_equal(np.isfinite(result), np.isfinite(expected))
    else:
        same(result, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64", "uint8", "bool"])
def test_dtypes_follow_those_of_the_program(dtype):
    a, b = fg.var("a", (3,), dtype), fg.var("b", (), "float32")
    values = np.array([1, 0, 1], dtype), np.float32(0.3)
    for expr in (a * 2, a * b, a / 3 + b, np.where(a == 1, a, b), a + 1j, a.astype("float32") ** b):
        inputs = [values[0] if name == "a" else values[1] for name in variables(expr)]
        same(run(expr, *inputs), expr(**dict(zip(variables(expr), inputs, strict=True))))


def test_constants_keep_every_bit():
    scalars = (np.nan, -np.inf, -0.0, 5e-324, 1 + 2j, -3, True, np.float32(0.1), np.uint8(3))
    arrays = (np.array([1.0, np.nan]), np.zeros((0, 2)), np.arange(300.0), np.array([1, 2], ">i4"))
    for value in (*scalars, *arrays):
        same(run(fg.const(value)), np.asarray(value))
    same(run(fg.const(-2.0) ** fg.const(0.5)), np.float64(np.nan))
    same(run(fg.const(1.0) / fg.const(0.0)), np.float64(np.inf))


def test_parentheses_stand_where_python_needs_them():
    z = fg.var("z")
    values = {"x": 2.0, "y": -3.0, "z": 0.5}
    for expr in (X - (Y - z), X / (Y / z), (X - Y) - z, -(X**2), (-X) ** 2, (X < Y) == (z > Y)):
        given_ = [values[name] for name in variables(expr)]
        expected = fg.evaluate(expr, {name: values[name] for name in variables(expr)})
        assert run(expr, *given_) == expected
        if expr.op.name != "equal":
            assert run(expr, *given_, module="math") == expected


@pytest.mark.parametrize(
    "name", [*NASTY, "class", "np", "f", "x 1", "1", "v_1", "ﬁ", '"""', "print()"]
)
def test_names_are_made_identifiers(name):
    expr = any_variable(name) * 2 + X * X
    source = to_python(expr)
    (function,) = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    assert len(function.args.args) == 2
    assert run(expr, 3.0, 4.0) == 22.0
    assert len(ast.parse(source).body) == 2


@pytest.mark.parametrize(
    "name", ["z", "g", "i0", "t", "slice", "max", "abs", "round", "math", "base64"]
)
def test_an_argument_hides_nothing_that_the_source_calls(name):
    v = fg.var(name, (3,))
    at = np.array([2, 0])
    expr = v.at[at].add(v[:2] * 2).at[1:].set(1.0) + np.log(np.sum(np.exp(v))) * v[::2].sum()
    value = np.array([0.3, -1.0, 2.0])
    for e in (expr, fg.simplify(expr), fg.gradient(np.sum(expr**2), v)):
        np.testing.assert_allclose(run(e, value), e(**{name: value}), rtol=1e-14)
    x = fg.var(name)
    expr = np.maximum(np.abs(x), 0.1) + np.rint(x) + np.floor(x) + fg.softplus(x) + x / np.inf
    assert run(expr, 0.7, module="math") == pytest.approx(expr(**{name: 0.7}), rel=1e-15)


MATH = [
    np.sqrt(X**2 + np.exp(X)) * np.cos(Y),
    np.where(X > Y, np.log(X), -Y) + np.maximum(X, Y) - np.abs(Y),
    fg.sigmoid(X) * fg.softplus(Y) / np.logaddexp(X, Y),
    np.arctan2(X, Y) + np.hypot(X, Y) + np.sign(Y) + np.floor(Y) + np.square(X) + np.rint(Y),
    X * np.log(X) + X**3 - (X - Y) ** 2 + np.tanh(Y) + np.reciprocal(Y),
]


@pytest.mark.parametrize("expr", MATH)
def test_scalar_programs_and_their_gradients_run_on_math_alone(expr):
    for e in (expr, fg.gradient(expr, X), fg.gradient(expr, Y), fg.simplify(expr)):
        source = to_python(e, module="math")
        assert "np." not in source
        values = {"x": 0.7, "y": -1.3}
        given_ = {key: values[key] for key in variables(e)}
        result = run(e, by_name=given_, module="math")
        assert type(result) is float
        assert math.isclose(result, e(**given_), rel_tol=1e-13, abs_tol=1e-15)


SPECIAL = [0.0, 5e-324, 1e-300, 0.5, 1.0, 2.0, 3.0, 40.0, 709.5, 710.0, 745.5, 1e300, math.inf]
SPECIAL = [*SPECIAL, *[-value for value in SPECIAL], math.nan]
ELEMENTWISE = [
    op
    for op in all_ops().values()
    if isinstance(op, Elementwise)
    and not op.name.startswith(("bitwise", "invert", "imag", "gammaln", "make_complex", "numpy_i0"))
    and not op.name.endswith("_shift")
]


@pytest.mark.parametrize("op", one_in(3, ELEMENTWISE), ids=lambda op: op.name)
def test_each_operation_on_math_gives_numpys_values_at_special_points(op):
    names = ("x", "y", "z")[: len(op.edges)]
    operands = [fg.var(name) for name in names]
    if op.name in ("where", "mask"):
        operands[0] = operands[0] > 0.5
    space = {}
    exec(to_python(op(*operands), module="math"), space)
    for values in (
        itertools.product(SPECIAL, repeat=len(names)) if len(names) < 3 else [(1.0, 2.0, 3.0)]
    ):
        with np.errstate(all="ignore"):
            expected = op.run(*[np.float64(v) for v in values])
            if op.name in ("where", "mask"):
                expected = op.run(values[0] > 0.5, *map(np.float64, values[1:]))
        try:
            found = space["f"](*values)
        except (ArithmeticError, ValueError):  # outside its domain `math` raises
            assert not np.isfinite(expected) or not np.all(np.isfinite(values)), values
            continue
        if expected == 0 and op.name in ("maximum", "minimum", "fmax", "fmin"):
            assert found == 0
            continue
        assert type(found) is type(np.asarray(expected).item())
        np.testing.assert_array_max_ulp(np.float64(found), np.float64(expected), 4)
        assert np.isnan(expected) or np.signbit(found) == np.signbit(float(expected)), values


def test_operands_of_templates_keep_their_parentheses():
    x, y = 1.5, -0.25
    for expr in (
        np.reciprocal(X + Y),
        np.square(X + Y) * fg.sigmoid(X - Y),
        np.logaddexp(X - 1, Y + X) - np.maximum(X + 1, Y / 2),
        np.logical_not(X < Y) * (X + Y),
        np.where((X < Y) | (Y < 0), np.fmin(X - Y, Y), np.sign(X + Y)),
    ):
        assert run(expr, x, y, module="math") == pytest.approx(expr(x=x, y=y), rel=1e-15)
    # Arguments of functions within are their own, whatever the variables are called.
    x0, x1 = fg.var("x0"), fg.var("x1")
    expr = np.logaddexp(x1 * 2, np.maximum(x0 + 1, x1 - 3))
    assert run(expr, y, x, module="math") == pytest.approx(expr(x0=x, x1=y), rel=1e-15)


def test_what_cannot_be_written_is_refused():
    with pytest.raises(ValueError, match="expected an identifier as name, but got 'a b'"):
        to_python(X, "a b")
    with pytest.raises(ValueError, match="expected module 'numpy' or 'math', but got 'jax'"):
        to_python(X, module="jax")
    with pytest.raises(
        ValueError, match=r"expected float64 scalars for module='math', but got float64\[2\]"
    ):
        to_python(fg.var("w", (2,)) * 2, module="math")
    with pytest.raises(
        ValueError, match="that math has, but got 'sinc'; save the program with to_json"
    ):
        to_python(np.sinc(X), module="math")
    with pytest.raises(TypeError, match="to_python: expected an expression, but got str"):
        to_python("x")


def test_a_long_program_is_linear_and_a_longer_one_is_refused(monkeypatch):
    expr = X
    for _ in range(3000):
        expr = np.sin(expr) + expr * 0.5
    assert run(expr, 0.3) == expr(x=0.3)
    monkeypatch.setattr(sys.modules[to_python.__module__], "MOST_NODES_WRITTEN", 1000)
    long = X
    for _ in range(1001):
        long = -long
    with pytest.raises(ValueError, match="at most 1000 nodes, but got 1002; save it with to_json"):
        to_python(long)


RUNNABLE = {
    name: expr
    for name, expr in ALL.items()
    if not any(e.op.name in ("implicit", "integral", "foreign") for e in subexpressions(expr))
}


@pytest.mark.parametrize("name", one_in(3, RUNNABLE, start=1))
def test_programs_with_bodies_give_the_same(name):
    expr = RUNNABLE[name]
    given_ = values_of(expr)
    np.testing.assert_allclose(run(expr, by_name=given_), expr(**given_), rtol=1e-14)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n in RUNNABLE])
def test_their_second_derivatives_give_the_same(name):
    expr = fg.gradient(fg.gradient(PROGRAMS[name], "x"), "y")
    given_ = values_of(expr)
    np.testing.assert_allclose(run(expr, by_name=given_), expr(**given_), rtol=1e-13, atol=1e-14)


def test_a_gradient_has_the_order_of_arguments_of_its_program():
    b, a = fg.var("b"), fg.var("a")
    program = np.sin(b) * a + b / a
    for name in ("a", "b"):
        slope = fg.gradient(program, name)
        for expr in (slope, pickle.loads(pickle.dumps(slope))):
            assert "def f(b, a):" in to_python(expr)
    assert "def f(b, a):" in to_python(fg.gradient(fg.gradient(program, "a"), "b"))


def test_loops_are_loops_and_branches_are_ifs():
    source = to_python(PROGRAMS["scan"])
    assert "    for k in range(3):\n        (s, z0) = g(s, t[k], p)\n" in source
    assert "    while h(s, p1, p2)[0]:\n" in to_python(PROGRAMS["while"])
    assert "    if i:\n        return h(u1, u2)\n    return g(u1, u2)\n" in to_python(
        PROGRAMS["cond"]
    )
    assert "reversed(range(3))" in to_python(PROGRAMS["scan backwards"])
    assert len(to_python(nested_calls(60))) < 20_000
    names = [fg.var(name) for name in ("s", "loop_1", "g", "k", "y0", "len")]
    expr = fg.scan(lambda c, t: (c * t + sum(names), c), names[0], np.ones(3))[0]
    at = dict(zip(("s", "loop_1", "g", "k", "y0", "len"), range(6), strict=True))
    assert run(expr, *[at[name] for name in variables(expr)]) == expr(**at)


def test_bodies_that_numpy_cannot_run_are_refused():
    refused = ("implicit_root", "implicit_argmin", "fixed_point", "integral")
    for name, who in zip((*SOLVERS, "an integral"), refused, strict=True):
        with pytest.raises(ValueError, match=f"that NumPy has, but got '{who}'; save the program"):
            to_python(PROGRAMS[name])
    with pytest.raises(ValueError, match="but got the primitive 'erf'; write what comes before"):
        to_python(PROGRAMS["a primitive"])
    with pytest.raises(ValueError, match=r"for module='math', but got \(float64, float64\[3\]\)"):
        to_python(fg.scan(lambda c, _: (np.sin(c), c), X, length=3)[0], module="math")


@pytest.mark.parametrize("module", ["numpy", "math"])
def test_what_is_written_as_its_operand_keeps_the_operands_brackets(module):
    def of_second(x):
        return -fg.jvp(fg.grad(lambda t: t * x * np.sin(t)), (x,), (x,))[1]

    for expr in (fg.trace(of_second, 0.5), 3.0 * fg.stop_gradient(X + 2.0) - fg.stop_gradient(-X)):
        assert run(expr, 0.5, module=module) == pytest.approx(expr(x=0.5), rel=1e-14)


def test_scattered_zeros_keep_their_signs():
    x = fg.var("x", (3,))
    for change in (lambda x: x.at[1:].set(-0.0), lambda x: x.at[[0, 2]].set(-0.0)):
        same(run(change(x), np.ones(3)), change(x)(x=np.ones(3)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_quotients_of_eigenvalues_are_written(dtype):
    x, y = fg.var("x", (), dtype), fg.var("y", (), dtype)
    expr = determined_quotient(x - y, x * y)
    modules = ["numpy", "math"] if dtype == "float64" else ["numpy"]
    for module, *values in itertools.product(modules, [0.0, -0.0, 1.5, np.nan], [0.0, -0.0, 2.0]):
        space = {}
        exec(to_python(expr, module=module), space)
        found, want = space["f"](*np.array(values, dtype).tolist()), expr(x=values[0], y=values[1])
        np.testing.assert_array_equal(found, want, strict=module == "numpy")
        assert np.signbit(np.real(found)) == np.signbit(np.real(want)) or np.isnan(want)


def test_gradients_of_eigenvectors_are_written():
    m = fg.var("m", (3, 3))
    expr = fg.gradient(np.linalg.eigh(m)[1][0, 0] ** 2, "m")
    space, at = {}, np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 4.0]])
    exec(to_python(expr), space)
    np.testing.assert_allclose(space["f"](at), expr(m=at), rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_sinc_are_written_to_the_bit(order):
    expr = np.sinc(X)
    for _ in range(order):
        expr = fg.gradient(expr, X)
    space = {}
    exec(to_python(expr), space)
    for at in (0.0, -0.0, 1e-9, 0.3, -2.7, 1e3, np.inf, np.nan):
        same(space["f"](at), expr(x=at))
