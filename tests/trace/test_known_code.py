"""Code that changes between two calls is searched again for questions that tell a number from a trace."""

import functools
import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.adoption.levels import adoption_level
from funcgrad.trace import known_code
from funcgrad.trace.known_code import runs_as_it_is
from tests.default_slice import one_in

X = 0.7
RATE = 3.0


def plain(x):
    return 2.0 * x


def asking(x):
    return x * x if isinstance(x, float) else 5.0 * x


KNOWN = {"act": plain}


class Model:
    def __init__(self, act=plain):
        self.act = act

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return self.act(x)


class Slotted:
    __slots__ = ("act",)

    def __init__(self, act):
        self.act = act


def source(*lines):
    return "\n".join(lines)


# The object that f reads, f(x), and the change.
CHANGES = {
    "an item of a list": ("h = [plain]", "h[0](x)", "h[0] = asking"),
    "another list": ("h = [plain]", "h[0](x)", "h = [asking]"),
    "a tuple for a list": ("h = [plain]", "h[0](x)", "h = (asking,)"),
    "a longer list": ("h = [plain]", "h[-1](x)", "h.append(asking)"),
    "a value of a dict": ("h = {'a': plain}", "h['a'](x)", "h['a'] = asking"),
    "a missing value": ("h = {}", "h.get('a', plain)(x)", "h['a'] = asking"),
    "a list in a dict in a dict": (
        "h = {'a': {'b': [plain]}}",
        "h['a']['b'][0](x)",
        "h['a']['b'][0] = asking",
    ),
    "a set": ("h = {plain}", "[*h][0](x)", "h.clear(); h.add(asking)"),
    "a dict of many functions": (
        "h = {k: plain for k in range(100)}",
        "h[70](x)",
        "h[70] = asking",
    ),
    "a defaultdict": (
        "h = collections.defaultdict(lambda: plain)",
        "h['a'](x)",
        "h['a'] = asking",
    ),
    "what a defaultdict makes": (
        "h = collections.defaultdict(lambda: plain)",
        "h['a'](x)",
        "h.clear(); h.default_factory = lambda: asking",
    ),
    "an OrderedDict": (
        "h = collections.OrderedDict(a=plain)",
        "h['a'](x)",
        "h['a'] = asking",
    ),
    "a deque": ("h = collections.deque([plain])", "h[0](x)", "h[0] = asking"),
    "an array of objects": ("h = np.array([plain, abs])", "h[0](x)", "h[0] = asking"),
    "a copy of an array of objects": (
        "h = np.array([plain, abs])",
        "np.concatenate([np.asarray(h), np.array(h)])[2](x) + 0 * np.take(h, 0)(x)",
        "h[0] = asking",
    ),
    "an array of instances": (
        "h = np.array([[Model()], [Model()]])",
        "sum(m(x) for m in h[:, 0]) / len(h)",
        "h[:] = Model(asking)",
    ),
    "a namespace": ("h = types.SimpleNamespace(act=plain)", "h.act(x)", "h.act = asking"),
    "an attribute": ("h = Model()", "h.act(x)", "h.act = asking"),
    "an attribute of an attribute": (
        "h = Model(Model())",
        "h.act.act(x)",
        "h.act.act = asking",
    ),
    "a list of an instance": ("h = Model([plain])", "h.act[0](x)", "h.act[0] = asking"),
    "an attribute that a method reads": ("h = Model()", "h(x)", "h.act = asking"),
    "another instance": ("h = Model()", "h(x)", "h = Model(asking)"),
    "a slot": ("h = Slotted(plain)", "h.act(x)", "h.act = asking"),
    "an attribute of a class": (
        source("class h:", " table = {'a': plain}", " def f(self): pass"),
        "h.table['a'](x)",
        "h.table['a'] = asking",
    ),
    "an attribute of a class, by an instance": (
        source(
            "class H:",
            " table = [plain]",
            " def f(self, x): return self.table[0](x)",
            "h = H()",
        ),
        "h.f(x)",
        "H.table[0] = asking",
    ),
    "a method": (
        source("class H:", " def f(self, x): return 2.0 * x", "h = H()"),
        "h.f(x)",
        "H.f = lambda self, x: asking(x)",
    ),
    "a global that a method reads": (
        source("h = plain", "class H:", " def f(self, x): return h(x)", "m = H()"),
        "m.f(x)",
        "h = asking",
    ),
    "a global that a function reads": (
        source("h = [plain]", "def g(x): return h[0](x)"),
        "g(x)",
        "h = [asking]",
    ),
    "a name that was None": ("h = None", "plain(x) if h is None else h(x)", "h = asking"),
    "a partial function": (
        "h = functools.partial(lambda fs, x: fs[0](x), [plain])",
        "h(x)",
        "h.args[0][0] = asking",
    ),
    "a bound method": ("m = Model(); h = m.forward", "h(x)", "m.act = asking"),
    "a default": (
        source("def h(x, fs=[plain]): return fs[0](x)"),
        "h(x)",
        "h.__defaults__[0][0] = asking",
    ),
    "a keyword default": (
        source("def h(x, *, fs=[plain]): return fs[0](x)"),
        "h(x)",
        "h.__kwdefaults__['fs'] = [asking]",
    ),
    "an attribute of a function": (
        source("def h(x): return h.inner(x)", "h.inner = plain"),
        "h(x)",
        "h.inner = asking",
    ),
    "a list of a function": (
        source("def h(x): return h.inner[0](x)", "h.inner = [plain]"),
        "h(x)",
        "h.inner[0] = asking",
    ),
    "a closure": (
        source(
            "def pair():",
            " act = plain",
            " def change():",
            "  nonlocal act",
            "  act = asking",
            " return change, lambda x: act(x)",
            "change, h = pair()",
        ),
        "h(x)",
        "change()",
    ),
    "a decorated function": (
        source("def over(f): return lambda x: f(x)", "h = over(plain)"),
        "h(x)",
        "h = over(asking)",
    ),
    "what a vectorized function runs": (
        "h = np.vectorize(plain)",
        "h(np.stack([x, x]))[0]",
        "h.pyfunc = asking",
    ),
    "a default that is empty": (
        source("def h(x, c={}): return c['a'](x) if c else 0 * asking(x) + 2.0 * x"),
        "h(x)",
        "h.__defaults__[0]['a'] = asking",
    ),
    "an empty dict of a class": (
        source("class h:", " c = {}", " def f(self, x): return 0 * asking(x)"),
        "h.c['a'](x) if h.c else h().f(x) + 2.0 * x",
        "h.c['a'] = asking",
    ),
    "a namespace of a class": (
        source("class h:", " c = types.SimpleNamespace(f=plain)", " def f(self): pass"),
        "h.c.f(x)",
        "h.c.f = asking",
    ),
    "a method of a metaclass": (
        source(
            "class Meta(type):",
            " def rate(cls, x): return 2.0 * x",
            "class h(metaclass=Meta):",
            " def f(self): pass",
        ),
        "h.rate(x)",
        "Meta.rate = lambda cls, x: asking(x)",
    ),
    "a dict of a metaclass": (
        source("class Meta(type): table = {}", "class h(metaclass=Meta):", " def f(self): pass"),
        "h.table['a'](x) if h.table else plain(x)",
        "h.table['a'] = asking",
    ),
    "an attribute that a module has not": (
        "h = types.ModuleType('own')",
        "getattr(h, 'act', plain)(x) if not hasattr(h, 'ready') else h.act(x)",
        "h.act = asking; h.ready = True",
    ),
    "an attribute that a module has later": (
        "h = types.ModuleType('own'); h.ready = False",
        "h.act(x) if h.ready else plain(x)",
        "h.act = asking; h.ready = True",
    ),
    "a module in an attribute": (
        "m = types.ModuleType('own'); m.act = plain; h = Model(m)",
        "h.act.act(x)",
        "m.act = asking",
    ),
    "an attribute of a module": (
        "h = types.ModuleType('own'); h.act = plain",
        "h.act(x)",
        "h.act = asking",
    ),
}


