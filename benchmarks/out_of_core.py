"""A gradient over 3.3 GB on disk with one worker and with two, beside its peers, and a model of its cost.

python -m benchmarks.out_of_core                    all figures: some minutes, and 3.3 GB of disk
python -m benchmarks.out_of_core --rows 400000      the same on less data
python -m benchmarks.out_of_core --picture FILE     draw the model up to 10,000 workers

The data and the loss are those of `examples.out_of_core`. Each time is a median over rounds.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zarr
from dask import array, compute, delayed
from distributed import Client, LocalCluster

import funcgrad.dask
from examples.out_of_core import COLUMNS, generate, loss
from funcgrad.dask.task_graph import FAN_IN

LIMIT = 600_000_000
"""Bytes of memory of a worker."""
START = np.full(COLUMNS + 1, 0.1)


def pin(core: int) -> None:
    """Keep all threads of this process, and those that they start, on one core, where the system can.

    Zarr reads in threads of its own, so a worker with one thread for tasks keeps two cores busy. A worker of
    one core is the unit by which scaling is measured.
    """
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        for thread in threading.enumerate():
            if thread.native_id is not None:
                os.sched_setaffinity(thread.native_id, {allowed[core % len(allowed)]})


@contextmanager
def workers(count: int, limit: int = LIMIT) -> Iterator[Client]:
    """A client of a cluster of processes with one thread for tasks and one core each."""
    with (
        LocalCluster(
            n_workers=count, threads_per_worker=1, memory_limit=limit, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(count)
        for core, worker in enumerate(sorted(client.run(os.getpid))):
            client.run(pin, core, workers=[worker])
        yield client


def median(run: Callable[[], Any], rounds: int) -> float:
    """Seconds of a call, after one that warms up."""
    run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


# -- by hand ---------------------------------------------------------------------------------------
def by_hand(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and gradient of the loss on one chunk."""
    small = w.astype(np.float32)
    score = (x @ small[1:] + small[0]).astype(np.float64)
    tail = np.exp(-np.abs(score))
    value = np.sum(np.maximum(score, 0.0) + np.log1p(tail) - y * score)
    chance = np.where(score >= 0, 1.0, tail) / (1.0 + tail)
    residual = (chance - y).astype(np.float32)
    return value, np.concatenate([[residual.sum()], residual @ x]).astype(float)


