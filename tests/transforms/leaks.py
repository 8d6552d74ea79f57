"""Ways in which Python, NumPy and SciPy ask a traced value for a plain number, as code of ``x``, a float."""

from importlib import import_module

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp

_MODULES = (
    *("array", "cmath", "collections", "copy", "ctypes", "decimal", "fractions", "functools", "io"),
    *(
        "itertools",
        "json",
        "math",
        "numbers",
        "operator",
        "pickle",
        "random",
        "statistics",
        "struct",
    ),
)
_OF_SCIPY = ("integrate", "interpolate", "linalg", "optimize", "special", "stats")


class Float(float):
    """A subclass of a number."""


class Cell:
    """An object with a slot for a number."""

    value = None


def stored(store, dtype=float, shape=3):
    """The sum of an array into which a function has put something."""
    array = np.zeros(shape, dtype)
    store(array)
    return array.sum()


def set_item(array, index, value):
    array[index] = value


def add_item(array, index, value):
    array[index] += value


def _scipy():
    for name in _OF_SCIPY:
        import_module(f"scipy.{name}")
    return import_module("scipy")


NAMESPACE = {
    **{name: import_module(name) for name in _MODULES},
    **{"np": np, "fg": fg, "fnp": fnp, "scipy": _scipy()},
    **{"Float": Float, "Cell": Cell, "stored": stored, "set_item": set_item, "add_item": add_item},
}
"""What the code of a way may name."""

DIFFERENTIATED = [
    # Python's own
    "x.item()",
    "np.stack([x, 2 * x]).item(1)",
    "np.stack([x, 2 * x]).item((1,))",
    "np.reshape(np.stack([x, 2 * x]), (1, 2)).item(0, 1)",
    "np.stack([x, 2 * x]).tolist()[1]",
    "np.reshape(np.stack([x, 3 * x]), (2, 1)).tolist()[1][0]",
    "np.reshape(x, (1, 1)).item()",
    "sum([x, x, 2.0])",
    "max(x, 0.5)",
    "min([x, x * x, 9.0])",
    "abs(-x)",
    "pow(x, 3)",
    "sorted([x, 0.1, x * x])[1]",
    "(x if isinstance(x, float) else 2.0)",
    "(x if isinstance(x, numbers.Real) else 2.0)",
    "(x if issubclass(x.__class__, float) else 2.0)",
    "(x if np.isscalar(x) else 2.0)",
    "(np.sum(x) if not isinstance(np.stack([x, x]), np.ndarray) else x)",
    "functools.reduce(operator.mul, [x, x, x])",
    "list(itertools.accumulate([x, x, x]))[-1]",
    "divmod(x, 0.7)[1]",
    "x % 0.7",
    "copy.copy(x) * copy.deepcopy(x)",
    "collections.deque([x, 2 * x]).pop()",
    "{'a': x}['a']",
    "(lambda c: (setattr(c, 'value', x), c.value)[1])(Cell())",
    "random.Random(0).uniform(0, x)",
    "x.real + x.imag",
    "x.conjugate()",
    "+x - (-x)",
    "operator.truediv(x, 2)",
    "(x if x > 0 else -x)",
    "[x, 2 * x][int(x)]",
    "[v for v in np.stack([x, x * x])][1]",
    "next(iter(np.stack([x, 2 * x])))",
    # NumPy
    "np.sin(x)",
    "np.stack([x, x * x]).astype(object)[1]",
    "np.stack([x, x * x]).astype(object).sum()",
    "np.add(x, 1.0)",
    "np.array(1.0) * x",
    "np.float64(2.0) * x",
    "np.stack([x, 2.0]).sum()",
    "np.concatenate([np.reshape(x, 1), [1.0]]).sum()",
    "np.where(x > 0, x, 0.0)",
    "np.copy(x)",
    "np.round(x) * x",
    "np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 4.0])",
    "fnp.array([x, 2 * x])[1]",
    "fnp.full(3, x)[0]",
    "fnp.float64(x)",
    "np.zeros(3).sum() + x",
    "fg.const(np.zeros(3)).at[0].set(x).sum()",
    "np.unique(np.stack([x, x, 3 * x])).sum()",
    "np.real(x * 1j * -1j)",
    "np.abs(np.exp(1j * x) + 1)",
    # SciPy
    "scipy.special.expit(x)",
    "scipy.special.gammaln(x)",
]
"""These keep their derivative."""

