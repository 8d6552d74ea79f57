"""The table of singular points: funcgrad's derivatives, computed, beside measured ones of its peers.

``python tools/singular_points.py`` prints it; ``--write`` writes docs/singular_points.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special

import funcgrad as fg


class Row(NamedTuple):
    """A case: a function that computes it, the values of peers, and the ideal value."""

    case: str
    compute: Callable[[], Any]
    autograd: str
    jax: str
    torch: str
    ideal: Any
    note: str = ""


def _grad(f: Callable[..., Any], *at: Any, order: int = 1) -> Any:
    for _ in range(order):
        f = fg.grad(f)
    return f(*at)


ZEROS, ONES = np.zeros(2), np.ones(3)

ROWS = (
    Row("sqrt at 0", lambda: _grad(np.sqrt, 0.0), "ZeroDivisionError", "inf", "inf", np.inf),
    Row(
        "where(x > 0, sqrt(x), 0) at 0",
        lambda: _grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0),
        "ZeroDivisionError", "nan", "nan", 0.0, "the branch is not selected",
    ),
    Row(
        "sqrt(x)**2 at 0", lambda: _grad(lambda x: np.sqrt(x) ** 2, 0.0),
        "ZeroDivisionError", "nan", "nan", 1.0, "the limit from the right",
    ),
    Row(
        "norm(x) at 0",
        lambda: _grad(np.linalg.norm, ZEROS), "nan", "nan", "0", 0.0, "a subgradient",
    ),
    Row(
        "norm(x)**2 at 0",
        lambda: _grad(lambda x: np.linalg.norm(x) ** 2, ZEROS), "nan", "nan", "0", 0.0,
    ),
    Row(
        "sqrt(sum(x**2)) at 0",
        lambda: _grad(lambda x: np.sqrt(np.sum(x**2)), ZEROS),
        "nan", "nan", "nan", 0.0, "rewritten as norm",
    ),
    Row(
        'einsum("i,i->", x, x)**0.5 at 0',
        lambda: _grad(lambda x: np.einsum("i,i->", x, x) ** 0.5, ZEROS),
        "nan", "nan", "nan", 0.0, "rewritten as norm",
    ),
    Row(
        "sqrt(sum(w*x**2)) at 0",
        lambda: _grad(lambda x: np.sqrt(np.sum(np.array([1.0, 2.0]) * x**2)), np.zeros(2)),
        "nan", "nan", "nan", 0.0, "as a norm",
    ),
    Row(
        "sum(abs(x)**3)**(1/3) at 0",
        lambda: _grad(lambda x: np.sum(np.abs(x) ** 3) ** (1 / 3), ZEROS),
        "nan", "nan", "nan", 0.0, "the norm of order 3",
    ),
    Row("std of equal entries", lambda: _grad(np.std, ONES), "nan", "nan", "0", 0.0),
    Row(
        "arctan2(x, x) at 0",
        lambda: _grad(lambda x: np.arctan2(x, x), 0.0), "nan", "nan", "0", 0.0,
    ),
    Row(
        "hypot(x, x) at 0",
        lambda: _grad(lambda x: np.hypot(x, x), 0.0),
        "nan", "1.0", "nan", 0.0, "convention: the least subgradient, as for norm",
    ),
    Row(
        "prod([0, 2, 3])",
        lambda: _grad(np.prod, np.array([0.0, 2.0, 3.0])),
        "nan", "[6, 0, 0]", "[6, 0, 0]", [6.0, 0.0, 0.0],
    ),
    Row("sinc at 0", lambda: _grad(np.sinc, 0.0), "nan", "0", "0", 0.0),
    Row(
        "sinc at 0, second derivative",
        lambda: _grad(np.sinc, 0.0, order=2), "nan", "-3.29", "", -np.pi**2 / 3,
    ),
    Row(
        "x**x at 0",
        lambda: _grad(lambda x: x**x, 0.0), "0", "nan", "0", -np.inf, "the limit from the right",
    ),
    Row(
        "x*log(x) at 0",
        lambda: _grad(lambda x: x * np.log(x), 0.0),
        "nan", "nan", "nan", -np.inf, "the limit from the right; the value is 0",
    ),
    Row(
        "1/(1 + exp(-x)) at -1000",
        lambda: _grad(lambda x: 1 / (1 + np.exp(-x)), -1000.0),
        "nan", "nan", "nan", 0.0, "rewritten as sigmoid",
    ),
    Row(
        "log(1 + exp(x)) at 1000",
        lambda: _grad(lambda x: np.log(1 + np.exp(x)), 1000.0),
        "nan", "nan", "nan", 1.0, "rewritten as softplus",
    ),
    Row("abs at 0", lambda: _grad(np.abs, 0.0), "0", "1.0", "0", 0.0),
    Row(
        "sign(x)*log1p(abs(x)) at 0",
        lambda: _grad(lambda x: np.sign(x) * np.log1p(np.abs(x)), 0.0),
        "0", "0", "0", 1.0, "smooth, though its factors are not",
    ),
    Row(
        "cos(abs(x)) at 0, second derivative",
        lambda: _grad(lambda x: fg.grad(lambda y: np.cos(np.abs(y)))(x), 0.0),
        "0", "-1", "0", -1.0,
    ),
    Row(
        "where(x >= 0, 1/(1 + z), z/(1 + z)), z = exp(-abs(x)), at 0",
        lambda: _grad(lambda x: _stable_sigmoid(np.exp(-np.abs(x)), x), 0.0),
        "0", ".25", "0", 0.25, "the side that is chosen",
    ),
    Row(
        "cos(norm(x)) at 0, second derivative",
        lambda: fg.hessian(lambda x: np.cos(np.linalg.norm(x)))(np.zeros(2))[0, 0],
        "nan", "nan", "0", -1.0, "smooth: the Hessian is that of 1 - x @ x / 2",
    ),
    Row(
        "max([1, 1])",
        lambda: _grad(np.max, np.ones(2)),
        "[.5, .5]", "[.5, .5]", "[.5, .5]", [0.5, 0.5], "ties share equally",
    ),
    Row(
        "maximum(x, 0) at 0",
        lambda: _grad(lambda x: np.maximum(x, 0.0), 0.0), ".5", ".5", ".5", 0.5, "ties share equally",
    ),
    Row(
        "clip(x, 0, 1) at 1",
        lambda: _grad(lambda x: np.clip(x, 0.0, 1.0), 1.0),
        "0", ".5", "1", 0.5, "as maximum and minimum",
    ),
    Row(
        "norm(A, 2) at 0",
        lambda: _grad(lambda a: np.linalg.norm(a, 2), np.zeros((2, 2))),
        "none", "[[.25, 0], [0, .25]]", "[[.5, 0], [0, .5]]", 0.0, "a subgradient, as of all norms",
    ),
    Row(
        "cond(A) at the identity",
        lambda: _grad(np.linalg.cond, np.eye(2)),
        "none", "[[1, 0], [0, -1]]", "[[1, 0], [0, -1]]", 0.0, "its minimum; equal values share",
    ),
    Row(
        "norm(x, 0.5) at [0, 4]",
        lambda: _grad(lambda x: np.linalg.norm(x, 0.5), np.array([0.0, 4.0])),
        "none", "[inf, 1]", "[0, 1]", [0.0, 1.0], "the subgradient of the size 0",
    ),
    Row(
        "rel_entr(x, y) at (0, 0)",
        lambda: _grad(lambda x: special.rel_entr(x[0], x[1]), ZEROS),
        "none", "0", "", 0.0, "a term of x that is 0",
    ),
    Row(
        "sum(unwrap(x)) at [0, pi]",
        lambda: _grad(lambda x: np.sum(np.unwrap(x)), np.array([0.0, np.pi])),
        "none", "[2, 0]", "", 1.0, "a step of half a period",
    ),
)  # fmt: skip


def _stable_sigmoid(z: Any, x: Any) -> Any:
    return np.where(x >= 0, 1 / (1 + z), z / (1 + z))


def table() -> str:
    """The table in Markdown."""
    lines = [
        "| case (the derivative there) | funcgrad | autograd | JAX | PyTorch | ideal | note |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        case = row.case.replace("|", "\\|")
        cells = (f"`{case}`", f"**{_text(row.compute())}**", row.autograd, row.jax, row.torch)
        lines.append(f"| {' | '.join([*cells, _text(row.ideal), row.note])} |")
    return "\n".join(lines)


def _text(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim and np.all(array == 0):
        return "0"
    return f"{value:.4g}" if array.ndim == 0 else str([float(v) for v in array]).replace(".0", "")


PAGE = """\
# Singular points

