"""Linear algebra of mpmath's numbers: rows of the column ``mpmath`` for operations on stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.typing import Array, FunctionLibrary


def each_matrix(function: Callable[..., Any], *, to_number: bool = False) -> Callable[..., Any]:
    """A row: what a function of mpmath and one matrix of each stack makes of them, a matrix or a number.

    Raises `numpy.linalg.LinAlgError` where mpmath finds a matrix singular or not positive definite.
    """

    def row(mp: FunctionLibrary, *stacks: Array) -> Any:
        lead = stacks[0].shape[:-2]
        made = np.empty(lead if to_number else stacks[-1].shape, object)
        for place in np.ndindex(lead) if made.size else ():
            matrices = [mp.matrix(stack[place].tolist()) for stack in stacks if stack.size]
            try:
                found = function(mp, *matrices)
            except (ZeroDivisionError, ValueError) as error:
                raise np.linalg.LinAlgError(str(error)) from None
            made[place] = found if to_number else found.tolist()
        return made

    return row


def determinant(mp: FunctionLibrary, *a: Any) -> Any:
    """The determinant of a matrix; 1 of one without entries, which mpmath has not."""
    return mp.det(*a) if a else mp.mpf(1)


def cofactors(mp: FunctionLibrary, a: Any) -> Any:
    """The derivatives of the determinant: those of the matrix without a row and a column, with signs."""
    n = a.rows
    entries = a.tolist()

    def minor(i: int, j: int) -> Any:
        rest = [[v for q, v in enumerate(row) if q != j] for p, row in enumerate(entries) if p != i]
        return determinant(mp, *([mp.matrix(rest)] if rest else []))

    return mp.matrix([[(-1) ** (i + j) * minor(i, j) for j in range(n)] for i in range(n)])
