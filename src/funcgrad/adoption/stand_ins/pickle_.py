"""``pickle`` for adopted code: adopted functions and classes are pickled as their originals."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import IO, Any

from funcgrad.adoption.class_pickles import named_object
from funcgrad.adoption.redirect import redirect
from funcgrad.adoption.view_originals import original_of_view


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
            found = named_object(module, name)
            if found is not obj and redirect(found) is obj:
                return named_object, (module, name)
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
