"""What each pass of the compiler promises, checked: one function a stage, which raises AssertionError.

A message says which stage, which step, what was expected and what was found. Meaning is judged by evaluating
before and after, and the tolerance is not chosen: it is how far the results of the program before move where
each of its operations is off by a last place. Here are expressions and steps; calls are in
`tests.checker_plan`, and what is printed in `tests.checker_text` and `tests.checker_memory`.
"""

import numpy as np

from funcgrad.compiler.flat_program import Flat
from funcgrad.control.closed_program import Body
from funcgrad.expr import subexpressions
from funcgrad.graph import CONSTANT, INPUT, ArrayType, TupleType, address
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.base.promotion import elementwise_types


def must_be(stage, where, what, expected, got):
    """Raise where two things that must be equal are not."""
    if not expected == got:
        raise AssertionError(f"{stage}, {where}: expected {what} {expected}, but got {got}")


def must(stage, where, holds, expected, got):
    """Raise where something that must hold does not."""
    if not holds:
        raise AssertionError(f"{stage}, {where}: expected {expected}, but got {got}")


# -- types ---------------------------------------------------------------------------------------
def type_by_rule(stage, where, op, types, params, loose=False):
    """The type that an operation's own rule gives for operands of these types, which have to fit it.

    ``loose``: entrywise operations may broadcast their operands themselves.
    """
    if isinstance(op, Elementwise):
        if op.infer is None:  # a shortcut, which is made of operations on one dtype
            return ArrayType(np.broadcast_shapes(*[t.shape for t in types]), types[-1].dtype)
        wanted, result = elementwise_types(op, types)
        if loose:
            wanted, types = ([t.dtype for t in group] for group in (wanted, types))
        must_be(stage, where, "operands of types", wanted, types)
        return result
    return op.infer(*types, **dict(params))


def bodies_of(params):
    """The closed subgraphs among the params of a node."""
    values = [value for _, v in params for value in (v if isinstance(v, tuple) else (v,))]
    return [value for value in values if isinstance(value, Body)]


def check_wiring(stage, where, types, params):
    """The operands of a node with a body are what the body takes, and a turn's states what the next takes."""
    given = dict(params)
    if "shape" in given and "body" in given:
        body, cond, shape = given["body"], given["cond"], given["shape"]
        n, middle = shape.states, shape.states + shape.sequences
        for k in range(n, middle):
            must_be(stage, where, f"turns in sequence {k}", shape.length, types[k].shape[0])
        items = [ArrayType(t.shape[1:], t.dtype) for t in types[n:middle]]
        turn = (*types[:n], *items, *types[middle:])
        must_be(stage, where, "inputs of the body", turn, tuple(x.type for x in body.inputs))
        must_be(stage, where, "states after a turn", types[:n], body.types[:n])
        if cond is not None:
            asked = (*types[:n], *types[middle:])
            must_be(stage, where, "inputs of the test", asked, tuple(x.type for x in cond.inputs))
            must_be(stage, where, "the test's type", (ArrayType((), np.dtype(bool)),), cond.types)
    elif "branches" in given:
        for branch in given["branches"]:
            found = tuple(x.type for x in branch.inputs)
            must_be(stage, where, "inputs of a branch", types[1:], found)
            must_be(stage, where, "outputs of a branch", given["branches"][0].types, branch.types)
    elif "body" in given and "kept" in given:
        found = tuple(x.type for x in given["body"].inputs)
        must_be(stage, where, "inputs of the body", types, found)


# -- expressions ---------------------------------------------------------------------------------
def check_expressions(roots, inputs, stage="expressions"):
    """Types follow from rules, keys from content, variables are among the inputs, bodies are closed."""
    work = [(stage, list(roots), list(inputs))]
    checked = set()
    while work:
        name, outputs, variables = work.pop()
        for inner, body in check_graph(outputs, variables, name):
            if body not in checked:
                checked.add(body)
                work.append((inner, body.outputs, body.inputs))


