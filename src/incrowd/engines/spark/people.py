"""People of a table on Spark: those with unlike rows are listed, the others counted where they are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from incrowd.engines.spark.fetching import kept
from incrowd.table.missing import null_values_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ALIKE", "NAME", "NUMBER", "ROWS_OF", "UNNAMED", "SparkPeople", "named_person"]

ALIKE, UNNAMED, ROWS_OF = "alike", "unnamed", "rows"
"""Columns of those whose rows are alike: how many, rows without a name among them, and all their rows."""

NUMBER, NAME = "number", "name"
"""Columns of the others: a number of the person, and a hash of the name."""


class SparkPeople:
    """The kinds of rows of each person, kept on the executors as long as they are asked.

    Parameters
    ----------
    grouped
        A DataFrame of distinct rows, with their number as `count`.
    columns
        The columns in which rows are alike or not.
    person
        What names a person, null where it is missing.
    """

    def __init__(self, grouped: Any, columns: Sequence[str], person: Sequence[Any], count: str) -> None:
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        self._columns = list(columns)
        self._person = [f"p{j}" for j in range(len(person))]
        named = grouped.select(
            *columns, *(each.alias(name) for each, name in zip(person, self._person, strict=True)), count
        )
        stories = named.groupBy(*columns, *self._person).agg(sf.sum(count).alias("n"))
        nobody = sf.lit(True)
        for name in self._person:
            nobody = nobody & sf.col(name).isNull()
        kinds = sf.count(sf.lit(1)).over(Window.partitionBy(*self._person))
        # Rows without a name would all be one partition.
        self._named = stories.filter(~nobody).withColumn("m", kinds)
        self._unnamed = stories.filter(nobody)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep what is asked several times."""
        self._named = kept(self._named)
        try:
            yield
        finally:
            self._named.unpersist()

    def alike(self, columns: Sequence[str]) -> Any:
        """Count those whose rows are alike, by some columns: these, `ALIKE`, `UNNAMED` and `ROWS_OF`."""
        from pyspark.sql import functions as sf

        n, zero, one = sf.col("n"), sf.lit(0).cast("long"), sf.lit(1).cast("long")
        parts = [
            frame.select(*columns, people.alias(ALIKE), unnamed.alias(UNNAMED), n.alias(ROWS_OF))
            for frame, people, unnamed in (
                (self._named.filter(sf.col("m") == 1), one, zero),
                (self._unnamed, n, n),
            )
        ]
        sums = [sf.sum(name).alias(name) for name in (ALIKE, UNNAMED, ROWS_OF)]
        if not columns:
            return parts[0].union(parts[1]).agg(*sums)
        return parts[0].union(parts[1]).groupBy(*columns).agg(*sums)

    def listed(self) -> Any:
        """List the kinds of rows of everybody else: the columns, `NUMBER`, `NAME` and `ROWS_OF`."""
        from pyspark.sql import functions as sf

        rows = sf.collect_list(sf.struct(*self._columns, sf.col("n").alias(ROWS_OF))).alias("all")
        people = self._named.filter(sf.col("m") > 1).groupBy(*self._person).agg(rows)
        numbered = people.select(
            sf.monotonically_increasing_id().alias(NUMBER), sf.xxhash64(*self._person).alias(NAME), "all"
        )
        each = numbered.select(NUMBER, NAME, sf.explode("all").alias("row"))
        return each.select(*(f"row.{name}" for name in self._columns), NUMBER, NAME, f"row.{ROWS_OF}")


def named_person(column: Any, kind: pl.DataType, null_values: tuple[str, ...]) -> Any:
    """Return a column that names a person, with null for what means missing; None if that cannot be said.

    Parameters
    ----------
    kind
        The type that its values are fetched as.
    """
    import polars as pl
    from pyspark.sql import functions as sf

    nulls, gone = null_values_of(null_values), sf.lit(False)
    if kind == pl.String:
        gone = column.isin(list(nulls.texts))
        if nulls.pattern is not None:
            # In Java a dollar sign is also the place before the last line break.
            gone = gone | column.rlike(rf"\A{nulls.pattern[1:-1]}\z")
    else:
        values = nulls.of_type(kind)
        if any(isinstance(value, dt.datetime) for value in values):
            return None
        if values:
            gone = column.isin([_literal(value, kind) for value in values])
        if kind.is_float():
            gone = gone | sf.isnan(column)
    return sf.when(~sf.coalesce(gone, sf.lit(False)), column)


def _literal(value: Any, kind: pl.DataType) -> Any:
    """Write a value as a column of its type: 0.1 of 32 bits is not that of 64."""
    import polars as pl
    from pyspark.sql import functions as sf

    return sf.lit(value).cast("float") if kind == pl.Float32 else sf.lit(value)