def added(pairs: list[tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
    """The sum of values and of gradients."""
    return sum(value for value, _ in pairs), sum(slope for _, slope in pairs)


def dask_by_hand(w: np.ndarray, x: array.Array, y: array.Array) -> tuple[float, np.ndarray]:
    """The same sum, as one writes it with Dask and NumPy."""
    params = delayed(w)
    chunks = zip(x.to_delayed().ravel(), y.to_delayed().ravel(), strict=True)
    parts = [delayed(by_hand)(params, a, b) for a, b in chunks]
    while len(parts) > 1:
        parts = [delayed(added)(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    found: tuple[float, np.ndarray] = parts[0].compute()
    return found


# -- dask-ml ---------------------------------------------------------------------------------------
def dask_ml_gradient() -> Callable[..., tuple[float, np.ndarray]] | None:
    """The value and gradient for which dask-ml's L-BFGS asks; None without dask-ml."""
    try:
        from dask_glm.families import Logistic
        from dask_ml.linear_model.utils import add_intercept
    except ImportError:
        return None

    def both(w: np.ndarray, x: array.Array, y: array.Array) -> tuple[float, np.ndarray]:
        full, last = add_intercept(x), np.roll(w, -1)  # its bias comes last
        value, slope = compute(
            Logistic.pointwise_loss(last, full, y), Logistic.pointwise_gradient(last, full, y)
        )
        return value, np.roll(slope, 1)

    return both


# -- torch -----------------------------------------------------------------------------------------
def torch_rank(rank: int, count: int, folder: str, chunk: int, rounds: int, port: int) -> None:
    """One process of torch's data-parallel training: its chunks, and the gradient of all."""
    import torch
    from torch import distributed as group
    from torch.nn.parallel import DistributedDataParallel

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    pin(rank)
    group.init_process_group("gloo", rank=rank, world_size=count)
    x, y = (zarr.open_array(f"{folder}/{name}.zarr", mode="r") for name in "xy")
    model = DistributedDataParallel(torch.nn.Linear(COLUMNS, 1))
    nll = torch.nn.BCEWithLogitsLoss(reduction="sum")
    own = range(rank, -(-x.shape[0] // chunk), count)

    def gradient() -> None:
        model.zero_grad()
        for k in own:
            rows = slice(k * chunk, (k + 1) * chunk)
            part, labels = torch.from_numpy(x[rows]), torch.from_numpy(y[rows])
            if k == own[-1]:
                nll(model(part)[:, 0], labels).backward()
            else:
                with model.no_sync():
                    nll(model(part)[:, 0], labels).backward()
        group.barrier()

    seconds = median(gradient, rounds)
    if rank == 0:
        Path(folder, f"torch-{count}").write_text(str(seconds))
    group.destroy_process_group()


def torch_seconds(count: int, folder: str, chunk: int, rounds: int) -> float | None:
    """Seconds of a gradient by torch, in processes of its own; None without torch."""
    try:
        from torch import multiprocessing
    except ImportError:
        return None
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(torch_rank, (count, folder, chunk, rounds, port), nprocs=count)
    return float(Path(folder, f"torch-{count}").read_text())


# -- costs -----------------------------------------------------------------------------------------
class Costs(NamedTuple):
    """What a call costs, in seconds."""

    call: float
    """Of the client, whatever the number of chunks."""
    chunk: float
    """Of a chunk on its worker."""
    task: float
    """Of a task on the scheduler, which has one thread."""
    hop: float
    """From the end of a task to the end of an empty one that needs its result."""
    byte: float
    """Of a byte from one process to another."""


def doubled(x: Any) -> Any:
    """A task that does little."""
    return x


def overhead(client: Client, gradient: Callable[..., Any], rounds: int, tasks: int) -> float:
    """Seconds that a chunk takes that has eight rows, in the memory of its worker."""
    seconds, more = [], tasks // 5
    for count in (10, 10 + more):
        x = client.persist(array.ones((8 * count, COLUMNS), chunks=(8, COLUMNS), dtype=np.float32))
        y = client.persist(array.ones(8 * count, chunks=8, dtype=np.float32))
        seconds.append(median(partial(gradient, START, x, y), rounds))
    return (seconds[1] - seconds[0]) / more


def scheduler_costs(client: Client, rounds: int, tasks: int) -> tuple[float, float, float]:
    """Seconds of a task, a hop and a byte."""

    def mapped(count: int) -> None:
        client.gather(client.map(doubled, range(count), pure=False)[-1:])

    def chain(count: int) -> None:
        last = delayed(doubled)(0)
        for _ in range(count):
            last = delayed(doubled)(last)
        client.compute(last, optimize_graph=False).result()

    def sent(count: int) -> None:
        client.scatter(np.zeros(count), hash=False, direct=True)

    few, links = 100, tasks // 10
    task = median(lambda: mapped(few + tasks), rounds) - median(lambda: mapped(few), rounds)
    hop = median(lambda: chain(10 + links), rounds) - median(lambda: chain(10), rounds)
    size = 4_000_000
    byte = (median(lambda: sent(size), rounds) - median(lambda: sent(1), rounds)) / (8 * size)
    return max(task / tasks, 1e-5), max(hop / links, 1e-5), max(byte, 0.0)


def predicted(costs: Costs, chunks: int, count: int, gradient_bytes: int = 8 * (COLUMNS + 2)):
    """The seconds of each part of a gradient: chunks on their workers, the scheduler, the tree of sums, and
    the parameters on their way to all workers."""
    depth = math.ceil(math.log(max(chunks, 2), FAN_IN))
    tasks = chunks + sum(math.ceil(chunks / FAN_IN ** (k + 1)) for k in range(depth))
    return {
        "chunks": math.ceil(chunks / count) * costs.chunk,
        "scheduler": tasks * costs.task,
        "sums": depth * (costs.hop + gradient_bytes * costs.byte),
        "parameters": math.ceil(math.log2(count)) * (costs.hop + gradient_bytes * costs.byte),
    }


def total(costs: Costs, chunks: int, count: int) -> float:
    """Seconds of a gradient: chunks run while the scheduler works on others."""
    parts = predicted(costs, chunks, count)
    return (
        costs.call + max(parts["chunks"], parts["scheduler"]) + parts["sums"] + parts["parameters"]
    )


def draw(costs: Costs, path: str, per_worker: int = 40) -> None:
    """The model for 40 chunks a worker, up to 10,000 workers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    counts = [round(10 ** (k / 8)) for k in range(33)]
    figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for part in ("chunks", "scheduler", "sums", "parameters"):
        seconds = [predicted(costs, per_worker * n, n)[part] for n in counts]
        shown = [(n, s) for n, s in zip(counts, seconds, strict=True) if s > 0]
        axes.plot(*zip(*shown, strict=True), lw=1.2, label=part)
    whole = [total(costs, per_worker * n, n) for n in counts]
    axes.plot(counts, whole, color="black", lw=2, label="a gradient")
    bound = costs.chunk / costs.task
    axes.axvline(bound, color="gray", ls="--", lw=1)
    axes.annotate(
        f"the scheduler is the bound\nfrom {bound:,.0f} workers on",
        (bound, min(whole) / 40),
        xytext=(4, 0),
        textcoords="offset points",
    )
    axes.set(xscale="log", yscale="log", xlabel=f"workers, {per_worker} chunks each")
    axes.set(ylabel="seconds", ylim=(min(whole) / 1000, None))
    axes.legend(loc="upper left", fontsize=8)
    figure.savefig(path)
    plt.close(figure)


# -- all figures -----------------------------------------------------------------------------------
def main(
    rows: int = 20_000_000,
    chunk: int = 250_000,
    rounds: int = 3,
    picture: str | None = None,
    folder: str | None = None,
    tasks: int = 1000,
    torch: bool = True,
) -> dict[str, float]:
    """Measure and print all figures."""
    ours, seconds, hand, others = funcgrad.dask.value_and_grad(loss), {}, {}, {}
    dask_ml = dask_ml_gradient()
    with tempfile.TemporaryDirectory(dir=folder) as data:
        with workers(2) as client:
            start = time.perf_counter()
            x, y = generate(client, data, rows, chunk)
            found = {"write (s)": time.perf_counter() - start}
            seconds[2] = median(lambda: ours(START, x, y), rounds)
            hand[2] = median(lambda: dask_by_hand(START, x, y), rounds)
            value, slope = ours(START, x, y)
            other, other_slope = dask_by_hand(START, x, y)
            np.testing.assert_allclose(value, other, rtol=1e-6)
            np.testing.assert_allclose(slope, other_slope, rtol=1e-3, atol=1e-4 * rows**0.5)
        with workers(1) as client:
            seconds[1] = median(lambda: ours(START, x, y), rounds)
            hand[1] = median(lambda: dask_by_hand(START, x, y), rounds)
            half = rows // 2 // chunk * chunk
            less = median(lambda: ours(START, x[:half], y[:half]), rounds)
            ours_a_chunk = overhead(client, ours, rounds, tasks)
            hand_a_chunk = overhead(client, dask_by_hand, rounds, tasks)
            task, hop, byte = scheduler_costs(client, rounds, tasks)
        for count in (1, 2) if dask_ml is not None else ():
            with workers(count, 3 * LIMIT):  # its imports alone take 350 MB
                name = f"dask-ml, {count} worker{'s' * (count > 1)} (s)"
                others[name] = median(partial(dask_ml, START, x, y), 1)
                np.testing.assert_allclose(dask_ml(START, x, y)[0], value, rtol=1e-5)
        torches = {n: torch_seconds(n, data, chunk, rounds) for n in (1, 2) if torch}
    chunks, fewer = len(x.chunks[0]), half // chunk
    each = max((seconds[1] - less) / (chunks - fewer), 1e-6)
    costs = Costs(max(seconds[1] - chunks * each, 0.0), each, task, hop, byte)
    found |= {
        "1 worker (s)": seconds[1],
        "2 workers (s)": seconds[2],
        "scaling to 2 workers": seconds[1] / seconds[2],
        "overhead a chunk (ms)": 1e3 * ours_a_chunk,
        "overhead a chunk by hand (ms)": 1e3 * hand_a_chunk,
        "by hand, 1 worker (s)": hand[1],
        "by hand, 2 workers (s)": hand[2],
        "of the time by hand, 1 worker": seconds[1] / hand[1],
        "of the time by hand, 2 workers": seconds[2] / hand[2],
        "model: call (s)": costs.call,
        "model: chunk (ms)": 1e3 * costs.chunk,
        "model: task (ms)": 1e3 * costs.task,
        "model: hop (ms)": 1e3 * costs.hop,
        "model: byte (ns)": 1e9 * costs.byte,
        "model: 2 workers (s)": total(costs, chunks, 2),
        "model: 2 workers, of the time measured": total(costs, chunks, 2) / seconds[2],
        "model: workers from which the scheduler is the bound": costs.chunk / costs.task,
    }
    found |= others
    for n, measured in torches.items():
        if measured is not None:
            found[f"torch, {n} process{'es' * (n > 1)} (s)"] = measured
    for name, figure in found.items():
        print(f"{name:52} {figure:10.4g}")
    for n in (10, 100, 1_000, 10_000):
        print(f"model: {40 * n} chunks on {n} workers (s){'':10} {total(costs, 40 * n, n):10.4g}")
    if picture is not None:
        draw(costs, picture)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--chunk", type=int, default=250_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--picture", help="where the picture of the model is saved")
    parser.add_argument("--tasks", type=int, default=1000, help="over which overhead is measured")
    parser.add_argument("--no-torch", dest="torch", action="store_false")
    parser.add_argument("--folder", help="where the data are written, for the time of the run")
    main(**vars(parser.parse_args()))
