"""Small captured arrays count with what they held when they were met; large ones are read at the end."""

import threading
import warnings

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.base.array_capture import COPIED

SMALL, LARGE = COPIED // 8, COPIED // 8 + 1


def refilled(size):
    """A function that fills one buffer anew between its uses."""
    buffer = np.empty(size)

    def loss(x):
        total = 0.0
        for scale in (1.0, 2.0, 3.0):
            buffer[:] = scale
            total = total + np.sum(x * buffer)
        return total

    return loss


@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_a_buffer_up_to_the_limit_counts_with_what_it_held_at_each_use(transform):
    gradient = transform(refilled(SMALL))
    np.testing.assert_array_equal(gradient(np.ones(SMALL)), np.full(SMALL, 6.0))


def test_a_buffer_above_the_limit_counts_with_what_it_holds_at_the_end():
    gradient = fg.grad(refilled(LARGE))(np.ones(LARGE))
    np.testing.assert_array_equal(gradient, np.full(LARGE, 9.0))


def test_a_copy_of_a_large_buffer_counts_with_what_it_held():
    buffer = np.empty(LARGE)

    def loss(x):
        buffer[:] = 1.0
        first = np.sum(x * buffer.copy())
        buffer[:] = 2.0
        return first + np.sum(x * buffer)

    np.testing.assert_array_equal(fg.grad(loss)(np.ones(LARGE)), np.full(LARGE, 3.0))


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad, fg.jit, fg.trace])
def test_arrays_stay_writeable_while_a_function_is_traced(transform, size):
    captured = np.ones(size)
    seen = []

    def loss(x):
        total = np.sum(x * captured)
        seen.append(captured.flags.writeable)
        captured[0] = 1.0
        return total

    with_function = transform(loss) if transform is not fg.trace else lambda x: fg.trace(loss, x)
    with_function(np.ones(size))
    assert seen == [True]
    assert captured.flags.writeable


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_an_array_that_did_not_change_is_one_constant(size):
    captured = np.ones(size)
    met = []

    def loss(x):
        met.extend([(x * captured).args[1], (x + captured).args[1]])
        return np.sum(x)

    fg.grad(loss)(np.ones(size))
    assert met[0].key == met[1].key
    assert met[0].params[0][1].array is met[1].params[0][1].array


