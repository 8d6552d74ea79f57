"""A function that is refused and runs again, adopted, has its effects once."""

import collections
import dataclasses
import functools
import itertools
import random
import sys
import types
import weakref

import numpy as np
import pytest

import funcgrad as fg

X = 0.7


class Counter:
    made = 0

    def __init__(self):
        self.count = 0.0
        self.items = [1.0, {"inner": 2.0}]

    def act(self, x):
        self.count += 1.0
        self.items[1]["inner"] += 1.0
        self.items.append(x)
        self.late = self.count
        type(self).made += 1
        return np.array([x, self.count, self.items[1]["inner"], self.late]).sum()


class Slotted:
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0.0

    def __call__(self, x):
        self.count += 1.0
        return np.array([x * x, self.count])[0] * self.count


@dataclasses.dataclass
class Filter:
    """A state of two numbers, which each step replaces."""

    state: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(2))

    def step(self, z):
        self.state[0] += 0.5
        self.state = 0.5 * self.state + np.array([z, 1.0])
        return self.state.sum()


TOTAL = 0.0
TABLE = collections.OrderedDict(first=1.0)


def with_globals(x):
    global TOTAL
    TOTAL += 1.0
    TABLE["second"] = TABLE.get("second", 0.0) + 1.0
    TABLE.move_to_end("first")
    return np.array([x, 0.0]).sum() * TOTAL * TABLE["second"] + len(TABLE)


def of_closure():
    count, seen, recent, log = 0.0, set(), collections.deque(maxlen=2), []

    def f(x, given=[1.0], *, words={"k": 1.0}):  # noqa: B006  # such is a user's code
        nonlocal count
        count += 1.0
        seen.add(len(seen))
        recent.append(count)
        log.append(count)
        given[0] += 1.0
        words["k"] *= 2.0
        held = count + len(seen) + recent[-1] + len(log) + given[0] + words["k"]
        return np.array([x, 1.0]).sum() * held

    return f


def draws():
    generator, state = np.random.default_rng(0), np.random.RandomState(0)
    pythons = random.Random(0)
    uniform = pythons.uniform

    def f(x):
        drawn = generator.normal() + state.normal() + uniform(0, 1) + pythons.random()
        return np.array([x, 1.0]).sum() * drawn

    return f


def of_global_generators():
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    return lambda x: np.array([x, 1.0]).sum() * (np.random.normal() + random.random())  # noqa: NPY002


def of_method():
    counter = Counter()
    return lambda x: counter.act(x) * x


def of_partial():
    log = []

    def f(held, x):
        held.append(1.0)
        return np.array([x, 1.0]).sum() * len(held)

    return functools.partial(f, log)


def of_filter():
    kalman = Filter()
    return lambda x: kalman.step(x) * x + kalman.step(2 * x)


def of_slots():
    slotted = Slotted()
    return lambda x: slotted(x) + slotted(x)


class OrderedOfUnit(collections.OrderedDict):
    def __init__(self, unit, items):
        super().__init__(items)
        self.unit = unit

    def __setitem__(self, key, value):
        super().__setitem__(key, value if key in self else 2 * value)


class RecentOfUnit(collections.deque):
    def __init__(self, unit):
        super().__init__([1.0], maxlen=3)
        self.unit = unit


def of_containers():
    ordered, recent = OrderedOfUnit("m", [("a", 1.0)]), RecentOfUnit("m")
    tallies, defaults = collections.Counter("aab"), collections.defaultdict(list)

    def f(x):
        ordered["b"] = ordered.get("b", 0.0) + 1.0
        ordered.move_to_end("a")
        recent.append(len(recent))
        tallies["a"] += 1
        defaults["k"].append(1.0)
        held = ordered["b"] + sum(recent) + tallies["a"] + len(defaults["k"])
        return np.array([x, 1.0]).sum() * held * (1.0 if next(iter(ordered)) == "b" else 2.0)

    return f


class Ordered(collections.OrderedDict):
    def __init__(self, name):
        super().__init__({name: 1.0})
        self.stores = 0

    def __setitem__(self, name, value):
        self.stores = getattr(self, "stores", 0) + 1
        super().__setitem__(name, value)


class Recent(collections.deque):
    def __init__(self, length):
        super().__init__(maxlen=length)


def of_containers_with_constructors():
    table, recent = Ordered("first"), Recent(3)

    def f(x):
        table["second"] = table.get("second", 0.0) + 1.0
        recent.append(1.0)
        return np.array([x, 1.0]).sum() * (table["second"] + table.stores + len(recent))

    return f


def of_renamed_keys():
    table, flags = {"old": 1.0}, bytearray(2)

    def f(x):
        table["new"] = table.pop("old", 7.0)
        flags[0] += 1
        return np.array([x, 1.0]).sum() * table["new"] * flags[0]

    return f


class Unset:
    __slots__ = ("first", "last")

    def __init__(self):
        self.last = None


