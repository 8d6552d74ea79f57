"""Operations of display forms alone: each names a function that a program computes in several steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.op import Op
from funcgrad.ops.base.promotion import same_type
from funcgrad.typing import Array


def _outer_type(x: ArrayType, y: ArrayType) -> ArrayType:
    return ArrayType((*x.shape, *y.shape), np.result_type(x.dtype, y.dtype))


def _softmax_run(x: Array, axis: int) -> Any:
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


outer_op = Op(
    name="outer",
    run=np.outer,
    infer=_outer_type,
    notation="outer({}, {})".format,
    columns=Columns(latex=Form("outer")),
)
softmax_op = Op(
    name="softmax",
    run=_softmax_run,
    infer=same_type,
    notation=lambda x, axis: f"softmax({x}, axis={axis})" if axis else f"softmax({x})",
)


diff_op = Op(name="diff", run=np.diff, infer=lambda x: ArrayType((x.shape[0] - 1,), x.dtype))
pad_op = Op(
    name="pad",
    run=lambda x: np.pad(x, 1),
    infer=lambda x: ArrayType((x.shape[0] + 2,), x.dtype),
    notation="pad({}, 1)".format,
    columns=Columns(latex=r"\operatorname{pad}_{1}"),
)
sort_op = Op(
    name="sort",
    run=np.sort,
    infer=same_type,
    notation=lambda x, axis: f"sort({x})" if axis is None else f"sort({x}, axis={axis})",
)


def _diagonal_type(x: ArrayType) -> ArrayType:
    n = x.shape[0]
    return ArrayType((n, n) if len(x.shape) == 1 else (n,), x.dtype)


diag_op = Op(name="diag", run=np.diag, infer=_diagonal_type)
trace_op = Op(
    name="trace",
    run=np.trace,
    infer=lambda x: ArrayType((), x.dtype),
    columns=Columns(latex=r"\operatorname{tr}"),
)


def _triangle_of(name: str, run: Callable[..., Any]) -> Op:
    return Op(
        name=name,
        run=run,
        infer=same_type,
        notation=lambda x, k: f"{name}({x}, {k})" if k else f"{name}({x})",
        columns=Columns(latex=Form("triangle")),
    )


tril_op = _triangle_of("tril", lambda x, k: np.tril(x, k))
triu_op = _triangle_of("triu", lambda x, k: np.triu(x, k))
