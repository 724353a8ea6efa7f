"""How a script reads its tables: files, folders and patterns of them, and tables of DuckDB's own databases.

Each table is read twice when the script is written, by `load_parts` and as the script does. Where the two
differ in a cell or in the order of rows, there is no script: DuckDB alone would judge another table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from incrowd.dialects.addresses import Address, is_address
from incrowd.errors import ParameterError, TableError
from incrowd.verification.checks import Script
from incrowd.verification.classes import count_rows
from incrowd.verification.databases import duckdb_name, part_of, quoted_name
from incrowd.verification.other_kinds import is_json_lines, is_other_kind
from incrowd.verification.source import Part, Table, glob_free, literal
from incrowd.verification.tables import Wanted, files_of, load_parts, parts_of

_READS = "a script reads Parquet, JSON lines, or CSV with a header in UTF-8, UTF-16 or Latin-1"
_WAY_OUT = "write the table into a Parquet or CSV file, or a DuckDB database, first"
_ENDINGS = (".csv.gz", ".csv", ".parquet", ".pq")


def place(script: Script, wanted: Wanted, scratch: Path) -> tuple[str, Sequence[Part]]:
    """Write down where a table is; return the SQL that reads it, and its parts for the verifier.

    Raises
    ------
    ParameterError
        DuckDB cannot read it by itself.
    TableError
        It cannot be read at all.
    """
    variable = "release" if wanted.name == "released" else wanted.name
    if is_address(wanted.given):
        return _attached(script, wanted, f"base_of_{variable}", scratch)
    files = files_of(wanted)
    for file in files:
        if is_other_kind(file) and not is_json_lines(file):
            raise ParameterError(f"{file}: DuckDB does not read this kind of file by itself; {_WAY_OUT}")
    parts = list(parts_of(script.con, wanted, scratch))
    [plainly, *others] = dict.fromkeys(part.plainly for part in parts)
    if plainly is None or others:
        why = "its files are written in several ways" if others else "it is written otherwise"
        raise ParameterError(f"{wanted.given}: {_READS}, and {why}; {_WAY_OUT}")
    script.execute(f"SET VARIABLE {variable} = {_where(script, wanted.given, files)}")
    where = f"getvariable('{variable}')"
    parts = [replace(part, header=part.header and part.header.replace("{}", where, 1)) for part in parts]
    return plainly.replace("{}", where, 1), parts


def load(script: Script, wanted: Wanted, reader: str, parts: Sequence[Part]) -> Table:
    """Write down that a table is read by the SQL of a reader, and make it.

    Raises
    ------
    ParameterError
        DuckDB has other names for its columns.
    TableError
        DuckDB by itself reads another table.
    """
    names = parts[0].names
    cells = _name(script, wanted, reader, parts)
    rows = reader if cells is None else f"{reader} AS file({', '.join(cells)})"
    read = [n for n, name in enumerate(names) if wanted.everything or name in wanted.columns]
    values = [quoted_name(name) for name in names] if cells is None else cells
    columns = (
        f"trim({values[n]}, ' ') AS c{n}" if parts[0].trimmed else f"{values[n]} AS c{n}" for n in read
    )
    script.execute(f"CREATE TABLE {wanted.name} AS SELECT {', '.join(columns) or '1 AS nothing'} FROM {rows}")
    seen = load_parts(script.con, replace(wanted, name=f"{wanted.name}_seen"), parts)
    _compare(script, seen, wanted.name, read)
    return replace(seen, name=wanted.name)


def _name(script: Script, wanted: Wanted, reader: str, parts: Sequence[Part]) -> list[str] | None:
    """Write down the names of the columns.

    Returns
    -------
    Where DuckDB calls a column otherwise, as one of two that differ in case, the names c0, c1, ... that it
    has to give them; the columns have to stay where they are then.
    """
    names, table = list(parts[0].names), f"{wanted.name}_names"
    listed = f"[{', '.join(map(literal, names))}]"
    described = f"(DESCRIBE SELECT * FROM {reader})"
    header = None if len(parts) > 1 else parts[0].header
    if not parts[0].by_name or header is None:
        if _names(script, f"SELECT column_name FROM {described}") == names:
            script.execute(f"CREATE TABLE {table} AS SELECT column_name AS name FROM {described}")
            return None
        if header is None or _names(script, header) != names:
            raise ParameterError(
                f"{wanted.title}: DuckDB has other names for its columns; rename those that differ in case"
            )
    script.execute(f"CREATE TABLE {table} AS SELECT name FROM ({header})")
    if parts[0].by_name:
        script.check(
            f"columns that are not in the file any more: {wanted.name}",
            f"SELECT count(*) FROM (SELECT unnest({listed}) AS name) "
            f"WHERE name NOT IN (SELECT name FROM {table})",
        )
        return None
    script.check(
        f"the columns are where they were: {wanted.name}",
        f"SELECT (list(name ORDER BY rowid) = {listed})::INTEGER FROM {table}",
        "reached = 1",
        1,
    )
    return [f"c{place}" for place in range(len(names))]


def _names(script: Script, query: str) -> list[str]:
    return [name for (name,) in script.execute(query).fetchall()]


def _where(script: Script, given: str, files: Sequence[Path]) -> str:
    """Write the pattern of the files if it finds just these in this order, else a list of them."""
    if not Path(given).is_file():
        pattern = literal(given)
        if Path(given).is_dir():
            endings = {next(end for end in _ENDINGS if file.name.lower().endswith(end)) for file in files}
            pattern = f"{glob_free(Path(given))[:-1]}/**/*{min(endings)}'"
        found = _names(script, f"SELECT file FROM glob({pattern})")
        if [Path(file) for file in found] == list(files):
            return pattern
    listed = ", ".join(glob_free(file) for file in files)
    return listed if len(files) == 1 else f"[{listed}]"


def _attached(script: Script, wanted: Wanted, base: str, scratch: Path) -> tuple[str, Sequence[Part]]:
    address = Address(wanted.given)
    if address.scheme != "duckdb":
        raise ParameterError(
            f"{address}: DuckDB reads tables of {address.scheme} with an extension alone, which it "
            f"would fetch over the network; {_WAY_OUT}"
        )
    if wanted.table is None:
        raise ParameterError(f"{address}: name a table of the database")
    part = part_of(script.con, wanted.given, wanted.table, scratch)
    script.execute(f"ATTACH {literal(str(address.path))} AS {base} (READ_ONLY)")
    return f"{base}.{duckdb_name(wanted.table)}", [part]


def _compare(script: Script, seen: Table, name: str, places: Sequence[int]) -> None:
    """Drop the table that the verifier read, and refuse it if a script alone reads another."""
    same = count_rows(script, seen) == script.row(f"SELECT count(*) FROM {name}")[0]
    columns = ", ".join(f"c{place}" for place in places)
    query = f"SELECT 1 FROM (SELECT {columns} FROM {name} EXCEPT ALL SELECT {columns} FROM {seen.name})"
    if seen.in_order:
        apart = " OR ".join(f"mine.c{place} IS DISTINCT FROM theirs.c{place}" for place in places)
        query = (
            f"SELECT 1 FROM {name} AS mine JOIN {seen.name} AS theirs ON mine.rowid = theirs.rowid "
            f"WHERE {apart}"
        )
    same = same and not (places and script.row(f"SELECT count(*) FROM ({query})")[0])
    script.con.execute(f"DROP TABLE {seen.name}")
    if not same:
        raise TableError(f"{seen.title}: DuckDB reads other rows by itself; write it as Parquet")
