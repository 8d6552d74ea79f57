"""What is written in LaTeX is read back by a reader of its own, and computes the value."""

import operator
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.scipy.special as special
from funcgrad.ops.elementwise.trigonometric import sech_squared
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.latex.to_latex import identifier, to_latex
from tests.default_slice import examples, one_in
from tests.show.programs import ALL, nested_calls
from tests.show.test_dot import NASTY
from tests.show.test_json import CASES, sample_expr

X, Y = fg.var("x"), fg.var("y")
AT = {"x": 0.7, "y": 1.3}
FUNCTIONS = {rf"\{n}": getattr(np, n) for n in ("sin", "cos", "tanh", "cosh", "log", "arctan")} | {
    r"\max": np.maximum,
    r"\exp": np.exp,
    r"\lnot": np.logical_not,
    r"\operatorname{sgn}": np.sign,
    r"\sigma": lambda x: 1 / (1 + np.exp(-x)),
    r"\operatorname{softplus}": lambda x: np.log1p(np.exp(x)),
}
TOKEN = re.compile(
    r"\\left|\\right|\\operatorname\{\w+\}|\\begin\{cases\}|\\end\{cases\}|\\text\{[^}]*\}|\\[A-Za-z]+"
    r"|\\.|[0-9]+(?:\.[0-9]+)?|\S"
)


RELATIONS = {
    r"\gt": operator.gt,
    r"\ge": operator.ge,
    r"\lt": operator.lt,
    r"\le": operator.le,
    "=": operator.eq,
    r"\ne": operator.ne,
}
STOP = {"+", "-", "}", "END", r"\right", ",", "&", r"\\", "|", r"\lor", r"\land", *RELATIONS}


class Reader:
    """Recursive descent over the notation that the printer promises, with the usual precedence."""

    def __init__(self, text, scope):
        self.tokens = [*TOKEN.findall(text), "END"]
        self.scope = scope

    def take(self, *wanted):
        if not wanted or self.tokens[0] in wanted:
            return self.tokens.pop(0)
        return None

    def need(self, token):
        assert self.tokens.pop(0) == token, (token, self.tokens[:9])

    def group(self):
        self.need("{")
        value = self.sum()
        self.need("}")
        return value

    def truth(self):
        value = self.conjunction()
        while self.take(r"\lor"):
            value = self.conjunction() or value
        return value

    def conjunction(self):
        value = self.relation()
        while self.take(r"\land"):
            value = self.relation() and value
        return value

    def relation(self):
        value = self.sum()
        while sign := self.take(*RELATIONS):
            value = RELATIONS[sign](value, self.sum())
        return value

    def sum(self):
        value = -self.product() if self.take("-") else self.product()
        while sign := self.take("+", "-"):
            term = self.product()
            value = value + term if sign == "+" else value - term
        return value

    def product(self):
        value = self.power()
        while self.tokens[0] not in STOP:
            self.take(r"\,", r"\cdot")
            value = value * self.power()
        return value

    def power(self):
        base = self.atom()
        return base ** self.group() if self.take("^") else base

    def atom(self):
        token = self.take()
        if token == "{":
            raise AssertionError("a group that nothing asks for")
        if token[0].isdigit():
            return float(token)
        if token in FUNCTIONS:
            exponent = self.group() if self.take("^") else None
            value = FUNCTIONS[token](*self.arguments())
            return value if exponent is None else value**exponent
        if token == r"\frac":
            return self.group() / self.group()
        if token == r"\sqrt":
            return np.sqrt(self.group())
        if token == r"\left":
            return self.fenced()
        if token == r"\begin{cases}":
            return self.cases()
        if self.take("_"):
            self.need("{")
            token = f"{token}_{{{self.take()}}}"
            self.need("}")
        return self.scope[token]

    def fenced(self):
        fence = self.take("(", "|")
        value = self.truth()
        self.need(r"\right")
        self.need({"(": ")", "|": "|"}[fence])
        return abs(value) if fence == "|" else value

    def arguments(self):
        self.need(r"\left")
        self.need("(")
        values = [self.truth()]
        while self.take(","):
            values.append(self.truth())
        self.need(r"\right")
        self.need(")")
        return values

    def cases(self):
        chosen = self.sum()
        self.need("&")
        assert self.take().startswith(r"\text{if")
        condition = self.truth()
        self.need(r"\\")
        other = self.sum()
        self.need("&")
        assert self.take().startswith(r"\text{otherwise")
        self.need(r"\end{cases}")
        return chosen if condition else other


def whole(text, scope):
    reader = Reader(text, scope)
    value = reader.truth()
    assert reader.tokens == ["END"], reader.tokens
    return value


