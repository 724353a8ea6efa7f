"""Files that DuckDB does not read by itself: turned into a private Parquet file, a reader for each kind."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import MissingExtraError, TableError
from incrowd.verification.labels import labelled, special_missing

if TYPE_CHECKING:
    import polars as pl


def is_other_kind(path: Path) -> bool:
    """Say whether a file is named for a kind that is neither CSV nor Parquet."""
    return path.suffix.lower() in _READERS


def is_json_lines(path: Path) -> bool:
    """Say whether a file is named as JSON lines."""
    return _READERS.get(path.suffix.lower()) is _json_lines


def as_parquet(path: Path, scratch: Path, sheet: str | None = None) -> Path | None:
    """Copy a file of another kind, told by its name, into a Parquet file in a private folder.

    Parameters
    ----------
    sheet
        The sheet that is read of a workbook; of other files it says nothing.

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
    table = _excel(path, sheet) if read is _excel else read(path)
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
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        pass
    raise TableError(f"{path}: the file cannot be read as Arrow IPC (Feather)")


def _json_lines(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_ndjson(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError):
        raise TableError(f"{path}: the file cannot be read as JSON lines") from None


def _excel(path: Path, sheet: str | None = None) -> pl.DataFrame:
    from incrowd.verification.workbook import workbook

    return workbook(path, sheet)


def _stata(path: Path) -> pl.DataFrame:
    import pyreadstat

    _, said = pyreadstat.read_dta(path, metadataonly=True, output_format="dict")
    formats = {each.replace("%-", "%"): each for each in said.original_variable_types.values() if each}
    cells, said = pyreadstat.read_dta(
        path,
        user_missing=True,
        output_format="dict",
        extra_date_formats=[each for key, each in formats.items() if key.startswith(("%td", "%d"))],
        extra_datetime_formats=[each for key, each in formats.items() if key.startswith("%tc")],
    )
    return labelled(cells, said)


def _spss(path: Path) -> pl.DataFrame:
    import pyreadstat

    return labelled(*pyreadstat.read_sav(path, user_missing=True, output_format="dict"))


def _sas(path: Path) -> pl.DataFrame:
    import pyreadstat

    cells, said = pyreadstat.read_xport(path, output_format="dict")
    special_missing(path, cells)
    return labelled(cells, said)


def _of_package(read: Callable[[Path], pl.DataFrame], what: str) -> Callable[[Path], pl.DataFrame]:
    """Read a file of a statistics package; name the errors in it, and the library that is not installed."""

    def call(path: Path) -> pl.DataFrame:
        try:
            import pyreadstat
        except ImportError:
            raise MissingExtraError("pyreadstat", "stats", what) from None
        try:
            return read(path)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ArithmeticError, ValueError, OSError):
            raise TableError(f"{path}: the file cannot be read as {what}") from None

    return call


_READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".feather": _arrow,
    ".arrow": _arrow,
    ".ipc": _arrow,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".dta": _of_package(_stata, "a Stata file"),
    ".sav": _of_package(_spss, "an SPSS file"),
    ".zsav": _of_package(_spss, "an SPSS file"),
    ".xpt": _of_package(_sas, "a SAS transport file"),
    ".xport": _of_package(_sas, "a SAS transport file"),
    ".xlsx": _excel,
}
"""The reader of each ending."""
