"""Laws of convolutions: of a zero-padded operand only the entries between the zeros are convolved.

Imported when a convolution is first simplified (`structural_laws.STRUCTURAL`).
"""

from __future__ import annotations

from funcgrad.expr import Expr
from funcgrad.ops import indexing, shape
from funcgrad.ops.convolution import kept_range, named_range


def scattered_convolution(expr: Expr) -> Expr | None:
    """convolve(zeros.at[i:j].add(x), y) = convolve(x, y), i entries later: no factor meets the zeros."""
    for place, other in ((0, 1), (1, 0)):
        x, y = expr.args[place], expr.args[other]
        if x.op is not indexing.scatter_op or len(x.args) != 1 or x.ndim != 1:
            continue
        (index,) = dict(x.params)["spec"][:1] or (None,)
        if isinstance(index, int):
            start, step = index % x.size, 1
        elif isinstance(index, tuple):
            start, _, step = slice(*index[1:]).indices(x.size)
        else:
            continue
        entries = shape.reshape(x.args[0], (-1,))
        if step != 1 or not entries.size:
            continue
        first, count = kept_range(dict(expr.params)["kept"], x.size, y.size)
        kept = named_range(first - start, count, entries.size, y.size)
        given = (entries, y) if place == 0 else (y, entries)
        return expr.op(*given, kept=kept)  # type: ignore[no-any-return]
    return None
