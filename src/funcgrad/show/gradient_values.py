"""The numbers of the gradients that a display shows: those that `grad` computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.autodiff.accumulate import gradients
from funcgrad.expr import Expr, present
from funcgrad.graph import Key
from funcgrad.ops.base.op import differentiable
from funcgrad.rewrite.evaluate import evaluate_roots, inputs_of, variables
from funcgrad.rewrite.simplify import simplify


def gradient_values(root: Expr, values: Mapping[Any, Any]) -> dict[Key, Any]:
    """The gradient of a scalar root in each variable by key, from the simplified program, as `grad` takes it.

    The cotangents of the program as it is written are other numbers where a stable formula replaces it:
    sqrt(sum(x**2)) at 0 has infinite ones on the way.
    """
    smooth = [x for x in variables(root).values() if differentiable(x.dtype)]
    found = formula_values(root, gradients(simplify(root), smooth), values)
    return {x.key: value for x, value in zip(smooth, found, strict=True)}


def formula_values(root: Expr, formulas: Sequence[Expr], values: Mapping[Any, Any]) -> list[Any]:
    """The numbers of formulas, given values of the variables of a root."""
    wanted, arrays = inputs_of(root, values, {})
    by_name = {x.name: array for x, array in zip(wanted, arrays, strict=True)}
    with np.errstate(all="ignore"):
        return [present(value) for value in evaluate_roots(formulas, by_name)]
