"""Sparse matrices with traced entries: SciPy's of plain ones, and dense matrices, are the oracles."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as solvers
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.scipy.sparse as own
from tests.default_slice import examples, one_in
from tests.scipy.derivative_check import check_function

ONES, B = np.ones(5), np.arange(1.0, 6.0)
PLAIN = sp.csr_matrix(np.array([[1.0, 2.0], [0.0, 3.0]]))


def central(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


def laplacian(k, n=5):
    return sp.diags([np.full(n - 1, -k), np.full(n, 2 + k * k), np.full(n - 1, -1.0)], [-1, 0, 1])


def by_entries(k):
    a = sp.lil_matrix((4, 4))
    for i in range(4):
        a[i, i] = 2 + k
        if i:
            a[i, i - 1] = -k * i
            a[i - 1, i] += k
    a[0, :] = 0
    a[0, 0] = k
    a[2, 1:3] = [k, 1.0]
    a = a.tocsr()
    return (a @ np.arange(1.0, 5.0)) @ np.array([1, k, 2, 3.0]) + a[1, 2] * a[3].sum()


def by_keys(k):
    a = sp.dok_matrix((3, 3))
    a[0, 1] = k
    a[1, 2] = k * k
    a[0, 1] += 1
    return (a.tocsc() @ a.tocsc().T).sum() + a.nnz


def of_a_constant(k):
    a = sp.eye(3, format="csr").tolil()
    a[1, 0] = k
    a.setdiag(k * np.ones(3))
    return (a.tocsr() @ np.ones(3)).sum() * a[1, 0]


def finite_elements(k):
    n, rows, columns, values = 6, [], [], []
    for e in range(n - 1):
        element = k * (e + 1) * np.array([[1, -1], [-1, 1.0]]) + 0.1 * np.eye(2)
        for i in range(2):
            for j in range(2):
                rows.append(e + i)
                columns.append(e + j)
                values.append(element[i, j])
    stiff = sp.coo_matrix((values, (rows, columns)), shape=(n, n)).tocsr()
    free, u = np.arange(1, n), np.zeros(n)
    right = np.ones(n - 1) - stiff[free, :][:, [0]].toarray().ravel() * k
    u[free] = solvers.spsolve(stiff[free][:, free], right)
    return u.sum() + stiff.max()


def heat(k):
    n, u = 6, np.sin(np.arange(6.0))
    step = sp.eye(n) - 0.1 * k * sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n, n))
    for _ in range(4):
        u = solvers.spsolve(step.tocsc(), u)
    return u @ u


def blocks(k):
    rows = [[0, k], [1, 0], [0, 2.0]]
    a, b = sp.diags([k * np.ones(3)], [0]), sp.csr_matrix(np.array(rows))
    whole = sp.bmat([[a, rows], [b.T, None]]).tocsr()
    found = (whole @ np.arange(5.0)) @ np.arange(5.0) + sp.hstack([a, a]).sum()
    return found + sp.vstack([a, sp.eye(3)]).tocsr()[3:].sum() + sp.block_diag([a, [[k]]]).trace()


def products(k):
    d, one = sp.diags([1.0, -2 * k, 1.0], [-1, 0, 1], shape=(3, 3)), sp.identity(3)
    u = np.sin(np.arange(9.0))
    return u @ ((sp.kron(d, one) + sp.kron(one, d)) @ u) + sp.kronsum(d, d).toarray()[1].sum()


def graph(k):
    w = sp.csr_array(np.array([[0, k, 0], [k, 0, 1.0], [0, 1.0, 0]]))
    d = w.sum(axis=1)
    root, x = sp.diags_array(1 / np.sqrt(d)), np.array([1.0, k, 3.0])
    return x @ ((sp.diags_array(d) - w) @ x) + (root @ w @ root).toarray().sum()


def entrywise(k):
    a = sp.csr_array(np.array([[1.0, k], [0, k * k]]))
    parts = [
        a * a,
        (a / 2).power(2),
        a.multiply(np.array([k, 2.0])),
        (a - a.T) ** 2,
        a.sqrt(),
        a.tanh(),
    ]
    return (
        sum(part.sum() for part in parts) + abs(-a).mean() + a.max() + np.sqrt(a).sum() + np.sum(a)
    )


def of_plain(k):
    found = ((k * PLAIN) @ np.ones(2)).sum() + ((PLAIN * k + PLAIN / k) @ np.array([k, 1.0])).sum()
    return found + (PLAIN @ sp.diags([k, 2.0])).toarray()[0, 0] + (sp.diags([k, 2.0]) @ PLAIN).sum()


def from_the_left(k):
    a, x = sp.diags([k * np.ones(3)], [0]).tocsr(), np.array([1.0, 2.0, k])
    return (
        x @ a @ x
        + a.dot(x).sum()
        + (np.ones((2, 3)) @ a).sum()
        + (np.eye(3) - a + a.toarray()).sum()
    )


def triangles(k):
    a = sp.csr_matrix(np.arange(1.0, 10.0).reshape(3, 3) * k)
    low = sp.tril(a).tocsr()
    found = solvers.spsolve_triangular(low, np.array([1.0, k, 2.0])).sum()
    rows, columns, values = sp.find(sp.triu(a, 1))
    return found + values @ (rows + columns) + solvers.norm(a) + solvers.norm(a, 1)


def parts_of_csr(k):
    a = sp.csr_matrix((np.array([k, 2.0, k * k]), [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3))
    again = sp.csr_matrix((a.data * 2, a.indices, a.indptr), shape=a.shape)
    column = again.tocsc()
    third = sp.csc_matrix((column.data, column.indices, column.indptr), shape=column.shape)
    return (
        (third.T @ np.array([1.0, 2.0, 3.0])).sum() + again.getrow(0).sum() + again.getcol(1).sum()
    )


def stores_into_entries(k):
    a = sp.csc_matrix(([1.0, k, k * k], ([0, 0, 1], [0, 1, 1])))
    a.data[1] = 3 * k
    a.data *= 2
    same, other = a.tocsc(), a.copy()
    same[0, 0] = k
    other.data[:] = 0
    a *= 2.0
    b = a.tocsr()
    b.data = b.data[::-1] + k
    return (
        (a @ np.array([1.0, 2.0])).sum() + (b @ np.array([k, 2.0])).sum() + same.sum() + other.sum()
    )


def factors(k):
    lu = solvers.splu((sp.eye(4) * (2 + k) + sp.diags([k * np.ones(3)], [1])).tocsc())
    x = lu.solve(np.arange(4.0))
    return x @ lu.solve(x, "T") + solvers.factorized((sp.eye(2) * k).tocsc())(np.ones(2)).sum()


PROGRAMS = {
    "product": lambda k: (laplacian(k).tocsc() @ B) @ np.cos(B),
    "numbers on diagonals": lambda k: (sp.diags([-k, 2.0], [-1, 0], shape=(5, 5)) @ B).sum(),
    "one diagonal": lambda k: (sp.diags(k * B, 1) @ np.ones(6)).sum(),
    "spdiags": lambda k: (sp.spdiags(np.array([k * B, B]), [0, 1], 5, 5) @ np.cos(B)).sum(),
    "repeated places": lambda k: (
        (
            sp.coo_matrix(
                ([k, k * k, 3.0, 1.0], ([0, 1, 1, 0], [2, 0, 1, 2])), shape=(3, 3)
            ).tocsr()
            ** 2
        )
        .toarray()[0]
        .sum()
    ),
    "inverse": lambda k: solvers.inv(sp.csc_matrix(np.array([[2.0, k], [k * k, 3.0]]))).sum(),
    "exponential": lambda k: solvers.expm(sp.csc_matrix(np.array([[0.3, k], [k * k, 0.1]]))).sum(),
    "an operator": lambda k: solvers.aslinearoperator(laplacian(k)).matvec(B).sum(),
    "product with an exponential": lambda k: solvers.expm_multiply(laplacian(k).tocsc(), B).sum(),
    "solution": lambda k: solvers.spsolve(laplacian(k).tocsc(), k * B) @ np.cos(B),
    "of columns": lambda k: np.sum(
        solvers.spsolve(
            sp.csc_matrix(np.array([[2.0, k], [k * k, 3.0]])), np.array([[1.0, k], [2, 1.0]])
        )
        * np.array([[1.0, 2.0], [3.0, 4.0]])
    ),
    "conjugate gradients": lambda k: (
        solvers.cg(sp.diags([-k, 2 + k, -k], [-1, 0, 1], shape=(5, 5)).tocsr(), B, rtol=1e-13)[0]
        @ np.cos(B)
    ),
    **{
        f.__name__: f
        for f in (
            *(by_entries, by_keys, of_a_constant, finite_elements, heat, blocks, products, graph),
            *(entrywise, of_plain, from_the_left, triangles, parts_of_csr, factors),
            stores_into_entries,
        )
    },
}


@pytest.mark.parametrize("name", one_in(2, PROGRAMS))
def test_programs_that_assemble_sparse_matrices(name):
    f = PROGRAMS[name]
    value, slope = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-12)
    assert slope == pytest.approx(central(f, 0.7), rel=1e-6, abs=1e-8)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-11)
    bend = fg.jvp(fg.grad(f), (0.7,), (1.0,))[1]
    assert bend == pytest.approx(central(fg.grad(f), 0.7), rel=1e-5, abs=1e-6)
    compiled = fg.jit(fg.value_and_grad(f))
    assert compiled(0.7) == pytest.approx((value, slope), rel=1e-11)
    assert compiled(1.1)[0] == pytest.approx(f(1.1), rel=1e-11)
    np.testing.assert_allclose(fg.vmap(f)(np.array([0.7, 1.1])), [f(0.7), f(1.1)], rtol=1e-11)


WHICH = {
    "largest": {},
    "least": {"which": "SM"},
    "ends": {"which": "BE"},
    "near": {"sigma": 2.0},
    "near, on both sides": {"sigma": 2.0, "which": "BE"},
}


@pytest.mark.parametrize("name", WHICH)
def test_a_few_eigenvalues(name):
    def f(k):
        a = laplacian(k)
        values, vectors = solvers.eigsh((a + a.T).tocsc(), 3, **WHICH[name])
        return values @ np.arange(1.0, 4.0) + np.sum(vectors[:2] ** 2 * values)

    value, slope = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-10)
    assert slope == pytest.approx(central(f, 0.7), rel=1e-5)
    assert fg.jit(f)(1.1) == pytest.approx(f(1.1), rel=1e-10)


def test_both_ends_are_asked_for_of_real_matrices():
    a = np.diag([1.0, 2.0, 3.0, 4.0]) + 0j
    with pytest.raises(ValueError, match="expected a real matrix for which='BE'"):
        fg.grad(lambda t: solvers.eigsh(a * t, 2, which="BE")[0][0])(1.0)


OF_PAIRS = {
    "least": {"which": "SM"},
    "of least sign": {"which": "SA"},
    "largest": {"which": "LM"},
    "near": {"sigma": 0.4},
    "cayley": {"sigma": 0.4, "mode": "cayley"},
}


@pytest.mark.parametrize("mass", [False, True])
@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("name", OF_PAIRS)
def test_eigenvalues_of_pairs_of_matrices_in_the_order_of_scipy(name, vectors, mass):
    def f(k):
        off = 0.3 * k * np.cos(np.arange(5.0))
        a = sp.diags([off, 2.0 * np.sin(np.arange(6.0)), off], [-1, 0, 1]).tocsc()
        m = sp.diags([np.linspace(1.0, 2.0, 6) * k], [0]).tocsc() if mass else None
        found = solvers.eigsh(a, 3, m, return_eigenvectors=vectors, **OF_PAIRS[name])
        values = found[0] if vectors else found
        return values @ np.arange(1.0, 4.0) + (np.sum(found[1] ** 2 * values) if vectors else 0.0)

    value, slope = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-10)
    assert slope == pytest.approx(central(f, 0.7), rel=1e-5)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-10)
    assert fg.jit(f)(1.1) == pytest.approx(f(1.1), rel=1e-10)


@pytest.mark.parametrize("which", ["LM", "SM"])
def test_a_few_singular_values(which):
    def f(k):
        u, s, vh = solvers.svds(laplacian(k).tocsc(), 2, which=which)
        alone = solvers.svds(laplacian(k).tocsc(), 2, which=which, return_singular_vectors=False)
        return s @ np.array([1.0, 2.0]) + np.sum(u[:2] ** 2 * s) + np.sum(vh[:, 0] ** 2) + alone[0]

    value, slope = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-8)
    assert slope == pytest.approx(central(f, 0.7), rel=1e-5)


# -- random programs against dense matrices ----------------------------------------------------------
STEPS = {
    "transpose": lambda a: a.T,
    "scale": lambda a: a * 0.7,
    "negative": lambda a: -a,
    "double": lambda a: a + a,
    "minus transpose": lambda a: a - 0.5 * a.T,
    "square": lambda a: a @ a,
    "rows": lambda a: a[[2, 0, 1]],
    "columns": lambda a: a[:, ::-1],
    "slice": lambda a: a[1:, :][[0, 1, 0]],
    "mask": lambda a: a[np.array([True, True, True])],
}
SPARSE = {
    "csc": lambda a: a.tocsc(),
    "coo": lambda a: a.tocoo().tocsr(),
    "lil": lambda a: a.tolil().tocsr(),
}


@settings(max_examples=examples(40), derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=7),
    st.lists(st.sampled_from([*STEPS, *SPARSE]), max_size=5),
    st.sampled_from(["csr_array", "csc_array", "csr_matrix"]),
)
def test_random_programs_are_those_of_dense_matrices(places, steps, name):
    rows, columns = np.array([*places, (0, 0)]).T
    weights = np.cos(np.arange(9.0)).reshape(3, 3)

    def of_sparse(v):
        a = getattr(sp, name)((v, (rows, columns)), shape=(3, 3))
        for step in steps:
            a = (STEPS | SPARSE)[step](a)
        return np.sum(weights * np.asarray(a.toarray())) + (a @ np.arange(3.0)).sum()

    def of_dense(v):
        a = np.zeros((3, 3))
        np.add.at(a, (rows, columns), v)
        for step in steps:
            a = STEPS.get(step, lambda a: a)(a)
        return np.sum(weights * a) + (a @ np.arange(3.0)).sum()

    v = 0.3 + 0.1 * np.arange(len(rows))
    value, slope = fg.value_and_grad(of_sparse)(v)
    expected, expected_slope = fg.value_and_grad(of_dense)(v)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(slope, expected_slope, rtol=1e-10, atol=1e-12)


# -- classes and refusals ----------------------------------------------------------------------------
def test_classes_are_asked_for():
    def f(k):
        a = sp.lil_matrix((2, 2))
        assert isinstance(a, sp.lil_matrix)
        assert not isinstance(a, sp.lil_array)
        a[0, 0] = k
        a = a.tocsr()
        assert isinstance(a, sp.csr_matrix)
        assert not isinstance(a, sp.csr_array | sp.csc_matrix)
        assert sp.issparse(a)
        assert sp.isspmatrix(a)
        assert (a.shape, a.nnz, a.ndim, a.format) == ((2, 2), 1, 2, "csr")
        assert "holds traced values" in repr(a)
        return a.sum()

    assert fg.grad(f)(2.0) == 1.0


def test_matrices_that_are_written_with_plain_numbers_are_scipys_again():
    def f(k):
        a = sp.lil_matrix((3, 3))
        a[0, 1] = 2.0
        a = a.tocsc()
        return (a @ np.array([k, k * k, 1.0])).sum() + a.nnz + len(a.indptr)

    assert fg.value_and_grad(f)(3.0) == (2 * 9.0 + 1 + 4, 12.0)


def test_numbers_of_entries_are_scipys():
    def f(k):
        a = sp.csr_matrix(np.array([[k, 0, 1.0], [0, k - k, 2.0]]))
        d, low = sp.diags([k * np.arange(3.0)], [0]), sp.lil_matrix((2, 2))
        low[0, 0] = k
        low[0, 0] = 0 * k
        counts = [
            a.nnz,
            (a - a).nnz,
            (a @ a.T).nnz,
            d.nnz,
            d.tocsr().nnz,
            low.nnz,
            (2 * a).getnnz(),
        ]
        rows = a.nonzero()[0]
        return a.sum() * np.sum(np.array(counts) * np.arange(1, 8)) + rows.sum() * k

    value, slope = fg.value_and_grad(f)(2.0)
    assert value == f(2.0)
    assert slope == pytest.approx(central(f, 2.0), rel=1e-8)
    assert fg.grad(lambda k: (sp.csr_matrix(k * np.ones((2, 2))) @ np.ones(2)).sum())(0.0) == 4.0


@pytest.mark.parametrize(
    "made",
    [
        lambda k: sp.coo_matrix(([k, 2.0, 3.0], ([1, 0, 1], [0, 1, 1]))),
        lambda k: sp.coo_matrix(([k, 2.0, 3.0], ([0, 0, 1], [1, 1, 1]))),
        lambda k: sp.csr_matrix(([k, 2.0, 3.0], [1, 0, 1], [0, 2, 3])),
        lambda k: sp.csc_matrix(([k, 2.0, 3.0], [1, 0, 1], [0, 2, 3])),
        lambda k: sp.vstack([sp.csr_matrix([[k, 2.0]]), sp.eye(2)]),
        lambda k: sp.diags([k * np.ones(2)], [0]),
    ],
)
def test_entries_in_another_order_than_scipys_are_refused(made):
    with pytest.raises(TypeError, match="expected entries in the order of rows or columns"):
        fg.grad(lambda k: made(k).data[0])(4.0)

    def in_order(k):
        a = made(k).tocsr()
        a.sum_duplicates()
        return a.data @ (1.0 + np.arange(a.nnz)) + a.indices @ a.data + made(k).nnz

    assert fg.value_and_grad(in_order)(4.0)[0] == in_order(4.0)
    assert fg.grad(in_order)(4.0) == pytest.approx(central(in_order, 4.0), rel=1e-8)


def test_dtypes_are_scipys():
    def f(k):
        a = sp.lil_matrix((2, 2), dtype=int)
        a[0, 0] = k
        a[1, :] = [k, 2 * k]
        parts = [
            a.tocsr().sum() + a[0, 0],
            sp.csr_matrix(k * np.eye(2), dtype=int).sum(),
            sp.diags([k, 1.5], [0, 1], shape=(2, 2), dtype=int).sum(),
            sp.vstack([sp.csr_matrix([[k]]), sp.eye(1)], dtype=int).sum(),
            sp.eye(2, dtype=int, format="csr").tolil().tocsr().sum(),
        ]
        return sum(parts) + k

    assert fg.value_and_grad(f)(2.7) == (f(2.7), 1.0)


def test_a_matrix_from_outside_stays_as_it_is():
    outside = sp.csr_matrix(([1.0, 2.0, 4.0, 3.0], [1, 0, 1, 0], [0, 3, 4]), shape=(2, 2))
    before = [part.copy() for part in (outside.data, outside.indices, outside.indptr)]
    assert fg.grad(lambda k: ((outside * k + k * outside) @ np.ones(2)).sum())(2.0) == 20.0
    for part, old in zip((outside.data, outside.indices, outside.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("infinite", [np.inf, -np.inf, np.nan])
def test_places_that_scipy_does_not_hold_stay_zero_beside_what_is_not_finite(infinite):
    x = np.array([infinite, 1.0])

    def f(k):
        a = sp.csr_matrix(k * np.array([[0.0, 2.0], [1.0, 0.0]]))
        return (a @ x)[0] + a.multiply(np.array([[infinite, 1.0], [1.0, 1.0]])).sum()

    assert fg.value_and_grad(f)(2.0) == (f(2.0), 5.0)
    g = lambda k: (sp.csr_matrix(k * np.eye(2)) * infinite).toarray()[0, 1] + k  # noqa: E731
    assert fg.value_and_grad(g)(2.0) == (g(2.0), 1.0)


def test_comparisons_are_scipys():
    def f(k):
        a = sp.csr_matrix(np.array([[k, 1.0], [1.0, 0]]))
        found = [a != a.T, a != 2 * a, a > 1.5, a != PLAIN, a > np.ones((2, 2))]
        counts = [np.sum(each) for each in found] + [np.sum(PLAIN != a)]  # noqa: SIM300
        return a.sum() * np.sum(np.array(counts) * np.arange(1, 7))

    value, slope = fg.value_and_grad(f)(2.0)
    assert value == f(2.0)
    assert slope == pytest.approx(central(f, 2.0), rel=1e-8)


def test_complex_entries():
    def f(k):
        a = sp.diags([1j * k * np.ones(2), 2 + k * np.ones(3)], [1, 0]).tocsc()
        return (
            np.real(np.sum(solvers.spsolve(a, np.arange(3.0)) ** 2))
            + abs(a).sum()
            + a.conj().imag.sum()
        )

    value, slope = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-13)
    assert slope == pytest.approx(central(f, 0.7), rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (
            lambda k: (sp.diags([k, 1.0], [0, 1], shape=(2, 2)) + k).sum(),
            NotImplementedError,
            "nonzero scalar",
        ),
        (lambda k: sp.csr_matrix(([k], ([3], [0])), shape=(2, 2)).sum(), ValueError, "within"),
        (lambda k: (sp.diags([k * np.ones(2)], [0]) @ np.ones(3)).sum(), ValueError, "with 2 rows"),
        (
            lambda k: (sp.diags([k * np.ones(2)], [0]) + sp.eye(3)).sum(),
            ValueError,
            "inconsistent shapes",
        ),
        (
            lambda k: sp.diags([k * np.ones(2), k * np.ones(3)], [0, 5], shape=(2, 2)).sum(),
            ValueError,
            "Offset 5",
        ),
        (
            lambda k: sp.diags([k * np.ones(4)], [0], shape=(2, 2)).sum(),
            ValueError,
            "does not agree",
        ),
        (
            lambda k: sp.diags([k * np.ones(4)], [0]).resize(3, 3),
            AttributeError,
            r"write A\.toarray\(\)",
        ),
        (
            lambda k: sp.bsr_matrix(k * np.ones((2, 2, 2))).sum(),
            TypeError,
            "bsr_matrix: expected a matrix",
        ),
        (
            lambda k: sp.csr_matrix(np.array([[k, 0], [0, k]])).data.sum(),
            TypeError,
            "SciPy drops the others",
        ),
        (lambda k: sp.coo_matrix(([k], ([0], [0]))).row.fill(1), ValueError, "read-only"),
        (lambda k: solvers.eigsh(k * sp.eye(5000), 2)[0].sum(), ValueError, "at most 4096 rows"),
        (
            lambda k: solvers.eigsh(k * sp.eye(5), 2, sp.eye(5), sigma=1.0, mode="buckling")[
                0
            ].sum(),
            TypeError,
            "mode 'normal' or 'cayley'",
        ),
        (
            lambda k: solvers.eigsh(k * sp.eye(5), 2, which="L")[0].sum(),
            ValueError,
            "which must be",
        ),
        (lambda k: (sp.csr_matrix(k * np.eye(2)) ** -1).sum(), ValueError, "power of 0 or more"),
        (
            lambda k: sp.csr_array(k * np.eye(2)).power(0).sum(),
            NotImplementedError,
            "other than zero",
        ),
        (lambda k: sp.csr_matrix(k * np.eye(2), (3, 3)).sum(), ValueError, "inconsistent shapes"),
        (
            lambda k: (sp.csr_matrix(k * np.eye(2)) / 0.0).sum(),
            ZeroDivisionError,
            "division by zero",
        ),
        (
            lambda k: np.exp(sp.csr_matrix(k * np.eye(2))).sum(),
            TypeError,
            r"write np\.exp\(A\.toarray",
        ),
        (
            lambda k: np.log(sp.csr_matrix(k * np.eye(2))).sum(),
            TypeError,
            "a function that is 0 at 0",
        ),
        (lambda k: PLAIN.__setitem__((0, 0), k), TypeError, r"write A = A\.tolil\(\)"),
        (
            lambda k: solvers.spsolve_triangular(
                sp.csr_matrix(k * np.ones((2, 2))), np.ones(2)
            ).sum(),
            ValueError,
            "expected a lower triangular matrix",
        ),
    ],
)
def test_what_is_wrong_is_refused(wrong, error, match):
    with pytest.raises(error, match=match):
        fg.grad(fg.adopt(wrong))(1.0)


def test_without_adoption():
    f = lambda k: (own.diags([k, 1.0], [0, 1], shape=(3, 3)) @ np.arange(3.0)).sum()  # noqa: E731
    assert fg.grad(fg.adopt(f, False))(2.0) == 3.0


def _by_traced_conditions(x):
    chosen = np.abs(x) > 0.1
    places, values = np.arange(3)[chosen], x[chosen]
    made = sp.coo_matrix((values**2, (places, places)), shape=(3, 3))
    return (made @ np.arange(1.0, 4.0)).sum()


def test_coordinates_that_traced_conditions_choose():
    x = np.array([1.0, 0.0, 2.0])
    assert fg.value_and_grad(_by_traced_conditions)(x)[0] == _by_traced_conditions(x)
    assert fg.grad(_by_traced_conditions)(x).tolist() == [2.0, 0.0, 12.0]
    compiled = fg.jit(fg.grad(_by_traced_conditions))
    assert compiled(x).tolist() == [2.0, 0.0, 12.0]
    assert compiled(x[::-1].copy()).tolist() == [4.0, 0.0, 6.0]
    assert fg.jvp(_by_traced_conditions, (x,), (np.ones(3),))[1] == 14.0
    assert fg.vmap(_by_traced_conditions)(np.stack([x, x + 1])).tolist() == [13.0, 33.0]


CSC = sp.csc_array(np.array([[3.0, 2.0, 0.0], [1.0, -1.0, 0.0], [0.0, 5.0, 1.0]]))
RIGHT = sp.csc_array(np.array([[2.0, 0.0], [-1.0, 0.0], [2.0, 0.0]]))
INDICES, STARTS = np.array([0, 2, 2, 0, 1, 2]), np.array([0, 2, 3, 6])
BLOCKS = 1.0 + np.arange(36.0).reshape(6, 2, 3)
SPARSE_RIGHT_SIDES = {
    "both": lambda x: solvers.spsolve(CSC * x[0], RIGHT * x[1]).toarray(),
    "the right side": lambda x: solvers.spsolve(CSC, RIGHT * x[1]).toarray(),
    "the matrix": lambda x: solvers.spsolve((CSC * x[0]).tocsr(), RIGHT).toarray(),
    "a dense matrix": lambda x: solvers.spsolve(CSC.toarray() * x[0], RIGHT).toarray(),
    "one column": lambda x: solvers.spsolve(CSC * x[0], RIGHT[:, [0]] * x[1]),
    "one dense column": lambda x: solvers.spsolve(CSC * x[0], x[:, None] * x[0]),
    "a triangle": lambda x: solvers.spsolve_triangular(
        sp.csc_array(np.tril(CSC.toarray()) * x[0]), RIGHT.toarray() * x[1]
    ),
    "an upper triangle": lambda x: solvers.spsolve_triangular(
        sp.csr_array(np.triu(CSC.toarray()) * x[0]), x, lower=False
    ),
}


@pytest.mark.filterwarnings("ignore:.*CSC")
@pytest.mark.parametrize("case", SPARSE_RIGHT_SIDES)
def test_sparse_right_sides(case):
    check_function(SPARSE_RIGHT_SIDES[case], [0.7, 1.3, -0.4], value_rtol=1e-14)


def test_the_form_of_a_sparse_solution():
    def form(x):
        found = [
            solvers.spsolve(matrix, RIGHT * x)
            for matrix in (CSC * x, sp.csr_matrix(CSC), CSC.tocsr(), CSC.toarray() * x)
        ]
        forms.append([a.format for a in found])
        return sum([a.sum() for a in found])

    forms = []
    with pytest.warns(sp.SparseEfficiencyWarning):
        form(1.0)
    fg.grad(form)(1.0)
    assert forms[0] == forms[1] == ["csc", "csr", "csr", "csc"]


@pytest.mark.parametrize("make", [sp.bsr_array, sp.bsr_matrix])
@pytest.mark.parametrize("shape", [None, (6, 12)])
def test_blocks(make, shape):
    def f(x):
        a = make((BLOCKS * x[0], INDICES, STARTS), shape=shape)
        again = make((BLOCKS * x[1], INDICES // 2, STARTS), shape=shape)  # blocks at one place
        b = np.cos(np.arange(a.shape[1])) * x[0]
        return np.concatenate([a @ b, a.tocsr().data, np.ravel(again.toarray())])

    check_function(f, [0.7, 1.3], value_rtol=1e-14)


@pytest.mark.parametrize("kind", [sp.lil_matrix, sp.dok_matrix, sp.lil_array, sp.dok_array])
def test_an_entry_that_held_a_number_is_added_to(kind):
    """It was read as an array without axes, which refused the sum."""

    def f(x):
        m = kind((2, 2))
        m[0, 1] = 2.0
        m[0, 1] += x
        m[0, 1] *= x
        m[1, 1] += 3.0
        return m.tocsr().sum()

    assert fg.value_and_grad(f)(1.5) == (8.25, 5.0)


def test_blocks_of_a_dense_matrix():
    dense = np.array([[1.0, 0.5, 2.0], [0.3, 1.5, 0.2]])
    for kind in (sp.bsr_array, sp.bsr_matrix):
        found = fg.grad(lambda a, kind=kind: np.sum(kind(a).toarray() ** 2))(dense)
        np.testing.assert_array_equal(found, 2 * dense)
