"""Types of transforms and of their results, for type checkers: a result has the parameters of its function.

No class of this module is made at run time, where the results are plain functions and `Transformed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from funcgrad.printed_text import PrintedText

if TYPE_CHECKING:
    from funcgrad.transforms.jit.signature_cache import Latest
    from funcgrad.transforms.jit.stage_text import Lowered

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class TransformedFunction(Protocol[P]):
    """A function whose result ``expr`` gives as a formula; in the body of a class, a method."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def expr(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> TransformedFunction[P]: ...
    @overload
    def __get__(
        self: TransformedFunction[Concatenate[S, Q]], instance: S, owner: type | None = None, /
    ) -> TransformedFunction[Q]: ...


class CompiledFunction(Protocol[P, R_co]):
    """What `jit` returns: the same function, with its programs; in the body of a class, a method."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @property
    def program(self) -> Latest: ...
    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered: ...
    def explain_misses(self) -> PrintedText: ...
    def clear(self) -> None: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> CompiledFunction[P, R_co]: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[S, Q], R_co], instance: S, owner: type | None = None, /
    ) -> CompiledFunction[Q, R_co]: ...


class DerivativeTransform(Protocol):
    """`grad` and its kin: of a function, one of its arguments; of options alone, a decorator.

    A ufunc has other parameters for numbers than for arrays, of which a checker would take the first.
    """

    __name__: str

    @overload
    def __call__(
        self,
        f: np.ufunc,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
    ) -> TransformedFunction[...]: ...
    @overload
    def __call__(
        self,
        f: Callable[P, object],
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
    ) -> TransformedFunction[P]: ...
    @overload
    def __call__(
        self, *, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
    ) -> DerivativeDecorator: ...


class DerivativeDecorator(Protocol):
    """``grad(argnums=1)``, which waits for its function."""

    def __call__(self, f: Callable[P, object], /) -> TransformedFunction[P]: ...


class CompilingTransform(Protocol):
    """`jit`: of a function, the same function; of options alone, a decorator."""

    __name__: str

    @overload
    def __call__(
        self,
        f: np.ufunc,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        backend: str = "numpy",
        native: bool = False,
        donate_argnums: int | Sequence[int] = (),
        donate_argnames: str | Sequence[str] = (),
    ) -> CompiledFunction[..., Any]: ...
    @overload
    def __call__(
        self,
        f: Callable[P, R],
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        backend: str = "numpy",
        native: bool = False,
        donate_argnums: int | Sequence[int] = (),
        donate_argnames: str | Sequence[str] = (),
    ) -> CompiledFunction[P, R]: ...
    @overload
    def __call__(
        self,
        *,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        backend: str = "numpy",
        native: bool = False,
        donate_argnums: int | Sequence[int] = (),
        donate_argnames: str | Sequence[str] = (),
    ) -> CompilingDecorator: ...


class CompilingDecorator(Protocol):
    """``jit(static_argnums=0)``, which waits for its function."""

    def __call__(self, f: Callable[P, R], /) -> CompiledFunction[P, R]: ...
