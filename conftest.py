"""Doctests, and modules, whose library is an extra are skipped where that is not installed."""

import gc
import inspect
import os
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none

from tests.default_slice import Run

_NEEDED = {
    "funcgrad.transforms.interop.export.to_jax": "jax",
    "funcgrad.transforms.interop.export.to_torch": "torch",
    "funcgrad.show.sympy_.to_sympy": "sympy",
}

# Workers of pytest-xdist are as many as cores: a product of small matrices on threads waits for the others'.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy reads it as it is imported

_ROOT = Path(__file__).parent
_IMPORTING = {
    "bottleneck": ["src/funcgrad/adoption/stand_ins/bottleneck_.py"],
    "numexpr": ["src/funcgrad/adoption/stand_ins/numexpr_.py"],
    "pandas": [
        *map(str, (_ROOT / "src/funcgrad/tables").glob("*.py")),
        "src/funcgrad/adoption/stand_ins/pandas_.py",
        "src/funcgrad/adoption/stand_ins/pandas_types.py",
    ],
    "distributed": ["src/funcgrad/dask"],
    "autograd": ["src/funcgrad/adoption/stand_ins/autograd_.py"],
    "sympy": ["src/funcgrad/adoption/stand_ins/lambdify_.py"],
}
_OF_SPHINX = "docs/conf.py"
_MISSING = [library for library in _IMPORTING if find_spec(library) is None]
_IGNORED = {_ROOT / path for path in [_OF_SPHINX, *[p for x in _MISSING for p in _IMPORTING[x]]]}


# No test is timed, so that none fails on a loaded machine. Tests ask for the name of the profile: see
# `tests.default_slice.examples`.
settings.register_profile("untimed", deadline=None)
settings.register_profile("thorough", deadline=None)
if (
    settings.get_current_profile_name() == "default"
):  # else that of hypothesis for continuous integration
    settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Have workers take tests from one another at the end: one waited a minute for the other."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    Run.leaves_slow_out = config.option.markexpr == "not slow"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the modules whose library is missing. (With `collect_ignore`, each file takes 0.2 ms.)"""
    return True if collection_path in _IGNORED else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], object]:
    """Search for doctests where a prompt is: every name of a module, and its fixtures, are looked at."""
    found = yield
    has_prompt = file_path.suffix != ".py" or b">>> " in file_path.read_bytes()
    return found if has_prompt else [item for item in found if type(item) is pytest.Module]


def pytest_pycollect_makeitem(obj: object) -> list[pytest.Item] | None:
    """Make none of the cases of a slow test where all would be deselected."""
    marks = (
        getattr(obj, "pytestmark", []) if Run.leaves_slow_out and inspect.isfunction(obj) else []
    )
    return [] if any(mark.name == "slow" for mark in marks) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        library = _NEEDED.get(item.name)
        if library is not None and find_spec(library) is None:
            item.add_marker(pytest.mark.skip(reason=f"{library} is not installed"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, then leave the modules and tests out of its later passes.

    Many tests call ``gc.collect()``, and the modules and tests are millions of objects.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        # Hypothesis asks, before its first example, what holds its generator of random numbers: in
        # Python 3.14, frozen objects do not count.
        given(none())(lambda _: None)()
        gc.freeze()
        # Full collections are those at the ends of files, since each traverses what the file has made so far.
        gc.set_threshold(*gc.get_threshold()[:2], 100)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Freeze the objects that a test file leaves in caches, so that later garbage collections skip them.

    Its fixtures are torn down before that.
    """
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()
