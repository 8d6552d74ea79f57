"""What must hold of every program: one function a relation, which raises AssertionError.

Where funcgrad runs what NumPy runs, results agree to the bit. Where it may add in another order, or
call `math` for numbers, they agree as far as rounding goes: the program is run with each value off by a
last place, and what moves then may differ. What does not move agrees in full: zeros with their signs,
infinities, NaNs, whole numbers, dtypes and shapes.
"""

import pickle
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad as fg
from tests.fuzz.programs import Program, pasted

Arguments = tuple[Any, ...]
Relation = Callable[[Program, Arguments], None]


class UnfitError(Exception):
    """NumPy itself refuses these arguments, or a relation says nothing of this program."""


# -- comparing -----------------------------------------------------------------------------------
class Judge:
    """NumPy's results for a program and its arguments, and how far rounding moves them."""

    def __init__(self, program: Program, args: Arguments) -> None:
        self.program, self.args = program, args
        try:
            self.results = [np.asarray(r) for r in program.reference(*args)]
            self.moved = [
                [np.asarray(r) for r in program.rounded(off(seed), *args)] for seed in range(4)
            ]
        except (ValueError, OverflowError, ZeroDivisionError, IndexError) as error:
            raise UnfitError(str(error)) from None

    def fail(self, who: str, what: str) -> None:
        raise AssertionError(f"{who}: {what}\n\n{pasted(self.program, self.args)}")

    def must_equal(self, who: str, found: Sequence[Any]) -> None:
        """The results are NumPy's, with dtype, shape and every bit."""
        self._compare(who, found, exact=True, signs=True)

    def must_agree(self, who: str, found: Sequence[Any], signs: bool = True) -> None:
        """The results are NumPy's as far as rounding goes; ``signs``: zeros' signs, too."""
        self._compare(who, found, exact=False, signs=signs)

    def _compare(self, who: str, found: Sequence[Any], exact: bool, signs: bool) -> None:
        for k, (name, want) in enumerate(zip(self.program.results, self.results, strict=True)):
            got = np.asarray(found[k])
            if not signs and got.dtype.kind in "fc":
                got, want = got + got.dtype.type(0), want + want.dtype.type(0)
            if (got.dtype, got.shape) != (want.dtype, want.shape):
                self.fail(
                    who,
                    f"{name} is {want.dtype}{want.shape} in NumPy, but {got.dtype}{got.shape}",
                )
            same = identical(got, want)
            if not exact:
                same |= near(got, want, [m[k] for m in self.moved])
            if not exact and not np.all(same):
                same |= self._stable(k, got, want)
            if not np.all(same):
                where = tuple(np.argwhere(~same)[0])
                place = f"[{', '.join(map(str, where))}]" if where else ""
                self.fail(who, f"{name}{place} is {want[where]!r} in NumPy, but {got[where]!r}")

    def _stable(self, k: int, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """Where NumPy overflows or underflows on the way, and the value is what exact arithmetic gives."""
        if want.dtype.kind == "b":  # such as a comparison with the value
            return np.full(want.shape, self._reads_a_stable_value())
        lost = is_lost(got, want)
        if want.dtype.kind != "f" or not np.any(lost):
            return np.zeros(want.shape, bool)
        expr = fg.trace(self.program.traced, *self.args)[k]
        exact = exact_value(expr, named(self.program, self.args, expr))
        if exact is None:
            return np.zeros(want.shape, bool)
        with np.errstate(all="ignore"):
            close = np.abs(got - exact) <= 64 * np.spacing(np.abs(got)).astype(float)
        return lost & close

    def _reads_a_stable_value(self) -> bool:
        names = tuple(dict.fromkeys(step.name for step in self.program.body))
        whole = self.program.only(names)
        pairs = zip(fg.jit(whole.traced)(*self.args), whole.reference(*self.args), strict=True)
        floats = [(np.asarray(got), np.asarray(want)) for got, want in pairs]
        return any(want.dtype.kind == "f" and np.any(is_lost(got, want)) for got, want in floats)


def exact_value(expr: Any, given: dict[str, Any]) -> np.ndarray | None:
    """What exact arithmetic gives; None where it gives nothing."""
    arrays = {name: np.asarray(value) for name, value in given.items()}
    key = expr.key, *[(n, a.dtype.str, a.shape, a.tobytes()) for n, a in arrays.items()]
    if key not in _EXACT:  # some take half a second, and all relations ask for the same
        if len(_EXACT) > 100:
            _EXACT.clear()
        try:
            exact = fg.precise(expr, **given)
        except (ValueError, TypeError, ZeroDivisionError, OverflowError):
            exact = None
        _EXACT[key] = None if exact is None else np.array(exact, float)
    return _EXACT[key]


_EXACT: dict[Any, np.ndarray | None] = {}


def is_lost(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where NumPy overflows or underflows, and a stable form does not."""
    return (~np.isfinite(want) | (want == 0)) & np.isfinite(got) & (got != 0)


def identical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where two arrays have the same value and sign; NaNs are all the same."""
    if x.dtype.kind == "c":
        return identical(x.real, y.real) & identical(x.imag, y.imag)
    if x.dtype.kind != "f":
        return np.asarray(x == y)
    return ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))


