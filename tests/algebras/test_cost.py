"""Costs, counted by hand."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.algebras import cost
from funcgrad.ops.base.op import Op
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.transforms.control_flow.cond import cond
from funcgrad.transforms.control_flow.loops import scan, while_loop
from tests.default_slice import one_in
from tests.ops.samples import SAMPLES

x = fg.var("x")


def counted(f, *args):
    found = cost(f, *args)
    return found.flops, found.read, found.written


def test_a_matrix_product():
    a, b = np.ones((3, 4)), np.ones((4, 5))
    assert counted(lambda a, b: a @ b, a, b) == (2 * 3 * 5 * 4, 8 * (12 + 20), 8 * 15)
    assert counted(lambda a, b: np.einsum("ij,jk->ik", a, b), a, b)[0] == 2 * 3 * 5 * 4
    assert counted(lambda a, v: a @ v, a, np.ones(4)) == (2 * 3 * 4, 8 * (12 + 4), 8 * 3)
    stack = np.ones((7, 3, 4))
    assert counted(lambda a, b: a @ b, stack, b)[0] == 7 * 2 * 3 * 5 * 4


def test_elementwise_operations_and_broadcasting():
    a = np.ones((3, 4))
    assert counted(lambda a: np.exp(a), a) == (12, 96, 96)
    assert counted(lambda a, r: a + r, a, np.ones(4)) == (12, 96 + 32, 96)
    assert counted(lambda a: a * 2, a) == (12, 96 + 8, 96)
    assert counted(lambda a: a * a, a) == (12, 96, 96)
    assert counted(lambda a: a + a, a.astype("float32")) == (12, 48, 48)


def test_reductions():
    a = np.ones((3, 4))
    assert counted(lambda a: np.sum(a), a) == (11, 96, 8)
    assert counted(lambda a: np.max(a, axis=1), a) == (9, 96, 24)
    assert counted(lambda a: np.cumsum(a, axis=1), a) == (9, 96, 96)


def test_what_moves_is_free():
    a = np.ones((3, 4))
    assert counted(lambda a: a.T, a) == (0, 0, 0)
    assert counted(lambda a: a.reshape(12), a) == (0, 0, 0)
    assert counted(lambda a: a[1:], a) == (0, 0, 0)
    assert counted(lambda a: a[np.array([0, 2])], a) == (0, 64 + 16, 64)
    assert counted(lambda a: np.concatenate([a, a * 1.0]), a) == (12, 96 + 8 + 192, 96 + 192)


def test_a_shared_part_is_counted_once():
    y = fg.exp(x)
    assert cost(y * y + y).flops == 3
    assert cost([y, y + 1]).flops == 2


def test_the_gradient_of_a_layer():
    f = lambda w, v: np.sum(np.tanh(w @ v))  # noqa: E731
    w, v = np.ones((30, 40)), np.ones(40)
    forward, gradient = cost(f, w, v), cost(fg.grad(f), w, v)
    assert forward.flops == 2 * 30 * 40 + 30 + 29
    # w @ v again, 1/cosh(z)**2, and the outer product.
    assert gradient.flops == 2 * 30 * 40 + 30 + 30 * 40
    assert forward.bytes == forward.read + forward.written
    assert forward.nodes[0].formula == "w @ v"
    assert "w @ v" in forward.nodes[0].line


@pytest.mark.parametrize("name", one_in(2, SAMPLES))
def test_every_operation_has_a_cost(name):
    for args, params in SAMPLES[name]:
        expr = all_ops()[name](*[fg.const(arg) for arg in args], **params)
        assert cost(expr).flops >= 0


def test_linear_algebra_is_counted_as_golub_and_van_loan_count_it():
    n = 6
    a, b = np.eye(n) * 2.0, np.ones((n, 3))
    assert cost(np.linalg.solve, a, b).flops == 2 * n**3 // 3 + 2 * n * n * 3
    assert cost(np.linalg.det, a).flops == 2 * n**3 // 3
    assert cost(np.linalg.inv, a).flops == 2 * n**3
    assert cost(np.linalg.cholesky, a).flops == n**3 // 3
    assert cost(np.linalg.eigh, a).flops == 9 * n**3
    long = np.ones((10, n))
    qr = 4 * 10 * n**2 - 4 * n**3 // 3
    assert cost(lambda a: np.linalg.qr(a), long).flops == qr
    assert cost(lambda a: np.linalg.qr(a), np.stack([long] * 5)).flops == 5 * qr
    # Of a wide matrix: 2m²(n - m/3) for r, and 4m³/3 for q.
    assert (
        cost(lambda a: np.linalg.qr(a), long.T).flops
        == 2 * n**2 * 10 - 2 * n**3 // 3 + 4 * n**3 // 3
    )
    svd = 14 * 10 * n**2 + 8 * n**3
    assert cost(lambda a: np.linalg.svd(a, full_matrices=False), long).flops == svd
    assert cost(lambda a: np.linalg.svd(a, full_matrices=False), long.T).flops == svd
    assert cost(np.linalg.pinv, long).flops == svd + 2 * 10 * n * n + n * n


def test_a_loop_is_so_many_times_its_body():
    w = np.ones((4, 4))

    def f(v, w):
        return scan(lambda c, a: (np.tanh(w @ c) + a, None), v, np.arange(7.0))[0]

    assert cost(f, np.ones(4), w).flops == 7 * (2 * 4 * 4 + 4 + 4)
    assert cost(lambda v: cond(v > 0, lambda v: v * v, np.sin, v), 2.0).flops >= 1
    # One iteration, and one evaluation of the residual x² - a: both lengths are known only at run time.
    turning = while_loop(lambda v: v < 10, lambda v: v * 2, fg.var("v"))
    assert cost(turning).flops == 2
    root = fg.implicit_root(lambda x, a: x * x - a)
    assert cost(lambda a: root(2.0, a), 4.0).flops == 2


def test_an_unknown_operation_is_named():
    odd = Op(name="odd", run=lambda v: v, infer=lambda type: type)
    with pytest.raises(
        TypeError, match="cost: expected operations whose flops are known, but got 'odd'"
    ):
        cost(odd(x))
