"""grad and its family: a function in, a function out.

Each runs f on fresh leaves, takes the traced program to the derivative's program (worked out once a
skeleton), and runs that. Inside another trace the values are expressions, and so are the results.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from funcgrad.autodiff.accumulate import cotangents, gradients, pushforward
from funcgrad.expr import Expr, scalar
from funcgrad.ops.base.foreign_arrays import refuse_others
from funcgrad.ops.base.op import differentiable, lift_fully, refuse_other_arrays
from funcgrad.ops.elementwise import stopped
from funcgrad.ops.shape import broadcast_to, zeros_like
from funcgrad.rewrite.evaluate import result
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.source import fail
from funcgrad.trace.derive import closed, concretize, derive
from funcgrad.trace.leaves import Scope, fresh, run
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.transforms.trace_cache import Derivation


def grad(
    f: Callable[..., Any] | None = None, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that computes the gradient of f, which returns a real scalar.

    ``argnums`` says in which positional arguments: one, or a tuple of them. The gradient has the
    structure, shapes and dtypes of the argument; a Python int counts as a float. With ``has_aux``, f
    returns a pair, and so does the result: the gradient, and the second part as it is. Without f, a
    decorator. ``grad(f).expr(*args)`` is the gradient as an expression.

    For a complex argument z = x + iy it is df/dx - i df/dy, as in JAX and autograd. Where f has a
    kink, ties share equally. Raises TypeError for an integer array or a result that is no real scalar.

    >>> import numpy as np
    >>> grad(lambda x: x**2)(3)
    6.0
    >>> grad(lambda x: np.sum(np.sin(x)))(np.array([0.0, np.pi]))
    array([ 1., -1.])
    >>> grad(lambda x: x**3).expr(2.0)
    3*x**2
    """
    if f is None:
        return partial(grad, argnums=argnums, has_aux=has_aux)
    both = value_and_grad(f, argnums, has_aux)

    @_named_after(f)
    def gradient_of(*args: Any, **kwargs: Any) -> Any:
        value, slope = both(*args, **kwargs)
        return (slope, value[1]) if has_aux else slope

    gradient_of.expr = partial(_gradient_expr, f, argnums, has_aux)  # type: ignore[attr-defined]
    return gradient_of


