"""The example and the benchmark of data on disk, on little data."""

import numpy as np
import pytest

import funcgrad as fg

pytestmark = [pytest.mark.dask, pytest.mark.slow, pytest.mark.filterwarnings("default")]


# These imports take seconds, and the tests are seldom selected.
@pytest.fixture
def example():
    for name in ("distributed", "zarr", "scipy", "sklearn", "matplotlib"):
        pytest.importorskip(name)
    return pytest.importorskip("examples.out_of_core")


@pytest.fixture
def benchmark_module(example):
    return pytest.importorskip("benchmarks.out_of_core")


def test_the_fit_is_near_that_of_scikit_learn_on_a_tenth(example, tmp_path, capsys):
    picture = tmp_path / "fit.png"
    away = example.main(str(picture), rows=40_000, chunk=3_000, folder=str(tmp_path))
    assert 0.5 < away < 1.5
    assert picture.stat().st_size > 10_000
    assert "CONVERGENCE" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [picture]


def test_the_data_are_the_same_for_every_number_of_workers(example, tmp_path):
    distributed = pytest.importorskip("distributed")
    found = []
    for count in (1, 3):
        (tmp_path / str(count)).mkdir()
        with (
            distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, processes=False, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            x, y = example.generate(client, str(tmp_path / str(count)), 1_000, 300)
            found.append((x.compute().tobytes(), y.compute().tobytes()))
    assert found[0] == found[1]
    assert 0.2 < np.mean(np.frombuffer(found[0][1], np.float32)) < 0.6


def test_the_gradient_by_hand_is_that_of_the_loss(example, benchmark_module):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, example.COLUMNS)).astype(np.float32)
    y = rng.integers(0, 2, 50).astype(np.float32)
    w = rng.normal(size=example.COLUMNS + 1)
    value, slope = fg.value_and_grad(example.loss)(w, x, y)
    other, other_slope = benchmark_module.by_hand(w, x, y)
    assert value == pytest.approx(other, rel=1e-6)
    np.testing.assert_allclose(slope, other_slope, rtol=1e-4, atol=1e-4)


def test_the_benchmark_prints_all_figures(benchmark_module, tmp_path, capsys):
    picture = tmp_path / "model.svg"
    found = benchmark_module.main(
        rows=4_000,
        chunk=500,
        rounds=1,
        picture=str(picture),
        folder=str(tmp_path),
        tasks=20,
        torch=False,
    )
    assert all(np.isfinite(list(found.values())))
    assert picture.stat().st_size > 10_000
    assert "scaling to 2 workers" in capsys.readouterr().out


def test_the_model_of_costs(benchmark_module):
    costs = benchmark_module.Costs(call=0.1, chunk=0.05, task=0.0005, hop=0.002, byte=1e-9)
    one, two = (benchmark_module.total(costs, 80, n) for n in (1, 2))
    assert one == pytest.approx(0.1 + 80 * 0.05 + 3 * 0.002, rel=1e-3)
    assert 1.9 < one / two < 2
    many = benchmark_module.predicted(costs, 400_000, 10_000)
    assert many["scheduler"] > many["chunks"]
    assert many["chunks"] == pytest.approx(40 * 0.05)
