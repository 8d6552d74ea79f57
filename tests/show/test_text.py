"""Formulas of programs with closed subgraphs: each function written once, and told by its name."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.elementwise.exponential import xlogx
from tests.default_slice import one_in
from tests.show.programs import ALL, GRADIENTS, PROGRAMS, TIMES, X, nested_calls
from tests.show.reading_back import check_read_back

WRITTEN = {
    "scan": "let f(s, t, p) = sin(s*t + p), s\nin loop(f, x, over=[0.5, 2.0, 1.0], given=y)[0]",
    "scan of several": "let f(s1, s2, t) = s2, s1 + s2*t, s1, cos(t)\n"
    "in loop(f, (x, y), over=[0.5, 2.0, 1.0])[1]",
    "scan by count": "let f(s, p) = cos(s)*p, s\nin loop(f, x, times=4, given=y)[0]",
    "scan of nothing": "let f(t, p) = t*p\nin sum(loop(f, over=array([0.5, 2.0, 1.0])*y, given=x))",
    "while": "let f(s, p1, p2) = s**2 + p1\n    g(s, p1, p2) = s < p2\n"
    "in loop(f, x + 2, given=(y, 100*y), while=g)",
    "cond": "let f(u1, u2) = u1**2*u2\n    g(u1, u2) = sin(u1)\nin cond(x > y, g, f, x, y)",
    "call": "let f(u1, u2) = sin(sin(u1)*u2)\nin f(x, y)",
    "a rule of one's own": "custom_derivative(sin(x*y))*y",
    "a root": "let f(s, p) = s**2 - p\nin implicit_root(f, 1.0, x + y)*y",
    "an integral": "let f(t, p) = exp(p*t)*t\nin integral(f, 0.5, x, y)*y",
    "a primitive": "erf(x)*y",
    "nested": "let f(s, t, p1, p2) = s*p1*p2 + t\n"
    "    g(s, t, p1, p2) = loop(f, s, over=p1, given=(t, p2)), 2*s\n"
    "    a = loop(g, x, over=[1.0, 2.5, 1.5], given=([0, 1, 2], y))\n"
    "in sum(a[1]) + a[0]",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_program_is_written_as_a_person_would(name):
    assert repr(PROGRAMS[name]) == WRITTEN[name]


def test_the_gradient_of_a_loop_is_a_loop_that_can_be_read():
    assert repr(GRADIENTS["gradient of call"]) == (
        "let f(u1, u2, u3) = b*u2*cos(u1), b*a\n"
        "      where a = sin(u1)\n"
        "            b = u3*cos(a*u2)\n"
        "in f(x, y, 1.0)[0]"
    )
    assert repr(GRADIENTS["gradient of while"]).splitlines()[-2:] == [
        "    a = loop(f, x + 2, given=(y, 100*y), while=g)",
        "in loop(h, (1.0, 0.0), over=(a[1], a[2]), reverse=True)[0]",
    ]


@pytest.mark.parametrize("name", one_in(3, ALL, start=1))
def test_names_are_each_defined_once_before_they_are_used(name):
    text = repr(ALL[name])
    heads = [line.removeprefix("let ").strip().partition(" = ")[0] for line in text.splitlines()]
    defined = [head.removeprefix("where ").partition("(")[0] for head in heads if head]
    defined = defined[:-1] if text.startswith("let") else []
    assert len(set(defined)) == len(defined)
    assert repr(ALL[name]) == text


def test_names_of_variables_are_left_to_them():
    f, s, t, a = (fg.var(name) for name in "fsta")
    loop = fg.scan(lambda c, x: (np.sin(c * x) * f, (c * x) ** 2 + (c * x)), s, TIMES * t)
    assert repr(loop[0] + a) == (
        "let g(s1, t1, p) = sin(b)*p, b**2 + b\n      where b = s1*t1\n"
        "in loop(g, s, over=array([0.5, 2.0, 1.0])*t, given=f)[0] + a"
    )


def test_named_parts_keep_their_names_and_letters_avoid_them():
    x, d = fg.vars("x d")
    a = fg.name(x**2, "a")
    b = fg.name(np.exp(a), "b")
    c = fg.name(a + b, "c")
    f = np.sqrt(c) + np.cos(c)
    assert repr(f) == "let a = x**2\n    c = a + exp(a)\nin sqrt(c) + cos(c)"
    derivative = (
        "let c = x**2 + exp(x**2)\n    {0} = 1/(2*sqrt(c)) - sin(c)\nin 2*x*({0} + {0}*exp(x**2))"
    )
    assert repr(fg.gradient(f, x)) == repr(fg.backprop(f)[x]) == derivative.format("d")
    # Nor is a letter a variable of the program that its gradient does not have.
    assert repr(fg.gradient(f + d, x)) == repr(fg.backprop(f + d)[x]) == derivative.format("e")
    assert "\\text{let } a &= x^{2}" in fg.to_latex(f)
    assert "c &= a + e^{a}" in fg.to_latex(f)


def test_a_name_of_two_parts_or_of_a_variable_names_one():
    x, y = fg.vars("x y")
    t = fg.name(np.sin(x), "t") * fg.name(np.cos(x), "t")
    assert repr(t * t.args[0] + t.args[1]) == ("let t = sin(x)\n    a = cos(x)\nin t*a*t + a")
    named = fg.name(x * 2, "y")
    assert repr(named * named + y) == "let a = x*2\nin a*a + y"
    odd = fg.name(x * 2, "not one word")
    assert repr(odd * odd) == "let a = x*2\nin a*a"


def test_a_body_in_bodies_is_written_once():
    text = repr(nested_calls(60))
    assert text.count("\n") <= 27


def test_a_long_chain_of_signs_is_cut():
    # Each sign wraps the text before it, so a part that never gets a name makes the text quadratic.
    e = X
    for _ in range(5000):
        e = -e
    assert len(repr(e)) < 4000
    assert repr(np.negative(-X * X)) == "-(-x*x)"


def test_a_long_body_is_cut():
    def turn(c, t):
        for _ in range(100):
            c = np.sin(c) + c
        return c, None

    text = repr(fg.scan(turn, X, TIMES)[0])
    assert "more)" in text
    assert text.count("\n") < 40


def test_reductions_that_keep_axes_say_so():
    m, v = fg.var("m", (2, 3)), fg.var("v", 3)
    assert repr(m / np.sum(m, axis=1, keepdims=True)) == "m/sum(m, axis=1, keepdims=True)"
    assert repr(np.max(m, axis=0, keepdims=True)) == "max(m, axis=0, keepdims=True)"
    assert repr(v - np.prod(v, keepdims=True)) == "v - prod(v, keepdims=True)"
    assert repr(np.sum(m, keepdims=True)) == "sum(m, keepdims=True)"
    assert repr(np.reshape(np.sum(m, axis=1), (1, 2))) == "reshape(sum(m, axis=1), shape=(1, 2))"
    assert repr(np.cumsum(m, axis=1).reshape(3, 2)) == "reshape(cumsum(m, axis=1), shape=(3, 2))"
    total = np.sum(m, axis=1)
    assert "let a = sum(m, axis=1)" in repr(total.reshape(2, 1) * np.sin(total))


@pytest.mark.parametrize(
    ("expr", "written"),
    [
        (+X, "+x"),
        ((+X) ** 2, "(+x)**2"),
        (2 ** (+X), "2**(+x)"),
        (+(X + 1), "+(x + 1)"),
        (X - +X, "x - +x"),
        (-+X, "-+x"),
        (+-X, "+(-x)"),
        (X / +(X * 2), "x/(+(x*2))"),
    ],
    ids=str,
)
def test_a_plus_sign_is_written_as_one(expr, written):
    assert repr(expr) == written
    check_read_back(expr, {"x": 1.5})


N = fg.var("n", (), np.uint8)


@pytest.mark.parametrize(
    ("expr", "written"),
    [
        (-(N * X), "-(n*x)"),
        (-(X * N), "-x*n"),
        (-((X > 1) * X / 2), "-((x > 1)*x/2)"),
    ],
    ids=str,
)
def test_a_sign_before_a_truth_value_or_an_unsigned_number_is_that_of_the_product(expr, written):
    assert repr(expr) == written
    check_read_back(expr, {"x": 1.5, "n": np.uint8(3)})


def test_a_product_with_its_own_logarithm_is_written_out():
    slope = fg.gradient(1 / (X * np.log(X)), X)
    assert repr(slope) == "-(log(x) + 1)/(x**2*log(x)**2)"
    assert fg.to_latex(fg.simplify(X * np.log(X))) == r"x \, \log\left(x\right)"
    told = str(fg.steps(slope, x=2.0))
    assert "xlogy(x, x)" in told
    assert "xlogx" not in told
    check_read_back(xlogx(X) * 2, {"x": 0.0}, {"x": 0.7})


def test_eigenvalues_are_written_as_numpy_is_called():
    m = fg.var("m", (3, 3))
    assert repr(np.linalg.eigh(m)[0]) == "eigh(m)[0]"
    assert repr(np.linalg.eigh(m, "U")[1]) == "eigh(m, 'U')[1]"


A = fg.var("A", (2, 2))


Y, Z = fg.var("y"), fg.var("z")


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((A + 1).T, "(A + 1).T"),
        (A.T, "A.T"),
        (np.sin(A).T, "sin(A).T"),
        ((A + 1)[0, 1:], "(A + 1)[0, 1:]"),
        (-(Z % X), "-(z % x)"),
        (-(Z * X), "-z*x"),
        (X * (Y // Z), "x*(y // z)"),
        (X * (Y % Z), "x*(y % z)"),
        ((X * Y) % Z, "x*y % z"),
        (X % (Y * Z), "x % (y*z)"),
        ((X % Y) % Z, "(x % y) % z"),
        ((X % Y) * Z, "(x % y)*z"),
        ((X % Y) + Z, "x % y + z"),
        ((X < Y) == (Y < Z), "(x < y) == (y < z)"),
        ((X < Y) & (Y < Z), "(x < y) & (y < z)"),
        ((X + Y).astype(int) * 2, "(x + y).astype(int64)*2"),
        ((X > Y).astype(float) * Z, "(x > y)*z"),
        (np.sin(fg.const(-2.0) * X) + fg.const(-2.0) * Y, "sin(-2*x) - 2*y"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_formulas_mean_what_they_say(expr, expected):
    assert repr(expr) == expected


def test_a_constant_that_is_shared_has_no_name():
    c = fg.const(-2.0)
    assert repr(np.sin(c * X) * (c + Y)) == "sin(-2*x)*(-2 + y)"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda a, v: np.trace(a @ a) * 2, "trace(a @ a)*2"),
        (lambda a, v: np.diagonal(a) * v, "diag(a)*v"),
        (lambda a, v: a[[0, 2, 1], [0, 2, 1]] * v, "a[[0, 2, 1], [0, 2, 1]]*v"),
        (lambda a, v: np.diag(v), "diag(v)"),
        (lambda a, v: np.outer(v, v + 1), "outer(v, v + 1)"),
        (lambda a, v: np.linalg.solve(a, v), "solve(a, v)"),
        (lambda a, v: np.triu(a) - np.tril(a, -1), "triu(a) - tril(a, -1)"),
        (lambda a, v: v[..., 1] * v[0], "v[1]*v[0]"),
        (lambda a, v: a[..., 1] @ v, "a[..., 1] @ v"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_functions_of_several_steps_have_their_names(program, expected):
    a, v = fg.var("a", (3, 3)), fg.var("v", 3)
    assert repr(program(a, v)) == expected
