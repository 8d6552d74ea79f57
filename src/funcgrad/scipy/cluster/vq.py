"""``scipy.cluster.vq`` for traced values: distances to the nearest code, and means of clusters.

`kmeans` and `kmeans2` are SciPy's own over these two.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.cluster.vq as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import (
    composed,
    in_place_of,
    nondifferentiable_parts,
    number,
    with_value,
)
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.typing import Array, ArrayLike

_kept = composed(_scipy, single=True, host=True)


@_kept
def vq(obs: ArrayLike, code_book: ArrayLike, **_: object) -> Any:
    """As `scipy.cluster.vq.vq`: codes, which are constant, and distances.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: vq(x, np.array([0.0, 5.0]))[1].sum())(np.array([1.0, 4.5]))
    array([ 1., -1.])
    """
    x, codes = number("vq", obs, "fiub"), number("vq", code_book, "fiub")
    nearest, own = nondifferentiable_parts("vq", _scipy.vq, 2, x, codes)
    away = x - lift_fully(codes)[nearest]
    found = np.abs(away) if away.ndim == 1 else np.linalg.norm(away, axis=1)
    return nearest, with_value(own, found)


@in_place_of(_scipy._vq.update_cluster_means)
def cluster_means(obs: Array, labels: Array, nc: int) -> Any:
    """The mean of the observations with each label, and whether there are any."""
    x, places = lift_fully(obs), lift_fully(labels)
    counts = np.bincount(places, minlength=nc)
    members = counts > 0
    sums = lift_fully(np.zeros((nc, *x.shape[1:]), x.dtype)).at[places].add(x)
    each = np.where(members, counts, 1).astype(x.dtype).reshape(-1, *[1] * (x.ndim - 1))
    return sums / each, members


__getattr__ = partial(attribute_of, _scipy)
