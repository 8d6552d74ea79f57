"""Layouts: nothing on top of anything else, edges that go down, few crossings, straight long edges."""

import itertools
import json
import shutil
import subprocess
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from funcgrad.show.drawing.column_layout import in_columns
from funcgrad.show.drawing.horizontal_placement import horizontal_places
from funcgrad.show.drawing.layer_order import crossings, ordered_layers
from funcgrad.show.drawing.layered_layout import arrange
from tests.default_slice import one_in


def random_graph(size, seed, most=3, reach=None):
    rng = np.random.default_rng(seed)
    parents = [()]
    for i in range(1, size):
        near = np.arange(max(0, i - (reach or i)), i)
        of = rng.choice(near, size=rng.integers(0, min(len(near), most) + 1), replace=False)
        parents.append(tuple(int(p) for p in of))
    sizes = [(float(w), float(h)) for w, h in rng.uniform(20, 90, (size, 2))]
    edges = sum(map(len, parents))
    texts = [(float(w), 16.0) if w > 30 else None for w in rng.uniform(10, 90, edges)]
    return parents, sizes, texts


def is_clear(boxes):
    """Whether no two boxes, each a center and a size, overlap."""
    for (a, (wa, ha)), (b, (wb, hb)) in combinations(boxes, 2):
        if abs(a[0] - b[0]) < (wa + wb) / 2 - 1e-6 and abs(a[1] - b[1]) < (ha + hb) / 2 - 1e-6:
            return False
    return True


@pytest.mark.parametrize(
    ("with_texts", "seed"), one_in(3, itertools.product([False, True], range(12)))
)
def test_nodes_and_texts_are_disjoint_and_edges_go_down(seed, with_texts):
    parents, sizes, texts = random_graph(30, seed)
    plan = arrange(parents, sizes, texts if with_texts else ())
    boxes = list(zip(plan.centers, sizes, strict=True))
    if with_texts:
        written = zip(plan.texts, texts, strict=True)
        boxes += [(center, size) for center, size in written if size is not None]
        assert [center is None for center in plan.texts] == [size is None for size in texts]
    assert is_clear(boxes)
    for (x, y), (w, h) in boxes:
        assert w / 2 <= x <= plan.width - w / 2 + 1e-6
        assert h / 2 <= y <= plan.height - h / 2 + 1e-6
    edges = [(p, i) for i, of in enumerate(parents) for p in of]
    for (p, i), route in zip(edges, plan.routes, strict=True):
        assert all(a[1] < b[1] for a, b in pairwise(route))
        assert route[0] == (plan.centers[p][0], plan.centers[p][1] + sizes[p][1] / 2)
        assert abs(route[-1][0] - plan.centers[i][0]) <= sizes[i][0] / 2
        assert route[-1][1] == plan.centers[i][1] - sizes[i][1] / 2


def test_one_node_and_nodes_without_edges():
    plan = arrange([()], [(40.0, 20.0)])
    assert (plan.width, plan.height, plan.routes) == (68.0, 48.0, [])
    assert is_clear([(c, (40.0, 20.0)) for c in arrange([(), (), ()], [(40.0, 20.0)] * 3).centers])


def test_an_operand_used_twice_by_one_node_has_two_edges():
    plan = arrange([(), (0, 0)], [(40.0, 20.0)] * 2)
    (_, *_, a), (_, *_, b) = plan.routes
    assert a[0] < b[0]


@pytest.mark.parametrize("operands", [(0, 1), (1, 0)])
def test_edges_arrive_in_the_order_of_operands_where_it_matters(operands):
    """Two nodes that take the same operands in two orders: ``a - b`` and ``b - a`` are not drawn alike."""
    parents = [(), (), operands, (1, 0), (2, 3)]
    plan = arrange(parents, [(40.0, 20.0)] * 5, ordered={2, 3, 4})
    tips = [route[-1][0] for route in plan.routes]
    assert tips[0] < tips[1]
    assert tips[2] < tips[3]
    assert tips[4] < tips[5]


def test_operands_of_one_user_stand_beside_it():
    """A constant and its cast, used far below, are drawn there."""
    parents = [(), (0,), (1,), (2,), (3,), (), (5,), (4, 6)]
    plan = arrange(parents, [(40.0, 20.0)] * 8)
    heights = [y for _, y in plan.centers]
    assert heights[6] == heights[4]
    assert heights[5] == heights[3]


def brute_force_crossings(layers, down):
    at = {point: k for layer in layers for k, point in enumerate(layer)}
    edges = [[(at[p], at[q]) for p in layer for q in down[p]] for layer in layers]
    return sum((a - c) * (b - d) < 0 for of in edges for (a, b), (c, d) in combinations(of, 2))


