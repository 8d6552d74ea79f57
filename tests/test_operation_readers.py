"""Every operation is read by every reader, but for the gaps that docs/operations.md lists."""

from pathlib import Path

import pytest

from funcgrad import __file__ as package
from tests.default_slice import marked_slow
from tests.operation_readers import (
    GAPS,
    READERS,
    SPECIAL,
    gaps,
    page,
    programs,
    read,
    reads_special,
    special_program,
)
from tests.ops.special_points import SLICE

PROGRAMS = programs()


def test_every_operation_has_a_program():
    from funcgrad.expr import operation_table

    # What takes apart and makes tuples, identities of traces and of paths, and marks of custom rules have no
    # program alone. Calls that run where they are taken hold what is a gap by itself.
    inner = {"leaf", "example", "pick", "together", "last", "beyond", "stop_gradient_unless"}
    inner.add("guarded_call")
    missing = set(operation_table.ops) - inner - {*PROGRAMS, *SPECIAL}
    assert not missing, "add samples to tests/ops/samples.py, or programs to operation_readers.py"


def test_every_special_function_has_arguments():
    shapes = {name: special_program(name).expr.shape for name in SPECIAL}
    assert shapes == dict.fromkeys(SPECIAL, ())


def library_of(reader):
    package = READERS[reader].package
    if package:
        library = pytest.importorskip(package)
        if package == "jax":
            library.config.update("jax_enable_x64", True)


# JAX compiles each program for a tenth of a second: of what takes long, the default run has every fourth.
EXPENSIVE = ("to_jax", "precise", "forward mode", "second order", "sparsity", "jit")
READ = [(reader, 4 if reader in EXPENSIVE else 1) for reader in READERS]


@pytest.mark.parametrize(
    ("reader", "every"), [*READ, *[marked_slow((reader, 1)) for reader in EXPENSIVE]]
)
def test_operations_are_read_but_for_the_gaps_that_are_listed(reader, every):
    library_of(reader)
    unread = {}
    names = list(PROGRAMS)[::every]
    for name in names:
        try:
            read(reader, PROGRAMS[name])
        except (TypeError, ValueError, AssertionError) as error:
            unread[name] = str(error)
    assert set(unread) == gaps(reader) & set(names), {
        name: why for name, why in unread.items() if name not in gaps(reader)
    }


def check_special(reader, names):
    library_of(reader)
    for name in names:
        program = special_program(name)
        if reads_special(reader, name):
            read(reader, program)
        else:
            with pytest.raises((TypeError, ValueError, AssertionError)):
                read(reader, program)


@pytest.mark.parametrize("reader", [reader for reader in READERS if not READERS[reader].package])
def test_special_functions_are_read_if_their_records_have_the_column(reader):
    check_special(reader, SLICE)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("reader", READERS)
def test_every_special_function_is_read_if_its_record_has_the_column(reader, name):
    check_special(reader, [name])


def test_reasons_name_an_operation_once():
    for reasons in GAPS.values():
        names = [name for group in reasons.values() for name in group.split()]
        assert len(names) == len(set(names))


def test_the_page_lists_the_gaps():
    home = Path(package).parents[2]
    if not (home / "docs").exists():
        pytest.skip("the documentation is not beside the package")
    same = (home / "docs" / "operations.md").read_text() == page()
    assert same, "run: python tools/operation_table.py"
