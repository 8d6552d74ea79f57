"""Vectors of single eigenvalues and singular values, where others are equal: derivatives to any order."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.ops.elementwise.arithmetic import determined_product
from funcgrad.ops.reduced_resolvents import columns_product
from tests.default_slice import one_in

LA = np.linalg
B, LONG = np.array([1.0, 2.0, -0.5, 0.3]), np.array([1.0, 2.0, -0.5, 0.3, 0.7])
RNG = np.random.default_rng(0)


def unitary(n, k, dtype):
    z = RNG.normal(size=(n, k))
    return LA.qr(z + 1j * RNG.normal(size=(n, k)) if dtype is complex else z)[0]


def hermitian(*values, dtype=float):
    q = unitary(len(values), len(values), dtype)
    return (q * np.array(values)) @ q.conj().T


def general(m, n, *values, dtype=float):
    return (unitary(m, len(values), dtype) * np.array(values)) @ unitary(
        n, len(values), dtype
    ).conj().T


def first_vector(a):
    w, v = LA.eigh(a)
    return np.abs(B @ v[:, 0]) ** 2 * w[0] + w[3] * np.abs(B @ v[:, 3]) ** 2


def least_value(a):
    return LA.eigvalsh(a)[0]


def first_vectors(a):
    """Of the largest singular value."""
    u, s, vh = LA.svd(a, full_matrices=False)
    left, right = (B if len(x) == 4 else LONG for x in (u, vh.T))
    return np.real((left @ u[:, 0]) * (vh[0] @ right) * s[0] ** 2)


def largest_value(a):
    return LA.svd(a, compute_uv=False)[0]


def of_general(a):
    w, v = LA.eig(a)
    k = np.argmin(np.real(w))
    return np.real(v[0, k] * v[1, k] ** 3 * w[k])


Q = RNG.normal(size=(4, 4))
BLOCK = np.array([[1.0, 0.5, 0.2, 0.3], [0.0, 2.0, 0.0, 0.1], [0.0, 0.0, 2.0, 0.4], [0, 0, 0, 3]])
PROGRAMS = {
    "eigh": (first_vector, hermitian(1, 2, 2, 3)),
    "eigh, diagonal": (first_vector, np.diag([1.0, 2.0, 2.0, 3.0])),
    "eigh, complex": (first_vector, hermitian(1, 2, 2, 3, dtype=complex)),
    "eigvalsh": (least_value, hermitian(1, 2, 2, 2)),
    "svd": (first_vectors, general(4, 4, 3, 2, 2, 1)),
    "svd, two zeros": (first_vectors, general(4, 4, 3, 2, 0, 0)),
    "svd, tall": (first_vectors, general(5, 4, 3, 2, 2, 1)),
    "svd, tall, two zeros": (first_vectors, general(5, 4, 3, 2, 0, 0)),
    "svd, wide": (first_vectors, general(4, 5, 3, 2, 2, 1)),
    "svd, complex": (first_vectors, general(4, 4, 3, 2, 2, 1, dtype=complex)),
    "svd, complex, wide": (first_vectors, general(4, 5, 3, 2, 2, 0, dtype=complex)),
    "svdvals": (largest_value, general(4, 4, 3, 2, 2, 1)),
    "eig": (of_general, Q @ np.diag([1.0, 2.0, 2.0, 3.0]) @ LA.inv(Q)),
    "eig, block": (of_general, BLOCK),
    "eig, complex": (of_general, BLOCK * (1 + 0.5j)),
}


def directions(name, a, count):
    rng = np.random.default_rng(5)
    found = [rng.normal(size=a.shape) for _ in range(count)]
    if a.dtype.kind == "c":
        found = [e + 1j * rng.normal(size=a.shape) for e in found]
    return [e + e.conj().T for e in found] if name.startswith("eigh") else found


def along(f, e, mode):
    if mode == "forward":
        return lambda a: fg.jvp(f, (a,), (e,))[1]
    return lambda a: np.real(np.sum(fg.grad(f)(a) * e))


def slope(f, a, e, h=2e-3):
    """By differences of sixth order."""
    weights = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    return sum([w * (f(a + k * h * e) - f(a - k * h * e)) for k, w in weights]) / h


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives_beside_equal_values_in_all_modes(name):
    f, a = PROGRAMS[name]
    e, d = directions(name, a, 2)
    wanted = slope(fg.jit(along(f, e, "forward")), a, d)
    near = {"rtol": 1e-7, "atol": 1e-7}
    for modes in itertools.product(("forward", "reverse"), repeat=2):
        found = along(along(f, e, modes[0]), d, modes[1])(a)
        np.testing.assert_allclose(found, wanted, **near)
    g = along(along(f, e, "reverse"), d, "forward")
    np.testing.assert_allclose(fg.jit(g)(a), wanted, **near)
    np.testing.assert_allclose(fg.vmap(g)(np.stack([a, a]))[1], wanted, **near)
    np.testing.assert_allclose(along(f, e, "reverse")(a), slope(f, a, e), **near)


@pytest.mark.parametrize("name", one_in(4, PROGRAMS))
def test_third_derivatives_beside_equal_values(name):
    f, a = PROGRAMS[name]
    *two, e = directions(name, a, 3)
    for modes in (("forward", "reverse", "forward"), ("reverse", "reverse", "reverse")):
        g = along(along(f, two[0], modes[0]), two[1], modes[1])
        wanted = slope(fg.jit(g), a, e)
        np.testing.assert_allclose(along(g, e, modes[2])(a), wanted, rtol=2e-6, atol=1e-6)


def test_the_hessian_of_a_vector_by_perturbation_theory():
    """v + R x v + R x R x v - R^2 x v (v.x v) - v |R x v|^2/2, for the change x and resolvent R."""
    a, e = np.diag([1.0, 2.0, 2.0, 4.0]), directions("eigh", np.eye(4), 1)[0]
    r, v = np.diag([0.0, -1.0, -1.0, -1.0 / 3]), np.eye(4)[0]
    second = r @ e @ r @ e @ v - r @ r @ e @ v * (v @ e @ v) - v * np.sum((r @ e @ v) ** 2) / 2
    hessian = fg.hessian(lambda a: B @ (lambda v: v * np.sign(v[0]))(LA.eigh(a)[1][:, 0]))(a)
    np.testing.assert_allclose(np.einsum("ijkl,ij,kl", hessian, e, e), 2 * B @ second, rtol=1e-13)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("k", [1, 2])
def test_the_vectors_of_the_equal_values_have_no_derivative(order, k):
    for decompose, a in ((LA.eigh, PROGRAMS["eigh"][1]), (LA.svd, general(4, 4, 3, 2, 2, 1))):
        e, d = directions("eigh", a, 2)
        for modes in itertools.product(("forward", "reverse"), repeat=order):
            f = lambda a: B @ decompose(a)[1 if decompose is LA.eigh else 0][:, k]  # noqa: E731, B023
            for mode, direction in zip(modes, (e, d), strict=False):
                f = along(f, direction, mode)
            assert np.isnan(f(a))
            assert np.isnan(fg.jit(f)(a))


def test_a_single_singular_value_of_0_has_vectors():
    """Of a real matrix: they turn into those of -0 at no rate."""
    a = general(4, 4, 3, 2, 1, 0)
    f = lambda a: (lambda u, s, vh: (B @ u[:, 3]) ** 2 * (B @ vh[3]) ** 2)(*LA.svd(a))  # noqa: E731
    fg.check_grads(f, (a,), order=2)


def test_a_sum_over_columns_leaves_out_those_that_are_0():
    x, y = fg.var("x", (2, 3)), fg.var("y", (2, 3))
    x0, y0 = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]]), np.array([[1.0, np.nan, 1], [1, 5, 1]])
    found = fg.evaluate(columns_product(x, y), {"x": x0, "y": y0})
    np.testing.assert_array_equal(found, [[3.0, 3.0], [3.0, 3.0]])
    np.testing.assert_array_equal(
        fg.evaluate(determined_product(x, y), {"x": x0, "y": y0}), [[1.0, 0.0, 2.0], [3.0, 0.0, 0]]
    )


def test_a_compiled_program_has_the_decompositions_without_what_they_leave_out():
    a = fg.var("a", (4, 4))
    expr = fg.grad(first_vector).expr(a)
    names = [
        step.op if isinstance(step.op, str) else step.op.name
        for step in flatten_program([expr], [a]).steps
    ]
    assert not {"resolved", "columns_product", "spectral_function"} & set(names)
    kept = flatten_program([expr], [a], for_derivatives=True)
    assert "resolved" in {
        step.op.name for step in kept.steps[kept.inputs :] if hasattr(step.op, "name")
    }
    value = fg.evaluate(expr, {"a": PROGRAMS["eigh"][1]})
    np.testing.assert_allclose(
        value, fg.grad(first_vector)(PROGRAMS["eigh"][1]), rtol=1e-12, atol=1e-14
    )
