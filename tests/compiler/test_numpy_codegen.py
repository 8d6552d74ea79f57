"""Compiled array programs give what their operations give one by one, and share memory with nothing."""

import gc
import linecache
import sys
import threading
import traceback

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.autodiff.accumulate import gradients
from funcgrad.compiler.call_ir import last_reads
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.numpy import buffer_assignment
from funcgrad.compiler.numpy import instruction_selection as calls_room
from funcgrad.compiler.numpy.instruction_selection import select_instructions
from funcgrad.compiler.numpy.numpy_codegen import bindings, numpy_source
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays
from funcgrad.compiler.pass_options import PassOptions
from funcgrad.compiler.passes import fusion as blocks
from funcgrad.ops.base.array_capture import refer
from funcgrad.ops.base.op import Op
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.rewrite.simplify import simplify_all
from tests.default_slice import examples, one_in
from tests.ops.samples import SAMPLES
from tests.ops.test_random_programs import programs, sample

CASES = [
    pytest.param(name, sampled, id=f"{name}-{i}")
    for name, samples in SAMPLES.items()
    for i, sampled in enumerate(samples)
]


def leaves_of(sampled):
    args = [np.asarray(arg) for arg in sampled.args]
    return args, [fg.var(f"x{i}", a.shape, a.dtype) for i, a in enumerate(args)]


def check(roots, inputs, values):
    """The compiled program gives, twice, what the steps give; its results are nobody else's memory."""
    before = [np.array(value) for value in values]
    flat = flatten_program(roots, inputs)
    run = compile_arrays(roots, inputs)
    expected = interpret(flat, values)
    for _ in range(2):
        results = run(*values)
        for got, want in zip(results, expected, strict=True):
            assert type(got) is type(want)
            assert np.shape(got) == np.shape(want)
            assert np.asarray(got).dtype == np.asarray(want).dtype
            close = 8 * np.finfo(np.asarray(want).dtype).eps if _inexact(want) else 0
            np.testing.assert_allclose(got, want, rtol=close, atol=close)
        for value, copy in zip(values, before, strict=True):
            np.testing.assert_array_equal(value, copy)
        arrays = [r for r in results if isinstance(r, np.ndarray)]
        constants = [s.constant for s in flat.steps if s.op.name == "constant"]
        for i, array in enumerate(arrays):
            assert array.flags.writeable
            for other in [*values, *constants, *arrays[:i]]:
                assert not np.shares_memory(array, other)
            array[...] = 1  # what a caller does with a result is not seen by the next call


def _inexact(value):
    return np.asarray(value).dtype.kind in "fc"


@pytest.mark.parametrize(("name", "sampled"), one_in(3, CASES))
def test_every_operation(name, sampled):
    args, inputs = leaves_of(sampled)
    output = all_ops()[name](*inputs, **sampled.params)
    check([output], inputs, args)
    check([output, output, *inputs], inputs, args)


@pytest.mark.parametrize(("name", "sampled"), one_in(3, CASES, start=1))
def test_every_gradient(name, sampled):
    args, inputs = leaves_of(sampled)
    output = all_ops()[name](*inputs, **sampled.params)
    if output.dtype.kind not in "fc" or name == "argsort":
        pytest.skip("not differentiable")
    weights = np.cos(np.arange(output.size)).reshape(output.shape)
    root = np.sum(np.real(output * weights))
    targets = [x for x in inputs if x.dtype.kind in "fc"]
    check([root, *gradients(root, targets)], inputs, args)


@settings(max_examples=examples(150), derandomize=True)
@given(programs(), st.integers(0, 5), st.booleans(), st.booleans())
def test_random_programs(program, seed, every, large):
    with pytest.MonkeyPatch.context() as patch:
        if large:  # what is done for large arrays, on small ones
            patch.setattr(buffer_assignment, "_POOLED", 0)
            patch.setattr(buffer_assignment, "_LARGE", 0)
            patch.setattr(calls_room, "_BRANCHLESS", 0)
            patch.setattr(blocks, "_ENTRIES", 2)
            patch.setattr(blocks, "_TALL", 0)
            patch.setattr(blocks, "_CACHE", 64)
            patch.setattr(blocks, "_THREADED", 8)
        check_program(program, seed, every)


