"""Each operation read by each reader: what `tests/test_operation_readers.py` and docs/operations.md list."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import funcgrad as fg
from funcgrad.algebras import bounds, cost, precise
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.libraries.library_codegen import emitted
from funcgrad.compiler.python.scalar_ops import template_of
from funcgrad.expr import operation_table
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.decompositions import rotation_rate_op
from funcgrad.ops.matrix_functions import hermitian_function_op, singular_function_op
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.ops.reduced_resolvents import projected, resolved, turning
from funcgrad.ops.singular_value_functions import (
    singular_slope_op,
    singular_value_function_op,
    transported,
)
from funcgrad.ops.special.special_stand_ins import SPECIAL_FAMILIES
from funcgrad.ops.spectral_functions import spectral_function_op, spectral_slope_op
from funcgrad.scipy.fft import dct
from funcgrad.scipy.integrate import quad
from funcgrad.scipy.ndimage import spline_filter1d
from funcgrad.scipy.signal import lfilter
from funcgrad.scipy.sparse import csr_array
from tests.ops.samples import SAMPLES, SQUARE
from tests.ops.special_points import ANGULAR, IN_ARGUMENT_ALONE, IN_SOME, POINTS, WITHOUT_MPMATH


class Program(NamedTuple):
    """A program of one operation, and values of its inputs."""

    expr: fg.Expr
    inputs: list[fg.Expr]
    values: list[np.ndarray]

    def __call__(self, *args):
        return fg.substitute(self.expr, dict(zip(self.inputs, map(lifted, args), strict=True)))

    @property
    def given(self):
        return {f"x{k}": value for k, value in enumerate(self.values)}

    @property
    def smooth(self):
        return [k for k, x in enumerate(self.inputs) if x.dtype.kind in "fc"]


def lifted(value):
    return value if isinstance(value, fg.Expr) else fg.const(value)


def of_sample(name):
    """The operation on variables: on numbers if it acts entry by entry, else on its first sample's arrays."""
    op, (args, params) = all_ops()[name], SAMPLES[name][0]
    values = [np.asarray(arg) for arg in args]
    if isinstance(op, Elementwise) or op.columns.entrywise:
        values = [np.asarray(value.flat[0]) for value in values]
    inputs = [fg.var(f"x{k}", value.shape, value.dtype) for k, value in enumerate(values)]
    return Program(op(*inputs, **params), inputs, values)


def of_function(f, *values):
    values = [np.asarray(value) for value in values]
    inputs = [fg.var(f"x{k}", value.shape, value.dtype) for k, value in enumerate(values)]
    return Program(f(*inputs), inputs, values)


def _ruled(x):
    f = fg.custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * np.cos(x),))
    return f(x)


def _by_eigenvectors(f):
    def function(a):
        a = a + a.T
        w, v = np.linalg.eigh(a)
        return f(a, w, v)

    return function


def _as_spectral(a, w, v, op):
    values = (w**2, 2 * w, 2 * np.ones_like(w), fg.stop_gradient(w**2))
    if op is hermitian_function_op:
        return op(a, w, v, *values[:2], form="columns", triangle="L")
    if op is spectral_function_op:
        return op(a, w, v, *values, form="columns")
    return op(a, w, v, a, *values)


