"""Reading of tables that a user names: files, folders, patterns of files, tables of a database."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from incrowd.core.dialects.addresses import Address, is_address
from incrowd.core.errors import ParameterError, TableError, setting
from incrowd.verification.source import CsvFormat, Part, Table, literal, open_file, reworded

if TYPE_CHECKING:
    import duckdb
import contextlib
import re
import secrets
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import MissingExtraError

_ENDINGS = (".csv", ".csv.gz", ".parquet", ".pq")
_BY_FOLDERS = ("hive_partitioning = false", "hive_partitioning = true, hive_types_autocast = false")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def title_of(named: str) -> str:
    """Return the name of a table in messages: of a database without user and password."""
    return str(Address(named)) if is_address(named) else named


@dataclass(frozen=True)
class Wanted:
    """A table that is read.

    Attributes
    ----------
    given
        A file, a folder, a pattern or the address of a database.
    columns
        The columns that are looked for.
    csv_format
        How CSV files are written.
    everything
        Whether the other columns are loaded, too.
    """

    name: str
    given: str
    table: str | None
    columns: Collection[str]
    csv_format: CsvFormat
    everything: bool = False

    @property
    def title(self) -> str:
        """Its name in messages."""
        return title_of(self.given)


def load(con: duckdb.DuckDBPyConnection, wanted: Wanted, scratch: Path) -> Table:
    """Load a table into the connection.

    Raises
    ------
    ParameterError
        A table was named for a file, or none for a database.
    TableError
        It cannot be read, or its files have different columns.
    """
    if not is_address(wanted.given):
        return load_parts(con, wanted, parts_of(con, wanted, scratch))
    if wanted.table is None:
        raise ParameterError(
            f"an address is no file; name a table of its database with {setting('table=', '--table')}, "
            f"or {setting('against_table=', '--against-table')} of the raw one"
        )
    return load_parts(con, wanted, [part_of(con, wanted.given, wanted.table, scratch)])


def load_parts(con: duckdb.DuckDBPyConnection, wanted: Wanted, parts: Iterable[Part]) -> Table:
    """Load the parts of a table into the connection, one below the other (see `load`)."""
    first: Part | None = None
    for part in parts:
        places = [n for n, column in enumerate(part.names) if wanted.everything or column in wanted.columns]
        # Without any a count of the rows is left.
        columns = (
            ", ".join(f"trim(c{n}, ' ') AS c{n}" if part.trimmed else f"c{n}" for n in places)
            or "1 AS nothing"
        )
        verb = f"CREATE TABLE {wanted.name} AS" if first is None else f"INSERT INTO {wanted.name}"
        with reworded(Path(wanted.title)):
            con.execute(f"{verb} SELECT {columns} FROM {part.relation}")
        first = first or part
    assert first is not None
    in_order = not is_address(wanted.given)
    return Table(wanted.name, wanted.title, first.names, first.types, in_order, first.headed)


def parts_of(con: duckdb.DuckDBPyConnection, wanted: Wanted, scratch: Path) -> Iterator[Part]:
    """Open the files of a table: each with the columns of the first, and those that its folders tell."""
    files = files_of(wanted)
    partitions = _partitions(wanted.given, files)
    first: Part | None = None
    for file, partition in zip(files, partitions, strict=True):
        part = open_file(con, file, wanted.columns, wanted.csv_format, scratch)
        new = [column for column in partition if column not in part.names]
        if new:
            values = (f"{literal(v)} AS c{n}" if (v := partition[c]) is not None else f"NULL::VARCHAR AS c{n}"
                      for n, c in enumerate(new, len(part.names)))  # fmt: skip
            part = replace(
                part,
                relation=f"(SELECT *, {', '.join(values)} FROM {part.relation})",
                names=(*part.names, *new),
                types=(*part.types, *("VARCHAR" for _ in new)),
                plainly=part.plainly and part.plainly.replace(*_BY_FOLDERS),
                header=None,
            )
        if first is not None and (part.names, part.types) != (first.names, first.types):
            raise TableError(f"{file}: its columns are not those of {files[0]}")
        first = first or part
        yield part


def files_of(wanted: Wanted) -> list[Path]:
    """List the files of a path, a folder or a pattern, in order.

    Raises
    ------
    ParameterError
        A table of a database is named, too.
    TableError
        There is no file.
    """
    if wanted.table is not None:
        raise ParameterError("a table is named for databases; leave it out for files")
    named = wanted.given
    path = Path(named)
    if path.is_dir():
        found = [
            file
            for file in sorted(path.rglob("*"))
            if file.name.lower().endswith(_ENDINGS)
            and not any(step[0] in "._" for step in file.relative_to(path).parts)
        ]
    elif any(mark in named for mark in "*?[") and not path.exists():
        found = sorted(Path(each) for each in glob.glob(named, recursive=True))
    else:
        found = [path]
    if not found:
        raise TableError(f"{named}: there is no Parquet or CSV file")
    return found


def base_of(named: str) -> Path:
    """Return the file or the folder that is named, or the folder in which a pattern is looked for."""
    base = Path(named)
    while any(mark in str(base) for mark in "*?[") and not base.exists():
        base = base.parent
    return base


def _partitions(named: str, files: Sequence[Path]) -> list[dict[str, str | None]]:
    """Read the columns that folders named as ``year=2024`` tell, for each file."""
    base = base_of(named)
    if not base.is_dir():
        return [{} for _ in files]
    partitions = []
    for file in files:
        steps = (step.partition("=") for step in file.relative_to(base).parts[:-1] if "=" in step)
        partitions.append(
            {unquote(name): None if value == _NO_VALUE else unquote(value) for name, _, value in steps}
        )
        if partitions[-1].keys() != partitions[0].keys():
            raise TableError(f"{file}: its folders do not tell the columns that those of {files[0]} tell")
    return partitions


_NUMBER_OR_DATE = r"[-+]?[.]?[0-9][-+0-9.,:/ TZeE%''\x{a0}\x{202f}]*"
_SILENT = (
    "", "?", "??", "-", "--", "---", ".", "..", "na", "n/a", "n.a.", "#n/a", "#null!", "<na>", "nan", "null",
    "(null)", "missing", "k.a.", "s/d", "n.d.", "unknown", "not known", "not available", "not applicable",
    "not stated", "no answer", "none", "refused", "declined", "withheld", "undisclosed", "other", "inf",
    "infinity", "true", "false", "yes", "no",
)  # fmt: skip
"""Answers of people about whom nothing is known."""
_FEW = 1000


def refuse_double_header(con: duckdb.DuckDBPyConnection, table: Table, *, given_names: bool) -> None:
    """Refuse a table in order whose first record is made of words that stand nowhere else, above numbers.

    One column of numbers is enough if every cell is a word, or if its word is its name; else it takes two.
    Words that are all names of their columns are refused above other texts, too.

    Parameters
    ----------
    given_names
        Whether the columns were named by the caller.
    """
    words = _words(con, table)
    # The first records say of nearly every table that it is one.
    if words and all(_is_second_header(con, table, words, rows) for rows in (_FEW, None)):
        where = "the first record looks like a row of names"
        way = f"leave {setting('names=...', '--names')} out, and " if given_names else ""
        raise TableError(
            f"{table.title}: {where} and no record, since it has texts alone, above numbers or other texts; "
            f"{way}keep one row of names (or move it down, if it is a record)"
        )


def _words(con: duckdb.DuckDBPyConnection, table: Table) -> dict[int, str]:
    """Return the words of the first record by the places of their columns; none if a cell is no word."""
    row = con.execute(f"SELECT * FROM {table.name} WHERE rowid = 0").fetchone() or ()
    words = {}
    for place, cell in enumerate(row):
        if cell is None:
            continue
        text = cell.strip() if isinstance(cell, str) else "0"
        if text.lower() in _SILENT:
            continue
        if text[0].isdigit() or not any(sign.isalpha() or sign in "%€$£¥°" for sign in text):
            return {}
        words[place] = cell
    return words


def _is_second_header(
    con: duckdb.DuckDBPyConnection, table: Table, words: dict[int, str], rows: int | None
) -> bool:
    """Judge the words by the records below them: by all, or by the first ones, which may have few values."""
    silent = ", ".join(map(literal, _SILENT))
    below = "rowid > 0" + ("" if rows is None else f" AND rowid < {rows}")
    above, differing = set(), False
    for place, word in words.items():
        cell = f"c{place}"
        said = f"lower(trim({cell})) NOT IN ({silent})"
        digits = f"regexp_full_match(trim({cell}), '{_NUMBER_OR_DATE}')"
        again, others, numbers, lowest, highest = con.execute(
            f"SELECT coalesce(bool_or({cell} = {literal(word)}), false), count({cell}) FILTER ({said}), "
            f"coalesce(bool_and({digits}) FILTER ({said}), true), "
            f"min({cell}) FILTER ({said}), max({cell}) FILTER ({said}) FROM {table.name} WHERE {below}"
        ).fetchall()[0]
        if again:
            return False
        differing |= rows is not None or lowest != highest
        if numbers and (rows is not None or others > 1):
            above.add(place)
    named = {place for place in words if _plain(words[place]) == _plain(table.names[place])}
    if named == words.keys() and len(words) > 1 and differing:
        return True
    different = {_plain(words[place]) for place in above}
    return len(different) > 1 or bool(above & named) or (bool(above) and len(words) == len(table.names))


def _plain(text: str) -> str:
    return text.strip().casefold()


_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
_ROWS = 10_000
_TYPES = {"int": "BIGINT", "float": "DOUBLE", "date": "DATE", "datetime": "TIMESTAMP"}
_AS_THEY_ARE = {
    "int2": "BIGINT", "int4": "BIGINT", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE",
    "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
# As JSON, days and times are written one way, whatever the server's DateStyle and zone.
_AS_TEXT = {
    "date": "to_json({0}) #>> '{{}}'",
    "timestamp": "to_json({0}) #>> '{{}}'",
    "timestamptz": "CASE WHEN isfinite({0}) THEN (to_json({0} AT TIME ZONE 'UTC') #>> '{{}}') || '+00' "
    "ELSE {0}::text END",
    "numeric": "NULLIF({0}, 'NaN')::text",
}
_COLUMNS = """
WITH RECURSIVE kept AS (
    SELECT attnum, attname::text AS name, atttypid AS type FROM pg_catalog.pg_attribute
    WHERE attrelid = to_regclass({0}) AND attnum > 0 AND NOT attisdropped
), made AS (
    SELECT attnum, name, type, 0 AS depth FROM kept
    UNION ALL
    SELECT made.attnum, made.name, t.typbasetype, made.depth + 1
    FROM made JOIN pg_catalog.pg_type t ON t.oid = made.type AND t.typtype = 'd'
)
SELECT DISTINCT ON (made.attnum) made.name, t.typname::text
FROM made JOIN pg_catalog.pg_type t ON t.oid = made.type ORDER BY made.attnum, made.depth DESC
"""
"""The columns and their types; a domain is what it is made of in the end."""


def part_of(con: duckdb.DuckDBPyConnection, url: str, table: str, scratch: Path) -> Part:
    """Read a table of a database.

    Raises
    ------
    TableError
        There is no such database or table, or it cannot be read.
    MissingExtraError
        The driver is not installed.
    """
    address = Address(url)
    parts = _split(table)
    try:
        if not address.dialect.server and not address.path.is_file():
            raise TableError(f"{address}: there is no such file")
        return _READERS.get(address.scheme, _by_row)(con, address, parts, scratch)
    except (TableError, MissingExtraError):
        raise
    except Exception:
        # A driver's message may quote the address, or a value.
        raise TableError(f"{address}: the table {table} cannot be read") from None


def _split(table: str) -> list[str]:
    """Split the name of a table, as ``schema.people``, of which parts may be quoted."""
    parts = [quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(table)]
    if ".".join(match[0] for match in _NAME.finditer(table)) != table or not parts:
        raise TableError(f"{table!r} is no name of a table; write people, or schema.people")
    return parts


def duckdb_name(table: str) -> str:
    """Write the name of a table of a DuckDB database with its schema, as SQL."""
    parts = _split(table)
    return quoted_name(*(parts if len(parts) > 1 else ["main", *parts]))


def quoted_name(*parts: str) -> str:
    """Write a name of parts as SQL."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _duckdb(con: duckdb.DuckDBPyConnection, address: Address, parts: list[str], scratch: Path) -> Part:
    base, copied = f"base_{secrets.token_hex(8)}", f"copied_{secrets.token_hex(8)}"
    con.execute(f"ATTACH {literal(str(address.path.resolve()))} AS {base} (READ_ONLY)")
    where = duckdb_name(".".join(quoted_name(part) for part in parts))
    con.execute(f"CREATE TEMP TABLE {copied} AS SELECT * FROM {base}.{where}")
    con.execute(f"DETACH {base}")
    described = con.execute(f"DESCRIBE SELECT * FROM {copied}").fetchall()
    aliases = ", ".join(f"c{place}" for place in range(len(described)))
    return Part(
        f"(SELECT * FROM {copied}) AS t({aliases})",
        tuple(row[0] for row in described),
        tuple(str(row[1]) for row in described),
    )


