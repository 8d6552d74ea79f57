"""Programs in JAX over the devices of a mesh: sharded arguments, and control flow under `jax.shard_map`.

Under `shard_map` the type of a value has the axes of the mesh over which it varies, and JAX takes no loop
whose carry begins with fewer of them than it ends with, and no branches that differ in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from funcgrad.ops.base.lazy_import import LazyModule
from funcgrad.typing import Array, LibraryArray

jax: Any = LazyModule("jax")
jnp: Any = LazyModule("jax.numpy")

MeshAxes = frozenset[str]


# -- types that vary over a mesh -----------------------------------------------------------------
def _axes(aval: Any) -> MeshAxes:
    known = getattr(aval, "manual_axis_type", None)
    found: MeshAxes = getattr(aval, "vma", frozenset()) if known is None else known.varying
    return found


def _varying_axes(x: Array) -> MeshAxes:
    """The axes of the mesh over which a value may differ under `shard_map`; none elsewhere."""
    typeof = getattr(jax, "typeof", None)  # versions that have it have such types
    return frozenset() if typeof is None else _axes(typeof(x))


def _all_axes(*values: Array) -> MeshAxes:
    return frozenset().union(*map(_varying_axes, values))


def _as_varying(x: Array, axes: MeshAxes) -> Any:
    """The value, of the type of those that vary over the axes as well. Its transpose sums over them."""
    missing = tuple(sorted(axes - _varying_axes(x)))
    if not missing:
        return x
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(jnp.asarray(x), missing, to="varying")
    return jax.lax.pvary(jnp.asarray(x), missing)


def alike(x: Array, y: Array) -> tuple[Any, Any]:
    """Both values, varying over the axes over which either does."""
    axes = _all_axes(x, y)
    return _as_varying(x, axes), _as_varying(y, axes)


def varying_switch(runs: Sequence[Callable[..., Any]], index: Any, *operands: Array) -> Any:
    """`jax.lax.switch`, whose results vary wherever the index or any branch's results do."""
    if not _all_axes(index, *operands):
        return jax.lax.switch(index, runs, *operands)
    chosen = _varying_axes(index)
    given = [_as_varying(x, chosen) for x in operands]
    found = [[_axes(out) for out in jax.eval_shape(run, *given)] for run in runs]
    united = [chosen.union(*axes) for axes in zip(*found, strict=True)]

    def varying(run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: tuple(map(_as_varying, run(*xs), united))

    return jax.lax.switch(index, list(map(varying, runs)), *given)


def varying_scan(
    step: Callable[..., tuple[Any, Any]],
    init: Sequence[Array],
    sequences: Sequence[Array],
    fixed: Sequence[Array],
    length: int | None,
    reverse: bool,
) -> tuple[Any, Any]:
    """`jax.lax.scan` of a step that reads ``fixed`` as well; its carry varies wherever a later one does."""

    def next_carry(state: Sequence[Any]) -> Any:
        items = [_as_varying(jnp.zeros(s.shape[1:], s.dtype), _varying_axes(s)) for s in sequences]
        return step(state, items)[0]

    carry = _varying_carry(next_carry, init, (*sequences, *fixed))

    def varying(state: Sequence[Any], items: Sequence[Any]) -> Any:
        later, values = step(state, items)
        return _like(later, carry), values

    found: tuple[Any, Any] = jax.lax.scan(
        varying, carry, tuple(sequences), length=length, reverse=reverse
    )
    return found


def varying_while_loop(
    holds: Callable[..., Any],
    run: Callable[..., tuple[Any, ...]],
    init: Sequence[Array],
    fixed: Sequence[Array],
) -> Any:
    """`jax.lax.while_loop` of a body that reads ``fixed`` as well; its carry varies wherever a later one or
    the condition does.
    """

    def condition(state: Sequence[Any]) -> Any:
        return holds(*state, *fixed)[0]

    carry = _varying_carry(lambda state: run(*state, *fixed), init, fixed)
    if _all_axes(*carry, *fixed):
        axes = _axes(jax.eval_shape(condition, carry))
        carry = tuple([_as_varying(x, axes) for x in carry])
    return jax.lax.while_loop(condition, lambda state: _like(run(*state, *fixed), carry), carry)


def _varying_carry(
    next_carry: Callable[..., Any], init: Sequence[Array], beside: Sequence[Array]
) -> tuple[Any, ...]:
    """The first carry of a loop, varying over the axes over which the later ones do."""
    carry = tuple(init)
    if not _all_axes(*init, *beside):
        return carry
    while True:  # each pass but the last adds an axis of the mesh
        axes = [_axes(out) for out in jax.eval_shape(next_carry, carry)]
        if all([found <= _varying_axes(x) for x, found in zip(carry, axes, strict=True)]):
            return carry
        carry = tuple(map(_as_varying, carry, axes))


def _like(values: Sequence[Array], carry: Sequence[Array]) -> tuple[Any, ...]:
    return tuple([_as_varying(x, _varying_axes(c)) for x, c in zip(values, carry, strict=True)])


# -- sharded arguments ---------------------------------------------------------------------------
def partitioned(run: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """The program, which XLA partitions over a mesh also where the axes of the mesh are explicit.

    Arrays over a mesh with axes of type ``AxisType.Explicit`` are handed over as arrays over the same mesh
    with axes of type ``AxisType.Auto``, and the results come back over the first mesh. No data moves.
    While JAX traces, explicit axes stay.
    """

    @wraps(run)
    def over_mesh(*values: LibraryArray) -> tuple[Any, ...]:
        meshes = list(map(_explicit_mesh, values))
        first = next((mesh for mesh in meshes if mesh is not None), None)
        if first is None or any([isinstance(x, jax.core.Tracer) for x in values]):
            return run(*values)
        given = [
            x if mesh is None else _over(_auto_mesh(mesh), x)
            for x, mesh in zip(values, meshes, strict=True)
        ]
        # The caller may have set the explicit mesh as that of the context.
        with jax.set_mesh(_auto_mesh(first)):
            results = run(*given)
        return tuple([_over(first, x) for x in results])

    return over_mesh


def _explicit_mesh(x: LibraryArray) -> Any:
    """The mesh of an array that has explicit axes, or None."""
    if not hasattr(jax, "set_mesh"):  # versions without it have no explicit axes
        return None
    if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer):
        return None
    mesh = getattr(x.sharding, "mesh", None)
    return mesh if mesh is not None and jax.sharding.AxisType.Explicit in mesh.axis_types else None


def _auto_mesh(mesh: Any) -> Any:
    kinds = (jax.sharding.AxisType.Auto,) * len(mesh.axis_names)
    return jax.sharding.Mesh(mesh.devices, mesh.axis_names, axis_types=kinds)


def _over(mesh: Any, x: LibraryArray) -> Any:
    """An array over a mesh of the same devices, partitioned as it was."""
    if not isinstance(x.sharding, jax.sharding.NamedSharding):
        return x
    return jax.device_put(x, jax.sharding.NamedSharding(mesh, x.sharding.spec))
