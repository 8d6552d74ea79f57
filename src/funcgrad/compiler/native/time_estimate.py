"""How long a program takes in NumPy and in machine code: estimated, so that every run decides alike.

A NumPy call takes about a microsecond and a nanosecond an entry, machine code a fraction of that and some
nanoseconds for a transcendental function.
"""

from __future__ import annotations

import math
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, flatten_program
from funcgrad.compiler.native.vector_functions import has_vector_functions
from funcgrad.compiler.numpy.thread_pool import cores
from funcgrad.control.closed_program import Body
from funcgrad.control.loop import loop_op
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.op import Elementwise, broadcast_to
from funcgrad.ops.factored_solves import has_scipy
from funcgrad.ops.recurrences import recurrence_op
from funcgrad.ops.tuples import pick_op


class Estimate(NamedTuple):
    """Nanoseconds of one run of a program."""

    numpy: float
    native: float
    steps: int
    """The number of steps that are compiled, those of inner programs included."""
    numbers: int = 0
    """How many of them are on numbers, or on so few that LLVM writes their loops out."""
    blas: float = 0.0
    """Nanoseconds of products that BLAS computes in both: their ratio says nothing."""

    @property
    def compiling(self) -> float:
        """Nanoseconds that compiling takes."""
        return _COMPILE_NUMBER * self.numbers + _COMPILE_STEP * (self.steps - self.numbers)

    def times(self, count: int) -> Estimate:
        """Of so many runs of what is compiled once."""
        numpy, native, blas = [part * count for part in (self.numpy, self.native, self.blas)]
        return self._replace(numpy=numpy, native=native, blas=blas)

    def plus(self, other: Estimate) -> Estimate:
        """Of both."""
        return Estimate(
            self.numpy + other.numpy,
            self.native + other.native,
            self.steps + other.steps,
            self.numbers + other.numbers,
            self.blas + other.blas,
        )


# Nanoseconds: a call of a NumPy function, an entry in it, and a run of its innermost loop where an operand is
# broadcast or an axis reduced; in machine code an entry, and one of a recurrence.
_CALL, _NUMPY_ENTRY, _INNERMOST, _ENTRY, _SERIAL = 800.0, 0.5, 10.0, 0.08, 2.0
# Reading or writing an entry of 8 bytes of an operand or a result of machine code.
_MEMORY = 0.15
# The same of complex numbers, and of a function of them, which C computes one by one.
_NUMPY_COMPLEX, _COMPLEX, _COMPLEX_FUNCTION = 1.0, 0.2, 30.0
# How many times its estimate an iteration may take.
_SLOWEST = 5.0
# Entries from which NumPy's calls are split among threads.
_THREADED = 1 << 17
# Compiling a step on numbers, and one on arrays of more than so many entries.
_COMPILE_NUMBER, _COMPILE_STEP, _WRITTEN_OUT = 0.2e6, 2e6, 8
# An entry of NumPy's that lies far from the one before.
_STRIDED = 5.0
# Python's arithmetic on a number, which NumPy made, and in the generated code of a loop on numbers.
_NUMBER, _STATEMENT = 100.0, 25.0
# An entry of a function such as exp: in vectors and by itself, in NumPy and in machine code. One of SciPy's.
_NUMPY_VECTORS, _NUMPY_ALONE, _IN_VECTORS, _ALONE, _SPECIAL = 1.2, 9.0, 1.3, 9.0, 15.0
# The dtypes of Python's numbers.
_PYTHON = tuple([np.dtype(kind) for kind in (float, complex, int, bool)])
# A multiplication by BLAS, in machine code and in NumPy's einsum, and a matrix of a stack in NumPy's product.
_BLAS, _PRODUCT, _EINSUM, _STACKED = 0.08, 0.17, 0.3, 30.0
# What NumPy's convolution takes beside a call and its products.
_CONVOLVED = 3000.0
# A call of NumPy's for linear algebra; a small matrix of a stack in it and in machine code; LAPACK's call.
_FACTORED, _MATRIX, _FIXED, _LAPACK = 5000.0, 500.0, 20.0, 2500.0
# A call of NumPy's for a Fourier transform, and a flop of a complex transform in it: of several rows at once,
# in vectors, and of a single one; one in machine code; the part that a real transform takes of it in NumPy.
_FOURIER, _FLOP_IN_VECTORS, _FLOP_ALONE, _FOURIER_FLOP, _REAL_PART = 4000.0, 0.1, 0.2, 0.09, 0.6
# The rows of a matrix up to which systems and factors are loops in machine code; of more they are LAPACK's.
MOST_ROWS = 16
# Nanoseconds for entering a loop outside of machine code; iterations if their number is unknown.
_LOOP, _UNKNOWN = 12000.0, 8
# Those for entering a loop on numbers from another, whose code is Python.
_INNER = 500.0
# Those that a step on numbers waits for the one before in a loop.
_LATENCY = 0.5


