"""Operations on numbers as LLVM instructions, read from their templates (`Columns.scalar`, `Columns.native`).

A template is a Python expression over `math`. Its meaning here is NumPy's: a floating-point error gives an
infinity or NaN, an integer overflow wraps around. No instruction may be contracted or reordered.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import MappingProxyType

from funcgrad.compiler.native import complex_arithmetic
from funcgrad.compiler.native.inline_bessel import SERIES
from funcgrad.compiler.native.inline_error_functions import ERF, ERROR_FUNCTIONS
from funcgrad.compiler.native.inline_exponential import EXPONENTIALS
from funcgrad.compiler.native.inline_gamma import GAMMA
from funcgrad.compiler.native.inline_inverse_normal import INVERSES
from funcgrad.compiler.native.inline_log10 import WHOLE_AT_POWERS
from funcgrad.compiler.native.literal_powers import literal_power
from funcgrad.compiler.native.llvm_writer import (
    COMPLEX,
    TRUTH,
    LLVMWriter,
    Number,
    UnsupportedError,
    complex_literal,
    integer,
    real,
    real_value,
    truth_literal,
)
from funcgrad.compiler.native.scipy_exports import call_special
from funcgrad.compiler.native.vector_functions import (
    BY_BASE,
    call_c,
    in_single_precision,
    vector_functions,
)

_LOW, _HIGH = -(2**63), 2**63 - 1

_OF_REALS = MappingProxyType({**EXPONENTIALS, **ERF})
_SPECIAL = MappingProxyType({**WHOLE_AT_POWERS, **SERIES, **GAMMA, **ERROR_FUNCTIONS, **INVERSES})

INLINED = MappingProxyType({**_OF_REALS, **_SPECIAL})
"""Functions that are written out in loops over entries: by C's names, or by SciPy's."""

_INSTRUCTIONS = ("sqrt", "copysign")
"""Functions that are one instruction, as are ``abs``, ``np_floor`` and so on: correctly rounded."""

_PREDICATES: dict[type, tuple[str, str, str]] = {
    ast.Lt: ("olt", "slt", "ult"),
    ast.LtE: ("ole", "sle", "ule"),
    ast.Gt: ("ogt", "sgt", "ugt"),
    ast.GtE: ("oge", "sge", "uge"),
    ast.Eq: ("oeq", "eq", "eq"),
    ast.NotEq: ("une", "ne", "ne"),
}
"""By the operator: LLVM's predicates for floats, integers and truth values."""

_OPCODES: dict[type, tuple[str, str]] = {
    ast.Add: ("fadd", "add"),
    ast.Sub: ("fsub", "sub"),
    ast.Mult: ("fmul", "mul"),
    ast.Div: ("fdiv", ""),
    ast.BitAnd: ("", "and"),
    ast.BitOr: ("", "or"),
    ast.BitXor: ("", "xor"),
    ast.LShift: ("", "shl"),
    ast.RShift: ("", "ashr"),
}
"""By the operator: LLVM's instructions for floats and integers; empty if it has no such meaning."""


@lru_cache(maxsize=1024)
def parsed(template: str) -> ast.expr:
    """The syntax of a template, in which operand ``{0}`` is the name ``_0``."""
    text = re.sub(r"\{(\d+)\}", r"_\1", template)
    return ast.parse(text.strip(), mode="eval").body


def template_value(writer: LLVMWriter, template: str, operands: Sequence[Number]) -> Number:
    """The value of a template.

    >>> writer = LLVMWriter()
    >>> template_value(writer, "({0} * {0})", [Number("double", "%x")]).text
    '%v1'
    >>> writer.lines
    ['  %v1 = fmul double %x, %x']

    Raises:
        UnsupportedError: a part of the template has no instruction.
    """
    return _Reader(writer, operands).value(parsed(template))


