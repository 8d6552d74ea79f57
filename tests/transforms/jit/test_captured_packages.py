"""What objects of Python's and of installed packages hold is watched, or a warning says that it is not."""

import argparse
import asyncio
import collections
import concurrent.futures
import configparser
import contextlib
import contextvars
import ctypes
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import logging
import mmap
import multiprocessing
import os
import pathlib
import queue
import random
import re
import secrets
import sqlite3
import string
import struct
import subprocess
import sys
import threading
import types
import uuid
import warnings
import weakref
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import scipy

import funcgrad as fg


def parser():
    made = configparser.ConfigParser()
    made.read_dict({"a": {"scale": "2.0"}})
    return made


def filled(kind, items=(2.0,)):
    made = kind()
    for item in items:
        made.put(item)
    return made


def logger():
    made = logging.Logger("own")
    made.manager = logging.Manager(made)
    made.setLevel(logging.WARNING)
    return made


def rewritten(buffer, text):
    buffer.seek(0)
    buffer.write(text)


def entered(manager, x):
    with manager as value:
        return x * value


def on_stack(manager, x):
    with contextlib.ExitStack() as stack:
        return x * stack.enter_context(manager)


def put(items, place, value):
    items[place] = value


def of_structure(value):
    made = np.zeros(1, dtype=[("w", object)])
    made["w"][0] = [value]
    return made


class Structure(ctypes.Structure):
    _fields_ = (("w", ctypes.c_double),)


class Kept(threading.Event):
    """A user's class of one of Python's."""


class Holder:
    def __init__(self, w=2.0):
        self.event = threading.Event()
        self.w = w

    def is_on(self):
        return self.event.is_set()


class Slotted:
    __slots__ = ("w",)


class Rated(type):
    passes = False

    def __instancecheck__(cls, instance):
        return cls.passes


@dataclasses.dataclass(order=True)
class Settings:
    w: float = 2.0


class Text:
    def __init__(self):
        self.w = 2.0

    def __str__(self):
        return f"{self.w}"


def dispatching():
    class Own:
        @functools.singledispatchmethod
        def of(self, item):
            return 2.0

    return Own


def in_context(variable, value):
    made = contextvars.copy_context()
    made.run(variable.set, value)
    return made


LIST = [2.0]
VARIABLE = contextvars.ContextVar("VARIABLE", default=LIST)
IN_CONTEXT = contextvars.ContextVar("IN_CONTEXT")


def registry():
    made = {}

    def get(name):
        if name not in made:
            made[name] = Holder()
        return made[name]

    return get


@functools.cache
def keep():
    return [2.0]


def kept_list():
    keep()[0] = 2.0
    return keep


@functools.lru_cache(maxsize=3)
def bounded():
    return Holder()


def kept_instance():
    bounded().w = 2.0
    return bounded


