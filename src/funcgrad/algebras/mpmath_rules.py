"""Running a program with mpmath's numbers: the fold whose algebra computes with many digits.

Values are object arrays of mpmath's numbers, and arrays of whole numbers and truth values as they are.
Most operations run as NumPy runs them: on objects it calls Python's operators. Functions are mpmath's.
Needs mpmath, which is imported here and nowhere else in the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np

from funcgrad.fold import Algebra
from funcgrad.graph import Node, TupleType
from funcgrad.ops.base.op import Elementwise
from funcgrad.source import fail


class Arithmetic:
    """mpmath at a number of decimal digits, of its own: no global precision is touched."""

    def __init__(self, digits: int) -> None:
        self.mp = mpmath.MPContext()
        self.mp.dps = digits
        self.zero = _structural_zero(self.mp)
        self.functions = _functions(self.mp)

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

    def numbers(self, values: Any, dtype: np.dtype[Any]) -> Any:
        """An array of the program: of mpmath's numbers where its dtype is float or complex."""
        array = np.asarray(values)
        if dtype.kind not in "fc":
            return array.astype(dtype)
        return objects(array.shape, [self.number(v) for v in array.flat])

    def algebra(self, given: Mapping[str, Any]) -> Algebra[Any]:
        """What nodes become, given the values of variables by name."""

        def input(node: Node) -> Any:
            return self.numbers(given[node.name], node.type.dtype)

        def constant(node: Node) -> Any:
            return self.numbers(node.value, node.type.dtype)

        return Algebra(input, constant, self.apply)

    def apply(self, node: Node, operands: Sequence[Any]) -> Any:
        """What an operation makes of values: by mpmath's function, or as NumPy runs it on objects."""
        op: Any = node.op
        if isinstance(node.type, TupleType):
            raise _no_rule(op.name)
        params, kind = dict(node.params), node.type.dtype.kind
        if kind not in "fc" and not any(x.dtype == object for x in operands):
            return np.asarray(op.run(*operands, **params))
        if op.name in ARRAY_RULES:
            found = ARRAY_RULES[op.name](self, *operands, **params)
        elif op.name in self.functions:
            found = self._entrywise(node, operands)
        elif isinstance(op, Elementwise) and op.name not in ON_OBJECTS:
            raise _no_rule(op.name)
        else:
            try:
                found = op.run(*operands, **params)
            except (TypeError, AttributeError):  # a function of NumPy's that takes no objects
                raise _no_rule(op.name) from None
        array = np.asarray(found, object if kind in "fc" else None)
        if op.name in ("mask", "scatter_add"):
            # What a condition left out, and what nothing was added to, is NumPy's plain 0.
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

    def _own(self, value: Any) -> Any:
        rounded = +self.mp.convert(value)
        if isinstance(rounded, self.mp.mpc):
            return mpmath.mp.make_mpc(rounded._mpc_)
        return mpmath.mp.make_mpf(rounded._mpf_)

    def _entrywise(self, node: Node, operands: Sequence[Any]) -> Any:
        function = self.functions[node.op.name]

        def entry(*values: Any) -> Any:
            numbers = [self.number(v) for v in values]
            try:
                return function(*numbers)
            except (ZeroDivisionError, ValueError, OverflowError):
                # At a pole: what NumPy makes of it, an infinity or NaN.
                with np.errstate(all="ignore"):
                    run: Any = node.op.run  # type: ignore[attr-defined]
                    return self.number(run(*[np.asarray(_nearest(v))[()] for v in numbers]))

        return np.frompyfunc(entry, len(operands), 1)(*operands)


