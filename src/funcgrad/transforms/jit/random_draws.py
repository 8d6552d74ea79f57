"""Random draws that a function makes while it is traced: later calls repeat them, and a warning says so.

A draw is noticed by the state of a generator: NumPy's global one, that of `random`, and those that the
function captures. A generator that the function makes itself is not seen.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from funcgrad.source import warn
from funcgrad.transforms.jit.capture_sources import Snapshot


class GeneratorState(NamedTuple):
    """A generator's name, how its state is read, and the state."""

    name: str
    read: Callable[[], Any]
    state: bytes

    def has_moved(self) -> bool:
        """Whether the state is another now."""
        return pickle.dumps(self.read()) != self.state


class UnimportedGenerator(NamedTuple):
    """NumPy's global generator before `numpy.random` is imported, as `import numpy` does not."""

    name: str = "numpy.random"

    def has_moved(self) -> bool:
        """Whether numbers were drawn since the import, which leaves the position at the end of the block."""
        imported: Any = sys.modules.get("numpy.random")
        return imported is not None and imported.get_state()[2] not in (623, 624)


def is_generator(value: object) -> bool:
    """Whether a value is a generator of random numbers."""
    ours: Any = sys.modules.get("numpy.random")
    pythons: Any = sys.modules.get("random")
    if ours is not None and isinstance(
        value, ours.Generator | ours.RandomState | ours.BitGenerator
    ):
        return True
    return pythons is not None and isinstance(value, pythons.Random)


def generator_states(held: Sequence[Snapshot]) -> list[GeneratorState | UnimportedGenerator]:
    """The states of the generators that a function with these captured values may draw from."""
    readers: dict[int, tuple[str, Callable[[], Any]]] = {}
    ours: Any = sys.modules.get("numpy.random")
    pythons: Any = sys.modules.get("random")
    if ours is not None:
        readers[0] = "numpy.random", ours.get_state
    if pythons is not None:
        readers[1] = "random", pythons.getstate
    for item in held:
        value: Any = item.value
        if ours is not None and isinstance(value, ours.Generator):
            value = value.bit_generator
        if ours is not None and isinstance(value, ours.RandomState):
            readers[id(value)] = item.place.name, value.get_state
        elif ours is not None and isinstance(value, ours.BitGenerator):
            readers[id(value)] = item.place.name, partial(getattr, value, "state")
        elif pythons is not None and _has_state(value, pythons):
            readers[id(value)] = item.place.name, value.getstate
    unseen = [UnimportedGenerator()] if ours is None else []
    return unseen + [
        GeneratorState(name, read, pickle.dumps(read())) for name, read in readers.values()
    ]


def _has_state(value: object, pythons: Any) -> bool:
    return isinstance(value, pythons.Random) and not isinstance(value, pythons.SystemRandom)


def warn_of_draws(who: str, before: Sequence[GeneratorState | UnimportedGenerator]) -> None:
    """Warn if a generator is not in the state in which it was."""
    moved = [item.name for item in before if item.has_moved()]
    if moved:
        warn(
            f"jit: {who} draws random numbers from {', '.join(moved)} while it is traced, and later calls "
            "repeat them; draw them outside, and hand them to it as arguments"
        )
