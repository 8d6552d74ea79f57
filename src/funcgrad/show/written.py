"""A piece of a formula: its text, and how tightly its outermost operator binds."""

from __future__ import annotations

from typing import NamedTuple

ATOM, CALL, POWER, UNARY, PRODUCT, FRACTION, MATMUL, COMPARISON = 100, 99, 40, 30, 20, 19, 15, 5


class Written(NamedTuple):
    """A piece of text, and how tightly its outermost operator binds."""

    text: str
    binding: int


def parenthesized(part: Written, binding: int) -> str:
    """The text, in parentheses where it binds less tightly than it must."""
    return part.text if part.binding >= binding else f"({part.text})"
