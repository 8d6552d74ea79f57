"""The explorer page in a browser: every control, and the numbers that it shows and computes."""

import re

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph import CONSTANT
from funcgrad.rewrite.evaluate import evaluate_all, evaluate_roots
from funcgrad.show.text import shown
from tests.show.explorer_reading import cells, said, step_of
from tests.show.programs import any_variable

pytestmark = pytest.mark.browser
X, Y = fg.vars("x y")
EXPR = np.sqrt(X**2 + np.exp(X**2)) + np.cos(X**2 + np.exp(X**2)) * Y


def test_each_key_is_a_step_of_the_persistent_scan(visit):
    at = {"x": 0.7, "y": -1.3}
    tab = visit(fg.explore(EXPR, at))
    order = fg.toposort(EXPR)
    known = evaluate_all(EXPR, at)
    scan = []
    for step in fg.backprop_steps(EXPR):
        if not scan or step != scan[-1]:
            scan.append(step)
    places = [i for i, key in enumerate(order) if EXPR.graph[key].op is not CONSTANT]
    tab.keyboard.press("Home")
    assert [row[2:] for row in cells(tab)] == [["", ""]] * len(places)
    for _ in places:
        tab.keyboard.press("ArrowRight")
    assert [row[2] for row in cells(tab)] == [shown(known[order[i]]) for i in places]
    for step in scan:
        tab.keyboard.press("ArrowRight")
        wanted = [
            shown(evaluate_roots([step.map[order[i]]], at)[0]) if order[i] in step.map else ""
            for i in places
        ]
        assert [row[3] for row in cells(tab)] == wanted
        changed = tab.locator("#rows tbody tr.changed").count()
        assert changed >= 1


def test_every_control_works(visit):
    tab = visit(fg.explore(EXPR, x=0.7, y=1.3))
    last = step_of(tab)
    assert said(tab).startswith("Done")
    tab.click("#first")
    assert step_of(tab) == 0
    assert said(tab) == "Press the right arrow to begin."
    tab.click("#next")
    assert (step_of(tab), said(tab)) == (1, "x = 0.7")
    tab.click("#back")
    assert step_of(tab) == 0
    tab.click("#last")
    assert step_of(tab) == last
    tab.locator("#range").fill("3")
    assert said(tab) == "v3 = exp(v2) = 1.63232"
    assert tab.locator("#rows tbody tr.now").count() == 1
    tab.click("#play")
    assert tab.get_attribute("#play", "aria-pressed") == "true"
    tab.click("#play")
    assert tab.get_attribute("#play", "aria-pressed") == "false"
    for button in ("#in", "#out", "#fit"):
        tab.click(button)
    for label in ("Gradient", "Hessian", "Program"):
        tab.click(f"role=tab[name={label}]")
        assert tab.get_attribute(f"role=tab[name={label}]", "aria-selected") == "true"


def test_the_keyboard_alone_selects_a_node_and_tells_about_it(visit):
    tab = visit(fg.explore(lambda x, y: np.sin(x) * y, 0.5, 3.0))
    for _ in range(2):
        tab.keyboard.press("ArrowDown")
    told = tab.text_content("#details")
    assert "Node v1" in told
    assert "formulasin(x)" in told
    assert "dv1/dx = cos(x) = 0.877583" in told
    assert "gradienty = 3" in told
    assert "test_explorer_page.py" in told
    assert "used byv3" in told
    tab.keyboard.press("Escape")
    assert tab.text_content("#details") == ""
    for key, pane in (("2", "Gradient"), ("3", "Hessian"), ("1", "Program")):
        tab.keyboard.press(key)
        assert tab.text_content("[role=tab][aria-selected=true]") == pane


def test_a_click_on_the_graph_selects_the_node_there(visit):
    tab = visit(fg.explore(fg.exp(X), x=0.0))
    box = tab.locator("#graph").bounding_box()
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + 60)
    assert "exp(x)" in tab.text_content("#details")
    tab.mouse.click(box["x"] + 5, box["y"] + box["height"] - 5)
    assert tab.text_content("#details") == ""


