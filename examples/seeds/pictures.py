"""The picture of each text, drawn by `fg.to_svg`: computation graphs with values, gradients and linear maps.

Values are green, gradients red. The text of an edge is its local derivative; between arrays, how it pulls a
cotangent z back. Each picture is a function, so a page or a slide can have it in another size or direction.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import funcgrad as fg
from examples.seeds import autograd_engine, gates, reverse_order, two_pages


def network() -> str:
    """Ha: a network of two layers. Its edges carry the actions: ``w2.T @ z`` and ``outer(z, a1)``."""
    b1, b2, a0 = fg.var("b1", 4), fg.var("b2", 2), fg.var("a0", 3)
    w1, w2 = fg.var("w1", (4, 3)), fg.var("w2", (2, 4))
    z1 = fg.name(b1 + w1 @ a0, "z1")
    a1 = fg.name(np.tanh(z1), "a1")
    z2 = fg.name(b2 + w2 @ a1, "z2")
    a2 = fg.name(np.tanh(z2), "a2")
    return fg.to_svg(fg.name(np.sum(a2), "F"), gradient=True)


def chain() -> str:
    """The graph z, t1, t2, t3, y, in which t3 takes a constant too, at z = 0.3."""
    return fg.to_svg(reverse_order.chain(), z=0.3, direction="right")


def product_of_sum() -> str:
    """The lecture's f(x, y, z) = (x + y) z at (-2, 5, -4)."""
    expr, at = gates.product_of_sum()
    return fg.to_svg(expr, None, at, direction="right")


def shared_part() -> str:
    """The lecture's function in six steps, a to f; c has two users, so its gradient is a sum."""
    expr, at = gates.shared_part()
    return fg.to_svg(expr, None, at, direction="right")


def max_gate() -> str:
    """The gates add, multiply and max together: max(x, y) z + w routes, swaps and distributes."""
    x, y, z, w = fg.vars("x y z w")
    expr = fg.name(fg.name(fg.name(np.maximum(x, y), "m") * z, "p") + w, "f")
    return fg.to_svg(expr, x=4.0, y=2.0, z=-1.0, w=3.0, direction="right")


def paths() -> str:
    """Stratos: six nodes; x1 has two paths to x6, and each path the product of its edges' derivatives."""
    x1, x2 = fg.vars("x1 x2")
    x3 = fg.name(x1 * x2, "x3")
    x4 = fg.name(np.sin(x3), "x4")
    x5 = fg.name(x1 + x2, "x5")
    return fg.to_svg(fg.name(x4 * x5, "x6"), gradient=True, direction="right")


def layers() -> str:
    """Stratos' graph of 729 paths and 51 arcs."""
    return fg.to_svg(two_pages.layered()[1], direction="right")


def engine() -> str:
    """The engine's five nodes: L = a*b + c at a = 2, b = -3, c = 10."""
    return fg.to_svg(autograd_engine.program(), None, autograd_engine.AT, direction="right")


PICTURES: Mapping[str, Callable[[], str]] = {
    "topological_ordering": network,
    "reverse_order": chain,
    "gates_product": product_of_sum,
    "gates_shared": shared_part,
    "gates_max": max_gate,
    "two_pages_paths": paths,
    "two_pages_layers": layers,
    "autograd_engine": engine,
}


def main(folder: str = "examples/output") -> None:
    """Write every picture to a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        path = Path(folder) / f"{name}.svg"
        path.write_text(draw(), encoding="utf-8")
        print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
