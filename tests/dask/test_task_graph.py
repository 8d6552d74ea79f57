"""A task for each chunk, which reads it and works, and what the workers keep meanwhile."""

from functools import reduce

import numpy as np
import pytest

array = pytest.importorskip("dask.array")
delayed = pytest.importorskip("dask").delayed
distributed = pytest.importorskip("distributed")
task_graph = pytest.importorskip("funcgrad.dask.task_graph")
sharded = pytest.importorskip("funcgrad.dask")

pytestmark = [pytest.mark.dask, pytest.mark.slow, pytest.mark.filterwarnings("default")]


def total(place, params, *data):
    return [place + params[0] + sum(float(np.sum(x)) for x in data)]


def added(*parts):
    return [sum(part[0] for part in parts)]


def computed(graph, key):
    from funcgrad.dask.client import delayed_value

    return delayed_value(graph, key).compute(scheduler="sync")


def parts_of(*arrays):
    return [list(row) for row in zip(*[x.to_delayed().ravel() for x in arrays], strict=True)]


def test_what_makes_a_chunk_alone_is_a_part_of_its_task():
    x = array.from_array(np.arange(12.0), chunks=3).map_blocks(np.sqrt) + 1.0
    y = array.ones(12, chunks=3)
    graph, keys = task_graph.chunk_tasks("f", total, [0.5], range(4), parts_of(x, y))
    shared = set(graph) - set(keys)
    assert keys == [("f", k) for k in range(4)]
    assert shared == {"params-f"}
    for k, key in enumerate(keys):
        rows = np.sqrt(np.arange(12.0))[3 * k : 3 * k + 3] + 1
        assert computed(graph, key) == [pytest.approx(k + 0.5 + np.sum(rows) + 3)]


def test_what_several_chunks_need_is_computed_once():
    calls = []

    def read(k):
        calls.append(k)
        return np.full(2, float(k))

    files = [delayed(read)(k) for k in range(2)]
    rows = [[files[0], files[0] + 1.0], [files[1], files[0]]]
    graph, keys = task_graph.chunk_tasks("f", total, [0.0], range(2), rows)
    assert files[0].key in graph
    assert files[1].key not in graph
    sums, key = task_graph.tree_of_sums("sum-f", added, keys)
    assert computed(graph | sums, key) == [1.0 + 2.0 + 2.0]
    assert sorted(calls) == [0, 1]


@pytest.mark.parametrize("count", [1, 2, 8, 9, 64, 65, 200])
def test_the_tree_of_sums_adds_eight_in_their_order(count):
    keys = [("f", k) for k in range(count)]
    graph, key = task_graph.tree_of_sums("sum-f", added, keys)
    leaves = {("f", k): delayed([0.1 * (k + 1)]).dask for k in range(count)}
    for k, leaf in leaves.items():
        (graph[k],) = [node.substitute({}, key=k) for node in leaf.values()]
    parts = [0.1 * (k + 1) for k in range(count)]
    while len(parts) > 1:
        parts = [reduce(float.__add__, parts[i : i + 8], 0.0) for i in range(0, len(parts), 8)]
    assert computed(graph, key) == parts
    assert max(len(task.dependencies) for task in graph.values()) <= task_graph.FAN_IN


def test_a_worker_keeps_no_chunk_and_few_gradients():
    """At each read it has no other chunk, and at most eight partial gradients for a level of the tree."""

    def read(block):
        worker = distributed.get_worker()
        kept = [value for value in worker.data.values() if isinstance(value, list | np.ndarray)]
        kept = [x for x in kept if not (isinstance(x, list) and len(x) == 1)]  # the parameters
        chunks = sum(isinstance(x, np.ndarray) for x in kept)
        worker.seen = [*getattr(worker, "seen", []), (chunks, len(kept) - chunks)]
        return block + np.zeros((1, 1000))

    def loss(w, x):
        return np.sum((x @ w) ** 2)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        x = array.ones((720, 1), chunks=(10, 1)).map_blocks(read, chunks=(10, 1000), dtype=float)
        sharded.grad(loss, client=client)(np.ones(1000), x)
        held = [getattr(worker, "seen", []) for worker in cluster.workers.values()]
    seen = [item for items in held for item in items]
    assert len(seen) == 72
    assert max(chunks for chunks, _ in seen) == 0
    assert max(gradients for _, gradients in seen) <= 3 * task_graph.FAN_IN
