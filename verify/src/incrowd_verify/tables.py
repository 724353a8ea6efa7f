"""The tables of a check, read by the policy: files, folders, patterns of files, databases."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from incrowd_gate.errors import ParameterError, SchemaError, TableError, alike_of, named, setting
from incrowd_gate.lazy import duckdb
from incrowd_verify.checks import Checks
from incrowd_verify.classes import count_rows
from incrowd_verify.databases import Address, is_address, part_of
from incrowd_verify.policy import Column, Nulls, Policy
from incrowd_verify.source import CsvFormat, Part, Table, group_of, literal, open_file, reworded
from incrowd_verify.spellings import is_spelled, means_missing, point_cells, refuse_unclear_points
from incrowd_verify.values import written

ENDINGS = (".csv.gz", ".csv", ".parquet", ".pq")
_BY_FOLDERS = ("hive_partitioning = false", "hive_partitioning = true, hive_types_autocast = false")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def title_of(named: str) -> str:
    """Return the name of a table in messages: of a database without user and password."""
    return str(Address(named)) if is_address(named) else named


@dataclass(frozen=True)
class Wanted:
    """A table that is read.

    - `given`: a file, a folder, a pattern or the address of a database.
    - `columns`: the columns that are looked for.
    - `csv_format`: how CSV files are written.
    - `everything`: whether the other columns are loaded, too.
    """

    name: str
    given: str
    table: str | None
    columns: Collection[str]
    csv_format: CsvFormat
    everything: bool = False

    @property
    def title(self) -> str:
        """Name of the table in messages."""
        return title_of(self.given)


def load(con: duckdb.DuckDBPyConnection, wanted: Wanted, scratch: Path) -> Table:
    """Load a table into the connection.

    - Raises `ParameterError`: a table was named for a file, or none for a database.
    - Raises `TableError`: it cannot be read, or its files have different columns.
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
    """Load the parts of a table into the connection, each below the last (see `load`)."""
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
    return Table(wanted.name, wanted.title, first.names, first.types, in_order, first.headed, first.zones)


def parts_of(con: duckdb.DuckDBPyConnection, wanted: Wanted, scratch: Path) -> Iterator[Part]:
    """Open the files of a table, each with the columns of the first, and columns that folders tell."""
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

    - Raises `ParameterError`: a table of a database is named, too.
    - Raises `TableError`: there is no file.
    """
    if wanted.table is not None:
        raise ParameterError("a table is named for databases; leave it out for files")
    named = wanted.given
    path = Path(named)
    if path.is_dir():
        files = [
            file
            for file in sorted(path.rglob("*"))
            if file.name.lower().endswith(ENDINGS)
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
    """Refuse a table in order with a first record of words that stand nowhere else, above numbers.

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
    """Return the words of the first record by the places of the columns; none if a cell is no word."""
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
    """Judge the words by all records below, or by the first records, which may have few values."""
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
    named = {place for place in words if _without_case(words[place]) == _without_case(table.names[place])}
    if named == words.keys() and len(words) > 1 and differing:
        return True
    different = {_without_case(words[place]) for place in above}
    return len(different) > 1 or bool(above & named) or (bool(above) and len(words) == len(table.names))


def _without_case(text: str) -> str:
    return text.strip().casefold()


GROUP = "group"
"""The released column that has the number of the group."""
_OF_DUCKDB = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
"""What the names of the files of a database end with."""


@dataclass(frozen=True)
class Sources:
    """Where the tables of a check are: paths or addresses, as given to `verify`.

    The records of the release `beside` it are counted with its own. `header_row` is that of the raw table.
    """

    released: str
    released_table: str | None
    raw: str | None
    raw_table: str | None
    population: str | None
    row_map: str | None
    csv_format: CsvFormat
    names: Sequence[str] = ()
    escaped: bool = False
    beside: str | None = None
    header_row: int | None = None
    suppressed_as: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.row_map is not None and self.raw is None:
            raise ParameterError(
                f"a row map ({setting('row_map', '--row-map')}) is for the raw table; name that, too "
                f"({setting('against', '--against')})"
            )

    def reached(self) -> tuple[list[Path], list[Path]]:
        """Return the files and folders that are read for the tables, with all files of a DuckDB database."""
        files, folders = [], []
        for given in (self.released, self.raw, self.population, self.row_map, self.beside):
            if given is None:
                continue
            if is_address(given):
                if (address := Address(given)).is_file:
                    whole = address.path.resolve()
                    files += [whole.with_name(f"{whole.name}{end}") for end in _OF_DUCKDB]
            elif (base := base_of(given)).is_dir():
                folders.append(base)
            else:
                files.append(base)
        return files, folders

    def alone(self, path: str) -> Sources:
        """Return the sources of another release, without a raw table."""
        return replace(self, released=path, released_table=None, raw=None, raw_table=None, row_map=None)


