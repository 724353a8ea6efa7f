"""The table of a window: place, format and columns, and the first policy."""

from __future__ import annotations

import codecs
import gzip
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from incrowd.core.errors import InputError, ParameterError, PolicyError, TableError
from incrowd.core.io.addresses import file_path, looks_like_address
from incrowd.core.io.beginnings import MISSING_TEXTS
from incrowd.core.io.columns import columns_named, passing
from incrowd.core.io.seals import is_seal
from incrowd.core.lazy import pl
from incrowd.core.progress import Progress, check, interrupting
from incrowd.core.reading.spellings import QUESTIONS
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.engines.dialects.addresses import Address
from incrowd.release.drafting.profile import profile_of
from incrowd.release.linked.policy import is_linked, linked_tables
from incrowd.release.policy.policy import Policy

ENCODINGS = {
    "utf-8": "UTF-8", "cp1252": "Western European (windows-1252)", "latin-1": "Western European (ISO 8859-1)",
    "cp1250": "Central European (windows-1250)", "cp932": "Japanese (Shift JIS)", "gb18030": "Chinese (GB)",
    "big5": "Chinese (Big5)", "cp949": "Korean (windows-949)", "cp1253": "Greek (windows-1253)",
    "cp1251": "Cyrillic (windows-1251)", "cp1254": "Turkish (windows-1254)", "utf-16": "UTF-16",
}  # fmt: skip
"""The usual encodings of a CSV and what they are called, in the order in which they are guessed."""
_STEERING = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
"""Characters that no text has, so that it is none, or in another encoding."""
_LOOKED_AT = 1 << 22
_UNPACKED = 256 << 20
"""Bytes of a policy and its hierarchies, unpacked."""
_LONGEST_NAME = 255
"""Bytes of a file's name, as usual file systems have them."""
_TYPED = 1_000
"""Rows from which the type of a column is found."""


@dataclass(frozen=True)
class Source:
    """Where a table is.

    Attributes
    ----------
    path
        The file that is read.
    name
        How a command names it.
    sample
        Whether it is the built-in sample.
    database, table
        The database and its table, where the rows come from one; `path` is then a folder for a copy, which
        is looked at.
    """

    path: Path
    name: str
    sample: bool = False
    database: Address | None = None
    table: str | None = None

    @property
    def title(self) -> str:
        """The name of the table on the page."""
        return self.name if self.table is None else f"{self.table} in {self.name}"


@dataclass(frozen=True)
class Column:
    """The description of a column: type and counts."""

    name: str
    type: str
    distinct: int
    missing: int


def guessed(path: Path, refused: str) -> tuple[str, list[str]] | None:
    """Guess the encoding of a text that is not in the `refused` encoding, and read some lines."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            start = (gzip.GzipFile(fileobj=file) if zipped else file).read(_LOOKED_AT)
        except (OSError, EOFError, zlib.error):
            return None
    for encoding in ENCODINGS:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(start)
        except UnicodeError:
            continue
        # Where bytes are exchanged there are no ends of lines.
        if encoding != refused and "\n" in text and not _STEERING.search(text):
            lines = text.splitlines()
            return encoding, [line for line in lines if not line.isascii()][:3] or lines[:3]
    return None


def path_of(text: str) -> Path:
    """Return the path that somebody wrote, with ``~`` for a home; ``~name`` has to name a user.

    Raises
    ------
    TableError
        When it is an address, which is not repeated since it may have a password, or no path of a file.
    """
    if looks_like_address(text):
        raise TableError("an address is no file; open a table of a database in the panel Table")
    try:
        return file_path(text.strip()).expanduser()
    except RuntimeError:
        raise TableError(f"{text}: there is no user of this name; write the whole path") from None


def plain_name(name: str, ending: str) -> str:
    """Return the name of an uploaded file in a form for commands.

    Signs that nobody sees, or that make a pattern of files, become ``_``. What a command would take for a
    folder or an address, and what no file is called, is a ``table``.

    Examples
    --------
    >>> plain_name("../people [1].csv", ".csv"), plain_name("..", ".csv")
    ('people _1_.csv', 'table.csv')
    """
    stem = "".join(sign if sign.isprintable() and sign not in "*?[]" else "_" for sign in name)
    plain = Path(stem.replace("\\", "/")).name
    if not plain.strip(". ") or looks_like_address(plain) or len(plain.encode()) > _LONGEST_NAME:
        return f"table{ending}"
    return f"./{plain}" if plain.startswith("-") else plain


@contextmanager
def called(path: Path, name: str) -> Iterator[None]:
    """Name a file in errors by the owner's name, and not by the place in the private folder."""
    try:
        yield
    except InputError as error:
        raise type(error)(str(error).replace(str(path), name)) from None