class _Reader:
    """Writes the instructions of one template on some operands."""

    def __init__(self, writer: LLVMWriter, operands: Sequence[Number]) -> None:
        self.w = writer
        self.operands = operands
        floats = [COMPLEX.get(x.type, x.type) for x in operands]
        floats = [type for type in floats if type in ("double", "float")]
        self.real = floats[-1] if floats else "double"
        self.complex = next(whole for whole, part in COMPLEX.items() if part == self.real)

    def value(self, node: ast.expr) -> Number:
        match node:
            case ast.Name(id="nan") | ast.Attribute(value=ast.Name(id="math"), attr="nan"):
                return real(math.nan, self.real)
            case ast.Name(id=name):
                return self.operands[int(name[1:])]
            case ast.Constant(value=bool() as value):
                return truth_literal(value)
            case ast.Constant(value=int() as value):
                return integer(value)
            case ast.Constant(value=float() as value):
                return real(value, self.real)
            case ast.Constant(value=complex() as value):
                return complex_literal(value, self.complex)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.BoolOp(op=op, values=values):
                found = [self._truth(self.value(value)) for value in values]
                result = found[0]
                for other in found[1:]:
                    result = self.w.binary(
                        "and" if isinstance(op, ast.And) else "or", result, other
                    )
                return result
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                x, y = self._alike(self.value(left), self.value(right))
                kind = 2 if x.type == TRUTH else 1 if x.type == "i64" else 0
                return self.w.compare(_PREDICATES[type(op)][kind], x, y)
            case ast.IfExp():
                return self._conditional(node)
            case (
                ast.Attribute(value=whole, attr=name)
                | ast.Call(func=ast.Attribute(value=whole, attr=name))
            ):
                return complex_arithmetic.attribute(self.w, name, self.value(whole))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, [self.value(arg) for arg in args])
        raise UnsupportedError(ast.dump(node))

    def _is_real(self, x: Number) -> bool:
        return x.type in ("double", "float")

    def _truth(self, x: Number) -> Number:
        return cast_number(self.w, x, TRUTH)

    def _alike(self, x: Number, y: Number) -> tuple[Number, Number]:
        """Two numbers in their common type, as in Python."""
        order = [TRUTH, "i64", self.real, self.complex]
        if x.type == y.type:
            return x, y
        widest = max(x.type, y.type, key=order.index)
        return self._as(x, widest), self._as(y, widest)

    def _as(self, x: Number, type: str) -> Number:
        if x.type == type:
            return x
        if x.type in COMPLEX:
            raise UnsupportedError(f"a complex number as one of type {type}")
        if type == "i64":
            return self.w.cast("zext", x, "i64")
        if x.literal is not None:
            return real(float(x.literal), type)
        return cast_number(self.w, x, type)

    def _unary(self, node: ast.UnaryOp) -> Number:
        x = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self.w.binary("xor", self._truth(x), truth_literal(True))
        if isinstance(node.op, ast.Invert):
            return self.w.binary("xor", x, integer(-1))
        if isinstance(node.op, ast.USub) and x.type in COMPLEX:
            return self.w.each_part(self.w.negative, x)
        if isinstance(node.op, ast.USub) and self._is_real(x):
            return self.w.negative(x)
        if isinstance(node.op, ast.USub) and x.literal is not None:
            return integer(-x.literal)
        raise UnsupportedError(ast.dump(node))

    def _binary(self, node: ast.BinOp) -> Number:
        if isinstance(node.op, ast.Pow):
            if isinstance(node.right, ast.Constant) and node.right.value == 2:
                x = self.value(node.left)
                return self.w.binary("fmul", x, x)
            raise UnsupportedError(ast.dump(node))
        x, y = self._alike(self.value(node.left), self.value(node.right))
        if x.type in COMPLEX and isinstance(node.op, ast.Div):
            return complex_arithmetic.quotient(self.w, x, y)
        if x.type == TRUTH:
            x, y = self._as(x, "i64"), self._as(y, "i64")
        if isinstance(node.op, ast.Mod | ast.FloorDiv):
            divided = self._real_division if self._is_real(x) else self._integer_division
            return divided(x, y)[isinstance(node.op, ast.Mod)]
        if isinstance(node.op, ast.Div) and x.type == "i64":
            x, y = self._as(x, self.real), self._as(y, self.real)
        opcode = _OPCODES.get(type(node.op), ("", ""))[x.type == "i64"]
        if not opcode:
            raise UnsupportedError(ast.dump(node))
        return self.w.binary(opcode, x, y)

    def _integer_division(self, x: Number, y: Number) -> tuple[Number, Number]:
        """The quotient, rounded down, and the remainder. The templates exclude the divisors 0 and -1."""
        w = self.w
        quotient, rest = w.binary("sdiv", x, y), w.binary("srem", x, y)
        negative = w.compare("slt", w.binary("xor", rest, y), integer(0))
        wrong = w.binary("and", negative, w.compare("ne", rest, integer(0)))
        lower = w.binary("sub", quotient, w.cast("zext", wrong, "i64"))
        return lower, w.select(wrong, w.binary("add", rest, y), rest)

    def _real_division(self, x: Number, y: Number) -> tuple[Number, Number]:
        """The quotient, rounded down, and the remainder, step by step as NumPy computes them."""
        w, zero, one = self.w, real(0.0, x.type), real(1.0, x.type)
        rest = self._call("fmod", [x, y])
        quotient = w.binary("fdiv", w.binary("fsub", x, rest), y)
        nonzero = w.compare("une", rest, zero)
        differ = w.emit(
            TRUTH,
            f"xor {TRUTH} {w.compare('olt', y, zero).text}, {w.compare('olt', rest, zero).text}",
        )
        shifted = w.binary("and", nonzero, differ)
        quotient = w.select(shifted, w.binary("fsub", quotient, one), quotient)
        remainder = w.select(shifted, w.binary("fadd", rest, y), rest)
        remainder = w.select(nonzero, remainder, self._call("copysign", [zero, y]))
        floor = self._call("np_floor", [quotient])
        more = w.compare("ogt", w.binary("fsub", quotient, floor), real(0.5, x.type))
        floor = w.select(more, w.binary("fadd", floor, one), floor)
        signed = self._call("copysign", [zero, w.binary("fdiv", x, y)])
        floor = w.select(w.compare("une", quotient, zero), floor, signed)
        by_zero = w.compare("oeq", y, zero)
        return w.select(by_zero, w.binary("fdiv", x, y), floor), w.select(by_zero, rest, remainder)

    def _conditional(self, node: ast.IfExp) -> Number:
        test = self._truth(self.value(node.test))
        branches = (node.body, node.orelse)
        if any([self._is_costly(part) for branch in branches for part in ast.walk(branch)]):
            kind = self._kind(branches)
            return self.w.choose(
                test,
                lambda: self._as(self.value(node.body), kind),
                lambda: self._as(self.value(node.orelse), kind),
            )
        return self.w.select(test, *self._alike(self.value(node.body), self.value(node.orelse)))

    def _is_costly(self, node: ast.AST) -> bool:
        """Whether a branch with this part runs only if it is taken. (An integer division by 0 traps.)

        In a loop over entries LLVM computes functions in vectors, of all entries whatever their branch.
        """
        match node:
            case ast.Call(func=ast.Name(id=name), args=args):
                in_vectors = name in INLINED or vector_functions(name, len(args))
                if self.w.over_entries and in_vectors:
                    return False
                return name not in _INSTRUCTIONS and not name.startswith(("abs", "np_"))
            case ast.FloorDiv() | ast.Mod() | ast.Call():
                return True
        return False

    def _kind(self, branches: Sequence[ast.expr]) -> str:
        """The type of a conditional whose branches are not evaluated before."""
        operands = [
            self.operands[int(part.id[1:])].type
            for branch in branches
            for part in ast.walk(branch)
            if isinstance(part, ast.Name) and part.id[1:].isdigit()
        ]
        widest = [kind for kind in (self.complex, self.real) if kind in operands]
        return widest[0] if widest else "i64"

    def _call(self, name: str, args: list[Number]) -> Number:
        special: dict[str, Callable[..., Number]] = {
            "float": lambda x: self._as(x, self.real),
            "int64": lambda x: self._as(x, "i64"),
            "uint64": lambda x: self._as(x, "i64"),
            "to_integer": lambda x: to_integer(self.w, x),
            "isnan": lambda x: self.w.compare("uno", x, x),
            "isinf": lambda x: self.w.compare("oeq", self._size(x), real(float("inf"), x.type)),
            "isfinite": lambda x: self.w.compare("one", self._size(x), real(float("inf"), x.type)),
            "complex": lambda re, im: self.w.joined(
                self._as(re, self.real), self._as(im, self.real)
            ),
            "radians": lambda x: self.w.binary("fmul", x, real(0.017453292519943295, x.type)),
            "degrees": lambda x: self.w.binary("fmul", x, real(57.29577951308232, x.type)),
        }
        if args[0].type in COMPLEX and name == "abs":
            return self._call("hypot", list(self.w.parts(args[0])))
        if name.startswith("special_"):
            return self._special(name.removeprefix("special_"), args)
        if name == "cdivide":
            return complex_arithmetic.quotient(self.w, *args)
        if args[0].type in COMPLEX:
            return complex_arithmetic.call(self.w, name, args[0])
        if name in special:
            return special[name](*args)
        args = [self._as(x, self.real) for x in args]
        instruction = f"f{name}" if name == "abs" else name.removeprefix("np_")
        if name in _INSTRUCTIONS or instruction != name:
            return self.w.intrinsic(instruction, *args)
        if not (hasattr(math, name) or name in INLINED):
            raise UnsupportedError(name)
        if name in _OF_REALS:
            return _OF_REALS[name](self.w, args[0])
        wide = [x if x.type == "double" else self.w.cast("fpext", x, "double") for x in args]
        rounded = self.real != "double"
        power = literal_power(self.w, *wide, rounded=rounded) if name == "pow" else None
        if power is not None:
            found = power
        elif name in _SPECIAL:
            found = _SPECIAL[name](self.w, wide[0])
        elif name == "pow" and real_value(wide[0]) in BY_BASE:
            return self._call(BY_BASE[real_value(wide[0])], args[1:])
        elif self.w.over_entries and rounded and in_single_precision(name, len(args)):
            return call_c(self.w, name, *args)
        else:
            found = call_c(self.w, name, *wide)
        return found if self.real == "double" else self.w.cast("fptrunc", found, "float")

    def _special(self, name: str, args: Sequence[Number]) -> Number:
        """A function of `scipy.special`, in double precision."""
        wide = [cast_number(self.w, self._as(x, self.real), "double") for x in args]
        found = call_special(self.w, name, *wide)
        return cast_number(self.w, found, self.real)

    def _size(self, x: Number) -> Number:
        return self._call("abs", [x])