def check_graph(roots, inputs, stage):
    """One graph, without its bodies, which are returned with the names of their places."""
    known = {x.key for x in inputs}
    done, key_of, content_of, bodies = set(), {}, {}, []
    for number, expr in enumerate(subexpressions(*roots)):
        where = f"node {number} ({expr.op.name})"
        ready = all(id(arg) in done for arg in expr.args)
        must(stage, where, ready, "operands before their users", "one that comes later")
        done.add(id(expr))
        types = tuple(arg.type for arg in expr.args)
        if expr.op is INPUT:
            must(stage, where, expr.key in known, "a declared input", expr.params[0][1])
        elif expr.op is CONSTANT:
            held = expr.params[0][1]
            found = ArrayType(held.array.shape, held.array.dtype)
            must_be(stage, where, "a constant of type", expr.type, found)
            still = held.captured or not held.array.flags.writeable
            must(stage, where, still, "a constant that cannot change", "a writeable array")
        else:
            rule = type_by_rule(stage, where, expr.op, types, expr.params)
            must_be(stage, where, "type", rule, expr.type)
            check_wiring(stage, where, types, expr.params)
        keys = tuple(arg.key for arg in expr.args)
        must_be(stage, where, "key", address(expr.op, keys, expr.params, expr.type), expr.key)
        content = (expr.op, keys, expr.params, expr.type)
        must_be(
            stage, where, "one key for equal nodes,", key_of.setdefault(content, expr.key), expr.key
        )
        must(
            stage,
            where,
            content_of.setdefault(expr.key, content) == content,
            "a key of its own",
            expr.key,
        )
        bodies += [(f"{stage}, body of {where}", body) for body in bodies_of(expr.params)]
    return bodies


def check_types(before, after, stage):
    """A pass gives as many outputs as it got, of the same types, and asks for no new variable."""
    must_be(stage, "outputs", "as many as", len(before), len(after))
    for k, (old, new) in enumerate(zip(before, after, strict=True)):
        must_be(stage, f"output {k}", "type", old.type, new.type)
    asked = {e.key for e in subexpressions(*before) if e.op is INPUT}
    new = [e.params[0][1] for e in subexpressions(*after) if e.op is INPUT and e.key not in asked]
    must(stage, "inputs", not new, "only variables from before", new)


# -- meaning -------------------------------------------------------------------------------------
def evaluated(roots, inputs, values, noise=None):
    """The roots' values by NumPy, node by node and turn by turn: no program, nothing compiled.

    With ``noise``, each operation that computes floats is off by a last place or two, at random.
    """
    given = {x.key: np.asarray(v, x.dtype)[()] for x, v in zip(inputs, values, strict=True)}
    known = {}
    with np.errstate(all="ignore"):
        for expr in subexpressions(*roots):
            if expr.key in given:
                value = given[expr.key]
            elif expr.op is INPUT:
                continue  # below what is given
            elif expr.op is CONSTANT:
                value = expr.params[0][1].array
            elif all(id(arg) in known for arg in expr.args):
                value = _node(expr, [known[id(arg)] for arg in expr.args], noise)
            else:
                continue
            known[id(expr)] = value
    return [known[id(root)] for root in roots]


def _node(expr, operands, noise):
    params = dict(expr.params)
    if "shape" in params and "body" in params:
        return _turns(operands, noise, **params)
    if "branches" in params:
        branches = params["branches"]
        body = branches[min(max(int(operands[0]), 0), len(branches) - 1)]
        return tuple(evaluated(body.outputs, body.inputs, operands[1:], noise))
    if "body" in params and "kept" in params:
        return tuple(evaluated(params["body"].outputs, params["body"].inputs, operands, noise))
    value = expr.op.run(*operands, **params)
    moved = noise is None or getattr(expr.op, "moves", False) or isinstance(expr.type, TupleType)
    return value if moved else _off(value, noise)


def _off(value, noise):
    array = np.asarray(value)
    if array.dtype.kind not in "fc":
        return value
    off = noise.uniform(-2, 2, array.shape) * np.finfo(array.dtype).eps
    return (array * (1 + off)).astype(array.dtype)[()]


def _turns(operands, noise, *, body, cond, shape):
    n, middle = shape.states, shape.states + shape.sequences
    state, sequences, fixed = list(operands[:n]), operands[n:middle], operands[middle:]
    found, types = {}, body.types[n:]
    length = len(sequences[0]) if shape.length < 0 and sequences else shape.length
    turns = iter(int, 1) if cond is not None else range(length)[:: -1 if shape.reverse else 1]
    for t in turns:
        if cond is not None:
            if not evaluated(cond.outputs, cond.inputs, [*state, *fixed], None)[0]:
                break
            t = len(found)
        items = [sequence[t] for sequence in sequences]
        values = evaluated(body.outputs, body.inputs, [*state, *items, *fixed], noise)
        state, found[t] = values[:n], values[n:]
    stacks = [
        np.array([found[t][k] for t in sorted(found)], type.dtype).reshape(-1, *type.shape[0:])
        if found
        else np.zeros((0, *type.shape), type.dtype)
        for k, type in enumerate(types)
    ]
    return (*state, *stacks)


def parts(value):
    """A value's arrays: several for that of a loop."""
    return [np.asarray(v) for v in value] if isinstance(value, tuple) else [np.asarray(value)]


