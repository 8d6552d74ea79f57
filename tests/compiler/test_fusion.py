"""Groups that run block by block give what their operations give one by one, on any number of threads."""

import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autodiff.accumulate import gradients
from funcgrad.compiler.call_ir import aligned
from funcgrad.compiler.flat_program import flatten_program, interpret, source_text
from funcgrad.compiler.numpy import thread_pool as workers
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays
from funcgrad.compiler.pass_options import PassOptions
from funcgrad.compiler.passes import fusion as blocks
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.rewrite.simplify import simplify_all
from tests.default_slice import one_in

N = 100_003  # not a whole number of blocks


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_CACHE", 1 << 16)
    monkeypatch.setattr(blocks, "_THREADED", 1 << 18)


def compiled(roots, inputs):
    return compile_arrays(roots, inputs), flatten_program(roots, inputs)


def is_blocked(run):
    return "each_block(block0" in source_text(run)


def check(roots, inputs, values, *, ulps=None, groups=True):
    """Equal bit by bit, or but for the last places of what is summed in another order."""
    run, flat = compiled(roots, inputs)
    assert is_blocked(run) is groups
    before = [np.array(value) for value in values]
    expected = interpret(flat, values)
    for _ in range(2):
        got = run(*values)
        for a, b in zip(got, expected, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert np.shape(a) == np.shape(b)
            if ulps is None:
                np.testing.assert_array_equal(a, b)
                if np.asarray(a).dtype.kind == "f":
                    np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
            else:
                eps = np.finfo(np.asarray(b).dtype).eps
                np.testing.assert_allclose(a, b, rtol=ulps * eps, atol=ulps * eps)
            if isinstance(a, np.ndarray):
                assert not any(np.shares_memory(a, value) for value in values)
                a[...] = 7
    for value, copy in zip(values, before, strict=True):
        np.testing.assert_array_equal(value, copy)


def points(n=N, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(size=n).astype(dtype)


ENTRIES = [op for op in all_ops().values() if isinstance(op, Elementwise)]


@pytest.mark.parametrize(
    ("dtype", "op"),
    one_in(3, itertools.product(["float64", "float32"], ENTRIES)),
    ids=lambda v: getattr(v, "name", v),
)
def test_entries_are_bit_equal(op, dtype):
    count = len(op.edges)
    x = [fg.var(f"x{i}", N, dtype) for i in range(count)]
    values = [points(N, dtype, seed) for seed in range(count)]
    values[0][:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1.0, -1.0]
    try:
        if op.name in ("where", "mask"):
            output = op(x[0] > 0, *x[1:])
        elif op.name.startswith(("logical_", "bitwise_", "invert")):
            output = op(*[v > 0 for v in x])
        else:
            output = op(*x)
    except TypeError:
        pytest.skip("not of these types")
    if output.op is x[0].op:
        pytest.skip("the operand itself")
    other = output if output.dtype.kind == "b" else output * 2
    # (Softplus is run in another form: tests/compiler/test_softplus_sigmoid.py says how exact it is.)
    ulps = 4 if op.name == "softplus" else None
    check([output, np.where(x[0] > 0, other, other)], x, values, ulps=ulps)


def odd(kind):
    base = np.random.default_rng(1).normal(size=(400, 600))
    return {
        "whole": base[:, :300].copy(),
        "every other": base[:, ::2],
        "reversed": base[::-1, 300:][:, ::-1],
        "Fortran": np.asfortranarray(base[:, :300]),
        "transposed": base[:300, :400].T.copy().T.T[:400, :300],
    }[kind]


@pytest.mark.parametrize("kind", ["whole", "every other", "reversed", "Fortran", "transposed"])
def test_any_strides(kind):
    value = odd(kind)
    assert value.shape == (400, 300)
    x, row, column = fg.var("x", (400, 300)), fg.var("r", 300), fg.var("c", (400, 1))
    outputs = [np.exp(-((x + row) ** 2)) * column, np.sin(x) * x]
    check(outputs, [x, row, column], [value, odd("whole")[0], odd("whole")[:, :1]])


def test_broadcast_operands_of_short_rows():
    x, m = fg.var("x", (3001, 1, 5)), fg.var("m", (7, 5))
    w = fg.var("w", (3001, 7))
    d = (x - m) * np.exp(m)
    outputs = [d * d * np.expand_dims(w, 2), np.tanh(d), np.max(d, axis=2) - w]
    values = [
        points(3001 * 5).reshape(3001, 1, 5),
        points(35).reshape(7, 5),
        points(21007).reshape(3001, 7),
    ]
    check(outputs, [x, m, w], values)
    sums = [np.sum(d * d, axis=2) * w, np.sum(d * np.expand_dims(w, 2), axis=0), np.sum(np.sin(d))]
    check(sums, [x, m, w], values, ulps=64)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_totals_are_as_accurate_as_numpys(dtype):
    x = fg.var("x", 10**6, dtype)
    value = np.random.default_rng(3).random(10**6).astype(dtype)
    run, flat = compiled([np.sum(x * x), np.max(x * x), np.min(x * x)], [x])
    assert is_blocked(run)
    total, high, low = run(value)
    exact = float(np.sum((value * value).astype(np.longdouble)))
    wanted, *ends = interpret(flat, [value])
    bound = 4 * np.finfo(dtype).eps * exact
    assert abs(wanted - exact) <= bound
    assert abs(total - exact) <= bound
    assert [high, low] == ends


@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_sums_along_axes(axis):
    x = fg.var("x", (5000, 40))
    value = points(200_000).reshape(5000, 40)
    check([np.sum(np.exp(x) * x, axis=axis)], [x], [value], ulps=256)


def test_totals_of_other_dtypes():
    x = fg.var("x", N, "int32")
    y = fg.var("y", N, "complex128")
    values = [np.arange(N, dtype="int32"), points() + 1j * points(seed=1)]
    check([np.sum(x * x + 1), np.sum((x > 5) & (x < 700))], [x], values[:1])
    check([np.sum(y * y), np.exp(y) * y], [y], values[1:], ulps=1e5)


def logistic(features, labels):
    def loss(w):
        score = features @ w
        return np.mean(np.logaddexp(0.0, score) - labels * score)

    return loss


def test_products_with_tall_matrices():
    features, labels = points(40_000 * 12).reshape(-1, 12), (points(40_000) > 0) * 1.0
    w = points(12)
    gradient = fg.jit(fg.value_and_grad(logistic(features, labels)))
    for _ in range(4):
        value, slope = gradient(w)
    assert "matmul" in gradient.program.source.partition("def body")[0]
    score = features @ w
    by_hand = features.T @ (1 / (1 + np.exp(-score)) - labels) / len(labels)
    np.testing.assert_allclose(slope, by_hand, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(value, np.mean(np.logaddexp(0, score) - labels * score), rtol=1e-13)


def test_what_waits_for_a_total_starts_another_group():
    x = fg.var("x", N)
    y = np.exp(x) * x
    z = y / np.sqrt(np.sum(y * y) + 1)
    check([np.sin(z) * z, np.sum(z)], [x], [points()], ulps=64)
    root = np.sum(np.sin(z) * np.cos(z))
    check(simplify_all([root, *gradients(root, [x])]), [x], [points()], ulps=1024)


def test_the_same_value_twice_and_inputs_as_results():
    x = fg.var("x", N)
    y = np.exp(x) + 1
    check([y, y, x, np.reshape(y, (1, N)), y * x], [x], [points()])


def test_results_do_not_depend_on_threads(monkeypatch):
    x = fg.var("x", 10**6)
    value = points(10**6)
    run, _ = compiled([np.exp(np.sin(x)) * x, np.sum(np.cos(x) * x)], [x])
    several = run(value)
    monkeypatch.setattr(workers, "cores", lambda: 1)
    alone = run(value)
    assert several[1] == alone[1]
    np.testing.assert_array_equal(several[0], alone[0])


def test_many_threads_share_a_program(monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: 4)
    x = fg.var("x", N)
    roots = [np.exp(np.sin(x)) * x, np.sum(np.cos(x) * x)]
    run = compile_arrays(roots, [x], PassOptions(frozenset({"whole_program"})))  # NumPy's bits
    values = [np.full(N, float(i)) for i in range(6)]
    expected = [run(value) for value in values]
    wrong = []

    def work(i):
        for _ in range(20):
            array, total = run(values[i])
            if total != expected[i][1] or not np.array_equal(array, expected[i][0]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_error_in_a_thread_is_raised_here_and_leaves_all_usable(monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: 3)
    main = threading.get_ident()
    come = threading.Event()

    def fail(take):
        while take() >= 0:
            if threading.get_ident() != main:
                come.set()
                raise OverflowError("far away")
            assert come.wait(10)

    with pytest.raises(OverflowError, match="far away"):
        workers.each(fail, 50)
    done = []

    def work(take):
        while (i := take()) >= 0:
            done.append(i)

    workers.each(work, 100)
    assert sorted(done) == list(range(100))


def in_a_process_of_its_own(script):
    """Other tests' libraries have threads, and warn of forks."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_after_a_fork_threads_are_made_anew():
    in_a_process_of_its_own(
        """
import os, numpy as np, funcgrad as fg
from funcgrad.compiler.numpy import thread_pool as workers
workers.cores = lambda: 2
f = fg.jit(lambda x: np.exp(np.sin(x)) * x)
value = np.linspace(-3.0, 3.0, 10**6)
expected = f(value)
child = os.fork()
if not child:
    os._exit(0 if np.array_equal(f(value), expected) else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )


def test_no_thread_is_made_before_it_is_wanted():
    in_a_process_of_its_own(
        """
import threading, numpy as np, funcgrad as fg
fg.jit(fg.grad(lambda x: np.sum(np.sin(x) * x)))(np.ones(10))
raise SystemExit(threading.active_count() - 1)
"""
    )


def test_small_and_empty_arrays_have_no_groups():
    for n in (0, 5):
        x = fg.var("x", n)
        check([np.exp(x) * x, np.sum(np.sin(x) * x)], [x], [np.ones(n)], groups=False)


def test_memory_is_no_more_than_of_what_is_returned_and_scratch():
    import tracemalloc

    n = 10**6
    x = fg.var("x", n)
    run, _ = compiled([np.exp(np.sin(x) * x) + np.cos(x), np.sum(np.tanh(x) * x)], [x])
    value = points(n)
    run(value)
    tracemalloc.start()
    run(value)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * value.nbytes


# -- stacks of matrices, small arrays, what is computed twice ------------------------------------------
STACK = [fg.var("x", (300, 20, 30)), fg.var("a", (300, 30, 4))]


def stack():
    rng = np.random.default_rng(0)
    return [rng.normal(size=x.shape) for x in STACK]


def test_products_of_stacks():
    x, a = STACK
    one = np.sum(np.exp(-x * x) @ a, axis=2)
    two = np.tanh(np.swapaxes(a, 1, 2) @ np.sin(np.swapaxes(x, 1, 2)))
    check([one, two], STACK, stack(), ulps=40)
    text = source_text(compile_arrays([one, two], STACK))
    head, body = text.split("def body")
    assert head.count("matmul(") == 2
    assert "matmul(" not in body


def test_products_of_large_matrices_are_left_alone():
    x = fg.var("x", (4, 200, 300))
    root = np.cos((x * 2) @ np.swapaxes(np.sin(x), 1, 2))
    head, body = source_text(compile_arrays([root], [x])).split("def body")
    assert "matmul(" not in head
    assert "matmul(" in body


def test_small_arrays_are_not_done_block_by_block():
    x, r = fg.var("x", (400, 500)), fg.var("r", 400)
    before = np.exp(r) * 2
    between = np.sum(np.exp(-x * x) * before[:, None], axis=1)
    after = np.sum(x / between[:, None] * np.sin(x), axis=1)
    roots = [np.tanh(after) * r]
    rng = np.random.default_rng(0)
    check(roots, [x, r], [rng.normal(size=(400, 500)), rng.normal(size=400)], ulps=300)
    head, body = source_text(compile_arrays(roots, [x, r])).split("def body")
    assert "tanh(" not in head
    assert body.index("exp(") < body.index("each_block") < body.index("tanh(")


def test_what_is_cheap_is_computed_twice():
    x, y = fg.var("x", (400, 1)), fg.var("y", 500)
    gap = y - x
    top = np.max(np.exp(-gap * gap), axis=0)
    roots = [np.sum(np.cos(gap) * top * gap, axis=1)]
    values = [points(400)[:, None], points(500, seed=1)]
    check(roots, [x, y], values, ulps=300)
    text = source_text(compile_arrays(roots, [x, y]))
    assert text.count("subtract(") == 2
    assert "empty((400, 500)" not in text
    # What is asked for as it is, or has operands as large as itself, is computed once.
    for other in (gap + 0.0 * y * x, gap):
        check([other, *roots], [x, y], values, ulps=300)
    text = source_text(compile_arrays([gap, *roots], [x, y]))
    assert text.count("subtract(") == 1


def test_what_is_cheap_outside_of_groups():
    x, y = fg.var("x", (400, 1)), fg.var("y", 500)
    gap = y - x
    top = np.sum(np.exp(-gap * gap), axis=1)
    roots = [np.sort(gap, axis=0)[0] + np.sum(top), np.cumsum(gap, axis=1), np.sum(gap.T @ gap)]
    check(roots, [x, y], [points(400)[:, None], points(500, seed=1)], ulps=3000)


def test_scratch_starts_with_a_line_of_the_cache():
    for shape, dtype in [
        ((3, 5), "float64"),
        ((1,), "float32"),
        ((7, 2, 3), "bool"),
        ((0, 3), "int16"),
    ]:
        array = aligned(shape, np.dtype(dtype))
        assert (array.shape, array.dtype) == (shape, dtype)
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.size == 0 or array.ctypes.data % 64 == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_last_block_of_one_row(dtype):
    def f(x, y):
        return np.sum(np.log(fg.softplus(np.logaddexp(x, np.log(y)))) * y)

    for rows in range(17, 42, 4):
        x = np.linspace(-1.0, 1.0, 900).reshape(300, 3).astype(dtype)
        y = np.linspace(0.5, 2.0, 900 * rows).reshape(rows, 300, 3).astype(dtype)
        slope = fg.grad(f, argnums=1)
        want = slope(x, y)
        np.testing.assert_allclose(fg.jit(slope)(x, y), want, atol=8 * np.finfo(dtype).eps)