@dataclass(frozen=True)
class Tables:
    """The tables of a check in DuckDB.

    - `placed`: whether a row map told which raw record each released one is, so that the raw records are in
      the order of the released ones.
    - `missing`: raw records that are not in the release, where the policy lets suppressed ones be left out.
    """

    released: Table
    population: Table | None
    raw: Table | None
    placed: bool
    missing: int = 0

    def same_order(self, policy: Policy) -> bool:
        """Whether record N of the release is known to be record N of the raw table."""
        in_order = self.raw is not None and self.released.in_order and self.raw.in_order
        return in_order and (self.placed or (policy.keep_order and not self.missing))

    @property
    def unplaced(self) -> int:
        """Number of raw records outside the release that nobody can point out."""
        return 0 if self.placed else self.missing

    @property
    def raw_in_order(self) -> Table | None:
        """The raw table in the original order, also where there is a row map."""
        return None if self.raw is None else replace(self.raw, name="raw")


def wanted_tables(policy: Policy, sources: Sources, *, by_script: bool = False) -> list[Wanted]:
    """List the tables of a check, the release first."""
    quasi, sensitive, plain = (
        [column.name for column in policy.named(role)] for role in ("quasi", "sensitive", "insensitive")
    )
    whose = [column.name for column in policy.person if column.role != "quasi"]
    limited = [*quasi, *sensitive, *(column.name for column in policy.treated)]
    released = limited if by_script else [*limited, *plain]
    released = released if policy.m is None else [*released, GROUP]
    csv_format = sources.csv_format
    # A release has its names in the first row.
    own = replace(csv_format, escaped=sources.escaped, header_row=1)
    # Every column that leaves is looked at; a script looks at those that the policy speaks of.
    everything = not by_script or sources.raw is not None or policy.profile is not None
    tables = [Wanted("released", sources.released, sources.released_table, released, own, everything)]
    if sources.beside is not None:
        tables.append(Wanted("earlier", sources.beside, None, limited, own, everything))
    if sources.population is not None:
        tables.append(Wanted("population", sources.population, None, [*quasi, *whose], csv_format))
    if sources.raw is not None:
        unnamed = replace(csv_format, names=tuple(sources.names), header_row=sources.header_row)
        columns = [column.name for column in policy.columns]
        tables.append(Wanted("raw", sources.raw, sources.raw_table, columns, unnamed, everything=True))
    if sources.row_map is not None:
        tables.append(Wanted("row_map", sources.row_map, None, ["row"], CsvFormat(), everything=True))
    return tables


def load_tables(con: Checks, policy: Policy, sources: Sources, scratch: Path) -> Tables:
    """Load the tables."""
    tables: dict[str, Table] = {}
    for each in wanted_tables(policy, sources):
        if each.name == "row_map":
            missing = records_left_out(con, tables["released"], tables["raw"], policy)
            if count_rows(con, tables["raw"]) != count_rows(con, tables["released"]) + missing:
                continue
        table = load(con.con, each, scratch)
        refuse_lacking(con, each, table.names, policy)
        if each.name in ("released", "earlier"):
            table = star_cells(con, table, policy, sources.suppressed_as)
            point_commas(con, table, policy)
        if each.name == "raw":
            if table.headed:
                refuse_double_header(con.con, table, given_names=bool(sources.names))
            table = respell_values(con, table, policy)
        tables[each.name] = table
    released, raw, placed = tables["released"], tables.get("raw"), "row_map" in tables
    missing = 0 if raw is None else records_left_out(con, released, raw, policy)
    if "earlier" in tables:
        released = _together(con, released, tables["earlier"], policy)
    if raw is not None and placed:
        raw = as_released(con, released, raw, tables["row_map"])
    return Tables(released, tables.get("population"), raw, placed, missing)


