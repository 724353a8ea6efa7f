"""Files larger than memory: counted by a database that spills to disk, recoded while they stream."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from incrowd.engines.grouped import ROWS, smallest
from incrowd.engines.scan import ScanEngine
from incrowd.errors import TableError, setting
from incrowd.io.columns import column_named, nameless
from incrowd.table.missing import null_values_of

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.engines.base import EngineSettings
    from incrowd.io.files import CsvFormat
    from incrowd.io.shuffle import RandomOrder, ShuffledRows
    from incrowd.io.streams import Files
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Schema

__all__ = ["FilesEngine"]

T = TypeVar("T")

_KEY_BYTES = 120
"""Most that a key takes while it is counted and judged, beside 8 bytes for each quasi-identifier."""

_CHANGED = "the files were changed while they were counted; try again when nobody writes to them"
_PAIR_BYTES = 40
"""Most that a pair of a key and a sensitive value takes."""

_ENUMERATED = 100_000
"""Distinct texts up to which a column is grouped by their numbers."""

_KEY = "\0key"
_DATABASE_SHARE = 0.3
_INTEGERS = (("UTINYINT", 2**8 - 1), ("USMALLINT", 2**16 - 1), ("UINTEGER", 2**22 - 1))
_LEAST = 64 * 2**20
_POLL = 0.2


class _Packed(NamedTuple):
    """How a column is grouped: by small integers where it can be, which take a fraction of the room.

    Attributes
    ----------
    expression, given
        The SQL, and the values of its parameters.
    texts
        The text of each integer, where the column has texts.
    low
        What is added to each integer, where the column has whole numbers or days.
    """

    expression: str
    given: list[Any]
    texts: pl.Series | None = None
    low: int | None = None

    @property
    def plain(self) -> bool:
        """Whether the column is grouped by its values as they are."""
        return self.texts is None and self.low is None


@dataclass(frozen=True, eq=False)
class _Recoded:
    """Rows that were counted and recoded, and how."""

    schema: Schema
    frequency: FrequencyTable
    recoding: Recoding

    def count(self, asked: Schema, joint: bool) -> FrequencyTable | None:
        """Count the released cells by what was counted before, None where that does not tell."""
        import numpy as np

        from incrowd.recoding import SUPPRESSED
        from incrowd.table.union import Shown, together

        before, frequency = self.schema, self.frequency
        names = [attribute.name for attribute in asked.quasi]
        if (
            names != [attribute.name for attribute in before.quasi]
            or any(a.kind != "category" or a.hierarchy is not None for a in asked.quasi)
            or asked.sensitive != before.sensitive
            or asked.null_values != before.null_values
            or (joint and frequency.joint is None)
        ):
            return None
        shown: Shown = []
        starred = np.ones(frequency.keys, np.bool_)
        for cells in self.recoding.cells:
            positions, labels = cells.released
            numbers = positions[cells.codes]
            starred &= np.array([label == SUPPRESSED for label in labels], np.bool_)[numbers]
            # A text that means missing means it in the release, too.
            means = null_values_of(asked.null_values).mean
            shown.append((numbers, [None if means(label) else label for label in labels]))
        kept = frequency if joint else replace(frequency, joint=None)
        return together([(shown, ~starred, kept)], asked)[0]


class FilesEngine(ScanEngine):
    """Parquet and CSV files; see `incrowd.engines.Engine`.

    DuckDB groups the rows, within its share of the memory and beyond that on disk, and what is kept are the
    distinct keys. Keys stand in the order of their first row. What DuckDB would read otherwise than Polars
    (times of nanoseconds with a zone, wide integers) is grouped by Polars, and so are rows that are computed.
    """

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether these are opened files."""
        from incrowd.io.streams import Files

        return isinstance(table, Files)

    def __init__(self, table: Files, settings: EngineSettings | None = None) -> None:
        super().__init__(table.frame, settings)
        self._files = table
        self._database: duckdb.DuckDBPyConnection | None = None
        self._folder: Path | None = None
        self._packed: dict[str, _Packed] = {}

    @property
    def sources(self) -> Sequence[object]:
        """The files."""
        return self._files.sources

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> FrequencyTable:
        """Count the rows; see `Engine.count`."""
        schema.check_columns(self.columns)
        if self._files.recoded is not None and target is None:
            found: FrequencyTable | None = self._files.recoded.count(schema, joint)
            if found is not None:
                return found
        counted = [a.name for a in schema.attributes if a.role in ("quasi", "sensitive", "person")]
        counted += [target] if target in self.columns else []
        # DuckDB knows no upper case in names, and has columns of its own by these.
        names = {*(name.lower() for name in self.columns), "file_index", "file_row_number"}
        clash = len(names) < len(self.columns) + 2 or "" in names
        alike = all(self._read_alike(name, schema.null_values) for name in counted)
        if self._files.stored is None or clash or not alike:
            with self._reading(counted):
                return super().count(schema, joint=joint, target=target)
        self._values = {}
        with self._opened():
            self._pack(counted, schema.null_values)
            return super().count(schema, joint=joint, target=target)

    def apply(self, schema: Schema, frequency: FrequencyTable, recoding: Recoding) -> Files:
        """Recode the rows while they stream, file by file; see `Engine.apply`.

        Until they are written, what is released is counted by recoding the keys: going over all rows for it
        takes longer than writing them, and what was written is counted anew in any case.
        """
        parts = tuple(self._recoded(part, schema, recoding) for part in self._files.parts)
        whole = self._recoded(self._frame, schema, recoding)
        # The files are kept as long as rows are computed from them.
        return replace(
            self._files,
            frame=whole,
            parts=parts,
            stored=None,
            partitions={},
            kept=self._files,
            recoded=_Recoded(schema, frequency, recoding),
        )

    def reordered(self, released: Any, order: RandomOrder) -> Files:
        """Put the rows of all files in one random order when they are written; see `Engine.reordered`."""
        from incrowd.io.shuffle import ShuffledRows

        shuffled = ShuffledRows(released.frame, order, released.memory)
        moved: Files = replace(released, frame=shuffled.lazy(), shuffled=shuffled)
        return moved

    def type_of(self, column: str) -> pl.DataType | None:
        """Leave texts as they are: a release of files is to be written, and files hold texts."""
        return None

    def columns_in_order(self, schema: Schema, frequency: FrequencyTable) -> list[str]:
        """Name what parts the files, too; see `Engine.columns_in_order`."""
        passed = set(schema.released(self.columns)) - {attribute.name for attribute in schema.quasi}
        parted = [name for name in self._files.partitions if name not in passed]
        found = super().columns_in_order(schema, frequency)
        return [*parted, *(name for name in found if name not in parted)]

    def writes_folder(self, target: Path) -> bool:
        """Say whether a target is a folder, for a file for every file."""
        from incrowd.io.targets import is_folder

        return is_folder(target)

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Files:
        """Write one file, or into a folder as many as there are; see `Engine.write`.

        Files of a folder are numbered, since names may tell what is not released. Rows in a random order are
        dealt out to files of one length.
        """
        from incrowd.io.streams import scan, stream_table

        with self._reading(self.columns):
            if self._files.shuffled is not None:
                self._write_shuffled(self._files.shuffled, path, target, csv_format)
            elif self.writes_folder(target):
                self._write_each(self._files.parts, stream_table, path, csv_format)
            else:
                stream_table(self._frame, path, target, csv_format)
        return scan(path, csv_format, memory=self._files.memory)

    def _write_shuffled(
        self, shuffled: ShuffledRows, path: Path, target: Path, csv_format: CsvFormat
    ) -> None:
        from incrowd.io.streams import cut_batches, stream_batches

        with shuffled.opened() as (count, batches):
            if not self.writes_folder(target):
                stream_batches(batches, path, target, csv_format)
                return
            parts = len(self._files.parts)
            edges = [count * part // parts for part in range(parts + 1)]
            sizes = [stop - start for start, stop in pairwise(edges)]
            self._write_each(cut_batches(batches, sizes), stream_batches, path, csv_format)

    def _write_each(
        self,
        parts: Iterable[T],
        write: Callable[[T, Path, Path, CsvFormat], None],
        folder: Path,
        csv_format: CsvFormat,
    ) -> None:
        """Write numbered files, as many as there are."""
        ending = "parquet" if self._files.csv_format is None else "csv"
        for number, part in enumerate(parts):
            name = Path(f"part-{number:05}.{ending}")
            write(part, folder / name, name, csv_format)
            self.settings.progress.advance(number + 1, len(self._files.parts))

    # --- grouping -------------------------------------------------------------------------------------

    def _read_alike(self, name: str, null_values: tuple[str, ...]) -> bool:
        """Say whether DuckDB reads a column as Polars does."""
        import polars as pl

        kind = self._types[name]
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

    @contextmanager
    def _reading(self, names: Sequence[str]) -> Iterator[None]:
        """Say which file is damaged where Polars cannot read some columns."""
        import polars as pl

        try:
            yield
        except pl.exceptions.ComputeError as error:
            # What the system says, as of a full disk, is no damage of what is read.
            if "os error" not in str(error):
                self._refuse_damaged(names)
            raise

    def _refuse_damaged(self, names: Sequence[str]) -> None:
        """Refuse a file whose columns cannot be read to their end; that costs a pass over the files."""
        from incrowd.io.streams import damaged

        file = damaged(self._files, names)
        if file is not None:
            raise TableError(f"{file}: the file is damaged; its rows cannot be read") from None

    @contextmanager
    def _opened(self) -> Iterator[None]:
        """Open a database without tables of its own, which spills into a private folder."""
        import duckdb

        from incrowd.io.scratch import PrivateFolder
        from incrowd.kernels.jit import thread_count

        share = max(int(self._files.memory * _DATABASE_SHARE), _LEAST)
        with PrivateFolder() as folder:
            self._database = duckdb.connect(
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
            self._folder = folder
            try:
                self._database.execute("SET enable_progress_bar = false").fetchall()
                yield
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
                self._refuse_damaged(self.columns)
                raise TableError(f"the files could not be counted ({type(error).__name__})") from None
            finally:
                self._database.close()
                self._database = self._folder = None

    def _look(self, names: Sequence[str], null_values: tuple[str, ...]) -> None:
        if self._folder is None:
            super()._look(names, null_values)

    def _grouped(self, names: Sequence[str], null_values: tuple[str, ...]) -> pl.DataFrame:
        import polars as pl

        if self._folder is None:
            return super()._grouped(names, null_values)
        keys = self._group("keys", names, null_values)
        found = keys.select(pl.len()).collect().item()
        self._check_room(found, found * (_KEY_BYTES + 8 * len(names)), "keys")
        return self._coded_values(keys, names, null_values)

    def _keyed(
        self, columns: Sequence[str], names: Sequence[str], key_of: pl.DataFrame, null_values: tuple[str, ...]
    ) -> tuple[pl.DataFrame, NDArray[np.integer]]:
        import numpy as np
        import polars as pl

        if self._folder is None:
            return super()._keyed(columns, names, key_of, null_values)
        # Combinations of several attributes are numbered by their first row.
        pairs = self._group("pairs", [*names, *columns], null_values, ordered=len(columns) > 1)
        same = " AND ".join(f"p.c{j} IS NOT DISTINCT FROM k.c{j}" for j in range(len(names)))
        own = ", ".join(f"p.c{len(names) + j} AS c{j}" for j in range(len(columns)))
        counted = self._save(
            "counted",
            f"SELECT {own}, p.n, CAST(k.file_row_number AS UINTEGER) AS key FROM {self._saved('pairs')} p "
            f"JOIN {self._saved('keys')} k ON {same}"
            + (" ORDER BY p.file_row_number" if len(columns) > 1 else " ORDER BY key, p.c" + str(len(names))),
        )
        named = {f"c{j}": name for j, name in enumerate(columns)}
        counted = counted.rename(named | {"n": ROWS, "key": _KEY})
        found = counted.select(pl.len()).collect().item()
        self._check_room(found, found * _PAIR_BYTES, "pairs of a key and a sensitive value")
        keys = pl.scan_parquet(self._folder / "keys.parquet", glob=False)
        totals = [frame.select(pl.last().sum()) for frame in (keys.select("n"), pairs.select(ROWS))]
        sums = {frame.item() for frame in pl.collect_all([*totals, counted.select(column_named(ROWS).sum())])}
        if len(sums) > 1:
            raise TableError(_CHANGED)
        grouped = self._coded_values(counted, columns, null_values)
        numbers = key_of[key_of.columns[-1]].to_numpy()
        return grouped.drop(_KEY), np.asarray(numbers[grouped[_KEY].to_numpy()])

    def _group(
        self, table: str, names: Sequence[str], null_values: tuple[str, ...], *, ordered: bool = True
    ) -> pl.LazyFrame:
        """Group all rows by some columns: those and `ROWS`, if need be in the order of their first row."""
        assert self._files.stored is not None
        values: list[Any] = []
        columns = []
        shown = []
        for j, name in enumerate(names):
            packed = self._packed[name]
            columns.append(f"{packed.expression} AS c{j}")
            values += packed.given
            # Saved as integers, too: an enumeration would be saved as texts.
            shown.append(f"c{j}" if packed.texts is None else f"enum_code(c{j}) AS c{j}")
        keys = ", ".join(shown)
        place = "min(file_index::BIGINT * 1099511627776 + file_row_number) AS first"
        grouped = (
            f"SELECT {', '.join(columns)}, count(*) AS n{f', {place}' if ordered else ''} "
            f"FROM {self._source()} GROUP BY {', '.join(str(j + 1) for j in range(len(names)))}"
        )
        query = f"SELECT {keys}, n FROM ({grouped}){' ORDER BY first' if ordered else ''}"
        made = self._save(table, query, values)
        return made.rename({f"c{j}": name for j, name in enumerate(names)} | {"n": ROWS})

    def _source(self) -> str:
        """Return SQL for all rows."""
        assert self._files.stored is not None
        files = ", ".join(_literal(str(path)) for path in self._files.stored)
        return f"read_parquet([{files}], hive_partitioning = false)"

    def _pack(self, names: Sequence[str], null_values: tuple[str, ...]) -> None:
        """Find out which columns have few texts or a small range, and number their values."""
        import polars as pl

        assert self._database is not None
        self._packed = {}
        texts: list[str] = []
        whole: list[str] = []
        for name in dict.fromkeys(names):
            self._packed[name] = _Packed(*self._expression(name, null_values))
            kind = self._types[name]
            if kind == pl.String or isinstance(kind, pl.Categorical | pl.Enum):
                texts.append(name)
            elif kind.is_integer() or kind == pl.Date:
                whole.append(name)
        asked = [("approx_count_distinct({})", texts), ("min({})", whole), ("max({})", whole)]
        found = self._ask([(form, name) for form, chosen in asked for name in chosen])
        few = [name for name in texts if 0 < found["approx_count_distinct({})", name] <= _ENUMERATED]
        lists = self._ask([("list(DISTINCT {})", name) for name in few])
        for number, name in enumerate(few):
            values = sorted(value for value in lists["list(DISTINCT {})", name] if value is not None)
            # A list as parameter, so that no value becomes a part of the statement.
            self._database.execute(
                f"CREATE OR REPLACE TYPE e{number} AS ENUM (SELECT unnest(CAST(? AS VARCHAR[])))", [values]
            ).fetchall()
            text, given, *_ = self._packed[name]
            self._packed[name] = _Packed(
                f"CAST({text} AS e{number})", given, texts=pl.Series(values, dtype=pl.String)
            )
        for name in whole:
            low, high = found["min({})", name], found["max({})", name]
            if low is None:
                continue
            text, given, *_ = self._packed[name]
            if self._types[name] == pl.Date:
                epoch = dt.date(1970, 1, 1)
                low, high = (low - epoch).days, (high - epoch).days
                text = f"({text} - DATE '1970-01-01')"
            kinds = [kind for kind, most in _INTEGERS if high - low <= most]
            if kinds and abs(low) < 2**62 and abs(high) < 2**62:
                self._packed[name] = _Packed(
                    f"CAST(CAST({text} AS BIGINT) - ({low}) AS {kinds[0]})", given, low=low
                )

    def _ask(self, questions: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Any]:
        """Answer questions about columns in one pass over the rows."""
        assert self._database is not None
        if not questions:
            return {}
        columns = [form.format(self._packed[name].expression) for form, name in questions]
        values = [value for _, name in questions for value in self._packed[name].given]
        asked = f"SELECT {', '.join(columns)} FROM {self._source()}"
        answers = self._database.execute(asked, values).fetchall()[0]
        return dict(zip(questions, answers, strict=True))

    def _expression(self, name: str, null_values: tuple[str, ...]) -> tuple[str, list[Any]]:
        """Write a column in SQL, so that what is the same value is the same; see `_cleaned`."""
        kind = self._types[name]
        if name in self._files.partitions:
            text, given = (
                "(CAST(? AS VARCHAR[]))[file_index::BIGINT + 1]",
                [list(self._files.partitions[name])],
            )
        else:
            text, given = '"' + name.replace('"', '""') + '"', []
        missing, listed = _missing(text, given, kind, null_values)
        if kind.is_float():
            missing = [f"isnan({text})", *missing]
            text = f"CASE WHEN {text} = 0 THEN 0 ELSE {text} END"
        if not missing:
            return text, given
        return f"CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {text} END", [*listed, *given]

    def _coded_values(
        self, frame: pl.LazyFrame, names: Sequence[str], null_values: tuple[str, ...]
    ) -> pl.DataFrame:
        """Read saved combinations in their order as codes, learning the values of new columns."""
        plain = [name for name in names if self._packed[name].plain]
        frame = frame.with_columns(column_named(name).cast(self._read_as(name)) for name in plain)
        self._learn(frame, plain, null_values)
        coded = self._coded(frame, plain, null_values, ordered=True).collect(engine="streaming")
        return coded.with_columns(
            self._unpacked(coded[name], null_values) for name in names if name not in plain
        )

    def _unpacked(self, numbers: pl.Series, null_values: tuple[str, ...]) -> pl.Series:
        """Turn the integers by which a column was grouped into places among its values."""
        import numpy as np
        import polars as pl

        name, numbers = numbers.name, nameless(numbers)
        packed = self._packed[name]
        met = numbers.unique().sort(nulls_last=True)
        if packed.texts is not None:
            values = packed.texts.gather(met)
        else:
            kind = self._types[name]
            days = kind == pl.Date
            values = (met.cast(pl.Int64) + packed.low).cast(pl.Int32 if days else kind).cast(kind)
        values = nameless(pl.DataFrame({name: values}).select(self._cleaned(name, null_values)).to_series())
        known = self._values.setdefault((name, null_values), values.unique().sort())
        order = pl.DataFrame([known.alias("value")]).with_row_index("place")
        found = pl.DataFrame([values.alias("value")]).join(
            order, on="value", how="left", nulls_equal=True, maintain_order="left"
        )["place"]
        # One entry for each integer, and the last for the missing value.
        size = int(met.drop_nulls().max() or 0) + 1 if len(met.drop_nulls()) else 0  # type: ignore[arg-type]
        place = np.zeros(size + 1, np.uint32)
        place[met.cast(pl.Int64).fill_null(size).to_numpy()] = found.to_numpy()
        codes = place[numbers.cast(pl.UInt32).fill_null(size).to_numpy()]
        return pl.Series(name, codes, dtype=smallest(len(known)))

    def _read_as(self, name: str) -> pl.DataType:
        """Return the type that a fetched column gets: the file's, texts for categories."""
        import polars as pl

        kind = self._types[name]
        return pl.String() if isinstance(kind, pl.Categorical | pl.Enum) else kind

    def _check_room(self, found: int, need: int, what: str) -> None:
        """Refuse keys or pairs that would not fit into memory, before they are fetched."""
        room = int(self._files.memory * (1 - _DATABASE_SHARE))
        if need > room:
            raise TableError(
                f"the table has {found:,} distinct {what}, which take about {need / 2**30:.1f} GiB where "
                f"{room / 2**30:.1f} GiB are left of the memory; allow more "
                f"({setting('memory=', '--memory')}), name fewer "
                "quasi-identifiers, or recode the finest of them before"
            )

    def _saved(self, table: str) -> str:
        """Return SQL for what `_save` saved."""
        assert self._folder is not None
        return f"read_parquet({_literal(str(self._folder / table))[:-1]}.parquet')"

    def _save(self, table: str, query: str, values: Sequence[Any] = ()) -> pl.LazyFrame:
        """Save what a query finds, telling how far it is and letting an interrupt through."""
        import polars as pl

        assert self._database is not None
        assert self._folder is not None
        database, path = self._database, self._folder / f"{table}.parquet"
        statement = f"COPY ({query}) TO {_text(str(path))} (FORMAT parquet)"
        with ThreadPoolExecutor(1) as pool:
            # Newer versions want every result fetched to its end.
            job = pool.submit(lambda: database.execute(statement, list(values)).fetchall())
            try:
                while not wait([job], _POLL).done:
                    done = database.query_progress()
                    if done > 0:
                        self.settings.progress.advance(int(done), 100)
            except BaseException:
                database.interrupt()
                raise
            job.result()
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _missing(
    text: str, given: list[Any], kind: pl.DataType, null_values: tuple[str, ...]
) -> tuple[list[str], list[Any]]:
    """Write in SQL when a column means missing: conditions, any of which says so, and their parameters."""
    import polars as pl

    nulls = null_values_of(null_values)
    texts = kind == pl.String or isinstance(kind, pl.Categorical | pl.Enum)
    values = list(nulls.texts) if texts else nulls.of_type(kind)
    if not values:
        return [], []
    # What is compared has the column's own width: 0.1 of 32 bits is not that of 64.
    mark = "CAST(? AS FLOAT)" if kind == pl.Float32 else "?"
    conditions, listed = [f"{text} IN ({', '.join([mark] * len(values))})"], [*given, *values]
    if texts and nulls.pattern is not None:
        conditions.append(f"regexp_full_match({text}, ?)")
        listed += [*given, nulls.pattern]
    return conditions, listed


def _text(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _literal(path: str) -> str:
    """Write a path as an SQL literal in which ``*``, ``?`` and ``[`` mean themselves."""
    return _text(re.sub(r"[*?\[]", r"[\g<0>]", path))
