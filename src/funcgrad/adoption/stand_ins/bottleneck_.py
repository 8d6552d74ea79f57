"""``bottleneck`` for adopted code: its own versions in Python, which traced values can enter."""

import bottleneck
from bottleneck import slow

from funcgrad.adoption.adopt import adopt

globals().update(
    {
        name: adopt(value) if callable(value) and hasattr(slow, name) else value
        for name, value in (vars(bottleneck) | vars(slow)).items()
        if not name.startswith("__") and hasattr(bottleneck, name)
    }
)
