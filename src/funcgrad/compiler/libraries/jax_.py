"""Programs on JAX's arrays. Under JAX's own tracing only shapes and dtypes are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.libraries.jax_sharding import (
    jax,
    jnp,
    varying_scan,
    varying_switch,
    varying_while_loop,
)
from funcgrad.compiler.libraries.library_codegen import Library, results_alone
from funcgrad.graph import ArrayType
from funcgrad.ops.base.index_spec import restore
from funcgrad.source import warn
from funcgrad.typing import Array, LibraryArray


def _dtype(dtype: np.dtype[Any]) -> Any:
    """The dtype that JAX computes in: half as wide unless jax_enable_x64 is set."""
    return jax.dtypes.canonicalize_dtype(dtype)


def _array(value: object, dtype: np.dtype[Any], home: object) -> Any:
    return jax.lax.convert_element_type(value, _dtype(dtype))


def _constant(array: np.ndarray[Any, Any], changing: bool) -> Callable[[Any], Any]:
    # Made within the call: what JAX makes while it traces belongs to that trace.
    return lambda home: jnp.asarray(array, _dtype(array.dtype))


def _astype(x: object, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return jnp.not_equal(x, 0)
    part = jnp.real(x) if dtype.kind != "c" else x
    return jax.lax.convert_element_type(part, _dtype(dtype))


def _cumsum(x: LibraryArray, axis: int) -> Any:
    # As NumPy, which sums small integers in wide ones.
    return jnp.cumsum(x, axis=axis, dtype=jnp.sum(x[:0]).dtype)


def _scatter(
    g: LibraryArray, *arrays: LibraryArray, spec: tuple[Any, ...], shape: tuple[int, ...]
) -> Any:
    truth = g.dtype == bool
    g = g.astype(np.int8) if truth else g
    whole = jnp.zeros(shape, g.dtype).at[restore(spec, arrays)].add(g)
    return whole != 0 if truth else whole


def _logsumexp(x: LibraryArray, axis: tuple[int, ...]) -> Any:
    if x.size == 0:
        return jnp.log(jnp.sum(jnp.exp(x), axis=axis))
    return jax.scipy.special.logsumexp(x, axis=axis)


# -- closed subgraphs ----------------------------------------------------------------------------
def _call(run: Callable[..., Any], *operands: Array) -> Any:
    # What funcgrad keeps of the inside in reverse mode is what JAX keeps: nothing.
    return jax.checkpoint(run)(*operands)


def _branch(runs: Sequence[Callable[..., Any]], index: Any, *operands: Array) -> Any:
    return varying_switch(runs, index.astype(np.int32), *operands)


def _loop(
    run: Callable[..., Any],
    holds: Callable[..., Any] | None,
    spec: Any,
    types: Sequence[ArrayType],
    home: object,
    *operands: Array,
) -> Any:
    count, middle = spec.num_carry, spec.num_carry + spec.num_xs
    init, sequences, fixed = operands[:count], operands[count:middle], operands[middle:]
    if holds is not None:
        return varying_while_loop(holds, run, init, fixed)

    def step(state: Sequence[Any], items: Sequence[Any]) -> Any:
        values = run(*state, *items, *fixed)
        return values[:count], values[count:]

    length = None if sequences else spec.trip_count
    state, stacked = varying_scan(step, init, sequences, fixed, length, spec.reverse)
    return (*state, *stacked)


# -- the library ---------------------------------------------------------------------------------
def _warn(types: Sequence[ArrayType]) -> None:
    wide = [str(t.dtype) for t in types if t.dtype.kind in "fc" and _dtype(t.dtype) != t.dtype]
    if wide:
        warn(
            f"backend 'jax': the program is in {wide[0]}, but JAX computes in {_dtype(np.dtype(wide[0]))} "
            "unless it is told otherwise: jax.config.update('jax_enable_x64', True)"
        )


def library() -> Library:
    """What the library has for a program."""
    return Library(
        name="jax",
        module=jnp,
        table={
            # NumPy reads one triangle alone. What it raises `LinAlgError` for, JAX answers with nan or inf.
            "cholesky": lambda a: jnp.linalg.cholesky(a, symmetrize_input=False),
            "eigh": lambda a, triangle: tuple(jnp.linalg.eigh(a, triangle, False)),
            "argsort": lambda x, axis: jnp.argsort(x, axis=axis, stable=True),
            "astype": _astype,
            "cumsum": _cumsum,
            "logsumexp": _logsumexp,
            "scatter_add": _scatter,
            "stop_gradient": jax.lax.stop_gradient,
        },
        home=lambda values: None,
        array=_array,
        constant=_constant,
        own=lambda value: value,
        call=_call,
        branch=_branch,
        loop=_loop,
        custom_derivative=results_alone,
        transposes=True,
        lengths=False,
        compile=jax.jit,
        compiled=True,
        warn=_warn,
    )
