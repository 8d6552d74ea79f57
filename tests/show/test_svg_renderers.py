"""Pictures as CairoSVG, librsvg and Chromium show them: the same, with all text in its boxes."""

import io
import re
import shutil
import subprocess

import numpy as np
import pytest

import funcgrad as fg
from examples.seeds.pictures import PICTURES
from funcgrad.show.drawing.style import LIGHT
from tests.show.test_folding import unrolled

ALL = {
    **PICTURES,
    "folded": lambda: fg.to_svg(unrolled(30), x=0.5, a=2.0),
    "loop": lambda: fg.to_svg(fg.scan(lambda c, t: (c * t, c), fg.var("x"), np.ones(3))[0]),
}


def size_of(svg):
    return tuple(int(re.search(rf'{side}="(\d+)"', svg)[1]) for side in ("width", "height"))


def pixels(png):
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(png)).convert("RGB")
    return np.asarray(image, dtype=float)


def by_cairo(svg):
    cairosvg = pytest.importorskip("cairosvg")
    return pixels(cairosvg.svg2png(bytestring=svg.encode(), background_color="white"))


def has_color(image, color):
    rgb = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return bool((np.abs(image - rgb).max(axis=2) < 12).any())


@pytest.mark.parametrize("name", ALL)
def test_cairosvg_shows_nodes_text_and_edges(name):
    svg = str(ALL[name]())
    image = by_cairo(svg)
    assert image.shape[1::-1] == size_of(svg)
    expected = [("fg-op", LIGHT.op), ("fg-input", LIGHT.input), ("fg-edge", LIGHT.line)]
    expected += [('"fg-name', LIGHT.ink), ('"fg-value', LIGHT.value)]
    expected += [('"fg-gradient', LIGHT.gradient)]
    body = svg.partition("</style>")[2]
    for mark, color in expected:
        assert has_color(image, color) or mark not in body, mark
    assert (image.min(axis=2) < 250).mean() > 0.05


@pytest.mark.parametrize("name", ALL)
def test_cairosvg_and_librsvg_show_the_same(name):
    if shutil.which("rsvg-convert") is None:
        pytest.skip("rsvg-convert is not installed")
    svg = str(ALL[name]())
    done = subprocess.run(
        ["rsvg-convert", "-b", "white"],
        input=svg.encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    one, other = by_cairo(svg), pixels(done.stdout)
    assert one.shape == other.shape
    assert np.abs(one - other).mean() < 6.0


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as run:
        opened = run.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_chromium_and_cairosvg_show_the_same(browser, name):
    svg = str(ALL[name]())
    page = browser.new_page(color_scheme="light")
    page.set_content(f'<body style="margin:0;background:white">{svg}')
    one, other = pixels(page.locator("svg").screenshot()), by_cairo(svg)
    page.close()
    assert one.shape == other.shape
    assert np.abs(one - other).mean() < 6.0


OUTSIDE = """() => [...document.querySelectorAll("g.fg-node")].flatMap(group => {
    const box = group.querySelector("rect").getBoundingClientRect();
    return [...group.querySelectorAll("text")].filter(text => {
        const room = text.getBoundingClientRect();
        return room.left < box.left || room.right > box.right;
    }).map(text => text.textContent);
})"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_chromium_shows_all_text_in_its_box(browser, scheme):
    page = browser.new_page(color_scheme=scheme)
    for name, draw in ALL.items():
        page.set_content(draw())
        assert page.evaluate(OUTSIDE) == [], name
        color = page.evaluate("getComputedStyle(document.querySelector('.fg-name')).fill")
        assert (color == "rgb(20, 24, 29)") == (scheme == "light")
    page.close()