def _by_row(con: duckdb.DuckDBPyConnection, address: Address, parts: list[str], scratch: Path) -> Part:
    """Read a table row by row, by whatever driver: a column is of the type that its values have in Python."""
    dialect = address.dialect
    copy = scratch / f"{secrets.token_hex(8)}.csv"
    met: list[set[str]]
    with contextlib.closing(dialect.connect(address.url if dialect.server else address.path)) as base:
        cursor = base.cursor()
        cursor.execute(f"SELECT * FROM {quoted_name(*parts)}")
        names = tuple(entry[0] for entry in cursor.description)
        met = [set() for _ in names]
        with copy.open("w", encoding="utf-8", newline="") as file:
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    for kinds, value in zip(met, row, strict=True):
                        if value is not None:
                            kinds.add(type(value).__name__)
                    file.write(",".join(map(_field, row)) + "\n")
    types = []
    for name, kinds in zip(names, met, strict=True):
        if kinds == {"int", "float"}:
            kinds.discard("int")
        if len(kinds) > 1:
            raise TableError(f"{address}: column {name!r} mixes values of several types")
        types.append(_TYPES.get(next(iter(kinds), "str"), "VARCHAR"))
    columns = ", ".join(f"'c{place}': '{kind}'" for place, kind in enumerate(types))
    return Part(
        f"read_csv({literal(str(copy))}, auto_detect = false, header = false, columns = {{{columns}}}, "
        "delim = ',', quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false)",
        names,
        tuple(types),
    )


