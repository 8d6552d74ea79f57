"""The entries of an array in their order, as a compiled program has them that does not read their places."""

from __future__ import annotations

import numpy as np

from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op
from funcgrad.ops.scans_and_sorts import sorting_comparisons

sorted_op: Op = Op(
    name="sorted",
    run=lambda x, axis: np.sort(x, axis=axis),
    infer=lambda type, axis: type,
    edges=(None,),
    columns=Columns(
        flops=sorting_comparisons, machine="sort_forms:sorted_entries", entry_time=10.0, fresh=True
    ),
)
