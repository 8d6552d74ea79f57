"""Random programs that make arrays, view them and store into them, as text: NumPy's own run is the oracle.

A program is the body of ``f(x)``, for a vector x; a line is kept if NumPy runs it and the numbers stay small.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 6
BOUND = 1e4


class Program:
    """The lines of a program, and the arrays that they have made so far, as NumPy has them."""

    def __init__(self, seed: int, length: int = 12) -> None:
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.count = 0
        self.asks = False
        self.names: dict[str, Any] = {}
        self._add(f"a0 = np.zeros({self._shape()})")
        self.count = 1
        tries = 0
        while len(self.lines) < length and tries < 8 * length:
            tries += 1
            line, asks = self._line()
            if line is not None and self._add(line):
                self.asks = self.asks or asks

    # -- running ----------------------------------------------------------------------------------
    def source(self) -> str:
        """The program as a function of x: the weighted sum of the entries of all arrays."""
        body = "\n".join(f"    {line}" for line in self.lines)
        parts = ", ".join(f"np.ravel({name}) * 1.0" for name in sorted(self.names))
        return f"def f(x):\n{body}\n    return np.concatenate([{parts}])\n"

    def function(self, module: Any, **names: object) -> Callable[..., Any]:
        """The program over a module in the place of NumPy."""
        space: dict[str, Any] = {"np": module, **names}
        exec(compile(self.source(), "<program>", "exec"), space)
        found: Callable[..., Any] = space["f"]
        return found

    def _add(self, line: str) -> bool:
        names: dict[str, Any] = {"x": start()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec("\n".join([*self.lines, line]), {"np": np}, names)
            except (ValueError, IndexError, TypeError):
                return False
        names.pop("x")
        arrays = {k: v for k, v in names.items() if isinstance(v, np.ndarray)}
        for value in arrays.values():
            if value.size > 60 or not np.all(np.isfinite(value)) or np.any(abs(value) > BOUND):
                return False
        self.lines.append(line)
        self.names = arrays
        return True

    # -- pieces of text ---------------------------------------------------------------------------
    def _pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def _int(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def _shape(self) -> tuple[int, ...]:
        return self._pick([(4,), (6,), (2, 3), (3, 3), (2, 2, 2), (3, 1), (0,), (), (2, 0)])

    def _name(self) -> str:
        return str(self._pick(sorted(self.names)))

    def _new(self) -> str:
        self.count += 1
        return f"a{self.count}"

    def _scalar(self) -> str:
        k = self._int(0, SIZE)
        return str(
            self._pick(
                [
                    f"x[{k}]",
                    f"x[{k}]*x[{(k + 1) % SIZE}]",
                    "2.5",
                    "3",
                    f"np.sin(x[{k}])",
                    "x[0] + 0.5",
                ]
            )
        )

    def _slice(self, n: int) -> str:
        return str(
            self._pick(
                [
                    ":",
                    "::-1",
                    "1:",
                    ":-1",
                    "::2",
                    "-2::-1",
                    f"{self._int(0, max(n, 1))}:",
                    "2:0:-1",
                    f":{n}",
                ]
            )
        )

    def _basic(self, shape: tuple[int, ...]) -> str:
        items: list[str] = []
        for n in shape:
            kind = self._int(0, 8)
            if kind < 3 and n:
                items.append(str(self._int(-n, n)))
            elif kind == 7 and "..." not in items:
                items.append("...")
                break
            else:
                items.append(self._slice(n))
            if kind == 6:
                items.append("None")
        items = items[: self._int(1, len(items) + 1)] if items else ["..."]
        return ", ".join(items)

    def _fancy(self, shape: tuple[int, ...]) -> str:
        if not shape or not shape[0]:
            return "..."
        n = shape[0]
        picked = [self._int(-n, n) for _ in range(self._int(1, 4))]
        options = [str(picked), f"np.array({picked})"]
        options.append(str([bool(self._int(0, 2)) for _ in range(n)]))
        if len(shape) > 1 and shape[1]:
            other = [self._int(0, shape[1]) for _ in picked]
            options += [
                f"{picked}, {other}",
                f":, {other}",
                f"{picked}, 1:",
                f"np.ix_({picked}, {other})",
            ]
        return str(self._pick(options))

    def _picked(self, shape: tuple[int, ...]) -> str:
        """Text of a tuple of indices, without slices."""
        if not shape or not shape[0]:
            return "(...,)"
        picked = [self._int(-shape[0], shape[0]) for _ in range(self._int(1, 5))]
        return f"({picked},)"

    def _value(self, shape: tuple[int, ...]) -> str:
        """Text of a value that broadcasts to a shape: often of an array that is there already."""
        fit = [k for k, v in self.names.items() if _fits(v.shape, shape)]
        options = [self._scalar(), self._scalar()]
        if fit:
            name = self._pick(sorted(fit))
            options += [name, f"{name} * {self._scalar()}", f"np.sin({name}) + {self._scalar()}"]
        if shape and _fits((SIZE,), shape):
            options.append("x * x")
        if shape and _fits((3,), shape):
            options += ["x[:3]", "x[::2]", "[x[0], 1.0, x[2]]"]
        if shape and _fits((2,), shape):
            options.append("x[-2:]")
        return str(self._pick(options))

    def _index(self, shape: tuple[int, ...]) -> str:
        return self._fancy(shape) if self._int(0, 3) == 0 else self._basic(shape)

    def _chosen(self, name: str, index: str) -> tuple[int, ...] | None:
        try:
            found: tuple[int, ...] = eval(
                f"np.shape(a[{index}])", {"np": np, "a": self.names[name]}
            )
        except (IndexError, ValueError, TypeError):
            return None
        return found

    # -- lines ------------------------------------------------------------------------------------
    def _line(self) -> tuple[str | None, bool]:
        kind = self._pick(
            [self._made] * 3
            + [self._view] * 6
            + [self._computed] * 2
            + [self._store] * 9
            + [self._changed] * 5
        )
        made = kind()
        return made if isinstance(made, tuple) else (made, False)

    def _made(self) -> str:
        name, new = self._name(), self._new()
        shape = self._shape()
        return str(
            self._pick(
                [
                    f"{new} = np.zeros({shape})",
                    f"{new} = np.ones({shape}, order='F')",
                    f"{new} = np.full({shape}, {self._scalar()})",
                    f"{new} = np.zeros({shape}, int)",
                    f"{new} = np.zeros({shape}, np.float32)",
                    f"{new} = np.array([{self._scalar()}, {self._scalar()}, 1.5])",
                    f"{new} = np.array([[x[0], 1.0], x[1:3]])",
                    f"{new} = np.arange(6.0).reshape(2, 3)",
                    f"{new} = np.linspace(0.0, 1.0, 4)",
                    f"{new} = np.eye(3)",
                    f"{new} = np.zeros_like({name})",
                    f"{new} = np.asarray({name})",
                    f"{new} = {name}",
                    f"{new} = {name}.copy()",
                    f"{new} = np.array({name})",
                    f"{new} = np.asarray(x)",
                    f"{new} = x.copy()",
                    f"{new} = np.copy(x[::-1])",
                    f"{new} = np.tile(x[:2], 2)",
                    f"{new} = {name}.astype(float)",
                    f"{new} = np.asfortranarray({name})",
                ]
            )
        )

    def _view(self) -> str:
        name, new = self._name(), self._new()
        shape = self.names[name].shape
        size = self.names[name].size
        lengths = self._pick([(-1,), (size,), (2, -1), (-1, 2), (1, size), (size, 1), (3, -1)])
        # NumPy's einsum reads beyond an empty array whose axes differ.
        diagonal = f"np.einsum('ii->i', {name})" if size else f"{name}.diagonal()"
        return str(
            self._pick(
                [f"{new} = {name}[{self._basic(shape)}]"] * 6
                + [
                    f"{new} = {name}.reshape({lengths})",
                    f"{new} = np.reshape({name}, {lengths})",
                    f"{new} = {name}.T",
                    f"{new} = {name}.ravel()",
                    f"{new} = np.ravel({name}, 'F')",
                    f"{new} = {name}.swapaxes(0, -1)",
                    f"{new} = np.moveaxis({name}, 0, -1)",
                    f"{new} = np.transpose({name})",
                    f"{new} = {name}.diagonal()",
                    f"{new} = np.squeeze({name})",
                    f"{new} = np.expand_dims({name}, 0)",
                    f"{new} = np.split({name}, 2)[{self._int(0, 2)}]",
                    f"{new} = np.flip({name})",
                    f"{new} = np.fliplr({name})",
                    f"{new} = np.rot90({name})",
                    f"{new} = {name}.real",
                    f"{new} = np.atleast_2d({name})",
                    f"{new} = {name}.view()",
                    f"{new} = {diagonal}",
                    f"{new} = np.diag({name})",
                    f"{new} = list({name})[-1]",
                    f"{new} = {name}.flatten()",
                    f"{new} = np.broadcast_to({name}, (2, *{name}.shape))",
                    f"{new} = np.array_split({name}, 2)[0]",
                ]
            )
        )

    def _computed(self) -> str:
        name, other, new = self._name(), self._name(), self._new()
        return str(
            self._pick(
                [
                    f"{new} = {name} * {self._scalar()}",
                    f"{new} = {name} + {other}",
                    f"{new} = np.sin({name})",
                    f"{new} = {name}.sum(axis=0) + np.zeros(1)",
                    f"{new} = np.cumsum({name})",
                    f"{new} = {name}[{self._fancy(self.names[name].shape)}]",
                    f"{new} = -{name}.T",
                    f"{new} = np.where(np.atleast_1d({name}) > 0.5, {name}, {self._scalar()})",
                    f"{new} = np.add({name}, {other}, out=np.zeros({name}.shape))",
                    f"{new} = np.concatenate([np.ravel({name}), x[:2]])",
                ]
            )
        )

    def _store(self) -> str | None:
        name = self._name()
        index = self._index(self.names[name].shape)
        shape = self._chosen(name, index)
        if shape is None:
            return None
        how = self._pick(["=", "=", "=", "+=", "-=", "*=", "/="])
        value = "2.0 + x[1] * x[1]" if how == "/=" else self._value(shape)
        return f"{name}[{index}] {how} {value}"

    def _changed(self) -> str | tuple[str, bool]:
        name = self._name()
        array = self.names[name]
        shape, size = array.shape, array.size
        places = [self._int(0, max(size, 1)) for _ in range(self._int(1, 5))]
        value = self._value(shape)
        index = self._picked(shape)
        bits = [bool(self._int(0, 2)) for _ in range(size)]
        mask = f"np.array({bits}, bool).reshape({shape})"
        at = array.flags.writeable and array.dtype.kind == "f"  # NumPy's ufunc.at checks neither
        times = [
            f"np.{ufunc}.at({name}, {index}, {self._scalar()})"
            for ufunc in ("add", "subtract", "multiply", "maximum", "divide")
        ]
        plain = [
            *(times if at else []),
            f"{name} += {value}",
            f"{name} -= {value}",
            f"{name} *= {value}",
            f"{name}[...] = {value}",
            f"{name}.fill({self._scalar()})",
            f"{name}.sort()",
            f"{name}.put({places}, [{self._scalar()}, {self._scalar()}])",
            f"np.put({name}, {places}, {value}, mode='wrap')",
            f"np.copyto({name}, {value})",
            f"np.copyto({name}, {value}, where={mask})",
            f"np.place({name}, {mask}, [{self._scalar()}, {self._scalar()}])",
            f"np.putmask({name}, {mask}, {value})",
            f"np.fill_diagonal({name}, {self._scalar()})",
            f"np.add({name}, {value}, out={name})",
            f"np.multiply({name}, {value}, out={name}, where={mask})",
            f"{name}.flat[{self._slice(size)}] = {self._scalar()}",
            f"{name}.flat[{self._slice(size)}] = x[:2]",
            f"{name}.flat = {self._scalar()}",
            f"{name}.T[...] = {self._scalar()}",
            f"{name}[{mask}] = {self._scalar()}",
            f"{name}[{mask}] *= {self._scalar()}",
            f"{name}.real = {self._scalar()}",
            f"np.sum(x.reshape(2, 3), axis=0, out={name})",
        ]
        asked = [
            f"{name}[{name} > 0.5] = {self._scalar()}",
            f"{name}[{name} > 0.5] *= {self._scalar()}",
            f"np.putmask({name}, {name} < 1.0, {value})",
            f"np.copyto({name}, {value}, where={name} > 0.7)",
        ]
        return (self._pick(asked), True) if self._int(0, 6) == 0 else str(self._pick(plain))


def _fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(given, shape) == shape
    except ValueError:
        return False


def start() -> Any:
    """The vector that programs run on."""
    return np.array([0.9, 1.3, -0.7, 0.4, 1.1, -1.6])
