"""value_and_grad, grad, hvp, jacobian, vmap and map over chunks of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from dask import array, delayed
from dask.utils import funcname
from distributed import Client

from funcgrad.dask.chunks import chunks_of, example_count
from funcgrad.dask.client import ShardedRun, delayed_value
from funcgrad.dask.cluster import awaited, chosen_client
from funcgrad.dask.worker import divided, only, with_generator
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import parameter_names
from funcgrad.trace.pytree import Tree, flatten_numbers
from funcgrad.transforms import grad as gradient_module
from funcgrad.transforms import jacobian as jacobian_module
from funcgrad.transforms import vmap as vmap_module
from funcgrad.transforms.transform_arguments import check_function, named_after


def value_and_grad(
    loss: Callable[..., Any],
    reduce: str = "sum",
    *,
    client: Client | None = None,
    check_finite: bool = True,
) -> Callable[..., tuple[Any, Any]]:
    """The function ``(params, *data) -> (value, gradient)`` of a loss over chunks
    of data.

    ``loss(params, *chunks)`` returns a real scalar. The value is the sum of
    the losses of all chunks, or, with ``reduce="mean"``, their mean weighted
    by the number of examples: then the loss is a mean over its examples.
    ``params`` is a number, an array or a tree of them, sent to each worker
    once a call; the gradient is of the same structure. Each of ``data`` is a
    dask array with chunks along its first axis, a bag whose partitions are
    lists of numbers, or delayed values or futures, one a chunk (a lazy one is
    computed once more, for its shape).

    The loss is traced by the client, once for each shape of chunks, so its
    branches on values are `fg.cond` and `np.where`. Values and gradients are
    summed in a tree that depends only on the number of chunks: the result has
    the same bits for any number of workers. It is computed on ``client``, or
    on the client that was made last. The function's
    ``.delayed(params, *data)`` is the pair of delayed values instead, for
    Dask's progress bars and pictures of graphs.

    Raises TypeError or ValueError for data or a loss that do not fit, naming
    the chunk; FloatingPointError if the results of a chunk are not finite,
    naming the chunk, the first node and its line (unless not
    ``check_finite``); RuntimeError if a worker has another version of
    funcgrad.
    """
    return _reduced(
        "value_and_grad", loss, gradient_module.value_and_grad(loss), reduce, client, check_finite
    )


def grad(
    loss: Callable[..., Any],
    reduce: str = "sum",
    *,
    client: Client | None = None,
    check_finite: bool = True,
) -> Callable[..., Any]:
    """The function ``(params, *data) -> gradient`` of a loss over chunks of data,
    as in `value_and_grad`.

    Raises as `value_and_grad`.
    """
    both = value_and_grad(loss, reduce, client=client, check_finite=check_finite)

    @named_after(loss)
    def gradient_of(*args: object) -> Any:
        return both(*args)[1]

    gradient_of.delayed = lambda *args: both.delayed(*args)[1]  # type: ignore[attr-defined]
    return gradient_of


def hvp(
    loss: Callable[..., Any],
    reduce: str = "sum",
    *,
    client: Client | None = None,
    check_finite: bool = True,
) -> Callable[..., Any]:
    """The function ``(params, tangent, *data)`` that multiplies the Hessian in
    the parameters by a tangent.

    ``tangent`` has the structure of ``params``, and so has the result. The
    other arguments are those of `value_and_grad`.

    Raises as `value_and_grad`.
    """

    def product(params: object, tangent: object, *data: object) -> Any:
        return jacobian_module.hvp(lambda p: loss(p, *data), (params,), (tangent,))

    return _reduced("hvp", loss, product, reduce, client, check_finite, trees=2)


def _reduced(
    who: str,
    loss: Callable[..., Any],
    function: Callable[..., Any],
    reduce: str,
    client: Client | None,
    check_finite: bool,
    trees: int = 1,
) -> Callable[..., Any]:
    who = f"dask.{who}"
    check_function(who, loss)
    if reduce not in ("sum", "mean"):
        raise value_error(f"{who}: expected reduce to be 'sum' or 'mean', but got {reduce!r}")

    def started(args: Sequence[Any]) -> tuple[ShardedRun, list[float], float]:
        run = _run(who, loss, function, client, args, trees, check_finite)
        lengths = [example_count(types) for types in run.chunks.types]
        mean = reduce == "mean"
        return run, lengths if mean else [1.0] * len(lengths), sum(lengths) if mean else 1.0

    @named_after(loss)
    def over_chunks(*args: object) -> Any:
        run, weights, whole = started(args)
        found = run.total(weights)
        return run.output.rebuild([divided(k, found, whole) for k in range(len(found))])

    def lazy(*args: object) -> Any:
        run, weights, whole = started(args)
        total = delayed_value(*run.sums(weights))
        count = len(run.output.leaves)
        return run.output.rebuild([delayed(divided)(k, total, whole) for k in range(count)])

    over_chunks.delayed = lazy  # type: ignore[attr-defined]
    return over_chunks


def jacobian(
    f: Callable[..., Any], *, client: Client | None = None, check_finite: bool = True
) -> Callable[..., Any]:
    """The function ``(params, *data)`` that gives the Jacobian of f in the
    parameters, its rows over the workers.

    ``f(params, *chunks)`` returns an array whose first axis is that of the
    chunks. The result is a dask array, or a tree of them of params' structure:
    of shape f's ``(N, ...)`` followed by the parameter's, with the data's
    chunks. It is not computed before it is asked for.

    Raises as `value_and_grad`; TypeError also if the first axis of f's result
    is not that of the chunk.
    """
    return _rows("jacobian", f, jacobian_module.jacobian(f), client, check_finite)


def vmap(
    f: Callable[..., Any], *, client: Client | None = None, check_finite: bool = True
) -> Callable[..., Any]:
    """The function ``(params, *data)`` that gives ``f(params, *example)`` of each
    example, over the workers.

    An example is an entry along the first axis of the data. The result is a
    dask array, or a tree of them, with the data's chunks. It is not computed
    before it is asked for.

    Raises as `value_and_grad`.
    """

    def over_examples(params: object, *data: object) -> Any:
        return vmap_module.vmap(lambda *example: f(params, *example))(*data)

    return _rows("vmap", f, over_examples, client, check_finite)


def _rows(
    who: str,
    f: Callable[..., Any],
    function: Callable[..., Any],
    client: Client | None,
    check_finite: bool,
) -> Callable[..., Any]:
    who = f"dask.{who}"
    check_function(who, f)

    @named_after(f)
    def over_chunks(*args: object) -> Any:
        run = _run(who, f, function, client, args, 1, check_finite)
        graph, keys = run.tasks([1.0] * len(run.chunks.parts))
        tasks = [delayed_value(graph, key) for key in keys]
        leaves = []
        for k in range(len(run.output.leaves)):
            pieces = []
            for task, types, made in zip(tasks, run.chunks.types, run.types, strict=True):
                if made[k].shape[:1] != types[0].shape[:1]:
                    raise type_error(
                        f"{who}: expected a result for each example, with a first axis of length "
                        f"{types[0].shape[0]}, but got {made[k]}",
                    )
                pieces.append(
                    array.from_delayed(delayed(only)(k, task), made[k].shape, made[k].dtype)
                )
            leaves.append(array.concatenate(pieces))
        return run.output.rebuild(leaves)

    return over_chunks


def _run(
    who: str,
    f: Callable[..., Any],
    function: Callable[..., Any],
    client: Client | None,
    args: Sequence[Any],
    count: int,
    check_finite: bool,
) -> ShardedRun:
    """A function on parameters, of which the first ``count`` arguments are trees, and chunks."""
    if len(args) <= count:
        raise type_error(
            f"{who}: expected {count} trees of parameters and then data, but got {len(args)} arguments",
        )
    names = parameter_names(f, len(args) - count + 1)
    labels = [names[0], "tangent"][:count]
    params = [_floats(flatten_numbers(x, label)) for x, label in zip(args, labels, strict=False)]
    chosen = chosen_client(who, client)
    chunks = chunks_of(who, names[1:], args[count:], chosen)
    return ShardedRun.of(who, f, function, chosen, params, names[1:], chunks, check_finite)


def _floats(tree: Tree) -> Tree:
    """A tree of parameters with floats in the place of integers."""
    arrays = [np.asarray(leaf) for leaf in tree.leaves]
    floats = [x.astype(float) if x.dtype.kind in "iu" else x for x in arrays]
    return Tree([x[()] for x in floats], tree.rebuild, tree.paths)


def map(
    f: Callable[..., Any],
    items: Iterable[Any],
    *,
    seed: int | None = None,
    client: Client | None = None,
) -> list[Any]:
    """``[f(item) for item in items]``, a task an item: for sweeps, and
    simulations with a seed a task.

    Items that are lazy, such as delayed values, futures and the rows of a dask
    array, are computed on the workers. With ``seed``, f is called as
    ``f(item, rng)`` with a `numpy.random.Generator` of its own for each item,
    which depends on the seed and the item's place alone: the result is the
    same for any number of workers.

    Raises the error of the first item in order for which f raises one, with
    f's line.
    """
    check_function("dask.map", f)
    chosen = chosen_client("dask.map", client)
    every = chosen.compute(list(items), traverse=False)
    if seed is None:
        # Some releases of Dask put a function's attribute `expr` in its place; a partial has none.
        tasks = chosen.map(partial(f), every, pure=False, key=funcname(f))
        return list(awaited(chosen, tasks))
    seeds = np.random.SeedSequence(seed).spawn(len(every))
    tasks = chosen.map(with_generator, [f] * len(every), every, seeds, pure=False, key=funcname(f))
    return list(awaited(chosen, tasks))
