"""No result of a jitted function is stale: a change of what it reads, however it reads it, is noticed."""

import collections
import functools
import itertools
import operator
import random
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

import funcgrad as fg


class Model:
    def __init__(self):
        self.w = 2.0
        self.layers = [1.0, 2.0]
        self.params = {"w": 3.0, "a": {"b": 4.0}}

    def scaled(self, x):
        return x * self.w

    def helped(self, x):
        return helper(self, x)

    def __getitem__(self, place):
        return self.layers[place]


class Computed:
    def __init__(self):
        self.table = {"w": 2.0}

    def __getattr__(self, name):
        return self.__dict__["table"][name]


class Net:
    def __init__(self):
        self.layers = [Model(), Model()]

    def forward(self, x):
        for layer in self.layers:
            x = layer.scaled(x)
        return x


def helper(model, x):
    return model.w * x


def deeper(model, x):
    return helper(model, x)


def with_default(items):
    def f(x, items=items):
        return x * items[0]

    return f


def in_alias(models):
    def f(x):
        chosen = models[0]
        return x * chosen.w

    return f


def in_loop(models):
    def f(x):
        for model in models:
            x = x * model.w
        return x

    return f


def replaced(function):
    class Own:
        def method(self, x):
            return 2 * x

    own = Own()
    return (lambda x: own.method(x)), lambda: setattr(Own, "method", function)


def widen(model):
    model.w = 5.0


def put(items, place, value):
    items[place] = value


def case(made, f, change):
    """Something, a function of it, and a change of it."""
    return lambda: (lambda held: (f(held), functools.partial(change, held)))(made())


def first(items):
    return lambda x: x * items[0]


CASES = {
    "a helper's attribute": case(Model, lambda m: m.helped, widen),
    "a helper of a helper": case(Model, lambda m: lambda x: deeper(m, x), widen),
    "a helper in a partial": case(
        Model, lambda m: lambda x: functools.partial(helper, m)(x), widen
    ),
    "an inner function": case(Model, lambda m: lambda x: (lambda q: q.w * x)(m), widen),
    "an alias": case(lambda: [Model()], in_alias, lambda m: widen(m[0])),
    "a loop over instances": case(lambda: [Model()], in_loop, lambda m: widen(m[0])),
    "a loop over layers": case(Net, lambda n: n.forward, lambda n: widen(n.layers[1])),
    "a map": case(
        lambda: [Model()],
        lambda m: lambda x: next(map(functools.partial(helper, x=x), m)),
        lambda m: widen(m[0]),
    ),
    "getattr": case(Model, lambda m: lambda x: x * getattr(m, "wv"[:1]), widen),
    "attrgetter": case(Model, lambda m: lambda x: x * operator.attrgetter("w")(m), widen),
    "vars": case(Model, lambda m: lambda x: x * vars(m)["w"], widen),
    "__getitem__": case(Model, lambda m: lambda x: x * m[0], lambda m: put(m.layers, 0, 5.0)),
    "__getattr__": case(Computed, lambda c: lambda x: x * c.w, lambda c: put(c.table, "w", 5.0)),
    "hasattr": case(
        types.SimpleNamespace,
        lambda s: lambda x: x * 2 if hasattr(s, "w") else x,
        lambda s: setattr(s, "w", 1.0),
    ),
    "a replaced method": lambda: replaced(lambda self, x: 5 * x),
    "a list": case(lambda: [2.0], first, lambda a: put(a, 0, 5.0)),
    "a loop over a list": case(
        lambda: [2.0, 3.0], lambda a: lambda x: sum(x * v for v in a), lambda a: put(a, 0, 5.0)
    ),
    "a list that grows": case(
        lambda: [2.0], lambda a: lambda x: x * len(a), lambda a: a.append(1.0)
    ),
    "a list of a default": case(lambda: [2.0], with_default, lambda a: put(a, 0, 5.0)),
    "a list of functions": case(
        lambda: [np.sin, np.cos],
        lambda a: lambda x: next(g(x) for g in a),
        lambda a: put(a, 0, np.exp),
    ),
    "a variable key": case(
        lambda: {"w": 2.0},
        lambda d: lambda x: sum(x * d[k] for k in ["w"]),
        lambda d: put(d, "w", 5.0),
    ),
    "dict.get": case(
        lambda: {"w": 2.0}, lambda d: lambda x: x * d.get("w"), lambda d: put(d, "w", 5.0)
    ),
    "values": case(
        lambda: {"w": 2.0}, lambda d: lambda x: x * sum(d.values()), lambda d: put(d, "w", 5.0)
    ),
    "a renamed key": case(
        lambda: {"w": 2.0},
        lambda d: lambda x: x * len(next(iter(d))),
        lambda d: put(d, "long", d.pop("w")),
    ),
    "a nested dict": case(
        Model,
        lambda m: lambda x: x * m.params["a"]["b"],
        lambda m: put(m.params["a"], "b", 9.0),
    ),
    "a set": case(lambda: {2.0}, lambda s: lambda x: x * sum(s), lambda s: (s.clear(), s.add(5.0))),
    "a deque": case(lambda: collections.deque([2.0]), first, lambda a: put(a, 0, 5.0)),
    "a bytearray": case(lambda: bytearray(b"a"), first, lambda a: put(a, 0, 5)),
    "an ordered dict": case(
        lambda: collections.OrderedDict(w=2.0),
        lambda d: lambda x: x * d["w"],
        lambda d: put(d, "w", 5.0),
    ),
    "a default dict": case(
        lambda: collections.defaultdict(float),
        lambda d: lambda x: x * d.get("w", 2.0),
        lambda d: put(d, "w", 5.0),
    ),
    "a UserList": case(lambda: collections.UserList([2.0]), first, lambda a: put(a, 0, 5.0)),
    "a named tuple": case(
        lambda: collections.namedtuple("Pair", "m")(Model()),
        lambda t: lambda x: x * t.m.w,
        lambda t: widen(t.m),
    ),
    "an array in a list": case(
        lambda: [np.ones(3)],
        lambda a: lambda x: sum(np.sum(x * v) for v in a),
        lambda a: put(a[0], 0, 5.0),
    ),
}


