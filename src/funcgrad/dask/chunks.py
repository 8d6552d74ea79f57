"""Data in chunks: one delayed value or future for each chunk of each argument, with its type."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

from dask import array, bag, delayed
from dask.delayed import Delayed
from distributed import Client, Future

from funcgrad.dask.cluster import awaited
from funcgrad.dask.worker import chunk_type
from funcgrad.graph import ArrayType
from funcgrad.source import fail, type_error, value_error


class Chunks(NamedTuple):
    """The chunks of all arguments."""

    parts: list[list[Any]]
    """For each chunk its parts, one an argument."""
    types: list[list[ArrayType]]


def chunks_of(who: str, names: Sequence[str], data: Sequence[Any], client: Client) -> Chunks:
    """The chunks of data: the n-th chunks of all arguments belong together.

    Raises TypeError for data of other kinds, ValueError if the arguments have other numbers of chunks or
    examples, or chunks that differ in more than their length."""
    if not data:
        raise type_error(f"{who}: expected data after the parameters, but got none")
    columns = [_chunks(who, name, item, client) for name, item in zip(names, data, strict=True)]
    counts = {name: len(parts) for name, (parts, _) in zip(names, columns, strict=True)}
    if len(set(counts.values())) != 1 or not all(counts.values()):
        got = ", ".join([f"{n} of {name}" for name, n in counts.items()])
        raise value_error(
            f"{who}: expected the same number of chunks of each argument, but got {got}; write "
            "x.rechunk(...)",
        )
    for name, (_, types) in zip(names, columns, strict=True):
        _check_types(who, name, types)
    parts = [list(row) for row in zip(*[c[0] for c in columns], strict=True)]
    rows = [list(row) for row in zip(*[c[1] for c in columns], strict=True)]
    for number, row in enumerate(rows):
        if len({type.shape[:1] for type in row}) != 1:
            got = ", ".join([f"{t} of {name}" for name, t in zip(names, row, strict=True)])
            raise value_error(
                f"{who}: expected chunk {number} to have the same number of examples of each argument, but "
                f"got {got}",
            )
    return Chunks(parts, rows)


def _chunks(who: str, name: str, data: object, client: Client) -> tuple[list[Any], list[ArrayType]]:
    if isinstance(data, array.Array):
        return _of_array(who, name, data, client)
    if isinstance(data, bag.Bag):
        parts = list(data.to_delayed())
    elif isinstance(data, Delayed | Future):
        parts = [data]
    elif isinstance(data, list | tuple) and all([isinstance(x, Delayed | Future) for x in data]):
        parts = list(data)
    else:
        raise type_error(
            f"{who}: expected {name} to be a dask array, a bag, delayed values or futures, but got "
            f"{type(data).__name__}; write dask.array.from_array(x, chunks=...)",
        )
    return parts, _types(who, name, parts, client)


def _types(who: str, name: str, parts: Sequence[Any], client: Client) -> list[ArrayType]:
    """The types of chunks, which the workers find."""
    found = client.compute([delayed(chunk_type)(part) for part in parts])
    try:
        return list(awaited(client, found))
    except CancelledError as error:
        raise lost_data(who, [name], [[part] for part in parts]) or error from None


def lost_data(
    who: str, names: Sequence[str], parts: Sequence[Sequence[Any]]
) -> RuntimeError | None:
    """The error that names the first chunk that needs a lost future, if there is one: its workers are lost,
    and no task makes it again, since it was scattered."""
    for number, row in enumerate(parts):
        for name, part in zip(names, row, strict=True):
            if any([future.status in ("lost", "cancelled") for future in _futures(part)]):
                error: RuntimeError = fail(
                    RuntimeError,
                    f"{who}: expected chunk {number} of {name} on a worker, but it is lost with its worker, "
                    "or it was canceled; write client.scatter(...) again, or give delayed values, which "
                    "are computed again",
                )
                return error
    return None


def _futures(part: object) -> list[Future]:
    """The futures that a chunk needs."""
    tasks = part.dask.values() if isinstance(part, Delayed) else [part]
    needed = [item for task in tasks for item in (task, *getattr(task, "args", ()))]
    return [item for item in needed if isinstance(item, Future)]


def _of_array(who: str, name: str, data: Any, client: Client) -> tuple[list[Any], list[ArrayType]]:
    if not data.ndim or any([n != 1 for n in data.numblocks[1:]]):
        raise value_error(
            f"{who}: expected {name} to have chunks along its first axis alone, but got {data.numblocks} "
            "chunks; write x.rechunk({0: 'auto', 1: -1})",
        )
    parts = list(data.to_delayed().ravel())
    if any([n != n for n in data.chunks[0]]):  # of unknown length
        return parts, _types(who, name, parts, client)
    rest = tuple([sizes[0] for sizes in data.chunks[1:]])
    return parts, [ArrayType((int(n), *rest), data.dtype) for n in data.chunks[0]]


def _check_types(who: str, name: str, types: Sequence[ArrayType]) -> None:
    first = types[0]
    for number, type in enumerate(types):
        if not type.shape or (type.shape[1:], type.dtype) != (first.shape[1:], first.dtype):
            raise type_error(
                f"{who}: expected chunk {number} of {name} to be as chunk 0, {first} of any length, but got "
                f"{type}",
            )


def example_count(types: Sequence[ArrayType]) -> float:
    """The number of examples in a chunk."""
    return float(types[0].shape[0])
