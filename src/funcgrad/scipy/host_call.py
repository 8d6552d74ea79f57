"""SciPy's own function in the place of a composition, in programs of which no derivative is asked.

A composition is made for its derivative. Where `jit` traces a function for its value, SciPy's own function
on the values is often several times as fast. The operation `host_call` has that function and, as a body, the
composition: derivatives, batches and other readers read the body.

A composition may ask for values, such as whether a root is real. Where only `jit` asks, these questions are
no guards of the program: one guard, whether the results are of the kinds that they had in the trace, stands
for all of them (`Composition`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import signature
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from funcgrad.control.closed_program import Body, batched_body, cotangent_program, tangent_program
from funcgrad.control.guarded_call import run_where_taken
from funcgrad.expr import Expr, subexpressions, symbol
from funcgrad.expr.concrete import concrete, has_known_value, known_value
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.activity import is_varied
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.op import Op, leaf, lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.tuples import pick, together_op
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import fail
from funcgrad.trace.masked_trees import is_masked
from funcgrad.trace.pytree import Tree, flatten_with_static
from funcgrad.transforms.jit.guard_tree import Question, QuestionLog, is_as_traced
from funcgrad.transforms.jit.signature import structure
from funcgrad.typing import Array


class HostFunction:
    """A function of SciPy's with the arguments that are not arrays, as one of the arrays.

    ``run`` gives the leaves of its result. ``own`` and ``fixed`` are the function and those arguments.
    """

    __slots__ = ("fixed", "name", "own", "run", "shape")

    def __init__(
        self,
        name: str,
        run: Callable[..., Sequence[Any]],
        own: object = None,
        shape: object = None,
        fixed: Sequence[object] = (),
    ) -> None:
        self.name, self.run, self.own, self.shape, self.fixed = name, run, own, shape, fixed

    def __repr__(self) -> str:
        from hashlib import blake2b  # which loads OpenSSL

        # Part of a key, the same in all traces. An id is not reused while its object is held here.
        fixed = [repr(x) if type(x) in _BY_TEXT else f"@{id(x):x}" for x in self.fixed]
        content = f"{_address(self.own)}{self.shape!r}{fixed}".encode()
        return f"{self.name}@{blake2b(content, digest_size=8).hexdigest()}"


def _address(own: object) -> str:
    """The full name of a function of NumPy's or SciPy's, the same in all processes; the id of others."""
    home, name = getattr(own, "__module__", None) or "", getattr(own, "__qualname__", "")
    is_of_library = home.partition(".")[0] in ("numpy", "scipy")
    named = is_of_library and getattr(sys.modules.get(home), name, None) is own
    return f"{home}.{name}" if named else str(id(own))


_BY_TEXT = (bool, int, float, complex, str, type(None))
"""Types of arguments that are equal if their texts are."""


class _Composed(Body):
    """A composition as the body of its function, which alone is in the key: it may differ between traces."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"body of {len(self.outputs)}"


class Composition:
    """What a program of SciPy's own function has in the place of a body whose questions are no guards.

    ``leaves`` are the types of the results and, where these are no arrays, the results themselves. Who reads
    the body asks its questions: they are guards from then on.
    """

    __slots__ = ("_body", "_log", "_questions", "leaves", "types")

    def __init__(
        self, body: Body, log: QuestionLog, questions: Sequence[Question], leaves: Sequence[Any]
    ) -> None:
        self._body, self._log, self._questions = body, log, questions
        self.leaves = tuple(leaves)
        self.types = (*body.types, ArrayType((), np.dtype(np.int64)))

    def __repr__(self) -> str:
        return f"Composition({self.leaves!r})"  # part of a key: a path's trace has another body

    def read(self) -> Body:
        """The body, whose questions are asked."""
        if not self._log.open:
            raise fail(RuntimeError, "a derivative of a jitted value was asked for after its trace")
        for question in self._questions:
            self._log.record(question.asked, question.reading, question.answer)
        return self._body


