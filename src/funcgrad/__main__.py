"""The command: ``funcgrad`` starts a prompt, ``funcgrad "sin(x)*x" x=0.7`` reports on a formula.

The report is the program in let-form, the table of its nodes in topological order with op, parents, value
and gradient, and the simplified formula of each derivative. Subcommands print one thing each. A formula is
parsed, never evaluated as Python; a file is executed, as by ``python FILE.py``.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import funcgrad
from funcgrad.expr import Expr, var
from funcgrad.printed_text import print_text
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.drawing.explorer import explore
from funcgrad.show.drawing.svg import to_svg
from funcgrad.show.explain import explain
from funcgrad.show.kinks import kinks
from funcgrad.show.latex.to_latex import to_latex
from funcgrad.show.parse_formula import FormulaError, names_in, parse
from funcgrad.show.python.to_python import to_python
from funcgrad.show.shell import start
from funcgrad.show.steps_text import steps
from funcgrad.show.table import table
from funcgrad.testing import check_grads
from funcgrad.trace.derive import trace
from funcgrad.transforms.gradient import gradient

USAGE = """\
usage: funcgrad                                   a prompt with all names imported
       funcgrad FORMULA name=value ...            program, nodes and derivatives
       funcgrad COMMAND FORMULA name=value ...
       funcgrad [COMMAND] FILE.py:function name=value ...

commands that take values:
  table    the nodes, with values and gradients
  explain  forward and reverse accumulation, line by line
  steps    the same in words, with the laws that simplified the gradient
  check    compares the derivatives with finite differences
commands that need none:
  svg      a picture                latex    the formula in LaTeX
  explore  a page to step through   python   the source of a Python function