Derivatives at points at which a formula divides by zero, overflows or has a kink. funcgrad's column is
computed by `python tools/singular_points.py --write` and checked by a test; the others were measured with
autograd 1.9, JAX 0.10 and PyTorch 2.13.

"""

CONVENTIONS = """

## Conventions

At a kink, ties share the derivative equally; `abs` and `sign` have derivative 0 at 0; a norm of 0 has the
subgradient 0.

## What is not selected

The gradient is 0, also if the derivative there is infinite or NaN, of

- entries that a condition or an index does not select,
- a path of `if`, `fg.cond` or a loop that is not taken,
- an entry that is overwritten or sliced off, also if it is NaN and the entries beside it are scaled by a
  number that is differentiated.

Masks, stores of zeros and slices act after the factors in reverse mode, and a product of matrices leaves out
the slices of the summed axis that a slice of its result does not need. This holds for one slice or array of
indices, also of arrays that were stacked, joined or transposed before, for places side by side that are read
one by one, or for up to four stores and choices, of an array. Reverse mode may multiply a zero by a NaN where

- a slice with a step is read of joined arrays, or one with more than half of them and a part of a piece,
- entries are put together again from several slices,
- a reduction or a product of matrices mixes a NaN with entries that a mask or an index array selects later.

Use `np.where` before the factor, or forward mode.

