"""Arrow IPC files, also called Feather (version 2)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from incrowd.core.errors import TableError
from incrowd.core.io.addresses import read_bytes
from incrowd.core.io.kinds.base import Kept, Kind, Place, refuse_types
from incrowd.core.lazy import nw, pl

_OLD = b"FEA1"
_STREAM = b"\xff\xff\xff\xff"
_EXPERIMENT = b"ARROW:experimental_compression"


class Feather(Kind):
    """Arrow IPC files (Feather). Cells have types, as in Parquet."""

    name = "feather"
    title = "an Arrow file"
    suffixes: ClassVar[tuple[str, ...]] = (".feather", ".arrow", ".ipc")
    marks: ClassVar[tuple[bytes, ...]] = (b"ARROW1",)

    def read(self, path: Path, place: Place) -> tuple[pl.DataFrame, Kept]:
        """Read a file (see `Kind.read`)."""
        data = read_bytes(path)
        if data.startswith((_OLD, _STREAM)):
            what = "Feather version 1" if data.startswith(_OLD) else "an Arrow stream"
            raise TableError(f"{path}: this is {what}; save the table as Feather version 2 (Arrow IPC)")
        if _EXPERIMENT in data:
            # Polars passes it over, and takes compressed bytes for numbers.
            raise TableError(
                f"{path}: written by Arrow 0.17 with a compression of its own; write it anew with a later "
                "version"
            )
        try:
            return pl.read_ipc(data), Kept(self.name)
        except (pl.exceptions.PolarsError, OSError):
            raise TableError(f"{path}: not a readable Arrow file") from None
        except pl.exceptions.PanicException:
            raise TableError(
                f"{path}: has columns of one name, or of a type that is not read here, such as unions and "
                "calendar intervals; leave these columns out when you save the file"
            ) from None

    def prepared(self, table: pl.DataFrame, target: Path, kept: Kept | None) -> pl.DataFrame:
        """Return the table in new buffers, without values of removed rows."""
        from incrowd.core.io.frames import without_traces

        refuse_types(table.schema, target, "an Arrow file", (pl.Object,))
        frame = nw.from_native(table, eager_only=True)
        anew: pl.DataFrame = without_traces(frame, {name: frame[name] for name in table.columns})
        return anew

    def write(self, table: pl.DataFrame, place: Path, kept: Kept | None) -> None:
        """Write a file with types that every reader knows, and no metadata (see `Kind.write`)."""
        table.write_ipc(place, compat_level=pl.CompatLevel.oldest())
