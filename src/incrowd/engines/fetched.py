"""Engines whose rows another system groups, and which fetch the distinct combinations."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.engines.base import EngineSettings
from incrowd.engines.grouped import (
    CELL,
    CHANGED,
    PERSON,
    ROWS,
    UNCOUNTED,
    GroupedEngine,
    PeopleAsked,
    PeopleTold,
    TooManyKeysError,
)
from incrowd.errors import TableError
from incrowd.io.columns import column_named, columns_named

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.engines.base import Engine
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable
    from incrowd.table.schema import Schema
    from incrowd.table.treated_columns import TreatedColumn

__all__ = ["FetchedEngine", "PeopleFetched"]


class PeopleFetched(NamedTuple):
    """What another system tells of people, in frames of values as they are there.

    Attributes
    ----------
    listed
        Quasi-identifiers, sensitive attributes and `PERSON`: all rows of everybody whose rows are not alike.
        The numbers are in an order that follows from the names.
    alike
        Per list that was asked the quasi-identifiers, its sensitive attributes and `ROWS`: how many others
        there are, each row without a name among them.
    people, rows
        People with a name, and their rows.
    unnamed
        Rows without a name.
    """

    listed: pl.DataFrame
    alike: Sequence[pl.DataFrame]
    people: int
    rows: int
    unnamed: int


class FetchedEngine(GroupedEngine):
    """Rows that another system groups, of which the distinct combinations are fetched.

    Such rows have no order, so keys stand in the order of their values. The values that were met first
    are those of all groupings: should a later one bring others, the table was changed meanwhile, and that
    is refused.
    """

    in_order = False

    def __init__(self, table: Any, settings: EngineSettings | None = None) -> None:
        super().__init__(table, settings)
        # The keys as they were fetched, before missing values and the like were made the same.
        self._fetched: pl.DataFrame | None = None
        self._fetched_rows = 0
        # What is treated before rows are counted, and what is treated when they leave.
        self._treated: tuple[TreatedColumn, ...] = ()
        self._leaving: tuple[TreatedColumn, ...] = ()

    @abstractmethod
    def raw_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows by some columns, as they are, and fetch the distinct combinations.

        Returns
        -------
        The columns' values with a Polars type as a frame in memory would have it, and `ROWS`: int64.

        Raises
        ------
        TooManyKeysError
            When there are more than `driver_keys`; they are counted where they are, before any is fetched.
        """

    def combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows by some columns, of which some are treated; see `raw_combinations`."""
        treated = [column for column in self._treated if column.name in names]
        if not treated:
            return self.raw_combinations(names)
        beside = [name for column in treated for name in column.columns]
        raw = self.raw_combinations(list(dict.fromkeys([*names, *beside])))
        columns = columns_named(names)
        made = raw.with_columns(column.of(raw) for column in treated)
        return made.group_by(columns).agg(column_named(ROWS).sum()).select(*columns, ROWS)

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns where they are; see `Engine.values_of`."""
        counted = self.raw_combinations(columns)
        return counted.drop(ROWS), counted[ROWS].to_numpy()

    def treated(self, columns: Sequence[TreatedColumn]) -> FetchedEngine:
        """Treat combinations when they are fetched, and rows when they leave; see `Engine.treated`.

        Raises
        ------
        TableError
            When a column is a quasi-identifier, by whose values rows are found, or needs random numbers: rows
            that have no order would get others whenever they are asked for.
        """
        self._refuse_whole(columns)
        for column in columns:
            where = f"column {column.name!r}: {column.treatment.name}"
            if column.attribute.role == "quasi":
                raise TableError(
                    f"{where}: a quasi-identifier of {self.whose} cannot be treated yet; fetch the rows "
                    "into a frame or a file, or give it a hierarchy"
                )
            if column.treatment.is_random:
                raise TableError(
                    f"{where} is random, and rows of {self.whose} have no order by which what is drawn would "
                    "stay the same; fetch the rows into a frame or a file"
                )
        moved = copy.copy(self)
        moved._treated = tuple(columns)
        return moved

    def with_rows(self, other: Engine) -> FetchedEngine:
        """Keep what was counted; see `Engine.with_rows`."""
        assert isinstance(other, FetchedEngine)
        moved = copy.copy(self)
        moved._leaving = other._treated
        return moved

    def lookup(self, column: TreatedColumn) -> pl.DataFrame:
        """Return what the values of a column become: a row for each combination with what is beside it.

        Returns
        -------
        The values of ``column.columns`` as they are fetched, and the treated value (`CELL`).
        """
        raw = self.raw_combinations(column.columns).drop(ROWS)
        return raw.with_columns(column.of(raw).alias(CELL.format(column.name)))

    def _check_keys(self, found: int, names: Sequence[str]) -> None:
        """Refuse more combinations than may be fetched."""
        if found > self.settings.driver_keys:
            raise TooManyKeysError.of(found, self.settings.driver_keys, names)

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> FrequencyTable:
        """Count the rows; see `Engine.count`."""
        self._fetched = None
        self._types, self._values = {}, {}
        return super().count(schema, joint=joint, target=target)

    def recoded_keys(self, schema: Schema, recoding: Recoding) -> pl.DataFrame:
        """Return what the rows are joined with: every fetched combination of quasi-identifiers, each once.

        Returns
        -------
        The quasi-identifiers' values as they were fetched, and the released text of each (`CELL`).
        """
        if self._fetched is None:
            raise TableError(UNCOUNTED)
        names = [attribute.name for attribute in schema.quasi]
        found = self._with_cells(self._fetched.lazy(), schema, recoding)
        return found.select(columns_named([*names, *map(CELL.format, names)])).collect()

    def _look(self, names: Sequence[str], null_values: tuple[str, ...]) -> None:
        """Leave it to the groupings, which bring the values."""

    def reduced(
        self, names: Sequence[str], own: Sequence[str], lists: Sequence[Sequence[str]], schema: Schema
    ) -> PeopleFetched | None:
        """Let the other system tell who has unlike rows, and count everybody else by quasi-identifiers.

        Parameters
        ----------
        names, own
            The quasi-identifiers and the sensitive attributes.
        lists
            The sensitive attributes of each list of those whose rows are alike.

        Returns
        -------
        None where it cannot tell.
        """
        return None

    def _grouped(self, names: Sequence[str], null_values: tuple[str, ...]) -> pl.DataFrame:
        raw = self.combinations(names)
        rows = int(raw[ROWS].sum())
        if self._fetched is None:
            self._fetched = raw.select(columns_named(names))
            self._fetched_rows = rows
        if rows != self._fetched_rows:
            raise TableError(CHANGED)
        columns = columns_named(names)
        coded = self._known(raw, names, null_values)
        return coded.group_by(columns).agg(column_named(ROWS).sum()).sort(columns).collect()

    def _known(self, raw: pl.DataFrame, names: Sequence[str], null_values: tuple[str, ...]) -> pl.LazyFrame:
        """Turn values into codes; those that were met first are all that there may be."""
        for name in names:
            self._types.setdefault(name, raw.schema[name])
            found = raw.select(self._cleaned(name, null_values).unique().alias("")).to_series().sort()
            known = self._values.setdefault((name, null_values), found)
            if not found.is_in(known.implode(), nulls_equal=True).all():
                raise TableError(CHANGED)
        return self._coded(raw.lazy(), names, null_values)

    def _told(self, asked: PeopleAsked) -> PeopleTold | None:
        """Read what the other system tells of people; see `GroupedEngine._told`."""
        if any(column.name in asked.own for column in self._treated):
            # The other system knows the values before alone.
            return None
        found = self.reduced(asked.names, asked.own, asked.lists, asked.schema)
        if found is None:
            return None
        if found.rows + found.unnamed != self._fetched_rows:
            raise TableError(CHANGED)
        null_values = asked.schema.null_values

        def read(raw: pl.DataFrame, own: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.integer]]:
            columns = [*asked.names, *own, *(name for name in raw.columns if name == PERSON)]
            coded = self._known(raw, [*asked.names, *own], null_values)
            # The same table gives the same order of people, wherever it is.
            grouped = coded.sort(columns_named(columns)).collect()
            return grouped, self._keys_of(grouped, asked.names, asked.key_of)

        return PeopleTold(
            read(found.listed, asked.own),
            [read(raw, own) for raw, own in zip(found.alike, asked.lists, strict=True)],
            found.people,
            found.unnamed,
            found.rows > found.people,
        )
