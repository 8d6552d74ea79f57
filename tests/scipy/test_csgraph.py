"""`scipy.sparse.csgraph` in the weights of edges: values are SciPy's, slopes central differences."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csgraph

import funcgrad as fg
from tests.default_slice import one_in

RNG = np.random.default_rng(0)
N = 7
W = RNG.uniform(0.5, 3.0, (N, N)) * (RNG.uniform(size=(N, N)) < 0.45) * (1 - np.eye(N))
C = np.cos(np.arange(N * N)).reshape(N, N)
IS_EDGE = W != 0


def finite(x):
    return np.where(np.isfinite(x), x, 0.0)


def sparse(w):
    places = [axis.astype(np.int32) for axis in np.nonzero(IS_EDGE)]  # SciPy's `yen` has no others
    return scipy.sparse.csr_array((w[IS_EDGE], places), shape=(N, N))


CASES = {
    **{
        f"shortest_path, {method}, {kind}": lambda w, method=method, kind=kind: (
            C * finite(csgraph.shortest_path(w, method=method, directed=kind == "directed"))
        )
        for method in ("auto", "FW", "D", "BF", "J")
        for kind in ("directed", "undirected")
    },
    "floyd_warshall": lambda w: C * finite(csgraph.floyd_warshall(w)),
    "bellman_ford": lambda w: C[0] * finite(csgraph.bellman_ford(w, indices=1)),
    "johnson": lambda w: C * finite(csgraph.johnson(w, False)),
    "dijkstra from some": lambda w: C[:2] * finite(csgraph.dijkstra(w, False, [0, 3])),
    "dijkstra from one": lambda w: C[0] * finite(csgraph.dijkstra(w, indices=2, limit=3.0)),
    "dijkstra from the nearest": lambda w: (
        C[0] * finite(csgraph.dijkstra(w, indices=[1, 2], min_only=True))
    ),
    "without weights": lambda w: finite(csgraph.shortest_path(w, unweighted=True)) * np.sum(w),
    "predecessors": lambda w: (lambda d, before: finite(d) * (before > 2))(
        *csgraph.shortest_path(w, return_predecessors=True)
    ),
    "a sparse graph": lambda w: C * finite(csgraph.shortest_path(sparse(w), directed=False)),
    "a spanning tree": lambda w: csgraph.minimum_spanning_tree(w).toarray() * C,
    "that of a sparse graph": lambda w: csgraph.minimum_spanning_tree(sparse(w)).sum(),
    "components": lambda w: w * csgraph.connected_components(w)[0],
    "an order": lambda w: w[csgraph.breadth_first_order(w, 0)[0]] * C,
    **{
        f"paths by Yen, {kind}": lambda w, kind=kind: (lambda d, before: d * (before.max(1) > 2))(
            *csgraph.yen(
                sparse(w) if kind == "sparse" else w,
                *(0, 3, 3),
                directed=kind != "undirected",
                return_predecessors=True,
            )
        )
        for kind in ("sparse", "dense", "undirected")
    },
    "a tree of an order": lambda w: csgraph.breadth_first_tree(w, 0).toarray() * C,
    "a tree of depths": lambda w: csgraph.depth_first_tree(sparse(w), 1, False).toarray() * C,
    "a path": lambda w: csgraph.reconstruct_path(
        w, csgraph.dijkstra(w, indices=0, return_predecessors=True)[1]
    ).toarray(),
    "lengths of known paths": lambda w: finite(
        csgraph.construct_dist_matrix(w, csgraph.dijkstra(W, return_predecessors=True)[1])
    ),
    "from a dense graph and back": lambda w: (
        C * csgraph.csgraph_to_dense(csgraph.csgraph_from_dense(w), null_value=-1.0)
    ),
    "a matching": lambda w: w[
        csgraph.min_weight_full_bipartite_matching(csgraph.csgraph_from_dense(w + 1))
    ],
    "a flow": lambda w: (
        w
        * csgraph.maximum_flow(scipy.sparse.csr_array(W.round().astype(np.int32)), 0, 3).flow_value
    ),
    "a Laplacian": lambda w: csgraph.laplacian(w + w.T, normed=True) * C,
}


@pytest.mark.parametrize("case", one_in(2, CASES))
def test_graphs(case):
    along, h = np.cos(np.arange(W.size) * 1.3).reshape(W.shape) * IS_EDGE, 1e-6

    def f(t):
        return np.sum(CASES[case](W + t * along))

    value, slope = fg.value_and_grad(f)(0.0)
    assert value == f(0.0)
    assert slope == pytest.approx((f(h) - f(-h)) / (2 * h), rel=1e-6, abs=1e-7)
    assert fg.jvp(f, (0.0,), (1.0,))[1] == pytest.approx(slope, rel=1e-12)
    compiled = fg.jit(fg.grad(f))
    assert compiled(0.0) == pytest.approx(slope, rel=1e-12)
    assert compiled(0.3) == pytest.approx((f(0.3 + h) - f(0.3 - h)) / (2 * h), rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.array([0.0, 0.1]))[0], slope, rtol=1e-12)


def test_both_directions_of_an_edge_share_the_derivative():
    weights = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 3.0], [0.0, 3.0, 0.0]])
    half = 0.5 * (weights != 0)
    for total in (
        lambda w: csgraph.minimum_spanning_tree(w).sum(),
        lambda w: csgraph.shortest_path(w, directed=False)[0, 2],
    ):
        np.testing.assert_array_equal(fg.grad(total)(weights), half)


def test_unreachable_nodes_and_plain_graphs():
    weights = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    value, slope = fg.value_and_grad(lambda w: csgraph.shortest_path(w)[0, 2])(weights)
    assert value == np.inf
    assert not slope.any()
    found = fg.adopt(lambda: csgraph.shortest_path(weights))()
    np.testing.assert_array_equal(found, csgraph.shortest_path(weights))
    with pytest.raises(csgraph.NegativeCycleError):
        fg.grad(lambda w: csgraph.bellman_ford(w - 5.0 * (w != 0) * np.eye(2)[::-1])[0, 1])(
            np.array([[0.0, 1.0], [1.0, 0.0]])
        )


def test_entries_of_zero_of_a_matrix_that_was_dense_are_no_edges():
    def lengths(w):
        return finite(csgraph.floyd_warshall(scipy.sparse.csr_array(w), directed=False)).sum()

    value, slope = fg.value_and_grad(lengths)(W)
    assert value == pytest.approx(lengths(W), rel=1e-14)
    np.testing.assert_allclose(
        fg.grad(lambda w: finite(csgraph.dijkstra(w, False)).sum())(W), slope
    )
    for f in (
        lambda w: csgraph.minimum_spanning_tree(scipy.sparse.csr_array(w)).toarray(),
        lambda w: csgraph.breadth_first_tree(scipy.sparse.csr_array(w), 0).toarray(),
        lambda w: w.sum() * csgraph.connected_components(csgraph=scipy.sparse.csr_array(w))[1],
    ):
        np.testing.assert_allclose(fg.jvp(f, (W,), (W,))[0], f(W))


THRESHOLD = np.array([[0.3, 2.0, 3.0], [1.0, 0.5, 2.0], [2.0, 0.4, 0.6]])


def near(d, limit=2.5):
    """The sparse matrix of the entries of a dense one up to a limit: SciPy leaves the others out."""
    return scipy.sparse.csr_array(np.where(d <= limit, d, 0.0))


def is_near(d):
    return scipy.sparse.csr_matrix(d <= 0.55)


OF_DENSE = {
    "components": lambda d: d[0, 0] * csgraph.connected_components(is_near(d))[0],
    "matching": lambda d: d[0, 0] * csgraph.maximum_bipartite_matching(is_near(d)).sum(),
    "components of weights": lambda d: d[0, 0] * csgraph.connected_components(near(d, 0.55))[0],
    "shortest path": lambda d: csgraph.shortest_path(near(d))[0, 2],
    "dijkstra": lambda d: csgraph.dijkstra(near(d), directed=False)[0].sum(),
    "tree": lambda d: csgraph.minimum_spanning_tree(near(d)).sum(),
}


@pytest.mark.parametrize("f", OF_DENSE.values(), ids=OF_DENSE.keys())
def test_zeros_that_a_traced_condition_gives_are_no_edges(f):
    h = 1e-6
    steps = h * np.eye(9).reshape(9, 3, 3)
    slopes = np.reshape([(f(THRESHOLD + s) - f(THRESHOLD - s)) / (2 * h) for s in steps], (3, 3))
    value, gradient = fg.value_and_grad(f)(THRESHOLD)
    assert value == pytest.approx(f(THRESHOLD))
    assert gradient == pytest.approx(slopes, abs=1e-6)
    assert fg.jit(fg.grad(f))(THRESHOLD) == pytest.approx(slopes, abs=1e-6)
    assert fg.jvp(f, (THRESHOLD,), (THRESHOLD,))[1] == pytest.approx(np.sum(slopes * THRESHOLD))


def test_edges_that_are_given_twice():
    nodes = np.array([1, 1, 0]), np.array([0, 2, 3])

    def f(w, make=lambda a: a):
        return csgraph.csgraph_to_dense(make(scipy.sparse.csr_array((w, *nodes), shape=(2, 2))))

    w = np.array([2.0, 3.0, 1.0])
    for convert in (f, lambda w: f(w, lambda a: a.tocsc())):
        with pytest.raises(ValueError, match="csgraph: expected each edge once, but got several"):
            fg.jacobian(convert)(w)

    def summed(w):
        return csgraph.dijkstra(scipy.sparse.coo_array((w, ([0, 0, 1], [1, 1, 0])), shape=(2, 2)))

    np.testing.assert_array_equal(fg.jvp(summed, (w,), (w,)), (summed(w), summed(w)))