def random_layers(seed, width=6, depth=4):
    rng = np.random.default_rng(seed)
    layers = [list(range(width * k, width * (k + 1))) for k in range(depth)]
    down = [[] for _ in range(width * depth)]
    up = [[] for _ in range(width * depth)]
    for above, below in pairwise(layers):
        for a, b in zip(rng.choice(above, 9), rng.choice(below, 9), strict=True):
            down[a].append(int(b))
            up[b].append(int(a))
    return layers, up, down


@pytest.mark.parametrize("seed", range(10))
def test_orders_have_no_more_crossings_than_the_first(seed):
    layers, up, down = random_layers(seed)
    assert crossings(layers, down) == brute_force_crossings(layers, down)
    found = ordered_layers(layers, up, down)
    assert [sorted(layer) for layer in found] == layers
    assert crossings(found, down) <= crossings(layers, down)
    assert ordered_layers(layers, up, down) == found


@pytest.mark.parametrize("depth", [2, 5])
def test_trees_are_drawn_without_crossings(depth):
    count = 2 ** (depth + 1) - 1
    rng = np.random.default_rng(depth)
    levels = [int(np.log2(i + 1)) for i in range(count)]
    layers = [[i for i in range(count) if levels[i] == k] for k in range(depth + 1)]
    layers = [list(map(int, rng.permutation(layer))) for layer in layers]
    down = [[2 * i + 1, 2 * i + 2] if 2 * i + 2 < count else [] for i in range(count)]
    up = [[(i - 1) // 2] if i else [] for i in range(count)]
    assert crossings(ordered_layers(layers, up, down), down) == 0


def test_long_edges_are_straight():
    """Two long edges beside a chain: every point of an edge stands above the next."""
    depth = 9
    layers = [[0, 1, 2], *[[3 * k, 3 * k + 1, 3 * k + 2] for k in range(1, depth)]]
    down = [[p + 3] if p + 3 < 3 * depth else [] for p in range(3 * depth)]
    up = [[p - 3] if p >= 3 else [] for p in range(3 * depth)]
    widths = [30.0 + 10 * (p % 4) if p % 3 == 1 else 4.0 for p in range(3 * depth)]
    xs = horizontal_places(layers, up, down, widths, [p % 3 != 1 for p in range(3 * depth)], 10.0)
    for lane in range(3):
        assert np.ptp(xs[lane::3]) < 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_gaps_hold_in_every_layer(seed):
    layers, up, down = random_layers(seed)
    widths = list(np.random.default_rng(seed).uniform(5, 80, len(up)))
    xs = horizontal_places(layers, up, down, widths, [False] * len(up), 7.0)
    for layer in layers:
        for a, b in pairwise(layer):
            assert xs[b] - xs[a] >= (widths[a] + widths[b]) / 2 + 7.0 - 1e-6


def test_the_page_of_explore_has_the_layout_of_pictures():
    """The page has this layout in JavaScript, since it lays out what is unfolded there."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    graphs = [random_graph(size, seed, most=2) for seed, size in enumerate([1, 2, 7, 30, 60])]
    sizes = [(60.0, 40.0)] * 40
    graphs += [([(), *[(i,) for i in range(39)]], sizes, [None, (30.0, 16.0), None] * 13)]
    graphs += [([(), (0,), *[(i, i - 1) for i in range(1, 39)]], sizes, [None] * 77)]
    source = Path(__file__).parents[2] / "tools" / "explorer" / "src"
    script = f"""
      import {{ layered }} from "{(source / "layered.js").as_uri()}";
      import {{ inColumns }} from "{(source / "columns.js").as_uri()}";
      import {{ readFileSync }} from "node:fs";
      const graphs = JSON.parse(readFileSync(0));
      console.log(JSON.stringify(graphs.map(([parents, sizes, texts]) => {{
        const plan = inColumns(layered(parents, sizes, texts), sizes, texts);
        return [plan.centers, plan.routes, plan.texts, plan.width, plan.height];
      }})));"""
    ran = subprocess.run(
        [node, "--input-type=module", "-e", script],
        input=json.dumps(graphs),
        capture_output=True,
        text=True,
        check=True,
    )
    for (parents, sizes, texts), found in zip(graphs, json.loads(ran.stdout), strict=True):
        plan = in_columns(arrange(parents, sizes, texts), sizes, texts)
        assert _flat(found) == pytest.approx(_flat(plan), abs=1e-6)


def _flat(tree):
    if isinstance(tree, list | tuple):
        return [x for part in tree for x in _flat(part)]
    return [] if tree is None else [tree]
