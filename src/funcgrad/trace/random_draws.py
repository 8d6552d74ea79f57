"""Random draws that a function makes while it is traced: later runs repeat them, and a warning says so.

Later runs are the calls of a jitted function, the other examples of `vmap` and the other iterations of a
loop. A draw is noticed by the state of a generator: NumPy's global one, that of `random`, and those that the
function captures. A generator that the function makes itself is not seen: it starts anew in each run.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

from funcgrad.source import code_names, warn
from funcgrad.trace.outer_arrays import generator_of, is_generator


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


def generator_states(
    held: Iterable[tuple[str, Any]], *, of_modules: bool = True
) -> list[GeneratorState | UnimportedGenerator]:
    """The states of the generators among named values, and of those of NumPy's and Python's modules."""
    readers: dict[int, tuple[str, Callable[[], Any]]] = {}
    ours: Any = sys.modules.get("numpy.random")
    pythons: Any = sys.modules.get("random")
    if ours is not None and of_modules:
        readers[0] = "numpy.random", ours.get_state
    if pythons is not None and of_modules:
        readers[1] = "random", pythons.getstate
    for name, value in held:
        if ours is not None and isinstance(value, ours.Generator):
            value = value.bit_generator
        if ours is not None and isinstance(value, ours.RandomState):
            readers[id(value)] = name, value.get_state
        elif ours is not None and isinstance(value, ours.BitGenerator):
            readers[id(value)] = name, partial(getattr, value, "state")
        elif pythons is not None and _has_state(value, pythons):
            readers[id(value)] = name, value.getstate
    unseen = [UnimportedGenerator()] if ours is None and of_modules else []
    return unseen + [
        GeneratorState(name, read, pickle.dumps(read())) for name, read in readers.values()
    ]


def _has_state(value: object, pythons: Any) -> bool:
    return isinstance(value, pythons.Random) and not isinstance(value, pythons.SystemRandom)


def outer_generators(held: Sequence[tuple[str, Any]]) -> list[GeneratorState | UnimportedGenerator]:
    """The states of the generators among what a function reaches, before it is traced."""
    functions = [item for _, item in held if isinstance(item, FunctionType)]
    names_module = any(["random" in code_names(function.__code__) for function in functions])
    found = [(name, generator_of(item)) for name, item in held]
    generators = [(name, item) for name, item in found if is_generator(item)]
    return generator_states(generators, of_modules=names_module)


def warn_of_draws(
    transform: str,
    who: str,
    before: Sequence[GeneratorState | UnimportedGenerator],
    sharing: str = "later calls repeat them; draw them outside, and hand them to it as arguments",
) -> None:
    """Warn if a generator is not in the state in which it was before a function was traced.

    ``sharing`` says who shares the numbers, and what to write.
    """
    moved = [item.name for item in before if item.has_moved()]
    if moved:
        warn(
            f"{transform}: {who} draws random numbers from {', '.join(moved)} while it is traced, and "
            f"{sharing}"
        )