def value_and_grad(
    f: Callable[..., Any] | None = None, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that computes f and its gradient, as a pair; arguments as in `grad`.

    With ``has_aux`` the pair is ``((value, aux), gradient)``. Fits ``scipy.optimize.minimize(jac=True)``.

    >>> value_and_grad(lambda x: x**2)(3.0)
    (9.0, 6.0)
    """
    if f is None:
        return partial(value_and_grad, argnums=argnums, has_aux=has_aux)
    _check_function("grad", f)
    single = isinstance(argnums, int)
    wanted = _numbers("grad", argnums)

    derivation = Derivation(_value_and_gradient)

    @_named_after(f)
    def value_and_gradient_of(*args: Any, **kwargs: Any) -> Any:
        places = positions("grad", wanted, len(args))
        output, leaves, trees = run(f, args, kwargs, places, _for_grad)
        output, aux = _aux(output, has_aux)
        root = scalar_root(output)
        value, *slopes = [result(v) for v in derivation([root], leaves, _warn_unreached)]
        slope = _unflatten(trees, slopes, single)
        return ((value, concretize(aux, leaves)), slope) if has_aux else (value, slope)

    return value_and_gradient_of


def _check_function(who: str, f: Any) -> None:
    if isinstance(f, Expr):
        raise fail(
            TypeError, f"{who}: expected a function, but got an expression; write gradient(expr, x)"
        )
    if not callable(f):
        raise fail(
            TypeError,
            f"{who}: expected a function, but got {type(f).__name__}; write {who}(f)(x)",
        )


def _named_after(f: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`functools.wraps`, where f is a function: a ufunc's documentation would mislead."""
    return wraps(f) if hasattr(f, "__code__") else lambda wrapper: wrapper


def _value_and_gradient(roots: list[Expr], leaves: list[Expr]) -> list[Expr]:
    (root,) = roots
    return [root, *cotangents(root, leaves)]  # what is derived is simplified


def _gradient_expr(
    f: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, /, *args: Any, **kwargs: Any
) -> Any:
    single = isinstance(argnums, int)
    places = positions("grad", (argnums,) if isinstance(argnums, int) else argnums, len(args))
    # The other arguments become variables, too, where they are numbers.
    traced = [i for i, arg in enumerate(args) if i in places or _is_numeric(arg)]

    def ready(place: int, value: Any) -> Any:
        return _for_grad(place, value) if place in places else value

    output, leaves, trees = run(f, args, kwargs, traced, ready)
    root = scalar_root(_aux(output, has_aux)[0])
    groups = dict(zip(traced, _groups(trees, leaves), strict=True))
    own = [item for i in places for item in groups[i]]
    (simple,) = simplify_all([root])
    slopes = closed(gradients(simple, own), leaves)
    wanted = [trees[traced.index(i)] for i in places]
    return _unflatten(wanted, simplify_all(slopes, readable=True), single)


def _is_numeric(arg: Any) -> bool:
    return all(
        isinstance(leaf, Expr) or np.asarray(leaf).dtype.kind in "fc"
        for leaf in flatten(arg).leaves
    )


def _aux(output: Any, has_aux: bool, who: str = "grad") -> tuple[Any, Any]:
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise fail(
            TypeError,
            f"{who}: expected f to return a pair (value, aux) with has_aux=True, but got "
            f"{type(output).__name__}",
        )
    return output


def _unflatten(trees: Sequence[Tree], values: Sequence[Any], single: bool) -> Any:
    rest = iter(values)
    parts = tuple([tree.rebuild([next(rest) for _ in tree.leaves]) for tree in trees])
    return parts[0] if single else parts


def _numbers(who: str, argnums: Any) -> tuple[Any, ...]:
    """``argnums`` as a tuple."""
    if isinstance(argnums, int):
        return (argnums,)
    if not isinstance(argnums, tuple | list | range):
        raise fail(
            TypeError,
            f"{who}: expected argnums to be an int or a tuple of them, but got {argnums!r}; "
            f"write {who}(f)(x)",
        )
    return tuple(argnums)


# -- what transforms share -----------------------------------------------------------------------
def positions(who: str, argnums: Sequence[int], count: int) -> tuple[int, ...]:
    """Argument numbers counted from 0, negative ones from the end."""
    found = []
    for i in argnums:
        if count == 0:
            raise fail(
                TypeError,
                f"{who}: expected arguments by position, but got none; write f(2.0), not f(x=2.0)",
            )
        if not isinstance(i, int) or not -count <= i < count:
            raise fail(
                TypeError,
                f"{who}: expected argnums to name one of {count} positional arguments, but got {i!r}",
            )
        found.append(i % count)
    if len(set(found)) < len(found):
        raise fail(
            TypeError, f"{who}: expected each argument once, but got argnums={tuple(argnums)}"
        )
    return tuple(found)


def differentiable_value(who: str, place: int, value: Any) -> Any:
    """A value that may be differentiated in: Python's int as a float, floats and complex as they are."""
    if isinstance(value, float):
        return value
    if isinstance(value, np.ndarray):
        refuse_other_arrays(who, value)
    if isinstance(value, bool | np.bool_):
        kind: Any = "bool"
    elif isinstance(value, int):
        return float(value)
    elif isinstance(value, complex) or (
        isinstance(value, Expr | np.ndarray | np.generic) and differentiable(value.dtype)
    ):
        return value
    elif isinstance(value, Expr) and value.traced and not value.shape and value.dtype.kind == "i":
        return value.astype(float)  # a Python int, under jit
    else:
        refuse_others(who, value)
        kind = getattr(value, "dtype", type(value).__name__)
    raise fail(
        TypeError,
        f"{who}: expected float or complex values in argument {place}, but got {kind}; "
        "convert it with x.astype(float), or leave it out of argnums",
    )


def scalar_root(output: Any) -> Expr:
    """f's result as an expression: a real scalar."""
    if isinstance(output, Expr | float | int | np.ndarray | np.generic):
        root = lift_fully(output)
        if not root.shape and root.dtype.kind == "f":
            return root
        if not root.shape and not isinstance(output, Expr) and root.dtype.kind in "iub":
            return scalar(float(output), np.dtype(float))
        kind = str(root.type)
    else:
        kind = type(output).__name__
    hint = "sum it, or use jacobian"
    if "complex" in kind:
        hint = "take np.real or np.abs of it"
    elif output is None:
        hint = "f has no return"
    elif callable(output) and not isinstance(output, Expr):
        hint = "f returns a function: give it all of its arguments"
    raise fail(TypeError, f"grad: expected f to return a real scalar, but got {kind}; {hint}")


def _warn_unreached() -> None:
    warnings.warn(
        "the output does not depend on the arguments that it is differentiated in, so the gradient is "
        "zero; usually float(), int(), math.* or np.array() inside the function took a plain number "
        "out of a traced value: use numpy's functions instead",
        stacklevel=5,
    )


_for_grad = partial(differentiable_value, "grad")


# -- jvp -----------------------------------------------------------------------------------------
def _as_leaves(values: Sequence[Any]) -> list[Expr]:
    scope = Scope()
    scope.open = False
    return [fresh(value, scope, i, f"g{i}") for i, value in enumerate(values)]


def _matching(who: str, what: str, value: Any, like: Tree, roots: Sequence[Expr]) -> list[Any]:
    """A tree of tangents or cotangents as arrays of the types that they belong to."""
    tree = flatten(value)
    if len(tree.leaves) != len(roots) or tree.paths != like.paths:
        raise fail(
            TypeError,
            f"{who}: expected a {what} of the structure of its primal ({len(roots)} parts), "
            f"but got {len(tree.leaves)} parts",
        )
    ready = []
    for part, root in zip(tree.leaves, roots, strict=True):
        expr = lift_fully(part)
        if expr.shape != root.shape or not np.can_cast(
            expr.dtype, _tangent_dtype(root), "same_kind"
        ):
            raise fail(
                TypeError, f"{who}: expected a {what} of type {root.type}, but got {expr.type}"
            )
        if isinstance(part, Expr):
            ready.append(part if part.dtype == _tangent_dtype(root) else part.astype(root.dtype))
        else:
            ready.append(np.asarray(part, _tangent_dtype(root))[()])
    return ready


def _tangent_dtype(root: Expr) -> np.dtype[Any]:
    return root.dtype if differentiable(root.dtype) else np.dtype(float)


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """f's value and its directional derivative along the tangents, as a pair of trees.

    ``primals`` and ``tangents`` are tuples of the same length and structure. With ``has_aux``, f returns
    a pair, of which the second part is the third result, as it is.

    >>> jvp(lambda x, y: x * y, (3.0, 4.0), (1.0, 0.0))
    (12.0, 4.0)
    """
    _check_function("jvp", f)
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise fail(
            TypeError,
            "jvp: expected tuples of primals and tangents, but got "
            f"{type(primals).__name__} and {type(tangents).__name__}; write jvp(f, (x,), (v,))",
        )
    places = tuple(range(len(primals)))
    output, leaves, trees = run(f, primals, {}, places, partial(differentiable_value, "jvp"))
    if len(tangents) != len(primals):
        raise fail(TypeError, f"jvp: expected {len(primals)} tangents, but got {len(tangents)}")
    seeds = [
        seed
        for tangent, primal, own in zip(tangents, primals, _groups(trees, leaves), strict=True)
        for seed in _matching("jvp", "tangent", tangent, flatten(primal), own)
    ]
    seeds = _as_leaves(seeds)
    output, aux = _aux(output, has_aux, "jvp")
    shape = flatten(output)
    roots = [lift_fully(item) for item in shape.leaves]
    together = derive(_jvp, [*roots, *leaves, *seeds], [*leaves, *seeds])
    values = [result(v) for v in together]
    count = len(roots)
    pair = shape.rebuild(values[:count]), shape.rebuild(values[count:])
    return (*pair, concretize(aux, leaves)) if has_aux else pair


def _groups(trees: Sequence[Tree], leaves: Sequence[Expr]) -> list[list[Expr]]:
    """The leaves by the argument that they belong to."""
    rest = iter(leaves)
    return [[next(rest) for _ in tree.leaves] for tree in trees]


def _jvp(roots: list[Expr], leaves: list[Expr]) -> list[Expr]:
    half = len(leaves) // 2
    outputs = roots[: len(roots) - len(leaves)]
    tangents = {x.key: t for x, t in zip(leaves[:half], leaves[half:], strict=True)}
    flows = pushforward(outputs, tangents)
    return [
        *outputs,
        *[
            zeros_like(out, _tangent_dtype(out)) if flow is None else broadcast_to(flow, out.shape)
            for out, flow in zip(outputs, flows, strict=True)
        ],
    ]


# -- elementwise_grad, stop_gradient -------------------------------------------------------------
def elementwise_grad(
    f: Callable[..., Any] | None = None, argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """The derivative, entry by entry, of a function that acts entry by entry.

    It is the gradient of the sum of f's entries, with the argument's shape.

    >>> import numpy as np
    >>> elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    if f is None:
        return partial(elementwise_grad, argnums=argnums)

    _check_function("elementwise_grad", f)

    def summed(*args: Any, **kwargs: Any) -> Any:
        return np.sum(f(*args, **kwargs))

    return grad(_named_after(f)(summed), argnums)


def stop_gradient(x: Any) -> Any:
    """The same value, through which no derivative flows: a tree of numbers, arrays or expressions.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    tree = flatten(x)
    return tree.rebuild([stopped(v) if isinstance(v, Expr) else v for v in tree.leaves])
