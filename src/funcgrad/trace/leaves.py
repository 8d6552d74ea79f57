"""Leaves: the placeholders on which a function is traced, each with the value that it stands for.

A leaf is an identity operation whose param is the trace's scope, so that leaves of two traces differ. There
is no stack of traces and no global state: a nested trace has its own leaves, and expressions refer to their
scope. Python's questions (``if x > 0``) are answered from the values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from threading import Lock
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray, borrowed, mutable
from funcgrad.arrays.reference import Reference, plain_value
from funcgrad.expr import Expr, assemble_node, const, scalar
from funcgrad.expr.branch_path import PATH
from funcgrad.expr.registry import functions
from funcgrad.expr.scope_order import last_trace, next_in_order
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.array_capture import CapturedArrays, capture, is_unchanged, refer
from funcgrad.ops.base.op import leaf as leaf_op
from funcgrad.source import USERS, is_of_library, position
from funcgrad.trace.float_subclass_trees import in_class_of
from funcgrad.trace.known_code import (
    ARRAYS_HELD,
    AS_IT_IS,
    HELD,
    LEAST_LEVEL,
    WRITABLE,
    has_run,
    runs_as_it_is,
)
from funcgrad.trace.pytree import Tree, flatten, leaves_of
from funcgrad.trace.remedies import explain, tell_replaced
from funcgrad.trace.shared_arguments import (
    GivenArray,
    given_arrays,
    is_stored_into,
    named_arrays,
    refuse_changed,
    refuse_shared_stores,
    refuse_stored,
    refuse_stores,
)

_NUMBERING = Lock()


def begin_trace() -> int:
    """The number of a trace that begins: no expression that is made from now on has a smaller ``birth``."""
    with _NUMBERING:
        last_trace[0] = number = next_in_order()
    return number


class Scope:
    """The scope of one run of a function, which identifies its leaves. It is closed when the run ends.

    All expressions of the leaves refer to it (`funcgrad.expr.TraceContext`). It records no questions.
    """

    __slots__ = ("arrays", "given", "number", "open", "refusal", "searches", "stored")
    records = False
    differentiates = True
    answers = True

    def __init__(self) -> None:
        self.open = True
        self.number = begin_trace()
        """The scopes are numbered in order of creation."""
        self.arrays: CapturedArrays = {}
        """The captured arrays that were copied."""
        self.given: list[tuple[Any, Expr]] = []
        """The caller's arrays for which leaves stand, as far as they were copied, with the constants."""
        self.stored: set[int] = set()
        """The places of the leaves whose arrays transforms inside the run have stored into."""
        self.refusal: Exception | None = None
        """The error by which a number was refused, which the function may catch: its result is wrong then."""
        self.searches: dict[Any, Any] = {}
        """The comparisons of differentiated values (`funcgrad.ops.searches`)."""

    def forget_since(self, start: int) -> None:
        """Forget the questions from then on: the run that asked them was refused, and is repeated."""

    def record(self, asked: Expr, reading: Callable[[Any], Any], answer: Any) -> None:
        """Called for each question of Python."""

    def derived(self, program: Any, inputs: Sequence[Any], outputs: Sequence[Expr]) -> None:
        """Called with the expressions that a transform inside the run has derived."""

    def __repr__(self) -> str:
        return f"scope@{id(self):x}"


runs_on_leaves: ContextVar[bool] = ContextVar("runs_on_leaves", default=False)
"""Whether a function runs on leaves in this context. Nothing is dispatched by it; solvers of plain functions
save a trace where there can be no traced value."""


def fresh(value: object, scope: Scope, place: int, label: str) -> Expr:
    """A leaf that stands for a value in one run of a function."""
    if isinstance(value, Expr):
        known = value
    elif isinstance(value, np.ndarray) and value.ndim:
        # No user code runs after the scope is closed, so the array cannot change: refer to it.
        known = capture(value, scope.arrays) if scope.open else refer(value)
    elif isinstance(value, float):
        known = scalar(value, _FLOAT)
    else:
        known = const(value)
    params: tuple[tuple[str, Any], ...] = (("scope", scope), ("place", place))
    if isinstance(value, _NUMPYS):
        params = (*params, ("numpy", True))
    traced = known.traced or scope
    return assemble_node(leaf_op, (known,), params, known.type, traced=traced, label=label)


