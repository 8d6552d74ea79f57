"""What a jitted function depends on beside its arguments: it is traced again when that changes."""

import functools
import gc
import sys
import types
import unittest.mock
import weakref
from importlib import import_module

import numpy as np
import pytest
import toolz

import funcgrad as fg
from funcgrad import jit
from funcgrad.source import is_installed
from funcgrad.transforms.jit import capture_search as watch
from funcgrad.transforms.jit.capture_comparison import FEWEST
from funcgrad.transforms.jit.captures import CapturedVariables

SIZES = [3, 20_000]


def namespace(text, **names):
    """A namespace of its own, as of a module or a console, in which a text has run."""
    home = {"__name__": "console", "np": np, "fg": fg, **names}
    exec(text, home)
    return home


def check(f, x, change, plain, event=None):
    """Calls give what the plain function gives, before and after a change: with a number, and with a tree."""
    jitted, inside = jit(f), jit(lambda tree: f(tree["x"]))
    for _ in range(2):
        np.testing.assert_allclose(jitted(x), plain(x), rtol=1e-13)
        np.testing.assert_allclose(inside({"x": x}), plain(x), rtol=1e-13)
    change()
    for _ in range(2):
        np.testing.assert_allclose(jitted(x), plain(x), rtol=1e-13)
        np.testing.assert_allclose(inside({"x": x}), plain(x), rtol=1e-13)
    if event is not None:
        assert event in jitted.explain_misses()


# -- arrays --------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", SIZES)
def test_arrays_in_defaults(size):
    d, w = np.ones(size), np.ones(size)

    def f(x, d=d, *, w=w):
        return np.sum(x * d) + np.sum(x * w)

    check(f, 2.0, lambda: d.__setitem__(0, 5.0), f)
    check(f, 2.0, lambda: w.__setitem__(0, 7.0), f)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [functools.partial, toolz.curry])
def test_arrays_in_partial_functions(size, kind):
    a, b = np.ones(size), np.ones(size)
    f = kind(lambda a, x, b: np.sum(a * x) + np.sum(b * x), a, b=b)
    check(f, 2.0, lambda: a.__setitem__(0, 5.0), f)
    check(f, 2.0, lambda: b.__setitem__(0, 7.0), f)


@pytest.mark.parametrize("size", SIZES)
def test_arrays_of_classes_derived_from_numpys(size):
    class Own(np.ndarray):
        pass

    a = np.ones(size).view(Own)
    f = lambda x: np.sum(x * a)  # noqa: E731
    check(f, 2.0, lambda: a.__setitem__(0, 5.0), f)


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # since NumPy 2.5
def test_a_shape_and_a_type_that_are_set_in_place():
    def reshape():
        a.shape = (3, 2)

    a = np.arange(6.0).reshape(2, 3)
    f = lambda x: x * a[0] + a.shape[0]  # noqa: E731
    jitted = jit(f)
    assert jitted(1.0).tolist() == jitted(1.0).tolist() == [2.0, 3.0, 4.0]
    reshape()
    assert jitted(1.0).tolist() == jitted(1.0).tolist() == [3.0, 4.0]
    assert "a was changed in place" in jitted.explain_misses()

    b = np.arange(4)
    g = jit(lambda x: x * b[1])
    assert g(1.0) == g(1.0) == 1.0
    b.dtype = np.dtype("f8")
    assert g(1.0) == g(1.0) == 5e-324


# -- names ---------------------------------------------------------------------------------------
def test_a_global_that_is_bound_only_after_jit():
    home = namespace("f = lambda x: x * L\ng = lambda x: x * L if 'L' in globals() else x")
    f, g = jit(home["f"]), jit(home["g"])
    with pytest.raises(NameError):
        f(1.0)
    assert g(1.0) == g(1.0) == 1.0
    for value in (2.0, 5.0, 2.0):
        home["L"] = value
        assert f(1.0) == f(1.0) == g(1.0) == g(1.0) == value
    del home["L"]
    with pytest.raises(NameError):
        f(1.0)
    assert g(1.0) == 1.0
    # What was bound after jit, and before the first trace, is nothing to tell of.
    assert (
        f.explain_misses().splitlines()[0] == "<lambda>(float64): the first call with these types"
    )


@pytest.mark.parametrize("names", ["abs(x)", "abs(x) * float(len((1, 2))) * max(A, B, C, D, E)"])
def test_a_builtin_that_a_global_hides_later(names):
    home = namespace(f"f = lambda x: {names} * 1.0", **dict.fromkeys("ABCDE", 1.0))
    f = jit(home["f"])
    first = f(-2.0)
    assert f(-2.0) == first
    home["abs"] = lambda x: x * 10
    assert f(-2.0) == f(-2.0) == -10 * first
    del home["abs"]
    assert f(-2.0) == f(-2.0) == first
    home["E"] = 3.0
    assert f(-2.0) == home["f"](-2.0)