def tolerances(roots, inputs, values, runs=4):
    """How far each root's entries move where every operation is off by a last place: a bound, with margin.

    It is 0 where nothing moves, an inf or a nan among it, and nan where rounding decides what comes out.
    """
    exact = evaluated(roots, inputs, values)
    noisy = [evaluated(roots, inputs, values, np.random.default_rng(seed)) for seed in range(runs)]
    return [
        _bound(part, [parts(run[k])[j] for run in noisy])
        for k, value in enumerate(exact)
        for j, part in enumerate(parts(value))
    ]


def _bound(exact, noisy):
    inexact = exact.dtype.kind in "fc"
    still = np.all([_same(exact, other) for other in noisy], axis=0)
    if not inexact:
        return np.where(still, 0.0, np.nan)
    with np.errstate(all="ignore"):
        moved = np.max([np.abs(other - exact) for other in noisy], axis=0)
        largest = np.max(np.abs(exact), initial=0.0, where=np.isfinite(exact))
        bound = 50 * moved + 16 * np.finfo(exact.dtype).eps * largest
    return np.where(np.isfinite(bound), bound, np.where(still, 0.0, np.nan))


def _same(a, b):
    return (a == b) | ((a != a) & (b != b))


def check_values(expected, got, bounds, stage):
    """Values agree: to the bit where ``bounds`` is None, and otherwise within them."""
    pairs = [
        (k, a, b)
        for k, (x, y) in enumerate(zip(expected, got, strict=True))
        for a, b in zip(parts(x), parts(y), strict=True)
    ]
    for place, (k, a, b) in enumerate(pairs):
        where = f"value {k}"
        must_be(stage, where, "shape and dtype", (a.shape, a.dtype), (b.shape, b.dtype))
        same = _same(a, b)
        if bounds is None:
            must(stage, where, np.all(same), f"exactly {a}", b)
            continue
        with np.errstate(all="ignore"):
            off = np.abs(np.subtract(a, b, dtype=a.dtype if a.dtype.kind in "fc" else float))
            near = same | (off <= bounds[place]) | np.isnan(bounds[place])
        must(stage, where, np.all(near), f"{a} within {bounds[place]}", b)


def check_meaning(before, after, inputs, values, stage, exact=False):
    """A pass changes no value: to the bit where it claims so, and otherwise no more than rounding does.

    Where what was before is not finite, a pass that is not exact may choose.
    """
    expected, got = (evaluated(roots, inputs, values) for roots in (before, after))
    bounds = None
    if not exact:
        arrays = [part for value in expected for part in parts(value)]
        bounds = [
            np.where(np.isfinite(part), bound, np.nan)
            for part, bound in zip(arrays, tolerances(before, inputs, values), strict=True)
        ]
    check_values(expected, got, bounds, stage)


# -- flat programs -------------------------------------------------------------------------------
def check_flat(flat: Flat, stage="flat", live=False, loose=False):
    """Steps use steps before them, are of the types that rules give, and, where claimed, are all needed.

    ``loose``: after passes that leave broadcasting to NumPy.
    """
    count = len(flat.steps)
    for i, step in enumerate(flat.steps):
        where = f"step {i} ({step.op.name})"
        if i < flat.inputs:
            must_be(stage, where, "an input,", INPUT, step.op)
            continue
        must(
            stage, where, step.op is not INPUT, f"inputs among the first {flat.inputs}", "one here"
        )
        backward = all(0 <= k < i for k in step.operands)
        must(stage, where, backward, f"operands among 0..{i - 1}", step.operands)
        if step.op is CONSTANT:
            held = step.params[0][1]
            found = ArrayType(held.array.shape, held.array.dtype)
            must_be(stage, where, "a constant of type", step.type, found)
            still = held.captured or not held.array.flags.writeable
            must(stage, where, still, "a constant that cannot change", "a writeable array")
            continue
        types = tuple(flat.steps[k].type for k in step.operands)
        rule = type_by_rule(stage, where, step.op, types, step.params, loose)
        must_be(stage, where, "type", rule, step.type)
    inside = all(0 <= i < count for i in flat.results)
    must(stage, "results", inside, f"steps among 0..{count - 1}", flat.results)
    if live:
        check_live(flat, stage)


def check_live(flat: Flat, stage="flat"):
    """Every step is needed for a result, and no two are the same work."""
    needed = set(flat.results)
    first = {}
    for i in reversed(range(flat.inputs, len(flat.steps))):
        step = flat.steps[i]
        where = f"step {i} ({step.op.name})"
        must(stage, where, i in needed, "a step that something needs", "a dead one")
        needed.update(step.operands)
        same = first.setdefault((step.op, step.operands, step.params, step.type), i)
        must_be(stage, where, "equal work done once, at step", i, same)
