"""What `help` shows of an operation: a sentence of its own, not the class that it is an instance of."""

from __future__ import annotations

from typing import Any

import numpy as np


class OperationHelp:
    """The docstring of a class of operations, and one for each operation.

    >>> import funcgrad as fg
    >>> print(fg.sigmoid.__doc__)
    sigmoid, entry by entry, on numbers, arrays and expressions.
    <BLANKLINE>
    The result has the operand's shape, and NumPy's dtype (NEP 50).
    <BLANKLINE>
    Raises TypeError for other operands.
    >>> print(fg.arctan2.__doc__)
    As `numpy.arctan2`, on numbers, arrays and expressions.
    <BLANKLINE>
    The result has the shape to which the operands broadcast, and NumPy's dtype
    (NEP 50).
    <BLANKLINE>
    Raises TypeError for other operands, ValueError unless shapes broadcast.
    """

    def __init__(self, of_class: str) -> None:
        self.of_class = of_class

    def __get__(self, op: Any, owner: type) -> str:
        if op is None:
            return self.of_class
        what = f"As `numpy.{op.name}`" if hasattr(np, op.name) else f"{op.name}, entry by entry"
        shape, raised = "the operand's shape, and NumPy's dtype ", ""
        if callable(op.edges) or len(op.edges) != 1:
            shape = "the shape to which the operands broadcast, and NumPy's dtype\n"
            raised = ", ValueError unless shapes broadcast"
        return (
            f"{what}, on numbers, arrays and expressions.\n\n"
            f"The result has {shape}(NEP 50).\n\n"
            f"Raises TypeError for other operands{raised}."
        )
