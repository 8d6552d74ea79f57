"""What the table, the walk and the picture say to one who meets them first."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import funcgrad as fg

X, Y = fg.var("x"), fg.var("y")


@pytest.mark.parametrize("face", [fg.table, fg.explain], ids=["table", "explain"])
def test_values_that_are_missing_are_named(face):
    name = face.__name__
    with pytest.raises(
        TypeError,
        match=rf"{name}: expected values for x, y, but got none; write {name}\(e, x=2.0, y=2.0\)",
    ):
        face(X * Y)
    with pytest.raises(TypeError, match=f"{name}: expected values for x, y, but got x; write"):
        face(X * Y, x=1.0)
    with pytest.raises(
        TypeError, match=f"{name}: expected values by name or in a dict, but got fl"
    ):
        face(X * Y, 1.0)
    with pytest.raises(
        TypeError, match=f"{name}: expected a function or an expression, but got float"
    ):
        face(3.0)
    assert str(face(X * Y, {X: 1.0, "y": 2.0})) == str(face(X * Y, {"x": 1.0}, y=2.0))


@pytest.mark.parametrize("face", [fg.table, fg.explain, fg.steps], ids=lambda f: f.__name__)
def test_a_function_is_shown_at_its_arguments(face):
    def f(x, y):
        return x * y + np.sin(x)

    shown = str(face(X * Y + np.sin(X), x=2.0, y=3.0))
    assert str(face(f, 2.0, 3.0)) == str(face(f, 2.0, y=3.0)) == str(face(f, x=2.0, y=3.0)) == shown
    assert "leaf" not in str(face(fg.grad(f), 2.0, 3.0))
    for args in ((), (1.0,), (1.0, 2.0, 3.0)):
        message = f"{face.__name__}: expected the arguments of the function, but got {len(args)}: "
        with pytest.raises(TypeError, match=message):
            face(f, *args)


def test_formulas_of_functions_at_arguments():
    def f(x):
        return x**2 if x > 0 else -x

    assert str(fg.to_latex(f, 2.0)) == "x^{2}"
    assert str(fg.to_latex(f, -2.0)) == "-x"
    assert str(fg.to_latex(fg.grad(f), 2.0)) == "2 x"
    assert str(fg.to_latex(lambda d: d["a"] * d["b"], {"a": 1.0, "b": 2.0})) == r"d_{a} \, d_{b}"
    assert fg.from_json(fg.to_json(f, 2.0)).key == fg.trace(f, 2.0).key
    assert ">4.0<" in fg.to_svg(f, x=2.0) or ">4<" in fg.to_svg(f, x=2.0)
    assert fg.to_svg(f, 2.0) == fg.to_svg(f, x=2.0)
    for face in (fg.to_latex, fg.to_json, fg.to_sympy):
        with pytest.raises(
            TypeError, match=f"{face.__name__}: expected an expression alone, but got fl"
        ):
            face(X, 2.0)
    for face in (fg.to_python, fg.to_dot, fg.simplify, fg.gradient, fg.backprop, fg.edges):
        with pytest.raises(
            TypeError, match=rf"{face.__name__}: .* write {face.__name__}\(trace\(f, 2"
        ):
            face(f)


def test_the_walk_names_constants_where_they_tell_more_than_their_place():
    told = fg.explain(3.0 * X**2, x=4.0)
    assert "v4: z3 += 3*z4 = 3" in told
    assert "v3: z1 += 2*v1*z3 = 24" in told
    assert "v2: z1 += 0.6931471805599453*v2*z2 = 1.38629" in fg.explain(2.0**X, x=1.0)


def test_a_picture_is_text_that_a_notebook_draws(tmp_path):
    picture = fg.to_svg(X * Y, tmp_path / "x.svg")
    assert isinstance(picture, str)
    assert picture == fg.to_svg(X * Y) == (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert type(picture._repr_svg_()) is str
    assert ET.fromstring(picture._repr_svg_()).tag.endswith("svg")


def test_zeros_keep_their_signs():
    x = fg.var("x")
    assert "-0" in str(fg.table(x * 2.0, x=-0.0)).split()
    assert "-0" not in str(fg.table(x * 2.0, x=0.0)).split()


def test_a_table_of_a_condition_has_values_and_no_gradient():
    x = fg.var("x")
    assert [(row.value, row.gradient) for row in fg.table(x > 2, x=3.0)] == [
        (3.0, None),
        (2.0, None),
        (True, None),
    ]


def test_a_file_after_the_arguments_of_a_function_is_named():
    def f(x, y):
        return x * y

    for face in (fg.to_svg, fg.explore):
        with pytest.raises(
            TypeError, match=r"write \w+\(f, 2.0, 2.0\), and path='f.svg' for a file"
        ):
            face(f, 1.0, 2.0, "f.svg")
