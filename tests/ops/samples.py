"""Sample operands for every operation: where its rule is checked."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import const
from funcgrad.ops.base.op import Elementwise, Op
from funcgrad.ops.numpy.dispatch import all_ops


class Sample(NamedTuple):
    """Operands (arrays) and params of one call."""

    args: tuple[Any, ...]
    params: dict[str, Any] = {}  # noqa: RUF012  # never changed


_rng = np.random.default_rng(7)
POSITIVE = _rng.uniform(0.3, 2.0, (3, 4))
ANY = _rng.uniform(-2.0, 2.0, (3, 4))
OTHER = _rng.uniform(-2.0, 2.0, (3, 4))
UNIT = _rng.uniform(-0.9, 0.9, (3, 4))
SCALAR = np.array(0.7)
EMPTY = np.zeros((0, 4))
COMPLEX = ANY + 1j * OTHER
TRUTH = ANY > 0
INTEGER = np.arange(1, 13).reshape(3, 4)
ROWS = np.array([2, 0, 2])


def unary(x: Any) -> list[Sample]:
    return [Sample((x,)), Sample((np.float64(x.flat[0]),)), Sample((x[:0],))]


def binary(x: Any, y: Any) -> list[Sample]:
    return [Sample((x, y)), Sample((x.flat[0], y.flat[1])), Sample((x[:0], y[:0]))]


def _floats(names: str, domain: Any) -> dict[str, list[Sample]]:
    return {name: unary(domain) for name in names.split()}


# Well conditioned, and not symmetric: what reads one triangle must not see the other.
SQUARE = np.array([[2.1, 0.3, -0.5], [0.7, 1.8, 0.4], [-0.2, 0.6, 2.4]])
FOUR = _rng.uniform(-1.0, 1.0, (4, 4)) + 2 * np.eye(4)
STACK = np.stack([SQUARE, SQUARE.T @ SQUARE])
COMPLEX_SQUARE = SQUARE + 0.3j * np.array([[0.0, 1.0, 0.4], [-1.0, 0.0, 0.7], [-0.4, 0.2, 0.0]])
SIDES = _rng.uniform(-1.0, 1.0, (3, 2))


COMPLEX_SAMPLES: dict[str, list[Sample]] = {
    "where": [Sample((TRUTH, COMPLEX, COMPLEX[::-1]))],
    "mask": [Sample((TRUTH, COMPLEX))],
    "broadcast_to": [Sample((COMPLEX[:1],), {"shape": (3, 4)})],
    "reshape": [Sample((COMPLEX,), {"shape": (12,)})],
    "transpose": [Sample((COMPLEX,), {"axes": (1, 0)})],
    "concatenate": [Sample((COMPLEX, COMPLEX), {"axis": 1})],
    "prod": [Sample((COMPLEX,), {"axis": (0,)})],
    "logsumexp": [Sample((COMPLEX,), {"axis": (0,)})],
    "cumsum": [Sample((COMPLEX,), {"axis": 1})],
    "cumprod": [Sample((COMPLEX,), {"axis": 1})],
    "recurrence": [Sample((COMPLEX, COMPLEX[::-1]), {"axis": 1})],
    "getitem": [Sample((COMPLEX, ROWS), {"spec": ("array",), "shape": (3, 4)})],
    "index_set": [
        Sample((COMPLEX, COMPLEX[2], ROWS[0]), {"spec": ("array",), "unique": True}),
        Sample((COMPLEX, COMPLEX[::-1], ROWS), {"spec": ("array",), "unique": False}),
    ],
    "index_add": [Sample((COMPLEX, COMPLEX[::-1], ROWS), {"spec": ("array",)})],
    "scatter_add": [Sample((COMPLEX, ROWS), {"spec": ("array",), "shape": (3, 4)})],
    "einsum": [Sample((COMPLEX, COMPLEX), {"subscripts": "ij,kj->ik"})],
    "convolve": [Sample((COMPLEX[0], COMPLEX[1, :3]), {"kept": "full"})],
    "astype": [Sample((COMPLEX,), {"dtype": np.dtype("complex64")})],
}

REAL_SAMPLES: dict[str, list[Sample]] = {
    **_floats("negative positive exp exp2 expm1 sin cos tanh sinh cosh arctan arcsinh", ANY),
    **_floats(
        "square sign absolute_slope floor ceil trunc rint isfinite isinf isnan signbit stop_gradient",
        ANY,
    ),
    **_floats("log log2 log10 log1p sqrt cbrt reciprocal xlogx", POSITIVE),
    **_floats("tan arcsin arccos arctanh", UNIT),
    **_floats("sech_squared sigmoid softplus deg2rad rad2deg fabs", ANY),
    "arccosh": unary(POSITIVE + 1.0),
    "gammaln": unary(POSITIVE),
    "numpy_i0": unary(ANY),
    "polygamma": [Sample((POSITIVE,), {"order": n}) for n in range(3)],
    "absolute": [*unary(ANY), Sample((COMPLEX,))],
    "real": [*unary(ANY), Sample((COMPLEX,))],
    "imag": [*unary(ANY), Sample((COMPLEX,))],
    "conjugate": [*unary(ANY), Sample((COMPLEX,))],
    "make_complex": binary(ANY, OTHER),
    "invert": [Sample((TRUTH,))],
    "logical_not": [Sample((TRUTH,))],
    **{
        name: binary(ANY, OTHER)
        for name in [
            "add",
            "subtract",
            "multiply",
            "divide",
            "determined_quotient",
            "determined_product",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "logaddexp",
            "logaddexp2",
            "arctan2",
            "hypot",
            "copysign",
            "less",
            "less_equal",
            "greater",
            "greater_equal",
            "equal",
            "not_equal",
        ]
    },
    # Away from the jumps: a whole number and a half of periods.
    **{
        name: [Sample((np.array([2.5, -3.1, 0.7]), np.array([1.1, 0.6, 2.0])))]
        for name in ("remainder", "fmod", "floor_divide")
    },
    "power": [*binary(POSITIVE, ANY), Sample((ANY, np.full((3, 4), 3.0)))],
    **{name: [Sample((TRUTH, ~TRUTH))] for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: [Sample((INTEGER, INTEGER))] for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: [Sample((INTEGER, abs(INTEGER)))] for name in ("left_shift", "right_shift")},
    "where": [Sample((TRUTH, ANY, OTHER)), Sample((np.True_, SCALAR, SCALAR + 1))],
    "mask": [Sample((TRUTH, ANY))],
    "sinc": [Sample((ANY,), {"order": n}) for n in range(4)]
    + [Sample((np.array([0.0, 0.1, -0.2, 1.0]),), {"order": n}) for n in range(4)],
    "astype": [
        Sample((ANY,), {"dtype": np.dtype("float32")}),
        Sample((ANY,), {"dtype": np.dtype(complex)}),
        Sample((INTEGER,), {"dtype": np.dtype(float)}),
    ],
    "broadcast_to": [
        Sample((ANY,), {"shape": (2, 3, 4)}),
        Sample((ANY[:, :1],), {"shape": (3, 4)}),
        Sample((SCALAR,), {"shape": (2, 0)}),
    ],
    "leaf": [Sample((ANY,), {"scope": None, "place": 0})],
    "reshape": [Sample((ANY,), {"shape": (4, 3)}), Sample((EMPTY,), {"shape": (4, 0)})],
    "transpose": [Sample((ANY,), {"axes": (1, 0)})],
    "concatenate": [Sample((ANY, OTHER, EMPTY), {"axis": 0}), Sample((ANY, OTHER), {"axis": 1})],
    "sum": [Sample((ANY,), {"axis": a}) for a in ((0,), (0, 1), ())]
    + [Sample((EMPTY,), {"axis": (0,)}), Sample((COMPLEX,), {"axis": (1,)})],
    **{name: [Sample((ANY,), {"axis": a}) for a in ((0,), (0, 1))] for name in ("max", "min")},
    "prod": [
        Sample((ANY,), {"axis": (1,)}),
        Sample((np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]]),), {"axis": (1,)}),
    ],
    "logsumexp": [Sample((ANY,), {"axis": a}) for a in ((0,), (0, 1))],
    "norm": [Sample((ANY,), {"axis": a}) for a in ((0,), (0, 1))]
    + [Sample((COMPLEX,), {"axis": (1,)})],
    "any": [Sample((TRUTH,), {"axis": (0,)})],
    "all": [Sample((TRUTH,), {"axis": (0,)})],
    "argmax": [Sample((ANY,), {"axis": 1})],
    "argmin": [Sample((ANY,), {"axis": 1})],
    "argsort": [Sample((ANY,), {"axis": 1})],
    "argpartition": [Sample((ANY,), {"kth": (2,), "axis": 1})],
    "order_statistics": [
        Sample((ANY, np.array([[1, 3]] * 3)), {"axis": 1}),
        Sample((np.sin(np.arange(300.0)), np.array([0, 149, 299])), {"axis": 0}),
    ],
    "searchsorted": [
        Sample((np.sort(ANY[0]), OTHER), {"side": "left"}),
        Sample((np.sort(ANY[0]), SCALAR), {"side": "right"}),
        Sample((np.sort(ANY), OTHER), {"side": "right"}),
    ],
    "interp": [
        Sample((OTHER, np.sort(ANY[0]), OTHER[1])),
        Sample((np.array(np.mean(ANY[0])), np.sort(ANY[0]), OTHER[1])),
        Sample((OTHER, np.sort(ANY), OTHER[::-1])),
    ],
    "cumsum": [Sample((ANY,), {"axis": 0}), Sample((ANY,), {"axis": 1})],
    "cumprod": [
        *[Sample((ANY,), {"axis": axis}) for axis in (0, 1)],
        Sample((np.array([[2.0, 0.0, 3.0, 0.5], [0.0, 0.0, 1.0, -1.0]]),), {"axis": 1}),
        Sample((EMPTY,), {"axis": 0}),
    ],
    "recurrence": [
        *[Sample((ANY, OTHER), {"axis": axis}) for axis in (0, 1)],
        Sample((EMPTY, EMPTY), {"axis": 0}),
    ],
    **{
        name: [Sample((ANY,), {"axis": 0}), Sample((ANY,), {"axis": 1})]
        for name in ("running_maximum", "running_minimum")
    },
    "overlapping_windows": [
        Sample((ANY.ravel(),), {"shape": (8, 5), "steps": (1, 1), "start": 0}),
        Sample((ANY,), {"shape": (2, 3), "steps": (1, -1), "start": 2}),
    ],
    "added_windows": [
        Sample((OTHER,), {"steps": (2, 1), "start": 1, "length": 12}),
        Sample((ANY,), {"steps": (1,), "start": 0, "length": 4}),
    ],
    "fft": [
        Sample((COMPLEX,), {"axis": 1, "inverse": False}),
        Sample((COMPLEX,), {"axis": 0, "inverse": True}),
    ],
    "rfft": [Sample((ANY,), {"axis": 1}), Sample((ANY,), {"axis": 0})],
    "irfft": [
        Sample((COMPLEX,), {"axis": 0, "size": 2 * COMPLEX.shape[0] - 2}),
        Sample((COMPLEX,), {"axis": 1, "size": 2 * COMPLEX.shape[1] - 1}),
    ],
    "getitem": [
        Sample((ANY,), {"spec": (1,), "shape": (4,)}),
        Sample((ANY,), {"spec": ("...", ("slice", None, None, -2)), "shape": (3, 2)}),
        Sample((ANY, ROWS), {"spec": ("array",), "shape": (3, 4)}),
    ],
    "index_set": [
        Sample((ANY, OTHER[0]), {"spec": (1,), "unique": True}),
        Sample((ANY, OTHER[:, ::2]), {"spec": ("...", ("slice", None, None, -2)), "unique": True}),
        Sample((ANY, OTHER, ROWS), {"spec": ("array",), "unique": False}),
        Sample((ANY, OTHER[0], ROWS[0]), {"spec": ("array",), "unique": True}),
    ],
    "index_add": [
        Sample((ANY, OTHER[0]), {"spec": (1,)}),
        Sample((ANY, OTHER, ROWS), {"spec": ("array",)}),
    ],
    "scatter_add": [
        Sample((ANY[0],), {"spec": (1,), "shape": (3, 4)}),
        Sample((ANY, ROWS), {"spec": ("array",), "shape": (3, 4)}),
    ],
    "matmul": [
        Sample((ANY, OTHER.T)),
        Sample((ANY, OTHER[0])),
        Sample((ANY[:, 0], OTHER)),
        Sample((ANY[0], OTHER[0])),
        Sample((np.stack([ANY, OTHER]), np.stack([OTHER.T, ANY.T]))),
        Sample((COMPLEX, COMPLEX.T)),
        Sample((np.zeros((2, 0)), np.zeros((0, 3)))),
    ],
    "columns_product": [
        Sample((ANY, OTHER)),
        Sample((COMPLEX, OTHER)),
        Sample((np.stack([ANY, OTHER]), np.stack([OTHER, ANY]))),
    ],
    "at_columns": [
        Sample((ANY, OTHER.T)),
        Sample((COMPLEX, OTHER.T)),
        Sample((np.stack([ANY, OTHER]), np.stack([OTHER.T, ANY.T]))),
    ],
    "convolve": [
        Sample((ANY[0], OTHER[0, :3]), {"kept": "full"}),
        Sample((ANY[0, :2], OTHER[0]), {"kept": "same"}),
        Sample((ANY, OTHER[:, :2]), {"kept": "valid"}),
        Sample((ANY[0], OTHER[0, :3]), {"kept": (-2, 5)}),
        Sample((ANY[:, :3], OTHER), {"kept": (2, 7)}),
    ],
    "einsum": [
        Sample((ANY, OTHER), {"subscripts": "ij,kj->ik"}),
        Sample((ANY, OTHER[0], POSITIVE), {"subscripts": "ij,j,ij->i"}),
        Sample((ANY,), {"subscripts": "ij->ji"}),
    ],
}

REAL_SAMPLES |= {
    "solve": [
        Sample((SQUARE, SIDES)),
        Sample((STACK, np.stack([SIDES, 2 * SIDES]))),
        Sample((SQUARE[:0, :0], SIDES[:0])),
    ],
    "inv": [Sample((SQUARE,)), Sample((STACK,)), Sample((SQUARE[:0, :0],))],
    "pinv": [Sample((x,), {"rcond": 1e-6, "hermitian": False}) for x in (ANY, ANY.T, STACK, SIDES)],
    "cholesky": [Sample((SQUARE,)), Sample((STACK,)), Sample((SQUARE[:0, :0],))],
    "null_space_shift": [
        Sample((a, a[..., 0]), {"kind": kind, "who": "f"})
        for a in (SQUARE, STACK)
        for kind in ("argmin", "root")
    ],
    "has_cholesky": [Sample((SQUARE,)), Sample((np.stack([SQUARE, -SQUARE]),))],
    "logabsdet": [Sample((SQUARE,)), Sample((-STACK,)), Sample((COMPLEX_SQUARE,))],
    "detsign": [Sample((SQUARE,)), Sample((-STACK,))],
    "detphase": [Sample((COMPLEX_SQUARE,)), Sample((np.stack([COMPLEX_SQUARE, 1j * STACK[1]]),))],
    "det": [Sample((SQUARE,)), Sample((STACK,)), Sample((FOUR,)), Sample((SIDES[:2],))],
    "cofactors": [
        Sample((FOUR,)),
        Sample((np.stack([FOUR, FOUR.T - 1]),)),
        Sample((FOUR @ np.diag([1.0, 2.0, 3.0, 0.0]) @ FOUR,)),
    ],
}
COMPLEX_SAMPLES |= {
    "solve": [Sample((COMPLEX_SQUARE, SIDES + 1j))],
    "inv": [Sample((COMPLEX_SQUARE,))],
    "pinv": [Sample((COMPLEX,), {"rcond": 1e-6, "hermitian": False})],
    "cholesky": [Sample((COMPLEX_SQUARE,))],
    "det": [Sample((COMPLEX_SQUARE,)), Sample((FOUR + 1j * FOUR.T,))],
    "cofactors": [Sample((FOUR + 1j * FOUR.T,))],
}


def _complex_samples() -> dict[str, list[Sample]]:
    """Those of operations that act entry by entry, and whose records do not say that they take real numbers
    alone: off the real axis, where cuts lie."""
    found = {}
    for name, op in all_ops().items():
        args, params = REAL_SAMPLES.get(name, [Sample((TRUTH,))])[0]
        acts_on_entries = isinstance(op, Elementwise) or op.columns.entrywise
        if not acts_on_entries or any(np.asarray(arg).dtype.kind != "f" for arg in args):
            continue
        operands = (COMPLEX, COMPLEX[::-1] + 0.5)[: len(args)]
        try:
            op(*map(const, operands), **params)
        except TypeError:
            continue
        numbers = (COMPLEX.flat[0], COMPLEX.flat[1])[: len(args)]
        found[name] = [Sample(operands, params), Sample(numbers, params)]
    return found


COMPLEX_SAMPLES = _complex_samples() | COMPLEX_SAMPLES
SAMPLES: dict[str, list[Sample]] = {
    name: samples + COMPLEX_SAMPLES.get(name, []) for name, samples in REAL_SAMPLES.items()
}


def call(op: Op, params: dict[str, Any]) -> Callable[..., Any]:
    """The operation as a function of its operands alone."""

    def function(*args: Any) -> Any:
        return op(*args, **params)

    return function
