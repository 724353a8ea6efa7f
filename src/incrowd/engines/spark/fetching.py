"""Bringing DataFrames of Spark to the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incrowd.io.columns import column_named

if TYPE_CHECKING:
    import polars as pl

__all__ = ["fetch_compact", "plain", "to_polars"]


def to_polars(frame: Any) -> pl.DataFrame:
    """Fetch a DataFrame; points of time are those of UTC, whatever the session's time zone."""
    import polars as pl

    return _in_utc(pl.DataFrame(pl.from_arrow(frame.toArrow())))


def fetch_compact(frame: Any) -> pl.DataFrame:
    """Fetch a DataFrame, texts being categories: a text takes 4 bytes, and not 16 and more.

    Batches are taken over one by one, so that rows are not in memory in two ways at a time.
    """
    import polars as pl

    table = frame.toArrow()
    if not hasattr(pl, "Categories"):
        # Versions of Polars before 1.32 number all texts of the process together.
        return _in_utc(pl.DataFrame(pl.from_arrow(table)))
    empty = pl.DataFrame(pl.from_arrow(table.slice(0, 0)))
    texts = [name for name, kind in empty.schema.items() if kind == pl.String]
    held = [column_named(name).cast(pl.Categorical(pl.Categories.random())) for name in texts]
    batches = table.to_batches()
    del table
    batches.reverse()
    made = [empty.with_columns(held)]
    while batches:
        made.append(pl.DataFrame(pl.from_arrow(batches.pop())).with_columns(held))
    return _in_utc(pl.concat(made, rechunk=True))


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Return what was fetched with texts in the place of categories."""
    import polars as pl

    return frame.with_columns(
        column_named(name).cast(pl.String)
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.Categorical)
    )


def _in_utc(fetched: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    zoned = [
        column_named(name).dt.convert_time_zone("UTC")
        for name, kind in fetched.schema.items()
        if isinstance(kind, pl.Datetime) and kind.time_zone not in (None, "UTC")
    ]
    return fetched.with_columns(zoned) if zoned else fetched
