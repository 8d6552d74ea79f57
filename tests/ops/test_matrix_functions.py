"""Functions of hermitian matrices by their eigenvalues: derivatives also where eigenvalues are equal."""

import itertools

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from tests.default_slice import one_in, some

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(4, 4))


def adjoint(v):
    return np.conj(np.swapaxes(v, -1, -2))


FORMS = {
    "columns": lambda v, d: (v * d) @ v.T,
    "columns with an axis": lambda v, d: v * d[None, :] @ adjoint(v),
    "rows": lambda v, d: v @ (d[:, None] * v.T),
    "rows, conjugate": lambda v, d: v @ (d[..., None] * adjoint(v)),
    "left diagonal": lambda v, d: v @ np.diag(d) @ v.T,
    "right diagonal": lambda v, d: v.dot(np.diag(d).dot(v.T)),
}
FUNCTIONS = {
    "sqrt": (np.sqrt, scipy.linalg.sqrtm),
    "log": (np.log, scipy.linalg.logm),
    "exp": (lambda w: np.exp(0.5 * w), lambda a: scipy.linalg.expm(0.5 * a)),
    "power": (
        lambda w: 1.0 / w**1.5,
        lambda a: np.linalg.inv(scipy.linalg.fractional_matrix_power(a, 1.5)),
    ),
    "clipped": (lambda w: np.where(w > 0.0, np.maximum(w, 0.1) ** 2, 0.0), lambda a: a @ a),
}


def spectrum(*values):
    q, _ = np.linalg.qr(RNG.normal(size=(4, 4)))
    return (q * np.array(values)) @ q.T


POINTS = {
    "identity": np.eye(4),
    "two of a kind": spectrum(1.0, 1.0, 2.0, 3.0),
    "nearly equal": spectrum(1.0, 1.0 + 1e-13, 2.0, 2.0 + 1e-7),
    "apart": spectrum(0.5, 1.0, 2.0, 3.0),
}


def by_eigenvalues(f, form):
    def function(a):
        w, v = np.linalg.eigh(a)
        return FORMS[form](v, f(w))

    return function


@pytest.mark.parametrize(("point", "name"), one_in(3, itertools.product(POINTS, FUNCTIONS)))
def test_derivative_where_eigenvalues_are_equal(name, point):
    f, exact = FUNCTIONS[name]
    a, e = POINTS[point], RNG.normal(size=(4, 4))
    e = e + e.T
    h = 1e-4
    far = [np.real(exact(a + k * h * e)) for k in (-2, -1, 1, 2)]
    wanted = (far[0] - 8 * far[1] + 8 * far[2] - far[3]) / (12 * h)
    for form in FORMS:
        function = by_eigenvalues(f, form)
        np.testing.assert_array_equal(fg.jit(function)(a), function(a))
        np.testing.assert_allclose(fg.jvp(function, (a,), (e,))[1], wanted, rtol=1e-8, atol=1e-9)
        gradient = fg.grad(lambda a, function=function: np.sum(WEIGHTS * function(a)))(a)
        np.testing.assert_allclose(
            np.sum(np.tril(gradient) * e), np.sum(WEIGHTS * wanted), rtol=1e-8
        )
        assert not np.triu(gradient, 1).any()


@pytest.mark.parametrize("form", ["columns with an axis", "rows, conjugate"])
def test_complex_matrices_and_values(form):
    a = np.eye(4) + 0j
    e = RNG.normal(size=(4, 4)) + 1j * RNG.normal(size=(4, 4))
    e = e + adjoint(e)
    function = by_eigenvalues(np.sqrt, form)
    np.testing.assert_allclose(fg.jvp(function, (a,), (e,))[1], 0.5 * e, rtol=1e-12)
    rotated = by_eigenvalues(lambda w: np.exp(1j * w), form)
    np.testing.assert_allclose(fg.jvp(rotated, (a,), (e,))[1], 1j * np.exp(1j) * e, rtol=1e-12)
    real = fg.grad(lambda a: np.sum(WEIGHTS * np.imag(rotated(a))))(np.eye(4))
    np.testing.assert_allclose(
        real, np.cos(1.0) * np.tril(WEIGHTS + WEIGHTS.T - np.diag(np.diag(WEIGHTS)))
    )
    fg.check_grads(rotated, (np.array(POINTS["apart"]) + 0j,), order=1)


