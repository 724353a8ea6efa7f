"""The most frequent values of a column, as shown beside the column."""

from __future__ import annotations

import polars as pl
import pytest

from incrowd.faces.studio.values import most_frequent


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["b", "a", "a", None, ""], [("a", 2), ("(empty)", 1), ("b", 1), ("(missing)", 1)]),
        (
            [str(row) for row in range(80)],
            [(f"{10 * i - (i > 4)} to {10 * (i + 1) - (i > 3)}", 10) for i in range(8)],
        ),
        # A decimal comma is read as one, and codes of digits that begin alike are counted together.
        (
            [f"{row},0" for row in range(81)],
            [(f"{10 * i} to {10 * i + 10}", 10 + i // 7) for i in range(8)],
        ),
        ([f"{row % 2}{row:03}" for row in range(200)], [("0...", 100), ("1...", 100)]),
        ([f"v{row}" for row in range(10)], [*((f"v{row}", 1) for row in range(8)), ("other values", 2)]),
        ([None, None], [("(missing)", 2)]),
        ([float("nan"), *map(float, range(8))], None),
    ],
)
def test_the_most_frequent_values_or_ranges_are_counted(cells, found):
    records = most_frequent(pl.Series("x", cells, dtype=None if any(cells) else pl.String))
    assert sum(number for _, number in records) == len(cells)
    assert found is None or records == found
