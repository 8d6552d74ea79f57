"""SVG pictures: true, escaped, deterministic, folded if large, and no text on top of anything else."""

import itertools
import re
import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.show.drawing.labels import text_width
from funcgrad.show.drawing.style import NAME_SIZE, SMALL_SIZE
from funcgrad.show.drawing.svg import to_svg
from tests.default_slice import one_in
from tests.show.programs import ALL, PROGRAMS, any_variable, nested_calls
from tests.show.test_dot import EXPR, NASTY
from tests.show.test_folding import LARGE, unrolled
from tests.show.test_json import CASES, sample_expr

SPACE = "{http://www.w3.org/2000/svg}"
X, Y = fg.var("x"), fg.var("y")


def elements(picture, x=0.0, y=0.0):
    """All elements in a picture with the position of their origin."""
    for child in picture:
        shift = re.match(r"translate\((\S+) (\S+)\)", child.get("transform", ""))
        dx, dy = map(float, shift.groups()) if shift else (0.0, 0.0)
        yield child, x + dx, y + dy
        yield from elements(child, x + dx, y + dy)


def rectangles(picture, *classes):
    return [
        (
            float(e.get("x")) + x,
            float(e.get("y")) + y,
            float(e.get("width")),
            float(e.get("height")),
        )
        for e, x, y in elements(picture)
        if e.tag == f"{SPACE}rect" and e.get("class") in classes
    ]


def texts(picture):
    """The room of each text, by its measured width."""
    for e, x, y in elements(picture):
        if e.tag == f"{SPACE}text":
            role = e.get("class").split()[0]
            size = NAME_SIZE if role in ("fg-name", "fg-head") else SMALL_SIZE
            width = text_width(e.text or "", size, role in ("fg-value", "fg-gradient"))
            left = x + float(e.get("x")) - (0.0 if "fg-start" in e.get("class") else width / 2)
            yield left, y + float(e.get("y")) - 0.8 * size, width, size


def within(inner, outer):
    (a, b, c, d), (e, f, g, h) = inner, outer
    return e - 0.1 <= a and f - 0.1 <= b and a + c <= e + g + 0.1 and b + d <= f + h + 0.1


def apart(a, b):
    return (
        a[0] + a[2] <= b[0] + 0.06
        or b[0] + b[2] <= a[0] + 0.06
        or a[1] + a[3] <= b[1] + 0.06
        or b[1] + b[3] <= a[1] + 0.06
    )


def is_clear(svg):
    """Whether texts lie in their boxes, and boxes of nodes and edges lie apart and in the picture."""
    picture = ET.fromstring(svg)
    nodes = []
    for group, x, y in elements(picture):
        if "fg-node" in group.get("class", ""):
            found = rectangles(group, "fg-shape")
            left, top = min(r[0] for r in found), min(r[1] for r in found)
            right, bottom = max(r[0] + r[2] for r in found), max(r[1] + r[3] for r in found)
            box = (left + x, top + y, right - left, bottom - top)
            nodes.append(box)
            assert all(within((a + x, b + y, c, d), box) for a, b, c, d in texts(group))
    boxes = nodes + rectangles(picture, "fg-chip")
    assert all(apart(a, b) for a, b in combinations(boxes, 2))
    _, _, width, height = map(float, picture.get("viewBox").split())
    written = list(texts(picture))
    assert all(within(box, (0, 0, width, height)) for box in [*boxes, *written])
    assert all(apart(a, b) for a, b in combinations(written, 2))
    return True


def shown(svg, role):
    """The texts of a role, those in the legend left out."""
    return re.findall(rf'<text class="fg-{role}" [^>]*>([^<]*)<', svg)


def classes(svg):
    return " ".join(re.findall(r'<g class="fg-node ([^"]*)"', svg)).split()


# -- what is drawn -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NASTY)
def test_names_are_escaped(name):
    svg = to_svg(any_variable(name) * 2)
    assert all("script" not in element.tag for element in ET.fromstring(svg).iter())
    assert is_clear(svg)


@pytest.mark.parametrize(("name", "i"), one_in(3, CASES))
def test_every_operation_is_drawn(name, i):
    expr = sample_expr(name, i)
    svg = to_svg(expr)
    ET.fromstring(svg)
    assert {f"fg-n{k}" for k in range(len(fg.toposort(expr)))} <= set(classes(svg))


def test_a_picture_has_a_title_and_a_description_and_is_the_same_each_time():
    picture = ET.fromstring(to_svg(EXPR))
    assert picture.get("role") == "img"
    title, description = picture[0], picture[1]
    assert title.tag.endswith("title")
    assert title.text
    assert description.tag.endswith("desc")
    assert "n0 input x, float64" in description.text
    again = np.sqrt(fg.var("x") ** 2 + np.exp(fg.var("x") ** 2)) * fg.var("y") + np.cos(fg.var("y"))
    assert to_svg(again) == to_svg(EXPR)
    said = ET.fromstring(to_svg(X * Y, x=2.0, y=3.0))[1].text
    assert "n0 input x, float64, value 2, gradient 3" in said


