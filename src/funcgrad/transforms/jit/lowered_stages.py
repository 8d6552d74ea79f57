"""The stages of a jitted function's program, collected from the passes that made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from funcgrad.compiler.flat_program import Flat, flatten_program, source_text
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.native.native_program import NativeProgram, native_program_of
from funcgrad.compiler.numpy.buffer_assignment import assign_buffers
from funcgrad.compiler.numpy.numpy_pipeline import make_plan, run_step_passes
from funcgrad.compiler.print_ir import Inner, Steps, closed_below, input_names
from funcgrad.compiler.print_schedule import Calls
from funcgrad.compiler.program import Program, has_loops, lower
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.compiler.python.loop_codegen import loop_text
from funcgrad.control.loop import loop_op
from funcgrad.expr import Expr, symbol
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.source import position
from funcgrad.transforms.jit.guard_tree import GuardTree, NodeProgram, Question, answer_key
from funcgrad.transforms.jit.stage_text import Guard, Lowered, are_different, last_line


def program_of(tree: GuardTree, asked: Sequence[Question]) -> Program | None:
    """The program of a tree's path, if it has the path."""
    node = tree.root
    for question in asked:
        node = None if node is None else node.children.get(answer_key(question.answer))
    return None if node is None or node.step is None else node.step.program


def stages(
    tree: GuardTree, asked: Sequence[Question], derived: bool, running: Program | None = None
) -> Lowered:
    """The stages of a tree's path; ``derived``: its results are a derivative's, which is simple already.

    Which parts are machine code is said of the program that is ``running``, if there is one.
    """
    node, guards = tree.root, []
    for question in asked:
        if node is None or node.step is None:
            raise RuntimeError("lower: expected questions that lead through the tree")
        guards.append(_guard(question, node.step, tree))
        node = node.children.get(answer_key(question.answer))
    if node is None or node.step is None:
        raise RuntimeError("lower: expected questions that lead to results")
    program, given = node.step.program, _given(node.step, tree)
    constant = "" if node.exprs else last_line(node.rebuild(()))
    outputs = node.exprs if derived else tuple(program.inline(given))
    simplified, shared = outputs, tuple[Expr, ...]()
    if not (derived or asked) and has_loops(outputs):
        before = tuple(simplify_all(node.exprs))
        if are_different(before, outputs):
            simplified, shared = before, outputs
    hoisted = program._outputs()
    moved = (
        lower(hoisted, program.inputs).inline(given)
        if are_different(hoisted, program.outputs)
        else ()
    )
    return Lowered(
        node.exprs,
        simplified,
        source_text(program.compiled),
        tuple(guards),
        shared,
        tuple(moved),
        *_run(program, input_names(given)),
        constant,
        _machine_code(program if running is None else running),
        _native_steps(program if running is None else running, input_names(given)),
    )


def _machine_code(program: Program) -> str:
    """A line for the program, and one for each of its loops, unless they are machine code with it."""
    kind = program.compiled.__code__.co_filename.split()[1]
    if kind != "array":
        how = {"machine": "machine code", "bytecode": "bytecode"}.get(kind, "Python, on numbers")
        return f"the program: {how}"
    flat = program.flat()
    closed = closed_below(flat)
    bodies = closed[0].steps.bodies if closed else {}
    ready = run_step_passes(flatten_program(program._outputs(), program.inputs))
    native = native_program_of(program.compiled) or NativeProgram(ready)
    lines = [f"the program: {native.explanation()}"]
    if native.later.is_compiled:
        return lines[0]
    for params in {
        step.params: dict(step.params) for step in flat.steps if step.op is loop_op
    }.values():
        body, cond = params["body"], params["cond"]
        test = None if cond is None else flat_of(cond)
        loop = NativeLoop(flat_of(body), test, params["spec"])
        lines.append(f"the loop around {bodies[body]}: {loop.later.explanation()}")
    return "\n".join(lines)


def _native_steps(program: Program, names: tuple[str, ...]) -> tuple[Steps | Inner, ...]:
    """The steps of a program's machine code, and its bodies, if it may be compiled and they are others."""
    kind = program.compiled.__code__.co_filename.split()[1]
    later = native_program_of(program.compiled)
    if kind != "machine" and (kind != "array" or later is None or not later.is_possible):
        return ()
    own = run_step_passes(flatten_program(program._native_outputs()(), program.inputs), native=True)
    if own == run_step_passes(flatten_program(program._outputs(), program.inputs)):
        return ()
    closed = closed_below(own)
    return Steps(own, names, closed[0].steps.bodies if closed else {}), *closed


def _run(
    program: Program, names: tuple[str, ...]
) -> tuple[Steps, tuple[Inner, ...], Steps | None, Calls | str, tuple[tuple[str, str], ...]]:
    """The stages from steps on, of a program whose inputs have these names."""
    flat, text = program.flat(), source_text(program.compiled)
    kind = program.compiled.__code__.co_filename.split()[1]
    if kind == "bytecode":
        comments = [line[2:] for line in text.splitlines() if line.startswith("# ")]
        return Steps(flat, names), (), None, "\n".join(comments), ()
    if kind != "array":
        return Steps(flat, names), (), None, "", ()
    closed = closed_below(flat)
    bodies = closed[0].steps.bodies if closed else {}
    steps = Steps(flat, names, bodies)
    ready = run_step_passes(flatten_program(program._outputs(), program.inputs))
    plan = make_plan(ready)
    calls = Calls(plan, assign_buffers(plan), names, bodies)
    other = None if ready == flat else Steps(ready, names, bodies)
    return steps, closed, other, calls, tuple(_loops(flat, bodies))


def _loops(flat: Flat, bodies: Mapping[Any, str]) -> Iterator[tuple[str, str]]:
    met = set()
    for step in flat.steps:
        params = dict(step.params)
        if step.op is loop_op and step.params not in met:
            met.add(step.params)
            yield bodies[params["body"]], loop_text(params["body"], params["cond"], params["spec"])


def _guard(question: Question, step: NodeProgram, tree: GuardTree) -> Guard:
    program = step.program
    return Guard(
        question.asked,
        question.reading.__name__.strip("_"),
        question.answer,
        position(question.line),
        Steps(
            program.flat(),
            input_names(_given(step, tree)),
            outputs=tuple(map(_saved, step.saved_slots)),
        ),
        source_text(program.compiled),
    )


def _given(step: NodeProgram, tree: GuardTree) -> list[Expr]:
    """The inputs of a node's program, by the names of the arguments, or as saved values."""
    return [
        tree.inputs[k] if k >= 0 else symbol(_saved(k), x.type)
        for k, x in zip(step.inputs, step.program.inputs, strict=True)
    ]


def _saved(place: int) -> str:
    return f"h{~place}"