def _field(value: Any) -> str:
    if value is None:
        return ""
    text = (
        value.hex() if isinstance(value, bytes) else repr(value) if isinstance(value, float) else str(value)
    )
    return '"' + text.replace('"', '""') + '"'


def _postgresql(con: duckdb.DuckDBPyConnection, address: Address, parts: list[str], scratch: Path) -> Part:
    """Read a table whole; everything travels as text."""
    dialect = address.dialect
    try:
        session = dialect(address.url)
    except MissingExtraError:
        raise
    except Exception:
        raise TableError(
            f"{address}: no connection; look at host, port, database, user and password"
        ) from None
    with contextlib.closing(session):
        session.execute("SET extra_float_digits = 1")  # all digits that a number has
        described = session.fetch(_COLUMNS.format(dialect.text(quoted_name(*parts)))).rows()
        if not described:
            raise TableError(f"{address}: there is no table {'.'.join(parts)}")
        texts = ", ".join(
            f"{_AS_TEXT.get(kind, '{0}::text').format(quoted_name(name))} AS c{place}"
            for place, (name, kind) in enumerate(described)
        )
        rows = session.fetch(f"SELECT {texts} FROM {quoted_name(*parts)}")
    fetched = f"fetched_{secrets.token_hex(8)}"
    con.register(fetched, rows)
    types = tuple(_AS_THEY_ARE.get(kind, "VARCHAR") for _, kind in described)
    casts = ", ".join(f"CAST(c{place} AS {kind}) AS c{place}" for place, kind in enumerate(types))
    return Part(f"(SELECT {casts} FROM {fetched})", tuple(name for name, _ in described), types)


_READERS = {"postgresql": _postgresql, "duckdb": _duckdb}
"""Whole columns at a time, where a driver gives them."""
