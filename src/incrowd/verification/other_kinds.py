"""Files that DuckDB does not read by itself: turned into a private Parquet file, a reader for each kind."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import TableError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["as_parquet"]


def as_parquet(path: Path, scratch: Path) -> Path | None:
    """Copy a file of another kind, told by its name, into a Parquet file in a private folder.

    Returns
    -------
    None where the file is named for none of these kinds.

    Raises
    ------
    TableError
        It cannot be read.
    MissingExtraError
        A library for it is not installed.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        return None
    if not path.is_file():
        why = "is no file" if path.exists() else "No such file or directory"
        raise TableError(f"{path}: the file cannot be read ({why})")
    copy = scratch / f"{secrets.token_hex(8)}.parquet"
    table = read(path)
    if not table.width:
        raise TableError(f"{path}: the file has no columns")
    table.write_parquet(copy)
    return copy


def _arrow(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        data = path.read_bytes()
        # Polars would take the compressed bytes of an early version for values.
        if b"ARROW:experimental_compression" not in data:
            return pl.read_ipc(data)
    except (pl.exceptions.PolarsError, OSError):
        pass
    raise TableError(f"{path}: the file cannot be read as Arrow IPC (Feather)")


def _json_lines(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_ndjson(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError):
        raise TableError(f"{path}: the file cannot be read as JSON lines") from None


_READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".feather": _arrow,
    ".arrow": _arrow,
    ".ipc": _arrow,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}
"""The reader of each ending."""
