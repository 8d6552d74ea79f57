"""The five texts that started the project, each a program that keeps its word."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from examples.seeds import (
    autograd_engine,
    gates,
    pictures,
    reverse_order,
    topological_ordering,
    two_pages,
)
from tests.default_slice import examples, one_in
from tests.show.test_svg import is_clear


@pytest.mark.parametrize("sizes", [(2, 1), (3, 4, 4, 2), (1, 5, 2, 3, 1)])
def test_two_scans_are_backpropagation(sizes, capsys):
    layers, x, target = topological_ordering.example(sizes, seed=len(sizes))
    ours = topological_ordering.gradients(layers, x, target)
    theirs = fg.grad(topological_ordering.objective)(layers, x, target)
    for a, b in zip(ours, theirs, strict=True):
        assert type(b) is topological_ordering.Layer
        np.testing.assert_allclose(a.b, b.b, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(a.w, b.w, rtol=1e-12, atol=1e-14)
    topological_ordering.main()
    assert capsys.readouterr().out.count("< 1e-12") == 3


def test_the_action_is_sequential():
    """Acting with p and then with q is acting with the sequence p, q."""
    layers, x, _ = topological_ordering.example()
    states = topological_ordering.forward_states(layers, x)
    again = topological_ordering.activate(states[0], layers[1])
    np.testing.assert_array_equal(again.z, states[1].z)
    np.testing.assert_array_equal(topological_ordering.activate(again, layers[2]).z, states[2].z)


def test_every_legal_order_of_the_chain(capsys):
    y = reverse_order.chain()
    orders = list(reverse_order.all_legal_orders(y))
    assert len(orders) == len(set(orders)) == 4
    assert tuple(reverse_order.reverse_order(y)) in orders
    assert tuple(reversed(fg.toposort(y))) in orders
    expected = fg.grad(lambda z: np.sin(1 + np.exp(z) ** 2))(0.3)
    for order in orders:
        slopes = reverse_order.backward(y, order, {"z": 0.3})
        assert slopes[fg.var("z").key] == pytest.approx(expected, rel=1e-14)
    assert fg.toposort(reverse_order.chain()) == fg.toposort(y)
    reverse_order.main()
    assert "4 legal orders" in capsys.readouterr().out


@st.composite
def small_programs(draw):
    exprs = [fg.var("x"), fg.var("y")]
    for _ in range(draw(st.integers(2, 6))):
        i, j = draw(st.integers(0, len(exprs) - 1)), draw(st.integers(0, len(exprs) - 1))
        f = draw(st.sampled_from([np.add, np.multiply, np.subtract, lambda a, b: np.sin(a)]))
        exprs.append(f(exprs[i], exprs[j]))
    return exprs[-1]


@settings(max_examples=examples(40), derandomize=True)
@given(small_programs())
def test_every_legal_order_of_any_small_program(expr):
    at = {name: v for name, v in (("x", 0.7), ("y", -1.3)) if fg.var(name).key in expr.graph}
    first = None
    for order in reverse_order.all_legal_orders(expr):
        slopes = reverse_order.backward(expr, order, at)
        first = first or slopes
        assert slopes.keys() == first.keys()
        for key, slope in slopes.items():
            assert slope == pytest.approx(first[key], rel=1e-12, abs=1e-12)


def test_gates_distribute_swap_and_route(tmp_path, capsys):
    assert gates.gates() == {"add": (1.0, 1.0), "multiply": (-2.0, 3.0), "max": (1.0, 0.0)}
    expr, at = gates.product_of_sum()
    rows = {row.op: (row.value, row.gradient) for row in fg.table(expr, at)}
    assert rows == {
        "x": (-2.0, -4.0),
        "y": (5.0, -4.0),
        "z": (-4.0, 3.0),
        "add": (3.0, -4.0),
        "multiply": (-12.0, 1.0),
    }
    expr, at = gates.shared_part()
    assert [row.op for row in fg.table(expr, at)] == [
        "x", "square", "exp", "add", "sqrt", "cos", "add",
    ]  # fmt: skip
    gates.main(str(tmp_path))
    assert "-12<" in (tmp_path / "gates_product_of_sum.svg").read_text(encoding="utf-8")
    assert "multiply" in capsys.readouterr().out


EXPECTED = {
    "topological_ordering": ["outer(z, a1)", "w2.T @ z", "z*(1 - a1**2)", "a2 = tanh"],
    "reverse_order": ["t1 = exp", "t3 = +", "-0.9494", "-3.46"],
    "gates_product": ["q = +", "f = *", "-12", "-4"],
    "gates_shared": ["c = +", "0.3432", "-0.8517", "-1.874"],
    "gates_max": ["m = maximum", "-1", "0"],
    "two_pages_paths": ["cos(x3)", "x1 + x2", "sin(x1*x2)"],
    "two_pages_layers": ["concatenate", "float64[729]"],
    "autograd_engine": ["d = *", "L = +", "-6", "10", "4"],
}
"""What stands in each lecture's picture: names, values, gradients and linear maps."""


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_the_picture_of_each_text(name):
    svg = pictures.PICTURES[name]()
    shown = re.findall("<text[^>]*>([^<]*)<", svg)
    assert set(EXPECTED[name]) <= set(shown)
    assert is_clear(svg)


