"""The page: whole, escaped, asking for nothing from outside, with the numbers of backprop."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.rewrite.evaluate import evaluate_all
from funcgrad.show.drawing.explorer import Page, explore
from tests.ops.samples import SAMPLES
from tests.show.programs import ALL, PROGRAMS, values_of
from tests.show.test_dot import NASTY
from tests.show.test_json import CASES, sample_expr

X, Y = fg.var("x"), fg.var("y")
EXPR = np.sqrt(X**2 + np.exp(X**2)) + np.cos(X**2 + np.exp(X**2)) * Y


class Outline(HTMLParser):
    """Which elements a page has, with their attributes, and whether they are closed."""

    VOID = ("meta", "input")

    def __init__(self, page):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def data_of(page):
    text = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.html, re.S)[
        1
    ]
    return json.loads(text)


def test_steps_are_those_of_backprop():
    at = {"x": 0.7, "y": 1.3}
    data = data_of(explore(EXPR, **at))
    final = {}
    for step in data["steps"]:
        final |= step.get("z", {})
    cotangents, known = fg.backprop(EXPR).map, evaluate_all(EXPR, at)
    for i, key in enumerate(fg.toposort(EXPR)):
        assert float(data["values"][i]) == pytest.approx(float(known[key]), rel=1e-5)
        if key in cotangents:
            found = cotangents[key]
            values = {n: at[n] for n in fg.gradient(found)} if hasattr(found, "op") else {}
            assert float(final[str(i)]) == pytest.approx(found(**values), rel=1e-5)


def test_without_values_cotangents_are_formulas():
    data = data_of(explore(fg.sin(X) * Y))
    assert data["steps"][-1] == {
        "at": 1,
        "way": "reverse",
        "say": "From z1 back through v1: now z0 = y*cos(x)",
        "z": {"0": "y*cos(x)"},
    }


@pytest.mark.parametrize(
    "name", [*NASTY, "</script><script>alert(1)</script>", "<!--", "@DATA@", "@ROWS@"]
)
def test_names_are_escaped(name, tmp_path):
    expected = [(tag, sorted(a)) for tag, a in Outline(explore(fg.var("x") * 2).html).elements]
    page = explore(fg.var(name) * 2, tmp_path / "page.html")
    assert [(tag, sorted(a)) for tag, a in Outline(page.html).elements] == expected
    assert data_of(page)["last"] == 2


def test_the_page_asks_for_nothing_from_outside():
    page = explore(EXPR, x=1.0, y=2.0)
    outline = Outline(page.html)
    assert all(not {"src", "href"} & set(attributes) for _, attributes in outline.elements)
    assert "default-src 'none'" in page.html
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", page.html)
    buttons = [a for tag, a in outline.elements if tag in ("button", "input")]
    assert all("aria-label" in attributes for attributes in buttons)
    assert ("html", {"lang": "en"}) in outline.elements


@pytest.mark.parametrize(("name", "i"), CASES)
def test_every_operation_has_a_page(name, i):
    expr, (args, _) = sample_expr(name, i), SAMPLES[name][i]
    page = explore(expr, **{f"x{k}": a for k, a in enumerate(args)})
    Outline(page.html)
    assert page.nodes == len(fg.toposort(expr))


def test_the_page_is_written_and_shown(tmp_path):
    path = tmp_path / "page.html"
    page = explore(EXPR, path, x=1.0, y=2.0)
    assert path.read_text(encoding="utf-8") == page.html
    assert explore(EXPR, x=1.0, y=2.0).html == page.html
    frame = Outline(page._repr_html_()).elements
    assert [tag for tag, _ in frame] == ["iframe"]
    assert frame[0][1]["srcdoc"] == page.html
    assert repr(page) == "<page of 10 nodes and 19 steps>"
    with pytest.raises(AttributeError, match="a page is immutable"):
        page.html = ""
    assert isinstance(page, Page)


STUB = """
const classes = () => { const on = new Set(); return {on, toggle(c, v) { v ? on.add(c) : on.delete(c); }}; };
const element = (n) => ({children: Array.from({length: n}, () => ({textContent: ""})), textContent: "",
  classList: classes(), on: {}, addEventListener(k, f) { this.on[k] = f; }, value: 0});
const stubRows = Array.from({length: data0.last + 1}, () => element(5));
const stubGroups = {}; const found = {};
const document = element(0);
document.getElementById = (id) => found[id] ||= id === "rows" ? {children: stubRows}
  : id === "data" ? {textContent: JSON.stringify(data0)} : element(0);
document.querySelector = (s) => stubGroups[s] ||= element(0);
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the page's script by node")
def test_keys_step_through_the_page():
    page = explore(fg.sin(X) * Y, x=0.0, y=3.0)
    script = re.search(r'<script>\n"use strict";(.*?)</script>', page.html, re.S)[1]
    drive = """
    const press = (key) => document.on.keydown({key, preventDefault() {}});
    const seen = () => [found.say.textContent, rows.map((r) => r.children[3].textContent),
      rows.map((r) => r.children[4].textContent), rows.findIndex((r) => r.classList.on.has("now"))];
    const out = [seen()]; press("ArrowLeft"); press("ArrowRight"); press("ArrowRight"); out.push(seen());
    press("End"); press("ArrowRight"); out.push(seen()); press("Home"); out.push(seen());
    console.log(JSON.stringify(out));
    """
    source = f"const data0 = {json.dumps(data_of(page))};{STUB}{script}{drive}"
    done = subprocess.run(
        ["node", "-e", source], capture_output=True, text=True, timeout=60, check=True
    )
    start, second, end, home = json.loads(done.stdout)
    assert start == home == ["Press the right arrow to begin.", [""] * 4, [""] * 4, -1]
    assert second == ["v1 = sin(v0) = 0", ["0", "0", "", ""], [""] * 4, 1]
    assert end[1:] == [["0", "0", "3", "0"], ["3", "3", "0", "1"], 1]


def test_what_cannot_be_explored_is_refused():
    long = X
    for _ in range(300):
        long = np.sin(long)
    with pytest.raises(
        ValueError, match="explore: expected at most 200 nodes, but got 301; explore a"
    ):
        explore(long)
    with pytest.raises(TypeError, match="explore: expected an expression, but got int"):
        explore(3)
    with pytest.raises(TypeError, match="expected values for x, y, but got x"):
        explore(EXPR, x=1.0)


@pytest.mark.parametrize("name", ALL)
def test_programs_with_bodies_have_a_page(name):
    expr = ALL[name]
    page = explore(expr, **values_of(expr))
    Outline(page.html)
    final = {}
    for step in data_of(page)["steps"]:
        final |= step.get("z", {})
    cotangents = fg.backprop(expr).map
    for i, key in enumerate(fg.toposort(expr)):
        found = cotangents.get(key)
        if isinstance(found, fg.Expr) and not found.shape:
            assert float(final[str(i)]) == pytest.approx(found(**values_of(found)), rel=1e-4)
    Outline(explore(expr).html)


def test_a_loop_is_one_step():
    steps = data_of(explore(PROGRAMS["scan by count"], x=0.7, y=1.3))["steps"]
    assert any(
        "back through v2 (the loop run backwards): now z0 = 0.837638" in s["say"] for s in steps
    )
    assert any("v2 = loop(f, v0, times=4, given=v1) = (0.716514," in s["say"] for s in steps)
