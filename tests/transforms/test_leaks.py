"""What Python reads off a traced value keeps its derivative, or is an error, or has derivative zero.

The ways are those of `tests.transforms.leaks`; a factor of x lets each reach the argument. They run as plain
code (``fg.adopt(f, False)``), and as transforms adopt them, by which more is differentiated.
"""

import cmath
import contextlib
import functools
import itertools
import math
import pickle
import re
import statistics
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate

import funcgrad as fg
from tests.default_slice import one_in
from tests.transforms.leaks import DIFFERENTIATED, ERRORS, NAMESPACE, REFUSED, ZERO

AT = 1.3
KIND = {
    **dict.fromkeys(DIFFERENTIATED, "differentiated"),
    **dict.fromkeys(REFUSED, "refused"),
    **dict.fromkeys(ERRORS, "error"),
    **dict.fromkeys(ZERO, "zero"),
}


def function(code, is_adopted=False):
    way = eval(f"lambda x: {code}", NAMESPACE)
    way = way if is_adopted else fg.adopt(way, False)
    return lambda x: x * way(x)


def in_scan(f):
    return lambda x: fg.scan(lambda c, _: (c, f(c)), x, np.zeros(1))[1][0]


def in_a_custom_rule(f):
    @fg.custom_vjp
    def ruled(x):
        return f(x)

    ruled.defvjp(lambda x: (f(x), x), lambda x, g: (g * fg.grad(f)(x),))
    return ruled


def traced(f, x):
    # The square of x keeps the variable in the formula.
    slope = fg.gradient(fg.trace(lambda x: f(x) + x * x, x), "x")
    return slope(x=x) - 2 * x


# Transforms in which a value is known, each as the derivative of f.
DERIVATIVES = {
    "grad": fg.grad,
    "value_and_grad": lambda f: lambda x: fg.value_and_grad(f)(x)[1],
    "elementwise_grad": fg.elementwise_grad,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](1.0),
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
    "grad inside": lambda f: lambda x: fg.jvp(fg.grad(f), (x,), (1.0,))[0],
    "hessian": lambda f: lambda x: fg.hessian(lambda y: y[0] * f(y[1]))(np.array([x, x]))[0, 1],
    "hvp": lambda f: lambda x: fg.hvp(lambda a, b: a * f(b), (x, x), (0.0, 1.0))[0],
    "trace": lambda f: lambda x: traced(f, x),
}
# Transforms in which a value may stand for many: an error, or the derivative.
BODIES = {
    "scan": lambda f: fg.grad(in_scan(f)),
    "fori_loop": lambda f: fg.grad(lambda x: fg.fori_loop(0, 1, lambda i, c: f(c), x)),
    "while_loop": lambda f: fg.grad(
        lambda x: fg.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]
    ),
    "cond": lambda f: fg.grad(lambda x: fg.cond(x > 0, f, lambda x: x, x)),
    "custom rule": lambda f: fg.grad(in_a_custom_rule(f)),
    "vmap of grad": lambda f: lambda x: fg.vmap(fg.grad(f))(np.array([x]))[0],
    "grad of vmap": lambda f: fg.grad(lambda x: fg.vmap(f)(np.stack([x]))[0]),
}


def plain(code, x):
    """x times a way, of a plain number."""
    value = function(code)(np.float64(x))
    return value() if isinstance(value, fg.Expr) else value


@functools.cache
def expected(code, kind):
    """The derivative of x times a way: by differences, or, where the way has none, its value."""
    if kind == "zero":
        return plain(code, AT) / AT
    h = 1e-5
    return (plain(code, AT + h) - plain(code, AT - h)) / (2 * h)


def outcome(call, *args):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(*args)
    except Exception as error:
        return error


def texts(error):
    """The messages of an exception and of those that it came from."""
    while error is not None:
        yield type(error), str(error)
        error = error.__cause__ or error.__context__


def is_taught(error):
    """Whether it is, or came from, a TypeError that says that a derivative would be lost."""
    wanted = "derivative|gradient|immutable|expression"
    return any(
        issubclass(kind, TypeError) and re.search(wanted, text) for kind, text in texts(error)
    )


def some_ways(transforms, name, every):
    """The ways that the default run tries under a transform, which take turns."""
    start = list(transforms).index(name)
    return {code: kind for k, (code, kind) in enumerate(KIND.items()) if k % every == start % every}


def test_there_are_as_many_ways_as_are_told():
    assert len(KIND) == len(DIFFERENTIATED) + len(REFUSED) + len(ERRORS) + len(ZERO) > 145


