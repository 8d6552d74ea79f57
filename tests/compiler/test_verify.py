"""Every pass keeps its promises: the checker looks at programs between any two of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.autodiff.accumulate import gradients
from funcgrad.compiler import ir_rewriter as rewrite
from funcgrad.compiler.call_ir import Callee, CallForm
from funcgrad.compiler.flat_program import build, flatten_program, interpret
from funcgrad.compiler.numpy import block_loop, buffer_assignment
from funcgrad.compiler.numpy import fused_kernel as inner
from funcgrad.compiler.numpy import instruction_selection as calls_room
from funcgrad.compiler.numpy import numpy_codegen as arrays
from funcgrad.compiler.numpy import numpy_pipeline as pipeline
from funcgrad.compiler.numpy.instruction_selection import select_instructions
from funcgrad.compiler.numpy.numpy_codegen import bindings
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays
from funcgrad.compiler.passes import fusion as blocks
from funcgrad.compiler.passes.body_subsumption import subsume_bodies
from funcgrad.compiler.passes.fusion import fuse
from funcgrad.compiler.passes.loop_invariant_motion import hoist_loop_invariants
from funcgrad.compiler.passes.residual_selection import select_residuals
from funcgrad.compiler.passes.strip_mining import strip_mine
from funcgrad.compiler.python import scalar_codegen as scalar
from funcgrad.compiler.python import scalar_ops as templates
from funcgrad.compiler.python.scalar_codegen import compile_flat
from funcgrad.compiler.verify import verify_calls, verify_expressions, verify_steps
from funcgrad.compiler.verify.verify_expressions import bodies_of
from funcgrad.compiler.verify.verify_memory import check_memory, check_tiles
from funcgrad.compiler.verify.verify_names import check_bindings
from funcgrad.control.closed_program import Body
from funcgrad.control.loop import LoopSpec, loop_op
from funcgrad.expr import assemble_node, constant_of, subexpressions
from funcgrad.graph import ArrayType, Constant
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.ops.tuples import pick
from funcgrad.rewrite.simplify import simplify_all
from tests import checker, checker_plan
from tests.checker_text import check_scalar_text
from tests.compiler.test_numpy_codegen import CASES, leaves_of
from tests.compiler.test_scalar_codegen import expressions, numbers
from tests.default_slice import examples, one_in
from tests.ops.test_random_programs import programs, sample
from tests.show.programs import ALL, values_of

# What `compile_arrays` does to steps before it makes calls of them.
PASSES = tuple(pipeline.STEP_PASSES.values())
PRUNED = rewrite.eliminate_dead_steps


# -- the pipeline, pass by pass ------------------------------------------------------------------
def check_program(roots, inputs, values):
    """Roots as traced, through all passes, to compiled functions."""
    verify_expressions.check_expressions(roots, inputs, "traced")
    simple = simplify_all(roots)
    after(roots, simple, inputs, values, "simplify")
    shared = subsume_bodies(simple)
    after(simple, shared, inputs, values, "share", exact=True)
    kept = select_residuals(shared)
    after(shared, kept, inputs, values, "residuals", exact=True)
    moved = hoist_loop_invariants(kept)
    after(kept, moved, inputs, values, "hoist")
    check_lowered(moved, inputs, values)
    fused = strip_mine(
        hoist_loop_invariants(select_residuals(shared, native=True), native=True), inputs
    )
    after(shared, fused, inputs, values, "machine code")
    for name, body in all_bodies(moved).items():
        check_text_of_body(body, name)


def after(before, now, inputs, values, stage, exact=False):
    verify_expressions.check_expressions(now, inputs, stage)
    verify_expressions.check_types(before, now, stage)
    checker.check_meaning(before, now, inputs, values, stage, exact)


def check_lowered(roots, inputs, values):
    """Expressions that are about to run, to compiled functions."""
    expected = checker.evaluated(roots, inputs, values)
    bounds = checker.tolerances(roots, inputs, values)
    flat = flatten_program(roots, inputs)
    verify_steps.check_flat(flat, "flatten", live=True)
    loops = any(step.op.name == "loop" for step in flat.steps)  # which are compiled as they run
    checker.check_values(expected, interpret(flat, values), bounds if loops else None, "flatten")
    check_flat_passes(flat, values, expected, bounds)
    checker_plan.check_results(compile_arrays(roots, inputs), values, expected, bounds, "arrays")
    run = compile_flat(flat)
    if run is not None:
        check_text_of_numbers(flat)


def check_flat_passes(flat, values=None, expected=None, bounds=None):
    """From steps to the text of an array program; without values, what needs none."""
    for cheaper in PASSES:
        flat = PRUNED(cheaper(flat))
        verify_steps.check_flat(flat, cheaper.__name__, loose=True)
    plan = select_instructions(flat)
    verify_calls.check_plan(plan, "calls")
    grouped = fuse(plan)
    verify_calls.check_plan(grouped, "blocks")
    if values is not None:
        for stage, program in (("calls", plan), ("blocks", grouped)):
            got = checker_plan.check_calls(program, values, stage)
            checker.check_values(expected, got, bounds, stage)
    text = arrays.numpy_source(grouped)
    check_bindings(text, bindings(grouped), "array text")
    check_memory(plan, grouped, text, "array text")


def check_text_of_numbers(flat):
    text = scalar.scalar_source(flat)
    check_bindings(text, {*templates.BOUND, "slow"}, "scalar text")
    check_scalar_text(flat, [templates.template_of(flat, step) for step in flat.steps], text)


def all_bodies(roots):
    """Every closed subgraph below the roots, and in one another, by a name."""
    found, work = {}, [("program", roots)]
    while work:
        name, outputs = work.pop()
        for number, expr in enumerate(subexpressions(*outputs)):
            for k, body in enumerate(bodies_of(expr.params)):
                inner = f"{name}, {expr.op.name} {number}.{k}"
                if body not in found.values():
                    found[inner] = body
                    work.append((inner, body.outputs))
    return found


def check_text_of_body(body, name):
    """What a loop or a branch compiles of a closed subgraph."""
    program = body.program
    flat = program.flat()
    verify_steps.check_flat(flat, name, live=True)
    if not any(n < 0 for step in flat.steps for n in step.type.shape):
        check_flat_passes(flat)
    if scalar.scalar_source(flat) is not None:
        check_text_of_numbers(flat)


# -- random programs -------------------------------------------------------------------------------
def check_random_arrays(program, seed, large, dtype=float):
    with pytest.MonkeyPatch.context() as patch:
        if large:  # what is done for large arrays, on small ones
            patch.setattr(buffer_assignment, "_POOLED", 0)
            patch.setattr(buffer_assignment, "_LARGE", 0)
            patch.setattr(calls_room, "_BRANCHLESS", 2)
            patch.setattr(blocks, "_ENTRIES", 2)
            patch.setattr(blocks, "_TALL", 0, raising=False)
            patch.setattr(blocks, "_CACHE", 64)
        shapes, steps = program
        values = sample(shapes, seed, dtype)
        inputs = [fg.var(f"x{i}", shape, dtype) for i, shape in enumerate(shapes)]
        known = list(inputs)
        for f, places in steps:
            known.append(f(*[known[i] for i in places]))
        root = sum(np.sum(v * (k + 1)) for k, v in enumerate(known))
        check_program(
            [root, known[-1], *gradients(simplify_all([root])[0], inputs)], inputs, values
        )


@settings(max_examples=examples(40), derandomize=True)
@given(programs(), st.integers(0, 5), st.booleans())
def test_random_arrays(program, seed, large):
    check_random_arrays(program, seed, large)


@pytest.mark.slow
@settings(max_examples=2000)
@given(programs(), st.integers(0, 5), st.booleans(), st.sampled_from(["float64", "float32"]))
def test_many_random_arrays(program, seed, large, dtype):
    check_random_arrays(program, seed, large, dtype)


def check_random_numbers(roots, x, y):
    inputs = [fg.var("x"), fg.var("y")]
    check_lowered(roots, inputs, [x, y])
    simple = simplify_all(roots)
    check_lowered(simplify_all([*simple, *gradients(simple[-1], inputs)]), inputs, [x, y])


@settings(max_examples=examples(40), derandomize=True)
@given(expressions(), numbers, numbers)
def test_random_numbers(roots, x, y):
    check_random_numbers(roots, x, y)


@pytest.mark.slow
@settings(max_examples=2000)
@given(expressions(), numbers, numbers)
def test_many_random_numbers(roots, x, y):
    check_random_numbers(roots, x, y)


# -- random programs on rows, which run in blocks ----------------------------------------------------
ROWS = [(9,), (9, 2), (9, 1), (1, 2), (2,), (9, 2, 3), (9, 1, 3), (2, 3), ()]
UNARY = [np.exp, np.sin, np.tanh, np.negative, np.abs, np.square, fg.sigmoid, fg.softplus]
UNARY += [lambda x: np.maximum(x, 0.7), lambda x: np.where(x > 1, x, 0.5 * x)]
BINARY = [np.add, np.multiply, np.subtract, np.maximum, np.minimum, np.logaddexp]
BINARY += [lambda x, y: x / (2 + y * y), lambda x, y: np.where(x > y, x, y)]
ARRAY = [np.mean, np.transpose, lambda x: np.sum(x, axis=0), lambda x: np.sum(x, axis=-1)]
ARRAY += [lambda x: np.max(x, axis=0), lambda x: np.max(x, axis=-1, keepdims=True)]
ARRAY += [lambda x: np.reshape(x, (x.shape[0], -1)), lambda x: np.expand_dims(x, 1)]
ARRAY += [lambda x: x[:, :1], lambda x: x[1:-1] - x[2:], lambda x: np.sum(x * x) * x]
ARRAY += [lambda x: np.transpose(x) @ x, lambda x: x @ np.ones((x.shape[-1], 2))]
ARRAY += [lambda x: fg.logsumexp(x, axis=-1), lambda x: np.linalg.norm(x, axis=-1)]


@st.composite
def on_rows(draw):
    """Inputs, their values, and roots made of them; what does not fit is left out."""
    dtype = draw(st.sampled_from(["float64", "float32"]))
    shapes = [draw(st.sampled_from(ROWS)) for _ in range(3)]
    inputs = [fg.var(f"x{i}", shape, dtype) for i, shape in enumerate(shapes)]
    known = list(inputs)
    for _ in range(draw(st.integers(1, 10))):
        f = draw(st.sampled_from([*UNARY, *BINARY, *BINARY, *ARRAY]))
        count = 2 if f in BINARY else 1
        operands = [known[draw(st.integers(0, len(known) - 1))] for _ in range(count)]
        try:
            made = f(*operands)
        except (IndexError, TypeError, ValueError):
            continue
        known += [made] * (made.size <= 2000)
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    root = sum(np.sum(np.sin(v)) for v in known)
    slopes = gradients(simplify_all([root])[0], inputs)
    values = [np.asarray(rng.uniform(-1.5, 1.5, shape), dtype) for shape in shapes]
    return [root, *known[-2:], *slopes], inputs, values


def check_rows(program, cache, short, pooled):
    with pytest.MonkeyPatch.context() as patch:
        if pooled:
            patch.setattr(buffer_assignment, "_POOLED", 0)
            patch.setattr(buffer_assignment, "_LARGE", 0)
        patch.setattr(calls_room, "_BRANCHLESS", 2)
        patch.setattr(blocks, "_ENTRIES", 2)
        patch.setattr(blocks, "_TALL", 0, raising=False)
        patch.setattr(blocks, "_CACHE", cache)
        patch.setattr(inner, "_SHORT", short)
        check_program(*program)


hows = (st.sampled_from([64, 512]), st.sampled_from([2, 64]), st.booleans())


@settings(max_examples=examples(15), derandomize=True)
@given(on_rows(), *hows)
def test_random_rows(program, cache, short, pooled):
    check_rows(program, cache, short, pooled)


@pytest.mark.slow
@settings(max_examples=500)
@given(on_rows(), *hows)
def test_many_random_rows(program, cache, short, pooled):
    check_rows(program, cache, short, pooled)


# -- programs as people write them -----------------------------------------------------------------
RNG = np.random.default_rng(0)


def logistic(w, features, labels):
    score = features @ w
    return np.mean(np.logaddexp(0.0, score) - labels * score)


def network(w, b, u, x, labels):
    h = np.maximum(x @ w + b, 0.0)
    scores = h @ u
    total = np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(np.sum(labels * (scores - total), axis=1))


def mixture(weights, means, scales, x):
    z = (x[:, None] - means) * np.exp(-scales)
    return np.sum(fg.logsumexp(weights - scales - 0.5 * z * z, axis=1)) - np.sum(scales**2)


def recurrent(w, u, h, xs):
    h, ys = fg.scan(lambda h, x: (np.tanh(x @ w + h @ u), np.sum(h * h)), h, xs)
    return np.sum(h) + np.sum(ys)


def growing(x):
    return np.sum(fg.while_loop(lambda s: np.sum(s) < 50.0, lambda s: s * 1.5 + x, x))


def choosing(x, y):
    return fg.cond(np.sum(x) > 0, lambda u: np.sum(np.sin(u) * y), lambda u: np.sum(u * u), x)


MODELS = {
    "logistic": (logistic, [(3,), (40, 3), (40,)], 1),
    "large logistic": (logistic, [(8,), (40_000, 8), (40_000,)], 1),
    "network": (network, [(6, 5), (5,), (5, 4), (7, 6), (7, 4)], 3),
    "large network": (network, [(20, 80), (80,), (80, 4), (400, 20), (400, 4)], 3),
    "mixture": (mixture, [(4,), (4,), (4,), (30,)], 3),
    "large mixture": (mixture, [(4,), (4,), (4,), (40_000,)], 3),
    "recurrent": (recurrent, [(2, 3), (3, 3), (3,), (6, 2)], 3),
    "growing": (growing, [(3,)], 1),
    "choosing": (choosing, [(3,), (3,)], 1),
}


@pytest.mark.parametrize("name", one_in(3, MODELS))
def test_models(name, monkeypatch):
    monkeypatch.setattr(blocks, "_CACHE", 1 << 16)
    f, shapes, count = MODELS[name]
    values = [np.abs(RNG.normal(size=shape)) for shape in shapes]
    inputs = [fg.var(f"x{i}", shape) for i, shape in enumerate(shapes)]
    root = f(*inputs)
    check_program([root, *gradients(simplify_all([root])[0], inputs[:count])], inputs, values)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sampled"), CASES)
def test_every_operation(name, sampled):
    args, inputs = leaves_of(sampled)
    output = all_ops()[name](*inputs, **sampled.params)
    roots = [output]
    targets = [x for x in inputs if x.dtype.kind in "fc"]
    if output.dtype.kind in "fc" and targets and name != "argsort":
        weights = np.cos(np.arange(output.size)).reshape(output.shape)
        root = np.sum(np.real(output * weights))
        roots += [root, *gradients(simplify_all([root])[0], targets)]
    check_program(roots, inputs, args)


@pytest.mark.parametrize("name", one_in(3, ALL))
def test_closed_subgraphs(name):
    root = ALL[name]
    values = values_of(root)
    inputs = [e for e in subexpressions(root) if e.op.name == "input"]
    inputs = list({x.key: x for x in inputs}.values())
    check_program([root], inputs, [np.asarray(values[x.params[0][1]]) for x in inputs])


# -- what is broken is refused ---------------------------------------------------------------------
X = fg.var("x", 3)


def graph(*steps):
    """A flat program of x and what is done to it, each step to those before."""
    roots = [X]
    for f in steps:
        roots.append(f(*roots))
    return flatten_program(roots[-1:], [X])


def refused(match):
    return pytest.raises(AssertionError, match=match)


def node(op, args, params=(), type=X.type):
    return assemble_node(op, tuple(args), params, type)


def test_a_wrong_type_is_refused():
    wrong = node(np.sin(X).op, [X], type=ArrayType((4,), np.dtype(float)))
    with refused(r"simplify, node 1 \(sin\): expected type float64\[3\], but got float64\[4\]"):
        verify_expressions.check_expressions([wrong], [X], "simplify")


def test_operands_that_do_not_fit_are_refused():
    with refused(r"node 2 \(add\): expected operands of types"):
        verify_expressions.check_expressions([node((X + X).op, [X, fg.var("y")])], [X, fg.var("y")])


def test_a_variable_that_is_no_input_is_refused():
    with refused(r"node 1 \(input\): expected a declared input, but got y"):
        verify_expressions.check_expressions([X + fg.var("y", 3)], [X])


def test_a_key_of_other_content_is_refused():
    wrong = np.sin(X)
    type(wrong)._key.__set__(wrong, np.cos(X).key)
    with refused(r"node 1 \(sin\): expected key"):
        verify_expressions.check_expressions([wrong], [X])


def test_a_constant_that_can_change_is_refused():
    wrong = constant_of(Constant(np.ones(3)))
    with refused(r"expected a constant that cannot change, but got a writeable array"):
        verify_expressions.check_expressions([X * wrong], [X])
    with refused(r"flat, step 1 \(constant\): expected a constant that cannot change"):
        verify_steps.check_flat(flatten_program([X * wrong], [X]))


def loop_of(body, shape, *operands):
    return pick(loop_op(*operands, body=body, cond=None, spec=shape), 0)


def test_a_body_that_is_not_closed_or_does_not_fit_is_refused():
    s, t = fg.var("s", 3), fg.var("t")
    with refused(r"body of node \d \(loop\), node \d \(input\): expected a declared input"):
        verify_expressions.check_expressions(
            [loop_of(Body([s], [s * t]), LoopSpec(1, 0, 4), X)], [X]
        )
    with refused(r"\(loop\): expected inputs of the body"):
        verify_expressions.check_expressions(
            [loop_of(Body([t], [t * t]), LoopSpec(1, 0, 4), X)], [X]
        )
    with refused(r"\(loop\): expected states after an iteration"):
        verify_expressions.check_expressions(
            [loop_of(Body([s], [np.sum(s)]), LoopSpec(1, 0, 4), X)], [X]
        )


def test_outputs_of_another_type_or_number_are_refused():
    with refused(r"share, output 1: expected type float64\[3\], but got float64"):
        verify_expressions.check_types([X, X], [X, np.sum(X)], "share")
    with refused(r"share, outputs: expected as many as 2, but got 1"):
        verify_expressions.check_types([X, X], [X], "share")
    with refused(r"share, inputs: expected only variables from before, but got \['y'\]"):
        verify_expressions.check_types([X], [X + fg.var("y", 3)], "share")


@pytest.mark.parametrize("wrong", [1 + 1e-13, -1.0])
def test_another_meaning_is_refused(wrong):
    values = [np.array([0.3, 1.0, 2.0])]
    good = [np.exp(X) * np.exp(X)]
    checker.check_meaning(good, [np.exp(2.0 * X)], [X], values, "simplify")
    with refused("simplify, value 0"):
        checker.check_meaning(good, [np.exp(2.0 * X) * wrong], [X], values, "simplify")
    with refused("share, value 0: expected exactly"):
        checker.check_meaning([X], [X * (1 + 1e-15)], [X], values, "share", exact=True)


def test_broken_steps_are_refused():
    flat = graph(np.sin, lambda x, y: x * y, lambda x, y, z: z + y)
    steps = list(flat.steps)
    verify_steps.check_flat(flat, live=True)
    with refused(r"flat, step 2 \(multiply\): expected operands among 0..1, but got \(0, 2\)"):
        verify_steps.check_flat(changed(flat, 2, operands=(0, 2)))
    with refused(r"flat, step 2 \(multiply\): expected type float64\[3\]"):
        verify_steps.check_flat(changed(flat, 2, type=ArrayType((3,), np.dtype("float32"))))
    with refused(r"flat, results: expected steps among 0..3, but got \(4,\)"):
        verify_steps.check_flat(flat._replace(results=(4,)))
    with refused(r"flat, step 3 \(input\): expected inputs among the first 1"):
        verify_steps.check_flat(flat._replace(steps=(*steps[:3], steps[0])))
    with refused(r"flat, step 0 \(sin\): expected an input"):
        verify_steps.check_flat(flat._replace(steps=(steps[1], *steps[1:])))
    with refused(r"flat, step 3 \(add\): expected a step that something needs"):
        verify_steps.check_live(flat._replace(results=(2,)))
    with refused(r"flat, step 1 \(sin\): expected equal work done once, at step 1, but got 4"):
        twice = (*steps, steps[1], steps[3]._replace(operands=(3, 4)))
        verify_steps.check_live(flat._replace(steps=twice, results=(5,)))


def changed(flat, i, **how):
    steps = list(flat.steps)
    steps[i] = steps[i]._replace(**how)
    return flat._replace(steps=tuple(steps))


def called(plan, i, **how):
    made = list(plan.calls)
    made[i] = made[i]._replace(**how)
    return plan._replace(calls=tuple(made))


def entrywise(run):
    return Callee("careless", CallForm.ENTRYWISE, run)


def test_broken_calls_are_refused():
    plan = select_instructions(
        graph(np.sin, lambda x, y: x * y, lambda x, y, z: np.transpose(z + 2.0))
    )
    verify_calls.check_plan(plan)
    with refused(r"plan, call 2 \(multiply.*\): expected operands among 0..1"):
        verify_calls.check_plan(called(plan, 2, operands=(0, 3)))
    with refused(r"plan, call 2 \(sin\): expected operands, as many as 1, but got 2"):
        verify_calls.check_plan(called(plan, 2, function=plan.calls[1].function))
    with refused(r"plan, call 2 .*: expected a place to write to, True, but got False"):
        verify_calls.check_plan(called(plan, 2, effect="new"))
    with refused(r"plan, call 2 .*: expected an effect of its form, but got view"):
        verify_calls.check_plan(called(plan, 2, effect="view"))
    with refused(r"plan, call 2 .*: expected a place to write to, False, but got True"):
        narrow = Callee("where", CallForm.ENTRYWISE, lambda x, y: x)
        verify_calls.check_plan(called(plan, 2, function=narrow))
    with refused(r"plan, call 0 .*: expected a source in the place of an input"):
        verify_calls.check_plan(called(plan, 0, function=Callee("x1", CallForm.INPUT)))
    with refused(r"plan, call 3 .*: expected a constant of type float32"):
        verify_calls.check_plan(called(plan, 3, type=ArrayType((), np.dtype("float32"))))
    with refused("plan, results: expected calls with values"):
        verify_calls.check_plan(plan._replace(results=(99,)))


def test_calls_that_are_not_what_they_say_are_refused():
    values = [np.array([0.3, 1.0, 2.0])]
    plan = select_instructions(graph(np.sin, lambda x, y: x * y))
    (got,) = checker_plan.check_calls(plan, values)
    np.testing.assert_array_equal(got, np.sin(values[0]) * values[0])
    with refused(r"calls, call 1 .*: expected a value of type float64\[4\]"):
        checker_plan.check_calls(called(plan, 1, type=ArrayType((4,), np.dtype(float))), values)
    with refused(r"calls, call 1 .*: expected a new array, but got memory of an operand"):
        checker_plan.check_calls(
            called(plan, 1, function=entrywise(lambda x: x[:]), effect="new"), values
        )
    with refused(r"calls, call 1 .*: expected each entry once, but got strides \(0,\)"):
        spread = entrywise(lambda x: np.broadcast_to(x[:1], 3))
        checker_plan.check_calls(called(plan, 1, function=spread, effect="view"), values)

    def careless(x, y, out=None):  # reads an operand after it has written
        out = np.empty(3) if out is None else out
        np.copyto(out, x)
        return np.add(out, y, out=out)

    wrong = called(plan, 2, function=entrywise(careless))
    with refused(r"calls, call 2 .* where it is told to write"):
        checker_plan.check_calls(wrong, values)
    kept = called(plan, 2, function=entrywise(careless), effect="out_no_alias")
    checker_plan.check_calls(kept, values)


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_blocks_that_are_not_all_rows_are_refused(rows):
    good = block_loop.Blocks(100, rows, (), (), False, [], False)
    check_tiles(good, block_loop.each_block)

    def overlapping(block, how):
        block_loop.each_block(lambda i, low, high: block(i, max(0, low - 1), high), how)

    def last_left_out(block, how):
        for i in range(how.length // how.rows):
            block(i, i * how.rows, (i + 1) * how.rows)

    with refused("blocks, blocks: expected every row once"):
        check_tiles(good, overlapping)
    if 100 % rows:
        with refused("blocks, blocks: expected numbers"):
            check_tiles(good, last_left_out)


def test_results_that_are_anothers_memory_are_refused():
    values = [np.ones(3)]
    bounds = [np.zeros(3)] * 2
    for run, match in [
        (lambda x: (x, x * 1), "expected memory of its own"),
        (lambda x: (x * 1,) * 2, "array 1 of the results: expected memory of its own"),
        (lambda x: (np.broadcast_to(1.0, 3), x * 1), "expected an array to write to"),
        (lambda x: (x * 1, x * 2), "compiled, value 1: expected"),
    ]:
        with refused(match):
            checker_plan.check_results(run, values, [np.ones(3)] * 2, bounds)

    mine = np.ones(3)
    with refused("compiled, value 1: expected"):  # in the second call, after the first one's caller
        checker_plan.check_results(lambda x: (x * 1, mine), values, [np.ones(3)] * 2, bounds)
    with refused(r"compiled, input 0: expected \[1. 1. 1.\] as before"):
        checker_plan.check_results(
            lambda x: [np.negative(x, x) * -1] * 1, values, [np.ones(3)], bounds
        )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            "def run(x0):\n return a0\n",
            "run, line 2: expected a name that has a value, but got 'a0'",
        ),
        ("def run(x0):\n if x0: a0 = x0\n return a0\n", "'a0'"),
        ("def run(x0):\n a0 = x0\n del a0\n return a0\n", "'a0'"),
        ("def run(x0):\n for t in x0: a0 = t\n return a0\n", "'a0'"),
        ("def run(x0):\n while x0: a0 = x0\n return a0\n", "'a0'"),
        ("def run(x0):\n try: a0 = x0\n except ValueError: pass\n return a0\n", "'a0'"),
        ("def run(x0):\n return sin(exp(x0))\n", "'sin'"),
        ("def run(x0):\n exp(x0)\n exp = x0\n", "'exp'"),
        ("exp = 1\n", "expected functions"),
    ],
)
def test_names_without_values_are_refused(text, match):
    with refused(match):
        check_bindings(text, {"exp"})


def test_names_with_values_pass():
    text = """