NOTICED = {
    "an item of a parser": (
        parser,
        lambda h, x: x * float(h["a"]["scale"]),
        lambda h: h.set("a", "scale", "5"),
    ),
    "a method of a parser": (
        parser,
        lambda h, x: x * h.getfloat("a", "scale"),
        lambda h: h.set("a", "scale", "5"),
    ),
    "a section of a parser": (
        lambda: parser()["a"],
        lambda h, x: x * h.getfloat("scale"),
        lambda h: put(h, "scale", "5"),
    ),
    "a new section": (
        parser,
        lambda h, x: x * 2 if h.has_section("b") else x * 3,
        lambda h: h.add_section("b"),
    ),
    "an event": (
        threading.Event,
        lambda h, x: x * 2 if h.is_set() else x * 3,
        lambda h: h.set(),
    ),
    "a bound method": (
        lambda: threading.Event().is_set,
        lambda h, x: x * 2 if h() else x * 3,
        lambda h: h.__self__.set(),
    ),
    "an event of an instance": (
        Holder,
        lambda h, x: x * 2 if h.is_on() else x * 3,
        lambda h: h.event.set(),
    ),
    "a subclass of a package's class": (
        Kept,
        lambda h, x: x * 2 if h.is_set() else x * 3,
        lambda h: h.set(),
    ),
    "a lock": (
        threading.Lock,
        lambda h, x: x * 2 if h.locked() else x * 3,
        lambda h: h.acquire(),
    ),
    "a queue": (lambda: filled(queue.Queue), lambda h, x: x * h.qsize(), lambda h: h.put(1.0)),
    "an item of a queue": (
        lambda: filled(queue.Queue),
        lambda h, x: x * h.queue[0],
        lambda h: put(h.queue, 0, 5.0),
    ),
    "a queue in C": (
        lambda: filled(queue.SimpleQueue),
        lambda h, x: x * h.qsize(),
        lambda h: h.put(1.0),
    ),
    "a queue of asyncio": (
        asyncio.Queue,
        lambda h, x: x * (h.qsize() + 1),
        lambda h: h.put_nowait(1),
    ),
    "a text in memory": (
        lambda: io.StringIO("2.0"),
        lambda h, x: x * float(h.getvalue()),
        lambda h: rewritten(h, "5.0"),
    ),
    "bytes in memory": (
        lambda: io.BytesIO(b"2.0"),
        lambda h, x: x * float(h.getvalue()),
        lambda h: rewritten(h, b"5.0"),
    ),
    "a line of a text": (
        lambda: io.StringIO("2.0\n3.0\n4.0\n5.0\n6.0\n7.0\n8.0\n9.0\n"),
        lambda h, x: x * float(h.readline()),
        lambda h: None,
    ),
    "mapped memory": (
        lambda: mmap.mmap(-1, 8),
        lambda h, x: x * (h[0] + 1),
        lambda h: put(h, 0, 5),
    ),
    "a logger": (
        logger,
        lambda h, x: x * 2 if h.isEnabledFor(logging.DEBUG) else x * 3,
        lambda h: h.setLevel(logging.DEBUG),
    ),
    "a logger by name": (
        lambda: _quiet(logging.getLogger("funcgrad.own")),
        lambda h, x: x * logging.getLogger("funcgrad.own").getEffectiveLevel(),
        lambda h: h.setLevel(10),
    ),
    "the level of a logger by name": (
        lambda: _quiet(logging.getLogger("funcgrad.own")),
        lambda h, x: x * logging.getLogger("funcgrad.own").level,
        lambda h: h.setLevel(10),
    ),
    "a context manager": (
        lambda: contextlib.nullcontext(2.0),
        entered,
        lambda h: setattr(h, "enter_result", 5.0),
    ),
    "a context manager on a stack": (
        lambda: contextlib.nullcontext(2.0),
        on_stack,
        lambda h: setattr(h, "enter_result", 5.0),
    ),
    "an attribute that a thread lacks": (
        threading.local,
        lambda h, x: x * getattr(h, "w", 2.0),
        lambda h: setattr(h, "w", 5.0),
    ),
    "a weak set": (
        weakref.WeakSet,
        lambda h, x: x * (len(h) + 1),
        lambda h: h.add(Holder),
    ),
    "a weak proxy": (
        lambda: (made := Holder(), weakref.proxy(made)),
        lambda h, x: x * h[1].w,
        lambda h: setattr(h[0], "w", 5.0),
    ),
    "the default of a context variable": (
        lambda: put(LIST, 0, 2.0) or VARIABLE,
        lambda h, x: x * h.get()[0],
        lambda h: put(LIST, 0, 5.0),
    ),
    "a context": (
        lambda: in_context(IN_CONTEXT, 2.0),
        lambda h, x: x * h[IN_CONTEXT],
        lambda h: h.run(IN_CONTEXT.set, 5.0),
    ),
    "a pointer": (
        lambda: ctypes.pointer(ctypes.c_double(2.0)),
        lambda h, x: x * h.contents.value,
        lambda h: setattr(h.contents, "value", 5.0),
    ),
    "a pointer to a structure": (
        lambda: ctypes.pointer(Structure(2.0)),
        lambda h, x: x * h[0].w,
        lambda h: setattr(h.contents, "w", 5.0),
    ),
    "shared memory": (
        lambda: multiprocessing.Value("d", 2.0),
        lambda h, x: x * h.value,
        lambda h: setattr(h, "value", 5.0),
    ),
    "a decimal context": (
        lambda: decimal.Context(prec=20),
        lambda h, x: x * float(h.divide(decimal.Decimal(1), decimal.Decimal(3))),
        lambda h: setattr(h, "prec", 3),
    ),
    "the decimal context": (
        decimal.getcontext,
        lambda h, x: x * float(decimal.Decimal(1) / decimal.Decimal(3)),
        lambda h: setattr(h, "prec", 3),
    ),
    "an order of items": (
        lambda: collections.OrderedDict(a=2.0, b=3.0),
        lambda h, x: x * next(iter(h.values())),
        lambda h: h.move_to_end("a"),
    ),
    "a view of items": (
        lambda: collections.UserDict(w=2.0).values(),
        lambda h, x: x * sum(h),
        lambda h: put(h._mapping, "w", 5.0),
    ),
    "a key": (
        lambda: {(Holder(), 1): 2.0},
        lambda h, x: x * next(iter(h))[0].w,
        lambda h: setattr(next(iter(h))[0], "w", 5.0),
    ),
    "a text of a class": (
        lambda: collections.UserString("2.0"),
        lambda h, x: x * float(str(h)),
        lambda h: setattr(h, "data", "5.0"),
    ),
    "a slot that is empty": (
        Slotted,
        lambda h, x: x * getattr(h, "w", 2.0),
        lambda h: setattr(h, "w", 5.0),
    ),
    "a comparison of data": (
        Settings,
        lambda h, x: x * 2 if h == Settings() else x * 3,
        lambda h: setattr(h, "w", 5.0),
    ),
    "an order of data": (
        Settings,
        lambda h, x: x * 2 if h < Settings(3.0) else x * 3,
        lambda h: setattr(h, "w", 5.0),
    ),
    "data as a tuple": (
        Settings,
        lambda h, x: x * dataclasses.astuple(h)[0],
        lambda h: setattr(h, "w", 5.0),
    ),
    "data as text": (
        Settings,
        lambda h, x: x * float(repr(h).partition("=")[2][:-1]),
        lambda h: setattr(h, "w", 5.0),
    ),
    "text": (Text, lambda h, x: x * float(str(h)), lambda h: setattr(h, "w", 5.0)),
    "a check of instances": (
        lambda: Rated("Own", (), {}),
        lambda h, x: x * 2 if isinstance(3, h) else x * 3,
        lambda h: setattr(h, "passes", True),
    ),
    "an error": (
        lambda: ValueError(2.0),
        lambda h, x: x * h.args[0],
        lambda h: setattr(h, "args", (5.0,)),
    ),
    "what f made": (registry, lambda h, x: x * h("a").w, lambda h: setattr(h("a"), "w", 5.0)),
    "what a cache holds": (kept_list, lambda h, x: x * h()[0], lambda h: put(h(), 0, 5.0)),
    "what a bounded cache holds": (
        kept_instance,
        lambda h, x: x * h().w,
        lambda h: setattr(h(), "w", 5.0),
    ),
    "a dispatched method": (
        dispatching,
        lambda h, x: x * h().of(3),
        lambda h: h.of.register(int, lambda self, item: 5.0),
    ),
    "a record": (
        lambda: np.zeros(1, dtype=[("w", float)])[0],
        lambda h, x: x * (h["w"] + 1),
        lambda h: put(h, "w", 5.0),
    ),
    "an object in a record": (
        lambda: of_structure(2.0),
        lambda h, x: x * h["w"][0][0],
        lambda h: put(h["w"][0], 0, 5.0),
    ),
    "a long text in an array": (
        lambda: np.array(["2" * 40], dtype=np.dtypes.StringDType()),
        lambda h, x: x * float(h[0]),
        lambda h: put(h, 0, "3" * 40),
    ),
    "a sparse matrix of keys": (
        lambda: scipy.sparse.dok_array(np.eye(2)),
        lambda h, x: x * h[0, 0],
        lambda h: put(h, (0, 0), 5.0),
    ),
    "a spline": (
        lambda: scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]),
        lambda h, x: x * float(h(1.5)),
        lambda h: put(h.c, (0, 1), 5.0),
    ),
    "an option of an interpolant": (
        lambda: scipy.interpolate.RegularGridInterpolator(([0.0, 1.0],), np.array([0.0, 1.0])),
        lambda h, x: x * (float(h([0.7])[0]) + 1),
        lambda h: setattr(h, "method", "nearest"),
    ),
    "a frozen distribution": (
        lambda: scipy.stats.norm(0.0, scale=2.0),
        lambda h, x: x * h.std(),
        lambda h: put(h.kwds, "scale", 5.0),
    ),
    "a function of many": (
        lambda: (lambda made: (made, np.vectorize(lambda t: t * made.w)))(Holder()),
        lambda h, x: x * float(h[1](1.0)),
        lambda h: setattr(h[0], "w", 5.0),
    ),
    "a universal function": (
        lambda: (lambda made: (made, np.frompyfunc(lambda t: t * made.w, 1, 1)))(Holder()),
        lambda h, x: x * float(h[1](1.0)),
        lambda h: setattr(h[0], "w", 5.0),
    ),
    "an element": (
        lambda: ElementTree.fromstring("<a w='2.0'/>"),
        lambda h, x: x * float(h.get("w")),
        lambda h: h.set("w", "5.0"),
    ),
    "a tree of elements": (
        lambda: ElementTree.ElementTree(ElementTree.fromstring("<a><b>2.0</b></a>")),
        lambda h, x: x * float(h.find("b").text),
        lambda h: setattr(h.find("b"), "text", "5.0"),
    ),
    "a template": (
        lambda: string.Template("2.0"),
        lambda h, x: x * float(h.substitute()),
        lambda h: setattr(h, "template", "5.0"),
    ),
    "a parser of arguments": (
        argparse.ArgumentParser,
        lambda h, x: x * (h.get_default("w") or 2.0),
        lambda h: h.set_defaults(w=5.0),
    ),
    "a future": (
        concurrent.futures.Future,
        lambda h, x: x * h.result() if h.done() else x * 2,
        lambda h: h.set_result(5.0),
    ),
}


