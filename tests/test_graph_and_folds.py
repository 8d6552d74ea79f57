"""Graphs and folds: canonical, equal in every process, and equal to their plain persistent versions."""

import gc
import operator
import os
import pickle
import subprocess
import sys
import weakref
from functools import reduce
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyrsistent import PMap, PVector, pmap, pvector

import funcgrad as fg
from examples.seeds.reverse_order import reverse_order
from funcgrad.fold import folded, folded_by_key
from funcgrad.graph import address, children
from tests.default_slice import examples

OPERATIONS = [np.add, np.multiply, np.subtract, np.maximum]


@st.composite
def dags(draw):
    """Random scalar programs with much sharing."""
    exprs = [fg.var("x"), fg.var("y"), fg.const(2.0)]
    for _ in range(draw(st.integers(1, 25))):
        i, j = (draw(st.integers(max(0, len(exprs) - 6), len(exprs) - 1)) for _ in range(2))
        exprs.append(draw(st.sampled_from(OPERATIONS))(exprs[i], exprs[j]))
    return exprs[-1]


def plain_toposort(expr):
    """The definition: depth-first post-order as a pure recursive fold."""

    def visit(order, key):
        if key in order:
            return order
        return reduce(visit, expr.graph[key].parents, order).append(key)

    return visit(pvector(), expr.key)


def plain_sum_product(expr, semiring, weight):
    """The definition: one reduction over the reversed order, on persistent maps alone."""

    def step(sums, key):
        if key not in sums:
            return sums
        node = expr.graph[key]
        for place, parent in enumerate(node.parents):
            term = semiring.multiply(sums[key], weight(fg.Edge(key, place, parent, node)))
            sums = sums.set(parent, semiring.add(sums[parent], term) if parent in sums else term)
        return sums

    return reduce(step, reversed(plain_toposort(expr)), pmap({expr.key: semiring.one}))


@settings(max_examples=examples(100), derandomize=True)
@given(dags())
def test_toposort_is_its_definition(expr):
    order = fg.toposort(expr)
    assert isinstance(order, PVector)
    assert order == plain_toposort(expr)
    assert len(order) == len(expr.graph)


@settings(max_examples=examples(100), derandomize=True)
@given(dags())
def test_sum_product_is_its_definition_and_its_last_step(expr):
    sums = fg.sum_product(expr, fg.COUNTING, lambda edge: edge.place + 1)
    assert sums == plain_sum_product(expr, fg.COUNTING, lambda edge: edge.place + 1)
    *_, last = fg.sum_product_steps(expr, fg.COUNTING, lambda edge: edge.place + 1)
    assert last == sums


@settings(max_examples=examples(100), derandomize=True)
@given(dags())
def test_fold_is_the_last_environment(expr):
    algebra = fg.Algebra(
        lambda n: n.name, lambda n: float(n.value), lambda n, parts: (n.name, parts)
    )
    *_, last = fg.environments(expr, algebra)
    assert last == fg.environment(expr, algebra)
    assert fg.fold(expr, algebra) == last[expr.key]


class Bare(NamedTuple):
    """A pointed graph that is no expression."""

    graph: PMap
    key: fg.Key


@settings(max_examples=examples(60), derandomize=True)
@given(dags())
def test_a_bare_pointed_graph_folds_as_an_expression_does(expr):
    bare = Bare(expr.graph, expr.key)
    assert fg.toposort(bare) == fg.toposort(expr)
    assert fg.sum_product(bare, fg.COUNTING, lambda edge: edge.place + 1) == fg.sum_product(
        expr, fg.COUNTING, lambda edge: edge.place + 1
    )


