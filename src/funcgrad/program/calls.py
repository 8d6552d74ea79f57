"""What an array program asks of NumPy: calls in order, with broadcasts left to it.

`calls` writes each operation as one call, or a few; `lifetimes` says when each value is needed last. What
is known of a call is whether its result is an array of its own, and whether it may be told where to write.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.op import Elementwise, broadcast_to
from funcgrad.program.codegen import Flat, Step
from funcgrad.program.select import BITS, affine

Effect = Literal["source", "fill", "product", "new", "view", "unknown", "none"]
"""What a call returns: an input or a constant; a new array, which may be given (``fill``: even an operand);
a new array; a view of its operand that shows every entry once; for all we know, a view of any; or nothing,
since it writes into operands."""


class Call(NamedTuple):
    """One call: its text, with ``{0}`` for an operand and ``{out}`` for where the result goes."""

    text: str
    operands: tuple[int, ...]
    type: ArrayType
    effect: Effect
    kind: str = ""
    """What it does to its operands: ``entry`` by entry; ``add``, ``maximum`` or ``minimum`` along axes;
    ``matmul``, ``transpose``, ``reshape``; or something else."""
    axes: tuple[int, ...] = ()


class Plan(NamedTuple):
    """Calls in order, the values of which results are made, and what the texts' names mean."""

    calls: list[Call]
    inputs: int
    results: tuple[int, ...]
    bound: dict[str, Any]
    foreign: bool
    """Whether an operation runs code that may look at the context that it is called in."""
    functions: tuple[str, ...] = ()
    """Texts of functions that calls run."""


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
# The first items of an index that leaves every row where it is.
_EVERY_ROW = ((("slice", None, None, None),), (("slice", None, None, 1),))
# Operations whose arrays are new, as far as NumPy promises.
_NEW = {"max", "min", "sum", "prod", "any", "all", "argmax", "argmin", "argsort", "cumsum"}
_NEW |= {"concatenate", "scatter_add", "logsumexp", "norm", "xlogx", "sinc", "astype"}


def calls(flat: Flat) -> Plan:
    """The calls that compute the results."""
    operands = [elided(flat, step) for step in flat.steps]
    needed = set(flat.results)
    for i in reversed(range(len(flat.steps))):
        if i in needed:
            needed.update(operands[i])
    foreign = any(_foreign(step.op.run) for step in flat.steps if step.op not in (INPUT, CONSTANT))
    plan = Plan([], flat.inputs, flat.results, {}, foreign)
    where: dict[int, int] = {}
    for i, step in enumerate(flat.steps):
        if i < flat.inputs or i in needed:
            where[i] = _add(plan, step, tuple([where[k] for k in operands[i]]))
    return without_unused(plan._replace(results=tuple([where[i] for i in flat.results])))


def users_of(plan: Plan) -> list[list[int]]:
    """For each call, the calls that it is needed for."""
    users: list[list[int]] = [[] for _ in plan.calls]
    results = set(plan.results)
    for i in reversed(range(len(plan.calls))):
        if users[i] or i in results or plan.calls[i].effect == "none":
            for k in plan.calls[i].operands:
                users[k].append(i)
    return users


def without_unused(plan: Plan) -> Plan:
    """The plan without calls that nothing needs, such as a view that a product looks through."""
    users, results = users_of(plan), set(plan.results)
    where: dict[int, int] = {}
    made: list[Call] = []
    for i, call in enumerate(plan.calls):
        if i < plan.inputs or users[i] or i in results or call.effect == "none":
            where[i] = len(made)
            made.append(call._replace(operands=tuple([where[k] for k in call.operands])))
    return plan._replace(calls=made, results=tuple([where[i] for i in plan.results]))


def _foreign(run: Any) -> bool:
    home = str(getattr(run, "__module__", "")).partition(".")[0]
    return not isinstance(run, np.ufunc) and home not in ("funcgrad", "numpy")


def elided(flat: Flat, step: Step) -> tuple[int, ...]:
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
    elif name in ("where", "mask"):
        _add_selection(plan, step, operands)
    else:
        made.append(_written(plan, step, operands))
    return len(made) - 1


def _entry(text: str, operands: tuple[int, ...], type: ArrayType) -> Call:
    return Call(text, operands, type, "fill", "entry")


def _add_stages(plan: Plan, step: Step, x: int) -> None:
    known = {"x": x}
    for ufunc, names in _STAGES[step.op.name]:
        for name in names:
            if name not in known:
                known[name] = _add_constant(plan, np.array(float(name), step.type.dtype))
        operands = tuple([known[name] for name in names])
        plan.calls.append(_entry(_ufunc_text(ufunc, len(names)), operands, step.type))
        known["t"] = len(plan.calls) - 1