def records_left_out(con: Checks, released: Table, raw: Table, policy: Policy) -> int:
    """Return how many raw records the release lacks, if the policy lets suppressed records be left out."""
    lacking = count_rows(con, raw) - count_rows(con, released)
    return max(lacking, 0) if policy.suppressed != "keep" else 0


def refuse_lacking(con: Checks, wanted: Wanted, names: Sequence[str], policy: Policy) -> None:
    """Refuse a table that has not the columns that are looked at."""
    roles = {"population": ("quasi",), "raw": (), "row_map": ()}.get(wanted.name, ("quasi", "sensitive"))
    lacking = [column.name for role in roles for column in policy.named(role) if column.name not in names]
    if not lacking:
        return
    what = f"{wanted.title}: the policy's column(s) {named(lacking)} are not in the file"
    near = alike_of(lacking, names)
    if con.is_script:
        raise ParameterError(what + near)
    raise SchemaError(f"{what}; check the header's spelling and the delimiter{near}")


def _together(con: Checks, one: Table, other: Table, policy: Policy) -> Table:
    """Put the records of two releases into a single table, where columns of two types become texts."""
    types: dict[str, str] = {}
    cells: list[list[str]] = [[], []]
    for name in one.names:
        if not other.has(name):
            continue
        declared = [table.type_of(name) for table in (one, other)]
        alike = declared[0] == declared[1]
        types[name] = declared[0] if alike else "VARCHAR"
        for table, own in zip((one, other), cells, strict=True):
            cell = f"t.c{table.place(name)}" if alike else written(con, table, name, policy.null_values)
            own.append(f"{cell} AS c{len(own)}")
    queries = (
        f"SELECT {', '.join(own)} FROM {table.name} AS t"
        for table, own in zip((one, other), cells, strict=True)
    )
    con.execute(f"CREATE TABLE pair AS {' UNION ALL '.join(queries)}")
    title = f"{one.title} and {other.title}"
    return Table("pair", title, tuple(types), tuple(types.values()), in_order=False)


def star_cells(con: Checks, table: Table, policy: Policy, marks: Sequence[str]) -> Table:
    """Write stars into the cells of a release that another tool suppressed by some marks."""
    types, cells = list(table.types), []
    for column in policy.named("quasi") if marks else ():
        if not table.has(column.name):
            continue
        place = table.place(column.name)
        text = written(con, table, column.name, alias=table.name)
        marked = f"coalesce({text}, '') IN ({', '.join(map(literal, marks))})"
        if con.row(f"SELECT count(*) FROM {table.name} WHERE {marked}")[0]:
            cells.append(f"CASE WHEN {marked} THEN '*' ELSE {text} END AS c{place}")
            types[place] = "VARCHAR"
    if cells:
        con.execute(
            f"CREATE OR REPLACE TABLE {table.name} AS SELECT * REPLACE ({', '.join(cells)}) FROM {table.name}"
        )
    return replace(table, types=tuple(types))


def point_commas(con: Checks, table: Table, policy: Policy) -> None:
    """Write decimal points into the released cells that have commas."""
    for column in policy.named("quasi"):
        if column.has_commas and table.kind_of(column.name) == "text":
            con.note(f"The cells of {column.name} with decimal points.")
            point_cells(con, table.name, f"c{table.place(column.name)}")


def respell_values(con: Checks, table: Table, policy: Policy) -> Table:
    """Write the raw values of quasi-identifiers plainly, as cells of a release are."""
    types = list(table.types)
    for column in policy.named("quasi"):
        if table.has(column.name):
            place = table.place(column.name)
            types[place] = write_plainly(
                con, table.name, f"c{place}", types[place], column, policy.null_values,
                of_file=table.in_order,
            )  # fmt: skip
    return replace(table, types=tuple(types))