def near(got: np.ndarray, want: np.ndarray, moved: Sequence[np.ndarray]) -> np.ndarray:
    """Where a value is as near to NumPy's as some of those that were rounded otherwise, times 16."""
    if any(m.shape != want.shape or m.dtype != want.dtype for m in moved):
        raise UnfitError("rounding changes the shape")
    if want.dtype.kind == "c":
        real = near(got.real, want.real, [m.real for m in moved])
        # BLAS has several products of complex numbers, in which infinities leave infinities or NaN.
        lost = ~np.isfinite(got) & ~np.isfinite(want)
        return lost | (real & near(got.imag, want.imag, [m.imag for m in moved]))
    if want.dtype.kind != "f":
        return np.any([m != want for m in moved], axis=0)
    steady = np.all([identical(m, want) for m in moved], axis=0)
    finite = np.all([np.isfinite(m) for m in moved], axis=0) & np.isfinite(want)
    with np.errstate(all="ignore"):
        span = np.max([np.abs(m.astype(float) - want) for m in moved], axis=0)
        ulps = 16 * span + 4 * np.spacing(np.abs(want)).astype(float)
        close = np.abs(got.astype(float) - want.astype(float)) <= ulps
    exact_zero = (want == 0) & steady
    unsure = ~finite & ~steady
    return unsure | (finite & np.isfinite(got) & close & ~exact_zero)


def off(seed: int) -> Callable[[Any], Any]:
    """A function that moves each float by a last place, up or down at random; not zeros nor infinities."""
    rng = np.random.default_rng(seed)

    def moved(value: Any) -> Any:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            result = np.empty_like(array)
            place = np.spacing(np.maximum(np.abs(array.real), np.abs(array.imag)))
            result.real, result.imag = by(array.real, place), by(array.imag, place)
            return result[()]
        return by(array, np.spacing(np.abs(array)))[()] if array.dtype.kind == "f" else value

    def by(array: np.ndarray, place: np.ndarray) -> np.ndarray:
        still = ~np.isfinite(array) | ~np.isfinite(place) | (array == 0)
        sign = rng.choice([-1, 1], array.shape).astype(array.dtype)
        return np.where(still, array, array + sign * place)

    return moved


# -- values --------------------------------------------------------------------------------------
def evaluate_is_numpy(program: Program, args: Arguments) -> None:
    """A traced program, evaluated as it is written, gives each bit of NumPy's result."""
    judge = Judge(program, args)
    traced = fg.trace(program.traced, *args)
    judge.must_agree("evaluate", [expr(**named(program, args, expr)) for expr in traced])


def jit_is_numpy(program: Program, args: Arguments) -> None:
    """Compiled programs give NumPy's result in every run: interpreted, then printed; elsewhere, and back."""
    judge = Judge(program, args)
    run = fg.jit(program.traced)
    judge.must_agree("jit, first run", run(*args))
    for _ in range(3):
        again = run(*args)
    judge.must_agree("jit, compiled", again)
    other = tuple(np.asarray(np.sign(a) if a.dtype.kind == "f" else a)[()] for a in args)
    try:
        there = Judge(program, other)
    except UnfitError:
        return
    there.must_agree("jit, other arguments", run(*other))
    judge.must_agree("jit, back again", run(*args))


