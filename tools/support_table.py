"""Measure what functions of NumPy and SciPy do with traced values.

``python tools/support_table.py NAME...`` runs a call of each function and prints whether its value, forward
mode, reverse mode, second order, jit and vmap are right; ``--write`` measures all, in minutes, or those that
are named, and writes what `funcgrad.supports` reads and docs/support.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy.sparse import csc_array

import funcgrad as fg

HOME = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HOME))

from tools import scipy_calls, support_calls  # noqa: E402

ARRAYS = {
    "x": np.array([0.31, 0.72, 0.55, 0.87]),
    "y": np.array([1.21, 1.83, 1.47, 1.69]),
    "A": np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.3], [-0.2, 0.6, 1.7]]),
    "B": np.array([[0.7, -0.3, 0.1], [0.4, 1.1, 0.9], [0.2, -0.8, 1.4]]),
}
"""The arguments of derivatives."""
FIXED = {
    "k": np.array([2, 0, 3, 1]),
    "c": np.array([True, False, True, True]),
    "D": csc_array(np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 0.0, 4.0]])),
}
SETUP = {"S": "S = A @ A.T + np.eye(3)", "m": "m = np.ma.masked_less(x, 0.4)"}
"""Names that calls read, with the statements that make them of the arguments."""
MEASURED = ("value", "forward", "reverse", "second order", "jit", "vmap")


class Row(NamedTuple):
    """What a function does with traced values."""

    name: str
    call: str
    kind: str
    """``differentiable``, ``constant``, or ``refused``."""
    where: str
    """``any``, or ``functions``: in those that are traced, but not on formulas."""
    holds: tuple[bool, ...]
    """Which of `MEASURED` hold."""
    note: str = ""


_SOLVED = (
    *("scipy.odr.", "scipy.optimize.", "scipy.integrate.", "scipy.stats.boxcox_normmax"),
    "scipy.stats.ppcc_max",
    "scipy.stats.yeojohnson_normmax",
)
"""What is solved further than SciPy does: differences are those of its own values."""
IN_PLACE = ("copyto", "fill_diagonal", "place", "put", "putmask", "put_along_axis")


def program(call: str) -> Callable[..., Any]:
    """The call as a function of the arrays that it reads."""
    made = [text for name, text in SETUP.items() if name in _words(call)]
    words = _words(" ".join([call, *made]))
    names = [name for name in ARRAYS if name in words]
    setup = "".join([f"    {text}\n" for text in made])
    result = call
    if call.startswith(tuple([f"np.{name}(" for name in IN_PLACE])):
        target = call.partition("(")[2].partition(",")[0]
        setup, result = f"{setup}    {target} = np.array({target})\n    {call}\n", target
    text = f"def f({', '.join(names)}):\n{setup}    return {result}\n"
    space: dict[str, Any] = {"np": np, "__name__": "calls", **FIXED}
    if "sc." in call or "fs." in call:
        import scipy.special as sc

        import funcgrad.scipy as fs

        space |= {"sc": sc, "fs": fs}
    if "scipy." in call:
        space = scipy_calls.with_modules(space)
    exec(text, space)
    f: Callable[..., Any] = space["f"]
    f.names = names  # type: ignore[attr-defined]
    return f


def _words(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w.'])\w+", text))


def _parts(value: Any) -> list[Any]:
    """The arrays in a result, real, and zero where they are masked."""
    if isinstance(value, np.ma.MaskedArray):
        value = value.filled(0)
    if isinstance(value, list | tuple):
        return [part for item in value for part in _parts(item)]
    if isinstance(value, dict | str | type | np.dtype | None | slice) or not hasattr(
        value, "dtype"
    ):
        return [np.asarray(float(value))] if isinstance(value, int | float) else _attributes(value)
    if value.dtype == object:
        return _parts(list(value.ravel()))
    if value.dtype.kind not in "biufc":
        return []
    return [np.real(value), np.imag(value)] if value.dtype.kind == "c" else [value]


def _attributes(value: Any) -> list[Any]:
    coefficients = getattr(value, "coeffs", getattr(value, "coef", None))
    return [] if coefficients is None else _parts(coefficients)


def flat(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """The function from one vector to one vector."""
    shapes = [ARRAYS[name].shape for name in f.names]  # type: ignore[attr-defined]

    def of_vector(v: Any) -> Any:
        given, start = [], 0
        for shape in shapes:
            size = int(np.prod(shape))
            given.append(np.reshape(v[start : start + size], shape))
            start += size
        parts = [np.ravel(part) for part in _parts(f(*given))]
        return np.concatenate(parts).astype(float) if parts else np.zeros(0)

    return of_vector


def _differences(f: Callable[[Any], Any], v: Any, h: float) -> Any:
    steps = np.eye(v.size) * h
    return np.stack([(f(v + s) - f(v - s)) / (2 * h) for s in steps], -1)


def _close(found: Any, expected: Any, rtol: float) -> bool:
    size = max(1.0, float(np.max(np.abs(expected), initial=0)))
    return np.shape(found) == np.shape(expected) and bool(
        np.allclose(found, expected, rtol=rtol, atol=rtol * size, equal_nan=True)
    )


def _holds(test: Callable[[], bool]) -> bool | str:
    try:
        return bool(test())
    except Exception as error:
        return str(error).partition("\n")[0]


def measure(name: str, call: str) -> Row:
    """Measure one call: as it is, and if that is refused or another value, in adopted code."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        f = program(call)
        row = _measured(name, call, _named_as(fg.adopt(f, False), f), "any")
        if row.kind == "refused" or not row.holds[0]:
            again = _measured(name, call, f, "functions")
            row = again if sum(again.holds) > sum(row.holds) else row
    return row


