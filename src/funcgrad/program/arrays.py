"""Programs on arrays as generated Python over NumPy: its functions bound beforehand, buffers reused.

Three small passes: `calls` says what NumPy is asked to do, with broadcasts left to it; `lifetimes` says
when each value is needed last; `source` prints the calls, and lets a call write where a value that is
over has stood. Only what this run has allocated is ever written to, and nothing returned shares memory
with an input, a constant or another result.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.op import Elementwise, broadcast_to
from funcgrad.program.codegen import Flat, Step, build, flatten

Effect = Literal["source", "fill", "product", "new", "view", "unknown"]
"""What a call returns: an input or a constant; a new array, which may be given (``fill``: even an operand);
a new array; a view of its operand that shows every entry once; or, for all we know, a view of any."""


class Call(NamedTuple):
    """One call: its text, with ``{0}`` for an operand and ``{out}`` for where the result goes."""

    text: str
    operands: tuple[int, ...]
    type: ArrayType
    effect: Effect


class Plan(NamedTuple):
    """Calls in order, the values of which results are made, and what the texts' names mean."""

    calls: list[Call]
    inputs: int
    results: tuple[int, ...]
    bound: dict[str, Any]
    foreign: bool
    """Whether an operation runs code that may look at the context that it is called in."""


# Operations that are not one ufunc, but a few: how each step reads, on {0} and what was before, {t}.
_STAGES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "sigmoid": (
        ("negative", ("x",)),
        ("exp", ("t",)),
        ("add", ("1", "t")),
        ("divide", ("1", "t")),
    ),
    "softplus": (("logaddexp", ("x", "0")),),
}
# Operations whose arrays are new, as far as NumPy promises.
_NEW = {"max", "min", "sum", "prod", "any", "all", "argmax", "argmin", "argsort", "cumsum"}
_NEW |= {"concatenate", "scatter_add", "logsumexp", "norm", "xlogx", "sinc", "astype"}
_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def compile_arrays(roots: Sequence[Expr], inputs: Sequence[Expr]) -> Callable[..., tuple[Any, ...]]:
    """A function from the inputs' values to the roots' values.

    Arrays have the inputs' shapes and dtypes. Results are new arrays; scalars are as `present` gives them.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> compile_arrays([np.sum(x * x), 2 * x], [x])(np.ones(3))
    (3.0, array([2., 2., 2.]))
    """
    plan = calls(flatten(roots, inputs))
    return build("array", source(plan), plan.bound)


# -- what NumPy is asked -----------------------------------------------------------------------------
def calls(flat: Flat) -> Plan:
    """The calls that compute the results."""
    operands = [_elided(flat, step) for step in flat.steps]
    needed = set(flat.results)
    for i in reversed(range(len(flat.steps))):
        if i in needed:
            needed.update(operands[i])
    foreign = any(_foreign(step.op.run) for step in flat.steps if step.op not in (INPUT, CONSTANT))
    plan = Plan([], flat.inputs, flat.results, dict(_BOUND), foreign)
    where: dict[int, int] = {}
    for i, step in enumerate(flat.steps):
        if i < flat.inputs or i in needed:
            where[i] = _add(plan, step, tuple([where[k] for k in operands[i]]))
    return plan._replace(results=tuple([where[i] for i in flat.results]))


def _foreign(run: Any) -> bool:
    home = str(getattr(run, "__module__", "")).partition(".")[0]
    return not isinstance(run, np.ufunc) and home not in ("funcgrad", "numpy")


def _elided(flat: Flat, step: Step) -> tuple[int, ...]:
    """The operands as they are run: broadcast ones as they were, where another gives the shape."""
    steps = flat.steps
    wide = [i for i in step.operands if steps[i].op is broadcast_to]
    if not wide or not isinstance(step.op, Elementwise):
        return step.operands
    narrow = [steps[i].operands[0] if steps[i].op is broadcast_to else i for i in step.operands]
    shape = np.broadcast_shapes(*[steps[i].type.shape for i in narrow])
    return tuple(narrow if shape == step.type.shape else [step.operands[0], *narrow[1:]])


def _add(plan: Plan, step: Step, operands: tuple[int, ...]) -> int:
    """The number of the call that has a step's value, added to the plan."""
    made = plan.calls
    name, op = step.op.name, step.op
    if op is INPUT:
        made.append(Call(f"x{len(made)}", (), step.type, "source"))
    elif op is CONSTANT:
        _add_constant(plan, step.constant)
    elif name == "stop_gradient":
        return operands[0]
    elif name in _STAGES and step.type.dtype.kind == "f":
        _add_stages(plan, step, operands[0])
    else:
        text, effect = _written(plan, step, operands)
        made.append(Call(text, operands, step.type, effect))
    return len(made) - 1


