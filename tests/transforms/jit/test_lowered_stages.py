"""What `jit(f).lower(x)` shows: the texts, and that each stage computes what f does."""

import ast
import pprint
import re
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.autodiff.accumulate import gradients
from funcgrad.compiler import flat_program as codegen
from funcgrad.compiler import program
from funcgrad.compiler.call_ir import bytes_of
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.native import llvm_jit
from funcgrad.compiler.numpy import buffer_assignment
from funcgrad.compiler.numpy import numpy_codegen as arrays
from funcgrad.compiler.numpy.buffer_assignment import assign_buffers
from funcgrad.compiler.numpy.numpy_codegen import kernel_source, kernels_of
from funcgrad.compiler.numpy.numpy_pipeline import make_plan, run_step_passes
from funcgrad.compiler.passes import fusion as blocks
from funcgrad.compiler.print_ir import MOST, Steps, bounded, closed_below, number
from funcgrad.compiler.print_schedule import Calls
from funcgrad.compiler.python import loop_codegen as loops
from funcgrad.compiler.verify.verify_calls import check_plan
from funcgrad.ops.base.op import op_named
from funcgrad.trace import pytree
from funcgrad.transforms.jit.jit import jit
from tests.checker import evaluated
from tests.checker_plan import check_calls
from tests.default_slice import examples, marked_slow, one_in
from tests.ops.test_random_programs import programs, sample


def shown(f, *args):
    return repr(jit(f).lower(*args))


def text(*lines):
    return textwrap.dedent("\n".join(lines)).strip("\n")


# -- a reader of the texts ---------------------------------------------------------------------------
LINE = re.compile(r"%(\d+) = (\w+) (.*) : (.+)")


class Reader:
    """Runs steps as they are printed: it knows the text, and what operations do, and nothing else."""

    def __init__(self, lines, closed=()):
        self.lines = lines
        self.bodies = {}
        for inner in closed:
            head, *rest = repr(inner).splitlines()
            name, _, inputs = head.partition("(")
            names = re.findall(r"(\w+): ", inputs)
            self.bodies[name] = names, [line[2:] for line in rest]

    def run(self, env):
        return self.iteration(self.lines, dict(env))

    def iteration(self, lines, env):
        with np.errstate(all="ignore"):
            for line in lines[:-1]:
                number, name, operands, _ = LINE.fullmatch(line).groups()
                env[f"_{number}"] = self.step(name, operands, env)
        first, *handed = lines[-1].split("; ")
        given = {}
        for part in handed:
            name, _, operand = part.partition(" = ")
            (given[name],), _ = self.operands(operand, env)
        results, _ = self.operands(first.removeprefix("return"), env)
        return (results, given) if handed else results

    def operands(self, texts, env):
        call = ast.parse(f"f({texts.replace('%', '_')})", mode="eval").body
        values = [self.value(node, env) for node in call.args]
        return values, {word.arg: self.param(word.value) for word in call.keywords}

    @staticmethod
    def value(node, env):
        if isinstance(node, ast.Name):
            return env[node.id] if node.id in env else np.float64(node.id)  # inf and nan
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
            return -np.float64(node.operand.id)
        if isinstance(node, ast.Call):
            return np.dtype(node.func.id).type(ast.literal_eval(node.args[0]))
        return np.asarray(ast.literal_eval(node))[()]

    @staticmethod
    def param(node):
        if isinstance(node, ast.Name):
            return node.id
        if (
            isinstance(node, ast.Tuple)
            and node.elts
            and all(isinstance(x, ast.Name) for x in node.elts)
        ):
            return [x.id for x in node.elts]
        return ast.literal_eval(node)

    def step(self, name, texts, env):
        values, params = self.operands(texts, env)
        if name == "loop":
            return self.loop(values, **params)
        if name == "branch":
            index, *values = values
            names = params["branches"]
            return self.called(names[min(max(int(index), 0), len(names) - 1)], values)
        if name == "call":
            return self.called(params["body"], values)
        return op_named(name).run(*values, **params)

    def called(self, name, values):
        names, lines = self.bodies[name]
        return self.iteration(lines, dict(zip(names, values, strict=True)))

    def loop(self, values, body, num_carry=0, num_xs=0, trip_count=-1, reverse=False, cond=None):
        middle = num_carry + num_xs
        state, items, fixed = values[:num_carry], values[num_carry:middle], values[middle:]
        order = range(trip_count if trip_count >= 0 else 10**9)
        met = {}
        for t in reversed(order) if reverse else order:
            if cond is not None and not self.called(cond, [*state, *fixed])[0]:
                break
            found = self.called(body, [*state, *[item[t] for item in items], *fixed])
            state, met[t] = found[:num_carry], found[num_carry:]
        stacks = [np.array(column) for column in zip(*[met[t] for t in sorted(met)], strict=True)]
        return (*state, *stacks)


