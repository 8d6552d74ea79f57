"""All of Backpropagation in Two Pages (Karl Stratos), as far as it is code.

Appendix H lists the functions of a computation graph, and I.2 how each carries a gradient g back: a
product with the transposed Jacobian, in closed form, without the Jacobian. Here each function is plain
NumPy, each closed form stands beside it, and the library's pullback must agree.

The gradient of every node, z^i, is what `fg.backprop` returns; the order of the forward pass is
`fg.toposort`. And backpropagation is one case of the sum-product recurrence on a DAG (appendix F.2): the
sum over all paths of the products along them, in as many steps as there are arcs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg


class Function(NamedTuple):
    """A function of appendix H, and the closed forms of I.2: from g and the operands to each J g."""

    run: Callable[..., Any]
    pullbacks: Callable[..., tuple[Any, ...]]


def softmax(x):
    """sm(x): exponentials over their sum."""
    return np.exp(x) / np.sum(np.exp(x))


def unit(length: int, place: int):
    """The standard basis vector e_l."""
    return np.eye(length)[place]


LABEL, EXPONENT = 2, 3

FUNCTIONS = {
    "add": Function(lambda x, y: x + y, lambda g, x, y: (g, g)),
    "cmult": Function(lambda x, y: x * y, lambda g, x, y: (y * g, x * g)),
    "concat": Function(
        lambda x, y: np.concatenate([x, y]), lambda g, x, y: (g[: len(x)], g[len(x) :])
    ),
    "mult": Function(lambda u, v: u @ v, lambda g, u, v: (g @ v.T, u.T @ g)),
    "pick": Function(lambda x: x[LABEL], lambda g, x: (g * unit(len(x), LABEL),)),
    "pnls": Function(
        lambda x: np.log(np.sum(np.exp(x))) - x[LABEL],
        lambda g, x: (g * (softmax(x) - unit(len(x), LABEL)),),
    ),
    "pow": Function(lambda x: x**EXPONENT, lambda g, x: (EXPONENT * x ** (EXPONENT - 1) * g,)),
    "tanh": Function(np.tanh, lambda g, x: ((1 - np.tanh(x) ** 2) * g,)),
    "logit": Function(
        lambda x: 1 / (1 + np.exp(-x)),
        lambda g, x: (g * np.exp(-x) / (1 + np.exp(-x)) ** 2,),
    ),
    "sm": Function(softmax, lambda g, x: (softmax(x) * g - np.sum(softmax(x) * g) * softmax(x),)),
}


def operands(name: str, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Operands for a function: two matrices, two vectors, or one vector."""
    rng = np.random.default_rng(seed)
    shapes = {"mult": ((2, 3), (3, 4)), "concat": ((4,), (3,)), "add": ((5,), (5,))}
    default = ((5,), (5,)) if name == "cmult" else ((5,),)
    return tuple(rng.standard_normal(shape) for shape in shapes.get(name, default))


def forward(expr: fg.Expr, **inputs: Any) -> tuple[Any, Any]:
    """The algorithm of appendix G: the output's value, and the order in which nodes were computed."""
    return fg.evaluate(expr, inputs), fg.toposort(expr)


def layered(width: int = 3, layers: int = 6) -> tuple[fg.Expr, fg.Expr]:
    """The graph of appendix F.2: one node, layers of three with all arcs between, one node.

    Equal nodes coincide here, so the three nodes of a layer take their operands in different order.
    """
    source = fg.var("s", 1)
    nodes = [np.sin(source), np.cos(source), np.tanh(source)][:width]
    for _ in range(layers - 1):
        nodes = [np.concatenate(nodes[i:] + nodes[:i]) for i in range(width)]
    return source, np.concatenate(nodes)


def main() -> None:
    """Print the closed forms' agreement, every z^i of a small graph, and the paths and arcs."""
    for name, function in FUNCTIONS.items():
        args = operands(name)
        value, pullback = fg.vjp(function.run, *args)
        g = np.ones_like(value)
        gaps = [
            np.max(np.abs(a - b))
            for a, b in zip(pullback(g), function.pullbacks(g, *args), strict=True)
        ]
        print(f"{name:6} {len(args)} operand(s): {'agrees' if max(gaps) < 1e-12 else max(gaps)}")
    x, y = fg.var("x"), fg.var("y")
    print(fg.backprop(np.tanh(x * y) + x))
    source, root = layered()
    steps = []
    paths = fg.sum_product(root, fg.COUNTING, lambda edge: steps.append(edge) or 1)[source]
    print(f"{paths} paths, {len(steps)} arcs and as many steps")


if __name__ == "__main__":
    main()
