"""What the table, the walk and the picture say to one who meets them first."""

import xml.etree.ElementTree as ET

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
    with pytest.raises(TypeError, match=f"{name}: expected an expression, but got function; make"):
        face(lambda x: x)
    assert str(face(X * Y, {X: 1.0, "y": 2.0})) == str(face(X * Y, {"x": 1.0}, y=2.0))


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
