"""Dtypes of traced columns, as code asks for them that is not pandas' own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

from tests.tables.table_cases import X, check, table, weighed  # noqa: E402

ANSWERS: dict[str, Callable[[Any], Any]] = {
    "equal": lambda s: [s.dtype == float, s.dtype == "float64", s.dtype != np.float32],
    "name": lambda s: [s.dtype.name, str(s.dtype), s.dtype.kind, s.dtype.char, s.dtype.itemsize],
    "kind": lambda s: [np.issubdtype(s.dtype, np.number), issubclass(s.dtype.type, np.floating)],
    "pandas": lambda s: [
        pd.api.types.is_float_dtype(s),
        pd.api.types.is_numeric_dtype(s.dtype),
        isinstance(s.dtype, pd.api.extensions.ExtensionDtype),
    ],
    "numpy": lambda s: [np.finfo(s.dtype).eps, np.zeros(2, s.dtype).dtype, np.dtype(s.dtype)],
    "key": lambda s: [{np.dtype(float): 1}[s.dtype], s.dtype in ("float64", "float32")],
    "getattr": lambda s: [getattr(s, "dtype", None).name, getattr(s, "dtypes", None).name],
    "frame": lambda s: [
        list(s.to_frame("a").assign(k="u", n=1).dtypes.map(str)),
        list(s.to_frame("a").assign(k="u", n=1).select_dtypes(include=["float64"])),
        list(s.to_frame("a").assign(k="u", n=1).select_dtypes("number")),
        list(s.to_frame("a").assign(k="u", n=1).select_dtypes(exclude=[float])),
    ],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_traced_column_has_the_dtype_of_its_numbers(name: str) -> None:
    """It was one of funcgrad's, so that code took another branch."""
    answers: list[Any] = []

    def f(x: Any) -> Any:
        answers.append(ANSWERS[name](pd.Series(x)))
        return pd.Series(x).sum()

    f(X)
    fg.grad(f)(X)
    fg.jit(fg.grad(f))(X)
    assert answers[0] == answers[1] == answers[2]


def test_branches_on_dtypes_are_those_of_plain_columns() -> None:
    def standardized(d: Any) -> Any:
        for column in d.columns:
            if np.issubdtype(d[column].dtype, np.number) and d[column].dtype == "float64":
                d[column] = (d[column] - d[column].mean()) / d[column].std()
        return d

    check(lambda x: weighed(standardized(table(x))))
    check(lambda x: weighed(table(x).select_dtypes(include=["float64"]) ** 2))
    check(lambda x: weighed(pd.Series(x).astype(pd.Series(x).dtype) ** 2))