def differentiated_value_is_numpy(program: Program, args: Arguments) -> None:
    """`value_and_grad` leaves the value as it is."""
    program, places = differentiable(program, args)
    judge = Judge(program, args)
    found, _ = fg.vjp(*_of(program, args, places))
    judge.must_agree("the value of vjp", found)
    primal, _ = fg.jvp(
        *_of(program, args, places, together=True), tuple(np.ones_like(args[k]) for k in places)
    )
    judge.must_agree("the value of jvp", primal)


def text_is_value(program: Program, args: Arguments) -> None:
    """The source that `to_python` writes gives what `evaluate` gives."""
    judge = Judge(program, args)
    found = []
    for expr in fg.trace(program.traced, *args):
        source = fg.to_python(expr)
        space: dict[str, Any] = {}
        exec(source, space)
        found.append(space["f"](**named(program, args, expr)))
    judge.must_agree("to_python", found)


def stored_is_same(program: Program, args: Arguments) -> None:
    """JSON and pickle give the program back."""
    Judge(program, args)
    for expr in fg.trace(program.traced, *args):
        assert fg.from_json(fg.to_json(expr)).key == expr.key, pasted(program, args)
        assert pickle.loads(pickle.dumps(expr)).key == expr.key, pasted(program, args)
        assert repr(expr)


def simplified_is_value(program: Program, args: Arguments) -> None:
    """Simplified programs, for readers, have the same finite values but for the signs of zeros."""
    judge = Judge(program, args)
    values = [*judge.results, *_values_on_the_way(program, args).values()]
    if not all(np.all(np.isfinite(value)) for value in values):
        raise UnfitError("simplification is for finite values")
    found = []
    for expr in fg.trace(program.traced, *args):
        simple = fg.simplify(expr)
        found.append(simple(**named(program, args, simple)))
    judge.must_agree("simplify", found, signs=False)


def vmap_is_loop(program: Program, args: Arguments) -> None:
    """A batch gives what its examples give one by one."""
    examples = [
        args,
        tuple(a[..., ::-1] if np.ndim(a) else -a if a.dtype.kind == "f" else a for a in args),
    ]
    every = (True,) * len(args)
    first = (True, *every[1:]) if ".at[" in program.source() else (True, *[False] * (len(args) - 1))
    for mapped in {every, first}:
        judges = [
            Judge(program, tuple(b if m else a for a, b, m in zip(args, e, mapped, strict=True)))
            for e in examples
        ]
        batch = [np.stack([e[k] for e in examples]) if m else args[k] for k, m in enumerate(mapped)]
        axes = tuple(0 if m else None for m in mapped)
        run = fg.vmap(program.traced, in_axes=axes)
        for who, f in (("vmap", run), ("jit of vmap", fg.jit(run))):
            found = f(*batch)
            for k, judge in enumerate(judges):
                judge.must_agree(
                    f"{who}, in_axes={axes}, example {k}",
                    _of_one_dtype(judge, [r[k] for r in found]),
                )


def _of_one_dtype(judge: Judge, found: Sequence[Any]) -> Sequence[Any]:
    """The results of one example: an integer arm of a branch, beside one of floats, is a float in a batch."""
    types = [(np.asarray(r).dtype, w.dtype) for r, w in zip(found, judge.results, strict=True)]
    if any(step.block for step in judge.program.body) and any(
        got.kind == "f" and want.kind in "biu" for got, want in types
    ):
        raise UnfitError("arms of several dtypes")
    return found


# -- derivatives ---------------------------------------------------------------------------------
def differentiable(program: Program, args: Arguments) -> tuple[Program, tuple[int, ...]]:
    """The program with its inexact results alone, and the places of its inexact arguments."""
    results = Judge(program, args).results
    names = [n for n, r in zip(program.results, results, strict=True) if r.dtype.kind in "fc"]
    places = tuple(k for k, a in enumerate(args) if np.asarray(a).dtype.kind in "fc")
    if not names or not places:
        raise UnfitError("nothing to differentiate")
    return program.only(tuple(names)), places


def _of(program: Program, args: Arguments, places: Sequence[int], together: bool = False) -> Any:
    """The program as a function of some arguments, and those."""

    def f(*chosen: Any) -> Any:
        given = list(args)
        for k, value in zip(places, chosen, strict=True):
            given[k] = value
        return program.traced(*given)

    chosen = tuple(args[k] for k in places)
    return (f, chosen) if together else (f, *chosen)


