"""From functions to graphs: pytrees, fresh leaves, concrete values.

A function is run on fresh *leaves*, each an identity node like no other whose parent is the value at
this call. There is no stack of traces and no global state: a nested trace makes leaves of its own, and
what a trace needs travels with them. Python's questions (``if x > 0``) are answered by the values.

What a trace made is reduced to a *skeleton*: its distinct operations in order, operands by position,
arrays abstracted. Derivatives are worked out once a skeleton, and kept.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.compiler.disk_cache.cache import named, remembered
from funcgrad.compiler.passes.loop_cse import share_bodies
from funcgrad.compiler.program import Program, lower
from funcgrad.expr import (
    Expr,
    Recorder,
    assemble_node,
    const,
    is_simple,
    scalar,
    subexpressions,
    var,
)
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Key
from funcgrad.ops.base.array_capture import capture, hold, refer, refused, release
from funcgrad.ops.base.op import infer_type, leaf
from funcgrad.rewrite.evaluate import present
from funcgrad.rewrite.simplify import Forms, simplify_all
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.trace.pytree import Tree, flatten


# -- leaves --------------------------------------------------------------------------------------
class Scope:
    """One run of one function: what makes its leaves like no others. Closed when the run has ended."""

    __slots__ = ("number", "open")

    def __init__(self) -> None:
        self.open = True
        self.number = next(_scopes)
        """Later ones have greater numbers."""

    def __repr__(self) -> str:
        return f"scope@{id(self):x}"


_scopes = itertools.count()


def fresh(
    value: Any, scope: Scope, place: int, label: str, recorder: Recorder | None = None
) -> Expr:
    """A leaf that stands for a value in one run of a function; a recorder is told what Python asks it."""
    if isinstance(value, Expr):
        known = value
    elif isinstance(value, np.ndarray) and value.ndim:
        # What is made after the run, such as a cotangent, is used at once.
        known = capture(value) if scope.open else refer(value)
    elif isinstance(value, float):
        known = scalar(value, _FLOAT)
    else:
        known = const(value)
    params = (("scope", scope), ("place", place))
    traced = recorder or known.traced or True
    return assemble_node(leaf, (known,), params, known.type, traced=traced, label=label)


_FLOAT = np.dtype(float)


def run(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    argnums: Sequence[int],
    ready: Callable[[int, Any], Any] = lambda place, value: value,
    recorder: Recorder | None = None,
) -> tuple[Any, list[Expr], list[Tree]]:
    """f on its arguments, those of ``argnums`` with fresh leaves in their trees.

    ``ready`` checks or converts each value, given the number of its argument. Returns f's result, the
    leaves, and the trees that they stand in.
    """
    names = names_of(f, len(args))
    trees = [flatten(args[i], names[i]) for i in argnums]
    scope = Scope()
    leaves: list[Expr] = []
    called = list(args)
    held = hold()
    try:
        for i, tree in zip(argnums, trees, strict=True):
            mine = [
                fresh(ready(i, value), scope, len(leaves) + k, path, recorder)
                for k, (value, path) in enumerate(zip(tree.leaves, tree.paths, strict=True))
            ]
            leaves.extend(mine)
            called[i] = tree.rebuild(mine)
        return f(*called, **kwargs), leaves, trees
    except ValueError as error:
        explained = refused(held, error)
        if explained is None:
            raise
        raise explained from error
    finally:
        scope.open = False
        release(held)


def names_of(f: Any, count: int) -> list[str]:
    """The names of f's positional arguments, as far as they are known."""
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    code = getattr(f, "__code__", None)
    known = () if code is None else code.co_varnames[: code.co_argcount]
    known = known[1:] if hasattr(f, "__self__") else known
    if not known and count == 1:
        return ["x"]
    return [known[i] if i < len(known) else f"x{i}" for i in range(count)]


def trace(f: Callable[..., Any], *args: Any) -> Any:
    """The tree of expressions that f builds from its arguments, on variables named after them.

    A number or array in ``args`` gives its shape and dtype, and its value where f asks for one; an
    expression stands for itself. Arrays that f captures are frozen in the result.

    >>> trace(lambda x, y: x * y + 1, 2.0, 3.0)
    x*y + 1
    """
    output, leaves, _ = run(f, args, {}, range(len(args)))
    return expressions(output, leaves)


def expressions(output: Any, leaves: Sequence[Expr]) -> Any:
    """A traced tree as expressions that outlive the trace: leaves become variables."""
    tree = flatten(output)
    roots = [item if isinstance(item, Expr) else const(item) for item in tree.leaves]
    return tree.rebuild(closed(roots, leaves))


