"""Programs as Python source: a function of the variables that needs NumPy alone, or ``math`` alone.

Each operation is written as the call that computes it, so that the results are those of `evaluate`, to
the bit with NumPy (except products of complex numbers, which NumPy rounds differently in arrays). The
dtypes are NumPy's own: inputs are converted first, and casts are written.
A program's constants and names enter the source only as literals and validated identifiers.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from funcgrad.expr import Expr, as_expression, derived_names
from funcgrad.ops.tuples import pick_op
from funcgrad.printed_text import PrintedText
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.naming import Rules, distinct, let_all, operands
from funcgrad.show.python.control_flow_source import definitions, routines_of
from funcgrad.show.python.python_math import math_writer, refuse_arrays
from funcgrad.show.python.python_numpy import in_numpy, numpy_writer
from funcgrad.show.text import LONGEST_INLINE
from funcgrad.show.written import ATOM
from funcgrad.source import type_error, value_error

MOST_NODES_WRITTEN = 100_000  # nodes; Python's compiler takes seconds for more


def to_python(
    expr: Expr, name: str = "f", *, module: Literal["numpy", "math"] = "numpy"
) -> PrintedText:
    """The source of a Python function of the variables, in the order in which
    they are first met.

    A gradient has the order of the program that it was derived of. The program
    is written as it runs, with its guards, not as it is read. A loop is
    written as a function with a ``for`` or a ``while``, a branch as one with
    an ``if``. With ``module="math"`` a scalar program becomes plain Python on
    floats: faster, but outside the domain it raises, as `math` does, where
    NumPy gives inf or nan.

    Raises ValueError for a name that is no identifier, an operation without a
    form in the module, or more than 100000 nodes; TypeError for what is no
    expression or no name.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> print(to_python(fg.exp(x) * x + 2))
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def f(x):
        \"\"\"x: float64 -> float64\"\"\"
        x = np.asarray(x, "float64")[()]
        with np.errstate(all="ignore"):
            return np.exp(x)*x + 2.0
    """
    expr = as_expression("to_python", expr)
    nodes = distinct(expr, "to_python", MOST_NODES_WRITTEN, "save it with to_json")
    if not isinstance(name, str):
        raise type_error(
            f"to_python: expected the name of the function, but got {type(name).__name__}; "
            "write to_python(e), which takes no values",
        )
    if not _is_identifier(name):
        raise value_error(f"to_python: expected an identifier as name, but got {name!r}")
    if module not in ("numpy", "math"):
        raise value_error(f"to_python: expected module 'numpy' or 'math', but got {module!r}")
    if module == "math":
        refuse_arrays(nodes)
    inputs = _in_order(expr)
    expr = in_numpy(expr) if module == "numpy" else expr
    names = _arguments(inputs, {name, *_RESERVED})
    routines = routines_of(expr, {name, *_RESERVED, *names.values()})
    write = numpy_writer(names, routines) if module == "numpy" else math_writer(names)
    rules = Rules(
        write,
        _locals({*names.values(), *routines.names, name}),
        _parents if module == "numpy" else (lambda e: e.args),
        ATOM,
        LONGEST_INLINE,
        str,
        _is_negative,
    )
    helpers = definitions(routines, lambda roots, given: let_all(roots, given, rules))
    lines, (root,) = let_all([expr], {}, rules)
    heading = (
        f'def {name}({", ".join(names.values())}):\n    """{_signature(inputs, names, expr)}"""'
    )
    body = [f"{local} = {text}" for local, text in lines]
    if module == "math":
        return _joined(["import math"], heading, [*body, f"return {root.text}"], "    ")
    # What may be a view of an argument is copied.
    own = not expr.shape or isinstance(getattr(expr.op, "run", None), np.ufunc)
    body.append(f"return {root.text}" if own else f"return np.array({root.text})")
    head = [
        f'{names[key]} = np.asarray({names[key]}, "{v.dtype}")[()]' for key, v in inputs.items()
    ]
    imports = ["import base64\n"] if any("base64." in line for line in [*helpers, *body]) else []
    beside = ["import scipy.special"] if any("scipy." in line for line in [*helpers, *body]) else []
    begin = "".join(f"\n    {line}" for line in [*head, 'with np.errstate(all="ignore"):'])
    before = "".join([f"{line}\n" for line in helpers])
    return _joined(
        [*imports, "import numpy as np", *beside], before + heading + begin, body, " " * 8
    )


def _parents(expr: Expr) -> tuple[Expr, ...]:
    """The operands as they are written: of a part of a value with a rule of its own, that part."""
    if expr.op is pick_op and "wiring" in dict(expr.args[0].params):
        return (expr.args[0].args[dict(expr.params)["index"]],)
    return operands(expr)


def _joined(imports: list[str], heading: str, body: list[str], indent: str) -> PrintedText:
    lines = "\n".join(indent + line for line in body)
    return PrintedText("\n".join(imports) + f"\n\n\n{heading}\n{lines}\n")


# What the source itself calls, which an argument must not hide.
_RESERVED = frozenset(
    (
        *("np", "math", "base64", "slice", "abs", "max", "min", "float", "round", "True", "False"),
        *("len", "range", "reversed"),
    )
)


def _in_order(expr: Expr) -> Mapping[str, Expr]:
    """The variables in the order in which they are met: of a gradient, in that of its program."""
    inputs = variables(expr)
    order = [name for name in derived_names(expr) or () if name in inputs]
    return {name: inputs[name] for name in (*order, *inputs)}


# -- names ---------------------------------------------------------------------------------------
def _is_identifier(name: str) -> bool:
    same = unicodedata.normalize("NFKC", name) == name  # Python reads another name otherwise
    return name.isidentifier() and not keyword.iskeyword(name) and same


def _arguments(inputs: Mapping[str, Expr], taken: set[str]) -> dict[str, str]:
    """An identifier for each variable: its own name where it is one."""
    names = {key: key for key in inputs if _is_identifier(key) and key not in taken}
    used = taken | set(names)
    for key in inputs:
        if key not in names:
            stem = re.sub(r"\W|^(?=\d)", "_", key, flags=re.ASCII)[:40]
            names[key] = next(n for n in _numbered(stem) if n not in used and _is_identifier(n))
            used.add(names[key])
    return {key: names[key] for key in inputs}


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    count = 1
    while True:
        yield f"{stem}_{count}"
        count += 1


def _locals(taken: set[str]) -> Iterator[str]:
    return (n for n in _numbered("v") if n not in taken and n != "v")


def _signature(inputs: Mapping[str, Expr], names: Mapping[str, str], expr: Expr) -> str:
    parts = [
        f"{names[key]}: {v.type}" + ("" if names[key] == key else f" (for {ascii(key)[:60]})")
        for key, v in inputs.items()
    ]
    line = f"{', '.join(parts) or 'no arguments'} -> {expr.type}"
    return line.replace("\\", "/").replace('"', "'")


def _is_negative(expr: Expr) -> bool:
    return expr.op is not None and expr.op.name == "negative"
