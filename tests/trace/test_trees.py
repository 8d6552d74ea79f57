"""Trees of any class: static parts, registered classes, attrs and pydantic."""

import collections
import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import optree
import pyrsistent
import pytest

import funcgrad as fg
from funcgrad.trace.pytree import flatten, flatten_numbers, flatten_with_static, leaves_of


@dataclasses.dataclass
class Layer:
    w: Any
    activation: Callable[[Any], Any] = np.tanh
    name: str = "layer"
    bias: Any = None
    flip: bool = False

    def __call__(self, x: Any) -> Any:
        y = self.activation(self.w * x)
        return -y if self.flip is True else y


class Pair(NamedTuple):
    w: float
    n: Annotated[int, fg.static]


@dataclasses.dataclass(frozen=True, slots=True)
class Marked:
    w: float
    n: int = fg.static(2)
    k: Annotated[Any, fg.static] = None
    m: fg.static[int] = 1
    text: "fg.static[Any]" = ""
    jaxish: Any = dataclasses.field(default=0, metadata={"static": True})


@fg.register_tree
class Line:
    __slots__ = ("name", "slope", "steps")
    steps: fg.static[int]

    def __init__(self, slope: Any, name: str = "a", steps: int = 2) -> None:
        self.slope, self.name, self.steps = slope, name, steps


class Point:
    """Two numbers, and a unit."""

    def __init__(self, x: Any, y: Any, unit: Any) -> None:
        self.x, self.y, self.unit = x, y, unit


fg.register_tree(Point, lambda p: ((p.x, p.y), p.unit), lambda unit, parts: Point(*parts, unit))


class Plain:
    def __init__(self) -> None:
        self.w = 2.0


def _loss(layer: Layer, x: float) -> Any:
    return layer(x) ** 2


def _all(f: Callable[..., Any], p: Any, moved: Callable[[Any], Any]) -> None:
    """Derivatives of every kind agree: f has one number, of which ``moved`` makes such a tree again."""
    slope = fg.grad(f)(p)
    assert type(slope) is type(p)
    (number,) = flatten_numbers(slope).leaves
    for other in (
        fg.jit(fg.grad(f))(p),
        fg.vjp(f, p)[1](1.0)[0],
        fg.jacrev(f)(p),
        fg.jacfwd(f)(p),
        fg.value_and_grad(fg.jit(f))(p)[1],
    ):
        assert type(other) is type(p)
        assert flatten_numbers(other).leaves == pytest.approx([number], rel=1e-12)
    tangent = moved(1.0)
    assert fg.jvp(f, (p,), (tangent,))[1] == pytest.approx(number, rel=1e-12)
    assert fg.linearize(f, p)[1](tangent) == pytest.approx(number, rel=1e-12)
    second = flatten_numbers(fg.hessian(f)(p)).leaves
    assert second == pytest.approx(flatten_numbers(fg.jacfwd(fg.grad(f))(p)).leaves, rel=1e-12)


def test_fields_that_are_no_numbers_are_static() -> None:
    layer = Layer(0.5, flip=True)
    _all(lambda p: _loss(p, 2.0), layer, lambda w: Layer(w, flip=True))
    assert fg.grad(_loss)(layer, 2.0) == dataclasses.replace(
        layer, w=pytest.approx(4 * np.tanh(1.0) / np.cosh(1.0) ** 2)
    )


def test_another_value_of_a_static_field_is_another_trace() -> None:
    traces = []

    @fg.jit
    def f(layer: Layer, x: float) -> Any:
        traces.append((layer.flip, layer.name, layer.activation))
        return layer(x)

    for layer in (
        Layer(0.5),
        Layer(0.7),
        Layer(0.5, flip=True),
        Layer(0.5, np.sin),
        Layer(0.5, name="b"),
        Layer(0.9, flip=True),
    ):
        assert f(layer, 2.0) == pytest.approx(layer(2.0), rel=1e-12)
    assert traces == [
        (False, "layer", np.tanh),
        (True, "layer", np.tanh),
        (False, "layer", np.sin),
        (False, "b", np.tanh),
    ]


def test_flags_of_loops_are_values() -> None:
    def step(state: Layer) -> Layer:
        return dataclasses.replace(state, w=state.w * 2, flip=state.w > 3)

    found = fg.while_loop(lambda s: ~s.flip, step, Layer(1.0, flip=np.False_))
    assert (found.w, found.flip) == (8.0, True)


