"""Graph replay: text dumps of fixed programs, compared before and after a refactor.

``python tools/graph_replay.py dump DIR [NAME ...]`` writes a file for each program: its expression, keys and
printed forms, its values and derivatives to the last bit, and every stage of its compilation.
``python tools/graph_replay.py compare DIR1 DIR2 [--without SECTION ...]`` prints what differs; its exit
status is 1 if anything does. Texts are the same in every process: only the public interface is used, and
addresses, counters and line numbers are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = (
        "1"  # read when NumPy is imported; texts must not depend on the number of cores
    )
os.environ.pop("FUNCGRAD_CACHE", None)  # no program comes from a cache

import numpy as np  # noqa: E402
from replay_programs import PROGRAMS, Program  # noqa: E402

import funcgrad as fg  # noqa: E402

HEADER = "## "
SMALL = 12
"""Arguments of more entries get a product with the Hessian instead of the Hessian."""
SHOWN = 8
"""Arrays of more entries are written as a digest."""
LONG = 2_000
"""Longer lines, which hold arrays, are cut, and end with a digest."""
LARGE = 20_000
"""Arguments of more entries get no map over a batch of them."""
_VARIES = (
    (re.compile(r"\b0x[0-9a-f]{6,}\b(?!\.|p)"), "0x…"),
    (re.compile(r"@[0-9a-f]{8,}\b"), "@…"),
    (re.compile(r"(\w+\.py):\d+"), r"\1:…"),
    (re.compile(r"(File \"[^\"]*\", line) \d+"), r"\1 …"),
    (re.compile(r"<funcgrad (\w+) \d+>"), r"<funcgrad \1 …>"),
)


# -- values as text ------------------------------------------------------------------------------
def lines_of(value: Any) -> Iterator[str]:
    """A value in full: numbers to the bit, arrays by content, expressions with their keys.

    >>> for line in lines_of((0.1, {"a": np.float32([1.0, -0.0])})):
    ...     print(line)
    tuple
      0: float 0x1.999999999999ap-4
      1:
        dict
          'a': ndarray float32[2] 0x1.0000000000000p+0 -0x0.0p+0
    """
    if isinstance(value, fg.Expr):
        yield f"Expr {value.dtype}{list(value.shape)}"
        yield from _indented(repr(value).splitlines())
    elif isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
        yield number(value)
    elif isinstance(value, str):
        yield from value.splitlines() or [""]
    elif hasattr(value, "lines"):  # a listing, which prints its first lines only
        given = getattr(value, "given", None)
        if given is not None:
            yield f"given {given()}"
        yield from value.lines()
    elif isinstance(value, Mapping):
        yield from _parts(value, value.items())
    elif hasattr(value, "_fields"):
        yield from _parts(value, zip(value._fields, value, strict=True))
    elif isinstance(value, list | tuple):
        yield from _parts(value, enumerate(value))
    else:
        yield repr(value)


def _parts(value: Any, items: Any) -> Iterator[str]:
    yield type(value).__name__
    for label, part in items:
        lines = list(lines_of(part))
        shown = label if hasattr(value, "_fields") else repr(label)
        yield f"  {shown}: {lines[0]}" if len(lines) == 1 else f"  {shown}:"
        yield from [f"    {line}" for line in lines if len(lines) > 1]


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def number(value: Any) -> str:
    """A number or an array, with its type, to the bit; all NaNs are one.

    >>> number(0.5), number(np.arange(3))
    ('float 0x1.0000000000000p-1', 'ndarray int64[3] 0 1 2')
    """
    kind = type(value).__name__
    array = np.asarray(value)
    if isinstance(value, np.ndarray):
        kind += f" {array.dtype}{list(array.shape)}"
    if array.size <= SHOWN:
        return " ".join([kind, *map(_entry, array.ravel().tolist())])
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return f"{kind} {_digest(array.tobytes())}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _entry(entry: Any) -> str:
    if isinstance(entry, complex):
        return f"{entry.real.hex()},{entry.imag.hex()}"
    return entry.hex() if isinstance(entry, float) else repr(entry)


# -- trees ---------------------------------------------------------------------------------------
def mapped(f: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with f of each of its leaves.

    >>> mapped(lambda x: -x, {"a": (1, 2)})
    {'a': (-1, -2)}
    """
    if isinstance(tree, dict):
        return {key: mapped(f, part) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        parts = [mapped(f, part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return f(tree)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, in order."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def _differentiable(value: Any) -> bool:
    return all([np.asarray(leaf).dtype.kind in "fc" for leaf in leaves(value)])


def _direction(leaf: Any, shift: int = 0) -> Any:
    array = np.asarray(leaf)
    steps = np.arange(shift, shift + array.size, dtype=float).reshape(array.shape)
    made = np.cos(1.0 + steps) + (1j * np.sin(2.0 + steps) if array.dtype.kind == "c" else 0.0)
    return made.astype(array.dtype)[()]


# -- the sections of a program -------------------------------------------------------------------
Section = tuple[str, Callable[[], Any]]


def sections(program: Program) -> Iterator[Section]:
    """The sections of a program: a name, and a function that computes the recorded value."""
    value = _attempt(lambda: program.f(*program.args))
    scalar = isinstance(value, float | np.floating)
    yield "value", lambda: program.f(*program.args)
    yield from _jit_sections("jit", program.f, program)
    if not program.brief:
        yield from _expression_sections(
            "trace", program, lambda: fg.trace(program.f, *program.args)
        )
        yield from _other_forms(program, scalar)
        yield "vmap", lambda: fg.vmap(program.f)(*_batch(program.args))
    if value is None or any(map(_differentiable, leaves(value))):
        yield from _derivative_sections(program, scalar)


def _derivative_sections(program: Program, scalar: bool) -> Iterator[Section]:
    """Derivatives of a function with a real scalar value, or of a weighted sum of its results."""
    f, args = program.f, program.args
    places = tuple([k for k, arg in enumerate(args) if leaves(arg) and _differentiable(arg)])
    if not places:
        return
    primals = tuple([args[k] for k in places])
    tangents = mapped(_direction, primals)

    def partial(*given: Any) -> Any:
        full = list(args)
        for place, arg in zip(places, given, strict=True):
            full[place] = arg
        return f(*full)

    def loss(*given: Any) -> Any:
        return _weighed(f(*given))

    target = f if scalar else loss
    grad = fg.grad(target, argnums=places)
    yield "grad", lambda: grad(*args)
    yield from _jit_sections("jit.grad", grad, program)
    if program.brief:
        return
    yield from _expression_sections("grad", program, lambda: grad.expr(*args))
    yield "jvp", lambda: fg.jvp(partial, primals, tangents)
    yield "vjp", lambda: _pulled(partial, primals)
    size = sum([np.size(leaf) for leaf in leaves(primals)])
    if size <= LARGE:
        yield "vmap.grad", lambda: fg.vmap(grad)(*_batch(args))
    whole = partial if scalar else lambda *given: _weighed(partial(*given))
    if size <= SMALL:
        yield "hessian", lambda: fg.hessian(whole, argnums=tuple(range(len(places))))(*primals)
    else:
        yield "hvp", lambda: fg.hvp(whole, primals, tangents)


def _expression_sections(
    name: str, program: Program, compute: Callable[[], Any]
) -> Iterator[Section]:
    """An expression, or a tree of them, in every printed form, and its values."""
    made: list[Any] = []

    def exprs() -> list[Any]:
        if not made:
            made.append([leaf for leaf in leaves(compute()) if isinstance(leaf, fg.Expr)])
        return list(made[0])

    def each(show: Callable[[Any], Any]) -> Callable[[], Any]:
        return lambda: [show(expr) for expr in exprs()]

    yield f"{name}.expr", exprs
    yield f"{name}.order", each(_order)
    if program.keyed:
        yield f"{name}.keys", each(_keys)
        yield f"{name}.simplified.keys", each(lambda e: _keys(fg.simplify(e)))
    yield f"{name}.simplified", each(fg.simplify)
    yield f"{name}.simplified.order", each(lambda e: _order(fg.simplify(e)))
    yield f"{name}.evaluate", each(lambda e: fg.evaluate(e, _values_for(e, program)))
    yield f"{name}.json", each(fg.to_json)
    yield f"{name}.python.numpy", each(fg.to_python)
    if not any(map(np.ndim, leaves(program.args))):
        yield f"{name}.python.math", each(lambda e: fg.to_python(e, module="math"))
    yield f"{name}.latex", each(fg.to_latex)


def named_values(names: Sequence[str], args: Sequence[Any]) -> dict[str, Any]:
    """The leaves of arguments by the names that their variables have in a trace.

    >>> named_values(["x", "p"], (1.0, {"w": [2.0, 3.0]}))
    {'x': 1.0, 'p_w_0': 2.0, 'p_w_1': 3.0}
    """
    found: dict[str, Any] = {}
    waiting = [*zip(names, args, strict=True)][::-1]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict | list | tuple):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [(f"{name}_{label}", part) for label, part in items][::-1]
        else:
            found[name] = value
    return found


def _values_for(expr: Any, program: Program) -> dict[str, Any]:
    """The values of an expression's variables; functions without a signature have numbered arguments."""
    args = program.args
    numbered = ["x"] if len(args) == 1 else [f"x{k}" for k in range(len(args))]
    nodes = [expr.graph[key] for key in fg.toposort(expr)]
    inputs = [dict(node.params)["name"] for node in nodes if node.op.name == "input"]
    for names in (_argument_names(program), numbered):
        if len(names) == len(args):
            found = named_values(names, args)
            if found.keys() >= set(inputs):
                return {name: found[name] for name in inputs}
    return {}


def _argument_names(program: Program) -> list[str]:
    try:
        return list(inspect.signature(program.f).parameters)[: len(program.args)]
    except ValueError:
        return []


def _order(expr: Any) -> list[str]:
    """The nodes in topological order, one a line, with the positions of their parents."""
    graph = expr.graph
    order = list(fg.toposort(expr))
    place = {key: k for k, key in enumerate(order)}
    return [
        f"{node.op.name} {[place[parent] for parent in node.parents]} {node.type}"
        for node in [graph[key] for key in order]
    ]


def _keys(expr: Any) -> list[str]:
    return [key.hex() for key in fg.toposort(expr)]


def _other_forms(program: Program, scalar: bool) -> Iterator[Section]:
    """Further output for the program at its arguments: tables, drawings, and other algebras."""
    f, args = program.f, program.args
    if sum([np.size(leaf) for leaf in leaves(args)]) > SMALL:
        return

    def expr() -> Any:
        return next(leaf for leaf in leaves(fg.trace(f, *args)) if isinstance(leaf, fg.Expr))

    yield "table", lambda: repr(fg.table(expr(), _values_for(expr(), program)))
    if scalar:
        yield "explain", lambda: fg.explain(expr(), _values_for(expr(), program))
        yield "rounding", lambda: repr(fg.rounding(f, *args))
    yield "dot", lambda: fg.to_dot(expr())
    yield "backprop", lambda: repr(fg.backprop(expr()))
    yield "cost", lambda: repr(fg.cost(f, *args))


def _jit_sections(name: str, f: Callable[..., Any], program: Program) -> Iterator[Section]:
    jitted = fg.jit(f)
    calls = [program.args, program.args, *program.others]
    yield f"{name}.value", lambda: [_recorded(lambda args=args: jitted(*args)) for args in calls]
    yield f"{name}.misses", lambda: str(jitted.explain_misses())
    stages = _attempt(lambda: jitted.lower(*program.args))
    if not hasattr(stages, "_fields"):
        yield f"{name}.lower", lambda: jitted.lower(*program.args)
        return
    for stage, content in zip(stages._fields, stages, strict=True):
        yield f"{name}.lower.{stage}", lambda content=content: content
        if program.keyed and isinstance(content, tuple):
            keys = [part.key.hex() for part in content if isinstance(part, fg.Expr)]
            yield f"{name}.lower.{stage}.keys", lambda keys=keys: keys


def _recorded(compute: Callable[[], Any]) -> Any:
    try:
        return compute()
    except Exception as error:
        return _failure(error)


def _attempt(compute: Callable[[], Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compute()
    except Exception:
        return None


def _pulled(f: Callable[..., Any], primals: Sequence[Any]) -> Any:
    value, pullback = fg.vjp(f, *primals)
    return pullback(mapped(_direction, value))


def _weighed(result: Any) -> Any:
    """A real number that depends on all entries of a result."""
    parts = [leaf for leaf in leaves(result) if np.asarray(_type(leaf)).dtype.kind in "fc"]
    if not parts:
        raise TypeError("replay: nothing in the result is differentiable")
    return sum([np.sum(np.real(part) * _weights(part)) for part in parts])


def _type(leaf: Any) -> Any:
    return np.zeros((), leaf.dtype) if isinstance(leaf, fg.Expr) else leaf


def _weights(part: Any) -> Any:
    shape = np.shape(part)
    size = int(np.prod(shape))
    weights = np.cos(0.3 + np.arange(size, dtype=float)).reshape(shape)
    dtype = np.asarray(_type(part)).real.dtype
    return weights.astype(dtype)[()]


def _batch(args: Sequence[Any]) -> Any:
    """Three examples of the arguments."""

    def examples(leaf: Any) -> Any:
        array = np.asarray(leaf)
        if array.dtype.kind not in "fc":
            return np.stack([array] * 3)
        return np.stack([array, array * array.dtype.type(0.75), array * array.dtype.type(1.125)])

    return mapped(examples, tuple(args))


# -- dump ----------------------------------------------------------------------------------------
def section_text(compute: Callable[[], Any]) -> list[str]:
    """The lines of a section, or the type and message of an error; warnings come last."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            lines = list(lines_of(compute()))
        except Exception as error:
            lines = _failure(error).splitlines()
    reported = sorted({f"warning {w.category.__name__}: {w.message}" for w in met})
    return [_normalized(line) for text in (*lines, *reported) for line in text.splitlines() or [""]]


def _failure(error: Exception) -> str:
    return f"raises {type(error).__name__}: {error}"


def _normalized(line: str) -> str:
    for pattern, replacement in _VARIES:
        line = pattern.sub(replacement, line)
    if len(line) > LONG:
        return f"{line[:200]}… {len(line):,} characters, {_digest(line.encode())}"
    return line


def program_text(program: Program) -> str:
    """All sections of a program."""
    lines = []
    for name, compute in sections(program):
        lines += [HEADER + name, *_indented(section_text(compute))]
    return "\n".join(lines) + "\n"


def dump(directory: Path, wanted: Sequence[str] = ()) -> int:
    """The number of sections written: a file for each program, or for the named ones."""
    unknown = sorted(set(wanted) - {program.name for program in PROGRAMS})
    if unknown:
        raise SystemExit(f"graph_replay: expected names of programs, but got {', '.join(unknown)}")
    directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for program in PROGRAMS:
        if not wanted or program.name in wanted:
            text = program_text(program)
            count += len(parsed(text))
            (directory / f"{program.name}.txt").write_text(text, encoding="utf-8")
    return count


# -- compare -------------------------------------------------------------------------------------
def parsed(text: str) -> dict[str, list[str]]:
    """The lines of each section."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(HEADER):
            lines = found[line.removeprefix(HEADER)] = []
        else:
            lines.append(line)
    return found


def differences(one: Path, other: Path, without: Sequence[str] = (), most: int = 3) -> list[str]:
    """The differences of two dumps, by program and section, with the first lines that differ.

    A section is left out if its name, or a part of it between dots, is among ``without``.
    """
    reported = []
    names = sorted({path.name for directory in (one, other) for path in directory.glob("*.txt")})
    for name in names:
        program = name.removesuffix(".txt")
        if not ((one / name).exists() and (other / name).exists()):
            reported.append(f"{program}: only in {one if (one / name).exists() else other}")
            continue
        first, second = (
            parsed((directory / name).read_text(encoding="utf-8")) for directory in (one, other)
        )
        for section in dict.fromkeys([*first, *second]):
            if _left_out(section, without) or first.get(section) == second.get(section):
                continue
            if section not in first or section not in second:
                reported.append(
                    f"{program} {section}: only in {one if section in first else other}"
                )
                continue
            reported.append(f"{program} {section}:")
            reported += _first_lines(first[section], second[section], most)
    return reported


def _left_out(section: str, without: Sequence[str]) -> bool:
    return any([f".{name}." in f".{section}." for name in without])


def _first_lines(first: Sequence[str], second: Sequence[str], most: int) -> list[str]:
    pairs = zip_longest(first, second)
    unequal = [(k, a, b) for k, (a, b) in enumerate(pairs, 1) if a != b]
    shown = [
        f"  {k}{sign} {line.strip()}"
        for k, a, b in unequal[:most]
        for sign, line in (("-", a), ("+", b))
        if line is not None
    ]
    more = len(unequal) - most
    return [*shown, f"  … ({more} more lines differ)"] if more > 0 else shown


def main(arguments: Sequence[str]) -> int:
    """The exit status of the command."""
    parser = argparse.ArgumentParser(prog="graph_replay", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writer = commands.add_parser("dump", help="write a file for each program")
    writer.add_argument("directory", type=Path)
    writer.add_argument("names", nargs="*", help="programs; all, if none is named")
    reader = commands.add_parser("compare", help="print what differs between two dumps")
    reader.add_argument("directories", nargs=2, type=Path)
    reader.add_argument("--without", nargs="+", default=[], help="sections that may differ")
    reader.add_argument(
        "--lines", type=int, default=3, help="differing lines shown for each section"
    )
    given = parser.parse_args(arguments)
    if given.command == "dump":
        start = time.perf_counter()
        count = dump(given.directory, given.names)
        seconds = time.perf_counter() - start
        files = len(given.names) or len(PROGRAMS)
        print(f"{files} programs, {count:,} sections, {seconds:.1f} s")
        return 0
    missing = [str(directory) for directory in given.directories if not directory.is_dir()]
    if missing:
        parser.error(f"compare: expected directories, but got {', '.join(missing)}")
    found = differences(*given.directories, given.without, given.lines)
    print("\n".join(found) if found else "no differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