def closed(roots: Sequence[Expr], leaves: Sequence[Expr]) -> list[Expr]:
    """Roots with named variables for leaves that stand for numbers, and captured arrays frozen."""
    given: dict[Key, Expr] = {}
    for expr in subexpressions(*roots):
        if expr.op is CONSTANT and expr.params[0][1].captured:
            given[expr.key] = const(expr.params[0][1].array)
    taken: set[str] = set()
    for item in leaves:
        value = item.args[0]
        if value.op is CONSTANT:
            name = _unused(item.label or "x", taken)
            taken.add(name)
            value = var(name, value.shape, value.dtype)
        given[item.key] = value
    return substitute_all(roots, given)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


# -- skeletons -----------------------------------------------------------------------------------
Row: TypeAlias = tuple[Any, ...]
"""``(op, places of operands, params)``; for inputs and constants, their kind, content and type."""


class Skeleton(NamedTuple):
    """A traced program, arrays abstracted: what derived programs are cached by."""

    rows: tuple[Row, ...]
    roots: tuple[int, ...]
    inputs: list[Any]
    """The values of the input rows: arrays, or expressions of a trace around this one."""
    symbolic: bool
    simple: tuple[int, ...]
    """The rows that the laws are known to leave as they are; not looked for but ``within`` a trace."""
    reached: bool
    """Whether a root depends on a leaf, or is made of derivatives, which may be constant."""


def skeleton(roots: Sequence[Expr], leaves: Sequence[Expr], within: bool = False) -> Skeleton:
    """The distinct operations between leaves and roots, by value numbering.

    What does not depend on the leaves but on a trace around this one is cut off: an input. One walk,
    depth first, on local lists: it runs at every call of a derivative. ``within``: the roots were met
    while f ran, so that leaves of traces inside it, which have ended, are rightly what they stand for.
    """
    since = leaves[0].params[0][1].number if within and leaves else None
    number: dict[Any, int] = {}
    where: dict[int, int] = {}
    rows: list[Row] = []
    inputs: list[Any] = []
    simple: list[int] = []
    kinds: list[int] = []  # of each row: fixed, dependent on a leaf, or of a trace around this one

    def place_input(identity: Any, type: ArrayType, value: Any, kind: int) -> int:
        place = number.get(identity)
        if place is None:
            place = number[identity] = len(rows)
            rows.append((INPUT, f"i{len(inputs)}", type))
            inputs.append(value)
            kinds.append(kind)
        return place

    for item in leaves:
        value = item.args[0]
        known = value.params[0][1].array if value.op is CONSTANT else value
        where[id(item)] = place_input(id(item), item.type, known, _DEPENDENT)
    derivative = False
    stack = list(reversed(roots))
    while stack:
        expr = stack[-1]
        me = id(expr)
        if me in where:
            stack.pop()
            continue
        op = expr.op
        if op is INPUT or (op is leaf and _is_open(expr, since)):
            stack.pop()
            where[me] = place_input(("e", me), expr.type, expr, _FOREIGN)
            continue
        args = expr.args
        parents = tuple([where.get(id(arg), -1) for arg in args])
        if -1 in parents:
            stack.extend([arg for arg in reversed(args) if id(arg) not in where])
            continue
        stack.pop()
        if op is leaf:
            derivative = derivative or expr.params[0][1] is None
            where[me] = parents[0]
            continue
        # An operation's type follows from its operands', so that it need not be hashed.
        row: Row = (op, parents, expr.params)
        kind = _FIXED
        if not parents:
            constant = expr.params[0][1]
            if constant.array.ndim:
                key = ("a", id(constant.array))
                where[me] = place_input(key, expr.type, constant.array, _FIXED)
                continue
            row = (CONSTANT, constant.address, expr.type)
        else:
            for i in parents:
                if kinds[i] > kind:
                    kind = kinds[i]
            if kind == _FOREIGN:
                where[me] = place_input(("e", me), expr.type, expr, _FOREIGN)
                continue
        place = number.get(row)
        if place is None:
            place = number[row] = len(rows)
            rows.append(row)
            kinds.append(kind)
            if within and is_simple(expr):
                simple.append(place)
        where[me] = place
    places = tuple([where[id(root)] for root in roots])
    reached = derivative or any([kinds[i] == _DEPENDENT for i in places])
    symbolic = any([isinstance(value, Expr) for value in inputs])
    return Skeleton(tuple(rows), places, inputs, symbolic, tuple(simple), reached)