def test_containers_keep_text_and_functions() -> None:
    p = {"w": 3.0, "kind": "square", "f": np.square, "no": None, "flag": True, "list": ["a", 2.0]}
    f = lambda p: p["f"](p["w"]) * p["list"][1] if p["flag"] else p["w"]  # noqa: E731
    wanted = p | {"w": 12.0, "list": ["a", 9.0]}
    assert fg.grad(f)(p) == wanted
    assert fg.jit(fg.grad(f))(p) == wanted
    assert fg.vjp(f, p)[1](1.0) == (wanted,)
    assert fg.jvp(f, (p,), (p,))[1] == 3 * 12.0 + 2 * 9.0
    assert fg.vmap(lambda x, how: x * 2 if how == "a" else x, in_axes=(0, None))(
        np.arange(3.0), "a"
    ).tolist() == [0, 2, 4]


def test_optimizers_leave_what_is_static() -> None:
    p = {"layer": Layer(np.ones(2), flip=True), "kind": "a", "flag": True}
    loss = lambda p: np.sum((p["layer"].w - 3) ** 2)  # noqa: E731
    best = fg.optim.minimize(loss, p, method=fg.optim.adam(0.1)).x
    assert best["layer"].w == pytest.approx([3, 3], abs=1e-4)
    assert best["layer"].flip is True
    assert best["kind"] == "a"
    assert best["flag"] is True


@pytest.mark.parametrize("n", [2, 3])
def test_marked_fields(n: int) -> None:
    f = lambda p: p.w ** len(range(p.n))  # noqa: E731
    p = Marked(3.0, n, k=[1, np.ones(2)], text={"a": 1})
    assert flatten(p).leaves == [3.0]
    assert fg.grad(f)(p) == dataclasses.replace(p, w=n * 3.0 ** (n - 1))
    jitted = fg.jit(fg.grad(f))
    assert jitted(p) == fg.grad(f)(p)
    assert jitted(dataclasses.replace(p, w=2.0)).w == n * 2.0 ** (n - 1)
    assert jitted.explain_misses().count("\n") == 0
    changed = dataclasses.replace(p, w=2.0, k=[1, np.zeros(2)])
    assert jitted(changed).k is changed.k
    assert jitted.explain_misses().count("\n") == 1


def test_marked_fields_of_named_tuples_and_registered_classes() -> None:
    _all(lambda p: p.w ** len(range(p.n)), Pair(3.0, 4), lambda w: Pair(w, 4))
    assert fg.grad(lambda p: p.w ** len(range(p.n)))(Pair(3.0, 4)) == Pair(108.0, 4)
    f = lambda line: line.slope ** len(range(line.steps))  # noqa: E731
    _all(f, Line(3.0), Line)
    found = fg.jit(fg.grad(f))(Line(3.0, "b", 3))
    assert (found.slope, found.name, found.steps) == (27.0, "b", 3)


def test_marked_values() -> None:
    f = lambda p: p["x"] ** len(p["range"].value)  # noqa: E731
    p = {"x": 3.0, "range": fg.static([1, 2])}
    assert fg.grad(f)(p) == fg.jit(fg.grad(f))(p) == {"x": 6.0, "range": fg.static([1, 2])}
    g = fg.jit(f)
    assert [g(p), g(p | {"range": fg.static([1, 2, 3])}), g(p)] == [9.0, 27.0, 9.0]
    assert fg.static([1.0]) != fg.static([1])
    assert fg.static(np.ones(2)) == fg.static(np.ones(2))
    assert repr(fg.static("a")) == "static('a')"


def test_a_static_field_that_is_traced_is_refused() -> None:
    def f(p: Marked) -> Any:
        return dataclasses.replace(p, n=p.w)

    with pytest.raises(TypeError, match="Marked: expected a static value in the field n"):
        fg.jit(f)(Marked(2.0))


def test_registered_classes() -> None:
    f = lambda p: p.x * p.y * (2 if p.unit == "m" else 1)  # noqa: E731
    found = fg.grad(f)(Point(3.0, 4.0, "m"))
    assert (found.x, found.y, found.unit) == (8.0, 6.0, "m")
    jitted = fg.jit(f)
    assert [jitted(Point(3.0, 4.0, unit)) for unit in ("m", "k", "m")] == [24.0, 12.0, 24.0]
    assert optree.tree_leaves(Point(1.0, 2.0, "m"), namespace="funcgrad") == [1.0, 2.0]
    doubled = optree.tree_map(lambda x: 2 * x, Line(1.5), namespace="funcgrad")
    assert (doubled.slope, doubled.steps) == (3.0, 2)
    assert fg.vmap(lambda p: p.x + p.y)(Point(np.ones(2), np.arange(2.0), "m")).tolist() == [1, 2]
    carry, _ = fg.scan(
        lambda p, x: (Point(p.x + x, p.y, p.unit), None), Point(0.0, 1.0, "m"), np.ones(3)
    )
    assert (carry.x, carry.unit) == (3.0, "m")


