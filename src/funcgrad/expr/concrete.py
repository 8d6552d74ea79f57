"""Concrete values: the answers to Python's questions.

A traced expression knows the values of its leaves at this call. Its own is computed when Python first
asks (``if x > 0``, ``int(x)``, an index, a text), and kept; what records questions is told. Only
``repr(x)`` asks nothing: it is the formula, as a debugger shows it.

A question whose answer would carry a derivative (``float(x)``, ``complex(x)``, ``math.sin(x)``) is a
TypeError where the value is being differentiated (`funcgrad.ops.base.activity`).
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from itertools import count
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr.branch_path import PATH, Path
from funcgrad.expr.node import ExprBase, set_value
from funcgrad.expr.plain_numbers import advice, refuse_model, remedy
from funcgrad.expr.registry import functions
from funcgrad.expr.rounding_texts import is_remainder_of_text, warn_of_number
from funcgrad.expr.subscripted_object import refuse_mask
from funcgrad.fold import folded, reaches
from funcgrad.graph import CONSTANT, INPUT, Operands, subexpressions
from funcgrad.printed_text import one_line
from funcgrad.source import USERS, is_for_people, position, type_error, value_error, with_name
from funcgrad.typing import ArrayLike

value_questions = [0]
"""How often code asked for values of a trace, or whether they are varied, in any thread."""


# -- how a value is read ---------------------------------------------------------------------------
# What records questions knows a reading by its identity, so that each is made once.
def _itself(value: object) -> Any:
    return value


def _item(value: object) -> Any:
    return value.item() if hasattr(value, "item") else value


def _number(value: Any) -> Any:
    """A value as Python has it: a number of its own, or the array that it is."""
    return value.item() if getattr(value, "shape", None) == () else value


def index(value: ArrayLike) -> Any:
    """A value as an index, which a bool is, too, where it came in as Python's."""
    return operator.index(_number(value))