_FREE = (CONSTANT, INPUT, pick_op)


def estimate(flat: Flat) -> Estimate:
    """What one run of a program takes in NumPy and in machine code.

    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> estimate(flatten_program([x * x + 1.0], [x])).steps
    3
    """
    moved = [*flat.steps[: flat.inputs], *[flat.steps[i] for i in flat.results]]
    bytes = sum([step.type.size * step.type.dtype.itemsize for step in moved if step.type.shape])
    total = Estimate(0.0, _MEMORY * max(bytes, 0) / 8, 0)
    for step in flat.steps[flat.inputs :]:
        if step.op not in _FREE:
            total = total.plus(_of_step(flat, step))
    return total


def _of_body(body: Body) -> Estimate:
    return estimate_iteration(flatten_program(body.program.outputs, body.program.inputs))


def is_on_numbers(flat: Flat) -> bool:
    """Whether a program computes on Python's numbers alone, and so do the loops in it."""
    return all([_is_on_numbers(flat, step) for step in flat.steps])


def _is_on_numbers(flat: Flat, step: FlatStep) -> bool:
    if step.op is CONSTANT:  # (An array may be the indices of a loop.)
        return True
    if step.op is loop_op:
        return all([is_on_numbers(part) for part in _parts(step)])
    read = [flat.steps[k] for k in step.operands]
    values = [step.type, *[other.type for other in read if other.op is not loop_op]]
    return all([type.shape == () and type.dtype in _PYTHON for type in values])


def _parts(step: FlatStep) -> list[Flat]:
    """The body of a loop, and its condition if it has one."""
    params = dict(step.params)
    bodies: list[Body] = [params["body"], *([params["cond"]] if params["cond"] is not None else [])]
    return [flatten_program(body.program.outputs, body.program.inputs) for body in bodies]


def estimate_iteration(flat: Flat) -> Estimate:
    """What one run of a loop's body takes, which is Python if it is on numbers alone."""
    found = estimate(flat)
    if not is_on_numbers(flat):
        return found
    loops = [step for step in flat.steps if step.op is loop_op]
    own = [step for step in flat.steps[flat.inputs :] if step.op not in (*_FREE, loop_op)]
    inner = sum([_of_step(flat, step).numpy - _LOOP + _INNER for step in loops])
    return found._replace(numpy=_STATEMENT * len(own) + inner)


def fuel(flat: Flat, test: Flat | None) -> int:
    """The nanoseconds of an iteration in machine code that a loop counts, to stop before long."""
    cost = estimate(flat) if test is None else estimate(flat).plus(estimate(test))
    return int(_SLOWEST * cost.native + _LATENCY * cost.numbers) + 1


def _of_step(flat: Flat, step: FlatStep) -> Estimate:
    params = dict(step.params)
    if step.op is loop_op:
        spec, (body, *rest) = params["spec"], _parts(step)
        each = estimate_iteration(body)
        for other in rest:
            each = each.plus(estimate_iteration(other))
        count = spec.trip_count if spec.trip_count >= 0 else _UNKNOWN
        return each.times(count).plus(Estimate(_LOOP, 0.0, 0))
    if step.type.dtype.kind == "O":
        held = params.get("branches") or [params[name] for name in ("body",) if name in params]
        found = Estimate(_CALL, 0.0, 0)
        for body in held:
            found = found.plus(_of_body(body))
        return found
    sizes = [flat.steps[k].type.size for k in step.operands if flat.steps[k].type.dtype.kind != "O"]
    entries = max([step.type.size, *sizes])
    if step.op.name in ("matmul", "einsum"):
        return _of_contraction(flat, step)
    if step.op.name == "convolve":
        return _of_convolution(flat, step)
    if (step.op.columns.machine or "").startswith(("matrix_forms:", "lapack_forms:")):
        return _of_matrices(flat, step)
    if (step.op.columns.machine or "").startswith("fourier_forms:"):
        flops, rate = _fourier_flops(flat, step)
        return Estimate(_FOURIER + rate * flops, _FOURIER_FLOP * flops, 1)
    if step.op is recurrence_op:
        # NumPy computes a row of all lanes at a time, whose entries lie apart unless the axis is the first.
        lanes = 2 * _CALL * step.type.shape[params["axis"]] + _STRIDED * entries
        return Estimate(_CALL + min(lanes, _NUMBER * entries), _SERIAL * entries, 1)
    if step.op.in_place:  # (What a store leaves as it is costs nothing.)
        entries = flat.steps[step.operands[1]].type.size
    return _of_entries(flat, step, entries)


