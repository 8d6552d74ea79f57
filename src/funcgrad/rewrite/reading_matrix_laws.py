"""Display-only rewrites of matrix products, determinants and solves: see `funcgrad.rewrite.reading_laws`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr, const, scalar
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, unnested
from funcgrad.ops import contraction, determinants, indexing, shape, solve
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.monomials import (
    Monomial,
    collected,
    monomial,
    power,
    product_of,
    scalars_apart,
    sum_of,
    terms_of,
    unbroadcast,
)
from funcgrad.rewrite.reading_array_laws import (
    ReadingLaw,
    entry_of_constant,
    entry_of_vector,
    outer_product,
)
from funcgrad.rewrite.reading_ops import diag_op, outer_op, trace_op, tril_op, triu_op


def _transposed_product(expr: Expr) -> Expr | None:
    """(A @ B).T = B.T @ A.T."""
    (x,) = expr.args
    if not _is_transposed(expr) or x.op is not contraction.matmul_op:
        return None
    a, b = x.args
    if a.ndim != 2 or b.ndim != 2:
        return None
    return contraction.matmul_op(_transpose(b), _transpose(a))  # type: ignore[no-any-return]


def _transposed_entrywise(expr: Expr) -> Expr | None:
    """(x*A.T).T = x.T*A, for the outer product of a column with ones, too."""
    (x,) = expr.args
    if not _is_transposed(expr) or x.op not in _ENTRYWISE:
        return None
    terms = x.args if x.op not in _SUMS else tuple(unnested(x, _summands))
    if not any([_is_transposed(arg) or _has_simple_transpose(arg) for arg in terms]):
        return None
    if x.op not in _SUMS:
        return x.op(*[_transposed_operand(arg) for arg in x.args])  # type: ignore[no-any-return]

    def step(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
        return expr.op(*parts) if parts else _transposed_operand(expr)

    return folded([x], step, operands=_summands)[0]


def _summands(x: Expr) -> tuple[Expr, ...]:
    return x.args if x.op in _SUMS else ()


def _has_simple_transpose(x: Expr) -> bool:
    """Whether the transpose of a matrix has a form as short as the matrix, as for c*eye(n) and X.T @ X."""
    _, rest = scalars_apart(x)
    for base, k in rest.powers.values() if len(rest.powers) == 1 and x.dtype.kind == "f" else ():
        product = base.op is contraction.matmul_op and any(map(_is_transposed, base.args))
        simple = base.op in (diag_op, outer_op) or is_identity_matrix(base) or _is_transposed(base)
        return k == 1 and (simple or product)
    return False


_SUMS = (arithmetic.add, arithmetic.subtract, arithmetic.negative)
_ENTRYWISE = (arithmetic.multiply, arithmetic.divide, *_SUMS)


def _transposed_operand(x: Expr) -> Expr:
    if x.op is op.broadcast_to and not x.args[0].shape:
        return op.broadcast_to(x.args[0], shape=x.shape[::-1])  # type: ignore[no-any-return]
    if x.op is op.broadcast_to and (column := _column(x.args[0])) is not None:
        return op.broadcast_to(column, shape=x.shape[::-1])  # type: ignore[no-any-return]
    return _transpose(x)


def _transpose(expr: Expr) -> Expr:
    return expr.args[0] if _is_transposed(expr) else shape.transpose(expr, (1, 0))


def _outer_of_products(expr: Expr) -> Expr | None:
    """A @ outer(x, y) = outer(A @ x, y); outer(x, y) @ A = outer(x, A.T @ y)."""
    a, b = expr.args
    if b.op is outer_op and a.ndim == 2:
        return outer_op(contraction.matmul_op(a, b.args[0]), b.args[1])  # type: ignore[no-any-return]
    if a.op is outer_op and b.ndim == 2:
        right = contraction.matmul_op(_transpose(b), a.args[1])
        return outer_op(a.args[0], right)  # type: ignore[no-any-return]
    return None


def _from_the_left(expr: Expr) -> Expr | None:
    """A @ (B @ C) = A @ B @ C, multiplied from the left; also of a vector C."""
    a, b = expr.args
    if a.ndim != 2 or b.op is not contraction.matmul_op or b.args[0].ndim != 2 or b.ndim > 2:
        return None
    return contraction.matmul_op(contraction.matmul_op(a, b.args[0]), b.args[1])  # type: ignore[no-any-return]


def _with_inverse(expr: Expr) -> Expr | None:
    """A @ inv(B) @ B = A; inv(B).T @ B.T @ v = v."""
    a, b = expr.args
    if a.ndim != 2 or b.ndim > 2 or expr.dtype.kind != "f" or a.dtype != b.dtype:
        return None
    *before, last = unnested(a, _matrix_factors)
    if not _is_inverse(last, b):
        return None
    if before:
        return reduce(contraction.matmul_op, before)
    return const(np.eye(expr.shape[0], dtype=expr.dtype))


def _is_inverse(a: Expr, b: Expr) -> bool:
    if _is_transposed(a) and _is_transposed(b):
        (a,), (b,) = a.args, b.args
    pairs = ((a, b), (b, a))
    return any([x.op is solve.inv_op and x.ndim == 2 and x.args[0].key == y.key for x, y in pairs])


def _matrix_factors(x: Expr) -> tuple[Expr, ...]:
    """The matrices of a product of matrices."""
    product = x.op is contraction.matmul_op and all([arg.ndim == 2 for arg in x.args])
    return x.args if product else ()


def _inverse_of_inverse(expr: Expr) -> Expr | None:
    """inv(inv(A)) = A; inv(A.T) = inv(A).T."""
    (x,) = expr.args
    if _is_transposed(x):
        return shape.transpose(solve.inv_op(x.args[0]), (1, 0))  # type: ignore[no-any-return]
    return x.args[0] if x.op is solve.inv_op else None


def _is_symmetric(x: Expr) -> bool:
    """Whether a matrix is its own transpose, by its form: X.T @ X, inv(X.T @ X), X @ diag(v) @ X.T."""
    while x.op is solve.inv_op:
        (x,) = x.args
    factors = list(unnested(x, _matrix_factors))
    half = len(factors) // 2
    ends = zip(factors[:half], factors[::-1], strict=False)
    if any([a.key != _transpose(b).key for a, b in ends]):
        return False
    middle = factors[half] if len(factors) % 2 else None
    if middle is not x:
        return middle is None or _is_symmetric(middle)
    return x.op is diag_op or is_identity_matrix(x) or (x.op in _SUMS and _is_symmetric_sum(x))


def _is_symmetric_sum(x: Expr) -> bool:
    """Whether each term of a sum is symmetric, as in X.T @ X + c*eye(n), or the transpose of another."""
    terms = [scalars_apart(product_of(term, x)) for term in terms_of(x).values()]
    found = {}
    for alike, rest in terms:
        ((base, k),) = rest.powers.values() if len(rest.powers) == 1 else ((x, 0.0),)
        if k != 1 or base.ndim != 2:
            return False
        found[base.key, alike.number, alike.key] = base
    return all(
        [
            _is_symmetric(base) or (_transpose(base).key, number, key) in found
            for (_, number, key), base in found.items()
        ]
    )


def _product_of_simple_terms(expr: Expr) -> Expr | None:
    """A @ (outer(v, w) + c*eye(n)) = outer(A @ v, w) + c*A; so on the right."""
    for i, x in enumerate(expr.args):
        if x.op not in _SUMS or x.ndim != 2 or expr.args[1 - i].ndim != 2 or x.dtype.kind != "f":
            continue
        terms = [scalars_apart(product_of(term, x)) for term in terms_of(x).values()]
        bases = [[*rest.powers.values()] for _, rest in terms]
        if not all([len(b) == 1 and b[0][1] == 1 and _is_simple(b[0][0]) for b in bases]):
            continue
        opened = []
        for (alike, _), ((base, _),) in zip(terms, bases, strict=True):
            factors = (base, expr.args[1]) if i == 0 else (expr.args[0], base)
            opened.append(alike.times(power(contraction.matmul_op(*factors), 1.0)))
        return sum_of(collected(opened), expr)
    return None


def _is_simple(x: Expr) -> bool:
    """Whether a product with a matrix has no product of matrices."""
    return x.op is outer_op or is_identity_matrix(x)


def _vector_on_the_right(expr: Expr) -> Expr | None:
    """v @ A = A.T @ v."""
    x, y = expr.args
    if x.ndim != 1 or y.ndim != 2:
        return None
    return contraction.matmul_op(_transpose(y), x)  # type: ignore[no-any-return]


def _quadratic_form(expr: Expr) -> Expr | None:
    """(A.T @ v) @ w = v @ (A @ w), for vectors."""
    a, w = expr.args
    for x, y in ((a, w), (w, a)):
        if x.ndim != 1 or y.ndim != 1 or x.op is not contraction.matmul_op:
            continue
        m, v = x.args
        if m.ndim == 2 and _is_transposed(m):
            return contraction.matmul_op(v, contraction.matmul_op(m.args[0], y))  # type: ignore[no-any-return]
    return None


def _is_transposed(expr: Expr) -> bool:
    return expr.op is shape.transpose_op and dict(expr.params)["axes"] == (1, 0)


def _identity_matrix(expr: Expr) -> Expr | None:
    """A @ I = A; I @ A = A."""
    x, y = expr.args
    if x.dtype != y.dtype:
        return None
    if is_identity_matrix(x) and y.type == expr.type:
        return y
    return x if is_identity_matrix(y) and x.type == expr.type else None


def is_identity_matrix(expr: Expr) -> bool:
    """Whether an expression is a constant identity matrix."""
    if expr.op is not CONSTANT or expr.ndim != 2:
        return False
    array = expr.params[0][1].array
    return array.shape[0] == array.shape[1] and np.array_equal(array, np.eye(len(array)))


def is_reshaped_identity(array: Any) -> bool:
    """Whether a constant is an identity matrix of float64 whose rows, or columns, are arrays.

    >>> is_reshaped_identity(np.eye(4).reshape(4, 2, 2)), is_reshaped_identity(np.eye(4).ravel())
    (True, False)
    """
    sizes = [math.prod(array.shape[:k]) for k in range(1, array.ndim)]
    n = next((n for n in sizes if n > 1 and n * n == array.size), 0)
    return bool(n and array.dtype == float and np.array_equal(array.reshape(n, n), np.eye(n)))


def _on_the_diagonal(expr: Expr) -> Expr | None:
    """zeros((n, n)).at[[0, 1, …], [0, 1, …]].add(v) = diag(v); of ones, eye(n)."""
    g, *arrays = expr.args
    if expr.ndim != 2 or expr.shape[0] > 100 or expr.dtype.kind != "f":
        return None
    if len(arrays) != 2 or any([a.op is not CONSTANT for a in arrays]):
        return None
    ones = np.ones(g.shape, expr.dtype)
    made = expr.op.run(ones, *[a.params[0][1].array for a in arrays], **dict(expr.params))
    eye = np.eye(*expr.shape, dtype=expr.dtype)
    if not np.array_equal(made, eye):
        return None
    number = unbroadcast(g)
    if value_of(g) == 1:
        return const(eye)
    if not number.shape:
        return op.broadcast_to(number, shape=expr.shape) * const(eye)  # type: ignore[no-any-return]
    return diag_op(g) if g.ndim == 1 and _is_increasing(arrays) else None


def _is_increasing(arrays: list[Expr]) -> bool:
    """Whether places on a diagonal are in order."""
    return all([np.all(np.diff(a.params[0][1].array.ravel()) > 0) for a in arrays])


def _diagonal_of_matrix(expr: Expr) -> Expr | None:
    """A[[0, 1, …], [0, 1, …]] = diag(A); reshape(A, (n*n,))[::n + 1] = diag(A)."""
    x, *arrays = expr.args
    a = x.args[0] if x.op is shape.reshape_op else x
    if a.ndim != 2 or a.shape[0] != a.shape[1] or a.shape[0] > 100:
        return None
    if expr.shape != a.shape[:1] or any([i.op is not CONSTANT for i in arrays]):
        return None
    places = np.arange(a.size).reshape(a.shape)
    entries = [i.params[0][1].array for i in arrays]
    found = expr.op.run(places.reshape(x.shape), *entries, **dict(expr.params))
    if not np.array_equal(found, np.diag(places)):
        return None
    return diag_op(a.args[0] if _is_transposed(a) else a)  # type: ignore[no-any-return]


def _scattered_diagonal(expr: Expr) -> Expr | None:
    """reshape(zeros((n*n,)).at[::n + 1].add(v), (n, n)) = diag(v)."""
    (x,) = expr.args
    if x.op is not indexing.scatter_op or len(x.args) > 1 or expr.ndim != 2:
        return None
    n, _ = expr.shape
    (v,) = x.args
    if expr.shape != (n, n) or v.shape != (n,) or not 0 < n <= 100:
        return None
    made = x.op.run(np.arange(1, n + 1), **dict(x.params)).reshape(n, n)
    return diag_op(v) if np.array_equal(made, np.diag(np.arange(1, n + 1))) else None


def _trace_of_matrix(expr: Expr) -> Expr | None:
    """sum(diag(A)) = trace(A)."""
    (x,) = expr.args
    if x.op is not diag_op or x.ndim != 1 or expr.shape or expr.dtype != x.dtype:
        return None
    return trace_op(x.args[0])  # type: ignore[no-any-return]


def _diagonal_matrix(expr: Expr) -> Expr | None:
    """v*eye(n) = diag(v)."""
    for x, eye in (expr.args, expr.args[::-1]):
        if not is_identity_matrix(eye) or x.op is not op.broadcast_to or x.dtype != expr.dtype:
            continue
        inner = unbroadcast(x)
        vector = inner if inner.ndim == 1 else _column(inner)
        if vector is not None and vector.shape == expr.shape[:1]:
            return diag_op(vector)  # type: ignore[no-any-return]
    return None


def _sum_of_diagonal(expr: Expr) -> Expr | None:
    """sum(diag(v), axis=0) = v."""
    (x,) = expr.args
    plain = x.op is diag_op and x.ndim == 2 and expr.ndim == 1 and x.dtype == expr.dtype
    return x.args[0] if plain else None


def _matrix_times_vector(expr: Expr) -> Expr | None:
    """sum(A*w, axis=1) = A @ w; sum(A*v[:, None], axis=0) = A.T @ v."""
    (x,) = expr.args
    axis = dict(expr.params)["axis"]
    if x.ndim != 2 or expr.ndim != 1 or expr.dtype.kind != "f" or x.dtype != expr.dtype:
        return None
    rows = axis in (0, (0,))
    found = monomial(x)
    sides = {key: _repeated_vector(base, rows) for key, (base, _) in found.powers.items()}
    vectors = {key: (v, found.powers[key][1]) for key, v in sides.items() if v is not None}
    rest = {key: item for key, item in found.powers.items() if key not in vectors}
    whole = any([base.op is not op.broadcast_to for base, _ in rest.values()])
    outside = any([_repeated_vector(base, not rows) is not None for base, _ in rest.values()])
    if not vectors or not whole or outside or any([k <= 0 for _, k in vectors.values()]):
        return None
    own = {v.key: (v, k) for v, k in vectors.values()}
    vector = product_of(Monomial(1.0, own), next(iter(vectors.values()))[0])
    matrix = product_of(Monomial(found.number, rest), x)
    return contraction.matmul_op(_transpose(matrix) if rows else matrix, vector)  # type: ignore[no-any-return]


def _repeated_vector(base: Expr, rows: bool) -> Expr | None:
    """The vector that the rows of a matrix are; with ``rows``, the one that its columns are."""
    if base.op is not op.broadcast_to:
        return None
    if rows:
        return _column(base.args[0])
    inner = unbroadcast(base)
    return inner if inner.shape == base.shape[1:] and base.shape[0] > 1 else None


def _diagonal_apart(expr: Expr) -> Expr | None:
    """(eye(n) - A)*v = diag(v) - A*v."""
    for x, y in (expr.args, expr.args[::-1]):
        if x.op not in _SUMS or expr.ndim != 2 or expr.dtype.kind != "f":
            continue
        if any([is_identity_matrix(part) for part in x.args]):
            return x.op(*[part * y for part in x.args])  # type: ignore[no-any-return]
    return None


def _transposed_symmetric(expr: Expr) -> Expr | None:
    """diag(v).T = diag(v); (X.T @ X).T = X.T @ X; outer(x, y).T = outer(y, x)."""
    (x,) = expr.args
    if not _is_transposed(expr):
        return None
    if x.op is outer_op:
        return outer_op(*x.args[::-1])  # type: ignore[no-any-return]
    return x if x.ndim == 2 and _is_symmetric(x) else None


def _triangle(expr: Expr) -> Expr | None:
    """where(<True below the diagonal>, A, 0) = tril(A, -1)."""
    p, x = expr.args
    if p.op is not CONSTANT or p.ndim != 2 or max(p.shape) < 2:
        return None
    mask = p.params[0][1].array
    for cut, made in ((np.tril, tril_op), (np.triu, triu_op)):
        for k in (0, -1, 1):
            if np.array_equal(mask, cut(np.ones(p.shape, bool), k)):
                return made(x, k=k)  # type: ignore[no-any-return]
    return None


def _cofactors_by_inverse(expr: Expr) -> Expr | None:
    """The matrix of cofactors = det(A)*inv(A).T."""
    (a,) = expr.args
    if a.ndim != 2 or a.dtype.kind != "f":
        return None
    return _by_inverse(a)


def _by_inverse(a: Expr) -> Expr:
    return determinants.det_op(a) * shape.transpose(solve.inv_op(a), (1, 0))  # type: ignore[no-any-return]


def _cofactors_of_two(expr: Expr) -> Expr | None:
    """The cofactors of a matrix of two rows, its entries in reverse order with signs, = det(A)*inv(A).T."""
    flipped, signs = expr.args if expr.args[1].op is CONSTANT else expr.args[::-1]
    if expr.shape != (2, 2) or signs.op is not CONSTANT:
        return None
    if not np.array_equal(signs.params[0][1].array, [[1, -1], [-1, 1]]):
        return None
    places, a = np.arange(4).reshape(2, 2), flipped
    while a.op is indexing.getitem_op and len(a.args) == 1 and a.args[0].shape == (2, 2):
        places = a.op.run(places, **dict(a.params))  # of reversals, which commute
        (a,) = a.args
    return _by_inverse(a) if places.ravel().tolist() == [3, 2, 1, 0] else None


def _cofactors_of_three(expr: Expr) -> Expr | None:
    """The cofactors of a matrix of three rows, each a difference of two products, = det(A)*inv(A).T."""
    if expr.shape != (3, 3):
        return None
    rows = _stacked(expr)
    entries = [entry for row in rows for entry in _stacked(row)]
    if len(rows) != 3 or len(entries) != 9:
        return None
    found = [_products_of_entries(entry) for entry in entries]
    matrices = {a.key: a for _, each in found for a in each}
    if len(matrices) != 1 or [products for products, _ in found] != _COFACTORS:
        return None
    ((_, a),) = matrices.items()
    return _by_inverse(a) if a.shape == (3, 3) and a.dtype.kind == "f" else None


def _stacked(expr: Expr) -> list[Expr]:
    """The parts of a stack along its first axis; none of another expression."""
    if expr.op is not shape.concatenate_op or dict(expr.params)["axis"] != 0:
        return []
    whole = all([x.op is shape.reshape_op and x.shape == (1, *x.args[0].shape) for x in expr.args])
    return [x.args[0] for x in expr.args] if whole else []


_Products = set[tuple[float, frozenset[tuple[int, ...]]]]


def _products_of_entries(expr: Expr) -> tuple[_Products, list[Expr]]:
    """A sum of products of entries: signs and places, and the arrays of which they are entries."""
    products: _Products = set()
    arrays = []
    for term in terms_of(expr).values():
        places = set()
        for base, exponent in term.powers.values():
            if base.op is not indexing.getitem_op or len(base.args) > 1 or exponent != 1:
                return set(), []
            places.add(tuple([i for i in dict(base.params)["spec"] if isinstance(i, int)]))
            arrays.append(base.args[0])
        products.add((term.number, frozenset(places)))
    return products, arrays


def _cofactor(row: int, column: int) -> _Products:
    (i, k), (j, m) = [((n + 1) % 3, (n + 2) % 3) for n in (row, column)]
    return {(1.0, frozenset({(i, j), (k, m)})), (-1.0, frozenset({(i, m), (k, j)}))}


_COFACTORS = [_cofactor(row, column) for row in range(3) for column in range(3)]


# -- solutions -----------------------------------------------------------------------------------
def _solution_of_vector(expr: Expr) -> Expr | None:
    """reshape(solve(A, reshape(v, (n, 1))), (n,)) = solve(A, v)."""
    (x,) = expr.args
    return _column(x) if x.op is solve.solve_op and expr.shape == x.shape[:1] else None


def _column(x: Expr) -> Expr | None:
    """The vector of which a matrix with one column is made."""
    if x.ndim != 2 or x.shape[1] != 1:
        return None
    if x.op is solve.solve_op and x.args[0].ndim == 2:
        inner = _column(x.args[1])
        return None if inner is None else solve.solve_op(x.args[0], inner)
    adds_axis = x.op is indexing.getitem_op and len(x.args) == 1 and x.args[0].ndim == 1
    if x.op not in (shape.reshape_op, op.broadcast_to) and not adds_axis:
        return None
    (inner,) = x.args
    if x.op is op.broadcast_to and not inner.shape:
        return op.broadcast_to(inner, shape=x.shape[:1])  # type: ignore[no-any-return]
    return inner if inner.shape == x.shape[:1] else None


def _product_of_vectors(expr: Expr) -> Expr | None:
    """reshape(v, (n, 1)) @ reshape(w, (m, 1)).T = outer(v, w)."""
    a, b = expr.args
    x = _column(a)
    y = _column(b.args[0]) if _is_transposed(b) else None
    return None if x is None or y is None else outer_op(x, y)


def _without_shift(expr: Expr) -> Expr | None:
    """A slope of equations that is not singular is shifted by zeros."""
    return op.broadcast_to(scalar(0.0, expr.dtype), shape=expr.shape)  # type: ignore[no-any-return]


COMPOSITIONS: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "getitem": (_diagonal_of_matrix, entry_of_constant, entry_of_vector),
        "mask": (_triangle,),
        "multiply": (outer_product,),
        "reshape": (_solution_of_vector, _scattered_diagonal),
        "sum": (_trace_of_matrix,),
    }
)
"""Functions that are computed in several steps, by the last of these: a user's formula names them, too."""
MATRIX_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "multiply": (_cofactors_of_two, _diagonal_matrix, _diagonal_apart),
        "getitem": (_diagonal_of_matrix,),
        "sum": (_trace_of_matrix, _sum_of_diagonal, _matrix_times_vector),
        "concatenate": (_cofactors_of_three,),
        "scatter_add": (_on_the_diagonal,),
        "mask": (_triangle,),
        "reshape": (_solution_of_vector, _scattered_diagonal),
        "transpose": (_transposed_symmetric, _transposed_product, _transposed_entrywise),
        "matmul": (
            _identity_matrix,
            _product_of_vectors,
            _outer_of_products,
            _vector_on_the_right,
            _quadratic_form,
            _product_of_simple_terms,
            _from_the_left,
            _with_inverse,
        ),
        "inv": (_inverse_of_inverse,),
        "cofactors": (_cofactors_by_inverse,),
        "null_space_shift": (_without_shift,),
    }
)
"""The laws by operation."""
