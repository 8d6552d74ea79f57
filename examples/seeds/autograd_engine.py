"""Topological sort and the full autograd engine: five nodes, and no accumulated gradients.

Five nodes: a, b, c, d = a*b and L = d + c, at a = 2, b = -3, c = 10. In the usual engine each node has a
gradient that accumulates, so a second backward pass without a reset adds to the first. Here
nothing accumulates: a function returns the gradients as a map, with equal results at every call.

The order of the backward pass is the reverse of `fg.toposort`; no `backward` method is called.
"""

from __future__ import annotations

import funcgrad as fg

AT = {"a": 2.0, "b": -3.0, "c": 10.0}


def program() -> fg.Expr:
    """L = a*b + c."""
    a, b, c = fg.var("a"), fg.var("b"), fg.var("c")
    return fg.name(fg.name(a * b, "d") + c, "L")


def gradients(loss: fg.Expr) -> dict[str, float]:
    """The derivative of the loss in each node, by its formula, in backward order."""
    rows = fg.table(loss, AT)
    return {row.op: row.gradient for row in reversed(rows)}


def main() -> None:
    """Print the program, its gradients, and the same again."""
    loss = program()
    print(loss)
    print(fg.table(loss, AT))
    first, second = gradients(loss), gradients(loss)
    print(first)
    print("the same when asked again:", first == second)


if __name__ == "__main__":
    main()