options: -o FILE writes there what would be printed; -h, --help; --version;
         --completion (for bash and zsh: source <(funcgrad --completion))

  funcgrad "sqrt(x**2 + exp(x**2))" x=0.7
  funcgrad steps "sum(tanh(w*x))" w=0.5 x=[1,2,3]
  funcgrad svg "sin(x)*x" > picture.svg"""


_BAD_INPUT = (FormulaError, TypeError, ValueError, AssertionError, IndexError, ImportError, OSError)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of the command: 0, or 2 with one line on standard error for bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        start(funcgrad)
        return 0
    asked = given[1] if given[0] in _COMMANDS and given[1:] in (["-h"], ["--help"]) else given[0]
    asked = _MEANT.get(asked, asked) if len(given) == 1 else asked
    if asked in _OPTIONS:
        print(_OPTIONS[asked]())
        return 0
    try:
        given, file = _file(given)
        output = _output(given)
        if file is None and given[0] == "explore" and sys.stdout.isatty():
            raise FormulaError(
                f"expected -o FILE for a page; write funcgrad {shlex.join(given)} -o page.html"
            )
        if file is None:
            print_text(output)
            sys.stdout.flush()
        else:
            Path(file).write_text(output, encoding="utf-8")
    except BrokenPipeError:  # head has read what it wants; Python flushes once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except _BAD_INPUT as error:
        print(f"funcgrad: {str(error).splitlines()[0]}", file=sys.stderr)
        return 2
    return 0


def _completion() -> str:
    words = " ".join([*_COMMANDS, *_OPTIONS])
    return (
        '[ -n "$ZSH_VERSION" ] && autoload -Uz compinit bashcompinit && compinit && bashcompinit\n'
        f'complete -W "{words}" -f funcgrad'
    )


_OPTIONS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "-h": lambda: USAGE,
        "--help": lambda: USAGE,
        "--version": lambda: f"funcgrad {funcgrad.__version__}",
        "--completion": _completion,
    }
)

_MEANT = MappingProxyType({"help": "--help", "version": "--version", "-V": "--version"})
"""Other spellings of options, accepted if nothing follows them."""


def _file(given: list[str]) -> tuple[list[str], str | None]:
    """The arguments without ``-o FILE``, and the file."""
    at = next((i for i, argument in enumerate(given) if argument in ("-o", "--output")), None)
    if at is None:
        return given, None
    if len(given) < at + 2 or len(given) < 3:
        raise FormulaError(
            "expected a file after -o, but got none; write funcgrad svg 'x**2' -o x.svg"
        )
    return given[:at] + given[at + 2 :], given[at + 1]


def _output(given: list[str]) -> str:
    unknown = next((word for word in given if _OPTION.fullmatch(word)), None)
    if unknown is not None:
        near = [*get_close_matches(unknown, _OPTIONS), "--help"]
        raise FormulaError(f"expected an option, but got {unknown!r}; write {near[0]}")
    if _has_value(given[0]):
        values_alone = " ".join(given)
        raise FormulaError(
            f"expected a formula before the values; write funcgrad 'x**2' {values_alone}"
        )
    if given[0] not in _COMMANDS:
        meant = get_close_matches(given[0], _COMMANDS)
        if meant and len(given) > 1 and not _has_value(given[1]):
            raise FormulaError(f"expected a command, but got {given[0]!r}; write {meant[0]}")
        return report(given[0], dict(map(_value, given[1:])))
    command, *rest = given
    if not rest:
        raise FormulaError(f"expected a formula, but got none; write funcgrad {command} 'x**2' x=3")
    values = dict(map(_value, rest[1:]))
    expr = _program(rest[0], values, command in _WITHOUT_VALUES)
    known = {name: value for name, value in values.items() if name in variables(expr)}
    return str(_COMMANDS[command](expr, known))


_OPTION = re.compile(r"--[a-z][a-z-]+")


# -- commands ------------------------------------------------------------------------------------
def report(source: str, values: dict[str, Any]) -> str:
    """The text that the command prints of a formula and values."""
    expr = _program(source, values)
    unused = [name for name in values if name not in variables(expr)]
    if not variables(expr):
        raise FormulaError("formula: expected at least one variable in it, but got none")
    if expr.shape:
        raise FormulaError(f"formula: expected a scalar result, but got {expr.type}; sum it first")
    known = {name: value for name, value in values.items() if name not in unused}
    blocks = [
        f"program\n{_indent(repr(expr))}",
        f"nodes\n{_indent(repr(table(expr, known)))}",
        *[f"df/d{name}\n{_indent(repr(slope))}" for name, slope in gradient(expr).items()],
    ]
    if unused:
        blocks.append(f"not used: {', '.join(unused)}")
    return "\n\n".join(blocks)


def _check(expr: Expr, values: dict[str, Any]) -> str:
    names = list(variables(expr))

    def f(*args: object) -> Any:
        return expr(**dict(zip(names, args, strict=True)))

    try:
        check_grads(f, tuple([values[name] for name in names]))
    except AssertionError:
        kink = next(kinks(expr, values), None)
        if kink is None:
            raise
        raise AssertionError(f"check: expected values away from kinks, but {kink}") from None
    return "first and second derivatives agree with finite differences, in forward and reverse mode"


def _explore(expr: Expr, values: dict[str, Any]) -> str:
    return explore(expr, values).html


_COMMANDS: Mapping[str, Callable[[Expr, dict[str, Any]], object]] = MappingProxyType(
    {
        "table": table,
        "explain": explain,
        "steps": steps,
        "check": _check,
        "svg": lambda expr, values: to_svg(expr, *([values] if values else ())),
        "latex": lambda expr, values: to_latex(expr),
        "python": lambda expr, values: to_python(expr),
        "explore": _explore,
    }
)
_WITHOUT_VALUES = ("svg", "latex", "python", "explore")


# -- what is given -------------------------------------------------------------------------------
def _program(source: str, values: dict[str, Any], without_values: bool = False) -> Expr:
    path, colon, name = source.rpartition(":")
    if colon and path.endswith(".py"):
        function = _function(Path(path), name)
        result = trace(function, *inspect.signature(function).bind(**values).args)
        if not isinstance(result, Expr):
            raise TypeError(f"{name}: expected a scalar result, but got {type(result).__name__}")
        return result
    if source.endswith(".py"):
        raise FormulaError(f"expected a function in the file; write {source}:f")
    inputs = {n: var(n, np.shape(v), float) for n, v in values.items()}
    if without_values:
        inputs = {n: var(n) for n in names_in(source)} | inputs
    return parse(source, inputs)


def _function(path: Path, name: str) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"expected a file, but {path} does not exist")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise OSError(f"expected a Python file, but got {path}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        steps = traceback.extract_tb(error.__traceback__)
        line = next((step.lineno for step in reversed(steps) if step.filename == spec.origin), "?")
        raise FormulaError(f"{path}:{line}: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if not callable(found):
        raise TypeError(f"expected a function {name!r} in {path}, but there is none")
    return found


def _has_value(argument: str) -> bool:
    name, equals, _ = argument.partition("=")
    return bool(equals) and name.strip().isidentifier()


def _value(argument: str) -> tuple[str, Any]:
    name, _, text = argument.partition("=")
    name = name.strip()
    if not _has_value(argument):
        raise FormulaError(f"expected name=value, but got {argument[:60]!r}")
    try:
        value = np.asarray(ast.literal_eval(text.strip()), dtype=float)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError, OverflowError):
        try:
            value = np.asarray(parse(text, {})(), dtype=float)  # such as pi/2
        except FormulaError:
            raise FormulaError(
                f"expected a number or a list of numbers for {name}, but got {text[:60]!r}"
            ) from None
    return name, value[()].item() if value.ndim == 0 else value


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