## Zeros beside infinite slopes

Times an infinite factor,

- a zero that a choice has put in the place of a value gives 0: the slope of `np.sqrt(np.maximum(x, 0) * h)`
  in h is 0 at x = -1, where JAX and PyTorch give NaN. So is that of a negative power other than -1,
  whose value is infinite there for every h; it occurs in the derivatives of roots.
- a zero of an array that the derivative is not taken in gives 0, as a factor of a root itself or of a term in
  it: `np.sqrt(x * h)` in h alone. The product is 0 whatever h is.
- another zero that was computed gives NaN, as in JAX: `softmax(s / T)` with entries of -inf in s has no
  gradient in T.

The weights of entries of -inf are 0 for any T, but a rule that stopped at `exp(-inf)` would be wrong for
others: `exp(log(p))` and `logsumexp(log(p))` have slopes other than 0 at p = 0. Choose after the factor,
`np.where(mask, s / T, -np.inf)`: what is not selected has the gradient 0.

## Smooth functions of a norm

A function of a norm or of `np.hypot` that is smooth at 0, such as `np.cos(r)`, `np.sinc(r)` or
`(1 + r) * np.exp(-r)` for `r = np.linalg.norm(x)`, has its Hessian there in all modes. Another root of
squares, such as `np.sqrt(x**2 + y**2 + z**2)` or `np.sqrt(np.sum(w * x**2))`, has it by `grad`, `hessian` and
`hvp`, not by `jacfwd` or `vjp` first. The Hessian is wrong without a warning of

- sums that have `r**2` beside other functions of r, as the Matern kernel 5/2 has, by `jacfwd` first,
- functions of r that are loops,
- `scipy.spatial.distance.pdist`,
- functions of your own by `fg.primitive` whose partial derivative is no formula of NumPy's functions.

## Vectors of equal values

Vectors of `eigh` and `svd` that belong to equal values have no derivative, and a program that uses it has
the derivative NaN, as in JAX. Nearly equal values are divided by their difference, however small.

- A tangent or cotangent that is exactly 0 and would turn such vectors adds 0. So functions of the values
  alone have their first derivatives, and functions of values that differ from all others, and of their
  vectors, those of any order. The derivative of each vector is by the reduced resolvent, which does not need
  those of the others (`ops/reduced_resolvents.py`).
- Functions v\\*f(w) @ v^H and u\\*f(s) @ v^H of the matrix have their first and second derivatives between
  equal values, too.
- If a program multiplies the vectors of two values of 0 by these values, reverse mode sees such a 0, and
  omits a finite term.
"""


def main() -> None:
    """Print the table, or write the page."""
    if "--write" in sys.argv[1:]:
        page = Path(__file__).resolve().parent.parent / "docs" / "singular_points.md"
        page.write_text(PAGE + table() + CONVENTIONS, encoding="utf-8")
    else:
        print(table())


if __name__ == "__main__":
    main()
