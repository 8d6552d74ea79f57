"""The highest derivative of a function whose custom rule calls the function itself."""

from __future__ import annotations

from typing import Any

from funcgrad.linear import LinearMap
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op, same_on_batch
from funcgrad.ops.base.promotion import same_type
from funcgrad.source import type_error
from funcgrad.typing import Array

ORDERS = 3
"""The highest derivative of a function whose rule calls it: the rule is expanded so many times."""


def _refuse(_: object) -> Any:
    raise type_error(
        f"custom rule: expected at most {ORDERS} derivatives of a function whose rule calls the function "
        "itself, but got more; write the plain formula in the rule instead",
    )


class _NoDerivative(LinearMap):
    """A missing derivative: an error when it runs, not when it is built, since most never run."""

    def apply(self, v: Array) -> Any:
        return _beyond(v)

    def transpose(self, g: Any) -> Any:
        return _beyond(g)


# Marks the value of a call inside its own rule at the deepest expansion, and the derivative of that value.
last_order_op: Op = Op(
    name="last",
    run=lambda x: x,
    infer=same_type,
    edges=(lambda z, x: _NoDerivative(),),
    batch=same_on_batch(lambda: last_order_op),
    hidden=True,
    columns=Columns(entrywise=True),
)
_beyond: Op = Op(
    name="beyond",
    run=_refuse,
    infer=same_type,
    edges=(lambda z, x: _NoDerivative(),),
    batch=same_on_batch(lambda: _beyond),
    columns=Columns(entrywise=True),
)
