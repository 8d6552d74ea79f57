"""Gradients of code that other people wrote, as it is: right, or an error that says what to write.

Run with ``pip install .[thirdparty]`` and ``python -m pytest -m thirdparty``. Each function is differentiated
by three routes, and compared with finite differences of the function on plain NumPy. A wrong gradient fails,
whichever the route. The functions that may be refused when they are adopted are listed in `refused.py`; the
summary names those that need not be there any more.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.thirdparty.case import Case, finite_differences, flat
from tests.thirdparty.refused import REFUSED
from tests.thirdparty.table import CASES

pytestmark = [pytest.mark.thirdparty, pytest.mark.filterwarnings("ignore")]

MAY_BE_REFUSED = {name for names in REFUSED.values() for name in names}


def unmodified(case: Case) -> Any:
    return fg.grad(case.scalar(case.target()))(case.point)


def adopted(case: Case) -> Any:
    return fg.grad(case.scalar(fg.adopt(case.target())))(case.point)


def compiled(case: Case) -> Any:
    """The second call, which runs the compiled program."""
    gradient = fg.jit(fg.grad(case.scalar(fg.adopt(case.target()))))
    gradient(case.point)
    return gradient(case.point)


def outcome(route: Callable[[Case], Any], case: Case, expected: np.ndarray, atol: float) -> str:
    """Right or refused: another gradient fails, and so does a refusal that is not listed."""
    try:
        found = flat(route(case))
    except Exception:
        if route is not unmodified and case.name not in MAY_BE_REFUSED:
            raise
        return "refused"
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=atol, err_msg=route.__name__)
    return "right"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gradient_is_right_or_refused(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    if importlib.util.find_spec(case.package) is None:
        pytest.skip(f"{case.package} is not installed")
    with np.errstate(all="ignore"):
        expected, error = finite_differences(case.scalar(case.target()), case.point, case.step)
        assert np.isfinite(expected).all()
        size = np.max(np.abs(expected), initial=1e-300)
        assert error <= 1e-5 * size, "the oracle itself must be accurate here"
        for route in (unmodified, adopted, compiled):
            found = outcome(route, case, expected, 1e-7 * size + 3 * error)
            record_property(route.__name__, found)


def test_refused_functions_are_in_the_table() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert set(names) >= MAY_BE_REFUSED
