"""jit for other libraries keeps what jit promises; torch.compile and JAX take such functions."""

import threading

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler import libraries
from funcgrad.transforms.interop.export import LIBRARY_TYPES, to_jax, to_torch
from tests.default_slice import one_in

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]

BACKENDS = ["jax", "torch"]
SCALE = 2.0


@pytest.fixture(params=BACKENDS)
def backend(request):
    """The library's name; in double precision."""
    module = pytest.importorskip(request.param)
    if request.param == "jax":
        module.config.update("jax_enable_x64", True)
    return request.param


@pytest.fixture
def jax():
    """In double precision."""
    module = pytest.importorskip("jax")
    module.config.update("jax_enable_x64", True)
    return module


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def library(backend):
    """How the library makes arrays."""
    module = pytest.importorskip(backend)
    return module.numpy.asarray if backend == "jax" else module.tensor


def equal(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-14)


# -- what f captures -------------------------------------------------------------------------------
def test_a_name_that_is_bound_anew_is_met(backend):
    k = 2.0
    f = fg.jit(lambda x: x * k, backend=backend)
    equal(f(1.0), 2.0)
    k = 5.0
    equal(f(1.0), 5.0)
    assert f.explain_misses().splitlines() == [
        "<lambda>(float64): the first call with these types"
        if backend == "jax"
        else "<lambda>(float32): the first call with these types",
        "<lambda>: k was bound anew",
        f.explain_misses().splitlines()[0],
    ]


def test_a_global_that_is_bound_anew_is_met(backend, monkeypatch):
    f = fg.jit(lambda x: np.sum(x) * SCALE, backend=backend)
    x = library(backend)(np.ones(2))
    equal(f(x), 4.0)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    equal(f(x), 6.0)


def test_a_small_array_that_changes_in_place_is_met(backend):
    w = np.ones(5)
    f = fg.jit(lambda x: np.sum(x * w), backend=backend)
    x = library(backend)(np.ones(5))
    equal(f(x), 5.0)
    w[0] = 21.0
    equal(f(x), 25.0)
    assert "w was changed in place" in f.explain_misses()
    equal(f(x), 25.0)
    assert len(f.explain_misses().splitlines()) == 3


def test_a_large_array_is_read_at_each_call_and_not_traced_anew(backend):
    w = np.ones(20_000)
    f = fg.jit(lambda x: np.sum(x * w), backend=backend)
    equal(f(2.0), 40_000.0)
    w[0] = 6.0
    equal(f(2.0), 40_010.0)
    assert w.flags.writeable
    assert len(f.explain_misses().splitlines()) == 1
    slope = fg.jit(fg.grad(lambda x: np.sum(x * w)), backend=backend)
    equal(slope(2.0), 20_005.0)
    w[1] = 11.0
    equal(slope(2.0), 20_015.0)


def test_what_f_itself_changes_is_of_one_call_alone(backend):
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    g = fg.jit(f, backend=backend)
    assert [float(g(1.0)) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_functions_for_export_take_what_they_captured(backend):
    k = 2.0
    f = (to_jax if backend == "jax" else to_torch)(lambda x: x * k)
    equal(f(1.0), 2.0)
    k = 5.0
    equal(f(1.0), 2.0)
    assert not hasattr(f, "lower")


# -- static arguments ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "how", [{"static_argnums": 1}, {"static_argnums": (-1,)}, {"static_argnames": "n"}]
)
def test_static_arguments(backend, how):
    calls = []

    def f(x, n):
        calls.append(n)
        return x * len(n) if n[0] > 0 else -x

    g = fg.jit(f, backend=backend, **how)
    x = library(backend)(np.ones(2))
    for _ in range(2):
        equal(g(x, (1.0, 2.0)), [2.0, 2.0])
        equal(g(x, (-1.0, 2.0)), [-1.0, -1.0])
    assert calls == [(1.0, 2.0), (-1.0, 2.0)]


def test_static_arguments_by_name_and_of_numbers(backend):
    @fg.jit(backend=backend, static_argnames=("power", "sign"))
    def f(x, power, *, sign=1.0):
        return x**power if sign > 0 else -(x**power)

    x = library(backend)(np.array([2.0]))
    equal(f(x, power=3), [8.0])
    equal(f(x, 2, sign=-1.0), [-4.0])
    equal(f(x, 2), [4.0])
    equal(f(x, 2.0), [4.0])
    assert "2.0" in f.explain_misses().splitlines()[-1]


