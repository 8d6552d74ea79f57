"""Programs on arrays as generated Python over NumPy: its functions bound beforehand, arrays reused.

`source` prints the calls of a `Plan`, and lets a call write where a value that is over has stood. Only
what this run has allocated, or a run before it has left for it, is ever written to; nothing returned
shares memory with an input, a constant, another result, or what is left for the next run.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import (
    Call,
    How,
    Placed,
    Plan,
    Schedule,
    aligned,
    bound_dtype,
    bytes_of,
    lifetimes,
)
from funcgrad.compiler.flat_program import Flat, build, flatten
from funcgrad.compiler.ir_rewriter import pruned
from funcgrad.compiler.native.whole_program import entering
from funcgrad.compiler.numpy.branchless_select import chosen, masked
from funcgrad.compiler.numpy.instruction_selection import calls
from funcgrad.compiler.passes.constant_factoring import factored
from funcgrad.compiler.passes.fusion import blocked, each_block, row_sum
from funcgrad.compiler.passes.layout_assignment import swapped
from funcgrad.compiler.passes.peephole import shortened
from funcgrad.compiler.passes.strength_reduction import related, unsigned
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.rewrite.evaluate import present

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
    flat = prepared(flatten(roots, inputs))
    plan = planned(flat)
    first, bound = entering(flat)
    return build("array", source(plan, first), {**_BOUND, **plan.bound, **bound})


def prepared(flat: Flat) -> Flat:
    """The steps as NumPy does them: in short forms, with factors and gaps taken together."""
    for cheaper in _PASSES:
        flat = pruned(cheaper(flat))
    return flat


_PASSES = (shortened, factored, related, unsigned, swapped)


def planned(flat: Flat) -> Plan:
    """The calls for prepared steps, those on large arrays in groups."""
    return blocked(calls(flat))


# -- printing ----------------------------------------------------------------------------------------
# Arrays of fewer bytes are not worth a statement that frees them early.
_LARGE = 1 << 14
# Arrays of so many bytes are kept for the next call, since fresh memory comes page by page (an elementwise
# gradient of 10**5 entries takes 0.7 of the time); one program keeps no more than so many bytes in all.
_POOLED, _HELD = 1 << 17, 1 << 28


def source(plan: Plan, first: Sequence[str] = ()) -> str:
    """The text of the function, which has some ``first`` lines.

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
    lines = [*plan.functions, f"def body({', '.join(names)}):"]
    for name, call in zip(names, plan.calls, strict=False):
        if not call.type.shape:
            dtype = bound_dtype(plan, call.type.dtype)
            lines.append(f"    if type({name}) is not ndarray: {name} = asarray({name}, {dtype})")
    schedule = scheduled(plan)
    written = [line for placed in schedule.placed for line in placed.lines()]
    returned = f"({''.join([f'{text}, ' for text in schedule.returned]).rstrip()})"
    if schedule.pooled:
        plan.bound["pool"] = []
        held = ", ".join([f"p{i}" for i in range(len(schedule.pooled))])
        made = [f"aligned({shape}, {bound_dtype(plan, dtype)})" for shape, dtype in schedule.pooled]
        # Taken and given back in one step each: threads, and calls within calls, never share arrays.
        lines.append(f"    {held}, = held = pool.pop() if pool else ({', '.join(made)},)")
        written.append(f"returned = {returned}")
        written.append("pool.append(held)")
        returned = "returned"
    lines.extend([f"    {line}" for line in [*written, f"return {returned}"]])
    lines.extend([f"def run({', '.join(names)}):", *[f"    {line}" for line in first]])
    if plan.foreign:
        lines.append(f"    with errstate(all='ignore'): return body({', '.join(names)})")
    else:
        lines.append(f"    return quiet.copy().run({', '.join(['body', *names])})")
    return "\n".join(lines) + "\n"


