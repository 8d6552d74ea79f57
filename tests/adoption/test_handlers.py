"""Handlers of errors that functions of `math` and of matrices raise: they run for traced values, too."""

import math
import warnings

import numpy as np
import pytest
import scipy.linalg
import toolz
from scipy.interpolate import splrep

import funcgrad as fg


def positive_definite(x):
    try:
        np.linalg.cholesky(np.array([[1, x], [x, 1.0]]))
        return x * x
    except np.linalg.LinAlgError:
        return -x


def by_scipy(x):
    try:
        factor = scipy.linalg.cho_factor(np.array([[1, x], [x, 1.0]]))
        return scipy.linalg.cho_solve(factor, np.ones(2))[0]
    except np.linalg.LinAlgError:
        return -x


def regular(x):
    try:
        np.linalg.inv(np.array([[x, 2.0], [2.0, 4.0]]))
        return x * x
    except np.linalg.LinAlgError:
        return 0.0 * x


def solved(x):
    try:
        return np.linalg.solve(np.array([[x, 2.0], [2.0, 4.0]]), np.ones(2))[0]
    except Exception:
        return 3 * x


def jitter(x):
    k, j = np.array([[1, x], [x, 1.0]]), 0.0
    while True:
        try:
            factor = np.linalg.cholesky(k + j * np.eye(2))
            break
        except np.linalg.LinAlgError:
            j = max(j * 10, 0.1)
    return np.log(np.diag(factor)).sum()


def count(x):
    n = 0
    for k in range(5):
        try:
            math.sqrt(x - k)
            n += 1
        except ValueError:
            pass
    return n * x


def branch(x):
    try:
        r = math.log(x)
    except ValueError:
        r = -99.0
    return 2.0 * x if r < -50 else x * x


def flag(x):
    def safe(y):
        try:
            return math.sqrt(y), True
        except ValueError:
            return 0.0, False

    v, ok = safe(x)
    return v if ok else -x


def helper(x):
    return math.acos(x)


def further_up(x):
    try:
        return helper(x)
    except ValueError:
        return 5 * x


def large(x):
    try:
        return math.exp(x) * x
    except OverflowError:
        return 5 * x


def logarithm(x):
    try:
        return math.log(x)
    except ValueError:
        return 0.0


def both_roots(x):
    try:
        return [-math.sqrt(x), math.sqrt(x)]
    except ValueError:
        return [0.0, 0.0]


def of_every_error(x):
    try:
        return math.log(x)
    except:  # noqa: E722
        return 5 * x


def of_every_error_of_a_matrix(x):
    try:
        return np.linalg.cholesky(np.array([[x, 0.0], [0.0, 1.0]]))[0, 0]
    except:  # noqa: E722
        return 5 * x
    finally:
        pass


def of_another_shape(x):
    rows = np.array([[x, 1.0], [1.0, x], [x * x, 2.0]])
    for system in (rows, rows[:2]):
        try:
            return np.linalg.solve(system, np.ones(len(system)))[0]
        except np.linalg.LinAlgError:
            continue
    return 0.0


def power_of_all(x):
    try:
        return math.exp(x * x)
    except:  # noqa: E722
        return 3.0 * x


CASES = [
    (power_of_all, (0.7, 0.2)),
    (power_of_all, (40.0, 0.2)),
    (of_another_shape, (1.5, 0.5)),
    (of_every_error, (-1.5, 0.5)),
    (of_every_error_of_a_matrix, (-1.5, 0.5)),
    (positive_definite, (2.0, 0.5)),
    (by_scipy, (2.0, 0.5)),
    (regular, (1.0, 3.0)),
    (solved, (1.0, 3.0)),
    (jitter, (1.5, 0.3)),
    (count, (1.5, 3.5)),
    (branch, (-1.0, 2.0)),
    (flag, (-2.5, 2.0)),
    (further_up, (1.5, 0.5)),
    (large, (1000.0, 2.0)),
    (lambda x: x * logarithm(x - 1.0), (0.5, 3.0)),
    (lambda x: x * both_roots(x - 1.0)[0], (0.5, 3.0)),
]


