"""Templates of calls: the third call of a function of NumPy's builds what the first one does."""

import warnings

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.numpy.call_templates import call_templates

x = np.linspace(0.5, 2.0, 6)
a = x.reshape(2, 3)
square = np.array([[3.0, 1.0], [0.5, 2.0]])

CALLS = [
    (lambda v: np.sum(v), x),
    (lambda v: np.mean(v, axis=1, keepdims=True), a),
    (lambda v: np.gradient(v), x),
    (lambda v: np.clip(v, -1.0, 1.0), x),
    (lambda v: np.concatenate([v, v * 2, v]), x),
    (lambda v: np.split(v, 3)[1], x),
    (lambda v: np.tensordot(v, v, 1), square),
    (lambda v: np.linalg.eigh(v + v.T)[0], square),
    (lambda v: np.linalg.solve(v, v.T), square),
    (lambda v: np.take_along_axis(v, np.argsort(v), 0), x),
    (lambda v: np.where(v > 1, v, v**2), x),
    (lambda v: np.squeeze(v), x),
    (lambda v: np.tril(v), square),
    (lambda v: np.std(v), x),
    (lambda v: np.tensordot(v, v, axes=([0], [0])), square),
    (lambda v: np.pad(v, ((1, 2), (0, 1)), constant_values=1.5), square),
    (lambda v: np.pad(v, [(1, 1)], "reflect"), x),
    (lambda v: np.quantile(v, [0.25, 0.5]), x),
    (lambda v: np.polyval([1, 2.0, 3.0], v), x),
    (lambda v: np.take(v, [[0, 1], [2, 5]]), x),
    (lambda v: np.diff(v, prepend=0.0), x),
    (lambda v: np.trapezoid(v, dx=0.5), x),
    (lambda v: np.split(v, [1, 4])[1], x),
]


@pytest.fixture(autouse=True)
def _without_templates():
    call_templates.clear()


def made(name=""):
    """The signatures that have a template, of one function or of all."""
    found = [key[0] for key, known in call_templates.items() if not isinstance(known, str)]
    return [key for key in found if not name or key.__name__ == name]


@pytest.mark.parametrize(("f", "at"), CALLS)
def test_a_template_builds_the_same_program(f, at):
    programs = []

    def g(v):
        y = f(v)
        programs.append(y)
        return np.sum(y * y)

    slopes = [fg.grad(g)(at) for _ in range(4)]
    assert len(made()) == len(call_templates)
    for slope in slopes[1:]:
        np.testing.assert_array_equal(slope, slopes[0])
    assert len({_rows(y) for y in programs}) == 1
    assert len({y.source for y in programs}) == 1


def _rows(root):
    place = {}
    rows = []
    for node in fg.graph.subexpressions(root):
        name = getattr(node.op, "name", "")
        params = () if name in ("leaf", "constant") else node.params
        operands = tuple(place[id(arg)] for arg in node.args)
        rows.append((name, params, node.type, operands, node.traced is not None))
        place[id(node)] = len(place)
    return tuple(rows)


def test_other_arguments_have_templates_of_their_own():
    def f(v, *args):
        return np.sum(np.sum(v, *args) ** 2)

    for given in (0, 1, None, (0, 1), (1,)):
        for _ in range(3):
            expected = 2 * np.broadcast_to(np.sum(a, given, keepdims=True), a.shape)
            np.testing.assert_allclose(fg.grad(f)(a, given), expected)


def test_zeros_of_both_signs_have_templates_of_their_own():
    def signs(zero):
        return fg.vmap(lambda v: np.copysign(1.0, np.nan_to_num(v, True, zero)))(
            np.full((1, 2), np.nan)
        )

    for _ in range(4):
        assert np.all(signs(0.0) == 1.0)
        assert np.all(signs(-0.0) == -1.0)