def _no_rule(name: str) -> Any:
    return fail(
        TypeError,
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
        def __mul__(self, other: Any) -> Any:
            return self

        __rmul__ = __truediv__ = __mul__

        def __neg__(self) -> Any:
            return self

        def __abs__(self) -> Any:
            return self

        def __add__(self, other: Any) -> Any:
            return other

        __radd__ = __add__

        def __sub__(self, other: Any) -> Any:
            return -other

        def __rsub__(self, other: Any) -> Any:
            return other

    return Zero(0)


# -- functions -----------------------------------------------------------------------------------
ON_OBJECTS = (
    *("add", "subtract", "multiply", "negative", "positive", "square", "absolute", "conjugate"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("where", "mask", "stop_gradient"),
)
"""Elementwise operations that NumPy runs on objects by Python's operators."""


def _functions(mp: Any) -> dict[str, Callable[..., Any]]:
    """mpmath's function for each elementwise operation: by its name, or as NumPy defines it."""
    same = "exp expm1 log log10 log1p sqrt sin cos tan sinh cosh tanh sign floor ceil hypot"
    renamed = {
        f"arc{name}": getattr(mp, f"a{name}")
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    }
    return {
        **{name: getattr(mp, name) for name in same.split()},
        **renamed,
        "arctan2": mp.atan2,
        "divide": lambda x, y: x / y,
        "reciprocal": lambda x: 1 / x,
        "power": lambda x, y: x**y,
        "exp2": lambda x: mp.mpf(2) ** x,
        "log2": lambda x: mp.log(x) / mp.log(2),
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "logaddexp": lambda x, y: _larger(x, y, mp.log, mp.exp),
        "logaddexp2": lambda x, y: _larger(x, y, lambda v: mp.log(v) / mp.log(2), lambda v: mp.mpf(2) ** v),
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "softplus": lambda x: mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x)),
        "xlogx": lambda x: x * mp.log(x) if x else x,
        "deg2rad": lambda x: x * mp.pi / 180,
        "rad2deg": lambda x: x * 180 / mp.pi,
        "trunc": lambda x: mp.floor(x) if x > 0 else mp.ceil(x),
        "rint": lambda x: mp.nint(x) if mp.isfinite(x) else x,
        "fabs": abs,
        "copysign": lambda x, y: -abs(x) if y < 0 or np.signbit(float(y)) else abs(x),
        "remainder": lambda x, y: x - mp.floor(x / y) * y,
        "fmod": lambda x, y: x - (mp.floor(x / y) if x / y > 0 else mp.ceil(x / y)) * y,
        "floor_divide": lambda x, y: mp.floor(x / y),
        "maximum": lambda x, y: _extreme(mp, x, y, x >= y),
        "minimum": lambda x, y: _extreme(mp, x, y, x <= y),
        "fmax": lambda x, y: y if mp.isnan(x) or y > x else x,
        "fmin": lambda x, y: y if mp.isnan(x) or y < x else x,
        "real": lambda x: x.real,
        "imag": lambda x: x.imag,
        "isfinite": mp.isfinite,
        "isinf": mp.isinf,
        "isnan": mp.isnan,
        "signbit": lambda x: bool(np.signbit(float(x))),
        "logical_and": lambda x, y: bool(x) and bool(y),
        "logical_or": lambda x, y: bool(x) or bool(y),
        "logical_xor": lambda x, y: bool(x) != bool(y),
        "logical_not": lambda x: not x,
    }  # fmt: skip


def _extreme(mp: Any, x: Any, y: Any, first: bool) -> Any:
    return mp.nan if mp.isnan(x) or mp.isnan(y) else x if first else y


def _larger(x: Any, y: Any, log: Any, exp: Any) -> Any:
    """log(exp(x) + exp(y)), of the larger and the ratio."""
    top, low = (x, y) if x >= y else (y, x)
    return top if top == low and not np.isfinite(float(top)) else top + log(1 + exp(low - top))


# -- operations on whole arrays ------------------------------------------------------------------
def _logsumexp(self: Arithmetic, x: Any, axis: tuple[int, ...]) -> Any:
    mp = self.mp
    total = np.add.reduce(np.frompyfunc(mp.exp, 1, 1)(x), axis=axis)
    return np.frompyfunc(mp.log, 1, 1)(total)


def _norm(self: Arithmetic, x: Any, axis: tuple[int, ...]) -> Any:
    total = np.add.reduce(np.frompyfunc(lambda v: abs(v) ** 2, 1, 1)(x), axis=axis)
    return np.frompyfunc(self.mp.sqrt, 1, 1)(total)


def _sinc(self: Arithmetic, x: Any, order: int) -> Any:
    return np.frompyfunc(lambda v: _sinc_of(self.mp, v, order), 1, 1)(x)


def _sinc_of(mp: Any, x: Any, order: int) -> Any:
    """By u*s_n + n*s_(n-1) = sin(u + n*pi/2) at u = pi*x, with as many more bits as that loses."""
    if not mp.isfinite(x):
        return x * 0
    if not x:
        return mp.mpf((-1) ** (order // 2)) / (order + 1) * mp.pi**order if order % 2 == 0 else x
    lost = order * (max(-int(mp.mag(x)), 0) + order.bit_length() + 4)
    with mp.extraprec(lost + 10):
        u = mp.pi * x
        value = mp.sinpi(x) / u
        for n in range(1, order + 1):
            value = (mp.sinpi(x + mp.mpf(n) / 2) - n * value) / u
        return value * mp.pi**order


def _astype(self: Arithmetic, x: Any, dtype: np.dtype[Any]) -> Any:
    if x.dtype != object:
        return x
    if dtype.kind == "f":  # the real part, as NumPy casts
        return np.frompyfunc(lambda v: v.real if isinstance(v, self.mp.mpc) else v, 1, 1)(x)
    if dtype.kind in "iub":
        plain = np.frompyfunc(int if dtype.kind != "b" else bool, 1, 1)(x)
        return np.asarray(plain).astype(dtype)
    return x


def _truth(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, x, axis: run(x != 0, axis=axis)


ARRAY_RULES: Mapping[str, Callable[..., Any]] = {
    "logsumexp": _logsumexp,
    "norm": _norm,
    "sinc": _sinc,
    "astype": _astype,
    "any": _truth(np.any),
    "all": _truth(np.all),
}
"""Operations on whole arrays that NumPy does not run on objects."""
