"""Source positions: the line of the user's code that made a node or caused an error; names in code.

A position is a code object and an offset in it. It takes a quarter of a microsecond to record and
holds no frame; it is resolved to a line only for a message.
"""

from __future__ import annotations

import dis
import linecache
import os
import sys
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import islice, pairwise
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np

# The directories of funcgrad and NumPy, and the prefix of the names of generated files.
_OURS = (*(f"{os.path.dirname(file)}{os.sep}" for file in (__file__, np.__file__)), "<funcgrad")


class Files(dict[str, bool | None]):
    """Whether a file is funcgrad's or NumPy's, as a cache: each new node looks up several frames."""

    def __missing__(self, filename: str) -> bool:
        answer = self[filename] = filename.startswith(_OURS)
        return answer


OURS = Files()


class _InstalledFiles(Files):
    """Whether a file is funcgrad's, or comes with an installed package, or with Python."""

    def __missing__(self, filename: str) -> bool:
        answer = self[filename] = bool(OURS[filename]) or _is_installed(filename)
        return answer


_INSTALLED = _InstalledFiles()


class _LibraryFiles(Files):
    """Whether a file is funcgrad's, of Python, or of one of some libraries, which call user code."""

    def __init__(self, *libraries: str) -> None:
        packages = os.path.dirname(os.path.dirname(np.__file__))
        self.libraries = tuple([os.path.join(packages, name, "") for name in libraries])

    def __missing__(self, filename: str) -> bool:
        installed = "site-packages" in filename or "dist-packages" in filename
        found = filename.startswith(self.libraries if installed else _PYTHON)
        answer = self[filename] = bool(OURS[filename] or found)
        return answer


_PYTHON = (f"{os.path.dirname(os.__file__)}{os.sep}", "<frozen")
USERS = _LibraryFiles("scipy", "sympy")
"""For `caller`: the files that are passed over on the way to the line of the user's that is to be changed."""
_STANDARD = _LibraryFiles()
BUT_LABELS = _LibraryFiles("scipy", "sympy", "pandas", "xarray")
"""The files of pandas and xarray, too, which make plain numbers."""
# Expressions that a fold or a law makes, such as cotangents, have no line of their own: None ends the walk.
BUT_DERIVED = Files(
    {
        os.path.join(os.path.dirname(__file__), *name.split("/")) + ".py": None
        for name in ("fold", "linear", "rewrite/laws", "rewrite/matcher")
    }
)


def is_of_library(code: CodeType) -> bool:
    """Whether code is funcgrad's, NumPy's or SciPy's, and not of the standard library."""
    name = code.co_filename
    return bool(OURS[name] or (USERS[name] and not _STANDARD[name]))


def is_installed(item: FunctionType | ModuleType | None) -> bool:
    """Whether a function or a module comes with an installed package, or with Python."""
    if item is None:
        return False
    home = item.__globals__ if isinstance(item, FunctionType) else vars(item)
    name, file = home.get("__name__"), home.get("__file__")
    top = name.partition(".")[0] if isinstance(name, str) else ""
    if not isinstance(file, str):
        return top in sys.stdlib_module_names
    return top == "funcgrad" or _is_installed(file)


HEAP = 1 << 9
"""The flag of classes that a class statement has made, whose instances are laid out as those of object."""


def is_builtin_class(kind: type) -> bool:
    """Whether a class is a builtin of Python's.

    The classes of code that `exec` runs without a name are of the module ``builtins``, too.

    >>> space = {}
    >>> exec("class Gas: pass", space)
    >>> is_builtin_class(float), is_builtin_class(space["Gas"])
    (True, False)
    """
    return kind.__module__ == "builtins" and not kind.__flags__ & HEAP


def is_installed_class(kind: type) -> bool:
    """Whether a class comes with an installed package, or with Python."""
    if kind.__module__ == "builtins":
        return is_builtin_class(kind)
    return is_installed(sys.modules.get(kind.__module__))


