"""Tables on Spark: counted by grouping there, recoded by joins there, written as a folder of Parquet."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import SchemaError, TableError
from incrowd.core.lazy import NDArray, np, pl, sf, st
from incrowd.engines.base import Counted, Engine, EngineSettings, Released, survey_columns
from incrowd.engines.distinct import require_countable
from incrowd.engines.fetched import (
    Combinations,
    FetchedCount,
    LeavingColumns,
    check_keys,
    count_fetched,
)
from incrowd.engines.fold import PERSON, ROWS, added_up, refuse_uncountable
from incrowd.engines.plan import PeoplePlan
from incrowd.engines.spark.errors import guarded
from incrowd.engines.spark.fetching import (
    HASHED,
    as_arrow,
    ask,
    cache_rows,
    fetch_compact,
    person_of,
    row_count,
    to_polars,
)
from incrowd.engines.spark.folder import replace_folder
from incrowd.engines.spark.packing import CELL, WORD, CellWords, Packed, joined

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.treated_columns import TreatedColumn
    from incrowd.engines.cells import CellPeople, CellQuestion
    from incrowd.engines.plan import ReducedPeople

__all__ = [
    "SparkEngine",
    "all_suppressed",
    "in_random_order",
    "positional",
    "to_polars",
    "without_comments",
]

_COUNT = "n"
_NUMBERED = "numbered"
_FEW = 200_000
"""Combinations of all columns that are fetched at once, and grouped by some of the columns on the driver."""


class SparkEngine(Engine):
    """A Spark DataFrame (see `incrowd.engines.Engine`).

    Rows stay where they are: the executors group them, and the distinct combinations come to the driver.
    A release is a DataFrame again, made when it is asked for. Columns are known by their position, since
    Spark may not tell names apart that differ by case.
    """

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this is a DataFrame of Spark, classic or Connect."""
        # Nobody has one without having imported this.
        module = sys.modules.get("pyspark.sql.dataframe")
        return module is not None and isinstance(table, module.DataFrame)

    divisible = True
    whose = "a table on Spark"
    file_name = "release.parquet"

    def __init__(
        self, table: Any, settings: EngineSettings | None = None, treated: Sequence[TreatedColumn] = ()
    ) -> None:
        super().__init__(table, settings, treated)
        if table.isStreaming:
            raise TableError("a streaming DataFrame never ends; give the rows of one batch")
        self._frame = table
        self._names: list[str] = list(table.columns)
        self.combinations = Combinations(self.compact_combinations, self.treated_columns)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._names)

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> Counted:
        """Count the rows, with all groupings from a single pass (see `Engine.count`)."""
        refuse_uncountable(schema, self._names)
        columns = [attribute.name for attribute in (*schema.quasi, *schema.sensitive)]
        columns += [*schema.person, *survey_columns(schema)]
        if target is not None:
            columns.append(schema.target(target, self._names).name)
        columns += [name for column in self.treated_columns for name in column.columns]
        columns = list(dict.fromkeys(columns))
        # All of them are fetched in any case, once.
        once = len(columns) <= len(schema.quasi) + 1 and not schema.person
        self.check_types(columns)
        with guarded(self._frame.sparkSession):
            base = _grouped(self._narrow(columns))
            base = base if once else cache_rows(base)
            try:
                looked_at = _Base.of_frame(base, columns, self.settings, once=once, few=not schema.person)
                counting = Combinations(
                    looked_at.compact_combinations, self.treated_columns, looked_at.reduced
                )
                options: dict[str, Any] = {"counting": counting, "joint": joint, "target": target}
                return count_fetched(self, self.combinations, schema, self._release, **options)
            finally:
                base.unpersist()

    def people_of_cells(self, count: Counted, question: CellQuestion) -> CellPeople:
        """Count on the executors (see `Engine.people_of_cells`)."""
        from incrowd.engines.spark.cells import people_of_cells

        assert isinstance(count, FetchedCount)
        with guarded(self._frame.sparkSession):
            return people_of_cells(self, positional(self._frame)[0], count, question)

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns on Spark (see `Engine.values_of`)."""
        return self.combinations.values_of(columns)

    def leaving_values(self, column: str) -> tuple[pl.Series, NDArray[np.int64]]:
        """Count the values on Spark, also values that models cannot count (see the base class)."""
        if self.combinations.treated_of([column]) or self._is_countable(column):
            return super().leaving_values(column)
        with guarded(self._frame.sparkSession):
            # Nobody reads values of such a type, so how often each occurs is all that is fetched.
            counts = to_polars(_grouped(self._narrow([column])).select(_COUNT)).to_series()
        return pl.Series(None, [None] * len(counts), pl.Binary), counts.to_numpy()

    def some_rows(self, columns: Sequence[str], share: float) -> pl.DataFrame:
        """Fetch random rows of the columns that can be counted (see `Engine.some_rows`)."""
        treated = {column.name for column in self.combinations.treated_of(columns)}
        names = [name for name in columns if self._is_countable(name) and name not in treated]
        if not names:
            return pl.DataFrame()
        with guarded(self._frame.sparkSession):
            narrow = self._narrow(names)
            rows = to_polars(narrow if share >= 1 else narrow.sample(share, 0))
            rows.columns = names
            return rows

    def lone_rows(self, columns: Sequence[str]) -> int:
        """Count the unique rows on the executors, or here with treated columns (see `Engine.lone_rows`)."""
        if self.combinations.treated_of(columns):
            return int((self.values_of(columns)[1] == 1).sum())
        with guarded(self._frame.sparkSession):
            return int(_grouped(self._narrow(columns)).filter(sf.col(_COUNT) == 1).count())

    def treated(self, columns: Sequence[TreatedColumn]) -> SparkEngine:
        """Treat combinations on fetching, and rows on release (see `Engine.treated`)."""
        return SparkEngine(self._frame, self.settings, columns)

    def compact_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows by some columns and fetch the combinations, texts as categories."""
        self.check_types(names)
        with guarded(self._frame.sparkSession):
            return _fetch(_grouped(self._narrow(names)), names, self.settings)

    def _release(self, count: FetchedCount, schema: Schema, recoding: Recoding) -> Released:
        """Recode the rows on Spark (see `Counted.apply`).

        A DataFrame is made anew whenever Spark is asked for its rows. A row that was not there when the rows
        were counted, with a combination that nobody knows, is suppressed, or left out where such are.
        """
        from incrowd.core.recoding import FullDomain

        released = schema.released(self._names)
        keys, texts = count.numbered_keys(schema, recoding)
        with guarded(self._frame.sparkSession):
            names, keyed = [attribute.name for attribute in schema.quasi], count.keyed_by
            cell_words = CellWords.of_keys(keyed, self.join, keys, texts)
            frame, _ = positional(self._frame)
            by_value = isinstance(recoding, FullDomain) and keyed == names
            frame, words = cell_words.by_value(frame) if by_value else cell_words.by_key(frame)
            frame = frame.withColumns({WORD.format(position): word for position, word in enumerate(words)})
            frame, cells = self._with_leaving(frame, count.leaving, [*released, *keyed])
            others = [name for name in released if name not in names]
            rows = frame.select(
                *self._output_columns(others, cells), *(WORD.format(j) for j in range(len(words)))
            )
            if recoding.left_out:
                rows = rows.filter(cell_words.texts.leave)
            packed = Packed(rows, cell_words.texts, names, others, released)
            # Words take less than the texts to shuffle and to sort.
            return Released(packed.table, lambda _: packed.unpacked(in_random_order(packed.rows)))

    @property
    def native(self) -> Any:
        """The DataFrame, with columns treated lazily."""
        leaving = LeavingColumns(self.combinations.raw, columns=self.treated_columns)
        with guarded(self._frame.sparkSession):
            frame, cells = self._with_leaving(positional(self._frame)[0], leaving, self._names)
            return frame.select(*self._output_columns(self._names, cells)).toDF(*self._names)

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Any:
        """Refuse: Spark writes a folder (see `replace_folder`)."""
        raise TableError(f"{target}: a table on Spark is written as a folder of Parquet files")

    def place(self, folder: Path, name: str) -> str:
        """Return the URI of a folder of this machine, since a session may default to another file system."""
        return folder.joinpath(name).as_uri()

    def write_checked(
        self,
        path: str | os.PathLike[str],
        csv_format: CsvFormat | None,
        check: Callable[[Any], object],
        *,
        force: bool,
        sources: object = None,
    ) -> None:
        """Write the rows as a folder of Parquet files, all or nothing (see `replace_folder`)."""
        replace_folder(self._frame, path, check, force=force)

    # --- counting ------------------------------------------------------------------------------------

    def _narrow(self, names: Sequence[str]) -> Any:
        """Return some columns as c0, c1, ..."""
        columns = (self.column(name).alias(f"c{j}") for j, name in enumerate(names))
        return positional(self._frame)[0].select(*columns)

    def _is_countable(self, name: str) -> bool:
        """Say whether a column has texts, numbers, dates or truth values."""
        countable = (
            st.StringType, st.BooleanType, st.NullType, st.ByteType, st.ShortType, st.IntegerType,
            st.LongType, st.FloatType, st.DoubleType, st.DecimalType, st.DateType, st.TimestampType,
            st.TimestampNTZType,
        )  # fmt: skip
        return isinstance(self.kind(name), countable)

    def check_types(self, names: Sequence[str]) -> None:
        """Raise for types that rows in memory are refused for, before Spark groups the rows."""
        for name in names:
            if not self._is_countable(name):
                column = f"c{self._names.index(name)}"
                empty = as_arrow(positional(self._frame)[0].select(column))
                if empty is not None:
                    require_countable(name, empty.dtypes[0])
                # Spark has types that Arrow lacks, as some intervals.
                raise SchemaError(
                    f"column {name!r} is of type {self.kind(name).simpleString()}, which is neither text, "
                    "number nor date; convert it first, or leave the column out"
                )

    # --- recoding ------------------------------------------------------------------------------------

    def _with_leaving(
        self, frame: Any, leaving: LeavingColumns, ordered: Sequence[str]
    ) -> tuple[Any, dict[str, Any]]:
        """Join rows with the values of columns treated on release, and return the cells of each column.

        That is computed where the key is, so no executor gets it. A value that was not there when the rows
        were counted becomes missing. Rows of the same values are numbered in the order of what is released of
        them, where values do not follow from those before. So they are the same whenever Spark is asked for
        them, but for rows of which nobody could say which is which.
        """
        from pyspark.sql import Window

        cells = {}
        for position, column in enumerate(leaving.by_value):
            table = leaving.lookup(column)
            kind = self._type_of(column, table.schema[column.name])
            frame = self.join(frame, column.columns, table, f"t{position}", [kind])
            cells[column.name] = sf.col(CELL.format(f"t{position}_0"))
        if not (by_row := leaving.by_row):
            return frame, cells
        names, table = leaving.drawn_from, leaving.drawn
        alike = [self.column(name) for name in names]
        order = [
            sf.col(f"c{self._names.index(name)}").cast("string") for name in leaving.drawn_order(ordered)
        ]
        number = sf.row_number().over(Window.partitionBy(*alike).orderBy(*order)).cast("long")
        kinds = [self._type_of(column, table.schema[column.name]) for column in by_row]
        numbered = [(sf.col(_NUMBERED), st.LongType())]
        frame = self.join(frame.withColumn(_NUMBERED, number), names, table, "d", kinds, numbered)
        cells |= {column.name: sf.col(CELL.format(f"d_{j}")) for j, column in enumerate(by_row)}
        return frame, cells

    def column(self, name: str) -> Any:
        """Return a column of `positional`, in which texts are equal letter by letter."""
        column = sf.col(f"c{self._names.index(name)}")
        # A collation may hold different texts for equal.
        return column.cast(st.StringType()) if isinstance(self.kind(name), st.StringType) else column

    def kind(self, name: str) -> Any:
        """Return the type of a column, a text having no collation."""
        kind = self._frame.schema.fields[self._names.index(name)].dataType
        return st.StringType() if isinstance(kind, st.StringType) else kind

    def _type_of(self, column: TreatedColumn, dtype: pl.DataType) -> Any:
        """Return Spark's type of a treated column that came as another."""
        kind = column.type_of(dtype)
        if kind != dtype:
            return st.LongType() if kind.is_integer() else st.StringType()
        return self.kind(column.name)

    def join(
        self,
        frame: Any,
        names: Sequence[str],
        table: pl.DataFrame,
        mark: str,
        cells: Sequence[Any],
        further: Sequence[tuple[Any, Any]] = (),
    ) -> Any:
        """Join rows with a table from the driver by some columns and further columns (see `joined`)."""
        columns = [*((self.column(name), self.kind(name)) for name in names), *further]
        return joined(frame, columns, table, mark, cells)

    def _output_columns(self, names: Sequence[str], cells: dict[str, Any]) -> list[Any]:
        """Return columns as o0, o1, ... without the comments of the table."""
        columns = []
        for j, name in enumerate(names):
            column = cells.get(name)
            if column is None:
                position = self._names.index(name)
                column = without_comments(
                    sf.col(f"c{position}"), self._frame.schema.fields[position].dataType
                )
            columns.append(column.alias(f"o{j}"))
        return columns