def test_a_class_that_optree_knows() -> None:
    class Box:
        def __init__(self, x: Any, aux: Any) -> None:
            self.x, self.aux = x, aux

    optree.register_pytree_node(
        Box, lambda b: ((b.x,), b.aux), lambda aux, c: Box(c[0], aux), namespace="funcgrad"
    )
    found = fg.jit(fg.grad(lambda b: b.x["w"] ** 2))(Box({"w": 3.0, "name": "n"}, [1]))
    assert (found.x, found.aux) == ({"w": 6.0, "name": "n"}, [1])


def test_errors_of_registration() -> None:
    with pytest.raises(TypeError, match="expected a class, but got float"):
        fg.register_tree(2.0)  # type: ignore[type-var]
    for known in (int, float, str, np.ndarray, np.float64, list, fg.Expr):
        with pytest.raises(TypeError, match=f"a class of yours, but got {known.__name__}"):
            fg.register_tree(known)
    with pytest.raises(TypeError, match="both flatten and unflatten"):
        fg.register_tree(Plain, lambda p: ((p.w,), None))
    with pytest.raises(ValueError, match="Line again"):
        fg.register_tree(Line)


def test_objects_that_are_no_trees_are_refused() -> None:
    for f in (fg.grad(lambda p: p.w**2), fg.jit(lambda p: p.w), fg.jit(fg.grad(lambda p: p.w**2))):
        with pytest.raises(TypeError, match=r"fg\.register_tree\(Plain\)"):
            f(Plain())
        with pytest.raises(TypeError, match=r"fg\.register_tree\(Plain\)"):
            f({"a": 1.0, "plain": Plain()})
    with pytest.raises(TypeError, match=r"but got str; write float\(x\)"):
        fg.grad(np.sin)("a")
    with pytest.raises(TypeError, match="but got Layer; give it numbers or arrays"):
        fg.grad(lambda p: 1.0)(Layer("a"))
    with pytest.raises(TypeError, match=r"but got int64; .* mark it by fg\.static"):
        fg.grad(lambda p: p["x"])({"x": 1.0, "i": np.arange(2)})


def test_leaves_with_static_ones() -> None:
    tree = {"a": [1.0, "x"], "b": Layer(2.0, np.sin, flip=True)}
    assert flatten(tree).leaves == [1.0, 2.0, True]
    assert flatten_with_static(tree).leaves == [1.0, "x", 2.0, np.sin, "layer", True]
    assert leaves_of(tree) == [1.0, "x", 2.0, np.sin, "layer", fg.static(True)]


# -- other libraries' classes ---------------------------------------------------------------------
def test_attrs() -> None:
    attrs = pytest.importorskip("attrs")

    @attrs.frozen
    class Model:
        w: float = attrs.field(validator=attrs.validators.instance_of(float))
        kind: str = "a"
        n: Annotated[int, fg.static] = 2
        m: int = attrs.field(default=3, metadata={"static": True})

    _all(lambda p: p.w ** len(range(p.n)) * p.m, Model(3.0), Model)
    assert fg.grad(lambda p: p.w**p.n * p.m)(Model(3.0)) == Model(18.0)
    mutable = attrs.make_class("mutable", ["w", "kind"])
    found = fg.jit(fg.grad(lambda p: p.w**2))(mutable(3.0, "a"))
    assert (found.w, found.kind) == (6.0, "a")


def test_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        model_config = pydantic.ConfigDict(frozen=True)
        w: float
        kind: str = "a"
        n: Annotated[int, fg.static] = 2

    _all(lambda p: p.w ** len(range(p.n)), Model(w=3.0), lambda w: Model(w=w))
    assert fg.grad(lambda p: p.w**p.n)(Model(w=3.0)) == Model(w=6.0)


class KeysAsAttributes(dict):
    def __getattr__(self, name):
        return self[name]