def changing(name, wrapped):
    """A function, a change of what it reads, and the names of both."""
    import collections
    import types

    space = {"plain": plain, "asking": asking, "Model": Model, "Slotted": Slotted, "np": np}
    space |= {"collections": collections, "functools": functools, "types": types}
    setup, body, change = CHANGES[name]
    exec(setup, space)
    f = eval(f"lambda x: {body}", space)
    return wrapped(f), lambda: exec(change, space)


WRAPPED = {
    "the function": lambda f: f,
    "called by another": lambda f: lambda x: f(x),
    "a partial function": lambda f: functools.partial(lambda g, x: g(x), f),
    "an instance": Model,
}


@pytest.mark.parametrize(("name", "wrapped"), one_in(3, itertools.product(CHANGES, WRAPPED)))
def test_changes_between_two_calls_are_noticed(name, wrapped):
    f, change = changing(name, WRAPPED[wrapped])
    slope = fg.grad(f)
    for _ in range(3):
        assert slope(X) == 2.0
    change()
    assert slope(X) == fg.jvp(f, (X,), (1.0,))[1] == fg.jit(fg.grad(f))(X) == 2 * X
    assert fg.grad(slope)(X) == 2.0


def test_a_name_that_is_defined_after_an_error():
    space = {}
    f = eval("lambda x: later(x)", space)
    with pytest.raises(NameError):
        fg.grad(f)(X)
    space["later"] = asking
    assert fg.grad(f)(X) == 2 * X


