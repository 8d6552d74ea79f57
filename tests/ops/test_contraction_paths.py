"""Contractions in compiled programs: products of matrices in the place of large einsums and stacks."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.expr import var

EINSUMS = [
    ("bij,bjk,kl->bil", (4, 20, 20), (4, 20, 20), (20, 30)),
    ("ij,jk,kl,lm->im", (20, 30), (30, 10), (10, 40), (40, 20)),
    ("bqhd,bkhd->bhqk", (2, 16, 4, 32), (2, 20, 4, 32)),
    ("ij,kj->ki", (30, 40), (50, 40)),
    ("abc,cbd->da", (10, 11, 12), (12, 11, 13)),
    ("i,j,ij->", (70,), (80,), (70, 80)),
    ("a,j,ij->i", (1,), (80,), (70, 80)),
    ("bi,bj->bij", (30, 20), (30, 40)),
    ("aij,aij->a", (20, 30, 10), (20, 30, 10)),
    ("ij,jk,ki->", (30, 20), (20, 40), (40, 30)),
    ("ni,kij,nj->nk", (60, 20), (8, 20, 20), (60, 20)),
]


def ops_of(f, *types):
    inputs = [var(f"x{k}", shape) for k, shape in enumerate(types)]
    flat = flatten_program([f(*inputs)], inputs)
    return [step.op.name for step in flat.steps[len(types) :]]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_large_einsums_are_numpys(case, dtype):
    subscripts, *shapes = case
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    if dtype == "complex128":
        xs = [x + 1j * rng.standard_normal(x.shape) for x in xs]

    def f(*xs):
        return np.einsum(subscripts, *xs)

    size = np.abs(np.einsum(subscripts, *map(np.abs, xs))).max()
    np.testing.assert_allclose(fg.jit(f)(*xs), f(*xs), rtol=1e-12, atol=1e-14 * size)

    def loss(xs):
        return np.sum(np.abs(f(*xs)) ** 2)

    for found, expected in zip(fg.jit(fg.grad(loss))(xs), fg.grad(loss)(xs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_large_einsums_in_machine_code(case):
    pytest.importorskip("llvmlite")
    subscripts, *shapes = case
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal(shape) for shape in shapes]
    f = fg.jit(lambda *xs: np.einsum(subscripts, *map(np.tanh, xs)), native=True)
    expected = np.einsum(subscripts, *map(np.tanh, xs))
    np.testing.assert_allclose(f(*xs), expected, rtol=1e-12, atol=1e-12)


def test_a_path_is_products_of_matrices():
    found = ops_of(lambda *xs: np.einsum("bij,bjk,kl->bil", *xs), *EINSUMS[0][1:])
    assert found.count("matmul") == 2
    assert "einsum" not in found


def test_a_product_between_may_be_larger_than_the_operands():
    (bilinear,) = [shapes for subscripts, *shapes in EINSUMS if subscripts == "ni,kij,nj->nk"]
    found = ops_of(lambda *xs: np.einsum("ni,kij,nj->nk", *xs), *bilinear)
    assert found.count("matmul") == 1
    vast = ops_of(
        lambda *xs: np.einsum("ni,kij,nj->nk", *xs), (90000, 20), (9, 20, 20), (90000, 20)
    )
    assert vast == ["einsum"]  # of 16 million numbers or more


def test_small_and_empty_einsums_are_left():
    assert ops_of(lambda *xs: np.einsum("ij,jk->ik", *xs), (3, 4), (4, 5)) == ["einsum"]
    assert ops_of(lambda *xs: np.einsum("ij,jk,kl->il", *xs), (0, 90), (90, 90), (90, 9)) == [
        "einsum"
    ]


@pytest.mark.parametrize("shape", [(2, 3, 0, 4), (2, 0, 3, 4), (0, 3, 2, 4), (2, 3, 4, 0)])
def test_empty_stacks(shape):
    stack, rows, inner, columns = shape
    x, w = np.ones((stack, rows, inner)), np.ones((inner, columns))
    np.testing.assert_array_equal(fg.jit(np.matmul)(x, w), x @ w)
    slope = fg.jit(fg.grad(lambda w: np.sum(np.sin(x @ w))))(w)
    np.testing.assert_array_equal(slope, x.sum((0, 1))[:, None] * np.cos(w.sum(0)))


def test_a_formula_shows_the_einsum():
    x = var("x", (30, 40))
    assert repr(np.einsum("ij,kj->ki", x, x)) == "einsum('ij,kj->ki', x, x)"


def test_a_stack_times_a_matrix_is_one_product():
    found = ops_of(lambda x, w: x @ w, (8, 20, 30), (30, 40))
    assert found == ["reshape", "matmul", "reshape"]


@pytest.mark.parametrize("stack", [(8,), (2, 3)])
@pytest.mark.parametrize("native", [False, True])
def test_slopes_of_a_matrix_beside_a_stack(stack, native):
    if native:
        pytest.importorskip("llvmlite")
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((*stack, 20, 30)), rng.standard_normal((30, 40))

    def loss(x, w):
        return np.sum(np.sin(x @ w))

    found = fg.jit(fg.grad(loss, (0, 1)), native=native)(x, w)
    slope = np.cos(x @ w)
    np.testing.assert_allclose(found[0], slope @ w.T, rtol=1e-11, atol=1e-12)
    expected = x.reshape(-1, 30).T @ slope.reshape(-1, 40)
    np.testing.assert_allclose(found[1], expected, rtol=1e-11, atol=1e-12)


def test_a_sum_over_a_stack_of_products_is_one_product():
    def total(x, y):
        return np.sum(np.swapaxes(x, 1, 2) @ y, axis=0)

    assert ops_of(total, (8, 20, 30), (8, 20, 40)) == ["reshape", "transpose", "reshape", "matmul"]
    x, y = np.random.default_rng(0).standard_normal((2, 8, 20, 20))
    np.testing.assert_allclose(fg.jit(total)(x, y), total(x, y), rtol=1e-12, atol=1e-12)
    plain = fg.jit(lambda x, y: np.sum(x @ y, axis=0))
    np.testing.assert_allclose(plain(x, y), np.sum(x @ y, axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shapes", [((8, 64, 32), (8, 32, 48)), ((2, 100, 200), (2, 200, 17))])
@pytest.mark.parametrize("kind", ["plain", "swapped", "moved"])
def test_stacks_of_large_products_in_machine_code(shapes, kind):
    pytest.importorskip("llvmlite")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape) for shape in shapes)

    def product(a, b):
        a, b = np.tanh(a), np.exp(b)
        if kind == "swapped":
            b = np.swapaxes(b, 1, 2)
        if kind == "moved":
            a = np.transpose(a, (1, 2, 0))
        return a @ b

    b = np.swapaxes(b, 1, 2).copy() if kind == "swapped" else b
    a = np.transpose(a, (2, 0, 1)).copy() if kind == "moved" else a
    np.testing.assert_allclose(fg.jit(product, native=True)(a, b), product(a, b), rtol=1e-11)


def test_arrays_with_a_short_last_axis_become_machine_code():
    pytest.importorskip("llvmlite")
    rng = np.random.default_rng(0)
    windows, k = rng.standard_normal((16, 192, 9)), rng.standard_normal((8, 9))

    def f(k):
        y = np.maximum(windows @ k.T, 0)
        return np.sum(((y - y.mean((0, 1))) / np.sqrt(y.var((0, 1)) + 1e-5)) ** 3)

    found = fg.jit(fg.value_and_grad(f), native=True)(k)
    for one, other in zip(found, fg.value_and_grad(f)(k), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12 * np.abs(other).max())


def test_other_libraries_have_the_einsum():
    inputs = [var(f"x{k}", shape) for k, shape in enumerate(EINSUMS[0][1:])]
    flat = flatten_program([np.einsum("bij,bjk,kl->bil", *inputs)], inputs, for_numpy=False)
    assert [step.op.name for step in flat.steps[3:]] == ["einsum"]
