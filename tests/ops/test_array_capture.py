"""Large arrays are read-only while a function is traced, and never after, wherever an interrupt strikes."""

import contextlib
import itertools
import sys
import threading

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.base import array_capture as held
from funcgrad.trace.leaves import run
from funcgrad.transforms.jit.signature_cache import Compiled

LARGE = 10_000

# What runs between the beginning of a trace and its end, beside the user's function.
WATCHED = {
    held.__file__: None,
    run.__code__.co_filename: {"run"},
    Compiled._trace.__code__.co_filename: {"_trace"},
}


class Interrupt:
    """A context that raises KeyboardInterrupt at the k-th instruction, or entry, of what is watched."""

    def __init__(self, k):
        self.left = k
        self.struck = None

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def trace(self, frame, event, argument):
        names = WATCHED.get(frame.f_code.co_filename, ())
        if names is not None and frame.f_code.co_name not in names:
            return None
        frame.f_trace_opcodes = True
        if event in ("call", "opcode"):
            self.left -= 1
            if self.left == 0:
                self.struck = f"{frame.f_code.co_name}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self.trace


def arrays():
    """An array, one that owns its memory behind a view, and two views of one."""
    plain, whole = np.ones(LARGE), np.ones(3 * LARGE)
    return {
        "plain": plain,
        "linspace": np.linspace(0, 1, LARGE),
        "whole": whole,
        "front": whole[:LARGE],
        "back": whole[LARGE : 2 * LARGE],
    }


def loss_of(made):
    """A function that captures all but one of the arrays."""

    def loss(x):
        return np.sum((x * made["plain"] + made["front"]) ** 2 * made["back"])

    return loss


def writeable(made):
    return {name: array.flags.writeable for name, array in made.items()}


ALL = dict.fromkeys(arrays(), True)


def test_arrays_are_read_only_while_a_function_is_traced_and_never_after():
    made = arrays()
    seen = []

    def loss(x):
        value = loss_of(made)(x)
        seen.append(writeable(made))
        return value

    fg.grad(loss)(made["linspace"])
    assert seen[0] == dict.fromkeys(ALL, False)
    assert writeable(made) == ALL
    assert not held._left


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
def test_an_interrupt_at_any_instruction_leaves_no_array_locked(transform, kept):
    where = set()
    for k in itertools.count(1):
        made = arrays()
        function = transform(loss_of(made))
        caught = None
        with Interrupt(k) as interrupt:
            try:
                function(made["linspace"])
            except KeyboardInterrupt as error:
                caught = error if kept else True
        if interrupt.struck is None:
            break
        assert caught, interrupt.struck
        where.add(interrupt.struck)
        if kept:  # as a console does: what is left over is unlocked by the next call
            assert fg.grad(lambda x: x * x)(3.0) == 6.0
        assert writeable(made) == ALL, interrupt.struck
        assert not held._left, interrupt.struck
        assert held._current() is None or kept, interrupt.struck
        caught = None
        assert held._current() is None, interrupt.struck
    names = {place.split(":")[0] for place in where}
    assert names >= {"hold", "release", "_settle", "_unlock", "capture", "_lock", "run"}
    assert k > 300


def test_an_interrupt_within_a_trace_leaves_the_outer_one_as_it_was():
    made = arrays()
    struck = 0
    for k in itertools.count(1, 7):
        inside = []

        def outer(x, k=k, inside=inside):
            y = x * made["plain"]
            with Interrupt(k) as interrupt, contextlib.suppress(KeyboardInterrupt):
                fg.grad(lambda z: np.sum(z * made["front"]))(made["linspace"])
            inside.append(interrupt.struck)
            assert not made["plain"].flags.writeable, interrupt.struck
            return np.sum(y)

        np.testing.assert_array_equal(fg.grad(outer)(made["linspace"]), made["plain"])
        assert writeable(made) == ALL, inside
        if inside[0] is None:
            break
        struck += 1
    assert struck > 10


def test_a_view_that_outlives_what_it_may_not_write_to_is_left_alone():
    whole = np.ones(LARGE)
    view = whole[:]
    whole.flags.writeable = False
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x * view))(np.ones(LARGE)), whole)
    assert view.flags.writeable
    assert not whole.flags.writeable


def test_arrays_that_were_read_only_stay_so():
    fixed = np.ones(LARGE)
    fixed.flags.writeable = False
    fg.grad(lambda x: np.sum(x * fixed))(np.ones(LARGE))
    assert not fixed.flags.writeable


def test_two_threads_trace_with_views_of_one_array():
    whole = np.ones(2 * LARGE)
    view = whole[:LARGE]
    begun, ended = threading.Event(), threading.Event()

    def slow(x):
        y = np.sum(x * whole)
        begun.set()
        assert ended.wait(10)
        return y

    thread = threading.Thread(target=lambda: fg.grad(slow)(np.ones(2 * LARGE)))
    thread.start()
    assert begun.wait(10)
    assert not whole.flags.writeable
    try:
        fg.grad(lambda x: np.sum(x * view))(np.ones(LARGE))
        assert not whole.flags.writeable  # the other still runs
    finally:
        ended.set()
        thread.join()
    assert whole.flags.writeable
    assert view.flags.writeable