_FLOAT = np.dtype(float)
_NUMPYS = (np.integer, np.float64, np.complex128)


def flatten_arguments(
    f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int]
) -> dict[int, Tree]:
    """The flattened arguments with these numbers, labeled with the names of f's parameters."""
    names = parameter_names(f, len(args))
    return {i: flatten(args[i], names[i]) for i in argnums}


def run_on_leaves(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    traced: Mapping[int, Tree] | None = None,
    scope: Scope | None = None,
) -> tuple[Any, list[Expr]]:
    """f's result on arguments with leaves for values, and the leaves.

    ``traced`` has the flattened arguments to trace, by number; all are traced if it is None. ``scope`` is
    given by a caller that reads it afterwards.

    Raises the refusal of a number that f has caught (`funcgrad.expr.concrete.refuse_varied`), and TypeError
    in the place of NumPy's ValueError, if f stores a traced number into an array.
    """
    if traced is None:
        traced = flatten_arguments(f, args, range(len(args)))
    is_checked = scope is None  # the caller does it otherwise
    scope = scope or Scope()
    leaves: list[Expr] = []
    own: dict[int, list[Expr]] = {}
    context = runs_on_leaves.set(True)
    is_outermost = context.old_value is not True
    try:
        for i, tree in traced.items():
            first = len(leaves)
            for value, path in zip(tree.leaves, tree.paths, strict=True):
                leaves.append(fresh(value, scope, len(leaves), path))
            own[i] = leaves[first:]
        scope.given = [*scope.arrays.values()]
        refusals = _refusals(leaves, scope)

        def on_leaves(level: int) -> Any:
            _forget(refusals)
            called, named = list(args), kwargs
            if level >= WRITABLE:
                called = [
                    arg if i in traced else _lent(arg, is_outermost) for i, arg in enumerate(args)
                ]
                named = {name: _lent(arg, is_outermost) for name, arg in kwargs.items()}
            cells: dict[int, tuple[Tree, Sequence[Any]]] = {}
            for i, tree in traced.items():
                items = _as_arguments(tree.leaves, own[i], level)
                cells[i] = tree, items
                called[i] = tree.rebuild(items)
            given: list[GivenArray] = []
            if level >= WRITABLE:
                names = [*parameter_names(f, len(args)), *kwargs]
                every = [*args, *kwargs.values()], [*called, *named.values()]
                given = given_arrays(names, *every, cells)
            try:
                output = _call(f, level, called, named)
            except Exception as error:
                tell_replaced(error, [context.refusal for context in [scope, *_contexts(leaves)]])
                raise
            if given:
                refuse_shared_stores(f, given)
            if scope.given and not all([is_unchanged(*pair) for pair in scope.given]):
                refuse_changed(f, leaves, scope.given)
            if scope.stored and is_checked:
                refuse_stored(f, _arrays_of(f, args, kwargs, traced), scope.stored)
            _raise_caught(refusals)
            return output

        return _adopted_where_needed(f, [*args, *kwargs.values()], on_leaves), leaves
    except ValueError as error:
        # NumPy hides the error of ``y[0] = x`` behind its own: the remedy is to be read last.
        cause = error.__cause__
        if not (isinstance(cause, TypeError) and "setting an array element" in str(error)):
            raise
        told = TypeError(f"setting an array element: {cause}")
        raise told.with_traceback(error.__traceback__) from None
    finally:
        scope.open = False
        runs_on_leaves.reset(context)
        scope.searches.clear()
        scope.refusal = None  # its traceback refers to this frame


# -- adoption: a run, and another after a refusal ----------------------------------------------------
def _level(f: Any, args: Sequence[Any]) -> int:
    """The level of adoption of a function that is called with these arguments."""
    level = AS_IT_IS if runs_as_it_is(f, args) else int(functions["adoption_level"](f, args))
    least = LEAST_LEVEL.get()
    return least if level < least and functions["can_be_adopted"](f) else level