def test_inputs_are_changed_and_all_is_computed_anew(visit):
    tab = visit(fg.explore(EXPR, x=0.7, y=1.3))
    tab.fill("[data-name=x]", "-0.25")
    tab.fill("[data-name=y]", "1e2")
    other = visit(fg.explore(EXPR, x=-0.25, y=100.0))
    assert cells(tab) == cells(other)
    tab.click("role=tab[name=Hessian]")
    other.click("role=tab[name=Hessian]")
    assert tab.text_content("#results") == other.text_content("#results")
    tab.fill("[data-name=x]", "1+1")
    assert tab.get_attribute("[data-name=x]", "aria-invalid") == "true"


def test_a_constant_is_shown_once(visit):
    tab = visit(fg.explore(X * Y, x=2.0, y=3.0))
    tab.click("role=tab[name=Hessian]")
    assert tab.locator("#results td:not(:empty)").all_text_contents() == ["0", "1", "1", "0"]
    tab.click("role=tab[name=Program]")
    tab.click("[aria-label='Select v2']")
    assert "gradient1" in tab.text_content("#details")


def test_a_page_without_values_takes_them(visit):
    tab = visit(fg.explore(X * Y))
    assert cells(tab)[-1] == ["v2", "x*y", "", "1.0"]
    tab.fill("[data-name=x]", "3")
    tab.fill("[data-name=y]", "4")
    assert cells(tab) == cells(visit(fg.explore(X * Y, x=3.0, y=4.0)))


SPECIAL = ["0", "-0.0", "1", "-1", "0.5", "-2.5", "1e300", "-1e-300", "inf", "-inf", "nan", "3"]
UNARY = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad exp exp2 expm1 fabs floor "
    "log log10 log1p log2 negative rad2deg reciprocal rint sign sin sinh sqrt square tan tanh trunc"
)
BINARY = (
    "add arctan2 copysign divide floor_divide fmax fmin fmod hypot logaddexp logaddexp2 maximum minimum "
    "multiply power remainder subtract"
)


def differing(tab, expr, at):
    """The rows whose value is not that of Python: of large or transcendental results, to ten digits."""
    found = tab.evaluate(
        "() => [...document.querySelectorAll('#rows tbody tr')].map((r) => r.children[2].textContent)"
    )
    known = evaluate_all(expr, at)
    wanted = [shown(known[key]) for key in fg.toposort(expr)]
    return [
        (expr.graph[key].name, at, text, value)
        for key, text, value in zip(fg.toposort(expr), found, wanted, strict=True)
        if text != value and not np.isclose(float(text), float(value), rtol=2e-5, atol=0.0)
    ]


@pytest.mark.slow
def test_the_page_computes_what_numpy_does_at_special_values(visit):
    terms = [getattr(np, name)(X) for name in UNARY.split()]
    terms += [getattr(np, name)(X, Y) for name in BINARY.split()]
    terms += [np.where(X < Y, X, Y), np.where(np.isnan(X) | (X >= Y), 1.0, Y)]
    expr = terms[0]
    for term in terms[1:]:
        expr = np.maximum(expr, term)
    tab = visit(fg.explore(expr, x=0.0, y=0.0))
    for shift in (5, 7):
        for x, y in zip(SPECIAL, SPECIAL[shift:] + SPECIAL[:shift], strict=True):
            tab.fill("[data-name=x]", x)
            tab.fill("[data-name=y]", y)
            assert differing(tab, expr, {"x": float(x), "y": float(y)}) == []


def test_what_has_no_form_in_the_page_cannot_be_changed(visit):
    tab = visit(fg.explore(np.sum(fg.var("v", 3) ** 2), v=np.arange(3.0)))
    assert tab.is_disabled("[data-name=v]")
    assert "v is float64[3]" in tab.text_content("#inputs")
    tab.keyboard.press("ArrowDown")
    assert tab.locator("#details table.entries td").all_text_contents() == [
        "0",
        "1",
        "2",
        "0",
        "2",
        "4",
    ]
    large = np.arange(400.0).reshape(20, 20)
    tab = visit(fg.explore(np.sum(fg.var("A", (20, 20)) ** 2), A=large))
    tab.keyboard.press("ArrowDown")
    assert tab.locator("#details canvas.heat").count() == 2


