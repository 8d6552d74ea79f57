"""Expressions themselves: how they are made, and that they stay as they are made."""

import pickle

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import expr as expr_module
from funcgrad.expr import Expr


def test_the_class_itself_makes_no_expression():
    with pytest.raises(TypeError, match=r"Expr: expected an operation .* write fg.var\('x'\)"):
        Expr()
    with pytest.raises(TypeError, match="the class was called"):
        Expr(np.add, (), ())


@pytest.mark.parametrize("name", ["op", "args", "shape", "_key", "_value", "new"])
def test_every_assignment_is_refused(name):
    x = fg.var("x")
    with pytest.raises(AttributeError, match=f"immutable, but '{name}' was assigned to"):
        setattr(x, name, 1)
    with pytest.raises(AttributeError, match=f"immutable, but '{name}' was deleted"):
        delattr(x, name)
    assert not hasattr(x, "__dict__")


def test_an_assigned_shape_says_what_to_write():
    with pytest.raises(AttributeError, match=r"write x = x.reshape\(shape\)\n  at test_expr.py"):
        fg.var("x", 2).shape = (2, 1)


def test_the_table_of_operations_is_handed_over_once_and_read_only():
    table = expr_module.operation_table
    with pytest.raises(RuntimeError, match="handed over already"):
        expr_module.assemble(table, lambda: table)
    assert expr_module.operation_table is table
    for part in table:
        assert part
        with pytest.raises(TypeError, match="does not support item assignment"):
            part["sin"] = None


def test_what_is_stored_names_the_room_alone():
    x = fg.var("x")
    function, _ = (x * np.sin(x)).__reduce__()
    assert (function.__module__, function.__qualname__) == ("funcgrad.expr", "_from_rows")
    assert (Expr.__module__, Expr.__qualname__) == ("funcgrad.expr", "Expr")
    assert pickle.loads(pickle.dumps(x * np.sin(x))).key == (x * np.sin(x)).key


def test_a_formula_reads_as_it_is_written():
    x = fg.var("x")
    y = x * np.sin(x)
    assert str(y) == repr(y) == f"{y}" == "%s" % y == "x*sin(x)"  # noqa: UP031
    with pytest.raises(
        TypeError, match=r"a format: expected a number, .* repr\(e\) for its formula"
    ):
        f"{y:.2f}"
    assert f"{y:>12}|{y:<12}|{y:*^12}|{y:9}" == "    x*sin(x)|x*sin(x)    |**x*sin(x)**|x*sin(x) "
    assert f"{fg.const(3.0):5}" == f"{3.0:5}"


def test_what_is_said_of_an_update_asks_nothing():
    said = []

    def f(x, n):
        said.append(repr(x.at) + repr(x.at[n]))
        return x.at[n].set(0.0)

    for n in (1, 2):
        fg.trace(f, np.ones(3), n)
    assert said[0] == said[1]
    assert said[0].startswith("(‹x›).at; index it")
    assert "(‹x›).at[‹n›]; say how" in said[0]


def test_a_formula_and_a_gradient_map_take_their_values_in_a_dict():
    x, y = fg.vars("x y")
    at = {"x": 3.0, "y": 2.0, "unused": 0.0}
    assert (x * y)(at) == (x * y)(**at) == 6.0
    assert (x * y)({x: 3.0}, y=4.0) == 12.0
    assert fg.backprop(x * y)(at)[x] == 2.0
    assert fg.var("self")(self=1.0) == 1.0


def test_expressions_as_keys():
    assert {fg.var("x"): 1}[fg.var("x")] == 1
    assert len({fg.var("x"), fg.var("x"), fg.var("y")}) == 2
    assert not bool(fg.var("x") != fg.var("x"))
    assert not bool(fg.var("x") == fg.var("y"))
    with pytest.raises(TypeError, match=r"bool\(\): expected a number"):
        bool(fg.var("x") + 1 == fg.var("y"))
    nan = fg.const(np.nan)
    assert not bool(nan * 1 == nan * 1)


def test_questions_of_untraced_constants_take_linear_time():
    x = fg.const(1.0)
    for _ in range(3000):
        x = x + 1.0
        assert x > 0
    walked = []
    original = fg.expr.subexpressions
    try:
        fg.expr.subexpressions = lambda *roots: walked.append(1) or original(*roots)
        float(x)
    finally:
        fg.expr.subexpressions = original
    assert not walked


def test_a_variable_of_integers_takes_whole_numbers_that_it_holds():
    n = fg.var("n", dtype=int)
    assert n(n=2.0) == n(n=True) + 1 == 2
    with pytest.raises(TypeError, match=r"evaluate: expected int64.* for n, but got 2\.7"):
        n(n=2.7)
    with pytest.raises(TypeError, match="but got 1000"):
        fg.var("n", dtype=np.int8)(n=1000)
    with pytest.raises(TypeError, match="evaluate: expected"):
        fg.var("n", 2, np.int8)(n=np.array([1, 1000]))
    with pytest.raises(TypeError, match="evaluate: expected"):
        fg.var("n", 2, int)(n=np.array([1.0, 2.0]))


def test_variables_of_strange_shapes_and_dtypes():
    assert fg.var("v", np.int64(3)).shape == (3,)
    assert fg.var("v", [2, np.int8(3)]).shape == (2, 3)
    for shape in (1.5, (2.0,), "ab"):
        with pytest.raises(TypeError, match=r"var: expected a length .* write var\('v', 3\)"):
            fg.var("v", shape)
    for dtype in (object, "U5"):
        with pytest.raises(TypeError, match="var: expected a dtype of numbers"):
            fg.var("v", (), dtype)


def test_a_formula_hashes_by_its_key():
    x = fg.var("x")
    assert len({x, x + 1, fg.var("x") + 1}) == 2
    assert x.graph[x].op.name == "input"
    # A gradient map is asked by key, also inside a trace.
    for value in np.linspace(0.5, 10, 20):
        assert fg.grad(lambda x: fg.backprop(x**2)[x])(value) == 2.0
