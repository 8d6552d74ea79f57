"""SymPy's expression has the value of the program, and its derivative is the gradient."""

import cmath
import sys

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.sympy_ import to_sympy
from tests.ops.samples import SAMPLES
from tests.show.programs import ALL, nested_calls, values_of
from tests.show.test_json import sample_expr

sympy = pytest.importorskip("sympy")
X, Y = fg.var("x"), fg.var("y")
AT = {"x": 0.7, "y": 1.3}

SCALARS = [
    (name, i)
    for name in SAMPLES
    for i in range(len(SAMPLES[name]))
    if all(np.ndim(a) == 0 for a in SAMPLES[name][i].args) and not sample_expr(name, i).shape
]
ORDERED = ["maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal"]
"""Operations of complex numbers in NumPy, whose order SymPy does not have."""


@pytest.mark.parametrize(("name", "i"), SCALARS)
def test_every_operation_on_numbers_has_its_value(name, i):
    expr, (args, _) = sample_expr(name, i), SAMPLES[name][i]
    try:
        found = to_sympy(expr)
    except ValueError as error:
        found = str(error)
    if isinstance(found, str):
        assert found.startswith("to_sympy: expected numbers and operations entry by entry")
        return
    values = {
        sympy.Symbol(f"x{k}"): sympy.sympify(np.asarray(a).item()) for k, a in enumerate(args)
    }
    if name in ORDERED and any(np.iscomplexobj(arg) for arg in args):
        with pytest.raises((ValueError, TypeError), match=r"not comparable|Invalid comparison"):
            found.subs(values)
        return
    got = found.subs(values)
    expected = fg.evaluate(expr, {f"x{k}": a for k, a in enumerate(args)})
    if isinstance(expected, bool):
        assert bool(got) is expected
    else:
        assert cmath.isclose(complex(got), expected, rel_tol=1e-12, abs_tol=1e-14)


@pytest.mark.parametrize("at", [-2.5, -0.75, 0.0, 0.75, 2.5, 3.0])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.astype(int),
        lambda x: x.astype(int) / 2,
        lambda x: x.astype(bool),
        lambda x: (x > 0) * x,
        lambda x: x.astype(bool) * 3.0,
        lambda x: np.trunc(x / 2),
        lambda x: np.fmod(x, 2.0),
        np.sinc,
        lambda x: x.astype(np.float32) * 2,
    ],
)
def test_casts_and_rounding_have_their_values(f, at):
    found = to_sympy(f(X)).subs("x", sympy.Float(at))
    expected = f(np.float64(at)).item()
    if isinstance(expected, bool):
        assert bool(found) is expected
    else:
        assert float(found) == pytest.approx(expected, rel=1e-15, abs=1e-16)


PROGRAMS = [
    np.sqrt(X**2 + np.exp(X**2)) + np.cos(X**2 + np.exp(X**2)) * Y,
    fg.sigmoid(X) * np.log1p(Y) / np.hypot(X, Y) - np.arctan2(X, Y),
    np.where(X > Y, X**3, np.sin(Y) * X) + np.maximum(X, Y) ** 2,
    np.tanh(0.1 * X) ** Y - np.logaddexp(X, Y) + fg.softplus(X) + 2.0**X,
]


@pytest.mark.parametrize("expr", PROGRAMS)
def test_the_derivative_by_sympy_is_the_gradient(expr):
    formula = to_sympy(expr)
    assert float(formula.subs(AT)) == pytest.approx(expr(**AT), rel=1e-12)
    for name, slope in fg.gradient(expr).items():
        expected = slope(**{key: AT[key] for key in variables(slope)})
        assert float(formula.diff(sympy.Symbol(name)).subs(AT)) == pytest.approx(
            expected, rel=1e-12
        )
        assert float(to_sympy(slope).subs(AT)) == pytest.approx(expected, rel=1e-12)