def test_groups_unfold_and_fold(visit):
    expr = X
    for _ in range(40):
        expr = np.sin(expr) * Y + np.exp(expr)
    tab = visit(fg.explore(expr, x=0.7, y=0.1))
    folded = boxes(tab)
    assert folded < 20
    tab.click("#unfold")
    assert boxes(tab) > 160
    tab.click("#fold")
    assert boxes(tab) == folded
    for _ in range(30):
        tab.keyboard.press("ArrowDown")
    tab.focus("#graph")
    tab.keyboard.press("Enter")
    assert folded < boxes(tab) < 160
    tab.keyboard.press("Enter")
    tab.keyboard.press("f")
    assert boxes(tab) == folded


def test_a_loop_unfolds_to_its_body(visit):
    def f(x, w):
        return fg.fori_loop(0, 5, lambda i, c: fg.cond(c > 0, np.sin, np.exp, c) * w, x)

    tab = visit(fg.explore(f, 0.5, 1.2))
    folded = boxes(tab)
    names = [row[0] for row in cells(tab)]
    for _ in range(next(i for i, row in enumerate(cells(tab)) if "loop(" in row[1]) + 1):
        tab.keyboard.press("ArrowDown")
    assert re.search(r"runsh\(", tab.text_content("#details"))
    tab.keyboard.press("Enter")
    assert boxes(tab) > folded
    tab.keyboard.press("Enter")
    assert boxes(tab) == folded
    tab.keyboard.press("End")
    for _ in range(len(names)):
        tab.keyboard.press("ArrowDown")
    assert "gradient" not in tab.text_content("#details")
    tab.keyboard.press("Home")
    for _ in range(step_of(tab), int(tab.get_attribute("#range", "max"))):
        tab.keyboard.press("ArrowRight")
    assert said(tab).startswith("Done")


def boxes(tab):
    return int(re.search(r"(\d+) boxes", tab.get_attribute("#graph", "aria-label"))[1])


def test_the_page_follows_light_and_dark(visit):
    for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 27)")):
        tab = visit(fg.explore(X * Y, x=1.0, y=2.0), color_scheme=scheme)
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == paper


@pytest.mark.parametrize(
    "name", ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'\\"]
)
def test_text_of_a_program_is_never_run(visit, name):
    tab = visit(fg.explore(any_variable(name) * 2, {name: 1.5}))
    tab.keyboard.press("ArrowDown")
    assert cells(tab)[0][0] in (name, "v0")
    assert tab.locator("img").count() == 0


def test_the_page_works_in_a_notebooks_frame(visit, tmp_path):
    page = fg.explore(X * Y, x=2.0, y=3.0)
    (tmp_path / "notebook.html").write_text(f"<!doctype html>{page._repr_html_()}")
    tab = visit(page)
    tab.goto((tmp_path / "notebook.html").as_uri())
    frame = tab.frame_locator("iframe")
    frame.locator("#first").click()
    assert frame.locator("#say").text_content() == "Press the right arrow to begin."


def test_a_frame_that_has_no_size_at_first_shows_the_graph(visit, tmp_path):
    """As in JupyterLab, which makes the frame of a cell before it has a place for it."""
    page = fg.explore(EXPR, x=0.7, y=1.0)
    tab = visit(page)
    hidden = f'<div id="cell" style="display:none">{page._repr_html_()}</div>'
    (tmp_path / "notebook.html").write_text(hidden, encoding="utf-8")
    tab.goto((tmp_path / "notebook.html").as_uri())
    tab.frame_locator("iframe").locator("#say", has_text="Done").wait_for(state="attached")
    tab.evaluate("document.getElementById('cell').style.display = 'block'")
    tab.frame_locator("iframe").locator("#graph").wait_for(state="visible")
    (frame,) = tab.frames[1:]
    frame.wait_for_function(
        """() => { const canvas = document.getElementById('graph');
          if (!canvas.width) return false;
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const paper = data.slice(0, 3).join();
          let other = 0;
          for (let k = 0; k < data.length; k += 4) other += data.slice(k, k + 3).join() !== paper;
          return other > data.length / 4 / 20; }""",
        timeout=20_000,
    )
