"""Contractions: `matmul` and `einsum`, of which the rest of the family is made.

Both are linear in each operand, so each edge is the contraction with the others held fixed, and its
transpose is a contraction again.
"""

from __future__ import annotations

import math
from functools import lru_cache
from operator import index
from typing import Any, Literal

import numpy as np

from funcgrad.arrays.object_array import as_objects, is_of_objects
from funcgrad.arrays.values import by_value
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.axes import axis_tuple
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.op import EdgeRule, Infix, Op, lift_all
from funcgrad.ops.shape import astype, broadcast_to, expand_dims, reshape
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike, DTypeLike

_LOWERCASE = "abcdefghijklmnopqrstuvwxyz"  # importing `string` compiles a regular expression
_LETTERS = _LOWERCASE + _LOWERCASE.upper()


# -- matmul --------------------------------------------------------------------------------------
def _matmul_left(z: Array, a: Array, b: Array) -> LinearMap:
    def back(g: Array) -> Any:
        if np.ndim(b) == 1:
            return g * b if np.ndim(a) == 1 else np.expand_dims(g, -1) * b
        if np.ndim(a) == 1:
            return np.matmul(b, g)
        return np.matmul(g, np.swapaxes(b, -1, -2))

    return Structural(lambda v: np.matmul(v, b), back)


def _matmul_right(z: Array, a: Array, b: Array) -> LinearMap:
    def back(g: Array) -> Any:
        if np.ndim(a) == 1:
            return g * a if np.ndim(b) == 1 else np.expand_dims(a, -1) * g
        if np.ndim(b) == 1:
            return np.matmul(g, a)
        return np.matmul(np.swapaxes(a, -1, -2), g)

    return Structural(lambda v: np.matmul(a, v), back)


def _matmul_type(a: ArrayType, b: ArrayType) -> ArrayType:
    if b.ndim == 1:
        return ArrayType(a.shape[:-1], a.dtype)
    return ArrayType((*a.shape[:-1], b.shape[-1]) if a.ndim > 1 else b.shape[1:], a.dtype)


def _matmul_batch(size: int, batched: tuple[bool, bool], a: Array, b: Array) -> Any:
    # The axes of one example: a vector has one, and becomes a row or a column where it must.
    left, right = (np.ndim(x) - own for x, own in zip((a, b), batched, strict=True))
    if batched == (True, False) and left == 1 and right <= 2:
        return matmul(a, b)
    if batched == (True, False) and left == 2 and right <= 2:
        # One product of a tall matrix, not one for each example.
        tall = np.matmul(np.reshape(a, (size * a.shape[1], a.shape[2])), b)
        return np.reshape(tall, (size, a.shape[1], *b.shape[1:]))
    if batched == (False, True) and left == 2 and right == 1:
        return np.matmul(b, np.transpose(a))
    rank = max(left, right, 2) + 1
    a = _as_stack(np.expand_dims(a, -2) if left == 1 else a, batched[0], rank)
    b = _as_stack(np.expand_dims(b, -1) if right == 1 else b, batched[1], rank)
    product = np.matmul(a, b)
    dropped = (*((-2,) if left == 1 else ()), *((-1,) if right == 1 else ()))
    return np.squeeze(product, dropped) if dropped else product


def _as_stack(x: Array, batched: bool, rank: int) -> Any:
    """A stack of matrices with ``rank`` axes, the first of them the batch's: of length 1 without one."""
    shape = np.shape(x)
    head, rest = (shape[:1], shape[1:]) if batched else ((1,), shape)
    return np.reshape(x, (*head, *(1,) * (rank - 1 - len(rest)), *rest))


matmul_op = Op(
    name="matmul",
    run=np.matmul,
    infer=_matmul_type,
    edges=(_matmul_left, _matmul_right),
    batch=_matmul_batch,
    infix=Infix("@", 20),
    columns=Columns(
        in_words="matmul swaps, and transposes",
        flops=lambda z: 2 * z.size * z.args[0].shape[-1],
        machine="matmul",
        inlined="funcgrad.ops.contraction_paths:product_of_stack",
        interval="matmul",
        latex=Form("matrix product"),
        libraries={"any": "matmul"},
        sparsity="multiplied",
    ),
)


def _common(arrays: list[Any]) -> list[Any]:
    dtypes = {x.dtype for x in arrays}
    if len(dtypes) == 1:
        return arrays
    dtype = np.result_type(*dtypes)
    return [astype(x, dtype) for x in arrays]


