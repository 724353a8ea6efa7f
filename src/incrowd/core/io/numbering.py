"""Rows of the same values get the same number."""

from __future__ import annotations

from typing import cast

from incrowd.core.io.columns import columns_named
from incrowd.core.lazy import NDArray, np, pl

_FEW = 8
"""Rows per distinct row above which distinct rows are gathered without joining the pieces."""


def numbered(frame: pl.DataFrame) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give combinations of values numbers in the order of first occurrence, missing being a value.

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
    from incrowd.core.kernels.grouping.grouping import group_columns, group_numbers

    if frame.width == 1 and (integers := _as_integers(frame.to_series())) is not None:
        return group_numbers(integers.to_numpy())
    numbers, first = group_columns([frame.hash_rows().to_numpy()], [2**64], len(frame))
    if len(first) * _FEW > len(frame):
        # Many texts are found in one piece sooner.
        frame = frame.rechunk()
    # Rows of different hashes are different. Distinct ones are few, or lie in the order of the rows.
    if len(first) == len(frame) or frame.equals(frame[first][numbers]):
        return numbers, first
    # Two combinations have the same hash.
    plain = frame.rename({name: f"{position}" for position, name in enumerate(frame.columns)})
    grouped = (
        plain.with_row_index("row").group_by(columns_named(plain.columns), maintain_order=True).agg("row")
    )
    places = np.empty(len(frame), np.int32)
    rows = grouped["row"].explode().to_numpy()
    places[rows] = np.repeat(np.arange(len(grouped), dtype=np.int32), grouped["row"].list.len())
    return places, grouped.select(pl.col("row").list.first()).to_series().cast(pl.Int64).to_numpy()


def _as_integers(column: pl.Series) -> pl.Series | None:
    """Return a column of integers of at most 64 bits, with a free number in place of missing.

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