def _of_convolution(flat: Flat, step: FlatStep) -> Estimate:
    """Of vectors by NumPy's function, of stacks of them by a product and a sum for each of the shorter ones'
    entries.
    """
    terms = min([flat.steps[k].type.shape[-1] for k in step.operands])
    each = _PRODUCT * step.type.size
    if len(step.type.shape) == 1:
        return Estimate(_CALL + _CONVOLVED + terms * each, terms * each, 1)
    by_numpy = _CALL + _CONVOLVED + terms * (2 * _CALL + 2 * _NUMPY_ENTRY * step.type.size)
    return Estimate(by_numpy, terms * each, 1)


def _of_matrices(flat: Flat, step: FlatStep) -> Estimate:
    """Of systems with a stack of matrices, or their factors."""
    *stack, n = flat.steps[step.operands[0]].type.shape[:-1]
    if n <= MOST_ROWS or (step.op.columns.machine or "").startswith("matrix_forms:"):
        has_right = len(step.type.shape) > len(stack) and step.op.name != "cholesky"
        right = step.type.shape[-1] if has_right else 0
        work, count = n * n * (n / 3 + right), math.prod(stack)
        by_numpy = _FACTORED + count * (_MATRIX + _BLAS * work)
        if n <= MOST_ROWS:
            return Estimate(by_numpy, count * (_FIXED + _PRODUCT * work), 1)
        both = by_numpy - _FACTORED  # LAPACK's in both
        if (
            step.op.columns.machine == "matrix_forms:cofactors"
        ):  # of which NumPy factors the matrix twice, and machine code once
            both = count * (_MATRIX + _BLAS * n**3)
        return Estimate(by_numpy, both, 1, blas=both)
    work = step.type.size * flat.steps[step.operands[0]].type.shape[-1]
    both = _MATRIX + _BLAS * (work / 3 if len(step.operands) == 1 else work)
    return Estimate(_LAPACK + both, both, 1, blas=both)


def _fourier_flops(flat: Flat, step: FlatStep) -> tuple[int, float]:
    """The flops of a complex transform, as those to and from real values are in machine code, too.

    And the nanoseconds of one in NumPy.
    """
    operand, axis = flat.steps[step.operands[0]].type, dict(step.params)["axis"]
    whole = max(operand, step.type, key=lambda type: type.size)
    flops = 5 * whole.size * max(whole.shape[axis] - 1, 0).bit_length()
    rate = _FLOP_IN_VECTORS if whole.size > whole.shape[axis] else _FLOP_ALONE
    return flops, rate if operand.dtype == step.type.dtype else _REAL_PART * rate


def _of_entries(flat: Flat, step: FlatStep, entries: int) -> Estimate:
    """What a step of so many entries takes that NumPy computes by a ufunc, or by a view."""
    columns, number = step.op.columns, int(entries <= _WRITTEN_OUT)
    is_view = columns.may_alias and not (columns.reduces or isinstance(step.op, Elementwise))
    if is_view and len(step.operands) == 1:
        return Estimate(_CALL, 0.0, 1, number)
    by_numpy, own, waits = _of_entry(flat, step)
    work = by_numpy * entries + _INNERMOST * _innermost_runs(flat, step)
    threads = float(cores() if entries >= _THREADED else 1)
    if waits:  # for memory, more than half of the time
        threads = (1 + threads) / 2
    return Estimate(_CALL + work / threads, own * entries, 1, number)


