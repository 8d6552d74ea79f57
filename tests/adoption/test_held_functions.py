"""Functions that instances hold, and dicts of the standard library, in adopted code."""

import math
from collections import OrderedDict, defaultdict
from types import MappingProxyType

import pytest

import funcgrad as fg


def sine(x):
    return math.sin(x)


def square(x):
    return x * x


class Caller:
    def __init__(self, function):
        self.function = function


class Marker:
    pass


class Table(dict):
    pass


def _ordered():
    made = OrderedDict(sine=Caller(sine), square=Caller(square))
    made.move_to_end("sine")
    return made


def _by_default():
    made = defaultdict(lambda: Caller(sine))
    made["square"] = Caller(square)
    return made


HOLDER = Caller(sine)
MARKER = Marker()
MARKER.function = sine
PLAIN = {"a": HOLDER}
ORDERED, BY_DEFAULT = _ordered(), _by_default()
PROXY, TABLE = MappingProxyType(PLAIN), Table(a=HOLDER)
HOLDERS = {
    "an instance": lambda x: HOLDER.function(x),
    "an instance without methods": lambda x: MARKER.function(x),
    "a dict": lambda x: PLAIN["a"].function(x),
    "an ordered dict": lambda x: list(ORDERED.values())[-1].function(x),
    "a dict with a default": lambda x: BY_DEFAULT["missing"].function(x),
    "a read-only dict": lambda x: PROXY["a"].function(x),
    "a subclass of dict": lambda x: TABLE["a"].function(x),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_functions_that_instances_without_methods_hold_are_adopted(name):
    assert fg.grad(HOLDERS[name])(0.3) == pytest.approx(math.cos(0.3), rel=1e-14)
    assert fg.jit(fg.grad(HOLDERS[name]))(0.3) == pytest.approx(math.cos(0.3), rel=1e-14)


def test_views_of_dicts_of_the_standard_library():
    ordered, missing = _ordered(), _by_default()

    def f(x):
        assert isinstance(ordered, OrderedDict)
        assert isinstance(missing, defaultdict)
        assert list(ordered) == list(ordered.keys()) == ["square", "sine"]
        assert list(reversed(ordered)) == ["sine", "square"]
        ordered.move_to_end("square")
        ordered["other"] = Caller(sine)
        assert "other" in ordered
        assert ordered.popitem(last=False)[0] == "sine"
        missing.default_factory = None
        return ordered["other"].function(x) + ordered.pop("square").function(x)

    assert fg.grad(f)(0.3) == pytest.approx(math.cos(0.3) + 0.6, rel=1e-14)
    assert list(ordered) == ["other"]
