"""Rows that another system groups, of which the distinct combinations are fetched."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from incrowd.core.errors import TableError
from incrowd.core.io.columns import column_named, columns_named, nameless
from incrowd.core.lazy import NDArray, np, pl
from incrowd.engines.base import Counted, Engine, EngineSettings, Released
from incrowd.engines.fold import (
    CELL,
    CHANGED,
    KEY,
    PERSON,
    ROWS,
    CodedPeople,
    GroupedRows,
    Keys,
    Lines,
    TooManyKeysError,
    Values,
    added_up,
    fold,
)
from incrowd.engines.key_lookup import KeyedCells

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.treated_columns import TreatedColumn
    from incrowd.engines.plan import ReducedPeople

NUMBER = "\0number"
"""Counts rows of the same values."""


_Fetch = Callable[[Sequence[str]], "pl.DataFrame"]
_Reduce = Callable[[Sequence[str], Sequence[str], Sequence[Sequence[str]], "Schema"], "ReducedPeople | None"]


@dataclass(frozen=True, eq=False)
class Combinations:
    """The distinct combinations of values of a table, of which some columns are treated once fetched.

    Attributes
    ----------
    fetch
        Groups the rows by some columns, as they are, and fetches the combinations: the columns' values with a
        Polars type as a frame in memory would have it, and `ROWS`, int64. Texts may come as categories. It
        refuses more than `driver_keys` before any is fetched.
    treated
        The columns that are treated.
    reduced
        Lets the other system tell who has unlike rows, and count everybody else. It is given the
        quasi-identifiers, the sensitive attributes, and the sensitive attributes of each list of those whose
        rows are alike. It returns None where it cannot tell.
    """

    fetch: _Fetch
    treated: tuple[TreatedColumn, ...] = ()
    reduced: _Reduce | None = None

    def raw(self, names: Sequence[str]) -> pl.DataFrame:
        """Fetch the row counts by some columns, untreated and with plain texts (see `fetch`)."""
        return plain(self.fetch(names))

    def of(self, names: Sequence[str]) -> pl.DataFrame:
        """Fetch the row counts by some columns, with the treated columns applied (see `fetch`)."""
        treated = self.treated_of(names)
        if not treated:
            return self.fetch(names)
        raw = self.raw(self.keyed_by(names))
        return added_up(raw.with_columns(column.of(raw) for column in treated), names)

    def beside(self, raw: Sequence[str], names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Fetch the row counts by untreated columns and by columns after treatment (see `of`).

        Returns
        -------
        The former, and the latter with `ROWS`, row by row.
        """
        groups = self.raw(list(dict.fromkeys([*raw, *self.keyed_by(names)])))
        values = groups.select(columns_named([*names, ROWS]))
        values = values.with_columns(column.of(groups) for column in self.treated_of(names))
        return groups.select(columns_named(raw)), values

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Count the values of columns, treated columns included (see `Engine.values_of`)."""
        treated = self.treated_of(columns)
        if any(column.by_row for column in treated):
            leaving = LeavingColumns(self.raw, None, tuple(treated), tuple(self.keyed_by(columns)))
            rows = leaving.drawn
            values = [column.of(rows) for column in leaving.by_value]
            values += [rows[CELL.format(column.name)].alias(column.name) for column in leaving.by_row]
            groups = added_up(rows.with_columns(*values, pl.lit(1, pl.Int64).alias(ROWS)), columns)
        else:
            groups = plain(self.of(columns))
        return groups.drop(ROWS), groups[ROWS].to_numpy()

    def keyed_by(self, names: Sequence[str]) -> list[str]:
        """Return some columns and the columns that the treatments of `names` read."""
        beside = [name for column in self.treated_of(names) for name in column.columns]
        return list(dict.fromkeys([*names, *beside]))

    def treated_of(self, names: Sequence[str]) -> list[TreatedColumn]:
        """Return the treated columns among `names`."""
        return [column for column in self.treated if column.name in names]


@dataclass(frozen=True, eq=False)
class LeavingColumns:
    """The columns that are treated when rows leave another system.

    Attributes
    ----------
    raw
        Fetches the combinations of some columns; see `Combinations.raw`.
    total
        How many rows were counted; None where none were.
    columns
        The columns, with their treatments.
    within
        Columns by which rows are told apart that are drawn.
    """

    raw: _Fetch
    total: int | None = None
    columns: tuple[TreatedColumn, ...] = ()
    within: tuple[str, ...] = ()
    # The order of rows that are drawn is that of one job.
    _shuffle: int = field(default_factory=lambda: secrets.randbits(128), repr=False)

    def lookup(self, column: TreatedColumn) -> pl.DataFrame:
        """Return a table of the treated value for each combination of the columns that a treatment reads.

        Returns
        -------
        The values of ``column.columns`` as they are fetched, and the treated value (`CELL`).
        """
        raw = self.raw(column.columns).drop(ROWS)
        return raw.with_columns(column.of(raw).alias(CELL.format(column.name)))

    @property
    def by_value(self) -> list[TreatedColumn]:
        """The columns with treated values that follow from the untreated values (see `lookup`)."""
        return [column for column in self.columns if not column.by_row]

    @property
    def by_row(self) -> list[TreatedColumn]:
        """The columns with treated values that differ from row to row (see `drawn`)."""
        return [column for column in self.columns if column.by_row]

    @property
    def drawn_from(self) -> list[str]:
        """The columns that `by_row` read, and the columns that tell rows apart."""
        looked = (name for column in self.by_row for name in column.columns)
        return list(dict.fromkeys([*looked, *self.within]))

    def drawn_order(self, names: Sequence[str]) -> list[str]:
        """Return some columns and then the person columns, in the order for numbering rows.

        Rows are numbered alike whether or not the latter are among the columns, so they come last.
        """
        person = dict.fromkeys(name for column in self.by_row for name in column.person)
        return [*(name for name in dict.fromkeys(names) if name not in person), *person]

    @cached_property
    def drawn(self) -> pl.DataFrame:
        """The treated values of the columns of `by_row`, a row for each row of the table.

        Rows that are alike in `drawn_from` cannot be told apart by a treatment. So each of them, in whatever
        order, gets one of as many results as there are such rows. All rows stand here in a random order when
        they are treated, so it does not matter which gets which.

        The frame has the values of `drawn_from` as they are fetched, a number that counts the rows of the
        same values from 1 on (`NUMBER`), and what they become (`CELL`).
        """
        names = self.drawn_from
        raw = self.raw(names)
        records = raw[ROWS].to_numpy()
        if self.total is not None and int(records.sum()) != self.total:
            raise TableError(CHANGED)
        places = np.random.default_rng(self._shuffle).permutation(np.repeat(np.arange(len(raw)), records))
        rows = raw.select(columns_named(names))[places]
        cells = [
            column.of(rows, column.draws.numbers(0, len(rows)) if column.treatment.is_random else None).alias(
                CELL.format(column.name)
            )
            for column in self.by_row
        ]
        numbers = pl.DataFrame({"place": places}).select(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("place").alias(NUMBER)
        )
        return pl.concat([rows, numbers, pl.DataFrame(cells)], how="horizontal")


def check_keys(count: int, settings: EngineSettings, names: Sequence[str]) -> None:
    """Refuse more combinations than may be fetched.

    Raises
    ------
    TooManyKeysError
    """
    if count > settings.driver_keys:
        raise TooManyKeysError.of_columns(count, settings.driver_keys, names)


@dataclass(frozen=True, eq=False)
class FetchedCount(Counted):
    """Rows that another system groups, counted (see `incrowd.engines.base.Counted`).

    Attributes
    ----------
    release
        What recodes the rows where they are.
    combinations
        Their combinations, treated as they were counted.
    keys
        The keys.
    fetched
        The combinations of the quasi-identifiers as they were fetched, before missing values and the like
        were made the same.
    total
        How many rows there are.
    leaving
        What is treated when rows leave.
    """

    release: Callable[[FetchedCount, Schema, Recoding], Released] = field(repr=False)
    combinations: Combinations = field(repr=False)
    keys: Keys = field(repr=False)
    fetched: pl.DataFrame = field(repr=False)
    total: int
    leaving: LeavingColumns = field(repr=False)

    def apply(self, schema: Schema, recoding: Recoding) -> Released:
        """Recode the rows in the other system (see `Counted.apply`)."""
        return self.release(self, schema, recoding)

    def over(self, rows: Engine, *, apart: bool = False) -> FetchedCount:
        """Treat further columns when rows leave (see `Counted.over`)."""
        columns = tuple(each for each in rows.treated_columns if each.attribute.role != "quasi")
        within = tuple(self.keyed_by) if apart else ()
        return replace(self, rows=rows, leaving=replace(self.leaving, columns=columns, within=within))

    @property
    def keyed_by(self) -> list[str]:
        """The quasi-identifiers and the columns that the treatments of quasi-identifiers read."""
        return self.combinations.keyed_by(self.keys.names)

    def places_of(self, keys: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Look up the keys of the drawn rows (see `Counted.places_of`)."""
        keyed = self.keyed_by
        table = self._recoded(lambda _, key: column_named(key))
        numbers = joined_by(self.leaving.drawn.select(columns_named(keyed)), table, keyed).to_series()
        return np.flatnonzero(np.append(keys, False)[numbers.cast(int).fill_null(-1).to_numpy()])

    @cached_property
    def values_by_key(self) -> pl.DataFrame:
        """The fetched combinations of the quasi-identifiers, and the key of each (`KEY`)."""
        names = self.keys.names
        keyed = self.keys.added(self.fetched.lazy()).select(columns_named([*names, KEY])).collect()
        return keyed.drop_nulls(KEY)

    def recoded_keys(self, schema: Schema, recoding: Recoding) -> pl.DataFrame:
        """Return the table that rows are joined with: every fetched combination of `keyed_by`, each once.

        Returns
        -------
        The values as they were fetched, and the released text of each quasi-identifier (`CELL`).
        """
        return self._recoded(KeyedCells.of_recoding(schema, recoding).streamed)

    def numbered_keys(self, schema: Schema, recoding: Recoding) -> tuple[pl.DataFrame, list[pl.Series]]:
        """Return `recoded_keys` with numbers in the place of texts, and the texts of each column.

        A text that no key has is missing.
        """
        cells = KeyedCells.of_recoding(schema, recoding)
        return self._recoded(cells.numbered), [cells.columns[name][1] for name in self.keys.names]

    def _recoded(self, looked_up: Callable[[str, str], pl.Expr]) -> pl.DataFrame:
        """Look up the cells of every fetched combination (see `recoded_keys`)."""
        names = self.keys.names
        cells = [CELL.format(name) for name in names]
        keyed_rows = self.keys.added(self.fetched.lazy()).with_columns(
            looked_up(name, KEY).alias(cell) for name, cell in zip(names, cells, strict=True)
        )
        recoded = keyed_rows.select(columns_named([*names, *cells])).collect()
        treated = self.combinations.treated_of(names)
        if not treated:
            return recoded
        # Rows are found by their values before they were treated.
        keyed = self.keyed_by
        raw = self.combinations.raw(keyed)
        if int(raw[ROWS].sum()) != self.total:
            raise TableError(CHANGED)
        values = raw.select(columns_named(names)).with_columns(column.of(raw) for column in treated)
        texts = joined_by(values, recoded, names)
        return pl.concat(
            [raw.select(columns_named(keyed)), texts.select(columns_named(cells))], how="horizontal"
        )


