"""Every operation is read by every reader, but for the gaps that docs/operations.md lists."""

from pathlib import Path

import pytest

from funcgrad import __file__ as package
from tests.operation_readers import GAPS, READERS, gaps, page, programs, read

PROGRAMS = programs()
OPTIONAL = {"to_jax": "jax", "to_torch": "torch", "to_sympy": "sympy", "precise": "mpmath"}


def test_every_operation_has_a_program():
    from funcgrad.expr import operation_table

    # What takes apart and makes tuples, identities of traces and marks of custom rules have no program alone.
    inner = {"leaf", "example", "pick", "together", "last", "beyond"}
    assert set(operation_table.ops) - inner <= set(PROGRAMS)


@pytest.mark.parametrize("reader", READERS)
def test_operations_are_read_but_for_the_gaps_that_are_listed(reader):
    if reader in OPTIONAL:
        library = pytest.importorskip(OPTIONAL[reader])
        if reader == "to_jax":
            library.config.update("jax_enable_x64", True)
    unread = {}
    for name, program in PROGRAMS.items():
        try:
            read(reader, program)
        except (TypeError, ValueError, AssertionError) as error:
            unread[name] = str(error)
    assert set(unread) == gaps(reader), {
        name: why for name, why in unread.items() if name not in gaps(reader)
    }


def test_reasons_name_an_operation_once():
    for reasons in GAPS.values():
        names = [name for group in reasons.values() for name in group.split()]
        assert len(names) == len(set(names))


def test_the_page_lists_the_gaps():
    home = Path(package).parents[2]
    if not (home / "docs").exists():
        pytest.skip("the documentation is not beside the package")
    assert (home / "docs" / "operations.md").read_text() == page()
