"""A decision tree on numbers, and entries of arrays, as lines of Python: guards are ``if``s.

Programs stand in their branches. A call that goes through the nodes one by one takes 3 us each, through these
lines a tenth of that.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from funcgrad.compiler.python import scalar_codegen
from funcgrad.transforms.jit.guard_tree import TraceNode, first

# Steps of one program and of all, and levels of indentation, up to which a tree is written out. (Python
# allows 100.)
_LONGEST_PROGRAM, _LONGEST, _DEEPEST = 1000, 10000, 40
# Fewer steps on entries of arrays, whose programs are machine code where they are long.
_LONGEST_OF_ARRAYS = 200
_INPUT = re.compile(r"\bx(\d+)\b")
_LOCAL = re.compile(r"\ba(\d+)\b")

_Lines: TypeAlias = list[tuple["str | TraceNode", int]]
"""Lines, and nodes that are still to be written, by how far they are indented."""


def lines_of(
    root: TraceNode, count: int, objects: dict[str, Any], of_arrays: bool = False
) -> list[str] | None:
    """The lines that answer a call with ``count`` values x0, x1, …; what they name is added to ``objects``.

    They raise ValueError where an answer is new, and other errors of arithmetic where NumPy has infs. None
    for a tree that computes other things than numbers from numbers and entries of arrays, asks for others
    than truth and whole numbers, or is long.
    """
    lines: list[str] = []
    waiting: _Lines = [(root, 0)]
    nodes = steps = 0
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, str):
            lines.append("    " * depth + item)
            continue
        texts = _texts(item, count, nodes)
        if texts is None or depth > _DEEPEST:
            return None
        statements, results, length = texts
        ends = _ends(item, results, nodes, objects)
        nodes, steps = nodes + 1, steps + length
        if ends is None or steps > (_LONGEST_OF_ARRAYS if of_arrays else _LONGEST):
            return None
        own: _Lines = [*[(text, 0) for text in statements], *ends]
        waiting.extend([(line, depth + more) for line, more in reversed(own)])
    return lines


def _texts(node: TraceNode, count: int, number: int) -> tuple[list[str], list[str], int] | None:
    """The statements of a node's program, what comes out, and how many steps it has."""
    if node.step is None or any(place >= count for place in node.step.inputs):
        return None  # an array, beside the arguments
    program, inputs, saved_slots, _ = node.step
    flat = program.flat()
    found = scalar_codegen.in_lines(flat) if len(flat.steps) <= _LONGEST_PROGRAM else None
    if found is None:
        return None

    def own(text: str) -> str:
        # Each node's names are its own, so that saved values are kept.
        text = _LOCAL.sub(lambda name: f"a{number * _LONGEST_PROGRAM + int(name[1])}", text)
        return _INPUT.sub(lambda name: _value(inputs[int(name[1])]), text)

    statements, results = found
    asked = len(results) - len(saved_slots)
    saved = [f"{_value(k)} = {text}" for k, text in zip(saved_slots, results[asked:], strict=True)]
    return (
        [own(text) for text in (*statements, *saved)],
        [own(text) for text in results[:asked]],
        len(flat.steps),
    )


def _value(place: int) -> str:
    """A value of the call, or one that a node has saved."""
    return f"x{place}" if place >= 0 else f"h{~place}"


def _ends(
    node: TraceNode, results: list[str], number: int, objects: dict[str, Any]
) -> _Lines | None:
    """What follows a node's statements: a return, or a choice among its children."""
    if node.reading is None:
        if node.rebuild is first:
            return [(f"return {results[0]}", 0)]
        items = ", ".join([*results, ""]).rstrip()
        if node.rebuild in (list, tuple):
            return [(f"return [{items}]" if node.rebuild is list else f"return ({items})", 0)]
        objects[f"rebuild{number}"] = node.rebuild
        return [(f"return rebuild{number}(({items}))", 0)]
    children = list(node.children.items())
    if not {bool, int}.issuperset(type(answer) for answer, _ in children):
        return None
    (asked,) = results
    lines: _Lines = []
    if node.reading is bool:
        tests = {True: asked, False: f"not {asked}"}
    else:
        objects[f"reading{number}"] = node.reading
        lines.append((f"k{number} = reading{number}({asked})", 0))
        tests = {answer: f"k{number} == {answer}" for answer, _ in children}
    # Results first: what comes last is not indented, so that a loop of many turns is not either.
    children.sort(key=lambda child: child[1].reading is not None)
    for answer, child in children[:-1]:
        lines.extend([(f"if {tests[answer]}:", 0), (child, 1)])
    answer, child = children[-1]
    if node.reading is not bool or len(children) == 1:
        lines.extend([(f"if not ({tests[answer]}):", 0), ("raise ValueError", 1)])
    return [*lines, (child, 0)]
