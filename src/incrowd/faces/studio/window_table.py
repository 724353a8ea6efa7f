"""The open table of a window, and the choices about columns."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InputError, TableError
from incrowd.core.hierarchy import Hierarchy, builder_from_spec
from incrowd.core.hierarchy.formats import kept_as
from incrowd.core.io.addresses import is_scan
from incrowd.core.io.files import CsvFormat, write_table
from incrowd.core.io.kinds import KINDS
from incrowd.core.io.kinds.files import kind_of
from incrowd.core.io.scratch import PrivateFolder
from incrowd.core.io.streams import Files
from incrowd.core.lazy import pl
from incrowd.core.progress import Silent
from incrowd.engines import open_table
from incrowd.faces.studio.choices import Choices, choices_for
from incrowd.faces.studio.history import History, State
from incrowd.faces.studio.tables import Column, Source, called, copied, counted, path_of, plain_name
from incrowd.faces.studio.trees import TreeEditor
from incrowd.faces.studio.values import counts_of, refuse_prompts
from incrowd.release.linked.folders import plain_files
from incrowd.release.policy.policy import Policy

if TYPE_CHECKING:
    from incrowd.core.progress import Progress

_SAMPLE_ROWS = 2_000
_STREAMED = 128 * 2**20
"""Bytes of a file from which its rows stream."""
_PLAIN = (".csv.gz", ".csv", ".tsv", ".txt", ".toml", ".zip", ".parquet")
_SUFFIXES = (*_PLAIN, *(suffix for kind in KINDS for suffix in kind.suffixes))


class WindowTable:
    """A table, the choices, and the private files of a window.

    Whatever reads a table, a policy or a file raises `InputError`.

    Parameters
    ----------
    given
        A policy file as plain data and its path, where the command named one.
    """

    history: History

    def __init__(self, given: tuple[dict[str, Any], Path] | None = None) -> None:
        self._given = given
        self.name = secrets.token_hex(4)
        self.policy_name = None if given is None else str(given[1])
        self._private = PrivateFolder()
        self._number = 0
        self.source: Source | None = None
        self.table: Any = None
        self.streams = False
        self.height = 0
        self._rows: pl.LazyFrame | None = None
        self.csv_format: CsvFormat | None = None
        self.columns: list[Column] = []
        self.choices: Choices | None = None
        self.population: str | None = None

    @property
    def chosen(self) -> Choices:
        """The choices, which are there once a table is open."""
        assert self.choices is not None
        return self.choices

    # --- the table --------------------------------------------------------------------------------

    def place(self, suffix: str) -> Path:
        """Return a new path among the window's files."""
        self._number += 1
        return self._private.path / f"{self._number:04d}{suffix}"

    def upload(self, name: str) -> Source:
        """Return the place for an uploaded file, with a name for display that is no part of the path."""
        suffix = next((each for each in _SUFFIXES if name.lower().endswith(each)), ".csv")
        return Source(self.place(suffix), plain_name(name, suffix))

    def upload_several(self, names: Sequence[str]) -> tuple[Source, list[Path]]:
        """Return a folder for files that are uploaded together, and the place of each."""
        given, folder = plain_files(names), self.place("")
        folder.mkdir(0o700)
        return Source(folder, "tables"), [folder / name for name in given]

    def sample(self) -> Source:
        """Make the built-in sample."""
        from incrowd.samples import hospital

        path = self.place(".csv")
        write_table(hospital(_SAMPLE_ROWS), path, path, CsvFormat())
        return Source(path, "people.csv", sample=True)

    def open(
        self, source: Source, csv_format: CsvFormat | None = None, progress: Progress | None = None
    ) -> None:
        """Read a table and draft a policy, and forget the table before on success.

        Rows of folders, patterns and large files stream: they are read when they are needed.
        """
        if source.database is not None:
            copied(source, progress or Silent())
        many = is_scan(source.path)
        large = source.path.is_file() and source.path.stat().st_size > _STREAMED
        streams = many or (large and kind_of(source.path) is None)
        with called(source.path, source.name):
            table, csv_format = open_table(source.path, csv_format, stream=streams, progress=progress)
        lazy = table.frame if isinstance(table, Files) else table.lazy()
        height, columns = counted(lazy, estimate=streams)
        if not height:
            raise TableError(f"{source.name}: the table has no rows")
        choices = self._choices_for(table, height, source, csv_format)
        self.source, self.table, self.csv_format = source, table, csv_format
        self.streams, self._rows, self.height = streams, lazy, height
        self.columns, self.choices = columns, choices
        self.history = History(State(choices, self.population))

    def _choices_for(
        self, table: pl.DataFrame | Files, height: int, source: Source, csv_format: CsvFormat | None
    ) -> Choices:
        given = None if self._given is None else (*self._given, str(self.policy_name))
        return choices_for(table, height, source, csv_format, given, self._private.path)

    def rows(self, start: int, count: int) -> pl.DataFrame:
        """Return some rows of the raw table."""
        assert self._rows is not None
        return self._rows.slice(start, count).collect(engine="streaming")

    def counts(self, name: str) -> dict[str, int]:
        """Count the values of a column in the form for the hierarchy; see `counts_of`."""
        return counts_of(self.table, self.chosen.document, self.chosen.folder, name)

    # --- hierarchies ------------------------------------------------------------------------------

    def editor(self, name: str) -> TreeEditor:
        """Return the hierarchy of a column over the values, for editing.

        A column that has none begins with the value or ``*``. It is an error when the recipe does not fit
        the values, or when these cannot be read.
        """
        counts = self.counts(name)
        spec = self.chosen.columns[name].get("hierarchy")
        if isinstance(spec, str):
            return TreeEditor(Hierarchy.read(self.chosen.folder / path_of(spec)), counts)
        builder = Hierarchy.flat() if spec is None else builder_from_spec(spec)
        return TreeEditor(builder.build(list(counts), name), counts)

    def examples(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the cells of the most frequent value of each column, level by level.

        Columns whose tree is only known later are left out.
        """
        paths = {}
        for name in names:
            with suppress(InputError):
                if (path := self.editor(name).most_frequent()) is not None:
                    paths[name] = path
        return paths

    def keep_tree(self, name: str, tree: Hierarchy) -> None:
        """Make a tree the hierarchy of a column, with a file among the window's files."""
        path = self.place(kept_as(tree))
        with called(path, "the tree"):
            tree.write(path)
        self.chosen.columns[name]["hierarchy"] = str(path)

    def is_edited(self, spec: Any) -> bool:
        """Say whether a hierarchy was edited on this page."""
        return isinstance(spec, str) and Path(spec).is_relative_to(self._private.path)

    # --- searches ----------------------------------------------------------------------------------

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        """Open the searched table: the loaded table, or the database table that `table` is a copy of."""
        assert self.source is not None
        if self.source.database is None:
            yield self.table
            return
        from incrowd.engines.sql.databases import Database

        assert self.source.table is not None
        with Database(self.source.database) as database:
            yield database.table(self.source.table)

    @property
    def _beside(self) -> dict[str, Any]:
        """The common arguments of every search beside table and policy."""
        return {"population": self.population, "csv_format": self.csv_format}

    def policy(self, document: dict[str, Any] | None = None) -> Policy:
        """Return the current policy, or the policy of a document.

        A treatment that would ask for its key is refused.
        """
        chosen = self.chosen
        policy = (chosen if document is None else replace(chosen, document=document)).policy()
        refuse_prompts(policy.schema)
        return policy
