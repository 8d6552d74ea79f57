"""Programs on PyTorch's tensors, on the device of the first: eager, and open to torch's autograd."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from funcgrad.compiler.libraries import eager_control_flow as eager
from funcgrad.compiler.libraries.lazy_import import LazyModule
from funcgrad.compiler.libraries.library_codegen import Library
from funcgrad.graph import ArrayType
from funcgrad.ops.base.index_spec import restore
from funcgrad.ops.reduction import rooted, squared
from funcgrad.source import fail
from funcgrad.typing import Array

torch: Any = LazyModule("torch")


@lru_cache(maxsize=64)
def torch_dtype(dtype: np.dtype[Any]) -> Any:
    """The tensors' dtype for an array's."""
    found = getattr(torch, dtype.name, None) if dtype.kind in "biufc" else None
    if found is None:
        raise fail(
            TypeError,
            f"torch: expected a dtype that tensors have, but got {dtype}; convert with astype(float)",
        )
    return found


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


def _astype(x: Any, dtype: np.dtype[Any]) -> Any:
    part = x.real if x.is_complex() and dtype.kind != "c" else x
    return part.to(torch_dtype(dtype))


def _imag(x: Any) -> Any:
    return x.imag if x.is_complex() else torch.zeros_like(x)


def _cbrt(x: object) -> Any:
    root = torch.pow(torch.abs(x), 1 / 3)
    # A third is not a number of the machine, which tells for large roots: one step of Newton's.
    fine = (root > 0) & torch.isfinite(root)
    safe = torch.where(fine, root, torch.ones_like(root))
    better = torch.where(fine, safe - (safe - torch.abs(x) / (safe * safe)) / 3, root)
    return torch.copysign(better, x)


def _ordered(function: Callable[..., Any], strict: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison, of complex numbers too: as NumPy, by the real part, then by the imaginary one."""

    def compare(x: Any, y: Any) -> Any:
        if not x.is_complex():
            return function(x, y)
        return strict(x.real, y.real) | ((x.real == y.real) & function(x.imag, y.imag))

    return compare


# -- along axes: torch takes no axes for all of them ------------------------------------------------
def _sum(x: Any, axis: tuple[int, ...]) -> Any:
    return _unsigned(x, torch.sum(x, dim=axis) if axis else torch.sum(x.unsqueeze(0), dim=0))


def _unsigned(x: Any, total: Any) -> Any:
    """A total in NumPy's dtype: that of unsigned integers is unsigned."""
    return total.to(torch.uint64) if str(x.dtype).startswith("torch.uint") else total


def _located(function: Callable[..., Any]) -> Callable[..., Any]:
    def locate(x: Any, axis: int) -> Any:
        return function(x.to(torch.uint8) if x.dtype == torch.bool else x, dim=axis)

    return locate


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis: function(x, dim=axis) if axis else x


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis: function(x, dim=axis) if axis else x != 0


def _prod(x: object, axis: tuple[int, ...]) -> Any:
    given = x
    for place in sorted(axis, reverse=True):
        x = torch.prod(x, dim=place)
    return _unsigned(given, x)


def _norm(x: object, axis: tuple[int, ...]) -> Any:
    return rooted(torch, _sum(squared(torch, x), axis))


def _logsumexp(x: Any, axis: tuple[int, ...]) -> Any:
    if not x.numel():
        return torch.log(_sum(torch.exp(x), axis))
    if x.is_complex():
        top = torch.amax(x.real.detach(), dim=axis, keepdim=True)
        total = torch.log(_sum(torch.exp(x - top), axis))
        return total + top.reshape(total.shape)
    return torch.logsumexp(x, dim=axis)


# -- indexing ------------------------------------------------------------------------------------
def _getitem(x: Any, *arrays: Any, spec: Any, shape: tuple[int, ...]) -> Any:
    x, spec = _forward(x, spec)
    if not arrays:
        return x[restore(spec, ())]
    spec, arrays = _alike(spec, arrays)
    return x[restore(spec, arrays)]


