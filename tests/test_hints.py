"""What newcomers type, and what they are told."""

import subprocess
import sys
from datetime import timedelta

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
import toolz

import funcgrad as fg
from funcgrad.names_elsewhere import name_instead

SAMPLES = np.array([-4.0, -3.0, -0.7, 0.3, 1.5, 4.0])
x, y = fg.var("x"), fg.var("y")


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (lambda: fg.grad(np.sin, 3.0), TypeError, r"argnums .* got 3.0; write grad\(f\)\(x\)"),
        (lambda: fg.grad(lambda x: None)(3.0), TypeError, "f has no return"),
        (
            lambda: fg.grad(toolz.curry(lambda x, y: x * y))(3.0),
            TypeError,
            "give it all of its arguments",
        ),
        (lambda: fg.fold(x, None), TypeError, r"write Algebra\(input, constant, op\)"),
        (lambda: fg.fold(3.0, None), TypeError, "expected an"),
        (lambda: fg.toposort((x * y).graph), TypeError, "toposort: expected an expression"),
        (lambda: fg.check_grads(np.sin, 3.0), TypeError, r"write \(x,\)"),
        (lambda: fg.backprop(x * y)["z"], KeyError, "the names are x, y"),
        (lambda: fg.tensor, AttributeError, r"write fg.const\(a\)"),
        (lambda: fg.np, AttributeError, "write import numpy as np, or import funcgrad.numpy as np"),
        (lambda: fg.grads, AttributeError, r"no attribute 'grads'; write fg\.grad$"),
        (lambda: fg.jacobain, AttributeError, r"write fg\.jacobian$"),
        (lambda: fg.grad_and_value, AttributeError, r"write fg\.value_and_grad\(f\)$"),
        (
            lambda: fg.var("x^2"),
            TypeError,
            r"write x = fg.var\('x'\), and the formula.*with \*\* for powers",
        ),
        (
            lambda: fg.vars("x^2"),
            TypeError,
            r"vars: .* got 'x\^2'; write x = fg.var\('x'\), and the form",
        ),
        (
            lambda: fg.var("x*y"),
            TypeError,
            r"got 'x\*y'; write x, y = fg.vars\('x y'\), and the formula",
        ),
        (
            lambda: fg.vars("x:3"),
            TypeError,
            r"got 'x:3'; write fg.var\('x', 3\) for an array of 3 entries",
        ),
        (lambda: fg.var("2x"), TypeError, r"begins with no digit: write fg.var\('x'\)"),
        (
            lambda: fg.var("lambda"),
            TypeError,
            r"Python keeps this word .* write fg.var\('lambda_'\)",
        ),
        (
            lambda: fg.vmap(np.sin)([1.0, 2.0]),
            ValueError,
            r"a list is a tree .* write np.array\(\[...\]\) for",
        ),
        (
            lambda: fg.vmap(np.sin)(range(3)),
            ValueError,
            r"arrays to map over, but got range; write np.arange\(3\)",
        ),
        (lambda: fg.vmap(np.sin)(), ValueError, "but got nothing; write"),
        (
            lambda: fg.gradient(x**2, x, x),
            TypeError,
            r"the variables as one argument, but got 2; write gradient\(e, \(x, y\)\)",
        ),
        (lambda: fg.trace(np.sin), TypeError, r"of f, but got none; write trace\(f, 2.0\)"),
        (lambda: fg.trace(lambda v: v), TypeError, r"of f, but got none; write trace\(f, 2.0\)"),
        (lambda: fg.hessian(x**2), TypeError, r"^hessian: .* got an expression"),
        (lambda: fg.hessian(np.sin)(True), TypeError, r"^hessian: expected float"),
        (
            lambda: np.array([x, y]),
            TypeError,
            r"; write np.stack\(\[...\]\) for an array of expressions, or fg.adopt\(f\) for",
        ),
        (
            lambda: fg.grad(np.sin)(),
            TypeError,
            r"but got none; write grad\(f\)\(2.0\), not grad\(f\)\(x=2.0\)",
        ),
        (lambda: (x**2).diff(x), AttributeError, r"no attribute 'diff'; write fg.gradient\(e, x\)"),
        (
            lambda: (x * y).backward(),
            AttributeError,
            r"no attribute 'backward'; write fg.gradient\(e\), or",
        ),
        (lambda: x.grad, AttributeError, r"no attribute 'grad'; write fg.gradient\(e, x\)"),
        (lambda: x.pow(2), AttributeError, r"no attribute 'pow'; write x\*\*2"),
        (lambda: x.requires_grad_(), AttributeError, r"write fg.grad\(f\): its arguments are the"),
        (lambda: x.unsqueeze(0), AttributeError, r"write np.expand_dims\(x, axis\)"),
        (
            lambda: x.zero_grad(),
            AttributeError,
            "write fg.gradient\\(e\\), which accumulates nothing",
        ),
        (lambda: x._prev, AttributeError, "write e.args"),
        (lambda: x.requires_grad, AttributeError, "its arguments are the variables"),
        (lambda: x.series(), AttributeError, r"write fg.taylor\(f, 0.0, order=4\), or"),
        (lambda: fg.vertcat, AttributeError, r"write np.concatenate"),
        (lambda: fg.custom_gradient, AttributeError, r"write fg.custom_vjp\(f\)"),
        (lambda: fg.lax, AttributeError, r"write fg.scan"),
        (lambda: x.at.set(1.0), AttributeError, r"no attribute 'set'; write x.at\[i\].set\(v\)"),
        (lambda: x.at.foo, AttributeError, "no attribute 'foo'$"),
        (lambda: fg.acos, AttributeError, r"write np.acos$"),
        (lambda: fg.expit, AttributeError, r"write scipy.special.expit$"),
        (lambda: fg.gelu, AttributeError, r"write x \* scipy.special.ndtr\(x\)$"),
        (lambda: fg.holomorphic_grad, AttributeError, r"write fg.grad\(f, holomorphic=True\)$"),
        (
            lambda: fg.vmap(np.sin, axis_name="i"),
            TypeError,
            "axis_name; leave it out: there are no",
        ),
        (
            lambda: fg.grad(np.sin)(1j),
            TypeError,
            "but got complex128; take np.real or np.abs of it, or write holomorphic=True if f",
        ),
        (
            lambda: fg.grad(np.sin, holomorphic=True)(1.0),
            TypeError,
            "expected complex arguments with holomorphic=True, but got float64; convert them",
        ),
        (
            lambda: fg.grad(np.abs, holomorphic=True)(1j),
            TypeError,
            "expected f to return a complex scalar, but got float64; leave holomorphic out",
        ),
        (lambda: x.sin(), AttributeError, r"no attribute 'sin'; write np.sin\(x\)"),
        (
            lambda: x.value,
            AttributeError,
            r"a constant node has a value, .* input 'x'; write e\(x=2.0\) for a",
        ),
        (lambda: fg.expand, AttributeError, r"write fg.to_sympy\(expr\).expand\(\)$"),
        (lambda: (x * y)(1.0, 2.0), TypeError, r"got float, float; write e\(x=2.0, y=2.0\)"),
        (
            lambda: fg.jit(x * y),
            TypeError,
            r"jit: .* got an expression; write e\(x=2.0\), which runs",
        ),
        (lambda: fg.vmap(x * y), TypeError, r"vmap: .* got an expression; write e\(x=np.linspace"),
        (
            lambda: float(x * y),
            TypeError,
            r"stands for any value; .*write e\(x=2.0, y=2.0\) for its value\n",
        ),
        (lambda: fg.const(None), TypeError, r"const: expected numbers, but got NoneType"),
        (lambda: fg.table(np.sin), TypeError, r"table: .* but got none; write table\(f, 2.0\)"),
        (lambda: fg.explain(fg.grad), TypeError, r"explain: .* got none; write explain\(f, 2.0\)"),
        (lambda: (x * y)(x=None, y=1.0), TypeError, r"expected float64 for x, but got NoneType"),
        (
            lambda: bool(np.exp(x) * y + np.exp(x)),
            TypeError,
            "expected a number, but 'let a = exp\\(x\\) in a\\*y \\+ a' has none",
        ),
        (lambda: int(x), TypeError, r"write e\(x=2.0\) for its value\n"),
        (
            lambda: fg.table(x * y, 0.5, 2.0),
            TypeError,
            r"got float, float; write table\(e, x=2.0, y=2.0\)",
        ),
        (
            lambda: fg.to_svg(x * y, "e.svg", 2.0),
            TypeError,
            r"got float; write to_svg\(e, x=2.0, y=2.0\)",
        ),
        (
            lambda: fg.table(x * y, x=[1, 2, 3], y=2),
            TypeError,
            r"got int64\[3\]; write fg.var\('x', \(3,\)\) for a variable that stands for an array",
        ),
        (
            lambda: fg.backprop(x * y, "x"),
            TypeError,
            r"seed, but got str; write backprop\(e\)\['x'\] for",
        ),
        (
            lambda: fg.grad(None),
            TypeError,
            "grad: expected a function, but got None; a function that",
        ),
        (
            lambda: fg.grad(np.sin, argnum=0),
            TypeError,
            "grad: expected options among argnums, has_aux, holomorphic, but got argnum; write argnums=0",
        ),
        (
            lambda: fg.jit(static_argnum=1),
            TypeError,
            "but got static_argnum; write static_argnums=1",
        ),
        (lambda: fg.value_and_grad(np.sin, wrt="x"), TypeError, "holomorphic, but got wrt\n"),
        (
            lambda: fg.table(x, x=[1]),
            TypeError,
            r"^table: expected float64 for x, but got int64\[1\]",
        ),
        (
            lambda: fg.grad(np.sum)(np.array([1.0, None])),
            TypeError,
            "grad: expected float .* in argument 0, but got an array of objects; convert",
        ),
        (
            lambda: fg.grad(lambda x: np.sum(x * np.array([1.0, None])))(2.0),
            TypeError,
            r"^array: expected numbers beside traced values, .* array of object; write np.array\(val",
        ),
        (
            lambda: fg.grad(lambda x: np.sum(x * np.array(["2020-01-01"], "datetime64[D]")))(2.0),
            TypeError,
            r"^array: expected a number, but got datetime64; write \(t - t\[0\]\) / np.timedelta64\(1, 's'\)",
        ),
        (
            lambda: fg.grad(lambda x: x * np.timedelta64(3, "D") / np.timedelta64(1, "D"))(2.0),
            TypeError,
            r"^const: expected a number, but got timedelta64; write \(t - t\[0\]\) / np.timedelta64",
        ),
        (
            lambda: fg.grad(lambda x: np.sum(x * [np.timedelta64(3, "D"), 1.0]))(2.0),
            TypeError,
            r"expected a number, but got timedelta64; write \(t - t\[0\]\) / np.timedelta64",
        ),
        (
            lambda: fg.grad(lambda x: (x * timedelta(3)).total_seconds())(2.0),
            TypeError,
            r"^multiply: expected a number, but got timedelta; write duration.total_seconds\(\)",
        ),
        (
            lambda: fg.while_loop(1, 2, 3),
            TypeError,
            r"expected a function as cond_fun, but got int; write while_loop\(lambda x: x < 10.0",
        ),
        (
            lambda: fg.fori_loop(0, 3, 1.0, 2.0),
            TypeError,
            "fori_loop: expected a function as body_fun, but got float; write fori_loop",
        ),
        (lambda: fg.scan(3.0, 0.0), TypeError, "scan: expected a function as f, but got float"),
        (
            lambda: fg.find_nonfinite(lambda x: None, 2.0),
            TypeError,
            "find_nonfinite: expected f to return numbers, but got NoneType",
        ),
        (
            lambda: fg.gradient("x**2", "x"),
            TypeError,
            r"got str; write x = fg.var\('x'\), and the form",
        ),
        (lambda: fg.grad("x**2"), TypeError, r"but got str; write grad\(lambda x: x\*\*2\)\(x\)"),
        (
            lambda: fg.to_latex(fg.gradient(x * y)),
            TypeError,
            r"got dict; write \[to_latex\(e\) for e in formulas.values\(\)\]",
        ),
        (lambda: fg.table([x], x=1.0), TypeError, r"write \[table\(e\) for e in formulas\]"),
        (
            lambda: fg.sum_product(x * y, fg.COUNTING, 1),
            TypeError,
            "sum_product: expected a function from edges to weights, but got int; write lambda edge: 1",
        ),
        (
            lambda: fg.scan(lambda c, x: c + x, 0.0, np.ones(2)),
            TypeError,
            r"pair \(carry, y\), but got Expr; return \(carry, \(\)\) for no y",
        ),
        (lambda: max(x, y), TypeError, r"stands for any value; .* np.maximum\(a, b\) for a choice"),
        (lambda: fg.unlike_any, AttributeError, r"no attribute 'unlike_any'$"),
    ],
)
def test_the_error_says_what_to_write(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


def test_a_function_without_arguments_is_traced():
    assert fg.trace(lambda: 3.0)() == 3.0
    assert fg.trace(lambda v=3.0: v)() == 3.0


@pytest.mark.parametrize("how", [fg.grad, fg.jit, lambda f: fg.grad(fg.grad(f))])
@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_that_is_meant_as_an_array_has_a_note(how, kind):
    with pytest.raises(TypeError, match="unsupported operand") as info:
        how(lambda v: np.sum(v**2))(kind([1.0, 2.0]))
    (note,) = info.value.__notes__
    assert note.endswith("write np.array([...]) for an array")


def test_another_error_has_no_note():
    with pytest.raises(TypeError, match="NoneType") as info:
        fg.grad(lambda v: v[0] ** None)([1.0, 2.0])
    assert not getattr(info.value, "__notes__", ())


@pytest.mark.parametrize("value", [1, 1.5, -0.0, 2**60, True, np.float64(2.0)])
@pytest.mark.parametrize("how", ["set", "add"])
def test_a_stored_number_is_written_as_it_is(value, how):
    a = np.arange(3.0, dtype=np.float32)
    made = fg.trace(lambda a: getattr(a.at[0], how)(value), a)
    text = str(made)
    assert "float" not in text
    assert "int" not in text
    number = eval(text.partition(how)[2], {"array": np.array})
    again = fg.trace(lambda a: getattr(a.at[0], how)(number), a)
    assert np.array_equal(again(a=a), made(a=a))
    assert np.signbit(again(a=a)).tolist() == np.signbit(made(a=a)).tolist()


def test_a_stored_value_is_broadcast_by_the_store():
    made = fg.trace(lambda a, v: a.at[1:].set(2).at[:, 0].add(v), np.ones((3, 2)), 1.5)
    assert str(made) == "a.at[1:].set(2).at[:, 0].add(v)"


def test_a_name_that_is_near_is_suggested_once_in_any_prompt():
    """Python's own prompt suggests one, IPython's and a notebook's do not."""
    done = subprocess.run(
        [sys.executable, "-c", "import funcgrad as fg; fg.grads"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1].endswith("no attribute 'grads'; write fg.grad")
    assert "Did you mean" not in done.stderr


def test_a_gradient_map_is_asked_by_name():
    z = fg.backprop(x * y + y)
    assert z["y"].key == z[y].key
    assert repr(z["x"]) == repr(z[x])


def test_a_gradient_map_shows_shared_parts_where_they_are_used():
    shown = repr(fg.backprop(np.tanh(x) * y + np.sin(x) * np.tanh(x)))
    assert "let a = tanh(x) in a*y + sin(x)*a" in shown
    assert all(len(line) < 200 for line in shown.splitlines())


def test_labels_of_traced_values_are_refused_at_the_line_that_has_them():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(
        TypeError, match=r"labels of pandas are plain numbers: .*\n  at test_hints.py:.*Index\(w\)"
    ):
        fg.grad(lambda w: pandas.Index(w).size * w.sum())(np.ones(2))


def test_a_package_of_plain_numbers_is_named_with_the_line_that_calls_it():
    cbook = pytest.importorskip("matplotlib.cbook")

    def f(x):
        cbook._to_unmasked_float_array(x)
        return np.sum(x**2)

    advice = r"array: .* give the package fg.stop_gradient\(x\).*\n  at test_hints.py:.*\(x\)\n  in cbook.py:"
    with pytest.raises(TypeError, match=advice):
        fg.grad(f)(np.ones(2))


def test_what_has_no_gradient_is_a_plain_array_to_other_packages():
    cbook = pytest.importorskip("matplotlib.cbook")
    seen = []

    def f(x):
        seen.append(cbook._to_unmasked_float_array(fg.stop_gradient(2 * x)))
        return np.sum(seen[-1] * x)

    for g in (f, fg.adopt(f), fg.adopt(f, False)):
        np.testing.assert_array_equal(fg.grad(g)(np.array([1.0, 2.0])), [2.0, 4.0])
        assert type(seen[-1]) is np.ndarray
    np.testing.assert_array_equal(fg.hessian(f)(np.array([1.0, 2.0])), np.zeros((2, 2)))
    with pytest.raises(TypeError, match="array: "):  # it would be that of the first call
        fg.jit(f)(np.array([1.0, 2.0]))


def test_what_is_constant_by_a_step_stays_an_expression():
    """A sign that is left as a number would hide from a law what makes the derivative finite."""

    def rotation(a):
        u, _, vh = np.linalg.svd(a)
        turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(vh.T @ u.T))])
        return vh.T @ turn @ u.T

    turned = fg.jvp(rotation, (np.diag([1.0, 1.0, 0.5]),), (np.arange(9.0).reshape(3, 3),))[1]
    assert np.all(np.isfinite(turned))


