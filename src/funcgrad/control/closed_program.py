"""Bodies: closed programs as parameters of the operations that run them.

A `Body` has inputs and outputs and refers to nothing outside. Its derivatives and its batched form are
bodies, made by the same folds as those of any program. So an operation with a body only defines how its
operands and results correspond to the body's inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from funcgrad import expr as expr_module
from funcgrad.autodiff.accumulate import backprop, pushforward
from funcgrad.autodiff.batching import batched
from funcgrad.expr import Expr, subexpressions, symbol
from funcgrad.fold import folded
from funcgrad.graph import ArrayType
from funcgrad.linear import Parts
from funcgrad.ops.base.op import differentiable, fit, spread
from funcgrad.ops.base.untaken_paths import without_errors
from funcgrad.ops.shape import zeros_like
from funcgrad.ops.tuples import together_op
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.substitute import substitute_all


class Runner(Protocol):
    """A compiled program. The compiler is in a higher layer, so the package registers its `lower`."""

    @property
    def inputs(self) -> Sequence[Expr]: ...
    @property
    def outputs(self) -> Sequence[Expr]: ...
    @property
    def compiled(self) -> Callable[..., tuple[Any, ...]]:
        """The program as a function of its inputs' values."""

    def step(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values of the outputs, which may share memory with the inputs."""

    def call(self, values: Sequence[Any]) -> Sequence[Any]:
        """As `step`, for a function that a solver calls many times."""


class Body:
    """A program from inputs to outputs. Bodies of equal programs are equal and have equal hashes."""

    __slots__ = ("_identity", "inputs", "outputs")

    def __init__(self, inputs: Sequence[Expr], outputs: Sequence[Expr]) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        # The inputs are included: two bodies may differ only in the order of their inputs.
        self._identity = (tuple([x.key for x in inputs]), tuple([out.key for out in outputs]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        from hashlib import blake2b  # which loads OpenSSL

        # Part of a key: it determines the program, and depends on nothing else.
        inputs, outputs = self._identity
        content = b"%d|" % len(inputs) + b"".join([*inputs, *outputs])
        return f"Body({blake2b(content, digest_size=16).hexdigest()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Body, (self.inputs, self.outputs)

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """The types of the outputs."""
        return tuple([out.type for out in self.outputs])

    @property
    def program(self) -> Runner:
        """The compiled body."""
        return _lowered(self)

    def inline(self, operands: Sequence[Expr]) -> list[Expr]:
        """The outputs as expressions of the operands: the body inlined."""
        given = {x.key: new for x, new in zip(self.inputs, operands, strict=True)}
        return substitute_all(self.outputs, given, inputs=True)


@lru_cache(maxsize=1024)
def _lowered(body: Body) -> Runner:
    runner: Runner = expr_module.operation_table.functions["lower"](
        simplify_all(body.outputs), body.inputs
    )
    return runner


def body_of(inputs: Sequence[Expr], outputs: Sequence[Expr]) -> Body:
    """The body of a program whose inputs have any names: they are renamed by position.

    The body is simplified, as any program is before it is differentiated. The laws keep masks outermost:
    no infinite factor multiplies the zeros of a mask.
    """
    names = [symbol(f"i{k}", x.type) for k, x in enumerate(inputs)]
    given = {x.key: name for x, name in zip(inputs, names, strict=True)}
    return Body(names, simplify_all(substitute_all(outputs, given, simple=True)))


# -- derivatives ---------------------------------------------------------------------------------
def jvp_of_body(body: Body, active: Sequence[int]) -> tuple[list[Expr], list[Any]]:
    """New inputs for tangents of the ``active`` inputs, and the tangent of each output, or None."""
    tangents = [symbol(f"t{i}", body.inputs[i].type) for i in active]
    given = {body.inputs[i].key: t for i, t in zip(active, tangents, strict=True)}
    flows = pushforward(body.outputs, given)
    fitted = {
        k: fit(flow, out.type)
        for k, (flow, out) in enumerate(zip(flows, body.outputs, strict=True))
        if flow is not None
    }
    simple = simplify_all(list(fitted.values()), mode="derivative")
    found = dict(zip(fitted, simple, strict=True))
    return tangents, [found.get(k) for k in range(len(flows))]


def vjp_of_body(
    body: Body, given: Sequence[int], wrt: Sequence[int]
) -> tuple[list[Expr], dict[int, Expr]]:
    """New inputs for cotangents of the ``given`` outputs, and the cotangents of the inputs they reach."""
    seeds = [symbol(f"c{k}", body.outputs[k].type) for k in given]
    targets = [body.inputs[i] for i in wrt if differentiable(body.inputs[i].dtype)]
    # One reverse pass for all outputs: shared parts are differentiated once.
    root = together_op(*[body.outputs[k] for k in given])
    found = backprop(root, Parts(dict(enumerate(seeds))), wrt=targets).map if given else {}
    inputs = {i: body.inputs[i] for i in wrt if body.inputs[i].key in found}
    fitted = [fit(found[x.key], x.type) for x in inputs.values()]
    simple = simplify_all(fitted, mode="derivative")
    return seeds, dict(zip(inputs, simple, strict=True))


def tangent_program(body: Body, active: Sequence[int]) -> tuple[list[int], Body]:
    """The outputs that have tangents, and the program from inputs and ``active`` tangents to them."""
    tangents, moved = jvp_of_body(body, active)
    reached = [k for k, flow in enumerate(moved) if flow is not None]
    return reached, body_of([*body.inputs, *tangents], [moved[k] for k in reached])


def cotangent_program(
    body: Body, given: Sequence[int], wrt: Sequence[int]
) -> tuple[list[int], Body]:
    """The inputs that cotangents reach, and the program from inputs and ``given`` cotangents to them."""
    seeds, back = vjp_of_body(body, given, wrt)
    return list(back), body_of([*body.inputs, *seeds], list(back.values()))


def zeros_of_type(type: ArrayType) -> Expr:
    """A constant zero of a type."""
    z: Expr = zeros_like(symbol("z", type))
    return z


# -- batches -------------------------------------------------------------------------------------
def batch_type(type: ArrayType, size: int) -> ArrayType:
    """The type of a batch of values."""
    return ArrayType((size, *type.shape), type.dtype)


def on_examples(
    body: Body, size: int, flags: Sequence[bool]
) -> tuple[list[Expr], list[tuple[Expr, bool]]]:
    """New inputs, flagged ones with a batch axis, and each output with whether it has a batch axis."""
    inputs = [
        symbol(f"b{i}", batch_type(x.type, size)) if own else x
        for i, (x, own) in enumerate(zip(body.inputs, flags, strict=True))
    ]
    given = {x.key: (new, own) for x, new, own in zip(body.inputs, inputs, flags, strict=True)}
    return inputs, batched(body.outputs, size, given)


@lru_cache(maxsize=1024)
def for_untaken_paths(body: Body) -> Body:
    """The body with one more input, a truth value: where it is false, the body may run for nothing."""
    holds = symbol("holds", ArrayType((), np.dtype(bool)))

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        return without_errors(holds, expr, args) if args else expr

    return body_of([*body.inputs, holds], folded(body.outputs, step))


def may_raise(body: Body) -> bool:
    """Whether an operation in a body, or in one that it holds, raises errors on some operands."""
    guarded = for_untaken_paths(body)
    return bool(used(guarded.inputs[-1:], guarded.outputs))


def batched_body(body: Body, size: int, flags: Sequence[bool]) -> Body:
    """The body on a batch of the flagged inputs; all outputs have the batch axis."""
    inputs, outputs = on_examples(body, size, flags)
    return body_of(inputs, [x if own else spread(x, size) for x, own in outputs])


def on_batches(body: Body, sizes: Sequence[int]) -> Body:
    """The body on nested batches, which all of its inputs and outputs have."""
    for size in reversed(sizes):
        body = batched_body(body, size, [True] * len(body.inputs))
    return body


def used(inputs: Sequence[Expr], outputs: Sequence[Expr]) -> list[int]:
    """The positions of the inputs that the outputs depend on."""
    found = {expr.key for expr in subexpressions(*outputs)}
    return [i for i, x in enumerate(inputs) if x.key in found]
