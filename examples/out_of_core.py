"""Logistic regression on data that fit on the disk and not in the workers' memory.

The rows are drawn by the workers and written to Zarr in chunks. Each step of L-BFGS reads all chunks once:
`funcgrad.dask.value_and_grad(loss)` is the function that ``scipy.optimize.minimize(..., jac=True)`` takes.
Run it with ``python -m examples.out_of_core``; 20,000,000 rows are 3.3 GB, and two workers have 600 MB each.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import zarr
from dask import array
from distributed import Client, LocalCluster
from scipy.optimize import OptimizeResult, minimize

import funcgrad.dask

COLUMNS = 40
BIAS = -0.5


def loss(params, x, y):
    """The negative log-likelihood of labels 0 and 1. ``params`` is the bias and then the weights.

    The data are of single precision, and the sums over rows of double.
    """
    w = params.astype(np.float32)
    score = (x @ w[1:] + w[0]).astype(np.float64)
    return np.sum(np.logaddexp(0.0, score) - y * score)


# -- data ------------------------------------------------------------------------------------------
def weights() -> np.ndarray:
    """The bias and the weights from which the labels are drawn."""
    return np.concatenate([[BIAS], np.linspace(-0.5, 0.5, COLUMNS)])


def write(folder: str, chunk: int, k: int, rng: np.random.Generator) -> None:
    """The k-th chunk of rows, drawn and written."""
    x, y = (zarr.open_array(f"{folder}/{name}.zarr", mode="r+") for name in "xy")
    rows = slice(k * chunk, min((k + 1) * chunk, y.shape[0]))
    drawn = rng.standard_normal((rows.stop - rows.start, COLUMNS), dtype=np.float32)
    w = weights().astype(np.float32)
    x[rows] = drawn
    y[rows] = rng.random(len(drawn), dtype=np.float32) * (1 + np.exp(-drawn @ w[1:] - w[0])) < 1


def generate(client: Client, folder: str, rows: int, chunk: int) -> tuple[array.Array, array.Array]:
    """The data, on disk: the same for any number of workers."""
    for name, shape in (("x", (rows, COLUMNS)), ("y", (rows,))):
        zarr.create_array(
            f"{folder}/{name}.zarr",
            shape=shape,
            chunks=(chunk, *shape[1:]),
            dtype="float32",
            compressors=None,
        )
    count = -(-rows // chunk)
    funcgrad.dask.map(partial(write, folder, chunk), range(count), seed=0, client=client)
    x, y = (array.from_zarr(f"{folder}/{name}.zarr") for name in "xy")
    return x, y


# -- the fit ---------------------------------------------------------------------------------------
class Point(NamedTuple):
    """A gradient's end: seconds since the start, and the mean loss."""

    seconds: float
    loss: float


def fit(client: Client, x: array.Array, y: array.Array) -> tuple[OptimizeResult, list[Point]]:
    """The minimum of the mean loss, by L-BFGS, and the losses on the way."""
    both = funcgrad.dask.value_and_grad(loss, client=client)
    start, points = time.perf_counter(), []

    def mean(params):
        value, slope = both(params, x, y)
        points.append(Point(time.perf_counter() - start, value / len(y)))
        return value / len(y), slope / len(y)

    options = {"ftol": 0.0, "gtol": 1e-6}
    found = minimize(mean, np.zeros(COLUMNS + 1), jac=True, method="L-BFGS-B", options=options)
    return found, points


def reference(x: array.Array, y: array.Array) -> tuple[np.ndarray, np.ndarray]:
    """Scikit-learn's estimate on the first tenth of the rows, and its standard errors."""
    from sklearn.linear_model import LogisticRegression

    rows = len(y) // 10
    few, labels = x[:rows].compute(scheduler="sync"), y[:rows].compute(scheduler="sync")
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(few, labels)
    chance = model.predict_proba(few)[:, 1]
    spread = (chance * (1 - chance)).astype(np.float32)
    information = np.empty((COLUMNS + 1, COLUMNS + 1))
    information[0, 0] = spread.sum(dtype=float)
    information[0, 1:] = information[1:, 0] = spread @ few
    information[1:, 1:] = (few * spread[:, None]).T @ few
    estimate = np.concatenate([model.intercept_, model.coef_[0]])
    return estimate, np.sqrt(np.diag(np.linalg.inv(information)))


