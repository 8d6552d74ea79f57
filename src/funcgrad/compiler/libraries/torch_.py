"""Programs on PyTorch's tensors, on the device of the first: eager, and open to torch's autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from funcgrad.compiler.libraries import eager_control_flow
from funcgrad.compiler.libraries.library_codegen import Library
from funcgrad.graph import ArrayType
from funcgrad.ops.base.lazy_import import LazyModule
from funcgrad.ops.base.torch_forms import torch_dtype
from funcgrad.typing import Array, LibraryArray

torch: Any = LazyModule("torch")


# -- values --------------------------------------------------------------------------------------
def _home(values: Sequence[Any]) -> Any:
    for value in values:
        if isinstance(value, torch.Tensor):
            return value.device
    return torch.get_default_device()


def _array(value: object, dtype: np.dtype[Any], home: object) -> Any:
    wanted = torch_dtype(dtype)
    if isinstance(value, torch.Tensor):
        return value.to(home, wanted)
    return torch.tensor(_native(np.asarray(value)), dtype=wanted, device=home)


def _native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # Tensors share memory with no array, and know no other byte order and no negative stride.
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def _constant(array: np.ndarray[Any, Any], changing: bool) -> Callable[[Any], Any]:
    if changing:
        return lambda home: _array(array, array.dtype, home)
    elsewhere: dict[Any, Any] = {}

    def constant(home: object) -> Any:
        # torch.compile runs programs on what stands for tensors, and wants its own of everything else.
        if torch._C._len_torch_dispatch_stack():
            return _array(array, array.dtype, home)
        if home not in elsewhere:
            # A tensor that is made under inference mode could not be met by autograd later.
            with torch.inference_mode(False):
                elsewhere[home] = _array(array, array.dtype, home)
        return elsewhere[home]

    return constant


# -- closed subgraphs ----------------------------------------------------------------------------
def _empty(type: ArrayType, home: object) -> Any:
    return torch.zeros((0, *type.shape), dtype=torch_dtype(type.dtype), device=home)


def _ruled(rule: Callable[..., Any], wiring: object, *operands: Array) -> Any:
    return _ruled_function().apply(rule, wiring, *operands)


@lru_cache(maxsize=1)
def _ruled_function() -> Any:
    """The results of a `custom_derivative` node. Its rule gives the cotangents of the arguments.

    Torch's gradients of complex numbers are the conjugates of funcgrad's.
    """

    class Ruled(torch.autograd.Function):  # type: ignore[misc]
        generate_vmap_rule = True

        @staticmethod
        def forward(rule: object, wiring: Any, *operands: Any) -> Any:
            return tuple([x.clone() for x in operands[: wiring.results]])

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: object) -> None:
            ctx.rule, ctx.wiring, *operands = inputs
            ctx.save_for_backward(*operands)

        @staticmethod
        def backward(ctx: Any, *cotangents: LibraryArray) -> Any:
            wiring = ctx.wiring
            last = wiring.results + wiring.arguments
            operands = ctx.saved_tensors
            given = [g.conj_physical() for g in cotangents]
            arguments, context = operands[wiring.results : last], operands[last:]
            if wiring.forward:
                back = _transposed(lambda *v: ctx.rule(*context, *v), arguments, given)
            else:
                back = ctx.rule(*context, *given)
            flows = [
                g.conj_physical() if x.is_floating_point() or x.is_complex() else None
                for x, g in zip(arguments, back, strict=True)
            ]
            return (None, None, *[None] * wiring.results, *flows, *[None] * len(context))

    return Ruled


def _transposed(linear: Callable[..., Any], arguments: Sequence[Any], given: Sequence[Any]) -> Any:
    """Cotangents through a linear map: by torch's own transposition, which conjugates on both sides."""
    _, pullback = torch.func.vjp(linear, *[torch.zeros_like(x) for x in arguments])
    return [g.conj_physical() for g in pullback(tuple([g.conj_physical() for g in given]))]


# -- torch.compile -------------------------------------------------------------------------------
def _whole(run: Callable[..., Any]) -> Callable[..., Any]:
    """run, as torch.compile takes it: one node of its graph, of which it traces what the program does.

    So it is where all that comes in are tensors; and else apart from the graph, which breaks there. What
    happens in between, such as looking up a signature, is no matter of torch's.
    """
    parts: list[Callable[..., Any]] = []

    def ready() -> None:
        if not parts:
            apart = torch.compiler.disable(run)
            trace = getattr(torch._dynamo, "nonstrict_trace", lambda run: run)  # torch 2.7 has it
            parts.extend((apart, trace(apart)))

    # As torch.compiler.assume_constant_result does it, which imports the compiler: a second.
    ready._dynamo_marked_constant = True  # type: ignore[attr-defined]

    def called(*args: object, **kwargs: object) -> Any:
        if torch_itself.compiler.is_dynamo_compiling():
            ready()
            leaves = torch_itself.utils._pytree.tree_leaves((args, kwargs))
            tensors = all([isinstance(leaf, torch_itself.Tensor) for leaf in leaves])
            return parts[1 if tensors else 0](*args, **kwargs)
        return run(*args, **kwargs)

    torch_itself = import_module("torch")  # the compiler does not look through what stands for it
    return called


# -- the library ---------------------------------------------------------------------------------
def library() -> Library:
    """What the library has for a program."""
    return Library(
        name="torch",
        module=torch,
        table={},
        home=_home,
        array=_array,
        constant=_constant,
        own=torch.clone,
        call=eager_control_flow.call,
        branch=eager_control_flow.branch,
        loop=eager_control_flow.loop(torch.stack, _empty),
        custom_derivative=_ruled,
        transposes=False,
        lengths=True,
        compile=lambda run: torch.compile(_whole(run)),
        compiled=False,
        warn=lambda types: None,
        whole=_whole,
    )
