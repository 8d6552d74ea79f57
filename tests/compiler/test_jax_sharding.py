"""Programs in JAX over the devices of a mesh: those of this process, and eight in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg

jax = pytest.importorskip("jax")
shard_map = getattr(jax, "shard_map", None)
if shard_map is None:
    pytest.skip("jax has no shard_map", allow_module_level=True)

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

RANDOM = np.random.default_rng(0)
W, X = RANDOM.normal(size=(5, 8)), RANDOM.normal(size=(16, 5))
Y, LABELS = RANDOM.normal(size=(16, 8)), RANDOM.integers(0, 8, 16)
P = jax.sharding.PartitionSpec


@pytest.fixture(autouse=True)
def double_precision():
    jax.config.update("jax_enable_x64", True)


def mesh_of(*names, axis_type="Auto"):
    """A mesh of all devices; the last of two axes has two of them, if there are so many."""
    devices = np.array(jax.devices())
    shape = (-1,) if len(names) == 1 else (-1, min(2, len(devices)))
    kinds = (getattr(jax.sharding.AxisType, axis_type),) * len(names)
    return jax.sharding.Mesh(devices.reshape(shape), names, axis_types=kinds)


def over(mesh, array, *axes):
    return jax.device_put(array, jax.sharding.NamedSharding(mesh, P(*axes)))


def equal(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-13)


def squares(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


def likelihood(w, x, labels):
    return -np.mean(fg.log_softmax(x @ w, axis=1)[np.arange(len(labels)), labels])


# -- jit -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis_type", [pytest.param("Auto", marks=pytest.mark.slow), "Explicit"])
@pytest.mark.parametrize(("loss", "targets"), [(squares, Y), (likelihood, LABELS)])
def test_jit_takes_sharded_arrays_and_keeps_their_sharding(loss, targets, axis_type):
    mesh = mesh_of("data", "model", axis_type=axis_type)
    w, x, y = over(mesh, W, None, "model"), over(mesh, X, "data"), over(mesh, targets, "data")
    value, slope = fg.jit(fg.value_and_grad(loss), backend="jax")(w, x, y)
    equal(value, loss(W, X, targets))
    equal(slope, fg.grad(loss)(W, X, targets))
    assert slope.sharding.mesh == mesh
    assert slope.sharding.is_equivalent_to(w.sharding, 2)
    hidden = fg.jit(lambda w, x: np.tanh(x @ w), backend="jax")(w, x)
    assert hidden.sharding.is_equivalent_to(jax.sharding.NamedSharding(mesh, P("data", "model")), 2)


def test_jit_takes_explicit_axes_where_the_mesh_is_set_and_beside_numpys_arrays():
    mesh = mesh_of("data", axis_type="Explicit")
    slope = fg.jit(fg.grad(squares), backend="jax")
    with jax.set_mesh(mesh):
        found = slope(W, over(mesh, X, "data"), over(mesh, Y, "data"))
    equal(found, fg.grad(squares)(W, X, Y))
    assert found.sharding.mesh == mesh


def test_explicit_axes_stay_while_jax_traces():
    mesh = mesh_of("data", axis_type="Explicit")
    x, w = over(mesh, X, "data"), over(mesh, W)
    f = fg.jit(lambda w, x: np.tanh(x @ w), backend="jax")
    found = jax.jit(lambda x: f(w, x))(x)
    equal(found, np.tanh(X @ W))
    assert found.sharding.is_equivalent_to(jax.sharding.NamedSharding(mesh, P("data")), 2)


def collectives(f, *args):
    text = jax.jit(f).lower(*args).compile().as_text()
    return set(re.findall(r" (all-[a-z]+|reduce-scatter|collective-permute)(?:-start)?\(", text))


def test_xla_inserts_the_collectives():
    if len(jax.devices()) < 2:
        pytest.skip("one device")
    f = fg.to_jax(fg.value_and_grad(squares))
    mesh = mesh_of("data")
    x, y = over(mesh, X, "data"), over(mesh, Y, "data")
    assert collectives(f, over(mesh, W), x, y) == {"all-reduce"}
    assert collectives(fg.to_jax(np.tanh), x) == set()
    mesh = mesh_of("model")
    columns = over(mesh, W, None, "model"), over(mesh, X), over(mesh, Y, None, "model")
    assert collectives(f, *columns) == {"all-reduce"}  # of the loss alone


# -- shard_map and pmap --------------------------------------------------------------------------
@fg.custom_vjp
def halved(x):
    return x * 1.0


halved.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g / 2,))

CONTROL_FLOW = {
    "scan_from_a_constant": lambda w, x: fg.scan(
        lambda c, row: (np.tanh(row @ w + c), c), np.zeros(8), x
    )[1].sum(),
    "scan_to_a_constant": lambda w, x: fg.scan(
        lambda c, row: ((3.0 * np.ones(()), c[0] + np.sum(row @ w)), None), (np.sum(x), 0.0), x
    )[0][1],
    "nested_scans": lambda w, x: fg.scan(
        lambda c, row: (fg.scan(lambda d, s: (d * 0.5 + s * np.sum(w), None), c, row)[0], None),
        0.0,
        x,
    )[0],
    "scan_of_nothing": lambda w, x: (
        fg.scan(lambda c, row: (c + np.sum(row @ w), c), 0.0, x[:0])[0] + np.sum(w)
    ),
    "fori_loop": lambda w, x: fg.fori_loop(0, 3, lambda i, c: c * 0.5 + np.sum(x @ w), 1.0),
    "cond_with_a_constant": lambda w, x: (
        fg.cond(x[0, 0] > -9, lambda a: np.sum(a**2), lambda a: 3.0 * np.ones(()), x @ w)
        + np.sum(w)
    ),
    "cond_of_constants": lambda w, x: (
        fg.cond(np.sum(x) > 0, lambda: np.ones(()), lambda: 2.0 * np.ones(())) + np.sum(w)
    ),
    "cond_of_replicated_values": lambda w, x: fg.cond(
        np.sum(x) > 0, lambda a: np.sum(a), lambda a: 3.0 * np.sum(a), w
    ),
}
PROGRAMS = CONTROL_FLOW | {
    "network": lambda w, x: np.sum(np.tanh(x @ w) ** 2),
    "indexing": lambda w, x: np.sum(np.sin(w[np.argmax(x, axis=1)])) + np.sum(x[:, 1:] * x[:, :-1]),
    "sorting": lambda w, x: np.sum(np.sort(x @ w, axis=1) * np.arange(8.0)) + np.max(x @ w),
    "linear_algebra": lambda w, x: np.sum(np.linalg.solve(w.T @ w + np.eye(8), (x @ w).T @ x)),
    "selection": lambda w, x: np.sum(np.where(x @ w > 0, np.sqrt(np.abs(x @ w)), 0.0)),
    "checkpoint": lambda w, x: np.sum(fg.checkpoint(lambda a: np.sin(a) * np.cos(a))(x @ w)),
    "custom_rule": lambda w, x: np.sum(halved(np.sin(x @ w))),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "cond_of_constants" else pytest.mark.slow)
        for name in PROGRAMS
    ],
)
def test_functions_under_shard_map(name):
    f = PROGRAMS[name]
    mesh = mesh_of("data")
    parts = np.split(X, len(jax.devices()))
    value, slope = sum(f(W, x) for x in parts), sum(fg.grad(f)(W, x) for x in parts)

    def mapped(function, check=True):
        specs = P(), P("data")
        return jax.jit(
            shard_map(function, mesh=mesh, in_specs=specs, out_specs=P(), check_vma=check)
        )

    def total(w, x):
        return jax.lax.psum(fg.to_jax(f)(w, x), "data")

    equal(mapped(total)(W, X), value)
    equal(mapped(total, check=False)(W, X), value)
    equal(jax.grad(mapped(total))(W, X), slope)
    # JAX sums the gradient in what is replicated; the gradient that funcgrad takes is of one shard.
    equal(mapped(jax.grad(fg.to_jax(f)))(W, X), slope)
    ours = mapped(lambda w, x: jax.lax.psum(fg.to_jax(fg.grad(f))(w, x), "data"))
    equal(ours(W, X), slope)


def test_a_while_loop_under_shard_map():
    def f(w, x):  # the number of iterations differs over the shards
        start = x[0, 0], 0.0 * np.ones(())
        return fg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + np.sum(w)), start)[1]

    def derivative(w, x):
        return jax.lax.psum(jax.jvp(lambda w: fg.to_jax(f)(w, x), (w,), (w,))[1], "data")

    mesh = mesh_of("data")
    run = shard_map(derivative, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
    want = sum(fg.jvp(lambda w: f(w, x), (W,), (W,))[1] for x in np.split(X, len(jax.devices())))  # noqa: B023
    equal(jax.jit(run)(W, X), want)


@pytest.mark.slow
def test_functions_under_pmap():
    count = len(jax.devices())
    x, y = X.reshape(count, -1, 5), Y.reshape(count, -1, 8)
    for f in (fg.to_jax(squares), fg.jit(squares, backend="jax")):
        both = jax.pmap(
            lambda w, x, y: jax.lax.pmean(jax.value_and_grad(f)(w, x, y), "shards"),  # noqa: B023
            axis_name="shards",
            in_axes=(None, 0, 0),
        )
        value, slope = both(W, x, y)
        equal(value[0], squares(W, X, Y))
        equal(slope[-1], fg.grad(squares)(W, X, Y))


# -- more devices --------------------------------------------------------------------------------
def run_again(**environment):
    """This file's other tests in a process of its own."""
    root = Path(__file__).parents[2]
    known = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    chosen = [__file__, "-m", "", "-k", "not process_of_its_own", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *chosen],
        env=known | environment,
        cwd=root,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.slow
def test_eight_devices_in_a_process_of_its_own():
    flag = "--xla_force_host_platform_device_count=8"
    run_again(XLA_FLAGS=flag, JAX_PLATFORMS="cpu")


@pytest.mark.gpu
@pytest.mark.slow
def test_gpus_in_a_process_of_its_own():
    try:
        count = len(jax.devices("gpu"))
    except RuntimeError:
        pytest.skip("no GPU")
    if count < 2:
        pytest.skip("one GPU")
    run_again(JAX_PLATFORMS="cuda")