def check_program(program, seed, every):
    shapes, steps = program
    values = sample(shapes, seed)
    inputs = [fg.var(f"x{i}", shape) for i, shape in enumerate(shapes)]
    known = list(inputs)
    for f, places in steps:
        known.append(f(*[known[i] for i in places]))
    root = sum(np.sum(v * (k + 1)) for k, v in enumerate(known))
    made = simplify_all([root, *gradients(root, inputs)])
    check([*known, *made] if every else made, inputs, values)


def test_arrays_that_are_over_are_written_to():
    x = fg.var("x", 5)
    text = numpy_source(select_instructions(flatten_program([np.sin(np.exp(x) * x + 1) * x], [x])))
    assert "a1" not in text


def test_what_a_view_shows_is_not_over():
    x = fg.var("x", (3, 4))
    y = np.exp(x)
    view = np.transpose(y)
    check([np.sum(np.sin(y)) + np.sum(view * np.cos(view)), view], [x], [np.ones((3, 4))])


def test_lifetimes_reach_through_views():
    x = fg.var("x", (3, 4))
    plan = select_instructions(flatten_program([np.sum(np.exp(np.reshape(np.sin(x), (12,))))], [x]))
    effects = [call.effect for call in plan.calls]
    assert effects == ["source", "in_place_ok", "view", "in_place_ok", "new"]
    assert last_reads(plan) == [1, 3, 3, 4, 5]


def test_captured_arrays_are_read_at_each_call():
    array = np.ones(3)
    x = fg.var("x", 3)
    run = compile_arrays([refer(array) * x], [x])
    array[0] = 5.0
    assert run(np.ones(3))[0].tolist() == [5.0, 1.0, 1.0]


def test_captured_arrays_as_inputs():
    array = np.ones(3)
    x = fg.var("x", 3)
    captured = refer(array)
    run = compile_arrays([captured * x], [x, captured])
    assert run(np.ones(3), np.full(3, 7.0))[0].tolist() == [7.0, 7.0, 7.0]


def test_float32_stays():
    x = fg.var("x", 3, "float32")
    check([np.sum(fg.sigmoid(x) * 2.5), x * 2 + 1], [x], [np.ones(3, "float32")])


def test_scalars_and_numbers_are_taken():
    x, y = fg.var("x"), fg.var("y", 2)
    run = compile_arrays([x * y, x * x, np.sqrt(x)], [x, y])
    product, square, root = run(-2.0, np.array([1.0, 2.0]))
    assert product.tolist() == [-2.0, -4.0]
    assert (type(square), square) == (float, 4.0)
    assert np.isnan(root)
    assert np.geterr()["invalid"] != "ignore"


def test_operations_of_others_run_in_the_context_of_the_caller():
    def foreign(x):
        return np.array([np.geterr()["divide"] == "ignore"]) * x

    foreign.__module__ = "elsewhere"
    op = Op(name="foreign", run=foreign, infer=lambda type: type, edges=(None,))
    x = fg.var("x", 1)
    plan = select_instructions(flatten_program([op(x)], [x]))
    assert plan.foreign
    assert compile_arrays([op(x)], [x])(np.ones(1))[0].tolist() == [1.0]


