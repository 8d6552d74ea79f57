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

from collections.abc import Callable as _Callable
from functools import lru_cache as _lru_cache
from importlib import import_module as _import_module
from types import MappingProxyType as _MappingProxyType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from funcgrad.gc_pause import Paused as _Paused

with _Paused(0):  # collections take an eighth of the import; what it makes stays
    from funcgrad import expr as _expr
    from funcgrad.adoption import levels as _levels
    from funcgrad.arrays.mutable_array import as_in_adopted_code as _as_in_adopted_code
    from funcgrad.arrays.reference import plain_value as _plain_value
    from funcgrad.autodiff.accumulate import GradientMap, backprop, backprop_steps
    from funcgrad.autodiff.edges import edges, local
    from funcgrad.compiler.program import lower as _lower
    from funcgrad.expr import Expr, const, same, var, vars
    from funcgrad.fold import (
        COUNTING,
        LONGEST,
        MATRICES,
        REACHABLE,
        Algebra,
        Edge,
        Semiring,
        environment,
        environments,
        fold,
        sum_product,
        sum_product_steps,
        toposort,
    )
    from funcgrad.graph import ArrayType, Key, Node
    from funcgrad.linear import Diagonal, LinearMap
    from funcgrad.ops.base.activity import is_varied as _is_varied
    from funcgrad.ops.base.foreign_arrays import refuse_others as _refuse_others
    from funcgrad.ops.base.foreign_arrays import remedy_of as _remedy_of
    from funcgrad.ops.elementwise.arithmetic import square
    from funcgrad.ops.elementwise.exponential import (
        exp,
        expm1,
        log,
        log1p,
        logaddexp,
        sigmoid,
        softplus,
        sqrt,
    )
    from funcgrad.ops.elementwise.extrema import maximum, minimum, relu
    from funcgrad.ops.elementwise.magnitude import sign
    from funcgrad.ops.elementwise.selection import where
    from funcgrad.ops.elementwise.trigonometric import (
        arccos,
        arcsin,
        arctan,
        arctan2,
        cos,
        cosh,
        sin,
        sinh,
        tan,
        tanh,
    )
    from funcgrad.ops.numpy.array_function import apply_numpy as _apply_numpy
    from funcgrad.ops.numpy.core_functions import clip
    from funcgrad.ops.numpy.core_functions import core_functions as _core_functions
    from funcgrad.ops.numpy.core_functions import core_numpy_functions as _core_numpy_functions
    from funcgrad.ops.reduction import log_softmax, logsumexp, softmax
    from funcgrad.ops.shape import array_beside as _array_beside
    from funcgrad.ops.shape import as_pythons as _as_pythons
    from funcgrad.rewrite.evaluate import evaluate_all
    from funcgrad.rewrite.simplify import simplify
    from funcgrad.trace.derive import trace
    from funcgrad.trace.labeled_arrays import with_labels as _with_labels
    from funcgrad.trace.static import static
    from funcgrad.trace.tree_nodes import register_tree
    from funcgrad.transforms.grad import elementwise_grad, grad, stop_gradient, value_and_grad

if _TYPE_CHECKING:
    from funcgrad import numpy as numpy
    from funcgrad import optim as optim
    from funcgrad import scipy as scipy
    from funcgrad.adoption.adopt import adopt
    from funcgrad.adoption.supports import supports
    from funcgrad.algebras import (
        Interval,
        bounds,
        cost,
        find_nonfinite,
        precise,
        precise_gradient,
        rounding,
    )
    from funcgrad.integrate.odeint import odeint
    from funcgrad.integrate.solve_ivp import solve_ivp
    from funcgrad.rewrite.substitute import substitute
    from funcgrad.show.drawing.dot import to_dot
    from funcgrad.show.drawing.explorer import explore
    from funcgrad.show.drawing.svg import to_svg
    from funcgrad.show.explain import explain
    from funcgrad.show.json.json_format import from_json, to_json
    from funcgrad.show.latex.to_latex import to_latex
    from funcgrad.show.python.to_python import to_python
    from funcgrad.show.steps_text import steps
    from funcgrad.show.sympy_ import to_sympy
    from funcgrad.show.table import table
    from funcgrad.testing import check_grads
    from funcgrad.trace.run_formula import evaluate
    from funcgrad.trace.tree_map import tree_add
    from funcgrad.transforms.control_flow.checkpoint import checkpoint, name
    from funcgrad.transforms.control_flow.cond import cond, switch
    from funcgrad.transforms.control_flow.folds import accumulate, associative_scan, iterate, reduce
    from funcgrad.transforms.control_flow.loops import fori_loop, scan, while_loop
    from funcgrad.transforms.custom.custom_derivatives import custom_jvp, custom_vjp
    from funcgrad.transforms.custom.implicit import fixed_point, implicit_argmin, implicit_root
    from funcgrad.transforms.custom.primitive import primitive
    from funcgrad.transforms.gradient import gradient
    from funcgrad.transforms.interop.export import to_jax, to_torch
    from funcgrad.transforms.jacobian import ggnvp, hessian, hvp, jacfwd, jacobian, jacrev
    from funcgrad.transforms.jit.jit import jit
    from funcgrad.transforms.jvp import jvp
    from funcgrad.transforms.linearize import linearize
    from funcgrad.transforms.sparse.sparse_jacobian import sparse_hessian, sparse_jacobian, sparsity
    from funcgrad.transforms.taylor import taylor
    from funcgrad.transforms.vjp import vjp
    from funcgrad.transforms.vmap import vmap
