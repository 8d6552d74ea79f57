"""Methods of ufuncs and their options on traced values."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from tests.default_slice import one_in

X = np.array([[0.3, 0.7, 1.9], [1.2, 0.8, 0.4]])
KEEP = np.array([[True, False, True], [True, True, False]])
CALLS = {
    "add.reduce": lambda x: np.add.reduce(x, axis=1),
    "add.reduce of both": lambda x: np.add.reduce(x, axis=(0, 1), keepdims=True),
    "add.reduce where": lambda x: np.add.reduce(x, axis=1, where=KEEP, initial=2.0),
    "multiply.reduce": lambda x: np.multiply.reduce(x, where=KEEP),
    "maximum.reduce": lambda x: np.maximum.reduce(x, initial=0.5),
    "minimum.reduce": lambda x: np.minimum.reduce(x, axis=None, where=KEEP, initial=5.0),
    "subtract.reduce": lambda x: np.subtract.reduce(x, axis=1),
    "hypot.reduce": lambda x: np.hypot.reduce(x, axis=None),
    "divide.accumulate": lambda x: np.divide.accumulate(x, axis=1),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1),
    "minimum.accumulate": lambda x: np.minimum.accumulate(x),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "logaddexp.accumulate": lambda x: np.logaddexp.accumulate(x, axis=1),
    "add.reduceat of segments": lambda x: np.add.reduceat(x, [1, 2], axis=1),
    "add.reduceat of segments of rows": lambda x: np.add.reduceat(x, [0, 1]),
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2, 1], axis=1),
    "maximum.reduceat": lambda x: np.maximum.reduceat(x, [1, 0]),
    "multiply.outer": lambda x: np.multiply.outer(x[0], x),
    "matmul with axes": lambda x: np.matmul(x, x, axes=[(1, 0), (0, 1), (1, 0)]),
    "matvec with axes": lambda x: np.matvec(x, x[:, 0], axes=[(1, 0), 0, 0]),
    "vecdot with axes": lambda x: np.vecdot(x, x[:, 1], axes=[0, 0]),
    "vecdot along an axis of each": lambda x: np.vecdot(
        np.outer(x, x)[:3, :3, None] * x[0], x.T @ x, axis=1
    ),
    "vecdot with keepdims": lambda x: np.vecdot(x, x[:1] * 2, keepdims=True),
    "vecdot along an axis with keepdims": lambda x: np.vecdot(x, x[:, 1], axis=0, keepdims=True),
    "add with a dtype": lambda x: np.add(x, 1, dtype=float),
    "add with casting": lambda x: np.add(x, x[0], casting="no", order="F"),
    "sum where": lambda x: np.sum(x, axis=1, where=KEEP, initial=1.0),
    "max where": lambda x: np.max(x, axis=1, where=KEEP, initial=-1.0),
    "max of none": lambda x: np.max(x[:0], axis=0, initial=2.0),
    "all where": lambda x: np.all(x > 0.5, axis=1, where=KEEP),
    "positional out": lambda x: np.sum(x, 0, None, None, True),
    "named operand": lambda x: np.cumsum(a=x, axis=0),
}


@pytest.mark.parametrize("name", one_in(3, CALLS))
def test_methods_and_options_are_numpys(name):
    f = CALLS[name]
    made, expected = fg.jit(f)(X), f(X)
    assert np.shape(made) == np.shape(expected)
    np.testing.assert_allclose(made, expected, rtol=1e-15)
    if np.asarray(expected).dtype.kind == "f" and name != "max of none":
        fg.check_grads(f, (X,), order=2)


def test_the_largest_so_far_has_the_derivative():
    x = np.array([1.0, 3.0, 2.0, 5.0])
    np.testing.assert_array_equal(
        fg.jacobian(np.maximum.accumulate)(x),
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]],
    )
    np.testing.assert_array_equal(
        fg.jit(np.maximum.accumulate)(np.array([1.0, np.nan, 0.0])), [1.0, np.nan, np.nan]
    )


def test_a_tie_with_the_initial_value_shares_equally():
    assert fg.grad(lambda x: np.max(x, initial=2.0))(np.array([1.0, 2.0])).tolist() == [0.0, 0.5]


def test_the_loop_of_a_dtype_is_numpys():
    x, y = np.float32(0.1) * np.ones(2, np.float32), np.array([0.1, 0.7])
    f = lambda x, y: np.multiply(x, y, dtype=np.float32, casting="same_kind")  # noqa: E731
    made = fg.jit(f)(x, y)
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, f(x, y))
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add'"):
        fg.jit(lambda x: np.add(x, x, dtype=int))(y)


def test_entries_that_where_leaves_out_are_zero():
    for on in (True, False):
        f = fg.adopt(lambda x: np.add(x, x * x, where=KEEP), on)
        np.testing.assert_array_equal(fg.jit(f)(X), np.where(KEEP, X + X * X, 0.0))
        slopes = fg.grad(lambda x, f=f: np.sum(f(x)))(X)
        np.testing.assert_array_equal(slopes, np.where(KEEP, 1 + 2 * X, 0.0))
    g = fg.adopt(lambda x: np.log10(x, where=x > 0) + np.divmod(x, 2.0, where=x > 0)[1])
    assert fg.grad(g)(-1.0) == 0.0
    np.testing.assert_allclose(
        fg.vmap(fg.grad(g))(np.array([2.5, -1.0])), [1 + 0.4 / np.log(10), 0.0]
    )


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"add\.at: out= .* would change an array in place"):
        fg.grad(fg.adopt(lambda x: np.add.at(x, 0, 1.0), False))(X)
    with pytest.raises(ValueError, match="'maximum' does not have an identity"):
        fg.grad(lambda x: np.max(x, where=KEEP))(X)
    with pytest.raises(ValueError, match="'subtract' is not reorderable"):
        fg.grad(lambda x: np.subtract.reduce(x, axis=(0, 1)))(X)
    with pytest.raises(IndexError, match=r"index 7 out-of-bounds in add\.reduceat"):
        fg.grad(lambda x: np.add.reduceat(x, [0, 7]).sum())(X)


def test_extremes_of_complex_numbers_under_a_mask():
    z, kept = np.arange(4) * (1 + 2j), np.array([True, False, True, False])
    for reduce in (np.max, np.min):
        f = lambda z, reduce=reduce: reduce(z, where=kept, initial=0.5)  # noqa: E731
        assert fg.jit(f)(z) == f(z)
        assert fg.jit(f)(z[:0].reshape(0, 1) * kept) == 0.5
    slope = fg.grad(lambda z: np.real(np.max(z, where=kept, initial=0.5)))(z)
    np.testing.assert_array_equal(slope, [0, 0, 1, 0])


def test_the_sign_of_numbers_is_a_number():
    assert fg.sign(-2.0) == -1.0
    assert isinstance(fg.sign(-2.0), float)
    np.testing.assert_array_equal(fg.sign([3.0, -0.5]), [1.0, -1.0])
    assert repr(fg.sign(fg.var("x"))) == "sign(x)"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, float, complex])
def test_sums_of_segments_are_numpys(dtype):
    def sums(x):
        return np.add.reduceat(x, [0, 100])

    x = np.full(128, 0.1, dtype)
    np.testing.assert_allclose(fg.jit(sums)(x), sums(x), rtol=1e-5)
    zeros = np.full(128, -0.0, dtype)
    found = fg.jit(sums)(zeros)
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.signbit(found.real), np.signbit(sums(zeros).real))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize(
    "divisor", [128, 3.0, 1e-5, 2 + 0j, complex(2, -0.0), -3.0, 0.0, np.inf, 1j]
)
def test_quotients_of_complex_arrays_by_a_number_keep_every_bit(divisor, dtype):
    special = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
    x = np.empty((len(special) + 1, len(special)), dtype)
    x.real[:-1], x.imag[:-1] = special[:, None], special
    x[-1] = np.linspace(-1, 1, len(special)) * (1 + 0.3j)
    f = fg.jit(lambda x: x / divisor)
    with np.errstate(all="ignore"):
        wanted = (x / divisor).view(x.real.dtype)
    for _ in range(4):  # compiled after some calls
        found = f(x)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.view(x.real.dtype), wanted)
        signs = np.signbit(found.view(x.real.dtype)) == np.signbit(wanted)
        assert np.all(signs | np.isnan(wanted))


def test_a_complex_quotient_by_a_positive_number_is_a_product():
    x = fg.var("x", 3, np.complex128)

    def names(root):
        return {step.op.name for step in flatten_program([root], [x]).steps}

    assert "divide" not in names(x / 4) | names(np.fft.ifft(x)) | names(x / 0.3)
    assert "divide" in names(x / -4) & names(x / 1j) & names(x / 0.0) & names(4 / x)
    assert "divide" in names(np.real(x) / 4)
