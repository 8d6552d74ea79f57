"""The part of an exhaustive family of tests that the default run has.

``-m slow`` runs the other cases, and ``--hypothesis-profile=thorough`` all examples of random tests.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

THOROUGH = "thorough"


def one_in(n: int, cases: Iterable[Any], start: int = 0) -> list[Any]:
    """Cases for ``parametrize``: each n-th of them, from ``start``, as it is; the others marked slow.

    A case that is a tuple has the values of several parameters.
    """
    return [case if k % n == start else marked_slow(case) for k, case in enumerate(cases)]


def marked_slow(case: Any) -> Any:
    """A case that the default run leaves out."""
    if hasattr(case, "values") and hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.slow])
    return pytest.param(*case if isinstance(case, tuple) else (case,), marks=pytest.mark.slow)


def examples(count: int) -> int:
    """How many random examples a test tries: two in five by default, all under the profile."""
    return count if settings.get_current_profile_name() == THOROUGH else 2 * count // 5
