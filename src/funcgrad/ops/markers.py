"""Identities that carry a mark: they change nothing, and no law removes them."""

from __future__ import annotations

from funcgrad.linear import Identity, LinearMap
from funcgrad.ops.base.columns import Columns, any_kind
from funcgrad.ops.base.op import Op, same_on_batch
from funcgrad.ops.base.promotion import same_type
from funcgrad.typing import Array


def _identity(z: Array, x: Array, **_: object) -> LinearMap:
    return Identity()


name_op: Op = Op(
    name="name",
    run=lambda x, name: x,
    infer=same_type,
    edges=(_identity,),
    batch=same_on_batch(lambda: name_op),
    hidden=True,
    columns=Columns(
        entrywise=True,
        scalar=any_kind("{0}"),
        interval=lambda iv, x, name: x,
        machine="same_value",
        sympy=lambda sp, x, name: x,
        numpy="{0}",
        libraries={"any": lambda xp, x, name: x},
        may_alias=True,
    ),
)