def in_database(address: str, table: str, copy: Path) -> Source:
    """Return a table of a database as a source.

    Raises
    ------
    InputError
        When that is no address, or it may hold a password, which a command would show.
    """
    place = Address(address)
    if place.has_secret:
        raise ParameterError(
            f"leave the password out of the address: put it into {place.dialect.secret}, since the address "
            f"is part of the command that makes the release again; write it as {place.dialect.example}, and "
            "other signs as %40 for @"
        )
    if not table:
        raise ParameterError("write the name of a table of the database, as people or schema.people")
    return Source(copy, place.url, database=place, table=table)


def copied(source: Source, progress: Progress) -> None:
    """Copy the rows of a table of a database into the source's folder, some at a time."""
    from incrowd.engines.sql.databases import Database

    assert source.database is not None
    assert source.table is not None
    progress.stage("fetch")
    source.path.mkdir(0o700)
    with Database(source.database) as database, interrupting(progress, database.interrupt):
        table = database.table(source.table)
        for number, rows in enumerate(table.rows()):
            rows.write_parquet(source.path / f"{number:06d}.parquet")
            check(progress)


def counted(rows: pl.LazyFrame, *, estimate: bool) -> tuple[int, list[Column]]:
    """Count the rows, and the values of each column, with estimates of distinct values on request."""
    columns = columns_named(rows.collect_schema())
    distinct = [x.approx_n_unique() if estimate else x.drop_nulls().n_unique() for x in columns]
    queries = [pl.len(), *distinct, *(column.null_count() for column in columns)]
    try:
        counts = passing(rows).select(each.alias(f"{place}") for place, each in enumerate(queries))
        height, *counts_of_columns = counts.collect(engine="streaming").row(0)
    except pl.exceptions.PolarsError as error:
        raise TableError(
            f"the values of a column cannot be counted ({type(error).__name__}); leave columns of lists out"
        ) from None
    first = rows.head(_TYPED).collect(engine="streaming")
    numbers = zip(counts_of_columns, counts_of_columns[len(columns) :], strict=False)
    return height, [Column(one.name, _type_of(one), *two) for one, two in zip(first, numbers, strict=True)]


def _type_of(column: pl.Series) -> str:
    """Find the type of a column from the first values, as a draft does: ``date (2021-03-05)``."""
    profile = profile_of(column, column.name, MISSING_TEXTS)
    kind = None if column.dtype == pl.Boolean else profile.kind
    word = str(kind or column.dtype).replace("category", "text")
    values = (value for value in column if value is not None and value not in MISSING_TEXTS)
    return f"{word} ({next(values, '')})" if kind == "date" or profile.ways else word


def read_policy(path: Path, folder: Path | None = None) -> tuple[dict[str, Any], Path]:
    """Read a policy file as plain data, with the path; an archive is unpacked into a folder."""
    from incrowd.release.policy.policy_file import read_toml

    if folder is not None and path.suffix.lower() == ".zip":
        try:
            with ZipFile(path) as archive:
                size = sum(each.file_size for each in archive.infolist())
            if size > _UNPACKED:
                raise PolicyError(f"{path}: more than 256 MiB when unpacked, which no policy has")
            shutil.unpack_archive(path, folder, "zip")
        except (OSError, BadZipFile, NotImplementedError, RuntimeError):
            raise PolicyError(f"{path}: not a readable archive of a policy") from None
        path = folder / "policy.toml"
    document = read_toml(path)
    whole = document
    if is_linked(document):
        linked_tables(document)
        document = {name: value for name, value in document.items() if name != "linked"}
    # A draft may have open questions, which the page asks. The rest of it has to be right.
    Policy.from_dict(_answered(document), path.parent, str(path))
    return whole, path


def _answered(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy document with answers to open questions, so that the rest can be checked."""
    copy = deepcopy(dict(document))
    columns = copy.get("columns")
    for settings in columns.values() if isinstance(columns, dict) else ():
        if not isinstance(settings, dict):
            continue
        if settings.get("role") == OPEN_ROLE:
            settings["role"] = "insensitive"
        for what in QUESTIONS:
            if settings.get(what) == OPEN_ROLE:
                del settings[what]
    return copy


def packed(archive: Path, files: Iterable[Path]) -> tuple[Path, str]:
    """Pack files into an archive in the same folder, and return the archive with a name."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as pack:
        for file in sorted(files, key=lambda file: (len(file.parts), file)):
            if file.is_file() and not is_seal(file.name):
                pack.write(file, file.relative_to(archive.parent))
    return archive, archive.name


def option_words(named: dict[str, str | None]) -> list[str]:
    """Return options as words, without options that have no value."""
    return [word for name, value in named.items() if value is not None for word in (f"--{name}", value)]