def _call(f: Callable[..., Any], level: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if level == HELD and not ARRAYS_HELD.get():
        before = ARRAYS_HELD.set(True)
        try:
            return functions["call_adopted"](f, args, kwargs)
        finally:
            ARRAYS_HELD.reset(before)
    return functions["call_adopted"](f, args, kwargs) if level else f(*args, **kwargs)


def _adopted_where_needed(
    f: Callable[..., Any], args: Sequence[Any], call: Callable[[int], Any]
) -> Any:
    """The result of ``call`` at the level at which f is adopted; again, at higher levels, if it is refused.

    Effects of a refused run are undone, unless an earlier run of f's code was not refused.

    The error of the last run is raised if a traced value was refused and then f makes a mistake of its own,
    is refused at another line, a function that stands in for SciPy's or compiled code refuses it, a library
    is missing, or the error is marked to say more than the first, the first error otherwise.
    """
    level = _level(f, args)
    start = next_in_order()
    known = isinstance(f, np.ufunc) or (type(f) is FunctionType and has_run(f.__code__))
    rollback = None if known or level == HELD else functions["rollback"](f, args)
    try:
        result = call(level)
    except Exception as error:
        explain(error, args)
        later = functions["level_after"](f, level, error)
        if later is None:
            raise
        refusal = error
    else:
        if rollback is not None:
            rollback.keep()
        return result
    _withdraw(refusal)
    while True:
        if rollback is not None:
            rollback.undo()
        _forget_since(start, args)
        path = PATH.get()
        if path is not None:
            path.forget_since(start)
        try:
            result = call(later)
        except Exception as error:
            further = functions["level_after"](f, later, error)
            if further is not None:
                later = further
                _withdraw(error)
                continue
            explain(error, args)
            told = is_of_stand_in(error) or hasattr(error, "__notes__")
            told = told or hasattr(error, "says_more") or isinstance(error, ImportError)
            told = told or _is_mistake(f, level, error) or _is_at_another_line(refusal, error)
            of_numba = type(refusal).__module__.startswith("numba.")  # which names no value
            if (told and _tells_refusal(refusal)) or of_numba:
                raise
            break
        functions["learn"](f, later)
        return result
    raise refusal  # here, so that what caused it is told, and not the other error


def _forget_since(start: int, item: object) -> None:
    """Have the traces that arguments belong to forget the questions of a run that was refused."""
    if isinstance(item, list | tuple | dict):
        for part in item.values() if isinstance(item, dict) else item:
            _forget_since(start, part)
    elif isinstance(item, Expr) and item.traced:
        item.traced.forget_since(start)


def _tells_refusal(error: BaseException) -> bool:
    """Whether an error, or its cause, says that a traced value was refused, or an array to be written."""
    of_types = (TypeError, AttributeError)
    return isinstance(error, of_types) or isinstance(error.__cause__ or error.__context__, of_types)


def _is_mistake(f: Callable[..., Any], level: int, error: Exception) -> bool:
    """Whether f's own mistake raised the error of an adopted run."""
    if functions["level_after"](f, level, error) is not None:  # raised by funcgrad or a library
        wrong_values = isinstance(error, _OF_MISTAKES)
        return wrong_values and not _tells_refusal(error)
    return not any([kind.__name__ in str(error) for kind in (Expr, MutableArray)])


_OF_MISTAKES = (ArithmeticError, AssertionError, LookupError, ValueError)


def is_of_stand_in(error: BaseException) -> bool:
    """Whether a function that stands in for SciPy's, or for a random draw, raised an error."""
    place: Any = error.__traceback__
    while place.tb_next is not None:
        place = place.tb_next
    return any([home in place.tb_frame.f_code.co_filename for home in _STAND_INS])


_STAND_INS = (
    os.path.join("funcgrad", "scipy", ""),
    os.path.join("adoption", "scipy_functions"),
    os.path.join("stand_ins", "reparameterized"),
)


def _is_at_another_line(refusal: Exception, error: Exception) -> bool:
    """Whether an adopted run passed the line that was refused, and has an error at another one."""
    lines = [_line(found) for found in (refusal, error)]
    return all(lines) and lines[0] != lines[1]


def _line(error: Exception) -> str:
    """The line of the user's code that an error names, or else at which it was raised."""
    named = str(error).partition("\n  at ")[2].partition("\n")[0]
    place, found = error.__traceback__, named
    while place is not None and not named:
        frame = place.tb_frame
        found = (
            found if USERS[frame.f_code.co_filename] else position((frame.f_code, place.tb_lasti))
        )
        place = place.tb_next
    return found


def _withdraw(error: BaseException) -> None:
    """Have the traces forget the refusals that caused an error."""
    cause: Any = error
    for _ in range(16):
        if cause is None:
            return
        context = getattr(cause, "context", None)
        if context is not None and context.refusal is cause:
            context.refusal = None
        cause = cause.__cause__ or cause.__context__


# -- arrays that can be written --------------------------------------------------------------------
def _contexts(leaves: Iterable[Any]) -> list[Any]:
    """The traces to which expressions among some values belong, and those whose leaves they are."""
    found: dict[int, Any] = {}
    for x in leaves:
        if type(x) is Expr and x.traced is not None:
            found[id(x.traced)] = x.traced
            if x.op is leaf_op:
                scope = x.params[0][1]
                if scope is not None:  # of a leaf that stands for a derived value there is none
                    found[id(scope)] = scope
    return [*found.values()]


_Refusals: TypeAlias = list[tuple[Any, Exception | None]]


def _refusals(values: Iterable[Any], scope: Scope | None = None) -> _Refusals:
    """The traces of values, and the scope, each with the refusal that it keeps before a function runs."""
    found = [] if scope is None else [(scope, scope.refusal)]
    if all([type(x) is Expr and x.traced is scope for x in values]):
        return found
    others = [context for context in _contexts(values) if context is not scope]
    return [*found, *[(context, context.refusal) for context in others]]


def _forget(refusals: _Refusals) -> None:
    """Forget the refusals of a run before, of which the function is run again."""
    for context, _ in refusals:
        context.refusal = None


def _raise_caught(refusals: _Refusals) -> None:
    """Raise the refusal that a function has caught; one for users that a library has caught is forgotten."""
    for context, before in refusals:
        refusal = context.refusal
        if refusal is not None and not _is_caught_by_library(refusal):
            raise refusal
        context.refusal = before


def _is_caught_by_library(refusal: Exception) -> bool:
    """Whether a library, or NumPy's compiled code, has caught a refusal and goes on, and may do so."""
    place = refusal.__traceback__
    code = None if place is None else place.tb_frame.f_code
    # Python's own compiled code, as of ``"%d" % x``, puts another error in the place of that of a question.
    is_other = code is None or (is_of_library(code) and not code.co_filename.endswith(_QUESTIONS))
    return is_other and hasattr(refusal, "is_for_users")


_QUESTIONS = os.path.join("funcgrad", "expr", "concrete.py")


def _as_arguments(values: Sequence[Any], leaves: Sequence[Expr], level: int) -> Sequence[Any]:
    """Leaves as a function is given them in the place of values."""
    given = leaves if level < WRITABLE else [_given(leaf) for leaf in leaves]
    if _NO_CELLS.issuperset(map(type, values)):
        return given
    pairs = zip(values, given, strict=True)
    return [x if type(value) in _NO_CELLS else in_class_of(value, x) for value, x in pairs]


def _given(leaf: Expr) -> Any:
    """A leaf as an adopted function is given it: an array can be written."""
    if not leaf.type.shape:
        return leaf
    if leaf.op is not leaf_op:
        return mutable(leaf)
    known = leaf.args[0]
    array = known.params[0][1].array if known.op is CONSTANT else None
    like = None if array is None or array.flags.c_contiguous else np.empty_like(array)
    return mutable(leaf, like)


def _borrow(arg: Any) -> Any:
    """An argument as an adopted function is given it: the caller's array is copied before it is written."""
    return borrowed(arg) if type(arg) is np.ndarray else arg


def _lent(arg: Any, is_outermost: bool) -> Any:
    """An argument that is not traced, as `_borrow` gives it.

    Expressions of enclosing traces may stand in it: arrays that are computed from them can be written.
    An array of `funcgrad.numpy` that is given outside of all traces is one of NumPy's.
    """
    kind = type(arg)
    if kind is Expr:
        return _given(arg)
    if kind is MutableArray:
        return _borrow(plain_value(arg)) if is_outermost else arg
    if kind in _NO_CELLS:
        return _borrow(arg)
    if not any([type(leaf) is Expr for leaf in leaves_of(arg)]):
        return arg
    tree = flatten(arg)
    return tree.rebuild([_given(leaf) if type(leaf) is Expr else leaf for leaf in tree.leaves])


def run(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    keeps: str = "",
    own: Collection[int] = (),
) -> Any:
    """The result of a user's function on traced values.

    ``keeps`` names a transform whose caller would not see what f stores into an argument: a TypeError.
    ``own`` has the identities of values that stand for what no caller has.
    """
    given = [leaf for value in (*args, *kwargs.values()) for leaf in leaves_of(value)]
    refusals = _refusals(given)

    def on_values(level: int) -> Any:
        _forget(refusals)
        output = given_values(level)
        _raise_caught(refusals)
        return output

    def given_values(level: int) -> Any:
        if level < WRITABLE and not _hold_cells([*args, *kwargs.values()]):
            return _call(f, level, args, kwargs)
        tree = flatten((args, kwargs))
        if level < WRITABLE:
            return _call(f, level, *tree.rebuild(tree.leaves))
        values = [_given(leaf) if isinstance(leaf, Expr) else _borrow(leaf) for leaf in tree.leaves]
        before = [getattr(value, "_funcgrad_value", None) for value in values]
        output = _call(f, level, *tree.rebuild(values))
        if keeps:
            pairs = zip(values, before, strict=True)
            refuse_stores(
                keeps, f, [(cell, value) for cell, value in pairs if id(value) not in own]
            )
        if any([is_stored_into(*pair) for pair in zip(values, before, strict=True)]):
            known = zip(named_leaves(f, args, kwargs), values, before, strict=True)
            given = [
                GivenArray(*pair, *cell) for pair, *cell in known if isinstance(cell[0], Reference)
            ]
            refuse_shared_stores(f, given)
        return output

    return _adopted_where_needed(f, [*args, *kwargs.values()], on_values)


def _arrays_of(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], traced: Mapping[int, Tree]
) -> list[tuple[str, Any]]:
    """The values in the arguments with names: first those that leaves stand for, by their places."""
    found = [pair for i, tree in traced.items() for pair in named_arrays(args[i], tree)]
    names = parameter_names(f, len(args))
    rest = [(names[i], arg) for i, arg in enumerate(args) if i not in traced]
    held = [(name, value) for name, arg in [*rest, *kwargs.items()] for value in leaves_of(arg)]
    return [*found, *held]


