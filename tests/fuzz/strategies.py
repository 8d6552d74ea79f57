"""Strategies that draw programs: an instruction at a time, whose type is known by running it on NumPy.

A *maker* draws the text of one instruction over the values that there are. Those that NumPy refuses, or
that grow too large, are left out. A *family* is a list of makers, with the dtypes of its inputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.fuzz import plain
from tests.fuzz.programs import Input, Instruction, Program, compiled, names_in, quiet
from tests.fuzz.values import generic

FLOATS = ("float64", "float32", "float16")
COMPLEX = ("complex128", "complex64")
WHOLE = ("int64", "int32", "int8", "uint8", "bool")
SHAPES = ((), (1,), (3,), (2, 3), (1, 3), (2, 1), (3, 3), (0,), (0, 3), (2, 2, 3))
LARGEST = 150


@dataclass
class Scope:
    """The values that a program has so far: a sample of each, by name."""

    draw: Callable[[Any], Any]
    values: dict[str, Any] = field(default_factory=dict)
    body: list[Instruction] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def one(self, fits: Callable[[np.ndarray], bool] = lambda a: True) -> str | None:
        """The name of a value that fits; later ones are as likely as inputs."""
        names = [name for name, value in self.values.items() if fits(np.asarray(value))]
        return self.draw(st.sampled_from(names)) if names else None

    def of(self, items: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(items))

    def like(self, name: str) -> str:
        """A value whose shape broadcasts with that of this one, or a number."""
        shape = np.shape(self.values[name])
        if self.draw(st.integers(0, 3)) == 0:
            return self.of(NUMBERS)
        return self.one(lambda a: _broadcast(a.shape, shape))

    def add(self, instruction: Instruction | None) -> None:
        """Append an instruction that NumPy accepts."""
        if instruction is None:
            return
        source = "\n    ".join(
            [f"def f({', '.join(self.values)}):", *instruction.lines(on_arrays=True)]
        )
        run = quiet(compiled(f"{source}\n    return {instruction.name}", {"fg": plain}))
        try:
            value = run(*self.values.values())
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError):
            return
        if np.size(value) <= LARGEST and np.asarray(value).dtype.kind in "fciub":
            self.values[instruction.name] = value
            self.body.append(instruction)

    def fresh(self) -> str:
        return f"v{len(self.body)}"


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


NUMBERS = (
    "2",
    "-1",
    "0",
    "1",
    "0.5",
    "3.0",
    "-2.0",
    "1.0",
    "0.0",
    "-0.0",
    "True",
    "np.float32(1.5)",
)
NUMBERS += ("np.float64(-0.25)", "np.int8(3)", "7", "1e-3")

# -- one value -----------------------------------------------------------------------------------
UNARY = [
    "sin",
    "cos",
    "tan",
    "arctan",
    "tanh",
    "sinh",
    "cosh",
    "exp",
    "expm1",
    "exp2",
    "log",
    "log1p",
    "sqrt",
    "square",
    "abs",
    "sign",
]
UNARY += ["negative", "positive", "reciprocal", "arcsinh", "arccos", "arcsin", "arctanh", "arccosh"]
REAL_UNARY = [
    "floor",
    "ceil",
    "trunc",
    "rint",
    "cbrt",
    "deg2rad",
    "log2",
    "log10",
    "fabs",
    "signbit",
]
TESTS = ["isnan", "isfinite", "isinf", "logical_not"]
FORMS = (
    "{a}**2",
    "{a}**3",
    "{a}**-1",
    "{a}**0.5",
    "{a}**0",
    "2**{a}",
    "-{a}",
    "1/{a}",
    "{a}*{a}",
    "{a} - {a}",
    "{a}/{a}",
    "1 - {a}",
    "0.5*{a}",
    "np.exp(-{a}**2)",
    "np.sqrt(1 + {a}*{a})",
    "np.log(1 + np.exp({a}))",
    "1/(1 + np.exp(-{a}))",
    "np.maximum({a}, 0)",
    "np.clip({a}, -1, 1)",
    "np.clip({a}, 0.5, None)",
    "np.where({a} > 0, {a}, 0)",
    "np.where({a} > 0, np.sqrt({a}), 0.0)",
    "np.nan_to_num({a})",
    "np.real({a})",
    "np.imag({a})",
    "np.conjugate({a})",
    "np.arctan2({a}, -1.0)",
    "np.copysign(1.0, {a})",
    "np.round({a}, 1)",
    "~({a} > 0)",
    "abs({a})",
)


def unary(scope: Scope) -> Instruction | None:
    a = scope.one()
    real = np.asarray(scope.values[a]).dtype.kind != "c"
    name = scope.of((*UNARY, *TESTS, *(REAL_UNARY if real else ())))
    return Instruction(scope.fresh(), f"np.{name}({a})")


def form(scope: Scope) -> Instruction | None:
    return Instruction(scope.fresh(), scope.of(FORMS).format(a=scope.one()))


OPERATORS = ("+", "-", "*", "/", "**", "//", "%")
BINARY = ["maximum", "minimum", "hypot", "arctan2", "logaddexp", "copysign", "fmod", "fmax", "fmin"]
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
BITS = ("&", "|", "^")


def binary(scope: Scope) -> Instruction | None:
    a = scope.one()
    b = scope.like(a)
    if scope.draw(st.booleans()):
        a, b = b, a
    kind = scope.draw(st.integers(0, 9))
    if kind < 6:
        text = f"{a} {scope.of(OPERATORS[:4] if kind < 4 else OPERATORS)} {b}"
    elif kind < 9:
        text = f"np.{scope.of(BINARY)}({a}, {b})"
    else:
        text = f"{a} {scope.of(BITS)} {b}"
    return Instruction(scope.fresh(), text)


def chosen(scope: Scope) -> Instruction | None:
    a = scope.one()
    b, c = scope.like(a), scope.like(a)
    test = f"{a} {scope.of(COMPARISONS)} {b}"
    return Instruction(scope.fresh(), scope.of((test, f"np.where({test}, {c}, {a})")))


# -- axes ----------------------------------------------------------------------------------------
REDUCTIONS = [
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "any",
    "all",
    "std",
    "var",
    "argmax",
    "argmin",
    "ptp",
    "count_nonzero",
    "median",
]

SUMS = ["sum", "mean", "prod", "std", "var", "median"]


def _axes(scope: Scope, a: str) -> Any:
    ndim = np.ndim(scope.values[a])
    axes = [None, *range(-ndim, ndim)] + ([(0, 1), (-1, 0)] if ndim > 1 else [])
    return scope.of(axes)


def reduction(scope: Scope) -> Instruction | None:
    a = scope.one()
    kept = scope.of(("", ", keepdims=True"))
    name = scope.of(REDUCTIONS)
    text = f"np.{name}({a}, axis={_axes(scope, a)}{kept})"
    return Instruction(scope.fresh(), text, sums=name in SUMS)


def along(scope: Scope) -> Instruction | None:
    a = scope.one(lambda v: v.ndim > 0)
    if a is None:
        return None
    axis = scope.draw(st.integers(-np.ndim(scope.values[a]), np.ndim(scope.values[a]) - 1))
    texts = (
        "np.cumsum({a}, axis={k})",
        "np.cumprod({a}, axis={k})",
        "np.sort({a}, axis={k})",
        "np.argsort({a}, axis={k}, kind='stable')",
        "np.diff({a}, axis={k})",
        "np.flip({a}, axis={k})",
        "np.roll({a}, 1, axis={k})",
        "np.repeat({a}, 2, axis={k})",
        "np.take({a}, [0, -1], axis={k})",
        "np.linalg.norm({a}, axis={k})",
        "np.expand_dims({a}, {k})",
    )
    text = scope.of(texts).format(a=a, k=axis)
    return Instruction(scope.fresh(), text, sums="cum" in text or "norm" in text)


SHAPING = (
    "np.reshape({a}, (-1,))",
    "np.reshape({a}, (1, -1))",
    "np.transpose({a})",
    "{a}.T",
    "np.swapaxes({a}, 0, -1)",
    "np.moveaxis({a}, 0, -1)",
    "np.ravel({a})",
    "np.squeeze({a})",
    "np.atleast_2d({a})",
    "np.broadcast_to({a}, (2, 3))",
    "np.concatenate([{a}, {b}])",
    "np.concatenate([{a}, {b}], axis=-1)",
    "np.stack([{a}, {b}])",
    "np.stack([{a}, {b}], axis=-1)",
    "np.hstack([{a}, {b}])",
    "np.pad({a}, 1)",
    "np.tile({a}, 2)",
    "np.tril({a})",
    "np.triu({a}, 1)",
    "np.diag({a})",
    "np.zeros_like({a})",
    "np.ones_like({a})",
    "np.full_like({a}, 2)",
)


def shaping(scope: Scope) -> Instruction | None:
    a = scope.one()
    shape = np.shape(scope.values[a])
    b = scope.one(lambda v: v.shape == shape)
    return Instruction(scope.fresh(), scope.of(SHAPING).format(a=a, b=b))


BASIC = ("0", "-1", "...", "None", "::-1", "1:", ":-1", "::2", ":, 0", "..., -1", ":, ::-1")
BASIC += ("..., None", "0:0", "1:2", "0, ..., 0")
GATHERED = ("[0, 0, -1]", ":, [0, -1]", "[0, -1], 0", "np.array([[0, -1], [-1, 0]])")
APART = ("[1, 0]", "[True, False, True]", ":, [1, 2]", "[0, 1], [1, 0]", "[2]")
# Stores other than sums name each entry once.
STORES = ("set", "add", "multiply", "min", "max")


def indexing(scope: Scope) -> Instruction | None:
    a = scope.one(lambda v: v.ndim > 0)
    if a is None:
        return None
    return Instruction(scope.fresh(), f"{a}[{scope.of(BASIC + GATHERED + APART)}]")


def storing(scope: Scope) -> Instruction | None:
    a = scope.one(lambda v: v.ndim > 0 and v.dtype.kind in "fc")
    if a is None:
        return None
    how = scope.of(STORES)
    index = scope.of(BASIC + APART + (GATHERED if how == "add" else ()))
    b = scope.of(("0.5", "-0.0", "2", scope.one(lambda v: v.ndim == 0) or "1.0"))
    text = f"{a}.at[{index}].{how}({b})"
    return Instruction(scope.fresh(), text, (), f"fg.stored({a}, np.s_[{index}], {b}, {how!r})")


PRODUCTS = (
    "{a} @ {b}",
    "np.dot({a}, {b})",
    "np.outer({a}, {b})",
    "np.einsum('...i,...i->...', {a}, np.cos({a}))",
    "np.einsum('ij,jk->ik', {a}, {b})",
    "np.einsum('ij,kj->ik', {a}, {b})",
    "np.tensordot({a}, {b}, axes=1)",
    "np.inner({a}, {b})",
    "np.trace({a})",
    "np.vdot({a}, {b})",
    "np.kron({a}, {b})",
)


def product(scope: Scope) -> Instruction | None:
    a = scope.one(lambda v: v.ndim > 0)
    if a is None:
        return None
    last = np.shape(scope.values[a])[-1]
    # An axis of length 1 against a longer one, einsum sums beforehand, which is another sum beside inf.
    b = scope.one(lambda v: v.ndim > 0 and last in (v.shape[-1], v.shape[0]))
    return Instruction(scope.fresh(), scope.of(PRODUCTS).format(a=a, b=b), sums=True)


def cast(scope: Scope) -> Instruction | None:
    a = scope.one()
    kinds = (*FLOATS, "int64", "int32", "bool", "complex128")
    return Instruction(scope.fresh(), f"{a}.astype('{scope.of(kinds)}')")


# -- control flow --------------------------------------------------------------------------------
SMALL = ("np.tanh({x})", "0.5*{x}", "{x} + 1", "{x}*{x}", "-{x}", "np.sin({x}) + {a}", "{x}*{a}")


def _step(scope: Scope, x: str, a: str) -> str:
    return scope.of(SMALL).format(x=x, a=a)


def questions(scope: Scope) -> Instruction | None:
    """Python's own control flow on values."""
    a, b = scope.one(), scope.one()
    v = scope.fresh()
    texts = (
        (
            f"if np.sum({a}) > 0:",
            f"    {v} = {_step(scope, b, a)}",
            "else:",
            f"    {v} = {_step(scope, b, a)}",
        ),
        (
            f"{v} = {b}",
            "turn = 0",
            f"while np.max(np.abs({v})) > 0.2 and turn < 4:",
            f"    {v} = 0.5*{v}",
            "    turn += 1",
        ),
        (f"{v} = {b}", "for turn in range(3):", f"    {v} = {_step(scope, v, a)}"),
        (f"{v} = {b}*int(np.sum({a} > 0))",),
        (
            f"{v} = {b}",
            f"for item in range(int(np.sum({a} > 0)) % 3):",
            f"    {v} = {_step(scope, v, a)}",
        ),
        (f"{v} = {b} if np.any({a} > 1) or np.all({a} < 0) else -{b}",),
        (f"{v} = {b}", f"for item in {a}:", f"    {v} = {v} + item"),
        (f"{v} = max({a} * 1.0, 0.5) if np.ndim({a}) == 0 else {b}",),
        (f"{v} = {a}[int(np.argmax({b}))] if np.size({b}) and np.ndim({a}) else {b}",),
    )
    return Instruction(v, v, scope.of(texts))


