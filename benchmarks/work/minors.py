"""Value and gradient of a determinant by expansion in minors, scalar by scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import (
    NATIVE,
    Work,
    jax,
    with_autograd,
    with_funcgrad,
    with_native,
    with_torch,
)

SIZES = ("6x6",)
SMOKE = "3x3"
TITLE = "Determinant by minors"


def data(size: str) -> tuple[Any]:
    """A matrix."""
    n = int(size.split("x")[0])
    return (np.random.default_rng(0).normal(size=(n, n)),)


def determinant(a: Any) -> Any:
    """Laplace's expansion along the first row."""

    def minors(rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        if len(rows) == 1:
            return a[rows[0], columns[0]]
        made, sign = 0.0, 1.0
        for k, column in enumerate(columns):
            rest = minors(rows[1:], columns[:k] + columns[k + 1 :])
            made = made + sign * a[rows[0], column] * rest
            sign = -sign
        return made

    everything = tuple(range(a.shape[0]))
    return minors(everything, everything)


def funcgrad(args: tuple[Any]) -> Work:
    """Plain Python."""
    return with_funcgrad(determinant, args)


def autograd(args: tuple[Any]) -> Work:
    """The same."""
    return with_autograd(determinant, args)


def torch(args: tuple[Any]) -> Work:
    """Eager."""
    return with_torch(determinant, args)


def with_jax(args: tuple[Any]) -> Work:
    """Compiled."""
    library = jax()
    compiled: Callable[..., Any] = library.jit(library.value_and_grad(determinant))
    return Work(compiled, (library.numpy.asarray(args[0]),), settle=library.block_until_ready)


def by_hand(args: tuple[Any]) -> Work:
    """The adjugate, by LAPACK's factorization."""

    def value_and_gradient(a: Any) -> Any:
        value = np.linalg.det(a)
        return value, value * np.linalg.inv(a).T

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": with_jax,
    "torch": torch,
    "by hand": by_hand,
}
