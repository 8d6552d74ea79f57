"""``scipy.sparse.csgraph`` for traced weights: lengths of shortest paths, and trees.

Which edges a path or a tree has is a constant of the derivative, as is what does not depend on small changes
of weights: components, orders and matchings. The length of a path is the sum of its edges' weights. If both
directions of an edge weigh the same in an undirected graph, they share the derivative. All other names lead
to SciPy.

>>> import numpy as np
>>> import funcgrad as fg
>>> weights = np.array([[0.0, 1.0, 4.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
>>> fg.grad(lambda w: shortest_path(w)[0, 2])(weights)
array([[0., 1., 0.],
       [0., 0., 1.],
       [0., 0., 0.]])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse.csgraph as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.expr.concrete import concrete_value
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import real, with_value, without_derivative
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.sparse.sparse_arguments import of_arguments
from funcgrad.scipy.sparse.traced_sparse import TracedSparse, has_traced
from funcgrad.source import value_error, with_name
from funcgrad.typing import Array

_Graph = Any
"""A dense array, in which 0, infinities and NaN are no edges, or a sparse matrix."""


# -- graphs ------------------------------------------------------------------------------------------
def _entries(graph: _Graph) -> Any:
    if not isinstance(graph, TracedSparse):
        return real("csgraph", graph)
    if graph.format != "coo" and graph.given not in (None, graph.pattern.nnz):
        raise value_error(
            "csgraph: expected each edge once, but got several of the same nodes, of which SciPy takes the "
            "lightest, while a traced matrix holds their sum; give the lightest alone",
        )
    return graph.entries


def _of_values(graph: _Graph, values: Array) -> Any:
    """The graph of plain weights, as SciPy takes it."""
    if not isinstance(graph, TracedSparse):
        return np.asarray(values)
    found = graph.plain(values)
    if not graph.exact:
        found.eliminate_zeros()  # as SciPy has, which are no edges
    found.indices, found.indptr = [np.asarray(k, np.int32) for k in (found.indices, found.indptr)]
    return found


def _edges(graph: _Graph, directed: bool) -> Any:
    """The weights as a matrix, with infinities in the place of edges that there are not."""
    if isinstance(graph, TracedSparse):
        weights: Any = graph._like(_entries(graph)).toarray()
        is_edge: Any = np.zeros(graph.shape, bool)
        is_edge[graph.rows, graph.columns] = True
        if not graph.exact:
            is_edge = np.logical_and(is_edge, weights != 0)
    else:
        weights = lift_fully(_entries(graph))
        is_edge = np.logical_and(weights != 0, np.isfinite(weights))
    weights = np.where(is_edge, weights, np.inf)
    return weights if directed else np.minimum(weights, weights.T)


# -- paths -------------------------------------------------------------------------------------------
def _searching(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)
    parameters = [*signature(own).parameters][1:]

    def search(csgraph: _Graph, *args: object, **kwargs: object) -> Any:
        given: dict[str, Any] = dict(zip(parameters, args, strict=False)) | kwargs
        if not has_traced(csgraph):
            return own(csgraph, **given)
        given.pop("overwrite", None)
        is_asked = given.pop("return_predecessors", False)
        size = csgraph.shape[-1]

        def run(values: Array) -> Array:
            found = own(_of_values(csgraph, values), return_predecessors=True, **given)
            return np.stack([np.asarray(part, float) for part in found])

        starts: Any = given.get("indices")
        indices = (size,) if starts is None else np.shape(starts)
        parts = 3 if given.get("min_only") else 2
        shape = (parts, *(() if parts == 3 else indices), size)
        out = ArrayType(shape, np.dtype(float))
        own_length, *places = without_derivative(name, run, out, _entries(csgraph))
        before, *sources = [place.astype(np.int32) for place in places]
        length = own_length
        if not given.get("unweighted"):
            edges = _edges(csgraph, given.get("directed", True))
            length = with_value(own_length, _summed(edges, before))
        return (length, before, *sources) if is_asked else length

    return with_name(search, name, f"As `scipy.sparse.csgraph.{name}`, in the weights.")


def _summed(edges: Array, before: Array) -> Any:
    """The lengths of the paths to all nodes, from the node before each on its path, by pointer jumping."""
    size = edges.shape[0]
    nodes = np.broadcast_to(np.arange(size), before.shape)
    moves = before >= 0
    jump = np.where(moves, before, nodes)
    total = np.where(moves, edges[jump, nodes], 0.0)
    for _ in range(max(size - 1, 1).bit_length()):
        total = total + np.take_along_axis(total, jump, -1)
        jump = np.take_along_axis(jump, jump, -1)
    return total


shortest_path, dijkstra, floyd_warshall, bellman_ford, johnson = map(
    _searching, ("shortest_path", "dijkstra", "floyd_warshall", "bellman_ford", "johnson")
)


# -- what has the graph's edges, or none of its weights ----------------------------------------------
def _plain(graph: _Graph, name: str) -> Any:
    """The graph of the values at this call, which is a question about them."""
    return _of_values(graph, concrete_value(lift_fully(_entries(graph)), name))


def _chosen(found: Any, values: Array) -> Any:
    """A sparse matrix of SciPy's with other values at its places."""
    rows, columns = found.tocoo().coords
    form, _, kind = type(found).__name__.partition("_")
    return of_arguments((values[rows, columns], (rows, columns)), found.shape, form, kind, None)