REFUSED = [
    # Python's own
    "float(x)",
    "float(x * x)",
    "complex(x).real",
    "abs(complex(x, 1.0))",
    "Float(x)",
    "float.__new__(float, x)",
    "float.__add__(1.0, float(x))",
    "x.__float__()",
    "complex(1.0, x).imag",
    "[float(v) for v in np.stack([x, 2 * x])][1]",
    "sum(map(float, [x, x]))",
    "x.as_integer_ratio()[0] / x.as_integer_ratio()[1]",
    "float.fromhex(x.hex())",
    "float(max(x, 0.5))",
    "float(np.where(x > 0, x, 0.0))",
    "float(x % 0.7)",
    "float(x.item())",
    "float(np.stack([x, 2 * x])[1])",
    "float(np.stack([x, 2 * x]).sum())",
    "float(fg.grad(lambda t: t * t * x)(x))",
    # math and cmath
    "math.sin(x)",
    "math.exp(x)",
    "math.sqrt(x)",
    "math.log(x)",
    "math.log(x, 2)",
    "math.pow(x, 2)",
    "math.atan2(x, 1.0)",
    "math.hypot(x, 1.0)",
    "math.fabs(x)",
    "math.fmod(x, 0.7)",
    "math.fsum([x, x])",
    "math.dist([x], [0.0])",
    "math.prod([1.0, float(x)])",
    "math.erf(x)",
    "math.gamma(x)",
    "math.copysign(x, 1.0)",
    "math.degrees(x)",
    "math.ldexp(x, 2)",
    "math.modf(x)[0]",
    "math.frexp(x)[0]",
    "math.remainder(x, 0.7)",
    "math.nextafter(x, 9.0)",
    "sum(map(math.sin, [x, x]))",
    "functools.partial(math.sin, x)()",
    "operator.call(math.sin, x) if hasattr(operator, 'call') else math.sin(x)",
    "cmath.exp(x).real",
    "cmath.sqrt(x * (1 + 0j)).real",
    "cmath.polar(x)[0]",
    "abs(cmath.rect(x, 0.5))",
    "cmath.log(x).real",
    # statistics
    "statistics.fmean([x, x])",
    "statistics.mean([x, 2 * x])",
    "statistics.stdev([x, 2 * x])",
    "statistics.geometric_mean([x, x])",
    "statistics.harmonic_mean([x, x])",
    "statistics.NormalDist(x, 1.0).cdf(0.5)",
    "statistics.linear_regression([0.0, 1.0], [x, 2 * x])[0]",
    # memory
    "array.array('d', [x])[0]",
    "array.array('d', [0.0]).__setitem__(0, x)",
    "ctypes.c_double(x).value",
    "(ctypes.c_double * 2)(x, x)[1]",
    # copies
    "pickle.loads(pickle.dumps(x))",
    "pickle.loads(pickle.dumps([x, 2 * x]))[1]",
    # stores
    "stored(lambda a: set_item(a, 0, x))",
    "stored(lambda a: set_item(a, slice(0, 2), x))",
    "stored(lambda a: set_item(a, [0, 2], x))",
    "stored(lambda a: set_item(a, a == 0, x))",
    "stored(lambda a: set_item(a, slice(0, 2), [x, x]))",
    "stored(lambda a: set_item(a, slice(0, 2), np.stack([x, x])))",
    "stored(lambda a: add_item(a, 0, x))",
    "stored(lambda a: a.__setitem__(0, x))",
    "stored(lambda a: operator.setitem(a, 0, x))",
    "stored(lambda a: (lambda put: put(x))(a.fill))",
    "stored(lambda a: a.fill(x))",
    "stored(lambda a: a.itemset(0, x) if hasattr(a, 'itemset') else a.fill(x))",
    "stored(lambda a: set_item(a, 0, x), complex).real",
    "stored(lambda a: set_item(a, 0, x), np.float32)",
    "stored(lambda a: set_item(a, (), x), shape=())",
    "stored(lambda a: np.put(a, 0, x))",
    "stored(lambda a: np.place(a, a == 0, [x]))",
    "stored(lambda a: np.putmask(a, a == 0, x))",
    "stored(lambda a: np.copyto(a, x))",
    "stored(lambda a: np.fill_diagonal(a, x), shape=(2, 2))",
    "stored(lambda a: np.add.at(a, 0, x))",
    "stored(lambda a: np.add(x, 1.0, out=a))",
    "stored(lambda a: operator.iadd(a, x))",
    # NumPy
    "np.float64(x)",
    "np.float32(x)",
    "np.complex128(x).real",
    "np.double(x)",
    "np.array(x)",
    "np.array([x, 1.0]).sum()",
    "np.asarray(x)",
    "np.asarray([x, x]).sum()",
    "np.full(3, x).sum()",
    "np.fromiter([x, x], float).sum()",
    "np.fromiter((x for _ in range(2)), float).sum()",
    "np.array([(x,)], [('a', float)])['a'][0]",
    "np.vectorize(math.sin)(x)",
    "np.frompyfunc(math.sin, 1, 1)(x)",
    "np.fromfunction(lambda i: i * x, (2,)).sum() * float(x)",
    "np.apply_along_axis(lambda v: v.sum() * float(x), 0, np.ones(2))",
    "np.random.default_rng(0).normal(x)",
    "np.polynomial.Polynomial([x, 1.0])(2.0)",
    "np.linspace(0.0, float(x), 3)[1]",
    # SciPy
    "scipy.integrate.quad(lambda t: t * x, 0.0, 1.0)[0]",
    "scipy.integrate.quad(lambda t: t, 0.0, x)[0]",
    "scipy.integrate.quad(lambda t, a: a * t, 0.0, 1.0, args=(x,))[0]",
    "scipy.optimize.minimize_scalar(lambda t: (t - x) ** 2).x",
    "scipy.optimize.minimize(lambda t: (t[0] - x) ** 2, [0.0]).x[0]",
    "scipy.optimize.newton(lambda t: float(t * t - x), 1.0)",
    "scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 1.0), [1.0], rtol=1e-10, atol=1e-12).y[0, -1]",
    "scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [x], rtol=1e-10, atol=1e-12).y[0, -1]",
    "scipy.integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0])[1, 0]",
    "scipy.interpolate.interp1d([0.0, 2.0], [0.0, 4.0])(x)",
    "scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(x)",
    "scipy.linalg.expm(np.array([[float(x)]]))[0, 0]",
    "scipy.stats.norm.cdf(x)",
]
"""These would lose it: a TypeError, which NumPy or SciPy may put an error of its own in front of."""