@pytest.mark.parametrize(("f", "points"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_the_handler_runs(f, points):
    jitted, slopes = fg.jit(fg.value_and_grad(f)), []
    for x in (*points, points[0]):
        h = 1e-6
        slope = {regular: 0.0, solved: 3.0}.get(f) if x == 1.0 else None
        slope = (f(x + h) - f(x - h)) / (2 * h) if slope is None else slope
        for derived in (fg.value_and_grad(f), jitted):
            value, found = derived(x)
            assert value == pytest.approx(f(x), rel=1e-14)
            assert found == pytest.approx(slope, rel=1e-7, abs=1e-7)
        slopes.append(slope)
    mapped = fg.vmap(fg.grad(f))(np.array(points))
    np.testing.assert_allclose(mapped, slopes[:2], rtol=1e-7, atol=1e-7)
    values = fg.jit(fg.vmap(f))(np.array(points))
    np.testing.assert_allclose(values, [f(x) for x in points], rtol=1e-14)


def test_without_a_handler_nothing_is_asked():
    f = fg.jit(lambda x: math.log(x) * x)
    assert f(2.0) == pytest.approx(2 * math.log(2))
    assert np.isnan(f(-1.0))
    assert np.isnan(fg.grad(lambda x: math.sqrt(x))(-1.0))


def test_an_error_of_a_handler_tells_the_refusal_that_led_to_it():
    table = {0.5: 1.0}

    def looked_up(x):
        try:
            return math.sin(x) * table[x]
        except Exception:
            raise RuntimeError("no entry")  # noqa: B904  # as older code has it

    with pytest.raises(RuntimeError, match="no entry") as found:
        fg.grad(looked_up)(0.5)
    assert not found.value.__suppress_context__
    assert "expected" in str(found.value.__context__)


def test_a_handler_of_warnings_that_are_errors_is_warned_of():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return np.log(x - 5.0)
            except RuntimeWarning:
                return x * x

    with pytest.warns(UserWarning, match="f: handles RuntimeWarning"):
        assert np.isnan(fg.jit(f)(1.3))


def _set(a):
    a[0] = 2.0
    return a


def _added(a):
    b = a
    a += 1.0
    return b


def _shaped(a):
    a.shape = (1, 3)
    return a


def _method(name, *args):
    def changed(a):
        getattr(a, name)(*args)
        return a

    return changed


def _function(f, *args):
    def changed(a):
        f(a, *args)
        return a

    return changed


@pytest.mark.parametrize(
    "change",
    [
        *(_set, _added, _shaped, _method("sort"), _method("partition", 1)),
        lambda a: a.fill(a[1]) or a,
        *(_method("put", [0], [2.0]), _method("setflags", True)),
        *(_function(np.put, [0], 2.0), lambda a: np.copyto(a, a + 5.0) or a),
        *(_function(np.add.at, [0, 0], 2.0), lambda a: np.exp(a, out=a), lambda a: a.cumsum(out=a)),
        lambda a: np.multiply(a, 2.0, out=np.zeros_like(a)),
    ],
)
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5
@pytest.mark.parametrize("of_argument", [False, True])
def test_a_handler_of_what_an_expression_refuses_and_an_array_does_not_is_not_run(
    change, of_argument
):
    # A function of its own for each case: one that was refused is adopted from then on.
    code = "def f(x, change=change):\n a = x if {0} else -x\n try: a = change(a)\n except {1}: a = 100 * a\n"
    space = {"change": change, "np": np}
    kind = "Exception" if of_argument else "(TypeError, AttributeError)"
    exec(code.format(of_argument, kind) + " return (np.ravel(a) ** 2).sum()\n", space)
    f, x = space["f"], np.array([0.3, 0.1, 0.2])
    value = f(x.copy())
    assert value < 100.0
    np.testing.assert_allclose(fg.value_and_grad(f)(x)[0], value)
    np.testing.assert_allclose(fg.jit(f)(x), value)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([x, x])), [value, value])


def test_a_handler_of_what_no_number_takes_is_run():
    def f(length):
        try:
            length[length > 2.0] = 2.0
        except TypeError:
            length = length * 3.0 if length > 2.0 else length
        return length

    assert fg.value_and_grad(f)(2.5) == (7.5, 3.0)
    np.testing.assert_array_equal(fg.jacobian(f)(np.array([1.0, 3.0])), [[1.0, 0.0], [0.0, 0.0]])


def tried(f, errors):
    def g(x):
        try:
            return f(x) * x
        except errors:
            return -x

    return g


@pytest.mark.parametrize("make", [tried, lambda f, errors: toolz.excepts(errors, f, lambda _: 0.5)])
@pytest.mark.parametrize("errors", [ValueError, (KeyError, ValueError)])
def test_a_handler_of_errors_that_it_was_given_is_run(make, errors):
    f = make(math.log, errors)
    for x in (-1.0, 2.0):
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        assert fg.value_and_grad(lambda x: f(x) + 0.0 * x)(x) == (f(x), pytest.approx(slope))
        assert fg.jit(f)(x) == f(x)


