"""`numpy.linalg.svd` with the vectors beside the singular ones, as it gives them by default."""

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from tests.default_slice import one_in

RNG = np.random.default_rng(1)
TALL, WIDE = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 5))
HIGHER, BROADER = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 4))
B, b = RNG.normal(size=(5, 5)), RNG.normal(size=5)
svd, qr = np.linalg.svd, np.linalg.qr


def complex_of(a):
    return a + 1j * RNG.normal(size=a.shape)


def rebuilt(a):
    u, s, vh = svd(a)
    k = s.shape[-1]
    return np.sum(((u[:, :k] * np.sqrt(s)) @ vh[:k] * B[: len(u), : len(vh)]).real)


def projector(n):
    return np.sum((n @ n.conj().T * B).real)


USED = {
    "a normal of points": (lambda a: (svd(a - a.mean(0))[2][-1] @ b[:3]) ** 2, TALL),
    "values": (lambda a: svd(a)[1] @ np.arange(3.0), TALL),
    "complex values": (lambda a: svd(a)[1] @ np.arange(3.0), complex_of(TALL)),
    "left vectors": (lambda a: b @ svd(a)[0][:, :3] ** 2 @ b[:3], TALL),
    "right vectors": (lambda a: b @ svd(a)[2].T[:, :3] ** 2 @ b[:3], WIDE),
    "a product": (rebuilt, TALL),
    "a product of a wide matrix": (rebuilt, WIDE),
    "one left vector": (lambda a: (svd(a)[0][:, -1] @ np.arange(4)) ** 2, HIGHER),
    "one right vector": (lambda a: (svd(a)[2][-1] @ b[:4]) ** 2, BROADER),
    "one column by qr": (lambda a: (qr(a, "complete")[0][:, -1] @ np.arange(4)) ** 2, HIGHER),
    "columns by qr": (lambda a: b @ qr(a, "complete")[0][:, :3] @ b[:3], TALL),
    "one of each of a stack": (
        lambda a: np.sum((svd(a)[2][..., -1, :] @ b[:4]) ** 2),
        RNG.normal(size=(2, 3, 4)),
    ),
}
OF_SEVERAL = {
    "a projector": (lambda a: projector(svd(a)[0][:, 3:]), TALL),
    "a projector on the right": (lambda a: projector(svd(a)[2].T[:, 3:]), WIDE),
    "a complex projector": (lambda a: projector(svd(a)[0][:, 3:]), complex_of(TALL)),
    "a projector by qr": (lambda a: projector(qr(a, "complete")[0][:, 3:]), TALL),
    "a complex projector by qr": (
        lambda a: projector(qr(a, "complete").Q[:, 3:]),
        complex_of(TALL),
    ),
    "a length by qr": (lambda a: np.sum((qr(a, "complete")[0][:, 3:].T @ b) ** 2), TALL),
    "a length": (lambda a: np.sum((svd(a)[0][:, 3:].T @ b) ** 2), TALL),
    "all vectors": (
        lambda a: np.sum(svd(a)[0] @ np.eye(5, 3) @ np.diag(svd(a)[1]) @ svd(a)[2] * B[:, :3]),
        TALL,
    ),
}


def along(f, a):
    rng = np.random.default_rng(2)
    d, e = rng.normal(size=(2, *a.shape))
    d = d + 1j * e if a.dtype.kind == "c" else d
    return lambda t, s: f(a + t * d + s * e)


def slope(f):
    """By differences, to fourth order."""
    h = 1e-3
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


@pytest.mark.parametrize("name", one_in(3, USED | OF_SEVERAL))
def test_reverse_mode(name):
    f, a = (USED | OF_SEVERAL)[name]
    g = along(f, a)
    first = slope(lambda t: g(t, 0.0))
    second = slope(lambda s: fg.grad(g)(0.0, s))
    by_t = lambda t, s: fg.grad(g)(t, s)  # noqa: E731
    assert fg.value_and_grad(g)(0.0, 0.0) == pytest.approx((f(a), first), rel=1e-7, abs=1e-8)
    assert fg.jit(by_t)(0.0, 0.0) == pytest.approx(first, rel=1e-7, abs=1e-8)
    assert fg.vmap(by_t)(np.zeros(2), np.zeros(2)) == pytest.approx(first, rel=1e-7, abs=1e-8)
    assert fg.grad(by_t, 1)(0.0, 0.0) == pytest.approx(second, rel=1e-7, abs=1e-8)


PROJECTORS = {name: OF_SEVERAL[name] for name in OF_SEVERAL if "projector" in name}


@pytest.mark.parametrize("name", [*one_in(3, USED, start=1), *PROJECTORS])
def test_forward_mode(name):
    f, a = (USED | PROJECTORS)[name]
    g = along(f, a)
    first = slope(lambda t: g(t, 0.0))
    second = slope(lambda s: fg.grad(g)(0.0, s))
    assert fg.jacfwd(g)(0.0, 0.0) == pytest.approx(first, rel=1e-7, abs=1e-8)
    for outer, inner in ((fg.jacfwd, fg.grad), (fg.grad, fg.jacfwd), (fg.jacfwd, fg.jacfwd)):
        assert outer(inner(g), 1)(0.0, 0.0) == pytest.approx(second, rel=1e-7, abs=1e-8)


SEVERAL_LEFT, SEVERAL_RIGHT = (lambda a: svd(a)[0][0, 4], TALL), (lambda a: svd(a)[2][4, 0], WIDE)
PHASE = (lambda a: svd(a)[0][0, 3].real, complex_of(HIGHER))


@pytest.mark.parametrize(("f", "a"), [SEVERAL_LEFT, SEVERAL_RIGHT, PHASE])
def test_what_depends_on_the_choice_of_vectors_is_an_error(f, a):
    for gradient in (fg.grad(f), fg.jit(fg.grad(f))):
        with pytest.raises(ValueError, match="or the projector eye"):
            gradient(a)
    assert np.isnan(along(lambda a: fg.jvp(f, (a,), (a + 1,))[1], a)(0.0, 0.0))


def test_vectors_of_a_rank_below_the_full_one_are_nan():
    a = np.outer(np.arange(4.0), np.ones(3))
    assert np.isnan(fg.grad(lambda a: svd(a)[0][0, 3])(a)).all()


def test_values_are_numpys_and_scipys_is_the_same():
    for a in (TALL, WIDE, complex_of(HIGHER)):
        traced = fg.jit(lambda a: tuple(svd(a)))(a)
        for x, y in zip(traced, svd(a), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-14)
    found = fg.grad(lambda a: (scipy.linalg.svd(a)[2][-1] @ b[:4]) ** 2)(BROADER)
    np.testing.assert_allclose(found, fg.grad(USED["one right vector"][0])(BROADER), rtol=1e-12)
