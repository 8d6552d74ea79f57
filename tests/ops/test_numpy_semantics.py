"""Values, shapes and dtypes are plain NumPy's, and gradients have the argument's."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import funcgrad as fg
from funcgrad import expr as expr_module
from tests.default_slice import one_in
from tests.ops.more_calls import MORE_CALLS

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
V = np.array([1.0, -2.0, 0.5])

# -- every function, on every kind of array ------------------------------------------------------
COMPLEX = X + 1j * X[::-1]
ARRAYS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "int64": np.arange(6).reshape(2, 3) - 2,
    "int8": (np.arange(6).reshape(2, 3) - 2).astype(np.int8),
    "bool": X > 0,
    "complex128": COMPLEX,
    "complex64": COMPLEX.astype(np.complex64),
    "scalar": np.array(0.7),
    "float32 scalar": np.float32(0.7),
    "vector": X[0],
    "row": X[:1],
    "empty": np.zeros((0, 3)),
    "empty vector": np.zeros(0),
}


def along(*functions, axes=(None, 0, -1, (0, 1), ()), **kwargs):
    """Calls of reductions along several axes, with and without ``keepdims``."""
    return {
        f.__name__: [
            lambda x, f=f, axis=axis, more=more: f(x, axis=axis, **more, **kwargs)
            for axis in axes
            for more in ({}, {"keepdims": True})
        ]
        for f in functions
    }


def plainly(*functions, axes=(None, 0, -1)):
    return {
        f.__name__: [lambda x, f=f, axis=axis: f(x, axis=axis) for axis in axes] for f in functions
    }


def directly(*functions):
    return {f.__name__: [lambda x, f=f: f(x)] for f in functions}


CALLS = {
    **along(np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var, np.std),
    **along(np.count_nonzero),
    **along(np.argmax, np.argmin, axes=(None, 0, -1)),
    **plainly(np.cumsum, np.cumprod, np.sort, np.argsort, np.flip),
    **directly(np.abs, np.conjugate, np.real, np.imag, np.copy, np.ravel, np.squeeze, np.diag),
    **directly(np.atleast_1d, np.atleast_2d, np.shape, np.ndim, np.size, np.iscomplexobj),
    **directly(np.zeros_like, np.sinc, np.i0),
    "amax": [lambda x: np.amax(x, axis=-1)],
    "amin": [lambda x: np.amin(x, axis=0)],
    "astype": [lambda x: np.astype(x, np.float32), lambda x: np.astype(x, complex)],
    "append": [lambda x: np.append(x, 1), lambda x: np.append(x, x, axis=0)],
    "broadcast_to": [lambda x: np.broadcast_to(x, (2, 2, 3))],
    "clip": [
        lambda x: np.clip(x, -1, 1),
        lambda x: np.clip(x, 0, None),
        lambda x: np.clip(x, min=0),
        lambda x: np.clip(x, np.zeros(3), np.ones(3)),
        lambda x: x.clip(0, 1),
    ],
    "column_stack": [lambda x: np.column_stack([x, x])],
    "concatenate": [
        lambda x: np.concatenate([x, x], axis=-1),
        lambda x: np.concatenate([x, x[..., None]], axis=None),
        lambda x: np.concatenate([x, np.ones(x.shape, np.float32)]),
        lambda x: np.concatenate([x, x], dtype=complex),
    ],
    "diagonal": [
        lambda x: np.diagonal(x, -1),
        lambda x: np.diagonal(x[None], 0, 1, 2),
        lambda x: np.diagonal(x, 5),
    ],
    "dot": [lambda x: np.dot(x, x.T), lambda x: np.dot(x, 2), lambda x: np.dot(x, np.ones(3))],
    "einsum": [
        lambda x: np.einsum("ij->", x),
        lambda x: np.einsum("ij,kj", x, x),
        lambda x: np.einsum("...,...", x, x),
        lambda x: np.einsum(",ij->ji", 2.0, x),
        lambda x: np.einsum(x, [0, 1], [1, 0]),
        lambda x: np.einsum(x, [7, 3]),
        lambda x: np.einsum(x, [0, 1], x, (2, np.int64(1)), [0, 2]),
        lambda x: np.einsum(x, [..., 30], x, [..., 30], [...]),
        lambda x: np.einsum("i...->...", x),
        lambda x: np.einsum("Ab,cb->Ac", x, x),
        lambda x: np.einsum("ij,jk,kl->il", x, x.T, x, optimize="greedy"),
        lambda x: np.einsum("ij,ij->j", x, x[:1]),
    ],
    "expand_dims": [lambda x: np.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, 1)],
    "full_like": [
        lambda x: np.full_like(x, 2.5),
        lambda x: np.full_like(x, 2, dtype=np.float32, shape=(2,)),
    ],
    "hstack": [lambda x: np.hstack([x, x]), lambda x: np.hstack([x, x], dtype=complex)],
    "inner": [lambda x: np.inner(x, x), lambda x: np.inner(x, 2)],
    "kron": [lambda x: np.kron(x, x), lambda x: np.kron(x, np.ones(2))],
    "moveaxis": [lambda x: np.moveaxis(x, [0, 1], [1, 0]), lambda x: np.moveaxis(x, -1, 0)],
    "linalg.diagonal": [
        lambda x: np.linalg.diagonal(x),
        lambda x: np.linalg.diagonal(np.stack([x, x + x]), offset=1),
    ],
    "linalg.matmul": [lambda x: np.linalg.matmul(x, x.T)],
    "linalg.outer": [lambda x: np.linalg.outer(x, x)],
    "linalg.tensordot": [lambda x: np.linalg.tensordot(x, x, axes=1)],
    "linalg.trace": [
        lambda x: np.linalg.trace(x),
        lambda x: np.linalg.trace(np.stack([x, x + x]), offset=-1),
    ],
    "linalg.norm": [
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x, axis=-1, keepdims=True),
        lambda x: np.linalg.norm(x, "fro", axis=(0, 1)),
        *[lambda x, p=p: np.linalg.norm(x, p, axis=-1) for p in (0, 1, 2, 2.5, -1)],
        *[lambda x, p=p: np.linalg.norm(x, p, axis=-1) for p in (np.inf, -np.inf)],
    ],
    "ones_like": [lambda x: np.ones_like(x), lambda x: np.ones_like(x, dtype=int)],
    "outer": [lambda x: np.outer(x, x), lambda x: np.outer(x, [1, 2])],
    "pad": [
        lambda x: np.pad(x, 1),
        lambda x: np.pad(x, (1, 2), constant_values=3),
        lambda x: np.pad(x, [[1, 0], [0, 1]], constant_values=((1, 2), (3, 4))),
    ],
    "repeat": [
        lambda x: np.repeat(x, 2),
        lambda x: np.repeat(x, 3, axis=-1),
        lambda x: np.repeat(x, [1, 0, 2], axis=-1),
        lambda x: np.repeat(x, 0),
    ],
    "reshape": [
        lambda x: np.reshape(x, (3, -1)),
        lambda x: np.reshape(x, np.array([-1])),
        lambda x: np.reshape(x, (-2, -3)),
        lambda x: x.reshape(3, 2),
        lambda x: x.reshape(np.int64(-1)),
    ],
    "result_type": [lambda x: np.result_type(x, np.float32)],
    "can_cast": [lambda x: np.can_cast(x, np.float32), lambda x: np.can_cast(x, int, "unsafe")],
    "common_type": [lambda x: np.common_type(x, np.ones(1, np.float32)).__name__],
    "roll": [
        lambda x: np.roll(x, 1),
        lambda x: np.roll(x, -1.7),
        lambda x: np.roll(x, np.float64(2.9), axis=0),
        lambda x: np.roll(x, -7, axis=0),
        lambda x: np.roll(x, (1, 1), axis=(0, 1)),
        lambda x: np.roll(x, (1, 2)),
    ],
    "around": [lambda x: np.around(x), lambda x: np.around(x * 10, -1)],
    "round": [lambda x: np.round(x), lambda x: np.round(x * 10, -1), lambda x: round(x)],
    "split": [
        lambda x: np.split(x, [1, 2], axis=-1),
        lambda x: np.split(x, [-1], axis=-1),
        lambda x: np.split(x, 3, axis=-1),
    ],
    "stack": [lambda x: np.stack([x, x], axis=-1), lambda x: np.stack([x, x * 1j])],
    "swapaxes": [lambda x: np.swapaxes(x, 0, -1)],
    "take": [
        lambda x: np.take(x, [[0, 1], [2, 2]]),
        lambda x: np.take(x, 1, axis=-1),
        lambda x: np.take(x, [5, -9], axis=-1, mode="wrap"),
        lambda x: np.take(x, [5, -9], axis=-1, mode="clip"),
    ],
    "take_along_axis": [
        lambda x: np.take_along_axis(x, np.array([[1], [0]]), axis=1),
        lambda x: np.take_along_axis(x, np.array([[-1]]), axis=1),
        lambda x: np.take_along_axis(x, np.array([1, 0]), axis=None),
    ],
    "tensordot": [
        lambda x: np.tensordot(x, x),
        lambda x: np.tensordot(x, x, 0),
        lambda x: np.tensordot(x, x, axes=(-1, -1)),
    ],
    "tile": [lambda x: np.tile(x, (2, 1, 2)), lambda x: np.tile(x, 0)],
    "trace": [lambda x: np.trace(x), lambda x: np.trace(x, 1)],
    "transpose": [lambda x: np.transpose(x), lambda x: x.transpose(-1, 0), lambda x: x.T],
    "tril": [lambda x: np.tril(x, -1), lambda x: np.tril(x[None])],
    "triu": [lambda x: np.triu(x, 1)],
    "vdot": [lambda x: np.vdot(x, x)],
    "vstack": [lambda x: np.vstack([x, x])],
    "where": [
        lambda x: np.where(x != 0, x, 0),
        lambda x: np.where(x != 0, 1.5, x),
        lambda x: np.where(x != 0, True, False),
    ],
}

CALLS |= MORE_CALLS


def run_symbolically(f, x):
    """f of a variable, run on x; that what is inferred is what comes out is checked on the way."""
    variable = fg.var("x", np.shape(x), np.asarray(x).dtype)

    def value(result):
        if isinstance(result, list | tuple):
            return type(result)(value(item) for item in result)
        if not isinstance(result, fg.Expr):
            return result
        named = {node.name for node in result.graph.values() if node.op.name == "input"}
        found = result(**({"x": x} if named else {}))
        assert np.asarray(found).dtype == result.dtype
        assert np.shape(found) == result.shape
        return found

    return value(f(variable))


def assert_same(got, expected):
    if isinstance(expected, list | tuple):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert_same(a, b)
        return
    if not isinstance(expected, np.ndarray | np.generic):
        assert got == expected
        return
    assert np.shape(got) == expected.shape
    assert np.asarray(got).dtype == expected.dtype
    rtol = 1e-5 if expected.dtype in (np.float32, np.complex64, np.float16) else 1e-12
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)


REFUSALS = (TypeError, ValueError, IndexError, AttributeError)
# What takes more than NumPy's does: an axis of a scalar, a truth value, more axes than one.
LENIENT = {"linalg.outer", "mean", "var", "std", "linalg.norm", "pad", "round"}
LENIENT |= {"median", "quantile", "percentile", "gradient", "fft.fftshift", "fft.ifftshift"}
# NumPy takes the first entry of an operand without entries from the memory behind it.
READS_BEYOND = {"fft.irfft", "fft.hfft", "fft.irfft2", "fft.irfftn"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "kind"), one_in(7, itertools.product(CALLS, ARRAYS)))
def test_every_function_is_numpys(name, kind):
    x = ARRAYS[kind]
    for f in CALLS[name]:
        try:
            expected = f(x)
        except REFUSALS:
            if name not in LENIENT:
                with pytest.raises(REFUSALS):
                    run_symbolically(f, x)
        else:
            if np.size(x) == 0 and name in READS_BEYOND:
                expected = np.zeros_like(expected)
            assert_same(run_symbolically(f, x), expected)


def test_every_supported_function_is_called():
    homes = {f: f"{f.__module__}.{f.__name__}" for f in expr_module.operation_table.numpy}
    del homes[np.array]  # which NumPy does not hand over
    # Those of linear algebra need matrices of their own kinds: test_decompositions.py.
    page = (Path(__file__).parent / "test_decompositions.py").read_text()
    linear = {f"linalg.{name}" for name in re.findall(r"\bLA\.(\w+)", page)}
    called = CALLS.keys() | linear | {"cross", "matrix_transpose", "average", "linalg.vecdot"}
    called |= {"linalg.eig", "linalg.eigvals"}  # test_eigenvectors.py
    called |= {
        "nonzero",
        "flatnonzero",
        "argwhere",
        "piecewise",
        "polymul",
    }  # these ask for values: test_numpy_more.py
    called |= {
        "poly",
        "roots",
        "trim_zeros",
        "polydiv",
        "unwrap",
    }  # these, too: tests/adoption/test_numpy_source.py
    apart = (Path(__file__).parent / "test_numpy_complex_and_padding.py").read_text()
    called |= {f"lib.scimath.{name}" for name in re.findall(r"\bnp\.emath\.(\w+)", apart)}
    called |= set(re.findall(r"\bnp\.(\w+)", apart))
    assert {name.removeprefix("numpy.") for name in homes.values()} <= called


UFUNCS = {
    f.__name__: f
    for f in vars(np).values()
    if isinstance(f, np.ufunc) and f.__name__ in expr_module.operation_table.ufuncs
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "kind"), one_in(7, itertools.product(UFUNCS, ARRAYS)))
def test_every_ufunc_is_numpys(name, kind):
    ufunc, x = UFUNCS[name], ARRAYS[kind]
    calls = [ufunc]
    if ufunc.nin == 2:
        others = [x[::-1] if np.ndim(x) else x, 2, np.float32(2), np.ones(3, np.float32)]
        others += [np.int8(2), True] if ufunc is not np.power else []
        calls = [lambda x, y=y: ufunc(x, y) for y in others]
        calls += [lambda x, y=y: ufunc(y, x) for y in others[1:]]
    for f in calls:
        try:
            expected = f(x)
        except REFUSALS:
            with pytest.raises(REFUSALS):
                run_symbolically(f, x)
        else:
            assert_same(run_symbolically(f, x), expected)


OPERATORS = {
    "arithmetic": lambda x: ((x + 1.5) * 2 - x / 4) * -x + +x,
    "reflected": lambda x: (1.5 + 2 * x - (3 - x)) / 2,
    "powers": lambda x: x**2 + x**3 + 2.0**x,
    "powers of two": lambda x: 2**x,
    "whole": lambda x: x // 2 + x % 3 + 7 // (x + 10),
    "divmod": lambda x: divmod(x, 2),
    "reflected divmod": lambda x: divmod(7, x + 10),
    "comparisons": lambda x: (x < 1) & (x >= -0.5) | (x == 2) ^ (x != 0.5),
    "reflected comparisons": lambda x: (np.float64(1) > x, np.float64(1.5) <= x),
    "bits": lambda x: ~x & (x | 1) ^ 3,
    "abs": lambda x: abs(x),
    "matmul": lambda x: (x @ x.T, x @ np.ones(3), np.ones(2) @ x),
    "methods": lambda x: (x.sum(), x.mean(0), x.max(1), x.min(), x.prod(-1), x.std(), x.var(0)),
    "more methods": lambda x: (x.cumsum(), x.cumprod(0), x.argmax(), x.argmin(1), x.argsort()),
    "shapes": lambda x: (x.ravel(), x.flatten(), x.squeeze(), x.swapaxes(0, 1), x.repeat(2)),
    "entries": lambda x: (x.take([0]), x.trace(), x.diagonal(), x.real, x.imag, x.conj(), x.mT),
    "conversions": lambda x: (x.astype(np.float32), x.astype(complex), x.copy(), x.round(1)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "kind"),
    one_in(4, itertools.product(OPERATORS, ["float64", "float32", "int64", "int8", "complex128"])),
)
def test_operators_and_methods_are_numpys(name, kind):
    try:
        expected = OPERATORS[name](ARRAYS[kind])
    except REFUSALS:
        with pytest.raises(REFUSALS):
            run_symbolically(OPERATORS[name], ARRAYS[kind])
    else:
        assert_same(run_symbolically(OPERATORS[name], ARRAYS[kind]), expected)


INDICES = {
    "integer": 1,
    "NumPy's integer": np.int8(-1),
    "pair": (0, -1),
    "slice": slice(None, None, -2),
    "slices": (slice(1, None), slice(None, 2)),
    "ellipsis": (..., 1),
    "only ellipsis": ...,
    "nothing": (),
    "new axes": (None, slice(None), None),
    "list": [1, 0, 1],
    "empty list": [],
    "integers": np.array([[0, 1], [1, -1]]),
    "unsigned": np.array([1], np.uint8),
    "two lists": ([0, 1], [2, 2]),
    "grid": np.ix_([0, 1], [0, 2]),
    "apart": (None, [0, 0], slice(None), None),
    "split": ([0, 1], None, [1, 2]),
    "rows by truth": np.array([True, False]),
    "columns by truth": (slice(None), np.array([True, False, True])),
    "after an ellipsis": (..., np.array([True, False, True])),
    "truth": X > 0,
    "nothing true": X > 100,
    "list of truth": [True, False],
    "out of bounds": 5,
    "list out of bounds": [0, 7],
    "too many": (0, 0, 0),
    "two ellipses": (..., ...),
    "truth too long": np.array([True, False, True]),
    "truth too short": np.array([True]),
    "columns too short": (slice(None), np.array([True])),
    "truth of another shape": np.ones((2, 2), bool),
    "shapes that do not fit": ([0, 1], [0, 1, 2]),
    "float": 1.0,
}


@pytest.mark.parametrize("name", INDICES)
def test_indexing_is_numpys(name):
    index = INDICES[name]
    try:
        expected = np.asarray(X[index])
    except IndexError:
        with pytest.raises((IndexError, TypeError), match="getitem: "):
            fg.grad(lambda x: np.sum(x[index]))(X)
        with pytest.raises((IndexError, TypeError), match="getitem: "):
            fg.grad(lambda x: np.sum(x.at[index].set(0.0)))(X)
        return
    value, pullback = fg.vjp(lambda x: x[index], X)
    np.testing.assert_array_equal(value, expected)
    assert np.shape(value) == expected.shape
    w = np.random.default_rng(0).standard_normal(expected.shape)
    added = np.zeros_like(X)
    np.add.at(added, index, w)
    np.testing.assert_allclose(pullback(w)[0], added, rtol=1e-14)


# -- gradients -----------------------------------------------------------------------------------
FUNCTIONS = {
    "sum": lambda x: np.sum(x),
    "sum axis": lambda x: np.sum(x, axis=0),
    "sum keepdims": lambda x: np.sum(x, axis=-1, keepdims=True),
    "mean": lambda x: np.mean(x, axis=1),
    "average": lambda x: np.average(x, axis=1),
    "var": lambda x: np.var(x, axis=0, ddof=1),
    "std": lambda x: np.std(x),
    "max": lambda x: np.max(x, axis=1),
    "amin": lambda x: np.min(x),
    "prod": lambda x: np.prod(x, axis=(0, 1)),
    "cumsum": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "diff": lambda x: np.diff(x, axis=1),
    "sort": lambda x: np.sort(x, axis=1),
    "clip": lambda x: np.clip(x, -1.0, 1.0),
    "where": lambda x: np.where(x > 0, x, 2 * x),
    "reshape": lambda x: np.reshape(x, (3, -1)),
    "ravel": lambda x: x.ravel(),
    "transpose": lambda x: x.T @ x,
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x[None], 0, -1),
    "expand": lambda x: np.expand_dims(x, (0, 2)),
    "squeeze": lambda x: np.squeeze(x[:, None]),
    "flip": lambda x: np.flip(x, 0),
    "roll": lambda x: np.roll(x, 2, axis=1),
    "roll flat": lambda x: np.roll(x, -1),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "tile": lambda x: np.tile(x, (2, 1)),
    "concatenate": lambda x: np.concatenate([x, x * 2], axis=1),
    "stack": lambda x: np.stack([x, V * x], axis=1),
    "vstack": lambda x: np.vstack([x, V]),
    "hstack": lambda x: np.hstack([x, x]),
    "column_stack": lambda x: np.column_stack([x[0], x[1]]),
    "append": lambda x: np.append(x, V),
    "split": lambda x: np.split(x, 3, axis=1)[1],
    "broadcast_to": lambda x: np.broadcast_to(x, (4, 2, 3)),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2))),
    "diag": lambda x: np.diag(x[0]),
    "diagonal": lambda x: np.diagonal(x, 1),
    "trace": lambda x: np.trace(x),
    "tril": lambda x: np.tril(x),
    "triu": lambda x: np.triu(x, 1),
    "take": lambda x: np.take(x, [0, 2, 2], axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    "getitem": lambda x: x[1, ::-1],
    "fancy": lambda x: x[[0, 1, 0], [2, 2, 1]],
    "boolean": lambda x: x[x > 0],
    "ellipsis": lambda x: x[..., None, 0],
    "matmul": lambda x: x @ V,
    "matrices": lambda x: x @ (x.T @ x),
    "vectors": lambda x: x[0] @ x[1],
    "matrix by stack": lambda x: x @ np.stack([x.T, x.T * 2]),
    "stack by stack": lambda x: np.stack([x, V * x]) @ np.stack([x.T, x.T])[:, None],
    "vector by stack": lambda x: V @ np.stack([x.T, x.T]),
    "stacked dot": lambda x: np.dot(np.stack([x, x]), np.stack([x.T, x.T])),
    "dot of scalars": lambda x: np.dot(x[0, 0], x),
    "tensordot of one axis": lambda x: np.tensordot(np.stack([x, x]), x, axes=([2], [1])),
    "tensordot of none": lambda x: np.tensordot(x, V, axes=0),
    "inner of matrices": lambda x: np.inner(x, x),
    "einsum batched": lambda x: np.einsum("bij,bjk->bik", np.stack([x, x]), np.stack([x.T, x.T])),
    "einsum of three": lambda x: np.einsum("ij,jk,ik->k", x, x.T, x @ x.T),
    "einsum diagonal": lambda x: np.einsum("ii->i", x[:, 1:]),
    "einsum outer": lambda x: np.einsum("i,j->ji", x[0], x[1]),
    "einsum own sum": lambda x: np.einsum("ij,kl->k", x, x),
    "matrix_transpose": lambda x: x.mT @ x,
    "dtype sum": lambda x: np.sum(x, axis=0, dtype=x.dtype),
    "roll axes": lambda x: np.roll(x, (1, 2), axis=(0, 1)),
    "repeat counts": lambda x: np.repeat(x, [2, 0, 1], axis=1),
    "take wrap": lambda x: np.take(x, [4, -1], axis=1, mode="wrap"),
    "linalg.trace": lambda x: np.linalg.trace(np.stack([x, x])),
    "norm 0": lambda x: x[0, 0] + np.linalg.norm(x[0], 0),
    "norm -1": lambda x: np.linalg.norm(x, -1, axis=1),
    "copy": lambda x: np.copy(x) * x,
    "where copies": lambda x: np.where(np.copy(x > 0), x, 0),
    "float_power": lambda x: np.float_power(np.abs(x), 1.5),
    "relu": lambda x: fg.relu(x) if isinstance(x, fg.Expr) else np.maximum(x, 0),
    "log_softmax": lambda x: fg.log_softmax(x, axis=0),
    "rmatmul": lambda x: V @ x.T,
    "stacked matmul": lambda x: np.stack([x, x]) @ V,
    "dot": lambda x: np.dot(x, x.T),
    "inner": lambda x: np.inner(x, V),
    "outer": lambda x: np.outer(x[0], x[1]),
    "tensordot": lambda x: np.tensordot(x, x, axes=([0, 1], [0, 1])),
    "kron": lambda x: np.kron(x, V),
    "vdot": lambda x: np.vdot(x, x),
    "einsum": lambda x: np.einsum("ij,j->i", x, V),
    "einsum trace": lambda x: np.einsum("ii", x[:, :2]),
    "einsum ellipsis": lambda x: np.einsum("...j,j->...", x, V),
    "einsum implicit": lambda x: np.einsum("ij,jk", x, x.T),
    "einsum broadcast": lambda x: np.einsum("ij,ij->ij", x, x[:, :1]),
    "norm": lambda x: np.linalg.norm(x),
    "norm axis": lambda x: np.linalg.norm(x, axis=1),
    "norm 1": lambda x: np.linalg.norm(x[0], 1),
    "norm inf": lambda x: np.linalg.norm(x[0], np.inf),
    "norm 3": lambda x: np.linalg.norm(x, 3, axis=1),
    "add.reduce": lambda x: np.add.reduce(x),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "subtract.outer": lambda x: np.subtract.outer(x[0], x[1]),
    "floor divide": lambda x: x // 0.7 + x % 0.7,
    "divmod": lambda x: divmod(x, 0.7)[1] + 0.0,
    "round": lambda x: np.round(fg.stop_gradient(1.37 * x), 1) + np.round(x * 1.1),
    "sinc": lambda x: np.sinc(x),
    "expit": lambda x: special.expit(x),
    "logsumexp": lambda x: fg.logsumexp(x, axis=1),
    "softmax": lambda x: fg.softmax(x, axis=1),
    "iterate": lambda x: sum(row[0] for row in x),
    "builtins": lambda x: max(x[0]) + min(x[1]) + abs(x[0, 1]),
    "lists": lambda x: x * [1.0, 2.0, 3.0],
    "empty": lambda x: np.sum(x[:0]) + np.sum(x, axis=0) * 0,
    "mixed powers": lambda x: 2.0**x + x**2 + x**3,
}


@pytest.mark.filterwarnings("ignore:.*by steps alone")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_gradient(name):
    f = FUNCTIONS[name]
    expected = np.asarray(_plain(name)(X))
    value, pullback = fg.vjp(f, X)
    assert np.shape(value) == expected.shape
    assert np.asarray(value).dtype == expected.dtype
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    rng = np.random.default_rng(0)
    w, v = rng.standard_normal(expected.shape), rng.standard_normal(X.shape)
    h = 1e-5
    slope = (np.asarray(_plain(name)(X + h * v)) - np.asarray(_plain(name)(X - h * v))) / (2 * h)
    np.testing.assert_allclose(np.sum(pullback(w)[0] * v), np.sum(slope * w), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fg.jvp(f, (X,), (v,))[1], slope, rtol=1e-7, atol=1e-8)


def _plain(name):
    scipy_like = {
        "logsumexp": lambda x: special.logsumexp(x, axis=1),
        "softmax": lambda x: special.softmax(x, axis=1),
        "log_softmax": lambda x: special.log_softmax(x, axis=0),
    }
    return scipy_like.get(name, FUNCTIONS[name])


@pytest.mark.filterwarnings("ignore:.*by steps alone")
# NumPy makes double precision of a list of Python's numbers and of `float_power`.
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("lists", "float_power")])
def test_float32_in_float32_out(name, monkeypatch):
    monkeypatch.setitem(globals(), "V", V.astype(np.float32))
    x = X.astype(np.float32)
    value, pullback = fg.vjp(FUNCTIONS[name], x)
    expected = np.asarray(_plain(name)(x))
    assert np.asarray(value).dtype == expected.dtype == np.float32
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    (pulled,) = pullback(np.ones(expected.shape, np.float32))
    assert pulled.dtype == np.float32
    monkeypatch.undo()
    (exact,) = fg.vjp(FUNCTIONS[name], X)[1](np.ones(expected.shape))
    np.testing.assert_allclose(pulled, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "other", "op"),
    one_in(
        7,
        itertools.product(
            ["float32", "float64", "int64", "int8", "bool", "complex64"],
            [2, 2.0, np.float32(2), np.float64(2), np.int8(2), np.ones(3)],
            [np.add, np.multiply, np.divide, np.maximum, np.power],
        ),
    ),
)
def test_promotion_is_numpys(dtype, other, op):
    x = np.ones(3, dtype)
    try:
        expected = op(x, other)
    except TypeError:
        pytest.skip("NumPy has no such loop")
    symbolic = op(fg.var("x", 3, dtype), other)
    assert symbolic.dtype == expected.dtype
    assert symbolic(x=x).dtype == expected.dtype


def test_gradient_keeps_the_dtype_of_each_argument():
    f = fg.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))
    gx, gy = f(np.ones(2, np.float32), np.full(2, 3.0))
    assert (gx.dtype, gy.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3)])
def test_gradient_of_any_shape(shape):
    x = np.full(shape, 2.0)
    assert np.shape(fg.grad(lambda x: np.sum(x**3))(x)) == shape
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x**3))(x), np.full(shape, 12.0))


@pytest.mark.parametrize(
    ("a", "b"), [((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2,)), ((0, 1), (1, 4))]
)
def test_broadcasting_sums_back(a, b):
    x, y = np.full(a, 2.0), np.full(b, 3.0)
    gx, gy = fg.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(x, y)
    shape = np.broadcast_shapes(a, b)
    np.testing.assert_allclose(gx, np.full(a, 3.0 * np.prod(shape) / max(np.prod(a), 1)))
    np.testing.assert_allclose(gy, np.full(b, 2.0 * np.prod(shape) / max(np.prod(b), 1)))


@pytest.mark.parametrize(
    ("how", "index"),
    one_in(
        3,
        itertools.product(
            ["set", "add", "multiply", "min", "max"],
            [0, slice(1, None), (0, 1), [1, 0], np.array([False, True])],
        ),
    ),
)
def test_functional_update(how, index):
    def plain(x, v):
        y = x.copy()
        ufuncs = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}
        y[index] = v if how == "set" else ufuncs[how](y[index], v)
        return y

    def f(x, v):
        return getattr(x.at[index], how)(v)

    np.testing.assert_allclose(fg.trace(lambda x: f(x, 0.7), X)(x=X), plain(X, 0.7))
    fg.check_grads(f, (X, 0.7))


def test_repeated_indices_add_up():
    x = np.zeros(3)
    value, pullback = fg.vjp(lambda x, v: x.at[[0, 0, 2]].add(v), x, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(value, [3.0, 0.0, 3.0])
    np.testing.assert_array_equal(pullback(np.array([1.0, 5.0, 7.0]))[1], [1.0, 1.0, 7.0])


def test_of_repeated_entries_the_last_value_is_stored():
    at, v = np.array([[0, 2], [0, 1]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    for given in (at, fg.const(at)):

        def f(x, v, i=given):
            return x.at[i].set(v)

        value, pullback = fg.vjp(f, np.ones(4), v)
        np.testing.assert_array_equal(value, [3.0, 4.0, 2.0, 1.0])
        gx, gv = pullback(np.array([1.0, 10.0, 100.0, 1000.0]))
        np.testing.assert_array_equal(gx, [0.0, 0.0, 0.0, 1000.0])
        np.testing.assert_array_equal(gv, [[0.0, 100.0], [1.0, 10.0]])
        fg.check_grads(f, (np.ones(4), v))
    fg.check_grads(fg.jit(lambda x, v: x.at[at].set(v)), (np.ones(4), v))


def test_update_keeps_the_dtype_and_forgets_what_it_replaces():
    x = np.array([np.nan, 1.0], np.float32)
    gx, gv = fg.grad(lambda x, v: np.sum(x.at[0].set(v) ** 2), argnums=(0, 1))(x, np.float64(3))
    assert gx.dtype == np.float32
    np.testing.assert_array_equal(gx, [0.0, 2.0])
    assert gv == 6.0
    with pytest.raises(TypeError, match="expected a value of dtype int64, but got float64"):
        fg.trace(lambda i: i.at[0].set(2.5), np.arange(3))


def test_ties_share_equally():
    np.testing.assert_array_equal(fg.grad(np.max)(np.array([1.0, 1.0, 0.0])), [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(fg.grad(np.min)(np.zeros((2, 2))), np.full((2, 2), 0.25))
    np.testing.assert_array_equal(fg.grad(np.max)(np.full(2, np.inf)), [0.5, 0.5])
    rows = fg.grad(lambda x: np.sum(np.max(x, axis=1)))(np.ones((2, 4)))
    np.testing.assert_array_equal(rows, np.full((2, 4), 0.25))
    for f in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert fg.grad(lambda x, f=f: f(x, x))(1.0) == 1.0
        assert fg.grad(f, argnums=(0, 1))(1.0, 1.0) == (0.5, 0.5)
    assert fg.grad(fg.relu)(0.0) == 0.5
    assert fg.grad(lambda x: np.clip(x, 0.0, 1.0))(1.0) == 0.5
    gx, gv = fg.grad(lambda x, v: np.sum(x.at[0].max(v)), argnums=(0, 1))(np.ones(2), 1.0)
    assert (gx.tolist(), gv) == ([0.5, 1.0], 0.5)


@pytest.mark.filterwarnings("ignore:.*by steps alone")
def test_at_a_kink_the_derivative_is_zero():
    for f in (np.abs, np.fabs, np.sign, np.linalg.norm, np.std):
        assert fg.grad(lambda x, f=f: f(np.stack([x, x])[0]))(0.0) == 0.0
    assert fg.grad(np.abs)(0j) == 0.0
    assert fg.grad(np.hypot, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert fg.grad(lambda x: np.linalg.norm(x, 3))(np.zeros(2)).tolist() == [0.0, 0.0]
    assert fg.grad(np.std)(np.ones(3)).tolist() == [0.0, 0.0, 0.0]


def test_broadcast_to_takes_the_option_of_subclasses():
    f = lambda x: np.sum(np.broadcast_to(x, (3,), subok=True))  # noqa: E731
    assert fg.grad(f)(2.0) == fg.jit(fg.grad(f))(2.0) == 3.0


def test_what_is_not_selected_never_reaches_the_gradient():
    assert fg.grad(lambda x: np.where(x > 0, np.sqrt(x), 0))(0.0) == 0.0
    assert fg.grad(fg.grad(lambda x: np.where(x > 0, x**1.5, x)))(0.0) == 0.0
    x = np.array([0.0, -1.0, 4.0])
    slope = fg.grad(lambda x: np.sum(np.where(x > 0, np.log(x) + np.sqrt(x), 2 * x)))(x)
    np.testing.assert_array_equal(slope, [2.0, 2.0, 0.5])
    slope = fg.grad(lambda x: np.sum(np.sqrt(x)[x > 0]))(x)
    np.testing.assert_array_equal(slope, [0.0, 0.0, 0.25])


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_products_are_exact_with_zeros(zeros):
    x = np.array([2.0, 3.0, 5.0, 7.0])
    x[:zeros] = 0.0
    others = [np.prod(np.delete(x, i)) for i in range(4)]
    np.testing.assert_array_equal(fg.grad(np.prod)(x), others)
    pairs = [[np.prod(np.delete(x, [i, j])) * (i != j) for j in range(4)] for i in range(4)]
    for i, unit in enumerate(np.eye(4)):
        np.testing.assert_array_equal(fg.jvp(fg.grad(np.prod), (x,), (unit,))[1], pairs[i])
    fg.check_grads(lambda x: np.cumprod(x), (x,))


def test_infinities_and_what_is_not_a_number():
    assert fg.grad(np.fmax, argnums=(0, 1))(1.0, np.nan) == (1.0, 0.0)
    assert fg.grad(np.fmin, argnums=(0, 1))(np.nan, 1.0) == (0.0, 1.0)
    assert fg.grad(fg.logsumexp)(np.array([np.inf, 0.0])).tolist() == [1.0, 0.0]
    assert fg.grad(fg.logsumexp)(np.array([-np.inf, 0.0])).tolist() == [0.0, 1.0]
    assert fg.trace(fg.logsumexp, np.zeros(0))(x=np.zeros(0)) == -np.inf
    assert fg.grad(fg.softplus)(-np.inf) == 0.0
    for y, sign in [(0.0, 1.0), (-0.0, -1.0), (np.inf, 1.0), (-2.0, -1.0)]:
        assert fg.grad(np.copysign)(2.0, y) == sign


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_arrays_in_arrays_out(name):
    ours, scipys = getattr(fg, name), getattr(special, name)
    for x in (X, X.astype(np.float32), X[0].tolist()):
        value = ours(x, axis=-1)
        assert isinstance(value, np.ndarray | np.generic)
        assert value.dtype == scipys(x, axis=-1).dtype
        np.testing.assert_allclose(value, scipys(x, axis=-1), rtol=1e-6)
    assert isinstance(ours([fg.var("x"), 1.0]), fg.Expr)


def test_namesakes_of_linalg_take_the_last_axes():
    x = np.arange(24.0).reshape(2, 3, 4)
    slope = fg.grad(lambda x: np.sum(np.linalg.trace(x)))(x)
    np.testing.assert_array_equal(slope, np.broadcast_to(np.eye(3, 4), x.shape))


Z = np.array([0.3 + 0.8j, -1.2 + 0.5j, 0.9 - 0.4j])
REAL_OF_COMPLEX = {
    "real": lambda z: np.sum(np.real(z * z)),
    "imag": lambda z: np.sum(np.imag(z**3)),
    "abs": lambda z: np.sum(np.abs(z) ** 3),
    "angle": lambda z: np.sum(np.arctan2(z.imag, z.real)),
    "conjugate": lambda z: np.sum(np.real(np.conj(z) * np.exp(z))),
    "functions": lambda z: np.sum(np.real(np.sin(z) * np.log(z) + np.sqrt(z) / np.tanh(z))),
    "powers": lambda z: np.sum(np.imag(z ** (1 + 0.5j) + 2.0**z)),
    "products": lambda z: np.real(np.prod(z)) + np.imag(np.cumprod(z)[1]),
    "norm": lambda z: np.linalg.norm(z) + np.std(z) + np.var(z),
    "vdot": lambda z: np.real(np.vdot(z, z[::-1])) + np.imag(np.vdot(z, 1j * V)),
    "einsum": lambda z: np.imag(np.einsum("i,j,ij->", z, z, np.ones((3, 3)))),
    "matmul": lambda z: np.abs(z @ np.outer(z, V) @ V),
    "indexing": lambda z: np.real(z[[0, 0, 2]] @ V) + np.imag(np.sort(z)[1]),
    "mixed with real": lambda z: np.sum(np.real(np.where(V > 0, z * V, np.abs(z)))),
    "joined with real": lambda z: np.imag(np.sum(np.concatenate([z, np.abs(z)]) ** 2)),
    "logsumexp": lambda z: np.real(np.log(np.sum(np.exp(z)))),
}


@pytest.mark.parametrize("name", REAL_OF_COMPLEX)
def test_complex_gradient_is_dx_minus_i_dy(name):
    f, h = REAL_OF_COMPLEX[name], 1e-5
    assert isinstance(fg.grad(f)(Z), np.ndarray)
    for i, unit in enumerate(np.eye(3)):
        along_x = (f(Z + h * unit) - f(Z - h * unit)) / (2 * h)
        along_y = (f(Z + 1j * h * unit) - f(Z - 1j * h * unit)) / (2 * h)
        np.testing.assert_allclose(fg.grad(f)(Z)[i], along_x - 1j * along_y, rtol=1e-7, atol=1e-8)
    single = fg.grad(f)(Z.astype(np.complex64))
    assert single.dtype == (np.complex64 if name not in ("vdot", "matmul") else single.dtype)


def test_a_real_argument_beside_a_complex_one_has_a_real_gradient():
    f = fg.grad(lambda x, z: np.real(np.sum(x * z**2)), argnums=(0, 1))
    gx, gz = f(V, Z)
    assert (gx.dtype, gz.dtype) == (float, complex)
    np.testing.assert_allclose(gx, np.real(Z**2), rtol=1e-14)
    np.testing.assert_allclose(gz, 2 * V * Z, rtol=1e-14)


@pytest.mark.parametrize("name", ["bitwise_count", "packbits"])
def test_a_function_without_a_rule_is_named(name):
    functions = {
        "bitwise_count": lambda x: np.sum(np.bitwise_count(x)),
        "packbits": lambda x: np.sum(np.packbits(x)),
    }
    with pytest.raises(TypeError, match=f"{name}: expected a function with a derivative rule"):
        fg.grad(functions[name])(X)


@pytest.mark.parametrize("index", [np.s_[:1], [0], np.array([True, False, False])])
def test_entries_that_are_stored_keep_the_signs_of_zeros(index):
    x = np.array([-0.0, -0.0, 0.0])
    for name in ("set", "add", "multiply", "min", "max"):
        for value in (-0.0, 0.0):
            expected = x.copy()
            how = {"set": lambda _, v: v, "min": np.minimum, "max": np.maximum}.get(name)
            expected[index] = (how or getattr(np, name))(x[index], value)
            changed = getattr(fg.var("x", (3,)).at[index], name)(value)
            found = changed(x=x)
            np.testing.assert_array_equal(
                np.signbit(found), np.signbit(expected), f"{name} {value}"
            )


def test_kronecker_products_keep_the_signs_of_zeros():
    x = np.array([0.0, -1.0, np.inf])
    with np.errstate(invalid="ignore"):
        expected = np.kron(x, x)
    found = fg.trace(lambda x: np.kron(x, x), x)(x=x)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("exponent", [2, -1, 0.5, 2.0, np.float64(0.5), 3])
def test_powers_of_float16_arrays_are_numpys_beside_infinities(exponent):
    x = np.array([-0.0, -np.inf, 0.0, np.inf, 2.0, np.nan], np.float16)
    with np.errstate(all="ignore"):
        expected = x**exponent
    found = fg.trace(lambda x: x**exponent, x)(x=x)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[:5]), np.signbit(expected[:5]))


@pytest.mark.parametrize("exponent", [2, -1, 0.5, 2.0, np.float64(0.5), 3])
def test_powers_of_complex_arrays_are_numpys_beside_infinities(exponent):
    z = np.array([complex(-np.inf, -2.0), complex(0.0, -0.0), complex(1.0, np.inf), 1 + 2j])
    with np.errstate(all="ignore"):
        expected = z**exponent
    found = fg.trace(lambda z: z**exponent, z)(z=z)
    for part in ("real", "imag"):
        ours, theirs = getattr(found, part), getattr(expected, part)
        np.testing.assert_array_equal(ours, theirs)
        finite = ~np.isnan(theirs)
        np.testing.assert_array_equal(np.signbit(ours)[finite], np.signbit(theirs)[finite])


@pytest.mark.parametrize("bounds", [(-1, 1), (0, 300), (-5, None), (None, 999)])
def test_bounds_outside_the_range_of_an_integer_dtype_bound_nothing(bounds):
    x = np.array([0, 200, 3], np.uint8)
    found = fg.trace(lambda x: np.clip(x, *bounds), x)(x=x)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.clip(x, *bounds))


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_the_matrix_of_a_diagonal_keeps_the_signs_of_zeros(k):
    x = np.array([-0.0, 0.0, 2.0])
    found = fg.trace(lambda x: np.diag(x, k), x)(x=x)
    np.testing.assert_array_equal(found, np.diag(x, k))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.diag(x, k)))


def _same(f, x):
    """f by NumPy, as a program and under jit: the same to the bit."""
    with np.errstate(all="ignore"):
        wanted = f(x)
    for found in (fg.evaluate(fg.trace(lambda x: f(x), x), {"x": x}), fg.jit(f)(x)):
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0, 1), (-0.0, 0.0), (0.0, -0.0), (-1, 1)])
def test_what_equals_a_bound_keeps_its_sign(bounds):
    x = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -np.inf, np.inf])
    for value in (*x, x, np.tile(x, 9)):
        _same(lambda x: np.clip(x, *bounds), value)
    assert fg.grad(lambda x: np.clip(x, 0.0, 1.0))(0.0) == 0.5


def test_a_complex_bound_takes_the_place_of_what_equals_it():
    for z in (complex(1.0, -0.0), complex(-0.0, -0.0), complex(-1.0, 0.0), 0.5 + 3j):
        for found in (fg.evaluate(fg.trace(lambda a: np.clip(a, -1, 1), z), {"a": z}),):
            assert repr(complex(found)) == repr(complex(np.clip(z, -1, 1)))


@pytest.mark.parametrize(
    "x",
    [
        [np.inf, np.inf],
        [-np.inf, 1.0],
        [0.1, 0.7],
        [0.1, 0.7, 0.3, 0.2],
        [1e308, 1.5e308],
        [-0.0, -0.0],
        [3, 1, 2, 4],
        [True, False],
        np.arange(6, dtype=np.float16),
    ],
)
def test_the_median_is_the_mean_of_the_middle(x):
    _same(lambda x: np.median(x), np.array(x))


def test_signs_of_complex_infinities():
    parts = [0.0, -2.0, np.inf, -np.inf, np.nan]
    for z in [complex(a, b) for a in parts for b in parts]:
        with np.errstate(all="ignore"):
            wanted = np.sign(z)
        for found in (fg.evaluate(fg.trace(lambda z: np.sign(z), z), {"z": z}), fg.jit(np.sign)(z)):
            np.testing.assert_allclose([found.real, found.imag], [wanted.real, wanted.imag])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_signs_of_complex_numbers_with_too_large_an_absolute_value(dtype):
    most = np.finfo(dtype).max
    z = np.array([complex(a, b) for a in (most, -most) for b in (most, -most)], dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fg.jit(np.sign)(z), np.sign(z), strict=True)


@pytest.mark.parametrize(
    "f",
    [
        lambda z: np.where(z, 1.0, 2.0),
        lambda z: np.logical_and(z, True),
        lambda z: np.logical_xor(z, False),
        lambda z: z.astype(bool),
    ],
)
def test_a_complex_number_is_true_if_one_of_its_parts_is(f):
    z = np.array([2j, 0, 1, complex(0, np.nan), complex(-0.0, -0.0)])
    np.testing.assert_array_equal(fg.jit(f)(z), f(z), strict=True)
    space: dict = {}
    exec(fg.to_python(fg.trace(f, z), "program"), space)
    np.testing.assert_array_equal(space["program"](z), f(z), strict=True)


def test_angles_of_truth_values_are_floats_of_numpys_dtype():
    for x in (np.array([True, False]), np.array([-1, 2], np.int8), np.array([-1, 0], np.float32)):
        np.testing.assert_array_equal(fg.jit(np.angle)(x), np.angle(x), strict=True)


@pytest.mark.parametrize("name", ["dot", "inner", "tensordot"])
@pytest.mark.parametrize(
    "shapes", [((1,), (1,)), ((1, 1), (1, 1)), ((1, 1), (1, 3)), ((3, 1), (1, 1)), ((2,), (2,))]
)
def test_a_product_of_one_entry_each_keeps_the_sign_of_zero(name, shapes):
    a, b = np.zeros(shapes[0]), -np.ones(shapes[1])
    b = b.T if name == "inner" and b.ndim == 2 else b
    more = (1,) if name == "tensordot" else ()

    def f(x):
        return getattr(np, name)(x, b, *more)

    for found in (fg.jit(f)(a), fg.jvp(f, (a,), (a,))[0]):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(f(a)))
        assert np.shape(found) == np.shape(f(a))


def test_least_squares_of_two_precisions_are_computed_in_the_larger_one():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 2)).astype(np.float32), rng.normal(size=(3, 2))
    found, want = fg.jit(np.linalg.lstsq)(a, b), np.linalg.lstsq(a, b)
    for one, other in zip(found, want, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["int32", "float16", "uint8"])
def test_a_matrix_power_keeps_its_dtype(dtype):
    a = np.array([[1, 2], [3, 0]], dtype)
    for n in (0, 1, 3):
        found, want = (
            fg.jit(lambda a, n=n: np.linalg.matrix_power(a, n))(a),
            np.linalg.matrix_power(a, n),
        )
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found, want)
    with pytest.raises(ValueError, match="square matrices"):
        fg.jit(lambda a: np.linalg.matrix_power(a[:1], 2))(a)


@pytest.mark.parametrize("weights", [2.0, np.array([2.0]), np.ones((3, 1))])
def test_bincount_wants_a_weight_for_each_value(weights):
    with pytest.raises(ValueError, match="bincount: expected a weight for each of 3 values"):
        fg.grad(lambda w: np.sum(np.bincount([0, 1, 1], weights=w)))(weights)


@pytest.mark.parametrize("p", [None, 2, -2])
@pytest.mark.parametrize("a", [np.zeros((2, 2)), np.zeros((2, 2, 3), np.float32)])
def test_the_condition_of_zeros_is_infinite(a, p):
    found, want = fg.jit(lambda a: np.linalg.cond(a, p))(a), np.linalg.cond(a, p)
    assert np.asarray(found).dtype == np.asarray(want).dtype
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("dtype", ["int32", "float64", "float32"])
def test_weights_of_an_average_are_added_in_the_dtype_of_the_result(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    w = (np.random.default_rng(0).normal(size=(3, 4)) + 2).astype(np.float32)
    found = fg.jit(lambda x, w: np.average(x, weights=w, returned=True))(x, w)
    for one, other in zip(found, np.average(x, weights=w, returned=True), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-6 if dtype == "float32" else 1e-14)


AXES = {
    "sum": lambda x, axis: np.sum(x, axis=axis),
    "mean": lambda x, axis: x.mean(axis=axis),
    "max": lambda x, axis: np.max(x, axis),
    "std": lambda x, axis: np.std(x, axis=axis),
    "any": lambda x, axis: np.any(x > 0, axis=axis),
    "add.reduce": lambda x, axis: np.add.reduce(x, axis=axis),
    "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
    "squeeze": lambda x, axis: np.squeeze(x[:1, :1], axis=axis),
    "count_nonzero": lambda x, axis: np.count_nonzero(x, axis=axis),
    "median": lambda x, axis: np.median(x, axis=axis),
    "nanmedian": lambda x, axis: np.nanmedian(x, axis=axis),
    "percentile": lambda x, axis: np.percentile(x, 30, axis=axis),
    "flip": lambda x, axis: np.flip(x, axis),
}


@pytest.mark.parametrize("axis", [[0, 1], np.array([0, 1]), [0], (0, 1), 1, np.int64(0)])
@pytest.mark.parametrize("name", AXES)
def test_axes_are_lists_where_numpys_are(name, axis):
    f, x = AXES[name], np.arange(6.0).reshape(2, 3, 1)

    def shape_or_error(f):
        try:
            return np.shape(f(x))
        except (TypeError, ValueError) as error:
            return type(error)

    expected = shape_or_error(lambda x: f(x, axis))
    assert shape_or_error(fg.jit(lambda x: f(x, axis))) == expected
    assert shape_or_error(fg.jit(fg.adopt(lambda x: f(x, axis)))) == expected


def test_a_mean_of_float16_is_summed_in_float32():
    x = np.ones(70_000, np.float16)
    value, slope = fg.value_and_grad(np.mean)(x)
    assert value == np.mean(x) == 1.0
    assert value.dtype == slope.dtype == np.float16


@pytest.mark.parametrize("order", [1.0, 2.0, 2.5])
def test_norms_have_a_slope_in_their_order(order):
    x = np.array([[0.3, -1.2, 2.0], [0.0, 1.0, 3.0]])
    size = np.abs(x)
    total = np.sum(size**order, axis=1)
    logs = np.log(np.where(size > 0, size, 1.0))
    norm = total ** (1 / order)
    slope = norm * (np.sum(size**order * logs, axis=1) / total - np.log(norm)) / order
    value, found = fg.jvp(fg.adopt(lambda p: np.linalg.norm(x, p, axis=1)), (order,), (1.0,))
    np.testing.assert_allclose(value, np.linalg.norm(x, order, axis=1), rtol=1e-15)
    np.testing.assert_allclose(found, slope, rtol=1e-13)


@pytest.mark.parametrize(
    "given", [3, True, [1, 2], (1, 2.0), np.int8(3), np.arange(3), np.float32(2)]
)
def test_the_sigmoid_and_its_integral_of_plain_numbers(given):
    """Integers are in the precision that NumPy gives the exponential of them."""
    for function in (fg.sigmoid, fg.softplus):
        found = function(given)
        assert found.dtype == np.exp(given).dtype
        assert type(found) is type(np.exp(given))
        exact = function(np.asarray(given, float))
        np.testing.assert_allclose(found, exact, rtol=4 * np.finfo(found.dtype).eps)


@pytest.mark.parametrize("given", ["3", None, ["a"]])
@pytest.mark.parametrize("function", [fg.sigmoid, fg.softplus])
def test_the_sigmoid_of_what_is_no_number(function, given):
    with pytest.raises(TypeError, match=f"{function.name}: expected numbers"):
        function(given)


@pytest.mark.parametrize("given", [-0.0, np.float32(2), 2 + 1j])
def test_logsumexp_of_a_number_is_a_number(given):
    found = fg.logsumexp(given)
    assert isinstance(found, np.generic)
    assert found == given
