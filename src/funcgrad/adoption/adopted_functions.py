"""Functions over other globals: the same code, closure, defaults and attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial, update_wrapper
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from opcode import opmap
from types import CellType, CodeType, FunctionType
from typing import Any
from weakref import ref

from funcgrad.adoption.adopted_entries import NEVER_REDIRECTED, Entry, function_parts
from funcgrad.adoption.arithmetic_errors import handles_errors, warn_of_not_finite
from funcgrad.adoption.containers import INNER, leads_elsewhere, standing
from funcgrad.adoption.globals import AdoptedGlobals, StoringGlobals
from funcgrad.adoption.host_valued_functions import host_valued, is_host_valued
from funcgrad.adoption.namespaces import cell_contents
from funcgrad.arrays.reference import MARK

Redirect = Callable[[Any], Any]


def known_adopted(home: AdoptedGlobals, value: Any) -> Any:
    """What has been adopted for a function or a class of a module; None if nothing has, or it is stale."""
    known = home.entries.get(id(value))
    entry = None if known is None else known()
    if entry is None or entry.original() is not value or entry.is_stale():
        return None
    return entry.adopted()


def keep_adopted(
    home: AdoptedGlobals,
    value: Any,
    adopted: Any,
    parts: Callable[[Any], tuple[Any, ...]],
    cells: tuple[tuple[int, Any], ...] = (),
) -> None:
    """Keep what has been adopted for as long as the original is there.

    An original that is no attribute of its module may die, and is often what its closure, or the adopted
    class, refers to. So what has been adopted for it is kept for as long as something else refers to that.
    """
    key, entries = id(value), home.entries
    original = ref(value, lambda _: entries.drop(key))
    if home.original.get(value.__qualname__) is value or _holds_nothing(value):
        entry = Entry(original, lambda: adopted, parts, parts(value), cells)
        entries[key] = lambda: entry
    else:
        entry = home.owned[adopted] = Entry(original, ref(adopted), parts, parts(value), cells)
        entries[key] = ref(entry)


def _attributed_parts(f: FunctionType) -> tuple[Any, ...]:
    """The parts of a function, and its attributes."""
    return (*function_parts(f), *f.__dict__, *f.__dict__.values())


def _holds_nothing(value: Any) -> bool:
    """Whether a value is a function without closure, defaults and attributes."""
    if type(value) is not FunctionType:
        return False
    return not (value.__closure__ or value.__defaults__ or value.__kwdefaults__ or value.__dict__)


def adopt_function(
    f: FunctionType, home: AdoptedGlobals, redirect: Redirect, restore: Redirect
) -> Any:
    """f's code over the globals of adopted code, with what its closure and defaults hold redirected.

    A cell is shared with the original unless its content is redirected.
    """
    found = known_adopted(home, f)
    if found is not None:
        return found
    stores = _stores(f.__code__)
    if stores is None:
        return f
    over = StoringGlobals(home, restore) if stores else home
    cells = list(f.__closure__ or ())
    written = _written(f.__code__)
    changed = [
        i
        for i, name in enumerate(f.__code__.co_freevars)
        if name not in written and _is_redirected(cell_contents(cells[i]))
    ]
    contents = [cells[i].cell_contents for i in changed]
    for i in changed:
        cells[i] = CellType()
    names = f.__code__.co_freevars
    if "__class__" in names:
        # A cell of its own, in which `adopt_class` puts the adopted class.
        cells[names.index("__class__")] = CellType(cell_contents(cells[names.index("__class__")]))
    # Made before the contents are redirected, since a recursive function is the content of its own cell.
    made = _over(f, over, tuple(cells))
    result = _flushing(made, over) if isinstance(over, StoringGlobals) else made
    if handles_errors(f.__code__):
        result = _watched(result)
    if is_host_valued(f):
        result = _marked(host_valued(f, result), made)
    attributes = {
        name: item
        for name, item in f.__dict__.items()
        if name != "__wrapped__" and leads_elsewhere(item, INNER)
    }
    parts = _attributed_parts if attributes else function_parts
    keep_adopted(home, f, result, parts, tuple(zip(changed, contents, strict=True)))
    try:
        if attributes:
            made.__dict__ = dict(f.__dict__)
        for name, item in attributes.items():
            made.__dict__[name] = result.__dict__[name] = redirect(item)
        for i, content in zip(changed, contents, strict=True):
            cells[i].cell_contents = redirect(content)
        _redirect_defaults(f, made, redirect)
    except BaseException:  # what it holds is refused, and would be missing in the next run
        home.entries.drop(id(f))
        raise
    result.__defaults__, result.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
    return result


def _redirect_defaults(f: FunctionType, made: FunctionType, redirect: Redirect) -> None:
    made.__defaults__ = redirected(f.__defaults__, partial(standing, redirect=redirect))
    named = f.__kwdefaults__
    if named:
        values = redirected(tuple(named.values()), partial(standing, redirect=redirect))
        made.__kwdefaults__ = dict(zip(named, values, strict=True))


def _is_redirected(content: Any) -> bool:
    kind = type(content)
    return kind not in NEVER_REDIRECTED and (
        kind not in (list, tuple, dict, set, frozenset) or leads_elsewhere(content)
    )


def redirected(values: Any, redirect: Redirect) -> Any:
    """A tuple with its items redirected: itself if none is."""
    if not values:
        return values
    new = tuple([value if type(value) in NEVER_REDIRECTED else redirect(value) for value in values])
    return values if all([a is b for a, b in zip(new, values, strict=True)]) else new


def _over(f: FunctionType, globals: dict[str, Any], closure: tuple[CellType, ...]) -> FunctionType:
    made = FunctionType(f.__code__, globals, f.__name__, f.__defaults__, closure or None)
    made.__kwdefaults__ = f.__kwdefaults__
    made.__dict__ = f.__dict__
    made.__doc__ = f.__doc__
    made.__module__ = f.__module__
    made.__qualname__ = f.__qualname__
    made.__annotations__ = f.__annotations__
    return made


def _flushing(made: FunctionType, over: StoringGlobals) -> Any:
    def storing(*args: Any, **kwargs: Any) -> Any:
        try:
            return made(*args, **kwargs)
        finally:
            over.flush()

    return _marked(storing, made)


def _watched(made: FunctionType) -> Any:
    code = made.__code__

    def watching(*args: Any, **kwargs: Any) -> Any:
        result = made(*args, **kwargs)
        warn_of_not_finite(code, (*args, *kwargs.values()), result)
        return result

    return _marked(watching, made)


def _marked(wrapper: Any, made: FunctionType) -> Any:
    """A wrapper of an adopted function as one itself, with its parameters, which code may look up."""
    names = {MARK: True, "warn_of_not_finite": warn_of_not_finite}
    marked = FunctionType(wrapper.__code__, names, made.__name__, None, wrapper.__closure__)
    maker = _with_parameters(made.__code__)
    if maker is not None:
        code = next(c for c in maker.co_consts if isinstance(c, CodeType))
        marked = FunctionType(code, names, made.__name__, None, (CellType(marked),))
    return update_wrapper(marked, made)


@lru_cache(maxsize=1024)
def _with_parameters(code: CodeType) -> CodeType | None:
    """The code of a function that makes one with the parameters of other code, to which it hands them on."""
    count, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = list(
        code.co_varnames[
            : named + bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
        ]
    )
    if not all([name.isidentifier() for name in names]):
        return None
    further = names[named:]
    rest = [f"*{further.pop(0)}"] if code.co_flags & CO_VARARGS else []
    keywords = [f"**{name}" for name in further]
    first, alone = names[:count], names[count:named]
    places = code.co_posonlyargcount
    given = [*first[:places], *["/"] * bool(places), *first[places:]]
    star = rest or ["*"] * bool(alone)
    parameters = ", ".join([*given, *star, *alone, *keywords])
    handed = ", ".join([*first, *rest, *[f"{name}={name}" for name in alone], *keywords])
    source = (
        f"def _make(_funcgrad_made):\n def wrapper({parameters}): return _funcgrad_made({handed})"
    )
    module = compile(source, "<funcgrad parameters>", "exec")
    return next(c for c in module.co_consts if isinstance(c, CodeType))


def adopt_decorated(f: FunctionType, redirect: Redirect) -> Any:
    """A function of a package that stays as it is, around the adopted one (`is_decorated`)."""
    inner = f.__dict__["__wrapped__"]
    adopted = redirect(inner)
    if adopted is inner:
        return f
    given = f.__closure__ or ()
    cells = [CellType(adopted) if cell_contents(cell) is inner else cell for cell in given]
    made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    made.__kwdefaults__ = f.__kwdefaults__
    return update_wrapper(made, adopted)


# -- what code does with names -----------------------------------------------------------------
def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those nested in it."""
    waiting = [code]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend([item for item in one.co_consts if isinstance(item, CodeType)])