def _named_as(g: Any, f: Any) -> Any:
    g.names = f.names
    return g


def _measured(name: str, call: str, f: Callable[..., Any], where: str) -> Row:
    names = f.names  # type: ignore[attr-defined]
    if not names:
        return _unread(name, call, f)
    v = np.concatenate([ARRAYS[n].ravel() for n in names])
    plain = flat(program(call))
    try:
        expected = np.asarray(plain(v), float)
    except Exception as error:
        return Row(name, call, "refused", where, (False,) * 6, str(error).partition("\n")[0])
    if not expected.size:
        return _traced_alone(name, call, flat(f), v, where)
    g = flat(f)
    own, rtol = expected, 1e-12
    if name.startswith(_SOLVED):

        def plain(v: Any) -> Any:
            return fg.jvp(g, (v,), (np.zeros_like(v),))[0]

        try:
            expected, rtol = plain(v), 1e-9
        except Exception as error:
            return Row(name, call, "refused", where, (False,) * 6, str(error).partition("\n")[0])
    slope = _differences(plain, v, 1e-6)
    weights = np.cos(np.arange(expected.size))

    def scalar_slope(v: Any) -> Any:
        return fg.grad(lambda v: np.sum(weights * g(v) * g(v)))(v)

    tests: tuple[Callable[[], bool], ...] = (
        lambda: (
            (name.startswith(_SOLVED) and _close(expected, own, 1e-4))
            or np.array_equal(
                fg.value_and_grad(lambda v: (np.sum(g(v)), g(v)), has_aux=True)(v)[0][1],
                expected,
                True,
            )
        ),
        lambda: _close(fg.jacfwd(g)(v), slope, 1e-6),
        lambda: _close(fg.jacrev(g)(v), slope, 1e-6),
        lambda: _close(fg.jacobian(scalar_slope)(v), _differences(scalar_slope, v, 1e-5), 1e-5),
        lambda: _close(fg.jit(g)(v), expected, rtol),
        lambda: _close(fg.vmap(g)(np.stack([v, v])), np.stack([expected] * 2), rtol),
    )
    found = [_holds(test) for test in tests]
    note = next((text for text in found if isinstance(text, str)), "")
    holds = tuple([item is True for item in found])
    no_derivative = isinstance(found[1], str) and isinstance(found[2], str)
    if note and not holds[1] and (no_derivative or not holds[4]):
        return Row(name, call, "refused", where, holds, note)
    kind = "differentiable" if np.any(slope != 0) else "constant"
    return Row(name, call, kind, where, holds, note)


def _unread(name: str, call: str, f: Callable[..., Any]) -> Row:
    """A call that no traced value enters."""
    f()
    return Row(name, call, "constant", "any", (True,) * 6)


def _traced_alone(name: str, call: str, g: Callable[[Any], Any], v: Any, where: str) -> Row:
    """A call whose result has no numbers."""
    found = _holds(lambda: fg.jit(g)(v) is not None)
    note = found if isinstance(found, str) else ""
    return Row(
        name, call, "constant" if found is True else "refused", where, (found is True,) * 6, note
    )


def measured(names: Iterable[str] = ()) -> list[Row]:
    """The rows of the functions with these names; of all, if none is given."""
    calls = support_calls.calls()
    other = support_calls.other()
    wanted = list(names) or [n for n in calls if n not in other]
    return [measure(name, calls[name]) for name in sorted(wanted, key=_order)]


def _order(name: str) -> tuple[bool, str, str]:
    home, _, own = name.rpartition(".")
    return home.startswith("scipy"), home, own


