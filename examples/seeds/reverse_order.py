"""Backprop and topological sorting: any legal order gives the same gradients, and funcgrad's is canonical.

The graph is z -> t1 -> t2 -> t3 -> y, where t3 also takes a constant. A node remembers its parents, not
its children, so the walk starts at the end. A node may be yielded once all of its children have been:
count the children first, then yield a node and subtract one from each parent's count. A node whose count
reaches zero is ready. That is a reverse topological order, and a legal one for backpropagation.

There are others. A gradient is a sum over children, and every legal order has seen all children of a
node before the node itself; so the sums are the same, whichever order is taken. `toposort` gives one
that depends on the structure of the program alone, so that prints and caches do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

import funcgrad as fg


def chain() -> fg.Expr:
    """y = sin(t3), t3 = 1 + t2, t2 = t1**2, t1 = exp(z)."""
    z = fg.var("z")
    t1 = fg.name(np.exp(z), "t1")
    t2 = fg.name(np.square(t1), "t2")
    t3 = fg.name(1.0 + t2, "t3")
    return fg.name(np.sin(t3), "y")


def reverse_order(expr: fg.Expr) -> Iterator[fg.Key]:
    """Yield keys root first, each only after all of its children: Kahn's algorithm by child counts.

    It differs from `toposort` reversed: a reverse reduction gives the same result over either, up to the
    order of floating-point sums.
    """
    graph = expr.graph
    waiting: dict[fg.Key, int] = {}
    for node in graph.values():
        for parent in node.parents:
            waiting[parent] = waiting.get(parent, 0) + 1
    ready = [expr.key]
    while ready:
        key = ready.pop()
        yield key
        for parent in graph[key].parents:
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)


def all_legal_orders(expr: fg.Expr) -> Iterator[tuple[fg.Key, ...]]:
    """Every reverse topological order, by choosing among the ready nodes in every way."""
    graph = expr.graph
    users = dict.fromkeys(graph, 0)
    for node in graph.values():
        for parent in node.parents:
            users[parent] += 1
    partial = [((), (expr.key,), users)]
    while partial:
        done, ready, counts = partial.pop()
        if not ready:
            yield done
        for key in ready:
            left = dict(counts)
            for parent in graph[key].parents:
                left[parent] -= 1
            freed = [p for p in dict.fromkeys(graph[key].parents) if not left[p]]
            others = tuple(k for k in ready if k != key)
            partial.append(((*done, key), (*others, *freed), left))


def backward(expr: fg.Expr, order: Iterable[fg.Key], at: dict[str, float]) -> dict[fg.Key, float]:
    """Reverse accumulation on numbers, over an order that is given."""
    values = fg.evaluate_all(expr, at)
    cotangents = {expr.key: 1.0}
    for key in order:
        node = expr.graph[key]
        args = [np.float64(values[parent]) for parent in node.parents]
        for i, parent in enumerate(node.parents):
            if expr.graph[parent].op.name != "constant":
                g = node.op.edge(i)(values[key], *args).transpose(cotangents[key])
                cotangents[parent] = cotangents.get(parent, 0.0) + g
    return cotangents


def main() -> None:
    """Print the orders and the gradient that all of them give."""
    y = chain()
    print(y)
    orders = list(all_legal_orders(y))
    for order in orders:
        print(" -> ".join(y.graph[key].name for key in order))
    slopes = {f"{backward(y, order, {'z': 0.3})[fg.var('z').key]:.10f}" for order in orders}
    print(f"{len(orders)} legal orders, gradients: {', '.join(slopes)}")
    print("by child counts:", " -> ".join(y.graph[key].name for key in reverse_order(y)))
    print("canonical:      ", " -> ".join(y.graph[key].name for key in reversed(fg.toposort(y))))


if __name__ == "__main__":
    main()
