"""Labels: numbers as a reader writes them, and room for every text."""

import numpy as np
import pytest

from funcgrad.show.drawing.labels import cut_label, number_label, text_width
from funcgrad.show.drawing.style import DARK, LIGHT, stylesheet


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (np.inf, "inf"),
        (np.nan, "nan"),
        (1e-300, "1e-300"),
        (np.float32(0.1), "0.1"),
        (123456.0, "1.235e+05"),
        (3, "3"),
        (True, "True"),
        (1 + 2j, "1+2j"),
        (np.zeros(0), "[]"),
        (np.arange(3.0), "[0., 1., 2.]"),
        ((1.0, np.zeros(9)), "(1, float64[9])"),
    ],
)
def test_numbers_are_short(value, text):
    assert number_label(value) == text


def test_labels_are_one_line_of_limited_length():
    assert cut_label("a\nb") == "a b"
    assert cut_label("x" * 50, 10) == "x" * 9 + "…"
    assert "\x00" not in cut_label("\x00")


def test_wide_characters_take_more_room():
    assert text_width("漢", 10) > text_width("m", 10) > text_width("i", 10)
    assert text_width("\u0301", 10) == 0
    assert text_width("12", 10, bold=True) > text_width("12", 10)


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK])
def test_text_has_the_contrast_of_wcag_aa_on_every_fill(colors):
    for fill in (colors.input, colors.constant, colors.op, colors.group, colors.local):
        for ink in (colors.ink, colors.muted, colors.value, colors.gradient):
            assert contrast(ink, fill) >= 4.5, (ink, fill)
    for page in ("#ffffff", "#16191d"):
        assert contrast(colors.line, page) >= 3


def test_the_stylesheet_has_balanced_braces_and_plain_classes():
    css = stylesheet()
    assert css.count("{") == css.count("}")
    assert "var(" not in css
