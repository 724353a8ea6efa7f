"""Engine for tables larger than memory: lazy Polars frames and Parquet, processed while streaming."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from incrowd.core.errors import TableError
from incrowd.core.io.columns import column_named, columns_named, nameless, passing, spread_rows
from incrowd.core.io.targets import HIDDEN, Hidden
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.treatments.codes import Codes
from incrowd.engines.base import Counted, Engine, EngineSettings, Released
from incrowd.engines.distinct import ColumnOrder
from incrowd.engines.fold import CELL, CHANGED, KEY, ROWS, GroupedRows, Keys, Values, fold, number_groups
from incrowd.engines.key_lookup import KeyedCells

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.streams import Files
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.treated_columns import TreatedColumn
    from incrowd.engines.cells import CellPeople, CellQuestion

_FIRST = "\0first"
_PLACE = "\0place"
_TREATED = "\0treated"
_PERSON = "\0person {}"
_TextLookup = Callable[["pl.DataFrame"], "pl.DataFrame"]
"""Function that replaces numbers by texts."""

_AT_ONCE = 1 << 20
"""Rows per batch in the check of the row order."""


class ScanEngine(Engine):
    """A lazy Polars frame (see `incrowd.engines.Engine`).

    Rows are never in memory together: keys are counted in one pass and each sensitive attribute in another.
    Keys stand in the order of their first row, so that a search finds what it would find in memory.
    """

    in_order = True
    whose = "a lazy frame or of files that stream"
    partitions: Mapping[str, Sequence[str | None]] = MappingProxyType({})

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this is a lazy Polars frame."""
        return isinstance(table, pl.LazyFrame)

    def __init__(
        self,
        table: pl.LazyFrame,
        settings: EngineSettings | None = None,
        treated: Sequence[TreatedColumn] = (),
    ) -> None:
        from incrowd.core.io.columns import flat

        super().__init__(table, settings, treated)
        table = flat(table, "the frame")
        self.types = dict(table.collect_schema())
        self.frame = table

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.types)

    @property
    def sources(self) -> Sequence[object]:
        """The files that the plan tells of."""
        return files_of(self.frame)

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> Counted:
        """Count the rows (see `Engine.count`)."""
        rows = StreamedRows.of_frame(self.frame, self.types, schema)
        frequency, keys = fold(
            rows, schema, self.columns, joint=joint, target=target, starred=self.settings.starred
        )
        return StreamedCount(self, schema, frequency, keys, self._release)

    def _release(self, count: StreamedCount, schema: Schema, recoding: Recoding) -> Released:
        """Recode the rows while streaming (see `Counted.apply`).

        Whoever collects the frame gets columns without the buffers of the rows that it was made from. Rows in
        a random order spill to a private folder where they do not fit into a part of the machine's memory.
        """
        from incrowd.core.io.frames import written_anew
        from incrowd.core.io.shuffle import ShuffledRows
        from incrowd.core.io.streams import usual_memory

        cells = KeyedCells.of_recoding(schema, recoding)

        def anew(part: pl.DataFrame) -> pl.DataFrame:
            columns = part.get_columns()
            return pl.DataFrame({s.name: s if s.name in cells.columns else written_anew(s) for s in columns})

        released = count.recoded(count.rows.frame, schema, cells).map_batches(anew, streamable=True)
        rows, with_texts = count.in_short(schema, cells)
        return Released(
            released,
            lambda order: ShuffledRows(rows, order, usual_memory(), with_texts).lazy(),
            count.places_that_leave(recoding),
        )

    def people_of_cells(self, count: Counted, question: CellQuestion) -> CellPeople:
        """Group alike rows of each person while the rows stream (see `Engine.people_of_cells`).

        What is in memory at the end is a line of numbers for each such group, and the names of all people.
        """
        from incrowd.engines.cells import CellLines, people_of_lines

        named, values = question.person, Values(self.types, question.null_values)
        learn(values, self.frame, named)
        # By place: a column may be called as a number.
        persons = [f"p{place}" for place in range(len(named))]
        counts = [count, *(each.columns for each in (question.amounts, question.marks) if each is not None)]
        numbers = [f"n{place}" for place in range(len(counts))]
        keys = [each.keys for each in counts if isinstance(each, StreamedCount)]
        columns = dict.fromkeys([*named, *(name for each in keys for name in each.names)])
        frame = passing(self.frame.select(columns_named([*columns])))
        for each, number in zip(keys, numbers, strict=True):
            frame = each.added(frame).rename({KEY: number})
        frame = values.coded(frame, named, _PERSON)
        codes = [column_named(_PERSON.format(name)) for name in named]
        lines = (
            frame.select(
                *(column_named(number) for number in numbers),
                *(code.alias(own) for code, own in zip(codes, persons, strict=True)),
            )
            .group_by(*numbers, *persons)
            .agg(pl.len().alias(ROWS))
            .collect(engine="streaming")
        )
        records = lines[ROWS].cast(pl.Int64).to_numpy()
        has_lost_keys = any(lines[number].has_nulls() for number in numbers)
        if has_lost_keys or records.sum() != count.frequency.weights.sum():
            raise TableError(CHANGED)
        key, *others = (lines[number].to_numpy() for number in numbers)
        further = iter(others)
        amounts, marks = (
            None if each is None else each.of_key[next(further)]
            for each in (question.amounts, question.marks)
        )
        person = None
        if named:
            own = lines.select(
                column_named(each).alias(name) for each, name in zip(persons, named, strict=True)
            )
            person = number_groups(own, named, [values[name] for name in named])
        return people_of_lines(
            question,
            CellLines([each[key] for each in count.frequency.codes], person, amounts, marks, records),
        )

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns while the rows stream (see `Engine.values_of`)."""
        places = [f"c{position}" for position in range(len(columns))]
        selection = self.frame.select(
            column.alias(position) for column, position in zip(columns_named(columns), places, strict=True)
        )
        groups = passing(selection).group_by(places).len("n").collect(engine="streaming")
        return groups.drop("n"), groups["n"].cast(pl.Int64).to_numpy()

    def treated(self, columns: Sequence[TreatedColumn]) -> ScanEngine:
        """Treat columns while the rows stream (see `Engine.treated`)."""
        return ScanEngine(treated(self.frame, self.types, treat_whole(self.frame, columns)), self.settings)

    def head(self, column: str, rows: int) -> pl.Series | None:
        """Return the first values of a column, or None if unreadable (see `Engine.head`)."""
        try:
            return self.frame.select(column_named(column)).head(rows).collect().to_series()
        except pl.exceptions.PolarsError:
            # A column that is left out may be damaged: nothing else reads it.
            return None

    def some_rows(self, columns: Sequence[str], share: float) -> pl.DataFrame:
        """Return some columns of a share of the rows while streaming (see `Engine.some_rows`)."""
        rows = self.frame.select(columns_named(columns)).with_row_index(_PLACE)
        sample = passing(rows).filter(spread_rows(column_named(_PLACE), share)).collect(engine="streaming")
        return sample.sort(_PLACE).drop(_PLACE)

    def lone_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are unique in some columns (see `Engine.lone_rows`)."""
        return int((self.values_of(columns)[1] == 1).sum())

    def type_of(self, column: str) -> pl.DataType | None:
        """Return the type of a column (see `Engine.type_of`)."""
        return self.types[column]

    def typed(self, released: Any, types: Mapping[str, pl.DataType]) -> Any:
        """Cast columns of texts to a type on collection (see `Engine.typed`)."""
        from incrowd.core.io.frames import as_type

        return released.with_columns(
            as_type(column_named(name), kind).alias(name) for name, kind in types.items()
        )

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Files:
        """Write the rows while streaming (see `Engine.write`)."""
        from incrowd.core.io.streams import scan, stream_table

        stream_table(self.frame, path, target, csv_format)
        return scan(path, csv_format, written=True)


