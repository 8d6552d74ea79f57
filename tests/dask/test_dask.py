"""funcgrad.dask on a real cluster of processes: values, bits, faults and errors."""

import os
import signal
import threading
import time
from concurrent.futures import CancelledError
from functools import partial

import numpy as np
import pytest

import funcgrad as fg

distributed = pytest.importorskip("distributed")
array = pytest.importorskip("dask.array")
bag = pytest.importorskip("dask.bag")
delayed = pytest.importorskip("dask").delayed
sharded = pytest.importorskip("funcgrad.dask")

# Dask's own code warns of what is deprecated in Python and tornado; workers that are killed leave sockets.
pytestmark = [
    pytest.mark.dask,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
]

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(101, 3))
Y = RANDOM.normal(size=101)
PARAMS = {"w": np.array([0.5, -1.0, 2.0]), "b": 0.25}


def squares(params, x, y):
    residual = x @ params["w"] + params["b"] - y
    return np.sum(residual**2)


def mean_of_squares(params, x, y):
    return squares(params, x, y) / len(y)


def logarithm(params, x, y):
    distance = x @ params["w"] - y
    scaled = np.log(distance)
    return np.sum(scaled)


def chunked(rows=10):
    return array.from_array(X, chunks=(rows, 3)), array.from_array(Y, chunks=rows)


def assert_trees_close(got, want, **options):
    np.testing.assert_allclose(got["w"], want["w"], **options)
    np.testing.assert_allclose(got["b"], want["b"], **options)


# -- values ----------------------------------------------------------------------------------------
def test_value_and_gradient_are_those_of_the_whole(client):
    value, slope = sharded.value_and_grad(squares)(PARAMS, *chunked())
    expected, expected_slope = fg.value_and_grad(squares)(PARAMS, X, Y)
    assert isinstance(value, float)
    assert value == pytest.approx(expected, rel=1e-13)
    assert_trees_close(slope, expected_slope, rtol=1e-12)
    assert_trees_close(sharded.grad(squares)(PARAMS, *chunked(7)), expected_slope, rtol=1e-12)


def test_means_are_weighted_by_the_length_of_chunks(client):
    value, slope = sharded.value_and_grad(mean_of_squares, reduce="mean")(PARAMS, *chunked(30))
    expected, expected_slope = fg.value_and_grad(mean_of_squares)(PARAMS, X, Y)
    assert value == pytest.approx(expected, rel=1e-13)
    assert_trees_close(slope, expected_slope, rtol=1e-12)


def test_products_with_the_hessian_and_rows_of_the_jacobian(client):
    tangent = {"w": np.ones(3), "b": -1.0}
    got = sharded.hvp(squares)(PARAMS, tangent, *chunked())
    want = fg.hvp(lambda p: squares(p, X, Y), (PARAMS,), (tangent,))
    assert_trees_close(got, want, rtol=1e-12)

    def predicted(w, x):
        return np.tanh(x @ w)

    rows = sharded.jacobian(predicted)(PARAMS["w"], chunked()[0])
    assert rows.chunks[0] == (10,) * 10 + (1,)
    np.testing.assert_allclose(rows.compute(), fg.jacobian(predicted)(PARAMS["w"], X), rtol=1e-12)
    each = sharded.vmap(lambda w, x: np.tanh(np.dot(x, w)))(PARAMS["w"], chunked()[0])
    np.testing.assert_allclose(each.compute(), predicted(PARAMS["w"], X), rtol=1e-12)


@pytest.mark.parametrize("form", ["array", "bag", "delayed", "futures"])
def test_every_function_takes_every_form_of_data(client, form):
    def loss(w, x):
        return np.sum(np.exp(w * x))

    def mean(w, x):
        return loss(w, x) / len(x)

    def each(w, x):
        return np.tanh(w * x)

    numbers = np.linspace(0.0, 1.0, 7)
    pieces = np.split(numbers, [2, 5])
    data = {
        "array": lambda: array.from_array(numbers, chunks=((2, 3, 2),)),
        "bag": lambda: bag.from_delayed([delayed(piece.tolist()) for piece in pieces]),
        "delayed": lambda: [delayed(piece) for piece in pieces],
        "futures": lambda: client.scatter(pieces),
    }[form]()
    value, slope = sharded.value_and_grad(loss)(0.5, data)
    assert (value, slope) == pytest.approx(fg.value_and_grad(loss)(0.5, numbers), rel=1e-13)
    assert sharded.grad(loss)(0.5, data) == slope
    for function in (sharded.value_and_grad, sharded.grad):
        found = function(mean, reduce="mean")(0.5, data)
        got = found if function is sharded.grad else found[1]
        assert got == pytest.approx(slope / 7, rel=1e-13)
    curved = fg.hvp(lambda w: loss(w, numbers), (0.5,), (2.0,))
    assert sharded.hvp(loss)(0.5, 2.0, data) == pytest.approx(curved, rel=1e-13)
    assert sharded.hvp(mean, reduce="mean")(0.5, 2.0, data) == pytest.approx(curved / 7, rel=1e-13)
    rows = sharded.jacobian(each)(0.5, data)
    assert rows.chunks == ((2, 3, 2),)
    np.testing.assert_allclose(rows.compute(), fg.jacobian(each)(0.5, numbers), rtol=1e-13)
    mapped = sharded.vmap(each)(0.5, data)
    np.testing.assert_allclose(mapped.compute(), each(0.5, numbers), rtol=1e-13)


