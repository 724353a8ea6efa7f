"""The most frequent values of a column, as shown beside the column."""

from __future__ import annotations

import polars as pl
import pytest

from incrowd.faces.studio.values import most_frequent


@pytest.mark.parametrize(
    ("cells", "spelled", "found"),
    [
        (["b", "a", "a", None, ""], {}, [("a", 2), ("(empty)", 1), ("b", 1), ("(missing)", 1)]),
        (
            [str(row) for row in range(80)],
            {},
            [
                ("below 10", 10),
                *((f"{low} to {low + 10}", 10) for low in range(10, 70, 10)),
                ("70 and more", 10),
            ],
        ),
        # German numbers are read as the column is spelled, and dates by the calendar.
        (
            [f"{row}.000,50" for row in range(1, 81)],
            {"decimal": ",", "thousands": "."},
            [
                ("below 10000", 9),
                *((f"{low}000 to {low + 10}000", 10) for low in range(10, 80, 10)),
                ("80000 and more", 1),
            ],
        ),
        (
            [f"06.{1 + row % 12:02}.{2015 + row % 10}" for row in range(120)],
            {"format": "%d.%m.%Y"},
            [("until 2015", 12), *((str(year), 12) for year in range(2016, 2024)), ("from 2024", 12)],
        ),
        (
            [f"{row % 2}{row:03}" for row in range(200)],
            {},
            [(start + "**", 50) for start in ("00", "01", "10", "11")],
        ),
        ([f"v{chr(97 + row)}" for row in range(10)], {}, None),
        ([None, None], {}, [("(missing)", 2)]),
        # Days that share a bin are named, and not called one value.
        (
            [f"2024-03-{1 + row % 9:02}" for row in range(18)],
            {},
            [*((f"2024-03-{day:02}", 2) for day in range(1, 9)), ("other values", 2)],
        ),
        ([float("nan"), *map(float, range(8))], {}, None),
    ],
)
def test_the_most_frequent_values_or_ranges_are_counted(cells, spelled, found):
    records = most_frequent(pl.Series("x", cells, dtype=None if any(cells) else pl.String), spelled)
    assert sum(number for _, number in records) == len(cells)
    assert found is None or records == found


def test_a_column_beyond_the_named_values_has_others():
    records = most_frequent(pl.Series("x", [f"v{letter}" for letter in "abcdefghij"]))
    assert records[-1] == ("other values", 2)


def test_a_column_may_be_called_like_a_pattern():
    assert most_frequent(pl.Series("^x$", ["a", "a", "b"])) == [("a", 2), ("b", 1)]
