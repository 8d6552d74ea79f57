"""`isscalar`, and functions that call a Python function for each entry: `vectorize`, `frompyfunc`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import holds_expr
from funcgrad.expr import Expr
from funcgrad.ops import shape
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
        if self.signature is not None:
            raise TypeError(
                "vectorize: a signature is not supported with traced values; use fg.vmap"
            )
        fixed = {k: v for k, v in kwargs.items() if k in self.excluded}
        named = [k for k in kwargs if k not in fixed]
        moving = [i for i in range(len(args)) if i not in self.excluded]

        def function(*values: object) -> Any:
            called = list(args)
            for i, value in zip(moving, values[: len(moving)], strict=True):
                called[i] = value
            further = dict(zip(named, values[len(moving) :], strict=True))
            return self.pyfunc(*called, **further, **fixed)

        return by_entry(function, [*(args[i] for i in moving), *(kwargs[k] for k in named)])


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
