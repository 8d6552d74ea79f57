"""Attributes of instances, and lists, dicts and tuples of functions and instances, in adopted code."""

import dataclasses
import math
from collections import defaultdict, deque, namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.adoption.containers import DictView, ListView


def square(x):
    return np.asarray(x) ** 2


def sine(x):
    return math.sin(x)


class Marginal:
    def __init__(self, scale):
        self.scale = scale

    def transform(self, x):
        return np.array([x, self.scale])[0] * math.exp(self.scale)


class Model:
    kernels = (sine, square)

    def __init__(self):
        self.inner = Marginal(0.5)
        self.parts = [Marginal(1.0), Marginal(2.0)]
        self.named = {"sine": sine, "none": None}
        self.activation = square
        self.table = np.array([1.0, 2.0])

    def value(self, x):
        total = self.inner.transform(x) + self.named["sine"](x) + self.activation(x)
        for part in self.parts:
            total = total + part.transform(x) * self.kernels[0](x)
        return total + self.table.dot([x, x * x])


KNOWN = []


class Registered:
    def __init_subclass__(cls, **kwargs):
        KNOWN.append(cls)


class Child(Registered):
    def value(self, x):
        return math.cos(x) * len(KNOWN)


Edge = namedtuple("Edge", ["start", "transform"])

MODEL = Model()
CHILD = Child()
TABLE = {"sine": sine, "nested": [("a", square)]}
EDGES = [Edge(0, sine), Edge(1, square)]


def slope(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: MODEL.value(x),
        lambda x: CHILD.value(x),
        lambda x: TABLE["sine"](x) * TABLE["nested"][0][1](x),
        lambda x: sum(edge.transform(x) for edge in EDGES),
        lambda x: EDGES[0].transform(x) + EDGES[-1][1](x),
        lambda x, table=TABLE: next(f(x) for name, f in table.items() if name == "sine"),
        MODEL.value,
        MODEL.parts[0].transform,
    ],
)
def test_what_objects_and_containers_hold_is_adopted(f):
    gradient = fg.grad(fg.adopt(f))
    assert gradient(0.7) == pytest.approx(slope(f, 0.7), rel=1e-8)
    assert fg.jit(gradient)(0.7) == pytest.approx(gradient(0.7), rel=1e-12)
    assert [Child] == KNOWN


def test_what_is_stored_reaches_the_object():
    model = Model()
    third = Marginal(3.0)

    def change(x):
        parts = model.parts
        model.parts.append(third)
        model.named["cos"] = math.cos
        del model.parts[0]
        model.activation = sine
        model.inner.scale = 7.0
        return x * len(parts) * len(model.named)

    assert fg.grad(fg.adopt(change))(2.0) == 6.0
    assert vars(model.parts[-1]) is vars(third)
    assert type(model.parts) is list
    assert len(model.parts) == 2
    assert model.named["cos"](0.0) == 1.0
    assert model.activation(0.5) == math.sin(0.5)
    assert model.inner.scale == 7.0
    del model.activation
    with pytest.raises(AttributeError, match="activation"):
        fg.grad(fg.adopt(lambda x: model.activation(x)))(1.0)


def twice(value):
    return value


def test_a_view_of_a_list_is_a_list():
    original = [sine, square]
    view = ListView(original, twice)
    assert isinstance(view, list)
    assert view == original
    assert [*view] == view[:] == original
    assert square in view
    view.extend([sine])
    assert view.pop() is sine
    view += [math.cos]
    view[0] = math.sin
    view.insert(0, twice)
    view.reverse()
    assert original == list(view) == [math.cos, square, math.sin, twice]
    original.append(1.0)
    assert len(view) == 5
    assert view[-1] == 1.0
    view.clear()
    assert original == []


def test_a_view_of_a_dict_is_a_dict():
    original = {"a": sine}
    view = DictView(original, twice)
    assert isinstance(view, dict)
    assert dict(view) == original == {**view}
    view["b"] = square
    assert view.setdefault("c", 1.0) == 1.0
    view.update(d=2.0)
    view |= {"e": 3.0}
    assert view.pop("d") == 2.0
    assert view.get("nothing", 4.0) == 4.0
    assert list(view) == list(view.keys()) == ["a", "b", "c", "e"]
    assert list(view.values()) == list(original.values())
    assert "b" in view
    del view["a"]
    assert list(original) == ["b", "c", "e"]


