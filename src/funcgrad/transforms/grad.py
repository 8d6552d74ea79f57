"""grad, value_and_grad, elementwise_grad: gradients of functions by reverse accumulation.

A gradient function runs f on fresh leaves, derives the gradient's program from the traced one (once a
skeleton), and runs it. Inside another trace the values are expressions, and so are the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from funcgrad.autodiff.accumulate import gradients
from funcgrad.autodiff.simplified_reverse import simplified_cotangents
from funcgrad.expr import Expr, result
from funcgrad.expr.formula_tuple import formulas
from funcgrad.ops.elementwise.selection import stopped
from funcgrad.rewrite.simplify import Simplifier, simplify_all
from funcgrad.trace.derive import Transform, closed, concretize
from funcgrad.trace.leaves import run, run_on_leaves
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.curried import LATER, curried, differentiating
from funcgrad.transforms.formulas_of import numeric_arguments
from funcgrad.transforms.trace_cache import LastTraceCache
from funcgrad.transforms.transform_arguments import (
    argument_numbers,
    check_function,
    check_holomorphic,
    counted_from_end,
    differentiable_arguments,
    leaves_by_argument,
    named_after,
    positions,
    rebuild_arguments,
    scalar_root,
    split_aux,
    titled,
    warn_unreached,
)

if TYPE_CHECKING:
    from funcgrad.transforms.transform_types import TransformedFunction


@differentiating
def grad(
    f: Callable[..., Any] = LATER,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The function that computes the gradient of f, which returns a real scalar.

    ``argnums`` selects the positional arguments to differentiate: a number, or
    a tuple of numbers. The gradient has the structure, shapes and dtypes of
    the argument; a Python int counts as a float. With ``has_aux``, f returns a
    pair ``(value, aux)``, and the result is ``(gradient, aux)``. Without f, a
    decorator. ``grad(f).expr(*args)`` is the gradient as an expression.
    ``holomorphic=True`` says that f is analytic in complex arguments: it
    returns a complex scalar, and the result is the complex derivative.

    f is traced at each call. A captured array of at most 64 KiB is read when f
    uses it; a larger one is read when f has returned, so do not change it
    while f runs.

    Convention: for a complex argument z = x + iy the gradient is df/dx - i
    df/dy, as in JAX and autograd. At a kink, ties share equally; ``abs`` and
    ``sign`` have derivative 0 at 0.

    Raises TypeError if f is not a function, an argument is an integer array or
    not a number, ``argnums`` names no argument, or the result is not a real
    scalar. Warns if no argument reaches the result.

    >>> import numpy as np
    >>> grad(lambda x: x**2)(3)
    6.0
    >>> grad(lambda x: np.sum(np.sin(x)))(np.array([0.0, np.pi]))
    array([ 1., -1.])
    >>> grad(lambda x: x**3).expr(2.0)
    3*x**2
    """
    made = grad_named("grad", f, argnums, has_aux, holomorphic)
    about = f"the gradient of {{}} in argument {argnums}."
    expr = partial(_gradient_expr, "grad", f, argnums, has_aux, holomorphic, False)
    return titled(made, f, "grad", about, expr)


