"""jit: traced once a signature and path, then run as compiled programs (`guarded_traces`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np

from funcgrad.source import type_error, value_error
from funcgrad.transforms.curried import LATER, compiling
from funcgrad.transforms.jit.guarded_traces import GuardedTraces
from funcgrad.transforms.jit.signature import Static
from funcgrad.transforms.jit.signature_cache import Latest, SignatureCache
from funcgrad.transforms.transform_arguments import check_function, describe, named_after, title


@compiling
def jit(
    f: Callable[..., Any] = LATER,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    backend: str = "numpy",
    native: bool = False,
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
) -> Callable[..., Any]:
    """The same function, compiled: f is traced once for each signature and path,
    and not run again.

    Numbers and arrays among the arguments, which may be trees, are values that
    the program takes; what else there is, and the arguments of
    ``static_argnums`` and ``static_argnames``, is part of the signature and
    must hash. f must be pure, and return trees of numbers and arrays. Python's
    questions to values (``if``, ``while``, ``range(n)``, ``float(x)``) are
    followed. Donation is JAX's: ``donate_argnums`` and ``donate_argnames``
    have no effect.

    What f, and up to 64 plain functions and methods that it calls, names is
    watched: closure cells, globals, defaults, items of containers, attributes;
    and so is what functions and instances among the static arguments hold.
    When one is bound anew, or an array among them changes in place, f is
    traced again. Installed packages, iterators and lists that f itself changes
    are not watched (docs/what_python_asks.md has a table): after such a change
    call ``clear()``, or hand the value to f as an argument. Random draws are
    repeated at later calls, and warned of. The result travels by cloudpickle;
    by pickle only if its name is that of the ``def`` which it decorates, so
    send f otherwise, and call jit where it arrives.

    The result has ``lower(*args)`` (every stage of a program, printable),
    ``program`` (the last one, which prints as its source),
    ``explain_misses()`` (why f was traced, call by call) and ``clear()``.
    Without f, a decorator. With ``backend="jax"``, ``"torch"`` or ``"cupy"``
    the programs are that library's, as those of `to_jax` and `to_torch`: ints
    are part of the signature, values cannot be asked for, and the sharding of
    JAX's arrays is kept.

    With the extra ``fast``, a program of small arrays becomes machine code
    when it has run for about as long as compiling takes; with ``native=True``
    when it is traced, or a TypeError names what has no form as machine code.
    ``lower(*args).machine_code`` tells which parts are machine code by now.

    Raises TypeError if f is no function, and, when the result is called, if a
    static argument does not hash, or f returns what may change; ValueError if
    ``static_argnums`` or ``static_argnames`` name no argument.

    >>> import funcgrad as fg
    >>> @jit
    ... def f(x):
    ...     return x**2 if x > 0 else -x
    >>> f(3.0), f(-3.0), fg.grad(f)(3.0)
    (9.0, 3.0, 6.0)
    >>> f.explain_misses()
    f(float64): the first call with these types
    f(float64): bool() of x > 0 was False for the first time
    """
    check_function("jit", f)
    numbers = tuple(static_argnums) if isinstance(static_argnums, Iterable) else (static_argnums,)
    names = (
        tuple(static_argnames)
        if isinstance(static_argnames, Iterable) and not isinstance(static_argnames, str)
        else (static_argnames,)
    )
    cache = _cache(f, Static(numbers, names), backend, native)
    jitted: Any = named_after(f)(cache.function())
    # A plain function, which Python calls in half the time of an object (docs/design.md).
    describe(jitted, f, "jit", "{}, compiled.")
    jitted.lower = cache.lower
    jitted.explain_misses = cache.explain_misses
    jitted.clear = cache.clear
    jitted.program = Latest(cache.source)
    return jitted  # type: ignore[no-any-return]


def _cache(
    f: Callable[..., Any], static: Static, backend: str, native: bool
) -> SignatureCache[Any]:
    given: Sequence[object] = static.numbers
    wrong = [number for number in given if not isinstance(number, int | np.integer)]
    if wrong:
        hint = "static_argnames for names" if isinstance(wrong[0], str) else "jit(f)(x)"
        raise type_error(
            "jit: expected static_argnums to be an int or a tuple of them, but got "
            f"{wrong[0]!r}; write {hint}",
        )
    _check_static(f, static)
    if backend == "numpy":
        return GuardedTraces(f, static, native)
    if native:
        raise value_error(
            f"jit: expected native=True with the backend 'numpy' alone, but got the backend {backend!r}",
        )
    # Imported here: few programs ask for it, and all would wait for it.
    from funcgrad.transforms.interop.export import LIBRARY_TYPES
    from funcgrad.transforms.interop.library_jit import LibraryPrograms

    if backend not in LIBRARY_TYPES:
        listed = ", ".join(map(repr, ["numpy", *LIBRARY_TYPES]))
        raise value_error(f"jit: expected a backend among {listed}, but got {backend!r}")
    return LibraryPrograms(f, "jit", backend, LIBRARY_TYPES[backend], static, watched=True)


def _check_static(f: Callable[..., Any], static: Static) -> None:
    """Raise ValueError if f has no argument of a static position or name, as JAX does."""
    if not (static.numbers or static.names):
        return
    try:
        parameters = list(signature(f).parameters.values())
    except (TypeError, ValueError):  # a function without a signature
        return
    kinds = [parameter.kind for parameter in parameters]
    by_place = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    count, listed = len(by_place), ", ".join([p.name for p in parameters])
    wrong = [i for i in static.numbers if not -count <= i < count]
    if wrong and Parameter.VAR_POSITIONAL not in kinds:
        raise value_error(
            f"jit: expected static_argnums among the {count} positional arguments of {title(f)}({listed}), "
            f"counted from 0, but got {wrong[0]}",
        )
    unknown = [name for name in static.names if name not in {p.name for p in parameters}]
    if unknown and Parameter.VAR_KEYWORD not in kinds:
        raise value_error(
            f"jit: expected static_argnames among {listed or 'none'}, the arguments of {title(f)}, "
            f"but got {unknown[0]!r}",
        )
