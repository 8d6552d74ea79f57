"""Leaves: the placeholders on which a function is traced, each with the value that it stands for.

A leaf is an identity operation whose param is the trace's scope, so that leaves of two traces differ. There
is no stack of traces and no global state: a nested trace has its own leaves, and expressions refer to their
scope. Python's questions (``if x > 0``) are answered from the values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray, borrowed, mutable
from funcgrad.expr import Expr, assemble_node, const, scalar
from funcgrad.expr.branch_path import PATH
from funcgrad.expr.registry import functions
from funcgrad.expr.scope_order import next_in_order
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.array_capture import CapturedArrays, capture, refer
from funcgrad.ops.base.op import leaf as leaf_op
from funcgrad.trace.pytree import Tree, flatten, leaves_of
from funcgrad.trace.remedies import explain
from funcgrad.transformed import Transformed, function_of


class Scope:
    """The scope of one run of a function, which identifies its leaves. It is closed when the run ends.

    All expressions of the leaves refer to it (`funcgrad.expr.TraceContext`). It records no questions.
    """

    __slots__ = ("arrays", "number", "open", "refusal")
    records = False
    differentiates = True

    def __init__(self) -> None:
        self.open = True
        self.number = next_in_order()
        """The scopes are numbered in order of creation."""
        self.arrays: CapturedArrays = {}
        """The captured arrays that were copied."""
        self.refusal: Exception | None = None
        """The error by which a number was refused, which the function may catch: its result is wrong then."""

    def forget_since(self, start: int) -> None:
        """Forget the questions from then on: the run that asked them was refused, and is repeated."""

    def record(self, asked: Expr, reading: Callable[[Any], Any], answer: Any) -> None:
        """Called for each question of Python."""

    def derived(self, program: Any, inputs: Sequence[Any], outputs: Sequence[Expr]) -> None:
        """Called with the expressions that a transform inside the run has derived."""

    def __repr__(self) -> str:
        return f"scope@{id(self):x}"


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
    if isinstance(value, np.integer):
        params = (*params, ("numpy", True))
    traced = known.traced or scope
    return assemble_node(leaf_op, (known,), params, known.type, traced=traced, label=label)


_FLOAT = np.dtype(float)


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
    scope = scope or Scope()
    leaves: list[Expr] = []
    own: dict[int, list[Expr]] = {}
    try:
        for i, tree in traced.items():
            own[i] = [
                fresh(value, scope, len(leaves) + k, path)
                for k, (value, path) in enumerate(zip(tree.leaves, tree.paths, strict=True))
            ]
            leaves.extend(own[i])

        def on_leaves(level: int) -> Any:
            called, named = list(args), kwargs
            if level >= WRITABLE:
                called = [arg if i in traced else _lent(arg) for i, arg in enumerate(args)]
                named = {name: _lent(arg) for name, arg in kwargs.items()}
            for i, tree in traced.items():
                called[i] = tree.rebuild(
                    own[i] if level < WRITABLE else [_given(leaf) for leaf in own[i]]
                )
            output = _call(f, level, called, named)
            _raise_caught([scope, *_contexts(leaves)], level)
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
        scope.refusal = None  # its traceback refers to this frame


# -- adoption: levels that are known ---------------------------------------------------------------
KEPT, AS_IT_IS, ADOPTED, WRITABLE, HELD = -1, 0, 1, 2, 3
"""Levels of adoption: a function of a module that is never adopted, one that runs as it is, one that is
adopted, one that is also given arrays that can be written, and one that finds such arrays in the containers
and instances that it reaches, too (`funcgrad.adoption.levels`)."""

ARRAYS_HELD: ContextVar[bool] = ContextVar(
    "whether arrays in containers can be written", default=False
)
"""Whether a function runs at the last level. Views of containers cost time, and are no lists and dicts for
code in C, so that they are made for functions alone that are refused otherwise."""

PLAIN_DATA = frozenset(
    (
        *(int, float, complex, bool, str, bytes, type(None), np.ndarray, np.float64),
        *(list, tuple, dict, set, Expr, MutableArray),
    )
)
"""Types of values that hold no code that could be adopted."""


class Binding(NamedTuple):
    """A name that leads to a function, a class or a module, in the globals of a function."""

    holder: ref[Any] | None
    """The function; None for the one that is asked for."""
    name: str
    value: ref[Any]
    members: tuple[int, ...]
    """Of a user's class, or of an instance, the members of the class (`members_of`)."""


