"""Keywords that functions have in `jax.numpy`, and not in NumPy: ``precision``, ``size``, ``inplace=False``.

Each adapter takes its own keywords out of those of a call, and calls NumPy's function with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.numpy.creation import array, full, zeros
from funcgrad.source import value_error

_Call: TypeAlias = Callable[..., Any]
_Named: TypeAlias = dict[str, Any]


class Adapter(NamedTuple):
    """Keywords of JAX's, and a function of the call without them, its arguments and all its keywords."""

    keywords: frozenset[str]
    function: Callable[[_Call, tuple[Any, ...], _Named], Any]


def _product(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    named.pop("precision", None)
    named.pop("out_sharding", None)
    dtype = named.pop("preferred_element_type", None)
    made = call(*args, **named)
    return made if dtype is None else made.astype(dtype)


def _typed(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    dtype = named.pop("dtype")
    made = call(*args, **named)
    return made if dtype is None else made.astype(dtype)


def _hinted(*names: str) -> Adapter:
    """An adapter that leaves keywords out, since they choose between methods of equal results."""

    def function(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
        return call(*args, **{name: v for name, v in named.items() if name not in names})

    return Adapter(frozenset(names), function)


def _sort(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    made = call(*args, **{name: v for name, v in named.items() if name != "descending"})
    return np.flip(made, _axis_of(args, named)) if named["descending"] else made


def _argsort(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    dtype = named.pop("dtype", None)
    is_descending = named.pop("descending", False)
    made = _descending(call, args, named) if is_descending else call(*args, **named)
    return made if dtype is None else made.astype(dtype)


def _descending(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    a, axis = array(args[0], copy=False), _axis_of(args, named)
    if axis is None:
        a, axis = a.reshape(-1), 0
    named["stable"] = named.get("stable", True)  # as in JAX: equal entries stay in their order
    last = a.shape[axis] - 1
    reversed_places = call(np.flip(a, axis), **(named | {"axis": axis}))
    return last - np.flip(reversed_places, axis)


def _axis_of(args: Sequence[Any], named: _Named) -> Any:
    return args[1] if len(args) > 1 else named.get("axis", -1)


def _sized(fit: Callable[..., Any]) -> Adapter:
    """An adapter of functions that find entries: ``size`` cuts them off, or adds ``fill_value``.

    ``fit`` is a function of the result, the size, the value to add or None, and the call's arguments.
    """

    def function(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
        size, fill = named.pop("size", None), named.pop("fill_value", None)
        made = call(*args, **named)
        return made if size is None else fit(made, size, fill, args, named)

    return Adapter(frozenset({"size", "fill_value"}), function)


def _places(made: Any, size: int, fill: Any, args: Sequence[Any], named: _Named) -> Any:
    """Of `nonzero` and its kin: 0 stands in the places that are missing."""
    if not isinstance(made, tuple):
        return _of_size(made, size, 0 if fill is None else fill)
    fills = fill if isinstance(fill, tuple) else (0 if fill is None else fill,) * len(made)
    return tuple([_of_size(part, size, v) for part, v in zip(made, fills, strict=True)])


def _where(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    """The operands may be named, as in autograd."""
    operands = [named.pop(name) for name in ("condition", "x", "y")[len(args) :] if name in named]
    return _OF_PLACES.function(call, (*args, *operands), named)


def _chosen(made: Any, size: int, fill: Any, args: Sequence[Any], named: _Named) -> Any:
    """Of `compress` and `extract`: zeros stand in the places that are missing."""
    axis = (args[2] if len(args) > 2 else named.get("axis")) or 0
    rows = _of_size(np.moveaxis(made, axis, 0), size, 0 if fill is None else fill)
    return np.moveaxis(rows, 0, axis)


def _members(made: Any, size: int, fill: Any, args: Sequence[Any], named: _Named) -> Any:
    """Of `unique` and `union1d`: the least member stands for those that are missing."""
    return _of_size(made, size, _least(made) if fill is None else fill)


def _unique(made: Any, size: int, fill: Any, args: Sequence[Any], named: _Named) -> Any:
    """The least member stands for those that are missing, which are counted 0 times."""
    given = signature(np.unique).bind(*args, **named).arguments
    parts, axis = list(made) if isinstance(made, tuple) else [made], given.get("axis") or 0
    members = np.moveaxis(parts[0], axis, 0)
    members = _of_size(members, size, _least(members) if fill is None else fill)
    parts[0] = np.moveaxis(members, 0, axis)
    flags = [flag for flag in ("index", "inverse", "counts") if given.get(f"return_{flag}")]
    for place, flag in enumerate(flags, 1):
        if flag != "inverse":
            missing = 0 if flag == "counts" else _least(parts[place])
            parts[place] = _of_size(parts[place], size, missing)
    return tuple(parts) if isinstance(made, tuple) else parts[0]


def _members_of_each(made: Any, size: int, fill: Any, args: Sequence[Any], named: _Named) -> Any:
    """Of `unique_counts` and its kin: a member that is missing is counted 0 times."""
    fills = {"values": _least(made.values) if fill is None else fill, "counts": 0}
    if "indices" in made._fields:
        fills["indices"] = _least(made.indices)
    filled = {
        name: _of_size(getattr(made, name), size, fills[name])
        for name in fills
        if hasattr(made, name)
    }
    return made._replace(**filled)


def _least(members: Any) -> Any:
    return members[0] if len(members) else 0


def _of_size(a: Any, size: int, fill: Any) -> Any:
    missing = size - len(a)
    if missing <= 0:
        return a[:size]
    more = full((missing, *a.shape[1:]), fill).astype(a.dtype)
    return np.concatenate([a, more])


def _repeat(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    total = named.pop("total_repeat_length")
    made = call(*args, **named)
    if total is None:
        return made
    axis = (args[2] if len(args) > 2 else named.get("axis")) or 0
    last = made.shape[axis] - 1
    return np.take(made, np.minimum(np.arange(total), last), axis=axis)


def _store(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    if named.pop("inplace"):
        return call(*args, **named)
    made = array(args[0])
    call(made, *args[1:], **named)
    return made


def _put_along_axis(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    mode = named.pop("mode", None)
    if mode in (None, "promise_in_bounds"):
        return _store(call, args, {"inplace": True} | named)
    if mode not in ("clip", "drop", "fill") or named.pop("inplace", True):
        raise value_error(
            "put_along_axis: expected mode 'clip', 'drop' or 'fill', and inplace=False, but got mode "
            f"{mode!r}",
        )
    given = signature(np.put_along_axis).bind(*args, **named).arguments
    a, places, axis = array(given["arr"], copy=False), given["indices"], given.get("axis", -1)
    if axis is None:
        return _put_flat(call, a, places, given["values"], mode)
    length = a.shape[axis]
    places = np.where(np.less(places, 0), np.add(places, length), places)
    if mode == "clip":
        made = array(a)
        call(made, np.clip(places, 0, length - 1), given["values"], axis)
        return made
    # What is beyond is stored into one more entry, which is cut off.
    beyond = np.logical_or(places < 0, places >= length)
    spare = zeros((*a.shape[:axis], 1, *a.shape[axis:][1:]), a.dtype)
    made = array(np.concatenate([a, spare], axis))
    call(made, np.where(beyond, length, places), given["values"], axis)
    return np.take(made, np.arange(length), axis)


def _put_flat(call: _Call, a: Any, places: Any, values: Any, mode: str) -> Any:
    named = {"mode": mode, "inplace": False}
    return _put_along_axis(call, (a.reshape(-1), places, values, 0), named).reshape(a.shape)


def _polymul(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    """All coefficients of the product without the keyword's cut: NumPy cuts zeros off."""
    if named.pop("trim_leading_zeros"):
        return call(*args, **named)
    return np.convolve(*signature(np.polymul).bind(*args, **named).args)


def _polydiv(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    """The remainder without the keyword's cut has as many coefficients as the dividend."""
    is_cut = named.pop("trim_leading_zeros")
    quotient, remainder = call(*args, **named)
    if is_cut:
        return quotient, remainder
    missing = np.size(signature(np.polydiv).bind(*args, **named).args[0]) - len(remainder)
    return quotient, np.concatenate([zeros(missing, remainder.dtype), remainder])


def _bincount(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    length = named.pop("length")
    if length is None:
        return call(*args, **named)
    return call(*args, **(named | {"minlength": length}))[:length]


def _symmetric(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    a = args[0]
    if named.pop("symmetrize_input"):
        a = (a + np.conj(np.swapaxes(a, -1, -2))) / 2
    return call(a, *args[1:], **named)


def _take_along_axis(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    mode, fill = named.pop("mode", None), named.pop("fill_value", None)
    if mode in (None, "promise_in_bounds"):
        return call(*args, **named)
    if mode not in ("clip", "fill"):
        raise value_error(f"take_along_axis: expected mode 'clip' or 'fill', but got {mode!r}")
    a, places = args[:2]
    axis = args[2] if len(args) > 2 else named.get("axis", -1)
    length = np.shape(a)[axis] if axis is not None else np.size(a)
    places = np.where(np.less(places, 0), np.add(places, length), places)
    made = call(a, np.clip(places, 0, length - 1), axis)
    beyond = np.logical_or(places < 0, places >= length)
    return made if mode == "clip" else np.where(beyond, np.nan if fill is None else fill, made)


def _promoted(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    """Of `sum` and `prod`, which take short integers to longer ones otherwise."""
    kept = not named.pop("promote_integers")
    if kept and len(args) < 3 and named.get("dtype") is None:
        named["dtype"] = array(args[0], copy=False).dtype
    return call(*args, **named)


def _interp(call: _Call, args: tuple[Any, ...], named: _Named) -> Any:
    beyond = [named.pop(side, None) for side in ("left", "right")]
    on = [isinstance(value, str) and value == "extrapolate" for value in beyond]
    kept = {
        side: v
        for side, v, line in zip(("left", "right"), beyond, on, strict=True)
        if not line and v is not None
    }
    made = call(*args, **named, **kept)
    if any(on):
        x, xp, fp = [array(arg, copy=False) for arg in args[:3]]
        for line, end, inner, is_beyond in zip(
            on, (0, -1), (1, -2), (x < xp[0], x > xp[-1]), strict=True
        ):
            if line:
                slope = (fp[end] - fp[inner]) / (xp[end] - xp[inner])
                made = np.where(is_beyond, fp[end] + slope * (x - xp[end]), made)
    return made


_OF_CUTS = frozenset({"trim_leading_zeros"})
_OF_PRODUCTS = Adapter(frozenset({"precision", "preferred_element_type", "out_sharding"}), _product)
_OF_PLACES = _sized(_places)
_OF_STORES = Adapter(frozenset({"inplace"}), _store)
_OF_MEMBERS = _sized(_members)
_OF_PROMOTIONS = Adapter(frozenset({"promote_integers"}), _promoted)
_OF_SYMMETRIC = Adapter(frozenset({"symmetrize_input"}), _symmetric)
# (NumPy 2.5 has the keyword itself, and puts NaN last.)
_OF_SORTS: dict[str, Adapter] = {
    "argsort": Adapter(frozenset({"descending", "dtype"}), _argsort),
    "sort": Adapter(frozenset({"descending"}), _sort),
}
_OF_TYPES = Adapter(frozenset({"dtype"}), _typed)
_ADAPTED_SORTS = (
    {"argsort": _OF_TYPES} if "descending" in signature(np.sort).parameters else _OF_SORTS
)
ADAPTERS: Mapping[str, Adapter] = MappingProxyType(
    {
        **_ADAPTED_SORTS,
        **dict.fromkeys(
            ("convolve", "correlate", "dot", "einsum", "inner", "matmul"), _OF_PRODUCTS
        ),
        **dict.fromkeys(("matvec", "multi_dot", "tensordot", "vdot", "vecdot"), _OF_PRODUCTS),
        **dict.fromkeys(("vecmat", "outer"), _OF_PRODUCTS),
        **dict.fromkeys(("argwhere", "flatnonzero", "mask_indices", "nonzero"), _OF_PLACES),
        **dict.fromkeys(("compress", "extract"), _sized(_chosen)),
        **dict.fromkeys(("fill_diagonal", "place", "put"), _OF_STORES),
        **dict.fromkeys(("cholesky", "eigh", "eigvalsh"), _OF_SYMMETRIC),
        **dict.fromkeys(("digitize", "isin", "searchsorted", "slogdet"), _hinted("method")),
        **dict.fromkeys(("intersect1d", "setxor1d", "union1d"), _OF_MEMBERS),
        **dict.fromkeys(
            ("unique_all", "unique_counts", "unique_inverse"), _sized(_members_of_each)
        ),
        **dict.fromkeys(("prod", "sum"), _OF_PROMOTIONS),
        **dict.fromkeys(("dstack", "fftfreq", "rfftfreq"), _OF_TYPES),
        "bincount": Adapter(frozenset({"length"}), _bincount),
        "delete": _hinted("assume_unique_indices"),
        "roots": _hinted("strip_zeros"),
        "interp": Adapter(frozenset({"left", "right"}), _interp),
        "lstsq": _hinted("numpy_resid"),
        "polydiv": Adapter(_OF_CUTS, _polydiv),
        "polymul": Adapter(_OF_CUTS, _polymul),
        "polyval": _hinted("unroll"),
        "put_along_axis": Adapter(frozenset({"inplace", "mode"}), _put_along_axis),
        "repeat": Adapter(frozenset({"total_repeat_length"}), _repeat),
        "setdiff1d": _OF_PLACES,
        "take_along_axis": Adapter(frozenset({"mode", "fill_value"}), _take_along_axis),
        "unique": _sized(_unique),
        "unique_values": _OF_MEMBERS,
        "where": Adapter(_OF_PLACES.keywords | {"condition", "x", "y"}, _where),
    }
)
