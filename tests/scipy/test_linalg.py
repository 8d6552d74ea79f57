"""Matrix equations, functions and factorizations: values are SciPy's, derivatives central differences."""

import itertools
import math

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad.scipy import linalg
from tests.default_slice import one_in

A = np.array([[2.0, 0.3, 0.1], [-0.4, 1.5, -0.2], [0.1, 0.6, 1.1]])
B = np.array([[1.0, -0.3, 0.5], [0.2, 0.8, 0.1], [-0.6, 0.4, 1.7]])
V = np.array([0.4, -0.3, 0.8])
BANDS = np.array(
    [[0.0, 0.0, 0.3, 0.2], [0.0, 0.5, -0.2, 0.1], [2.0, 1.5, 1.8, 2.2], [0.3, 0.1, -0.4, 0.0]]
)
FULL = {
    "solve_sylvester": lambda m, a, b: m.solve_sylvester(a, b, a @ b),
    "solve_sylvester of a rectangle": lambda m, a, b: m.solve_sylvester(
        a, b[:2, :2] + a[:2, :2], a[:, :2]
    ),
    "solve_sylvester complex": lambda m, a, b: np.abs(m.solve_sylvester(a + 1j * b, b + 0j, a @ b)),
    "solve_continuous_lyapunov": lambda m, a, b: m.solve_continuous_lyapunov(a, b),
    "solve_continuous_lyapunov complex": lambda m, a, b: np.imag(
        m.solve_continuous_lyapunov(a + 0.3j * b, b)
    ),
    "solve_discrete_lyapunov": lambda m, a, b: m.solve_discrete_lyapunov(0.3 * a, b),
    "solve_discrete_lyapunov bilinear": lambda m, a, b: m.solve_discrete_lyapunov(
        0.3 * a, b, "bilinear"
    ),
    "logm": lambda m, a, b: m.logm(a),
    "logm complex": lambda m, a, b: np.abs(m.logm(a * (1 + 0.5j))),
    "sqrtm": lambda m, a, b: m.sqrtm(a),
    "sqrtm complex": lambda m, a, b: np.imag(m.sqrtm(-a + 0.1j * b)),
    "expm": lambda m, a, b: m.expm(a),
    "cosm": lambda m, a, b: m.cosm(a),
    "sinm": lambda m, a, b: m.sinm(a),
    "tanm": lambda m, a, b: m.tanm(0.3 * a),
    "coshm": lambda m, a, b: m.coshm(a),
    "sinhm": lambda m, a, b: m.sinhm(a),
    "tanhm": lambda m, a, b: m.tanhm(a),
    "lu": lambda m, a, b: np.concatenate(m.lu(a[::-1])),
    "lu permuted": lambda m, a, b: np.concatenate(m.lu(a[::-1], permute_l=True)),
    "lu complex": lambda m, a, b: np.abs(np.concatenate(m.lu(a[::-1] + 1j * b))),
    "lu tall": lambda m, a, b: np.concatenate(m.lu(np.concatenate([a, b]))[1:]),
    "lu wide": lambda m, a, b: np.concatenate(m.lu(np.concatenate([a, b, a @ b], axis=1)), axis=1),
    "lu of a column": lambda m, a, b: m.lu(a[:, :1])[1],
    "lu_factor": lambda m, a, b: m.lu_factor(a[::-1])[0],
    "lu_solve": lambda m, a, b: m.lu_solve(m.lu_factor(a[::-1]), b),
    "lu_factor tall": lambda m, a, b: m.lu_factor(np.concatenate([a[::-1], b]))[0],
    "lu_factor wide": lambda m, a, b: m.lu_factor(np.concatenate([a[::-1], b], axis=1))[0],
    "lu_solve of a stack": lambda m, a, b: m.lu_solve(m.lu_factor(np.stack([a[::-1], b])), b),
    "lu_solve of a stack, transposed": lambda m, a, b: m.lu_solve(
        m.lu_factor(np.stack([a[[1, 2, 0]], b])), b[0], trans=1
    ),
    "lu_solve of stacked sides": lambda m, a, b: m.lu_solve(m.lu_factor(a), np.stack([a, b])),
    "lu_solve transposed": lambda m, a, b: m.lu_solve(m.lu_factor(a[[1, 2, 0]]), b[0], trans=1),
    "qr of a tall matrix": lambda m, a, b: m.qr(a[:, :2])[0] ** 2,
    "r of a tall matrix, pivoted": lambda m, a, b: m.qr(a[:, :2], pivoting=True)[1],
    "pinv with the rank": lambda m, a, b: m.pinv(a[:, :2], return_rank=True)[0],
    "eigenvalues in an interval": lambda m, a, b: m.eigh(
        a + a.T, eigvals_only=True, subset_by_value=[2.5, 100.0]
    ),
    "generalized eigenvectors in an interval": lambda m, a, b: (
        m.eigh(a + a.T, b @ b.T + np.eye(3), subset_by_value=[0.9, 100.0])[1] ** 2
    ),
    **{
        f"{name} with e and s": lambda m, a, b, name=name: getattr(m, name)(
            a / 3, b[:, :2], np.eye(3), np.eye(2), e=np.eye(3) * 2 + 0.1 * a, s=0.01 * b[:, 1:]
        )
        for name in ("solve_continuous_are", "solve_discrete_are")
    },
    "polar": lambda m, a, b: np.concatenate(m.polar(a)),
    "polar left": lambda m, a, b: np.concatenate(m.polar(a, "left")),
    "polar of a tall matrix": lambda m, a, b: np.concatenate(m.polar(a[:, :2])),
    "polar complex": lambda m, a, b: parts(np.concatenate(m.polar(a + 1j * b))),
    "polar of a wide complex matrix": lambda m, a, b: parts(m.polar((a + 1j * b)[:2], "left")[0]),
    **{
        f"{name}, complex": lambda m, a, b, name=name: parts(
            getattr(m, name)(a / 3 + 0.1j * b, b[:, :2], np.eye(3), np.eye(2) * a[0, 0])
        )
        for name in ("solve_continuous_are", "solve_discrete_are")
    },
    **{
        f"{name}, complex with e and s": lambda m, a, b, name=name: parts(
            getattr(m, name)(
                a / 3,
                b[:, :2],
                np.eye(3),
                np.eye(2),
                e=np.eye(3) * 2 + 0.1j * a,
                s=0.01j * b[:, 1:],
            )
        )
        for name in ("solve_continuous_are", "solve_discrete_are")
    },
    **{
        f"{name}, not balanced, with e": lambda m, a, b, name=name: getattr(m, name)(
            a / 3, b[:, :2], b @ b.T + np.eye(3), np.eye(2), e=np.eye(3) + 0.1 * b, balanced=False
        )
        for name in ("solve_continuous_are", "solve_discrete_are")
    },
    "solve_banded": lambda m, a, b: m.solve_banded(
        (1, 2),
        BANDS * a[0, 0],
        np.append(b[0], 1.0) if m is scipy.linalg else np.concatenate([b[0], [1.0]]),
    ),
    "solve_banded in the bands": lambda m, a, b: m.solve_banded(
        (1, 2), BANDS + 0.1 * np.outer(b[0, 0] * np.ones(4), np.arange(4.0)), np.ones((4, 2))
    ),
    "solve_banded below": lambda m, a, b: m.solve_banded(
        (2, 1), np.roll(BANDS[::-1], 0) + b[0, 0], np.ones(4)
    ),
    "solveh_banded": lambda m, a, b: m.solveh_banded(
        np.array([[0.0, 0.3, 0.2], [2.0, 1.5, 1.8]]) * a[0, 0], b[0]
    ),
    "solveh_banded, a complex diagonal": lambda m, a, b: parts(
        m.solveh_banded(np.array([[0.0, 0.3, 0.2], [2.0, 1.5, 1.8]]) * (a[0, 0] + 0.1j), b[0])
    ),
    "solveh_banded lower": lambda m, a, b: m.solveh_banded(
        np.array([[2.0, 1.5, 1.8], [0.3, 0.2, 0.0]]) * a[0, 0], b[0], lower=True
    ),
    **{
        f"generalized eigenvalues, type {kind}": lambda m, a, b, kind=kind: m.eigh(
            a + a.T, b @ b.T + np.eye(3), type=kind, eigvals_only=True
        )
        for kind in (1, 2, 3)
    },
    "left eigenvectors": lambda m, a, b: np.real(m.eig(a, left=True, right=False)[1] * (2 - 1j)),
    "left and right eigenvectors": lambda m, a, b: np.abs(
        np.sum(np.conj(m.eig(a, left=True)[1]) * m.eig(a, left=True)[2], axis=0)
    ),
    "generalized left eigenvectors": lambda m, a, b: np.abs(m.eig(a, b, True, True)[1]),
    "generalized eigenvectors": lambda m, a, b: m.eigh(a + a.T, b @ b.T + np.eye(3))[1] ** 2,
    "generalized eigenvectors, type 2": lambda m, a, b: (
        m.eigh(a + a.T, b @ b.T + np.eye(3), type=2)[1] ** 2
    ),
    "generalized eigenvectors, type 3": lambda m, a, b: (
        m.eigh(a + a.T, b @ b.T + np.eye(3), type=3)[1] ** 2
    ),
    "one triangle of each": lambda m, a, b: m.eigvalsh(a, b @ b.T + 3 * np.eye(3), lower=False),
    "eigenvalues of a pencil": lambda m, a, b: np.sort(np.abs(m.eigvals(a, b @ b.T + np.eye(3)))),
    "solve_continuous_are": lambda m, a, b: m.solve_continuous_are(
        a, b[:, :2], b @ b.T + np.eye(3), np.eye(2) * a[0, 0]
    ),
    "solve_discrete_are": lambda m, a, b: m.solve_discrete_are(
        0.3 * a, b[:, :2], b @ b.T + np.eye(3), np.eye(2) * a[0, 0]
    ),
    "toeplitz": lambda m, a, b: m.toeplitz(a[0], b[1]),
    "toeplitz symmetric": lambda m, a, b: m.toeplitz(a[0]),
    "hankel": lambda m, a, b: m.hankel(a[0], b[1]),
    "circulant": lambda m, a, b: m.circulant(a[0]),
    "companion": lambda m, a, b: m.companion(a[0]),
    "block_diag": lambda m, a, b: m.block_diag(a, b[:1], b[0], 3.0),
    "block_diag of stacks": lambda m, a, b: m.block_diag(np.stack([a, b]), b[:1], b[0], 3.0),
    "solve_toeplitz": lambda m, a, b: m.solve_toeplitz(
        (a[0], b[0] + 1 - b[0, 0] + a[0, 0] - 1), b[1]
    ),
}


