"""Engines whose rows another system groups, and which fetch the distinct combinations."""

from __future__ import annotations

import copy
import secrets
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.engines.base import EngineSettings
from incrowd.engines.grouped import (
    CELL,
    CHANGED,
    KEY,
    PERSON,
    ROWS,
    UNCOUNTED,
    GroupedEngine,
    PeopleAsked,
    TooManyKeysError,
    added_up,
)
from incrowd.engines.keyed_cells import KeyedCells
from incrowd.errors import TableError
from incrowd.io.columns import column_named, columns_named, nameless

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.engines.base import Engine
    from incrowd.engines.plan import ReducedPeople
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable, People
    from incrowd.table.people import PersonRows
    from incrowd.table.schema import Schema
    from incrowd.table.treated_columns import TreatedColumn

__all__ = ["NUMBER", "FetchedEngine", "joined_by"]

NUMBER = "\0number"
"""Counts rows of the same values."""


def _texts_of(raw: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return a column of fetched combinations; of one of categories the distinct ones alone, as texts."""
    import polars as pl

    column = column_named(name)
    is_held = isinstance(raw.schema[name], pl.Categorical)
    return raw.select(column.unique().cast(pl.String)) if is_held else raw.select(column)


def _by_category(met: pl.Series, codes: pl.Series, column: pl.Expr) -> pl.Expr:
    """Return the codes of a column of categories.

    Parameters
    ----------
    met
        Its distinct categories, the missing one perhaps among them.
    codes
        The code of each.
    """
    import numpy as np
    import polars as pl

    if codes.null_count():
        raise TableError(CHANGED)
    known = met.is_not_null()
    places = met.filter(known).to_physical().to_numpy()
    table = np.zeros(int(places.max(initial=0)) + 1, codes.to_numpy().dtype)
    table[places] = codes.filter(known).to_numpy()
    found = pl.lit(pl.Series(table)).gather(column.to_physical().cast(pl.get_index_type()))
    missing = codes.filter(~known)
    return found.fill_null(pl.lit(missing[0], dtype=codes.dtype)) if len(missing) else found


def joined_by(rows: pl.DataFrame, table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Join rows with a table by some columns, missing values being equal; return its further columns."""
    places = [f"\0by {place}" for place in range(len(names))]
    renamed = dict(zip(names, places, strict=True))
    others = [name for name in table.columns if name not in renamed]
    left = rows.select(columns_named(names)).rename(renamed)
    right = table.rename(renamed)
    joined = left.join(right, on=places, how="left", nulls_equal=True, maintain_order="left")
    return joined.select(columns_named(others))


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
        self._drawn: pl.DataFrame | None = None
        # Columns by which rows are told apart that are drawn; the order is that of one job.
        self._within: tuple[str, ...] = ()
        self._shuffle = secrets.randbits(128)

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

    def compact_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Do what `raw_combinations` does; texts may come as categories."""
        return self.raw_combinations(names)

    def combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows by some columns, of which some are treated; see `raw_combinations`."""
        treated = self.treated_of(names)
        if not treated:
            return self.compact_combinations(names)
        beside = [name for column in treated for name in column.columns]
        raw = self.raw_combinations(list(dict.fromkeys([*names, *beside])))
        return added_up(raw.with_columns(column.of(raw) for column in treated), names)

    def beside(self, raw: Sequence[str], names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Group the rows by some columns as they are and others as they are treated; see `combinations`.

        Returns
        -------
        The former, and the latter with `ROWS`, row by row.
        """
        treated = self.treated_of(names)
        read = [*raw, *names, *(name for column in treated for name in column.columns)]
        found = self.raw_combinations(list(dict.fromkeys(read)))
        made = found.select(columns_named([*names, ROWS])).with_columns(
            column.of(found) for column in treated
        )
        return found.select(columns_named(raw)), made

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns where they are; see `Engine.values_of`."""
        counted = self.raw_combinations(columns)
        return counted.drop(ROWS), counted[ROWS].to_numpy()

    def treated(self, columns: Sequence[TreatedColumn]) -> FetchedEngine:
        """Treat combinations when they are fetched, and rows when they leave; see `Engine.treated`."""
        moved = copy.copy(self)
        moved._treated = tuple(columns)
        return moved

    def with_rows(self, other: Engine) -> FetchedEngine:
        """Keep what was counted; see `Engine.with_rows`."""
        assert isinstance(other, FetchedEngine)
        moved = copy.copy(self)
        moved._leaving = tuple(each for each in other._treated if each.attribute.role != "quasi")
        moved._drawn = None
        return moved

    def drawn_within(self, schema: Schema) -> FetchedEngine:
        """Tell rows of other keys apart when they are drawn; see `Engine.drawn_within`."""
        moved = copy.copy(self)
        moved._within, moved._drawn = tuple(self.keyed_by(schema)), None
        return moved

    def places_of(
        self, schema: Schema, frequency: FrequencyTable, keys: NDArray[np.bool_]
    ) -> NDArray[np.int64] | None:
        """Look up the keys of the rows as they are drawn; see `Engine.places_of`."""
        import numpy as np

        keyed = self.keyed_by(schema)
        table = self._recoded(schema, lambda _, key: column_named(key))
        found = joined_by(self.drawn().select(columns_named(keyed)), table, keyed).to_series()
        return np.flatnonzero(np.append(keys, False)[found.cast(int).fill_null(-1).to_numpy()])

    def lookup(self, column: TreatedColumn) -> pl.DataFrame:
        """Return what the values of a column become: a row for each combination with what is beside it.

        Returns
        -------
        The values of ``column.columns`` as they are fetched, and the treated value (`CELL`).
        """
        raw = self.raw_combinations(column.columns).drop(ROWS)
        return raw.with_columns(column.of(raw).alias(CELL.format(column.name)))

    @property
    def by_value(self) -> list[TreatedColumn]:
        """The columns that leave treated, and whose values follow from those before; see `lookup`."""
        return [column for column in self._leaving if not column.by_row]

    @property
    def by_row(self) -> list[TreatedColumn]:
        """The columns that leave treated, and whose values do not follow from those before; see `drawn`."""
        return [column for column in self._leaving if column.by_row]

    @property
    def drawn_from(self) -> list[str]:
        """The columns that `by_row` look at, themselves among them, and those that tell rows apart."""
        looked = (name for column in self.by_row for name in column.columns)
        return list(dict.fromkeys([*looked, *self._within]))

    def drawn_order(self, names: Sequence[str]) -> list[str]:
        """Return some columns, and those that say whose row it is, in the order by which rows are numbered.

        Rows are numbered alike whether or not the latter are among the columns, so they come last.
        """
        whose = dict.fromkeys(name for column in self.by_row for name in column.person)
        return [*(name for name in dict.fromkeys(names) if name not in whose), *whose]

    def drawn(self) -> pl.DataFrame:
        """Return what the columns of `by_row` become, a row for each row of the table.

        Rows that are alike in `drawn_from` cannot be told apart by a treatment. So each of them, in whatever
        order, gets one of as many results as there are such rows. All rows stand here in a random order when
        they are treated, so it does not matter which gets which.

        Returns
        -------
        The values of `drawn_from` as they are fetched, a number that counts the rows of the same values from
        1 on (`NUMBER`), and what they become (`CELL`). It is the same whenever it is asked for.
        """
        if self._drawn is None:
            self._drawn = self._draw()
        return self._drawn

    def _draw(self) -> pl.DataFrame:
        import numpy as np
        import polars as pl

        names = self.drawn_from
        raw = self.raw_combinations(names)
        records = raw[ROWS].to_numpy()
        if self._fetched is not None and int(records.sum()) != self._fetched_rows:
            raise TableError(CHANGED)
        places = np.random.default_rng(self._shuffle).permutation(np.repeat(np.arange(len(raw)), records))
        rows = raw.select(columns_named(names))[places]
        made = [
            column.of(rows, column.draws.numbers(0, len(rows)) if column.treatment.is_random else None).alias(
                CELL.format(column.name)
            )
            for column in self.by_row
        ]
        numbers = pl.DataFrame({"place": places}).select(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("place").alias(NUMBER)
        )
        return pl.concat([rows, numbers, pl.DataFrame(made)], how="horizontal")

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
        """Return what the rows are joined with: every fetched combination of `keyed_by`, each once.

        Returns
        -------
        The values as they were fetched, and the released text of each quasi-identifier (`CELL`).
        """
        return self._recoded(schema, KeyedCells.of(schema, recoding).streamed)

    def numbered_keys(self, schema: Schema, recoding: Recoding) -> tuple[pl.DataFrame, list[pl.Series]]:
        """Return what `recoded_keys` does, with numbers in the place of texts, and the texts of each column.

        A text that no key has is missing.
        """
        cells = KeyedCells.of(schema, recoding)
        texts = [cells.columns[attribute.name][1] for attribute in schema.quasi]
        return self._recoded(schema, cells.numbered), texts

    def _recoded(self, schema: Schema, looked_up: Callable[[str, str], pl.Expr]) -> pl.DataFrame:
        """Look up the cells of every fetched combination; see `recoded_keys`."""
        import polars as pl

        if self._fetched is None:
            raise TableError(UNCOUNTED)
        names = [attribute.name for attribute in schema.quasi]
        cells = [CELL.format(name) for name in names]
        found = self._keyed_rows(self._fetched.lazy(), names, schema.null_values).with_columns(
            looked_up(name, KEY).alias(cell) for name, cell in zip(names, cells, strict=True)
        )
        recoded = found.select(columns_named([*names, *cells])).collect()
        treated = self.treated_of(names)
        if not treated:
            return recoded
        # Rows are found by their values before they were treated.
        keyed = self.keyed_by(schema)
        raw = self.raw_combinations(keyed)
        if int(raw[ROWS].sum()) != self._fetched_rows:
            raise TableError(CHANGED)
        made = raw.select(columns_named(names)).with_columns(column.of(raw) for column in treated)
        joined = joined_by(made, recoded, names)
        return pl.concat(
            [raw.select(columns_named(keyed)), joined.select(columns_named(cells))], how="horizontal"
        )

    def keyed_by(self, schema: Schema) -> list[str]:
        """Return the columns whose values tell what a row's quasi-identifiers become, those first."""
        names = [attribute.name for attribute in schema.quasi]
        beside = [name for column in self.treated_of(names) for name in column.columns]
        return list(dict.fromkeys([*names, *beside]))

    def treated_of(self, names: Sequence[str]) -> list[TreatedColumn]:
        """Return those of some columns that are treated before rows are counted."""
        return [column for column in self._treated if column.name in names]

    def _look(self, names: Sequence[str], null_values: tuple[str, ...]) -> None:
        """Leave it to the groupings, which bring the values."""

    def reduced(
        self, names: Sequence[str], own: Sequence[str], lists: Sequence[Sequence[str]], schema: Schema
    ) -> ReducedPeople | None:
        """Let the other system tell who has unlike rows, and count everybody else by quasi-identifiers.

        Parameters
        ----------
        names, own
            The quasi-identifiers and the sensitive attributes.
        lists
            The sensitive attributes of each list of those whose rows are alike.

        Returns
        -------
        As `incrowd.engines.plan.PeoplePlan.reduced`, in which the keys are the quasi-identifiers.
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
            values = _texts_of(raw, name)
            self._types.setdefault(name, values.schema[name])
            found = values.select(self._cleaned(name, null_values).unique().alias("")).to_series().sort()
            known = self._values.setdefault((name, null_values), found)
            if not found.is_in(known.implode(), nulls_equal=True).all():
                raise TableError(CHANGED)
        return self._coded(raw.lazy(), names, null_values)

    def _coded(
        self,
        frame: pl.LazyFrame,
        names: Sequence[str],
        null_values: tuple[str, ...],
        form: str = "{}",
        *,
        ordered: bool = False,
    ) -> pl.LazyFrame:
        """Add the places of values; those of categories are looked up category by category."""
        import polars as pl

        kinds = frame.collect_schema()
        held = [name for name in names if isinstance(kinds[name], pl.Categorical)]
        for name in held:
            met = frame.select(column_named(name).unique()).collect()
            texts = met.select(column_named(name).cast(pl.String))
            codes = super()._coded(texts.lazy(), [name], null_values, ordered=True).collect()
            series = nameless(met.to_series()), nameless(codes.to_series())
            frame = frame.with_columns(_by_category(*series, column_named(name)).alias(form.format(name)))
        others = [name for name in names if name not in held]
        return super()._coded(frame, others, null_values, form, ordered=ordered)

    def _listed(self, asked: PeopleAsked) -> tuple[People, PersonRows, list[PersonRows]] | None:
        """Read what the other system finds; see `GroupedEngine._listed`."""
        if any(column.name in (*asked.names, *asked.own) for column in self._treated):
            # The other system knows the values before alone.
            return None
        found = self.reduced(asked.names, asked.own, asked.lists, asked.schema)
        if found is None:
            return None
        from incrowd.table.frequency import People

        listed, alike, (people, unnamed, rows) = found
        if rows != self._fetched_rows:
            raise TableError(CHANGED)

        def read(raw: pl.DataFrame, own: Sequence[str]) -> PersonRows:
            columns = [*asked.names, *own, *(name for name in raw.columns if name == PERSON)]
            coded = self._known(raw, [*asked.names, *own], asked.schema.null_values)
            # The same table gives the same order of people, wherever it is.
            grouped = coded.sort(columns_named(columns)).collect()
            key = self._keys_of(grouped, asked.names, asked.key_of)
            return self._person_rows(asked, grouped, key, own)

        return (
            People(asked.schema.person, people, unnamed),
            read(listed, asked.own),
            [read(raw, own) for raw, own in zip(alike, asked.lists, strict=True)],
        )
