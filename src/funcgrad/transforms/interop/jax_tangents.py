"""Programs in JAX that it differentiates by funcgrad's rules: their tangents are such programs, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from funcgrad.compiler.libraries import compile_namespace
from funcgrad.compiler.libraries.jax_sharding import alike
from funcgrad.compiler.libraries.masked_select import guarded
from funcgrad.compiler.passes.body_subsumption import subsume_bodies
from funcgrad.control.closed_program import Body, body_of, jvp_of_body
from funcgrad.expr import Expr, by_key, symbol
from funcgrad.graph import CONSTANT, Key, dependent
from funcgrad.ops.base.op import differentiable
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.substitute import substitute_all


def compile_body(body: Body, backend: str) -> Callable[..., tuple[Any, ...]]:
    """A body as a program of a library, which differentiates it by its own rules."""
    return compile_namespace(subsume_bodies(body.outputs), body.inputs, backend)


def with_own_derivatives(body: Body) -> Callable[..., tuple[Any, ...]]:
    """A body in JAX, where it is differentiated by funcgrad's rules: its tangents are such programs, too.

    So points where a derivative is a choice or a limit, and rules of a user's own, count as they do here,
    to every order. JAX transposes what is linear.
    """
    jax = import_module("jax")
    program = compile_namespace(subsume_bodies(body.outputs), body.inputs, "jax", compiled=False)
    function: Any = jax.custom_jvp(program)
    derived: dict[tuple[int, ...], _Tangents] = {}

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        still = jax.custom_derivatives.SymbolicZero
        active = tuple(
            [
                i
                for i, (x, t) in enumerate(zip(body.inputs, tangents, strict=True))
                if not isinstance(t, still) and differentiable(x.dtype)
            ]
        )
        if active not in derived:
            derived[active] = _tangents(body, active)
        known, linear, flows = derived[active]
        found = known(*primals)
        values, beside = found[: len(flows)], found[len(flows) :]
        rest = iter(linear(*beside, *[tangents[i] for i in active]))
        zero = jax.custom_derivatives.zero_from_primal
        pairs = [
            alike(v, next(rest)) if flow else (v, zero(v))
            for flow, v in zip(flows, values, strict=True)
        ]
        return tuple([v for v, _ in pairs]), tuple([t for _, t in pairs])

    function.defjvp(rule, symbolic_zeros=True)
    # Compiled together with its rule: a call takes a sixth of the time of one that looks at the rule.
    run: Callable[..., tuple[Any, ...]] = jax.jit(function)
    return run


class _Tangents(NamedTuple):
    """The outputs and what the tangents are made of, the linear rest, and which outputs have tangents."""

    known: Callable[..., tuple[Any, ...]]
    linear: Callable[..., tuple[Any, ...]]
    flows: list[bool]


def _tangents(body: Body, active: Sequence[int]) -> _Tangents:
    """A body's tangents, in two parts, of which JAX transposes the second alone.

    The first has derivatives of its own by funcgrad's rules, in whichever order JAX takes them.
    """
    tangents, moved = jvp_of_body(body, active)
    flows = [flow for flow in moved if flow is not None]
    roots = guarded(simplify_all(flows, mode="derivative"))
    exprs = by_key(*roots)
    depends = dependent(exprs.values(), [t.key for t in tangents])
    beside: dict[Key, Expr] = {}
    for expr in exprs.values():
        if expr.key in depends:
            beside |= {arg.key: arg for arg in expr.args if arg.key not in depends}
    beside |= {root.key: root for root in roots if root.key not in depends}
    given = {k: e for k, e in beside.items() if e.op is not CONSTANT and e.dtype.kind != "O"}
    names = {key: symbol(f"k{i}", e.type) for i, (key, e) in enumerate(given.items())}
    linear = body_of([*names.values(), *tangents], substitute_all(roots, names))
    known = body_of(body.inputs, [*body.outputs, *given.values()])
    return _Tangents(
        with_own_derivatives(known),
        compile_body(linear, "jax"),
        [flow is not None for flow in moved],
    )