# -- texts -------------------------------------------------------------------------------------------
def test_a_program_on_numbers():
    assert shown(lambda x, y: np.sin(x) * y + np.sin(x) * x, 2.0, 3.0) == text(
        """
        as traced
          let a = sin(x)
          in a*y + a*x
        simplified
          the same
        steps on x: float64, y: float64
          %0 = sin x : float64
          %1 = multiply %0, y : float64
          %2 = multiply %0, x : float64
          %3 = add %1, %2 : float64
          return %3
        as it runs
          def run(x0, x1):
              if type(x0) is not float: x0 = float(x0)
              if type(x1) is not float: x1 = float(x1)
              try:
                  a0 = sin(x0)
                  return (((a0 * x1) + (a0 * x0)),)
              except (ArithmeticError, ValueError):
                  return slow(x0, x1,)
        """
    )


def test_a_program_on_arrays():
    f = fg.value_and_grad(lambda w: np.sum(np.exp(w) * 0.1))
    assert shown(f, np.ones(3)) == text(
        """
        as traced
          let a = 0.1*exp(w)
          in (sum(a), a)
        simplified
          the same
        steps on w: float64[3]
          %0 = broadcast_to 0.1, shape=(3,) : float64[3]
          %1 = exp w : float64[3]
          %2 = multiply %0, %1 : float64[3]
          %3 = sum %2, axis=(0,) : float64
          return %3, %2
        schedule
          a0 = exp(w) : float64[3], new, 24 bytes
          a0 = multiply(0.1, a0) : float64[3], in place
          a1 = add.reduce(a0, (0,)) : float64
          return a1, a0
          1 array, 24 bytes in all
        as it runs
          def body(x0):
              a0 = exp(x0)
              multiply(k1, a0, a0)
              a1 = add.reduce(a0, (0,))
              return (float(a1), a0,)
          def run(x0):
              return quiet.copy().run(body, x0)
        """
    )


def test_a_loop():
    def f(x, ts):
        return fg.scan(lambda y, t: (y * x + np.sin(x) * t, None), 1.0, ts)[0]

    lowered = jit(f).lower(0.5, np.arange(5.0))
    assert repr(lowered).startswith(
        text(
            """
            as traced
              let f(s, t, p1, p2) = s*p1 + p2*t
              in loop(f, 1.0, over=ts, given=(x, sin(x)))
            simplified
              the same
            steps on x: float64, ts: float64[5]
              %0 = sin x : float64
              %1 = loop 1.0, ts, x, %0, body=body1, num_carry=1, num_xs=1, trip_count=5 : (float64)
              %2 = pick %1, index=0 : float64
              return %2
              body1(i0: float64, i1: float64, i2: float64, i3: float64)
                %0 = multiply i0, i2 : float64
                %1 = multiply i3, i1 : float64
                %2 = add %0, %1 : float64
                return %2
            schedule
              a0 = sin(x) : float64
              a1 = loop(1.0, ts, x, a0, body=body1, num_carry=1, num_xs=1, trip_count=5) : (float64)
              a2 = pick(a1, index=0) : float64
              return a2
            as it runs
            """
        )
    )
    assert repr(lowered).endswith(
        text(
            """
            the loop around body1 as it runs
              def run(iterations, at, state, rest, met):
                  x0, = state
                  q1, x2, x3, = rest
                  try:
                      for t in iterations[at:]:
                          x1 = q1[t]
                          x0 = ((x0 * x2) + (x3 * x1))
                  except (ArithmeticError, ValueError):
                      return iterations.index(t), (x0, )
                  return -1, (x0, )
            """
        )
    )


