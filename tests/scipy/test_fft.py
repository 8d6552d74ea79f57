"""scipy.fft of traced values: SciPy's own values, and derivatives of linear functions, in both modes."""

import functools
import itertools

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack
import toolz

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

REAL = np.cos(np.arange(60.0) ** 2).reshape(3, 4, 5)
COMPLEX = REAL + 1j * np.sin(np.arange(60.0)).reshape(3, 4, 5)
NORMS = (None, "backward", "ortho", "forward")


def check(name, x, *args, rtol=1e-12, module=scipy.fft, **options):
    """A linear function: it is its own derivative, and reverse mode is the transpose of forward mode."""

    def f(v):
        return getattr(module, name)(v, *args, **options)

    expected = f(x)
    value, tangent = fg.jvp(f, (x,), (x,))
    assert value.dtype == expected.dtype
    np.testing.assert_allclose(value, expected, rtol, atol=rtol * np.abs(expected).max())
    np.testing.assert_allclose(tangent, expected, rtol, atol=rtol * np.abs(expected).max())
    np.testing.assert_allclose(fg.jit(f)(x), value, rtol, atol=rtol * np.abs(expected).max())

    def loss(t):
        return np.sum(np.abs(f(t * x + x**2)) ** 2)

    h = 1e-3  # the loss is a polynomial of degree 2
    if x.dtype == float:
        np.testing.assert_allclose(
            fg.grad(loss)(0.7), (loss(0.7 + h) - loss(0.7 - h)) / (2 * h), 1e-9
        )


VALUES = {"f8": REAL, "c16": COMPLEX, "f4": REAL.astype(np.float32)}
TRANSFORMS = ["dct", "idct", "dst", "idst"]


@pytest.mark.parametrize(
    ("part", "dtype", "name"), one_in(12, itertools.product(range(3), VALUES, TRANSFORMS))
)
def test_cosine_and_sine_transforms(name, dtype, part):
    """A part has each type with each norm, and each type and each norm with all options."""
    x = VALUES[dtype]
    rtol = 2e-5 if x.dtype == np.float32 else 1e-12
    for type, place in itertools.product((1, 2, 3, 4), range(len(NORMS))):
        ortho, n = ((None, None), (True, 7), (False, 3))[(type + place + part) % 3]
        check(name, x, type, n, norm=NORMS[place], orthogonalize=ortho, rtol=rtol)
    check(name, x, axis=0, workers=1, rtol=rtol)


@pytest.mark.parametrize("name", one_in(2, ["dctn", "idctn", "dstn", "idstn"]))
def test_cosine_and_sine_transforms_along_several_axes(name):
    for options in ({}, {"axes": 1}, {"s": (6, 2), "axes": (0, 2)}, {"type": 3, "norm": "ortho"}):
        check(name, REAL, **options)


@pytest.mark.parametrize("name", one_in(4, ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]))
def test_fourier_transforms_along_an_axis(name):
    for norm, options in itertools.product(NORMS, ({}, {"n": 7}, {"n": 3, "axis": 1})):
        check(name, REAL, norm=norm, workers=1, **options)


@pytest.mark.parametrize(
    ("end", "start"),
    one_in(3, itertools.product(["2", "n"], ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])),
)
def test_fourier_transforms_along_several_axes(start, end):
    for options in ({}, {"s": (4, 4), "axes": (0, 1)}, {"axes": (2, 0), "norm": "forward"}):
        check(start + end, REAL, **options)


@pytest.mark.parametrize("module", [np.fft, scipy.fft])
@pytest.mark.parametrize("name", ["irfft2", "irfftn", "rfftn", "fft2", "ifftn"])
def test_a_size_of_minus_one_is_the_length_of_the_axis(module, name):
    # The default of transforms to real values is another size: 2 (n - 1).
    x = REAL if name == "rfftn" else COMPLEX
    check(name, x, s=(4, -1), axes=(0, 1), module=module)
    check(name, x, s=(-1, 6), axes=(2, 0), module=module)


def test_one_point_and_lists():
    for name, type in itertools.product(("dct", "dst"), (2, 3, 4)):
        check(name, np.array([0.7]), type)
    assert fg.grad(lambda x: scipy.fft.dct([x, 2.0])[0])(1.0) == 2.0
    assert fg.grad(lambda x: scipy.fft.fftshift([x, 2.0 * x])[0])(1.0) == 2.0
    assert fg.grad(lambda x: scipy.fft.ifftshift(np.stack([x, x * x]))[0])(3.0) == 6.0


def test_what_scipy_refuses_is_refused():
    with pytest.raises(ValueError, match="dct: expected a type from 1 to 4"):
        fg.grad(lambda x: scipy.fft.dct([x, x], type=5)[0])(1.0)
    with pytest.raises(ValueError, match="dct: expected more points along axis -1, but got 1"):
        fg.grad(lambda x: scipy.fft.dct([x], type=1)[0])(1.0)
    for name in ("fftn", "dctn", "hfft2"):
        f = getattr(scipy.fft, name)
        with pytest.raises(ValueError, match=f"{name}: expected each axis once"):
            fg.grad(lambda x, f=f: abs(f(x * REAL, axes=(1, -2))[0, 0, 0]))(1.0)


