"""Wrong laws, rules and types, planted to see that the fixed slice catches them: run as a command."""

import sys
from collections.abc import Callable

import numpy as np

import funcgrad as fg
from funcgrad.ops.base import promotion
from funcgrad.rewrite import matcher
from funcgrad.rewrite.laws import Law
from tests.fuzz.slices import fixed_slice


def plant_law() -> None:
    """A difference the wrong way round."""
    wrong = Law(lambda x, y: x + (-y), lambda x, y: y - x)
    matcher.LAWS = (wrong, *matcher.LAWS)


def plant_edge() -> None:
    """The derivative of the sine, off by a thousandth."""
    op = fg.sin(fg.var("x")).op
    object.__setattr__(op, "edges", (lambda z, x: fg.Diagonal(1.001 * np.cos(x)),))


def plant_promotion() -> None:
    """Float32 beside float64 is float32."""
    right = promotion.ufunc_dtypes

    def wrong(op, kinds):
        given = tuple(np.dtype("f4") if k == np.float64 else k for k in kinds)
        return right(op, given if np.dtype("f4") in kinds else kinds)

    promotion.ufunc_dtypes = wrong


def plant_batch() -> None:
    """Reversing axes, as of one example, of a batch."""
    op = np.transpose(fg.var("x", (2, 3))).op
    object.__setattr__(op, "batch", lambda size, batched, x, axes: np.transpose(x))


WRONG: dict[str, tuple[Callable[[], None], str]] = {
    "law": (plant_law, "elementwise"),
    "edge": (plant_edge, "rolled"),
    "promotion": (plant_promotion, "dtypes"),
    "batch": (plant_batch, "arrays"),
}
"""What is planted, and the family of programs that should catch it."""


def main(name: str) -> None:
    plant, family = WRONG[name]
    plant()
    try:
        fixed_slice(family)
    except AssertionError as error:
        print(f"caught: {error}")


if __name__ == "__main__":
    main(sys.argv[1])
