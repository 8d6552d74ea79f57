"""The instructions of the register VM: the templates of operations on numbers, and rows of products.

A template is that of a column of an operation (`Columns.scalar`, `Columns.native`) that has ``vm``, or a
sum of a few terms (`SHORT_SUMS`). Beside them, ``terms`` adds any number of products: the result, their
count, and for each product two registers; ``signed`` has a third register for each product, which holds its
sign; ``both`` computes softplus and sigmoid of one number. Terms are added in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, islice
from string import Formatter
from typing import Any

from funcgrad.compiler.python.scalar_ops import native_template
from funcgrad.expr import operation_table
from funcgrad.ops.base.columns import ScalarUse
from funcgrad.ops.base.op import Op

AS_TRUTH = "({0} != 0.0)"
"""The instruction of a cast to bool. Truth values are numbers already, so that other casts need none."""

UNCHANGED = "{0}"
"""The template of an operation whose value is its operand's."""

MOST_TERMS = 4
"""The most terms of a sum that is a template."""


def sum_template(terms: Sequence[tuple[int, bool]]) -> str:
    """The template of a sum of terms: of each its number of factors, 1 or 2, and whether it is negated.

    >>> sum_template([(1, False), (2, True)])
    '({0} - {1}*{2})'
    """
    names = map("{{{}}}".format, count())
    products = ["*".join(islice(names, factors)) for factors, _ in terms]
    first = f"-({products[0]})" if terms[0][1] else products[0]
    signs = [" - " if negated else " + " for _, negated in terms]
    rest = [sign + product for sign, product in zip(signs[1:], products[1:], strict=True)]
    return f"({first}{''.join(rest)})"


def _sums() -> Iterator[str]:
    """The sums that are frequent in gradients."""
    plain, product, negated = (1, False), (2, False), (2, True)
    yield from map(sum_template, [[negated], [plain, negated]])
    for more in range(1, MOST_TERMS):
        for terms in ([plain], [product]):
            yield sum_template([*terms, *[product] * more])
        yield sum_template([negated] * (more + 1))
        yield sum_template([plain] * (more + 1))


SHORT_SUMS = tuple(dict.fromkeys(_sums()))
"""The templates of sums."""


@lru_cache(maxsize=1024)
def instruction_of(op: Op, kind: str, operands: int) -> str | None:
    """The template of an operation on registers of a kind, if it has one."""
    return native_template(op, ScalarUse(kind, {}, (None,) * operands))


@lru_cache(maxsize=1024)
def arity(template: str) -> int:
    """The number of operands of a template."""
    return 1 + max([int(name) for _, name, _, _ in Formatter().parse(template) if name], default=-1)


@lru_cache(maxsize=1)
def templates() -> tuple[str, ...]:
    """The templates of all operations that the VM has instructions for, each once."""
    every: Mapping[str, Any] = operation_table.ops
    ops = [op for op in every.values() if op.columns.vm]
    texts = [instruction_of(op, kind, len(op.edges)) for kind in "fb" for op in ops]
    known = dict.fromkeys([text for text in texts if text is not None and text != UNCHANGED])
    return (*known, AS_TRUTH)


@lru_cache(maxsize=1)
def widths() -> Mapping[str, int]:
    """How many words an execution of each instruction takes; 0 if its second word, the count, says so."""
    return {
        "terms": 0,
        "signed": 0,
        "both": 3,
        **{template: 1 + arity(template) for template in (*SHORT_SUMS, *templates())},
    }


@lru_cache(maxsize=1)
def opcodes() -> Mapping[str, int]:
    """The opcodes of the instructions, by their names."""
    return {name: opcode for opcode, name in enumerate(widths())}
