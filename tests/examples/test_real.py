"""The examples on real data learn, and draw."""

import numpy as np
import pytest

import funcgrad as fg
from examples import digits, logistic

pytest.importorskip("sklearn")


def test_digits_learns_quickly_and_purely(tmp_path):
    train, test, train_labels, test_labels = digits.data()
    states = digits.train(train[:600], train_labels[:600], steps=120, hidden=32)
    assert states[0].step == 0
    assert np.isnan(states[0].loss)
    assert states[-1].loss < 0.5 < states[1].loss
    assert digits.accuracy(states[-1].params, test, test_labels) > 0.85
    digits.draw(states, test, test_labels, tmp_path / "digits.png")
    assert (tmp_path / "digits.png").stat().st_size > 10_000


@pytest.mark.slow
def test_digits_reaches_97_percent(tmp_path):
    assert digits.main(str(tmp_path / "digits.png"), progress=False) >= 0.97


def test_the_gradient_of_the_digits_loss():
    train, _, labels, _ = digits.data()
    state = digits.initial(5)
    fg.check_grads(lambda p: digits.loss(p, train[:7], labels[:7]), (state.params,), order=1)


def test_logistic_finds_the_minimum(tmp_path):
    train, test, train_labels, test_labels, _ = logistic.data()
    result = logistic.fit(train, train_labels)
    assert result.success
    slope = fg.grad(logistic.loss)(result.x, train, train_labels)
    assert np.max(np.abs(slope)) < 1e-4
    assert logistic.accuracy(result.x, test, test_labels) > 0.95
    assert logistic.main(str(tmp_path / "weights.png")) > 0.95
    assert (tmp_path / "weights.png").stat().st_size > 10_000
