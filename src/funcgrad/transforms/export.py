"""Functions of another library's arrays: a NumPy function, traced by funcgrad, on JAX's or PyTorch's.

A function is traced on shapes and dtypes alone, once for each that it meets, and becomes a program in the
library's namespace. So it may be called where there are no values, as under `jax.jit`. Batches and devices
are the library's own affair; derivatives are JAX's by funcgrad's rules, and PyTorch's by its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import optree

from funcgrad.expr import Expr, subexpressions
from funcgrad.graph import CONSTANT, ArrayType, Key
from funcgrad.ops.op import differentiable
from funcgrad.program.namespaces import compile_namespace, library_of
from funcgrad.program.namespaces.guard import guarded
from funcgrad.program.share import share_bodies
from funcgrad.program.simplify import simplify_all
from funcgrad.program.substitute import substitute_all
from funcgrad.source import fail
from funcgrad.trace import names_of
from funcgrad.transforms.control.body import Body, body_of, pushed, symbol, symbols, trace_body
from funcgrad.transforms.grad import _check_function, _named_after
from funcgrad.trees import Tree, _is_own, flatten, own_children


def to_jax(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, written for NumPy, as a function of JAX arrays, for use under `jax.jit`, `jax.grad`, `jax.vmap`.

    Arguments and results are trees of arrays. f runs once for each structure, shapes and dtypes that it
    is called with, and knows no values: choose with ``np.where``, `cond` and `scan`. What is neither an
    array nor a float, such as an int or a string, is known to f, and counts by value; a Python float takes
    the dtype of the arrays beside it. What f captures counts as it was in that run. Called with
    expressions, it is f.

    JAX differentiates it by funcgrad's rules, ties and singular points included; a rule of `custom_vjp`
    must be linear in the cotangent, since JAX transposes it. JAX computes in float32 unless
    ``jax_enable_x64`` is set, raises for no index out of bounds and no singular matrix, and has no
    derivative of a `while_loop` in reverse.

    Raises TypeError where f asks for a value, or uses an operation that JAX has no function for;
    ImportError without JAX.

    >>> import pytest, funcgrad as fg
    >>> jax = pytest.importorskip("jax")
    >>> f = to_jax(lambda x: fg.where(x > 0, fg.sqrt(x), 0))
    >>> float(jax.grad(f)(4.0)), float(jax.grad(f)(0.0))
    (0.25, 0.0)
    """
    _check_function("to_jax", f)
    return _exported(f, "jax", _jax_type)


def to_torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, written for NumPy, as a function of PyTorch tensors, on the device of the first, open to autograd.

    Arguments and results are trees of tensors. As in `to_jax`, f runs once for each structure, shapes and
    dtypes, and knows no values; what is neither an array nor a float counts by value. A Python float takes
    the dtype of the tensors beside it, or torch's default. Loops and branches of funcgrad run in Python.

    Autograd differentiates the tensor program by PyTorch's rules, those of `custom_vjp` and `custom_jvp`
    excepted. For funcgrad's at singular points take `to_torch(grad(f))`.

    Raises TypeError where f asks for a value, uses an operation that PyTorch has no function for, or gets a
    tensor of a dtype that NumPy has not, such as bfloat16; ImportError without PyTorch.

    >>> import pytest, funcgrad as fg
    >>> torch = pytest.importorskip("torch")
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> to_torch(lambda x: fg.logsumexp(x**2))(x).backward()
    >>> x.grad
    tensor([0.0949, 3.8103])
    """
    _check_function("to_torch", f)
    return _exported(f, "torch", _torch_type)


def on_cupy(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, written for NumPy, as a function of CuPy arrays, on the current device; NumPy's are brought there.

    As in `to_jax`, f runs once for each structure, shapes and dtypes, and knows no values.

    Raises TypeError where f asks for a value or uses an operation that CuPy has no function for; ImportError
    without CuPy.
    """
    _check_function("jit", f)
    return _exported(f, "cupy", _cupy_type)


# Programs kept by one function: as many signatures.
_KEPT = 64


class _Exported(NamedTuple):
    run: Callable[..., tuple[Any, ...]]
    captured: list[Any]
    rebuild: Callable[[Sequence[Any]], Any]


