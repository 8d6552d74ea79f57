"""Gradients of sums over data that is larger than one machine: chunks on the workers of `dask.distributed`.

A function of parameters and data is traced and derived once, by the client. The program is an immutable
value with a content address, so it travels to each worker once, and is compiled there once. Each worker
runs it on its chunks, and the results meet in a tree of sums that depends only on the number of chunks.
So a result has the same bits for any number of workers and any order in which they finish.

Data are dask arrays that are chunked along the first axis, bags, delayed values or futures (one a chunk).

>>> import funcgrad.dask  # doctest: +SKIP
>>> client = distributed.Client()  # doctest: +SKIP
>>> loss = lambda w, x, y: np.sum((x @ w - y) ** 2)  # doctest: +SKIP
>>> funcgrad.dask.value_and_grad(loss)(w, x, y)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

if find_spec("distributed") is None:
    raise ModuleNotFoundError(
        "funcgrad.dask: expected dask and distributed, but they are not installed; "
        'pip install "funcgrad[dask]"',
        name="distributed",
    )

from funcgrad.dask.sharded import grad, hvp, jacobian, map, value_and_grad, vmap


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'funcgrad.dask' has no attribute {name!r}; it has {', '.join(__all__)}"
    )


__all__ = ["grad", "hvp", "jacobian", "map", "value_and_grad", "vmap"]