@pytest.mark.parametrize("form", one_in(2, FORMS))
def test_second_order_stacks_and_the_other_triangle(form):
    function = by_eigenvalues(lambda w: np.sqrt(w) + 0.1 * w, form)
    fg.check_grads(function, (POINTS["apart"],), order=2)
    stack = np.stack(list(POINTS.values()))
    each = [fg.jacobian(function)(a) for a in stack]
    np.testing.assert_allclose(fg.vmap(fg.jacobian(function))(stack), each, rtol=1e-12, atol=1e-13)

    def upper(a):
        w, v = np.linalg.eigh(a, "U")
        return np.sum(WEIGHTS * FORMS[form](v, w**3))

    assert not np.tril(fg.grad(upper)(np.eye(4)), -1).any()


def test_values_that_depend_on_more_than_their_eigenvalue():
    a, e = POINTS["apart"], np.ones((4, 4))

    def normalized(a):
        w, v = np.linalg.eigh(a)
        return (v * (w[::-1] / np.sum(w))) @ v.T

    wanted = (normalized(a + 1e-6 * e) - normalized(a - 1e-6 * e)) / 2e-6
    np.testing.assert_allclose(fg.jvp(normalized, (a,), (e,))[1], wanted, rtol=1e-7, atol=1e-9)

    def projected(a):
        _, v = np.linalg.eigh(a)
        return (v * np.array([0.0, 0.0, 1.0, 1.0])) @ v.T

    wanted = (projected(a + 1e-6 * e) - projected(a - 1e-6 * e)) / 2e-6
    np.testing.assert_allclose(fg.jvp(projected, (a,), (e,))[1], wanted, rtol=1e-7, atol=1e-9)


EINSUMS = {
    "three operands": lambda v, d: np.einsum("ij,j,kj->ik", v, d, np.conj(v)),
    "another order": lambda v, d: np.einsum("b,cb,ab->ca", d, v, np.conj(v)),
    "scaled before": lambda v, d: np.einsum("ij,kj->ik", v * d, np.conj(v)),
    "of the adjoint": lambda v, d: np.einsum("ij,jk->ik", v * d, adjoint(v)),
    "by numbers": lambda v, d: np.einsum(v, [0, 1], d, [1], np.conj(v), [2, 1], [0, 2]),
}


@pytest.mark.parametrize("point", ["identity", "nearly equal", "apart"])
@pytest.mark.parametrize("name", EINSUMS)
def test_einsum_has_the_derivative_of_the_product(name, point):
    a, e = POINTS[point], WEIGHTS + WEIGHTS.T

    def written(form):
        def function(a):
            w, v = np.linalg.eigh(a)
            return form(v, np.exp(w))

        return function

    found, wanted = written(EINSUMS[name]), written(FORMS["columns with an axis"])
    np.testing.assert_allclose(fg.jit(found)(a), wanted(a), rtol=1e-12, atol=1e-12)
    expected = fg.jvp(wanted, (a,), (e,))[1]
    np.testing.assert_allclose(fg.jvp(found, (a,), (e,))[1], expected, rtol=1e-12, atol=1e-12)
    slope, other = (fg.grad(lambda a, f=f: np.sum(WEIGHTS * f(a)))(a) for f in (found, wanted))
    np.testing.assert_allclose(slope, other, rtol=1e-12, atol=1e-12)