def rolled(scope: Scope) -> Instruction | None:
    """funcgrad's loops and branches."""
    a = scope.one(lambda v: v.dtype.kind == "f")
    if a is None:
        return None
    like = np.asarray(scope.values[a])
    b = scope.one(lambda v: v.shape == like.shape and v.dtype == like.dtype)
    n = scope.one(lambda v: v.shape == () and v.dtype.kind in "fiub") or "1.0"
    xs = (
        scope.one(lambda v: v.ndim and len(v) and v.dtype == like.dtype)
        or f"np.arange(3, dtype='{like.dtype}')"
    )
    v, one, two = scope.fresh(), _step(scope, "s", b), _step(scope, "s", b)
    texts = (
        f"fg.cond({n} > 0, lambda s: {one}, lambda s: {two}, {a})",
        f"fg.fori_loop(0, 3, lambda k, s: {one}, {a})",
        f"fg.fori_loop(0, 2, lambda k, s: s*(k > 0) + {b}, {a})",
        f"fg.fori_loop(0, 30, lambda k, s: np.maximum(s, -s), {a})",
        f"fg.fori_loop(0, 30, lambda k, s: np.where(s > {b}, -s, {b}), {a})",
        f"fg.vmap(lambda t: fg.while_loop(lambda s: (s[0] < 4) & (np.sum(s[1]) < 3), "
        f"lambda s: (s[0] + 1, s[1] + 1.5), (0, t))[1])({a})",
        f"fg.vmap(lambda t: fg.cond(np.sum(t) > 0, np.sin, lambda s: 0.5*s, t))({a})",
        f"fg.scan(lambda s, x: (np.sin(s) + np.sum(x)*{b}, s*x), {a}, {xs})[0]",
        f"fg.scan(lambda s, x: ({one}, s - np.sum(x)), {a}, {xs})[1]",
        f"fg.while_loop(lambda s: np.max(np.abs(s)) > 0.2, lambda s: 0.5*s, {a})",
        f"fg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, {_step(scope, 's[1]', b)}), "
        f"(0, {a}))[1]",
        f"fg.checkpoint(lambda s: {one})({a})",
        f"fg.jit(lambda s: {one})({a})",
        f"fg.vmap(lambda s: np.sum(np.sin(s)))({a})",
        f"fg.vmap(lambda s, t: s*t + np.sum(s))({a}, {b})",
    )
    return Instruction(v, scope.of(texts), sums=True)