@pytest.mark.parametrize("name", DERIVATIVES)
def test_no_derivative_is_lost(name):
    check_derivatives(name, KIND if name == "grad" else some_ways(DERIVATIVES, name, 15))


@pytest.mark.slow
@pytest.mark.parametrize("name", DERIVATIVES)
def test_no_derivative_is_lost_in_any_way(name):
    check_derivatives(name, KIND)


def check_derivatives(name, ways):
    for code, kind in ways.items():
        got = outcome(DERIVATIVES[name](function(code)), AT)
        if kind in ("refused", "error"):
            assert isinstance(got, Exception), (code, got)
            assert kind == "error" or is_taught(got), (code, got)
        else:
            assert not isinstance(got, Exception), (code, got)
            assert np.shape(got) == ()
            assert got == pytest.approx(expected(code, kind), rel=1e-6), code


@pytest.mark.parametrize("name", one_in(4, [*DERIVATIVES, *BODIES]))
def test_no_derivative_is_lost_in_adopted_code(name):
    check_adopted(name, some_ways(DERIVATIVES | BODIES, name, 22))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DERIVATIVES, *BODIES])
def test_no_derivative_is_lost_in_adopted_code_in_any_way(name):
    check_adopted(name, KIND)


def check_adopted(name, ways):
    for code, kind in ways.items():
        got = outcome((DERIVATIVES | BODIES)[name](function(code, True)), AT)
        if not isinstance(got, Exception):
            # Differences of single precision would be rough, as are those of an iterative solver.
            wanted = expected(code.replace("float32", "float64"), kind)
            rel = 1e-4 if "minimize" in code else 1e-6
            assert got == pytest.approx(wanted, rel=rel), code
        elif name in DERIVATIVES:
            assert kind not in ("zero", "differentiated"), (code, got)


@pytest.mark.parametrize("name", BODIES)
def test_no_derivative_is_lost_in_a_body(name):
    check_body(name, some_ways(BODIES, name, 23))


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_no_derivative_is_lost_in_a_body_in_any_way(name):
    check_body(name, KIND)


def check_body(name, ways):
    for code, kind in ways.items():
        got = outcome(BODIES[name](function(code)), AT)
        if not isinstance(got, Exception):
            assert kind in ("differentiated", "zero"), (code, got)
            assert got == pytest.approx(expected(code, kind), rel=1e-6), code


@pytest.mark.parametrize("start", one_in(4, range(4)))
def test_under_jit_alone_a_number_is_a_guard(start):
    for code in list(KIND)[start::4]:
        f = fg.jit(function(code))
        for x in (1.3, 0.7, 1.3, 2.5):
            got = outcome(f, x)
            if not isinstance(got, Exception):
                assert got == pytest.approx(plain(code, x), rel=1e-6), (code, x)  # as float32
    f = fg.jit(fg.adopt(lambda x: math.sin(x), False))
    assert [f(x) for x in (0.5, 0.7, 0.5)] == [np.sin(x) for x in (0.5, 0.7, 0.5)]


# -- messages --------------------------------------------------------------------------------------
def lost(f):
    """The message of the TypeError where f takes a number out of its argument."""
    error = outcome(fg.grad(fg.adopt(f, False)), AT)
    return next(text for kind, text in texts(error) if "number would lose" in text)


def test_the_message_names_the_line_and_the_function_to_write():
    def f(x):
        return x * math.sin(x)  # here

    text = lost(f)
    assert "write np.sin in the place of math.sin" in text
    assert "float(fg.stop_gradient(x)) if the derivative is meant to be zero" in text
    assert text.endswith("return x * math.sin(x)  # here")


def stores(x):
    a = np.zeros(2)
    a[0] = x
    return a[0] * x


def test_each_way_has_its_advice():
    advice = {
        "write np.atan2 in the place of math.atan2": lambda x: math.atan2(x, 1.0),
        "write np.exp in the place of cmath.exp": lambda x: abs(cmath.exp(x)) * x,
        "write np.sum in the place of math.fsum": lambda x: math.fsum([x, x]),
        "write scipy.special.gammaln in the place of math.lgamma": lambda x: math.lgamma(x),
        "write np.mean in the place of statistics.fmean": lambda x: statistics.fmean([x, x]),
        r"leave out float\(\)": lambda x: float(x),
        r"complex\(fg.stop_gradient\(x\)\)": lambda x: complex(x).real,
        r"write x = x.at\[i\].set\(v\) in the place of x\[i\] = v": stores,
        "by fg.primitive or fg.custom_vjp": lambda x: sum(map(math.sin, [x])),
    }
    for text, f in advice.items():
        assert re.search(text, lost(f)), lost(f)
    with pytest.raises(TypeError, match=r"write x.astype\(np.float32\) in the place of np.float32"):
        fg.grad(fg.adopt(lambda x: x * np.float32(x), False))(AT)


