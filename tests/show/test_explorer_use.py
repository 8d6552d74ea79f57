"""The explorer page as it is used: speed at 2,000 nodes, narrow windows, keyboard and screen readers."""

import numpy as np
import pytest

import funcgrad as fg
from tests.show.explorer_reading import cells, step_of

pytestmark = pytest.mark.browser
X, Y = fg.vars("x y")
EXPR = np.sqrt(X**2 + np.exp(X**2)) + np.cos(X**2 + np.exp(X**2)) * Y


def chain(length):
    """A program of five nodes a link."""
    expr = X
    for _ in range(length):
        expr = np.sin(expr) * Y + np.exp(-expr)
    return expr


@pytest.mark.slow
def test_a_frame_of_2000_nodes_takes_less_than_a_sixtieth_of_a_second(visit):
    expr = chain(400)
    assert len(expr.graph) == 2002
    tab = visit(fg.explore(expr, x=0.7, y=0.1))
    tab.evaluate(
        """() => { const plain = requestAnimationFrame; window.times = [];
          window.requestAnimationFrame = (f) => plain((t) => {
            const start = performance.now(); f(t); times.push(performance.now() - start); }); }"""
    )
    tab.click("#unfold")
    for zoom in range(12):
        tab.mouse.move(300, 400)
        tab.mouse.down()
        for k in range(20):
            tab.mouse.move(300 + 5 * k, 400 + 3 * k)
        tab.mouse.up()
        tab.click("#out" if zoom < 8 else "#in")
    assert np.median(tab.evaluate("times")) < 1000 / 60


@pytest.mark.slow
def test_a_step_at_2000_nodes_writes_few_rows_and_moves_nothing(visit):
    """What a step costs, in counts that do not depend on the load of the machine."""
    expr = chain(400)
    tab = visit(fg.explore(expr, x=0.7, y=0.1))
    tab.evaluate(
        """() => { window.written = []; window.resized = 0;
          new MutationObserver((all) => written.push(...all))
            .observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
          for (const id of ['map', 'graph']) {
            new ResizeObserver(() => resized += 1).observe(document.getElementById(id));
          } }"""
    )
    steps = 50
    last = int(tab.get_attribute("#range", "max"))
    for start in (
        40,
        last // 3,
        last - 1000,
    ):  # twice in the forward pass, then in the backward pass
        tab.locator("#range").fill(str(start))
        tab.focus("#graph")
        tab.wait_for_timeout(300)  # until the blocks of the map that come into view are drawn
        tab.evaluate("written.length = resized = 0")
        for _ in range(steps):
            tab.keyboard.press("ArrowRight")
        assert step_of(tab) == start + steps
        rows, records, resized, laid_out = tab.evaluate(
            """[new Set(written.map((one) => one.target.closest('tbody tr')).filter(Boolean)).size,
                written.length, resized, [...document.querySelectorAll('#rows tbody')].filter(
                  (block) => block.rows[0].checkVisibility({contentVisibilityAuto: true})
                ).reduce((n, block) => n + block.rows.length, 0)]"""
        )
        assert rows <= 2 * steps
        assert records <= 40 * steps
        assert resized == 0, "the map or the graph changed its size"
        assert laid_out <= 200, "rows that are out of view are laid out"


def test_a_narrow_window_holds_the_page(visit):
    tab = visit(fg.explore(EXPR, x=0.7, y=1.0))
    tab.set_viewport_size({"width": 360, "height": 700})
    assert tab.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("width", [375, 768, 1280])
def test_no_button_lies_on_the_graph_and_no_number_is_broken(visit, width):
    expr = chain(400)
    tab = visit(fg.explore(expr, x=0.7, y=0.1))
    tab.set_viewport_size({"width": width, "height": 667})
    tools, graph = (tab.locator(at).bounding_box() for at in ("#tools", "#graph"))
    assert tools["y"] + tools["height"] <= graph["y"]
    assert graph["height"] > 150
    tab.locator("#range").fill("3000")
    broken = """() => [...document.querySelectorAll('#rows td:is(.value, .gradient), #say .number')]
      .filter((place) => /e-1\\d\\d$/.test(place.textContent)).map((place) => {
        const range = document.createRange();
        range.selectNodeContents(place);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
      })"""
    lines = tab.evaluate(broken)
    tab.click("#last")
    lines += tab.evaluate(broken)
    lines = [n for n in lines if n]  # hidden rows have none
    assert len(lines) > 300
    assert set(lines) == {1}


@pytest.mark.parametrize("width", [375, 768, 1280])
def test_all_of_a_folded_graph_is_in_view(visit, width):
    """The first nodes, too, which were above the upper border of a narrow window."""
    expr = chain(10)
    tab = visit(fg.explore(expr, x=0.7, y=0.1))
    tab.set_viewport_size({"width": width, "height": 667})
    tab.wait_for_timeout(300)
    drawn = """() => { const canvas = document.getElementById('graph');
      const { width, height } = canvas;
      const copy = new OffscreenCanvas(width, height).getContext('2d', {willReadFrequently: true});
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, width, height);
      const isPaper = (x, y) => [0, 1, 2].every((k) => data[4 * (y * width + x) + k] === 255);
      const isBlank = (y) => Array.from({length: width}, (_, x) => isPaper(x, y)).every(Boolean);
      const used = Array.from({length: height}, (_, y) => !isBlank(y));
      return [!used[2], !used[height - 3], used.filter(Boolean).length]; }"""
    for step in (3, 60):
        tab.locator("#range").fill(str(step))
        tab.wait_for_timeout(100)
        above, below, rows = tab.evaluate(drawn)
        assert above
        assert below
        assert rows > 100


def test_the_tab_key_passes_the_map_in_one_stop(visit):
    tab = visit(fg.explore(EXPR, x=0.7, y=1.3))
    stops = []
    for _ in range(40):
        tab.keyboard.press("Tab")
        stop = tab.evaluate(
            """() => { const at = document.activeElement;
              return at === document.body ? '' : at.id || at.dataset.name || at.ariaLabel; }"""
        )
        if stop in stops or stop == "":
            break
        stops.append(stop)
    assert stops == [
        *("tab0", "x", "y", "in", "out", "fit", "graph", "Select x"),
        *("first", "back", "play", "next", "last", "range"),
    ]


def test_the_arrow_keys_move_the_focus_within_the_map(visit):
    tab = visit(fg.explore(EXPR, x=0.7, y=1.3))
    tab.focus("[aria-label='Select x']")
    for name in [row[0] for row in cells(tab)[:3]]:
        tab.keyboard.press("ArrowDown")
        at = tab.evaluate("[document.activeElement.ariaLabel, document.activeElement.tabIndex]")
        assert at == [f"Select {name}", 0]
        assert f"Node {name}" in tab.text_content("#details")
    assert tab.locator("#rows button[tabindex='0']").count() == 1
    assert tab.locator("#rows tr[aria-selected], #rows tr.selected").count() == 1
    tab.click("role=tab[name=Gradient]")
    assert tab.locator("#rows button[tabindex='0']").count() == 1


def test_a_screen_reader_is_told(visit):
    tab = visit(fg.explore(EXPR, x=0.7, y=1.3))
    assert tab.get_attribute("#say", "aria-live") == "polite"
    assert tab.get_attribute("#range", "aria-valuetext") == "Step 18, done"
    unnamed = tab.evaluate(
        """() => [...document.querySelectorAll('button, input, canvas')].filter(
          (e) => !e.ariaLabel && !e.textContent.trim() && !e.labels?.length).length"""
    )
    assert unnamed == 0