def large():
    return np.ones(20_000)


CASES |= {
    "the sum of a large array": case(
        large, lambda a: lambda x: x * a.sum(), lambda a: put(a, 0, 5.0)
    ),
    "an entry of a large array": case(large, first, lambda a: put(a, 0, 5.0)),
    "a condition on a large array": case(
        large, lambda a: lambda x: x if a[0] > 2 else 2 * x, lambda a: put(a, 0, 5.0)
    ),
    "a slice of a large array": case(
        large, lambda a: lambda x: np.sum(x * a[:5]), lambda a: put(a, 0, 5.0)
    ),
    "entries that change places": case(
        lambda: np.arange(20_000.0), first, lambda a: put(a, slice(None), a[::-1].copy())
    ),
    "a large array in a list": case(
        lambda: [large()], lambda a: lambda x: x * a[0].mean(), lambda a: put(a[0], 0, 5.0)
    ),
    "an array of an instance of a package": case(
        lambda: np.poly1d([2.0, 1.0]),
        lambda p: lambda x: p(x),
        lambda p: put(p.coeffs, 0, 5.0),
    ),
    "a large array that a program reads": case(
        large, lambda a: lambda x: np.sum(x * a), lambda a: put(a, 0, 5.0)
    ),
    "a large array that two signatures read": case(
        large,
        lambda a: lambda x: np.sum(x * a) if x > 0 else x * a[0],
        lambda a: put(a, 0, 5.0),
    ),
}


def scaled_rule(scale):
    f = fg.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, g: (g * x * scale[0],))
    return f


CASES |= {
    "a derivative rule": case(lambda: [2.0], scaled_rule, lambda a: put(a, 0, 5.0)),
    "a partial of a primitive": case(
        lambda: [2.0],
        lambda a: fg.primitive(lambda x: x * x, [lambda x: x * a[0]]),
        lambda a: put(a, 0, 5.0),
    ),
}


