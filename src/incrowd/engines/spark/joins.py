"""Joins of rows on Spark with tables that come from the driver."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add, and_
from typing import Any

from incrowd.core.lazy import pl, sf, st
from incrowd.engines.fetched import plain

BROADCAST_KEYS = 200_000
"""Rows up to which a table of the driver is broadcast rather than shuffled."""

_TASK_ROWS = 500_000
"""Rows of a large table of numbers per task."""

KNOWN = "k{}"
"""Column that says whether a row was found."""

CELL = "r{}"
"""Column of a found cell."""


def joined(
    frame: Any,
    columns: Sequence[tuple[Any, Any]],
    table: pl.DataFrame,
    mark: str,
    cells: Sequence[Any],
    *,
    with_missing: bool = True,
) -> Any:
    """Join rows with a table by some columns.

    The table has the columns' values and then cells, by place, whatever it calls them. What is found
    stands in ``r0``, ... (with a mark ``r{mark}_0``, ...), and that it was in ``k{mark}``.

    Parameters
    ----------
    columns
        The columns and their types.
    cells
        Types of the cells.
    with_missing
        Whether missing values are equal; else a row that has one is not found.
    """
    keys = [f"j{mark}_{j}" for j in range(len(columns))]
    prefix = f"{mark}_" if mark else ""
    fields = st.StructType(
        [
            *(st.StructField(key, kind) for key, (_, kind) in zip(keys, columns, strict=True)),
            *(st.StructField(CELL.format(f"{prefix}{j}"), kind) for j, kind in enumerate(cells)),
            st.StructField(KNOWN.format(mark), st.BooleanType()),
        ]
    )
    local = plain(table).with_columns(pl.lit(value=True).alias("\0known"))
    local.columns = fields.names
    session = frame.sparkSession
    if len(local) <= BROADCAST_KEYS:
        right = sf.broadcast(session.createDataFrame(local.to_arrow(), schema=fields))
    else:
        right = _spread(session, local.to_arrow(), fields)
        if len(local) <= BROADCAST_KEYS * int(session.conf.get("spark.sql.shuffle.partitions")):
            # A part of it fits into memory, and nothing needs to be sorted.
            right = right.hint("shuffle_hash")
    pairs = [(column, sf.col(key)) for key, (column, _) in zip(keys, columns, strict=True)]
    if with_missing:
        on = _equal(pairs, [kind for _, kind in columns])
    else:
        on = reduce(and_, (column == key for column, key in pairs))
    return frame.join(right, on, "left").drop(*keys)


def _spread(session: Any, table: Any, fields: Any) -> Any:
    """Create a DataFrame from a large Arrow table, with rows read by tasks.

    By itself Spark turns a table of some size into objects of the driver, and starts a task for every ten
    thousand rows of a larger one.
    """
    plain = all(isinstance(field.dataType, st.LongType | st.BooleanType) for field in fields)
    if not plain or getattr(session, "_jvm", None) is None:
        return session.createDataFrame(table, schema=fields)
    # The settings of the user's session are the user's; what is made here does not depend on them.
    fresh = session.newSession()
    fresh.conf.set("spark.sql.execution.arrow.localRelationThreshold", "0")
    fresh.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_TASK_ROWS))
    return fresh.createDataFrame(table, schema=fields)


def _equal(pairs: Sequence[tuple[Any, Any]], kinds: Sequence[Any]) -> Any:
    """Say where columns of two tables are equal, missing values being equal.

    Rows of several columns are sorted by a hash of them, which is far less to compare. The columns
    themselves are compared then, in a way that Spark does not sort by.
    """
    same = [one.eqNullSafe(other) for one, other in pairs]
    if len(pairs) == 1 or any(isinstance(kind, st.FloatType | st.DoubleType) for kind in kinds):
        # Numbers that are equal may have different hashes.
        return reduce(and_, same)
    left, right = (sf.xxhash64(*columns) for columns in zip(*pairs, strict=True))
    equal = reduce(add, (each.cast("int") for each in same))
    return (left == right) & (equal == len(pairs))
