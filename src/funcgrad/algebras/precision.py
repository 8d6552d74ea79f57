"""Values and gradients to any number of digits, by mpmath.

A gradient is differentiated from the program as it is written and not simplified, since simplifying
folds constants in float64; the stable forms are not needed where digits abound, but at points at which the
written program has 0/0. Digits that cancel are found by computing with more until the result stands still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from toolz import valmap

from funcgrad.algebras.arguments_of import Subject, scalar_of, subject, without_dict
from funcgrad.autodiff.accumulate import backprop, gradients
from funcgrad.expr import Expr
from funcgrad.fold import fold
from funcgrad.ops.base.op import Op, differentiable
from funcgrad.ops.elementwise import exponential, trigonometric
from funcgrad.ops.shape import zeros_like
from funcgrad.rewrite.decompose import decomposed
from funcgrad.rewrite.simplify import simplify
from funcgrad.source import type_error
from funcgrad.transforms.transform_arguments import positions
from funcgrad.typing import Array

GUARD = 15  # digits beyond those that are asked for
# The second computation has these more, as many as float64 has between its largest and smallest number:
# with fewer, two computations could agree that (1e300 + 1) - 1e300 is 0.
RANGE = 650
ROUNDS = 3  # computations to compare with, each with twice the digits


def precise(program: object, /, *args: object, digits: int = 50, **values: object) -> Any:
    """The value of a program to ``digits`` digits: an mpmath number, or an object
    array of them.

    ``program`` is a function, with its arguments, or expressions, with the
    values of their variables by name or in a dict; they may be mpmath's
    numbers, too. Constants are float64 numbers: ``x/10`` is exact, and
    ``0.1*x`` is not. Cancelled digits are recomputed with more precision; if
    all cancel, the result is below 10**-650 of the cancelled terms. A number
    prints as many digits as ``mpmath.mp.dps`` says, 15 at first; all are
    there: ``mpmath.nstr(found, 50)`` prints them.

    Raises TypeError if ``program`` is neither a function nor expressions, or a
    variable has no value or one of another type, if ``digits`` is no positive
    integer, and for operations without a rule in mpmath.

    >>> import mpmath, numpy as np
    >>> mpmath.nstr(precise(lambda x: np.exp(x) / 3, 1.0, digits=40), 40)
    '0.9060939428196817451200958237842208325857'
    >>> found = precise(np.sin, 1.0, digits=50)
    >>> found
    mpf('0.84147098480789651')
    >>> mpmath.nstr(found, 50)
    '0.84147098480789650665250232163029899962256306079837'
    """
    given = _subject("precise", program, args, values)
    return given.rebuild(_until_settled(given.roots, given, digits))


def precise_gradient(
    program: object,
    /,
    *args: object,
    digits: int = 50,
    argnums: int | Sequence[int] = 0,
    **values: object,
) -> Any:
    """The gradient of a real scalar program to ``digits`` digits; arguments as of
    `precise`.

    Of a function it has the structure of `grad`'s; of an expression it is a
    dict by name.

    Raises as `precise`; and TypeError if the result is no real scalar.

    >>> import mpmath, funcgrad as fg
    >>> x = fg.var("x")
    >>> mpmath.nstr(precise_gradient(fg.log(x), x=3.0)["x"], 40)
    '0.3333333333333333333333333333333333333333'
    """
    given = _subject("precise_gradient", program, args, values)
    root = scalar_of("precise_gradient", given)
    if not given.arguments:
        smooth = [x for x in given.inputs if differentiable(x.dtype)]
        slopes = _slopes(root, smooth, given, digits)
        return {str(x.params[0][1]): v for x, v in zip(smooth, slopes, strict=True)}
    single = isinstance(argnums, int | np.integer)
    wanted = (argnums,) if isinstance(argnums, int | np.integer) else tuple(argnums)
    places = positions("precise_gradient", wanted, len(args))
    starts = _starts(given)
    groups = [given.inputs[starts[i] : starts[i + 1]] for i in places]
    flat = [x for group in groups for x in group]
    found = iter(_slopes(root, flat, given, digits))
    trees = [
        given.arguments[i].rebuild([next(found) for _ in group])
        for i, group in zip(places, groups, strict=True)
    ]
    return trees[0] if single else tuple(trees)


def _starts(given: Subject) -> list[int]:
    """Where the leaves of each argument begin, and where those of the last end."""
    return list(accumulate([len(tree.leaves) for tree in given.arguments], initial=0))


def _subject(who: str, program: object, args: Sequence[Any], values: Mapping[str, Any]) -> Subject:
    """The program traced at float64 numbers, with mpmath's in their place where they were given."""
    args, values = without_dict(program, args, values)
    given = subject(who, program, [_plain(v) for v in args], valmap(_plain, values))
    if given.arguments:
        exact = dict(zip(_starts(given), args, strict=False))
    else:
        exact = dict(enumerate([values[name] for name in given.by_name]))
    known = [exact[i] if hasattr(exact.get(i), "_mpf_") else v for i, v in enumerate(given.values)]
    return given._replace(values=known)


