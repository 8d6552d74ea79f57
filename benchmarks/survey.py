"""Short programs of many kinds beside JAX: the first call, and the steady state of plain ``jit``.

funcgrad turns to machine code when it has run for a while: the steady state is that after some seconds.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from typing import Any

from benchmarks.measure import CLOCK
from benchmarks.survey_models import MODELS
from benchmarks.survey_programs import PROGRAMS, Library
from benchmarks.work.base import jax

SURVEYED = (*PROGRAMS, *MODELS)
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
    return {program.__name__: _measured(*program(own), settle) for program in SURVEYED}


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


HEAD = """# A survey beside JAX

Written by `python -m benchmarks --survey --write`: short programs of many kinds, one text for both libraries
(`benchmarks/survey_programs.py`), each on one core in double precision. funcgrad is NumPy with plain
`fg.jit`, after four seconds, in which programs become machine code where that is faster (with llvmlite).
Above 1, funcgrad is faster.

| program | | a call | JAX's time over funcgrad's | of the first call |
| --- | --- | ---: | ---: | ---: |
"""


def page(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> str:
    """A row for each program, the slowest beside JAX first, which says where the results differ."""
    told = {program.__name__: str(program.__doc__).rstrip(".") for program in SURVEYED}
    rows = []
    for name, (first, steady, total) in ours.items():
        other_first, other, expected = theirs[name]
        apart = "" if abs(total - expected) <= 1e-6 * abs(expected) else " (the results differ)"
        ratios = f"{other / steady:.2f} × | {other_first / first:.1f} ×"
        text = f"| {name.replace('_', ' ')} | {told.get(name, '')}{apart} | {_time(steady)} | {ratios} |"
        rows.append((other / steady, text))
    return HEAD + "\n".join([text for _, text in sorted(rows)]) + "\n"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"
