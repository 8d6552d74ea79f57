"""Attributes of other libraries' values that expressions lack: each says what to write instead."""

from __future__ import annotations

from typing import Any, Never

from funcgrad.expr.concrete import kept_for_users
from funcgrad.source import fail


class Elsewhere:
    """An attribute of other libraries: reading it is an AttributeError that names what does the same."""

    __slots__ = ("_instead", "_name")

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Never:
        # Python would suggest a name of its own for an error that has `name` and `obj`.
        raise fail(
            AttributeError, f"an expression has no attribute {self._name!r}; write {self._instead}"
        )


class OfArrays(Elsewhere):
    """A method by which NumPy changes an array: code that catches the error is not as with an array."""

    __slots__ = ()

    def __get__(self, instance: Any, owner: type | None = None) -> Never:
        try:
            super().__get__(instance, owner)
        except AttributeError as refusal:
            raise kept_for_users(instance, refusal) from None


class OtherLibraries:
    """The attributes, which are no part of `dir`.

    >>> import funcgrad as fg
    >>> hasattr(fg.var("x"), "backward")
    False
    """

    __slots__ = ()

    abs = Elsewhere("abs(x)")
    add = Elsewhere("x + y")
    backward = Elsewhere("fg.gradient(e), or fg.backprop(e) for all nodes")
    children = Elsewhere("e.args for the operands")
    clamp = Elsewhere("np.clip(x, low, high)")
    clone = Elsewhere("x.copy()")
    cos = Elsewhere("np.cos(x)")
    cpu = Elsewhere("x: arrays are NumPy's")
    derivative = Elsewhere("fg.gradient(e, x)")
    detach = Elsewhere("fg.stop_gradient(x)")
    diff = Elsewhere("fg.gradient(e, x)")
    dim = Elsewhere("x.ndim")
    double = Elsewhere("x.astype(np.float64)")
    evalf = Elsewhere("e(x=2.0)")
    exp = Elsewhere("np.exp(x)")
    expand = Elsewhere("fg.to_sympy(e).expand()")
    factor = Elsewhere("fg.to_sympy(e).factor()")
    float = Elsewhere("x.astype(np.float32)")
    free_symbols = Elsewhere("fg.gradient(e).keys() for the names of the variables")
    func = Elsewhere("e.op for the operation, e.args for its operands")
    grad = Elsewhere("fg.gradient(e, x), or fg.grad(f) for a function")
    grad_fn = Elsewhere("fg.edges(e) for the derivative on each edge")
    index_add = Elsewhere("x.at[i].add(v)")
    integrate = Elsewhere("fg.to_sympy(e).integrate()")
    is_leaf = Elsewhere("not e.args")
    jacobian = Elsewhere("fg.jacobian(f).expr(x), with a function f of the variables")
    lambdify = Elsewhere("e(x=2.0), or fg.to_python(e)")
    log = Elsewhere("np.log(x)")
    masked_fill = Elsewhere("np.where(mask, v, x)")
    matmul = Elsewhere("x @ y")
    mm = Elsewhere("x @ y")
    mul = Elsewhere("x * y")
    norm = Elsewhere("np.linalg.norm(x)")
    numpy = Elsewhere("e(x=2.0) for the value at x = 2")
    permute = Elsewhere("x.transpose(1, 0)")
    pow = Elsewhere("x**2")
    register_hook = Elsewhere("fg.custom_vjp of x, whose bwd gets the cotangent")
    relu = Elsewhere("fg.relu(x)")
    requires_grad = Elsewhere("fg.grad(f): its arguments are the variables")
    requires_grad_ = Elsewhere("fg.grad(f): its arguments are the variables")
    series = Elsewhere("fg.taylor(f, 0.0, order=4), or fg.to_sympy(e).series()")
    sigmoid = Elsewhere("fg.sigmoid(x)")
    simplify = Elsewhere("fg.simplify(e)")
    sin = Elsewhere("np.sin(x)")
    softmax = Elsewhere("scipy.special.softmax(x, axis=-1)")
    sqrt = Elsewhere("np.sqrt(x)")
    subs = Elsewhere("e(x=2.0), or fg.substitute(e, x=2.0) for a formula")
    t = Elsewhere("x.T")
    tanh = Elsewhere("np.tanh(x)")
    to = Elsewhere("x.astype(dtype); arrays are NumPy's")
    unsqueeze = Elsewhere("np.expand_dims(x, axis)")
    zero_grad = Elsewhere("fg.gradient(e), which accumulates nothing")
    _op = Elsewhere("e.op")
    _prev = Elsewhere("e.args")


class ArrayAttributes:
    """The attributes of NumPy's arrays that expressions lack."""

    __slots__ = ()

    data = Elsewhere("e(x=2.0) for the value at x = 2")
    fill = OfArrays("np.full(x.shape, v)")
    partition = OfArrays("np.partition(x, k)")
    put = OfArrays("x.at[i].set(v)")
    resize = OfArrays("np.resize(x, shape)")
    setflags = OfArrays("x without it: an expression is immutable")
    sort = OfArrays("np.sort(x)")
    view = Elsewhere("x.reshape(2, 3), or x.real and x.imag for the parts of complex numbers")
