"""Branches on unknown values, such as examples of a batch: all paths run, and `numpy.where` joins them.

A function runs once for each path through its branches, on the same leaves. The results are joined by
`numpy.where`, from the last condition to the first, so that what a condition does not choose reaches no
gradient. A path that raises an error, as code does that checks its arguments, has the result NaN.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.arrays.reference import Reference
from funcgrad.expr import Expr, const, rebuild
from funcgrad.expr.branch_path import Path, path_set
from funcgrad.expr.registry import functions
from funcgrad.expr.scope_order import next_in_order
from funcgrad.fold import folded, folded_by_key
from funcgrad.graph import CONSTANT, Key, by_key
from funcgrad.ops.base.op import differentiable, example, leaf, lift_fully
from funcgrad.ops.base.untaken_paths import combines_entries, without_errors
from funcgrad.ops.elementwise.selection import cut_off
from funcgrad.ops.tuples import pick_op
from funcgrad.source import USERS, is_raising, type_error
from funcgrad.trace.masked_trees import is_masked
from funcgrad.trace.pytree import flatten_with_static
from funcgrad.trace.remedies import is_refusal_of_compiled_code
from funcgrad.trace.static import contents, is_static_value
from funcgrad.typing import Array

MOST_PATHS = 64
"""Paths, and branches of one, beyond which a function is refused: a loop may have no last one."""
_MOST_REPEATS = 10_000
"""Questions in a row that were asked before, beyond which a path is refused: it may be one without an end."""
_FEW_PATHS = 8
"""Paths after which a run more is little."""


Join: TypeAlias = "Callable[[Sequence[Sequence[Array]]], list[Any]]"
"""One leaf of each row, which has that leaf of each result."""


class _Branch(NamedTuple):
    """A condition that Python asked for, the answer in this run, and when it was asked."""

    condition: Any
    answer: bool
    order: int


class _Path:
    """The answers of one run: given ones first, then True."""

    reads = False

    def __init__(self, given: tuple[bool, ...]) -> None:
        self.given = given
        self.start = next_in_order()
        self.branches: dict[Key, _Branch] = {}
        self.known: dict[int, Expr] = {}
        """What conditions are made of, without what each run makes anew, by the identity of these."""
        self.asked: list[Expr] = []
        self.repeats = 0

    @property
    def is_one_of_several(self) -> bool:
        return bool(self.branches)

    def answer(self, condition: Expr) -> bool | None:
        """The answer to a condition: the one that it had before in this run, if it was asked."""
        condition = self._outside(condition)
        if asked := self.branches.get(condition.key):
            self._count_repeat()
            return asked.answer
        place, self.repeats = len(self.branches), 0
        if place == MOST_PATHS:
            return None
        found = self.given[place] if place < len(self.given) else True
        self.branches[condition.key] = _Branch(condition, found, next_in_order())
        return found

    def _count_repeat(self) -> None:
        """Refuse a loop whose conditions stay as they are, as a search may have outside of its table."""
        self.repeats += 1
        if self.repeats > _MOST_REPEATS:
            raise MismatchError(
                "expected loops that end whichever way their conditions are answered, but one asked for the "
                f"same conditions {_MOST_REPEATS:,} times; search with np.searchsorted, or loop with "
                "fg.while_loop"
            )

    def _outside(self, condition: Expr) -> Expr:
        """A condition without what is made anew in each run: leaves of traces inside, and arrays."""

        def operands(expr: Expr) -> tuple[Expr, ...]:
            return () if expr.op is leaf and not self._is_inside(expr) else expr.args

        def step(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
            if expr.op is CONSTANT and expr.params[0][1].captured:
                return const(expr.params[0][1].array)
            if expr.op is leaf:
                return parts[0] if parts else expr
            return rebuild(expr, parts)

        self.asked.append(condition)  # which keeps what is known of it alive
        return folded([condition], step, self.known, operands)[0]

    def _is_inside(self, expr: Expr) -> bool:
        scope = expr.params[0][1]
        return scope is not None and scope.number > self.start

    def read(self, root: Expr, asker: str, reading: Callable[[Any], Any]) -> Any:
        """Never called: a path has answers to conditions, but no values."""
        raise NotImplementedError

    def forget_since(self, start: int) -> None:
        """Forget the questions from then on: the run that asked them was refused, and is repeated."""
        self.branches = {k: branch for k, branch in self.branches.items() if branch.order < start}


class MismatchError(Exception):
    """Paths that no `numpy.where` joins. The message says why."""


class Raised(NamedTuple):
    """What a path raises."""

    error: Exception


def all_paths(run: Callable[[], Any]) -> Any:
    """The result of a function of values that stand for many, whichever way it branches on them.

    If its paths cannot be joined, it runs once more without an answer, which may have it adopted. Where it is
    refused then, too, the error is that of the paths: a question in a branch, and not the branch before it.
    """
    first = _Path(())
    try:
        result: Any = outcome(run, first)
        if first.branches:
            result = _joined(_explored(run, first, result))
    except (TypeError, MismatchError) as error:
        if not first.branches:
            raise
        try:
            return one_path(run)
        except TypeError as refusal:
            if isinstance(error, TypeError):
                raise error from refusal
            raise type_error(f"a function that branches: {error}") from refusal
    if isinstance(result, Raised):
        raise result.error
    return result


def one_path(run: Callable[[], Any]) -> Any:
    """The result of a function that may not branch on values that stand for many."""
    with path_set(None):
        return run()


def outcome(run: Callable[[], Any], path: Path) -> Any:
    """What a run returns; or the error that it raises, unless a traced value was refused."""
    try:
        with path_set(path):
            return run()
    except Exception as error:
        if _is_refusal(error):
            raise
        return Raised(error)


def _is_refusal(error: Exception) -> bool:
    """Whether a traced value was refused, elsewhere than in a statement that raises an error.

    An index out of bounds is no refusal, nor is None as an operand, nor a ValueError of Python's or NumPy's
    own words, as of ``min([])``: those of plain numbers are refused, too.
    """
    if isinstance(error, IndexError) or (isinstance(error, TypeError) and "NoneType" in str(error)):
        return False
    if isinstance(error, ValueError) and error.__cause__ is None and "\n  at " not in str(error):
        return is_refusal_of_compiled_code(error) or str(error).startswith(_OF_STORES)
    if isinstance(error, AttributeError | NameError):
        return _is_mistake(error)
    place = error.__traceback__
    raising = False
    while place is not None:
        frame = place.tb_frame
        is_adopted = type(frame.f_globals) is not dict  # as SciPy's, which then takes traced values
        if is_adopted or not USERS[frame.f_code.co_filename]:
            raising = is_raising(frame.f_code, place.tb_lasti)
        place = place.tb_next
    return not raising and functions["is_refusal"](error)


_OF_STORES = ("setting an array element", "Error setting single item")
"""What NumPy says where an array of numbers is given a traced value."""


def _is_mistake(error: AttributeError | NameError) -> bool:
    """Whether a name is not there on any path: an attribute of an array, or a variable.

    A local variable, or an attribute of another object, may be set on the paths that the program takes, and
    old code names what its library no longer has on paths that it does not take.
    """
    if isinstance(error, AttributeError):
        return isinstance(error.obj, np.ndarray | np.generic | Expr | Reference)
    return not isinstance(error, UnboundLocalError)


class _Explored:
    """A run, and those that differ from it first at one of its branches from ``start`` on, in their order."""

    def __init__(self, path: _Path, start: int, result: object) -> None:
        self.path = path
        self.start = start
        self.result = result
        self.others: list[_Explored] = []

    def differing_at(self, place: int, run: Callable[[], Any]) -> _Explored:
        """The run that has the other answer at a branch, and those of this one before it."""
        branches = [*self.path.branches.values()]
        path = _Path((*[branch.answer for branch in branches[:place]], False))
        result = outcome(run, path)
        if [*path.branches][: place + 1] != [*self.path.branches][: place + 1]:
            raise MismatchError(
                "expected the same conditions in each run, but got others, as after a random draw or an "
                "effect on a list; make the function one of its arguments alone"
            )
        joined_results([self.result, result], _first)  # refused before all other runs
        return _Explored(path, place + 1, result)


def _first(rows: Sequence[Sequence[Array]]) -> list[Any]:
    return [row[0] for row in rows]


def _explored(run: Callable[[], Any], path: _Path, result: object) -> list[_Explored]:
    """All runs, each after the one that it differs from; the early branches of a run go first.

    A branch has one path or more on its other side, so that too many are noticed after a few runs.
    """
    found = [_Explored(path, 0, result)]
    waiting = deque([(found[0], place) for place in range(len(path.branches))])
    while waiting:
        if len(found) + len(waiting) > MOST_PATHS or (
            len(found) == _FEW_PATHS and _branches_too_often(run)
        ):
            raise MismatchError(
                f"expected at most {MOST_PATHS} paths, but got more; choose with np.where(condition, a, b), "
                "loop with fg.while_loop"
            )
        one, place = waiting.popleft()
        other = one.differing_at(place, run)
        one.others.append(other)
        found.append(other)
        waiting.extend([(other, later) for later in range(other.start, len(other.path.branches))])
    return found


def _joined(found: Sequence[_Explored]) -> object:
    """The result of the first run, joined with those that differ from it from the last branch on."""
    for one in reversed(found):
        for other in reversed(one.others):
            condition = [*one.path.branches.values()][other.start - 1].condition
            one.result = joined_results([one.result, other.result], partial(_chosen, condition))
    return found[0].result


def _branches_too_often(run: Callable[[], Any]) -> bool:
    """Whether the path on which no condition holds has too many branches: there is a path for each.

    It is that of a long loop with ``if condition: break``, whose other paths are found one iteration apart.
    """
    path = _Path((False,) * MOST_PATHS)
    with suppress(Exception):  # the path raises it again where it is joined
        outcome(run, path)
    return len(path.branches) == MOST_PATHS


def _chosen(condition: Expr, rows: Sequence[Sequence[Array]]) -> list[Any]:
    """The first leaf of each row where a condition holds, else the second.

    What the two have in common is cut off from a leaf that is not chosen, whose derivative may be NaN.
    """
    holds = functions["reshape"](condition, ())
    first, second = ([lift_fully(row[k]) for row in rows] for k in (0, 1))
    one = _cut_off(first, second, holds)
    other = _cut_off(second, first, np.logical_not(holds))
    return [functions["where"](holds, *pair) for pair in zip(one, other, strict=True)]


def _cut_off(roots: Sequence[Expr], others: Sequence[Expr], holds: Expr) -> list[Expr]:
    """The roots, whose operands that ``others`` depend on, too, have no derivative where not ``holds``."""
    met = by_key(*others, operands=_operands_inside)
    # What the others depend on by their conditions alone has no part in their derivatives.
    common = by_key(*others, operands=_operands_with_slopes)

    def is_common(expr: Expr) -> bool:
        return expr.key in (common if differentiable(expr.dtype) else met)

    def operands(expr: Expr) -> tuple[Expr, ...]:
        if is_common(expr) or (expr.op is pick_op and is_common(expr.args[0])):
            return ()
        return _operands_inside(expr)

    # A zero cotangent of what examples share is added to others: none may be a NaN.
    taken = combines_entries(roots, operands)

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if not args:
            return cut_off(expr, holds, taken)
        return without_errors(holds, expr, args)

    return folded_by_key(roots, step, operands=operands)


def _operands_inside(expr: Expr) -> tuple[Expr, ...]:
    """The operands of what a path computes, but for the values of leaves and examples.

    What a path derives is below a leaf, too, but one of no trace.
    """
    is_value = expr.op is example or (expr.op is leaf and expr.params[0][1] is not None)
    return () if is_value else expr.args


def _operands_with_slopes(expr: Expr) -> tuple[Expr, ...]:
    return tuple([arg for arg in _operands_inside(expr) if differentiable(arg.dtype)])


def joined_results(results: Sequence[object], join: Join) -> Any:
    """The tree whose leaves are those of several results, which ``join`` makes one of.

    All results have to have one structure. Those of a path that raised are NaN.
    """
    returned = [result for result in results if not isinstance(result, Raised)]
    if not returned:
        return results[0]
    trees = [flatten_with_static(result) for result in returned]
    for tree, result in zip(trees, returned, strict=True):
        if tree.paths != trees[0].paths:
            raise _different("structure", _kind(returned[0]), _kind(result))
    found = iter(trees)
    columns = [
        _all_nan(trees[0].leaves, result) if isinstance(result, Raised) else next(found).leaves
        for result in results
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    several = [i for i, row in enumerate(rows) if not _is_one(row)]
    leaves = trees[0].leaves.copy()
    for i, made in zip(several, join([rows[i] for i in several]) if several else [], strict=True):
        leaves[i] = made
    return trees[0].rebuild(leaves)


def _all_nan(leaves: list[Any], raised: Raised) -> list[Any]:
    """NaN in the place of results that are not there."""
    return [leaf if is_static_value(leaf) else _nan_like(leaf, raised) for leaf in leaves]


def _nan_like(leaf: Any, raised: Raised) -> Any:
    dtype = np.result_type(getattr(leaf, "dtype", type(leaf)))
    if dtype.kind not in "fc":
        raise _different("kind", dtype.name, f"{type(raised.error).__name__}, which is NaN")
    return np.full(np.shape(leaf), np.nan)[()]


def _is_one(row: Sequence[Array]) -> bool:
    """Whether the results have one leaf there, which no join makes; if not, they have to have one shape."""
    first = row[0]
    for other in row[1:]:
        if other is first:
            continue
        if is_static_value(first) or is_static_value(other):
            if contents(first) != contents(other):
                raise _different("kind", _kind(first), _kind(other))
        elif np.shape(first) != np.shape(other):
            raise _different("shape", str(np.shape(first)), str(np.shape(other)))
    return is_static_value(first) or all([other is first for other in row])


def _different(what: str, one: str, other: str) -> MismatchError:
    return MismatchError(
        f"expected results of one {what} whichever way it branches, but got {one} and {other}; return arrays "
        "of one shape, such as np.where(mask, x, 0.0) in the place of x[mask], and np.nan in that of None "
        "or of np.ma.masked, as np.ma.filled(y, np.nan) gives it"
    )


def _kind(result: object) -> str:
    """A result for a message: a text as it is, a number or an array by its type, a container by its items."""
    if result is None or isinstance(result, str | bool):
        return repr(result)
    if isinstance(result, tuple | list):
        items = ", ".join(map(_kind, result[:5])) + ", ..." * (len(result) > 5)
        return f"[{items}]" if isinstance(result, list) else f"({items})"
    if is_masked(type(result)):
        return "np.ma.masked" if result is np.ma.masked else type(result).__name__
    is_number = isinstance(result, Expr | np.ndarray | float)
    return str(lift_fully(result).type) if is_number else type(result).__name__