def scheduled(plan: Plan) -> Schedule:
    """Where each call of a plan writes, and when what it wrote is over.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> for placed in scheduled(calls(flatten([np.exp(-x)], [x]))).placed:
    ...     print(placed.reads, placed.writes, placed.how)
    () x0 source
    ('x0',) a0 new
    ('a0',) a0 operand
    """
    printer = _Printer(plan)
    placed = printer.placed()
    return Schedule(tuple(placed), tuple(printer.pooled), tuple(printer.returned()))


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
        self.pooled: list[ArrayType] = []  # arrays that one call of the program leaves to the next
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

    def placed(self) -> list[Placed]:
        ending: dict[int, list[int]] = {}
        for i, last in enumerate(self.last):
            ending.setdefault(last, []).append(i)
        placed = []
        for i, call in enumerate(self.plan.calls):
            if call.effect == "source":
                self.names[i] = call.text
                placed.append(Placed(i, "", (), call.text, "source"))
                continue
            reads = tuple([self.operand(k, not call.type.shape) for k in call.operands])
            text, how = self.statement(i, call, reads)
            freed = [
                k for k in ending.get(i, ()) if self.plan.calls[k].effect not in ("source", "none")
            ]
            over = self.release(i, [k for k in freed if self.names[k] != self.names[i] or k == i])
            placed.append(Placed(i, text, reads, self.names[i], how, *over))
        return placed

    def statement(self, i: int, call: Call, given: Sequence[str]) -> tuple[str, How]:
        pooled = len(self.pooled)
        place = self.place(i, call) if self.fillable(call) else None
        if place is not None:
            self.names[i] = place
            taken: How = "operand" if place in given else "spare"
            how = taken if len(self.pooled) == pooled else "pool"
            if call.kind == "empty":
                return "", how
            # A keyword where NumPy deprecates the position.
            keyword = "out=" if call.text.startswith(("maximum", "minimum")) else ""
            return call.text.format(*given, out=f", {keyword}{place}"), how
        text = call.text.format(*given, out="")
        symbol = _OPERATORS.get(call.text.partition("(")[0])
        if symbol and not call.type.shape:  # (Between arrays an operator takes 15 ns more.)
            text = f"{given[0]} {symbol} {given[1]}"
        if call.effect == "none":
            self.names[i] = ""
            return text, "none"
        self.names[i] = self.fresh()
        shared = call.effect if call.effect in ("view", "unknown") else "new"
        return f"{self.names[i]} = {text}", shared if call.type.shape else "number"

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
        mine = self.last[i] == len(self.plan.calls)  # of a result: nothing from the pool
        # (An array of one entry as operand and result: NumPy takes twice the time.)
        if call.effect == "fill" and call.type.size > 1:
            for k in call.operands:
                over = self.last[k] == i and self.owns(k) and self.plan.calls[k].type == call.type
                if over and not (mine and self.names[k][0] == "p"):
                    return self.names[k]
        spare = self.spare.get(call.type, [])
        for n in reversed(range(len(spare))):
            if not (mine and spare[n][0] == "p"):
                return spare.pop(n)
        size = bytes_of(call.type)
        if mine or size < _POOLED or size + sum(map(bytes_of, self.pooled)) > _HELD:
            return None
        self.pooled.append(call.type)
        return f"p{len(self.pooled) - 1}"

    def release(
        self, now: int, values: Sequence[int]
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Let go of values that are over: names of arrays to write to, other names, and those to delete."""
        spared, over, gone = [], [], []
        for k in values:
            type, name = self.plan.calls[k].type, self.names[k]
            if self.owns(k) and self.wanted.get(type, -1) > now:
                self.spare.setdefault(type, []).append(name)
                spared.append(name)
                continue
            over.append(name)
            if name[0] == "p":
                continue
            self.unused.append(name)
            if bytes_of(type) >= _LARGE:
                gone.append(name)
        return tuple(spared), tuple(over), tuple(gone)

    def returned(self) -> list[str]:
        taken: set[int] = set()
        return [self.result(i, taken) for i in self.plan.results]

    def result(self, i: int, taken: set[int]) -> str:
        call, name = self.plan.calls[i], self.names[i]
        if not call.type.shape:
            if call.effect == "unknown":  # a part of a loop's value may be Python's number already
                return f"present({name})"
            return f"{name}.item()" if call.type.dtype.char in "dl?D" else f"{name}[()]"
        root = i
        while self.plan.calls[root].effect == "view":
            root = self.plan.calls[root].operands[0]
        if self.owns(root) and root not in taken:
            taken.add(root)
            return name
        return f"array({name})"


def _present(value: Any) -> Any:
    """`present`, in a tenth of the time for what it mostly is."""
    return value.item() if type(value) is np.float64 else present(value)


def _spread(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any], out: Any = None) -> Any:
    """An array of its own where `numpy.broadcast_to` gives a view: a sixth of its time, if small."""
    filled = np.empty(shape, dtype) if out is None else out
    filled[...] = x
    return filled


# A context of our own, in which NumPy does not warn: a twelfth of what entering `numpy.errstate` costs.
_QUIET = contextvars.Context()
_QUIET.run(np.seterr, all="ignore")

_BOUND: dict[str, Any] = {
    "quiet": _QUIET,
    "present": _present,
    "ndarray": np.ndarray,
    "array": np.array,
    "asarray": np.asarray,
    "where": np.where,
    "masked": masked,
    "chosen": chosen,
    "copyto": np.copyto,
    "each_block": each_block,
    "row_sum": row_sum,
    "empty": np.empty,
    "aligned": aligned,
    "errstate": np.errstate,
    "spread": _spread,
    **{
        name: getattr(np, name)
        for name in (
            "negative",
            "exp",
            "add",
            "subtract",
            "multiply",
            "divide",
            "logaddexp",
            "maximum",
            "minimum",
        )
    },
}