# -- the page and the data -----------------------------------------------------------------------
_INTRODUCTION = """# What takes traced values

Each public function of `numpy`, `numpy.linalg`, `numpy.fft`, `numpy.polynomial` and `numpy.random`, those of
`numpy.ma` that compute with masked arrays, each ufunc of `scipy.special`, and the functions, distributions
and interpolants of SciPy's other modules, as measured by `python tools/support_table.py`: one call of it is
run, and compared with NumPy's or SciPy's value and with central differences, with {versions}. The last
section names what has no row.

- *any*: NumPy hands the call over, also for formulas (`np.sin(fg.var("x"))`). *functions*: it does not,
  so the call works in functions that are differentiated, compiled or mapped, which are adopted, and with
  `import funcgrad.numpy as np`.
- The columns are the value (to the last bit, beside a gradient, on one processor), forward mode, reverse
  mode, second order, `jit` and `vmap` (up to rounding). A function without a derivative (a comparison, say)
  is a *constant*: its derivative is zero. A *refused* function is an error where a derivative is asked for,
  which says what to write instead; some have values under `jit`.
- Under `vmap` a function is refused whose result has a shape that differs between the examples.

`fg.supports(np.interp)` answers from the same measurements.
"""


WITHOUT_A_ROW = "## Names that have no row\n\n| names | why |\n| --- | --- |\n"


def versions() -> str:
    """The versions of NumPy and SciPy that are measured: others have other names, and other code."""
    numbers = [module.__version__.split(".")[:2] for module in (np, scipy)]
    return "NumPy {}.{} and SciPy {}.{}".format(*numbers[0], *numbers[1])


def page(rows: Iterable[Row]) -> str:
    """docs/support.md."""
    parts = [_INTRODUCTION.replace("{versions}", versions())]
    by_home: dict[str, list[Row]] = {}
    for row in rows:
        home = row.name.rpartition(".")[0]
        by_home.setdefault(
            home if home.startswith("scipy") else f"numpy.{home}".rstrip("."), []
        ).append(row)
    columns = ("function", "call", "kind", "in", *MEASURED)
    head = f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|\n"
    for home, own in by_home.items():
        parts.append(f"## {home}\n\n{head}" + "".join(f"{_line(row)}\n" for row in own))
    parts.append(WITHOUT_A_ROW + _others())
    return "\n".join(parts)


def _line(row: Row) -> str:
    marks = " | ".join(
        ("yes" if ok else "no") if row.kind != "refused" else "-" for ok in row.holds
    )
    call = row.call.replace("|", "\\|")
    name = row.name.rpartition(".")[2]
    return f"| {name} | `{call}` | {row.kind} | {row.where if row.kind != 'refused' else '-'} | {marks} |"


def _others() -> str:
    by_reason: dict[str, list[str]] = {}
    for name, why in sorted(support_calls.other().items()):
        by_reason.setdefault(why, []).append(name)
    for sort, names in scipy_calls.without_a_call().items():
        by_reason[f"of scipy: {sort}"] = names
    return "".join(f"| {', '.join(names)} | {why} |\n" for why, names in sorted(by_reason.items()))


DATA = HOME / "src" / "funcgrad" / "adoption" / "support.json"
PAGE = HOME / "docs" / "support.md"


def stored() -> dict[str, Row]:
    """The rows that were measured last, by name."""
    found: dict[str, list[str]] = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
    rows = {}
    for full, (call, kind, where, marks) in found.items():
        name = full.removeprefix("numpy.")
        rows[name] = Row(name, call, kind, where, tuple([mark == "y" for mark in marks]))
    return rows


def store(rows: Iterable[Row]) -> None:
    """Write the data and the page."""
    ordered = sorted(rows, key=lambda row: _order(row.name))
    lines = []
    for row in ordered:
        full = row.name if row.name.startswith("scipy.") else f"numpy.{row.name}"
        marks = "".join(["y" if ok else "n" for ok in row.holds])
        lines.append(f"{json.dumps(full)}: {json.dumps([row.call, row.kind, row.where, marks])}")
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    PAGE.write_text(page(ordered), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a function; all, in minutes, if none is given"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write docs/support.md and what funcgrad.supports reads",
    )
    given = parser.parse_args()
    unknown = sorted(set(given.names) - support_calls.calls().keys())
    if unknown:
        parser.error(f"expected names of functions, such as cumprod, but got {', '.join(unknown)}")
    rows = measured(given.names)
    if given.write:
        known = stored() if given.names else {}
        store((known | {row.name: row for row in rows}).values())
    for row in rows:
        shown = "".join("y" if ok else "-" for ok in row.holds)
        print(f"{row.name:32} {row.kind:15} {row.where:10} {shown}  {row.call}   {row.note[:150]}")
