"""What to write for a name that funcgrad does not have: its own name for what other libraries call so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType


def name_instead(name: str, public: Sequence[str]) -> str:
    """The equivalent of another library's name, or the public names nearest to a misspelt one; else empty.

    >>> (
    ...     name_instead("make_jaxpr", ["grad"]),
    ...     name_instead("grda", ["grad"]),
    ...     name_instead("pandas", ["grad"]),
    ... )
    ('fg.trace(f, *args)', 'fg.grad', '')
    """
    near = [] if name.startswith("_") else get_close_matches(name, public, 1, 0.75)
    return _ELSEWHERE.get(name) or "".join([f"fg.{found}" for found in near])


_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "tensor": "fg.const(a) for an expression, or pass NumPy arrays as they are",
        "array": "funcgrad.numpy.array([...]), or pass NumPy arrays as they are",
        "Tensor": "fg.const(a) for an expression, or pass NumPy arrays as they are",
        "Value": "fg.var('x')",
        "Variable": "fg.var('x')",
        "variable": "fg.var('x')",
        "symbol": "fg.var('x')",
        "Symbol": "fg.var('x')",
        "symbols": "fg.vars('x y')",
        "diff": "fg.gradient(expr, x)",
        "differentiate": "fg.grad(f)(x), or fg.gradient(expr, x)",
        "derivative": "fg.grad(f)(x), or fg.gradient(expr, x)",
        "tape": "fg.grad(f)(x), or fg.steps(expr, x=2.0) for the steps",
        "gradcheck": "fg.check_grads(f, (x,))",
        "draw": "fg.to_svg(expr), or expr at the end of a notebook's cell",
        "plot": "fg.to_svg(expr), or expr at the end of a notebook's cell",
        "vhp": "fg.hvp(f, primals, tangents)",
        "optimize": "fg.optim.minimize(f, x)",
        "minimize": "fg.optim.minimize(f, x)",
        **{name: f"fg.optim.{name.lower()}" for name in ("adam", "Adam", "sgd", "SGD")},
        "lbfgs": "fg.optim.minimize(f, x, 'lbfgs')",
        "root": "fg.implicit_root(f)",
        "expand": "fg.simplify(expr)",
        "factor": "fg.to_sympy(expr).factor()",
        "lambdify": "expr(x=2.0), or fg.to_python(expr)",
        "subs": "fg.substitute(expr, x=2.0)",
        "pprint": "print(expr), or fg.to_latex(expr)",
        "e": "np.e",
        "pi": "np.pi",
        "backward": "fg.grad(f)(x), or fg.backprop(expr)",
        "no_grad": "fg.stop_gradient(x)",
        "detach": "fg.stop_gradient(x)",
        "grad_and_value": "fg.value_and_grad(f)",
        "latex": "fg.to_latex(expr)",
        "make_jaxpr": "fg.trace(f, *args)",
        "remat": "fg.checkpoint(f)",
        "pmap": "fg.vmap(f), or fg.dask.map",
        "nn": "fg.relu, fg.sigmoid and fg.softmax",
        "random": "numpy.random.default_rng(0)",
        "tree": "optree",
        "tree_util": "optree",
        "eval_shape": "fg.trace(f, *args).type",
        "pure_callback": "fg.primitive(f, out=...)",
        "custom_gradient": "fg.custom_vjp(f)",
        "lax": "fg.scan, fg.cond, fg.while_loop or fg.fori_loop",
        "tree_map": "optree.tree_map(f, tree)",
        "make_vjp": "fg.vjp(f, *args)",
        "make_jvp": "fg.jvp(f, primals, tangents)",
        "hessian_vector_product": "fg.hvp(f, primals, tangents)",
        "solve": "fg.implicit_root(f), or fg.to_sympy(e) for SymPy's solve",
        "integrate": "fg.to_sympy(e).integrate()",
        "series": "fg.taylor(f, 0.0, order=4)",
        "Function": "fg.jit(f)",
        "SX": "fg.var('x')",
        "MX": "fg.var('x', shape)",
        "vertcat": "np.concatenate([...]) in a function",
        "if_else": "np.where(condition, a, b)",
        "jtimes": "fg.jvp(f, primals, tangents)",
        "nlpsol": "fg.optim.minimize(f, x), or scipy.optimize with fg.value_and_grad(f)",
        "rootfinder": "fg.implicit_root(f)",
        "integrator": "fg.odeint(f, y, times)",
    }
)
"""Names of other libraries, with the equivalent in funcgrad."""
