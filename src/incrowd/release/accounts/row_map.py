"""The row map, a confidential list of the raw row of each released row."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, TableError
from incrowd.core.lazy import NDArray, np, nw, pl

if TYPE_CHECKING:
    from incrowd.core.io.shuffle import RandomOrder

ROW_MAP = "rows.parquet"
"""The file of the row map in the folder of what is not to publish."""

_ROW = "row"
_AT_ONCE = 1 << 24
"""Rows whose numbers are held together."""


def map_of(order: RandomOrder | None, rows: int, places: NDArray[np.int64] | None = None) -> pl.DataFrame:
    """Return the row map of `rows` rows: a Polars frame with ``row``, from 1.

    Parameters
    ----------
    order
        Where each row went; None if each is in its place.
    places
        The places of the raw rows that leave, from 0; None where all leave.
    """
    return _frame(np.arange(rows) if order is None else order.rows(rows), places)


def write_row_map(
    path: Path, order: RandomOrder | None, rows: int, places: NDArray[np.int64] | None = None
) -> None:
    """Write the row map as a Parquet file, without setting a file mode."""
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.streams import stream_batches

    pieces = _ascending(rows) if order is None else order.pieces(rows, _AT_ONCE)
    stream_batches((_frame(piece, places) for piece in pieces), path, Path(ROW_MAP), CsvFormat())


def _ascending(rows: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, rows, _AT_ONCE):
        yield np.arange(start, min(start + _AT_ONCE, rows))


def _frame(rows: NDArray[np.int64], places: NDArray[np.int64] | None) -> pl.DataFrame:
    return pl.DataFrame({_ROW: (rows if places is None else places[rows]) + 1})


def numbers_of(row_map: Any, released: int | None = None, raw: int | None = None) -> NDArray[np.int64]:
    """Read a row map: int64[rows], the raw row of each released row, from 0.

    A raw row is named once, or not at all where it was left out.

    Parameters
    ----------
    row_map
        A Parquet or CSV file, or a frame with a column ``row``, as `Release.row_map` gives it.
    released, raw
        How many rows the tables have, where that is known.

    Raises
    ------
    TableError
        When it cannot be read, or is no map of such tables.
    """
    from incrowd.core.io.files import read_table

    if isinstance(row_map, str | os.PathLike):
        row_map = read_table(row_map)[0]
    try:
        numbers = nw.from_native(row_map, eager_only=True)[_ROW].to_polars().cast(pl.Int64).to_numpy()
    except TypeError:
        raise ParameterError("row_map must be a path or a frame, as release.row_map() gives it") from None
    except (KeyError, pl.exceptions.PolarsError, nw.exceptions.NarwhalsError):
        raise TableError(f"the row map has no column {_ROW!r} of whole numbers") from None
    rows, largest = len(numbers), numbers.max(initial=0)
    if (
        rows != (rows if released is None else released)
        or numbers.min(initial=1) < 1
        or largest > (largest if raw is None else raw)
        or len(np.unique(numbers)) < rows
    ):
        expected = {"released": released, "raw": raw}
        sizes = " and ".join(f"{count:,} {what}" for what, count in expected.items() if count is not None)
        raise TableError(
            f"the row map is none of {sizes} rows: it names each raw row once that is in the release, and no "
            "other; take the one of this release"
        )
    places: NDArray[np.int64] = numbers - 1
    return places


def as_released(raw: Any, row_map: Any) -> Any:
    """Return the rows of a raw table, or of a file, in the order of the release."""
    from incrowd.engines import loaded

    frame = nw.from_native(loaded(raw), eager_only=True)
    return frame[numbers_of(row_map, raw=len(frame))].to_native()