def test_minimizers_take_the_function_as_it_is(client):
    from scipy.optimize import minimize

    data = tuple(client.persist(chunked(50)))

    def loss(w, x, y):
        return np.sum((x @ w - y) ** 2)

    expected = np.linalg.lstsq(X, Y)[0]
    both = sharded.value_and_grad(loss)
    for method in ("BFGS", "L-BFGS-B"):
        found = minimize(both, np.zeros(3), data, method, jac=True, tol=1e-12)
        np.testing.assert_allclose(found.x, expected, rtol=1e-6)
    own = fg.optim.minimize(both, np.zeros(3), args=data, jac=True)
    np.testing.assert_allclose(own.x, expected, rtol=1e-6)
    tree = fg.optim.minimize(
        sharded.value_and_grad(squares), PARAMS, args=data, jac=True, learning_rate=0.1, steps=3
    )
    alone = fg.optim.minimize(squares, PARAMS, args=(X, Y), learning_rate=0.1, steps=3)
    assert_trees_close(tree.x, alone.x, rtol=1e-12)


def test_map_takes_lazy_items(client):
    def square(x):
        return x * x

    for items in (
        [delayed(2.0), delayed(3.0)],
        client.scatter([2.0, 3.0]),
        bag.from_sequence([2.0, 3.0]),
        array.from_array(np.array([2.0, 3.0]), chunks=1),
        [2.0, delayed(3.0)],
    ):
        assert sharded.map(square, items) == [4.0, 9.0]
    rows = sharded.map(fg.grad(lambda x: np.sum(x**3)), array.from_array(X[:4], chunks=(2, 3)))
    np.testing.assert_allclose(rows, 3 * X[:4] ** 2)

    def noisy(x, rng):
        return x + rng.normal()

    lazy = [delayed(1.0), delayed(2.0)]
    assert sharded.map(noisy, lazy, seed=3) == sharded.map(noisy, [1.0, 2.0], seed=3)


def test_map_gives_each_task_a_generator_of_its_own(client):
    def draw(scale, rng):
        return scale * rng.normal()

    got = sharded.map(draw, [1.0, 2.0, 3.0], seed=7)
    seeds = np.random.SeedSequence(7).spawn(3)
    want = [k * np.random.default_rng(s).normal() for k, s in zip([1, 2, 3], seeds, strict=True)]
    assert got == want
    assert sharded.map(fg.grad(np.sin), [0.0]) == [1.0]


def bits(pair):
    value, slope = pair
    return value.hex(), slope["w"].tobytes(), slope["b"].hex()


def test_the_bits_are_the_same_for_every_number_of_workers_and_threads(client):
    expected = bits(sharded.value_and_grad(squares)(PARAMS, *chunked(3)))
    for workers, threads in ((1, 1), (2, 1), (3, 1), (1, 3), (3, 2)):
        with (
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=threads,
                processes=False,
                dashboard_address=None,
            ) as other,
            distributed.Client(other, set_as_default=False) as alone,
        ):
            again = sharded.value_and_grad(squares, client=alone)(PARAMS, *chunked(3))
        assert bits(again) == expected


def test_the_bits_are_the_same_for_every_order_of_completion(client):
    def late(block, delays):
        time.sleep(delays[int(abs(block[0, 0]) * 1e6) % len(delays)])
        return block

    found = set()
    for delays in ([0.0], [0.0, 0.02, 0.05], [0.05, 0.03, 0.0], [0.01, 0.0]):
        x, y = chunked(5)
        delayed_x = x.map_blocks(late, delays, dtype=float, meta=X[:0])
        found.add(bits(sharded.value_and_grad(squares)(PARAMS, delayed_x, y)))
    assert len(found) == 1