def write_plainly(
    con: Checks, table: str, cell: str, declared: str, column: Column, nulls: Nulls,
    *, in_script: bool = True, of_file: bool = True,
) -> str:  # fmt: skip
    """Write the values of a column with a spelling as a release would, and return the type afterwards.

    - `in_script`: whether a script says so, and checks that there are no other values.
    - `of_file`: whether its texts come from a file; a database may show numbers of its own types as texts.
    - Raises `SchemaError`: texts are not spelled as the policy says; they are counted, not repeated.
    """
    stored, name = group_of(declared), column.name
    if of_file and column.spelling is None and stored == "text" and column.is_read_by_number:
        refuse_unclear_points(con, table, f"CAST({cell} AS VARCHAR)", name, nulls.of(name))
    if column.spelling is None or not is_spelled(column.spelling, stored):
        return declared
    if in_script:
        con.note(f"The values of {name} as a release writes them.")
    if stored != "text":
        # Whole numbers are written without a fraction.
        text = f"regexp_replace(CAST({cell} AS VARCHAR), '[.]0$', '')"
        con.execute(f"ALTER TABLE {table} ALTER {cell} TYPE VARCHAR USING nullif({text}, 'nan')")
    own = nulls.of(name)
    missing = means_missing(cell, own) if own else "false"
    has_value = f"{cell} IS NOT NULL AND {cell} <> '*' AND NOT {missing}"
    rows = con.execute(f"SELECT DISTINCT {cell} FROM {table} WHERE {has_value}").fetchall()
    texts = sorted(text for (text,) in rows)
    plain = [text for text in map(column.spelling.plain, texts) if text is not None]
    if len(plain) < len(texts):
        raise SchemaError(
            f"column {name!r}: {len(texts) - len(plain)} of {len(texts)} distinct values are not spelled as "
            "the policy says; name those that mean missing in null_values"
        )
    if all(text.endswith("T00:00:00") for text in plain):
        plain = [text.partition("T")[0] for text in plain]
    con.execute(
        "CREATE OR REPLACE TEMP TABLE respelled AS SELECT unnest(?::VARCHAR[]) AS raw, "
        "unnest(?::VARCHAR[]) AS plain",
        [texts, plain],
    )
    if in_script:
        con.check(
            f"values that were not there when this was written: {name}",
            f"SELECT count(*) FROM {table} WHERE {has_value} AND {cell} NOT IN (SELECT raw FROM respelled)",
            column=name,
        )
    gone = f"CASE WHEN {means_missing('plain', own)} THEN NULL ELSE plain END" if own else "plain"
    con.execute(f"UPDATE {table} SET {cell} = {gone} FROM respelled WHERE {table}.{cell} = raw")
    con.execute("DROP TABLE respelled")
    return "VARCHAR"


def as_released(con: Checks, released: Table, raw: Table, row_map: Table) -> Table:
    """Put the raw records in the order of the released records.

    - `row_map`: which raw record each released one is, by its number from 1.
    - Raises `TableError`: the row map does not name every record once.
    """
    records, most = count_rows(con, released), count_rows(con, raw)
    if not (released.in_order and raw.in_order):
        raise TableError("a row map is for files: records of a database have no numbers")
    if "row" not in row_map.names:
        raise TableError(f"{row_map.title}: has no column 'row'; take the row map of this release")
    row = f"TRY_CAST(c{row_map.place('row')} AS BIGINT)"
    numbers = con.row(
        f"SELECT count(*), count(DISTINCT {row}), coalesce(min({row}), 0) >= 1, "
        f"coalesce(max({row}), 0) <= {most} FROM {row_map.name}"
    )
    if numbers != (records, records, True, True):
        raise TableError(
            f"{row_map.title}: does not name each of {records} records once; take the row map of this release"
        )
    con.note("The raw records in the order of the release, by the row map.")
    con.execute(
        f"CREATE TABLE moved AS SELECT w.* FROM {row_map.name} AS m JOIN {raw.name} AS w "
        f"ON w.rowid = {row.replace('(c', '(m.c')} - 1 ORDER BY m.rowid"
    )
    con.check(
        "records that the row map does not name once",
        f"SELECT count(*) - count(DISTINCT {row}) + count(*) FILTER (coalesce({row} NOT BETWEEN 1 AND "
        f"(SELECT count(*) FROM {raw.name}), true)) FROM {row_map.name}",
    )
    return replace(raw, name="moved")