def _by_singular_vectors(op):
    def function(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        values = (s**3, 3 * s**2, 6 * s, fg.stop_gradient(s**3))
        if op is transported:
            n = op(a, u, s, vh, np.linalg.svd(a)[0][:, 2:])
            return n @ n.T
        if op is singular_slope_op:
            return op(a, u, s, vh, a, *values)
        if op is singular_function_op:
            return op(a, u, s, vh, *values[:2], form="columns", adjoint=False)
        return op(a, u, s, vh, *values, form="columns", adjoint=False)

    return function


def programs():
    """A program for each operation, by the operation's name."""
    made = {name: of_sample(name) for name in SAMPLES}
    made |= {
        "name": of_function(lambda x: fg.name(x * 2, "twice"), 0.7),
        "eig": of_function(lambda a: np.real(np.sum(np.linalg.eigvals(a) ** 3)), SQUARE),
        "eigh": of_function(lambda a: np.linalg.eigh(a)[0], SQUARE),
        "hermitian_function": of_function(
            _by_eigenvectors(lambda a, w, v: _as_spectral(a, w, v, hermitian_function_op)), SQUARE
        ),
        "singular_function": of_function(_by_singular_vectors(singular_function_op), SQUARE),
        "singular_value_function": of_function(
            _by_singular_vectors(singular_value_function_op), SQUARE
        ),
        "singular_slope": of_function(_by_singular_vectors(singular_slope_op), SQUARE),
        "transported": of_function(_by_singular_vectors(transported), SQUARE[:, :2]),
        "singular_norm": of_function(lambda a: np.linalg.norm(a, 2), SQUARE),
        "svd": of_function(lambda a: np.linalg.svd(a)[1], SQUARE),
        "rotation_rate": of_function(
            lambda a: rotation_rate_op(a + a.T, fg.const(np.ones((1, 1))), rows=3), SQUARE
        ),
        "singular_complement": of_function(lambda a: np.linalg.svd(a[:1])[2][1], SQUARE[:, :2]),
        "qr_complement": of_function(
            lambda a: np.linalg.qr(a, "complete")[0][:, -1], SQUARE[:, :2]
        ),
        "qr": of_function(lambda a: np.linalg.qr(a)[1], SQUARE),
        "resolved": of_function(
            _by_eigenvectors(lambda a, w, v: resolved(a, w, v, v, v**2, split=None)), SQUARE
        ),
        "projected": of_function(
            _by_eigenvectors(lambda a, w, v: projected(a, w, v, v, v**2, split=None)), SQUARE
        ),
        "spectral_function": of_function(
            _by_eigenvectors(lambda a, w, v: _as_spectral(a, w, v, spectral_function_op)), SQUARE
        ),
        "spectral_slope": of_function(
            _by_eigenvectors(lambda a, w, v: _as_spectral(a, w, v, spectral_slope_op)), SQUARE
        ),
        "turning": of_function(_by_eigenvectors(lambda a, w, v: turning(a, w, v, v) ** 2), SQUARE),
        "call": of_function(fg.checkpoint(np.sin), 0.7),
        "branch": of_function(lambda x: fg.cond(x > 0, np.sin, np.cos, x), 0.7),
        "loop": of_function(lambda x: fg.fori_loop(0, 3, lambda i, c: np.sin(c), x), 0.7),
        "custom_derivative": of_function(_ruled, 0.7),
        "implicit": of_function(
            lambda a: fg.implicit_root(lambda x, a: x * x - a)(fg.const(1.0), a), 4.0
        ),
        "integral": of_function(lambda k: quad(lambda x: np.exp(-k * x), 0.0, 2.0)[0], 0.7),
        "linear_filter": of_function(
            lambda b, x: lfilter(b, [1.0, -0.3, 0.1], x), np.array([0.4, 0.2]), SQUARE[0]
        ),
        "cosine_transform": of_function(dct, SQUARE),
        "sparse_product": of_function(lambda x: csr_array(np.diag([2.0, 0.0, 3.0])) @ x, SQUARE),
        "spline_filter": of_function(
            lambda x: spline_filter1d(x, axis=0), np.cos(np.arange(128.0) ** 2).reshape(64, 2)
        ),
        "foreign": of_function(
            fg.primitive(lambda x: np.sin(x), partials=[lambda x: np.cos(x)]), 0.7
        ),
    }
    return made


# -- special functions ------------------------------------------------------------------------------
WITH_PARAMS = {
    "gamma_moment": ((2.5, 1.6), {"order": 1, "upper": False}),
    "beta_moment": ((2.5, 1.6, 0.37), {"orders": (1, 1), "upper": True}),
    "polygamma_difference": ((2.5, 1.6), {"order": 1}),
    "fdtr_first": ((2.5, 1.6, 0.37), {"orders": (0, 1)}),
    "fdtr_second": ((2.5, 1.6, 0.37, -0.0184455224995324), {"orders": (0, 2)}),
    "noncentral_chi_square": ((2.5, 1.6, 0.7, 0.0), {"order": 1, "kind": "density"}),
    "beta_mixture": ((2.5, 1.6, 0.7, 0.4, 0.0), {"orders": (1, 0), "kind": "step"}),
    "noncentral_t": ((2.5, 1.6, 0.7, 0.0), {"order": 1, "slope": 0, "power": 0}),
    "mathieu_characteristic": ((2.0, 1.3), {"odd": False, "order": 1}),
    "mathieu_angular": ((2.0, 1.3, 30.0), {"odd": False, "order": 1, "slope": 1}),
    "mathieu_coefficient": ((2.0, 1.3, 1.0), {"odd": False, "order": 1}),
    "legendre_derivative": ((3.0, 0.37), {"order": 1}),
    "associated_legendre": ((3.0, 1.0, 0.37), {"order": 1, "branch_cut": 2, "norm": True}),
    "spherical_legendre": ((3.0, 1.0, 0.37), {"order": 1}),
    "legendre_q": ((3.0, 0.37), {"order": 1}),
    "kolmogorov_two_sided": ((0.3, 8.0), {"order": 1, "upper": False}),
    "landau_integral": ((0.7, 0.0), {"order": 2, "upper": False}),
    "noncentral_t_shift": ((2.5, 1.6, 0.7), {"slope": 1, "power": 1}),
    "lambertw": ((0.3 + 0.4j,), {"branch": 0}),
    "partial_derivative": ((2.5, 1.6), {"operation": "gammainc", "orders": (1, 0)}),
}
FURTHER = {
    "chi_square_shift": (2.5, 1.6, 0.7),
    "mixture_shift": (2.5, 1.6, 0.7, 0.4),
    "inverse_gaussian_reach": (0.3, 1.6, 0.7),
    **{f"normal_mixture_{end}": (0.3, 1.6, 2.7, 0.4) for end in ("start", "end")},
    **{f"studentized_{end}": (1.6, 3.0, 10.0, 0.0) for end in ("start", "end")},
    **{f"wallenius_{end}": (2.0, 3.0, 4.5, 0.5) for end in ("start", "end")},
    "gammasgn": (2.5,),
    "wofz": (0.3 + 0.4j,),
    "hankel1": (1.3, 0.3 + 0.4j),
    "hankel2": (1.3, 0.3 + 0.4j),
    "hankel1e": (1.3, 0.3 + 0.4j),
    "hankel2e": (1.3, 0.3 + 0.4j),
    **{f"modfresnel{sign}_{part}": (0.37,) for sign in "pm" for part in "fk"},
}
SHIFTS = {"chi_square_shift", "mixture_shift", "noncentral_t_shift"}
RANGES = {
    "inverse_gaussian_reach",
    *[
        f"{kind}_{end}"
        for kind in ("normal_mixture", "studentized", "wallenius")
        for end in ("start", "end")
    ],
}
COMPLEX_VALUES = {*FURTHER, "lambertw"} - {"gammasgn"} - SHIFTS - RANGES
SLOW_IN_MPMATH = {"associated_legendre", "beta_mixture", "legendre_q", "spherical_legendre"} | {
    *("noncentral_chi_square", "noncentral_t"),
}
"""Functions whose rows are for single numbers, and compared with in tests: digits would take minutes."""
IN_ALL_BUT_INTEGERS = {"mathieu_a", "mathieu_b", "smirnovi", *ANGULAR}
"""Functions whose parameters without a derivative are integers here."""
NO_EDGE = {"gammasgn", *SHIFTS, *RANGES, *IN_ARGUMENT_ALONE, *IN_SOME} - IN_ALL_BUT_INTEGERS
SPECIAL = sorted(all_ops(*SPECIAL_FAMILIES).keys() - all_ops().keys())
"""SciPy's special functions, and the functions that their derivatives are made of."""


def special_program(name):
    args, params = WITH_PARAMS.get(name, (None, {}))
    if args is None:
        points = {**POINTS, **WITHOUT_MPMATH}.get(name)
        assert name in FURTHER or points, (
            f"{name}: no arguments to test it at; add some to tests/ops/special_points.py: to POINTS if "
            "its record has the mpmath column, and to WITHOUT_MPMATH if not"
        )
        args = FURTHER.get(name) or points[0]
    inputs = [fg.var(f"x{k}", (), np.asarray(x).dtype) for k, x in enumerate(args)]
    return Program(
        operation_table.ops[name](*inputs, **params), inputs, list(map(np.asarray, args))
    )


PARTS = {"i2": ("i0", "i1"), "i2e": ("i0e", "i1e"), "j2": ("j0", "j1")}
"""The special functions that a decomposition is made of."""


def reads_special(reader, name):
    """Whether a reader reads a special function: if its record has the reader's column."""
    if reader in ("forward mode", "reverse mode", "second order"):
        return name not in NO_EDGE
    if reader == "sparsity":
        return name not in {*COMPLEX_VALUES, *NO_EDGE} - {
            "besselpoly",
            "gammasgn",
            *SHIFTS,
            *RANGES,
        }
    if reader == "precise" and name in SLOW_IN_MPMATH:
        return False
    own = READERS[reader]
    if reader in ("to_jax", "to_torch") and name in PARTS:
        return all(reads_special(reader, part) for part in PARTS[name])
    return not own.column or own.has_row(operation_table.ops[name].columns)


# -- readers: each raises if it cannot read a program, and else gives values to compare -----------------
def _value(p):
    return fg.evaluate(p.expr, p.given)


def _real_sum(p):
    return lambda *xs: np.sum(np.real(p(*xs)))


def _moved(p):
    """Whether the program's derivative is anything at all."""
    if not p.smooth or p.expr.dtype.kind not in "fc":
        raise TypeError("not differentiable")
    total = np.sum(np.real(p.expr))
    if not any(p.inputs[k] in fg.backprop(total) for k in p.smooth):
        raise TypeError("not differentiable")


def _reverse(p):
    _moved(p)
    fg.grad(_real_sum(p), tuple(p.smooth))(*p.values)


def _forward(p):
    _moved(p)
    tangents = [np.ones_like(p.values[k]) for k in p.smooth]
    rest = list(p.values)

    def f(*xs):
        for k, x in zip(p.smooth, xs, strict=True):
            rest[k] = x
        return _real_sum(p)(*rest)

    _, moved = fg.jvp(f, tuple(p.values[k] for k in p.smooth), tuple(tangents))
    gradient = fg.grad(f, tuple(range(len(p.smooth))))(*[p.values[k] for k in p.smooth])
    flow = sum(np.real(np.sum(g * t)) for g, t in zip(gradient, tangents, strict=True))
    np.testing.assert_allclose(moved, flow, rtol=1e-9, atol=1e-12)


def _second(p):
    _moved(p)
    k = p.smooth[0]

    def f(x):
        return _real_sum(p)(*[x if i == k else value for i, value in enumerate(p.values)])

    slope = fg.grad(lambda x: np.sum(np.real(fg.grad(f)(x) * 0.7)))(p.values[k])
    assert np.shape(slope) == p.values[k].shape


def _vmap(p):
    many = [np.stack([value, value]) for value in p.values]
    return fg.vmap(p)(*many)[1]


def _math(p):
    space = {}
    exec(fg.to_python(p.expr, module="math"), space)
    return space["f"](*[value.item() for value in p.values])


def _native(p):
    flat = flatten_program([p.expr], p.inputs)
    for step in flat.steps[flat.inputs :]:
        if step.op is not CONSTANT and template_of(flat, step) is None:
            raise TypeError("no machine code")


def _python(p):
    space = {}
    exec(fg.to_python(p.expr), space)
    return space["f"](*p.values)


def _latex(p):
    assert fg.to_latex(p.expr)


def _repr(p):
    assert repr(p.expr)


def _sympy(p):
    import sympy

    expr = fg.to_sympy(p.expr)
    if p.expr.dtype.kind == "b":
        symbols = {sympy.Symbol(name): value.item() for name, value in p.given.items()}
        return bool(expr.subs(symbols))
    given = {sympy.Symbol(name): value.item() for name, value in p.given.items()}
    found = complex(expr.subs(given))
    return found if p.expr.dtype.kind == "c" else found.real


def _in(module):
    def read(p):
        from importlib import import_module

        library = import_module(f"funcgrad.compiler.libraries.{module}_").library()
        (found,) = emitted([p.expr], p.inputs, library)(*p.values)
        return np.asarray(found)

    return read


def _json(p):
    assert fg.from_json(fg.to_json(p.expr)).key == p.expr.key


def _bounds(p):
    found, value = bounds(p.expr, **p.given), _value(p)
    assert np.all((found.lo <= value) & (value <= found.hi))


def _precise(p):
    return np.asarray(precise(p.expr, digits=20, **p.given))


def _sparsity(p):
    if p.expr.dtype.kind != "f" or not any(x.dtype.kind == "f" for x in p.inputs):
        raise TypeError("not differentiable")
    k = next(i for i, x in enumerate(p.inputs) if x.dtype.kind == "f")

    def f(x):
        return p(*[x if i == k else value for i, value in enumerate(p.values)])

    found = fg.sparse_jacobian(f)(p.values[k]).toarray()
    dense = np.reshape(fg.jacobian(f)(p.values[k]), found.shape)
    np.testing.assert_allclose(found, dense, rtol=1e-9, atol=1e-12)


def _cost(p):
    assert cost(p.expr).flops >= 0


def read(reader, program):
    """Raises if a reader does not read the program, or reads another value than the program has."""
    with np.errstate(all="ignore"):
        found = READERS[reader].read(program)
        expected = np.asarray(fg.evaluate(program.expr, program.given))
    if found is None or reader in ("forward mode", "reverse mode", "second order"):
        return
    found = np.asarray(found)
    if found.dtype == object:
        found = found.astype(complex if expected.dtype.kind == "c" else float)
    np.testing.assert_allclose(found.astype(expected.dtype), expected, rtol=1e-7, atol=1e-9)


class Reader(NamedTuple):
    """A reader of programs, and the column of an operation's record that it reads."""

    read: Callable
    """Raises if it cannot read a program, and else gives values to compare, or None."""
    column: str = ""
    """A field of `Columns`, or ``libraries:name``; empty if the reader reads every operation."""
    package: str = ""
    """The optional package that it needs."""

    def has_row(self, columns):
        """Whether an operation's record has the column."""
        field, _, library = self.column.partition(":")
        row = getattr(columns, field)
        return library in (row or {}) if library else row is not None


READERS = {
    "value": Reader(_value),
    "forward mode": Reader(_forward),
    "reverse mode": Reader(_reverse),
    "second order": Reader(_second),
    "vmap": Reader(_vmap),
    "jit": Reader(lambda p: fg.jit(p)(*p.values)),
    "math": Reader(_math, "scalar"),
    "native": Reader(_native, "scalar"),
    "repr": Reader(_repr),
    "to_latex": Reader(_latex),
    "to_python": Reader(_python, "numpy"),
    "to_sympy": Reader(_sympy, "sympy", "sympy"),
    "to_jax": Reader(_in("jax"), "libraries:jax", "jax"),
    "to_torch": Reader(_in("torch"), "libraries:torch", "torch"),
    "to_json": Reader(_json),
    "bounds": Reader(_bounds, "interval"),
    "precise": Reader(_precise, "mpmath", "mpmath"),
    "cost": Reader(_cost),
    "sparsity": Reader(_sparsity),
}


# -- gaps ------------------------------------------------------------------------------------------
DISCRETE = (
    "sign absolute_slope floor ceil trunc rint isfinite isinf isnan signbit stop_gradient invert logical_not "
    "less less_equal greater greater_equal equal not_equal floor_divide logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift any all argmax argmin argsort "
    "argpartition order_statistics searchsorted detsign has_cholesky rotation_rate "
    "null_space_shift"
)
ARRAYS = (
    "reshape transpose concatenate sum max min prod logsumexp norm any all argmax argmin "
    "argsort argpartition order_statistics searchsorted interp cumprod cumsum recurrence "
    "running_maximum running_minimum linear_filter spline_filter cosine_transform sparse_product "
    "overlapping_windows added_windows fft rfft irfft getitem index_add "
    "index_set scatter_add matmul einsum convolve solve inv pinv cholesky has_cholesky logabsdet "
    "null_space_shift "
    "detsign detphase det cofactors eig eigh hermitian_function "
    "singular_complement singular_function singular_norm svd qr resolved projected turning "
    "columns_product at_columns spectral_function spectral_slope singular_value_function singular_slope "
    "transported rotation_rate qr_complement"
)
MATRICES = (
    "solve inv pinv cholesky has_cholesky logabsdet det cofactors eig eigh hermitian_function "
    "singular_function singular_complement singular_norm svd qr detsign resolved projected turning "
    "spectral_function spectral_slope singular_value_function singular_slope transported qr_complement"
)
BODIES = "call branch loop custom_derivative implicit integral"
NOT_DIFFERENTIABLE = {"its derivative is zero, or it has none": DISCRETE}
PRIMITIVE = "a user's own function, of which only its values and derivatives are known"
GAPS: dict[str, dict[str, str]] = {
    "forward mode": NOT_DIFFERENTIABLE,
    "reverse mode": NOT_DIFFERENTIABLE,
    "second order": NOT_DIFFERENTIABLE,
    "math": {
        "it works on arrays": f"broadcast_to {ARRAYS}",
        "it works on dtypes other than float64 and bool": (
            "bitwise_and bitwise_or bitwise_xor left_shift right_shift astype"
        ),
        "it holds programs of its own": BODIES,
        "`math` has no such function, or a less accurate one": (
            "gammaln polygamma sinc numpy_i0 imag make_complex"
        ),
        PRIMITIVE: "foreign",
    },
    "native": {
        "it works on arrays": f"broadcast_to {ARRAYS}",
        "it holds programs of its own, which become machine code with the loop that they stand in": BODIES,
        "it has no scalar template": "gammaln polygamma sinc numpy_i0 imag astype",
        PRIMITIVE: "foreign",
    },
    "to_python": {
        "its solver is a Python object": "implicit",
        "SciPy's quadrature is not a function of NumPy's": "integral",
        PRIMITIVE: "foreign",
    },
    "to_sympy": {
        "it combines or moves entries of arrays": f"broadcast_to {ARRAYS}",
        "SymPy has no bits of integers": "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
        "SymPy has no such function": "rint isfinite isinf isnan copysign signbit",
        "SymPy has no loops, and no number that a solver or a quadrature finds": "loop implicit integral",
        PRIMITIVE: "foreign",
    },
    "to_jax": {
        "it runs SciPy on NumPy's arrays": "implicit integral",
        PRIMITIVE: "foreign",
    },
    "to_torch": {
        "it runs SciPy on NumPy's arrays": "implicit integral",
        PRIMITIVE: "foreign",
    },
    "to_json": {PRIMITIVE: "foreign"},
    "bounds": {
        "no enclosure is known that is of use": f"linear_filter {MATRICES}",
        "complex values have no order": "fft rfft irfft cosine_transform detphase make_complex",
        "programs within are not read": BODIES,
        PRIMITIVE: "foreign",
    },
    "precise": {
        "NumPy's decompositions and transforms know no other numbers": (
            "eig eigh has_cholesky fft rfft irfft cosine_transform hermitian_function pinv qr "
            "singular_complement singular_function singular_norm "
            "svd resolved projected turning spectral_function spectral_slope singular_value_function "
            "singular_slope transported qr_complement"
        ),
        "programs within are not read": BODIES,
        PRIMITIVE: "foreign",
    },
    "cost": {PRIMITIVE: "foreign"},
    "sparsity": {
        "its value, or all that it reads, is not of real floats": (
            "isfinite isinf isnan signbit invert logical_not less less_equal greater greater_equal equal "
            "not_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift "
            "right_shift any all argmax "
            "argmin argsort argpartition order_statistics searchsorted has_cholesky fft rfft irfft detphase "
            "make_complex"
        )
    },
}
"""The operations that a reader does not read, by the reason."""


def gaps(reader):
    return {name for names in GAPS.get(reader, {}).values() for name in names.split()}


def page():
    """The text of docs/operations.md."""
    lines = [
        "# What each reader does not read",
        "",
        "An operation's record has a column for most readers of programs. If it is empty, the readers of",
        "math, to_python, to_sympy, to_jax, to_torch, bounds and precise read the operation's",
        "decomposition. This page lists the operations that a reader does not read, and why.",
        "Every other pair of an operation and a reader is tested: values are NumPy's, bounds hold them,",
        "sparse Jacobians are the dense ones, formulas are written. `python tools/operation_table.py` writes",
        "this page.",
        "",
        f"Readers: {', '.join(READERS)}.",
        "",
        f"Operations ({len(programs())}): {', '.join(sorted(programs()))}.",
    ]
    for reader, reasons in GAPS.items():
        lines += ["", f"## {reader}", "", "| operations | why not |", "| --- | --- |"]
        lines += [
            f"| {', '.join(sorted(names.split()))} | {why} |" for why, names in reasons.items()
        ]
    readers = [r for r in READERS if not all(reads_special(r, name) for name in SPECIAL)]
    whole = ", ".join(reader for reader in READERS if reader not in readers)
    lines += [
        "",
        "## Special functions",
        "",
        "The functions of `scipy.special`, and those that their derivatives are made of, are operations that",
        f"are imported when they are used. They are read by {whole}; by the others as marked.",
        "",
        f"| operation | {' | '.join(readers)} |",
        f"| --- |{' --- |' * len(readers)}",
    ]
    for name in SPECIAL:
        marks = ["yes" if reads_special(reader, name) else "" for reader in readers]
        lines.append(f"| {name} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"
