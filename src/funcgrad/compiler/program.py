"""Tiered execution of lowered expressions: an interpreter for the first runs, then generated code.

A `Program` is a value. It runs on arrays; on expressions it rebuilds itself, so that a nested derivative
reuses the derivative that is known. The first runs are interpreted call by call, since compiling takes
longer; later ones are bytecode, Python over `math` for numbers, or Python over NumPy for arrays. A jitted
function compiles small programs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.compiler.flat_program import (
    Flat,
    FlatStep,
    elide_broadcasts,
    expressions_of,
    flatten_program,
    with_results,
)
from funcgrad.compiler.pass_options import PASS_OPTIONS, PassOptions
from funcgrad.compiler.passes.store_scheduling import read_before_stores
from funcgrad.expr import Expr, present, subexpressions
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base import op
from funcgrad.ops.base.op import Op, columns_of, lift_fully
from funcgrad.ops.reduction import logsumexp_op
from funcgrad.rewrite.decompose import decomposed
from funcgrad.rewrite.in_place import in_place
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.typing import Array

if TYPE_CHECKING:
    from funcgrad.compiler.python.scalar_interpreter import ScalarInterpreter

Instruction = tuple[Callable[..., Any], tuple[int, ...], int, tuple[int, ...]]
"""A call: what runs, the slots of its operands, that of its result, and those that are dead after it."""


class _Interpreted(NamedTuple):
    constants: tuple[Any, ...]
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]

    def run(self, values: Sequence[Any]) -> list[Any]:
        slots: list[Any] = [*values, *self.constants, *[None] * len(self.instructions)]
        for run, operands, result, dead in self.instructions:
            if len(operands) == 2:
                slots[result] = run(slots[operands[0]], slots[operands[1]])
            else:
                slots[result] = run(*[slots[i] for i in operands])
            for i in dead:
                slots[i] = None
        return [slots[i] for i in self.results]


class Program:
    """A function from input variables to outputs, run by tiers.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> lower([x * x + 1], [x]).run([3.0])
    [np.float64(10.0)]
    """

    def __init__(self, given: Sequence[Expr] | Flat, inputs: Sequence[Expr]) -> None:
        self.inputs = tuple(inputs)
        self._given = given if isinstance(given, Flat) else tuple(given)
        # Remembered for speed; what a program computes does not depend on it.
        self.dependence: str | None = None
        """How the roots that it is derived from depend on the leaves; None until that is asked."""
        self._runs = 0
        self._roots: tuple[Expr, ...] | None = None
        self._steps: Flat | None = None
        self._source_dtypes: frozenset[np.dtype[Any]] | None = None
        self._interpreted: _Interpreted | ScalarInterpreter | None = None
        self._compiled: Callable[..., tuple[Any, ...]] | None = None

    @property
    def outputs(self) -> tuple[Expr, ...]:
        """The outputs as expressions; a program that is given as steps runs without them."""
        if isinstance(self._given, Flat):
            self._given = expressions_of(self._given, self.inputs)
        return self._given

    @property
    def results(self) -> Sequence[Expr | FlatStep]:
        """The outputs, for their operations and types: expressions or steps."""
        given = self._given
        return [given.steps[i] for i in given.results] if isinstance(given, Flat) else given

    def part(self, places: tuple[int, ...]) -> Program:
        """The program that gives some of the outputs, in this order."""
        given = self._given
        if places == tuple(range(len(self.results))):
            return self
        some = (
            with_results(given, places) if isinstance(given, Flat) else [given[k] for k in places]
        )
        return Program(some, self.inputs)

    @property
    def compiled(self) -> Callable[..., tuple[Any, ...]]:
        """The program as a function of its inputs' values."""
        if self._compiled is None:
            with Paused():
                flat = self.flat()
                self._compiled = _on_numbers(flat) or self._on_arrays()
            self._interpreted = self._steps = None
        return self._compiled

    def _on_arrays(self) -> Callable[..., tuple[Any, ...]]:
        from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays

        native = self._native_outputs()
        return compile_arrays(self._outputs(), self.inputs, native=native)

    def compile_natively(self) -> None:
        """Compile to machine code; a program that runs as Python on numbers or as bytecode stays as it is.

        Raises:
            TypeError: it cannot be machine code.
        """
        from funcgrad.compiler.numpy.numpy_pipeline import compile_natively

        if self.compiled.__code__.co_filename.split()[1] == "array":
            with Paused():
                outputs = _for_machine_code(_legalized(self.outputs), self.inputs)
                self._compiled = compile_natively(outputs, self.inputs)

    @property
    def entry(self) -> Callable[..., tuple[Any, ...]]:
        """What a jitted function calls: `compiled`, or, where compiling takes long, the tiers."""
        if self._compiled is None and len(self.flat().steps) >= _LARGE:
            return self._tiered
        return self.compiled

    def _tiered(self, *values: Array) -> tuple[Any, ...]:
        if self._compiled is not None:
            return self._compiled(*values)
        return tuple([present(value) for value in self.run(values)])

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for input arrays; none of them shares memory with an input or another."""
        if self._compiled is not None:
            return list(self._compiled(*values))
        program = self._interpretable()
        self._runs += 1
        if self._runs > _WARM + len(program.instructions) // _LONG:
            return list(self.compiled(*values))
        if not isinstance(program, _Interpreted):
            return program.run(values)
        with np.errstate(all="ignore"):
            found = program.run(values)
        seen = {id(value) for value in (*values, *program.constants)}
        outputs = []
        for value in found:
            if id(value) in seen or getattr(value, "base", None) is not None:
                value = np.array(value)
            seen.add(id(value))
            outputs.append(value)
        return outputs

    def step(self, values: Sequence[Any]) -> Sequence[Any]:
        """As `run`, for one iteration of a loop: the outputs may share memory with the inputs."""
        return self._compiled(*values) if self._compiled else self._interpretable().run(values)

    def call(self, values: Sequence[Any]) -> Sequence[Any]:
        """As `step`, for a function that a solver calls many times: it is compiled after some calls."""
        if self._compiled is None:
            self._runs += 1
            if self._runs <= _CALLS:
                return self._interpretable().run(values)
        return self.compiled(*values)

    def inline(self, values: Sequence[Any]) -> list[Expr]:
        """The outputs as expressions of the values, which may be expressions themselves."""
        given = {
            var.key: lift_fully(value, values)
            for var, value in zip(self.inputs, values, strict=True)
        }
        opaque = all(value.op in (INPUT, op.leaf) for value in given.values())
        return substitute_all(self.outputs, given, simple=opaque, inputs=True)

    def _outputs(self) -> tuple[Expr, ...]:
        """The outputs as they run: not those that `on` rebuilds, which readers see."""
        if self._roots is None:
            # (A program without loops does not load what they need.)
            loops = has_loops(self.outputs)
            roots = _relieved(self.outputs, self.inputs) if loops else self.outputs
            self._roots = tuple(_without_cancellation(roots, self.inputs))
        return self._roots

    def _native_outputs(self) -> Callable[[], Sequence[Expr]]:
        """Makes the outputs as they run in machine code."""
        return partial(_for_machine_code, self.outputs, self.inputs)

    def flat(self) -> Flat:
        """What runs, as steps."""
        if self._steps is not None:
            return self._steps
        given = self._given
        flat = given if isinstance(given, Flat) else flatten_program(given, self.inputs)
        self._source_dtypes = _source_dtypes(flat)
        # (Of each type one object, since most steps share theirs.)
        types = {id(step.type): step.type for step in flat.steps}
        has_tuples = any([type.dtype.kind == "O" for type in types.values()])
        if has_tuples or any([step.op is logsumexp_op for step in flat.steps]):
            flat = flatten_program(self._outputs(), self.inputs)
        if self._compiled is None:
            self._steps = flat  # several tiers read it
        return flat

    @property
    def source_dtypes(self) -> frozenset[np.dtype[Any]]:
        """The dtypes of the constants, and of the inputs on which an output depends."""
        if self._source_dtypes is None:
            self.flat()
        return self._source_dtypes or frozenset()

    def _interpretable(self) -> _Interpreted | ScalarInterpreter:
        if self._interpreted is None:
            with Paused():
                flat = self.flat()
                if len(flat.steps) >= _LARGE:
                    from funcgrad.compiler.python.scalar_interpreter import interpret_scalars

                    self._interpreted = interpret_scalars(flat)
                self._interpreted = self._interpreted or _instructions(flat)
        return self._interpreted


def _on_numbers(flat: Flat) -> Callable[..., tuple[Any, ...]] | None:
    """A program on numbers as bytecode, if it is long, or as Python; None if it is on arrays."""
    from funcgrad.compiler.python.scalar_codegen import compile_flat

    if len(flat.steps) >= BYTECODE_LEAST:
        from funcgrad.compiler.native.bytecode import compile_bytecode

        run = compile_bytecode(flat)
        if run is not None:
            return run
    return compile_flat(flat)


def has_loops(outputs: Sequence[Expr]) -> bool:
    """Whether a program may have loops: these give tuples."""
    return any([expr.type.dtype.kind == "O" for expr in subexpressions(*outputs)])


ExpressionPass: TypeAlias = Callable[[Sequence[Expr]], Sequence[Expr]]
"""A pass from the outputs of a program to outputs of the same values."""


def run_expression_passes(
    passes: Mapping[str, ExpressionPass],
    outputs: Sequence[Expr],
    inputs: Sequence[Expr],
    options: PassOptions = PASS_OPTIONS,
) -> Sequence[Expr]:
    """The outputs after those passes, by their names, that the options do not leave out."""
    for name, run in passes.items():
        if options.runs(name):
            before, outputs = outputs, run(outputs)
            if options.verify:
                from funcgrad.compiler.verify.verify_pipeline import verify_rewrite

                verify_rewrite(before, outputs, inputs, name)
    return outputs


def _relieved(
    outputs: Sequence[Expr], inputs: Sequence[Expr], native: bool = False
) -> tuple[Expr, ...]:
    """Outputs whose loops are relieved of work, for NumPy or for machine code."""
    from funcgrad.compiler.passes.log_semiring_products import multiply_probabilities
    from funcgrad.compiler.passes.loop_invariant_motion import hoist_loop_invariants
    from funcgrad.compiler.passes.residual_selection import select_residuals

    passes: dict[str, ExpressionPass] = {
        "residual_selection": partial(select_residuals, native=native),
        **({"log_semiring_products": multiply_probabilities} if native else {}),
        "loop_invariant_motion": partial(hoist_loop_invariants, native=native),
    }
    return tuple(run_expression_passes(passes, outputs, inputs))


def _without_cancellation(outputs: Sequence[Expr], inputs: Sequence[Expr]) -> Sequence[Expr]:
    """Outputs in which entries less their log-sum-exp are not differences of large numbers."""
    if not _holds_logsumexp(outputs):
        return outputs
    from funcgrad.compiler.passes.softmax_sharing import share_exponentials

    return run_expression_passes({"softmax_sharing": share_exponentials}, outputs, inputs)


def _holds_logsumexp(outputs: Sequence[Expr]) -> bool:
    """Whether a program, or one that it holds, has a log-sum-exp."""
    for x in subexpressions(*outputs):
        if x.op is logsumexp_op:
            return True
        bodies = columns_of(x).bodies if x.type.dtype.kind == "O" else None
        held = [] if bodies is None else [item.body for row in bodies(x) for item in row]
        if any([_holds_logsumexp(body.outputs) for body in held]):
            return True
    return False


def _legalized(outputs: Sequence[Expr]) -> Sequence[Expr]:
    """Outputs with compositions in the place of calls of SciPy's, which machine code cannot make."""

    def is_legal(expr: Expr) -> bool:
        is_tuple = expr.type.dtype.kind == "O"
        return not is_tuple or columns_of(expr).decompose is None

    if all(map(is_legal, subexpressions(*outputs))):
        return outputs
    return simplify_all(decomposed(outputs, is_legal))