def test_static_arguments_must_hash(backend):
    f = fg.jit(lambda x, n: x, static_argnums=1, backend=backend)
    with pytest.raises(TypeError, match="jit: expected static arguments that hash, but got list"):
        f(1.0, [1])
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="hash by what they are, but got Tensor; hand it in as"):
        f(1.0, torch.ones(2))


def test_values_that_may_change_are_no_part_of_a_signature(backend):
    class Settings:
        pass

    f = fg.jit(lambda x, s: x, backend=backend)
    with pytest.raises(TypeError, match="but got Settings, which may change; make it a dataclass"):
        f(1.0, Settings())


# -- what can be seen ------------------------------------------------------------------------------
def test_lower_shows_every_stage(backend):
    f = fg.jit(lambda x, p: np.sum(np.sin(x) * p["a"] + 0.0 * x), backend=backend)
    x = library(backend)(np.ones(3))
    stages = f.lower(x, {"a": x})
    assert repr(stages.traced) == "[sum(sin(x)*p_a + 0*x)]"
    assert "sin(x)" in repr(stages.simplified)
    assert "p_a" in repr(stages.simplified)
    assert stages.source.startswith("def run(home, v0, v1):")
    assert "as traced" in repr(stages)
    assert f.explain_misses() == ""  # nothing is kept of it
    f(x, {"a": x})
    assert repr(f.program) == stages.source


def test_the_source_of_loops_is_shown(backend):
    @fg.jit(backend=backend)
    def f(x):
        return fg.scan(lambda c, t: (np.sin(c) * t, None), x.astype(float), np.arange(3.0)[::-1])[0]

    assert "call the function first" in repr(f.program)
    assert float(f(library(backend)(0.5))) == 0.0
    assert "# a closed subgraph" in f.program.source


def test_lower_with_static_arguments_and_a_captured_array(backend):
    w = np.arange(3.0)
    f = fg.jit(lambda x, n: np.sum(x * w) * n, static_argnums=1, backend=backend)
    stages = f.lower(2.0, 3)
    assert "array 0" in repr(stages.simplified)
    with pytest.raises(TypeError, match="expected arrays and numbers, but got an expression"):
        f.lower(fg.var("x"), 3)


def test_clear_forgets(backend):
    calls = []
    f = fg.jit(lambda x: calls.append(1) or x * 2, backend=backend)
    f(1.0)
    f(2.0)
    assert len(calls) == 1
    f.clear()
    assert f.explain_misses() == ""
    f(1.0)
    assert len(calls) == 2


# -- questions -------------------------------------------------------------------------------------
def test_branches_are_joined(backend):
    def f(x):
        y = np.sin(x)
        if y > 0:
            return y
        return -y

    for x in (1.0, -1.0):
        assert float(fg.jit(f, backend=backend)(x)) == pytest.approx(f(x), rel=1e-6)
        slope = float(fg.jit(fg.grad(f), backend=backend)(x))
        assert slope == pytest.approx(np.sign(x) * np.cos(x), rel=1e-6)


def test_a_question_is_refused_with_what_to_write_instead(backend):
    def f(x):
        y = np.sin(x)
        return y * len(range(int(4 * y)))  # asked here

    with pytest.raises(TypeError, match="no values") as caught:
        fg.jit(f, backend=backend)(1.0)
    text = str(caught.value)
    assert text.startswith("jit: expected a function that asks for no values")
    assert "has no guards as NumPy's has, but int() was asked of " in text
    assert "np.where(condition, a, b) or fg.cond" in text
    assert "leave out backend" in text
    assert text.endswith("return y * len(range(int(4 * y)))  # asked here")


@pytest.mark.parametrize(
    ("ask", "asker"),
    [(lambda x: float(x) * x, r"float\(\)"), (lambda x: x * len(range(x.astype(int))), "an index")],
)
def test_other_questions_are_refused_too(backend, ask, asker):
    with pytest.raises(TypeError, match=f"no guards.*{asker} was asked of"):
        fg.jit(fg.adopt(ask, False), backend=backend)(1.0)


def test_errors_of_f_itself_stay_as_they_are(backend):
    def f(x):
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        fg.jit(f, backend=backend)(1.0)


def test_what_is_written_to_a_large_array_while_f_runs_counts(backend):
    w = np.ones(20_000)

    def f(x):
        y = np.sum(x * w)
        w[0] = 2.0
        return y

    equal(fg.jit(f, backend=backend)(1.0), 20_001.0)
    assert w.flags.writeable