def is_of_package(code: CodeType) -> bool:
    """Whether code comes with an installed package, or with Python."""
    return _is_installed(code.co_filename)


@lru_cache(maxsize=1024)
def _is_installed(file: str) -> bool:
    if file.startswith(_PYTHON) or "site-packages" in file or "dist-packages" in file:
        return True
    home, name = os.path.split(file)
    while os.path.isfile(os.path.join(home, "__init__.py")):
        home, name = os.path.split(home)
    return os.path.isabs(home) and name in _installed_into(home)


@lru_cache(maxsize=1024)
def _installed_into(folder: str) -> frozenset[str]:
    """The packages and modules that were installed into a folder, as by ``pip install --target``.

    The user's own code may stand beside them.
    """
    found: set[str] = set()
    try:
        for entry in os.scandir(folder):
            if entry.name.endswith(".dist-info"):
                with open(os.path.join(entry.path, "RECORD"), encoding="utf-8") as rows:
                    found.update([row.partition(",")[0].partition("/")[0] for row in rows])
    except OSError:  # of a file in an archive, or of a package that is not installed from a wheel
        pass
    return frozenset(found)


def caller(depth: int = 2, files: Files = OURS) -> tuple[CodeType, int] | None:
    """The position of the innermost frame outside ``files``, from ``depth`` frames above this one.

    None if ``files`` has None for a frame inside: the walk past a fold to its caller took a third of
    backpropagation's time.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        inside = files[code.co_filename]
        if inside:
            frame = frame.f_back
        else:
            return None if inside is None else (code, frame.f_lasti)
    return None


def position(source: tuple[CodeType, int] | None) -> str:
    """The text ``file.py:12: the line`` of a code position; empty if that is not known.

    A notebook's cell is ``In[3]:1: the line``.
    """
    if source is None:
        return ""
    code, offset = source
    lines = [line for start, stop, line in code.co_lines() if start <= offset < stop and line]
    if not lines:
        return ""
    text = linecache.getline(code.co_filename, lines[0]).strip()
    return f"{_shown(code.co_filename)}:{lines[0]}" + (f": {text}" if text else "")


def raised_at(error: BaseException) -> tuple[CodeType, int] | None:
    """The position in the innermost of the user's frames that an error came through."""
    found, place = None, error.__traceback__
    while place is not None:
        if not USERS[place.tb_frame.f_code.co_filename]:
            found = place.tb_frame.f_code, place.tb_lasti
        place = place.tb_next
    return found


def tell_line(error: Exception, run: Callable[[], object]) -> bool:
    """Add to an error of a program the line that raises it: the function that was traced runs once more.

    The result is whether the function raises an error, too.
    """
    try:
        run()
    except Exception as found:
        if isinstance(found, type(error)) or isinstance(error, type(found)):
            place = position(raised_at(found))
            is_shown = not place or place == position(raised_at(error))  # by the traceback
            told = [] if is_shown else [f"raised\n  at {place}"]
            for note in getattr(found, "__notes__", told):
                error.add_note(note)
        return True
    return False