class KnownLevel(NamedTuple):
    """The level of a code object, by the names that it reaches."""

    code: ref[CodeType]
    level: int
    bindings: tuple[Binding, ...]

    def holds(self, f: FunctionType) -> bool:
        """Whether the names lead where they led."""
        if self.code() is not f.__code__:
            return False
        for holder, name, value, members in self.bindings:
            function = f if holder is None else holder()
            found = value()
            if function is None or function.__globals__.get(name) is not found:
                return False
            if members and members_of(found if isinstance(found, type) else type(found)) != members:
                return False
        return True


def members_of(kind: type) -> tuple[int, ...]:
    """The ids of the members of a class and its bases: others where a method has been replaced."""
    return tuple([id(item) for base in kind.__mro__[:-1] for item in vars(base).values()])


KNOWN_LEVELS: dict[int, KnownLevel] = {}
"""The levels of code objects by the names in it, by id."""

LEARNED: dict[int, tuple[ref[CodeType], int]] = {}
"""The code of functions that were refused, and ran at a higher level, by id."""


class ClassLevel(NamedTuple):
    """The level of the methods of a class, with its members then."""

    level: int
    members: tuple[int, ...]


CLASS_LEVELS: WeakKeyDictionary[type, ClassLevel] = WeakKeyDictionary()
"""The levels of the methods of classes."""


def known_class_level(kind: type) -> int | None:
    """The level of a class whose members are those that it had; None if it is not known."""
    known = CLASS_LEVELS.get(kind)
    return None if known is None or known.members != members_of(kind) else known.level