# -- progress --------------------------------------------------------------------------------------
def test_tasks_are_named_after_the_users_function(client):
    sharded.value_and_grad(squares)(PARAMS, *chunked())
    sharded.map(logarithm_of, [1.0, 2.0])
    sharded.map(partial(seeded, rng_scale=2.0), [1.0, 2.0], seed=0)
    sharded.grad(partial(scaled_squares, scale=2.0))(PARAMS, *chunked())
    seen = client.run_on_scheduler(lambda dask_scheduler: sorted(dask_scheduler.task_prefixes))
    assert {"squares", "sum-squares", "scaled_squares", "logarithm_of", "seeded"} <= set(seen)


def logarithm_of(x):
    return np.log(x)


def seeded(x, rng, rng_scale=1.0):
    return x * rng.normal(scale=rng_scale)


def scaled_squares(params, x, y, scale=1.0):
    return scale * squares(params, x, y)


def test_delayed_results_show_in_dasks_progress_bars(client, capsys):
    value, slope = sharded.value_and_grad(squares, reduce="mean").delayed(PARAMS, *chunked())
    futures = client.compute([value, slope["w"], slope["b"]])
    distributed.progress(futures, notebook=False)
    out = capsys.readouterr().out
    assert "100% Completed" in out
    expected = sharded.value_and_grad(squares, reduce="mean")(PARAMS, *chunked())
    found = client.gather(futures)
    assert bits((found[0], {"w": found[1], "b": found[2]})) == bits(expected)
    lazy = sharded.grad(squares).delayed(PARAMS, *chunked())
    assert_trees_close(
        {k: part.compute() for k, part in lazy.items()}, fg.grad(squares)(PARAMS, X, Y), rtol=1e-12
    )


# -- faults ----------------------------------------------------------------------------------------
def test_the_result_is_the_same_if_a_worker_is_killed(client):
    expected = sharded.value_and_grad(squares)(PARAMS, *chunked())
    x, y = chunked()
    first = min(client.run(os.getpid).values())

    def deadly(block):
        if os.getpid() == first:
            time.sleep(0.3)
            os.kill(os.getpid(), 9)
        time.sleep(0.05)
        return block

    value, slope = sharded.value_and_grad(squares)(PARAMS, x.map_blocks(deadly, dtype=float), y)
    assert value == expected[0]
    assert slope["w"].tobytes() == expected[1]["w"].tobytes()


def test_a_result_that_is_not_finite_names_the_chunk_the_node_and_the_line(client):
    with pytest.raises(FloatingPointError, match=r"chunk \d+ of 11.*") as caught:
        sharded.value_and_grad(logarithm)(PARAMS, *chunked())
    text = str(caught.value)
    assert "log(" in text
    assert "test_dask.py" in text
    assert "scaled = np.log(distance)" in text
    kept = sharded.value_and_grad(logarithm, check_finite=False)(PARAMS, *chunked())
    assert np.isnan(kept[0])


def test_a_nan_in_the_data_is_named(client):
    x, y = X.copy(), array.from_array(Y, chunks=25)
    x[57, 1] = np.nan
    with pytest.raises(FloatingPointError, match=r"chunk 2 of 5: x\[7, 1\] is nan"):
        sharded.grad(squares)(PARAMS, array.from_array(x, chunks=(25, 3)), y)


def test_a_chunk_of_another_shape_or_dtype_is_named(client):
    x, y = chunked(25)
    wrong = x.map_blocks(lambda block: block[:-1], chunks=x.chunks, dtype=float, meta=X[:0])
    with pytest.raises(TypeError, match=r"chunk \d of 4 of x: expected float64\[25, 3\]"):
        sharded.grad(squares)(PARAMS, wrong[:100], y[:100])
    pieces = [delayed(X[:50]), delayed(X[50:].astype(np.float32))]
    with pytest.raises(TypeError, match=r"chunk 1 of x to be as chunk 0, float64\[50, 3\]"):
        sharded.grad(squares)(PARAMS, pieces, [delayed(Y[:50]), delayed(Y[50:])])


def test_an_error_of_the_users_function_has_its_line(client):
    def divided(x):
        return 1 / x

    with pytest.raises(ZeroDivisionError) as caught:
        sharded.map(divided, [1, 0])
    assert "return 1 / x" in str(caught.getrepr())

    def mistaken(w, x):
        return np.sum(x @ np.ones(7) * w)

    with pytest.raises(ValueError, match="matmul") as caught:
        sharded.grad(mistaken)(1.0, chunked()[0])
    assert "x @ np.ones(7)" in str(caught.getrepr())


