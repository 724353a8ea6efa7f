"""JSON lines: an object a line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import ClassVar

from incrowd.core.errors import TableError
from incrowd.core.io.addresses import read_bytes
from incrowd.core.io.kinds.base import Kept, Kind, Place, refuse_types
from incrowd.core.lazy import pl

_EXACT = 2.0**53


class JsonLines(Kind):
    """JSON lines, an object per line, with columns of numbers and texts read as texts."""

    name = "json-lines"
    title = "a file of JSON lines"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    def read(self, path: Path, place: Place) -> tuple[pl.DataFrame, Kept]:
        """Read a file (see `Kind.read`)."""
        data = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
        if not data.strip():
            raise TableError(f"{path}: the file is empty")
        try:
            table = pl.read_ndjson(data, infer_schema_length=None)
        except pl.exceptions.PolarsError:
            raise _unreadable(path, data) from None
        for name, dtype in table.schema.items():
            if dtype.is_float() and (table[name].abs() >= _EXACT).any() and _has_long(data, name):
                raise TableError(
                    f"{path}: column {name!r} has fractions and numbers of more than 15 digits, which a JSON "
                    "reader rounds; write its numbers as texts"
                )
        return table, Kept(self.name)

    def prepared(self, table: pl.DataFrame, target: Path, kept: Kept | None) -> pl.DataFrame:
        """Return the table with texts in place of types that JSON lacks (see `Kind.prepared`)."""
        from polars import selectors

        refuse_types(table.schema, target, "JSON", (pl.Object, pl.Binary, pl.Duration))
        # A short float has another text as a long one.
        table = table.with_columns(selectors.by_dtype(pl.Float32).cast(pl.String).cast(pl.Float64))
        return table.with_columns(
            selectors.float().fill_nan(None),
            selectors.categorical().cast(pl.String),
            selectors.enum().cast(pl.String),
            selectors.decimal().cast(pl.String),
            selectors.time().dt.to_string("iso"),
            selectors.date().dt.to_string("iso"),
            selectors.datetime().dt.to_string("iso:strict"),
        )

    def write(self, table: pl.DataFrame, place: Path, kept: Kept | None) -> None:
        """Write a file (see `Kind.write`)."""
        table.write_ndjson(place)


def _has_long(data: bytes, name: str) -> bool:
    """Say whether a column has a whole number that a float may not hold."""
    return any(
        re.search(
            re.escape(json.dumps(name, ensure_ascii=plain).encode()) + rb"\s*:\s*-?[0-9]{16,}\s*[,}]", data
        )
        for plain in (True, False)
    )


def _unreadable(path: Path, data: bytes) -> TableError:
    """Say which line is no object, or else that the objects do not make a table."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return TableError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8")
    if text.lstrip()[:1] == "[":
        return TableError(f"{path}: this is one JSON array; write an object a line (JSON lines)")
    for number, line in enumerate(text.split("\n"), 1):
        try:
            fine = not line.strip() or isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            fine = False
        if not fine:
            return TableError(f"{path}, line {number}: this is no JSON object; write an object a line")
    return TableError(
        f"{path}: a column mixes types that make no column, as true with 1, or lists with numbers; write its "
        "values as texts"
    )
