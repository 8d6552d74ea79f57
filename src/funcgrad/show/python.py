"""Programs as Python source: a function of the variables that needs NumPy alone, or ``math`` alone.

Each operation is written as the call that computes it, so that the results are those of `evaluate`, to
the bit with NumPy (but for products of complex numbers, which it rounds otherwise in arrays). The
dtypes are NumPy's own: inputs are converted first, and casts are written.
Nothing that stands in a program gets into the source but as a literal or a checked identifier.
"""

from __future__ import annotations

import base64
import keyword
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, Never

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.tuples import pick_op
from funcgrad.program.evaluate import variables
from funcgrad.show.bodies import is_tuple
from funcgrad.show.routines import Routines, called, definitions, routines_of
from funcgrad.show.rows import Rules, array_of, distinct, let_all, operands
from funcgrad.show.text import ATOM, LONGEST, UNARY, Written, wrap

MOST = 100_000  # nodes; Python's compiler takes seconds for more
LITERAL = 100  # entries of an array that is written out


def to_python(expr: Expr, name: str = "f", *, module: Literal["numpy", "math"] = "numpy") -> str:
    """The source of a Python function of the variables, in the order in which they are first met.

    A loop is written as a function with a ``for`` or a ``while``, a branch as one with an ``if``.
    With ``module="math"`` a scalar program becomes plain Python on floats: faster, but outside the
    domain it raises, as `math` does, where NumPy gives inf or nan.

    Raises ValueError for a name that is no identifier, an operation without a form in the module, or
    more than 100000 nodes; TypeError for what is no expression.

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
    nodes = distinct(expr, "to_python", MOST, "save it with to_json")
    if not _is_identifier(name):
        raise ValueError(f"to_python: expected an identifier as name, but got {name!r}")
    if module not in ("numpy", "math"):
        raise ValueError(f"to_python: expected module 'numpy' or 'math', but got {module!r}")
    if module == "math":
        _refuse_arrays(nodes)
    inputs = variables(expr)
    names = _arguments(inputs, {name, *_RESERVED})
    routines = routines_of(expr, {name, *_RESERVED, *names.values()})
    write = _numpy_writer(names, routines) if module == "numpy" else _math_writer(names)
    rules = Rules(
        write,
        _locals({*names.values(), *routines.names, name}),
        _parents if module == "numpy" else (lambda e: e.args),
        ATOM,
        LONGEST,
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
    begin = "".join(f"\n    {line}" for line in [*head, 'with np.errstate(all="ignore"):'])
    before = "".join([f"{line}\n" for line in helpers])
    return _joined([*imports, "import numpy as np"], before + heading + begin, body, " " * 8)


def _parents(expr: Expr) -> tuple[Expr, ...]:
    """The operands as they are written: of a part of a value with a rule of its own, that part."""
    if expr.op is pick_op and "wiring" in dict(expr.args[0].params):
        return (expr.args[0].args[dict(expr.params)["index"]],)
    return operands(expr)


def _joined(imports: list[str], heading: str, body: list[str], indent: str) -> str:
    lines = "\n".join(indent + line for line in body)
    return "\n".join(imports) + f"\n\n\n{heading}\n{lines}\n"


# What the source itself calls, which an argument must not hide.
_RESERVED = frozenset(
    (
        *("np", "math", "base64", "slice", "abs", "max", "min", "float", "round", "True", "False"),
        *("len", "range", "reversed"),
    )
)


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


# -- with NumPy ----------------------------------------------------------------------------------
_INFIX = frozenset(
    ("+", "-", "*", "/", "@", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "//", "%")
)


def _numpy_writer(
    names: Mapping[str, str], routines: Routines
) -> Callable[[Expr, list[Written]], Written]:
    def write(expr: Expr, parts: list[Written]) -> Written:
        if expr.op is INPUT:
            return Written(names[str(expr.params[0][1])], ATOM)
        if expr.op is CONSTANT:
            return Written(_literal(array_of(expr)), ATOM)
        if expr.op is pick_op and "wiring" in dict(expr.args[0].params):
            return parts[0]
        if is_tuple(expr):
            made = called(expr, [part.text for part in parts], routines)
            if made is not None:
                return Written(made, ATOM - 1)
        return _numpy_call(expr, parts)

    return write


def _numpy_call(expr: Expr, parts: list[Written]) -> Written:
    operation: Any = expr.op
    args = operands(expr)
    if operation.name == "negative":
        return Written("-" + wrap(parts[0], UNARY), UNARY)
    if operation.infix and operation.infix.symbol in _INFIX:
        return _numpy_infix(operation.infix, args, parts)
    texts = [part.text for part in parts]
    special = _NUMPY.get(operation.name)
    if special is not None:
        return special(expr, texts)
    theirs = getattr(operation.run, "__name__", "")
    if isinstance(operation.run, np.ufunc) and getattr(np, theirs, None) is operation.run:
        return Written(f"np.{theirs}({', '.join(texts)})", ATOM - 1)
    raise _unknown(operation.name, "NumPy")


def _numpy_infix(infix: Any, args: tuple[Expr, ...], parts: list[Written]) -> Written:
    symbol, binding = infix
    left, right = [
        _weak(arg, other) or part
        for arg, other, part in zip(args, reversed(args), parts, strict=True)
    ]
    # Comparisons do not associate: a < b < c is another thing in Python.
    outer = binding + 1 if binding <= 5 else binding
    spaced = symbol if symbol in ("*", "/") else f" {symbol} "
    return Written(f"{wrap(left, outer)}{spaced}{wrap(right, binding + 1)}", binding)


def _weak(arg: Expr, other: Expr) -> Written | None:
    """A scalar constant beside an operand of its dtype: a plain number, which takes that dtype."""
    if arg.op is not CONSTANT or arg.shape or other.op is CONSTANT or arg.dtype != other.dtype:
        return None
    value = array_of(arg).item()
    exact = type(value) in (float, int) and math.isfinite(value) and arg.dtype.itemsize <= 8
    return Written(repr(value), UNARY if repr(value)[0] == "-" else ATOM) if exact else None


def _literal(array: Any) -> str:
    """An array as source that gives back every bit of it."""
    dtype = array.dtype
    plain = dtype.isnative and (dtype.kind in "iub" or (dtype.kind == "f" and dtype.itemsize <= 8))
    if plain and array.ndim == 0 and np.isfinite(array):
        return f"np.{dtype.type.__name__}({array.item()!r})"
    if plain and 0 < array.size <= LITERAL and np.all(np.isfinite(array)):
        return f'np.array({array.tolist()!r}, "{dtype}")'
    little = array.astype(dtype.newbyteorder("<"), copy=False)
    content = base64.b64encode(little.tobytes()).decode("ascii")
    text = f'np.frombuffer(base64.b64decode("{content}"), "{little.dtype.str}")'
    cast = "" if dtype == little.dtype else f'.astype("{dtype.str}")'
    return f"{text}{cast}.reshape({array.shape})[()]"


def _unknown(name: str, module: str) -> ValueError:
    return ValueError(
        f"to_python: expected operations that {module} has, but got {name!r}; save the program with "
        "to_json instead" + ("" if module == "NumPy" else ", or leave out module='math'")
    )


def _foreign(expr: Expr, texts: list[str]) -> Written:
    raise ValueError(
        "to_python: expected operations that NumPy has, but got the primitive "
        f"{dict(expr.params)['function'].name!r}; write what comes before and after it as two programs"
    )


def _implicit(expr: Expr, texts: list[str]) -> Written:
    raise _unknown(dict(expr.params)["problem"].who, "NumPy")


def _form(template: str, binding: int = ATOM - 1) -> Callable[[Expr, list[str]], Written]:
    """A template with ``{0}``, ``{1}`` for operands, ``{all}`` for all, and params by name."""

    def write(expr: Expr, texts: list[str]) -> Written:
        params = {key: _param(value) for key, value in expr.params}
        return Written(template.format(*texts, all=", ".join(texts), **params), binding)

    return write


def _param(value: Any) -> str:
    return f'"{value.str}"' if isinstance(value, np.dtype) else repr(value)


def _getitem(expr: Expr, texts: list[str]) -> Written:
    return Written(f"np.asarray({texts[0]})[{_index(expr, texts[1:])}]", ATOM - 1)


def _index(expr: Expr, arrays: list[str]) -> str:
    rest = iter(arrays)
    words = {"new": "None", "...": "..."}
    items = []
    for item in dict(expr.params)["spec"]:
        if isinstance(item, tuple):
            items.append(f"slice({', '.join(map(str, item[1:]))})")
        else:
            items.append(next(rest) if item == "array" else words.get(item, str(item)))
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _cast(expr: Expr, texts: list[str]) -> Written:
    complex_to_real = expr.args[0].dtype.kind == "c" and expr.dtype.kind != "c"
    whole = f"np.real({texts[0]})" if complex_to_real else f"np.asarray({texts[0]})"
    return Written(f'{whole}.astype("{expr.dtype.str}")[()]', ATOM - 1)


def _scatter(expr: Expr, texts: list[str]) -> Written:
    # np.add.at in one expression: ``or`` passes on, since it returns None.
    shape = dict(expr.params)["shape"]
    arrays = [f"i{k}" for k in range(len(texts) - 1)]
    added = f"np.add.at(z, {_index(expr, arrays)}, g) or z"
    given = ", ".join([f'np.zeros({shape}, "{expr.dtype}")', *texts])
    return Written(f"(lambda {', '.join(['z', 'g', *arrays])}: {added})({given})", ATOM - 1)


def _mask(expr: Expr, texts: list[str]) -> Written:
    zero = f'np.zeros((), "{expr.dtype.str}")'
    return Written(f"np.where({texts[0]}, {texts[1]}, {zero})[()]", ATOM - 1)


def _logsumexp(expr: Expr, texts: list[str]) -> Written:
    axis = dict(expr.params)["axis"]
    inner = (
        f"(lambda x, t: np.log(np.sum(np.exp(x - t), axis={axis})) + t.reshape({expr.shape}))"
        "(x, np.where(np.isfinite(t), t, t.dtype.type(0)))"
    )
    top = f"np.max(x, axis={axis}, keepdims=True, initial=-np.inf)"
    return Written(f"(lambda x: (lambda t: {inner})({top}))({texts[0]})", ATOM - 1)


def _sinc(expr: Expr, texts: list[str]) -> Written:
    if dict(expr.params)["order"] != 0 or expr.dtype != float:
        raise _unknown("derivative of sinc", "NumPy")
    return Written(f"np.sinc({texts[0]})", ATOM - 1)


def _cofactors(expr: Expr, texts: list[str]) -> Written:
    others = "np.where(np.eye(s.shape[-1], dtype=bool), s.dtype.type(1), s[..., None, :])"
    sign = "(np.linalg.det(u)*np.linalg.det(v))[..., None, None]"
    product = f"((u.conj()*np.prod({others}, axis=-1)[..., None, :]) @ v.conj())"
    return Written(f"(lambda u, s, v: {sign}*{product})(*np.linalg.svd({texts[0]}))", ATOM - 1)


_NUMPY: Mapping[str, Callable[[Expr, list[str]], Written]] = MappingProxyType(
    {
        "power": _form("np.power({all})"),
        "where": _form("np.where({all})[()]"),
        "mask": _mask,
        "stop_gradient": _form("{0}", ATOM - 1),
        "leaf": _form("{0}"),
        "real": _form("np.real({0})[()]"),
        "imag": _form("np.imag({0})[()]"),
        "sigmoid": _form("1.0/(1.0 + np.exp(-({0})))", 20),
        "softplus": _form("np.logaddexp({0}, 0.0)"),
        "xlogx": _form("(lambda x: x*np.log(np.where(x == 0, np.ones_like(x), x)))({0})"),
        "sinc": _sinc,
        "astype": _cast,
        "broadcast_to": _form("np.broadcast_to({0}, {shape})"),
        "reshape": _form("np.reshape({0}, {shape})"),
        "transpose": _form("np.transpose({0}, {axes})"),
        "concatenate": _form("np.concatenate([{all}], axis={axis})"),
        "sum": _form("np.sum({0}, axis={axis})"),
        "max": _form("np.max({0}, axis={axis})"),
        "min": _form("np.min({0}, axis={axis})"),
        "prod": _form("np.prod({0}, axis={axis})"),
        "logsumexp": _logsumexp,
        "norm": _form("np.sqrt(np.sum(np.square(np.abs({0})), axis={axis}))"),
        "any": _form("np.any({0}, axis={axis})"),
        "all": _form("np.all({0}, axis={axis})"),
        "argmax": _form("np.argmax({0}, axis={axis})"),
        "argmin": _form("np.argmin({0}, axis={axis})"),
        "argsort": _form('np.argsort({0}, axis={axis}, kind="stable")'),
        "cumsum": _form("np.cumsum({0}, axis={axis})"),
        "einsum": _form("np.einsum({subscripts}, {all})"),
        **{
            name: _form(f"np.linalg.{name}({{all}})")
            for name in ("solve", "inv", "cholesky", "det")
        },
        "pinv": _form("np.linalg.pinv({0}, {rcond}, {hermitian})"),
        "logabsdet": _form("np.linalg.slogdet({0})[1]"),
        **dict.fromkeys(("detsign", "detphase"), _form("np.linalg.slogdet({0})[0]")),
        "cofactors": _cofactors,
        "eigh": _form("np.linalg.eigh({0}, {triangle})"),
        "svd": _form("np.linalg.svd({0}, full_matrices=False)"),
        "qr": _form("np.linalg.qr({0})"),
        "pick": _form("{0}[{index}]"),
        "together": _form("({all},)"),
        "name": _form("{0}"),
        "foreign": _foreign,
        "implicit": _implicit,
        "getitem": _getitem,
        "scatter_add": _scatter,
    }
)


# -- with math -----------------------------------------------------------------------------------
_SAME: tuple[str, ...] = (
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
)
_SAME += ("sinh", "cosh", "tanh", "hypot", "fabs", "copysign", "fmod")
_RENAMED = {
    "power": "pow",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
}
_RENAMED |= {"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}
_RENAMED |= {"isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan"}
_MATH: Mapping[str, str] = MappingProxyType(
    {name: f"math.{name}({{all}})" for name in _SAME}
    | {name: f"math.{theirs}({{all}})" for name, theirs in _RENAMED.items()}
    | {"deg2rad": "math.radians({0})", "rad2deg": "math.degrees({0})"}
    | {"absolute": "abs({0})", "maximum": "max({0}, {1})", "minimum": "min({0}, {1})"}
    | {"square": "(lambda x: x*x)({0})", "reciprocal": "(1.0/({0}))", "exp2": "(2.0**({0}))"}
    | {"floor": "float(math.floor({0}))", "ceil": "float(math.ceil({0}))"}
    | {"trunc": "float(math.trunc({0}))", "rint": "float(round({0}))"}
    | {"where": "({1} if {0} else {2})", "mask": "({1} if {0} else 0.0)"}
    | {"logical_and": "({0} and {1})", "logical_or": "({0} or {1})", "logical_not": "(not {0})"}
    | {"sign": "(lambda x: float((x > 0) - (x < 0)))({0})", "positive": "(+({0}))"}
    | {"sigmoid": "(0.5*(1.0 + math.tanh(0.5*({0}))))", "stop_gradient": "{0}", "leaf": "{0}"}
    | {"softplus": "(lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))))({0})"}
    | {"logaddexp": "(lambda x, y: max(x, y) + math.log1p(math.exp(-abs(x - y))))({all})"}
    | {"xlogx": "(lambda x: x*math.log(x) if x else 0.0)({0})"}
)


def _math_writer(names: Mapping[str, str]) -> Callable[[Expr, list[Written]], Written]:
    def write(expr: Expr, parts: list[Written]) -> Written:
        if expr.op is INPUT:
            return Written(names[str(expr.params[0][1])], ATOM)
        if expr.op is CONSTANT:
            return _math_number(array_of(expr))
        operation: Any = expr.op
        if operation.name == "negative":
            return Written("-" + wrap(parts[0], UNARY), UNARY)
        if operation.infix and operation.infix.symbol in _INFIX:
            symbol, binding = operation.infix
            outer = binding + 1 if binding <= 5 else binding
            spaced = symbol if symbol in ("*", "/") else f" {symbol} "
            return Written(f"{wrap(parts[0], outer)}{spaced}{wrap(parts[1], binding + 1)}", binding)
        form = _MATH.get(operation.name)
        if form is None:
            raise _unknown(operation.name, "math")
        texts = [part.text for part in parts]
        return Written(form.format(*texts, all=", ".join(texts)), ATOM - 1)

    return write


def _math_number(array: Any) -> Written:
    value = array.item()
    if isinstance(value, float) and not math.isfinite(value):
        return Written(f'float("{value}")', ATOM - 1)
    return Written(repr(value), UNARY if repr(value)[0] == "-" else ATOM)


def _refuse_arrays(nodes: list[Expr]) -> None:
    allowed = (ArrayType((), np.dtype(float)), ArrayType((), np.dtype(bool)))
    for e in nodes:
        if e.type not in allowed:
            _no_scalar(e)


def _no_scalar(expr: Expr) -> Never:
    raise ValueError(
        f"to_python: expected float64 scalars for module='math', but got {expr.type}; leave it out"
    )
