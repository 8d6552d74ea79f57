"""Operations as NumPy's calls, each as Python source."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.op import columns_of
from funcgrad.ops.elementwise import largest_exponent
from funcgrad.ops.tuples import pick_op
from funcgrad.show.functions import is_tuple
from funcgrad.show.naming import array_of, operands
from funcgrad.show.python.control_flow_source import Routines, called
from funcgrad.show.text import ATOM, UNARY, Written, wrap

LITERAL = 100  # entries of an array that is written out

INFIX = frozenset(
    ("+", "-", "*", "/", "@", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "//", "%")
)

IDENTITIES = frozenset(("leaf", "name", "stop_gradient"))
"""Operations that are written as their operand."""


def numpy_writer(
    names: Mapping[str, str], routines: Routines
) -> Callable[[Expr, list[Written]], Written]:
    """What writes a node, given what its operands are written as; ``names`` are those of variables."""

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
    if operation.name in IDENTITIES:
        return parts[0]
    if operation.name == "negative":
        return Written("-" + wrap(parts[0], UNARY), UNARY)
    if operation.infix and operation.infix.symbol in INFIX:
        return _numpy_infix(operation.infix, args, parts)
    texts = [part.text for part in parts]
    row = columns_of(expr).numpy
    if row is not None:
        text = _form(row)(expr, texts).text if isinstance(row, str) else row(expr, texts)
        if text is None:
            raise unknown(operation.name, "NumPy")
        return Written(text, ATOM - 1)
    special = _NUMPY.get(operation.name)
    if special is not None:
        return special(expr, texts)
    theirs = getattr(operation.run, "__name__", "")
    if isinstance(operation.run, np.ufunc) and getattr(np, theirs, None) is operation.run:
        return Written(f"np.{theirs}({', '.join(texts)})", ATOM - 1)
    raise unknown(operation.name, "NumPy")


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


def unknown(name: str, module: str) -> ValueError:
    """The error of an operation that a module has not."""
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
    raise unknown(dict(expr.params)["problem"].who, "NumPy")


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
    # Statements in one expression: ``or`` passes on, since they return None.
    shape = dict(expr.params)["shape"]
    arrays = [f"i{k}" for k in range(len(texts) - 1)]
    index = _index(expr, arrays)
    stored = f"z.__setitem__({index}, g)"
    if arrays:
        zero = "-z.dtype.type(0)" if expr.dtype.kind in "fc" else "0"
        stored = f"z.__setitem__({index}, {zero}) or np.add.at(z, {index}, g)"
    given = ", ".join([f'np.zeros({shape}, "{expr.dtype}")', *texts])
    return Written(f"(lambda {', '.join(['z', 'g', *arrays])}: {stored} or z)({given})", ATOM - 1)


def _mask(expr: Expr, texts: list[str]) -> Written:
    zero = f'np.zeros((), "{expr.dtype.str}")'
    return Written(f"np.where({texts[0]}, {texts[1]}, {zero})[()]", ATOM - 1)


def _sigmoid(expr: Expr, texts: list[str]) -> Written:
    (x,) = texts
    if expr.dtype.kind == "c":
        return Written(f"1.0/(1.0 + np.exp(-({x})))", 20)
    most = largest_exponent(expr.dtype).item()
    return Written(f"(lambda e: e/(1.0 + e))(np.exp(np.minimum({x}, {most!r})))", ATOM - 1)


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
        raise unknown("derivative of sinc", "NumPy")
    return Written(f"np.sinc({texts[0]})", ATOM - 1)


def _fourier(expr: Expr, texts: list[str]) -> Written:
    params = dict(expr.params)
    call = f"ifft({texts[0]}, norm='forward'" if params["inverse"] else f"fft({texts[0]}"
    return Written(f"np.fft.{call}, axis={params['axis']})", ATOM - 1)


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
        "real": _form("np.real({0})[()]"),
        "imag": _form("np.imag({0})[()]"),
        "sigmoid": _sigmoid,
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
        "fft": _fourier,
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
        "foreign": _foreign,
        "implicit": _implicit,
        "getitem": _getitem,
        "scatter_add": _scatter,
    }
)
