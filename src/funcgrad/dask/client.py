"""The client's part: programs traced once and sent to the workers, and the graph of their results."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import uuid4

from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.utils import funcname
from distributed import Client

from funcgrad import version
from funcgrad.control.closed_program import body_of
from funcgrad.dask.chunks import Chunks, lost_data
from funcgrad.dask.cluster import awaited
from funcgrad.dask.task_graph import TaskGraph, chunk_tasks, tree_of_sums
from funcgrad.dask.worker import (
    ChunkPlace,
    ProgramPlugin,
    ShardProgram,
    added,
    plugin_name,
    run_chunk,
)
from funcgrad.expr import Expr, by_key, symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.source import position, type_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.trace.trace_body import trace_body, types_of


class ShardedRun(NamedTuple):
    """A call: the programs are on the workers, and the chunks are known."""

    who: str
    name: str
    """The name of the user's function."""
    client: Client
    params: list[Any]
    names: Sequence[str]
    """The names of the data arguments."""
    chunks: Chunks
    digests: list[str]
    """The program of each chunk."""
    types: list[tuple[ArrayType, ...]]
    """The types of its results."""
    output: Tree
    check_finite: bool

    @staticmethod
    def of(
        who: str,
        f: Callable[..., Any],
        function: Callable[..., Any],
        client: Client,
        params: Sequence[Tree],
        names: Sequence[str],
        chunks: Chunks,
        check_finite: bool,
    ) -> ShardedRun:
        """The run of ``function``, which a transform made of the user's f."""
        made: dict[tuple[ArrayType, ...], tuple[str, ShardProgram, Tree]] = {}
        for types in map(tuple, chunks.types):
            if types not in made:
                program, output = _program(who, f, function, params, names, types)
                made[types] = (_send(client, program), program, output)
        chosen = [made[tuple(types)] for types in chunks.types]
        return ShardedRun(
            who,
            funcname(f),
            client,
            [leaf for tree in params for leaf in tree.leaves],
            names,
            chunks,
            [digest for digest, _, _ in chosen],
            [program.body.types for _, program, _ in chosen],
            chosen[0][2],
            check_finite,
        )

    def tasks(self, weights: Sequence[float]) -> tuple[TaskGraph, list[Hashable]]:
        """The results of all chunks, times their weights, and their keys."""
        places = [
            ChunkPlace(k, len(weights), weight, digest, self.check_finite)
            for k, (weight, digest) in enumerate(zip(weights, self.digests, strict=True))
        ]
        name = f"{self.name}-{uuid4().hex}"
        return chunk_tasks(name, run_chunk, self.params, places, self.chunks.parts)

    def sums(self, weights: Sequence[float]) -> tuple[TaskGraph, Hashable]:
        """The sums of the results of all chunks, times their weights, and their key."""
        graph, keys = self.tasks(weights)
        added_up, key = tree_of_sums(f"sum-{self.name}-{uuid4().hex}", added, keys)
        return graph | added_up, key

    def total(self, weights: Sequence[float]) -> list[Any]:
        """The values of `sums`."""
        lazy = delayed_value(*self.sums(weights))
        future = self.client.compute(lazy, optimize_graph=False)
        try:
            found: list[Any] = awaited(self.client, future)
            return found
        except CancelledError as error:
            raise lost_data(self.who, self.names, self.chunks.parts) or error from None


def delayed_value(graph: TaskGraph, key: Hashable) -> Delayed:
    """The result of one of the tasks."""
    return Delayed(key, HighLevelGraph.from_collections(key, graph, dependencies=()))


def _program(
    who: str,
    f: Callable[..., Any],
    function: Callable[..., Any],
    params: Sequence[Tree],
    names: Sequence[str],
    types: Sequence[ArrayType],
) -> tuple[ShardProgram, Tree]:
    """The program of a function on parameters and chunks of these types, and the tree of its results."""
    paths = [path for tree in params for path in tree.paths]
    labels = [*paths, *names]
    own = [type for tree in params for type in types_of(tree)]
    stand_ins = [symbol(label, type) for label, type in zip(labels, [*own, *types], strict=True)]
    data = [
        Tree([x], lambda leaves: leaves[0], [name]) for x, name in zip(types, names, strict=True)
    ]
    body, captured, output = trace_body(on_arrays(function), [*params, *data], stand_ins)
    if any([isinstance(x, Expr) for x in captured]):
        raise type_error(
            f"{who}: expected a function of plain numbers and arrays, but it refers to a traced value; call "
            "it outside of other transforms",
        )
    inputs = body.inputs[: len(labels)]
    closed = body_of(inputs, body.inline([*inputs, *[lift_fully(x) for x in captured]]))
    value = _as_written(f, params[0], stand_ins, len(paths))
    lines = {e.key: position(e.source) for e in by_key(*value).values() if e.source is not None}
    program = ShardProgram(closed, len(paths), tuple(names), value, tuple(labels), lines)
    return program, flatten(output)


def _as_written(
    f: Callable[..., Any], params: Tree, stand_ins: Sequence[Expr], count: int
) -> tuple[Expr, ...]:
    """The value of the user's function, with the lines of its nodes, for messages."""
    first = params.rebuild(list(stand_ins[: len(params.leaves)]))
    found = on_arrays(f)(first, *stand_ins[count:])
    return tuple([lift_fully(x) for x in flatten(found).leaves])


def _send(client: Client, program: ShardProgram) -> str:
    """Send a program to the workers, unless they have it; its content address."""
    digest = _digest(program)
    if plugin_name(digest) not in client.run_on_scheduler(_plugins):
        payload = pickle.dumps(program)
        try:
            client.register_plugin(ProgramPlugin(digest, payload, version.__version__))
        except BaseException:  # a worker refused it
            client.unregister_worker_plugin(plugin_name(digest))
            raise
    return digest


def _digest(program: ShardProgram) -> str:
    known = [
        version.__version__,
        repr(program.body),
        *program.names,
        *sorted(program.lines.values()),
    ]
    return blake2b("\n".join(known).encode(), digest_size=16).hexdigest()


def _plugins(dask_scheduler: Any) -> list[str]:
    """The names of the plugins of workers."""
    return list(dask_scheduler.worker_plugins)