def test_sizes_are_attributes_that_every_renderer_reads():
    picture = ET.fromstring(to_svg(EXPR))
    assert picture.get("style") is None
    _, _, width, height = picture.get("viewBox").split()
    assert (picture.get("width"), picture.get("height")) == (width, height)


@pytest.mark.parametrize("name", one_in(3, ALL))
def test_programs_with_bodies_are_drawn(name):
    expr = ALL[name]
    svg = to_svg(expr)
    assert {f"fg-n{k}" for k in range(len(fg.toposort(expr)))} <= set(classes(svg))
    heads = len(rectangles(ET.fromstring(svg), "fg-box"))
    assert heads == fg.to_dot(expr).count("cluster")
    assert is_clear(svg)


def test_the_description_tells_what_a_loop_runs():
    description = ET.fromstring(to_svg(PROGRAMS["scan by count"]))[1].text
    assert "f(s, p), which gives n3, n0: Expression graph of 4 nodes: n0 input s" in description


def test_of_many_bodies_the_first_are_drawn_and_the_rest_named():
    svg = to_svg(nested_calls(60))
    assert len(rectangles(ET.fromstring(svg), "fg-box")) == 12
    assert len([line for line in shown(svg, "note fg-start") if "nodes" in line]) == 49
    assert is_clear(svg)


# -- values, gradients, linear maps --------------------------------------------------------------
def test_values_gradients_and_local_derivatives_are_shown():
    svg = to_svg((X + Y) * fg.var("z"), x=-2.0, y=5.0, z=-4.0)
    assert shown(svg, "value") == ["-2", "5", "3", "-4", "-12"]
    assert shown(svg, "gradient") == ["-4", "-4", "-4", "3", "1"]
    assert shown(svg, "local") == ["1", "1", "-4", "3"]
    assert to_svg((X + Y) * fg.var("z"), None, {"x": -2.0, "y": 5.0, "z": -4.0}) == svg
    assert is_clear(svg)


def test_local_derivatives_multiply_to_gradients_along_paths():
    x = fg.var("x")
    svg = to_svg(np.sin(np.exp(x)), x=0.3)
    assert shown(svg, "local") == [f"{np.exp(0.3):.4g}", f"{np.cos(np.exp(0.3)):.4g}"]


@pytest.mark.parametrize("x", [1 + 2j, np.complex128(1 + 2j), np.complex64(1 + 2j)])
def test_edges_of_complex_values_have_derivatives(x):
    assert shown(to_svg(lambda x: np.abs(x * x), x=x), "local") == ["1+2j", "1+2j", "-0.6-0.8j"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("f", "x", "slopes"),
    [
        (np.abs, -1.5, ["-1"]),
        (lambda x: np.real(x), 1.5, ["1"]),
        (np.sqrt, 0.0, ["inf"]),
        (lambda x: 1 / x, 0.0, ["-inf"]),
        (lambda x: 1 / x, -0.0, ["-inf"]),
        (lambda x: x**0.5, 0.0, ["inf"]),
        (lambda x: np.hypot(x, 0.0), 0.0, ["0"]),
    ],
)
def test_edges_at_singular_points_have_derivatives(f, x, slopes):
    assert shown(to_svg(f, x=x), "local") == slopes


def test_edges_of_arrays_show_how_a_cotangent_is_pulled_back():
    v = fg.var("v", 3)
    svg = to_svg(np.sum(np.sin(v)), v=np.ones(3))
    assert shown(svg, "local") == ["z*cos(v)", "full(3, z)"]
    assert ">on edges: derivative or pullback of z<" in svg
    assert "v1 = sin" in shown(svg, "name")
    assert is_clear(svg)


def test_gradients_without_values_are_formulas():
    svg = to_svg(np.sin(X) * Y, gradient=True)
    assert shown(svg, "gradient") == ["y*cos(x)", "y", "sin(x)", "1"]
    assert shown(svg, "local") == ["cos(x)", "y", "v1"]
    assert shown(svg, "value") == []
    assert is_clear(svg)


def test_a_gradient_that_is_too_long_is_cut_and_not_left_out():
    """A node without one is a node that no gradient reaches."""
    svg = to_svg(np.exp(np.sin(X)) + np.cos(X), gradient=True)
    assert shown(svg, "gradient") == ["…", "exp(sin(x))", "1", "1", "1"]
    assert ">on edges: derivative<" in svg
    product = to_svg(np.sin(X * Y) * np.cosh(X * 2) * np.exp(Y * X) * np.tanh(Y), gradient=True)
    reached = [kind for kind in classes(product) if kind in ("fg-input", "fg-op")]
    assert len(shown(product, "gradient")) == len(reached) == 12
    assert is_clear(product)


@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320, np.float32(2.5)])
def test_special_values_are_shown(value):
    with np.errstate(all="ignore"):
        svg = to_svg(np.sqrt(X) * X, x=value)
    assert shown(svg, "value")[0] == f"{value:.4g}"
    assert is_clear(svg)


