"""Whether a jitted call is slower than the same call without `jit`, on rows of the table and random programs.

`jit` is to cost nothing where it gains nothing. Both calls run in turns, in the steady state and in CPU time.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.measure import CLOCK
from benchmarks.work import FAMILIES

LIMIT = 1.1
"""The ratio beyond which a call is slower, not the measurement noisier."""

WARM, ROUNDS, BATCH = 30, 9, 0.02
"""Calls before the first measurement, pairs of batches, and seconds of a batch."""


class Pair(NamedTuple):
    """A jitted function and the one that it was made of, on the same arguments."""

    name: str
    jitted: Callable[..., Any]
    plain: Callable[..., Any]
    args: tuple[Any, ...]

    def ratio(self) -> float:
        """The median ratio of the jitted call's time to the other's."""
        import numpy as np

        with np.errstate(all="ignore"):
            for _ in range(WARM):
                self.jitted(*self.args)
            timers = [
                timeit.Timer(lambda f=f: f(*self.args), timer=CLOCK)  # type: ignore[misc]
                for f in (self.jitted, self.plain)
            ]
            counts = [max(int(BATCH / max(timer.timeit(1), 1e-7)), 1) for timer in timers]
            taken = [
                [timer.timeit(count) / count for timer, count in zip(timers, counts, strict=True)]
                for _ in range(ROUNDS)
            ]
        return statistics.median([jitted / plain for jitted, plain in taken])


def of_rows(names: tuple[str, ...]) -> Iterator[Pair]:
    """The value and the gradient of each row that funcgrad has with `jit`, on its smallest size."""
    for name in names or FAMILIES:
        family = FAMILIES[name]
        work = family.PEERS["funcgrad"](family.data(family.SIZES[0]))
        for what, jitted in (("gradient", work.call), ("value", work.function)):
            plain = getattr(jitted, "__wrapped__", None)
            if plain is not None and hasattr(jitted, "lower"):  # a gradient without jit has f there
                yield Pair(
                    f"{name} {family.SIZES[0]} {what}".replace("  ", " "), jitted, plain, work.args
                )


def of_random_programs(count: int) -> Iterator[Pair]:
    """So many random programs of the tests, the same in every run."""
    from hypothesis import HealthCheck, Phase, given, settings

    import funcgrad as fg
    from tests.fuzz.programs import Program
    from tests.fuzz.strategies import programs
    from tests.fuzz.values import generic_arguments

    found: list[Program] = []
    for family in ("elementwise", "arrays", "dtypes", "rolled", "nested"):

        @settings(
            max_examples=count // 5,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(programs(family))
        def draw(program: Program) -> None:
            found.append(program)

        draw()
    for number, program in enumerate(found[:count]):
        args = generic_arguments(program, number)
        yield Pair(f"random program {number}", fg.jit(program.traced), program.traced, args)


def report(rows: tuple[str, ...] = (), count: int = 100) -> str:
    """The calls that are slower with `jit`, the slowest first, and how many were compared."""
    ratios = []
    for pair in (*of_rows(rows), *of_random_programs(count)):
        try:
            ratios.append((pair.ratio(), pair.name))
        except Exception as error:  # a random program may ask for what jit refuses
            print(f"{pair.name}: {type(error).__name__}")
        else:
            if ratios[-1][0] > LIMIT:
                print(f"{ratios[-1][0]:6.2f}  {pair.name}", flush=True)
    slower = sorted([row for row in ratios if row[0] > LIMIT], reverse=True)
    lines = [f"{ratio:6.2f}  {name}" for ratio, name in slower]
    return "\n".join([*lines, f"{len(slower)} of {len(ratios)} calls are slower with jit"])
