"""The table in docs/what_python_asks.md of what a jitted function watches: each row is run."""

import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg

PAGE = Path(__file__).parents[3] / "docs" / "what_python_asks.md"
ROW = re.compile(
    r"^\| ([^|`]+) \| `(.+?)` \| `(.+?)` \| (`.+?`|another call) \| (\w+) \|$", re.MULTILINE
)
ROWS = ROW.findall(PAGE.read_text())

NAMES = """
import array, collections, configparser, contextvars, dataclasses, functools, io, logging, os, queue, sqlite3
import threading, types, weakref
import numpy as np
try:
    import pandas
except ImportError:
    pass

class Box:
    rate = 2.0
    def __init__(self, **items):
        vars(self).update(items, calls=0)
    @property
    def twice(self):
        return 2 * self.w
    def times(self, x):
        return x * self.w
    __call__ = times
    def count(self):
        self.calls += 1
        return self.calls

class Slotted:
    __slots__ = ("w",)
    def __init__(self, w):
        self.w = w

@dataclasses.dataclass(frozen=True)
class Frozen:
    w: object

def with_default(value):
    return eval("lambda x, w=value: x * w", {"value": value})

def with_cell(value):
    return lambda x: x * value

def scaled(box, x):
    return x * box.w

def module(w):
    made = types.ModuleType("users_module")
    made.w = w
    return made

kept = []
def weak(item):
    kept.append(item)
    return weakref.ref(item)
"""


def outcome(how, made, body, change, monkeypatch, file):
    """What four calls return, with a change before the third, and the warnings."""

    def run(wrap):
        home = types.ModuleType("a_user_module")
        monkeypatch.setitem(sys.modules, "a_user_module", home)
        home.file = file
        file.write_text("2.0")
        monkeypatch.setattr(np, "own_rate", 2.0, raising=False)
        monkeypatch.setenv("OWN_RATE", "2.0")
        change_in_f = f"def change():\n    global h\n    {change}\n"
        exec(f"{NAMES}\nh = {made}\ndef f(x):\n    return {body}\n{change_in_f}", vars(home))
        f = wrap(how(home.f))
        with np.errstate(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = [f(3.0), f(3.0)]
            home.change()
            return [*found, f(3.0), f(3.0)], [str(item.message) for item in said]

    expected, _ = run(lambda f: f)
    found, said = run(fg.jit)
    if any("while it is traced" in text for text in said):
        return "warned"
    return "noticed" if found == pytest.approx(expected) else "stale"


@pytest.mark.parametrize("how", [lambda f: f, fg.grad], ids=["value", "gradient"])
@pytest.mark.parametrize(("name", "made", "body", "change", "said"), ROWS, ids=[r[0] for r in ROWS])
def test_a_row_of_the_table(name, made, body, change, said, how, monkeypatch, tmp_path):
    if "pandas" in made:
        pytest.importorskip("pandas")
    change = "pass" if change == "another call" else change.strip("`")
    assert outcome(how, made, body, change, monkeypatch, tmp_path / "rate") == said


def test_the_table_has_rows_of_each_kind():
    assert len(ROWS) >= 30
    assert {row[-1] for row in ROWS} == {"noticed", "warned", "stale"}
