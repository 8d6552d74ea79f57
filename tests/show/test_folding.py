"""Folding: every node in one group, groups in topological order, few of them, and true to what they say."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.show.drawing.folding import MOST_BOXES, fold_nodes
from funcgrad.show.naming import distinct, places
from tests.default_slice import one_in
from tests.show.programs import ALL


def scalar_network(sizes):
    """A multilayer perceptron of scalars, as in micrograd."""
    count = itertools.count()
    values = [fg.var(f"x{i}") for i in range(sizes[0])]
    for width in sizes[1:]:
        rows = [[fg.var(f"w{next(count)}") for _ in range(len(values) + 1)] for _ in range(width)]
        values = [np.tanh(sum(map(np.multiply, row[1:], values), row[0])) for row in rows]
    return sum(values)


def softplus(x):
    return np.log(1 + np.exp(x))


def unrolled(turns):
    x, a = fg.var("x"), fg.var("a")
    for i in range(turns):
        x = softplus(np.sin(x) * a + i) - x / a
    return x


def random_program(size, seed):
    rng = np.random.default_rng(seed)
    parts = [fg.var(f"x{i}") for i in range(5)]
    while len(parts) < size:
        a, b = [parts[i] for i in rng.integers(max(0, len(parts) - 30), len(parts), 2)]
        parts.append([a + b, a * b, np.sin(a), np.exp(b) - a, a + 2.5][rng.integers(5)])
    return sum(parts[-10:])


LARGE = {
    "network 70": scalar_network([2, 3, 3, 1]),
    "network 400": scalar_network([3, 8, 8, 4]),
    "network 2200": scalar_network([8, 16, 24, 8]),
    "unrolled 500": unrolled(60),
    "unrolled 2000": unrolled(250),
    "random 500": random_program(500, 0),
    "random 2000": random_program(2000, 1),
    "derivative": fg.grad(
        fg.grad(lambda x: softplus(np.tanh(x) * softplus(x * x)) / softplus(x))
    ).expr(fg.var("x")),
}


def is_sound(nodes, folding):
    members = sorted(i for group in folding.groups for i in group.members)
    assert members == list(range(len(nodes)))
    place = places(nodes)
    home = {i: k for k, group in enumerate(folding.groups) for i in group.members}
    for k, (group, parents) in enumerate(zip(folding.groups, folding.parents, strict=True)):
        assert all(p < k for p in parents)
        operands = [place[arg.key] for i in group.members for arg in nodes[i].args]
        if group.kind == "node":
            assert list(parents) == [home[p] for p in operands]
        else:
            assert set(parents) <= {home[p] for p in operands}
            shown = [home[p] for p in operands if nodes[p].name != "constant"]
            assert set(parents) == set(shown) - {k}
    return True


@pytest.mark.parametrize("name", one_in(3, LARGE))
def test_large_programs_fold_to_what_can_be_read(name):
    nodes = distinct(LARGE[name], "fold")
    folding = fold_nodes(nodes)
    assert is_sound(nodes, folding)
    assert len(folding.groups) <= MOST_BOXES
    assert folding == fold_nodes(nodes)


@pytest.mark.parametrize(("name", "most"), one_in(4, itertools.product(ALL, [3, 8, None])))
def test_any_program_folds_to_a_sound_graph(name, most):
    nodes = distinct(ALL[name], "fold")
    assert is_sound(nodes, fold_nodes(nodes, most))


def test_without_need_nothing_is_folded():
    nodes = distinct(unrolled(6), "fold")
    for most in (len(nodes), None):
        groups = fold_nodes(nodes, most).groups
        assert [group.members for group in groups] == [(i,) for i in range(len(nodes))]
    assert [g.title for g in fold_nodes(distinct(fg.var("x"), "fold")).groups] == ["x"]


def test_a_repetition_says_what_and_how_often():
    (group,) = [g for g in fold_nodes(distinct(unrolled(60), "fold")).groups if g.kind != "node"]
    assert group.kind == "repetition"
    assert (group.title, group.times) == ("59 times", 59)
    assert "sin" in group.detail


def test_nodes_of_one_call_are_a_group_with_its_name():
    def norm(x, y):
        return np.sqrt(x * x + y * y + 1)

    x, y = fg.vars("x y")
    z = norm(np.sin(x), np.exp(y)) / norm(np.tanh(y) * x, x)
    found = [g for g in fold_nodes(distinct(z, "fold"), 12).groups if g.kind == "call"]
    assert {g.title for g in found} == {"norm"}


def test_inputs_of_the_same_user_are_a_group():
    many = np.sin(sum([fg.var(f"x{i}") * fg.var(f"y{i}") for i in range(40)]))
    stacked = np.concatenate([fg.var(f"z{i}", 1) for i in range(70)])
    nodes = distinct(many * np.sum(stacked), "fold")
    folding = fold_nodes(nodes)
    assert len(folding.groups) <= 12
    assert "70 inputs" in [group.title for group in folding.groups]
    assert is_sound(nodes, folding)


def test_a_group_unfolds():
    nodes = distinct(LARGE["network 2200"], "fold")
    largest = max(fold_nodes(nodes).groups, key=lambda group: len(group.members))
    inside = [nodes[i] for i in largest.members]
    folding = fold_nodes(inside)
    assert 3 < len(folding.groups) <= MOST_BOXES
    assert sorted(i for g in folding.groups for i in g.members) == list(range(len(inside)))


@pytest.mark.parametrize("name", one_in(3, LARGE, start=1))
def test_every_group_unfolds_to_its_own_nodes(name):
    nodes = distinct(LARGE[name], "fold")
    for group in fold_nodes(nodes).groups:
        inside = fold_nodes([nodes[i] for i in group.members])
        members = sorted(i for part in inside.groups for i in part.members)
        assert members == list(range(len(group.members)))
