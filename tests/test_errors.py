"""Every error says who expected what, what it got, what to write instead, and the user's line."""

import ctypes
import hashlib
import math
from array import array
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.exceptions import AxisError

import funcgrad as fg
from funcgrad.linear import LinearMap
from funcgrad.ops.base.op import op_named

X, Y, V, M = fg.var("x"), fg.var("y"), fg.var("v", 3), fg.var("m", (2, 3))
N = fg.var("n", dtype=int)
HERE = r"at test_errors\.py:\d+"


def _add_all(carry, xs):
    return carry + xs[0] + xs[1], carry


def _scaled(x, by):
    return x * by


CASES = [
    # -- making expressions
    (lambda: fg.var(""), TypeError, r"var: expected a name, but got ''; write var\('x'\)"),
    (lambda: fg.var("x", -1), ValueError, "var: expected lengths of 0 or more"),
    (lambda: fg.const("a"), TypeError, "const: expected a number, but got str; write float"),
    (lambda: fg.to_jax(X), TypeError, r"to_jax: expected a function, .* write to_jax\(lambda x: e\(x=x\)\)"),
    (lambda: fg.const(10**30), TypeError, "const: expected numbers, but got an int of more than 64 bits"),
    (lambda: X + "a", TypeError, "^add: expected a number, but got str; write float"),
    (lambda: X + None, TypeError, "^add: .* but got NoneType; a function that has no return gives"),
    (lambda: V @ None, TypeError, "^matmul: expected a number, an array or an expression, but"),
    (lambda: np.concatenate([V, None]), TypeError, "^concatenate: expected a number, an array or"),
    (lambda: X * np.sin, TypeError, "^multiply: .* but got ufunc; call the function first"),
    (lambda: fg.cond(None, np.sin, np.cos, 1.0), TypeError, "^cond: expected a number, an array"),
    (lambda: fg.fori_loop(0, "a", np.add, 0.0), TypeError, "^fori_loop: expected a number, but got"),
    (lambda: fg.substitute(X, x=None), TypeError, "^substitute: expected a number, an array or an"),
    (lambda: V + np.array(["a"]), TypeError, "expected numbers, but got"),
    (lambda: V + fg.var("u", 4), ValueError, r"add: expected shapes that broadcast, but got float64\[3\]"),
    (lambda: np.sin(fg.var("b", (), "complex128")) % 2, TypeError, "remainder: NumPy has no loop for"),
    (lambda: np.array([X, X]), TypeError, r"array: expected numbers, but got an expression.*np.stack"),
    (lambda: np.sin([X, Y]), TypeError, r"array: expected numbers, .*; write np.sin\(np.stack\(\[X, Y\]\)\), or fg"),
    (lambda: np.add([X, 1.0], 2.0), TypeError, r"; write np.add\(np.stack\(\[X, 1.0\]\), 2.0\), or fg.adopt"),
    (lambda: np.exp([[X, Y]]), TypeError, r"; write np.exp\(fg.numpy.array\(\[...\]\)\), or fg.adopt"),
    # -- displays
    (lambda: fg.simplify([X, Y]), TypeError, r"simplify: expected an expr.* got list; write \[simplify\(e\) for e in"),
    (lambda: fg.evaluate_all([X, Y], x=1.0), TypeError, r"evaluate_all: .* got list; write \[evaluate_all\(e\) for e in"),
    (lambda: fg.to_python(X, 2.0), TypeError, "to_python: expected the name of the function, but got float"),
    (lambda: fg.to_dot(X, 2.0), TypeError, "to_dot: expected a bool for gradient, but got float; write to_dot"),
    (lambda: fg.steps(X * Y, x=1.0), TypeError, r"steps: expected values for x, y, but got x; write steps\("),
    (lambda: fg.table(X * Y, {"x": 1.0}), TypeError, r"table: expected values for x, y, but got x; write table"),
    (lambda: fg.explain(X * Y, {X: 1.0}), TypeError, "explain: expected values for x, y, but got x; write exp"),
    (lambda: fg.explore(X * Y, x=1.0), TypeError, "explore: expected values for x, y, but got x; write explo"),
    (lambda: fg.to_svg(X, "a.png"), ValueError, r"to_svg: .* ends in \.svg, but got 'a.png'; write path='a.svg'"),
    (lambda: fg.to_svg(X, x=1.0, path=Path("b.pdf")), ValueError, "to_svg: .*but got 'b.pdf'; write path='b.svg'"),
    (lambda: fg.to_svg(X, filename="a.svg"), TypeError, "'a.svg' for filename; write path='a.svg' for a file"),
    (lambda: fg.explore(X, path="a.svg"), ValueError, "explore: .* but got 'a.svg'; write path='a.html'"),
    (lambda: fg.explore(X, x=1.0, file="a.html"), TypeError, "for file; write path='a.html' for a file"),
    # -- results without a gradient
    (lambda: fg.grad(np.argmax)(np.ones(3)), TypeError, "but got int64; integers and flags have no deriv"),
    (lambda: fg.grad(lambda v: v > 0)(np.ones(3)), TypeError, r"but got bool\[3\]; integers and flags have"),
    (lambda: fg.grad(str)(1.0), TypeError, "but got str; return the number, not its text"),
    (lambda: fg.grad(lambda x: [x])(1.0), TypeError, "but got list; return one number of it, or use jacobian"),
    # -- branches
    (lambda: fg.cond(X > 0, X, -X), TypeError, "cond: expected functions as branches, but got an expression"),
    (lambda: fg.switch(0, [np.sin, 2.0]), TypeError, r"switch: expected functions.*got float; write np\.where"),
    (lambda: fg.switch(0, np.sin, 1.0), TypeError, r"switch: expected a list of functions.*write switch\(i, \["),
    # -- what is no function, and arguments of another kind
    (lambda: fg.jvp(None, (1.0,), (1.0,)), TypeError, r"jvp: .* NoneType; write jvp\(f, \(x,\), \(v,\)\)"),
    (lambda: fg.primitive("sin"), TypeError, "primitive: expected a function, but got str"),
    (lambda: fg.testing.check_grads(3, (1.0,)), TypeError, r"check_grads: .* got int; write check_grads\(f, \(x,"),
    (lambda: fg.testing.check_grads(np.sin, (1.0,), modes=3), ValueError, r"modes 'fwd' and 'rev', but got \[3"),
    (lambda: fg.testing.check_grads(iter, (np.ones(2),)), TypeError, "check_grads: expected f to return numbers"),
    (lambda: fg.elementwise_grad(str)(1.0), TypeError, "elementwise_grad: .* but got str; return the number"),
    (lambda: fg.hvp(np.sin, (1.0,), (np.ones(2),)), TypeError, "hvp: expected a tangent of type float64, but"),
    (lambda: fg.reduce(lambda a, b: (a, b), np.ones(2)), TypeError, "reduce: expected a carry of the structure"),
    (lambda: fg.accumulate(np.add, np.ones(2), "a"), TypeError, "accumulate: expected a carry of the structure"),
    (lambda: fg.iterate(lambda a: (a, a), 0.0, 2), TypeError, "iterate: expected a carry of the structure"),
    (lambda: fg.associative_scan(np.add, np.ones(2), axis=3), ValueError, "of one length along axis 3, but got"),
    (lambda: fg.associative_scan(np.add, np.ones(2), axis="a"), TypeError, "expected axis to be an int, but got"),
    (lambda: fg.primitive(np.sin, [3]), TypeError, "primitive: expected partials to be functions.*but got int"),
    (lambda: fg.substitute(X, {3: 1.0}), TypeError, "substitute: expected variables, nodes or names.*got int"),
    (lambda: fg.backprop(X, wrt=3), TypeError, "backprop: expected a list of expressions as wrt, but got 3"),
    (lambda: fg.backprop(X, wrt=[3]), TypeError, r"backprop: expected a list of .* got \[3\]; write wrt=\[x\]"),
    (lambda: fg.var("x", dtype="foo"), TypeError, "var: expected a dtype of numbers, but got 'foo'; write"),
    (lambda: fg.implicit_root(np.subtract, lambda *_: "a")(1.0, 2.0), TypeError, "return numbers, but got <U1"),
    (lambda: fg.scan(lambda c, x: (c, x), 0.0, length=10**30), ValueError, "scan: expected length to be an int"),
    (lambda: fg.jit(np.sin, static_argnames=3)(1.0), ValueError, "jit: expected static_argnames among x"),
    (lambda: fg.bounds(lambda x: x * X, (0.0, 1.0)), TypeError, "bounds: .* has the variable x; hand the value"),
    (lambda: fg.precise(lambda x: x * Y, 1.0), TypeError, "precise: .* has the variable y; hand the value in"),
    # -- questions without an answer
    (lambda: bool(X > 0), TypeError, r"bool\(\): expected a number, but 'x > 0' has none.*np.where"),
    (lambda: X << 2, TypeError, r"<<: expected integers or bools, but got float64, int; write x \* 2\*\*n"),
    (lambda: X ^ 2, TypeError, r"\^: expected integers or bools, but got float64, int; write x\*\*y for a power"),
    (lambda: float(X), TypeError, r"float\(\): expected a number, but 'x' has none"),
    (lambda: [1, 2][X], TypeError, "an index: expected a number"),
    (lambda: f"{X:.2f}", TypeError, "a format: expected a number"),
    (lambda: len(X), TypeError, r"^len\(\): expected an array, but got one number; write np.atleast_1d\(x\) .*\n  at "),
    (lambda: list(X), TypeError, r"^iter\(\): expected an array, but got one number; write np.atleast_1d\(x\) .*\n  at "),
    (lambda: V[V > 0], TypeError, "a boolean index: expected a number"),
    # -- NumPy functions
    (lambda: np.packbits(V), TypeError, "packbits: expected a function with a derivative rule"),
    (lambda: np.add(V, 1, out=np.zeros(3)), TypeError, r"add: out=.*write a = a \+ b"),
    (lambda: np.sum(V, out=np.zeros(())), TypeError, "sum: out="),
    (lambda: V.sum(dim=0), TypeError, "sum: expected NumPy's names, but got dim; write axis= instead"),
    (lambda: np.cumsum(V, 0, None, None, 1), TypeError, "positional|cumsum"),
    # -- shapes and indices
    (lambda: V.reshape(2, 2), ValueError, r"reshape: expected a shape of 3 entries for float64\[3\]"),
    (lambda: V.reshape(3, order="K"), TypeError, "reshape: expected order 'C' or 'F'"),
    (lambda: np.squeeze(M, 0), ValueError, "squeeze: expected axes of length 1"),
    (lambda: np.transpose(M, (0,)), ValueError, "transpose: expected 2 axes"),
    (lambda: np.broadcast_to(V, (2,)), ValueError, "broadcast_to: expected a shape that"),
    (lambda: np.transpose(M, (0, 0)), ValueError, r"transpose: expected distinct axes for float64\[2, 3\]"),
    (lambda: M.mean(axis="0"), TypeError, r"mean: expected integers as axes for .*, but got axis '0'"),
    (lambda: np.sum(X, axis=1), AxisError, "sum: expected no axis for float64, but got axis 1"),
    (lambda: np.expand_dims(V, 5), AxisError, "expand_dims: expected an axis from -2 to 1 for a result of 2 axes"),
    (lambda: np.fft.rfft(V, axis=1), AxisError, "rfft: expected an axis from -1 to 0"),
    (lambda: np.maximum.accumulate(V, axis=1), AxisError, "maximum.accumulate: expected an axis"),
    (lambda: np.tensordot(V, V, axes=([1], [0])), AxisError, "tensordot: expected an axis"),
    *[
        (lambda f=f: f(M, axis=2), AxisError, r"\w+: expected an axis from -2 to 1 for \w+\[2, 3\], but got axis 2")
        for f in [
            *(np.sum, np.mean, np.std, np.prod, np.max, np.argmax, np.cumsum, np.sort, np.median),
            *(np.diff, np.flip, np.linalg.norm, np.gradient, np.nanmedian, np.fft.fft, np.trapezoid),
        ]
    ],
    (lambda: np.concatenate([V, M]), ValueError, "concatenate: expected shapes that agree|axes"),
    (lambda: np.concatenate([X, X]), ValueError, "concatenate: expected arrays with axes.*use stack"),
    (lambda: np.stack([V, M]), ValueError, "stack: expected arrays of one shape"),
    (lambda: np.split(V, 2), ValueError, r"into 2 equal parts; write np.array_split\(x, 2\), or"),
    (lambda: V[5], IndexError, r"getitem: index 5 is out of bounds.*\(of float64\[3\]\)"),
    (lambda: V[0.5], TypeError, "getitem: expected integers, slices"),
    (lambda: V["x"], TypeError, "but got a name; write an array for each field"),
    (lambda: V[[0, 9]], IndexError, "index 9 is out of bounds"),
    (lambda: V.at[[0, 0]].apply(np.sin), ValueError, "apply: expected each entry to be named once"),
    (lambda: fg.const(1j * np.ones(2)).at[[0, 0]].max(1.0), ValueError, "maximum: expected each entry to be"),
    (lambda: V.at[0].set(1.0, mode="wrap"), ValueError, "expected mode 'clip', 'drop', 'fill' or"),
    (lambda: V.at[0].get(mode="drop"), ValueError, "expected mode 'clip', 'fill' or"),
    (lambda: V.at[0].set(1.0, sorted=True), TypeError, "expected mode or indices_are_sorted.* got sorted"),
    (lambda: V.at[0].set(1j), TypeError, "at: expected a value of dtype float64, but got complex128"),
    (lambda: V.at[0].set(V), ValueError, r"^item assignment: expected a value for the one entry .* got float64\[3\]"),
    (lambda: V.at[:2].add(V), ValueError, r"entries of shape \(2,\) that the index selects of float64\[3\], but"),
    (lambda: V.__setitem__(0, 1.0), TypeError, r"write x = x.at\[i\].set\(v\)"),
    (lambda: np.max(fg.var("e", (0,))), ValueError, "max: expected at least one entry"),
    # -- contractions
    (lambda: V @ fg.var("u", 4), ValueError, r"matmul: expected the last axis.*float64\[3\] @ float64\[4\]"),
    (lambda: X @ V, ValueError, "use \\* with a scalar"),
    (lambda: fg.var("a", (2, 3, 4)) @ fg.var("b", (3, 4, 5)), ValueError, "expected stacks that broadcast"),
    (lambda: np.einsum("ij,j->i", M), ValueError, "einsum: expected 2 operands"),
    (lambda: np.einsum("ij->k", M), ValueError, "einsum: expected an output of the inputs' letters"),
    (lambda: np.einsum("i->i", M), ValueError, "einsum: expected 'i' to name the axes"),
    (lambda: np.einsum("ij,j->i", M, fg.var("u", 4)), ValueError, "einsum: expected one length for 'j'"),
    (lambda: np.einsum(M, M), TypeError, "einsum: expected a subscripts string"),
    (lambda: np.tensordot(M, M, 1), ValueError, "tensordot: expected equal lengths"),
    (lambda: np.linalg.norm(M, 3), ValueError, "norm: expected ord 'fro', 'nuc', 1"),
    (lambda: fg.gradient(X, "z"), TypeError, r"^gradient: expected variables \(x\), but got 'z'\n  at "),
    (lambda: fg.linearize(np.sin, 1.0)[1](1.0, 2.0), TypeError, "^linearize: expected 1 tangents, but got 2\n  at "),
    (lambda: fg.to_python(X, "2"), ValueError, "^to_python: expected an identifier as name, but got '2'\n  at "),
    (lambda: fg.check_grads(np.sin, (1.0,), order=0), ValueError, "an order of at least 1, but got 0\n  at "),
    # -- arguments and results by name
    (lambda: fg.grad(lambda x, *, k: x * k, argnums="k")(1.0, k=3.0), TypeError,
        r"got 'k'; write grad\(lambda k: f\(x, k=k\)\)\(2.0\) for the argument of this name"),
    (lambda: fg.hessian(lambda x, *, k: x * k, argnums=(0, "k"))(1.0, k=3.0), TypeError,
        r"hessian: .* got \(0, 'k'\); write hessian\(lambda k: "),
    (lambda: fg.grad(lambda x, y: x * y, argnums="x"), TypeError,
        r"got 'x'; write grad\(f, argnums=0\), and give the argument by position"),
    (lambda: fg.jacobian(lambda x, y: x * y, argnums=("y", "x")), TypeError, r"; write jacobian\(f, argnums=\(1, 0\)\), and"),
    (lambda: fg.grad(lambda **k: k["x"], argnums="x"), TypeError, r"write grad\(lambda x: f\(y, x=x\)\)\(2.0\) for"),
    (lambda: fg.grad(lambda x, k: x * k, argnames="k"), TypeError,
        r"got argnames; write grad\(lambda k: f\(x, k=k\)\)\(2.0\) for an argument k by name"),
    (lambda: fg.grad(fun=np.sin), TypeError, r"got fun; give the function by position"),
    (lambda: fg.grad(lambda x: x, has_aux=True)(1.0), TypeError,
        "but got float64; write return value, aux, or leave has_aux out"),
    (lambda: fg.vjp(lambda x: (x, x, x), 1.0, has_aux=True), TypeError,
        r"vjp: .* but got 3 of them; write return value, \(a, b\) for several"),
    # -- running
    (lambda: (X * V)(x=1.0), TypeError, r"evaluate: expected values for x, v, but got x"),
    (lambda: X(1.0), TypeError, r"evaluate: expected values by name or in a dict, but got float; write e\(x=2.0\)"),
    (lambda: X(1.0, 2.0), TypeError, r"evaluate: expected values by name or in a dict, but got float, float; write e\("),
    (lambda: fg.evaluate(X, 1.0), TypeError, r"evaluate: expected values by name or in a dict, but got float"),
    (lambda: fg.backprop(X)(1.0), TypeError, r"evaluate: expected values by name or in a dict, but got float"),
    (lambda: V(v=np.ones(2)), TypeError, r"evaluate: expected float64\[3\] for v, but got float64\[2\]"),
    (lambda: (X * fg.var("y"))(x=np.ones(3), y=np.ones(2)), ValueError, r"one grid.*x: \(3,\), y: \(2,\)"),
    (lambda: fg.explore(X, "e.html"), TypeError, r"but got str; .*and explore\(e, path='e.html'\) for a file"),
    (lambda: fg.steps(X, 2.0), TypeError, r"expected values by name or in a dict, but got float; write steps\(e, x=2.0\)\n"),
    (lambda: X(x=1j), TypeError, r"float64 for x, but got complex128; write fg.var\('x', \(\), complex\) for a"),
    (lambda: X(x=fg.var("z", (), complex)), TypeError, "evaluate: expected float64 for x, but got complex128"),
    (lambda: X in [X + 1, X], TypeError, r"fg.same\(a, b\) compares two formulas"),
    (lambda: fg.var("x y"), TypeError, r"var: expected one name, but got 'x y'; write fg.vars\('x y'\)"),
    (lambda: fg.vars(""), TypeError, r"vars: expected names separated by spaces"),
    (lambda: fg.vars("x", "y"), TypeError, r"^vars: .* got 'x', 'y'; write vars\('x y'\)\n  at "),
    (lambda: np.where(X > 0, X), ValueError, r"^where: expected both branches or none, but got one; "),
    (lambda: fg.sin(X, X), TypeError, r"^sin: expected one operand, but got 2\n  at "),
    (lambda: (X + fg.var("x", 3))(x=1.0), TypeError, "variables: expected one type for 'x'"),
    (lambda: fg.substitute(X, y=1.0), TypeError, r"substitute: expected a variable \(x\), but got 'y'"),
    (lambda: fg.substitute(X, x=V), TypeError, r"expected float64 in the place of x, but got"),
    # -- derivatives
    (lambda: fg.grad(3), TypeError, r"grad: expected a function, but got int; write grad\(f\)\(x\)"),
    (lambda: fg.grad(X), TypeError, r"but got an expression; write gradient\(e, x\)"),
    (lambda: fg.hessian(X), TypeError, r"but got an expression; write hessian\(lambda x: e\(x=x\)\), a function"),
    (lambda: fg.jacobian(X * V), TypeError, r"write jacobian\(lambda x, v: e\(x=x, v=v\), argnums=\(0, 1\)\), a"),
    (lambda: fg.vjp(3, 1.0), TypeError, "vjp: expected a function"),
    (lambda: fg.grad(lambda x: x)(np.ones(2)), TypeError, r"grad: expected f to return a real scalar, but got float64\[2\]; sum it"),
    (lambda: fg.grad(lambda x: "a")(1.0), TypeError, "real scalar, but got str"),
    (lambda: fg.grad(lambda x: x * 1j)(1.0), TypeError, "but got complex128; take np.real or np.abs"),
    (lambda: fg.grad(np.sum)(np.arange(3)), TypeError, r"grad: expected float or complex values in argument 0, but got int64; convert it with x.astype\(float\)"),
    (lambda: fg.grad(np.sum)(True), TypeError, r"but got bool; convert it with float\(x\)"),
    (lambda: fg.grad(np.sum)(np.True_), TypeError, r"but got bool; convert it with x.astype\(float\)"),
    (lambda: fg.grad(lambda x: x)("a"), TypeError, "grad: expected a number, but got str; write"),
    (lambda: fg.grad(np.sin, argnums=1)(1.0), TypeError, "expected argnums to be 0, since the call has 1 positional argument, but got 1; give the argument by position"),
    (lambda: fg.grad(lambda x: x, has_aux=True)(1.0), TypeError, r"return a pair \(value, aux\)"),
    (lambda: fg.vjp(np.sin, 1.0)[1](np.ones(2)), TypeError, r"pullback: expected a cotangent of type float64, but got float64\[2\]"),
    (
        lambda: fg.vjp(np.sin, 1.0)[1]([1.0, 2.0]),
        TypeError,
        r"cotangent of the structure of float64, but got \[float64, float64\]",
    ),
    (
        lambda: fg.vjp(lambda x: {"a": x}, np.ones(3))[1]({"b": np.ones(3)}),
        TypeError,
        r"structure of \{'a': float64\[3\]\}, but got \{'b': float64\[3\]\}",
    ),
    (lambda: fg.jvp(np.sin, (1.0,), ("a",)), TypeError, "tangent of the structure of float64, but got str"),
    (lambda: fg.jacobian(lambda x: None)(1.0), TypeError, "jacobian: expected f to return numbers, but got None"),
    (lambda: fg.grad(np.sin, True), TypeError, "grad: expected argnums to be an int or a tuple.* but got True"),
    (lambda: fg.value_and_grad(np.sin, 1.0), TypeError, r"^value_and_grad: .* but got 1.0; write value_and_grad\(f\)"),
    (lambda: fg.value_and_grad(np.sin)(np.ones(2)), TypeError, "^value_and_grad: expected f to return a real"),
    (lambda: fg.value_and_grad(np.sin).expr(np.ones(2)), TypeError, "^value_and_grad: expected f to return"),
    (lambda: fg.elementwise_grad(np.sin, 1.0), TypeError, "^elementwise_grad: expected argnums .* but got 1.0"),
    (lambda: fg.sparse_hessian(np.sin, 1.0), TypeError, "^sparse_hessian: expected argnums .* but got 1.0"),
    (lambda: fg.sparse_jacobian(np.sin, np.ones(2)), TypeError, r"^sparse_jacobian: .* argnums .*; write sparse_jac"),
    (lambda: fg.vmap(np.sin, np.ones(2)), TypeError, r"^vmap: expected in_axes .* got ndarray; write vmap\(f\)\(x\)"),
    (lambda: fg.vmap(np.add, (0, 1.0)), TypeError, r"^vmap: expected in_axes .* got float; write vmap\(f\)\(x\)"),
    (lambda: fg.hvp(np.sin, (np.ones(2),), (np.ones(2),)), TypeError, "^hvp: expected f to return a real"),
    (lambda: fg.custom_vjp(np.sin).defvjp(np.sin, None), TypeError, r"functions in defvjp\(fwd, bwd\), but got N"),
    (lambda: fg.custom_jvp(np.sin).defjvps(3.0), TypeError, r"functions in defjvps\(\*partials\), but got float"),
    (
        lambda: fg.sparse_jacobian(lambda x: "a")(np.ones(2)),
        TypeError,
        "sparse_jacobian: expected f to return numbers, but got str",
    ),
    (lambda: fg.fixed_point(np.cos, 1.0), TypeError, r"expected a solver, .*; write fixed_point\(f\)\(x0, \*theta\)"),
    (lambda: fg.reduce(3, np.ones(2)), TypeError, r"reduce: expected a function as f, but got int; write reduce\("),
    (lambda: fg.jit(np.sin, static_argnums="x"), TypeError, "jit: expected static_argnums to be an int.* 'x'"),
    (lambda: fg.jit(np.sin, 1.0), TypeError, r"jit: expected static_argnums to be an int.* got 1.0; write jit\(f\)\(x\)\n"),
    (lambda: fg.jit(lambda x, n: x, static_argnums=2), ValueError, r"static_argnums among the 2 positional .*\(x, n\).* got 2"),
    (lambda: fg.jit(lambda x, n: x, static_argnames="m"), ValueError, "static_argnames among x, n, .* but got 'm'"),
    (lambda: fg.jvp(np.sin, 1.0, 1.0), TypeError, r"write jvp\(f, \(x,\), \(v,\)\)"),
    (lambda: fg.jvp(np.sin, (1.0,), ()), TypeError, "expected 1 tangents, but got 0"),
    (lambda: fg.jvp(np.sin, (1.0,), (1j,)), TypeError, "jvp: expected a tangent of type float64"),
    (lambda: fg.trace(3), TypeError, r"trace: expected a function, but got int; write trace\(f, x\)"),
    (lambda: fg.substitute(3, {}), TypeError, "substitute: expected an expression, but got int"),
    (lambda: fg.backprop(3.0), TypeError, r"backprop: expected an expression, but got float"),
    (lambda: fg.backprop(X > 0), TypeError, "backprop: expected a float expression, but got bool"),
    (lambda: fg.backprop(V, seed=np.ones(2)), ValueError, r"backprop: expected a seed of float64\[3\]"),
    (lambda: fg.backprop(X, {"x": 2.0}), TypeError, r"a number or an array as seed, but got dict; .*\(e\)\(x=2.0\)"),
    (lambda: fg.gradient(V, V), TypeError, r"scalar expression.*sum it first, or write fg.jacobian\(f\).expr\(x\)"),
    (lambda: fg.gradient({"a": X}), TypeError, r"got dict; write \{name: gradient\(e\) for name, e in es.items\(\)\}"),
    (lambda: fg.jacobian([X, X * 2], [X]), TypeError, r"got a list of expressions; write \[\[fg.gradient\(e, v\) for"),
    (lambda: fg.grad(fg.primitive(np.sum))(np.ones(3)), TypeError, r"got float64\[3\]; give the primitive out= the type"),
    (lambda: fg.primitive(np.sin, [lambda z, x: x]), TypeError, r"the arguments of f \(1\), .* one of \(z, x\); write \["),
    (lambda: fg.var(X), TypeError, "var: expected a name, but got x; write var"),
    (lambda: fg.gradient(X, 3), TypeError, r"gradient: expected variables \(x\), but got 3"),
    (lambda: fg.gradient(X, "q"), TypeError, r"gradient: expected variables \(x\), but got 'q'"),
    # -- ranges, which are static, where arrays are run over
    (lambda: fg.scan(lambda c, i: (c + i, c), 0.0, range(4)), TypeError, r"scan: .*range\(0, 4\); write np.arange\(4\)"),
    (lambda: fg.scan(_add_all, 0.0, [V, range(1, 4)]), TypeError, r"scan: .* but got range\(1, 4\); write np.arange\(1, 4\)"),
    (lambda: fg.scan(lambda c, i: (c + i, c), 0.0, range(3), 3), TypeError, r"write np.arange\(3\)"),
    (lambda: fg.reduce(np.add, range(3), 0.0), TypeError, r"reduce: .*; write np.arange\(3\)"),
    (lambda: fg.accumulate(np.add, range(3)), TypeError, r"accumulate: .*; write np.arange\(3\)"),
    (lambda: fg.associative_scan(np.add, range(0, 9, 3)), TypeError, r"write np.arange\(0, 9, 3\)"),
    (lambda: fg.vmap(np.multiply)(np.ones(3), range(3)), TypeError, r"vmap: .*; write np.arange\(3\)"),
    (lambda: fg.vmap(np.multiply, (0, 0))(np.ones(3), range(3)), TypeError, r"vmap: .*; write np.arange\(3\)"),
    (lambda: fg.vmap(_scaled)(np.ones(3), by=range(3)), TypeError, r"vmap: .*; write np.arange\(3\)"),
    (lambda: fg.gradient(N.sum(), N), TypeError, "gradient: expected float .* but got int64; integers and flags"),
    (lambda: fg.gradient(X * N, [X, "n"]), TypeError, "gradient: expected float .* but got int64; integers"),
    # -- the inside
    (lambda: op_named("os.system"), ValueError, "expected the name of one, but got 'os.system'"),
    (lambda: LinearMap().apply(1.0), NotImplementedError, "does not say how to apply itself"),
    (lambda: LinearMap().transpose(1.0), NotImplementedError, "how to transpose itself"),
    (lambda: fg.expr.assemble(fg.expr.operation_table, dict), RuntimeError, "handed over already"),
    (lambda: fg.numpy.nothing, AttributeError, r"module 'funcgrad.numpy' \(and 'numpy'\) has no attribute"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("attempt", "kind", "message"), CASES, ids=[case[2][:40] for case in CASES]
)
def test_errors_teach(attempt, kind, message):
    with pytest.raises(kind, match=rf"(?s){message}"):
        attempt()


LOCATED = [c for c in CASES if c[1] in (TypeError, ValueError, IndexError)]
NOWHERE = (
    "len()",
    "iteration",
    "var:",
    "const:",
    "'os.system'",
    "but got float",
    "gradient: expected var",
)


@pytest.mark.parametrize("case", LOCATED, ids=lambda c: c[2][:40])
def test_errors_name_the_users_line(case):
    attempt, kind, _ = case
    with pytest.raises(kind) as caught:  # the message is the other test's
        attempt()
    text = str(caught.value)
    known = any(part in text for part in NOWHERE) or "positional" in text
    assert known or "test_errors.py:" in text


def test_an_array_that_sympy_has_no_form_of_names_the_users_line():
    pytest.importorskip("sympy")
    with pytest.raises(
        ValueError, match=r"use to_latex, or write the entries out\n  at test_errors"
    ):
        fg.to_sympy(np.sum(V))


def test_the_line_is_quoted():
    def loss(w):
        return np.sum(w @ np.ones(4))

    with pytest.raises(
        ValueError, match=r"at test_errors\.py:\d+: return np\.sum\(w @ np\.ones\(4\)\)"
    ):
        fg.grad(loss)(np.ones(3))


def test_storing_a_traced_value_in_an_array_is_refused():
    """NumPy would ask for a float, and the gradient would be a silent zero."""

    def f(x):
        y = np.zeros(2)
        y[0] = x
        return np.sum(y)

    with pytest.raises(TypeError, match=r"^setting an array element: ") as caught:
        fg.grad(fg.adopt(f, False))(1.0)
    *_, remedy, place = str(caught.value).splitlines()
    assert "write x = x.at[i].set(v)" in remedy
    assert place.endswith("y[0] = x")
    with pytest.raises(ValueError, match=r"^of the user"):
        fg.grad(fails)(1.0)


def stores_too_much(x):
    y = np.zeros((2, 3))
    y[1, 0] = x
    return y.sum()


def multiplies_wrong_shapes(x):
    y = np.zeros(3)
    y[:] = x
    return y @ np.ones(4)


def reads_past_the_end(x):
    y = np.zeros(3)
    y[:] = x
    return y[5]


def raises_after_a_store(x):
    y = np.zeros(3)
    y[:] = x
    raise RuntimeError("of the user")


def asks_an_int_for_its_length(x):
    y = np.zeros(3)
    y[:] = x
    return y.sum() * len(3)


def raises_a_type_error(x):
    y = np.zeros(3)
    y[:] = x
    raise TypeError("of the user")


def misspells_a_method(x):
    y = np.zeros(3)
    y[:] = x
    return y.summ()


def misspells_a_function_of_funcgrad(x):
    y = np.zeros(3)
    y[:] = x
    return np.sum(fg.reluu(y))


def calls_a_method_of_pytorch(x):
    y = np.zeros(3)
    y[:] = x
    return y.detach().sum()


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (stores_too_much, ValueError, "^item assignment: expected a value for the"),
        (misspells_a_method, AttributeError, "no attribute 'summ'$"),
        (misspells_a_function_of_funcgrad, AttributeError, "no attribute 'reluu'; write fg.relu$"),
        (
            calls_a_method_of_pytorch,
            AttributeError,
            r"'detach'; write fg.stop_gradient\(x\)\n  at .*: return",
        ),
        (multiplies_wrong_shapes, ValueError, "^matmul: expected the last axis"),
        (reads_past_the_end, IndexError, "5"),
        (raises_after_a_store, RuntimeError, "^of the user$"),
        (asks_an_int_for_its_length, TypeError, "^object of type 'int' has no len"),
        (raises_a_type_error, TypeError, "^of the user$"),
    ],
)
def test_a_mistake_after_a_store_is_told(f, error, message):
    """The store itself is adopted, so its refusal would mislead."""
    with pytest.raises(error, match=message):
        fg.grad(f)(np.arange(3.0))


