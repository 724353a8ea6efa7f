"""Asking the queries of `incrowd.engines.plan` in Spark SQL, and bringing DataFrames to the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from incrowd.core.io.columns import column_named
from incrowd.core.lazy import pl
from incrowd.engines.plan import named_person

_RESIZED = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"


def cache_rows(frame: Any) -> Any:
    """Keep the rows of a DataFrame on the executors, in as many parts as there are rows for.

    By itself Spark keeps the parts of a shuffle, 200 of them, however few rows there are. The setting is read
    when the DataFrame is marked, so the session has its own again before anything runs.
    """
    settings = frame.sparkSession.conf
    before = settings.getAll.get(_RESIZED)
    settings.set(_RESIZED, "true")
    try:
        return frame.persist()
    finally:
        settings.unset(_RESIZED) if before is None else settings.set(_RESIZED, before)


def row_count(frame: Any) -> int:
    """Count the rows of a DataFrame and keep the shuffle for fetching the rows."""
    classic = getattr(frame, "_jdf", None)
    # `frame.count()` would be a query of its own, which shuffles once more.
    return int(frame.count() if classic is None else classic.queryExecution().toRdd().count())


def fetched_within(frame: Any, limit: int, refused: Callable[[int], Exception]) -> pl.DataFrame:
    """Fetch a DataFrame, or raise if longer than the limit."""
    count = row_count(frame)
    if count > limit:
        raise refused(count)
    return to_polars(frame)


def to_polars(frame: Any) -> pl.DataFrame:
    """Fetch a DataFrame as Polars, with points of time in UTC whatever the session's time zone."""
    return _in_utc(pl.DataFrame(pl.from_arrow(frame.toArrow())))


def as_arrow(frame: Any) -> pl.DataFrame | None:
    """Return the columns of a DataFrame without rows as fetched types; None if a type cannot be fetched."""
    try:
        # Nothing runs for this.
        return to_polars(frame.limit(0))
    except Exception:
        return None


def fetch_compact(frame: Any) -> pl.DataFrame:
    """Fetch a DataFrame, texts being categories: a text takes 4 bytes, and not 16 and more.

    Batches are taken over one by one, so that rows are not in memory in two ways at a time.
    """
    table = frame.toArrow()
    empty = pl.DataFrame(pl.from_arrow(table.slice(0, 0)))
    texts = [name for name, kind in empty.schema.items() if kind == pl.String]
    categories = [column_named(name).cast(pl.Categorical(pl.Categories.random())) for name in texts]
    batches = table.to_batches()
    del table
    batches.reverse()
    frames = [empty.with_columns(categories)]
    while batches:
        frames.append(pl.DataFrame(pl.from_arrow(batches.pop())).with_columns(categories))
    return _in_utc(pl.concat(frames, rechunk=True))


def _in_utc(fetched: pl.DataFrame) -> pl.DataFrame:
    zoned = [
        column_named(name).dt.convert_time_zone("UTC")
        for name, kind in fetched.schema.items()
        if isinstance(kind, pl.Datetime) and kind.time_zone not in (None, "UTC")
    ]
    return fetched.with_columns(zoned) if zoned else fetched


# --- SQL ---------------------------------------------------------------------------------------------

HASHED = "xxhash64({})"
"""SQL of a hash of some columns."""


def ask(query: str, **frames: Any) -> Any:
    """Return the result of a query as a DataFrame, where braces in the query name the frames."""
    session = next(iter(frames.values())).sparkSession
    return session.sql(query, **frames)


def person_of(frame: Any, place: str, kind: pl.DataType, null_values: tuple[str, ...]) -> str | None:
    """Write a person column in Spark SQL with NULL for missing, or None where SQL cannot express that.

    Parameters
    ----------
    kind
        The type that its values are fetched as.
    """
    key = f"CASE WHEN NOT isnan({place}) THEN {place} END" if kind.is_float() else place
    return named_person(_Writer, key, frame.schema[place].dataType.simpleString(), kind, null_values)


class _Writer:
    """Writer of texts as hexadecimal bytes, since the meaning of a backslash is a session setting."""

    @staticmethod
    def text(text: str) -> str:
        return f"CAST(X'{text.encode().hex()}' AS STRING)"

    @classmethod
    def value(cls, text: str, wire: str) -> str:
        return f"CAST({cls.text(text)} AS {wire})"

    @classmethod
    def matches(cls, key: str, pattern: str) -> str:
        # In Java a dollar sign is also the place before the last line break.
        anchored = rf"\A{pattern[1:-1]}\z"
        return f"{key} RLIKE {cls.text(anchored)}"
