"""Which operands each result of a control operation depends on, by the edges of its bodies.

A derivative flows along the edges of a body as it does along those of a program. So a result that a body
computes of no argument depends on none, as it does where the function of the body is called as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.expr import Expr
from funcgrad.ops.tuples import pick_op


class BodyFlows:
    """The bodies that a walk has entered: their inputs stand for operands of the node that holds them."""

    def __init__(self) -> None:
        self._node: dict[int, Expr] = {}
        self._given: dict[int, list[Expr]] = {}

    def operands(self, expr: Expr, own: Callable[[Expr], Sequence[Expr]]) -> Sequence[Expr]:
        """What an expression depends on: that of a body's input, or of a body's result; else ``own`` says."""
        given = self._given.get(id(expr))
        if given is not None:
            return given
        entered = self._entered(expr) if expr.op is pick_op else None
        return own(expr) if entered is None else entered

    def _entered(self, picked: Expr) -> list[Expr] | None:
        """The outputs of bodies that a result of a node has; None where that is not known."""
        from funcgrad.control.call_and_branch import branch_op, call_op
        from funcgrad.control.loop import UNKNOWN_LENGTH, loop_op

        node, place = picked.args[0], dict(picked.params)["index"]
        params: dict[str, Any] = dict(node.params)
        if node.op is branch_op:
            bodies, operands = params["branches"], node.args[1:]
        elif node.op is call_op or node.op is loop_op:
            bodies, operands = [params["body"]], node.args
        else:
            return None
        if any([place >= len(body.outputs) for body in bodies]):
            return None
        for body in bodies:
            for i, symbol in enumerate(body.inputs):
                if self._node.setdefault(id(symbol), node) is not node:
                    return None  # another node holds the body, too
                self._given.setdefault(id(symbol), [operands[i]])
        found = [body.outputs[place] for body in bodies]
        if node.op is loop_op:
            (body,), spec = bodies, params["spec"]
            for i in range(spec.num_carry):
                self._given[id(body.inputs[i])] = [operands[i], body.outputs[i]]
            if place < spec.num_carry and spec.trip_count in (0, UNKNOWN_LENGTH):
                found.append(operands[place])
        return found