def test_the_line_that_is_refused_in_the_adopted_function_is_told():
    def f(x):
        y = np.zeros(3)
        y[:] = x
        return np.sum(ctypes.c_double(y[0]).value * y)

    with pytest.raises(TypeError, match=r"^float\(\): [^\n]*\n  at .*: return np.sum\(ctypes"):
        fg.grad(f)(np.arange(3.0))


def fails(x):
    raise ValueError("of the user")


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ("a", "str; write float.* fg.var"),
        (Decimal("1.5"), "Decimal; write float"),
    ],
)
def test_values_that_only_read_as_numbers_are_refused_with_advice(value, advice):
    with pytest.raises(TypeError, match=f"grad: expected a number, but got {advice}"):
        fg.grad(lambda x: x * x)(value)
    for combine in (
        lambda: X + value,
        lambda: value * X,
        lambda: fg.const(value),
        lambda: X(x=value),
    ):
        with pytest.raises(TypeError, match=advice):
            combine()


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (Fraction(3, 10), "Fraction; convert it with float"),
        (array("d", [0.3]), "array; convert it with np.asarray"),
        (memoryview(np.zeros(2)), "memoryview; convert it with np.asarray"),
    ],
)
def test_other_kinds_of_numbers_are_refused_with_advice(value, advice):
    with pytest.raises(TypeError, match=f"in argument 0, but got {advice}"):
        fg.grad(lambda x: np.sum(x * x))(value)