def _exported(
    f: Callable[..., Any], backend: str, type_of: Callable[[Any], ArrayType | None]
) -> Callable[..., Any]:
    library_of(backend)  # a missing library is told of here, not in the first call
    programs: OrderedDict[Any, _Exported] = OrderedDict()
    lock = Lock()

    @_named_after(f)
    def exported(*args: Any, **kwargs: Any) -> Any:
        trees = _trees(f, args, kwargs)
        leaves = [leaf for tree in trees for leaf in tree.leaves]
        if any([isinstance(leaf, Expr) for leaf in leaves]):
            return f(*args, **kwargs)
        types = _with_floats([type_of(leaf) for leaf in leaves], leaves, backend)
        signature = (
            structure((args, kwargs)),
            *[t or _static(backend, v) for t, v in zip(types, leaves, strict=True)],
        )
        with lock:
            found = programs.get(signature)
            if found is not None:
                programs.move_to_end(signature)
        if found is None:
            found = _made(f, backend, trees, sorted(kwargs), leaves, types)
            with lock:
                programs[signature] = found
                if len(programs) > _KEPT:
                    programs.popitem(last=False)
        given = [v for v, t in zip(leaves, types, strict=True) if t is not None]
        return found.rebuild(found.run(*given, *found.captured))

    return exported


