"""Tables in memory: pandas, Polars and PyArrow through narwhals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import MissingExtraError, SchemaError, TableError
from incrowd.core.io.columns import FrameNames, repeated_columns
from incrowd.core.lazy import NDArray, np, nw, pl
from incrowd.core.treatments.codes import Codes
from incrowd.engines.base import NOT_THE_SAME, Counted, Engine, EngineSettings, Released, with_survey_of_rows
from incrowd.engines.distinct import as_text, dictionary, refuse_objects, require_countable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.shuffle import RandomOrder
    from incrowd.core.io.streams import Files
    from incrowd.core.recoding import Recoding
    from incrowd.core.recoding.cells import Cells
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.core.table.treated_columns import TreatedColumn
    from incrowd.engines.cells import CellPeople, CellQuestion


_MANY = 3_000_000
"""Rows above which a database counts a written Parquet file faster than from memory."""
_MOVED = 50_000
"""Rows above which looking up texts of keys is faster than moving texts of rows."""


class MemoryEngine(Engine):
    """A frame in memory (see `incrowd.engines.Engine`)."""

    in_order = True

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this is a pandas, Polars or PyArrow table (lazy frames are not)."""
        kinds = nw.dependencies
        return (
            kinds.is_pandas_dataframe(table)
            or kinds.is_polars_dataframe(table)
            or kinds.is_pyarrow_table(table)
        )

    def __init__(self, table: Any, settings: EngineSettings | None = None) -> None:
        super().__init__(table, settings)
        from incrowd.core.io.columns import frame_without_objects
        from incrowd.core.io.files import was_read

        column_names = getattr(table, "column_names", None)  # PyArrow; its `columns` are the data
        names = list(column_names if column_names is not None else table.columns)
        wrong = sum(1 for name in names if not isinstance(name, str))
        if wrong:
            raise TableError(f"{wrong} column names are no texts; rename them first")
        # Polars has such names, and Arrow, by which pandas gets its columns, ends the process for them.
        if nw.dependencies.is_pandas_dataframe(table) and any("\0" in name for name in names):
            raise TableError("a column name has the character NUL, which no file can hold; rename it first")
        if repeated := repeated_columns(names):
            raise SchemaError(f"the table has {repeated}")
        self.frame: nw.DataFrame[Any] = frame_without_objects(nw.from_native(table, eager_only=True))
        self._names = names if was_read(table) else FrameNames(self.frame.columns)
        self._codes = Codes()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return type(self._names)(self._names)

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> MemoryCount:
        """Count the rows (see `Engine.count`)."""
        from incrowd.core.io.columns import first_value
        from incrowd.core.kernels.jit import at_once
        from incrowd.core.table.frequency import FrequencyTable

        schema.check_columns(self._names)
        if not schema.quasi:
            raise SchemaError("the schema names no quasi-identifier; name at least one")
        containers, kinds = (list, tuple, set, np.ndarray), (nw.List, nw.Array, nw.Struct)
        nested = [
            name
            for name, kind in self.frame.schema.items()
            if isinstance(kind, kinds)
            or (kind == nw.Object and isinstance(first_value(self.frame, name), containers))
        ]
        refuse_objects({name: self._series(name).dtype for name in nested}, schema)
        rows = len(self.frame)
        if not rows:
            raise TableError("the table has no rows")
        suppressed = np.full(rows, not self.settings.starred)
        names = [each.name for each in (*schema.quasi, *schema.sensitive)]
        encoded = {name: self._series(name) for name in names}
        for attribute in schema.quasi:
            if suppressed.any():
                suppressed &= _is_suppressed(encoded[attribute.name])
        live = None if not suppressed.any() else ~suppressed
        columns = [(encoded[each.name], each, live) for each in schema.quasi]
        columns += [(encoded[each.name], each, None) for each in schema.sensitive]
        identities = list(dict.fromkeys(names for names in (schema.person, schema.household) if names))
        # What takes longest begins first.
        results = at_once(
            rows,
            *(
                partial(number_persons, list(map(self._series, names)), names, schema.null_values)
                for names in identities
            ),
            *(
                partial(_rank_column, series, each, schema.null_values, mask)
                for series, each, mask in columns
            ),
        )
        numbers, ranked = dict(zip(identities, results, strict=False)), results[len(identities) :]
        quasi, sensitive = ranked[: len(schema.quasi)], ranked[len(schema.quasi) :]
        predicted = None
        if target is not None:
            target_attribute = schema.target(target, self._names)
            predicted = _rank_column(self._series(target), target_attribute, schema.null_values, None)
        frequency = FrequencyTable.from_rows(quasi, sensitive, suppressed, joint=joint, target=predicted)
        if schema.person:
            frequency = frequency.with_people(numbers[schema.person], schema.person)
        weights = None if schema.weights is None else self._series(schema.weights)
        homes, members = numbers.get(schema.household), numbers.get(schema.person)
        return MemoryCount(self, schema, with_survey_of_rows(frequency, schema, weights, homes, members))

    def numbered(self, columns: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Give rows of the same values the same number (see `Engine.numbered`)."""
        from incrowd.core.table.schema import require_columns

        require_columns(columns, self._names)
        numbers = number_persons([self._series(name) for name in columns], columns, ()).astype(np.int64)
        alone = np.flatnonzero(numbers < 0)
        numbers[alone] = numbers.max(initial=-1) + 1 + np.arange(len(alone))
        return numbers, len(alone)

    def people_of_cells(self, count: Counted, question: CellQuestion) -> CellPeople:
        """Count row by row (see `Engine.people_of_cells`)."""
        from incrowd.engines.cells import CellLines, people_of_lines

        job = "counting people"
        codes = [codes[count.frequency.key_of_row(job)] for codes in count.frequency.codes]
        person = None
        if names := question.person:
            person = number_persons(list(map(self._series, names)), names, question.null_values)
        amounts, marks = (
            None if each is None else each.of_key[each.columns.frequency.key_of_row(job)]
            for each in (question.amounts, question.marks)
        )
        return people_of_lines(question, CellLines(codes, person, amounts, marks))

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns (see `Engine.values_of`)."""
        if len(columns) == 1:
            # Those who treat the rows want the codes, too.
            [name] = columns
            from incrowd.core.kernels.grouping.grouping import group_sizes

            coded = self._codes.of(name, self._series(name))
            counts = partial(group_sizes, coded.codes, len(coded.distinct))
            return coded.distinct.to_frame(), self._codes.once(("counts", name), counts)
        labels = {f"c{position}": self._series(name) for position, name in enumerate(columns)}
        groups = pl.DataFrame(labels).group_by(*labels, maintain_order=True).len("n")
        return groups.drop("n"), groups["n"].cast(pl.Int64).to_numpy()

    def treated(self, columns: Sequence[TreatedColumn]) -> MemoryEngine:
        """Treat columns (see `Engine.treated`)."""
        from incrowd.core.io.frames import with_columns

        series = {}
        for each in columns:
            rows = pl.DataFrame([self._series(name).alias(name) for name in each.columns])
            draws = each.draws.numbers(0, len(rows)) if each.treatment.is_random else None
            series[each.name] = each.of(rows, draws, self._codes)
        return MemoryEngine(with_columns(self.frame, series), self.settings)

    @property
    def native(self) -> Any:
        """The frame, of the kind that came."""
        return self.frame.to_native()

    def head(self, column: str, rows: int) -> pl.Series | None:
        """Return the first values of a column (see `Engine.head`)."""
        return self._series(column).head(rows)

    def some_rows(self, columns: Sequence[str], share: float) -> pl.DataFrame:
        """Return some columns of a share of the rows (see `Engine.some_rows`)."""
        from incrowd.core.io.columns import spread_rows

        rows = pl.DataFrame({name: self._series(name) for name in columns})
        return rows if share >= 1 else rows.filter(spread_rows(pl.int_range(pl.len()), share))

    def lone_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are unique in some columns (see `Engine.lone_rows`)."""
        from incrowd.core.kernels.grouping.grouping import group_codes, group_sizes

        if len(columns) == 1:
            return int((self.values_of(columns)[1] == 1).sum())
        # Callers have listed the values before, so the codes exist.
        coded = [self._codes.of(name, self._series(name)).codes for name in columns]
        numbers, first = group_codes(coded, len(self.frame))
        return int((group_sizes(numbers, len(first)) == 1).sum())

    def type_of(self, column: str) -> pl.DataType | None:
        """Return the type of a column (see `Engine.type_of`)."""
        return self._series(column).dtype

    def typed(self, released: Any, types: Mapping[str, pl.DataType]) -> Any:
        """Give columns of texts a type (see `Engine.typed`)."""
        from incrowd.core.io.frames import frame_of_types

        return frame_of_types(self.frame, nw.from_native(released, eager_only=True), types)

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> pl.DataFrame | Files:
        """Write the rows and read the copy again, opened lazily if long (see `Engine.write`)."""
        from incrowd.core.io.files import CsvFormat as Format
        from incrowd.core.io.files import is_parquet, read_table, write_table
        from incrowd.core.io.streams import damaged, scan, usual_memory

        rows = pl.DataFrame({name: self._series(name) for name in self._names})
        write_table(rows, path, target, csv_format)
        if len(rows) >= _MANY and is_parquet(target):
            # The rows are in memory, so twice the usual is there.
            files = scan(path, memory=2 * usual_memory(), written=True)
            if damaged(files, rows.columns) is not None:
                raise TableError(f"{target}: {NOT_THE_SAME}")
            return files
        mark = (csv_format.delimiter or ",")[0]
        written_as = Format(mark, csv_format.encoding, escaped=csv_format.escaped)
        return read_table(path, written_as, written=True)[0]

    def _series(self, name: str) -> pl.Series:
        """Return a column as a Polars series."""
        from incrowd.core.io.columns import joined, nameless
        from incrowd.core.io.frames import readable

        column = self.frame[name]
        if self.frame.implementation.is_polars() and str(column.dtype) == "Object":
            raise _unreadable(name, TypeError())
        if self.frame.implementation.is_pandas():
            column = nw.from_native(readable(column.to_native()), series_only=True)
        try:
            return joined(nameless(column.to_polars()))
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


@dataclass(frozen=True, eq=False)
class MemoryCount(Counted):
    """The rows of a frame, counted (see `incrowd.engines.base.Counted`)."""

    rows: MemoryEngine

    def apply(self, schema: Schema, recoding: Recoding) -> Released:
        """Recode the rows (see `Counted.apply`)."""
        from incrowd.core.io.columns import nameless
        from incrowd.core.io.frames import column_like, without_traces
        from incrowd.core.io.shuffle import row_index
        from incrowd.core.kernels.jit import at_once, thread_count
        from incrowd.core.recoding import SUPPRESSED

        rows, frame = self.frequency.key_of_row("recoding a frame"), self.rows.frame
        places = self.places_of(~recoding.starred) if recoding.left_out else None
        if places is not None:
            rows, frame = rows[places], nw.maybe_reset_index(frame[places])
        # Rows without a key have number -1, which picks the entry that is appended here.
        occurs = np.zeros(self.frequency.keys + 1, np.bool_)
        occurs[rows] = True

        def texts_of(attribute: Attribute, domain: Domain, cells: Cells) -> tuple[Any, pl.Series]:
            positions, labels = cells.released
            of_key = np.append(positions[cells.codes], len(labels))
            written = domain.written([*labels, SUPPRESSED])
            # Labels that no row has may be values of suppressed rows.
            used = np.bincount(of_key[occurs], minlength=len(written)) > 0
            used_labels = [label for label, is_used in zip(written, used.tolist(), strict=True) if is_used]
            # There are many more rows than texts.
            position = (np.cumsum(used) - 1).astype(np.min_scalar_type(len(used_labels)))
            return position[of_key], pl.Series(used_labels, dtype=pl.String)

        each = zip(schema.quasi, recoding.domains, recoding.cells, strict=True)
        texts = at_once(len(rows), *(partial(texts_of, *column) for column in each))
        of_name = {
            attribute.name: column_texts for attribute, column_texts in zip(schema.quasi, texts, strict=True)
        }

        def column(name: str, rows: NDArray[np.integer]) -> Any:
            of_key, labels = of_name[name]
            return column_like(frame, name, of_key[rows], labels)

        released = schema.released(self.rows.columns)
        contents = {
            name: partial(column, name, rows) if name in of_name else frame[name] for name in released
        }
        recoded = without_traces(frame, contents)

        def in_order(order: RandomOrder) -> Any:
            if len(rows) < _MOVED or not frame.implementation.is_polars():
                return frame_in_order(recoded, order)
            permutation = order.rows(len(rows)).astype(row_index())
            moved = pl.Series(permutation)
            parts = np.array_split(permutation, thread_count())
            keys = np.concatenate(at_once(len(rows), *(partial(rows.__getitem__, part) for part in parts)))

            def in_its_order(name: str) -> Any:
                if name in of_name:
                    return column(name, keys).to_native()
                return nameless(recoded[name]).gather(moved)

            # What takes longest begins first.
            names = sorted(released, key=of_name.__contains__)
            moved_columns = at_once(len(rows), *(partial(in_its_order, name) for name in names))
            columns = dict(zip(names, moved_columns, strict=True))
            return pl.DataFrame({name: columns[name] for name in released})

        return Released(recoded, in_order, lambda: places)

    def places_of(self, keys: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Look up each row's key (see `Counted.places_of`)."""
        # Rows without a key have number -1, which picks the entry that is appended here.
        return np.flatnonzero(np.append(keys, False)[self.frequency.key_of_row("drawing anew")])

    def columns_in_order(self, schema: Schema) -> list[str]:
        """Look at the keys of the rows (see `Counted.columns_in_order`)."""
        from incrowd.engines.distinct import columns_in_order

        return columns_in_order(self.frequency)


def frame_in_order(frame: Any, order: RandomOrder) -> Any:
    """Put the rows of a frame in a random order, and renumber a pandas index."""
    from incrowd.core.io.shuffle import gathered

    rows = nw.from_native(frame, eager_only=True)
    places = order.rows(len(rows))
    if rows.implementation.is_polars():
        return gathered(frame, places)
    moved = rows[places].to_native()
    # An index that still knew the old places would undo it.
    return moved.reset_index(drop=True) if rows.implementation.is_pandas() else moved


def _unreadable(name: str, error: Exception) -> SchemaError:
    """Word the error for a column of objects that fit no typed column."""
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


def _is_suppressed(series: pl.Series) -> NDArray[np.bool_]:
    from incrowd.core.recoding import SUPPRESSED

    if series.dtype not in (pl.String, pl.Categorical) and not isinstance(series.dtype, pl.Enum):
        return np.zeros(len(series), np.bool_)
    return (series.cast(pl.String) == SUPPRESSED).fill_null(value=False).to_numpy()


def _rank_column(
    series: pl.Series, attribute: Attribute, null_values: tuple[str, ...], live: NDArray[np.bool_] | None
) -> tuple[Domain, NDArray[np.integer]]:
    """Build a column's domain from the live rows, and rank all rows."""
    from incrowd.core.table.domain import Domain

    entries, codes = dictionary(series if live is None else series.filter(live), attribute.name, null_values)
    domain, ranks = Domain.build(attribute, entries, null_values)
    # Small codes make the gather below, and all that follows, cheaper.
    small = np.min_scalar_type(max(domain.size, 1)) if domain.size else np.uint8
    used = len(entries.texts) + entries.has_missing
    are_ranks = np.array_equal(ranks[:used], np.arange(used))
    ranked = codes.astype(small, copy=False) if are_ranks else ranks.astype(small)[codes]
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
    from incrowd.core.io.frames import numbered
    from incrowd.core.reading.missing import null_values_of

    cleaned: dict[str, pl.Series] = {}
    for column, name in zip(columns, names, strict=True):
        require_countable(name, column.dtype)
        values = as_text(column)
        if null_values:
            values = null_values_of(null_values).without(values)
        cleaned[f"{len(cleaned)}"] = values.fill_nan(None) if values.dtype.is_float() else values
    frame = pl.DataFrame(cleaned)
    nobody = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if not nobody.any():
        return numbered(frame)[0]
    rows = np.flatnonzero(~nobody.to_numpy())
    numbers = np.full(len(frame), -1, np.int32)
    numbers[rows], _ = numbered(frame[rows])
    return numbers
