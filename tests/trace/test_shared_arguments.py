"""Stores into arguments that are shared: NumPy sees them elsewhere, too."""

import numpy as np
import pytest

import funcgrad as fg


def stores(x, y):
    x[0] = 1.0
    return np.sum(x * y)


with_factor = fg.jit(lambda x, n, y: stores(x, y) * n, static_argnums=1)


@pytest.mark.parametrize(
    "run",
    [
        fg.grad(stores),
        fg.grad(stores, (0, 1)),
        fg.jacfwd(stores),
        lambda x, y: fg.jvp(stores, (x, y), (x, y)),
        lambda x, y: fg.vjp(stores, x, y),
        fg.jit(stores),
        lambda x, y: with_factor(x, 2, y),
        fg.jit(fg.grad(stores)),
        fg.grad(fg.jit(stores)),
        fg.hessian(stores),
        fg.jit(fg.hessian(stores)),
        lambda x, y: fg.vmap(stores)(x[:, None], y[:, None]),
    ],
)
def test_an_array_given_twice_is_refused_if_it_is_stored_into(run):
    a = np.array([2.0, 3.0, 4.0])
    for x, y in ((a, a), (a[:2], a[1:]), (a[:2], a[:2])):
        with pytest.raises(
            TypeError, match="one array as x and as y, and the function stores into x"
        ):
            run(x, y)
    for x, y in ((a, a.copy()), (a[::2][:1], a[1::2])):  # of other entries
        run(x, y)
    np.testing.assert_array_equal(a, [2.0, 3.0, 4.0])


def test_jit_looks_at_the_arrays_of_each_call():
    def f(x, y):
        if y[0] > 2.0:
            x[0] = 1.0
        return np.sum(x * y)

    for jitted in (fg.jit(f), fg.grad(fg.jit(f))):
        a = np.array([1.0, 3.0])
        jitted(a, a)  # stores nothing
        jitted(a + 5, a + 5)
        a += 5
        for _ in range(2):
            with pytest.raises(TypeError, match="one array as x and as y"):
                jitted(a, a)
        jitted(a, a.copy())


def test_an_array_that_is_captured_is_refused_if_it_is_stored_into():
    a = np.array([2.0, 3.0])
    for run in (fg.grad(lambda x: stores(x, a)), fg.jit(lambda x: stores(x, a))):
        with pytest.raises(TypeError, match=r"one array as x and as a, .* give x"):
            run(a)
        run(a.copy())


def test_views_of_an_array_inside_a_trace_are_compared_by_their_entries():
    inner = fg.grad(stores)

    def of_views(x):
        x[2] = 3.0
        return np.sum(inner(x[:2], x[2:]))

    np.testing.assert_array_equal(fg.grad(of_views)(np.arange(4.0)), [0.0, 0.0, 0.0, 1.0])
    with pytest.raises(TypeError, match="one array as x and as y"):
        fg.grad(lambda x: np.sum(inner(x, x.reshape(4))))(np.arange(4.0))


def test_an_expression_given_twice_is_refused_with_what_to_write():
    inner = fg.jit(stores)
    with pytest.raises(TypeError, match=r"one array as x and as y, .* give x.copy\(\) in one"):
        fg.grad(lambda x: inner(x, x))(np.array([2.0, 3.0]))
    for copied in (lambda x: inner(x, x + 0), lambda x: inner(x.copy(), x)):
        np.testing.assert_array_equal(fg.grad(copied)(np.array([2.0, 3.0])), [1.0, 6.0])


def test_an_array_in_a_list_is_found_by_its_place():
    a = np.array([2.0, 3.0])
    with pytest.raises(TypeError, match="got one array as pair"):
        fg.grad(lambda pair: stores(*pair))([a, a])
    found = fg.grad(lambda pair: stores(*pair))([a, a.copy()])
    np.testing.assert_array_equal(found[1], [1.0, 3.0])


def test_an_array_given_twice_may_be_read():
    a = np.array([2.0, 3.0])
    found = fg.grad(lambda x, y: np.sum(x * y), (0, 1))(a, a)
    np.testing.assert_array_equal(found, [a, a])


def squares(y):
    y[0] = 5.0
    return np.sum(y**2)


def with_rule():
    f = fg.custom_jvp(squares)
    f.defjvp(lambda p, t: (np.sum(p[0] ** 2), np.sum(2 * p[0] * t[0])))
    return f


