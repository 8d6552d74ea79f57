"""Nested dual numbers over NumPy's arrays, and transforms made of them: the reference of nested transforms.

Each derivative has a tag of its own, so that no perturbation is taken for another. All is forward mode: a
gradient is one run for each entry of its argument.
"""

import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optree

_TAGS = itertools.count(1)


class Dual:
    """``value + slope * epsilon``, with the epsilon of one derivative; either may be of other derivatives."""

    __array_priority__ = 1000

    def __init__(self, tag: int, value: Any, slope: Any) -> None:
        self.tag, self.value, self.slope = tag, value, slope
        self.shape = np.shape(value)

    def __getitem__(self, index: Any) -> Any:
        return applied("getitem", self, index)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any) -> Any:
        return applied(ufunc.__name__, *args)

    def __array_function__(self, f: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        return applied(f.__name__, *args, **kwargs)


def _operator(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    return lambda x, y: applied(name, *((y, x) if swapped else (x, y)))


for _name, _ufunc in {
    **{"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"},
    "matmul": "matmul",
}.items():
    setattr(Dual, f"__{_name}__", _operator(_ufunc))
    setattr(Dual, f"__r{_name}__", _operator(_ufunc, swapped=True))
for _name, _ufunc in {"gt": "greater", "lt": "less"}.items():
    setattr(Dual, f"__{_name}__", _operator(_ufunc))
Dual.__neg__ = lambda self: applied("negative", self)  # type: ignore[attr-defined]
Dual.__pow__ = lambda self, n: applied("power", self, n)  # type: ignore[attr-defined]

LINEAR = ("negative", "sum", "cumsum", "getitem", "broadcast_to", "reshape", "moveaxis")
BILINEAR = ("multiply", "matmul", "outer")
QUESTIONS = ("greater", "less", "shape", "size", "ndim")
PARTIALS: dict[str, tuple[Callable[..., Any], ...]] = {
    "add": (lambda z, x, y: 1.0, lambda z, x, y: 1.0),
    "subtract": (lambda z, x, y: 1.0, lambda z, x, y: -1.0),
    "divide": (lambda z, x, y: 1.0 / y, lambda z, x, y: -z / y),
    "power": (lambda z, x, n: n * x ** (n - 1) if n > 1 else 1.0,),
    "sin": (lambda z, x: np.cos(x),),
    "cos": (lambda z, x: -np.sin(x),),
    "tanh": (lambda z, x: 1.0 - z * z,),
    "exp": (lambda z, x: z,),
    "sqrt": (lambda z, x: 0.5 / z,),
    "maximum": (
        lambda z, x, y: 0.5 + 0.5 * np.sign(plain(x) - plain(y)),
        lambda z, x, y: 0.5 + 0.5 * np.sign(plain(y) - plain(x)),
    ),
}


def plain(x: Any) -> Any:
    """The number or array without its derivatives."""
    while isinstance(x, Dual):
        x = x.value
    return x


def applied(name: str, *args: Any, **kwargs: Any) -> Any:
    """An operation on dual numbers, by its derivative in the newest of their tags."""
    run: Any = (lambda x, index: x[index]) if name == "getitem" else getattr(np, name)
    if name in QUESTIONS:
        return run(*map(plain, args))
    items = list(args[0]) if name == "stack" else list(args)
    tag = max(x.tag for x in items if isinstance(x, Dual))
    values = [x.value if _is_of(x, tag) else x for x in items]
    slopes = [x.slope if _is_of(x, tag) else np.zeros(np.shape(x)) for x in items]
    if name == "stack":
        return Dual(tag, run(values, *args[1:], **kwargs), run(slopes, *args[1:], **kwargs))
    if name == "where":
        condition = plain(args[0])
        return Dual(tag, run(condition, *values[1:]), run(condition, *slopes[1:]))
    z = run(*values, **kwargs)
    if name in LINEAR:
        return Dual(tag, z, run(slopes[0], *args[1:], **kwargs))
    slope: Any = 0.0
    for k in [k for k, x in enumerate(items) if _is_of(x, tag)]:
        if name in BILINEAR:
            slope = slope + run(*values[:k], slopes[k], *values[k + 1 :])
        else:
            slope = slope + PARTIALS[name][k](z, *values) * slopes[k]
    return Dual(tag, z, np.broadcast_to(slope, np.shape(z)))


def _is_of(x: Any, tag: int) -> bool:
    return isinstance(x, Dual) and x.tag == tag


# -- transforms ----------------------------------------------------------------------------------
def jvp(f: Any, primals: Any, tangents: Any) -> Any:
    tag = next(_TAGS)
    out = f(*optree.tree_map(lambda x, v: Dual(tag, x, v), tuple(primals), tuple(tangents)))
    values = optree.tree_map(lambda x: x.value if _is_of(x, tag) else x, out)
    zeros = optree.tree_map(lambda x: x.slope if _is_of(x, tag) else np.zeros(np.shape(x)), out)
    return values, zeros


def directions(tree: Any) -> Iterator[Any]:
    """The trees with one entry 1 and the others 0."""
    leaves, spec = optree.tree_flatten(tree)
    for k, leaf in enumerate(leaves):
        for index in np.ndindex(*np.shape(leaf)):
            ones = [np.zeros(np.shape(x)) for x in leaves]
            ones[k][index] = 1.0
            yield optree.tree_unflatten(spec, ones)


def jacobian(f: Any, argnums: Any = 0) -> Any:
    """As that of funcgrad, for a result that is one array."""
    nums = argnums if isinstance(argnums, tuple) else (argnums,)

    def jacobian_of(*args: Any) -> Any:
        def of_chosen(*chosen: Any) -> Any:
            given = dict(zip(nums, chosen, strict=True))
            return f(*[given.get(k, arg) for k, arg in enumerate(args)])

        chosen = tuple(args[k] for k in nums)
        columns = [jvp(of_chosen, chosen, direction)[1] for direction in directions(chosen)]
        leaves, spec = optree.tree_flatten(chosen)
        taken, parts = iter(columns), []
        for leaf in leaves:
            own = [next(taken) for _ in range(np.size(plain(leaf)))]
            rows = np.stack(own, axis=-1)
            shape = np.shape(plain(own[0])) + np.shape(plain(leaf))
            parts.append(np.reshape(rows, shape))
        result = optree.tree_unflatten(spec, parts)
        return result if isinstance(argnums, tuple) else result[0]

    return jacobian_of


grad = jacfwd = jacrev = jacobian


def value_and_grad(f: Any, argnums: Any = 0) -> Any:
    return lambda *args: (f(*args), grad(f, argnums)(*args))


def hessian(f: Any) -> Any:
    return jacobian(jacobian(f))


def hvp(f: Any, primals: Any, tangents: Any) -> Any:
    return jvp(grad(f), primals, tangents)[1]


def vjp(f: Any, *primals: Any) -> Any:
    every = tuple(range(len(primals)))

    def pullback(cotangent: Any) -> Any:
        return grad(lambda *args: np.sum(f(*args) * cotangent), every)(*primals)

    return f(*primals), pullback


def linearize(f: Any, *primals: Any) -> Any:
    return f(*primals), lambda *tangents: jvp(f, primals, tangents)[1]


def vmap(f: Any, in_axes: Any, out_axes: int = 0) -> Any:
    def mapped(*args: Any) -> Any:
        pairs = list(zip(args, in_axes, strict=True))
        length = next(x.shape[axis] for x, axis in pairs if axis is not None)
        rows = [x if axis is None else np.moveaxis(x, axis, 0) for x, axis in pairs]
        examples = [
            f(*[x if axis is None else x[i] for x, axis in zip(rows, in_axes, strict=True)])
            for i in range(length)
        ]
        return np.stack(examples, axis=out_axes)

    return mapped


def jit(f: Any) -> Any:
    return f


def stop_gradient(x: Any) -> Any:
    return plain(x)


def cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any) -> Any:
    return true_fun(*operands) if pred else false_fun(*operands)


def scan(f: Any, init: Any, xs: Any) -> Any:
    outputs = []
    for k in range(len(plain(xs))):
        init, y = f(init, xs[k])
        outputs.append(y)
    return init, np.stack(outputs)


def fori_loop(lower: int, upper: int, body: Any, value: Any) -> Any:
    for k in range(lower, upper):
        value = body(k, value)
    return value


def while_loop(goes_on: Any, body: Any, value: Any) -> Any:
    while goes_on(value):
        value = body(value)
    return value


def with_rule(f: Any, kind: str) -> Any:
    return f


transforms = types.SimpleNamespace(
    **{
        **{"grad": grad, "value_and_grad": value_and_grad, "hessian": hessian, "hvp": hvp},
        **{"jacobian": jacobian, "jacfwd": jacfwd, "jacrev": jacrev, "jvp": jvp, "vjp": vjp},
        **{"linearize": linearize, "vmap": vmap, "jit": jit, "checkpoint": jit, "cond": cond},
        **{"stop_gradient": stop_gradient, "scan": scan, "fori_loop": fori_loop},
        **{"while_loop": while_loop, "with_rule": with_rule},
    }
)
