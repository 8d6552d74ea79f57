"""Stacks of loops are filled again only if nothing else holds them."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.stack_pool import StackPool
from funcgrad.graph import ArrayType

LARGE = ArrayType((4096,), np.dtype(float))
counted = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="reference counts are CPython's"
)


def place(array):
    return array.__array_interface__["data"][0]


@counted
def test_an_array_that_was_let_go_is_used_again():
    pool = StackPool([LARGE])
    (first,) = pool.stacks(3)
    where = place(first)
    del first
    (second,) = pool.stacks(3)
    assert place(second) == where
    assert second.shape == (3, 4096)


@pytest.mark.parametrize("kept", [lambda x: x, lambda x: x[1:], lambda x: x.T, memoryview])
def test_an_array_that_somebody_holds_is_not(kept):
    pool = StackPool([LARGE])
    (first,) = pool.stacks(3)
    first[...] = 1.0
    held = kept(first)
    del first
    (second,) = pool.stacks(3)
    second[...] = 2.0
    np.testing.assert_array_equal(held, 1.0)


def test_other_lengths_have_arrays_of_their_own():
    pool = StackPool([LARGE, LARGE])
    assert [x.shape for x in pool.stacks(3)] == [(3, 4096)] * 2
    assert [x.shape for x in pool.stacks(5)] == [(5, 4096)] * 2
    assert not np.shares_memory(*pool.stacks(5))


@counted
def test_small_and_huge_arrays_are_not_kept():
    for length, type in ((3, ArrayType((2,), np.dtype(float))), (4096, LARGE)):
        pool = StackPool([type])
        pool.stacks(length)
        assert pool._held == []


def outputs(xs, h):
    return fg.scan(lambda h, x: (np.tanh(h + x), h * x), h, xs)[1]


def test_results_of_jitted_loops_stay_as_they_are():
    f, xs = fg.jit(outputs), np.linspace(0, 1, 40)
    states = [np.full(4096, k / 10) for k in range(6)]
    found = [f(xs, h) for h in states]
    for h, ys in zip(states, found, strict=True):
        np.testing.assert_allclose(ys, np.asarray(fg.jit(outputs)(xs, h)), rtol=1e-12)
    assert not any(np.shares_memory(a, b) for a in found for b in found if a is not b)


def test_threads_have_stacks_of_their_own():
    loss = fg.jit(fg.grad(lambda h, xs: np.sum(np.sin(outputs(xs, h)))))
    xs = np.linspace(0, 1, 40)
    states = [np.full(4096, k / 10) for k in range(8)]
    wanted = [loss(h, xs) for h in states]
    with ThreadPoolExecutor(4) as threads:
        for found, want in zip(
            threads.map(lambda h: loss(h, xs), states * 3), wanted * 3, strict=True
        ):
            # Machine code, which runs after some calls, may differ in the last place.
            np.testing.assert_allclose(found, want, rtol=4e-16)