def _plain(value: Any) -> Any:
    return float(value) if hasattr(value, "_mpf_") else value


def _slopes(root: Expr, targets: Sequence[Expr], given: Subject, digits: int) -> list[Any]:
    """The gradient of the program as it is written; where that is 0/0, of its stable form."""
    found = _until_settled(exact_gradients(root, targets), given, digits)
    if not any(map(_has_nan, found)):
        return found
    stable = _until_settled(gradients(simplify(root), targets), given, digits)
    return [s if _has_nan(value) else value for value, s in zip(found, stable, strict=True)]


def _has_nan(value: Any) -> bool:
    return any([entry != entry for entry in np.ravel(np.asarray(value, object))])


def exact_gradients(root: Expr, targets: Sequence[Expr]) -> list[Expr]:
    """The gradient as it comes, in which no constant is rounded that is not in the program."""
    (plain,) = decomposed([root], lambda e: e.op not in _ROUNDED)
    cotangents = backprop(plain, wrt=targets).map
    return [cotangents[t.key] if t.key in cotangents else zeros_like(t) for t in targets]


# The derivative rules of these hold a constant such as log(2) as a float64 number; their decompositions
# do not.
_ROUNDED = (
    exponential.exp2,
    exponential.log2,
    exponential.log10,
    trigonometric.deg2rad,
    trigonometric.rad2deg,
    exponential.logaddexp2,
)


def _until_settled(roots: Sequence[Expr], given: Subject, digits: int) -> list[Any]:
    """The values of expressions: computed with ever more digits until so many stand still."""
    if not isinstance(digits, int) or digits < 1:
        raise type_error(f"precise: expected a number of digits, but got {digits!r}")
    working = digits + GUARD
    known = computed(roots, given.by_name, arithmetic(working))
    working += RANGE
    for _ in range(ROUNDS):
        better = computed(roots, given.by_name, arithmetic(working))
        if all(_agree(a, b, digits) for a, b in zip(known, better, strict=True)):
            break
        known = better
        working *= 2
    rounded = arithmetic(digits + 5)
    return [rounded.result(value) for value in better]


def computed(roots: Sequence[Expr], values: Mapping[str, Any], own: Any) -> list[Any]:
    """The values of expressions, computed by an arithmetic."""
    roots = decomposed(roots, _has_mpmath_row)
    with np.errstate(all="ignore"):
        known: list[Any] = fold(roots, own.algebra(values))
    return known


def _has_mpmath_row(expr: Expr) -> bool:
    op: Op = expr.op
    return not expr.args or op.columns.mpmath is not None


def arithmetic(digits: int) -> Any:
    """mpmath's arithmetic of so many digits."""
    try:
        from funcgrad.algebras.mpmath_rules import Arithmetic
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "precise: expected mpmath, but it is not installed; run pip install mpmath"
        ) from error
    return Arithmetic(digits)


def _agree(a: Array, b: Array, digits: int) -> bool:
    """Whether two computations agree to so many digits, relatively."""
    if a.dtype != object:
        return bool(np.array_equal(a, b))
    return all(
        x == y or (x != x and y != y) or abs(x - y) * 10 ** (digits + 2) <= abs(y)
        for x, y in zip(a.flat, b.flat, strict=True)
    )
