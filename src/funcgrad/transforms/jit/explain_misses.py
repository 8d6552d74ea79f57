"""The retrace log: why a jitted function was traced, and warnings where it is traced too often."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

from funcgrad.printed_text import PrintedText
from funcgrad.source import position, warn
from funcgrad.trace.pytree import flatten_with_static
from funcgrad.transforms.jit.guard_tree import Question, TraceNode
from funcgrad.transforms.jit.signature import NUMBER_TYPES, is_static, kind_text

# Numbers that a value is read as before it is said that each is a trace of its own.
_OFTEN = 8
# What is read exactly: few answers are expected.
_EXACT = frozenset(
    {"bool", "int", "index", "floor", "ceil", "trunc", "is_integer", "bit_length", "bit_count"}
)
_READINGS = {"itself": "what is in", "item": "item() of", "index": "an index by"}


class RetraceLog:
    """What a jitted function's traces were made for, by its name: one line each, the last thousand."""

    def __init__(self, name: str, warns_of_numbers: bool) -> None:
        self.name = name
        self.warns_of_numbers = warns_of_numbers
        self._lines: deque[str] = deque(maxlen=1000)
        self._numbers: Counter[Any] = Counter()

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def rebound(self, changes: Iterable[str]) -> None:
        """What was captured is no more what it was."""
        self._lines.append(f"{self.name}: {', '.join(changes)}")

    def traced(
        self,
        fixed: str,
        key: tuple[Any, Any],
        arguments: tuple[Any, dict[str, Any]],
        last: TraceNode | None = None,
        asked: Sequence[Question] = (),
    ) -> None:
        """A trace was made for a call of a signature, with static arguments ``fixed``.

        ``last`` is the question that had another answer than ever before; without it the signature is new.
        """
        why = "the first call with these types" if last is None else _answer(last, asked)
        call = ", ".join([*([fixed] if fixed else []), *_written(key[0], arguments)])
        self._lines.append(f"{self.name}({_short(call, 200)}): {why}")
        if last is None:
            if self.warns_of_numbers and self._times(*key) == _OFTEN:
                self._warn(
                    "is traced again for each Python number that it is given beside arrays of less precision "
                    f"than float64: {_OFTEN} times now; give it as np.float32(x), or as an array"
                )
        elif _name(last.reading) not in _EXACT and len(last.children) == _OFTEN:
            self._warn(
                f"takes a number out of a value, by {_read(last.reading)} it or by math, and is traced again "
                f"for each: {_OFTEN} times now; use numpy's functions on the value itself"
            )

    def given_up(self, paths: int, asked: Sequence[Question]) -> None:
        """There are too many paths."""
        lines = [position(question.line) for question in asked]
        where = next((line for line in reversed(lines) if line), "a line that is not known")
        self._warn(
            f"has taken {paths} paths, and is run as it is from now on for these types; it branches on "
            f"values, last at {where}; choose with np.where or cond instead"
        )

    def _times(self, kinds: Sequence[Any], shape: tuple[int, ...]) -> int:
        """How many signatures there are now that differ from this one by Python's numbers alone.

        They are part of the signature beside arrays of less precision.
        """
        alike = tuple([k[1][0] if is_static(k) and k[1][0] in NUMBER_TYPES else k for k in kinds])
        if alike == tuple(kinds):
            return 0
        self._numbers[alike, shape] += 1
        return self._numbers[alike, shape]

    def _warn(self, what: str) -> None:
        warn(f"jit: {self.name} {what}")


def _written(kinds: Sequence[Any], arguments: tuple[Any, dict[str, Any]]) -> list[str]:
    """Arguments as they are written in a call, with types in the place of values."""
    texts = [PrintedText(kind_text(kind)) for kind in kinds]
    try:
        args, named = flatten_with_static(arguments).rebuild(texts)
        return [*map(repr, args), *[f"{name}={value!r}" for name, value in named.items()]]
    except Exception:  # a class of the user's may take no text, or have no repr for it
        return [*texts]


def _answer(last: TraceNode, asked: Sequence[Question]) -> str:
    key = last.exprs[0].key
    for question in asked:
        if question.asked.key == key and question.reading is last.reading:
            what = f"{_read(question.reading)} {_last_line(question.asked)}"
            return f"{what} was {_last_line(question.answer)} for the first time"
    if last.asks_for_index:
        return f"an index, {_last_line(last.exprs[0])}, has varied: it is part of the program from now on"
    return "a path not taken before"


def _name(reading: Any) -> str:
    name: str = reading.__name__
    return name.strip("_")


def _read(reading: object) -> str:
    name = _name(reading)
    return _READINGS.get(name, f"{name}() of")


def _last_line(value: object) -> str:
    return _short(repr(value).splitlines()[-1], 50)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