def matmul(a: Any, b: Any) -> Any:
    """As `numpy.matmul`: vectors, matrices and stacks of matrices."""
    if is_of_objects(a) or is_of_objects(b):
        return np.matmul(as_objects(a), as_objects(b))
    a, b = _common(list(lift_all((a, b), "matmul")))
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise value_error(
            "matmul: expected the last axis of the first operand to match the last but one of the "
            f"second, but got {a.type} @ {b.type}; use * with a scalar, or transpose one",
        )
    return matmul_op(a, b) if a.ndim <= 2 and b.ndim <= 2 else _stacked(a, b)


def _stacked(a: Any, b: Any) -> Any:
    """Stacks of matrices: a vector becomes a matrix for a while, and the stacks broadcast."""
    left, right = a.ndim == 1, b.ndim == 1
    a = expand_dims(a, 0) if left else a
    b = expand_dims(b, 1) if right else b
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise value_error(
            f"matmul: expected stacks that broadcast, but got {a.type} @ {b.type}"
        ) from None
    z = matmul_op(
        broadcast_to(a, (*stack, *a.shape[-2:])), broadcast_to(b, (*stack, *b.shape[-2:]))
    )
    dropped = z.shape[:-2] + (() if left else z.shape[-2:-1]) + (() if right else z.shape[-1:])
    return reshape(z, dropped)


# -- einsum --------------------------------------------------------------------------------------
# Above this many multiplications a contraction path, and BLAS in it, pays for being planned.
_PLANNED = 4096


def _einsum_run(*xs: Array, subscripts: str) -> Any:
    return np.einsum(subscripts, *xs, optimize=_is_planned(subscripts, *map(np.shape, xs)))


@lru_cache(maxsize=1024)
def _is_planned(subscripts: str, *shapes: tuple[int, ...]) -> bool:
    """Whether there is more than one operand, and more multiplications than planning takes time."""
    lengths = {
        c: n
        for term, shape in zip(_terms(subscripts)[0], shapes, strict=True)
        for c, n in zip(term, shape, strict=True)
    }
    return len(shapes) > 1 and math.prod(lengths.values()) > _PLANNED


def _terms(subscripts: str) -> tuple[list[str], str]:
    inputs, output = subscripts.split("->")
    return inputs.split(","), output


def _einsum_type(*types: ArrayType, subscripts: str) -> ArrayType:
    inputs, output = _terms(subscripts)
    size = {
        c: n
        for term, t in zip(inputs, types, strict=True)
        for c, n in zip(term, t.shape, strict=True)
    }
    return ArrayType(tuple(size[c] for c in output), types[0].dtype)


def _einsum_edge(index: int) -> EdgeRule:
    def edge(z: Array, *xs: Array, subscripts: str) -> LinearMap:
        inputs, output = _terms(subscripts)
        others = [(t, x) for i, (t, x) in enumerate(zip(inputs, xs, strict=True)) if i != index]
        own = inputs[index]
        back = ",".join([output, *(t for t, _ in others)]) + "->" + own

        def forward(v: Array) -> Any:
            return einsum_op(*xs[:index], v, *xs[index + 1 :], subscripts=subscripts)

        return Structural(forward, lambda g: einsum_op(g, *(x for _, x in others), subscripts=back))

    return edge


def _einsum_batch(size: int, batched: tuple[bool, ...], *xs: Array, subscripts: str) -> Any:
    inputs, output = _terms(subscripts)
    new = next(c for c in _LETTERS if c not in subscripts)
    terms = [new + term if own else term for term, own in zip(inputs, batched, strict=True)]
    return einsum_op(*xs, subscripts=f"{','.join(terms)}->{new}{output}")


def _einsum_flops(z: Expr) -> int:
    inputs = dict(z.params)["subscripts"].split("->")[0].split(",")
    lengths = {
        c: n
        for term, arg in zip(inputs, z.args, strict=True)
        for c, n in zip(term, arg.shape, strict=True)
    }
    every = math.prod(lengths.values())
    return every * len(inputs) if len(inputs) > 1 else every - z.size


einsum_op = Op(
    name="einsum",
    run=_einsum_run,
    infer=_einsum_type,
    edges=_einsum_edge,
    batch=_einsum_batch,
    notation=lambda *xs, subscripts: f"einsum({subscripts!r}, {', '.join(xs)})",
    columns=Columns(
        flops=_einsum_flops,
        machine="einsum",
        inlined="funcgrad.ops.contraction_paths:path_of_einsum",
        interval="einsum",
        numpy="np.einsum({subscripts}, {all})",
        libraries={"any": lambda xp, *xs, subscripts: xp.einsum(subscripts, *xs)},
        sparsity="summed",
        may_alias=True,
    ),
)


