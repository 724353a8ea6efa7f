"""Rows of a database table as read in a single snapshot, and as released."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import SchemaError, TableError
from incrowd.core.io.columns import column_named, columns_named
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.recoding import SUPPRESSED
from incrowd.engines.dialects.base import Dialect, Upload, cast_all
from incrowd.engines.fetched import NUMBER, Combinations, FetchedCount, LeavingColumns, joined_by
from incrowd.engines.fold import CELL, ROWS, added_up
from incrowd.engines.plan import PeoplePlan, as_columns, group_and_count, named_person
from incrowd.engines.sql.databases import DatabaseTable

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.treated_columns import TreatedColumn
    from incrowd.engines.dialects.base import Column
    from incrowd.engines.dialects.duckdb import RelationTable
    from incrowd.engines.plan import ReducedPeople

_KNOWN = "\0known"
_NUMBER = "incrowd number of the row"
_READ = "\0read {}"


class TableRows:
    """Queries about the rows of a table, all answered from the snapshot current at creation."""

    def __init__(self, table: DatabaseTable | RelationTable) -> None:
        self.table = table
        self._snapshot = table.reading()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return self.table.columns

    @property
    def sources(self) -> Sequence[object]:
        """The database, unless the caller opened the connection."""
        return (self.table.database.address,) if isinstance(self.table, DatabaseTable) else ()

    def raw_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Group the rows in the database (see `Combinations.raw`)."""
        return self.grouped(names, str(self.table.source))

    def grouped(self, names: Sequence[str], source: str, number: Sequence[str] = ()) -> pl.DataFrame:
        """Group the rows of a source by some columns, and by the row number if given (`NUMBER`)."""
        self.check_snapshot()
        columns = self._countable(names)
        keys, checks = [*(columns[name].key for name in names), *number], _checks(columns)
        groups = self.table.fetch(group_and_count(list(map(str, keys)), source, list(checks.values())))
        _refuse_wrong(columns, checks, groups[:, len(keys) + 1 :])
        kinds = [columns[name].dtype for name in names] + [pl.Int64()] * (len(number) + 1)
        labels = [*names, *([NUMBER] if number else []), ROWS]
        return cast_all(groups[:, : len(labels)], labels, kinds)

    def leaving_values(self, name: str) -> tuple[pl.Series, NDArray[np.int64]]:
        """Count the values of a column in the database (see `Engine.leaving_values`)."""
        self.check_snapshot()
        column = self.table.read([name])[name]
        if column.key is not None:
            groups = self.raw_combinations([name])
            return groups.to_series(), groups[ROWS].to_numpy()
        # Nobody reads values of such a type, so how often each occurs is all that is fetched.
        query = group_and_count([column.plain], str(self.table.source))
        counts = self.table.fetch(f"SELECT c1 AS n FROM ({query}) AS g").to_series()
        return pl.Series(None, [None] * len(counts), pl.Binary), counts.cast(pl.Int64).to_numpy()

    def some_rows(self, columns: Sequence[str], share: float) -> pl.DataFrame:
        """Fetch random rows of the columns that can be counted (see `Engine.some_rows`)."""
        self.check_snapshot()
        read = {name: column for name, column in self.table.read(columns).items() if column.key is not None}
        if not read:
            return pl.DataFrame()
        query = f"SELECT {as_columns([str(each.key) for each in read.values()])} FROM {self.table.source}"
        if share < 1:
            query += f" WHERE {self.table.dialect.chance} < {float(share)!r}"
        return cast_all(self.table.fetch(query), list(read), [column.dtype for column in read.values()])

    def lone_rows(self, columns: Sequence[str]) -> int:
        """Count the unique rows in the database (see `Engine.lone_rows`)."""
        self.check_snapshot()
        keys = [column.key or column.plain for column in self.table.read(columns).values()]
        groups = group_and_count(keys, str(self.table.source))
        count = self.table.fetch(f"SELECT COUNT(*) AS n FROM ({groups}) AS g WHERE c{len(keys)} = 1")
        return int(count.to_series().item())

    def reduced(
        self, names: Sequence[str], sensitive: Sequence[str], lists: Sequence[Sequence[str]], schema: Schema
    ) -> ReducedPeople | None:
        """Reduce the people in the database (see `Combinations.reduced`)."""
        self.check_snapshot()
        columns = self._countable([*names, *sensitive, *schema.person])
        dialect, source = self.table.dialect, self.table.source
        person = self.persons(schema.person, schema.null_values)
        if person is None:
            return None
        keys, values = ([str(columns[name].key) for name in listed] for listed in (names, sensitive))
        plan = PeoplePlan(source, keys, values, person, integer=dialect.whole)
        return plan.reduced(
            sensitive,
            lists,
            f"({plan.kinds()}) AS y",
            lambda query, asked, counts: self._fetched_as(query, [*names, *asked], counts),
        )

    def persons(self, names: Sequence[str], null_values: tuple[str, ...]) -> list[str] | None:
        """Return SQL of the columns that name a person, NULL where missing; None where SQL cannot tell."""
        columns = self._countable(names)
        self.check_finite(names)
        kinds: list[pl.DataType] = [pl.Null()] * len(names)
        if names and null_values:
            listed = as_columns([str(columns[name].key) for name in names])
            kinds = self._fetched_as(f"SELECT {listed} FROM {self.table.source} LIMIT 0", names, []).dtypes
        person = [
            named_person(self.table.dialect, str(columns[name].key), columns[name].wire, kind, null_values)
            for name, kind in zip(names, kinds, strict=True)
        ]
        return None if None in person else list(map(str, person))

    def _fetched_as(self, query: str, names: Sequence[str], counts: Sequence[str]) -> pl.DataFrame:
        """Fetch values of some columns, and then whole numbers."""
        columns = self.table.read(names)
        kinds = [columns[name].dtype for name in names] + [pl.Int64()] * len(counts)
        return cast_all(self.table.fetch(query), [*names, *counts], kinds)

    def check_finite(self, names: Sequence[str]) -> None:
        """Refuse values of some columns that cannot be counted or written.

        Raises
        ------
        SchemaError
        """
        columns = self.table.read(names)
        if checks := _checks(columns):
            results = self.table.fetch(f"SELECT {as_columns(checks.values())} FROM {self.table.source}")
            _refuse_wrong(columns, checks, results)

    def check_snapshot(self) -> None:
        """Refuse to go on where another snapshot began since the rows were counted.

        Raises
        ------
        TableError
        """
        if self.table.reading() != self._snapshot:
            raise TableError(
                f"{self.table.title}: the snapshot that was counted has ended; anonymize again "
                "(files are written before a table is)"
            )

    def _countable(self, names: Sequence[str]) -> dict[str, Column]:
        """Return how some columns are read, all of which can be counted."""
        columns = self.table.read(names)
        for name, column in columns.items():
            if column.key is None:
                raise SchemaError(
                    f"column {name!r} is of type {column.type}, which is neither text, number nor date; "
                    "convert it first"
                )
        return columns


