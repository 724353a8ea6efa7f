"""Files processed as streams: folders, patterns and files larger than memory."""

from __future__ import annotations

import codecs
import glob
import gzip
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from incrowd.core.errors import EncodingError, ParameterError, TableError, quoted
from incrowd.core.io.addresses import file_path, is_scan, require_regular
from incrowd.core.io.beginnings import bytes_of_lines, has_lone_returns, refuse_double_header, utf16_of
from incrowd.core.io.columns import columns_named, flat, passing
from incrowd.core.io.files import (
    GZIP,
    CsvFormat,
    checked_csv,
    has_parquet_ends,
    header_line,
    is_parquet,
    missing_alone,
    naming_of_encoding,
    no_text,
    unescape,
    unzipping,
    write_csv,
)
from incrowd.core.io.kinds.files import (
    LONGEST_SIGNATURE,
    PARQUET,
    refuse_content,
    refuse_header_row,
    refuse_sheet,
    refuse_streamed,
)
from incrowd.core.io.scratch import PrivateFolder
from incrowd.core.lazy import NDArray, duckdb, np, pl
from incrowd.core.progress import Progress, Silent

if TYPE_CHECKING:
    from incrowd.core.io.shuffle import ShuffledRows

_CHUNK = 1 << 22
_SUFFIXES = (".csv", ".csv.gz", *PARQUET)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SHARE = 0.5
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, eq=False)
class Files:
    """The files of a table, with rows read on demand and never all together.

    Attributes
    ----------
    frame
        All rows, file after file in the order of their names: a lazy Polars frame.
    parts
        The rows of each file.
    stored
        The Parquet files that hold the rows, in the same order. They are the files themselves, or private
        copies of CSV files, which are removed with this object. None if the rows are computed, as those of a
        release.
    partitions
        Columns that the folders tell, as ``year=2024``, with the value of each file.
    sources
        The files that were opened.
    csv_format
        How the files are written, where they are CSV.
    memory
        Bytes that counting may take, about.
    recoded
        Counts the rows by the keys that they were recoded by, where they are those of a release.
    shuffled
        The rows in a random order, where they are those of a release that has one; `frame` is made of it.
    """

    frame: pl.LazyFrame
    parts: tuple[pl.LazyFrame, ...]
    stored: tuple[Path, ...] | None
    partitions: dict[str, tuple[str | None, ...]]
    csv_format: CsvFormat | None
    memory: int
    kept: Any = field(default=None, repr=False)
    recoded: Any = field(default=None, repr=False)
    shuffled: ShuffledRows | None = field(default=None, repr=False)
    sources: tuple[Path, ...] = field(default=(), repr=False)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return self.frame.collect_schema().names()

    def __repr__(self) -> str:
        return f"Files({len(self.parts)} files of {', '.join(self.columns)})"


def damaged(files: Files, names: Sequence[str]) -> Path | None:
    """Return the first file with an unreadable column among `names`, if any."""
    while files.stored is None and isinstance(files.kept, Files):
        files = files.kept
    for source, stored in zip(files.sources, files.stored or (), strict=False):
        try:
            frame = _rows_of(stored)
            columns = columns_named(name for name in frame.collect_schema().names() if name in names)
            # Hashes make sure that pages are read, where statistics might tell the rest.
            frame.select(column.hash().max() for column in columns).collect(engine="streaming")
        except pl.exceptions.ComputeError as error:
            if "os error" not in str(error):
                return source
    return None


def refuse_damaged(files: Files, names: Sequence[str]) -> None:
    """Raise for a file with an unreadable column, after a pass over the files.

    Raises
    ------
    TableError
    """
    file = damaged(files, names)
    if file is not None:
        raise TableError(f"{file}: the file is damaged; its rows cannot be read") from None


@contextmanager
def reading(files: Files, names: Sequence[str]) -> Iterator[None]:
    """Say which file is damaged where Polars cannot read some columns.

    Raises
    ------
    TableError
    """
    try:
        yield
    except pl.exceptions.ComputeError as error:
        # What the system says, as of a full disk, is no damage of what is read.
        if "os error" not in str(error):
            refuse_damaged(files, names)
        raise


