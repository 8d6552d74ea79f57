"""Programs that change what a jitted function reads: its later results are those of the function itself."""

import sys
import types

import pytest

import funcgrad as fg
from funcgrad.transforms.jit.capture_functions import names_of_code

SETUP = """
import array, collections, contextlib, ctypes, dataclasses, enum, functools, operator, sys, threading
import types, weakref
import numpy as np

class Holder:
    pass

held = Holder()
held.k = 2.0
box = [2.0]
table = {"k": 2.0}

def helper(x):
    return 2.0 * x
"""

# What is set up, an expression of x, and a change after the first calls.
IMPLICIT = {
    "__call__": ("a(x)", "lambda self, x: 3.0 * x"),
    "__getitem__": ("a[0] * x", "lambda self, k: 3.0"),
    "__len__": ("len(a) * x", "lambda self: 3"),
    "__add__": ("(a + x)", "lambda self, x: 3.0 * x"),
    "__rmul__": ("(1.0 * a) * x", "lambda self, x: 3.0"),
    "__iter__": ("sum(a) * x", "lambda self: iter([3.0])"),
    "__float__": ("float(a) * x", "lambda self: 3.0"),
    "__bool__": ("(2.0 if a else 3.0) * x", "lambda self: False"),
    "__contains__": ("(2.0 if 1.0 in a else 3.0) * x", "lambda self, k: False"),
    "__eq__": ("(2.0 if a == 1.0 else 3.0) * x", "lambda self, k: False"),
    "__hash__": ("hash(a) * x", "lambda self: 3"),
    "__getattr__": ("a.unknown * x", "lambda self, name: 3.0"),
    "__init__": ("A().k * x", "lambda self: setattr(self, 'k', 3.0)"),
    "__new__": ("(2.0 if type(A()) is A else 3.0) * x", "lambda cls: 1"),
}
SETUP_IMPLICIT = """
class A:
    def __init__(self): self.k = 2.0
    def __call__(self, x): return 2.0 * x
    def __getitem__(self, k): return 2.0
    def __len__(self): return 2
    def __add__(self, x): return 2.0 * x
    def __rmul__(self, x): return 2.0
    def __iter__(self): return iter([2.0])
    def __float__(self): return 2.0
    def __bool__(self): return True
    def __contains__(self, k): return True
    def __eq__(self, k): return True
    def __hash__(self): return 2
    def __getattr__(self, name): return 2.0
    def __new__(cls): return object.__new__(cls)
a = A()
"""