def parts(z):
    """The real and imaginary parts of a matrix."""
    return np.concatenate([np.real(z), np.imag(z)])


def check(case):
    f = FULL[case]
    moves = np.sin(np.arange(9.0)).reshape(3, 3), np.cos(np.arange(9.0)).reshape(3, 3)

    def along(module, t):
        return f(module, A + t * moves[0], B + t * moves[1])

    value, slope = fg.jvp(lambda t: along(linalg, t), (0.0,), (1.0,))
    wanted = along(scipy.linalg, 0.0)
    assert np.shape(value) == np.shape(wanted)
    np.testing.assert_allclose(value, wanted, rtol=1e-11, atol=1e-13)
    h = 1e-4
    near = [along(scipy.linalg, s * h) for s in (1, -1, 2, -2)]
    wanted = (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-8, atol=1e-9)
    back = fg.jit(fg.grad(lambda t: np.sum(along(linalg, t))))(0.0)
    assert back == pytest.approx(np.sum(slope), rel=1e-10, abs=1e-12)
    return along


@pytest.mark.parametrize("case", one_in(7, FULL))
def test_values_are_scipys_and_slopes_are_differences(case):
    check(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", FULL)
def test_batches_and_second_derivatives(case):
    along = check(case)
    rows = fg.vmap(lambda t: along(linalg, t))(np.array([0.0, 0.01]))
    np.testing.assert_allclose(rows[1], along(linalg, 0.01), rtol=1e-11, atol=1e-13)
    first = fg.grad(lambda t: np.sum(np.sin(along(linalg, t))))
    wanted = (first(1e-5) - first(-1e-5)) / 2e-5
    assert fg.grad(first)(0.0) == pytest.approx(wanted, rel=1e-6, abs=1e-7)
    assert fg.jvp(first, (0.0,), (1.0,))[1] == pytest.approx(wanted, rel=1e-6, abs=1e-7)


def test_third_derivatives():
    def cube(t):
        return np.sum(linalg.sqrtm(A + t * B))

    second = fg.grad(fg.grad(cube))
    wanted = (second(1e-4) - second(-1e-4)) / 2e-4
    assert fg.grad(second)(0.0) == pytest.approx(wanted, rel=1e-6)


def test_polar_of_equal_singular_values():
    def corner(t):
        return linalg.polar(np.eye(2) + t * np.array([[0.0, 1.0], [0.0, 0.0]]))[0][0, 1]

    assert fg.grad(corner)(0.0) == pytest.approx(0.5, rel=1e-14)


def test_what_is_not_supported_is_refused():
    with pytest.raises(TypeError, match=r"cossin: expected a plain matrix.*svd of its blocks"):
        fg.grad(lambda t: scipy.linalg.cossin(t * np.eye(4), p=2, q=2)[0][0, 0])(1.0)
    with pytest.raises(
        ValueError, match=r"sqrtm: expected a real matrix with a real result.*astype"
    ):
        fg.scan(lambda c, t: (c, linalg.sqrtm(-t * np.eye(2))), 0.0, np.ones(1))
    complex_roots = fg.vmap(lambda t: linalg.sqrtm(-t * np.eye(2)))(np.array([1.0, 4.0]))
    np.testing.assert_allclose(complex_roots, [1j * np.eye(2), 2j * np.eye(2)], atol=1e-15)
    with pytest.raises(ValueError, match="lu_solve: expected a square matrix"):
        fg.grad(lambda t: linalg.lu_solve(linalg.lu_factor(t * A[:2]), V[:2])[0])(1.0)
    with pytest.raises(ValueError, match="solve_banded: expected diagonals of shape"):
        fg.grad(lambda t: linalg.solve_banded((1, 1), t * A, V[:2])[0])(1.0)


def test_schur_has_scipys_values_and_derivatives_where_eigenvalues_are_distinct():
    v = np.array([[1.0, 0.3, -0.2], [0.4, 1.1, 0.5], [-0.6, 0.2, 0.9]])
    a = v @ np.diag([2.0, -1.0, 0.5]) @ np.linalg.inv(v)
    for k, own in enumerate(scipy.linalg.schur(a)):
        np.testing.assert_array_equal(fg.jit(lambda a, k=k: linalg.schur(a)[k])(a), own)
        fg.check_grads(lambda a, k=k: linalg.schur(a)[k], (a,), order=2)
    # Vectors of equal eigenvalues have no derivative.
    turn = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert np.isnan(fg.grad(lambda t: linalg.schur(np.eye(2) + t * turn)[1][0, 1])(0.0))


@pytest.mark.parametrize(
    ("lower", "width", "dtype"),
    one_in(5, itertools.product([False, True], [0, 1, 2], [float, complex])),
)
def test_banded_cholesky_factors_have_scipys_values_and_derivatives(lower, width, dtype):
    rng = np.random.default_rng(width)
    bands = 0.3 * rng.normal(size=(width + 1, 4)) * (1 + 0.5j if dtype is complex else 1)
    bands[0 if lower else -1] = 3.0
    right = rng.normal(size=(4, 2))

    def solved(factor, right):
        return linalg.cho_solve_banded((factor, lower), right)

    own = scipy.linalg.cholesky_banded(bands, lower=lower)
    found = fg.jit(lambda a: linalg.cholesky_banded(a, lower=lower))(bands)
    np.testing.assert_allclose(found, own, rtol=1e-14)
    np.testing.assert_allclose(
        fg.jit(solved)(own, right), scipy.linalg.cho_solve_banded((own, lower), right), rtol=1e-12
    )
    if dtype is float:
        # SciPy copies the corners, so that they have the derivative 1.
        fg.check_grads(lambda a: linalg.cholesky_banded(a, lower=lower), (bands,))
        fg.check_grads(solved, (own, right), order=1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lower": False},
        {"b": 1},
        {"b": 1, "type": 2},
        {"b": 1, "type": 3},
        {"subset_by_index": (0, 1)},
        {"subset_by_index": (0, 1), "driver": "evx"},
        {"subset_by_value": (-np.inf, 9.0), "driver": "evx"},
        *[{"driver": driver, "lower": False} for driver in ("ev", "evd", "evr", "evx")],
        *[{"b": 1, "driver": driver} for driver in ("gv", "gvd", "gvx")],
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [float, complex])
def test_traced_eigenvectors_have_scipys_signs(options, dtype):
    rng = np.random.default_rng(4)
    options = dict(options)
    for size in (2, 3, 5):
        a, step = rng.normal(size=(2, size, size))
        if dtype is complex:
            a, step = a + 1j * step.T, step - 0.5j * a
        a, step = a + a.conj().T, step + step.conj().T
        if "b" in options:
            options["b"] = a @ a.conj().T + np.eye(size)

        def vectors(t, a=a, step=step):
            return scipy.linalg.eigh(a + t * step, **options)[1]

        found, slope = fg.jvp(vectors, (0.0,), (1.0,))
        np.testing.assert_allclose(found, vectors(0.0), atol=1e-10)
        np.testing.assert_allclose(fg.jit(vectors)(0.0), vectors(0.0), atol=1e-10)
        if dtype is float:
            h = 1e-6
            ahead, behind = (
                v * np.sign(np.sum(v * found, axis=0)) for v in (vectors(h), vectors(-h))
            )
            expected = (ahead - behind) / (2 * h)
            np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-5)
            weights = rng.normal(size=expected.shape)
            grad = fg.grad(lambda t, w=weights, f=vectors: np.sum(w * f(t)))(0.0)
            np.testing.assert_allclose(grad, np.sum(weights * slope), rtol=1e-9)


