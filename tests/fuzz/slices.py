"""Families of programs run through the relations: a fixed slice, or as many as asked for."""

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.default_slice import examples
from tests.fuzz import relations
from tests.fuzz.programs import Program
from tests.fuzz.strategies import programs
from tests.fuzz.values import generic_arguments, special_arguments

RELATIONS = (*relations.VALUES, *relations.AT_GENERIC_POINTS)
# Laws of finite numbers hold in derivatives.
GENERIC_ONLY = {"nested"}
CHECKS = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


def fuzzed(family: str, examples: int, **options: Any) -> None:
    """Run a number of programs of a family through all relations."""

    @settings(max_examples=examples, suppress_health_check=CHECKS, **options)
    @given(programs(family), st.integers(0, 99))
    def run(program: Program, seed: int) -> None:
        check_all(family, program, seed)

    run()


def fixed_slice(family: str) -> None:
    """The programs that every run of the tests tries; a failure is cut down to one result."""
    count = max(11, examples(28))  # fewer do not find what `planted` plants
    fuzzed(family, count, derandomize=True, database=None, phases=[Phase.generate])


def check_all(family: str, program: Program, seed: int) -> None:
    """All relations of a program at a generic point, those of values at a special point, too."""
    for relation in RELATIONS:
        relations.check(relation, program, generic_arguments(program, seed))
    if family in GENERIC_ONLY:
        return
    for relation in relations.VALUES:
        relations.check(relation, program, special_arguments(program, seed))
