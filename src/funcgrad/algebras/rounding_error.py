"""Which node loses the digits: rounding errors, each times the derivative of the result in it.

To first order the error of a program is the sum over its nodes of ``local error * cotangent``. The local
error is measured: what NumPy made of the operands, less what mpmath makes of the very same ones. The
cotangents are those of the program as it is written, computed by mpmath as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.algebras.arguments_of import Subject, formula, scalar_of, subject
from funcgrad.algebras.precision import arithmetic
from funcgrad.autodiff.accumulate import backprop
from funcgrad.expr import Expr, by_key, present
from funcgrad.fold import values_by_key
from funcgrad.printed_text import aligned_columns
from funcgrad.rewrite.evaluate import numpy_algebra
from funcgrad.source import position

DIGITS = 60


class Loss(NamedTuple):
    """What the rounding of one node adds to the error of the result.

    ``error`` and ``cotangent`` are numbers or arrays of the node's shape; ``contribution`` is the sum
    of their products' sizes, and ``signed`` the sum of the products.
    """

    node: Expr
    error: Any
    cotangent: Any
    contribution: float
    signed: float

    @property
    def formula(self) -> str:
        """The node's formula."""
        return formula(self.node)

    @property
    def line(self) -> str:
        """The user's line that made the node."""
        return position(self.node.source)


class Rounding(NamedTuple):
    """A result, its error, what the nodes' rounding errors explain of it, and the nodes, worst first."""

    value: float
    error: float
    explained: float
    nodes: tuple[Loss, ...]

    def __repr__(self) -> str:
        relative = abs(self.error / (self.value - self.error)) if self.value != self.error else 0.0
        rows = [("contribution", "error", "cotangent", "node", "line")]
        for loss in self.nodes[:10]:
            sizes = [_cell(loss.contribution), _cell(loss.error), _cell(loss.cotangent)]
            rows.append((*sizes, loss.formula, loss.line))  # type: ignore[arg-type]
        more = len(self.nodes) - 10
        lines = [f"{self.value!r} with error {_cell(self.error)} ({relative:.1e} of it)"]
        lines += [aligned_columns(rows)] if self.nodes else []
        return "\n".join([*lines, *([f"({more} more)"] if more > 0 else [])])


def _cell(value: Any) -> str:
    """A size to two digits: of an array, the largest."""
    if np.ndim(value):
        return f"{np.max(np.abs(value), initial=0.0):.1e} at most"
    return f"{value:.1e}"


def rounding(program: object, /, *args: object, **values: object) -> Rounding:
    """Which nodes of a program lose digits: their rounding errors, times their
    cotangents.

    ``program`` is a function, with its arguments, or an expression, with the
    values of its variables by name or in a dict; a real scalar. It runs as it
    is written, and its arguments and constants count as exact. Nodes that
    contribute nothing are left out. Needs mpmath.

    Raises TypeError if ``program`` is neither a function nor expressions, or a
    variable has no value or one of another type, if the result is no real
    scalar, and for operations without a rule in mpmath.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> rounding((x + 1) - x, x=1e16)
    0.0 with error -1.0e+00 (1.0e+00 of it)
    contribution  error     cotangent  node   line
    1.0e+00       -1.0e+00  1.0e+00    x + 1  ...
    >>> worst = rounding((1 - fg.cos(x)) / x**2, x=1e-8).nodes[0]
    >>> worst.formula, worst.contribution
    ('cos(x)', 0.5)
    """
    given = subject("rounding", program, args, values)
    with np.errstate(all="ignore"):
        return _attributed(scalar_of("rounding", given), given)


def _attributed(root: Expr, given: Subject) -> Rounding:
    floats = values_by_key([root], numpy_algebra(given.by_name))
    exact = arithmetic(DIGITS)
    cotangents = backprop(root, wrt=given.inputs).map
    flows = [flow for flow in cotangents.values() if isinstance(flow, Expr)]
    slopes = values_by_key([root, *flows], exact.algebra(given.by_name))
    losses = []
    for expr in by_key(root).values():
        if expr.args and expr.key in cotangents:
            operands = [exact.numbers(floats[arg.key], arg.dtype) for arg in expr.args]
            computed = exact.numbers(floats[expr.key], expr.dtype)
            error = np.asarray(computed - exact.apply(expr, operands))
            slope = slopes[cotangents[expr.key].key]
            losses.append(_loss(expr, error, slope, exact))
    value = present(floats[root.key])
    true = slopes[root.key][()]
    return Rounding(
        value,
        float(exact.number(value) - true),
        float(sum((loss.signed for loss in losses), 0.0)),
        tuple(sorted([x for x in losses if x.contribution], key=lambda x: -x.contribution)),
    )


def _loss(expr: Expr, error: Any, slope: Any, exact: Any) -> Loss:
    # A slope that is not finite does no harm where nothing is lost.
    pairs = zip(error.flat, slope.flat, strict=True)
    real = [exact.mp.re(e * s) for e, s in pairs if e]
    return Loss(
        expr,
        _floats(error),
        _floats(slope),
        float(sum([abs(p) for p in real], exact.mp.mpf(0))),
        float(sum(real, exact.mp.mpf(0))),
    )


def _floats(values: Any) -> Any:
    """mpmath's numbers as NumPy's."""
    kind = complex if any(hasattr(v, "_mpc_") for v in values.flat) else float
    return present(np.asarray(np.frompyfunc(kind, 1, 1)(values)).astype(kind))