from funcgrad.version import __version__ as __version__

# Names by module that a first gradient does not need: imported on first access. Importing all of them takes
# as long as importing NumPy.
_LATER = {
    "adoption.adopt": ("adopt",),
    "adoption.supports": ("supports",),
    "algebras": (
        "Interval",
        "bounds",
        "cost",
        "find_nonfinite",
        "precise",
        "precise_gradient",
        "rounding",
    ),
    "integrate.odeint": ("odeint",),
    "integrate.solve_ivp": ("solve_ivp",),
    "rewrite.substitute": ("substitute",),
    "show.drawing.dot": ("to_dot",),
    "show.drawing.svg": ("to_svg",),
    "show.explain": ("explain",),
    "show.steps_text": ("steps",),
    "show.drawing.explorer": ("explore",),
    "show.json.json_format": ("from_json", "to_json"),
    "show.latex.to_latex": ("to_latex",),
    "show.python.to_python": ("to_python",),
    "show.sympy_": ("to_sympy",),
    "show.table": ("table",),
    "testing": ("check_grads",),
    "trace.run_formula": ("evaluate",),
    "trace.tree_map": ("tree_add",),
    "transforms.control_flow.cond": ("cond", "switch"),
    "transforms.control_flow.checkpoint": ("checkpoint", "name"),
    "transforms.custom.custom_derivatives": ("custom_jvp", "custom_vjp"),
    "transforms.interop.export": ("to_jax", "to_torch"),
    "transforms.control_flow.folds": ("accumulate", "associative_scan", "iterate", "reduce"),
    "transforms.custom.primitive": ("primitive",),
    "transforms.custom.implicit": ("fixed_point", "implicit_argmin", "implicit_root"),
    "transforms.jacobian": ("ggnvp", "hessian", "hvp", "jacfwd", "jacobian", "jacrev"),
    "transforms.jit.jit": ("jit",),
    "transforms.gradient": ("gradient",),
    "transforms.jvp": ("jvp",),
    "transforms.linearize": ("linearize",),
    "transforms.control_flow.loops": ("fori_loop", "scan", "while_loop"),
    "transforms.sparse.sparse_jacobian": ("sparse_hessian", "sparse_jacobian", "sparsity"),
    "transforms.taylor": ("taylor",),
    "transforms.vjp": ("vjp",),
    "transforms.vmap": ("vmap",),
}
_FACES = ("numpy", "optim", "scipy", "show", "testing")
"""Modules that may be named without being imported first."""
_HOMES = {name: f"funcgrad.{home}" for home, names in _LATER.items() for name in names}
_HOMES["load_ipython_extension"] = "funcgrad.show.shell"  # for %load_ext funcgrad
# Modules that declare operations and are imported later.
_DECLARING = (
    "control.call_and_branch",
    "control.loop",
    "control.custom_rule",
    "control.guarded_call",
    "transforms.custom.primitive",
    "transforms.custom.implicit",
    "scipy.integral",
    "scipy.cosine_transform",
    "scipy.linear_filter",
    "scipy.sparse_product",
    "scipy.spline_filter",
)


def __getattr__(name: str) -> _Any:
    if name in _FACES or name == "dask":  # which the extra `dask` has
        return _import_module(f"funcgrad.{name}")
    if name not in _HOMES:
        from funcgrad.names_elsewhere import name_instead

        message = f"module 'funcgrad' has no attribute {name!r}"
        instead = name_instead(name, __all__)
        # Python adds a name of its own from what obj has.
        obj = None if instead else _import_module(__name__)
        raise AttributeError(
            message + (f"; write {instead}" if instead else ""), name=name, obj=obj
        )
    found = globals()[name] = getattr(_import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_FACES, "__version__"} - {"show"})


@_lru_cache
def _imported(home: str, name: str) -> _Any:
    return getattr(_import_module(f"funcgrad.{home}"), name)