def bytes_of(text: str | int) -> int:
    """Parse an amount of memory, such as ``2GiB``, ``800M`` or a number of bytes.

    Raises
    ------
    ParameterError
        When it is none, less than 64 MiB or more than any machine has.
    """
    try:
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*", str(text).lower())
        amount = float(match[1]) * _UNITS[match[2]] if match else 0.0
    except ValueError:
        amount = 0.0  # a number of very many digits
    if not 64 * 2**20 <= amount <= 2**60:
        raise ParameterError(
            f"memory must be an amount from 64MiB to {2**20}TiB, as 2GiB or 800M, got {quoted(text)}"
        )
    return int(amount)


def usual_memory() -> int:
    """Return half of the memory, in bytes, of the machine or of this process's limit."""
    if hasattr(os, "sysconf"):
        amount = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    else:
        # DuckDB takes 80 % of the machine's by default.
        [(text,)] = duckdb.execute("SELECT current_setting('memory_limit')").fetchall()
        amount = int(bytes_of(text) / 0.8)
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(limit).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            amount = min(amount, int(text))
    return int(amount * _SHARE)


def scan(
    path: str | os.PathLike[str],
    csv_format: CsvFormat | None = None,
    *,
    memory: str | int | None = None,
    progress: Progress | None = None,
    written: bool = False,
) -> Files:
    """Open a file, a folder or a pattern for streaming.

    Rows are in the order of the files' names. A CSV is checked and read once, into a private temporary
    Parquet file. This file takes a fraction of the room, and is removed with the result. Folders named as
    ``year=2024`` tell a column.

    Parameters
    ----------
    path
        A Parquet or CSV file (gzipped, too), a folder of such files at any depth, or a pattern.
    csv_format
        How the CSV files are written, where they are not plain.
    memory
        The memory that counting may take, about: bytes, or a text such as ``2GiB``. By default it is half of
        the machine's memory. The database that counts spills to disk above it. Keys that need more are
        refused.
    progress
        Told which file is read.
    written
        Whether the files were written here, so that their first records are records, whatever they look like.

    Raises
    ------
    TableError
        When there is no such file, one is not readable, has two rows of names, or other columns than the
        first.
    """
    if csv_format is not None:
        refuse_sheet(Path(path), csv_format.place)
    limit = usual_memory() if memory is None else bytes_of(memory)
    text = os.fspath(file_path(path))
    files = _find_files(text)
    csvs = [file for file in files if not _holds_parquet(file)]
    if csvs and len(csvs) < len(files):
        raise TableError(f"{path}: Parquet and CSV files lie there together; name one kind by a pattern")
    folder, stored = None, files
    if csvs:
        folder = PrivateFolder()
        stored, csv_format = _stage_all(
            files, folder.path, csv_format or CsvFormat(), progress, written=written
        )
    else:
        if csv_format is not None:
            refuse_header_row(Path(path), csv_format.header_row)
        csv_format = None
    partitions = _partitions(text, files)
    try:
        if not csvs:
            folder, stored = _flat_copies(files)
        frames = _rows_of_each(files, stored, partitions)
    except (pl.exceptions.PolarsError, OSError):
        raise TableError(f"{path}: not readable Parquet files") from None
    columns = _rows_of(stored[0]).collect_schema().names()
    partitions = {name: values for name, values in partitions.items() if name not in columns}
    frame = pl.concat(frames) if partitions else _rows_of(list(stored))
    return Files(
        frame, tuple(frames), tuple(stored), partitions, csv_format, limit, folder, sources=tuple(files)
    )


def _find_files(text: str) -> list[Path]:
    folder = Path(text)
    if os.path.isdir(text):
        files = sorted(
            file
            for file in folder.rglob("*")
            if file.name.lower().endswith(_SUFFIXES)
            and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        )
    else:
        files = sorted(map(Path, glob.glob(text, recursive=True))) if is_scan(text) else [folder]
    if not files:
        raise TableError(f"{text}: there is no Parquet or CSV file")
    return files


def _holds_parquet(file: Path) -> bool:
    refuse_streamed(file)
    try:
        require_regular(file)
        with file.open("rb") as opened:
            start = opened.read(4)
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(size - 8, 0))
            return is_parquet(file) or has_parquet_ends(start, opened.read(8), size)
    except OSError as error:
        raise TableError(f"{file}: cannot be read ({error.strerror})") from None


def _partitions(text: str, files: Sequence[Path]) -> dict[str, tuple[str | None, ...]]:
    """Derive columns from the folders' names."""
    base = Path(text)
    while any(mark in str(base) for mark in "*?[") and not base.exists():
        base = base.parent
    if not base.is_dir():
        return {}
    partitions: list[dict[str, str | None]] = []
    for file in files:
        pairs = [part.split("=", 1) for part in file.relative_to(base).parts[:-1] if "=" in part]
        partitions.append(
            {unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in pairs}
        )
        if partitions[-1].keys() != partitions[0].keys():
            raise TableError(f"{file}: its folders do not tell the columns that those of {files[0]} tell")
    return {name: tuple(values[name] for values in partitions) for name in partitions[0]}


