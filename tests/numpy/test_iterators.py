"""``np.broadcast`` and ``np.nditer`` in adopted code."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


def test_broadcast_has_the_shape_and_the_entries():
    def f(x):
        both = np.broadcast(x, np.array([[1.0], [2.0]]))
        out = np.empty(both.shape)
        for i, (a, b) in enumerate(both):
            out.flat[i] = a * b
        return (out * out).sum()

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(fg.grad(fg.adopt(f))(x), 10.0 * x)


@pytest.mark.parametrize("operands", [(np.ones((2, 1)), np.arange(3)), (1.0, 2.0), ([], 1.0)])
def test_broadcast_is_numpys(operands):
    own, theirs = fnp.broadcast(*operands), np.broadcast(*operands)
    for name in ("shape", "ndim", "nd", "size", "numiter", "index"):
        assert getattr(own, name) == getattr(theirs, name)
    assert list(own) == list(theirs)
    own.reset()
    assert len(list(own)) == theirs.size


def test_nditer_reads_and_stores_numbers():
    def f(x):
        y = np.zeros(3)
        with np.nditer(y, op_flags=["readwrite"]) as entries:
            for entry in entries:
                entry[...] = 2.0
        return (y * x).sum() + sum(a * b for a, b in np.nditer([y, y]))

    assert np.array_equal(fg.grad(fg.adopt(f))(np.ones(3)), [2.0, 2.0, 2.0])


def read(x):
    total = 0.0
    for entry in np.nditer(x):
        total = total + entry**3
    return total


def placed(x):
    entries, total = np.nditer(x, flags=["multi_index"]), 0.0
    while not entries.finished:
        i = entries.multi_index
        total += entries[0] * x[i] * (1 + i[0] + 2 * i[1])
        entries.iternext()
    return total


def stored(x):
    y = x.copy()
    with np.nditer(y, op_flags=["readwrite"]) as entries:
        for entry in entries:
            entry[...] = entry * entry + 1
    return (y * x).sum()


def allocated(x):
    entries = np.nditer([x, np.arange(3.0), None])
    for a, b, c in entries:
        c[...] = a * b + a * a
    return entries.operands[2].sum()


def allocated_for_plain_operands(x):
    entries = np.nditer([np.arange(6.0).reshape(2, 3), None])
    for a, c in entries:
        c[...] = a * x[1, 0]
        c[...] = c[...] + x[0, 2] * a
    return (entries.operands[1] ** 2).sum()


def filled(x):
    y = np.zeros((2, 3))
    for a, b in np.nditer([x, y], op_flags=[["readonly"], ["writeonly"]]):
        b[...] = np.sin(a)
    return y.sum()


def in_orders(x):
    total, entries = 0.0, np.nditer(x.T, flags=["c_index"], order="C")
    for entry in entries:
        total += entry * entries.index
    for entry in np.nditer(x.T):
        total = total * 1.1 + entry
    for entry in np.nditer((2 * x).T[::-1], order="F"):
        total = total * 0.9 + entry
    for a, b in np.nditer([x.T, np.ones((3, 2))]):
        total = total * 1.1 + a * b
    return total


def by_differences(x):
    """The gradient that courses let students write."""

    def gradient(f, y):
        found = np.zeros_like(y)
        entries = np.nditer(y, flags=["multi_index"], op_flags=["readwrite"])
        while not entries.finished:
            i = entries.multi_index
            old = y[i]
            y[i] = old + 1e-3
            above = f(y)
            y[i] = old - 1e-3
            below = f(y)
            y[i] = old
            found[i] = (above - below) / 2e-3
            entries.iternext()
        return found

    return (gradient(lambda y: (y**3).sum(), x.copy()) ** 2).sum()


def reduced(x):
    total = np.array(0.0)
    flags = [["readonly"], ["readwrite"]]
    for a, b in np.nditer([x, total], flags=["reduce_ok"], op_flags=flags):
        b[...] += a * a
    return total[()]


@pytest.mark.parametrize(
    "f",
    [
        *(read, placed, stored, allocated, allocated_for_plain_operands, filled, in_orders),
        *(by_differences, reduced),
    ],
)
def test_nditer_goes_over_traced_values_as_numpy_does(f):
    x, step = np.array([[0.5, 1.0, 2.0], [3.0, -1.0, 0.25]]), 1e-5
    moves = step * np.eye(6).reshape(6, 2, 3)
    slopes = np.array([f(x + d) - f(x - d) for d in moves]).reshape(2, 3) / (2 * step)
    value, gradient = fg.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), gradient, rtol=1e-10)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.stack([x, x]))[1], gradient, rtol=1e-10)


def test_nditer_starts_again_and_has_no_entries():
    def f(x):
        entries = np.nditer(x)
        first = next(entries)
        entries.reset()
        again = sum(entries)
        assert len(entries) == 1
        assert entries.itersize == 3
        none = sum(np.nditer(x[:0], flags=["zerosize_ok"]))
        with pytest.raises(ValueError, match="zero-sized operands"):
            np.nditer(x[:0])
        return first * again + none

    assert fg.grad(f)(np.array([2.0, 3.0, 4.0])).tolist() == [11.0, 2.0, 2.0]


def test_a_copy_of_nditer_goes_on_from_its_place():
    def f(x):
        entries = np.nditer([x, 2 * x])
        first = next(entries)
        others = entries.copy()
        second, again = next(entries), next(others)
        assert len(list(entries)) == len(list(others)) == 1
        return first[0] + 3 * second[1] * again[0] + 0 * again[1]

    x = np.array([2.0, 3.0, 4.0])
    assert f(x) == 56.0
    assert fg.grad(f)(x).tolist() == [1.0, 36.0, 0.0]


def test_nditer_is_moved_to_a_place():
    def f(x):
        entries = np.nditer(x, flags=["multi_index"])
        entries.multi_index = (1, 0)
        first = entries[0] * 1.0
        entries.iterindex = 1
        return first * entries[0]

    x = np.array([[2.0, 3.0], [4.0, 5.0]])
    assert f(x) == 12.0
    assert fg.grad(f)(x).tolist() == [[0.0, 4.0], [3.0, 0.0]]


def test_nditer_refuses_what_has_no_buffers():
    with pytest.raises(AttributeError, match="nditer: expected no itviews of an iterator"):
        fg.grad(lambda x: np.nditer(x, order="C").itviews[0].sum())(np.ones(3))
    for options in ({"flags": ["external_loop"]}, {"itershape": (3,)}):
        with pytest.raises(TypeError, match=r"nditer: expected an iterator over single entries"):
            fg.grad(lambda x, options=options: sum(np.nditer(x, **options)))(np.ones(3))
    with pytest.raises(TypeError, match="nditer: expected the order 'C', since an expression has"):
        fnp.nditer(fg.var("x", (2, 3)))
    assert len(list(fnp.nditer(fg.var("x", (2, 3)), order="C"))) == 6
