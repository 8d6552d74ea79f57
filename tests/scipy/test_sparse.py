"""Products and solutions with constant sparse matrices."""

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as solvers

import funcgrad as fg
from funcgrad.scipy import sparse
from funcgrad.scipy.sparse import linalg
from funcgrad.scipy.sparse_product import sparse_product_op
from tests.default_slice import one_in

DENSE = np.array([[4.0, 0.0, 1.0], [0.0, 3.0, 0.0], [1.0, -1.0, 5.0]])
X = np.array([0.4, -0.3, 0.8])


@pytest.mark.parametrize(
    "name", ["csr_matrix", "csc_array", "coo_matrix", "dia_array", "bsr_matrix", "lil_matrix"]
)
def test_products_with_traced_arrays(name):
    a = getattr(sparse, name)(DENSE)
    assert isinstance(a, getattr(sparse, name))
    for f, own in (
        (lambda x: a @ x, lambda x: DENSE @ x),
        (lambda x: a.dot(x), lambda x: DENSE @ x),
        (lambda x: a.T @ x, lambda x: DENSE.T @ x),
        (
            lambda x: a.tocsr() @ np.stack([x, 2 * x], axis=1),
            lambda x: DENSE @ np.stack([x, 2 * x], axis=1),
        ),
    ):
        value, slope = fg.jvp(f, (X,), (X[::-1],))
        np.testing.assert_allclose(value, own(X), rtol=1e-14)
        np.testing.assert_allclose(slope, own(X[::-1]), rtol=1e-14)
        np.testing.assert_allclose(
            fg.jit(fg.grad(lambda x, f=f: np.sum(f(x) ** 2)))(X),
            fg.grad(lambda x, o=own: np.sum(o(x) ** 2))(X),
            rtol=1e-13,
        )
        np.testing.assert_allclose(fg.vmap(f)(np.stack([X, X]))[1], own(X), rtol=1e-14)
    np.testing.assert_array_equal(np.asarray(a.tocsr() @ X), DENSE @ X)