def test_work_that_is_moved_out_of_loops():
    def f(w, xs):
        return fg.scan(lambda h, x: (np.tanh(h + x @ w), None), np.zeros(2), xs)[0]

    found = shown(f, np.ones((3, 2)), np.ones((5, 3)))
    assert found.startswith(
        text(
            """
            as traced
              let f(s, t, p) = tanh(s + t @ p)
              in loop(f, [0.0, 0.0], over=xs, given=w)
            simplified
              the same
            hoisted
              let f(s, t) = tanh(s + t)
              in loop(f, [0.0, 0.0], over=xs @ w)
            steps on w: float64[3, 2], xs: float64[5, 3]
              %0 = matmul xs, w : float64[5, 2]
            """
        )
    )


def questioning(x, n):
    s = np.sin(x)
    if s > 0:
        return s * 2 + sum(x * k for k in range(n))
    return -x


def test_guards():
    found = shown(questioning, 2.0, 2).replace(" at test_lowered_stages.py:", " at ")
    line = questioning.__code__.co_firstlineno
    assert found == text(
        f"""
        guards
          bool(sin(x) > 0) was True, at {line + 2}: if s > 0:
            %0 = sin x : float64
            %1 = greater %0, 0.0 : bool
            return %1; h0 = %0
          index(n) was 2, at {line + 3}: return s * 2 + sum(x * k for k in range(n))
            return n
        as traced
          sin(x)*2 + 0 + x*0 + x*1
        simplified
          2*h0 + 0*x + 0 + x
        steps on x: float64, h0: float64
          %0 = multiply 2.0, h0 : float64
          %1 = multiply 0.0, x : float64
          %2 = add %1, 0.0 : float64
          %3 = add %2, x : float64
          %4 = add %0, %3 : float64
          return %4
        as it runs
          def run(x0, x1):
              if type(x0) is not float: x0 = float(x0)
              if type(x1) is not float: x1 = float(x1)
              try:
                  return (((2.0 * x1) + (((0.0 * x0) + 0.0) + x0)),)
              except (ArithmeticError, ValueError):
                  return slow(x0, x1,)
        """
    )


