"""Arguments and results of transforms: argument numbers, dtypes that carry derivatives, trees, seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from inspect import signature, unwrap
from numbers import Number
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr, scalar
from funcgrad.expr.branch_path import PATH
from funcgrad.ops.base.foreign_arrays import refuse_others
from funcgrad.ops.base.op import Op, differentiable, lift_fully, refuse_other_arrays
from funcgrad.printed_text import PrintedText
from funcgrad.rewrite.evaluate import variables
from funcgrad.source import type_error, warn
from funcgrad.trace.float_subclass_trees import check_without_operators
from funcgrad.trace.leaves import Scope, fresh, parameter_names
from funcgrad.trace.pytree import Tree, flatten, flatten_numbers, leaves_of, masked_part
from funcgrad.trace.static import is_static_value
from funcgrad.trace.tree_nodes import own_children
from funcgrad.transformed import FormulaMethod, Transformed, function_of


# -- functions -----------------------------------------------------------------------------------
def _for_formulas(who: str, e: Expr) -> str:
    """What to write for an expression in the place of a transform of a function."""
    if "grad" not in who and who not in ("jit", "vmap"):
        names = [*variables(e)] or ["x"]
        given = ", ".join([f"{name}={name}" for name in names])
        several = len(names) > 1 and ("jac" in who or "hessian" in who)
        places = (
            f", argnums={(*range(len(names)),)}" if several else _REST_OF_CALL.get(who, ")")[:-1]
        )
        return f"{who}(lambda {', '.join(names)}: e({given}){places}), a function of the variables"
    if who == "jit":
        return "e(x=2.0), which runs a compiled program, or to_python(e)"
    if who == "vmap":
        return "e(x=np.linspace(0, 1, 5)), which maps over the values"
    return "gradient(e, x)"


def check_function(who: str, f: object) -> None:
    if isinstance(f, Expr):
        raise type_error(
            f"{who}: expected a function, but got an expression; write {_for_formulas(who, f)}",
        )
    if callable(f):
        return
    if isinstance(f, list | tuple) and any([isinstance(e, Expr) for e in f]):
        raise type_error(
            f"{who}: expected a function, but got a {type(f).__name__} of expressions; write "
            "[[fg.gradient(e, v) for v in (x, y)] for e in es], or a function that returns them",
        )
    raise type_error(
        f"{who}: expected a function, but got {type(f).__name__}; "
        f"write {who}({'lambda x: x**2' if isinstance(f, str) else 'f'}{_REST_OF_CALL.get(who, ')(x)')}",
    )


_REST_OF_CALL = {
    **dict.fromkeys(("hvp", "jvp"), ", (x,), (v,))"),
    **dict.fromkeys(("linearize", "sparsity", "vjp"), ", x)"),
    "check_grads": ", (x,))",
    "taylor": ", x, 2)",
}


def check_tuples(who: str, primals: object, tangents: object) -> None:
    """Refuse primals and tangents that are no tuples, as in ``jvp(f, x, v)``."""
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise type_error(
            f"{who}: expected tuples of primals and tangents, but got "
            f"{type(primals).__name__} and {type(tangents).__name__}; write {who}(f, (x,), (v,))",
        )


def named_after(f: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`functools.wraps` of a function; for an instance, which has no name of its own, a bare link."""
    f = function_of(f)
    if hasattr(f, "__code__"):
        return wraps(f)
    if isinstance(f, np.ufunc | type | BuiltinFunctionType):
        return lambda wrapper: wrapper
    return wraps(f, assigned=(), updated=())