def test_an_einsum_of_complex_vectors_of_equal_eigenvalues_is_not_determined():
    def function(a):
        w, v = np.linalg.eigh(a)
        return np.einsum("ij,j,kj->ik", v, np.exp(w), np.conj(v))

    e = WEIGHTS + WEIGHTS.T + 0j
    assert np.isnan(fg.jvp(function, (np.eye(4) + 0j,), (e,))[1]).all()
    a = POINTS["apart"] + 0j
    wanted = (function(a + 1e-6 * e) - function(a - 1e-6 * e)) / 2e-6
    np.testing.assert_allclose(fg.jvp(function, (a,), (e,))[1], wanted, rtol=1e-6, atol=1e-8)


def test_einsums_that_are_no_function_of_the_matrix():
    a, e = POINTS["apart"], WEIGHTS + WEIGHTS.T
    for subscripts in ("ij,j,kj->ki", "ij,i,kj->ik", "ji,j,jk->ik", "ij,j,ij->ij", "ij,j,kj->i"):

        def function(a, subscripts=subscripts):
            w, v = np.linalg.eigh(a)
            return np.einsum(subscripts, v, np.exp(w), v if subscripts[0:2] != "ji" else v**2) ** 2

        wanted = (function(a + 1e-6 * e) - function(a - 1e-6 * e)) / 2e-6
        np.testing.assert_allclose(fg.jvp(function, (a,), (e,))[1], wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    "values",
    [
        lambda w: np.exp(w) / np.sum(np.exp(w)),
        lambda w: w**2 - w[0] * w,
        lambda w: np.sqrt(w) * np.linalg.norm(w),
    ],
)
def test_values_that_share_a_number(values, point):
    a, e = POINTS[point], WEIGHTS + WEIGHTS.T
    if point == "nearly equal" or values(np.array([1.0, 2.0]))[0] == 0.0:
        # The number is differentiable where the least eigenvalue is alone, or sums over equal ones.
        a = spectrum(0.5, 1.0, 1.0, 3.0)

    def function(a):
        w, v = np.linalg.eigh(a)
        return (v * values(w)) @ v.T

    h = 1e-4
    far = [function(a + k * h * e) for k in (-2, -1, 1, 2)]
    wanted = (far[0] - 8 * far[1] + 8 * far[2] - far[3]) / (12 * h)
    np.testing.assert_allclose(fg.jvp(function, (a,), (e,))[1], wanted, rtol=1e-7, atol=1e-8)
    slope = fg.grad(lambda a: np.sum(WEIGHTS * function(a)))(a)
    np.testing.assert_allclose(np.sum(slope * e), np.sum(WEIGHTS * wanted), rtol=1e-7)


def test_some_rows_of_the_vectors_are_no_choice_of_vectors():
    def by_rows(a):
        w, v = np.linalg.eigh((a + a.T) / 2)
        return np.sum(WEIGHTS[:2, :2] * ((v[:2] * np.exp(w)) @ v[:2].T))

    def by_rows_of_a_general_matrix(a):
        u, s, vt = np.linalg.svd(a)
        return np.sum(WEIGHTS[:2, :2] * ((u[:2] * s) @ vt[:, :2]))

    a = WEIGHTS + WEIGHTS.T
    wanted = fg.grad(lambda a: np.sum(WEIGHTS[:2, :2] * scipy.linalg.expm(a)[:2, :2]))(a)
    np.testing.assert_allclose(fg.grad(by_rows)(a), (wanted + wanted.T) / 2, rtol=1e-10)
    whole = np.pad(WEIGHTS[:2, :2], (0, 2))
    np.testing.assert_allclose(fg.grad(by_rows_of_a_general_matrix)(WEIGHTS), whole, atol=1e-12)


def test_empty_and_single():
    for n in (0, 1):
        function = by_eigenvalues(np.exp, "columns")
        found = fg.grad(lambda a, f=function: np.sum(f(a)))(np.eye(n))
        np.testing.assert_allclose(found, np.exp(1.0) * np.eye(n))


