"""steps tells backpropagation in words: its numbers are those of grad, for scalars and arrays."""

import re

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in
from tests.show.programs import ALL, values_of

x, y = fg.vars("x y")


def test_a_program_with_two_paths():
    a, b, c = fg.vars("a b c")
    told = fg.steps((a * b + c) * np.maximum(a, b), a=2.0, b=1.0, c=0.5)
    lines = str(told).splitlines()
    assert lines[:4] == [
        "Forward: each node from its operands",
        "  a = 2",
        "  b = 1",
        "  v2 = a*b = 2",
    ]
    assert "  visit v4 = v2 + c: v2 gets 2; c gets 2  (add distributes)" in lines
    assert (
        "  visit v2 = a*b: a gets 2 · b = 2, total 4.5; b gets 2 · a = 4, total 4  (multiply swaps)"
        in lines
    )
    assert any(
        re.search(r"visit v5 = maximum\(a, b\): a gets 2\.5; b gets 0  \(max routes\)", line)
        for line in lines
    )
    assert repr(told) == str(told)
    assert isinstance(told, str)


def test_the_laws_of_the_simplifier_are_named():
    lines = str(fg.steps(lambda x: x * np.exp(0 * x) + 3 * x, x=2.0)).splitlines()
    assert any("since x*1 = x" in line for line in lines)
    assert any("since c*x + x = " in line or "since x*0 = 0" in line for line in lines)
    assert "arithmetic" in str(fg.steps(x**3, x=2.0))


def test_arrays_are_told_by_their_pullbacks():
    told = str(fg.steps(lambda w, x: np.sum(w * x), w=np.array([1.0, 2.0]), x=3.0))
    assert "w gets g*v2 = [3., 3.]" in told
    assert "x gets sum(g) = 3  (broadcast sums)" in told
    assert "  df/dx = sum(w) = 3" in told


@pytest.mark.parametrize(
    "name", one_in(3, [name for name, e in ALL.items() if not e.shape and e.dtype.kind == "f"])
)
def test_the_gradient_is_that_of_grad(name):
    e = ALL[name]
    at = values_of(e)
    told = str(fg.steps(e, at)).splitlines()
    for variable, slope in fg.gradient(e).items():
        if slope.shape:
            continue
        (line,) = [line for line in told if line.startswith(f"  df/d{variable} = ")]
        said = line.removesuffix(", the value of").split(" = ")[-1]
        assert float(said) == pytest.approx(slope(**at), rel=1e-4, abs=1e-6)


def test_names_that_a_user_gave():
    t1 = fg.name(np.exp(x), "t1")
    told = str(fg.steps(t1 * t1 + fg.var("v1"), x=0.0, v1=1.0))
    assert "  t1 = exp(x) = 1" in told
    assert "visit t1 = exp(x): x gets 2 · t1 = 2  (exp is its own derivative)" in told
    assert "node2 = t1*t1" in told  # v2 could be taken for a variable


@pytest.mark.parametrize("at", [0.0, -0.0, np.inf, np.nan])
def test_special_values(at):
    told = str(fg.steps(lambda x: np.sqrt(x * x) / x, x=at))
    assert "  v3 = v2/x = nan" in told


def test_what_is_refused():
    with pytest.raises(TypeError, match="steps: expected a function or an expression, but got int"):
        fg.steps(3)
    with pytest.raises(TypeError, match="steps: expected values for x, but got none"):
        fg.steps(x * 2)
    with pytest.raises(TypeError, match="steps: expected a real number as result, but got float64"):
        fg.steps(lambda x: x * 2, x=np.ones(2))
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        fg.steps(lambda x, y: x * y, y=2.0)
    with pytest.raises(TypeError, match="returns one number, but got 2 results"):
        fg.steps(lambda x: (x, x), x=2.0)
    long = x
    for _ in range(300):
        long = np.sin(long)
    with pytest.raises(ValueError, match="steps: expected at most 200 nodes, but got 301"):
        fg.steps(long, x=1.0)
    assert str(fg.steps(fg.const(2.0))).endswith("  there are no variables")
    assert "df/dx = cos(x) = 1" in str(fg.steps(np.sin, 0.0))
    assert str(fg.steps(np.sin, x=0.0)) == str(fg.steps(np.sin, 0.0))


def test_the_derivatives_are_of_the_result_by_its_name():
    loss = fg.name(x * y, "loss")
    assert "  dloss/dx = y = 3\n" in str(fg.steps(loss, x=2.0, y=3.0))


def test_numbers_that_broadcast_are_written_as_numbers():
    told = str(fg.steps(lambda v: np.sum(v**2), v=np.array([-1.0, 2.0])))
    assert "  v3 = v**2 = [1., 4.]\n" in told
    assert "g = [1., 1.]: v gets 2*g*v = [-2.,  4.]  (power rule)\n" in told
    assert "broadcast_to" not in told
    assert "nan" not in told
    explained = str(fg.explain(np.sum(fg.var("v", 2) ** 2), v=np.array([-1.0, 2.0])))
    assert "v3: z0 += 2*v0*z3 = [-2.,  4.]  (power rule)" in explained


def test_rewrites_of_guards_shapes_and_orders_are_not_listed():
    told = str(fg.steps(x**3, x=2.0))
    assert told.splitlines()[-3:] == [
        "  df/dx = 3*x**2 = 12",
        "    3.0 - 1 -> 2.0, since arithmetic",
        "    1*3*x**2 -> 3*x**2, since x*1 = x",
    ]


def test_the_gradient_that_a_rule_names_is_told():
    told = str(fg.steps(lambda w: np.tanh(w @ w), w=np.array([0.1, 0.2]))).splitlines()
    assert any([line.startswith("  visit v2 = tanh(v1): v1 gets 1 · (1 - v2**2)") for line in told])
    assert any(
        [line.startswith("  visit v1 = w @ w, g = 0.997504: w gets g*w = ") for line in told]
    )