@pytest.mark.parametrize("how", [lambda f: f, fg.grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", NOTICED)
def test_a_change_in_an_object_of_a_package_is_noticed(name, how):
    made, f, change = NOTICED[name]

    def outcome(wrap):
        with decimal.localcontext(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            h = made()
            called = wrap(how(lambda x: f(h, x)))
            found = [called(3.0), called(3.0)]
            change(h)
            return [*found, called(3.0), called(3.0)], [str(w.message) for w in said]

    (expected, _), (found, said) = outcome(lambda f: f), outcome(fg.jit)
    assert found == expected
    assert expected[0] != expected[2]
    assert not [text for text in said if text.startswith("jit:")]


def connection():
    made = sqlite3.connect(":memory:")
    made.execute("create table t(w)")
    made.execute("insert into t values(2.0)")
    return made


def opened(path):
    path.write_text("2.0\n3.0\n")
    return path.open()


def read_again(h, x):
    h.seek(0)
    return x * float(h.readline())


WARNED = {
    "reads the state of h": (
        connection,
        lambda h, x: x * h.execute("select w from t").fetchone()[0],
    ),
    "reads the state of the object of random": (
        lambda: random.SystemRandom().random,
        lambda h, x: x * h(),
    ),
    "reads the iterator h.0.": (lambda: [itertools.count(1)], lambda h, x: x * next(h[0])),
    "reads the iterator the object of __next__": (
        lambda: itertools.count(1).__next__,
        lambda h, x: x * h(),
    ),
    "reads the iterator argument 0 of next": (
        lambda: functools.partial(next, itertools.count(1)),
        lambda h, x: x * h(),
    ),
    "takes items out of h.queue": (
        lambda: filled(queue.Queue, range(9)),
        lambda h, x: x * h.get_nowait(),
    ),
    "draws random numbers from the object of normal": (
        lambda: np.random.default_rng(0).normal,
        lambda h, x: x * h(),
    ),
    "draws random numbers from the object of uniform": (
        lambda: functools.partial(random.Random(0).uniform, 0, 1),
        lambda h, x: x * h(),
    ),
    "draws random numbers from h.dist._random_state": (
        lambda: _seeded(scipy.stats.norm(0.0, 1.0)),
        lambda h, x: x * h.rvs(),
    ),
}


def _seeded(distribution):
    distribution.random_state = np.random.default_rng(0)
    return distribution


@pytest.mark.parametrize("how", [lambda f: f, fg.grad], ids=["value", "gradient"])
@pytest.mark.parametrize("said", WARNED)
def test_a_state_that_is_not_watched_is_told_of(said, how):
    made, f = WARNED[said]
    h = made()
    with pytest.warns(UserWarning, match=f"{said} while it is traced, and later calls repeat"):
        fg.jit(how(lambda x: f(h, x)))(3.0)


@pytest.mark.parametrize("f", [lambda h, x: x * float(h.readline()), read_again])
def test_a_file_that_is_read_is_told_of(f, tmp_path):
    said = pytest.warns(UserWarning, match="reads the (file|state of) h")
    with opened(tmp_path / "rate") as h, said:
        fg.jit(lambda x: f(h, x))(3.0)


ASKED = {
    "asks for the names of files": (
        lambda h, x: x * 2 if h.exists() else x,
        lambda h, x: x * 2 if os.path.isfile(h) else x,
        lambda h, x: x * len(list(h.parent.iterdir())),
        lambda h, x: x * len(os.getcwd()),
    ),
    "draws random numbers from the system": (
        lambda h, x: x * os.urandom(1)[0],
        lambda h, x: x * secrets.randbelow(9),
        lambda h, x: x * uuid.uuid4().int,
        lambda h, x: x * np.random.default_rng().normal(),
        lambda h, x: x * np.random.RandomState().normal(),
        lambda h, x: x * np.random.RandomState(None).normal(),
        lambda h, x: x * np.random.RandomState(seed=None).normal(),
        lambda h, x: x * random.SystemRandom().random(),
    ),
}


@pytest.mark.parametrize(("said", "f"), [(said, f) for said in ASKED for f in ASKED[said]])
def test_a_question_to_the_system_is_told_of(said, f, tmp_path):
    with pytest.warns(UserWarning, match=f"jit: <lambda> {said} while it is traced") as told:
        fg.jit(lambda x: f(tmp_path, x))(3.0)
    assert {item.filename for item in told} == {__file__}


@pytest.mark.parametrize("name", ["exists", "stat", "default_rng", "secrets"])
def test_a_name_alone_asks_nothing(name):
    held = types.SimpleNamespace(**{name: 2.0})
    jitted = fg.jit(eval(f"lambda x: x * held.{name}", {"held": held}))
    assert jitted(3.0) == 6.0  # a warning is an error here


@pytest.mark.parametrize(
    "seeded",
    [
        lambda x: np.random.default_rng(0),
        lambda x: np.random.RandomState(0),
        lambda x: np.random.RandomState(seed=0),
        lambda x: np.random.RandomState(np.ndim(x)),
    ],
)
def test_a_seeded_generator_of_f_is_no_mistake(seeded):
    jitted = fg.jit(lambda x: x * seeded(x).normal())
    assert jitted(3.0) == jitted(3.0)


def test_the_import_of_numpys_generators_is_no_draw():
    code = (
        "import sys, warnings, numpy as np, funcgrad as fg; warnings.simplefilter('error'); "
        "f = fg.jit(lambda x: np.random.default_rng(0).normal(x, 1.0)); print(f(1.0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1.1257302210933933\n"), done.stderr


# -- what is no mistake ----------------------------------------------------------------------------
def logs(h, x):
    h.debug("%s", 1)
    h.warning("called")
    return x * 2


def waits(h, x):
    with h:
        return x * 2


def prints(h, x):
    print("called", file=h)
    return x * 2


def put_down(h, x):
    h.write("called")
    return x * 2


class Option(enum.Enum):
    A = 2.0


@dataclasses.dataclass(frozen=True)
class Fixed:
    w: float = 2.0


Pair = collections.namedtuple("Pair", "w v")

HARMLESS = {
    "a logger": (lambda: _quiet(logging.Logger("own")), logs),
    "a lock": (threading.Lock, waits),
    "a lock to enter again": (threading.RLock, waits),
    "a condition": (threading.Condition, waits),
    "a text that is written": (io.StringIO, prints),
    "a pattern": (lambda: re.compile(r"\d"), lambda h, x: x * float(h.match("2")[0])),
    "a match": (lambda: re.match(r"\d", "2"), lambda h, x: x * float(h.group())),
    "a path": (lambda: pathlib.Path("a.b"), lambda h, x: x * len(h.suffix + str(h / "c"))),
    "a fraction": (lambda: fractions.Fraction(1, 2), lambda h, x: x * float(h.limit_denominator())),
    "a decimal": (lambda: decimal.Decimal("0.5"), lambda h, x: x * float(h.sqrt())),
    "a time": (lambda: datetime.datetime(2020, 1, 1), lambda h, x: x * h.timestamp()),
    "a frozen instance": (Fixed, lambda h, x: x * h.w),
    "a named tuple": (lambda: Pair(2.0, 3.0), lambda h, x: x * h.w),
    "a member": (lambda: Option.A, lambda h, x: x * h.value),
    "a type": (lambda: np.dtype(float), lambda h, x: x * h.itemsize),
    "limits": (lambda: np.finfo(float), lambda h, x: x * h.eps),
    "a range": (lambda: range(3), lambda h, x: x * h.index(2)),
    "a slice": (lambda: slice(0, 2), lambda h, x: x * h.stop),
    "an identifier": (lambda: uuid.UUID(int=2), lambda h, x: x * h.int),
    "a form of bytes": (lambda: struct.Struct("d"), lambda h, x: x * h.size),
    "a type of lists": (lambda: types.GenericAlias(list, (int,)), lambda h, x: x * len(h.__args__)),
    "a function in C": (lambda: functools.partial(max, 2.0), lambda h, x: x * h(1.0)),
    "a sentinel": (object, lambda h, x: x * 2 if h is not None else x),
    "a frozen distribution": (lambda: scipy.stats.norm(0, 2.0), lambda h, x: h.logpdf(x)),
    "a distribution": (lambda: scipy.stats.gamma, lambda h, x: h.logpdf(x, 2.0)),
    "a tree of points": (
        lambda: scipy.spatial.cKDTree(np.ones((9000, 2))),
        lambda h, x: x * h.query([0.0, 0.0])[0],
    ),
    "a spline": (
        lambda: scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]),
        lambda h, x: h(x),
    ),
    "a sparse matrix": (
        lambda: scipy.sparse.csr_array(np.eye(2)),
        lambda h, x: np.sum(h @ (x * np.ones(2))),
    ),
    "factors": (
        lambda: scipy.sparse.linalg.splu(scipy.sparse.csc_array(np.eye(2))),
        lambda h, x: x * h.solve(np.ones(2))[0],
    ),
    "a generator that draws nothing": (
        lambda: np.random.default_rng(0),
        lambda h, x: x * 2 if h is not None else x,
    ),
}


def _quiet(made):
    made.setLevel(30)
    made.addHandler(logging.NullHandler())
    return made


@pytest.mark.parametrize("how", [lambda f: f, fg.grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", HARMLESS)
def test_what_stays_as_it_is_is_not_warned_of(name, how):
    made, f = HARMLESS[name]
    h = made()
    jitted = fg.jit(how(lambda x: f(h, x)))
    assert len({float(jitted(1.5)) for _ in range(4)}) == 1  # a warning is an error here
    assert len(jitted.explain_misses().splitlines()) <= 2


def test_a_file_that_is_written_is_not_warned_of(tmp_path):
    with (tmp_path / "log").open("w") as h:
        jitted = fg.jit(lambda x: put_down(h, x))
        assert [jitted(2.0), jitted(3.0)] == [4.0, 6.0]


def test_a_logger_that_only_logs_is_not_asked_at_each_call():
    made = logger()
    jitted = fg.jit(lambda x: made.debug("called") or x * 2)
    for level in (10, 20, 30):
        made.setLevel(level)
        assert jitted(2.0) == 4.0
    assert len(jitted.explain_misses().splitlines()) == 1


def test_what_a_package_does_not_read_may_change():
    class Timed(threading.Event):
        def __init__(self):
            super().__init__()
            self.steps = 0

    made = Timed()
    jitted = fg.jit(lambda x: x * 2 if made.is_set() else x * 3)
    for _ in range(3):
        made.steps += 1
        assert jitted(2.0) == 6.0
    assert len(jitted.explain_misses().splitlines()) == 1


def test_large_objects_of_packages_are_looked_into_as_far_as_a_limit():
    made = queue.Queue()
    for _ in range(3000):
        made.put([Holder()])
    jitted = fg.jit(lambda x: x * made.qsize())
    assert jitted(2.0) == 6000.0  # a warning is an error here


# -- attributes that a property of the same name hides ---------------------------------------------
class Checked:
    def __init__(self):
        self.w, self.rate = 2.0, 1.0

    @property
    def w(self):
        return vars(self)["w"] * self.rate

    @w.setter
    def w(self, value):
        vars(self)["w"] = value


@pytest.mark.parametrize("key", ["w", "rate"])
def test_an_attribute_behind_a_property_is_watched_and_traced_once(key):
    held = Checked()
    jitted = fg.jit(lambda x: x * held.w)
    assert [jitted(3.0) for _ in range(3)] == [6.0, 6.0, 6.0]
    assert len(jitted.explain_misses().splitlines()) == 1
    setattr(held, key, 5.0)
    assert jitted(3.0) == 3.0 * held.w


def test_a_polynomial_is_traced_once():
    held = np.poly1d([2.0, 1.0])
    jitted = fg.jit(lambda x: held(x))
    assert [jitted(1.0) for _ in range(3)] == [3.0, 3.0, 3.0]
    assert len(jitted.explain_misses().splitlines()) == 1
    held.coeffs[0] = 5.0
    assert jitted(1.0) == 6.0
