"""Products of large matrices in machine code: BLAS's, whatever the strides, and loops without it."""

import numpy as np
import pytest

from tests.default_slice import one_in

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native import array_forms, blas
from funcgrad.compiler.native.array_values import Splat
from funcgrad.compiler.native.blas import blas_address, has_blas, matrices_of
from funcgrad.compiler.native.llvm_jit import compile_llvm
from funcgrad.compiler.native.llvm_writer import integer
from funcgrad.compiler.native.native_program import NativeProgram
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(40, 30)), RNG.normal(size=(30, 50))
LONG = RNG.normal(size=(2000, 30))
SINGLE = A.astype(np.float32)

PRODUCTS = {
    "rows": (lambda a, b: a @ b, A, B),
    "columns": (lambda a, b: b.T @ a.T, A, B),
    "left transposed": (lambda a, b: a.T @ b, A.T.copy(), B),
    "right transposed": (lambda a, b: a @ b.T, A, B.T.copy()),
    "every other row": (lambda a, b: a[::2] @ b, LONG, B),
    "every other column": (lambda a, b: a[:, ::2] @ b[:15], LONG, B),
    "a part of each row": (lambda a, b: a[:, 3:25] @ b[3:25, 2:7], LONG, B),
    "backwards": (lambda a, b: a[::-1] @ b[:, ::-1], A, B),
    "repeated": (lambda a, b: np.broadcast_to(a[0], (40, 30)) @ b, A, B),
    "one number": (lambda a, b: np.broadcast_to(a[0, 0], (40, 30)) @ b, A, B),
    "one row": (lambda a, b: a.reshape(1, -1) @ b.reshape(-1, 1), LONG, LONG),
    "one column": (lambda a, b: a[:, :1] @ b[:1], LONG, LONG.T.copy()),
    "a vector": (lambda a, b: (a @ b, b @ a.T), LONG, RNG.normal(size=30)),
    "a vector with gaps": (lambda a, b: a @ b[::2], LONG, RNG.normal(size=60)),
    "two vectors": (lambda a, b: a @ b, LONG.ravel(), LONG.ravel()),
    "einsum": (lambda a, b: np.einsum("ij,jk->ki", a, b), A, B),
    "einsum by rows": (lambda a, b: np.einsum("ij,kj->ik", a, b), A, LONG),
    "float32": (lambda a, b: a @ b.T, SINGLE, SINGLE),
    "integers": (lambda a, b: a @ b.T, np.arange(1200).reshape(40, 30), np.ones((40, 30), int)),
    "a stack": (lambda a, b: a @ b, RNG.normal(size=(7, 40, 30)), B),
    "an entry of a stack": (lambda a, b: a[2] @ b, RNG.normal(size=(7, 40, 30)), B),
    "not finite": (lambda a, b: a @ b, np.where(A > 1.5, np.inf, A), np.where(B > 2, np.nan, B)),
}


def native(f, *args):
    inputs = [symbol(f"i{k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(args)]
    outputs = f(*inputs)
    outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
    program = NativeProgram(flatten_program(outputs, inputs), at_once=True)
    run = program.function()
    assert run is not None, program.later.reason
    return run(*args)


WITHOUT = ("right transposed", "every other column", "float32", "not finite")


@pytest.mark.parametrize(
    ("case", "without"),
    one_in(3, [*[(case, False) for case in PRODUCTS], *[(case, True) for case in WITHOUT]]),
)
def test_products_of_large_matrices_are_numpys(case, without, monkeypatch):
    f, *args = PRODUCTS[case]
    if without:
        monkeypatch.setattr(array_forms, "has_blas", lambda dtype: False)
    else:
        pytest.importorskip("scipy")
    with np.errstate(all="ignore"):
        want = f(*args)
    want = want if isinstance(want, tuple) else (want,)
    for one, other in zip(native(f, *args), want, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        size = np.max(np.abs(other[np.isfinite(other)]), initial=0.0)
        eps = np.finfo(other.dtype).eps if other.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(one, other, rtol=0, atol=64 * eps * size)


def test_blas_is_called_for_large_matrices_alone(monkeypatch):
    pytest.importorskip("scipy")
    called = []

    def compiled(text, names, *rest):
        called.append([name for name in names if "blas." in name])
        return compile_llvm(text, names, *rest)

    monkeypatch.setattr("funcgrad.compiler.native.llvm_jit.compile_llvm", compiled)
    homes = {"numpy_blas.": True, "blas.": False}
    homes = [home for home, own in homes.items() if blas_address(f"{home}dgemm") or not own]
    cases = [
        ((A, B), "dgemm"),
        ((A[:3].copy(), B[:, :20].copy()), ""),
        ((SINGLE, SINGLE.T.copy()), "sgemm"),
        ((LONG[:, :2].copy(), B[:2]), "dgemm"),
        ((LONG[:, :1].copy(), B[:1]), ""),
    ]
    for args, _ in cases:
        native(lambda a, b: a @ b, *args)
    assert called == [[homes[0] + name] if name else [] for _, name in cases]


def test_products_by_scipys_blas_are_numpys(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.setattr(blas, "_numpy_address", lambda name: 0)
    f, *args = PRODUCTS["right transposed"]
    np.testing.assert_allclose(native(f, *args)[0], f(*args), rtol=1e-12)


def test_what_blas_has_not():
    pytest.importorskip("scipy")
    assert blas_address("blas.no_such_function") == 0
    assert blas_address("numpy_blas.no_such_function") == 0
    assert has_blas("float64")
    assert not has_blas("int64")


def test_a_loss_of_large_matrices_with_its_gradient_is_machine_code():
    f = fg.value_and_grad(lambda p, x: np.sum(np.tanh(x @ p) ** 2))
    value, gradient = fg.jit(f, native=True)(B, LONG)
    want = fg.jit(f)(B, LONG)
    np.testing.assert_allclose(value, want[0], rtol=1e-13)
    np.testing.assert_allclose(gradient, want[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shapes", [((2**31, 3), (3, 2)), ((2, 2**31), (2**31, 2))])
def test_matrices_longer_than_the_integers_of_blas_are_not_given_to_it(shapes):
    first, second = [Splat("float64", shape, integer(0)) for shape in shapes]
    assert matrices_of(["ij", "jk"], "ik", [first, second]) is None
    small = Splat("float64", (3, 3), integer(0))
    assert matrices_of(["ij", "jk"], "ik", [small, small]) is not None