def to_integer(writer: LLVMWriter, x: Number) -> Number:
    """A float cast to an integer, as NumPy casts it here: out of range and of NaN the lowest integer."""
    low, high = real(float(_LOW), x.type), real(float(2**63), x.type)
    inside = writer.binary("and", writer.compare("oge", x, low), writer.compare("olt", x, high))
    safe = writer.select(inside, x, real(0.0, x.type))
    return writer.select(inside, writer.cast("fptosi", safe, "i64"), integer(_LOW))


def cast_number(writer: LLVMWriter, x: Number, type: str) -> Number:
    """A number cast to another type."""
    if x.type == type:
        return x
    if x.type in COMPLEX and type in COMPLEX:
        return writer.each_part(lambda part: cast_number(writer, part, COMPLEX[type]), x)
    if type in COMPLEX:
        return writer.joined(cast_number(writer, x, COMPLEX[type]), real(0.0, COMPLEX[type]))
    if x.type in COMPLEX and type != TRUTH:  # NumPy drops the imaginary part
        return cast_number(writer, writer.parts(x)[0], type)
    if type == TRUTH:
        zero = integer(0) if x.type == "i64" else real(0.0, x.type)
        return writer.compare("une" if x.type != "i64" else "ne", x, zero)
    if type == "i64":
        return writer.cast("zext", x, "i64") if x.type == TRUTH else to_integer(writer, x)
    if x.type == TRUTH:
        return writer.cast("uitofp", x, type)
    if x.type == "i64":
        return writer.cast("sitofp", x, type)
    return writer.cast("fpext" if type == "double" else "fptrunc", x, type)
