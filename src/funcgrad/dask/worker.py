"""What runs on the workers: the programs that clients sent, on chunks, and sums of their results."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from distributed import Worker, WorkerPlugin, get_worker

from funcgrad import version
from funcgrad.algebras.arguments_of import formula
from funcgrad.algebras.nonfinite import Nonfinite, find_nonfinite
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, result
from funcgrad.fold import fold
from funcgrad.graph import ArrayType, Key
from funcgrad.ops.base.op import lift_fully
from funcgrad.rewrite.evaluate import numpy_algebra
from funcgrad.trace.tree_map import tree_add
from funcgrad.typing import Array


class ShardProgram(NamedTuple):
    """A program of parameters and one chunk, as it travels."""

    body: Body
    """The inputs are the leaves of the parameters, then one array for each data argument."""
    leaves: int
    """The number of leaves of the parameters."""
    arguments: tuple[str, ...]
    """The names of the data arguments."""
    value: tuple[Expr, ...]
    """The value of the user's function as it is written, of variables with the names in ``names``."""
    names: tuple[str, ...]
    lines: dict[Key, str]
    """The user's lines, by nodes of ``value``."""


class ProgramPlugin(WorkerPlugin):  # type: ignore[misc]
    """A program on a worker, named by its content address. New workers get it from the scheduler."""

    def __init__(self, digest: str, payload: bytes, version: str) -> None:
        self.name = plugin_name(digest)
        self.payload = payload
        self.version = version
        self._program: ShardProgram | None = None

    def setup(self, worker: Worker) -> None:
        """Read the program, or refuse the worker."""
        self.program(worker)

    def program(self, worker: Worker) -> ShardProgram:
        """The program, read once. Raises RuntimeError on a worker of another version of funcgrad."""
        if self.version != version.__version__:
            raise RuntimeError(
                f"funcgrad.dask: expected funcgrad {self.version} on the worker {worker.address}, as on the "
                f"client, but got {version.__version__}; install one version on both"
            )
        if self._program is None:
            self._program = pickle.loads(self.payload)
        return self._program


def plugin_name(digest: str) -> str:
    """The name of the plugin that has a program."""
    return f"funcgrad-{digest}"


class ChunkPlace(NamedTuple):
    """Which chunk a task works on, and the factor of its results."""

    number: int
    total: int
    weight: float
    digest: str
    check_finite: bool


def run_chunk(place: ChunkPlace, params: Sequence[Any], *data: Array) -> list[Any]:
    """The results of a program on one chunk, times the chunk's weight.

    Raises TypeError for a chunk of another shape or dtype, FloatingPointError for results that are not
    finite, and what the program raises, with a note of the chunk, the node and its line."""
    worker = get_worker()
    program: ShardProgram = worker.plugins[plugin_name(place.digest)].program(worker)
    arrays = [np.asarray(item) for item in data]
    values = [*[np.asarray(leaf)[()] for leaf in params], *[array[()] for array in arrays]]
    for name, array, x in zip(
        program.arguments, arrays, program.body.inputs[program.leaves :], strict=True
    ):
        if (array.shape, array.dtype) != (x.shape, x.dtype):
            got = ArrayType(array.shape, array.dtype)
            raise TypeError(f"{_chunk(place)} of {name}: expected {x.type}, but got {got}")
    with np.errstate(all="ignore"):
        try:
            found = [np.array(x)[()] for x in program.body.program.compiled(*values)]
        except Exception as error:
            error.add_note(_raised(program, place, values))
            raise
    if place.check_finite and not all([np.all(np.isfinite(x)) for x in found]):
        raise FloatingPointError(_not_finite(program, place, values))
    if place.weight == 1.0:
        return found
    return [x * place.weight if x.dtype.kind in "fc" else x for x in found]


def _chunk(place: ChunkPlace) -> str:
    return f"funcgrad.dask: chunk {place.number} of {place.total}"


def _not_finite(program: ShardProgram, place: ChunkPlace, values: Sequence[Any]) -> str:
    """What is not finite: an entry of the data, or the first node of the user's function."""
    who = _chunk(place)
    for name, array in zip(program.arguments, values[program.leaves :], strict=True):
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            index = tuple(bad[0].tolist())
            who += f": {name}{list(index)} is {np.asarray(array)[index]}"
            break
    named = dict(zip(program.names, values, strict=False))
    first = None
    for root in program.value:
        first = first or find_nonfinite(root, **named)
    return f"{who}: expected finite results, but got inf or nan" + _first_node(program, first)


def _raised(program: ShardProgram, place: ChunkPlace, values: Sequence[Any]) -> str:
    """Where the user's function raises: the chunk, and the node with its line."""
    algebra = numpy_algebra(dict(zip(program.names, values, strict=False)))
    raised: list[Expr] = []

    def op(node: Expr, operands: tuple[Any, ...]) -> Any:
        try:
            return algebra.op(node, operands)
        except Exception:
            raised.append(node)
            raise

    with suppress(Exception):
        fold(program.value, algebra._replace(op=op))
    where = [f"{formula(node)}\n  at {program.lines.get(node.key, '')}" for node in raised]
    return ": ".join([_chunk(place), *where])


def _first_node(program: ShardProgram, first: Nonfinite | None) -> str:
    if first is None:
        return ""
    line = program.lines.get(first.node.key, "")
    return f"\n{first!r}" + (f"\n  at {line}" if line else "")


def added(*parts: Sequence[Any]) -> list[Any]:
    """The sums of several lists of arrays, in their order: a node of the tree of sums."""
    total: list[Any] = tree_add(*parts)
    return total


def only(index: int, values: Sequence[Any]) -> Any:
    """One of the results of a chunk."""
    return values[index]


def divided(index: int, sums: Sequence[Any], whole: float) -> Any:
    """One of the sums over all chunks, divided by the number of examples if it is a mean."""
    return result(only(index, sums) if whole == 1.0 else only(index, sums) / whole)


def with_generator(f: Callable[..., Any], item: object, seed: np.random.SeedSequence) -> Any:
    """``f(item, rng)`` with a generator of its own."""
    return f(item, np.random.default_rng(seed))


def chunk_type(data: object) -> ArrayType:
    """The type of a chunk."""
    known = lift_fully(np.asarray(data))
    return known.type
