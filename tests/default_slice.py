"""The part of an exhaustive family of tests that the default run has.

``-m slow`` runs the other cases, and ``--hypothesis-profile=thorough`` all examples of random tests.

A default run does not make the other cases at all, since making and deselecting thousands of them takes
seconds. So the name of a slow test, such as ``test_file.py::test[case]``, is found only beside ``-m slow`` or
``-m ""``; and where pytest numbers the cases of a family (``[x3]``), the numbers count those that are made.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

THOROUGH = "thorough"


class Run:
    """What ``conftest.py`` reads off the options of the run."""

    leaves_slow_out = False


def one_in(n: int, cases: Iterable[Any], start: int = 0) -> list[Any]:
    """Cases for ``parametrize``: each n-th of them, from ``start``, as it is; the others marked slow.

    A case that is a tuple has the values of several parameters.
    """
    return with_slow([(case, k % n == start) for k, case in enumerate(cases)])


def some(chosen: Iterable[Any], cases: Iterable[Any]) -> list[Any]:
    """Cases for ``parametrize``: those that are chosen as they are; the others marked slow."""
    chosen = list(chosen)
    return with_slow([(case, case in chosen) for case in cases])


def with_slow(cases: Iterable[tuple[Any, bool]]) -> list[Any]:
    """Cases for ``parametrize``: those beside True as they are; the others marked slow."""
    return [
        case if default else marked_slow(case)
        for case, default in cases
        if default or not Run.leaves_slow_out
    ]


def marked_slow(case: Any) -> Any:
    """A case that the default run leaves out."""
    if hasattr(case, "values") and hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.slow])
    return pytest.param(*case if isinstance(case, tuple) else (case,), marks=pytest.mark.slow)


def examples(count: int) -> int:
    """How many random examples a test tries: one in five by default, all under the profile."""
    return count if settings.get_current_profile_name() == THOROUGH else -(-count // 5)
