"""Where a program has a kink or a jump: its slopes on the two sides of a point differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from funcgrad.algebras.arguments_of import formula, shown_value
from funcgrad.expr import Expr, by_key, rebuild, symbol
from funcgrad.graph import CONSTANT
from funcgrad.rewrite.evaluate import evaluate_all, variables
from funcgrad.transforms.gradient import gradient

MOST_MOVED = 50  # of an operand, one after the other of which is moved
_STEPS = (1e-6, 1.2e-3)  # how far: a kink at the point itself, and one that finite differences meet


class Bend(NamedTuple):
    """A kink or a jump: what happens, the slopes on both sides, and the derivative that is taken."""

    what: str
    left: float
    right: float
    taken: float

    def __str__(self) -> str:
        slopes = (
            f": its slopes are {self.left:.3g} and {self.right:.3g}, and" if self.is_exact else ";"
        )
        return f"{slopes} the derivative is {self.taken:.3g} by convention"

    @property
    def is_exact(self) -> bool:
        return self.what == "has a kink at"


def kinks(root: Expr, values: Mapping[Any, Any]) -> Iterator[str]:
    """The kinks and jumps of a program at the values of its variables: of its operations, then its own.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> print(*kinks(fg.maximum(x - 1, 0), {"x": 1.0}), sep="\\n")
    maximum(x - 1, 0) has a kink at x - 1 = 0: its slopes are 0 and 1, and the derivative is 0.5 by convention
    maximum(x - 1, 0) has a kink at x = 1: its slopes are 0 and 1, and the derivative is 0.5 by convention
    """
    inputs = variables(root)
    point = {name: values[name] for name in inputs}
    known = evaluate_all(root, point)
    for e in by_key(root).values():
        stands = tuple([symbol(f"a{i}", arg.type) for i, arg in enumerate(e.args)])
        operands = {f"a{i}": known[arg.key] for i, arg in enumerate(e.args)}
        for stand, arg in zip(stands, e.args, strict=True):
            if arg.op is not CONSTANT:
                yield from _told(
                    e, arg, _bend(rebuild(e, stands), stand, operands), operands[stand.name]
                )
    for name, x in inputs.items():
        yield from _told(root, x, _bend(root, x, point), point[name])


def _told(e: Expr, operand: Expr, bend: Bend | None, value: Any) -> list[str]:
    at = f"{formula(operand)} = {shown_value(value)}"
    return [] if bend is None else [f"{formula(e)} {bend.what} {at}{bend}"]


def _bend(program: Expr, x: Expr, point: Mapping[str, Any]) -> Bend | None:
    """The first kink or jump of a program in the entries of a variable, moved one after the other."""
    if program.dtype.kind != "f" or x.dtype.kind != "f" or x.size > MOST_MOVED:
        return None
    middle = np.asarray(point[x.name], float)

    def moved(place: tuple[int, ...], step: float) -> Any:
        entries = middle.copy()
        entries[place] += step
        return np.asarray(program({**point, x.name: entries}))

    for place in np.ndindex(middle.shape):
        for step, where in zip(_STEPS, ("at", "near"), strict=True):
            (left, right), (nearer_left, nearer_right) = [
                _slopes(place, size, moved) for size in (step, step / 2)
            ]
            with np.errstate(all="ignore"):
                scale = 0.1 * (np.abs(left) + np.abs(right)) + 1e-6
                # If the step is halved, the slope across a jump doubles, and that of smooth values stays.
                jumps = np.abs(nearer_left + nearer_right) > 1.9 * np.abs(left + right)
                jumps &= np.abs(left + right) > 1e-3 / step
                difference = np.abs(right - left)
                bends = (difference > scale) & (
                    np.abs(nearer_right - nearer_left) > difference / 1.5
                )
            for found, what in ((jumps, "jumps"), (bends, "has a kink")):
                if np.any(found):
                    entry = tuple(np.argwhere(found)[0])
                    taken = np.asarray(gradient(program[entry], x)(point))[place]
                    return Bend(f"{what} {where}", left[entry], right[entry], float(taken))
    return None


def _slopes(place: tuple[int, ...], step: float, moved: Any) -> tuple[Any, Any]:
    """The slopes of each entry of a result to the left and to the right of a point."""
    with np.errstate(all="ignore"):
        here = moved(place, 0.0)
        return (here - moved(place, -step)) / step, (moved(place, step) - here) / step
