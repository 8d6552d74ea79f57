"""Options of NumPy's functions have its results, and arguments that it refuses are errors of its types."""

import warnings

import numpy as np
import pytest

import funcgrad as fg

RNG = np.random.default_rng(5)
A = RNG.uniform(0.2, 1.9, (3, 4))
X32 = RNG.uniform(0.2, 1.9, 5).astype(np.float32)

SAME = {
    "keepdims that is true": lambda x: np.sum(x, axis=0, keepdims=1),
    "keepdims that is a number": lambda x: np.max(x, axis=0, keepdims=2),
    "keepdims of a method": lambda x: x.mean(1, None, None, 1),
    "keepdims of quantiles": lambda x: np.quantile(x, 0.3, axis=1, keepdims=1),
    "keepdims of nan functions": lambda x: np.nanmedian(x, axis=1, keepdims=1),
    "keepdims of norms": lambda x: np.linalg.norm(x, "nuc", (0, 1), 1),
    "cast without a copy": lambda x: np.astype(x, np.float32, copy=False),
    "clip in a dtype": lambda x: np.clip(x, 0.5, 1.0, dtype=np.float32),
    "modes of convolve": lambda x: np.concatenate(
        [np.convolve(x[0], x[1, :2], i) for i in (0, 1, 2)]
    ),
    "mode of correlate": lambda x: np.correlate(x[0], x[1, :2], 2),
    "reshape that may not copy": lambda x: x.reshape((4, 3), copy=False),
    "size along axes": lambda x: x * np.size(x, (0, -1)),
}


@pytest.mark.parametrize("name", SAME)
def test_options_have_the_results_of_numpy(name):
    f = SAME[name]
    wanted = f(A)
    slope = fg.jit(lambda x: fg.jvp(f, (x,), (x,)))
    for found in (fg.jvp(f, (A,), (A,))[0], fg.jit(f)(A), slope(A)[0]):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    assert (slope(A)[1].dtype, slope(A)[1].shape) == (wanted.dtype, wanted.shape)


REFUSED = {
    "casting of a ufunc": lambda x: np.add(x, x, dtype=np.float32, casting="no"),
    "casting of astype": lambda x: x.astype(np.float32, casting="safe"),
    "one branch of where": lambda x: np.where(A > 1, x),
    "kind of sort": lambda x: np.sort(x, kind="fast"),
    "kind of argsort": lambda x: np.argsort(x, kind="fast"),
    "option of another mode": lambda x: np.pad(x, 1, "edge", constant_values=2),
    "option of the mode constant": lambda x: np.pad(x, 1, reflect_type="even"),
    "ddof of cov": lambda x: np.cov(x, ddof=1.5),
    "order of a norm": lambda x: np.linalg.norm(x[None], 2),
    "order of a vector's norm": lambda x: np.linalg.norm(x[0], "nuc"),
    "weights without an axis": lambda x: np.average(x, weights=[1, 2, 3]),
    "weights of sum zero": lambda x: np.average(x, axis=0, weights=[1, -2, 1]),
    "where without an initial": lambda x: np.nanmin(x, where=A > 1),
    "mode of convolve": lambda x: np.convolve(x[0], x[1], 3),
    "two options for axes": lambda x: np.vecdot(x, x, axis=0, axes=[0, 0]),
    "bins that rise and fall": lambda x: np.digitize(x, [1.0, 0.0, 2.0]),
    "numbers of bins": lambda x: np.bincount(x[0]),
    "range of truth values": lambda x: np.ptp(x > 1),
    "diagonal of three axes": lambda x: np.diag(x[None]),
    "axes of indices": lambda x: np.take_along_axis(x, np.array([0]), 0),
    "no arrays": lambda x: np.concatenate([]) + x,
    "a complex loop": lambda x: np.logaddexp.reduce(x * 1j, axis=0),
    "a complex dtype": lambda x: np.logaddexp.reduce(x, axis=0, dtype=complex),
    "complex bins": lambda x: np.digitize(x[0] * 1j, [0.5, 1.0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_an_error_of_its_type(name):
    f = REFUSED[name]
    with pytest.raises(Exception) as own:
        f(A)
    for run in (lambda: fg.jvp(f, (A,), (A,)), lambda: fg.jit(f)(A)):
        with pytest.raises(_kind(own.value)):
            run()


def _kind(error):
    """The class of Python's own that an error is of."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def test_fits_of_single_precision_cut_singular_values_as_numpy_does():
    x = np.array([1, 1 + 6e-7, 1 - 2e-7, 1, 1], np.float32)

    def fit(x, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            coefficients, _, rank, _, rcond = np.polyfit(x, y, 2, full=True)
        return coefficients, rank, rcond

    wanted = fit(x, X32)
    assert wanted[1] == 1
    for found in (fg.jvp(fit, (x, X32), (x, X32))[0], fg.jit(fit)(x, X32)):
        assert (found[1], found[2]) == wanted[1:]
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