# -- memory ----------------------------------------------------------------------------------------
class Memory(NamedTuple):
    """The memory of each worker at some time, in bytes."""

    seconds: float
    workers: list[int]


@contextmanager
def watched(client: Client, every: float = 0.2) -> Iterator[list[Memory]]:
    """The memory of the workers' processes, as they report it to the scheduler, until the end."""
    found: list[Memory] = []
    start, ended = time.perf_counter(), threading.Event()

    def look() -> None:
        while not ended.wait(every):
            known = client.scheduler_info(n_workers=-1)["workers"]
            used = [known[name]["metrics"]["memory"] for name in sorted(known)]
            found.append(Memory(time.perf_counter() - start, used))

    looker = threading.Thread(target=look)
    looker.start()
    try:
        yield found
    finally:
        ended.set()
        looker.join()


def draw(points: list[Point], memory: list[Memory], limit: int, size: int, path: Path) -> None:
    """The loss of each gradient, and the workers' memory beside the size of the data."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7, 5.5), layout="constrained")
    above.plot(*zip(*points, strict=True), ".-", color="C0")
    above.set(ylabel="mean loss", title="logistic regression out of core")
    times = [m.seconds for m in memory]
    for k in range(max(len(m.workers) for m in memory)):
        used = [m.workers[k] / 1e6 if k < len(m.workers) else np.nan for m in memory]
        below.plot(times, used, color=f"C{k + 1}", label=f"worker {k + 1}")
    below.axhline(limit / 1e6, color="gray", ls="--", label="limit of a worker")
    below.set(xlabel="seconds", ylabel="memory (MB)", ylim=(0, 1.2 * limit / 1e6))
    below.set_title(f"the data are {size / 1e6:,.0f} MB, on disk")
    below.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=3, frameon=False)
    figure.savefig(path)
    plt.close(figure)


def main(
    path: str = "examples/output/out_of_core.png",
    rows: int = 20_000_000,
    chunk: int = 250_000,
    workers: int = 2,
    limit: int = 600_000_000,
    folder: str | None = None,
) -> float:
    """Draw, fit, compare; the root of the mean square of the differences in standard errors."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=folder) as data,
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=limit, dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        start = time.perf_counter()
        x, y = generate(client, data, rows, chunk)
        size = x.nbytes + y.nbytes
        print(f"{size / 1e9:.2f} GB written in {time.perf_counter() - start:.0f} s")
        with watched(client) as memory:
            found, points = fit(client, x, y)
        estimate, errors = reference(x, y)
    draw(points, memory, limit, size, Path(path))
    away = (found.x - estimate) / errors
    peak = max(max(m.workers, default=0) for m in memory)
    print(
        f"{len(points)} gradients in {points[-1].seconds:.0f} s; mean loss {found.fun:.6f}; {found.message}"
    )
    print(f"peak memory of a worker: {peak / 1e6:.0f} MB of {limit / 1e6:.0f} MB")
    print(
        "from scikit-learn's optimum on a tenth, in its standard errors: root mean square "
        f"{np.sqrt(np.mean(away**2)):.2f}, largest {np.max(np.abs(away)):.2f} of {len(away)} coefficients"
    )
    return float(np.sqrt(np.mean(away**2)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", default="examples/output/out_of_core.png")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--chunk", type=int, default=250_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=int, default=600_000_000, help="bytes of a worker")
    parser.add_argument("--folder", help="where the data are written, for the time of the run")
    sys.exit(0 if main(**vars(parser.parse_args())) < 2 else 1)
