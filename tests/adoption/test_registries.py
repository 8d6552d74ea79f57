"""Functions and classes that containers hold, or that names in text lead to: adopted from the first call."""

import copy
import dataclasses
import inspect
import math
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import ClassVar
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.adoption.containers import DictView


def double(x):
    return x * 2.0 if isinstance(x, float) else x * 3.0


class Plugin:
    registry: ClassVar[dict[str, type]] = {}

    def __init_subclass__(cls, **kwargs):
        Plugin.registry[cls.__name__] = cls

    def run(self, x):
        return 0.0 * x


class Doubling(Plugin):
    def run(self, x):
        return double(x)


class Handlers:
    def __init__(self):
        self.table = {"double": [double]}

    def __call__(self, x):
        return self.table["double"][0](x)


def root(x):
    return math.sqrt(x) * 2.0 if x > 0 else x


MODULE = {
    "by its name": lambda x: getattr(sys.modules[__name__], "ro" + "ot")(x),
    "got": lambda x: sys.modules.get(__name__).root(x),
    "its attributes": lambda x: vars(sys.modules[__name__])["root"](x),
    "its members": lambda x: dict(inspect.getmembers(sys.modules[__name__]))["root"](x),
    "its classes": lambda x: sum(
        [kind().rooted(x) for _, kind in inspect.getmembers(sys.modules[__name__], is_rooted)]
    ),
    "no module": lambda x: math.sqrt(min(x, sys.float_info.max)) * 2.0,
}


class Rooted:
    pass


class OfRoots(Rooted):
    def rooted(self, x):
        return root(x)


def is_rooted(item):
    return inspect.isclass(item) and item is not Rooted and issubclass(item, Rooted)


@pytest.mark.parametrize("f", MODULE.values(), ids=MODULE)
def test_modules_that_code_finds_in_the_table_of_modules_are_adopted(f):
    assert fg.value_and_grad(f)(4.0) == (4.0, 0.5)
    assert fg.jvp(f, (4.0,), (1.0,)) == (4.0, 0.5)
    assert fg.jit(fg.grad(f))(4.0) == 0.5


def test_the_table_of_modules_is_not_copied_each_time_that_code_asks_it(monkeypatch):
    f = fg.adopt(lambda name: sys.modules[name].root)
    assert f(__name__) is not root

    def copied(self):
        raise AssertionError("the table is copied")

    monkeypatch.setattr(DictView, "renew", copied)
    assert f(__name__) is not root
    late = ModuleType("fgtest_late")
    late.root = root
    monkeypatch.setitem(sys.modules, "fgtest_late", late)
    assert f("fgtest_late") is f(__name__)


TABLE = {"double": double}
NESTED = {"double": ("of floats", [double])}
PROXY = MappingProxyType({"double": double})
INSTANCES = (Doubling(),)
HANDLERS = Handlers()


def with_closure():
    table = [double]
    return lambda x: table[0](x)


CASES = {
    "dict": lambda x: TABLE["double"](x),
    "nested": lambda x: NESTED["double"][1][0](x),
    "proxy": lambda x: PROXY["double"](x),
    "instances": lambda x: INSTANCES[0].run(x),
    "class": lambda x: Plugin.registry["Doubling"]().run(x),
    "instance": lambda x: HANDLERS(x),
    "callable": HANDLERS,
    "closure": with_closure(),
    "globals": lambda x: globals()["double"](x),
    "eval": lambda x: eval("double(x)"),
    "names of eval": lambda x: eval("double(y)", globals(), {"y": x}),
}


def executed(x):
    space = {}
    exec("def double(y):\n    return y * 2.0 if isinstance(y, float) else y * 3.0", space)
    return space["double"](x)


@pytest.mark.parametrize("f", [*CASES.values(), executed], ids=[*CASES, "exec"])
def test_what_containers_and_text_hold_is_adopted(f):
    assert fg.value_and_grad(f)(0.5) == (1.0, 2.0)
    assert fg.jvp(f, (0.5,), (1.0,)) == (1.0, 2.0)
    assert fg.jit(fg.grad(f))(0.5) == 2.0
    assert fg.vmap(f)(np.array([0.5, 1.0])).tolist() == [1.0, 2.0]


class Shape:
    """Its subclasses are found by name, without a register."""

    @classmethod
    def named(cls, name):
        return {kind.__name__: kind for kind in cls.__subclasses__()}[name]()


class Square(Shape):
    def area(self, x):
        return double(x) * x


class Disk(Shape):
    def area(self, x):
        return math.pi * x**2


class Mark:
    pass


class Marked(Mark):
    def area(self, x):
        return double(x)


class Remarked(Marked):
    def area(self, x):
        return 3.0 * super().area(x)


def below(kind):
    return [found for own in kind.__subclasses__() for found in (own, *below(own))]


def local_subclasses(x):
    class Ring(Shape):
        def area(self, x):
            return double(x)

    found = [kind for kind in Shape.__subclasses__() if kind.__name__ == "Ring"]
    return found[-1]().area(x)


