"""Rows of files, grouped by DuckDB within a share of the memory and spilling to disk."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import TableError, setting
from incrowd.core.io.columns import column_named, nameless
from incrowd.core.lazy import NDArray, duckdb, np, pl
from incrowd.core.progress import check
from incrowd.core.reading.missing import null_values_of
from incrowd.engines.dialects.duckdb import DuckDB, lock
from incrowd.engines.fold import (
    KEY,
    PERSON,
    ROWS,
    CodedPeople,
    GroupedRows,
    Keys,
    Lines,
    Values,
    smallest,
)
from incrowd.engines.plan import PeoplePlan, group_and_count
from incrowd.engines.scan import learn

if TYPE_CHECKING:
    from incrowd.core.io.streams import Files
    from incrowd.core.progress import Progress
    from incrowd.core.table.schema import Schema

_KEY_BYTES = 120
"""Upper bound of bytes per key during counting and judging, plus 8 bytes per quasi-identifier."""

_CHANGED = "the files were changed while they were counted; try again when nobody writes to them"
_PAIR_BYTES = 40
"""Upper bound of bytes per pair of a key and a sensitive value."""
_ENTRY_BYTES = 120
"""Most that a pair of a person and a kind of row takes, beside `_PAIR_BYTES` for each sensitive attribute."""

_ENUMERATED = 100_000
"""Distinct texts up to which a column is grouped by integers."""

_DATABASE_SHARE = 0.3
_INTEGERS = (("UTINYINT", 2**8 - 1), ("USMALLINT", 2**16 - 1), ("UINTEGER", 2**22 - 1))
"""Types of small integers, with the largest integer used of each."""
_LEAST = 64 * 2**20
_POLL = 0.2
_PLACE = "file_index::BIGINT * 1099511627776 + file_row_number"
"""SQL: the position of a row in all files together."""


class _Packed(NamedTuple):
    """Grouping expression of a column, by small integers where possible to save memory.

    Attributes
    ----------
    expression, parameters
        The SQL, and the values of its parameters.
    texts
        The text of each integer, where the column has texts. The next integer stands for all other texts,
        which were not there when the column was looked at.
    low
        What is added to each integer, where the column has whole numbers or days.
    failing
        SQL that fails for other texts and the values of its parameters, where the column has texts.
    """

    expression: str
    parameters: list[Any]
    texts: pl.Series | None = None
    low: int | None = None
    failing: tuple[str, list[Any]] | None = None

    @property
    def plain(self) -> bool:
        """Whether the column is grouped by the values themselves."""
        return self.texts is None and self.low is None


class _Range(NamedTuple):
    """The lowest and the highest value of whole numbers or days, or about how many texts are distinct."""

    low: Any
    high: Any
    distinct: int


def reads_alike(kind: pl.DataType, null_values: tuple[str, ...]) -> bool:
    """Say whether DuckDB reads a column of some type as Polars does."""
    if isinstance(kind, pl.Datetime):
        if kind.time_zone is not None and null_values_of(null_values).moments:
            # Null values are what a clock in that zone shows.
            return False
        return kind.time_unit == "us" or (kind.time_unit == "ms" and kind.time_zone is None)
    if isinstance(kind, pl.Decimal):
        return (kind.precision or 39) <= 38
    plain = (pl.String, pl.Boolean, pl.Date, pl.Float32, pl.Float64)
    small = kind.is_integer() and "128" not in str(kind)
    return small or kind in plain or isinstance(kind, pl.Categorical | pl.Enum)


class SpilledRows(GroupedRows):
    """Rows of files grouped by DuckDB, reduced to the distinct keys in the order of the first row.

    Parameters
    ----------
    database
        Open, without tables of its own; it spills into `folder`.
    names
        The columns that are counted.
    """

    in_order = True

    def __init__(
        self,
        files: Files,
        values: Values,
        names: Sequence[str],
        progress: Progress,
        database: duckdb.DuckDBPyConnection,
        folder: Path,
    ) -> None:
        self.values = values
        self._files, self._progress = files, progress
        self._database, self._folder = database, folder
        self._names = names

    @classmethod
    @contextmanager
    def opened(
        cls, files: Files, values: Values, names: Sequence[str], progress: Progress
    ) -> Iterator[SpilledRows]:
        """Open an empty database that spills into a private folder."""
        from incrowd.core.io.scratch import PrivateFolder
        from incrowd.core.kernels.jit import thread_count

        share = max(int(files.memory * _DATABASE_SHARE), _LEAST)
        with PrivateFolder() as folder:
            database = duckdb.connect(
                ":memory:",
                config={
                    "memory_limit": f"{share // 2**20}MiB",
                    "temp_directory": f"{folder}/spilled",
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                    "threads": str(thread_count()),
                    # What has an order says so.
                    "preserve_insertion_order": "false",
                },
            )
            try:
                database.execute("SET enable_progress_bar = false").fetchall()
                assert files.stored is not None
                # A path is looked up as it is, and as `_literal` writes it.
                stored = [form for path in files.stored for form in (str(path), _globbed(str(path)))]
                lock(database, stored, [folder])
                yield cls(files, values, names, progress, database, folder)
            except duckdb.OutOfMemoryException:
                raise TableError(
                    "counting needs more than its share of the memory; allow more "
                    f"({setting('memory=', '--memory')}) or name fewer "
                    "quasi-identifiers"
                ) from None
            except (duckdb.ConversionException, duckdb.OutOfRangeException):
                # A value that was not there when the columns were looked at.
                raise TableError(_CHANGED) from None
            except duckdb.Error as error:
                # A damaged page may run into those of other columns, and one reader alone may stumble.
                from incrowd.core.io.streams import refuse_damaged

                refuse_damaged(files, list(values.types))
                raise TableError(f"the files could not be counted ({type(error).__name__})") from None
            finally:
                database.close()

    def interrupt(self) -> None:
        """Give up the query that runs."""
        self._database.interrupt()

    def grouped(self, names: Sequence[str]) -> pl.DataFrame:
        """Count the keys, and store the counts on disk (see `GroupedRows.grouped`)."""
        keys = self._group("keys", names)
        count = keys.select(pl.len()).collect().item()
        self._check_room(count, count * (_KEY_BYTES + 8 * len(names)), "keys")
        return self._coded_values(keys, names)

    def keyed(self, columns: Sequence[str], keys: Keys) -> tuple[pl.DataFrame, NDArray[np.integer]]:
        """Count columns per key, which alone are fetched (see `GroupedRows.keyed`)."""
        names = keys.names
        # Combinations of several attributes are numbered by their first row.
        grouped_by = list(dict.fromkeys((*names, *columns)))
        pairs = self._group("pairs", grouped_by, ordered=len(columns) > 1)
        same = " AND ".join(f"p.c{j} IS NOT DISTINCT FROM k.c{j}" for j in range(len(names)))
        chosen = ", ".join(f"p.c{grouped_by.index(name)} AS c{j}" for j, name in enumerate(columns))
        order = "p.file_row_number" if len(columns) > 1 else f"key, p.c{grouped_by.index(columns[0])}"
        triples = self._save(
            "counted",
            f"SELECT {chosen}, p.n, CAST(k.file_row_number AS UINTEGER) AS key FROM {self._saved('pairs')} p "
            f"JOIN {self._saved('keys')} k ON {same} ORDER BY {order}",
        )
        labels = {f"c{j}": name for j, name in enumerate(columns)}
        triples = triples.rename(labels | {"n": ROWS, "key": KEY})
        count = triples.select(pl.len()).collect().item()
        self._check_room(count, count * _PAIR_BYTES, "pairs of a key and a sensitive value")
        saved = pl.scan_parquet(self._folder / "keys.parquet", glob=False)
        totals = [frame.select(pl.last().sum()) for frame in (saved.select("n"), pairs.select(ROWS))]
        sums = {frame.item() for frame in pl.collect_all([*totals, triples.select(column_named(ROWS).sum())])}
        if len(sums) > 1:
            raise TableError(_CHANGED)
        grouped = self._coded_values(triples, columns)
        return grouped.drop(KEY), np.asarray(keys.numbers[grouped[KEY].to_numpy()])

    def people(self, sensitive: list[str], lists: list[list[str]], keys: Keys, schema: Schema) -> CodedPeople:
        """Reduce the people on disk (see `GroupedRows.people`)."""
        forms = [f"c{j}" for j in range(len(keys.names))]
        values = [f"s{j}" for j in range(len(sensitive))]
        person = [f"p{j}" for j in range(len(schema.person))]
        # Nobody looks for other texts afterwards.
        packed = [self._packed[name] for name in (*keys.names, *sensitive, *schema.person)]
        expressions = [each.failing or (each.expression, each.parameters) for each in packed]
        columns = ", ".join(
            f"{sql} AS {form}" for (sql, _), form in zip(expressions, forms + values + person, strict=True)
        )
        same = " AND ".join(f"r.{form} IS NOT DISTINCT FROM k.{form}" for form in forms)
        rows = f"(SELECT {columns}, {_PLACE} AS place FROM {self._source()}) r"
        plan = PeoplePlan(
            f"{rows} JOIN {self._saved('keys')} k ON {same}",
            ["CAST(k.file_row_number AS UINTEGER)"],
            values,
            person,
            place="place",
        )
        self._save("kinds", plan.kinds(), [value for _, parameters in expressions for value in parameters])

        def fetched(query: str, names: Sequence[str], counts: Sequence[str]) -> pl.DataFrame:
            frame = self._save("people", query)
            lines = frame.select(pl.len()).collect().item()
            each = _PAIR_BYTES + (
                _ENTRY_BYTES + _PAIR_BYTES * (len(sensitive) - 1) if PERSON in counts else 0
            )
            self._check_room(lines, lines * each, "pairs of a person and a kind of row")
            labels = [KEY, *names, *counts]
            frame = frame.rename(dict(zip(frame.collect_schema().names(), labels, strict=True)))
            return self._coded_values(frame, names)

        listed, alike, (people, unnamed, all_rows) = plan.reduced(
            sensitive, lists, self._saved("kinds"), fetched
        )
        total = pl.scan_parquet(self._folder / "keys.parquet", glob=False).select(pl.col("n").sum())
        if all_rows != total.collect().item():
            raise TableError(_CHANGED)

        def coded(frame: pl.DataFrame) -> Lines:
            return frame.drop(KEY), np.asarray(keys.numbers[frame[KEY].to_numpy()])

        return coded(listed), list(map(coded, alike)), (people, unnamed)

    def _group(self, table: str, names: Sequence[str], *, ordered: bool = True) -> pl.LazyFrame:
        """Count the rows by some columns, if need be in the order of the first row."""
        columns = [self._packed[name].expression for name in names]
        values = [value for name in names for value in self._packed[name].parameters]
        first = [f"min({_PLACE})"] if ordered else []
        keys, count = ", ".join(f"c{j}" for j in range(len(names))), len(names)
        groups = group_and_count(columns, self._source(), first)
        query = f"SELECT {keys}, c{count} AS n FROM ({groups}){f' ORDER BY c{count + 1}' if ordered else ''}"
        return self._save(table, query, values).rename(
            {f"c{j}": name for j, name in enumerate(names)} | {"n": ROWS}
        )

    def _source(self) -> str:
        """Return SQL for all rows."""
        assert self._files.stored is not None
        files = ", ".join(_literal(str(path)) for path in self._files.stored)
        return f"read_parquet([{files}], hive_partitioning = false)"

    @cached_property
    def _packed(self) -> dict[str, _Packed]:
        """Grouping expressions by column, with small integers for few texts or a small range."""
        columns = {name: _Packed(*self._expression(name)) for name in dict.fromkeys(self._names)}
        types = self.values.types
        texts = [name for name in columns if _has_texts(types[name])]
        integers = [name for name in columns if types[name].is_integer() or types[name] == pl.Date]
        ranges = self._ranges({name: columns[name] for name in (*texts, *integers)})
        few = [name for name in texts if 0 < ranges[name].distinct <= _ENUMERATED]
        lists = self._ask(
            [f"list(DISTINCT {columns[name].expression})" for name in few],
            [value for name in few for value in columns[name].parameters],
        )
        by_place = {
            name: self._number_texts(columns[name], f"e{number}", values)
            for number, (name, values) in enumerate(zip(few, lists, strict=True))
        }
        by_distance = {name: _subtract_lowest(columns[name], ranges[name]) for name in integers}
        return columns | by_place | by_distance

    def _ranges(self, columns: Mapping[str, _Packed]) -> dict[str, _Range]:
        """Look at columns of texts, whole numbers and days in a single pass over the rows."""
        aggregates: list[str] = []
        parameters: list[Any] = []
        for name, (expression, values, *_) in columns.items():
            if _has_texts(self.values.types[name]):
                aggregates += ["NULL", "NULL", f"approx_count_distinct({expression})"]
                parameters += values
            else:
                aggregates += [f"min({expression})", f"max({expression})", "NULL"]
                parameters += [*values, *values]
        answers = self._ask(aggregates, parameters)
        return {name: _Range(*answers[3 * j : 3 * j + 3]) for j, name in enumerate(columns)}

    def _ask(self, aggregates: Sequence[str], parameters: Sequence[Any]) -> Sequence[Any]:
        """Compute aggregates in a single pass over the rows."""
        if not aggregates:
            return ()
        statement = f"SELECT {', '.join(aggregates)} FROM {self._source()}"
        return self._database.execute(statement, list(parameters)).fetchall()[0]

    def _number_texts(self, column: _Packed, enum: str, values: Sequence[str | None]) -> _Packed:
        """Group a column by the places of the texts in a new type of the database."""
        texts = sorted(value for value in values if value is not None)
        # A list as parameter, so that no value becomes a part of the statement.
        self._database.execute(
            f"CREATE OR REPLACE TYPE {enum} AS ENUM (SELECT unnest(CAST(? AS VARCHAR[])))", [texts]
        ).fetchall()
        text, parameters, *_ = column
        kind = next(kind for kind, most in _INTEGERS if len(texts) <= most)
        # What cannot fail is computed once for each text that a Parquet file lists; a cast that can, for
        # each row.
        code = f"CAST(enum_code(TRY_CAST({text} AS {enum})) AS {kind})"
        fallback = f"CASE WHEN {text} IS NOT NULL THEN CAST({len(texts)} AS {kind}) END"
        return _Packed(
            f"coalesce({code}, {fallback})",
            [*parameters, *parameters],
            texts=pl.Series(texts, dtype=pl.String),
            failing=(f"enum_code(CAST({text} AS {enum}))", parameters),
        )

    def _expression(self, name: str) -> tuple[str, list[Any]]:
        """Write a column in SQL, with equal values made the same and missing values NULL."""
        kind = self.values.types[name]
        if name in self._files.partitions:
            text = "(CAST(? AS VARCHAR[]))[file_index::BIGINT + 1]"
            parameters: list[Any] = [list(self._files.partitions[name])]
        else:
            text, parameters = DuckDB.quote(name), []
        missing: list[str] = []
        listed: list[Any] = []
        nulls, texts = null_values_of(self.values.null_values), _has_texts(kind)
        if values := list(nulls.texts) if texts else nulls.of_type(kind):
            # What is compared has the column's own width: 0.1 of 32 bits is not that of 64.
            mark = "CAST(? AS FLOAT)" if kind == pl.Float32 else "?"
            missing.append(f"{text} IN ({', '.join([mark] * len(values))})")
            listed += [*parameters, *values]
            if texts and nulls.pattern is not None:
                missing.append(f"regexp_full_match({text}, ?)")
                listed += [*parameters, nulls.pattern]
        if kind.is_float():
            missing = [f"isnan({text})", *missing]
            text = f"CASE WHEN {text} = 0 THEN 0 ELSE {text} END"
        if not missing:
            return text, parameters
        return f"CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {text} END", [*listed, *parameters]

    def _coded_values(self, frame: pl.LazyFrame, names: Sequence[str]) -> pl.DataFrame:
        """Read saved combinations in order as codes, and record the values of new columns."""
        plain = [name for name in names if self._packed[name].plain]
        kinds = {name: self.values.types[name] for name in plain}
        frame = frame.with_columns(
            column_named(name).cast(pl.String() if _has_texts(kind) else kind) for name, kind in kinds.items()
        )
        learn(self.values, frame, plain)
        coded = self.values.coded(frame, plain, ordered=True).collect(engine="streaming")
        return coded.with_columns(self._unpacked(coded[name]) for name in names if name not in plain)

    def _unpacked(self, numbers: pl.Series) -> pl.Series:
        """Turn the grouping integers of a column into positions among the distinct values."""
        name, numbers = numbers.name, nameless(numbers)
        packed = self._packed[name]
        distinct = numbers.unique().sort(nulls_last=True)
        if packed.texts is not None:
            if (distinct >= len(packed.texts)).any():
                raise TableError(_CHANGED)
            values = packed.texts.gather(distinct)
        else:
            kind = self.values.types[name]
            days = kind == pl.Date
            values = (distinct.cast(pl.Int64) + packed.low).cast(pl.Int32 if days else kind).cast(kind)
        values = nameless(pl.DataFrame({name: values}).select(self.values.cleaned(name)).to_series())
        dictionary = self.values.learn(name, values.unique().sort())
        order = pl.DataFrame([dictionary.alias("value")]).with_row_index("place")
        positions = pl.DataFrame([values.alias("value")]).join(
            order, on="value", how="left", nulls_equal=True, maintain_order="left"
        )["place"]
        # One entry for each integer, and the last for the missing value.
        size = int(distinct.drop_nulls().max() or 0) + 1 if len(distinct.drop_nulls()) else 0  # type: ignore[arg-type]
        position = np.zeros(size + 1, np.uint32)
        position[distinct.cast(pl.Int64).fill_null(size).to_numpy()] = positions.to_numpy()
        codes = position[numbers.cast(pl.UInt32).fill_null(size).to_numpy()]
        return pl.Series(name, codes, dtype=smallest(len(dictionary)))

    def _check_room(self, count: int, need: int, kind: str) -> None:
        """Raise where keys or pairs would not fit into memory, before fetching any."""
        room = int(self._files.memory * (1 - _DATABASE_SHARE))
        if need > room:
            raise TableError(
                f"the table has {count:,} distinct {kind}, which take about {need / 2**30:.1f} GiB where "
                f"{room / 2**30:.1f} GiB are left of the memory; allow more "
                f"({setting('memory=', '--memory')}), name fewer "
                "quasi-identifiers, or recode the finest of them before"
            )

    def _saved(self, table: str) -> str:
        """Return SQL for a table that `_save` saved."""
        return f"read_parquet({_literal(f'{self._folder / table}.parquet')})"

    def _save(self, table: str, query: str, values: Sequence[Any] = ()) -> pl.LazyFrame:
        """Save the result of a query, with progress reports and the chance to cancel."""
        database, path = self._database, self._folder / f"{table}.parquet"
        statement = f"COPY ({query}) TO {DuckDB.text(str(path))} (FORMAT parquet)"
        with ThreadPoolExecutor(1) as pool:
            # Newer versions want every result fetched to its end.
            job = pool.submit(lambda: database.execute(statement, list(values)).fetchall())
            try:
                while not wait([job], _POLL).done:
                    check(self._progress)
                    percent = database.query_progress()
                    if percent > 0:
                        self._progress.advance(int(percent), 100)
            except BaseException:
                database.interrupt()
                raise
            job.result()
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _subtract_lowest(column: _Packed, extent: _Range) -> _Packed:
    """Group a column by the distance from the lowest value, unless the range is large."""
    low, high, _ = extent
    if low is None:
        return column
    text = column.expression
    if isinstance(low, dt.date):
        epoch = dt.date(1970, 1, 1)
        low, high = (low - epoch).days, (high - epoch).days
        text = f"({text} - DATE '1970-01-01')"
    kinds = [kind for kind, most in _INTEGERS if high - low <= most]
    if not kinds or abs(low) >= 2**62 or abs(high) >= 2**62:
        return column
    return _Packed(f"CAST(CAST({text} AS BIGINT) - ({low}) AS {kinds[0]})", column.parameters, low=low)


def _has_texts(kind: pl.DataType) -> bool:
    return kind == pl.String or isinstance(kind, pl.Categorical | pl.Enum)


def _literal(path: str) -> str:
    """Write a path as an SQL literal in which ``*``, ``?`` and ``[`` mean themselves."""
    return DuckDB.text(_globbed(path))


def _globbed(path: str) -> str:
    return re.sub(r"[*?\[]", r"[\g<0>]", path)
