"""Hessenberg's form, RQ and other factorizations of `scipy.linalg`, and functions of a matrix."""

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

A = np.array(
    [
        [1.3, 0.2, -0.4, 0.9, 0.1],
        [0.5, 2.1, 0.3, -0.2, 0.8],
        [-0.2, 0.6, 1.7, 0.4, -0.7],
        [1.1, -0.5, 0.2, 0.6, 0.3],
        [-0.3, 0.7, 0.9, -0.8, 1.9],
    ]
)


STEPS = np.diag([-4.0, 5.0, -2.0, 1.0, 3.0])
WELL = A @ A.T + np.diag(np.arange(1.0, 6.0))


def spread(a):
    """A complex matrix of a real one."""
    return a + 1j * a.T @ a


FACTORS = {
    "hessenberg": lambda a: scipy.linalg.hessenberg(a),
    "its vectors": lambda a: scipy.linalg.hessenberg(a, calc_q=True)[1],
    "of two rows": lambda a: scipy.linalg.hessenberg(a[:2, :2]),
    "hessenberg, complex": lambda a: scipy.linalg.hessenberg(spread(a)),
    "its complex vectors": lambda a: scipy.linalg.hessenberg(spread(a), calc_q=True)[1],
    **{
        f"{name}, factor {k}": lambda a, f=f, k=k: f(a)[k]
        for k in (0, 1)
        for name, f in {
            "rq": lambda a: scipy.linalg.rq(a),
            "rq, tall": lambda a: scipy.linalg.rq(a[:, :3]),
            "rq, wide": lambda a: scipy.linalg.rq(a[:3], mode="economic"),
            "rq, complex": lambda a: scipy.linalg.rq(spread(a)),
            "qr_multiply": lambda a: scipy.linalg.qr_multiply(a, a),
            "qr_multiply, left": lambda a: scipy.linalg.qr_multiply(
                a[:, :3], a[:3], mode="left", pivoting=True
            ),
            "qr_multiply, a vector": lambda a: scipy.linalg.qr_multiply(
                spread(a)[:, :3], a[0], conjugate=True
            ),
            "qr with pivoting": lambda a: scipy.linalg.qr(a[::-1, ::-1], pivoting=True),
        }.items()
    },
    "rq, r alone": lambda a: scipy.linalg.rq(a[:3], mode="r"),
    "qr with pivoting, r alone": lambda a: scipy.linalg.qr(a[:, :3], mode="r", pivoting=True)[0],
    "qr with pivoting, economic": lambda a: scipy.linalg.qr(
        a[:, :3], mode="economic", pivoting=True
    )[0],
}


@pytest.mark.parametrize("case", one_in(8, FACTORS))
def test_factors_have_scipys_values_and_derivatives(case):
    check_function(FACTORS[case], A, value_rtol=1e-14 if "with pivoting" in case else 0.0)


def test_the_order_of_pivots_is_constant():
    columns = A[:, :3] * np.array([1.0, 3.0, 2.0])
    for f in (
        lambda a: scipy.linalg.qr(a, mode="economic", pivoting=True)[2],
        lambda a: scipy.linalg.qr_multiply(a, A, pivoting=True)[2],
    ):
        np.testing.assert_array_equal(fg.jit(f)(columns), f(columns))


def test_a_matrix_in_hessenbergs_form_keeps_its_vectors():
    form = scipy.linalg.hessenberg(A)
    # Entries in the band do not turn the vectors, though some under the diagonal are 0.
    form[2, 1] = 0.0
    slope = fg.jacobian(scipy.linalg.hessenberg)(form)
    for place in ((0, 0), (1, 3), (1, 0), (4, 4)):
        unit = np.zeros((5, 5))
        unit[place] = 1.0
        np.testing.assert_array_equal(slope[(..., *place)], unit)
    assert np.isnan(slope[..., 4, 1]).any()


def symmetric(a):
    return a + a.T - 3 * np.eye(5)


def of_qr(a):
    """The factors of a matrix whose columns are independent."""
    return scipy.linalg.qr(a, mode="economic")


V = A[:, 0] - 0.3
UPDATED = {
    "qr_delete, a row": lambda a: scipy.linalg.qr_delete(*of_qr(a), 1),
    "qr_delete, rows": lambda a: scipy.linalg.qr_delete(*of_qr(a), 1, 2),
    "qr_delete, a column": lambda a: scipy.linalg.qr_delete(*of_qr(a), -2, which="col"),
    "qr_delete, columns": lambda a: scipy.linalg.qr_delete(*of_qr(a[:, :4]), 1, 2, "col"),
    "qr_delete, a row of many": lambda a: scipy.linalg.qr_delete(*of_qr(a[:, :3]), -1),
    "qr_insert, a row": lambda a: scipy.linalg.qr_insert(*of_qr(a), a[0] ** 2, 2),
    "qr_insert, a row at the end": lambda a: scipy.linalg.qr_insert(*of_qr(a), a[0] ** 2, -1),
    "qr_insert, rows": lambda a: scipy.linalg.qr_insert(*of_qr(a[:, :3]), a[:2, :3] ** 2, 0),
    "qr_insert, a column": lambda a: scipy.linalg.qr_insert(*of_qr(a[:, :3]), V, 1, which="col"),
    "qr_insert, a column at the end": lambda a: scipy.linalg.qr_insert(
        *of_qr(a[:, :3]), V, -1, which="col"
    ),
    "qr_insert, columns": lambda a: scipy.linalg.qr_insert(
        *of_qr(a[:, :3]), a[:, 3:] ** 2, 3, which="col"
    ),
    "qr_update": lambda a: scipy.linalg.qr_update(*of_qr(a), a[0], V),
    "qr_update, complex": lambda a: [
        np.abs(part)  # phases are SciPy's choice
        for part in scipy.linalg.qr_update(*of_qr(spread(a)), spread(a)[0], spread(a)[1])
    ],
    "qr_update, two": lambda a: scipy.linalg.qr_update(*of_qr(a[:, :3]), a[:, :2], a[:3, 1:3]),
}


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("case", one_in(10, UPDATED))
def test_updates_of_qr(case, k):
    check_function(lambda a: UPDATED[case](a)[k], A, value_rtol=1e-13)


GENERALIZED = {
    **{
        f"ldl of {options}, factor {k}": lambda a, o=options, k=k: scipy.linalg.ldl(
            symmetric(a) * (1 if o.get("hermitian", True) else 1 + 0.2j), **o
        )[k]
        for k in (0, 1)
        for options in (
            {},
            {"lower": False},
            {"hermitian": False},
            {"hermitian": False, "lower": False},
        )
    },
    "ldl, hermitian": lambda a: scipy.linalg.ldl(spread(a) + np.conj(spread(a).T))[0],
    "ldl, its middle": lambda a: scipy.linalg.ldl(spread(a) + np.conj(spread(a).T), False)[1],
    "ldl without pivots": lambda a: scipy.linalg.ldl(a @ a.T)[0],
    **{
        f"qz, result {k}": lambda a, k=k: scipy.linalg.qz(STEPS + 0.2 * a, np.eye(5) + 0.1 * a.T)[k]
        for k in range(4)
    },
    **{
        f"ordqz, result {k}": lambda a, k=k: np.real(
            scipy.linalg.ordqz(0.2 * a - STEPS, np.eye(5) + 0.1 * a.T, sort="lhp")[k]
        )
        for k in range(6)
    },
    **{
        f"matrix_balance of {scale}": lambda a, scale=scale: scipy.linalg.matrix_balance(
            (np.triu(a) + a[:, :1]) * 2.0 ** np.arange(0, 5 * scale, scale)
        )[0]
        for scale in (1, 7)
    },
    "matrix_balance, the scales": lambda a: scipy.linalg.matrix_balance(
        np.triu(a) * 2.0 ** np.arange(0, 35, 7)
    )[1],
}


@pytest.mark.parametrize("case", one_in(13, GENERALIZED))
def test_factors_of_symmetric_matrices_and_of_two_matrices(case):
    check_function(GENERALIZED[case], A, hessian="balance" not in case)


def _of_schur(t, z):
    """The parts of a complex form that do not depend on phases."""
    return np.stack(
        [np.abs(t), np.abs(z), np.real(z[:, :1] @ np.conj(z[:, :1].T)), np.real(t * np.eye(5))]
    )


TURNING = np.kron(np.diag([1.0, 0.0]), [[0.3, 2.0], [-1.0, 0.2]])
TURNING = np.pad(TURNING, ((0, 1), (0, 1))) + np.diag([0.0, 0.0, -2.0, 1.0, 3.0])
SCHUR = {
    **{
        f"schur with a pair, {sort}, result {k}": lambda a, k=k, sort=sort: scipy.linalg.schur(
            TURNING + 0.3 * a, sort=sort
        )[k]
        for k in (0, 1)
        for sort in (None, "rhp")
    },
    "complex schur": lambda a: _of_schur(*scipy.linalg.schur(TURNING + 0.2 * a, output="complex")),
    "complex schur in order": lambda a: _of_schur(
        *scipy.linalg.schur(TURNING + 0.2 * a, output="complex", sort=lambda x: x.real > 2)[:2]
    ),
    "schur of a complex matrix": lambda a: _of_schur(*scipy.linalg.schur(TURNING + 0.2j * a)),
    **{
        f"qz with a pair, result {k}": lambda a, k=k: scipy.linalg.qz(
            TURNING + 0.2 * a, np.eye(5) + 0.1 * a.T
        )[k]
        for k in range(4)
    },
    "complex qz": lambda a: np.abs(
        np.stack(scipy.linalg.qz(TURNING + 0.2 * a, np.eye(5) + 0.1 * a.T, output="complex"))
    ),
    "complex ordqz": lambda a: np.stack(
        [
            part(item)
            for item in scipy.linalg.ordqz(
                TURNING + 0.2 * a, np.eye(5) + 0.1j * a.T, sort="lhp", output="complex"
            )[2:4]
            for part in (np.real, np.imag)
        ]
    ),
    **{
        f"ordqz of pairs, result {k}, scaled by {scale}": lambda a, k=k, scale=scale: (
            scipy.linalg.ordqz(
                10.0**scale * (TURNING + 0.2 * a), np.eye(5) + 0.1 * a.T, sort="lhp"
            )[k]
            * 10.0**-scale
        )
        for k, scale in ((0, 0), (2, 0), (2, 3), (3, 0), (5, 0))
    },
    "homogeneous eigenvalues": lambda a: scipy.linalg.eigvals(
        TURNING + 0.2 * a, np.eye(5) + 0.1 * a.T, homogeneous_eigvals=True
    ),
    "homogeneous eigenvalues with vectors": lambda a: scipy.linalg.eig(
        TURNING + 0.2j * a, np.eye(5) + 0.1 * a.T, homogeneous_eigvals=True
    )[0],
}


@pytest.mark.parametrize("case", one_in(7, SCHUR))
def test_forms_with_complex_eigenvalues(case):
    check_function(SCHUR[case], A, rtol=1e-5, value_rtol=1e-15)


def test_the_vectors_of_a_complex_form_do_not_turn():
    a = TURNING + 0.2 * A
    z, slope = fg.jvp(lambda a: scipy.linalg.schur(a, output="complex")[1], (a,), (A,))
    np.testing.assert_allclose(np.sum(np.conj(z) * slope, axis=0), 0.0, atol=1e-12)
    t, slopes = fg.jvp(lambda a: np.stack(scipy.linalg.schur(a, output="complex")), (a,), (A,))
    back = slopes[1] @ t[0] @ np.conj(t[1].T)
    back = back + t[1] @ slopes[0] @ np.conj(t[1].T) + t[1] @ t[0] @ np.conj(slopes[1].T)
    np.testing.assert_allclose(back, A, atol=1e-11)


def test_the_number_of_chosen_eigenvalues_is_scipys():
    def chosen(a):
        form, _, count = scipy.linalg.schur(a, sort="lhp")
        return count * form[0, 0]

    assert fg.grad(chosen)(np.diag([1.0, 2.0, -3.0]))[2, 2] == 1.0


