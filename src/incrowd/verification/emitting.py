"""Writing the script: how the file is read, its columns, the figures, the cells, the verdict."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

from incrowd.errors import ParameterError, TableError, named
from incrowd.gate.kinds import ANSWERABLE
from incrowd.verification import script_tables
from incrowd.verification.against import check_against
from incrowd.verification.checks import Script
from incrowd.verification.classes import count_rows
from incrowd.verification.clauses import judge_clauses
from incrowd.verification.conformity import check_cells, check_columns
from incrowd.verification.double_header import refuse_double_header
from incrowd.verification.figures import find_figures
from incrowd.verification.forms import check_form
from incrowd.verification.groups import check_groups
from incrowd.verification.loading import (
    Sources,
    Tables,
    as_released,
    point_commas,
    records_left_out,
    refuse_lacking,
    respell_values,
    wanted_tables,
)
from incrowd.verification.persons import SHARED, Persons, find_persons
from incrowd.verification.policy import Policy, read_policy
from incrowd.verification.scratch import PrivateFolder
from incrowd.verification.source import CsvFormat, Table, connect, literal, reworded
from incrowd.verification.suppressed import check_suppressed
from incrowd.verification.tables import title_of
from incrowd.verification.texts import Texts

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
    """Write the checks of a policy on a release as one script of SQL for DuckDB.

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
    with (
        PrivateFolder() as scratch,
        reworded(Path(title_of(sources.released))),
        connect(scratch, *sources.reached(), in_order=True) as con,
    ):
        script = Script(con)
        _write(script, scratch, sources, policy_file, policy)
    return "\n".join(script.lines) + "\n"


def _write(script: Script, scratch: Path, sources: Sources, policy_file: Path, policy: Policy) -> None:
    """Write all of a script."""
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
            _end(script)
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
        list(judge_clauses(script, policy, Texts(script, released, policy.quasi)))
    check_suppressed(script, policy, tables, measuring, findings)
    _end(script)


def _load(
    script: Script, scratch: Path, sources: Sources, policy_file: Path, policy: Policy
) -> dict[str, Table]:
    """Write how the tables are read; return those that there are, by their names."""
    wanted = wanted_tables(policy, sources, by_script=True)
    _begin(script, Path(title_of(sources.released)), policy_file, confidential=len(wanted) > 1)
    places = [script_tables.place(script, each, scratch) for each in wanted]
    script.note("What is found: a row for each check.")
    script.execute(
        'CREATE TABLE checks(number INTEGER, "check" VARCHAR, "column" VARCHAR, reached DOUBLE, '
        "asked DOUBLE, holds BOOLEAN)"
    )
    script.note("The columns that the policy speaks of. One that is missing ends the script with an error.")
    found = {}
    for each, (reader, parts) in zip(wanted, places, strict=True):
        refuse_lacking(script, each, parts[0].names, policy)
        found[each.name] = script_tables.load(script, each, reader, parts)
    if "raw" in found and found["raw"].headed:
        refuse_double_header(script.con, found["raw"], given_names=False)
    if not count_rows(script, found["released"]):
        raise TableError(f"{found['released'].title}: the file holds no records")
    return found


def _begin(script: Script, release: Path, policy_file: Path, *, confidential: bool) -> None:
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
        if not all(demand.same_by_people(holds=True) for demand in policy.all_demands):
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


def _end(script: Script) -> None:
    points = ", ".join(ANSWERABLE)
    script.note(
        "Every check, and whether all hold. That is no verdict on the release. This script does not look at",
        f"the points {points}.",
        "For these, run incrowd verify.",
    )
    script.show("SELECT * FROM checks ORDER BY number")
    script.show(
        f"SELECT CASE WHEN count(*) = {script.checks - script.aside} AND bool_and(holds) THEN "
        f"{literal(ALL_HOLD)} ELSE {literal(ONE_FAILS)} END AS result,\n"
        "count(*) AS checks, count(*) FILTER (NOT holds) AS failed\nFROM checks"
    )
