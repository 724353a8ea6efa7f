"""Engine for files larger than memory, counted by DuckDB with spilling and recoded while streaming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from incrowd.core.lazy import np, pl
from incrowd.core.reading.missing import null_values_of
from incrowd.engines.base import Counted, EngineSettings, Released, Unwritten
from incrowd.engines.fold import Values, fold
from incrowd.engines.key_lookup import KeyedCells
from incrowd.engines.scan import ScanEngine, StreamedCount, StreamedRows, treat_whole, treated
from incrowd.engines.spilling import SpilledRows, reads_alike

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.shuffle import RandomOrder
    from incrowd.core.io.streams import Files
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.treated_columns import TreatedColumn
    from incrowd.engines.cells import CellPeople, CellQuestion

T = TypeVar("T")


def _recode_counts(
    count: StreamedCount, recoding: Recoding, anew: set[str], schema: Schema, *, joint: bool, starred: bool
) -> FrequencyTable | None:
    """Derive the frequency table of a release from the counts before, or None if the counts do not suffice.

    Parameters
    ----------
    anew
        The columns that have other values than those that were counted.
    schema
        How the release is counted.
    """
    from incrowd.core.recoding import SUPPRESSED
    from incrowd.core.table.union import ReleasedCells, together

    before, (frequency, recoding) = count.schema, recoding.leaving(count.frequency)
    names = [attribute.name for attribute in schema.quasi]
    if (
        names != [attribute.name for attribute in before.quasi]
        or any(a.kind != "category" or a.hierarchy is not None for a in schema.quasi)
        or schema.sensitive != before.sensitive
        or any(attribute.name in anew for attribute in schema.sensitive)
        or schema.null_values != before.null_values
        or (joint and frequency.joint is None)
        # The values of rows that came in suppressed are not counted by key.
        or (starred and frequency.suppressed)
    ):
        return None
    columns: ReleasedCells = []
    suppressed = np.full(frequency.keys, not starred)
    for attribute, cells in zip(schema.quasi, recoding.cells, strict=True):
        positions, labels = cells.released
        numbers = positions[cells.codes]
        suppressed &= np.array([label == SUPPRESSED for label in labels], np.bool_)[numbers]
        # A text that means missing means it in the release, too.
        means = null_values_of(attribute.nulls(schema.null_values)).mean
        columns.append((numbers, [None if means(label) else label for label in labels]))
    source = frequency if joint else replace(frequency, joint=None)
    return together([(columns, ~suppressed, source)], schema)[0]


class FilesEngine(ScanEngine):
    """Parquet and CSV files (see `incrowd.engines.Engine`).

    DuckDB groups the rows, within its share of the memory and beyond that on disk, and what is kept are the
    distinct keys. Keys stand in the order of their first row. What DuckDB would read otherwise than Polars
    (times of nanoseconds with a zone, wide integers) is grouped by Polars, and so are rows that are computed.
    """

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Say whether `table` is a set of opened files."""
        from incrowd.core.io.streams import Files

        return isinstance(table, Files)

    def __init__(
        self, table: Files, settings: EngineSettings | None = None, treated: Sequence[TreatedColumn] = ()
    ) -> None:
        super().__init__(table.frame, settings, treated)
        self.files, self.partitions = table, table.partitions
        self._running: SpilledRows | None = None

    @property
    def sources(self) -> Sequence[object]:
        """The files."""
        return self.files.sources

    def interrupt(self) -> None:
        """Give up the query that runs."""
        if (running := self._running) is not None:
            running.interrupt()

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> Counted:
        """Count the rows (see `Engine.count`)."""
        schema.check_columns(self.columns)
        if self.files.recoded is not None and target is None:
            released: FrequencyTable | None = self.files.recoded(
                schema, joint=joint, starred=self.settings.starred
            )
            if released is not None:
                return Unwritten(self, schema, released)
        options: dict[str, Any] = {"joint": joint, "target": target, "starred": self.settings.starred}
        roles = ("quasi", "sensitive", "person", "household", "weight")
        read_names = [a.name for a in schema.attributes if a.role in roles]
        read_names += [target] if target in self.columns else []
        # DuckDB knows no upper case in names, and has columns of its own by these.
        names = {*(name.lower() for name in self.columns), "file_index", "file_row_number"}
        clash = len(names) < len(self.columns) + 2 or "" in names
        alike = all(reads_alike(self.types[name], schema.null_values) for name in read_names)
        if self.files.stored is None or clash or not alike:
            with self._reading(read_names):
                rows = StreamedRows.of_frame(self.frame, self.types, schema)
                frequency, keys = fold(rows, schema, self.columns, **options)
        else:
            values = Values(self.types, schema.null_values)
            with SpilledRows.opened(self.files, values, read_names, self.settings.progress) as spilled:
                self._running = spilled
                try:
                    frequency, keys = fold(spilled, schema, self.columns, **options)
                finally:
                    self._running = None
        return StreamedCount(self, schema, frequency, keys, self._release)

    def _release(self, count: StreamedCount, schema: Schema, recoding: Recoding) -> Released:
        """Recode the rows while streaming, file by file (see `Counted.apply`).

        Until they are written, what is released is counted by recoding the keys: going over all rows for it
        takes longer than writing them, and what was written is counted anew in any case.
        """
        assert isinstance(count.rows, FilesEngine)
        cells, files = KeyedCells.of_recoding(schema, recoding), count.rows.files
        anew = {each.name for each in count.rows.treated_columns}
        anew -= {each.name for each in self.treated_columns}
        # The files are kept as long as rows are computed from them.
        released = replace(
            files,
            frame=count.recoded(files.frame, schema, cells),
            parts=tuple(count.recoded(part, schema, cells) for part in files.parts),
            stored=None,
            partitions={},
            kept=files,
            recoded=partial(_recode_counts, replace(count, schema=schema), recoding, anew),
        )
        in_short = count.in_short(schema, cells)

        def reordered(order: RandomOrder) -> Files:
            """Put the rows of all files in a common random order on writing."""
            from incrowd.core.io.shuffle import ShuffledRows

            rows, with_texts = in_short
            shuffled = ShuffledRows(rows, order, files.memory, with_texts)
            return replace(released, frame=shuffled.lazy(), shuffled=shuffled)

        return Released(released, reordered, count.places_that_leave(recoding))

    def treated(self, columns: Sequence[TreatedColumn]) -> FilesEngine:
        """Treat columns while the rows stream, file by file (see `Engine.treated`)."""
        placed = any(each.by_row for each in columns)
        files, types = self.files.parts, self.types
        treatments = treat_whole(pl.concat(files) if placed else self.frame, columns)
        starts = [0] * len(files)
        if placed:
            # Rows of all files have places of their own, so no two share what is drawn.
            lengths = pl.collect_all([part.select(pl.len()) for part in files[:-1]])
            starts = [0, *accumulate(int(length.item()) for length in lengths)]
        parts = tuple(
            treated(part, types, treatments, start) for part, start in zip(files, starts, strict=True)
        )
        # What is drawn has to be the same whether the rows are written to one file or to several.
        frame = pl.concat(parts) if placed else treated(self.frame, types, treatments)
        moved = replace(self.files, frame=frame, parts=parts, stored=None, kept=self.files)
        return FilesEngine(moved, self.settings, columns)

    def type_of(self, column: str) -> None:
        """Return None: texts stay texts."""

    def some_rows(self, columns: Sequence[str], share: float) -> pl.DataFrame:
        """Return some columns of a share of the rows (see `Engine.some_rows`)."""
        with self._reading(columns):
            return super().some_rows(columns, share)

    def lone_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are unique in some columns, and name a damaged file."""
        with self._reading(columns):
            return super().lone_rows(columns)

    def _reading(self, names: Sequence[str]) -> AbstractContextManager[None]:
        """Say which file is damaged where Polars cannot read some columns."""
        from incrowd.core.io.streams import reading

        return reading(self.files, names)

    def people_of_cells(self, count: Counted, question: CellQuestion) -> CellPeople:
        """Group alike rows of each person while the files stream (see `Engine.people_of_cells`)."""
        with self._reading([*(domain.name for domain in count.frequency.domains), *question.person]):
            return super().people_of_cells(count, question)

    def writes_folder(self, target: Path) -> bool:
        """Say whether a target is a folder, for a file for every file."""
        from incrowd.core.io.targets import is_folder

        return is_folder(target)

    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Files:
        """Write a single file, or into a folder as many files as were read (see `Engine.write`).

        Files of a folder are numbered, since names may tell what is not released. Rows in a random order are
        dealt out to files of one length.
        """
        from incrowd.core.io.streams import cut_batches, scan, stream_batches, stream_table

        folder, shuffled, parts = self.writes_folder(target), self.files.shuffled, self.files.parts
        with self._reading(self.columns):
            if shuffled is None and folder:
                self._write_each(parts, stream_table, path, csv_format)
            elif shuffled is None:
                stream_table(self.frame, path, target, csv_format)
            else:
                with shuffled.opened() as (count, batches):
                    if folder:
                        edges = [count * part // len(parts) for part in range(len(parts) + 1)]
                        runs = cut_batches(batches, [stop - start for start, stop in pairwise(edges)])
                        self._write_each(runs, stream_batches, path, csv_format)
                    else:
                        stream_batches(batches, path, target, csv_format)
        return scan(path, csv_format, memory=self.files.memory, written=True)

    def _write_each(
        self,
        parts: Iterable[T],
        write: Callable[[T, Path, Path, CsvFormat], None],
        folder: Path,
        csv_format: CsvFormat,
    ) -> None:
        """Write numbered files, as many as there are."""
        ending = "parquet" if self.files.csv_format is None else "csv"
        for number, part in enumerate(parts):
            name = Path(f"part-{number:05}.{ending}")
            write(part, folder / name, name, csv_format)
            self.settings.progress.advance(number + 1, len(self.files.parts))
