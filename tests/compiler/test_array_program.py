"""Groups of steps in machine code: what is fused, and what is never stored."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native.array_program import ArrayProgram, ElementForm
from funcgrad.compiler.native.llvm_writer import LLVMWriter
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.native.native_program import NativeProgram
from funcgrad.compiler.native.time_estimate import estimate
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import LoopSpec
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.convolution import convolve_op


def compiled(f, *arrays):
    """The results of a function of arrays as machine code, and how it is fused."""
    inputs = [symbol(f"i{k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(arrays)]
    outputs = list(f(*inputs))
    run = NativeLoop(flat_of(body_of(inputs, outputs)), None, LoopSpec(0, len(inputs), 1), True)
    found = run.function()([x[None] for x in arrays], 1)[1]
    return [x[0] for x in found], ArrayProgram(LLVMWriter(), flatten_program(outputs, inputs))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_sums_over_the_iterations_are_added_up_in_the_loop(dtype):
    x, steps = np.arange(1, 5).astype(dtype), np.arange(300).astype(dtype)

    def f(x):
        def step(y, t):
            return y, (y * t, t, y - t)

        _, (a, b, c) = fg.scan(step, x, steps)
        return np.sum(a, axis=0), np.sum(b), np.sum(c, axis=0), c[3], np.sum(c, axis=1)

    got, program = compiled(f, x)
    assert [len(sums) for sums in program.summed.values()] == [2]
    for one, other in zip(got, f(x), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(
            one, other, rtol=4 * np.finfo(np.float32).eps if dtype == np.float32 else 1e-15
        )


def test_long_sums_of_float32_in_a_loop_keep_their_digits():
    x = np.full(3, 0.1, np.float32)

    def f(x):
        return [np.sum(fg.scan(lambda y, t: (y, y), x, None, length=20_000)[1], axis=0)]

    (got,), program = compiled(f, x)
    assert program.summed
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, 20_000 * float(np.float32(0.1)), rtol=1e-7)


def test_an_elementwise_step_stands_where_it_is_read():
    """The comparison is not kept as an array of truth values while the sum is made."""
    x = np.linspace(-1.0, 1.0, 12).reshape(3, 4)

    def f(x):
        y = x * 2.0
        total = np.sum(y, axis=0)
        return [np.where(np.abs(y) < 1.0, y, total + y)]

    (got,), program = compiled(f, x)
    np.testing.assert_array_equal(got, f(x)[0])
    elementwise = [i for i, form in program.forms.items() if isinstance(form, ElementForm)]
    stored = [program.flat.steps[i].op.name for i in elementwise if i in program.stored]
    assert not {"less", "absolute"} & set(stored)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_the_largest_and_smallest_of_special_values(dtype, axis):
    x = np.random.default_rng(0).normal(size=(18, 19)).astype(dtype)
    x[range(18), range(1, 19)] = [np.nan, np.inf, -np.inf] * 6
    x[5], x[:, 0], x[7] = np.inf, -np.inf, -0.0
    got, _ = compiled(lambda x: [np.max(x, axis), np.min(x, axis)], x)
    np.testing.assert_array_equal(got[0], np.max(x, axis))
    np.testing.assert_array_equal(got[1], np.min(x, axis))


@pytest.mark.parametrize("x", [-np.inf, np.inf, -1e20, 1e20, -(2**63), 2**63 - 1])
def test_the_largest_and_smallest_of_equal_numbers_at_the_ends_of_a_dtype(x):
    whole = np.full((18, 19), x)
    got, _ = compiled(lambda x: [np.max(x, 0), np.min(x, 1), np.max(x), np.min(x)], whole)
    for found, shape in zip(got, [(19,), (18,), (), ()], strict=True):
        np.testing.assert_array_equal(found, np.full(shape, x), strict=True)


@pytest.mark.parametrize(
    ("shape", "scalar"),
    [((5, 3), 1), ((5, 4, 3), 2), ((100, 3), 0), ((5,), 0), ((5, 1), 0), ((100, 5, 3), 1)],
)
def test_short_loops_around_others_are_not_vectorized(shape, scalar):
    # LLVM would read and write the entries of several rows at once, from here and there.
    writer = LLVMWriter()
    with writer.loops(shape):
        pass
    assert sum(["!llvm.loop" in line for line in writer.lines]) == scalar
    assert bool(writer.defined) == bool(scalar)


@pytest.mark.parametrize(("size", "dtype"), [(1024, "float64"), (4096, "int64")])
def test_large_arrays_do_not_begin_in_the_same_set_of_the_cache(size, dtype):
    w = LLVMWriter()
    for _ in range(64):
        w.buffer(size, dtype)
    assert all(buffer.offset % 64 == 0 for buffer in w.buffers)
    counts = np.bincount([buffer.offset % 4096 // 64 for buffer in w.buffers], minlength=64)
    assert counts.max() == 1
    assert min(np.diff([buffer.offset for buffer in w.buffers])) >= 8 * size


def test_large_arrays_on_the_stack_are_apart():
    w = LLVMWriter()
    w.buffer(512, "float64")
    w.buffer(3, "float64")
    assert [line.split("alloca ")[1] for line in w.stack] == [
        "[552 x double], align 64",
        "[3 x double], align 64",
    ]


def test_convolutions_and_cardinal_sines_take_as_long_in_numpy_as_they_are_estimated():
    """By the counts of their calls and products: machine code is made of them as soon as it pays."""
    x, kernel = fg.var("x", (31, 39)), fg.var("k", (31, 9))
    rows = estimate(flatten_program([convolve_op(x, kernel, kept="valid")], [x, kernel]))
    assert 15e3 < rows.numpy < 60e3
    assert rows.native < 0.1 * rows.numpy
    v, w = fg.var("v", 1000), fg.var("w", 300)
    vectors = estimate(flatten_program([convolve_op(v, w, kept="valid")], [v, w]))
    assert 15e3 < vectors.numpy < 60e3
    sinc = estimate(flatten_program([fg.gradient(np.sum(np.sinc(v)), v)], [v]))
    assert 20e3 < sinc.numpy < 100e3


def test_cofactors_of_many_rows_are_machine_code_under_plain_jit():
    """NumPy factors the matrix for its determinant, and once more for its inverse."""
    a = fg.var("a", (100, 100))
    found = estimate(flatten_program([fg.gradient(np.linalg.det(a), a)], [a]))
    assert found.numpy > 1.3 * found.native
    assert NativeProgram(flatten_program([fg.gradient(np.linalg.det(a), a)], [a])).is_possible