def test_an_array_whose_shape_changed_in_place_is_another_constant():
    captured = np.arange(6.0)

    def loss(x):
        first = np.sum(x * captured)
        captured.shape = (2, 3)
        second = np.sum(np.reshape(x, (2, 3))[1] * captured[1]) + np.sum(x[:3] * captured)
        captured.shape = (6,)
        return first + second

    expected = np.arange(6.0) + np.array([3.0, 5.0, 7.0, 3.0, 4.0, 5.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5: of shapes that are set
        np.testing.assert_array_equal(fg.grad(loss)(np.ones(6)), expected)


def test_a_read_only_array_of_its_own_memory_is_not_copied():
    fixed = np.ones(3)
    fixed.flags.writeable = False
    held = []
    fg.grad(lambda x: held.append((x * fixed).args[1]) or np.sum(x))(np.ones(3))
    assert held[0].params[0][1].array is fixed


def test_a_read_only_view_of_a_buffer_counts_with_what_it_held():
    buffer = np.ones(3)
    view = buffer[:]
    view.flags.writeable = False

    def loss(x):
        first = np.sum(x * view)
        buffer[:] = 2.0
        return first + np.sum(x * view)

    np.testing.assert_array_equal(fg.grad(loss)(np.ones(3)), np.full(3, 3.0))


def test_a_nested_trace_counts_with_what_it_met():
    buffer = np.ones(3)

    def outer(x):
        inner = fg.grad(lambda y: np.sum(x * y * buffer))(np.ones(3))
        buffer[:] = 2.0
        return np.sum(inner) + np.sum(x * buffer)

    np.testing.assert_array_equal(fg.grad(outer)(np.ones(3)), np.full(3, 3.0))


def test_a_large_array_under_jit_is_read_at_each_call():
    captured = np.ones(LARGE)
    gradient = fg.jit(fg.grad(lambda x: np.sum(x * captured)))
    np.testing.assert_array_equal(gradient(np.ones(LARGE)), np.ones(LARGE))
    captured[:] = 2.0
    np.testing.assert_array_equal(gradient(np.ones(LARGE)), np.full(LARGE, 2.0))
    assert gradient.explain_misses().count("\n") == 0


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_results_do_not_change_with_what_was_captured(size):
    captured = np.ones(size)
    x = fg.var("x", size)
    formula = fg.grad(lambda x: np.sum(x * captured))(x)
    traced = fg.trace(lambda x: np.sum(x * captured), np.ones(size))
    _, pullback = fg.vjp(lambda x: x * captured, np.ones(size))
    _, flow = fg.linearize(lambda x: x * captured, np.ones(size))
    captured[:] = 5.0
    np.testing.assert_array_equal(fg.evaluate(formula), np.ones(size))
    assert fg.evaluate(traced, {"x": np.ones(size)}) == size
    np.testing.assert_array_equal(pullback(np.ones(size))[0], np.ones(size))
    np.testing.assert_array_equal(flow(np.ones(size)), np.ones(size))


def test_two_threads_trace_with_one_array():
    whole = np.ones(2 * LARGE)
    begun, ended = threading.Event(), threading.Event()
    results = []

    def slow(x):
        y = np.sum(x * whole)
        begun.set()
        assert ended.wait(10)
        return y

    thread = threading.Thread(target=lambda: results.append(fg.grad(slow)(np.ones(2 * LARGE))))
    thread.start()
    assert begun.wait(10)
    try:
        results.append(fg.grad(lambda x: np.sum(x * whole[:LARGE]))(np.ones(LARGE)))
    finally:
        ended.set()
        thread.join()
    assert [result.shape for result in results] == [(LARGE,), (2 * LARGE,)]
    assert all((result == 1.0).all() for result in results)


def test_a_buffer_that_is_used_again_counts_with_what_it_held():
    a, index = np.zeros(3), np.zeros(1, int)

    def f(x):
        s = 0.0
        for i in range(3):
            a[:] = i + 1
            index[:] = i
            s = s + np.sum(x * a) + 10 * x[index][0]
        return s

    value, slope = fg.value_and_grad(f)(np.ones(3))
    assert value == f(np.ones(3)) == 48
    np.testing.assert_array_equal(slope, [16.0, 16.0, 16.0])


def test_a_buffer_in_an_inner_function_and_one_in_a_formula():
    a = np.ones(2)

    def f(x):
        inner = fg.grad(lambda y: np.sum(x * y * a))(x)
        a[:] = 5.0
        return np.sum(inner * a)

    np.testing.assert_array_equal(fg.grad(f)(np.ones(2)), [5.0, 5.0])
    a[:] = 1.0
    x = fg.var("x", 2)
    formula = fg.grad(lambda x: np.sum(x * a))(x)
    a[:] = 7.0
    np.testing.assert_array_equal(fg.evaluate(formula), [1.0, 1.0])


@pytest.mark.parametrize("n", [3, 100_000])
def test_a_pullback_keeps_its_point(n):
    x, c = np.ones(n), np.ones(n)
    _, pullback = fg.vjp(lambda x: c * x**3, x)
    x[:], c[:] = 100.0, 100.0
    np.testing.assert_array_equal(pullback(np.ones(n))[0], 3.0)


def test_an_array_that_was_read_only_stays_so():
    a = np.ones(20_000)
    a.flags.writeable = False
    wide = np.broadcast_to(np.ones(2), (10_000, 2))
    fg.grad(lambda x: np.sum(x * a) + np.sum(x[:2] * wide))(np.ones(20_000))
    assert not a.flags.writeable
    assert not wide.flags.writeable


def test_the_same_array_is_one_constant():
    a = np.ones(3)
    both = fg.trace(lambda x: (x * a, x * a), np.ones(3))
    assert both[0].key == both[1].key
    products = []
    fg.grad(lambda x: products.extend([x * a, x * a]) or np.sum(x))(np.ones(3))
    assert products[0].args[1] is products[1].args[1]
