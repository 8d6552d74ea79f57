"""Custom derivative rules: custom_vjp and custom_jvp, as in JAX.

A rule gives one mode, as a traced function; the other mode, batching and higher orders follow from it. A
rule may call its own function, as in JAX: such a call has the rule, too, which is expanded `ORDERS` times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from inspect import signature
from types import FunctionType, MappingProxyType, MethodType
from typing import Any, SupportsIndex, cast

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.control.closed_program import Body, body_of, zeros_of_type
from funcgrad.control.custom_rule import LinearRule
from funcgrad.expr import Expr, assemble_node, concrete
from funcgrad.expr.branch_path import PATH, Path, path_set
from funcgrad.fold import folded
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import Op, differentiable, fit, lift_fully
from funcgrad.ops.base.promotion import same_type
from funcgrad.ops.elementwise.selection import stop_gradient_unless
from funcgrad.ops.shape import zeros_like
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import begin_trace, run
from funcgrad.trace.outer_arrays import OuterArrays
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.trace.trace_body import trace_body
from funcgrad.transforms.curried import LATER
from funcgrad.transforms.custom.last_order import ORDERS, last_order_op
from funcgrad.transforms.transform_arguments import by_position, positions

_NONE: Mapping[int, int] = MappingProxyType({})
_running: ContextVar[Mapping[int, int]] = ContextVar(
    "the rules that are being traced", default=_NONE
)


def _asked(rule: str, flow: str, remedy: str) -> Any:
    raise type_error(
        f"{rule}: expected a rule that does not depend on the value of the {flow}, in which it is linear, "
        f"but Python asked for it, and the rule is traced once for all of them; {remedy}, or choose with "
        "np.where, fg.cond or fg.while_loop; repr(x) is its formula",
    )


# What a rule is traced on in the place of a tangent or cotangent.
_flow: Op = Op(name="flow", run=_asked, infer=same_type)
_COTANGENT = ("custom_vjp", "cotangent", "loop on values of the residuals, which are known")
_TANGENT = ("custom_jvp", "tangent", "loop on values of the primals, which are known")


class _RulePath:
    """The path of the run around a rule, which answers for residuals and primals, and not for a flow."""

    def __init__(self, around: Path) -> None:
        self.around = around
        self.reads = around.reads
        self._dependent: dict[int, bool] = {}
        """Whether an expression depends on a flow, by identity: conditions of a loop share most of theirs."""
        self._asked: list[Expr] = []  # which keeps these expressions alive

    @property
    def is_one_of_several(self) -> bool:
        return self.around.is_one_of_several

    def answer(self, condition: Expr) -> bool | None:
        return None if self._depends_on_flow(condition) else self.around.answer(condition)

    def read(self, root: Expr, asker: str, reading: Callable[[Any], Any]) -> Any:
        if not self._depends_on_flow(root):
            return self.around.read(root, asker, reading)
        with path_set(None):  # which refuses it
            return concrete(root, asker, reading)

    def forget_since(self, start: int) -> None:
        self.around.forget_since(start)

    def _depends_on_flow(self, root: Expr) -> bool:
        def step(expr: Expr, operands: tuple[bool, ...]) -> bool:
            return expr.op is _flow or any(operands)

        self._asked.append(root)
        return folded([root], step, self._dependent)[0]


_BESIDE = "a rule is traced beside the function, and may run never or twice; return the value"


def _stand_in(words: tuple[str, str, str], type: ArrayType) -> Expr:
    params = tuple(zip(("rule", "flow", "remedy"), words, strict=True))
    return assemble_node(_flow, (), params, type)


class _Custom:
    """A function with a rule; without one it is differentiated through its body."""

    _who = "custom"
    _rule: Any = None
    _taken = 0
    """How many arguments a rule takes by position."""

    def __init__(
        self,
        f: Callable[..., Any] = LATER,
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        if not callable(f):
            raise type_error(
                f"{self._who}: expected a function, but got {type(f).__name__}"
                + (f"; write @functools.partial(fg.{self._who}, ...)" if f is None else ""),
            )
        self.f = f
        fixed = (
            [nondiff_argnums] if isinstance(nondiff_argnums, int | np.integer) else nondiff_argnums
        )
        names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else nondiff_argnames
        places = [self._place(f, name) for name in names]
        self.nondiff_argnums = tuple(sorted({*fixed, *places}) if places else fixed)
        update_wrapper(self, f)

    def _place(self, f: Callable[..., Any], name: str) -> int:
        known = list(signature(f).parameters)
        if name in known:
            return known.index(name)
        raise value_error(
            f"{self._who}: expected nondiff_argnames among {', '.join(known)}, but got {name!r}",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = by_position(self._who, self.f, args, kwargs, self._taken_of(len(args)))
        if not _exprs(args):
            return self.f(*args)
        if self._rule is None:
            return run(self.f, args, {}, self._who)
        if self._at_last_order():
            return run(self.f, [_each_traced(last_order_op, arg) for arg in args], {}, self._who)
        # Other expressions of the same values: so arguments are told from what the function captures.
        return self._with_rule(tuple([_each_traced(_as_argument, arg) for arg in args]))

    def _taken_of(self, count: int) -> int:
        """How many arguments are given by position: all, if ``nondiff_argnums`` has one that is left out."""
        numbers = [i for i in self.nondiff_argnums if isinstance(i, int)]
        if max(numbers, default=-1) < count:
            return self._taken
        takes: int = getattr(getattr(self.f, "__code__", None), "co_argcount", 0)
        return takes - isinstance(self.f, MethodType)

    def _with_rule(self, args: tuple[Any, ...]) -> Any:
        """The value of traced arguments, whose derivative is the rule's."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self._who} {getattr(self.f, '__name__', 'function')}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """In the place of a function of a module, it is pickled by its name, as that would be."""
        module, name = getattr(self, "__module__", None), getattr(self, "__qualname__", "")
        found: object = sys.modules.get(str(module)) if module != "__main__" else None
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else super().__reduce_ex__(protocol)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """A method whose first argument is the instance; its rule needs 0 in ``nondiff_argnums``."""
        return self if instance is None else MethodType(cast(Callable[..., Any], self), instance)

    def _check_rules(self, call: str, *rules: object) -> None:
        for rule in rules:
            if not callable(rule):
                raise type_error(
                    f"{self._who}: expected functions in {call}, but got {type(rule).__name__}",
                )

    def _at_last_order(self) -> bool:
        """Whether the rule is nested in itself as often as allowed."""
        return _running.get().get(id(self), 0) >= ORDERS

    @contextmanager
    def _nested(self) -> Iterator[None]:
        """The context in which the rule runs, which counts its nesting."""
        met, around = _running.get(), PATH.get()
        token = _running.set({**met, id(self): met.get(id(self), 0) + 1})
        try:
            with path_set(None if around is None else _RulePath(around)):
                yield
        finally:
            _running.reset(token)

    def _split_arguments(self, args: Sequence[Any]) -> tuple[list[Any], list[int]]:
        """The values of the arguments in ``nondiff_argnums``, and the positions of the others."""
        fixed = positions(self._who, self.nondiff_argnums, len(args))
        return [args[i] for i in fixed], [i for i in range(len(args)) if i not in fixed]


