"""Roundings by text, such as ``float(f"{x:.2f}")``: the number that is read has derivative zero.

As `round` does, they warn where the value is differentiated. ``float(str(x))``, which rounds nothing, is how
code says that a derivative of zero is meant; a Decimal or a Fraction is made from any text.
"""

from __future__ import annotations

from types import FrameType

from funcgrad.expr.node import ExprBase
from funcgrad.expr.registry import functions
from funcgrad.source import reader_of_text, warn


def warn_of_number(root: ExprBase, caller: FrameType, rounds: bool) -> None:
    """Warn if the text of a differentiated value, which the caller asks for, is read as a number again."""
    if root.traced is None or not functions["is_varied"](root):
        return
    reader = reader_of_text(caller.f_code, caller.f_lasti)
    if reader in _RATIONALS or (rounds and reader == "float"):
        warn(
            f"{reader}: a number that is read from the text of a differentiated value has derivative zero, "
            f"as a step has; compute with the value itself, or write {reader}(str(fg.stop_gradient(x))) if "
            "the derivative is meant to be zero"
        )


_RATIONALS = ("Decimal", "Fraction")
