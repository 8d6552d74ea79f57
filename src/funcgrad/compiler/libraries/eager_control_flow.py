"""Branches and loops for eager libraries: Python's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.graph import ArrayType
from funcgrad.typing import Array

Runs = Callable[..., tuple[Any, ...]]


def call(run: Runs, *operands: Array) -> Any:
    """Run a closed subgraph."""
    return run(*operands)


def branch(runs: Sequence[Runs], index: int, *operands: Array) -> Any:
    """The branch at the index, which is clamped."""
    return runs[min(max(int(index), 0), len(runs) - 1)](*operands)


def loop(
    stack: Callable[[list[Any]], Any], empty: Callable[[ArrayType, Any], Any]
) -> Callable[..., Any]:
    """A loop, given the function that stacks outputs, and the one that gives outputs for no iteration."""

    def run_loop(
        run: Runs,
        holds: Runs | None,
        spec: Any,
        types: Sequence[ArrayType],
        home: object,
        *operands: Array,
    ) -> Any:
        count, middle = spec.num_carry, spec.num_carry + spec.num_xs
        state, sequences, fixed = operands[:count], operands[count:middle], operands[middle:]
        found: list[tuple[Any, ...]] = []
        if holds is None:
            length = len(sequences[0]) if spec.trip_count < 0 else spec.trip_count
            for t in reversed(range(length)) if spec.reverse else range(length):
                values = run(*state, *[s[t] for s in sequences], *fixed)
                state = values[:count]
                found.append(values[count:])
        else:
            while holds(*state, *fixed)[0]:
                values = run(*state, *fixed)
                state = values[:count]
                found.append(values[count:])
        if spec.reverse:
            found.reverse()
        stacked = [
            stack([values[k] for values in found]) if found else empty(type, home)
            for k, type in enumerate(types)
        ]
        return (*state, *stacked)

    return run_loop
