"""Programs on the arrays of another library: the same operations, from its namespace.

An operation's form in a library is a row of its record (`Columns.libraries`) or of the library's table.
An elementwise operation without a row is the library's function of NumPy's name. `emitted`, in
`library_codegen`, prints the program as Python over these.
A library is imported when a program is first compiled for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from funcgrad.compiler.libraries.library_codegen import Emitted, Library, emitted
from funcgrad.expr import Expr
from funcgrad.source import fail, value_error

_HOMES = {"jax": "jax_", "torch": "torch_", "cupy": "cupy_"}
BACKENDS = tuple(_HOMES)


def compile_namespace(
    roots: Sequence[Expr], inputs: Sequence[Expr], backend: str, *, compiled: bool | None = None
) -> Callable[..., tuple[Any, ...]]:
    """A function from the inputs' values to a tuple of the roots' values, all of them the library's arrays.

    ``backend`` is "jax", "torch" or "cupy". The values are that library's arrays, or what it makes arrays
    of, with the shapes of the inputs; they are brought to the inputs' dtypes. A torch program runs where
    its first tensor is. ``compiled`` asks for `jax.jit` (on unless False) or `torch.compile` (off unless
    True). JAX knows no float64 unless ``jax_enable_x64`` is set: it computes in float32 instead, with
    a warning. An array captured by reference is read when JAX compiles the program, and by the
    others at every call.

    Raises ValueError for another backend, ImportError where the library is missing, TypeError for an
    operation that it has no function for.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> compile_namespace([x * x], [x], "numpy")
    Traceback (most recent call last):
    ValueError: backend: expected one of 'jax', 'torch', 'cupy', but got 'numpy'
    ...
    """
    library = library_of(backend)
    run = emitted(roots, inputs, library)
    library.warn(run.types)
    wanted = library.compiled if compiled is None else compiled
    return library.compile(run) if wanted else run


def source_of(run: Any) -> str:
    """The source of a program, however the library has wrapped it."""
    while not isinstance(run, Emitted):
        run = run.__wrapped__
    return run.source


def library_of(backend: str) -> Library:
    """The table of a library, which is imported when it is first asked for."""
    if backend not in _HOMES:
        listed = ", ".join(map(repr, BACKENDS))
        raise value_error(f"backend: expected one of {listed}, but got {backend!r}")
    return _imported(backend)


@lru_cache(maxsize=8)
def _imported(backend: str) -> Library:
    try:
        import_module(backend)
    except ImportError as error:
        raise fail(
            ImportError,
            f"backend {backend!r}: expected {backend} to be installed, but importing it failed ({error}); "
            f"install it, as in pip install {backend}",
        ) from error
    library: Library = import_module(f"{__name__}.{_HOMES[backend]}").library()
    return library