def _add_stages(plan: Plan, step: Step, x: int) -> None:
    known = {"x": x}
    for ufunc, names in _STAGES[step.op.name]:
        for name in names:
            if name not in known:
                known[name] = _add_constant(plan, np.array(float(name), step.type.dtype))
        operands = tuple([known[name] for name in names])
        plan.calls.append(Call(_ufunc_text(ufunc, len(names)), operands, step.type, "fill"))
        known["t"] = len(plan.calls) - 1


def _add_constant(plan: Plan, array: np.ndarray[Any, Any]) -> int:
    number = len(plan.calls)
    # Among scalars NumPy's scalars are fast; beside arrays 0-d arrays are, more than Python's numbers.
    plan.bound[f"k{number}"] = array
    plan.bound[f"s{number}"] = array[()]
    plan.calls.append(Call(f"k{number}", (), ArrayType(array.shape, array.dtype), "source"))
    return number


def _dtype(plan: Plan, dtype: np.dtype[Any]) -> str:
    """The name that a dtype is bound to."""
    name = f"d{dtype.num}{'' if dtype.isnative else 's'}"
    plan.bound[name] = dtype
    return name


def _written(plan: Plan, step: Step, operands: tuple[int, ...]) -> tuple[str, Effect]:
    name, op, params = step.op.name, step.op, dict(step.params)
    types = [plan.calls[i].type for i in operands]
    if isinstance(op.run, np.ufunc):
        return _ufunc(plan, op.run, types)
    if name == "mask":
        plan.bound[zero := f"z{len(plan.calls)}"] = np.zeros((), step.type.dtype)
        return f"where({{0}}, {{1}}, {zero})", "new"
    if name == "where":
        return "where({0}, {1}, {2})", "new"
    if name == "reshape":
        return f"{{0}}.reshape({params['shape']})", "view"
    if name == "transpose":
        return f"{{0}}.transpose({params['axes']})", "view"
    if name == "broadcast_to":
        return f"spread({{0}}, {params['shape']}, {_dtype(plan, step.type.dtype)})", "new"
    if name == "sum" and params["axis"]:
        return f"add.reduce({{0}}, {params['axis']})", "new"
    if name == "getitem" and "array" not in params["spec"]:
        return f"{{0}}[{_index(params['spec'])}]", "unknown"
    plan.bound[function := f"f{len(plan.calls)}"] = partial(op.run, **params) if params else op.run
    text = f"{function}({', '.join([f'{{{i}}}' for i in range(len(operands))])})"
    fresh = name in _NEW or name == "getitem" or (name == "einsum" and len(operands) > 1)
    return text, "new" if fresh else "unknown"


def _ufunc(plan: Plan, ufunc: np.ufunc, types: Sequence[ArrayType]) -> tuple[str, Effect]:
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        name = f"f{len(plan.calls)}"
    plan.bound[name] = ufunc
    return _ufunc_text(name, len(types)), "product" if ufunc.signature else "fill"


def _ufunc_text(name: str, count: int) -> str:
    return f"{name}({', '.join([f'{{{i}}}' for i in range(count)])}{{out}})"


def _index(spec: tuple[Any, ...]) -> str:
    special = {"new": "None", "...": "..."}
    parts = [
        ":".join(["" if bound is None else str(bound) for bound in item[1:]])
        if isinstance(item, tuple)
        else special.get(item, str(item))
        for item in spec
    ]
    return f"{', '.join(parts)}," if parts else "..."


