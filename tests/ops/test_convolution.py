"""Convolutions: ranges of entries, stacks, and their cost."""

import itertools
import tracemalloc

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.convolution import convolve_op, kept_range, named_range

RANGES = ["full", "same", "valid", (-3, 2), (-1, 9), (0, 1), (4, 5), (9, 2)]
LENGTHS = [(m, n) for m in (1, 2, 5, 8) for n in (1, 3, 7)]


def kept_of_full(a, v, kept):
    full, (first, count) = np.convolve(a, v), kept_range(kept, len(a), len(v))
    return np.array([full[p] if 0 <= p < len(full) else 0 for p in range(first, first + count)])


@pytest.mark.parametrize(("kept", "dtype"), [*itertools.product(RANGES, ["f8", "f4", "c16", "i8"])])
def test_a_range_of_entries(kept, dtype):
    rng = np.random.default_rng(0)
    close = {"rtol": 1e-5, "atol": 1e-4} if dtype == "f4" else {"rtol": 1e-12, "atol": 1e-13}
    for m, n in LENGTHS:
        a, v = (rng.normal(size=(9, size)) * 5 for size in (m, n))
        a, v = ((x * (1 + 2j) if dtype == "c16" else x).astype(dtype) for x in (a, v))
        want = np.stack([kept_of_full(*pair, kept) for pair in zip(a, v, strict=True)])
        for rows in (slice(1), slice(9)):  # by NumPy's function, and by entries
            found = convolve_op(a[rows], v[rows], kept=kept)
            assert found.dtype == a.dtype
            np.testing.assert_allclose(found, want[rows], **close)
        x, y = (fg.const(item[0]) for item in (a, v))
        simple = convolve_op.columns.decompose(x, y, kept)
        np.testing.assert_allclose(fg.evaluate(simple), want[0], **close)


def test_a_range_has_the_name_of_its_mode():
    for (m, n), mode in itertools.product(LENGTHS, ["full", "same", "valid"]):
        name = named_range(*kept_range(mode, m, n), m, n)
        assert kept_range(name, m, n) == kept_range(mode, m, n)
    with pytest.raises(ValueError, match="expected 'full', 'same', 'valid' or a range"):
        convolve_op(fg.const(np.ones(3)), fg.const(np.ones(2)), kept="wide")
    with pytest.raises(ValueError, match="expected two vectors with entries"):
        convolve_op(fg.const(np.ones((2, 3))), fg.const(np.ones(2)), kept="full")


def losses(kept):
    return lambda a, v: np.sum(np.sin(convolve_op(a, v, kept=kept)))


@pytest.mark.parametrize("kept", RANGES)
def test_derivatives_of_ranges(kept):
    rng, f = np.random.default_rng(0), losses(kept)
    for m, n in LENGTHS:
        fg.check_grads(f, (rng.normal(size=m), rng.normal(size=n)), order=2)


@pytest.mark.parametrize(
    ("kept", "axes"), [*itertools.product(RANGES, [(0, None), (None, 0), (0, 0)])]
)
def test_maps(kept, axes):
    rng, gradient = np.random.default_rng(0), fg.grad(losses(kept), (0, 1))
    for m, n in LENGTHS:
        given = [
            rng.normal(size=(4, size) if axis == 0 else size)
            for size, axis in zip((m, n), axes, strict=True)
        ]
        found = fg.vmap(gradient, axes)(*given)
        for k in range(4):
            row = [x if axis is None else x[k] for x, axis in zip(given, axes, strict=True)]
            for one, want in zip(found, gradient(*row), strict=True):
                np.testing.assert_allclose(one[k], want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kept", RANGES)
def test_machine_code(kept):
    pytest.importorskip("llvmlite")
    rng = np.random.default_rng(0)
    for m, n in LENGTHS:
        a, v = rng.normal(size=m), rng.normal(size=n)
        gradient = fg.grad(losses(kept), (0, 1))
        jitted = fg.jit(gradient, native=True)
        for one, want in zip(jitted(a, v), gradient(a, v), strict=True):
            np.testing.assert_allclose(one, want, rtol=1e-12, atol=1e-13)


def test_what_is_not_read_may_be_infinite():
    kernel = np.array([1.0, 2.0, np.inf])
    slope = fg.grad(lambda x: np.sum(np.convolve(x, kernel)[:2]))(np.ones(4))
    np.testing.assert_array_equal(slope, [3.0, 1.0, 0.0, 0.0])


def test_memory_is_that_of_the_operands():
    """The matrix of shifted entries would have 3 GB."""
    x = np.random.default_rng(0).normal(size=20_000)
    gradient = fg.grad(lambda x: np.sum(np.convolve(x, x[::-1], "same") ** 2))
    tracemalloc.start()
    slope = gradient(x)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
    assert slope.shape == x.shape


def test_formulas():
    x, k = fg.var("x", shape=(5,)), fg.var("k", shape=(3,))
    y = np.convolve(x, k)
    assert str(fg.gradient(np.sum(y**2), x)) == "convolve(2*convolve(x, k), k[::-1], 'valid')"
    assert str(np.convolve(x, k, "same")) == "convolve(x, k, 'same')"
    assert fg.to_latex(y) == "x * k"
    assert fg.to_latex(np.convolve(x, k, "valid")) == r"x *_{\text{valid}} k"
    assert fg.to_latex(convolve_op(x, k, kept=(1, 3))) == "x *_{1:4} k"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_stacks_with_one_vector_are_convolved_at_once(dtype):
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(5, 4, 30)) * 9).astype(dtype)
    kernel = (rng.normal(size=7) * 9).astype(dtype)
    if np.dtype(dtype).kind == "f":
        rows[1, 2, 3], rows[3, 0, -1] = np.inf, np.nan
    for kernels in (np.broadcast_to(kernel, (5, 4, 7)), np.tile(kernel, (5, 4, 1))):
        for kept in ("full", "same", "valid", (2, 9), (-3, 50), (40, 6)):
            for given in ((rows, kernels), (kernels, rows)):
                found = convolve_op(*given, kept=kept)
                wanted = [
                    [convolve_op(a, b, kept=kept) for a, b in zip(*pair, strict=True)]
                    for pair in zip(*given, strict=True)
                ]
                rtol = 1e-5 if dtype == np.float32 else 1e-12
                np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * 100)


def test_an_infinite_weight_meets_no_zeros_between_vectors():
    kernel = np.broadcast_to(np.array([1.0, np.inf]), (2, 2))
    np.testing.assert_array_equal(
        convolve_op(np.ones((2, 3)), kernel, kept="full"), [[1.0, np.inf, np.inf, np.inf]] * 2
    )