def titled(
    made: Callable[..., Any],
    f: Callable[..., Any],
    who: str,
    what: str,
    expr: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """The function, named for what it is, such as ``grad(sin)``, by its repr and its docstring.

    A function that is decorated keeps its name: see `describe`. ``expr`` gives the result as formulas.
    """
    describe(made, f, who, what)
    if expr is not None:
        method = FormulaMethod(expr)
        method.owner = made.__name__
        made.expr = method  # type: ignore[attr-defined]
    return made if _is_decorated(f) or isinstance(made, Transformed) else Transformed(made)


def describe(made: Callable[..., Any], f: Callable[..., Any], who: str, what: str) -> None:
    """Give a function the name of what it is, and a docstring that says so.

    A function that is decorated keeps its name, by which it can be pickled: it stands in the place of f.
    """
    name = title(f)
    own = getattr(f, "__doc__", None) if not isinstance(f, type) else None
    made.__doc__ = f"{who}({name}): {what.format(name)}" + (f"\n\n{name}:\n{own}" if own else "")
    if not _is_decorated(f):
        made.__name__ = made.__qualname__ = f"{who}({name})"


def title(f: Callable[..., Any]) -> str:
    """A function's name, or that of its class."""
    while isinstance(f, partial) and not isinstance(f, Transformed):
        f = f.func
    own = f.name if isinstance(f, Op) else type(f).__name__
    return str(getattr(f, "__name__", own))


def _is_decorated(f: Callable[..., Any]) -> bool:
    """Whether a function is about to be bound to its own name: it is not yet, and is no local one."""
    name = getattr(f, "__qualname__", "<>")
    if not isinstance(f, FunctionType) or not name.isidentifier():
        return False
    written: Any = unwrap(f)  # what a transform has made has globals of its own
    return getattr(written, "__globals__", f.__globals__).get(name) is not f


# -- arguments -----------------------------------------------------------------------------------
def argument_numbers(who: str, argnums: object, f: Any = None) -> tuple[Any, ...]:
    """``argnums`` as a tuple; an error advises by the positions of f's arguments."""
    if isinstance(argnums, int | np.integer) and not isinstance(argnums, bool):
        return (int(argnums),)
    several = tuple(argnums) if isinstance(argnums, tuple | list | range) else None
    names = [number for number in several or (argnums,) if isinstance(number, str)]
    if names or several is None:
        by_place = _names_by_place(f)
        name = names[0] if names and names[0].isidentifier() else ""
        hint = f"{who}(f)(x), or {who}(f, argnums=1) for the second argument"
        if names and set(names) <= set(by_place):
            places = [by_place.index(n) if isinstance(n, str) else n for n in several or names]
            given = places[0] if several is None else tuple(places)
            hint = f"{who}(f, argnums={given}), and give the argument by position"
        elif name:
            other = "y" if name == "x" else "x"
            hint = f"{who}(lambda {name}: f({other}, {name}={name}))(2.0) for the argument of this name"
        raise type_error(
            f"{who}: expected argnums to be an int or a tuple of them, but got {argnums!r}; "
            f"write {hint}",
        )
    return several


def _names_by_place(f: Any) -> list[str]:
    """The names of the arguments that f takes by position; empty if they are not known."""
    try:
        parameters = signature(f).parameters.values()
    except (TypeError, ValueError):  # a function without a signature
        return []
    return [p.name for p in parameters if p.kind <= p.POSITIONAL_OR_KEYWORD]


def by_position(
    who: str,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    taken: int = 0,
) -> tuple[Any, ...]:
    """All arguments of f by position, with keywords and defaults, as rules take them.

    If no keyword is given, defaults are arguments if the rules take as many as f does, which ``taken``
    says. Else they are values that f captures, as in ``lambda x, n=n: x**n``.

    >>> by_position("primitive", lambda x, y, n=2: x, (1.0,), {"y": 3.0})
    (1.0, 3.0, 2)
    >>> by_position("primitive", lambda x, n=2: x, (1.0,), {}, 2)
    (1.0, 2)
    """
    if not kwargs:
        missing = taken - len(args)
        defaults = (getattr(f, "__defaults__", None) or ()) if missing > 0 else ()
        takes = f.__code__.co_argcount - isinstance(f, MethodType) if defaults else 0
        return (*args, *defaults[-missing:]) if takes == taken and missing > 0 else args
    bound = signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise type_error(
            f"{who}: expected arguments that may be given by position, but got "
            f"{', '.join(bound.kwargs)}",
        )
    return bound.args


def counted_from_end(made: Callable[..., Any], argnums: Sequence[int]) -> None:
    """Note of a transformed function whether a negative argument number tells arguments by position from
    those by name: a jitted function may then not take the one for the other."""
    if min(argnums, default=0) < 0:
        made.counts_from_end = True  # type: ignore[attr-defined]


_INTEGERS = int, np.integer
"""A tuple: a union is made anew at each call."""


def positions(who: str, argnums: Sequence[int], count: int) -> tuple[int, ...]:
    """Argument numbers counted from 0, negative ones from the end."""
    found = []
    for i in argnums:
        if count == 0:
            raise type_error(
                f"{who}: expected the arguments of f by position, but got none; write "
                f"{who}(f)(2.0), not {who}(f)(x=2.0)",
            )
        if not isinstance(i, _INTEGERS) or not -count <= i < count:
            places = "0" if count == 1 else f"0 to {count - 1}"
            raise type_error(
                f"{who}: expected argnums to be {places}, since the call has {count} positional "
                f"argument{'s' * (count > 1)}, but got {i!r}; give the argument by position",
            )
        found.append(int(i) % count)
    if len(set(found)) < len(found):
        raise type_error(f"{who}: expected each argument once, but got argnums={tuple(argnums)}")
    return tuple(found)


def differentiable_arguments(
    who: str, f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int]
) -> dict[int, Tree]:
    """The trees of the differentiated arguments, their values checked and converted."""
    names = parameter_names(f, len(args))
    trees: dict[int, Tree] = {}
    for i in argnums:
        tree = trees[i] = flatten_numbers(args[i], names[i])
        if not tree.leaves and (
            leaves_of(args[i]) or getattr(own_children(args[i]), "fixed", None)
        ):
            differentiable_value(who, i, args[i])  # refuses it
        tree.leaves[:] = [differentiable_value(who, i, value) for value in tree.leaves]
    return trees