def test_a_symbol_of_sympy_is_refused_with_advice():
    sympy = pytest.importorskip("sympy")
    for attempt in (lambda s: X + s, fg.const, fg.grad(lambda x: x * x)):
        with pytest.raises(TypeError, match=r"write fg\.var\('x'\) for a symbol.*lambdify"):
            attempt(sympy.Symbol("s"))


@pytest.mark.parametrize(
    "attempt",
    [
        lambda s: fg.const([1.0, s]),
        lambda s: V * np.array([s, 1.0, 2.0]),
        lambda s: np.sum(V)(v=[s, 1.0, 2.0]),
        lambda s: np.sum(V)(v=np.array([s, 1.0, 2.0])),
        lambda s: fg.grad(lambda x: x[0] * 2)([s]),
        lambda s: fg.grad(np.sum)(np.array([s, 1.0])),
        lambda s: fg.jit(lambda x: x * 2)(s),
        lambda s: fg.jit(lambda x: x[0] * 2)([s]),
        lambda s: fg.jit(lambda x: x * s)(2.0),
        lambda s: np.concatenate([V, [s]]),
    ],
)
def test_symbols_of_sympy_in_lists_and_under_jit_are_refused_with_advice(attempt):
    sympy = pytest.importorskip("sympy")
    with pytest.raises(TypeError, match=r"but got (Symbol|Mul); write fg\.var\('x'\) for a symbol"):
        attempt(sympy.Symbol("s"))


