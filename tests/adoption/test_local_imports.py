"""Modules that functions import by statements of their own, in adopted code."""

import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

SOURCE = """
import numpy as np

def double(x):
    return x * 2.0 if isinstance(x, float) else x * 3.0

def square(a):
    return np.sum(a * a) if isinstance(a, np.ndarray) else 7.0 * np.sum(a)
"""


@pytest.fixture(autouse=True)
def local_module(monkeypatch):
    """A module of functions that ask for types."""
    made = ModuleType("module_of_questions")
    exec(compile(SOURCE, "module_of_questions.py", "exec"), vars(made))
    monkeypatch.setitem(sys.modules, "module_of_questions", made)


def module(x):
    import module_of_questions

    return module_of_questions.double(x)


def name(x):
    from module_of_questions import double as function

    return function(x)


def inner(x):
    def double(y):
        import module_of_questions

        return module_of_questions.double(y)

    return double(x)


def by_importlib(x):
    return importlib.import_module("module_of_questions").double(x)


def by_name_of_importlib(x):
    from importlib import import_module

    return import_module("module_of_questions").double(x)


def by_builtin(x):
    return __import__("module_of_questions").double(x)


def numpys(x):
    import numpy

    return x * 2.0 if numpy.isscalar(x) else x * 3.0


def method(x):
    class Local:
        def call(self, y):
            import module_of_questions as m

            return m.double(y)

    return Local().call(x)


def held(x):
    def made():
        import module_of_questions as m

        return lambda y: m.double(y)

    return made()(x)


def holder():
    import module_of_questions as m

    return lambda x: m.double(x)


def holder_of_numpy():
    import numpy

    return lambda x: x * 2.0 if numpy.isscalar(x) else x * 3.0


CASES = [module, name, inner, by_importlib, by_name_of_importlib, by_builtin, numpys, method, held]


@pytest.mark.parametrize("f", CASES)
def test_local_imports_are_adopted(f):
    assert fg.value_and_grad(f)(0.5) == (f(0.5), 2.0)
    assert fg.jit(fg.grad(f))(0.5) == 2.0
    assert fg.jvp(f, (0.5,), (1.0,)) == (1.0, 2.0)


@pytest.mark.parametrize("made", [holder, holder_of_numpy])
def test_modules_in_closures_are_adopted(made):
    f = made()
    assert fg.value_and_grad(f)(0.5) == (f(0.5), 2.0)


def test_a_local_import_of_arrays():
    def f(x):
        from module_of_questions import square

        return square(np.array([x, 2 * x]))

    def g(x):
        from module_of_questions import square

        return square(x)

    assert fg.value_and_grad(f)(0.5) == (f(0.5), 5.0)
    np.testing.assert_array_equal(fg.grad(g)(np.array([1.0, 2.0])), [2.0, 4.0])


def test_a_module_that_is_first_imported_by_the_function(tmp_path, monkeypatch):
    (tmp_path / "imported_late.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)

    def f(x):
        import imported_late

        return imported_late.double(x)

    assert fg.grad(f)(0.5) == 2.0
    monkeypatch.delitem(sys.modules, "imported_late")


class Lazy(ModuleType):
    """A module that imports the one of its name when it is asked for an attribute."""

    def __getattribute__(self, name):
        return getattr(importlib.import_module(object.__getattribute__(self, "__name__")), name)


lazy: Any = None
lazy_numpy: Any = None
lazy_fft: Any = None
missing: Any = None


@pytest.fixture
def lazy_modules(monkeypatch):
    """Globals of this module, which pytest would ask for attributes when it collects the tests."""
    named = {
        "lazy": "module_of_questions",
        "lazy_numpy": "numpy",
        "lazy_fft": "scipy.fftpack",
        "missing": "no_such",
    }
    for name, module_name in named.items():
        monkeypatch.setitem(globals(), name, Lazy(module_name))


def lazily(x):
    return lazy.double(x)


def lazily_numpy(x):
    return lazy_numpy.sum(lazy_numpy.array([x, x])) if lazy_numpy.isscalar(x) else 3.0 * x


def lazily_scipy(x):
    return 2 * np.real(lazy_fft.fft(np.array([x, 1.0]))[0])


@pytest.mark.usefixtures("lazy_modules")
@pytest.mark.parametrize("f", [lazily, lazily_numpy, lazily_scipy])
@pytest.mark.parametrize("adopt", [False, True])
def test_objects_that_stand_for_modules_are_adopted(f, adopt):
    function = fg.adopt(f) if adopt else f
    assert fg.value_and_grad(function)(0.5) == (f(0.5), 2.0)
    assert fg.jit(fg.grad(function))(0.5) == 2.0


@pytest.mark.usefixtures("lazy_modules")
def test_an_object_that_stands_for_no_module():
    def f(x):
        return x * missing.factor

    with pytest.raises(ModuleNotFoundError, match="no_such"):
        fg.grad(fg.adopt(f))(0.5)