def test_the_line_is_the_users_where_a_library_asks():
    text = lost(lambda x: statistics.mean([x, x]))
    assert "test_leaks.py" in text.splitlines()[-1]
    text = lost(lambda x: scipy.integrate.quad(lambda t: t * x, 0.0, 1.0)[0])
    assert "test_leaks.py" in text.splitlines()[-1]


# -- dependence ------------------------------------------------------------------------------------
def test_what_is_not_differentiated_answers():
    assert fg.grad(lambda x, y: x * float(y))(2.0, 3.0) == 3.0
    assert fg.grad(lambda x, y: x * math.sin(y), 0)(2.0, 3.0) == math.sin(3.0)
    assert fg.grad(lambda x, n: x * float(n), 0)(2.0, 3) == 3.0
    assert fg.grad(lambda x: fg.grad(lambda y: y * float(round(x)))(x) * x)(2.0) == 2.0
    assert fg.grad(lambda v: v[0] * float(np.argmax(v)))(np.array([1.0, 2.0])).tolist() == [1, 0]
    assert fg.vmap(lambda x, y: x * float(y), (0, None))(np.ones(2), 3.0).tolist() == [3, 3]


def plain_code(f):
    return fg.adopt(f, False)


@pytest.mark.filterwarnings("ignore:.*by steps alone")
@pytest.mark.parametrize(
    "rounded",
    [lambda x: round(x, 2), lambda x: np.round(x, 2), lambda x: np.around(1j * x, 2).imag],
)
def test_a_rounding_to_decimals_warns_where_it_is_differentiated(rounded):
    for slope in (fg.grad(rounded), fg.jit(fg.grad(rounded)), fg.grad(fg.jit(rounded))):
        with pytest.warns(UserWarning, match="rounded to 2 decimals has derivative zero"):
            assert slope(0.123) == 0.0
    for constant in (lambda x: x * rounded(0.123), lambda x: x * rounded(fg.stop_gradient(x))):
        assert fg.grad(constant)(0.123) == pytest.approx(0.12)
    assert fg.jit(rounded)(0.123) == pytest.approx(0.12)
    assert fg.grad(lambda x: x * round(x, -1) + round(x))(12.3) == 10.0


def test_the_trace_around_is_not_forgotten():
    with pytest.raises(TypeError, match="number would lose"):
        fg.grad(plain_code(lambda x: fg.grad(plain_code(lambda y: y * float(x)))(1.0) * x))(2.0)
    with pytest.raises(TypeError, match="number would lose"):
        fg.grad(plain_code(lambda x: fg.jit(plain_code(lambda y: y * float(y)))(x)))(2.0)
    with pytest.raises(TypeError, match="number would lose"):
        fg.jit(fg.grad(plain_code(lambda x: x * float(x))))(2.0)
    with pytest.raises(TypeError, match="number would lose"):
        fg.grad(plain_code(lambda x: float(fg.grad(lambda y: y * y * x)(1.0)) * x))(2.0)


@pytest.mark.parametrize(
    ("slope", "caught"),
    one_in(
        3,
        itertools.product(
            [
                fg.grad,
                lambda f: fg.jit(fg.grad(f)),
                lambda f: fg.grad(fg.jit(f)),
                lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1],
                lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
                fg.hessian,
                lambda f: fg.grad(lambda x: fg.grad(f)(x)),
            ],
            [TypeError, Exception, BaseException],
        ),
    ),
)
def test_a_refusal_that_the_function_catches_is_raised_when_it_returns(slope, caught):
    def f(x):
        try:
            return x * math.exp(x)
        except caught:
            return x

    with pytest.raises(TypeError, match=r"write np.exp in the place of math.exp"):
        slope(fg.adopt(f, False))(AT)
    assert slope(f)(AT) == pytest.approx(slope(fg.adopt(f))(AT))
    assert f(AT) == AT * math.exp(AT)
    assert fg.jit(f)(AT) == f(AT)
    assert fg.grad(fg.adopt(f))(AT) == pytest.approx((1 + AT) * math.exp(AT))


def test_an_array_may_be_tried_as_a_number():
    def f(x):
        try:
            return float(x)
        except TypeError:
            return np.sum(x**2)

    np.testing.assert_array_equal(fg.grad(f)(np.array([1.0, 2.0])), [2.0, 4.0])


