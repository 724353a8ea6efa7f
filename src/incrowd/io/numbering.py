"""Rows of the same values get the same number."""

from __future__ import annotations

import itertools
from typing import cast

from incrowd.io.columns import columns_named
from incrowd.lazy import NDArray, np, pl

_MORE = 8
"""Bytes behind the last text, so that a word can be read where it ends."""

_PIECE = 1 << 26
"""Bytes of texts that are copied at once."""


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
    from incrowd.kernels.grouping.grouping import group_columns, group_numbers

    if frame.width == 1 and (whole := _whole(frame.to_series())) is not None:
        return group_numbers(whole.to_numpy())
    numbers, first = group_columns([frame.hash_rows().to_numpy()], [2**64], len(frame))
    # Rows of different hashes are different. Distinct ones are few, or lie in the order of the rows.
    if len(first) == len(frame) or frame.equals(frame[first][numbers]):
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


def in_order_of_texts(texts: pl.Series) -> NDArray[np.int64]:
    """Return the places of texts in ascending order, missing ones left out: int64[known texts].

    Examples
    --------
    >>> import polars as pl
    >>> in_order_of_texts(pl.Series(["ward 10", None, "ward 1", "ward 2"])).tolist()
    [2, 0, 3]
    """
    from incrowd.kernels.ordering import order_of_texts

    if not texts.null_count():
        return order_of_texts(*_bytes_of(texts))
    known = np.flatnonzero(texts.is_not_null().to_numpy())
    return known[order_of_texts(*_bytes_of(texts.gather(known)))]


def _bytes_of(texts: pl.Series) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of texts, and how many there are before each text and in all; see `order_of_texts`."""
    before = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(texts.str.len_bytes().to_numpy(), out=before[1:])
    data = np.zeros(before[-1] + _MORE, np.uint8)
    # All of them might be more than one text can be.
    marks = np.arange(0, before[-1], _PIECE)
    bounds = [*np.unique(np.searchsorted(before[:-1], marks)).tolist(), len(texts)]
    for start, stop in itertools.pairwise(bounds):
        piece = texts.slice(start, stop - start).str.join("").cast(pl.Binary).item()
        data[before[start] : before[stop]] = np.frombuffer(piece, np.uint8)
    return data, before


def _whole(column: pl.Series) -> pl.Series | None:
    """Return a column of whole numbers of at most 64 bits, with another number where one is missing.

    None where it holds anything else, or every number there is.
    """
    if not column.dtype.is_integer() or str(column.dtype).endswith("128"):
        return None
    if not column.null_count():
        return column
    least, largest = (cast("int | None", end) for end in (column.min(), column.max()))
    if least is None or largest is None:
        return column.fill_null(0)
    limits = np.iinfo(str(column.dtype).lower())
    if largest < limits.max:
        return column.fill_null(largest + 1)
    return column.fill_null(least - 1) if least > limits.min else None
