"""Short programs of many kinds beside JAX: the first call, and the steady state of plain ``jit``.

funcgrad turns to machine code when it has run for a while: the steady state is that after some seconds.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from typing import Any

from benchmarks.measure import CLOCK
from benchmarks.survey_programs import PROGRAMS, Library
from benchmarks.work.base import jax

WARM, ROUNDS, BATCH = 4.0, 7, 0.05
"""Seconds before the measurement, and batches, of so many seconds each."""


def library(name: str) -> Library:
    """funcgrad with NumPy and SciPy, or JAX."""
    if name == "jax":
        return _jax()
    import numpy as np
    from scipy import linalg, special

    import funcgrad as fg

    kinds = fg.jit, fg.grad, fg.value_and_grad, fg.jacrev, fg.hessian, fg.vmap, fg.scan
    return Library(np, special, linalg, *kinds)


def _jax() -> Library:
    found = jax()
    from jax.scipy import linalg, special

    kinds = found.jit, found.grad, found.value_and_grad, found.jacrev, found.hessian, found.vmap
    return Library(found.numpy, special, linalg, *kinds, found.lax.scan)


def figures(name: str, *_: str) -> dict[str, list[float]]:
    """Of each program the seconds of the first call and of a later one, and the sum of the results' sizes."""
    own, settle = library(name), jax().block_until_ready if name == "jax" else _settled
    return {program.__name__: _measured(*program(own), settle) for program in PROGRAMS}


def _settled(value: Any) -> Any:
    return value


def _measured(
    f: Callable[..., Any], args: tuple[Any, ...], settle: Callable[[Any], Any]
) -> list[float]:
    start = CLOCK()
    found = settle(f(*args))
    first, begun = CLOCK() - start, timeit.default_timer()
    timer = timeit.Timer(lambda: settle(f(*args)), timer=CLOCK)
    while timeit.default_timer() - begun < WARM:
        timer.timeit(1)
    count = max(int(BATCH / max(timer.timeit(1), 1e-7)), 1)
    taken = [timer.timeit(count) / count for _ in range(ROUNDS)]
    return [first, statistics.median(taken), size(found)]


def size(value: Any) -> float:
    """The sum of the sizes of all numbers in a result."""
    import numpy as np

    if isinstance(value, list | tuple):
        return sum(map(size, value))
    return float(np.sum(np.abs(np.asarray(value))))


def report(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> str:
    """A line for each program, the slowest beside JAX first, and for those whose results differ."""
    lines = []
    for name, (first, steady, total) in ours.items():
        other_first, other, expected = theirs[name]
        apart = "" if abs(total - expected) <= 1e-6 * abs(expected) else "  the results differ"
        figures = f"{other / steady:6.2f} {other_first / first:7.1f}  {steady * 1e6:9.1f} us"
        lines.append((other / steady, f"{figures}  {name}{apart}"))
    head = "JAX's time over funcgrad's: of a call, of the first call"
    return "\n".join([head, *[line for _, line in sorted(lines)]])