def test_an_error_in_the_making_of_a_chunk_has_its_line(client):
    def read(block):
        raise OSError("the disk is gone")

    x, y = chunked()
    with pytest.raises(OSError, match="the disk is gone") as caught:
        sharded.grad(squares)(PARAMS, x.map_blocks(read, dtype=float, meta=X[:0]), y)
    assert 'raise OSError("the disk is gone")' in str(caught.getrepr())


def test_another_version_on_the_workers_is_refused(client, monkeypatch):
    def sevenfold(w, x):
        return np.sum(w * x) * 7.0

    def programs():
        return client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.worker_plugins))

    before = programs()
    with monkeypatch.context() as patched:
        patched.setattr("funcgrad.version.__version__", "0.0.7")
        for _ in range(2):  # nothing is left of a program that was refused
            with pytest.raises(
                RuntimeError, match=r"expected funcgrad 0.0.7 on the worker tcp.* but got 0.1.0"
            ):
                sharded.grad(sevenfold)(1.0, array.ones(4, chunks=2))
    assert programs() == before
    assert sharded.grad(sevenfold)(1.0, array.ones(4, chunks=2)) == 28.0


def test_a_worker_of_another_version_that_comes_later_is_refused(client):
    def ninefold(w, x):
        return np.sum(w * x) * 9.0

    def changed(to):
        from funcgrad import version

        found, version.__version__ = version.__version__, to
        return found

    assert sharded.grad(ninefold)(1.0, array.ones(4, chunks=2)) == 36.0
    own = client.run(changed, "0.0.8")
    try:
        with pytest.raises(RuntimeError, match=r"expected funcgrad 0.1.0 .* but got 0.0.8"):
            sharded.grad(ninefold)(1.0, array.ones(4, chunks=2))
    finally:
        client.run(changed, min(own.values()))
    assert sharded.grad(ninefold)(1.0, array.ones(4, chunks=2)) == 36.0


def tasks_and_data(client):
    """The number of tasks that the scheduler knows, and of results that the workers keep, once it settles."""

    def held(dask_worker):
        return len(dask_worker.data) + len(dask_worker.state.tasks)

    for _ in range(100):
        tasks = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        total = tasks + sum(client.run(held).values())
        if not total:
            break
        time.sleep(0.1)
    return total


def test_nothing_is_left_on_the_cluster_after_an_error(client):
    with pytest.raises(FloatingPointError):
        sharded.grad(logarithm)(PARAMS, *chunked())
    assert tasks_and_data(client) == 0


def slow(block):
    time.sleep(0.3)
    return block


@pytest.mark.parametrize("delay", [0.02, 0.3, 1.0])
def test_an_interrupt_leaves_the_cluster_clean(client, delay):
    x, y = chunked()
    lazy = x.map_blocks(slow, dtype=float, meta=X[:0])
    calls = [
        lambda: sharded.value_and_grad(squares)(PARAMS, lazy, y),
        lambda: sharded.grad(squares)(PARAMS, list(lazy.to_delayed().ravel()), y),
        lambda: sharded.map(slow, range(20)),
    ]
    for call in calls:
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            call()
        timer.join()
        assert tasks_and_data(client) == 0
    expected = fg.grad(squares)(PARAMS, X, Y)
    assert_trees_close(sharded.grad(squares)(PARAMS, x, y), expected, rtol=1e-12)


def test_a_canceled_jacobian_leaves_the_cluster_clean(client):
    lazy = chunked()[0].map_blocks(slow, dtype=float, meta=X[:0])
    rows = sharded.jacobian(lambda w, x: x @ w)(PARAMS["w"], lazy)
    future = client.compute(rows)
    time.sleep(0.4)
    future.cancel()
    with pytest.raises(CancelledError):
        future.result()
    del rows, future
    assert tasks_and_data(client) == 0


def test_the_result_is_the_same_if_each_worker_dies_once(client):
    """All copies of the parameters may go with them."""
    x, y = chunked()
    expected = bits(sharded.value_and_grad(squares)(PARAMS, x, y))
    doomed = set(client.run(os.getpid).values())

    def deadly(block):
        time.sleep(0.1)
        if os.getpid() in doomed and time.time() > start + 0.5:
            os.kill(os.getpid(), 9)
        return block

    start = time.time()
    lazy = x.map_blocks(deadly, dtype=float, meta=X[:0])
    assert bits(sharded.value_and_grad(squares)(PARAMS, lazy, y)) == expected


def killed(client, future):
    """Kill the worker that has a future's only copy."""
    (holder,) = client.who_has(future)[future.key]
    os.kill(client.run(os.getpid)[holder], 9)