def differentiable_value(who: str, place: int, value: Any) -> Any:
    """A value to differentiate in: a Python int as a float, floats and complex numbers unchanged."""
    if isinstance(value, float) or (type(value) is np.ndarray and value.dtype.kind in "fc"):
        return value
    if isinstance(value, np.ndarray):
        refuse_other_arrays(who, value)
    if isinstance(value, bool | np.bool_):
        kind: Any = "bool"
    elif isinstance(value, np.ndarray) and value.dtype == object:
        refuse_others(who, value)
        kind = "an array of objects"
    elif isinstance(value, int):
        if type(value) is not int:
            check_without_operators(type(value))
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
    raise type_error(
        f"{who}: expected float or complex values in argument {place}, but got {kind}; "
        f"{remedy_for(value)}, or {_left_out(who)}",
    )


def _left_out(who: str) -> str:
    """How a call of a transform leaves a value out of what it differentiates in."""
    if who in ("vjp", "jvp", "linearize", "taylor"):
        return "let f capture it, as lambda x: f(x, n)"
    return "leave it out of argnums"


def remedy_for(value: object) -> str:
    """What to do with a value that no derivative is taken in."""
    if isinstance(value, bool):
        return "convert it with float(x), or mark it by fg.static in a tree"
    if hasattr(value, "dtype") or isinstance(value, int):
        return "convert it with x.astype(float), or mark it by fg.static in a tree"
    if is_static_value(value) or own_children(value) is not None or type(value) in (list, dict):
        return "give it numbers or arrays"
    if isinstance(value, Number):
        return "convert it with float(x)"
    if isinstance(value, memoryview) or type(value).__module__ == "array":
        return "convert it with np.asarray(x)"
    kind = type(value).__name__
    return f"make {kind} a dataclass, register it by fg.register_tree({kind})"


