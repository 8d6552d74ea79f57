"""Monomorphic inline cache: the code of the function that `jit` returns has guards and the last program.

The code checks the types of the arguments and the captured variables, and runs a program on numbers in place.
The lookup by signature takes 3 us, as long as a small gradient; the inline cache takes 0.17 us. The objects
are in a closure cell of the function, where Python's cyclic collector sees them: an instance may hold the
function that reads it. Code that runs while others are installed looks up the signature: the first objects
are of another number than all later ones, and those begin with a version, a constant of their code. A pickled
function (by cloudpickle) has none of them.
"""

from __future__ import annotations

import builtins
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from funcgrad.compiler.python import scalar_ops
from funcgrad.trace.pytree import leaves_of
from funcgrad.transforms.jit.argument_unpacking import UnpackedArguments
from funcgrad.transforms.jit.capture_owners import is_ours
from funcgrad.transforms.jit.capture_sources import Snapshot
from funcgrad.transforms.jit.captures import CapturedVariables
from funcgrad.transforms.jit.guard_codegen import lines_of
from funcgrad.transforms.jit.guard_tree import INT64_MAX, INT64_MIN, GuardTree, first
from funcgrad.transforms.jit.signature import FLAG_KINDS, SCALAR_TYPES


class Missing:
    """The default of an argument that is not given: the class itself, which pickles by name."""