def _for_machine_code(outputs: Sequence[Expr], inputs: Sequence[Expr]) -> Sequence[Expr]:
    """Outputs as they run in machine code, whose loops are not NumPy's."""
    from funcgrad.compiler.passes.scatter_accumulation import accumulate_scatters
    from funcgrad.compiler.passes.scatter_to_gather import scatter_to_gather
    from funcgrad.compiler.passes.softmax_sharing import share_exponentials
    from funcgrad.compiler.passes.strip_mining import strip_mine

    passes: dict[str, ExpressionPass] = {
        "softmax_sharing": share_exponentials,
        "scatter_to_gather": scatter_to_gather,
        "scatter_accumulation": accumulate_scatters,
        "strip_mining": partial(strip_mine, inputs=inputs),
    }
    moved = _relieved(outputs, inputs, native=True) if has_loops(outputs) else outputs
    return run_expression_passes(passes, moved, inputs)


def _source_dtypes(flat: Flat) -> frozenset[np.dtype[Any]]:
    steps = flat.steps
    found = {step.type.dtype for step in steps if step.op is CONSTANT}
    unused = {step.type.dtype for step in steps[: flat.inputs]} - found
    for operands in chain([flat.results], (step.operands for step in steps)):
        if not unused:  # as in most programs after a few steps
            break
        used = {steps[k].type.dtype for k in operands if k < flat.inputs}
        found |= used
        unused -= used
    return frozenset(found)