@pytest.mark.parametrize(
    "values",
    [
        lambda v, given: np.polyval([given, 0.0], v),
        lambda v, given: np.nan_to_num(v * np.nan, nan=given),
        lambda v, given: np.pad(v, ((1, 0),), constant_values=(given, 2.0)),
        lambda v, given: np.repeat(v, [1, int(given), 3])[:2],
    ],
)
def test_numbers_by_name_and_in_lists_have_templates_of_their_own(values):
    at = x[:3]
    for given in (0.0, -0.0, 1.0, True, 3, 0.1 + 0.2, 0.3, np.float64(2.0)):
        found = []

        def f(v, given=given, found=found):
            found.append(values(v, given))
            return np.sum(found[-1] * v[:1])

        for _ in range(4):
            fg.grad(f)(at)
        for y in found:
            own = y if isinstance(y, np.ndarray) else fg.evaluate(fg.stop_gradient(y))
            np.testing.assert_array_equal(own, values(at, given))
            np.testing.assert_array_equal(np.signbit(own), np.signbit(values(at, given)))


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("tensordot", lambda v: np.tensordot(v, v, axes=([0], [0]))),
        ("pad", lambda v: np.pad(v, ((1, 1),), constant_values=0.5)),
        ("quantile", lambda v: np.quantile(v, [0.25, 0.5])),
        ("diff", lambda v: np.diff(v, prepend=0.0)),
    ],
)
def test_lists_of_numbers_and_numbers_by_name_are_in_signatures(name, f):
    for _ in range(4):
        fg.grad(lambda v: np.sum(f(v)))(x)
    assert made(name)


@pytest.mark.parametrize("f", [lambda v: np.quantile(v, 0.3), lambda v: np.percentile(v, [5, 50])])
def test_a_question_about_constants_alone_is_none_about_the_operands(f):
    rng = np.random.default_rng(0)
    for at in rng.normal(size=(5, 2000)):  # so many that few are selected, and not all sorted
        value, slope = fg.value_and_grad(lambda v: np.sum(f(v)))(at)
        np.testing.assert_allclose(value, np.sum(f(at)), rtol=1e-14)
        np.testing.assert_allclose(np.sum(slope), np.size(f(at)), rtol=1e-14)
    assert made("quantile") or made("percentile")


def test_a_list_that_changes_has_another_template():
    places = [0, 1]

    def f(v):
        return np.sum(np.take(v, places))

    for _ in range(4):
        assert fg.grad(f)(x).tolist() == [1, 1, 0, 0, 0, 0]
    places[0] = 3
    assert fg.grad(f)(x).tolist() == [0, 1, 0, 1, 0, 0]


def test_a_function_that_asks_for_values_has_no_template():
    for at in (x, x[::-1].copy(), -x, x * 3):
        roots = fg.vmap(np.unique)(at[None])
        np.testing.assert_array_equal(roots, np.unique(at)[None])
        slope = fg.grad(lambda v: np.sum(np.interp(v, [0.0, 1.0, 2.0], [0.0, 1.0, 4.0])))(at)
        inside = (at >= 0) & (at <= 2)
        np.testing.assert_array_equal(slope, np.where(inside, np.where(at < 1, 1.0, 3.0), 0.0))


def test_a_triangle_and_a_full_matrix_have_templates_of_their_own():
    def of_triangle(m):
        return np.sum(np.linalg.solve(np.tril(m), m.T))

    def of_matrix(m):
        return np.sum(np.linalg.solve(m * 1.0, m.T))

    for f, used in ((of_triangle, np.tril), (of_matrix, np.asarray)):
        for _ in range(4):
            slope = fg.grad(f)(square)
        step = 1e-6
        for i, j in np.ndindex(2, 2):
            up, down = square.copy(), square.copy()
            up[i, j] += step
            down[i, j] -= step
            values = [np.sum(np.linalg.solve(used(m), m.T)) for m in (up, down)]
            assert slope[i, j] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-5)


def test_code_that_handles_an_error_is_given_it():
    def plain(m):
        return np.sum(np.linalg.inv(m))

    def handled(m):
        try:
            return np.sum(np.linalg.inv(m))
        except np.linalg.LinAlgError:
            return np.sum(m)

    for _ in range(4):
        fg.grad(plain)(square)
    assert made("inv")
    np.testing.assert_array_equal(fg.grad(handled)(np.ones((2, 2))), np.ones((2, 2)))


def test_each_call_warns():
    def f(v):
        return np.sum(np.round(v, 2) * v)

    for _ in range(4):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fg.grad(f)(x)
        assert any("rounded to 2 decimals" in str(one.message) for one in told)


def test_an_error_names_the_line_of_its_own_call():
    def first(m):
        return np.sum(np.linalg.inv(m))

    def second(m):
        return np.sum(np.linalg.inv(m))  # here

    for _ in range(4):
        fg.grad(first)(square)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        fg.grad(second)(np.zeros((2, 2)))
    assert any("# here" in note for note in caught.value.__notes__)


def test_arguments_are_checked_at_each_call():
    for _ in range(4):
        fg.grad(lambda v: np.sum(np.partition(v, 2)[:3]))(x)
        with pytest.raises(ValueError, match="kth"):
            fg.grad(lambda v: np.sum(np.partition(v, 99)))(x)
        with pytest.raises(ValueError, match="axis"):
            fg.grad(lambda v: np.sum(v, 1))(x)


def test_an_array_that_changes_is_read_at_each_call():
    weights = np.ones(6)

    def f(v):
        return np.sum(np.outer(v, weights)) + np.dot(v, weights)

    for k in range(4):
        weights[:] = k
        np.testing.assert_allclose(fg.grad(f)(x), 7.0 * k)


def test_an_array_beside_a_traced_value_is_one_constant_of_the_trace():
    weights = np.arange(6.0)
    traces = []

    def f(v):
        traces.append(np.outer(v, weights).sum() + np.dot(weights, v) + np.sum(v * weights))
        return traces[-1]

    for _ in range(4):
        np.testing.assert_allclose(fg.grad(f)(x), 15.0 + 2 * weights)
    assert sorted(key.__name__ for key in made()) == ["dot", "outer", "sum", "sum"]
    for trace in traces:
        nodes = fg.graph.subexpressions(trace)
        of_weights = [n for n in nodes if n.type.shape == (6,) and n.op is fg.graph.CONSTANT]
        assert len(of_weights) == 2  # with that of the argument


def test_arrays_of_other_entries_or_layouts_have_templates_of_their_own():
    square_of = np.arange(9.0).reshape(3, 3)
    for _ in range(3):
        for weights in (square_of, square_of.T, square_of + 1, square_of.astype(np.float32)):
            found = fg.grad(lambda v, w=weights: np.sum(np.dot(v, w) * np.dot(w, v)))(x[:3])
            a_v, v_a = weights @ x[:3], x[:3] @ weights
            np.testing.assert_allclose(found, weights @ a_v + weights.T @ v_a)
        with pytest.raises(ValueError, match="from 0 to 1"):
            fg.grad(lambda v: np.sum(np.quantile(v, np.array([0.5, 1.5]))))(x)
        fg.grad(lambda v: np.sum(np.quantile(v, np.array([0.5, 0.75]))))(x)


def test_calls_under_jit_have_no_template():
    for _ in range(4):
        fg.jit(fg.grad(lambda v: np.sum(np.mean(v, 0) ** 2)))(a)
    assert not made()


def test_densities_of_scipy_have_templates():
    stats = pytest.importorskip("scipy.stats")

    def f(v, loc):
        return np.sum(stats.norm.logpdf(v, loc, 2.0))

    for loc in (0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0):
        np.testing.assert_allclose(fg.grad(f)(x, loc), -(x - loc) / 4)


def test_what_a_template_makes_of_constants_alone_is_not_traced():
    for _ in range(4):
        formula = fg.grad(lambda v: np.std(v)).expr(x)
        assert "sum" in str(formula)  # a traced one would be asked for its value


def test_methods_have_the_templates_of_functions():
    for f in (lambda v: v.std() * v.mean(), lambda v: np.std(v) * np.mean(v)):
        slopes = [fg.grad(f)(x) for _ in range(3)]
        np.testing.assert_array_equal(slopes[0], slopes[2])
    assert sorted(key.__name__ for key in made()) == ["mean", "std"]


@pytest.mark.parametrize("places", ["xaa", "axa", "aax"])
def test_an_array_in_several_places_of_a_call(places):
    a = np.array([0.0, 1.0, 3.0])
    x = np.array([0.3, 1.2, 2.5])

    def f(x, *arrays):
        given = iter(arrays)
        return np.sum(np.interp(*[x if place == "x" else next(given) for place in places]) ** 2)

    for arrays in [(a, a)] * 4 + [(a, a.copy())] * 4:
        value, slope = fg.value_and_grad(f)(x, *arrays)
        assert value == f(x, *arrays)
        steps = 1e-6 * np.eye(3)
        differences = [(f(x + h, *arrays) - f(x - h, *arrays)) / 2e-6 for h in steps]
        np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-8)
