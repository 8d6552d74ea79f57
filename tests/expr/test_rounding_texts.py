"""Numbers that are read from texts of differentiated values: they have no derivative."""

import decimal
import warnings
from decimal import Decimal
from fractions import Fraction

import pytest

import funcgrad as fg


def from_a_variable(x):
    text = f"{x * x:.2f}"
    return float(text) + 1.0


def from_a_sliced_variable(x):
    text = "%.3f" % x  # noqa: UP031
    return float(text[:3])


def shown_beside_a_number(x):
    text = f"{x:.2f}"
    number = "2.5"
    return float(number) + 0.0 * len(text)


READ = [
    from_a_variable,
    from_a_sliced_variable,
    lambda x: float(f"{x:.2f}"),
    lambda x: float(f"1{x * x:.2f}5"),
    lambda x: float("%.2f" % x),  # noqa: UP031
    lambda x: float("{:.2f}".format(x)),  # noqa: UP032
    lambda x: float(format(x, ".3e")),
    lambda x: float(f"{x:.6f}"[:4]),
    lambda x: max(2.0, float(f"{x:.1f}")) + 1.0,
    lambda x: sum([float(f"{v:.1f}") for v in (x, 2 * x)]),
    lambda x: float(Decimal(str(x)) * 2),
    lambda x: float(decimal.Decimal(f"{x}")),
    lambda x: float(Fraction(str(x))),
]
OTHER = [
    shown_beside_a_number,
    lambda x: float(str(x)),  # says that zero is meant
    lambda x: float(f"{x}"),
    lambda x: float(f"{fg.stop_gradient(x):.2f}"),
    lambda x: float(Decimal(str(fg.stop_gradient(x)))),
    lambda x: float(len(f"{x:.2f}")),
    lambda x: (f"{x:.2f}", float("2.5"))[1],
    lambda x: float(str(round(2.5, len("%.0f" % x)))),  # noqa: UP031
]


@pytest.mark.parametrize("adopted", [True, False])
@pytest.mark.parametrize("read", READ)
def test_a_number_that_is_read_from_a_rounding_text_is_warned_of(read, adopted):
    def f(x):
        return x * read(x)

    f = f if adopted else fg.adopt(f, False)
    for transform in (
        fg.grad(f),
        fg.jit(fg.grad(f)),
        fg.grad(fg.jit(f)),
        lambda x: fg.jvp(f, (x,), (1.0,))[1],
    ):
        with pytest.warns(UserWarning, match="text of a differentiated value.*stop_gradient"):
            assert transform(1.5) == read(1.5)


@pytest.mark.parametrize("read", OTHER)
def test_texts_that_are_no_roundings_are_not_warned_of(read):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fg.grad(lambda x: x * read(x))(1.5) == read(1.5)
        for each in READ + OTHER:
            assert fg.jit(each)(1.5) == each(1.5)  # no derivative is asked


def filled(x):
    text = "2*X + 1"
    text = text.replace("X", str(x))
    return eval(text)


def run(x):
    space = {}
    exec(f"y = 3*{x}", space)
    return space["y"]


EVALUATED = [
    lambda x: eval(f"{x}*2"),
    lambda x: eval("(%s)+(%s)" % (x, 2.0)),  # noqa: UP031
    lambda x: sum([eval(str(x) + op + "3") for op in "+*"]),
    filled,
    run,
]


def told(x):
    print(f"at {x:.3f}")
    if x < 0:
        raise ValueError(f"expected a positive number, but got {x}")
    return eval("x*x", {"x": x})


@pytest.mark.parametrize("adopted", [True, False])
@pytest.mark.parametrize("read", EVALUATED)
def test_a_text_that_is_evaluated_is_warned_of(read, adopted):
    f = lambda x: x * read(x)  # noqa: E731
    f = f if adopted else fg.adopt(f, False)
    for transform in (fg.grad(f), fg.jit(fg.grad(f)), lambda x: fg.jvp(f, (x,), (1.0,))[1]):
        with pytest.warns(UserWarning, match="eval: the text of a differentiated value.*by name"):
            assert transform(1.5) == read(1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fg.jit(f)(1.5) == f(1.5)
        assert fg.grad(lambda x: read(fg.stop_gradient(x)) + x)(1.5) == 1.0


def test_what_evaluating_code_tells_people_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fg.grad(told)(1.5) == 3.0
        with pytest.raises(ValueError, match=r"expected a positive number, but got -1\.5"):
            fg.grad(told)(-1.5)
