"""A second, independent implementation of the privacy models: it checks a release with SQL in DuckDB.

Only the error classes are shared with the code that makes a release. The policy, the hierarchies and the
tables are read anew. The figures are computed with other formulas. So a mistake goes unnoticed only if it is
made twice.

It checks every model that a policy can ask for, the share of suppressed records, the released columns, and
whether the cells suit the policy. With the raw table it also checks whether the cells are true. If it cannot
check something, it refuses or says so.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import ParameterError, SchemaError, TableError, named, setting
from incrowd.verification.against import as_released, compare
from incrowd.verification.attribute import Attribute
from incrowd.verification.cells import Shapes, listed
from incrowd.verification.classes import (
    count_records,
    count_rows,
    fetch_row,
    group,
    group_of,
    smallest_class,
)
from incrowd.verification.databases import is_address
from incrowd.verification.emitting import checks_as_sql
from incrowd.verification.forms import raw_left, treated_unchecked, wrong_forms
from incrowd.verification.models import Measuring, needs_values
from incrowd.verification.people import People
from incrowd.verification.persons import Persons, find_persons, refuse_several_rows
from incrowd.verification.policy import UNRELEASED, Column, Policy, read_policy
from incrowd.verification.result import Finding, PeopleFound, Verification
from incrowd.verification.scratch import PrivateFolder
from incrowd.verification.source import CsvFormat, Table, connect, reworded
from incrowd.verification.spellings import is_spelled, numbers_as_texts, respell
from incrowd.verification.sums import sums_moved
from incrowd.verification.tables import load, title_of
from incrowd.verification.weights import find_weights

if TYPE_CHECKING:
    import duckdb

__all__ = ["Finding", "PeopleFound", "Verification", "checks_as_sql", "verify"]

_TOLERANCE = 1e-12


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
) -> Verification:
    """Check a release against its policy, and its raw table where that is given.

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
        policy says whose row it is, people are counted with it.
    delimiter
        One character between the fields of CSV files, or one and a blank; None to find out.
    encoding
        Of CSV files; None for UTF-8 (or UTF-16 with a byte order mark).
    names
        The columns of a raw CSV file that has no header.
    escaped
        Whether the release is a CSV with ``'`` in front of texts that a spreadsheet would run as formulas.
    sheet
        The sheet that is read of Excel workbooks, where one has several.

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
    Definitions are those of `incrowd.privacy`. Suppressed records are in no class, but their sensitive values
    are part of the whole table's distribution. Missing is a value of its own. Numbers are compared by value;
    the values of a column with a hierarchy are its leaves.
    """
    given = _named(path)
    policy = read_policy(Path(_named(policy_path, only_file=True)))
    population_file = None if population is None else _named(population, only_file=True)
    beside = None if against is None else _named(against)
    if row_map is not None and beside is None:
        raise ParameterError(
            f"a row map ({setting('row_map', '--row-map')}) is for the raw table; name that, too "
            f"({setting('against', '--against')})"
        )
    csv_format = CsvFormat(delimiter, encoding, sheet=sheet)
    with PrivateFolder() as scratch, reworded(Path(title_of(given))):
        con = connect(scratch, in_order=against is not None)
        try:
            quasi = [column.name for column in policy.named("quasi")]
            needed = [*quasi, *(column.name for column in policy.named("sensitive"))]
            released = load(
                con,
                "released",
                given,
                table,
                [*needed, *(column.name for column in policy.treated)],
                replace(csv_format, escaped=escaped),
                scratch,
                everything=against is not None,
            )
            _refuse_lacking(released, needed)
            people = raw = places = None
            if population_file is not None:
                whose = [column.name for column in policy.named("person")]
                people = load(
                    con, "population", population_file, None, [*quasi, *whose], csv_format, scratch,
                    everything=False,
                )  # fmt: skip
                _refuse_lacking(people, quasi)
                refuse_several_rows(con, people, policy)
                people = _respell(con, people, policy)
            if beside is not None:
                raw = load(
                    con, "raw", beside, against_table, [column.name for column in policy.columns],
                    CsvFormat(delimiter, encoding, tuple(names), sheet=sheet), scratch, everything=True,
                )  # fmt: skip
                raw = _respell(con, raw, policy)
                if row_map is not None:
                    places = load(
                        con, "row_map", _named(row_map, only_file=True), None, ["row"], CsvFormat(), scratch,
                        everything=True,
                    )  # fmt: skip
            return _checked(con, policy, released, people, raw, places)
        finally:
            con.close()


def _named(path: str | PathLike[str], *, only_file: bool = False) -> str:
    """Return a path or an address; what looks like one and is none is refused without naming it.

    An address may have a password.
    """
    named = os.fspath(path)
    if is_address(named) and not only_file:
        return named
    if re.match(r"(?i)\s*[a-z][a-z0-9+.:-]+:/|.*://|.*:/\S*@|.*\bpassword\s*=", named):
        raise TableError("an address is no file; a database is taken as the release or the raw table alone")
    return named


def _refuse_lacking(table: Table, needed: Sequence[str]) -> None:
    lacking = [name for name in needed if name not in table.names]
    if lacking:
        raise SchemaError(
            f"{table.title}: the policy's column(s) {named(lacking)} are not in the file; check the header's "
            "spelling and the delimiter"
        )


def _checked(
    con: duckdb.DuckDBPyConnection,
    policy: Policy,
    released: Table,
    people: Table | None,
    raw: Table | None,
    row_map: Table | None,
) -> Verification:
    quasi = policy.named("quasi")
    raw, placed = _in_place(con, released, raw, row_map)
    persons = find_persons(con, released, raw, policy, placed=placed)
    by_person = persons is not None and persons.several
    # The score looks at all sensitive columns, a joint model at all the others, too.
    sensitive = policy.named("sensitive") if any(map(needs_values, policy.models)) else ()
    names = [column.name for column in quasi]
    group(
        con, released, names, [column.name for column in sensitive], policy.null_values, by_person=by_person
    )
    records, suppressed, classes = count_records(con)
    if records == 0:
        raise TableError(f"{released.title}: the file holds no records")
    attributes = {}
    for place, column in enumerate(sensitive):
        stored = released.types[released.place(column.name)]
        stored = _plainly(con, "member", f"s{place}", stored, column, policy.null_values)
        attributes[column.name] = Attribute(con, place, column, stored, by_person=by_person)
    population = None if people is None else People(con, people, quasi, policy.null_values)
    unweighed = find_weights(con, released, raw, policy, persons, placed=placed)
    measuring = Measuring(
        con, len(quasi), classes, attributes, population, persons, unweighed, policy.wildcards
    )
    findings = measuring.find_all(policy.demands)
    for attacker in policy.attackers:
        findings += measuring.find_against(attacker, [names.index(name) for name in attacker.knows])
    problems = [
        *_columns_too_many(policy, released),
        *_too_much_suppressed(policy, records, suppressed, classes),
        *(_joined(policy, released) if by_person else ()),
    ]
    unchecked: list[str] = []
    notes: list[str] = []
    for column in policy.treated:
        wrong, unknown = _odd_treated(con, column, policy, released, raw)
        problems += wrong
        unchecked += unknown
    for number, column in enumerate(quasi):
        wrong, unknown = _odd_cells(con, number, column, policy, has_raw=raw is not None)
        problems += wrong
        unchecked += unknown
    if unweighed and population is None and "k-map" in policy.models:
        unchecked.append(
            f"how many people the classes stand for by their sampling weights, an estimate: {unweighed}"
        )
    if persons is not None and persons.unknown:
        unchecked.append(f"how many people the classes have: {persons.unknown}")
    if raw is None:
        unchecked.append(
            "whether the cells are true, and other columns as they were: that needs the raw table"
        )
    else:
        compared = compare(con, released, raw, policy, placed=placed)
        problems += compared.problems
        unchecked += compared.unchecked
        notes += compared.notes
    return Verification(
        file=released.title,
        records=records,
        suppressed=suppressed,
        max_suppression=policy.max_suppression,
        classes=classes,
        wildcards=policy.wildcards,
        findings=tuple(findings),
        problems=tuple(problems),
        unchecked=tuple(unchecked),
        notes=tuple(notes),
        smallest=int(fetch_row(con, "SELECT coalesce(min(records), 0) FROM classes")[0]),
        people=None if persons is None or persons.unknown else _found(con, persons, suppressed),
    )


def _in_place(
    con: duckdb.DuckDBPyConnection, released: Table, raw: Table | None, row_map: Table | None
) -> tuple[Table | None, bool]:
    """Put the raw records in the order of the released ones if a row map tells it; say whether it did."""
    if raw is None or row_map is None or count_rows(con, raw) != count_rows(con, released):
        return raw, False
    return as_released(con, released, raw, row_map), True


def _found(con: duckdb.DuckDBPyConnection, persons: Persons, suppressed: int) -> PeopleFound:
    """Say who was counted; where everybody has one record, so many people are suppressed as records."""
    if persons.several:
        suppressed = persons.people - int(fetch_row(con, "SELECT count(DISTINCT person) FROM crowd")[0])
    return PeopleFound(persons.people, persons.unnamed, suppressed, smallest_class(con) or 0)


def _respell(con: duckdb.DuckDBPyConnection, table: Table, policy: Policy) -> Table:
    """Write the raw values of quasi-identifiers plainly, as cells of a release are."""
    types = list(table.types)
    for column in policy.named("quasi"):
        if column.name in table.names:
            place = table.place(column.name)
            types[place] = _plainly(con, table.name, f"c{place}", types[place], column, policy.null_values)
    return replace(table, types=tuple(types))


def _plainly(
    con: duckdb.DuckDBPyConnection, table: str, cell: str, declared: str, column: Column, nulls: Sequence[str]
) -> str:
    """Write the values of a column plainly, if they are spelled; return what it is stored as then."""
    stored = group_of(declared)
    if column.spelling is None or not is_spelled(column.spelling, stored):
        return declared
    if stored != "text":
        numbers_as_texts(con, table, cell)
        declared = "VARCHAR"
    respell(con, table, cell, column.name, column.spelling, nulls)
    return declared


def _odd_treated(
    con: duckdb.DuckDBPyConnection, column: Column, policy: Policy, released: Table, raw: Table | None
) -> tuple[list[str], list[str]]:
    """Say what a treated column cannot have, and what cannot be told of it."""
    treatment = column.treatment
    assert treatment is not None
    if column.role == "quasi":
        # Its treated values were generalized.
        why = f"whether the cells of column {column.name!r} are true: its values were treated before"
        return [], [] if raw is None else [why]
    problems = wrong_forms(con, released, column.name, treatment, column.spelling, policy.null_values)
    if raw is not None:
        problems += raw_left(con, released, raw, column.name, treatment, policy.null_values)
    moved, unknown = sums_moved(con, column, policy, released, raw)
    return problems + moved, treated_unchecked(column.name, column.role, treatment) + unknown


def _columns_too_many(policy: Policy, released: Table) -> list[str]:
    """Say which columns were released that the policy does not release; names are compared literally."""
    roles = {column.name: column.role for column in policy.columns if column.treatment is None}
    treated = {column.name for column in policy.treated}
    problems = [
        f"the {roles[name]} column {name!r} is in the file"
        for name in released.names
        if roles.get(name) in UNRELEASED
    ]
    if policy.unlisted != "keep":
        more = [name for name in released.names if name not in roles and name not in treated]
        problems += [
            f"the column {name!r} is in the file, and the policy does not release it" for name in more
        ]
    return problems


def _joined(policy: Policy, released: Table) -> list[str]:
    """Say which columns join the records of people who have several, where the policy does not say so."""
    names = [column.name for column in policy.named("person") if column.name in released.names]
    if policy.linked or not names:
        return []
    return [
        f"column {named(names)} joins the records of a person, and the policy does not say linked = true: "
        "its limits are about single records"
    ]


def _too_much_suppressed(policy: Policy, records: int, suppressed: int, classes: int) -> list[str]:
    problems = []
    if suppressed / records > policy.max_suppression + _TOLERANCE:
        problems.append(
            f"{suppressed} of {records} records are suppressed, more than the share of "
            f"{policy.max_suppression}"
        )
    if classes == 0:
        problems.append("every record is suppressed, so there is no class and no model is reached")
    return problems


def _odd_cells(
    con: duckdb.DuckDBPyConnection, number: int, column: Column, policy: Policy, *, has_raw: bool
) -> tuple[list[str], list[str]]:
    """Say which cells a quasi-identifier cannot have under the policy, and what cannot be told."""
    shapes = Shapes(column)
    problems, unchecked = [], []
    rows = con.execute(
        f"SELECT CAST(q{number} AS VARCHAR), sum(records) FROM classes GROUP BY q{number}"
    ).fetchall()
    limit = math.inf if policy.set_limit is None else policy.set_limit
    long = sum(int(size) for text, size in rows if listed(text) > limit)
    if long and column.style in ("auto", "set"):
        problems.append(f"the column {column.name!r}: {long} records have a list of more than {limit} values")
    odd = [int(size) for text, size in rows if not shapes.possible(text)]
    if odd:
        problems.append(
            f"the column {column.name!r}: {sum(odd)} records have a cell ({len(odd)} distinct) that is no "
            "node of its hierarchy and nothing else that it may have"
        )
    if shapes.unknown and not has_raw:
        unchecked.append(f"whether the cells of column {column.name!r} suit the policy: {shapes.unknown}")
    if column.levels is not None:
        fits = [(shapes.level_fits(text, *column.levels), int(size)) for text, size in rows]
        wrong = sum(size for fit, size in fits if fit is False)
        if policy.algorithm.get("recode_suppressed") or any(fit is None for fit, _ in fits):
            unchecked.append(
                f"whether the cells of column {column.name!r} are on the levels that it may have"
            )
        elif wrong:
            problems.append(
                f"the column {column.name!r}: {wrong} records are not on the levels that it may have"
            )
    return problems, unchecked