def test_eigenvectors_of_batches_and_of_single_precision_have_scipys_signs():
    stack = np.random.default_rng(1).normal(size=(6, 3, 3))
    stack = (stack + stack.transpose(0, 2, 1)).astype(np.float32)
    own = np.stack([scipy.linalg.eigh(a)[1] for a in stack])
    found = fg.vmap(lambda a: scipy.linalg.eigh(a)[1])(stack)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, own, atol=1e-5)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda a: scipy.linalg.qr(a[:, :2], mode="raw")[0], "expected mode 'full', 'economic'"),
        (lambda a: scipy.linalg.solve(a, V, assume_a="square"), "expected assume_a among gen"),
        (lambda a: scipy.linalg.solve(a, V, structure="sym"), "structure"),
    ],
)
def test_arguments_that_are_refused(f, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fg.jacobian(f)(A)


def test_toeplitz_takes_batches():
    rows = [linalg.toeplitz(a, b) for a, b in zip(A, B, strict=True)]
    np.testing.assert_array_equal(fg.jit(lambda a, b: linalg.toeplitz(a, b))(A, B), rows)
    rows = [linalg.toeplitz(a, B[0, :2]) for a in A]
    np.testing.assert_array_equal(fg.jit(lambda a: linalg.toeplitz(a, B[0, :2]))(A), rows)


@pytest.mark.parametrize("dtype", [float, complex])
def test_eigenvectors_of_a_pencil_have_scipys_order_and_phases(dtype):
    random = np.random.default_rng(3)
    unit = 1j if dtype is complex else 1.0
    a, b = random.normal(size=(2, 4, 4)) + unit * random.normal(size=(2, 4, 4))
    wanted = scipy.linalg.eig(a, b)
    for found in (fg.jit(scipy.linalg.eig)(a, b), (fg.jit(scipy.linalg.eigvals)(a, b), wanted[1])):
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-10)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-9)
    size = np.arange(1.0, 5.0)
    fg.check_grads(lambda x: np.abs(scipy.linalg.eig(x, b)[0] * size), (a,))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("kind", ["her", "pos", "sym"])
