"""The graph of a call: a task for each chunk, which reads it and runs the program, and a tree of sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from dask._task_spec import Alias, DataNode, GraphNode, Task, TaskRef, convert_legacy_graph
from dask.delayed import Delayed

FAN_IN = 8
"""The number of results that one task adds up."""

TaskGraph = dict[Hashable, Any]
"""Tasks by their keys. Results that the cluster has already are futures, under their keys."""


def chunk_tasks(
    name: str,
    function: Callable[..., Any],
    params: object,
    places: Sequence[Any],
    parts: Sequence[Sequence[Any]],
) -> tuple[TaskGraph, list[Hashable]]:
    """The tasks ``function(place, params, *parts)`` of all chunks, and their keys.

    The parameters are one task, so that they travel to a worker once. What makes a chunk alone is a part
    of the chunk's task: no worker keeps a chunk that waits for its turn."""
    graph = _tasks_of([part for row in parts for part in row])
    data = f"params-{name}"
    graph[data] = DataNode(data, params)
    keys: list[Hashable] = [(name, k) for k in range(len(places))]
    for key, place, row in zip(keys, places, parts, strict=True):
        graph[key] = Task(key, function, place, TaskRef(data), *[TaskRef(p.key) for p in row])
    users = Counter([key for task in graph.values() for key in _needed(task)])
    for key in keys:
        graph[key] = _inlined(graph, graph[key], users)
    return graph, keys


def _tasks_of(parts: Iterable[Any]) -> TaskGraph:
    """The tasks that make lazy chunks."""
    graphs = {
        id(graph): graph for part in parts if isinstance(part, Delayed) for graph in [part.dask]
    }
    found: TaskGraph = {}
    for graph in graphs.values():
        found.update(convert_legacy_graph(dict(graph)))
    return found


def _needed(task: object) -> frozenset[Hashable]:
    """The keys of the results that a task needs."""
    return task.dependencies if isinstance(task, GraphNode) else frozenset()


def _inlined(graph: TaskGraph, task: Task, users: Counter[Hashable]) -> Task:
    """A task that does the work of the tasks that it alone needs, which leave the graph."""

    def alone(key: Hashable) -> bool:
        return users[key] == 1 and isinstance(graph.get(key), GraphNode)

    own = {}
    for key in filter(alone, _needed(task)):
        own[key] = graph.pop(key)
        while isinstance(own[key], Alias) and alone(own[key].target):
            own[key] = graph.pop(own[key].target)
    return task.substitute(own)


def tree_of_sums(
    name: str, function: Callable[..., Any], keys: Sequence[Hashable]
) -> tuple[TaskGraph, Hashable]:
    """The tasks that add up results, in an order that depends on their number alone, and the last key."""
    graph: TaskGraph = {}
    level, parts = 0, list(keys)
    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [(name, level, k) for k in range(len(groups))]
        for key, group in zip(parts, groups, strict=True):
            graph[key] = Task(key, function, *[TaskRef(part) for part in group])
        level += 1
    return graph, parts[0]
