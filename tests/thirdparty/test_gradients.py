"""Gradients of code that other people wrote, as it is: right, or an error that says what to write.

Run with ``pip install .[thirdparty]`` and ``python -m pytest -m thirdparty``. Each function is differentiated
by three routes: as it is, under `fg.adopt`, and compiled. Each is compared with finite differences of the
function on plain NumPy. A wrong gradient fails, whichever the route. The functions that are refused, and
those that are known to be wrong, are listed in `refused.py`; one that has become right by all routes fails:
the lists only shrink.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in
from tests.thirdparty.case import Case, finite_differences, flat
from tests.thirdparty.refused import REFUSED, WRONG
from tests.thirdparty.table import CASES

pytestmark = [pytest.mark.thirdparty, pytest.mark.filterwarnings("ignore")]

MAY_BE_REFUSED = {name for names in REFUSED.values() for name in names}


def unmodified(case: Case) -> Any:
    return fg.grad(case.scalar(case.target()))(case.point)


def adopted(case: Case) -> Any:
    return fg.grad(fg.adopt(case.scalar(fg.adopt(case.target()))))(case.point)


def compiled(case: Case) -> Any:
    """The second call, which runs the compiled program."""
    gradient = fg.jit(fg.grad(fg.adopt(case.scalar(fg.adopt(case.target())))))
    gradient(case.point)
    return gradient(case.point)


def outcome(route: Callable[[Case], Any], case: Case, expected: np.ndarray, atol: float) -> str:
    """Right, refused or wrong: what is not listed must be right."""
    try:
        found = flat(route(case))
    except Exception:
        if case.name not in MAY_BE_REFUSED:
            raise
        return "refused"
    try:
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=atol, err_msg=route.__name__)
    except AssertionError:
        if case.name not in WRONG:
            raise
        return "wrong"
    return "right"


@pytest.mark.parametrize("case", one_in(3, CASES), ids=lambda case: case.name)
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
        found = {
            route.__name__: outcome(route, case, expected, 1e-7 * size + 3 * error)
            for route in (unmodified, adopted, compiled)
        }
    for route, answer in found.items():
        record_property(route, answer)
    is_listed = case.name in MAY_BE_REFUSED or case.name in WRONG
    is_right = set(found.values()) == {"right"}
    assert not (is_listed and is_right), "take it out of refused.py"


def test_refused_functions_are_in_the_table() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert set(names) >= MAY_BE_REFUSED | set(WRONG)