class CodeObjects:
    """The objects to which inlined code refers. A pickled copy has none: the code looks up the signature."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Any, ...] = ()) -> None:
        self.items = items

    def __reduce__(self) -> Any:
        return CodeObjects, ()


_HOME: dict[str, Any] = {"none": Missing, "ndarray": np.ndarray, **scalar_ops.BOUND}

# NumPy's float64, which programs on numbers return as Python's float.
_SCALAR = ("scalar", np.dtype(float))

# Names in generated code: all words, arguments, and all that are made here.
_WORD = re.compile(r"\w+")
_ARGUMENT = re.compile(r"\bx(\d+)\b")
_OURS = re.compile(
    r"^(?:[a-z]+\d+|float_x\d+|args|more|named|general|given|run|rebuild|type|float|captured|version"
    r"|follow|arrays|node|found)$"
)


class InlineCache:
    """Replaces the code of the function that `jit` has returned, to which it has no strong reference."""

    def __init__(self, general: Callable[..., Any], f: Callable[..., Any], name: str) -> None:
        self.f = f
        self.name = name
        self.general = general
        self._function: Callable[[], Any] = lambda: None
        self._cell = CellType(CodeObjects())
        self._first: int | None = None
        """The number of objects of the first code."""
        self._kinds: Sequence[Any] | None = None
        """The kinds of the arguments that the code takes, if it has a program."""

    def function(self) -> Callable[..., Any]:
        """The function for the caller, who has the only reference to it."""
        home = {**_HOME, "general": self.general}
        made = FunctionType(self._plain(), home, closure=(self._cell,))
        self._function = weakref.ref(made)
        return made

    def reset(self) -> None:
        """Restore the code that looks up the signature."""
        function = self._function()
        self._kinds = None
        if function is not None:
            function.__code__ = self._plain()
            self._cell.cell_contents = CodeObjects()

    def _plain(self) -> CodeType:
        return self._code("*args, **named", ["return general(args, named)"])

    def install(
        self,
        call: tuple[Sequence[Any], Mapping[str, Any]],
        kinds: Sequence[Any],
        tree: GuardTree,
        arrays: Sequence[Any],
        watch: CapturedVariables,
        held: Sequence[Snapshot],
    ) -> None:
        """Install code for calls with numbers and arrays, also in plain dicts, lists and tuples.

        ``call`` has the arguments of the traced call, ``kinds`` the kinds of their leaves, ``arrays`` the
        captured arrays that the program reads, ``held`` the captured variables at the time of the trace.
        """
        function, root = self._function(), tree.root
        if function is None or root is None or root.step is None or not kinds:
            return
        if self._kinds not in (None, kinds) and any(map(_is_scalar, kinds)):
            return  # calls with Python's numbers or arrays stay as fast as they are
        own, (args, named) = self._parameters(), call
        if own is None and named:
            return
        parameters = own or [f"x{i}" for i in range(len(args))]
        if len(args) > len(parameters) or not named.keys() <= set(parameters):
            return
        passed = dict(zip(parameters, args, strict=False))
        passed |= {name: named[name] for name in sorted(named)}
        trees = [*passed.values()]
        unpacked = UnpackedArguments(trees, [*passed])
        known, objects = unpacked.leaves, dict(unpacked.objects)
        if not unpacked.is_known or len(known) != len(kinds):
            return
        pairs = [pair for pair in zip(known, kinds, strict=True) if pair[0] not in unpacked.texts]
        of_leaves = _tests(pairs, objects, dict(zip(known, leaves_of(trees), strict=True)))
        of_captured = watch.tests(held, objects)
        if of_leaves is None or of_captured is None:
            return
        absent = [f"{name} is none" for name in parameters if name not in passed]
        tests = [*absent, *unpacked.tests, *of_leaves, *of_captured]
        traced = [(name, kind) for name, kind in pairs if kind not in FLAG_KINDS]
        body = self._body([kind for _, kind in traced], tree, arrays, objects)
        lines = [_ARGUMENT.sub(lambda found: traced[int(found[1])][0], line) for line in body]
        self._replace(function, (own or [], parameters), tests, lines, objects)
        self._kinds = kinds

    def _replace(
        self,
        function: FunctionType,
        names: tuple[Sequence[str], Sequence[str]],
        tests: list[str],
        lines: Sequence[str],
        objects: Mapping[str, Any],
    ) -> None:
        """Replace the function's code: the lines run if the tests hold; else the signature is looked up.

        ``names`` has the parameters that may be given by name, and all of them.
        """
        own, parameters = names
        left = [] if own else ["not more", "not named"]
        words = set(_WORD.findall("\n".join([*tests, *lines])))
        objects = {name: item for name, item in objects.items() if name in words}
        version = object()
        used, items = self._versioned(objects, version)
        if len(items) > len(objects):
            tests = ["version is ...", *tests]
        code = [
            "try:",
            *([f"    {', '.join(used)}, = captured.items"] if used else []),
            f"    if {' and '.join([*tests, *left])}:",
            *[f"        {line}" for line in lines],
            "except (ArithmeticError, AttributeError, LookupError, ValueError): pass",
            f"args = ({', '.join(parameters)}, {'' if own else '*more'})",
            f"return general(*given(args, {tuple(own)!r}, {'{}' if own else 'named'}))",
        ]
        declared = ", ".join(f"{name}=none" for name in parameters)
        made = self._code(declared + ("" if own else ", /, *more, **named"), code, version)
        # CPython ignores surplus defaults, so that each intermediate state is valid.
        function.__defaults__ = (_HOME["none"],) * len(parameters)
        self._cell.cell_contents = CodeObjects(items)
        function.__code__ = made

    def _versioned(
        self, objects: Mapping[str, object], version: object
    ) -> tuple[list[str], tuple[object, ...]]:
        """The names that code unpacks from its cell, and the items of the cell.

        Code that still runs after a replacement must not take the items of later code for its own. The first
        code unpacks no version, which costs time: items of another number are a ValueError there. Later
        codes compare the version.
        """
        names, items = [*objects], tuple(objects.values())
        if self._first is None:
            self._first = len(items)
            return names, items
        names, items = ["version", *names], (version, *items)
        if len(items) == self._first:
            names, items = ["version", *names], (version, *items)
        return names, items

    def _body(
        self, kinds: Sequence[Any], tree: GuardTree, arrays: Sequence[Any], objects: dict[str, Any]
    ) -> list[str]:
        """The lines that compute the result: inlined on numbers; else a call of the program or the tree."""
        root: Any = tree.root
        count, single = len(kinds), root.rebuild is first
        converted = [f"x{i}" for i, kind in enumerate(kinds) if kind == _SCALAR]
        arrays_of = [kind[0] for kind in kinds if not (isinstance(kind, type) or kind == _SCALAR)]
        # Guards may read entries of arrays.
        if not arrays_of or (root.reading is not None and all(arrays_of)):
            lines = lines_of(root, count, objects, bool(arrays_of))
            if lines is not None:
                # Under names of their own: if a line raises, the call goes on with the arguments.
                return [
                    *[f"float_{x} = float({x})" for x in converted],
                    *[_ARGUMENT.sub(partial(_renamed, converted), line) for line in lines],
                ]
        if root.reading is not None:
            objects["follow"], objects["arrays"] = tree.follow, arrays
            values = "".join([f"x{i}, " for i in range(count)])
            return [
                f"node, found = follow(({values}), arrays)",
                "if node is not None and not node.stored: return node.rebuild(found)",
            ]
        program, inputs, *_ = root.step
        objects["run"] = program.entry
        objects.update({f"a{count + k}": array for k, array in enumerate(arrays)})
        call = f"run({', '.join([f'x{i}' if i < count else f'a{i}' for i in inputs])})"
        if single:
            return [f"return {call}[0]"]
        if root.rebuild is tuple:
            return [f"return {call}"]
        objects["rebuild"] = root.rebuild
        return [f"return rebuild({call})"]

    def _code(self, parameters: str, lines: Sequence[str], version: object = None) -> CodeType:
        """The code of a function, whose lines read the objects of that version."""
        # The unreachable last line makes the function a closure if no other line names the cell.
        body = "\n".join([f"        {line}" for line in [*lines, "captured"]])
        code = _compiled(
            f"def around(captured):\n    def jitted({parameters}):\n{body}\n    return jitted"
        )
        constants = tuple([version if c is Ellipsis else c for c in code.co_consts])
        return code.replace(co_name=self.name, co_consts=constants)

    def _parameters(self) -> list[str] | None:
        """The names of f's parameters, if all may be given by name with the same result. Else None."""
        f: Any = self.f
        if getattr(f, "counts_from_end", False):
            return None
        while hasattr(f, "__wrapped__") and is_ours(f):
            f = f.__wrapped__
        code = getattr(f, "__code__", None)
        if code is None or hasattr(f, "__wrapped__") or hasattr(f, "__self__"):
            return None
        names = list(code.co_varnames[: code.co_argcount])
        taken = any(n in _HOME or hasattr(builtins, n) or _OURS.match(n) for n in names)
        more = code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
        more = more or code.co_kwonlyargcount or code.co_posonlyargcount
        return None if taken or more else names


