"""Bodies: functions traced to closed programs."""

import numpy as np

import funcgrad as fg
from funcgrad.trace.pytree import flatten
from funcgrad.trace.trace_body import symbols, trace_body


def body_and_captured(f, x):
    tree = flatten(x, "x")
    body, captured, _ = trace_body(f, [tree], symbols([tree], [fg.const(x).type]))
    return body, captured


def test_the_body_of_equal_traces_is_made_once():
    first, others = np.arange(3.0), np.ones(3)
    body, captured = body_and_captured(lambda x: np.sin(x) * first, np.ones(3))
    again, found = body_and_captured(lambda x: np.sin(x) * others, np.ones(3))
    assert body is again
    np.testing.assert_array_equal([captured[0], found[0]], [first, others])


def test_other_constants_are_other_bodies():
    body, _ = body_and_captured(lambda x: x * 2.0, 1.0)
    other, _ = body_and_captured(lambda x: x * 3.0, 1.0)
    assert body != other


def test_captured_values_that_the_result_does_not_need_are_left_out():
    left, read = np.ones(3), np.full(3, 2.0)

    def f(x):
        _ = x * left
        return x * read

    _, captured = body_and_captured(f, np.ones(3))
    assert len(captured) == 1
    np.testing.assert_array_equal(captured[0], read)