def _forward(x: Any, spec: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Slices that go down, which torch has not, as slices that go up an axis turned around."""
    if not any([isinstance(item, tuple) and (item[3] or 1) < 0 for item in spec]):
        return x, spec
    taken = sum([item not in ("new", "...") for item in spec])
    axis, turned, new = 0, [], []
    for item in spec:
        if isinstance(item, tuple) and (item[3] or 1) < 0:
            n = x.shape[axis]
            start, stop, step = slice(*item[1:]).indices(n)
            count = len(range(start, stop, step))
            first = n - 1 - start
            item = ("slice", first, first + (count - 1) * -step + 1, -step)
            item = item if count else ("slice", 0, 0, 1)
            turned.append(axis)
        new.append(item)
        axis += x.ndim - taken if item == "..." else item != "new"
    return torch.flip(x, turned), tuple(new)


def _alike(spec: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Integers beside index arrays as index arrays, which they are to NumPy, and all of one rank."""
    rank = max([a.ndim for a in arrays])
    if rank == 0:
        return spec, tuple(arrays)
    home, rest = arrays[0].device, iter(arrays)
    new, found = [], []
    for item in spec:
        if item == "array" or isinstance(item, int):
            a = next(rest) if item == "array" else torch.tensor(item, device=home)
            found.append(a.to(torch.int64).reshape((1,) * (rank - a.ndim) + tuple(a.shape)))
            item = "array"
        new.append(item)
    return tuple(new), tuple(found)


def _scatter(g: Any, *arrays: Any, spec: Any, shape: tuple[int, ...]) -> Any:
    size = math.prod(shape)
    if not arrays:
        numbers = np.arange(size).reshape(shape)[restore(spec, ())]
        places = torch.tensor(np.array(numbers).reshape(-1), device=g.device)
    else:
        numbers = torch.arange(size, device=g.device).reshape(shape)
        places = _getitem(numbers, *arrays, spec=spec, shape=tuple(g.shape)).reshape(-1)
    return g.new_zeros(size).index_add(0, places, g.reshape(-1)).reshape(shape)


# -- closed subgraphs ----------------------------------------------------------------------------
def _empty(type: ArrayType, home: object) -> Any:
    return torch.zeros((0, *type.shape), dtype=torch_dtype(type.dtype), device=home)


def _ruled(rule: Callable[..., Any], wiring: object, *operands: Array) -> Any:
    return _ruled_function().apply(rule, wiring, *operands)


@lru_cache(maxsize=1)
def _ruled_function() -> Any:
    """The results of a `ruled` node, whose cotangents its rule takes to the arguments, and to them alone.

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
        def backward(ctx: Any, *cotangents: Any) -> Any:
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


def _transposed(linear: Callable[..., Any], arguments: Any, given: Any) -> Any:
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
def _table() -> dict[str, Callable[..., Any]]:
    return {
        "all": _truth(torch.all),
        "any": _truth(torch.any),
        "argmax": _located(torch.argmax),
        "argmin": _located(torch.argmin),
        "argsort": lambda x, axis: torch.argsort(x, dim=axis, stable=True),
        "astype": _astype,
        "broadcast_to": lambda x, shape: torch.broadcast_to(x, shape),
        "cbrt": _cbrt,
        "concatenate": lambda *xs, axis: torch.cat(xs, dim=axis),
        "conjugate": torch.conj_physical,
        "cumsum": lambda x, axis: _unsigned(x, torch.cumsum(x, dim=axis)),
        "einsum": lambda *xs, subscripts: torch.einsum(subscripts, *xs),
        "equal": torch.eq,
        "fft": lambda x, axis, inverse: (
            torch.fft.ifft(x, dim=axis, norm="forward") if inverse else torch.fft.fft(x, dim=axis)
        ),
        "getitem": _getitem,
        "greater": _ordered(torch.greater, torch.greater),
        "greater_equal": _ordered(torch.greater_equal, torch.greater),
        "imag": _imag,
        "invert": torch.bitwise_not,
        "less": _ordered(torch.less, torch.less),
        "less_equal": _ordered(torch.less_equal, torch.less),
        "logsumexp": _logsumexp,
        "matmul": torch.matmul,
        "max": _extreme(torch.amax),
        "min": _extreme(torch.amin),
        "norm": _norm,
        "power": torch.pow,
        "prod": _prod,
        "reshape": lambda x, shape: torch.reshape(x, shape),
        "rint": torch.round,
        "scatter_add": _scatter,
        "sign": torch.sgn,
        "stop_gradient": lambda x: x.detach(),
        "sum": _sum,
        "transpose": lambda x, axes: torch.permute(x, axes),
    }


def library() -> Library:
    """What the library has for a program."""
    return Library(
        name="torch",
        module=torch,
        table=_table(),
        home=_home,
        array=_array,
        constant=_constant,
        own=torch.clone,
        call=eager.call,
        branch=eager.branch,
        loop=eager.loop(torch.stack, _empty),
        ruled=_ruled,
        transposes=False,
        lengths=True,
        compile=lambda run: torch.compile(_whole(run)),
        compiled=False,
        warn=lambda types: None,
        whole=_whole,
    )