def read_back(text):
    scope = dict(AT) | {"e": np.e}
    if not text.startswith(r"\begin{aligned}"):
        return whole(text, scope)
    *lines, last = text.splitlines()[1:-1]
    for line in lines:
        name, body = line.removeprefix(r"\text{let } ").removesuffix(r" \\").split(" &= ")
        scope[name] = whole(body, scope)
    return whole(last.split("&\\phantom{{}={}} ")[1], scope)


def formulas():
    leaves = st.sampled_from([X, Y, fg.const(2.0), fg.const(0.5), fg.const(-3.0), fg.const(1.5e-9)])

    def grow(inner):
        pairs = st.tuples(inner, inner)
        one = st.sampled_from([np.sin, np.cos, np.tanh, np.abs, np.negative, np.square, fg.sigmoid])
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            pairs.map(lambda p: p[0] - p[1]),
            pairs.map(lambda p: p[0] * p[1]),
            pairs.map(lambda p: p[0] / (p[1] * p[1] + 1)),
            pairs.map(lambda p: np.where(p[0] > p[1], p[0], p[1])),
            pairs.map(lambda p: np.maximum(*p)),
            inner.map(lambda p: np.tanh(p) ** 3),
            inner.map(lambda p: np.exp(-np.abs(p))),
            inner.map(lambda p: np.sqrt(p * p + 0.5) ** -1.0),
            inner.map(lambda p: (np.abs(p) + 1) ** (p / (1 + p * p))),
            st.tuples(one, inner).map(lambda p: p[0](p[1])),
        )

    return st.recursive(leaves, grow, max_leaves=12).map(lambda e: e + X)


@given(formulas())
@settings(max_examples=examples(300))
def test_a_formula_computes_its_value(expr):
    values = {name: AT[name] for name in variables(expr)}
    # Numbers are written with six digits.
    expected = expr(**values)
    assert read_back(to_latex(expr)) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(formulas())
@settings(max_examples=examples(100))
def test_so_does_its_gradient(expr):
    slope = fg.gradient(np.sin(expr), X)
    values = {name: AT[name] for name in variables(slope)}
    latex = to_latex(slope)
    assume("vdots" not in latex)
    assert read_back(latex) == pytest.approx(slope(**values), rel=1e-4, abs=1e-4)