_OF_JAX = "celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid "
_OF_JAX += "mish relu6 selu silu soft_sign squareplus swish"


@pytest.mark.parametrize("name", _OF_JAX.split())
def test_formulas_in_the_place_of_activations_are_those_of_jax(name):
    nn = pytest.importorskip("jax").nn
    formula = name_instead(name, fg.__all__)
    found = eval(formula, {"np": np, "fg": fg, "scipy": scipy, "x": SAMPLES})
    options = {"approximate": False} if name == "gelu" else {}
    assert found == pytest.approx(np.asarray(getattr(nn, name)(SAMPLES, **options)), rel=2e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cot", lambda x: np.cos(x) / np.sin(x)),
        ("sec", lambda x: 1 / np.cos(x)),
        ("csc", lambda x: 1 / np.sin(x)),
        ("coth", lambda x: np.cosh(x) / np.sinh(x)),
        ("sech", lambda x: 2 / (np.exp(x) + np.exp(-x))),
        ("csch", lambda x: 2 / (np.exp(x) - np.exp(-x))),
        ("acot", lambda x: np.arctan2(np.sign(x), np.abs(x))),
        ("log1mexp", lambda x: np.log1p(-np.exp(-np.abs(x)))),
        ("logmeanexp", lambda x: np.log(np.mean(np.exp(x)))),
        ("cummax", lambda x: np.sort(x)),
        ("reduce_max", np.max),
        ("igamma", lambda x: scipy.special.gammainc(2.0, x)),
    ],
)
def test_formulas_in_the_place_of_functions(name, value):
    x = np.abs(SAMPLES) if name in ("log1mexp", "igamma") else SAMPLES
    formula = name_instead(name, fg.__all__)
    found = eval(formula, {"np": np, "fg": fg, "scipy": scipy, "x": x, "a": 2.0})
    assert found == pytest.approx(value(x), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("expm", "scipy.linalg.expm"),
        ("det", "np.linalg.det"),
        ("conv2d", "scipy.signal.convolve"),
        ("select_n", "np.where(condition, b, a)"),
        ("sympify", "fg.const(a)"),
        ("from_sympy", "sympy.lambdify(symbols, expr, 'numpy')(*fg.vars('x y'))"),
        ("expand", "fg.to_sympy(expr).expand()"),
        ("Integral", "fg.to_sympy(e).integrate()"),
        ("egrad", "fg.elementwise_grad(f)(x)"),
        ("jnp", "import funcgrad.numpy as jnp"),
        ("cat", "np.concatenate([...])"),
        ("Array", "np.ndarray"),
        ("PRNGKey", "numpy.random.default_rng(0)"),
        ("Partial", "functools.partial"),
        ("closure_convert", "f itself: what it captures is traced, too"),
        ("dynamic_index_in_dim", "x[i], also of a traced i"),
        ("segment_sum", "np.add.at(out, ids, values), with out = np.zeros(n)"),
        ("ravel_pytree", "optree.integrations.numpy.tree_ravel(tree)"),
        ("xlogx", ""),
        ("mysin", ""),
        ("ggrad", "fg.grad"),
        ("value_grad", "fg.value_and_grad"),
    ],
)
def test_names_that_are_near_to_another_are_no_misspellings(name, instead):
    assert name_instead(name, fg.__all__) == instead