def test_numbers_of_other_libraries_are_operands():
    """Those whose classes are registered as numbers; a class derived from Python's has its own arithmetic."""
    sympy, mpmath = pytest.importorskip("sympy"), pytest.importorskip("mpmath")
    for number in (sympy.Rational(5, 2), sympy.Float(2.5), mpmath.mpf(2.5)):
        assert fg.grad(lambda x, c=number: x * c if x >= c else x**c)(4.0) == 2.5
        assert fg.grad(lambda x, c=number: (x - c) ** 2)(4.0) == 3.0
    assert fg.grad(lambda x: np.real(x * mpmath.mpc(2.5, 1.0)))(4.0) == 2.5


def test_a_decimal_under_jit_is_refused_with_advice():
    with pytest.raises(TypeError, match="jit: expected a number, but got Decimal; write float"):
        fg.jit(lambda x: x * 2)(Decimal("1.5"))


class Tensor:
    """Stands for PyTorch's: NumPy makes an array of it without a word."""

    shape, dtype = (3,), "float32"

    def __array__(self, dtype=None, copy=None):
        return np.ones(3, np.float32)


Tensor.__module__ = "torch"


@pytest.mark.parametrize(
    "attempt",
    [
        fg.const,
        lambda t: V(v=t),
        lambda t: fg.evaluate(V * 2, v=t),
        lambda t: fg.table(np.sum(V), v=t),
        lambda t: fg.vmap(lambda x: x * 2)(t),
        lambda t: V * t,
        fg.grad(np.sum),
        fg.jit(np.sum),
    ],
)
def test_arrays_of_other_libraries_are_refused_everywhere(attempt):
    with pytest.raises(
        TypeError, match=r"expected NumPy arrays, but got torch\.Tensor; write x\.numpy"
    ):
        attempt(Tensor())


