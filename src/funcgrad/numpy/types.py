"""`isscalar`, and functions that call a Python function for each entry: `vectorize`, `frompyfunc`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import holds_expr
from funcgrad.expr import Expr
from funcgrad.ops import shape
from funcgrad.source import fail
from funcgrad.typing import Array


def isscalar(element: object) -> bool:
    """As `numpy.isscalar`; a traced number is a scalar.

    >>> import funcgrad as fg
    >>> isscalar(fg.var("x")), isscalar(fg.var("x", 3))
    (True, False)
    """
    return not element.shape if isinstance(element, Expr) else bool(np.isscalar(element))


class vectorize(np.vectorize):  # noqa: N801  # as NumPy names it
    """As `numpy.vectorize`; of traced arguments the function is called entry by
    entry, too.

    >>> import funcgrad as fg
    >>> relu = vectorize(lambda x: x if x > 0 else 0.0)
    >>> fg.grad(lambda x: relu(x).sum())(np.array([-1.0, 2.0]))
    array([0., 1.])
    """

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if not holds_expr([*args, *kwargs.values()]):
            try:
                return mutable(super().__call__(*args, **kwargs))
            except TypeError:  # the function may return traced values of its own
                if self.signature is not None:
                    raise
        fixed = {k: v for k, v in kwargs.items() if k in self.excluded}
        named = [k for k in kwargs if k not in fixed]
        moving = [i for i in range(len(args)) if i not in self.excluded]

        def function(*values: object) -> Any:
            called = list(args)
            for i, value in zip(moving, values[: len(moving)], strict=True):
                called[i] = value
            further = dict(zip(named, values[len(moving) :], strict=True))
            return self.pyfunc(*called, **further, **fixed)

        arrays = [*(args[i] for i in moving), *(kwargs[k] for k in named)]
        if self.signature is not None:
            return by_core(function, arrays, self.signature)
        return by_entry(function, arrays)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, **kwargs: object) -> Any:
    """As `numpy.frompyfunc`; of traced arguments func is called entry by entry,
    too.
    """
    own = np.frompyfunc(func, nin, nout, **kwargs)

    def function(*args: object) -> Any:
        if not holds_expr(args):
            made = own(*args)
            parts = made if isinstance(made, tuple) else (made,)
            if not holds_expr([np.ravel(part).tolist() for part in parts]):
                return made
        return by_entry(func, args)

    return update_wrapper(function, func) if hasattr(func, "__name__") else function


def by_core(function: Callable[..., Any], arrays: Iterable[Any], signature: str) -> Any:
    """A function on each of the parts of arrays whose axes a signature such as ``"(n),(n)->()"`` names."""
    inputs, outputs = signature.replace(" ", "").split("->")
    cores = [
        [name for name in part.split(",") if name] for part in re.findall(r"\((.*?)\)", inputs)
    ]
    given = [shape.array(x) if holds_expr(x) else np.asarray(x) for x in arrays]
    if len(cores) != len(given):
        raise fail(TypeError, f"vectorize: expected {len(cores)} arguments, but got {len(given)}")
    lengths: dict[str, int] = {}
    for core, x in zip(cores, given, strict=True):
        own = x.shape[x.ndim - len(core) :] if len(core) <= x.ndim else ()
        if len(own) < len(core) or any(
            [lengths.setdefault(name, n) != n for name, n in zip(core, own, strict=True)]
        ):
            raise fail(
                ValueError,
                f"vectorize: expected arguments with the axes {signature!r}, but got shapes "
                f"{', '.join([str(x.shape) for x in given])}",
            )
    outer = [x.shape[: x.ndim - len(core)] for core, x in zip(cores, given, strict=True)]
    common = np.broadcast_shapes(*outer)
    rows = []
    for core, x in zip(cores, given, strict=True):
        own = x.shape[x.ndim - len(core) :]
        rows.append(np.reshape(np.broadcast_to(x, (*common, *own)), (-1, *own)))
    count = int(np.prod(common, dtype=int))
    if not count:
        raise fail(ValueError, "vectorize: expected at least one part, but got empty arguments")
    results = [function(*[row[i] for row in rows]) for i in range(count)]

    def joined(items: list[Any]) -> Any:
        whole = np.stack([shape.array(item) for item in items])
        return mutable(np.reshape(whole, (*common, *whole.shape[1:])))

    if outputs.count("(") > 1:
        return tuple([joined(list(items)) for items in zip(*results, strict=True)])
    return joined(results)


def by_entry(function: Callable[..., Any], arrays: Iterable[Any]) -> Any:
    """A function of numbers on each entry of arrays, broadcast together; it may return a tuple."""
    given = [shape.array(x) if holds_expr(x) else np.asarray(x) for x in arrays]
    common = np.broadcast_shapes(*[x.shape for x in given])
    flat = [np.ravel(np.broadcast_to(x, common)) for x in given]
    count = int(np.prod(common, dtype=int))
    if not count:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    results = [function(*[x[i] for x in flat]) for i in range(count)]

    def joined(items: list[Array]) -> Any:
        return mutable(np.reshape(shape.array(items), common))

    if isinstance(results[0], tuple):
        return tuple([joined(list(items)) for items in zip(*results, strict=True)])
    return joined(results)
