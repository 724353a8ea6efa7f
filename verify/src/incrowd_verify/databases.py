"""Addresses of databases, and the reading of a table of a database.

Files of DuckDB and SQLite are read here. Others are reached by whoever calls the verifier (see `OTHERS`).
"""

from __future__ import annotations

import contextlib
import re
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from incrowd_gate.errors import MissingExtraError, TableError
from incrowd_gate.lazy import duckdb
from incrowd_verify.source import Part, literal


class Database(NamedTuple):
    """A kind of database that only the caller reaches.

    - `scheme`: the beginning of its addresses, whatever other word for it stands in one.
    - `title`: writes an address without user, password and options.
    - `connect`: connects to an address, as DB-API 2.0 has it.
    - `session`: opens a session at an address, which has ``execute``, ``fetch`` and ``close``.
    - `is_server`: whether an address names a server; else it names a file.
    """

    scheme: str
    title: Callable[[str], str]
    connect: Callable[[str], Any]
    session: Callable[[str], Any]
    is_server: bool


OTHERS: dict[str, Database] = {}
"""Databases by the beginnings of their addresses, as the caller passes them in."""
OWN = ("sqlite", "duckdb")
"""Databases that the verifier reads by itself, as they are files."""


def _scheme(text: str) -> str:
    return text.partition("://")[0].lower()


def is_address(text: str) -> bool:
    """Say whether a text is the address of a database that can be read, and no path of a file."""
    return "://" in text and (_scheme(text) in OWN or _scheme(text) in OTHERS)


@dataclass(frozen=True)
class Address:
    """The address of a database, printed without user, password and options.

    `url`: as ``sqlite:///path`` or ``postgresql://user@host/database``.
    """

    url: str = field(repr=False)

    @property
    def other(self) -> Database | None:
        """How the caller reaches the database; None where the verifier reads the database."""
        return OTHERS.get(_scheme(self.url))

    @property
    def is_file(self) -> bool:
        """Whether the database is a file, which `path` names."""
        return self.other is None or not self.other.is_server

    @property
    def scheme(self) -> str:
        """``duckdb``, ``sqlite``, ``postgresql``, ..."""
        return self.other.scheme if self.other else _scheme(self.url)

    @property
    def path(self) -> Path:
        """The file of the database: relative after three slashes, absolute after four."""
        slash, name = (rest := self.url.partition("://")[2])[:1], rest[1:]
        if slash != "/" or not name:
            raise TableError(f"{self.scheme}: write {self.scheme}:///path/of/the/file")
        if "\0" in name:
            raise TableError(f"{self.scheme}: a NUL character is no part of a file's name")
        return Path(name)

    def __str__(self) -> str:
        if self.other:
            return self.other.title(self.url)
        rest = self.url.partition("://")[2]
        return f"{self.scheme}://{rest if rest.startswith('/') else '...'}"


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

    - Raises `TableError`: there is no such database or table, or it cannot be read.
    - Raises `MissingExtraError`: the driver is not installed.
    """
    address = Address(url)
    parts = _split(table)
    try:
        if address.is_file and not address.path.is_file():
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
    """Write the name of a table of a DuckDB database with the schema, as SQL."""
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
    """Read a table row by row, by any driver; the type of a column is the values' type in Python."""
    copy = scratch / f"{secrets.token_hex(8)}.csv"
    met: list[set[str]]
    # The file of SQLite has to be there.
    connected = (
        address.other.connect(address.url)
        if address.other
        else sqlite3.connect(f"{address.path.absolute().as_uri()}?mode=rw", uri=True)
    )
    with contextlib.closing(connected) as base:
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
    assert address.other is not None
    try:
        session = address.other.session(address.url)
    except MissingExtraError:
        raise
    except Exception:
        raise TableError(
            f"{address}: no connection; look at host, port, database, user and password"
        ) from None
    with contextlib.closing(session):
        session.execute("SET extra_float_digits = 1")  # all digits that a number has
        described = session.fetch(_COLUMNS.format(literal(quoted_name(*parts)))).rows()
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
