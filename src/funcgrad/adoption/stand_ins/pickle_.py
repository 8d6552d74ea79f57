"""``pickle`` for adopted code: adopted functions and classes are pickled as their originals."""

from __future__ import annotations

import pickle
import sys
from functools import reduce
from io import BytesIO
from typing import IO, Any

from funcgrad.adoption.redirect import redirect
from funcgrad.adoption.view_originals import original_of_view


def _named(module: str, name: str) -> Any:
    """The object of a module by its qualified name; None if the module is not imported."""
    found: Any = sys.modules.get(module)
    return reduce(lambda item, part: getattr(item, part, None), name.split("."), found)


def _itself(original: object) -> object:
    return original


class Pickler(pickle.Pickler):
    """As `pickle.Pickler`."""

    def reducer_override(self, obj: object) -> Any:
        original = original_of_view(obj)
        if original is not obj:
            return _itself, (original,)
        module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str):
            found = _named(module, name)
            if found is not obj and redirect(found) is obj:
                return _named, (module, name)
        return NotImplemented


class Unpickler(pickle.Unpickler):
    """As `pickle.Unpickler`."""

    def load(self) -> Any:
        return redirect(super().load())


def dump(obj: object, file: IO[bytes], protocol: int | None = None, **options: Any) -> None:
    """As `pickle.dump`."""
    Pickler(file, protocol, **options).dump(obj)


def dumps(obj: object, protocol: int | None = None, **options: Any) -> bytes:
    """As `pickle.dumps`."""
    file = BytesIO()
    dump(obj, file, protocol, **options)
    return file.getvalue()


def load(file: IO[bytes], **options: Any) -> Any:
    """As `pickle.load`."""
    return Unpickler(file, **options).load()


def loads(data: bytes, /, **options: Any) -> Any:
    """As `pickle.loads`."""
    return load(BytesIO(data), **options)


globals().update({name: value for name, value in vars(pickle).items() if name not in globals()})