def test_defaults_that_are_set_anew():
    def f(x, k=2.0, *, c=1.0):
        return x * k + c

    def change(name, value):
        setattr(f, name, value)

    check(f, 1.0, lambda: change("__defaults__", (5.0,)), f, "f.__defaults__ was bound anew")
    check(f, 1.0, lambda: f.__kwdefaults__.__setitem__("c", 4.0), f, "c was bound anew")
    check(
        f, 1.0, lambda: change("__kwdefaults__", {"c": 3.0}), f, "f.__kwdefaults__ was bound anew"
    )

    g = lambda x, k: x * k  # noqa: E731
    jitted = jit(g)
    assert jitted(2.0, 3.0) == 6.0
    for value in (5.0, 7.0):  # there were none
        g.__defaults__ = (value,)
        assert jitted(2.0) == jitted(2.0) == 2 * value


def test_what_a_called_function_names():
    text = """
K = 2.0
def deep(x): return x * K
def middle(x): return deep(x) + 1
def f(x): return middle(x)
def replaced(x): return x * OTHER
OTHER = 7.0
"""
    home = namespace(text)
    check(home["f"], 1.0, lambda: home.update(K=6.0), home["f"], "K was bound anew")
    check(
        home["f"], 1.0, lambda: home.update(deep=home["replaced"]), home["f"], "deep was bound anew"
    )
    check(home["f"], 1.0, lambda: home.update(OTHER=9.0), home["f"], "OTHER was bound anew")


@pytest.mark.parametrize(
    "around",
    [
        lambda f: f,
        jit,
        lambda f: functools.partial(f),
        lambda f: toolz.compose(f, lambda x: x + 0.0),
        lambda f: toolz.compose(lambda x: x + 0.0, f, lambda x: x + 0.0),
        lambda f: toolz.curry(lambda a, x: f(x))(1),
        lambda f: types.MethodType(lambda self, x: f(x), object()),
        lambda f: functools.wraps(f)(lambda x: f(x)),
        fg.grad,
    ],
)
def test_functions_within_functions(around):
    k, small = 2.0, np.ones(3)

    def inner(x):
        return x * x * k * np.sum(small)

    def change():
        nonlocal k
        k = 8.0

    whole = around(inner)
    check(whole, 1.5, change, whole, "k was bound anew")
    check(lambda x: whole(x), 1.5, lambda: small.__setitem__(0, 9.0), lambda x: whole(x))


def test_what_is_taken_from_modules():
    settings = types.ModuleType("settings")
    settings.K, settings.deep = 2.0, types.ModuleType("settings.deep")
    settings.deep.K = 3.0
    exec("SCALE = 1.0\ndef scaled(x): return x * SCALE", vars(settings))
    home = namespace(
        "f = lambda x: settings.scaled(x) * settings.K * settings.deep.K", settings=settings
    )
    f = home["f"]
    check(f, 1.0, lambda: setattr(settings, "K", 7.0), f, "settings.K was bound anew")
    check(f, 1.0, lambda: setattr(settings.deep, "K", 5.0), f, "settings.deep.K was bound anew")
    check(f, 1.0, lambda: setattr(settings, "SCALE", 4.0), f, "SCALE was bound anew")
    check(f, 1.0, lambda: setattr(settings, "scaled", lambda x: x * 11), f, "scaled was bound anew")


# -- what is not looked into ---------------------------------------------------------------------
def test_installed_packages_are_taken_to_stay_as_they_are():
    places = {
        item.place.name for item in CapturedVariables(lambda x: np.sum(toolz.identity(x))).values()
    }
    assert places == {"sum"}  # which a global could hide
    assert all(map(is_installed, [np, sys, functools]))
    assert not is_installed(types.ModuleType("settings"))


def test_packages_installed_into_a_folder_are_told_from_the_users_code_beside_them(
    tmp_path, monkeypatch
):
    (tmp_path / "theirs_pkg").mkdir()
    (tmp_path / "theirs_pkg" / "__init__.py").write_text("from theirs_pkg.deep import f\n")
    (tmp_path / "theirs_pkg" / "deep.py").write_text("def f(x):\n    return 2.0 * x\n")
    (tmp_path / "mine_mod.py").write_text("scale = 3.0\ndef g(x):\n    return scale * x\n")
    (tmp_path / "theirs_pkg-1.0.dist-info").mkdir()
    record = "theirs_pkg/__init__.py,,\ntheirs_pkg/deep.py,,\n"
    (tmp_path / "theirs_pkg-1.0.dist-info" / "RECORD").write_text(record)
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs, mine = import_module("theirs_pkg"), import_module("mine_mod")
    assert is_installed(theirs)
    assert is_installed(theirs.f)
    assert not is_installed(mine)
    jitted = fg.jit(mine.g)
    assert jitted(1.0) == 3.0
    mine.scale = 4.0
    assert jitted(1.0) == 4.0


