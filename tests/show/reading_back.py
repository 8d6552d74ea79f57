"""Formulas read as NumPy code: the names that they may use, and the value of what is printed."""

import warnings
from typing import Any

import numpy as np
from scipy import special

import funcgrad as fg
from funcgrad.expr import is_derived, subexpressions
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.text import let_forms


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


def _array(value: Any) -> Any:
    """An array with `at`; others stay as they are, since NumPy makes numbers of arrays without axes."""
    return value.view(Array) if isinstance(value, np.ndarray) and value.ndim else value


def _of_funcgrad(name: str) -> Any:
    """A function of funcgrad's own on arrays, such as ``sigmoid``."""

    def function(*args: Any, **params: Any) -> Any:
        types = [np.asarray(arg) for arg in args]
        stands = [fg.var(f"x{i}", a.shape, a.dtype) for i, a in enumerate(types)]
        made = getattr(fg, name)(*stands, **params)
        return fg.evaluate(made, {f"x{i}": a for i, a in enumerate(types)})

    return function


def _with_stores(function: Any) -> Any:
    """A function of NumPy's whose results have `at`."""

    def call(*args: Any, **params: Any) -> Any:
        return _array(function(*args, **params))

    return call


NUMPY = {name: getattr(np.linalg, name) for name in np.linalg.__all__}
NUMPY |= {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
SCOPE: dict[str, Any] = {
    name: _with_stores(value) if callable(value) and not isinstance(value, type) else value
    for name, value in NUMPY.items()
}
SCOPE |= {name: getattr(np.fft, name) for name in ("fft", "ifft", "rfft", "irfft")}
SCOPE |= {
    "xlogy": special.xlogy,
    "bool": np.bool_,
    "norm": lambda x, axis=None, **keepdims: _norm(x, axis, **keepdims),
}
SCOPE |= {name: _of_funcgrad(name) for name in ("sigmoid", "softplus", "logsumexp", "softmax")}


def _norm(x: Any, axis: Any, **keepdims: bool) -> Any:
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis, **keepdims))


def read_back(printed: tuple[list[tuple[str, str]], str], values: dict[str, Any]) -> Any:
    """The value of a printed expression, its named parts and itself, each evaluated as Python."""
    lines, root = printed
    scope = SCOPE | {
        name: _array(np.array(value, copy=True)) if np.ndim(value) else value
        for name, value in values.items()
    }
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, body in lines:
            scope[name] = _array(eval(body, scope))
        return eval(root, scope)


def check_read_back(expr: fg.Expr, *cases: dict[str, Any]) -> None:
    """What is printed has the value, the shape and the dtype of the expression, for values of its variables.

    A program is printed as it runs. Of a derived formula only entries that are finite on both sides are
    compared, to the precision of its coarsest dtype, since its operations are printed in another order.
    """
    lines, (root,) = let_forms([expr])
    names, derived = variables(expr), is_derived(expr)
    eps = max(map(_eps, subexpressions(expr) if derived else [expr]))
    for values in cases:
        used = {name: values[name] for name in names}
        wanted = np.asarray(fg.evaluate(expr, used))
        wanted = wanted.astype(expr.dtype, copy=False)
        found = np.asarray(read_back((lines, root), used))
        shown = f"\n{lines} in {root}\nfor {used}"
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), (
            f"it is {wanted.dtype}{wanted.shape}, but reads as {found.dtype}{found.shape}{shown}"
        )
        if wanted.dtype.kind in "biu":
            assert np.array_equal(found, wanted), f"{wanted} reads as {found}{shown}"
            continue
        compared = (
            np.isfinite(wanted) & np.isfinite(found) if derived else np.full(wanted.shape, True)
        )
        scale = max(1.0, float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)))
        np.testing.assert_allclose(
            found[compared], wanted[compared], rtol=eps * 64, atol=eps * 64 * scale, err_msg=shown
        )
        if not derived:
            check_signs_of_zeros(found, wanted, shown)


def check_source(expr: fg.Expr, values: dict[str, Any]) -> None:
    """The source of an expression has its value, shape and dtype: it is written as it runs."""
    used = {name: values[name] for name in variables(expr)}
    wanted = np.asarray(fg.evaluate(expr, used)).astype(expr.dtype, copy=False)
    source, space = fg.to_python(expr, "program"), {}
    exec(source, space)
    found = np.asarray(space["program"](**used))
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), source
    eps = _eps(expr) if expr.dtype.kind == "c" else 0.0  # NumPy multiplies scalars by other code
    np.testing.assert_allclose(found, wanted, rtol=eps * 64, atol=eps * 64, err_msg=source)
    check_signs_of_zeros(found, wanted, source)


def check_signs_of_zeros(found: Any, wanted: Any, shown: str) -> None:
    for part in (np.real, np.imag) if wanted.dtype.kind == "c" else (np.asarray,):
        zero = part(wanted) == 0
        signs = [np.signbit(part(array)[zero]) for array in (found, wanted)]
        assert np.array_equal(*signs), f"{wanted} reads as {found}{shown}"


def _eps(expr: fg.Expr) -> float:
    return float(np.finfo(expr.dtype).eps) if expr.dtype.kind in "fc" else 0.0
