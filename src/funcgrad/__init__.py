"""funcgrad: a differentiable program is a value.

Plain Python and NumPy code becomes an immutable expression; running it, differentiating it and
printing it are folds over its graph.

>>> import numpy as np, funcgrad as fg
>>> fg.grad(lambda x: np.sin(x) * x)(0.0)
0.0
>>> x = fg.var("x")
>>> fg.gradient(np.sin(x) * x, x)
sin(x) + x*cos(x)
"""

from types import MappingProxyType as _MappingProxyType

from funcgrad import expr as _expr
from funcgrad.expr import Expr, const, var
from funcgrad.fold import (
    COUNTING,
    LONGEST,
    MATRICES,
    REACHABLE,
    Algebra,
    Edge,
    Semiring,
    environment,
    fold,
    sum_product,
    sum_product_steps,
)
from funcgrad.graph import ArrayType, Key, Node, toposort
from funcgrad.linear import Diagonal, LinearMap
from funcgrad.ops import dispatch as _dispatch
from funcgrad.ops.dispatch import clip
from funcgrad.ops.elementwise import (
    arccos,
    arcsin,
    arctan,
    arctan2,
    cos,
    cosh,
    exp,
    expm1,
    log,
    log1p,
    logaddexp,
    maximum,
    minimum,
    relu,
    sigmoid,
    sign,
    sin,
    sinh,
    softplus,
    sqrt,
    square,
    tan,
    tanh,
    where,
)
from funcgrad.ops.reduction import log_softmax, logsumexp, softmax
from funcgrad.program.evaluate import evaluate, evaluate_all
from funcgrad.program.simplify import simplify
from funcgrad.program.substitute import substitute
from funcgrad.show.table import table
from funcgrad.show.text import text as _text
from funcgrad.testing import check_grads
from funcgrad.trace import trace
from funcgrad.transforms.accumulate import GradientMap, backprop, backprop_steps, gradient
from funcgrad.transforms.control import calls as _calls
from funcgrad.transforms.control import loops as _loops
from funcgrad.transforms.grad import (
    elementwise_grad,
    grad,
    jvp,
    stop_gradient,
    value_and_grad,
    vjp,
)
from funcgrad.transforms.jacobian import ggnvp, hessian, hvp, jacfwd, jacobian, jacrev
from funcgrad.transforms.loops import cond, fori_loop, scan, switch, while_loop
from funcgrad.transforms.vmap import vmap

_functions = _dispatch.public_functions()
_expr.assemble(
    _expr.Table(
        functions=_MappingProxyType(
            _functions
            | {
                "apply_numpy": _dispatch.apply_numpy,
                "apply_ufunc": _dispatch.apply_ufunc,
                "evaluate": evaluate,
                "text": _text,
            }
        ),
        ufuncs=_MappingProxyType(_functions),
        numpy=_dispatch.numpy_functions(_functions),
        ops=_dispatch.all_ops(_calls, _loops),
    )
)

from funcgrad import numpy as numpy  # noqa: E402  # after the table: a face

__version__ = "0.1.0"

__all__ = [
    "COUNTING",
    "LONGEST",
    "MATRICES",
    "REACHABLE",
    "Algebra",
    "ArrayType",
    "Diagonal",
    "Edge",
    "Expr",
    "GradientMap",
    "Key",
    "LinearMap",
    "Node",
    "Semiring",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "backprop",
    "backprop_steps",
    "check_grads",
    "clip",
    "cond",
    "const",
    "cos",
    "cosh",
    "elementwise_grad",
    "environment",
    "evaluate",
    "evaluate_all",
    "exp",
    "expm1",
    "fold",
    "fori_loop",
    "ggnvp",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "log",
    "log1p",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "maximum",
    "minimum",
    "relu",
    "scan",
    "sigmoid",
    "sign",
    "simplify",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sqrt",
    "square",
    "stop_gradient",
    "substitute",
    "sum_product",
    "sum_product_steps",
    "switch",
    "table",
    "tan",
    "tanh",
    "toposort",
    "trace",
    "value_and_grad",
    "var",
    "vjp",
    "vmap",
    "where",
    "while_loop",
]
