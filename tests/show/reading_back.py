"""Formulas read as NumPy code: the names that they may use, and the value of what is printed."""

import warnings
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.text import let_form


class Array(np.ndarray):
    """An array whose copies with stores are made as those of expressions are."""

    @property
    def at(self) -> "_At":
        return _At(self)


class _At:
    def __init__(self, array: Any, index: Any = None) -> None:
        self.array, self.index = array, index

    def __getitem__(self, index: Any) -> "_At":
        return _At(self.array, index)

    def set(self, value: Any) -> Any:
        made = np.array(self.array)
        made[self.index] = value
        return made.view(Array)

    def add(self, value: Any) -> Any:
        made = np.array(self.array)
        np.add.at(made, self.index, value)
        return made.view(Array)


def _of_funcgrad(name: str) -> Any:
    """A function of funcgrad's own on arrays, such as ``sigmoid``."""

    def function(*args: Any, **params: Any) -> Any:
        types = [np.asarray(arg) for arg in args]
        stands = [fg.var(f"x{i}", a.shape, a.dtype) for i, a in enumerate(types)]
        made = getattr(fg, name)(*stands, **params)
        return fg.evaluate(made, {f"x{i}": a for i, a in enumerate(types)})

    return function


SCOPE: dict[str, Any] = {name: getattr(np.linalg, name) for name in np.linalg.__all__}
SCOPE |= {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
SCOPE |= {"bool": np.bool_, "norm": lambda x, axis=None: _norm(x, axis)}
SCOPE |= {
    name: lambda *a, f=f: f(*a).view(Array)
    for name, f in (
        ("zeros", np.zeros),
        ("ones", np.ones),
        ("full", np.full),
        ("array", np.array),
        ("where", np.where),
    )
}
SCOPE |= {
    name: _of_funcgrad(name) for name in ("sigmoid", "softplus", "xlogx", "logsumexp", "softmax")
}


def _norm(x: Any, axis: Any) -> Any:
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis))


def read_back(expr: fg.Expr, values: dict[str, Any]) -> Any:
    """The value of what is printed of an expression, each line evaluated as Python."""
    lines, root = let_form(expr)
    scope = SCOPE | {
        name: np.array(value, copy=True).view(Array) if np.ndim(value) else value
        for name, value in values.items()
    }
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, body in lines:
            value = eval(body, scope)
            scope[name] = value.view(Array) if isinstance(value, np.ndarray) else value
        return eval(root, scope)


def check_read_back(expr: fg.Expr, values: dict[str, Any], exact: bool = True) -> None:
    """What is printed has the value, the shape and the dtype of the expression.

    ``exact``: it is printed as it runs. Else only entries that are finite on both sides are compared.
    """
    used = {name: values[name] for name in variables(expr)}
    wanted = np.asarray(fg.evaluate(expr, used))
    wanted = wanted.astype(expr.dtype, copy=False)
    found = np.asarray(read_back(expr, used))
    shown = f"\n{expr!r}\nfor {used}"
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), (
        f"it is {wanted.dtype}{wanted.shape}, but reads as {found.dtype}{found.shape}{shown}"
    )
    if wanted.dtype.kind in "biu":
        assert np.array_equal(found, wanted), f"{wanted} reads as {found}{shown}"
        return
    compared = np.full(wanted.shape, True) if exact else np.isfinite(wanted) & np.isfinite(found)
    kind = np.finfo(wanted.dtype)
    scale = max(1.0, float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)))
    np.testing.assert_allclose(
        found[compared],
        wanted[compared],
        rtol=float(kind.eps) * 64,
        atol=float(kind.eps) * 64 * scale,
        err_msg=shown,
    )
