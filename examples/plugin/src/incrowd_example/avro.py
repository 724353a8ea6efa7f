"""Avro files, as Polars reads and writes them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import ClassVar

from incrowd.core.errors import TableError
from incrowd.core.io.addresses import read_bytes
from incrowd.core.io.kinds.base import Kept, Kind, refuse_types
from incrowd.core.lazy import pl


class Avro(Kind):
    """Avro files. Cells have types, as in Parquet."""

    name = "avro"
    title = "an Avro file"
    suffixes: ClassVar[tuple[str, ...]] = (".avro",)
    marks: ClassVar[tuple[bytes, ...]] = (b"Obj\x01",)

    def read(self, path: Path, sheet: str | None, header_row: int | None = None) -> tuple[pl.DataFrame, Kept]:
        """Read a file; see `Kind.read`."""
        try:
            return pl.read_avro(io.BytesIO(read_bytes(path))), Kept(self.name)
        except pl.exceptions.PolarsError:
            raise TableError(f"{path}: not a readable Avro file") from None

    def prepared(self, table: pl.DataFrame, target: Path, kept: Kept | None) -> pl.DataFrame:
        """Return the table; types that Avro lacks are refused."""
        refuse_types(table.schema, target, self.title, (pl.Object, pl.Categorical, pl.Duration, pl.Time))
        return table

    def write(self, table: pl.DataFrame, place: Path, kept: Kept | None) -> None:
        """Write a file; see `Kind.write`."""
        table.write_avro(place)