def _checks(columns: Mapping[str, Column]) -> dict[str, str]:
    """Return SQL by column that is 1 where a value is refused."""
    return {
        name: f"MAX(CASE WHEN {column.wrong} THEN 1 ELSE 0 END)"
        for name, column in columns.items()
        if column.wrong
    }


def _refuse_wrong(columns: Mapping[str, Column], checks: Mapping[str, str], results: pl.DataFrame) -> None:
    """Refuse a table of which a check found a wrong value."""
    for name, series in zip(checks, results.get_columns(), strict=True):
        if len(series) and series.max():
            raise SchemaError(f"column {name!r} has {columns[name].why}")


class RecodedTable:
    """The released rows of a database table, not written anywhere yet.

    Attributes
    ----------
    columns
        Names of the columns, in order.
    keys
        Every combination of `keyed` with the text that each quasi-identifier is released as.
    keyed
        The columns that rows are found by: the quasi-identifiers, and what their treatments look at.
    combinations
        The combinations of the rows, treated as they were counted.
    leaving
        The columns that are treated besides.
    left_out
        Whether rows whose texts are all ``*`` are left out.
    drawn
        What columns become whose values do not follow from those before; None where there are none. It is
        made now, so that a column that cannot be treated is refused before anything is written.
    """

    reduced = None
    """People of released rows are counted here, and not by the database."""

    def __init__(
        self,
        rows: TableRows,
        names: Sequence[str],
        columns: Sequence[str],
        keys: pl.DataFrame,
        count: FetchedCount | None = None,
        *,
        left_out: bool = False,
    ) -> None:
        self.left_out = left_out
        self.rows, self.table, self.sources = rows, rows.table, rows.sources
        self.combinations = Combinations(rows.raw_combinations) if count is None else count.combinations
        self.leaving = LeavingColumns(rows.raw_combinations) if count is None else count.leaving
        self.drawn = self.leaving.drawn if self.leaving.by_row else None
        self.quasi = list(names)
        self.keyed = [] if count is None else count.keyed_by
        self.columns = list(columns)
        self.keys = keys

    def __repr__(self) -> str:
        return f"RecodedTable({self.table.title!r}, columns={self.columns!r})"

    def raw_combinations(self, names: Sequence[str]) -> pl.DataFrame:
        """Recode the combinations of the rows before (see `Combinations.raw`)."""
        quasi = [name for name in names if name in self.quasi]
        others = [name for name in names if name not in self.quasi]
        if self.left_out:
            # All of a row's texts say whether it leaves.
            quasi = self.quasi
        raw, values = self.beside(self.keyed if quasi else [], others)
        cells = [self.recoded(raw, quasi)] if quasi else []
        return added_up(self._drop_suppressed(pl.concat([values, *cells], how="horizontal")), names)

    def _drop_suppressed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Drop the rows of texts that are all ``*`` if suppressed records are left out."""
        if not self.left_out:
            return rows
        suppressed = pl.all_horizontal(
            column_named(name).eq_missing(pl.lit(SUPPRESSED)) for name in self.quasi
        )
        return rows.filter(~suppressed)

    def recoded(self, rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Look up the released texts of some quasi-identifiers (rows without a key: suppressed)."""
        keys = self.keys.with_columns(pl.lit(value=True).alias(_KNOWN))
        # A released text may be missing itself.
        texts = [
            pl.when(column_named(_KNOWN))
            .then(column_named(CELL.format(name)))
            .otherwise(pl.lit(SUPPRESSED))
            .alias(name)
            for name in names
        ]
        return joined_by(rows, keys, self.keyed).select(texts)

    def fetch(self) -> pl.DataFrame:
        """Fetch all released rows into memory, as a Polars frame."""
        return pl.concat(list(self.batches()))

    def batches(self) -> Iterator[pl.DataFrame]:
        """Fetch the released rows in batches, at least one, possibly empty.

        Raises
        ------
        TableError
            When the snapshot that was counted has ended.
        """
        self.rows.check_snapshot()
        by_row = [column.name for column in self.leaving.by_row]
        treated = {*by_row, *(column.name for column in self.leaving.by_value)}
        others = [name for name in self.columns if name not in self.quasi and name not in treated]
        # By key, columns are read as they were counted; what a treatment looks at need not be released.
        beside = [name for column in self.leaving.by_value for name in column.columns]
        inputs = list(dict.fromkeys([*self.keyed, *beside, *self.leaving.drawn_from]))
        columns = self.table.read([*inputs, *others])
        self.rows.check_finite(others)
        expressions = [columns[name].key for name in inputs] + [columns[name].plain for name in others]
        kinds = [columns[name].dtype for name in inputs] + [columns[name].plain_dtype for name in others]
        places = [_READ.format(position) for position in range(len(inputs))]
        if self.drawn is not None:
            expressions.append(self._row_number)
            kinds.append(pl.Int64())
        names = [*places, *others, *([NUMBER] if self.drawn is not None else [])]
        listed = ", ".join(f"{expression} AS c{i}" for i, expression in enumerate(expressions))
        query = f"SELECT {listed} FROM {self._source()} ORDER BY {self.table.dialect.random}"
        for rows in self.table.batches(query):
            batch = cast_all(rows, names, kinds)
            values = batch.select(column_named(position) for position in places)
            values.columns = inputs
            parts = [batch.select(columns_named(others))]
            if self.quasi:
                parts.append(self.recoded(values.select(columns_named(self.keyed)), self.quasi))
            if self.leaving.by_value:
                parts.append(pl.DataFrame([column.of(values) for column in self.leaving.by_value]))
            if self.drawn is not None:
                numbered = values.select(columns_named(self.leaving.drawn_from)).with_columns(batch[NUMBER])
                parts.append(self._draws_of(numbered, by_row))
            yield self._drop_suppressed(pl.concat(parts, how="horizontal")).select(
                columns_named(self.columns)
            )

    def _draws_of(self, numbered: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Return the drawn values of some columns for numbered rows."""
        assert self.drawn is not None
        joined = joined_by(numbered, self.drawn, numbered.columns)
        return joined.select(column_named(CELL.format(name)).alias(name) for name in names)

    def beside(self, raw: Sequence[str], names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Group rows as `Combinations.beside` does, with drawn columns among the treated."""
        by_row = [column.name for column in self.leaving.by_row]
        if self.drawn is None or not set(by_row) & set(names):
            return self.combinations.beside(raw, names)
        plain = [name for name in names if name not in by_row]
        treated = self.combinations.treated_of(plain)
        inputs = [
            *raw,
            *plain,
            *self.leaving.drawn_from,
            *(name for each in treated for name in each.columns),
        ]
        groups = self.rows.grouped(list(dict.fromkeys(inputs)), self._source(), [self._row_number])
        values = groups.select(columns_named([*plain, ROWS])).with_columns(
            each.of(groups) for each in treated
        )
        draws = self._draws_of(groups.select(columns_named([*self.leaving.drawn_from, NUMBER])), by_row)
        return groups.select(columns_named(raw)), pl.concat([values, draws], how="horizontal")

    @property
    def _row_number(self) -> str:
        """SQL of the number of a row among the rows of the same values (see `LeavingColumns.drawn`)."""
        return f"t.{Dialect.quote(_NUMBER)}"

    def _source(self) -> str:
        """Return the SQL behind FROM, with row numbers if some column is drawn.

        They are numbered in the order of what is released of them: the same whenever they are asked for,
        but for rows of which nobody could say which is which.
        """
        source = str(self.table.source)
        if self.drawn is None:
            return source
        names = self.leaving.drawn_from
        columns = self.table.read(names)
        alike = ", ".join(str(columns[name].key) for name in names)
        order = self.leaving.drawn_order([*self.columns, *self.keyed])
        ordered = ", ".join(self.table.dialect.as_text(f"t.{Dialect.quote(name)}") for name in order)
        number = f"ROW_NUMBER() OVER (PARTITION BY {alike} ORDER BY {ordered})"
        return f"(SELECT t.*, {number} AS {Dialect.quote(_NUMBER)} FROM {source}) AS t"

    @contextlib.contextmanager
    def into(self, target: str, *, force: bool = False) -> Iterator[DatabaseTable]:
        """Write the rows into a new table of the same database, kept only if the block ends without an error.

        Raises
        ------
        TableError
            When there is such a table (unless `force`) or it cannot be made.
        """
        assert isinstance(self.table, DatabaseTable)
        self.rows.check_snapshot()
        uploads, query = self.join(self.table.dialect)
        database = self.table.database
        name, kind = self.table.place_for(target, force=force)
        table = DatabaseTable(database, name)
        with database.writing():
            table.place = database.ask(
                lambda d: d.make(name, uploads, query, self.columns, replace=kind is not None)
            )
            yield table
        table.place = name

    def relation(self, table: RelationTable) -> Any:
        """Return the released rows as a DuckDB relation of the source's connection."""
        from incrowd.engines.dialects.duckdb import KEYS, DuckDB

        if self.leaving.by_value or self.drawn is not None:
            # A relation is joined with one frame, which holds the rows then.
            return table.joined(self.fetch(), f"SELECT * FROM {KEYS}")
        uploads, query = self.join(DuckDB, KEYS, by_column=False)
        return table.joined(uploads[KEYS].frame, query)

    def join(
        self, dialect: Dialect | type[Dialect], name: str = "incrowd keys", *, by_column: bool = True
    ) -> tuple[dict[str, Upload], str]:
        """Return the tables to join the rows with, and the query of the join.

        Rows are joined with the keys at once; or, where each released text follows from the one value alone
        as full-domain recoding has it, with a short table per column and the keys that are suppressed.

        Parameters
        ----------
        name
            What the names of the tables begin with.
        by_column
            Whether to join column by column where it can be done.
        """
        uploads: dict[str, Upload] = {}
        clauses: list[str] = []

        def add(title: str, alias: str, frame: pl.DataFrame, names: Sequence[str], cells: _Types) -> None:
            # A cell that is called ``number`` is that of the row.
            number = self._row_number if "number" in cells else None
            uploads[title], clause = lookup(self.table, dialect, title, alias, frame, names, cells, number)
            clauses.append(clause)

        texts = self._join_keys(add, name, by_column=by_column)
        for number, column in enumerate(self.leaving.by_value):
            alias, table = f"t{number}", self.leaving.lookup(column)
            add(f"{name} {alias}", alias, table, column.columns, self._types_of(table, [column]))
            texts[column.name] = f"{alias}.c0"
        if self.drawn is not None:
            by_row = self.leaving.by_row
            types = {"number": "bigint"} | self._types_of(self.drawn, by_row)
            add(f"{name} d", "d", self.drawn, self.leaving.drawn_from, types)
            texts |= {column.name: f"d.c{position}" for position, column in enumerate(by_row)}
        columns = self.table.read(self.columns)
        listed = ", ".join(
            f"{texts.get(column, columns[column].stays)} AS {dialect.quote(column)}"
            for column in self.columns
        )
        rows = f"{self._source()} {' '.join(clauses)}"
        if self.left_out:
            suppressed = " AND ".join(f"{texts[name]} = '{SUPPRESSED}'" for name in self.quasi)
            # A text may be missing, and a comparison with it is neither true nor false.
            rows += f" WHERE CASE WHEN {suppressed} THEN 0 ELSE 1 END = 1"
        # A table has no order, but its rows lie in that in which they were written.
        return uploads, f"SELECT {listed} FROM {rows} ORDER BY {dialect.random}"

    def _join_keys(self, add: Callable[..., None], name: str, *, by_column: bool) -> dict[str, str]:
        """Join the keys, at once or by column, and return the SQL of each released text."""
        cells = [CELL.format(each) for each in self.quasi]
        keys = self.keys.with_columns(pl.lit(1, pl.Int32).alias(_KNOWN))
        marker = {"known": "integer"}
        # Where a treatment looks at further columns, a text does not follow from one value.
        parted = split_by_column(keys, self.quasi, cells) if by_column and self.keyed == self.quasi else None
        if parted is None:
            add(name, "k", keys, self.keyed, {f"c{i}": "text" for i in range(len(cells))} | marker)
            cell = "CASE WHEN k.known = 1 THEN k.c{i} ELSE '" + SUPPRESSED + "' END"
        else:
            suppressed, tables = parted
            for i, table in enumerate(tables):
                add(f"{name} {i}", f"k{i}", table, [self.quasi[i]], {"c0": "text"} | marker)
            add(name, "k", suppressed, self.keyed, marker)
            cell = "CASE WHEN k.known IS NULL AND k{i}.known = 1 THEN k{i}.c0 ELSE '" + SUPPRESSED + "' END"
        return {quasi: cell.format(i=i) for i, quasi in enumerate(self.quasi)}

    def _types_of(self, frame: pl.DataFrame, treated: Sequence[TreatedColumn]) -> _Types:
        """Return the SQL types of treated columns, given a frame of untreated values."""
        columns = self.table.read([column.name for column in treated])
        types = {}
        for position, column in enumerate(treated):
            dtype = frame.schema[column.name]
            kind = column.type_of(dtype)
            number = "bigint" if kind.is_integer() else "double precision"
            fallback = number if kind.is_numeric() else "text"
            types[f"c{position}"] = columns[column.name].wire if kind == dtype else fallback
        return types


_Types = dict[str, str]
"""The SQL type of each column."""


def lookup(
    table: DatabaseTable | RelationTable,
    dialect: Dialect | type[Dialect],
    title: str,
    alias: str,
    frame: pl.DataFrame,
    names: Sequence[str],
    cells: _Types,
    number: str | None = None,
) -> tuple[Upload, str]:
    """Return a table to join rows with, and the clause that does so.

    Parameters
    ----------
    frame
        Values of some columns as they were fetched, and then the cells.
    number
        SQL of the number of a row, which is to be that of the cell ``number``.
    """
    columns = table.read(names)
    types = {f"k{i}": columns[name].wire for i, name in enumerate(names)}
    same = [
        dialect.same(columns[name], str(columns[name].key), f"{alias}.{key}")
        for key, name in zip(types, names, strict=True)
    ]
    if number is not None:
        same.append(f"{alias}.number = {number}")
    types |= cells
    frame = frame.rename(dict(zip(frame.columns, types, strict=True)))
    # Numbers that Arrow does not carry go as the texts that they were fetched as.
    as_text = [key for key in types if types[key].upper().startswith(("TEXT", "VARCHAR"))]
    upload = Upload(frame.with_columns(column_named(key).cast(pl.String) for key in as_text), types)
    return upload, f"LEFT JOIN {dialect.quote(title)} AS {alias} ON {' AND '.join(same)}"


def split_by_column(
    frame: pl.DataFrame, keys: Sequence[str], cells: Sequence[str]
) -> tuple[pl.DataFrame, list[pl.DataFrame]] | None:
    """Split keys into the suppressed keys and a table per column, if texts follow from single values.

    Returns
    -------
    None where a text depends on other values, too.
    """
    suppressed = pl.all_horizontal(column_named(cell).eq_missing(pl.lit(SUPPRESSED)) for cell in cells)
    live = frame.filter(~suppressed)
    tables = [
        live.select(columns_named([key, cell, _KNOWN])).unique(maintain_order=True)
        for key, cell in zip(keys, cells, strict=True)
    ]
    if any(table.to_series(0).n_unique() < len(table) for table in tables):
        return None
    return frame.filter(suppressed).select(columns_named([*keys, _KNOWN])), tables