class _Base(NamedTuple):
    """Distinct rows of the counted columns with the row counts, the base of all further groupings.

    Attributes
    ----------
    base
        The DataFrame.
    names
        The columns.
    rows
        How many lines it has.
    fetched
        The lines, where all of them are fetched.
    """

    base: Any
    names: Sequence[str]
    settings: EngineSettings
    rows: int
    fetched: pl.DataFrame | None

    @classmethod
    def of_frame(
        cls, base: Any, names: Sequence[str], settings: EngineSettings, *, once: bool, few: bool
    ) -> _Base:
        """Count the distinct rows, and fetch all if wanted and few enough.

        Parameters
        ----------
        once
            Whether to fetch them in any case.
        few
            Whether to fetch them where they are few.
        """
        rows = row_count(base)
        fetch = once or (few and rows <= _FEW)
        fetched = _fetched(base, names) if fetch and rows <= settings.driver_keys else None
        return cls(base, names, settings, rows, fetched)

    def compact_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows by some columns and fetch the combinations, texts as categories."""
        same = list(names) == list(self.names)
        if self.fetched is not None:
            return self.fetched if same else added_up(self.fetched, names)
        if same:
            check_keys(self.rows, self.settings, names)
            return _fetched(self.base, names)
        places = [self.names.index(name) for name in names]
        columns = [sf.col(f"c{position}").alias(f"c{j}") for j, position in enumerate(places)]
        grouped = (
            self.base.groupBy(*(f"c{position}" for position in places))
            .agg(sf.sum(_COUNT).alias(_COUNT))
            .select(*columns, _COUNT)
        )
        if self.rows <= self.settings.driver_keys:
            return _fetched(grouped, names)
        return _fetch(grouped, names, self.settings)

    def reduced(
        self, names: Sequence[str], sensitive: Sequence[str], lists: Sequence[Sequence[str]], schema: Schema
    ) -> ReducedPeople | None:
        """Reduce the people on Spark (see `Combinations.reduced`)."""
        column_of = {name: f"c{self.names.index(name)}" for name in [*names, *sensitive, *schema.person]}
        empty = as_arrow(self.base.select(*(column_of[name] for name in schema.person)))
        if empty is None:
            return None
        person = [
            person_of(self.base, column_of[name], kind, schema.null_values)
            for name, kind in zip(schema.person, empty.dtypes, strict=True)
        ]
        if None in person:
            return None
        keys, values = ([column_of[name] for name in listed] for listed in (names, sensitive))
        plan = PeoplePlan("{rows}", keys, values, list(map(str, person)), weight=_COUNT, hashed=HASHED)
        kinds = cache_rows(ask(plan.kinds(), rows=self.base))

        def fetched(query: str, attributes: Sequence[str], counts: Sequence[str]) -> pl.DataFrame:
            person_columns = schema.person if PERSON in counts else ()
            return _fetch(
                ask(query, kinds=kinds), [*names, *attributes], self.settings, counts, person_columns
            )

        try:
            return plan.reduced(sensitive, lists, "{kinds}", fetched)
        finally:
            kinds.unpersist()


def _fetch(
    grouped: Any,
    names: Sequence[str],
    settings: EngineSettings,
    counts: Sequence[str] = (ROWS,),
    person: Sequence[str] = (),
) -> pl.DataFrame:
    """Fetch combinations to the driver, or raise if too many."""
    check_keys(row_count(grouped), settings, [*names, *person])
    return _fetched(grouped, names, counts)


def _fetched(grouped: Any, names: Sequence[str], counts: Sequence[str] = (ROWS,)) -> pl.DataFrame:
    frame = fetch_compact(grouped)
    frame.columns = [*names, *counts]
    return frame


def in_random_order(frame: Any) -> Any:
    """Put the rows of a DataFrame in a random order that stays the same on each evaluation."""
    # Sorting all rows would first make them once more, to see where the parts are to begin and end.
    number = "\0number"
    numbered = frame.withColumn(number, sf.rand(secrets.randbits(63)))
    return numbered.repartition(number).sortWithinPartitions(number).drop(number)


def _grouped(frame: Any) -> Any:
    """Count the distinct rows of a DataFrame."""
    return frame.groupBy(*frame.columns).agg(sf.count(sf.lit(1)).alias(_COUNT))


def positional(frame: Any) -> tuple[Any, Any]:
    """Name the columns of a DataFrame c0, c1, ... and return also the schema before."""
    schema = frame.schema
    return frame.toDF(*(f"c{position}" for position in range(len(schema)))), schema


def all_suppressed(names: Sequence[str]) -> Any:
    """Return a column that says whether a row has ``*`` in all of some text columns."""
    from incrowd.core.recoding import SUPPRESSED

    suppressed = sf.lit(True)
    for name in names:
        suppressed = suppressed & sf.coalesce(sf.col(name) == sf.lit(SUPPRESSED), sf.lit(False))
    return suppressed


def without_comments(column: Any, kind: Any) -> Any:
    """Return a column without the metadata of the source column and of nested fields."""
    bare = _bare(kind)
    # An expression, unlike a column, has no metadata.
    return sf.coalesce(column if bare == kind else column.cast(bare))


def _bare(kind: Any) -> Any:
    if isinstance(kind, st.StructType):
        return st.StructType([st.StructField(f.name, _bare(f.dataType), f.nullable) for f in kind.fields])
    if isinstance(kind, st.ArrayType):
        return st.ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, st.MapType):
        return st.MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind
