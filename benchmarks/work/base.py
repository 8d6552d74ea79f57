"""The interface of the work of a peer."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

NATIVE = "funcgrad with llvmlite"
"""The peer that has the extra `fast`. From all others llvmlite is hidden, as if it were not installed."""


class AbsentError(Exception):
    """A peer that cannot do this work here; the message, which the table shows, is the reason."""


def as_it_is(result: Any) -> Any:
    """The result itself, if calls return when it is ready."""
    return result


class Work(NamedTuple):
    """A callable that is timed on its arguments."""

    call: Callable[..., Any]
    args: tuple[Any, ...]
    function: Callable[..., Any] | None = None
    """The function whose gradient ``call`` is, run in the same way, for the ratio of their costs."""
    settle: Callable[[Any], Any] = as_it_is
    """Waits for the result, if calls return before it is ready."""
    warm: int = 3
    """Calls of ``call`` and ``function`` until the steady state, since programs are compiled as they run."""
    native: bool = False
    """Whether the steady state is that of machine code, which ``call`` reaches by itself later."""


def jax() -> Any:
    """JAX, in double precision."""
    import jax as library

    library.config.update("jax_enable_x64", True)
    return library


def with_funcgrad(loss: Callable[..., Any], args: tuple[Any, ...]) -> Work:
    """Value and gradient by the first argument, compiled."""
    import funcgrad as fg

    return Work(fg.jit(fg.value_and_grad(loss)), args, fg.jit(loss))


def with_native(peer: Callable[[Any], Work], native: bool = True) -> Callable[[Any], Work]:
    """funcgrad on the same work, with the extra `fast`.

    What is ``native`` is measured in the steady state as `natively` compiles it; the programs of others
    become bytecode or machine code as they run, within two hundred calls.
    """

    def measured(given: Any) -> Work:
        if find_spec("llvmlite") is None:
            raise AbsentError("llvmlite is not installed")
        return peer(given)._replace(warm=200, native=native)

    return measured


def natively(work: Work) -> Work:
    """The same work, compiled by `jit(f, native=True)`; as it was if a step has no form in machine code."""
    import funcgrad as fg

    def compiled(f: Any) -> Any:
        jitted = fg.jit(f.__wrapped__, native=True)
        jitted(*work.args)
        return jitted

    try:
        function = None if work.function is None else compiled(work.function)
        return work._replace(call=compiled(work.call), function=function, warm=3)
    except TypeError:
        return work._replace(native=False)


def with_autograd(loss: Callable[..., Any], args: tuple[Any, ...]) -> Work:
    """Value and gradient by the first argument."""
    from autograd import value_and_grad

    return Work(value_and_grad(loss), args)


def with_jax(loss: Callable[..., Any], args: tuple[Any, ...]) -> Work:
    """Value and gradient by the first argument, compiled, on arrays of JAX's own."""
    library = jax()
    on_device = library.tree.map(library.numpy.asarray, args)
    compiled = library.jit(library.value_and_grad(loss))
    return Work(compiled, on_device, settle=library.block_until_ready)


def tensors(tree: Any) -> Any:
    """PyTorch's tensors for the arrays and numbers of dicts and tuples."""
    import numpy as np
    import torch

    if isinstance(tree, dict):
        return {name: tensors(value) for name, value in tree.items()}
    if isinstance(tree, tuple | list):
        return tuple(tensors(value) for value in tree)
    return torch.tensor(np.asarray(tree))


def with_torch(loss: Callable[..., Any], args: tuple[Any, ...]) -> Work:
    """Value and gradient by the first argument, eager: a number, an array, or a dict or tuple of them."""
    import torch

    first, *rest = tensors(args)
    leaves = list(first.values()) if isinstance(first, dict) else first
    leaves = leaves if isinstance(leaves, list | tuple) else [leaves]
    for leaf in leaves:
        leaf.requires_grad_(True)

    def value_and_gradient(first: Any, *rest: Any) -> Any:
        value = loss(first, *rest)
        gradient = torch.autograd.grad(value, leaves)
        return value, dict(zip(first, gradient, strict=True)) if isinstance(
            first, dict
        ) else gradient

    return Work(value_and_gradient, (first, *rest))
