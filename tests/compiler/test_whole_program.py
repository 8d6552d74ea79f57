"""Programs of numbers around loops as machine code, against the same programs call by call."""

import math
import threading

import numpy as np
import pytest

pytest.importorskip("numba")

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, interpret, source_text
from funcgrad.compiler.native import numba_jit as native
from funcgrad.compiler.native import whole_program as whole
from funcgrad.compiler.numpy import numpy_pipeline as arrays


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Each test compiles as if it were the first."""
    monkeypatch.setattr(native, "_made", {})
    monkeypatch.setattr(native, "_length", 0)


@pytest.fixture
def entered(monkeypatch):
    """The functions that were made, which are machine code from the first call on."""
    made = []
    found = whole.later

    def at_once(flat):
        later = found(flat)
        if later is not None:
            later._worth = 0
            made.append(later)
        return later

    monkeypatch.setattr(whole, "later", at_once)
    return made


def bits(values):
    return [(type(v), math.copysign(1.0, v), repr(v)) for v in values]


def oscillator(n, xs=None):
    """Van der Pol's oscillator by Heun's method; a sequence pushes it where there is one."""

    def field(x, v, mu):
        return v, mu * (1.0 - x * x) * v - x

    def iteration(state, push):
        x, v, mu = state
        a, b = field(x, v, mu)
        c, d = field(x + 0.01 * a, v + 0.01 * b, mu)
        kick = 0.0 if push is None else push * mu
        return (x + 0.005 * (a + c), v + 0.005 * (b + d) + kick, mu), None

    def loss(x, v, mu):
        (x, v, _), _ = fg.scan(iteration, (x, v, mu), xs, length=None if xs is not None else n)
        return x * x + v * v / mu

    return loss


POINTS = [
    (2.0, 0.1, 1.0),
    (-0.3, 0.0, -2.5),
    (0.0, -0.0, 0.0),
    (1e200, 1.0, 1.0),
    (math.nan, 1.0, 1.0),
]


@pytest.mark.parametrize("n", [30, 1000])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_gradients_agree_to_the_bit(monkeypatch, entered, n, order):
    inputs = [fg.var(name) for name in ("x", "v", "mu")]
    f = oscillator(n)
    for _ in range(order):
        f = fg.grad(f)
    roots = [fg.simplify(f(*inputs))]
    run = arrays.compile_arrays(roots, inputs)
    got = [run(*point)[0] for point in POINTS]
    assert len(entered) == 1
    assert entered[0]._run is not None
    monkeypatch.setattr(native, "available", lambda: False)
    by_calls = arrays.compile_arrays(roots, inputs)
    assert bits(got) == bits([by_calls(*point)[0] for point in POINTS])
    assert "machine" not in source_text(by_calls)


def test_all_gradients_and_the_value(entered):
    g = fg.jit(fg.value_and_grad(lambda s: oscillator(200)(*s)))
    value, slopes = g((2.0, 0.1, 1.0))
    assert entered[0]._run is not None
    assert value == oscillator(200)(2.0, 0.1, 1.0)
    for k, slope in enumerate(slopes):
        ends = [[2.0, 0.1, 1.0] for _ in range(2)]
        ends[0][k] += 1e-6
        ends[1][k] -= 1e-6
        central = (oscillator(200)(*ends[0]) - oscillator(200)(*ends[1])) / 2e-6
        assert slope == pytest.approx(central, rel=1e-6)


def test_arrays_of_any_layout_run_through_loops(entered):
    def f(x, items):
        return fg.scan(lambda s, t: (s * 0.5 + t * x, None), x, items)[0]

    jitted = fg.jit(fg.value_and_grad(f))
    base = np.linspace(-1.0, 1.0, 80)
    locked = base[:40].copy()
    locked.flags.writeable = False
    for items in (base[:40], base[::2], base[::-2], locked):
        s, slope = 0.7, 1.0
        for t in items.tolist():
            s, slope = s * 0.5 + t * 0.7, slope * 0.5 + t
        assert jitted(0.7, items) == pytest.approx((s, slope), rel=1e-13)
    assert all(later._run is not None for later in entered)
    assert entered


def test_integers_and_truths_come_back_as_python_numbers(entered):
    def f(n, flag):
        total, odd = fg.fori_loop(
            0, 50, lambda i, s: (s[0] * 3 + n, np.logical_xor(s[1], s[0] % 2 == 1)), (n, flag)
        )
        return total - n, np.logical_not(odd)

    jitted = fg.jit(f)
    got = jitted(7, True)
    total, odd = 7, True
    for _ in range(50):
        total, odd = total * 3 + 7, odd != (total % 2 == 1)
    wrapped = (total - 7 + 2**63) % 2**64 - 2**63
    assert got == (wrapped, not odd)
    assert [type(v) for v in got] == [int, bool]
    assert entered[0]._run is not None


def test_infinities_where_python_raises(entered):
    f = fg.jit(lambda x, y: fg.scan(lambda s, _: (s * s, None), x, length=30)[0] / y)
    assert f(1.0, 0.0) == math.inf
    assert f(3.0, 1.0) == math.inf
    assert math.isnan(f(0.0, 0.0))
    assert entered[0]._run is not None


def last(x, length=30):
    return fg.scan(lambda s, _: (s * 0.5 + 1.0, None), x, length=length)[0]


def test_what_is_left_to_loops_alone():
    """Functions that NumPy rounds in its own way, results that are arrays, lengths that are not known."""
    x, n = fg.var("x"), fg.var("n", (), int)
    small = fg.var("y", (), np.float32)
    assert whole.native_source(flatten_program([last(x) * x], [x])) is not None
    assert whole.native_source(flatten_program([np.exp(last(x))], [x])) is None
    assert whole.native_source(flatten_program([last(x) ** 3.5], [x])) is None
    assert whole.later(flatten_program([last(x)], [x])) is not None
    assert whole.later(flatten_program([x * x], [x])) is None
    assert whole.later(flatten_program([last(x), x * np.ones(3)], [x])) is None
    assert whole.later(flatten_program([last(x, 100_000_000)], [x])) is None
    assert whole.later(flatten_program([last(x), small * small], [x, small])) is None
    assert (
        whole.later(flatten_program([fg.while_loop(lambda s: s > 1.0, lambda s: s / 2, x)], [x]))
        is None
    )
    assert whole.later(flatten_program([fg.fori_loop(0, n, lambda i, s: s / 2, x)], [x, n])) is None
    _, met = fg.scan(lambda s, _: (s * 0.5, s), x, length=30)
    assert whole.later(flatten_program([met], [x])) is None
    assert whole.native_source(flatten_program([np.sum(met)], [x])) is None


def test_short_programs_stay_as_they_are():
    """Until Python has run for about as long as compiling takes."""
    f = fg.jit(lambda x: last(x) * x)
    for k in range(30):
        assert f(float(k)) == pytest.approx(2.0 * k, rel=1e-6)
    assert "machine" in str(f.program)
    assert not native._made


def test_without_numba_nothing_is_asked(monkeypatch):
    monkeypatch.setattr(native, "available", lambda: False)
    f = fg.jit(lambda x: last(x, 31) * x)
    assert f(2.0) == pytest.approx(4.0, rel=1e-6)
    assert "machine" not in str(f.program)


def test_what_numba_refuses_runs_call_by_call(monkeypatch, entered):
    def refuse(*args):
        raise RuntimeError("no machine code")

    monkeypatch.setattr(native, "_compile", refuse)
    f = fg.jit(lambda x: last(x, 32) * x)
    assert f(2.0) == f(2.0) == pytest.approx(4.0, rel=1e-6)
    assert entered[0].function() is None


def test_it_changes_over_when_it_has_run_for_long():
    x = fg.var("x")
    root = last(x, 50_000) * x
    run = arrays.compile_arrays([root], [x])
    want = interpret(flatten_program([root], [x]), [1.5])
    later = run.__globals__["later"]
    for _ in range(1000):
        assert run(1.5) == want
        if later._run is not None:
            break
    assert later._run is not None
    assert run(1.5) == run(np.float64(1.5)) == run(np.array(1.5)) == want
    assert "machine" in source_text(run)


def test_eight_threads():
    x = fg.var("x")
    run = arrays.compile_arrays([last(x, 50_000) * x], [x])
    run.__globals__["later"]._worth = 1_000_000
    found, start = [], threading.Barrier(8)

    def work():
        start.wait()
        for _ in range(10):
            found.append(run(1.5))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert len(set(found)) == 1
    assert run.__globals__["later"]._run is not None
