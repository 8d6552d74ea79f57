"""Ranks, and the tests that SciPy computes of ranks in compiled code, which are constants.

Other statistics of ranks are SciPy's own code, in adopted code, around `rankdata`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import scipy.stats as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, floating, nondifferentiable
from funcgrad.trace.masked_trees import is_masked
from funcgrad.typing import ArrayLike


@composed(_scipy)
def rankdata(a: ArrayLike, **options: object) -> Any:
    return nondifferentiable(
        "ranks", lambda a: _scipy.rankdata(a, **options), floating("rankdata", a)
    )


def _of_ranks(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    @wraps(own)
    def function(*args: object, **kwargs: object) -> Any:
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        if not holds_expr([*given.values()]):
            return own(*args, **kwargs)
        masked = [key for key, value in given.items() if is_masked(type(value))]
        traced = [key for key, value in given.items() if key in masked or holds_expr(value)]
        kinds: set[type] = set()

        def run(*values: Any) -> Any:
            data = given | dict(zip(traced, values, strict=False))
            for key, mask in zip(masked, values[len(traced) :], strict=True):
                data[key] = np.ma.masked_array(data[key], mask=mask)
            places = [data[k] for k in range(len(args))]
            found = own(*places, **{name: data[name] for name in kwargs})
            kinds.add(type(found))
            return np.stack(found) if isinstance(found, tuple) else found

        masks = [lift_fully(np.ma.getmaskarray(given[key])) for key in masked]
        data = [given[key].data if key in masked else given[key] for key in traced]
        values = [floating(name, item) for item in data]
        parts = nondifferentiable(name, run, *values, *masks)
        (kind,) = kinds
        return kind(*parts) if issubclass(kind, tuple) else parts

    function.__doc__ = f"As `scipy.stats.{name}`, a constant: it does not move with the values."
    return function


_NAMES = (
    *("ansari", "fligner", "friedmanchisquare", "kendalltau", "kruskal", "mannwhitneyu", "mood"),
    *("percentileofscore", "weightedtau", "wilcoxon"),
)
OF_RANKS = {name: _of_ranks(name) for name in _NAMES}
"""The functions by their names in SciPy."""