_FIXED, _FOREIGN, _DEPENDENT = 0, 1, 2


def _is_open(expr: Expr, since: int | None) -> bool:
    scope = expr.params[0][1]
    if scope is None:  # a constant derivative
        return False
    if not scope.open and (since is None or scope.number < since):
        warnings.warn(
            f"a traced value ({expr.label}) outlived the call that made it, and is used as a constant; "
            "return it from the function instead of storing it",
            stacklevel=2,
        )
    return bool(scope.open)


# -- derived programs ----------------------------------------------------------------------------
Transform: TypeAlias = Callable[[list[Expr], list[Expr]], list[Expr]]
"""From roots and leaves, as expressions, to the expressions wanted: a pure module-level function."""


def derive(
    transform: Transform,
    roots: Sequence[Expr],
    leaves: Sequence[Expr],
    unreached: Callable[[], None] | None = None,
) -> list[Any]:
    """What a transform of a traced program gives: numbers, or expressions inside another trace.

    ``unreached`` is called where no root depends on a leaf.
    """
    found = skeleton(roots, leaves)
    if unreached is not None and not found.reached:
        unreached()
    program = derived(transform, found.rows, found.roots, len(leaves))
    if found.symbolic:
        return rebuilt(program, found.inputs)
    return program.run(found.inputs)


def rebuilt(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """Derived expressions as they are handed over: as formulas, or marked for the trace that they are in."""
    outputs = program.on(inputs)
    around = {value.traced for value in inputs if isinstance(value, Expr) and value.traced}
    if not around:
        return simplify_all(outputs, readable=True)  # a formula, for a reader
    # A derivative is marked as one: it may be constant in what it is differentiated in next, and then
    # nobody should warn that nothing was differentiated.
    marked = [leaf(out, scope=None, place=0) for out in outputs]
    for recorder in around:
        if recorder is not True:
            recorder.derived(program, inputs, marked)
    return marked


@lru_cache(maxsize=512)
def derived(
    transform: Transform, rows: tuple[Row, ...], roots: tuple[int, ...], leaves: int
) -> Program:
    """The transformed program of a skeleton, simplified before and after, and lowered."""
    with Paused():
        exprs = instantiate(rows)
        inputs = [expr for expr in exprs if expr.op is INPUT]
        wanted = [exprs[i] for i in roots]

        def make() -> list[Expr]:
            forms = Forms()
            simple = simplify_all(wanted, forms=forms)
            made = simplify_all(transform(simple, inputs[:leaves]), forms=forms)
            return share_bodies(made) if forms.holds_tuples else made

        how = named(transform, leaves)
        return lower(remembered(how, [*wanted, *inputs], make), inputs)


def instantiate(rows: Sequence[Row], inputs: Sequence[Expr] | None = None) -> list[Expr]:
    """A skeleton's rows as expressions, on ``inputs`` for its input rows or, without, on variables."""
    exprs: list[Expr] = []
    own = None if inputs is None else iter(inputs)
    for op, second, third in rows:
        if op is INPUT:
            name = (("name", second),)
            exprs.append(assemble_node(INPUT, (), name, third) if own is None else next(own))
        elif op is CONSTANT:
            exprs.append(const(np.frombuffer(second, third.dtype)[0]))
        else:
            args = tuple([exprs[i] for i in second])
            exprs.append(assemble_node(op, args, third, infer_type(op, args, third)))
    return exprs


def concretize(tree: Any, leaves: Sequence[Expr]) -> Any:
    """A tree of traced results as numbers, or as expressions inside another trace."""
    flat = flatten(tree)
    traced = [item for item in flat.leaves if isinstance(item, Expr)]
    if not traced:
        return tree
    values = iter(derive(_as_it_is, traced, leaves))
    return flat.rebuild(
        [result(next(values)) if isinstance(item, Expr) else item for item in flat.leaves]
    )


def _as_it_is(roots: list[Expr], leaves: list[Expr]) -> list[Expr]:
    return roots


def result(value: Any) -> Any:
    """A value as a function returns it: a number, an array, or an expression inside another trace."""
    # Most are one of these, which `present` takes 2 us to find out.
    if type(value) is np.float64:
        return value.item()
    if type(value) is float or isinstance(value, Expr):
        return value
    return value if isinstance(value, np.ndarray) and value.ndim else present(value)
