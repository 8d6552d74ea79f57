"""block, choose, compress, partition, and vectors of two in cross."""

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

X = np.array([0.3, 0.7, 1.9, -2.0])
CALLS = {
    "block": lambda x: np.block([[x, 2 * x], [np.ones(8)]]),
    "block of numbers": lambda x: np.block([x[0], 1.0]),
    "block of one": lambda x: np.block(x),
    "choose": lambda x: np.choose([1, 0, 1, 1], [x, x**2]),
    "choose by clipping": lambda x: np.choose(np.array([[-1], [5]]), [x, 1.0], mode="clip"),
    "choose by wrapping": lambda x: np.choose(np.array([-1, 5, 0, 1]), [x, 2 * x], mode="wrap"),
    "compress": lambda x: np.compress([True, False, True], x),
    "compress along": lambda x: np.compress([False, True], x.reshape(2, 2), axis=1),
    "the method compress": lambda x: x.compress([True, False, True]),
    "the method choose": lambda x: (x > 0).astype(int).choose([x, 2 * x]),
    "pad by a ramp": lambda x: np.pad(x, (1, 2), "linear_ramp", end_values=5.0),
    "pad by the mean": lambda x: np.pad(x.reshape(2, 2), 1, "mean"),
    "pad by the maximum": lambda x: np.pad(x, 2, "maximum", stat_length=2),
    "pad by odd reflection": lambda x: np.pad(x, 3, "reflect", reflect_type="odd"),
    "pad by nothing known": lambda x: np.pad(x, 1, "median"),
    "polymul": lambda x: np.polymul(x, x[:2]),
    "polymul by zero": lambda x: np.polymul([0.0, 0.0], x) + x,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", one_in(3, CALLS))
def test_values_are_numpys_and_derivatives_hold(name):
    f = CALLS[name]
    made, expected = fg.jit(f)(X), f(X)
    assert np.shape(made) == np.shape(expected)
    np.testing.assert_allclose(made, expected, rtol=1e-15)
    fg.check_grads(f, (X,), order=2)


def test_cross_of_vectors_of_two_as_before_numpy_2_5():
    f = lambda x: np.cross(x[:2], x[2:])  # noqa: E731
    assert fg.jit(f)(X) == X[0] * X[3] - X[1] * X[2]
    fg.check_grads(f, (X,), order=2)


def test_the_counts_of_repeat_may_be_a_formula():
    counts = fg.const(np.array([1, 2, 0, 1]))
    gradient = fg.grad(lambda x: np.sum(np.repeat(x, counts)))(X)
    np.testing.assert_array_equal(gradient, [1.0, 2.0, 0.0, 1.0])


def test_float_counts_of_repeat_are_numpys():
    assert fg.grad(lambda x: np.sum(np.repeat(x, 2.0)))(3.0) == 2.0
    assert fg.grad(lambda x: np.sum(np.repeat(x, x)))(2.7) == 2.0
    counts = lambda x: (x * [1.0, 2.0]).astype(int)  # noqa: E731
    assert fg.jit(lambda x: x * np.repeat(np.ones(2), counts(x)).sum())(1.3) == 1.3 * 3
    with pytest.raises(TypeError, match="Cannot cast array data from dtype"):
        fg.grad(lambda x: np.sum(np.repeat(x, np.array([1.0, 2.0, 0.0, 1.0]))))(X)
    with pytest.raises(ValueError, match="negative"):
        fg.grad(lambda x: np.sum(np.repeat(x, -1)))(X)


def test_partition_puts_the_smaller_entries_first():
    made = fg.jit(lambda x: np.partition(x, 2))(X)
    assert sorted(made) == sorted(X)
    assert made[2] == np.partition(X, 2)[2]
    np.testing.assert_array_equal(fg.jit(lambda x: np.argpartition(x, 1))(X), np.argpartition(X, 1))
    x = np.random.default_rng(0).normal(size=(3, 500))
    for kth, axis in ((20, 1), ((3, -20), -1), (2, 0), ([7, 1400], None)):
        found = fg.jit(lambda x, kth=kth, axis=axis: np.partition(x, kth, axis))(x)
        want, along = np.partition(x, kth, axis), axis or 0
        np.testing.assert_array_equal(np.sort(found, along), np.sort(want, along))
        np.testing.assert_array_equal(np.take(found, kth, along), np.take(want, kth, along))
    slope = fg.grad(lambda x: np.sum(np.partition(x, 20)[:, :20] ** 3))
    smallest = x <= np.sort(x)[:, 19:20]
    np.testing.assert_allclose(slope(x), np.where(smallest, 3 * x**2, 0), rtol=1e-14)
    np.testing.assert_array_equal(fg.vmap(slope)(x[:, None])[:, 0], slope(x))
    for f in (np.partition, np.argpartition):
        with pytest.raises(
            ValueError, match=f"{f.__name__}: expected places below 4, but got kth=9"
        ):
            fg.jit(lambda x, f=f: f(x, 9))(np.zeros(4))
    assert fg.jit(lambda x: np.partition(x, 0))(np.zeros((2, 0))).shape == (2, 0)


def test_what_is_refused():
    with pytest.raises(
        ValueError, match=r"block: expected lists nested to one depth, .* but got \[0, 1\]"
    ):
        fg.grad(lambda x: np.block([[x], x]))(X)
    with pytest.raises(TypeError, match=r"is a tuple\. Only lists can be used to arrange blocks"):
        fg.grad(lambda x: np.block([(x, x)]))(X)
    with pytest.raises(ValueError, match="choose: expected indices from 0 to 1"):
        fg.grad(lambda x: np.choose([0, 1, 2, 0], [x, x]))(X)
    with pytest.raises(ValueError, match="compress: expected a condition of one axis"):
        fg.grad(lambda x: np.compress([[True]], x))(X)


TWO, ONE = np.int64(2), np.int32(1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.broadcast_to(x[0, 0], TWO).sum() * x[1, 1],
        lambda x: (np.tile(x, TWO) ** 2).sum(),
        lambda x: (np.split(x, TWO)[0] ** 2).sum(),
        lambda x: (np.tensordot(x, x, ONE) ** 2).sum(),
        lambda x: (np.fft.fftshift(x, ONE)[:, 0] ** 2).sum(),
    ],
)
def test_a_count_may_be_an_integer_of_numpys(f):
    x = np.array([[0.3, 1.2], [-0.7, 2.0]])
    gradient = np.zeros((2, 2))
    for i in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[i] = 1e-6
        gradient[i] = (f(x + step) - f(x - step)) / 2e-6
    np.testing.assert_allclose(fg.grad(f)(x), gradient, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), gradient, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([x, 2 * x])), [f(x), f(2 * x)], rtol=1e-12)
    assert fg.jvp(f, (x,), (x,))[1] == pytest.approx((gradient * x).sum(), rel=1e-7)


