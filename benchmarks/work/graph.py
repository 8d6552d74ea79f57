"""The "fastest autograd" graph: thousands of scalar operations, forward and backward, and no loop to roll.

The graph is Alex Rogozhnikov's (arogozhnikov.github.io/2023/12/28/fastest-autograd.html): by turns a
softplus, a sum of four, a product, and a softmax of four. The gradient of its last node by the inputs is
zero in floating point beyond a few thousand operations; so every hundredth node is added to what is
differentiated here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, AbsentError, Work, jax, with_native
from benchmarks.work.tape import compiled_tape

SIZES = ("10000",)
SMOKE = "20"
TITLE = "graph of scalar operations,"
INPUTS, EVERY = 100, 100


def data(size: str) -> tuple[int, list[float]]:
    """How many operations, and the inputs."""
    return int(size), [k / INPUTS for k in range(INPUTS)]


def graph(
    count: int,
    softplus: Callable[[Any], Any],
    softmax: Callable[[Sequence[Any]], Sequence[Any]],
) -> Callable[[Sequence[Any]], Any]:
    """The last node plus every hundredth, from a sequence of numbers."""

    def loss(inputs: Sequence[Any]) -> Any:
        nodes = [inputs[k] for k in range(INPUTS)]
        for turn in range(count):
            kind = turn % 4
            if kind == 0:
                nodes.append(softplus(nodes[-10]))
            elif kind == 1:
                a, b, c, d = nodes[-30:-10:5]
                nodes.append(a + b + c + d)
            elif kind == 2:
                nodes.append(nodes[-20] * nodes[-10])
            else:
                nodes.extend(softmax(nodes[-4:]))
        total = nodes[-1]
        for node in nodes[INPUTS::EVERY]:
            total = total + node
        return total

    return loss


def on_scalars(np: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """softplus and softmax over a namespace's exp and log1p, number by number."""

    def softplus(x: Any) -> Any:
        return np.log1p(np.exp(x))

    def softmax(xs: Sequence[Any]) -> list[Any]:
        e = [np.exp(x) for x in xs]
        total = e[0] + e[1] + e[2] + e[3]
        return [value / total for value in e]

    return softplus, softmax


def funcgrad(given: Any) -> Work:
    """On a list of Python's numbers."""
    import funcgrad as fg

    count, inputs = given
    loss = graph(count, *on_scalars(np))
    # The first calls of large programs are interpreted.
    return Work(fg.jit(fg.value_and_grad(loss)), (inputs,), fg.jit(loss), warm=80)


def autograd(given: Any) -> Work:
    """On a list of numbers, as funcgrad."""
    import autograd.numpy as anp
    from autograd import value_and_grad

    count, inputs = given
    return Work(value_and_grad(graph(count, *on_scalars(anp))), (inputs,))


def with_jax(given: Any) -> Work:
    """Compiled; the entries of one array, since a hundred arguments cost more."""
    count, inputs = given
    if count > 100:
        raise AbsentError("not run: it compiles for minutes")
    library = jax()

    def softmax(xs: Sequence[Any]) -> Any:
        return list(library.nn.softmax(library.numpy.stack(xs)))

    loss = graph(count, library.nn.softplus, softmax)
    compiled = library.jit(library.value_and_grad(loss))
    return Work(compiled, (library.numpy.asarray(inputs),), settle=library.block_until_ready)


def torch(given: Any) -> Work:
    """Eager, with PyTorch's softplus and softmax."""
    import torch as library

    count, inputs = given

    def softmax(xs: Sequence[Any]) -> Any:
        return library.nn.functional.softmax(library.stack(list(xs)), dim=0)

    loss = graph(count, library.nn.functional.softplus, softmax)
    leaf = library.tensor(inputs, dtype=library.float64, requires_grad=True)

    def value_and_gradient(leaf: Any) -> Any:
        value = loss(leaf)
        return value, library.autograd.grad(value, leaf)[0]

    return Work(value_and_gradient, (leaf,))


def casadi(given: Any) -> Work:
    """SX, scalar by scalar."""
    import casadi as library

    count, inputs = given
    x = library.SX.sym("x", INPUTS)
    value = graph(count, *on_scalars(library))([x[k] for k in range(INPUTS)])
    both = library.Function("both", [x], [value, library.gradient(value, x)])
    return Work(both, (np.array(inputs),))


def c(given: Any) -> Work:
    """A tape written by hand for these four operations, and the loops in C that run it both ways."""
    count, inputs = given
    instructions: list[tuple[int, ...]] = []
    made = INPUTS
    nodes = list(range(INPUTS))
    for turn in range(count):
        kind = turn % 4
        operands = (nodes[-10:-9], nodes[-30:-10:5], [nodes[-20], nodes[-10]], nodes[-4:])[kind]
        instructions.append((kind, made, *operands, *[0] * (4 - len(operands))))
        new = 4 if kind == 3 else 1
        nodes.extend(range(made, made + new))
        made += new
    return Work(
        compiled_tape(instructions, [nodes[-1], *nodes[INPUTS::EVERY]], made), (np.array(inputs),)
    )


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad, native=False),
    "autograd": autograd,
    "jax": with_jax,
    "torch": torch,
    "casadi": casadi,
    "C": c,
}