def nested(scope: Scope) -> Instruction | None:
    """Derivatives inside, with values from outside in their functions."""
    a = scope.one(lambda v: v.dtype == np.float64 and v.size)
    if a is None:
        return None
    shape = np.shape(scope.values[a])
    b = scope.one(lambda v: v.dtype == np.float64 and v.shape == shape)
    v, one, two = scope.fresh(), _step(scope, "t", b), _step(scope, "t", a)
    texts = (
        f"fg.grad(lambda t: np.sum({one}))({a})",
        f"fg.grad(lambda t: np.sum(fg.grad(lambda u: np.sum(np.sin(u)*t))({b})*t))({a})",
        f"fg.jvp(lambda t: {one}, ({a},), ({b},))[1]",
        f"fg.vjp(lambda t: {two}, {a})[1](np.cos({b}))[0]",
        f"fg.jvp(fg.grad(lambda t: np.sum({one}*np.sin(t))), ({a},), ({b},))[1]",
        f"fg.grad(lambda t: np.sum(fg.jvp(lambda u: {one}*u, (t,), ({b},))[1]))({a})",
        f"fg.grad(fg.jit(lambda t: np.sum({one}*t)))({a})",
        f"fg.jit(fg.grad(lambda t: np.sum({one}*t)))({a})",
        f"fg.grad(fg.checkpoint(lambda t: np.sum({one}*{two})))({a})",
        f"fg.vmap(fg.grad(lambda t: np.sum(np.sin(t)*t)))({a})",
        f"fg.grad(lambda t: np.sum(fg.vmap(lambda u: np.sum(u)**2)(t)*np.sum({b})))({a})",
        f"np.sum(fg.jacobian(lambda t: {one})({a}), axis=0)",
        f"np.sum(fg.hessian(lambda t: np.sum({one}*t))({a}), axis=-1)",
        f"fg.grad(lambda t: np.sum(fg.scan(lambda s, x: (s*{b} + x, s), t, np.arange(3.0))[0]))({a})",
        f"fg.grad(lambda t: np.sum(fg.while_loop(lambda s: np.sum(s) < 9, lambda s: s*s + 1, t)))({a})",
    )
    return Instruction(v, scope.of(texts), sums=True)


