"""Whose record each record of a release is.

A release has no column that names a person. If it has a pseudonym, that tells people apart as well. Else the
people are taken from the raw table: record N of it must be record N of the release. Where nobody has
two records, people are records, whatever the order.

Table made here
---------------
whose
    place, person: the row of each record, and a number of its person. It is negative for a record that does
    not say whose it is, which is a person of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.errors import TableError, named, row_map_setting, setting
from incrowd.verification.checks import Checks
from incrowd.verification.classes import cell, count_rows
from incrowd.verification.loading import Tables
from incrowd.verification.policy import Nulls, Policy
from incrowd.verification.source import Table

SHARED = "SELECT count(*) - count(DISTINCT person) FROM whose"
"""SQL of how many records are of somebody who has another."""


@dataclass(frozen=True)
class Persons:
    """Who the people of a release are, as far as that is known.

    Attributes
    ----------
    people, unnamed
        People of the table, and the records that do not say whose they are.
    several
        Whether somebody has several records, so that people are counted by the table `whose`.
    unknown
        Why people cannot be counted, in words; empty where they can.
    in_order
        Whether `whose` says of each record of the release whose it is.
    """

    people: int = 0
    unnamed: int = 0
    several: bool = False
    unknown: str = ""
    in_order: bool = False


def find_persons(con: Checks, tables: Tables, policy: Policy) -> Persons | None:
    """Find out whose record each record of a release is; None where the policy names no column for it."""
    columns, (released, raw) = policy.person, (tables.released, tables.raw)
    if not columns:
        return None
    con.note("Whose each record is; a record that does not say so is a person of its own.")
    names = [column.name for column in columns]
    if all(column.treatment is not None and column.name in released.names for column in columns):
        # Different people have different pseudonyms, so the release says itself whose its records are.
        records, people, unnamed = _number(con, released, names, policy.null_values)
        return Persons(people, unnamed, several=people < records, in_order=True)
    if raw is None:
        return Persons(unknown=raw_wanted("the release does not say whose its records are"))
    lacking = [name for name in names if name not in raw.names]
    if lacking:
        return Persons(unknown=f"the raw table {raw.title} has no column {named(lacking)}")
    if count_rows(con, released) + tables.unplaced != count_rows(con, raw):
        return Persons(unknown="the release and the raw table have not the same records")
    records, people, unnamed = _number(con, raw, names, policy.null_values)
    same_order, row_map = tables.same_order(policy), setting("row_map=", "--row-map")
    if same_order or people == records:
        there = people - tables.unplaced
        return Persons(there, min(unnamed, there), several=people < records, in_order=same_order)
    if not (released.in_order and raw.in_order):
        return Persons(
            unknown="records of a database have no numbers; take both tables as files, and name the row map "
            f"({row_map})"
        )
    return Persons(unknown=f"it is not known which raw record each record is; name {row_map_setting()}")


def raw_wanted(why: str) -> str:
    """Say that the raw table and the row map would tell."""
    against = setting("against=", "--against")
    return f"{why}; name the raw table ({against}) and {row_map_setting()}"


def refuse_several_rows(con: Checks, population: Table, policy: Policy) -> None:
    """Refuse a population that says that somebody has several rows: they would count as several people."""
    columns = [column.name for column in policy.person]
    if not columns or any(name not in population.names for name in columns):
        return
    records, people, _ = _number(con, population, columns, policy.null_values)
    if people < records:
        raise TableError(
            f"{population.title}: the population has several rows of one person, who would count as several "
            "people; keep one row each"
        )
    con.check("rows of the population of somebody who has another", SHARED)


def _number(con: Checks, table: Table, columns: Sequence[str], null_values: Nulls) -> tuple[int, int, int]:
    """Make the table `whose`; return the number of records, of people, and of records without a person."""
    values = ", ".join(f"{cell(table, name, null_values, 't')} AS p{n}" for n, name in enumerate(columns))
    keys = [f"p{n}" for n in range(len(columns))]
    missing = " AND ".join(f"{key} IS NULL" for key in keys)
    con.execute(
        f"CREATE OR REPLACE TABLE whose AS SELECT place, CASE WHEN {missing} THEN -1 - place "
        f"ELSE dense_rank() OVER (ORDER BY {', '.join(keys)}) END AS person "
        f"FROM (SELECT t.rowid AS place, {values} FROM {table.name} AS t)"
    )
    found = con.row("SELECT count(*), count(DISTINCT person), count(*) FILTER (person < 0) FROM whose")
    records, people, unnamed = map(int, found)
    return records, people, unnamed