SUBCLASSES = {
    "by name": (
        lambda x: Shape.named("Square").area(x) + Shape.named("Disk").area(x),
        4.0 + 2 * math.pi,
    ),
    "all": (lambda x: sum([kind().area(x) for kind in Shape.__subclasses__()]), 4.0 + 2 * math.pi),
    "counted": (lambda x: len(Shape.__subclasses__()) * x, 2.0),
    "of a class without methods": (lambda x: Mark.__subclasses__()[0]().area(x), 2.0),
    "of subclasses": (lambda x: sum([kind().area(x) for kind in below(Mark)]), 8.0),
    "local": (local_subclasses, 2.0),
}


@pytest.mark.parametrize(("f", "slope"), SUBCLASSES.values(), ids=SUBCLASSES)
def test_subclasses_that_a_class_lists_are_the_adopted_ones(f, slope):
    for _ in range(2):  # the first run makes the adopted classes
        assert fg.grad(f)(1.0) == pytest.approx(slope)
    assert fg.jvp(f, (1.0,), (1.0,))[1] == pytest.approx(slope)
    assert fg.jit(fg.grad(f))(1.0) == pytest.approx(slope)


class Tree:
    def __init__(self, parent=None):
        self.children = []
        self.above = [parent] if parent is not None else []
        if parent is not None:
            parent.children.append(self)

    def total(self, x):
        return x * x + sum([child.total(x) for child in self.children])


def test_containers_that_hold_themselves_are_searched_once():
    root = Tree()
    for _ in range(3):
        Tree(root)
    loop = [root]
    loop.append(loop)
    named = {"loop": loop}
    named["self"] = named
    assert fg.grad(lambda x: loop[0].total(x) + named["loop"][0].total(x))(2.0) == 32.0
    assert fg.grad(root.total)(2.0) == 16.0


def halve(x):
    return x * 0.5 if isinstance(x, float) else 0.0 * x


class Kind:
    def value(self, x):
        return halve(x)


class Reader:
    def __init__(self, kind):
        self.kind = kind

    def __call__(self, x):
        for name, known in READERS:
            for base in self.kind.__mro__:
                if base is known:  # which comes before a base that is equal to it
                    return READERS[name, known](x)
                if base in {key[1] for key in READERS}:
                    break
        return 0.0 * x


class ForClass(property):
    def __get__(self, instance, owner=None):
        return self.fget(owner)


class Kept(property):
    def __init__(self, method):
        super().__init__(lambda instance: self.method(instance))
        self.method, self.name = method, method.__name__

    def __get__(self, instance, owner=None):
        if self.name not in vars(instance):
            vars(instance)[self.name] = self.method(instance)
        return vars(instance)[self.name]


class Table(Kind):
    read = ForClass(Reader)

    def __init__(self, x=1.0):
        self.x = x

    @Kept
    def halved(self):
        return halve(self.x)


READERS = {("text", Kind): double, ("text", Table): halve}
WEIGHTS = {double: 3.0, halve: 5.0, Kind: 7.0}
ORDERED = OrderedDict([(double, 3.0), (halve, 5.0)])
MAKING = defaultdict(float, {halve: 5.0})
SLOPES = {double: halve, halve: double}
METHODS = {Kind().value: 2.0, math.sin: 3.0}
SINE = math.sin
ASKED = {"kind": isinstance, "has": hasattr}
CONSTRAINTS = [callable, None]
COUNTS = Counter([double, double, halve])
WEAK = WeakKeyDictionary({double: 3.0, Kind: halve})
WEAK_ITEMS = WeakSet([double, Kind])


@dataclasses.dataclass
class Settings:
    slopes: dict = dataclasses.field(default_factory=lambda: {double: halve})
    steps: list = dataclasses.field(default_factory=lambda: [double])


SETTINGS = Settings()


@dataclasses.dataclass(frozen=True)
class Rule:
    order: int
    f: object = double