# -- arguments -------------------------------------------------------------------------------------
CONTAINERS = {
    "a dict": (lambda h: {"a": h}, lambda x, d: d["a"](x)),
    "a list": (lambda h: [h], lambda x, d: d[0](x)),
    "an array": (lambda h: np.array([h, None]), lambda x, d: d[0](x)),
    "a tuple": (lambda h: (1, h), lambda x, d: d[1](x)),
    "nested": (lambda h: [(1, {"a": h})], lambda x, d: d[0][1]["a"](x)),
    "an instance": (Model, lambda x, d: d.act(x)),
    "an instance in a list": (lambda h: [Model(h)], lambda x, d: d[0](x)),
    "a slot": (Slotted, lambda x, d: d.act(x)),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_functions_in_containers_that_are_arguments(name):
    made, f = CONTAINERS[name]
    for inner, slope in ((plain, 2.0), (asking, 2 * X), (np.sin, np.cos(X)), (plain, 2.0)):
        assert fg.grad(f)(X, made(inner)) == slope
        assert fg.grad(f)(X, d=made(inner)) == slope
        held = made(inner)
        assert fg.grad(lambda x, held=held: f(x, held))(X) == slope
        assert fg.vmap(fg.grad(f), in_axes=(0, None))(np.array([X]), made(inner)) == [slope]


def test_a_function_in_the_tree_that_is_differentiated():
    def f(d):
        return d["act"](d["x"])

    assert fg.grad(f)({"act": asking, "x": X})["x"] == 2 * X
    assert fg.jit(fg.grad(f))({"act": asking, "x": X})["x"] == 2 * X


def test_stores_into_a_container_of_functions_reach_the_caller():
    def f(x, d):
        d["calls"].append(1)
        d["last"] = 3.0
        return d["act"](x)

    given = {"act": asking, "calls": []}
    assert fg.grad(f)(X, given) == 2 * X
    assert given == {"act": asking, "calls": [1], "last": 3.0}


# -- the way of a call that is known ---------------------------------------------------------------
def of_plain_code():
    """An instance of a class that no test has searched."""

    class OfPlainCode:
        inner = Slotted([plain, {"a": np.ones(3)}])

        def __call__(self, x):
            return self.inner.act[0](x)

        def f(self, x, k=RATE):
            return self(x) * k

    return OfPlainCode()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, k=2.0: k * np.sin(x),
        lambda x: KNOWN["act"](x) * RATE,
        of_plain_code(),
        of_plain_code().f,
        functools.partial(lambda a, x: a * x, 3.0),
    ],
)
def test_functions_that_do_not_change_are_searched_once(f):
    assert not runs_as_it_is(f, [X])
    assert adoption_level(f, [X]) == 0
    assert runs_as_it_is(f, [X])
    assert runs_as_it_is(f, [[1.0, {"a": (X,)}]])
    assert not runs_as_it_is(f, [[1.0, {"a": (asking,)}]])