def test_the_other_triangle_is_not_read(kind, lower):
    cut = np.tril if lower else np.triu
    matrix = np.where(cut(np.ones((3, 3))) == 1, A @ A.T + 4 * np.eye(3), np.nan)

    def solved(m, module):
        options = {"assume_a": kind, "lower": lower, "check_finite": False}
        return module.inv(m, **options) @ module.solve(m, np.ones(3), **options)

    np.testing.assert_allclose(
        fg.jit(lambda m: solved(m, linalg))(matrix), solved(matrix, scipy.linalg), rtol=1e-12
    )


def test_gelsy_has_no_residues_and_no_singular_values():
    found = fg.jit(lambda a: linalg.lstsq(a, np.ones(3), lapack_driver="gelsy")[:3])(A[:, :2])
    wanted = scipy.linalg.lstsq(A[:, :2], np.ones(3), lapack_driver="gelsy")
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
    assert found[1].shape == wanted[1].shape == (0,)
    assert found[2] == wanted[2]


@pytest.mark.parametrize("columns", [[0, 1, 2], [0, 1, 0]])
@pytest.mark.parametrize(
    "options", [("gelsy", 0.5), ("gelsy", None), ("gelss", 1.5), ("gelsd", 0.5)]
)
def test_least_squares_of_lower_rank(options, columns):
    driver, cond = options

    def solution(a, b):
        return scipy.linalg.lstsq(a[:, columns], b, cond, lapack_driver=driver)[0]

    tall = np.concatenate([A, B])
    right = np.linspace(-1.0, 2.0, 6)
    for f in (solution, fg.jit(solution)):
        value, tangent = fg.jvp(f, (tall, right), (np.cos(tall), right**2))
        np.testing.assert_allclose(value, solution(tall, right), rtol=1e-12, atol=1e-13)
        h = 1e-5
        after, before = [solution(tall + k * np.cos(tall), right + k * right**2) for k in (h, -h)]
        np.testing.assert_allclose(tangent, (after - before) / (2 * h), rtol=1e-7, atol=1e-8)