def test_homogeneous_eigenvalues_of_stacks():
    pairs = np.stack([TURNING, TURNING.T + A]), np.eye(5) + 0.1 * A
    values = lambda a, b: scipy.linalg.eigvals(a, b, homogeneous_eigvals=True)  # noqa: E731
    np.testing.assert_array_equal(fg.jit(values)(*pairs), values(*pairs))


def test_forms_of_pairs_that_any_angle_turns_have_no_slopes():
    """The block of a pair is a multiple of a rotation, or that of the second matrix of the unit matrix."""
    turn = np.array([[1.0, 2.0], [-2.0, 1.0]])
    for form in (
        lambda a: scipy.linalg.schur(a)[0],
        lambda a: scipy.linalg.qz(a, np.eye(2) + 0.1 * (a - turn))[1],
        lambda a: scipy.linalg.ordqz(a, np.eye(2) + 0.1 * (a - turn))[0],
    ):
        assert np.all(np.isfinite(form(turn)))
        value, slope = fg.jvp(form, (turn,), (np.array([[1.0, 0.3], [0.2, -0.4]]),))
        np.testing.assert_array_equal(value, form(turn))
        assert np.any(np.isnan(slope))
        assert np.any(np.isnan(fg.grad(lambda a, f=form: np.sum(np.sin(f(a))))(turn)))


def test_ldl_of_a_singular_matrix():
    a = np.diag([3.0, 2.0, 0.0])
    slope = fg.jacobian(lambda a: scipy.linalg.ldl(a)[1])(a)
    np.testing.assert_array_equal(slope[2, 2], np.diag([0.0, 0.0, 1.0]))
    # The last block is not solved for.
    assert np.isfinite(fg.jacobian(lambda a: scipy.linalg.ldl(a)[0])(a)).all()


BASES = {
    "orth": lambda a: scipy.linalg.orth(a[:, :3]),
    "orth of dependent columns": lambda a: scipy.linalg.orth(a[:, :3] @ a[:3, :]),
    "null_space": lambda a: scipy.linalg.null_space(a[:4]),
    "null_space of a tall matrix": lambda a: scipy.linalg.null_space(a[:, :2] @ a[:2, :3]) ** 2,
    "null_space, complex": lambda a: np.abs(scipy.linalg.null_space(spread(a)[:4])),
}


@pytest.mark.parametrize("case", one_in(4, BASES))
def test_bases_have_scipys_values_and_derivatives(case):
    check_function(BASES[case], A, vmap=False)


def test_several_vectors_of_a_null_space_are_rotated_freely():
    def projector(a):
        n = scipy.linalg.null_space(a)
        return n @ n.T

    np.testing.assert_allclose(
        fg.jacrev(projector)(A[:3]),
        fg.jacobian(lambda a: np.eye(len(A)) - np.linalg.pinv(a) @ a)(A[:3]),
        atol=1e-12,
    )
    value = fg.jit(scipy.linalg.null_space)(A[:3])
    np.testing.assert_array_equal(value, scipy.linalg.null_space(A[:3]))
    with pytest.raises(ValueError, match="does not depend on which vectors"):
        fg.grad(lambda a: scipy.linalg.null_space(a)[0, 0])(A[:3])
    full = fg.jacobian(scipy.linalg.null_space)(A)
    assert full.shape == (5, 0, 5, 5)


FUNCTIONS = {
    "log": (WELL, lambda a: scipy.linalg.funm(a, np.log)),
    "complex eigenvalues": (A, lambda a: scipy.linalg.funm(a, np.sin)),
    "a composition": (A, lambda a: scipy.linalg.funm(a, lambda w: np.sqrt(w + 6) / (w + 9))),
    "complex": (A, lambda a: scipy.linalg.funm(spread(a), np.cos)),
    "what it captures": (A, lambda a: scipy.linalg.funm(A, lambda w: np.sin(w * a[0, 0]))),
    "both": (A, lambda a: scipy.linalg.funm(a, lambda w: a[0, 1] * np.cos(w * a[0, 0]))),
}


