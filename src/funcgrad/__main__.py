"""The command: ``funcgrad "sin(x)*x" x=0.7`` or ``funcgrad FILE.py:function x=0.7``.

It prints the program in let-form, the table of its nodes in topological order with op, parents, value
and gradient, and the simplified formula of each derivative. A formula is parsed, never evaluated as
Python; a file is executed, as by ``python FILE.py``.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.expr import Expr, var
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.parse_formula import FormulaError, parse
from funcgrad.show.table import table
from funcgrad.trace.derive import trace
from funcgrad.transforms.gradient import gradient

USAGE = """\
usage: funcgrad FORMULA name=value ...
       funcgrad FILE.py:function name=value ...

  funcgrad "sqrt(x**2 + exp(x**2))" x=0.7
  funcgrad "sum(tanh(w*x))" w=0.5 x=[1,2,3]"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of the command: 0, or 2 with one line on standard error for bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if given else 2
    try:
        print(report(given[0], dict(map(_value, given[1:]))))
    except (FormulaError, TypeError, ValueError, IndexError, OSError) as error:
        print(f"funcgrad: {str(error).splitlines()[0]}", file=sys.stderr)
        return 2
    return 0


def report(source: str, values: dict[str, Any]) -> str:
    """The text that the command prints."""
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


def _program(source: str, values: dict[str, Any]) -> Expr:
    path, colon, name = source.rpartition(":")
    if colon and path.endswith(".py"):
        function = _function(Path(path), name)
        result = trace(function, *inspect.signature(function).bind(**values).args)
        if not isinstance(result, Expr):
            raise TypeError(f"{name}: expected a scalar result, but got {type(result).__name__}")
        return result
    return parse(source, {n: var(n, np.shape(v), float) for n, v in values.items()})


def _function(path: Path, name: str) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"expected a file, but {path} does not exist")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise OSError(f"expected a Python file, but got {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise TypeError(f"expected a function {name!r} in {path}, but there is none")
    return found


def _value(argument: str) -> tuple[str, Any]:
    name, equals, text = argument.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier():
        raise FormulaError(f"expected name=value, but got {argument[:60]!r}")
    try:
        value = np.asarray(ast.literal_eval(text.strip()), dtype=float)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError, OverflowError):
        raise FormulaError(
            f"expected a number or a list of numbers for {name}, but got {text[:60]!r}"
        ) from None
    return name, value[()].item() if value.ndim == 0 else value


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
