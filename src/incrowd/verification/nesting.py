"""Objects and lists of a file: the fields of objects are columns of dotted names, short lists are texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

_SHORT = (
    "varchar", "enum", "boolean", "date", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint",
    "usmallint", "uinteger", "ubigint", "uhugeint", "sqlnull",
)  # fmt: skip
"""Types of the values of a list that is one text, as DuckDB's Python calls them."""


def flat_columns(
    con: duckdb.DuckDBPyConnection, relation: str, names: tuple[str, ...]
) -> list[tuple[str, str]]:
    """List the columns of a relation as a release has them: their names, and the SQL that makes each.

    Parameters
    ----------
    relation
        SQL whose columns are called c0, c1, ...
    names
        What they are called in the file.
    """
    types = con.sql(f"SELECT * FROM {relation}").types
    return [
        column
        for place, (name, kind) in enumerate(zip(names, types, strict=True))
        for column in _fields(name, f"c{place}", kind)
    ]


def _fields(name: str, cell: str, kind: Any) -> Iterator[tuple[str, str]]:
    if kind.id == "struct":
        for field, inner in kind.children:
            escaped = field.replace("'", "''")
            yield from _fields(f"{name}.{field}", f"struct_extract({cell}, '{escaped}')", inner)
        return
    yield name, _text(cell, kind)


def _text(cell: str, kind: Any) -> str:
    """Join the values of a short list; those that would be read as several stand in quotes."""
    if kind.id not in ("list", "array") or str(dict(kind.children)["child"].id) not in _SHORT:
        return cell
    quoted = "'\"' || replace(x, '\"', '\"\"') || '\"'"
    shown = (
        f"CASE WHEN x IS NULL THEN '' WHEN x = '' OR contains(x, ';') OR contains(x, '\"') THEN {quoted} "
        "ELSE x END"
    )
    return f"array_to_string(list_transform({cell}::VARCHAR[], lambda x: {shown}), ';')"
