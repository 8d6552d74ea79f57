"""Sums over iterations of a few entries each, as one scatter of the entries of all iterations.

The derivative of a loop that reads ``b[i]`` adds one entry to the gradient of b at each iteration. After the
loop that is one call, from the stacked entries and indices, and no iteration makes an array of b's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.passes.loop_body_regrouping import factors
from funcgrad.expr import Expr
from funcgrad.ops.base.index_batching import chosen_axes
from funcgrad.ops.indexing import scatter_op
from funcgrad.ops.stores import index_add_op


def is_scattered(term: Expr) -> bool:
    """Whether a term adds entries at indices to a sum, in zeros or in place."""
    return term.op in (scatter_op, index_add_op) and not any([a.shape for a in _added(term)[1:]])


def _added(term: Expr) -> tuple[Expr, ...]:
    return term.args[1:] if term.op is index_add_op else term.args


def parts_of(term: Expr) -> list[Expr]:
    """The values of all iterations that the sum of a term over the iterations is made of."""
    return factors(term) or (list(_added(term)) if is_scattered(term) else [term])


def scattered_sum(term: Expr, batches: Sequence[Expr]) -> Any:
    """The sum of a scattered term over the iterations, from the batches of entries and indices."""
    entries, *arrays = batches
    spec = dict(term.params)["spec"]
    if not arrays:
        return scatter_op(np.sum(entries, axis=0), spec=spec, shape=term.shape)
    place, _ = chosen_axes(spec, term.ndim, arrays)
    return scatter_op(np.moveaxis(entries, 0, place), *arrays, spec=spec, shape=term.shape)  # type: ignore[type-var]