# -- derivatives -----------------------------------------------------------------------------------
def energy(x):
    return np.sum(np.where(x > 0, np.sqrt(np.abs(x)) * x, x**2))


def test_derivatives_inside_and_outside(backend):
    x = np.array([0.25, 4.0, -1.0])
    given = library(backend)(x)
    want = fg.grad(energy)(x)
    equal(fg.jit(fg.grad(energy), backend=backend)(given), want)
    value, slope = fg.jit(fg.value_and_grad(energy), backend=backend)(given)
    equal(value, energy(x))
    equal(slope, want)
    equal(fg.jit(fg.hessian(energy), backend=backend)(given), fg.hessian(energy)(x))
    equal(fg.grad(fg.jit(energy, backend=backend))(x), want)
    batch = np.stack([x, 2 * x])
    mapped = fg.jit(fg.vmap(fg.grad(energy)), backend=backend)
    equal(mapped(library(backend)(batch)), fg.vmap(fg.grad(energy))(batch))


def test_threads_share_programs(backend):
    k = 1.0
    f = fg.jit(lambda x: x * k + 1, backend=backend)
    results = []

    def work(i):
        results.append((float(f(float(i))), i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(i + 1.0, i) for i in range(8)]


# -- what the libraries do with such functions -----------------------------------------------------
def smooth(x):
    return np.sum(np.tanh(x) ** 2)


def test_jax_transforms(jax):
    x = np.linspace(-1, 1, 5)
    for f in (to_jax(smooth), fg.jit(smooth, backend="jax")):
        equal(jax.jit(f)(x), smooth(x))
        equal(jax.jit(jax.grad(f))(x), fg.grad(smooth)(x))
        np.testing.assert_allclose(jax.hessian(f)(x), fg.hessian(smooth)(x), atol=1e-14)
        batch = np.stack([x, x + 1, 3 * x])
        equal(jax.vmap(f)(batch), fg.vmap(smooth)(batch))
        equal(jax.vmap(jax.grad(f))(batch), fg.vmap(fg.grad(smooth))(batch))
        equal(jax.jit(jax.vmap(f))(batch), fg.vmap(smooth)(batch))


def test_jax_derivatives_of_some_arguments_alone_and_with_changes(jax):
    k = 2.0
    f = fg.jit(lambda x, y: k * x * np.maximum(y, 0.0), backend="jax")
    assert float(jax.grad(f)(3.0, 4.0)) == 8.0
    assert float(jax.grad(f, argnums=1)(3.0, 0.0)) == 3.0  # a tie: half of each
    assert [float(d) for d in jax.grad(f, argnums=(0, 1))(3.0, 4.0)] == [8.0, 6.0]
    assert float(jax.jvp(f, (3.0, 4.0), (1.0, 1.0))[1]) == 14.0
    k = 5.0
    assert float(jax.grad(f)(3.0, 4.0)) == 20.0
    assert float(jax.grad(jax.grad(f), argnums=1)(3.0, 4.0)) == 5.0


def test_torch_transforms(torch):
    x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
    point = x.detach().numpy()
    for f in (to_torch(smooth), fg.jit(smooth, backend="torch")):
        assert torch.autograd.gradcheck(f, (x,))
        assert torch.autograd.gradgradcheck(f, (x,))
        batch = torch.stack([x, x + 1, 3 * x]).detach()
        equal(torch.func.vmap(f)(batch), fg.vmap(smooth)(batch.numpy()))
        equal(torch.func.grad(f)(x.detach()), fg.grad(smooth)(point))
        slopes = torch.func.vmap(torch.func.grad(f))(batch)
        equal(slopes, fg.vmap(fg.grad(smooth))(batch.numpy()))


@pytest.fixture
def compiler(torch):
    """torch.compile, without what other tests left in it."""
    torch._dynamo.reset()
    yield torch.compile
    torch._dynamo.reset()


@pytest.mark.parametrize(
    ("how", "fullgraph"),
    one_in(4, [("aot_eager", True), ("aot_eager", False), ("eager", True), ("eager", False)]),
)
def test_torch_compile_takes_functions_of_tensors_whole(torch, compiler, how, fullgraph):
    model = to_torch(lambda p, x: {"y": np.tanh(p["w"] @ x + p["b"][0]), "n": np.sum(p["w"] ** 2)})

    def loss(p, x):
        out = model(p, x)
        return (out["y"] * 2).sum() + out["n"]

    run = compiler(loss, backend=how, fullgraph=fullgraph)
    for size in (3, 4, 5):
        w = torch.ones(2, size, dtype=torch.float64, requires_grad=True)
        p = {"w": w, "b": [torch.tensor([0.1, 0.2], dtype=torch.float64)]}
        x = torch.linspace(0, 1, size, dtype=torch.float64)
        got = run(p, x)
        got.backward()
        slope, w.grad = w.grad, None
        want = loss(p, x)
        want.backward()
        equal(got.detach(), want.detach())
        equal(slope, w.grad)


def test_torch_compile_leaves_other_functions_alone(torch, compiler):
    f = fg.jit(lambda x, s, mode: x * s if mode == "a" else np.sum(x), backend="torch")
    run = compiler(lambda x, s, mode: f(x, s, mode) + 1, backend="eager")
    x = torch.ones(3)
    for s in (2.0, 3.0, 3.5):
        equal(run(x, s, "a"), np.full(3, s + 1))
    equal(run(x, 1.0, "b"), 4.0)


def test_torch_compile_of_the_function_itself_and_of_rules(torch, compiler):
    @fg.custom_vjp
    def halved(x):
        return x * 1.0

    halved.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g / 2,))
    known = np.array([1.0, 2.0, 3.0])
    functions = [
        smooth,
        lambda x: fg.scan(lambda c, t: (np.sin(c) * t * 0.3, c), np.sum(x), x)[0],
        lambda x: fg.cond(np.sum(x) > 0, np.sin, np.cos, np.sum(x * known)) * 0.7,
        lambda x: np.sum(halved(np.sin(x))),
    ]
    for f in functions:
        x = torch.linspace(0.1, 1, 3, dtype=torch.float64, requires_grad=True)
        point = x.detach().numpy()
        for how in ("eager", "aot_eager"):
            exported = to_torch(f)
            value = compiler(exported, backend=how)(x)
            equal(value.detach(), f(point))
            (slope,) = torch.autograd.grad(value, x)
            equal(slope, fg.grad(f)(point))
            equal(exported(x).detach(), f(point))  # nothing of the compiler's is left in it
            equal(compiler(to_torch(fg.grad(f)), backend=how)(x).detach(), fg.grad(f)(point))