def test_only_so_many_functions_are_looked_into():
    text = "\n".join(f"def f{k}(x): return f{k + 1}(x) * A{k}" for k in range(200))
    home = namespace(text, f200=lambda x: x, **{f"A{k}": 1.0 for k in range(200)})
    f = jit(home["f0"])
    assert f(2.0) == 2.0
    home["A0"] = 3.0
    assert f(2.0) == 6.0
    assert len(CapturedVariables(home["f0"]).values()) == 2 * watch.MOST_FUNCTIONS


def test_objects_that_answer_to_any_name_do_no_harm():
    class Proxy:
        def __getattr__(self, name):
            raise RuntimeError(f"there is no {name} here")

        def __call__(self, x):
            return x * factor

    class Endless:
        def __getattr__(self, name):
            return Endless()

        def __call__(self, x):
            return x

    factor, proxy, endless = 2.0, Proxy(), Endless()
    f = jit(lambda x: endless(proxy(x)))
    assert f(1.0) == f(1.0) == 2.0
    factor = 3.0
    assert f(1.0) == 3.0


# -- in use --------------------------------------------------------------------------------------
def test_a_change_is_told_of_once():
    home = namespace("K = 1.0\ng = lambda x: x * K\nf = lambda x: g(x) + g(x) * K")
    f = jit(home["f"])
    f(1.0)
    home["K"] = 2.0
    f(1.0)
    assert f.explain_misses().splitlines() == [
        "<lambda>(float64): the first call with these types",
        "<lambda>: K was bound anew",
        "<lambda>(float64): the first call with these types",
    ]


@pytest.mark.parametrize("count", [1, FEWEST + 3])
def test_names_like_those_of_generated_code(count):
    names = ["v0", "c0", "missing", "same0", "w0", "x0", "content0"][:count]
    home = namespace(f"f = lambda x: x * {' * '.join(names)}", **dict.fromkeys(names, 1.0))
    f = jit(home["f"])
    assert f(1.0) == f(1.0) == 1.0
    for k, name in enumerate(names):
        home[name] = k + 2.0
        assert f(1.0) == f(1.0) == home["f"](1.0)


def test_cells_that_are_empty_again():
    a = b = c = d = e = 1.0

    def forget():
        nonlocal e
        del e

    f = jit(lambda x: x * a * b * c * d * e)
    assert f(2.0) == f(2.0) == 2.0
    forget()
    with pytest.raises(NameError):
        f(2.0)
    e = 3.0
    assert f(2.0) == f(2.0) == 6.0


@pytest.mark.parametrize("count", [1, FEWEST + 3])
def test_what_is_dropped_is_freed(count):
    class Thing:
        pass

    def made():
        things = [Thing() for _ in range(count)]
        names = "abcdefghij"[:count]
        text = f"def outer({', '.join(names)}):\n return lambda x: x * {' * '.join(n + '.k' for n in names)}"
        for thing in things:
            thing.k = 2.0
        f = jit(namespace(text)["outer"](*things))
        assert f(1.0) == f(1.0) == 2.0**count
        return f, weakref.ref(things[0])

    f, thing = made()
    assert thing() is not None
    del f
    gc.collect()
    assert thing() is None


def test_an_attribute_that_hides_one_that_the_class_computes():
    class Settings:
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return 2.0

    settings = Settings()
    scaled = fg.jit(lambda x: settings.scale * x)
    assert scaled(3.0) == 6.0
    settings.scale = 4.0
    assert scaled(3.0) == 12.0
    del settings.scale
    assert scaled(3.0) == 6.0


def test_a_captured_array_of_another_dtype_is_no_condition_on_the_argument():
    held = np.arange(3, dtype=np.float32)
    g = fg.jit(lambda x: x * 2 + held)
    for dtype in (np.float64, np.float32, np.float64):
        assert g(np.ones(3, dtype)).dtype == dtype


def test_instances_that_have_any_attribute_are_captured():
    """The tuples of calls that a mock holds answered for the fields of a named tuple, of another length."""
    told = unittest.mock.Mock()

    class Row(tuple):
        _fields = ("first",)

    rows = [Row((2.0, 3.0))]

    def f(x):
        told(1)
        return x * rows[0][1]

    assert fg.jit(f)(2.0) == 6.0
    assert fg.jit(fg.grad(f))(2.0) == 3.0
    assert told.call_count
