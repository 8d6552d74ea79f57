"""What a pass promises of values, checked: AssertionError where it changes one by more than rounding.

Meaning is judged by evaluating before and after, and the tolerance is not chosen: it is how far the results
of the program before move where each of its operations is off by a last place. What holds of programs
without running them is checked by `funcgrad.compiler.verify`.
"""

import numpy as np

from funcgrad.compiler.verify.failure import must, must_be
from funcgrad.expr import subexpressions
from funcgrad.graph import CONSTANT, INPUT, TupleType


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
    if "spec" in params and "body" in params:
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


def _turns(operands, noise, *, body, cond, spec):
    n, middle = spec.num_carry, spec.num_carry + spec.num_xs
    state, sequences, fixed = list(operands[:n]), operands[n:middle], operands[middle:]
    found, types = {}, body.types[n:]
    length = len(sequences[0]) if spec.trip_count < 0 and sequences else spec.trip_count
    turns = iter(int, 1) if cond is not None else range(length)[:: -1 if spec.reverse else 1]
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