class AttributesOfItself(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Bunch(dict):
    """Has an attribute beside its items, as scikit-learn's."""

    def __init__(self, **kwargs):
        super().__init__(kwargs)
        self.__dict__["deprecated"] = ("c",)

    __getattr__ = KeysAsAttributes.__getattr__


class Repeating(dict):
    def __init__(self, **kwargs):
        super().__init__(kwargs)
        self.__dict__.update(kwargs)


@pytest.mark.parametrize("kind", [KeysAsAttributes, AttributesOfItself, Bunch])
def test_an_instance_of_a_subclass_of_dict_is_a_tree(kind):
    def product(p):
        return p.a * p["b"] ** 2

    slopes = fg.grad(product)(kind(a=1.0, b=3.0))
    assert type(slopes) is kind
    assert slopes == {"a": 9.0, "b": 6.0}
    assert slopes.b == 6.0
    if kind is Bunch:
        assert slopes.deprecated == ("c",)
    jitted = fg.jit(product)
    assert [jitted(kind(a=a, b=3.0)) for a in (1.0, 2.0)] == [9.0, 18.0]
    assert fg.grad(lambda p: p.inner.a * p.v[0])(kind(inner=kind(a=2.0), v=[3.0])) == {
        "inner": {"a": 3.0},
        "v": [2.0],
    }
    carry, _ = fg.scan(lambda s, i: (kind(a=s.a * i), s.a), kind(a=2.0), np.arange(1.0, 4.0))
    assert type(carry) is kind
    assert carry.a == 12.0


def test_an_instance_of_a_subclass_of_dict_keeps_the_order_of_its_keys():
    given = KeysAsAttributes(b=2.0, a=3.0)
    assert list(fg.grad(lambda p: p.a * p.b)(given).items()) == [("b", 3.0), ("a", 2.0)]
    assert list(fg.jit(lambda p: p)(given).items()) == [("b", 2.0), ("a", 3.0)]


def test_attributes_that_repeat_the_items_of_a_dict_are_refused():
    # They would keep the plain numbers, and the derivative would be zero.
    with pytest.raises(TypeError, match="got Repeating"):
        fg.grad(lambda p: p.a * p["b"])(Repeating(a=1.0, b=2.0))


class Checked(pyrsistent.PRecord):
    a = pyrsistent.field(type=float)
    b = pyrsistent.field(type=float, invariant=lambda b: (b > 2, "small"))


class Persistent(pyrsistent.PClass):
    a = pyrsistent.field(type=float)
    b = pyrsistent.field(type=float, invariant=lambda b: (b > 2, "small"))
    c = pyrsistent.field()

    def area(self):
        return self.a**2 * self.b


class FloatMap(pyrsistent.CheckedPMap):
    __key_type__ = str
    __value_type__ = float


def test_persistent_records_and_classes_are_trees_past_the_checks_of_their_fields():
    record = Checked(a=2.0, b=3.0)
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        found = transform(lambda p: p.a * p.b * 0.5)(record)
        assert type(found) is Checked
        assert dict(found) == {"a": 1.5, "b": 1.0}
        found = transform(Persistent.area)(Persistent(a=2.0, b=3.0))
        assert type(found) is Persistent
        assert (found.a, found.b, hasattr(found, "c")) == (12.0, 4.0, False)
        found = transform(lambda p: p["a"] * p["b"])(FloatMap({"a": 2.0, "b": 3.0}))
        assert type(found) is FloatMap
        assert found == {"a": 3.0, "b": 2.0}
    with pytest.raises(AttributeError, match="Can't set attribute"):
        fg.grad(Persistent.area)(Persistent(a=2.0, b=3.0)).a = 1.0


@pytest.mark.parametrize(
    ("tree", "slopes"),
    [
        (collections.Counter(b=2.0, a=3.0), collections.Counter(b=4.0, a=6.0)),
        (pyrsistent.plist([2.0, 3.0]), pyrsistent.plist([4.0, 6.0])),
        (pyrsistent.pdeque([2.0, 3.0], maxlen=2), pyrsistent.pdeque([4.0, 6.0], maxlen=2)),
    ],
)
def test_counters_and_persistent_lists_are_trees(tree, slopes):
    def squares(tree):
        values = tree.values() if isinstance(tree, dict) else tree
        return sum(v * v for v in values)

    for found in (fg.grad(squares)(tree), fg.jit(fg.grad(squares))(tree)):
        assert type(found) is type(slopes)
        assert found == slopes
        assert list(found) == list(slopes)
        assert getattr(found, "maxlen", None) == getattr(slopes, "maxlen", None)


# -- what must not change ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["softplus", "sigmoid", "sin", "exp", "square"])
def test_an_operation_in_a_tree_is_a_function(name):
    op = getattr(fg, name)
    value, slope = float(op(0.5)), fg.grad(op)(0.5)
    apply = fg.jit(lambda g, x: g(x))
    layers = [0.5, op]
    for _ in range(2):
        assert apply(op, 0.5) == pytest.approx(value)
        assert fg.grad(lambda p: p[1](p[0]))(layers) == [pytest.approx(slope), op]
        assert fg.jit(fg.grad(lambda p: p[1](p[0])))(layers) == [pytest.approx(slope), op]
        assert fg.jvp(lambda p: p[1](p[0]), (layers,), ([1.0, None],))[1] == pytest.approx(slope)
        assert fg.vmap(lambda p: p[1](p[0]))([np.full(2, 0.5), op])[1] == pytest.approx(value)
        assert fg.fori_loop(0, 3, lambda i, c: c, (0.5, op)) == (0.5, op)
        assert fg.scan(lambda c, x: (c, c[1](x)), (0.5, op), np.full(2, 0.5))[0] == (0.5, op)
        assert fg.grad(op)(0.5) == pytest.approx(slope)


@dataclasses.dataclass(frozen=True)
class OwnCopy:
    w: float
    b: float

    def __copy__(self):
        return self


@dataclasses.dataclass(frozen=True, slots=True)
class OwnCopyInSlots:
    w: float
    b: float

    def __copy__(self):
        return self


@dataclasses.dataclass
class Single:
    w: float
    b: float

    def __reduce__(self):
        return "SINGLE"


SINGLE = Single(2.0, 3.0)


@pytest.mark.parametrize("tree", [OwnCopy(2.0, 3.0), OwnCopyInSlots(2.0, 3.0), SINGLE], ids=repr)
def test_an_instance_whose_copy_is_itself_does_not_change(tree):
    def product(p):
        return p.w**2 * p.b

    wanted = [12.0, 4.0]
    for found in (fg.grad(product)(tree), fg.jit(fg.grad(product))(tree)):
        assert type(found) is type(tree)
        assert [found.w, found.b] == wanted
        assert [tree.w, tree.b] == [2.0, 3.0]
    assert fg.scan(lambda p, x: (p, p.w * x), tree, np.ones(2))[1].tolist() == [2.0, 2.0]
    assert [tree.w, tree.b] == [2.0, 3.0]


def test_what_jit_returns_has_the_defaults_of_this_call():
    same = fg.jit(lambda tree: tree)
    for kind in (list, int):
        assert same(collections.defaultdict(kind, a=1.0)).default_factory is kind


def test_dataclasses_of_code_that_exec_runs_without_a_name_are_trees():
    home = {"dataclass": dataclasses.dataclass}
    exec("@dataclass\nclass Line:\n    slope: float\n    start: float", home)
    line = home["Line"](2.0, 1.0)
    slope = fg.grad(lambda line: line.slope**2 * line.start)(line)
    assert slope == home["Line"](4.0, 4.0)


@dataclasses.dataclass
class Linked:
    value: float
    next: Any = None


def cyclic_trees():
    items = [1.0]
    items.append(items)
    table = {"a": 1.0}
    table["b"] = (table, 2.0)
    node = Linked(1.0)
    node.next = [Linked(2.0, node)]
    return {"list": items, "dict": table, "Linked": node}


@pytest.mark.parametrize("kind", ["list", "dict", "Linked"])
def test_a_tree_that_contains_itself_is_refused(kind):
    tree = cyclic_trees()[kind]
    calls = [
        lambda: fg.grad(lambda t: 2.0)(tree),
        lambda: fg.jit(lambda t: 2.0)(tree),
        lambda: fg.vmap(lambda t: 2.0)(tree),
        lambda: fg.jit(lambda x: tree)(1.0),
        lambda: fg.tree_add(tree, tree),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=f"but got ({kind}|list), which contains itself"):
            call()
    assert fg.grad(lambda x, t: 2 * x)(1.0, tree) == 2.0


def test_a_tree_that_is_too_deep_is_no_cycle():
    deep = [1.0]
    for _ in range(5000):
        deep = [deep, deep]
    with pytest.raises(RecursionError):
        flatten(deep)