def run(x0):
    if x0: a0 = exp(x0)
    else: return x0
    for t in range(9):
        a1 = [t for t in a0]
        if t: break
    while True:
        a2 = a0
        try: a3 = a2
        except ValueError: return a2
        return a3
"""
    check_bindings(text, {"exp"})


# -- memory ----------------------------------------------------------------------------------------
def small_program():
    """A plan whose text reuses an array, looks at one through a view, and gives two results."""

    def view(x, y, z):
        return np.transpose(np.reshape(z, (3, 1))) @ np.reshape(y, (3, 1))

    plan = select_instructions(graph(lambda x: np.exp(x) + 1.0, lambda x, y: np.sin(y) * x, view))
    plan = plan._replace(results=(*plan.results, 0))
    return plan, arrays.numpy_source(plan)


def test_the_small_program_is_accepted():
    plan, text = small_program()
    check_memory(plan, plan, text)


def gathering_plan():
    """An index array is computed, and what it names is overwritten."""
    x, i = fg.var("x", 6), fg.var("i", 3, int)
    return select_instructions(flatten_program([np.exp(x * 2.0)[i + 1] * 3.0, np.sort(x)], [x, i]))


def test_a_read_by_an_index_array_is_a_new_array():
    plan = gathering_plan()
    check_memory(plan, plan, arrays.numpy_source(plan))


def test_a_read_by_another_index_array_is_refused():
    plan = gathering_plan()
    text = arrays.numpy_source(plan)
    assert "a0[a1,]" in text
    with refused("result 0"):
        check_memory(plan, plan, text.replace("a0[a1,]", "a0[x1,]"))


def broken_texts():
    _, text = small_program()
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if "exp(" in line)
    last = next(i for i, line in enumerate(lines) if line.lstrip().startswith("return"))
    for i in range(first, last):
        yield f"without {i}", [*lines[:i], *lines[i + 1 :]]
        for k in range(i + 1, last):
            turned = list(lines)
            turned[i], turned[k] = lines[k], lines[i]
            yield f"{i} and {k} exchanged", turned
    for i in range(first, last):
        for old, new in (("a0", "a1"), ("a1", "a0"), ("a0", "x0"), ("x0", "a0")):
            for at in range(lines[i].count(old)):
                parts = lines[i].split(old)
                line = old.join(parts[: at + 1]) + new + old.join(parts[at + 1 :])
                yield f"{i}: {line.strip()}", [*lines[:i], line, *lines[i + 1 :]]
    yield "an input returned", [line.replace("array(x0)", "x0") for line in lines]


@pytest.mark.parametrize(
    ("what", "lines"), list(broken_texts()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_broken_texts_are_refused(what, lines):
    """Each is either refused, or computes what the plan does and keeps to its own memory."""
    plan, _ = small_program()
    text = "\n".join(lines) + "\n"
    value = np.array([0.3, 1.0, 2.0])
    try:
        check_memory(plan, plan, text)
    except AssertionError:
        return
    expected = checker_plan.check_calls(plan, [value])
    checker_plan.check_results(
        build("array", text, bindings(plan)),
        [value],
        expected,
        [np.full(np.shape(e), 1e-15) for e in expected],
    )


def test_most_broken_texts_are_refused():
    plan, _ = small_program()
    refusals = 0
    for _, lines in broken_texts():
        try:
            check_memory(plan, plan, "\n".join(lines) + "\n")
        except AssertionError:
            refusals += 1
    assert refusals > 20


def test_numbers_of_a_compiled_loop_have_a_shape():
    def f(x):
        c = fg.scan(lambda c, _: (0.9 * c + np.sum(np.sin(x * c)), None), 1.0, None, 30)[0]
        return np.reshape(c, (1, 1)) * x

    x = fg.var("x", 3)
    check_program([f(x)], [x], [np.ones(3)])


# -- passes that are broken ------------------------------------------------------------------------
def sooner(plan):
    """Lifetimes that forget what looks at a value through a view."""
    return [
        max([i, *[k for k, c in enumerate(plan.calls) if i in c.operands]])
        for i in range(len(plan.calls))
    ]


def never_over(self, i, call):
    """A place to write to that takes operands that are needed still."""
    found = [k for k in call.operands if self.owns(k) and self.plan.calls[k].type == call.type]
    return self.names[found[0]] if found else None


def broken_by_rows(self):
    """Lifetimes in a block that end one member too soon."""
    last = _LIFETIMES(self)
    return {k: max(0, place - 1) for k, place in last.items()}


_LIFETIMES = inner._Writer.lifetimes


def only_first_use(self, place, member, given):
    """An operand of a block to write to, whether or not it is read again."""
    names = [n for n in given if n[0] == "s"]
    return names[0] if names and member.call.effect == "in_place_ok" else None


def all_but_the_last(part, places, own):
    """Names that are free again as soon as they are read, but for the last."""
    return [line.replace("a1", "a0") for line in _ALLOCATED(part, places, own)]


_ALLOCATED = scalar.allocated
BROKEN = {
    "sooner": (buffer_assignment, "last_reads", sooner),
    "taken": (buffer_assignment._Assignment, "place", never_over),
    "rows": (inner._Writer, "lifetimes", broken_by_rows),
    "in place": (inner._Writer, "in_place_operand", only_first_use),
    "numbers": (scalar, "allocated", all_but_the_last),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_passes_are_refused(name, monkeypatch):
    """A compiler that gives memory away too soon is found out by its text alone."""
    x, y = fg.var("x", (100, 200)), fg.var("y")
    e = np.exp(x)
    view = np.transpose(e) * 2.0
    f, g = np.sin(e) * e, np.sin(y) * np.exp(y)
    roots = [np.sum(np.cos(f + np.tanh(f * 3.0)) * e) + np.sum(view * np.sin(view)), f]
    plan = select_instructions(flatten_program(roots, [x]))
    flat = flatten_program([np.sin(g) + g * np.cos(y + g) * (np.tanh(g) + y) / np.cos(y + g)], [y])
    monkeypatch.setattr(blocks, "_CACHE", 1 << 16)

    def check():
        check_text_of_numbers(flat)
        for how in (lambda plan: plan, fuse):
            grouped = how(plan)
            check_memory(plan, grouped, arrays.numpy_source(grouped))

    check()
    monkeypatch.setattr(*BROKEN[name])
    with refused("expected"):
        check()


def test_a_number_may_be_two_results():
    x = fg.var("x", (), np.float32)
    plan = select_instructions(flatten_program([x, x, x * 2], [x]))
    check_memory(plan, plan, arrays.numpy_source(plan))