def test_under_torch_compile_changes_count_where_the_function_is_called(torch, compiler):
    k = 2.0
    f = fg.jit(lambda x: x * k, backend="torch")
    run = compiler(lambda x: f(x) + 1, backend="eager")
    equal(run(torch.ones(2)), [3.0, 3.0])
    k = 5.0
    equal(run(torch.ones(2)), [6.0, 6.0])


def test_jit_knows_the_types_of_every_library():
    missing = set(libraries.BACKENDS) ^ set(LIBRARY_TYPES)
    assert not missing, "add it to LIBRARY_TYPES of transforms/interop/export.py"


@pytest.mark.gpu
def test_jit_for_cupy():
    cupy = pytest.importorskip("cupy")
    if not cupy.is_available():
        pytest.skip("no GPU")
    w, large = np.ones(3), np.ones((30_000, 3))

    def plain(x):
        return fg.grad(lambda x: np.sum(np.sin(x) * w))(x), large @ x

    f = fg.jit(plain, backend="cupy")
    x = cupy.arange(3.0)
    for change in (lambda: None, lambda: w.__setitem__(0, 5.0), lambda: large.__setitem__(0, 7.0)):
        change()
        for got, want in zip(f(x), plain(np.arange(3.0)), strict=True):
            assert isinstance(got, cupy.ndarray)
            np.testing.assert_allclose(got.get(), want, rtol=1e-12)
    assert len(f.explain_misses().splitlines()) == 3
    assert "as it runs" in repr(f.lower(x))


# -- arrays of other libraries ---------------------------------------------------------------------
def test_arrays_of_one_library_are_no_others(torch):
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match=r"got torch\.Tensor; write x\.numpy\(\), or call fg\.to_t"):
        to_jax(np.sin)(torch.ones(2))
    with pytest.raises(
        TypeError, match=r"got jax\.Array; write np\.asarray\(x\), or call fg\.to_j"
    ):
        to_torch(np.sin)(jax.numpy.ones(2))
    with pytest.raises(TypeError, match=r"jit: expected NumPy arrays, but got jax\.Array"):
        fg.jit(np.sin, backend="torch")(jax.numpy.ones(2))


def test_an_exported_function_is_named_for_what_it_is():
    pytest.importorskip("jax")
    assert fg.to_jax(np.sin).__name__ == "to_jax(sin)"