def host_value(
    own: Callable[..., Any], given: Mapping[str, Any], found: Any, begun: int | None = None
) -> Any:
    """The results of a composition, ``found``, as those of SciPy's own function if no derivative is asked.

    ``given`` has the arguments by name. ``begun`` is the number of the order (`next_in_order`) at which the
    composition began: what it has asked since is no guard then.
    """
    call = _call_of(own, given, found)
    if call is None:
        return found
    node = None if begun is None else _without_guards(call, begun)
    if node is None:
        places = tuple([isinstance(x, Expr) for x in call.results.leaves])
        node = host_call_op(*call.operands, own=call.function, body=call.body, places=places)
    return call.results_of(node)


def with_one_guard(
    own: Callable[..., Any], given: Mapping[str, Any], found: Any, begun: int
) -> Any:
    """The same if the composition has asked questions, which are no guards then; else ``found``."""
    call = _call_of(own, given, found)
    node = None if call is None else _without_guards(call, begun)
    return found if call is None or node is None else call.results_of(node)


class _Call(NamedTuple):
    """A call of SciPy's function, its results by a composition, and that as a body of the operands."""

    function: HostFunction
    operands: list[Expr]
    swapped: dict[Any, Expr]
    body: Body
    results: Tree

    def results_of(self, node: Expr) -> Any:
        """The results as parts of an operation's."""
        places = [k for k, x in enumerate(self.results.leaves) if isinstance(x, Expr)]
        leaves = list(self.results.leaves)
        for place, k in enumerate(places):
            leaves[k] = pick(node, place)
        return self.results.rebuild(leaves)


def _call_of(own: Callable[..., Any], given: Mapping[str, Any], found: object) -> _Call | None:
    """The call; None where a derivative may be asked, or the composition depends on other values, too."""
    if given.get("output") is not None or given.get("out") is not None:
        return None  # SciPy's function would store into an array.
    if any([is_masked(type(value)) for value in given.values()]):
        return None  # It takes masked arrays whole.
    tree = flatten_with_static(dict(given))
    places = [i for i, x in enumerate(tree.leaves) if holds_expr(x) or isinstance(x, np.ndarray)]
    operands = [lift_fully(tree.leaves[i]) for i in places]
    if not all([_for_its_value(x) for x in operands]):
        return None
    results = flatten_with_static(found)
    inputs = [symbol(f"i{k}", x.type) for k, x in enumerate(operands)]
    swapped = {x.key: new for x, new in zip(operands, inputs, strict=True)}
    outputs = substitute_all([x for x in results.leaves if isinstance(x, Expr)], swapped)
    if any([x.traced for x in subexpressions(*outputs)]):
        return None
    fixed = [x for i, x in enumerate(tree.leaves) if i not in places]
    run = _on_arrays(own, given, tree, places)
    function = HostFunction(own.__name__, run, own, (structure(dict(given)), places), fixed)
    # The paths of a mapped function, whose values are not known, are in one program: each has its body.
    kind = _Composed if all([has_known_value(x) for x in operands]) else Body
    return _Call(function, operands, swapped, kind(inputs, outputs), results)


def _without_guards(call: _Call, begun: int) -> Expr | None:
    """The call with one guard in the place of what the composition has asked; None where it has to stay."""
    function, operands, swapped, body, results = call
    logs = {id(x.traced): x.traced for x in operands if x.traced is not None}
    if not body.outputs or len(logs) != 1 or not all([has_known_value(x) for x in operands]):
        return None
    (log,) = logs.values()
    if not isinstance(log, QuestionLog) or log.keeps_guards:
        return None
    questions = [question for question in log.asked if question.order > begun]
    asked = substitute_all([question.asked for question in questions], swapped)
    if not questions or any([x.traced for x in subexpressions(*asked)]):
        return None  # a function among the arguments asks for what it captures
    kinds = [x.type if isinstance(x, Expr) else _fixed(x) for x in results.leaves]
    composition = Composition(body, log, questions, kinds)
    node: Expr = unguarded_call_op(*operands, own=function, composition=composition)
    kept = pick(node, len(body.outputs))
    # SciPy draws directions, to estimate norms, from the generator whose draws `jit` warns of.
    state = np.random.get_state()  # noqa: NPY002
    is_kept = known_value(kept)
    np.random.set_state(state)  # noqa: NPY002
    if not is_kept:
        return None
    log.forget_since(begun)
    concrete(kept, "the kinds of results", is_as_traced)
    return node


