"""DOT: deterministic, escaped and whole."""

import re

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.show.drawing.dot import to_dot
from tests.default_slice import one_in
from tests.show.programs import ALL, any_variable, nested_calls
from tests.show.test_json import CASES, sample_expr

X, Y = fg.var("x"), fg.var("y")
EXPR = np.sqrt(X**2 + np.exp(X**2)) * Y + np.cos(Y)
NASTY = [
    '"',
    "\\",
    '"];rm',
    "<b>&amp;",
    "a\n+b",
    "\\N",
    "λ",
    "x" * 99,
    "</text><script>",
    "\x00",
    "\ud800",
]


def test_dot_with_cotangents_says_where_they_flow():
    lines = to_dot(X * Y, gradient=True).splitlines()
    assert '  n0 [label="x\\nfloat64\\ncotangent y", shape=ellipse]' in lines
    assert '  n2 [label="*\\nfloat64\\ncotangent 1.0", shape=box]' in lines
    assert "  n2 -> n0 [style=dashed, constraint=false]" in lines
    assert "dashed" not in to_dot(X * Y)
    assert "dashed" not in to_dot(X < Y, gradient=True)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_escaped(name):
    expr = any_variable(name) * 2
    for line in to_dot(expr).splitlines():
        # A quoted string ends where it is meant to, and holds no escape but those for \, " and a line.
        assert re.fullmatch(r'[^"]*("([^"\\]|\\[\\"n])*"[^"]*)*', line)


@pytest.mark.parametrize(("name", "i"), one_in(3, CASES, start=1))
def test_every_operation_is_drawn(name, i):
    expr = sample_expr(name, i)
    nodes = len(fg.toposort(expr))
    assert len(re.findall(r"^  n\d+ \[label", to_dot(expr), re.M)) == nodes


def test_equal_programs_have_equal_text():
    again = np.sqrt(fg.var("x") ** 2 + np.exp(fg.var("x") ** 2)) * fg.var("y") + np.cos(fg.var("y"))
    assert to_dot(again) == to_dot(EXPR)


def test_too_much_to_draw_and_what_is_no_expression_are_refused():
    long = X
    for _ in range(400):
        long = np.sin(long) * X
    assert to_dot(long).count("\n") > 800
    with pytest.raises(ValueError, match="to_dot: expected at most 300 nodes"):
        to_dot(long, gradient=True)
    with pytest.raises(TypeError, match="to_dot: expected an expression, but got int"):
        to_dot(3)


@pytest.mark.parametrize("name", one_in(3, ALL, start=1))
def test_programs_with_bodies_are_drawn(name):
    expr = ALL[name]
    for lines in (to_dot(expr).splitlines(), to_dot(expr, gradient=True).splitlines()):
        opened = [line for line in lines if line.endswith("{")]
        assert len(opened) == sum(line.strip() == "}" for line in lines)
        named = {match[1] for line in lines if (match := re.match(r" +(\w+) \[label", line))}
        ends = [m.groups() for line in lines if (m := re.match(r" +(\w+) -> (\w+)", line))]
        assert {end for pair in ends for end in pair} <= named


def test_the_body_of_a_loop_is_a_cluster():
    x = fg.var("x")
    assert to_dot(fg.scan(lambda c, t: (c * t, None), x, np.ones(2))[0]).splitlines()[3:] == [
        '  n0 [label="x\\nfloat64", shape=ellipse]',
        '  n1 [label="[1.0, 1.0]\\nfloat64[2]", shape=plain]',
        '  n2 [label="loop\\nf\\n(float64)", shape=box]',
        '  n3 [label="pick\\nindex=0\\nfloat64", shape=box]',
        '  n0 -> n2 [label="0"]',
        '  n1 -> n2 [label="1"]',
        "  n2 -> n3",
        "  subgraph cluster_0 {",
        '    label="f(s, t)"',
        '    b0_0 [label="s\\nfloat64", shape=ellipse]',
        '    b0_1 [label="t\\nfloat64", shape=ellipse]',
        '    b0_2 [label="*\\nfloat64", shape=box]',
        '    b0_0 -> b0_2 [label="0"]',
        '    b0_1 -> b0_2 [label="1"]',
        '    b0_out0 [label="0", shape=circle]',
        "    b0_2 -> b0_out0",
        "  }",
        "}",
    ]
    assert to_dot(nested_calls(60)).count("cluster") == 61