def test_futures_with_a_task_are_computed_again_if_their_worker_dies(client):
    def piece(k):
        return np.full(4, k + 1.0)

    pieces = client.map(piece, range(6), pure=False)
    gradient = sharded.grad(lambda w, x: np.sum((w * x) ** 2))
    expected = gradient(2.0, pieces)
    killed(client, pieces[3])
    assert gradient(2.0, pieces) == expected
    kept = client.persist(array.ones(8, chunks=2) * 3.0)
    assert gradient(2.0, kept) == 288.0
    killed(client, distributed.futures_of(kept)[1])
    assert gradient(2.0, kept) == 288.0


@pytest.mark.parametrize("form", ["futures", "delayed"])
def test_scattered_data_that_die_with_their_worker_are_named(client, form):
    """No task makes them again."""

    def late(piece):
        time.sleep(0.4)
        return piece

    client.wait_for_workers(2)
    pieces = client.scatter([np.full(4, k + 1.0) for k in range(6)])
    gradient = sharded.grad(lambda w, x: np.sum((w * x) ** 2))
    assert gradient(2.0, pieces) == 4 * sum(4 * (k + 1.0) ** 2 for k in range(6))
    data = pieces if form == "futures" else [delayed(late)(piece) for piece in pieces]
    timer = threading.Timer(0.0 if form == "futures" else 0.8, killed, (client, pieces[3]))
    timer.start()
    if form == "futures":
        timer.join()
    with pytest.raises(RuntimeError, match=r"expected chunk \d of x on a worker, but it is lost"):
        gradient(2.0, data)
    timer.join()
    assert gradient(2.0, [delayed(np.full(4, k + 1.0)) for k in range(6)]) == 1456.0


def test_an_error_on_a_worker_names_the_chunk_and_the_line(client):
    def loss(w, x):
        scaled = w * x
        inverse = np.linalg.inv(scaled)
        return np.sum(inverse)

    matrices = np.stack([np.eye(2), np.eye(2), np.zeros((2, 2))]).reshape(6, 2)
    with pytest.raises(
        np.linalg.LinAlgError, match=r"chunk 2 of 3: inv(.|\n)*inverse = np.linalg.inv"
    ):
        sharded.grad(loss)(2.0, array.from_array(matrices, chunks=(2, 2)))
    assert tasks_and_data(client) == 0


def test_a_worker_compiles_a_program_once_and_runs_compiled_code(client):
    def compilations(dask_worker):
        from funcgrad.control import closed_program

        plugins = [p for p in dask_worker.plugins.values() if hasattr(p, "payload")]
        programs = [p.program(dask_worker).body.program for p in plugins]
        compiled = sum([p._compiled is not None for p in programs])
        return closed_program._lowered.cache_info().misses, compiled

    gradient = sharded.grad(lambda w, x: np.sum(np.sinh(w * x)) * 5.0)
    data = array.ones(24, chunks=2)
    before = client.run(compilations)
    gradient(1.0, data)
    first = client.run(compilations)
    gradient(2.0, data)
    assert client.run(compilations) == first
    assert [first[w][1] - before[w][1] for w in before] == [1, 1]


def test_a_program_travels_once(client):
    def names():
        return client.run_on_scheduler(lambda dask_scheduler: sorted(dask_scheduler.worker_plugins))

    gradient = sharded.grad(lambda w, x: np.sum(np.cosh(w * x)))
    data = array.ones(9, chunks=3)
    gradient(1.0, data)
    once = names()
    gradient(2.0, data)
    assert names() == once


# -- errors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sharded.grad(3), TypeError, "dask.value_and_grad: expected a function"),
        (lambda: sharded.grad(squares, reduce="max"), ValueError, "'sum' or 'mean'"),
        (lambda: sharded.grad(squares)(PARAMS), TypeError, "and then data"),
        (lambda: sharded.grad(squares)(PARAMS, X, Y), TypeError, "x to be a dask array"),
        (
            lambda: sharded.grad(squares)(PARAMS, array.ones((4, 3), chunks=2), chunked()[1]),
            ValueError,
            "chunks along its first axis alone",
        ),
        (
            lambda: sharded.grad(squares)(PARAMS, chunked(10)[0], chunked(20)[1]),
            ValueError,
            "the same number of chunks",
        ),
    ],
)
def test_errors(client, call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_without_a_client():
    with pytest.raises(RuntimeError, match=r"distributed.Client\(\)"):
        sharded.grad(squares)(PARAMS, *chunked())