@pytest.mark.parametrize("case", one_in(3, FUNCTIONS))
def test_functions_of_a_matrix(case):
    a, f = FUNCTIONS[case]
    check_function(f, a, value_rtol=1e-15)


def test_functions_of_matrices_with_equal_eigenvalues():
    turned, _ = np.linalg.qr(A)
    close = turned @ np.diag([1.0, 1.0 + 1e-9, 1.0 - 1e-7, 2.0, 0.0]) @ turned.T
    for a in (np.eye(3), turned @ np.diag([1.0, 1.0, 2.0, 2.0, 3.0]) @ turned.T, close):
        wanted = fg.jacobian(scipy.linalg.expm)(a)
        found = fg.jacobian(lambda a: scipy.linalg.funm(a, np.exp))(a)
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7)
    nilpotent = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert np.isnan(fg.jacobian(lambda a: scipy.linalg.funm(a, np.exp))(nilpotent)).any()


def test_the_error_of_a_function_of_a_matrix_is_constant():
    found, error = fg.jit(lambda a: scipy.linalg.funm(a, np.sin, disp=False))(A)
    wanted = scipy.linalg.funm(A, np.sin, disp=False)
    np.testing.assert_allclose(found, wanted[0], rtol=1e-14)
    assert error == wanted[1]


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda a: scipy.linalg.rq(a[:3])[0], "rq: expected mode 'economic' or 'r'"),
        (lambda a: scipy.linalg.hessenberg(a[:3]), "hessenberg: expected a square matrix"),
        (lambda a: scipy.linalg.qr_multiply(a, a, "up")[0], "expected mode 'left' or 'right'"),
        (lambda a: scipy.linalg.qr_multiply(a, a[:, :3])[0], "shapes that fit c @ Q"),
        (
            lambda a: fg.scan(lambda c, b: (c, scipy.linalg.funm(-b @ b.T, np.log)), 0.0, a[None]),
            r"funm: .* real result, .*a.astype\(complex\)",
        ),
    ],
)
def test_what_is_refused(f, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fg.jacobian(f)(A)


@pytest.mark.parametrize("rcond", [None, 0.35, 0.7])
def test_orthonormal_bases_where_singular_values_are_cut_off(rcond):
    a, step = np.random.default_rng(1).normal(size=(2, 4, 3))
    f = lambda t: scipy.linalg.orth(a + t * step, rcond)  # noqa: E731
    slope = (f(1e-6) - f(-1e-6)) / 2e-6
    np.testing.assert_allclose(fg.jit(f)(0.0), f(0.0), rtol=1e-12, atol=1e-14)
    for jacobian in (fg.jacfwd, fg.jacrev):
        np.testing.assert_allclose(jacobian(f)(0.0), slope, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("options", [{"atol": 1.0}, {"atol": 0.5, "rtol": 0.2}, {"atol": 1e-9}])
def test_pseudoinverses_with_an_absolute_bound(options):
    a, step = np.random.default_rng(1).normal(size=(2, 4, 3))
    f = lambda t: scipy.linalg.pinv(a + t * step, **options)  # noqa: E731
    slope = (f(1e-6) - f(-1e-6)) / 2e-6
    np.testing.assert_allclose(fg.jit(f)(0.0), f(0.0), rtol=1e-12, atol=1e-14)
    for jacobian in (fg.jacfwd, fg.jacrev):
        np.testing.assert_allclose(jacobian(f)(0.0), slope, rtol=1e-7, atol=1e-8)
    rank = fg.jit(lambda a: scipy.linalg.pinv(a, return_rank=True, **options)[1])(a)
    assert rank == scipy.linalg.pinv(a, return_rank=True, **options)[1]


def test_homogeneous_eigenvalues_without_vectors():
    f = lambda a: scipy.linalg.eig(a, right=False, homogeneous_eigvals=True)  # noqa: E731
    np.testing.assert_array_equal(fg.jit(f)(TURNING), f(TURNING))