def _opcodes(code: CodeType) -> Iterator[tuple[int, int]]:
    """Operations and their arguments, without the prefixes of arguments above 255."""
    text, extended = code.co_code, 0
    for i in range(0, len(text), 2):
        argument = text[i + 1] | extended
        extended = argument << 8 if text[i] == _EXTENDED else 0
        yield text[i], argument


_EXTENDED = opmap["EXTENDED_ARG"]


@lru_cache(maxsize=4096)
def _stores(code: CodeType) -> bool | None:
    """Whether code stores globals; None if it does so at a time that no caller sees, or deletes them."""
    done = {op for one in _codes(code) for op, _ in _opcodes(one)}
    if opmap["DELETE_GLOBAL"] in done:
        return None
    stores = opmap["STORE_GLOBAL"] in done
    return None if stores and code.co_flags & _SUSPENDED else stores


_SUSPENDED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


@lru_cache(maxsize=4096)
def _written(code: CodeType) -> frozenset[str]:
    """The free variables that a function, or one in it, assigns; and that of `super`."""
    names = {"__class__"}
    for one in _codes(code):
        own = [name for name in one.co_cellvars if name not in one.co_varnames]
        places = (*one.co_varnames, *own, *one.co_freevars)
        done = {places[i] for op, i in _opcodes(one) if op in _ASSIGNING}
        names |= done.intersection(one.co_freevars)
    return frozenset(names)


_ASSIGNING = (opmap["STORE_DEREF"], opmap["DELETE_DEREF"])