def test_closures_that_are_made_anew_are_each_searched_once(monkeypatch):
    def nested(count):
        made = plain
        for _ in range(count):

            def made(x, inner=made):
                return inner(x) + 1.0

        return made

    assert adoption_level(nested(1), [X]) == 0
    searched = []
    behind = known_code._behind
    monkeypatch.setattr(
        known_code, "_behind", lambda item, classes: searched.append(item) or behind(item, classes)
    )
    assert adoption_level(nested(20), [X]) == 0
    assert len(searched) < 60
    assert fg.grad(nested(20))(X) == 2.0


def test_classes_that_are_equal_are_searched_each():
    class Equal(type):
        def __eq__(cls, other):
            return isinstance(other, Equal)

        def __hash__(cls):
            return 1

    def of(function):
        class Own(metaclass=Equal):
            def value(self, x):
                return function(x)

        return Own()

    first, second = of(plain), of(asking)
    assert fg.grad(lambda x: first.value(x) + second.value(x))(X) == 2.0 + 2 * X


def test_a_name_of_an_object_whose_class_raises_an_error():
    class Lazy:
        ready = False

        @property
        def __class__(self):
            if not Lazy.ready:
                raise RuntimeError
            return Lazy

    lazy = Lazy()

    class Own:
        def first(self):
            return lazy

        def value(self, x):
            return asking(x)

    own = Own()
    for ready in (False, True):
        Lazy.ready = ready
        assert fg.grad(lambda x: own.value(x))(X) == 2 * X


def test_properties_of_names_of_classes_that_hold_their_class():
    class Lazy:
        factor = 2.0

        @property
        def __class__(self):
            return Lazy

        @property
        def __name__(self):
            return Lazy.__qualname__

        @property
        def __dict__(self):
            return {"factor": Lazy.factor}

        def value(self, x):
            return asking(x) * type(self).factor * self.__dict__["factor"]

    lazy = Lazy()

    def f(x):
        return lazy.value(x) * isinstance(lazy, Lazy) * lazy.__name__.endswith("Lazy")

    assert fg.grad(fg.adopt(f))(X) == fg.grad(f)(X) == 8 * X


def test_an_item_far_in_a_long_list_of_instances():
    held, other = [Model(asking) for _ in range(300)], [plain]
    assert fg.grad(lambda x, rows: rows[290](x))(X, held) == 2 * X
    assert fg.grad(lambda x: [*held][290](x) + next(reversed(held))(x))(X) == 4 * X
    assert fg.grad(lambda x: (held + other)[290](x) + (2 * held)[400](x))(X) == 4 * X
    assert fg.grad(lambda x: held.copy()[290](x))(X) == 2 * X
    table = dict(enumerate(held))
    assert fg.grad(lambda x: table[290](x) + table.copy()[290](x))(X) == 4 * X


def test_objects_that_refer_to_each_other():
    one, other = Model(), Model()
    one.act, other.act = other, [one]
    one.more = other.more = plain
    f = lambda x: one.more(x) + other.more(x)  # noqa: E731
    assert fg.grad(f)(X) == 4.0
    other.more = asking
    assert fg.grad(f)(X) == 2.0 + 2 * X


def test_classes_and_functions_are_let_go():
    import gc
    import weakref

    def made():
        class Local:
            table = (plain,)

            def f(self, x):
                return self.table[0](x)

        own = Local()
        f = lambda x: own.f(x)  # noqa: E731
        assert fg.grad(f)(X) == 2.0
        return weakref.ref(Local), weakref.ref(f)

    kept = made()
    gc.collect()
    assert [ref() for ref in kept] == [None, None]
