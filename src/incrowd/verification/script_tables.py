"""How a script reads its tables: files, folders and patterns of them, and tables of DuckDB's own databases.

Each table is read twice when the script is written, by `load_parts` and as the script does. Where the two
differ in a cell or in the order of rows, there is no script: DuckDB alone would judge another table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Reader:
    """Writes into a script how tables are read.

    Attributes
    ----------
    script
        Where it is written.
    scratch
        A private folder.
    """

    script: Script
    scratch: Path

    def place(self, wanted: Wanted) -> tuple[str, tuple[Part, ...]]:
        """Write down where a table is; return the SQL that reads it, and its parts for the verifier.

        Raises
        ------
        ParameterError
            DuckDB cannot read it by itself.
        TableError
            It cannot be read at all.
        """
        if is_address(wanted.given):
            return self._attached(wanted)
        files = files_of(wanted)
        for file in files:
            if is_other_kind(file) and not is_json_lines(file):
                raise ParameterError(f"{file}: DuckDB does not read this kind of file by itself; {_WAY_OUT}")
        parts = tuple(parts_of(self.script.con, wanted, self.scratch))
        [plainly, *others] = dict.fromkeys(part.plainly for part in parts)
        if plainly is None or others:
            why = "its files are written in several ways" if others else "it is written otherwise"
            raise ParameterError(f"{wanted.given}: {_READS}, and {why}; {_WAY_OUT}")
        where = self._where(wanted.given, files)
        self.script.execute(f"SET VARIABLE {_variable(wanted)} = {where}")
        return plainly.replace("{}", f"getvariable('{_variable(wanted)}')", 1), parts

    def load(self, wanted: Wanted, place: tuple[str, tuple[Part, ...]]) -> Table:
        """Write down that a table is read, and make it.

        Raises
        ------
        ParameterError
            DuckDB by itself reads another table.
        """
        script, (reader, parts) = self.script, place
        known, rows = self._name(wanted, reader, parts)
        read = [name for name in known if wanted.everything or name in wanted.columns]
        columns = [self._column(known, name, rows, trimmed=parts[0].trimmed) for name in read]
        script.execute(
            f"CREATE TABLE {wanted.name} AS SELECT {', '.join(columns) or '1 AS nothing'} FROM {rows}"
        )
        seen = load_parts(script.con, replace(wanted, name=f"{wanted.name}_seen"), parts)
        self._compare(seen, wanted.name, [known.index(name) for name in read])
        return replace(seen, name=wanted.name)

    def _name(self, wanted: Wanted, reader: str, parts: Sequence[Part]) -> tuple[list[str], str]:
        """Write down the names of the columns; return them, and SQL of the rows.

        Where DuckDB calls a column otherwise, as one of two that differ in case, they are called c0, c1, ...
        and have to stay where they are.
        """
        script, told, table = self.script, list(parts[0].names), f"{wanted.name}_names"
        made = f"CREATE TABLE {table} AS SELECT"
        described = f"(DESCRIBE SELECT * FROM {reader})"
        found = script.execute(f"SELECT column_name FROM {described}").fetchall()
        header = None if parts[0].header is None or len(parts) > 1 else parts[0].header
        where = f"getvariable('{_variable(wanted)}')"
        if parts[0].by_name and header is not None:
            script.execute(f"{made} name FROM ({header.replace('{}', where, 1)})")
            script.check(
                f"columns that are not in the file any more: {wanted.name}",
                f"SELECT count(*) FROM (SELECT unnest([{', '.join(map(literal, told))}]) AS name) "
                f"WHERE name NOT IN (SELECT name FROM {table})",
            )
            return told, reader
        if [name for (name,) in found] == told:
            script.execute(f"{made} column_name AS name FROM {described}")
            return told, reader
        if header is None or self._named(header, wanted) != told:
            raise ParameterError(
                f"{wanted.title}: DuckDB has other names for its columns; rename those that differ in case"
            )
        script.execute(f"{made} name FROM ({header.replace('{}', where, 1)})")
        script.check(
            f"the columns are where they were: {wanted.name}",
            f"SELECT (list(name ORDER BY rowid) = [{', '.join(map(literal, told))}])::INTEGER FROM {table}",
            "reached = 1",
            1,
        )
        return told, f"{reader} AS file({', '.join(f'c{place}' for place in range(len(told)))})"

    def _named(self, header: str, wanted: Wanted) -> list[str]:
        """Read the names as they stand in the file."""
        rows = self.script.execute(header.replace("{}", f"getvariable('{_variable(wanted)}')", 1))
        return [name for (name,) in rows.fetchall()]

    def _column(self, known: Sequence[str], name: str, rows: str, *, trimmed: bool) -> str:
        """Write a column of the rows as it is called here."""
        place = known.index(name)
        value = f"c{place}" if " AS file(" in rows else quoted_name(name)
        return f"trim({value}, ' ') AS c{place}" if trimmed else f"{value} AS c{place}"

    def _where(self, given: str, files: Sequence[Path]) -> str:
        """Write the pattern of the files if it finds just these in this order, else a list of them."""
        if not Path(given).is_file():
            pattern = literal(given)
            if Path(given).is_dir():
                endings = {next(end for end in _ENDINGS if file.name.lower().endswith(end)) for file in files}
                pattern = f"{glob_free(Path(given))[:-1]}/**/*{min(endings)}'"
            found = self.script.execute(f"SELECT file FROM glob({pattern})").fetchall()
            if [Path(file) for (file,) in found] == list(files):
                return pattern
        listed = ", ".join(glob_free(file) for file in files)
        return listed if len(files) == 1 else f"[{listed}]"

    def _attached(self, wanted: Wanted) -> tuple[str, tuple[Part, ...]]:
        address = Address(wanted.given)
        if address.scheme != "duckdb":
            raise ParameterError(
                f"{address}: DuckDB reads tables of {address.scheme} with an extension alone, which it "
                f"would fetch over the network; {_WAY_OUT}"
            )
        if wanted.table is None:
            raise ParameterError(f"{address}: name a table of the database")
        part = part_of(self.script.con, wanted.given, wanted.table, self.scratch)
        base = f"base_of_{_variable(wanted)}"
        self.script.execute(f"ATTACH {literal(str(address.path))} AS {base} (READ_ONLY)")
        return f"{base}.{duckdb_name(wanted.table)}", (part,)

    def _compare(self, seen: Table, name: str, places: Sequence[int]) -> None:
        """Drop the tables that the verifier read, if a script alone reads the same."""
        script = self.script
        same = count_rows(script, seen) == int(script.row(f"SELECT count(*) FROM {name}")[0])
        columns = ", ".join(f"c{place}" for place in places)
        if places and seen.in_order:
            apart = " OR ".join(f"mine.c{place} IS DISTINCT FROM theirs.c{place}" for place in places)
            query = (
                f"SELECT count(*) FROM {name} AS mine JOIN {seen.name} AS theirs "
                f"ON mine.rowid = theirs.rowid WHERE {apart}"
            )
            same = same and not script.row(query)[0]
        elif places:
            query = f"SELECT {columns} FROM {name} EXCEPT ALL SELECT {columns} FROM {seen.name}"
            same = same and not script.row(f"SELECT count(*) FROM ({query})")[0]
        script.con.execute(f"DROP TABLE {seen.name}")
        if not same:
            raise TableError(f"{seen.title}: DuckDB reads other rows by itself; write it as Parquet")


def _variable(wanted: Wanted) -> str:
    """Name the variable of a script that says where the files are."""
    return "release" if wanted.name == "released" else wanted.name