# Smaller selections are left to `numpy.where`.
_BRANCHLESS = 2048


def _add_selection(plan: Plan, step: Step, operands: tuple[int, ...]) -> None:
    made, (shape, dtype) = plan.calls, step.type
    wide = made[operands[0]].type.shape == shape and dtype in BITS
    if len(operands) == 2 and not (wide and step.type.size >= _BRANCHLESS):
        operands = (*operands, _add_constant(plan, np.zeros((), dtype)))
    numbers = [plan.bound.get(f"s{i}", np.zeros(1)) for i in operands[1:]]
    if not wide or step.type.size < _BRANCHLESS:
        made.append(Call("where({0}, {1}, {2})", operands, step.type, "new", "entry"))
    elif len(operands) == 2:
        made.append(Call("masked({0}, {1}{out})", operands, step.type, "product", "entry"))
    elif all(np.ndim(x) == 0 for x in numbers) and (found := affine(*numbers)):
        a, b = [_add_constant(plan, np.array(x, dtype)) for x in found]
        made.append(_entry(_ufunc_text("multiply", 2), (operands[0], a), step.type))
        made.append(_entry(_ufunc_text("add", 2), (len(made) - 1, b), step.type))
    else:
        made.append(Call("chosen({0}, {1}, {2}{out})", operands, step.type, "product", "entry"))


def _add_constant(plan: Plan, array: np.ndarray[Any, Any]) -> int:
    number = len(plan.calls)
    # Among scalars NumPy's scalars are fast; beside arrays 0-d arrays are, more than Python's numbers.
    plan.bound[f"k{number}"] = array
    plan.bound[f"s{number}"] = array[()]
    plan.calls.append(Call(f"k{number}", (), ArrayType(array.shape, array.dtype), "source"))
    return number


def bound_dtype(plan: Plan, dtype: np.dtype[Any]) -> str:
    """The name that a dtype is bound to."""
    name = f"d{dtype.num}{'' if dtype.isnative else 's'}"
    plan.bound[name] = dtype
    return name


# Reductions that a ufunc does.
_REDUCED = {"sum": "add", "max": "maximum", "min": "minimum"}


def _written(plan: Plan, step: Step, operands: tuple[int, ...]) -> Call:
    name, op, params, type = step.op.name, step.op, dict(step.params), step.type
    if isinstance(op.run, np.ufunc):
        return _ufunc(plan, op.run, operands, type)
    if name == "reshape":
        return Call(f"{{0}}.reshape({params['shape']})", operands, type, "view", name)
    if name == "transpose":
        axes = params["axes"]
        return Call(f"{{0}}.transpose({axes})", operands, type, "view", name, axes)
    if name == "broadcast_to":
        text = f"spread({{0}}, {params['shape']}, {bound_dtype(plan, type.dtype)})"
        return Call(text, operands, type, "new")
    if name in _REDUCED and params["axis"]:
        ufunc = _REDUCED[name]
        return Call(
            f"{ufunc}.reduce({{0}}, {params['axis']})", operands, type, "new", ufunc, params["axis"]
        )
    if name == "getitem" and "array" not in params["spec"]:
        # Every row as it is, of which a part may be taken.
        kind = name if params["spec"][:1] in _EVERY_ROW else ""
        return Call(f"{{0}}[{_index(params['spec'])}]", operands, type, "unknown", kind)
    plan.bound[function := f"f{len(plan.calls)}"] = partial(op.run, **params) if params else op.run
    text = f"{function}({', '.join([f'{{{i}}}' for i in range(len(operands))])})"
    fresh = name in _NEW or name == "getitem" or (name == "einsum" and len(operands) > 1)
    return Call(text, operands, type, "new" if fresh else "unknown")


def _ufunc(plan: Plan, ufunc: np.ufunc, operands: tuple[int, ...], type: ArrayType) -> Call:
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        name = f"f{len(plan.calls)}"
    plan.bound[name] = ufunc
    text = _ufunc_text(name, len(operands))
    if ufunc is np.matmul:
        first = plan.calls[operands[0]]
        if first.kind == "transpose" and first.axes == (1, 0):
            text, operands = text.replace("{0}", "{0}.T"), (*first.operands, operands[1])
            return Call(text, operands, type, "product", "matmul.T")
        return Call(text, operands, type, "product", "matmul")
    if ufunc.signature:
        return Call(text, operands, type, "product")
    return _entry(text, operands, type)


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