def test_a_value_whose_trace_has_ended_is_a_number():
    kept = []
    fg.grad(lambda x: kept.append(x * x) or x)(3.0)
    assert float(kept[0]) == 9.0
    assert pickle.loads(pickle.dumps(kept[0] + 0)).dtype == float
    # Asked before and after: the answer follows the trace.
    asked = []

    def f(x):
        asked.append(outcome(float, x))
        kept.append(x)
        return x

    with pytest.raises(TypeError, match="float"):  # though f has caught it
        fg.grad(plain_code(f))(4.0)
    assert isinstance(asked[0], TypeError)
    assert float(kept[-1]) == 4.0


def test_questions_along_a_chain_take_linear_time():
    visited = []

    def f(x):
        y = fg.stop_gradient(x)
        for _ in range(20_000):
            y = y + 1.0
            float(y)
            visited.append(y)
        return x * y

    assert fg.grad(f)(1.0) == 20_001.0


def test_jvp_and_its_like_warn_as_grad_does():
    for call in (
        lambda: fg.jvp(lambda x: int(x) * 1.0, (2.0,), (1.0,))[1],
        lambda: fg.vjp(lambda x: int(x) * 1.0, 2.0)[1](1.0)[0],
        lambda: fg.linearize(lambda x: int(x) * 1.0, 2.0)[1](1.0),
        lambda: fg.jacobian(lambda x: int(x) * 1.0)(2.0),
        lambda: fg.value_and_grad(lambda x: int(x) * 1.0)(2.0)[1],
    ):
        with pytest.warns(UserWarning, match="does not depend on the arguments") as said:
            assert call() == 0.0
        assert said[0].filename == __file__
    assert fg.jvp(lambda x: (x, 7.0), (3.0,), (1.0,)) == ((3.0, 7.0), (1.0, 0.0))
    assert fg.hvp(lambda x: 3 * x, (2.0,), (1.0,)) == 0.0


# -- the table in the documentation --------------------------------------------------------------
PAGE = Path(__file__).parents[2] / "docs" / "what_python_asks.md"
WORDS = {
    "differentiated": "differentiated",
    "refused": "TypeError",
    "error": "error",
    "zero": "derivative 0",
}


def under_jit(code):
    f = fg.jit(function(code))
    answers = [outcome(f, x) for x in (1.3, 0.7)]
    if any(isinstance(answer, Exception) for answer in answers):
        return "error"
    assert answers == pytest.approx([plain(code, x) for x in (1.3, 0.7)], rel=1e-12)
    return "value"


def in_adopted_code(code):
    got = outcome(fg.grad(function(code, True)), AT)
    if isinstance(got, Exception):
        return "TypeError" if is_taught(got) else "error"
    zero = KIND[code] == "zero"
    assert got == pytest.approx(expected(code, KIND[code]), rel=1e-6), code
    return "derivative 0" if zero else "differentiated"


def test_the_table_says_what_comes_back():
    text = PAGE.read_text()
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \| (.+?) \|", text, re.MULTILINE)
    assert len(rows) >= 40
    for code, adopted, said, jitted in rows:
        if code == "fractions.Fraction(x)" and sys.version_info >= (3, 14):
            adopted = (
                "TypeError"  # Python asks for the ratio, and funcgrad's error reaches the user
            )
        assert adopted == in_adopted_code(code), code
        assert said == WORDS[KIND[code]], code
        assert jitted == under_jit(code), code


# -- refusals that code catches ----------------------------------------------------------------------
def of_fields(x):
    a = np.zeros(2, dtype=[("x", float)])
    with contextlib.suppress(Exception):
        a["x"] = x
    return a["x"].sum() + x


def of_text(x):
    try:
        return x * x * len(f"{x:.2f}")
    except TypeError:
        return 3 * x


def of_counts(x):
    try:
        return x * int(x)
    except TypeError:
        return x


def mapped(f):
    return lambda x: fg.vmap(f)(np.array([x, 2 * x]))


@pytest.mark.parametrize(
    "transform", [fg.grad, fg.jit, fg.jacfwd, mapped, lambda f: fg.jit(mapped(f))]
)
def test_the_refusal_of_an_array_that_adopted_code_catches_is_raised(transform):
    """It was forgotten, so that the function returned what its handler gave."""
    with pytest.raises(TypeError, match="storing it in a NumPy array would cut its gradient"):
        transform(of_fields)(1.3)


@pytest.mark.parametrize("f", [of_text, of_counts])
def test_the_refusal_of_a_text_in_a_body_that_the_body_catches_is_raised(f):
    with pytest.raises(TypeError, match="expected a number, but 'carry' has none"):
        fg.grad(in_scan(f))(1.3)
    assert fg.grad(f)(1.3) == pytest.approx((f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6)