class CupyArray:
    """Stands for CuPy's, which answers NumPy's ufuncs by itself."""

    shape, dtype = (3,), "float64"
    __array_ufunc__ = np.ndarray.__array_ufunc__

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __mul__(self, other):
        return np.multiply(self, other)

    __rmul__ = __mul__


CupyArray.__module__ = "cupy"


@pytest.mark.parametrize(
    "product", [lambda x, c: x * c, lambda x, c: c * x, np.multiply, lambda x, c: np.add(c, x)]
)
def test_captured_arrays_that_answer_ufuncs_are_refused(product):
    held = CupyArray()
    advice = r'but got cupy\.ndarray; write x\.get\(\), or call fg\.jit\(f, backend="cupy"\) with such arr'
    for function in (
        fg.grad(lambda x: np.sum(product(x, held))),
        fg.jit(lambda x: product(x, held)),
    ):
        with pytest.raises(TypeError, match=advice):
            function(np.ones(3))
    with pytest.raises(TypeError, match=advice):
        product(V, held)


def test_a_tensor_on_a_gpu_is_told_from_one_on_the_cpu():
    tensor = Tensor()
    tensor.is_cuda = True
    with pytest.raises(TypeError, match=r"write x\.cpu\(\)\.numpy\(\), or call fg\.to_torch"):
        V * tensor