def count_fetched(
    engine: Engine,
    combinations: Combinations,
    schema: Schema,
    release: Callable[[FetchedCount, Schema, Recoding], Released],
    *,
    counting: Combinations | None = None,
    joint: bool = False,
    target: str | None = None,
) -> FetchedCount:
    """Count rows that another system groups (see `Engine.count`).

    Parameters
    ----------
    combinations
        The combinations of the rows, as they are treated.
    release
        What recodes the rows.
    counting
        The same while rows are counted, where another way is faster then.
    """
    rows = FetchedRows(counting or combinations, schema.null_values)
    frequency, keys = fold(
        rows, schema, engine.columns, joint=joint, target=target, starred=engine.settings.starred
    )
    assert rows.fetched is not None
    leaving = LeavingColumns(combinations.raw, rows.total)
    return FetchedCount(
        engine, schema, frequency, release, combinations, keys, rows.fetched, rows.total, leaving
    )


class FetchedRows(GroupedRows):
    """Combinations of values that are fetched.

    Such rows have no order, so keys stand in the order of their values. The values that were met first
    are those of all groupings: should a later one bring others, the table was changed meanwhile, and that
    is refused.
    """

    in_order = False

    def __init__(self, combinations: Combinations, null_values: tuple[str, ...]) -> None:
        self.values: Values = _FetchedValues({}, null_values)
        self.combinations = combinations
        # What was fetched first: the combinations of the quasi-identifiers.
        self.fetched: pl.DataFrame | None = None
        self.total = 0

    def grouped(self, names: Sequence[str]) -> pl.DataFrame:
        """Fetch the combinations of some columns (see `GroupedRows.grouped`)."""
        raw = self.combinations.of(names)
        rows = int(raw[ROWS].sum())
        if self.fetched is None:
            self.fetched, self.total = raw.select(columns_named(names)), rows
        if rows != self.total:
            raise TableError(CHANGED)
        columns = columns_named(names)
        coded = self._coded(raw, names)
        return coded.group_by(columns).agg(column_named(ROWS).sum()).sort(columns).collect()

    def _coded(self, raw: pl.DataFrame, names: Sequence[str]) -> pl.LazyFrame:
        """Turn values into codes, and raise for a value that an earlier grouping did not bring."""
        for name in names:
            values = raw.select(column_named(name))
            if isinstance(raw.schema[name], pl.Categorical):
                values = plain(values.unique())
            self.values.types.setdefault(name, values.schema[name])
            distinct = values.select(self.values.cleaned(name).unique().alias("")).to_series().sort()
            reference = self.values.learn(name, distinct)
            if not distinct.is_in(reference.implode(), nulls_equal=True).all():
                raise TableError(CHANGED)
        return self.values.coded(raw.lazy(), names)

    def people(
        self, sensitive: list[str], lists: list[list[str]], keys: Keys, schema: Schema
    ) -> CodedPeople | None:
        """Fetch the people as reduced by the other system (see `GroupedRows.people`)."""
        names = keys.names
        reduced = self.combinations.reduced
        if reduced is None or self.combinations.treated_of([*names, *sensitive]):
            # The other system knows the values before alone.
            return None
        result = reduced(names, sensitive, lists, schema)
        if result is None:
            return None
        listed, alike, (people, unnamed, rows) = result
        if rows != self.total:
            raise TableError(CHANGED)

        def read(raw: pl.DataFrame, values: Sequence[str]) -> Lines:
            columns = [*names, *values, *(name for name in raw.columns if name == PERSON)]
            # The same table gives the same order of people, wherever it is.
            grouped = self._coded(raw, [*names, *values]).sort(columns_named(columns)).collect()
            return grouped, keys.of(grouped)

        alike_lines = [read(raw, values) for raw, values in zip(alike, lists, strict=True)]
        return read(listed, sensitive), alike_lines, (people, unnamed)


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Return fetched rows with texts in the place of categories."""
    return frame.with_columns(
        column_named(name).cast(pl.String)
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.Categorical)
    )


class _FetchedValues(Values):
    """Values of fetched columns, with categories looked up category by category."""

    def coded(
        self, frame: pl.LazyFrame, names: Sequence[str], form: str = "{}", *, ordered: bool = False
    ) -> pl.LazyFrame:
        """Add the places of values (see `Values.coded`)."""
        kinds = frame.collect_schema()
        categorical = [name for name in names if isinstance(kinds[name], pl.Categorical)]
        for name in categorical:
            distinct = frame.select(column_named(name).unique()).collect()
            coded = super().coded(plain(distinct).lazy(), [name], ordered=True).collect()
            categories, codes = nameless(distinct.to_series()), nameless(coded.to_series())
            if codes.null_count():
                raise TableError(CHANGED)
            present = categories.is_not_null()
            places = categories.filter(present).to_physical().to_numpy()
            code_of = np.zeros(int(places.max(initial=0)) + 1, codes.to_numpy().dtype)
            code_of[places] = codes.filter(present).to_numpy()
            position = column_named(name).to_physical().cast(pl.get_index_type())
            code = pl.lit(pl.Series(code_of)).gather(position)
            if len(missing := codes.filter(~present)):
                code = code.fill_null(pl.lit(missing[0], dtype=codes.dtype))
            frame = frame.with_columns(code.alias(form.format(name)))
        others = [name for name in names if name not in categorical]
        return super().coded(frame, others, form, ordered=ordered)


def joined_by(rows: pl.DataFrame, table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Join rows with a table by some columns (missing equals missing), and return the further columns."""
    places = [f"\0by {position}" for position in range(len(names))]
    renamed = dict(zip(names, places, strict=True))
    others = [name for name in table.columns if name not in renamed]
    left = rows.select(columns_named(names)).rename(renamed)
    # Texts of keys may have come as categories.
    right = table.rename(renamed).cast({pl.Categorical: pl.String})
    joined = left.join(right, on=places, how="left", nulls_equal=True, maintain_order="left")
    return joined.select(columns_named(others))