def _shown(filename: str) -> str:
    """The name of a file without its directory; of a cell, IPython's name of it, as in its tracebacks."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    # IPython gives the code of a cell to the compiler under a hash, and keeps its number.
    cell = shell.compile.format_code_name(filename) if shell is not None else None
    return cell[1] if cell else os.path.basename(filename)


def written(source: tuple[CodeType, int]) -> str:
    """The source text of the expression that a code position evaluates; empty unless it is on one line."""
    code, offset = source
    place = next(islice(code.co_positions(), offset // 2, None), None)
    if place is None or place[0] is None or place[0] != place[1]:
        return ""
    # Columns count bytes.
    line = linecache.getline(code.co_filename, place[0]).encode()
    return line[place[2] : place[3]].decode(errors="replace")


def calls_method(frame: FrameType, name: str) -> bool:
    """Whether the code of a frame calls a method by its name, as in ``a.__array__()``."""
    if name not in frame.f_code.co_names:
        return False
    text = written((frame.f_code, frame.f_lasti))
    return text.endswith(")") and text[: text.rfind("(")].endswith(f".{name}")


_COMPILED = (".pyx", ".pxd", ".pxi")
"""The sources of frames that compiled code makes up for tracebacks, whose code is one ``raise``."""


def _is_made_up(code: CodeType) -> bool:
    """Whether code is that of a frame of compiled code."""
    named = code.co_names or code.co_consts or code.co_flags
    return code.co_filename.endswith(_COMPILED) or not named


def is_raising(code: CodeType, offset: int) -> bool:
    """Whether the statement at a position of code raises an exception; compiled code has no statements."""
    return not _is_made_up(code) and _ends_with(code, offset, ("RAISE_VARARGS",))


def is_for_people(code: CodeType, offset: int) -> bool:
    """Whether a statement raises an exception, or drops its value, as ``print(x)`` does."""
    return _ends_with(code, offset, ("RAISE_VARARGS", "POP_TOP"))


@lru_cache(maxsize=1024)
def reader_of_text(code: CodeType, offset: int) -> str:
    """The name that is called with the text which a position of code makes, as in ``float(f"{x:.2f}")``.

    It is the innermost call around it; the text may be sliced or joined with others on the way.
    """
    steps = list(dis.get_instructions(code))
    place = next((i for i, step in enumerate(steps) if step.offset == offset), None)
    made = None if place is None else _span(steps[place])
    if made is None:
        return ""
    for step in steps[place:]:
        span = _span(step)
        if step.opname.startswith("CALL") and span and span != made and _covers(span, made):
            named = [read for read in steps[:place] if read.opname.startswith("LOAD_")]
            starts = [read.argval for read in named if _starts(_span(read), span, made)]
            return str(starts[-1]) if starts else ""
    return ""


_Span: TypeAlias = tuple[tuple[int, int], tuple[int, int]]


def _span(step: dis.Instruction) -> _Span | None:
    """The first and the last place, as line and column, of what an instruction evaluates."""
    if step.positions is None:
        return None
    line, end_line, column, end_column = step.positions
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return (line, column), (end_line, end_column)


def _covers(outer: _Span, inner: _Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _starts(read: _Span | None, call: _Span, argument: _Span) -> bool:
    """Whether a name that is read is the function of a call with an argument."""
    return read is not None and read[0] == call[0] and read[1] <= argument[0]


def _ends_with(code: CodeType, offset: int, names: tuple[str, ...]) -> bool:
    """Whether the statement at a position ends with one of some instructions."""
    for step in dis.get_instructions(code):
        if step.offset >= offset:
            if step.opname in names:
                return True
            if step.opname.startswith(_ENDS):
                return False
    return False


_ENDS = ("STORE_", "RETURN_", "POP_", "RAISE_", "YIELD_", "JUMP_", "FOR_ITER", "DELETE_")
"""What ends a statement, or a part of it."""


handler_questions = [0]
"""How often `may_be_handled` was asked, in any thread."""


def may_be_handled(names: frozenset[str]) -> bool:
    """Whether code of the user's, on the way from the function that is traced, may handle errors so named.

    A function of the operations between them is passed over, and so is one of the standard library that
    keeps any error, such as those that run a thread; a transform ends the way.
    """
    handler_questions[0] += 1
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if OURS[code.co_filename]:
            if not code.co_filename.startswith(_OPERATIONS):  # a transform, or a derivation
                return False
        elif code.co_exceptiontable:
            if not _STANDARD[code.co_filename]:
                if handles(code, names):
                    return True
            elif not (names - _ANY).isdisjoint(code.co_names):
                return True
        frame = frame.f_back
    return False


_ANY = frozenset(("BaseException", "Exception"))


def handles(code: CodeType, names: frozenset[str]) -> bool:
    """Whether code has handlers, and names an error, or has an ``except:``, or one of errors it was given."""
    if not code.co_exceptiontable:
        return False
    return not names.isdisjoint(code.co_names) or _handles_unnamed(code)


@lru_cache(maxsize=1024)
def _handles_unnamed(code: CodeType) -> bool:
    # The handler of ``except:`` drops the error; others compare, raise, or end a `with` first. The handler
    # of ``except errors:`` or ``except self.errors:`` reads a local variable.
    steps = [step.opname for step in dis.get_instructions(code)]
    return ("PUSH_EXC_INFO", "POP_TOP") in pairwise(steps) or any(
        [
            step == "CHECK_EXC_MATCH" and _read(steps[:place]).startswith(_LOCAL)
            for place, step in enumerate(steps)
        ]
    )


_LOCAL = ("LOAD_FAST", "LOAD_DEREF")


def _read(steps: list[str]) -> str:
    """The instruction that reads the variable of ``a.b`` at the end of some instructions."""
    return next((step for step in reversed(steps) if step != "LOAD_ATTR"), "")


_OPERATIONS = (
    os.path.join(os.path.dirname(np.__file__), ""),
    *[
        os.path.join(os.path.dirname(__file__), name, "")
        for name in ("adoption", "arrays", "expr", "numpy", "ops", "scipy")
    ],
)
"""The folders whose functions stand between a user's call and the operation that it makes."""


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn of the line of the user's code that called."""
    level, frame = 2, sys._getframe(1)
    while OURS[frame.f_code.co_filename] and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)