def test_a_picture_is_not_written_to_a_number():
    with pytest.raises(TypeError, match=r"but got float; write to_svg\(e, x=2\.0\)"):
        fg.to_svg(X * X, 2.0)


def test_a_missing_rule_names_what_declares_one():
    with pytest.raises(TypeError, match=r"packbits: .*declare one by fg\.primitive\(f, \["):
        np.packbits(X)


def test_softplus_of_complex_values_is_refused_when_it_is_written():
    with pytest.raises(TypeError, match="softplus: expected real values, but got others; write"):
        fg.softplus(fg.var("c", (), complex))
    with pytest.raises(TypeError, match="softplus: expected real values"):
        fg.softplus(1j)


class Quantity(np.ndarray):
    """An array with an arithmetic of its own, and a unit."""

    unit = "m"

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)


def test_an_error_in_the_place_of_a_refusal_names_the_refusal():
    class OfTextError(RuntimeError):
        pass

    def degrees(angle):
        try:
            return float(angle)
        except (TypeError, ValueError):
            try:
                return float(angle.strip("NSEW"))
            except AttributeError as error:
                raise OfTextError(f"{type(angle).__name__}: {error}") from error

    class Degrees(float):
        def __new__(cls, angle):
            try:
                return float.__new__(cls, angle)
            except TypeError:
                raise OfTextError("no angle") from None

    for f in (lambda x: math.sin(degrees(x)), lambda x: Degrees(x) * 2.0):
        with pytest.raises(OfTextError) as caught:
            fg.grad(fg.adopt(f, on=False))(1.0)
        (note,) = caught.value.__notes__
        assert note.startswith("the code has handled this error before: float(): expected a value")
    assert fg.grad(lambda x: Degrees(x) * 2.0)(1.0) == 2.0  # (Adopted, it holds the traced value.)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_arguments_with_units_are_advised_on():
    q = np.array([1.0, 2.0]).view(Quantity)
    message = r"a plain array, but got a Quantity, whose arithmetic .* q.to_value\(unit\)"
    for f in (lambda x: x * q, lambda x: q * x, lambda x: np.dot(x, q)):
        with pytest.raises(TypeError, match=message):
            fg.grad(fg.adopt(lambda x, f=f: np.sum(f(x)), False))(np.ones(2))
    with pytest.raises(TypeError, match=message):
        fg.grad(np.sum)(q)
    with pytest.raises(
        TypeError, match=r"a matrix, whose .* write np.asarray\(a\), and make the matrix"
    ):
        fg.grad(lambda m: (m * m).sum())(np.matrix([[1.0, 2.0], [3.0, 4.0]]))


