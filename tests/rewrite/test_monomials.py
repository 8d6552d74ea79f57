"""The order in which the factors of a product are printed."""

import pytest

import funcgrad as fg


@pytest.mark.parametrize(
    ("factors", "printed"),
    [
        ("x w", "w*x"),
        ("x w1", "w1*x"),
        ("w10 w2 w", "w*w2*w10"),
        ("x2 x1 x3", "x1*x2*x3"),
        ("rate x1", "x1*rate"),
        ("beta alpha", "beta*alpha"),
    ],
)
def test_variables_stand_in_alphabetical_order_and_words_behind_them(factors, printed):
    a, b, *more = fg.vars(factors)
    product = a * b
    for factor in more:
        product = product * factor
    assert repr(fg.simplify(product)) == printed
