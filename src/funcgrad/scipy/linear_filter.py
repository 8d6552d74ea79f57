"""A digital filter along the first axis as an operation, which SciPy runs.

The filter is linear in the numerator, in the signal and in the initial state. Its transpose is the same
filter from the end, as the equation a(q) y = b(q) x + z, with the shift q, shows. That in the denominator
follows from the equation, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op
from funcgrad.transforms.control_flow.loops import scan
from funcgrad.typing import Array, FunctionLibrary


def _run(b: Array, a: Array, x: Array, state: Array) -> Any:
    from scipy.signal import lfilter

    return lfilter(b, a, x, 0, state)[0] if x.size else np.zeros_like(x)


def _without_state(b: Array, a: Array, x: Array) -> Any:
    """The filter that starts at rest."""
    order = max(b.shape[0], a.shape[0])
    return linear_filter_op(b, a, x, np.zeros((order - 1, *x.shape[1:]), x.dtype))


def _backward(a: Array, g: Array) -> Any:
    """The transpose of the filter 1/a."""
    return np.flip(_without_state(np.ones(1, g.dtype), a, np.flip(g, 0)), 0)


def _lags(w: Array, x: Array, count: int) -> Any:
    """The sum of w times x, moved by each number of places below a count."""
    length = w.shape[0]
    return np.stack([np.sum(w[k:] * x[: max(length - k, 0)]) for k in range(count)])


# -- the rule --------------------------------------------------------------------------------------
def _numerator_edge(y: Array, b: Array, a: Array, x: Array, state: Array) -> LinearMap:
    return Structural(
        lambda v: _without_state(v, a, x), lambda g: _lags(_backward(a, g), x, b.shape[0])
    )


def _denominator_edge(y: Array, b: Array, a: Array, x: Array, state: Array) -> LinearMap:
    one = np.ones(1, y.dtype)
    return Structural(
        lambda v: -_without_state(one, a, _without_state(v, one, y)),
        lambda g: -_lags(_backward(a, g), y, a.shape[0]),
    )


def _signal_edge(y: Array, b: Array, a: Array, x: Array, state: Array) -> LinearMap:
    return Structural(
        lambda v: _without_state(b, a, v),
        lambda g: np.flip(_without_state(b, a, np.flip(g, 0)), 0),
    )


def _state_edge(y: Array, b: Array, a: Array, x: Array, state: Array) -> LinearMap:
    count = state.shape[0]

    def transposed(g: Array) -> Any:
        w = _backward(a, g)[:count]
        return np.concatenate([w, np.zeros((count - w.shape[0], *w.shape[1:]), w.dtype)])

    return Structural(lambda v: linear_filter_op(b, a, np.zeros_like(y), v), transposed)


def _batch(size: int, batched: Sequence[bool], b: Array, a: Array, x: Array, state: Array) -> Any:
    if batched[0] or batched[1]:
        items = [
            [arg[k] if is_batched else arg for k in range(size)]
            for arg, is_batched in zip((b, a, x, state), batched, strict=True)
        ]
        return np.stack([linear_filter_op(*item) for item in zip(*items, strict=True)])
    lanes = [
        np.moveaxis(arg, 0, -1)
        if is_batched
        else np.broadcast_to(arg[..., None], (*arg.shape, size))
        for arg, is_batched in zip((x, state), batched[2:], strict=True)
    ]
    return np.moveaxis(linear_filter_op(b, a, *lanes), -1, 0)


# -- other readers ---------------------------------------------------------------------------------
def _scanned(b: Array, a: Array, x: Array, state: Array) -> Any:
    """The transposed direct form II."""
    order = max(b.shape[0], a.shape[0])
    top, bottom = [np.pad(c / a[0], (0, order - c.shape[0])) for c in (b, a)]
    columns = [1] * (x.ndim - 1)

    def step(state: Array, value: Array) -> tuple[Any, Any]:
        y = top[0] * value + (state[0] if order > 1 else 0.0)
        shifted = np.concatenate([state[1:], 0 * state[:1]])
        pushed = top[1:].reshape(-1, *columns) * value - bottom[1:].reshape(-1, *columns) * y
        return shifted + pushed, y

    return scan(step, state, x)[1]


def _by_numbers(mp: FunctionLibrary, b: Array, a: Array, x: Array, state: Array) -> Any:
    """The equation, row by row, in numbers of any precision."""
    rows: list[Any] = []
    for n in range(len(x)):
        found = state[n] if n < len(state) else 0 * x[n]
        for k in range(min(len(b), n + 1)):
            found = found + b[k] * x[n - k]
        for k in range(1, min(len(a), n + 1)):
            found = found - a[k] * rows[n - k]
        rows.append(found)
    return np.array(rows, object).reshape(x.shape)


def _two_each(z: Expr) -> int:
    b, a = z.args[:2]
    return 2 * z.size * (b.size + a.size - 1)


linear_filter_op: Op = Op(
    name="linear_filter",
    run=_run,
    infer=lambda b, a, x, state: ArrayType(x.shape, x.dtype),
    edges=(_numerator_edge, _denominator_edge, _signal_edge, _state_edge),
    batch=_batch,
    columns=Columns(
        decompose=_scanned,
        flops=_two_each,
        mpmath=_by_numbers,
        numpy="scipy.signal.lfilter({0}, {1}, {2}, 0, {3})[0]",
        fresh=True,
    ),
)
"""y with a[0] y[n] + ... + a[N] y[n - N] = b[0] x[n] + ... + b[M] x[n - M], from an initial state; dtypes are
alike, and a[0] is 1."""
