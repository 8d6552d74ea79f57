"""Display-only rewrites of einsum: see `funcgrad.rewrite.reading_laws`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from funcgrad.expr import Expr
from funcgrad.ops import contraction, reduction, shape
from funcgrad.ops.base import op
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.reading_array_laws import ReadingLaw

_Operand = tuple[str, Expr]


def _operands(expr: Expr) -> tuple[list[_Operand], str]:
    """The operands of an einsum, each with its letters, and the letters of the result."""
    inputs, _, output = dict(expr.params)["subscripts"].partition("->")
    return list(zip(inputs.split(","), expr.args, strict=True)), output


def _joined(operands: Sequence[_Operand], output: str) -> Expr:
    subscripts = f"{','.join([letters for letters, _ in operands])}->{output}"
    return contraction.einsum_op(*[x for _, x in operands], subscripts=subscripts)  # type: ignore[no-any-return]


def _without_numbers(expr: Expr) -> Expr | None:
    """einsum(',i,i->', x, v, w) = x*einsum('i,i->', v, w); an operand of ones is dropped."""
    operands, output = _operands(expr)
    if len(operands) < 2 or expr.dtype.kind != "f":
        return None
    for i, (letters, x) in enumerate(operands):
        rest = [*operands[:i], *operands[i + 1 :]]
        elsewhere = {c for other, _ in rest for c in other}
        value = value_of(x)
        if (letters and value is None) or not set(letters) <= elsewhere:
            continue
        if x.dtype != expr.dtype or any([other.dtype != expr.dtype for _, other in rest]):
            continue
        without = _joined(rest, output)
        if value == 1:
            return without
        number = x.args[0] if x.op is op.broadcast_to else x
        if not number.shape:
            return op.broadcast_to(number, shape=expr.shape) * without  # type: ignore[no-any-return]
    return None


def _of_one_array(expr: Expr) -> Expr | None:
    """einsum('ij->j', A) = sum(A, axis=0); einsum('ij->ji', A) = A.T."""
    operands, output = _operands(expr)
    ((letters, x), *rest) = operands
    if rest or len(set(letters)) < len(letters) or x.dtype != expr.dtype:
        return None
    lost = tuple([k for k, c in enumerate(letters) if c not in output])
    kept = "".join([c for c in letters if c in output])
    total = reduction.sum_op(x, axis=lost) if lost else x
    order = tuple([kept.index(c) for c in output])
    moved = order != tuple(range(len(order)))
    return shape.transpose_op(total, axes=order) if moved else total


def _of_two_arrays(expr: Expr) -> Expr | None:
    """einsum('ij,jk->ik', A, B) = A @ B; einsum('i,i->', v, w) = v @ w; einsum('i,i->i', v, w) = v*w."""
    operands, output = _operands(expr)
    if len(operands) != 2 or any([x.dtype != expr.dtype for _, x in operands]):
        return None
    (a, x), (b, y) = operands
    if len(set(a)) < len(a) or len(set(b)) < len(b) or max(len(a), len(b)) > 2:
        return None
    if a == b and output in (a, ""):
        if not output and len(a) == 1:
            return contraction.matmul_op(x, y)  # type: ignore[no-any-return]
        return x * y if output else reduction.sum_op(x * y, axis=tuple(range(x.ndim)))  # type: ignore[no-any-return]
    shared = [c for c in a if c in b]
    if len(shared) != 1 or shared[0] in output:
        return None
    (c,) = shared
    first, second = a.replace(c, ""), b.replace(c, "")
    if output == second + first and output != first + second:
        return _of_two_arrays(_joined([(b, y), (a, x)], output))
    left = x if a[-1] == c else shape.transpose_op(x, axes=(1, 0))
    right = y if b[0] == c else shape.transpose_op(y, axes=(1, 0))
    return contraction.matmul_op(left, right)  # type: ignore[no-any-return]


EINSUM_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {"einsum": (_without_numbers, _of_one_array, _of_two_arrays)}
)
"""The laws by operation."""