ERRORS = [
    "scipy.optimize.fsolve(lambda t: t * t - x, [1.0])[0]",
    # SciPy's C code goes on with the TypeError pending: whether its text or another error comes out
    # depends on the state of Python's type cache.
    "scipy.optimize.brentq(lambda t: t * t - x, 0.0, 3.0)",
    "scipy.optimize.bisect(lambda t: t * t - x, 0.0, 3.0)",
    "scipy.optimize.root_scalar(lambda t: t * t - x, bracket=(0.0, 3.0)).root",
    "scipy.optimize.brentq(lambda t: t * t - 1.0, 0.0, x)",
    "np.piecewise(np.zeros(2), [True, False], [x, 1.0]).sum()",
    "stored(lambda a: set_item(a.flat, 0, x))",
    "decimal.Decimal(x)",
    "fractions.Fraction(x)",
    "struct.unpack('d', struct.pack('d', x))[0]",
    "np.frombuffer(memoryview(x))[0]",
    "float(json.dumps(x))",
    "{x: 2.0}[x]",
    "len({x, 2.0})",
    "functools.lru_cache(lambda t: t)(x)",
    "float.fromhex(float.hex(x))",
    "range(x)",
    "'ab'[x]",
    "'%d' % [x]",
    "decimal.Decimal.from_float(x)",
    "np.zeros(x).sum()",
    "x.bit_length()",
]
"""These are errors of Python's, NumPy's or funcgrad's, whatever is asked for."""

ZERO = [
    # truth and order
    "(2.0 if x else 3.0)",
    "float(bool(x))",
    "(2.0 if x > 1 else 3.0)",
    "float(x > 1)",
    "(x > 1) * 2.0",
    "float(not x)",
    "float(x == 1.3)",
    "float(1.3 in [x])",
    "float(all([x, x]) + any([x, 0.0]))",
    # whole numbers
    "int(x)",
    "float(int(x))",
    "int(x * 100) / 100",
    "x // 0.4",
    "divmod(x, 0.7)[0]",
    "round(x)",
    "float(round(x))",
    "round(x, 1)",
    "math.floor(x)",
    "math.ceil(x)",
    "math.trunc(x)",
    "float(np.floor(x))",
    "float(np.rint(x)) + float(np.sign(x))",
    "[1.0, 2.0, 3.0][int(x)]",
    "sum(range(int(x) + 2))",
    "float(x.is_integer())",
    "float(np.argmax(np.stack([x, 0.5, 3.0])))",
    "np.argsort(np.stack([x, 0.5])).item(0)",
    "float(len(np.stack([x, x])))",
    "'abc'.index('abc'[int(x)])",
    "stored(lambda a: set_item(a, 0, x), int)",
    "np.zeros(int(x) + 1).size",
    "math.isfinite(int(x)) * 2.0",
    "math.gcd(int(x * 10), 4)",
    # text
    "float(str(x))",
    "float(f'{x:.2f}')",
    "float(format(x, '.3e'))",
    "float('{}'.format(x))",
    "float('%s' % x)",
    "float(len(str(x)))",
    "float(x.astype(str))",
    "float(np.stack([x, x]).astype('U4')[1])",
    "(2.0 if np.stack([x]).astype(str)[0] == '1.3' else 3.0)",
    "float(len(np.array2string(np.reshape(x, ()))))",
    "np.bool_(x) * 2.0",
    "(print(x, file=io.StringIO()), 2.0)[1]",
    # said
    "float(fg.stop_gradient(x))",
    "math.sin(fg.stop_gradient(x))",
    "np.asarray(fg.stop_gradient(x))[()]",
    "fg.stop_gradient(x).item()",
    "float(fg.stop_gradient(x * x) + 1.0)",
    "statistics.fmean([fg.stop_gradient(x), 1.0])",
    "stored(lambda a: set_item(a, 0, fg.stop_gradient(x)))",
    "scipy.integrate.quad(lambda t: t * fg.stop_gradient(x), 0.0, 1.0)[0]",
    # numbers that are none of the value's
    "float(np.float64(2.0))",
    "float(fg.const(2.0))",
    "float(x.size + x.ndim)",
    "float(isinstance(x, numbers.Number)) * 0.0 + 1.0",
]
"""These answer, and their derivative is zero."""
