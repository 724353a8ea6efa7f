"""Tables larger than memory: lazy Polars frames and Parquet files, counted and recoded while they stream."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.engines.grouped import CELL, CHANGED, KEY, ROWS, GroupedEngine
from incrowd.engines.keyed_cells import KeyedCells
from incrowd.errors import TableError
from incrowd.io.columns import column_named, columns_named, nameless
from incrowd.io.passing import passing
from incrowd.table.row_order import ColumnOrder
from incrowd.treatments.coded import Codes

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.engines.base import Engine, EngineSettings
    from incrowd.io.files import CsvFormat
    from incrowd.io.shuffle import RandomOrder
    from incrowd.io.streams import Files
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Schema
    from incrowd.table.treated_columns import TreatedColumn

__all__ = ["ScanEngine"]

_FIRST = "\0first"
_PLACE = "\0place"
_TREATED = "\0treated"
_Making = Callable[["pl.DataFrame"], "pl.DataFrame"]
"""What becomes of rows in short."""

_AT_ONCE = 1 << 20
"""Rows whose order is looked at together."""


class ScanEngine(GroupedEngine):
    """A lazy Polars frame; see `incrowd.engines.Engine`.

    Rows are never in memory together: keys are counted in one pass and each sensitive attribute in another.
    Keys stand in the order of their first row, so that a search finds what it would find in memory.
    """

    in_order = True
    whose = "a lazy frame or of files that stream"

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this is a lazy Polars frame."""
        import polars as pl

        return isinstance(table, pl.LazyFrame)

    def __init__(self, table: pl.LazyFrame, settings: EngineSettings | None = None) -> None:
        super().__init__(table, settings)
        self._types = dict(table.collect_schema())
        self._frame = table
        # What was released last, and how it is put in order.
        self._applied: tuple[pl.LazyFrame, tuple[pl.LazyFrame, _Making]] | None = None
        # The columns whose combinations all groupings of one counting are made from, and the combinations.
        self._whole: tuple[list[str], pl.DataFrame | None] = [], None
        # The columns that are treated here, and of those the ones that were not when rows were counted.
        self._made: frozenset[str] = frozenset()
        self._anew: frozenset[str] = frozenset()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._types)

    @property
    def sources(self) -> Sequence[object]:
        """The files that the plan tells of."""
        from incrowd.io.plans import files_of

        return files_of(self._frame)

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> FrequencyTable:
        """Count the rows; see `Engine.count`. With one sensitive attribute one pass is enough."""
        columns = [attribute.name for attribute in (*schema.quasi, *schema.sensitive)]
        self._whole = columns if len(schema.sensitive) == 1 else [], None
        try:
            return super().count(schema, joint=joint, target=target)
        finally:
            self._whole = [], None

    def apply(self, schema: Schema, frequency: FrequencyTable, recoding: Recoding) -> Any:
        """Recode the rows while they stream; see `Engine.apply`.

        Whoever collects the frame gets columns without the buffers of the rows that it was made from.
        """
        import polars as pl

        from incrowd.io.frames import written_anew

        cells = KeyedCells.of(schema, recoding)

        def anew(part: pl.DataFrame) -> pl.DataFrame:
            columns = part.get_columns()
            return pl.DataFrame({s.name: s if s.name in cells.columns else written_anew(s) for s in columns})

        released = self._recoded(self._frame, schema, cells).map_batches(anew, streamable=True)
        self._applied = released, self._short(self._frame, schema, cells)
        return released

    def _recoded(self, frame: pl.LazyFrame, schema: Schema, cells: KeyedCells) -> pl.LazyFrame:
        names = {attribute.name for attribute in schema.quasi}
        return self._with_cells(frame, schema, cells, ordered=True).select(
            (column_named(CELL.format(name)) if name in names else self._plain(name)).alias(name)
            for name in schema.released(self.columns)
        )

    def _short(self, frame: pl.LazyFrame, schema: Schema, cells: KeyedCells) -> tuple[pl.LazyFrame, _Making]:
        """Return what `_recoded` returns with a number in place of texts, and what makes texts of it."""
        names = [attribute.name for attribute in schema.quasi]
        released = schema.released(self.columns)
        keyed = self._keyed_rows(frame, names, schema.null_values, ordered=True)
        passed = [self._plain(name).alias(name) for name in released if name not in names]
        made = partial(cells.of_rows, names=released, key=KEY)
        return keyed.select(*passed, column_named(KEY)), made

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns while the rows stream; see `Engine.values_of`."""
        import polars as pl

        places = [f"c{place}" for place in range(len(columns))]
        named = self._frame.select(
            column.alias(place) for column, place in zip(columns_named(columns), places, strict=True)
        )
        counted = passing(named).group_by(places).len("n").collect(engine="streaming")
        return counted.drop("n"), counted["n"].cast(pl.Int64).to_numpy()

    def treated(self, columns: Sequence[TreatedColumn]) -> ScanEngine:
        """Treat columns while the rows stream; see `Engine.treated`."""
        return ScanEngine(self._treated(self._frame, self._made_whole(columns)), self.settings)

    def with_rows(self, other: Engine) -> ScanEngine:
        """Keep what was counted; see `Engine.with_rows`."""
        assert isinstance(other, ScanEngine)
        moved = copy.copy(self)
        moved._frame, moved._types = other._frame, other._types
        return moved

    def places_of(
        self, schema: Schema, frequency: FrequencyTable, keys: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Go over the rows once more; see `Engine.places_of`."""
        import numpy as np
        import polars as pl

        names = [attribute.name for attribute in schema.quasi]
        keyed = self._keyed_rows(self._frame.with_row_index(_PLACE), names, schema.null_values)
        wanted = column_named(KEY).is_in(pl.Series(np.flatnonzero(keys)).implode())
        found = passing(keyed.select(columns_named([_PLACE, KEY]))).filter(wanted).collect(engine="streaming")
        return np.sort(found[_PLACE].to_numpy().astype(np.int64))

    def _made_whole(
        self, columns: Sequence[TreatedColumn], frame: pl.LazyFrame | None = None
    ) -> list[tuple[TreatedColumn, _Made | None]]:
        """Treat columns now that need all rows at once: they alone are read, and have to fit into memory."""
        frame = self._frame if frame is None else frame
        found: list[tuple[TreatedColumn, _Made | None]] = []
        for each in columns:
            if not each.treatment.is_whole:
                found.append((each, None))
                continue
            rows = passing(frame.select(columns_named(each.columns))).collect(engine="streaming")
            draws = each.draws.numbers(0, len(rows)) if each.treatment.is_random else None
            found.append((each, _Made(rows[each.name], each.of(rows, draws))))
        return found

    def _treated(
        self, frame: pl.LazyFrame, columns: Sequence[tuple[TreatedColumn, _Made | None]], start: int = 0
    ) -> pl.LazyFrame:
        """Add the treatments of some columns to a plan.

        Parameters
        ----------
        columns
            What `_made_whole` gives.
        start
            The place of the first row in the table: what is drawn goes by the places of rows.
        """
        import polars as pl

        placed = any(each.by_row for each, _ in columns)
        if placed:
            frame = frame.with_row_index(_PLACE, offset=start)
        read = dict.fromkeys(name for each, _ in columns for name in each.columns)
        # By place: a name may look like a pattern.
        types = {f"c{i}": each.type_of(self._types[each.name]) for i, (each, _) in enumerate(columns)}
        # All columns of a batch one after the other: what one finds of its rows the next one knows.
        made = pl.struct(columns_named([*read, *([_PLACE] if placed else [])])).map_batches(
            partial(_all_of_rows, columns), return_dtype=pl.Struct(types), is_elementwise=True
        )
        made_frame = frame.with_columns(made.alias(_TREATED)).with_columns(
            column_named(_TREATED).struct.field(field).alias(each.name)
            for field, (each, _) in zip(types, columns, strict=True)
        )
        return made_frame.drop(_TREATED, *([_PLACE] if placed else []))

    def head(self, column: str, rows: int) -> pl.Series | None:
        """Return the first values of a column, None where they cannot be read; see `Engine.head`."""
        import polars as pl

        try:
            return self._frame.select(column_named(column)).head(rows).collect().to_series()
        except pl.exceptions.PolarsError:
            # A column that is left out may be damaged: nothing else reads it.
            return None

    def lone_rows(self, columns: Sequence[str]) -> int | None:
        """Count the rows whose values no other row has; see `Engine.lone_rows`."""
        return int((self.values_of(columns)[1] == 1).sum())

    def reordered(self, released: Any, order: RandomOrder) -> Any:
        """Put the rows in a random order when they are asked for; see `Engine.reordered`.

        They spill to a private folder where they do not fit into a part of the machine's memory.
        """
        from incrowd.io.shuffle import ShuffledRows
        from incrowd.io.streams import usual_memory

        rows, made = released, None
        if self._applied is not None and self._applied[0] is released:
            rows, made = self._applied[1]
        return ShuffledRows(rows, order, usual_memory(), made).lazy()

    def type_of(self, column: str) -> pl.DataType | None:
        """Return the type of a column; see `Engine.type_of`."""
        return self._types[column]

    def typed(self, released: Any, types: Mapping[str, pl.DataType]) -> Any:
        """Give columns of texts a type when they are collected; see `Engine.typed`."""
        from incrowd.io.means import plan_of_types

        return plan_of_types(released, types)

    def columns_in_order(self, schema: Schema, frequency: FrequencyTable) -> list[str]:
        """Go over the rows once more; see `Engine.columns_in_order`."""
        from incrowd.io.scratch import PrivateFolder
        from incrowd.io.shuffle import spilled

        names = [attribute.name for attribute in schema.quasi]
        self._learn(self._frame, names, schema.null_values)
        orders = {name: ColumnOrder(len(self._distinct(name, schema.null_values))) for name in names}
        columns = columns_named(names)
        with PrivateFolder() as folder:
            coded = self._coded(self._frame.select(columns), names, schema.null_values, ordered=True)
            rows, count = spilled(coded.select(columns), folder / "codes.parquet")
            for start in range(0, count, _AT_ONCE):
                batch = rows.slice(start, _AT_ONCE).collect()
                for name, order in orders.items():
                    order.add(batch[name].to_numpy())
        return [name for name, order in orders.items() if order.tells]

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Files:
        """Write the rows while they stream; see `Engine.write`."""
        from incrowd.io.streams import scan, stream_table

        stream_table(self._frame, path, target, csv_format)
        return scan(path, csv_format, written=True)

    def _plain(self, name: str) -> pl.Expr:
        """Pass a column on; categories would take their dictionary along."""
        import polars as pl

        kind = self._types[name]
        if isinstance(kind, pl.Categorical | pl.Enum):
            return column_named(name).cast(pl.String)
        return column_named(name)

    def _look(self, names: Sequence[str], null_values: tuple[str, ...]) -> None:
        self._learn(self._frame, names, null_values)

    def _learn(self, frame: pl.LazyFrame, names: Sequence[str], null_values: tuple[str, ...]) -> None:
        """Find the distinct values of some columns in one pass over the rows."""
        import polars as pl

        wanted = [name for name in dict.fromkeys(names) if (name, null_values) not in self._values]
        frames = pl.collect_all(
            [
                passing(frame.select(column_named(name))).select(
                    self._cleaned(name, null_values).unique().alias("")
                )
                for name in wanted
            ],
            engine="streaming",
        )
        for name, found in zip(wanted, frames, strict=True):
            self._values[name, null_values] = found.to_series().sort()

    def _grouped(self, names: Sequence[str], null_values: tuple[str, ...]) -> pl.DataFrame:
        """Count the combinations of some columns by their codes, in the order of their first row."""
        columns, found = self._whole
        if not set(names) <= set(columns):
            return self._of_rows(names, null_values).drop(_FIRST)
        if found is None:
            found = self._of_rows(columns, null_values)
            self._whole = columns, found
        if len(names) < len(columns):
            found = (
                found.lazy()
                .group_by(columns_named(names))
                .agg(column_named(ROWS).sum(), column_named(_FIRST).min())
                .sort(_FIRST)
                .collect()
            )
        return found.select(columns_named([*names, ROWS]))

    def _of_rows(self, names: Sequence[str], null_values: tuple[str, ...]) -> pl.DataFrame:
        """Group the rows by the codes of some columns: `ROWS`, and the place of the first, in this order."""
        import polars as pl

        columns = columns_named(names)
        frame: pl.DataFrame = (
            self._coded(passing(self._frame.select(columns)).with_row_index(_FIRST), names, null_values)
            .group_by(columns)
            .agg(pl.len().alias(ROWS), column_named(_FIRST).min())
            .collect(engine="streaming")
        )
        return frame.sort(_FIRST)


class _Made(NamedTuple):
    """A column of all rows, and what became of it."""

    came: pl.Series
    made: pl.Series


def _all_of_rows(columns: Sequence[tuple[TreatedColumn, _Made | None]], rows: pl.Series) -> pl.Series:
    """Treat columns of a batch, which come as one column of structs, and give them back as one."""
    import polars as pl

    frame, codes = rows.struct.unnest(), Codes()
    made = [_of_rows(column, done, frame, codes).alias(f"c{i}") for i, (column, done) in enumerate(columns)]
    return nameless(pl.DataFrame(made).to_struct(""))


def _of_rows(column: TreatedColumn, done: _Made | None, frame: pl.DataFrame, codes: Codes) -> pl.Series:
    """Treat a column of a batch."""
    draws = None
    if done is not None:
        here = frame[_PLACE]
        if not done.came.gather(here).equals(nameless(frame[column.name])):
            raise TableError(CHANGED)
        return nameless(done.made.gather(here))
    if column.treatment.is_random and len(frame):
        places = frame[_PLACE].to_numpy()
        first = int(places.min())
        # Rows of a batch stand beside each other, or nearly so.
        draws = column.draws.numbers(first, int(places.max()) + 1)[places - first]
    return nameless(column.of(frame, draws, codes))