def _tree(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)
    parameters = [*signature(own).parameters][1:]

    def tree(csgraph: _Graph, *args: object, **kwargs: object) -> Any:
        given = dict(zip(parameters, args, strict=False)) | kwargs
        if not has_traced(csgraph):
            return own(csgraph, **by_value(given, name))
        found = own(_plain(csgraph, name), **by_value(given, name))
        directed = "directed" in parameters and bool(given.get("directed", True))
        return _chosen(found, _edges(csgraph, directed))

    return with_name(tree, name, f"As `scipy.sparse.csgraph.{name}`: edges with their weights.")


def _constant(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    def constant(*args: object, **kwargs: object) -> Any:
        def plain(value: object) -> Any:
            return _plain(value, name) if has_traced(value) else value

        values = {key: plain(value) for key, value in kwargs.items()}
        return own(*[plain(value) for value in args], **values)

    return with_name(
        constant, name, f"As `scipy.sparse.csgraph.{name}`: places, which are constants."
    )


minimum_spanning_tree, breadth_first_tree, depth_first_tree, reconstruct_path = map(
    _tree,
    ("minimum_spanning_tree", "breadth_first_tree", "depth_first_tree", "reconstruct_path"),
)


def csgraph_from_dense(graph: Array, *args: object, **kwargs: object) -> Any:
    """As `scipy.sparse.csgraph.csgraph_from_dense`, in the weights."""
    if not has_traced(graph):
        return _scipy.csgraph_from_dense(graph, *args, **kwargs)
    found = _scipy.csgraph_from_dense(_plain(graph, "csgraph_from_dense"), *args, **kwargs)
    weights: Any = lift_fully(_entries(graph))
    return _chosen(found, weights)


def csgraph_to_dense(csgraph: _Graph, null_value: float = 0) -> Any:
    """As `scipy.sparse.csgraph.csgraph_to_dense`, in the weights."""
    if not has_traced(csgraph):
        return _scipy.csgraph_to_dense(csgraph, null_value)
    edges = _edges(csgraph, directed=True)
    return np.where(edges == np.inf, null_value, edges)


def construct_dist_matrix(
    graph: _Graph, predecessors: Array, directed: bool = True, null_value: float = np.inf
) -> Any:
    """As `scipy.sparse.csgraph.construct_dist_matrix`, in the weights."""
    before = by_value(predecessors, "construct_dist_matrix")
    if not has_traced(graph):
        return _scipy.construct_dist_matrix(graph, before, directed, null_value)
    is_reached = np.logical_or(before >= 0, np.eye(len(before), dtype=bool))
    return np.where(is_reached, _summed(_edges(graph, directed), before), null_value)


def yen(
    csgraph: _Graph,
    source: int,
    sink: int,
    K: int,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """As `scipy.sparse.csgraph.yen`, in the weights; their number is that of the values."""
    options: Any = {"directed": directed, "unweighted": unweighted, "return_predecessors": True}
    length, before = _scipy.yen(
        _plain(csgraph, "yen") if has_traced(csgraph) else csgraph, source, sink, K, **options
    )
    if has_traced(csgraph) and not unweighted:
        length = with_value(length, _summed(_edges(csgraph, directed), before)[:, sink])
    return (length, before) if return_predecessors else length


_CONSTANTS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        name: _constant(name)
        for name in (
            *("breadth_first_order", "connected_components", "depth_first_order", "maximum_flow"),
            *("maximum_bipartite_matching", "min_weight_full_bipartite_matching"),
            *("reverse_cuthill_mckee", "structural_rank"),
        )
    }
)
globals().update(_CONSTANTS)

__getattr__ = partial(attribute_of, _scipy)