# -- singular values -------------------------------------------------------------------------------
SINGULAR = {
    "orthogonal factor": (lambda u, s, vh: u @ vh, lambda s: 1.0 + 0 * s),
    "its transpose": (lambda u, s, vh: vh.T @ u.T, lambda s: 1.0 + 0 * s),
    "columns": (lambda u, s, vh: (u * np.sinh(s)) @ vh, np.sinh),
    "rows": (lambda u, s, vh: u @ ((s**3)[:, None] * vh), lambda s: s**3),
    "diagonal": (lambda u, s, vh: u @ np.diag(np.sin(s)) @ vh, np.sin),
    "transposed, scaled": (lambda u, s, vh: (vh.T * s) @ u.T, lambda s: s),
    "einsum": (lambda u, s, vh: np.einsum("ij,j,jk->ik", u, s * s, vh), np.square),
    "einsum of two": (lambda u, s, vh: np.einsum("ji,kj->ki", vh, u), lambda s: 1.0 + 0 * s),
}
GENERAL = {
    "equal": 2.0 * np.eye(3),
    "equal, rotated": np.linalg.qr(RNG.normal(size=(3, 3)))[0],
    "equal, tall": np.linalg.qr(RNG.normal(size=(5, 3)))[0] * 1.5,
    "equal, wide": np.linalg.qr(RNG.normal(size=(4, 2)))[0].T,
    "nearly equal": np.diag([1.0, 1.0 + 1e-9, 2.0]),
    "apart": RNG.normal(size=(3, 3)),
    "rank 1": np.outer([1.0, 2.0, 3.0], [1.0, 0.5, 2.0]),
    "two zeros": np.diag([2.0, 0.0, 0.0]),
}


def by_singular_values(product):
    def function(a):
        return product(*np.linalg.svd(a, full_matrices=False))

    return function


@pytest.mark.parametrize("point", GENERAL)
@pytest.mark.parametrize(
    "name",
    some(["orthogonal factor", "columns"], SINGULAR),
)
def test_derivative_where_singular_values_are_equal(name, point):
    product, f = SINGULAR[name]
    function, a = by_singular_values(product), GENERAL[point]
    if point in ("rank 1", "two zeros") and (f(0.0) != 0.0 or f is np.square):
        return  # not differentiable, or only once
    e, h = RNG.normal(size=a.shape), 1e-4
    far = [function(a + k * h * e) for k in (-2, -1, 1, 2)]
    wanted = (far[0] - 8 * far[1] + 8 * far[2] - far[3]) / (12 * h)
    if "einsum" in name:
        np.testing.assert_allclose(fg.jit(function)(a), function(a), rtol=1e-13, atol=1e-14)
    else:
        np.testing.assert_array_equal(fg.jit(function)(a), function(a))
    close = {"rtol": 1e-8, "atol": 1e-9}
    np.testing.assert_allclose(fg.jvp(function, (a,), (e,))[1], wanted, **close)
    weights = RNG.normal(size=wanted.shape)
    gradient = fg.grad(lambda a: np.sum(weights * function(a)))(a)
    np.testing.assert_allclose(np.sum(gradient * e), np.sum(weights * wanted), **close)


@pytest.mark.parametrize(
    "shape", [(3, 2), *[pytest.param(x, marks=pytest.mark.slow) for x in ((3, 3), (2, 4))]]
)
def test_second_order_complex_and_stacks_of_general_matrices(shape):
    for name in ("orthogonal factor", "columns"):
        function = by_singular_values(SINGULAR[name][0])
        fg.check_grads(function, (RNG.normal(size=shape),), order=2)
        z = RNG.normal(size=shape) + 1j * RNG.normal(size=shape)
        fg.check_grads(function, (z,), order=1)
        stack = RNG.normal(size=(3, *shape))
        each = [fg.jacobian(function)(a) for a in stack]
        np.testing.assert_allclose(fg.vmap(fg.jacobian(function))(stack), each, rtol=1e-11)
    at_one = np.linalg.qr(RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3)))[0]
    e = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
    wanted = (function(at_one + 1e-6 * e) - function(at_one - 1e-6 * e)) / 2e-6
    np.testing.assert_allclose(fg.jvp(function, (at_one,), (e,))[1], wanted, atol=1e-8)