@differentiating
def value_and_grad(
    f: Callable[..., Any] = LATER,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The function that computes f and its gradient, as a pair; arguments as in
    `grad`.

    With ``has_aux`` the pair is ``((value, aux), gradient)``. Fits
    ``scipy.optimize.minimize(jac=True)``. ``value_and_grad(f).expr(*args)`` is
    the pair of value and gradient as formulas.

    Raises TypeError as `grad` does.

    >>> import numpy as np
    >>> value_and_grad(lambda x: x**2)(3.0)
    (9.0, 6.0)
    >>> value_and_grad(lambda x: x * np.exp(x)).expr(1.0)
    (x*exp(x), (x + 1)*exp(x))
    """
    made = grad_named("value_and_grad", f, argnums, has_aux, holomorphic, with_value=True)
    about = f"{{}} and its gradient in argument {argnums}."
    expr = partial(_gradient_expr, "value_and_grad", f, argnums, has_aux, holomorphic, True)
    return titled(made, f, "value_and_grad", about, expr)


def grad_named(
    who: str,
    f: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    holomorphic: bool = False,
    with_value: bool = False,
) -> Callable[..., Any]:
    """`grad`, or `value_and_grad`, whose errors name the transform ``who``."""
    check_function(who, f)
    single = isinstance(argnums, int | np.integer)
    wanted = argument_numbers(who, argnums, f)
    derivation = LastTraceCache(_by_reverse)

    @named_after(f)
    def gradient_of(*args: object, **kwargs: object) -> Any:
        places = positions(who, wanted, len(args))
        trees = differentiable_arguments(who, f, args, places)
        output, leaves = run_on_leaves(f, args, kwargs, trees)
        output, aux = split_aux(output, has_aux, who)
        if holomorphic:
            check_holomorphic(who, leaves)
        root = scalar_root(output, holomorphic, who)
        value, *slopes = [result(v) for v in derivation([root], leaves, warn_unreached)]
        slope = rebuild_arguments([*trees.values()], slopes, single)
        if has_aux:
            aux = concretize(aux, leaves)
            return ((value, aux), slope) if with_value else (slope, aux)
        return (value, slope) if with_value else slope

    counted_from_end(gradient_of, wanted)
    return gradient_of


def _by_reverse(roots: list[Expr], leaves: list[Expr]) -> Transform:
    return _value_and_gradient


def _value_and_gradient(
    roots: list[Expr], leaves: list[Expr], simplifier: Simplifier
) -> list[Expr]:
    (root,) = roots
    return [root, *simplified_cotangents(root, leaves, simplifier)]


def _gradient_expr(
    who: str,
    f: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    with_value: bool,
    /,
    *args: object,
    **kwargs: object,
) -> Any:
    single = isinstance(argnums, int | np.integer)
    places = positions(who, argument_numbers(who, argnums), len(args))
    # The other arguments become variables, too, if they are numbers.
    trees = numeric_arguments(f, args) | differentiable_arguments(who, f, args, places)
    trees = dict(sorted(trees.items()))
    output, leaves = run_on_leaves(f, args, kwargs, trees)
    root = scalar_root(split_aux(output, has_aux, who)[0], holomorphic, who)
    groups = dict(zip(trees, leaves_by_argument([*trees.values()], leaves), strict=True))
    own = [item for i in places for item in groups[i]]
    if holomorphic:
        check_holomorphic(who, own)
    (simple,) = simplify_all([root])
    outputs = closed([simple, *gradients(simple, own)], leaves)
    value, *slopes = simplify_all(outputs, mode="formula")
    slope = rebuild_arguments([trees[i] for i in places], slopes, single)
    return formulas((value, slope) if with_value else slope)


# -- elementwise_grad, stop_gradient -------------------------------------------------------------
@overload
def elementwise_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> TransformedFunction[...]: ...


@overload
def elementwise_grad(
    *, argnums: int | Sequence[int] = 0
) -> Callable[[Callable[..., Any]], TransformedFunction[...]]: ...


@curried
def elementwise_grad(
    f: Callable[..., Any] = LATER, argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """The derivative, entry by entry, of a function that acts entry by entry.

    It is the gradient of the sum of f's entries, with the argument's shape;
    for other functions that sum adds up the entries of a column of the
    Jacobian.

    Raises TypeError as `grad` does.

    >>> import numpy as np
    >>> elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    check_function("elementwise_grad", f)

    def summed(*args: object, **kwargs: object) -> Any:
        value = run(f, args, kwargs)
        has_entries = hasattr(value, "dtype") or isinstance(
            value, int | float | complex | list | tuple
        )
        return np.sum(value) if has_entries else value

    total = named_after(f)(summed)
    made = grad_named("elementwise_grad", total, argnums)
    expr = partial(_gradient_expr, "elementwise_grad", total, argnums, False, False, False)
    return titled(made, f, "elementwise_grad", "the derivative of {}, entry by entry.", expr)


def stop_gradient(x: Any) -> Any:
    """The same value, with derivative zero: a tree of numbers, arrays or
    expressions.

    Numbers and arrays come back as they are. ``float(stop_gradient(x))`` says
    that a traced value is meant as a plain number. Raises nothing.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    tree = flatten(x)
    return tree.rebuild([stopped(v) if isinstance(v, Expr) else v for v in tree.leaves])
