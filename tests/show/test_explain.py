"""The walk's numbers are those of backprop and of finite differences, for every operation."""

import re

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.expr import by_key, subexpressions
from funcgrad.graph import CONSTANT
from funcgrad.printed_text import one_line
from funcgrad.rewrite.evaluate import variables
from funcgrad.rewrite.simplify import simplify
from funcgrad.show.explain import StepNames, edge_map, explain, tell
from tests.default_slice import one_in
from tests.ops.samples import SAMPLES
from tests.show.programs import ALL, values_of
from tests.show.test_json import CASES, sample_expr

X, Y = fg.var("x"), fg.var("y")


def numbers(line):
    """The gradient as the last line says it."""
    return dict(re.findall(r"df/d(\w+) = (?:z\d+ = )?([^,]+)", line))


PROGRAMS = [
    np.sqrt(X**2 + np.exp(X**2)) + np.cos(X**2 + np.exp(X**2)) * Y,
    fg.sigmoid(X) * np.log1p(Y) / np.hypot(X, Y) - np.arctan2(X, Y),
    np.where(X > Y, X**3, np.sin(Y) * X) + np.maximum(X, Y) ** 2,
]


@pytest.mark.parametrize("expr", PROGRAMS)
def test_the_gradient_is_that_of_finite_differences(expr):
    at = {"x": 0.7, "y": 1.3}
    *_, last = explain(expr, **at).splitlines()
    step = 1e-6
    for name, said in numbers(last).items():
        up, down = expr(**at | {name: at[name] + step}), expr(**at | {name: at[name] - step})
        assert float(said) == pytest.approx((up - down) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("expr", PROGRAMS)
def test_the_tangent_of_the_root_is_the_derivative_in_the_first_variable(expr):
    lines = explain(expr, x=0.7, y=1.3).splitlines()
    root = lines[lines.index(next(line for line in lines if line.startswith("Reverse"))) - 1]
    assert root.split("t" + re.search(r"v(\d+)", root)[1] + " = ")[1] == numbers(lines[-1])["x"]


@pytest.mark.parametrize(("name", "i"), one_in(3, CASES, start=2))
def test_every_operation_is_explained(name, i):
    expr, (args, _) = sample_expr(name, i), SAMPLES[name][i]
    if expr.dtype.kind != "f":
        with pytest.raises(TypeError, match="expected a real number as result"):
            explain(expr, {f"x{k}": a for k, a in enumerate(args)})
        return
    root = np.sum(expr) if expr.shape else expr
    values = {f"x{k}": a for k, a in enumerate(args)}
    *_, last = explain(root, values).splitlines()
    found = fg.backprop(root).map
    for key, variable in variables(root).items():
        if variable.key in found and not variable.shape:
            given = {n: values[n] for n in variables(found[variable.key])}
            expected = fg.evaluate(found[variable.key], given)
            assert complex(numbers(last)[key]) == pytest.approx(expected, rel=1e-5)


def test_a_product_as_a_textbook_walks_through_it():
    assert explain(X * Y + Y, x=2.0, y=3.0).splitlines() == [
        "Forward accumulation: parents before children; t is the tangent for dx = 1.",
        "  v0 = x        = 2,  t0 = 1",
        "  v1 = y        = 3",
        "  v2 = v0*v1    = 6,  t2 = 3",
        "  v3 = v2 + v1  = 9,  t3 = 3",
        "Reverse accumulation: children before parents; z is the cotangent, z3 = 1.",
        "  v3: z2 += z3 = 1;  z1 += z3 = 1  (add distributes)",
        "  v2: z0 += v1*z2 = 3;  z1 += v0*z2 = 2  (multiply swaps)",
        "Gradient: df/dx = z0 = 3, df/dy = z1 = 3",
    ]


def test_what_cannot_be_explained_is_refused():
    long = X
    for _ in range(300):
        long = np.sin(long)
    with pytest.raises(
        ValueError, match="explain: expected at most 200 nodes, but got 301; take a"
    ):
        explain(long, x=1.0)
    with pytest.raises(
        TypeError, match=r"a real number as result, but got float64\[2\]; sum it first"
    ):
        explain(fg.var("a", (2,)), a=[1.0, 2.0])
    with pytest.raises(TypeError, match="expected values for x, but got none"):
        explain(X * 2)
    with pytest.raises(
        TypeError, match="explain: expected a function or an expression, but got int"
    ):
        explain(3)
    assert explain(fg.const(2.0)).endswith("Gradient: there are no variables")


SMOOTH = {name: e for name, e in ALL.items() if e.op is not CONSTANT}


@pytest.mark.parametrize("name", one_in(3, SMOOTH, start=2))
def test_programs_with_bodies_are_explained(name):
    expr = SMOOTH[name]
    at = values_of(expr)
    told = explain(expr, at)
    for key, said in numbers(told.splitlines()[-1]).items():
        if key != "w":
            slope = fg.gradient(expr, key)
            assert float(said) == pytest.approx(slope(**values_of(slope)), rel=1e-4, abs=1e-6)
    for op, words in (("loop", "the loop run"), ("branch", "the branch taken")):
        smooth = [e for e in subexpressions(expr) if e.op.name == op]
        assert (words in told) <= bool(smooth)


def test_a_loop_is_one_step_whose_value_is_a_tuple():
    x = fg.var("x")
    lines = explain(
        fg.scan(lambda c, t: (c * t, c), x, np.array([1.0, 2.0]))[0], x=3.0
    ).splitlines()
    assert lines == [
        "Functions that are run in a step:",
        "  f(s, t) = s*t, s",
        "Forward accumulation: parents before children; t is the tangent for dx = 1.",
        "  v0 = x                     = 3,  t0 = 1",
        "  v1 = [1.0, 2.0]            = [1., 2.]",
        "  v2 = loop(f, v0, over=v1)  = (6, [3., 3.]),  t2 = (2, [1., 1.])",
        "  v3 = v2[0]                 = 6,  t3 = 2",
        "Reverse accumulation: children before parents; z is the cotangent, z3 = 1.",
        "  v3: z2[0] += z3 = 1",
        "  v2: z0 += the loop run backwards = 2",
        "Gradient: df/dx = z0 = 2",
    ]


def test_a_tuple_is_no_root():
    (whole,) = fg.scan(lambda c, t: (c * t, c), X, np.ones(2))[0].args
    with pytest.raises(
        TypeError, match=r"a real number as result, but got \(float64, float64\[2\]\)"
    ):
        explain(whole, x=1.0)


@pytest.mark.parametrize(
    "names", ["x y", "y x", "q1 q0", "x10 x9", "width x", "_q1 q1", "beta alpha"]
)
def test_edges_that_differ_in_names_alone_are_told_alike(names):
    a, b = fg.vars(names)
    expr = (a * b) * (b * a - 1) / (a * a * b) + np.sin(b) * b
    nodes = list(by_key(expr).values())
    told = tell(nodes, {}, StepNames([node.name for node in nodes], ["g"] * len(nodes)))
    g = fg.var("g")
    for e, _, pullbacks in told:
        for pullback in pullbacks:
            operands = [fg.var(arg.name) if arg.name != "constant" else arg for arg in e.args]
            pulled = edge_map(e, pullback.at, fg.var(e.name), operands).transpose(g)
            assert pullback.formula == one_line(simplify(pulled))


@pytest.mark.parametrize("show", [fg.steps, fg.explain])
def test_the_pullback_of_a_tuple_is_named(show):
    text = str(show(lambda a: np.linalg.eigh(a)[0][0], np.diag([1.0, 2.0])))
    assert "pullback of " in text