def _each_traced(op: Callable[[Expr], Any], arg: Any) -> Any:
    """An argument, with an operation on each traced value in it."""
    tree = flatten(arg)
    values = map(plain_value, tree.leaves)
    return tree.rebuild(
        [
            op(value) if isinstance(value, Expr) else leaf
            for leaf, value in zip(tree.leaves, values, strict=True)
        ]
    )


def _as_argument(value: Expr) -> Any:
    return stop_gradient_unless(value, True)


def _exprs(args: Sequence[Any]) -> list[Expr]:
    leaves = [plain_value(leaf) for arg in args for leaf in flatten(arg).leaves]
    return [leaf for leaf in leaves if isinstance(leaf, Expr)]


class custom_vjp(_Custom):  # noqa: N801  # JAX's name
    """A function with a reverse rule of its own, as `jax.custom_vjp`.

    ``f.defvjp(fwd, bwd)``: ``fwd(*args)`` returns the value and residuals,
    ``bwd(residuals, cotangent)`` a tuple of cotangents, one an argument (None
    for zero). ``bwd`` gets the values of ``nondiff_argnums`` first. ``bwd``
    must be linear in the cotangent; then `jvp`, `hessian` and `vmap` work as
    well. Derivatives in values that ``fwd`` captures are its own. In a
    derivative ``fwd`` runs in the place of f: what f alone stores is not
    stored then.

    Raises TypeError if f is not a function, ``fwd`` does not return a pair, or
    ``bwd`` does not return a tuple of cotangents of the arguments' shapes and
    dtypes.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @custom_vjp
    ... def f(x):
    ...     return np.sin(x)
    >>> f.defvjp(lambda x: (np.sin(x), np.cos(x)), lambda c, g: (100 * c * g,))
    >>> fg.grad(f)(0.0), fg.jvp(f, (0.0,), (1.0,))
    (100.0, (0.0, 100.0))
    """

    _who = "custom_vjp"

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Give the rule: ``fwd(*args) -> (value, residuals)`` and
        ``bwd(residuals, cotangent)``.
        """
        self._check_rules("defvjp(fwd, bwd)", fwd, bwd)
        self._rule = (fwd, bwd)
        if isinstance(fwd, FunctionType):
            self._taken = fwd.__code__.co_argcount

    def _with_rule(self, args: tuple[Any, ...]) -> Any:
        fixed, places = self._split_arguments(args)
        start = begin_trace()
        with self._nested():
            pair = run(self._rule[0], args, {}, self._who)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise type_error(
                "custom_vjp: expected fwd to return a pair (value, residuals), but got "
                f"{type(pair).__name__}",
            )
        value, residuals = flatten(pair[0], "cotangent"), flatten(pair[1], "residual")
        results = [lift_fully(leaf) for leaf in value.leaves]
        kept = [lift_fully(leaf) for leaf in residuals.leaves]
        trees = [flatten(args[i]) for i in places]
        arguments = [lift_fully(leaf) for tree in trees for leaf in tree.leaves]
        body, captured = self._cotangents_body(fixed, residuals, value, kept, trees, results)
        context = [*kept, *[lift_fully(item) for item in captured]]
        rule = LinearRule(arguments, context, body, forward=False)
        return value.rebuild(rule.with_captured(results, _exprs(fixed), start).applied(results))

    def _cotangents_body(
        self,
        fixed: list[Any],
        residuals: Tree,
        value: Tree,
        kept: list[Expr],
        trees: Sequence[Tree],
        results: list[Expr],
    ) -> tuple[Body, list[Any]]:
        """The body of the reverse rule, and what it captures."""
        bwd = self._rule[1]
        arguments = [lift_fully(leaf) for tree in trees for leaf in tree.leaves]
        seeds = [_stand_in(_COTANGENT, x.type) for x in results]

        def back(residuals: object, cotangent: object) -> Any:
            outer = OuterArrays(bwd)
            with self._nested():
                found = run(bwd, [*fixed, residuals, cotangent], {})
            outer.check("custom_vjp", _BESIDE)
            return _cotangents(found, trees, arguments)

        body, captured, _ = trace_body(back, [residuals, value], [*kept, *seeds], branches=False)
        return _context_first(body, len(kept), len(seeds)), captured


def _cotangents(found: Any, trees: Sequence[Tree], arguments: Sequence[Expr]) -> list[Any]:
    """The result of bwd as one cotangent for each leaf of the arguments."""
    if not isinstance(found, tuple | list) or len(found) != len(trees):
        got = f"{len(found)}" if isinstance(found, tuple | list) else type(found).__name__
        is_one = len(trees) == 1
        hint = "write return (g,)" if is_one else "write None in the place of one that is zero"
        raise type_error(
            f"custom_vjp: expected bwd to return a tuple of {len(trees)} cotangents, one for each "
            f"argument, but got {got}; {hint}",
        )
    rest = iter(arguments)
    ready: list[Any] = []
    for item, tree in zip(found, trees, strict=True):
        own = [next(rest) for _ in tree.leaves]
        if item is None:
            ready.extend(zeros_of_type(x.type) for x in own)
            continue
        parts = flatten(item).leaves
        made = [lift_fully(part) for part in parts]
        if len(made) != len(own) or not all(map(_fits, made, own)):
            types, got = (", ".join(str(x.type) for x in items) for items in (own, made))
            raise type_error(
                f"custom_vjp: expected bwd to return a cotangent of type {types}, but got "
                f"{got or 'nothing'}",
            )
        ready.extend(fit(p, x.type) for p, x in zip(made, own, strict=True))
    return ready


def _fits(flow: Expr, x: Expr) -> bool:
    """Whether a tangent or cotangent has x's shape and a dtype that casts to x's without loss of a part."""
    kind = not differentiable(x.dtype) or np.can_cast(flow.dtype, x.dtype, "same_kind")
    return flow.shape == x.shape and kind


def _context_first(body: Body, before: int, linear: int) -> Body:
    """The body with its linear inputs, which follow the first ``before``, moved to the end."""
    middle = before + linear
    inputs = [*body.inputs[:before], *body.inputs[middle:], *body.inputs[before:middle]]
    return body_of(inputs, body.outputs)


class custom_jvp(_Custom):  # noqa: N801  # JAX's name
    """A function with a forward rule of its own, as `jax.custom_jvp`.

    ``f.defjvp(rule)``: ``rule(primals, tangents)`` returns the value and its
    tangent, linear in the tangents; it gets the values of ``nondiff_argnums``
    first. ``f.defjvps(*partials)``: one ``partial(tangent, value, *args)`` an
    argument, or None. Reverse mode is the transpose of the rule. Derivatives
    in values that f captures are its own.

    Raises TypeError if f is not a function, or the rule does not return a pair
    of a value and a tangent of its shapes and dtypes.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @custom_jvp
    ... def f(x):
    ...     return np.sin(x)
    >>> f.defjvps(lambda t, z, x: 100 * np.cos(x) * t)
    >>> fg.grad(f)(0.0), fg.jvp(f, (0.0,), (1.0,))
    (100.0, (0.0, 100.0))
    """

    _who = "custom_jvp"

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule ``rule(primals, tangents) -> (value, tangent)``; may be
        used as a decorator.
        """
        self._check_rules("defjvp(rule)", rule)
        self._rule = rule
        return rule

    def defjvps(self, *partials: Callable[..., Any] | None) -> None:
        """Give one ``partial(tangent, value, *args)`` an argument; None where the
        derivative is zero.
        """
        self._check_rules("defjvps(*partials)", *[each for each in partials if each is not None])
        if self.nondiff_argnums:
            raise type_error(
                "custom_jvp: expected defjvps without nondiff_argnums; give a rule by defjvp, or None in "
                "place of an argument without a derivative",
            )

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            if len(partials) != len(primals):
                raise type_error(
                    f"custom_jvp: expected defjvps with one partial for each of {len(primals)} "
                    f"arguments, but got {len(partials)}",
                )
            value = self(*primals)
            pairs = zip(partials, tangents, strict=True)
            moved = [flatten(each(t, value, *primals)).leaves for each, t in pairs if each]
            whole = flatten(value)
            zero = [zeros_like(lift_fully(leaf)) for leaf in whole.leaves]
            if any(len(parts) != len(zero) for parts in moved):
                raise type_error(
                    "custom_jvp: expected partials that return tangents of the value's structure "
                    f"({len(zero)} parts), but got {[len(parts) for parts in moved]}",
                )
            return value, whole.rebuild(
                [sum(p[1:], p[0]) for p in zip(*moved, strict=True)] if moved else zero
            )

        self._rule = rule

    def _with_rule(self, args: tuple[Any, ...]) -> Any:
        rule = self._rule
        fixed, places = self._split_arguments(args)
        start = begin_trace()
        value = flatten(run(self.f, args, {}, self._who))
        results = [lift_fully(leaf) for leaf in value.leaves]
        parts = tuple(args[i] for i in places)
        primals, moving = flatten(parts, "primal"), flatten(parts, "tangent")
        arguments = [lift_fully(leaf) for leaf in primals.leaves]
        seeds = [
            _stand_in(_TANGENT, x.type if differentiable(x.dtype) else _as_float(x))
            for x in arguments
        ]

        def forward(primals: Any, tangents: object) -> Any:
            outer = OuterArrays(rule)
            with self._nested():
                pair = run(rule, [*fixed, primals, tangents], {})
            outer.check("custom_jvp", _BESIDE)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise type_error(
                    "custom_jvp: expected the rule to return a pair (value, tangent), but got "
                    f"{type(pair).__name__}; write return value, tangent",
                )
            moved = [lift_fully(leaf) for leaf in flatten(pair[1]).leaves]
            if len(moved) != len(results) or not all(map(_fits, moved, results)):
                types, got = (", ".join(str(x.type) for x in xs) for xs in (results, moved))
                raise type_error(
                    f"custom_jvp: expected a tangent of the value's type {types}, but got "
                    f"{got or 'nothing'}",
                )
            return [fit(x, z.type) for x, z in zip(moved, results, strict=True)]

        body, captured, _ = trace_body(
            forward, [primals, moving], [*arguments, *seeds], branches=False
        )
        context = [*arguments, *[lift_fully(item) for item in captured]]
        body = _context_first(body, len(arguments), len(seeds))
        moved = LinearRule(arguments, context, body, forward=True)
        return value.rebuild(moved.with_captured(results, _exprs(fixed), start).applied(results))


def _as_float(x: Expr) -> Any:
    return x.type._replace(dtype=np.dtype(float))
