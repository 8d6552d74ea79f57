"""Doctests, and modules, whose library is an extra are skipped where that is not installed."""

from importlib.util import find_spec

import pytest

_NEEDED = {
    "funcgrad.transforms.interop.export.to_jax": "jax",
    "funcgrad.transforms.interop.export.to_torch": "torch",
    "funcgrad.show.sympy_.to_sympy": "sympy",
}

_IMPORTING = {"pandas": "src/funcgrad/trace/pandas_columns.py", "distributed": "src/funcgrad/dask"}
_OF_SPHINX = ["docs/conf.py"]
collect_ignore = [
    *_OF_SPHINX,
    *[path for library, path in _IMPORTING.items() if find_spec(library) is None],
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        library = _NEEDED.get(item.name)
        if library is not None and find_spec(library) is None:
            item.add_marker(pytest.mark.skip(reason=f"{library} is not installed"))