@pytest.mark.parametrize("how", [lambda f: f, fg.grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", CASES)
def test_a_change_is_noticed(name, how):
    f, change = CASES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constant function has gradient zero
        jitted, plain = fg.jit(how(f)), how(f)
        for _ in range(3):
            assert jitted(2.0) == pytest.approx(plain(2.0))
        before = plain(2.0)
        change()
        for _ in range(3):
            assert jitted(2.0) == pytest.approx(plain(2.0))
        assert how is not fg.grad or plain(2.0) != before


@pytest.mark.parametrize("how", [lambda f: f, fg.grad], ids=["value", "gradient"])
def test_code_that_ipythons_autoreload_has_edited_is_noticed(how, monkeypatch):
    monkeypatch.setitem(
        sys.modules, "IPython.extensions.autoreload", types.ModuleType("autoreload")
    )

    def helper(x):
        return 2 * x

    def model(x):
        return helper(x) ** 2

    def inner(x):
        return 20 * x

    def edited(x):
        return inner(x) ** 3

    jitted = fg.jit(how(lambda x: model(x)))
    assert jitted(3.0) == pytest.approx(how(model)(3.0))
    helper.__code__ = inner.__code__
    assert jitted(3.0) == pytest.approx(how(lambda x: (20 * x) ** 2)(3.0))
    model.__code__ = edited.__code__
    assert jitted(3.0) == pytest.approx(how(lambda x: (20 * x) ** 3)(3.0))


def test_what_is_not_read_may_change():
    model, log = Model(), []
    model.steps = 0

    def f(x):
        log.append("a call")  # its own log is none of its inputs
        return x * model.w

    jitted = fg.jit(f)
    for _ in range(5):
        model.steps += 1
        log.append("outside")
        assert jitted(3.0) == 6.0
    assert len(jitted.explain_misses().splitlines()) == 1


def test_what_a_primitive_runs_is_read_at_each_call():
    calls = []
    sine = fg.primitive(lambda x: calls.append(1) or np.sin(x), [np.cos])
    jitted = fg.jit(lambda x: sine(x) * 2)
    for x in (1.0, 2.0, 3.0):
        assert jitted(x) == 2 * np.sin(x)
    assert len(jitted.explain_misses().splitlines()) == 1


def test_a_large_array_that_the_program_reads_is_not_copied():
    held = large()
    jitted = fg.jit(lambda x: np.sum(held * x) + np.sum(held[1:] * x))
    jitted(1.0)
    for k in range(3):
        held[1] = k
        assert jitted(1.0) == np.sum(held) + np.sum(held[1:])
    assert len(jitted.explain_misses().splitlines()) == 1


def test_a_function_that_reaches_very_much_says_so():
    table = {k: [k] for k in range(12_000)}
    with pytest.warns(UserWarning, match="reaches more than 10000 values"):
        assert fg.jit(lambda x: x * table[1][0])(2.0) == 2.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.int64, np.float32, np.float64, np.bool_, np.datetime64])
def test_numbers_of_numpy_in_a_list_are_noticed_and_lead_to_nothing(kind):
    held = [kind(k, "D") if kind is np.datetime64 else kind(k) for k in range(12_000)]
    jitted = fg.jit(lambda x: x * float(held[1].astype(float)))
    assert jitted(2.0) == 2.0
    held[1] = held[0]
    assert jitted(2.0) == 0.0


# -- random draws ----------------------------------------------------------------------------------
class Noisy:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def noise(self, x):
        return x * self.rng.normal()


def draws():
    rng, legacy, python = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
    normal = vars(np.random)["normal"]
    yield "numpy.random", lambda x: x * normal()
    yield "rng", lambda x: np.sum(x * rng.normal(size=3))
    yield "legacy", lambda x: x * legacy.uniform()
    yield "random", lambda x: x * random.random()
    yield "python", lambda x: x * python.random()
    yield "self.rng", Noisy().noise


@pytest.mark.parametrize(("name", "f"), list(draws()))
def test_random_draws_are_told_of(name, f):
    for how in (lambda f: f, fg.grad):
        jitted = fg.jit(how(f))
        with pytest.warns(
            UserWarning, match=f"draws random numbers from {name}.* while it is traced"
        ):
            once = jitted(1.0)
        assert jitted(1.0) == once


@pytest.mark.parametrize(
    ("draw", "warned"), [("np.random.rand()", True), ("len(np.random.__all__)", False)]
)
def test_a_draw_that_imports_numpys_generator_is_told_of(draw, warned):
    code = f"import numpy as np, funcgrad as fg; fg.jit(lambda x: x * {draw})(1.0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ("draws random numbers from numpy.random" in done.stderr) is warned