@pytest.mark.parametrize("size", [1000, 40000])
def test_threads_share_a_program(size):
    x = fg.var("x", size)
    roots = [np.exp(np.sin(x) * x) + x, np.sum(x * np.cos(x))]
    run = compile_arrays(roots, [x], PassOptions(frozenset({"whole_program"})))  # NumPy's bits
    values = [np.full(size, float(i)) for i in range(8)]
    expected = [run(value) for value in values]
    wrong = []

    def work(i):
        for _ in range(50):
            array, total = run(values[i])
            if total != expected[i][1] or not np.array_equal(array, expected[i][0]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_tracebacks_show_the_line_and_go_with_the_function():
    x = fg.var("x", 3)
    run = compile_arrays([np.exp(x) @ np.ones(3) + np.ones(2)], [x])
    with pytest.raises(ValueError, match="not aligned") as caught:
        run(np.ones(4))
    shown = "".join(traceback.format_exception(caught.value))
    assert "dot(a0, k" in shown
    name = run.__code__.co_filename
    assert name in linecache.cache
    del run, caught
    sys.exc_info()
    gc.collect()
    assert name not in linecache.cache


def test_results_are_not_arrays_that_are_kept():
    x = fg.var("x", 40000)
    outputs = [np.exp(np.sin(x)), np.sum(np.cos(np.sin(x) * x)), np.reshape(np.cos(x), (200, 200))]
    text = numpy_source(select_instructions(flatten_program(outputs, [x])))
    assert "pool.append(held)" in text
    check(outputs, [x], [np.linspace(0, 1, 40000)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [5, 5000])
def test_selection_is_exact(size, dtype):
    points = np.resize(np.array([1.5, -0.0, 0.0, np.inf, -np.inf, np.nan, -3.0]), size)
    x, y = fg.var("x", size, dtype), fg.var("y", size, dtype)
    outputs = [
        np.where(x > 0, x, y),
        np.where(x > 0, y, 0.0),
        fg.ops.elementwise.selection.mask(x < 0, y),
    ]
    outputs += [
        np.where(x > 0, *pair) for pair in [(0.5, 1.0), (0.1, 0.7), (-0.0, 1.0), (1, np.inf)]
    ]
    values = [points.astype(dtype), points[::-1].astype(dtype)]
    got = compile_arrays(outputs, [x, y])(*values)
    for a, b in zip(got, interpret(flatten_program(outputs, [x, y]), values), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_unknown_variables_are_an_error():
    with pytest.raises(ValueError, match="expected every variable among the inputs, but got 'y'"):
        compile_arrays([fg.var("x") + fg.var("y")], [fg.var("x")])


def source_of(*roots, inputs):
    return numpy_source(select_instructions(flatten_program(roots, inputs)))


def test_a_program_that_raises_no_floating_point_error_enters_no_context():
    x = fg.var("x", 3)
    silent = (np.isfinite(x), -x, np.logical_not(x), np.maximum(x, 0.0), x == 1.0, x)
    moved = (x.reshape(3, 1), x[np.array([2, 0, 2])], np.where(x > 0.0, x, 1.5))
    reduced = (np.max(x), np.all(x > 0.0))
    for made in (*silent, *moved, *reduced):
        assert "quiet" not in source_of(made, inputs=[x])
    for made in (np.exp(x), x + x, np.isfinite(x * x)):
        assert "quiet" in source_of(made, inputs=[x])


PRODUCTS = {
    "vectors": ((9,), (9,), float, "dot("),
    "a matrix and a vector": ((6, 9), (9,), np.float32, "dot("),
    "a vector and a matrix": ((9,), (9, 5), complex, "dot("),
    "matrices": ((1, 9), (9, 5), float, "dot("),
    "of one term each": ((6, 1), (1, 5), float, "matmul("),
    "integers": ((6, 9), (9, 5), int, "matmul("),
    "half precision": ((6, 9), (9, 5), np.float16, "matmul("),
    "stacks": ((3, 6, 9), (3, 9, 5), float, "matmul("),
    "a large matrix": ((64, 80), (80,), float, "matmul("),
    "no terms": ((6, 0), (0, 5), float, "matmul("),
}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("case", PRODUCTS)
def test_small_products_are_dots_with_the_bits_of_matmul(case, transposed):
    left, right, dtype, symbol = PRODUCTS[case]
    swapped = transposed and len(left) == 2
    x, y = fg.var("x", left[::-1] if swapped else left, dtype), fg.var("y", right, dtype)
    product = (x.T if swapped else x) @ y
    assert symbol in source_of(product, inputs=[x, y])
    random = np.random.default_rng(3)
    a, b = [(9 * random.normal(size=v.shape)).astype(dtype) for v in (x, y)]
    a.flat[:1] = 0
    (found,) = compile_arrays([product], [x, y])(a, b)
    expected = np.matmul(a.T if swapped else a, b)
    assert np.asarray(found).tobytes() == expected.tobytes()
    assert type(found) is (type(expected) if expected.ndim else type(expected.item()))


COMPARISONS = [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]


@pytest.mark.parametrize("dtype", [float, np.float32, int])
@pytest.mark.parametrize("compare", COMPARISONS)
def test_numbers_are_compared_and_chosen_by_python(compare, dtype):
    x, y = fg.var("x", 2, dtype), fg.var("y", (), dtype)
    total = np.sum(x)
    is_so = compare(total, y)
    outputs = [is_so, np.where(is_so, total * y, y), np.where(is_so, -0.0, 0.0)]
    source = source_of(*outputs, inputs=[x, y])
    assert " if " in source
    assert "where" not in source
    assert compare.__name__ not in source
    run = compile_arrays(outputs, [x, y])
    special = (0.0, -0.0, 1.5, np.inf, np.nan) if dtype is not int else (0, 1, -2)
    for first in special:
        for second in special:
            given = np.array([first, 0], dtype), np.array(second, dtype)
            expected = interpret(flatten_program(outputs, [x, y]), given)
            for value, wanted in zip(run(*given), expected, strict=True):
                assert type(value) is type(wanted)
                np.testing.assert_array_equal(value, wanted)
                assert np.signbit(value) == np.signbit(wanted)


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_the_logarithm_of_a_sum_of_exponentials_of_what_is_not_finite(dtype):
    x = fg.var("x", 2, dtype)
    (expr,) = simplify_all([np.log(np.sum(np.exp(x)))])
    assert expr.op.name == "logsumexp"
    assert "reshape" not in source_of(expr, inputs=[x])
    run = compile_arrays([expr], [x])
    rows = [(1.0, 2.0), (np.inf, 1.0), (-np.inf, -np.inf), (-np.inf, 3.0), (np.nan, 1.0)]
    for row in rows:
        (found,) = run(np.array(row, dtype))
        with np.errstate(invalid="ignore"):
            expected = np.logaddexp(*np.array(row, dtype))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_functions_of_numpy_ask_no_array_of_a_program():
    x = fg.var("x", 3)
    plan = select_instructions(flatten_program([np.where(x > 1.0, x, 0.5)], [x]))
    bound = bindings(plan)
    assert bound["where"] is np.where._implementation
    assert bound["copyto"] is np.copyto._implementation
    assert bound["greater"] is np.greater


@pytest.mark.parametrize("dtype", "?bBhilefdFD")
@pytest.mark.parametrize("function", [np.cumsum, np.cumprod])
def test_running_sums_and_products_have_numpys_bits_and_dtypes(function, dtype):
    x = fg.var("x", (3, 4), dtype)
    values = (5 * np.random.default_rng(1).random((3, 4)) - 2).astype(dtype)
    for axis in (0, 1):
        (found,) = compile_arrays([function(x, axis)], [x])(values)
        expected = function(values, axis)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


def test_results_that_are_numbers_are_pythons():
    x, n, c = fg.var("x", 3), fg.var("n", 3, int), fg.var("c", 3, complex)
    outputs = [np.sum(x), np.sum(n), np.any(x > 1.0), np.sum(c), np.sum(x.astype(np.float32))]
    source = source_of(*outputs, inputs=[x, n, c])
    for kind in ("float(", "int(", "bool(", "complex("):
        assert kind in source.split("return")[1]
    found = compile_arrays(outputs, [x, n, c])(np.arange(3.0), np.arange(3), np.arange(3) * 1j)
    assert found == (3.0, 3, True, 3j, 3.0)
    assert [*map(type, found)] == [float, int, bool, complex, np.float32]


def test_entries_of_arrays_are_read_by_an_index_alone():
    x = fg.var("x", (3, 4))
    gathered, entry = x[None, 1:, np.array([2, 0])], x[-1, 2]
    source = source_of(gathered, entry, inputs=[x])
    assert "a0 = x0[None, 1::, k1,]\n" in source
    assert "return (a0, float(a1),)" in source
    run = compile_arrays([gathered, entry], [x])
    values = np.arange(12.0).reshape(3, 4)
    found = run(values)
    np.testing.assert_array_equal(found[0], values[None, 1:, np.array([2, 0])])
    assert type(found[1]) is float
    assert found[1] == 10.0
    assert not np.shares_memory(found[0], values)


@pytest.mark.parametrize("dtype", "efdgFDG")
def test_numpy_is_silent_in_choices_between_special_values(dtype):
    with np.errstate(all="ignore"):
        values = np.array([0.0, -1.5, np.inf, -np.inf, np.nan, 1.7e308, 5e-324]).astype(dtype)
    for function in (np.maximum, np.minimum, np.fmax, np.fmin, np.equal, np.not_equal):
        with np.errstate(all="raise"):
            function(values[:, None], values)
            function(values[2], values[4])


SPECIAL = [0.0, -0.0, 1.5, -3.25, np.inf, -np.inf, np.nan, 3e38, 1e-45]


@pytest.mark.parametrize("dtype", ["float16", "float32", "longdouble"])
def test_numbers_below_double_precision_run_as_scalars_with_the_same_bits(dtype):
    x, y = (fg.var(name, dtype=dtype) for name in "xy")
    roots = [x + y, x - y, x * y, x / y, np.exp(x), np.maximum(x, y), x < y, x]
    assert "is not ndarray" not in source_of(*roots, inputs=[x, y])
    run = compile_arrays(roots, [x, y])
    with np.errstate(all="ignore"):
        values = np.array(SPECIAL).astype(dtype)
        for a in values:
            for b in values:
                whole = [np.asarray(a), np.asarray(b)]
                expected = [a + b, a - b, a * b, a / b, np.exp(a), np.maximum(a, b), a < b, a]
                for given in ([a, b], whole, [float(a), float(b)]):
                    found = run(*given)
                    assert list(map(repr, found)) == list(map(repr, interpret_row(expected)))
                    assert not any(isinstance(value, np.ndarray) for value in found)
                    assert [str(np.signbit(v)) for v in found[:4] if not np.isnan(v)] == [
                        str(np.signbit(v)) for v in expected[:4] if not np.isnan(v)
                    ]


def interpret_row(values):
    return [bool(value) if value.dtype == bool else value for value in values]


def test_a_number_beside_arrays_and_in_a_routine_stays_a_0d_array():
    x, v = fg.var("x", dtype="float32"), fg.var("v", 2, dtype="float32")
    for made in (x * v, np.where(x > v, x, v), x.reshape(1), x[None]):
        text = source_of(made, inputs=[x, v])
        assert "if type(x0) is not ndarray" in text
        found = compile_arrays([made], [x, v])(np.float32(2), np.ones(2, "f"))[0]
        assert np.array_equal(found, made(x=np.float32(2), v=np.ones(2, "f")))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128", "int8", "bool"])
def test_a_stack_of_numbers_is_one_call(dtype):
    x, v = fg.var("x", dtype=dtype), fg.var("v", 3, dtype=dtype)
    numbers = [x, v[0], v[2], np.array(1, dtype)]
    for made in (np.stack(numbers), np.stack([np.stack(numbers)] * 2)):
        text = source_of(made, inputs=[x, v])
        assert "reshape" not in text
        assert text.count(" = f") == made.ndim
        for number in np.array(SPECIAL[:7] if dtype[0] in "fc" else [0, 1, -1]).astype(dtype):
            row = np.array([number, -0.0 if dtype[0] == "f" else 0, number]).astype(dtype)
            for value in (number, np.asarray(number)):
                found = compile_arrays([made], [x, v])(value, row)[0]
                expected = np.array([number, row[0], row[2], np.array(1, dtype)], dtype)
                assert found.dtype == dtype
                assert found.tobytes() == expected.tobytes() * (found.size // 4)


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex128", "int8", "bool"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_concatenation_is_one_call_of_a_tuple(axis, dtype):
    x, y = fg.var("x", (2, 3), dtype), fg.var("y", (2, 3), dtype)
    outputs = [np.concatenate([x, y, x[:2]], axis), np.concatenate([x], axis)]
    source = source_of(*outputs, inputs=[x, y])
    assert f", a0,), {axis})" in source
    assert "quiet" not in source
    a, b = np.arange(6).reshape(2, 3).astype(dtype), np.ones((2, 3), dtype)
    joined, alone = compile_arrays(outputs, [x, y])(a, b)
    expected = np.concatenate([a, b, a], axis)
    assert joined.dtype == expected.dtype
    assert joined.tobytes() == expected.tobytes()
    assert np.array_equal(alone, a)
    assert not np.shares_memory(alone, a)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_stacked_rows_have_the_layout_of_numpys(size):
    v, w = fg.var("v", (size, 4)), fg.var("w", size)
    made = np.stack([v[:, 1], w, -w, v[::-1, 0]])
    assert "reshape" not in source_of(made, inputs=[v, w])
    a, b = np.arange(4.0 * size).reshape(size, 4), np.ones(size)
    found = compile_arrays([made], [v, w])(a, b)[0]
    expected = np.stack([a[:, 1], b, -b, a[::-1, 0]])
    assert found.flags.owndata
    assert (found.shape, found.strides) == (expected.shape, expected.strides)
    assert found.tobytes() == expected.tobytes()


def test_other_concatenations_stay():
    v = fg.var("v", 1)
    w = fg.var("w", (2, 2))
    for made in (
        np.concatenate([v, v.reshape(1), 2 * v]),
        np.stack([v, v], 1),
        np.stack([w, w]),
        np.concatenate([v.reshape(1, 1), w[0].reshape(2, 1)]),
    ):
        a, b = np.array([3.0]), np.arange(4.0).reshape(2, 2)
        found = compile_arrays([made], [v, w])(a, b)[0]
        assert found.tolist() == np.asarray(made(v=a, w=b)).tolist()
    assert fg.jit(lambda x: np.stack([x]))(2.0).tolist() == [2.0]


def test_a_row_at_a_computed_index_shares_memory_with_nothing():
    """NumPy gives a view for an index of integers, which stand for index arrays without axes."""
    x = np.arange(12.0).reshape(3, 4) + 1
    read = fg.jit(lambda x, t: x[:, t + 1])

    def beside(x, t):
        y = x * 2.0
        column = y[:, (t + 1) % 4]
        z = np.sin(x) + np.cos(x)
        z = z * z + x
        return column, np.sum(z * column[:, None]), z

    jitted = fg.jit(beside)
    for _ in range(3):
        assert not np.shares_memory(read(x, 1), x)
        for one, other in zip(jitted(x, 1), beside(x, 1), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["un-jitted", "jitted"])
def test_a_row_that_is_read_before_a_store_keeps_its_entries(wrap):
    def step(t, state):
        x, row = state
        return x.at[(t + 1) % 3].set(row), x[(t + 1) % 3] * 0.5

    start = np.arange(12.0).reshape(3, 4)
    want, row = start.copy(), np.ones(4)
    for t in range(40):
        found = want[(t + 1) % 3] * 0.5
        want[(t + 1) % 3], row = row, found
    run = wrap(lambda x: fg.fori_loop(0, 40, step, (x, np.ones(4))))
    for _ in range(3):
        got = run(start)
        np.testing.assert_array_equal(got[0], want)
        np.testing.assert_array_equal(got[1], row)


def test_hessians_of_loops_that_read_what_they_overwrite_are_symmetric():
    w = np.arange(1.0, 8.0) / 5

    def loss(y):
        def step(t, state):
            y, q = state
            q = q.at[t - 1].set(q[t]).at[t - 1].set(q[-1])
            return q.at[t - 1].add((q[6 - t] - y[-t - 1]) / (2.0 + y[(t + 5) % 7] ** 2)), y

        y, q = fg.fori_loop(0, 5, step, (y, w))
        return np.sum(np.sin(y) * w) + np.sum(np.tanh(q) ** 2)

    y, h = np.cos(3 * w), 1e-6
    gradient = fg.grad(loss)
    want = [(gradient(y + h * e) - gradient(y - h * e)) / (2 * h) for e in np.eye(7)]
    for _ in range(3):
        found = fg.hessian(loss)(y)
        np.testing.assert_allclose(found, found.T, atol=1e-13)
        np.testing.assert_allclose(found, want, atol=1e-8)


REAL_ONLY = ["floor", "ceil", "trunc", "rint"]
SILENT = ["less", "less_equal", "greater", "greater_equal", "sign", "absolute", *REAL_ONLY]


@pytest.mark.parametrize("dtype", [float, np.float32, complex, np.complex64])
def test_comparisons_and_rounding_enter_a_context_only_for_complex_numbers(dtype):
    real, finfo = np.dtype(dtype).kind == "f", np.finfo(dtype)
    parts = [0.0, -0.0, -1.5, finfo.max, finfo.smallest_subnormal]
    if real:
        values = [*parts, np.nan, np.inf, -np.inf]
    else:
        values = [complex(a, b) for a in parts for b in parts]
    x = np.array(values, dtype)
    for name in SILENT if real else SILENT[: -len(REAL_ONLY)]:
        function = getattr(np, name)
        args = (x, x[::-1])[: function.nin]
        symbols = [fg.var(letter, x.shape, x.dtype) for letter in "ab"[: function.nin]]
        program = flatten_program([function(*symbols)], symbols)
        assert ("quiet" in numpy_source(select_instructions(program))) == (not real), name
        with np.errstate(all="ignore"):
            expected = function(*args)
        with np.errstate(all="raise"):
            result = fg.jit(function)(*args)
        if real or name != "sign":  # of complex numbers, the extremes overflow
            assert result.tobytes() == expected.tobytes(), name


@pytest.mark.parametrize(
    "number", [0.0, -0.0, 0j, complex(-0.0, 0.0), complex(0.0, -0.0), 0, False, 2.5]
)
def test_large_broadcast_copies_have_the_bits_of_the_number(number):
    x = np.asarray(number)
    copy = calls_room.broadcast_copy(x, (20_000,), x.dtype)
    assert copy.tobytes() == np.full(20_000, x).tobytes()
    assert copy.flags.writeable


def test_a_chosen_number_is_no_view_of_memory_that_is_reused():
    x = fg.var("x", 1)
    tripled = 3.0 * x
    chosen = np.where(np.reshape(x != 0, ()), np.reshape(tripled, ()), 0.0)
    rest = np.sum(np.exp(np.sin(x) + 1.0) / np.cos(x))
    source = source_of(chosen + rest, inputs=[x])
    assert " if " in source
    run = compile_arrays([chosen + rest, chosen], [x])
    expected = 3.0 * 0.5 + np.exp(np.sin(0.5) + 1.0) / np.cos(0.5)
    np.testing.assert_allclose(run(np.array([0.5])), [expected, 1.5], rtol=1e-15)