C = fg.var("c", (), complex)
WRITTEN = [
    (np.round(C), r"\operatorname{rint}\left(\operatorname{Re}\left(c\right)\right) + \mathrm{i} \, "
     r"\operatorname{rint}\left(\operatorname{Im}\left(c\right)\right)"),
    (C * -2j, r"c \, \left(-2\,\mathrm{i}\right)"),
    (C + (0.5 - 1j), r"c + 0.5 - \mathrm{i}"),
    (C * 0.5, r"c \cdot 0.5"),
    (C * complex(-0.0, np.inf), r"c \, \infty\,\mathrm{i}"),
    (X / Y, r"\frac{x}{y}"),
    (
        fg.hessian(lambda v: v[0] ** 2 * v[1]).expr(fg.var("v", 2)),
        r"\begin{bmatrix} 2 v_{1} & 2 v_{0} \\ 2 v_{0} & 0 \end{bmatrix}",
    ),
    (
        np.stack([np.stack([X, Y]), np.stack([Y, X])], axis=1),
        r"\begin{bmatrix} x & y \\ y & x \end{bmatrix}^{\top}",
    ),
    (
        fg.hessian(lambda m: np.sum(m**2)).expr(fg.var("m", (2, 2))),
        r"2 \operatorname{reshape}_{2 \times 2 \times 2 \times 2}\left(\mathbf{I}_{4}\right)",
    ),
    (sech_squared(X), r"\operatorname{sech}^{2}\left(x\right)"),
    ((X / Y) ** 2, r"\left(\frac{x}{y}\right)^{2}"),
    (np.sin(X) ** 2, r"\sin^{2}\left(x\right)"),
    (np.sin(X) ** -1.0, r"\left(\sin\left(x\right)\right)^{-1}"),
    (X**Y**2, "x^{y^{2}}"),
    ((X**Y) ** 2, r"\left(x^{y}\right)^{2}"),
    (-(X + Y), r"-\left(x + y\right)"),
    (X - (-Y), r"x - \left(-y\right)"),
    (X * -2.0, r"x \, \left(-2\right)"),
    (2 * X, "2 x"),
    (2 * X * 3, r"2 x \cdot 3"),
    (1e-7 * X, r"10^{-7} \, x"),
    (2.5e20 * X, r"2.5 \cdot 10^{20} \, x"),
    (X * np.inf, r"x \, \infty"),
    (np.sqrt(X) + np.cbrt(Y), r"\sqrt{x} + \sqrt[3]{y}"),
    (np.abs(X), r"\left|x\right|"),
    (np.linalg.norm(fg.var("v", (3,))), r"\left\lVert v\right\rVert"),
    (fg.var("W", (2, 3)) @ fg.var("v_in", (3,)), r"W \, v_{\mathrm{in}}"),
    (fg.var("W", (2, 3)).T, r"W^{\top}"),
    (fg.var("a", (3,)) * fg.var("b", (3,)), r"a \odot b"),
    (
        np.broadcast_to(fg.var("s"), (3, 3)) * np.sin(fg.var("v", 3)),
        r"s \, \mathbf{1}_{3 \times 3} \odot \sin\left(v\right)",
    ),
    (fg.var("a", (3,)) * X, r"a \, x"),
    (fg.var("a_1", (3,))[1], "{a_{1}}_{1}"),
    (fg.var("a", (3, 4))[1:, None, ::2], r"a_{1{:}, \mathrm{new}, {:}{:}2}"),
    (np.sum(fg.var("a", (3, 4)), axis=0), r"\operatorname{sum}_{0}\left(a\right)"),
    (np.sum(fg.var("a", (3, 4))), r"\operatorname{sum}\left(a\right)"),
    (fg.gradient(np.trace(fg.var("A", (3, 3))), "A"), r"\mathbf{I}_{3}"),
    (np.linalg.inv(fg.var("A", (2, 2)) @ fg.var("B", (2, 2))), r"\left(A \, B\right)^{-1}"),
    (fg.var("A", (2, 2)) @ fg.var("B", (2, 2)) @ fg.var("A", (2, 2)), r"A \, B \, A"),
    (fg.var("A", (2, 2)) @ fg.var("v", (2,)) @ fg.var("w", (2,)), r"\left(A \, v\right)^{\top} \, w"),
    (fg.var("v", 2) @ fg.var("A", (2, 2)) @ fg.var("w", 2), r"v^{\top} \, A \, w"),
    (fg.var("v", 2) @ (fg.var("A", (2, 2)) @ fg.var("w", 2)), r"v^{\top} \, A \, w"),
    (fg.var("A", (2, 2)) @ (fg.var("B", (2, 2)) @ fg.var("w", 2)), r"A \, \left(B \, w\right)"),
    (np.sin(2 * np.pi * X), r"\sin\left(2 \pi \, x\right)"),
    (X - np.pi / 4, r"x - \frac{\pi}{4}"),
    (-np.pi * X, r"-\pi \, x"),
    (3.1415927 * X, "3.1415927 x"),
    (np.float32(np.pi) * fg.var("f", dtype=np.float32), "3.1415927 f"),
    (fg.gradient(2**X, X), r"\log\left(2\right) \cdot 2^{x}"),
    (special.gamma(X) + special.ndtr(Y), r"\Gamma\left(x\right) + \Phi\left(y\right)"),
    (np.trace(fg.var("A", (3, 3))), r"\operatorname{tr}\left(A\right)"),
    (np.cumsum(fg.var("v", (3,))), r"\operatorname{cumsum}\left(v\right)"),
    (np.fft.fft(fg.var("v", (3,))), r"\operatorname{fft}\left(v\right)"),
    (np.sinc(X), r"\operatorname{sinc}\left(x\right)"),
    (fg.gradient(special.psi(X), X), r"\psi^{(1)}\left(x\right)"),
    (X + np.array([1.0, 2.0]), r"x + \begin{bmatrix} 1 & 2 \end{bmatrix}"),
    (np.reshape(fg.var("v", (2,)), (2, 1)), r"\operatorname{reshape}_{2 \times 1}\left(v\right)"),
    (np.reshape(fg.var("v", (1,)), ()), r"\operatorname{reshape}_{()}\left(v\right)"),
    (np.sum(fg.var("a", (3, 4)), axis=0, keepdims=True),
     r"\operatorname{reshape}_{1 \times 4}\left(\operatorname{sum}_{0}\left(a\right)\right)"),
    (fg.var("v", (3,)).at[0].set(X + 1), r"v\left[0 \mapsto x + 1\right]"),
    (fg.var("v", (3,)).at[1:].set(2), r"v\left[1{:} \mapsto 2\right]"),
    (fg.var("v", (3,)).at[[2, 0]].add(X), r"v\left[\begin{bmatrix} 2 & 0 \end{bmatrix} "
     r"\mathrel{{+}{=}} x\right]"),
    (fg.gradient(np.sum(fg.var("v", (3,))[np.array([0, 0])] ** 2), "v"), r"\mathbf{0}_{3}\left["
     r"\begin{bmatrix} 0 & 0 \end{bmatrix} \mathrel{{+}{=}} 2 "
     r"v_{\begin{bmatrix} 0 & 0 \end{bmatrix}}\right]"),
    (np.linalg.eigvalsh(fg.var("A", (2, 2))), r"\operatorname{eigh}\left(A\right)_{0}"),
    (np.linalg.eigvalsh(fg.var("A", (2, 2)), "U"),
     r"{\operatorname{eigh}_{\mathrm{U}}\left(A\right)}_{0}"),
    (fg.var("e") + np.exp(X), r"e + \exp\left(x\right)"),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "latex"), WRITTEN)