@settings(max_examples=examples(60), derandomize=True)
@given(dags(), dags())
def test_a_fold_of_several_roots_is_the_folds_of_each(first, second):
    algebra = fg.Algebra(
        lambda e: e.name, lambda e: float(e.value), lambda e, parts: (e.name, parts)
    )
    roots = [first, second, first]
    assert fg.fold(roots, algebra) == [fg.fold(root, algebra) for root in roots]
    bare = [Bare(root.graph, root.key) for root in roots]
    assert fg.fold(bare, algebra) == fg.fold(roots, algebra)
    assert fg.fold([], algebra) == []


def test_an_algebra_is_given_expressions_that_read_as_nodes():
    x = fg.var("x")
    y = np.sin(x * 2.0)
    seen = []
    fg.fold(y, fg.Algebra(seen.append, seen.append, lambda expr, parts: seen.append(expr)))
    assert [type(expr) for expr in seen] == [fg.Expr] * 4
    for expr in seen:
        node = y.graph[expr.key]
        assert (expr.op, expr.params, expr.type) == (node.op, node.params, node.type)
        assert (expr.name, expr.parents) == (node.name, node.parents)
    assert seen[1].value == y.graph[seen[1].key].value == 2.0
    assert not seen[1].value.flags.writeable
    with pytest.raises(AttributeError, match="only a constant node has a value"):
        _ = y.value


def test_a_fold_visits_each_object_or_each_key_once():
    x = fg.var("x")
    root = np.sin(x) + np.sin(x)
    visited = []

    def count(expr, results):
        visited.append(expr.op.name)
        return 1 + sum(results)

    assert folded([root, x], count) == [5, 1]
    assert visited == ["input", "sin", "sin", "add"]
    visited.clear()
    assert folded_by_key([root, x], count) == [5, 1]
    assert visited == ["input", "sin", "add"]


def test_a_fold_does_not_look_below_known_results_or_past_its_operands():
    x = fg.var("x")
    inner = np.sin(x)
    root = np.cos(inner) * x
    visited = []

    def names(expr, results):
        visited.append(expr.op.name)
        return f"{expr.op.name}({', '.join(results)})"

    known = {inner.key: "?"}
    assert folded_by_key([root], names, known) == ["multiply(cos(?), input())"]
    assert visited == ["cos", "input", "multiply"]
    assert known[root.key] == "multiply(cos(?), input())"
    assert folded([root], names, operands=lambda expr: expr.args[:1]) == [
        "multiply(cos(sin(input())))"
    ]
    # Items of any kind, with operands and keys of their own: Fibonacci's numbers.
    fibonacci = folded(
        [90],
        lambda n, parts: sum(parts) if parts else n,
        operands=lambda n: [n - 1, n - 2] if n > 1 else [],
        key=int,
    )
    assert fibonacci == [2880067194370816120]


@settings(max_examples=examples(60), derandomize=True)
@given(dags())
def test_keys_are_their_definition(expr):
    for key, node in expr.graph.items():
        assert key == address(node.op, node.parents, node.params, node.type)


def test_keys_keep_no_function_alive():
    """A function among the params, such as a solver's, may hold a large matrix."""

    def used():
        def f(x):
            return np.sin(x)

        fg.primitive(f, out=lambda type: type)(fg.var("x")).key  # noqa: B018  # it is computed
        return weakref.ref(f)

    reference = used()
    gc.collect()
    assert reference() is None


@settings(max_examples=examples(60), derandomize=True)
@given(dags())
def test_backprop_is_its_last_step_and_any_legal_order_gives_the_same(expr):
    *_, last = fg.backprop_steps(expr)
    z = fg.backprop(expr)
    assert isinstance(z.map, PMap)
    assert z.map is z.map
    assert {k: v.key for k, v in z.map.items()} == {k: v.key for k, v in last.map.items()}
    at = {name: 0.7 for name in ("x", "y") if fg.var(name).key in expr.graph}
    slopes = _numeric_backprop(expr, reverse_order(expr), at)
    for key, slope in slopes.items():
        assert fg.evaluate(z[key], _only(z[key], at)) == pytest.approx(slope, rel=1e-12)


def _only(expr, at):
    return {name: value for name, value in at.items() if fg.var(name).key in expr.graph}


