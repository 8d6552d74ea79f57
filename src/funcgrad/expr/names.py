"""The names of variables: identifiers of Python, since a formula is called with them, as in ``e(x=2.0)``."""

from __future__ import annotations

import re
from keyword import iskeyword

from funcgrad.source import type_error


def split_names(text: str) -> list[str]:
    """The parts of a text between spaces and commas."""
    return [name for name in text.replace(",", " ").split(" ") if name]


def check_name(who: str, name: object) -> None:
    """Refuse what a variable cannot be called, with what to write instead; TypeError."""
    if isinstance(name, str) and name.isidentifier() and not iskeyword(name):
        return
    if not isinstance(name, str) or not name:
        raise type_error(f"{who}: expected a name, but got {name!r}; write {who}('x')")
    several = split_names(name)
    if len(several) > 1 and all([one.isidentifier() for one in several]):
        raise type_error(
            f"{who}: expected one name, but got {name!r}; write fg.vars({' '.join(several)!r}), which gives "
            f"{len(several)}",
        )
    raise type_error(f"{who}: expected a name, but got {name!r}; {_advice(name)}")


def _advice(name: str) -> str:
    if iskeyword(name):
        return f"Python keeps this word for itself: write fg.var({name + '_'!r})"
    found = list(dict.fromkeys(re.findall(r"[^\W\d]\w*", name))) or ["x"]
    if re.fullmatch(r"[^\W\d]\w*(:\d+|\[\d*\])", name):  # SymPy's x:3
        return f"write fg.var({found[0]!r}, 3) for an array of 3 entries"
    if re.search(r"[-+*/^()@]", name):
        made = f"fg.var({found[0]!r})" if len(found) == 1 else f"fg.vars({' '.join(found)!r})"
        power = ", with ** for powers" if "^" in name else ""
        return f"write {', '.join(found)} = {made}, and the formula in Python{power}"
    return f"a name has letters, digits and _, and begins with no digit: write fg.var({found[0]!r})"