def _fixed(leaf: Any) -> Any:
    """A result that is no array of the program, for comparison."""
    if isinstance(leaf, np.ndarray):
        return leaf.shape, leaf.dtype.str, leaf.tobytes()
    return type(leaf), leaf


def unrefined(near: Callable[[], Any], refined: Any) -> Any:
    """A solution as SciPy's search finds it if no derivative is asked; else ``refined``.

    Derivatives are those of the refined solution, which solves equations; that of ``near()`` does not.
    """
    leaves = [x for x in subexpressions(refined) if x.op is leaf] if holds_expr(refined) else []
    if not leaves or not all([_for_its_value(x) for x in leaves]):
        return refined
    place = lift_fully(near())
    operands = [place, *leaves]
    inputs = [symbol(f"i{k}", x.type) for k, x in enumerate(operands)]
    swapped = {x.key: new for x, new in zip(operands, inputs, strict=True)}
    outputs = substitute_all([refined], swapped)
    if place.type != refined.type or any([x.traced for x in subexpressions(*outputs)]):
        return refined
    return pick(host_call_op(*operands, own=_SEARCH, body=Body(inputs, outputs), places=(True,)), 0)


_SEARCH = HostFunction("search", lambda place, *_: (place,))


def _on_arrays(
    own: Callable[..., Any], given: Mapping[str, Any], tree: Tree, places: Sequence[int]
) -> Callable[..., Sequence[Any]]:
    """SciPy's function on the arrays among its arguments, and the leaves of its result."""
    # By position where that is possible: SciPy's `solveh_banded` takes no arrays by name.
    ordered = list(takewhile(given.__contains__, positional(own)))
    if len(tree.leaves) == len(given) and not any(
        [isinstance(value, tuple | list | dict) for value in given.values()]
    ):
        names = [name for place, name in enumerate(sorted(given)) if place in places]
        slots = [(k, ordered.index(name)) for k, name in enumerate(names) if name in ordered]
        named = [(k, name) for k, name in enumerate(names) if name not in ordered]
        first = [given[name] for name in ordered]
        rest = {name: value for name, value in given.items() if name not in ordered}

        def call(values: Sequence[Array]) -> Any:
            args = [*first]
            for k, slot in slots:
                args[slot] = _argument(values[k])
            return own(*args, **rest, **{name: _argument(values[k]) for k, name in named})

        for _, name in named:
            del rest[name]
    else:

        def call(values: Sequence[Array]) -> Any:
            leaves = list(tree.leaves)
            for i, value in zip(places, values, strict=True):
                leaves[i] = _argument(value)
            named = tree.rebuild(leaves)
            return own(*[named.pop(name) for name in ordered], **named)

    def run(*values: Array) -> Sequence[Any]:
        made = call(values)
        if isinstance(made, np.ndarray):
            return [made]
        if isinstance(made, tuple) and _ARRAYS.issuperset(map(type, made)):
            return made
        return flatten_with_static(made).leaves

    return run


def _argument(value: Array) -> Any:
    """A value of the program as an argument: SciPy asks for numbers where arrays are 0-d."""
    return value if type(value) is not np.ndarray or value.ndim else value[()]