def _numeric_backprop(expr, order, at):
    """Reverse accumulation by hand, on numbers, over a given order."""
    values = fg.evaluate_all(expr, at)
    varies = fg.environment(
        expr, fg.Algebra(lambda e: True, lambda e: False, lambda e, operands: any(operands))
    )
    cotangents = {expr.key: 1.0}
    for key in order:
        node = expr.graph[key]
        if key in cotangents and node.parents:
            args = [np.float64(values[p]) for p in node.parents]
            for i, parent in enumerate(node.parents):
                if varies[parent]:
                    g = node.op.edge(i)(values[key], *args).transpose(cotangents[key])
                    cotangents[parent] = cotangents.get(parent, 0.0) + g
    return cotangents


def test_older_maps_stay_valid():
    x = fg.var("x")
    first, *_ = steps = list(fg.backprop_steps(x * x + x))
    before = dict(first.map)
    assert len(first) == 1
    assert len(steps[-1]) == 3
    assert dict(first.map) == before


def test_the_graph_is_a_persistent_map_and_expressions_index_it():
    x = fg.var("x")
    y = np.sin(x) * x
    assert isinstance(y.graph, PMap)
    assert y.graph[y] == y.graph[y.key]
    assert x in y.graph
    assert fg.var("z") not in y.graph
    assert y.graph[x].name == "x"
    assert all(parent in y.graph for node in y.graph.values() for parent in node.parents)


def test_common_subexpressions_coincide():
    x = fg.var("x")
    assert len((np.sin(x) + np.sin(x)).graph) == 3
    assert (np.sin(x) * 2).key == (np.sin(fg.var("x")) * 2).key
    assert (x * 2).key != (x * 3).key
    assert fg.var("x").key != fg.var("x", 3).key
    assert fg.const(0.0).key != fg.const(-0.0).key
    assert fg.const(1).key != fg.const(1.0).key
    assert (x + 0.0).key != (x + -0.0).key


PROGRAM = """
import numpy as np, funcgrad as fg
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.skeleton import skeleton
x, w = fg.var("x", (2, 3)), fg.var("w", 3)
y = np.sum(np.tanh(x @ w * 2.5)[1:] ** 2) + np.max(w) + fg.const([1.0, 2.0])[0]
print(y.key.hex(), [k.hex() for k in fg.toposort(y)], fg.gradient(y, "w"), repr(fg.backprop(y)))
out, leaves = run_on_leaves(lambda v: np.sum(np.sin(v) * 2.0), (np.ones(3),), {})
print([(r[0].name, r[1:]) for r in skeleton([out], leaves).rows])
"""


def test_keys_orders_and_prints_are_equal_in_every_process():
    def run(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROGRAM]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run("0") == run("12345")


def test_semirings():
    x = fg.var("x")
    y = (np.sin(x) + np.cos(x)) * np.sin(x)
    assert fg.sum_product(y, fg.COUNTING, lambda edge: 1)[x] == 3
    assert fg.sum_product(y, fg.LONGEST, lambda edge: 1)[x] == 3
    assert fg.sum_product(y, fg.REACHABLE, lambda edge: True)[x] is True
    nothing_through_cos = fg.sum_product(
        y, fg.COUNTING, lambda edge: None if edge.node.op.name == "cos" else 1
    )
    assert nothing_through_cos[x] == 2


def test_matrices_come_in_the_order_of_the_chain_rule():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 3)), rng.standard_normal((3, 4))
    x = fg.var("x")
    inner = np.sin(x)
    outer = np.cos(inner)
    matrices = {"cos": a, "sin": b}
    semiring = fg.MATRICES._replace(one=np.eye(2))
    product = fg.sum_product(outer, semiring, lambda edge: matrices[edge.node.op.name])[x]
    np.testing.assert_allclose(product, a @ b)