def _later(home: str, name: str) -> _Callable[..., _Any]:
    """A function of a module that is imported at the first call."""
    return lambda *args, **kwargs: _imported(home, name)(*args, **kwargs)


@_lru_cache(maxsize=1)
def _all_ops() -> _Any:
    """All operations by name, for reading stored programs."""
    special = _import_module("funcgrad.ops.special.special_stand_ins").SPECIAL_FAMILIES
    later = [_import_module(f"funcgrad.{home}") for home in _DECLARING]
    return _import_module("funcgrad.ops.numpy.dispatch").all_ops(*special, *later)


def _special_functions() -> _Any:
    """What stands in for the ufuncs of `scipy.special`, by name."""
    return _import_module("funcgrad.ops.special.special_stand_ins").STAND_INS


_functions = _core_functions()
if not _expr.operation_table.functions:  # a reload, such as IPython's %reload_ext, finds it filled
    _expr.assemble(
        _expr.OperationTable(
            functions=_MappingProxyType(
                _functions
                | {
                    "adoption_level": _levels.adoption_level,
                    "all_ops": _all_ops,
                    "apply_numpy": _apply_numpy,
                    "array_beside": _array_beside,
                    "as_pythons": _as_pythons,
                    "apply_ufunc": _later("ops.numpy.ufuncs", "apply_ufunc"),
                    "as_in_adopted_code": _as_in_adopted_code,
                    "call_adopted": _later("adoption.adopt", "call_adopted"),
                    "evaluate": _later("trace.run_formula", "evaluate"),
                    "host_value": _later("scipy.host_call", "host_value"),
                    "is_varied": _is_varied,
                    "is_refusal": _levels.is_refusal,
                    "can_be_adopted": _levels.can_be_adopted,
                    "level_after": _levels.level_after,
                    "learn": _levels.learn,
                    "rollback": _levels.rollback,
                    "lower": _lower,
                    "moving_slices": _later("ops.moving_slices", "moving_slices"),
                    "original_class": _later("adoption.adopted_types", "original_class"),
                    "original_behind": _later("adoption.replacements", "original_behind"),
                    "plain_value": _plain_value,
                    "run_loop": _later("compiler.python.loop_codegen", "run_loop"),
                    "redirect": _later("adoption.redirect", "redirect"),
                    "run_source": _later("adoption.numpy_source", "run_source"),
                    "special_functions": _special_functions,
                    "refuse_others": _refuse_others,
                    "remedy_of": _remedy_of,
                    "text": _later("show.text", "text"),
                    "text_of_tree": _later("show.text", "text_of_tree"),
                    "latex": _later("show.latex.to_latex", "notebook_latex"),
                    "warn_of_equal_numbers": _later("ops.equal_numbers", "warn_of_equal_numbers"),
                    "warn_of_search": _later("ops.searches", "warn_of_search"),
                    "with_labels": _with_labels,
                }
            ),
            ufuncs=_MappingProxyType(_functions),
            numpy=_core_numpy_functions(_functions),
        ),
        _later("ops.numpy.dispatch", "all_functions"),
    )

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
    "Interval",
    "Key",
    "LinearMap",
    "Node",
    "Semiring",
    "accumulate",
    "adopt",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "associative_scan",
    "backprop",
    "backprop_steps",
    "bounds",
    "check_grads",
    "checkpoint",
    "clip",
    "cond",
    "const",
    "cos",
    "cosh",
    "cost",
    "custom_jvp",
    "custom_vjp",
    "edges",
    "elementwise_grad",
    "environment",
    "environments",
    "evaluate",
    "evaluate_all",
    "exp",
    "explain",
    "explore",
    "expm1",
    "find_nonfinite",
    "fixed_point",
    "fold",
    "fori_loop",
    "from_json",
    "ggnvp",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "implicit_argmin",
    "implicit_root",
    "iterate",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "local",
    "log",
    "log1p",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "maximum",
    "minimum",
    "name",
    "odeint",
    "precise",
    "precise_gradient",
    "primitive",
    "reduce",
    "register_tree",
    "relu",
    "rounding",
    "same",
    "scan",
    "sigmoid",
    "sign",
    "simplify",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "solve_ivp",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "sqrt",
    "square",
    "static",
    "steps",
    "stop_gradient",
    "substitute",
    "sum_product",
    "sum_product_steps",
    "supports",
    "switch",
    "table",
    "tan",
    "tanh",
    "taylor",
    "to_dot",
    "to_jax",
    "to_json",
    "to_latex",
    "to_python",
    "to_svg",
    "to_sympy",
    "to_torch",
    "toposort",
    "trace",
    "tree_add",
    "value_and_grad",
    "var",
    "vars",
    "vjp",
    "vmap",
    "where",
    "while_loop",
]