def test_a_division_by_zero_is_raised_under_a_handler_that_it_was_given():
    f = toolz.excepts(ZeroDivisionError, lambda x: 1 / x, lambda _: 0.0)
    assert fg.value_and_grad(lambda x: f(x) + x)(0.0) == (0.0, 1.0)
    assert fg.jit(f)(0.0) == 0.0
    g = toolz.excepts(ZeroDivisionError, lambda x: x**-1.0, lambda _: 0.0)
    with pytest.warns(UserWarning, match="handles errors, which traced values do not raise"):
        assert fg.value_and_grad(g)(0.0) == (np.inf, -np.inf)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.grad(fg.adopt(f))])
def test_a_refusal_of_a_function_of_scipys_that_a_handler_catches_is_raised(transform):
    def smoothed(y):
        try:
            return splrep(np.arange(8.0), y, s=0.01, per=1)[1][2] + y.sum()
        except Exception:
            return y.sum()

    y = np.sin(1.3 * np.arange(8.0))
    with pytest.raises(TypeError, match="splrep: expected traced values y alone, with s=0"):
        transform(smoothed)(y)


TABLE = np.array([3.0, 5.0, 7.0])


def guarded_entry(x, values=None):
    a = np.stack([x, 2 * x, 3 * x]) if values is None else values
    try:
        return a[np.floor(x).astype(int)] * x
    except IndexError:
        return -x


def guarded_entries(x):
    a = np.outer(np.arange(3.0), np.stack([x, x * x, x, 1.0]))
    i = np.floor(np.stack([x, x + 1])).astype(int)
    try:
        return np.sum(a[:, i] * a[i - 1, ...].T[:3])
    except LookupError:
        return np.sum(i) - x


def guarded_store(x):
    a = np.zeros(3)
    try:
        a[np.floor(x).astype(int)] = x * x
    except IndexError:
        a[0] = -x
    return np.sum(a * TABLE)


@pytest.mark.parametrize(
    "f", [guarded_entry, lambda x: guarded_entry(x, TABLE), guarded_entries, guarded_store]
)
def test_a_handler_of_an_index_out_of_bounds_runs(f):
    at = np.array([0.5, 1.5, 2.5, 3.5, -2.5, -3.5, 8.0])
    expected = [f(x) for x in at]
    slopes = [(f(x + 1e-6) - f(x - 1e-6)) / 2e-6 for x in at - 0.01]
    jitted, derivative = fg.jit(f), fg.jit(fg.grad(f))
    for x, y, slope in zip(at, expected, slopes, strict=True):
        assert jitted(x) == pytest.approx(y)
        assert derivative(x - 0.01) == pytest.approx(slope, abs=1e-8)
        assert fg.value_and_grad(f)(x)[0] == pytest.approx(y)
    np.testing.assert_allclose(fg.vmap(f)(at), expected)
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(at), expected)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(at - 0.01), slopes, atol=1e-8)
    np.testing.assert_allclose(fg.scan(lambda c, x: (c, f(x)), 0.0, at)[1], expected)


def recorded(x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = np.sum(np.log(x))
    return np.sum(x) if seen else y


def called(x):
    seen = []
    with np.errstate(divide="call", call=lambda kind, flag: seen.append(kind)):
        y = np.sum(np.log(x))
    return np.sum(x) if seen else y


@np.errstate(all="raise")
def decorated(x):
    try:
        return np.sum(np.log(x))
    except FloatingPointError:
        return np.sum(x)


@pytest.mark.parametrize("f", [recorded, called, decorated])
@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f))])
def test_code_that_is_told_of_errors_is_warned_where_a_number_is_not_finite(f, transform):
    at, name = np.array([1.0, 0.0]), f.__name__
    assert f(at) == 1.0
    with pytest.warns(UserWarning, match=f"^{name}: handles .*, which traced values do not raise"):
        transform(f)(at)
    np.testing.assert_array_equal(fg.grad(f)(at + 1), 1 / (at + 1))


def test_code_that_ignores_errors_is_not_warned():
    def f(x):
        with np.errstate(divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.sum(np.log(x))

    np.testing.assert_array_equal(fg.grad(f)(np.array([1.0, 0.0])), [1.0, np.inf])
