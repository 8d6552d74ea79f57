"""Write docs/operations.md: the operations that a reader does not read, and why."""

import sys
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HOME))

from tests.operation_readers import page  # noqa: E402

if __name__ == "__main__":
    (HOME / "docs" / "operations.md").write_text(page())