@pytest.mark.parametrize("name", ["fft", "rfft2", "dct"])
def test_a_transform_takes_a_function_of_scipy_fft_itself(name):
    function, x = getattr(scipy.fft, name), REAL[0]
    np.testing.assert_allclose(fg.jit(function)(x), function(x), 1e-12)
    np.testing.assert_allclose(fg.jvp(function, (x,), (2 * x,))[1], 2 * function(x), 1e-12)
    np.testing.assert_allclose(fg.vmap(function)(REAL), [function(row) for row in REAL], 1e-12)
    first = functools.partial(function, norm="ortho")
    np.testing.assert_allclose(fg.jit(first)(x), first(x), 1e-12)
    np.testing.assert_allclose(fg.jit(toolz.compose(np.abs, first))(x), np.abs(first(x)), 1e-12)


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_hankel_transforms(name):
    for n, bias in itertools.product((1, 4, 5), (0.0, -0.3)):
        check(name, REAL[..., :n], 0.1, 0.5, 0.2, bias=bias)
    check(name, REAL[0].astype(np.float32), 0.1, 0.5, rtol=1e-5)


@pytest.mark.parametrize("name", ["fht", "ifht"])
@pytest.mark.parametrize("n", [1, 4, 5])
def test_hankel_transforms_in_their_parameters(name, n):
    def transform(given):
        return getattr(scipy.fft, name)(REAL[0, 0, :n], *[given[k] for k in range(4)])

    check_function(transform, [0.8, 0.5, 0.2, -0.3], value_rtol=1e-13, hessian=n == 4)


@pytest.mark.filterwarnings("ignore:singular:UserWarning")
@pytest.mark.parametrize("bias", [1.5, -1.5])
def test_hankel_transforms_at_poles_are_scipys(bias):
    for name in ("fht", "ifht"):
        f = lambda t, name=name: getattr(scipy.fft, name)(REAL[0, 0], 0.1, 0.5, bias=t)  # noqa: E731
        np.testing.assert_allclose(fg.jvp(f, (bias,), (1.0,))[0], f(bias), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "name", one_in(3, ["rfft", "irfft", "fft", "ifft", "dct", "idct", "dst", "idst"])
)
def test_transforms_of_fftpack_along_an_axis(name):
    for n, axis in itertools.product((None, 2, 3, 6, 7), (0, -1)):
        check(name, REAL, n=n, axis=axis, module=scipy.fftpack)
    check(name, REAL.astype(np.float32), rtol=1e-5, module=scipy.fftpack)
    if "ct" in name or "st" in name:
        for kind, norm in itertools.product((1, 2, 3), (None, "ortho")):
            check(name, REAL, kind, norm=norm, module=scipy.fftpack)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "fft2", "dctn", "idctn", "dstn", "idstn"])
def test_transforms_of_fftpack_along_several_axes(name):
    check(name, REAL, shape=(3, 7), axes=(0, 2), module=scipy.fftpack)


OPERATORS = {
    **{"diff": (), "hilbert": (), "ihilbert": (), "tilbert": (0.4,), "itilbert": (0.4, 2.0)},
    **dict.fromkeys(("cc_diff", "cs_diff", "sc_diff", "ss_diff"), (0.4, 0.3)),
    "shift": (0.3, 3.0),
}


@pytest.mark.parametrize("name", one_in(3, OPERATORS))
def test_pseudo_differential_operators(name):
    for n in (1, 2, 5, 8):
        check(name, REAL[0, 0, :1].repeat(n) * np.arange(n), *OPERATORS[name], module=scipy.fftpack)
        check(name, COMPLEX[:, 0, 0], *OPERATORS[name], module=scipy.fftpack)
    with pytest.raises(TypeError, match="shift: expected plain parameters"):
        fg.grad(lambda t: scipy.fftpack.shift(REAL[0, 0], t)[0])(0.1)


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
def test_derivatives_of_cosine_and_sine_transforms_are_their_matrices(name):
    own, ours = getattr(scipy.fft, name), getattr(fg.scipy.fft, name)
    x, move = np.random.default_rng(0).normal(size=(2, 3, 7))
    for type in (1, 2, 3, 4):
        for norm, ortho in (("ortho", None), ("forward", True), (None, False)):
            how = {"type": type, "norm": norm, "orthogonalize": ortho, "axis": 1}
            matrix = own(np.eye(7), **how).T
            f = lambda x, how=how: ours(x, **how)  # noqa: E731
            np.testing.assert_allclose(fg.jit(f)(x), own(x, **how), rtol=1e-14, atol=1e-15)
            np.testing.assert_allclose(fg.jvp(f, (x,), (move,))[1], move @ matrix.T, atol=1e-13)
            slope = fg.grad(lambda x, f=f: np.sum(move * f(x)))
            np.testing.assert_allclose(slope(x), move @ matrix, atol=1e-13)
            np.testing.assert_allclose(fg.vmap(slope)(np.stack([x, x]))[1], slope(x), atol=1e-14)
            back = fg.grad(lambda x, f=f: np.sum(f(x) ** 3))
            np.testing.assert_allclose(
                fg.jvp(back, (x,), (move,))[1],
                6 * (x @ matrix.T * (move @ matrix.T)) @ matrix,
                rtol=1e-10,
                atol=1e-10,
            )
    assert fg.jit(ours)(x.astype(np.float32)).dtype == np.float32