def test_banded_systems_without_equations():
    empty = fg.jit(lambda ab: linalg.solve_banded((0, 0), ab, np.zeros(0)))(np.zeros((1, 0)))
    assert empty.shape == (0,)


def test_matrices_are_given_as_lists():
    inverse = fg.grad(lambda t: scipy.linalg.inv([[4.0, t], [7.0, 2.0]], assume_a="pos")[0, 0])
    solution = fg.grad(lambda t: scipy.linalg.solve([[4.0, t], [7.0, 2.0]], [t, 0])[0])
    assert inverse(1.0) == pytest.approx(4 / 49)
    assert solution(1.0) == pytest.approx(16.0)


def _bands(t, lower=True):
    bands = np.stack([2.0 + np.arange(4.0) * t, np.cos(t + np.arange(4.0)), 0.3 * t + np.ones(4)])
    return bands if lower else bands[::-1]


BANDED = {
    "eigh_tridiagonal": lambda t: scipy.linalg.eigh_tridiagonal(_bands(t)[0], _bands(t)[1, :3]),
    "a part of it": lambda t: scipy.linalg.eigh_tridiagonal(
        _bands(t)[0], _bands(t)[1, :3], select="i", select_range=(1, 2)
    ),
    "eigvalsh_tridiagonal": lambda t: [
        scipy.linalg.eigvalsh_tridiagonal(_bands(t)[0], _bands(t)[1, :3])
    ],
    "eig_banded": lambda t: scipy.linalg.eig_banded(_bands(t), lower=True),
    "eig_banded, complex": lambda t: [
        np.abs(part)  # the phases of eigenvectors are LAPACK's choice
        for part in scipy.linalg.eig_banded(
            _bands(t, False) * (1 + 0.3j * np.arange(2, -1, -1)[:, None])
        )
    ],
    "its eigenvalues in an interval": lambda t: scipy.linalg.eig_banded(
        _bands(t), lower=True, select="v", select_range=(2.5, 9.0)
    ),
    "none in an interval": lambda t: [
        part + t for part in scipy.linalg.eig_banded(_bands(t), select="v", select_range=(-9, -8.0))
    ],
    "those of a tridiagonal matrix in an interval": lambda t: [
        scipy.linalg.eigvalsh_tridiagonal(
            _bands(t)[0], _bands(t)[1, :3], select="v", select_range=(1.0, 3.0)
        )
    ],
    "all, with a range": lambda t: [scipy.linalg.eigvals_banded(_bands(t), select_range=(0, 1))],
    "pairs": lambda t: [
        scipy.linalg.eigvals(np.diag(_bands(t)[0] * t**2), homogeneous_eigvals=True),
        scipy.linalg.eig(np.diag(_bands(t)[0] * t**2), homogeneous_eigvals=True)[0],
    ],
    "its eigenvalues": lambda t: [scipy.linalg.eig_banded(_bands(t), True, eigvals_only=True)],
    "eigvals_banded": lambda t: [
        scipy.linalg.eigvals_banded(_bands(t, False), select="i", select_range=(0, 1))
    ],
}


