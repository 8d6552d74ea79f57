"""Strength reduction of small integer powers: products in the place of `numpy.power`.

Laws: x**3 = x**2*x, x**4 = (x**2)**2, x**-2 = (1/x)**2. `numpy.power` takes 100 ns for a negative number,
where a product takes 0.3. The errors are at most 2 units in the last place, and no product overflows or
underflows where the power does not. Machine code has powers of its own (`literal_powers`).
Gain (docs/passes.md): without it the gradient of the fourth powers of 10,000 numbers takes 130 times as long.
"""

from __future__ import annotations

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, repeated_constant
from funcgrad.compiler.ir_rewriter import Rewrite
from funcgrad.ops.elementwise.arithmetic import multiply, power, reciprocal, square

# A call of NumPy's takes as long as the powers of so many entries.
_MIN_ENTRIES = 8
_DTYPES = (np.dtype("float64"), np.dtype("float32"))
_EXPONENTS = frozenset({-2, 3, 4})


def integer_powers(flat: Flat) -> Flat:
    """The program with small integer powers of arrays as products.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x", 9)
    >>> [step.op.name for step in integer_powers(flatten_program([x**3], [x])).steps]
    ['input', 'constant', 'broadcast_to', 'square', 'multiply']
    """
    exponents = {i: _exponent(flat, step) for i, step in enumerate(flat.steps) if step.op is power}
    if not any(exponents.values()):
        return flat
    rewrite = Rewrite(flat)
    for i, step in enumerate(flat.steps):
        made = rewrite.remapped(step)
        exponent = exponents.get(i)
        if exponent:
            rewrite.new_index[i] = _product(rewrite, made, exponent)
        else:
            rewrite.new_index[i] = rewrite.emit(made)
            rewrite.unique.setdefault(made, rewrite.new_index[i])
    return rewrite.result()


def _exponent(flat: Flat, step: FlatStep) -> int:
    """The exponent of a power that is taken by products; 0 of any other."""
    base, exponent = step.operands
    number = repeated_constant(flat, exponent)
    known = flat.steps[base].type == step.type and step.type.dtype in _DTYPES
    return int(number) if known and step.type.size >= _MIN_ENTRIES and number in _EXPONENTS else 0


def _product(rewrite: Rewrite, step: FlatStep, exponent: int) -> int:
    type, (x, _) = step.type, step.operands
    if exponent < 0:
        x = rewrite.emit_op(reciprocal, type, x)
    found = rewrite.emit_op(square, type, x)
    if exponent == 4:
        return rewrite.emit_op(square, type, found)
    return rewrite.emit_op(multiply, type, found, x) if exponent == 3 else found