def test_pictures_are_written_to_files(tmp_path, capsys):
    pictures.main(str(tmp_path))
    assert {path.stem for path in tmp_path.iterdir()} == set(pictures.PICTURES)
    assert len(capsys.readouterr().out.splitlines()) == len(pictures.PICTURES)


@pytest.mark.parametrize(
    ("seed", "name"), one_in(3, itertools.product(range(5), two_pages.FUNCTIONS))
)
def test_every_jacobian_vector_form(name, seed):
    function, args = two_pages.FUNCTIONS[name], two_pages.operands(name, seed)
    value, pullback = fg.vjp(function.run, *args)
    np.testing.assert_allclose(value, function.run(*args), rtol=1e-13)
    g = np.random.default_rng(seed + 9).standard_normal(np.shape(value))[()]
    for ours, closed in zip(pullback(g), function.pullbacks(g, *args), strict=True):
        np.testing.assert_allclose(ours, closed, rtol=1e-11, atol=1e-13)


def test_forward_gives_value_and_order():
    x, y = fg.var("x"), fg.var("y")
    value, order = two_pages.forward(x * y + x, x=2.0, y=3.0)
    assert value == 8.0
    assert list(order) == [x.key, y.key, (x * y).key, (x * y + x).key]


def test_paths_arcs_and_steps(capsys):
    source, root = two_pages.layered()
    assert sum(len(node.parents) for node in root.graph.values()) == 51
    steps = []
    paths = fg.sum_product(root, fg.COUNTING, lambda edge: steps.append(edge) or 1)
    assert paths[source] == 3**6 == 729
    assert len(steps) == 51
    assert fg.sum_product(root, fg.LONGEST, lambda edge: 1)[source] == 7
    assert fg.sum_product(root, fg.REACHABLE, lambda edge: True)[source] is True
    two_pages.main()
    assert "729 paths, 51 arcs" in capsys.readouterr().out


def test_the_example_dag_of_appendix_f():
    """mu(1) = Q(4,6) Q(3,4) Q(1,3) + Q(5,6) Q(1,5), matrices in that order."""
    one, two = fg.var("one"), fg.var("two")
    three = one * two
    four, five = np.sin(three), np.cos(one)
    six = four - five
    number = {e.key: i for i, e in enumerate([one, two, three, four, five, six], 1)}
    rng = np.random.default_rng(1)
    sizes = {1: 2, 2: 3, 3: 4, 4: 2, 5: 3, 6: 5}
    q = {
        (i, j): rng.standard_normal((sizes[j], sizes[i]))
        for i, j in [(1, 3), (2, 3), (3, 4), (1, 5), (4, 6), (5, 6)]
    }
    semiring = fg.MATRICES._replace(one=np.eye(5))
    mu = fg.sum_product(six, semiring, lambda e: q[number[e.parent], number[e.child]])
    np.testing.assert_allclose(mu[one], q[4, 6] @ q[3, 4] @ q[1, 3] + q[5, 6] @ q[1, 5], rtol=1e-13)


def test_asking_twice_gives_the_same(capsys):
    loss = autograd_engine.program()
    first, second = autograd_engine.gradients(loss), autograd_engine.gradients(loss)
    assert first == second == {"add": 1.0, "c": 1.0, "multiply": 1.0, "b": 2.0, "a": -3.0}
    autograd_engine.main()
    assert "the same when asked again: True" in capsys.readouterr().out


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_the_engine_agrees_with_pytorch():
    torch = pytest.importorskip("torch")
    a, b, c = (torch.tensor(v, requires_grad=True) for v in autograd_engine.AT.values())
    (a * b + c).backward()
    ours = autograd_engine.gradients(autograd_engine.program())
    assert (ours["a"], ours["b"], ours["c"]) == (a.grad.item(), b.grad.item(), c.grad.item())