def _spread(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array of its own where `numpy.broadcast_to` gives a view: a sixth of its time, if small."""
    filled = np.empty(shape, dtype)
    filled[...] = x
    return filled


# -- when values are over ----------------------------------------------------------------------------
def lifetimes(plan: Plan) -> list[int]:
    """For each value, the number of the last call that reads its memory; results are never over."""
    over = len(plan.calls)
    last = list(range(over))
    for i in plan.results:
        last[i] = over
    for i in reversed(range(over)):
        call = plan.calls[i]
        for k in call.operands:
            last[k] = max(last[k], last[i] if call.effect in ("view", "unknown") else i)
    return last


# -- printing ----------------------------------------------------------------------------------------
# Arrays of fewer bytes are not worth a statement that frees them early.
_LARGE = 1 << 14


def source(plan: Plan) -> str:
    """The text of the function.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> print(source(calls(flatten([np.exp(-x * x) * x], [x]))))
    def body(x0):
        a0 = negative(x0)
        multiply(a0, x0, a0)
        exp(a0, a0)
        multiply(a0, x0, a0)
        return (a0,)
    def run(x0):
        return quiet.copy().run(body, x0)
    """
    names = [f"x{i}" for i in range(plan.inputs)]
    lines = [f"def body({', '.join(names)}):"]
    for name, call in zip(names, plan.calls, strict=False):
        if not call.type.shape:
            dtype = _dtype(plan, call.type.dtype)
            lines.append(f"    if type({name}) is not ndarray: {name} = asarray({name}, {dtype})")
    lines.extend([f"    {line}" for line in _Printer(plan).lines()])
    lines.append(f"def run({', '.join(names)}):")
    if plan.foreign:
        lines.append(f"    with errstate(all='ignore'): return body({', '.join(names)})")
    else:
        lines.append(f"    return quiet.copy().run({', '.join(['body', *names])})")
    return "\n".join(lines) + "\n"


class _Printer:
    """Gives each value a name, and each call a place to write to, in the order of the calls."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.last = lifetimes(plan)
        self.names: dict[int, str] = {}
        self.unused: list[str] = []  # names
        self.made = 0
        self.spare: dict[ArrayType, list[str]] = {}  # names of arrays that may be written to
        self.wanted: dict[ArrayType, int] = {}  # the last call that could use such an array
        for i, call in enumerate(plan.calls):
            if self.fillable(call):
                self.wanted[call.type] = i

    @staticmethod
    def fillable(call: Call) -> bool:
        return call.effect in ("fill", "product") and bool(call.type.shape)

    def owns(self, i: int) -> bool:
        """Whether a value is an array of its own, made in this run."""
        call = self.plan.calls[i]
        return call.effect in ("fill", "product", "new") and bool(call.type.shape)

    def lines(self) -> list[str]:
        ending: dict[int, list[int]] = {}
        for i, last in enumerate(self.last):
            ending.setdefault(last, []).append(i)
        written = []
        for i, call in enumerate(self.plan.calls):
            if call.effect == "source":
                self.names[i] = call.text
                continue
            written.append(self.statement(i, call))
            freed = [k for k in ending.get(i, ()) if self.plan.calls[k].effect != "source"]
            gone = self.release(i, [k for k in freed if self.names[k] != self.names[i] or k == i])
            if gone:
                written.append(f"del {', '.join(gone)}")
        return [*written, f"return ({', '.join(self.returned())},)"]

    def statement(self, i: int, call: Call) -> str:
        scalar = not call.type.shape
        given = [self.operand(k, scalar) for k in call.operands]
        place = self.place(i, call) if self.fillable(call) else None
        if place is not None:
            self.names[i] = place
            # A keyword where NumPy deprecates the position.
            how = "out=" if call.text.startswith(("maximum", "minimum")) else ""
            return call.text.format(*given, out=f", {how}{place}")
        text = call.text.format(*given, out="")
        symbol = _OPERATORS.get(call.text.partition("(")[0])
        if symbol and (scalar or self.plan.calls[call.operands[0]].type.shape):
            text = f"{given[0]} {symbol} {given[1]}"
        self.names[i] = self.fresh()
        return f"{self.names[i]} = {text}"

    def operand(self, i: int, scalar: bool) -> str:
        name = self.names[i]
        return f"s{name[1:]}" if scalar and name[0] == "k" and not self.shape(i) else name

    def shape(self, i: int) -> tuple[int, ...]:
        return self.plan.calls[i].type.shape

    def fresh(self) -> str:
        if self.unused:
            return self.unused.pop()
        self.made += 1
        return f"a{self.made - 1}"

    def place(self, i: int, call: Call) -> str | None:
        """The name of an array that is over and fits: an operand, if it may be, else a spare one."""
        if call.effect == "fill":
            for k in call.operands:
                if self.last[k] == i and self.owns(k) and self.plan.calls[k].type == call.type:
                    return self.names[k]
        spare = self.spare.get(call.type)
        return spare.pop() if spare else None

    def release(self, now: int, values: Sequence[int]) -> list[str]:
        """Let go of values that are over; the names to delete."""
        gone = []
        for k in values:
            type, name = self.plan.calls[k].type, self.names[k]
            if self.owns(k) and self.wanted.get(type, -1) > now:
                self.spare.setdefault(type, []).append(name)
                continue
            self.unused.append(name)
            if type.size * type.dtype.itemsize >= _LARGE:
                gone.append(name)
        return gone

    def returned(self) -> list[str]:
        taken: set[int] = set()
        return [self.result(i, taken) for i in self.plan.results]

    def result(self, i: int, taken: set[int]) -> str:
        call, name = self.plan.calls[i], self.names[i]
        if not call.type.shape:
            return f"{name}.item()" if call.type.dtype.char in "dl?D" else f"{name}[()]"
        root = i
        while self.plan.calls[root].effect == "view":
            root = self.plan.calls[root].operands[0]
        if self.owns(root) and root not in taken:
            taken.add(root)
            return name
        return f"array({name})"


# A context of our own, in which NumPy does not warn: a twelfth of what entering `numpy.errstate` costs.
_QUIET = contextvars.Context()
_QUIET.run(np.seterr, all="ignore")

_BOUND: dict[str, Any] = {
    "quiet": _QUIET,
    "ndarray": np.ndarray,
    "array": np.array,
    "asarray": np.asarray,
    "where": np.where,
    "errstate": np.errstate,
    "spread": _spread,
    **{
        name: getattr(np, name)
        for name in ("negative", "exp", "add", "subtract", "multiply", "divide", "logaddexp")
    },
}
