"""Random programs as data: typed inputs and a list of instructions, rendered to Python source.

An instruction gives one value a name; its text refers to earlier values by theirs. The source is what
runs, both on plain NumPy and under funcgrad, and what a failure prints, so that it can be pasted.
"""

import ast
import functools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import funcgrad as fg
from tests.fuzz import plain

OPERAND = re.compile(r"(?<![\w.'])(v\d+|[abc])(?![\w'])")
"""A value's name in the text of an instruction."""


@dataclass(frozen=True)
class Input:
    """A parameter of a program: its name, and the shape and dtype of its argument."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Instruction:
    """``name = text``, after the lines of ``block``.

    ``plain`` is the text for NumPy's arrays, where funcgrad's differs; ``sums``: it adds inside, so that
    what rounding does depends on its operands.
    """

    name: str
    text: str
    block: tuple[str, ...] = ()
    plain: str = ""
    sums: bool = False

    def lines(self, rounded: bool = False, on_arrays: bool = False) -> list[str]:
        """The lines of source; ``rounded``: the value passes through ``off``, which rounds it otherwise."""
        text = self.plain if on_arrays and self.plain else self.text
        if rounded and self.sums:
            text = OPERAND.sub(r"off(\1)", text)
        return [*self.block, f"{self.name} = off({text})" if rounded else f"{self.name} = {text}"]


def names_in(step: Instruction) -> set[str]:
    """The names that an instruction reads."""
    tree = ast.parse("\n".join(step.lines()))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {step.name}


@dataclass(frozen=True)
class Program:
    """A function of its inputs that returns a tuple: the values named in ``results``."""

    inputs: tuple[Input, ...]
    body: tuple[Instruction, ...]
    results: tuple[str, ...]

    def source(self, rounded: bool = False, on_arrays: bool = False) -> str:
        """The definition of a function ``f`` in terms of ``np`` and ``fg``."""
        lines = [line for step in self.body for line in step.lines(rounded, on_arrays)]
        head = f"def f({', '.join(item.name for item in self.inputs)}):"
        returned = f"return ({''.join(f'{name}, ' for name in self.results)})"
        return "\n    ".join([head, *lines, returned])

    def __repr__(self) -> str:
        return self.source()

    def __reduce__(self) -> Any:
        return Program, (self.inputs, self.body, self.results)

    @functools.cached_property
    def traced(self) -> Callable[..., tuple[Any, ...]]:
        """The function that funcgrad is given."""
        return compiled(self.source(), {"fg": fg})

    @functools.cached_property
    def reference(self) -> Callable[..., tuple[Any, ...]]:
        """The function on NumPy's arrays: loops, branches and stores are written in Python."""
        return quiet(compiled(self.source(on_arrays=True), {"fg": plain}))

    @functools.cached_property
    def rounded(self) -> Callable[..., tuple[Any, ...]]:
        """As `reference`, with ``off`` before the arguments, which every value passes through."""
        source = self.source(rounded=True, on_arrays=True).replace("def f(", "def f(off, ", 1)
        return quiet(compiled(source, {"fg": plain}))

    def only(self, results: tuple[str, ...]) -> "Program":
        """The program with these results alone."""
        return replace(self, results=results)

    def sliced(self, results: tuple[str, ...]) -> "Program":
        """The program with these results, and only the instructions that they need."""
        needed, kept = set(results), []
        for step in reversed(self.body):
            if step.name in needed:
                kept.append(step)
                needed |= names_in(step)
        return Program(self.inputs, tuple(reversed(kept)), results)


def compiled(source: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function ``f`` that a source defines."""
    space = {"np": np, **names}
    exec(compile(source, "<fuzz>", "exec"), space)
    return space["f"]


def quiet(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` without warnings of infinities, overflow and means of nothing, as funcgrad's programs run."""

    @functools.wraps(f)
    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)

    return run


def literal(value: Any) -> str:
    """An array or a NumPy number as source that gives each bit of it again."""
    array = np.asarray(value)
    text = np.array2string(
        array,
        separator=", ",
        threshold=10**9,
        max_line_width=10**9,
        floatmode="unique",
        formatter={"all": _number},
    ).replace("\n", "")
    made = f"np.array({text}, {array.dtype.name!r})"
    if array.size == 0:
        made = f"np.zeros({array.shape}, {array.dtype.name!r})"
    return made if isinstance(value, np.ndarray) else f"{made}[()]"


def _number(item: Any) -> str:
    item = item.item()
    if isinstance(item, complex):
        return f"complex({_number(np.float64(item.real))}, {_number(np.float64(item.imag))})"
    return repr(item).replace("inf", "np.inf").replace("nan", "np.nan")


def pasted(program: Program, args: tuple[Any, ...]) -> str:
    """The program and its arguments, to be pasted into a session."""
    given = "\n".join(
        f"{item.name} = {literal(value)}" for item, value in zip(program.inputs, args, strict=True)
    )
    return f"import numpy as np\nimport funcgrad as fg\n\n{program.source()}\n\n{given}\n"