def test_hints_name_what_is_near_or_nothing():
    with pytest.raises(TypeError, match=r"rule, but it has none; declare one by fg\.primitive"):
        fg.grad(lambda x: np.packbits(x)[0])(np.ones(3))
    with pytest.raises(TypeError, match="the nearest by name that has one is 'bitwise_or'"):
        fg.grad(lambda x: np.bitwise_count(x))(np.ones(2))
    with pytest.raises(TypeError, match=r"order 'C' or 'F', but got 'A'"):
        fg.grad(fg.adopt(lambda x: np.sum(np.reshape(x, (2, 2), order="A")), False))(np.ones(4))


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (
            lambda v: scipy.special.logsumexp(v),
            r"fg\.scipy\.special\.logsumexp in the place of scipy",
        ),
        (lambda v: scipy.special.softmax(v), r"fg\.scipy\.special\.softmax in the place of scipy"),
        (lambda v: scipy.linalg.norm(v), r"fg\.scipy\.linalg\.norm in the place of scipy"),
        (
            lambda v: scipy.stats.norm.logpdf(v),
            r"fg\.scipy\.stats\.norm\.logpdf in the place of scipy",
        ),
        (lambda v: np.array([v, v]), r"write np\.stack\(\[\.\.\.\]\)"),
    ],
)
def test_scipys_functions_of_a_formula_name_their_own(call, instead):
    with pytest.raises(TypeError, match=instead):
        call(fg.var("v", 3))
