"""``scipy.cluster`` for traced values: vector quantization and hierarchical clustering.

Which cluster an observation belongs to is a choice, without a derivative. Centroids and distances have
derivatives.
"""

from __future__ import annotations

from functools import partial

import scipy.cluster as _scipy

from funcgrad.scipy.cluster import hierarchy, vq
from funcgrad.scipy.python_functions import attribute_of

__getattr__ = partial(attribute_of, _scipy)


__all__ = ["hierarchy", "vq"]
