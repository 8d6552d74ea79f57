"""What to write for a name that funcgrad does not have: its own name for what other libraries call so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from funcgrad.source import type_error


def name_instead(name: str, public: Sequence[str]) -> str:
    """The equivalent of another library's name, or the public names nearest to a misspelt one; else empty.

    A function of NumPy's or SciPy's is no misspelling: ``acos`` is near to ``cos``, ``expm`` to ``expm1``;
    nor is a name with another one within it, as ``xlogx`` has ``log``.

    >>> (
    ...     name_instead("make_jaxpr", ["grad"]),
    ...     name_instead("grda", ["grad"]),
    ...     name_instead("acos", ["cos"]),
    ...     name_instead("expm", ["expm1"]),
    ...     name_instead("pandas", ["grad"]),
    ...     name_instead("xlogx", ["log"]),
    ... )
    ('fg.trace(f, *args)', 'fg.grad', 'np.acos', 'scipy.linalg.expm', '', '')
    """
    if name in _ELSEWHERE or name.startswith("_"):
        return _ELSEWHERE.get(name, "")
    for module, short in _MODULES:
        if find_spec(module.split(".")[0]) and callable(getattr(import_module(module), name, None)):
            return f"{short}.{name}"
    return "".join(
        [
            f"fg.{found}"
            for found in get_close_matches(name, public, 1, 0.75)
            if found not in name[1:] or len(name) == len(found) + 1
        ]
    )


def option_instead(name: str, value: object, options: Sequence[str]) -> str:
    """What to do with an option that a transform does not have: a remedy, or its option nearest in spelling.

    >>> option_instead("argnum", 1, ["argnums"]), option_instead("inline", True, ["argnums"])
    ('write argnums=1', 'leave it out: calls are compiled with what is around them')
    """
    if name in _OPTIONS:
        return _OPTIONS[name]
    name = _RENAMED.get(name, name)
    return "".join(
        [f"write {found}={value!r}" for found in get_close_matches(name, options, 1, 0.4)]
    )


def unknown_option(who: str, given: Mapping[str, object], options: Sequence[str]) -> Any:
    """The refusal of an option that a function does not have, with what to do.

    >>> unknown_option("adam", {"lr": 0.1}, ["learning_rate", "eps"]).args[0].splitlines()[0]
    'adam: expected options among learning_rate, eps, but got lr; write learning_rate=0.1'
    """
    name = next(name for name in given if name not in options)
    hint = option_instead(name, given[name], options)
    message = f"{who}: expected options among {', '.join(options)}, but got {name}"
    return type_error(f"{message}; {hint}" if hint else message)


_MODULES = (
    ("numpy", "np"),
    ("scipy.special", "scipy.special"),
    ("numpy.linalg", "np.linalg"),
    ("scipy.linalg", "scipy.linalg"),
)
"""Modules whose functions funcgrad does not have again, and their usual names."""

_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "tensor": "fg.const(a) for an expression, or pass NumPy arrays as they are",
        "np": "import numpy as np, or import funcgrad.numpy as np",
        "jnp": "import funcgrad.numpy as jnp",
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
        **dict.fromkeys(
            ("derivative", "Derivative", "D"), "fg.grad(f)(x), or fg.gradient(expr, x)"
        ),
        "tape": "fg.grad(f)(x), or fg.steps(expr, x=2.0) for the steps",
        "gradcheck": "fg.check_grads(f, (x,))",
        **dict.fromkeys(
            ("draw", "draw_dot", "plot"), "fg.to_svg(expr), or expr at the end of a notebook's cell"
        ),
        "vhp": "fg.hvp(f, primals, tangents)",
        "optimize": "fg.optim.minimize(f, x)",
        "minimize": "fg.optim.minimize(f, x)",
        **{name: f"fg.optim.{name.lower()}" for name in ("adam", "Adam", "sgd", "SGD")},
        "lbfgs": "fg.optim.minimize(f, x, 'lbfgs')",
        "root": "fg.implicit_root(f)",
        "expand": "fg.to_sympy(expr).expand()",
        "factor": "fg.to_sympy(expr).factor()",
        "lambdify": "expr(x=2.0), or fg.to_python(expr)",
        "from_sympy": "sympy.lambdify(symbols, expr, 'numpy')(*fg.vars('x y'))",
        **dict.fromkeys(
            ("parse", "parse_expr"), "x = fg.var('x'), and the formula in Python, without quotes"
        ),
        "Matrix": "funcgrad.numpy.array([[x, y], [y, x]])",
        "cse": "repr(expr), which names what is shared",
        "count_ops": "fg.cost(expr)",
        "Eq": "fg.same(a, b), or a == b for the comparison of values",
        **dict.fromkeys(("oo", "Infinity"), "np.inf"),
        "Rational": "a quotient of numbers, as 1 / 3",
        "nsolve": "fg.implicit_root(f)",
        "dsolve": "fg.odeint(f, y, times)",
        "jacobian_sparsity": "fg.sparsity(f, x)",
        "subs": "fg.substitute(expr, x=2.0)",
        "limit": "fg.to_sympy(expr).limit('x', 0)",
        **dict.fromkeys(("to_c", "codegen", "c_code"), "fg.to_python(expr), or fg.to_sympy(expr)"),
        "free_symbols": "fg.gradient(expr).keys() for the names of the variables",
        "pretty": "print(expr), or fg.to_latex(expr)",
        "pprint": "print(expr), or fg.to_latex(expr)",
        "e": "np.e",
        "pi": "np.pi",
        "backward": "fg.grad(f)(x), or fg.backprop(expr)",
        **dict.fromkeys(
            ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled"),
            "fg.stop_gradient(x)",
        ),
        "requires_grad": "fg.grad(f, argnums=0): its arguments are the variables",
        "detach": "fg.stop_gradient(x)",
        "grad_and_value": "fg.value_and_grad(f)",
        "latex": "fg.to_latex(expr)",
        "make_jaxpr": "fg.trace(f, *args)",
        "remat": "fg.checkpoint(f)",
        "pmap": "fg.vmap(f), or fg.dask.map",
        **dict.fromkeys(
            ("autograd", "func"), "fg.grad, fg.jacobian, fg.hessian, fg.vjp and fg.jvp"
        ),
        "manual_seed": "numpy.random.default_rng(0)",
        "cross_entropy": "-fg.log_softmax(x)[label]",
        **dict.fromkeys(("nn", "functional"), "fg.relu, fg.sigmoid and fg.softmax"),
        **dict.fromkeys(
            ("Module", "Linear", "Parameter"),
            "a dict of arrays or a dataclass of them, and a function of it",
        ),
        "mse_loss": "np.mean((y - t) ** 2)",
        "cat": "np.concatenate([...])",
        **dict.fromkeys(("device", "cuda"), 'arrays of NumPy, or fg.jit(f, backend="cupy")'),
        "egrad": "fg.elementwise_grad(f)(x)",
        **dict.fromkeys(("random", "PRNGKey", "fold_in"), "numpy.random.default_rng(0)"),
        "Array": "np.ndarray",
        "Partial": "functools.partial",
        "closure_convert": "f itself: what it captures is traced, too",
        "segment_sum": "np.add.at(out, ids, values), with out = np.zeros(n)",
        "dynamic_index_in_dim": "x[i], also of a traced i",
        "tree": "optree",
        "tree_util": "optree",
        "eval_shape": "fg.trace(f, *args).type",
        "pure_callback": "fg.primitive(f, out=...)",
        "custom_gradient": "fg.custom_vjp(f)",
        "lax": "fg.scan, fg.cond, fg.while_loop or fg.fori_loop",
        **{
            name: f"optree.{name}"
            for name in (
                "tree_map",
                "tree_leaves",
                "tree_flatten",
                "tree_unflatten",
                "tree_reduce",
                "tree_all",
            )
        },
        **dict.fromkeys(("register_pytree_node", "register_pytree_node_class"), "fg.register_tree"),
        "rsqrt": "1 / np.sqrt(x)",
        "select": "np.where(condition, a, b)",
        "select_n": "np.where(condition, b, a)",
        "clamp": "np.clip(x, low, high)",
        "top_k": "i = np.argsort(-x)[:k], and x[i]",
        "map": "fg.vmap(f), or fg.scan",
        "dynamic_slice": "x[i : i + n], also of traced i",
        "dynamic_update_slice": "x.at[i : i + n].set(v), also of traced i",
        "convert_element_type": "x.astype(dtype)",
        "dot_general": "np.einsum(subscripts, a, b)",
        "iota": "np.arange(n)",
        "cumlogsumexp": "np.logaddexp.accumulate(x)",
        "cummax": "np.maximum.accumulate(x)",
        "cummin": "np.minimum.accumulate(x)",
        **{f"reduce_{name}": f"np.{name}(x)" for name in ("sum", "max", "min", "prod")},
        "reduce_and": "np.all(x)",
        "reduce_or": "np.any(x)",
        "custom_root": "fg.implicit_root(f)",
        "erf_inv": "scipy.special.erfinv(x)",
        "lgamma": "scipy.special.gammaln(x)",
        "igamma": "scipy.special.gammainc(a, x)",
        "igammac": "scipy.special.gammaincc(a, x)",
        "gelu": "x * scipy.special.ndtr(x)",
        **dict.fromkeys(("silu", "swish"), "x * fg.sigmoid(x)"),
        **dict.fromkeys(("log_sigmoid", "logsigmoid"), "-fg.softplus(-x)"),
        "elu": "np.where(x > 0, x, np.expm1(x))",
        "celu": "np.where(x > 0, x, np.expm1(x))",
        "selu": "1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))",
        **dict.fromkeys(("leaky_relu", "prelu"), "np.where(x > 0, x, 0.01 * x)"),
        "relu6": "np.clip(x, 0, 6)",
        **dict.fromkeys(("hard_tanh", "hardtanh"), "np.clip(x, -1, 1)"),
        **dict.fromkeys(("hard_sigmoid", "hardsigmoid"), "np.clip(x + 3, 0, 6) / 6"),
        **dict.fromkeys(("hard_silu", "hard_swish", "hardswish"), "x * np.clip(x + 3, 0, 6) / 6"),
        **dict.fromkeys(("soft_sign", "softsign"), "x / (1 + abs(x))"),
        "mish": "x * np.tanh(fg.softplus(x))",
        "squareplus": "(x + np.sqrt(x**2 + 4)) / 2",
        "log1mexp": "np.log(-np.expm1(-x))",
        "logmeanexp": "fg.logsumexp(x) - np.log(np.size(x))",
        "one_hot": "np.eye(n)[labels]",
        **dict.fromkeys(("conv", "conv1d", "conv2d", "conv3d"), "scipy.signal.convolve"),
        "cot": "1 / np.tan(x)",
        "sec": "1 / np.cos(x)",
        "csc": "1 / np.sin(x)",
        "coth": "1 / np.tanh(x)",
        "sech": "1 / np.cosh(x)",
        "csch": "1 / np.sinh(x)",
        "acot": "np.arctan(1 / x)",
        "sympify": "fg.const(a)",
        "export": "fg.to_json(f, *args)",
        "debug": "print(x), also in a jitted function",
        **dict.fromkeys(
            ("flatten_util", "ravel_pytree"), "optree.integrations.numpy.tree_ravel(tree)"
        ),
        "config": "arguments of np.float64 or np.float32: results have their dtype",
        "named_scope": "fg.name(x, label)",
        "linear_transpose": "fg.vjp(f, x)[1]",
        "disable_jit": "f without fg.jit",
        "ShapeDtypeStruct": "fg.ArrayType(shape, dtype)",
        "debug_nans": "fg.find_nonfinite(expr)",
        **dict.fromkeys(
            ("device_put", "device_get", "block_until_ready"), "x itself: results are NumPy's"
        ),
        "holomorphic_grad": "fg.grad(f, holomorphic=True)",
        "deriv": "fg.elementwise_grad(f)(x)",
        "grad_and_aux": "fg.grad(f, has_aux=True)",
        "grad_named": "fg.grad(f, argnums=1)",
        "multigrad_dict": "fg.grad(f) of a dict of arguments",
        "make_hvp": "fg.linearize(fg.grad(f), x)[1]",
        "make_ggnvp": "fg.ggnvp(f, loss, primals, tangents)",
        **dict.fromkeys(
            ("tensor_jacobian_product", "vector_jacobian_product"), "fg.vjp(f, x)[1](v)"
        ),
        "hessian_tensor_product": "fg.hvp(f, primals, tangents)",
        **dict.fromkeys(("extend", "defvjp", "defjvp"), "fg.custom_vjp(f), or fg.primitive(f)"),
        "make_vjp": "fg.vjp(f, *args)",
        "make_jvp": "fg.jvp(f, primals, tangents)",
        "hessian_vector_product": "fg.hvp(f, primals, tangents)",
        "solve": "fg.implicit_root(f), or fg.to_sympy(e) for SymPy's solve",
        **dict.fromkeys(("integrate", "Integral"), "fg.to_sympy(e).integrate()"),
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

_RENAMED: Mapping[str, str] = MappingProxyType(
    {"lr": "learning_rate", "beta1": "b1", "beta2": "b2", "epsilon": "eps", "rho": "decay"}
)
"""Options of other libraries, with the name that they have here."""

_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "axis_name": "leave it out: there are no collectives; write np.mean(fg.vmap(f)(x), axis=0)",
        "argnames": "write grad(lambda k: f(x, k=k))(2.0) for an argument k by name",
        "fun": "give the function by position",
        "betas": "write b1=0.9, b2=0.999",
        "axis_size": "give in_axes with an axis of at least one argument",
        "allow_int": "leave integers out of argnums, or convert them with x.astype(float)",
        "static_argnums": "leave it out: Python may ask any argument, as in `if flag:`",
        **dict.fromkeys(("prevent_cse", "reduce_axes"), "leave it out: it has no meaning here"),
        **dict.fromkeys(
            ("tfirst", "Dfun", "h0", "hmin"),
            "write fg.scipy.integrate.odeint, which has SciPy's signature",
        ),
        **dict.fromkeys(
            ("inline", "keep_unused"), "leave it out: calls are compiled with what is around them"
        ),
        **dict.fromkeys(
            ("in_shardings", "out_shardings", "device", "devices"),
            'write backend="jax", which keeps the sharding of JAX\'s arrays',
        ),
    }
)
"""Options of other libraries' transforms, with what to do."""
