"""Solving, inverting and factoring matrices in machine code against NumPy's LAPACK."""

import numpy as np
import pytest

from tests.default_slice import one_in

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.flat_program import interpret
from funcgrad.compiler.native import deferred_code, lapack_forms, native_program, time_estimate
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.python import loop_codegen
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import LoopSpec
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.determinants import cofactor_op


def compiled(f, *arrays):
    """A function of such arrays as machine code; it returns None where it leaves them to NumPy."""
    inputs = [symbol(f"i{k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(arrays)]
    spec = LoopSpec(0, len(inputs), 1)
    run = NativeLoop(flat_of(body_of(inputs, list(f(*inputs)))), None, spec, True).function()
    if run is None:
        raise LookupError("no machine code")

    def call(*arrays):
        found = run([x[None] for x in arrays], 1)
        return None if found is None else [x[0] for x in found[1]]

    return call


def everything(a, b, p):
    sign, log = np.linalg.slogdet(a)
    solved = np.linalg.solve(a, b), np.linalg.inv(a)
    return *solved, sign, log, np.linalg.det(a), np.linalg.cholesky(p)


@pytest.mark.parametrize(
    ("n", "dtype"),
    [
        *one_in(2, [(1, float), (3, np.float32), (4, float), (16, float)]),
        *one_in(2, [(17, np.float32), (17, float), (33, float), (40, np.float32)]),
    ],
)
def test_stacks_of_matrices(n, dtype):
    """As exact as LAPACK: a few units in the last place times the condition number."""
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(40, n, n)).astype(dtype), rng.normal(size=(40, n, 2)).astype(dtype)
    p = a @ np.swapaxes(a, 1, 2) + np.eye(n, dtype=dtype)
    p += np.triu(rng.normal(size=(n, n)), 1).astype(dtype)  # NumPy reads the lower triangle alone
    got, want = compiled(everything, a, b, p)(a, b, p), everything(a, b, p)
    conditions = np.linalg.cond(a)
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        condition = (
            np.linalg.cond(np.tril(p) + np.swapaxes(np.tril(p, -1), 1, 2)) if k == 5 else conditions
        )
        apart = np.abs(one - other).reshape(40, -1).max(-1)
        size = np.abs(other).reshape(40, -1).max(-1) + (k == 3)
        assert np.all(apart <= 4 * n * np.finfo(dtype).eps * condition * size)
    assert not np.triu(got[5], 1).any()
    np.testing.assert_array_equal(got[2], want[2])


def test_rows_trade_places():
    a, b = np.eye(5)[[3, 0, 4, 1, 2]], np.arange(5.0)[:, None]
    run = compiled(lambda a, b: everything(a, b, a)[:5], a, b)
    solved, inverse, sign, log, det = run(a, b)
    np.testing.assert_array_equal(solved, np.linalg.solve(a, b))
    np.testing.assert_array_equal(inverse, a.T)
    assert (sign, log, det) == (*np.linalg.slogdet(a), np.linalg.det(a))


def test_special_right_sides():
    right = np.array([[np.nan, 1.0], [1.0, np.inf], [-0.0, 0.0], [1e308, -1e308]])[:, :, None]
    solve = compiled(lambda a, b: [np.linalg.solve(a, b)], np.eye(2), right[0])
    for a in ([[1.0, 0.0], [0.0, 1.0]], [[2.0, -1.0], [0.0, 4.0]]):
        for b in right:
            with np.errstate(all="ignore"):
                want = np.linalg.solve(np.array(a), b)
            (got,) = solve(np.array(a), b)
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


def test_scales_are_not_singular():
    a = np.diag([1.0, 1e-200, 1e150])
    inverse, root = compiled(lambda a: [np.linalg.inv(a), np.linalg.cholesky(a)], a)(a)
    np.testing.assert_array_equal(inverse, np.linalg.inv(a))
    np.testing.assert_array_equal(root, np.linalg.cholesky(a))


@pytest.mark.parametrize("name", ["inv", "det", "cholesky"])
def test_numpy_decides_about_singular_matrices(name):
    run = compiled(lambda a: [getattr(np.linalg, name)(a)], np.zeros((2, 2, 2)))
    rounded = [[0.1, 0.3], [0.7, 0.3 * 0.7 / 0.1]]
    special = [[np.nan, 1], [1, 1]], [[1, np.inf], [np.inf, 1]], [[1, 1], [np.nan, 2]]
    for a in ([[1, 2], [2, 4]], [[0, 0], [0, 0]], rounded, *special):
        assert run(np.stack([np.eye(2), np.array(a, float)])) is None
    assert run(np.stack([np.eye(2)] * 2)) is not None


@pytest.mark.parametrize(
    ("n", "dtype"), [(4, float), (7, np.float32), (16, float), (20, np.float32), (31, float)]
)
def test_cofactors(n, dtype):
    """As exact as NumPy's, which alone computes those of matrices near singular ones."""
    rng = np.random.default_rng(n)
    a = rng.normal(size=(40, n, n)).astype(dtype)
    a += n * np.eye(n, dtype=dtype)[rng.permutation(n)]
    run = compiled(lambda a: [cofactor_op(a)], a)
    (got,), want = run(a), cofactor_op.run(a)
    assert got.dtype == want.dtype
    condition = np.linalg.cond(a)[:, None, None]
    apart = np.abs(got - want) / np.max(np.abs(want), axis=(1, 2), keepdims=True)
    assert np.all(apart <= 4 * n * np.finfo(dtype).eps * condition)
    near = a.copy()
    near[3, 0] = near[3, 1] * dtype(1 + 1e-6)
    special = (
        np.full_like(a, np.nan),
        np.full_like(a, np.inf),
        a * np.finfo(dtype).tiny ** (2.5 / n),
    )
    for other in (near, *special):
        assert run(other.astype(dtype)) is None


def test_machine_code_rests_where_numpy_decides(monkeypatch):
    """Singular matrices do not pay for both."""
    monkeypatch.setattr(deferred_code, "_COMPILE", 0.0)
    monkeypatch.setattr(time_estimate, "_COMPILE_STEP", 0.0)
    monkeypatch.setattr(native_program, "_ENTER", 0.0)
    failures = []
    monkeypatch.setattr(
        native_program, "interpret", lambda *given: failures.append(1) or interpret(*given)
    )
    f = fg.jit(fg.grad(np.linalg.det))
    singular, regular = np.ones((4, 4)), np.diag([1.0, 2.0, 3.0, 4.0])
    want = [fg.grad(np.linalg.det)(a) for a in (singular, regular)]
    for _ in range(200):
        np.testing.assert_array_equal(f(singular), want[0])
    assert 5 < len(failures) < 10
    before = len(failures)
    for _ in range(70):
        np.testing.assert_allclose(f(regular), want[1], rtol=1e-14)
    assert len(failures) == before
    np.testing.assert_array_equal(f(singular), want[0])
    assert len(failures) == before + 1  # machine code had run again


def test_a_singular_matrix_in_a_loop_raises(monkeypatch):
    monkeypatch.setattr(deferred_code, "_COMPILE", 0.0)
    monkeypatch.setattr(time_estimate, "_COMPILE_STEP", 0.0)
    monkeypatch.setattr(time_estimate, "_COMPILE_NUMBER", 0.0)
    monkeypatch.setattr(loop_codegen, "_FEW", 0)

    def f(a, b):
        return np.sum(fg.scan(lambda x, t: (np.linalg.solve(a, x), t), b, np.arange(30))[0])

    a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.ones(2)
    gradient = fg.jit(fg.grad(f))
    found = [gradient(a, b) for _ in range(3)]
    h = 1e-6
    step = np.array([[0.0, h], [0.0, 0.0]])
    assert found[-1][0, 1] == pytest.approx((f(a + step, b) - f(a - step, b)) / (2 * h))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        gradient(np.ones((2, 2)), b)


def test_large_matrices_need_scipy(monkeypatch):
    monkeypatch.setattr(lapack_forms, "has_lapack", lambda dtype: False)
    for f in (np.linalg.inv, np.linalg.cholesky):
        with pytest.raises(LookupError):
            compiled(lambda a, f=f: [f(a)], np.eye(17))


@pytest.mark.parametrize("name", ["inv", "det", "cholesky"])
def test_numpy_decides_about_large_singular_matrices(name):
    run = compiled(lambda a: [getattr(np.linalg, name)(a)], np.zeros((2, 20, 20)))
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(20, 3))
    special = np.eye(20)
    special[3, 3] = np.nan
    infinite = np.eye(20)
    infinite[4, 4] = np.inf
    for a in (low_rank @ low_rank.T, np.zeros((20, 20)), special, infinite):
        assert run(np.stack([np.eye(20), a])) is None
    assert run(np.stack([np.eye(20)] * 2)) is not None


def test_large_complex_matrices():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(3, 20, 20)) + 1j * rng.normal(size=(3, 20, 20))
    b = rng.normal(size=(3, 20, 7)) + 0j

    def all_of(a, b):
        return [np.linalg.solve(a, b), np.linalg.inv(a), *np.linalg.slogdet(a), np.linalg.det(a)]

    for one, other in zip(compiled(all_of, a, b)(a, b), all_of(a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
