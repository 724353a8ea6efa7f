"""Reading of tables that a user names: files, folders, patterns of files, tables of a database."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from incrowd_verify.databases import Address, is_address, part_of
from incrowd_verify.errors import ParameterError, TableError, setting
from incrowd_verify.source import CsvFormat, Part, Table, literal, open_file, reworded

if TYPE_CHECKING:
    import duckdb

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
        files = [
            file
            for file in sorted(path.rglob("*"))
            if file.name.lower().endswith(_ENDINGS)
            and not any(step[0] in "._" for step in file.relative_to(path).parts)
        ]
    elif any(mark in named for mark in "*?[") and not path.exists():
        files = sorted(Path(each) for each in glob.glob(named, recursive=True))
    else:
        files = [path]
    if not files:
        raise TableError(f"{named}: there is no Parquet or CSV file")
    return files


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
