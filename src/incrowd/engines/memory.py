"""Tables in memory: pandas, Polars and PyArrow through narwhals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from incrowd.engines.base import NOT_THE_SAME, Engine, EngineSettings
from incrowd.engines.surveyed import of_rows
from incrowd.errors import MissingExtraError, SchemaError, TableError
from incrowd.io.columns import repeated_columns
from incrowd.io.frames import without_negative_zero
from incrowd.treatments.coded import Codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import narwhals as nw
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.io.files import CsvFormat
    from incrowd.io.shuffle import RandomOrder
    from incrowd.io.streams import Files
    from incrowd.recoding import Recoding
    from incrowd.recoding.cells import Cells
    from incrowd.table.domain import Dictionary, Domain
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Attribute, Schema
    from incrowd.table.treated_columns import TreatedColumn

__all__ = ["MemoryEngine", "dictionary", "number_persons", "require_countable"]


_MANY = 3_000_000
"""Rows from which on a database counts a written Parquet file sooner than it is read into memory."""


class MemoryEngine(Engine):
    """A frame in memory; see `incrowd.engines.Engine`."""

    in_order = True

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this is a pandas, Polars or PyArrow table (lazy frames are not)."""
        import narwhals as nw

        kinds = nw.dependencies
        return (
            kinds.is_pandas_dataframe(table)
            or kinds.is_polars_dataframe(table)
            or kinds.is_pyarrow_table(table)
        )

    def __init__(self, table: Any, settings: EngineSettings | None = None) -> None:
        import narwhals as nw

        super().__init__(table, settings)
        names = _column_names(table)
        wrong = sum(1 for name in names if not isinstance(name, str))
        if wrong:
            raise TableError(f"{wrong} column names are no texts; rename them first")
        if repeated := repeated_columns(names):
            raise SchemaError(f"the table has {repeated}")
        self._names = names
        self._frame: nw.DataFrame[Any] = nw.from_native(table, eager_only=True)
        self._codes = Codes()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._names)

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> FrequencyTable:
        """Count the rows; see `Engine.count`."""
        import numpy as np

        from incrowd.kernels.jit import at_once
        from incrowd.table.frequency import FrequencyTable

        schema.check_columns(self._names)
        if not schema.quasi:
            raise SchemaError("the schema names no quasi-identifier; name at least one")
        rows = len(self._frame)
        if not rows:
            raise TableError("the table has no rows")
        suppressed = np.ones(rows, np.bool_)
        encoded = {}
        for attribute in schema.attributes:
            if attribute.role not in ("quasi", "sensitive"):
                continue
            series = self._series(attribute.name)
            encoded[attribute.name] = series
            if attribute.role == "quasi" and suppressed.any():
                suppressed &= _is_suppressed(series)
        live = None if not suppressed.any() else ~suppressed
        read = [(encoded[each.name], each, live) for each in schema.quasi]
        read += [(encoded[each.name], each, None) for each in schema.sensitive]
        named = list(dict.fromkeys(names for names in (schema.person, schema.household) if names))
        # What takes longest begins first.
        found = at_once(
            rows,
            *(partial(number_persons, self._all(names), names, schema.null_values) for names in named),
            *(partial(_ranked, series, each, schema.null_values, kept) for series, each, kept in read),
        )
        numbers, ranked = dict(zip(named, found, strict=False)), found[len(named) :]
        quasi, sensitive = ranked[: len(schema.quasi)], ranked[len(schema.quasi) :]
        predicted = None
        if target is not None:
            wanted = schema.target(target, self._names)
            predicted = _ranked(self._series(target), wanted, schema.null_values, None)
        frequency = FrequencyTable.from_rows(quasi, sensitive, suppressed, joint=joint, target=predicted)
        if schema.person:
            frequency = frequency.with_people(numbers[schema.person], schema.person)
        weights = None if schema.weights is None else self._series(schema.weights)
        return of_rows(frequency, schema, weights, numbers.get(schema.household), numbers.get(schema.person))

    def apply(self, schema: Schema, frequency: FrequencyTable, recoding: Recoding) -> Any:
        """Recode the rows; see `Engine.apply`."""
        import numpy as np

        from incrowd.io.frames import column_like, without_traces
        from incrowd.kernels.jit import at_once
        from incrowd.recoding import SUPPRESSED

        rows = frequency.key_of_row("recoding a frame")
        released = schema.released(self._names)

        def texts_of(attribute: Attribute, cells: Cells) -> Any:
            positions, labels = cells.released
            of_key = positions[cells.codes]
            if frequency.suppressed:
                # Rows without a key have number -1, which picks the entry that is appended here.
                of_key = np.append(of_key, len(labels))
                labels = [*labels, SUPPRESSED]
            # There are many more rows than texts.
            small = of_key.astype(np.min_scalar_type(len(labels)))
            return column_like(self._frame, attribute.name, small[rows], labels)

        tasks = [partial(texts_of, *pair) for pair in zip(schema.quasi, recoding.cells, strict=True)]
        names = [attribute.name for attribute in schema.quasi]
        columns = dict(zip(names, at_once(len(rows), *tasks), strict=True))
        shown = {name: columns[name] if name in columns else self._frame[name] for name in released}
        return without_traces(self._frame, shown, made=columns)

    def reordered(self, released: Any, order: RandomOrder) -> Any:
        """Put the rows in a random order; see `Engine.reordered`. A pandas index is numbered anew."""
        import narwhals as nw

        from incrowd.io.shuffle import gathered

        frame = nw.from_native(released, eager_only=True)
        places = order.rows(len(frame))
        if frame.implementation.is_polars():
            return gathered(released, places)
        moved = frame[places].to_native()
        # An index that still knew the old places would undo it.
        return moved.reset_index(drop=True) if frame.implementation.is_pandas() else moved

    def numbered(self, columns: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Give rows of the same values the same number; see `Engine.numbered`."""
        import numpy as np

        from incrowd.table.schema import require_columns

        require_columns(columns, self._names)
        numbers = number_persons([self._series(name) for name in columns], columns, ()).astype(np.int64)
        alone = np.flatnonzero(numbers < 0)
        numbers[alone] = numbers.max(initial=-1) + 1 + np.arange(len(alone))
        return numbers, len(alone)

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns; see `Engine.values_of`."""
        import numpy as np
        import polars as pl

        if len(columns) == 1:
            # Those who treat the rows want the codes, too.
            [name] = columns
            coded = self._codes.of(name, self._series(name))
            return coded.distinct.to_frame(), np.bincount(coded.codes, minlength=len(coded.distinct))
        labels = {f"c{place}": self._series(name) for place, name in enumerate(columns)}
        counted = pl.DataFrame(labels).group_by(*labels, maintain_order=True).len("n")
        return counted.drop("n"), counted["n"].cast(pl.Int64).to_numpy()

    def treated(self, columns: Sequence[TreatedColumn]) -> MemoryEngine:
        """Treat columns; see `Engine.treated`."""
        import polars as pl

        from incrowd.io.frames import with_columns

        made = {}
        for each in columns:
            rows = pl.DataFrame([self._series(name).alias(name) for name in each.columns])
            draws = each.draws.numbers(0, len(rows)) if each.treatment.is_random else None
            made[each.name] = each.of(rows, draws, self._codes)
        return MemoryEngine(with_columns(self._frame, made), self.settings)

    @property
    def native(self) -> Any:
        """The frame, of the kind that came."""
        return self._frame.to_native()

    def head(self, column: str, rows: int) -> pl.Series | None:
        """Return the first values of a column; see `Engine.head`."""
        return self._series(column).head(rows)

    def type_of(self, column: str) -> pl.DataType | None:
        """Return the type of a column; see `Engine.type_of`."""
        return self._series(column).dtype

    def typed(self, released: Any, types: Mapping[str, pl.DataType]) -> Any:
        """Give columns of texts a type; see `Engine.typed`."""
        import narwhals as nw

        from incrowd.io.means import frame_of_types

        return frame_of_types(self._frame, nw.from_native(released, eager_only=True), types)

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> pl.DataFrame | Files:
        """Write the rows and read them again, or open them where they are many; see `Engine.write`."""
        import polars as pl

        from incrowd.io.files import CsvFormat as Format
        from incrowd.io.files import is_parquet, read_table, write_table

        rows = pl.DataFrame({name: self._series(name) for name in self._names})
        write_table(rows, path, target, csv_format)
        if len(rows) >= _MANY and is_parquet(target):
            return _opened(path, target, rows.columns)
        mark = (csv_format.delimiter or ",")[0]
        written_as = Format(mark, csv_format.encoding, escaped=csv_format.escaped)
        return read_table(path, written_as, written=True)[0]

    def _all(self, names: Sequence[str]) -> list[pl.Series]:
        return [self._series(name) for name in names]

    def _series(self, name: str) -> pl.Series:
        """Return a column as a Polars series."""
        import polars as pl

        from incrowd.io.columns import nameless

        column = self._frame[name]
        if str(column.dtype) == "Object" and self._frame.implementation.is_polars():
            raise _unreadable(name, TypeError())
        try:
            return nameless(column.to_polars()).rechunk()
        except ImportError:
            raise MissingExtraError("pyarrow", "pandas", "reading a pandas frame") from None
        except (
            ArithmeticError,
            NotImplementedError,
            TypeError,
            ValueError,
            pl.exceptions.PolarsError,
        ) as error:
            raise _unreadable(name, error) from None


def _opened(path: Path, target: Path, columns: Sequence[str]) -> Files:
    """Open a Parquet file that was just written, and read it to its end."""
    from incrowd.io.streams import damaged, scan, usual_memory

    # The rows are in memory, so twice the usual is there.
    files = scan(path, memory=2 * usual_memory(), written=True)
    if damaged(files, columns) is not None:
        raise TableError(f"{target}: {NOT_THE_SAME}")
    return files


def _unreadable(name: str, error: Exception) -> SchemaError:
    """Say what a column holds that has no place in a typed one."""
    if isinstance(error, UnicodeError):
        return SchemaError(
            f"column {name!r} has a text with half a character in it (a lone surrogate), which no file can "
            "hold; clean it first"
        )
    if isinstance(error, ArithmeticError):
        return SchemaError(
            f"column {name!r} has whole numbers beyond 64 bits; turn it into text first, or leave it out"
        )
    return SchemaError(
        f"column {name!r} mixes values of several types, or has values that are neither text, number nor "
        "date; turn it into text first"
    )


def _column_names(table: Any) -> list[Any]:
    names = getattr(table, "column_names", None)  # PyArrow; its `columns` are the data
    return list(names if names is not None else table.columns)


def _is_suppressed(series: pl.Series) -> NDArray[np.bool_]:
    import numpy as np
    import polars as pl

    from incrowd.recoding import SUPPRESSED

    if series.dtype not in (pl.String, pl.Categorical) and not isinstance(series.dtype, pl.Enum):
        return np.zeros(len(series), np.bool_)
    return (series.cast(pl.String) == SUPPRESSED).fill_null(value=False).to_numpy()


def _ranked(
    series: pl.Series, attribute: Attribute, null_values: tuple[str, ...], live: NDArray[np.bool_] | None
) -> tuple[Domain, NDArray[np.integer]]:
    """Build a column's domain and rank its rows; rows that are not live do not shape the domain."""
    import numpy as np

    from incrowd.table.domain import Domain

    found, codes = dictionary(series if live is None else series.filter(live), attribute.name, null_values)
    domain, ranks = Domain.build(attribute, found, null_values)
    # Small codes make the gather below, and all that follows, cheaper.
    ranked = ranks.astype(np.min_scalar_type(max(domain.size, 1)) if domain.size else np.uint8)[codes]
    if live is None:
        return domain, ranked
    everywhere = np.zeros(len(live), ranked.dtype)
    everywhere[live] = ranked
    return domain, everywhere


def number_persons(
    columns: Sequence[pl.Series], names: Sequence[str], null_values: tuple[str, ...]
) -> NDArray[np.int32]:
    """Give each person of the rows a number from 0 without gaps: int32[rows], -1 where all are missing.

    Parameters
    ----------
    columns, names
        The columns that name a person, and what they are called.

    Raises
    ------
    SchemaError
        When a column is neither text, number nor date.
    """
    import numpy as np
    import polars as pl

    from incrowd.io.numbering import numbered
    from incrowd.table.missing import null_values_of

    cleaned: dict[str, pl.Series] = {}
    for column, name in zip(columns, names, strict=True):
        require_countable(name, column.dtype)
        textual = isinstance(column.dtype, pl.Categorical | pl.Enum) or column.dtype in (pl.Null, pl.Boolean)
        values = column.cast(pl.String) if textual else column
        if null_values:
            values = null_values_of(null_values).without(values)
        cleaned[f"{len(cleaned)}"] = values.fill_nan(None) if values.dtype.is_float() else values
    frame = pl.DataFrame(cleaned)
    nobody = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if not nobody.any():
        return numbered(frame)[0]
    known = np.flatnonzero(~nobody.to_numpy())
    numbers = np.full(len(frame), -1, np.int32)
    numbers[known], _ = numbered(frame[known])
    return numbers


def require_countable(column: str, dtype: pl.DataType) -> None:
    """Refuse columns of lists, bytes, times of day and the like.

    Raises
    ------
    SchemaError
        When the column is neither text, number nor date.
    """
    import polars as pl

    texts = (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)
    if not (dtype.is_numeric() or dtype in (*texts, pl.Date, pl.Datetime)):
        raise SchemaError(
            f"column {column!r} is of type {dtype}, which is neither text, number nor date; convert it first"
        )


def dictionary(
    series: pl.Series, column: str, null_values: tuple[str, ...]
) -> tuple[Dictionary, NDArray[np.integer]]:
    """Find the distinct values of a column, and each row's place among them (missing: the last).

    Raises
    ------
    SchemaError
        When the column is neither text, number nor date, or has infinite values.
    """
    import polars as pl

    from incrowd.io.columns import nameless
    from incrowd.table.domain import Dictionary
    from incrowd.table.missing import null_values_of

    series = nameless(series)
    dtype = series.dtype
    require_countable(column, dtype)
    if dtype in (pl.Null, pl.Boolean):
        series = series.cast(pl.String)
    if series.dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
        return _texts(series, null_values)
    if null_values:
        series = null_values_of(null_values).without(series)
    kind: Literal["number", "date"] = "number" if dtype.is_numeric() else "date"
    if kind == "number":
        series, distinct, texts, numbers = _numbers(series, column)
    else:
        series, distinct, texts, numbers = _days(series)
    found = Dictionary(texts, series.null_count() > 0, kind, numbers)
    return found, _places(series, distinct)


def _texts(series: pl.Series, null_values: tuple[str, ...]) -> tuple[Dictionary, NDArray[np.integer]]:
    """Find the distinct texts in order, and each row's place among them."""
    import numpy as np
    import polars as pl

    from incrowd.io.numbering import in_order_of_texts, numbered
    from incrowd.kernels.jit import PARALLEL_FROM
    from incrowd.table.domain import Dictionary
    from incrowd.table.missing import null_values_of

    # Fewer rows are done before the loops of the other way are loaded.
    if len(series) >= PARALLEL_FROM:
        # Categories have numbers already.
        ids, first = numbered(series.to_physical().to_frame())
        met = series.gather(first).cast(pl.String)
        met = null_values_of(null_values).without(met) if null_values else met
        order = in_order_of_texts(met)
        known = len(met) - met.null_count()
        place = np.empty(len(met), np.min_scalar_type(len(met)))
        place[order] = np.minimum(np.arange(len(met)), known)
        texts = met.gather(order[:known]).to_list()
        return Dictionary(texts, known < len(met), in_order=True), place[ids]
    series = series.cast(pl.String)
    series = null_values_of(null_values).without(series) if null_values else series
    has_missing = series.null_count() > 0
    distinct = series.drop_nulls().unique().sort()
    codes = series.cast(pl.Enum(distinct)).to_physical()
    if has_missing:
        codes = codes.cast(pl.UInt32).fill_null(len(distinct))
    return Dictionary(distinct.to_list(), has_missing, in_order=True), codes.to_numpy()


def _numbers(series: pl.Series, column: str) -> tuple[pl.Series, pl.Series, list[str], NDArray[np.float64]]:
    """Return the rows without NaN, their distinct numbers in order, with texts, and as doubles."""
    import polars as pl

    if series.dtype.is_float():
        # Negative zero is the same number, and would be named by whichever comes first.
        series = without_negative_zero(series.fill_nan(None))
    distinct = series.drop_nulls().unique().sort()
    if series.dtype.is_float() and distinct.is_infinite().any():
        raise SchemaError(f"column {column!r} has infinite values; replace them, or turn it into text")
    texts = [_plain(text) for text in distinct.cast(pl.String)]
    return series, distinct, texts, distinct.cast(pl.Float64).to_numpy()


def _days(series: pl.Series) -> tuple[pl.Series, pl.Series, list[str], NDArray[np.float64]]:
    """Return the rows without zone, their distinct dates or times in order, with texts, and as days."""
    import polars as pl

    if series.dtype == pl.Date:
        distinct = series.drop_nulls().unique().sort()
        days = distinct.cast(pl.Int32).cast(pl.Float64)
        return series, distinct, distinct.dt.to_string("iso").to_list(), days.to_numpy()
    series = series.dt.replace_time_zone(None)
    distinct = series.drop_nulls().unique().sort()
    whole_days = bool((distinct == distinct.dt.truncate("1d")).all())
    texts = distinct.dt.to_string("%Y-%m-%d" if whole_days else "%Y-%m-%dT%H:%M:%S%.f").to_list()
    days = distinct.dt.epoch("us").cast(pl.Float64) / 86_400_000_000
    return series, distinct, texts, days.to_numpy()


def _by_table(values: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.integer]:
    """Return the place of each row among ascending values; whole numbers that lie close have a table."""
    import numpy as np

    if len(values) and np.issubdtype(values.dtype, np.integer):
        # Of Python, as the difference of two numbers may be more than their type holds.
        least = int(values[0])
        between = int(values[-1]) - least + 1
        if between <= max(len(rows), 1 << 10):
            if values.dtype.itemsize < 8:
                values, rows = values.astype(np.int64), rows.astype(np.int64)
            table = np.zeros(between, np.int32)
            table[values - values[0]] = np.arange(len(values), dtype=np.int32)
            return np.asarray(table[rows - values[0]])
    return np.asarray(np.searchsorted(values, rows))


def _places(series: pl.Series, distinct: pl.Series) -> NDArray[np.integer]:
    """Return each row's place among the distinct values; missing ones come last."""
    import polars as pl

    if series.dtype.is_decimal() or str(series.dtype).endswith("Int128"):
        # NumPy has no such integers; their texts are as good for finding places.
        names = distinct.cast(pl.String)
        enum = series.cast(pl.String).cast(pl.Enum(names)).to_physical().cast(pl.UInt32)
        wide: NDArray[np.integer] = enum.fill_null(len(distinct)).to_numpy()
        return wide
    values = distinct.to_physical().to_numpy()
    rows = series.to_physical()
    filled = rows.fill_null(values[0] if len(values) else 0).to_numpy()
    places = _by_table(values, filled)
    if series.null_count():
        places[rows.is_null().to_numpy()] = len(distinct)
    return places


def _plain(text: str) -> str:
    """Write a whole float as the integer that it is."""
    return text[:-2] if text.endswith(".0") else text