# -- families ------------------------------------------------------------------------------------
SIMPLE = (unary, binary, form, chosen)
ARRAYS = (reduction, along, shaping, indexing, product)
FAMILIES: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "elementwise": (SIMPLE, ("float64",)),
    "arrays": ((*SIMPLE, *ARRAYS, *ARRAYS, storing), ("float64",)),
    "dtypes": ((*SIMPLE, *ARRAYS, cast, cast), (*FLOATS, *WHOLE, "float64")),
    "complex": ((*SIMPLE, *ARRAYS, storing), (*COMPLEX, "complex128", "float64")),
    "questions": ((*SIMPLE, *ARRAYS, questions, questions, questions), ("float64", "int64")),
    "rolled": ((*SIMPLE, reduction, indexing, rolled, rolled, rolled), ("float64", "float32")),
    # Derivatives, for which laws of finite numbers are used: at generic points alone.
    "nested": ((binary, form, unary, reduction, nested, nested, nested), ("float64",)),
}


@st.composite
def programs(draw: Any, family: str, longest: int = 6) -> Program:
    """Programs of a family, of one to three inputs, with what nothing else uses as results."""
    makers, dtypes = FAMILIES[family]
    scope = Scope(draw)
    inputs = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        inputs.append(Input(name, scope.of(SHAPES), scope.of(dtypes)))
        scope.values[name] = generic(inputs[-1], 0)
    for _ in range(draw(st.integers(1, longest))):
        scope.add(scope.of(makers)(scope))
    return trimmed(Program(tuple(inputs), tuple(scope.body), ()))


def trimmed(program: Program) -> Program:
    """The program with the values that nothing uses as results, and without unused inputs."""
    used = {name for step in program.body for name in names_in(step)}
    results = [step.name for step in program.body if step.name not in used]
    inputs = [item for item in program.inputs if item.name in used or not program.body]
    if not results:
        results = [program.inputs[0].name]
        inputs = [program.inputs[0]]
    return Program(tuple(inputs) or program.inputs[:1], program.body, tuple(results))
