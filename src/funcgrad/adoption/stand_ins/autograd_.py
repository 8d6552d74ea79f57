"""``autograd`` for adopted code: its derivatives of functions, taken by the transforms of this package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import autograd as _autograd
import numpy as np

from funcgrad.adoption.transforms import returning_writable
from funcgrad.transforms.grad import grad as _grad
from funcgrad.transforms.grad import value_and_grad as _value_and_grad
from funcgrad.transforms.jacobian import jacobian as _jacobian
from funcgrad.transforms.jvp import jvp
from funcgrad.typing import Array

_Function = Callable[..., Any]
_Argnum = int | Sequence[int]


def _argnums(argnum: _Argnum) -> Any:
    return argnum if isinstance(argnum, int) else tuple(argnum)


def _scalar(fun: _Function) -> _Function:
    """A function whose result may be an array of one entry."""
    return lambda *args, **kwargs: np.reshape(fun(*args, **kwargs), ())


def grad(fun: _Function, argnum: _Argnum = 0) -> _Function:
    """As `autograd.grad`."""
    return returning_writable(_grad(_scalar(fun), _argnums(argnum)))


def value_and_grad(fun: _Function, argnum: _Argnum = 0) -> _Function:
    """As `autograd.value_and_grad`."""
    return returning_writable(_value_and_grad(_scalar(fun), _argnums(argnum)))


def elementwise_grad(fun: _Function, argnum: _Argnum = 0) -> _Function:
    """As `autograd.elementwise_grad`: the gradient of the sum of the result."""
    return grad(lambda *args, **kwargs: np.sum(fun(*args, **kwargs)), argnum)


def jacobian(fun: _Function, argnum: int = 0) -> _Function:
    """As `autograd.jacobian`."""
    return returning_writable(_jacobian(fun, argnum))


def hessian(fun: _Function, argnum: int = 0) -> _Function:
    """As `autograd.hessian`: of a result of one entry, or of many."""
    return jacobian(jacobian(fun, argnum), argnum)


def deriv(fun: _Function, argnum: int = 0) -> _Function:
    """As `autograd.deriv`: the derivative in the direction of ones."""

    def of_ones(*args: Array, **kwargs: object) -> Any:
        def of_one(x: object) -> Any:
            return fun(*args[:argnum], x, *args[argnum + 1 :], **kwargs)

        return jvp(of_one, (args[argnum],), (np.ones(np.shape(args[argnum])),))[1]

    return returning_writable(of_ones)


def hessian_tensor_product(fun: _Function, argnum: int = 0) -> _Function:
    """As `autograd.hessian_tensor_product`."""
    gradient = grad(fun, argnum)

    def product(*args: Array, **kwargs: object) -> Any:
        *rest, vector = args
        return np.tensordot(gradient(*rest, **kwargs), vector, np.ndim(vector))

    return grad(product, argnum)


def tensor_jacobian_product(fun: _Function, argnum: int = 0) -> _Function:
    """As `autograd.tensor_jacobian_product`."""

    def product(*args: Array, **kwargs: object) -> Any:
        *rest, vector = args
        return np.tensordot(vector, fun(*rest, **kwargs), np.ndim(vector))

    return jacobian(product, argnum)


def made_by_autograd(derivative: Any, adopted: Callable[[Any], Any]) -> Any:
    """The derivative that this module makes in the place of one that autograd has made, where it can."""
    held = dict(zip(derivative.__code__.co_freevars, derivative.__closure__, strict=True))
    known = {name: cell.cell_contents for name, cell in held.items()}
    own: Any = globals().get(getattr(known["unary_operator"], "__name__", ""))
    if getattr(own, "__module__", None) != __name__:
        return derivative
    further, named = known["nary_op_args"], known["nary_op_kwargs"]
    return own(adopted(known["fun"]), known["argnum"], *further, **named)


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product
globals().update({name: value for name, value in vars(_autograd).items() if name not in globals()})
