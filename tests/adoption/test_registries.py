"""Functions and classes that containers hold, or that names in text lead to: adopted from the first call."""

from types import MappingProxyType
from typing import ClassVar

import numpy as np
import pytest

import funcgrad as fg


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
