"""Choices by a condition, and `stop_gradient`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, unnested
from funcgrad.linear import LinearMap, Structural, Unreached
from funcgrad.ops.base.columns import Columns, Form, any_kind
from funcgrad.ops.base.op import Elementwise, Op, broadcast_to
from funcgrad.ops.base.promotion import ufunc_loop
from funcgrad.ops.elementwise.logic import bitwise_and, bitwise_or, logical_and, logical_or
from funcgrad.typing import Array, DTypeLike


def _where_loop(condition: Array, x: object, y: object) -> tuple[np.dtype[Any], ...]:
    if isinstance(x, type) and isinstance(y, type):
        x, y = np.dtype(x), np.dtype(y)
    dtype = ufunc_loop(np.add, x, y)[0]
    return np.dtype(bool), dtype, dtype, dtype


def _mask_loop(condition: Array, x: Array) -> tuple[np.dtype[Any], ...]:
    dtype = np.dtype(x)
    return np.dtype(bool), dtype, dtype


def _masked(negate: bool) -> Any:
    def edge(z: Array, condition: Array, *inputs: Array) -> LinearMap:
        chosen = np.logical_not(condition) if negate else condition
        kind = Unreached if _is_known(condition, negate) else Structural
        return kind(lambda v: mask(chosen, v), lambda g: mask(chosen, g))

    return edge


def _is_known(condition: object, wanted: bool) -> bool:
    """Whether a condition is known to be so, everywhere, when the program is made."""
    if not isinstance(condition, Expr):
        return False
    decisive = (bitwise_or, logical_or) if wanted else (bitwise_and, logical_and)

    def parts(p: Expr) -> tuple[Expr, ...]:
        return p.args if p.op in decisive or p.op is broadcast_to else ()

    known = [p for p in unnested(condition, parts) if p.op is CONSTANT and p.size == 1]
    return any([bool(p.value) is wanted for p in known])


_where_infer: Any = _where_loop
where = Elementwise(
    name="where",
    run=np.where,
    infer=_where_infer,
    edges=(None, _masked(False), _masked(True)),
    columns=Columns(
        in_words="where routes",
        scalar=any_kind("({1} if {0} else {2})"),
        mpmath=lambda mp, p, x, y: x if p else y,
        sympy=lambda sp, p, x, y: sp.Piecewise((x, p), (y, True)),
        interval="where",
        latex=Form("cases"),
        numpy="np.where({all})[()]",
        sparsity="chosen",
        vm=True,
    ),
)


def _mask_run(condition: Array, x: Array) -> Any:
    return np.where(condition, x, np.zeros((), np.result_type(x)))[()]


_mask_infer: Any = _mask_loop


def _mask_source(expr: Expr, texts: Sequence[str]) -> str:
    zero = f'np.zeros((), "{expr.dtype.str}")'
    return f"np.where({texts[0]}, {texts[1]}, {zero})[()]"


mask: Op = Elementwise(
    name="mask",
    run=_mask_run,
    infer=_mask_infer,
    edges=(None, _masked(False)),
    notation=lambda c, x: f"where({c}, {x}, 0)",
    columns=Columns(
        scalar={
            "f": "({1} if {0} else 0.0)",
            "c": "({1} if {0} else 0j)",
            "i": "({1} if {0} else 0)",
            "b": "({1} and {0})",
        },
        mpmath=lambda mp, p, x: x if p else 0,
        sympy=lambda sp, p, x: sp.Piecewise((x, p), (0, True)),
        interval="mask",
        latex=Form("cases"),
        numpy=_mask_source,
        libraries={"any": lambda xp, p, x: xp.where(p, x, xp.zeros_like(x))},
        sparsity="chosen",
        vm=True,
    ),
)


def _same_loop(dtype: DTypeLike) -> tuple[np.dtype[Any], np.dtype[Any]]:
    return np.dtype(dtype), np.dtype(dtype)


def _copied(x: Array) -> Any:
    return np.array(x)[()]


_stopped_infer: Any = _same_loop
stopped = Elementwise(
    name="stop_gradient",
    run=_copied,
    infer=_stopped_infer,
    edges=(None,),
    columns=Columns(
        scalar=any_kind("{0}"),
        mpmath=lambda mp, x: x,
        sympy=lambda sp, x: x,
        interval="unchanged",
        numpy="{0}",
        libraries={"torch": lambda torch, x: x.detach()},
        may_alias=True,
    ),
)


def _cut_edge(z: Array, x: Array, condition: Array, taken: bool = False) -> LinearMap:
    holds = along_leading_axes(condition, np.ndim(x))
    return Structural(lambda v: mask(holds, v), lambda g: mask(holds, g))


def along_leading_axes(condition: Array, ndim: int) -> Any:
    """A condition on the leading axes of an array of ``ndim`` axes, with axes of length 1 for the others."""
    shape = np.shape(condition)
    return np.reshape(condition, (*shape, *(1,) * (ndim - len(shape))))


def _cut_batch(
    size: int, batched: Sequence[bool], x: Any, condition: Any, taken: bool = False
) -> Any:
    if not batched[0]:  # what reaches it is another cotangent for each example
        x = broadcast_to(x, shape=(size, *np.shape(x)))
    elif not batched[1] and np.ndim(condition):
        condition = broadcast_to(condition, shape=(size, *np.shape(condition)))
    elif taken and np.ndim(condition) == 1:
        x = as_where_taken(x, condition)
    return cut_off(x, condition, taken=taken)


def cut_off(x: Expr, condition: Expr, taken: bool = False) -> Expr:
    """A value that a derivative reaches only where a condition on its leading axes holds.

    With ``taken``, in a batch of conditions, it is that of an example whose condition holds, elsewhere.
    """
    if x.op is CONSTANT or x.dtype.kind not in "fc":
        return x
    params = {"taken": True} if taken else {}
    return stop_gradient_unless(x, condition, **params)  # type: ignore[no-any-return]


def as_where_taken(x: Array, holds: Array) -> Any:
    """A batch whose examples have the value of the first one for which ``holds``, where it is false.

    What is computed from it is as finite as there.
    """
    return np.where(along_leading_axes(holds, np.ndim(x)), x, x[np.argmax(holds)])


# An operand of a path that is taken where the condition on its leading axes holds. Elsewhere the path runs
# for nothing: what it computes may be NaN, and so may the product of a zero cotangent and a partial.
stop_gradient_unless: Op = Op(
    name="stop_gradient_unless",
    run=lambda x, condition, taken=False: x,
    infer=lambda x, condition, taken=False: x,
    edges=(_cut_edge, None),
    batch=_cut_batch,
    hidden=True,
    columns=Columns(
        decompose=lambda x, condition, taken=False: x,
        scalar=any_kind("{0}"),
        machine="same_value",
        numpy="{0}",
        entrywise=True,
        may_alias=True,
    ),
)
