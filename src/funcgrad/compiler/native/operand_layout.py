"""How values are handed to machine code: numbers of one dtype in one array, arrays by themselves.

Handing over an array takes a tenth of a microsecond, and making an array of a number half of one; so a
function of many numbers takes few arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.native.llvm_writer import MEMORY
from funcgrad.control.loop import LoopSpec
from funcgrad.graph import ArrayType


class OperandLayout:
    """Of values of some types: the arrays that hold them, those of numbers first.

    >>> layout = OperandLayout([ArrayType(shape, np.dtype(float)) for shape in ((), (2,), ())])
    >>> layout.pack([1.0, np.ones(2), 3.0])
    [array([1., 3.]), array([1., 1.])]
    >>> layout.holders
    [[0, 2], [1]]
    """

    __slots__ = ("_arrays", "_numbers", "_places", "_single", "holders", "types")

    def __init__(self, types: Sequence[ArrayType]) -> None:
        self.types = types
        numbers: dict[np.dtype[Any], list[int]] = {}
        for i, type in enumerate(types):
            if not type.shape:
                numbers.setdefault(type.dtype, []).append(i)
        self._numbers = list(numbers.items())
        self._arrays = [(i, type) for i, type in enumerate(types) if type.shape]
        self.holders = [*numbers.values(), *[[i] for i, _ in self._arrays]]
        """Of each array the values that it holds, one entry each, or the one value that it is."""
        places = {i: (k, at) for k, held in enumerate(self.holders) for at, i in enumerate(held)}
        self._single = [type.dtype in (np.float32, np.complex64) for type in types]
        self._places = [
            (places[i][0], None if type.shape else places[i][1]) for i, type in enumerate(types)
        ]

    def pack(self, values: Sequence[Any], written: int = 0) -> list[Any]:
        """The arrays of some values; those of the first values, which are ``written``, are copies."""
        found = [np.array([values[i] for i in held], dtype) for dtype, held in self._numbers]
        for i, type in self._arrays:
            x = values[i]
            if i < written:
                x = np.array(x, type.dtype, order="C")
            found.append(as_native_array(x, type.dtype))
        return found

    def empty(self) -> list[Any]:
        """Arrays for values that are to be written."""
        found = [np.empty(len(held), dtype) for dtype, held in self._numbers]
        return [*found, *[np.empty(type.shape, type.dtype) for _, type in self._arrays]]

    def unpack(self, arrays: Sequence[Any], count: int) -> list[Any]:
        """The first values that arrays hold; numbers are NumPy's."""
        return [arrays[k] if at is None else arrays[k][at] for k, at in self._places[:count]]

    # -- as Python, for a function that is called often: a third of the time of the methods -----------
    def pack_lines(self) -> list[str]:
        """Lines that bind ``a0``, ``a1``, ... to the arrays of the values ``x0``, ``x1``, ..."""
        found = [
            f"a{k} = array([{', '.join([f'x{i}' for i in held])}], {dtype.name})"
            for k, (dtype, held) in enumerate(self._numbers)
        ]
        arrays = enumerate(self._arrays, len(found))
        return [*found, *[f"a{k} = native(x{i}, {type.dtype.name})" for k, (i, type) in arrays]]

    def empty_lines(self) -> list[str]:
        """Lines that bind ``y0``, ``y1``, ... to arrays for values that are to be written."""
        shapes: list[tuple[tuple[int, ...], Any]] = [
            ((len(held),), dtype) for dtype, held in self._numbers
        ]
        shapes += [(type.shape, type.dtype) for _, type in self._arrays]
        return [f"y{k} = empty({shape}, {dtype.name})" for k, (shape, dtype) in enumerate(shapes)]

    def unpacked(self) -> str:
        """The tuple of all values in ``y0``, ``y1``, ...; numbers are Python's, single ones NumPy's."""
        texts = [
            f"y{k}" if at is None else f"y{k}[{at}]" if kept else f"y{k}.item({at})"
            for (k, at), kept in zip(self._places, self._single, strict=True)
        ]
        return f"({''.join([f'{text}, ' for text in texts])})"


def loop_operands(flat: Flat, spec: LoopSpec) -> OperandLayout:
    """The layout of a loop's operands; sequences are arrays of unknown length."""
    types = [step.type for step in flat.steps[: flat.inputs]]
    for k in range(spec.num_carry, spec.num_carry + spec.num_xs):
        types[k] = ArrayType((-1, *types[k].shape), types[k].dtype)
    return OperandLayout(types)


def as_native_array(x: Any, dtype: np.dtype[Any]) -> Any:
    """The value as an array in the dtype and the C order that machine code reads: itself, if it is so."""
    if type(x) is np.ndarray and x.dtype == dtype:
        flags = x.flags
        if flags.c_contiguous and flags.aligned:
            return x
    return np.array(x, dtype, order="C")


LAYOUT_NAMES: Mapping[str, Any] = {
    "array": np.array,
    "empty": np.empty,
    "native": as_native_array,
    **{name: np.dtype(name) for name in MEMORY},
}
"""The objects of names in the lines of an `OperandLayout`."""
