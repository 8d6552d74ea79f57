"""Running a program with mpmath's numbers: the fold whose algebra computes with many digits.

Values are object arrays of mpmath's numbers, and arrays of whole numbers and truth values as they are.
Each elementwise operation has a row in its column ``mpmath``. Operations on whole arrays that have none
run as NumPy runs them: on objects it calls Python's operators.
Needs mpmath, which is imported here and nowhere else in the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np

from funcgrad.fold import Algebra
from funcgrad.graph import Node, TupleType
from funcgrad.ops.base.columns import in_library
from funcgrad.ops.base.entrywise import Entrywise
from funcgrad.ops.base.op import Elementwise, Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.indexing import scatter_op
from funcgrad.source import type_error


class Arithmetic:
    """mpmath at a number of decimal digits, of its own: no global precision is touched."""

    def __init__(self, digits: int) -> None:
        self.mp = mpmath.MPContext()
        self.mp.dps = digits
        self.zero = _structural_zero(self.mp)

    def number(self, value: Any) -> Any:
        """A number as one of this arithmetic's: exactly."""
        if isinstance(value, self.mp.mpf | self.mp.mpc):
            return value
        if hasattr(value, "_mpf_") or hasattr(value, "_mpc_"):  # of mpmath at another precision
            return self.mp.convert(value)
        if isinstance(value, complex | np.complexfloating):
            return self.mp.mpc(float(value.real), float(value.imag))
        if isinstance(value, int | np.integer | np.bool_):
            return self.mp.mpf(int(value))
        return self.mp.mpf(float(value))

    def numbers(self, values: object, dtype: np.dtype[Any]) -> Any:
        """An array of the program: of mpmath's numbers where its dtype is float or complex."""
        array = np.asarray(values)
        if dtype.kind not in "fc":
            return array.astype(dtype)
        return objects(array.shape, [self.number(v) for v in array.flat])

    def algebra(self, given: Mapping[str, Any]) -> Algebra[Any]:
        """What nodes become, given the values of variables by name."""
        return Algebra(
            lambda node: self.numbers(given[node.name], node.type.dtype),
            lambda node: self.numbers(node.value, node.type.dtype),
            self.apply,
        )

    def apply(self, node: Node, operands: Sequence[Any]) -> Any:
        """What an operation makes of values: by mpmath's function, or as NumPy runs it on objects."""
        op: Op = node.op  # type: ignore[assignment]
        if isinstance(node.type, TupleType):
            raise _no_rule(op.name)
        params, kind = dict(node.params), node.type.dtype.kind
        if kind not in "fc" and not any(x.dtype == object for x in operands):
            return np.asarray(op.run(*operands, **params))
        row = in_library(op.columns.mpmath, self.mp, kind)
        if row is None and isinstance(op, Elementwise | Entrywise):  # run would round
            raise _no_rule(op.name)
        if row is None:
            try:
                found = op.run(*operands, **params)
            except (TypeError, AttributeError):  # a function of NumPy's that takes no objects
                raise _no_rule(op.name) from None
        elif isinstance(op, Elementwise):
            found = self._entrywise(op, row, operands)
        else:
            try:
                found = row(*operands, **params)
            except TypeError:  # a function of numbers alone, which would take minutes
                raise _no_rule(op.name) from None
        array = np.asarray(found, object if kind in "fc" else None)
        if op in (mask, scatter_op):
            # What a condition left out, and what nothing was added to, is a plain 0.
            array = objects(array.shape, [self.zero if type(v) is int else v for v in array.flat])
        elif kind == "f" and array.dtype == object:
            # A real program has no complex values: NumPy has NaN for sqrt(-1.0).
            real = [self.mp.nan if isinstance(v, self.mp.mpc) else v for v in array.flat]
            array = objects(array.shape, real)
        return self.numbers(array, node.type.dtype)

    def result(self, values: Any) -> Any:
        """An array of this arithmetic as mpmath's own numbers, rounded to its digits; a scalar alone."""
        if values.dtype != object:
            return values if values.shape else values[()]
        own = objects(values.shape, [self._own(v) for v in values.flat])
        return own if own.shape else own[()]

    def _own(self, value: object) -> Any:
        rounded = +self.mp.convert(value)
        if isinstance(rounded, self.mp.mpc):
            return mpmath.mp.make_mpc(rounded._mpc_)
        return mpmath.mp.make_mpf(rounded._mpf_)

    def _entrywise(self, op: Op, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        def entry(*values: object) -> Any:
            numbers = [self.number(v) for v in values]
            try:
                return function(*numbers)
            except (ZeroDivisionError, ValueError, OverflowError):
                # At a pole: what NumPy makes of it, an infinity or NaN.
                with np.errstate(all="ignore"):
                    return self.number(op.run(*[np.asarray(_nearest(v))[()] for v in numbers]))

        return np.frompyfunc(entry, len(operands), 1)(*operands)


def _no_rule(name: str) -> Any:
    return type_error(
        f"precise: expected operations that mpmath has, but {name!r} has no rule; write it with others",
    )


def objects(shape: tuple[int, ...], values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """An object array of values given in C order."""
    flat = np.empty(len(values), object)
    for i, value in enumerate(values):
        flat[i] = value
    return flat.reshape(shape)


def _nearest(value: Any) -> Any:
    return complex(value) if hasattr(value, "_mpc_") else float(value)


def _structural_zero(mp: Any) -> Any:
    """A zero that annihilates: what a condition did not select never meets an inf."""

    class Zero(mp.mpf):  # type: ignore[misc]
        def __mul__(self, other: object) -> Any:
            return self

        __rmul__ = __truediv__ = __mul__

        def __neg__(self) -> Any:
            return self

        def __abs__(self) -> Any:
            return self

        def __add__(self, other: object) -> Any:
            return other

        __radd__ = __add__

        def __sub__(self, other: Any) -> Any:
            return -other

        def __rsub__(self, other: object) -> Any:
            return other

    return Zero(0)