@pytest.mark.parametrize(
    ("f", "who"), [(fg.checkpoint(squares), "checkpoint"), (with_rule(), "custom_jvp")]
)
def test_a_store_that_the_caller_would_not_see_is_refused(f, who):
    def total(x):
        x = x * 1.0
        return f(x) + x[0]

    assert total(np.array([2.0, 3.0])) == 39.0  # NumPy's
    with pytest.raises(TypeError, match=f"{who}: .* squares stores into an argument.*y.copy"):
        fg.grad(total)(np.array([2.0, 3.0]))


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: lambda x: fg.jvp(f, (x,), (x,))])
def test_a_store_in_a_rule_into_an_array_from_outside_is_refused(transform):
    def total(x):
        calls = np.zeros(1)

        def body(y):
            calls[0] += 1.0
            return np.sum(y**2)

        f = fg.custom_jvp(body)
        f.defjvp(lambda p, t: (body(*p), np.sum(2 * p[0] * t[0])))
        return f(x) + calls[0]

    assert total(np.array([2.0, 3.0])) == 14.0
    with pytest.raises(
        TypeError, match=r"custom_jvp: .* stores into 'calls'.*may run never or twice"
    ):
        transform(total)(np.array([2.0, 3.0]))


def stores_at_one(x, y):
    x[1] = 100.0
    return np.sum(x * y)


@pytest.mark.parametrize(
    "inner",
    [
        fg.jit(stores_at_one),
        lambda x, y: np.sum(fg.grad(stores_at_one)(x, y)),
        lambda x, y: fg.vjp(stores_at_one, x, y)[0],
        lambda x, y: fg.jvp(stores_at_one, (x, y), (x, y))[0],
        lambda x, y: np.sum(fg.jit(fg.grad(stores_at_one))(x, y)),
    ],
)
def test_views_of_one_traced_array_are_refused_if_one_is_stored_into(inner):
    """NumPy would see the store in both; the views are other expressions."""

    def overlapping(x):
        return inner(x[:3], x[1:4])

    def of_rows(x):
        y = (2.0 * x).reshape(2, 2)
        return inner(y[0], y.T[:, 0])

    def whole(x):
        return inner(x, x[::-1])

    a = np.arange(1.0, 5.0)
    for outer in (overlapping, of_rows, whole):
        for transform in (fg.grad, fg.jit):
            with pytest.raises(TypeError, match="one array as x and as y, and the function stores"):
                transform(outer)(a)
    # Views of other entries, and copies.
    for outer in (lambda x: inner(x[::2], x[1::2]), lambda x: inner(x[[0, 1]], x[1:3])):
        fg.grad(outer)(a)


def test_copies_in_adopted_code_may_be_stored_into():
    def outer(x):
        z = np.zeros(3)
        z[0] = 0.0 * x[0]
        y = x.copy()
        return fg.jit(stores_at_one)(y[:3] + z, x[1:4]) + fg.jit(stores_at_one)(y, x)

    found = fg.value_and_grad(outer)(np.arange(1.0, 5.0))
    assert found[0] == 314.0 + 226.0
    np.testing.assert_array_equal(found[1], [4.0, 101.0, 110.0, 11.0])


def test_a_view_of_what_a_nested_function_captures_is_refused_if_it_is_stored_into():
    def outer(x):
        def inner(y):
            return stores_at_one(y, x[1:4])

        return fg.jit(inner)(x[:3])

    with pytest.raises(TypeError, match="shares no memory with what the function captures"):
        fg.grad(outer)(np.arange(1.0, 5.0))


@pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad, fg.jacobian, fg.jacfwd])
def test_a_number_stored_into_the_callers_array_is_not_missed(transform):
    """It was stored by NumPy itself, after the leaf had taken its copy of the array."""

    def f(x, y):
        y[0] = 10.0
        return np.sum(x * y)

    a = np.array([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"keep their numbers|one array as y and as x"):
        transform(f)(a, a[:])
    b = np.array([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"expected arguments that keep their numbers.* x.copy\(\)"):
        transform(lambda x: f(x, b))(b)
    transform(f)(a, b)


def test_a_row_of_the_batch_that_all_examples_share_is_refused_if_it_is_stored_into():
    def stores_number(x, y):
        y[0] = 10.0
        return np.sum(x)

    def stores_mapped(x, y):
        y[0] = 10.0 * x[0]
        return np.sum(x) + y[1]

    for f in (stores_number, stores_mapped):
        mapped = fg.vmap(f, in_axes=(0, None))
        a = np.arange(6.0).reshape(3, 2)
        with pytest.raises(TypeError, match=r"x has other ones|got one array as y and as x"):
            mapped(a, a[0])
        a = np.arange(6.0).reshape(3, 2)
        with pytest.raises(TypeError, match="vmap: expected a function that stores into arrays of"):
            fg.grad(lambda a, mapped=mapped: np.sum(mapped(a, a[0])))(a)
        mapped(a, a[0].copy())


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
def test_a_branch_that_stores_into_an_operand_is_refused(transform):
    """Its caller would not see the store, as it does where the condition is known."""

    def stores_sum(y):
        y[0] = y[1] * 5.0
        return np.sum(y)

    def outer(x):
        y = 1.0 * x
        return fg.cond(x[0] > 0.0, stores_sum, np.sum, y) * y[0]

    a = np.arange(1.0, 5.0)
    assert outer(a) == 190.0
    with pytest.raises(TypeError, match="cond: expected a function that stores into arrays of its"):
        transform(outer)(a)