def test_a_shape_of_a_mapped_size_is_advised_on():
    with pytest.raises(TypeError, match=r"got \(0,\) and \(1,\); .* np.where\(mask, x, 0.0\)"):
        fg.vmap(lambda n: np.zeros(n))(np.arange(3))
    with pytest.raises(TypeError, match="sequence of integers") as caught:
        fg.fori_loop(0, 3, lambda i, c: c + np.sum(np.zeros(i)), 0.0)
    assert "choose its entries by np.where" in caught.value.__notes__[0]


def test_masked_arrays_and_assertions_of_arrays_are_advised_on():
    with pytest.raises(TypeError, match=r"write fg.adopt\(f\) .* masked arrays hold traced values"):
        fg.grad(fg.adopt(lambda x: np.ma.masked_array(x, [True, False]).sum(), False))(np.ones(2))
    with pytest.raises(
        TypeError, match=r"write assert np.allclose\(x, y\) in the place of np.testing.ass"
    ):
        fg.grad(fg.adopt(lambda x: np.testing.assert_allclose(x, 1.0) or x.sum(), False))(
            np.ones(2)
        )


class Place(np.ndarray):
    def __new__(cls, values):
        return np.asarray(values).view(cls)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrices_structured_arrays_and_hashes_are_advised_on():
    for values in (lambda x: x, lambda x: [x[0], 1.0]):
        with pytest.raises(
            TypeError, match=r"write fg.adopt\(f\) .* instances of Place hold traced"
        ):
            fg.grad(fg.adopt(lambda x, values=values: Place(values(x)).sum(), False))(np.ones(2))

    def of_fields(x):
        table = np.zeros(2, [("mass", float), ("place", float)])
        table["mass"] = x
        return table["mass"].sum()

    def of_a_view_of_fields(x):
        mass = np.zeros(3, [("mass", float), ("place", float)])["mass"][1:]
        mass += x
        return mass.sum()

    with pytest.raises(TypeError, match=r"write fg.adopt\(f\) .* matrices hold traced values"):
        fg.grad(fg.adopt(lambda x: (np.matrix(x) * np.matrix(x).T).sum(), False))(np.ones(2))
    for f in (of_fields, of_a_view_of_fields):
        with pytest.raises(TypeError, match="write an array for each field in the place"):
            fg.grad(f)(np.ones(2))
    with pytest.raises(TypeError, match="buffer API required") as caught:
        fg.grad(lambda x: x[0] * len(hashlib.md5(2 * x).hexdigest()))(np.ones(2))
    assert "traced values have no bytes" in caught.value.__notes__[0]
    with pytest.raises(AttributeError, match="tobytes") as caught:
        fg.grad(lambda x: x[0] * len(x.tobytes()))(np.ones(2))
    assert "traced values have no bytes" in caught.value.__notes__[0]