class HeldFunction(NamedTuple):
    """A function, and the contents of its closure."""

    function: ref[FunctionType]
    known: KnownLevel
    contents: tuple[ref[Any] | None, ...] | None
    """What each cell holds, None for plain data; None for a function that is never adopted."""

    def is_unchanged(self) -> bool:
        """Whether its names and its cells lead where they led."""
        f = self.function()
        if f is None or not self.known.holds(f):
            return False
        if self.contents is None:
            return True
        if f.__defaults__ or f.__kwdefaults__:
            return False
        for cell, content in zip(f.__closure__ or (), self.contents, strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # empty by now
                return False
            if type(value) not in PLAIN_DATA if content is None else content() is not value:
                return False
        return id(f.__code__) not in LEARNED


_RUN_AS_THEY_ARE: dict[int, tuple[HeldFunction, ...]] = {}
"""Functions that run as they are, by id: each with those that its closure leads to."""


def runs_as_it_is(f: Any, args: Iterable[Any]) -> bool:
    """Whether f is known to be called as it is with these arguments; False if that is not known."""
    function = f
    if type(f) is not FunctionType:
        function = _code_of(f)
        if function is None:
            return False
        args = (f.__self__, *args) if type(f) is MethodType else args
    for arg in args:
        kind = type(arg)
        if kind not in PLAIN_DATA and (kind in _WITH_CODE or known_class_level(kind) != AS_IT_IS):
            return False
    held = _RUN_AS_THEY_ARE.get(id(function))
    if held is None or held[0].function() is not function:
        return False
    return all([one.is_unchanged() for one in held])


def _code_of(f: Any) -> FunctionType | None:
    """The function that a method, an instance or a transformed function runs."""
    f = function_of(f)
    if type(f) is FunctionType:
        return f
    function = f.__func__ if type(f) is MethodType else vars(type(f)).get("__call__")
    return function if type(function) is FunctionType else None


_WITH_CODE = frozenset((FunctionType, MethodType, ModuleType, type))


def note_runs_as_it_is(f: Any) -> None:
    """Keep in mind that f runs as it is, if that depends on nothing but names and cells."""
    f = f if type(f) is FunctionType else _code_of(f)
    if f is None:
        return
    held: list[HeldFunction] = []
    waiting: list[FunctionType] = [f]
    while waiting:
        function = waiting.pop()
        known = KNOWN_LEVELS.get(id(function.__code__))
        if known is None:
            return
        if known.level == KEPT:
            held.append(HeldFunction(ref(function), known, None))
            continue
        if function.__defaults__ or function.__kwdefaults__:
            return
        contents: list[ref[Any] | None] = []
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # empty as yet
                return
            kind = type(value)
            if kind not in PLAIN_DATA and kind not in (FunctionType, ModuleType, Transformed):
                return
            contents.append(None if kind in PLAIN_DATA else ref(value))
            inner = function_of(value)
            if type(inner) is FunctionType and all([one.function() is not inner for one in held]):
                waiting.append(inner)
        held.append(HeldFunction(ref(function), known, tuple(contents)))
    key = id(f)
    first = held[0]._replace(function=ref(f, lambda _: _RUN_AS_THEY_ARE.pop(key, None)))
    _RUN_AS_THEY_ARE[key] = (first, *held[1:])


def learn_code(code: CodeType, level: int) -> None:
    """Keep in mind that functions with this code run at a level."""
    key = id(code)
    LEARNED[key] = ref(code, lambda _: LEARNED.pop(key, None)), level


def note_level(code: CodeType, level: int, bindings: Sequence[Binding]) -> KnownLevel:
    """Keep the level of code by the names in it."""
    key = id(code)
    noted = ref(code, lambda _: KNOWN_LEVELS.pop(key, None))
    known = KNOWN_LEVELS[key] = KnownLevel(noted, level, tuple(bindings))
    return known


# -- adoption: a run, and another after a refusal ----------------------------------------------------
def _level(f: Any, args: Sequence[Any]) -> int:
    """The level of adoption of a function that is called with these arguments."""
    return AS_IT_IS if runs_as_it_is(f, args) else int(functions["adoption_level"](f, args))


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

    The error of the last run is raised if a traced value was refused and then f makes a mistake of its own,
    is refused at another line, or a function that stands in for SciPy's or compiled code refuses it, the
    first error otherwise.
    """
    level = _level(f, args)
    start = next_in_order()
    try:
        return call(level)
    except Exception as error:
        explain(error, args)
        later = functions["level_after"](f, level, error)
        if later is None:
            raise
        refusal = error
    _withdraw(refusal)
    while True:
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
            told = _is_of_stand_in(error) or hasattr(error, "__notes__")
            told = told or _is_mistake(f, level, error) or _is_at_another_line(refusal, error)
            if told and _tells_refusal(refusal):
                raise
            raise refusal from refusal.__cause__
        functions["learn"](f, later)
        return result


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


def _is_of_stand_in(error: BaseException) -> bool:
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
    """Whether an adopted run passed the line that was refused, and was refused at another one."""
    lines = [str(found).rpartition("\n  at ")[1:] for found in (refusal, error)]
    return all([at for at, _ in lines]) and lines[0] != lines[1]


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
    """The traces to which expressions among some values belong."""
    found = {id(x.traced): x.traced for x in leaves if type(x) is Expr and x.traced is not None}
    return list(found.values())


def _raise_caught(contexts: Iterable[Any], level: int) -> None:
    """Raise the refusal that a function has caught; one of plain code is forgotten if the code is adopted."""
    for context in contexts:
        refusal = context.refusal
        if refusal is not None:
            if level < WRITABLE or not hasattr(refusal, "of_plain_code"):
                raise refusal
            context.refusal = None


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


def _lent(arg: Any) -> Any:
    """An argument that is not traced, as `_borrow` gives it.

    Expressions of enclosing traces may stand in it: arrays that are computed from them can be written.
    """
    kind = type(arg)
    if kind is Expr:
        return _given(arg)
    if kind in _NO_CELLS or kind is MutableArray:
        return _borrow(arg)
    if not any([type(leaf) is Expr for leaf in leaves_of(arg)]):
        return arg
    tree = flatten(arg)
    return tree.rebuild([_given(leaf) if type(leaf) is Expr else leaf for leaf in tree.leaves])


def run(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a user's function on traced values."""

    def on_values(level: int) -> Any:
        output = given_values(level)
        given = [leaf for value in (*args, *kwargs.values()) for leaf in leaves_of(value)]
        _raise_caught(_contexts(given), level)
        return output

    def given_values(level: int) -> Any:
        if level < WRITABLE and not _hold_cells([*args, *kwargs.values()]):
            return _call(f, level, args, kwargs)
        tree = flatten((args, kwargs))
        if level < WRITABLE:
            return _call(f, level, *tree.rebuild(tree.leaves))
        values = [_given(leaf) if isinstance(leaf, Expr) else _borrow(leaf) for leaf in tree.leaves]
        return _call(f, level, *tree.rebuild(values))

    return _adopted_where_needed(f, [*args, *kwargs.values()], on_values)


def _hold_cells(args: Iterable[Any]) -> bool:
    """Whether arguments are arrays of adopted code, or containers, which may hold such."""
    return any([kind is MutableArray or kind not in _NO_CELLS for kind in map(type, args)])


_NO_CELLS = frozenset((int, float, complex, bool, str, type(None), np.ndarray, np.float64, Expr))


def on_arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    """f as `run` runs it."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return run(f, args, kwargs)

    called.__wrapped__ = f  # type: ignore[attr-defined]  # its parameters name the leaves
    return called


def parameter_names(f: Any, count: int) -> list[str]:
    """The names of f's positional arguments, as far as they are known."""
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    code = getattr(f, "__code__", None)
    known = () if code is None else code.co_varnames[: code.co_argcount]
    known = known[1:] if hasattr(f, "__self__") else known
    if not known and count == 1:
        return ["x"]
    return [known[i] if i < len(known) else f"x{i}" for i in range(count)]
