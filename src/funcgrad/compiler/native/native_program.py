"""Programs of small arrays as one function of machine code.

A NumPy call on a few numbers takes a hundred times as long as the numbers do; between a forward and a
reverse loop stand some hundred such calls. So a program is compiled as a whole when its calls have taken
about as long as compiling does. Legal if every step has a form. A loop whose length is not known stops when
the function has run for long, so that Python can be interrupted; then, and if NumPy would raise an error,
NumPy runs the program. Gain (docs/passes.md): without it a Runge-Kutta gradient takes 5 to 11 times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.compiler.flat_program import Flat, build, interpret
from funcgrad.compiler.native.deferred_code import UNINTERRUPTED, DeferredCode, MachineCode
from funcgrad.compiler.native.llvm_writer import LONG, LLVMWriter
from funcgrad.compiler.native.operand_layout import LAYOUT_NAMES, OperandLayout
from funcgrad.compiler.native.time_estimate import estimate, is_on_numbers

# Nanoseconds that calling the function takes, and those of handing an array to it or making one for it.
_ENTER, _ARRAY = 2000.0, 500.0
# How much faster than NumPy's it is to be at least, since both times are estimated.
_GAIN = 1.25
# How much longer a program in parts takes, and each step of NumPy's between them, than in one text.
_PARTS, _BETWEEN = 3000.0, 1000.0
# The most calls that NumPy runs after one in which machine code left the decision to it.
_LONGEST_REST = 63


class NativeProgram:
    """A program as machine code, later.

    NumPy runs the steps of ``flat``; ``steps`` gives those of the machine code, which may be others.
    """

    def __init__(
        self, flat: Flat, at_once: bool = False, steps: Callable[[], Flat] | None = None
    ) -> None:
        self._flat, self._steps = flat, steps
        self._call: Callable[..., tuple[Any, ...]] | None = None
        self._resting: Callable[..., tuple[Any, ...]] | None = None
        self._rest = self._pause = 0
        """The calls that NumPy runs before the machine code that rests runs again, of how many."""
        self._longest_rest = 0 if at_once else _LONGEST_REST
        self.in_parts = False
        """Whether only regions of it are machine code, between steps without a form."""
        cost = self._cost = estimate(flat)
        values = flat.inputs + len(flat.results)
        own = cost.native - cost.blas + _ENTER + _ARRAY * values
        pays = _GAIN * own < cost.numpy - cost.blas
        self.gain = max(cost.numpy - cost.blas - own, 0.0)
        """The nanoseconds by which a call is faster, as estimated."""
        self._given = OperandLayout([step.type for step in flat.steps[: flat.inputs]])
        self._made = OperandLayout([flat.steps[i].type for i in flat.results])
        arrays = len(self._given.holders) + len(self._made.holders)
        fallback = "Python" if is_on_numbers(flat) else "NumPy"
        self.later = DeferredCode(
            self._write, arrays, cost.compiling, pays, at_once, fallback=fallback
        )
        if cost.native > UNINTERRUPTED:
            self.later.stop(
                f"it takes about {cost.native / 1e9:.1f} s, in which it could not be interrupted; "
                "without native=True its loops are compiled one by one"
            )

    @property
    def steps(self) -> int:
        """The number of steps that are compiled, those of loops and branches included."""
        return self._cost.steps

    @property
    def is_possible(self) -> bool:
        """Whether it may become machine code."""
        return not self.later.reason

    def _write(self) -> tuple[str, LLVMWriter]:
        from funcgrad.compiler.native.loop_function import program_text

        return program_text(self._flat if self._steps is None else self._steps())

    def function(self) -> Callable[..., tuple[Any, ...]] | None:
        """The compiled program for its next run; None before compiling pays, or if it cannot be."""
        if self._resting is not None:
            self._rest -= 1
            if self._rest < 0:
                self._call, self._resting = self._resting, None
        elif self._call is None and self.is_possible:
            self.later.ran(self._cost.numpy)
            code = self.later.code()
            if code is not None:
                self._call = self._called(code)
            elif self.later.has_gaps:
                self._call = self._with_gaps()
        return self._call

    def _with_gaps(self) -> Callable[..., tuple[Any, ...]] | None:
        """The function whose regions are machine code; None if that is not faster."""
        from funcgrad.compiler.native.graph_partition import partition, run_of

        parts = partition(self._flat if self._steps is None else self._steps())
        if parts is None:
            return None
        regions = [NativeProgram(region.flat) for region, _ in parts.stages if region is not None]
        gain = sum([region.gain for region in regions if region.is_possible])
        longer = _PARTS + _BETWEEN * sum([len(others) for _, others in parts.stages])
        found = run_of(parts, _machine_code_of) if gain > longer else None
        self.in_parts = found is not None
        return found

    def explanation(self) -> str:
        """How the program runs, and why."""
        told = self.later.explanation()
        return f"machine code in parts, and {told}" if self.in_parts else told

    def _called(self, code: MachineCode) -> Callable[..., tuple[Any, ...]]:
        """The function of the values, as Python that is generated for their types."""
        inputs, arrays = range(self._flat.inputs), range(len(self._given.holders))
        passed = [*[f"a{k}" for k in arrays], *[f"y{k}" for k in range(len(self._made.holders))]]
        lines = [
            f"def run({', '.join([f'x{i}' for i in inputs])}):",
            *[f"    {line}" for line in [*self._given.pack_lines(), *self._made.empty_lines()]],
            f"    end = machine({', '.join(passed)})",
            f"    if end < 0: return failed(end, ({''.join([f'x{i}, ' for i in inputs])}))",
            f"    return {self._made.unpacked()}",
        ]
        bound = {**LAYOUT_NAMES, "machine": code.of_arrays, "failed": self._failed}
        return build("native", "\n".join(lines), bound)

    def _failed(self, end: int, values: Sequence[Any]) -> tuple[Any, ...]:
        """The results by NumPy, if the machine code has set flags: it rests then, the longer the more often.

        Values that only NumPy decides on, such as those of singular matrices, do not come alone.
        """
        if -end & LONG:
            self._call = None
            self.later.stop("a loop takes so long that it could not be interrupted")
        elif self._call is not None:
            self._call, self._resting = None, self._call
            self._rest = self._pause = min(2 * self._pause + 1, self._longest_rest)
        return interpret(self._flat, values)


def _machine_code_of(region: Flat) -> Callable[..., tuple[Any, ...]] | None:
    """The machine code of a part of a program, if it is faster by estimate."""
    if not NativeProgram(region).is_possible:
        return None
    return NativeProgram(region, at_once=True).function()


def entry_lines(
    flat: Flat, steps: Callable[[], Flat] | None = None
) -> tuple[Sequence[str], dict[str, Any]]:
    """The prologue of a program, which calls its machine code once there is any, and its bindings."""
    later = NativeProgram(flat, steps=steps)
    if not later.is_possible:
        return [], {}
    given = ", ".join([f"x{i}" for i in range(flat.inputs)])
    return ["machine = later.function()", f"if machine is not None: return machine({given})"], {
        "later": later
    }


def native_program_of(run: Callable[..., Any]) -> NativeProgram | None:
    """What a function with these `entry_lines` calls."""
    later = run.__globals__.get("later")
    return later if isinstance(later, NativeProgram) else None
