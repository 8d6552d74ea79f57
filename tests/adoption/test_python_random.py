"""Draws of the standard library's ``random`` with traced parameters."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import funcgrad as fg

_X = np.array([1.7, 0.6])

_DRAWS: dict[str, Callable[[Any], Any]] = {
    "lognormvariate": lambda x: random.lognormvariate(x[0], x[1]),
    "triangular": lambda x: random.triangular(x[1], 4.0, x[0]) + random.triangular(x[1], x[0]),
    "gauss": lambda x: random.gauss(x[0], x[1]),
    "expovariate": lambda x: random.expovariate(x[0]),
    "weibullvariate": lambda x: random.weibullvariate(x[0], x[1]),
    "paretovariate": lambda x: random.paretovariate(x[0]),
}


@pytest.mark.parametrize("name", _DRAWS)
def test_draws_move_with_their_parameters(name: str) -> None:
    def f(x: Any) -> Any:
        random.seed(4)
        return sum(_DRAWS[name](x) for _ in range(8))

    h = 1e-6
    wanted = [(f(_X + h * e) - f(_X - h * e)) / (2 * h) for e in np.eye(2)]
    found, gradient = fg.value_and_grad(f)(_X)
    assert found == pytest.approx(f(_X), rel=1e-12)
    assert gradient == pytest.approx(np.array(wanted), rel=1e-6)
    v = np.array([1.0, -2.0])
    assert fg.jvp(f, (_X,), (v,))[1] == pytest.approx(gradient @ v, rel=1e-12)


@pytest.mark.parametrize("name", [*_DRAWS, "vonmisesvariate", "choices"])
def test_generators_of_their_own_draw_as_the_module(name: str) -> None:
    draws: dict[str, Callable[[Any, Any], Any]] = {
        "lognormvariate": lambda r, x: r.lognormvariate(x[0], x[1]),
        "triangular": lambda r, x: r.triangular(x[1], 4.0, x[0]) + r.triangular(x[1], x[0]),
        "gauss": lambda r, x: r.gauss(x[0], x[1]),
        "expovariate": lambda r, x: r.expovariate(x[0]),
        "weibullvariate": lambda r, x: r.weibullvariate(x[0], x[1]),
        "paretovariate": lambda r, x: r.paretovariate(x[0]),
        "vonmisesvariate": lambda r, x: r.vonmisesvariate(x[0], 2.0),
        "choices": lambda r, x: sum(r.choices([x[0], x[1], 2.0], [1, 2, 3], k=3)),
    }
    held = random.Random(4)

    def f(x: Any) -> Any:
        made = random.Random(5)
        assert isinstance(made, random.Random)
        assert type(held) is random.Random
        return sum(draws[name](held, x) * draws[name](made, x) for _ in range(4)) + made.random()

    def anew(x: Any) -> Any:
        held.seed(4)
        return f(x)

    h = 1e-6
    wanted = [(anew(_X + h * e) - anew(_X - h * e)) / (2 * h) for e in np.eye(2)]
    held.seed(4)
    values = [f(_X), f(_X)]
    held.seed(4)
    first, second = fg.value_and_grad(f)(_X), fg.value_and_grad(f)(_X)
    assert [first[0], second[0]] == pytest.approx(values, rel=1e-12)  # the state has moved
    assert first[1] == pytest.approx(np.array(wanted), rel=1e-6)


def test_classes_of_generators_are_adopted() -> None:
    class Halved(random.Random):
        def random(self) -> float:
            return 0.5 * super().random()

    def f(x: Any) -> Any:
        own = Halved(3)
        return own.lognormvariate(x, 0.1) + own.uniform(0, x) + own.gauss(0, x)

    assert fg.value_and_grad(f)(0.4)[0] == pytest.approx(f(0.4), rel=1e-12)


def test_choices_by_traced_weights_are_refused() -> None:
    refused: list[Callable[[Any], Any]] = [
        lambda x: random.choices([1.0, x], weights=[x, 2.0])[0],
        lambda x: random.Random(2).choices([1.0, x], weights=[x, 2.0])[0],
        lambda x: random.vonmisesvariate(0.0, x),
    ]
    for chosen in refused:
        with pytest.raises(TypeError, match="no pathwise derivative; differentiate the logarithm"):
            fg.grad(chosen)(0.5)
    stopped = lambda x: random.choices([x, 2 * x], [1.0, fg.stop_gradient(0 * x)])[0]  # noqa: E731
    assert fg.grad(stopped)(0.5) == 1.0


@pytest.mark.parametrize("name", ["gammavariate", "betavariate"])
def test_draws_move_along_their_quantiles(name: str) -> None:
    def draw(x: Any) -> Any:
        random.seed(4)
        return (
            random.gammavariate(x[0], x[1])
            if name == "gammavariate"
            else random.betavariate(x[0], x[1])
        )

    def distribution(x: Any) -> Any:
        return stats.gamma(x[0], scale=x[1]) if name == "gammavariate" else stats.beta(x[0], x[1])

    value, h = draw(_X), 1e-6
    part = distribution(_X).cdf(value)
    wanted = [
        (distribution(_X + h * e).ppf(part) - distribution(_X - h * e).ppf(part)) / (2 * h)
        for e in np.eye(2)
    ]
    found, gradient = fg.value_and_grad(draw)(_X)
    assert found == pytest.approx(value, rel=1e-12)
    assert gradient == pytest.approx(np.array(wanted), rel=1e-5)


def test_other_draws_are_pythons() -> None:
    def drawn(x: Any) -> Any:
        random.seed(3)
        return x * random.random() + random.randint(1, 6) * random.choice([1.0, x])

    assert fg.adopt(drawn)(2.0) == drawn(2.0)
    assert fg.value_and_grad(drawn)(2.0)[0] == drawn(2.0)