ATTRIBUTES = {
    "of a function": ("helper.k = 2.0", "helper.k * x", "helper.k = 3.0"),
    "of a partial function": (
        "p = functools.partial(helper); p.k = 2.0",
        "p.k * x",
        "p.k = 3.0",
    ),
    "of a list": ("class L(list): pass\na = L([1.0]); a.k = 2.0", "a.k * x", "a.k = 3.0"),
    "of a dict": ("class D(dict): pass\na = D(c=1.0); a.k = 2.0", "a.k * x", "a.k = 3.0"),
    "of a tuple": ("class T(tuple): pass\na = T((1.0,)); a.k = 2.0", "a.k * x", "a.k = 3.0"),
    "a property of a tuple with names": (
        "class T(collections.namedtuple('T', 'b')):\n    k = property(lambda self: self.b)\na = T(2.0)",
        "a.k * x",
        "T.k = property(lambda self: 3.0)",
    ),
    "a method of a dict": (
        "class D(dict):\n    def __missing__(self, key): return box[0]\na = D()",
        "a['k'] * x",
        "box[0] = 3.0",
    ),
    "a mask": (
        "a = np.ma.masked_array([2.0, 3.0], mask=[0, 1])",
        "float(np.asarray(a.sum())) * x",
        "a.mask = [1, 0]",
    ),
    "of a member of an enum": (
        "class E(enum.Enum):\n    A = 1\nE.A.k = 2.0",
        "E['A'].k * x",
        "E.A.k = 3.0",
    ),
    "of a submodule": (
        "m = types.ModuleType('m'); m.sub = types.ModuleType('s'); m.sub.k = 2.0\n"
        "other = types.ModuleType('t'); other.k = 3.0",
        "m.sub.k * x",
        "m.sub = other",
    ),
    "of a module": (
        "m = types.ModuleType('m'); m.k = 2.0; other = types.ModuleType('t'); other.k = 3.0",
        "m.k * x",
        "m = other",
    ),
    "that a module computes": (
        "m = types.ModuleType('m'); m.__getattr__ = lambda name: box[0]",
        "m.k * x",
        "box[0] = 3.0",
    ),
    "that hides one that a module computes": (
        "m = types.ModuleType('m'); m.__getattr__ = lambda name: 2.0",
        "m.k * x",
        "m.k = 3.0",
    ),
    "that a metaclass computes": (
        "class M(type):\n    k = property(lambda cls: cls.of)\nclass A(metaclass=M):\n    of = 2.0",
        "A.k * x",
        "A.of = 3.0",
    ),
    "a property of a metaclass": (
        "class M(type):\n    k = property(lambda cls: 2.0)\nclass A(metaclass=M): pass",
        "A.k * x",
        "M.k = property(lambda cls: 3.0)",
    ),
    "an item that a metaclass computes": (
        "class M(type):\n    def __getitem__(cls, k): return box[0]\nclass A(metaclass=M): pass",
        "A[1] * x",
        "box[0] = 3.0",
    ),
    "a descriptor": (
        "class De:\n    v = 1.0\n    def __get__(self, holder, kind=None): return holder.w * self.v\n"
        "class A:\n    k = De()\na = A(); a.w = 2.0",
        "a.k * x",
        "a.w = 3.0",
    ),
    "a descriptor that is replaced": (
        "class De:\n    def __init__(self, v): self.v = v\n"
        "    def __get__(self, holder, kind=None): return self.v\nclass A:\n    k = De(2.0)\na = A()",
        "a.k * x",
        "A.k = De(3.0)",
    ),
    "a partial method": (
        "class A:\n    w = 1.0\n    def f(self, k, x): return k * self.w * x\n"
        "    g = functools.partialmethod(f, 2.0)\na = A()",
        "a.g(x)",
        "a.w = 3.0",
    ),
    "by super": (
        "class P:\n    k = 2.0\nclass A(P):\n    k = 9.0\n    def f(self, x): return super().k * x\na = A()",
        "a.f(x)",
        "P.k = 3.0",
    ),
    "a property by super": (
        "class P:\n    k = property(lambda self: self.w)\nclass A(P):\n"
        "    k = property(lambda self: super(A, self).k)\na = A(); a.w = 2.0",
        "a.k * x",
        "a.w = 3.0",
    ),
    "a class method by super": (
        "class P:\n    @classmethod\n    def f(cls, x): return P.k * x\nP.k = 2.0\nclass A(P):\n"
        "    @classmethod\n    def f(cls, x): return super().f(x)\na = A()",
        "a.f(x)",
        "P.k = 3.0",
    ),
    "by the position in a pattern": (
        "@dataclasses.dataclass\nclass P:\n    w: float\na = P(2.0)\n"
        "def matched(a):\n    match a:\n        case P(w): return w",
        "matched(a) * x",
        "a.w = 3.0",
    ),
    "by a getter": ("get = operator.attrgetter('k')", "get(held) * x", "held.k = 3.0"),
    "by a caller of methods": (
        "class A:\n    k = 2.0\n    def f(self): return self.k\na = A(); call = operator.methodcaller('f')",
        "call(a) * x",
        "a.k = 3.0",
    ),
    "of a class by a computed name": (
        "class A:\n    k1 = 2.0\na = A()",
        "getattr(a, 'k%d' % 1) * x",
        "A.k1 = 3.0",
    ),
    "of a method by a computed name": (
        "class A:\n    w = 2.0\n    def f1(self): return self.w\na = A()",
        "getattr(a, 'f%d' % 1)() * x",
        "a.w = 3.0",
    ),
    "by a weak reference": ("ref = weakref.ref(held)", "ref().k * x", "held.k = 3.0"),
    "of a thread": ("own = threading.local(); own.k = 2.0", "own.k * x", "own.k = 3.0"),
    "by a global in a text": ("", "eval('held.k') * x", "held.k = 3.0"),
}