@dataclass(frozen=True, eq=False)
class StreamedCount(Counted):
    """Rows that stream, counted (see `incrowd.engines.base.Counted`).

    Attributes
    ----------
    keys
        The keys, found by the values that rows have.
    release
        What recodes the rows.
    """

    rows: Any  # a ScanEngine or a FilesEngine
    keys: Keys = field(repr=False)
    release: Callable[[StreamedCount, Schema, Recoding], Released] = field(repr=False)

    def apply(self, schema: Schema, recoding: Recoding) -> Released:
        """Recode the rows while streaming (see `Counted.apply`)."""
        return self.release(self, schema, recoding)

    def recoded(self, frame: pl.LazyFrame, schema: Schema, cells: KeyedCells) -> pl.LazyFrame:
        """Return the released columns with the released texts (rows without a key: suppressed)."""
        names = self.keys.names
        keyed = cells.leaving(self.keys.added(frame, ordered=True), KEY).with_columns(
            cells.streamed(name, KEY).alias(CELL.format(name)) for name in names
        )
        return keyed.select(
            (column_named(CELL.format(name)) if name in names else self._pass_on(name)).alias(name)
            for name in schema.released(self.rows.columns)
        )

    def in_short(self, schema: Schema, cells: KeyedCells) -> tuple[pl.LazyFrame, _TextLookup]:
        """Return `recoded` with a number in place of texts, and the function that looks the texts up."""
        released = schema.released(self.rows.columns)
        others = [self._pass_on(name).alias(name) for name in released if name not in self.keys.names]
        with_texts = partial(cells.of_rows, names=released, key=KEY)
        keyed = cells.leaving(self.keys.added(self.rows.frame, ordered=True), KEY)
        return keyed.select(*others, column_named(KEY)), with_texts

    def _pass_on(self, name: str) -> pl.Expr:
        """Pass a column on, with categories as plain texts so that no unused category leaks."""
        categorical = isinstance(self.rows.types[name], pl.Categorical | pl.Enum)
        return column_named(name).cast(pl.String) if categorical else column_named(name)

    def places_of(self, keys: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Go over the rows once more (see `Counted.places_of`)."""
        keyed = self.keys.added(self.rows.frame.with_row_index(_PLACE))
        has_key = column_named(KEY).is_in(pl.Series(np.flatnonzero(keys)).implode())
        rows = passing(keyed.select(columns_named([_PLACE, KEY]))).filter(has_key).collect(engine="streaming")
        return np.sort(rows[_PLACE].to_numpy().astype(np.int64))

    def places_that_leave(self, recoding: Recoding) -> Callable[[], NDArray[np.int64]] | None:
        """Return a function that finds the released rows, or None where all rows leave."""
        return partial(self.places_of, ~recoding.starred) if recoding.left_out else None

    def columns_in_order(self, schema: Schema) -> list[str]:
        """Go over the rows once more, and name the columns of partitions (see `Counted.columns_in_order`)."""
        from incrowd.core.io.scratch import PrivateFolder
        from incrowd.core.io.shuffle import spilled

        names, values = self.keys.names, self.keys.values
        others = set(schema.released(self.rows.columns)) - set(names)
        orders = {name: ColumnOrder(len(values[name])) for name in names}
        columns = columns_named(names)
        with PrivateFolder() as folder:
            coded = values.coded(self.rows.frame.select(columns), names, ordered=True)
            rows, count = spilled(coded.select(columns), folder / "codes.parquet")
            for start in range(0, count, _AT_ONCE):
                batch = rows.slice(start, _AT_ONCE).collect()
                for name, order in orders.items():
                    order.add(batch[name].to_numpy())
        parted = [name for name in self.rows.partitions if name not in others]
        return list(dict.fromkeys([*parted, *(name for name, order in orders.items() if order.tells)]))


class StreamedRows(GroupedRows):
    """Rows that Polars groups while streaming.

    Parameters
    ----------
    columns
        The columns whose combinations all groupings of them are made from.
    """

    in_order = True

    def __init__(self, frame: pl.LazyFrame, values: Values, columns: Sequence[str] = ()) -> None:
        self.values = values
        self._frame, self._columns = frame, list(columns)
        self._groups: pl.DataFrame | None = None

    @classmethod
    def of_frame(cls, frame: pl.LazyFrame, types: dict[str, pl.DataType], schema: Schema) -> StreamedRows:
        """Wrap the rows of a frame, read in a single pass if only a single attribute is sensitive."""
        columns = [attribute.name for attribute in (*schema.quasi, *schema.sensitive)]
        return cls(frame, Values(types, schema.null_values), columns if len(schema.sensitive) == 1 else ())

    def look(self, names: Sequence[str]) -> None:
        """Find the distinct values of some columns in a single pass over the rows."""
        learn(self.values, self._frame, names)

    def grouped(self, names: Sequence[str]) -> pl.DataFrame:
        """Count the combinations of some columns by code, in the order of the first row."""
        if not set(names) <= set(self._columns):
            return self._group_rows(names).drop(_FIRST)
        if self._groups is None:
            self._groups = self._group_rows(self._columns)
        groups = self._groups
        if len(names) < len(self._columns):
            groups = (
                groups.lazy()
                .group_by(columns_named(names))
                .agg(column_named(ROWS).sum(), column_named(_FIRST).min())
                .sort(_FIRST)
                .collect()
            )
        return groups.select(columns_named([*names, ROWS]))

    def _group_rows(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows by the codes of some columns: `ROWS`, and the place of the first, in this order."""
        self.look(names)
        columns = columns_named(names)
        frame: pl.DataFrame = (
            self.values.coded(passing(self._frame.select(columns)).with_row_index(_FIRST), names)
            .group_by(columns)
            .agg(pl.len().alias(ROWS), column_named(_FIRST).min())
            .collect(engine="streaming")
        )
        return frame.sort(_FIRST)


def learn(values: Values, frame: pl.LazyFrame, names: Sequence[str]) -> None:
    """Find the unknown distinct values of some columns in a single pass over the rows."""
    unknown = [name for name in dict.fromkeys(names) if name not in values]
    frames = pl.collect_all(
        [
            passing(frame.select(column_named(name))).select(values.cleaned(name).unique().alias(""))
            for name in unknown
        ],
        engine="streaming",
    )
    for name, distinct in zip(unknown, frames, strict=True):
        values.learn(name, distinct.to_series().sort())


class _FullColumn(NamedTuple):
    """Full column before and after the treatment."""

    before: pl.Series
    after: pl.Series


_Columns = Sequence[tuple["TreatedColumn", _FullColumn | None]]


def treat_whole(frame: pl.LazyFrame, columns: Sequence[TreatedColumn]) -> _Columns:
    """Treat the columns that need all rows at once and therefore have to fit into memory."""
    treatments: list[tuple[TreatedColumn, _FullColumn | None]] = []
    for each in columns:
        if not each.treatment.is_whole:
            treatments.append((each, None))
            continue
        rows = passing(frame.select(columns_named(each.columns))).collect(engine="streaming")
        draws = each.draws.numbers(0, len(rows)) if each.treatment.is_random else None
        # Series look themselves up by their name, which may be a pattern of names.
        treatments.append((each, _FullColumn(nameless(rows[each.name]), nameless(each.of(rows, draws)))))
    return treatments


def treated(
    frame: pl.LazyFrame, kinds: Mapping[str, pl.DataType], columns: _Columns, start: int = 0
) -> pl.LazyFrame:
    """Add the treatments of some columns to a plan.

    Parameters
    ----------
    kinds
        The types of the columns before.
    columns
        What `treat_whole` gives.
    start
        The place of the first row in the table: what is drawn goes by the places of rows.
    """
    placed = any(each.by_row for each, _ in columns)
    if placed:
        frame = frame.with_row_index(_PLACE, offset=start)
    inputs = dict.fromkeys(name for each, _ in columns for name in each.columns)
    # By place: a name may look like a pattern.
    types = {f"c{i}": each.type_of(kinds[each.name]) for i, (each, _) in enumerate(columns)}

    def of_batch(rows: pl.Series) -> pl.Series:
        # One after the other: what a column finds of the rows the next one knows.
        batch, codes = rows.struct.unnest(), Codes()
        values = zip(types, (_treated_batch(*column, batch, codes) for column in columns), strict=True)
        return nameless(pl.DataFrame([series.alias(field) for field, series in values]).to_struct(""))

    batches = pl.struct(columns_named([*inputs, *([_PLACE] if placed else [])])).map_batches(
        of_batch, return_dtype=pl.Struct(types), is_elementwise=True
    )
    frame = frame.with_columns(batches.alias(_TREATED)).with_columns(
        column_named(_TREATED).struct.field(field).alias(each.name)
        for field, (each, _) in zip(types, columns, strict=True)
    )
    return frame.drop(_TREATED, *([_PLACE] if placed else []))


def _treated_batch(
    column: TreatedColumn, full: _FullColumn | None, frame: pl.DataFrame, codes: Codes
) -> pl.Series:
    """Treat a column of a batch."""
    draws = None
    if full is not None:
        indices = frame[_PLACE]
        if not full.before.gather(indices).equals(nameless(frame[column.name])):
            raise TableError(CHANGED)
        return nameless(full.after.gather(indices))
    if column.treatment.is_random and len(frame):
        places = frame[_PLACE].to_numpy()
        first = int(places.min())
        # Rows of a batch stand beside each other, or nearly so.
        draws = column.draws.numbers(first, int(places.max()) + 1)[places - first]
    return nameless(column.of(frame, draws, codes))


_SCAN = re.compile(r"\s*\w+ SCAN \[(?P<sources>.+)\]\s*")
_MORE = re.compile(r"(?P<listing>.*), \.\.\. (?P<number>\d+) other sources", re.DOTALL)
_IN_MEMORY = re.compile(r"\d+ in-mem bytes")
_ELSEWHERE = re.compile(r"(?!file:)[a-z][a-z0-9+.-]+://.*", re.IGNORECASE)


def files_of(frame: pl.LazyFrame) -> list[str | Hidden]:
    """Return the absolute paths of the files that a lazy frame reads, and `HIDDEN` where there may be more.

    A plan in words shows the first few files of a scan; for more the plan itself is asked. Whatever is not
    understood counts as hidden: an open file, a data set of PyArrow, a plugin, words of another version.
    """
    try:
        plan = frame.explain(optimized=False)
    except Exception:
        return [HIDDEN]
    paths: set[str] = set()
    hidden = False
    for line in plan.split("\n"):
        scan = _SCAN.fullmatch(line)
        if scan is None:
            hidden |= re.search(r"\bSCAN\b", line) is not None
            continue
        files = _scanned(scan["sources"], frame)
        hidden |= files is None
        paths.update(files or ())
    hidden |= not re.search(r"\b(SCAN|DF) \[", plan)
    return [*sorted(paths), *([HIDDEN] if hidden else [])]


def _scanned(words: str, frame: pl.LazyFrame) -> set[str] | None:
    """Return the files of a single scan by the description, or None where unknown."""
    more = _MORE.fullmatch(words)
    if more is not None:
        for paths in _lists(frame):
            if _holds(paths, more["listing"], int(more["number"])):
                return {os.path.abspath(file) for path in paths for file in _spellings(path)}
        return None
    pieces = words.split(", ")
    if all(_IN_MEMORY.fullmatch(piece) or _ELSEWHERE.fullmatch(piece) for piece in pieces):
        return set()
    # A name may have a comma in it, so all that may be meant is looked for.
    candidates = (
        ", ".join(pieces[start:stop])
        for start in range(len(pieces))
        for stop in range(start + 1, len(pieces) + 1)
    )
    files = {
        os.path.abspath(file) for name in candidates for file in _spellings(name) if os.path.lexists(file)
    }
    return files or None


def _holds(paths: Sequence[str], listing: str, number: int) -> bool:
    """Say whether the listed files stand in `paths`, followed by `number` others.

    Polars makes one scan of several that are put one below the other.
    """
    for start in range(len(paths) - number):
        for stop in range(start + 1, len(paths) - number + 1):
            text = ", ".join(paths[start:stop])
            if text == listing:
                return True
            if not listing.startswith(text):
                break
    return False


def _spellings(path: str) -> list[str]:
    """Return the path that an address ``file://`` may mean, or the path itself."""
    if not path.lower().startswith("file:"):
        return [] if _ELSEWHERE.fullmatch(path) else [path]
    plain = urlsplit(path).path
    return [plain, unquote(plain)]


def _lists(frame: pl.LazyFrame) -> Iterator[list[str]]:
    """Yield the files of each scan of the plan, or nothing where this version of Polars hides the plan."""
    try:
        plan: Any = frame._ldf.visit()
        open_nodes = [plan.get_node()]
    except Exception:
        return
    while open_nodes:
        plan.set_node(open_nodes.pop())
        open_nodes += plan.get_inputs()
        try:
            paths = plan.view_current_node().paths
        except Exception:  # a node that is no scan, or one that cannot be looked at
            continue
        yield [os.fsdecode(path) for path in paths]