def _flat_copies(files: list[Path]) -> tuple[PrivateFolder | None, list[Path]]:
    """Copy Parquet files with objects or short lists into a private folder, flattened."""
    folder: PrivateFolder | None = None
    stored: list[Path] = []
    for number, file in enumerate(files):
        rows = _rows_of(file)
        table = flat(rows, str(file))
        if table is rows:
            stored.append(file)
            continue
        folder = folder or PrivateFolder()
        copy = folder.path / f"{number:06}.parquet"
        passing(table).sink_parquet(copy, maintain_order=True)
        stored.append(copy)
    return folder, stored


def _rows_of(stored: Path | list[Path]) -> pl.LazyFrame:
    """Scan Parquet files without Hive partition columns."""
    return pl.scan_parquet(stored, hive_partitioning=False, glob=False)


def _rows_of_each(
    files: Sequence[Path], stored: Sequence[Path], partitions: dict[str, tuple[str | None, ...]]
) -> list[pl.LazyFrame]:
    """Return the rows of each file with the partition columns, and raise for files of different columns."""
    frames: list[pl.LazyFrame] = []
    for number, file in enumerate(stored):
        frame = _rows_of(file)
        names = frame.collect_schema().names()
        constants = {name: values[number] for name, values in partitions.items() if name not in names}
        frames.append(
            frame.with_columns(
                pl.lit(value, dtype=pl.String).alias(name) for name, value in constants.items()
            )
        )
        if number and frames[0].collect_schema() != frames[-1].collect_schema():
            raise TableError(f"{files[number]}: its columns are not those of {files[0]}")
    return frames


# --- CSV ---------------------------------------------------------------------------------------------


def _stage_all(
    files: Sequence[Path], folder: Path, csv_format: CsvFormat, progress: Progress | None, *, written: bool
) -> tuple[list[Path], CsvFormat]:
    """Copy CSV files into Parquet files, and return the copies and the format of the first file."""
    stored, first = [], csv_format
    for number, file in enumerate(files):
        copy = folder / f"{number:06}.parquet"
        used = _stage(file, copy, folder, first, written=written)
        if not written:
            refuse_double_header(_rows_of(copy), str(file), headerless=bool(used.names))
        # Every file is read as the first was.
        first = first if number else replace(used, header_row=csv_format.header_row)
        stored.append(copy)
        (progress or Silent()).advance(number + 1, len(files))
    return stored, replace(first, header_row=None)


def _stage(file: Path, copy: Path, folder: Path, csv_format: CsvFormat, *, written: bool) -> CsvFormat:
    """Check a CSV and convert the file to Parquet with text columns, and return the format."""
    plain, compact = folder / "plain.csv", folder / "kept.csv"
    source = _as_plain(file, plain, csv_format.encoding)
    try:
        if not source.stat().st_size:
            raise TableError(f"{file}: the file is empty")
        content = np.asarray(np.memmap(source, np.uint8, "r"))
        with source.open("rb") as opened:
            start = opened.read(1 << 20)
        above = 0 if written else header_line(start, file, csv_format) - 1
        titles = bytes_of_lines(start, above, file)
        content = content[titles:]
        used, names, expected, blank = checked_csv(content, file, csv_format, above=above)
        mark = (used.delimiter or ",")[0]
        if len(names) > 1 and blank:
            source, above = _without_blank_lines(content, mark, compact), 0
        frame = pl.scan_csv(
            source,
            separator=mark,
            has_header=not used.names,
            new_columns=names,
            infer_schema=False,
            glob=False,
            skip_lines=above,
        )
        if len(used.delimiter or ",") > 1:
            frame = frame.with_columns(pl.all().str.strip_chars(" "))
        if used.escaped:
            frame = unescape(frame)
        if len(names) == 1:
            frame = frame.select(missing_alone(names[0]))
        try:
            passing(frame).sink_parquet(copy, maintain_order=True)
            rows = pl.scan_parquet(copy).select(pl.len()).collect().item()
        except pl.exceptions.PolarsError:
            raise TableError(f"{file}: not readable as a CSV with the delimiter {mark!r}") from None
        if rows != expected or pl.scan_parquet(copy).collect_schema().names() != names:
            raise TableError(f"{file}: {expected} rows were expected and {rows} read; check the quotes")
    finally:
        plain.unlink(missing_ok=True)
        compact.unlink(missing_ok=True)
    return used


