"""jit: traced once a signature and path, then run as compiled programs (`guarded_traces`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.source import fail
from funcgrad.transforms.curried import LATER, curried
from funcgrad.transforms.jit.guarded_traces import GuardedTraces
from funcgrad.transforms.jit.signature import Static
from funcgrad.transforms.jit.signature_cache import SignatureCache
from funcgrad.transforms.jit.stage_text import Latest
from funcgrad.transforms.transform_arguments import check_function, describe, named_after


@curried
def jit(
    f: Callable[..., Any] = LATER,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    backend: str = "numpy",
    native: bool = False,
) -> Callable[..., Any]:
    """The same function, compiled: f is traced once for each signature and path,
    and not run again.

    Numbers and arrays among the arguments, which may be trees, are values that
    the program takes; what else there is, and the arguments of
    ``static_argnums`` and ``static_argnames``, is part of the signature and
    must hash. f must be pure, and return trees of numbers and arrays. Python's
    questions to values (``if``, ``while``, ``range(n)``, ``float(x)``) are
    followed.

    What f names is watched, and what plain functions and methods that it calls
    name (up to 64, not those of installed packages): closure cells, globals,
    defaults and arguments of partial functions; all items of containers that
    are reached from these; and attributes of instances, classes and your
    modules, by the names that occur in the code of those functions. When one
    is bound anew or an array among them changes in place, f is traced again;
    but a large array (64 KiB) that the program reads as it is counts with what
    it holds at each call. (What f takes out of such an array as well, as in
    ``X[0] * np.sum(X * x)``, is not watched.) A list that f itself changes,
    such as one of calls, is not watched, nor are the state of installed
    packages, iterators, context variables, and code that is replaced. After
    such a change call ``clear()``, or hand the value to f as an argument.
    Random draws are repeated at later calls; if the generator is NumPy's or
    Python's own, or is captured, a warning says so.

    The result has ``lower(*args)`` (every stage of a program, printable),
    ``program`` (the last one, which prints as its source),
    ``explain_misses()`` (why f was traced, call by call) and ``clear()``.
    Without f, a decorator. With ``backend="jax"``, ``"torch"`` or ``"cupy"``
    the programs are that library's, as those of `to_jax` and `to_torch`: its
    arrays come out, ints are part of the signature, and values cannot be asked
    for. JAX's arrays may be sharded over a mesh: XLA partitions the program,
    and the results have the sharding that it chose.

    With the extra ``fast``, a program of small arrays becomes machine code
    when it has run for about as long as compiling takes (0.1 to a few
    seconds). With ``native=True`` it does so when it is traced, and the call
    raises a TypeError that names what machine code has no form for. A program
    of numbers without loops runs as Python, which is called faster.
    ``lower(*args).machine_code`` tells which parts of the program for these
    arguments are machine code by now or become it, and why the others do not;
    ``explain_misses()`` tells of traces alone.

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
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if not all([type(number) is int for number in numbers]):
        raise fail(
            TypeError,
            f"jit: expected static_argnums to be an int or a tuple of them, but got {static_argnums!r}; "
            "write static_argnames for names",
        )
    static = Static(numbers, names)
    if native and backend != "numpy":
        raise fail(
            ValueError,
            f"jit: expected native=True with the backend 'numpy' alone, but got the backend {backend!r}",
        )
    cache = GuardedTraces(f, static, native) if backend == "numpy" else _library(f, backend, static)
    jitted: Any = named_after(f)(cache.function())
    # A plain function, which Python calls in half the time of an object (docs/design.md).
    describe(jitted, f, "jit", "{}, compiled.")
    jitted.lower = cache.lower
    jitted.explain_misses = cache.explain_misses
    jitted.clear = cache.clear
    jitted.program = Latest(cache.source)
    return jitted  # type: ignore[no-any-return]


def _library(f: Callable[..., Any], backend: str, static: Static) -> SignatureCache[Any]:
    # Imported here: few programs ask for it, and all would wait for it.
    from funcgrad.transforms.interop.export import LIBRARY_TYPES
    from funcgrad.transforms.interop.library_jit import LibraryPrograms

    if backend not in LIBRARY_TYPES:
        listed = ", ".join(map(repr, ["numpy", *LIBRARY_TYPES]))
        raise fail(ValueError, f"jit: expected a backend among {listed}, but got {backend!r}")
    return LibraryPrograms(f, "jit", backend, LIBRARY_TYPES[backend], static, watched=True)