def _of_entry(flat: Flat, step: FlatStep) -> tuple[float, float, bool]:
    """The nanoseconds of an entry in NumPy and in machine code, and whether it waits for memory."""
    columns = step.op.columns
    if str((columns.native or {}).get("f")).startswith("special_"):
        return _SPECIAL, _SPECIAL, False
    if _is_complex(flat, step):
        if columns.transcendental:
            return _COMPLEX_FUNCTION, _COMPLEX_FUNCTION, False
        return _NUMPY_COMPLEX, _COMPLEX, True
    by_numpy = columns.entry_time
    if not columns.transcendental:
        return (_NUMPY_ENTRY, _ENTRY, True) if by_numpy is None else (by_numpy, _ENTRY, False)
    own = _IN_VECTORS if has_vector_functions() else _ALONE
    if by_numpy is None:
        by_numpy = _NUMPY_VECTORS if _numpy_has_vectors() else _NUMPY_ALONE
    return by_numpy, own, False


def _is_complex(flat: Flat, step: FlatStep) -> bool:
    """Whether a step computes with complex numbers."""
    return "c" in [step.type.dtype.kind, *[flat.steps[k].type.dtype.kind for k in step.operands]]


def _innermost_runs(flat: Flat, step: FlatStep) -> int:
    """How often NumPy's innermost loop runs, if not over whole arrays: it runs along the last axis."""
    broadcast = isinstance(step.op, Elementwise) and any(
        [_is_spread(flat, k) for k in step.operands]
    )
    whole = step.type if broadcast else flat.steps[step.operands[0]].type if step.operands else None
    if whole is None or not (broadcast or step.op.columns.reduces) or not whole.shape:
        return 0
    return whole.size // max(whole.shape[-1], 1)


def _is_spread(flat: Flat, i: int) -> bool:
    """Whether a step is an array that is broadcast, and no number."""
    step = flat.steps[i]
    return step.op is broadcast_to and flat.steps[step.operands[0]].type.size > 1


def is_for_blas(multiplications: int, terms: int) -> bool:
    """Whether BLAS is faster than loops, for a product each of whose entries is a sum of so many terms.

    Loops over a transposed matrix take twice to nine times as long, others 0.8 to 5 times.
    """
    least = 16384 if terms < 12 else 4096
    return terms > 1 and multiplications >= least


@lru_cache(maxsize=1)
def _numpy_has_vectors() -> bool:
    """Whether NumPy's functions such as exp compute with vector instructions here: those of AVX-512.

    NumPy is asked, since LLVM's answer takes 35 ms: llvmlite is imported when machine code is made.
    """
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    return any([features.get(name, False) for name in ("AVX512_SKX", "X86_V4")])


def _of_contraction(flat: Flat, step: FlatStep) -> Estimate:
    count = _multiplications(flat, step) * (4 if _is_complex(flat, step) else 1)
    operands = [flat.steps[k].type for k in step.operands]
    if step.op.name == "einsum":  # (What BLAS computes is a product by now.)
        widest = max([step.type, *operands], key=lambda type: type.size)
        runs = count // max((1, *widest.shape[-1:]))
        return Estimate(_CALL + _EINSUM * count + _INNERMOST * runs, _PRODUCT * count, 1)
    stack = math.prod(max(operands, key=lambda type: len(type.shape)).shape[:-2])
    each = count // max(stack, 1)
    called = is_for_blas(each, count // max(step.type.size, 1)) and has_scipy()
    shared = _BLAS * count if called else 0.0
    by_numpy = _CALL + _BLAS * count + (_STACKED * stack if stack > 1 else 0.0)
    return Estimate(by_numpy, shared or _PRODUCT * count, 1, blas=shared)


def _multiplications(flat: Flat, step: FlatStep) -> int:
    """Of a contraction: the product of the lengths of all its indices."""
    shapes = [flat.steps[k].type.shape for k in step.operands]
    if step.op.name == "matmul":
        return step.type.size * shapes[0][-1]
    terms = dict(step.params)["subscripts"].split("->")[0].split(",")
    lengths = {
        letter: length
        for term, shape in zip(terms, shapes, strict=True)
        for letter, length in zip(term, shape, strict=True)
    }
    return math.prod(lengths.values())