def test_arguments_may_be_drawn_outside():
    rng = np.random.default_rng(0)
    jitted = fg.jit(lambda x, noise: x * noise)
    assert jitted(2.0, 1.5) == 3.0
    assert np.isfinite(jitted(2.0, rng.normal()))


# -- stores of traced values -----------------------------------------------------------------------
def stores():
    kept, seen = [0.0], {}

    def in_list(x):
        kept[0] = x * x
        return kept[0] + x

    def in_dict(x):
        seen["x"] = x
        return x * x + x

    yield "kept", in_list
    yield "seen", in_dict


@pytest.mark.parametrize(("place", "f"), list(stores()))
def test_a_traced_value_that_is_stored_outside_is_told_of(place, f):
    for how, expected in ((lambda f: f, 6.0), (fg.grad, 5.0)):
        jitted = fg.jit(how(f))
        with pytest.warns(UserWarning, match=f"stores a traced value into {place} while it is"):
            assert jitted(2.0) == expected
        assert jitted(2.0) == expected


def takers():
    stack, queue = [1.0, 2.0, 3.0], collections.deque([1.0, 2.0])
    items, counter, known = iter([4.0, 5.0]), itertools.count(2), {"a": 3.0}
    yield "takes items out of stack", lambda x: x * stack.pop()
    yield "takes items out of queue", lambda x: x * queue.popleft()
    yield "takes items out of known", lambda x: x * known.pop("a")
    yield "reads the iterator items", lambda x: x * next(items)
    yield "reads the iterator counter", lambda x: x * next(counter)


@pytest.mark.parametrize(("effect", "f"), list(takers()))
def test_items_that_are_taken_out_of_what_is_captured_are_told_of(effect, f):
    jitted = fg.jit(f)
    with pytest.warns(UserWarning, match=f"{effect} while it is traced"):
        jitted(2.0)


def test_a_stack_that_is_left_as_it_was_is_no_mistake():
    stack = [1.0]

    def f(x):
        stack.append(2.0)
        return x * stack.pop()

    assert fg.jit(f)(3.0) == 6.0


def test_what_is_no_traced_value_may_be_stored_outside():
    calls, count, totals, model = [], [0], {"n": 0}, Model()

    def f(x):
        calls.append("called")
        return x * x

    jitted = fg.jit(f)
    assert [jitted(2.0), jitted(3.0), calls] == [4.0, 9.0, ["called"]]

    def counted(x):
        count[0] += 1
        totals["n"] += count[0]
        return x * count[0] + totals["n"]

    # It is traced at each call.
    jitted = fg.jit(counted)
    assert [jitted(1.0), jitted(1.0), jitted(1.0), count] == [2.0, 5.0, 9.0, [3]]

    def stepped(x):
        model.w += 1.0
        return x * model.w

    jitted = fg.jit(stepped)
    assert [jitted(1.0), jitted(1.0), model.w] == [3.0, 4.0, 4.0]


def test_a_name_that_was_missing_is_noticed_where_code_handles_its_error():
    space = {}
    exec(
        "def f(x):\n    try:\n        return x * rate\n    except NameError:\n        return 2 * x",
        space,
    )
    f = fg.jit(space["f"])
    assert f(1.0) == 2.0
    space["rate"] = 5.0
    assert f(1.0) == 5.0
    del space["rate"]
    assert f(1.0) == 2.0


OF_CODE_WITHOUT_A_NAME = """
class Scale:
    rate = 1.0

    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return self.k == other.k

    def __hash__(self):
        return hash(self.k)

    def times(self, x):
        return x * self.k * self.rate


scale = Scale(2.0)
captured = fg.jit(lambda x: scale.times(x))
given = fg.jit(lambda scale, x: scale.times(x))
"""


def test_classes_of_code_that_exec_runs_without_a_name_are_watched():
    """Their module is builtins, as that of Python's own classes."""
    home = {"fg": fg}
    exec(OF_CODE_WITHOUT_A_NAME, home)

    def found():
        return home["captured"](1.0), home["given"](home["scale"], 1.0)

    assert found() == (2.0, 2.0)
    home["scale"].k = 3.0
    assert found() == (3.0, 3.0)
    home["Scale"].rate = 4.0
    assert found() == (12.0, 12.0)
