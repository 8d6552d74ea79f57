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


def test_nditer_of_traced_values_is_refused():
    with pytest.raises(TypeError, match=r"nditer: expected numbers.*np\.ndindex"):
        fg.grad(fg.adopt(lambda x: sum(np.nditer([x]))))(np.ones(3))