def test_types_of_views_are_pythons():
    assert fg.adopt(lambda x: x if type(TABLE) is dict and type(EDGES) is list else 0.0)(3.0) == 3.0
    numbers = [1.0, 2.0]
    assert fg.adopt(lambda: numbers)() is numbers


# -- arrays in containers -------------------------------------------------------------------------
class Options(dict):
    """A dict whose items are attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def total(self, x):
        return sum([math.sin(w * x) for w in self.weights])


class Holder:
    """A class without methods."""


@dataclasses.dataclass
class Parameters:
    a: np.ndarray


A = np.array([1.0, 2.0, 3.0])
DICT, LIST, TUPLE, NESTED = {"a": A}, [A], (A,), {"x": [{"a": A}]}
OPTIONS = Options(a=A, weights=[1.0, 2.0], inner=Options(a=A), f=math.sin)
HOLDER = Holder()
HOLDER.a, HOLDER.items = A, {"a": A}
PARAMETERS = Parameters(A)
HELD = {
    "a dict": lambda: DICT["a"],
    "a list": lambda: LIST[0],
    "a tuple": lambda: TUPLE[0],
    "containers in containers": lambda: NESTED["x"][0]["a"],
    "a loop": lambda: next(iter([a for a in LIST])),  # noqa: C416
    "values": lambda: next(iter(DICT.values())),
    "a subclass of dict": lambda: OPTIONS["a"],
    "an attribute of one": lambda: OPTIONS.inner.a,
    "an instance": lambda: HOLDER.a,
    "a dict of an instance": lambda: HOLDER.items["a"],
    "a dataclass": lambda: PARAMETERS.a,
}


@pytest.mark.parametrize("name", HELD)
def test_a_copy_of_an_array_in_a_container_takes_stores(name):
    held = HELD[name]

    def f(x):
        a = held().copy()
        a[0] = math.sin(x)
        a[1:] *= x
        return (a * held()).sum() + held().sum() * x

    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    for how in (fg.grad(f), fg.jit(fg.grad(f)), lambda x: fg.jvp(f, (x,), (1.0,))[1]):
        assert how(0.7) == pytest.approx(slope, rel=1e-8)
        assert how(0.7) == pytest.approx(slope, rel=1e-8)
    assert fg.jit(f)(0.7) == pytest.approx(f(0.7), rel=1e-14)
    np.testing.assert_array_equal(A, [1.0, 2.0, 3.0])


def test_a_view_of_a_subclass_of_dict_is_one():
    def f(x):
        a = OPTIONS.a.copy()
        a[0] = x
        kinds = (
            type(OPTIONS) is Options,
            isinstance(OPTIONS, dict),
            "a" in OPTIONS,
            len(OPTIONS) == 4,
        )
        held = type(HOLDER) is Holder, HOLDER.__class__ is Holder, isinstance(HOLDER, Holder)
        return (
            a.sum() + OPTIONS.total(x) * sum(kinds) + OPTIONS.f(x) * len([*OPTIONS]) + x * sum(held)
        )

    assert fg.grad(f)(0.7) == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-8)
    assert fg.adopt(lambda: OPTIONS)() is OPTIONS
    assert fg.adopt(lambda: [OPTIONS, {"d": DICT}])() == [OPTIONS, {"d": DICT}]
    assert fg.adopt(lambda x: (math.sin(x), OPTIONS))(0.5)[1] is OPTIONS


def test_what_is_stored_into_a_view_of_a_subclass_of_dict_reaches_it():
    options = Options(a=A, n=0)

    class Counted(dict):
        count = 0

        def __setitem__(self, key, value):
            self.count += 1
            super().__setitem__(key, value)

    counted = Counted(f=math.sin)

    def f(x):
        options.n += 1
        options.w = 2.0
        counted["w"] = 3.0
        return counted["f"](x) * options.w * counted["w"]

    assert fg.adopt(f)(0.5) == 6 * math.sin(0.5)
    assert (options.n, options.w, counted["w"], counted.count) == (1, 2.0, 3.0, 1)


def test_trees_of_views_are_plain_dicts():
    def loss(p, x):
        a = p["a"].copy()
        a[0] = math.sin(x)
        return (a * x).sum()

    def outer(x):
        a = DICT["a"].copy()
        a[0] = x
        return a.sum() * fg.grad(loss)(DICT, x)["a"].sum()

    assert fg.grad(outer)(0.5) == pytest.approx(
        (outer(0.5 + 1e-6) - outer(0.5 - 1e-6)) / 2e-6, rel=1e-7
    )


class Rule:
    def __init__(self):
        self.each = np.vectorize(self.of_one, otypes="d")

    def of_one(self, x):
        stored = np.zeros(2)
        stored[1] = x
        return math.exp(stored.sum())


def test_a_vectorized_method_that_an_instance_holds_is_adopted():
    rule = Rule()
    np.testing.assert_allclose(
        fg.grad(lambda x: rule.each(np.array([x, 2 * x])).sum())(0.5), np.exp(0.5) + 2 * np.e
    )


HELD_ROWS = {"rows": [np.array([5.0]), np.array([5.0, 6.0, 7.0])]}


def chosen_by_mask(x):
    mask = np.array([x[0] < x[1]])
    return np.sum(x) * np.sum(HELD_ROWS["rows"][0][mask]) + np.sum(HELD_ROWS["rows"][0][~mask])


def chosen_by_place(x):
    row = HELD_ROWS["rows"][1][np.array([np.argmax(x)])]
    return np.sum(x) * row[0] * row.ndim


@pytest.mark.parametrize("f", [chosen_by_mask, chosen_by_place])
@pytest.mark.parametrize("x", [[0.5, 0.7], [0.7, 0.5]])
def test_an_array_of_one_entry_is_an_index_as_arrays_are(f, x):
    """NumPy asks for an integer first: a mask of one entry was taken for 0 or 1."""
    x, adopted = np.array(x), fg.adopt(f)
    steps = np.eye(2) * 1e-6
    slope = [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
    for grad in (fg.grad(adopted), fg.jit(fg.grad(adopted)), fg.jacfwd(adopted), fg.grad(f)):
        np.testing.assert_allclose(grad(x), slope, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fg.vmap(adopted)(np.stack([x, x[::-1]])), [f(x), f(x[::-1])])


@pytest.mark.parametrize("traced", [lambda x: np.argmax(x, keepdims=True), lambda x: x[:1] < 1])
def test_an_array_of_one_entry_is_no_index_of_a_list(traced):
    def f(x):
        return x[0] * [1.0, 2.0][traced(x)]

    for g in (f, fg.adopt(f)):
        with pytest.raises(TypeError, match="only integer scalar arrays can be converted"):
            fg.grad(g)(np.array([0.5, 0.7]))


class Gain:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return math.sin(x) * self.by


GAINS = {Gain(2.0), Gain(3.0)}
FIXED_GAINS = frozenset([Gain(2.0), Gain(5.0)])


def test_items_of_sets_are_adopted():
    def f(x):
        return sum([gain(x) for gain in GAINS]) + max([gain(x) for gain in FIXED_GAINS])

    np.testing.assert_allclose(fg.grad(f)(0.5), 10.0 * math.cos(0.5), rtol=1e-12)

    def g(x):
        extra = Gain(1.0)
        GAINS.add(extra)
        total = sum([gain(x) for gain in GAINS])
        GAINS.discard(extra)
        return total * len(GAINS)

    np.testing.assert_allclose(fg.grad(g)(0.5), 12.0 * math.cos(0.5), rtol=1e-12)
    assert sorted([gain.by for gain in GAINS]) == [2.0, 3.0]


class Pairs(list):
    """A list of functions whose sums are made by its class."""

    def __init__(self, functions, name=""):
        super().__init__(functions)
        self.name = name

    def __add__(self, other):
        return self.__class__(super().__add__(other), self.name + other.name)


PAIRS = Pairs([Gain(2.0)], "a"), Pairs([Gain(3.0)], "b")


def test_instances_of_subclasses_of_list_are_made_by_their_class():
    def f(x):
        whole = PAIRS[0] + PAIRS[1]
        assert isinstance(whole, Pairs)
        assert whole.name == "ab"
        return sum([function(x) for function in whole])

    np.testing.assert_allclose(fg.grad(f)(0.5), 5.0 * math.cos(0.5), rtol=1e-12)


@pytest.mark.parametrize("kind", [set, list])
def test_items_that_views_stand_for_are_removed_and_added(kind):
    items = [Gain(2.0), Gain(3.0), Gain(5.0)]
    whole, other = kind(items[:2]), kind(items[2:])

    def f(x):
        for gain in list(whole):
            if gain.by == 2.0:
                whole.remove(gain)
                (other.add if kind is set else other.append)(gain)
        return sum([gain(x) for gain in whole])

    np.testing.assert_allclose(fg.grad(fg.adopt(f))(0.5), 3.0 * math.cos(0.5), rtol=1e-12)
    assert whole == kind([items[1]])
    assert other == kind([items[2], items[0]])


def test_sets_in_results_are_the_originals():
    assert fg.adopt(lambda: GAINS)() is GAINS


# -- containers that hold themselves -------------------------------------------------------------------
def doubled(x):
    return x * 2 if isinstance(x, np.ndarray) else x


OF_THEMSELVES = {
    "list": lambda: [doubled],
    "dict": lambda: {0: doubled},
    "defaultdict": lambda: defaultdict(list, {0: doubled}),
    "deque": lambda: deque([doubled]),
    "list in a dict": lambda: {0: doubled, 1: []},
}


@pytest.mark.parametrize("name", OF_THEMSELVES)
def test_a_container_may_hold_itself(name):
    items = OF_THEMSELVES[name]()
    if name == "list in a dict":
        items[1].append(items)
    elif isinstance(items, dict):
        items["itself"] = items
    else:
        items.append(items)

    def f(x):
        return np.sum(items[0](x))

    assert fg.grad(fg.adopt(f))(np.ones(2)).tolist() == [2.0, 2.0]


PAIRED = {"square": np.square, "inner": {"cube": lambda x: x**3}}
STEPS = [math.sin, lambda x: 2.0 * x]
SET_OF_TWO = {math.sin, math.cos}
LAST = deque([math.sin])
SPACE = SimpleNamespace(act=math.sin)


class Scope(dict):
    """The names of an interpreter."""

    def __init__(self):
        self.outer = None


class Procedure:
    """A function of an interpreter, which keeps the names among which it stands."""

    def __init__(self, scope, factor):
        self.scope, self.factor = scope, factor

    def __call__(self, x):
        return self.factor * self.scope["sine"](x)


def test_a_dict_may_hold_an_object_that_holds_it():
    """Adopted code stores into it an object that it has made, with the view that it has of the dict."""
    scope = Scope()
    scope["sine"] = math.sin

    def define(x):
        scope["f"] = Procedure(scope, 2.0)
        return scope["f"](x)

    def f(x):
        return sum(g(x) for g in scope.values())

    assert fg.grad(define)(0.3) == pytest.approx(2 * math.cos(0.3))
    gradient = fg.jit(fg.grad(f))
    for transformed in (fg.grad(f), gradient, gradient):
        assert transformed(0.3) == pytest.approx(3 * math.cos(0.3))
    scope["f"].factor = 5.0
    assert gradient(0.3) == pytest.approx(6 * math.cos(0.3))


def test_a_container_of_functions_is_one_object_for_adopted_code():
    """`D is D` was False, and what code in C read of one view had not what was stored through another."""
    seen = []

    class Model:
        def __init__(self):
            self.acts = {"sin": math.sin}

    model = Model()

    def f(x):
        seen.append(
            [
                PAIRED is PAIRED,
                STEPS is STEPS,
                SET_OF_TWO is SET_OF_TWO,
                LAST is LAST,
                SPACE is SPACE,
            ]
        )
        seen.append([PAIRED["inner"] is PAIRED["inner"], model.acts is model.acts])
        one, other = PAIRED, PAIRED
        one["kept"] = x
        seen.append([dict.__len__(other) == 3, "kept" in {**other}, dict.get(other, "kept") is x])
        del other["kept"]
        seen.append([dict.__len__(one) == 2])
        first, second = STEPS, STEPS
        first.append(x)
        seen.append([len(list.copy(second)) == 3, list.__len__(second) == 3])
        second.pop()
        seen.append([list.__len__(first) == 2])
        for g in SET_OF_TWO:  # a view is read again while code goes over it
            assert g in SET_OF_TWO
        return math.sin(x) * PAIRED["square"](x)

    expected = math.cos(0.3) * 0.09 + math.sin(0.3) * 0.6
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        seen.clear()
        assert transform(f)(0.3) == pytest.approx(expected)
        assert all(answer for answers in seen for answer in answers), seen
