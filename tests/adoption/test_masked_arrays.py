"""`numpy.ma` with traced values: the values are NumPy's own, the derivatives those of differences."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.stats import mstats

import funcgrad as fg
from tests.adoption import masked_programs
from tests.adoption.masked_programs import EXPRESSIONS, MASK, STEPS, STORES, X, masked
from tests.default_slice import examples, one_in

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:the output does not depend"),
    pytest.mark.filterwarnings("ignore:Warning. 'partition' will ignore"),
    pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning"),
]
ALONG = np.sin(np.arange(12.0))
H = 1e-6


def function(text):
    """An expression, or a store, as a function of x; its globals are those of `masked_programs`."""
    if text not in STORES:
        return eval(f"lambda x: {text}", vars(masked_programs))
    lines = text if text.startswith("for ") else "\n    ".join(text.split("; "))
    space = {}
    exec(
        f"def f(x):\n    a = masked(x * 1.0)\n    {lines}\n    return a",
        vars(masked_programs),
        space,
    )
    return space["f"]


def parts(result):
    """The arrays, masked arrays, and masked numbers of a result."""
    if isinstance(result, list | tuple):
        return [part for item in result for part in parts(item)]
    return [result]


def assert_same(found, numpys, **tolerances):
    found, numpys = parts(found), parts(numpys)
    assert len(found) == len(numpys)
    for own, theirs in zip(found, numpys, strict=True):
        if theirs is np.ma.masked:
            assert own is np.ma.masked
            continue
        assert isinstance(own, np.ma.MaskedArray) == isinstance(theirs, np.ma.MaskedArray)
        assert np.asarray(own).dtype == np.asarray(theirs).dtype
        np.testing.assert_array_equal(np.ma.getmaskarray(own), np.ma.getmaskarray(theirs))
        np.testing.assert_allclose(np.asarray(own), np.asarray(theirs), rtol=1e-12, atol=1e-14)
        if isinstance(theirs, np.ma.MaskedArray):
            assert own.fill_value == theirs.fill_value


def scalar(f):
    """A function whose value weighs all entries that are not masked."""

    def weighed(x):
        total = 0.0
        for part in parts(f(x)):
            entries = np.ma.filled(part, 0.0) * 1.0
            total = total + np.sum(
                np.cos(np.arange(np.size(entries))).reshape(np.shape(entries)) * entries
            )
        return total

    return weighed


def differences(f, x):
    return np.stack(
        [(np.asarray(f(x + H * e)) - np.asarray(f(x - H * e))) / (2 * H) for e in np.eye(len(x))],
        -1,
    )


@pytest.mark.parametrize("text", one_in(7, [*EXPRESSIONS, *STORES, *STEPS]))
def test_values_under_jit(text):
    f = function(text)
    assert_same(fg.jit(f)(X.copy()), f(X.copy()))


@pytest.mark.parametrize("text", one_in(8, [*EXPRESSIONS, *STORES]))
def test_first_derivatives(text):
    f = scalar(function(text))
    expected = differences(f, X)
    size = max(1.0, abs(expected).max())
    for found in (fg.grad(f)(X.copy()), fg.jit(fg.grad(f))(X.copy())):
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6 * size)
    slope = fg.jvp(f, (X.copy(),), (ALONG,))[1]
    np.testing.assert_allclose(slope, expected @ ALONG, rtol=2e-6, atol=2e-6 * size)


@pytest.mark.parametrize("text", one_in(32, [*EXPRESSIONS, *STORES]))
def test_second_derivatives_and_maps(text):
    f = scalar(function(text))
    expected = differences(fg.grad(f), X)
    np.testing.assert_allclose(
        fg.hessian(f)(X.copy()), expected, rtol=1e-5, atol=1e-5 * max(1.0, abs(expected).max())
    )
    batch = np.stack([X, X + 0.01])
    np.testing.assert_allclose(fg.vmap(f)(batch), [f(X), f(X + 0.01)], rtol=1e-12)
    slopes = np.stack([fg.grad(f)(X), fg.grad(f)(X + 0.01)])
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(batch), slopes, rtol=1e-12, atol=1e-13)


# -- random programs -------------------------------------------------------------------------------
UNARY = (
    "np.ma.log({a})",
    "np.ma.sqrt({a})",
    "np.ma.exp(-{a})",
    "np.sin({a})",
    "-{a}",
    "abs({a})",
    "{a}**2",
)
UNARY += (
    "{a}[::-1]",
    "{a}.copy()",
    "{a} - {a}.mean()",
    "{a} / {a}.std()",
    "np.ma.cumsum({a})",
    "1 / {a}",
)
UNARY += (
    "np.ma.masked_less({a}, -0.4)",
    "np.ma.masked_greater({a}, 0.9)",
    "np.ma.masked_inside({a}, 0.1, 0.3)",
)
UNARY += (
    "np.ma.masked_invalid({a})",
    "np.ma.array({a}, mask=MASK.copy())",
    "{a}.filled(0.3)",
    "np.ma.sort({a})",
)
UNARY += (
    "np.ma.where({a} > 0.2, {a}, x)",
    "np.ma.array({a}.data)",
    "np.ma.clip({a}, -0.7, 1.2)",
    "np.ma.asarray({a})",
)
BINARY = (
    "{a} + {b}",
    "{a} * {b}",
    "{a} / {b}",
    "{b} - x",
    "np.ma.maximum({a}, {b})",
    "x * {a}",
    "np.hypot({a}, {b})",
)
BINARY += (
    "np.ma.where(np.ma.getmaskarray({a}), {b}, {a})",
    "np.ma.array({a}, mask=np.ma.getmaskarray({b}))",
)
STATEMENTS = (
    "{a}[2] = np.ma.masked",
    "{a}[x > 0.6] = x[1]",
    "{a}[:3] = {b}[3:]",
    "{a} += {b}",
    "{a} *= 0.7",
)
STATEMENTS += (
    "{a}.harden_mask()",
    "{a}[:] = {b}",
    "{a}.soften_mask()",
    "{a}[{a} > 1.5] = np.ma.masked",
)
RESULTS = (
    "{a}.sum()",
    "{a}.mean()",
    "{a}.var()",
    "{a}.max()",
    "np.ma.average({a}, weights=x**2)",
    "{a}.filled(0.1).sum()",
)
RESULTS += (
    "np.ma.median({a})",
    "{a}.compressed().sum()",
    "np.sum({a} * x)",
    "{a}.count() * x[0]",
    "{a}.ptp()",
)


@st.composite
def sources(draw):
    """A function of six numbers that makes masked arrays, stores into them, and reduces one."""
    lines, names = ["a0 = np.ma.array(x * 1.0)", "a1 = np.ma.masked_less(x, 0.2)"], 2
    for _ in range(draw(st.integers(2, 7))):
        named = {key: f"a{draw(st.integers(0, names - 1))}" for key in "ab"}
        kind = draw(st.sampled_from((UNARY, UNARY, BINARY, STATEMENTS)))
        text = draw(st.sampled_from(kind)).format(**named)
        if kind is STATEMENTS:
            lines.append(text)
        else:
            lines.append(f"a{names} = np.ma.array({text})")
            names += 1
    result = draw(st.sampled_from(RESULTS)).format(a=f"a{draw(st.integers(0, names - 1))}")
    return "\n    ".join(["def f(x):", *lines, f"return np.ma.filled({result}, -3.0) * 1.0", ""])


@settings(max_examples=examples(120), suppress_health_check=list(HealthCheck))
@given(sources(), st.integers(0, 1000))
def test_random_programs(source, seed):
    space = {"np": np, "MASK": MASK[:6]}
    exec(source, space)
    f, x = space["f"], np.random.default_rng(seed).normal(0.5, 0.8, 6)
    value = f(x.copy())
    assume(np.all(np.isfinite(value)) and abs(value) < 1e3)
    for own in (fg.jit(f), fg.adopt(f)):
        np.testing.assert_allclose(own(x.copy()), value, rtol=1e-9, atol=1e-11, err_msg=source)
    g = fg.grad(f)
    slope = g(x.copy())
    np.testing.assert_allclose(fg.jit(g)(x.copy()), slope, rtol=1e-9, atol=1e-11, err_msg=source)
    assume(
        np.all(np.isfinite(slope))
    )  # a root of x - x, which is 0 for all x, has an infinite factor
    np.testing.assert_allclose(
        fg.jvp(f, (x.copy(),), (ALONG[:6],))[1],
        slope @ ALONG[:6],
        rtol=1e-8,
        atol=1e-9,
        err_msg=source,
    )
    near, far = slopes(f, x, 1e-6), slopes(f, x, 2e-6)
    if np.allclose(near, far, rtol=1e-4, atol=1e-5) and abs(near).max() < 1e4:  # no kink between
        np.testing.assert_allclose(slope, near, rtol=1e-4, atol=1e-4, err_msg=source)


def slopes(f, x, h):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


# -- results, arguments and captured arrays ----------------------------------------------------------
def test_results_are_numpys_masked_arrays():
    def f(x):
        return np.ma.masked_less(x, 0), [np.ma.array(x), np.ma.masked_less(x, 99).sum()]

    for found in (fg.jit(f)(X), fg.adopt(f)(X)):
        assert type(found[0]) is type(found[1][0]) is np.ma.MaskedArray
        assert found[1][0].mask is np.ma.nomask
        assert found[1][1] is np.ma.masked
        assert_same(found, f(X))
    mapped = fg.vmap(lambda x: np.ma.masked_less(x, 0))(np.stack([X, abs(X)]))
    assert_same(mapped, np.ma.masked_less(np.stack([X, abs(X)]), 0))


def test_masked_arrays_as_arguments():
    array = masked(X)

    def f(a):
        return (a**2).sum() * np.ma.count(a)

    slope = fg.grad(f)(array)
    assert_same(slope, np.ma.array(np.where(MASK, 0.0, 2 * X * 9), mask=MASK))
    assert fg.jit(f)(array) == pytest.approx(f(array))
    np.testing.assert_allclose(fg.grad(lambda x, a: (x * a).sum())(X, array), np.where(MASK, 0, X))
    rows = np.ma.array(np.stack([X, 2 * X]), mask=[MASK, ~MASK])
    np.testing.assert_allclose(fg.vmap(lambda a: a.sum())(rows), rows.sum(axis=1))
    assert_same(fg.jit(lambda a: a * 2)(array), array * 2)


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: fg.jvp(f, (X,), (X,)),
        lambda f: fg.jacobian(f)(X),
        lambda f: fg.vjp(f, X),
        lambda f: fg.linearize(f, X),
        lambda f: fg.taylor(f, X, 2),
        lambda f: fg.grad(f)(X),
    ],
)
def test_derivatives_of_masked_results_are_refused(transformed):
    with pytest.raises(TypeError, match=r"but got a masked array; return a.filled\(0.0\)"):
        transformed(lambda x: [np.ma.masked_less(x, 0)][0])
    with pytest.raises(TypeError, match="all entries that make it are masked"):
        transformed(lambda x: np.ma.masked_less(x, 99).sum())


def test_a_number_that_some_examples_mask_is_refused_by_vmap():
    def f(x):
        return np.ma.masked_less(x, 0).sum()

    with pytest.raises(TypeError, match=r"np.ma.filled\(y, np.nan\)"):
        fg.vmap(f)(np.stack([X, -abs(X)]))
    found = fg.vmap(lambda x: np.ma.filled(f(x), np.nan))(np.stack([X, -abs(X)]))
    np.testing.assert_allclose(found, [f(X), np.nan])


def test_what_lies_under_a_mask_reaches_no_derivative():
    x = np.array([0.0, -1.0, np.inf, np.nan, 4.0])
    programs = [
        lambda x: np.ma.log(x).sum(),
        lambda x: np.ma.masked_invalid(np.log(x)).mean(),
        lambda x: (1 / np.ma.masked_equal(x, 0.0)).filled(0.0)[-1],
        lambda x: (np.ma.array(np.sqrt(x), mask=[1, 1, 1, 1, 0]) * x).sum(),
        lambda x: np.ma.masked_invalid(x).var(),
    ]
    for f in programs[:4]:
        slope = fg.grad(f)(x)
        np.testing.assert_array_equal(slope[:4], 0.0)
        assert abs(slope[4]) not in (0, np.inf, np.nan)
        np.testing.assert_array_equal(fg.jit(fg.grad(f))(x), slope)
        assert np.isfinite(fg.hessian(f)(x)[4, 4])
        assert fg.jvp(f, (x,), (np.ones(5),))[1] == slope[4]
    np.testing.assert_allclose(fg.grad(programs[4])(x)[[2, 3]], 0.0)


def test_captured_masked_arrays_are_read_as_they_are_now():
    array = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    held = {"array": array}
    x = np.array([4.0, 5.0, 6.0])
    programs = [fg.jit(lambda x: (array * x).sum()), fg.jit(lambda x: (held["array"] * x).sum())]
    slope = fg.jit(fg.grad(lambda x: (x * array).sum()))
    assert [f(x) for f in programs] == [22.0, 22.0]
    np.testing.assert_array_equal(slope(x), [1, 0, 3])
    array[0] = 10.0
    array[2] = np.ma.masked
    assert [f(x) for f in programs] == [40.0, 40.0]
    np.testing.assert_array_equal(slope(x), [10, 0, 0])
    array.mask[0] = True
    array.mask[1] = False
    assert [f(x) for f in programs] == [10.0, 10.0]


def test_an_instance_that_holds_a_masked_array():
    class Weights:
        def __init__(self):
            self.array = masked(np.arange(12.0))

        def __call__(self, x):
            return (self.array * x).sum()

    np.testing.assert_array_equal(fg.grad(Weights())(X), np.where(MASK, 0, np.arange(12.0)))


def test_a_traced_mask_is_not_stored_into_an_array_of_the_user():
    def f(x):
        a = np.ma.array(x * 1.0, mask=MASK)
        a.mask = x > 1
        return a.sum()

    with pytest.raises(TypeError, match=r"write b = a.copy\(\)"):
        fg.jit(f)(X)


def test_an_instance_of_a_subclass_is_refused():
    class Own(np.ma.MaskedArray):
        pass

    with pytest.raises(TypeError, match="expected numbers, but got an expression"):
        fg.grad(lambda x: Own(x, mask=MASK).sum())(X)


def test_ufuncs_of_scipy_keep_masks():
    from scipy import special

    assert_same(fg.jit(lambda x: special.expit(masked(x)))(X), special.expit(masked(X)))
    constant = masked(X)
    assert_same(fg.jit(lambda x: special.expit(constant) * x)(X), special.expit(constant) * X)


def test_texts_of_masked_arrays():
    def f(x):
        a, b = masked(x), np.ma.array([1.0, 2.0], mask=[0, 1])
        return x.sum(), f"{a}", repr(b), str(b), f"{a[1]}"

    _, text, *others = fg.jit(f)(X)
    assert text.startswith("masked_array(data=‹x›, mask=array([False")
    assert others == [*f(X)[2:]]


def test_functions_of_rows():
    x, mask = np.arange(24.0).reshape(2, 3, 4) + 1, np.arange(24).reshape(2, 3, 4) % 5 == 0
    for axis in (0, 1, 2, -1):
        for function in (np.ma.sum, lambda a: a[:2] * 2, lambda a: np.ma.outer(a[:2], a[:2])):

            def f(x, axis=axis, function=function):
                return np.ma.apply_along_axis(function, axis, np.ma.array(x, mask=mask.copy()))

            assert_same(fg.jit(f)(x), f(x))


def test_dtypes_and_shapes_at_the_ends():
    arrays = [
        np.ma.array([1.5, 2.0], mask=[0, 1], dtype=np.float32),
        np.ma.array([1, 2], mask=[0, 1]),
        np.ma.array([1 + 2j, 3], mask=[0, 1]),
        np.ma.array([True, False], mask=[0, 1]),
        np.ma.array([], mask=[]),
        np.ma.array(2.0),
        np.ma.array(2.0, mask=True),
        np.ma.array([np.nan, -0.0, np.inf]),
    ]
    for array in arrays:
        for f in (lambda a: a * 2, lambda a: a.sum(), lambda a: np.ma.concatenate([a.ravel()] * 2)):
            assert_same(fg.jit(f)(array), f(array))


def test_place_and_the_functions_of_mstats_that_are_made_with_it():
    def placed(x):
        a = np.ma.masked_less(x * 1, 0.5)
        np.place(a, np.array([True, False, True, False, True]), [7.0, x[1]])
        return a.filled(0)

    def moments(x):
        rows = np.ma.masked_less(np.stack([x, x[::-1] ** 2]), 0.1)
        found = [f(rows, axis=1, bias=False) for f in (mstats.skew, mstats.kurtosis)]
        return np.concatenate([np.ma.filled(y, 0.0) for y in found])

    x = np.array([0.31, 0.72, 0.55, 0.87, 1.3])
    for f in (placed, moments):
        value, slope = fg.jvp(f, (x,), (np.cos(x),))
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        h = 1e-6
        wanted = (f(x + h * np.cos(x)) - f(x - h * np.cos(x))) / (2 * h)
        np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(fg.jacobian(f)(x) @ np.cos(x), slope, rtol=1e-12)
