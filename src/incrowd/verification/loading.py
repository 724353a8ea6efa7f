"""The tables that a check reads: the release, and those beside it, as the policy reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from incrowd.errors import ParameterError, SchemaError, TableError, alike_of, named, setting
from incrowd.verification.checks import Checks
from incrowd.verification.classes import count_rows, group_of, written
from incrowd.verification.double_header import refuse_double_header
from incrowd.verification.policy import Column, Policy
from incrowd.verification.source import CsvFormat, Table
from incrowd.verification.spellings import is_spelled, numbers_as_texts, point_cells, respell
from incrowd.verification.tables import load


@dataclass(frozen=True)
class Sources:
    """Where the tables of a check are.

    Parameters
    ----------
    released, raw, population
        Paths or addresses; None for what is not given.
    released_table, raw_table
        Tables of databases.
    row_map
        A file.
    names
        The columns of a raw CSV file that has no header.
    escaped
        Whether texts of the release have ``'`` in front where a spreadsheet would run them.
    csv_format
        Of all tables.
    beside
        An earlier release, whose records are counted as those of the release.
    """

    released: str
    released_table: str | None
    raw: str | None
    raw_table: str | None
    population: str | None
    row_map: str | None
    names: Sequence[str]
    escaped: bool
    csv_format: CsvFormat
    beside: str | None = None

    def __post_init__(self) -> None:
        if self.row_map is not None and self.raw is None:
            raise ParameterError(
                f"a row map ({setting('row_map', '--row-map')}) is for the raw table; name that, too "
                f"({setting('against', '--against')})"
            )

    def alone(self, path: str) -> Sources:
        """Return the sources of another release, of whose raw table nothing is known."""
        return replace(self, released=path, released_table=None, raw=None, raw_table=None, row_map=None)


@dataclass(frozen=True)
class Tables:
    """The tables of a check in DuckDB.

    Parameters
    ----------
    population, raw
        None where they are not given.
    placed
        Whether the raw records are in the order of the released ones.
    """

    released: Table
    population: Table | None
    raw: Table | None
    placed: bool

    @property
    def raw_in_order(self) -> Table | None:
        """The raw table in its own order, also where there is a row map."""
        return None if self.raw is None else replace(self.raw, name="raw")


def load_tables(con: Checks, policy: Policy, sources: Sources, scratch: Path) -> Tables:
    """Load the tables.

    Raises
    ------
    SchemaError
        The policy names columns that a table lacks.
    TableError
        A table cannot be read.
    """
    released = _released(con, policy, sources, scratch)
    population = _population(con, policy, sources, scratch)
    raw, placed = _raw(con, policy, sources, scratch, released)
    return Tables(released, population, raw, placed)


def _released(con: Checks, policy: Policy, sources: Sources, scratch: Path) -> Table:
    needed = [column.name for role in ("quasi", "sensitive") for column in policy.named(role)]
    treated = [column.name for column in policy.treated]
    plain = [column.name for column in policy.named("insensitive")]
    table = load(
        con.con, "released", sources.released, sources.released_table, [*needed, *treated, *plain],
        replace(sources.csv_format, escaped=sources.escaped), scratch,
        everything=sources.raw is not None or policy.unlisted == "keep",
    )  # fmt: skip
    _refuse_lacking(table, needed)
    point_commas(con, table, policy)
    if sources.beside is None:
        return table
    earlier = load(
        con.con, "earlier", sources.beside, None, [*needed, *treated],
        replace(sources.csv_format, escaped=sources.escaped), scratch, everything=False,
    )  # fmt: skip
    _refuse_lacking(earlier, needed)
    point_commas(con, earlier, policy)
    common = [
        name for name in dict.fromkeys([*needed, *treated]) if name in table.names and name in earlier.names
    ]
    return _together(con, table, earlier, common, policy.null_values)


def _together(con: Checks, one: Table, other: Table, columns: Sequence[str], nulls: Sequence[str]) -> Table:
    """Put the records of two releases into one table; columns of two types become texts."""
    types, cells = [], []
    for number, name in enumerate(columns):
        declared = [table.types[table.place(name)] for table in (one, other)]
        alike = declared[0] == declared[1]
        types.append(declared[0] if alike else "VARCHAR")
        cells.append(
            [
                f"{f't.c{table.place(name)}' if alike else written(con, table, name, nulls)} AS c{number}"
                for table in (one, other)
            ]
        )
    queries = (
        f"SELECT {', '.join(column)} FROM {table.name} AS t"
        for column, table in zip(zip(*cells, strict=True), (one, other), strict=True)
    )
    con.execute(f"CREATE TABLE pair AS {' UNION ALL '.join(queries)}")
    return Table("pair", f"{one.title} and {other.title}", tuple(columns), tuple(types), in_order=False)


def _population(con: Checks, policy: Policy, sources: Sources, scratch: Path) -> Table | None:
    if sources.population is None:
        return None
    quasi, whose = ([column.name for column in policy.named(role)] for role in ("quasi", "person"))
    table = load(
        con.con, "population", sources.population, None, [*quasi, *whose], sources.csv_format, scratch,
        everything=False,
    )  # fmt: skip
    _refuse_lacking(table, quasi)
    return table


def _raw(
    con: Checks, policy: Policy, sources: Sources, scratch: Path, released: Table
) -> tuple[Table | None, bool]:
    """Load the raw table, in the order of the released records if a row map tells it; say whether it did."""
    if sources.raw is None:
        return None, False
    table = load(
        con.con, "raw", sources.raw, sources.raw_table, [column.name for column in policy.columns],
        replace(sources.csv_format, names=tuple(sources.names)), scratch, everything=True,
    )  # fmt: skip
    if table.headed:
        refuse_double_header(con.con, table, given_names=bool(sources.names))
    table = respell_values(con, table, policy)
    if sources.row_map is None:
        return table, False
    row_map = load(con.con, "row_map", sources.row_map, None, ["row"], CsvFormat(), scratch, everything=True)
    if count_rows(con, table) != count_rows(con, released):
        return table, False
    return as_released(con, released, table, row_map), True


def _refuse_lacking(table: Table, needed: Sequence[str]) -> None:
    lacking = [name for name in needed if name not in table.names]
    if lacking:
        raise SchemaError(
            f"{table.title}: the policy's column(s) {named(lacking)} are not in the file; check the header's "
            f"spelling and the delimiter{alike_of(lacking, table.names)}"
        )


def point_commas(con: Checks, table: Table, policy: Policy) -> None:
    """Write decimal points into the released cells that have commas."""
    for column in policy.named("quasi"):
        place = table.place(column.name)
        if column.has_commas and group_of(table.types[place]) == "text":
            con.note(f"The cells of {column.name} with decimal points.")
            point_cells(con, table.name, f"c{place}")


def respell_values(con: Checks, table: Table, policy: Policy) -> Table:
    """Write the raw values of quasi-identifiers plainly, as cells of a release are."""
    types = list(table.types)
    for column in policy.named("quasi"):
        if column.name in table.names:
            place = table.place(column.name)
            types[place] = write_plainly(
                con, table.name, f"c{place}", types[place], column, policy.null_values
            )
    return replace(table, types=tuple(types))


def write_plainly(
    con: Checks, table: str, cell: str, declared: str, column: Column, nulls: Sequence[str]
) -> str:
    """Write the values of a column plainly, if they are spelled; return their type then."""
    stored = group_of(declared)
    if column.spelling is None or not is_spelled(column.spelling, stored):
        return declared
    con.note(f"The values of {column.name} as a release writes them.")
    if stored != "text":
        numbers_as_texts(con, table, cell)
    respell(con, table, cell, column.name, column.spelling, nulls)
    return "VARCHAR"


def as_released(con: Checks, released: Table, raw: Table, row_map: Table) -> Table:
    """Put the raw records in the order of the released ones.

    Parameters
    ----------
    row_map
        Which raw record each released one is, by its number from 1.

    Raises
    ------
    TableError
        The row map does not name every record once.
    """
    records = count_rows(con, released)
    if not (released.in_order and raw.in_order):
        raise TableError("a row map is for files: records of a database have no numbers")
    if "row" not in row_map.names:
        raise TableError(f"{row_map.title}: has no column 'row'; take the row map of this release")
    row = f"TRY_CAST(c{row_map.place('row')} AS BIGINT)"
    told = con.row(
        f"SELECT count(*), count(DISTINCT {row}), coalesce(min({row}), 0), coalesce(max({row}), 0) "
        f"FROM {row_map.name}"
    )
    if told != (records, records, 1, records):
        raise TableError(
            f"{row_map.title}: does not name each of {records} records once; take the row map of this release"
        )
    con.note("The raw records in the order of the release, by the row map.")
    con.execute(
        f"CREATE TABLE moved AS SELECT w.* FROM {row_map.name} AS m JOIN {raw.name} AS w "
        f"ON w.rowid = {row.replace('(c', '(m.c')} - 1 ORDER BY m.rowid"
    )
    con.check(
        "records that the row map does not name once",
        None,
        f"SELECT count(*) - count(DISTINCT {row}) + count(*) FILTER (coalesce({row} NOT BETWEEN 1 AND "
        f"(SELECT count(*) FROM {released.name}), true)) FROM {row_map.name}",
    )
    return replace(raw, name="moved")