def refuse_ranges(who: str, tree: object) -> None:
    """Refuse ranges where arrays are run or mapped over: they are static, so each step would have all."""
    for item in leaves_of(tree):
        if isinstance(item, range):
            kept = repr(item).removeprefix("range(0, ") if item.step == 1 else repr(item)
            array = f"np.arange({kept.removeprefix('range(')}"
            raise type_error(f"{who}: expected arrays, but got {item}; write {array}")


def leaves_by_argument(trees: Sequence[Tree], leaves: Sequence[Expr]) -> list[list[Expr]]:
    """The leaves, grouped by argument."""
    rest = iter(leaves)
    return [[next(rest) for _ in tree.leaves] for tree in trees]


def rebuild_arguments(trees: Sequence[Tree], values: Sequence[Any], single: bool) -> Any:
    rest = iter(values)
    parts = tuple([tree.rebuild([next(rest) for _ in tree.leaves]) for tree in trees])
    return parts[0] if single else parts


# -- results -------------------------------------------------------------------------------------
def scalar_root(output: Any, holomorphic: bool = False, who: str = "grad") -> Expr:
    """f's result as an expression: a real scalar, or a complex one of a holomorphic f."""
    if type(output) is MutableArray:
        output = plain_value(output)
    elif not isinstance(output, Expr):
        node = own_children(output)
        if node is not None and node.is_array and not np.shape(output):  # a number with labels
            (output,) = node.children
    if isinstance(output, _RESULTS):
        root = output if type(output) is Expr else lift_fully(output)
        shape, code = root.type.shape, root.type.dtype.kind
        if not shape and code == ("c" if holomorphic else "f"):
            return root
        if not (holomorphic or shape or isinstance(output, Expr)) and code in "iub":
            return scalar(float(output), np.dtype(float))
        kind = str(root.type)
    else:
        kind = type(output).__name__
    hint = "sum it, or use jacobian"
    if kind.startswith(("int", "uint", "bool")):
        hint = "integers and flags have no derivative: return a float"
    elif holomorphic and "float" in kind and "[" not in kind:
        hint = "leave holomorphic out"
    elif "complex" in kind and not holomorphic:
        hint = "take np.real or np.abs of it, or write holomorphic=True if f is analytic"
    elif isinstance(output, Expr) and output.op.name == "foreign":
        hint = "give the primitive out= the type of its result, if it does not act entry by entry"
    elif output is None:
        hint = "f has no return"
    elif isinstance(output, str):
        hint = "return the number, not its text"
    elif isinstance(output, list | tuple | dict):
        hint = "return one number of it, or use jacobian"
    elif kind in ("generator", "coroutine"):
        hint = "f has yield or async: return one number"
    elif callable(output) and not isinstance(output, Expr):
        hint = "f returns a function: give it all of its arguments"
    wanted = "complex" if holomorphic else "real"
    raise type_error(f"{who}: expected f to return a {wanted} scalar, but got {kind}; {hint}")


_RESULTS = (Expr, float, int, np.ndarray, np.generic)


def check_holomorphic(who: str, leaves: Sequence[Expr]) -> None:
    """Raise a TypeError for a real argument of a function that is said to be holomorphic."""
    for item in leaves:
        if item.dtype.kind != "c":
            raise type_error(
                f"{who}: expected complex arguments with holomorphic=True, but got {item.type}; convert "
                "them with x.astype(complex), or leave holomorphic out",
            )


def split_aux(output: object, has_aux: bool = False, who: str = "grad") -> tuple[Any, Any]:
    if not has_aux:
        _refuse_masked(output, who)
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        kind = str(output.type) if isinstance(output, Expr) else type(output).__name__
        hint = "return value, aux, or leave has_aux out"
        if isinstance(output, tuple):
            kind, hint = f"{len(output)} of them", "return value, (a, b) for several"
        raise type_error(
            f"{who}: expected f to return a pair (value, aux) with has_aux=True, but got {kind}; "
            f"write {hint}",
        )
    _refuse_masked(output[0], who)
    return output


