"""Edges with their linear maps; sums over paths of local derivatives are derivatives."""

import operator

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autodiff import edges as edges_module
from funcgrad.linear import Identity, Quotient

x, y = fg.vars("x y")
v = fg.var("v", 3)
PATHS = fg.Semiring(operator.add, operator.mul, 1.0)
PROGRAMS = [
    np.sin(x) * y,
    np.exp(x) * np.exp(x) / y,
    np.maximum(x, y) ** 2 * x,
    np.where(x > y, x * y, np.log(x)),
    (x**y - np.tanh(x * x)) * 3.0,
    np.hypot(x, y) / np.arctan2(y, x),
    fg.const(2.0) * x,
]


@pytest.mark.parametrize("e", PROGRAMS, ids=repr)
def test_path_sums_of_local_derivatives_are_the_gradient(e):
    sums = fg.sum_product(e, PATHS, fg.local)
    slopes = fg.gradient(e)
    for a, b in [(0.7, 1.3), (1.3, 0.7), (2.0, 2.0)]:
        for name, slope in slopes.items():
            found = fg.evaluate(fg.const(sums[fg.var(name)]), x=a, y=b)
            np.testing.assert_allclose(found, slope(x=a, y=b), rtol=1e-14)


@pytest.mark.parametrize(
    "e", [*PROGRAMS, np.sum(np.tanh(v) * x), np.linalg.norm(v @ v * v)], ids=repr
)
def test_the_maps_accumulate_to_the_gradient(e):
    cotangents = {e.key: fg.const(1.0)}
    for edge in reversed(fg.edges(e)):
        assert edge.child.args[edge.place].key == edge.parent.key
        term = edge.map.transpose(cotangents[edge.child.key])
        parent = edge.parent.key
        cotangents[parent] = cotangents[parent] + term if parent in cotangents else term
    values = {"x": 0.7, "y": 1.3, "v": np.array([1.0, 2.0, 3.0])}
    for name, slope in fg.gradient(e).items():
        shape = 3 if name == "v" else ()
        found = cotangents[fg.var(name, shape).key](**values)
        np.testing.assert_allclose(found, slope(**values), rtol=1e-14)


def test_what_has_no_derivative_has_no_edge():
    n = fg.var("n", (), int)
    found = fg.edges(np.where(x > 0, x * 2.0 * n, np.floor(x)))
    assert [repr(edge.parent) for edge in found] == [
        "x",
        "x*2",
        "n.astype(float64)",
        "x*2*n",
        "floor(x)",
    ]
    assert all(edge.parent.dtype == float for edge in found)
    assert fg.edges(x) == ()
    assert fg.edges(fg.const(1.0)) == ()


def test_what_is_computed_of_constants_alone_has_no_edge():
    found = fg.edges(1 / (1 + np.exp(-(v**3))))
    assert all(fg.gradient(np.sum(edge.parent), v) is not None for edge in found)
    assert [repr(edge.parent) for edge in found] == [
        "v",
        "v**3",
        "-v**3",
        "exp(-v**3)",
        "1 + exp(-v**3)",
    ]


def test_what_is_computed_of_constants_alone_has_no_cotangent():
    e = np.sum(v**2 * np.exp(fg.const(np.zeros(3))))
    assert [str(key) for key in fg.backprop(e)] == ["v", "v3", "v6", "v7"]
    *_, last = fg.backprop_steps(e)
    assert last == fg.backprop(e)
    point = {"v": np.array([-1.0, 0.0, 2.0])}
    assert all(np.isfinite(z).all() for z in fg.backprop(e)(point).values())


def test_an_edge_is_printed_without_an_address():
    for edge in fg.edges(np.sum(np.sin(v)[:2] * x) + np.prod(v.reshape(3, 1))):
        assert " at 0x" not in repr(edge.map)
    assert repr(fg.edges(v[1])[0].map) == "Structural(getitem_edge)"


def test_edges_print_as_a_table():
    assert repr(fg.edges(np.sin(x) * y)).splitlines() == [
        "node      operand  derivative",
        "sin(x)    x        cos(x)",
        "sin(x)*y  sin(x)   y",
        "sin(x)*y  y        sin(x)",
    ]
    rows = [row.split("  ")[-1].strip() for row in repr(fg.edges(np.sum(v * x))).splitlines()]
    assert rows[1] == "z -> sum(z)"
    assert rows[3] == "z -> v*z"
    long = x
    for _ in range(50):
        long = np.sin(long)
    assert repr(fg.edges(long)).endswith("\n… 10 more")


