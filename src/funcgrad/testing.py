"""Checking derivatives against finite differences, and the two modes against each other.

No Jacobian is built. Forward mode is compared with a central difference along a random direction;
reverse mode with forward mode by ``<w, J v> == <J' w, v>``; higher orders by doing the same to the
derivative. (The method of autograd's and JAX's ``check_grads``.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.algebras.arguments_of import subject
from funcgrad.show.kinks import kinks
from funcgrad.source import type_error, value_error
from funcgrad.trace.derive import concretize
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.transform_arguments import check_function
from funcgrad.transforms.vjp import vjp
from funcgrad.typing import Array


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: str | Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Check the derivatives of f at ``args`` in both modes, up to ``order``.

    ``args`` is a tuple of float or complex numbers, arrays or trees of them,
    away from kinks. Differences are central, of fourth order, with step 6e-4,
    in double precision. ``rtol`` defaults to 1e-5 for arguments in double
    precision and to the root of the machine epsilon for others, ``atol`` to a
    hundredth of it.

    Raises AssertionError with both numbers if a derivative is wrong, or with
    the operation that has a kink where they differ for that reason; TypeError
    if ``args`` is not a tuple, ValueError for an unknown mode or an order
    below 1.

    >>> check_grads(np.sin, (0.5,), order=3)
    """
    check_function("check_grads", f)
    if not isinstance(args, tuple | list):
        raise type_error(
            f"check_grads: expected a tuple of arguments, but got {type(args).__name__}; write (x,)",
        )
    wanted: Any = tuple(modes) if isinstance(modes, list | tuple | set) else (modes,)
    unknown = [mode for mode in wanted if mode not in ("fwd", "rev")]
    if unknown or not wanted:
        raise value_error(f"check_grads: expected modes 'fwd' and 'rev', but got {list(wanted)}")
    if not isinstance(order, int | np.integer) or order < 1:
        raise value_error(f"check_grads: expected an order of at least 1, but got {order!r}")
    rng = np.random.default_rng(seed)
    rtol = _tolerance(args) if rtol is None else rtol
    atol = rtol / 100 if atol is None else atol
    try:
        _check(f, tuple(args), order, wanted, rtol, atol, rng, "")
    except AssertionError as error:
        kink = _kink(f, args)
        if kink is None:
            raise
        raise AssertionError(
            f"check_grads: expected arguments away from kinks, but {kink}; check beside it"
        ) from error


def _kink(f: Callable[..., Any], args: Sequence[Any]) -> str | None:
    """A kink of an operation of f at its arguments, or so near that finite differences meet it."""
    given = subject("check_grads", f, args, {})
    found = (kink for root in given.roots for kink in kinks(root, given.by_name))
    return next(found, None)


def _tolerance(args: Sequence[Any]) -> float:
    kinds = [np.asarray(leaf).dtype for leaf in flatten(list(args)).leaves]
    return max([1e-5, *[math.sqrt(np.finfo(k).eps) for k in kinds if k.kind in "fc"]])


def _check(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    modes: tuple[str, ...],
    rtol: float,
    atol: float,
    rng: np.random.Generator,
    path: str,
) -> None:
    if order < 1:
        return
    direction = tuple(_like(arg, rng) for arg in args)
    slope = _difference(f, args, direction)
    if "fwd" in modes:
        _, pushed = jvp(f, args, direction)
        _close(f"{path}fwd", pushed, slope, rtol, atol)

        def forward(*at: int) -> Any:
            return jvp(f, at, direction)[1]

        _check(forward, args, order - 1, modes, rtol, atol, rng, f"{path}fwd-")
    if "rev" in modes:
        value, pullback = vjp(f, *args)
        weights = _like(value, rng)
        pulled = pullback(weights)
        _close(f"{path}rev", _inner(pulled, direction), _inner(weights, slope), rtol, atol)

        def reverse(*at: int) -> Any:
            return vjp(f, *at)[1](weights)

        _check(reverse, args, order - 1, modes, rtol, atol, rng, f"{path}rev-")


_STEP = 6e-4


def _difference(f: Callable[..., Any], args: tuple[Any, ...], direction: tuple[Any, ...]) -> Any:
    """The directional derivative by a central difference of fourth order."""

    def at(step: float) -> list[Any]:
        moved = [_combine(arg, v, step) for arg, v in zip(args, direction, strict=True)]
        # Traced, since f may use methods that arrays lack, such as x.at.
        value = concretize(*run_on_leaves(f, moved, {}))
        return [_numbers(leaf) for leaf in flatten(value).leaves]

    near = [(a - b) / (2 * _STEP) for a, b in zip(at(_STEP), at(-_STEP), strict=True)]
    far = [(a - b) / (4 * _STEP) for a, b in zip(at(2 * _STEP), at(-2 * _STEP), strict=True)]
    return [(4 * n - w) / 3 for n, w in zip(near, far, strict=True)]


def _numbers(value: object) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise type_error(
            f"check_grads: expected f to return numbers, but got {type(value).__name__}; return those that "
            "depend on the arguments",
        )
    return array.astype(float) if array.dtype.kind == "b" else array


def _like(tree: object, rng: np.random.Generator) -> Any:
    flat = flatten(tree)
    return flat.rebuild([_random(np.asarray(leaf), rng) for leaf in flat.leaves])


def _random(array: Any, rng: np.random.Generator) -> Any:
    value = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        value = value + 1j * rng.standard_normal(array.shape)
    return np.asarray(value, array.dtype if array.dtype.kind in "fc" else float)[()]


def _combine(tree: object, direction: object, step: float) -> Any:
    flat, along = flatten(tree), flatten(direction)
    return flat.rebuild(
        [_double(x) + step * _double(v) for x, v in zip(flat.leaves, along.leaves, strict=True)]
    )


def _double(x: object) -> Any:
    array = np.asarray(x)
    return array.astype(np.result_type(array.dtype, float))[()]


def _inner(left: object, right: object) -> Any:
    pairs = zip(flatten(left).leaves, flatten(right).leaves, strict=True)
    return sum(np.real(np.sum(np.asarray(a) * np.asarray(b))) for a, b in pairs)


def _close(what: str, got: object, expected: object, rtol: float, atol: float) -> None:
    pairs = zip(flatten(got).leaves, flatten(expected).leaves, strict=True)
    for a, b in pairs:
        if not np.allclose(a, b, rtol=rtol, atol=atol):
            raise AssertionError(
                f"check_grads: expected the derivative ({what}) to be {b} by finite differences, "
                f"but got {a}"
            )