def test_what_has_no_gradient_shows_values():
    assert shown(to_svg(X < Y, x=1.0, y=2.0), "value") == ["1", "2", "True"]
    assert shown(to_svg(fg.const(2.0), None, {}), "name") == ["2"]
    svg = to_svg(np.floor(X) * Y, x=1.5, y=2.0)
    assert shown(svg, "value") == ["1.5", "1", "2", "2"]


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match="to_svg: expected values for x, y, but got x"):
        to_svg(X * Y, x=1.0)
    with pytest.raises(ValueError, match='expected direction "down" or "right", but got \'up\''):
        to_svg(X, direction="up")
    with pytest.raises(
        TypeError, match="to_svg: expected a function or an expression, but got int"
    ):
        to_svg(3)


def tips(svg):
    """The horizontal place of each edge's tip, and of its start."""
    found = re.findall(r'class="fg-edge" d="M(\S+) [^"]*"/><path class="fg-tip" d="M(\S+) ', svg)
    return [(float(start), float(tip)) for start, tip in found]


def test_a_difference_shows_its_order():
    a, b = np.sin(X), np.cos(X)
    one, other = tips(to_svg(a - b)), tips(to_svg(b - a))
    assert one[2][1] < one[3][1]
    assert other[2][1] < other[3][1]
    assert shown(to_svg(a - b), "name") == ["x", "sin", "cos", "-"]
    assert shown(to_svg(b - a), "name") == ["x", "cos", "sin", "-"]


def test_names_of_nodes_are_shown():
    t = fg.name(np.exp(X), "t1")
    assert "t1 = exp" in shown(to_svg(t * X), "name")


# -- repetition and folding ----------------------------------------------------------------------
def test_constants_and_shared_inputs_stand_beside_their_users():
    y = X
    for k in range(6):
        y = np.sin(y * X + 2.0) if k % 2 else np.exp(y * X + 2.0)
    svg = to_svg(y)
    assert classes(svg).count("fg-constant") == 6
    assert classes(svg).count("fg-again") == 5
    assert shown(svg, "name").count("x") == 6
    few = to_svg(np.sin(X) * np.cos(X) * X)
    assert shown(few, "name").count("x") == 1


def test_a_value_that_many_use_is_named_and_referred_to():
    t = np.exp(X)
    svg = to_svg(sum([np.sin(t) * t, np.cos(t), np.tanh(t), np.sqrt(t), np.log1p(t), t**2, t]))
    assert "v2 = exp" in shown(svg, "name")
    assert shown(svg, "name").count("v2") == classes(svg).count("fg-again") > 2
    assert is_clear(svg)


@pytest.mark.parametrize(
    ("direction", "name"), one_in(3, itertools.product(["down", "right"], LARGE))
)
def test_large_programs_are_drawn_with_few_boxes(name, direction):
    svg = to_svg(LARGE[name], direction=direction)
    assert len(re.findall('class="fg-node', svg)) <= 120
    assert "fg-group" in classes(svg)
    assert is_clear(svg)


def test_beside_a_group_the_names_of_many_values_stand_in_one_box():
    rng = np.random.default_rng(0)
    values = list(fg.vars("a b c"))
    while len(values) < 400:
        i, j = rng.choice(len(values), 2, replace=False)
        values.append(
            (values[i] * values[j], values[i] + values[j], np.sin(values[i]))[rng.integers(3)]
        )
    svg = fg.to_svg(sum(values[-40:], values[-41]))
    boxes = re.findall(r'<g class="fg-node ([^"]*)">(.*?)</g>', svg)
    named = [re.findall("<text[^>]*>([^<]*)", inner) for kind, inner in boxes if "again" in kind]
    together = [", ".join(lines).split(", ") for lines in named if ", " in lines[0]]
    assert len(together) > 5
    assert all(len(set(names)) == len(names) > 3 for names in together)
    assert len(boxes) < 100


def test_folding_can_be_turned_off_and_limits_are_told():
    expr = unrolled(8)
    nodes = len(fg.toposort(expr))
    assert "fg-group" in classes(to_svg(expr))
    svg = to_svg(expr, fold=None)
    assert {f"fg-n{k}" for k in range(nodes)} <= set(classes(svg))
    assert "fg-group" not in classes(svg)
    assert len(classes(to_svg(expr, fold=10))) < 60
    long = X
    for _ in range(1600):
        long = np.sin(long) * X
    with pytest.raises(
        ValueError, match="to_svg: expected at most 3000 nodes, but got 3201; draw a"
    ):
        to_svg(long, fold=None)
    assert "1599 times" in to_svg(long)


def test_a_folded_picture_shows_the_values_of_what_is_not_folded():
    svg = to_svg(unrolled(60), x=0.5, a=2.0)
    assert "0.5" in shown(svg, "value")
    assert "59 times" in " ".join(shown(svg, "name"))
    assert is_clear(svg)


def test_the_title_of_a_long_program_says_its_size():
    e = fg.var("x")
    for _ in range(40):
        e = np.tanh(e) * e + 1.5
    assert f"<title>A program of {len(fg.toposort(e))} nodes</title>" in to_svg(e)