def _on_number(function: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    def reading(value: object) -> Any:
        return function(_number(value))

    return with_name(reading, name)


@lru_cache(maxsize=256)
def _formatted(spec: str) -> Callable[[Any], str]:
    @wraps(format)
    def reading(value: object) -> str:
        return format(value, spec)

    return reading


def _question(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    reading = _on_number(function, name)

    def method(self: Any) -> Any:
        return _answer(self, f"{name}()", reading)

    return with_name(method, name, f"``{name}()`` of the concrete value, under a transform.")


def _method(name: str) -> Callable[[Any], Any]:
    return _question(name, operator.methodcaller(name))


_as_ratio = _on_number(operator.methodcaller("as_integer_ratio"), "as_integer_ratio")
_as_hex = _on_number(operator.methodcaller("hex"), "hex")


HOLDS_NUMBER = "__funcgrad_holds_number__"
"""The key of the globals of classes whose instances hold an expression and answer by it."""


def asker_of(frame: Any) -> Any:
    """The frame that asks an expression, or the instance that holds it."""
    return frame.f_back if HOLDS_NUMBER in frame.f_globals else frame


class Questions:
    """Python's questions, answered by the concrete value under a transform."""

    __slots__ = ()

    def __bool__(self: Any) -> bool:
        # A dict or a set compares what has one hash: equal formulas are equal, whatever their values. A list
        # compares with each of its items: variables are equal if they are the same.
        if not self.traced and self.op.name in ("equal", "not_equal"):
            x, y = map(_before_broadcast, self.args)
            is_same = x.key == y.key
            if (is_same and _has_input(x)) or (x.op is INPUT and y.op is INPUT):
                return is_same is (self.op.name == "equal")
        known = answer_of_path(self)
        if known is not None:
            return known
        answer = bool(_answer(self, "bool()", bool))
        functions["warn_of_equal_numbers"](self, answer)
        functions["warn_of_search"](self, answer)
        return answer

    def __float__(self: Any) -> float:
        asker = asker_of(sys._getframe(1))
        if self.traced and functions["is_varied"](self) and is_remainder_of_text(asker):
            warn_of_number(self, asker, True)
            return float(_answer(self, "a format", float))  # text is for people, as in `__format__`
        return float(number(self, "float()", float))

    def __int__(self: Any) -> int:
        answer = answer_of_path(self) if self.type.dtype.kind == "b" else None
        return int(_answer(self, "int()", int) if answer is None else answer)

    def __complex__(self: Any) -> complex:
        return complex(number(self, "complex()", complex))

    def __index__(self: Any) -> int:
        # Else NumPy takes an array of one entry, which an index may be, for a number.
        if self.shape:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        if self.type.dtype.kind == "b":
            refuse_mask(asker_of(sys._getframe(1)))
        answer = answer_of_path(self) if self.type.dtype.kind == "b" else None
        if answer is not None:
            return int(answer)
        reading = operator.index if self.type.dtype.kind in "iu" else index
        return int(_answer(self, "an index", reading))

    __trunc__ = _question("trunc", math.trunc)
    __floor__ = _question("floor", math.floor)
    __ceil__ = _question("ceil", math.ceil)

    # What Python's own numbers can do beyond.
    is_integer = _method("is_integer")
    bit_length = _method("bit_length")
    bit_count = _method("bit_count")

    def as_integer_ratio(self: Any) -> tuple[int, int]:
        """``as_integer_ratio()`` of the concrete value, under a transform."""
        ratio: tuple[int, int] = number(self, "as_integer_ratio()", _as_ratio)
        return ratio

    def hex(self: Any) -> str:
        """``hex()`` of the concrete value, under a transform."""
        text: str = number(self, "hex()", _as_hex)
        return text

    def item(self: Any, *place: Any) -> Any:
        """The one entry, or that at a place: an expression, or, of a traced integer, a Python number."""
        if not place and self.size != 1:
            raise value_error(f"item: expected an array with one entry, but got {self.type}")
        if len(place) == 1 and not isinstance(place[0], tuple):
            entry = functions["ravel"](self)[place[0]]
        elif place:
            entry = self[place[0] if len(place) == 1 else place]
        else:
            entry = functions["reshape"](self, ()) if self.shape else self
        refuse_model(sys._getframe(1).f_code)
        is_whole = entry.traced and entry.dtype.kind in "biu"
        return concrete(entry, "item()", _item) if is_whole else functions["as_pythons"](entry)

    def __str__(self: Any) -> str:
        if not self.traced:
            return str(functions["text"](self))
        asker = asker_of(sys._getframe(1))
        if _is_told(self, asker):
            return _told(self)
        warn_of_number(self, asker, False)
        return str(_answer(self, "str()", str))

    def __format__(self: Any, spec: str) -> str:
        if not (spec or self.traced):
            return str(functions["text"](self))
        asker = asker_of(sys._getframe(1))
        if _is_told(self, asker):
            return _told(self)
        warn_of_number(self, asker, bool(spec))
        if not self.traced and _is_width(spec) and _has_input(self):
            return format(repr(self), spec)
        return str(_answer(self, "a format", _formatted(spec)))


def _is_width(spec: str) -> bool:
    """Whether a format is for any text, as ``>20`` is: it asks for no digits."""
    return re.fullmatch(r"(.?[<>^])?[0-9]+", spec) is not None


def answer_of_path(root: ExprBase) -> bool | None:
    """The truth value that the path of a run has for one that stands for many; None without one."""
    path = PATH.get()
    if path is None or root.size != 1 or has_known_value(root):
        return None
    return path.answer(root)


def _is_told(root: ExprBase, caller: FrameType) -> bool:
    """Whether the text of a value that stands for many is for people: in an error, or in a call that gives
    nothing back."""
    if PATH.get() is None or has_known_value(root):
        return False
    return is_for_people(caller.f_code, caller.f_lasti)


def _told(root: ExprBase) -> str:
    """The formula of a value that stands for many; of a long one, whose text would take long, its type."""
    number = count()
    is_long = reaches([root], lambda _: next(number) == LONGEST_TOLD, operator.attrgetter("args"))
    return f"‹{root.type}›" if is_long else str(functions["text"](root))


LONGEST_TOLD = 200
"""Nodes of a formula that is told where a function prints it while it is traced."""


def concrete_value(value: object, asker: str) -> Any:
    """The value of a traced expression at this call, as a number or an array; anything else as it is."""
    if not isinstance(value, ExprBase):
        return value
    answer = concrete(value, asker, _itself if value.shape else _item)
    # Python's own integers stand for those of 64 bits: they do not wrap.
    if type(answer) is int and value.dtype != np.int64:
        return value.dtype.type(answer)
    return answer


def has_plain_array(root: ExprBase) -> bool:
    """Whether NumPy may have the value of a traced expression: one without a gradient that could be cut.

    So is an integer, what has outlived its trace, and, where no question is a guard, what the user says is
    a constant, by `stop_gradient`. What is one by a step, such as a sign, stays an expression: laws know it.
    """
    trace = root.traced
    if trace is None or root.dtype.kind in "biu":
        return trace is not None
    if functions["is_varied"](root):
        return False
    return not trace.open or (not trace.records and has_known_value(root) and _is_said(root))


def _is_said(root: ExprBase) -> bool:
    """Whether an expression depends on leaves through `stop_gradient` alone."""

    def operands(expr: ExprBase) -> tuple[ExprBase, ...]:
        return () if expr.op.name == "stop_gradient" else expr.args

    return not any([expr.op.name == "leaf" for expr in subexpressions(root, operands=operands)])


def assignment() -> Any:
    """The refusal of an assignment to an item of an expression, or of an expression to an item."""
    return type_error(
        "item assignment: expected a value that can change, but an expression is immutable, and "
        "a NumPy array does not hold one; write x = x.at[i].set(v) instead of x[i] = v, with x an "
        "expression, or build the array by np.stack([...])",
    )


def in_place_operator(symbol: str) -> Any:
    """The refusal of ``x += y`` on an array of traced values that is an expression."""
    return type_error(
        f"{symbol}=: expected an array that can be written, since NumPy's would change for all of its names, "
        f"but an expression is immutable; write x = x {symbol} y, or fg.adopt(f) for the function",
    )


def concrete(root: ExprBase, asker: str, reading: Callable[[Any], Any] = _itself) -> Any:
    """What Python reads off the value that a traced expression has at this call.

    The value is computed when it is first read, and kept. The trace's context records the question. Where a
    value stands for many, as under vmap, the path of the run may know them.
    """
    path = _path_with_values(root)
    if path is not None:
        return path.read(root, asker, reading)
    answer = reading(_value(root, asker))
    if root.traced is not None:
        root.traced.record(root, reading, answer)
    return answer


def _path_with_values(root: ExprBase) -> Path | None:
    """The path that knows the values of an expression that stands for many; None without one."""
    path = PATH.get()
    return None if path is None or not path.reads or has_known_value(root) else path


def has_known_value(root: ExprBase) -> bool:
    """Whether a traced expression stands for one value, which Python may ask for."""
    _keep_causes(root)
    if isinstance(getattr(root, "_value", None), _Valueless):
        value_questions[0] += root.traced is not None
        return False
    try:
        _value_if_known(root, _unless_known_without)
    except (_NoValueError, TypeError):
        return False
    return True


def known_value(root: ExprBase) -> Any:
    """The value that a traced expression has at this call, without a question; None if it has none."""
    return _value(root, "a value") if has_known_value(root) else None


def value_at_trace(value: object, asker: str) -> Any:
    """The value at this call of a traced expression, without a question; anything else as it is.

    For numbers that stay as they are in later runs, such as the probability of a random draw.
    """
    known = known_value(value) if isinstance(value, ExprBase) else value
    return concrete_value(value, asker) if known is None else known


def _answer(root: ExprBase, asker: str, reading: Callable[[Any], Any]) -> Any:
    """`concrete`, for the user's code, which may catch the refusal of a value that stands for many."""
    if _path_with_values(root) is None:
        try:
            _value(root, asker)
        except TypeError as error:
            refusal: Any = error
            refusal.is_for_users = True  # a library's code may try it
            _keep_refusal(root, root.traced, refusal)
            raise
    return concrete(root, asker, reading)


def number(root: ExprBase, asker: str, reading: Callable[[Any], Any]) -> Any:
    """`concrete`, where the answer would carry a derivative: refused for what is being differentiated."""
    if _path_with_values(root) is None:
        try:
            _value(root, asker)
        except TypeError as refusal:  # what has no value says so
            _keep_refusal(root, root.traced, refusal)
            raise
    refuse_varied(root, asker)
    _refuse_guard(root, asker)
    return concrete(root, asker, reading)


def refuse_varied(root: ExprBase, asker: str) -> None:
    """Refuse to give the value of an expression that depends differentiably on a leaf of a running trace.

    The trace keeps the refusal of a number, and raises it where the function catches it and returns. An array
    has no number, so that code which tries ``float(x)`` to tell the two apart may go on.
    """
    if root.traced is None or not functions["is_varied"](root):
        return
    path = PATH.get()
    state = (
        "being differentiated"
        if path is None or not path.reads
        else "mapped by vmap or differentiated"
    )
    refusal = type_error(
        f"{asker}: expected a value without a derivative, but got one that is {state}, "
        f"and a plain number would lose the derivative; {advice()}, or write {_stopped(asker)} if "
        "the derivative is meant to be zero",
        USERS,
    )
    _keep_refusal(root, root._varied, refusal)
    raise refusal


def _refuse_guard(root: ExprBase, asker: str) -> None:
    """Refuse a float that would be a guard of its own for each value, while adopted code may not need it."""
    trace = root.traced
    if trace is None or trace.answers or root.dtype.kind not in "fc":
        return
    refusal = type_error(
        f"{asker}: expected a value that stands for one number, but got one that is compiled for many; "
        f"{advice()}",
        USERS,
    )
    _keep_refusal(root, trace, refusal)
    raise refusal


def _keep_refusal(root: ExprBase, context: Any, refusal: Any) -> None:
    """Have the trace raise a refusal of a number where the function returns, if it has caught it."""
    if root.size == 1 and context is not None:
        context.refusal = refusal
        refusal.context = context


def kept_for_users(root: ExprBase | None, refusal: Any) -> Any:
    """A refusal of what NumPy does, which the trace raises where a user's function catches it and returns.

    Code that catches it takes another path than with numbers. A library that does may go on.
    """
    if root is not None and root.traced is not None and root.traced.refusal is None:
        root.traced.refusal = refusal
        refusal.context, refusal.is_for_users = root.traced, True
    return refusal


def _stopped(asker: str) -> str:
    """How to write a value whose derivative is zero."""
    name, call, _ = asker.partition("()")
    return (
        f"{name}(fg.stop_gradient(x))"
        if call and name in ("float", "complex")
        else "fg.stop_gradient(x)"
    )


class _NoValueError(Exception):
    """An expression depends on an input, which stands for any value."""


def _value(root: ExprBase, asker: str) -> Any:
    try:
        return _value_if_known(root)
    except _NoValueError:
        raise _no_value(root, asker) from None


class _Valueless(NamedTuple):
    """What is kept in the place of a value: the expression below, or itself, that has none."""

    cause: ExprBase


def _without_value(expr: ExprBase) -> tuple[ExprBase, ...]:
    """The operands to compute before an expression: none if its value is known."""
    return () if hasattr(expr, "_value") else expr.args


def _unless_known_without(expr: ExprBase) -> tuple[ExprBase, ...]:
    """`_without_value`, and none if an operand is known to have no value."""
    return () if hasattr(expr, "_value") or _causes(expr) else expr.args


def _causes(expr: ExprBase) -> list[ExprBase]:
    """The expressions that leave operands without a value, as far as is known."""
    kept = [arg._value for arg in expr.args if hasattr(arg, "_value")]
    return [value.cause for value in kept if type(value) is _Valueless]


def _value_if_known(root: ExprBase, operands: Operands = _without_value) -> Any:
    """The value of an expression; raises _NoValueError, which costs no text, if it depends on an input."""
    if root.traced is not None:  # else it is the same in all calls
        value_questions[0] += 1
    if hasattr(root, "_value"):
        return _kept_value(root)

    def step(expr: ExprBase, values: tuple[Any, ...]) -> Any:
        if hasattr(expr, "_value"):
            return _kept_value(expr)
        if not values and expr.args:  # an operand has no value
            set_value(expr, _Valueless(_causes(expr)[0]))
            return _kept_value(expr)
        try:
            value = _computed(expr, values)
        except (_NoValueError, TypeError):
            set_value(expr, _Valueless(expr))
            raise
        set_value(expr, value)
        return value

    try:
        with np.errstate(all="ignore"):
            return folded([root], step, operands=operands)[0]
    except (_NoValueError, TypeError):
        _keep_causes(root)
        raise


def _kept_value(expr: ExprBase) -> Any:
    kept = expr._value
    if type(kept) is not _Valueless:
        return kept
    with np.errstate(all="ignore"):
        return _computed(kept.cause, tuple([arg._value for arg in kept.cause.args]))  # raises anew


def _keep_causes(root: ExprBase) -> None:
    """Note which expressions have no value, so that no later question walks over them again."""

    def step(expr: ExprBase, _: tuple[None, ...]) -> None:
        found = _causes(expr)
        if found and not hasattr(expr, "_value"):
            set_value(expr, _Valueless(found[0]))

    folded([root], step, operands=_unless_known_without)


def _computed(expr: ExprBase, operands: tuple[Any, ...]) -> Any:
    if expr.op is INPUT:
        raise _NoValueError
    if expr.op is CONSTANT:
        return expr.params[0][1].array
    try:
        return expr.op.run(*operands, **dict(expr.params))
    except Exception as error:
        tell_node(error, expr)
        raise


def tell_node(error: Exception, node: Any) -> None:
    """Add to an error of a program that runs the node that raises it, with the line that made the node."""
    if isinstance(node, ExprBase) and node.source is not None and not hasattr(error, "__notes__"):
        operands = ", ".join([str(arg.type) for arg in node.args])
        error.add_note(f"raised by {node.op.name} of {operands}\n  at {position(node.source)}")


def _before_broadcast(operand: ExprBase) -> ExprBase:
    """What was compared: an operand without the conversions of shape and dtype that NumPy does by itself."""
    while getattr(operand.op, "hidden", False):
        operand = operand.args[0]
    return operand


def _has_input(root: ExprBase) -> bool:
    return any(expr.op is INPUT for expr in subexpressions(root))


def _no_value(expr: ExprBase, asker: str) -> Any:
    # NumPy's own error follows where an array's element is set: the remedy is to be read first.
    found = remedy() if asker in ("float()", "complex()") else ""
    remedies = (
        _TRACED_REMEDIES.get(asker, _CHOOSE)
        if expr.traced
        else f"write {_remedy(expr, '' if found else asker)}"
    )
    return type_error(
        f"{asker}: expected a number, but {one_line(expr, 40)!r} has none, since it stands for "
        f"any value; {f'{found}; ' if found else ''}{remedies}",
        USERS,
    )


_CHOOSE = (
    "choose with fg.cond or np.where(condition, a, b), loop with fg.while_loop, and compute with np.sin, not "
    "math.sin; a function that is differentiated with grad(f), or mapped with vmap(f), and no loop's, knows "
    "its values"
)
_INDEX = (
    "write np.array(values)[i] or fg.const(values)[i] to index values, np.where(np.arange(len(a)) < i, a, 0) "
    "for a[:i], whose length varies, and fg.fori_loop for range(n)"
)
_COUNT = (
    "write np.trunc(x).astype(int) for an integer that stands for many, which indexes arrays, as in "
    f"np.array(values)[i], and is compared; it counts no range and is no length of a shape; {_CHOOSE}"
)
_TEXT = "write repr(x) for its formula"
_TRACED_REMEDIES = {
    "int()": _COUNT,
    "an index": _INDEX,
    "an array": _INDEX,
    "str()": _TEXT,
    "a format": _TEXT,
}
"""What to write in the body of a loop, by what Python asked for."""


def _remedy(expr: ExprBase, asker: str) -> str:
    """What to write for a formula that was asked for a number."""
    inputs = [item for item in subexpressions(expr) if item.op is INPUT]
    values = ", ".join([f"{item.params[0][1]}=2.0" for item in inputs[:3]])
    value = f"e({values}) for its value"
    if asker == "bool()":
        compared = expr.op is not INPUT and expr.op.name in ("equal", "not_equal")
        same = "; fg.same(a, b) compares two formulas as formulas" if compared else ""
        return (
            f"{value}, or np.where(condition, a, b), fg.cond or np.maximum(a, b) for a choice{same}"
        )
    if asker in ("str()", "a format"):
        return f"{value}, or repr(e) for its formula"
    if asker in ("an array", "an index"):
        return f"fg.const(a)[i] to index an array, or {value}"
    if asker in ("float()", "complex()"):
        return f"{value}, np.sin for math.sin, or np.stack([...]) for an array of formulas"
    return value