@lru_cache(maxsize=1024)
def positional(own: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters that a function takes by position."""
    try:
        kinds = signature(own).parameters.items()
    except ValueError:  # compiled code
        return ()
    return tuple([n for n, p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])


_ARRAYS = frozenset((np.ndarray, np.float64, np.int64, float, int))


def _for_its_value(x: Expr) -> bool:
    scope = x.traced
    if scope is None:
        return True
    return scope.records and not scope.differentiates and not is_varied(x)


# -- the operation -------------------------------------------------------------------------------
def _run(
    *operands: Array, own: HostFunction, body: Body, places: tuple[bool, ...]
) -> tuple[Any, ...]:
    """The results at those places of which ``places`` says that they are arrays of the program.

    Those of the composition where SciPy's are of another shape, such as no residuals for a matrix without
    full rank.
    """
    made, leaves = [], own.run(*operands)
    if len(leaves) != len(places):
        return tuple(body.program.step(operands))
    arrays = [leaf for leaf, is_array in zip(leaves, places, strict=True) if is_array]
    for value, out in zip(arrays, body.outputs, strict=True):
        type, result = out.type, np.asarray(value)
        if result.shape != type.shape:
            return tuple(body.program.step(operands))
        if result.dtype != type.dtype:
            if type.dtype.kind != "c" and result.dtype.kind == "c":
                result = result.real  # the rest is rounding (`matrix_powers.has_complex_value`)
            result = np.asarray(result, type.dtype)
        made.append(result if type.shape else result[()])
    return tuple(made)


def _infer(*types: ArrayType, own: HostFunction, body: Body, **_: object) -> Any:
    return TupleType(body.types)


def _run_unguarded(
    *operands: Array, own: HostFunction, composition: Composition
) -> tuple[Any, ...]:
    """The results, and 1 if they are of the kinds that they had in the trace; otherwise 0."""
    leaves = own.run(*operands)
    made = []
    if len(leaves) == len(composition.leaves):
        for leaf, kind in zip(leaves, composition.leaves, strict=True):
            if type(kind) is ArrayType:
                value = np.asarray(leaf)
                if value.shape != kind.shape or value.dtype != kind.dtype:
                    break
                made.append(value if kind.shape else value[()])
            elif _fixed(leaf) != kind:
                break
        else:
            return (*made, np.int64(1))
    return tuple([np.zeros(type.shape, type.dtype)[()] for type in composition.types])


def _infer_unguarded(*types: ArrayType, own: HostFunction, composition: Composition) -> Any:
    return TupleType(composition.types)


def _joint(z: object, *operands: Expr, body: Body, **_: object) -> Joint:
    def forward(flows: Mapping[int, Any]) -> Parts:
        active = sorted(flows)
        reached, derived = tangent_program(body, active)
        values = derived.inline([*operands, *[flows[i] for i in active]])
        return Parts(dict(zip(reached, values, strict=True)))

    def backward(g: Parts) -> Mapping[int, Any]:
        given = sorted(g.of)
        reached, derived = cotangent_program(body, given, range(len(operands)))
        return dict(
            zip(reached, derived.inline([*operands, *[g.of[k] for k in given]]), strict=True)
        )

    return Joint(forward, backward)


def _batch(size: int, flags: Sequence[bool], *operands: Expr, body: Body, **_: object) -> Any:
    return together_op(*batched_body(body, size, flags).inline(operands))


host_call_op: Op = Op(
    name="host_call",
    run=_run,
    infer=_infer,
    joint=_joint,
    batch=_batch,
    notation=lambda *args, own, **_: f"{own.name}({', '.join(args)})",
    columns=Columns(
        latex=Form("named call"),
        untaken=run_where_taken,
        decompose=lambda *args, body, **_: together_op(*body.inline(args)),
    ),
)
unguarded_call_op: Op = Op(
    name="unguarded_call",
    run=_run_unguarded,
    infer=_infer_unguarded,
    joint=lambda z, *operands, own, composition: _joint(z, *operands, body=composition.read()),
    batch=lambda size, flags, *operands, own, composition: _batch(
        size, flags, *operands, body=composition.read()
    ),
    notation=lambda *args, own, **_: f"{own.name}({', '.join(args)})",
    columns=Columns(latex=Form("named call")),
)