# A program is interpreted 2 + instructions/2000 times before it is compiled: compiling takes about as long.
# (0.3 ms against 10 us for a small gradient, 0.5 s against 40 ms for 4*10**4 steps.)
_WARM, _LONG = 2, 2000
_CALLS = 30
# The steps from which the first calls of a jitted function are interpreted, too.
_LARGE = 5000
BYTECODE_LEAST = 5000
"""The steps from which bytecode is made: the Python of smaller programs compiles in less time than the VM."""


def lower(outputs: Sequence[Expr] | Flat, inputs: Sequence[Expr]) -> Program:
    """The program that computes the outputs from the inputs, which are variables; or that has these steps."""
    return Program(outputs, inputs)


@lru_cache(maxsize=512)
def part(program: Program, places: tuple[int, ...]) -> Program:
    """The program that gives some of the outputs, in this order."""
    return program.part(places)


def _instructions(flat: Flat) -> _Interpreted:
    """The calls of a flat program, with broadcasts left to NumPy and values let go after their last use."""
    if PASS_OPTIONS.runs("store_scheduling"):
        flat = read_before_stores(flat)
    wide = {i for i, step in enumerate(flat.steps) if step.op is op.broadcast_to}
    operands = [
        step.operands if wide.isdisjoint(step.operands) else elide_broadcasts(flat, step)
        for step in flat.steps
    ]
    kept = {*flat.results, *range(flat.inputs)}
    written, copied = in_place([step.op for step in flat.steps], operands, kept)
    needed = set(flat.results)
    dead: dict[int, list[int]] = {}
    for i in reversed(range(len(flat.steps))):
        if i in needed:
            for k in operands[i]:
                if k not in needed:  # its last use
                    needed.add(k)
                    if k not in kept and flat.steps[k].op is not CONSTANT:
                        dead.setdefault(i, []).append(k)
    slots = {i: i for i in range(flat.inputs)}
    constants: list[Any] = []
    for i, step in enumerate(flat.steps):
        if step.op is CONSTANT and i in needed and i not in slots:
            slots[i] = flat.inputs + len(constants)
            constants.append(step.constant)
    instructions: list[Instruction] = []
    for i, step in enumerate(flat.steps):
        if i not in needed or i in slots or step.op is INPUT:
            continue
        slots[i] = flat.inputs + len(constants) + len(instructions)
        run = step.op.in_place if i in written else _copied(step.op) if i in copied else step.op.run
        run = partial(run, **dict(step.params)) if step.params else run
        given = tuple([slots[k] for k in operands[i]])
        ended = tuple([slots[k] for k in dead.get(i, ())])
        instructions.append((run, given, slots[i], ended))
    results = tuple([slots[i] for i in flat.results])
    return _Interpreted(tuple(constants), tuple(instructions), results)


def _copied(op: Op) -> Callable[..., Any]:
    """The function of a read, with a copy of what is a view."""

    def run(*operands: Array, **params: Any) -> Any:
        found = op.run(*operands, **params)
        return found.copy() if isinstance(found, np.ndarray) and found.base is not None else found

    return run