def test_entries_of_arrays_are_one_symbol():
    a, b = fg.var("a", (3, 4)), fg.var("b", (4,))
    x, y = sympy.symbols("a b")
    assert to_sympy(a * b + 2) == x * y + 2
    assert to_sympy(fg.const(np.full((2,), 3.0)) * X) == 3 * sympy.Symbol("x")
    assert to_sympy(fg.const(np.inf)) is sympy.oo
    assert to_sympy(fg.const(np.nan)) is sympy.nan
    assert to_sympy(fg.const(0.1) * X).args[0] == sympy.Float(0.1)
    assert to_sympy(1j * X) == sympy.I * sympy.Symbol("x")


def test_what_sympy_has_not_is_refused():
    with pytest.raises(ValueError, match=r"but got 'sum' of float64\[3\]; use to_latex"):
        to_sympy(np.sum(fg.var("a", (3,))))
    with pytest.raises(ValueError, match=r"numbers as constants, but got an array of float64\[2\]"):
        to_sympy(X * np.array([1.0, 2.0]))
    with pytest.raises(
        TypeError, match="to_sympy: expected a function or an expression, but got float"
    ):
        to_sympy(1.0)


def test_what_is_too_deep_or_too_large_is_refused_at_once():
    deep = wide = X
    for _ in range(400):
        deep = np.sin(deep)
    for _ in range(60):
        wide = np.sin(wide) + wide
    with pytest.raises(ValueError, match="at most 150 parts within parts, but got 401"):
        to_sympy(deep)
    with pytest.raises(ValueError, match="at most 20000 parts written out, but got more"):
        to_sympy(wide)


def test_without_sympy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ImportError, match="it is not installed; run: pip install sympy"):
        to_sympy(X)


WRITTEN_OUT = [
    "cond",
    "switch",
    "call",
    "call that keeps",
    "calls in calls",
    "a rule of two results",
]


@pytest.mark.parametrize("name", [*WRITTEN_OUT, *[f"gradient of {n}" for n in WRITTEN_OUT]])
def test_calls_and_branches_are_written_out(name):
    expr = ALL[name]
    assert float(to_sympy(expr).subs(AT)) == pytest.approx(expr(**values_of(expr)), rel=1e-12)


@pytest.mark.parametrize("name", [name for name in ALL if "scan" in name or "while" in name])
def test_programs_with_loops_are_refused_in_a_line(name):
    with pytest.raises(ValueError, match=r"^to_sympy: expected ") as caught:
        to_sympy(ALL[name])
    _, place = str(caught.value).splitlines()
    assert place.startswith("  at test_sympy.py:")


def test_loops_are_refused_by_their_names():
    with pytest.raises(ValueError, match="but got 'loop'; use to_latex, or"):
        to_sympy(ALL["scan"])
    with pytest.raises(ValueError, match="but got 'implicit_root'; use"):
        to_sympy(ALL["a root"])
    with pytest.raises(
        ValueError, match="at most 20000 nodes where calls and branches are written"
    ):
        to_sympy(nested_calls(60))


@pytest.mark.parametrize(
    "call",
    [
        lambda s, x: s * x,
        lambda s, x: x * s,
        lambda s, x: s == x,
        lambda s, x: s**x,
        lambda s, x: sympy.sin(x),
        lambda s, x: sympy.sympify(x),
        lambda s, x: x(x=s),
    ],
)
def test_expressions_and_sympys_values_do_not_mix(call):
    with pytest.raises(
        TypeError, match=r"expected a .*but got .*write fg\.var\('x'\) for .*symbol"
    ) as refused:
        call(sympy.Symbol("s"), fg.var("x"))
    assert "at test_sympy.py" in str(refused.value)


def test_the_cube_root_of_a_negative_number_is_real():
    x = fg.var("x")
    written = fg.to_sympy(np.cbrt(x) + 1)
    assert float(written.subs("x", -8.0)) == pytest.approx(-1.0)
    assert float(written.subs("x", 27.0)) == pytest.approx(4.0)