def _trees(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[Tree]:
    named = zip(args, names_of(f, len(args)), strict=True)
    return [
        *[flatten(arg, name) for arg, name in named],
        *[flatten(kwargs[name], name) for name in sorted(kwargs)],
    ]


def _made(
    f: Callable[..., Any],
    backend: str,
    trees: Sequence[Tree],
    keywords: Sequence[str],
    leaves: Sequence[Any],
    types: Sequence[ArrayType | None],
) -> _Exported:
    """f traced on stand-ins for the leaves that have types, and compiled for the library."""
    given = [i for i, t in enumerate(types) if t is not None]
    paths = [path for tree in trees for path in tree.paths]
    fixed = [None if t is not None else leaf for leaf, t in zip(leaves, types, strict=True)]

    def on(traced: Sequence[Any]) -> Any:
        values = list(fixed)
        for i, value in zip(given, traced, strict=True):
            values[i] = value
        rest = iter(values)
        built = [tree.rebuild([next(rest) for _ in tree.leaves]) for tree in trees]
        count = len(built) - len(keywords)
        return f(*built[:count], **dict(zip(keywords, built[count:], strict=True)))

    tree = Tree([None] * len(given), list, [paths[i] for i in given])
    stand_ins = symbols([tree], [t for t in types if t is not None])
    body, captured, output = trace_body(on, [tree], stand_ins)
    if any([isinstance(value, Expr) for value in captured]):
        raise fail(
            TypeError,
            f"to_{backend}: expected a function of its arguments, but it depends on a value of a trace "
            "around it; hand that in as an argument",
        )
    run = _with_own_derivatives(body) if backend == "jax" else _compiled(body, backend)
    return _Exported(run, captured, flatten(output).rebuild)


def _compiled(body: Body, backend: str) -> Callable[..., tuple[Any, ...]]:
    return compile_namespace(share_bodies(body.outputs), body.inputs, backend)


def _with_own_derivatives(body: Body) -> Callable[..., tuple[Any, ...]]:
    """A body in JAX, where it is differentiated by funcgrad's rules: its tangents are such programs, too.

    So points where a derivative is a choice or a limit, and rules of a user's own, count as they do here,
    to every order. JAX transposes what is linear.
    """
    jax = import_module("jax")
    function: Any = jax.custom_jvp(_compiled(body, "jax"))
    derived: dict[tuple[int, ...], _Tangents] = {}

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        still = jax.custom_derivatives.SymbolicZero
        active = tuple(
            [
                i
                for i, (x, t) in enumerate(zip(body.inputs, tangents, strict=True))
                if not isinstance(t, still) and differentiable(x.dtype)
            ]
        )
        if active not in derived:
            derived[active] = _tangents(body, active)
        known, linear, flows = derived[active]
        found = known(*primals)
        values, beside = found[: len(flows)], found[len(flows) :]
        rest = iter(linear(*beside, *[tangents[i] for i in active]))
        zero = jax.custom_derivatives.zero_from_primal
        return values, tuple(
            [next(rest) if flow else zero(v) for flow, v in zip(flows, values, strict=True)]
        )

    function.defjvp(rule, symbolic_zeros=True)
    run: Callable[..., tuple[Any, ...]] = function
    return run


class _Tangents(NamedTuple):
    """The outputs and what the tangents are made of, the linear rest, and which outputs have tangents."""

    known: Callable[..., tuple[Any, ...]]
    linear: Callable[..., tuple[Any, ...]]
    flows: list[bool]


def _tangents(body: Body, active: Sequence[int]) -> _Tangents:
    """A body's tangents, in two parts, of which JAX transposes the second alone.

    The first has derivatives of its own by funcgrad's rules, in whichever order JAX takes them.
    """
    tangents, moved = pushed(body, active)
    flows = [flow for flow in moved if flow is not None]
    roots = guarded(simplify_all(flows))
    depends = {t.key for t in tangents}
    beside: dict[Key, Expr] = {}
    for expr in subexpressions(*roots):
        if any([arg.key in depends for arg in expr.args]):
            depends.add(expr.key)
            beside |= {arg.key: arg for arg in expr.args if arg.key not in depends}
    beside |= {root.key: root for root in roots if root.key not in depends}
    given = {k: e for k, e in beside.items() if e.op is not CONSTANT and e.dtype.kind != "O"}
    names = {key: symbol(f"k{i}", e.type) for i, (key, e) in enumerate(given.items())}
    linear = body_of([*names.values(), *tangents], substitute_all(roots, names))
    known = body_of(body.inputs, [*body.outputs, *given.values()])
    return _Tangents(
        _with_own_derivatives(known),
        _compiled(linear, "jax"),
        [flow is not None for flow in moved],
    )


# -- signatures ----------------------------------------------------------------------------------
def structure(tree: Any) -> Any:
    """What two trees share that differ in their leaves alone: hashable.

    >>> structure([1.0, (2.0,)]) == structure([3.0, (4.0,)])
    True
    >>> structure([1.0, (2.0,)]) == structure([1.0, [2.0]])
    False
    """
    parts = own_children(tree)
    if parts is not None:
        labels, items, _ = parts
        return type(tree), tuple(labels), tuple([structure(item) for item in items])
    items, spec = optree.tree_flatten(tree, is_leaf=_is_own)
    if len(items) == 1 and items[0] is tree:
        return None
    return spec, tuple([structure(item) for item in items])


def _static(backend: str, value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        raise fail(
            TypeError,
            f"to_{backend}: expected arrays, numbers and hashable values, but got {type(value).__name__}",
        ) from None
    return type(value), value


def _with_floats(
    types: Sequence[ArrayType | None], leaves: Sequence[Any], backend: str
) -> list[ArrayType | None]:
    """The types, with those of Python's floats, which follow the arrays'."""
    known = [t.dtype for t in types if t is not None and t.dtype.kind in "fc"]
    widest = np.result_type(*known) if known else _DEFAULT[backend]()
    return [
        ArrayType((), np.result_type(widest, type(leaf)(0)))
        if type(leaf) in (float, complex)
        else t
        for t, leaf in zip(types, leaves, strict=True)
    ]


def _default_of_jax() -> np.dtype[Any]:
    jax = import_module("jax")
    dtype: np.dtype[Any] = np.dtype(jax.dtypes.canonicalize_dtype(float))
    return dtype


def _default_of_torch() -> np.dtype[Any]:
    torch = import_module("torch")
    return np.dtype(str(torch.get_default_dtype()).removeprefix("torch."))


_DEFAULT: dict[str, Callable[[], np.dtype[Any]]] = {
    "jax": _default_of_jax,
    "torch": _default_of_torch,
    "cupy": lambda: np.dtype(float),
}


def _jax_type(value: Any) -> ArrayType | None:
    """The type of an array, JAX's or NumPy's, or of what JAX has in its place while it traces."""
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        return None
    jax = import_module("jax")
    try:
        dtype = np.dtype(jax.dtypes.canonicalize_dtype(value.dtype))
    except (TypeError, ValueError):
        dtype = _NOT_NUMPYS
    return _checked("jax", ".astype(float)", value, dtype)


def _torch_type(value: Any) -> ArrayType | None:
    if not isinstance(value, np.ndarray | np.generic | import_module("torch").Tensor):
        return None
    try:
        dtype = np.dtype(str(value.dtype).removeprefix("torch."))
    except TypeError:
        dtype = _NOT_NUMPYS
    return _checked("torch", ".float()", value, dtype)


def _cupy_type(value: Any) -> ArrayType | None:
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        return None
    return _checked("cupy", ".astype(float)", value, np.dtype(value.dtype))


_NOT_NUMPYS = np.dtype(object)


def _checked(backend: str, remedy: str, value: Any, dtype: np.dtype[Any]) -> ArrayType:
    if dtype.kind not in "biufc":
        raise fail(
            TypeError,
            f"to_{backend}: expected arrays of dtypes that NumPy has, but got {value.dtype}; convert with "
            f"{remedy}",
        )
    return ArrayType(tuple(value.shape), dtype)