def test_a_rotation_between_points_has_its_derivative():
    """Kabsch's rotation, with the reflection taken out."""

    def rotation(a):
        u, _, vh = np.linalg.svd(a)
        turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(vh.T @ u.T))])
        return vh.T @ turn @ u.T

    for a in (RNG.normal(size=(3, 3)), -RNG.normal(size=(3, 3)), np.diag([1.0, 1.0, 0.5])):
        e = RNG.normal(size=(3, 3))
        wanted = (rotation(a + 1e-6 * e) - rotation(a - 1e-6 * e)) / 2e-6
        np.testing.assert_allclose(fg.jvp(rotation, (a,), (e,))[1], wanted, rtol=1e-6, atol=1e-8)


def test_values_with_numbers_of_their_own_take_the_quotient():
    """(v*c*w) @ v.T, with c of different entries, is steep between nearby eigenvalues."""
    gap = 1e-7
    a, c = np.diag([1.0, 1.0 + gap]), np.array([1.0, 3.0])

    def function(a):
        w, v = np.linalg.eigh(a)
        return (v * (c * w)) @ v.T

    e = np.array([[0.0, 1.0], [1.0, 0.0]])
    quotient = (3.0 * (1.0 + gap) - 1.0) / ((1.0 + gap) - 1.0)
    np.testing.assert_allclose(fg.jvp(function, (a,), (e,))[1], quotient * e, rtol=1e-12)


def test_a_rotation_that_a_singular_matrix_does_not_determine_is_not_a_number():
    left, right = np.arange(1.0, 9.0).reshape(2, 4), np.cos(np.arange(8.0)).reshape(2, 4)

    def rotation(x):
        u, _, vh = np.linalg.svd(x.T @ right)
        return np.sum((u @ vh) * np.arange(16.0).reshape(4, 4))

    assert np.isnan(fg.grad(rotation)(left)).all()
    assert np.isnan(fg.jvp(rotation, (left,), (right,))[1])
    smooth = lambda x: np.sum(np.abs(fg.jit(cubed)(x.T @ right)))  # noqa: E731
    fg.check_grads(smooth, (left,), order=1)


def cubed(a):
    """The matrix a a^T a, by singular values of which some are rounding errors."""
    u, s, vh = np.linalg.svd(a)
    return (u * s**3) @ vh


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_second_derivatives_of_norms_keep_single_precision(order):
    a = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    slope = fg.grad(lambda a: np.linalg.norm(a, ord=order))
    for part in (*fg.jvp(slope, (a,), (a,)), fg.jacrev(slope)(a)):
        assert part.dtype == np.float32


@pytest.mark.parametrize("order", [2, -2, "nuc"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2)])
def test_third_derivatives_of_norms(shape, order):
    """By differences of the second derivative, which is known where no two singular values are equal."""
    a, e, d = np.random.default_rng(1).normal(size=(3, *shape))

    def f(x, y):
        return np.linalg.norm(a + x * e + y * d + x * y * a, ord=order)

    for places in ((0, 0, 0), (0, 1, 1), (1, 1, 1)):
        second = fg.grad(fg.grad(f, places[0]), places[1])
        h = np.eye(2)[places[2]] * 1e-4
        at = np.array([0.3, 0.2])
        wanted = (second(*(at + h)) - second(*(at - h))) / 2e-4
        found = fg.grad(second, places[2])(*at)
        assert found == pytest.approx(wanted, rel=1e-5, abs=1e-5)
        assert fg.jvp(second, tuple(at), tuple(1e4 * h))[1] == pytest.approx(found, rel=1e-9)
