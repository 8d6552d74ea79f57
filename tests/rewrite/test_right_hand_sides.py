"""The operations of a law's right-hand side are those that the law itself makes of the bindings."""

import inspect
from itertools import product

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.expr import Expr, scalar
from funcgrad.ops.base.op import fit
from funcgrad.rewrite.laws import LAWS
from funcgrad.rewrite.reading_laws import READING
from funcgrad.rewrite.right_hand_sides import law_result, right_hand_side

DTYPES = [np.float64, np.float32, np.float16, np.complex128]
SHAPES = [(), (3,), (0,), (2, 1)]


@pytest.mark.parametrize(
    "law", [*LAWS, *READING], ids=lambda law: inspect.getsource(law.left).strip()[:60]
)
def test_the_operations_are_those_of_the_law(law):
    names = list(inspect.signature(law.left).parameters)
    for dtype, shape in product(DTYPES, SHAPES):
        if dtype is np.complex128 and law.holds in ("as a stable form", "where finite"):
            continue  # the law is of real numbers
        if dtype is np.complex128:
            numbers = {"c": 2.5 - 0.5j, "d": complex(-0.0, 1.5)}
        else:
            numbers = {"c": 1 / 3, "d": -1.5}
        bindings = [
            numbers[n] if n in numbers else fg.var(n, shape, bool if n == "p" else dtype)
            for n in names
        ]
        type = law.left(*bindings).type
        types = [x.type for x in bindings if isinstance(x, Expr)]
        made, constants = law_result(right_hand_side(law.right, names, type, *types), bindings)
        right = law.right(*bindings)
        expected = fit(right if isinstance(right, Expr) else scalar(right, type.dtype), type)
        assert made.expression().key == expected.key, (dtype, shape)
        assert all(np.isfinite(constants)), (dtype, shape)


def test_a_constant_that_python_cannot_compute_makes_no_result():
    x = fg.var("x")
    of_quotient = right_hand_side(lambda x, c, d: (c / d) * x, ["x", "c", "d"], x.type, x.type)
    assert law_result(of_quotient, [x, 1.0, 0.0]) is None
    made, constants = law_result(of_quotient, [x, 1e308, 0.1])
    assert constants == [np.inf]
    assert made.expression().op is (x * x).op


def test_a_constant_is_rounded_to_the_dtype_of_the_node():
    x = fg.var("x", (), np.float32)
    product = right_hand_side(lambda x, c, d: (c * d) * x, ["x", "c", "d"], x.type, x.type)
    made, constants = law_result(product, [x, 1e20, 1e20])
    assert constants == [np.inf]
    assert made.expression().dtype == np.float32
