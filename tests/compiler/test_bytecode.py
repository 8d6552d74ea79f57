"""Programs as bytecode against the same programs by NumPy, step by step."""

import itertools
import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.autodiff.accumulate import gradients
from funcgrad.compiler import program
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.native import llvm_jit, vm, vm_instructions
from funcgrad.compiler.native.bytecode import compile_bytecode, lower_to_bytecode
from funcgrad.compiler.native.disassembler import disassembled
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.rewrite.simplify import simplify_all
from tests.default_slice import examples, marked_slow, one_in

X, Y = fg.var("x"), fg.var("y")
POINTS = [
    0.0,
    0.1,
    0.5,
    1.0,
    2.0,
    2.5,
    3.0,
    1e-160,
    5e-324,
    709.5,
    710.0,
    745.2,
    1e18,
    1e200,
    math.inf,
]
POINTS += [-point for point in POINTS] + [math.nan]
VALUES = {"f": POINTS, "b": [False, True]}
ARITIES = {name: len(op.edges) for name, op in all_ops().items() if isinstance(op, Elementwise)}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Bytecode of any length."""
    monkeypatch.setattr(program, "BYTECODE_LEAST", 0)


def same(got, want, ulps):
    if type(got) is not type(want):
        return False
    if not isinstance(got, float) or math.isinf(want) or want == 0:
        return str(got) == str(want)
    return (got != got) if want != want else abs(got - want) <= ulps * math.ulp(want)


@pytest.mark.parametrize(("kind", "name"), one_in(3, itertools.product("fb", ARITIES)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what infer gives for bools of arithmetic
def test_every_operation_at_every_point(name, kind):
    kinds = {"where": "b" + kind * 2, "mask": "b" + kind}.get(name, kind * ARITIES[name])
    inputs = [fg.var(f"x{i}", (), {"f": float, "b": bool}[k]) for i, k in enumerate(kinds)]
    try:
        output = all_ops()[name](*inputs)
    except TypeError:
        pytest.skip("NumPy has no loop for this")
    flat = flatten_program([output], inputs)
    run = compile_bytecode(flat)
    if run is None:
        pytest.skip("left to Python")
    exact = name in ("add", "subtract", "multiply", "divide", "negative", "sqrt", "where", "mask")
    for values in itertools.product(*[VALUES[k] for k in kinds]):
        (want,) = interpret(flat, values)
        (got,) = run(*values)
        assert same(got, want, 0 if exact or kind == "b" else 4), (values, got, want)


def test_what_a_gradient_needs_is_known():
    y = sum([np.sin(X * Y) / np.exp(X), np.maximum(X, Y), np.where(X > Y, np.tanh(X), Y**3)])
    y = y + np.logaddexp(X, Y) + np.sqrt(np.abs(X)) + np.log(1 + np.exp(Y)) + np.hypot(X, Y)
    roots = simplify_all([y, *gradients(simplify_all([y])[0], [X, Y])])
    flat = flatten_program(roots, [X, Y])
    np.testing.assert_allclose(
        compile_bytecode(flat)(0.3, -1.2), interpret(flat, (0.3, -1.2)), rtol=1e-13
    )


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "subtract", "multiply", "negative", "stop"]),
        st.integers(0, 99),
        st.integers(0, 99),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=examples(200))
@given(
    STEPS,
    st.lists(st.integers(0, 99), min_size=1, max_size=4),
    st.tuples(*[st.floats(-4, 4) | st.sampled_from([0.0, -0.0, 1.0])] * 3),
)
def test_every_rounding_of_sums_and_products_stays(steps, roots, values):
    inputs = [X, Y, fg.var("z")]
    made = [*inputs, fg.const(0.1), fg.const(-3.0)]
    for name, i, j in steps:
        x, y = made[i % len(made)], made[j % len(made)]
        if name == "stop":
            made.append(fg.stop_gradient(x))
        else:
            made.append(getattr(np, name)(x, y) if name != "negative" else -x)
    flat = flatten_program([made[i % len(made)] for i in roots], inputs)
    got, want = compile_bytecode(flat)(*values), interpret(flat, values)
    assert [str(v) for v in got] == [str(v) for v in want]


SUMMANDS = [0.1, -0.3, 1 / 3, 7.7, 1e16, -1e16, 0.7, 3.0]


@pytest.mark.parametrize("template", vm_instructions.SHORT_SUMS)
def test_a_sum_of_a_few_terms_is_one_instruction(template):
    names = [f"x{k}" for k in range(vm_instructions.arity(template))]
    inputs = [fg.var(name) for name in names]
    flat = flatten_program(
        [eval(template.format(*names), dict(zip(names, inputs, strict=True)))], inputs
    )
    code = lower_to_bytecode(flat).code.tolist()
    assert code == [vm_instructions.opcodes()[template], 1, code[2], *range(len(names))]
    for values in (SUMMANDS, SUMMANDS[::-1], [0.0] * 8, [-0.0] * 8, [0.0, -0.0] * 4):
        given = values[: len(names)]
        got, want = compile_bytecode(flat)(*given), interpret(flat, given)
        assert str(got) == str(want)


def test_alternating_differences_take_linear_time():
    y = X
    for _ in range(5_000):
        y = Y - y * 0.5
    flat = flatten_program([y], [X, Y])
    code = lower_to_bytecode(flat).code
    assert len(code) <= 10 * 5_000
    assert compile_bytecode(flat)(1.0, 3.0) == interpret(flat, (1.0, 3.0))
    for _ in range(5_000):
        y = y - X * Y
    flat = flatten_program([y], [X, Y])
    assert len(lower_to_bytecode(flat).code) < 20 * 5_000
    assert compile_bytecode(flat)(1.0, 3.0) == interpret(flat, (1.0, 3.0))


def test_a_long_chain():
    y = X
    for _ in range(8_000):
        y = np.sin(y) + Y
    flat = flatten_program([y], [X, Y])
    np.testing.assert_allclose(
        compile_bytecode(flat)(0.3, 0.1), interpret(flat, (0.3, 0.1)), rtol=1e-9
    )


def test_inputs_and_constants_may_be_results_and_repeat():
    flat = flatten_program([X, fg.const(2.5), X * Y, X, X > Y, fg.const(True)], [X, Y])
    assert compile_bytecode(flat)(3.0, 2.0) == (3.0, 2.5, 6.0, 3.0, True, True)
    assert [type(v) for v in compile_bytecode(flat)(3, np.float64(2.0))] == [float] * 4 + [bool] * 2


@pytest.mark.parametrize("dtype", [int, complex, "float32"])
def test_other_numbers_are_left_to_others(dtype):
    x = fg.var("x", (), dtype)
    assert compile_bytecode(flatten_program([x * x], [x])) is None


def test_arrays_and_short_programs_are_left_to_others(monkeypatch):
    a = fg.var("a", 3)
    assert compile_bytecode(flatten_program([np.sum(a)], [a])) is None
    monkeypatch.setattr(program, "BYTECODE_LEAST", 5000)
    f = fg.jit(lambda x, y: x * y)
    assert f(2.0, 3.0) == 6
    assert "run_vm" not in f.program.source


def test_without_llvmlite_there_is_no_bytecode(monkeypatch):
    monkeypatch.setattr(llvm_jit, "llvm_available", lambda: False)
    assert compile_bytecode(flatten_program([X * Y], [X, Y])) is None


def large(xs, count=2500):
    nodes = list(xs)
    for _ in range(count):
        nodes.append(np.tanh(nodes[-1] * nodes[-3]) + nodes[-2] / (1.5 + np.exp(nodes[-5])))
    return sum(nodes[::50])


@pytest.mark.parametrize("count", [800, marked_slow(2500)])
def test_jit_of_a_large_graph_is_bytecode_that_prints(count, monkeypatch):
    monkeypatch.setattr(program, "BYTECODE_LEAST", 2 * count)
    xs = [0.1, 0.2, -0.3, 0.4, 0.5]
    both = fg.value_and_grad(lambda xs: large(xs, count))
    f = fg.jit(both)
    value, slopes = f(xs)
    want, expected = both(xs)
    assert "run_vm(code, registers)" in f.program.source
    assert "# m" in f.program.source
    np.testing.assert_allclose([value, *slopes], [want, *expected], rtol=1e-9)


def test_bytecode_is_disassembled_as_formulas():
    z = X * Y - 2.5 * X + np.exp(X) - np.sin(Y) / X + np.log1p(np.exp(Y))
    flat = flatten_program(simplify_all([z, fg.sigmoid(Y)]), [X, Y])
    made = lower_to_bytecode(flat)
    text = disassembled(made.code.tolist(), made.constants, vm_instructions.widths())
    assert "m0*m1 - 2.5*m0 + " in text
    assert "= softplus(m1), and m" in text
    assert " / m0" in text
    assert disassembled(made.code.tolist(), made.constants, vm_instructions.widths(), 2).endswith(
        "# …"
    )


def test_threads_share_bytecode():
    flat = flatten_program([large([X, Y, X * 2, Y * 3, X + Y])], [X, Y])
    run = compile_bytecode(flat)
    want = {k: run(k / 10, 0.5) for k in range(8)}
    wrong = []

    def work(k):
        for _ in range(200):
            if run(k / 10, 0.5) != want[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_vm_is_compiled_once_a_process(monkeypatch):
    flat = flatten_program([X * Y], [X, Y])
    compile_bytecode(flat)
    monkeypatch.setattr(vm, "compile_llvm", None)
    assert compile_bytecode(flat)(2.0, 3.0) == (6.0,)


def test_where_llvm_refuses_the_vm_there_is_no_bytecode(monkeypatch):
    def refuse(*args):
        raise RuntimeError("no code today")

    vm.virtual_machine.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(vm, "compile_llvm", refuse)
        assert compile_bytecode(flatten_program([X * Y], [X, Y])) is None
    assert compile_bytecode(flatten_program([X * Y], [X, Y]))(2.0, 3.0) == (6.0,)


# -- rows ----------------------------------------------------------------------------------------
@settings(max_examples=examples(60))
@given(STEPS, st.lists(st.integers(0, 99), min_size=1, max_size=4), st.integers(1, 7))
def test_rows_give_what_each_of_their_numbers_gives(steps, roots, length):
    rng = np.random.default_rng(length)
    inputs = [fg.var("x", length), Y, fg.var("p", length, bool)]
    made = [inputs[0], Y + inputs[0], np.where(inputs[2], inputs[0], 2.0), inputs[0] * 0.1]
    for name, i, j in steps:
        x, y = made[i % len(made)], made[j % len(made)]
        made.append(-x if name in ("negative", "stop") else getattr(np, name)(x, y))
    flat = flatten_program([*[made[i % len(made)] for i in roots], inputs[0] > Y], inputs)
    values = rng.normal(size=length), 0.5, rng.normal(size=length) > 0
    for got, want in zip(compile_bytecode(flat)(*values), interpret(flat, values), strict=True):
        assert got.dtype == want.dtype
        assert got.flags.owndata
        np.testing.assert_array_equal(got, want)


def test_many_rows_and_other_shapes_are_left_to_numpy():
    many = fg.var("x", 1000)
    assert compile_bytecode(flatten_program([many * many], [many])) is None
    other, few = fg.var("y", 3), fg.var("x", 2)
    assert compile_bytecode(flatten_program([few * few, other * other], [few, other])) is None
    none = fg.var("x", 0)
    assert compile_bytecode(flatten_program([none * none], [none])) is None
    assert compile_bytecode(flatten_program([np.sum(few)], [few])) is None
    assert compile_bytecode(flatten_program([few * fg.const([1.0, 2.0])], [few])) is None


@pytest.mark.parametrize("count", [800, marked_slow(2500)])
def test_jit_of_a_batch_of_large_graphs(count, monkeypatch):
    monkeypatch.setattr(program, "BYTECODE_LEAST", 2 * count)
    xs = [np.random.default_rng(k).normal(size=9) for k in range(5)]
    slopes = fg.grad(lambda xs: large(xs, count))
    f = fg.jit(fg.vmap(slopes))
    got = f(xs)
    assert "# m" in f.program.source
    for k in (0, 8):
        np.testing.assert_allclose(
            [slope[k] for slope in got], slopes([x[k] for x in xs]), rtol=1e-8, atol=1e-12
        )


def test_inputs_alone_are_handed_back():
    values = [np.full(3, float(k)) for k in range(program.BYTECODE_LEAST + 1)]
    found = fg.jit(lambda *arrays: arrays[::-1])(*values)
    np.testing.assert_array_equal(found, values[::-1])
