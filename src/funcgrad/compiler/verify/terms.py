"""Symbolic values: a number for each computation, by which texts are compared."""

from __future__ import annotations

from typing import Any

from funcgrad.graph import ArrayType


class Terms:
    """What is computed, by number: equal computations have equal numbers, however often they are met."""

    def __init__(self) -> None:
        self.number: dict[tuple[Any, ...], int] = {}
        self.made: list[tuple[Any, ...]] = []
        self.types: dict[int, ArrayType] = {}

    def make(self, *parts: Any) -> int:
        if parts not in self.number:
            self.number[parts] = len(self.made)
            self.made.append(parts)
        return self.number[parts]

    def show(self, term: int, depth: int = 2) -> str:
        """A term as text, down to a depth."""
        if term < 0:
            return "nothing"
        head, *rest = self.made[term]
        inner = [
            p if not isinstance(p, int) else self.show(p, depth - 1) if depth else "…" for p in rest
        ]
        return f"{head}({', '.join(map(str, inner))})"