def named_leaves(
    f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """The leaves of ``flatten((args, kwargs))``, named by f's parameters; an array as the caller has it."""
    named = [*zip(parameter_names(f, len(args)), args, strict=True), *sorted(kwargs.items())]
    return [pair for name, arg in named for pair in named_arrays(arg, flatten(arg, name))]


def _hold_cells(args: Iterable[Any]) -> bool:
    """Whether arguments are arrays of adopted code, or containers, which may hold such."""
    return any([kind is MutableArray or kind not in _NO_CELLS for kind in map(type, args)])


_NO_CELLS = frozenset((int, float, complex, bool, str, type(None), np.ndarray, np.float64, Expr))


def on_arrays(f: Callable[..., Any], keeps: str = "") -> Callable[..., Any]:
    """f as `run` runs it."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return run(f, args, kwargs, keeps)

    called.__wrapped__ = f  # type: ignore[attr-defined]  # its parameters name the leaves
    return called


def parameter_names(f: Any, count: int) -> Sequence[str]:
    """The names of f's positional arguments, as far as they are known."""
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    code = getattr(f, "__code__", None)
    known = () if code is None else code.co_varnames[: code.co_argcount]
    known = known[1:] if hasattr(f, "__self__") else known
    if len(known) == count:
        return known
    if not known and count == 1:
        return ["x"]
    return [known[i] if i < len(known) else f"x{i}" for i in range(count)]