ITEMS = {
    "a list in an array": (
        "a = np.array([None], object); a[0] = [2.0]",
        "a[0][0] * x",
        "a[0][0] = 3.0",
    ),
    "an object in an array": (
        "a = np.full((1, 2), None); a[0, 1] = held",
        "a[0, 1].k * x",
        "held.k = 3.0",
    ),
    "a chain": ("a = collections.ChainMap({}, table)", "a['k'] * x", "table['k'] = 3.0"),
    "a missing key": ("a = collections.defaultdict(lambda: 2.0)", "a['k'] * x", "a['k'] = 3.0"),
    "what makes a missing item": (
        "a = collections.defaultdict(lambda: box[0])",
        "a['k'] * x",
        "box[0] = 3.0; a.clear()",
    ),
    "a default": ("a = {}", "a.setdefault('k', 2.0) * x", "a['k'] = 3.0"),
    "a view": ("a = types.MappingProxyType(table)", "a['k'] * x", "table['k'] = 3.0"),
    "values": ("a = table.values()", "sum(a) * x", "table['k'] = 3.0"),
    "a bound method in C": ("get = table.get", "get('k') * x", "table['k'] = 3.0"),
    "weak keys": (
        "a = weakref.WeakKeyDictionary({held: 2.0})",
        "a[held] * x",
        "a[held] = 3.0",
    ),
    "bytes": ("b = bytearray(b'2'); a = memoryview(b)", "a[0] * x", "b[0] = 3"),
    "an array of Python's": ("a = array.array('d', [2.0])", "a[0] * x", "a[0] = 3.0"),
    "a structure in C": (
        "class S(ctypes.Structure):\n    _fields_ = [('k', ctypes.c_double)]\na = S(2.0)",
        "a.k * x",
        "a.k = 3.0",
    ),
    "functions by type": (
        "@functools.singledispatch\ndef g(a): return 1.0\n@g.register(Holder)\n"
        "def of_holder(a): return box[0]",
        "g(held) * x",
        "box[0] = 3.0",
    ),
    "a function by type": (
        "@functools.singledispatch\ndef g(a): return 2.0",
        "g(held) * x",
        "g.register(Holder, lambda a: 3.0)",
    ),
}

INSTANCES = {
    "reads a global": (
        "class A:\n    def __init__(self): self.k = held.k",
        "A().k * x",
        "held.k = 3.0",
    ),
    "reads a default": (
        "@dataclasses.dataclass\nclass A:\n    k: float = 2.0",
        "A().k * x",
        "A.__init__.__defaults__ = (3.0,)",
    ),
    "calls a factory": (
        "@dataclasses.dataclass\nclass A:\n    k: float = dataclasses.field(default_factory=lambda: box[0])",
        "A().k * x",
        "box[0] = 3.0",
    ),
    "has an operator": (
        "class A:\n    def __mul__(self, x): return box[0] * x",
        "A() * x",
        "box[0] = 3.0",
    ),
    "by super": (
        "class P:\n    k = 2.0\n    def __init__(self): self.w = P.k\n"
        "class A(P):\n    def __init__(self): super().__init__()",
        "A().w * x",
        "P.k = 3.0",
    ),
}


@pytest.mark.parametrize("transform", [lambda f: f, fg.grad])
@pytest.mark.parametrize(
    ("setup", "value", "change"),
    [
        *[(SETUP_IMPLICIT, text, f"A.{name} = {new}") for name, (text, new) in IMPLICIT.items()],
        *[pytest.param(*case, id=name) for name, case in (ATTRIBUTES | ITEMS | INSTANCES).items()],
    ],
)
def test_a_change_of_what_is_read(transform, setup, value, change):
    home = {"__name__": "console"}
    exec(f"{SETUP}\n{setup}\ndef f(x):\n    return x * ({value})\n", home)
    jitted, plain = fg.jit(transform(home["f"])), transform(home["f"])
    x = 1.5
    before = [jitted(x), jitted(x), jitted(x)]
    assert before == [plain(x)] * 3
    exec(change, home)
    assert [jitted(x), jitted(x)] == [plain(x)] * 2
    assert plain(x) != before[0]


@pytest.mark.parametrize(
    "text", ["import settings", "from settings import k", "import importlib"], ids=str.split
)
def test_modules_that_a_function_imports(monkeypatch, text):
    monkeypatch.setitem(sys.modules, "settings", types.ModuleType("settings"))
    sys.modules["settings"].k = 2.0
    read = {
        "import settings": "settings.k",
        "from settings import k": "k",
        "import importlib": "importlib.import_module('settings').k",
    }[text]
    home = {"__name__": "console"}
    exec(f"def f(x):\n    {text}\n    return x * {read}\n", home)
    f = fg.jit(home["f"])
    assert [f(1.5), f(1.5)] == [3.0, 3.0]
    sys.modules["settings"].k = 3.0
    assert [f(1.5), f(1.5)] == [4.5, 4.5]


def test_what_is_added_to_the_builtins(monkeypatch):
    import builtins

    monkeypatch.setattr(builtins, "a_setting", 2.0, raising=False)
    home = {"__name__": "console"}
    exec("def f(x):\n    return x * a_setting\n", home)
    f = fg.jit(home["f"])
    assert [f(1.5), f(1.5)] == [3.0, 3.0]
    monkeypatch.setattr(builtins, "a_setting", 3.0)
    assert [f(1.5), f(1.5)] == [4.5, 4.5]


def test_names_in_texts_count_where_code_looks_them_up():
    def plain(a):
        return a.b + len("c")

    def dynamic(a):
        return getattr(a, "b c") + eval("d * e.g1")

    assert names_of_code(plain.__code__) == {"b", "len"}
    assert names_of_code(dynamic.__code__) == {"getattr", "eval", "b", "c", "d", "e", "g1"}