def test_tiles_are_numpys_and_negative_counts_are_refused():
    x = np.arange(6.0).reshape(2, 3)
    for reps in (2, 0, (2, 3), (1, 1), (2, 1, 3), (), (3, 1, 1, 1)):
        for y in (x, x[:0], x[:, :1], x[0, 0]):
            np.testing.assert_array_equal(
                fg.jit(lambda y, reps=reps: np.tile(y, reps))(y), np.tile(y, reps)
            )
        fg.check_grads(lambda x, reps=reps: np.tile(x, reps) ** 2, (x,))
    assert repr(np.tile(fg.var("x", 4), (3, 1))) == "broadcast_to(x, (3, 4))"
    with pytest.raises(ValueError, match="tile: expected counts of 0 or more, but got -1"):
        np.tile(fg.var("x", 4), -1)


@pytest.mark.parametrize("shape", [(6, 4), (4, -1, 2), -1, [3, 8]])
def test_reshape_in_fortran_order(shape):
    x = np.arange(24.0).reshape(2, 3, 4)
    f = lambda x: np.reshape(x, shape, order="F")  # noqa: E731
    np.testing.assert_array_equal(fg.jit(f)(x), f(x))
    np.testing.assert_array_equal(fg.jit(lambda x: x.reshape(shape, order="F"))(x), f(x))
    np.testing.assert_array_equal(fg.jit(lambda x: x.ravel("F"))(x), x.ravel("F"))
    weights = np.cos(f(x))
    slope = fg.grad(lambda x: np.sum(weights * f(x)))(x)
    np.testing.assert_array_equal(slope, weights.reshape(x.shape, order="F"))
    of_number = fg.jit(lambda x: np.reshape(x, (1, -1), order="F"))(2.0)
    np.testing.assert_array_equal(of_number, [[2.0]])
