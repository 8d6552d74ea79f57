"""docs/derivatives.md: what it prints, read as NumPy code, has the value of what runs."""

import doctest
from pathlib import Path

import numpy as np

import funcgrad as fg
from funcgrad.rewrite.evaluate import variables
from tests.show.reading_back import check_read_back

PAGE = Path(__file__).parents[2] / "docs" / "derivatives.md"


def test_the_page_has_many_derivatives_and_each_is_true():
    test = doctest.DocTestParser().get_doctest(PAGE.read_text("utf-8"), {}, "page", None, 0)
    scope, count = {}, 0
    rng = np.random.default_rng(0)
    for example in test.examples:
        if not example.want:
            exec(example.source, scope)
            continue
        expr = eval(example.source, scope)
        if not isinstance(expr, fg.Expr):
            continue
        values = {n: rng.uniform(0.2, 0.9, v.shape) for n, v in variables(expr).items()}
        values = {n: v + 2 * np.eye(*v.shape) if v.ndim == 2 else v[()] for n, v in values.items()}
        check_read_back(expr, values)
        count += 1
    assert count >= 120
