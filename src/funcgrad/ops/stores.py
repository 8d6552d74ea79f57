"""Stores into entries of an array, as new arrays: ``index_set`` replaces entries, ``index_add`` adds to them.

A repeated index means what it means to NumPy: the last value is stored, and values are added one after
the other; an index that is ``unique`` names no entry twice. Both say how they run in place
(`Op.in_place`): programs do that if nothing else reads the array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import Identity, LinearMap, Structural
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, Form, no_flops
from funcgrad.ops.base.index_batching import batched_entries
from funcgrad.ops.base.index_spec import Spec, index_source, index_text, restore
from funcgrad.ops.base.op import Op, spread
from funcgrad.ops.base.untaken_paths import indices_or_zero
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.indexing import add_at, getitem_op, scatter_op
from funcgrad.ops.shape import full_like, zeros_like
from funcgrad.typing import Array, FunctionLibrary


# -- values --------------------------------------------------------------------------------------
def _set_in_place(x: Array, v: Array, *arrays: Array, spec: Spec, unique: bool) -> Any:
    if not unique:
        # NumPy stores in the order in which indices of several axes lie in memory.
        arrays = tuple([np.ascontiguousarray(a) if np.ndim(a) > 1 else a for a in arrays])
    x[restore(spec, arrays)] = v[()] if type(v) is np.ndarray and not v.shape else v
    return x


def _add_in_place(x: Array, v: Array, *arrays: Array, spec: Spec) -> Any:
    index = restore(spec, arrays)
    if any([np.ndim(a) for a in arrays]):
        add_at(x, index, v)
    else:
        x[index] += v
    return x


def _set_run(x: Array, v: Array, *arrays: Array, spec: Spec, unique: bool) -> Any:
    return _set_in_place(np.array(x), v, *arrays, spec=spec, unique=unique)


def _add_run(x: Array, v: Array, *arrays: Array, spec: Spec) -> Any:
    return _add_in_place(np.array(x), v, *arrays, spec=spec)


def _infer(x: ArrayType, v: ArrayType, *arrays: ArrayType, **params: object) -> ArrayType:
    return x


# -- derivatives ---------------------------------------------------------------------------------
def _is_stored(x: Array, v: Array, arrays: Sequence[Any], spec: Spec) -> Any:
    """Which of the values v remain in the array, where an index may be repeated."""
    places = np.arange(np.size(x)).reshape(np.shape(x))
    chosen = np.ravel(getitem_op(places, *arrays, spec=spec, shape=np.shape(v)))
    order = np.argsort(chosen, kind="stable")
    ordered = chosen[order]
    last = np.concatenate([ordered[1:] != ordered[:-1], np.ones(min(1, chosen.size), bool)])
    stored = scatter_op(last, order, spec=("array",), shape=chosen.shape)
    return np.reshape(stored, np.shape(v))


def _set_base_edge(
    z: Array, x: Array, v: Any, *arrays: Array, spec: Spec, unique: bool
) -> LinearMap:
    def cleared(g: Array) -> Any:
        blank = zeros_like(v) if isinstance(v, Expr) else np.zeros(np.shape(v), np.result_type(v))
        return index_set_op(g, blank, *arrays, spec=spec, unique=unique)

    return Structural(cleared, cleared)


def _set_value_edge(
    z: Array, x: Array, v: Array, *arrays: Array, spec: Spec, unique: bool
) -> LinearMap:
    def kept(t: Array) -> Any:
        return t if unique else mask(_is_stored(x, v, arrays, spec), t)

    return Structural(
        lambda t: scatter_op(kept(t), *arrays, spec=spec, shape=np.shape(x)),
        lambda g: kept(getitem_op(g, *arrays, spec=spec, shape=np.shape(v))),
    )


def _add_base_edge(z: Array, x: Array, v: Array, *arrays: Array, spec: Spec) -> LinearMap:
    return Identity()


def _add_value_edge(z: Array, x: Array, v: Array, *arrays: Array, spec: Spec) -> LinearMap:
    return Structural(
        lambda t: scatter_op(t, *arrays, spec=spec, shape=np.shape(x)),
        lambda g: getitem_op(g, *arrays, spec=spec, shape=np.shape(v)),
    )


def _edges(*edges: object) -> Any:
    return lambda place: edges[place] if place < len(edges) else None


# -- batches -------------------------------------------------------------------------------------
def _batch(op: Callable[[], Op]) -> Callable[..., Any]:
    def batch(
        size: int, batched: tuple[bool, ...], x: Array, v: Array, *arrays: Array, **params: Any
    ) -> Any:
        whole = x if batched[0] else spread(x, size)
        ndim = np.ndim(whole) - 1
        values, wide, places = batched_entries(size, batched[1:], v, arrays, params["spec"], ndim)
        return op()(whole, values, *places, **(params | {"spec": wide}))

    return batch


# -- in simpler operations, and as text ----------------------------------------------------------
def _set_decomposed(x: Array, v: Array, *arrays: Array, spec: Spec, unique: bool) -> Any:
    kept = v if unique else mask(_is_stored(x, v, arrays, spec), v)
    touched = scatter_op(full_like(v, True, bool), *arrays, spec=spec, shape=x.shape)
    return np.where(touched, scatter_op(kept, *arrays, spec=spec, shape=x.shape), x)


def _add_decomposed(x: Array, v: Array, *arrays: Array, spec: Spec) -> Any:
    if x.dtype.kind not in "fc":
        return x + scatter_op(v, *arrays, spec=spec, shape=x.shape)
    # x - 0.0 is x where x + 0.0 is not: at -0.0
    return x - scatter_op(-v, *arrays, spec=spec, shape=x.shape)


def _jax_set(jnp: FunctionLibrary, x: Any, v: Any, *arrays: Array, spec: Spec, unique: bool) -> Any:
    index = restore(spec, arrays)
    if not unique:  # JAX does not say which value remains: give all the last one
        order = jnp.arange(v.size).reshape(v.shape)
        last = jnp.zeros(x.shape, order.dtype).at[index].max(order)[index]
        v = jnp.take(v.reshape(-1), last)
    return x.at[index].set(v)


def _jax_add(jnp: object, x: Any, v: Array, *arrays: Array, spec: Spec) -> Any:
    return x.at[restore(spec, arrays)].add(v)


def _text(how: str) -> Callable[..., str]:
    return lambda x, v, *arrays, spec, **_: f"{x}.at{index_text(spec, arrays)}.{how}({v})"


def _source(form: str, form_of_arrays: str) -> Callable[[Expr, Sequence[str]], str]:
    # Statements in one expression: ``or`` passes on, since they return None.
    def source(expr: Expr, texts: Sequence[str]) -> str:
        names = [f"i{k}" for k in range(len(texts) - 2)]
        ordered = form_of_arrays is _SET and not dict(expr.params)["unique"]
        read = [
            f"np.ascontiguousarray({name})" if ordered and a.ndim > 1 else name
            for name, a in zip(names, expr.args[2:], strict=True)
        ]
        index = index_source(dict(expr.params)["spec"], read)
        chosen = form_of_arrays if any([a.shape for a in expr.args[2:]]) else form
        stored = chosen.format(index=index)
        given = ", ".join([f"np.array({texts[0]})", *texts[1:]])
        return f"(lambda {', '.join(['z', 'v', *names])}: {stored} or z)({given})"

    return source


_SET = "z.__setitem__({index}, v)"

index_set_op: Op = Op(
    name="index_set",
    run=_set_run,
    in_place=_set_in_place,
    infer=_infer,
    edges=_edges(_set_base_edge, _set_value_edge),
    batch=_batch(lambda: index_set_op),
    notation=_text("set"),
    columns=Columns(
        decompose=_set_decomposed,
        flops=no_flops,
        interval=lambda iv, x, v, *at, **params: iv.stored(_set_run, x, v, at, **params),
        latex=Form("set"),
        machine="subscript_forms:index_set",
        numpy=_source(_SET, _SET),
        libraries={"torch": f"{TORCH_FORMS}:index_set", "jax": _jax_set},
        sparsity="stored",
        fresh=True,
        untaken=indices_or_zero,
    ),
)
index_add_op: Op = Op(
    name="index_add",
    run=_add_run,
    in_place=_add_in_place,
    infer=_infer,
    edges=_edges(_add_base_edge, _add_value_edge),
    batch=_batch(lambda: index_add_op),
    notation=_text("add"),
    columns=Columns(
        decompose=_add_decomposed,
        flops=lambda z: z.args[1].size,
        latex=Form("increased"),
        machine="subscript_forms:index_add",
        numpy=_source("z.__setitem__({index}, z[{index}] + v)", "np.add.at(z, {index}, v)"),
        libraries={"torch": f"{TORCH_FORMS}:index_add", "jax": _jax_add},
        sparsity="stored",
        fresh=True,
        untaken=indices_or_zero,
    ),
)