@pytest.mark.parametrize("case", one_in(5, BANDED))
def test_eigenvalues_of_banded_matrices(case):
    def f(t):
        parts = [np.ravel(part) for part in BANDED[case](t)]
        return np.concatenate([np.concatenate([np.real(part), np.imag(part)]) for part in parts])

    t, h = 0.7, 1e-4
    value, slope = fg.jvp(f, (t,), (1.0,))
    np.testing.assert_allclose(value, f(t), rtol=1e-12, atol=1e-13)
    wanted = (8 * (f(t + h) - f(t - h)) - f(t + 2 * h) + f(t - 2 * h)) / (12 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fg.jacrev(f)(t), slope, rtol=1e-10, atol=1e-11)
    total = lambda t: np.sum(f(t) ** 3)  # noqa: E731
    second = (fg.grad(total)(t + h) - fg.grad(total)(t - h)) / (2 * h)
    assert fg.grad(fg.grad(total))(t) == pytest.approx(second, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(fg.jit(f)(t), f(t), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(fg.vmap(f)(np.array([0.1, t]))[1], f(t), rtol=1e-12, atol=1e-13)


def test_structure_is_a_constant():
    matrix = np.triu(np.ones((3, 3)))

    def f(t):
        flags = scipy.linalg.issymmetric(t * matrix), scipy.linalg.ishermitian(t * np.eye(2))
        below, above = scipy.linalg.bandwidth(t * matrix)
        return t * (10 * above + below + (1 if flags[1] and not flags[0] else 0))

    assert fg.grad(f)(2.0) == fg.jit(fg.grad(f))(2.0) == 21.0


SPREAD = np.array([[3.0, 2.0, 0.0], [-0.3, 3.0, 1.0], [1.0, 0.0, 4.0]])
MATRIX_FUNCTIONS = {
    "a power": lambda t: scipy.linalg.fractional_matrix_power(SPREAD + t * np.eye(3), -1.4),
    "a whole power": lambda t: scipy.linalg.fractional_matrix_power(SPREAD * t, 2),
    "a complex power": lambda t: np.abs(
        scipy.linalg.fractional_matrix_power(SPREAD * (t - 1j), 0.5)
    ),
    "signm": lambda t: scipy.linalg.signm(SPREAD @ SPREAD.T - t * 9 * np.eye(3)),
}


@pytest.mark.parametrize("case", one_in(4, MATRIX_FUNCTIONS, start=1))
def test_powers_and_signs_of_matrices(case):
    f, t, h = MATRIX_FUNCTIONS[case], 0.7, 1e-4
    value, slope = fg.jvp(f, (t,), (1.0,))
    np.testing.assert_allclose(value, f(t), rtol=1e-14, atol=1e-15)
    wanted = (8 * (f(t + h) - f(t - h)) - f(t + 2 * h) + f(t - 2 * h)) / (12 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fg.jacrev(f)(t), slope, rtol=1e-10, atol=1e-11)
    total = lambda t: np.sum(np.sin(f(t)))  # noqa: E731
    second = (fg.grad(total)(t + h / 10) - fg.grad(total)(t - h / 10)) / (0.2 * h)
    assert fg.grad(fg.grad(total))(t) == pytest.approx(second, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(fg.jit(f)(t), f(t), rtol=1e-14, atol=1e-15)
    rows = fg.vmap(f)(np.array([0.5, t]))
    np.testing.assert_allclose(rows[1], f(t), rtol=1e-14, atol=1e-15)


def test_a_jitted_power_that_scipy_has_as_complex_numbers_is_real_without_a_warning():
    f = MATRIX_FUNCTIONS["a power"]
    found = fg.jit(f)(0.7)
    assert found.dtype == float
    np.testing.assert_allclose(found, f(0.7), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("t", [0.3, -1.4, 2.0])
def test_the_power_of_a_matrix_may_be_traced(t):
    def power(t):
        return np.real(scipy.linalg.fractional_matrix_power(SPREAD, t))

    _, slope = fg.jvp(power, (t,), (1.0,))
    want = np.real(scipy.linalg.logm(SPREAD) @ scipy.linalg.fractional_matrix_power(SPREAD, t))
    np.testing.assert_allclose(slope, want, rtol=1e-10, atol=1e-12)
    weights = np.arange(9.0).reshape(3, 3)
    found = fg.grad(lambda t: np.sum(weights * power(t)))(t)
    np.testing.assert_allclose(found, np.sum(weights * want), rtol=1e-10)


@pytest.mark.filterwarnings("ignore:Matrix is (singular|ill-conditioned)")
@pytest.mark.parametrize("a", [np.zeros((2, 2)), np.ones((2, 2)), np.diag([1.0, 0.0])])
@pytest.mark.parametrize("dtype", [float, complex])
def test_the_root_of_a_singular_matrix_has_no_derivative(a, dtype):
    a = a.astype(dtype)
    _, slope = fg.jvp(scipy.linalg.sqrtm, (a,), (np.eye(2, dtype=dtype),))
    assert np.isnan(slope).all()
    assert np.isnan(fg.grad(lambda a: np.real(scipy.linalg.sqrtm(a)[1, 1]))(a)).all()
    assert np.isnan(fg.jit(fg.grad(lambda a: np.real(scipy.linalg.sqrtm(a)[1, 1])))(a)).all()


def test_the_root_of_a_nearly_singular_matrix_has_its_derivative():
    a = np.diag([1.0, 1e-20])
    slope = fg.grad(lambda a: scipy.linalg.sqrtm(a)[1, 1])(a)
    np.testing.assert_allclose(slope[1, 1], 5e9, rtol=1e-10)


def _generator(a):
    """The transposed rates of a Markov chain, whose columns add up to 0, so that the last pivot is 0."""
    rates = np.array([[-1.0, 1.0, 0.0], [0.5, -1.5, 1.0], [0.5, 0.5, -1.0]])
    return (a * rates + a * a * np.array([[-1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).T


SINGULAR = {
    "stationary distribution": lambda a: np.sum(_stationary(_generator(a)) * np.arange(3.0)),
    "lu": lambda a: np.sum(scipy.linalg.lu(_generator(a))[2] ** 2),
    "rank 0": lambda a: np.sum(scipy.linalg.lu_factor(np.reshape(a - 0.5, (1, 1)))[0]),
}


def _stationary(rates):
    """The solution of rates @ x = 0 with the sum 1, from the triangles of an elimination."""
    packed, _ = scipy.linalg.lu_factor(rates)
    x = np.append(scipy.linalg.solve_triangular(packed[:-1, :-1], -packed[:-1, -1]), 1.0)
    return x / x.sum()


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize("name", SINGULAR)
def test_the_last_pivot_of_an_elimination_may_be_zero(name):
    f, a = SINGULAR[name], 0.5
    slope = (f(a + 1e-5) - f(a - 1e-5)) / 2e-5
    curve = (f(a + 1e-4) - 2 * f(a) + f(a - 1e-4)) / 1e-8
    assert fg.grad(f)(a) == pytest.approx(slope, rel=1e-8)
    assert fg.jvp(f, (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-8)
    assert fg.jit(fg.grad(f))(a) == pytest.approx(slope, rel=1e-8)
    assert fg.vmap(fg.grad(f))(np.array([a, a]))[1] == pytest.approx(slope, rel=1e-8)
    for second in (fg.grad(fg.grad(f)), fg.jacfwd(fg.jacfwd(f))):
        assert second(a) == pytest.approx(curve, rel=1e-5, abs=1e-6)


NUMBERS = {
    "solve": lambda m, c: m.solve(c, 2.0),
    "solve, symmetric": lambda m, c: m.solve(c, np.array([2.0, 3.0])[None, :], assume_a="pos"),
    "solve, right side": lambda m, c: m.solve(0.7, c, assume_a="sym"),
    "cholesky": lambda m, c: m.cholesky(c),
    "cho_factor": lambda m, c: m.cho_factor(c, lower=True)[0],
    "expm": lambda m, c: m.expm(c),
    "solve_continuous_lyapunov": lambda m, c: m.solve_continuous_lyapunov(c, 2.0),
}


@pytest.mark.parametrize(
    ("name", "wrap"), one_in(3, itertools.product(NUMBERS, [lambda c: c, lambda c: c * np.ones(1)]))
)
def test_numbers_and_vectors_of_one_are_matrices_of_one_entry(name, wrap):
    def f(c):
        return NUMBERS[name](linalg, wrap(c))

    plain = NUMBERS[name](scipy.linalg, wrap(0.7))
    assert f(0.7).shape == plain.shape
    np.testing.assert_allclose(f(0.7), plain, rtol=1e-13)
    fg.testing.check_grads(f, (0.7,), order=2, modes=["fwd", "rev"])
    expected = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(fg.jit(fg.jacobian(f))(0.7), expected, rtol=1e-7)
    batched = fg.vmap(fg.jacobian(f))(np.array([0.7, 1.2]))
    np.testing.assert_allclose(batched[1], fg.jacobian(f)(1.2), rtol=1e-12)


def test_left_vectors_of_two_matrices_alone_are_refused():
    """SciPy gives the first of them norm 1, and to the others the scale and phase of LAPACK's algorithm."""
    with pytest.raises(TypeError, match="eig: expected right=True beside left=True"):
        fg.grad(lambda t: np.sum(np.abs(scipy.linalg.eig(t * A, B, True, False)[1])))(1.0)


@pytest.mark.parametrize("shape", [(6, 1), (6,), (6, 2), (1, 6)])
def test_a_matrix_of_one_entry_divides_as_scipys(shape):
    b = np.linspace(0.2, 1.5, int(np.prod(shape))).reshape(shape)
    expected = scipy.linalg.solve(np.array([[1.7]]), b)
    value, slope = fg.jvp(
        lambda a: scipy.linalg.solve(a, b), (np.array([[1.7]]),), (np.ones((1, 1)),)
    )
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    np.testing.assert_allclose(slope, -expected / 1.7, rtol=1e-14)
    found = fg.grad(lambda b: np.sum(scipy.linalg.solve([[1.7]], b)))(b)
    np.testing.assert_allclose(found, np.full(shape, 1 / 1.7), rtol=1e-14)
    with pytest.raises(np.linalg.LinAlgError, match="ingular"):
        fg.grad(lambda b: np.sum(scipy.linalg.solve([[0.0]], b)))(b)


@pytest.mark.parametrize("special", [np.inf, np.nan, 1e308, 1e4])
@pytest.mark.parametrize("native", [False, True])
def test_exponentials_of_a_stack_do_not_see_each_other(native, special):
    """Each matrix is halved by its own size."""
    if native:
        pytest.importorskip("llvmlite")
    a = np.random.default_rng(0).normal(size=(3, 2, 2))
    spoiled = np.concatenate([a[:2], np.full((1, 2, 2), special), a[2:]])
    weights = np.cos(np.arange(4.0)).reshape(2, 2)
    value = fg.jit(scipy.linalg.expm, native=native)
    slope = fg.jit(fg.grad(lambda a: np.sum((weights * scipy.linalg.expm(a))[[0, 1, -1]])))
    with np.errstate(all="ignore"):
        found, back = value(spoiled)[[0, 1, 3]], slope(spoiled)[[0, 1, 3]]
    np.testing.assert_allclose(found, scipy.linalg.expm(a), rtol=1e-13)
    np.testing.assert_allclose(back, slope(a), rtol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_the_exponential_of_a_triangle_with_great_entries_in_any_order(seed):
    """Beside the diagonal its series ends. Rounding errors where its powers are 0 would be multiplied."""
    random = np.random.default_rng(seed)
    x, order = np.tril(random.normal(size=(7, 7)), -1) * 5e3, random.permutation(7)
    terms = [np.linalg.matrix_power(x, k) / math.factorial(k) for k in range(7)]
    want, x = math.e * sum(terms)[order][:, order], x[order][:, order] + np.eye(7)
    value, slope = fg.jvp(lambda x: scipy.linalg.expm(x), (x,), (x,))
    np.testing.assert_allclose(value, want, atol=1e-13 * np.max(np.abs(want)))
    np.testing.assert_allclose(slope, x @ want, atol=1e-12 * np.max(np.abs(want)))
    stack, each = np.stack([x, x / 1e4, np.zeros((7, 7)), x.T]), fg.jit(linalg.expm)
    found = fg.jit(lambda x: linalg.expm(x))(stack)
    np.testing.assert_allclose(found, [each(x) for x in stack], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(("dtype", "size"), [(np.float64, 10**20), (np.float32, 10**4)])
def test_the_exponential_of_a_long_chain(dtype, size):
    """The powers of 2 that balance it would overflow."""
    x = np.diag(np.full(15, size, dtype), 1)
    value = fg.jvp(lambda x: scipy.linalg.expm(x), (x,), (x,))[0]
    want = [size**k / math.factorial(k) for k in range(16)]
    kept = np.array(want) < np.finfo(dtype).max
    rtol = 1e-10 if dtype is np.float64 else 1e-6
    np.testing.assert_allclose(value[0, kept], np.array(want)[kept], rtol=rtol)


@pytest.mark.parametrize("driver", ["auto", "stemr", "stebz"])
def test_eigenvectors_of_an_interval_have_the_signs_of_scipys(driver):
    options = {"select": "v", "select_range": (-0.30973, 1.83085), "lapack_driver": driver}

    def both(d):
        return scipy.linalg.eigh_tridiagonal(d, -np.ones(9), **options)

    for found, own in zip(
        fg.jvp(both, (np.ones(10),), (np.ones(10),))[0], both(np.ones(10)), strict=True
    ):
        np.testing.assert_allclose(found, own, atol=1e-12)


@pytest.mark.parametrize("above", [1e3, 1e6, 1e9, 1e20, 1e200])
def test_the_exponential_of_great_entries_beside_the_diagonal(above):
    """Halved by its norm, a matrix would lose all digits when its exponential is squared as often."""
    x = np.array([[0.3, above], [0.0, -0.4]])
    value, slope = fg.jvp(lambda x: scipy.linalg.expm(x), (x,), (x,))
    ratio = (np.exp(0.3) - np.exp(-0.4)) / 0.7  # by the divided difference of the exponential
    want = np.array([[np.exp(0.3), above * ratio], [0.0, np.exp(-0.4)]])
    np.testing.assert_allclose(value, want, rtol=1e-14)
    np.testing.assert_allclose(slope, x @ want, rtol=1e-13)
    stack = np.stack([x, np.zeros((2, 2)), x.T, 1e-3 * x])
    each = fg.jit(fg.vmap(lambda x: fg.jvp(scipy.linalg.expm, (x,), (x,))[0]))
    np.testing.assert_allclose(each(stack), scipy.linalg.expm(stack), rtol=1e-13, atol=1e-18)