def fail(kind: Callable[[str], Any], message: str, files: Files = OURS) -> Any:
    """The exception, with the line of the user's code appended to its message.

    Where that calls code of an installed package or of Python's, whose line it is, both are told.
    """
    source = caller(2, files)
    where, inner = position(source), ""
    if source is not None and _is_installed(source[0].co_filename):
        users = position(caller(2, _INSTALLED))
        where, inner = (users, f"\n  in {where}") if users else (where, "")
    return kind(f"{message}\n  at {where}{inner}" if where else message)


type_error = partial(fail, TypeError)
"""A `TypeError` with the line of the user's code: ``raise type_error(message)``."""
value_error = partial(fail, ValueError)
"""A `ValueError`, likewise."""


def _saying_more(message: str) -> Any:
    error: Any = TypeError(message)
    error.says_more = True
    return error


adopted_type_error = partial(fail, _saying_more)
"""A `TypeError` of adopted code that says more than the refusal for which plain code was run again."""

_E = TypeVar("_E", bound=Exception)


def as_of_numbers(error: _E) -> _E:
    """An error that numbers would raise, too: no refusal of traced values."""
    error.of_numbers = True  # type: ignore[attr-defined]
    return error


@lru_cache(maxsize=4096)
def code_names(code: CodeType) -> frozenset[str]:
    """The names of globals and attributes in code, and in the code of functions inside it."""
    inside = [c for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(code.co_names).union(*map(code_names, inside))


@lru_cache(maxsize=4096)
def global_names(code: CodeType) -> frozenset[str]:
    """The names of globals in code, without those of attributes, and in the code of functions inside it."""
    inside = [c for c in code.co_consts if isinstance(c, CodeType)]
    own = [step.argval for step in dis.get_instructions(code) if step.opname in _OF_GLOBALS]
    return frozenset(own).union(*map(global_names, inside))


_OF_GLOBALS = (
    "LOAD_GLOBAL",
    "LOAD_NAME",
    "STORE_GLOBAL",
    "DELETE_GLOBAL",
    "LOAD_FROM_DICT_OR_GLOBALS",
)


_F = TypeVar("_F", bound=Callable[..., Any])


def with_name(function: _F, name: str, doc: str | None = None) -> _F:
    """A function that was made for this name, with it, and with a docstring if one is given."""
    function.__name__ = function.__qualname__ = name
    if doc is not None:
        function.__doc__ = doc
    return function