@pytest.mark.parametrize(
    ("kind", "form"),
    one_in(
        3, itertools.product(["matrix", "array"], ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
    ),
)
def test_matrices_that_scipy_made_take_traced_arrays(form, kind):
    a = getattr(scipy.sparse, f"{form}_{kind}")(DENSE)
    square = np.stack([X, X**2, -X], axis=1)
    for f, own in (
        (lambda x: a @ x, lambda x: DENSE @ x),
        (lambda x: x @ a, lambda x: x @ DENSE),
        (lambda x: a.T.dot(x), lambda x: DENSE.T @ x),
        (lambda x: (a.tocsc() @ square) @ x, lambda x: DENSE @ square @ x),
        (lambda x: (a @ (square * x)).T @ a, lambda x: (DENSE @ (square * x)).T @ DENSE),
    ):
        np.testing.assert_allclose(fg.jacobian(f)(X), fg.jacobian(own)(X), rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(fg.jit(f)(X), own(X), rtol=1e-14)
        np.testing.assert_allclose(fg.vmap(f)(np.stack([X, -X]))[1], own(-X), rtol=1e-14)
    hessian = fg.hessian(lambda x: np.sum((a @ x) * (x @ a)))(X)
    np.testing.assert_allclose(hessian, DENSE.T @ DENSE.T + DENSE @ DENSE, rtol=1e-13)


def test_products_of_other_shapes_and_dtypes():
    a = scipy.sparse.csr_array(DENSE[:2])
    assert fg.grad(lambda x: np.sum((a @ x)[:0]))(X).tolist() == [0.0, 0.0, 0.0]
    single = a.astype(np.float32)
    assert fg.jit(lambda x: single @ x)(X.astype(np.float32)).dtype == np.float32
    turned = a * 1j
    value, slope = fg.jvp(lambda x: turned @ x, (X,), (X,))
    np.testing.assert_allclose(value, 1j * DENSE[:2] @ X)
    np.testing.assert_array_equal(value, slope)
    row = scipy.sparse.coo_array(X)
    np.testing.assert_allclose(fg.grad(lambda x: row @ x)(X), X)

    def stored(x):
        y = a @ x
        y[0] = x[1]
        return y @ a

    np.testing.assert_allclose(
        fg.jacobian(stored)(X), DENSE[:2].T @ [[0.0, 1.0, 0.0], DENSE[1]], rtol=1e-14
    )


def test_matrices_that_functions_make():
    second = sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(3, 3))
    np.testing.assert_allclose(fg.jvp(lambda x: second @ x, (X,), (X,))[0], second.toarray() @ X)
    both = sparse.kron(sparse.identity(2), second).tocsr()
    assert fg.grad(lambda x: np.sum(both @ np.concatenate([x, x])))(X).shape == (3,)
    np.testing.assert_allclose(
        fg.jvp(lambda x: second.multiply(x).toarray(), (X,), (X,))[0], second.toarray() * X
    )


@pytest.mark.parametrize("name", ["spsolve", "cg", "gmres"])
def test_solutions(name):
    matrix = DENSE @ DENSE.T if name == "cg" else DENSE
    a = scipy.sparse.csc_matrix(matrix)

    def solve(b):
        found = getattr(linalg, name)(a, b, **({} if name == "spsolve" else {"rtol": 1e-13}))
        return found if name == "spsolve" else found[0]

    value, slope = fg.jvp(solve, (X,), (X[::-1],))
    np.testing.assert_allclose(value, np.linalg.solve(matrix, X), rtol=1e-11)
    np.testing.assert_allclose(slope, np.linalg.solve(matrix, X[::-1]), rtol=1e-11)
    jacobian = fg.jacobian(solve)(X)
    np.testing.assert_allclose(jacobian, np.linalg.inv(matrix), rtol=1e-10, atol=1e-12)
    hessian = fg.hessian(lambda b: np.sum(solve(b) ** 3))(X)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(
        hessian, inverse.T @ np.diag(6 * inverse @ X) @ inverse, rtol=1e-9, atol=1e-12
    )


def test_factorized_and_columns():
    a = scipy.sparse.csc_matrix(DENSE)
    solve = linalg.factorized(a)
    np.testing.assert_allclose(solve(X), np.linalg.solve(DENSE, X))
    np.testing.assert_allclose(
        fg.grad(lambda b: np.sum(solve(b)))(X), np.linalg.solve(DENSE.T, np.ones(3))
    )
    columns = fg.jvp(lambda b: linalg.spsolve(a, np.stack([b, 2 * b], axis=1)), (X,), (X,))[0]
    np.testing.assert_allclose(columns[:, 1], 2 * np.linalg.solve(DENSE, X))


DIRECT, TIGHT = {"spsolve": {}}, {"rtol": 1e-14, "atol": 0.0}
ITERATIVE = {
    **dict.fromkeys(("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres"), TIGHT),
    **dict.fromkeys(("qmr", "tfqmr"), TIGHT),
    "minres": {"rtol": 1e-15},
}


@pytest.mark.filterwarnings("ignore:spsolve requires")
@pytest.mark.parametrize("name", one_in(3, DIRECT | ITERATIVE))
def test_a_traced_dense_matrix(name):
    options = (DIRECT | ITERATIVE)[name]
    symmetric = DENSE @ DENSE.T + np.eye(len(DENSE))

    def loss(solve):
        return lambda a, b: np.sum(solve((a + a.T) / 2, b) ** 2)

    own = getattr(scipy.sparse.linalg, name)
    f = loss(lambda a, b: own(a, b, **options) if name == "spsolve" else own(a, b, **options)[0])
    ideal, step = loss(np.linalg.solve), (DENSE, np.ones_like(X))
    np.testing.assert_allclose(fg.jit(f)(symmetric, X), f(symmetric, X))
    for transform in (
        lambda f: fg.grad(f, (0, 1))(symmetric, X),
        lambda f: fg.jvp(f, (symmetric, X), step),
        lambda f: fg.jvp(fg.grad(f, (0, 1)), (symmetric, X), step)[1],
        lambda f: fg.vmap(fg.grad(f))(np.stack([symmetric, 2 * symmetric]), np.stack([X, X])),
    ):
        for found, expected in zip(transform(f), transform(ideal), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_traced_dense_matrix_and_columns():
    columns = np.stack([X, X**2], axis=1)
    f = lambda a: np.sum(linalg.spsolve(a, columns) ** 2)  # noqa: E731
    ideal = fg.grad(lambda a: np.sum(np.linalg.solve(a, columns) ** 2))(DENSE)
    np.testing.assert_allclose(fg.grad(f)(DENSE), ideal)


@pytest.mark.parametrize("form", ["csc", "csr", "coo"])
def test_a_traced_number_is_a_matrix_of_one_entry(form):
    def f(x):
        made = getattr(sparse, f"{form}_matrix")(x * x)
        return made.toarray()[0, 0] * made.shape[1]

    assert fg.value_and_grad(f)(3.0) == (9.0, 6.0)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="expected a square matrix and a right side"):
        fg.grad(lambda t: linalg.spsolve(scipy.sparse.csc_matrix(DENSE), t * X[:2])[0])(1.0)
    with pytest.raises(ValueError, match="sparse matrix: expected an array with 3 rows"):
        fg.grad(lambda t: (sparse.csr_array(DENSE) @ (t * X[:2]))[0])(1.0)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_sums_of_sparse_matrices_and_traced_arrays_are_dense(kind):
    a, x = kind(np.array([[1.0, 0.0], [3.0, 2.0]])), np.arange(4.0).reshape(2, 2)
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    for f in (lambda x: a + x, lambda x: x + a, lambda x: a - x, lambda x: x - a):
        squares = lambda x, f=f: np.sum(weights * np.asarray(f(x)) ** 2)  # noqa: E731
        value, slope = fg.value_and_grad(squares)(x)
        dense = np.asarray(f(x))
        assert value == pytest.approx(np.sum(weights * dense**2), rel=1e-14)
        sign = np.asarray(f(x + 1)) - dense
        np.testing.assert_allclose(slope, 2 * weights * dense * sign, rtol=1e-14)
        np.testing.assert_allclose(fg.jit(fg.grad(squares))(x), slope)
    with pytest.raises(NotImplementedError, match="adding a nonzero scalar"):
        fg.grad(lambda s: (a + s).sum())(1.0)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_of_sparse_matrices_have_the_dtype_that_is_asked_for(axis):
    for name in ("sum", "mean"):
        f = lambda x, name=name: getattr(scipy.sparse.csr_array(x), name)(axis, np.float32)  # noqa: E731
        found, wanted = fg.jvp(f, (DENSE,), (DENSE,))[0], f(DENSE)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    with pytest.raises(TypeError, match=r"sum: out=.* is not supported with traced values"):
        fg.grad(lambda x: scipy.sparse.csr_array(x).sum(0, out=np.zeros(3))[0])(DENSE)


TALL = scipy.sparse.csr_array(np.array([[1.0, 2, 0], [0, 1, 1], [3, 1, 0], [1, 1, 1]]))
LOWER = scipy.sparse.csr_array(np.tril(DENSE + 3 * np.eye(3)))
LU, SOLVE = (make(scipy.sparse.csc_array(DENSE)) for make in (solvers.splu, solvers.factorized))
TIGHT = {"atol": 1e-13, "btol": 1e-13}
LINEAR = {
    "splu": lambda b: solvers.splu(scipy.sparse.csc_array(DENSE)).solve(b),
    "spilu": lambda b: solvers.spilu(scipy.sparse.csc_array(DENSE)).solve(b),
    "a factorization from elsewhere": lambda b: LU.solve(b),
    "transposed": lambda b: LU.solve(np.stack([b, 2 * b], 1), "T")[:, 1],
    "adjoint": lambda b: LU.solve(b, trans="H"),
    "factorized elsewhere": lambda b: SOLVE(b),
    "lower": lambda b: solvers.spsolve_triangular(LOWER, b),
    "upper": lambda b: solvers.spsolve_triangular(LOWER.T, b, False, unit_diagonal=True),
    "lsqr": lambda b: solvers.lsqr(TALL, np.append(b, 1.0), **TIGHT)[0],
    "lsqr damped, wide": lambda b: solvers.lsqr(TALL.T, b, 0.3, **TIGHT)[0],
    "lsmr damped": lambda b: solvers.lsmr(TALL, np.append(b, 1.0), damp=0.3, **TIGHT)[0],
    "gcrotmk": lambda b: solvers.gcrotmk(DENSE, b, rtol=1e-13)[0],
    "an operator": lambda b: solvers.gmres(solvers.aslinearoperator(DENSE), b, rtol=1e-13)[0],
}


@pytest.mark.filterwarnings("ignore:.*converted its input to CSC")
@pytest.mark.parametrize("case", one_in(3, LINEAR))
def test_solvers_are_linear_in_the_right_side(case):
    f = LINEAR[case]
    value, slope = fg.jvp(f, (X,), (X,))
    np.testing.assert_array_equal(value, f(X))
    jacobian = fg.jacrev(f)(X)
    np.testing.assert_allclose(jacobian, fg.jacfwd(f)(X), rtol=1e-12, atol=1e-13)
    wanted = np.stack([f(X + e) - f(X) for e in np.eye(3)], -1)  # f is affine
    np.testing.assert_allclose(jacobian, wanted, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(slope, wanted @ X, rtol=1e-9, atol=1e-10)
    hessian = fg.hessian(lambda b: np.sum(f(b) ** 3))(X)
    np.testing.assert_allclose(hessian, (6 * f(X) * wanted.T) @ wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(fg.jit(f)(X), f(X))
    np.testing.assert_array_equal(fg.vmap(f)(np.stack([X, -X]))[1], f(-X))


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
@pytest.mark.parametrize("shape", ["tall", "wide", "damped", "sparse"])
def test_least_squares_in_the_matrix(name, shape):
    change = np.cos(np.arange(12.0)).reshape(4, 3)

    def f(t):
        matrix = TALL.toarray() + t * change
        matrix = matrix.T if shape == "wide" else matrix
        matrix = scipy.sparse.csr_array(matrix) if shape == "sparse" else matrix
        damp = 0.3 if shape == "damped" else 0.0
        right = t + np.arange(1.0, 1.0 + matrix.shape[0])
        return getattr(solvers, name)(matrix, right, damp, **TIGHT)[0]

    value, slope = fg.jvp(f, (0.4,), (1.0,))
    np.testing.assert_allclose(value, f(0.4), rtol=1e-13)
    np.testing.assert_allclose(slope, (f(0.4 + 1e-5) - f(0.4 - 1e-5)) / 2e-5, rtol=1e-7)
    np.testing.assert_allclose(fg.jacrev(f)(0.4), slope, rtol=1e-11)
    np.testing.assert_allclose(fg.jit(f)(0.4), f(0.4), rtol=1e-13)


def test_other_results_and_dtypes_of_solvers():
    single = scipy.sparse.csc_array(DENSE.astype(np.float32))
    b = X.astype(np.float32)
    for f in (
        lambda b: solvers.splu(single).solve(b),
        lambda b: solvers.spsolve(single, b),
        lambda b: solvers.spsolve_triangular(LOWER.astype(np.float32), b),
        lambda b: solvers.lsqr(single, b)[0],
    ):
        assert fg.jvp(f, (b,), (b,))[0].dtype == f(b).dtype
    _, stop, count = fg.jit(lambda b: solvers.lsqr(TALL, b)[:3])(np.ones(4))
    assert [stop, count] == [*solvers.lsqr(TALL, np.ones(4))[1:3]]
    assert fg.jit(lambda b: solvers.lsqr(TALL, b)[9])(np.ones(4)).shape == (3,)
    in_matrix = fg.jit(lambda t: solvers.lsqr(TALL.toarray() * t, np.ones(4))[:3])(1.0)
    assert [*in_matrix[1:]] == [stop, count]
    with pytest.raises(TypeError, match="lsqr: expected a derivative"):
        fg.grad(lambda b: solvers.lsqr(TALL, b)[3])(np.ones(4))
    with pytest.raises(TypeError, match="lsqr: x0="):
        fg.grad(lambda b: solvers.lsqr(TALL, b, x0=np.ones(3))[0][0])(np.ones(4))
    with pytest.raises(TypeError, match="splu: expected a constant matrix"):
        fg.grad(lambda t: solvers.splu(t * DENSE).solve(X)[0])(1.0)
    with pytest.raises(ValueError, match="expected a lower triangular matrix"):
        fg.grad(lambda b: solvers.spsolve_triangular(single, b)[0])(b)


MATRIX = scipy.sparse.csr_matrix(np.array([[1.0, 0.0], [2.0, 3.0]]))
AS_MATRICES = {
    "todense": lambda x: scipy.sparse.csr_matrix(x).todense() * x,
    "plain todense": lambda x: MATRIX.todense() * x,
    "sums": lambda x: scipy.sparse.csr_matrix(x).sum(0) * scipy.sparse.csr_matrix(x).sum(1),
    "mean": lambda x: scipy.sparse.csr_matrix(x).mean(1) * x[:1],
    "plain sum": lambda x: MATRIX.sum(0) * x,
    "plus an array": lambda x: (scipy.sparse.csr_matrix(x) + np.eye(2)) * x,
    "plain plus an array": lambda x: (MATRIX + x) * x,
    "minus": lambda x: (x - MATRIX) * x,
    "times a matrix": lambda x: (
        scipy.sparse.csr_matrix(x) * np.matrix([[1.0, 0.5], [2.0, 3.0]]) * x
    ),
    "plain times a matrix": lambda x: MATRIX.dot(np.matrix(x)) * x,
    "max": lambda x: scipy.sparse.csr_matrix(x).max(axis=0) * x[0],
    "min": lambda x: (scipy.sparse.csr_matrix(x).min(axis=1) * x[:1]).T,
    "entries": lambda x: scipy.sparse.csr_matrix(x)[[0, 1], [1, 0]] * x,
    "traced places": lambda x: (
        scipy.sparse.csr_matrix((range(2), ((x[0] > 0.9) * 1, [0, 0]))).todense().T * x
    ),
    "flatten": lambda x: np.array(scipy.sparse.csr_matrix(x).todense().flatten())[0, :],
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("f", AS_MATRICES.values(), ids=AS_MATRICES.keys())
def test_dense_results_of_sparse_matrices_are_matrices(f):
    """Their ``*`` is the product of matrices; it was that of entries, without a word."""
    x = np.array([[0.7, 1.3], [2.1, 0.4]])
    weights = np.arange(1.0, 1.0 + np.size(f(x))).reshape(np.shape(f(x)))

    def weighed(x):
        return np.sum(weights * np.asarray(f(x)))

    slopes = [(weighed(x + h) - weighed(x - h)) / 2e-6 for h in 1e-6 * np.eye(4).reshape(4, 2, 2)]
    for transform in (fg.value_and_grad, lambda f: fg.jit(fg.value_and_grad(f))):
        value, found = transform(weighed)(x)
        assert value == pytest.approx(weighed(x))
        np.testing.assert_allclose(np.ravel(found), slopes, rtol=1e-7, atol=1e-7)


def test_operations_of_two_matrices_without_a_rule_say_what_to_write():
    with pytest.raises(AttributeError, match=r"expected plain entries for maximum.*A.toarray\(\)"):
        fg.grad(lambda x: scipy.sparse.csr_array(x).maximum(0.5).sum())(np.eye(2))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_products_with_plain_matrices_in_every_mode(form):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((5, 4)) < 0.5, rng.normal(size=(5, 4)), 0.0)
    a = scipy.sparse.coo_array(dense).asformat(form)
    for x in (rng.normal(size=4), rng.normal(size=(4, 3)), rng.normal(size=(4, 0))):
        w = rng.normal(size=(5, *x.shape[1:]))
        np.testing.assert_allclose(fg.jit(lambda x: a @ x)(x), dense @ x, rtol=1e-14)
        np.testing.assert_allclose(fg.jvp(lambda x: a @ x, (x,), (x,))[1], dense @ x, rtol=1e-14)
        slope = fg.grad(lambda x, w=w: np.sum(w * (a @ x)))
        np.testing.assert_allclose(slope(x), dense.T @ w, rtol=1e-13)
        if x.size:
            np.testing.assert_allclose(
                fg.vmap(lambda x: a @ x)(np.stack([x, -x]))[1], -dense @ x, rtol=1e-13
            )
            fg.check_grads(lambda x: (a @ x) ** 3, (x,), order=2)
    assert fg.jit(lambda x: a @ x)(np.ones(4, np.float32)).dtype == np.float64
    assert fg.jit(lambda x: a.astype(np.float32) @ x)(np.ones(4, np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        fg.grad(lambda x: np.real(np.sum(a @ (1j * x) * 1j)))(np.ones(4)), -dense.sum(0), rtol=1e-13
    )


def _product_by_entries(indices, starts, rows, transposed, data, x):
    return sparse_product_op(data, indices, starts, rows, x, shape=(2, 3), transposed=transposed)


@pytest.mark.parametrize("dtype", [float, np.float32, complex])
def test_sparse_products_are_scipys(dtype):
    rng = np.random.default_rng(0)
    for shape in ((5, 7), (1, 3), (0, 3), (3, 0)):
        a = scipy.sparse.random(*shape, 0.4, random_state=0, format="csr").astype(dtype)
        for tail in ((), (3,), (1,), (0,)):
            for transposed, matrix in ((False, a), (True, a.T)):
                x = np.asfortranarray(rng.normal(size=(matrix.shape[1], *tail)).astype(dtype))
                rows = np.zeros(a.nnz, int)
                found = sparse_product_op.run(
                    a.data, a.indices, a.indptr, rows, x, shape=shape, transposed=transposed
                )
                assert found.dtype == dtype
                np.testing.assert_array_equal(found, matrix @ x)


def test_indices_of_a_file_are_checked():
    """SciPy reads the memory that they point to."""
    a = scipy.sparse.csr_array(np.diag([2.0, 0.0, 3.0]))
    for field, error in (
        ("indices", "columns from 0 to 2"),
        ("indptr", "starts of rows from 0 to 2"),
    ):
        for wrong in (10**8, -1):
            given = {name: getattr(a, name).copy() for name in ("data", "indices", "indptr")}
            given[field][1] = wrong
            with pytest.raises(IndexError, match=error):
                sparse_product_op.run(
                    *given.values(), np.zeros(2, int), np.ones(3), shape=(3, 3), transposed=False
                )
    text = fg.to_json(fg.trace(lambda x: a @ x, np.ones(3)))
    with pytest.raises(ValueError, match="expected operands and params that fit"):
        fg.from_json(text.replace('["shape", [3, 3]]', '["shape", [9, 3]]'))


def test_entries_of_a_sparse_product_have_derivatives():
    data, indices, starts, rows = (
        np.array([1.0, 2.0, 3.0]),
        np.array([0, 2, 1]),
        np.array([0, 2, 3]),
        np.array([0, 0, 1]),
    )
    for transposed, n in ((False, 3), (True, 2)):
        for x in (np.arange(1.0, 1 + n), np.arange(2.0 * n).reshape(n, 2)):
            f = partial(_product_by_entries, indices, starts, rows, transposed)
            fg.check_grads(f, (data, x), order=2)
            both = fg.vmap(f)(np.stack([data, 2 * data]), np.stack([x, x]))
            np.testing.assert_allclose(both[1], 2 * f(data, x))


TAKES_STORES = {
    "toarray": lambda a: a.toarray(),
    "diagonal": lambda a: a.diagonal(),
    "data": lambda a: 2.0 * a.data,
    "copy of data": lambda a: a.todia().data[::-1].copy(),
    "product": lambda a: a @ np.ones(3),
    "product of a row": lambda a: np.ones(3) @ a,
    "dot": lambda a: a.T.dot(np.ones(3)),
    "sum": lambda a: np.asarray(a.sum(axis=0)).ravel(),
    "find": lambda a: scipy.sparse.find(a)[2],
    "product of two": lambda a: (a.T @ a).toarray(),
}


@pytest.mark.parametrize("name", TAKES_STORES)
@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array"])
def test_plain_arrays_of_a_matrix_take_traced_values(kind, name):
    def f(x):
        made = TAKES_STORES[name](getattr(scipy.sparse, kind)(DENSE))
        made[1] = x * x
        return np.sum(np.cos(made) * made)

    value, slope = fg.value_and_grad(f)(0.7)
    np.testing.assert_allclose(value, f(0.7), rtol=1e-14)
    expected = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, expected, rtol=1e-8)
    np.testing.assert_allclose(fg.jit(f)(0.7), value, rtol=1e-14)
    np.testing.assert_allclose(fg.jvp(f, (0.7,), (1.0,))[1], slope, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(f)(np.array([0.7, 0.2])), [f(0.7), f(0.2)], rtol=1e-13)


def test_the_entries_of_a_plain_matrix_are_numbers():
    def numbers(x):
        a = scipy.sparse.csr_matrix(DENSE)
        a.data[0] = 7.0
        a.data *= 2.0
        return np.sum(a @ np.ones(3)) * x

    assert fg.value_and_grad(numbers)(2.0) == (numbers(2.0), numbers(1.0))

    def traced(x):
        a = scipy.sparse.csr_matrix(DENSE)
        a.data[0] = x
        return np.sum(a @ np.ones(3))

    with pytest.raises(TypeError, match=r"write b = a\.copy\(\) in the function"):
        fg.grad(traced)(2.0)

    def diagonal(x):
        a = scipy.sparse.csr_matrix(DENSE)
        a.setdiag(x)
        return np.sum(a @ np.ones(3))

    with pytest.raises(TypeError, match=r"write A = A\.tolil\(\)"):
        fg.grad(diagonal)(2.0)


def test_plain_right_sides_in_functions_that_are_differentiated():
    def f(x):
        return x * solvers.splu(scipy.sparse.csc_array(DENSE)).solve(np.ones(DENSE.shape[0])).sum()

    assert fg.grad(f)(2.0) == f(1.0)
