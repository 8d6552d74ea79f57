"""modf, frexp, ldexp, spacing, nextafter, heaviside: NumPy's values at all kinds of numbers, and slopes."""

import numpy as np
import pytest

import funcgrad as fg

SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.5,
        -2.5,
        1e300,
        -1e-300,
        5e-324,
        2.2e-308,
        np.inf,
        -np.inf,
        np.nan,
        0.5,
        -0.25,
        7.999999999999999,
    ]
)
CALLS = {
    "modf": lambda x: np.modf(x),
    "frexp": lambda x: np.frexp(x),
    "ldexp": lambda x: np.ldexp(x, 3),
    "ldexp far down": lambda x: np.ldexp(x, -1073),
    "ldexp far up": lambda x: np.ldexp(x, [2000]),
    "spacing": lambda x: np.spacing(x),
    "nextafter 1": lambda x: np.nextafter(x, 1.0),
    "nextafter -0": lambda x: np.nextafter(x, -0.0),
    "nextafter": lambda x: np.nextafter(x[:, None], [*x, 3, -3]),
    "heaviside": lambda x: np.heaviside(x, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [float, np.float32, int])
@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(name, dtype):
    f = CALLS[name]
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype) if dtype is not int else np.arange(-3, 4)
        expected = f(x)
        made = fg.jit(f)(x)
    for one, other in zip(
        *[v if isinstance(v, tuple) else (v,) for v in (made, expected)], strict=True
    ):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.mark.filterwarnings("ignore:.*by steps alone")
def test_derivatives():
    x = np.array([0.3, -2.5, 4.0])
    assert fg.grad(lambda x: np.modf(x)[0].sum())(x).tolist() == [1.0, 1.0, 1.0]
    assert fg.grad(lambda x: np.frexp(x)[0].sum())(x).tolist() == [2.0, 0.25, 0.125]
    assert fg.grad(lambda x: np.ldexp(x, [1, 2, -1]).sum())(x).tolist() == [2.0, 4.0, 0.5]
    assert fg.grad(lambda h: np.heaviside(np.array([-1.0, 0.0, 1.0]), h).sum())(0.5) == 1.0
    assert fg.jvp(lambda x: np.frexp(x)[0], (x,), (np.ones(3),))[1].tolist() == [2.0, 0.25, 0.125]
    assert fg.grad(lambda x: np.nextafter(x, 9).sum())(x).tolist() == [1.0, 1.0, 1.0]
    assert fg.grad(lambda y: np.nextafter(x, y).sum())(x + 1).tolist() == [0.0, 0.0, 0.0]
    mapped = fg.vmap(lambda x: np.frexp(x))(x)
    np.testing.assert_array_equal(mapped[0], np.frexp(x)[0])
    np.testing.assert_array_equal(mapped[1], np.frexp(x)[1])