def directions(items: Sequence[Any], seed: int) -> tuple[Any, ...]:
    """A random direction for each array."""
    rng = np.random.default_rng(seed)
    result = []
    for item in items:
        item = np.asarray(item)
        v = rng.standard_normal(item.shape)
        if item.dtype.kind == "c":
            v = v + 1j * rng.standard_normal(item.shape)
        result.append(np.asarray(v).astype(item.dtype)[()])
    return tuple(result)


def paired(us: Sequence[Any], vs: Sequence[Any]) -> tuple[float, float]:
    """The real part of the sum of products, and the sum of their magnitudes."""
    terms = [np.ravel(np.asarray(u).astype(complex) * v) for u, v in zip(us, vs, strict=True)]
    everything = np.concatenate(terms)
    return float(everything.real.sum()), float(np.abs(everything).sum())


_PLACES = {"f": {8: 1e-8, 4: 2e-3, 2: 0.3}, "c": {16: 1e-8, 8: 2e-3}}


def tolerance(items: Sequence[Any]) -> float:
    return max(_PLACES[a.dtype.kind][a.dtype.itemsize] for a in map(np.asarray, items))


def reverse_is_forward(program: Program, args: Arguments) -> None:
    """Both modes are transposes of each other, compiled and not."""
    program, places = differentiable(program, args)
    judge = Judge(program, args)
    vs = directions([args[k] for k in places], 1)
    _, tangents = fg.jvp(*_of(program, args, places, together=True), vs)
    ws = directions(judge.results, 2)
    _, pullback = fg.vjp(*_of(program, args, places))
    cotangents = pullback(tuple(ws))
    for item, want in zip(cotangents, [args[k] for k in places], strict=True):
        if (np.asarray(item).dtype, np.shape(item)) != (np.asarray(want).dtype, np.shape(want)):
            judge.fail("vjp", f"expected a cotangent like {want!r}, but got {item!r}")
    for item, want in zip(tangents, judge.results, strict=True):
        if (np.asarray(item).dtype, np.shape(item)) != (want.dtype, want.shape):
            judge.fail("jvp", f"expected a tangent like {want!r}, but got {item!r}")
    forward, size = paired(ws, tangents)
    reverse, other = paired(cotangents, vs)
    scale = size + other
    if not np.isfinite(scale) or scale > 1e8:
        return
    items = [*tangents, *cotangents]
    on_the_way = [v for v in _values_on_the_way(program, args).values() if v.dtype.kind in "fc"]
    if abs(forward - reverse) > tolerance([*items, *on_the_way]) * (scale + 1):
        judge.fail("forward and reverse mode", f"{forward} and {reverse}")


def weighted(program: Program, args: Arguments) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A real number that depends on all results: as funcgrad is given it, and for NumPy's arrays."""
    weights = directions(Judge(program, args).results, 3)

    def combined(results: Sequence[Any]) -> Any:
        return sum(np.sum(np.real(r * w)) for r, w in zip(results, weights, strict=True))

    return (
        lambda *args: combined(program.traced(*args)),
        lambda *args: combined(program.reference(*args)),
    )


def gradient_is_difference(program: Program, args: Arguments) -> None:
    """Gradients are limits of differences; second derivatives, of differences of gradients."""
    program, places = differentiable(program, args)
    judge = Judge(program, args)
    inexact = [*judge.results, *(np.asarray(args[k]) for k in places)]
    if any(a.dtype not in (np.float64, np.complex128) for a in inexact):
        raise UnfitError("differences need double precision")
    if any("astype" in step.text or "float32" in step.text for step in program.body):
        raise UnfitError("differences need double precision")
    loss, number = weighted(program, args)
    vs = directions([args[k] for k in places], 4)

    def along(h: float) -> Arguments:
        given = list(args)
        for k, v in zip(places, vs, strict=True):
            given[k] = args[k] + h * v
        return tuple(given)

    gradient = fg.grad(loss, argnums=places)
    found, size = paired(gradient(*args), vs)
    if np.isnan(found) and _is_singular(program, args):
        raise UnfitError("0 times an infinite slope is NaN")
    _agree(judge, "gradient", found, size, lambda h: number(*along(h)))
    compiled_, _ = paired(fg.jit(gradient)(*args), vs)
    if np.isfinite(found) and abs(compiled_ - found) > 1e-8 * (abs(found) + size + 1e-6):
        judge.fail("jit of grad", f"{found} un-jitted, but {compiled_}")

    def slope(*args: Any) -> Any:
        return sum(np.sum(np.real(g * v)) for g, v in zip(gradient(*args), vs, strict=True))

    _, second = fg.jvp(
        lambda *chosen: slope(*_placed(args, places, chosen)), tuple(args[k] for k in places), vs
    )
    _agree(
        judge, "second derivative", float(second), abs(second), lambda h: float(slope(*along(h)))
    )
    crossed, _ = paired(fg.grad(slope, argnums=places)(*args), vs)
    if (
        np.isfinite(second)
        and abs(second) < 1e6
        and abs(crossed - second) > 1e-6 * (abs(second) + 1)
    ):
        judge.fail("second derivatives", f"{second} forward over reverse, but {crossed} in reverse")


