"""Counts, axes and places that are traced integers: alone, in lists and tuples, and as arrays."""

import numpy as np
import pytest

import funcgrad as fg

X = np.array([2.3, 1.2, 0.7, 3.1])

CALLS = """
np.split(v, [one, two])
np.array_split(v, (one, 3))
np.split(v, array)
np.split(m, [one], axis=one)
np.hsplit(m, [one])
np.vsplit(m, [one])
np.rot90(m, k=one, axes=[zero, one])
np.rot90(m, 1, (one, zero))
np.transpose(m, (one, zero))
np.transpose(m, array[::-1] - 1)
m.transpose([one, zero])
np.moveaxis(m, [zero, one], [one, zero])
np.reshape(m, (two, two * 3))
np.reshape(v, [two, two])
np.reshape(v, array * 0 + 2)
m.reshape([two, 6])
v.reshape(array * 0 + 2)
np.roll(m, (one, two), (zero, one))
np.roll(m, array, array - 1)
np.tile(v, [one, two])
np.tile(v, array)
np.repeat(v, [one, two, one, zero])
np.swapaxes(m, zero, one)
np.expand_dims(v, (zero, two))
np.broadcast_to(v[0], two)
np.broadcast_to(v, [two, 4])
np.flip(m, [zero, one])
np.squeeze(m[None, :, :, None], (zero, two + one))
np.sum(m, (zero, one))
np.pad(v, (one, two))
np.pad(m, [[one, zero], [two, one]], mode="edge")
np.delete(v, [one, two])
np.insert(v, [one, two], [x[0], x[1]])
np.partition(v, [one, two])
np.tensordot(m, m.T, one)
np.tensordot(m, m, axes=([zero, one], [zero, one]))
np.lib.stride_tricks.sliding_window_view(m, (two, two))
np.fft.fft(v, two).real
np.fft.fftn(m, s=(two, two), axes=(zero, one)).real
np.fft.irfft(v, two * 2)
np.fft.fftshift(m, [one])
np.fft.fftshift(m, one)
np.concatenate([m, m], axis=one)
np.unstack(m, axis=one)
""".strip().splitlines()

INTEGERS = """
    one = np.floor(x[1]).astype(int)
    two, zero = one + one, one - 1
    array = np.floor(x[:2] / np.array([2.0, 0.55])).astype(int)
"""
TRACED = "    m, v = np.outer(np.arange(3.0) + 1, x), x * 1.0\n"
STORED = """
    m, v = np.zeros((3, 4)), np.zeros(4)
    m[:], v[:] = np.outer(np.arange(3.0) + 1, x), x
    m[0, 0], v[1] = x[1], 2 * x[1]
"""
WEIGHTED = """
    parts = made if isinstance(made, list | tuple) else [made]
    return sum(np.sum(p.ravel() * (i + np.arange(1.0, p.size + 1))) for i, p in enumerate(parts))
"""


def program(call, arrays):
    """The entries of the result of a call, each with a weight of its own."""
    source = f"def f(x):{INTEGERS}{arrays}    made = {call}\n" + WEIGHTED
    names = {"np": np}
    exec(compile(source, "<program>", "exec"), names)
    return names["f"]


@pytest.mark.parametrize("arrays", [TRACED, STORED], ids=["traced", "stored"])
@pytest.mark.parametrize("call", CALLS)
def test_traced_counts_are_those_of_the_call(call, arrays):
    f = program(call, arrays)
    shifts = 1e-6 * np.eye(4)
    slope = [(f(X + d) - f(X - d)) / 2e-6 for d in shifts]
    np.testing.assert_allclose(fg.jit(f)(X), f(X), rtol=1e-13)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([X, X])), [f(X)] * 2, rtol=1e-13)
    np.testing.assert_allclose(fg.grad(f)(X), slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(X), slope, rtol=1e-6, atol=1e-6)


def test_counts_that_stand_for_many_are_refused_with_the_line():
    def body(total, x):
        cell = np.zeros(4)
        cell[0] = x
        return total + np.split(cell, [np.floor(x).astype(int), 2])[0].sum(), None

    with pytest.raises(TypeError, match=r"split: expected a number.*\n.*test_traced_counts.py"):
        fg.scan(body, 0.0, np.array([1.0, 1.5]))


@pytest.mark.parametrize("size", [0, 7, 200])
@pytest.mark.parametrize(
    "shift", [np.int8(5), np.int8(-128), np.uint8(255), np.uint64(2**63), np.int64(-(2**63)), 2**64]
)
def test_shifts_that_a_dtype_has_no_room_to_subtract(shift, size):
    x = np.arange(size) * 1.0
    expected = np.roll(x, shift)
    _, moved = fg.jvp(lambda x: np.roll(x, shift), (x,), (x,))
    np.testing.assert_array_equal(moved, expected)
    np.testing.assert_array_equal(fg.jit(np.roll)(x, shift), expected)
