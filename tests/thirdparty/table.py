"""All rows of the table."""

from tests.thirdparty import (
    rows_color,
    rows_decisions,
    rows_engineering,
    rows_geometry,
    rows_markets,
    rows_physics,
    rows_science,
    rows_simulation,
    rows_statistics,
    rows_units,
)
from tests.thirdparty.case import Case

CASES: list[Case] = [
    *rows_physics.ROWS,
    *rows_geometry.ROWS,
    *rows_statistics.ROWS,
    *rows_science.ROWS,
    *rows_color.ROWS,
    *rows_units.ROWS,
    *rows_markets.ROWS,
    *rows_engineering.ROWS,
    *rows_simulation.ROWS,
    *rows_decisions.ROWS,
]
