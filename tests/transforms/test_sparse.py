"""Sparse derivatives against dense ones: complex steps, finite differences, and NaNs that spread."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import scipy.special
from hypothesis import example, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.ops.base.op import Op
from funcgrad.ops.base.promotion import same_type
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.trace.skeleton import skeleton
from funcgrad.transforms.sparse import propagation as paths
from funcgrad.transforms.sparse import sparse_jacobian as sparse
from funcgrad.transforms.sparse.sparse_jacobian import (
    coloring,
    sparse_hessian,
    sparse_jacobian,
    sparsity,
)
from tests.default_slice import examples, one_in
from tests.ops.samples import SAMPLES, call


def complex_step(f, x):
    """The Jacobian of an analytic f, to the last digits."""
    columns = []
    for j in range(x.size):
        z = x.astype(complex).ravel()
        z[j] += 1e-30j
        columns.append(np.ravel(f(z.reshape(x.shape))).imag / 1e-30)
    return np.stack(columns, axis=1)


def differences(f, x, h=1e-6):
    columns = []
    for j in range(x.size):
        step = np.zeros(x.size)
        step[j] = h
        ahead, behind = f(x + step.reshape(x.shape)), f(x - step.reshape(x.shape))
        columns.append(np.ravel(ahead - behind) / (2 * h))
    return np.stack(columns, axis=1)


def reach_of_nan(f, x):
    """Which entries of the result become NaN with each entry of x: what depends on what."""
    columns = []
    for j in range(x.size):
        z = x.ravel().copy()
        z[j] = np.nan
        with np.errstate(all="ignore"):
            columns.append(np.isnan(np.ravel(f(z.reshape(x.shape)))))
    return np.stack(columns, axis=1)


RNG = np.random.default_rng(7)
INDEX = RNG.integers(0, 6, 9)
DENSE = RNG.normal(size=(4, 6))
HALVES = np.where(np.arange(6) % 2 == 0, 1.0, 0.0)
BAND = np.diag(np.ones(6)) + np.diag(np.ones(5), 1)

EXACT = {
    "elementwise": lambda x: np.sin(x) * np.exp(x) + 3,
    "slices": lambda x: x[1:-1] * x[2:] - x[:-2] ** 2,
    "gather": lambda x: x[INDEX] ** 2,
    "concatenate": lambda x: np.concatenate([x[3:], np.zeros(2), x[:2] ** 2]),
    "reshape and transpose": lambda x: np.reshape(x, (2, 3)).T.ravel() ** 3,
    "flip and roll": lambda x: np.roll(x, 2) * np.flip(x),
    "broadcast": lambda x: np.reshape(x, (6, 1)) * np.ones((1, 3)),
    "outer": lambda x: np.outer(x[:2], x[2:]),
    "sum over an axis": lambda x: np.sum(np.reshape(x, (2, 3)) ** 2, axis=1),
    "max over an axis": lambda x: np.max(np.reshape(x, (2, 3)), axis=0),
    "prod over an axis": lambda x: np.prod(np.reshape(x, (2, 3)), axis=0),
    "mean taken off": lambda x: x - np.mean(x),
    "cumsum": lambda x: np.cumsum(np.reshape(x, (2, 3)), axis=1),
    "cumsum of columns": lambda x: np.cumsum(np.reshape(x, (3, 2)), axis=0),
    "matrix times vector": lambda x: DENSE @ x,
    "vector times matrix": lambda x: x[:4] @ DENSE,
    "matrix times matrix": lambda x: np.reshape(x, (2, 3)) @ np.reshape(x, (3, 2)),
    "stack of matrices": lambda x: np.matmul(np.ones((2, 2, 3)), np.reshape(x, (1, 3, 2))),
    "einsum": lambda x: np.einsum("ij,kj->ki", np.reshape(x, (2, 3)), np.ones((4, 3))),
    "repeat and tile": lambda x: np.repeat(x, 2) * np.tile(x, 2),
    "branch by where": lambda x: np.where(np.arange(6) < 3, x, x**2),
    "whole": lambda x: np.sum(x**2) * x[:2],
    "scalar": lambda x: x[0] * x[3] + x[5],
}


@pytest.mark.parametrize("name", EXACT)
def test_pattern_is_exact(name):
    x = np.linspace(0.3, 1.7, 6)
    assert np.array_equal(sparsity(EXACT[name], x).toarray(), reach_of_nan(EXACT[name], x))


@pytest.mark.parametrize("name", EXACT)
def test_jacobian_is_the_dense_one(name):
    x = np.linspace(0.3, 1.7, 6)
    oracle = differences if "max" in name else complex_step
    tolerance = 1e-8 if "max" in name else 1e-14
    found = sparse_jacobian(EXACT[name])(x)
    assert isinstance(found, sp.csr_array)
    assert found.has_sorted_indices
    np.testing.assert_allclose(found.toarray(), oracle(EXACT[name], x), rtol=tolerance, atol=1e-9)


# Zeros of constants count, so the oracle is the value of the Jacobian.
ZEROS = {
    "banded matrix": lambda x: BAND @ x**2,
    "matrix from the left": lambda x: x @ BAND,
    "einsum with zeros": lambda x: np.einsum("ij,j->i", BAND, np.sin(x)),
    "einsum of three": lambda x: np.einsum("ij,jk,k->i", BAND, BAND, x),
    "factor with zeros": lambda x: x[::-1] * HALVES,
    "sum of masked rows": lambda x: np.sum(BAND * x, axis=1),
    "upper triangle": lambda x: np.triu(np.outer(x[:3], x[3:])),
    "at.set": lambda x: x.at[np.array([1, 4])].set(x[:2] ** 2) if hasattr(x, "at") else put(x),
    "at.add": lambda x: x.at[np.array([1, 1])].add(x[:2] ** 2) if hasattr(x, "at") else add(x),
    "what cancels": lambda x: (x - x) + x[0],
    "stopped": lambda x: x * fg.stop_gradient(np.flip(x)) if hasattr(x, "at") else None,
}


def put(x):
    y = x.copy()
    y[[1, 4]] = x[:2] ** 2
    return y


def add(x):
    y = x.copy()
    np.add.at(y, np.array([1, 1]), x[:2] ** 2)
    return y


@pytest.mark.parametrize("name", [name for name in ZEROS if name != "stopped"])
def test_zeros_of_constants_are_seen(name):
    x = np.linspace(0.3, 1.7, 6)
    dense = complex_step(ZEROS[name], x)
    assert np.array_equal(sparsity(ZEROS[name], x).toarray(), dense != 0)
    np.testing.assert_allclose(sparse_jacobian(ZEROS[name])(x).toarray(), dense, rtol=1e-14)


def varying(name, args):
    op = all_ops()[name]
    return [k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f" and op.edge(k)]


CASES = [
    (name, i)
    for name in sorted(SAMPLES)
    for i, sample in enumerate(SAMPLES[name])
    if varying(name, sample.args)
    and not any(np.iscomplexobj(a) for a in sample.args)
    # A negative base has no derivative in the exponent: a NaN, which 0 * NaN spreads in the oracle.
    and not (name == "power" and np.min(sample.args[0], initial=1) < 0)
]


@pytest.mark.parametrize(("name", "i"), one_in(3, CASES, start=1))
def test_every_operation_is_covered_and_computed(name, i):
    op, sample = all_ops()[name], SAMPLES[name][i]
    places = varying(name, sample.args)
    run = call(op, sample.params)

    def f(values):
        filled = list(sample.args)
        for k, value in zip(places, values, strict=True):
            filled[k] = value
        z = run(*filled)
        return np.real(z) if z.dtype.kind == "c" else z

    x = [np.asarray(sample.args[k]) for k in places]
    columns = []
    for k, own in enumerate(x):
        for j in range(own.size):
            v = [np.zeros(a.shape, a.dtype) for a in x]
            v[k].flat[j] = 1
            columns.append(np.ravel(fg.jvp(f, (x,), (v,))[1]))
    pattern = sparsity(f, x)
    dense = np.stack(columns, axis=1) if columns else np.zeros(pattern.shape)
    assert not np.any((dense != 0) & ~pattern.toarray())
    np.testing.assert_allclose(sparse_jacobian(f)(x).toarray(), dense, rtol=1e-6, atol=1e-12)


def test_an_operation_that_is_not_known_is_dense():
    unknown = Op(name="unknown", run=np.sort, infer=same_type, edges=all_ops()["sinc"].edges)
    assert sparsity(lambda x: unknown(x)[:2], np.ones(3)).toarray().all()


def test_no_derivative_no_entry():
    x = np.linspace(0.3, 1.7, 6)
    assert np.array_equal(sparsity(ZEROS["stopped"], x).toarray(), np.eye(6, dtype=bool))
    assert sparsity(lambda x: np.floor(x), x).nnz == 0
    assert sparse_jacobian(lambda x: np.argmax(x), 0)(x).shape == (1, 6)


def test_backward_and_forward_patterns_agree():
    x = np.linspace(0.3, 1.7, 6)
    for f in EXACT.values():
        roots, leaves = sparse._traced("test", f, 0, (x,), {})
        inputs, simple, known = sparse._read(skeleton(roots, leaves), 1)
        ahead = paths._forward(simple, inputs[:1], known).toarray()
        assert np.array_equal(ahead, paths._backward(simple, inputs[:1], known).toarray())


# -- random programs -----------------------------------------------------------------------------
N = 8
STEPS = {
    "shift": lambda x, k: np.roll(x, k),
    "square": lambda x, k: x * x,
    "sin": lambda x, k: np.sin(x),
    "gather": lambda x, k: x[(np.arange(N) * (k + 1)) % N],
    "neighbors": lambda x, k: np.concatenate([x[:1], x[1:] - x[:-1]]),
    "grid": lambda x, k: np.reshape(np.reshape(x, (2, 4)).T * (k + 1.5), N),
    "row sums": lambda x, k: np.repeat(np.sum(np.reshape(x, (4, 2)), axis=1), 2),
    "band": lambda x, k: np.diag(np.arange(N) % 2 + 0.5 * (k % 2)) @ x,
    "where": lambda x, k: np.where(np.arange(N) % (k + 2) == 0, x, np.cos(x)),
    "add": lambda x, k: x + x[::-1],
    "cumsum": lambda x, k: np.reshape(np.cumsum(np.reshape(x, (4, 2)), axis=1), N),
}


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 5)), max_size=5))
def test_random_programs(steps):
    def f(x):
        for name, k in steps:
            x = STEPS[name](x, k)
        return x

    x = np.linspace(0.2, 1.1, N)
    dense = complex_step(f, x)
    pattern = sparsity(f, x).toarray()
    assert not np.any((dense != 0) & ~pattern)
    np.testing.assert_allclose(sparse_jacobian(f)(x).toarray(), dense, rtol=1e-10, atol=1e-12)


@settings(max_examples=examples(60))
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**20), st.floats(0.05, 0.6))
def test_colorings_of_random_patterns(rows, columns, seed, density):
    rng = np.random.default_rng(seed)
    dense = rng.random((rows, columns)) < density
    colors = coloring.columns(sp.csr_array(dense))
    for row in dense:
        met = colors[row]
        assert len(set(met.tolist())) == met.size
    square = dense[: min(rows, columns), : min(rows, columns)]
    both = square | square.T | np.eye(len(square), dtype=bool)
    colors = coloring.star(sp.csr_array(both))
    for i, j in np.argwhere(both & ~np.eye(len(both), dtype=bool)):
        assert colors[i] != colors[j]
        alone_in_row = np.sum(colors[both[i]] == colors[j]) == 1
        alone_in_column = np.sum(colors[both[j]] == colors[i]) == 1
        assert alone_in_row or alone_in_column


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 5)), max_size=4))
@example([("square", 0), ("add", 0), ("neighbors", 0), ("cumsum", 0)])
def test_random_hessians(steps):
    def f(x):
        y = x
        for name, k in steps:
            y = STEPS[name](y, k)
        return np.sum(y**3) + np.sum(x[:-1] * np.exp(x[1:]))

    x = np.linspace(0.2, 1.1, N)
    oracle = differences(fg.grad(f), x)
    found = sparse_hessian(f)(x)
    scale = 1 + np.max(np.abs(oracle))
    np.testing.assert_allclose(found.toarray() / scale, oracle / scale, atol=1e-6)
    # What is stored is symmetric; of two entries that cancel, one may be the rounding error.
    found.data[:] = 1.0
    np.testing.assert_array_equal(found.toarray(), found.toarray().T)


# -- what is dense, and what depends on values ---------------------------------------------------
def test_data_dependent_indices_cover_everything():
    x = np.array([3.0, 1.0, 2.0])
    assert sparsity(np.sort, x).toarray().all()
    jacobian = sparse_jacobian(np.sort)
    for point in (x, x[::-1].copy(), x[[1, 0, 2]]):
        np.testing.assert_array_equal(jacobian(point).toarray(), np.eye(3)[np.argsort(point)])


def test_boolean_indices_follow_the_values_of_each_call():
    jacobian = sparse_jacobian(lambda x: x[x > 0] ** 2)
    a, b = np.array([1.0, -1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0, 4.0])
    for x in (a, b, a):
        np.testing.assert_array_equal(jacobian(x).toarray(), np.diag(2 * x)[x > 0])


def test_indices_given_as_data_are_part_of_what_is_kept():
    jacobian = sparse_jacobian(lambda x, index: x[index] ** 2)
    x, index = np.arange(1.0, 5.0), np.array([0, 1, 2])
    for chosen in (index, np.array([3, 3, 0]), index):
        oracle = np.zeros((3, 4))
        oracle[np.arange(3), chosen] = 2 * x[chosen]
        np.testing.assert_array_equal(jacobian(x, chosen).toarray(), oracle)
    index[:] = 3  # changed in place: the address is the same, the pattern is not
    np.testing.assert_array_equal(jacobian(x, index).indices, [3, 3, 3])


def test_zeros_of_a_matrix_given_as_data_are_part_of_what_is_kept():
    jacobian = sparse_jacobian(lambda x, a: a @ x)
    for a in (np.eye(3), np.ones((3, 3)), 2 * np.eye(3)):
        found = jacobian(np.ones(3), a)
        np.testing.assert_array_equal(found.toarray(), a)
        assert found.nnz == np.count_nonzero(a)


def test_condition_on_values_covers_both_branches():
    f = EXACT["elementwise"]

    def g(x):
        return np.where(x > 1, f(x), x[0] * x)

    x = np.linspace(0.3, 1.7, 6)
    assert np.array_equal(sparsity(g, x).toarray(), reach_of_nan(lambda z: f(z) + z[0], x))
    np.testing.assert_allclose(sparse_jacobian(g)(x).toarray(), complex_step_where(f, x))


def complex_step_where(f, x):
    own, other = complex_step(f, x), complex_step(lambda z: z[0] * z, x)
    return np.where((x > 1)[:, None], own, other)


# -- arguments and results -----------------------------------------------------------------------
def test_trees_are_raveled_leaf_by_leaf():
    def f(p):
        return {"a": p["w"].ravel() * 2, "b": p["c"] * p["w"][0, 0]}

    point = {"w": np.ones((2, 2)), "c": 3.0}
    found = sparse_jacobian(f)(point).toarray()  # columns: c, then w; rows: a, then b
    oracle = np.zeros((5, 5))
    oracle[:4, 1:] = 2 * np.eye(4)
    oracle[4, :2] = 1, 3
    np.testing.assert_array_equal(found, oracle)


def test_argnums():
    def f(x, y):
        return x * y[::-1]

    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    np.testing.assert_array_equal(sparse_jacobian(f, 1)(x, y).toarray(), [[0, 1], [2, 0]])
    both = sparse_jacobian(f, (0, 1))(x, y).toarray()
    np.testing.assert_array_equal(both, [[5, 0, 0, 1], [0, 3, 2, 0]])


def test_float32_stays():
    assert sparse_jacobian(lambda x: x**2)(np.ones(3, np.float32)).dtype == np.float32


def test_empty():
    assert sparse_jacobian(lambda x: x**2)(np.ones(0)).shape == (0, 0)
    assert sparse_jacobian(lambda x: x[:0])(np.ones(3)).shape == (0, 3)


def test_results_may_be_changed_in_place():
    jacobian = sparse_jacobian(lambda x: x[1:] * x[:-1])
    first = jacobian(np.arange(4.0))
    first.indices[:] = 0
    first.data[:] = 9
    np.testing.assert_array_equal(jacobian(np.arange(4.0)).indices, [0, 1, 1, 2, 2, 3])


def test_errors():
    jacobian = sparse_jacobian(lambda x: x**2)
    with pytest.raises(TypeError, match=r"sparse_jacobian: expected float .* values in argument 0"):
        jacobian(np.arange(3))
    with pytest.raises(TypeError, match="sparse_jacobian: expected real arguments and results"):
        jacobian(np.ones(3, complex))
    with pytest.raises(TypeError, match="sparse_jacobian: expected numbers, but got expressions"):
        fg.grad(lambda x: np.sum(jacobian(x).data))(np.ones(3))
    with pytest.raises(TypeError, match="sparsity: expected a function, but got float"):
        sparsity(3.0, np.ones(3))
    with pytest.raises(TypeError, match="sparse_jacobian: expected a function, but got float"):
        sparse_jacobian(3.0)
    with pytest.raises(TypeError, match="sparse_hessian: expected a function, but got str"):
        fg.sparse_hessian("x")


def test_without_a_function_they_are_decorators():
    @fg.sparse_hessian(argnums=1)
    def f(a, x):
        return a * np.sum(x**3)

    np.testing.assert_array_equal(f(2.0, np.ones(2)).toarray(), 12 * np.eye(2))
    assert f.__name__ == "sparse_hessian(f)"
    assert repr(sparse_jacobian(argnums=1)) == "sparse_jacobian(argnums=1)"


# -- cost ----------------------------------------------------------------------------------------
def tridiagonal(x):
    inside = (3 - 2 * x[1:-1]) * x[1:-1] - x[:-2] - 2 * x[2:] + 1
    return np.concatenate([x[:1] - 1, inside, x[-1:] ** 2])


def test_as_many_products_as_colors(monkeypatch):
    runs = []
    programs = sparse.linearized

    def counted(*args):
        first, second = programs(*args)

        class Counted:
            def run(self, values):
                runs.append(len(values))
                return second.run(values)

        return first, Counted()

    monkeypatch.setattr(sparse, "linearized", counted)
    x = np.linspace(0, 1, 50)
    sparse_jacobian(tridiagonal)(x)
    assert len(runs) == 3
    runs.clear()
    sparse_jacobian(lambda x: np.array([1.0, 2.0]) * np.sum(x**2))(x)  # two rows: backward
    assert len(runs) == 2
    runs.clear()
    sparse_hessian(lambda x: np.sum(x[0] * np.sin(x)) + np.sum(x**2))(x)  # an arrow
    assert len(runs) == 2


def test_the_pattern_is_worked_out_once(monkeypatch):
    calls = []
    pattern = sparse.jacobian_pattern
    monkeypatch.setattr(sparse, "jacobian_pattern", lambda *args: calls.append(1) or pattern(*args))
    jacobian = sparse_jacobian(tridiagonal)
    for scale in range(4):
        jacobian(np.linspace(0, scale, 50))
    assert len(calls) == 1
    jacobian(np.linspace(0, 1, 51))
    assert len(calls) == 2


def test_a_large_banded_system():
    # A dense matrix, or a list of pairs of entries, would be of 7 GB.
    x = np.linspace(0, 1, 30_000)
    found = sparse_jacobian(tridiagonal)(x)
    assert found.nnz == 3 * (x.size - 2) + 2
    middle = 3 - 4 * x[1:-1]
    np.testing.assert_allclose(found.diagonal(), [1, *middle, 2 * x[-1]])
    np.testing.assert_array_equal(found.diagonal(-1), [*[-1] * (x.size - 2), 0])
    np.testing.assert_array_equal(found.diagonal(1), [0, *[-2] * (x.size - 2)])


def test_a_sum_over_everything_stays_linear():
    x = np.linspace(0, 1, 100_000)
    found = sparse_jacobian(lambda x: np.sum((x - np.mean(x)) ** 2))(x)
    np.testing.assert_allclose(found.toarray()[0], 2 * (x - np.mean(x)), atol=1e-12)


# -- with scipy.optimize -------------------------------------------------------------------------
def test_least_squares():
    x = np.full(40, -1.0)
    found = scipy.optimize.least_squares(tridiagonal, x, jac=sparse_jacobian(tridiagonal))
    assert found.success
    np.testing.assert_allclose(tridiagonal(found.x), 0, atol=1e-6)


def test_root():
    def f(x):
        return x**3 + x - 1 + 0.1 * np.concatenate([x[1:], np.zeros(1)])

    jacobian = sparse_jacobian(f)
    found = scipy.optimize.root(f, np.zeros(20), jac=lambda x: jacobian(x).toarray(), tol=1e-12)
    assert found.success
    np.testing.assert_allclose(f(found.x), 0, atol=1e-10)


def test_minimize():
    def f(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    found = scipy.optimize.minimize(
        f, np.zeros(10), jac=fg.grad(f), hess=sparse_hessian(f), method="trust-constr"
    )
    np.testing.assert_allclose(found.x, np.ones(10), atol=1e-5)
    oracle = np.stack([scipy.optimize.rosen_hess_prod(found.x, e) for e in np.eye(10)])
    np.testing.assert_allclose(sparse_hessian(f)(found.x).toarray(), oracle, rtol=1e-10)


def test_a_while_loop_inside():
    def f(x):
        return fg.while_loop(lambda c: c < 9, lambda c: c * 2, x[0] * x[1])

    x = np.array([1.5, 2.0, 3.0])
    np.testing.assert_allclose(
        fg.sparse_jacobian(lambda x: x * f(x))(x).toarray(), fg.jacobian(lambda x: x * f(x))(x)
    )
    np.testing.assert_allclose(fg.sparse_hessian(f)(x).toarray(), fg.hessian(f)(x))


def test_sparsity_without_arguments_says_how_it_is_called():
    with pytest.raises(
        TypeError, match=r"sparsity: expected f's arguments after f.*sparsity\(f, x\)"
    ):
        fg.sparsity(np.sin)


# -- operations that hold programs ----------------------------------------------------------------
_erf = fg.primitive(scipy.special.erf, [lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2))])
_first_only = fg.primitive(np.hypot, [lambda x, y: x / np.sqrt(x * x + y * y), None])


@fg.custom_vjp
def _reverse(x, y):
    return np.sin(x[1:]) * y[:-1], {"sum": np.sum(x)}


_reverse.defvjp(
    lambda x, y: (_reverse.f(x, y), (x, y)),
    lambda kept, g: (
        np.concatenate([np.zeros(1), np.cos(kept[0][1:]) * kept[1][:-1] * g[0]]) + g[1]["sum"],
        np.concatenate([np.sin(kept[0][1:]) * g[0], np.zeros(1)]),
    ),
)


@fg.custom_jvp
def _forward(x, y):
    return x[1:] * y[:-1]


_forward.defjvp(lambda p, t: (p[0][1:] * p[1][:-1], t[0][1:] * p[1][:-1] + p[0][1:] * t[1][:-1]))


@fg.custom_vjp
def _gathering(x, order):
    return x[order] ** 2


_gathering.defvjp(
    lambda x, order: (x[order] ** 2, (x, order)),
    lambda kept, g: (
        fg.const(np.zeros(4)).at[kept[1]].add(2 * kept[0][kept[1]] * g),
        None,
    ),
)

HELD = {
    "primitive": _erf,
    "primitive of two": lambda x: _erf(x[1:] * x[:-1]),
    "primitive of one differentiable argument": lambda x: _first_only(x, fg.stop_gradient(x[::-1])),
    "custom_vjp": lambda x: _reverse(x, x**2)[0],
    "a second result": lambda x: np.concatenate(
        [r[0], r[1]["sum"][None]] if (r := _reverse(x, x)) else []
    ),
    "custom_jvp": lambda x: _forward(x, x * 3),
    "mapped": lambda x: fg.vmap(lambda r: _forward(r, r))(x.reshape(2, 2)),
    "checkpoint": fg.checkpoint(lambda x: np.sin(x[::-1]) * x),
    "cond": lambda x: fg.cond(x[0] > 0, lambda x: x[::-1] ** 2, lambda x: x, x),
    "nested": fg.checkpoint(lambda x: fg.checkpoint(_erf)(x) * _erf(x[::-1])),
    "custom_vjp with indices": lambda x: _gathering(x, np.array([1, 1, 3])),
}


@pytest.mark.parametrize("name", one_in(3, HELD))
def test_patterns_of_operations_that_hold_programs(name):
    f = HELD[name]
    x = np.array([0.3, 0.7, 1.1, 1.9])
    dense = fg.jacobian(f)(x).reshape(-1, 4)
    pattern = fg.sparsity(f, x).toarray()
    assert not dense[~pattern].any()
    exact = (dense != 0) | (np.eye(4, dtype=bool) if name == "cond" else False)
    assert pattern.tolist() == exact.tolist()
    np.testing.assert_allclose(fg.sparse_jacobian(f)(x).toarray(), dense, rtol=1e-14)
    hessian = fg.hessian(lambda x: np.sum(f(x) ** 2))(x)
    found = fg.sparse_hessian(lambda x: np.sum(f(x) ** 2))(x).toarray()
    np.testing.assert_allclose(found, hessian, rtol=1e-12, atol=1e-14)


def test_custom_rules_need_few_products(monkeypatch):
    runs = []
    original = fg.compiler.program.Program.run
    x = np.linspace(0.1, 1.0, 50)
    forward = fg.custom_jvp(lambda x: np.sin(x))
    forward.defjvps(lambda t, z, x: np.cos(x) * t)
    hessian = fg.sparse_hessian(lambda x: np.sum(forward(x) * _erf(x[::-1])))
    hessian(x)
    monkeypatch.setattr(
        fg.compiler.program.Program, "run", lambda *a: runs.append(1) or original(*a)
    )
    found = hessian(x)
    assert len(runs) <= 4
    assert found.nnz == 100


def test_a_primitive_that_is_not_elementwise_is_dense():
    total = fg.primitive(np.cumsum, out=lambda x: x)
    assert fg.sparsity(total, np.ones(3)).toarray().all()


def until_large(x):
    return fg.while_loop(
        lambda state: state[0] < 2.5,
        lambda state: (state[0] * 1.5, state[1] + np.sin(state[0] * x[2])),
        (x[1], x[0]),
    )


def test_a_loop_of_unknown_length_has_a_dense_pattern():
    x = np.array([0.6, 1.1, 0.35])

    def f(x):
        return np.stack([until_large(x)[1], x[1] ** 2, x[0]])

    jacobian = fg.sparse_jacobian(f)(x)
    np.testing.assert_allclose(jacobian.toarray(), fg.jacobian(f)(x), rtol=1e-14)
    assert jacobian.nnz == 5

    def g(x):
        return np.sum(x[:2] ** 2) + until_large(x)[1] * x[1]

    np.testing.assert_allclose(
        fg.sparse_hessian(g)(x).toarray(), fg.hessian(g)(x), rtol=1e-14, atol=1e-15
    )