def test_notation_is_a_persons(expr, latex):
    assert to_latex(expr) == latex


def balanced(text):
    plain = re.sub(r"\\[\\{}]", "", text)
    depth = 0
    for c in plain:
        depth += (c == "{") - (c == "}")
        assert depth >= 0
    assert depth == 0
    assert text.count(r"\left") - text.count(r"\left\l") >= 0
    assert len(re.findall(r"\\left\b|\\left(?=[(|\\])", text)) == len(
        re.findall(r"\\right\b|\\right(?=[)|\\])", text)
    )
    assert not re.search(r"_\{[^{}]*\}_", text)


@pytest.mark.parametrize(("name", "i"), one_in(3, CASES))
def test_every_operation_is_written(name, i):
    balanced(to_latex(sample_expr(name, i)))


def test_short_parts_of_a_derivative_are_written_at_each_use_as_in_its_text():
    x = fg.var("x")
    bell = fg.grad(lambda x: np.exp(-(x**2) / 2)).expr(1.0)
    second = fg.gradient(bell, x)
    assert repr(second) == "(x**2 - 1)*exp(-x**2/2)"
    assert fg.to_latex(second) == r"\left(x^{2} - 1\right) \, e^{-\frac{x^{2}}{2}}"
    square = x**2
    assert fg.to_latex(np.sqrt(square) + np.cos(square)).startswith(r"\begin{aligned}")


@pytest.mark.parametrize(
    "name", [*NASTY, "a_b_c", "x'", "$", "%", "_", "a_", "_1", "alpha", "x_alpha2"]
)
def test_names_are_escaped(name):
    text = identifier(name)
    balanced(text)
    assert not re.search(r"(?<!\\)[#$%&\n]", text)


def test_shared_parts_are_named_and_a_long_program_is_cut():
    long = X
    for _ in range(2000):
        long = np.sin(long) + long
    text = to_latex(long)
    assert len(text) < 4000
    assert r"\vdots" in text
    balanced(text)
    with pytest.raises(
        TypeError, match="to_latex: expected a function or an expression, but got list"
    ):
        to_latex([])


@pytest.mark.parametrize("name", one_in(3, ALL))
def test_programs_with_bodies_are_written(name):
    text = to_latex(ALL[name])
    balanced(text)
    assert "Body" not in text
    assert "Problem" not in text


def test_a_loop_is_written_with_its_function():
    x = fg.var("x")
    assert to_latex(
        fg.scan(lambda c, t: (c * t, c), x, np.ones(2), reverse=True)[0]
    ).splitlines() == [
        r"\begin{aligned}",
        r"\text{let } f\left(s, t\right) &= s \, t,\; s \\",
        r"\text{in }\phantom{a} &\phantom{{}={}} \operatorname{loop}\left(f, x, \text{over }"
        r"\begin{bmatrix} 1 & 1 \end{bmatrix}, \text{reverse}\right)_{0}",
        r"\end{aligned}",
    ]
    assert r"&\quad \text{where } a = " in to_latex(ALL["gradient of call"])
    assert len(to_latex(nested_calls(60))) < 10_000


def test_a_comparison_that_has_a_name_stands_in_parentheses():
    v = fg.var("v", 2)
    assert r"\text{let } a &= \left(v = \max\left(v\right)\right) \\" in to_latex(
        fg.gradient(v.max(), v)
    )
    assert to_latex(v == v.max()) == r"v = \max\left(v\right)"


def test_remainders_and_negations_are_written_as_by_hand():
    assert str(to_latex((X + 1) % (Y * 2))) == r"\left(x + 1\right) \bmod \left(y \cdot 2\right)"
    assert str(to_latex(X // 2)) == r"\left\lfloor \frac{x}{2}\right\rfloor "
    assert str(to_latex(~(X > 0))) == r"\lnot\left(x \gt 0\right)"
    assert str(to_latex(np.inner(fg.var("v", 3), fg.var("w", 3)))) == r"v^{\top} \, w"


def test_a_plus_sign_leaves_its_operand_as_it_is():
    x, y = fg.var("x"), fg.var("y")
    assert fg.to_latex((+(x + y)) ** 2) == fg.to_latex((x + y) ** 2)
    assert fg.to_latex(+(x + y) * y) == fg.to_latex((x + y) * y)
