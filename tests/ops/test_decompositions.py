"""Linear algebra: against NumPy's values, finite differences, JAX, mpmath, and at singular points."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.expr import Expr, subexpressions
from funcgrad.show.python.to_python import to_python
from funcgrad.trace.pytree import flatten
from tests.default_slice import one_in
from tests.ops.test_determinants import along

RNG = np.random.default_rng(3)


def normal(*shape):
    return RNG.normal(size=shape)


def cnormal(*shape):
    return normal(*shape) + 1j * normal(*shape)


A, B = normal(4, 4), normal(4, 3)
C = cnormal(3, 3)
SPD = A @ A.T + np.eye(4)
HPD = C @ C.conj().T + np.eye(3)
STACK = normal(2, 3, 3)
TALL, WIDE = normal(5, 3), normal(3, 5)
ROTATION = np.linalg.qr(normal(4, 4))[0]
LA = np.linalg


def sym(x):
    return (x + x.mT.conj()) / 2


def of_svd(a):
    """What does not depend on the phases of the vectors."""
    u, s, v = LA.svd(a, full_matrices=False)
    return (u * np.expand_dims(np.exp(s / 5), -2)) @ v


def squares(*parts):
    """Without the signs of vectors, in which LAPACK jumps."""
    return tuple([part * part for part in parts])


def of_eigh(a):
    w, v = LA.eigh(a)
    return (v * np.expand_dims(np.exp(w / 5), -2)) @ np.conjugate(np.swapaxes(v, -1, -2))


PROGRAMS = {
    "solve": (LA.solve, (A, B)),
    "solve a vector": (LA.solve, (A, B[:, 0])),
    "solve stacks": (LA.solve, (STACK, normal(3, 2))),
    "solve one matrix for a stack": (LA.solve, (A, normal(2, 4, 1))),
    "solve complex": (LA.solve, (C, cnormal(3))),
    "inv": (LA.inv, (STACK,)),
    "inv complex": (LA.inv, (C,)),
    "pinv tall": (LA.pinv, (TALL,)),
    "pinv wide": (LA.pinv, (WIDE,)),
    "pinv complex": (LA.pinv, (cnormal(3, 2),)),
    "cholesky": (LA.cholesky, (SPD,)),
    "cholesky upper": (lambda a: LA.cholesky(a, upper=True), (SPD,)),
    "cholesky complex": (LA.cholesky, (HPD,)),
    "slogdet": (LA.slogdet, (STACK,)),
    "slogdet complex": (LA.slogdet, (C,)),
    "det": (LA.det, (STACK,)),
    "det of four": (LA.det, (A,)),
    "det complex": (LA.det, (cnormal(4, 4),)),
    "eigh": (LA.eigh, (SPD,)),
    "eigh upper": (lambda a: LA.eigh(a, "U"), (SPD,)),
    "eigh stack": (LA.eigh, (sym(STACK),)),
    "eigh complex": (of_eigh, (HPD,)),
    "eigvalsh": (LA.eigvalsh, (HPD,)),
    "svd": (LA.svd, (A,)),
    "svd tall": (lambda a: squares(*LA.svd(a, full_matrices=False)), (TALL,)),
    "svd wide": (lambda a: squares(*LA.svd(a, full_matrices=False)), (WIDE,)),
    "svd complex tall": (of_svd, (cnormal(3, 2),)),
    "svd complex wide": (of_svd, (cnormal(2, 3),)),
    "svdvals": (LA.svdvals, (cnormal(3, 2),)),
    "svd hermitian": (lambda a: squares(*LA.svd(a + a.T, hermitian=True)), (A,)),
    "qr": (LA.qr, (A,)),
    "qr tall": (LA.qr, (TALL,)),
    "qr wide": (LA.qr, (WIDE,)),
    "qr complex": (LA.qr, (cnormal(4, 3),)),
    "qr complete, tall": (lambda a: LA.qr(a, mode="complete")[1], (TALL,)),
    "qr complete": (lambda a: LA.qr(a, mode="complete"), (A,)),
    "qr of a stack, r alone": (lambda a: LA.qr(a, mode="r"), (STACK,)),
    **{
        f"norm {ord}": (lambda a, ord=ord: LA.norm(a, ord), (TALL,))
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    },
    "norm along axes": (lambda a: LA.norm(a, 2, axis=(0, 2), keepdims=True), (normal(3, 2, 4),)),
    "matrix_norm": (lambda a: LA.matrix_norm(a, ord="nuc", keepdims=True), (STACK,)),
    "vector_norm": (lambda a: LA.vector_norm(a, axis=(0, 2), ord=3), (STACK,)),
    **{
        f"cond {p}": (lambda a, p=p: LA.cond(a, p), (A,))
        for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")
    },
    **{f"power {n}": (lambda a, n=n: LA.matrix_power(a, n), (STACK,)) for n in (-2, -1, 1, 2, 5)},
    "multi_dot": (lambda *xs: LA.multi_dot(xs), (B[:, 0], B, normal(3, 6), normal(6, 2))),
    "multi_dot to a number": (lambda *xs: LA.multi_dot(xs), (B[:, 0], B, normal(3))),
    "cross": (lambda x, y: np.cross(x, y), (normal(2, 3), normal(2, 3))),
    "cross along axes": (lambda x, y: np.cross(x, y, axis=0), (normal(3, 2), normal(3, 2))),
    "linalg.cross": (lambda x, y: LA.cross(x, y), (normal(3), normal(3))),
    "lstsq": (lambda a, b: LA.lstsq(a, b)[:2], (TALL, normal(5))),
    "lstsq of several": (lambda a, b: LA.lstsq(a, b)[0], (TALL, normal(5, 2))),
    "lstsq, shortest": (lambda a, b: LA.lstsq(a, b)[:2], (WIDE, normal(3))),
    "tensorsolve": (LA.tensorsolve, (normal(2, 3, 6), normal(2, 3))),
    "tensorsolve axes": (
        lambda a, b: LA.tensorsolve(a, b, axes=(1,)),
        (normal(2, 6, 3), normal(2, 3)),
    ),
    "tensorinv": (LA.tensorinv, (normal(2, 3, 6),)),
    "matrix_transpose": (LA.matrix_transpose, (STACK,)),
}


def leaves(tree):
    return list(tree) if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize("name", one_in(3, PROGRAMS))
def test_values_are_numpys_and_derivatives_those_of_differences(name):
    f, args = PROGRAMS[name]
    found, _ = fg.vjp(f, *args)
    for ours, theirs in zip(leaves(found), leaves(f(*args)), strict=True):
        assert np.shape(ours) == np.shape(theirs)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)
    fg.check_grads(f, args, order=2)


@pytest.mark.parametrize("name", one_in(3, PROGRAMS, start=1))
def test_single_precision_stays_single(name):
    f, args = PROGRAMS[name]
    low = [a.astype(np.complex64 if a.dtype.kind == "c" else np.float32) for a in args]
    value, back = fg.vjp(f, *low)
    for ours, theirs in zip(leaves(value), leaves(f(*low)), strict=True):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
    seeds = [np.ones_like(v) for v in leaves(value)]
    pulled = back(flatten(value).rebuild(seeds))
    assert [p.dtype for p in pulled] == [a.dtype for a in low]
    assert all(np.all(np.isfinite(p)) for p in pulled)


@pytest.mark.parametrize(
    "name", one_in(3, [n for n in PROGRAMS if n != "lstsq, shortest"], start=2)
)
def test_a_batch_is_a_loop(name):
    f, args = PROGRAMS[name]
    stacked = [np.stack([a, a * 1.1, a * 0.9]) for a in args]
    for chosen in itertools.product([True, False], repeat=len(args)):
        if not any(chosen):
            continue
        given = [s if own else a for s, a, own in zip(stacked, args, chosen, strict=True)]
        axes = tuple(0 if own else None for own in chosen)
        found = leaves(fg.vmap(lambda *xs: tuple(leaves(f(*xs))), in_axes=axes)(*given))
        for i in range(3):
            one = [s[i] if own else s for s, own in zip(given, chosen, strict=True)]
            for ours, theirs in zip(found, leaves(f(*one)), strict=True):
                np.testing.assert_allclose(ours[i], theirs, rtol=1e-8, atol=1e-10)


# -- against JAX ---------------------------------------------------------------------------------
JAX = {
    "solve": (lambda m, a, b: m.linalg.solve(a, b), (A, B)),
    "inv": (lambda m, a: m.linalg.inv(a), (A,)),
    "pinv": (lambda m, a: m.linalg.pinv(a), (TALL,)),
    "cholesky": (lambda m, a: m.linalg.cholesky(sym(a)), (SPD,)),
    "cholesky complex": (lambda m, a: m.abs(m.linalg.cholesky(sym(a))), (HPD,)),
    "logdet": (lambda m, a: m.linalg.slogdet(a)[1], (C,)),
    "sign of det": (lambda m, a: m.real(m.linalg.slogdet(a)[0]), (C,)),
    "det": (lambda m, a: m.linalg.det(a), (A,)),
    "eigh": (lambda m, a: (lambda w, v: v * v * w)(*m.linalg.eigh(sym(a))), (SPD,)),
    "svd": (
        lambda m, a: (lambda u, s, v: (u * s) ** 2 @ v**2)(*m.linalg.svd(a, full_matrices=False)),
        (TALL,),
    ),
    "qr": (lambda m, a: (lambda q, r: q**2 @ r**2)(*m.linalg.qr(a)), (TALL,)),
    "nuc": (lambda m, a: m.linalg.norm(a, "nuc"), (WIDE,)),
}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", one_in(3, JAX))
def test_gradients_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    f, args = JAX[name]

    def weighed(m, *xs):
        z = f(m, *xs)
        return m.sum(m.real(z * np.cos(np.arange(np.prod(np.shape(z)))).reshape(np.shape(z))))

    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else _x64(jax):
        wanted = jax.grad(lambda *xs: weighed(jax.numpy, *xs), tuple(range(len(args))))(*args)
    found = fg.grad(lambda *xs: weighed(np, *xs), tuple(range(len(args))))(*args)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-9, atol=1e-11)


def _x64(jax):
    from jax.experimental import enable_x64

    return enable_x64()


# -- degenerate points ---------------------------------------------------------------------------
def test_repeated_eigenvalues():
    v = sym(normal(3, 3))
    # Sums over equal eigenvalues do not depend on the choice of vectors.
    f = lambda a: np.sum(LA.eigvalsh(a) ** 3)  # noqa: E731
    np.testing.assert_allclose(fg.jvp(f, (np.eye(3),), (v,))[1], 3 * np.trace(v), rtol=1e-12)
    _, turned = fg.jvp(lambda a: LA.eigh(a)[1], (np.eye(3),), (v,))
    assert np.isnan(turned).all()
    assert np.all(np.isfinite(fg.grad(lambda a: np.sum(LA.eigh(a)[1] ** 3))(np.eye(3))))


TURNED = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
DEGENERATE = {
    "identity": np.eye(3),
    "two equal": np.diag([1.0, 1.0, 2.0]),
    "complex": np.diag([1.0, 1.0, 2.0]) + 0j,
    "narrow": np.eye(3, dtype=np.float32),
    "stack": np.stack([np.eye(3), np.diag([1.0, 1.0, 2.0])]),
    "zero": np.zeros((3, 3)),
    "rotation": TURNED,
    "tall": 2 * np.eye(4, 3),
}
OF_VECTORS = {
    "w_i v_i": lambda w, v: v @ np.exp(w)[..., None],
    "eigenvectors": lambda w, v: v,
}


def weighted(f, a):
    weights = np.random.default_rng(3).normal(size=np.shape(f(a)))
    return lambda a: np.sum(np.real(weights * f(a)))


def both_modes(f, a):
    """The derivative along a dense direction, by each mode and as a program."""
    e = np.random.default_rng(4).normal(size=a.shape).astype(a.dtype)
    f = weighted(f, a)
    for g in (f, fg.jit(f)):
        yield fg.jvp(g, (a,), (e,))[1]
        yield np.real(np.sum(fg.grad(g)(a) * e))


@pytest.mark.parametrize("point", ["identity", "two equal", "complex", "narrow", "stack", "zero"])
@pytest.mark.parametrize("name", OF_VECTORS)
def test_eigenvectors_of_equal_eigenvalues_have_no_derivative(name, point):
    found = [*both_modes(lambda a: OF_VECTORS[name](*LA.eigh(a)), DEGENERATE[point])]
    assert np.isnan(found).all()


@pytest.mark.parametrize("point", DEGENERATE)
def test_singular_vectors_of_equal_singular_values_have_no_derivative(point):
    a = DEGENERATE[point]
    found = [*both_modes(lambda a: LA.svd(a, full_matrices=False)[0], a)]
    assert np.isnan(found).all()


@pytest.mark.parametrize("point", ["identity", "two equal", "complex", "narrow", "stack", "zero"])
def test_functions_of_values_alone_keep_their_derivatives(point):
    a = DEGENERATE[point]
    total = lambda a: np.sum(np.exp(LA.eigh(a)[0]))  # noqa: E731
    e = sym(np.random.default_rng(5).normal(size=a.shape)).astype(a.dtype)
    wanted = np.sum(np.exp(np.einsum("...ii->...i", a)) * np.einsum("...ii->...i", e))
    rtol = 1e-5 if a.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(fg.jvp(total, (a,), (e,))[1], np.real(wanted), rtol=rtol)
    np.testing.assert_allclose(np.sum(fg.grad(total)(a) * e), wanted, rtol=rtol)
    squares = lambda a: np.sum(LA.svd(a)[1] ** 2)  # noqa: E731
    np.testing.assert_allclose(fg.grad(squares)(a), 2 * np.conj(a), rtol=rtol, atol=1e-6)


def test_the_vector_of_a_single_eigenvalue_has_its_derivative():
    a, e = np.diag([1.0, 1.0, 3.0]), np.array([[0.3, 0.1, 0.4], [0.1, 0.2, 0.5], [0.4, 0.5, 0.6]])
    f = lambda a: np.outer(LA.eigh(a)[1][:, 2], LA.eigh(a)[1][:, 2])  # noqa: E731
    wanted = np.array([[0.0, 0.0, 0.2], [0.0, 0.0, 0.25], [0.2, 0.25, 0.0]])
    np.testing.assert_allclose(fg.jvp(f, (a,), (e,))[1], wanted, rtol=1e-12, atol=1e-15)
    weights = np.arange(9.0).reshape(3, 3)
    slope = fg.grad(lambda a: np.sum(weights * f(a)))(a)
    np.testing.assert_allclose(np.sum(slope * e), np.sum(weights * wanted), rtol=1e-12)


def test_a_second_derivative_by_vectors_that_are_not_determined_is_nan():
    """At t = 0 no cotangent turns the vectors, but it does as soon as t moves."""
    a, weights = np.eye(3), np.arange(9.0).reshape(3, 3) ** 2
    slope = lambda t: fg.grad(lambda a: t * np.sum(weights * LA.eigh(a)[1]))(a)  # noqa: E731
    np.testing.assert_array_equal(slope(0.0), np.zeros((3, 3)))
    assert np.isnan(fg.jacfwd(slope)(0.0)).all()


def test_second_derivatives_of_sums_over_equal_eigenvalues():
    hessian = fg.hessian(lambda a: np.sum(LA.eigvalsh(a) ** 3))(np.eye(3))
    e = sym(normal(3, 3))
    np.testing.assert_allclose(np.einsum("ijkl,ij,kl", hessian, e, e), 6 * np.sum(e * e), rtol=1e-9)


def test_second_derivatives_of_one_singular_value_beside_equal_others():
    """The largest singular value of x x' + 3 I is x'x + 3; the two others are equal."""
    largest = lambda x: LA.svd(np.outer(x, x) + 3 * np.eye(3))[1][0]  # noqa: E731
    x = np.array([0.3, -0.7, 1.1])
    np.testing.assert_allclose(fg.hessian(largest)(x), 2 * np.eye(3), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        fg.jacrev(fg.grad(largest))(x), 2 * np.eye(3), rtol=1e-10, atol=1e-10
    )


NORMS = {
    # The order, and singular values where the norm is smooth though some are equal.
    "2": (lambda a: LA.norm(a, 2), [(3.0, 2.0, 2.0), (3.0, 0.0, 0.0), (5.0, 2.0, 2.0, 2.0)]),
    "-2": (lambda a: LA.norm(a, -2), [(3.0, 3.0, 2.0), (5.0, 5.0, 2.0, 1.0)]),
    "nuc": (lambda a: LA.norm(a, "nuc"), [(2.0, 2.0, 2.0), (3.0, 3.0, 2.0), (1.0, 1.0, 1.0, 0.5)]),
    "cond": (LA.cond, [(3.0, 2.0, 2.0, 1.0)]),
    "s[0]": (lambda a: LA.svd(a)[1][0], [(3.0, 2.0, 2.0)]),
}


@pytest.mark.parametrize("name", NORMS)
def test_second_derivatives_of_norms_beside_equal_singular_values(name):
    norm, cases = NORMS[name]
    for values in cases:
        n, rng = len(values), np.random.default_rng(0)
        u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
        a, x, y = u * np.array(values) @ v, *rng.normal(size=(2, n, n))

        def along(s, t, a=a, x=x, y=y):
            return norm(a + s * x + t * y)

        # In the directions of x and y, by differences of fourth order.
        h = 1e-3
        weights = {1: 8.0, -1: -8.0, 2: -1.0, -2: 1.0}
        wanted = 0.0
        for i, p in weights.items():
            for j, q in weights.items():
                wanted += p * q * along(i * h, j * h) / (12 * h) ** 2
        hessians = [fg.hessian(norm)(a), fg.jacrev(fg.grad(norm))(a), fg.jit(fg.hessian(norm))(a)]
        found = [np.einsum("ijkl,ij,kl", each, x, y) for each in hessians]
        found.append(fg.jvp(lambda a, x=x: fg.jvp(norm, (a,), (x,))[1], (a,), (y,))[1])
        found.append(
            np.sum(fg.vmap(fg.grad(lambda a, x=x: fg.jvp(norm, (a,), (x,))[1]))(a[None])[0] * y)
        )
        np.testing.assert_allclose(found, wanted, rtol=2e-7, atol=1e-8)


@pytest.mark.parametrize("order", [2, -2])
def test_second_derivatives_of_norms_at_a_kink_are_nan(order):
    a = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 1.5 + np.eye(3))[0]
    assert np.all(np.isfinite(fg.grad(lambda a: LA.norm(a, order))(a)))
    assert np.isnan(fg.hessian(lambda a: LA.norm(a, order))(a)).any()
    assert np.isnan(fg.hessian(lambda a: LA.norm(a, "nuc"))(np.diag([1.0, 0.0, 0.0]))).any()


def test_singular_values_of_zero():
    gradient = fg.grad(lambda a: LA.norm(a, "nuc"))(np.zeros((3, 2)))
    assert LA.norm(gradient, 2) <= 1 + 1e-12  # a subgradient
    slopes = fg.grad(lambda a: np.sum(of_svd(a)))(np.diag([2.0, 0.0]))
    assert np.all(np.isfinite(slopes))


def test_triangles():
    """What is not read has no gradient, and what is not there does not matter."""
    low = fg.grad(lambda a: np.sum(LA.cholesky(a)))(SPD)
    assert not np.triu(low, 1).any()
    assert np.all(low[np.tril_indices(4)])
    noisy = np.tril(SPD) + np.triu(normal(4, 4), 1)
    np.testing.assert_array_equal(fg.grad(lambda a: np.sum(LA.cholesky(a)))(noisy), low)
    up = fg.grad(lambda a: LA.eigh(a, "U")[0][0])(SPD)
    assert not np.tril(up, -1).any()


@pytest.mark.parametrize("n", [0, 1])
def test_empty_and_single(n):
    a = np.eye(n) * 2
    f = lambda a: (  # noqa: E731
        np.sum(LA.inv(a)) + np.sum(LA.cholesky(a)) + LA.det(a) + LA.slogdet(a)[1]
        + np.sum(LA.solve(a, np.ones(n))) + np.sum(LA.eigvalsh(a)) + np.sum(LA.svdvals(a))
        + np.sum(LA.qr(a)[1])
    )  # fmt: skip
    value, gradient = fg.value_and_grad(f)(a)
    np.testing.assert_allclose(value, f(a), rtol=1e-12)
    assert gradient.shape == (n, n)
    stack = np.zeros((0, 3, 3))
    assert fg.grad(lambda a: np.sum(LA.inv(a)))(stack).shape == (0, 3, 3)
    assert fg.grad(lambda a: np.sum(LA.det(a)))(stack).shape == (0, 3, 3)


def test_rank_is_counted():
    a = normal(4, 2) @ normal(2, 3)
    found = fg.evaluate(LA.matrix_rank(fg.var("a", (4, 3))), {"a": a})
    assert (found, found.__class__) == (2, int)
    assert LA.lstsq(fg.const(a), np.ones(4))[2]() == 2
    shape = LA.matrix_rank(fg.var("a", (5, 4, 3))).shape
    assert shape == (5,)


# -- errors --------------------------------------------------------------------------------------
M, V, S = fg.var("M", (2, 3)), fg.var("V", 3), fg.var("S", (3, 3))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: LA.inv(M), r"inv: expected square matrices .*float64\[2, 3\]; see lstsq and pinv"),
        (lambda: LA.solve(V, V), "solve: expected square matrices .*; give a vector a second axis"),
        (lambda: LA.solve(S, M), "solve: expected a right side with as many rows as the matrix"),
        (
            lambda: LA.solve(fg.var("T", (2, 3, 3)), fg.var("U", (4, 3, 1))),
            "solve: expected stacks",
        ),
        (lambda: LA.cholesky(M), "cholesky: expected square matrices"),
        (lambda: LA.det(V), "det: expected square matrices"),
        (lambda: LA.slogdet(M), "slogdet: expected square"),
        (lambda: LA.eigh(M), "eigh: expected square"),
        (lambda: LA.eigh(S, "X"), "eigh: expected UPLO 'L' or 'U', but got 'X'"),
        (lambda: LA.svd(V), "svd: expected matrices"),
        (
            lambda: LA.qr(fg.var("W", (3, 2)), "raw"),
            "qr: expected mode 'reduced', 'complete' or 'r'",
        ),
        (lambda: LA.qr(S, "raw"), "qr: expected mode"),
        (lambda: LA.norm(S, 3), "norm: expected ord 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"),
        (lambda: LA.multi_dot([S]), "multi_dot: expected two arrays at least, but got 1"),
        (lambda: np.cross(M, M[:, :1]), "cross: expected vectors of"),
        (lambda: LA.lstsq(M, V), "lstsq: expected a right side of 2 rows"),
        (
            lambda: LA.tensorsolve(M, V),
            "tensorsolve: expected as many unknowns as equations, but got 3 in",
        ),
        (lambda: LA.tensorinv(M, 1), "tensorinv: expected as many entries"),
    ],
)
def test_errors_teach(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_half_precision_is_refused():
    with pytest.raises(TypeError, match="inv: expected single or double precision"):
        LA.inv(fg.var("h", (2, 2), "float16"))


def test_whole_numbers_become_floats():
    assert LA.inv(fg.var("i", (2, 2), int)).dtype == float
    np.testing.assert_allclose(LA.solve(fg.const([[2, 0], [0, 4]]), [1, 1])(), [0.5, 0.25])


def test_what_numpy_refuses_is_refused_as_the_program_runs():
    with pytest.raises(LA.LinAlgError, match="Singular"):
        fg.grad(lambda a: np.sum(LA.inv(a)))(np.ones((2, 2)))
    with pytest.raises(LA.LinAlgError, match="positive definite"):
        fg.grad(lambda a: np.sum(LA.cholesky(a)))(-np.eye(2))


# -- as programs ---------------------------------------------------------------------------------
def test_one_matrix_is_factored_once_for_a_batch():
    """A Jacobian in the right side has one solve, of columns beside each other."""
    program = fg.trace(fg.jacobian(lambda b: LA.solve(A, b)), np.ones(4))
    solves = [e for e in subexpressions(program) if e.op.name == "solve"]
    assert [e.args[0].shape for e in solves] == [(4, 4)]
    np.testing.assert_allclose(fg.jacobian(lambda b: LA.solve(A, b))(np.ones(4)), LA.inv(A))


def test_results_are_named_as_numpys():
    found = LA.slogdet(S)
    assert isinstance(found.sign, Expr)
    assert isinstance(LA.eigh(S).eigenvalues, Expr)
    assert LA.svd(S).Vh.shape == (3, 3)
    assert LA.qr(S).R.shape == (3, 3)


@pytest.mark.parametrize("name", ["solve", "slogdet", "eigh", "svd tall", "qr wide", "pinv tall"])
def test_a_program_is_written_as_numpys(name):
    f, args = PROGRAMS[name]
    names = [fg.var(f"x{i}", a.shape) for i, a in enumerate(args)]
    for expr, wanted in zip(leaves(f(*names)), leaves(f(*args)), strict=True):
        space = {}
        exec(compile(to_python(expr), "<test>", "exec"), space)
        np.testing.assert_allclose(space["f"](*args), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", [LA.eigvalsh, lambda a: LA.qr(a)[1], LA.svdvals, LA.det])
def test_taylor_coefficients_go_through_tuples(f):
    found = fg.taylor(f, SPD, 3, sym(A))
    for order in range(4):
        wanted = along(f, SPD, order, [sym(A)] * 3) / [1, 1, 2, 6][order]
        np.testing.assert_allclose(found[order], wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "solve", [np.linalg.pinv, lambda a, rcond: np.linalg.lstsq(a, a, rcond)[0]]
)
@pytest.mark.parametrize(
    "values", [(4.0, 3.0, 0.5), (4.0, 4.0, 0.5), (4.0, 0.5, 0.5), (4.0, 3.0, 2.0)]
)
def test_derivatives_where_singular_values_are_cut_off(solve, values):
    """The rule at constant rank would leave out how their vectors turn."""
    u, _, vh = np.linalg.svd(np.random.default_rng(3).normal(size=(3, 3)))
    for a in (u[:, :3] * values @ vh, (u * values @ vh)[:, :2]):
        f = lambda a: solve(a, rcond=0.3)  # noqa: E731
        fg.check_grads(f, (a,), order=2)
    assert np.all(np.isfinite(fg.jacobian(f)(np.array([[4.0, 1.0], [8.0, 2.0]]))))


@pytest.mark.parametrize("p", [1, -1, np.inf, -np.inf, "fro"])
def test_the_condition_number_of_a_singular_matrix(p):
    stack = np.stack([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], np.zeros((2, 2))])
    f = lambda a: np.linalg.cond(a, p)  # noqa: E731
    np.testing.assert_allclose(fg.jit(f)(stack), f(stack), rtol=1e-13)
    slopes = fg.grad(lambda a: f(a)[1])(stack)
    np.testing.assert_allclose(slopes[1], fg.grad(f)(stack[1]), rtol=1e-13)
    assert np.all(slopes[[0, 2]] == 0)
    assert not np.all(np.isfinite(fg.grad(f)(stack[0])))


def jittered(kernel):
    """The factor of a matrix to whose diagonal is added until it has one, as Gaussian processes have it."""
    for jitter in (0.0, *10.0 ** np.arange(-12, -5)):
        try:
            return LA.cholesky(kernel + jitter * np.eye(len(kernel))), jitter
        except LA.LinAlgError:
            continue
    raise ValueError(jitter)


def test_rounding_decides_whether_a_handled_matrix_is_positive_definite_as_in_numpy():
    rng = np.random.default_rng(0)
    for _ in range(60):
        x, width = np.sort(rng.uniform(0, 1, rng.integers(5, 40))), rng.uniform(0.1, 1.0)
        noise = 10.0 ** rng.integers(-17, -9) * np.eye(len(x))

        def added(width, x=x, noise=noise):
            factor, jitter = jittered(np.exp(-0.5 * ((x[:, None] - x) / width) ** 2) + noise)
            return np.sum(np.log(np.diag(factor))) * 0 + jitter

        assert fg.jvp(added, (width,), (1.0,))[0] == added(width)
        assert fg.jit(added)(width) == added(width)


@pytest.mark.parametrize("shape", [(30, 3), (3, 30)])
def test_the_gradient_of_a_pseudoinverse_has_no_square_of_the_longer_side(shape):
    a, b = LONG_RNG.normal(size=shape), LONG_RNG.normal(size=shape[0])

    def loss(a):
        return np.sum(np.linalg.lstsq(a, b, rcond=None)[0] ** 2)

    traced, _, _ = str(fg.jit(fg.grad(loss)).lower(a)).partition("schedule")
    assert "float64[3, 3]" in traced
    assert "float64[30, 30]" not in traced
    small = np.linalg.pinv(a) @ b
    slope, h = fg.grad(loss)(a), 1e-6
    for i, j in [(0, 0), (2, 1)]:
        moved = np.zeros(shape)
        moved[i, j] = h
        change = (loss(a + moved) - loss(a - moved)) / (2 * h)
        np.testing.assert_allclose(slope[i, j], change, rtol=1e-5, atol=1e-8 * np.sum(small**2))


def test_the_gradient_of_the_triangle_of_qr_solves_a_small_system():
    a = LONG_RNG.normal(size=(30, 3))
    slope = fg.grad(lambda a: np.sum(np.linalg.qr(a)[1] ** 3))
    traced, _, _ = str(fg.jit(slope).lower(a)).partition("schedule")
    solved = [line for line in traced.splitlines() if "= solve " in line]
    assert solved
    assert all(["float64[3, 3]" in line for line in solved])


LONG_RNG = np.random.default_rng(5)