def _refuse_masked(output: object, who: str) -> None:
    """Refuse masked values, whose derivatives would be arrays that count the masked entries."""
    found = masked_part(output)
    if found is None:
        return
    is_array = found.ndim or not bool(found.mask)
    what = "a masked array" if is_array else "np.ma.masked: all entries that make it are masked"
    how = "a.filled(0.0)" if is_array else "a number there, as np.ma.filled(y, 0.0) does"
    raise type_error(f"{who}: expected f to return plain values, but got {what}; return {how}")


def warn_unreached(stepped: bool) -> None:
    """Warn that no derivative reaches the output; ``stepped`` says whether it depends on the arguments."""
    path = PATH.get()
    if path is not None and path.is_one_of_several:  # another path may depend on them
        return
    if stepped:
        warn(
            "the output depends on the arguments that it is differentiated in by steps alone (comparisons, "
            "signs, rounding, conversions to integers), so the gradient is zero; find a root by "
            "scipy.optimize.brentq or fg.implicit_root, which have its derivative"
        )
        return
    warn(
        "the output does not depend on the arguments that it is differentiated in, so the gradient is "
        "zero; int(), round(), text and stop_gradient give values without a derivative"
    )


# -- tangents and cotangents ---------------------------------------------------------------------
def tangent_dtype(root: Expr) -> np.dtype[Any]:
    return root.dtype if differentiable(root.dtype) else np.dtype(float)


def matching_seeds(
    who: str, what: str, value: object, like: Tree, roots: Sequence[Expr]
) -> list[Any]:
    """The leaves of a tree of tangents or cotangents, as arrays of the types of ``roots``."""
    tree = flatten(value)
    if tree.paths != like.paths:
        tree = flatten_numbers(value)
    if len(tree.leaves) != len(roots) or tree.paths != like.paths:
        raise type_error(
            f"{who}: expected a {what} of the structure of {structure_of(like)}, but got "
            f"{structure_of(tree) if tree.leaves else type(value).__name__}",
        )
    ready = []
    for part, root in zip(tree.leaves, roots, strict=True):
        expr = lift_fully(part)
        if expr.shape != root.shape or not np.can_cast(
            expr.dtype, tangent_dtype(root), "same_kind"
        ):
            raise type_error(f"{who}: expected a {what} of type {root.type}, but got {expr.type}")
        if isinstance(part, Expr):
            ready.append(part if part.dtype == tangent_dtype(root) else part.astype(root.dtype))
        else:
            ready.append(np.asarray(part, tangent_dtype(root))[()])
    return ready


def structure_of(tree: Tree) -> str:
    """A tree with the types of its leaves, for messages.

    >>> structure_of(flatten({"a": [1.0, 2]}))
    "{'a': [float64, int64]}"
    """
    return str(tree.rebuild([PrintedText(lift_fully(leaf).type) for leaf in tree.leaves]))


def seed_leaves(values: Sequence[Any]) -> list[Expr]:
    scope = Scope()
    scope.open = False
    return [fresh(value, scope, i, f"g{i}") for i, value in enumerate(values)]


def captured_expressions(f: object) -> dict[str, Expr]:
    """The expressions in a function's closure, and in functions, lists, tuples and dicts there, by the names
    of variables."""
    found: dict[str, Expr] = {}
    waiting, met = [f], set()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, FunctionType) or id(function) in met:
            continue
        met.add(id(function))
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            with suppress(ValueError):  # empty as yet
                held = cell.cell_contents
                items = flatten(held).leaves if isinstance(held, list | tuple | dict) else [held]
                waiting += items
                for value in map(plain_value, items):
                    if isinstance(value, Expr):
                        found[name] = value
    return found
