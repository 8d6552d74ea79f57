"""Parameterization of constants: numbers that change from call to call are inputs of a derived program.

Numbers are part of a skeleton, since laws ask for them. Skeletons that differ in numbers alone have a
`_Family`. If a number differs from that of an earlier call, the program for any number is derived. It runs
from then on if it has the form of the program for the number, up to numbers: else a law has found a stable
form, such as a norm, for which the number has to be positive, or has cancelled numbers. Exponents, and
numbers that laws name, such as 0 and 1, are no inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from funcgrad.expr import Expr, subexpressions
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.elementwise import arithmetic
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.matcher import is_named_number
from funcgrad.trace.skeleton import Skeleton, SkeletonRow


class HasOutputs(Protocol):
    """A derivation from a skeleton: a program, or several with the outputs of all."""

    @property
    def outputs(self) -> Sequence[Expr]: ...


Made = TypeVar("Made", bound=HasOutputs)
Make: TypeAlias = Callable[[Any, tuple[SkeletonRow, ...], tuple[int, ...], int], Made]
"""Derives from a transform, the rows and roots of a skeleton, and the number of leaves; a cached function."""


NUMBER = "n"
"""How the names of inputs begin that are numbers."""


Parameterized: TypeAlias = tuple[Made, Skeleton, dict[SkeletonRow, int]]
"""A derivation, the skeleton with the values of its inputs, and the rows of the numbers that are inputs, with
the places of these inputs."""


def derived_with_parameters(
    make: Make[Made], transform: Any, found: Skeleton, leaves: int, around: Sequence[Any] = ()
) -> Parameterized[Made]:
    """The derivation by ``make`` from a skeleton; numbers that change from call to call are inputs of it.

    For a formula, and for what a jitted function traces once, they are none: ``around`` are the values to
    which the derived program is applied, if they are others than the inputs of the skeleton.
    """
    numbers = _numbers_of(found)
    values = around or (found.inputs if found.symbolic else ())
    if not numbers or (values and _is_kept(values)):
        return make(transform, found.rows, found.roots, leaves), found, {}
    rows = list(found.rows)
    for place in numbers:
        rows[place] = (CONSTANT, None, rows[place][2])
    family: _Family[Made] = _family(make, transform, tuple(rows), found.roots, leaves)
    return family.derived(found, numbers)


def _is_kept(inputs: Sequence[Any]) -> bool:
    """Whether an input is a formula, or belongs to a trace that is recorded."""
    exprs = [value for value in inputs if type(value) is Expr]
    if any([expr.traced is not None and expr.traced.records for expr in exprs]):
        return True
    untraced = [expr for expr in exprs if expr.traced is None]
    return bool(untraced) and any([expr.op is INPUT for expr in subexpressions(*untraced)])


def _numbers_of(found: Skeleton) -> dict[int, float]:
    """The rows of the numbers that may be inputs, with the numbers."""
    rows = found.rows
    values: dict[int, float] = {}
    for place, array in found.numbers.items():
        value = array.item()
        if type(value) is float and is_usual(value):
            values[place] = value
    exponents = [row[1][1] for row in rows if row[0] is arithmetic.power] if values else []
    for place in exponents:
        values.pop(place, None)
        op, operands, _ = rows[place]
        if op is not INPUT and op is not CONSTANT and op.hidden:  # fitted to the base
            exponents += operands
    return values


def is_usual(number: float) -> bool:
    """Whether no law is about a number."""
    return 1e-100 < abs(number) < 1e100 and not is_named_number(number)


NumberPattern: TypeAlias = tuple[tuple[bool, int], ...]


def number_pattern(values: Sequence[float]) -> NumberPattern:
    """What laws may ask of numbers that they do not name: the signs, and which are equal or opposite."""
    first: dict[float, int] = {}
    return tuple([(v > 0, first.setdefault(abs(v), k)) for k, v in enumerate(values)])


class _General(NamedTuple, Generic[Made]):
    """The derivation for any values of some numbers."""

    numbers: dict[int, float]
    """All numbers. Those that are no inputs have these values."""
    inputs: tuple[int | None, ...]
    """For each input the row of its number; None for one that is no number."""
    fixed: frozenset[float]
    """The absolute values of the numbers that are no inputs."""
    made: Made
    patterns: frozenset[NumberPattern]
    """The patterns of the inputs for which it agrees with the derivation for the numbers themselves."""

    @property
    def places(self) -> list[int]:
        """The rows of the numbers that are inputs."""
        return [place for place in self.inputs if place is not None]

    def pattern(self, numbers: dict[int, float]) -> NumberPattern | None:
        """The pattern of the inputs; None if a number that is no input has one of their values."""
        values = [numbers[place] for place in self.places]
        return number_pattern(values) if self.fixed.isdisjoint(map(abs, values)) else None

    def differs(self, numbers: dict[int, float]) -> set[int]:
        """The rows of numbers that are no inputs, and have other values."""
        others = {place for place, value in numbers.items() if self.numbers[place] != value}
        return others.difference(self.places)


@lru_cache(maxsize=512)
def _family(*identity: Any) -> _Family[Any]:
    return _Family(*identity)


class _Family(Generic[Made]):
    """The derivations from skeletons that differ in numbers alone."""

    __slots__ = ("_general", "_last", "_leaves", "_make", "_promotes", "_transform")

    def __init__(self, make: Make[Made], transform: Any, *identity: Any) -> None:
        self._make, self._transform, self._leaves = make, transform, identity[-1]
        self._last: tuple[dict[int, float], Made] | None = None
        """The numbers of the last derivation for numbers themselves, and that derivation."""
        self._general: _General[Made] | None = None
        self._promotes = True

    def derived(self, found: Skeleton, numbers: dict[int, float]) -> Parameterized[Made]:
        """The derivation for these numbers, or for any."""
        general = self._general_for(found, numbers)
        met = None if general is None else general.pattern(numbers)
        if general is None or met is None:
            return self._for_themselves(found, numbers)
        if met not in general.patterns:
            self._promotes = self._agrees(general, found, numbers)
            if not self._promotes:
                return self._for_themselves(found, numbers)
            general = self._general = general._replace(patterns=general.patterns | {met})
        rest = iter(found.inputs)
        inputs = [next(rest) if k is None else found.numbers[k] for k in general.inputs]
        places = {found.rows[k]: i for i, k in enumerate(general.inputs) if k is not None}
        return general.made, found._replace(inputs=inputs), places

    def _for_themselves(self, found: Skeleton, numbers: dict[int, float]) -> Parameterized[Made]:
        known, made = self._last or ({}, None)
        if made is None or known != numbers:
            made = self._make(self._transform, found.rows, found.roots, self._leaves)
            self._last = numbers, made
        return made, found, {}

    def _general_for(self, found: Skeleton, numbers: dict[int, float]) -> _General[Made] | None:
        """The derivation for any values of the numbers that have changed; None if none has."""
        last, general = self._last, self._general
        if last is None or not self._promotes:
            return None
        if general is None:
            changed = {place for place, value in numbers.items() if last[0][place] != value}
        else:
            changed = general.differs(numbers)
            if changed:
                changed.update(general.places)
        if changed:
            general = self._general = self._generalized(found, numbers, changed)
        return general

    def _generalized(
        self, found: Skeleton, numbers: dict[int, float], changed: set[int]
    ) -> _General[Made]:
        rows = list(found.rows)
        inputs: list[int | None] = []
        for place, row in enumerate(rows):
            if row[0] is INPUT or place in changed:
                kind = NUMBER if place in changed else "i"
                rows[place] = (INPUT, f"{kind}{len(inputs)}", row[2])
                inputs.append(place if place in changed else None)
        others = [array for place, array in found.numbers.items() if place not in changed]
        fixed = frozenset([abs(array.item()) for array in others if array.dtype.kind in "biufc"])
        made = self._make(self._transform, tuple(rows), found.roots, self._leaves)
        return _General(numbers, tuple(inputs), fixed, made, frozenset())

    def _agrees(self, general: _General[Made], found: Skeleton, numbers: dict[int, float]) -> bool:
        """Whether no law has used the numbers: the derivation for them has the same form."""
        known, made = self._last or ({}, None)
        if (
            made is None
            or general.differs(known)
            or general.pattern(known) != general.pattern(numbers)
        ):
            made = self._for_themselves(found, numbers)[0]
        try:
            forms = _Forms()
            return forms.of(made) == forms.of(general.made)
        except (TypeError, ValueError):  # of a body that has no derivative
            return False


class _Forms:
    """Value numbering of expressions up to their constants: equal forms have constants in the same places.

    A sum is the set of its terms, and whether there is a number. So forms are equal if no law has used more
    of a number than that it is one, such as that two cancel, or a share of exponentials.
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._terms: dict[int, tuple[frozenset[int], bool]] = {}
        """The terms of the forms that are sums, and whether a number is added."""
        self._inverse: dict[int, int] = {}
        """The divisors of the forms that are a number by something."""

    def of(self, made: HasOutputs) -> list[int]:
        """The forms of the outputs; 0 is that of a constant."""
        return folded(made.outputs, self._form)

    def _numbered(self, form: Any) -> int:
        return self._known.setdefault(form, len(self._known) + 1)

    def _form(self, expr: Expr, args: tuple[int, ...]) -> int:
        op = expr.op
        if op is CONSTANT or (args and not any(args)):
            return 0
        if op is INPUT:
            name = str(expr.params[0][1])
            kind = name.rstrip("0123456789")
            return 0 if name.startswith(NUMBER) else self._numbered((kind, expr.type))
        if args and (op.hidden or op.moves or op is arithmetic.negative):
            return args[0]
        if op in (arithmetic.add, arithmetic.subtract):
            return self._sum(args)
        if op is arithmetic.square:
            return self._product(args * 2)
        if op is arithmetic.multiply:
            return self._product(args)
        if op in (arithmetic.divide, arithmetic.reciprocal):
            return self._quotient(*(0, *args)[-2:])
        exponent = _exponent(expr) if op is arithmetic.power else None
        return self._numbered((op, expr.params, expr.type, args, exponent))

    def _sum(self, args: tuple[int, ...]) -> int:
        parts = [self._terms.get(k, (frozenset([k]), False)) for k in args if k]
        terms = frozenset[int]().union(*[known for known, _ in parts])
        with_number = 0 in args or any([number for _, number in parts])
        if len(terms) == 1 and not with_number:
            return next(iter(terms))
        found = self._numbered(("+", terms, with_number))
        self._terms[found] = terms, with_number
        return found

    def _product(self, args: tuple[int, ...]) -> int:
        for x, y in (args, args[::-1]):
            if not x or y in self._inverse:
                return y if not x else self._quotient(x, self._inverse[y])
        return self._numbered(("*", tuple(sorted(args))))

    def _quotient(self, above: int, below: int) -> int:
        if not below:
            return above
        found = self._numbered(("/", above, below))
        if not above:
            self._inverse[found] = below
        return found


def _exponent(expr: Expr) -> float | None:
    exponent = expr.args[1]
    while exponent.args and exponent.op.hidden:
        exponent = exponent.args[0]
    return value_of(exponent)  # type: ignore[no-any-return]