def _without_blank_lines(content: NDArray[np.uint8], mark: str, target: Path) -> Path:
    """Copy a CSV without blank lines, and return the path of the copy."""
    from incrowd.core.kernels.lines import without_blank_lines

    copy = np.memmap(target, np.uint8, "w+", shape=content.shape)
    length = without_blank_lines(content, mark, copy)
    copy.flush()
    del copy
    os.truncate(target, length)
    return target


def _as_plain(file: Path, plain: Path, encoding: str) -> Path:
    """Return a path to the CSV in UTF-8 without a byte order mark: the file itself or a copy."""
    try:
        with file.open("rb") as opened:
            start = opened.read(LONGEST_SIGNATURE)
        refuse_content(file, start)
        zipped = start[:2] == GZIP
        with unzipping(file), gzip.open(file) if zipped else file.open("rb") as opened:
            start = opened.read(1 << 20)
        name = codecs.lookup(encoding).name
        if name == "utf-8":
            name = encoding = utf16_of(start) or name
        decoder = codecs.getincrementaldecoder(encoding)("ignore")
        returns = has_lone_returns(decoder.decode(start).encode())
        if not (zipped or returns) and name == "utf-8" and not start.startswith(codecs.BOM_UTF8):
            for _ in _decoded(file, encoding, zipped=False):
                pass
            return file
        with plain.open("w", encoding="utf-8", newline="") as target:
            for number, text in enumerate(_decoded(file, encoding, zipped=zipped)):
                marked = text if number else text.lstrip("\ufeff")
                target.write(marked.replace("\r", "\n") if returns else marked)
    except OSError as error:
        raise TableError(f"{file}: cannot be read ({error.strerror})") from None
    return plain


def _decoded(file: Path, encoding: str, *, zipped: bool) -> Iterator[str]:
    """Decode a text in pieces, and raise for bytes of another encoding or a NUL."""
    decoder = codecs.getincrementaldecoder(encoding)()
    position = 0
    with gzip.open(file) if zipped else file.open("rb") as source:
        while True:
            with unzipping(file):
                data = source.read(_CHUNK)
            try:
                text = decoder.decode(data, final=not data)
            except (UnicodeDecodeError, UnicodeError):
                raise EncodingError(
                    f"{file}: the bytes from {position} to {position + len(data)} are not {encoding}; "
                    f"{naming_of_encoding()}"
                ) from None
            if "\0" in text:
                raise no_text(file)
            if text:
                yield text
            if not data:
                return
            position += len(data)


# --- writing -----------------------------------------------------------------------------------------


def stream_table(table: pl.LazyFrame, path: Path, target: Path, csv_format: CsvFormat) -> None:
    """Write a lazy frame to `path` while streaming, as Parquet or CSV by the name of `target`.

    Raises
    ------
    TableError
        When a value has no place in the encoding.
    """
    refuse_streamed(target)
    table = passing(table)
    if is_parquet(target):
        table.sink_parquet(path, maintain_order=True)
        return
    write_csv(table, path, target, csv_format)


def stream_batches(batches: Iterator[pl.DataFrame], path: Path, target: Path, csv_format: CsvFormat) -> None:
    """Write one or more frames into a file (see `stream_table`)."""
    from polars.io.plugins import register_io_source

    first = next(batches)
    failed: list[Exception] = []

    def source(*_: object) -> Iterator[pl.DataFrame]:
        yield first
        try:
            yield from batches
        except Exception as error:
            # It would come out as the text of another error.
            failed.append(error)
            raise

    try:
        stream_table(register_io_source(source, schema=first.schema), path, target, csv_format)
    except Exception:
        if failed:
            raise failed[0] from None
        raise


def cut_batches(batches: Iterator[pl.DataFrame], sizes: Sequence[int]) -> Iterator[Iterator[pl.DataFrame]]:
    """Split a stream of frames into consecutive runs of `sizes` rows, to be read in order.

    Each run has at least one frame, which may be empty.
    """
    rest = next(batches)

    def run(size: int) -> Iterator[pl.DataFrame]:
        nonlocal rest
        while size > len(rest):
            yield rest
            size -= len(rest)
            rest = next(batches)
        yield rest[:size]
        rest = rest[size:]

    for size in sizes:
        yield run(size)