def test_backprop_is_an_instance_of_sum_product():
    x, y = fg.var("x"), fg.var("y")
    f = np.sin(x * y) + x
    semiring = fg.Semiring(lambda a, b: a + b, lambda g, edge: edge.transpose(g), fg.const(1.0))

    def weight(edge):
        child = exprs[edge.child]
        return child.op.edge(edge.place)(child, *child.args, **dict(child.params))

    exprs = {e.key: e for e in (x, y, x * y, np.sin(x * y), f)}
    by_hand = fg.sum_product(f, semiring, weight)
    assert {k: v.key for k, v in by_hand.items()} == {
        k: v.key for k, v in fg.backprop(f).map.items()
    }


def test_children_lists_users():
    x = fg.var("x")
    y = x * x
    assert children(y + x)[x.key] == (y.key, y.key, (y + x).key)


@pytest.mark.parametrize(
    "program", [lambda x: x, lambda x: np.sum(x[1:] @ x[1:]) + fg.const([1.0])[0]]
)
def test_pickle_keeps_keys_types_and_values(program):
    y = program(fg.var("x", 3))
    again = pickle.loads(pickle.dumps(y))
    assert again.key == y.key
    assert again.type == y.type
    assert dict(again.graph) == dict(y.graph)
    np.testing.assert_array_equal(again(x=np.ones(3)), y(x=np.ones(3)))


def test_nodes_and_types_print_short():
    x = fg.var("x", (2, 3), "float32")
    assert str(x.type) == "float32[2, 3]"
    assert repr(x.key) == f"Key({x.key.hex()[:8]})"
    with pytest.raises(AttributeError, match="only a constant node has a value"):
        _ = x.graph[x].value
    with pytest.raises(AttributeError, match="can't set attribute"):
        x.graph[x].op = None


def test_gradient_map():
    x, y, z = fg.var("x"), fg.var("y"), fg.var("z")
    cotangents = fg.backprop(x * y)
    assert cotangents[x.key].key == cotangents[x].key
    assert x in cotangents
    assert z not in cotangents
    assert cotangents[z] == 0.0
    assert list(cotangents) == [x.key, y.key, (x * y).key]
    with pytest.raises(KeyError, match="Key"):
        cotangents[z.key]
    with pytest.raises(AttributeError, match="immutable"):
        cotangents.map = {}
    seeded = fg.backprop(x * y, seed=3.0)
    assert fg.evaluate(seeded[x], y=2.0) == 6.0


def test_a_scan_refuses_what_is_no_algebra():
    refused = "^environments: expected an Algebra of three functions, but got int; write Algebra"
    with pytest.raises(TypeError, match=refused):
        next(fg.environments(fg.var("x"), 3))


@pytest.mark.parametrize("function", [fg.sum_product, fg.sum_product_steps])
@pytest.mark.parametrize("semiring", ["counting", (operator.add, operator.mul, 1)])
def test_a_sum_over_paths_refuses_what_is_no_semiring(function, semiring):
    refused = rf"^{function.__name__}: expected a Semiring, but got .*; write Semiring\(add, mul.* COUNTING"
    with pytest.raises(TypeError, match=refused):
        function(fg.var("x"), semiring, lambda edge: 1)


@pytest.mark.parametrize(
    ("function", "more"),
    [
        *((f, (fg.COUNTING, lambda edge: 1)) for f in (fg.sum_product, fg.sum_product_steps)),
        *((f, (fg.Algebra(str, str, str),)) for f in (fg.fold, fg.environment, fg.environments)),
    ],
)
def test_what_is_no_graph_is_refused_in_the_name_of_the_function(function, more):
    name = function.__name__
    with pytest.raises(TypeError, match=rf"^{name}: expected an expression.* int; make one of var"):
        function(3, *more)
    with pytest.raises(
        TypeError, match=rf"^{name}: expected .* tuple; call {name} for each of sev"
    ):
        function([(0, 1)] if function is fg.fold else (0, 1), *more)