RULES = {Rule(1): 3.0, Rule(2): 5.0}
BY_KEY = {
    "get": lambda x: x * (WEIGHTS[halve] + WEIGHTS.get(double, 0.0) + WEIGHTS.get(Kind, 0.0)),
    "in": lambda x: x * (1 + (halve in WEIGHTS)) * (1 + (halve not in SLOPES)),
    "of functions": lambda x: SLOPES[halve](x) + SLOPES[double](x),
    "called": lambda x: sum(key(x) * weight for key, weight in WEIGHTS.items() if key is not Kind),
    "instances": lambda x: sum(key().value(x) for key in WEIGHTS if key is Kind),
    "the largest": lambda x: max(WEIGHTS, key=WEIGHTS.get)().value(x),
    "keys": lambda x: sum(key(x) for key in SLOPES.keys() & {double}),
    "copies": lambda x: x * (dict(WEIGHTS)[halve] + {**WEIGHTS}[double] + WEIGHTS.copy()[Kind]),
    "ordered": lambda x: (
        x * ORDERED[halve] + next(reversed(ORDERED))(x) + list(ORDERED.keys())[-1](x)
    ),
    "made": lambda x: x * (MAKING[halve] + MAKING.get(double, 1.0)),
    "builtin": lambda x: x * METHODS.get(SINE, 0.0),
    "records": lambda x: x * (RULES[Rule(1)] + RULES.get(Rule(2), 0.0) + RULES.get(Rule(3), 7.0)),
    "of records": lambda x: sum(rule.f(x) * weight for rule, weight in RULES.items()),
    "questions": lambda x: (
        x * ASKED["kind"](x, float) * (CONSTRAINTS[0] is callable) * CONSTRAINTS[0](halve)
    ),
    "counted": lambda x: x * (COUNTS[double] + COUNTS[Kind]) + COUNTS.most_common(1)[0][0](x),
    "sum of counts": lambda x: (
        x * (COUNTS + Counter([double]))[double] * len(COUNTS - Counter([halve]))
    ),
    "weak": lambda x: (
        x * (WEAK[double] + (double in WEAK)) + WEAK.get(Kind)(x) + WEAK.get(halve, 1.0)
    ),
    "weak keys": lambda x: (
        sum(key(x) for key, value in WEAK.items() if key is not Kind) + len(WEAK)
    ),
    "weak set": lambda x: (
        x * (double in WEAK_ITEMS) + sum(x for item in WEAK_ITEMS if item is Kind)
    ),
    "copied": lambda x: copy.copy(SLOPES)[halve](x) + copy.copy([*SLOPES.items()])[0][0](x),
    "asdict": lambda x: dataclasses.asdict(SETTINGS)["slopes"][double](x) * len(SETTINGS.steps),
    "read only": lambda x: x * MappingProxyType(WEIGHTS)[halve],
    "tuples": lambda x: READERS["text", Kind](x),
    "identity": lambda x: Table.read(x),
    "kept": lambda x: Table(x).halved * x,
}


@pytest.mark.parametrize("f", BY_KEY.values(), ids=BY_KEY.keys())
def test_functions_and_classes_are_found_as_keys(f):
    x, step = 1.5, 1e-6
    slope = (f(x + step) - f(x - step)) / (2 * step)
    assert fg.adopt(f)(x) == f(x)
    assert fg.value_and_grad(f)(x) == pytest.approx((f(x), slope), rel=1e-8)
    assert fg.jit(fg.grad(f))(x) == pytest.approx(slope, rel=1e-8)


def test_stores_under_a_function_reach_the_original():
    weights = {double: 3.0}

    def f(x):
        weights[double] = 4.0
        weights.setdefault(double, 5.0)
        weights.update({double: 4.0})
        return x * weights.pop(double) + len(weights)

    assert fg.adopt(f)(1.0) == 4.0
    assert weights == {}

    def g(x):
        WEAK[double] = 5.0
        COUNTS[double] += 1
        WEAK_ITEMS.discard(double)
        WEAK_ITEMS.add(double)
        COUNTS.subtract({double: 1})
        return x * WEAK[double] * COUNTS[double]

    assert fg.grad(g)(1.0) == 10.0
    assert (WEAK.pop(double), len(WEAK), COUNTS[double], len(WEAK_ITEMS)) == (5.0, 1, 2, 2)
    WEAK[double] = 3.0


NAMES = {double, halve}
HELD = [double, np.zeros(2)]
QUEUE = deque([halve, double])
NAMESPACE = SimpleNamespace(slope=double, steps=np.zeros(2))
TABLES = {"slopes": {double: 3.0}, "all": HELD}


def _stored_in_list(x):
    held = copy.deepcopy(HELD)
    held[1][0] = x
    held.append(double)
    return held[0](held[1][0]) * len(held) + held.index(double)


def _stored_in_namespace(x):
    held = copy.deepcopy(NAMESPACE)
    held.steps[1] = x
    return held.slope(x) * held.steps[1]


COPIES = {
    "set": lambda x: x * ((double in copy.copy(NAMES)) + (halve in copy.deepcopy(NAMES))),
    "set that grows": lambda x: x * len({*copy.deepcopy(NAMES), double, halve}),
    "list": _stored_in_list,
    "deque": lambda x: copy.deepcopy(QUEUE)[1](x) * (double in copy.deepcopy(QUEUE)),
    "dict": lambda x: x * copy.deepcopy(WEIGHTS)[double] + copy.deepcopy(SLOPES)[double](x),
    "ordered": lambda x: sum(k(x) * v for k, v in copy.deepcopy(ORDERED).items()),
    "counter": lambda x: x * copy.deepcopy(COUNTS)[double],
    "namespace": _stored_in_namespace,
    "nested": lambda x: x * copy.deepcopy(TABLES)["slopes"][double],
}


@pytest.mark.parametrize("f", COPIES.values(), ids=COPIES.keys())
def test_copies_hold_the_functions_of_adopted_code(f):
    x, step = 1.5, 1e-6
    slope = (f(x + step) - f(x - step)) / (2 * step)
    assert fg.adopt(f)(x) == f(x)
    assert fg.value_and_grad(fg.adopt(f))(x) == pytest.approx((f(x), slope), rel=1e-8)
    assert len(HELD) == 2
    assert not np.any(HELD[1])
