"""Measurements in one process: the times of a peer's calls, from the first on, and their memory."""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import resource
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.work import FAMILIES, NATIVE, AbsentError, Work
from benchmarks.work.base import as_it_is, natively

LIBRARIES = {"sympy": "sympy", "casadi": "casadi", "torch": "torch"}
LIBRARIES |= {
    "funcgrad": "funcgrad",
    NATIVE: "funcgrad",
    "autograd": "autograd.numpy",
    "jax": "jax.numpy",
}
CLOCK = time.process_time
"""CPU time: on one core, wall time without that of other processes."""

COMPILER = "llvmlite"
"""The module of the extra `fast`."""

SECONDS = 0.3
"""Seconds of a measurement."""

PATIENCE = 16.0
"""Plain `jit` is to reach machine code in so many times as long."""

SLOW = 5.0
"""Seconds of a call that is too long to be repeated for a median."""


def pin() -> None:
    """Pin the process to one core, if the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def hide_compiler() -> None:
    """Make imports of llvmlite fail, as if it were not installed."""
    sys.modules[COMPILER] = None  # type: ignore[assignment]


def case(family: str, size: str, peer: str, seconds: str) -> dict[str, Any]:
    """The times and memory of one peer on one piece of work, and a digest that all peers must agree on.

    ``first`` is the first call, including tracing, differentiation and compilation. ``warm`` is the time of
    the calls beyond the steady state until they reach it, such as compilation at the second call. Libraries
    are imported before, except llvmlite, which funcgrad imports when it compiles. ``machine_code`` is whether
    it did.

    Where the steady state is that of machine code, which is compiled apart, ``warm`` counts until plain `jit`
    has reached it; it is left out if that takes longer than `PATIENCE`. ``native`` is whether it is so.
    """
    module = FAMILIES[family]
    try:
        importlib.import_module(LIBRARIES.get(peer, "numpy"))
    except ImportError:
        return {"absent": "not installed"}
    data = module.data(size)
    before = _memory_now()
    try:
        start = _cpu_time()
        work = module.PEERS[peer](data)
        result = _finished(work, work.call)
        calls = [_cpu_time() - start]
    except AbsentError as reason:
        return {"absent": str(reason)}
    calls.extend(_first_calls(work, calls[0], float(seconds) * (PATIENCE if work.native else 1)))
    found = {"first": calls[0], "memory": _peak_memory() - before, "check": digest(result)}
    if work.native:
        work = natively(work)
        found["native"] = work.native
        rtol = 1e-5 if size == "float32" else 1e-7
        if not agree(found["check"], digest(_finished(work, work.call)), rtol):
            raise SystemExit(f"{family} {size}: machine code gives other results")
    steady = found["steady"] = median_time(work.call, work, float(seconds), calls[-1])
    if not work.native or statistics.median(calls[-20:]) < 2 * steady:
        later = [taken - steady for taken in calls[1:] if taken > 2 * steady]
        found["warm"] = max(calls[0] - steady, 0.0) + sum(later)
    if work.function is not None:
        for _ in range(work.warm):
            _finished(work, work.function)
        found["function"] = median_time(work.function, work, float(seconds), None)
    return found | {"machine_code": sys.modules.get(COMPILER) is not None}


def _cpu_time() -> float:
    """The CPU time of this process and of those that it started, such as compilers."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return CLOCK() + children.ru_utime + children.ru_stime


def _finished(work: Work, f: Callable[..., Any]) -> Any:
    return work.settle(f(*work.args))


def _first_calls(work: Work, first: float, seconds: float) -> Iterator[float]:
    """The times of the calls after the first, for as many as it may take to reach the steady state."""
    end = time.perf_counter() + seconds
    for count in itertools.count():
        late = time.perf_counter() > end
        if late if work.native else count >= max(work.warm, 50) or (late and count >= work.warm):
            return
        start = CLOCK()
        _finished(work, work.call)
        yield (taken := CLOCK() - start)
        if first > SLOW and taken > SLOW:
            return


def median_time(f: Any, work: Work, seconds: float, last: float | None) -> float:
    """The median seconds a call, over batches that fill the given time."""
    if last is not None and last > SLOW:
        return last
    names = {f"a{i}": arg for i, arg in enumerate(work.args)}
    call = f"f({', '.join(names)})"
    # timeit's loop costs less than a call with *args, which would count in a call of 200 ns.
    text = call if work.settle is as_it_is else f"settle({call})"
    timer = timeit.Timer(text, gc.enable, CLOCK, globals={"f": f, "settle": work.settle, **names})
    once = max(timer.timeit(1), 1e-7)
    batch = max(1, int(seconds / 15 / once))
    samples = []
    end = time.perf_counter() + 4 * seconds
    while len(samples) < 15 and (len(samples) < 3 or time.perf_counter() < end):
        samples.append(timer.timeit(batch) / batch)
    return statistics.median(samples)


# -- comparison of peers ---------------------------------------------------------------------------
def leaves(tree: Any) -> list[Any]:
    """The arrays of a result, in order: those of a dict by its sorted keys, a list of numbers as one."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, list) and all(_is_number(item) for item in tree):
        return [np.array([float(item) for item in tree])]
    if isinstance(tree, list | tuple):
        return [leaf for item in tree for leaf in leaves(item)]
    if hasattr(tree, "detach"):
        tree = tree.detach()
    if type(tree).__module__.startswith("casadi"):
        tree = np.squeeze(tree.full())
    return [np.asarray(tree)]


def _is_number(item: Any) -> bool:
    return not isinstance(item, dict | list | tuple) and np.ndim(item) == 0


def digest(result: Any) -> list[dict[str, Any]]:
    """The size, the norm and two projections of each array, which differ if arrays differ."""
    found = []
    for leaf in leaves(result):
        flat = np.ravel(leaf).astype(float)
        where = np.arange(flat.size)
        scale = max(flat.size, 1) ** 0.5
        projections = [float(flat @ np.cos(k * where + k) / scale) for k in (1, 2)]
        norm = float(np.linalg.norm(flat))
        if not np.isfinite(norm) or norm == 0.0:
            raise SystemExit(f"a result to compare is zero, or not finite: {leaf!r}")
        found.append({"size": flat.size, "norm": norm, "projections": projections})
    return found


def agree(one: list[dict[str, Any]], other: list[dict[str, Any]], rtol: float) -> bool:
    """Whether two digests are of the same arrays, to a relative tolerance."""
    if [leaf["size"] for leaf in one] != [leaf["size"] for leaf in other]:
        return False
    for a, b in zip(one, other, strict=True):
        pairs = [(a["norm"], b["norm"]), *zip(a["projections"], b["projections"], strict=True)]
        if any(abs(x - y) > rtol * a["norm"] for x, y in pairs):
            return False
    return True


# -- memory ----------------------------------------------------------------------------------------
def _memory_now() -> int:
    """Bytes in memory. If the system allows it, this resets the peak."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return _status("VmRSS")


def _peak_memory() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
