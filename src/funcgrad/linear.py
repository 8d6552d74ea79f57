"""Linear maps: the labels of the edges from a node to its operands.

The differential of ``y = f(a, b)`` is ``dy = La(da) + Lb(db)``. A map has only ``apply`` (pushforward
of a tangent) and ``transpose`` (pullback of a cotangent), so one rule serves forward and reverse
mode. The invariant: ``<w, L.apply(v)> == <L.transpose(w), v>`` for all v, w.
The transpose is without conjugation, so the gradient of a real function of
z = x + iy is df/dx - i df/dy, as in JAX and autograd.

Maps use only Python's operators, so they act on numbers, arrays and expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from funcgrad.typing import Array


class LinearMap:
    """A linear map between the values of two nodes; ``outer @ inner`` composes.

    >>> double, half = Diagonal(2.0), Diagonal(0.5)
    >>> (double @ half).apply(3.0), double.transpose(3.0)
    (3.0, 6.0)
    """

    __slots__ = ()

    def apply(self, v: Array) -> Any:
        """The image of the tangent ``v``."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to apply itself")

    def transpose(self, g: Any) -> Any:
        """The image of the cotangent ``g`` under the transpose."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to transpose itself")

    def __matmul__(self, inner: LinearMap) -> LinearMap:
        return Composed(self, inner)


@dataclass(frozen=True, slots=True)
class Identity(LinearMap):
    """The identity map.

    >>> Identity().apply(3.0)
    3.0
    """

    def apply(self, v: Array) -> Any:
        return v

    def transpose(self, g: Any) -> Any:
        return g


@dataclass(frozen=True, slots=True)
class Diagonal(LinearMap):
    """Multiplication by ``d``, entry by entry: the derivative of an elementwise
    operation.

    >>> Diagonal(2.0).transpose(5.0)
    10.0
    """

    d: Any

    def apply(self, v: Array) -> Any:
        return self.d * v

    def transpose(self, g: Any) -> Any:
        return g * self.d


@dataclass(frozen=True, slots=True)
class Quotient(LinearMap):
    """Division by ``d``, entry by entry: `Diagonal` of ``1/d``, in one operation.

    >>> Quotient(2.0).transpose(5.0)
    2.5
    """

    d: Any

    def apply(self, v: Array) -> Any:
        return v / self.d

    def transpose(self, g: Any) -> Any:
        return g / self.d


def diagonal(partial: Callable[..., Any]) -> Callable[..., LinearMap]:
    """The edge whose map is `Diagonal` of a partial derivative, a function of (z, *inputs).

    If the function returns a map, that map is used instead.
    """

    def edge(z: Array, *inputs: Array) -> LinearMap:
        d = partial(z, *inputs)
        return d if isinstance(d, LinearMap) else Diagonal(d)

    return edge


@dataclass(frozen=True, slots=True, eq=False)
class Structural(LinearMap):
    """A map given by two functions: sums, moves, selections, contractions with a fixed operand.

    >>> half = Structural(lambda v: v / 2, lambda g: g / 2)
    >>> (half @ Diagonal(6.0)).transpose(1.0)
    3.0
    >>> Structural(sum, list)
    Structural(sum, list)
    """

    forward: Callable[[Any], Any]
    backward: Callable[[Any], Any]

    def __repr__(self) -> str:
        # The functions of an edge's rule are defined within it: the rule's name says what they do.
        rules = [_defined_in(self.forward), _defined_in(self.backward)]
        return f"Structural({', '.join(dict.fromkeys(rules))})"

    def apply(self, v: Array) -> Any:
        return self.forward(v)

    def transpose(self, g: Any) -> Any:
        return self.backward(g)


class Unreached(Structural):
    """A map that is known to be zero: no path goes along its edge, whatever factors follow."""

    __slots__ = ()


def _defined_in(function: Callable[[Any], Any]) -> str:
    """The name of a function, or of the outermost one that it is defined in."""
    name: str = getattr(function, "__qualname__", type(function).__name__)
    return name.split(".<locals>")[0].strip("_")


@dataclass(frozen=True, slots=True, eq=False)
class Composed(LinearMap):
    """The composition: first ``inner``, then ``outer``."""

    outer: LinearMap
    inner: LinearMap

    def apply(self, v: Array) -> Any:
        return self.outer.apply(self.inner.apply(v))

    def transpose(self, g: Any) -> Any:
        return self.inner.transpose(self.outer.transpose(g))


# -- tuples ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The tangent or cotangent of a tuple: its parts by position; absent means zero.

    >>> Parts({0: 2.0}) + Parts({0: 1.0, 2: 5.0})
    Parts(of={0: 3.0, 2: 5.0})
    """

    of: Mapping[int, Any]

    def __add__(self, other: Parts) -> Parts:
        joined = dict(self.of)
        for index, value in other.of.items():
            joined[index] = joined[index] + value if index in joined else value
        return Parts(joined)


class Joint:
    """The differential of an operation in all operands at once, such as a loop's.

    ``forward`` maps the tangents of operands, by position, to that of the result; ``backward`` maps the
    cotangent of the result to those of operands, by position. An `edge` is its restriction to one operand.
    """

    __slots__ = ("_seen", "backward", "forward")

    def __init__(
        self,
        forward: Callable[[Mapping[int, Any]], Any],
        backward: Callable[[Any], Mapping[int, Any]],
    ) -> None:
        self.forward = forward
        self.backward = backward
        # The reverse program computes the cotangents of all operands, and is built once.
        self._seen: tuple[Any, Mapping[int, Any]] | None = None

    def edge(self, place: int) -> LinearMap:
        """The linear map of one operand; its transpose is None if the cotangent is zero."""
        return Structural(
            lambda v: self.forward({place: v}), lambda g: self._transposed(g).get(place)
        )

    def _transposed(self, g: Array) -> Mapping[int, Any]:
        if self._seen is None or self._seen[0] is not g:
            self._seen = (g, self.backward(g))
        return self._seen[1]
