"""Products of small matrices in machine code, whose sums stay in registers."""

import numpy as np
import pytest

import funcgrad as fg

pytest.importorskip("llvmlite")

CASES = [
    ("ki,kj->ij", (64, 10), (64, 16)),
    ("ik,kj->ij", (7, 13), (13, 5)),
    ("ik,kj->ij", (3, 20), (20, 33)),
    ("ik,kj->ij", (1, 12), (12, 4)),
    ("k,kj->j", (40,), (40, 70)),
    ("ik,kj->ij", (2, 12), (12, 250)),
    ("bik,bkj->bij", (3, 5, 16), (3, 16, 9)),
    ("bik,bkj->ibj", (3, 5, 16), (3, 16, 9)),
    ("ik,jk->ij", (6, 30), (8, 30)),
    ("kj,ik->ij", (20, 8), (6, 20)),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_are_numpys(dtype):
    rng = np.random.default_rng(0)
    pairs = [[rng.integers(-9, 9, s).astype(dtype) for s in shapes] for _, *shapes in CASES]

    def products(pairs):
        return [np.einsum(c[0], -a, b + 1) for c, (a, b) in zip(CASES, pairs, strict=True)]

    found = fg.jit(products, native=True)(pairs)
    for case, one, other in zip(CASES, found, products(pairs), strict=True):
        np.testing.assert_array_equal(one, other, err_msg=case[0])
        assert one.dtype == dtype


def test_numbers_that_are_none_reach_their_rows_and_columns_alone():
    a, b = np.ones((6, 14)), np.ones((14, 8))
    a[2, 3], b[4, 5] = np.nan, np.inf
    found = fg.jit(lambda a, b: (a * 2) @ (b * 2), native=True)(a, b)
    np.testing.assert_array_equal(found, (a * 2) @ (b * 2))


def test_slopes_in_a_loop():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((64, 10)), rng.standard_normal((10, 16)) / 4

    def train(w):
        def step(w, _):
            return w - 0.01 * x.T @ np.tanh(x @ w), None

        return np.sum(fg.scan(step, w, None, length=5)[0] ** 2)

    found = fg.jit(fg.value_and_grad(train), native=True)(w)
    for one, other in zip(found, fg.value_and_grad(train)(w), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
