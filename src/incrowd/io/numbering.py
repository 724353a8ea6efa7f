"""Rows of the same values get the same number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.io.columns import columns_named

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["in_order_of_texts", "numbered"]

_WORD = 8
"""Bytes of a text that are compared first."""


def numbered(frame: pl.DataFrame) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give combinations of values numbers in the order in which they are met; missing is a value.

    Returns
    -------
    numbers
        int32[rows], from 0 without gaps.
    first
        int64[combinations]: the first row of each.

    Examples
    --------
    >>> import polars as pl
    >>> numbered(pl.DataFrame({"ward": ["b", "a", None, "b"]}))[0].tolist()
    [0, 1, 2, 0]
    """
    import numpy as np
    import polars as pl

    from incrowd.kernels.grouping import group_columns, group_numbers

    if frame.width == 1 and _are_numbers(frame.to_series()):
        return group_numbers(frame.to_series().to_numpy())
    numbers, first = group_columns([frame.hash_rows().to_numpy()], [2**64], len(frame))
    # The distinct rows are few, or lie in the order in which they are asked for.
    if frame.equals(frame[first][numbers]):
        return numbers, first
    # Two combinations have the same hash.
    plain = frame.rename({name: f"{place}" for place, name in enumerate(frame.columns)})
    grouped = (
        plain.with_row_index("row").group_by(columns_named(plain.columns), maintain_order=True).agg("row")
    )
    places = np.empty(len(frame), np.int32)
    rows = grouped["row"].explode().to_numpy()
    places[rows] = np.repeat(np.arange(len(grouped), dtype=np.int32), grouped["row"].list.len())
    return places, grouped.select(pl.col("row").list.first()).to_series().cast(pl.Int64).to_numpy()


def in_order_of_texts(texts: pl.Series) -> NDArray[np.integer]:
    """Return the places of texts in ascending order, missing ones last: int[texts].

    They are sorted by a word of the bytes after those that all have in common, and by the whole text where
    that is the same.

    Examples
    --------
    >>> import polars as pl
    >>> in_order_of_texts(pl.Series(["ward 10", None, "ward 1", "ward 2"])).tolist()
    [2, 0, 3, 1]
    """
    import numpy as np
    import polars as pl

    padded = pl.concat_str("text", pl.lit("\0" * _WORD)).cast(pl.Binary)
    word = padded.bin.slice(_in_common(texts), _WORD).bin.reinterpret(dtype=pl.UInt64, endianness="big")
    frame = pl.DataFrame({"text": texts}).with_row_index("place").with_columns(word.alias("word"))
    # To ask for places, or for the missing ones last, takes ten times as long.
    place = frame.sort("word", "text")["place"].to_numpy()
    return np.roll(place, -texts.null_count())


def _in_common(texts: pl.Series) -> int:
    """Return how many bytes all texts begin with in common."""
    least, largest = texts.min(), texts.max()
    if least is None:
        return 0
    one, other = str(least).encode(), str(largest).encode()
    differ = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def _are_numbers(column: pl.Series) -> bool:
    """Say whether each value is a whole number of at most 64 bits."""
    import polars as pl

    signed, unsigned = (pl.Int8, pl.Int16, pl.Int32, pl.Int64), (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    return column.dtype in (*signed, *unsigned) and not column.null_count()