def inverse(x):
    y = 2.0 * x
    return np.sum(np.linalg.inv(y @ y))


@pytest.mark.parametrize(
    "run",
    [
        *(fg.grad(inverse), fg.value_and_grad(inverse), fg.jacfwd(inverse)),
        *(lambda x: fg.jvp(inverse, (x,), (x,)), lambda x: fg.linearize(inverse, x)),
        lambda x: fg.vjp(inverse, x),
        lambda x: inverse(fg.var("x", (2, 2)))(x=x),
    ],
)
def test_an_error_of_a_program_that_runs_names_the_line_that_made_the_node(run):
    told = r"^Singular matrix\nraised by inv of float64\[2, 2\]\n  at test_errors.py:.*return np.sum\(np.linalg.inv"
    for _ in range(2):  # the second run reuses the program
        with pytest.raises(np.linalg.LinAlgError, match=told):
            run(np.zeros((2, 2)))


def test_an_error_of_a_value_that_python_asks_for_names_the_line_that_made_it():
    def branch(x):
        a = np.linalg.inv(x)
        return a[0, 0] if a[0, 0] > 0 else a[1, 1]

    told = r"^Singular matrix\nraised by inv of float64\[2, 2\]\n  at test_errors.py:.* a = np.linalg.inv"
    with pytest.raises(np.linalg.LinAlgError, match=told):
        fg.grad(branch)(np.zeros((2, 2)))


@pytest.mark.parametrize("transform", [lambda f: f, fg.adopt])
def test_functions_of_casadi_refuse_traced_values(transform):
    casadi = pytest.importorskip("casadi")
    with pytest.raises(NotImplementedError, match="Wrong number or type of arguments"):
        casadi.sin(X)
    with pytest.raises(NotImplementedError, match="Wrong number") as caught:  # it was a crash
        fg.grad(transform(lambda x: casadi.sin(x)))(1.0)
    assert any(["compiled code was given traced values" in n for n in caught.value.__notes__])


def test_arrays_whose_meaning_would_be_lost_are_refused():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(TypeError, match=r"grad: expected a plain array, but got a matrix"):
        fg.grad(np.sum)(matrix)
    for wrapped in (np.ma.masked_array([1.0, 2.0], [True, False]), matrix):
        with pytest.raises(TypeError, match=r"multiply: expected a plain array, but got a [Mm]a"):
            fg.grad(fg.adopt(lambda x, a=wrapped: np.sum(x * a), False))(np.ones(2))


def test_arguments_are_named_once_and_given_by_position():
    with pytest.raises(TypeError, match=r"grad: expected each argument once, .* argnums=\(0, 0\)"):
        fg.grad(lambda x: x * x, argnums=(0, 0))(3.0)
    with pytest.raises(TypeError, match="each argument once"):
        fg.grad(lambda x, y: x * y, argnums=(1, -1))(3.0, 4.0)
    with pytest.raises(TypeError, match=r"by position, but got none; write grad\(f\)\(2\.0\)"):
        fg.grad(lambda x: x * x)(x=2.0)


def test_numbers_are_no_expressions():
    with pytest.raises(TypeError, match="simplify: expected an expression, but got float"):
        fg.simplify(3.0)
    with pytest.raises(TypeError, match="evaluate: expected an expression, but got float"):
        fg.evaluate(3.0)


def test_generated_code_is_no_line_of_the_users():
    from funcgrad import source

    text = "def ask(): return caller()\ndef place(): return ask()"
    space = {"caller": source.caller}
    exec(compile(text, "<funcgrad program 1>", "exec"), space)
    code, _ = space["place"]()
    assert code.co_filename == __file__
