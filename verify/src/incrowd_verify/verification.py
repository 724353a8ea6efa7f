"""The job of a verification: load the tables, make every check, and put the result together.

For a script each table is read twice, by `load_parts` and as the script does. Where the two differ in a cell
or in the order of rows, there is no script: DuckDB alone would judge another table.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

from incrowd_gate.errors import ParameterError, TableError, named, setting
from incrowd_gate.points import ANSWERABLE, answered
from incrowd_gate.profiles import Choice
from incrowd_gate.scratch import PrivateFolder
from incrowd_verify.checks import Checks, Script
from incrowd_verify.classes import count_rows
from incrowd_verify.clause_checks import judge_clauses
from incrowd_verify.comparison import check_against
from incrowd_verify.conformity import (
    check_cells,
    check_columns,
    check_groups,
    check_suppressed,
    differences,
    remark,
)
from incrowd_verify.databases import OTHERS, Address, duckdb_name, is_address, part_of, quoted_name
from incrowd_verify.figures import find_figures
from incrowd_verify.forms import check_form
from incrowd_verify.other_kinds import is_json_lines, is_other_kind
from incrowd_verify.persons import SHARED, Persons, find_persons, same_by_people
from incrowd_verify.policy import Policy, read_policy
from incrowd_verify.release_points import ReleasedRows, points_of_release
from incrowd_verify.result import ClauseResult, PeopleFound, Verification
from incrowd_verify.source import CsvFormat, Part, Table, connect, glob_free, literal, reworded
from incrowd_verify.tables import (
    ENDINGS,
    Sources,
    Tables,
    Wanted,
    as_released,
    files_of,
    load_parts,
    load_tables,
    parts_of,
    point_commas,
    records_left_out,
    refuse_double_header,
    refuse_lacking,
    respell_values,
    title_of,
    wanted_tables,
)

INTERNAL, ROW_MAP = "internal", "rows.parquet"
"""The folder of confidential files beside a release, and the file of the row map in it."""


def verify(  # noqa: PLR0913
    path: str | PathLike[str],
    policy_path: str | PathLike[str],
    *,
    table: str | None = None,
    population: str | PathLike[str] | None = None,
    against: str | PathLike[str] | None = None,
    against_table: str | None = None,
    row_map: str | PathLike[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    names: Sequence[str] = (),
    escaped: bool = False,
    sheet: str | None = None,
    header_row: int | None = None,
    fill_merged: bool = False,
    previous_release: str | PathLike[str] | None = None,
    published_as_one: bool = False,
    account: str | PathLike[str] | None = None,
    profile: str | None = None,
    suppressed_as: Sequence[str] = (),
) -> Verification:
    """Check a release against the policy, and against a raw table or an earlier release, if given.

    Parameters
    ----------
    path
        The release: a CSV (also gzipped) or Parquet file, a folder or pattern of such files, or the address
        of a database (``postgresql://``, ``sqlite:///``, ``duckdb:///``).
    policy_path
        The policy, a TOML file. Hierarchy files are looked for relative to it.
    table
        The table of a database.
    population
        The population: a table of people of whom the release may hold some. k-map, delta-presence and
        journalist risk need it.
    against
        The raw table, named as `path`: every cell must be true of its record, other columns must be as they
        were.
    against_table
        Its table, where it is a database.
    row_map
        Which record of the raw table each record of the release is: a file as `Release.write_row_map` writes
        it. Each record is then checked by itself; without it, the tables are compared as a whole. Where the
        policy says whose row it is, people are counted with it, and the one that was written with the
        release is taken if you name none; see `row_map_of`.
    delimiter
        One character between the fields of CSV files, or one and a blank; None to find out.
    encoding
        Of CSV files; None for UTF-8, or UTF-16 where the first bytes tell it.
    names
        The columns of a raw CSV file that has no header.
    escaped
        Whether the release is a CSV with ``'`` in front of texts that a spreadsheet would run as formulas.
    sheet
        The sheet that is read of Excel workbooks, where one has several.
    header_row
        The line of the raw CSV, or the row of the raw workbook, that names the columns, from 1; None finds it
        out.
    fill_merged
        Whether cells of a workbook that are merged down a column all have the value of the first.
    previous_release
        The file of an earlier release by the same policy. Each of the two is checked alone, and the limits on
        both as one table, too. Of the raw table of the earlier release nothing is checked.
    published_as_one
        Whether both are merged before anybody sees them. Limits are then checked only on both as one table.
    account
        The account that was saved beside the release, ``release.json``: release and policy must have the
        digests and the number of records that it says.
    profile
        A rule profile by its name, such as ``ema-0070``, whose clauses are judged, too. It takes the place of
        another one in the policy; of the same one the policy's inputs and attestations are kept.
    suppressed_as
        The texts of suppressed cells beside ``*``, in the quasi-identifiers of a release of another tool; the
        empty text is a missing cell.

    Returns
    -------
    Verification
        The figures, and whether each limit is met (with equality; sums within 1e-12). Where the policy says
        whose row it is, they are about people. Without the raw table or the order of its rows they are about
        records, and `holds` is None where people could change the verdict.

    Raises
    ------
    PolicyError
        The policy cannot be read, or asks for something that verify cannot check.
    SchemaError
        A quasi-identifier or a sensitive column is not in the release.
    HierarchyError
        A hierarchy is no tree, or lacks a value of its column.
    TableError
        A table cannot be read, or the release holds no records.
    ParameterError
        An unknown encoding, a delimiter that is no single character, a database without a table.

    Notes
    -----
    Definitions are those of `incrowd.measures.privacy`. Suppressed records are in no class, but their
    sensitive values are part of the whole table's distribution. Unless the policy keeps them, they have to
    satisfy every limit as a class of their own. Raw records that are not in the release count as suppressed
    then. Missing is a value of its own. Numbers are compared by value; the values of a column
    with a hierarchy are its leaves.
    """
    if published_as_one and previous_release is None:
        raise ParameterError(
            f"{setting('published_as_one=True', '--published-as-one')} is about two releases; name the "
            f"earlier one ({setting('previous_release=', '--previous-release')})"
        )
    if header_row is not None and header_row < 1:
        raise ParameterError(f"header_row must be 1 or more, got {header_row}")
    if header_row is not None and names:
        raise ParameterError(
            f"{setting('names=', '--names')} are for a raw table without a header, and "
            f"{setting('header_row=', '--header-row')} says where it is; leave one out"
        )
    released, raw = _named(path), None if against is None else _named(against)
    people, rows = (None if each is None else _named(each, only_file=True) for each in (population, row_map))
    csv_format = CsvFormat(delimiter, encoding, sheet=sheet, fill_merged=fill_merged)
    policy_file = Path(_named(policy_path, only_file=True))
    policy = _with_profile(read_policy(policy_file), profile, policy_file.parent)
    if raw is not None and rows is None and policy.is_about_people:
        rows = row_map_of(released)
    sources = Sources(
        released, table, raw, against_table, people, rows, csv_format, names, escaped,
        header_row=header_row, suppressed_as=suppressed_as,
    )  # fmt: skip
    alone = replace(policy, demands=(), attackers=()) if published_as_one else policy
    # What leaves as one table has the points of one table.
    result = _verified(alone, sources, points=not published_as_one)
    if previous_release is not None:
        earlier = _named(previous_release, only_file=True)
        pair = replace(sources.alone(sources.released), released_table=table, beside=earlier)
        result = replace(
            result,
            earlier=_verified(alone, sources.alone(earlier), points=not published_as_one),
            together=_verified(policy, pair, points=published_as_one),
            published_as_one=published_as_one,
        )
    if account is None:
        return result
    described = Path(_named(account, only_file=True))
    problems, unchecked = differences(
        described, sources.released, Path(policy_path), result.records, result.suppressed
    )
    # The account says how many records were left out, and its digest that these are the others.
    left_out = 0 if not (problems or unchecked) else result.left_out
    problems, unchecked = [*result.problems, *problems], [*result.unchecked, *unchecked]
    return replace(result, problems=tuple(problems), unchecked=tuple(unchecked), left_out=left_out)


def row_map_of(released: str) -> str | None:
    """Return the row map that was written with a release, or None.

    It lies in ``internal`` beside the release, under the name of the release, or as `Release.save` calls it::

        safe.csv                              out/release.csv
        internal/safe.csv.rows.parquet        out/internal/rows.parquet, where out/release.json is
    """
    if is_address(released):
        return None
    path = Path(released)
    named = path.parent / INTERNAL / f"{path.name}.{ROW_MAP}"
    saved = path.parent / INTERNAL / ROW_MAP if (path.parent / "release.json").exists() else named
    return next((str(each) for each in (named, saved) if each.is_file()), None)


def _with_profile(policy: Policy, name: str | None, folder: Path) -> Policy:
    if name is None:
        return policy
    chosen = Choice.of_settings({"name": name}, folder)
    same = policy.profile is not None and policy.profile.profile == chosen.profile
    return policy if same else replace(policy, profile=chosen)


def clauses_of(
    path: str | PathLike[str], policy_path: str | PathLike[str], chosen: Choice | None
) -> tuple[ClauseResult, ...]:
    """Judge the clauses of a profile on a release, and nothing else.

    - `path`, `policy_path`: as in `verify`.
    - `chosen`: the profile with its inputs, whose files may lie elsewhere than beside the policy.
    """
    policy = replace(read_policy(Path(policy_path)), profile=chosen, demands=(), attackers=())
    sources = Sources(_named(path), None, None, None, None, None, CsvFormat())
    with _opened(policy, sources) as (con, tables):
        find_figures(con, policy, tables, find_persons(con, tables, policy))
        return tuple(judge_clauses(con, policy, ReleasedRows(con, policy, tables)))


def _verified(policy: Policy, sources: Sources, *, points: bool) -> Verification:
    """Load the tables of a check, and check the tables."""
    only_limits = sources.beside is not None
    with _opened(policy, sources) as (con, tables):
        if not policy.sets:
            return _checked(con, policy, tables, only_limits=only_limits, points=points)
        from incrowd_verify.sets import check_sets, with_sets

        shown, hidden, finding, of_items = check_sets(con, policy, tables)
        result = _checked(con, shown, hidden, only_limits=only_limits, points=points)
        return with_sets(result, policy, finding, of_items if points else ())


@contextmanager
def _opened(policy: Policy, sources: Sources) -> Iterator[tuple[Checks, Tables]]:
    with (
        PrivateFolder() as scratch,
        reworded(Path(title_of(sources.released))),
        connect(scratch, *sources.reached(), in_order=sources.raw is not None) as connection,
    ):
        con = Checks(connection)
        yield con, load_tables(con, policy, sources, scratch)


def _named(path: str | PathLike[str], *, only_file: bool = False) -> str:
    """Return a path or an address; a text that only looks like an address is refused, but not repeated.

    An address may have a password.
    """
    try:
        named = os.fspath(path)
    except TypeError:
        raise ParameterError(
            f"verify reads files, and got {type(path).__name__}: give the paths of the release and of the "
            "policy, as release.write('safe.csv') and policy.write('policy.toml') write them"
        ) from None
    if is_address(named) and not only_file:
        return named
    if re.match(r"(?i)\s*[a-z][a-z0-9+.:-]+:/|.*://|.*:/\S*@|.*\bpassword\s*=", named):
        if not OTHERS:
            raise TableError("an address names no file here; `incrowd verify` reads databases behind servers")
        raise TableError("an address is no file; a database is taken as the release or the raw table alone")
    return named


def _checked(con: Checks, policy: Policy, tables: Tables, *, only_limits: bool, points: bool) -> Verification:
    persons = find_persons(con, tables, policy)
    counted, findings, measuring = find_figures(con, policy, tables, persons)
    records, suppressed, classes = counted
    unweighed = measuring.unweighed
    remarks = con.remarks
    if not only_limits:
        remark(con, policy, tables, persons, counted)
    if unweighed and tables.population is None and "k-map" in policy.models:
        remarks.unchecked.append(
            f"how many people the classes stand for by their sampling weights, an estimate: {unweighed}"
        )
    if persons is not None and persons.unknown:
        why = "nothing tells who is in both releases" if only_limits else persons.unknown
        remarks.unchecked.append(f"how many people the classes have: {why}")
    if not only_limits:
        check_against(con, tables, policy)
    rows = ReleasedRows(con, policy, tables)
    counted_points = points_of_release(policy, rows) if points else ()
    clauses = () if only_limits else tuple(judge_clauses(con, policy, rows))
    smallest = int(con.row("SELECT coalesce(min(records), 0) FROM classes")[0])
    people = None if persons is None or persons.unknown else _count_people(con, persons, suppressed)
    # Last, as it changes the classes.
    exposed = check_suppressed(con, policy, tables, measuring, findings)
    return Verification(
        file=tables.released.title, records=records, suppressed=suppressed,
        max_suppression=policy.max_suppression, classes=classes, wildcards=policy.wildcards,
        findings=tuple(findings), problems=tuple(remarks.problems), unchecked=tuple(remarks.unchecked),
        notes=tuple(remarks.notes),
        points=answered((*counted_points, *(exposed if points else ())), policy.accepted),
        left_out=tables.unplaced,
        profile=None if policy.profile is None else policy.profile.profile.full_name, clauses=clauses,
        smallest=smallest, people=people,
    )  # fmt: skip


def _count_people(con: Checks, persons: Persons, suppressed: int) -> PeopleFound:
    """Count the people; where everybody has a single record, as many people as records are suppressed."""
    if persons.several:
        suppressed = persons.people - int(con.row("SELECT count(DISTINCT person) FROM crowd")[0])
    (smallest,) = con.row("SELECT coalesce(min(size), 0) FROM classes")
    return PeopleFound(persons.people, persons.unnamed, suppressed, int(smallest))


ALL_HOLD = f"every check of this script holds; not looked at: {', '.join(ANSWERABLE)}"
ONE_FAILS = "a check of this script fails"
"""The last line of a script, which is no verdict: it looks at no point that a policy can accept."""


def checks_as_sql(  # noqa: PLR0913
    path: str | PathLike[str],
    policy_path: str | PathLike[str],
    *,
    table: str | None = None,
    population: str | PathLike[str] | None = None,
    against: str | PathLike[str] | None = None,
    against_table: str | None = None,
    row_map: str | PathLike[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> str:
    """Write the checks of a policy on a release as a script of SQL for DuckDB.

    Whoever has DuckDB can run it, with nothing else installed: ``duckdb < checks.sql``. It reads the release,
    computes every figure anew, and its last line says whether every check holds. It contains the limits, the
    names of columns and cells of the release. Only with a population or a raw table it contains values of
    these, too, and is as confidential.

    Parameters
    ----------
    path
        The release: CSV (in UTF-8, also gzipped, UTF-16 or Latin-1), Parquet or JSON lines; a file, a folder
        or a pattern. Or the address of a DuckDB database.
    policy_path, table, population, against, against_table, row_map, delimiter, encoding
        As in `verify`.

    Raises
    ------
    ParameterError
        What is given does not tell what the policy asks for, as whose the records are. Or DuckDB alone does
        not read a table, as one of SQLite or of Excel.
    PolicyError, SchemaError, HierarchyError, TableError
        As `verify` raises them.

    Examples
    --------
    >>> checks_as_sql("safe.csv", "policy.toml")  # doctest: +SKIP
    """
    raw, people, rows = (None if each is None else fspath(each) for each in (against, population, row_map))
    csv_format = CsvFormat(delimiter, encoding)
    sources = Sources(fspath(path), table, raw, against_table, people, rows, csv_format)
    policy_file = Path(policy_path)
    policy = read_policy(policy_file)
    if policy.sets:
        raise ParameterError(f"no SQL script judges the sets of column {policy.sets[0].name!r}; use verify")
    with (
        PrivateFolder() as scratch,
        reworded(Path(title_of(sources.released))),
        connect(scratch, *sources.reached(), in_order=True) as con,
    ):
        script = Script(con)
        _write(script, scratch, sources, policy_file, policy)
    return "\n".join(script.lines) + "\n"


def _write(script: Script, scratch: Path, sources: Sources, policy_file: Path, policy: Policy) -> None:
    found = _load(script, scratch, sources, policy_file, policy)
    released, raw, placed = found["released"], found.get("raw"), "row_map" in found
    check_columns(script, policy, released)
    check_groups(script, policy, released)
    point_commas(script, released, policy)
    missing = 0
    if raw is not None:
        raw = respell_values(script, raw, policy)
        missing = records_left_out(script, released, raw, policy)
        amounts = (f"(SELECT count(*) FROM {table.name})" for table in (released, raw))
        script.check(
            "records more or less than in the raw table", f"SELECT {' - '.join(amounts)} + {missing}"
        )
        if count_rows(script, released) + missing != count_rows(script, raw):
            # Nothing else of both is compared.
            script.never("the tables had as many records")
            end_script(script)
            return
        if placed:
            raw = as_released(script, released, raw, found["row_map"])
    tables = Tables(released, found.get("population"), raw, placed, missing)
    _, findings, measuring = find_figures(script, policy, tables, _find_people(script, tables, policy))
    for number, column in enumerate(policy.named("quasi")):
        check_cells(script, number, column, policy)
    for column in policy.treated:
        if column.role != "quasi":
            check_form(script, column, policy, released)
    if raw is not None:
        check_against(script, tables, policy)
    if policy.profile is not None or policy.context is not None:
        script.note("The clauses of the profile.")
        list(judge_clauses(script, policy, ReleasedRows(script, policy, tables)))
    check_suppressed(script, policy, tables, measuring, findings)
    end_script(script)


def _load(
    script: Script, scratch: Path, sources: Sources, policy_file: Path, policy: Policy
) -> dict[str, Table]:
    """Write how the tables are read, and return the given tables by name."""
    wanted = wanted_tables(policy, sources, by_script=True)
    begin_script(script, Path(title_of(sources.released)), policy_file, confidential=len(wanted) > 1)
    places = [reader_of(script, each, scratch) for each in wanted]
    make_checks(script)
    script.note("The columns that the policy speaks of. One that is missing ends the script with an error.")
    tables = {}
    for each, (reader, parts) in zip(wanted, places, strict=True):
        refuse_lacking(script, each, parts[0].names, policy)
        tables[each.name] = load_by_script(script, each, reader, parts)
    if "raw" in tables and tables["raw"].headed:
        refuse_double_header(script.con, tables["raw"], given_names=False)
    if not count_rows(script, tables["released"]):
        raise TableError(f"{tables['released'].title}: the file holds no records")
    return tables


def make_checks(script: Script) -> None:
    """Write the table of the checks."""
    script.note("What is found: a row for each check.")
    script.execute(
        'CREATE TABLE checks(number INTEGER, "check" VARCHAR, "column" VARCHAR, reached DOUBLE, '
        "asked DOUBLE, holds BOOLEAN)"
    )


def begin_script(script: Script, release: Path, policy_file: Path, *, confidential: bool) -> None:
    """Write what the script is, and where the tables are."""
    digest = hashlib.sha256(policy_file.read_bytes()).hexdigest()
    holds = [
        "Every figure is computed anew from the file. The script holds limits, names of columns, and cells",
        "of the release: which of these suit the policy's hierarchies was decided when it was written.",
    ]
    if confidential:
        holds += ["", "CONFIDENTIAL: it also holds values of the raw table or of the population."]
    else:
        holds.append(
            "Whether the cells are true of the people needs the raw table, so that is not checked here."
        )
    script.note(
        f"Checks of the policy {policy_file.name} (SHA-256 {digest})",
        f"on the release {release.name}. Run it with DuckDB and nothing else: duckdb < checks.sql",
        "",
        *holds,
        "",
        "Where the tables are. Change the paths if they lie elsewhere.",
    )
    del script.lines[0]
    # The connection has it, and lets nobody change it.
    script.lines.append("SET preserve_insertion_order = true;")


def _find_people(script: Script, tables: Tables, policy: Policy) -> Persons | None:
    """Write down the person of each record; refuse where a limit needs people and none are known."""
    persons = find_persons(script, tables, policy)
    if persons is None:
        return None
    if persons.unknown:
        if not all(same_by_people(demand, holds=True) for demand in policy.all_demands):
            raise ParameterError(f"no SQL script can count the people of this release: {persons.unknown}")
        script.note(
            f"Not counted: the people. {persons.unknown[:1].upper()}{persons.unknown[1:]}.",
            "What holds by records holds by people, too.",
        )
        return persons
    names = [column.name for column in policy.named("person")]
    if names and not policy.linked and all(name in tables.released.names for name in names):
        script.check(f"records of a person that {named(names)} joins", SHARED)
    if persons.in_order:
        return replace(persons, several=True)
    # Nothing says which person a record belongs to. The verdict stays the same if nobody has two records.
    script.check("rows of the raw table of somebody who has another", SHARED)
    return persons


def end_script(script: Script) -> None:
    """Write the result."""
    points = ", ".join(ANSWERABLE)
    script.note(
        "Every check, and whether all hold. That is no verdict on the release. This script does not look at",
        f"the points {points}.",
        "For these, run incrowd verify.",
    )
    script.lines += [
        "SELECT * FROM checks ORDER BY number;",
        f"SELECT CASE WHEN count(*) = {script.checks} AND bool_and(holds) THEN "
        f"{literal(ALL_HOLD)} ELSE {literal(ONE_FAILS)} END AS result,\n"
        "count(*) AS checks, count(*) FILTER (NOT holds) AS failed\nFROM checks;",
    ]


_READS = "a script reads Parquet, JSON lines, or CSV with a header in UTF-8, UTF-16 or Latin-1"
_WAY_OUT = "write the table into a Parquet or CSV file, or a DuckDB database, first"


def reader_of(script: Script, wanted: Wanted, scratch: Path) -> tuple[str, Sequence[Part]]:
    """Write down where a table is, and return the SQL that reads the table, and the verifier's parts.

    Raises `ParameterError`: DuckDB cannot read it by itself.
    """
    variable = "release" if wanted.name == "released" else wanted.name
    if is_address(wanted.given):
        return _attached(script, wanted, f"base_of_{variable}", scratch)
    files = files_of(wanted)
    for file in files:
        if is_other_kind(file) and not is_json_lines(file):
            raise ParameterError(f"{file}: DuckDB does not read this kind of file by itself; {_WAY_OUT}")
    parts = list(parts_of(script.con, wanted, scratch))
    [plainly, *others] = dict.fromkeys(part.plainly for part in parts)
    if plainly is None or others:
        why = "its files are written in several ways" if others else "it is written otherwise"
        raise ParameterError(f"{wanted.given}: {_READS}, and {why}; {_WAY_OUT}")
    script.execute(f"SET VARIABLE {variable} = {_where(script, wanted.given, files)}")
    where = f"getvariable('{variable}')"
    parts = [replace(part, header=part.header and part.header.replace("{}", where, 1)) for part in parts]
    return plainly.replace("{}", where, 1), parts


def load_by_script(script: Script, wanted: Wanted, reader: str, parts: Sequence[Part]) -> Table:
    """Write down that a table is read by the SQL of a reader, and make the table.

    - Raises `ParameterError`: DuckDB has other names for its columns.
    - Raises `TableError`: DuckDB by itself reads another table.
    """
    names = parts[0].names
    cells = _name(script, wanted, reader, parts)
    rows = reader if cells is None else f"{reader} AS file({', '.join(cells)})"
    read = [n for n, name in enumerate(names) if wanted.everything or name in wanted.columns]
    values = [quoted_name(name) for name in names] if cells is None else cells
    columns = (
        f"trim({values[n]}, ' ') AS c{n}" if parts[0].trimmed else f"{values[n]} AS c{n}" for n in read
    )
    script.execute(f"CREATE TABLE {wanted.name} AS SELECT {', '.join(columns) or '1 AS nothing'} FROM {rows}")
    seen = load_parts(script.con, replace(wanted, name=f"{wanted.name}_seen"), parts)
    _compare(script, seen, wanted.name, read)
    return replace(seen, name=wanted.name)


def _name(script: Script, wanted: Wanted, reader: str, parts: Sequence[Part]) -> list[str] | None:
    """Write down the names of the columns.

    Returns
    -------
    Where DuckDB calls a column otherwise, as one of two that differ in case, the names c0, c1, ... that it
    has to give them; the columns have to stay where they are then.
    """
    names, table = list(parts[0].names), f"{wanted.name}_names"
    listed = f"[{', '.join(map(literal, names))}]"
    described = f"(DESCRIBE SELECT * FROM {reader})"
    header = None if len(parts) > 1 else parts[0].header
    if not parts[0].by_name or header is None:
        if _names(script, f"SELECT column_name FROM {described}") == names:
            script.execute(f"CREATE TABLE {table} AS SELECT column_name AS name FROM {described}")
            return None
        if header is None or _names(script, header) != names:
            raise ParameterError(
                f"{wanted.title}: DuckDB has other names for its columns; rename those that differ in case"
            )
    script.execute(f"CREATE TABLE {table} AS SELECT name FROM ({header})")
    if parts[0].by_name:
        script.check(
            f"columns that are not in the file any more: {wanted.name}",
            f"SELECT count(*) FROM (SELECT unnest({listed}) AS name) "
            f"WHERE name NOT IN (SELECT name FROM {table})",
        )
        return None
    script.check(
        f"the columns are where they were: {wanted.name}",
        f"SELECT (list(name ORDER BY rowid) = {listed})::INTEGER FROM {table}",
        "reached = 1",
        1,
    )
    return [f"c{place}" for place in range(len(names))]


def _names(script: Script, query: str) -> list[str]:
    return [name for (name,) in script.execute(query).fetchall()]


def _where(script: Script, given: str, files: Sequence[Path]) -> str:
    """Write the pattern of the files if no other file fits and the order is the same, else a list."""
    if not Path(given).is_file():
        pattern = literal(given)
        if Path(given).is_dir():
            endings = {next(end for end in ENDINGS if file.name.lower().endswith(end)) for file in files}
            pattern = f"{glob_free(Path(given))[:-1]}/**/*{min(endings)}'"
        found = _names(script, f"SELECT file FROM glob({pattern})")
        if [Path(file) for file in found] == list(files):
            return pattern
    listed = ", ".join(glob_free(file) for file in files)
    return listed if len(files) == 1 else f"[{listed}]"


def _attached(script: Script, wanted: Wanted, base: str, scratch: Path) -> tuple[str, Sequence[Part]]:
    address = Address(wanted.given)
    if address.scheme != "duckdb":
        raise ParameterError(
            f"{address}: DuckDB reads tables of {address.scheme} with an extension alone, which it "
            f"would fetch over the network; {_WAY_OUT}"
        )
    if wanted.table is None:
        raise ParameterError(f"{address}: name a table of the database")
    part = part_of(script.con, wanted.given, wanted.table, scratch)
    script.execute(f"ATTACH {literal(str(address.path))} AS {base} (READ_ONLY)")
    return f"{base}.{duckdb_name(wanted.table)}", [part]


def _compare(script: Script, seen: Table, name: str, places: Sequence[int]) -> None:
    """Drop the table that the verifier read, and refuse a table that a script alone reads otherwise."""
    same = count_rows(script, seen) == script.row(f"SELECT count(*) FROM {name}")[0]
    columns = ", ".join(f"c{place}" for place in places)
    query = f"SELECT 1 FROM (SELECT {columns} FROM {name} EXCEPT ALL SELECT {columns} FROM {seen.name})"
    if seen.in_order:
        apart = " OR ".join(f"mine.c{place} IS DISTINCT FROM theirs.c{place}" for place in places)
        query = (
            f"SELECT 1 FROM {name} AS mine JOIN {seen.name} AS theirs ON mine.rowid = theirs.rowid "
            f"WHERE {apart}"
        )
    same = same and not (places and script.row(f"SELECT count(*) FROM ({query})")[0])
    script.con.execute(f"DROP TABLE {seen.name}")
    if not same:
        raise TableError(f"{seen.title}: DuckDB reads other rows by itself; write it as Parquet")