def test_named_nodes_are_called_by_their_names():
    a = fg.name(x**2, "a")
    b = fg.name(np.exp(a), "b")
    root = fg.name(np.sqrt(a + b), "root")
    assert repr(fg.edges(root)).splitlines() == [
        "node                operand  derivative",
        "a = x**2            x        2*x",
        "b = exp(a)          a        b",
        "a + b               a        1.0",
        "a + b               b        1.0",
        "root = sqrt(a + b)  a + b    0.5/root",
    ]
    assert repr(fg.edges(root)[1]) == "b = exp(a)  a  b"
    one = fg.name(fg.const(1.0), "one")
    assert repr(fg.edges(one + x)) == "node   operand  derivative\n1 + x  x        1.0"
    p = fg.name(v * 2, "p")
    assert repr(fg.edges(np.tanh(p))[1]) == "tanh(p)  p  z -> z/cosh(p)**2"
    assert repr(fg.edges(np.sin(fg.name(x * y, "not a name")))[2]) == "sin(x*y)  x*y  cos(x*y)"


def test_local_derivatives_of_a_long_chain_take_linear_time():
    e = x
    for _ in range(300):
        e = np.sin(e) * x
    sums = fg.sum_product(e, PATHS, fg.local)
    assert np.isfinite(sums[x](x=0.5))


def test_the_derivative_of_an_operation_is_simplified_once(monkeypatch):
    asked = []
    monkeypatch.setattr(edges_module, "simplify", lambda e: asked.append(e) or fg.simplify(e))
    edges_module._slope_on_variables.cache_clear()
    e = x
    for _ in range(20):
        e = np.sin(e) * y
    found = fg.edges(e)
    assert len(found) == 60
    assert len(asked) == 3
    assert [repr(edge.local) for edge in found[:3]] == ["cos(x)", "y", "sin(x)"]


def test_derivatives_differ_by_constants_types_and_equal_operands():
    u = fg.var("u", (), np.float32)
    e = x**2 + x**3 + x * x + x * y + x / 2 + x / -2 + u**3 * u
    found = [edge for edge in fg.edges(e) if edge.child.op.name in ("power", "multiply", "divide")]
    slopes = {}
    for edge in found:
        slopes.setdefault(repr(edge.child), []).append(repr(edge.local))
    assert slopes == {
        "x**2": ["2*x"],
        "x**3": ["3*x**2"],
        "x*x": ["x", "x"],
        "x*y": ["y", "x"],
        "x/2": ["0.5"],
        "x/(-2)": ["-0.5"],
        "u**3": ["3*u**2"],
        "u**3*u": ["u", "u**3"],
    }
    assert {repr(edge.child): edge.local.dtype for edge in found}["u**3"] == np.float32


def test_arrays_have_no_local_derivative():
    assert fg.edges(np.sum(v))[0].local is None
    with pytest.raises(
        TypeError, match=r"local: expected an edge between scalars, but got float64\[3\]"
    ):
        fg.sum_product(np.sum(v), PATHS, fg.local)
    with pytest.raises(TypeError, match="edges: expected an expression, but got float"):
        fg.edges(2.0)


def test_the_local_derivative_of_a_listed_edge_is_its_attribute():
    e = np.sin(fg.var("x")) * fg.var("y")
    assert [fg.local(edge).key for edge in fg.edges(e)] == [edge.local.key for edge in fg.edges(e)]
    with pytest.raises(
        TypeError, match=r"an edge between scalars, but got float64\[2\] -> float64;"
    ):
        fg.local(fg.edges(np.sum(fg.var("v", 2)))[0])


def test_complex_edges_follow_the_convention():
    c = fg.var("c", (), complex)
    e = np.real(c * c)
    found = fg.sum_product(e, PATHS, fg.local)[c](c=1 + 2j)
    assert found == fg.gradient(e, c)(c=1 + 2j) == 2 + 4j


def test_local_of_what_is_no_edge_says_what_to_write():
    x = fg.var("x")
    for given in (x, 3):
        with pytest.raises(TypeError, match=r"expected an edge, .*; write fg.sum_product\(e,"):
            fg.local(given)


def test_maps_are_values():
    assert fg.Diagonal(2.0) == fg.Diagonal(2.0) != fg.Diagonal(3.0)
    assert fg.Diagonal(2.0) != Quotient(2.0)
    assert len({Identity(), Identity(), Quotient(2.0), Quotient(2.0), fg.Diagonal(2.0)}) == 3
    with pytest.raises(AttributeError, match="cannot assign to field"):
        fg.Diagonal(2.0).d = 3.0
