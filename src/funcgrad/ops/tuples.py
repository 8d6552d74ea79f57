"""Operations whose value is a tuple, such as a loop's, are taken apart by `pick`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import LinearMap, Parts, Structural
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.op import EdgeRule, Op
from funcgrad.typing import Array


def _pick_type(type: Any, index: int) -> ArrayType:
    part: ArrayType = type.parts[index]
    return part


def _pick_edge(z: Array, t: Array, *, index: int) -> LinearMap:
    return Structural(lambda v: v.of.get(index), lambda g: Parts({index: g}))


def _pick_batch(size: int, batched: Sequence[bool], t: Any, *, index: int) -> Any:
    return pick(t, index)


pick_op = Op(
    name="pick",
    run=lambda t, index: t[index],
    infer=_pick_type,
    edges=(_pick_edge,),
    batch=_pick_batch,
    notation=lambda t, index: f"{t}[{index}]",
    columns=Columns(
        latex=Form("part"),
        machine="pick",
        numpy="{0}[{index}]",
        libraries={"any": lambda xp, t, index: t[index]},
        may_alias=True,
        sparsity="picked",
    ),
)


def _together_edge(index: int) -> EdgeRule:
    def edge(z: Array, *parts: object) -> LinearMap:
        return Structural(lambda v: Parts({index: v}), lambda g: g.of.get(index))

    return edge


def _together_batch(size: int, batched: Sequence[bool], *parts: Any) -> Any:
    return together_op(*spread_unbatched(size, batched, parts))


together_op = Op(
    name="together",
    run=lambda *parts: parts,
    infer=lambda *types: TupleType(types),  # type: ignore[arg-type]
    edges=_together_edge,
    batch=_together_batch,
    notation=lambda *parts: f"({', '.join(parts)},)",
    columns=Columns(
        latex=Form("tuple"),
        numpy="({all},)",
        libraries={"any": lambda xp, *parts: parts},
        sparsity="joined",
    ),
)


def pick(t: Expr, index: int) -> Expr:
    """A part of a tuple."""
    if t.op is together_op:
        return t.args[index]
    picked: Expr = pick_op(t, index=index)
    return picked
