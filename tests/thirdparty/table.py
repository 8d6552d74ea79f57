"""All rows of the table."""

from tests.thirdparty import rows_geometry, rows_physics, rows_statistics
from tests.thirdparty.case import Case

CASES: list[Case] = [*rows_physics.ROWS, *rows_geometry.ROWS, *rows_statistics.ROWS]