@lru_cache(maxsize=256)
def _compiled(text: str) -> CodeType:
    home: dict[str, Any] = dict(_HOME)
    exec(compile(text, "<funcgrad jit>", "exec", dont_inherit=True), home)
    code: CodeType = home["around"](None).__code__
    return code


def given(
    args: Sequence[Any], names: Sequence[str], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call without missing ones; those after a missing one, by name."""
    absent = _HOME["none"]
    count = next((i for i, arg in enumerate(args) if arg is absent), len(args))
    rest = {n: a for n, a in zip(names[count:], args[count:], strict=False) if a is not absent}
    return tuple(args[:count]), {**rest, **named}


_HOME["given"] = given


def _tests(
    pairs: Sequence[tuple[str, Any]], objects: dict[str, Any], values: Mapping[str, Any]
) -> list[str] | None:
    """Conditions on the leaves by name and kind; None if one is of a kind without a condition.

    The names of their objects are words: those of the captured variables are letters. ``values`` has the
    leaves of the traced call: of an array in another order than C's, the strides are compared.
    """
    tests = []
    for i, (x, kind) in enumerate(pairs):
        if isinstance(kind, type):
            tests.append(f"type({x}) is {kind.__name__}")
            if kind is int:
                tests.append(f"{INT64_MIN} <= {x} <= {INT64_MAX}")
        elif isinstance(kind[0], tuple):
            objects[f"shape{i}"], objects[f"dtype{i}"] = kind[:2]
            test = f"type({x}) is ndarray and {x}.shape == shape{i} and {x}.dtype == dtype{i}"
            if len(kind) > 2:
                objects[f"strides{i}"] = values[x].strides
                test += f" and {x}.strides == strides{i}"
            elif len(kind[0]) > 1:
                test += f" and {x}.flags.c_contiguous"
            tests.append(test)
        elif _is_scalar(kind) and kind[1].type in SCALAR_TYPES:
            objects[f"scalar{i}"] = kind[1].type
            tests.append(f"type({x}) is scalar{i}")
        elif kind in FLAG_KINDS:
            tests.append(f"{x} is {kind == FLAG_KINDS[1]}")
        else:
            return None
    return tests


def _is_scalar(kind: object) -> bool:
    return isinstance(kind, tuple) and kind[0] == "scalar"


def _renamed(converted: Sequence[str], found: re.Match[str]) -> str:
    return f"float_{found[0]}" if found[0] in converted else found[0]