def _values_on_the_way(program: Program, args: Arguments) -> dict[str, np.ndarray]:
    """NumPy's value of each step."""
    names = tuple(dict.fromkeys(step.name for step in program.body))
    return dict(zip(names, Judge(program.only(names), args).results, strict=True))


def _is_singular(program: Program, args: Arguments) -> bool:
    """Whether a value on the way is not finite, or an inverse such as arccos is taken at 1 or -1."""
    values = _values_on_the_way(program, args)
    if any(v.dtype.kind in "fc" and not np.all(np.isfinite(v)) for v in values.values()):
        return True
    found = [re.search(r"np\.arc(?:cos|sin|cosh)\((\w+)\)", step.text) for step in program.body]
    operands = {match[1] for match in found if match} & set(values)
    return any(np.any(np.abs(values[name]) == 1) for name in operands)


def _placed(args: Arguments, places: Sequence[int], chosen: Sequence[Any]) -> list[Any]:
    given = list(args)
    for k, value in zip(places, chosen, strict=True):
        given[k] = value
    return given


def _agree(
    judge: Judge, who: str, found: float, size: float, number: Callable[[float], float]
) -> None:
    """A derivative along a line is a central difference, where differences settle."""
    h = 1e-4
    at = {k: number(k * h) for k in (-2, -1, 0, 1, 2)}
    central = (at[1] - at[-1]) / (2 * h)
    wide = (at[2] - at[-2]) / (4 * h)
    best = (4 * central - wide) / 3
    kink = abs(at[1] - 2 * at[0] + at[-1]) / h
    scale = 1 + abs(best) + max(map(abs, at.values()))
    if not np.isfinite(scale) or scale > 1e5:
        return
    if abs(central - wide) > 1e-4 * scale or kink > 1e-2 * scale:
        return
    if not abs(found - best) <= 1e-5 * scale:
        judge.fail(who, f"{found}, but differences give {best}")


# -- all of them ---------------------------------------------------------------------------------
def named(program: Program, args: Arguments, expr: Any) -> dict[str, Any]:
    """The arguments that an expression has variables for."""
    by_name = {item.name: value for item, value in zip(program.inputs, args, strict=True)}
    names = {node.name for node in expr.graph.values() if node.op.name == "input"}
    return {name: value for name, value in by_name.items() if name in names}


VALUES: tuple[Relation, ...] = (
    evaluate_is_numpy,
    jit_is_numpy,
    differentiated_value_is_numpy,
    text_is_value,
    vmap_is_loop,
)
"""Relations of values, which hold at special points, too."""
AT_GENERIC_POINTS: tuple[Relation, ...] = (
    simplified_is_value,
    stored_is_same,
    reverse_is_forward,
    gradient_is_difference,
)


def check(relation: Relation, program: Program, args: Arguments) -> bool:
    """Whether a relation applies; raises AssertionError where it does not hold.

    The error is that of the first result for which the relation fails by itself, if there is one.
    """
    found = failure(relation, program, args)
    if not isinstance(found, AssertionError):
        return found
    for name in program.results:
        smaller = failure(relation, program.sliced((name,)), args)
        if isinstance(smaller, AssertionError):
            raise smaller
    raise found


def failure(relation: Relation, program: Program, args: Arguments) -> AssertionError | bool:
    """The error of a relation that does not hold; else whether it applies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            relation(program, args)
        except UnfitError:
            return False
        except AssertionError as error:
            return error
        except Exception as error:
            text = f"{relation.__name__}: {type(error).__name__}: {error}"
            return AssertionError(f"{text}\n\n{pasted(program, args)}")
    return True