def of_unset_slots():
    held = Unset()

    def f(x):
        held.first = getattr(held, "first", 0.0) + 1.0
        held.last = 1.0 if held.last is None else held.last + 10.0
        return np.array([x, 1.0]).sum() * held.first * held.last

    return f


def of_bound_methods():
    note, put = [].append, {}.__setitem__

    def f(x):
        note(1.0)
        put(len(put.__self__), 1.0)
        return np.array([x, 1.0]).sum() * (len(note.__self__) + len(put.__self__))

    return f


def of_stateless_generator():
    generator = random.SystemRandom()
    return lambda x: np.array([x, 1.0]).sum() * (generator.random() < 2.0)


class Plain:
    count = 0.0


def of_weak_references():
    held = [Plain(), Plain()]
    KEPT.extend(held)
    reference, proxy = weakref.ref(held[0]), weakref.proxy(held[1])

    def f(x):
        reference().count += 1.0
        proxy.count += 1.0
        return np.array([x, 1.0]).sum() * reference().count * proxy.count

    return f


KEPT = []


def of_empty_cell():
    if TOTAL is None:
        count = 0.0

    def f(x):
        nonlocal count
        try:
            count += 1.0
        except NameError:
            count = 1.0
        return np.array([x, 1.0]).sum() * count

    return f


def of_class_attributes():
    class Base:
        made = 0.0

    class Derived(Base):
        pass

    def f(x):
        Derived.made += 1.0
        return np.array([x, 1.0]).sum() * Derived.made

    return f


def of_function_attributes():
    def helper(x):
        helper.count = getattr(helper, "count", 0.0) + 1.0
        return np.array([x, 1.0]).sum()

    return lambda x: helper(x) * helper.count


def of_setter():
    log = []

    class Logged:
        value = property(fset=lambda self, value: log.append(value))

    logged, get_log = Logged(), itertools.repeat(log)

    def f(x):
        logged.value = 1.0
        return np.array([x, 1.0]).sum() * len(next(get_log))

    return f


def of_arrays():
    table = np.zeros((120, 120))

    def f(x):
        table[3, 4] += 1.0
        return np.array([x, 1.0]).sum() * table[3, 4]

    return f


def of_masked_arrays():
    masked = np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, False])

    def f(x):
        masked[1] = np.ma.masked
        masked[2] += 1.0
        return np.array([x, 1.0]).sum() * masked.count() * float(masked[2])

    return f


def of_module_in_function():
    sys.modules["state_of_program"] = module = types.ModuleType("state_of_program")
    module.count = 0.0

    def f(x):
        import state_of_program

        state_of_program.count += 1.0
        return np.array([x, 1.0]).sum() * state_of_program.count

    return f


def plain_globals():
    global TOTAL
    TOTAL = 0.0
    TABLE.clear()
    TABLE["first"] = 1.0
    with_globals.__defaults__ = None
    return with_globals


PROGRAMS = {
    f.__name__: f
    for f in (
        of_closure,
        draws,
        of_method,
        of_partial,
        of_filter,
        of_slots,
        of_containers,
        plain_globals,
        of_global_generators,
        of_containers_with_constructors,
        of_renamed_keys,
        of_unset_slots,
        of_bound_methods,
        of_stateless_generator,
        of_weak_references,
        of_empty_cell,
        of_class_attributes,
        of_function_attributes,
        of_setter,
        of_arrays,
        of_masked_arrays,
        of_module_in_function,
    )
}


@pytest.fixture
def anew(monkeypatch):
    """Functions as if none had run."""
    from funcgrad.trace import known_code

    monkeypatch.setattr(known_code, "_RUN", {})
    monkeypatch.setattr(known_code, "LEARNED", {})
    from funcgrad.adoption import levels

    monkeypatch.setattr(levels, "LEARNED", known_code.LEARNED)


@pytest.mark.parametrize("name", PROGRAMS)
def test_effects_happen_once(name, anew):
    plain = PROGRAMS[name]()
    want = [plain(X), plain(X)]
    call = fg.value_and_grad(PROGRAMS[name]())
    assert call(X)[0] == pytest.approx(want[0])
    if name != "of_filter":  # whose state would be traced
        assert call(X)[0] == pytest.approx(want[1])


@pytest.mark.filterwarnings("ignore:jit")
@pytest.mark.parametrize("transform", [fg.value_and_grad, lambda f: lambda x: (f(x),)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_effects_happen_once_under_jit(name, transform, anew):
    want = PROGRAMS[name]()(X)
    assert fg.jit(transform(PROGRAMS[name]()))(X)[0] == pytest.approx(want)
    assert fg.jit(PROGRAMS[name]())(X) == pytest.approx(want)


def test_effects_before_a_mistake_stay(anew):
    log = []

    def f(x):
        log.append(1)
        np.array([x, 1.0])
        raise KeyError("k")

    for count in (1, 2):
        with pytest.raises(KeyError, match="k"):
            fg.grad(f)(X)
        assert len(log) == count
