"""The page: whole, escaped, asking for nothing from outside, with the numbers of backprop."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.rewrite.evaluate import evaluate_all, evaluate_roots
from funcgrad.show.drawing.explorer import Page, explore
from tests.default_slice import one_in
from tests.ops.samples import SAMPLES
from tests.show.programs import ALL, PROGRAMS, any_variable, values_of
from tests.show.test_dot import NASTY
from tests.show.test_json import CASES, sample_expr

X, Y = fg.var("x"), fg.var("y")
EXPR = np.sqrt(X**2 + np.exp(X**2)) + np.cos(X**2 + np.exp(X**2)) * Y


class Outline(HTMLParser):
    """Which elements a page has, with their attributes, and whether they are closed."""

    VOID = ("meta", "input", "path")

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


def number(data, place):
    value = data["values"][place]
    if isinstance(value, dict):
        return np.array([float(x) for x in value["data"]]).reshape(value["shape"])
    return float(value)


def maps_of(pane):
    """The gradient map after each backward step, with places of values: a left fold of the changes."""
    found = {}
    for step in pane["steps"]:
        if step["pass"] == "backward":
            found = found | dict(step["changes"])
            yield found


def said(data, step):
    return "".join(
        [str(data["values"][part]) if isinstance(part, int) else part for part in step["say"]]
    )


@pytest.mark.parametrize(
    ("expr", "at"),
    [
        (EXPR, {"x": 0.7, "y": 1.3}),
        (np.sum(np.tanh(fg.var("v", 3) * X) ** 2), {"v": np.array([0.5, -0.0, 2.0]), "x": -1.5}),
        (np.where(X > 0, X * Y, -X) + np.log(Y), {"x": 0.0, "y": 0.0}),
    ],
)
def test_every_step_is_one_of_the_persistent_scan(expr, at):
    data = data_of(explore(expr, **at))
    program = data["panes"][0]
    known = evaluate_all(expr, at)
    order = fg.toposort(expr)
    for node, key in zip(program["nodes"], order, strict=True):
        np.testing.assert_array_equal(number(data, node["value"]), known[key])
    scan = []
    for step in fg.backprop_steps(expr):
        if not scan or step != scan[-1]:
            scan.append(step)
    maps = list(maps_of(program))
    assert len(maps) == len(scan)
    for found, step in zip(maps, scan, strict=True):
        assert {order[i] for i in found} == set(step)
        for i, place in found.items():
            cotangent = step.map[order[i]]
            (expected,) = evaluate_roots([cotangent], at)
            np.testing.assert_array_equal(number(data, place), expected)


def test_steps_say_what_each_operand_gets():
    data = data_of(explore(lambda x, y: x * y + y, 2.0, 3.0))
    lines = [said(data, step) for step in data["panes"][0]["steps"]]
    assert lines == [
        "Press the right arrow to begin.",
        "x = 2.0",
        "y = 3.0",
        "v2 = x*y = 6.0",
        "v3 = v2 + y = 9.0",
        "Start at the result: v3 gets 1.0",
        "Visit v3 = v2 + y: v2 gets 1.0; y gets 1.0 (add distributes)",
        "Visit v2 = x*y: x gets 1.0 · y = 3.0; y gets 1.0 · x = 2.0, total 3.0 (multiply swaps)",
        "Done: the gradients of x, y are in the map.",
    ]


def test_steps_of_arrays_say_how_the_gradient_is_pulled_back():
    data = data_of(
        explore(lambda W, v: np.sum(np.maximum(W @ v, 0)), np.eye(2), np.array([1.0, -2.0]))
    )
    (program, _) = data["panes"]
    lines = [
        "".join([part if isinstance(part, str) else "…" for part in step["say"]])
        for step in program["steps"]
    ]
    visit = "Visit v2 = W @ v with gradient g: W gets outer(g, v) = …; v gets W.T @ g = …"
    assert any(line.startswith(visit) for line in lines)
    assert any(
        line.startswith("Visit v5 = maximum(v2, 0) with gradient g: v2 gets") for line in lines
    )
    hidden = [node["formula"] for node in program["nodes"] if node["is_number"]]
    assert hidden == ["0", "broadcast_to(0, shape=(2,))"]


def test_a_constant_part_is_visited_without_words_for_its_numbers():
    constant = fg.stop_gradient(fg.const(2.0)) * fg.stop_gradient(fg.const(3.0))
    Outline(explore(X * constant, x=1.0).html)


def test_without_values_gradients_are_formulas():
    data = data_of(explore(fg.sin(X) * Y))
    assert data["values"] is None
    (*_, last) = maps_of(data["panes"][0])
    assert {i: data["formulas"][str(place)] for i, place in last.items()} == {
        0: "y*cos(x)",
        1: "y",
        2: "sin(x)",
        3: "1.0",
    }


def test_a_result_without_gradient_has_forward_steps_alone():
    data = data_of(explore(X > Y, x=1.0, y=2.0))
    (program,) = data["panes"]
    assert {step["pass"] for step in program["steps"]} == {"start", "forward", "done"}
    assert said(data, program["steps"][-1]) == "Done."


def test_the_derivatives_have_panes():
    data = data_of(explore(X**2 * Y + fg.sin(Y), x=2.0, y=3.0))
    program, gradient, hessian = data["panes"]
    assert [pane["title"] for pane in data["panes"]] == ["Program", "Gradient", "Hessian"]
    assert program["roots"][0]["formula"] == "x**2*y + sin(y)"
    assert {root["name"]: root["formula"] for root in gradient["roots"]} == {
        "d/dx": "2*x*y",
        "d/dy": "cos(y) + x**2",
    }
    assert hessian["matrix"] == ["x", "y"]
    entries = [number(data, hessian["nodes"][root["node"]]["value"]) for root in hessian["roots"]]
    assert entries == pytest.approx([6.0, 4.0, 4.0, -np.sin(3.0)], abs=1e-15)


def test_nodes_have_their_lines_and_the_local_derivatives_of_their_edges():
    def f(x, y):
        t1 = fg.name(np.exp(x), "t1")
        return t1 * y

    data = data_of(explore(f, 0.0, 3.0))
    product = data["panes"][0]["nodes"][-1]
    maps = {
        m["operand"]: (m["slope"], m["pullback"], number(data, m["value"])) for m in product["maps"]
    }
    assert maps == {0: ("y", "g*y", 3.0), 1: ("t1", "g*t1", 1.0)}
    assert data["sources"][product["source"] - 1].endswith("return t1 * y")
    assert "test_explore.py" in data["sources"][product["source"] - 1]


@pytest.mark.parametrize(
    "name", [*NASTY, "</script><script>alert(1)</script>", "<!--", "@DATA@", "@TITLE@"]
)
def test_names_are_escaped(name):
    expected = [(tag, sorted(a)) for tag, a in Outline(explore(fg.var("x") * 2).html).elements]
    page = explore(any_variable(name) * 2)
    assert [(tag, sorted(a)) for tag, a in Outline(page.html).elements] == expected
    assert len(data_of(page)["panes"][0]["nodes"]) == 3


def test_the_page_asks_for_nothing_from_outside():
    page = explore(EXPR, x=1.0, y=2.0)
    outline = Outline(page.html)
    assert all(not {"src", "href"} & set(attributes) for _, attributes in outline.elements)
    assert "default-src 'none'" in page.html
    shown = re.sub(r"/\*.*?\*/", "", page.html, flags=re.S)  # the licenses
    assert not re.search(r"https?://(?!www\.w3\.org/)|@import|url\(|@font-face", shown)
    buttons = [a for tag, a in outline.elements if tag == "button"]
    assert all(a["type"] == "button" and {"aria-label", "title"} & set(a) for a in buttons)
    assert ("html", {"lang": "en"}) in outline.elements


def test_the_page_has_the_licenses_of_its_packages():
    page = Path(fg.__file__).with_name("show").joinpath("drawing", "explorer_page.html").read_text()
    tools = Path(__file__).parents[2] / "tools" / "explorer"
    for name in json.loads((tools / "package.json").read_text())["dependencies"]:
        assert re.search(rf"^{name} \d+\.\d+\.\d+\n\n.*Copyright", page, re.M), name
    lock = json.loads((tools / "package-lock.json").read_text())
    hosts = [
        item.get("resolved", "https://registry.npmjs.org/") for item in lock["packages"].values()
    ]
    assert all(host.startswith("https://registry.npmjs.org/") for host in hosts)


def few(cases, count):
    """The cases, all but a few of which are slow together."""
    return one_in(-(-len(cases) // count), cases)


def test_the_page_is_built_from_its_sources():
    tools = Path(__file__).parents[2] / "tools" / "explorer"
    digest = hashlib.sha256()
    for path in sorted((tools / "src").iterdir(), key=lambda path: path.name):
        digest.update(path.read_bytes())
    digest.update((tools / "package-lock.json").read_bytes())
    page = Path(fg.__file__).with_name("show").joinpath("drawing", "explorer_page.html").read_text()
    assert f"Sources: {digest.hexdigest()}" in page, "run npm ci && npm run build in tools/explorer"


@pytest.mark.parametrize(("name", "i"), few(CASES, 12))
def test_every_operation_has_a_page(name, i):
    expr, (args, _) = sample_expr(name, i), SAMPLES[name][i]
    page = explore(expr, **{f"x{k}": a for k, a in enumerate(args)})
    Outline(page.html)
    assert page.nodes == len(fg.toposort(expr))


def tangle(size):
    """A program without repetitions, in which any value may be used anywhere below it."""
    rng = np.random.default_rng(0)
    values = list(fg.vars("a b c"))
    while len(values) < size:
        i, j = rng.choice(len(values), 2, replace=False)
        values.append(
            (values[i] * values[j], values[i] + values[j], np.sin(values[i]))[rng.integers(3)]
        )
    return sum(values[-40:], values[-41])


@pytest.mark.parametrize("opened", ["[]", "pane.groups.keys()"])
@pytest.mark.parametrize("expr", [EXPR, tangle(300)], ids=["lecture", "tangle"])
def test_in_the_graph_lines_stay_in_their_group_and_all_operands_are_told(expr, opened):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    (pane, *_) = data_of(explore(expr))["panes"]
    source = Path(__file__).parents[2] / "tools" / "explorer" / "src" / "layout.js"
    script = f"""
      import {{ arranged, Scene }} from "{source.as_uri()}";
      import {{ readFileSync }} from "node:fs";
      const pane = JSON.parse(readFileSync(0));
      const size = (box) => (box.names === null ? {{ width: 160, height: 46 }} : {{ width: 40, height: 24 }});
      const {{ boxes, edges }} = arranged(new Scene(pane), new Set({opened}), size, () => null);
      console.log(JSON.stringify([[...boxes.values()], edges]));"""
    ran = subprocess.run(
        [node, "--input-type=module", "-e", script],
        input=json.dumps(pane),
        capture_output=True,
        text=True,
        check=True,
    )
    boxes, edges = json.loads(ran.stdout)
    of = {box["id"]: box for box in boxes}
    for edge in edges:
        start, end = of[edge["from"]], of[edge["to"]]
        assert start["depth"] == end["depth"]
        assert edge["points"][0] == pytest.approx(
            [start["x"], start["y"] + start["height"] / 2], abs=1e-6
        )
        assert edge["points"][-1][1] == pytest.approx(end["y"] - end["height"] / 2, abs=1e-6)
    for k, a in enumerate(boxes):
        for b in boxes[k + 1 :]:
            if a["depth"] == b["depth"]:
                far = max(
                    abs(a["x"] - b["x"]) - (a["width"] + b["width"]) / 2,
                    abs(a["y"] - b["y"]) - (a["height"] + b["height"]) / 2,
                )
                assert far > -1e-6, (a["id"], b["id"])
    drawn = {(arc["parent"], arc["child"]) for edge in edges for arc in edge["arcs"]}
    for i, one in enumerate(pane["nodes"]):
        if f"n{i}" in of and one["kind"] == "op":
            assert {(operand, i) for operand in one["operands"]} <= drawn


def test_the_page_is_written_and_shown(tmp_path):
    path = tmp_path / "page.html"
    page = explore(EXPR, path=path, x=1.0, y=2.0)
    assert path.read_text(encoding="utf-8") == page.html
    assert explore(EXPR, {"x": 1.0, "y": 2.0}).html == page.html
    frame = Outline(page._repr_html_()).elements
    assert [tag for tag, _ in frame] == ["iframe"]
    assert frame[0][1]["srcdoc"] == page.html
    assert repr(page) == "<page of 10 nodes and 19 steps>"
    with pytest.raises(AttributeError, match="a page is immutable"):
        page.html = ""
    assert isinstance(page, Page)


def test_the_page_is_the_same_in_every_process():
    code = (
        "import numpy as np, funcgrad as fg, hashlib\n"
        "f = lambda a, b, c: np.sqrt(a * b + c) * np.exp(a) + b\n"
        "print(hashlib.sha256(fg.explore(f, 1.0, 2.0, 3.0).html.encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(found) == 1


def test_what_cannot_be_explored_is_refused():
    with pytest.raises(ValueError, match="explore: expected at most 5000 nodes, but got 5001;"):
        explore(_long(5000))
    with pytest.raises(
        TypeError, match="explore: expected a function or an expression, but got int"
    ):
        explore(3)
    with pytest.raises(TypeError, match="expected values for x, y, but got x"):
        explore(EXPR, x=1.0)
    with pytest.raises(TypeError, match="expected a function that returns one number, but got 2"):
        explore(lambda x: (x, x * 2), 1.0)


def _long(count):
    long = X
    for _ in range(count):
        long = np.sin(long)
    return long


@pytest.mark.parametrize("name", few(ALL, 4))
def test_programs_with_bodies_have_a_page(name):
    expr = ALL[name]
    page = explore(expr, **values_of(expr))
    Outline(page.html)
    data = data_of(page)
    final = {}
    for found in maps_of(data["panes"][0]):
        final = found
    cotangents = fg.backprop(expr).map
    for i, key in enumerate(fg.toposort(expr)):
        found = cotangents.get(key)
        if isinstance(found, fg.Expr) and not found.shape:
            assert number(data, final[i]) == pytest.approx(found(**values_of(found)), rel=1e-12)
    Outline(explore(expr).html)


def test_a_loop_is_one_step_and_its_body_is_defined():
    data = data_of(explore(PROGRAMS["scan by count"], x=0.7, y=1.3))
    assert any(line.startswith("f(") for line in data["panes"][0]["definitions"])
    lines = [said(data, step) for step in data["panes"][0]["steps"]]
    assert any("v2 = loop(f, x, times=4, given=y) = " in line for line in lines)
    assert any(re.match(r"Visit v2 = loop.*\(the loop run backwards\)", line) for line in lines)


def test_what_a_loop_runs_is_a_group_that_the_loop_names():
    def f(x, w):
        total = fg.scan(lambda c, t: (fg.cond(c > t, np.sin, np.exp, c) * w, c), x, np.arange(3.0))[
            0
        ]
        return total * x

    (pane, *_) = data_of(explore(f, 0.5, 1.2))["panes"]
    nodes, groups = pane["nodes"], pane["groups"]
    heads = [
        line.partition(" = ")[0] for line in pane["definitions"] if "(" in line.partition(" = ")[0]
    ]
    assert [group["title"] for group in groups] == heads
    runs = {
        node["name"]: [groups[g]["title"] for g in node["runs"]] for node in nodes if "runs" in node
    }
    assert [len(titles) for titles in runs.values()] == [1, 2]
    inside = [node for node in nodes if node.get("inside")]
    assert all(node["group"] >= 0 and node["value"] == -1 for node in inside)
    formulas = {node["formula"] for node in inside}
    assert {"sin(u)", "exp(u)"} <= formulas
    for node in inside:
        for place in node["operands"]:
            assert nodes[place]["group"] == node["group"]


@pytest.mark.parametrize("name", few(ALL, 4))
def test_bodies_are_complete(name):
    for pane in data_of(explore(ALL[name]))["panes"]:
        nodes, groups = pane["nodes"], pane["groups"]
        assert all(-1 <= node["group"] < len(groups) for node in nodes)
        assert all(-1 <= group["parent"] < k for k, group in enumerate(groups))
        inside = {k for k, node in enumerate(nodes) if node.get("inside")}
        for k, node in enumerate(nodes):
            assert all((place in inside) == (k in inside) for place in node["operands"])
        used = {group for node in nodes for group in node.get("runs", [])}
        tops = {k for k, group in enumerate(groups) if group["title"].startswith(("f", "g", "h"))}
        assert {k for k in tops if groups[k]["parent"] < 0 and "(" in groups[k]["title"]} == used


def test_the_formula_of_a_large_result_is_that_of_its_node():
    expr = X
    for _ in range(60):
        expr = np.sin(expr) * Y + np.exp(-expr)
    page = explore(expr, x=0.7, y=0.1)
    (root,) = data_of(page)["panes"][0]["roots"]
    assert root["formula"] == "v298 + v300"
    assert "<title>A program of 302 nodes</title>" in page.html


def test_a_page_of_2000_nodes_is_made_in_seconds():
    expr = X
    for _ in range(400):
        expr = np.sin(expr) * Y + np.exp(-expr)
    start = time.process_time()
    assert explore(expr, x=0.7, y=0.1).nodes == 2002
    assert time.process_time() - start < 6


def test_an_instance_of_a_plain_class_is_refused_with_the_remedy():
    class Model:
        def __init__(self):
            self.w = np.ones(3)

    def loss(model):
        return np.sum(np.sin(model.w))

    for show in (fg.explore, fg.table, fg.explain, fg.steps, fg.cost):
        with pytest.raises(
            TypeError,
            match=rf"^{show.__name__}: expected numbers or arrays in argument 0, but got Model; "
            r"make Model a dataclass, register it by fg.register_tree\(Model\)",
        ):
            show(loss, Model())