def test_bytecode(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(program, "BYTECODE_LEAST", 0)
    lowered = jit(lambda x: np.exp(x) * 0.125 + x).lower(2.0)
    assert lowered.schedule == text(
        """
        10 words of bytecode:
        m4 = exp(m0)
        m5 = m0 + 0.125*m4
        """
    )
    assert "schedule\n  10 words of bytecode:\n  m4 = exp(m0)\n" in repr(lowered)
    assert "run_vm(code, registers)" in lowered.source


def test_without_llvmlite_large_programs_are_python(monkeypatch):
    monkeypatch.setattr(program, "BYTECODE_LEAST", 0)
    monkeypatch.setattr(llvm_jit, "llvm_available", lambda: False)
    lowered = jit(lambda x: np.exp(x) * 0.375 + x).lower(2.0)
    assert lowered.schedule == ""
    assert "schedule" not in repr(lowered)


@pytest.mark.parametrize("value", [3.0, None, {"a": [1, 2]}])
def test_a_constant_result(value):
    lowered = jit(lambda x: value).lower(2.0)
    assert repr(lowered) == text(
        f"""
        as traced
          nothing: the result is {value!r}, whatever the arguments
        """
    )
    assert lowered[:2] == ((), ())


def test_groups_and_arrays_that_are_kept(monkeypatch):
    monkeypatch.setattr(buffer_assignment, "_POOLED", 1 << 10)
    f = fg.grad(lambda x: np.sum(np.exp(-x * x) * x))
    lowered = jit(f).lower(np.ones(100_000))
    lines = repr(lowered.schedule).splitlines()
    plan = lowered.schedule.plan
    (kernel,) = kernels_of(plan)
    made = kernel.blocks
    count, size = -(-made.length // made.rows), made.rows * sum(map(bytes_of, made.scratch))
    assert lines[:2] == [
        "a0 = empty : float64[100000], new, 800,000 bytes",
        f"block0: reads v0 = x, k4 = -2.0; writes o0 = a0; {count} times {made.rows:,} of 100,000 rows; "
        f"scratch of {size:,} bytes",
    ]
    assert lines[2:-2] == [f"  {line}" for line in kernel_source(kernel).splitlines()]
    assert lines[-2:] == ["return a0", "1 array, 800,000 bytes in all"]
    monkeypatch.setattr(blocks, "_ENTRIES", 1 << 60)
    wide = repr(
        jit(lambda x: np.sum(np.exp(-x * x) @ np.ones(200))).lower(np.ones((100, 200))).schedule
    )
    assert "p0 = square(x) : float64[100, 200], pooled, 160,000 bytes" in wide


def test_arrays_that_are_free_are_written_to():
    x = fg.var("x", 3000)
    root = np.cumsum(np.exp(x)) * np.sort(np.cumsum(np.sin(x)) + 2.0)
    plan = make_plan(run_step_passes(flatten_program([root], [x])))
    lines = repr(Calls(plan, assign_buffers(plan), ("x",))).splitlines()
    assert any("in a dead array" in line for line in lines)
    assert any(line.endswith("is reusable") for line in lines)
    assert any(line.endswith("is deleted") for line in lines)


def test_calls_tell_dtypes_and_what_runs():
    x = fg.var("x", 2)
    root = np.broadcast_to(np.sum(x), (3,))
    plan = make_plan(run_step_passes(flatten_program([np.ravel(root), np.sort(x)], [x])))
    shown = repr(Calls(plan, assign_buffers(plan), ("w",)))
    assert "spread(a0, (3,), float64) : float64[3], new, 24 bytes" in shown
    assert "argsort(w, axis=0) : int64[2], new, 16 bytes" in shown


def test_loops_that_share_their_turns():
    def f(x):
        states = fg.scan(lambda y, _: (y * x, y), x, length=7)[1]
        last, _ = fg.scan(lambda y, _: (y * x, None), x, length=7)
        return np.sum(states) + last

    lowered = jit(f).lower(0.5)
    counts = [
        len({e.key for e in fg.expr.subexpressions(*s) if e.op.name == "loop"})
        for s in (lowered.traced, lowered.simplified, lowered.shared)
    ]
    assert counts == [2, 2, 1]
    assert "\nshared\n" in repr(lowered)


def test_captured_arrays_and_containers_have_names():
    a = np.arange(3.0)
    lowered = jit(lambda d: d["w"] * a).lower({"w": np.ones(3)})
    assert "steps on d_w: float64[3], array 0: float64[3]\n" in repr(lowered)


def test_a_notebook_shows_the_same():
    lowered = jit(lambda x: np.sin(x) * x).lower(0.5)
    assert str(lowered) == repr(lowered) == pprint.pformat(lowered)
    assert not hasattr(lowered, "_repr_html_")
    assert not hasattr(lowered, "_repr_pretty_")
    assert lowered[:3] == (lowered.traced, lowered.simplified, lowered.source)


# -- what the stages compute --------------------------------------------------------------------------
def rk(x, ts):
    return fg.scan(lambda y, t: (y + 0.1 * np.sin(y * t), np.tanh(y)), x, ts)


def doubled(x):
    return fg.while_loop(lambda y: np.sum(y) < 50.0, lambda y: y * 2.0 + x, x)


def chosen(x):
    return fg.cond(x[0] > 0, lambda x: np.sin(x) * x, lambda x: x + 1.0, x)


def mixed(x):
    return (
        np.sum(np.exp(x @ x.T) * 0.1, axis=0) + fg.checkpoint(lambda v: np.sin(v[0]) * v[1])(x)[0]
    )


CASES = {
    "numbers": (lambda x, y: np.sin(x) * y + np.sin(x) ** 2, (0.5, 2.0)),
    "their gradient": (fg.value_and_grad(lambda x, y: np.sin(x) * y / (1 + x * x)), (0.5, 2.0)),
    "arrays": (
        lambda x: np.sum(np.exp(-x * x) * x) + x.T @ x,
        (np.linspace(0, 1, 6).reshape(2, 3),),
    ),
    "gradient": (fg.grad(lambda x: np.sum(np.log(1 + np.exp(x @ x)))), (np.eye(3) / 2,)),
    "float32": (lambda x: np.sum(x * x) * np.float32(0.1), (np.ones(3, "float32"),)),
    "loop": (rk, (0.5, np.linspace(0, 1, 30))),
    "loop's gradient": (fg.grad(lambda x, ts: rk(x, ts)[0]), (0.5, np.linspace(0, 1, 30))),
    "loop on arrays": (
        fg.grad(lambda x: np.sum(rk(x, np.array([0.1, 0.2, 0.4]))[1])),
        (np.ones(3),),
    ),
    "while": (doubled, (np.ones(3),)),
    "branch": (fg.value_and_grad(lambda x: np.sum(chosen(x))), (np.ones(3),)),
    "call": (fg.grad(lambda x: np.sum(mixed(x))), (np.eye(3),)),
    "tree": (lambda d: {"a": d["u"] * d["v"], "b": [d["u"], None]}, ({"u": 2.0, "v": np.ones(2)},)),
    "large": (fg.grad(lambda x: np.sum(np.sin(x) * np.exp(-x * x))), (np.linspace(0, 1, 50_000),)),
}


def close(got, want):
    for a, b in zip(got, want, strict=True):
        eps = np.finfo(np.asarray(b).dtype).eps if np.asarray(b).dtype.kind in "fc" else 0
        np.testing.assert_allclose(a, b, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("name", CASES)
def test_every_stage_computes_it(name):
    f, args = CASES[name]
    lowered = jit(f).lower(*args)
    leaves = [np.asarray(leaf)[()] for leaf in pytree.leaves_of(args)]
    want = pytree.leaves_of(f(*args))  # as it is written, without a program
    names = lowered.steps.names
    inputs = {
        str(e.params[0][1]): e
        for s in (lowered.traced, lowered.hoisted)
        for e in fg.expr.subexpressions(*s)
        if e.op.name == "input"
    }
    given = dict(zip(names, leaves, strict=True))
    variables = [inputs[n] for n in names if n in inputs]
    values = [given[n] for n in names if n in inputs]
    for stage in (lowered.traced, lowered.simplified, lowered.shared, lowered.hoisted):
        if stage:
            close(evaluated(stage, variables, values), want)
    close(interpret(lowered.steps.flat, leaves), want)
    close(Reader(list(lowered.steps.lines()), lowered.closed).run(given), want)
    if lowered.prepared is not None:
        close(interpret(lowered.prepared.flat, leaves), want)
    if lowered.schedule:
        plan = lowered.schedule.plan
        check_plan(plan)
        close(check_calls(plan, leaves), want)
        assert (
            arrays.numpy_source(plan).partition("def run")[0]
            == lowered.source.partition("def run")[0]
        )
        replay(plan, lowered.schedule.schedule)


@pytest.mark.parametrize("x", [0.3, 2.0, 4.0])
@pytest.mark.parametrize("transform", [lambda f: f, fg.grad])
def test_guards_hand_on_what_the_results_are_made_of(x, transform):
    f = transform(lambda x: questioning(x, 3))
    lowered = jit(f).lower(x)
    known = {"x": x}
    for guard in lowered.guards:
        found = Reader(list(guard.steps.lines())).run(known)
        results, handed = found if isinstance(found, tuple) else (found, {})
        known |= handed
        assert {"bool": bool, "index": int}[guard.reading](results[0]) == guard.answer
        assert guard.line.startswith("test_lowered_stages.py:")
        (asked,) = evaluated([guard.asked], [fg.var("x")], [x])
        assert asked == results[0]
    close(Reader(list(lowered.steps.lines())).run(known), [f(x)])


def replay(plan, schedule):
    """Nobody reads a name that is dead, or writes to an array that someone still needs."""
    live, free = {}, {}
    for placed in schedule.placed:
        call = plan.calls[placed.call]
        for name in placed.reads:
            assert name in live or name[0] in "ks"
        if placed.how == "in_place":
            assert placed.writes in placed.reads
        elif placed.how == "reused":
            assert free.pop(placed.writes) == call.type
        elif placed.how != "none":
            assert placed.writes not in live
            assert placed.writes not in free
        if placed.writes:
            live[placed.writes] = call.type
        for name in placed.reusable:
            free[name] = live.pop(name)
        for name in placed.dead:
            del live[name]
        assert set(placed.deleted) <= set(placed.dead)


@settings(max_examples=examples(60), derandomize=True)
@given(programs(), st.integers(0, 5), st.booleans())
def test_random_programs(program, seed, large):
    shapes, steps = program
    values = sample(shapes, seed)
    inputs = [fg.var(f"x{i}", shape) for i, shape in enumerate(shapes)]
    known = list(inputs)
    for f, places in steps:
        known.append(f(*[known[i] for i in places]))
    root = sum(np.sum(v * (k + 1)) for k, v in enumerate(known))
    flat = flatten_program([root, *gradients(root, inputs)], inputs)
    names = tuple(f"x{i}" for i in range(len(inputs)))
    lines = list(Steps(flat, names).lines())
    assert len(lines) == len(Steps(flat, names))
    if not any("<" in line for line in lines):
        close(Reader(lines).run(dict(zip(names, values, strict=True))), interpret(flat, values))
    with pytest.MonkeyPatch.context() as patch:
        if large:
            patch.setattr(buffer_assignment, "_POOLED", 0)
            patch.setattr(buffer_assignment, "_LARGE", 0)
        plan = make_plan(run_step_passes(flat))
        repr(Calls(plan, assign_buffers(plan), names))


@pytest.mark.parametrize("start", [0.5, np.full(3, 0.5)], ids=["numbers", "arrays"])
def test_the_loops_that_are_shown_are_those_that_run(start, monkeypatch):
    built = []

    def build(kind, text, bound):
        built.append(text)
        return codegen.build(kind, text, bound)

    monkeypatch.setattr(loops, "build", build)
    f = jit(lambda x: fg.scan(lambda y, t: (np.sin(y) * t + 0.123, y), x, np.linspace(0, 1, 40))[0])
    f(start)
    ((_, text),) = f.lower(start).loops
    assert built == [text]


# -- sizes -------------------------------------------------------------------------------------------
def chain(x, count):
    y = x
    for _ in range(count):
        y = np.sin(y) * x + y
    return y


@pytest.mark.parametrize("count", [4_000, marked_slow(12_000)])
@pytest.mark.parametrize(
    "x", one_in(2, [pytest.param(0.5, id="numbers"), pytest.param(np.ones(3), id="arrays")])
)
def test_tens_of_thousands_of_steps(x, count):
    lowered = jit(lambda x: chain(x, count)).lower(x)
    assert len(lowered.steps) > 3 * count
    start = time.process_time()
    found = repr(lowered)
    assert time.process_time() - start < 4
    assert len(found.splitlines()) < 5 * (MOST + 3)
    assert max(map(len, found.splitlines())) < 200
    assert "%39 = sin %38 : float64" in found
    assert "%40" not in found
    assert f"… ({len(lowered.steps) - MOST:,} more lines)" in found
    *_, last = lowered.steps.lines()
    assert last == f"return %{len(lowered.steps) - 2}"


def test_many_results_and_bodies():
    f = jit(
        lambda xs: [
            fg.cond(x > k, lambda y: y * 2, lambda y, k=k: y + k, x) for k, x in enumerate(xs)
        ]
    )
    lowered = f.lower([float(k) for k in range(60)])
    assert len(lowered.closed) > 50
    found = repr(lowered)
    assert len(found.splitlines()) < 400
    assert f"… ({len(lowered.closed) - 20} more)" in found
    assert max(map(len, found.splitlines())) < 200


def test_pieces():
    assert bounded(["a" * 500])[0] == "a" * 159 + "…"
    assert bounded([], 3) == ["… (3 more lines)"]
    assert [number(np.array(x)) for x in (1 / 3, 2, True, 1j)] == [repr(1 / 3), "2", "True", "1j"]
    assert number(np.float32(0.5)) == "float32(0.5)"
    assert number(np.ones((2, 3))) == "<float64[2, 3]>"
    x = fg.var("x")
    assert closed_below(flatten_program([x], [x])) == ()
    assert repr(Steps(flatten_program([], [x]), ("x",))) == "return"


def test_programs_are_lowered_without_llvmlite():
    """As on a machine that has no llvmlite, which the forms of vector functions in machine code read."""
    code = (
        "import sys; sys.modules['llvmlite'] = None\n"
        "import numpy as np, funcgrad as fg\n"
        "lowered = fg.jit(fg.grad(lambda x: np.sum(np.tanh(x) * np.exp(x)))).lower(np.ones(8))\n"
        "print('llvmlite is not installed' in str(lowered.machine_code))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