def _from_lists(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The string of subscripts and the operands of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    arrays, lists = given[: len(given) // 2 * 2 : 2], [*given[1::2], *given[len(given) // 2 * 2 :]]
    try:
        items = [[i if i is Ellipsis else index(i) for i in each] for each in lists]
    except TypeError:
        raise type_error(
            "einsum: expected a subscripts string and arrays, as in 'ij,jk->ik', or after each array a list "
            "of numbers",
        ) from None
    numbers = sorted({i for each in items for i in each if i is not Ellipsis})
    # As NumPy: the axes of the result are in the order of the numbers if there is no list for it.
    letters = _LOWERCASE if len(numbers) <= len(_LOWERCASE) else sorted(_LETTERS)
    names: dict[Any, str] = dict(zip(numbers, letters, strict=False))
    if len(numbers) > len(names):
        raise value_error(f"einsum: expected at most 52 subscripts, but got {len(numbers)}")
    terms = ["".join([names.get(i, "...") for i in each]) for each in items]
    inputs = ",".join(terms[: len(arrays)])
    return (inputs if len(terms) == len(arrays) else f"{inputs}->{terms[-1]}", *arrays)


def einsum(
    subscripts: Any,
    *operands: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Literal["C", "F", "A", "K"] = "K",
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "safe",
    optimize: bool | str | list[Any] = False,
) -> Any:
    """As `numpy.einsum`, with a string of subscripts, or a list of numbers after each operand.

    Repeated letters become diagonals and letters of one operand alone become sums beforehand, so the
    primitive's letters each stand in two places at least, and every transpose is an einsum.
    """
    if not isinstance(subscripts, str):
        subscripts, *operands = _from_lists((subscripts, *operands))  # type: ignore[assignment]
    if order == "F":
        raise type_error(
            "einsum: expected no order 'F' with traced values, which are in C order; leave it out",
        )
    exprs = _common(list(lift_all(operands, "einsum")))
    if dtype is not None:
        exprs = [_cast(x, np.dtype(dtype), casting) for x in exprs]
    terms, output = _explicit(subscripts, exprs)
    pairs = [_without_repeats(t, x) for t, x in zip(terms, exprs, strict=True)]
    pairs = _without_ones(pairs)
    pairs = [
        _without_own(term, x, "".join(t for j, (t, _) in enumerate(pairs) if j != i) + output)
        for i, (term, x) in enumerate(pairs)
    ]
    _check_sizes(subscripts, pairs)
    joined = ",".join(t for t, _ in pairs)
    return einsum_op(*(x for _, x in pairs), subscripts=f"{joined}->{output}")


def _cast(x: Expr, dtype: np.dtype[Any], casting: Any) -> Any:
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(
            f"einsum: cannot cast operands from {x.dtype} to {dtype} by the rule {casting!r}"
        )
    return astype(x, dtype)


def _explicit(subscripts: str, exprs: list[Expr]) -> tuple[list[str], str]:
    """Letters alone: the ellipsis spelled out, the output named."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(exprs):
        raise value_error(
            f"einsum: expected {len(terms)} operands for {subscripts!r}, but got {len(exprs)}",
        )
    unused = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    spans = [x.ndim - len(t.replace("...", "")) for t, x in zip(terms, exprs, strict=True)]
    widest = max([n for n, t in zip(spans, terms, strict=True) if "..." in t], default=0)
    for n, term, x in zip(spans, terms, exprs, strict=True):
        if n < 0 or (n and "..." not in term):
            raise value_error(f"einsum: expected {term!r} to name the axes of {x.type}")
    dots = unused[:widest]
    terms = [
        t.replace("...", "".join(dots[widest - n :])) for n, t in zip(spans, terms, strict=True)
    ]
    letters = "".join(terms)
    if arrow:
        output = output.replace("...", "".join(dots))
    else:
        once = sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1)
        output = "".join([*dots, *once])
    if not set(output) <= set(letters) or len(set(output)) != len(output):
        raise value_error(f"einsum: expected an output of the inputs' letters, but got {output!r}")
    return terms, output


def _without_repeats(term: str, x: Any) -> tuple[str, Any]:
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            first, second = [i for i, letter in enumerate(term) if letter == c][:2]
            if x.shape[first] != x.shape[second]:
                raise value_error(f"einsum: expected equal axes for {c!r} in {x.type}")
            x = np.diagonal(x, axis1=first, axis2=second)
            rest = "".join(letter for i, letter in enumerate(term) if i not in (first, second))
            term = rest + c
    return term, x


def _without_ones(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Axes of length 1 that broadcast against longer ones, dropped."""
    longest: dict[str, int] = {}
    for term, x in pairs:
        for c, n in zip(term, x.shape, strict=True):
            longest[c] = n if longest.get(c, 1) == 1 else longest[c]
    result = []
    for term, x in pairs:
        stretched = tuple(i for i, c in enumerate(term) if x.shape[i] == 1 and longest[c] != 1)
        kept = "".join(c for i, c in enumerate(term) if i not in stretched)
        result.append((kept, np.squeeze(x, stretched) if stretched else x))
    return result


def _without_own(term: str, x: Array, elsewhere: str) -> tuple[str, Any]:
    own = tuple(i for i, c in enumerate(term) if c not in elsewhere)
    if not own:
        return term, x
    return "".join(c for c in term if c in elsewhere), np.sum(x, axis=own, dtype=x.dtype)


def _check_sizes(subscripts: str, pairs: list[tuple[str, Any]]) -> None:
    size: dict[str, int] = {}
    for term, x in pairs:
        for c, n in zip(term, x.shape, strict=True):
            if size.setdefault(c, n) != n:
                raise value_error(
                    f"einsum: expected one length for {c!r} in {subscripts!r}, but got {size[c]} and {n}",
                )


# -- NumPy's functions ---------------------------------------------------------------------------
def dot(a: object, b: object) -> Any:
    """As `numpy.dot`."""
    a, b = lift_all((a, b), "dot")
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return _product(a, b)
    return tensordot(a, b, axes=((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def _product(a: Expr, b: Expr) -> Any:
    """The matrix product by `numpy.dot`: of one entry each the product, in which a zero keeps its sign."""
    if a.size == b.size == 1:
        return reshape(reshape(a, ()) * reshape(b, ()), (*a.shape[:-1], *b.shape[1:]))
    return matmul(a, b)


def vdot(a: ArrayLike, b: ArrayLike) -> Any:
    """As `numpy.vdot`: conjugates the first and flattens both."""
    a, b = lift_all((a, b), "vdot")
    return matmul(np.ravel(a.conj()), np.ravel(b))


def inner(a: object, b: object) -> Any:
    """As `numpy.inner`."""
    a, b = lift_all((a, b), "inner")
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim == b.ndim == 1 and a.size == b.size:
        return _product(a, b)
    return tensordot(a, b, axes=((-1,), (-1,)))


def outer(a: ArrayLike, b: ArrayLike) -> Any:
    """As `numpy.outer`."""
    a, b = lift_all((a, b), "outer")
    return expand_dims(reshape(a, -1), 1) * reshape(b, -1)


def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Any:
    """As `numpy.tensordot`: one matrix product, its axes brought together first."""
    a, b = lift_all((a, b), "tensordot")
    axes = by_value(axes, "tensordot")
    if not np.iterable(axes):
        axes = (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes)))
    left, right = axis_tuple("tensordot", axes[0], a), axis_tuple("tensordot", axes[1], b)
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise value_error(
            f"tensordot: expected equal lengths along axes {left} and {right}, but got {a.type} "
            f"and {b.type}",
        )
    free_a = [i for i in range(a.ndim) if i not in left]
    free_b = [i for i in range(b.ndim) if i not in right]
    shape = (*(a.shape[i] for i in free_a), *(b.shape[i] for i in free_b))
    inside = int(np.prod([a.shape[i] for i in left], dtype=int))
    outside_a = int(np.prod([a.shape[i] for i in free_a], dtype=int))
    outside_b = int(np.prod([b.shape[i] for i in free_b], dtype=int))
    flat_a = reshape(np.transpose(a, (*free_a, *left)), (outside_a, inside))
    flat_b = reshape(np.transpose(b, (*right, *free_b)), (inside, outside_b))
    return reshape(_product(flat_a, flat_b), shape)


def kron(a: Any, b: Any) -> Any:
    """As `numpy.kron`."""
    a, b = lift_all((a, b), "kron")
    ndim = max(a.ndim, b.ndim)
    a = reshape(a, (1,) * (ndim - a.ndim) + a.shape)
    b = reshape(b, (1,) * (ndim - b.ndim) + b.shape)
    left = reshape(a, tuple(k for n in a.shape for k in (n, 1)))
    right = reshape(b, tuple(k for n in b.shape for k in (1, n)))
    return reshape(left * right, tuple(m * n for m, n in zip(a.shape, b.shape, strict=True)))
