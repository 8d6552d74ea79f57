"""What an array program asks of NumPy: calls in order, with broadcasts left to it.

`calls` writes each operation as one call, or a few (`multi_call_ops`). What is known of a call is
whether its result is an array of its own, and whether it may be told where to write.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import Call, Plan, add_constant, bound_dtype, without_unused
from funcgrad.compiler.flat_program import Flat, Step
from funcgrad.compiler.numpy.branchless_select import BITS, affine
from funcgrad.compiler.numpy.multi_call_ops import STAGES, entry, reduction, ufunc_text
from funcgrad.compiler.passes.layout_assignment import LAID
from funcgrad.compiler.passes.peephole import FUSED
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import Elementwise, broadcast_to

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
        add_constant(plan, step.constant)
    elif name == "stop_gradient":
        return operands[0]
    elif name in STAGES and _is_plain(made[operands[0]].type):
        return STAGES[name](plan, step, operands[0])
    elif name in FUSED or op is LAID:
        text = f"{name}({', '.join([f'{{{i}}}' for i in range(len(operands))])}{{out}})"
        plan.bound[name] = op.run
        made.append(Call(text, operands, step.type, "product", "entry"))
    elif name in ("where", "mask"):
        _add_selection(plan, step, operands)
    else:
        made.append(_written(plan, step, operands))
    return len(made) - 1


def _is_plain(type: ArrayType) -> bool:
    return type.dtype.kind == "f" and type.size > 0


# Smaller selections are left to `numpy.where`.
_BRANCHLESS = 2048


def _add_selection(plan: Plan, step: Step, operands: tuple[int, ...]) -> None:
    made, (shape, dtype) = plan.calls, step.type
    wide = made[operands[0]].type.shape == shape and dtype in BITS
    if len(operands) == 2 and not (wide and step.type.size >= _BRANCHLESS):
        operands = (*operands, add_constant(plan, np.zeros((), dtype)))
    numbers = [plan.bound.get(f"s{i}", np.zeros(1)) for i in operands[1:]]
    if not wide or step.type.size < _BRANCHLESS:
        made.append(Call("where({0}, {1}, {2})", operands, step.type, "new", "entry"))
    elif len(operands) == 2:
        made.append(Call("masked({0}, {1}{out})", operands, step.type, "product", "entry"))
    elif all(np.ndim(x) == 0 for x in numbers) and (found := affine(*numbers)):
        a, b = [add_constant(plan, np.array(x, dtype)) for x in found]
        made.append(entry(ufunc_text("multiply", 2), (operands[0], a), step.type))
        made.append(entry(ufunc_text("add", 2), (len(made) - 1, b), step.type))
    else:
        made.append(Call("chosen({0}, {1}, {2}{out})", operands, step.type, "product", "entry"))


# Reductions that a ufunc does.
_REDUCED = {"sum": "add", "max": "maximum", "min": "minimum"}


def _written(plan: Plan, step: Step, operands: tuple[int, ...]) -> Call:
    name, op, params, type = step.op.name, step.op, dict(step.params), step.type
    if isinstance(op.run, np.ufunc):
        return _ufunc(plan, op.run, operands, type)
    if name == "reshape":
        return Call(f"{{0}}.reshape({params['shape']})", operands, type, "view", name)
    if name in ("getitem", "scatter_add") and _is_reshape(
        params, plan.calls[operands[0]].type, type
    ):
        return Call(f"{{0}}.reshape({type.shape})", operands, type, "view", "reshape")
    if name == "transpose":
        axes = params["axes"]
        return Call(f"{{0}}.transpose({axes})", operands, type, "view", name, axes)
    if name == "broadcast_to":
        text = f"spread({{0}}, {params['shape']}, {bound_dtype(plan, type.dtype)}{{out}})"
        return Call(text, operands, type, "product", "entry")
    if name in _REDUCED and params["axis"]:
        return reduction(_REDUCED[name], params["axis"], operands[0], type)
    if name == "getitem" and "array" not in params["spec"]:
        # Every row as it is, of which a part may be taken.
        kind = name if params["spec"][:1] in _EVERY_ROW else ""
        return Call(f"{{0}}[{_index(params['spec'])}]", operands, type, "unknown", kind)
    plan.bound[function := f"f{len(plan.calls)}"] = partial(op.run, **params) if params else op.run
    text = f"{function}({', '.join([f'{{{i}}}' for i in range(len(operands))])})"
    fresh = name in _NEW or name == "getitem" or (name == "einsum" and len(operands) > 1)
    return Call(text, operands, type, "new" if fresh else "unknown", name=name)


def _is_reshape(params: dict[str, Any], before: ArrayType, after: ArrayType) -> bool:
    """Whether an index does no more than drop or add axes of length 1: then it is a reshape, both ways."""
    spec = params["spec"]
    forward = all(not isinstance(item, tuple) or item[3] in (None, 1) for item in spec)
    return before.size == after.size > 0 and "array" not in spec and forward


def _ufunc(plan: Plan, ufunc: np.ufunc, operands: tuple[int, ...], type: ArrayType) -> Call:
    own = name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        name = f"f{len(plan.calls)}"
    plan.bound[name] = ufunc
    text = ufunc_text(name, len(operands))
    if ufunc is np.matmul:
        first = plan.calls[operands[0]]
        if first.kind == "transpose" and first.axes == (1, 0):
            text, operands = text.replace("{0}", "{0}.T"), (*first.operands, operands[1])
            return Call(text, operands, type, "product", "matmul.T")
        return Call(text, operands, type, "product", "matmul")
    if ufunc.signature:
        return Call(text, operands, type, "product", name=own)
    call = entry(text, operands, type)
    return call if name == own else call._replace(name=own)


def _index(spec: tuple[Any, ...]) -> str:
    special = {"new": "None", "...": "..."}
    parts = [
        ":".join(["" if bound is None else str(bound) for bound in item[1:]])
        if isinstance(item, tuple)
        else special.get(item, str(item))
        for item in spec
    ]
    return f"{', '.join(parts)}," if parts else "..."
