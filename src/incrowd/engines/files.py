"""Files larger than memory: counted by a database that spills to disk, recoded while they stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from incrowd.engines.keyed_cells import KeyedCells
from incrowd.engines.spilling import SpillingEngine
from incrowd.table.missing import null_values_of

if TYPE_CHECKING:
    import polars as pl

    from incrowd.engines.base import Engine
    from incrowd.io.files import CsvFormat
    from incrowd.io.shuffle import RandomOrder, ShuffledRows
    from incrowd.io.streams import Files
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Schema
    from incrowd.table.treated_columns import TreatedColumn

__all__ = ["FilesEngine"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Recoded:
    """Rows that were counted and recoded, and how.

    Attributes
    ----------
    rows, made
        The recoded rows in short, and what makes them what they leave as.
    anew
        The columns that have other values than those that were counted.
    """

    schema: Schema
    frequency: FrequencyTable
    recoding: Recoding
    rows: pl.LazyFrame = field(repr=False)
    made: Callable[[pl.DataFrame], pl.DataFrame] = field(repr=False)
    anew: frozenset[str] = frozenset()

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
            or any(attribute.name in self.anew for attribute in asked.sensitive)
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


class FilesEngine(SpillingEngine):
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
        roles = ("quasi", "sensitive", "person", "household", "weight")
        counted = [a.name for a in schema.attributes if a.role in roles]
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
        cells = KeyedCells.of(schema, recoding)
        parts = tuple(self._recoded(part, schema, cells) for part in self._files.parts)
        whole = self._recoded(self._frame, schema, cells)
        # The files are kept as long as rows are computed from them.
        return replace(
            self._files,
            frame=whole,
            parts=parts,
            stored=None,
            partitions={},
            kept=self._files,
            recoded=_Recoded(
                schema, frequency, recoding, *self._short(self._frame, schema, cells), self._anew
            ),
        )

    def treated(self, columns: Sequence[TreatedColumn]) -> FilesEngine:
        """Treat columns while the rows stream, file by file; see `Engine.treated`."""
        import polars as pl

        placed = any(each.by_row for each in columns)
        files = self._files.parts
        made = self._made_whole(columns, pl.concat(files) if placed else None)
        starts = [0] * len(files)
        if placed:
            # Rows of all files have places of their own, so no two share what is drawn.
            lengths = pl.collect_all([part.select(pl.len()) for part in files[:-1]])
            starts = [0, *accumulate(int(length.item()) for length in lengths)]
        parts = tuple(self._treated(part, made, start) for part, start in zip(files, starts, strict=True))
        # What is drawn has to be the same whether the rows are written to one file or to several.
        whole = pl.concat(parts) if placed else self._treated(self._frame, made)
        moved = FilesEngine(
            replace(self._files, frame=whole, parts=parts, stored=None, kept=self._files), self.settings
        )
        moved._made = frozenset(each.name for each in columns)
        return moved

    def with_rows(self, other: Engine) -> FilesEngine:
        """Keep what was counted; see `Engine.with_rows`."""
        assert isinstance(other, FilesEngine)
        moved = super().with_rows(other)
        assert isinstance(moved, FilesEngine)
        moved._files, moved._anew = other._files, other._made - self._made
        return moved

    def reordered(self, released: Any, order: RandomOrder) -> Files:
        """Put the rows of all files in one random order when they are written; see `Engine.reordered`."""
        from incrowd.io.shuffle import ShuffledRows

        recoded: _Recoded = released.recoded
        shuffled = ShuffledRows(recoded.rows, order, released.memory, recoded.made)
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

    def lone_rows(self, columns: Sequence[str]) -> int | None:
        """Count the rows whose values no other row has, and say which file is damaged."""
        with self._reading(columns):
            return super().lone_rows(columns)

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
        return scan(path, csv_format, memory=self._files.memory, written=True)

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
