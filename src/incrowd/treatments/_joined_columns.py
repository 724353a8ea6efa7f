"""Several columns that name a person or a household together."""

from __future__ import annotations

from incrowd.lazy import pl


def whose(columns: list[pl.Series]) -> pl.Series:
    """Write columns as one text, different for different values; missing where all are."""
    if len(columns) == 1:
        return columns[0]
    parts = [
        pl.when(pl.lit(each).is_null())
        .then(pl.lit("-"))
        .otherwise(pl.format("{}:{}", pl.lit(each).str.len_bytes(), pl.lit(each)))
        for each in columns
    ]
    gone = pl.all_horizontal(pl.lit(each).is_null() for each in columns)
    return pl.select(pl.when(~gone).then(pl.concat_str(parts, separator=","))).to_series()
